"""The scanner: parse text that arrives in chunks as if it were there as a whole.

The primitives are generators, called with `yield from`. A primitive returns only when more input cannot change its
result; until then it yields, and the driver resumes it with more text. No primitive shows where a chunk ended, so no
engine can depend on it. Text that has been read is dropped, unless `keep` asked for it. The text that is still held is
undecided: a marker, a tag or a name, or what follows a quote and shows whether the string ends there.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from typing import Protocol, TypeAlias, TypeVar

from toolfmt.formats.scanner.literals import Literals, MayEnd, literals
from toolfmt.messages.events import Content, Reasoning, RejectionReason
from toolfmt.messages.rejections import named, one_of

Answer = TypeVar("Answer")
Reading: TypeAlias = Generator["PendingSpan | None", None, Answer]
"""A generator that parses: it yields when it needs more text, with the span that it waits in, if the text streams."""

SPACES = " \t\r\n"
SPACE = re.compile(r"[ \t\r\n]*")
BLANK_LINES = ("\n\n", "\n\r\n")
LONGEST_WORD = 256
"""Maximum number of characters of a name, of a tag, and of a key outside of JSON. None contains a line break."""

BACK = 64
"""Number of characters before a position that `Scan.before` returns."""


class Malformed(Exception):
    """The text is not a call, or continues as no call can.

    Attributes:
        reason: Why the call is rejected, if it is one.
        expected: A phrase for what would have been valid there.
        at: The offset of the first character that cannot continue the call; None for the position of the scanner.
        resumed: Whether the scanner is where parsing continues after the call.
        undecided: Whether more text might have shown that the call continues: the output ended in a lookahead.
    """

    resumed = undecided = False

    def __init__(self, reason: RejectionReason = "malformed_syntax", expected: str = "", at: int | None = None) -> None:
        super().__init__(reason)
        self.reason, self.expected, self.at = reason, expected, at


class NoCall(Malformed):
    """The text is something else, however similar to a call: the definition of a tool."""


class Incomplete(Exception):
    """The output ended before the call was complete. `expected` is a phrase for what was missing."""

    def __init__(self, expected: str = "") -> None:
        super().__init__(expected)
        self.expected = expected


def gradual(*steps: str) -> re.Pattern[str]:
    """Return a pattern for `Scan.begins`, from regular expressions in sequence.

    It also matches if the text ends after one of them. The group `whole` matches only after the last.
    """
    *before, last = steps
    return re.compile("".join(rf"{step}(?:\Z|" for step in before) + f"(?P<whole>{last})" + ")" * len(before))


_QUOTED_WORD = re.compile(r'\Z|"(?:\Z|([\w.:/$@+-]{1,64})(?:\Z|(")))')


class Span(Protocol):
    """Text that is emitted while it arrives: the inside of a string, a raw value, content."""

    may_end: MayEnd
    """Finds the first position in a text that may end the span or needs `read`; None if there is none."""
    encode: Callable[[str], str] | None
    """What text inside the span is emitted as; None if it is emitted unchanged."""
    trigger: str
    """A character that is the first of every possible end, or the second after a character in `before`. A chunk without
    it that does not end with a character in `before` cannot end the span. Empty if there is no such character."""
    before: str
    beginning: Callable[[re.Match[str]], int | None] | None
    """Returns the start of a match of `may_end` that is only a partial end marker; None for a complete one. This
    attribute is None if every match needs `read`."""

    def read(self, text: str, at: int, closed: bool) -> tuple[str, int, bool]:
        """Return the certain text from `at` on as it is emitted, where it ends, and whether the span ends there."""


class OpenCall(Protocol):
    """The call that a span of arguments belongs to."""

    index: int

    @property
    def tolerates_all(self) -> bool:
        """Whether all tolerances may be applied."""


@dataclass(slots=True)
class PendingSpan:
    """The span in which a generator waits, as data for the fast path."""

    scan: Scan
    span: Span
    kind: type[Content] | type[Reasoning] | None = None
    """The event that the text is emitted as; None for arguments."""
    seen: Callable[[str], None] | None = None
    """Receives each text that is emitted as `kind`."""
    calls: OpenCall | None = None
    """The call that the arguments belong to; None if they are buffered."""
    fragments: list[str] | None = None
    """The buffer for arguments, or the arguments of the call that were emitted; None for other text."""
    emits: bool = False
    """Whether arguments are emitted at once."""
    outer: tuple[Scan, ...] = ()
    """In a lookahead, the scanners that the text also belongs to, the driver's first."""
    end: int = sys.maxsize
    """In a lookahead, the offset at which it gives up."""


class Receiver(Protocol):
    """Receives the text of a span."""

    def arguments(self, fragment: str) -> None:
        """Take the next piece."""

    def pending_span(self, span: Span) -> PendingSpan | None:
        """Return the span as the fast path needs it; None if the generator has to see every chunk."""


class Scan:
    """The text that was fed and not read yet, and the primitives that read it."""

    __slots__ = ("_mark", "at", "closed", "cut", "kept", "offset", "scanned", "text")

    def __init__(self, text: str = "", offset: int = 0, closed: bool = False) -> None:
        self.text = text
        self.at = 0
        self.offset = offset
        self.closed = closed
        self.cut = False
        """Whether the runtime stopped the model there. Then a call without end marker is incomplete."""
        self.scanned = 0
        """Number of characters examined so far, repetitions included. A test limits it to a multiple of the input."""
        self.kept: list[str] = []
        self._mark: int | None = offset if closed else None  # a whole text is kept

    # --- for the driver

    def append(self, chunk: str) -> None:
        self.text += chunk
        self.scanned += len(self.text)

    def compact(self) -> None:
        """Drop what has been read."""
        at = self.at
        if at:
            if self._mark is not None:
                begin = self._mark - self.offset
                self.kept.append(self.text[begin if begin > 0 else 0 : at])
            self.text = self.text[at:]
            self.offset += at
            self.at = 0

    @property
    def position(self) -> int:
        return self.offset + self.at

    def keep(self, position: int) -> None:
        """Keep what is read from `position` on, which must not be compacted yet."""
        self._mark, self.kept = position, []

    def forget_before(self, position: int) -> None:
        """Drop what is kept from before `position`."""
        if self._mark is None or position <= self._mark:
            return
        dropped = 0
        while dropped < len(self.kept) and self._mark + len(self.kept[dropped]) <= position:
            self._mark += len(self.kept[dropped])
            dropped += 1
        if dropped:
            self.kept = self.kept[dropped:]
        if not self.kept:
            self._mark = position

    def before(self, text: str, at: int, most: int = BACK) -> str:
        """Return up to `most` characters before an index of `text`, which may be all that a span was given."""
        pieces = [text[max(at - most, 0) : at]]
        for piece in reversed(self.kept):
            if (most := most - len(pieces[-1])) <= 0:
                break
            pieces.append(piece[-most:])
        return "".join(reversed(pieces))

    @property
    def mark(self) -> int | None:
        """The offset from which on the text is kept; None if it is not kept."""
        return self._mark

    def adopt(self, other: Scan) -> None:
        """Take over the state of another scanner of the same text."""
        self.text, self.at, self.offset = other.text, other.at, other.offset
        self.closed, self.cut = other.closed, other.cut
        self._mark, self.kept = other._mark, other.kept[:]

    def release(self) -> None:
        self._mark, self.kept = None, []

    def kept_between(self, begin: int, end: int) -> str:
        """Return the text between two offsets, both at or after the mark."""
        assert self._mark is not None
        kept = "".join(self.kept) + self.text[max(self._mark - self.offset, 0) : self.at]
        return kept[begin - self._mark : end - self._mark]

    def read_between(self, begin: int, end: int) -> str:
        """Return the text between two offsets. Costs as much as the distance back to `begin`, not as all kept text."""
        if self._mark is not None and begin - self._mark < self.offset - begin:
            read = self.kept_between(begin, end)  # most of what is kept
        else:
            first, start = self._piece(begin)
            read = "".join((*self.kept[first:], self.text[: self.at]))[begin - start : end - start]
        self.scanned += len(read)
        return read

    def _piece(self, position: int) -> tuple[int, int]:
        """Return the index of the kept piece that contains an offset or starts after it, and where it starts."""
        kept, first, start = self.kept, len(self.kept), self.offset
        while start > position:
            first -= 1
            start -= len(kept[first])
        return first, start

    def rewind(self, position: int) -> None:
        """Go back to an offset whose text is still held or kept. Costs as much as the distance."""
        if position < self.offset:
            first, start = (0, position) if position == self._mark else self._piece(position)
            text = "".join((*self.kept[first:], self.text))
            cut = position - start
            self.kept[first:] = [text[:cut]] if cut else []
            self.offset, self.text = position, text[cut:]
            self.scanned += len(self.text)
        elif (back := self.offset + self.at - position) > 0:
            self.scanned += back
        self.at = position - self.offset

    # --- the primitives

    def peek(self) -> Reading[str]:
        """Return the next character without reading it; empty at the end of the output."""
        while self.at >= len(self.text):
            if self.closed:
                return ""
            yield None
        return self.text[self.at]

    def need(self, expected: str) -> Reading[str]:
        """Return the next character without reading it. Raises `Incomplete` at the end of the output."""
        while self.at >= len(self.text):
            if self.closed:
                raise Incomplete(expected)
            yield None
        return self.text[self.at]

    def begins(self, pattern: re.Pattern[str], *, again: bool = False) -> Reading[re.Match[str] | None]:
        """Return the match of a short pattern of `gradual` without reading it; None if there is none.

        It waits while the text may still become a match, but not if the text is parsed `again`.
        """
        while True:
            found = pattern.match(self.text, self.at)
            if found is None or found["whole"] is not None:
                return found
            if self.closed or again:
                return None
            yield None

    def quoted_word(self) -> Reading[str]:
        """Read a plain name or key in double quotes, the most frequent form. Otherwise return "" and read nothing."""
        while True:
            found = _QUOTED_WORD.match(self.text, self.at)
            if found is None:
                return ""
            if found[2] is not None:
                self.at = found.end()
                return found[1]
            if self.closed:
                return ""
            yield None

    def skip(self, count: int = 1) -> None:
        """Skip characters that are known to be there."""
        self.at += count

    def take_while(self, pattern: re.Pattern[str], most: int = sys.maxsize) -> Reading[str]:
        """Read the longest run of a pattern of the form `[…]*`, at most `most` characters."""
        parts: list[str] = []
        while True:
            text, at = self.text, self.at
            found = pattern.match(text, at) if most > len(text) else pattern.match(text, at, at + most)
            assert found is not None
            end = found.end()
            self.at = end
            most -= end - at
            if end < len(text) or self.closed or not most:
                return "".join((*parts, found.group())) if parts else found.group()
            if end > at:
                parts.append(found.group())
            yield None

    def word(self, pattern: re.Pattern[str], most: int = LONGEST_WORD) -> Reading[str]:
        """Read a name or a key like `take_while`. Raises `Malformed` if it is longer than `most`."""
        parts: list[str] = []
        room = most
        while True:
            text, at = self.text, self.at
            found = pattern.match(text, at, at + room + 1)
            assert found is not None
            end = found.end()
            if end - at > room:
                self.at = at + room
                raise Malformed(expected=f"a word of at most {most} characters")
            self.at = end
            if end < len(text) or self.closed:
                return "".join((*parts, found.group())) if parts else found.group()
            if end > at:
                parts.append(found.group())
                room -= end - at
            yield None

    def spaces(self) -> Reading[str]:
        """Read whitespace."""
        text, at = self.text, self.at
        if at < len(text):
            if text[at] not in SPACES:
                return ""
            end = SPACE.match(text, at).end()  # type: ignore[union-attr]  # it matches anything
            if end < len(text):
                self.at = end
                return text[at:end]
        elif self.closed:
            return ""
        return (yield from self.take_while(SPACE))

    def skip_spaces(self) -> Iterable[PendingSpan | None]:
        """Skip whitespace. It costs almost nothing if there is none."""
        text, at = self.text, self.at
        if at == len(text):
            return self.take_while(SPACE)
        if text[at] not in SPACES:
            return ()
        end = SPACE.match(text, at).end()  # type: ignore[union-attr]  # it matches anything
        if end == len(text):
            return self.take_while(SPACE)
        self.at = end
        return ()

    def literal(self, wanted: Literals) -> Reading[str]:
        """Read one of the literals. If there is none, return "" and read nothing."""
        while True:
            text, at = self.text, self.at
            if at < len(text):
                if text[at] not in wanted.first:
                    return ""
                if wanted.longest == 1:
                    self.at = at + 1
                    return text[at]
                literal = wanted.match(text, at, self.closed)
                if literal is None:
                    return ""
                if literal:
                    self.at = at + len(literal)
                    return literal
            if self.closed:
                return ""
            yield None

    def expect(self, *wanted: str, also: str = "", key: str | None = None) -> Reading[str]:
        """Read one of the literals. Raises `Malformed` for anything else.

        `expected` of the error also names `also`, which would be valid too, and `key`, after which they stand.
        """
        found = yield from self.literal(literals(*wanted))
        if not found:
            expected = one_of(filter(None, (*wanted, also)))
            if key is not None:
                expected += f" after the key {named(key)}"
            if self.closed and any(literal.startswith(self.text[self.at :]) for literal in wanted):
                raise Incomplete(expected)
            raise Malformed(expected=expected)
        return found

    def until(self, wanted: Literals) -> Reading[tuple[str, str]]:
        """Read up to the first of the literals. Return the text before it, and it; "" at the end of the output."""
        parts: list[str] = []
        while True:
            found = wanted.search(self.text, self.at, self.closed)
            end = len(self.text) if found is None else found[0]
            parts.append(self.text[self.at : end])
            self.at = end
            if found is not None and found[1]:
                self.at += len(found[1])
                return "".join(parts), found[1]
            if self.closed:
                return "".join(parts), ""
            yield None

    def find_near(self, wanted: Literals, most: int) -> Reading[str]:
        """Read up to the first of the literals that starts within `most` characters, and return it.

        If there is none, return "" and read nothing. The text must be kept.
        """
        begin = self.position
        while True:
            last = begin + most - self.offset
            window = self.text[self.at : last + wanted.longest]
            found = wanted.search(window, 0, self.closed)
            end = self.at + (len(window) if found is None else found[0])
            if end > last or (found is None and self.closed):
                self.rewind(begin)
                return ""
            if found is not None and found[1]:
                self.at = end + len(found[1])
                return found[1]
            if self.closed:
                self.rewind(begin)
                return ""
            self.at = end
            yield None

    def within(self, wanted: Literals, most: int = LONGEST_WORD, closer: str = "") -> Reading[tuple[str, str]]:
        """Read a name, a key or a tag like `until`. `closer` is the literal that the format writes there.

        Raises `Malformed` if the text before the literal is longer than `most` or contains a line break, and
        `Incomplete` if the output ends before it or inside `closer`.
        """
        while True:
            found = wanted.search(self.text, self.at, self.closed)
            end = len(self.text) if found is None else found[0]
            if end - self.at > most or "\n" in self.text[self.at : end]:
                line = self.text[self.at : self.at + most].partition("\n")[0]
                expected = one_of((closer,) if closer else sorted(wanted.literals))
                raise Malformed(expected=expected, at=self.position + len(line))
            cut = self.closed and len(self.text) - end < len(closer) and closer.startswith(self.text[end:])
            if found is not None and found[1] and not cut:
                begin, self.at = self.at, end + len(found[1])
                return self.text[begin:end], found[1]
            if self.closed:
                raise Incomplete(one_of((closer,) if closer else sorted(wanted.literals)))
            yield None

    def stream(self, span: Span, receiver: Receiver) -> Reading[bool]:
        """Emit a span while it arrives. Return True at its end, False if the output ended first."""
        while True:
            begin = self.at
            said, self.at, ended = span.read(self.text, begin, self.closed)
            if said:
                receiver.arguments(said)
            if begin < self.at < len(self.text) and not ended:
                continue
            if ended or self.closed:
                return ended
            yield receiver.pending_span(span)
