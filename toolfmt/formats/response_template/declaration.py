"""A `response_template` taken apart: what it says of calls as patterns, and the markers of its other fields.

The language is that of transformers 5.23 (`docs/source/en/chat_response_parsing.md`, `utils/chat_parsing`). Of the
additions in 5.24, `python-call-list` is not read, and named groups in `close_pattern` only if the calls are those of a
known format. What is not a template, and what this module
cannot follow, is rejected by name. Nothing of it is run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from toolfmt.errors import NoResponseTemplate
from toolfmt.formats.response_template.regex import (
    End,
    Group,
    Look,
    Pattern,
    Run,
    Text,
    Unreadable,
    literal,
    read_pattern,
)

CONTENT = "content"
PLACEHOLDER = re.compile(r"\{(\w+(?:\.\w+)*)\}")
"""What stands in a transform for a value."""
_CALLS = "tool_calls"
_REASONING = ("reasoning_content", "thinking", "reasoning")
_LONGEST, _MOST_MARKERS = 400, 50
"""Characters of a marker, and markers of a field."""


@dataclass(frozen=True)
class Declared:
    """What a template says: how calls are opened, closed and read, and the markers of the other fields."""

    opener: Pattern
    closer: Pattern | None
    content: str
    content_args: Mapping[str, Any]
    tag: Pattern | None
    transform: Any
    each: bool
    reasoning: tuple[tuple[str, str], ...]
    content_markers: tuple[tuple[str, str], ...]
    """What stands around the part for the user, where something opens that."""
    silent: tuple[str, ...]
    """What ends an answer or a call."""
    anchors: tuple[str, ...]


def read_declaration(template: object) -> Declared:
    """A template taken apart; raises `NoResponseTemplate`."""
    fields = template.get("fields") if isinstance(template, Mapping) else None
    if (
        not isinstance(template, Mapping)
        or not isinstance(fields, Mapping)
        or not isinstance(fields.get(_CALLS), Mapping)
    ):
        raise refused("it is not an object with an object for tool_calls in its fields")
    if template.get("version", 1) != 1:
        raise refused("its version is not 1, the only supported one")
    others = [name for name in fields if name not in (_CALLS, CONTENT, *_REASONING)]
    if others:
        raise refused(f"its field {others[0]!r:.80} is neither content, reasoning nor tool calls")
    calls = fields[_CALLS]
    kind, arguments = calls.get("content", "text"), calls.get("content_args", {})
    tag = arguments.get("tag_pattern") if isinstance(arguments, Mapping) else None
    opener = _anchor(calls, "open")
    if opener is None:
        raise refused("its tool_calls have no start marker")
    pairs = [pair for name in _REASONING if isinstance(fields.get(name), Mapping) for pair in _pairs(fields[name])]
    content = fields.get(CONTENT)
    content = content if isinstance(content, Mapping) else {}
    framed = tuple(_pairs(content))
    ends = [] if framed else _plain(content, "close")
    return Declared(
        opener=opener,
        closer=_anchor(calls, "close"),
        content=kind if isinstance(kind, str) else "",
        content_args=arguments if isinstance(arguments, Mapping) else {},
        tag=_pattern(tag) if isinstance(tag, str) else None,
        transform=calls.get("transform"),
        each=calls.get("transform_each") is True,
        reasoning=tuple(pairs),
        content_markers=framed,
        silent=tuple(filter(None, map(str.strip, (*ends, *_plain(calls, "close"))))),
        anchors=tuple(_texts({"open": template.get("start_anchor")}, "open")),
    )


def _anchor(field: Mapping[str, Any], side: str) -> Pattern | None:
    """What opens or closes a field: its literals, or its pattern; None where it has neither."""
    texts = _texts(field, side)
    if texts:
        return literal(texts)
    given = field.get(f"{side}_pattern")
    return _pattern(given) if isinstance(given, str) else None


def _pattern(source: str) -> Pattern:
    try:
        return read_pattern(source)
    except Unreadable as error:
        raise refused(f"it contains {error}") from None


def _texts(field: Mapping[str, Any], side: str) -> list[str]:
    """The literals on one side of a field."""
    given = field.get(side)
    texts = given if isinstance(given, list) else [given]
    return [text for text in texts[:_MOST_MARKERS] if isinstance(text, str) and 0 < len(text) <= _LONGEST]


def _plain(field: Mapping[str, Any], side: str) -> list[str]:
    """The literals on one side of a field, or those that its pattern may be."""
    return _texts(field, side) or _alternatives(field.get(f"{side}_pattern"))


def _pairs(field: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The markers of a reasoning field; where they are no plain texts they are left to the format."""
    yield from ((opener, closer) for opener in _plain(field, "open") for closer in _plain(field, "close"))


def _alternatives(source: Any) -> list[str]:
    """The literals that a pattern may be, blanks around them left out; none where it is more than that."""
    if not isinstance(source, str):
        return []
    try:
        pattern = read_pattern(source)
    except Unreadable:
        return []
    whole = tuple(node for node in pattern if not (isinstance(node, Run) and node.of.fullmatch(" ")))
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
    """The literals, an empty text for blanks, and `\\0` with its name for a group; raises for anything else."""
    for node in pattern:
        if isinstance(node, Text):
            yield node.text
        elif isinstance(node, Run) and node.of.match(" ") and not node.of.match("a"):
            yield ""
        elif isinstance(node, Group) and node.name:
            yield f"\0{node.name}"
        elif isinstance(node, Group) and () in node.options:
            yield ""  # what may be missing is not written
        elif isinstance(node, Group) and closing and all(map(_is_text, node.options)):
            yield node.options[0][0].text  # type: ignore[union-attr]  # just seen; the others say nothing, where they stand
        elif isinstance(node, Group) and len(node.options) == 1:
            yield from pieces_of(node.options[0], what, closing)
        elif not isinstance(node, (Look, End)):
            raise refused(f"its {what} more than literals, whitespace and a name")


def _is_text(pattern: Pattern) -> bool:
    return len(pattern) == 1 and isinstance(pattern[0], Text)


def delimiters(arguments: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What stands around strings in a JSON of the model's own, from the arguments of its content."""
    given = arguments.get("string_delims")
    pairs = [tuple(pair) for pair in given if isinstance(pair, list)] if isinstance(given, list) else []
    return [
        (pair[0], pair[1]) for pair in pairs if len(pair) == 2 and all(isinstance(mark, str) and mark for mark in pair)
    ]


def refused(why: str) -> NoResponseTemplate:
    """The error that says why a template makes no format."""
    return NoResponseTemplate(f"the response_template does not declare a supported format: {why}")


def function_of(call: Any) -> Mapping[str, Any]:
    """What holds name and arguments in a call, or in the transform that makes one."""
    function = call.get("function", call) if isinstance(call, Mapping) else None
    return function if isinstance(function, Mapping) else {}
