"""Some calls that the template renders do not read back as the calls that went in.

The format is known, but the template writes some values so that no parser can tell what they were: quotes are
not escaped, values vanish, an empty object prints nothing. Past calls with such values show the model
something that is no call.

Where the template refuses such a call this is a warning: toolfmt's `render` writes it into the content. Where the tools
are described in words it is a note: past calls are written there, too, in a form that is read.

Or every call is read, but only because the parser overlooks something: a closer that is missing, a wrapper that does
not belong there. Other parsers do not, and the model copies what it sees.

What to do: avoid the values that are named in past calls, or mend the template.

Example: `{{ key }}='{{ value }}'` with the value `it's`.
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

_NO_FAULT = {"arguments_before_name"}
"""What the parser notes and no strict one minds: the members of an object have no order."""


def check(facts: Facts) -> Iterator[Diagnostic]:
    best = facts.decided.read_back
    if best is None:
        return
    # Where tools are described in words, so are past calls: the template renders none of them.
    found = (*_overlooked(facts, best), *_inexact(facts, best))
    yield from found if facts.shows_tools else (replace(one, severity="note", fixed_by="") for one in found)


def _inexact(facts: Facts, best: ReadBack) -> Iterator[Diagnostic]:
    """The kinds of calls that are rejected, or read back as others; those with the same fault together."""
    alike: dict[tuple[str, str, str], list[RoundTrip]] = {}
    for trial in best.trials:
        if not trial.exact:
            alike.setdefault((trial.outcome, trial.detail, trial.beyond), []).append(trial)
    by_definition = {answer.error.sentence for answer in facts.sections.definitions.values() if answer.error}
    for (outcome, detail, beyond), trials in alike.items():
        refused = outcome == "refused"
        if refused and detail in by_definition:
            continue  # it is the tool that is rejected, which TF041 tells
        what = "are rejected" if refused else f"do not survive a round trip as {best.format.name}"
        healed = "; `toolfmt render` writes them into the content" if refused else ""
        yield Diagnostic(
            f"Calls with {listed(trial.kind for trial in trials)} {what}: {'; '.join(filter(None, (detail, beyond)))}.",
            f"Keep such calls out of the history, or fix how the template renders arguments{healed}.",
            trials[0].line or facts.capabilities["tool_calls"].line,
            "warning" if refused else None,
            "render" if refused else None,
        )


def _overlooked(facts: Facts, best: ReadBack) -> Iterator[Diagnostic]:
    """What the parser has to overlook to read the simplest call."""
    trial = next((trial for trial in best.trials if trial.kind == SINGLE_CALL), None)
    if trial is None or not set(trial.tolerated) - _NO_FAULT or facts.renders is None:
        return
    region, _ = render_calls(facts.renders, best.shape, SINGLE)
    found = difference(region, best.shape, best.format) if isinstance(region, Region) else None
    if found is None or not isinstance(region, Region):
        return
    differs, offset = found
    tools = TOOLS if best.shape.tools else None
    yield Diagnostic(
        f"Calls are read as {best.format.name} only leniently: they are what it writes, {differs}.",
        "Fix the template; stricter parsers reject such calls.",
        facts.renders.line_at(conversation(best.shape, SINGLE), tools, len(region.before) + offset)
        or facts.capabilities["tool_calls"].line,
    )
