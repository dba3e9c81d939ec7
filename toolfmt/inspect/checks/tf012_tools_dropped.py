"""The template drops the tools without a word.

The request succeeds, the model never learns that there are tools, and answers in words. About half of all
published templates do this. It is the commonest reason why "tool calling does not work". The verdict says so
(`prompt-only`): described in words, the tools reach the model all the same.

What to do: describe the tools in a system message; toolfmt's `render` does so (strategy `prompt`) where the
template does not. A newer revision of the model's template may support tools.

Example: a template that loops over `messages` and never reads `tools`.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.checks.tf011_tools_not_rendered import reads_tools
from toolfmt.inspect.checks.workarounds import describe_tools
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report.report import Severity

SEVERITY: Severity = "note"


def check(facts: Facts) -> Iterator[Diagnostic]:
    if facts.renders is None or facts.shows_tools or reads_tools(facts.renders.template):
        return
    yield Diagnostic(
        "The template drops the tools: the prompt never mentions them.",
        describe_tools(facts),
    )
