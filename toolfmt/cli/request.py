"""Read the input of `toolfmt render`: a client's request to a server in one file, and variables from options.

The command line uses it. An invalid request or variable raises a `ToolfmtError` with a one-line message that names it
and how to fix it. `toolfmt.render.request.client_request` reads messages and tools. The keys here are vLLM's of Chat
Completions (`chat_template_kwargs`, `add_generation_prompt`, `continue_final_message`). Sampling parameters (`model`,
`temperature`, …) do not affect the prompt and are ignored. Keys that some servers render in their own way
(`reasoning_effort`, `documents`, …) are not passed on, and a message names them.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from toolfmt.cli.input import read_json, shown
from toolfmt.errors import ToolfmtError, json_fault
from toolfmt.messages.tools import kind_of
from toolfmt.model.model import Model
from toolfmt.render import prompt
from toolfmt.render.request import client_request

SETTINGS = ("add_generation_prompt", "continue_final_message")
_TAKEN = {
    "messages": "use --messages",
    "tools": "use --tools",
    "strategy": "use --strategy",
    "lossy": "use --lossy",
}
"""Arguments of rendering with these names, and the corresponding options of the command line."""
_BY_DEFAULT = {"tool_choice": "auto", "response_format": {"type": "text"}}
_LONGEST_SHOWN = 60
_PYTHON_LITERALS = {"True": "true", "False": "false", "None": "null"}
"""Python literals that users often type, and the JSON that they mean."""


@dataclass(frozen=True)
class RequestInput:
    """The messages and tools of a request, with its variables and settings. `name` is its source in error messages.

    `not_passed_on` are lines about keys that do not affect the prompt, each with the variable to set instead, if there
    is one.
    """

    name: str
    messages: Any
    tools: Any = None
    options: Mapping[str, Any] = field(default_factory=dict)
    not_passed_on: tuple[tuple[str, str], ...] = ()


def read_request(file: str) -> RequestInput:
    """Return the request in a file. Raises `ToolfmtError`."""
    return request_input(read_json(file, "a JSON object"), shown(file))


def request_input(request: Any, source: str) -> RequestInput:
    """Return the request in a JSON value from this source. Raises `ToolfmtError`."""
    read = client_request.read_request(request, source)
    name = source + (" (its system text counted as messages[0])" if read.begins_with_system else "")
    not_passed_on = tuple((variable, f"{source}: {line}") for variable, line in _not_passed_on(request))
    return RequestInput(name, read.messages, read.tools, _options(request, name), not_passed_on)


def _options(request: Mapping[str, Any], name: str) -> dict[str, Any]:
    given = request.get("chat_template_kwargs")
    if given is not None and not isinstance(given, dict):
        raise ToolfmtError(f'{name}: "chat_template_kwargs" must be an object, not {kind_of(given)}')
    options = dict(given or {})
    options |= {setting: request[setting] for setting in SETTINGS if request.get(setting) is not None}
    for option, value in options.items():
        problem = option_problem(option, value)
        if problem:
            raise ToolfmtError(f"{name}: {problem}")
    return options


def _not_passed_on(request: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what servers may render differently: a variable, and a line with what to do."""
    reasoning = request.get("reasoning")
    requested = {
        "reasoning_effort": ("reasoning_effort", request.get("reasoning_effort")),
        "reasoning": ("reasoning_effort", reasoning.get("effort") if isinstance(reasoning, dict) else None),
        "thinking": ("enable_thinking", _thinks(request.get("thinking"))),
        "documents": ("documents", request.get("documents")),
    }
    for key, (variable, value) in requested.items():
        if request.get(key) is not None:
            typed = f"'{json.dumps(value, ensure_ascii=False)}'"
            typed = typed if value is not None and len(typed) <= _LONGEST_SHOWN and typed.count("'") == 2 else "JSON"
            yield (
                variable,
                f'"{key}" is not passed to the template; if it reads {variable}, add --var {variable}={typed}',
            )
    others = {
        "chat_template": "name its file in the place of MODEL to render with it",
        "tool_choice": (
            "leave out the tools"
            if request.get("tool_choice") == "none"
            else "a grammar enforces it: toolfmt grammar --choice"
        ),
        "response_format": "describe the form of the response in a message",
    }
    for key, way_out in others.items():
        if request.get(key) is not None and request[key] != _BY_DEFAULT.get(key):
            yield "", f'"{key}" is not passed to the template; {way_out}'


def _thinks(thinking: Any) -> bool | None:
    """Return whether `thinking` of Anthropic's Messages enables thinking, or None if it is not valid."""
    kind = thinking.get("type") if isinstance(thinking, dict) else None
    return kind != "disabled" if isinstance(kind, str) else None


def variables(typed: Iterable[str]) -> dict[str, Any]:
    """Parse variables from options, each `NAME=JSON`. Raises `ToolfmtError`."""
    given: dict[str, Any] = {}
    for one in typed:
        name, equals, value = one.partition("=")
        if not equals or not name.isidentifier():
            raise ToolfmtError(f"--var {_shown(one)!r} is not NAME=JSON; write for example enable_thinking=true")
        try:
            given[name] = json.loads(value, parse_constant=_no_constant)
        except (ValueError, RecursionError) as error:
            why = error.msg if isinstance(error, json.JSONDecodeError) else json_fault(error)
            if value in _PYTHON_LITERALS:
                hint = f"write it as JSON: --var {name}={_PYTHON_LITERALS[value]}"
            else:
                quoted = json.dumps(_shown(value), ensure_ascii=False)
                hint = f"put a string in quotes: --var {name}='{quoted}'"
            raise ToolfmtError(f"--var {name}: {_shown(value)!r} is not JSON ({why}); {hint}") from None
        problem = option_problem(name, given[name])
        if problem:
            raise ToolfmtError(f"--var {problem}")
    return given


def option_problem(option: str, value: Any) -> str:
    """Return why a prompt cannot be rendered with this variable or setting. Empty if it can."""
    if option in SETTINGS and not isinstance(value, bool):
        return f'"{option}" must be true or false, not {kind_of(value)}'
    if option in _TAKEN:
        return f'"{option}" cannot be set as a variable; {_TAKEN[option]}'
    if option in _of_rendering() and option not in SETTINGS:
        return f'"{option}" cannot be set as a variable: it is an option of the Python API; leave it out'
    return ""


@cache
def _of_rendering() -> frozenset[str]:
    """Return the names that are arguments of rendering itself, which therefore reach no template."""
    taken = [inspect.signature(function).parameters for function in (prompt.render, Model.render)]
    named = (one for parameters in taken for one in parameters.values() if one.kind is not one.VAR_KEYWORD)
    return frozenset(one.name for one in named)


def _shown(text: str) -> str:
    return text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + "…"


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
