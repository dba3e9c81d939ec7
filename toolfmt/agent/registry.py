"""Tools that a model can call: their definitions, and how to execute them.

A call is executed only if it was parsed completely, names a tool of the registry, and its arguments are JSON that
matches the tool's schema. For a Python tool, they must match its type hints too. Any other call, and an exception of a
tool, becomes a message to the model. Nothing here repairs arguments.
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
from toolfmt.agent.results import result_text
from toolfmt.agent.validation import invalid_arguments, invalid_schema
from toolfmt.errors import BadTools
from toolfmt.messages.message import Rejected
from toolfmt.messages.python_tools import is_python_tool
from toolfmt.messages.tools import canonical_tools

_Ready: TypeAlias = Callable[[dict[str, Any], object], Callable[[], Any]]
"""Takes valid arguments, parsed and original. Returns a callable that executes the call."""
_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
Made = TypeVar("Made", bound=Callable[..., Any])


@dataclass(frozen=True)
class _Tool:
    schema: Mapping[str, Any]
    ready: _Ready


class ToolRegistry:
    """The tools of a program.

        registry = ToolRegistry([get_weather, (Booking, book), (definition, function)])

    Args:
        tools: Each item is an argument of `add`, or a tuple of both. Raises what `add` raises.
    """

    def __init__(self, tools: Iterable[Any] = ()) -> None:
        self._definitions: list[dict[str, Any]] = []
        self._tools: dict[str, _Tool] = {}
        for tool in tools:
            self.add(*tool) if isinstance(tool, tuple) else self.add(tool)

    def add(self, tool: Any, call: Callable[..., Any] | None = None) -> None:
        """Add a tool, and the function that executes it; either may be `async`.

        - A function with type hints or a bound method is called itself, with its arguments by name. They are converted
          to its type hints (pydantic models, dates, …). Missing arguments get the function's defaults.
        - For a pydantic class or a dataclass, `call` gets an instance; without `call`, the instance is called.
        - For a definition in any format of `toolfmt.messages.tools`, `call` gets the parsed JSON arguments by name.

        Arguments that the schema does not name are rejected unless it allows them (`additionalProperties`). In a Python
        tool, this applies to nested models and dataclasses too. Dates, times and durations are those of JSON Schema
        (ISO 8601). Values are converted only if they stay equal (`3.0` is an int).

        Args:
            tool: A function, a class, or a definition.
            call: The function that executes the call.

        Raises:
            BadTools: The tool, its name or its schema is not valid, there is no function to call, or no call can
                satisfy the function.
            ToolfmtError: The extra `validate` is not installed.
        """
        made = canonical_tools([*self._definitions, tool])[-1]
        name = made["function"]["name"]
        where = f"tools[{len(self._definitions)}] ({name})"
        parameters = made["function"].get("parameters", {})
        schema = closed(closed_within(parameters) if is_python_tool(tool) else parameters)
        if problem := invalid_schema(schema):
            raise BadTools(f"{where}: its parameters are not a JSON Schema: {problem}")
        ready = _ready(tool, call, schema, where)
        self._definitions.append(made)
        self._tools[name] = _Tool(schema, ready)

    def tool(self, made: Made) -> Made:
        """Decorator (`@registry.tool`) that adds a function, or a class whose instances can be called.

        Args:
            made: The function or class, which is returned unchanged.
        """
        self.add(made)
        return made

    @property
    def definitions(self) -> list[dict[str, Any]]:
        """The definitions in OpenAI's format, in the order they were added, for a prompt, parser or request."""
        return list(self._definitions)

    def dispatch(self, call: Any) -> dict[str, Any]:
        """Execute a call, and return the message with its result: `execute(call).message`.

        Args:
            call: As for `execute`.
        """
        return self.execute(call).message

    def execute(self, call: Any, wait: Waiting | None = None) -> Execution:
        """Execute a call, and return its outcome.

        An exception of a tool becomes the message, except those that end a program (`KeyboardInterrupt`, `SystemExit`).

        Args:
            call: A `toolfmt.ToolCall`; a call of the packages of OpenAI (both APIs), Anthropic, Ollama or LangChain, as
                an object or a mapping; or a rejected call (`Message.rejected`), which is never executed.
            wait: Awaits an `async` tool, if several calls share a loop.

        Returns:
            The message is `{"role": "tool", "tool_call_id", "name", "content"}`, without the id if the call has none.
                For a rejected call, which has no id that a result could name, it is a user message.

        Raises:
            TypeError: It is not a call.
        """
        if isinstance(call, Rejected):
            message = {"role": "user", "content": rejection(call, self._tools)}
            return Execution("rejected", call.name or "", message)
        id, name, arguments = parts_of_call(call)

        def ended(outcome: ExecutionOutcome, content: str, **more: Any) -> Execution:
            answers = {"tool_call_id": id} if id else {}
            return Execution(outcome, name, {"role": "tool", **answers, "name": name, "content": content}, **more)

        tool = self._tools.get(name)
        if tool is None:
            return ended("unknown_tool", unknown_tool(name, self._tools))
        read, problem = read_arguments(arguments)
        problem = problem or invalid_arguments(read, tool.schema)
        if problem:
            return ended("invalid_arguments", unfit_arguments(name, problem))
        try:
            value = _called(tool.ready(read, arguments), wait)
            return ended("result", result_text(value), value=value)
        except Unfit as error:
            return ended("invalid_arguments", unfit_arguments(name, str(error)))
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001  a tool may raise anything
            return ended("exception", raised(name, error), error=error)


def _check_taken(call: Callable[..., Any], schema: Mapping[str, Any], where: str) -> None:
    """Raise `BadTools` for a function that fails at every call: it has parameters that cannot be passed by name."""
    try:
        needed = [it for it in inspect.signature(call).parameters.values() if it.default is it.empty]
    except (TypeError, ValueError):  # functions written in C may have no signature
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
