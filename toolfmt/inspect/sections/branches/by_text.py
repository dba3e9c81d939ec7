"""What a certain text or name changes in a prompt, apart from itself."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from toolfmt._util.text_lists import listed
from toolfmt.inspect.report.report import Branch
from toolfmt.inspect.report.wording import quote
from toolfmt.inspect.sections.branches import effects
from toolfmt.inspect.sections.branches.branch_renders import BranchRender, Taking
from toolfmt.inspect.sections.branches.conversations import SLOTS, inverse, talk
from toolfmt.inspect.sections.branches.effects import BranchEffect
from toolfmt.inspect.sections.branches.probe_words import has_probe_word, matches_probe_word
from toolfmt.inspect.sections.branches.text_conditions import (
    computed_of_messages,
    on_message_text,
    sought_texts,
    untested,
)
from toolfmt.templates.analysis.conditions import Condition
from toolfmt.templates.analysis.matched_texts import MatchedText

_MOST_TEXTS = 40
_MOST_PARTS, _LONGEST_PART = 8, 60
"""Limits on number and length of the texts that are tried together in one message."""
NAME_WITH = "a tool's name with "
"""How the location of a branch starts that any name with certain characters triggers."""
_NAMES = ("name", "parameter", "id")
_MIXED_NAME = "Qz.Seek-Zalf"
_UNUSUAL_NAMES = {"a dot": "push.bolt", "a hyphen": "push-bolt", "capital letters": "Push_Bolt"}
"""What is unusual in the mixed name, each in a name of its own."""
_KEYWORDS = ("description", "type", "properties", "required", "nullable", "items", "enum")
_EVERYWHERE = tuple(slot for slot in SLOTS if slot not in ("id", "other"))
# Findings of their own report text missing from a question or result. The turns section reports responses.
_REPORTED_ELSEWHERE = frozenset({"question", "further", "result", "reply", "beside", "reasoning"})
_OF_THE_MODEL = ("reply", "beside", "reasoning")
# For these, a text that only changes other words is a switch (`/no_think`) or another form of the text.
_SWITCHES = ("system", "value")
# Quoted text in a message has a finding of its own.
_QUOTED = ("question", "further", "result")
# Characters that JSON, HTML or a format's own markers escape.
_ESCAPED = re.compile(r"[\x00-\x1f\"'\\<>&{}\[\]]")
_CUT = tuple(slot for slot in _EVERYWHERE if slot not in (*_REPORTED_ELSEWHERE, *_NAMES))


def by_texts(taking: Taking) -> Iterator[Branch]:
    """Yield a branch for each text that a condition tests for, once per slot, if it changes the prompt."""
    reported: set[tuple[str, str]] = set()
    tried: dict[str, None] = {}
    # A condition may be reached only after another one has a different outcome, with texts computed at that point.
    while new := [text for text in _looked_for(taking) if text not in tried][: _MOST_TEXTS - len(tried)]:
        for text in new:
            yield from _new_branches(taking, text, reported)
        tried |= dict.fromkeys(new)
    for text in _put_together(taking):
        if not taking.aims[text] & {one.number for one in untested(taking.watch)[0]}:
            continue  # another text has tested these conditions both ways
        yield from _new_branches(taking, text, reported)
    yield from _cutting(taking)
    yield from _matching(taking, reported)


def _new_branches(taking: Taking, text: str, reported: set[tuple[str, str]]) -> Iterator[Branch]:
    """Yield the branches of a text in every conversation, once per slot; `reported` are those already yielded."""
    for kind in taking.usual:
        for slot, branch in _taken(taking, kind, text):
            if (slot, text) not in reported:
                reported.add((slot, text))
                yield branch


def _put_together(taking: Taking) -> list[str]:
    """Return composed texts for the conditions that no single text has tested both ways.

    Some produce a tested text if they are cut or reversed. Others contain all tested texts, in the order of the
    template and reversed.
    """
    unmet, _ = untested(taking.watch)
    texts: dict[str, frozenset[int]] = {}
    for condition in unmet:
        for value in computed_of_messages(condition, taking.watch):
            for text in sought_texts(condition, taking.watch):
                made = inverse(value, text)
                texts |= {} if made is None else {made: frozenset({condition.number})}
    on_text = [one for one in taking.watch.conditions if on_message_text(one, taking.watch)]
    parts = [text for one in on_text for text in sought_texts(one, taking.watch)]
    parts = [text for text in dict.fromkeys(parts) if len(text) <= _LONGEST_PART][:_MOST_PARTS]
    if len(parts) > 1 and unmet:
        numbers = frozenset(one.number for one in unmet)
        texts |= {" ".join(parts): numbers, " ".join(reversed(parts)): numbers}
    taking.aims |= texts
    return list(texts)[:_MOST_TEXTS]


def _looked_for(taking: Taking) -> list[str]:
    """Return the texts of conditions with only one outcome so far, and those that overlap with other probes."""
    texts: dict[str, None] = {}
    for condition in taking.watch.conditions:
        unseen = len(taking.watch.came_out(condition)) < 2
        texts |= {text: None for text in condition.texts if unseen or matches_probe_word(text)}
        computed = [text for text in sought_texts(condition, taking.watch) if text not in condition.texts]
        texts |= {text: None for text in computed if unseen or has_probe_word(text)}
    return list(texts)[:_MOST_TEXTS]


def _taken(taking: Taking, kind: str, text: str) -> Iterator[tuple[str, Branch]]:
    """Yield the branches of a text in this conversation, by slot. All slots are tried together first."""
    control, given = taking.usual[kind], talk(taking.manner, kind)
    # Many templates reject an id in another form, which would hide every other effect.
    for group in (_EVERYWHERE, ("id",) if has_probe_word(text) else ()):
        slots = [slot for slot in group if slot in given.slots]
        given = talk(taking.manner, kind, dict.fromkeys(slots, text))
        every = control if not slots else taking.apart(given) if text in taking.aims else taking.make(given)
        if any(_looks_for(taking, one, text) for one in taking.differing(control, every)):
            for slot in slots:
                branch = _of_slot(taking, kind, slot, text)
                if branch is not None:
                    yield slot, branch


def _looks_for(taking: Taking, condition: Condition, text: str) -> bool:
    """Return whether a condition tests for this text, or the text was composed for it."""
    return (
        text in condition.texts
        or text in sought_texts(condition, taking.watch)
        or condition.number in taking.aims.get(text, ())
    )


def _of_slot(taking: Taking, kind: str, slot: str, text: str) -> Branch | None:
    """Return what the text changes in this slot, if a condition that tests for it has another outcome; else None."""
    control, word = taking.usual[kind], SLOTS[slot][0]
    for tail in ("",) if slot in _NAMES else (word, ""):
        given = talk(taking.manner, kind, {slot: f"{text} {tail}" if tail else text})
        made = taking.make(given)
        deciding = [one for one in taking.differing(control, made) if _looks_for(taking, one, text)]
        if deciding:
            effect = effects.of_text(control.text, made.prompt, slot, text, given.slots, tail)
            if effect is None and text in taking.aims:
                continue  # a composed text may have to be the whole message
            if effect is None or not _matters(taking, slot, text, effect, whole=not tail):
                return None
            return _branch(slot, text, effect, made.raised_at or deciding[0].line, whole=not tail)
    return None


def _matters(taking: Taking, slot: str, text: str, effect: BranchEffect, *, whole: bool) -> bool:
    """Return whether an effect is reported only here and is not just another form of the text itself.

    A text that is the `whole` of a message and disappears is reported only here. An exception is text next to a call,
    where `null` usually means no text (LFM2).
    """
    if slot == "id":
        return not effect.raised  # accepted ids have a finding of their own
    if slot in _OF_THE_MODEL and text in taking.aims:
        return False  # composed of several texts: a model does not write such output
    if slot in _QUOTED and (whole or text not in {one.text for one in taking.renders.template.tested_texts}):
        return True  # the safety section tries only constants, and never as a whole message
    if slot in _REPORTED_ELSEWHERE:
        return bool(effect.moved if whole and slot != "beside" else set(effect.moved) - {slot})
    return slot != "value" or bool(effect.moved)


def by_name(taking: Taking) -> Iterator[Branch]:
    """Yield a branch if the template changes a tool name that has capitals, a dot and a hyphen."""
    kind, control = next(iter(taking.usual.items()), ("", None))
    if control is None or "name" not in talk(taking.manner, kind).slots:
        return
    found: dict[str, tuple[str, BranchEffect, int | None]] = {}
    for what, name in {"capital letters, a dot and a hyphen": _MIXED_NAME, **_UNUSUAL_NAMES}.items():
        given = talk(taking.manner, kind, {"name": name})
        made = taking.make(given)
        if not _as_expected(control, {"name": name}, made):
            effect = effects.of_rewriting(control.text, made.prompt, "name", (name, name), given.slots)
            if effect is not None:
                found[what] = name, effect, made.raised_at
        if not found:
            return
    single = [what for what in found if what in _UNUSUAL_NAMES] or list(found)
    name, effect, line = found[single[0]]
    effect = replace(effect, words=f"with the test name '{{}}', {effect.words}", excerpts=(name, *effect.excerpts))
    yield replace(_branch("name", "", effect, line), place=f"{NAME_WITH}{listed(single, 'or')}")


def by_keyword(taking: Taking) -> Iterator[Branch]:
    """Yield parameter names that the template mistakes for keywords of a schema, each with the effect."""
    kind, control = next(iter(taking.usual.items()), ("", None))
    slots = talk(taking.manner, kind).slots
    for keyword in _KEYWORDS if control is not None and "parameter" in slots else ():
        made = taking.make(talk(taking.manner, kind, {"parameter": keyword}))
        if control is None or made.text == control.text.replace(SLOTS["parameter"][0], keyword):
            continue
        effect = effects.of_text(control.text, made.prompt, "parameter", keyword, slots)
        deciding = taking.differing(control, made)
        if effect is not None and deciding:
            yield _branch("parameter", keyword, effect, made.raised_at or deciding[0].line, whole=True)


def _cutting(taking: Taking) -> Iterator[Branch]:
    """Yield what a text does at which the template cuts or replaces without a condition.

    Only for slots that no other probe covers.
    """
    control = taking.usual.get("whole")
    given = talk(taking.manner, "whole")
    slots = [slot for slot in _CUT if slot in given.slots]
    conditions = {text for condition in taking.watch.conditions for text in condition.texts}
    for tested in taking.renders.template.tested_texts[:_MOST_TEXTS] if control else ():
        text = tested.text
        if text in conditions or control is None:
            continue
        every = taking.make(talk(taking.manner, "whole", {slot: f"{text} {SLOTS[slot][0]}" for slot in slots}))
        if any(SLOTS[slot][0] in control.text and SLOTS[slot][0] not in every.text for slot in slots):
            yield from _cut_at(taking, slots, text, tested.line, control)


def _cut_at(taking: Taking, slots: Sequence[str], text: str, line: int, control: BranchRender) -> Iterator[Branch]:
    for slot in slots:
        word = SLOTS[slot][0]
        given = talk(taking.manner, "whole", {slot: f"{text} {word}"})
        made = taking.make(given)
        effect = effects.of_text(control.text, made.prompt, slot, text, given.slots, word)
        if effect is not None and effect.moved:
            yield _branch(slot, text, effect, line)


def _matching(taking: Taking, reported: Collection[tuple[str, str]]) -> Iterator[Branch]:
    """Yield what a text changes that the template replaces, looks up or selects by, without a condition.

    `reported` are the slots and texts that were reported already.
    """
    kind, control = next(iter(taking.usual.items()), ("", None))
    for matched in taking.renders.template.matched_texts[:_MOST_TEXTS] if control else ():
        if control is None or _ESCAPED.search(matched.text):
            continue
        slots = [slot for slot in _EVERYWHERE if slot in talk(taking.manner, kind).slots]
        if _as_expected(control, *_with_text(taking, kind, slots, matched)):
            continue
        for slot in slots:
            texts, made = _with_text(taking, kind, [slot], matched)
            if (slot, matched.text) in reported or _as_expected(control, texts, made):
                continue
            given = talk(taking.manner, kind).slots
            effect = effects.of_rewriting(control.text, made.prompt, slot, (matched.text, texts[slot]), given)
            own = not matched.part or slot not in _QUOTED  # text missing from a question has a finding of its own
            if effect is not None and (own or set(effect.moved) - {slot}):
                branch = _branch(slot, matched.text, effect, matched.line, whole=texts[slot] == matched.text)
                switch = slot == "system" and len(effect.excerpts) == 1 and not effect.moved  # the text is left out
                yield replace(branch, serious=branch.serious or not switch)


def _with_text(
    taking: Taking, kind: str, slots: Sequence[str], matched: MatchedText
) -> tuple[dict[str, str], BranchRender]:
    """Return the texts of these slots and the prompt.

    A name is replaced by the text. Other slots contain the text if the template matches parts; else they are replaced
    too.
    """
    extended = [slot for slot in slots if matched.part and slot not in _NAMES]
    texts = dict.fromkeys(slots, matched.text) | {slot: f"{matched.text} {SLOTS[slot][0]}" for slot in extended}
    return texts, taking.make(talk(taking.manner, kind, texts))


def _as_expected(control: BranchRender, texts: Mapping[str, str], made: BranchRender) -> bool:
    """Return whether the prompt equals the usual one with these texts in place of the usual words."""
    expected = control.text
    for slot, text in texts.items():
        expected = expected.replace(SLOTS[slot][0], text)
    return made.text == expected


def _branch(slot: str, text: str, effect: BranchEffect, line: int | None, *, whole: bool = False) -> Branch:
    serious = bool(effect.moved) or effect.raised or slot not in _SWITCHES or has_probe_word(text)
    by: Literal["name", "text", "whole-text"] = "name" if slot in _NAMES else "whole-text" if whole else "text"
    left_out = slot == "parameter" and effect.gone and {*effect.moved} <= {"parameter", "about"}
    return Branch(by, line, SLOTS[slot][1], quote(text, 60), effect.words, effect.excerpts, serious, left_out)
