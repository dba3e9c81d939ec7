"""What all protocols share: which events become payloads, how an answer ends, what becomes of a call that went wrong.

A client executes the calls that it is told. So a call is told once it has ended (`whole_calls`), and nothing of one
that was rejected or cut ever is; its text goes where the caller says (`rejected`). Where arguments are streamed as they
come, a call that goes wrong under way cannot be taken back: the answer then ends as one that was cut, where it was, or
as an error.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from math import isfinite
from typing import Any, ClassVar, Literal, TypeAlias, TypedDict, Unpack, get_args

from toolfmt.formats import WholeCalls
from toolfmt.messages.events import (
    Content,
    Event,
    Reasoning,
    ToolCallArguments,
    ToolCallEnd,
    ToolCallRejected,
    ToolCallStart,
    no_event,
)
from toolfmt.messages.message import CALL_ID, CallIds

Payload: TypeAlias = dict[str, Any]
"""One object of a stream, to be written as JSON."""
FinishReason: TypeAlias = Literal["stop", "length"]
"""What the runtime knows of an answer's end and no parser can: the model ended it, or its tokens ran out."""
RejectedCalls: TypeAlias = Literal["content", "drop", "error"]
"""What becomes of a call that was rejected before it was told: its text is content, is left out, or the answer ends
as an error (one that was cut ends as cut, without that text)."""
_CUT = "incomplete_output"
_MOST_DIGITS = 300
"""Of a whole number that is told as one: a double reaches to 308."""


@dataclass(frozen=True)
class Usage:
    """Tokens of the prompt and of the answer; of them, those that stood in a cache and those of the reasoning."""

    input_tokens: int
    output_tokens: int
    cached_tokens: int = 0
    reasoning_tokens: int = 0

    @property
    def total_tokens(self) -> int:
        return self.input_tokens + self.output_tokens


NO_USAGE = Usage(0, 0)


class StreamOptions(TypedDict, total=False):
    """The options of an encoder: see `StreamEncoder`."""

    taken_ids: Collection[str]
    call_id: str
    whole_calls: bool
    rejected: RejectedCalls


class StreamEncoder(ABC):
    """One answer as a client reads it.

    `id`, `model` and `created` (seconds since 1970) are told to the client; `taken_ids` are the call ids that the
    conversation holds (`toolfmt.taken_ids`), `call_id` the form of those that are made (`ToolCallFormat.call_id`).
    `whole_calls`: a call is told once it has ended, and one that was cut or rejected never is; without, arguments leave
    as they come. `rejected`: what becomes of a call that was rejected before it was told.
    Raises what `CallIds` raises, and `ValueError` for another word than the three of `RejectedCalls`.
    """

    media_type: ClassVar[str] = "text/event-stream"
    end: ClassVar[str] = ""
    """What follows the last payload on the wire."""

    def __init__(self, id: str, model: str, created: int, **options: Unpack[StreamOptions]) -> None:
        self.id, self.model, self.created = id, model, created
        self._ids = CallIds(options.get("taken_ids", ()), options.get("call_id", CALL_ID))
        self._whole = WholeCalls() if options.get("whole_calls", True) else None
        self._rejected_calls = options.get("rejected", "content")
        if self._rejected_calls not in get_args(RejectedCalls):
            raise ValueError(f"rejected is 'content', 'drop' or 'error', not {self._rejected_calls!r}")
        self._numbers: dict[int, int] = {}
        """The number, among the calls that are told, of each that has begun, by its index in the events."""
        self._incomplete = False
        self._wrong: ToolCallRejected | None = None
        """What makes the answer end as an error, if it was not cut."""
        self._over = False

    def push(self, events: Iterable[Event]) -> list[Payload]:
        """What these events make; raises `TypeError` for what is no event, and `RuntimeError` after the end."""
        self._go_on()
        passed = events if self._whole is None else self._whole.events(events)
        return [payload for event in passed for payload in self._pushed(event)]

    def finish(self, reason: FinishReason | None = None, usage: Usage | None = None) -> list[Payload]:
        """The last payloads. Without a reason, an answer whose last call is incomplete was cut.

        Raises `ValueError` for another reason than those of `FinishReason`, which each protocol says in its own word,
        and `RuntimeError` after the end.
        """
        if reason not in (None, *get_args(FinishReason)):
            raise ValueError(f"reason is 'stop' or 'length', not {reason!r}")
        self._go_on()
        self._over = True
        cut = reason == "length" or (reason is None and self._incomplete)
        wrong = self._wrong
        if wrong is None or (cut and wrong.reason == _CUT):
            return list(self._ended(cut, usage))
        return list(self._failed(f"a tool call went wrong: {wrong.reason}", wrong.reason))

    def fail(self, message: str, kind: str = "server_error") -> list[Payload]:
        """In the place of `finish`, for an answer that the runtime could not go on with: the protocol's own error.
        `kind` names it where the protocol has a place for that.
        """
        self._go_on()
        self._over = True
        return list(self._failed(message, kind))

    def whole(self, events: Iterable[Event], reason: FinishReason | None = None, usage: Usage | None = None) -> Payload:
        """The same answer as it is sent where nothing is streamed, of all its events: what the payloads of a stream of
        whole calls join to. For a shape that has pushed nothing yet.
        """
        self._whole = self._whole or WholeCalls()
        return self._joined([*self.push(events), *self.finish(reason, usage)])

    @staticmethod
    def wire(payload: Payload) -> str:
        """A payload as it stands in the response."""
        return f"data: {json.dumps(payload)}\n\n"

    def _go_on(self) -> None:
        if self._over:
            raise RuntimeError("the answer has ended; make a shape for each answer")

    def _pushed(self, event: Event) -> Iterator[Payload]:
        if isinstance(event, Content):
            yield from self._content(event.text)
        elif isinstance(event, Reasoning):
            yield from self._reasoning(event.text)
        elif isinstance(event, ToolCallStart):
            self._numbers[event.index] = len(self._numbers)
            yield from self._call(self._numbers[event.index], self._ids.of(event), event.name)
        elif isinstance(event, ToolCallArguments):
            yield from self._arguments(self._numbers[event.index], event.delta)
        elif isinstance(event, ToolCallEnd):
            yield from self._call_ended(self._numbers[event.index])
        elif isinstance(event, ToolCallRejected):
            yield from self._rejected(event)
        else:
            raise no_event(event)

    def _rejected(self, event: ToolCallRejected) -> Iterator[Payload]:
        self._incomplete = self._incomplete or event.reason == _CUT
        begun = event.index in self._numbers
        if begun or self._rejected_calls == "error":
            self._wrong = self._wrong or event
        if begun:
            yield from self._call_broke(self._numbers[event.index])
        elif self._rejected_calls == "content":
            yield from self._content(event.raw)

    # --- what a protocol says

    @abstractmethod
    def _content(self, text: str) -> Iterator[Payload]: ...

    @abstractmethod
    def _reasoning(self, text: str) -> Iterator[Payload]: ...

    @abstractmethod
    def _call(self, number: int, id: str, name: str) -> Iterator[Payload]: ...

    @abstractmethod
    def _arguments(self, number: int, delta: str) -> Iterator[Payload]: ...

    @abstractmethod
    def _call_ended(self, number: int) -> Iterator[Payload]: ...

    @abstractmethod
    def _call_broke(self, number: int) -> Iterator[Payload]:
        """A call that was told goes no further."""

    @abstractmethod
    def _ended(self, cut: bool, usage: Usage | None) -> Iterator[Payload]: ...

    @abstractmethod
    def _failed(self, message: str, kind: str) -> Iterator[Payload]: ...

    @abstractmethod
    def _joined(self, payloads: list[Payload]) -> Payload: ...


def arguments_object(arguments: str) -> dict[str, Any]:
    """A call's arguments as the object that a protocol holds in their place.

    A number that no JSON reader is sure to read (beyond a double, or longer than Python converts) is told as text. Half
    a character, which an escape can name and UTF-8 cannot hold, is told as U+FFFD.
    """
    read = json.loads(arguments, parse_int=_whole_number, parse_float=_number)
    if "\\ud" in arguments.lower():
        whole = json.dumps(read, ensure_ascii=False).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        read = json.loads(whole)
    told: dict[str, Any] = read
    return told


def _whole_number(digits: str) -> int | str:
    return int(digits) if len(digits) <= _MOST_DIGITS else digits


def _number(written: str) -> float | str:
    value = float(written)
    return value if isfinite(value) else written
