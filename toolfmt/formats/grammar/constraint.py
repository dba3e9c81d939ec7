"""What an engine needs to create a grammar: the tools that may be called, and a place for named rules."""

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

_MAX_DIGITS = 3
"""Of a call's number. Without a limit a model may write digits forever."""


@dataclass(frozen=True)
class ConstrainedTool:
    """A tool that the grammar allows to be called."""

    name: str
    schema: Mapping[str, Any]
    prefix: str
    """The start of the names of its rules, different for each tool."""

    @cached_property
    def schemas(self) -> Schemas:
        return Schemas(self.schema)

    @property
    def shapes(self) -> list[Arguments]:
        """The forms that its arguments may have: one for each alternative of its schema."""
        return self.schemas.arguments({"type": "object", **self.schema})

    def types(self, key: str) -> Types:
        """Return the types that the parser allows for an argument. See `parameter_types`."""
        return parameter_types(self.schema, key)


@dataclass
class Constraint:
    """The tools, whether several calls are allowed, and what creating the grammar collects.

    An engine creates the node of one call to one tool. The constraint decides which calls are allowed, and how many.

    Attributes:
        format: The name of the format, for error messages.
        tools: The tools that may be called.
        several: Whether several calls are allowed.
        rules: The named rules.
    """

    format: str
    tools: tuple[ConstrainedTool, ...]
    several: bool
    rules: dict[str, Node] = field(default_factory=dict)
    narrower: set[str] = field(default_factory=set)
    """Names of what the grammar leaves out."""

    def with_tool(self, tool: ConstrainedTool) -> Constraint:
        """Return the constraint for one call to this tool."""
        return replace(self, tools=(tool,), several=False)

    def any_call(self, call: Callable[[ConstrainedTool, Arguments], Node]) -> Node:
        """Return a call to any of the tools, with arguments in any of their forms.

        Args:
            call: Returns the node of a call to a tool with one form of its arguments.

        Raises:
            CannotConstrain: A tool's arguments have no grammar. The message names the tool and the argument.
        """
        nodes = []
        for tool in self.tools:
            try:
                for shape in tool.shapes:
                    nodes.append(call(tool, shape))
                    if shape.free and not _contains_json(nodes[-1]):
                        self.narrower.add("declared-keys")
            except RecursionError:
                raise CannotConstrain(
                    f"the format {self.format} has no grammar for the arguments of {tool.name!r}: "
                    "they are nested too deeply"
                ) from None
            except NotConstrained as error:
                where = f"the argument {'.'.join(error.path)!r}" if error.path else "the arguments"
                raise CannotConstrain(
                    f"the format {self.format} has no grammar for {where} of {tool.name!r}: {error.why}"
                ) from None
        return either(*nodes)

    def calls(self, call: Node, separator: str) -> Node:
        """Return one call, or if several are allowed, one or more with the separator between them."""
        return Repeated(call, Text(separator)) if self.several else call


def _contains_json(node: Node) -> bool:
    return isinstance(node, JsonValue) or any(map(_contains_json, inner_nodes(node)))


def members(shape: Arguments, member: Callable[[str, Any], Node], separator: str = "") -> Node:
    """Return the arguments in any order; the required ones must be present.

    Args:
        shape: The arguments.
        member: Returns the node of one argument, with its key, for a schema.
        separator: The text between two arguments.
    """
    items = []
    for key, schema in shape.properties.items():
        try:
            items.append(Member(member(key, schema), key in shape.required))
        except NotConstrained as error:
            raise error.within(key) from None
    return Members(tuple(items), Text(separator)) if items else EMPTY


@dataclass(frozen=True)
class JsonSyntax:
    """How a writer writes arguments as JSON.

    Attributes:
        delimiters: The text between key and value, and between members, if the JSON is otherwise that of `json.dumps`.
            None if it has line ends or other whitespace.
        sort_keys: Whether members are sorted by name.
        ascii: Whether characters outside of ASCII are escaped.
    """

    delimiters: tuple[str, str] | None = (": ", ", ")
    sort_keys: bool = False
    ascii: bool = False


def json_arguments(tool: ConstrainedTool, shape: Arguments, syntax: JsonSyntax = JsonSyntax()) -> Node:
    """Return the arguments as a JSON object in this syntax."""
    schemas, exact = tool.schemas, syntax.delimiters == (": ", ", ") and not syntax.ascii
    if shape.free:
        return JsonValue(schemas.standalone(dict(tool.schema) | {"type": "object"}, sort_keys=syntax.sort_keys), exact)
    if syntax.delimiters is None:
        closed = {"type": "object", "properties": dict(shape.properties), "required": list(shape.required)}
        standalone = schemas.standalone(closed | {"additionalProperties": False}, sort_keys=syntax.sort_keys)
        return JsonValue(standalone, exact=False)
    assign, separator = syntax.delimiters

    def member(key: str, schema: Any) -> Node:
        value = JsonValue(schemas.standalone(schema, sort_keys=syntax.sort_keys), exact)
        return row(json.dumps(key, ensure_ascii=syntax.ascii) + assign, value)

    return row("{", members(shape, member, separator), "}")


def numbered(write: Callable[[int], str]) -> Node:
    """Return the text that `write` returns for a call's number, with any number allowed.

    `write` is called with 0 and 1. The digits that differ become a pattern; padded numbers keep their length.
    """
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
    pattern = f"[0-9]{{1,{_MAX_DIGITS}}}" if len(digits) == 1 else f"[0-9]{{{len(digits)}}}"
    return row(first[:begin], Pattern(pattern), first[len(first) - end :])


def written_object(written: WrittenObject, tool: ConstrainedTool, shape: Arguments) -> Node:
    """Return the JSON object of a call, with its name and arguments, as the format's writer writes it."""
    if written.members.arguments_string or written.style.python:
        raise NotConstrained("they are written as " + ("Python" if written.style.python else "JSON in a string"))
    start = numbered(lambda at: written.around(tool.name, at)[0])
    end = numbered(lambda at: written.around(tool.name, at)[1])
    return row(start, json_arguments(tool, shape, json_syntax_of(written.style)), end)


def json_syntax_of(style: JsonStyle) -> JsonSyntax:
    """Return the syntax of the arguments for a style of JSON."""
    return JsonSyntax((style.colon, style.comma) if style.indent is None else None, style.sort_keys, style.ascii)
