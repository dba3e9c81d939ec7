"""The laws over what a parser has said: each function takes that, and raises `LawBroken` where a law does not hold.

`toolfmt.testing.laws` reads an answer with a parser and asks these. Laws are those of toolfmt's own parsers; what a
parser without offsets, without rejections or without a stream can be held to is said at each.
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
from toolfmt.testing.broken import LawBroken
from toolfmt.testing.outcome import ParserOutcome, json_value

_BLANK = " \t\r\n"
_BLANKS = frozenset(_BLANK)
_OF_A_WRITTEN_CALL = frozenset({"other_type", "text_behind_closer", "unclosed_tag"})
"""What may be noted of a call as it is written: a string where the schema wants none, and a value that holds a closer
or an opener."""


@dataclass(frozen=True, slots=True)
class Expected:
    """What must come out of a written answer: calls as name and arguments, and the text around them."""

    calls: tuple[tuple[str, Any], ...]
    before: str = ""
    after: str = ""
    reasoning: str = ""
    frames: tuple[tuple[str, str], ...] = ()
    """Openers and closers of reasoning, which a parser that does not know reasoning leaves in the content."""
    usual: bool = True
    """Written as the format is; what is written as another template does may be noted as that."""
    texts: bool = True
    """Whether the text around the calls is known."""

    def lines(self) -> list[str]:
        """In the lines of a corpus case."""
        told = [f"reasoning {json.dumps(self.reasoning)}"] if self.reasoning else []
        told += [f"content {json.dumps(self.before)}"] if self.before.strip() else []
        for index, (name, arguments) in enumerate(self.calls):
            told += [f"call {index} {name}", f"args {index} {json.dumps(arguments)}"]
        return told + ([f"content {json.dumps(self.after)}"] if self.after.strip() else [])


def shape(events: Iterable[Event]) -> None:
    """Law 4: a call is start, arguments*, then end or rejected; indexes run in order of appearance.

    Holds for every parser; one that reads whole answers cannot break it.
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
            _hold(set(event.tolerated) <= set(TOLERANCES), "shape", "an unknown tolerance", f"{event.tolerated}")
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
    """Law 5: the fragments of an ended call join to one JSON object. Holds for every parser."""
    for name, arguments in ParserOutcome(tuple(events)).calls:
        try:
            value = json.loads(arguments, parse_constant=_forbidden)
        except (ValueError, RecursionError) as error:
            raise LawBroken("arguments-json", "arguments that are not JSON", f"{name}: {error}: {arguments}") from None
        if not isinstance(value, dict):
            kind = f"arguments that are {_kind(value)}"
            raise LawBroken("arguments-json", kind, f"the arguments of {name} are {_kind(value)}, not an object")


def tiling(text: str, events: Iterable[Event], markers: Iterable[str]) -> None:
    """Law 3: content, reasoning, calls and rejected spans tile the text; between them is only its frame.

    For a parser that tells offsets and spans; see `nothing_lost` for others.
    """
    at = 0
    beside_call = False
    marks = tuple(markers)
    for event in events:
        if isinstance(event, (Content, Reasoning)):
            end = event.start + len(event.text)
            _hold(text[event.start : end] == event.text, "nothing-lost", "text that is not at its offset")
            gap = text[at : event.start]
            _gap(gap, marks)
            told = not gap or beside_call or bool(gap.strip(_BLANK))
            _hold(told, "nothing-lost", "whitespace that belongs to no call", f"no event contains {gap!r}")
            at, beside_call = end, False
        elif isinstance(event, (ToolCallEnd, ToolCallRejected)):
            begin, end = event.span
            _gap(text[at:begin], marks)
            beside_call = True
            _hold(begin < end, "nothing-lost", "an empty span")
            if isinstance(event, ToolCallRejected):
                _hold(event.raw == text[begin:end], "nothing-lost", "a rejected text that is not the text of its span")
            at = end
    _gap(text[at:], marks)


def nothing_lost(text: str, told: ParserOutcome, markers: Iterable[str]) -> None:
    """Law 3, as far as a parser can be held to it: by offsets where it tells them; else only where it tells no call and
    no rejection: then nothing but markers and blanks may be missing in its text."""
    if told.placed:
        tiling(text, told.events, markers)
        return
    if told.texts and not any(isinstance(event, (ToolCallStart, ToolCallRejected)) for event in told.events):
        missing, here = sorted(_squeezed(text, markers)), sorted(_squeezed(told.reasoning + told.content, markers))
        if missing != here:
            kind = "all of an answer without a call" if not here else "a part of an answer without a call"
            raise LawBroken("nothing-lost", f"{kind} is lost", f"no call is emitted, and {kind} is lost")


def same(whole: ParserOutcome, pieces: ParserOutcome) -> None:
    """Law 1: chunking never matters. For a parser that streams; one that tells no offsets is held to what a client ends
    up with: the content, the reasoning, the calls, the rejections."""
    if not (whole.streams and pieces.streams) or whole.same_as(pieces):
        return
    kind = _what_differs(whole, pieces)
    raise LawBroken("chunking", kind, f"in pieces {kind}, whole not")


def _what_differs(whole: ParserOutcome, pieces: ParserOutcome) -> str:
    was, now = whole.calls, pieces.calls
    if len(was) != len(now):
        return "a call is lost" if len(now) < len(was) else "a call that does not exist"
    if was != now and any(json_value(one[1]) != json_value(other[1]) for one, other in zip(was, now, strict=True)):
        return "arguments differ"
    if [name for name, _ in was] != [name for name, _ in now]:
        return "a name differs"
    if whole.content != pieces.content:
        blank = _squeezed(whole.content) == _squeezed(pieces.content)
        return "whitespace of the content differs" if blank else "the content differs"
    if whole.reasoning != pieces.reasoning:
        return "the reasoning differs"
    return "rejections, offsets or tolerances differ"


def written(told: ParserOutcome, expected: Expected) -> None:
    """Law 7, and 3 of the text around: a written output is parsed to exactly its calls and its text.

    Arguments are compared as JSON values: types count, 1 and 1.0 are one number. Text is compared but for blanks beside
    the calls; a parser that does not know reasoning may leave it in the content, with its markers.
    """
    should = expected.lines()
    if told.rejected:
        reason = told.rejected[0].reason
        raise LawBroken("round-trip", f"a written call is rejected as {reason}", should=should)
    _calls(told, expected.calls, should)
    for event in told.events:
        if expected.usual and isinstance(event, ToolCallEnd) and not set(event.tolerated) <= _OF_A_WRITTEN_CALL:
            raise LawBroken("round-trip", f"a written call has the tolerance {min(event.tolerated)}", should=should)
    if told.texts and expected.texts:
        _texts(told, expected, should)


def _calls(told: ParserOutcome, wanted: Sequence[tuple[str, Any]], should: list[str]) -> None:
    came = told.calls
    if len(came) < len(wanted):
        some = "every call is lost" if not came else "a call is lost"
        raise LawBroken("round-trip", some, f"{len(came)} of {len(wanted)} calls came out", should=should)
    if len(came) > len(wanted):
        raise LawBroken("round-trip", "a call that does not exist", should=should)
    for (name, arguments), (wanted_name, wanted_arguments) in zip(came, wanted, strict=True):
        if name != wanted_name:
            said = f"{name!r} instead of {wanted_name!r}"
            raise LawBroken("round-trip", "a name differs", said, should=should)
        value = _loaded(arguments)
        if (kind := difference(wanted_arguments, value, told.doubles)) is not None:
            raise LawBroken("round-trip", kind, f"in the arguments of {name} {kind}", should=should)


def _texts(told: ParserOutcome, expected: Expected, should: list[str]) -> None:
    content = told.content
    if (reasoning := expected.reasoning.strip(_BLANK)) and told.reasoning.strip(_BLANK) != reasoning:
        for opener, closer in expected.frames:
            begin, end = content.find(opener.strip(_BLANK)), content.find(closer.strip(_BLANK))
            if 0 <= begin < end and reasoning in content[begin:end]:
                content = content[:begin] + content[end + len(closer.strip(_BLANK)) :]
                break
        else:
            raise LawBroken("nothing-lost", "the reasoning is lost", should=should)
    for where, text in (("before", expected.before.strip(_BLANK)), ("after", expected.after.strip(_BLANK))):
        if not text:
            continue
        if text not in content:
            changed = _squeezed(text) in _squeezed(content)
            kind = (
                f"whitespace within the text {where} the calls is lost"
                if changed
                else f"text {where} the calls is lost"
            )
            raise LawBroken("nothing-lost", kind, should=should)
        before, _, after = content.partition(text)
        content = before + after
    if content.strip(_BLANK):
        said = f"{content.strip(_BLANK)!r} is left in the content"
        raise LawBroken("nothing-lost", "a part of the calls is left in the content", said, should=should)


def prose(told: ParserOutcome, last: str = "") -> None:
    """Law 10: prose stays prose. No call is told, and the answer's last words are told as text.

    Holds for every parser. An attempt at a call may be rejected: `last` stands far enough behind it.
    """
    if told.calls:
        name, arguments = told.calls[0]
        raise LawBroken(
            "prose", "a call that does not exist", f"{name}({arguments}) is emitted, but the text contains no call"
        )
    if told.texts:
        text = told.content + told.reasoning
        _hold(last.strip(_BLANK) in text, "prose", "the rest of the answer is swallowed", f"{last!r} is not emitted")


def cut_short(told: ParserOutcome, expected: Expected) -> None:
    """Law 12 on an answer that was cut: no call is told that the whole answer does not hold. For every parser."""
    whole = [(name, arguments) for name, arguments in expected.calls]
    for name, arguments in told.calls:
        value = _loaded(arguments)
        if not any(name == other and difference(given, value, told.doubles) is None for other, given in whole):
            said = f"the output was cut off, and {name}({arguments}) is emitted, which it does not contain"
            raise LawBroken("cut", "a call that was not finished", said, should=expected.lines())


def not_joined(told: ParserOutcome, values: Sequence[str], unseen: Callable[[str], bool]) -> None:
    """Law 12 on an answer that lost a stretch: no value of a call that ended holds the text of two, unless that is
    `unseen` to any reader. For every parser."""
    for name, arguments in told.calls:
        for leaf in leaves(_loaded(arguments)):
            if sum(value in leaf for value in values) > 1 and not unseen(leaf):
                raise LawBroken("joined", "two arguments are joined to one value", f"{name} is given {leaf!r}")


def difference(wanted: Any, came: Any, doubles: bool = False) -> str | None:
    """How a JSON value differs from what it should be, in the same words for every value; None where it does not.

    With `doubles`, numbers are the same that are one double.
    """
    if isinstance(wanted, Mapping) and isinstance(came, Mapping):
        if missing := wanted.keys() - came.keys():
            return "an argument is lost" if len(missing) < len(wanted) or not came else "a key differs"
        if came.keys() - wanted.keys():
            return "an argument that does not exist"
        return next((kind for key in wanted if (kind := difference(wanted[key], came[key], doubles))), None)
    if isinstance(wanted, list) and isinstance(came, list):
        if len(wanted) != len(came):
            return "a list has another length"
        pairs = zip(wanted, came, strict=True)
        return next((kind for one, other in pairs if (kind := difference(one, other, doubles))), None)
    if _kind(wanted) != _kind(came):
        return f"{_kind(wanted)} comes as {_kind(came)}"
    if wanted == came or (doubles and _kind(wanted) == "a number" and _double(wanted) == _double(came)):
        return None
    return _other_text(wanted, came) if isinstance(wanted, str) else f"{_kind(wanted)} differs"


def _double(number: float) -> float:
    """A number as a double holds it; one that is too large for that as it is."""
    try:
        return float(number)
    except OverflowError:
        return number


def _other_text(wanted: str, came: str) -> str:
    if wanted.strip() == came.strip():
        return "whitespace at the ends of a string differs"
    if wanted.split() == came.split():
        return "whitespace in a string differs"
    if came and wanted.startswith(came):
        return "a string is cut short"
    if came.startswith(wanted):
        return "a string runs on"
    return "a string differs"


def _kind(value: Any) -> str:
    kinds = (bool, "a boolean"), ((int, float), "a number"), (str, "a string"), (list, "a list"), (Mapping, "an object")
    return next((name for kind, name in kinds if isinstance(value, kind)), "null")


def leaves(value: Any) -> Iterable[str]:
    """The strings of a JSON value, keys included."""
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
        raise LawBroken("arguments-json", "arguments that are not JSON", f"not JSON: {arguments}") from None


def _forbidden(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _hold(holds: bool, law: str, kind: str, said: str = "") -> None:
    if not holds:
        raise LawBroken(law, kind, said)


def _gap(gap: str, marks: Sequence[str]) -> None:
    """What no event tells is blanks and markers of the answer's frame, of which one may begin with the end of another:
    every way to read the gap as a row of them is followed."""
    reached, farthest = {0}, 0
    while reached:
        at = min(reached)
        reached.discard(at)
        while gap[at : at + 1] in _BLANKS:
            at += 1
        if at == len(gap):
            return
        farthest = max(farthest, at)
        reached.update(at + len(marker) for marker in marks if marker and gap.startswith(marker, at))
    raise LawBroken(
        "nothing-lost", "text that no event contains", f"no event contains {gap[farthest:].strip(_BLANK)!r}"
    )


def _squeezed(text: str, markers: Iterable[str] = ()) -> str:
    """The text without these markers and without blanks."""
    for marker in sorted(filter(None, markers), key=len, reverse=True):
        text = text.replace(marker, "")
    return "".join(text.split())
