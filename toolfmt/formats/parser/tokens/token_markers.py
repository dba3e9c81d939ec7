"""Which markers of a format are tokens of a tokenizer."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache, cached_property
from typing import Any

from toolfmt.formats.format import COMMON_REASONING, ToolCallFormat
from toolfmt.formats.known import KNOWN
from toolfmt.formats.markers import TURN_ENDS
from toolfmt.formats.parser.tokens.added_tokens import is_marker
from toolfmt.formats.parser.tokens.vocabulary import NONCHARACTERS, Vocabulary
from toolfmt.formats.scanner.literals import Literals, literals
from toolfmt.formats.values.layout import Call

_CALL: Call = ("f", {"a": "b"})
_FIRST, _LAST = re.compile(r"[<\[\]|｜◁]"), re.compile(r"[>\[\]|｜▷]")
"""The first and the last character of a control token."""
_CONTROL = re.compile(rf'{_FIRST.pattern}(?=.*[\w"]).+{_LAST.pattern}')
"""The form of a control token. A marker may contain one: `｜DSML｜` in `<｜DSML｜tool_calls>`."""
_MAX_KNOWN = 256
"""Maximum number of formats and sets of stop strings whose markers are kept: each request may have other stop strings.
"""


@dataclass(frozen=True, eq=False)
class TokenMarkers:
    """The markers of a format that are tokens.

    Attributes:
        ids: Their texts by id.
        texts: Their texts, without surrounding whitespace.
        start_calls: Whether the format's calls start with one of them.
    """

    ids: Mapping[int, str] = field(default_factory=dict)
    texts: frozenset[str] = frozenset()
    start_calls: bool = False

    @cached_property
    def literals(self) -> Literals:
        """Searches for these markers."""
        return literals(*(text for text in self.texts if text[0] in self.hidden))

    @cached_property
    def hidden(self) -> dict[str, str]:
        """The noncharacter that replaces the first character of a marker. There are only 32, so the first characters of
        most markers come first."""
        firsts = Counter(text[0] for text in sorted(self.texts))
        return {first: hidden for (first, _), hidden in zip(firsts.most_common(), NONCHARACTERS, strict=False)}

    @cached_property
    def restored(self) -> dict[int, str]:
        """The table for `str.translate` that undoes this."""
        return {ord(hidden): character for character, hidden in self.hidden.items()}


def token_markers(format: ToolCallFormat, stop: frozenset[str], vocabulary: Vocabulary) -> TokenMarkers:
    """Return the markers that are single tokens of a tokenizer.

    Candidates are the markers of all known formats, of reasoning blocks and of turn ends, and the strings in `stop`.
    """
    known = vocabulary.format_markers
    key = (format.markers, stop)
    if key not in known:
        if len(known) >= _MAX_KNOWN:
            known.clear()
        strings = {*_literals_in(format), *stop}
        counted = _known_texts() | strings | _control_tokens_in(strings)
        ids = {
            id: text
            for id, text in vocabulary.markers.items()
            if (stripped := text.strip()) in stop or (stripped in counted and is_marker(stripped, special=True))
        }
        texts = frozenset(one.strip() for one in ids.values())
        known[key] = TokenMarkers(ids, texts, _starts_with(format, texts))
    found: TokenMarkers = known[key]
    return found


def _control_tokens_in(strings: Iterable[str]) -> frozenset[str]:
    """Return the parts of strings that have the form of a control token."""
    return frozenset(
        string[begin.start() : end.end()]
        for string in strings
        for begin in _FIRST.finditer(string)
        for end in _LAST.finditer(string, begin.end())
        if _CONTROL.fullmatch(string, begin.start(), end.end())
    )


def _starts_with(format: ToolCallFormat, tokens: frozenset[str]) -> bool:
    """Return whether the format's calls start with a marker that contains one of these tokens. If the header of a call
    may be in the prompt, the token may appear later in the call."""
    written = _written(format, 1).lstrip()
    starts = [start for start in format.markers.calls if written.startswith(start.lstrip())]
    start = max(starts, key=len, default="")
    headless = start in format.engine.start_only_openers or format.name_at_start == "usual"
    return any(token in (written if headless else start) for token in tokens)


@cache
def _known_texts() -> frozenset[str]:
    """Return the strings of all known formats, and the parts of them that may be tokens."""
    reasoning = (marker for pair in COMMON_REASONING for marker in pair)
    strings = frozenset((*TURN_ENDS, *reasoning, *(string for format in KNOWN for string in _literals_in(format))))
    return strings | _control_tokens_in(strings)


def _literals_in(format: ToolCallFormat) -> Iterator[str]:
    """Yield the literals of a format, without surrounding whitespace, and calls in it."""
    return map(str.strip, _raw_literals(format))


def _raw_literals(format: ToolCallFormat) -> Iterator[str]:
    yield from format.markers.output_literals
    yield from (*format.ignored_markers, *format.ignored_at_start, *format.between)
    yield from (marker for pair in (*format.reasoning_read, *format.content_markers) for marker in pair)
    for engine in (format.engine, *format.variants.values()):
        yield from _strings_inside(engine)
    yield _written(format, 2)


def _written(format: ToolCallFormat, count: int) -> str:
    """Return calls in a format."""
    try:
        return format.writer.write([_CALL] * count, lambda name, *path: None)
    except (ValueError, NotImplementedError):  # `auto` only parses
        return ""


def _strings_inside(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (tuple, list, frozenset)):
        for one in value:
            yield from _strings_inside(one)
    elif is_dataclass(value):
        for one in fields(value):
            yield from _strings_inside(getattr(value, one.name))
