"""Return the format that a model declares: its `response_template`, with which transformers parses outputs.

A template names regions and the regular expressions that start and end them (`docs/source/en/chat_response_parsing.md`
of transformers 5.23). None of that is executed here. Instead, the template's description of calls is applied to the
calls that the known formats write. A format whose calls it parses is the declared one. That format then parses outputs
as always: arguments are streamed, end markers inside of strings are text, and incomplete calls are rejected.

If the template parses the calls of no known format, its markers become the parameters of an existing engine. The new
format is used if the template parses the calls that it writes. Everything else raises an error with the reason.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from toolfmt._util.regular_expressions import UnsupportedPattern
from toolfmt.errors import CannotWrite, NoResponseTemplate
from toolfmt.formats.format import ToolCallFormat
from toolfmt.formats.registry import changes, default_format, formats, get
from toolfmt.formats.response_template.declaration import (
    CONTENT,
    PLACEHOLDER,
    Declaration,
    function_of,
    read_declaration,
    string_delimiters,
    unsupported,
)
from toolfmt.formats.response_template.engine import engine_of
from toolfmt.formats.response_template.regex import Group, Matcher, Pattern, Steps, Text
from toolfmt.formats.values.layout import Call
from toolfmt.formats.values.schema_types import STRING, Types
from toolfmt.formats.writing import write

_PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}, "note": {"type": "string"}}}
_TOOLS = [{"type": "function", "function": {"name": name, "parameters": _PARAMETERS}} for name in ("get_it", "put")]
_ONE: tuple[Call, ...] = (("get_it", {"city": "Oslo", "note": "two words"}),)
_TWO: tuple[Call, ...] = (("get_it", {"city": "Oslo"}), ("put", {"note": "two words"}))


def from_response_template(template: object) -> ToolCallFormat:
    """Return the format that a `response_template` declares.

    The result is a known format with the template's own reasoning markers, headers and content markers, or a new one
    called `declared`.

    Args:
        template: The value of that key in `tokenizer_config.json` (`tokenizer.response_template`).

    Raises:
        NoResponseTemplate: It is not a template, or it declares what no engine can parse.
    """
    declared = read_declaration(template)
    matching = matching_formats(declared)
    return _with_markers(matching[0] if matching else _new_format(declared), declared)


def declared_formats(template: object) -> tuple[ToolCallFormat, ...]:
    """Return the formats that a `response_template` can mean, the likeliest first. Empty if it is not supported."""
    try:
        matching = matching_formats(read_declaration(template))
    except NoResponseTemplate:
        return ()
    return tuple(get(name) for name in dict.fromkeys(format.name for format in matching))


def matching_formats(declared: Declaration) -> tuple[ToolCallFormat, ...]:
    """Return the formats whose calls the template parses, in every variant that writes such calls.

    The formats with the most similar markers are first.
    """
    steps = Steps()
    matching = [
        (_distance(declared, format, texts[1]), at, format)
        for at, (format, *texts) in enumerate(_written(changes()))
        if _has_start_markers(format, declared.start)
        and all(_parses(declared, text, calls, steps) for text, calls in zip(texts, (_ONE, _TWO), strict=True))
    ]
    return tuple(format for _, _, format in sorted(matching, key=lambda match: match[:2]))


def _has_start_markers(format: ToolCallFormat, start: Pattern) -> bool:
    """Whether each of several literal start markers of the template is a start marker of the format.

    Otherwise, calls with the others would become text.
    """
    options = start[0].options if len(start) == 1 and isinstance(start[0], Group) else ()
    texts = [option[0].text for option in options if len(option) == 1 and isinstance(option[0], Text)]
    return all(any(text.startswith(own) or own.startswith(text) for own in format.openers) for text in texts)


@lru_cache(maxsize=1)
def _written(_: int) -> tuple[tuple[ToolCallFormat, str, str], ...]:
    """Return every format in every variant, with the text of one call and of two.

    The argument is `registry.changes()`, so that the cache is invalidated if the known formats change.
    """
    variants = (
        format.with_variant(name) if name else format for format in formats() for name in ("", *format.variants)
    )
    return tuple((format, format.writer.write(_ONE, _text), format.writer.write(_TWO, _text)) for format in variants)


def _text(name: str, *path: str) -> Types:
    return STRING


def _distance(declared: Declaration, format: ToolCallFormat, written: str) -> tuple[int, int, bool, bool, bool]:
    """Return a sort key for formats whose calls a template parses equally.

    In this order: markers that the format does not write, reasoning markers that it does not have, other reasoning
    markers that it has, and whether it is another one than the default format or a variant.
    """
    unknown_markers = sum(text.strip() not in written for text in _literals((*declared.start, *(declared.end or ()))))
    unknown_reasoning = sum(pair not in format.reasoning for pair in declared.reasoning)
    more_reasoning = set(declared.reasoning) != set(format.reasoning)
    return (
        unknown_markers,
        unknown_reasoning,
        more_reasoning,
        format.name != default_format().name,
        bool(format.variant),
    )


def _literals(pattern: Pattern) -> Iterator[str]:
    """Yield the literals in a pattern, including those in optional parts."""
    for node in pattern:
        if isinstance(node, Text):
            yield node.text
        elif isinstance(node, Group):
            for option in node.options:
                yield from _literals(option)


def _with_markers(format: ToolCallFormat, declared: Declaration) -> ToolCallFormat:
    """Return the format with the markers and headers of the template added that it does not have."""
    known = {(start.strip(), end.strip()) for start, end in format.reasoning}
    unknown_pairs = (pair for pair in declared.reasoning if (pair[0].strip(), pair[1].strip()) not in known)
    reasoning = (*format.reasoning, *dict.fromkeys(unknown_pairs))
    used = {*format.openers, *(mark for pair in reasoning for mark in pair)}
    new_ignored = (mark for mark in declared.ignored if mark not in used and not format.in_calls(mark))
    ignored = tuple(dict.fromkeys((*format.ignored_markers, *new_ignored)))
    new_content = (pair for pair in declared.content_markers if pair[0].strip() not in ignored)
    content = tuple(dict.fromkeys((*format.content_markers, *new_content)))
    headers = tuple(dict.fromkeys((*format.headers, *map(re.escape, declared.anchors))))
    unchanged = (format.reasoning, format.ignored_markers, format.content_markers, format.headers)
    if (reasoning, ignored, content, headers) == unchanged:
        return format
    return replace(format, reasoning=reasoning, ignored_markers=ignored, content_markers=content, headers=headers)


# --- parsing a text as the template describes


def _parses(declared: Declaration, text: str, calls: Sequence[Call], steps: Steps) -> bool:
    """Whether the template parses exactly these calls. Raises `NoResponseTemplate` if it is not supported."""
    try:
        return list(_parsed_calls(declared, text, steps)) == list(calls)
    except ValueError:  # the text is not JSON
        return False
    except UnsupportedPattern as error:
        raise unsupported(f"it contains {error}") from None
    except RecursionError:
        raise unsupported("its transform is nested too deeply") from None


def _parsed_calls(declared: Declaration, text: str, steps: Steps) -> Iterator[tuple[Any, Any]]:
    """Yield the name and the arguments of the calls that the template finds in a text.

    Raises `ValueError` for content that is not in the declared syntax.
    """
    matcher, at = Matcher(text, steps), 0
    while (opened := matcher.search(declared.start, at)) is not None:
        closed = None if declared.end is None else matcher.search(declared.end, opened.end)
        value = _parsed_content(declared, steps, text[opened.end : len(text) if closed is None else closed.begin])
        groups = opened.groups if closed is None else {**opened.groups, **closed.groups}
        for call in value if declared.transform_each and isinstance(value, list) else [value]:
            members = call if declared.transform_each and isinstance(call, dict) else {CONTENT: value}
            scope = {**groups, **members}
            function = function_of(call if declared.transform is None else _filled_in(declared.transform, scope))
            yield function.get("name"), function.get("arguments")
        if closed is None or closed.end <= opened.begin:
            return
        at = closed.end


def _parsed_content(declared: Declaration, steps: Steps, body: str) -> Any:
    """Return the content of a call: its JSON, or the values between its tags by key."""
    if declared.content == "json":
        strings: list[str] = []

        def replaced(found: re.Match[str]) -> str:
            strings.append(found[1])
            return f"\1{len(strings) - 1}\2"

        for start, end in string_delimiters(declared.content_args):
            body = re.sub(re.escape(start) + "(.*?)" + re.escape(end), replaced, body, flags=re.DOTALL)
        if declared.content_args.get("unquoted_keys") is True:
            body = re.sub(r"(?<=[{,])(\w+):", r'"\1":', body)
        return json.loads(re.sub("\1(\\d+)\2", lambda found: json.dumps(strings[int(found[1])]), body))
    if declared.content != "xml-inline" or declared.tag_pattern is None:
        raise unsupported(f"the content of its tool_calls is {declared.content!r:.80}, which is not supported")
    matcher, at, values = Matcher(body, steps), 0, {}
    while (found := matcher.search(declared.tag_pattern, at)) is not None and found.end > at:
        values[found.groups.get("key", "")] = found.groups.get("value", "")
        at = found.end
    return values


def _filled_in(transform: Any, scope: Mapping[str, Any]) -> Any:
    """Return the transform with its placeholders replaced by values from `scope`."""
    if isinstance(transform, Mapping):
        return {key: _filled_in(inner, scope) for key, inner in transform.items()}
    found = PLACEHOLDER.fullmatch(transform) if isinstance(transform, str) else None
    if found is None:
        return transform
    value: Any = scope
    for key in found[1].split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


# --- a new format


def _new_format(declared: Declaration) -> ToolCallFormat:
    """Return a format of an existing engine, with the template's markers, whose calls the template parses."""
    try:
        engine = engine_of(declared)
    except NoResponseTemplate:
        raise
    except ValueError as error:  # markers that the engine cannot distinguish
        raise unsupported(f"its definition is not a valid format: {error}") from None
    page = "The format that a model's `response_template` declares, parsed by the engine that it fits."
    format = ToolCallFormat(
        name="declared", engine=engine, page=page, instructions="Call a tool as shown here.", source=(), reasoning=()
    )
    try:
        texts = [(write(format, calls, _TOOLS), calls) for calls in (_ONE, _TWO)]
    except CannotWrite as error:
        raise unsupported(f"its definition is not a valid format: {error}") from None
    steps = Steps()
    if not all(_parses(declared, text, calls, steps) for text, calls in texts):
        raise unsupported("no engine writes calls that it parses")
    return format
