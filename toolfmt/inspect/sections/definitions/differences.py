"""Answers about parts of a definition that only a difference between two prompts shows."""

from __future__ import annotations

from toolfmt.errors import TemplateError
from toolfmt.inspect.probe.capabilities import threw
from toolfmt.inspect.probe.differences import first_change
from toolfmt.inspect.report.report import Answer
from toolfmt.inspect.report.wording import quote
from toolfmt.inspect.sections.definitions.probe import KEY, Shown

SHOWN = "it is shown: "


def distinguished(*prompts: Shown) -> Answer:
    """Return whether all prompts differ from the first, with the change in the second."""
    texts = []
    for prompt in prompts:
        if isinstance(prompt, TemplateError):
            return threw(prompt)
        texts.append(prompt)
    if any(text == texts[0] for text in texts[1:]):
        return Answer("no", "changing it does not change the prompt")
    made = first_change(texts[0], texts[1])
    if not made.removed:
        return Answer("yes", "it adds '{}' to the prompt", excerpts=(quote(made.added, 80),))
    if not made.added:
        return Answer("yes", "it removes text from the prompt")
    return Answer(
        "yes",
        f"{SHOWN}changing it in the definition turns '{{}}' into '{{}}' in the prompt",
        excerpts=(quote(made.removed, 60), quote(made.added, 60)),
    )


def required_shown(one: Shown, other: Shown, both: Shown) -> Answer:
    """Return how the prompt shows which of two parameters are required: the first, the second, or both."""
    answer = distinguished(one, other, both)
    if answer.answer != "yes" or not isinstance(one, str) or not isinstance(both, str):
        return answer
    made = first_change(both, one)  # the second parameter becomes optional
    if made.added and not made.removed:
        return Answer("yes", f"{SHOWN}an optional parameter gets '{{}}'", excerpts=(quote(made.added, 80),))
    if made.removed and not made.added and f"{KEY}_two" in made.removed:
        return Answer("yes", f"{SHOWN}the prompt lists the names of required parameters")
    if made.removed and not made.added:
        return Answer("yes", f"{SHOWN}a required parameter gets '{{}}'", excerpts=(quote(made.removed, 80),))
    return answer
