"""The calls of an output that have ended, to notice that the model writes one of them again in another syntax.

A model may write a call as JSON, and after it "in Python syntax". The call must run once. The same call twice in one
syntax may be meant, as with a tool that rolls dice.
"""

from __future__ import annotations

import json
from typing import TypeAlias

EndedCall: TypeAlias = tuple[str, str, str]
"""The name of the tool, the name of the syntax (empty for that of the format), and the JSON text of the arguments."""
_MAX_CALLS = 16
"""Number of calls that are kept: the last ones."""
_MAX_LENGTH = 1000
"""Maximum number of characters of the arguments of a call that is kept. Memory must not grow with the output."""


def with_this(calls: tuple[EndedCall, ...], call: EndedCall) -> tuple[EndedCall, ...]:
    """Return the calls to keep after another one has ended."""
    return calls if len(call[2]) > _MAX_LENGTH else (*calls[-_MAX_CALLS + 1 :], call)


def may_repeat(calls: tuple[EndedCall, ...], name: str, syntax: str) -> bool:
    """Whether a call may repeat one of these: it is of the same tool, and written in another syntax."""
    return any(name == earlier and syntax != other for earlier, other, _ in calls)


def repeats(calls: tuple[EndedCall, ...], call: EndedCall) -> bool:
    """Whether a call is the same as one of these in another syntax."""
    name, syntax, arguments = call
    if len(arguments) > _MAX_LENGTH:
        return False
    value = _value(arguments)
    return any(name == earlier and syntax != other and value == _value(text) for earlier, other, text in calls)


def _value(arguments: str) -> str:
    """Return a text that is equal for equal arguments.

    The order of keys has no meaning. Numbers are equal only if their texts are, and 1 is not true.
    """
    try:
        return json.dumps(json.loads(arguments, parse_float="\0{}".format), sort_keys=True)
    except (ValueError, RecursionError):  # a number or a nesting that Python does not convert
        return arguments
