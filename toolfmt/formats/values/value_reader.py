"""One value, read while it arrives and said as JSON: in JSON proper, in the notation of Python source, or in Gemma's.

A `Notation` is what differs between them: how strings open, which words there are, whether keys and strings may stand
bare. What is read generously is named to the sink. Numbers are passed on digit by digit, so integers stay exact.
Nesting is kept on a list, not on Python's stack: depth cannot raise, and is limited to `DEEPEST`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Protocol, TypeAlias

from toolfmt.formats.scanner.literals import Literals, literals
from toolfmt.formats.scanner.lookahead import MAX_LOOKAHEAD
from toolfmt.formats.scanner.scanner import Incomplete, Malformed, PendingSpan, Reading, Scan, Span
from toolfmt.formats.scanner.spans import (
    ArgumentString,
    CodeString,
    JsonString,
    Marked,
    PlainCodeString,
    PlainMarked,
    ToleranceRecorder,
    escaped,
    quoted,
)
from toolfmt.formats.values.clean_json import DEEPEST, DONE, KEY, LONGEST_KEY, STRING, VALUE, CleanJson

_WORD = re.compile(r"""[^\s,()\[\]{}:'"=<>]*""")
_TEXT = re.compile(r"""[^()\[\]{}<>'"=,\n]*""")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_CODE_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|\+[0-9]+(?:[eE][+-]?[0-9]+)?")
_GROUPED = re.compile(r"(?<=[0-9])_(?=[0-9])")
_LEADING_ZEROS = re.compile(r"[+-]?0[0-9]+")
_INTEGER = re.compile(r"[+-]?[0-9]+")
_MOST_DIGITS = 4300
"""Python's `json.loads` refuses longer integers by default, so they are no arguments for its callers."""
_NAME = re.compile(r"[^\W\d][\w.-]*")
_PYTHON = {"True": "true", "False": "false", "None": "null"}
_JSON = {"true": "true", "false": "false", "null": "null"}
_CLOSER = {"{": "}", "[": "]"}
_BEGINS = {"}": "a key or '}'", "]": "a value or ']'", ")": "a value or ')'"}
_GOES_ON = {closer: f"',' or '{closer}'" for closer in _BEGINS}
"""What may stand behind the bracket that this closes, and behind a value inside it."""


class Sink(ToleranceRecorder, Protocol):
    """Where a value goes: a call's arguments, or a list."""

    streams: bool
    """Whether fragments are emitted as they arrive, so that a clean stretch may be passed on as one span."""

    def arguments(self, fragment: str) -> None: ...
    def stream(self, body: Span) -> Reading[None]: ...
    def pending_span(self, body: Span) -> PendingSpan | None: ...


class Buffered:
    """A sink that keeps what it is given, for a value that is needed whole."""

    streams = False

    def __init__(self, scan: Scan, sink: Sink | None = None) -> None:
        self.fragments: list[str] = []
        self.tolerated: list[str] = []
        """The tolerances, if there is no other sink for them."""
        self._scan = scan
        self._sink = sink

    def arguments(self, fragment: str) -> None:
        self.fragments.append(fragment)

    @property
    def strict(self) -> bool:
        return self._sink is not None and self._sink.strict

    def record_tolerance(self, name: str) -> None:
        if self._sink is None:
            self.tolerated.append(name)
        else:
            self._sink.record_tolerance(name)

    def before(self, text: str, at: int) -> str:
        return self._scan.before(text, at)

    def stream(self, body: Span) -> Reading[None]:
        if not (yield from self._scan.stream(body, self)):
            raise Incomplete("the end of the string")

    def pending_span(self, body: Span) -> PendingSpan | None:
        return PendingSpan(self._scan, body, fragments=self.fragments)

    @property
    def text(self) -> str:
        return "".join(self.fragments)


class TooLong(Malformed):
    """What stands here is longer than anything that calls begin with."""


class BoundedBuffered(Buffered):
    """A sink for what is held before it is certain what it is: of bounded length, without some characters."""

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
            self._scan.rewind(begin)  # how much of it had arrived by now decides nothing
            raise
        if not ended:
            raise Incomplete("the end of the string")

    def pending_span(self, body: Span) -> PendingSpan | None:
        return None  # each chunk is measured

    def word(self, notation: Notation, opener: str) -> Reading[str]:
        """The string behind its opener."""
        yield from self.stream(notation.strings[opener](self))
        return str(json.loads(f'"{self.text}"')) if "\\" in self.text else self.text


Opening: TypeAlias = Callable[[ToleranceRecorder], Span]


def marked_string(mark: str, closing: tuple[str, ...] = (), control: tuple[str, ...] = ()) -> Opening:
    """Strings that run verbatim up to a marker, and never into what ends a call or any other control token."""
    return partial(Marked, mark, closing, control)


@dataclass(frozen=True, eq=False)
class Notation:
    """How values are written: what opens a string, the words, and what is read but noted.

    As a parameter of an engine it is one of `NOTATIONS`, which are pickled by their names, or `BetweenMarks`.
    """

    strings: Mapping[str, Opening]
    """What opens a string, and the body that reads on from there."""
    words: Mapping[str, str]
    """Words that stand for a JSON literal."""
    generous: Mapping[str, str] = field(default_factory=dict)
    """Openers and words of the above that are noted, and under which name."""
    bare_keys: str = "unquoted_key"
    """The tolerance under which a key stands without quotes; empty where that is the notation."""
    bare_strings: re.Pattern[str] | None = None
    """Words that are strings without quotes (noted as `unquoted_string`)."""
    word: re.Pattern[str] = _WORD
    """What a key, word or number without quotes is made of."""
    key: re.Pattern[str] = _WORD
    """What the key of an argument without quotes is made of."""
    inner: Notation | None = None
    """The notation inside lists and objects, where that is another."""
    text: re.Pattern[str] = _TEXT
    """What a string without quotes is made of where the schema wants a string."""
    code: bool = False
    """Python source: tuples, strings side by side, digits in groups."""
    quoted: bool = False
    """Every value stands in quotes, as those of attributes do: what it is tells the schema, as for a text between
    tags."""
    name: str = ""
    """By which a parameter names it; empty where none does."""

    def __reduce__(self) -> tuple[Callable[[str], Notation], tuple[str]]:
        return notation_named, (self.name,)

    def stands_alone(self, word: str) -> bool:
        """Whether a word without quotes is a value by itself: a number or a literal, not a name."""
        word = _GROUPED.sub("", word)
        return word in self.words or bool(_NUMBER.fullmatch(word) or _CODE_NUMBER.fullmatch(word))

    @cached_property
    def openers(self) -> Literals:
        return literals(*self.strings)

    @cached_property
    def quoted_words(self) -> bool:
        """Whether names and keys stand between double quotes as in JSON, and that is not noted."""
        return self.strings.get('"') is JsonString and '"' not in self.generous


JSON = Notation(
    {'"': JsonString, "'": partial(CodeString, "'")},
    _JSON | _PYTHON,
    {"'": "single_quotes"} | dict.fromkeys(_PYTHON, "python_literal"),
    name="json",
)
LITERAL = replace(JSON, generous={}, name="literal")
"""JSON, else Python source: what stands between tags where the schema wants no string."""
CODE = Notation(
    {quote: partial(CodeString, quote) for quote in ('"', "'", '"""', "'''")}, _JSON | _PYTHON, code=True, name="code"
)
_ARGUMENT_STRINGS: dict[str, Opening] = {quote: partial(ArgumentString, quote) for quote in CODE.strings}
_BARE_NAMES = re.compile(r"[^\W\d][^\n]*")
CODE_CALL = Notation(
    _ARGUMENT_STRINGS,
    CODE.words,
    bare_strings=_BARE_NAMES,
    inner=replace(CODE, bare_strings=_BARE_NAMES, name=""),
    code=True,
    name="code call",
)
QUOTED_JSON = replace(LITERAL, quoted=True, name="quoted json")
"""Every value in quotes, JSON inside."""
NOTATIONS = {notation.name: notation for notation in (JSON, LITERAL, CODE, CODE_CALL, QUOTED_JSON)}
"""The notations that a parameter may name."""


def notation_named(name: str) -> Notation:
    """One of `NOTATIONS`. Raises `KeyError`."""
    return NOTATIONS[name]


def ending_at_first(notation: Notation) -> Notation:
    """The same, where any quote or mark ends its string that is not escaped, whatever follows it: which signs do is
    known for code and its brackets alone."""
    strings = {opener: _first_ends(opening) for opener, opening in notation.strings.items()}
    inner = notation.inner and ending_at_first(notation.inner)
    return replace(notation, strings=strings, inner=inner, name="")


def _first_ends(opening: Opening) -> Opening:
    if not isinstance(opening, partial):
        return opening  # of JSON, where it is so
    return partial(PlainMarked if opening.func is Marked else PlainCodeString, opening.args[0])


def without(pattern: re.Pattern[str], signs: Collection[str]) -> re.Pattern[str]:
    """A pattern of the form `[…]*` that matches none of these signs."""
    held = "".join(sorted(sign for sign in signs if pattern.fullmatch(sign)))
    return re.compile(f"(?:(?![{re.escape(held)}]){pattern.pattern[:-1]})*") if held else pattern


def without_signs(notation: Notation, of_values: Collection[str], of_keys: Collection[str]) -> Notation:
    """The same, but what stands without quotes holds none of these signs."""
    word, text = (without(pattern, of_values) for pattern in (notation.word, notation.text))
    key = without(notation.key, of_keys)
    if (word, text, key) == (notation.word, notation.text, notation.key):
        return notation
    return replace(notation, word=word, text=text, key=key, name="")


@dataclass(frozen=True)
class BetweenMarks:
    """Gemma's notation: keys and words stand bare, strings verbatim between two of `mark`."""

    mark: str

    def __post_init__(self) -> None:
        if not self.mark.strip() or self.mark in ("'", '"'):
            raise ValueError(f"mark: strings need a marker of their own, not {self.mark!r:.80}")

    def within(self, *closing: str, control: tuple[str, ...] = ()) -> Notation:
        """The notation in calls that end so, in a frame with these control tokens: no string runs into either."""
        return Notation(
            strings={
                self.mark: marked_string(self.mark, closing, control),
                '"': JSON.strings['"'],
                "'": marked_string("'", closing, control),
            },
            words=JSON.words,
            generous={'"': "plain_quotes", "'": "single_quotes"},
            bare_keys="",
            bare_strings=re.compile(r"(?s).*\S.*"),
            word=re.compile(r'[^,:{}()\[\]<>"\n]*'),
            key=re.compile(r"[\w .$@/+-]*"),
            text=re.compile(r"[^,{}()<>'\n]*"),
        )


def read_value(scan: Scan, sink: Sink, notation: Notation) -> Reading[None]:
    """One value, blanks before it included, said to the sink as JSON."""
    stack: list[str] = []
    inside: list[set[str]] = []  # of an object its keys so far, of a tuple whether a comma stood in it
    if notation is JSON and sink.streams:
        clean = CleanJson()
        yield from scan.stream(clean, sink)
        state, stack, inside = clean.final or (clean.state, clean.closers, clean.keys)
        if state == DONE:
            return
        if state == KEY:
            sink.arguments((yield from scan.spaces()))
            yield from scan.need("a key")
            yield from _key(scan, sink, notation, stack[-1], inside[-1])
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
                yield from _key(scan, sink, notation, stack[-1], inside[-1])
                continue
            inside[-1].add(",")
        else:
            yield from _scalar(scan, sink, notation.inner if stack and notation.inner else notation)
        if not (yield from _separated(scan, sink, notation, stack, inside)):
            return


def whole_value(text: str, notation: Notation) -> tuple[str, list[str]] | None:
    """The JSON text of a value that is the whole of a text, and the names of what was read generously; None where the
    text is no such value."""
    scan = Scan(text, closed=True)
    sink = Buffered(scan)
    try:
        for _ in read_value(scan, sink, notation):
            raise AssertionError("a closed scan waits for nothing")
    except (Malformed, Incomplete):
        return None
    return (sink.text, sink.tolerated) if scan.at == len(text) else None


def _separated(scan: Scan, sink: Sink, notation: Notation, stack: list[str], inside: list[set[str]]) -> Reading[bool]:
    """After a value: closes what closes here; True where another value follows."""
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
                sink.arguments(f"{spaces},{after}")
                yield from _key(scan, sink, notation, closer, inside[-1])
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


def _key(scan: Scan, sink: Sink, notation: Notation, closer: str, keys: set[str]) -> Reading[None]:
    if closer == "}":
        key = yield from read_key(scan, sink, notation)
        if key in keys:
            sink.record_tolerance("duplicate_key")
        keys.add(key)
        sink.arguments(quoted(key))
        spaces = yield from scan.spaces()
        yield from scan.expect(":", key=key)
        sink.arguments(spaces + ":")


def read_key(scan: Scan, sink: Sink, notation: Notation) -> Reading[str]:
    """A key, its separator still unread."""
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
    """A string value, whole; anything else is malformed."""
    opener = yield from scan.literal(notation.openers)
    if not opener:
        yield from _uncut(scan, notation)
        raise Malformed(expected="a string")
    return (yield from _string(scan, sink, notation, opener))


def _uncut(scan: Scan, notation: Notation) -> Reading[None]:
    """What the end of the answer cut is incomplete, not wrong: a word, or the opener of a string."""
    yield from scan.need("a value")
    rest = scan.text[scan.at :]
    if scan.closed and any(opener.startswith(rest) for opener in notation.strings):
        raise Incomplete("a string")


def first_of_string(scan: Scan, notation: Notation) -> Reading[str]:
    """The first character of the string that begins here, unread, with its opener; empty where none does."""
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
    """The inside of a string behind its opener; of several side by side, where the notation joins them."""
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
    """The JSON text of a value without quotes."""
    if word in notation.words:
        _note(sink, notation, word)
        return notation.words[word]
    if len(word) > _MOST_DIGITS and _INTEGER.fullmatch(word):
        raise Malformed("invalid_arguments", f"a number of at most {_MOST_DIGITS} digits")
    if _NUMBER.fullmatch(word):
        return word
    plain = _GROUPED.sub("", word) if notation.code else word
    if plain != word and _NUMBER.fullmatch(plain):
        sink.record_tolerance("python_literal")
        return plain
    if notation.code and _LEADING_ZEROS.fullmatch(plain):
        sink.record_tolerance("leading_zeros")
        return ("-" if plain[0] == "-" else "") + (plain.lstrip("+-0") or "0")
    if _CODE_NUMBER.fullmatch(plain):
        sink.record_tolerance("python_literal")
        return _json_number(plain)
    if word.lstrip("+-") in ("NaN", "nan", "Infinity", "inf"):
        raise Malformed("invalid_arguments", "a finite number")
    if notation.bare_strings is not None and notation.bare_strings.fullmatch(word):
        sink.record_tolerance("unquoted_string")
        return f'"{escaped(word)}"'
    raise Malformed(expected="a value")


def _json_number(word: str) -> str:
    """A number that Python writes and JSON does not: `.5`, `5.`, `+1.0`, `+1`."""
    mantissa, exponent = re.fullmatch(r"([^eE]*)(.*)", word).groups()  # type: ignore[union-attr]  # it matches anything
    sign, mantissa = ("-" if mantissa[0] == "-" else ""), mantissa.lstrip("+-")
    whole, point, fraction = mantissa.partition(".")
    return f"{sign}{whole.lstrip('0') or '0'}{point and '.' + (fraction or '0')}{exponent}"


def _note(sink: Sink, notation: Notation, found: str) -> None:
    if found in notation.generous:
        sink.record_tolerance(notation.generous[found])
