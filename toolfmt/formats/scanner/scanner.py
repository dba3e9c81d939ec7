"""The scanner: text that arrives in pieces, read as if it were whole.

Engines call its verbs with `yield from`. A verb answers only when more input cannot change the answer; until then it
yields, and the driver resumes it with more text. No verb tells where a chunk ended, so no engine can depend on it. What
has been read is dropped, unless `keep` asked for it; the text still held is what is not yet decided: a marker, a tag or
a name, the blanks or the characters behind a quote that show whether the string ends there.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol, TypeAlias, TypeVar

from toolfmt.messages.events import Content, Reasoning, RejectionReason
from toolfmt.messages.rejections import named, one_of

Answer = TypeVar("Answer")
MayEnd: TypeAlias = Callable[[str], "re.Match[str] | None"]
Reading: TypeAlias = Generator["PendingSpan | None", None, Answer]
"""A reading in progress: yields where it needs more text, with the stretch that it waits in, if it is one that streams;
returns its answer."""

SPACE = re.compile(r"[ \t\r\n]*")
BLANK_LINES = ("\n\n", "\n\r\n")
LONGEST_WORD = 256
"""No name or tag of a call, and no key but JSON's, is longer than so many characters; none goes over a line's end."""

_BACK = 64


class Malformed(Exception):
    """What stands here is no call, or goes on as none can; a reason other than the general one may be given.

    Attributes:
        reason: Why the call is rejected, if it is one.
        expected: A phrase for what would have been valid there.
        at: The offset of the first character that cannot continue the call; None for the position of the scanner.
    """

    def __init__(self, reason: RejectionReason = "malformed_syntax", expected: str = "", at: int | None = None) -> None:
        super().__init__(reason)
        self.reason, self.expected, self.at = reason, expected, at


class NoCall(Malformed):
    """What stands here is something else, however much it looks like a call: the definition of a tool."""


class Incomplete(Exception):
    """The answer ended where a call needed more: `expected` is a phrase for what."""

    def __init__(self, expected: str = "") -> None:
        super().__init__(expected)
        self.expected = expected


class Literals:
    """A set of literal strings to look for, with an eye on one that begins at the end of the text.

    The open pattern is a trie in which every node also matches at the end of the text, so one search answers both
    "here is one" and "here one may be beginning".
    """

    __slots__ = ("_closed", "_extendable", "_open", "before", "first", "literals", "longest", "may_end", "sign")

    def __init__(self, literals: tuple[str, ...]) -> None:
        self.literals = frozenset(literals)
        self.first = frozenset(literal[0] for literal in literals)
        self.longest = max(map(len, literals), default=0)
        self._extendable = {
            short: any(long != short and long.startswith(short) for long in self.literals) for short in self.literals
        }
        """Each literal, and whether it may also be the beginning of another."""
        self.sign, self.before = _sign(self.literals)
        """A character that every literal begins with, or has behind one of those before it: where a text lacks it and
        does not end in one of those, `may_end` need not be asked. Empty where there is none."""

    _closed: re.Pattern[str]
    _open: re.Pattern[str]
    may_end: MayEnd
    """Where the first of the literals stands in a text, or may be beginning at its end."""

    def __getattr__(self, name: str) -> Any:
        """A pattern when it is first asked for: most formats are looked through without ever searching for all of
        their literals, and to compile them takes most of the time of a first parser."""
        if name == "_closed":
            longest_first = sorted(self.literals, key=lambda literal: (-len(literal), literal))
            self._closed = re.compile("|".join(map(re.escape, longest_first)) or r"(?!)")
        elif name == "_open":
            self._open = re.compile(_trie(self.literals))
        elif name == "may_end":
            self.may_end = self._open.search
        else:
            raise AttributeError(name)
        return object.__getattribute__(self, name)

    def search(self, text: str, at: int, closed: bool) -> tuple[int, str] | None:
        """Where the first literal stands, and which; an empty one where the end of the text may begin one."""
        found = (self._closed if closed else self._open).search(text, at)
        if found is None:
            return None
        literal = found.group()
        if not closed and found.end() == len(text) and self._extendable.get(literal, True):
            literal = ""  # not all of it is there, or it may be the beginning of a longer one
        return found.start(), literal

    def beginning(self, found: re.Match[str]) -> int | None:
        """Where what was suspected begins, if it is no more than what may be the beginning of a literal."""
        whole = found.end() < len(found.string) or found.group() in self.literals
        return None if whole else found.start()

    def match(self, text: str, at: int, closed: bool) -> str | None:
        """The literal that stands at this very place; an empty one where the end of the text may begin one."""
        found = (self._closed if closed else self._open).match(text, at)
        if found is None:
            return None
        if not closed and found.end() == len(text) and self._extendable.get(found.group(), True):
            return ""
        return found.group()


@lru_cache(maxsize=2048)
def literals(*literals: str) -> Literals:
    """The `Literals` of these literals, compiled once. For literals of formats, not for what a model wrote."""
    return Literals(literals)


def _sign(literals: frozenset[str]) -> tuple[str, str]:
    signs = {sign for literal in literals for sign in literal[:2]}
    for sign in sorted(signs, key=lambda sign: (-sum(literal[0] == sign for literal in literals), sign)):
        if all(sign in literal[:2] for literal in literals):
            return sign, "".join(sorted({literal[0] for literal in literals} - {sign}))
    return "", ""


_DEEPEST = 48
"""A trie goes no deeper: every node is a group in another, and the compiler of expressions gives up at some hundred."""


def _trie(literals: frozenset[str]) -> str:
    tree: dict[str, Any] = {}
    for literal in literals:
        node = tree
        for character in literal[:_DEEPEST]:
            node = node.setdefault(character, {})
        node[literal[_DEEPEST:]] = {}

    def pattern(node: dict[str, Any], depth: int = 0) -> str:
        if depth == _DEEPEST:  # the rests of long literals; what may still become one waits a little longer
            rests = sorted((key for key in node if key), key=len, reverse=True)
            waiting = [rf"[\s\S]{{0,{len(rests[0]) - 1}}}\Z"] if rests else []
            branches = [*map(re.escape, rests[:1]), *waiting, *map(re.escape, rests[1:])]
        else:
            branches = [re.escape(key) + pattern(child, depth + 1) for key, child in sorted(node.items()) if key]
        if "" in node:
            branches.append("")
        elif depth and depth < _DEEPEST:
            branches.append(r"\Z")
        return branches[0] if len(branches) == 1 else "(?:" + "|".join(branches) + ")"

    return pattern(tree) if tree else r"(?!)"


def gradual(*steps: str) -> re.Pattern[str]:
    """A pattern for `Scan.begins`, of regular expressions that follow each other: it may end with the text behind each
    of them, and is whole behind the last."""
    *before, last = steps
    return re.compile("".join(rf"{step}(?:\Z|" for step in before) + f"(?P<whole>{last})" + ")" * len(before))


_QUOTED_WORD = re.compile(r'\Z|"(?:\Z|([\w.:/$@+-]{1,64})(?:\Z|(")))')


class Span(Protocol):
    """A stretch of text that is passed on while it arrives: the inside of a string, a raw value, content."""

    may_end: MayEnd
    """The first place in a text that may be the end of the stretch, or is doubtful; None where it has none."""
    encode: Callable[[str], str] | None
    """What such a text stands for; None where it stands for itself."""
    sign: str
    """A character without which a text lies plainly inside if it does not end in one of `before`; empty where there is
    none."""
    before: str
    beginning: Callable[[re.Match[str]], int | None] | None
    """Where such a place begins, if it may only become the end of the stretch; None where it is more. Nothing stands
    here where every such place has to be read."""

    def read(self, text: str, at: int, closed: bool) -> tuple[str, int, bool]:
        """What stands from `at` on, up to where it is certain; where that is; and whether the stretch ended there."""


class OpenCall(Protocol):
    """The call whose arguments a stretch is part of."""

    index: int
    emitting: bool
    """Whether its arguments are emitted: it is not rejected."""
    strict: bool


@dataclass(slots=True)
class PendingSpan:
    """What a reading waits in, as data: the fast path passes over a chunk that does not end it."""

    scan: Scan
    body: Span
    kind: type[Content] | type[Reasoning] | None = None
    """What the text is said as; None for arguments."""
    calls: OpenCall | None = None
    """Whose open call the arguments are; of some that are gathered that is not known."""
    fragments: list[str] | None = None
    """Where arguments go that are not said yet; None where they are said as the open call's."""
    outer: tuple[Scan, ...] = ()
    """The scanners whose text is read ahead in `scan`, the driver's own first."""
    end: int = sys.maxsize
    """Up to where they may be read ahead."""


class Receiver(Protocol):
    """Who is told a stretch of arguments."""

    def arguments(self, fragment: str) -> None:
        """More of it."""

    def pending_span(self, body: Span) -> PendingSpan | None:
        """The stretch in which a reading of this body waits; None where it has to see every chunk."""


class Scan:
    """The text fed so far and not yet read, and the verbs that read it."""

    __slots__ = ("_mark", "at", "closed", "cut", "kept", "offset", "scanned", "text")

    def __init__(self, text: str = "", offset: int = 0, closed: bool = False) -> None:
        self.text = text
        self.at = 0
        self.offset = offset
        self.closed = closed
        self.cut = False
        """Whether the runtime stopped the model there, so that what lacks its closer at the end is not whole."""
        self.scanned = 0
        """Characters handed to the verbs so far, counted anew for each piece: a test holds it to a multiple of what
        was fed."""
        self.kept: list[str] = []
        self._mark: int | None = None

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
        """From here on remember what is read, from `position` (at or after the last compacted place)."""
        self._mark, self.kept = position, []

    def forget_before(self, position: int) -> None:
        """Of what is kept, only what was read from `position` on is still needed."""
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

    def before(self, text: str, at: int) -> str:
        """What stands before a place in the text that is being read, a few words of it at most; for a body,
        which is handed only what has just arrived."""
        found = text[max(at - _BACK, 0) : at]
        for piece in reversed(self.kept):
            if len(found) >= _BACK:
                break
            found = piece[len(found) - _BACK :] + found
        return found

    @property
    def mark(self) -> int | None:
        """From where on what is read is kept; None where it is not."""
        return self._mark

    def adopt(self, other: Scan) -> None:
        """Stand where another stands, whose text has been read again."""
        self.text, self.at, self.offset = other.text, other.at, other.offset
        self.closed, self.cut = other.closed, other.cut
        self._mark, self.kept = other._mark, other.kept[:]

    def release(self) -> None:
        self._mark, self.kept = None, []

    def kept_between(self, begin: int, end: int) -> str:
        """What was read from one position to another, both at or after the mark."""
        assert self._mark is not None
        kept = "".join(self.kept) + self.text[max(self._mark - self.offset, 0) : self.at]
        return kept[begin - self._mark : end - self._mark]

    def read_between(self, begin: int, end: int) -> str:
        """As `kept_between`; costs as much as the way back is long, where that costs what all that is kept does."""
        if self._mark is not None and begin - self._mark < self.offset - begin:
            read = self.kept_between(begin, end)  # most of what is kept: its pieces need not be gone through
        else:
            first, start = self._piece(begin)
            read = "".join((*self.kept[first:], self.text[: self.at]))[begin - start : end - start]
        self.scanned += len(read)
        return read

    def _piece(self, position: int) -> tuple[int, int]:
        """Which of the pieces that are kept holds a place, or begins behind it, and where it begins."""
        kept, first, start = self.kept, len(self.kept), self.offset
        while start > position:
            first -= 1
            start -= len(kept[first])
        return first, start

    def rewind(self, position: int) -> None:
        """Go back to a place that is still held or kept; costs as much as the way back is long."""
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

    # --- the verbs

    def peek(self) -> Reading[str]:
        """The next character, unread; empty at the end of the answer."""
        while self.at >= len(self.text):
            if self.closed:
                return ""
            yield None
        return self.text[self.at]

    def need(self, expected: str) -> Reading[str]:
        """The next character, unread; the end of the answer makes the call incomplete."""
        while self.at >= len(self.text):
            if self.closed:
                raise Incomplete(expected)
            yield None
        return self.text[self.at]

    def begins(self, pattern: re.Pattern[str], *, again: bool = False) -> Reading[re.Match[str] | None]:
        """The match of a short pattern here, unread. The pattern has a group `whole` at its end, and matches without it
        where the text ends within it: then more is waited for, but not where the text is read `again`."""
        while True:
            found = pattern.match(self.text, self.at)
            if found is None or found["whole"] is not None:
                return found
            if self.closed or again:
                return None
            yield None

    def quoted_word(self) -> Reading[str]:
        """A name or a key as they most often stand in JSON, read with its quotes: one look tells. Else an empty string,
        and nothing is read."""
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
        """Read characters that `peek` or `literal` has shown to be there."""
        self.at += count

    def take_while(self, pattern: re.Pattern[str], most: int = sys.maxsize) -> Reading[str]:
        """The longest run that a pattern of the form `[…]*` matches here, but no more than so many characters."""
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
        """As `take_while`, for a name or a key: malformed where the run is longer than that."""
        parts: list[str] = []
        while True:
            text, at = self.text, self.at
            found = pattern.match(text, at, at + most + 1)
            assert found is not None
            end = found.end()
            if end - at > most:
                self.at = at + most
                raise Malformed(expected=f"a word of at most {most} characters")
            self.at = end
            if end < len(text) or self.closed:
                return "".join((*parts, found.group())) if parts else found.group()
            if end > at:
                parts.append(found.group())
                most -= end - at
            yield None

    def spaces(self) -> Reading[str]:
        """The blanks, tabs and line ends that stand here."""
        if self.text[self.at] not in " \t\r\n" if self.at < len(self.text) else self.closed:
            return ""
        return (yield from self.take_while(SPACE))

    def skip_spaces(self) -> Iterable[PendingSpan | None]:
        """As `spaces`, for callers that do not need them: costs next to nothing where none stand."""
        text, at = self.text, self.at
        if at == len(text):
            return self.take_while(SPACE)
        if text[at] not in " \t\r\n":
            return ()
        end = SPACE.match(text, at).end()  # type: ignore[union-attr]  # it matches anything
        if end == len(text):
            return self.take_while(SPACE)
        self.at = end
        return ()

    def literal(self, wanted: Literals) -> Reading[str]:
        """The literal that stands here, read; or an empty string, and nothing is read."""
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
        """One of the literals, read; anything else is malformed. `also` is another one that would be valid here, and
        `key` the key that they follow: what was expected names both."""
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
        """The text before the first of the literals, and that literal, both read; no literal at the answer's end."""
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
        """The first of the literals that begins within so many characters, read with what stands before it; or an empty
        string, and nothing is read. What is read must be kept."""
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
        """As `until`, for a name, a key or a tag: malformed as soon as the text before the literal is longer than that,
        or goes over a line's end; incomplete where the answer ends before it. Of the literals, `closer` is the one that
        the format writes there."""
        while True:
            found = wanted.search(self.text, self.at, self.closed)
            end = len(self.text) if found is None else found[0]
            if end - self.at > most or "\n" in self.text[self.at : end]:
                line = self.text[self.at : self.at + most].partition("\n")[0]
                expected = one_of((closer,) if closer else sorted(wanted.literals))
                raise Malformed(expected=expected, at=self.position + len(line))
            if found is not None and found[1]:
                begin, self.at = self.at, end + len(found[1])
                return self.text[begin:end], found[1]
            if self.closed:
                raise Incomplete(one_of((closer,) if closer else sorted(wanted.literals)))
            yield None

    def stream(self, body: Span, receiver: Receiver) -> Reading[bool]:
        """Pass a stretch on while it arrives. True at its end, False where the answer ended first."""
        while True:
            begin = self.at
            said, self.at, ended = body.read(self.text, begin, self.closed)
            if said:
                receiver.arguments(said)
            if begin < self.at < len(self.text) and not ended:
                continue
            if ended or self.closed:
                return ended
            yield receiver.pending_span(body)
