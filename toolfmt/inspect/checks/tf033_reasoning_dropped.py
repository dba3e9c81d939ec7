"""Reasoning of earlier turns does not stay in the prompt.

Most templates drop the reasoning of answers before the last user message, as their models were trained. Where it goes
even between a call and its result, the model no longer knows why it called; and where it goes at all, the
prompt of a turn is no prefix of the next one's.

What to do: nothing, unless the model's page says that it needs its reasoning kept; some templates have a variable for
that.

Example: `{% if message.reasoning_content and loop.index0 > ns.last_query_index %}`.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt._util.text_lists import listed
from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report.report import Severity

SEVERITY: Severity = "note"
ON_REQUEST = True  # the row `reasoning` of a report states it


_PLACES = {"reasoning_earlier": "before the last user message", "reasoning_in_loop": "next to an answered call"}


def _how(facts: Facts) -> str:
    """The first variable that keeps it, with the value that does."""
    for one in facts.sections.variables:
        for effect in one.effects:
            if effect.reasoning in ("kept", "kept-with-calls"):
                where = " next to calls" if effect.reasoning == "kept-with-calls" else ""
                return f"; {one.name}{f'={effect.typed}' if effect.typed else ''} keeps it{where}."
    return "."


def check(facts: Facts) -> Iterator[Diagnostic]:
    dropped = [where for name, where in _PLACES.items() if facts.detail(name).outcome == "dropped"]
    if facts.detail("reasoning_earlier").outcome == "lost-later":
        dropped.insert(0, "before the last response without a call")
    lines = (*(facts.detail(name).line for name in _PLACES), facts.capabilities["reasoning"].line)
    if dropped:
        yield Diagnostic(
            f"The reasoning of an earlier turn is dropped: {listed(dropped)}.",
            "Check the model card for whether it expects its earlier reasoning" + _how(facts),
            next(filter(None, lines), None),
        )
