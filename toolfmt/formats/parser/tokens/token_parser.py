"""Parse token ids: a marker that is a single token counts only where the model wrote that token.

If a marker is spelled in ordinary tokens, the parser gets a noncharacter for its first character, so that no engine
finds it. The character is restored in the events. Lengths do not change, so offsets are those of the text.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Literal

from toolfmt.errors import ToolfmtError
from toolfmt.formats.engines.call_builder import UncheckedEnd
from toolfmt.formats.format import ToolCallFormat
from toolfmt.formats.parser.parser import Parser, for_tokens, stop_strings
from toolfmt.formats.parser.tokens.detokenizer import Detokenizer
from toolfmt.formats.parser.tokens.token_markers import TokenMarkers, token_markers
from toolfmt.formats.parser.tokens.vocabulary import Tokens, without_noncharacters
from toolfmt.messages.events import (
    Content,
    Event,
    Reasoning,
    ToolCallArguments,
    ToolCallEnd,
    ToolCallRejected,
    ToolCallStart,
)

_ESCAPED = re.compile(r"\\u(fd[de][0-9a-f])")


class TokenParser:
    """Parses one output of a model from its token ids.

    A marker that is an added token of the tokenizer counts only where the model wrote that token. Spelled in ordinary
    tokens, it is text, including in arguments. If the calls of the format start with such a marker, only a marker token
    can start a call. Markers that are not tokens are matched by their text.

    Args:
        parser: A new parser of the format. Its options apply.
        tokenizer: A tokenizer of transformers, tokenizers, mlx-lm, mistral-common or llama-cpp-python (`Llama`). If the
            runtime gives strings instead of ids, a list of its added tokens.
        markers: `auto`: a marker that is an added token counts only as that token; others are matched by their text.
            `tokens` also requires that calls start with a token. `text` matches all markers by their text, as `Parser`.

    Raises:
        TypeError: `parser` is not a `Parser`, or `tokenizer` is not a tokenizer.
        ValueError: The parser was already fed, or `markers` has an unknown value.
        ToolfmtError: `markers` is `tokens`, but the format's calls do not start with a token.
    """

    def __init__(self, parser: Parser, tokenizer: Any, markers: Literal["auto", "tokens", "text"] = "auto") -> None:
        if not isinstance(parser, Parser):
            raise TypeError(f"parser must be a Parser, not {type(parser).__name__}")
        if markers not in ("auto", "tokens", "text"):
            raise ValueError(f'markers must be "auto", "tokens" or "text", not {markers!r}')
        tokens = Tokens(tokenizer)
        found = token_markers(parser.format, stop_strings(parser), tokens.vocabulary)
        if markers == "tokens" and not found.start_calls:
            raise ToolfmtError(
                f'markers="tokens" is not possible: calls of the format {parser.format.name} do not start with an '
                "added token of this tokenizer, so a quoted call looks like a real one; to parse without this "
                'guarantee, pass markers="auto"'
            )
        self._markers = TokenMarkers() if markers == "text" else found
        starts = self._markers.texts if self._markers.start_calls else frozenset[str]()
        self._has_hidden = self._closed = False
        self._parser, self._check = for_tokens(parser, starts, self._without_open_marker)
        self._detokenizer = Detokenizer(tokens, self._markers.ids)
        self._knows_ids = self._has_ranges = tokens.has_ids
        self._held = ""
        """Text at the end that may become a marker, spelled in ordinary tokens."""
        self._unchecked: list[Event] = []

    def feed(self, ids: Iterable[int] | str, *, special: bool = False) -> list[Event]:
        """Return the events that are certain after these tokens.

        Args:
            ids: The next token ids, or a string: one added token, or other text.
            special: Whether the string is an added token. Only for strings.

        Raises:
            RuntimeError: The parser is finished.
            TypeError: An id is not an integer, or the parser was created without a tokenizer.
        """
        if self._closed:
            self._parser.feed("")  # raises, also if these tokens would be held back
        if isinstance(ids, str):
            self._has_ranges = False
            pieces = [(without_noncharacters(ids), special)]
        else:
            try:
                pieces = self._detokenizer.feed(self._checked(ids))
            except TypeError as error:
                raise TypeError(f"feed() takes a str or a flat list of token ids ({error})") from None
        if len(pieces) == 1 and not pieces[0][1]:
            return self._finished(self._ordinary(pieces[0][0]))
        events = [] if pieces else self._parser.feed("")
        for text, is_marker in pieces:
            if is_marker:
                events += self._ordinary("", closed=True)
                events += self._parser.feed(text)
            else:
                events += self._ordinary(text)
        return self._finished(events)

    def _checked(self, ids: Iterable[int]) -> Iterable[int]:
        if not self._knows_ids:
            raise TypeError("this parser was created from a list of added tokens; pass a tokenizer to feed ids")
        if isinstance(ids, (bytes, bytearray)):
            raise TypeError(f"this is {type(ids).__name__}")
        return ids.tolist() if hasattr(ids, "tolist") else ids

    def finish(self, *, cut: bool = False) -> list[Event]:
        """Return the events that were held back, at the end of the output.

        Args:
            cut: As in `Parser.finish`.
        """
        events = self._ordinary(self._detokenizer.finish(), closed=True)
        self._closed = True
        return self._finished([*events, *self._parser.finish(cut=cut)])

    def copy(self) -> TokenParser:
        """Return an independent parser in the same state."""
        twin = object.__new__(TokenParser)
        twin.__dict__.update(self.__dict__)
        twin._parser, twin._detokenizer = self._parser.copy(), self._detokenizer.copy()
        twin._check, twin._unchecked = self._check and self._check.copy(), self._unchecked[:]
        return twin

    @property
    def format(self) -> ToolCallFormat:
        """The format."""
        return self._parser.format

    @property
    def continued(self) -> list[Event]:
        """The content and reasoning of this output that the prefix already contains, as in `Parser`."""
        return list(map(self._with_text, self._parser.continued))

    @property
    def marker_tokens(self) -> frozenset[str]:
        """The markers that count only where the model wrote their tokens."""
        return self._markers.texts

    @property
    def ended(self) -> bool:
        """Whether the output has ended, by a stop string or by `finish`."""
        return self._parser.ended

    @property
    def waiting_for(self) -> str:
        """A sentence that describes what the parser is currently inside of."""
        return self._restored(self._parser.waiting_for)

    __copy__ = copy

    def __deepcopy__(self, memo: object) -> TokenParser:
        return self.copy()

    def _ordinary(self, text: str, *, closed: bool = False) -> list[Event]:
        """Parse text of tokens that are not markers. Hold back what may become a marker, unless `closed`."""
        text, self._held = self._held + text, ""
        markers = self._markers
        if not markers.texts or not text:
            return self._parser.feed(text) if text else []
        literals = markers.literals
        trigger = literals.trigger
        if trigger and trigger not in text and text[-1] not in literals.before:
            return self._parser.feed(text)
        parts: list[str] = []
        at = begin = 0
        while (found := literals.search(text, begin, closed)) is not None:
            begin, marker = found
            if not marker:
                text, self._held = text[:begin], text[begin:]
                break
            parts += (text[at:begin], markers.hidden[text[begin]])
            at = begin = begin + 1
            self._has_hidden = True
        text = "".join((*parts, text[at:])) if parts else text
        return self._parser.feed(text) if text else []

    def _without_open_marker(self, prefix: str) -> str:
        """Return a prefix of the output whose end cannot become a marker, because the rest of it is not a token."""
        begin, markers = 0, self._markers
        while not prefix.endswith(tuple(markers.texts)) and (found := markers.literals.search(prefix, begin, False)):
            begin, marker = found
            if not marker:
                self._has_hidden = True
                return prefix[:begin] + markers.hidden[prefix[begin]] + prefix[begin + 1 :]
            begin += len(marker)
        return prefix

    def _finished(self, events: list[Event]) -> list[Event]:
        """Return the events with the text of the model, checked, and with ranges of tokens."""
        if self._has_hidden:
            events = list(map(self._with_text, events))
        if self._check is not None:
            self._unchecked += events
            events = self._check.take(self._unchecked)
        if self._has_ranges:
            for event in events:
                if isinstance(event, (ToolCallEnd, ToolCallRejected)):
                    event.tokens = self._token_range(*event.span)
        return events

    def _token_range(self, begin: int, end: int) -> tuple[int, int]:
        """Return the range of the tokens that have characters between two offsets."""
        starts = self._detokenizer.starts
        return bisect_right(starts, begin) - 1, bisect_left(starts, end)

    def _with_text(self, event: Event) -> Event:
        """Return an event with the characters that were replaced."""
        if isinstance(event, (Content, Reasoning)):
            return replace(event, text=self._restored(event.text))
        if isinstance(event, ToolCallStart):
            return replace(event, name=self._restored(event.name), id=event.id and self._restored(event.id))
        if isinstance(event, ToolCallArguments):
            return replace(event, delta=self._restored(event.delta))
        if isinstance(event, UncheckedEnd):
            return replace(event, raw=self._restored(event.raw))
        if isinstance(event, ToolCallRejected):
            message, expected = (self._restored(_unescaped(text)) for text in (event.message, event.expected))
            if message != event.message:  # it may report that a marker was expected, and found
                message = f"{message.removesuffix('.')}; a marker was written as text instead of its special token."
            return replace(event, raw=self._restored(event.raw), message=message, expected=expected)
        return event

    def _restored(self, text: str) -> str:
        return text.translate(self._markers.restored)


def _unescaped(text: str) -> str:
    """Return a sentence in which noncharacters are not escaped."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)
