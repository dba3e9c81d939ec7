"""Find what a template's own variables are set to, and the constants in its expressions. Nothing is evaluated."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from jinja2 import nodes

from toolfmt.templates.analysis.expressions import key_of
from toolfmt.templates.analysis.variables import descendants

ITEM = nodes.MarkSafe
"""Represents the value of a loop variable. jinja2 allows only its own node types; templates cannot contain this one."""
Meanings: TypeAlias = dict[str, list[nodes.Node]]
_MOST_NAMES = 60


def meanings_of(tree: nodes.Template) -> Meanings:
    """Return what each of the template's own variables is set to; for a loop variable, what the loop iterates over."""
    meanings: Meanings = {}
    for node in descendants(tree):
        match node:
            case nodes.Assign(target=nodes.Name(name=name), node=nodes.Call(node=nodes.Name(name="namespace")) as made):
                for pair in made.kwargs:
                    meanings.setdefault(f"{name}.{pair.key}", []).append(pair.value)
                continue
            case nodes.Assign(target=target, node=value):
                pass
            case nodes.For(target=target, iter=runs_over):
                value = ITEM(runs_over)
            case nodes.AssignBlock(target=target):
                value = nodes.Scope(node.body)
            case _:
                continue
        for one in target.items if isinstance(target, nodes.Tuple) else [target]:
            key = f"{one.name}.{one.attr}" if isinstance(one, nodes.NSRef) else getattr(one, "name", "")
            meanings.setdefault(key, []).append(value)
    return meanings


def resolved_nodes(node: nodes.Node, meanings: Meanings) -> Iterator[nodes.Node]:
    """Yield the nodes of an expression, and those of the values of its variables."""
    waiting, known = [node], set[str]()
    while waiting:
        for inner in descendants(waiting.pop()):
            yield inner
            key = key_of(inner)
            if key in meanings and key not in known and len(known) < _MOST_NAMES:
                known.add(key)
                waiting += meanings[key]


def constants_of(node: nodes.Node, meanings: Meanings) -> Iterator[object]:
    """Yield the constants in an expression except lookup keys.

    This includes the constants of variables that never have another value.
    """
    keys = {id(inner.arg) for inner in descendants(node) if isinstance(inner, nodes.Getitem)}
    for inner in descendants(node):
        if isinstance(inner, nodes.Const) and not (id(inner) in keys and isinstance(inner.value, str)):
            yield inner.value
        held = meanings.get(key_of(inner), [])[:_MOST_NAMES]
        if all(isinstance(value, (nodes.Const, nodes.List, nodes.Tuple, nodes.Dict)) for value in held):
            yield from (constant for value in held for constant in _held(value))


def _held(value: nodes.Node) -> Iterator[object]:
    """Yield a constant, the items of a constant list, or the keys of an object."""
    items: list[nodes.Expr] | list[nodes.Node]
    match value:
        case nodes.List() | nodes.Tuple():
            items = value.items
        case nodes.Dict():
            items = [pair.key for pair in value.items]
        case _:
            items = [value]
    yield from (item.value for item in items if isinstance(item, nodes.Const))
