"""Outputs that the tests of the server adapters share: the calls of every format, written by its own writer."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from toolfmt.errors import CannotWrite
from toolfmt.formats import formats, write

CODE = 'if a < b:\n    print("</tool_call> }", {"x": [1, 2]})\n'


def _tool(name: str, **types: str) -> dict[str, Any]:
    properties = {name: {"type": type} for name, type in types.items()}
    function = {"name": name, "description": "It does.", "parameters": {"type": "object", "properties": properties}}
    return {"type": "function", "function": function}


TOOLS = [
    _tool("get_weather", city="string", days="integer", detailed="boolean"),
    _tool("write_file", path="string", text="string"),
    _tool("set_options", options="object", tags="array"),
    _tool("get_time"),
]
CALLS: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "two types": [("get_weather", {"city": "Zürich 🌧", "days": 5, "detailed": True})],
    "no arguments": [("get_time", {})],
    "nested": [("set_options", {"options": {"a": {"b": [1, None, 2.5]}, "c": "}"}, "tags": ["x", "]"]})],
    "a string like a number, and code": [("write_file", {"path": "5", "text": CODE})],
    "two calls": [("get_weather", {"city": "Paris", "days": 2, "detailed": False}), ("get_time", {})],
}


@cache
def answers(format: str) -> tuple[str, ...]:
    """What the format can carry of the calls."""
    texts = []
    for calls in CALLS.values():
        try:
            texts.append(write(format, calls, tools=TOOLS))
        except CannotWrite:
            continue
    return tuple(texts)


FORMATS = [format.name for format in formats()]


def pieces(text: str, size: int = 3) -> list[str]:
    return [text[begin : begin + size] for begin in range(0, len(text), size)]


def cut_places(text: str) -> list[int]:
    """Where an output may be cut: at every fifth character, and at each of the last ones, where end markers are."""
    return [end for end in range(1, len(text)) if end % 5 == 0 or end > len(text) - 20]


def is_whole(arguments: str) -> bool:
    """Whether a client could execute a call with these."""
    try:
        return isinstance(json.loads(arguments), dict)
    except ValueError:
        return False
