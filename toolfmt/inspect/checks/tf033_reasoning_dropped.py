"""The template drops the reasoning of earlier turns.

What it checks: the reasoning of responses before the last user message, and of an assistant turn between a call and its
result. A report lists only its code, in the row `minor`.

Why it matters: most templates drop the reasoning of responses before the last user message, as their models were
trained. If reasoning between a call and its result is dropped, the model no longer knows why it made the call. If any
reasoning is dropped, the prompt of a turn is not a prefix of the next prompt.

Affected runtimes: every runtime that renders this template.

Example:

    {% if message.reasoning_content and loop.index0 > ns.last_query_index %}
    <think>{{ message.reasoning_content }}</think>{% endif %}

Fix: do nothing, unless the model card requires earlier reasoning. Some templates have a variable that keeps it.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt._util.text_lists import listed
from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report.report import Severity

SEVERITY: Severity = "note"
ON_REQUEST = True  # the row `reasoning` of a report shows it


_PLACES = {
    "reasoning_earlier": "from turns before the last user message",
    "reasoning_in_loop": "from turns whose call has a result",
}


def _how(facts: Facts) -> str:
    """Return the first variable that keeps earlier reasoning, with its value."""
    for one in facts.sections.variables:
        for effect in one.effects:
            if effect.reasoning in ("kept", "kept-with-calls"):
                where = " next to calls" if effect.reasoning == "kept-with-calls" else ""
                return f"; {one.name}{f'={effect.typed}' if effect.typed else ''} keeps it{where}."
    return "."


def check(facts: Facts) -> Iterator[Diagnostic]:
    dropped = [where for name, where in _PLACES.items() if facts.detail(name).outcome == "dropped"]
    if facts.detail("reasoning_earlier").outcome == "lost-later":
        dropped.insert(0, "from turns before the last response without a call")
    lines = (*(facts.detail(name).line for name in _PLACES), facts.capabilities["reasoning"].line)
    if dropped:
        yield Diagnostic(
            f"Reasoning is dropped {listed(dropped)}.",
            "Check in the model card whether the model expects its earlier reasoning" + _how(facts),
            next(filter(None, lines), None),
        )
