"""Convert arguments that match the schema to what a Python function or class takes.

pydantic creates models, dates and enumerations from the same type hints that the schema was made from. It parses the
original text in strict mode, so that a tool runs with exactly what the model wrote. Only numbers are converted first:
JSON does not distinguish 3.0 and 3, and a number that pydantic would silently round is rejected.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import Any

from toolfmt.messages.python_tools import placeholder_function

_NUMBER = re.compile(r'"(?:[^"\\]|\\.)*"|-?[0-9][0-9.eE+-]*')
"""A string, or a number outside strings, in JSON text."""


class Unfit(Exception):
    """Arguments match the schema but not the type hints (a validator of a model, an invalid date)."""


def taking(tool: Any, call: Callable[..., Any] | None) -> Callable[[dict[str, Any], object], Callable[[], Any]]:
    """Return a function that converts the arguments of a call to a callable without arguments.

    Takes a function, whose arguments are passed to `call` by name (or to itself without `call`). Or takes a class,
    whose instance is passed to `call` (or called itself). The returned function takes the parsed arguments and the
    original ones (JSON text, or else it is made from them). It raises `Unfit`, and what the caller's own validators
    raise.
    """
    from pydantic import TypeAdapter

    adapter: TypeAdapter[Any] = TypeAdapter(tool if isinstance(tool, type) else placeholder_function(tool))

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
    """Return a number as pydantic must read it. Raises `Unfit` if a type hint would change its value."""
    if written.startswith('"'):
        return written
    if written.lstrip("-").isdigit():
        if has_float and len(written) > sys.float_info.max_10_exp and abs(int(written)) > sys.float_info.max:
            raise Unfit(f"{written[:20]}… is too large for a 64-bit float")
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
