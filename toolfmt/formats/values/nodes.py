"""The node language: how an engine specifies the calls that it parses, independently of any grammar syntax.

A grammar is a start node and named rules. Nodes are plain values: they can be compared, hashed and printed. Each
exporter (`toolfmt.grammars`) walks over them. What grammar syntaxes express differently is a node of its own here: a
JSON value with a schema, a text up to its end marker, members in any order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any


class Node:
    """A part of a grammar."""


@dataclass(frozen=True)
class Text(Node):
    """Exactly this text."""

    text: str


@dataclass(frozen=True)
class Row(Node):
    """The parts, one after the other."""

    parts: tuple[Node, ...]


@dataclass(frozen=True)
class Either(Node):
    """One of the parts."""

    parts: tuple[Node, ...]


@dataclass(frozen=True)
class Maybe(Node):
    """The part, or nothing."""

    part: Node


EMPTY = Text("")
"""The empty text."""


@dataclass(frozen=True)
class Repeated(Node):
    """The part `least` to `most` times, with `separator` between two. `least` is 1 or more; `Maybe` allows none."""

    part: Node
    separator: Node = EMPTY
    least: int = 1
    most: int | None = None


@dataclass(frozen=True)
class Member:
    """A member of an object, or an argument of a call. `node` is its key and value, as they are written."""

    node: Node
    required: bool


@dataclass(frozen=True)
class Members(Node):
    """Members in any order, with `separator` between two. Each appears at most once, and each required one exactly
    once.
    """

    items: tuple[Member, ...]
    separator: Node = EMPTY


@dataclass(frozen=True)
class JsonValue(Node):
    """A JSON value that is valid for `schema`, a JSON Schema as JSON text that refers to nothing outside of itself.

    If `exact`, the value is written as `json.dumps(value, ensure_ascii=False)` writes it (`, ` and `: `, no other
    whitespace). Otherwise whitespace is allowed wherever JSON allows it.
    """

    schema: str
    exact: bool = True


@dataclass(frozen=True)
class RawText(Node):
    """A text of `least` to `most` characters, followed by the end marker `end`.

    The text does not contain the end marker, or a part of it that would end the text earlier, or any text of `never`.
    """

    end: str
    never: tuple[str, ...] = ()
    least: int = 0
    most: int | None = None


@dataclass(frozen=True)
class QuotedText(Node):
    r"""The inside of a string of `least` to `most` characters, followed by its closing quote.

    A character is anything except the quote, a backslash and control characters, or one of these escapes: `\\`, the
    escaped quote, `\n`, `\r`, `\t`, `\b`, `\f`, `\uXXXX` (no surrogates).
    """

    quote: str
    least: int = 0
    most: int | None = None


@dataclass(frozen=True)
class Pattern(Node):
    """A regular expression that every grammar syntax supports.

    It consists of literal characters, classes, groups, `|`, `?`, `*`, `+` and `{m,n}`. It has no anchors, lookaround or
    shorthand classes. Alternatives are in a group.
    """

    pattern: str


@dataclass(frozen=True)
class Rule(Node):
    """A reference to a named rule of the grammar."""

    name: str


@dataclass(frozen=True)
class Whitespace(Node):
    """Optional whitespace (spaces, tabs, line ends), which parsers skip and writers do not write."""


@dataclass(frozen=True)
class FreeText(Node):
    """A text, possibly empty, that contains none of `without`.

    If `not_first` is not empty, the text does not begin with that character.
    """

    without: tuple[str, ...] = ()
    not_first: str = ""


@dataclass(frozen=True)
class Rules:
    """A grammar: its start node and its named rules.

    `narrower` names the ways in which the grammar allows less than the format and the tools' schemas do.
    """

    start: Node
    rules: Mapping[str, Node] = field(default_factory=dict)
    narrower: tuple[str, ...] = ()

    def map(self, change: Callable[[Node], Node]) -> Rules:
        """Return the grammar with `change` applied to the start node and to each rule."""
        return Rules(change(self.start), {name: change(node) for name, node in self.rules.items()}, self.narrower)


def row(*parts: Node | str) -> Node:
    """Return the parts, one after the other. Adjacent texts become one, nested rows become part of this one."""
    merged: list[Node] = []
    texts: list[str] = []
    for part in (*parts, None):
        for inner in part.parts if isinstance(part, Row) else (part,):
            if isinstance(inner, (str, Text)):
                texts.append(inner if isinstance(inner, str) else inner.text)
                continue
            if text := "".join(texts):
                merged.append(Text(text))
            texts.clear()
            if inner is not None:
                merged.append(inner)
    return merged[0] if len(merged) == 1 else Row(tuple(merged)) if merged else EMPTY


def either(*parts: Node | str) -> Node:
    """Return the alternatives without duplicates. A single one is returned as it is."""
    flat: list[Node] = []
    for part in parts:
        node = Text(part) if isinstance(part, str) else part
        flat += node.parts if isinstance(node, Either) else (node,)
    nodes = tuple(dict.fromkeys(flat))
    return nodes[0] if len(nodes) == 1 else Either(nodes)


def maybe(part: Node) -> Node:
    return part if part == EMPTY or isinstance(part, Maybe) else Maybe(part)


def inner_nodes(node: Node) -> Iterator[Node]:
    """Yield the direct children of a node, in order."""
    if not is_dataclass(node):
        return
    for place in fields(node):
        value: Any = getattr(node, place.name)
        for inner in value if isinstance(value, tuple) else (value,):
            if isinstance(inner, Member):
                yield inner.node
            elif isinstance(inner, Node):
                yield inner


def with_inner(node: Node, change: Callable[[Node], Node]) -> Node:
    """Return the node with `change` applied to each direct child."""

    def changed(value: Any) -> Any:
        if isinstance(value, Member):
            return replace(value, node=change(value.node))
        if isinstance(value, tuple):
            return tuple(map(changed, value))
        return change(value) if isinstance(value, Node) else value

    return replace(node, **{place.name: changed(getattr(node, place.name)) for place in fields(node)})  # type: ignore[arg-type, type-var]  # every node is a dataclass
