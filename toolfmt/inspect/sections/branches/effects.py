"""What another text or number changed in a prompt, apart from that text itself."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from toolfmt._util.text_lists import listed
from toolfmt.errors import TemplateError
from toolfmt.inspect.probe.differences import TextChange, first_change
from toolfmt.inspect.probe.turn_markers import MARK
from toolfmt.inspect.report.error_messages import thrown
from toolfmt.inspect.report.wording import CUT, quote
from toolfmt.inspect.sections.branches.conversations import (
    ABOUT_TOOLS,
    PARAMETER_TYPE,
    SLOTS,
    TOOLS,
    GrowingConversations,
)

_PLACEHOLDER = "□"
# A line this many times longer than any on the other side counts as added or left out.
_MUCH = 2
_NEAR = 40
"""Maximum number of characters that a text gains if a template rewrites it."""
_NUMBER = re.compile(r"\d+")
_WHITESPACE = re.compile(r"\s+")


@dataclass(frozen=True)
class BranchEffect:
    """A change of a prompt. `words` has a placeholder for each excerpt.

    `moved` are the slots whose text is in one of the prompts only (`gone`: only in the usual one). `raised` is
    whether the template raised.
    """

    words: str
    excerpts: tuple[str, ...] = ()
    moved: tuple[str, ...] = ()
    raised: bool = False
    gone: bool = False


def of_text(
    control: str, prompt: str | TemplateError, slot: str, text: str, slots: Iterable[str], tail: str = ""
) -> BranchEffect | None:
    """Return what a text in a slot changed, or None if it only replaces the usual word.

    `tail` is a word after it that belongs to the slot's text.
    """
    if isinstance(prompt, TemplateError):
        return _raised(prompt)
    word = SLOTS[slot][0]
    others = [other for other in slots if other != slot]
    kept = tail in prompt if tail else prompt.count(text) > control.count(text)  # the text may occur in any prompt
    lost = [slot] if word in control and not kept else []
    lost += [other for other in others if SLOTS[other][0] in control and SLOTS[other][0] not in prompt]
    if slot == "parameter" and lost and set(lost) <= {"parameter", "about"} and _fewer_types(control, prompt):
        return BranchEffect("this parameter is missing from the tool's definition", (), tuple(lost), gone=True)
    if lost:
        return _gone(lost, slot)
    added = [other for other in others if SLOTS[other][0] in prompt and SLOTS[other][0] not in control]
    if added:
        named = _called(added, slot)
        are = "is" if len(named) == 1 and named != ["the tools"] else "are"
        return BranchEffect(f"only then {listed(named)} {are} in the prompt", (), tuple(added))
    whole = f"{text} {tail}" if tail else text
    usual, becomes = (_blanked(made, [whole, text, word]) for made in (control, prompt))
    return _differs(usual, becomes, text)


def of_rewriting(
    control: str, prompt: str | TemplateError, slot: str, texts: tuple[str, str], slots: Iterable[str]
) -> BranchEffect | None:
    """Return what a text in a slot changed if the template may replace the text itself; else as `of_text`.

    `texts` are that text, and the whole content of the slot.
    """
    text, whole = texts
    if isinstance(prompt, TemplateError):
        return _raised(prompt)
    others = of_text(control, prompt, slot, text, slots, SLOTS[slot][0] if whole != text else "")
    expected = control.replace(SLOTS[slot][0], whole)
    if prompt.count(text) >= expected.count(text) or (others is not None and set(others.moved) - {slot}):
        return others
    changes = _rewritten(expected, prompt, text, whole) or [first_change(expected, prompt)]
    moved = () if others is None else others.moved
    made = [_as_words(changed, SLOTS[slot][0]) for changed in changes]
    return BranchEffect(", and ".join(words for words, _ in made), sum((shown for _, shown in made), ()), moved)


def _rewritten(expected: str, prompt: str, text: str, whole: str) -> list[TextChange]:
    """Return how the template rewrites `text` at the start of `whole`, and the first change after it; or nothing.

    Both prompts have the same beginning and the rest of `whole` after the rewritten text.
    """
    begin, rest = expected.find(whole), whole.removeprefix(text)
    end = prompt.find(rest, begin) if rest and prompt[:begin] == expected[:begin] else -1
    written = prompt[begin:end] if begin >= 0 else ""
    if end < 0 or len(written) > 2 * len(text) + _NEAR or written == text:
        return []
    after = first_change(expected[begin + len(whole) :], prompt[end + len(rest) :])
    made = [TextChange(text, written, at_end=False)]
    return [*made, after] if (after.removed + after.added).strip() else made


def _as_words(changed: TextChange, word: str) -> tuple[str, tuple[str, ...]]:
    """Return what changed in words, with an excerpt for each placeholder. The test word is shown as an ellipsis."""
    was, becomes = (quote(text.replace(word, CUT), 60) for text in (changed.removed, changed.added))
    if not becomes.strip():
        return "'{}' is left out", (was,)
    if not was.strip():
        return "'{}' is added", (becomes,)
    return "'{}' becomes '{}'", (was, becomes)


def of_number(
    least: str, many: str | TemplateError, words: Sequence[str], what: GrowingConversations, few: str = ""
) -> BranchEffect | None:
    """Return what this number of items changed, or None if everything sent or in `least` is in the prompt.

    `words` are the words that were sent. The text around them is compared with that of `few`, if passed.
    """
    if isinstance(many, TemplateError):
        return _raised(many)
    lost = [word for word in words if word not in many]
    if lost:
        are = "is" if len(lost) == 1 else "are"
        return BranchEffect(f"{len(lost)} of {len(words)} {what.parts} {are} not in the prompt", (), ("row",))
    gone = [slot for slot, (word, _) in SLOTS.items() if word in least and word not in many]
    if gone:
        return _gone(gone)
    before, after = (_kinds(text, words) for text in (few, many))
    new = [line for line in after if line not in before] or [line for line in before if line not in after]
    if not few or not new:
        return None
    how = "it then has '{}'" if new[0] in after else "it no longer has '{}'"
    return BranchEffect(how, (quote(new[0], 80),))


def of_whole(one: str, other: str | TemplateError, bare: Callable[[int], str]) -> BranchEffect | None:
    """Return the difference between two prompts of the same conversation, or None.

    `bare` returns the first or the second prompt without what may differ.
    """
    if isinstance(other, TemplateError):
        return _raised(other)
    gone = [slot for slot, (word, _) in SLOTS.items() if word in one and word not in other]
    if gone:
        return _gone(gone)
    return _differs(bare(0), bare(1))


def _gone(slots: Sequence[str], own: str = "") -> BranchEffect:
    named = _called(slots, own)
    are = "is" if len(named) == 1 and named != ["the tools"] else "are"
    return BranchEffect(f"{listed(named)} {are} no longer in the prompt", (), tuple(slots), gone=True)


def _fewer_types(control: str, prompt: str) -> bool:
    """Return whether the prompt states the type of fewer parameters than the control prompt."""
    return prompt.casefold().count(PARAMETER_TYPE) < control.casefold().count(PARAMETER_TYPE)


def _called(slots: Sequence[str], own: str = "") -> list[str]:
    """Return the names of these slots; "the tools" if all of them are missing. `own` is the changed slot."""
    tools = set(slots) >= TOOLS - {own}
    named = ["it" if slot == own else SLOTS[slot][1] for slot in slots if not (tools and slot in ABOUT_TOOLS - {own})]
    return [*named, "the tools"] if tools else named


def _raised(error: TemplateError) -> BranchEffect:
    return BranchEffect("{}", (quote(thrown(error).sentence, 120),), (), True)


def _differs(one: str, other: str, text: str = "…") -> BranchEffect | None:
    """Return the first difference, or None if only whitespace differs. `text` replaces the placeholder."""
    if one == other or one.split() == other.split():
        return None
    before, after = one.split("\n"), other.split("\n")
    gone, new = (_longest(set(lines) - set(others)) for lines, others in ((before, after), (after, before)))
    if len(new) > _MUCH * len(gone):
        return BranchEffect("'{}' is added", (quote(new, 80),))
    if len(gone) > _MUCH * len(new):
        return BranchEffect("'{}' is left out", (quote(gone, 80),))
    changed = first_change(one, other)
    if not (changed.removed + changed.added).replace(_PLACEHOLDER, "").strip():
        return None
    was, becomes = (
        quote(changed.removed.replace(_PLACEHOLDER, "…"), 60),
        quote(changed.added.replace(_PLACEHOLDER, text), 60),
    )
    if not was:
        return _elsewhere(BranchEffect("'{}' is added", (becomes,)), one, other, changed.added)
    effect = BranchEffect("'{}' becomes '{}'", (was, becomes)) if becomes else BranchEffect("'{}' is left out", (was,))
    return _elsewhere(effect, one, other, changed.added)


def _elsewhere(effect: BranchEffect, one: str, other: str, added: str) -> BranchEffect:
    """Add markers that only the other prompt contains to the effect, unless `added` contains one of them."""
    new = [mark for mark in dict.fromkeys(MARK.findall(other)) if mark not in one and _PLACEHOLDER not in mark]
    if not new or any(mark in added for mark in new):
        return effect
    either = "|".join(map(re.escape, new))
    found = re.search(rf"(?:{either})(?:\s*(?:{either}))*", other)
    stretch = found[0] if found else new[0]
    places = f" in {other.count(stretch)} places" if other.count(stretch) > 1 else ""
    return replace(
        effect, words=f"{effect.words}, and '{{}}' is added{places}", excerpts=(*effect.excerpts, quote(stretch, 60))
    )


def _longest(lines: Iterable[str]) -> str:
    """Return the longest line (the first in alphabetical order), with placeholders as ellipses."""
    bare = [line.replace(_PLACEHOLDER, "…").strip() for line in lines]
    return max(sorted(bare), key=len, default="")


def _blanked(prompt: str, texts: Iterable[str]) -> str:
    """Replace these texts with a placeholder, both verbatim and as escaped in JSON."""
    forms = {form for text in texts for form in (text, text.strip(), json.dumps(text)[1:-1]) if form}
    for form in sorted(forms, key=len, reverse=True):
        prompt = prompt.replace(form, _PLACEHOLDER)
    return prompt


def _kinds(prompt: str, words: Sequence[str]) -> dict[str, None]:
    """Return the distinct segments between these words and line breaks, ignoring numbers."""
    stretches = re.split("|".join([*map(re.escape, words), "\n"]), prompt)
    return dict.fromkeys(_WHITESPACE.sub(" ", _NUMBER.sub("#", stretch)).strip() for stretch in stretches)
