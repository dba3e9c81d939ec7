"""Validate arguments against the JSON Schema of a tool, with messages in terms of the schema.

`invalid_arguments` takes parsed JSON of a model. It never raises because of the arguments or the schema. The library
jsonschema (extra `validate`) validates and is imported on first use. It fetches nothing: a `$ref` that leads out of the
schema is an error in the schema. `format` is not checked, the default of JSON Schema 2020-12 (specification "JSON
Schema Validation", 7.2.1). `unevaluatedProperties` is checked in every draft. Patterns are Python regular expressions
without a time limit; everything else is limited (`bounded_validation.py`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from itertools import islice
from typing import Any

from toolfmt._util.json_values import why_no_json
from toolfmt.agent.bounded_validation import TooManySteps, bounded, steps
from toolfmt.agent.closed_schemas import closed
from toolfmt.errors import BadTools, ToolfmtError, json_fault
from toolfmt.messages.tools import tool_schemas

_INSTALL = "pip install jsonschema"
_WRONG_SCHEMA = "the tool's own schema cannot be used"
_TOO_DEEP = "they are nested too deeply for their schema"
_UNEVALUATED = "unevaluatedProperties"
_MOST_SHOWN = 300
"""Maximum characters of a message: it contains the invalid value, which may be as long as the response."""
_MOST_ERRORS, _MOST_JUDGED = 3, 20
"""Maximum number of reported errors, and of errors from which they are selected."""


def invalid_arguments(arguments: object, parameters: Mapping[str, Any]) -> str:
    """Return why arguments do not match the schema of a tool's parameters. Empty if they match.

    An unusable schema is reported in the same way (`invalid_schema` reports it in advance).

    Args:
        arguments: The arguments as parsed JSON. They must be an object, whatever the schema allows.
        parameters: The JSON Schema (draft 2020-12 unless it names another).

    Returns:
        One line with at most three messages of jsonschema of about 400 characters each. Errors of the whole come first.
            A message ends with the JSONPath of the value, unless it is the arguments as a whole.

    Raises:
        ToolfmtError: jsonschema is not installed.
    """
    if problem := why_no_json(arguments):
        return f"they hold what JSON does not: {problem}"
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
        return "; ".join(_message(best_match([error])) for error in errors)
    except TooManySteps:
        return "they are too large, or nested too deeply, to be judged by their schema in reasonable time"
    except RecursionError:
        return _TOO_DEEP
    except Unresolvable as error:
        return f"{_WRONG_SCHEMA}: it refers to {_bounded(str(error.ref))}, which it does not hold"
    except Exception as error:  # noqa: BLE001  a number beyond Python's floats, a pattern that `re` cannot compile, …
        return f"they cannot be judged by their schema: {_bounded(f'{type(error).__name__}: {error}')}"


class ArgumentValidator:
    """Checks arguments against the schemas of tools. It can be pickled."""

    def __init__(self, schemas: Mapping[str, Mapping[str, Any]]) -> None:
        self._schemas = schemas

    def __call__(self, name: str, arguments: dict[str, Any]) -> str | None:
        """Return why the arguments do not match the schema of the tool; None if they do.

        Args:
            name: The name of the tool.
            arguments: The arguments as parsed JSON.
        """
        if name not in self._schemas:
            return "no schema is known for this tool"
        return invalid_arguments(arguments, self._schemas[name]) or None


def validator(tools: object) -> ArgumentValidator:
    """Return a check of arguments for `toolfmt.Parser(validate=…)`.

    As in a `ToolRegistry`, arguments that the schema does not name are invalid unless it allows them. A call of a tool
    without a definition is invalid.

    Args:
        tools: Tool definitions, as for `Parser`.

    Raises:
        BadTools: The tool definitions or a schema are not valid.
        ToolfmtError: The extra `validate` is not installed.
    """
    schemas = {name: closed(schema) for name, schema in tool_schemas(tools).items()}
    for name, schema in schemas.items():
        if problem := invalid_schema(schema):
            raise BadTools(f"{name}: its parameters are not a JSON Schema: {problem}")
    return ArgumentValidator(schemas)


def _found(validator: Any, arguments: object) -> list[Any]:
    """Return the errors to report. Those of the whole come first."""
    errors = islice(validator.iter_errors(arguments), _MOST_JUDGED)
    return sorted(errors, key=lambda error: len(error.path))[:_MOST_ERRORS]


def invalid_schema(parameters: Mapping[str, Any]) -> str:
    """Return why a schema cannot be used for validation. Empty if it can.

    References are resolved only when arguments need them.

    Args:
        parameters: The JSON Schema of a tool's parameters.

    Raises:
        ToolfmtError: jsonschema is not installed.
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
    """Return why a schema is invalid (or an empty string), and its validator."""
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
        return _message(error), None
    except RecursionError:
        return "it is nested too deeply", None
    unevaluated = {_UNEVALUATED: Draft202012Validator.VALIDATORS[_UNEVALUATED]}
    draft = extend(draft, bounded({**unevaluated, **draft.VALIDATORS}))
    # An empty registry, because jsonschema's default one fetches references.
    return "", draft(schema, registry=Registry())


def _message(error: Any) -> str:
    message = _bounded(error.message)
    path = error.json_path
    return message if path == "$" else f"{message} (at {_bounded(path, 100)})"


def _bounded(text: str, most: int = _MOST_SHOWN) -> str:
    """Return the text in one line. A long one keeps both ends, because the error follows the value."""
    line = " ".join(text.splitlines())
    return line if len(line) <= most else f"{line[: most // 2]} … {line[-most // 2 :]}"
