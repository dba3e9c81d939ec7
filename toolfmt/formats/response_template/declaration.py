"""Split a `response_template` into its parts: how it describes calls, and the markers of its other fields.

The language is that of transformers 5.23 (`docs/source/en/chat_response_parsing.md`, `utils/chat_parsing`). Of the
additions in 5.24, `python-call-list` is not supported, and named groups in `close_pattern` only if the calls are those
of a known format. What is not a template, or not supported, raises an error with the reason. Nothing in a template is
executed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from toolfmt._util.regular_expressions import UnsupportedPattern
from toolfmt.errors import NoResponseTemplate
from toolfmt.formats.response_template.regex import (
    CharacterRun,
    End,
    Group,
    Lookaround,
    Pattern,
    Text,
    literal,
    read_pattern,
)

CONTENT = "content"
PLACEHOLDER = re.compile(r"\{(\w+(?:\.\w+)*)\}")
"""A placeholder for a value in a transform."""
_CALLS = "tool_calls"
_REASONING = ("reasoning_content", "thinking", "reasoning")
_LONGEST, _MOST_MARKERS = 400, 50
"""Maximum number of characters of a marker, and of markers of a field."""


@dataclass(frozen=True)
class Declaration:
    """The parts of a template.

    Attributes:
        start: The pattern of the start marker of a call.
        end: The pattern of the end marker of a call. None if there is none.
        content: The syntax of a call's content: `json`, `xml-inline` or another one.
        content_args: The arguments of that syntax.
        tag_pattern: The pattern of a key and a value between tags.
        transform: The object that is made from the content.
        transform_each: Whether the content is a list of calls, each of which is transformed.
        reasoning: The start and end markers of reasoning.
    """

    start: Pattern
    end: Pattern | None
    content: str
    content_args: Mapping[str, Any]
    tag_pattern: Pattern | None
    transform: Any
    transform_each: bool
    reasoning: tuple[tuple[str, str], ...]
    content_markers: tuple[tuple[str, str], ...]
    """The start and end markers of the part for the user, if it has start markers."""
    ignored: tuple[str, ...]
    """The markers that end an output or a call, and are not part of its content."""
    anchors: tuple[str, ...]
    """The strings in a prompt after which the output begins."""


def read_declaration(template: object) -> Declaration:
    """Return the parts of a template. Raises `NoResponseTemplate` with the reason if it is not supported."""
    fields = template.get("fields") if isinstance(template, Mapping) else None
    if (
        not isinstance(template, Mapping)
        or not isinstance(fields, Mapping)
        or not isinstance(fields.get(_CALLS), Mapping)
    ):
        raise unsupported("it is not an object with an object for tool_calls in its fields")
    if template.get("version", 1) != 1:
        raise unsupported("its version is not 1, the only supported one")
    others = [name for name in fields if name not in (_CALLS, CONTENT, *_REASONING)]
    if others:
        raise unsupported(f"its field {others[0]!r:.80} is neither content, reasoning nor tool calls")
    calls = fields[_CALLS]
    kind, arguments = calls.get("content", "text"), calls.get("content_args", {})
    tag_pattern = arguments.get("tag_pattern") if isinstance(arguments, Mapping) else None
    start = _marker_pattern(calls, "open")
    if start is None:
        raise unsupported("its tool_calls have no start marker")
    pairs = [
        pair for name in _REASONING if isinstance(fields.get(name), Mapping) for pair in _marker_pairs(fields[name])
    ]
    content = fields.get(CONTENT)
    content = content if isinstance(content, Mapping) else {}
    content_pairs = tuple(_marker_pairs(content))
    ignored = [] if content_pairs else _possible_literals(content, "close")
    return Declaration(
        start=start,
        end=_marker_pattern(calls, "close"),
        content=kind if isinstance(kind, str) else "",
        content_args=arguments if isinstance(arguments, Mapping) else {},
        tag_pattern=_pattern(tag_pattern) if isinstance(tag_pattern, str) else None,
        transform=calls.get("transform"),
        transform_each=calls.get("transform_each") is True,
        reasoning=tuple(pairs),
        content_markers=content_pairs,
        ignored=tuple(filter(None, map(str.strip, (*ignored, *_possible_literals(calls, "close"))))),
        anchors=tuple(_literals({"open": template.get("start_anchor")}, "open")),
    )


def _marker_pattern(field: Mapping[str, Any], side: str) -> Pattern | None:
    """Return the pattern of a field's start or end marker: its literals, or its pattern. None if it has neither.

    `side` is `open` or `close`.
    """
    texts = _literals(field, side)
    if texts:
        return literal(texts)
    value = field.get(f"{side}_pattern")
    return _pattern(value) if isinstance(value, str) else None


def _pattern(source: str) -> Pattern:
    try:
        return read_pattern(source)
    except UnsupportedPattern as error:
        raise unsupported(f"it contains {error}") from None


def _literals(field: Mapping[str, Any], side: str) -> list[str]:
    """Return the literal markers on one side of a field."""
    value = field.get(side)
    texts = value if isinstance(value, list) else [value]
    return [text for text in texts[:_MOST_MARKERS] if isinstance(text, str) and 0 < len(text) <= _LONGEST]


def _possible_literals(field: Mapping[str, Any], side: str) -> list[str]:
    """Return the literal markers on one side of a field, or those that its pattern can match."""
    return _literals(field, side) or _alternatives(field.get(f"{side}_pattern"))


def _marker_pairs(field: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the start and end markers of a reasoning or content field.

    Markers that are not literals are left out, so that those of the format apply.
    """
    yield from (
        (start, end) for start in _possible_literals(field, "open") for end in _possible_literals(field, "close")
    )


def _alternatives(source: Any) -> list[str]:
    """Return the literals that a pattern can match, without surrounding whitespace.

    Alternatives that are not literals are left out.
    """
    if not isinstance(source, str):
        return []
    try:
        pattern = read_pattern(source)
    except UnsupportedPattern:
        return []
    whole = tuple(node for node in pattern if not (isinstance(node, CharacterRun) and node.characters.fullmatch(" ")))
    options = whole[0].options if len(whole) == 1 and isinstance(whole[0], Group) else (whole,)
    found = []
    for option in options:
        try:
            texts = [piece for piece in pieces_of(option, "") if piece]
        except NoResponseTemplate:
            continue
        found += texts if len(texts) == 1 and not texts[0].startswith("\0") and len(texts[0]) <= _LONGEST else []
    return found[:_MOST_MARKERS]


def pieces_of(pattern: Pattern, what: str, closing: bool = False) -> Iterator[str]:
    r"""Yield the parts of a pattern: literals, an empty string for whitespace, and `\0` with the name for a named
    group.

    Args:
        pattern: The pattern.
        what: The subject and verb of the error message, such as `tags contain`.
        closing: Whether to use the first of several literals. Any of them ends a call.

    Raises:
        NoResponseTemplate: The pattern contains anything else.
    """
    for node in pattern:
        if isinstance(node, Text):
            yield node.text
        elif isinstance(node, CharacterRun) and node.characters.match(" ") and not node.characters.match("a"):
            yield ""
        elif isinstance(node, Group) and node.name:
            yield f"\0{node.name}"
        elif isinstance(node, Group) and () in node.options:
            yield ""  # an optional part is not written
        elif isinstance(node, Group) and closing and all(map(_is_text, node.options)):
            yield node.options[0][0].text  # type: ignore[union-attr]  # checked above; the other alternatives do not matter
        elif isinstance(node, Group) and len(node.options) == 1:
            yield from pieces_of(node.options[0], what, closing)
        elif not isinstance(node, (Lookaround, End)):
            raise unsupported(f"its {what} more than literals, whitespace and a name")


def _is_text(pattern: Pattern) -> bool:
    return len(pattern) == 1 and isinstance(pattern[0], Text)


def string_delimiters(arguments: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the delimiters of strings in JSON with a syntax of its own, from the arguments of the content."""
    value = arguments.get("string_delims")
    pairs = [tuple(pair) for pair in value if isinstance(pair, list)] if isinstance(value, list) else []
    return [
        (pair[0], pair[1]) for pair in pairs if len(pair) == 2 and all(isinstance(mark, str) and mark for mark in pair)
    ]


def unsupported(why: str) -> NoResponseTemplate:
    """Return the error with the reason why a template does not declare a supported format."""
    return NoResponseTemplate(f"the response_template does not declare a supported format: {why}")


def function_of(call: Any) -> Mapping[str, Any]:
    """Return the object with name and arguments in a call, or in the transform that creates one."""
    function = call.get("function", call) if isinstance(call, Mapping) else None
    return function if isinstance(function, Mapping) else {}
