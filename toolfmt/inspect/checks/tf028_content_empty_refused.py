"""A turn with a call and empty content is refused, or loses its call.

Some templates render calls only when the content is null, or reach into the content without looking whether
it holds anything. Clients that send `content: ""` beside a call lose the call without an error.

What to do: send null instead of the empty string; toolfmt's `render` does so where the template takes null.

Example: `{% if message.content is none %}` around the part that renders the calls.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report.report import FixedBy, Severity

SEVERITY: Severity = "warning"
FIXED_BY: FixedBy = "render"


def check(facts: Facts) -> Iterator[Diagnostic]:
    answer = facts.capabilities["content_empty"]
    if facts.renders_calls and answer.answer != "yes":
        what = "is refused" if answer.outcome == "threw" else "goes wrong"
        instead = "null" if facts.yes("content_null") else "a word of text"
        fits = facts.yes("content_null") or facts.detail("text_beside_call").outcome == "dropped"
        done = "; toolfmt's render does it for you" if fits else ""
        if facts.yes("content_null") and facts.detail("content_absent").answer != "yes":
            # A key that holds null is left out by transformers 5, and by render.
            done = ", with the key; or render with toolfmt, which keeps the call"
        yield Diagnostic(
            f"A turn with a call and empty content {what}: {answer.evidence}.",
            f"Send {instead} instead of an empty string{done}.",
            answer.line,
        )
