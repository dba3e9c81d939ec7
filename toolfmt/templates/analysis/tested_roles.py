"""Find the roles that a template compares messages' roles with, from its syntax tree, without running anything.

`message.role == 'ipython'`, `message['role'] in ['tool', 'observation']`, `role == 'user'` after `set role =
message.role`, `messages | selectattr('role', 'equalto', 'tool')`: the template supports such a role, even if chat
endpoints do not know it.
"""

from __future__ import annotations

from collections.abc import Iterator

from jinja2 import nodes

from toolfmt.templates.analysis.variables import descendants

_ROLE = "role"
_LONGEST = 40


def tested_roles(tree: nodes.Template) -> tuple[str, ...]:
    """Return each role once, sorted, without texts over 40 characters."""
    tested = [compared for node in descendants(tree) for compared in _compared(node)]
    return tuple(sorted({text for node in tested for text in _texts(node)}))


def _compared(node: nodes.Node) -> Iterator[nodes.Node]:
    """Yield what a node compares a role with, looks it up in, or filters by it."""
    match node:
        case nodes.Compare() if any(map(_is_role, _sides(node))):
            yield from _sides(node)
        case nodes.Getitem(node=nodes.Dict(items=pairs)) if _is_role(node.arg):
            yield from (pair.key for pair in pairs)
        case nodes.Filter(name="selectattr" | "rejectattr", args=[first, *others]) if _names_it(first):
            yield from others[1:]


def _sides(compare: nodes.Compare) -> list[nodes.Expr]:
    return [compare.expr, *(operand.expr for operand in compare.ops)]


def _is_role(node: nodes.Node) -> bool:
    """Return whether an expression is a role: `role`, `message.role`, `message['role']`, `message.get('role')`."""
    while isinstance(node, nodes.Filter) and node.node is not None:
        node = node.node
    if isinstance(node, nodes.Name):
        return node.name == _ROLE
    if isinstance(node, nodes.Getattr):
        return node.attr == _ROLE
    if isinstance(node, nodes.Getitem):
        return _names_it(node.arg)
    if isinstance(node, nodes.Call) and isinstance(node.node, nodes.Getattr):
        return node.node.attr == "get" and bool(node.args) and _names_it(node.args[0])
    return False


def _names_it(key: nodes.Node) -> bool:
    return isinstance(key, nodes.Const) and key.value == _ROLE


def _texts(node: nodes.Node) -> Iterator[str]:
    """Yield the texts of a constant or of a list of constants."""
    inside = node.items if isinstance(node, (nodes.List, nodes.Tuple)) else [node]
    for one in inside:
        if isinstance(one, nodes.Const) and isinstance(one.value, str) and 0 < len(one.value) <= _LONGEST:
            yield one.value
