"""Fill the layout of calls with what the schemas of the tools allow, and collect the named rules."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

from toolfmt.errors import CannotConstrain
from toolfmt.formats.grammar.element_nodes import ElementNodes
from toolfmt.formats.grammar.raw_values import RawValues
from toolfmt.formats.grammar.schemas import Arguments, NotConstrained, Schemas
from toolfmt.formats.grammar.value_nodes import JSON_SYNTAX, QuotedValueNodes, ValueNodes, members, value_syntax_of
from toolfmt.formats.values.json_style import JsonStyle
from toolfmt.formats.values.layout import (
    CallText,
    EachArgument,
    EachCall,
    Element,
    IfArguments,
    InnerCalls,
    JsonArguments,
    Key,
    NoLayout,
    TaggedValue,
    Value,
    layout_of,
)
from toolfmt.formats.values.nodes import (
    EMPTY,
    JsonValue,
    Node,
    Pattern,
    RawText,
    Repeated,
    Row,
    Text,
    either,
    inner_nodes,
    maybe,
    row,
)
from toolfmt.formats.values.schema_types import Types, parameter_types
from toolfmt.formats.values.value_writers import QuotedJsonValues

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

    An engine provides the layout of its calls. The constraint fills it for each allowed tool, and decides how many
    calls are allowed.

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
    strips_newlines: bool = False
    """Whether the parser strips newlines around a verbatim string although the writer adds none."""

    def calls(self, layout: Node) -> Node:
        """Return the calls that the tools allow in a layout."""
        match layout:
            case Row(parts):
                return row(*map(self.calls, parts))
            case EachCall(call, separator, before, after):
                one = row(before, self._any_call(call), after)
                return Repeated(one, Text(separator)) if self.several else one
        return layout

    def _any_call(self, layout: Node) -> Node:
        """Return a call to any of the tools, with arguments in any of their forms.

        Raises `CannotConstrain` if a tool's arguments have no grammar; the message names the tool and the argument.
        """
        nodes = []
        for tool in self.tools:
            try:
                for shape in tool.shapes:
                    nodes.append(self._call(layout, tool, shape))
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

    def _call(self, layout: Node, tool: ConstrainedTool, shape: Arguments) -> Node:
        """Return a call to a tool with one form of its arguments."""
        match layout:
            case Row(parts):
                return row(*(self._call(part, tool, shape) for part in parts))
            case CallText(write):
                return numbered(partial(write, tool.name))
            case JsonArguments(style, in_string):
                if in_string or style.python:
                    raise NotConstrained("they are written as " + ("Python" if style.python else "JSON in a string"))
                return json_arguments(tool, shape, style)
            case InnerCalls(inner):
                return replace(self, tools=(tool,), several=False).calls(inner)
            case IfArguments(part):
                node = self._call(part, tool, shape)
                return EMPTY if not shape.properties else node if shape.required else maybe(node)
            case EachArgument(argument, separator):
                return members(shape, lambda key, schema: self._argument(argument, tool, key, schema), separator)
        return layout

    def _argument(self, layout: Node, tool: ConstrainedTool, key: str, schema: Any) -> Node:
        match layout:
            case Row(parts):
                return row(*(self._argument(part, tool, key, schema) for part in parts))
            case Key():
                return Text(key)
            case Value(write, never):
                quoted = isinstance(write, QuotedJsonValues)
                kind, syntax = (QuotedValueNodes, JSON_SYNTAX) if quoted else (ValueNodes, value_syntax_of(write))
                nodes = kind(write, tool.schemas, self.rules, tool.prefix, syntax, never=never, narrower=self.narrower)
                return nodes.value(schema)
            case TaggedValue():
                return self._tagged_value(layout, tool, key, schema)
            case Element(engine):
                elements = ElementNodes(engine, tool.schema, self.rules, tool.prefix, self.narrower)
                return elements.element(key, schema, (key,))
        return layout

    def _tagged_value(self, layout: TaggedValue, tool: ConstrainedTool, key: str, schema: Any) -> Node:
        """Return an argument between its tags. Values of different types may have different start tags."""
        has_type = layout.start(key, "s", 0) != layout.start(key, 1, 0)
        limits = (layout.end, layout.never, has_type, self.strips_newlines, self.narrower)
        values = RawValues(tool.schemas, tool.types(key), *limits)
        by_start: dict[Node, list[Node]] = {}
        for value, node in values.nodes(schema, layout.write):
            nodes = by_start.setdefault(numbered(partial(layout.start, key, value)), [])
            nodes.append(node)
            if layout.cdata and isinstance(node, RawText):
                start, end = layout.cdata
                nodes.append(row(start, RawText(end + node.end, (end,), node.least, node.most)))
        return either(*(row(before, either(*nodes)) for before, nodes in by_start.items()))


def constrained_calls(engine: object, constraint: Constraint) -> Node:
    """Return the calls that the tools allow, as the engine writes them and strict parsing accepts them.

    Args:
        engine: The engine that writes the calls.
        constraint: The tools. The function adds named rules to it, and the names of what the grammar leaves out.

    Raises:
        CannotConstrain: The engine has no layout, or a tool's arguments have no grammar.
    """
    try:
        return constraint.calls(layout_of(engine))
    except NoLayout as error:
        raise CannotConstrain(f"the format {constraint.format} has no grammar: {error}") from None


def _contains_json(node: Node) -> bool:
    return isinstance(node, JsonValue) or any(map(_contains_json, inner_nodes(node)))


def json_arguments(tool: ConstrainedTool, shape: Arguments, style: JsonStyle) -> Node:
    """Return the arguments as a JSON object in this style."""
    lines = style.indent is not None
    exact = (style.comma, style.colon, lines, style.ascii) == (", ", ": ", False, False)

    def value(schema: Any) -> Node:
        return JsonValue(tool.schemas.standalone(schema, sort_keys=style.sort_keys), exact)

    if shape.free:
        return value({**tool.schema, "type": "object"})
    if lines:
        closed = {"type": "object", "properties": dict(shape.properties), "required": list(shape.required)}
        return value({**closed, "additionalProperties": False})

    def member(key: str, schema: Any) -> Node:
        return row(json.dumps(key, ensure_ascii=style.ascii) + style.colon, value(schema))

    return row("{", members(shape, member, style.comma), "}")


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
