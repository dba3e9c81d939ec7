"""What the modules of the engines hand over: an engine with its markers, before it is put into a format."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ParamSpec, TypeVar

from toolfmt.formats.format import Engine
from toolfmt.inspect.derivation.refusals import Refused
from toolfmt.inspect.wording import quote

_LONGEST_REASON = 120
PLAIN_ID = "call_{number}"
"""The form of ids of calls that are written without one."""
_Made = TypeVar("_Made")
_Parameters = ParamSpec("_Parameters")


@dataclass(frozen=True)
class Draft:
    """`kind` is what a person reads; `ignored` are marks around the calls that say nothing, `call_id` the form of the
    ids that the template writes."""

    kind: str
    engine: Engine
    ignored: tuple[str, ...] = ()
    call_id: str = PLAIN_ID


def made(engine: Callable[_Parameters, _Made], *args: _Parameters.args, **parameters: _Parameters.kwargs) -> _Made:
    """The engine with these parameters. Raises `Refused` where it cannot tell its own markers apart."""
    try:
        return engine(*args, **parameters)
    except ValueError as why:
        raise Refused(f"its markers cannot be told apart ({quote(str(why), _LONGEST_REASON)})", near=1) from None
