"""Two calls with two string arguments each, in any format, and every way to lose text between their values.

The fuzzer, the invariant's test and `benchmarks/damaged_calls.py` share this. What is lost is one character anywhere
outside the values, or a run of up to 24 characters directly after a value that leaves at least one before the next
value. If a call ends and one of its values contains the text of another value, it is *merged*: it would run with
arguments that the model did not write.

Some damage is undetectable: the text left between the two values contains no complete token of the undamaged text (no
tag, no quote), as in `AAA1=state>BBB2`. Such a value is valid syntax; `unseen` detects these cases.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from toolfmt.errors import CannotWrite
from toolfmt.formats import Parser, ToolCallFormat, write
from toolfmt.messages.events import ToolCallArguments, ToolCallEnd, ToolCallStart
from toolfmt.testing.invariants import leaves

LONGEST_RUN = 24
VALUES = ("AAA1", "BBB2", "CCC3", "DDD4")
CALLS = [
    ("get_weather", {"city": VALUES[0], "state": VALUES[1]}),
    ("get_weather", {"city": VALUES[2], "state": VALUES[3]}),
]
TOOLS: list[Any] = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}, "state": {"type": "string"}}},
        },
    }
]
MODES = tuple({"tools": tools, "strict": strict} for tools in (TOOLS, None) for strict in (False, True))
_TOKENS = re.compile(r"<\|\"\|>|<[^<>\n]*>|\]<\][^\[\]<>]*\[>\[|\[/?[A-Z_]+\]|[\"']|```")
"""Tokens that start or end something anywhere: tags, control tokens, quotes."""


@dataclass(frozen=True)
class Damage:
    """A string in a format with a part removed."""

    at: int
    lost: str
    text: str


def damages(format: str | ToolCallFormat, runs: Iterable[int] = range(2, LONGEST_RUN + 1)) -> Iterator[Damage]:
    """Yield the two calls with each single character lost, then the runs of these lengths after each value."""
    text = written(format)
    places = [(text.index(value), text.index(value) + len(value)) for value in VALUES if value in text]
    for at in range(len(text)):
        if not any(begin <= at < end for begin, end in places):
            yield Damage(at, text[at], text[:at] + text[at + 1 :])
    following = [begin for begin, _ in places[1:]] + [len(text) + 1]
    for (_, end), limit in zip(places, following, strict=True):
        for length in runs:
            if end + length < limit:
                yield Damage(end, text[end : end + length], text[:end] + text[end + length :])


def written(format: str | ToolCallFormat) -> str:
    """Return the text of the two calls, or of one if the format allows only one."""
    try:
        return write(format, CALLS, TOOLS)
    except CannotWrite:
        return write(format, CALLS[:1], TOOLS)


def merged(format: str | ToolCallFormat, text: str, **options: Any) -> list[str]:
    """Return the values of ended calls that contain the text of two values."""
    parser = Parser(format, **options)
    arguments: dict[int, str] = {}
    found: list[str] = []
    for event in [*parser.feed(text), *parser.finish()]:
        if isinstance(event, ToolCallStart):
            arguments[event.index] = ""
        elif isinstance(event, ToolCallArguments):
            arguments[event.index] += event.delta
        elif isinstance(event, ToolCallEnd):
            found += [leaf for leaf in leaves(json.loads(arguments[event.index])) if _held(leaf) > 1]
    return found


def unseen(format: str | ToolCallFormat, value: str) -> bool:
    """Return whether nothing in this value shows that it is more than one."""
    begin = min(value.index(part) + len(part) for part in VALUES if part in value)
    end = max(value.index(part) for part in VALUES if part in value)
    return not any(token in value[begin:end] for token in set(_TOKENS.findall(written(format))))


def _held(text: str) -> int:
    return sum(value in text for value in VALUES)
