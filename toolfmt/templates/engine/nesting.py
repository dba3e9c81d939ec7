"""Measure how deep a template's syntax tree nests, which matters for engines that use recursion.

Chains count as nesting (`a ~ b ~ c`, `{% elif %}` after `{% elif %}`). jinja2 keeps some of them flat, but other
engines nest each link inside the previous one.
"""

from __future__ import annotations

from jinja2 import nodes


def nesting(tree: nodes.Template) -> int:
    """Return the depth of the deepest node, without recursion."""
    deepest = 0
    waiting: list[tuple[nodes.Node, int]] = [(tree, 0)]
    while waiting:
        node, depth = waiting.pop()
        deepest = max(deepest, depth)
        inside = depth + 1 + _links(node)
        waiting.extend((child, inside) for child in node.iter_child_nodes())
    return deepest


def _links(node: nodes.Node) -> int:
    """Return how many links the chain at this node has beyond the first."""
    match node:
        case nodes.Concat():
            return len(node.nodes)
        case nodes.Compare():
            return len(node.ops)
        case nodes.If():
            return len(node.elif_)
        case _:
            return 0
