"""Find the line of a part of a multi-line expression: jinja2 reports only one line, usually the last."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from jinja2 import nodes

from toolfmt.templates.analysis.variables import descendants

_MISSING = re.compile(r"has no (?:attribute|element) '([^']{1,100})'\Z|\A'([^']{1,100})' is undefined\Z")


@dataclass(frozen=True)
class Spanning:
    """An expression of a statement: its first and last line, and the lines of its lookups."""

    first: int
    last: int
    lookups: frozenset[tuple[str, int]]


def spanning(tree: nodes.Template) -> tuple[Spanning, ...]:
    """Return the expressions that the template prints, tests and sets. Evaluates nothing."""
    found = []
    for statement in descendants(tree):
        for child in statement.iter_child_nodes() if isinstance(statement, nodes.Stmt) else ():
            if isinstance(child, nodes.Expr):
                # Some nodes have no line: operands, and what compiling folded.
                inner = [(node.lineno, _key(node)) for node in descendants(child) if node.lineno]
                lines = [line for line, _ in inner] or [0]
                looked_up = frozenset((key, line) for line, key in inner if key)
                found.append(Spanning(min(lines), max(lines), looked_up))
    return tuple(found)


def line_of_lookup(expressions: Sequence[Spanning], line: int, key: str) -> int:
    """Return the line that looks up this key or name, in the expressions that cover the given line.

    Return the given line if the lookup is on several lines or not found.
    """
    here = [one for one in expressions if one.first <= line <= one.last]
    found = {at for one in here for name, at in one.lookups if name == key}
    return found.pop() if len(found) == 1 else line


def missing(message: str) -> str:
    """Return the key or name that jinja2's message reports as missing, or an empty string."""
    found = _MISSING.search(message)
    return (found[1] or found[2]) if found else ""


def _key(node: nodes.Node) -> str:
    match node:
        case nodes.Getattr(attr=str(key)) | nodes.Name(name=str(key)) | nodes.Getitem(arg=nodes.Const(value=str(key))):
            return key
        case _:
            return ""
