"""Tools that a model's calls reach: their definitions, and what carries each one out.

A call is carried out only if it was read whole, names a tool of the registry, and its arguments are JSON that the
tool's schema takes and, for a tool made of Python, its type hints too. Whatever else it is becomes a message that tells
the model; so does what a tool raises. Nothing here repairs arguments.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, TypeVar

from toolfmt.agent.async_bridge import Waiting
from toolfmt.agent.call_shapes import parts_of_call, read_arguments
from toolfmt.agent.closed_schemas import closed, closed_within
from toolfmt.agent.execution import Execution, ExecutionOutcome, raised, rejection, unfit_arguments, unknown_tool
from toolfmt.agent.python_arguments import Unfit, taking
from toolfmt.agent.results import told
from toolfmt.agent.validation import invalid_arguments, invalid_schema
from toolfmt.errors import BadTools
from toolfmt.messages.message import Rejected
from toolfmt.messages.python_tools import is_python_tool
from toolfmt.messages.tools import canonical_tools

_Ready: TypeAlias = Callable[[dict[str, Any], object], Callable[[], Any]]
"""Makes of arguments that fit the schema, and of these as they were given, what remains to be called."""
_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
Made = TypeVar("Made", bound=Callable[..., Any])


@dataclass(frozen=True)
class _Tool:
    schema: Mapping[str, Any]
    ready: _Ready


class ToolRegistry:
    """The tools of a program.

        registry = ToolRegistry([get_weather, (Booking, book), (definition, function)])

    Takes what `add` takes, a tuple where it takes two; raises what `add` raises.
    """

    def __init__(self, tools: Iterable[Any] = ()) -> None:
        self._definitions: list[dict[str, Any]] = []
        self._tools: dict[str, _Tool] = {}
        for tool in tools:
            self.add(*tool) if isinstance(tool, tuple) else self.add(tool)

    def add(self, tool: Any, call: Callable[..., Any] | None = None) -> None:
        """Adds a tool, and what is called for it; either may be `async`.

        A function with type hints or a bound method is called itself, its arguments by name, made into what its hints
        say (pydantic's models, dates, …); those that a call leaves out have the function's defaults. Of a class of
        pydantic or a dataclass `call` is given an instance; without `call` the instance is called. With a definition in
        any shape of `toolfmt.messages.tools`, `call` is given the arguments by name, as JSON was read. Arguments that
        the schema does not name are rejected, unless it says otherwise (`additionalProperties`); of a tool made of
        Python so is what a model or a dataclass within them does not name. Dates, times and durations are those of JSON
        Schema (ISO 8601); nothing is made of another type that is not the same value (`3.0` is an int). Raises
        `BadTools` for what is no tool, has a name or a schema that does not do, has nothing to call, or a function that
        no call can reach;
        `ToolfmtError` without the extra `validate`.
        """
        made = canonical_tools([*self._definitions, tool])[-1]
        name = made["function"]["name"]
        where = f"tools[{len(self._definitions)}] ({name})"
        parameters = made["function"].get("parameters", {})
        schema = closed(closed_within(parameters) if is_python_tool(tool) else parameters)
        if fault := invalid_schema(schema):
            raise BadTools(f"{where}: its parameters are not a JSON Schema: {fault}")
        ready = _ready(tool, call, schema, where)
        self._definitions.append(made)
        self._tools[name] = _Tool(schema, ready)

    def tool(self, made: Made) -> Made:
        """As a decorator (`@registry.tool`): adds a function, or a class whose instances can be called."""
        self.add(made)
        return made

    @property
    def definitions(self) -> list[dict[str, Any]]:
        """The definitions in OpenAI's shape, in the order they were added: for a prompt, a parser, a request."""
        return list(self._definitions)

    def dispatch(self, call: Any) -> dict[str, Any]:
        """Carries a call out, and returns the message that answers it: `execute(call).message`."""
        return self.execute(call).message

    def execute(self, call: Any, wait: Waiting | None = None) -> Execution:
        """Carries a call out, and tells what became of it.

        Takes a `toolfmt.ToolCall`; a call as OpenAI's (both its APIs), Anthropic's, Ollama's or LangChain's packages
        hold it, an object or a mapping; or what was rejected of an answer (`Message.rejected`), which is never carried
        out. The message is `{"role": "tool", "tool_call_id", "name", "content"}`, without the id where the call has
        none; for what was rejected, which has no id that a result could name, it is the user's. An `async` tool is
        waited for, by `wait` where several calls are to share a loop. Raises `TypeError` for what is no call. What a
        tool raises is told in the message, but for what ends a program (`KeyboardInterrupt`, `SystemExit`), which
        passes.
        """
        if isinstance(call, Rejected):
            said = {"role": "user", "content": rejection(call, self._tools)}
            return Execution("rejected", call.name or "", said)
        id, name, arguments = parts_of_call(call)

        def ended(outcome: ExecutionOutcome, content: str, **more: Any) -> Execution:
            answers = {"tool_call_id": id} if id else {}
            return Execution(outcome, name, {"role": "tool", **answers, "name": name, "content": content}, **more)

        tool = self._tools.get(name)
        if tool is None:
            return ended("unknown_tool", unknown_tool(name, self._tools))
        read, fault = read_arguments(arguments)
        fault = fault or invalid_arguments(read, tool.schema)
        if fault:
            return ended("invalid_arguments", unfit_arguments(name, fault))
        try:
            value = _called(tool.ready(read, arguments), wait)
            return ended("result", told(value), value=value)
        except Unfit as error:
            return ended("invalid_arguments", unfit_arguments(name, str(error)))
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001  a tool is any code, and may raise anything
            return ended("exception", raised(name, error), error=error)


def _check_taken(call: Callable[..., Any], schema: Mapping[str, Any], where: str) -> None:
    """Raises `BadTools` for a function that fails at every call: it needs what no call can give by name."""
    try:
        needed = [it for it in inspect.signature(call).parameters.values() if it.default is it.empty]
    except (TypeError, ValueError):  # what is written in C may not tell
        return
    named = schema.get("properties", {})
    for parameter in needed:
        if parameter.kind is inspect.Parameter.POSITIONAL_ONLY:
            raise BadTools(
                f"{where}: {parameter.name} of its function is positional only, and a call names its arguments; "
                "remove the /, or give a function that takes names"
            )
        if parameter.kind in _NAMED and schema.get("additionalProperties") is False and parameter.name not in named:
            if not schema.get("patternProperties"):
                raise BadTools(
                    f"{where}: its function needs {parameter.name}, which its schema does not name; name it there, or "
                    "give a method of an instance"
                )


def _ready(tool: Any, call: Callable[..., Any] | None, schema: Mapping[str, Any], where: str) -> _Ready:
    if call is not None and not callable(call):
        raise BadTools(f"{where}: what is to be called is a {type(call).__name__}; give a function")
    if is_python_tool(tool):
        if isinstance(tool, type) and call is None and "__call__" not in dir(tool):
            raise BadTools(
                f"{where}: its instances cannot be called; give what takes one: add({tool.__name__}, function)"
            )
        return taking(tool, call)
    if call is None:
        raise BadTools(
            f"{where}: a definition alone cannot be called; give its function too: add(definition, function)"
        )
    _check_taken(call, schema, where)
    return lambda arguments, given: partial(call, **arguments)


def _called(function: Callable[[], Any], wait: Waiting | None) -> Any:
    value = function()
    if not inspect.isawaitable(value):
        return value
    if wait is not None:
        return wait(value)
    with Waiting() as alone:
        return alone(value)
