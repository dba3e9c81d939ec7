"""Find the words that a template compares with. It may treat a tool or a key with such a name differently.

Reads the syntax tree without running anything. `call.name == 'python'` and `tool_call['name'] in ['a', 'b']` compare a
name. In `key == 'code'`, `key in ['code', 'command']` and `set known = ['a', 'b']`, the words may be anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from jinja2 import nodes

from toolfmt.templates.analysis.variables import in_text_order

_NAME = re.compile(r"[A-Za-z_][\w.-]{0,63}")
_MOST = 20
_MOST_WORDS = 40
_LONGEST_WORD = 30
_ROLES = ("system", "user", "assistant", "tool", "developer")
_TYPES = ("string", "number", "integer", "float", "boolean", "object", "array", "null")
_OF_MESSAGES = frozenset((*_ROLES, *_TYPES))
"""Roles and types: templates compare these because of their meaning."""


def compared_words(tree: nodes.Template) -> tuple[str, ...]:
    """Return short strings in comparisons, in lists and as object keys, except roles and types.

    Each once, in the order of the template, at most forty.
    """
    words = (word for word in _words(tree) if len(word) <= _LONGEST_WORD and _NAME.fullmatch(word))
    return tuple(dict.fromkeys(word for word in words if word not in _OF_MESSAGES))[:_MOST_WORDS]


def compared_names(tree: nodes.Template) -> tuple[str, ...]:
    """Return the names that the template compares a name with, each once, in its order, at most twenty."""
    found = dict.fromkeys(text for text in _texts(tree) if _NAME.fullmatch(text))
    return tuple(found)[:_MOST]


def _texts(tree: nodes.Template) -> Iterator[str]:
    for node in in_text_order(tree):
        if isinstance(node, nodes.Compare):
            sides = [node.expr, *(operand.expr for operand in node.ops)]
            if any(_is_name(side) for side in sides):
                for side in sides:
                    yield from _constants(side)


def _words(tree: nodes.Template) -> Iterator[str]:
    for node in in_text_order(tree):
        if isinstance(node, nodes.Compare):
            for side in (node.expr, *(operand.expr for operand in node.ops)):
                yield from _constants(side)
        elif isinstance(node, (nodes.List, nodes.Tuple)):
            yield from _constants(node)
        elif isinstance(node, nodes.Dict):
            yield from (text for pair in node.items for text in _constants(pair.key))


def _is_name(node: nodes.Node) -> bool:
    """Return whether an expression is the name of something."""
    if isinstance(node, nodes.Getitem):
        return isinstance(node.arg, nodes.Const) and node.arg.value == "name"
    return isinstance(node, nodes.Getattr) and node.attr == "name"


def _constants(node: nodes.Node) -> Iterator[str]:
    for item in node.items if isinstance(node, (nodes.Tuple, nodes.List)) else [node]:
        if isinstance(item, nodes.Const) and isinstance(item.value, str):
            yield item.value
