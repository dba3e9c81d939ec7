"""The driver: one output of a model, parsed and emitted as events.

It owns what formats must agree on: content before, between and after calls, held-back beginnings of start markers,
reasoning blocks, rejection and where parsing continues after it, and the end of the input. The engine of a format
parses one frame of calls at a time, and knows none of this. `Parser` feeds the driver; the state is in its fields.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, Literal

from toolfmt.formats.engines.call_builder import CallBuilder
from toolfmt.formats.engines.declared_tools import Undeclared
from toolfmt.formats.format import ToolCallFormat
from toolfmt.formats.markers import FENCES
from toolfmt.formats.parser.argument_check import ArgumentCheck, Validate
from toolfmt.formats.parser.block import Blocks
from toolfmt.formats.parser.end_markers import skip_end_markers, skip_trailing_markers
from toolfmt.formats.parser.fallback import reading_of
from toolfmt.formats.parser.frame_start import skip_to_call
from toolfmt.formats.parser.reasoning import Drafts
from toolfmt.formats.parser.recovery import Recovery
from toolfmt.formats.scanner.literals import literals
from toolfmt.formats.scanner.scanner import Incomplete, Malformed, NoCall, PendingSpan, Reading, Scan
from toolfmt.formats.scanner.spans import Plain
from toolfmt.messages.events import Content, Event, Reasoning


class Driver:
    """Parses one output in one format."""

    # Most defaults are class attributes: setting them in `__init__` would cost time for each parser. Those that every
    # chunk needs are set there, because an attribute of the object is found sooner.
    fed = False
    """False while the prefix, which is text of the prompt, is parsed; then True."""
    state: Literal["between", "content", "example", "call", "reasoning", "block_start"] = "between"
    """The current position: between calls, blocks and content (`between`), in content, in a frame of calls that may be
    an example, in a frame of calls, in a reasoning block, or directly after the start marker of a block, which the
    model may repeat (`block_start`)."""
    call_start = ""
    """What the open frame of calls, or example, starts with."""
    call_in_content = False
    """Whether it is in content."""
    again = ""
    """In a copy made in a frame of calls or an example in content: what it starts with, which comes next."""
    beside_call = False
    """Whether whitespace here is next to a call or a marker, and not content."""
    after_call = False
    """Whether a call ended here, after which trailing markers are ignored."""
    rejected_to: int | None = None
    """Where the last malformed call ended. The same line may have more of it."""
    within: int | None = None
    """In a copy made after the first call of a frame: where the open call begins, after the head of the frame."""
    closing = ""
    """The end marker of the part for the user, if one is open."""
    shows_start = False
    """Whether the content has the start marker of a call, so that its end marker is not an orphan."""
    text: Content | Reasoning | None = None
    """The text event that is being emitted. Its pieces are in `parts`, which are joined once."""
    text_ends = 0
    waiting: PendingSpan | None = None
    """The span that the generator waits in; None if it has to see every chunk."""
    opened_blocks: Blocks | None = None
    """The blocks of the content, once there is any."""
    block_closers: tuple[str, ...] = ()
    check: ArgumentCheck | None = None
    """The caller's check of the arguments. None while the prefix is parsed."""

    def __init__(
        self,
        format: ToolCallFormat,
        schemas: Mapping[str, Mapping[str, Any]] | None,
        *,
        prefix: str,
        allowed: frozenset[str] | None,
        verbatim: bool,
        validate: Validate | None,
        tokens: frozenset[str] = frozenset(),
    ) -> None:
        """`prefix` is the beginning of the output in the prompt; `allowed` has the tolerances that may be applied, None
        for all; `verbatim` leaves reasoning in the content; `validate` checks arguments; `tokens` is for `Fallback`."""
        self.format, self.markers, self.verbatim, self.tokens = format, format.markers, verbatim, tokens
        self.continued: list[Event] = []
        """Content and reasoning of the output that the prefix contains."""
        self.scan = Scan(offset=-len(prefix))
        self.engine, self.sought = reading_of(format, schemas, tokens)
        self.calls = CallBuilder(self.scan, schemas, allowed, self.markers.ends)
        self.events = self.calls.events
        self.parts: list[str] = []
        self.waiting = self.text = self.check = None
        if validate is not None:
            self.calls.checked = True
        if tokens:
            self.calls.token_starts = True
        if self.markers.name_at_start and not (tokens and format.name_at_start == "tolerated"):
            self.calls.name_at_start = True
        self.reading: Iterator[PendingSpan | None] = self.read()
        if prefix:
            self._begin_inside(prefix)
        self.fed = True
        if validate is not None:
            self.check = ArgumentCheck(validate)

    def read(self) -> Reading[None]:
        """Parse the whole output: reasoning, a call, or content up to the next call, one after the other."""
        scan = self.scan
        goes_on = True
        if self.state == "content":
            goes_on = yield from self._content_and_call()
        if self.state in ("reasoning", "block_start"):
            yield from self._block()
        while goes_on:
            self.state = "between"
            begin = scan.position
            scan.keep(begin)
            spaces = yield from scan.spaces()
            if scan.closed and scan.at == len(scan.text):
                if not self.beside_call:
                    self._emit(Content, spaces, begin)
                return
            if self.after_call:
                left = scan.text[scan.at : scan.at + 1] in self.markers.trailing_markers.first
                self.after_call = left and (yield from skip_trailing_markers(self.format, scan, scan.position))
            if not self.after_call:
                goes_on = yield from self._what_begins(spaces, begin)

    def _what_begins(self, spaces: str, begin: int) -> Reading[bool]:
        """Parse what follows whitespace that began at `begin`. Return False at the end of the output."""
        scan, marks, here = self.scan, self.markers, self.scan.position
        opener = yield from scan.literal(self.sought.at_start)
        may_call = opener in self.sought.calls or (not opener and self.calls.name_at_start)
        if begin == self.rejected_to and opener not in marks.framing and "\n" not in spaces:
            may_call = False
        example: str | None = ""
        if may_call and opener not in marks.reasoning:
            example = yield from self._call(opener, here)
        else:
            scan.release()
        if opener in marks.reasoning:
            if not self.beside_call and not marks.start_only_openers:
                self._emit(Content, spaces, begin)  # otherwise a message begins, and its header may be anywhere
            self._mark(opener, here)
            self.state, self.block_closers, self.drafts.looked_at = "block_start", marks.reasoning[opener], 0
            yield from self._block()
        elif example is None:
            self.beside_call = True
            self.calls.end_of_start()
        elif not example and self._is_ignored(opener, begin):
            if opener not in marks.ignored_markers and opener in marks.reasoning_closers:
                self._mark(opener, here)
            self.beside_call = True
        elif opener in marks.content_markers:
            self.beside_call, self.closing = True, marks.content_markers[opener]
        else:
            self._emit(Content, spaces, begin)
            self._emit(Content, opener + (example or ""), here)
            self.shows_start = self.shows_start or opener in self.sought.starts
            if opener in FENCES and not example:
                self.blocks.fence, self.blocks.fence_line = opener, True
            self.blocks.of_marker = ""
            return (yield from self._content_and_call())
        return True

    def _is_ignored(self, marker: str, begin: int) -> bool:
        """Whether a marker after whitespace from `begin` on is ignored."""
        if marker in self.markers.ignored_markers or (marker and marker == self.closing):
            return True
        return begin == 0 and marker in self.markers.ignored_at_start

    def _content_and_call(self) -> Reading[bool]:
        """Parse content, and the call or ignored marker after it. Return False at the end of the output."""
        self.calls.end_of_start()
        goes_on = yield from self._content()
        self.beside_call = True
        return goes_on

    def _block(self) -> Reading[None]:
        """Parse a reasoning block after its start marker. Whitespace after it belongs to the content."""
        if self.state == "block_start":
            yield from self._skip_repeated_starts()
        self.state = "reasoning"
        yield from self._reason(self.block_closers)
        self._begin_line()
        self.beside_call = False

    def _content(self) -> Reading[bool]:
        """Parse content up to a call or an ignored marker, and this too. Return False at the end of the output.

        A start marker directly after a backtick may be quoted.
        """
        marks, look, blocks = self.markers, self.sought, self.blocks
        while True:
            self.state = "content"
            wanted = look.in_content
            if blocks.fence:
                wanted = look.at_fence if blocks.fence_line else look.in_program
            wanted = wanted.adding(self.closing, "\n" + self.closing) if self.closing else wanted
            again, self.again = self.again, ""
            if again:
                yield from self.scan.skip_spaces()
                self.scan.skip(len(again))
            found = again or (yield from self._run(Content, Plain(wanted)))
            if not found:
                return False
            ends = bool(self.closing) and found.removeprefix("\n") == self.closing
            opener = self.closing if ends else look.opener_in.get(found, found)
            before = found.removesuffix(opener)
            here = self.scan.position - len(opener)
            self._emit(Content, before, here - len(before))
            if ends:
                if opener not in marks.ignored_markers and opener in marks.reasoning_closers:
                    self._mark(opener, here)
                self.closing = ""
                return True
            in_line, blocks.fence_line = blocks.fence_line and found[0] != "\n", False
            first = not blocks.line.strip("` \t")
            blocks.find()
            example: str | None = ""
            if opener in FENCES:
                if first and not blocks.fence and opener in look.calls:
                    example = yield from self._call(opener, here)
                if example == "":
                    yield from blocks.toggle_fence(found, opener, in_line=in_line, first=first)
            elif not again and (quoted := (yield from blocks.quotation(opener, first=first))):
                example = quoted
            elif not again and opener in marks.between:
                if (yield from self.drafts.message_begins(opener, here)):
                    return True
            else:
                if opener in look.calls:
                    example = yield from self._call(opener, here)
                if example == "" and opener in marks.ignored_markers:
                    return True
            if example is None:
                return True
            if opener in look.starts:
                self.shows_start = True
            elif not example and opener in marks.repeated_ends and not (self.shows_start or blocks.fence):
                mentioned = blocks.recent.rstrip().endswith(tuple(marks.repeated_ends))
                if not mentioned and (yield from skip_end_markers(marks, self.scan, here - len(before))):
                    return False
            self._emit(Content, opener + example, here)

    def _call(self, opener: str, begin: int) -> Reading[str | None]:
        """Parse a frame of calls, and return None. If there are none, return the text after the start marker that is
        content, and leave the rest unread.

        In a block of the content, calls are an example, and so content, if anything but calls follows them.
        """
        scan, calls = self.scan, self.calls
        framed = opener in self.markers.framing
        outside, self.call_start = self.state, opener
        self.call_in_content = outside != "between"
        if self.call_in_content:
            scan.keep(begin)
        in_block = self.opened_blocks is not None and self.opened_blocks.of_marker
        if self.within is None and (in_block or (opener in FENCES and not framed)):
            self.state = "example"
            example = yield from self.blocks.example(opener, begin, self.sought.call_starts)
            if example is not None:
                scan.release()
                self.state = outside
                return example
        self.state = "call"
        calls.begin_frame(begin, opener if framed else "")
        if not framed:
            scan.rewind(begin)
        within, self.within = self.within, None
        back = behind_opener = begin + len(opener) if within is None else within
        while True:
            first = framed and within is None and back == behind_opener
            found = yield from self._frame(opener if framed else "", back, first)
            if found != "another":
                break
            back = scan.position
            calls.head = opener  # the engine starts again
            calls.begin_at(back)
        if found == "nothing":
            back = max(back, calls.begins)
            calls.roll_back()
            scan.rewind(back)
        scan.release()
        self.state = outside
        if found in ("calls", "empty"):
            self._begin_line()
            return None
        return None if within is not None or back > behind_opener else ""

    def _frame(self, opener: str, begin: int, first: bool) -> Reading[Literal["calls", "another", "empty", "nothing"]]:
        """Parse a frame from `begin` on. Return `calls`; `another` after a malformed call with another one after it;
        `empty` for an empty frame; or `nothing` if there are no calls. An attempt is possible only directly after the
        start marker (`first`)."""
        scan, calls = self.scan, self.calls
        try:
            yield from self.engine.read(scan, calls, opener)
            calls.close()
        except Malformed as wrong:
            stopped = scan.position if wrong.at is None else wrong.at
            attempted = False
            first = first and calls.begins <= begin  # a call in another syntax may have been rejected before this one
            if not calls.committed:
                if first:
                    skipped = yield from skip_to_call(self.engine, self.markers, scan, calls, begin, self.blocks.line)
                    if skipped == "frame":
                        calls.roll_back()
                        return "empty"
                    if skipped == "text":
                        return (yield from self._frame(opener, scan.position, False))
                attempted = first and not isinstance(wrong, NoCall) and (yield from self.recovery.attempted(begin))
                if not attempted:
                    return "nothing"
            if scan.cut and (wrong.undecided or self.recovery.may_continue(stopped)):
                return self._unfinished(wrong.expected)
            another = bool(opener) and not wrong.resumed and (yield from self.recovery.resume(begin, attempted))
            self.rejected_to = scan.position
            if scan.position > calls.begins:
                calls.reject(wrong.reason, wrong.expected, stopped)
                return "another" if another else "calls"
            calls.roll_back()  # nothing was read: the same start marker would fail here forever
        except Undeclared:
            return "nothing"
        except Incomplete as cut:
            scan.at = len(scan.text)
            if not calls.committed and not (opener and (scan.cut or scan.kept_between(begin, scan.position).strip())):
                return "nothing"
            return self._unfinished(cut.expected)
        else:
            self.after_call = True
        return "calls"

    def _unfinished(self, expected: str) -> Literal["calls"]:
        """Reject the open call, in which the output ends."""
        self.scan.at = len(self.scan.text)
        self.calls.reject("incomplete_output", expected, self.scan.position)
        return "calls"

    # --- reasoning

    @cached_property
    def drafts(self) -> Drafts:
        return Drafts(self.format, self.engine, self.scan, self.calls)

    @property
    def blocks(self) -> Blocks:
        """The blocks of the content."""
        if self.opened_blocks is None:
            self.opened_blocks = Blocks(self.markers, self.engine, self.scan, self.calls)
        return self.opened_blocks

    def _begin_line(self) -> None:
        """Begin a line of the content, which is in no block."""
        if self.opened_blocks is not None:
            self.opened_blocks.begin_line()

    @property
    def recovery(self) -> Recovery:
        return Recovery(self.format, self.scan, self.calls, self.tokens)

    def _reason(self, closers: tuple[str, ...]) -> Reading[None]:
        """Parse a reasoning block up to its end marker, or up to the call that ends it."""
        scan, drafts = self.scan, self.drafts
        wanted = literals(*closers, *self.format.openers, *self.markers.messages)
        while True:
            found = yield from self._run(Reasoning, Plain(wanted))
            if not found or found in closers:
                self._mark(found, scan.position - len(found))
                return
            here = scan.position - len(found)
            scan.keep(here)
            draft, closed = found, ""
            if (yield from drafts.begins(found)):
                if (yield from drafts.is_message(here, found, closers)):
                    scan.rewind(here)
                    scan.release()
                    return
                draft, closed = yield from drafts.draft(here, found, closers)
                if closed and (yield from drafts.is_response(draft[len(found) :], found)):
                    draft, self.closing, closed = "", closed, ""
                elif not closed and (yield from drafts.is_unclosed_response(here, found)):
                    draft = ""
            scan.rewind(here + len(draft) + len(closed))
            scan.release()
            self._emit(Reasoning, draft, here)
            self._mark(closed, here + len(draft))
            if closed or not draft:
                return

    def _skip_repeated_starts(self) -> Reading[None]:
        """Skip start markers of a block that the model repeats directly after one."""
        scan = self.scan
        openers = literals(*self.markers.reasoning)
        while True:
            begin = scan.position
            scan.keep(begin)
            spaces = yield from scan.spaces()
            here = scan.position
            again = yield from scan.literal(openers)
            scan.release()
            if not again:
                self._emit(Reasoning, spaces, begin)
                return
            self._mark(again, here)

    # --- emitting

    def _run(self, kind: type[Content] | type[Reasoning], body: Plain) -> Reading[str]:
        """Emit text while it arrives, up to a marker, and return the marker; "" at the end of the output."""
        scan = self.scan
        if self.verbatim:
            kind = Content
        waiting = PendingSpan(scan, body, kind, self.blocks.append)
        while True:
            start = scan.position
            said, scan.at, ended = body.read(scan.text, scan.at, scan.closed)
            self._emit(kind, said, start)
            if ended or scan.closed:
                return body.found if ended else ""
            yield waiting if scan.position >= 0 else None  # `_emit` handles text of the prefix that was held back

    def _emit(self, kind: type[Content] | type[Reasoning], text: str, start: int) -> None:
        if self.verbatim:
            kind = Content
        if start < 0 and self.fed and text:  # held back from the prefix
            if text[:-start].strip() or (self.continued and isinstance(self.continued[-1], kind)):
                self.continued.append(kind(text[:-start], start))
            text, start = text[-start:], 0
        if not text:
            return
        self.blocks.append(text)
        if isinstance(self.text, kind) and self.text_ends == start and self.events[-1] is self.text:
            self.parts.append(text)
        else:
            self.calls.flush()
            self._join()
            self.text, self.parts = kind(text, start), [text]
            self.events.append(self.text)
        self.text_ends = start + len(text)

    def _mark(self, marker: str, start: int) -> None:
        """Drop a marker of a reasoning block. It stays in the content if the block does."""
        if self.verbatim:
            self._emit(Content, marker, start)

    def _join(self) -> None:
        """Complete the text event."""
        if self.text is not None and len(self.parts) > 1:
            self.text.text = "".join(self.parts)
        self.text, self.parts = None, []

    def go_on(self) -> list[Event]:
        """Parse what can be parsed by now, and return its events."""
        scan = self.scan
        self.waiting = next(self.reading, None)
        if scan.at:
            scan.compact()
        if self.calls.fragments:
            self.calls.flush()
        if self.text is not None:
            self._join()
        events = self.events
        if self.check is not None:
            waiting, self.waiting = self.waiting, None  # if the check raises, the next chunk must come here
            said = self.check.take(events)
            self.waiting = waiting
            return said
        if not events:
            return []
        said = events[:]
        events.clear()
        return said

    def _begin_inside(self, begun: str) -> None:
        """Parse the prefix. Its events are not emitted, except those of a call that it leaves open."""
        self.scan.append(begun)
        said = self.go_on()
        self.events.extend(self.calls.left_open(said))
        self.emit_first()
        closers = {closer for _, closer in self.format.reasoning_read}
        self.continued = [
            event
            for event in said
            if isinstance(event, (Content, Reasoning)) and event.text.strip() and event.text.strip() not in closers
        ]

    # --- for the parser and its copies

    def catch_up(self) -> None:
        """Parse what the fast path left for the next chunk. The events are emitted with it."""
        scan = self.scan
        if scan.mark is None and self.state == "between" and not scan.closed:
            self.waiting = next(self.reading, None)  # nothing was fed yet
        if self.waiting is not None and scan.text:
            self.advance()
            self.emit_first()

    def advance(self) -> None:
        """Parse what can be parsed by now. Its events are emitted with those of the next chunk."""
        self.waiting = next(self.reading, None)
        self.scan.compact()
        self.calls.flush()
        self._join()

    def emit_first(self) -> None:
        """Keep the next chunk from the fast path if there are events to emit before it."""
        if self.events or (self.check is not None and self.check.held):
            self.waiting = None

    def waiting_for(self, unstopped: str) -> str:
        """Return a sentence about the current position. `unstopped` may be the beginning of a stop string."""
        if self.scan.closed:
            return "The output has ended."
        if self.state == "call":
            return self.calls.waiting_for
        if self.state in ("between", "example"):
            return "Content; a call or a reasoning block may start here."
        if self.state != "content":
            return f"A reasoning block, up to {' or '.join(self.block_closers)}."
        held = unstopped or self.scan.text
        return f"Content; {held!r} may be the start of a marker." if held else "Content."
