"""The syntaxes of values: JSON, Python source, and Gemma's.

A `Notation` says how strings start, which words there are, and whether keys and strings need quotes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TypeAlias

from toolfmt.formats.scanner.literals import Literals, literals
from toolfmt.formats.scanner.scanner import Span
from toolfmt.formats.scanner.spans import (
    ArgumentString,
    CodeString,
    JsonString,
    Marked,
    PlainCodeString,
    PlainMarked,
    ToleranceRecorder,
)

_WORD = re.compile(r"""[^\s,()\[\]{}:'"=<>]*""")
_TEXT = re.compile(r"""[^()\[\]{}<>'"=,\n]*""")
NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
CODE_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|\+[0-9]+(?:[eE][+-]?[0-9]+)?")
DIGIT_SEPARATOR = re.compile(r"(?<=[0-9])_(?=[0-9])")
_PYTHON = {"True": "true", "False": "false", "None": "null"}
_JSON = {"true": "true", "false": "false", "null": "null"}

Opening: TypeAlias = Callable[[ToleranceRecorder], Span]


def marked_string(mark: str, closing: tuple[str, ...] = (), control: tuple[str, ...] = (), opener: str = "") -> Opening:
    """Return strings that are verbatim up to a marker. `Marked` describes the other parameters."""
    return partial(Marked, mark, closing, control, opener)


@dataclass(frozen=True, eq=False)
class Notation:
    """The syntax of values.

    As a parameter of an engine it is one of `NOTATIONS`, which are pickled by name, or `BetweenMarks`.
    """

    strings: Mapping[str, Opening]
    """The opening quotes of strings, each with the span that parses the string."""
    words: Mapping[str, str]
    """Words, with the JSON literal that each means."""
    generous: Mapping[str, str] = field(default_factory=dict)
    """The quotes and words that are a tolerance, with its name."""
    bare_keys: str = "unquoted_key"
    """The tolerance of a key without quotes; empty if that is the syntax."""
    bare_strings: re.Pattern[str] | None = None
    """Words that are strings without quotes (tolerance `unquoted_string`)."""
    word: re.Pattern[str] = _WORD
    """Matches a key, literal or number without quotes."""
    key: re.Pattern[str] = _WORD
    """Matches the key of an argument without quotes."""
    inner: Notation | None = None
    """The syntax inside lists and objects, if it is different."""
    text: re.Pattern[str] = _TEXT
    """Matches a string without quotes, if the schema asks for a string."""
    code: bool = False
    """Whether it is Python source: tuples, adjacent strings, digits in groups."""
    quoted: bool = False
    """Whether every value is in quotes, like an attribute. The schema decides its type, as for a text between tags."""
    name: str = ""
    """The name in format files; empty if it has none."""

    def __reduce__(self) -> tuple[Callable[[str], Notation], tuple[str]]:
        return notation_named, (self.name,)

    def stands_alone(self, word: str) -> bool:
        """Whether a word without quotes is a number or a literal, and not a name."""
        word = DIGIT_SEPARATOR.sub("", word)
        return word in self.words or bool(NUMBER.fullmatch(word) or CODE_NUMBER.fullmatch(word))

    @cached_property
    def openers(self) -> Literals:
        return literals(*self.strings)

    @cached_property
    def quoted_words(self) -> bool:
        """Whether names and keys are in double quotes as in JSON, without a tolerance."""
        return self.strings.get('"') is JsonString and '"' not in self.generous


JSON = Notation(
    {'"': JsonString, "'": partial(CodeString, "'")},
    _JSON | _PYTHON,
    {"'": "single_quotes"} | dict.fromkeys(_PYTHON, "python_literal"),
    name="json",
)
LITERAL = replace(JSON, generous={}, name="literal")
"""JSON, or else Python source: a value between tags if the schema does not allow a string."""
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
"""Every value is in quotes, and is JSON inside."""
NOTATIONS = {notation.name: notation for notation in (JSON, LITERAL, CODE, CODE_CALL, QUOTED_JSON)}
"""The syntaxes that a format file may name."""


def notation_named(name: str) -> Notation:
    """Return one of `NOTATIONS`. Raises `KeyError`."""
    return NOTATIONS[name]


def ending_at_first(notation: Notation) -> Notation:
    """Return the syntax in which the first quote or mark that is not escaped ends a string, whatever follows.

    What may follow a string is known only for code and its brackets.
    """
    strings = {opener: _first_ends(opening) for opener, opening in notation.strings.items()}
    inner = notation.inner and ending_at_first(notation.inner)
    return replace(notation, strings=strings, inner=inner, name="")


def _first_ends(opening: Opening) -> Opening:
    if not isinstance(opening, partial):
        return opening  # in JSON it is always so
    return partial(PlainMarked if opening.func is Marked else PlainCodeString, opening.args[0])


def without(pattern: re.Pattern[str], characters: Collection[str]) -> re.Pattern[str]:
    """Return a pattern of the form `[…]*` that does not match these characters."""
    held = "".join(sorted(one for one in characters if pattern.fullmatch(one)))
    return re.compile(f"(?:(?![{re.escape(held)}]){pattern.pattern[:-1]})*") if held else pattern


def without_characters(notation: Notation, of_values: Collection[str], of_keys: Collection[str]) -> Notation:
    """Return the syntax in which text without quotes does not contain these characters."""
    word, text = (without(pattern, of_values) for pattern in (notation.word, notation.text))
    key = without(notation.key, of_keys)
    if (word, text, key) == (notation.word, notation.text, notation.key):
        return notation
    return replace(notation, word=word, text=text, key=key, name="")


@dataclass(frozen=True)
class BetweenMarks:
    """Gemma's syntax: keys and words without quotes, and verbatim strings between two of `mark`."""

    mark: str

    def __post_init__(self) -> None:
        if not self.mark.strip() or self.mark in ("'", '"'):
            raise ValueError(f"mark: strings need a marker of their own, not {self.mark!r:.80}")

    def within(self, *closing: str, control: tuple[str, ...] = (), opener: str = "") -> Notation:
        """Return the syntax for calls with this start marker and these end markers and control tokens."""
        return Notation(
            strings={
                self.mark: marked_string(self.mark, closing, control, opener),
                '"': JSON.strings['"'],
                "'": marked_string("'", closing, control, opener),
            },
            words=JSON.words,
            generous={'"': "plain_quotes", "'": "single_quotes"},
            bare_keys="",
            bare_strings=re.compile(r"(?s).*\S.*"),
            word=re.compile(r'[^,:{}()\[\]<>"\n]*'),
            key=re.compile(r"[\w .$@/+-]*"),
            text=re.compile(r"[^,{}()<>'\n]*"),
        )
