"""The texts that a template compares others with outside its conditions, read from its syntax tree without running
anything.

`tools | rejectattr('function.name', 'equalto', 'delete_file')`, `{'a': 'b'}.get(name, name)`,
`text | replace('a', 'b')`: such a text decides what is written, and no condition tells how that came out. Constants
that stand in a variable count.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from jinja2 import nodes

from toolfmt.templates.conditions import Meanings, constants_of, meanings_of
from toolfmt.templates.expressions import key_of
from toolfmt.templates.variables import descendants

_CHOOSING = {"select": 1, "reject": 1, "selectattr": 2, "rejectattr": 2}
"""The filters that choose, and the place of the first argument that they compare with."""
_KINDS = frozenset({"role", "type"})
_LONGEST = 200


@dataclass(frozen=True)
class MatchedText:
    """A text that others are compared with, whether they need only have it in them, and the first line that does so."""

    text: str
    part: bool
    line: int


def matched_texts(tree: nodes.Template) -> tuple[MatchedText, ...]:
    """Every one once, in the order of the lines; blanks and texts over 200 characters left out."""
    meanings = meanings_of(tree)
    found: dict[tuple[str, bool], int] = {}
    for node in descendants(tree):
        for text, part in _of(node, meanings):
            if isinstance(text, str) and text.strip() and len(text) <= _LONGEST:
                found[text, part] = min(node.lineno, found.get((text, part), node.lineno))
    return tuple(sorted((MatchedText(*key, line) for key, line in found.items()), key=lambda one: one.line))


def _of(node: nodes.Node, meanings: Meanings) -> Iterator[tuple[object, bool]]:
    match node:
        case (
            nodes.Filter(name="replace", args=[old, *_])
            | nodes.Call(node=nodes.Getattr(attr="replace"), args=[old, *_])
        ):
            yield from ((text, True) for text in constants_of(old, meanings))
        case nodes.Filter(name="map", args=[nodes.Const(value="replace"), old, *_]):
            yield from ((text, True) for text in constants_of(old, meanings))
        case nodes.Filter(name=name, args=[nodes.Const(value=first), *_]) if name in _CHOOSING and first not in _KINDS:
            for argument in node.args[_CHOOSING[name] :]:
                yield from ((text, False) for text in constants_of(argument, meanings))
        case nodes.Call(node=nodes.Getattr(node=held, attr="get"), args=[key, *_]) | nodes.Getitem(node=held, arg=key):
            if not isinstance(key, nodes.Const):
                yield from ((text, False) for text in _keys(held, meanings))


def _keys(held: nodes.Node, meanings: Meanings) -> Iterator[object]:
    """The keys of an object that the template itself has written."""
    for one in (held, *meanings.get(key_of(held), ())):
        if isinstance(one, nodes.Dict):
            yield from (pair.key.value for pair in one.items if isinstance(pair.key, nodes.Const))
