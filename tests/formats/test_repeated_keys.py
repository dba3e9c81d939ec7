"""Guarantee in every format: the JSON of an ended call never has a key twice, at any level.

A call is written with two keys, and then the second key is replaced by the first one. Equal values: the second one is
dropped. Different values: the call is rejected.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from toolfmt.formats import FORMATS, Parser, write
from toolfmt.messages.events import ToolCallArguments, ToolCallEnd, ToolCallRejected, ToolCallStart

KEY, OTHER = "plant", "place"
WHERE = {"type": "object", "properties": {KEY: {"type": "string"}, OTHER: {"type": "string"}}}
TOOLS: list[Any] = [
    {
        "type": "function",
        "function": {
            "name": "water_plant",
            "parameters": {
                "type": "object",
                "properties": {KEY: {"type": "string"}, OTHER: {"type": "string"}, "where": WHERE},
            },
        },
    }
]


def read(format: str, text: str, size: int, tools: Any) -> tuple[str, ToolCallEnd | ToolCallRejected]:
    """Return the arguments of the only call of a text, and its last event."""
    parser = Parser(format, tools=tools)
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    events = [event for piece in pieces for event in parser.feed(piece)] + parser.finish()
    (end,) = [event for event in events if isinstance(event, (ToolCallEnd, ToolCallRejected))]
    assert sum(isinstance(event, ToolCallStart) for event in events) <= 1
    return "".join(event.delta for event in events if isinstance(event, ToolCallArguments)), end


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    assert len({key for key, _ in pairs}) == len(pairs), pairs
    return dict(pairs)


@pytest.mark.parametrize("tools", [TOOLS, None], ids=["tools", "no tools"])
@pytest.mark.parametrize("nested", [False, True], ids=["argument", "nested"])
@pytest.mark.parametrize("format", [format.name for format in FORMATS])
def test_no_ended_call_has_a_key_twice(format: str, nested: bool, tools: Any) -> None:
    def text(first: str, second: str) -> str:
        found: dict[str, Any] = {KEY: first, OTHER: second}
        written = write(format, [("water_plant", {"where": found} if nested else found)], TOOLS)
        return written.replace(OTHER, KEY)

    for size in (10**6, 4, 1):
        same, end = read(format, text("fern", "fern"), size, tools)
        expected = {KEY: "fern"}
        assert json.loads(same, object_pairs_hook=unique) == ({"where": expected} if nested else expected)
        assert isinstance(end, ToolCallEnd)
        assert end.tolerated == ("duplicate_key",)
        _, end = read(format, text("fern", "cactus"), size, tools)
        assert isinstance(end, ToolCallRejected)
        assert (end.reason, end.expected) == ("invalid_arguments", "each key only once")
        strict = Parser(format, tools=tools, strict=True)
        assert not any(isinstance(event, ToolCallEnd) for event in strict.feed(text("fern", "fern")) + strict.finish())
