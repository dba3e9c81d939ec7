"""A format said in the declarative language that transformers reads answers with: its `response_template`.

The language (transformers 5.23, `docs/source/en/chat_response_parsing.md` and `utils/chat_parsing`) has regions with an
opener and a closer, whose text is JSON or a row of flat tags, and a transform of that. 5.24 adds `python-call-list`,
which parses `[f(k="v")]`. No template uses it here, so every template works in 5.23 too. Their content is derived
from the calls that the format writes, whatever its engine: the text before a name, between two calls, around a value.
This module verifies nothing: `toolfmt.integrations.transformers` compares the result with transformers' own parser.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
from typing import Any, NamedTuple

from toolfmt.errors import CannotWrite, NoResponseTemplate
from toolfmt.formats.engines.engine import Call
from toolfmt.formats.format import ToolCallFormat
from toolfmt.formats.parser.prompt_prefix import header_pattern
from toolfmt.formats.writing import write

_ONE, _TWO = "tool_one", "tool_two"
_A, _B, _N = "key_a", "key_b", "key_n"
_TEXT_A, _TEXT_B, _NUMBER = "value a", "value b", 31337
_FIRST: Call = (_ONE, {_A: _TEXT_A})
_SECOND: Call = (_TWO, {_B: _TEXT_B})
_PROPERTIES = {_A: {"type": "string"}, _B: {"type": "string"}, _N: {"type": "integer"}}
_TOOLS = [
    {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": _PROPERTIES}}}
    for name in (_ONE, _TWO)
]
_NAME = "\0"
"""Stands for the tool's name in what was read off."""
_NAMES = r"[\w.:/$@+-]+"
_MARKS = re.compile(r"[^\w\s\0]")
_NAMED = {"type": "function", "function": {"name": "{name}", "arguments": "{content}"}}
_NO_OPENER = "a call has no start marker other than its name or its JSON"


class _Body(NamedTuple):
    """Where the arguments of one call lie in a text, with what belongs to them; and what JSON they are, if any."""

    begin: int
    end: int
    value: Any = None


class _Notation(NamedTuple):
    """How arguments are written: what the template says of it, with what they begin and end where that is always the
    same, and where those of two calls lie in the text of both."""

    says: Mapping[str, Any]
    begins: str
    ends: str
    first: _Body
    second: _Body
    named: bool = True
    """Whether the tool's name stands before the arguments, not in their JSON."""


def described(
    format: ToolCallFormat, *, start_anchor: str | Sequence[str] | None = None, stop: Sequence[str] = ()
) -> dict[str, Any]:
    """The `response_template` of a format, as far as the language has words for it.

    `start_anchor` is what stands before an answer in prompts (without one, what a `Parser` takes for that), `stop` the
    texts of the tokens that end a turn. Raises `NoResponseTemplate` where the language has no word for how the format
    writes calls.
    """
    anchor: dict[str, Any] = {"start_anchor_pattern": header_pattern(format.headers)}
    if start_anchor is not None:
        anchor = {"start_anchor": start_anchor if isinstance(start_anchor, str) else list(start_anchor)}
    calls, frame_closer = _calls(format, stop)
    silent = [
        *stop,
        *frame_closer,
        *format.ignored_markers,
        *(mark for pair in format.content_markers for mark in pair),
    ]
    closes = {"close_pattern": rf"\s*(?:{_either(silent)})"} if silent else {}
    # Content before and behind a call is one text: without `join` its last piece would be all of it.
    content = {**closes, "content": "text", "content_args": {"strip": False}, "repeats": True, "join": ""}
    openers = _once(opener for opener, _ in format.reasoning)
    # Of two with the same start, transformers (5.23, 5.24) takes the shorter one while it streams.
    own = [opener for opener in openers if not any(other.startswith(opener) for other in openers if other != opener)]
    reasoning = {"open": own, "content": "text"}
    reasoning["close_pattern"] = rf"(?:{_either(closer for _, closer in format.reasoning)})\s*"
    fields = {"reasoning_content": reasoning} if format.reasoning else {}
    return {
        "defaults": {"role": "assistant"},
        **anchor,
        "fields": {**fields, "tool_calls": calls, "content": content},
    }


def _calls(format: ToolCallFormat, stop: Sequence[str]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The field of the calls, and what closes the frame around all of them, where there is one."""
    one = _written(format, _FIRST)
    found = _json(one, _FIRST[1])
    if found is not None and isinstance(found.value, list):
        says = {"content": "json", "transform_each": True, "transform": _transform(format, found.value)}
        opener, closer = one[: found.begin].strip(), one[found.end :].strip()
        if not opener:
            raise _no_word(format, _NO_OPENER)
        ends = _closing("]", _regex(closer), _regex(opener), stop)
        return {"open_pattern": _opening(_regex(opener), "[", named=False), "close_pattern": ends, **says}, ()
    two = _written(format, _FIRST, _SECOND)
    notation = (_tags if found is None else _objects)(format, one, two)
    first, second = notation.first, notation.second
    begun, between = two[: first.begin].replace(_ONE, _NAME), two[first.end : second.begin].replace(_TWO, _NAME)
    opener, closer, frame_closer = _frame(format, begun, between, two[second.end :])
    if notation.named and _NAME not in opener:
        raise _no_word(format, "the tool's name is neither in its JSON nor at the start of a call")
    field = {
        "open_pattern": _opening(opener, notation.begins, named=notation.named),
        "close_pattern": _closing(notation.ends, closer, opener, stop),
        "repeats": True,
        **notation.says,
    }
    return field, (frame_closer,) if frame_closer else ()


def _opening(opener: str, begins: str, *, named: bool) -> str:
    """What opens a region: the opener with the blanks around it, where the arguments then begin as they must."""
    group = f"(?P<name>{_NAMES})" if named else _NAMES
    opener = opener.replace(_NAME, group, 1).replace(_NAME, _NAMES)
    return _one_run(rf"\s*{opener}\s*" + (f"(?={re.escape(begins)})" if begins else ""))


def _closing(ends: str, closer: str, opener: str, stop: Sequence[str]) -> str:
    """What closes a region: the closer behind the end of the arguments; without a closer, what may follow a call."""
    behind = f"(?<={re.escape(ends)})" if ends else ""
    if closer:
        return _one_run(rf"{behind}\s*{closer.replace(_NAME, _NAMES)}")
    # The end of the output closes a region by itself. While transformers 5.23 streams, a lookahead for it matches at
    # the end of every chunk; 5.24 waits for more text.
    follows = "|".join((opener.partition(_NAME)[0], *map(re.escape, stop)))
    return _one_run(rf"{behind}(?=\s*(?:{follows}))")


# --- what is read off


def _frame(format: ToolCallFormat, begun: str, between: str, ended: str) -> tuple[str, str, str]:
    """The patterns of what opens and of what closes a call, from what stands before the first one, between two and
    behind the last; and the text that closes a frame around all of them. That is no part of a pattern: it comes when
    the call has long been closed."""
    numbers = [re.findall(r"\d+", text)[-1:] for text in (begun, between)]
    if numbers[0] != numbers[1] and all(numbers):  # the call's own number, in its id
        begun, between = _without_numbers(begun), _without_numbers(between)
    opener = _common_end(begun, between)
    frame_opens, closer = begun[: -len(opener) or None], between[: -len(opener) or None]
    if not begun.strip():
        raise _no_word(format, _NO_OPENER)
    if not opener.strip():
        raise _no_word(format, "several calls are in one block, without a start marker for each")
    if not _MARKS.search(opener.partition(_NAME)[0]):
        raise _no_word(format, _NO_OPENER)
    ended, closer = ended.strip(), closer.strip()
    if frame_opens.strip():
        if not ended.startswith(closer):
            raise _no_word(format, "the last of several calls ends differently than the others")
        opens = f"(?:{_regex(frame_opens)}\\s*)?{_regex(opener)}"
        return opens, _regex(closer), ended[len(closer) :].strip()
    if not closer.startswith(ended):
        raise _no_word(format, "the last of several calls ends differently than the others")
    message = closer[len(ended) :].strip()
    return (f"(?:{_regex(message)}\\s*)?" if message else "") + _regex(opener), _regex(ended), ""


def _common_end(begun: str, between: str) -> str:
    """The longest common end of two texts that begins where a marker may begin."""
    common = _same_end(begun, between)
    if common == begun.lstrip():
        return common
    for at, sign in enumerate(common):
        if sign in "<[{(" or sign == _NAME or (at and common[at - 1].isspace()):
            return common[at:]
    return ""


def _objects(format: ToolCallFormat, one: str, two: str) -> _Notation:
    """A JSON object of each call: the arguments alone, or with the name."""
    found, first, second = _json(one, _FIRST[1]), _json(two, _FIRST[1]), _json(two, _SECOND[1])
    if found is None or first is None or second is None or first.value != found.value:
        raise _no_word(format, "one call is written differently than several")
    named = found.value == _FIRST[1]
    says = {"content": "json", "transform": _NAMED if named else _transform(format, found.value)}
    return _Notation(says, "{", "}", first, second, named)


def _transform(format: ToolCallFormat, value: Any) -> dict[str, Any]:
    """What the template says of a call's JSON, which holds name and arguments, or is a list of such."""
    listed = isinstance(value, list)
    name, arguments = _path(value, _ONE), _path(value, _FIRST[1])
    if name is None or arguments is None:
        raise _no_word(format, "the tool's name is a key of the object with its arguments")
    keys = (name[1:], arguments[1:]) if listed else (name, arguments)
    if not listed and keys == (("name",), ("arguments",)):
        return {"type": "function", "function": "{content}"}
    where = ("{" + ".".join((*(() if listed else ("content",)), *path)) + "}" for path in keys)
    return {"type": "function", "function": dict(zip(("name", "arguments"), where, strict=True))}


def _tags(format: ToolCallFormat, one: str, two: str) -> _Notation:
    """Keys and values between tags, or Gemma's notation, in which strings stand between marks."""
    opened, _, behind_key = one.partition(_A)
    set_apart, _, behind = behind_key.partition(_TEXT_A)
    several = _written(format, (_ONE, {_A: _TEXT_A, _B: _TEXT_B}))
    between = several.partition(_TEXT_A)[2].partition(_B)[0]
    mark = set_apart[1:]
    if set_apart[:1] == ":" and behind.startswith(mark + "}") and between == mark + "," and opened.endswith("{"):
        says = {"unquoted_keys": True, "string_delims": [[mark, mark]]}
        bodies = [_body(two, f"{{{key}:{mark}{text}{mark}}}") for key, text in ((_A, _TEXT_A), (_B, _TEXT_B))]
        return _Notation({"content": "json", "content_args": says, "transform": _NAMED}, "{", "", bodies[0], bodies[1])
    common = _same_end(opened, between)
    key_opener = common[common.rfind("<") :] if "<" in common else ""
    value_closer = between[: -len(key_opener) or None].strip()
    if not key_opener or _A in behind or not behind.lstrip().startswith(value_closer):
        raise _no_word(format, "arguments are neither JSON nor flat tags")
    line = "\n" if between[0] == "\n" == set_apart[-1] else ""
    numbered = _written(format, (_ONE, {_N: _NUMBER})).partition(_N)[2].partition(str(_NUMBER))[0]
    edge = r"\n?" if line else ""
    before, behind = _wrapping(format, set_apart, value_closer)
    apart = _either_tag(set_apart.removesuffix(line), numbered.removesuffix(line))
    key_pattern = rf"{_regex(key_opener)}(?P<key>[^<>\n]+?){apart}"
    value = rf"{edge}{before}(?P<value>.*?){behind}{edge}{_regex(value_closer)}(?=\s*(?:{_regex(key_opener)}|\Z))"
    says = {
        "content": "xml-inline",
        "content_args": {"tag_pattern": _one_run(key_pattern + value)},
        "transform": _NAMED,
    }
    texts = (f"{key}{set_apart}{text}{line}{value_closer}" for key, text in ((_A, _TEXT_A), (_B, _TEXT_B)))
    bodies = [_body(two, key_opener + text) for text in texts]
    return _Notation(says, "", "", bodies[0], bodies[1])


def _wrapping(format: ToolCallFormat, set_apart: str, value_closer: str) -> tuple[str, str]:
    """What a value that holds a tag stands in (CDATA), which others need not."""
    behind_key = _written(format, (_ONE, {_A: "<&>"})).partition(_A)[2]
    before, text, behind = behind_key.removeprefix(set_apart).partition("<&>")
    if not text or not before.strip():
        return "", ""
    return tuple(f"(?:{re.escape(mark)})?" for mark in (before, behind.partition(value_closer)[0]))  # type: ignore[return-value]


def _either_tag(of_text: str, of_number: str) -> str:
    """What stands between key and value, where an attribute may tell the value's type."""
    if of_text == of_number:
        return _regex(of_text)
    begin = re.sub(r"\w+\Z", "", _same_end(of_text[::-1], of_number[::-1])[::-1])
    end = re.sub(r"\A\w+", "", _same_end(of_text, of_number))
    return rf"{_regex(begin)}[^<>]*?{_regex(end)}"


def _json(text: str, arguments: Mapping[str, Any]) -> _Body | None:
    """The first JSON in a text that holds these arguments."""
    decoder = json.JSONDecoder()
    for found in re.finditer(r"[\[{]", text):
        try:
            value, end = decoder.raw_decode(text, found.start())
        except ValueError:
            continue
        if _path(value, arguments) is not None:
            return _Body(found.start(), end, value)
    return None


def _path(value: Any, wanted: Any) -> tuple[str, ...] | None:
    """The keys that lead to a value; of a list its first item is looked at."""
    if value == wanted:
        return ()
    inside = (
        value.items()
        if isinstance(value, dict)
        else [("0", one) for one in value[:1]]
        if isinstance(value, list)
        else ()
    )
    for key, inner in inside:
        path = _path(inner, wanted)
        if path is not None:
            return (key, *path)
    return None


def _body(text: str, body: str) -> _Body:
    begin = text.index(body)
    return _Body(begin, begin + len(body))


# --- words


def _written(format: ToolCallFormat, *calls: Call) -> str:
    try:
        return write(format, calls, _TOOLS)
    except CannotWrite as error:
        raise _no_word(format, str(error)) from None


def _same_end(one: str, other: str) -> str:
    pairs = zip(reversed(one), reversed(other), strict=False)
    return "".join(first for first, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))[::-1]


def _without_numbers(text: str) -> str:
    """The text with a mark for every word that ends with a number: an id, whatever the model's are like."""
    return re.sub(r"\w*\d+", "\1", text)


def _regex(text: str) -> str:
    """A pattern of the text, in which blanks may be missing or be others, but for those between two words."""
    pattern = ""
    for piece in re.split(r"(\s+)", text):
        pattern += r"\s*" if piece.isspace() else re.escape(piece).replace("\1", r"[\w-]+")
    return re.sub(r"(?<=[a-z])\\s\*(?=[a-z])", r"\\s+", pattern)


def _one_run(pattern: str) -> str:
    return re.sub(r"(?:\\s\*)+", r"\\s*", pattern)


def _either(marks: Iterable[str]) -> str:
    """The longest first, so that none hides another."""
    return "|".join(map(re.escape, sorted(_once(marks), key=len, reverse=True)))


def _once(marks: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(marks))


def _no_word(format: ToolCallFormat, why: str) -> NoResponseTemplate:
    return NoResponseTemplate(f"{format.name} has no response_template: {why}")
