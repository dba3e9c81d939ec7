"""The calls of one output: engines report what they parse, and it becomes events.

The driver creates one `CallBuilder` per parser and passes it to every engine. It owns the indexes, the spans, the
tolerances and the tool definitions. An engine asks it what a tool declares, and keeps nothing between two frames. The
end of a call is emitted when the next call of its frame begins, or when the frame has been parsed, so that the spans of
a frame's calls cover its text without gaps.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, NoReturn, TypeAlias

from toolfmt.formats.engines.declared_tools import MOST_UNDECLARED, DeclaredTools, Undeclared
from toolfmt.formats.scanner.lookahead import MAX_LOOKAHEAD
from toolfmt.formats.scanner.scanner import BACK, Incomplete, Malformed, PendingSpan, Reading, Scan, Span
from toolfmt.formats.scanner.spans import MISSING_CLOSER
from toolfmt.formats.tolerances import EXPECTED, kind_of, problem_of
from toolfmt.formats.values.arguments_text import ArgumentsText
from toolfmt.formats.values.earlier_calls import EndedCall, may_repeat, repeats, with_this
from toolfmt.messages.events import Event, RejectionReason, ToolCallArguments, ToolCallEnd, ToolCallStart
from toolfmt.messages.rejections import MAX_EXPECTED, Refusal


@dataclass(slots=True)
class UncheckedEnd(ToolCallEnd):
    """A call is complete, but the caller's check of its arguments is outstanding. A parser never emits this event."""

    raw: str = ""


Until = Literal["end", "call", "name"]


class Committed(Exception):
    """A dry run has seen enough."""


Attempt: TypeAlias = tuple[dict[str, None], Refusal | None]
"""Tolerances and the rejection of an attempt at a call."""


class CallBuilder(DeclaredTools, ArgumentsText):
    """The calls of one output, in the order of the text.

    Python keeps the attributes of an object in an efficient form as long as it has at most 30. So an attribute is set
    only if it differs from its default, which is an attribute of the class.
    """

    streams = True
    _tolerance_of_each = ""
    """A tolerance that every call of the frame has; empty if there is none."""
    checked = False
    """Whether the caller checks arguments: a call then ends with an `UncheckedEnd`, and the driver sees each chunk."""
    _frame = 0
    _inside: int | None = None
    _left_out: tuple[int, int] | None = None
    opener = ""
    """The start marker of the frame; empty if it has none."""
    head: str | None = None
    """The text from the start of the frame to its first call, once a second call has started. A copy parses it too."""
    committed_before = False
    addressed = ""
    """The recipient in the header of the message that contains the calls, if the format has one."""
    framed_until = -1
    """The end of a frame after which the model may repeat the same text; -1 if there is none."""
    _begin = _unemitted = 0
    readable_from = 0
    """The start of the last call of the frame that can be parsed without those before it (see `begin_dependent`)."""
    _open = _announced = emitting = _complete = _continued = False
    _after_prefix = False
    """Whether the output began with a prefix, which has been parsed."""
    foreign: Any = None
    """The syntax of the frame, if it is that of another format. A copy parses the frame again in the same syntax."""
    earlier: tuple[EndedCall, ...] = ()
    """The last calls of this output that have ended."""
    _id: str | None = None
    """The id of the open call, while it is withheld."""
    name_at_start = False
    """Whether a call may start with its name here, as some formats allow at the start of an output."""
    token_starts = False
    """Whether calls start only at marker tokens, so that no text of the model precedes a call in its frame."""
    _written = ""
    """The name that the model wrote. It differs from `_name` if that is a repair which is not allowed."""
    name_at = -1
    """Where the name of the open call begins; an engine sets it before it reads the name."""
    key_at = -1
    """Where the last key of an object begins."""
    _refusal: Refusal | None = None

    def __init__(
        self,
        scan: Scan,
        schemas: Mapping[str, Mapping[str, Any]] | None,
        allowed: frozenset[str] | None,
        ends: Collection[str] = (),
    ) -> None:
        self._ends = ends
        """Markers of which a truncated output may show only the beginning after a call."""
        ArgumentsText.__init__(self)
        DeclaredTools.__init__(self, schemas)
        self.committed = False
        self._scan = scan
        self._allowed = allowed
        """The tolerances that may be applied; None for all."""
        self.index = -1
        self._tolerated: dict[str, None] = {}

    @property
    def tolerates_all(self) -> bool:
        """Whether all tolerances may be applied."""
        return self._allowed is None

    # --- for engines

    def begin(self) -> None:
        """Begin another call of the same frame here, which ends the previous one."""
        self.begin_at(self._scan.position)

    def begin_foreign(self, syntax: Any, opener: str) -> None:
        """Note that the frame is in the syntax of another format, with this start marker."""
        self.foreign, self.opener = syntax, opener

    def inside(self) -> None:
        """Note that the first call of the frame begins here, after what follows the frame's start marker."""
        self._inside = self._scan.position

    def leave_out(self, begin: int) -> None:
        """Note that the text from `begin` to here, before the first call of the frame, means nothing. A copy does not
        parse it."""
        self._left_out = begin, self._scan.position

    def commit(self) -> None:
        """From here on this is certainly a call: an error rejects it.

        Only a long call of an undeclared tool still becomes content (`Undeclared`).
        """
        self.committed = True

    def abandon_as_content(self) -> NoReturn:
        """Stop parsing: this is too long for a call whose name is not known, so it is content."""
        raise Undeclared

    def start(self, name: str, id: str | None = None, *, repaired: str = "") -> None:
        """Start the call: its complete name is known. `repaired` is the declared tool that the engine found in it."""
        self.commit()
        resolved = repaired or self.resolve_name(name)
        if self.addressed and self.resolve_name(self.addressed) != resolved:
            self.record_tolerance("other_recipient")
        if resolved != name and self.tolerates("repaired_name"):
            self.record_tolerance("repaired_name")
            name = resolved
        self._name, self._written = resolved, name
        if not name:
            self.mark_rejected("missing_tool_name", "the name of a tool", self._name_begins)
        elif self._schemas is not None and name not in self._schemas:
            repair = "" if resolved == name else "repaired_name"
            self._unemitted = 0
            self.mark_rejected("undeclared_tool", "the name of a declared tool", self._name_begins, problem=repair)
        elif self._refusal is None:
            self.emitting = True
            if self._may_be_in_prefix or (self.earlier and may_repeat(self.earlier, self._name, self._syntax)):
                self.withheld, self._id = True, id
            else:
                self._announced = True
                self.events.append(ToolCallStart(self.index, name, id))

    @property
    def _may_be_in_prefix(self) -> bool:
        """Whether the open call may end in the prefix: its name does, but only the output decides it."""
        return self._after_prefix and self._scan.position <= 0

    @property
    def _name_begins(self) -> int:
        """The start of the open call's name; if it is not known, the current position."""
        return self.name_at if self.name_at >= self._begin else self._scan.position

    def arguments(self, fragment: str) -> None:
        """Add JSON text to the arguments."""
        if self.emitting:
            self.fragments.append(fragment)
        elif self.counts_length:
            self._unemitted += len(fragment)
            if self._unemitted > MOST_UNDECLARED:
                raise Undeclared

    def end(self) -> None:
        """Note that the call is complete. The end of its frame may still follow."""
        self._complete = True

    def tolerates(self, name: str) -> bool:
        """Whether a tolerance may be applied. If not, the call is rejected at its end."""
        return self._allowed is None or kind_of(name) in self._allowed

    def record_tolerance(self, name: str, at: int | None = None) -> None:
        """Note that a tolerance was applied. If it is not allowed, parsing continues to the end of the call."""
        if self._scan.cut and name.startswith("missing_"):
            self.need_end(MAX_LOOKAHEAD if name == MISSING_CLOSER else 0)
        if not self.tolerates(name):
            self.mark_rejected("malformed_syntax", EXPECTED.get(kind_of(name), ""), at, problem=problem_of(name))
        self._tolerated[name] = None

    def need_end(self, most: int = 0) -> None:
        """Note that the end marker is missing here. The call is incomplete if the runtime stopped the model here, or at
        most so many characters later: more text might have shown that a value continues."""
        scan = self._scan
        if scan.cut and scan.closed:
            rest = scan.text[scan.at :].strip()
            if len(rest) <= most or any(end.startswith(rest) for end in self._ends):
                self.mark_rejected("incomplete_output", "the end marker of the call", scan.offset + len(scan.text))

    def before(self, text: str, at: int, most: int = BACK) -> str:
        """Return up to `most` characters before an index of `text`; see `Scan.before`."""
        return self._scan.before(text, at, most)

    def has_tolerance(self, name: str) -> bool:
        """Whether this tolerance was applied to the call."""
        return name in self._tolerated

    @property
    def tolerances(self) -> tuple[str, ...]:
        """The tolerances of the open call."""
        return tuple(self._tolerated)

    def forget_attempt(self) -> Attempt:
        """Forget what an engine recorded that found no call, and return it. Another engine reads the same text."""
        attempt = self._tolerated, self._refusal
        self._tolerated, self._refusal = {}, None
        return attempt

    def restore_attempt(self, attempt: Attempt) -> None:
        """Undo `forget_attempt`."""
        self._tolerated, self._refusal = attempt

    def mark_rejected(
        self, reason: RejectionReason, expected: str, at: int | None = None, *, problem: str = ""
    ) -> None:
        """Reject the call at its end. If this is called more than once, the first reason counts.

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

    def stream(self, span: Span) -> Reading[None]:
        """Emit a span of the arguments while it arrives. Raises `Incomplete` if the output ends in it."""
        if not (yield from self._scan.stream(span, self)):
            raise Incomplete("the end of the string")

    def pending_span(self, span: Span) -> PendingSpan | None:
        """Return the span for the fast path; None if the length of the text is counted."""
        return None if self.counts_length or self.checked else self._pending(span)

    @property
    def has_emitted(self) -> bool:
        """Whether an event of the open call, or of calls that it depends on, was emitted."""
        return self._announced or self._begin != self.readable_from

    @property
    def counts_length(self) -> bool:
        """Whether the length of the open call decides if it is a call: its tool is undeclared."""
        return self._refusal is not None and self._refusal.reason == "undeclared_tool"

    def _pending(self, span: Span) -> PendingSpan:
        if self.emitting and not (self._held or self.withheld):
            return PendingSpan(self._scan, span, calls=self, fragments=self._emitted, emits=True)
        return PendingSpan(self._scan, span, calls=self, fragments=self.fragments if self.emitting else [])

    def dry_run(self, scan: Scan, until: Until = "end") -> DryRun:
        """Return calls of the same tools, for parsing a text of another scanner without reporting anything."""
        return DryRun(scan, self._schemas, self._allowed, until)

    def tolerate_each(self, name: str) -> None:
        """Apply a tolerance to every call of this frame; an empty name stops that."""
        self._tolerance_of_each = name
        if name:
            self.record_tolerance(name)

    def text(self) -> str:
        """Return the text of the open call so far."""
        return self._scan.kept_between(self._begin, self._scan.position)

    # --- for the driver

    def end_of_start(self) -> None:
        """Note that no call may start with its name from here on."""
        if self.name_at_start:
            self.name_at_start = False

    def begin_frame(self, position: int, opener: str) -> None:
        """Begin a frame of calls with this start marker, and its first call."""
        self._frame, self.opener, self.readable_from = position, opener, position
        if self.head is not None or self._inside is not None or self._left_out is not None:
            self.head = self._inside = self._left_out = None
        self.begin_dependent(position)

    def begin_dependent(self, position: int) -> None:
        """Begin a call that cannot be parsed without those before it in its frame. The text of the frame stays kept."""
        if self._open:
            self._finish(position)
        self._begin_call(position)

    def begin_at(self, position: int) -> None:
        """Begin another call of the frame at this offset, which ends the previous one."""
        if self.head is None and position > self._frame:
            self.head = self.opener
            if self._inside is not None:
                begin, end = self._left_out or (self._frame, self._frame)
                kept = self._scan.kept_between
                self.head = kept(self._frame, begin) + kept(end, self._inside)
        self._finish(position)
        self._scan.forget_before(position)
        self.readable_from = position
        self._begin_call(position)

    def _begin_call(self, position: int) -> None:
        self.index += 1
        self._begin, self.committed_before = position, self.committed
        self._begin_arguments()
        self._open = True
        self._announced = self.emitting = self._complete = False
        self._refusal = None
        self._tolerated = {}
        if self._tolerance_of_each:
            self.record_tolerance(self._tolerance_of_each)
        self._name = ""

    @property
    def begins(self) -> int:
        """The start of the open call."""
        return self._begin

    @property
    def waiting_for(self) -> str:
        """The open call, as a sentence."""
        if self._announced or self.withheld:
            return f"The arguments of call {self.index}, {self._name}."
        return f"Call {self.index}, whose name is not known yet."

    def copy(self, scan: Scan) -> CallBuilder:
        """Return calls of the same tools for another scanner."""
        twin = CallBuilder(scan, self._schemas, self._allowed, self._ends)
        twin.checked, twin.name_at_start, twin.token_starts = self.checked, self.name_at_start, self.token_starts
        twin._types, twin.framed_until = self._types, self.framed_until
        twin.index, twin.foreign, twin.opener = self.index - self._open, self.foreign, self.opener
        twin.earlier = self.earlier
        if self._after_prefix and not self._announced:
            twin._after_prefix = True
        return twin

    def adopt(self, other: CallBuilder) -> None:
        """Take over the state of another object that has parsed the same text."""
        self._take_state(other)
        self.events[:] = [replace(event) for event in other.events]

    def _take_state(self, other: CallBuilder) -> None:
        """Take over all but the events, the scanner and the text of the arguments."""
        own = self.events, self._scan, self.fragments, self._emitted, self._held
        self.__dict__.clear()
        self.__dict__.update(other.__dict__)
        self.events, self._scan, self.fragments, self._emitted, self._held = own
        self._tolerated = dict(other._tolerated)

    def accept(self, trial: Trial) -> None:
        """Take over the calls of a lookahead: their events are emitted."""
        shift = self.index - trial.from_index  # in a copy, the index is known only now
        for event in trial.events:
            event.index += shift  # type: ignore[union-attr]  # of a call, all of them
        self.events.extend(trial.events)
        self._take_state(trial)
        self.index += shift
        self.fragments, self._emitted = trial.fragments, trial._emitted
        for name in ("started", "ended", "keyed", "from_index"):
            del self.__dict__[name]

    def roll_back(self) -> None:
        """Undo `begin_frame`: the text is not a call."""
        self.index -= 1
        self._open = False
        self._end_frame()

    def close(self) -> None:
        """End the frame. A call that is not complete is rejected. If the output was cut, it extends to the end."""
        if self._refusal is not None and self._refusal.reason == "incomplete_output":
            self._scan.at = len(self._scan.text)  # at most the beginning of its end marker follows
        if self._open and not self._complete:
            self.mark_rejected("malformed_syntax", "the end of the call")
        self._finish(self._scan.position)
        self._end_frame()

    def _end_frame(self) -> None:
        self.committed = False
        if self.foreign is not None:
            self.foreign = None

    def reject(self, reason: RejectionReason, expected: str, at: int) -> None:
        """End the open call here and reject it. `expected` would have been valid at `at`."""
        self._complete = False
        self.mark_rejected(reason, expected, at)
        self.close()

    def left_open(self, events: list[Event]) -> list[Event]:
        """Return those events of a prefix that belong to the call that it leaves open: the first call of the output."""
        self._after_prefix = True
        if self._complete:
            self._open = False  # only the end of its frame follows: the call belongs to the prompt
        self.index = 0 if self._open else -1
        of_calls = [event for event in events if isinstance(event, (ToolCallStart, ToolCallArguments))]
        starts = [at for at, event in enumerate(of_calls) if isinstance(event, ToolCallStart)]
        if not (self._open and self._announced):
            return []
        self._continued = True
        for event in of_calls[starts[-1] :]:
            event.index = self.index
        return list(of_calls[starts[-1] :])

    def _finish(self, position: int) -> None:
        if not self._open:
            return
        if self.fragments:
            self.flush()
        self._open = False
        continued, self._continued = self._continued, False
        if not continued and (position < 0 or (position == 0 and (self._refusal is None or self._complete))):
            # It ended within the prefix, although that became clear only now.
            of_this = (ToolCallStart, ToolCallArguments)
            self.events[:] = [e for e in self.events if not (isinstance(e, of_this) and e.index == self.index)]
            self.index -= 1
            return
        span = (self._begin if self._begin > 0 else 0, position if position > 0 else 0)
        if self._refusal is None:
            call = self._name, self._syntax, "".join(self.fragments if self.withheld else self._emitted)
            if self.withheld:
                self._emit_or_reject(call)
        if self._refusal is None:
            self.earlier = with_this(self.earlier, call)
        elif self.withheld and self._begin < 0:
            self._announce()  # the prompt began it
        if self._refusal is not None:
            name = self._written if self.counts_length else self._name
            raw = self._scan.kept_between(*span)
            self.events.append(self._refusal.event(self.index, span, raw, name=name, declared=self._schemas or ()))
        elif self.checked:
            raw = self._scan.kept_between(*span)
            self.events.append(UncheckedEnd(self.index, span, self.tolerances, raw=raw))
        else:
            self.events.append(ToolCallEnd(self.index, span, tuple(self._tolerated)))

    @property
    def _syntax(self) -> str:
        """The name of the syntax of the open call, if it is that of another format."""
        return "" if self.foreign is None else str(self.foreign.name)

    def _emit_or_reject(self, call: EndedCall) -> None:
        """Emit a call that was withheld, and has ended, or reject it because it repeats an earlier one."""
        if repeats(self.earlier, call):
            problem = "an earlier call is the same in another syntax"
            self.mark_rejected("duplicate_call", "a call that was not made before", self._begin, problem=problem)
        else:
            self._announce()

    def _announce(self) -> None:
        """Emit what was withheld of a call."""
        self.withheld = False
        self.events.append(ToolCallStart(self.index, self._written, self._id))
        self.flush()


class DryRun(CallBuilder):
    """Calls that are parsed but not reported, to see whether the text has any.

    `until` is `end` to parse the whole frame, or `call` or `name` to raise `Committed` as soon as the text is certainly
    a call, or the first name is known.
    """

    streams = False
    first: str | None = None
    """The name of the first call."""

    def __init__(
        self,
        scan: Scan,
        schemas: Mapping[str, Mapping[str, Any]] | None,
        allowed: frozenset[str] | None,
        until: Until = "end",
    ) -> None:
        super().__init__(scan, schemas, allowed)
        self._until = until

    @property
    def first_name(self) -> str:
        """The name of the first call; that of the last one if the engine looked ahead itself."""
        return self.first or self._name

    def commit(self) -> None:
        if self._until == "call":
            raise Committed
        super().commit()

    def start(self, name: str, id: str | None = None, *, repaired: str = "") -> None:
        name = repaired or name
        if self.first is None:
            self.first = name
        if self._until != "end":
            raise Committed
        self.committed, self._name = True, self.resolve_name(name)

    def arguments(self, fragment: str) -> None:
        """Ignore them."""

    def abandon_as_content(self) -> NoReturn:
        raise Malformed(expected="the name of the tool")

    def mark_rejected(
        self, reason: RejectionReason, expected: str, at: int | None = None, *, problem: str = ""
    ) -> None:
        """Ignore it: a call that would be rejected is a call."""

    def pending_span(self, span: Span) -> PendingSpan | None:
        """Return None, so that the driver sees how far the parsing has come."""
        return None

    def begin_at(self, position: int) -> None:
        """Emit and drop nothing: the driver goes back to the start marker."""

    def begin_dependent(self, position: int) -> None:
        """Emit nothing."""

    def text(self) -> str:
        """Return nothing: the text is not kept."""
        return ""


class Trial(CallBuilder):
    """Calls of a lookahead. They are not emitted until `CallBuilder.accept` takes them over."""

    streams = False

    def __init__(self, scan: Scan, calls: CallBuilder) -> None:
        self.events, self._scan, self.fragments, self._emitted = [], scan, [], []
        self._take_state(calls)
        self.committed = True
        self.from_index = calls.index
        self.started = self.ended = 0
        self.keyed = False
        """Whether the last call that started has a key."""

    def _pending(self, span: Span) -> PendingSpan:
        return PendingSpan(self._scan, span, calls=self, fragments=self.fragments if self.emitting else [])

    def start(self, name: str, id: str | None = None, *, repaired: str = "") -> None:
        super().start(name, id, repaired=repaired)
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
        """Whether calls of possibly declared tools have ended, and the text stopped before the end of their list."""
        return self.ended > 0 and self.is_known(self._name) is not False

    @property
    def attempted(self) -> bool:
        """Whether the text ended or became malformed inside the arguments of a call of a possibly declared tool."""
        return self.started > self.ended and self.keyed and self.is_known(self._name) is not False
