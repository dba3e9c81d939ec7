"""What the length of a text or the number of messages, tools or calls changes, apart from the amount of text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from toolfmt.inspect.report.report import Branch
from toolfmt.inspect.sections.branches import effects
from toolfmt.inspect.sections.branches.branch_renders import BranchRender, Taking
from toolfmt.inspect.sections.branches.conversations import (
    ROWS,
    SLOTS,
    WITHOUT_SYSTEM,
    WITHOUT_TOOLS,
    GrowingConversations,
    row,
    talk,
)
from toolfmt.inspect.sections.branches.text_conditions import on_message_text
from toolfmt.templates.analysis.conditions import COUNTING, Condition

_LONGEST_ROW, _LONGEST_TEXT = 200, 200_000
# The lengths that others are compared with. Few, to be fast, but enough to have first, middle and last elements.
# Several, since a template may test for one of them.
_CONTROLS = (5, 6, 7, 8)
# Limits on the length of ids have a finding of their own.
_IDS = frozenset({"id", "tool_call_id"})
_MOST_NUMBERS, _MOST_LENGTHS = 4, 12
_NOT_LENGTHENED = ("name", "parameter", "other", "id")
_MESSAGES = ("question", "further", "result", "system")
_FILLING, _SEEN = "zu ", 24


def by_numbers(taking: Taking) -> Iterator[Branch]:
    """Yield a branch for each number that lengths or positions are compared with or cut at, if it has an effect."""
    cuts = taking.renders.template.cuts
    counted = _counted(taking.watch.conditions)
    numbers = sorted({*(number for one in counted for number in _of(one)), *cuts})
    short = [number for number in numbers if number < _LONGEST_ROW]
    exact = [one for one in counted if one.exact and not one.names & _IDS]
    reported = set[int | None]()
    without_tools = [WITHOUT_TOOLS] if taking.manner.tools else []
    without_system = WITHOUT_SYSTEM if exact and taking.manner.system else ()
    for what in (*ROWS, *without_tools, *without_system) if short else ():
        for branch in _of_row(_Lengths(taking, what), short[-_MOST_NUMBERS:], exact):
            if (what.system and what.tools) or branch.line not in reported:
                reported.add(branch.line)
                yield branch
    fitting = [number for number in numbers if number < _LONGEST_TEXT]
    if fitting:
        yield from _of_long_texts(taking, fitting[-1])
    for condition in exact:
        if on_message_text(condition, taking.watch):
            yield from _of_exact_texts(taking, condition)


def _counted(conditions: Iterable[Condition]) -> list[Condition]:
    return [one for one in conditions if one.about == "number" or one.calls & COUNTING or one.names & COUNTING]


def _of(condition: Condition) -> list[int]:
    """Return the numbers of a comparison, except those that only test for presence."""
    return [abs(number) for number in condition.numbers if abs(number) > 1]


class _Lengths:
    """Conversations with a growing number of one thing, each rendered once."""

    def __init__(self, taking: Taking, what: GrowingConversations) -> None:
        self.taking = taking
        self.what = what
        self._made: dict[int, BranchRender | None] = {}

    def of(self, length: int) -> BranchRender | None:
        """Return the render with this length, or None if the template does not accept such a conversation."""
        if length not in self._made:
            given = row(self.taking.manner, self.what, length)
            self._made[length] = None if given is None else self.taking.make(given)
        return self._made[length]

    def whole(self, length: int) -> BranchRender | None:
        """Return the render with this length if the prompt contains every word of the row, else None."""
        made = self.of(length)
        return made if made and made.text and all(word in made.text for word in self.what.words(length)) else None


def _of_row(lengths: _Lengths, numbers: Sequence[int], exact: Sequence[Condition]) -> Iterator[Branch]:
    """Yield the first length of a row that changes the prompt.

    The lengths exceed one of the numbers, or are those that an exact condition tests for.
    """
    what = lengths.what
    shown = [what.shown, 1] if exact else [what.shown]
    least = next((made for length in shown if (made := lengths.whole(length))), None)
    if least is None:
        return  # lost second calls and results have findings of their own
    longer = [(number, number + 1 + number % 2) for number in numbers]  # odd: a row of messages ends with a question
    for number, length in [*longer, *_exactly(exact)]:
        made = lengths.of(length)
        if made is None:
            continue
        few = _similar_row(lengths, least, length, exact)
        effect = effects.of_number(least.text, made.prompt, what.words(length), what, few.text if few else "")
        if effect is not None:
            line = _line(lengths.taking, few if few and not effect.moved else least, made, number)
            yield Branch("number", line, f"{length} {what.called}", "", effect.words, effect.excerpts)
            return


def _exactly(exact: Sequence[Condition]) -> Iterator[tuple[int, int]]:
    """Yield the numbers that exact conditions test for, each with the lengths to try.

    A row may follow a system message and may be counted from zero or from one.
    """
    tried = set[int]()
    for condition in exact:
        numbers = [number for number in _of(condition) if number < _LONGEST_ROW]
        rests = [sum(numbers[:2])] if condition.about == "sum" and len(numbers) > 1 else []
        for number in [*numbers[:_MOST_NUMBERS], *rests]:
            for length in (number, number - 1, number + 1):
                if 0 < length < _LONGEST_ROW and length not in tried and len(tried) < _MOST_LENGTHS:
                    tried.add(length)
                    yield number, length


def _similar_row(
    lengths: _Lengths, least: BranchRender, length: int, exact: Sequence[Condition]
) -> BranchRender | None:
    """Return a short row with the same kind of end as one of this length, or None.

    Exact conditions have the same outcomes in it as in the shortest row.
    """
    for few in _CONTROLS:
        if few % 2 != length % 2 or few >= length:
            continue
        made = lengths.of(few)
        if made is not None and made.text and not set(lengths.taking.differing(least, made)) & set(exact):
            return made
    return None


def _of_long_texts(taking: Taking, longest: int) -> Iterator[Branch]:
    """Yield what changes if one text is longer than the number; its own end may be missing."""
    kind, control = next(iter(taking.usual.items()), ("", None))
    if control is None:
        return
    slots = [slot for slot in talk(taking.manner, kind).slots if slot not in _NOT_LENGTHENED]
    for slot in slots:
        word, called = SLOTS[slot]
        filling = (_FILLING * (longest // len(_FILLING) + 1)).strip()
        text = f"{filling} {word}"
        given = talk(taking.manner, kind, {slot: text})
        made = taking.make(given)
        effect = effects.of_text(control.text, made.prompt, slot, filling, given.slots, word)
        if effect is not None:
            line = _line(taking, control, made, longest)
            what = f"{called} of {len(text):,} characters"
            cut = effect.moved == (slot,) and filling[:_SEEN] in made.text
            words = "its end is no longer in the prompt" if cut else effect.words
            yield Branch("length", line, what, "", words, effect.excerpts)


def _of_exact_texts(taking: Taking, condition: Condition) -> Iterator[Branch]:
    """Yield what changes if a message has exactly the number of characters that the condition tests for."""
    kind, control = next(iter(taking.usual.items()), ("", None))
    for number in _of(condition)[:_MOST_NUMBERS] if control else ():
        text = (_FILLING * number)[: number - 1] + "z" if number < _LONGEST_TEXT else ""
        for slot in (slot for slot in talk(taking.manner, kind).slots if text and slot in _MESSAGES):
            given = talk(taking.manner, kind, {slot: text})
            made = taking.make(given)
            if control is None or condition not in taking.differing(control, made):
                continue
            effect = effects.of_text(control.text, made.prompt, slot, text, given.slots)
            if effect is not None:
                what = f"{SLOTS[slot][1]} of {number:,} characters"
                yield Branch("length", made.raised_at or condition.line, what, "", effect.words, effect.excerpts)


def _line(taking: Taking, control: BranchRender, made: BranchRender, number: int) -> int | None:
    """Return the line of the condition with another outcome because of a number; else of the cut at a number."""
    if made.raised_at is not None:
        return made.raised_at
    differing = taking.differing(control, made)
    deciding = _counted(differing)
    with_number = sorted((one for one in deciding if _of(one)), key=lambda one: number not in _of(one))
    if with_number:
        return with_number[0].line
    cuts = taking.renders.template.cuts
    found = [cuts.get(number), *(one.line for one in (*deciding, *differing)), *cuts.values()]
    return next((line for line in found if line is not None), None)
