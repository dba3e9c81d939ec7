"""A template's syntax tree rebuilt so that whatever it writes comes piece by piece, each of one line that is known.

`ChatTemplate.pieces` compiles what this returns. jinja2 joins the constants that stand side by side and notes no line
for them, so a text that a template holds would count as written on the line of the last expression before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from jinja2 import nodes

_LINES = re.compile(r"[^\n]*\n|[^\n]+")


def by_lines(tree: nodes.Template) -> nodes.Template:
    """The tree, changed in place; it renders to the same text. Evaluates nothing."""
    waiting: list[nodes.Node] = [tree]
    while waiting:
        node = waiting.pop()
        for field in node.fields:
            value = getattr(node, field)
            if isinstance(value, list) and any(isinstance(item, nodes.Stmt) for item in value):
                setattr(node, field, [piece for item in value for piece in _pieces(item)])
        waiting.extend(node.iter_child_nodes())
    if tree.environment is not None:
        tree.set_environment(tree.environment)
    return tree


def _pieces(node: nodes.Node) -> Iterator[nodes.Node]:
    if isinstance(node, nodes.CallBlock) and isinstance(node.call.node, nodes.ExtensionAttribute):
        yield nodes.Scope(node.body, lineno=node.lineno)  # `{% generation %}`: the text passes through unchanged
        return
    if not isinstance(node, nodes.Output):
        yield node
        return
    for child in node.nodes:
        texts = [child.data] if isinstance(child, nodes.TemplateData) else []
        for line, text in enumerate((text for data in texts for text in _LINES.findall(data)), child.lineno):
            yield from _piece(nodes.TemplateData(text, lineno=line))
        if not texts:
            yield from _piece(child)


def _piece(child: nodes.Expr) -> Iterator[nodes.Node]:
    # A statement that does nothing: unlike a text, the code generator notes its line.
    yield nodes.ExprStmt(nodes.Const(None, lineno=child.lineno), lineno=child.lineno)
    yield nodes.Output([child], lineno=child.lineno)
