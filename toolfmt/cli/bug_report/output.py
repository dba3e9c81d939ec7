"""Show a model output that is parsed wrong: the output and its tools, masked, and the events that the parser emits.

Masking keeps lengths, so the events of the masked output and of the output itself can be compared. This shows whether
the bug also occurs with the masked output.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from toolfmt.cli.bug_report.errors import error_lines
from toolfmt.cli.bug_report.masking import Masking, words_of
from toolfmt.formats import Parser, ToolCallFormat
from toolfmt.messages.events import Event, merge

_KEYWORDS = words_of(
    "name type function parameters properties required items prefixItems additionalProperties anyOf oneOf allOf not "
    "enum const nullable ref defs definitions any null"
)
_DROPPED = ("description", "title", "default", "examples", "pattern", "format")
_MAPS = ("properties", "$defs", "definitions")
_DEEPEST = 40


def events_of(
    format: ToolCallFormat, text: str, tools: list[dict[str, Any]] | None, prefix: str, step: int | None = None
) -> list[Event] | list[str]:
    """Return the merged events of the text, fed in chunks of `step` characters, or the lines of an error."""
    try:
        parser = Parser(format, tools=tools, prefix=prefix)
        size = step or max(len(text), 1)
        events = [event for at in range(0, len(text), size) for event in parser.feed(text[at : at + size])]
        return list(merge([*events, *parser.finish()]))
    except Exception as error:  # noqa: BLE001 - whatever it is, it is the bug to report
        return error_lines(error)


def outline(events: list[Event] | list[str]) -> list[Any]:
    """Return the events with lengths instead of text, to compare an output with its masked form."""
    return [event if isinstance(event, str) else _lengths(event.to_dict()) for event in events]


def _lengths(value: Any) -> Any:
    kept, dropped = ("type", "reason", "tolerated", "span"), ("expected", "message")  # they quote a part of the text
    shown = {key: one for key, one in value.items() if key not in dropped}
    return {key: len(one) if isinstance(one, str) and key not in kept else one for key, one in shown.items()}


def masked_tools(tools: list[dict[str, Any]] | None, masking: Masking) -> list[Any] | None:
    """Return the definitions without descriptions, with masked names and values. The rest affects parsing."""
    return None if tools is None else [_masked(tool, masking, 0, is_map=False) for tool in tools]


def names_in(value: Any, depth: int = 0) -> Iterator[str]:
    """Yield the names of tools and of their parameters in definitions."""
    if depth == _DEEPEST:
        return
    if isinstance(value, list):
        for one in value:
            yield from names_in(one, depth + 1)
    elif isinstance(value, dict):
        for key, one in value.items():
            if key in _MAPS and isinstance(one, dict):
                yield from one
            if key == "name" and isinstance(one, str):
                yield one
            yield from names_in(one, depth + 1)


def _masked(value: Any, masking: Masking, depth: int, *, is_map: bool) -> Any:
    """Return the value, masked. The keys of a map are names of parameters or of schemas."""
    if isinstance(value, str):  # `#/$defs/NAME` is masked part by part
        return "/".join(one if one.lstrip("$") in _KEYWORDS else masking.masked(one) for one in value.split("/"))
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return 1
    if isinstance(value, (list, dict)) and depth == _DEEPEST:
        return {}
    if isinstance(value, list):
        return [_masked(one, masking, depth + 1, is_map=False) for one in value]
    if not isinstance(value, dict):
        return value
    return {
        _key(key, masking, is_map): _masked(one, masking, depth + 1, is_map=not is_map and key in _MAPS)
        for key, one in value.items()
        if is_map or key not in _DROPPED
    }


def _key(key: str, masking: Masking, is_map: bool) -> str:
    return key if not is_map and key.lstrip("$") in _KEYWORDS else masking.masked(key)
