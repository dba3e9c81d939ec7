"""The layout of calls: nodes of a grammar, with placeholders for what calls contain.

An engine lays out its calls once, as the family's templates write them. `write_calls` fills the placeholders with the
values of calls. A grammar fills them with what the schemas of the tools allow (`toolfmt.formats.grammar.constraint`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, TypeAlias

from toolfmt.formats.values.json_style import JsonStyle
from toolfmt.formats.values.nodes import Node, Row, Text
from toolfmt.formats.values.schema_types import Types
from toolfmt.formats.values.value_writers import TextWriter, ValueWriter

Call: TypeAlias = tuple[str, Mapping[str, Any]]
"""A call to write: the tool's name and its arguments."""


class TypesOf(Protocol):
    """Looks up the types that the schemas of the tools allow."""

    def __call__(self, name: str, *path: str) -> Types:
        """Return the types that a value may have.

        Args:
            name: The tool's name.
            path: The name of a parameter, then the keys that lead to a part of its value.
        """


CallsWriter: TypeAlias = Callable[[Sequence[Call], TypesOf], str]
"""Writes calls, given the types of their arguments."""


class Elements(Protocol):
    """An engine whose values are tags inside tags."""

    @property
    def sign(self) -> str:
        """The text before each tag."""

    @property
    def item(self) -> str:
        """The tag of a list item."""

    def names_a_tag(self, key: str) -> bool:
        """Return whether a key can be a tag."""

    def element(self, tag: str, value: Any, types: TypesOf, path: tuple[str, ...]) -> str:
        """Return a value between its tags."""


@dataclass(frozen=True)
class EachCall(Node):
    """The calls, with `separator` between two, and `before` and `after` around each."""

    call: Node
    separator: str = ""
    before: str = ""
    after: str = ""


@dataclass(frozen=True)
class CallText(Node):
    """The text that `write` returns for the name of the tool and the number of the call."""

    write: Callable[[str, int], str]


TOOL_NAME = CallText(lambda name, at: name)


@dataclass(frozen=True)
class JsonArguments(Node):
    """The arguments as a JSON object in this style; `in_string` means a JSON string that contains it."""

    style: JsonStyle
    in_string: bool = False


@dataclass(frozen=True)
class InnerCalls(Node):
    """The same call in the layout of another engine, inside this one."""

    layout: Node


@dataclass(frozen=True)
class IfArguments(Node):
    """The node if the call has arguments, otherwise nothing."""

    node: Node


@dataclass(frozen=True)
class EachArgument(Node):
    """The arguments, with `separator` between two. If `alphabetical`, they are written sorted by key, ignoring case."""

    argument: Node
    separator: str = ""
    alphabetical: bool = False


@dataclass(frozen=True)
class Key(Node):
    """The key of an argument."""


@dataclass(frozen=True)
class Value(Node):
    """The value of an argument as the writer writes it. A verbatim string contains no text of `never`."""

    write: ValueWriter
    never: tuple[str, ...]


@dataclass(frozen=True)
class TaggedValue(Node):
    """A verbatim value between two tags.

    `start` returns the text before the value, given the key, the value and the number of the argument. `end` is the
    text after the value. The value contains no text of `never`. The markers of `cdata`, if any, may be around it.
    """

    start: Callable[[str, Any, int], str]
    write: TextWriter
    end: str
    never: tuple[str, ...]
    cdata: tuple[str, ...] = ()


@dataclass(frozen=True)
class Element(Node):
    """An argument between its tags, with tags inside."""

    engine: Elements


class NoLayout(Exception):
    """The engine writes calls without a layout; contains its name."""


def layout_of(engine: object) -> Node:
    """Return the layout of an engine. Raises `NoLayout`."""
    layout = getattr(engine, "layout", None)
    if not isinstance(layout, Node):
        raise NoLayout(f"its engine {type(engine).__qualname__} has no layout")
    return layout


def write_calls(layout: Node, calls: Sequence[Call], types: TypesOf) -> str:
    """Return the text of calls in a layout."""
    return calls_writer(layout)(calls, types)


def calls_writer(layout: Node) -> CallsWriter:
    """Return the function that writes calls in a layout. The layout is traversed here, not again for each call."""
    match layout:
        case EachCall(node, separator, before, after):
            write = _call_writer(node)

            def write_each(calls: Sequence[Call], types: TypesOf) -> str:
                return separator.join(
                    [before + write(name, arguments, at, types) + after for at, (name, arguments) in enumerate(calls)]
                )

            return write_each
    return _fixed_or_row(layout, calls_writer)


def _call_writer(layout: Node) -> Callable[[str, Mapping[str, Any], int, TypesOf], str]:
    """Return the function that writes a call, given its name, its arguments, its number and the types."""
    match layout:
        case CallText(write):
            return lambda name, arguments, at, types: write(name, at)
        case JsonArguments(style, False):
            return lambda name, arguments, at, types: style(dict(arguments))
        case JsonArguments(style):
            return lambda name, arguments, at, types: json.dumps(style(dict(arguments)), ensure_ascii=False)
        case InnerCalls(inner):
            write_inner = calls_writer(inner)
            return lambda name, arguments, at, types: write_inner([(name, arguments)], types)
        case IfArguments(node):
            write_call = _call_writer(node)
            return lambda name, arguments, at, types: write_call(name, arguments, at, types) if arguments else ""
        case EachArgument(node, separator, alphabetical):
            write_argument = _argument_writer(node)

            def write_each(name: str, arguments: Mapping[str, Any], at: int, types: TypesOf) -> str:
                keys = sorted(arguments, key=str.lower) if alphabetical else arguments
                return separator.join(
                    [write_argument(name, key, arguments[key], place, types) for place, key in enumerate(keys)]
                )

            return write_each
    return _fixed_or_row(layout, _call_writer)


def _argument_writer(layout: Node) -> Callable[[str, str, Any, int, TypesOf], str]:
    """Return the function that writes an argument, given the tool's name, key, value, its number and the types."""
    match layout:
        case Key():
            return lambda name, key, value, at, types: key
        case Value(write):
            return lambda name, key, value, at, types: write(value)
        case TaggedValue(start, write_text, end):
            return lambda name, key, value, at, types: start(key, value, at) + write_text(value, types(name, key)) + end
        case Element(engine):
            return lambda name, key, value, at, types: engine.element(key, value, types, (name, key))
    return _fixed_or_row(layout, _argument_writer)


def _fixed_or_row(layout: Node, writer_of: Callable[[Node], Callable[..., str]]) -> Callable[..., str]:
    """Return the function that writes a text or a row, with the same arguments for each part. Raises `TypeError`."""
    match layout:
        case Text(text):
            return lambda *args: text
        case Row(parts):
            writers = [writer_of(part) for part in parts]
            return lambda *args: "".join([write(*args) for write in writers])
    raise TypeError(f"not a node of a layout: {layout!r:.80}")


class LaidOut:
    """An engine that writes calls in its layout."""

    @property
    def layout(self) -> Node:
        """The calls as the family's templates write them."""
        raise NoLayout(f"its engine {type(self).__qualname__} has no layout")

    @cached_property
    def _writer(self) -> CallsWriter:
        return calls_writer(self.layout)

    def write(self, calls: Sequence[Call], types: TypesOf) -> str:
        """Return the calls as the family's templates write them."""
        return self._writer(calls, types)
