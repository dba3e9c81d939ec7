"""Build a sentinel request: the same conversation with a unique word instead of every text.

It is rendered like the request. The positions of its words in the prompt show what the template passes on, how often
and in which order, independent of the texts. `aligned` then finds the same positions in the request's own prompt, and
so verifies that nothing else happened to the texts. Texts that the template searches for in messages stay unchanged, so
that it treats both requests the same. Nothing here raises.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

from toolfmt.inspect.probe.turn_markers import known_reasoning
from toolfmt.render.request.messages import RAW_ARGUMENTS, REASONING_NAMES, Message, calls_of, function_of, is_object

WORD = re.compile(r"Zq(\d{1,9})z|97531(\d{5})08642(?:\.\d)?")

_SHORTEST_TESTED = 2
_MOST_WORDS = 10_000
"""More than the number of texts in a request."""
_OBJECT_KEYS = ("text", "document", "data", "content", "snippet", "title")
"""Keys of a content part whose texts a prompt may show."""
_SCALAR = re.compile(r'"(?:[^"\\]|\\.)*"(\s*:)?|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?')
_DEEPEST = 64
_FENCE = "```"

Kind = Literal["text", "reasoning", "argument", "call", "definition", "name"]


@dataclass(frozen=True)
class RequestSpan:
    """A part of a request's text: its message (-1 for a tool), its kind and its label."""

    kind: Kind
    message: int
    text: str
    name: str = ""
    """For an argument, its name with that of its tool; for a definition or a call, the tool's name."""
    number: bool = False
    call: int = -1
    """The index of the call in its message, for the call itself and its arguments."""
    written: str = ""
    """The value as written in the given JSON text, if that is not the usual form."""


@dataclass(frozen=True)
class CutText:
    """A string that contains strings that the template tests for.

    Holds the numbers of the first and the last word made of it, what is before and after these, and the whole text.
    `marks` are the tested strings, each with the number of the first word after it.
    """

    first: int
    last: int
    before: str
    after: str
    whole: str
    marks: Sequence[tuple[str, int]] = ()


@dataclass(frozen=True)
class MarkText:
    """A string of tested strings only, so no word replaces it. `after` is the number of the next word."""

    next_word: int
    message: int
    text: str


@dataclass(frozen=True)
class SentinelRequest:
    """A sentinel request. Word number `begin` + n replaces `pieces[n]` in its messages and tools."""

    messages: list[Message]
    tools: list[Message] | None
    pieces: Sequence[RequestSpan]
    cut_texts: Sequence[CutText] = ()
    mark_texts: Sequence[MarkText] = ()
    begin: int = 0


def sentinel_request_of(
    messages: Sequence[Message],
    tools: Sequence[Message] | None,
    tested: Collection[str] = (),
    other_text: str = "",
    prefill: str = "",
) -> SentinelRequest:
    """Return the sentinel request of checked messages and canonical tools.

    `tested` are the strings that the template searches for. `other_text` is other text in the prompt. `prefill` is the
    part of the response that the generation prompt already contains.
    """
    words = _Words(tested, free_number(messages, tools, other_text), prefill)
    replaced = [words.message(message, position) for position, message in enumerate(messages)]
    defined = None if tools is None else [words.tool(tool) for tool in tools]
    return SentinelRequest(replaced, defined, words.pieces, words.cut_texts, words.mark_texts, words.begin)


def free_number(*values: object) -> int:
    """Return the first number for words that do not occur in these; keys and names must differ from words."""
    try:
        taken = sorted({int(found[1] or found[2]) for found in WORD.finditer("".join(map(str, values)))})
    except (ValueError, RecursionError):  # a number of thousands of digits
        return 0
    begin = 0
    for number in taken:
        if number >= begin + _MOST_WORDS:
            break
        begin = number + 1
    return begin


class _Words:
    """Creates the words."""

    def __init__(self, tested: Collection[str], begin: int, prefill: str) -> None:
        self.begin = begin
        self.pieces: list[RequestSpan] = []
        self.cut_texts: list[CutText] = []
        self.mark_texts: list[MarkText] = []
        self._tested, self._prefill = tested, prefill

    def message(self, message: Message, position: int) -> Message:
        replaced = dict(message)
        reasoning = {name: message[name] for name in REASONING_NAMES if isinstance(message.get(name), str)}
        worded: dict[str, str] = {}
        for name, text in reasoning.items():
            if text not in worded:
                worded[text] = self._run(text, RequestSpan("reasoning", position, text))
            replaced[name] = worded[text]
        if message.get("content"):
            replaced["content"] = self._content(message["content"], position, message["role"])
        if calls_of(message):
            replaced["tool_calls"] = [
                self._call(call, position, number) for number, call in enumerate(calls_of(message))
            ]
        return replaced

    def tool(self, tool: Message) -> Message:
        function = tool["function"]
        made = self._described(function, function["name"], 0)
        return {**tool, "function": made}

    def _content(self, content: Any, position: int, role: str) -> Any:
        if isinstance(content, str):
            return self._text(content, position, role)
        return [self._part(part, position, role, 0) for part in content]

    def _part(self, part: Any, position: int, role: str, depth: int) -> Any:
        if isinstance(part, str):
            return self._text(part, position, role)
        if isinstance(part, Mapping) and depth < _DEEPEST:
            thought = part.get("thinking")
            if isinstance(thought, str):
                kind: Kind = "reasoning" if role == "assistant" else "text"
                return {**part, "thinking": self._run(thought, RequestSpan(kind, position, thought))}
            return {
                key: self._part(value, position, role, depth + 1) if key in _OBJECT_KEYS else value
                for key, value in part.items()
            }
        return part

    def _text(self, text: str, position: int, role: str) -> str:
        """Return the text with words between the strings that the template searches for."""
        runs, after = split_text(text, role, self._tested, self._prefill)
        parts: list[str] = []
        marks: list[tuple[str, int]] = []
        before = len(self.pieces)
        for at, run in enumerate(runs):
            if at == after:
                before = len(self.pieces)
            if at >= after and at % 2:
                marks.append((run, len(self.pieces)))
            kind: Kind = "reasoning" if at < after else "text"
            parts.append(run if at % 2 else self._run(run, RequestSpan(kind, position, run)))
        rest = "".join(runs[after:])
        worded = [at for at in range(after, len(runs), 2) if runs[at].strip()]
        if worded and len(runs) > after + 1:
            around = "".join(runs[after : worded[0]]).strip(), "".join(runs[worded[-1] + 1 :]).strip()
            self.cut_texts.append(CutText(before, len(self.pieces) - 1, *around, rest.strip(), marks))
        elif rest.strip() and not worded:
            self.mark_texts.append(MarkText(before, position, rest.strip()))
        return "".join(parts)

    def _call(self, call: Message, position: int, number: int) -> Message:
        function = dict(function_of(call))
        argument = RequestSpan("argument", position, "", str(function["name"]), call=number)
        given, before = function.get("arguments"), len(self.pieces)
        if isinstance(given, str) and given and not is_object(call):
            function["arguments"] = self._run(given, replace(argument, name=f"{argument.name}: {RAW_ARGUMENTS}"))
        elif isinstance(given, str):
            function["arguments"] = self._json(given, argument)
        elif isinstance(given, Mapping):
            function["arguments"] = self._value(given, argument, 0)
        if len(self.pieces) == before:  # without arguments, nothing marks the position of the call
            function["name"] = self._word(replace(argument, kind="call", text=argument.name))
        return {**call, "function": function} if "function" in call else {**call, **function}

    def _json(self, text: str, argument: RequestSpan) -> str:
        """Return the text of a JSON object with words as its values, in the same layout."""

        def worded(found: re.Match[str]) -> str:
            if found[1] is not None:
                return found[0]
            try:
                value = json.loads(found[0])
            except ValueError:
                return found[0]
            if not isinstance(value, str):
                return json.dumps(self._number(value, replace(argument, text=found[0])))
            usual = (json.dumps(value), json.dumps(value, ensure_ascii=False))
            if value.strip() and found[0] not in usual:
                return f'"{self._word(replace(argument, text=value, written=found[0][1:-1]))}"'
            return json.dumps(self._run(value, argument), ensure_ascii=found[0] == usual[0])

        return _SCALAR.sub(worded, text)

    def _value(self, value: Any, argument: RequestSpan, depth: int) -> Any:
        if isinstance(value, str):
            return self._run(value, argument)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            try:
                return self._number(value, replace(argument, text=json.dumps(value)))
            except ValueError:  # an integer of more digits than Python converts
                return value
        if depth >= _DEEPEST:
            return value
        if isinstance(value, Mapping):
            named = {key: replace(argument, name=f"{argument.name}: {key}") for key in value} if depth == 0 else {}
            return {key: self._value(inner, named.get(key, argument), depth + 1) for key, inner in value.items()}
        if isinstance(value, (list, tuple)):
            return [self._value(inner, argument, depth + 1) for inner in value]
        return value

    def _number(self, value: float, piece: RequestSpan) -> float:
        number = int(f"97531{self.begin + len(self.pieces):05}08642")
        self.pieces.append(replace(piece, number=True))
        return number + 0.5 if isinstance(value, float) else number

    def _described(self, schema: Any, name: str, depth: int) -> Any:
        """Return a definition with words as its descriptions. A property may be called `description` too."""
        if depth >= _DEEPEST:
            return schema
        if isinstance(schema, (list, tuple)):
            return [self._described(part, name, depth + 1) for part in schema]
        if not isinstance(schema, Mapping):
            return schema
        described: dict[str, Any] = {}
        for key, value in schema.items():
            if key == "description" and isinstance(value, str):
                described[key] = self._run(value, RequestSpan("definition", -1, value, name))
            elif key in ("properties", "$defs", "definitions") and isinstance(value, Mapping):
                described[key] = {one: self._described(inner, name, depth + 1) for one, inner in value.items()}
            elif key in ("enum", "const", "default", "examples", "required"):
                described[key] = value
            else:
                described[key] = self._described(value, name, depth + 1)
        return described

    def _run(self, text: str, piece: RequestSpan) -> str:
        """Return the text as a word, with its surrounding whitespace. Whitespace alone stays unchanged."""
        bare = text.strip()
        if not bare:
            return text
        begin = text.find(bare)
        word = self._word(RequestSpan(piece.kind, piece.message, bare, piece.name, call=piece.call))
        return text[:begin] + word + text[begin + len(bare) :]

    def _word(self, piece: RequestSpan) -> str:
        self.pieces.append(piece)
        return f"Zq{self.begin + len(self.pieces) - 1}z"


def split_text(text: str, role: str, tested: Collection[str], prefill: str) -> tuple[list[str], int]:
    """Split the text at the tested strings (odd indexes). Return the parts and the index after the reasoning.

    Only an assistant text has reasoning. Either the text begins with the start marker, or the generation prompt
    contains it; then the first marker in the text is the end marker, at the end of a line and outside code. Any other
    marker is text.
    """
    runs = _splitter(tuple(sorted(set(tested)))).split(text)
    if role != "assistant" or len(runs) < 3:
        return runs, 0
    for start, end in _reasoning_pairs():
        if not runs[0].strip() and runs[1] == start and end in runs[3::2]:
            return runs, runs.index(end, 3) + 1
        opened = prefill.rfind(start) > prefill.rfind(end)
        ends_line = runs[2].strip(" \t\r")[:1] in ("", "\n")
        if opened and runs[1] == end and ends_line and runs[0].count(_FENCE) % 2 == 0:
            return runs, 2
    return runs, 0


def marks_reasoning(text: str) -> bool:
    """Return whether the text is a start or end marker of reasoning in any format."""
    return any(text in pair for pair in _reasoning_pairs())


@lru_cache(maxsize=64)
def _splitter(tested: tuple[str, ...]) -> re.Pattern[str]:
    """Return a pattern that splits a string at the tested strings; they are at the odd indexes."""
    marks = [text.strip() for text in tested]
    marks = [text for text in marks if len(text) >= _SHORTEST_TESTED and not text.isalnum()]
    # Both markers of a pair: whether a string begins with reasoning depends on the start marker.
    known = [mark for pair in _reasoning_pairs() if not set(pair).isdisjoint(marks) for mark in pair]
    every = sorted({*marks, *known}, key=lambda text: (-len(text), text))
    return re.compile(f"({'|'.join(map(re.escape, every))})") if every else re.compile(r"(?!)()")


@lru_cache(maxsize=1)
def _reasoning_pairs() -> tuple[tuple[str, str], ...]:
    return tuple((start.strip(), end.strip()) for start, end in known_reasoning())


# --- the prompts


def words_in(text: str, twin: SentinelRequest) -> list[tuple[int, int, int]]:
    """Return (begin, end, number) of each sentinel word in a prompt or a part of it, in order."""
    found = ((word.start(), word.end(), int(word[1] or word[2]) - twin.begin) for word in WORD.finditer(text))
    return [word for word in found if 0 <= word[2] < len(twin.pieces)]


def aligned(prompt: str, twin_prompt: str, twin: SentinelRequest) -> list[tuple[int, int, int]] | None:
    """Return (begin, end, number) of each text in the prompt, in order.

    Return None unless the prompt is equal to the sentinel prompt with the texts instead of the words. Each text may be
    in any variant that templates and formats write.
    """
    found = words_in(twin_prompt, twin)
    literals = _literals(twin_prompt, found)
    if not prompt.startswith(literals[0]):
        return None
    spans, offset = [], len(literals[0])
    for (_, _, number), literal in zip(found, literals[1:], strict=True):
        end = _spelled(prompt, offset, twin.pieces[number], literal)
        if end is None:
            return None
        spans.append((offset, end, number))
        offset = end + len(literal)
    return spans if offset == len(prompt) else None


def in_order(
    prompt: str, pieces: Iterable[RequestSpan]
) -> tuple[list[tuple[int, int, RequestSpan]], list[RequestSpan]]:
    """Find the pieces in the prompt in order. Return those found and those missing, if it cannot be aligned."""
    offset, found, missing = 0, list[tuple[int, int, RequestSpan]](), []
    for piece in pieces:
        ends = [(at + len(text), at) for text in spellings_of(piece) if (at := prompt.find(text, offset)) >= 0]
        if ends:
            offset, begin = min(ends)
            found.append((begin, offset, piece))
        else:
            missing.append(piece)
    return found, missing


def _literals(text: str, words: Sequence[tuple[int, int, int]]) -> list[str]:
    """Return the text before, between and after the words."""
    begins = [0, *(end for _, end, _ in words)]
    ends = [*(begin for begin, _, _ in words), len(text)]
    return [text[begin:end] for begin, end in zip(begins, ends, strict=True)]


def _spelled(prompt: str, offset: int, piece: RequestSpan, literal: str) -> int | None:
    """Return the end of the text at this position, which the literal must follow, or None."""
    for text in spellings_of(piece):
        end = offset + len(text)
        if prompt.startswith(text, offset) and prompt.startswith(literal, end):
            return end
    return None


def spellings_of(piece: RequestSpan) -> Iterator[str]:
    """Yield the variants in which templates and formats write the piece, the usual ones first."""
    if not piece.number:
        yield from spellings(piece.text)
        if piece.written:
            yield from (piece.written, json.dumps(piece.written, ensure_ascii=False)[1:-1])
        return
    value = json.loads(piece.text)
    yield from (piece.text, json.dumps(value), str(value))
    if isinstance(value, float):
        yield f"{value:g}"


def spellings(text: str) -> Iterator[str]:
    """Yield the variants in which templates and formats write a string, the usual ones first."""
    yield text
    escaped = json.dumps(text, ensure_ascii=False)[1:-1]
    yield escaped
    yield json.dumps(text)[1:-1]
    yield repr(text)[1:-1]
    yield json.dumps(escaped, ensure_ascii=False)[1:-1]
    yield html.escape(text)
    yield html.escape(text).replace("&quot;", "&#34;").replace("&#x27;", "&#39;")
    yield html.escape(text, quote=False)
    yield f"<![CDATA[{text}]]>"
