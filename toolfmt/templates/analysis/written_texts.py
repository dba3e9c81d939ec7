"""Find the constant strings that a template can write into a prompt, without running anything."""

from __future__ import annotations

import re
from collections.abc import Iterator

from jinja2 import nodes

from toolfmt.templates.analysis.aliases import meanings_of
from toolfmt.templates.analysis.constant_strings import ConstantStrings
from toolfmt.templates.analysis.expressions import is_name
from toolfmt.templates.analysis.variables import descendants

_LINES = re.compile(r"[^\n]*\n|[^\n]+")
_RAISING = "raise_exception"
_MOST = 200
"""Maximum number of matches."""


def written_texts(tree: nodes.Template, pattern: re.Pattern[str]) -> dict[str, int]:
    """Return what `pattern` matches in constant strings that the template can write, each match with its first line.

    Strings that follow each other are joined. Strings that are only compared, and messages of `raise_exception`, are
    left out. At most 200 matches.
    """
    found: dict[str, int] = {}
    for run in _runs(tree):
        text = "".join(piece for piece, _ in run)
        for match in pattern.finditer(text):
            line = _line(run, match.start())
            found[match[0]] = min(line, found.get(match[0], line))
            if len(found) >= _MOST:
                return found
    return found


def _runs(tree: nodes.Template) -> Iterator[list[tuple[str, int]]]:
    """Yield constant strings that are written one after another, each with its line."""
    meanings = meanings_of(tree)
    strings = ConstantStrings(meanings)
    own = {*meanings, *(node.name for node in descendants(tree) if isinstance(node, nodes.Macro))}
    waiting: list[nodes.Node] = [tree]
    while waiting:
        node = waiting.pop()
        match node:
            case nodes.Compare() | nodes.Test():
                continue
            case nodes.Call(node=called) if is_name(called, _RAISING) and _RAISING not in own:
                continue
            case nodes.Output(nodes=parts):
                run: list[tuple[str, int]] = []
                for part in parts:
                    if pieces := _pieces(part, strings):
                        run += pieces
                    else:
                        yield run
                        run = []
                        waiting.append(part)
                yield run
            case nodes.Expr() if pieces := _pieces(node, strings):
                yield pieces
            case _:
                waiting += node.iter_child_nodes()


def _pieces(node: nodes.Expr, strings: ConstantStrings) -> list[tuple[str, int]]:
    """Return the lines of a constant string, empty if it is not constant."""
    if isinstance(node, nodes.TemplateData):
        return [(text, line) for line, text in enumerate(_LINES.findall(node.data), node.lineno)]
    text = strings.of(node)
    return [] if not text else [(text, node.lineno)]


def _line(run: list[tuple[str, int]], offset: int) -> int:
    for text, line in run:
        offset -= len(text)
        if offset < 0:
            return line
    return run[-1][1]
