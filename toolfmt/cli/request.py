"""What `toolfmt render` is asked for: a request as clients send it to a server, in one file, and variables as typed.

The command line calls it. Whatever a request or a variable cannot be is a `ToolfmtError` of one line that names the
file or the variable, and the way out. Messages and tools are read by `toolfmt.render.request.client_request`; the keys
here are vLLM's of Chat Completions (`chat_template_kwargs`, `add_generation_prompt`, `continue_final_message`). What
steers sampling (`model`, `temperature`, …) has no part in a prompt and is passed over. What changes what some servers
render, each in its own way (`reasoning_effort`, `documents`, …), is not passed on; a message names it.
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
    "messages": "--messages gives the messages",
    "tools": "--tools gives the tools",
    "strategy": "--strategy names it",
    "lossy": "--lossy says so",
}
"""What rendering takes under these names, and how it is given on the command line."""
_BY_DEFAULT = {"tool_choice": "auto", "response_format": {"type": "text"}}
_LONGEST_SHOWN = 60
_PYTHON_LITERALS = {"True": "true", "False": "false", "None": "null"}
"""Python literals that users often type, and the JSON that they mean."""


@dataclass(frozen=True)
class RequestInput:
    """The messages and tools of a request, and the variables and settings it is rendered with; `name` is what errors
    about them call their source. `not_passed_on` are lines about what of it has no part in the prompt, each with the
    variable that would be set instead, if there is one.
    """

    name: str
    messages: Any
    tools: Any = None
    options: Mapping[str, Any] = field(default_factory=dict)
    not_passed_on: tuple[tuple[str, str], ...] = ()


def read_request(file: str) -> RequestInput:
    """The request in a file; raises `ToolfmtError`."""
    name = shown(file)
    request = read_json(file, "a JSON object")
    read = client_request.read_request(request, name)
    if read.begins_with_system:
        name += " (its system text counted as messages[0])"
    told = tuple((variable, f"{shown(file)}: {line}") for variable, line in _not_passed_on(request))
    return RequestInput(name, read.messages, read.tools, _options(request, name), told)


def _options(request: Mapping[str, Any], name: str) -> dict[str, Any]:
    given = request.get("chat_template_kwargs")
    if given is not None and not isinstance(given, dict):
        raise ToolfmtError(f'{name}: "chat_template_kwargs" must be an object, not {kind_of(given)}')
    options = dict(given or {})
    options |= {setting: request[setting] for setting in SETTINGS if request.get(setting) is not None}
    for option, value in options.items():
        fault = fault_of(option, value)
        if fault:
            raise ToolfmtError(f"{name}: {fault}")
    return options


def _not_passed_on(request: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What servers may render a request with beside what is rendered here: a variable, and a line with the way out."""
    reasoning = request.get("reasoning")
    asked = {
        "reasoning_effort": ("reasoning_effort", request.get("reasoning_effort")),
        "reasoning": ("reasoning_effort", reasoning.get("effort") if isinstance(reasoning, dict) else None),
        "thinking": ("enable_thinking", _thinks(request.get("thinking"))),
        "documents": ("documents", request.get("documents")),
    }
    for key, (variable, value) in asked.items():
        if request.get(key) is not None:
            typed = f"'{json.dumps(value, ensure_ascii=False)}'"
            typed = typed if value is not None and len(typed) <= _LONGEST_SHOWN and typed.count("'") == 2 else "JSON"
            yield variable, f'"{key}" is not passed on; a template that reads it is given --var {variable}={typed}'
    others = {
        "chat_template": "name its file in the place of MODEL to render with it",
        "tool_choice": "the prompt offers all tools; leave out those that are not to be called",
        "response_format": "say in a message what the answer is to look like",
    }
    for key, way_out in others.items():
        if request.get(key) is not None and request[key] != _BY_DEFAULT.get(key):
            yield "", f'"{key}" is not passed on; {way_out}'


def _thinks(thinking: Any) -> bool | None:
    """Whether an answer thinks, as Anthropic's Messages say it."""
    kind = thinking.get("type") if isinstance(thinking, dict) else None
    return kind != "disabled" if isinstance(kind, str) else None


def variables(typed: Iterable[str]) -> dict[str, Any]:
    """Variables as they are typed, `NAME=JSON` each; raises `ToolfmtError`."""
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
        fault = fault_of(name, given[name])
        if fault:
            raise ToolfmtError(f"--var {fault}")
    return given


def fault_of(option: str, value: Any) -> str:
    """Why a prompt cannot be rendered with this variable or setting; empty where it can."""
    if option in SETTINGS and not isinstance(value, bool):
        return f'"{option}" must be true or false, not {kind_of(value)}'
    if option in _TAKEN:
        return f'"{option}" is not a template variable; {_TAKEN[option]}'
    if option in _of_rendering() and option not in SETTINGS:
        return f'"{option}" is not a template variable but an option of the Python API; leave it out'
    return ""


@cache
def _of_rendering() -> frozenset[str]:
    """The names that rendering takes itself, which therefore reach no template."""
    taken = [inspect.signature(function).parameters for function in (prompt.render, Model.render)]
    named = (one for parameters in taken for one in parameters.values() if one.kind is not one.VAR_KEYWORD)
    return frozenset(one.name for one in named)


def _shown(text: str) -> str:
    return text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + "…"


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
