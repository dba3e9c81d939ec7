"""What another text or number changed in a prompt, beside that text itself."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from toolfmt._util.text_lists import listed
from toolfmt.errors import TemplateError
from toolfmt.inspect.probe.differences import first_change
from toolfmt.inspect.probe.turn_markers import MARK
from toolfmt.inspect.report.error_messages import thrown
from toolfmt.inspect.report.wording import quote
from toolfmt.inspect.sections.branches.conversations import (
    ABOUT_TOOLS,
    PARAMETER_TYPE,
    SLOTS,
    TOOLS,
    GrowingConversations,
)

_BLANK = "□"
# A line that is so many times as long as any on the other side is what was added, or left out.
_MUCH = 2
_NUMBER = re.compile(r"\d+")
_BLANKS = re.compile(r"\s+")


@dataclass(frozen=True)
class BranchEffect:
    """What changed: in words of toolfmt's own with a place for each excerpt. `moved` are the slots whose text is in one
    of the prompts only (`gone`: the usual one), `refused` whether the template threw.
    """

    words: str
    excerpts: tuple[str, ...] = ()
    moved: tuple[str, ...] = ()
    refused: bool = False
    gone: bool = False


def of_text(
    control: str, prompt: str | TemplateError, slot: str, text: str, slots: Iterable[str], tail: str = ""
) -> BranchEffect | None:
    """What a text in a slot changed; None where it only stands where the usual word did.

    `tail` is a word behind it that belongs to the slot's text.
    """
    if isinstance(prompt, TemplateError):
        return _refused(prompt)
    word = SLOTS[slot][0]
    others = [other for other in slots if other != slot]
    kept = tail in prompt if tail else prompt.count(text) > control.count(text)  # the text may be in any prompt
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
    """What a text in a slot changed that the template may replace: itself, or what `of_text` tells.

    `texts` are that text, and all that stands in the slot now.
    """
    text, whole = texts
    if isinstance(prompt, TemplateError):
        return _refused(prompt)
    others = of_text(control, prompt, slot, text, slots, SLOTS[slot][0] if whole != text else "")
    expected = control.replace(SLOTS[slot][0], whole)
    if prompt.count(text) >= expected.count(text) or (others is not None and set(others.moved) - {slot}):
        return others
    changed = first_change(expected, prompt)
    was, becomes = quote(changed.removed, 60), quote(changed.added, 60)
    moved = () if others is None else others.moved
    if not becomes.strip():
        return BranchEffect("'{}' is left out", (was,), moved)
    return BranchEffect("'{}' becomes '{}'", (was, becomes), moved)


def of_number(
    least: str, many: str | TemplateError, words: Sequence[str], what: GrowingConversations, few: str = ""
) -> BranchEffect | None:
    """What so many of something changed; None where all of it stands there, and all else that the least has.

    `words` are those that were sent; what stands around them is compared with that of `few`, where it is given.
    """
    if isinstance(many, TemplateError):
        return _refused(many)
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
    """What is another in the second prompt, of the same conversation; `bare` is the first and the second one without
    what may differ.
    """
    if isinstance(other, TemplateError):
        return _refused(other)
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
    """What to call what stands in these slots: the tools, where nothing of them is left; `own` is the one at hand."""
    tools = set(slots) >= TOOLS - {own}
    named = ["it" if slot == own else SLOTS[slot][1] for slot in slots if not (tools and slot in ABOUT_TOOLS - {own})]
    return [*named, "the tools"] if tools else named


def _refused(error: TemplateError) -> BranchEffect:
    return BranchEffect("{}", (quote(thrown(error).sentence, 120),), (), True)


def _differs(one: str, other: str, text: str = "…") -> BranchEffect | None:
    """The first difference; None where only blanks differ. `text` is what was blanked in the other."""
    if one == other or one.split() == other.split():
        return None
    before, after = one.split("\n"), other.split("\n")
    gone, new = (_longest(set(lines) - set(others)) for lines, others in ((before, after), (after, before)))
    if len(new) > _MUCH * len(gone):
        return BranchEffect("'{}' is added", (quote(new, 80),))
    if len(gone) > _MUCH * len(new):
        return BranchEffect("'{}' is left out", (quote(gone, 80),))
    changed = first_change(one, other)
    if not (changed.removed + changed.added).replace(_BLANK, "").strip():
        return None
    was, becomes = quote(changed.removed.replace(_BLANK, "…"), 60), quote(changed.added.replace(_BLANK, text), 60)
    if not was:
        return _elsewhere(BranchEffect("'{}' is added", (becomes,)), one, other, changed.added)
    told = BranchEffect("'{}' becomes '{}'", (was, becomes)) if becomes else BranchEffect("'{}' is left out", (was,))
    return _elsewhere(told, one, other, changed.added)


def _elsewhere(told: BranchEffect, one: str, other: str, added: str) -> BranchEffect:
    """The effect with the marks that stand in the other prompt only, and not in what was `added` where it tells."""
    new = [mark for mark in dict.fromkeys(MARK.findall(other)) if mark not in one and _BLANK not in mark]
    if not new or any(mark in added for mark in new):
        return told
    either = "|".join(map(re.escape, new))
    found = re.search(rf"(?:{either})(?:\s*(?:{either}))*", other)
    stretch = found[0] if found else new[0]
    places = f" in {other.count(stretch)} places" if other.count(stretch) > 1 else ""
    return replace(
        told, words=f"{told.words}, and '{{}}' is added{places}", excerpts=(*told.excerpts, quote(stretch, 60))
    )


def _longest(lines: Iterable[str]) -> str:
    """The longest of some lines, the first of them in the order of letters; without what was blanked."""
    bare = [line.replace(_BLANK, "…").strip() for line in lines]
    return max(sorted(bare), key=len, default="")


def _blanked(prompt: str, texts: Iterable[str]) -> str:
    """The prompt with a sign in the place of these texts, as they are or as JSON has them."""
    forms = {form for text in texts for form in (text, text.strip(), json.dumps(text)[1:-1]) if form}
    for form in sorted(forms, key=len, reverse=True):
        prompt = prompt.replace(form, _BLANK)
    return prompt


def _kinds(prompt: str, words: Sequence[str]) -> dict[str, None]:
    """The stretches between these words and line breaks, each once, whatever numbers stand in them."""
    stretches = re.split("|".join([*map(re.escape, words), "\n"]), prompt)
    return dict.fromkeys(_BLANKS.sub(" ", _NUMBER.sub("#", stretch)).strip() for stretch in stretches)
