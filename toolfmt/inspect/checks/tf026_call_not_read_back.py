"""Some calls that the template renders do not survive a round trip.

What it checks: several kinds of calls, rendered by the template and parsed with the known format. The parsed calls must
be the same as the original ones.

- Error: a value is rendered so that a parser cannot recover it. Quotes are not escaped, values vanish, or an empty
  object prints nothing. Or every call is parsed, but only leniently: an end marker is missing, or there is a wrapper
  that does not belong to the format.
- Warning: the template rejects such a call. `toolfmt render` writes it into the content.
- Note: the template renders no tools, so that toolfmt describes them in the system prompt. `toolfmt render` then writes
  past calls into the content of assistant messages, in a format that is parsed.

Why it matters: past calls with such values show the model something that is not a call. The model copies what it sees,
and stricter parsers reject it.

Affected runtimes: every runtime that renders past calls with this template.

Example:

    {{ key }}='{{ value }}'

with the value `it's`.

Fix: do not send past calls with the values that the finding names, or correct the template.

    {{ key }}={{ value | tojson }}
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from toolfmt._util.text_lists import listed
from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.format.best_reading import ReadBack
from toolfmt.inspect.format.near_miss import difference
from toolfmt.inspect.format.read_back import SINGLE_CALL, RoundTrip, render_calls
from toolfmt.inspect.probe.conversations import SINGLE, TOOLS, conversation
from toolfmt.inspect.probe.renders import Region
from toolfmt.inspect.report.report import Severity

SEVERITY: Severity = "error"
ABOUT_PARSING = True

_HARMLESS = {"arguments_before_name"}
"""Tolerances that strict parsers share: the members of an object do not have an order."""


def check(facts: Facts) -> Iterator[Diagnostic]:
    best = facts.decided.read_back
    if best is None:
        return
    # If tools are described in the system prompt, past calls are too: the template renders none.
    found = (*_overlooked(facts, best), *_inexact(facts, best))
    yield from found if facts.shows_tools else (replace(one, severity="note", fixed_by="") for one in found)


def _inexact(facts: Facts, best: ReadBack) -> Iterator[Diagnostic]:
    """Report the kinds of calls that are rejected or parsed differently, grouped by the same problem."""
    groups: dict[tuple[str, str, str], list[RoundTrip]] = {}
    for trial in best.trials:
        if not trial.exact:
            groups.setdefault((trial.outcome, trial.detail, trial.beyond), []).append(trial)
    by_definition = {answer.error.sentence for answer in facts.sections.definitions.values() if answer.error}
    for (outcome, detail, beyond), trials in groups.items():
        rejected = outcome == "rejected"
        if rejected and detail in by_definition:
            continue  # the tool itself is rejected, which TF041 reports
        what = "are rejected" if rejected else f"are rendered so that the {best.format.name} parser cannot recover them"
        kinds = listed(trial.kind for trial in trials)
        render_note = "; `toolfmt render` writes them into the content" if rejected else ""
        yield Diagnostic(
            f"Past calls with {kinds} {what}: {'; '.join(filter(None, (detail, beyond)))}.",
            f"Keep calls with {kinds} out of the history, or fix how the template renders arguments{render_note}.",
            trials[0].line or facts.capabilities["tool_calls"].line,
            "warning" if rejected else None,
            "render" if rejected else None,
        )


def _overlooked(facts: Facts, best: ReadBack) -> Iterator[Diagnostic]:
    """Report what the parser must tolerate to read the simplest call."""
    trial = next((trial for trial in best.trials if trial.kind == SINGLE_CALL), None)
    if trial is None or not set(trial.tolerated) - _HARMLESS or facts.renders is None:
        return
    region, _ = render_calls(facts.renders, best.shape, SINGLE)
    found = difference(region, best.shape, best.format) if isinstance(region, Region) else None
    if found is None or not isinstance(region, Region):
        return
    differs, offset = found
    tools = TOOLS if best.shape.tools else None
    yield Diagnostic(
        f"The {best.format.name} parser accepts these calls only with a tolerance: the template {differs}.",
        "Fix the template; stricter parsers reject such calls.",
        facts.renders.line_at(conversation(best.shape, SINGLE), tools, len(region.before) + offset)
        or facts.capabilities["tool_calls"].line,
    )
