"""`content: null` appears in the prompt as the word None.

OpenAI clients send `content: null` on turns that only call tools. This template prints it, and the model sees
itself say "None" before each call; sooner or later it does.

What to do: send an empty string instead of null; toolfmt's `render` does so where the template needs it.

Example: `{{ message.content }}` with `content: null`.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report.report import FixedBy, Severity

SEVERITY: Severity = "warning"
FIXED_BY: FixedBy = "render"


def check(facts: Facts) -> Iterator[Diagnostic]:
    answer = facts.capabilities["content_null"]
    if facts.renders_calls and answer.outcome == "none-printed":
        yield Diagnostic(
            f"The content null of a turn with a call comes out as a word: {answer.words}.",
            "Send an empty string instead of null; toolfmt's render does it for you. In the template, write "
            "`message.content or ''`.",
            answer.line,
        )
