"""The instructions for tools contain a misspelled marker, different from the marker of rendered calls.

What it checks: the markers in the instructions for tools, against the markers of rendered calls. The two differ by one
or two letters, and the marker in the instructions lacks its counterpart (`<a>` and `</a>`).

Why it matters: the model reads one marker in the instructions and another in its own calls. A parser does not read a
call with the misspelled marker.

Affected runtimes: every runtime that renders this template.

Example:

    For each call write <tool_cal>…</tool_call>

in a template that renders `<tool_call>`.

Fix: use the same marker in both positions: the marker that the model was trained on.

    For each call write <tool_call>…</tool_call>
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.probe.conversations import TOOLS, reply, user
from toolfmt.inspect.report.report import FixedBy, Severity

SEVERITY: Severity = "warning"
FIXED_BY: FixedBy = "template"

_TAG = re.compile(r"<(/?)([^<>\s/][^<>\s]{1,40})>")
_MOST_EDITS = 2
_LONGEST = 100_000


def check(facts: Facts) -> Iterator[Diagnostic]:
    renders, rendered = facts.renders, facts.decided.rendered
    if renders is None or not facts.shows_tools or facts.decided.read_back is None:
        return
    prompt = renders.text(user(), TOOLS)[:_LONGEST]
    plain = renders.text([*reply(), *user()])
    own = dict.fromkeys(tag[2] for tag in _TAG.finditer(rendered))
    shown = {(tag[1], tag[2]) for tag in _TAG.finditer(prompt)}
    written = {name for closing, name in shown if not closing and ("/", name) not in shown}
    for tag in _TAG.finditer(prompt):
        other = "" if tag[1] else "/"
        if tag[2] in own or tag[0] in plain or (other, tag[2]) in shown:
            continue
        intended = next((name for name in own if name not in written and _differs_little(tag[2], name)), None)
        if intended is not None:
            yield Diagnostic(
                f"The instructions for tools say {tag[0]}, the calls are rendered with <{tag[1]}{intended}>.",
                "Use the same marker in both places: the one that the model was trained on.",
                renders.line_at(user(), TOOLS, tag.start()),
            )
            return


def _differs_little(one: str, other: str) -> bool:
    """Whether the edit distance of the two names is one or two."""
    if abs(len(one) - len(other)) > _MOST_EDITS:
        return False
    before = list(range(len(other) + 1))
    for row, letter in enumerate(one, 1):
        now = [row]
        for column, its in enumerate(other, 1):
            now.append(min(before[column] + 1, now[-1] + 1, before[column - 1] + (letter != its)))
        before = now
    return 0 < before[-1] <= _MOST_EDITS
