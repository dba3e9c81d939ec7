"""Where a template cuts texts and lists, read from its syntax tree without running anything."""

from __future__ import annotations

import re
from collections.abc import Iterator

from jinja2 import nodes

from toolfmt.templates.analysis.aliases import Meanings, constants_of, meanings_of
from toolfmt.templates.analysis.variables import descendants

_PRECISION = re.compile(r"[%{][^%{}]{0,9}?\.([0-9]{1,5})(?![0-9])")
_MOST_DIGITS = 6
# What a cut is worked out with; no constant in it is the number then.
_WORKED_OUT = (nodes.Mul, nodes.Pow, nodes.Div, nodes.FloorDiv)
_SOME = 32


def cuts(tree: nodes.Template) -> dict[int, int]:
    """The numbers of two and more at which the template cuts texts and lists, each with the first line that does; 32
    for one that it works out, 2 where what is alike becomes one.
    """
    meanings = meanings_of(tree)
    found: dict[int, int] = {}
    for node in descendants(tree):
        for number in _cut(node, meanings):
            if number > 1:
                found[number] = min(node.lineno, found.get(number, node.lineno))
    return found


def _cut(node: nodes.Node, meanings: Meanings) -> Iterator[int]:
    """The numbers of one slice, filter or call."""
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
    """How many characters a format leaves of what it is given: `'%.40s'`, `'{:.40}'`."""
    if isinstance(form, nodes.Const) and isinstance(form.value, str):
        yield from (int(digits) for digits in _PRECISION.findall(form.value))
