"""Twelve outputs of a model, what a client must end up with for each, and the example server that serves them.

The tests of the example server and the benchmark of clients (`benchmarks/clients.py`) share them. Each scenario is a
model name of the server, so that a client requests it like any model.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import uvicorn
from server import Served, Server
from starlette.applications import Starlette  # noqa: TC002 - what runs, next to what runs it
from token_sources import Piece

import toolfmt
from toolfmt.integrations.protocols import FinishReason, RejectedCalls, Usage

MODEL = Path(__file__).parents[2] / "corpus" / "models" / "json-frames"


def _tool(name: str, **properties: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": {key: {"type": kind} for key, kind in properties.items()}}
    return {"type": "function", "function": {"name": name, "description": f"Does {name}.", "parameters": schema}}


TOOLS = [
    _tool("get_weather", city="string", days="integer"),
    _tool("now"),
    _tool("plan", stops="array"),
    _tool("save_note", text="string"),
]
USER = {"role": "user", "content": "Will it rain in Oslo?"}


def call_text(name: str, arguments: Mapping[str, Any]) -> str:
    """A call as the model writes it."""
    text = json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False)
    return f"<tool_call>\n{text}\n</tool_call>"


Calls = list[tuple[str, Any]]


@dataclass(frozen=True)
class Scenario:
    """The model's output, and what a client ends up with if calls are sent whole."""

    name: str
    text: str
    content: str = ""
    calls: Calls = field(default_factory=list)
    reasoning: str = ""
    reason: FinishReason = "stop"


OSLO = {"city": "Oslo", "days": 2}
BERGEN = {"city": "Bergen"}
NESTED = {"stops": [{"at": "Bergen", "nights": 2, "tags": ["fjord", None, True, 1.5]}, {"at": "", "more": {"a": []}}]}
UNICODE = {"city": 'Zürich "北京" 🌦 \\ \u2028\n</tool_call>{'}
LONG = {"text": "".join(f'{number}: a line that is "quoted" {{and}} more\n' for number in range(100))}
WEATHER = call_text("get_weather", OSLO)
CUT = WEATHER[: WEATHER.index("slo")]
MALFORMED = WEATHER.replace("2}}", "2, bad]}}")

SCENARIOS = {
    scenario.name: scenario
    for scenario in (
        Scenario("text", "Hello there, and welcome.", "Hello there, and welcome."),
        Scenario("text-and-call", "Let me see.\n" + WEATHER, "Let me see.\n", [("get_weather", OSLO)]),
        Scenario(
            "two-calls",
            WEATHER + "\n" + call_text("get_weather", BERGEN),
            calls=[("get_weather", OSLO), ("get_weather", BERGEN)],
        ),
        Scenario("no-arguments", call_text("now", {}), calls=[("now", {})]),
        Scenario("nested", call_text("plan", NESTED), calls=[("plan", NESTED)]),
        Scenario(
            "unicode", "Grüße 🙂!\n" + call_text("get_weather", UNICODE), "Grüße 🙂!\n", [("get_weather", UNICODE)]
        ),
        Scenario("long", call_text("save_note", LONG), calls=[("save_note", LONG)]),
        Scenario("truncated-in-text", "The weather in Os", "The weather in Os", reason="length"),
        Scenario("truncated-in-a-value", "Hm.\n" + CUT, "Hm.\n", reason="length"),
        Scenario(
            "truncated-behind-a-call",
            WEATHER + "\nAnd in Berg",
            "\nAnd in Berg",
            [("get_weather", OSLO)],
            reason="length",
        ),
        Scenario("rejected", "Ok.\n" + MALFORMED, "Ok.\n" + MALFORMED),
        Scenario(
            "reasoning",
            "<think>\nRain, they ask.\n</think>\n\nLet me look.\n" + WEATHER,
            "\n\nLet me look.\n",
            [("get_weather", OSLO)],
            "\nRain, they ask.\n",
        ),
    )
}


class Script:
    """A token source that emits a text, four characters per token; it records its requests and when it was closed."""

    def __init__(self, text: str, reason: FinishReason = "stop", *, wait: float = 0.0) -> None:
        self.tokens = [text[at : at + 4] for at in range(0, len(text), 4)]
        self.reason, self.wait = reason, wait
        self.requests: list[tuple[toolfmt.Prompt, int, Mapping[str, float]]] = []
        self.kept: list[AsyncGenerator[Piece, None]] = []
        """The generator: kept, so that only the server closes it."""
        self.emitted = 0
        self.closed = threading.Event()

    def __call__(
        self, prompt: toolfmt.Prompt, limit: int, sampling: Mapping[str, float]
    ) -> AsyncGenerator[Piece, None]:
        self.kept.append(self._generate(prompt, limit, sampling))
        return self.kept[-1]

    async def _generate(
        self, prompt: toolfmt.Prompt, limit: int, sampling: Mapping[str, float]
    ) -> AsyncGenerator[Piece, None]:
        self.requests.append((prompt, limit, sampling))
        try:
            for number, token in enumerate(self.tokens[:limit], 1):
                await asyncio.sleep(self.wait)
                last = self.reason if number == len(self.tokens) else "length" if number == limit else None
                self.emitted = number
                yield Piece(token, last, Usage(100, number))
        finally:
            self.closed.set()


@cache
def model() -> toolfmt.Model:
    """A small model whose template has tools, results and reasoning."""
    return toolfmt.load(MODEL)


def scenarios() -> dict[str, Served]:
    """A model of the server for each scenario."""
    return {name: Served(model(), Script(one.text, one.reason)) for name, one in SCENARIOS.items()}


def serving(
    models: Mapping[str, Served], *, whole_calls: bool = True, rejected: RejectedCalls = "content"
) -> AbstractContextManager[str]:
    """The address of the example server with these models, on this machine only."""
    return running(Server(models, whole_calls=whole_calls, rejected=rejected).app())


@contextmanager
def running(app: Starlette) -> Iterator[str]:
    """The address of a server that runs this in a thread."""
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="critical"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    until = time.monotonic() + 30
    while not server.started:
        assert thread.is_alive() and time.monotonic() < until, "the server did not start"
        time.sleep(0.01)
    try:
        host, port = server.servers[0].sockets[0].getsockname()
        yield f"http://{host}:{port}"
    finally:
        server.should_exit = True
        thread.join(30)
