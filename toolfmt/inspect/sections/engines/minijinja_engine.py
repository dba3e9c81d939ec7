"""minijinja, the template engine of mistral.rs, text-generation-inference, SGLang's gateway and NVIDIA Dynamo.

It is set up here as in those four, as of 2026: Python's methods on strings, lists and objects (`pycompat`),
`raise_exception`, and `strftime_now`. Values are the engine's own, made from JSON, not Python objects with methods
that it does not know. If the four differ, the setting that suits templates best is used: `trim_blocks` and
`lstrip_blocks` (mistral.rs, Dynamo), JSON formatted as in transformers (all four format it differently), and the tags
`{% generation %}` and `{% endgeneration %}` removed if written exactly so (mistral.rs, Dynamo). The remaining
differences come from the template. The version is the installed one; runtimes pin their own, mostly older versions.

The engine limits steps (`fuel`) but not memory. A template that behaves differently under this engine can use all
memory, as it can under jinja2.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from toolfmt.inspect.report.wording import quote
from toolfmt.inspect.sections.engines.engine import EngineFailure, EngineRequest, NotTried, raised, tag_around
from toolfmt.templates import FROZEN_NOW
from toolfmt.templates.engine.environment import clock, environment

if TYPE_CHECKING:
    from minijinja import Environment, TemplateError

NAME = "minijinja"
GENERATION, END_GENERATION = "{% generation %}", "{% endgeneration %}"

# None of 1,176 real templates needs 50,000 steps for these conversations (November 2026).
_FUEL = 200_000
_NAMED = (
    (r"unknown statement (\w+)", "{{% {} %}}"),
    (r"filter (\w+) is unknown", "the filter {}"),
    (r"test (\w+) is unknown", "the test {}"),
    (r"has no method named (\w+)", "the method .{}()"),
    (r"^(\w+) is unknown", "the function {}()"),
)
"""The engine's errors for unknown constructs, and their names in the report."""


def minijinja_engine() -> MinijinjaEngine | None:
    """Return the engine, or None if it is not installed."""
    engine = _environment()
    return None if engine is None else MinijinjaEngine(engine)


class MinijinjaEngine:
    """The engine of the installed package. Implements `toolfmt.inspect.sections.engines.engine.Engine`."""

    name = NAME
    now: datetime | None = None
    removes_generation_tags = True

    def __init__(self, engine: Environment) -> None:
        self._engine = engine

    def render(self, request: EngineRequest) -> str:
        import minijinja

        before = _before(request.values)
        source = before + without_generation_tags(request.template.source)
        try:
            return self._engine.render_str(source, NAME, documents=None, **request.tokens)
        except minijinja.TemplateError as error:
            if error.kind == "OutOfFuel":
                raise NotTried from None
            raise _failure(error, source, before) from None
        except Exception as error:  # noqa: BLE001 - `raise_exception` of the template surfaces as it was raised
            raise raised(request.template, str(error)) from None

    def with_filter(self, name: str, function: Callable[..., Any]) -> MinijinjaEngine | None:
        engine = _environment({name: function})
        return None if engine is None else MinijinjaEngine(engine)


def _environment(filters: Mapping[str, Callable[..., Any]] = MappingProxyType({})) -> Environment | None:
    """Return the engine with these filters replacing its own, or None if it is not installed."""
    try:
        from minijinja import Environment
    except ImportError:
        return None
    jinja2 = environment()
    return Environment(
        trim_blocks=True,
        lstrip_blocks=True,
        pycompat=True,
        fuel=_FUEL,
        filters={"tojson": jinja2.filters["tojson"], **filters},
        globals={"raise_exception": jinja2.globals["raise_exception"], "strftime_now": clock(FROZEN_NOW)},
        auto_escape_callback=lambda name: False,
    )


def without_generation_tags(source: str) -> str:
    """Return the source without the tags that only transformers supports, if both are written exactly so."""
    cut = GENERATION in source and END_GENERATION in source
    return source.replace(GENERATION, "").replace(END_GENERATION, "") if cut else source


def _before(values: Mapping[str, Any]) -> str:
    """Return the values as `set` statements: one line before the template.

    The engine drops its newline as after any tag.
    """
    return "".join(f"{{% set {name} = {_literal(value)} %}}" for name, value in values.items()) + "\n"


def _literal(value: Any) -> str:
    """Return the value as a literal of the engine: JSON, except for null."""
    match value:
        case None:
            return "none"
        case dict():
            return "{" + ", ".join(f"{json.dumps(key)}: {_literal(item)}" for key, item in value.items()) + "}"
        case list() | tuple():
            return "[" + ", ".join(map(_literal, value)) + "]"
        case _:
            return json.dumps(value)


def _failure(error: TemplateError, source: str, before: str) -> EngineFailure:
    line = None if error.line is None else error.line - before.count("\n")
    what = (error.detail or error.message).splitlines()[0]
    return EngineFailure(_construct(error, source, before), line, quote(what))


def _construct(error: TemplateError, source: str, before: str) -> str:
    """Return the failing part of the template: its name if the engine lacks it, else the tag that contains it."""
    for pattern, name in _NAMED:
        if found := re.search(pattern, error.detail or ""):
            return name.format(found[1])
    if error.range is None:
        return "the template"
    # The engine counts bytes.
    return tag_around(source.removeprefix(before).encode(), error.range[0] - len(before.encode()))
