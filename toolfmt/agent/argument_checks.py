"""What a program hands to `run` and to the makers of models, checked where it is handed over: a wrong one otherwise
fails far within, in words that name nothing the program wrote."""

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
    """A registry as it is, one of a list of tools; raises `TypeError` for anything else, and `BadTools`."""
    if isinstance(tools, (list, tuple)):
        return ToolRegistry(tools)
    if not isinstance(tools, ToolRegistry):
        raise TypeError(f"registry is a toolfmt.ToolRegistry or a list of its tools, not {kind_of(tools)}")
    return tools


def check_asked(model: Any) -> None:
    """Raises `TypeError` for what cannot be asked for an answer."""
    if not callable(model):
        raise TypeError(f"a model is a function of messages and definitions, not {kind_of(model)}; {_MAKERS}")


def check_model(model: Any, maker: str) -> None:
    """Raises `TypeError` for what renders no prompt."""
    if not callable(getattr(model, "render", None)):
        raise TypeError(f"{maker} takes what toolfmt.load(path) returns, not {kind_of(model)}")


def check_function(function: Any, what: str) -> None:
    """Raises `TypeError` for what cannot be called."""
    if not callable(function):
        raise TypeError(f"{what} is a function, not {kind_of(function)}")


def check_waited_for(returned: Any, what: str) -> None:
    """Raises `TypeError` for what only an async program can wait for."""
    later = hasattr(returned, "__aiter__") and not hasattr(returned, "__iter__")
    if later or inspect.isawaitable(returned):
        if inspect.iscoroutine(returned):
            returned.close()
        raise TypeError(
            f"{what} is async; give one that is not, and in an async program: await asyncio.to_thread(toolfmt.run, …)"
        )
