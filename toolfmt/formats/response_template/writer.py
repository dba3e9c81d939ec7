"""Write a format as a `response_template`, the declarative language with which transformers parses outputs.

The language (transformers 5.23, `docs/source/en/chat_response_parsing.md` and `utils/chat_parsing`) has regions with a
start and an end marker, whose text is JSON or flat tags, and a transform of that. 5.24 adds `python-call-list`, which
parses `[f(k="v")]`. No template uses it here, so every template works in 5.23 too.

The patterns are derived from calls that the format writes, whatever its engine: from the text before a name, between
two calls, around a value. This module verifies nothing: `toolfmt.integrations.transformers` compares the result with
transformers' own parser.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
from typing import Any, NamedTuple

from toolfmt.errors import CannotWrite, NoResponseTemplate
from toolfmt.formats.format import ToolCallFormat
from toolfmt.formats.parser.prompt_prefix import header_pattern
from toolfmt.formats.values.layout import Call
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
"""Placeholder for the tool's name in written texts."""
_NAMES = r"[\w.:/$@+-]+"
_MARKS = re.compile(r"[^\w\s\0]")
_NAMED = {"type": "function", "function": {"name": "{name}", "arguments": "{content}"}}
_NO_START = "a call has no start marker other than its name or its JSON"


class _Span(NamedTuple):
    """The position of the arguments of one call in a text. `value` is the JSON there, if any."""

    begin: int
    end: int
    value: Any = None


class _ArgumentSyntax(NamedTuple):
    """How arguments are written.

    Attributes:
        members: The members of the template's field that describe it.
        prefix: The text with which arguments always begin. Empty if there is none.
        suffix: The text with which arguments always end. Empty if there is none.
        first: The arguments of the first call in the text of two calls.
        second: The arguments of the second call.
    """

    members: Mapping[str, Any]
    prefix: str
    suffix: str
    first: _Span
    second: _Span
    name_precedes: bool = True
    """Whether the tool's name is before the arguments, not in their JSON."""


def template_of(
    format: ToolCallFormat, *, start_anchor: str | Sequence[str] | None = None, stop: Sequence[str] = ()
) -> dict[str, Any]:
    """Return the `response_template` of a format.

    Args:
        format: The format.
        start_anchor: The strings in prompts after which an output begins. By default, a pattern of the headers that a
            `Parser` uses for that.
        stop: The texts of the tokens that end a turn.

    Raises:
        NoResponseTemplate: The language cannot express how the format writes calls.
    """
    anchor: dict[str, Any] = {"start_anchor_pattern": header_pattern(format.headers)}
    if start_anchor is not None:
        anchor = {"start_anchor": start_anchor if isinstance(start_anchor, str) else list(start_anchor)}
    calls, frame_end = _calls(format, stop)
    ignored = [
        *stop,
        *frame_end,
        *format.ignored_markers,
        *(mark for pair in format.content_markers for mark in pair),
    ]
    closes = {"close_pattern": rf"\s*(?:{_alternation(ignored)})"} if ignored else {}
    # Content before and after a call is one text. Without `join`, only its last part would be kept.
    content = {**closes, "content": "text", "content_args": {"strip": False}, "repeats": True, "join": ""}
    starts = _unique(start for start, _ in format.reasoning)
    # Of two with the same start, transformers (5.23, 5.24) matches the shorter one while streaming.
    own = [start for start in starts if not any(other.startswith(start) for other in starts if other != start)]
    reasoning = {"open": own, "content": "text"}
    reasoning["close_pattern"] = rf"(?:{_alternation(end for _, end in format.reasoning)})\s*"
    fields = {"reasoning_content": reasoning} if format.reasoning else {}
    return {
        "defaults": {"role": "assistant"},
        **anchor,
        "fields": {**fields, "tool_calls": calls, "content": content},
    }


def _calls(format: ToolCallFormat, stop: Sequence[str]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the field of the calls, and the end marker of the frame around all of them, if there is one."""
    one = _written(format, _FIRST)
    found = _json(one, _FIRST[1])
    if found is not None and isinstance(found.value, list):
        members = {"content": "json", "transform_each": True, "transform": _transform(format, found.value)}
        start, end = one[: found.begin].strip(), one[found.end :].strip()
        if not start:
            raise _unsupported(format, _NO_START)
        field = {
            "open_pattern": _start_pattern(_pattern(start), "[", name_precedes=False),
            "close_pattern": _end_pattern("]", _pattern(end), _pattern(start), stop),
            **members,
        }
        return field, ()
    two = _written(format, _FIRST, _SECOND)
    syntax = (_tag_syntax if found is None else _json_syntax)(format, one, two)
    first, second = syntax.first, syntax.second
    before_first, between = two[: first.begin].replace(_ONE, _NAME), two[first.end : second.begin].replace(_TWO, _NAME)
    start, end, frame_end = _frame(format, before_first, between, two[second.end :])
    if syntax.name_precedes and _NAME not in start:
        raise _unsupported(format, "the tool's name is neither in its JSON nor at the start of a call")
    field = {
        "open_pattern": _start_pattern(start, syntax.prefix, name_precedes=syntax.name_precedes),
        "close_pattern": _end_pattern(syntax.suffix, end, start, stop),
        "repeats": True,
        **syntax.members,
    }
    return field, (frame_end,) if frame_end else ()


def _start_pattern(start: str, prefix: str, *, name_precedes: bool) -> str:
    """Return the pattern that starts a region: the start marker with whitespace around it.

    It only matches if arguments follow that begin with `prefix`.
    """
    group = f"(?P<name>{_NAMES})" if name_precedes else _NAMES
    start = start.replace(_NAME, group, 1).replace(_NAME, _NAMES)
    return _merge_whitespace(rf"\s*{start}\s*" + (f"(?={re.escape(prefix)})" if prefix else ""))


def _end_pattern(suffix: str, end: str, start: str, stop: Sequence[str]) -> str:
    """Return the pattern that ends a region: the end marker after arguments that end with `suffix`.

    Without an end marker, the region ends before what may follow a call.
    """
    after = f"(?<={re.escape(suffix)})" if suffix else ""
    if end:
        return _merge_whitespace(rf"{after}\s*{end.replace(_NAME, _NAMES)}")
    # The end of the output closes a region by itself. While transformers 5.23 streams, a lookahead for it matches at
    # the end of every chunk; 5.24 waits for more text.
    follows = "|".join((start.partition(_NAME)[0], *map(re.escape, stop)))
    return _merge_whitespace(rf"{after}(?=\s*(?:{follows}))")


# --- derived from written calls


def _frame(format: ToolCallFormat, before_first: str, between: str, after_last: str) -> tuple[str, str, str]:
    """Return the patterns of the start and end marker of a call, and the end marker of the frame around all calls.

    The arguments are the texts before the first call's arguments, between those of two calls, and after the last. The
    frame's end marker is not part of a pattern, because the call has ended before it.
    """
    numbers = [re.findall(r"\d+", text)[-1:] for text in (before_first, between)]
    if numbers[0] != numbers[1] and all(numbers):  # the call's own number, in its id
        before_first, between = _without_numbers(before_first), _without_numbers(between)
    start = _common_start_marker(before_first, between)
    frame_start, end = before_first[: -len(start) or None], between[: -len(start) or None]
    if not before_first.strip():
        raise _unsupported(format, _NO_START)
    if not start.strip():
        raise _unsupported(format, "several calls are in one block, without a start marker for each")
    if not _MARKS.search(start.partition(_NAME)[0]):
        raise _unsupported(format, _NO_START)
    after_last, end = after_last.strip(), end.strip()
    if frame_start.strip():
        if not after_last.startswith(end):
            raise _unsupported(format, "the last of several calls ends differently than the others")
        start_pattern = f"(?:{_pattern(frame_start)}\\s*)?{_pattern(start)}"
        return start_pattern, _pattern(end), after_last[len(end) :].strip()
    if not end.startswith(after_last):
        raise _unsupported(format, "the last of several calls ends differently than the others")
    message = end[len(after_last) :].strip()
    return (f"(?:{_pattern(message)}\\s*)?" if message else "") + _pattern(start), _pattern(after_last), ""


def _common_start_marker(before_first: str, between: str) -> str:
    """Return the longest common suffix of two texts that begins where a marker may begin."""
    common = _common_suffix(before_first, between)
    if common == before_first.lstrip():
        return common
    for at, character in enumerate(common):
        if character in "<[{(" or character == _NAME or (at and common[at - 1].isspace()):
            return common[at:]
    return ""


def _json_syntax(format: ToolCallFormat, one: str, two: str) -> _ArgumentSyntax:
    """Return the syntax of arguments in a JSON object, alone or with the name."""
    found, first, second = _json(one, _FIRST[1]), _json(two, _FIRST[1]), _json(two, _SECOND[1])
    if found is None or first is None or second is None or first.value != found.value:
        raise _unsupported(format, "one call is written differently than several")
    name_precedes = found.value == _FIRST[1]
    members = {"content": "json", "transform": _NAMED if name_precedes else _transform(format, found.value)}
    return _ArgumentSyntax(members, "{", "}", first, second, name_precedes)


def _transform(format: ToolCallFormat, value: Any) -> dict[str, Any]:
    """Return the transform of a call's JSON, which contains name and arguments, or is a list of such objects."""
    listed = isinstance(value, list)
    name, arguments = _path_to(value, _ONE), _path_to(value, _FIRST[1])
    if name is None or arguments is None:
        raise _unsupported(format, "the tool's name is a key of the object with its arguments")
    keys = (name[1:], arguments[1:]) if listed else (name, arguments)
    if not listed and keys == (("name",), ("arguments",)):
        return {"type": "function", "function": "{content}"}
    where = ("{" + ".".join((*(() if listed else ("content",)), *path)) + "}" for path in keys)
    return {"type": "function", "function": dict(zip(("name", "arguments"), where, strict=True))}


def _tag_syntax(format: ToolCallFormat, one: str, two: str) -> _ArgumentSyntax:
    """Return the syntax of arguments between tags, or of Gemma's arguments, with delimiters around strings."""
    opened, _, after_key = one.partition(_A)
    separator, _, after = after_key.partition(_TEXT_A)
    two_arguments = _written(format, (_ONE, {_A: _TEXT_A, _B: _TEXT_B}))
    between = two_arguments.partition(_TEXT_A)[2].partition(_B)[0]
    mark = separator[1:]
    if separator[:1] == ":" and after.startswith(mark + "}") and between == mark + "," and opened.endswith("{"):
        options = {"unquoted_keys": True, "string_delims": [[mark, mark]]}
        members = {"content": "json", "content_args": options, "transform": _NAMED}
        bodies = [_span_of(two, f"{{{key}:{mark}{text}{mark}}}") for key, text in ((_A, _TEXT_A), (_B, _TEXT_B))]
        return _ArgumentSyntax(members, "{", "", bodies[0], bodies[1])
    common = _common_suffix(opened, between)
    key_start = common[common.rfind("<") :] if "<" in common else ""
    value_end = between[: -len(key_start) or None].strip()
    if not key_start or _A in after or not after.lstrip().startswith(value_end):
        raise _unsupported(format, "arguments are neither JSON nor flat tags")
    newline = "\n" if between[0] == "\n" == separator[-1] else ""
    before_number = _written(format, (_ONE, {_N: _NUMBER})).partition(_N)[2].partition(str(_NUMBER))[0]
    edge = r"\n?" if newline else ""
    before, after = _value_wrapper(format, separator, value_end)
    between_tags = _separator_pattern(separator.removesuffix(newline), before_number.removesuffix(newline))
    key_pattern = rf"{_pattern(key_start)}(?P<key>[^<>\n]+?){between_tags}"
    value = rf"{edge}{before}(?P<value>.*?){after}{edge}{_pattern(value_end)}(?=\s*(?:{_pattern(key_start)}|\Z))"
    members = {
        "content": "xml-inline",
        "content_args": {"tag_pattern": _merge_whitespace(key_pattern + value)},
        "transform": _NAMED,
    }
    texts = (f"{key}{separator}{text}{newline}{value_end}" for key, text in ((_A, _TEXT_A), (_B, _TEXT_B)))
    bodies = [_span_of(two, key_start + text) for text in texts]
    return _ArgumentSyntax(members, "", "", bodies[0], bodies[1])


def _value_wrapper(format: ToolCallFormat, separator: str, value_end: str) -> tuple[str, str]:
    """Return optional patterns of the text around a value that contains a tag (CDATA)."""
    after_key = _written(format, (_ONE, {_A: "<&>"})).partition(_A)[2]
    before, text, after = after_key.removeprefix(separator).partition("<&>")
    if not text or not before.strip():
        return "", ""
    return tuple(f"(?:{re.escape(mark)})?" for mark in (before, after.partition(value_end)[0]))  # type: ignore[return-value]


def _separator_pattern(before_text: str, before_number: str) -> str:
    """Return a pattern of the text between key and value.

    The two texts differ if an attribute contains the type of the value.
    """
    if before_text == before_number:
        return _pattern(before_text)
    begin = re.sub(r"\w+\Z", "", _common_suffix(before_text[::-1], before_number[::-1])[::-1])
    end = re.sub(r"\A\w+", "", _common_suffix(before_text, before_number))
    return rf"{_pattern(begin)}[^<>]*?{_pattern(end)}"


def _json(text: str, arguments: Mapping[str, Any]) -> _Span | None:
    """Return the position of the first JSON value in a text that contains these arguments."""
    decoder = json.JSONDecoder()
    for found in re.finditer(r"[\[{]", text):
        try:
            value, end = decoder.raw_decode(text, found.start())
        except ValueError:
            continue
        if _path_to(value, arguments) is not None:
            return _Span(found.start(), end, value)
    return None


def _path_to(value: Any, target: Any) -> tuple[str, ...] | None:
    """Return the keys that lead to a value. Only the first item of a list is searched."""
    if value == target:
        return ()
    inside = (
        value.items()
        if isinstance(value, dict)
        else [("0", one) for one in value[:1]]
        if isinstance(value, list)
        else ()
    )
    for key, inner in inside:
        path = _path_to(inner, target)
        if path is not None:
            return (key, *path)
    return None


def _span_of(text: str, body: str) -> _Span:
    """Return the position of `body` in the text."""
    begin = text.index(body)
    return _Span(begin, begin + len(body))


# --- texts and patterns


def _written(format: ToolCallFormat, *calls: Call) -> str:
    try:
        return write(format, calls, _TOOLS)
    except CannotWrite as error:
        raise _unsupported(format, str(error)) from None


def _common_suffix(one: str, other: str) -> str:
    pairs = zip(reversed(one), reversed(other), strict=False)
    return "".join(first for first, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))[::-1]


def _without_numbers(text: str) -> str:
    """Return the text with each word that ends with a number replaced by a mark: the call ids of models vary."""
    return re.sub(r"\w*\d+", "\1", text)


def _pattern(text: str) -> str:
    """Return a pattern of the text, in which whitespace is optional and may differ.

    Between two words it is required.
    """
    pattern = ""
    for piece in re.split(r"(\s+)", text):
        pattern += r"\s*" if piece.isspace() else re.escape(piece).replace("\1", r"[\w-]+")
    return re.sub(r"(?<=[a-z])\\s\*(?=[a-z])", r"\\s+", pattern)


def _merge_whitespace(pattern: str) -> str:
    r"""Return the pattern with consecutive `\s*` merged into one."""
    return re.sub(r"(?:\\s\*)+", r"\\s*", pattern)


def _alternation(marks: Iterable[str]) -> str:
    """Return a pattern of the markers, the longest first, so that none hides another."""
    return "|".join(map(re.escape, sorted(_unique(marks), key=len, reverse=True)))


def _unique(marks: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(marks))


def _unsupported(format: ToolCallFormat, why: str) -> NoResponseTemplate:
    return NoResponseTemplate(f"{format.name} has no response_template: {why}")
