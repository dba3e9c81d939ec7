"""The calls of one output: engines report what they parse, and it becomes events.

The driver creates one `CallBuilder` per parser and passes it to every engine. It owns the indexes, the spans, the
tolerances and the tool definitions. An engine asks it what a tool declares, and keeps nothing between two frames. The
end of a call is emitted when the next call of its frame begins, or when the frame has been parsed, so that the spans of
a frame's calls cover its text without gaps.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, Literal, NamedTuple, NoReturn

from toolfmt.formats.engines.name_repair import Likenesses
from toolfmt.formats.scanner.scanner import Incomplete, Malformed, PendingSpan, Reading, Scan, Span
from toolfmt.formats.tolerances import EXPECTED, TOLERANCES
from toolfmt.formats.values.schema_types import Types, parameter_types
from toolfmt.messages.events import (
    Event,
    RejectionReason,
    ToolCallArguments,
    ToolCallEnd,
    ToolCallRejected,
    ToolCallStart,
)
from toolfmt.messages.rejections import MAX_EXPECTED, rejection_message
from toolfmt.messages.tools import parameter_order

MOST_UNDECLARED = 400
"""A call of a tool that nobody declared is text if its arguments are longer than so many characters: prose, or a file
that the user shall rather see than lose. One that ends before is rejected."""


class Undeclared(Exception):
    """What was read as a call of an undeclared tool goes on for too long."""


Until = Literal["end", "call", "name"]


class Committed(Exception):
    """A dry run has seen enough."""


class Refusal(NamedTuple):
    """Why the open call is rejected."""

    reason: RejectionReason
    at: int
    """The offset of the first character that cannot continue the call."""
    expected: str
    """A phrase for what would have been valid there."""
    problem: str = ""
    """What is wrong, if it is more specific than the reason."""


class CallBuilder:
    """The calls of one answer, in the order in which they appear."""

    streams = True
    # What is the same for every answer until a call begins stands here: a short call notices what one costs to make.
    _noted = ""
    """How every call of the frame is read generously."""
    _frame = 0
    _inside: int | None = None
    _opener = ""
    _head: str | None = None
    """What opened the frame, up to its first call, once a second call has begun; a copy begins with it."""
    committed_before = False
    addressed = ""
    """Whom the message is for that holds the calls, where the family says so in its header."""
    framed_until = -1
    """Where a frame of calls ended behind which the same text may stand again."""
    _begin = _unsaid = 0
    readable_from = 0
    """Where the last call of the frame begins that can be read without those before it; behind it others may stand
    beside it (`begin_dependent`)."""
    _open = _announced = emitting = _complete = _continued = False
    _name = ""
    name_at = -1
    """Where the name of the open call begins; an engine sets it before it reads the name."""
    key_at = -1
    """Where the last key of an object begins."""
    _refusal: Refusal | None = None
    _likenesses: Likenesses | None = None

    def __init__(
        self,
        scan: Scan,
        schemas: Mapping[str, Mapping[str, Any]] | None,
        strict: bool,
        ends: Collection[str] = (),
    ) -> None:
        self._ends = ends
        """What the end of a cut answer may be the beginning of."""
        self.events: list[Event] = []
        self.committed = False
        self._scan = scan
        self._schemas = schemas
        self.strict = strict
        self.index = -1
        self._tolerated: dict[str, None] = {}
        self._fragments: list[str] = []
        self._types: dict[tuple[str, ...], Types] = {}
        self._orders: dict[str, list[str]] = {}

    # --- for engines

    def begin(self) -> None:
        """Another call of the same frame begins here; the one before it is told as ended."""
        self.begin_at(self._scan.position)

    def inside(self) -> None:
        """What opens the frame, behind its opener, has been read: the first call begins here."""
        if self._inside is None:
            self._inside = self._scan.position

    def commit(self) -> None:
        """From here on this is a call: what goes wrong is rejected, no longer content."""
        self.committed = True

    def abandon_as_content(self) -> NoReturn:
        """What was read as a call goes on for too long without its name: it is content after all."""
        raise Undeclared

    def start(self, name: str, id: str | None = None) -> None:
        """The call's name is known, whole."""
        self.commit()
        meant = self.meant(name)
        if self.addressed and self.meant(self.addressed) != meant:
            self.record_tolerance("other_recipient")
        if meant != name and not self.strict:
            self.record_tolerance("repaired_name")
            name = meant
        self._name = meant
        if not name:
            self.mark_rejected("missing_tool_name", "the name of a tool", self._name_begins)
        elif self._schemas is not None and name not in self._schemas:
            self.mark_rejected("undeclared_tool", "the name of a declared tool", self._name_begins)
        elif self._refusal is None:
            self._announced = self.emitting = True
            self.events.append(ToolCallStart(self.index, name, id))

    @property
    def _name_begins(self) -> int:
        """Where the name of the open call begins, or what has been read of the call ends."""
        return self.name_at if self.name_at >= self._begin else self._scan.position

    def arguments(self, fragment: str) -> None:
        """More of the arguments' JSON text."""
        if self.emitting:
            self._fragments.append(fragment)
        elif self.counts_length:
            self._unsaid += len(fragment)
            if self._unsaid > MOST_UNDECLARED:
                raise Undeclared

    def end(self) -> None:
        """The call is complete; its frame may still follow."""
        self._complete = True

    def record_tolerance(self, name: str) -> None:
        """Something was read generously; strict reading goes on to the call's end and rejects it."""
        if self._scan.cut and name.startswith("missing_"):
            self.need_end()
        if self.strict:
            self.mark_rejected("malformed_syntax", EXPECTED.get(name, ""), problem=TOLERANCES.get(name, ""))
        self._tolerated[name] = None

    def need_end(self) -> None:
        """What ends the call does not stand here. Where the runtime stopped the model here, the call is not whole."""
        scan = self._scan
        if scan.cut and scan.closed:
            rest = scan.text[scan.at :].strip()
            if any(end.startswith(rest) for end in self._ends):
                self.mark_rejected("incomplete_output", "the end marker of the call", scan.offset + len(scan.text))

    def before(self, text: str, at: int) -> str:
        """What stands right before a place in the text that a body was given, a few words of it at most."""
        return self._scan.before(text, at)

    def noted(self, name: str) -> bool:
        """Whether this call has been read generously in this way."""
        return name in self._tolerated

    def mark_rejected(
        self, reason: RejectionReason, expected: str, at: int | None = None, *, problem: str = ""
    ) -> None:
        """The call will be rejected, for the first reason given, but goes on to where it ends.

        Args:
            reason: Why.
            expected: A phrase for what would have been valid.
            at: The offset where that would have been valid; None for the position of the scanner.
            problem: What is wrong, if it is more specific than the reason.
        """
        if self._refusal is None:
            self.flush()
            at = self._scan.position if at is None else at
            self._refusal = Refusal(reason, at, expected[:MAX_EXPECTED], problem)
            self.emitting = False

    def stream(self, body: Span) -> Reading[None]:
        """Pass a stretch of the arguments on while it arrives."""
        if not (yield from self._scan.stream(body, self)):
            raise Incomplete("the end of the string")

    def pending_span(self, body: Span) -> PendingSpan | None:
        """What the driver may pass over while the stretch arrives; None where what arrives is counted."""
        return None if self.counts_length else self._stretch(body)

    @property
    def has_emitted(self) -> bool:
        """Whether anything was said of the open call, or of those before it that it cannot be read without."""
        return self._announced or self._begin != self.readable_from

    @property
    def counts_length(self) -> bool:
        """Whether the length of the open call decides if it is one: its tool is undeclared."""
        return self._refusal is not None and self._refusal.reason == "undeclared_tool"

    def _stretch(self, body: Span) -> PendingSpan:
        return PendingSpan(self._scan, body, calls=self)

    def types(self, *path: str) -> Types:
        """The JSON Schema types the tool declares for a parameter, or for a part of it: the keys that lead there, an
        empty one for the items of a list. None where it declares none."""
        if self._schemas is None:
            return None
        key = (self._name, *path)
        if key not in self._types:
            self._types[key] = parameter_types(self._schemas.get(self._name, {}), *path)
        return self._types[key]

    @property
    def declared(self) -> bool:
        """Whether tools were given."""
        return self._schemas is not None

    def names(self, word: str) -> bool:
        """Whether a tool of exactly this name is declared."""
        return self._schemas is not None and word in self._schemas

    def is_known(self, name: str) -> bool | None:
        """Whether a tool of this name is declared, or one is meant by it; None where no tools were given."""
        return None if self._schemas is None else self.meant(name) in self._schemas

    def meant(self, name: str) -> str:
        """The declared tool that is meant by a name that is none; the name itself where that is not one tool."""
        if self._schemas is None or not name or name in self._schemas:
            return name
        if self._likenesses is None:
            self._likenesses = Likenesses(self._schemas)
        return self._likenesses.meant(name)

    def declares(self, key: str, name: str | None = None) -> bool | None:
        """Whether the tool that is called, or the one of this name, declares a parameter of this name; None where
        nothing says which it has."""
        properties = self._properties(self._name if name is None else self.meant(name))
        return None if properties is None else key in properties

    def any_declares(self, key: str) -> bool | None:
        """Whether any tool declares a parameter of this name; None where no tools were given."""
        return None if self._schemas is None else any(self.declares(key, name) for name in self._schemas)

    @property
    def spaced_names(self) -> tuple[str, ...]:
        """The names of declared tools that have a blank in them."""
        return tuple(name for name in self._schemas or () if " " in name)

    def dry_run(self, scan: Scan, until: Until = "end") -> DryRun:
        """Return calls of the same tools, for parsing a text of another scanner without reporting anything."""
        return DryRun(scan, self._schemas, self.strict, until)

    def tolerate_each(self, name: str) -> None:
        """Every call of this frame is read generously in this way; an empty name ends that."""
        self._noted = name
        if name:
            self.record_tolerance(name)

    @property
    def parameters(self) -> tuple[str, ...] | None:
        """The parameters that the called tool declares; None where nothing says which it has."""
        properties = self._properties(self._name)
        return None if properties is None else tuple(map(str, properties))

    def _properties(self, name: str) -> Mapping[str, Any] | None:
        schema = None if self._schemas is None else self._schemas.get(name)
        properties = None if schema is None else schema.get("properties")
        return properties if isinstance(properties, (dict, Mapping)) else None

    @property
    def known(self) -> bool:
        """Whether the tool called last is declared."""
        return self.is_known(self._name) is True

    def text(self) -> str:
        """The text of the open call so far."""
        return self._scan.kept_between(self._begin, self._scan.position)

    def accepts(self, keys: Collection[str]) -> bool:
        """Whether these may be all arguments of the call: declared, and none missing that the tool requires."""
        schema = None if self._schemas is None else self._schemas.get(self._name)
        required = None if schema is None else schema.get("required")
        given = not isinstance(required, list) or all(key in keys for key in required)
        return given and all(self.declares(key) is not False for key in keys)

    def positional(self, position: int) -> str:
        """The name of the parameter at a position, in the order of the tool's definition."""
        names = self._orders.get(self._name)
        if names is None:
            schema = {} if self._schemas is None else self._schemas.get(self._name, {})
            names = self._orders[self._name] = parameter_order(schema)
        if position >= len(names):
            expected = f"at most {len(names)} arguments without keys" if names else "an argument with a key"
            raise Malformed("invalid_arguments", expected)
        return names[position]

    # --- for the driver

    def begin_frame(self, position: int, opener: str) -> None:
        """A frame of calls, which begins with this opener; its first call begins there too."""
        self._frame, self._inside, self._opener, self._head = position, None, opener, None
        self.readable_from = position
        self.begin_dependent(position)

    def begin_dependent(self, position: int) -> None:
        """As `begin_at`, for a call that cannot be read without those before it in its frame, which is kept whole."""
        if self._open:
            self._finish(position)
        self._begin_call(position)

    def begin_at(self, position: int) -> None:
        if self._head is None and position > self._frame:
            self._head = self._opener
            if self._inside is not None:
                self._head = self._scan.kept_between(self._frame, self._inside)
        self._finish(position)
        self._scan.forget_before(position)
        self.readable_from = position
        self._begin_call(position)

    def _begin_call(self, position: int) -> None:
        self.index += 1
        self._begin, self.committed_before = position, self.committed
        self._unsaid = 0
        self._open = True
        self._announced = self.emitting = self._complete = False
        self._refusal = None
        self._tolerated = {}
        if self._noted:
            self.record_tolerance(self._noted)
        self._name = ""

    @property
    def begins(self) -> int:
        """Where the open call begins."""
        return self._begin

    @property
    def head(self) -> str | None:
        """What opens the frame of the open call; None where that is the first of its frame."""
        return self._head

    @property
    def waiting_for(self) -> str:
        """Which call the reading is inside of, as a sentence."""
        if self._announced:
            return f"The arguments of call {self.index}, {self._name}."
        return f"Call {self.index}, whose name is not known yet."

    def copy(self, scan: Scan) -> CallBuilder:
        """Calls of the same tools, over another scanner."""
        twin = CallBuilder(scan, self._schemas, self.strict, self._ends)
        twin._types, twin._orders, twin.framed_until = self._types, self._orders, self.framed_until
        twin.index = self.index - self._open
        return twin

    def adopt(self, other: CallBuilder) -> None:
        """Stand where another stands, whose text has been read again."""
        self._stand_where(other)
        self.events[:] = [replace(event) for event in other.events]

    def _stand_where(self, other: CallBuilder) -> None:
        """All is as there but what is said, and where it is read."""
        own = self.events, self._scan, self._fragments
        self.__dict__.clear()
        self.__dict__.update(other.__dict__)
        self.events, self._scan, self._fragments = own
        self._tolerated = dict(other._tolerated)

    def accept(self, trial: Trial) -> None:
        """What has been read ahead is what has been read: it is told."""
        shift = self.index - trial.from_index  # a copy knows only now which call it is
        for event in trial.events:
            event.index += shift  # type: ignore[union-attr]  # of a call, all of them
        self.events.extend(trial.events)
        self._stand_where(trial)
        self.index += shift
        self._fragments = trial._fragments
        for name in ("started", "ended", "keyed", "from_index"):
            del self.__dict__[name]

    def roll_back(self) -> None:
        """What began was no call at all."""
        self.index -= 1
        self._open = False
        self.committed = False

    def close(self) -> None:
        """The frame has been read; what is not complete by now never will be."""
        if self._open and not self._complete:
            self.mark_rejected("malformed_syntax", "the end of the call")
        self._finish(self._scan.position)
        self.committed = False

    def reject(self, reason: RejectionReason, expected: str, at: int) -> None:
        """The open call ends here, rejected: `expected` would have been valid at `at`."""
        self._complete = False
        self.mark_rejected(reason, expected, at)
        self.close()

    def left_open(self, events: list[Event]) -> list[Event]:
        """Of the events of a prefix those of the call that it leaves open, which is the first of the answer."""
        if self._complete:
            self._open = False  # only its frame is still to come: it is the prompt's
        self.index = 0 if self._open else -1
        begun = [event for event in events if isinstance(event, (ToolCallStart, ToolCallArguments))]
        starts = [at for at, event in enumerate(begun) if isinstance(event, ToolCallStart)]
        if not (self._open and self._announced):
            return []
        self._continued = True
        for event in begun[starts[-1] :]:
            event.index = self.index
        return list(begun[starts[-1] :])

    def flush(self) -> None:
        """Say the arguments gathered since the last event as one."""
        if self._fragments:
            said = "".join(self._fragments)
            if said:
                self.events.append(ToolCallArguments(self.index, said))
            self._fragments = []

    def _finish(self, position: int) -> None:
        if not self._open:
            return
        self.flush()
        self._open = False
        continued, self._continued = self._continued, False
        if not continued and (position < 0 or (position == 0 and self._refusal is None)):
            # It ended within the prefix, however late that became clear.
            of_this = (ToolCallStart, ToolCallArguments)
            self.events[:] = [e for e in self.events if not (isinstance(e, of_this) and e.index == self.index)]
            self.index -= 1
            return
        span = (max(self._begin, 0), max(position, 0))
        if self._refusal is None:
            self.events.append(ToolCallEnd(self.index, span, tuple(self._tolerated)))
        else:
            self.events.append(self._rejected(self._refusal, span))

    def _rejected(self, refusal: Refusal, span: tuple[int, int]) -> ToolCallRejected:
        reason, at, expected, problem = refusal
        raw = self._scan.kept_between(*span)
        at = min(max(at, span[0]), span[1])
        message = rejection_message(
            reason, raw, at - span[0], expected, problem=problem, name=self._name, declared=self._schemas or ()
        )
        return ToolCallRejected(self.index, reason, span, raw, at, expected, message)


class DryRun(CallBuilder):
    """Calls that are parsed but not reported, to see whether the text has any.

    `until` says how much has to be seen: the end of the frame; that the text is certainly a call; or the first name.
    Once that is seen, `Committed` is raised.
    """

    streams = False
    first: str | None = None
    """The name of the first call."""

    def __init__(
        self, scan: Scan, schemas: Mapping[str, Mapping[str, Any]] | None, strict: bool, until: Until = "end"
    ) -> None:
        super().__init__(scan, schemas, strict)
        self._until = until

    def commit(self) -> None:
        if self._until == "call":
            raise Committed
        super().commit()

    def start(self, name: str, id: str | None = None) -> None:
        if self.first is None:
            self.first = name
        if self._until != "end":
            raise Committed
        self.committed, self._name = True, self.meant(name)

    def arguments(self, fragment: str) -> None:
        """Not said."""

    def abandon_as_content(self) -> NoReturn:
        raise Malformed(expected="the name of the tool")

    def mark_rejected(
        self, reason: RejectionReason, expected: str, at: int | None = None, *, problem: str = ""
    ) -> None:
        """Not said; what would be rejected as it stands is no less a call."""

    def pending_span(self, body: Span) -> PendingSpan | None:
        """In none, so that the driver sees how far the reading has come."""
        return None

    def begin_at(self, position: int) -> None:
        """Nothing is told, and nothing is forgotten: the driver goes back to the opener."""

    def begin_dependent(self, position: int) -> None:
        """Nothing is told."""

    def text(self) -> str:
        """Not kept."""
        return ""


class Trial(CallBuilder):
    """Calls that are read ahead, in a part of the text, and told to nobody yet: `CallBuilder.accept` tells them."""

    streams = False

    def __init__(self, scan: Scan, calls: CallBuilder) -> None:
        self.events, self._scan, self._fragments = [], scan, []
        self._stand_where(calls)
        self.committed = True
        self.from_index = calls.index
        self.started = self.ended = 0
        self.keyed = False
        """Whether the last call that has started has had a key."""

    def _stretch(self, body: Span) -> PendingSpan:
        return PendingSpan(self._scan, body, calls=self, fragments=self._fragments if self.emitting else [])

    def start(self, name: str, id: str | None = None) -> None:
        super().start(name, id)
        self.started += 1
        self.keyed = False

    def arguments(self, fragment: str) -> None:
        super().arguments(fragment)
        self.keyed = self.keyed or fragment != "{"

    def end(self) -> None:
        super().end()
        self.ended += 1

    @property
    def among_calls(self) -> bool:
        """Whether calls that may be declared have ended, and more of them, or the end of their list, was to come."""
        return self.ended > 0 and self.is_known(self._name) is not False

    @property
    def attempted(self) -> bool:
        """Whether the text stopped, or went wrong, among the arguments of a call that may be declared."""
        return self.started > self.ended and self.keyed and self.is_known(self._name) is not False
