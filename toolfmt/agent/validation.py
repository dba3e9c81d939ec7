"""Whether arguments fit the JSON Schema of a tool, told in the schema's own words.

`invalid_arguments` takes what a model wrote, once it has been read as JSON: it never raises for that, and neither for a
schema. The judge is the library jsonschema (extra `validate`), imported when it is first needed. It fetches nothing: a
`$ref` that leads out of the schema is the schema's fault. `format` is not judged, as JSON Schema 2020-12 has it by
default (specification "JSON Schema Validation", 7.2.1); `unevaluatedProperties` is, whatever the draft. Patterns are
regular expressions of Python, and take the time that they take; all else is bounded (`bounded_validation.py`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from itertools import islice
from typing import Any

from toolfmt._util.json_values import why_no_json
from toolfmt.agent.bounded_validation import TooManySteps, bounded, steps
from toolfmt.errors import ToolfmtError, json_fault

_INSTALL = "pip install jsonschema"
_WRONG_SCHEMA = "the tool's own schema cannot be used"
_TOO_DEEP = "they are nested too deeply for their schema"
_UNEVALUATED = "unevaluatedProperties"
_MOST_TOLD = 300
"""Characters of a message: it holds the value that it is about, which may be as long as the answer."""
_MOST_FAULTS, _MOST_JUDGED = 3, 20
"""Faults that are told, and among how many of them they are chosen."""


def invalid_arguments(arguments: object, parameters: Mapping[str, Any]) -> str:
    """Why arguments do not fit the schema of a tool's parameters; empty where they fit.

    Takes the arguments as JSON was read, and the JSON Schema (draft 2020-12 where it names no other). Arguments are an
    object, whatever the schema says. Returns one line: the messages of jsonschema for what is wrong, three at most and
    of some 400 characters each, what concerns the whole first; behind each the place of the value as a JSONPath where
    that is not the arguments as a whole. A schema that cannot be used is told as such (`invalid_schema` tells that
    beforehand). Raises `ToolfmtError` where jsonschema is not installed, and nothing else.
    """
    if fault := why_no_json(arguments):
        return f"they hold what JSON does not: {fault}"
    if not isinstance(arguments, dict):
        return f"{_bounded(repr(arguments))} is not of type 'object'"
    wrong, validator = _made(parameters)
    if validator is None:
        return f"{_WRONG_SCHEMA}: {wrong}"
    from jsonschema.exceptions import best_match
    from referencing.exceptions import Unresolvable

    try:
        with steps(arguments):
            errors = _found(validator, arguments)
        return "; ".join(_told(best_match([error])) for error in errors)
    except TooManySteps:
        return "they are too large, or nested too deeply, to be judged by their schema in reasonable time"
    except RecursionError:
        return _TOO_DEEP
    except Unresolvable as error:
        return f"{_WRONG_SCHEMA}: it refers to {_bounded(str(error.ref))}, which it does not hold"
    except Exception as error:  # noqa: BLE001  a number beyond Python's floats, a pattern that `re` cannot read, …
        return f"they cannot be judged by their schema: {_bounded(f'{type(error).__name__}: {error}')}"


def _found(validator: Any, arguments: object) -> list[Any]:
    """What is wrong, as much of it as is told; what concerns the whole first."""
    errors = islice(validator.iter_errors(arguments), _MOST_JUDGED)
    return sorted(errors, key=lambda error: len(error.path))[:_MOST_FAULTS]


def invalid_schema(parameters: Mapping[str, Any]) -> str:
    """Why no arguments can be judged by a schema; empty where they can.

    What it refers to is looked up once arguments need it. Raises `ToolfmtError` where jsonschema is not installed.
    """
    return _made(parameters)[0]


def _made(parameters: Mapping[str, Any]) -> tuple[str, Any]:
    try:
        text = json.dumps(parameters, default=dict, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        return f"it is not JSON ({_bounded(json_fault(error))})", None
    return _validator(text)


@lru_cache(maxsize=256)
def _validator(text: str) -> tuple[str, Any]:
    """Why a schema, given as JSON, is none, else empty; and what judges by it."""
    try:
        from jsonschema.exceptions import SchemaError
        from jsonschema.validators import Draft202012Validator, extend, validator_for
        from referencing import Registry
    except ImportError:
        raise ToolfmtError(
            f"checking arguments against the schema of their tool requires jsonschema: {_INSTALL}"
        ) from None
    try:
        schema = json.loads(text)
        if not isinstance(schema, dict):
            return "a schema of parameters is an object", None
        draft = validator_for(schema if isinstance(schema.get("$schema"), str) else {}, default=Draft202012Validator)
        draft.check_schema(schema)
    except SchemaError as error:
        return _told(error), None
    except RecursionError:
        return "it is nested too deeply", None
    unevaluated = {_UNEVALUATED: Draft202012Validator.VALIDATORS[_UNEVALUATED]}
    draft = extend(draft, bounded({**unevaluated, **draft.VALIDATORS}))
    # An empty registry: the one that jsonschema takes otherwise fetches what a `$ref` names.
    return "", draft(schema, registry=Registry())


def _told(error: Any) -> str:
    message = _bounded(error.message)
    path = error.json_path
    return message if path == "$" else f"{message} (at {_bounded(path, 100)})"


def _bounded(text: str, most: int = _MOST_TOLD) -> str:
    """The text in one line; of a long one both ends: what is wrong stands behind the value that it is about."""
    line = " ".join(text.splitlines())
    return line if len(line) <= most else f"{line[: most // 2]} … {line[-most // 2 :]}"
