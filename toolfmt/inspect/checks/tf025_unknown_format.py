"""The template supports tools in a format that no known format reads, or that nothing tells.

Either the calls that the template renders were read back by none of the formats, or it describes tools and
never renders a call, and nothing else tells how the model writes one. A parser chosen by guess gives raw
markup in the answer, or nothing.

What to do: look at the call that is quoted (or at how the template tells the model to call), find the parser
that the model's card names, and set it by hand.

Example: a template that renders `<|call|>get_weather<|with|>Paris<|end|>`.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.inspect.checks.found import Found
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.probes import quote
from toolfmt.inspect.report import Severity

SEVERITY: Severity = "warning"


def check(facts: Facts) -> Iterator[Found]:
    decided = facts.decided
    line = facts.capabilities["tool_calls"].line
    if decided.rendered and decided.read_back is None:
        yield Found(
            f"No known format reads the calls that the template renders: {quote(decided.rendered)}.",
            "Set the parser that the model card names by hand.",
            line,
        )
    elif facts.shows_tools and not decided.rendered and decided.decision.confidence in ("default", "none"):
        yield Found(
            "The template describes tools but renders no calls, and nothing else tells how the model writes them.",
            "Set the parser that the model card names by hand.",
            facts.capabilities["tools"].line,
        )
