"""The template supports tools in a format that no known format reads, or that nothing tells.

Either the calls that the template renders were read back by none of the formats, and none was derived from them,
or it describes tools and never renders a call, and neither its words nor the model's files name a format that toolfmt
knows. (Its words may still tell the model a notation of its own.) A parser chosen by guess gives raw markup in the
answer, or nothing.

Where the call is nearly that of a known format, the finding says which, and what is otherwise: a misspelt marker, a
lost brace, a template that was escaped for HTML. Where none is near, and the files declare no parser that is known, a
format is derived from the calls and proven on others (TF092); the finding says what kept that from being done.

What to do: where it is nearly a known one, mend the template. Else look at the call that is quoted (or at how the
template tells the model to call), find the parser that the model's card names, and set it by hand.

Example: a template that renders `<|call|>get_weather<|with|>Paris<|end|>`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from toolfmt.inspect.checks.found import Found
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.probe.conversations import SINGLE, TOOLS, conversation
from toolfmt.inspect.probe.renders import Region
from toolfmt.inspect.report import Severity
from toolfmt.inspect.wording import quote

SEVERITY: Severity = "error"


_SET_IT = "Set the parser that the model card names by hand."


def check(facts: Facts) -> Iterator[Found]:
    decided = facts.decided
    if decided.rendered and decided.read_back is None:
        found = _unread(facts)
        # Where tools are described in words, so are past calls: the model sees none of these.
        yield found if facts.shows_tools else replace(found, severity="note")
    elif facts.shows_tools and not decided.rendered and decided.decision.confidence in ("default", "none"):
        yield Found(
            "The template describes tools but renders no calls, and neither its words nor the model's files name a "
            "format that toolfmt knows.",
            _SET_IT,
            facts.capabilities["tools"].line,
        )


def _unread(facts: Facts) -> Found:
    """A call that no format reads: where it is nearly one that a format reads, what is otherwise."""
    line = facts.capabilities["tool_calls"].line
    message = f"No known format reads the calls that the template renders: {quote(facts.decided.rendered)}"
    other = facts.decided.unclaimed
    why = "" if other is None else other.why_not
    near = None if other is None or (why and other.near is not None and not other.near.slight) else other.near
    if near is None or facts.renders is None or facts.probed is None or (shape := facts.probed.shape) is None:
        return Found(message + (f". None can be derived from them: {why}" if why else ""), _SET_IT, line)
    region = facts.renders.calls(shape, SINGLE, TOOLS)
    if not isinstance(region, Region):
        return Found(message, _SET_IT, line)
    tools = TOOLS if shape.tools else None
    offset = len(region.before) + near.offset
    return Found(
        f"{message}. It is what {near.format.name} writes, {near.differs}.",
        f"Mend the template there if the model speaks {near.format.name}; else set the parser that its card names.",
        facts.renders.line_at(conversation(shape, SINGLE), tools, offset) or line,
    )
