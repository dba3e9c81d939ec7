"""The result of any parser in one form, from events, their dicts or messages.

`read` feeds an output to a new parser. If the parser raises or returns anything invalid, that is a
`InvariantViolation`; the content of the result is not judged here. `make_parser` is called with tools (in OpenAI's
format, or None). It returns an object whose `feed(text)` and `finish()` return events of toolfmt or their `to_dict()`,
or a callable that takes a whole output and returns a message.
"""

from __future__ import annotations

import json
import sysconfig
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from toolfmt.formats import Parser
from toolfmt.messages.events import (
    Content,
    Event,
    Reasoning,
    ToolCallArguments,
    ToolCallEnd,
    ToolCallRejected,
    ToolCallStart,
    merge,
)
from toolfmt.testing.broken import InvariantViolation

MakeParser: TypeAlias = Callable[[list[Any] | None], Any]
"""Creates a parser for one output: `Parser` of a format with these tools, or any other parser."""
Tools: TypeAlias = list[Any] | None

_EVENTS = (Content, Reasoning, ToolCallStart, ToolCallArguments, ToolCallEnd, ToolCallRejected)
_MOST_QUOTED = 200
_STANDARD = sysconfig.get_path("stdlib")


@dataclass(frozen=True, slots=True)
class ParserOutcome:
    """The merged result of a parser.

    Attributes:
        events: The merged events.
        placed: All events have offsets and spans.
        texts: The result includes content, not only calls.
        streams: The parser takes an output in chunks.
        doubles: Arguments were returned as values. Many languages store numbers as doubles (RFC 8259, section 6), so
            large integers are only known with that precision.
    """

    events: tuple[Event, ...]
    placed: bool = True
    texts: bool = True
    streams: bool = True
    doubles: bool = False

    @property
    def content(self) -> str:
        """The content."""
        return "".join(event.text for event in self.events if isinstance(event, Content))

    @property
    def reasoning(self) -> str:
        """The reasoning."""
        return "".join(event.text for event in self.events if isinstance(event, Reasoning))

    @property
    def rejected(self) -> list[ToolCallRejected]:
        """The rejected calls."""
        return [event for event in self.events if isinstance(event, ToolCallRejected)]

    @property
    def calls(self) -> list[tuple[str, str]]:
        """The calls that ended: name, and arguments as returned."""
        started: dict[int, list[str]] = {}
        ended = []
        for event in self.events:
            if isinstance(event, ToolCallStart):
                started[event.index] = [event.name, ""]
            elif isinstance(event, ToolCallArguments) and event.index in started:
                started[event.index][1] += event.delta
            elif isinstance(event, ToolCallEnd) and event.index in started:
                name, arguments = started.pop(event.index)
                ended.append((name, arguments))
        return ended

    def same_as(self, other: ParserOutcome) -> bool:
        """Return whether two results for one output are equal.

        Everything is compared if both have offsets, else what a client gets.

        Args:
            other: The other result.
        """
        if self.placed and other.placed:
            return self.events == other.events
        return self._for_a_client() == other._for_a_client()

    def _for_a_client(self) -> object:
        calls = [(name, json_value(arguments)) for name, arguments in self.calls]
        return self.content, self.reasoning, calls, [event.reason for event in self.rejected]


def read(make_parser: MakeParser, pieces: Sequence[str], tools: Tools = None) -> ParserOutcome:
    """Return the result of a new parser for an output in these chunks.

    A parser of whole outputs gets it whole.

    Args:
        make_parser: Creates a parser for one output, from tools in OpenAI's format or None. The parser has `feed(text)`
            and `finish()`, or is a callable that takes a whole output.
        pieces: The chunks of the output.
        tools: The tools for the parser.

    Raises:
        InvariantViolation: `never-raises` if the parser raises. `shape` if its result is neither an event nor a
            message, or if the factory does not return a parser.
    """
    made = False
    try:
        parser = make_parser(tools)
        made = True
        if not hasattr(parser, "feed"):
            if not callable(parser):
                message = f"the factory returned {_quoted(parser)}, which has no feed() and finish(), nor can be called"
                raise InvariantViolation("shape", "no parser", message, unusable=True)
            return outcome_of_message(parser("".join(pieces)))
        events = [event for piece in pieces for event in _all(parser.feed(piece))]
        events += _all(parser.finish())
    except InvariantViolation as broken:
        raise broken.about("".join(pieces), pieces) from None
    except (Exception, SystemExit, GeneratorExit) as error:
        raise raised(error, made).about("".join(pieces), pieces) from error
    try:
        return outcome_of_events(events, sure=isinstance(parser, Parser))
    except InvariantViolation as broken:
        raise broken.about("".join(pieces), pieces) from None


def raised(error: BaseException, made: bool = True) -> InvariantViolation:
    """Return the violated invariant for an exception of a parser, or of its factory if it was not `made`."""
    where = _place(error)
    error_text = " ".join(f"{type(error).__name__}: {error}".split())[:_MOST_QUOTED]
    message = f"the {'parser' if made else 'factory'} raised {error_text} ({where})"
    return InvariantViolation("never-raises", f"{type(error).__name__} in {where}", message, unusable=not made)


def as_data(outcome: ParserOutcome) -> dict[str, Any]:
    """Return the result as JSON data for another process. `of_data` is the inverse."""
    events = [[type(event).__name__, *(getattr(event, name) for name in event.__slots__)] for event in outcome.events]
    return {"events": events, "placed": outcome.placed, "texts": outcome.texts, "streams": outcome.streams,
            "doubles": outcome.doubles}  # fmt: skip


def of_data(data: Mapping[str, Any]) -> ParserOutcome:
    kinds: dict[str, Any] = {kind.__name__: kind for kind in _EVENTS}
    made = [
        kinds[name](*(tuple(value) if isinstance(value, list) else value for value in fields))
        for name, *fields in data["events"]
    ]
    return ParserOutcome(tuple(made), data["placed"], data["texts"], data["streams"], data["doubles"])


def outcome_of_events(returned: Iterable[object], *, sure: bool = False) -> ParserOutcome:
    """Return the result in events or their dicts. Offsets count if complete and in order, or if the caller is
    `sure`.
    """
    events: list[Event] = []
    at = 0
    placed = True
    for one in returned:
        if isinstance(one, _EVENTS) and sure:
            events.append(one)
        else:
            event, has_place = _of_dict(_fields(one) if isinstance(one, _EVENTS) else one)
            events.append(event)
            placed = placed and has_place
    for event in events if not sure else ():
        begin, end = _span(event, at)
        placed = placed and at <= begin <= end and (begin < end or not isinstance(event, (ToolCallEnd, Content)))
        at = max(at, end)
    placed = placed and (sure or bool(events))
    return ParserOutcome(tuple(merge(events if placed else _in_a_row(events))), placed)


def outcome_of_message(message: object) -> ParserOutcome:
    """Return the result in a message in OpenAI's format. Without `content`, the parser returns only calls."""
    if hasattr(message, "to_dict"):
        message = message.to_dict()
    if not isinstance(message, Mapping):
        problem = f"the parser returned {_quoted(message)}, not a message dict"
        raise InvariantViolation("shape", "no message", problem, unusable=True)
    events: list[Event] = []
    for kind, key in ((Reasoning, "reasoning_content"), (Content, "content")):
        text = message.get(key)
        if text is not None and not isinstance(text, str):
            raise InvariantViolation(
                "shape", f"{key} is not a string", f"{key} is {_quoted(text)}, neither a string nor null"
            )
        if text:
            events.append(kind(text))
    calls = message.get("tool_calls") or ()
    if not isinstance(calls, (list, tuple)):
        raise InvariantViolation(
            "shape", "tool_calls is not a list", f"tool_calls is {_quoted(calls)}, not a list of calls"
        )
    doubles = False
    for index, call in enumerate(calls):
        function = call.get("function", call) if isinstance(call, Mapping) else None
        name = function.get("name") if isinstance(function, Mapping) else None
        if not isinstance(function, Mapping) or not isinstance(name, str):
            raise InvariantViolation("shape", "a call without a name", f"tool_calls[{index}] is {_quoted(call)}")
        arguments = function.get("arguments", "{}")
        doubles = doubles or not isinstance(arguments, str)
        events += _whole_call(index, name, arguments)
    return ParserOutcome(tuple(events), placed=False, texts="content" in message, streams=False, doubles=doubles)


def _whole_call(index: int, name: str, arguments: object) -> Iterator[Event]:
    yield ToolCallStart(index, name)
    try:
        text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError) as error:
        message = f"the arguments of {name} are {_quoted(arguments)}, which JSON cannot represent ({error})"
        raise InvariantViolation("shape", "arguments that JSON cannot represent", message) from None
    if text:
        yield ToolCallArguments(index, text)
    yield ToolCallEnd(index, (0, 0))


def _all(returned: object) -> list[object]:
    if isinstance(returned, (str, Mapping)) or not isinstance(returned, Iterable):
        message = f"feed() and finish() must return a list of events, but one of them returned {_quoted(returned)}"
        raise InvariantViolation("shape", "no events", message, unusable=True)
    return list(returned)


def _of_dict(data: object) -> tuple[Event, bool]:
    """Return an event from its dict, and whether the dict has its offset or span."""
    if not isinstance(data, Mapping):
        message = f"{_quoted(data)} is neither an event nor the dict of one"
        raise InvariantViolation("shape", "no event", message, unusable=True)
    kind = data.get("type")
    try:
        place = _place_of(data)
        if kind in ("content", "reasoning"):
            made = Content if kind == "content" else Reasoning
            start = data.get("start")
            return made(_text(data, "text"), 0 if start is None else _count(start, "start")), "start" in data
        if kind == "tool_call_start":
            name, id = _text(data, "name"), data.get("id")
            return ToolCallStart(_count(data["index"], "index"), name, id and _text(data, "id")), True
        if kind == "tool_call_arguments":
            return ToolCallArguments(_count(data["index"], "index"), _text(data, "delta")), True
        if kind == "tool_call_end":
            return ToolCallEnd(_count(data["index"], "index"), place or (0, 0), _notes(data)), place is not None
        if kind == "tool_call_rejected":
            reason: Any = _text(data, "reason") if data.get("reason") else "malformed_syntax"
            raw = _text(data, "raw") if data.get("raw") else ""
            span = place or (0, 0)
            at = _count(data["at"], "at") if "at" in data else span[0]
            expected, message = (_text(data, key) if key in data else "" for key in ("expected", "message"))
            index = _count(data["index"], "index")
            return ToolCallRejected(index, reason, span, raw, at, expected, message), place is not None
    except (KeyError, TypeError, ValueError) as error:
        why = f"it has no {error}" if isinstance(error, KeyError) else str(error)
        raise InvariantViolation("shape", f"a broken {kind}", f"{_quoted(data)} is not a {kind}: {why}") from None
    raise InvariantViolation("shape", "no event", f"{_quoted(data)} does not have the type of an event")


def _fields(event: Event) -> dict[str, Any]:
    """Return an event-like object as a dict, with the offset that its own dict leaves out."""
    kind = {Content: "content", Reasoning: "reasoning", ToolCallStart: "tool_call_start"}.get(type(event))
    kind = kind or {ToolCallArguments: "tool_call_arguments", ToolCallEnd: "tool_call_end"}.get(type(event))
    return {"type": kind or "tool_call_rejected", **{name: getattr(event, name) for name in event.__slots__}}


def _text(data: Mapping[str, Any], key: str) -> str:
    text = data[key]
    if not isinstance(text, str):
        raise TypeError(f"{key} is {_quoted(text)}, not a string")
    return text


def _count(value: object, key: str) -> int:
    """Return an integer of a size that JSON can send to another process."""
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) >= 2**63:
        raise TypeError(f"{key} is {_quoted(value)}, not a whole number")
    return value


def _place_of(data: Mapping[str, Any]) -> tuple[int, int] | None:
    span = data.get("span")
    if span is None:
        return None
    if not isinstance(span, (list, tuple)) or len(span) != 2:
        raise TypeError(f"span is {_quoted(span)}, not two offsets")
    return _count(span[0], "span"), _count(span[1], "span")


def _notes(data: Mapping[str, Any]) -> tuple[str, ...]:
    notes = data.get("tolerated") or ()
    if not isinstance(notes, (list, tuple, set, frozenset)) or not all(isinstance(note, str) for note in notes):
        raise TypeError(f"tolerated is {_quoted(notes)}, not a list of strings")
    return tuple(notes)


def _span(event: Event, at: int) -> tuple[int, int]:
    """Return the span of an event, or `at` if it has none."""
    if isinstance(event, (Content, Reasoning)):
        return event.start, event.start + len(event.text)
    return event.span if isinstance(event, (ToolCallEnd, ToolCallRejected)) else (at, at)


def _in_a_row(events: list[Event]) -> Iterator[Event]:
    """Yield the events with offsets that make adjacent ones of one kind join."""
    at = 0
    for event in events:
        if isinstance(event, (Content, Reasoning)):
            yield type(event)(event.text, at)
            at += len(event.text)
        else:
            yield event


def json_value(text: str) -> object:
    """Return the value of JSON text with its keys sorted. Text that is not JSON stays unchanged."""
    try:
        return json.dumps(json.loads(text), sort_keys=True)
    except (ValueError, RecursionError):
        return text


def _place(error: BaseException) -> str:
    """Return the innermost function that raised, with its file. Errors in the standard library count for its caller."""
    trace, place = error.__traceback__, "the parser"
    while trace is not None:
        code = trace.tb_frame.f_code
        standard = code.co_filename.startswith((_STANDARD, "<")) and "site-packages" not in code.co_filename
        if not standard and code.co_name[:1] != "<" and code.co_filename != __file__:
            place = f"{Path(code.co_filename).name}:{code.co_name}"
        trace = trace.tb_next
    return place


def _quoted(value: object) -> str:
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001  the repr of an external object may raise anything
        text = f"an object of {type(value).__name__}"
    return text if len(text) <= _MOST_QUOTED else text[:_MOST_QUOTED] + "…"
