"""What an engine is asked to make a grammar of: the tools that may be called, and where named rules go."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from toolfmt.errors import CannotConstrain
from toolfmt.formats.grammar.nodes import (
    EMPTY,
    JsonValue,
    Member,
    Members,
    Node,
    Pattern,
    Repeated,
    Text,
    either,
    inner_nodes,
    row,
)
from toolfmt.formats.grammar.schemas import Arguments, NotConstrained, Schemas
from toolfmt.formats.values.json_layout import JsonStyle, WrittenObject
from toolfmt.formats.values.schema_types import Types, parameter_types

_MOST_DIGITS = 3
"""Of a call's number: a model that may go on for ever does."""


@dataclass(frozen=True)
class ConstrainedTool:
    """A tool that a grammar lets be called."""

    name: str
    schema: Mapping[str, Any]
    prefix: str
    """With what the names of its rules begin: another one for every tool."""

    @cached_property
    def schemas(self) -> Schemas:
        return Schemas(self.schema)

    @property
    def shapes(self) -> list[Arguments]:
        """The shapes that its arguments may have."""
        return self.schemas.arguments({"type": "object", **self.schema})

    def types(self, key: str) -> Types:
        """The types that the reader takes an argument for."""
        return parameter_types(self.schema, key)


@dataclass
class Constraint:
    """The tools, whether several calls may be made, and what the grammar gathers on the way.

    `rules` are the named rules. An engine makes the node of one call with one tool; which calls, and how many, is asked
    of here.
    """

    format: str
    tools: tuple[ConstrainedTool, ...]
    several: bool
    rules: dict[str, Node] = field(default_factory=dict)
    narrower: set[str] = field(default_factory=set)
    """Names of what the engine leaves out."""

    def with_tool(self, tool: ConstrainedTool) -> Constraint:
        """The same for one call of one tool."""
        return replace(self, tools=(tool,), several=False)

    def any_call(self, call: Callable[[ConstrainedTool, Arguments], Node]) -> Node:
        """A call of any of the tools, with arguments in any of their shapes. Raises `CannotConstrain`."""
        nodes = []
        for tool in self.tools:
            try:
                for shape in tool.shapes:
                    nodes.append(call(tool, shape))
                    if shape.free and not _holds_json(nodes[-1]):
                        self.narrower.add("declared-keys")
            except RecursionError:
                raise CannotConstrain(
                    f"the format {self.format} has no grammar for the arguments of {tool.name!r}: "
                    "they are nested too deeply"
                ) from None
            except NotConstrained as refusal:
                where = f"the argument {'.'.join(refusal.path)!r}" if refusal.path else "the arguments"
                raise CannotConstrain(
                    f"the format {self.format} has no grammar for {where} of {tool.name!r}: {refusal.why}"
                ) from None
        return either(*nodes)

    def calls(self, call: Node, separator: str) -> Node:
        """One call, or several with the separator between them."""
        return Repeated(call, Text(separator)) if self.several else call


def _holds_json(node: Node) -> bool:
    return isinstance(node, JsonValue) or any(map(_holds_json, inner_nodes(node)))


def members(shape: Arguments, member: Callable[[str, Any], Node], separator: str = "") -> Node:
    """The arguments in any order, those that are required all; `member` makes one, with its key, of its schema."""
    items = []
    for key, schema in shape.properties.items():
        try:
            items.append(Member(member(key, schema), key in shape.required))
        except NotConstrained as refusal:
            raise refusal.within(key) from None
    return Members(tuple(items), Text(separator)) if items else EMPTY


@dataclass(frozen=True)
class JsonSpelling:
    """How a writer spells the arguments: the signs between key and value and between members, if nothing else differs
    from `json.dumps` (None: there are line ends, or other blanks), whether members are sorted by their names, and
    whether signs beyond ASCII are escaped."""

    signs: tuple[str, str] | None = (": ", ", ")
    by_name: bool = False
    ascii: bool = False


def json_arguments(tool: ConstrainedTool, shape: Arguments, spelling: JsonSpelling = JsonSpelling()) -> Node:
    """The arguments as a JSON object."""
    schemas, exact = tool.schemas, spelling.signs == (": ", ", ") and not spelling.ascii
    if shape.free:
        return JsonValue(schemas.alone(dict(tool.schema) | {"type": "object"}, by_name=spelling.by_name), exact)
    if spelling.signs is None:
        closed = {"type": "object", "properties": dict(shape.properties), "required": list(shape.required)}
        made = schemas.alone(closed | {"additionalProperties": False}, by_name=spelling.by_name)
        return JsonValue(made, exact=False)
    assign, separator = spelling.signs

    def member(key: str, schema: Any) -> Node:
        value = JsonValue(schemas.alone(schema, by_name=spelling.by_name), exact)
        return row(json.dumps(key, ensure_ascii=spelling.ascii) + assign, value)

    return row("{", members(shape, member, separator), "}")


def numbered(write: Callable[[int], str]) -> Node:
    """The text that a writer makes of a call's number, which may be any in a grammar."""
    first, second = write(0), write(1)
    if first == second:
        return Text(first)
    begin = next(at for at, (a, b) in enumerate(zip(first, second, strict=False)) if a != b)
    end = 0
    while first[-1 - end] == second[-1 - end]:
        end += 1
    while begin and first[begin - 1].isdigit():
        begin -= 1  # zeros before the number belong to it
    digits = first[begin : len(first) - end]
    pattern = f"[0-9]{{1,{_MOST_DIGITS}}}" if len(digits) == 1 else f"[0-9]{{{len(digits)}}}"
    return row(first[:begin], Pattern(pattern), first[len(first) - end :])


def written_object(written: WrittenObject, tool: ConstrainedTool, shape: Arguments) -> Node:
    """The object of a call, spelt as the family's templates spell it."""
    if written.members.arguments_string or written.style.python:
        raise NotConstrained("they are written as " + ("Python" if written.style.python else "JSON in a string"))
    before = numbered(lambda at: written.around(tool.name, at)[0])
    behind = numbered(lambda at: written.around(tool.name, at)[1])
    return row(before, json_arguments(tool, shape, spelling_of_style(written.style)), behind)


def spelling_of_style(style: JsonStyle) -> JsonSpelling:
    """How the grammar of a style's JSON is asked for."""
    return JsonSpelling((style.colon, style.comma) if style.indent is None else None, style.sort_keys, style.ascii)
