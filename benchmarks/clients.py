"""Compare what ten clients receive from the example server with the parser's events, in twelve scenarios.

    python -m benchmarks.clients [CLIENT …] [--show]

A row counts the scenarios in which a client received exactly the content of the events: content, reasoning (if the
client supports it), calls, and the stop reason (if the client exposes it). `executable` counts truncated or rejected
calls that an application would execute; with whole calls, there must be none. `streamed arguments` is a server with
`--stream-arguments`: a response is also equal if a truncated call cannot be executed and a rejected call raises.
`--show` prints every response that is not equal. Clients that are not installed are listed; litellm needs `openai<3`
and `mcp`, and therefore a separate environment. The exit status is 1 if a client receives anything else from whole
calls.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.metadata
import logging
import os
import sys
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT / "tests" / "support"), str(ROOT / "examples")]
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # without this, it requests prices from the network

from answer_scenarios import SCENARIOS, TOOLS, USER, scenarios, serving  # noqa: E402  # its folder is named above
from sdk_clients import CLIENTS, Client, ClientResult, client_result  # noqa: E402  # likewise

CHAT_ENDS = CLIENTS["openai chat"][1]


def _with_invalid(answer: ClientResult, invalid: list[Any]) -> ClientResult:
    """LangChain sets calls apart whose arguments it cannot read."""
    return replace(answer, broken=[(call["name"], call["args"]) for call in invalid])


def _langchain(model: Any, stream: bool) -> Any:
    bound = model.bind_tools(TOOLS)
    if not stream:
        return bound.invoke(USER["content"])
    whole = None
    for chunk in bound.stream(USER["content"]):
        whole = chunk if whole is None else whole + chunk
    return whole


def langchain_openai(base: str, name: str, stream: bool) -> ClientResult:
    from langchain_openai import ChatOpenAI

    model: Any = ChatOpenAI
    response = _langchain(model(model=name, base_url=base + "/v1", api_key="x", max_retries=0), stream)
    calls = [(call["name"], call["args"]) for call in response.tool_calls]
    ended = response.response_metadata.get("finish_reason")
    reasoning = response.additional_kwargs.get("reasoning_content")
    return _with_invalid(client_result(response.content, reasoning, calls, ended), response.invalid_tool_calls)


def langchain_anthropic(base: str, name: str, stream: bool) -> ClientResult:
    from langchain_anthropic import ChatAnthropic

    model: Any = ChatAnthropic
    response = _langchain(model(model=name, base_url=base, api_key="x", max_retries=0), stream)
    parts = response.content if isinstance(response.content, list) else [{"type": "text", "text": response.content}]
    answer = client_result(
        "".join(part["text"] for part in parts if part["type"] == "text"),
        "".join(part["thinking"] for part in parts if part["type"] == "thinking"),
        [(call["name"], call["args"]) for call in response.tool_calls],
        response.response_metadata.get("stop_reason"),
    )
    return _with_invalid(answer, response.invalid_tool_calls)


def langchain_ollama(base: str, name: str, stream: bool) -> ClientResult:
    from langchain_ollama import ChatOllama

    response = _langchain(ChatOllama(model=name, base_url=base, reasoning=True), stream)
    calls = [(call["name"], call["args"]) for call in response.tool_calls]
    ended = response.response_metadata.get("done_reason")
    return client_result(response.content, response.additional_kwargs.get("reasoning_content"), calls, ended)


def pydantic_ai(base: str, name: str, stream: bool) -> ClientResult:
    from pydantic_ai.messages import ModelRequest, UserPromptPart
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider
    from pydantic_ai.tools import ToolDefinition

    functions: list[dict[str, Any]] = [tool["function"] for tool in TOOLS]
    tools = [
        ToolDefinition(name=one["name"], description=one["description"], parameters_json_schema=one["parameters"])
        for one in functions
    ]

    async def ask() -> Any:
        model = OpenAIChatModel(name, provider=OpenAIProvider(base_url=base + "/v1", api_key="x"))
        messages = [ModelRequest(parts=[UserPromptPart(USER["content"])])]
        parameters = ModelRequestParameters(function_tools=tools)
        if not stream:
            return await model.request(messages, None, parameters)
        async with model.request_stream(messages, None, parameters) as events:
            async for _ in events:
                pass
            return events.get()

    response = asyncio.run(ask())
    parts = response.parts
    return client_result(
        "".join(part.content for part in parts if part.part_kind == "text"),
        "".join(part.content for part in parts if part.part_kind == "thinking"),
        [(part.tool_name, part.args) for part in parts if part.part_kind == "tool-call"],
        response.finish_reason,
    )


def litellm(base: str, name: str, stream: bool) -> ClientResult:
    import litellm

    litellm.suppress_debug_info = True
    request = {"model": "openai/" + name, "api_base": base + "/v1", "api_key": "x", "messages": [USER], "tools": TOOLS}
    response: Any = litellm.completion(**request, stream=stream, max_retries=0)
    choice = (litellm.stream_chunk_builder(list(response), messages=[USER]) if stream else response).choices[0]
    message = choice.message
    calls = [(call.function.name, call.function.arguments) for call in message.tool_calls or []]
    return client_result(message.content, getattr(message, "reasoning_content", None), calls, choice.finish_reason)


def smolagents(base: str, name: str, stream: bool) -> ClientResult:
    from smolagents import OpenAIModel
    from smolagents.models import agglomerate_stream_deltas

    model = OpenAIModel(model_id=name, api_base=base + "/v1", api_key="x", client_kwargs={"max_retries": 0})
    messages = [{"role": "user", "content": [{"type": "text", "text": USER["content"]}]}]
    if stream:
        response = agglomerate_stream_deltas(list(model.generate_stream(messages, tools=TOOLS)))
    else:
        response = model.generate(messages, tools=TOOLS)
    return client_result(
        response.content,
        None,
        [(call.function.name, call.function.arguments) for call in response.tool_calls or []],
        None,
    )


@dataclass(frozen=True)
class Row:
    """A client: its package, its stop reasons, and what it never exposes."""

    package: str
    ask: Client
    ends: Mapping[str, str]
    no_reasoning: bool = False
    no_end: bool = False


_PACKAGES = {"openai chat": "openai", "openai responses": "openai", "anthropic": "anthropic", "ollama": "ollama"}
ROWS = {
    **{name: Row(_PACKAGES[name], ask, ends) for name, (ask, ends) in CLIENTS.items()},
    "langchain-openai": Row("langchain-openai", langchain_openai, CHAT_ENDS, no_reasoning=True),
    "langchain-anthropic": Row("langchain-anthropic", langchain_anthropic, CLIENTS["anthropic"][1]),
    "langchain-ollama": Row("langchain-ollama", langchain_ollama, CLIENTS["ollama"][1]),
    "pydantic-ai": Row("pydantic-ai-slim", pydantic_ai, {**CHAT_ENDS, "calls": "tool_call"}),
    "litellm": Row("litellm", litellm, CHAT_ENDS),
    "smolagents": Row("smolagents", smolagents, CHAT_ENDS, no_reasoning=True, no_end=True),
}


@dataclass
class Count:
    """Of the scenarios: how many a client got exactly, and in how many it shows a call that must not be executed."""

    equal: int = 0
    executable: int = 0


def expected(name: str, row: Row, whole: bool) -> ClientResult | None:
    """The content of a scenario's events; None if they contain an error."""
    scenario = SCENARIOS[name]
    if not whole and name == "rejected":
        return None
    how = "length" if scenario.reason == "length" else "calls" if scenario.calls else "stop"
    reasoning = "" if row.no_reasoning else scenario.reasoning
    content = "Hm.\n" if not whole and name == "truncated-in-a-value" else scenario.content
    return client_result(content, reasoning, scenario.calls, "" if row.no_end else row.ends[how])


def counted(base: str, client: str, stream: bool, whole: bool, show: bool) -> Count:
    row, count = ROWS[client], Count()
    whole = whole or not stream or row.ends is CLIENTS["ollama"][1]  # Ollama's protocol has whole calls only
    for name, scenario in SCENARIOS.items():
        want = expected(name, row, whole)
        try:
            got: ClientResult | None = replace(
                answer := row.ask(base, name, stream), broken=[] if not whole else answer.broken
            )
            failed = ""
        except ModuleNotFoundError:
            raise
        except Exception as error:  # noqa: BLE001  # what a client raises is its result
            got, failed = None, f"{type(error).__name__}: {error}"
        count.equal += got == want
        count.executable += got is not None and any(call not in scenario.calls for call in got.calls)
        if show and got != want:
            print(f"  {client}, {'streaming' if stream else 'not streaming'}, {name}: {str(got or failed)[:300]}")
            print(f"    expected: {str(want)[:300]}")
    return count


def main() -> int:
    arguments = argparse.ArgumentParser(description="Compare what clients receive with the parser's events")
    arguments.add_argument("clients", nargs="*", metavar="CLIENT", help=f"of {', '.join(ROWS)}; default: all")
    arguments.add_argument("--show", action="store_true", help="print every response that is not equal")
    given = arguments.parse_args()
    warnings.filterwarnings("ignore")
    logging.disable(logging.CRITICAL)
    failed = False
    total = len(SCENARIOS)
    print(f"{'':32}{'whole calls':^36}{'streamed arguments':^24}")
    print(f"{'client':32}{'streaming':>10}{'not':>8}{'executable':>16}{'streaming':>12}{'executable':>12}")
    with serving(scenarios()) as whole, serving(scenarios(), whole_calls=False) as streamed:
        for client in given.clients or ROWS:
            try:
                first, other = (counted(whole, client, stream, True, given.show) for stream in (True, False))
                third = counted(streamed, client, True, False, given.show)
            except ModuleNotFoundError as error:
                print(f"{client:32}  not installed: {error}")
                continue
            client_name = f"{client} {importlib.metadata.version(ROWS[client].package)}"
            counts = f"{first.equal:>7}/{total}{other.equal:>5}/{total}{first.executable + other.executable:>16}"
            print(f"{client_name:32}{counts}{third.equal:>9}/{total}{third.executable:>12}", flush=True)
            failed = failed or min(first.equal, other.equal) < total or first.executable + other.executable > 0
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
