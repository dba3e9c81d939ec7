"""Check whether a conversation can store the arguments of a call.

A parser ends every complete call, whatever its values are. Arguments with a duplicate name, with a number beyond the
float range, or with half a surrogate pair are ambiguous or cannot be rendered again as written. Code that keeps a
conversation calls this module and keeps such a call as rejected.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable
from typing import Any, NoReturn

from toolfmt._util.json_values import why_no_json
from toolfmt.errors import json_fault
from toolfmt.messages.events import Event, ToolCallArguments, ToolCallEnd, ToolCallRejected, ToolCallStart
from toolfmt.messages.rejections import printable, rejection_message

_MOST_SHOWN = 100
_MAX_PROBLEM = 800


def read_object(text: str) -> tuple[dict[str, Any], str]:
    """Return the object in a JSON text, or the reason why it is not one."""
    try:
        read = json.loads(text, parse_constant=_no_constant, parse_float=_finite, object_pairs_hook=_each_once)
        json.dumps(read, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return {}, "they contain half of a character"
    except OverflowError as error:
        return {}, str(error)
    except (ValueError, RecursionError) as error:
        return {}, f"they are not JSON ({json_fault(error)})"
    if not isinstance(read, dict):
        return {}, "they are not a JSON object"
    problem = why_no_json(read)
    return ({}, f"they are {problem}") if problem else (read, "")


def unreadable_rejected(events: Iterable[Event], text: str = "") -> list[Event]:
    """Return the events with ended calls rejected if their arguments cannot be read.

    `raw` comes from `text` if given, else from the arguments alone.
    """
    names: dict[int, str] = {}
    arguments: dict[int, list[str]] = {}
    checked: list[Event] = []
    for event in events:
        if isinstance(event, ToolCallStart):
            names[event.index] = event.name
        elif isinstance(event, ToolCallArguments):
            arguments.setdefault(event.index, []).append(event.delta)
        elif isinstance(event, ToolCallEnd):
            written = "".join(arguments.get(event.index, ()))
            if problem := read_object(written)[1]:
                raw = text[max(0, event.span[0]) : max(0, event.span[1])] or written
                message = unfit(problem, names.get(event.index, ""))
                index, span = event.index, event.span
                event = ToolCallRejected(index, "invalid_arguments", span, raw, span[0], READABLE, message)
        checked.append(event)
    return checked


READABLE = "arguments that are one valid JSON object"
"""What is expected of a call whose arguments cannot be read (`ToolCallRejected.expected`)."""


def unfit(problem: str, name: str) -> str:
    """Return the message for a call whose arguments are invalid, with the problem, for example from `read_object`."""
    problem = f"the arguments are invalid: {printable(problem.removesuffix('.'), _MAX_PROBLEM)}"
    return rejection_message("invalid_arguments", problem=problem, name=name)


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object. Raises if a name appears twice, because it is unclear which value was intended."""
    named = dict(pairs)
    if len(named) < len(pairs):
        [(twice, _)] = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"{twice[:_MOST_SHOWN]!r} appears twice")
    return named


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _finite(digits: str) -> float:
    if math.isinf(number := float(digits)):
        raise OverflowError(f"{digits[:_MOST_SHOWN]} is too large for a 64-bit float")
    return number
