"""The node language: what an engine says about the calls it reads, before any dialect of grammars.

A grammar is a start node and named rules. Nodes are plain values: they can be compared, hashed and printed, and each
exporter (`toolfmt.grammars`) is a walk over them. What no dialect writes alike is a node of its own here: a JSON value
under a schema, a text up to its closer, members in any order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any


class Node:
    """A part of a grammar."""


@dataclass(frozen=True)
class Text(Node):
    """Just this text."""

    text: str


@dataclass(frozen=True)
class Row(Node):
    """One part behind the other."""

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
"""Nothing: the empty text."""


@dataclass(frozen=True)
class Repeated(Node):
    """The part `least` to `most` times, at least once; `separator` between two of them."""

    part: Node
    separator: Node = EMPTY
    least: int = 1
    most: int | None = None


@dataclass(frozen=True)
class Member:
    """One of the members of an object, or of the arguments of a call: with its key and value, as it is written."""

    node: Node
    required: bool


@dataclass(frozen=True)
class Members(Node):
    """Members in any order, each at most once and each that is required exactly once; `separator` between two."""

    items: tuple[Member, ...]
    separator: Node = EMPTY


@dataclass(frozen=True)
class JsonValue(Node):
    """A JSON value under a JSON Schema, which is kept as canonical JSON text and needs nothing around it.

    `exact` means spelt as `json.dumps(value, ensure_ascii=False)` does it (`, ` and `: `, no other blanks); else blanks
    may stand wherever JSON allows them.
    """

    schema: str
    exact: bool = True


@dataclass(frozen=True)
class RawText(Node):
    """Any text of `least` to `most` characters, and `closer` behind it. The text holds neither the closer, nor a part
    of it that would end it earlier, nor any text of `never`."""

    closer: str
    never: tuple[str, ...] = ()
    least: int = 0
    most: int | None = None


@dataclass(frozen=True)
class QuotedText(Node):
    r"""The inside of a string of `least` to `most` characters up to its quote, and the quote.

    Characters are any but the quote, a backslash and control characters, or an escape: `\\`, the quote's, `\n`, `\r`,
    `\t`, `\b`, `\f`, `\uXXXX` but for surrogates.
    """

    quote: str
    least: int = 0
    most: int | None = None


@dataclass(frozen=True)
class Pattern(Node):
    """A regular expression that every dialect can say: literal characters, classes, groups, `|`, `?`, `*`, `+`,
    `{m,n}`; no anchors, no look-around, no shorthand classes; alternatives stand in a group."""

    pattern: str


@dataclass(frozen=True)
class Rule(Node):
    """A rule of the grammar, by its name."""

    name: str


@dataclass(frozen=True)
class Blanks(Node):
    """Blanks (space, tab, line ends), or none: what readers pass over and writers do not write."""


@dataclass(frozen=True)
class FreeText(Node):
    """Any text, also none, that holds none of `without` and does not begin with the character `not_first`, if
    that is not empty."""

    without: tuple[str, ...] = ()
    not_first: str = ""


@dataclass(frozen=True)
class Rules:
    """A grammar: where it starts, and its named rules. `narrower` names the ways in which it allows less than the
    format and the tools' schemas do."""

    start: Node
    rules: Mapping[str, Node] = field(default_factory=dict)
    narrower: tuple[str, ...] = ()

    def map(self, change: Callable[[Node], Node]) -> Rules:
        """The same with every rule changed as a whole."""
        return Rules(change(self.start), {name: change(node) for name, node in self.rules.items()}, self.narrower)


def row(*parts: Node | str) -> Node:
    """The parts one behind the other, texts side by side joined to one."""
    merged: list[Node] = []
    for part in parts:
        node = Text(part) if isinstance(part, str) else part
        for inner in node.parts if isinstance(node, Row) else (node,):
            if inner == EMPTY:
                continue
            if merged and isinstance(inner, Text) and isinstance(last := merged[-1], Text):
                merged[-1] = Text(last.text + inner.text)
            else:
                merged.append(inner)
    return merged[0] if len(merged) == 1 else Row(tuple(merged)) if merged else EMPTY


def either(*parts: Node | str) -> Node:
    """One of the parts, each of them once; one alone is that part."""
    flat: list[Node] = []
    for part in parts:
        node = Text(part) if isinstance(part, str) else part
        flat += node.parts if isinstance(node, Either) else (node,)
    nodes = tuple(dict.fromkeys(flat))
    return nodes[0] if len(nodes) == 1 else Either(nodes)


def maybe(part: Node) -> Node:
    return part if part == EMPTY or isinstance(part, Maybe) else Maybe(part)


def inner_nodes(node: Node) -> Iterator[Node]:
    """The nodes right inside of one, in order."""
    if not is_dataclass(node):
        return
    for place in fields(node):
        value: Any = getattr(node, place.name)
        for inner in value if isinstance(value, tuple) else (value,):
            if isinstance(inner, Member):
                yield inner.node
            elif isinstance(inner, Node):
                yield inner
