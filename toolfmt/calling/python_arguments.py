"""Arguments, once they fit the schema, as what a function or a class of Python takes: pydantic makes models, dates and
enumerations of them by the same type hints that the schema was made of."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from toolfmt.python_tools import stand_in


class Unfit(Exception):
    """What the type hints say against arguments that fit the schema (a validator of a model, a date that is none)."""


def taking(tool: Any, call: Callable[..., Any] | None) -> Callable[[Mapping[str, Any]], Callable[[], Any]]:
    """How the arguments of a call become something to be called without any.

    Takes a function, whose arguments are given to `call` by name (to itself without one); or a class, of which an
    instance is given to `call` (called without one). What comes back raises `Unfit`, and what validators of the
    caller's own raise.
    """
    from pydantic import TypeAdapter

    adapter: TypeAdapter[Any] = TypeAdapter(tool if isinstance(tool, type) else stand_in(tool))

    def ready(arguments: Mapping[str, Any]) -> Callable[[], Any]:
        made = _validated(adapter, arguments)
        if not isinstance(tool, type):
            return partial(call or tool, **made)
        return made if call is None else partial(call, made)

    return ready


def _validated(adapter: Any, arguments: Mapping[str, Any]) -> Any:
    from pydantic import ValidationError

    try:
        return adapter.validate_json(json.dumps(arguments))
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in first["loc"])
        raise Unfit(f"{first['msg']} (at ${place})" if place else first["msg"]) from None
