"""The words that a template compares with: what it does for a tool or a key of that name it may do for no other.

Read from the syntax tree without running anything: `call.name == 'python'`, `tool_call['name'] in ['a', 'b']` compare a
name; `key == 'code'`, `key in ['code', 'command']`, `set known = ['a', 'b']` name words that may be anything.
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
"""Roles and types: templates compare these for what they are."""


def compared_words(tree: nodes.Template) -> tuple[str, ...]:
    """Short texts that anything is compared with, or that stand in lists and as keys of objects, roles and types left
    out: each once, in the order of the text; no more than forty."""
    words = (word for word in _words(tree) if len(word) <= _LONGEST_WORD and _NAME.fullmatch(word))
    return tuple(dict.fromkeys(word for word in words if word not in _OF_MESSAGES))[:_MOST_WORDS]


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
    """Whether an expression is the name of something."""
    if isinstance(node, nodes.Getitem):
        return isinstance(node.arg, nodes.Const) and node.arg.value == "name"
    return isinstance(node, nodes.Getattr) and node.attr == "name"


def _constants(node: nodes.Node) -> Iterator[str]:
    for item in node.items if isinstance(node, (nodes.Tuple, nodes.List)) else [node]:
        if isinstance(item, nodes.Const) and isinstance(item.value, str):
            yield item.value
