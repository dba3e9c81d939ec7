"""The invariants of a parser's result: each function takes a result and may raise `InvariantViolation`.

`toolfmt.testing.checks` runs a parser on an output and calls these functions. The invariants are those of toolfmt's own
parsers. Each function documents what applies to a parser without offsets, rejections or streaming.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from toolfmt.formats import TOLERANCES
from toolfmt.messages.events import (
    Content,
    Event,
    Reasoning,
    ToolCallArguments,
    ToolCallEnd,
    ToolCallRejected,
    ToolCallStart,
)
from toolfmt.testing.broken import InvariantViolation
from toolfmt.testing.outcome import ParserOutcome, json_value

_WHITESPACE = " \t\r\n"
_NO_WHITESPACE = str.maketrans("", "", _WHITESPACE)
_OF_A_WRITTEN_CALL = frozenset({"other_type", "text_behind_closer", "unclosed_tag"})
"""Tolerances that written calls may have: a string for a non-string schema, and a value that contains a marker."""


@dataclass(frozen=True, slots=True)
class Expected:
    """The expected result of a written output: calls as name and arguments, and the text around them."""

    calls: tuple[tuple[str, Any], ...]
    before: str = ""
    after: str = ""
    reasoning: str = ""
    frames: tuple[tuple[str, str], ...] = ()
    """Markers of reasoning, which a parser without reasoning support leaves in the content."""
    usual: bool = True
    """Whether it is written in the format's own variant. Other variants may have a tolerance for that."""
    texts: bool = True
    """Whether the text around the calls is known."""

    def lines(self) -> list[str]:
        """Return the expected result as lines of a corpus case."""
        listed = [f"reasoning {json.dumps(self.reasoning)}"] if self.reasoning else []
        listed += [f"content {json.dumps(self.before)}"] if self.before.strip() else []
        for index, (name, arguments) in enumerate(self.calls):
            listed += [f"call {index} {name}", f"args {index} {json.dumps(arguments)}"]
        return listed + ([f"content {json.dumps(self.after)}"] if self.after.strip() else [])


def shape(events: Iterable[Event]) -> None:
    """Invariant 4: a call is start, arguments*, then end or rejected; indexes follow the order of appearance.

    Applies to every parser. One that parses whole outputs cannot violate it.
    """
    open_call: int | None = None
    following = 0
    for event in events:
        if isinstance(event, ToolCallStart):
            _hold(open_call is None, "shape", "a call begins in another", f"call {event.index} begins in {open_call}")
            _hold(event.index == following, "shape", "an index is skipped", f"{event.index} where {following} follows")
            open_call, following = event.index, following + 1
        elif isinstance(event, ToolCallArguments):
            _hold(event.index == open_call, "shape", "arguments of a call that is not open")
            _hold(bool(event.delta), "shape", "an empty piece of arguments")
        elif isinstance(event, ToolCallEnd):
            _hold(event.index == open_call, "shape", "the end of a call that is not open")
            kinds = {name.partition(":")[0] for name in event.tolerated}
            _hold(kinds <= set(TOLERANCES), "shape", "an unknown tolerance", f"{event.tolerated}")
            open_call = None
        elif isinstance(event, ToolCallRejected):
            if open_call is None:
                _hold(event.index == following, "shape", "an index is skipped")
                following += 1
            _hold(open_call in (None, event.index), "shape", "a call is rejected that is not open")
            open_call = None
        else:
            _hold(open_call is None, "shape", "text within a call", f"text is emitted while call {open_call} is open")
            _hold(bool(event.text), "shape", "an empty text")
    _hold(open_call is None, "shape", "a call never ends", f"call {open_call} neither ends nor is rejected")


def json_arguments(events: Iterable[Event]) -> None:
    """Invariant 5: the fragments of an ended call join to one JSON object. Applies to every parser."""
    for name, arguments in ParserOutcome(tuple(events)).calls:
        try:
            value = json.loads(arguments, parse_constant=_forbidden)
        except (ValueError, RecursionError) as error:
            raise InvariantViolation(
                "arguments-json", "arguments that are not JSON", f"{name}: {error}: {arguments}"
            ) from None
        if not isinstance(value, dict):
            kind = f"arguments that are {_kind(value)}"
            raise InvariantViolation(
                "arguments-json", kind, f"the arguments of {name} are {_kind(value)}, not an object"
            )


def tiling(text: str, events: Iterable[Event], markers: Iterable[str]) -> None:
    """Invariant 3: content, reasoning, calls and rejected spans cover the text; only markers are between them.

    Applies to parsers with offsets and spans; see `nothing_lost` for others.
    """
    at = 0
    next_to_call = False
    marks = tuple(marker.translate(_NO_WHITESPACE) for marker in markers)
    for event in events:
        if isinstance(event, (Content, Reasoning)):
            end = event.start + len(event.text)
            _hold(text[event.start : end] == event.text, "nothing-lost", "text that is not at its offset")
            gap = text[at : event.start]
            _gap(gap, marks)
            allowed = not gap or next_to_call or bool(gap.strip(_WHITESPACE))
            _hold(allowed, "nothing-lost", "whitespace that belongs to no call", f"no event contains {gap!r}")
            at, next_to_call = end, False
        elif isinstance(event, (ToolCallEnd, ToolCallRejected)):
            begin, end = event.span
            _gap(text[at:begin], marks)
            next_to_call = True
            _hold(begin < end, "nothing-lost", "an empty span")
            if isinstance(event, ToolCallRejected):
                _hold(event.raw == text[begin:end], "nothing-lost", "a rejected text that is not the text of its span")
            at = end
    _gap(text[at:], marks)


def nothing_lost(text: str, outcome: ParserOutcome, markers: Iterable[str]) -> None:
    """Invariant 3 for any parser: by offsets if it has them.

    Without offsets, it applies only to results without calls and rejections: only markers and whitespace may be
    missing.
    """
    if outcome.placed:
        tiling(text, outcome.events, markers)
        return
    if outcome.texts and not any(isinstance(event, (ToolCallStart, ToolCallRejected)) for event in outcome.events):
        missing, here = (
            sorted(_squeezed(text, markers)),
            sorted(_squeezed(outcome.reasoning + outcome.content, markers)),
        )
        if missing != here:
            kind = "all of an output without a call" if not here else "a part of an output without a call"
            raise InvariantViolation("nothing-lost", f"{kind} is lost", f"no call is emitted, and {kind} is lost")


def same(whole: ParserOutcome, pieces: ParserOutcome) -> None:
    """Invariant 1: the split into chunks does not matter. Applies to streaming parsers.

    For a parser without offsets, this compares what a client gets: the content, the reasoning, the calls, the
    rejections.
    """
    if not (whole.streams and pieces.streams) or whole.same_as(pieces):
        return
    kind = _what_differs(whole, pieces)
    raise InvariantViolation("chunking", kind, f"in pieces {kind}, whole not")


def _what_differs(whole: ParserOutcome, pieces: ParserOutcome) -> str:
    was, now = whole.calls, pieces.calls
    if len(was) != len(now):
        return "a call is lost" if len(now) < len(was) else "a call that does not exist"
    if was != now and any(json_value(one[1]) != json_value(other[1]) for one, other in zip(was, now, strict=True)):
        return "arguments differ"
    if [name for name, _ in was] != [name for name, _ in now]:
        return "a name differs"
    if whole.content != pieces.content:
        only_whitespace = _squeezed(whole.content) == _squeezed(pieces.content)
        return "whitespace of the content differs" if only_whitespace else "the content differs"
    if whole.reasoning != pieces.reasoning:
        return "the reasoning differs"
    return "rejections, offsets or tolerances differ"


def written(outcome: ParserOutcome, expected: Expected) -> None:
    """Invariants 7 and 3: a written output is parsed to exactly its calls and its text.

    Arguments are compared as JSON values: types count, but 1 and 1.0 are equal. Text is compared except for whitespace
    next to the calls. A parser without reasoning support may leave reasoning in the content, with its markers.
    """
    should = expected.lines()
    if outcome.rejected:
        reason = outcome.rejected[0].reason
        raise InvariantViolation("round-trip", f"a written call is rejected as {reason}", expected=should)
    _calls(outcome, expected.calls, should)
    for event in outcome.events:
        if expected.usual and isinstance(event, ToolCallEnd) and not set(event.tolerated) <= _OF_A_WRITTEN_CALL:
            raise InvariantViolation(
                "round-trip", f"a written call has the tolerance {min(event.tolerated)}", expected=should
            )
    if outcome.texts and expected.texts:
        _texts(outcome, expected, should)


def _calls(outcome: ParserOutcome, expected: Sequence[tuple[str, Any]], should: list[str]) -> None:
    came = outcome.calls
    if len(came) < len(expected):
        some = "every call is lost" if not came else "a call is lost"
        raise InvariantViolation("round-trip", some, f"{len(came)} of {len(expected)} calls came out", expected=should)
    if len(came) > len(expected):
        raise InvariantViolation("round-trip", "a call that does not exist", expected=should)
    for (name, arguments), (expected_name, expected_arguments) in zip(came, expected, strict=True):
        if name != expected_name:
            message = f"{name!r} instead of {expected_name!r}"
            raise InvariantViolation("round-trip", "a name differs", message, expected=should)
        value = _loaded(arguments)
        if (kind := difference(expected_arguments, value, outcome.doubles)) is not None:
            raise InvariantViolation("round-trip", kind, f"in the arguments of {name} {kind}", expected=should)


def _texts(outcome: ParserOutcome, expected: Expected, should: list[str]) -> None:
    content = outcome.content
    if (reasoning := expected.reasoning.strip(_WHITESPACE)) and outcome.reasoning.strip(_WHITESPACE) != reasoning:
        for opener, closer in expected.frames:
            begin, end = content.find(opener.strip(_WHITESPACE)), content.find(closer.strip(_WHITESPACE))
            if 0 <= begin < end and reasoning in content[begin:end]:
                content = content[:begin] + content[end + len(closer.strip(_WHITESPACE)) :]
                break
        else:
            raise InvariantViolation("nothing-lost", "the reasoning is lost", expected=should)
    for where, text in (("before", expected.before.strip(_WHITESPACE)), ("after", expected.after.strip(_WHITESPACE))):
        if not text:
            continue
        if text not in content:
            changed = _squeezed(text) in _squeezed(content)
            kind = (
                f"whitespace within the text {where} the calls is lost"
                if changed
                else f"text {where} the calls is lost"
            )
            raise InvariantViolation("nothing-lost", kind, expected=should)
        before, _, after = content.partition(text)
        content = before + after
    if content.strip(_WHITESPACE):
        message = f"{content.strip(_WHITESPACE)!r} is left in the content"
        raise InvariantViolation("nothing-lost", "a part of the calls is left in the content", message, expected=should)


def prose(outcome: ParserOutcome, last: str = "") -> None:
    """Invariant 10: text without calls has no call in the result, and its last words are content.

    Applies to every parser. A parser may reject something that resembles a call: `last` is far enough after it.
    """
    if outcome.calls:
        name, arguments = outcome.calls[0]
        raise InvariantViolation(
            "prose", "a call that does not exist", f"{name}({arguments}) is emitted, but the text contains no call"
        )
    if outcome.texts:
        text = outcome.content + outcome.reasoning
        _hold(last.strip(_WHITESPACE) in text, "prose", "the rest of the output is lost", f"{last!r} is not emitted")


def cut_short(outcome: ParserOutcome, expected: Expected) -> None:
    """Invariant 12 for a cut output: every call is also in the whole output. Applies to every parser."""
    whole = [(name, arguments) for name, arguments in expected.calls]
    for name, arguments in outcome.calls:
        value = _loaded(arguments)
        if not any(name == other and difference(given, value, outcome.doubles) is None for other, given in whole):
            message = f"the output was cut off, and {name}({arguments}) is emitted, which it does not contain"
            raise InvariantViolation("cut", "a call that was not finished", message, expected=expected.lines())


def not_joined(outcome: ParserOutcome, values: Sequence[str], unseen: Callable[[str], bool]) -> None:
    """Invariant 12 for an output that lost text: no value of an ended call contains the text of two values.

    Values that are `unseen` are exempt. Applies to every parser.
    """
    for name, arguments in outcome.calls:
        for leaf in leaves(_loaded(arguments)):
            if sum(value in leaf for value in values) > 1 and not unseen(leaf):
                raise InvariantViolation("joined", "two arguments are joined to one value", f"{name} is given {leaf!r}")


def difference(expected: Any, came: Any, doubles: bool = False) -> str | None:
    """Return how a JSON value differs from the expected one, without quoting values, or None if it does not.

    With `doubles`, numbers are equal if they are the same double.
    """
    if isinstance(expected, Mapping) and isinstance(came, Mapping):
        if missing := expected.keys() - came.keys():
            return "an argument is lost" if len(missing) < len(expected) or not came else "a key differs"
        if came.keys() - expected.keys():
            return "an argument that does not exist"
        return next((kind for key in expected if (kind := difference(expected[key], came[key], doubles))), None)
    if isinstance(expected, list) and isinstance(came, list):
        if len(expected) != len(came):
            return "a list has another length"
        pairs = zip(expected, came, strict=True)
        return next((kind for one, other in pairs if (kind := difference(one, other, doubles))), None)
    if _kind(expected) != _kind(came):
        return f"{_kind(expected)} comes as {_kind(came)}"
    if expected == came or (doubles and _kind(expected) == "a number" and _double(expected) == _double(came)):
        return None
    return _other_text(expected, came) if isinstance(expected, str) else f"{_kind(expected)} differs"


def _double(number: float) -> float:
    """Return a number as a double, unchanged if it is too large."""
    try:
        return float(number)
    except OverflowError:
        return number


def _other_text(expected: str, came: str) -> str:
    if expected.strip() == came.strip():
        return "whitespace at the ends of a string differs"
    if expected.split() == came.split():
        return "whitespace in a string differs"
    if came and expected.startswith(came):
        return "a string is cut short"
    if came.startswith(expected):
        return "a string runs on"
    return "a string differs"


def _kind(value: Any) -> str:
    kinds = (bool, "a boolean"), ((int, float), "a number"), (str, "a string"), (list, "a list"), (Mapping, "an object")
    return next((name for kind, name in kinds if isinstance(value, kind)), "null")


def leaves(value: Any) -> Iterable[str]:
    """Yield the strings of a JSON value, including keys."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from leaves(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from leaves(inner)
    elif isinstance(value, str):
        yield value


def _loaded(arguments: str) -> Any:
    try:
        return json.loads(arguments)
    except (ValueError, RecursionError):
        raise InvariantViolation("arguments-json", "arguments that are not JSON", f"not JSON: {arguments}") from None


def _forbidden(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _hold(holds: bool, invariant: str, kind: str, message: str = "") -> None:
    if not holds:
        raise InvariantViolation(invariant, kind, message)


def _gap(gap: str, marks: Sequence[str]) -> None:
    """Raise unless a gap between events consists only of whitespace and markers.

    Whitespace is ignored, also inside markers. Markers may overlap, so this tries every way to split the gap into them.
    """
    left, farthest, reached = gap.translate(_NO_WHITESPACE), 0, {0}
    while reached:
        at = min(reached)
        reached.discard(at)
        if at == len(left):
            return
        farthest = max(farthest, at)
        reached.update(at + len(marker) for marker in marks if marker and left.startswith(marker, at))
    raise InvariantViolation("nothing-lost", "text that no event contains", f"no event contains {left[farthest:]!r}")


def _squeezed(text: str, markers: Iterable[str] = ()) -> str:
    """Return the text without these markers and without whitespace."""
    for marker in sorted(filter(None, markers), key=len, reverse=True):
        text = text.replace(marker, "")
    return "".join(text.split())
