"""Find where a template slices texts and lists, from its syntax tree, without running anything."""

from __future__ import annotations

import re
from collections.abc import Iterator

from jinja2 import nodes

from toolfmt.templates.analysis.aliases import Meanings, constants_of, meanings_of
from toolfmt.templates.analysis.variables import descendants

_PRECISION = re.compile(r"[%{][^%{}]{0,9}?\.([0-9]{1,5})(?![0-9])")
_MOST_DIGITS = 6
# If a slice is computed with one of these, constants in it are not the number.
_WORKED_OUT = (nodes.Mul, nodes.Pow, nodes.Div, nodes.FloorDiv)
_SOME = 32


def cuts(tree: nodes.Template) -> dict[int, int]:
    """Return the numbers (2 or more) at which the template slices texts and lists, each with its first line.

    The number is 32 for a computed one, and 2 for a filter that removes duplicates or groups.
    """
    meanings = meanings_of(tree)
    found: dict[int, int] = {}
    for node in descendants(tree):
        for number in _cut(node, meanings):
            if number > 1:
                found[number] = min(node.lineno, found.get(number, node.lineno))
    return found


def _cut(node: nodes.Node, meanings: Meanings) -> Iterator[int]:
    """Yield the numbers of one slice, filter or call."""
    ends: list[nodes.Node | None] = []
    match node:
        case nodes.Slice():
            ends = [node.start, node.stop]
        case nodes.Filter(name="truncate" | "batch" | "slice") | nodes.Call(node=nodes.Name(name="range")):
            ends = [*node.args, *(pair.value for pair in node.kwargs)]
        case nodes.Filter(name="unique" | "groupby"):
            yield 2
        case nodes.Mod(left=form) | nodes.Filter(name="format", node=form):
            yield from _precisions(form)
        case nodes.Call(node=nodes.Getattr(attr="format", node=form)):
            yield from _precisions(form)
    for end in ends:
        for value in () if end is None else constants_of(end, meanings):
            if type(value) is int:
                yield value
            elif isinstance(value, str) and value.isdecimal() and len(value) < _MOST_DIGITS:
                yield int(value)
        if end is not None and any(isinstance(inner, _WORKED_OUT) for inner in descendants(end)):
            yield _SOME


def _precisions(form: nodes.Node | None) -> Iterator[int]:
    """Yield how many characters a format keeps of its argument: `'%.40s'`, `'{:.40}'`."""
    if isinstance(form, nodes.Const) and isinstance(form.value, str):
        yield from (int(digits) for digits in _PRECISION.findall(form.value))
