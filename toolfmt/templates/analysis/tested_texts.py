"""Find the texts that a template searches for in other texts, from its syntax tree, without running anything.

`'</think>' in content`, `content.split('</think>')`, `content.startswith('<tool_response>')`: the content of a message
then decides how it is rendered. The probes find out which of these texts a message can reach.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from jinja2 import nodes

from toolfmt.templates.analysis.aliases import meanings_of
from toolfmt.templates.analysis.constant_strings import ConstantStrings
from toolfmt.templates.analysis.variables import in_text_order

Place: TypeAlias = Literal["start", "end", "anywhere"]

_METHODS: dict[str, Place] = {
    "startswith": "start",
    "removeprefix": "start",
    "endswith": "end",
    "removesuffix": "end",
    **dict.fromkeys(
        ("split", "rsplit", "partition", "rpartition", "replace", "find", "rfind", "index", "count"), "anywhere"
    ),
}
_LONGEST = 200


@dataclass(frozen=True)
class TestedText:
    """A string that is searched for, its position in the other string, and the lines of the template that do it."""

    text: str
    place: Place
    lines: tuple[int, ...]

    @property
    def line(self) -> int:
        """The first line."""
        return self.lines[0]


def tested_texts(tree: nodes.Template) -> tuple[TestedText, ...]:
    """Return each text once per position, in line order, except whitespace and texts over 200 characters."""
    lines: dict[tuple[str, Place], dict[int, None]] = {}
    for line, text, place in sorted(_found(tree), key=lambda found: found[0]):
        if text.strip() and len(text) <= _LONGEST:
            lines.setdefault((text, place), {})[line] = None
    return tuple(TestedText(*looked_for, tuple(found)) for looked_for, found in lines.items())


def _found(tree: nodes.Template) -> Iterator[tuple[int, str, Place]]:
    every = list(in_text_order(tree))
    strings = ConstantStrings(meanings_of(tree))
    for compare in (node for node in every if isinstance(node, nodes.Compare) and node.ops):
        if compare.ops[0].op in ("in", "notin"):
            yield from _texts(strings, [compare.expr], "anywhere")
        elif _about_content(compare.expr):
            yield from _texts(strings, [compare.ops[0].expr], "anywhere")
    for call in (node for node in every if isinstance(node, nodes.Call)):
        if isinstance(call.node, nodes.Getattr) and call.node.attr in _METHODS:
            yield from _texts(strings, call.args[:1], _METHODS[call.node.attr])
    for called in (node for node in every if isinstance(node, nodes.Filter)):
        if called.name == "replace":
            yield from _texts(strings, called.args[:1], "anywhere")


def _about_content(node: nodes.Node) -> bool:
    """Return whether an expression is a message's content. Then a string that it is compared with counts too."""
    key = node.arg if isinstance(node, nodes.Getitem) else None
    return (isinstance(node, nodes.Getattr) and node.attr == "content") or (
        isinstance(key, nodes.Const) and key.value == "content"
    )


def _texts(strings: ConstantStrings, expressions: list[nodes.Expr], place: Place) -> Iterator[tuple[int, str, Place]]:
    for expression in expressions:
        items = expression.items if isinstance(expression, (nodes.Tuple, nodes.List)) else [expression]
        for item in items:
            if (text := strings.of(item)) is not None:
                yield item.lineno, text, place
