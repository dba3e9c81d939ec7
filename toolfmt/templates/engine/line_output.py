"""Rebuild a template's syntax tree so that it writes its output in pieces, each from one known line.

`ChatTemplate.pieces` compiles the result. jinja2 joins adjacent constants without a line number, so a constant would
otherwise be attributed to the line of the last expression before it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from jinja2 import nodes

from toolfmt.templates.analysis.expressions import bare
from toolfmt.templates.analysis.variables import descendants

# Private-use characters around a line number. A prompt that contains one itself is reported without marks.
BEGIN, LINE, LINE_END, END = "\U000f6e40", "\U000f6e41", "\U000f6e42", "\U000f6e43"
PASSED_ON = "\U000f6e44"
MARK = re.compile(f"{BEGIN}|{END}|{LINE}([0-9]+)({PASSED_ON}?){LINE_END}")
_EVERYTHING = ""
_BUFFERED = (nodes.Macro, nodes.AssignBlock)
_LINES = re.compile(r"[^\n]*\n|[^\n]+")


def by_lines(tree: nodes.Template, *, marked: bool = False) -> nodes.Template:
    """Return the tree, changed in place. It renders to the same text. Evaluates nothing.

    With `marked`, the output of macros and set blocks contains marks with their lines, wherever it is printed.
    """
    helpers = _helpers(tree) if marked else frozenset()
    waiting: list[tuple[nodes.Node, frozenset[str] | None]] = [(tree, None)]
    while waiting:
        node, inside = waiting.pop()
        begins = marked and isinstance(node, _BUFFERED)
        if begins:
            inside = _passed_on(node, helpers)
        for field in node.fields:
            value = getattr(node, field)
            if isinstance(value, list) and any(isinstance(item, nodes.Stmt) for item in value):
                pieces = [piece for item in value for piece in _pieces(item, inside)]
                setattr(node, field, [_text(BEGIN, node), *pieces, _text(END, node)] if begins else pieces)
        waiting.extend((child, inside) for child in node.iter_child_nodes())
    if tree.environment is not None:
        tree.set_environment(tree.environment)
    return tree


def _passed_on(node: nodes.Node, helpers: frozenset[str]) -> frozenset[str]:
    """Return the names whose texts count at the line that prints this macro or set block."""
    if not isinstance(node, nodes.Macro):
        return frozenset()
    return frozenset({_EVERYTHING} if node.name in helpers else {name.name for name in node.args})


def _helpers(tree: nodes.Template) -> frozenset[str]:
    """Return the macros that are called from several lines outside of themselves, and those that only they call."""
    calls = Counter(_called(tree))
    inside = {node.name: Counter(_called(node)) for node in descendants(tree) if isinstance(node, nodes.Macro)}
    found = {name for name in inside if calls[name] - inside[name][name] > 1}
    for name in inside:
        callers = {caller for caller, called in inside.items() if called[name] and caller != name}
        if callers and callers <= found:
            found.add(name)
    return frozenset(found)


def _called(node: nodes.Node) -> Iterator[str]:
    """Yield the names that are called in it."""
    calls = (below for below in descendants(node) if isinstance(below, nodes.Call))
    return (call.node.name for call in calls if isinstance(call.node, nodes.Name))


def holds_back(tree: nodes.Template) -> bool:
    """Return whether the template's output is partly printed elsewhere: in a macro or a set block."""
    return any(isinstance(node, _BUFFERED) for node in descendants(tree))


def unmarked(pieces: Iterable[tuple[str, int]], *, innermost: bool) -> list[tuple[str, int]]:
    """Return the pieces without marks, each with its marked line, or with its own.

    Arguments that a macro prints unchanged, and all texts of a macro that is called from several lines, count at the
    line of the call, unless `innermost` is set.
    """
    parts: list[tuple[str, int]] = []
    for text, line in pieces:
        lines, at = [line], 0
        for mark in MARK.finditer(text):
            parts.append((text[at : mark.start()], lines[-1]))
            at = mark.end()
            if mark[1]:
                lines[-1] = lines[-2] if mark[2] and not innermost and len(lines) > 1 else int(mark[1])
            elif mark[0] == BEGIN:
                lines.append(lines[-1])
            elif len(lines) > 1:
                lines.pop()
        parts.append((text[at:], lines[-1]))
    return [piece for piece in parts if piece[0]]


def _text(text: str, node: nodes.Node) -> nodes.Output:
    return nodes.Output([nodes.TemplateData(text, lineno=node.lineno)], lineno=node.lineno)


def _pieces(node: nodes.Node, inside: frozenset[str] | None) -> Iterator[nodes.Node]:
    if isinstance(node, nodes.CallBlock) and isinstance(node.call.node, nodes.ExtensionAttribute):
        yield nodes.Scope(node.body, lineno=node.lineno)  # `{% generation %}`: the text is not changed
        return
    if not isinstance(node, nodes.Output):
        yield node
        return
    for child in node.nodes:
        texts = [child.data] if isinstance(child, nodes.TemplateData) else []
        for line, text in enumerate((text for data in texts for text in _LINES.findall(data)), child.lineno):
            yield from _piece(nodes.TemplateData(text, lineno=line), inside)
        if not texts:
            operands = _operands(child)
            for operand in operands if len({operand.lineno for operand in operands}) > 1 else [child]:
                yield from _piece(operand, inside, whole=operand is child)


def _operands(child: nodes.Expr) -> list[nodes.Expr]:
    """Return the texts that an expression joins with `~`, or with `+` if one of them shows that all are texts."""
    found: list[nodes.Expr] = []
    waiting: list[nodes.Expr] = [child]
    while waiting:
        node = waiting.pop()
        joined = node.nodes if isinstance(node, nodes.Concat) else _added(node)
        if joined:
            waiting.extend(reversed(joined))
        else:
            found.append(node)
    return found


def _added(node: nodes.Expr) -> list[nodes.Expr]:
    """Return the operands of a sum of texts. Empty if it may be a sum of numbers or lists."""
    operands: list[nodes.Expr] = []
    while isinstance(node, nodes.Add):
        operands.append(node.right)
        node = node.left
    operands = [node, *reversed(operands)]
    texts = (
        isinstance(one, nodes.Concat) or (isinstance(one, nodes.Const) and isinstance(one.value, str))
        for one in operands
    )
    return operands if len(operands) > 1 and any(texts) else []


def _piece(child: nodes.Expr, inside: frozenset[str] | None, *, whole: bool = True) -> Iterator[nodes.Node]:
    if inside is not None:
        printed = bare(child)
        given = whole and isinstance(printed, nodes.Name) and printed.name in inside
        passed_on = PASSED_ON if given or _EVERYTHING in inside else ""
        yield _text(f"{LINE}{child.lineno}{passed_on}{LINE_END}", child)
    # A statement that does nothing: unlike for a string, the code generator stores its line.
    yield nodes.ExprStmt(nodes.Const(None, lineno=child.lineno), lineno=child.lineno)
    yield nodes.Output([child], lineno=child.lineno)
