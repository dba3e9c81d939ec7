"""The driver: one answer of a model, fed in pieces, told as events.

It owns what formats must not disagree on: content before, between and after calls, held-back partial openers, reasoning
blocks, rejection and where reading goes on after it, the end of input. A format's engine reads one frame at a time and
knows nothing of all that. `feed` and `finish` never raise on what a model wrote; `feed` after `finish` is misuse.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Literal, NoReturn

from toolfmt.events import Content, Event, Reasoning
from toolfmt.formats.bodies import Plain
from toolfmt.formats.calls import Calls, Undeclared
from toolfmt.formats.fast_path import pass_over
from toolfmt.formats.format import ToolCallFormat
from toolfmt.formats.frames import read_name
from toolfmt.formats.markers import BLANK_LINES, FENCES, sought
from toolfmt.formats.prefix import answer_prefix
from toolfmt.formats.reasoning_drafts import Drafts
from toolfmt.formats.registry import resolved
from toolfmt.formats.scan import Incomplete, Literals, Malformed, NoCall, Reading, Scan, Stretch, literals
from toolfmt.tools import tool_schemas

_MOST_REJECTED = 400
"""A call that went wrong is rejected up to its closer if that begins within so many characters and before a blank line;
else to where it went wrong, and what follows is the answer's text."""
_MOST_ATTEMPTED = 200
"""What stands behind an opener shows within so many characters that a call was meant; else the opener is text."""
_QUOTATION_ENDS = literals("`", *BLANK_LINES)
_IN_LINE = re.compile(r"[ \t]*")
_LINE_END = literals("\n")
_BEGINS_CALL = re.compile(r"[\w{\[\"'<]")
_TAG_ENDS = re.compile(r"[\"'>\]]*")
_NAMES = re.compile(r"[\w$@][\w.:/$@+-]*")
_AFTER_FINISH = "feed() after finish(): a parser reads one answer; make a new one for the next"


def _stop_strings(given: Iterable[str]) -> Literals | None:
    """What an answer ends at; an empty string ends none."""
    if isinstance(given, str):
        raise TypeError("stop is a collection of strings, not one string")
    strings = tuple(given)
    for one in strings:
        if not isinstance(one, str):
            raise TypeError(f"stop holds strings, not {one!r}")
    return literals(*filter(None, strings)) if any(strings) else None


class Parser:
    """Reads one answer of a model in one format.

    Takes a format or its name; `tools`, the tool definitions in any shape of `toolfmt.tools` (None accepts any name, an
    empty list none); `prefix`, the tail of the prompt, for an answer that begins inside something; `strict`, to reject
    what is usually read generously; `stop`, strings at which the answer ends, for runtimes that hand out the text of
    the stop token; `reasoning`, whether reasoning blocks are told as `Reasoning` events ("events") or stay in the
    content as they were written ("text"). Raises `UnknownFormat`, `BadTools`, and `TypeError` or `ValueError` for an
    option that is none; never on text.
    """

    # What a parser begins with stands here, not in `__init__`: a short call notices what one costs to make.
    _fed = _finished = False
    _state: Literal["answer", "content", "call", "reasoning", "again"] = "answer"
    """What the reading is in: beside calls and blocks, content, a frame of calls, a block, or a block's opener."""
    _beside_call = False
    _behind_call = False
    """Whether a call has ended here."""
    _within: int | None = None
    """In a copy made within a frame behind its first call: how long the opening of that frame is; it may be empty."""
    _closing = ""
    """What closes the part for the user that is open."""
    _fence = ""
    """What has opened the fence that the content stands in."""
    _fence_line = False
    """Whether it still stands in the fence's first line."""
    _content_begins = 0
    _unstopped = ""
    """The end of what was fed, which may be the beginning of a stop string."""
    _text: Content | Reasoning | None = None
    """The text event that is being told, and in `_parts` its parts: they are joined once, however many they are."""
    _text_ends = 0
    _block_closers: tuple[str, ...] = ()

    def __init__(
        self,
        format: str | ToolCallFormat,
        *,
        tools: object = None,
        prefix: str = "",
        strict: bool = False,
        stop: Iterable[str] | None = (),
        reasoning: Literal["events", "text"] = "events",
    ) -> None:
        if reasoning not in ("events", "text"):
            raise ValueError(f'reasoning is "events" or "text", not {reasoning!r}')
        if not isinstance(prefix, str):
            raise TypeError(f"prefix is the prompt's tail as a str, not {type(prefix).__name__}")
        self.format = resolved(format)
        self._markers = self.format.markers
        begins_with = ""
        if prefix:
            begins_with = self._without_closer(answer_prefix(prefix, self._markers.of_answers, self.format.headers))
        self.continued: list[Event] = []
        """What the prefix already holds of this answer: content and reasoning that the model did not write just now."""
        self._scan = Scan(offset=-len(begins_with))
        schemas = None if tools is None else tool_schemas(tools)
        sign = self.format.engine.named
        self._sought = sought(self._markers, tuple(name + sign for name in schemas or ()) if sign else ())
        self._calls = Calls(self._scan, schemas, strict, self._markers.ends)
        self._events = self._calls.events
        self._verbatim = reasoning == "text"
        self._stop = _stop_strings(stop) if stop else None
        self._parts: list[str] = []
        self._name_at_start = self.format.name_at_start != "never"
        self._reading: Iterator[Stretch | None] = self._answer()
        self._waiting = next(self._reading)
        """The stretch that the reading waits in; None where it has to see every chunk."""
        if begins_with:
            self._begin_inside(begins_with)
        self._fed = True

    def feed(self, text: str) -> list[Event]:
        """More of the answer. Returns the events that are certain by now."""
        if self._stop is not None:
            self._check(text)
            text, ended = self._before_stop(text, self._stop)
            if ended:
                return self._end_with(text)
        stretch = self._waiting
        if stretch is not None and text:  # the answer has not ended
            try:
                events = pass_over(stretch, text, self._calls)
            except TypeError:
                self._check(text)
                raise
            if events is not None:
                return events
        if self._scan.closed or not isinstance(text, str):
            self._check(text)
            return []  # a stop string has ended the answer
        self._scan.append(text)
        return self._go_on()

    def _end_with(self, text: str) -> list[Event]:
        """As `feed`, of the last text before a stop string."""
        self._stop = None
        events = self.feed(text)
        self._scan.closed = True
        return events + self._go_on()

    def _check(self, text: object) -> None:
        if self._finished:
            raise RuntimeError(_AFTER_FINISH)
        if not isinstance(text, str):
            raise TypeError(f"feed() takes a str, not {type(text).__name__}")

    def finish(self, *, cut: bool = False) -> list[Event]:
        """The answer has ended. Returns what was held back; a second call returns nothing.

        With `cut` the runtime stopped the model (at its limit of tokens): a call that is open is `incomplete_output`
        then, even where it would pass for whole but for its closer.
        """
        if self._scan.closed:
            self._finished = True
            return []
        if self._unstopped:
            self._scan.append(self._unstopped)
            self._unstopped = ""
        self._finished = self._scan.closed = True
        self._scan.cut = cut
        return self._go_on()

    def _before_stop(self, text: str, stop: Literals) -> tuple[str, bool]:
        """What may be read of an answer that ends at a stop string, and whether it ends there.

        A stop string that is a marker of the format (a call's closer) is read as that.
        """
        if not self._unstopped and stop.may_end(text) is None:
            return text, False
        text = self._unstopped + text
        begin, literal = stop.search(text, 0, False) or (len(text), "")
        self._unstopped = "" if literal else text[begin:]
        return text[: begin + len(literal) if literal in self._markers.in_answers else begin], bool(literal)

    def copy(self) -> Parser:
        """Another parser that has read the same: what one is fed, the other does not see. Costs at most what the open
        call is long."""
        calls, scan = self._calls, self._scan
        self._catch_up()
        twin = object.__new__(Parser)
        twin.__dict__.update(self.__dict__)
        start, text = scan.offset, scan.text
        head = calls.head if self._state == "call" else None
        if scan.mark is not None:
            start = scan.mark if head is None else calls.begins
            text = scan.kept_between(start, scan.position) + scan.text[scan.at :]
            if head and text.lstrip().startswith(head):
                head = None  # each call has its own
        twin._scan = Scan(offset=start - len(head or ""))
        twin._calls = calls.copy(twin._scan)
        twin._events = twin._calls.events
        twin._drafts = self._drafts.copy(twin._scan, twin._calls)
        twin.continued, twin._text, twin._parts, twin._fed = [], None, [], False
        in_call = self._state == "call"
        if in_call:
            twin._state = "answer"
        twin._reading = twin._answer()
        twin._waiting = next(twin._reading)
        if not self._finished or not scan.closed:
            twin._calls.committed = in_call and calls.was_committed
            twin._within = None if head is None else len(head)
            twin._scan.append((head or "") + text)
            twin._go_on()
        twin._scan.adopt(scan)
        twin._calls.adopt(calls)
        twin.continued, twin._fed = list(self.continued), True
        twin._drafts = self._drafts.copy(twin._scan, twin._calls)
        twin._tell_first()
        if scan.closed:  # by a stop string: nothing is read any more
            twin._waiting = None
        return twin

    def _catch_up(self) -> None:
        """Read what the fast path has left for the next piece; what that says is told with it."""
        scan = self._scan
        if scan.mark is None and self._state == "answer" and not scan.closed:
            self._waiting = next(self._reading, None)  # nothing was fed: the reading has not begun
        if self._waiting is not None and scan.text:
            self._waiting = next(self._reading, None)
            scan.compact()
            self._calls.flush()
            self._join()
            self._tell_first()

    def _tell_first(self) -> None:
        """The fast path tells its own piece alone: what is still to be told keeps the next one from it."""
        if self._events:
            self._waiting = None

    @property
    def waiting_for(self) -> str:
        """What the reading is inside of, as a sentence."""
        if self._scan.closed:
            return "The answer has ended."
        held = self._unstopped or (self._scan.text if self._state == "content" else "")
        behind = f"; {held!r} may be the beginning of a marker" if held else ""
        if self._state == "call":
            return self._calls.waiting_for
        if self._state == "content":
            return f"Content{behind}."
        if self._state == "answer":
            return "Content, a call or a reasoning block may begin here."
        return f"A reasoning block, up to {' or '.join(self._block_closers)}."

    __copy__ = copy

    def __deepcopy__(self, memo: object) -> Parser:
        return self.copy()

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a Parser is a reading in progress and cannot be pickled: "
            "send the text that it was fed, or copy it with copy() in the same process"
        )

    @property
    def scanned_characters(self) -> int:
        """Characters looked at so far, each counted as often as it was: a small multiple of what was fed."""
        return self._scan.scanned + self._scan.position

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
        scan, marks, look = self._scan, self._markers, self._sought
        yield None
        if self._state == "content" and not (yield from self._content_and_call()):
            return
        if self._state in ("reasoning", "again"):
            yield from self._block()
        while True:
            self._state = "answer"
            begin = scan.position
            scan.keep(begin)
            spaces = yield from scan.spaces()
            if scan.closed and scan.at == len(scan.text):
                if not self._beside_call:
                    self._say(Content, spaces, begin)
                return
            here = scan.position
            if self._behind_call:
                left = scan.text[scan.at : scan.at + 1] in marks.residue.first
                self._behind_call = left and (yield from self._residue(here))
                if self._behind_call:
                    continue
            opener = yield from scan.literal(look.at_start)
            if opener not in look.calls and not (not opener and self._name_at_start):
                scan.release()
            ignored = opener in marks.ignored_markers or (opener in marks.ignored_at_start and begin == 0)
            if opener in marks.reasoning:
                if (
                    not self._beside_call and not marks.start_only_openers
                ):  # else a message begins, wherever its header stands
                    self._say(Content, spaces, begin)
                self._mark(opener, here)
                self._state, self._block_closers, self._drafts.looked_at = "again", marks.reasoning[opener], 0
                yield from self._block()
            elif (opener in look.calls or (not opener and self._name_at_start)) and (
                yield from self._call(opener, here)
            ):
                self._beside_call, self._name_at_start = True, False
            elif ignored or (opener and opener == self._closing):
                if opener not in marks.ignored_markers and opener in marks.reasoning_closers:
                    self._mark(opener, here)
                self._beside_call = True
            elif opener in marks.content_markers:
                self._beside_call, self._closing = True, marks.content_markers[opener]
            else:
                self._say(Content, spaces, begin)
                self._say(Content, opener, here)
                if look.fences and opener in FENCES:
                    self._fence, self._fence_line = opener, True
                self._content_begins = scan.position
                if not (yield from self._content_and_call()):
                    return

    def _residue(self, begin: int) -> Reading[bool]:
        """Reads what a model has left behind its call, and says nothing; else nothing is read."""
        scan = self._scan
        found = ""
        while True:
            more = yield from scan.literal(self._markers.residue)
            yield from scan.take_while(_IN_LINE)
            if not more:
                break
            found = more
        here = scan.position
        if found and (found in self._markers.again or (yield from scan.peek()) in ("", "\r", "\n", "<")):
            return True
        opens = found and (yield from scan.literal(literals(*self.format.openers)))
        scan.rewind(here if opens else begin)
        return bool(opens)

    def _content_and_call(self) -> Reading[bool]:
        """As `_content`; behind it stands a call or a marker that says nothing."""
        goes_on = yield from self._content()
        self._beside_call, self._name_at_start = True, False
        return goes_on

    def _block(self) -> Reading[None]:
        """A reasoning block, behind its opener; text stands behind it, not a call."""
        if self._state == "again":
            yield from self._opened_again()
        self._state = "reasoning"
        yield from self._reason(self._block_closers)
        self._beside_call = False

    def _content(self) -> Reading[bool]:
        """Content up to the next call, and the call, or to a marker that says nothing. False at the end of the answer.

        An opener right behind a backtick may be quoted.
        """
        marks, look = self._markers, self._sought
        while True:
            self._state = "content"
            wanted = look.in_content
            if self._fence:
                wanted = look.at_fence if self._fence_line else look.in_program
            wanted = literals(*wanted.literals, self._closing) if self._closing else wanted
            found = yield from self._run(Content, Plain(wanted))
            if not found:
                return False
            if found == self._closing:
                if found not in marks.ignored_markers and found in marks.reasoning_closers:
                    self._mark(found, self._scan.position - len(found))
                self._closing = ""
                return True
            opener = look.opener_in.get(found, found)
            before = found.removesuffix(opener)
            here = self._scan.position - len(opener)
            self._say(Content, before, here - len(before))
            first = here - len(before) == self._content_begins or before.startswith("\n")
            in_line, self._fence_line = self._fence_line and found[0] != "\n", False
            if look.fences and opener in FENCES:
                if not self._fence and first and opener in look.calls and (yield from self._call(opener, here)):
                    return True
                if (yield from self._fence_ends(found, opener, in_line, first)) if self._fence else first:
                    self._fence, self._fence_line = "" if self._fence else opener, not self._fence
                self._say(Content, opener, here)
                continue
            if before.strip("\n") == "`" and (yield from self._quotation(before, opener, first)):
                continue
            if opener in marks.between:
                if (yield from self._drafts.message_begins(opener, here)):
                    return True
            elif (opener in look.calls and (yield from self._call(opener, here))) or opener in marks.ignored_markers:
                return True
            self._say(Content, opener, here)

    def _fence_ends(self, found: str, mark: str, in_line: bool, first: bool) -> Reading[bool]:
        """Whether a mark, read with what stands before it, closes the fence: alone in its line, or in the line of its
        opener, which was inline code then."""
        scan, behind = self._scan, self._scan.position
        if in_line or not first or not mark.startswith(self._fence):
            return in_line and mark[0] == self._fence[0]
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
        scan = self._scan
        begin = scan.position
        scan.keep(begin - len(before + opener))
        found = yield from scan.near(_QUOTATION_ENDS, _MOST_REJECTED)
        quoted = found == "`"
        if quoted:
            text = scan.kept_between(begin, scan.position)
            meant = first and opener in self._markers.calls
            quoted = not (meant and (yield from self._drafts.stands(Scan(text[:-1], closed=True), opener)))
            if quoted:
                self._say(Content, opener + text, begin - len(opener))
        if not quoted:
            scan.rewind(begin - len(opener))  # the opener's text is still needed: a call keeps it
            scan.at += len(opener)
        scan.release()
        return quoted

    def _call(self, opener: str, begin: int) -> Reading[bool]:
        """A frame of calls. False where none stands after all: everything behind the opener is unread again."""
        scan, calls = self._scan, self._calls
        framed = opener in self._markers.framing
        outside, self._state = self._state, "call"
        if outside != "answer":
            scan.keep(begin)
        calls.begin_frame(begin, opener if framed else "")
        if not framed:
            scan.rewind(begin)
        within, self._within = self._within, None
        reads, again, back = True, False, begin + (len(opener) if within is None else within)
        while True:
            try:
                yield from self.format.engine.read(scan, calls, opener if framed else "")
                calls.close()
            except Malformed as wrong:
                first = framed and within is None and back == begin + len(opener) and not isinstance(wrong, NoCall)
                attempted = not calls.committed and first and (yield from self._attempted(back))
                reads, again = calls.committed or attempted, False
                if reads:
                    again = framed and (yield from self._resume(attempted))
                    if scan.position > calls.begins:
                        calls.reject(wrong.reason)
                    else:  # nothing was read: another opener that goes wrong where it stands would be met for ever
                        again = False
                        calls.forget()
            except Undeclared:
                back, reads, again = max(back, calls.begins), False, False
            except Incomplete:
                scan.at = len(scan.text)
                reads = calls.committed or (
                    framed and (scan.cut or scan.kept_between(back, scan.position).strip() != "")
                )
                again = False
                if reads:
                    calls.reject("incomplete_output")
            else:
                again, self._behind_call = False, True
            if not again:
                break
            back = scan.position
            calls.begin_at(back)
        if not reads:
            calls.forget()
            scan.rewind(back)
        scan.release()
        self._state = outside
        return reads or within is not None or back > begin + len(opener)

    def _attempted(self, begin: int) -> Reading[bool]:
        """Whether what stands from here on, behind an opener, was meant as a call, though it is none.

        It was where a declared name comes first, or where a call's opener, or a closer with a declared name before it,
        comes soon. Prose that names the opener goes on with a blank or a sign behind it, or with words behind the name.
        """
        scan, calls, marks = self._scan, self._calls, self._markers
        if not calls.declared:
            return False
        wrong = scan.position
        scan.rewind(begin)
        spaces = yield from scan.spaces()
        if (yield from scan.literal(marks.one_call)):
            spaces = yield from scan.spaces()
        here = scan.position
        attempted = False
        first = yield from scan.peek()
        try:
            name = yield from read_name(scan)
        except Malformed:
            name = ""
        if any(blank in spaces for blank in BLANK_LINES):
            pass
        elif not spaces.strip("\r\n") and calls.names(name.rstrip(":.,")):
            yield from scan.take_while(_TAG_ENDS)
            rest = yield from scan.spaces()
            prose = rest.strip("\r\n") and name[-1:] != ":" and (yield from scan.peek()).isalpha()
            attempted = not prose and not any(blank in rest for blank in BLANK_LINES)
        elif (not spaces or "\n" in spaces) and _BEGINS_CALL.match(first):
            scan.rewind(here)
            found = yield from scan.near(marks.of_calls, _MOST_ATTEMPTED)
            text = scan.kept_between(here, scan.position)
            attempted = found in marks.inner.openers or (
                found not in ("", *BLANK_LINES, *self.format.openers) and any(map(calls.names, _NAMES.findall(text)))
            )
        scan.rewind(wrong)
        return attempted

    def _resume(self, attempted: bool) -> Reading[bool]:
        """Where reading goes on after a call that went wrong: behind its closer, if that comes soon and before another
        frame; else where it went wrong, or at the end of the line where all of it was no more than an attempt.

        True where another call of the same frame stands there.
        """
        scan, inner = self._scan, self._markers.inner
        wrong = scan.position
        found = yield from scan.near(self._markers.resuming, _MOST_REJECTED)
        if attempted and found in ("", *BLANK_LINES, *self.format.openers):
            scan.rewind(wrong)
            found = yield from scan.near(_LINE_END, _MOST_REJECTED)
            scan.rewind(scan.position - len(found))
            if found:
                return False
        ended = scan.closed and len(scan.text) - scan.at <= _MOST_REJECTED
        if not found and ended and (attempted or self._markers.start_only_openers):
            scan.at = len(scan.text)  # the message ends with the answer
            return False
        if found in inner.closers:
            behind = literals(*self._markers.frame_closers, *inner.openers, *inner.skipped)
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
        if found in self._markers.ignored_markers and self._markers.start_only_openers:
            scan.rewind(scan.position - len(found))  # the message ends here
        else:
            scan.rewind(wrong)
        return False

    # --- reasoning

    @cached_property
    def _drafts(self) -> Drafts:
        return Drafts(self.format, self._scan, self._calls)

    def _reason(self, closers: tuple[str, ...]) -> Reading[None]:
        """A reasoning block up to its closer; or, if it is never closed, up to the call that ended it."""
        scan, drafts = self._scan, self._drafts
        wanted = literals(*closers, *self.format.openers, *self._markers.messages)
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
                    draft, self._closing, closed = "", closed, ""
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
        scan = self._scan
        openers = literals(*self._markers.reasoning)
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
        scan = self._scan
        if self._verbatim:
            kind = Content
        waiting = Stretch(scan, body, kind)
        while True:
            start = scan.position
            said, scan.at, ended = body.read(scan.text, scan.at, scan.closed)
            self._say(kind, said, start)
            if ended or scan.closed:
                return body.found if ended else ""
            yield waiting if scan.position >= 0 else None  # what a prefix held back is told apart by `_say`

    def _say(self, kind: type[Content] | type[Reasoning], text: str, start: int) -> None:
        if self._verbatim:
            kind = Content
        if start < 0 and self._fed and text:  # held back from the prefix
            self.continued.append(kind(text[:-start], start))
            text, start = text[-start:], 0
        if not text:
            return
        if isinstance(self._text, kind) and self._text_ends == start and self._events[-1] is self._text:
            self._parts.append(text)
        else:
            self._calls.flush()
            self._join()
            self._text, self._parts = kind(text, start), [text]
            self._events.append(self._text)
        self._text_ends = start + len(text)

    def _mark(self, marker: str, start: int) -> None:
        """A marker of a reasoning block, which says nothing; it stays in the content where the block does."""
        if self._verbatim:
            self._say(Content, marker, start)

    def _join(self) -> None:
        """The text event that is being told has all its parts."""
        if self._text is not None and len(self._parts) > 1:
            self._text.text = "".join(self._parts)
        self._text, self._parts = None, []

    def _go_on(self) -> list[Event]:
        """Read what can be read by now, and return what it says."""
        scan = self._scan
        self._waiting = next(self._reading, None)
        if scan.at:
            scan.compact()
        self._calls.flush()
        if self._text is not None:
            self._join()
        events = self._events
        if not events:
            return []
        said = events[:]
        events.clear()
        return said

    def _begin_inside(self, begun: str) -> None:
        """Read what the prompt already holds of the answer: it is not told again, but for a call that is left open."""
        self._scan.append(begun)
        said = self._go_on()
        self._events.extend(self._calls.left_open(said))
        self._tell_first()
        closers = {closer for _, closer in self.format.reasoning}
        self.continued = [
            event
            for event in said
            if isinstance(event, (Content, Reasoning)) and event.text.strip() and event.text.strip() not in closers
        ]
