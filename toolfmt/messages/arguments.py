"""Which calls a conversation can hold: those whose arguments say one thing, in what JSON can carry.

A parser ends a call that is whole, whatever its values are. Arguments with a name that appears twice, with a
number beyond every float or with half of a character can be shown to no model again as they were written, and nobody
knows what was meant: whoever keeps a conversation asks here, and keeps such a call as what was rejected.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable
from typing import Any, NoReturn

from toolfmt._util.json_values import why_no_json
from toolfmt.errors import json_fault
from toolfmt.messages.events import Event, ToolCallArguments, ToolCallEnd, ToolCallRejected

_MOST_TOLD = 100


def read_object(text: str) -> tuple[dict[str, Any], str]:
    """The object that a text of JSON is; or why it is none, in words."""
    try:
        read = json.loads(text, parse_constant=_no_constant, parse_float=_finite, object_pairs_hook=_each_once)
        json.dumps(read, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return {}, "they contain half of a character"
    except (ValueError, RecursionError) as error:
        return {}, f"they are not JSON ({json_fault(error)})"
    if not isinstance(read, dict):
        return {}, "they are not a JSON object"
    fault = why_no_json(read)
    return ({}, f"they are {fault}") if fault else (read, "")


def unreadable_rejected(events: Iterable[Event], text: str = "") -> list[Event]:
    """The events of an answer with this text; an ended call is rejected where its arguments cannot be read.

    What it was is told from the text, where that is given, else by its arguments alone.
    """
    arguments: dict[int, list[str]] = {}
    checked: list[Event] = []
    for event in events:
        if isinstance(event, ToolCallArguments):
            arguments.setdefault(event.index, []).append(event.delta)
        elif isinstance(event, ToolCallEnd) and read_object(written := "".join(arguments.get(event.index, ())))[1]:
            raw = text[max(0, event.span[0]) : max(0, event.span[1])] or written
            event = ToolCallRejected(event.index, "invalid_arguments", event.span, raw)
        checked.append(event)
    return checked


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; of a name that appears twice nobody knows which value was meant, or was shown to a user."""
    named = dict(pairs)
    if len(named) < len(pairs):
        [(twice, _)] = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"{twice[:_MOST_TOLD]!r} appears twice")
    return named


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _finite(digits: str) -> float:
    if math.isinf(number := float(digits)):
        raise ValueError(f"{digits[:_MOST_TOLD]} is beyond every number that can be held")
    return number
