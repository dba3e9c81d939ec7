"""What a derived format's parser returns for one output: calls, and the text around them. Never raises."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from toolfmt.formats import Parser, ToolCallFormat
from toolfmt.formats.tolerances import OF_THE_FORMAT
from toolfmt.inspect.format.read_back import reading_of
from toolfmt.inspect.probe.conversations import Call, Message
from toolfmt.messages.events import Event, merge

_PIECES, _CHARACTERS = 40, 1_000
"""Number of chunks in which an output is also parsed. For calls without text, single characters up to this length."""
_LONGEST = 60
"""Maximum number of characters of a quoted value."""
# Tokens that end a turn, by their names.
_END_OF_TURN = re.compile(
    r"(?i)</?s>|<[|｜]?[^<>\s]{0,40}(?:end|eo[stm])[^<>\s]{0,40}>|\[[^\[\]\s]{0,40}end[^\[\]\s]{0,40}\]"
)


@dataclass(frozen=True)
class AnswerRead:
    """`before` and `between` are content around the calls, `after` is what follows the last one.

    Without calls, all content is in `before`. `streams` is whether chunks have the same result as the whole output.
    """

    calls: tuple[tuple[str, Any], ...]
    before: str
    between: str
    after: str
    reasoning: str
    tolerated: tuple[str, ...]
    rejected: str
    streams: bool

    @property
    def content(self) -> str:
        return self.before + self.between + self.after


def read_answer(
    format: ToolCallFormat,
    text: str,
    tools: Sequence[Message] | None,
    prefix: str = "",
    *,
    characters: bool = False,
) -> AnswerRead:
    """Parse an output that follows this end of a prompt, whole and in chunks (`characters` if it is not too long)."""
    whole = _events(format, [text], tools, prefix)
    length = -(-len(text) // (_CHARACTERS if characters else _PIECES)) or 1
    pieces = [text[at : at + length] for at in range(0, len(text), length)]
    return _answer_read(whole, streams=_events(format, pieces, tools, prefix) == whole)


def differing(expected: Sequence[Call], came: AnswerRead) -> str:
    """Return how the calls differ from the expected ones, ignoring the order of arguments; empty if they do not."""
    if came.rejected:
        return f"it is rejected as {came.rejected}"
    if len(came.calls) != len(expected):
        return f"{len(came.calls)} {'call is' if len(came.calls) == 1 else 'calls are'} read instead of {len(expected)}"
    for (name, arguments), (read_name, read_arguments) in zip(expected, came.calls, strict=True):
        if name != read_name:
            return f"the name {shown(name)} comes back as {shown(read_name)}"
        if difference := _differing_arguments(dict(arguments), read_arguments):
            return difference
    return "" if came.streams else "it is parsed differently in chunks"


def reordered(expected: Sequence[Call], came: AnswerRead) -> bool:
    """Return whether arguments of a call are in another order."""
    pairs = zip(expected, came.calls, strict=False)
    return any(list(arguments) != list(read) for (_, arguments), (_, read) in pairs)


def left_over(text: str) -> str:
    """Return what follows the calls without the end of the turn."""
    return _END_OF_TURN.sub("", text).strip()


def shown(value: Any) -> str:
    """Return a value for a sentence, shortened in the middle if it is long."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[:30]} … {text[-20:]}"


def _events(format: ToolCallFormat, pieces: Sequence[str], tools: Any, prefix: str) -> list[Event]:
    parser = Parser(format, tools=tools, prefix=prefix, tolerate=OF_THE_FORMAT)
    events = [event for piece in pieces for event in parser.feed(piece)]
    return merge([*events, *parser.finish()])


def _answer_read(events: Sequence[Event], *, streams: bool) -> AnswerRead:
    read = reading_of(events)
    rejected = read.rejected[0] if read.rejected else ""
    contents = read.leading, read.between, read.trailing
    return AnswerRead(read.calls, *contents, read.reasoning, read.tolerated, rejected, streams)


def _differing_arguments(arguments: dict[str, Any], came: dict[str, Any]) -> str:
    lost = [key for key in arguments if key not in came]
    if lost:
        return f"of {len(arguments)} arguments {len(lost)} are lost" if len(arguments) > 1 else "the argument is lost"
    if more := sorted(set(came) - set(arguments)):
        return f"the argument {shown(more[0])} is read that was not given"
    for key, value in arguments.items():
        if _typed(value) != _typed(came[key]):
            return _changed(value, came[key])
    return ""


def _changed(value: Any, came: Any) -> str:
    if isinstance(value, str) and isinstance(came, str) and len(value) > _LONGEST < len(came) != len(value):
        return f"{len(value):,} characters come back as {len(came):,}"
    return f"{shown(value)} comes back as {shown(came)}"


def _typed(value: Any) -> str:
    """Return JSON text, which distinguishes 1 from true and 1.0; Python's equality does not."""
    return json.dumps(value, sort_keys=True)
