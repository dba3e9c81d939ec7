"""Parse a runtime's text, and use its token ids to find out which markers are tokens.

A server passes on new text and the ids of new tokens, but they may differ:

- With stop strings, the last characters come later than their ids.
- The text of the end token, and of some special tokens, never comes.
- After reasoning that another parser read, the ids may start earlier or later than the text.

So the text is parsed, and the ids are aligned with it. Where that fails, markers are matched by their text.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, Literal, TypeAlias

from toolfmt.formats import Parser, TokenParser, ToolCallFormat
from toolfmt.formats.parser.tokens.detokenizer import Detokenizer
from toolfmt.formats.parser.tokens.vocabulary import Tokens, without_noncharacters
from toolfmt.messages.events import Event

Markers: TypeAlias = Literal["auto", "text"]
"""`text`: all markers are matched by their text. `auto`: only those that are not tokens."""
_MAX_EXPECTED = 10_000
"""Maximum number of characters of tokens whose text may still come. What is older will not come."""
_MAX_UNKNOWN = 1000
"""Maximum length of leading text for which the runtime passed no ids."""
_COMPARED = 8
"""Length of the beginning of the text that is searched for in the text of the tokens."""


class AlignedParser:
    """Parses one response.

    Args:
        parser: A new parser.
        tokenizer: The tokenizer. If `TokenParser` does not support it, the ids are not used.
        markers: `text` does not use the ids either.
    """

    def __init__(self, parser: Parser, tokenizer: Any, markers: Markers = "auto") -> None:
        self._parser: Parser | TokenParser = parser
        self._detokenizer: Detokenizer | None = None
        if markers == "text":
            return
        try:
            tokens = Tokens(tokenizer)
        except TypeError:
            return
        with_ids = TokenParser(parser, tokenizer)
        self._parser, self._counting = with_ids, with_ids.marker_tokens
        self._detokenizer = Detokenizer(tokens, tokens.vocabulary.markers)
        self._expected = ""
        """The text of the tokens whose text has not come yet."""
        self._markers: list[tuple[int, int]] = []
        """The ranges of added tokens in it. The runtime may omit their text."""
        self._held = ""
        """Text that is a part of a marker."""

    @property
    def format(self) -> ToolCallFormat:
        return self._parser.format

    @property
    def ended(self) -> bool:
        return self._parser.ended

    def feed(self, text: str, ids: Iterable[int]) -> list[Event]:
        """Return the events that are certain after this text.

        Args:
            text: The next text.
            ids: The tokens that the runtime gives with it.
        """
        if not isinstance(self._parser, TokenParser) or self._detokenizer is None:
            return self._parser.feed(text)
        for piece, is_marker in self._detokenizer.feed(ids):
            if is_marker:
                self._markers.append((len(self._expected), len(self._expected) + len(piece)))
            self._expected += piece
        text, self._held = self._held + without_noncharacters(text), ""  # as the text of the tokens
        if not text:
            return []
        events = []
        for piece, special in self._aligned(text):
            events += self._parser.feed(piece, special=special)
        self._drop(len(self._expected) - _MAX_EXPECTED)
        return events

    def finish(self, *, cut: bool = False) -> list[Event]:
        """Return the events that were held back, at the end of the response.

        Args:
            cut: As in `Parser.finish`.
        """
        held = self._parser.feed(self._held) if self._detokenizer is not None and self._held else []
        return [*held, *self._parser.finish(cut=cut)]

    def _aligned(self, text: str) -> Sequence[tuple[str, bool]]:
        """Return a text in pieces, and for each whether it counts as it is: a marker token, or text of no known token.

        The pieces are removed from what is expected.
        """
        found = self._walk(0, text)
        at = 0
        while found is None and (at := self._expected.find(text[:_COMPARED], at + 1)) > 0:
            found = self._walk(at, text)  # tokens before it are not in the text
        for at in range(1, min(len(text), _MAX_UNKNOWN)):
            if found is not None:
                break
            found = self._walk(0, text[at:])  # the text before it is of tokens that were not given
            found = None if found is None else [(text[:at], True), *found]
        return [(text, True)] if found is None else found

    def _walk(self, at: int, text: str) -> list[tuple[str, bool]] | None:
        """Align a text with `_expected` from a position on. Return its pieces, or None if they differ."""
        expected, pieces, begin = self._expected, [], 0
        markers = self._markers[bisect_left(self._markers, (at,)) :] if at else self._markers
        for marker, end in chain(markers, [(len(expected), len(expected))]):
            size = min(marker - at, len(text) - begin)
            if not expected.startswith(text[begin : begin + size], at):
                return None
            if size:
                pieces.append((text[begin : begin + size], False))
            at, begin = at + size, begin + size
            if begin == len(text):
                break
            here = expected[marker:end]
            if not here:
                return None
            if text.startswith(here, begin):
                pieces.append((here, here.strip() in self._counting))
                begin += len(here)
            elif here.startswith(text[begin:]):
                self._held = text[begin:]
                break
            at = end  # or the runtime dropped the marker
        self._drop(at)
        return pieces

    def _drop(self, count: int) -> None:
        """Remove characters from what is expected."""
        if count > 0:
            self._expected = self._expected[count:]
            self._markers = [(begin - count, end - count) for begin, end in self._markers if begin >= count]
