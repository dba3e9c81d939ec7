"""Check the arguments of `run` and of the functions that create models, so that errors name what the program passed."""

from __future__ import annotations

import inspect
from typing import Any

from toolfmt.agent.registry import ToolRegistry
from toolfmt.messages.tools import kind_of

_MAKERS = (
    "make one by from_openai(client, name), from_completions(create), from_stream(toolfmt.load(path), stream) or "
    "from_text(toolfmt.load(path), generate) of toolfmt.agent"
)


def registry_of(tools: Any) -> ToolRegistry:
    """Return a registry, or create one from a list of tools. Raises `TypeError` for anything else, and `BadTools`."""
    if isinstance(tools, (list, tuple)):
        return ToolRegistry(tools)
    if not isinstance(tools, ToolRegistry):
        raise TypeError(f"registry is a toolfmt.ToolRegistry or a list of its tools, not {kind_of(tools)}")
    return tools


def check_model_function(model: Any) -> None:
    """Raise `TypeError` if this is not a model function."""
    if not callable(model):
        raise TypeError(f"a model is a function of messages and definitions, not {kind_of(model)}; {_MAKERS}")


def check_model(model: Any, maker: str) -> None:
    """Raise `TypeError` if this cannot render prompts."""
    if not callable(getattr(model, "render", None)):
        raise TypeError(f"{maker} takes what toolfmt.load(path) returns, not {kind_of(model)}")


def check_function(function: Any, what: str) -> None:
    """Raise `TypeError` if this is not callable."""
    if not callable(function):
        raise TypeError(f"{what} is a function, not {kind_of(function)}")


def check_waited_for(returned: Any, what: str) -> None:
    """Raise `TypeError` for an async object."""
    later = hasattr(returned, "__aiter__") and not hasattr(returned, "__iter__")
    if later or inspect.isawaitable(returned):
        if inspect.iscoroutine(returned):
            returned.close()
        raise TypeError(
            f"{what} is async; give one that is not, and in an async program: await asyncio.to_thread(toolfmt.run, …)"
        )
