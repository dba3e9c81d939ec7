"""The driver: one answer of a model, read a stretch at a time and told as events.

It owns what formats must not disagree on: content before, between and after calls, held-back partial openers, reasoning
blocks, rejection and where reading goes on after it, the end of input. A format's engine reads one frame at a time and
knows nothing of all that. `Parser` feeds it, and reads its state, which stands in its fields.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, Literal

from toolfmt.formats.engines.call_builder import CallBuilder, Undeclared
from toolfmt.formats.format import ToolCallFormat
from toolfmt.formats.markers import FENCES, sought
from toolfmt.formats.parser.reasoning import Drafts
from toolfmt.formats.parser.recovery import MOST_REJECTED, Recovery
from toolfmt.formats.scanner.literals import literals
from toolfmt.formats.scanner.scanner import BLANK_LINES, Incomplete, Malformed, NoCall, PendingSpan, Reading, Scan
from toolfmt.formats.scanner.spans import Plain
from toolfmt.messages.events import Content, Event, Reasoning

_QUOTATION_ENDS = literals("`", *BLANK_LINES)
_IN_LINE = re.compile(r"[ \t]*")


class Answer:
    """The reading of one answer in one format; all that it is in the midst of stands in its fields."""

    # What an answer begins with stands here, not in `__init__`: a short call notices what one costs to make.
    fed = False
    """Whether what is read is the model's, not the prompt's any more."""
    state: Literal["answer", "content", "call", "reasoning", "again"] = "answer"
    """What the reading is in: beside calls and blocks, content, a frame of calls, a block, or a block's opener."""
    beside_call = False
    behind_call = False
    """Whether a call has ended here."""
    within: int | None = None
    """In a copy made within a frame behind its first call: where what it reads again begins, behind the opening."""
    closing = ""
    """What closes the part for the user that is open."""
    fence = ""
    """What has opened the fence that the content stands in."""
    fence_line = False
    """Whether it still stands in the fence's first line."""
    content_begins = 0
    text: Content | Reasoning | None = None
    """The text event that is being told, and in `parts` its parts: they are joined once, however many they are."""
    text_ends = 0
    block_closers: tuple[str, ...] = ()

    def __init__(
        self,
        format: ToolCallFormat,
        schemas: Mapping[str, Mapping[str, Any]] | None,
        *,
        prefix: str,
        strict: bool,
        verbatim: bool,
    ) -> None:
        """`prefix` is what the prompt already holds of the answer; `verbatim` leaves reasoning in the content."""
        self.format, self.markers, self.verbatim = format, format.markers, verbatim
        self.continued: list[Event] = []
        """What the prefix already holds of this answer: content and reasoning that the model did not write just now."""
        self.scan = Scan(offset=-len(prefix))
        sign = format.engine.named
        self.sought = sought(self.markers, tuple(name + sign for name in schemas or ()) if sign else ())
        self.calls = CallBuilder(self.scan, schemas, strict, self.markers.ends)
        self.events = self.calls.events
        self.parts: list[str] = []
        self.name_at_start = format.name_at_start != "never"
        self.reading: Iterator[PendingSpan | None] = self.read()
        self.waiting = next(self.reading)
        """The stretch that the reading waits in; None where it has to see every chunk."""
        if prefix:
            self._begin_inside(prefix)
        self.fed = True

    def read(self) -> Reading[None]:
        """The whole answer, a stretch at a time: reasoning, a call, or content up to the next call."""
        scan = self.scan
        yield None
        goes_on = True
        if self.state == "content":
            goes_on = yield from self._content_and_call()
        if self.state in ("reasoning", "again"):
            yield from self._block()
        while goes_on:
            self.state = "answer"
            begin = scan.position
            scan.keep(begin)
            spaces = yield from scan.spaces()
            if scan.closed and scan.at == len(scan.text):
                if not self.beside_call:
                    self._say(Content, spaces, begin)
                return
            if self.behind_call:
                left = scan.text[scan.at : scan.at + 1] in self.markers.residue.first
                self.behind_call = left and (yield from self._residue(scan.position))
            if not self.behind_call:
                goes_on = yield from self._what_begins(spaces, begin)

    def _what_begins(self, spaces: str, begin: int) -> Reading[bool]:
        """What begins behind blanks, which have begun at `begin`. False at the end of the answer."""
        scan, marks, here = self.scan, self.markers, self.scan.position
        opener = yield from scan.literal(self.sought.at_start)
        may_call = opener in self.sought.calls or (not opener and self.name_at_start)
        if not may_call:
            scan.release()
        if opener in marks.reasoning:
            if not self.beside_call and not marks.start_only_openers:
                self._say(Content, spaces, begin)  # else a message begins, wherever its header stands
            self._mark(opener, here)
            self.state, self.block_closers, self.drafts.looked_at = "again", marks.reasoning[opener], 0
            yield from self._block()
        elif may_call and (yield from self._call(opener, here)):
            self.beside_call, self.name_at_start = True, False
        elif self._is_ignored(opener, begin):
            if opener not in marks.ignored_markers and opener in marks.reasoning_closers:
                self._mark(opener, here)
            self.beside_call = True
        elif opener in marks.content_markers:
            self.beside_call, self.closing = True, marks.content_markers[opener]
        else:
            self._say(Content, spaces, begin)
            self._say(Content, opener, here)
            if self.sought.fences and opener in FENCES:
                self.fence, self.fence_line = opener, True
            self.content_begins = scan.position
            return (yield from self._content_and_call())
        return True

    def _is_ignored(self, marker: str, begin: int) -> bool:
        """Whether a marker says nothing behind blanks that have begun there."""
        if marker in self.markers.ignored_markers or (marker and marker == self.closing):
            return True
        return begin == 0 and marker in self.markers.ignored_at_start

    def _residue(self, begin: int) -> Reading[bool]:
        """Reads what a model has left behind its call, and says nothing; else nothing is read."""
        scan = self.scan
        found = ""
        while True:
            more = yield from scan.literal(self.markers.residue)
            yield from scan.take_while(_IN_LINE)
            if not more:
                break
            found = more
        here = scan.position
        if found and (found in self.markers.again or (yield from scan.peek()) in ("", "\r", "\n", "<")):
            return True
        opens = found and (yield from scan.literal(literals(*self.format.openers)))
        scan.rewind(here if opens else begin)
        return bool(opens)

    def _content_and_call(self) -> Reading[bool]:
        """As `_content`; behind it stands a call or a marker that says nothing."""
        goes_on = yield from self._content()
        self.beside_call, self.name_at_start = True, False
        return goes_on

    def _block(self) -> Reading[None]:
        """A reasoning block, behind its opener; text stands behind it, not a call."""
        if self.state == "again":
            yield from self._opened_again()
        self.state = "reasoning"
        yield from self._reason(self.block_closers)
        self.beside_call = False

    def _content(self) -> Reading[bool]:
        """Content up to the next call, and the call, or to a marker that says nothing. False at the end of the answer.

        An opener right behind a backtick may be quoted.
        """
        marks, look = self.markers, self.sought
        while True:
            self.state = "content"
            wanted = look.in_content
            if self.fence:
                wanted = look.at_fence if self.fence_line else look.in_program
            wanted = literals(*wanted.literals, self.closing) if self.closing else wanted
            found = yield from self._run(Content, Plain(wanted))
            if not found:
                return False
            if found == self.closing:
                if found not in marks.ignored_markers and found in marks.reasoning_closers:
                    self._mark(found, self.scan.position - len(found))
                self.closing = ""
                return True
            opener = look.opener_in.get(found, found)
            before = found.removesuffix(opener)
            here = self.scan.position - len(opener)
            self._say(Content, before, here - len(before))
            first = here - len(before) == self.content_begins or before.startswith("\n")
            in_line, self.fence_line = self.fence_line and found[0] != "\n", False
            if look.fences and opener in FENCES:
                if not self.fence and first and opener in look.calls and (yield from self._call(opener, here)):
                    return True
                if (yield from self._fence_ends(found, opener, in_line, first)) if self.fence else first:
                    self.fence, self.fence_line = "" if self.fence else opener, not self.fence
                self._say(Content, opener, here)
                continue
            if before.strip("\n") == "`" and (yield from self._quotation(before, opener, first)):
                continue
            if opener in marks.between:
                if (yield from self.drafts.message_begins(opener, here)):
                    return True
            elif (opener in look.calls and (yield from self._call(opener, here))) or opener in marks.ignored_markers:
                return True
            self._say(Content, opener, here)

    def _fence_ends(self, found: str, mark: str, in_line: bool, first: bool) -> Reading[bool]:
        """Whether a mark, read with what stands before it, closes the fence: alone in its line, or in the line of its
        opener, which was inline code then."""
        scan, behind = self.scan, self.scan.position
        if in_line or not first or not mark.startswith(self.fence):
            return in_line and mark[0] == self.fence[0]
        scan.keep(behind - len(found))
        yield from scan.take_while(_IN_LINE)
        ends = (yield from scan.peek()) in ("", "\r", "\n")
        scan.rewind(behind)
        scan.release()
        return ends

    def _quotation(self, before: str, opener: str, first: bool) -> Reading[bool]:
        """Inline code that begins with an opener, read as content up to its backtick; else nothing is read.

        A whole call that stands so is quoted in the middle of a line, and meant at its beginning (`first`).
        """
        scan = self.scan
        begin = scan.position
        scan.keep(begin - len(before + opener))
        found = yield from scan.find_near(_QUOTATION_ENDS, MOST_REJECTED)
        quoted = found == "`"
        if quoted:
            text = scan.kept_between(begin, scan.position)
            meant = first and opener in self.markers.calls
            quoted = not (meant and (yield from self.drafts.stands(Scan(text[:-1], closed=True), opener)))
            if quoted:
                self._say(Content, opener + text, begin - len(opener))
        if not quoted:
            scan.rewind(begin - len(opener))  # the opener's text is still needed: a call keeps it
            scan.at += len(opener)
        scan.release()
        return quoted

    def _call(self, opener: str, begin: int) -> Reading[bool]:
        """A frame of calls. False where none stands after all: everything behind the opener is unread again."""
        scan, calls = self.scan, self.calls
        framed = opener in self.markers.framing
        outside, self.state = self.state, "call"
        if outside != "answer":
            scan.keep(begin)
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
            calls.begin_at(back)
        if found == "nothing":
            back = max(back, calls.begins)
            calls.roll_back()
            scan.rewind(back)
        scan.release()
        self.state = outside
        return found == "calls" or within is not None or back > behind_opener

    def _frame(self, opener: str, begin: int, first: bool) -> Reading[Literal["calls", "another", "nothing"]]:
        """What stands in a frame from `begin` on: calls; one that went wrong, with another behind it; or none after
        all, and they begin to be unread. Only behind the opener (`first`) a call may have been attempted."""
        scan, calls = self.scan, self.calls
        try:
            yield from self.format.engine.read(scan, calls, opener)
            calls.close()
        except Malformed as wrong:
            stopped = scan.position if wrong.at is None else wrong.at
            attempted = False
            if not calls.committed:
                attempted = first and not isinstance(wrong, NoCall) and (yield from self.recovery.attempted(begin))
                if not attempted:
                    return "nothing"
            another = bool(opener) and (yield from self.recovery.resume(attempted))
            if scan.position > calls.begins:
                calls.reject(wrong.reason, wrong.expected, stopped)
                return "another" if another else "calls"
            calls.roll_back()  # nothing was read: another opener that goes wrong where it stands would be met for ever
        except Undeclared:
            return "nothing"
        except Incomplete as cut:
            scan.at = len(scan.text)
            if not calls.committed and not (opener and (scan.cut or scan.kept_between(begin, scan.position).strip())):
                return "nothing"
            calls.reject("incomplete_output", cut.expected, scan.position)
        else:
            self.behind_call = True
        return "calls"

    # --- reasoning

    @cached_property
    def drafts(self) -> Drafts:
        return Drafts(self.format, self.scan, self.calls)

    @property
    def recovery(self) -> Recovery:
        return Recovery(self.format, self.scan, self.calls)

    def _reason(self, closers: tuple[str, ...]) -> Reading[None]:
        """A reasoning block up to its closer; or, if it is never closed, up to the call that ended it."""
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
                if (yield from drafts.message_stands(here, found, closers)):
                    scan.rewind(here)
                    scan.release()
                    return
                draft, closed = yield from drafts.draft(here, found, closers)
                if closed and (yield from drafts.is_the_answer(draft[len(found) :], found)):
                    draft, self.closing, closed = "", closed, ""
                elif not closed and (yield from drafts.stands_unclosed(here, found)):
                    draft = ""
            scan.rewind(here + len(draft) + len(closed))
            scan.release()
            self._say(Reasoning, draft, here)
            self._mark(closed, here + len(draft))
            if closed or not draft:
                return

    def _opened_again(self) -> Reading[None]:
        """A block's opener that the model repeats, though the prompt or it itself has just written it, says nothing."""
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
                self._say(Reasoning, spaces, begin)
                return
            self._mark(again, here)

    # --- saying

    def _run(self, kind: type[Content] | type[Reasoning], body: Plain) -> Reading[str]:
        """Text passed on while it arrives, up to a marker, which is returned; empty at the end of the answer."""
        scan = self.scan
        if self.verbatim:
            kind = Content
        waiting = PendingSpan(scan, body, kind)
        while True:
            start = scan.position
            said, scan.at, ended = body.read(scan.text, scan.at, scan.closed)
            self._say(kind, said, start)
            if ended or scan.closed:
                return body.found if ended else ""
            yield waiting if scan.position >= 0 else None  # what a prefix held back is told apart by `_say`

    def _say(self, kind: type[Content] | type[Reasoning], text: str, start: int) -> None:
        if self.verbatim:
            kind = Content
        if start < 0 and self.fed and text:  # held back from the prefix
            if text[:-start].strip() or (self.continued and isinstance(self.continued[-1], kind)):
                self.continued.append(kind(text[:-start], start))
            text, start = text[-start:], 0
        if not text:
            return
        if isinstance(self.text, kind) and self.text_ends == start and self.events[-1] is self.text:
            self.parts.append(text)
        else:
            self.calls.flush()
            self._join()
            self.text, self.parts = kind(text, start), [text]
            self.events.append(self.text)
        self.text_ends = start + len(text)

    def _mark(self, marker: str, start: int) -> None:
        """A marker of a reasoning block, which says nothing; it stays in the content where the block does."""
        if self.verbatim:
            self._say(Content, marker, start)

    def _join(self) -> None:
        """The text event that is being told has all its parts."""
        if self.text is not None and len(self.parts) > 1:
            self.text.text = "".join(self.parts)
        self.text, self.parts = None, []

    def go_on(self) -> list[Event]:
        """Read what can be read by now, and return what it says."""
        scan = self.scan
        self.waiting = next(self.reading, None)
        if scan.at:
            scan.compact()
        self.calls.flush()
        if self.text is not None:
            self._join()
        events = self.events
        if not events:
            return []
        said = events[:]
        events.clear()
        return said

    def _begin_inside(self, begun: str) -> None:
        """Read what the prompt already holds of the answer: it is not told again, but for a call that is left open."""
        self.scan.append(begun)
        said = self.go_on()
        self.events.extend(self.calls.left_open(said))
        self.tell_first()
        closers = {closer for _, closer in self.format.reasoning_read}
        self.continued = [
            event
            for event in said
            if isinstance(event, (Content, Reasoning)) and event.text.strip() and event.text.strip() not in closers
        ]

    # --- for the parser and its copies

    def catch_up(self) -> None:
        """Read what the fast path has left for the next piece; what that says is told with it."""
        scan = self.scan
        if scan.mark is None and self.state == "answer" and not scan.closed:
            self.waiting = next(self.reading, None)  # nothing was fed: the reading has not begun
        if self.waiting is not None and scan.text:
            self.waiting = next(self.reading, None)
            scan.compact()
            self.calls.flush()
            self._join()
            self.tell_first()

    def tell_first(self) -> None:
        """The fast path tells its own piece alone: what is still to be told keeps the next one from it."""
        if self.events:
            self.waiting = None

    def waiting_for(self, unstopped: str) -> str:
        """What the reading is inside of, as a sentence. `unstopped` is what may be the beginning of a stop string."""
        if self.scan.closed:
            return "The output has ended."
        if self.state == "call":
            return self.calls.waiting_for
        if self.state == "answer":
            return "Content, a call or a reasoning block may start here."
        if self.state != "content":
            return f"A reasoning block, up to {' or '.join(self.block_closers)}."
        held = unstopped or self.scan.text
        return f"Content; {held!r} may be the start of a marker." if held else "Content."
