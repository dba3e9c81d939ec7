"""The driver: one answer of a model, fed in pieces, told as events.

It owns what formats must not disagree on: content before, between and after calls, held-back partial openers, reasoning
blocks, rejection and where reading goes on after it, the end of input. A format's engine reads one frame at a time and
knows nothing of all that. `feed` and `finish` never raise on what a model wrote; `feed` after `finish` is misuse.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from toolfmt.events import Content, Event, Reasoning
from toolfmt.formats.bodies import Plain
from toolfmt.formats.calls import Calls, Committed, Glimpse, Rehearsal
from toolfmt.formats.format import ToolCallFormat
from toolfmt.formats.prefix import answer_begun
from toolfmt.formats.registry import get
from toolfmt.formats.scan import Incomplete, Malformed, Reading, Scan, stops
from toolfmt.tools import tool_schemas

_MOST_DRAFTS = 16
"""Calls in a reasoning block that is never closed, or that its closer cuts, are looked at so often; each costs as much
as the answer is long."""

_FAR = 2000
"""A closer of a reasoning block inside a draft's value is taken for the value's if the draft ends within so many
characters; the answer waits for that."""


class Parser:
    """Reads one answer of a model in one format.

    Takes a format or its name; `tools`, the tool definitions (None accepts any name, an empty list none); `prefix`, the
    tail of the prompt, for an answer that begins inside something; `strict`, to reject what is usually read generously.
    Raises `UnknownFormat` and `BadTools`; never raises on what it is fed.
    """

    def __init__(
        self, format: str | ToolCallFormat, *, tools: object = None, prefix: str = "", strict: bool = False
    ) -> None:
        self.format = get(format) if isinstance(format, str) else format
        self._markers = self.format.markers
        begun = ""
        if prefix:
            begun = self._without_closer(answer_begun(prefix, self._markers.of_answers, self.format.headers))
        self.continued: list[Event] = []
        """What the prefix already holds of this answer: content and reasoning that the model did not write just now."""
        self._scan = Scan(offset=-len(begun))
        self._schemas = None if tools is None else tool_schemas(tools)
        self._strict = strict
        self._calls = Calls(self._scan, self._schemas, strict)
        self._events = self._calls.events
        self._closing = ""
        """What closes the part for the user that is open."""
        self._fed = False
        self._never_closed = sys.maxsize
        """From here on no reasoning block is closed, as the end of the answer has shown."""
        self._in_vain = 0
        """So many calls that a reasoning block's closer cuts were read on behind it, and did not end there."""
        self._reading: Iterator[None] = self._answer()
        next(self._reading)
        if begun:
            self._begin_inside(begun)
        self._fed = True

    def feed(self, text: str) -> list[Event]:
        """More of the answer. Returns the events that are certain by now."""
        scan = self._scan
        if scan.closed:
            raise RuntimeError("feed() after finish(): a parser reads one answer; make a new one for the next")
        take = scan.take
        if take is not None and text:
            held = scan.text
            if held:
                scan.text = ""
                events = take(held + text)
                if events is None:
                    scan.text = held
            else:
                events = take(text)
            if events is not None:
                return events
        scan.append(text)
        return self._go_on()

    def finish(self) -> list[Event]:
        """The answer has ended. Returns what was held back; a second call returns nothing."""
        if not self._scan.closed:
            self._scan.closed = True
            return self._go_on()
        return []

    @property
    def looked(self) -> int:
        """Characters looked at so far, each counted as often as it was: a small multiple of what was fed."""
        self._scan.settle()
        return self._scan.looked + self._scan.position

    def _without_closer(self, begun: str) -> str:
        """What a prompt has begun of the answer, behind a reasoning block that it has only closed."""
        for opener, closer in self.format.reasoning:
            before, closed, behind = begun.partition(closer)
            if closed and opener not in before and not before.strip():
                return behind
        return begun

    # --- the answer

    def _answer(self) -> Reading[None]:
        """The whole answer, a stretch at a time: reasoning, a call, or content up to the next call."""
        scan, marks = self._scan, self._markers
        beside_call, named_first = False, self.format.named_first != "never"
        yield
        while True:
            begin = scan.position
            spaces = yield from scan.spaces()
            here = scan.position
            opener = yield from scan.literal(marks.at_start)
            silent = opener in marks.silent or (opener in marks.silent_first and begin == 0)
            if opener in marks.reasoning:
                if not beside_call and not marks.leading:  # else a message begins, wherever its header stands
                    self._say(Content, spaces, begin)
                yield from self._reason(marks.reasoning[opener])
                beside_call = False
            elif silent or (opener and opener == self._closing):
                beside_call = True
            elif opener in marks.wrapping:
                beside_call, self._closing = True, marks.wrapping[opener]
            elif (opener in marks.calls or (not opener and named_first)) and (yield from self._call(opener, here)):
                beside_call, named_first = True, False
            elif not opener and scan.closed and not scan.text[scan.at :]:
                if not beside_call:
                    self._say(Content, spaces, begin)
                return
            else:
                self._say(Content, spaces, begin)
                self._say(Content, opener, here)
                if not (yield from self._content()):
                    return
                beside_call, named_first = True, False

    def _content(self) -> Reading[bool]:
        """Content up to the next call, and the call, or to a silent marker. False at the end of the answer."""
        while True:
            wanted = self._markers.in_content
            wanted = stops(*wanted.literals, self._closing) if self._closing else wanted
            found = yield from self._run(Content, Plain(wanted))
            if not found:
                return False
            if found == self._closing:
                self._closing = ""
                return True
            line, opener = ("\n", found[1:]) if found[0] == "\n" else ("", found)
            here = self._scan.position - len(opener)
            self._say(Content, line, here - len(line))
            if opener in self._markers.silent or (yield from self._call(opener, here)):
                return True
            self._say(Content, opener, here)

    def _call(self, opener: str, begin: int) -> Reading[bool]:
        """A frame of calls. False where none stands after all: everything behind the opener is unread again."""
        scan, calls = self._scan, self._calls
        framed = opener in self._markers.framing
        scan.keep(begin)
        calls.begin_at(begin)
        if not framed:
            scan.rewind(begin)
        reads, again, back = True, False, begin + len(opener)
        while True:
            try:
                yield from self.format.engine.read(scan, calls, opener if framed else "")
                calls.close()
            except Malformed as wrong:
                reads, again = calls.committed, False
                if reads:
                    again = framed and (yield from self._resume())
                    calls.reject(wrong.reason)
            except Incomplete:
                scan.at = len(scan.text)
                reads = calls.committed or (framed and bool(scan.kept_between(back, scan.position).strip()))
                again = False
                if reads:
                    calls.reject("incomplete_output")
            else:
                again = False
            if not again:
                break
            back = scan.position
            calls.begin_at(back)
        if not reads:
            calls.forget()
            scan.rewind(back)
        scan.release()
        return reads or back > begin + len(opener)

    def _resume(self) -> Reading[bool]:
        """Where reading goes on after a call that went wrong: behind its closer, if that comes before another frame.

        True where another call of the same frame stands there.
        """
        scan, inner = self._scan, self._markers.inner
        wrong = scan.position
        _, found = yield from scan.until(self._markers.resuming)
        if found in inner.closers:
            behind = stops(*self._markers.frame_closers, *inner.openers, *inner.skipped)
            while True:
                here = scan.position
                yield from scan.skip_spaces()
                found = yield from scan.literal(behind)
                if found in self._markers.frame_closers:
                    return False
                if found not in inner.skipped:
                    break
            scan.rewind(here)
            return bool(found)
        if found in self._markers.frame_closers:
            return False
        if found in inner.openers:
            scan.rewind(scan.position - len(found))
            return True
        if found in self._markers.silent and self._markers.leading:
            scan.rewind(scan.position - len(found))  # the message ends here
        elif found or not self._markers.leading:
            scan.rewind(wrong)
        return False

    # --- reasoning

    def _reason(self, closers: tuple[str, ...]) -> Reading[None]:
        """A reasoning block up to its closer; or, if it is never closed, up to the call that ended it."""
        scan, wanted = self._scan, stops(*closers, *self.format.openers)
        drafts = 0
        while True:
            found = yield from self._run(Reasoning, Plain(wanted))
            if not found or found in closers:
                return
            here = scan.position - len(found)
            scan.keep(here)
            draft, closed = found, ""
            if (yield from self._call_begins(found)):
                draft, closed = yield from self._draft(here, found, closers)
                if not closed and drafts < _MOST_DRAFTS:
                    drafts += 1
                    scan.rewind(here + len(found))
                    stands = yield from self._call_stands(scan, found)
                    draft = found if stands is False else ""
            scan.rewind(here + len(draft) + len(closed))
            scan.release()
            self._say(Reasoning, draft, here)
            if closed or not draft:
                return

    def _draft(self, here: int, opener: str, closers: tuple[str, ...]) -> Reading[tuple[str, str]]:
        """The text from an opener to the closer of the block, and that closer; empty where there is none.

        A closer inside a value is the value's: the call goes on behind it and ends, without another opener on the way.
        """
        scan = self._scan
        scan.rewind(here + len(opener))
        begin = scan.position
        while not (scan.closed and begin >= self._never_closed):
            _, found = yield from scan.until(stops(*closers))
            if not found:
                self._never_closed = min(self._never_closed, here)
                break
            after = scan.position
            before = scan.kept_between(begin, after - len(found))
            if (
                begin == here + len(opener)
                and self._in_vain < _MOST_DRAFTS
                and (yield from self._call_stands(Scan(before, closed=True), opener)) is None
            ):
                scan.rewind(begin)
                stands = yield from self._not_far(self._call_stands(scan, opener), after + _FAR)
                if stands and after < scan.position <= after + _FAR:
                    rest = scan.kept_between(after, scan.position)
                    if not any(other in rest for other in self.format.openers):
                        begin = scan.position
                        continue
                self._in_vain += 1
                scan.rewind(after)
            return scan.kept_between(here, after - len(found)), found
        return opener, ""

    def _not_far(self, reading: Reading[bool | None], end: int) -> Reading[bool | None]:
        """What a reading answers, given up where it has read on to `end` without one."""
        while self._scan.position <= end:
            try:
                next(reading)
            except StopIteration as done:
                stands: bool | None = done.value
                return stands
            if self._scan.position <= end:
                yield
        return None

    def _call_begins(self, opener: str) -> Reading[bool]:
        """Whether a call stands here, read no further than to know it."""
        begin = self._scan.position
        try:
            yield from self.format.engine.read(self._scan, Glimpse(self._scan, self._schemas, self._strict), opener)
        except Committed:
            return True
        except Incomplete:
            return bool(self._scan.kept_between(begin, self._scan.position).strip())
        except Malformed:
            return False
        return True

    def _call_stands(self, scan: Scan, opener: str) -> Reading[bool | None]:
        """Whether a whole frame of calls stands in a text, read to its end; None where the text ends within it."""
        try:
            yield from self.format.engine.read(scan, Rehearsal(scan, self._schemas, self._strict), opener)
        except Incomplete:
            return None
        except Malformed:
            return False
        return True

    # --- saying

    def _run(self, kind: type[Content] | type[Reasoning], body: Plain) -> Reading[str]:
        """Text passed on while it arrives, up to a marker, which is returned; empty at the end of the answer."""
        scan = self._scan
        suspect = body.suspect

        def take(text: str) -> list[Event] | None:
            if suspect(text) is not None:
                return None
            start = scan.offset
            scan.offset = start + len(text)
            return [kind(text, start)]

        while True:
            start = scan.position
            said, scan.at, ended = body.read(scan.text, scan.at, scan.closed)
            self._say(kind, said, start)
            if ended or scan.closed:
                return body.stop if ended else ""
            if scan.position >= 0:  # what a prefix held back is not the model's, and told apart by `_say`
                scan.take = take
            yield
            scan.take = None

    def _say(self, kind: type[Content] | type[Reasoning], text: str, start: int) -> None:
        if start < 0 and self._fed and text:  # held back from the prefix
            self.continued.append(kind(text[:-start], start))
            text, start = text[-start:], 0
        if not text:
            return
        last = self._events[-1] if self._events else None
        if isinstance(last, kind) and last.start + len(last.text) == start:
            last.text += text
        else:
            self._calls.flush()
            self._events.append(kind(text, start))

    def _go_on(self) -> list[Event]:
        """Read what can be read by now, and return what it says."""
        self._scan.settle()
        for _ in self._reading:
            break
        self._scan.compact()
        self._calls.flush()
        events = self._events
        said = events[:]
        events.clear()
        return said

    def _begin_inside(self, begun: str) -> None:
        """Read what the prompt already holds of the answer: it is not told again, but for a call that is left open."""
        self._scan.append(begun)
        said = self._go_on()
        self._events.extend(self._calls.left_open(said))
        self._scan.take = None  # so that the first feed tells these events
        closers = {closer for _, closer in self.format.reasoning}
        self.continued = [
            event
            for event in said
            if isinstance(event, (Content, Reasoning)) and event.text.strip() and event.text.strip() not in closers
        ]
