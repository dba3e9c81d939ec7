"""A tool result is rejected, loses its tool's name, or appears in the wrong order.

What it checks: results without the tool's name, several results in one turn, and results without their call or its id.

- `nameless-result-lost`: a result without the tool's name is rejected or dropped, or the name `None` is printed.
- `several-results-lost`: the results of a turn with several calls are rejected, dropped, in the wrong order, or
  rendered under the name of one tool.
- `orphaned-result-lost`: a result is rejected or dropped if its call is not in the conversation, for example after a
  program has removed old turns.
- `unmatched-result-lost`: a result without the tool's name and without the id of a call is rejected or dropped, or the
  results of two tools are rendered under the name of one tool.

Why it matters: OpenAI's clients send a result with the id of its call and nothing else. A template with this
finding also needs the tool's `name`, or it drops or reorders the results of a turn with several calls.

Affected runtimes: every runtime that renders this template.

Example:

    {{ '<tool_response name=' + message.name + '>' }}

Fix: put the tool's `name` on every result, and send results in the order of their calls; `toolfmt render` does both.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.inspect.checks.diagnostic import Diagnostic, FindingOutcome
from toolfmt.inspect.facts import Facts

OUTCOMES = {
    "nameless-result-lost": FindingOutcome("warning", "render", forms=("unnamed-results",)),
    "several-results-lost": FindingOutcome("warning", "render"),
    "orphaned-result-lost": FindingOutcome("note"),
    "unmatched-result-lost": FindingOutcome("note"),
}


def check(facts: Facts) -> Iterator[Diagnostic]:
    unnamed = facts.detail("results_unnamed")
    if facts.renders_calls and unnamed.outcome in ("threw", "dropped", "name-lost"):
        problem = "is rejected: " if unnamed.outcome == "threw" else "is not rendered correctly: "
        yield Diagnostic(
            f"A result without the tool's name, as OpenAI clients send it, {problem}"
            f"{unnamed.evidence.removeprefix('without name, ')}.",
            "Add the tool's name to every result; `toolfmt render` does this.",
            unnamed.line,
            outcome="nameless-result-lost",
        )
    several = facts.detail("results_several")
    if several.outcome in ("threw", "dropped", "misplaced", "name-lost"):
        problem = "are rejected: " if several.outcome == "threw" else "are not rendered correctly: "
        yield Diagnostic(
            f"The results of a turn with several calls {problem}{several.evidence}.",
            "Make one call per turn; `toolfmt render` does this.",
            several.line,
            outcome="several-results-lost",
        )
    yield from _lost(facts, "results_alone", "orphaned-result-lost", "Send the turn with the call before its result.")
    without_ids = facts.detail("results_unnumbered").outcome == "name-lost"
    if without_ids:
        fix = "Give every call an id, and every result the id of its call."
        yield from _lost(facts, "results_unnumbered", "unmatched-result-lost", fix)
    if not (without_ids and facts.detail("results_unmatched").outcome == "name-lost"):
        fix = "Give every result the id of its call and the name of its tool."
        yield from _lost(facts, "results_unmatched", "unmatched-result-lost", fix)


def _lost(facts: Facts, detail: str, outcome: str, fix: str) -> Iterator[Diagnostic]:
    answer = facts.detail(detail)
    if answer.outcome not in ("threw", "dropped", "name-lost"):
        return
    message = f"{answer.evidence[0].upper()}{answer.evidence[1:]}."
    if answer.outcome != "threw":  # no error shows that the result is lost or has the wrong name
        line = answer.line if answer.outcome == "name-lost" else None
        yield Diagnostic(message, fix, line, "warning", "request", outcome)
    else:
        yield Diagnostic(message, fix, answer.line, outcome=outcome)
