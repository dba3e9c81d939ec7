"""The pages of names that toolfmt prints: tolerances of the parsers, adaptations of rendering."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import chain, pairwise
from pathlib import Path

from documentation.markdown import inline, span, table
from toolfmt.formats import TOLERANCES
from toolfmt.formats.tolerances import kind_of
from toolfmt.testing.corpus import cases

_A_NAME = re.compile(r"[a-z]+(?:-[a-z]+)+")
_RENDER = Path(__file__).parents[1] / "toolfmt" / "render"
_MAKING = ("prompt.py", "backend.py", "attempts.py", "adapt/control_tokens.py", "adapt/tool_adaptations.py")
_NAMED = re.compile(r"^ {4}([a-z]+(?:-[a-z]+)+) {2,}(\S.*)$", re.MULTILINE)


def pages() -> dict[str, str]:
    """The two pages by their paths in the site."""
    return {"reference/tolerances.md": _tolerances(), "reference/adaptations.md": _adaptations()}


def _tolerances() -> str:
    met: dict[str, set[str]] = defaultdict(set)
    for case in cases():
        for call in case.calls:
            for name in call.tolerated or ():
                met[kind_of(name)].add(case.format)
    rows = [
        (f'<span id="{name}"></span>{span(name)}', inline(meaning), _formats(met[name]))
        for name, meaning in TOLERANCES.items()
    ]
    return (
        "# Tolerances\n\n"
        "A parser accepts a call that deviates from the format if only one interpretation is possible. Each deviation "
        "has a name, listed in `tolerated` at the end of the call; `strict=True` rejects the call instead, and "
        "`tolerate=` selects names. A call without deviations has none. The table lists the formats with a case in the "
        "corpus; others may have the tolerance too.\n\n"
    ) + table(("name", "deviation", "formats"), rows)


def _formats(names: set[str]) -> str:
    most = 8
    links = [f"[{span(name)}](formats/{name}.md)" for name in sorted(names)]
    return ", ".join(links[:most]) + (f" and {len(links) - most} more" if len(links) > most else "")


def adaptations() -> dict[str, str]:
    """Every name that `Prompt.adaptations` may contain, with its meaning: from the docstring of the module that adapts,
    and from the constants of those that make prompts.
    """
    listed = ast.get_docstring(ast.parse(_source("adapt/adaptations.py"))) or ""
    return dict([*_NAMED.findall("\n".join(f"    {line.strip()}" for line in listed.split("\n"))), *_constants()])


def _constants() -> Iterator[tuple[str, str]]:
    """The constants `NAME = "name"` that have a docstring, which defines the name."""
    bodies = (ast.parse(_source(name)).body for name in _MAKING)
    for assigned, explained in chain.from_iterable(map(pairwise, bodies)):
        match assigned, explained:
            case ast.Assign(value=ast.Constant(value=str(name))), ast.Expr(value=ast.Constant(value=str(told))):
                if _A_NAME.fullmatch(name):
                    yield name, told


def _source(name: str) -> str:
    return (_RENDER / name).read_text(encoding="utf-8")


def _adaptations() -> str:
    rows = [(span(name), inline(meaning)) for name, meaning in adaptations().items()]
    return (
        "# Adaptations\n\n"
        "The changes that `render` makes to a conversation so that the template delivers all of it, by their names in "
        "`toolfmt render --json` and `Prompt.adaptations`. `render` makes only changes that the template needs, and "
        "lists every one.\n\n"
    ) + table(("name", "change"), rows)
