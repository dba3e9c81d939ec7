"""A certain string, name, role or number changes other parts of the prompt.

What it checks: each string, name, role and number that a condition of the template looks for, and whether another part
of the prompt changes.

Why it matters: the template behaves as this report describes until it meets that string, that tool, or a conversation
of that length. Then a tool, a message or an argument is missing or rendered differently, and no error shows it. Some
models do this on purpose (`/no_think` in a system message). A tool or parameter that happens to have the same name is
affected too.

Affected runtimes: every runtime that renders this template.

Example:

    {% for key, value in properties.items() if key not in ['type', 'description'] %}{{ key }}{% endfor %}

omits a parameter with the name `type`.

Fix: use strings, names and lengths that do not change the prompt: rename the tool or the parameter, or shorten the
conversation. Or remove the condition from the template. `toolfmt render` describes an omitted parameter in the tool's
description, if the template shows that.

    {% for key, value in properties.items() %}{{ key }}{% endfor %}
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from toolfmt._util.text_lists import listed
from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.checks.workarounds import shows_descriptions
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report.report import Branch, FixedBy, Severity
from toolfmt.inspect.sections.branches.by_outcome import PLACE
from toolfmt.inspect.sections.branches.by_text import NAME_WITH

SEVERITY: Severity = "warning"
FIXED_BY: FixedBy = "request"
PROTECTED = True

_MOST_TEXTS, _MOST_PLACES = 6, 4
_NAMED = {"a tool's name": "a tool", "a parameter's name": "a parameter", "the other tool's name": "another tool"}
_OF_THAT = {"the system message": "a system message"}
"""Locations as they appear before the text that they contain."""
_WORD = re.compile(r"\w")
_FIXES = {
    "text": "Avoid this text there, or remove the condition from the template.",
    "whole-text": "Use other text there, or remove the condition from the template.",
    "name": "Give it another name, or remove the condition from the template.",
    "length": "Shorten the text before it is rendered, or remove the condition from the template.",
    "role": "Send no message of this role, or remove the condition from the template.",
    "number": "Send another number of them, or remove the condition from the template.",
}
_BY_CONDITION = "Avoid text that matches the condition in this line, or remove the condition."
_WITHOUT = "Use tool names without {}."
_STATED = "Give it another name; `toolfmt render` states such a parameter in the tool's description."


def check(facts: Facts) -> Iterator[Diagnostic]:
    groups: dict[object, list[Branch]] = {}
    for branch in facts.sections.branches:
        if branch.by != "clock":
            groups.setdefault((branch.by, branch.line), []).append(branch)
    for branches in groups.values():
        branches.sort(key=lambda branch: not branch.serious)
        first = branches[0]
        severity: Severity = "warning" if first.serious else "note"
        stated = all(branch.parameter_left_out for branch in branches) and shows_descriptions(facts)
        if first.place.startswith(NAME_WITH):
            fix = _WITHOUT.format(first.place.removeprefix(NAME_WITH))
        elif stated:
            fix = _STATED
        else:
            fix = _BY_CONDITION if first.place == PLACE else _FIXES[first.by]
        lines = _lines_with(facts, first.text) if first.by in ("text", "whole-text") else []
        if len(lines) > 1:
            all_of_them = f"remove every use of it from the template (lines {listed(lines)})"
            fix = fix.replace("remove the condition from the template", all_of_them)
        yield Diagnostic(f"{_message(branches)}.", fix, first.line, severity, "render" if stated else None)


def _lines_with(facts: Facts, text: str) -> list[str]:
    """Return the numbers of the template's lines that contain the text in quotes."""
    if facts.renders is None or not text:
        return []
    lines = enumerate(facts.renders.template.source.split("\n"), 1)
    return [str(number) for number, line in lines if f"'{text}'" in line or f'"{text}"' in line]


def _message(branches: Sequence[Branch]) -> str:
    """Return the locations, the strings, and the effect (that of the first branch if they differ)."""
    first = branches[0]
    places = list(dict.fromkeys(branch.place for branch in branches))
    texts = [f"'{text}'" for text in dict.fromkeys(branch.text for branch in branches) if text]
    what = listed(_some(places, _MOST_PLACES), "or")
    listed_texts = listed(_some(texts, _MOST_TEXTS), "or")
    if first.by == "role":
        what = f"{what} {listed_texts}"
    elif listed_texts:
        named = set(places) <= set(_NAMED)
        of_name = "named" if all(map(_WORD.search, texts)) else "whose name contains"
        verb = of_name if named else "that contains" if first.by == "text" else "that is"
        places = [(_NAMED if named else _OF_THAT).get(place, place) for place in places]
        what = f"{listed(_some(places, _MOST_PLACES), 'or')} {verb} {listed_texts}"
    effects = {branch.effect for branch in branches}
    example = "" if len(effects) == 1 else ", for example"
    changes = "change" if first.by == "number" else "changes"
    return f"{what[0].upper()}{what[1:]} {changes} the prompt{example}: {first.effect}"


def _some(names: list[str], most: int) -> list[str]:
    """Return at most `most` names, and the number of the rest."""
    return names if len(names) <= most else [*names[:most], f"{len(names) - most} more"]
