"""The layout of calls: nodes of a grammar, with placeholders for what calls contain.

An engine lays out its calls once, as the family's templates write them. `write_calls` fills the placeholders with the
values of calls. A grammar fills them with what the schemas of the tools allow (`toolfmt.formats.grammar.constraint`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
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

    def text(node: Node, at: int = 0, key: str = "", place: int = 0) -> str:
        match node:
            case Text(fixed):
                return fixed
            case Row(parts):
                return "".join(text(part, at, key, place) for part in parts)
            case EachCall(call, separator, before, after):
                return separator.join(before + text(call, number) + after for number in range(len(calls)))
        name, arguments = calls[at]
        match node:
            case CallText(write):
                return write(name, at)
            case JsonArguments(style, in_string):
                written = style(dict(arguments))
                return json.dumps(written, ensure_ascii=style.ascii) if in_string else written
            case InnerCalls(inner):
                return write_calls(inner, [calls[at]], types)
            case IfArguments(part):
                return text(part, at) if arguments else ""
            case EachArgument(argument, separator, alphabetical):
                keys = sorted(arguments, key=str.lower) if alphabetical else arguments
                return separator.join(text(argument, at, key, place) for place, key in enumerate(keys))
            case Key():
                return key
            case Value(write_value):
                return write_value(arguments[key])
            case TaggedValue(start, write_text, end):
                return start(key, arguments[key], place) + write_text(arguments[key], types(name, key)) + end
            case Element(engine):
                return engine.element(key, arguments[key], types, (name, key))
        raise TypeError(f"not a node of a layout: {node!r:.80}")

    return text(layout)


class LaidOut:
    """An engine that writes calls in its layout."""

    @property
    def layout(self) -> Node:
        """The calls as the family's templates write them."""
        raise NoLayout(f"its engine {type(self).__qualname__} has no layout")

    def write(self, calls: Sequence[Call], types: TypesOf) -> str:
        """Return the calls as the family's templates write them."""
        return write_calls(self.layout, calls, types)
