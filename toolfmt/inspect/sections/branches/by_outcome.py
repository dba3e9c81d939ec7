"""Find sentences that a condition on message text adds, by forcing its other outcome.

Removed text is not checked: the template may print it elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from toolfmt.inspect.probe.renders import render_with_outcome
from toolfmt.inspect.probe.turn_markers import SENTENCE
from toolfmt.inspect.report.report import Branch
from toolfmt.inspect.sections.branches import effects
from toolfmt.inspect.sections.branches.branch_renders import Taking
from toolfmt.inspect.sections.branches.conversations import talk
from toolfmt.inspect.sections.branches.effects import BranchEffect
from toolfmt.inspect.sections.branches.text_conditions import KINDS, on_message_text, sought_texts
from toolfmt.templates.analysis.conditions import Condition

PLACE = "certain text in messages"
"""The location of a branch that is found without the text that triggers it."""


def by_outcome(taking: Taking, stated: str) -> Iterator[Branch]:
    """Yield the sentence that each condition on message text adds, once per text, unless it is in `stated`."""
    shown: set[str] = set()
    for condition in sorted(taking.watch.conditions, key=lambda one: one.line):
        if f"(line {condition.line})" in stated or not on_message_text(condition, taking.watch):
            continue
        texts = set(sought_texts(condition, taking.watch))
        if texts and texts <= KINDS:
            continue
        effect = _effect(taking, condition)
        if effect is None or any(text in stated or text in shown for text in effect.excerpts):
            continue
        shown |= {*effect.excerpts}
        yield Branch("text", condition.line, PLACE, "", effect.words, effect.excerpts)


def _effect(taking: Taking, condition: Condition) -> BranchEffect | None:
    """Return the effect on the first prompt that gains a sentence, or None."""
    for kind, control in taking.usual.items():
        outcomes = [way for way in (False, True) if 2 * condition.number + way in control.seen]
        if len(outcomes) != 1:
            continue
        render = partial(taking.prompt, talk(taking.manner, kind))
        prompt = render_with_outcome(taking.renders.template, condition, not outcomes[0], render)
        if isinstance(prompt, str):
            effect = effects.of_whole(control.text, prompt, [control.text, prompt].__getitem__)
            if effect is not None and not effect.gone and any(map(SENTENCE.search, effect.excerpts)):
                return effect
    return None
