"""The names that a template compares a name with: what it does for a tool of that name it may do for no other.

Read from the syntax tree without running anything: `call.name == 'python'`, `tool_call['name'] in ['a', 'b']`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from jinja2 import nodes

from toolfmt.templates.variables import in_text_order

_NAME = re.compile(r"[A-Za-z_][\w.-]{0,63}")
_MOST = 20


def compared_names(tree: nodes.Template) -> tuple[str, ...]:
    """Each once, in the order of the text; no more than twenty."""
    found = dict.fromkeys(text for text in _texts(tree) if _NAME.fullmatch(text))
    return tuple(found)[:_MOST]


def _texts(tree: nodes.Template) -> Iterator[str]:
    for node in in_text_order(tree):
        if isinstance(node, nodes.Compare):
            sides = [node.expr, *(operand.expr for operand in node.ops)]
            if any(_is_name(side) for side in sides):
                for side in sides:
                    yield from _constants(side)


def _is_name(node: nodes.Node) -> bool:
    """Whether an expression is the name of something."""
    if isinstance(node, nodes.Getitem):
        return isinstance(node.arg, nodes.Const) and node.arg.value == "name"
    return isinstance(node, nodes.Getattr) and node.attr == "name"


def _constants(node: nodes.Node) -> Iterator[str]:
    for item in node.items if isinstance(node, (nodes.Tuple, nodes.List)) else [node]:
        if isinstance(item, nodes.Const) and isinstance(item.value, str):
            yield item.value
