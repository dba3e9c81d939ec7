"""Find the texts that a template compares others with outside its conditions, without running anything.

Examples: `tools | rejectattr('function.name', 'equalto', 'delete_file')`, `{'a': 'b'}.get(name, name)`, `text |
replace('a', 'b')`. Such a string decides what is written, but does not appear in the outcome of a condition. Values of
variables, of loops and of macro arguments count too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from jinja2 import nodes

from toolfmt.templates.analysis.aliases import Meanings, meanings_of
from toolfmt.templates.analysis.expressions import key_of
from toolfmt.templates.analysis.variables import descendants

_CHOOSING = {"select": 1, "reject": 1, "selectattr": 2, "rejectattr": 2}
"""The filters that select, with the index of the first argument that they compare with."""
_KINDS = frozenset({"role", "type"})
_CUTTING = frozenset({"replace", "split", "rsplit", "partition", "rpartition", "removeprefix", "removesuffix"})
# A separator with this many letters is text for people; a shorter one splits a name or a path.
_WORD = re.compile(r"[^\W\d_]{2}")
_LONGEST = 200
# Limits for templates that are written to slow down the analysis.
_MOST_PLACES, _MOST_NODES = 500, 200


@dataclass(frozen=True)
class MatchedText:
    """A string that others are compared with, whether it may be a part of them, and the first line that does so."""

    text: str
    part: bool
    line: int


def matched_texts(tree: nodes.Template) -> tuple[MatchedText, ...]:
    """Return each text once, in the order of the lines, without whitespace-only texts and texts over 200 characters."""
    every = list(descendants(tree))
    meanings = _with_macros(every, meanings_of(tree))
    found: dict[tuple[str, bool], int] = {}
    for node in islice(filter(_may_match, every), _MOST_PLACES):
        for text, part in islice(_of(node, meanings), _MOST_NODES):
            if text.strip() and len(text) <= _LONGEST:
                found[text, part] = min(node.lineno, found.get((text, part), node.lineno))
    return tuple(sorted((MatchedText(*key, line) for key, line in found.items()), key=lambda one: one.line))


def _may_match(node: nodes.Node) -> bool:
    match node:
        case nodes.Filter(name=name):
            return name in ("replace", "map", *_CHOOSING)
        case nodes.Call(node=nodes.Getattr(attr=name)):
            return name in ("get", *_CUTTING)
        case nodes.Getitem(arg=key):
            return not isinstance(key, nodes.Const | nodes.Slice)
        case _:
            return False


def _of(node: nodes.Node, meanings: Meanings) -> Iterator[tuple[str, bool]]:
    match node:
        case nodes.Filter(name="replace", args=[old, *_]):
            yield from ((text, True) for text in _texts(old, meanings))
        case nodes.Call(node=nodes.Getattr(attr=name), args=[old, *_]) if name in _CUTTING:
            yield from ((text, True) for text in _texts(old, meanings) if _WORD.search(text))
        case nodes.Filter(name="map", args=[nodes.Const(value="replace"), old, *_]):
            yield from ((text, True) for text in _texts(old, meanings))
        case nodes.Filter(name=name, args=[nodes.Const(value=first), *_]) if name in _CHOOSING and first not in _KINDS:
            for argument in node.args[_CHOOSING[name] :]:
                yield from ((text, False) for text in _texts(argument, meanings))
        case nodes.Call(node=nodes.Getattr(node=held, attr="get"), args=[key, *_]) | nodes.Getitem(node=held, arg=key):
            if not isinstance(key, nodes.Const):
                yield from ((text, False) for text in _keys(held, meanings))


def _keys(held: nodes.Node, meanings: Meanings) -> Iterator[str]:
    """Yield the keys of an object literal in the template."""
    for one in (held, *meanings.get(key_of(held), [])[:_MOST_NODES]):
        match one:
            case nodes.Dict():
                for pair in one.items:
                    yield from _texts(pair.key, meanings)
            case nodes.Call(node=nodes.Name(name="dict")):
                yield from (pair.key for pair in one.kwargs)
                for argument in one.args:
                    yield from _texts(argument, meanings)


def _texts(matched: nodes.Node, meanings: Meanings) -> Iterator[str]:
    """Yield the texts in an expression and in the values of its variables: rather too many than too few."""
    waiting, known = [matched], set[str]()
    for _ in range(_MOST_NODES):
        if not waiting:
            break
        node = waiting.pop()
        key = key_of(node)
        if key in meanings and key not in known:
            known.add(key)
            waiting += meanings[key][:_MOST_NODES]
        match node:
            case nodes.Const(value=str(text)):
                yield text
            case nodes.Getitem(node=inner, arg=nodes.Const()):
                waiting.append(inner)
            case _:
                joined = _joined(node)
                yield from () if joined is None else (joined,)
                waiting += [] if joined is not None else node.iter_child_nodes()


def _joined(node: nodes.Node) -> str | None:
    """Return the text of a concatenation of constants, or None."""
    match node:
        case nodes.Concat():
            parts: Sequence[nodes.Node] = node.nodes
        case nodes.Add():
            parts = [node.left, node.right]
        case nodes.Filter(name="join", node=nodes.List(items=items), args=[]):
            parts = items
        case _:
            return None
    texts = [part.value for part in parts if isinstance(part, nodes.Const) and isinstance(part.value, str)]
    return "".join(texts) if len(texts) == len(parts) else None


def _with_macros(every: Sequence[nodes.Node], meanings: Meanings) -> Meanings:
    """Return the meanings, extended by the arguments that macros are called with."""
    macros = {node.name: node for node in every if isinstance(node, nodes.Macro)}
    found = {name: [*values] for name, values in meanings.items()}
    for node in every:
        if isinstance(node, nodes.Call) and isinstance(node.node, nodes.Name) and node.node.name in macros:
            named = {parameter.name for parameter in macros[node.node.name].args}
            for parameter, value in zip(macros[node.node.name].args, node.args, strict=False):
                found.setdefault(parameter.name, []).append(value)
            for pair in node.kwargs:
                if pair.key in named:
                    found.setdefault(pair.key, []).append(pair.value)
    return found
