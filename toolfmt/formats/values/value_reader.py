"""One value: parsed while it arrives, and emitted as JSON.

The syntax is a `Notation` (`syntaxes.py`). Tolerances are reported to the sink. Numbers are passed on as text, so
integers stay exact. Nesting is kept on a list, not on Python's stack, so depth never raises. It is limited to
`DEEPEST`.
"""

from __future__ import annotations

import json
import re
from typing import Protocol

from toolfmt.formats.scanner.lookahead import MAX_LOOKAHEAD
from toolfmt.formats.scanner.scanner import BACK, Incomplete, Malformed, PendingSpan, Reading, Scan, Span
from toolfmt.formats.scanner.spans import (
    JsonString,
    ToleranceRecorder,
    escaped,
    quoted,
)
from toolfmt.formats.values.clean_json import DEEPEST, DONE, KEY, LONGEST_KEY, STRING, VALUE, CleanJson
from toolfmt.formats.values.repeated_keys import compare_repeated, one_more_repeated
from toolfmt.formats.values.syntaxes import CODE_NUMBER, DIGIT_SEPARATOR, JSON, NUMBER, Notation
from toolfmt.messages.events import RejectionReason

_LEADING_ZEROS = re.compile(r"[+-]?0[0-9]+")
_INTEGER = re.compile(r"[+-]?[0-9]+")
_MOST_DIGITS = 4300
"""Maximum number of digits of an integer: Python's `json.loads` rejects longer ones by default."""
_NAME = re.compile(r"[^\W\d][\w.-]*")
_CLOSER = {"{": "}", "[": "]"}
_BEGINS = {"}": "a key or '}'", "]": "a value or ']'", ")": "a value or ')'"}
_GOES_ON = {closer: f"',' or '{closer}'" for closer in _BEGINS}
"""Phrases for what may follow an opening bracket, and a value inside it, by the closing bracket."""


class Sink(ToleranceRecorder, Protocol):
    """Receives a value: the arguments of a call, or a buffer."""

    streams: bool
    """Whether fragments are emitted as they arrive, so that clean JSON may be passed on as one span."""

    def arguments(self, fragment: str) -> None: ...
    def stream(self, body: Span) -> Reading[None]: ...
    def pending_span(self, body: Span) -> PendingSpan | None: ...
    def so_far(self) -> str | None: ...
    def count_repeated(self) -> None: ...
    def mark_rejected(
        self, reason: RejectionReason, expected: str, at: int | None = None, *, problem: str = ""
    ) -> None: ...


class Buffered:
    """A sink that buffers a value that is needed as a whole."""

    streams = False

    def __init__(self, scan: Scan, sink: Sink | None = None) -> None:
        self.fragments: list[str] = []
        self.tolerated: list[str] = []
        """The tolerances, if there is no other sink for them."""
        self.rejected: Malformed | None = None
        """Why the value is rejected, if there is no other sink for that."""
        self._repeated = 0
        self._scan = scan
        self._sink = sink

    def arguments(self, fragment: str) -> None:
        self.fragments.append(fragment)

    def tolerates(self, name: str) -> bool:
        return self._sink is None or self._sink.tolerates(name)

    def record_tolerance(self, name: str, at: int | None = None) -> None:
        if self._sink is None:
            self.tolerated.append(name)
        else:
            self._sink.record_tolerance(name, at)

    def mark_rejected(
        self, reason: RejectionReason, expected: str, at: int | None = None, *, problem: str = ""
    ) -> None:
        if self._sink is not None:
            self._sink.mark_rejected(reason, expected, at, problem=problem)
        elif self.rejected is None:
            self.rejected = Malformed(reason, expected)

    def count_repeated(self) -> None:
        if self._sink is None:
            self._repeated = one_more_repeated(self._repeated)
        else:
            self._sink.count_repeated()

    def so_far(self) -> str:
        return self.text

    def before(self, text: str, at: int, most: int = BACK) -> str:
        return self._scan.before(text, at, most)

    def stream(self, body: Span) -> Reading[None]:
        if not (yield from self._scan.stream(body, self)):
            raise Incomplete("the end of the string")

    def pending_span(self, body: Span) -> PendingSpan | None:
        return PendingSpan(self._scan, body, fragments=self.fragments)

    @property
    def text(self) -> str:
        return "".join(self.fragments)


class TooLong(Malformed):
    """The text is longer than anything at the start of a call."""


class BoundedBuffered(Buffered):
    """A buffer for text before it is certain what it is. Its length is bounded, and it excludes some characters."""

    def __init__(
        self, scan: Scan, sink: Sink | None = None, most: int = MAX_LOOKAHEAD, unlike: re.Pattern[str] | None = None
    ) -> None:
        super().__init__(scan, sink)
        self._room, self._unlike = most, unlike

    def arguments(self, fragment: str) -> None:
        self._room -= len(fragment)
        if self._room < 0 or (self._unlike is not None and self._unlike.search(fragment)):
            raise TooLong(expected="a shorter text")
        self.fragments.append(fragment)

    def stream(self, body: Span) -> Reading[None]:
        begin = self._scan.position
        try:
            ended = yield from self._scan.stream(body, self)
        except TooLong:
            self._scan.rewind(begin)  # the chunks must not matter
            raise
        if not ended:
            raise Incomplete("the end of the string")

    def pending_span(self, body: Span) -> PendingSpan | None:
        return None  # the length of each chunk counts

    def word(self, notation: Notation, opener: str) -> Reading[str]:
        """Parse a string after its opening quote, and return its text."""
        yield from self.stream(notation.strings[opener](self))
        return str(json.loads(f'"{self.text}"')) if "\\" in self.text else self.text


def read_value(scan: Scan, sink: Sink, notation: Notation) -> Reading[None]:
    """Parse one value, with whitespace before it, and emit it to the sink as JSON."""
    stack: list[str] = []
    inside: list[set[str]] = []  # the keys of an object so far; of a tuple, whether it has a comma
    if notation is JSON and sink.streams:
        clean = CleanJson()
        yield from scan.stream(clean, sink)
        state, stack, inside = clean.final or (clean.state, clean.closers, clean.keys)
        if state == DONE:
            return
        if state == KEY:
            sink.arguments((yield from scan.spaces()))
            yield from scan.need("a key")
            yield from _key(scan, sink, notation, inside[-1])
        elif state != VALUE:
            if state == STRING:
                yield from sink.stream(JsonString(sink))
                sink.arguments('"')
            if not (yield from _separated(scan, sink, notation, stack, inside)):
                return
    while True:
        sink.arguments((yield from scan.spaces()))
        opening = yield from scan.need("a value")
        if opening in _CLOSER or (opening == "(" and notation.code):
            scan.skip()
            tuple_ = opening == "("
            if tuple_:
                sink.record_tolerance("tuple")
            sink.arguments("[" if tuple_ else opening)
            stack.append(")" if tuple_ else _CLOSER[opening])
            inside.append(set())
            if len(stack) > DEEPEST:
                raise Malformed("invalid_arguments", f"at most {DEEPEST} levels of lists and objects")
            sink.arguments((yield from scan.spaces()))
            if (yield from scan.need(_BEGINS[stack[-1]])) != stack[-1]:
                if stack[-1] == "}":
                    yield from _key(scan, sink, notation, inside[-1])
                continue
            inside[-1].add(",")
        else:
            yield from _scalar(scan, sink, notation.inner if stack and notation.inner else notation)
        if not (yield from _separated(scan, sink, notation, stack, inside)):
            return


def whole_value(text: str, notation: Notation) -> tuple[str, list[str]] | None:
    """Return a whole text as one value: its JSON text and the tolerances. None if the text is not one valid value."""
    try:
        return unique_value(text, notation)
    except Malformed:
        return None


def unique_value(text: str, notation: Notation) -> tuple[str, list[str]] | None:
    """As `whole_value`. Raises `Malformed` if a key has two different values."""
    scan = Scan(text, closed=True)
    sink = Buffered(scan)
    try:
        for _ in read_value(scan, sink, notation):
            raise AssertionError("a closed scanner does not wait")
    except (Malformed, Incomplete):
        return None
    if scan.at < len(text):
        return None
    if sink.rejected is not None:
        raise sink.rejected
    return sink.text, sink.tolerated


def _separated(scan: Scan, sink: Sink, notation: Notation, stack: list[str], inside: list[set[str]]) -> Reading[bool]:
    """Close the lists and objects that end after a value. Return whether another value follows."""
    while stack:
        spaces = yield from scan.spaces()
        closer = stack[-1]
        found = yield from scan.need(_GOES_ON[closer])
        if found == ",":
            scan.skip()
            after = yield from scan.spaces()
            if closer == ")":
                inside[-1].add(",")
            if (yield from scan.need("a key" if closer == "}" else "a value")) != closer:
                comma = f"{spaces},{after}"
                if closer != "}":
                    sink.arguments(comma)
                elif not (yield from _key(scan, sink, notation, inside[-1], comma)):
                    continue
                return True
            if closer != ")":
                sink.record_tolerance("trailing_comma")
        elif found != closer or (closer == ")" and not inside[-1]):
            raise Malformed(expected=_GOES_ON[closer])  # the latter is a value in parentheses: part of an expression
        scan.skip()
        sink.arguments(spaces + ("]" if closer == ")" else closer))
        stack.pop()
        inside.pop()
    return False


def _key(scan: Scan, sink: Sink, notation: Notation, keys: set[str], comma: str = "") -> Reading[bool]:
    """Parse a key and its colon, and emit them after `comma`. Return whether its value follows: a repeated key is
    parsed with its value, and neither is emitted."""
    here = scan.position
    key = yield from read_key(scan, sink, notation)
    if key not in keys:
        keys.add(key)
        sink.arguments(comma + quoted(key))
        spaces = yield from scan.spaces()
        yield from scan.expect(":", key=key)
        sink.arguments(spaces + ":")
        return True
    yield from scan.skip_spaces()
    yield from scan.expect(":", key=key)
    sink.count_repeated()  # this also bounds the recursion
    value = Buffered(scan, sink)
    yield from read_value(scan, value, notation.inner or notation)
    compare_repeated(sink, key, value.text, here)
    return False


def read_key(scan: Scan, sink: Sink, notation: Notation) -> Reading[str]:
    """Read a key, without its separator."""
    if notation.quoted_words and (word := (yield from scan.quoted_word())):
        return word
    opener = yield from scan.literal(notation.openers)
    if opener:
        return (yield from _string(scan, sink, notation, opener, BoundedBuffered(scan, sink, LONGEST_KEY)))
    begin = scan.position
    key = (yield from scan.word(notation.word)).strip()
    if not key:
        yield from scan.need("a key")
        raise Malformed(expected="a key")
    if notation.bare_keys:
        if not _NAME.fullmatch(key):
            raise Malformed(expected="a key", at=begin)
        sink.record_tolerance(notation.bare_keys)
    return key


def read_string(scan: Scan, sink: Sink, notation: Notation) -> Reading[str]:
    """Return a complete string value. Raises `Malformed` for anything else."""
    opener = yield from scan.literal(notation.openers)
    if not opener:
        yield from _uncut(scan, notation)
        raise Malformed(expected="a string")
    return (yield from _string(scan, sink, notation, opener))


def _uncut(scan: Scan, notation: Notation) -> Reading[None]:
    """Raise `Incomplete` if the end of the output cuts a word or an opening quote, which is not an error."""
    yield from scan.need("a value")
    rest = scan.text[scan.at :]
    if scan.closed and any(opener.startswith(rest) for opener in notation.strings):
        raise Incomplete("a string")


def first_of_string(scan: Scan, notation: Notation) -> Reading[str]:
    """Return the first character of the string that starts here; "" if there is none. Nothing is read."""
    here = scan.position
    opener = yield from scan.literal(notation.openers)
    first = (yield from scan.need("the end of the string")) if opener else ""
    scan.rewind(here)
    return first


def _string(scan: Scan, sink: Sink, notation: Notation, opener: str, gathered: Buffered | None = None) -> Reading[str]:
    gathered = gathered or Buffered(scan, sink)
    yield from _strings(scan, sink, gathered, notation, opener)
    return str(json.loads(f'"{gathered.text}"')) if "\\" in gathered.text else gathered.text


def _strings(scan: Scan, sink: Sink, said: Sink, notation: Notation, opener: str) -> Reading[None]:
    """Parse a string after its opening quote, and adjacent strings if the syntax joins them."""
    while opener:
        _note(sink, notation, opener)
        yield from said.stream(notation.strings[opener](sink))
        if not notation.code:
            return
        here = scan.position
        yield from scan.skip_spaces()
        opener = yield from scan.literal(notation.openers)
        if opener:
            sink.record_tolerance("joined_strings")
        else:
            scan.rewind(here)


def _scalar(scan: Scan, sink: Sink, notation: Notation) -> Reading[None]:
    opener = yield from scan.literal(notation.openers)
    if opener:
        sink.arguments('"')
        yield from _strings(scan, sink, sink, notation, opener)
        sink.arguments('"')
        return
    begin = scan.position
    word = (yield from scan.take_while(notation.word)).strip()
    try:
        sink.arguments(_word(word, sink, notation))
    except Malformed as wrong:
        yield from _uncut(scan, notation)
        wrong.at = begin
        raise


def _word(word: str, sink: Sink, notation: Notation) -> str:
    """Return the JSON text of a value without quotes."""
    if word in notation.words:
        _note(sink, notation, word)
        return notation.words[word]
    if len(word) > _MOST_DIGITS and _INTEGER.fullmatch(word):
        raise Malformed("invalid_arguments", f"a number of at most {_MOST_DIGITS} digits")
    if NUMBER.fullmatch(word):
        return word
    plain = DIGIT_SEPARATOR.sub("", word) if notation.code else word
    if plain != word and NUMBER.fullmatch(plain):
        sink.record_tolerance("python_literal")
        return plain
    if notation.code and _LEADING_ZEROS.fullmatch(plain):
        sink.record_tolerance("leading_zeros")
        return ("-" if plain[0] == "-" else "") + (plain.lstrip("+-0") or "0")
    if CODE_NUMBER.fullmatch(plain):
        sink.record_tolerance("python_literal")
        return _json_number(plain)
    if word.lstrip("+-") in ("NaN", "nan", "Infinity", "inf"):
        raise Malformed("invalid_arguments", "a finite number")
    if notation.bare_strings is not None and notation.bare_strings.fullmatch(word):
        sink.record_tolerance("unquoted_string")
        return f'"{escaped(word)}"'
    raise Malformed(expected="a value")


def _json_number(word: str) -> str:
    """Return the JSON text of a number that only Python accepts: `.5`, `5.`, `+1.0`, `+1`."""
    mantissa, exponent = re.fullmatch(r"([^eE]*)(.*)", word).groups()  # type: ignore[union-attr]  # it matches anything
    sign, mantissa = ("-" if mantissa[0] == "-" else ""), mantissa.lstrip("+-")
    whole, point, fraction = mantissa.partition(".")
    return f"{sign}{whole.lstrip('0') or '0'}{point and '.' + (fraction or '0')}{exponent}"


def _note(sink: Sink, notation: Notation, found: str) -> None:
    if found in notation.generous:
        sink.record_tolerance(notation.generous[found])
