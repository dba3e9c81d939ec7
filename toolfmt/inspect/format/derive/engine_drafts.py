"""The results of the engine modules: an engine with its markers, before it becomes a format."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import ParamSpec, TypeVar

from toolfmt.formats.engines.engine import Engine
from toolfmt.inspect.format.derive.reasons import NotDerivable
from toolfmt.inspect.report.wording import quote

_LONGEST_REASON = 200
_PARAMETERS = {
    "assign": "the text between a key and its value",
    "before_name": "the text around a call",
    "between": "the text between the parts of a call",
    "between_calls": "the text between two calls",
    "brackets": "the text around the arguments",
    "call_closer": "what closes a call",
    "call_opener": "what opens a call",
    "closer": "what closes the calls",
    "key_closer": "the text after a key",
    "key_lead": "the text before a key",
    "key_opener": "the text before a key",
    "mark": "the text around a string",
    "name_closer": "the text after the name",
    "name_opener": "the text before the name",
    "opener": "what opens the calls",
    "pair_closer": "the text after every argument",
    "separator": "the text between two arguments",
    "sign": "the text before every tag",
    "value_closer": "what closes a value",
}
"""The parameters of engines, described for template authors."""
_MESSAGE = re.compile(r"""(?P<parameter>\w+): (?P<quoted>'[^']*'|"[^"]*")?(?P<clause>.*)""", re.S)
_NAMED = re.compile(rf"\b({'|'.join(_PARAMETERS)})\b\Z")
PLAIN_ID = "call_{number}"
"""The form of ids for calls that are written without one."""
_Made = TypeVar("_Made")
_Parameters = ParamSpec("_Parameters")


@dataclass(frozen=True)
class EngineCandidate:
    """`kind` is for people.

    `ignored` are markers around the calls without a meaning. `call_id` is the form of the ids that the template
    writes.
    """

    kind: str
    engine: Engine
    ignored: tuple[str, ...] = ()
    call_id: str = PLAIN_ID


def made(engine: Callable[_Parameters, _Made], *args: _Parameters.args, **parameters: _Parameters.kwargs) -> _Made:
    """Return the engine with these parameters. Raise `NotDerivable` if its markers are ambiguous."""
    try:
        return engine(*args, **parameters)
    except ValueError as why:
        raise NotDerivable(quote(_in_words(str(why)), _LONGEST_REASON), near=1) from None


def _in_words(why: str) -> str:
    """Return why an engine rejects its parameters, without its internal names."""
    message = _MESSAGE.fullmatch(why)
    if message is None or message["parameter"] not in _PARAMETERS:
        return why
    clause = _NAMED.sub(lambda name: _PARAMETERS[name[0]], message["clause"])
    if message["quoted"] is None:
        return clause
    return f"{_PARAMETERS[message['parameter']]}, {message['quoted']},{clause}"
