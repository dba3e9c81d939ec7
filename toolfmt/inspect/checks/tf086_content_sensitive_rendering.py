"""A certain text, name or role, or a number of something, changes other parts of the prompt.

The template behaves as this report says until it meets that text, that tool, or a conversation of that length; then a
tool, a message or an argument is missing, or stands there in another way. No error tells of it. Some models do so on
purpose (`/no_think` in a system message); a tool or a parameter that happens to be called so is treated alike.

What to do: keep to texts, names and lengths that do not change the prompt: rename the tool or the parameter, shorten
the conversation; or remove the condition from the template. `toolfmt render` states a parameter that the template
leaves out in the tool's description, if the template shows that.

Example: `{% if key not in ['type', 'description'] %}` around the parameters of a tool leaves out one called `type`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from toolfmt._util.text_lists import listed
from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.checks.workarounds import shows_descriptions
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report.report import Branch, FixedBy, Severity
from toolfmt.inspect.sections.branches.by_outcome import PLACE

SEVERITY: Severity = "warning"
FIXED_BY: FixedBy = "request"

_MOST_TEXTS, _MOST_PLACES = 6, 4
_FIXES = {
    "text": "Avoid this text there, or remove the condition from the template.",
    "whole-text": "Use other text there, or remove the condition from the template.",
    "name": "Give it another name, or remove the condition from the template.",
    "length": "Shorten the text before it is rendered, or remove the condition from the template.",
    "role": "Send no message of this role, or remove the condition from the template.",
    "number": "Send another number of them, or remove the condition from the template.",
}
_BY_CONDITION = "Avoid text that matches the condition in this line, or remove the condition."
_STATED = "Give it another name; `toolfmt render` states such a parameter in the tool's description."


def check(facts: Facts) -> Iterator[Diagnostic]:
    alike: dict[object, list[Branch]] = {}
    for branch in facts.sections.branches:
        if branch.by != "clock":
            alike.setdefault((branch.by, branch.line), []).append(branch)
    for branches in alike.values():
        branches.sort(key=lambda branch: not branch.grave)
        first = branches[0]
        severity: Severity = "warning" if first.grave else "note"
        stated = all(branch.parameter_left_out for branch in branches) and shows_descriptions(facts)
        fix = _STATED if stated else _BY_CONDITION if first.place == PLACE else _FIXES[first.by]
        yield Diagnostic(f"{_told(branches)}.", fix, first.line, severity, "render" if stated else None)


def _told(branches: Sequence[Branch]) -> str:
    """The places, the texts, and what follows: of the first where it is not the same everywhere."""
    first = branches[0]
    places = list(dict.fromkeys(branch.place for branch in branches))
    texts = [f"'{text}'" for text in dict.fromkeys(branch.text for branch in branches) if text]
    what = listed(_some(places, _MOST_PLACES), "or")
    said = listed(_some(texts, _MOST_TEXTS), "or")
    if first.by == "role":
        what = f"{what} {said}"
    elif said:
        what = f"{what} with {said} in it" if first.by == "text" else f"{what} that is {said}"
    effects = {branch.effect for branch in branches}
    more = "" if len(effects) == 1 else ", and the like"
    changes = "change" if first.by == "number" else "changes"
    return f"{what[0].upper()}{what[1:]} {changes} the prompt: {first.effect}{more}"


def _some(names: list[str], most: int) -> list[str]:
    """The names, the last of them only counted where there are many."""
    return names if len(names) <= most else [*names[:most], f"{len(names) - most} more"]
