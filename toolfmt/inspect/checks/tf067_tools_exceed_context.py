"""The tools need more than a quarter of the context.

What it checks: the tokens of the tools in the request, against a quarter of the model's context.

Why it matters: in every turn, these tokens are not available for the conversation, the tool results and the response.
The more tools there are, the worse models choose among them.

Affected runtimes: every runtime that serves the model with this context.

Example:

    40 tools of an MCP server, 9,000 tokens together, and a context of 8,192 tokens

Fix: leave out tools, or shorten their descriptions. The report lists the cost of each tool. The finding names the most
expensive tools. Leave them out in this order until the rest fits into a quarter of the context.
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
