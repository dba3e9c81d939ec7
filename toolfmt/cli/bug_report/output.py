"""An answer that was read wrong, masked so that it is still read the same way, and what is read of it.

The answer and its tools are masked alike. Lengths stay, so that the events of both readings can be compared span by
span: a report says whether the fault is still in what it tells.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from toolfmt.cli.bug_report.errors import Fault, fault
from toolfmt.cli.bug_report.masking import Masking
from toolfmt.formats import Parser, ToolCallFormat
from toolfmt.messages.events import Content, Event, Reasoning, ToolCallArguments, ToolCallRejected, ToolCallStart, merge

_TYPES = ("string", "integer", "number", "boolean", "array", "object", "null", "any")
_SCHEMAS = ("items", "additionalProperties", "not", "contains")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_MAPS = ("properties", "$defs", "definitions")
_VALUES = ("enum", "const")
_DEEPEST = 40


@dataclass(frozen=True)
class Read:
    """One reading: the merged events, or what was raised, which nothing that a model writes should."""

    events: tuple[Event, ...] = ()
    raised: Fault | None = None

    def outline(self) -> list[tuple[Any, ...]]:
        """What happened and where, without any text."""
        if self.raised is not None:
            return [("raised", self.raised.kind, *self.raised.places[-1:])]
        return [_outlined(event) for event in self.events]


@dataclass(frozen=True)
class Answered:
    """The answer as a report tells it: `case` holds it with what it is read with, `read` is what comes out of that.

    `alike` says whether the answer itself comes out so, `in_pieces` whether it does a character at a time.
    """

    case: dict[str, Any]
    read: Read
    original: Read
    in_pieces: bool

    @property
    def alike(self) -> bool:
        return self.read.outline() == self.original.outline()


def answered(
    format: ToolCallFormat, text: str, tools: list[dict[str, Any]] | None, prefix: str, strict: bool, masking: Masking
) -> Answered:
    """The answer masked, and read both ways."""
    told = None if tools is None else [masked_tool(tool, masking) for tool in tools]
    masked = as_it_is(format, masking.masked(text), told, masking.masked(prefix), strict)
    own = as_it_is(format, text, tools, prefix, strict)
    return Answered(masked.case, masked.read, own.original, own.in_pieces)


def as_it_is(
    format: ToolCallFormat, text: str, tools: list[dict[str, Any]] | None, prefix: str, strict: bool
) -> Answered:
    """The answer as it stands, for those who ask for that."""
    case = {"format": format.name, "text": text, "tools": tools, "prefix": prefix, "strict": strict}
    original = read(format, text, tools, prefix, strict)
    pieces = read(format, text, tools, prefix, strict, step=1)
    return Answered(case, original, original, pieces.outline() == original.outline())


def read(
    format: ToolCallFormat,
    text: str,
    tools: list[dict[str, Any]] | None,
    prefix: str,
    strict: bool,
    step: int | None = None,
) -> Read:
    """What the format reads of a text, in pieces of so many characters."""
    try:
        parser = Parser(format, tools=tools, prefix=prefix, strict=strict)
        events: list[Event] = []
        for begin in range(0, len(text), step or max(len(text), 1)):
            events += parser.feed(text[begin : begin + (step or len(text))])
        return Read(tuple(merge([*events, *parser.finish()])))
    except Exception as error:  # noqa: BLE001 - whatever reading raises is what is to be reported
        return Read(raised=fault(error))


def names_in(tools: list[dict[str, Any]] | None) -> Iterator[str]:
    """The names of tools and, at any depth, of their parameters."""
    for tool in tools or []:
        function = _function(tool)
        if isinstance(name := function.get("name"), str):
            yield name
        yield from _keys(function.get("parameters"), 0)


def _keys(schema: Any, depth: int) -> Iterator[str]:
    if isinstance(schema, list):
        for one in schema:
            yield from _keys(one, depth + 1)
    elif isinstance(schema, dict) and depth < _DEEPEST:
        for member in (*_SCHEMAS, *_LISTS):
            yield from _keys(schema.get(member), depth + 1)
        for member in _MAPS:
            if isinstance(inside := schema.get(member), dict):
                yield from (key for key in inside if isinstance(key, str))
                yield from _keys(list(inside.values()), depth + 1)


def masked_tool(tool: dict[str, Any], masking: Masking) -> dict[str, Any]:
    """The definition with what decides how arguments are read: names, masked, and types. Descriptions are left out."""
    function = _function(tool)
    parameters = _schema(function.get("parameters", {}), masking, 0)
    return {
        "type": "function",
        "function": {"name": masking.masked(str(function.get("name", ""))), "parameters": parameters},
    }


def _function(tool: dict[str, Any]) -> dict[str, Any]:
    inside = tool.get("function")
    return inside if isinstance(inside, dict) else tool


def _schema(schema: Any, masking: Masking, depth: int) -> Any:
    if not isinstance(schema, dict) or depth > _DEEPEST:
        return schema if isinstance(schema, bool) else {}
    told: dict[str, Any] = {}
    for member, value in schema.items():
        if member == "type":
            told[member] = _type(value)
        elif member in _SCHEMAS:
            inner = [_schema(one, masking, depth + 1) for one in (value if isinstance(value, list) else [value])]
            told[member] = inner if isinstance(value, list) else inner[0]
        elif member in _LISTS and isinstance(value, list):
            told[member] = [_schema(one, masking, depth + 1) for one in value]
        elif member in _MAPS and isinstance(value, dict):
            told[member] = {masking.masked(str(key)): _schema(one, masking, depth + 1) for key, one in value.items()}
        elif member == "required" and isinstance(value, list):
            told[member] = [masking.masked(one) for one in value if isinstance(one, str)]
        elif member == "$ref" and isinstance(value, str):
            told[member] = _reference(value, masking)
        elif member in _VALUES:
            told[member] = _value(value, masking, depth)
        elif member == "nullable" and isinstance(value, bool):
            told[member] = value
    return told


def _type(value: Any) -> Any:
    if isinstance(value, list):
        return [_type(one) for one in value]
    return value if value in _TYPES else "any"


def _reference(value: str, masking: Masking) -> str:
    for begin in ("#/$defs/", "#/definitions/"):
        if value.startswith(begin):
            return begin + masking.masked(value.removeprefix(begin))
    return masking.masked(value)


def _value(value: Any, masking: Masking, depth: int) -> Any:
    if isinstance(value, str):
        return masking.masked(value)
    if isinstance(value, list) and depth < _DEEPEST:
        return [_value(one, masking, depth + 1) for one in value]
    return value if value is None or isinstance(value, bool) else 1 if isinstance(value, (int, float)) else {}


def _outlined(event: Event) -> tuple[Any, ...]:
    told = event.to_dict()
    if isinstance(event, (Content, Reasoning)):
        return (told["type"], event.start, len(event.text))
    if isinstance(event, ToolCallStart):
        return (told["type"], event.index, len(event.name), event.id is not None)
    if isinstance(event, ToolCallArguments):
        return (told["type"], event.index, len(event.delta))
    if isinstance(event, ToolCallRejected):
        return (told["type"], event.index, event.reason, *event.span)
    return (told["type"], event.index, *event.span, *event.tolerated)
