"""What the length of a text, or the number of messages, tools or calls, changes beside there being more of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from toolfmt.inspect.branches import effects
from toolfmt.inspect.branches.taking import Made, Taking
from toolfmt.inspect.branches.talks import ROWS, SLOTS, Row, row, talk
from toolfmt.inspect.report import Branch
from toolfmt.templates.conditions import COUNTING

_FEW, _LONGEST_ROW, _LONGEST_TEXT = 5, 200, 20_000
_MOST_NUMBERS = 4
_NOT_LENGTHENED = ("name", "parameter", "other", "id")
_FILLING, _SEEN = "zu ", 24


def by_numbers(taking: Taking) -> Iterator[Branch]:
    """Every number that the template compares a length or a position with, or cuts at, where it decides."""
    cuts = taking.renders.template.cuts
    counted = [one for one in taking.watch.conditions if one.calls & COUNTING or one.names & COUNTING]
    numbers = sorted({*(abs(number) for one in counted for number in one.numbers if abs(number) > 1), *cuts})
    short = [number for number in numbers if number < _LONGEST_ROW]
    for what in ROWS if short else ():
        yield from _of_row(taking, what, short[-_MOST_NUMBERS:])
    fitting = [number for number in numbers if number < _LONGEST_TEXT]
    if fitting:
        yield from _of_long_texts(taking, fitting[-1])


def _of_row(taking: Taking, what: Row, numbers: Sequence[int]) -> Iterator[Branch]:
    """What changes in a row that is longer than one of these numbers, the smallest that does."""
    first, few = (row(taking.manner, what, length) for length in (what.shown, _FEW))
    if first is None or few is None:
        return
    least, control = taking.make(first), taking.make(few)
    if not control.text or any(word not in least.text for word in what.words(what.shown)):
        return  # TF019 tells of second calls that are lost, TF020 of results
    for number in numbers:
        length = number + 1 + number % 2  # odd: a row of messages then ends with a question
        many = row(taking.manner, what, length)
        made = control if many is None else taking.make(many)
        effect = effects.of_number(control.text, made.prompt, what.words(length), what, alike=length >= _FEW)
        if effect is not None:
            line = _line(taking, control if length > _FEW else least, made, number)
            yield Branch("number", line, f"{length} {what.called}", "", effect.words, effect.excerpts)
            return


def _of_long_texts(taking: Taking, longest: int) -> Iterator[Branch]:
    """What changes where one text is longer than the number; its own end may be missing."""
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


def _line(taking: Taking, control: Made, made: Made, number: int) -> int | None:
    """The line of the condition that came out otherwise because of a number; else of the cut at one."""
    if made.refused_at is not None:
        return made.refused_at
    differing = taking.differing(control, made)
    deciding = [one for one in differing if one.calls & COUNTING or one.names & COUNTING]
    with_number = [one for one in deciding if any(abs(of) > 1 for of in one.numbers)]
    if with_number:
        return with_number[0].line
    cuts = taking.renders.template.cuts
    found = [cuts.get(number), *(one.line for one in (*deciding, *differing)), *cuts.values()]
    return next((line for line in found if line is not None), None)
