"""What all protocols share: which events become payloads, how a response ends, and what happens to rejected calls.

A client executes the calls that it gets. With `whole_calls`, a call is sent only after it has ended, and nothing of a
rejected or cut call is sent; `rejected` decides what happens to its text. If arguments are streamed as they arrive, a
call that is rejected later cannot be taken back. The response then ends as cut if it was, or else as an error.

An unfinished call is the last thing in an output. Only `finish` knows whether the output was cut there: then its text
is half of a call's markup, which nobody should read. It is held back until then.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from math import isfinite
from typing import Any, ClassVar, Literal, TypeAlias, TypedDict, TypeGuard, Unpack, get_args

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
"""What only the runtime knows about the end of a response: the model ended it, or it reached the token limit."""
RejectedCalls: TypeAlias = Literal["content", "drop", "error"]
"""What happens to a call that is rejected before it was sent.

Its text becomes content or is left out, or the response ends as an error. The unfinished call of a cut response is
always left out.
"""
_CUT = "incomplete_output"
_MOST_DIGITS = 300
"""Maximum exponent of an integer sent as a number: a double reaches 308."""


@dataclass(frozen=True)
class Usage:
    """The tokens of a prompt and its response.

    Attributes:
        input_tokens: Tokens of the prompt.
        output_tokens: Tokens of the response.
        cached_tokens: Tokens of the prompt that were cached.
        reasoning_tokens: Tokens of the response that are reasoning.
    """

    input_tokens: int
    output_tokens: int
    cached_tokens: int = 0
    reasoning_tokens: int = 0

    @property
    def total_tokens(self) -> int:
        """The tokens of both."""
        return self.input_tokens + self.output_tokens


NO_USAGE = Usage(0, 0)


class StreamOptions(TypedDict, total=False):
    """The options of an encoder: see `StreamEncoder`."""

    taken_ids: Collection[str]
    call_id: str
    whole_calls: bool
    rejected: RejectedCalls


class StreamEncoder(ABC):
    """One response as a client reads it. The classes of the protocols inherit from it.

    Args:
        id: The id of the response, sent to the client.
        model: The name of the model, sent to the client.
        created: The time in seconds since 1970, sent to the client.
        **options: The options below.

    Keyword Args:
        taken_ids (Collection[str]): The call ids already used in the conversation (`toolfmt.taken_ids`).
        call_id (str): The form of generated ids (`ToolCallFormat.call_id`).
        whole_calls (bool): Send a call only after it has ended, and never if it was cut or rejected. The default is
            True. If False, arguments are sent as they arrive.
        rejected (RejectedCalls): What happens to a call that is rejected before it was sent. The default is `content`.
            The unfinished call of a cut response is always left out.

    Attributes:
        media_type: The content type of the HTTP response.
        end: What follows the last payload on the wire.

    Raises:
        TypeError: `taken_ids` is not a collection of ids.
        ValueError: `rejected` has an unknown value, or `call_id` gives two calls the same id.
    """

    media_type: ClassVar[str] = "text/event-stream"
    end: ClassVar[str] = ""

    def __init__(self, id: str, model: str, created: int, **options: Unpack[StreamOptions]) -> None:
        self.id, self.model, self.created = id, model, created
        self._ids = CallIds(options.get("taken_ids", ()), options.get("call_id", CALL_ID))
        self._whole = WholeCalls() if options.get("whole_calls", True) else None
        self._rejected_calls = options.get("rejected", "content")
        if self._rejected_calls not in get_args(RejectedCalls):
            raise ValueError(f"rejected is 'content', 'drop' or 'error', not {self._rejected_calls!r}")
        self._numbers: dict[int, int] = {}
        """The number of each started call among the sent calls, by its index in the events."""
        self._incomplete = False
        self._held: list[Event] = []
        """An unfinished call that has not been sent, and what follows it."""
        self._wrong: ToolCallRejected | None = None
        """Why the response ends as an error, if it was not cut."""
        self._over = False

    def push(self, events: Iterable[Event]) -> list[Payload]:
        """Return the payloads for these events.

        Args:
            events: The next events of the parser.

        Raises:
            TypeError: An item is not an event.
            RuntimeError: The response has ended.
        """
        self._go_on()
        passed = events if self._whole is None else self._whole.events(events)
        return [payload for event in passed for payload in self._pushed(event)]

    def finish(self, reason: FinishReason | None = None, usage: Usage | None = None) -> list[Payload]:
        """Return the last payloads.

        Args:
            reason: Why the response ended. Each protocol has its own word for it. If None, a response whose last call
                is incomplete was cut.
            usage: The tokens of the prompt and the response.

        Raises:
            ValueError: The reason is not in `FinishReason`.
            RuntimeError: The response has ended.
        """
        if reason not in (None, *get_args(FinishReason)):
            raise ValueError(f"reason is 'stop' or 'length', not {reason!r}")
        self._go_on()
        self._over = True
        cut = reason == "length" or (reason is None and self._incomplete)
        shown = [event for event in self._held if not (cut and _is_unfinished(event))]
        payloads = [payload for event in shown for payload in self._sent(event)]
        wrong = self._wrong
        if wrong is None or (cut and wrong.reason == _CUT):
            return [*payloads, *self._ended(cut, usage)]
        return [*payloads, *self._failed(wrong.message, wrong.reason)]

    def fail(self, message: str, kind: str = "server_error") -> list[Payload]:
        """Return the protocol's own error, instead of `finish`, if the runtime fails.

        Args:
            message: The error message.
            kind: The kind of error, if the protocol has a field for it.

        Raises:
            RuntimeError: The response has ended.
        """
        self._go_on()
        self._over = True
        return list(self._failed(message, kind))

    def whole(self, events: Iterable[Event], reason: FinishReason | None = None, usage: Usage | None = None) -> Payload:
        """Return the response as it is sent without streaming. Call it on an unused encoder.

        It is equal to what the payloads of a stream of whole calls add up to.

        Args:
            events: All events of the response.
            reason: As for `finish`.
            usage: As for `finish`.
        """
        self._whole = self._whole or WholeCalls()
        return self._joined([*self.push(events), *self.finish(reason, usage)])

    @staticmethod
    def wire(payload: Payload) -> str:
        """Return a payload as it appears in the HTTP response.

        Args:
            payload: One of the payloads.
        """
        return f"data: {json.dumps(payload)}\n\n"

    def _go_on(self) -> None:
        if self._over:
            raise RuntimeError("the response has ended; create an encoder for each response")

    def _pushed(self, event: Event) -> Iterator[Payload]:
        holds = bool(self._held)
        if _is_unfinished(event):
            self._incomplete = True
            holds = holds or (self._rejected_calls == "content" and event.index not in self._numbers)
        if holds:
            self._held.append(event)
        else:
            yield from self._sent(event)

    def _sent(self, event: Event) -> Iterator[Payload]:
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
        started = event.index in self._numbers
        if started or (self._rejected_calls == "error" and event.reason != "duplicate_call"):
            self._wrong = self._wrong or event
        if started:
            yield from self._call_broke(self._numbers[event.index])
        elif self._rejected_calls == "content":
            yield from self._content(event.raw)

    # --- defined by each protocol

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
        """Handle a sent call that does not continue."""

    @abstractmethod
    def _ended(self, cut: bool, usage: Usage | None) -> Iterator[Payload]: ...

    @abstractmethod
    def _failed(self, message: str, kind: str) -> Iterator[Payload]: ...

    @abstractmethod
    def _joined(self, payloads: list[Payload]) -> Payload: ...


def _is_unfinished(event: Event) -> TypeGuard[ToolCallRejected]:
    return isinstance(event, ToolCallRejected) and event.reason == _CUT


def arguments_object(arguments: str) -> dict[str, Any]:
    """Return a call's arguments as the object that a protocol has for them.

    A number that some JSON readers cannot read (beyond a double, or longer than Python converts) becomes text. Half a
    surrogate pair, which an escape can contain but UTF-8 cannot, becomes U+FFFD.
    """
    read = json.loads(arguments, parse_int=_whole_number, parse_float=_number)
    if "\\ud" in arguments.lower():
        whole = json.dumps(read, ensure_ascii=False).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        read = json.loads(whole)
    result: dict[str, Any] = read
    return result


def _whole_number(digits: str) -> int | str:
    return int(digits) if len(digits) <= _MOST_DIGITS else digits


def _number(written: str) -> float | str:
    value = float(written)
    return value if isfinite(value) else written
