"""`add_generation_prompt` changes nothing.

Either the template writes the assistant's header behind every conversation: then a conversation that is not to be
answered (for training, or to be continued) ends with an answer that nobody gives. Or it never writes one: then the
program has to, unless the model does so itself.

What to do: compare the end of the prompt with the model's page; add the header yourself where it is missing, cut it
off where it is too much.

Example: a template that never reads `add_generation_prompt`.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.inspect.checks.found import Found
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report import Severity

SEVERITY: Severity = "note"


def check(facts: Facts) -> Iterator[Found]:
    answer = facts.detail("generation_prompt")
    # Where answers follow questions without a header, there is none to add.
    if facts.renders is not None and answer.answer == "no" and answer.how != "in-place":
        much = answer.how == "misplaced"
        yield Found(
            f"add_generation_prompt is ignored: {answer.evidence}.",
            "Nothing to do for an answer; where none is to be generated, cut off what begins one."
            if much
            else "See the model's page for what an answer begins with, and add it where the model does not.",
            answer.line,
        )
