"""The tools take more than a quarter of the context.

What they take is gone for the conversation, for what the tools return and for the answer, in every turn; and the more
tools there are, the worse models choose among them.

What to do: leave tools out, or shorten their descriptions. The report lists what each tool costs; those named are the
dearest ones, left out one after the other until the rest fits into a quarter of the context.

Example: forty tools of an MCP server, 9,000 tokens together, and a context of 8,192.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt._util.text_lists import listed_first
from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report.report import FixedBy, Severity

SEVERITY: Severity = "warning"
ABOUT_FILES = True
FIXED_BY: FixedBy = "request"

_MOST_NAMED = 10


def check(facts: Facts) -> Iterator[Diagnostic]:
    tokens = facts.sections.tokens
    if tokens is None or not tokens.given or tokens.context is None or tokens.room is None:
        return
    if tokens.total <= tokens.room:
        return
    rest = tokens.total - sum(cost.tokens for cost in tokens.tools if cost.name in tokens.leave_out)
    whole = "the whole" if tokens.total > tokens.context else "a quarter of the"
    fix = f"Leave out {listed_first(tokens.leave_out, _MOST_NAMED)}: the rest takes {rest:,} tokens"
    if len(tokens.leave_out) == len(tokens.tools):
        fix = "Use a larger context: none of these tools fits"
    yield Diagnostic(
        f"The tools take {tokens.total:,} tokens, more than {whole} context of {tokens.context:,}.",
        f"{fix}.",
        facts.capabilities["tools"].line,
    )
