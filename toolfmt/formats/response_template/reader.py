"""The format that a model declares: its `response_template`, as transformers reads answers with it.

A template names regions and the regular expressions that open and close them (`docs/source/en/chat_response_parsing.md`
of transformers 5.23). None of that runs here. What it says of calls is tried on the calls that the formats write: the
format whose calls it reads is meant, and reads answers as it always does (arguments as they come, closers in strings,
what was cut is rejected). Where it means none of them, its markers make a format of an engine that is there, which is
taken if the template reads what that writes. Anything else is refused by name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from toolfmt.errors import CannotWrite, NoResponseTemplate
from toolfmt.formats.engines.engine import Call
from toolfmt.formats.format import ToolCallFormat
from toolfmt.formats.registry import changes, default_format, formats, get
from toolfmt.formats.response_template.declaration import (
    CONTENT,
    PLACEHOLDER,
    Declared,
    delimiters,
    function_of,
    read_declaration,
    refused,
)
from toolfmt.formats.response_template.engine import engine_of
from toolfmt.formats.response_template.regex import Group, Matcher, Pattern, Steps, Text, Unreadable
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
    meant = formats_meant(declared)
    return _with_markers(meant[0] if meant else _derived(declared), declared)


def formats_declared(template: object) -> tuple[ToolCallFormat, ...]:
    """The formats that a `response_template` can mean, the likeliest first; none where it is refused."""
    try:
        meant = formats_meant(read_declaration(template))
    except NoResponseTemplate:
        return ()
    return tuple(get(name) for name in dict.fromkeys(format.name for format in meant))


def formats_meant(declared: Declared) -> tuple[ToolCallFormat, ...]:
    """The formats whose calls the template reads, each in every variant in which it writes them so; those that its
    words fit best come first."""
    steps = Steps()
    meant = [
        (_distance(declared, format, texts[1]), at, format)
        for at, (format, *texts) in enumerate(_written(changes()))
        if _opened_by(format, declared.opener)
        and all(_reads(declared, text, calls, steps) for text, calls in zip(texts, (_ONE, _TWO), strict=True))
    ]
    return tuple(format for _, _, format in sorted(meant, key=lambda one: one[:2]))


def _opened_by(format: ToolCallFormat, opener: Pattern) -> bool:
    """Whether each of several literals that open a call opens one in the format too: else calls would become text."""
    options = opener[0].options if len(opener) == 1 and isinstance(opener[0], Group) else ()
    texts = [option[0].text for option in options if len(option) == 1 and isinstance(option[0], Text)]
    return all(any(text.startswith(own) or own.startswith(text) for own in format.openers) for text in texts)


@lru_cache(maxsize=1)
def _written(_: int) -> tuple[tuple[ToolCallFormat, str, str], ...]:
    """Every format in every variant, and how it writes one call and two; made anew when other formats are known."""
    variants = (
        format.with_variant(name) if name else format for format in formats() for name in ("", *format.variants)
    )
    return tuple((format, format.writer.write(_ONE, _text), format.writer.write(_TWO, _text)) for format in variants)


def _text(name: str, *path: str) -> Types:
    return STRING


def _distance(declared: Declared, format: ToolCallFormat, written: str) -> tuple[int, int, bool, bool, bool]:
    """What tells formats apart whose calls a template reads alike: markers that the format does not write, reasoning
    that it does not know, then that it knows more; then which one is the commoner one."""
    strange = sum(text.strip() not in written for text in _literals((*declared.opener, *(declared.closer or ()))))
    unknown = sum(pair not in format.reasoning for pair in declared.reasoning)
    more = set(declared.reasoning) != set(format.reasoning)
    return strange, unknown, more, format.name != default_format().name, bool(format.variant)


def _literals(pattern: Pattern) -> Iterator[str]:
    """The texts in a pattern, those that may be missing included."""
    for node in pattern:
        if isinstance(node, Text):
            yield node.text
        elif isinstance(node, Group):
            for option in node.options:
                yield from _literals(option)


def _with_markers(format: ToolCallFormat, declared: Declared) -> ToolCallFormat:
    """The format with what the template says of the other fields, where the format does not say so itself."""
    known = {(opener.strip(), closer.strip()) for opener, closer in format.reasoning}
    strange = (pair for pair in declared.reasoning if (pair[0].strip(), pair[1].strip()) not in known)
    reasoning = (*format.reasoning, *dict.fromkeys(strange))
    taken = {*format.openers, *(mark for pair in reasoning for mark in pair)}
    silent = (mark for mark in declared.silent if mark not in taken and not format.in_calls(mark))
    ignored = tuple(dict.fromkeys((*format.ignored_markers, *silent)))
    framing = (pair for pair in declared.content_markers if pair[0].strip() not in ignored)
    content = tuple(dict.fromkeys((*format.content_markers, *framing)))
    headers = tuple(dict.fromkeys((*format.headers, *map(re.escape, declared.anchors))))
    told = (format.reasoning, format.ignored_markers, format.content_markers, format.headers)
    if (reasoning, ignored, content, headers) == told:
        return format
    return replace(format, reasoning=reasoning, ignored_markers=ignored, content_markers=content, headers=headers)


# --- what a template reads of a text


def _reads(declared: Declared, text: str, calls: Sequence[Call], steps: Steps) -> bool:
    try:
        return list(_calls_in(declared, text, steps)) == list(calls)
    except ValueError:  # what it takes for JSON is none
        return False
    except Unreadable as error:
        raise refused(f"it contains {error}") from None
    except RecursionError:
        raise refused("its transform is nested too deeply") from None


def _calls_in(declared: Declared, text: str, steps: Steps) -> Iterator[tuple[Any, Any]]:
    """The calls that the template finds in a text; raises `ValueError` for content that is not what it says."""
    matcher, at = Matcher(text, steps), 0
    while (opened := matcher.search(declared.opener, at)) is not None:
        closed = None if declared.closer is None else matcher.search(declared.closer, opened.end)
        value = _content(declared, steps, text[opened.end : len(text) if closed is None else closed.begin])
        groups = opened.groups if closed is None else {**opened.groups, **closed.groups}
        for one in value if declared.each and isinstance(value, list) else [value]:
            scope = {**groups, **one} if declared.each and isinstance(one, dict) else {**groups, CONTENT: value}
            function = function_of(one if declared.transform is None else _placed(declared.transform, scope))
            yield function.get("name"), function.get("arguments")
        if closed is None or closed.end <= opened.begin:
            return
        at = closed.end


def _content(declared: Declared, steps: Steps, body: str) -> Any:
    if declared.content == "json":
        strings: list[str] = []

        def taken(found: re.Match[str]) -> str:
            strings.append(found[1])
            return f"\1{len(strings) - 1}\2"

        for opener, closer in delimiters(declared.content_args):
            body = re.sub(re.escape(opener) + "(.*?)" + re.escape(closer), taken, body, flags=re.DOTALL)
        if declared.content_args.get("unquoted_keys") is True:
            body = re.sub(r"(?<=[{,])(\w+):", r'"\1":', body)
        return json.loads(re.sub("\1(\\d+)\2", lambda found: json.dumps(strings[int(found[1])]), body))
    if declared.content != "xml-inline" or declared.tag is None:
        raise refused(f"the content of its tool_calls is {declared.content!r:.80}, which is not supported")
    matcher, at, values = Matcher(body, steps), 0, {}
    while (found := matcher.search(declared.tag, at)) is not None and found.end > at:
        values[found.groups.get("key", "")] = found.groups.get("value", "")
        at = found.end
    return values


def _placed(transform: Any, scope: Mapping[str, Any]) -> Any:
    if isinstance(transform, Mapping):
        return {key: _placed(inner, scope) for key, inner in transform.items()}
    found = PLACEHOLDER.fullmatch(transform) if isinstance(transform, str) else None
    if found is None:
        return transform
    value: Any = scope
    for key in found[1].split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


# --- a format of its own


def _derived(declared: Declared) -> ToolCallFormat:
    """A format of an engine that is there, with the template's markers, which reads what the template reads."""
    try:
        engine = engine_of(declared)
    except NoResponseTemplate:
        raise
    except ValueError as error:  # markers that the engine cannot tell apart
        raise refused(f"its definition is not a valid format: {error}") from None
    page = "The format that a model's `response_template` declares, parsed by the engine that it fits."
    format = ToolCallFormat(
        name="declared", engine=engine, page=page, instructions="Call a tool as shown here.", source=(), reasoning=()
    )
    try:
        texts = [(write(format, calls, _TOOLS), calls) for calls in (_ONE, _TWO)]
    except CannotWrite as error:
        raise refused(f"its definition is not a valid format: {error}") from None
    steps = Steps()
    if not all(_reads(declared, text, calls, steps) for text, calls in texts):
        raise refused("no engine writes calls that it parses")
    return format
