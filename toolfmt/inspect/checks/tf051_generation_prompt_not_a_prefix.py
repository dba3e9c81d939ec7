"""What the generation prompt begins is not what the template later writes before the same answer.

The model continues the generation prompt; when the conversation goes on, the template writes the finished turn, and
writes its beginning otherwise. Mostly the generation prompt opens a reasoning block (`<think>`) or closes an empty one,
and no earlier turn has either. The runtime then computes that answer again, and the model sees turns of its own that
it did not write that way.

What to do: nothing, where the model was trained so (reasoning is often left out of earlier turns). Where the
reasoning should be kept, give it back in the field that the template reads, or take a template that writes it.

Example: `{% if add_generation_prompt %}<|assistant|><think>{% endif %}` beside `<|assistant|>{{ content }}`.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.checks.tf050_prefix_not_stable import beginning
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report.report import Severity

SEVERITY: Severity = "note"


def check(facts: Facts) -> Iterator[Diagnostic]:
    told = facts.sections.stability
    if told is None:
        return
    turn = next((turn for turn in told.turns if turn.cause == "generation-prompt"), None)
    if turn is None:
        return
    yield Diagnostic(
        f"The generation prompt ends with {beginning(turn.was)}; once the answer is there, the template writes "
        f"{beginning(turn.becomes)} in its place.",
        "Reckon with it: each answer is computed again when the conversation goes on.",
        turn.line,
    )
