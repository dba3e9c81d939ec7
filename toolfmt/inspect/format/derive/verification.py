"""Verify a derived format: other calls, rendered by the template, have to be read back unchanged.

`prove` is called for every candidate. Reading back calls is not sufficient. The format also has to parse text
responses, calls next to text and reasoning, and outputs after the generation prompt (`output_checks.py`). What the
rendering loses or does not show is reported as a limit, or rejects the format. Losses are never silent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from toolfmt._util.text_lists import listed
from toolfmt.errors import CannotWrite, TemplateError
from toolfmt.formats import ToolCallFormat, write
from toolfmt.formats.parser.prompt_prefix import answer_prefix
from toolfmt.inspect.format.derive.call_sets import CallSet, call_sets, sets_of_names, sets_of_words, string_set
from toolfmt.inspect.format.derive.other_contexts import ANOTHER_TIME, RendersElsewhere
from toolfmt.inspect.format.derive.output_checks import check_markers, read_answers
from toolfmt.inspect.format.derive.reading import (
    AnswerRead,
    differing,
    left_over,
    read_answer,
    reordered,
    shown,
)
from toolfmt.inspect.format.derive.reasons import NotDerivable
from toolfmt.inspect.format.read_back import opened, own_markers
from toolfmt.inspect.probe.conversations import ALL_TOOLS, PARALLEL, SINGLE, Call, Message, call_id
from toolfmt.inspect.probe.renders import Region, Renders
from toolfmt.inspect.report.turn_shape import TurnShape

_LONGEST = 200_000
"""Maximum length of rendered calls: the longest value has 20,000 characters."""
_NEAR = 200
"""Maximum distance from the start of what all calls have in common, such as a name's start, to the difference."""
_IN_CHARACTERS = 3
"""Number of sets that are parsed character by character: chunks not mattering is an invariant of the engines."""
_MOST_NAMED = 3
"""Maximum number of kinds of call that a limit names."""
_OWN_IDS = "ids are printed as they are given: the form in which calls are written here is toolfmt's own"


@dataclass(frozen=True)
class Proof:
    """The numbers of successful tests, and what the format cannot represent or the rendering does not show."""

    call_sets: int
    outputs: int
    limits: tuple[str, ...]


class Unproven(NotDerivable):
    """The failure of a format that was tried: `right` is the number of call sets that were read back before it."""

    def __init__(self, why: str, right: int) -> None:
        super().__init__(why)
        self.right = right


def prove(renders: Renders, shape: TurnShape, format: ToolCallFormat, parallel: bool) -> Proof:
    """Verify a format derived from the calls that the template renders in this shape.

    `parallel`: whether two calls in one turn are rendered. Raise `NotDerivable` with the problem, and `LimitHit`.
    """
    tried = _Tried()
    check_markers(renders, shape, format)
    for call_set in _sets(renders, format, parallel):
        _try(renders, shape, format, call_set, tried)
    for elsewhere, what, why in _elsewhere(renders, shape, PARALLEL if parallel else SINGLE):
        try:
            _try(elsewhere, shape, format, CallSet(what, SINGLE, tools=ALL_TOOLS), tried)
        except Unproven as wrong:
            raise Unproven(why or str(wrong), wrong.right) from None
    try:
        answers = read_answers(renders, shape, format, parallel)
    except NotDerivable as wrong:
        raise Unproven(str(wrong), tried.right) from None
    missing = () if parallel else ("two calls in one turn were not rendered",)
    ids = (_OWN_IDS,) if _prints_ids(renders, shape, format) else ()
    return Proof(tried.right, answers.right, (*missing, *answers.limits, *tried.limits(), *ids))


@dataclass
class _Tried:
    """The results so far: call sets, by how they are reported."""

    right: int = 0
    thrown: list[str] = field(default_factory=list)
    unwritten: list[str] = field(default_factory=list)
    unescaped: list[str] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)
    changed: dict[str, str] = field(default_factory=dict)
    noted: dict[str, list[str]] = field(default_factory=dict)
    reordered: bool = False

    def saw(self, call_set: CallSet, came: AnswerRead) -> None:
        """Record a set that was read back."""
        self.right += 1
        self.reordered = self.reordered or reordered(call_set.calls, came)
        if came.between.strip():
            self.ended.append(call_set.what)
        for name in came.tolerated:
            self.noted.setdefault(name, []).append(call_set.what)

    def limits(self) -> Iterator[str]:
        if self.thrown:
            yield f"the template throws on {_named(self.thrown)}"
        if self.unwritten:
            yield f"the format has no way to write {_named(self.unwritten)}"
        if self.unescaped:
            yield f"the template escapes nothing in strings: {_named(self.unescaped)} looks like other text"
        if self.ended:
            yield f"the template writes an end of the turn between calls ({_named(self.ended)})"
        for what, how in self.changed.items():
            yield f"the template does not keep {what}: {how}"
        for name, sets in self.noted.items():
            yield f"{_named(sets)} {'is' if len(sets) == 1 else 'are'} read with the tolerance {name}"
        if self.reordered:
            yield "the template writes arguments in another order than they were given in"


def _sets(renders: Renders, format: ToolCallFormat, parallel: bool) -> Iterator[CallSet]:
    yield from call_sets(parallel=parallel)
    yield from sets_of_names(renders.template.compared_names)
    yield from sets_of_words(renders.template.compared_words, parallel=parallel)
    for value in own_markers(format):
        yield string_set(f"the string {shown(value)}", value, "reported")


def _elsewhere(renders: Renders, shape: TurnShape, called: Sequence[Call]) -> Iterator[tuple[Renders, str, str]]:
    """Yield the template in other contexts, what a call is there, and why it is misread if that is known."""
    if renders.template.uses_clock:
        yield (
            RendersElsewhere(renders, shape, now=ANOTHER_TIME),
            "a call at another time",
            "the text around calls changes with the clock",
        )
    yield RendersElsewhere(renders, shape, later=True), "a call later in a conversation", ""
    yield RendersElsewhere(renders, shape, called=called), "a call after results of others", ""


def _try(renders: Renders, shape: TurnShape, format: ToolCallFormat, call_set: CallSet, tried: _Tried) -> None:
    """Render and read one set of calls. Raise `Unproven` if it is required and not read back."""
    region, tools = _rendered(renders, shape, call_set)
    if isinstance(region, TemplateError) and not call_set.parts:
        if tried.right == 0:
            raise Unproven(f"the template throws on {call_set.what}", 0)
        tried.thrown.append(call_set.what)
        return
    wrong, came = "", None
    if isinstance(region, Region) and len(region.text) > _LONGEST:
        raise Unproven(f"what is written of {call_set.what} is longer than {_LONGEST:,} characters", tried.right)
    if isinstance(region, Region):
        prefix = opened(format, region.before)
        came = read_answer(format, region.text, tools, prefix, characters=tried.right < _IN_CHARACTERS)
        wrong = differing(call_set.calls, came) or _leftover(shape, came)
        if wrong and (name := _not_written(call_set, region)):
            wrong = f"the name {name} is not written as it is"
    if came is not None and not wrong and tried.right == 0 and came.tolerated:
        wrong = f"it is read with the tolerance {came.tolerated[0]} alone"
    if came is not None and not wrong:
        tried.saw(call_set, came)
    elif call_set.parts:
        for part in call_set.parts:
            _try(renders, shape, format, part, tried)
    elif call_set.needed in ("if it can be written", "reported") and not _can_write(format, call_set, tools):
        tried.unwritten.append(call_set.what)
    elif call_set.needed in ("if escaped", "reported") and _unescaped(format, call_set, tools, region):
        tried.unescaped.append(call_set.what)
    elif call_set.needed == "reported":
        tried.changed.setdefault(call_set.what, wrong)
    else:
        raise Unproven(f"{call_set.what}: {wrong}", tried.right)


def _rendered(
    renders: Renders, shape: TurnShape, call_set: CallSet
) -> tuple[Region | TemplateError, Sequence[Message]]:
    """Return the region of the calls and the tools used: only the called ones if the template raises on others."""
    region = renders.calls(shape, call_set.calls, call_set.tools)
    if not isinstance(region, TemplateError):
        return region, call_set.tools
    names = {name for name, _ in call_set.calls}
    called = [tool for tool in call_set.tools if tool["function"]["name"] in names]
    return renders.calls(shape, call_set.calls, called), called


def _prints_ids(renders: Renders, shape: TurnShape, format: ToolCallFormat) -> bool:
    """Return whether the id of a call is rendered with it, not only after it in its result."""
    region, tools = _rendered(renders, shape, CallSet("one call", SINGLE, tools=ALL_TOOLS))
    given = call_id(shape, SINGLE[0][0], 0)
    if given is None or isinstance(region, TemplateError):
        return False
    after = read_answer(format, region.text, tools, opened(format, region.before)).after
    return (region.before[-_NEAR:] + region.text).count(given) > after.count(given)


def _leftover(shape: TurnShape, came: AnswerRead) -> str:
    """Return leftover text next to the calls. Text after the last one belongs to the next turn if there is one."""
    leftover = answer_prefix(came.before).strip() or left_over(came.between)
    if not leftover and shape.follows == "nothing":
        leftover = left_over(came.after)
    return f"{shown(leftover)} is left over next to the calls" if leftover else ""


def _not_written(call_set: CallSet, region: Region) -> str:
    """Return the first name that is not in the rendered text."""
    return next((name for name, _ in call_set.calls if name not in region.before[-_NEAR:] + region.text), "")


def _unescaped(
    format: ToolCallFormat, call_set: CallSet, tools: Sequence[Message], region: Region | TemplateError
) -> bool:
    """Return whether the template writes the call's string verbatim although the format escapes it."""
    values = list(call_set.calls[0][1].values())
    value = values[0]
    if len(values) > 1 or not isinstance(value, str) or not value or isinstance(region, TemplateError):
        return False
    if value not in region.text or not _can_write(format, call_set, tools):
        return False
    return value not in write(format, call_set.calls, tools)


def _can_write(format: ToolCallFormat, call_set: CallSet, tools: Sequence[Message]) -> bool:
    try:
        write(format, call_set.calls, tools)
    except CannotWrite:
        return False
    return True


def _named(sets: Sequence[str]) -> str:
    named = list(dict.fromkeys(sets))
    more = len(named) - _MOST_NAMED
    return listed([*named[:_MOST_NAMED], f"{more} more"] if more > 0 else named)
