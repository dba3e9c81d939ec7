"""The series: twelve requests, each of which is sent whole and streamed.

Each probe has an explicit question, so that small models call the tool too. `calls` is what the question asks for. A
model that calls something else is not a server with a bug; `checks` uses the expected values only to recognize values
that were cut.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolfmt.cli.doctor.protocols import ChatRequest
from toolfmt.formats import ToolCallFormat

MOST_TOKENS = 1024
"""Tokens of a response. Reasoning models use most of them for reasoning."""
CUT_AFTER = 24
"""Tokens of the response that the token limit must cut."""
STATION, OTHER_STATION = "Kvamsdal", "Strandebarm, the second station on the west side of the fjord, near the old pier"
"""The value of a result that the answer needs, and a much longer one."""
_MARKERS = ("<tool_call>", "</tool_call>")
_LONGEST_MARKER = 40


@dataclass(frozen=True)
class Probe:
    """One request of the series.

    Attributes:
        calls: The calls that the question asks for: names and arguments. Empty if no call is needed.
        choice: The value of `tool_choice`: None, `required` or a tool's name.
    """

    name: str
    title: str
    question: str
    calls: Sequence[tuple[str, Mapping[str, Any]]] = ()
    choice: str | None = None
    max_tokens: int = MOST_TOKENS

    @property
    def messages(self) -> list[dict[str, Any]]:
        return [{"role": "user", "content": self.question}]

    def request(self, variables: Mapping[str, Any], most_tokens: int) -> ChatRequest:
        """Return the request, with at most so many tokens for the response."""
        return ChatRequest(self.messages, TOOLS, self.choice, min(self.max_tokens, most_tokens), variables)


def _tool(name: str, description: str, properties: Mapping[str, Any]) -> dict[str, Any]:
    parameters = {"type": "object", "properties": dict(properties), "required": list(properties)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


_TEXT = {"type": "string"}
_GUEST = {
    "type": "object",
    "properties": {"name": _TEXT, "age": {"type": "integer"}, "languages": {"type": "array", "items": _TEXT}},
    "required": ["name", "age", "languages"],
}
TOOLS = [
    _tool("get_weather", "Get the weather forecast of a city.", {"city": _TEXT, "days": {"type": "integer"}}),
    _tool("save_note", "Save a note.", {"text": _TEXT}),
    _tool("book_room", "Book a hotel room.", {"guest": _GUEST}),
    _tool("get_time", "Get the current time.", {}),
]
TOOL_NAMES = frozenset(tool["function"]["name"] for tool in TOOLS)
SCHEMAS = {tool["function"]["name"]: tool["function"]["parameters"] for tool in TOOLS}

_BERGEN = ("get_weather", {"city": "Bergen", "days": 3})
_VALUES = {"guest": {"name": "Zoë Müller-李 🙂", "age": 42, "languages": ["Français", "日本語"]}}
_REQUIRED = "Use get_weather for Tromsø, 2 days."
_CALL_ID = "call00001"


def probes(format: ToolCallFormat | None) -> Iterator[Probe]:
    """Yield the probes that consist of one request. The markers in a value are those of the format, if it is known."""
    yield Probe("one-call", "one call", "Call get_weather for Bergen, 3 days.", [_BERGEN])
    oslo = ("get_weather", {"city": "Oslo", "days": 3})
    both = "Call get_weather twice in one turn: for Bergen, 3 days, and for Oslo, 3 days."
    yield Probe("parallel-calls", "parallel calls", both, [_BERGEN, oslo])
    yield Probe("no-call", "no call needed", "Do not call a tool. Answer with one word: which color is snow?")
    guest = "Zoë Müller-李 🙂, age 42, who speaks Français and 日本語"
    yield Probe("nested-values", "nested and Unicode values", f"Call book_room for {guest}.", [("book_room", _VALUES)])
    yield Probe("no-arguments", "no arguments", "Call get_time now.", [("get_time", {})])
    tromso = ("get_weather", {"city": "Tromsø", "days": 2})
    yield Probe("required", "tool_choice required", _REQUIRED, [tromso], "required")
    yield Probe("named", "tool_choice with a name", "Save this note: water the plants.", _note("water the plants"),
                "save_note")  # fmt: skip
    thinking = "Think step by step: which of Bergen and Madrid is in Norway? Then call get_weather for it, 3 days."
    yield Probe("reasoning", "reasoning, then a call", thinking, [_BERGEN])
    value = marker_value(format)
    yield Probe("markers", "markers inside a value", f"Call save_note with exactly this text: {value}", _note(value))
    story = "Call save_note with a story of 300 words about a lighthouse keeper and the sea."
    yield Probe("cut", "a response cut by max_tokens", story, _note("word " * 300), max_tokens=CUT_AFTER)


def _note(text: str) -> list[tuple[str, Mapping[str, Any]]]:
    return [("save_note", {"text": text})]


def marker_value(format: ToolCallFormat | None) -> str:
    """Return a text with the start and end marker of a call, and braces."""
    openers, closers = (format.openers, format.closers) if format is not None else ((), ())
    start = _marker(openers) or _marker(format.unframed_openers if format else ()) or _MARKERS[0]
    end = _marker(closers) or _marker(format.engine.inner.closers if format else ()) or _MARKERS[1]
    return f"first }} then {start} and {end} last"


def _marker(markers: Sequence[str]) -> str:
    """Return the first that is a marker of one line, and not just a bracket."""
    fits = (each for each in markers if "\n" not in each and 3 <= len(each) <= _LONGEST_MARKER)
    return next(fits, "")


PLAIN = ChatRequest([{"role": "user", "content": "Call get_weather for Bergen, 3 days."}], max_tokens=16)
"""The first request, without tools. It shows whether the server responds, and how many tokens the prompt has then."""
RESULT = Probe("result", "a result sent back", "Which station reports the weather of Bergen, 3 days? Use get_weather.")


def result_messages(
    calls: Sequence[Mapping[str, Any]], station: str, content: str | None = None
) -> list[dict[str, Any]]:
    """Return the second turn: the calls of the first one, and their results, which name the station.

    `content` is that of the message with the calls. OpenAI's clients send null.
    """
    results = [
        {"role": "tool", "tool_call_id": call["id"], "content": json.dumps({"station": station, "celsius": 7})}
        for call in calls
    ]
    return [*RESULT.messages, {"role": "assistant", "content": content, "tool_calls": list(calls)}, *results]


def sample_call() -> dict[str, Any]:
    """Return a call for the second turn, if the model made none."""
    function = {"name": _BERGEN[0], "arguments": json.dumps(_BERGEN[1])}
    return {"id": _CALL_ID, "type": "function", "function": function}
