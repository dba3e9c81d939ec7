"""Arguments, once they fit the schema, as what a function or a class of Python takes: pydantic makes models, dates and
enumerations of them by the same type hints that the schema was made of.

pydantic reads the text that was written, and is strict: what is carried out is what was written. Only numbers are made
plain before: JSON knows no difference between 3.0 and 3, and what pydantic would round without a word is refused.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import Any

from toolfmt.messages.python_tools import stand_in

_NUMBER = re.compile(r'"(?:[^"\\]|\\.)*"|-?[0-9][0-9.eE+-]*')
"""A string, or a number outside strings, of a text that is JSON."""


class Unfit(Exception):
    """What the type hints say against arguments that fit the schema (a validator of a model, a date that is none)."""


def taking(tool: Any, call: Callable[..., Any] | None) -> Callable[[dict[str, Any], object], Callable[[], Any]]:
    """How the arguments of a call become something to be called without any.

    Takes a function, whose arguments are given to `call` by name (to itself without one); or a class, of which an
    instance is given to `call` (called without one). What comes back takes the arguments as they were read, and as they
    were given (a text of JSON, else it is made of them); it raises `Unfit`, and what validators of the caller's own
    raise.
    """
    from pydantic import TypeAdapter

    adapter: TypeAdapter[Any] = TypeAdapter(tool if isinstance(tool, type) else stand_in(tool))

    kinds = repr(adapter.core_schema)
    has_float, has_decimal = (f"'type': '{kind}'" in kinds for kind in ("float", "decimal"))

    def ready(arguments: dict[str, Any], given: object) -> Callable[[], Any]:
        text = given if isinstance(given, str) else json.dumps(arguments, default=dict)
        made = _validated(adapter, _NUMBER.sub(lambda found: _number(found[0], has_float, has_decimal), text))
        if not isinstance(tool, type):
            return partial(call or tool, **made)
        return made if call is None else partial(call, made)

    return ready


def _number(written: str, has_float: bool, has_decimal: bool) -> str:
    """A number as pydantic is to read it; raises `Unfit` for what a type of the hints would hold as another number."""
    if written.startswith('"'):
        return written
    if written.lstrip("-").isdigit():
        if has_float and len(written) > sys.float_info.max_10_exp and abs(int(written)) > sys.float_info.max:
            raise Unfit(f"{written[:20]}… is beyond every number that a float can hold")
        return written
    number = float(written)
    if has_decimal and Decimal(written) != Decimal(repr(number)):
        raise Unfit(f"{written[:80]} has more digits than a number of JSON keeps; write it as a string")
    whole = number.is_integer() and Decimal(written) == int(number) and (number or written[0] != "-")
    return str(int(number)) if whole else written


def _validated(adapter: Any, text: str) -> Any:
    from pydantic import ValidationError

    try:
        return adapter.validate_json(text, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in first["loc"])
        raise Unfit(f"{first['msg']} (at ${place})" if place else first["msg"]) from None
