"""The outcome of a call, and the message for the model.

A message never contains a traceback. Of a tool it contains only the return value, or the type and message of its
exception, without memory addresses.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from toolfmt.agent.results import sendable, without_addresses
from toolfmt.messages.message import Rejected
from toolfmt.messages.rejections import rejection_message

ExecutionOutcome: TypeAlias = Literal["result", "unknown_tool", "invalid_arguments", "exception", "rejected"]
_LONGEST_NAME = 80
_LONGEST_ERROR = 1000


@dataclass(frozen=True)
class Execution:
    """A dispatched call.

    Attributes:
        outcome: `result` only if the tool ran and returned.
        name: The name of the tool.
        message: The message for the model, to be sent unchanged.
        value: The return value of the tool, only for the program.
        error: The exception of the tool, only for the program.
    """

    outcome: ExecutionOutcome
    name: str
    message: dict[str, Any]
    value: Any = None
    error: BaseException | None = None


def unknown_tool(name: str, known: Iterable[str]) -> str:
    return f"No tool is called {_short(name)!r}. {_listed(known)}"


def unfit_arguments(name: str, problem: str) -> str:
    return f"{name} was not executed, because its arguments are not valid: {problem}"


def raised(name: str, error: BaseException) -> str:
    """Return the type and message of a tool's exception."""
    try:
        message = str(error)
    except Exception:  # noqa: BLE001  converting the tool's exception to text may fail
        message = ""
    message = without_addresses(message)
    error_text = f"{type(error).__name__}: {message}" if message else type(error).__name__
    error_text = error_text if len(error_text) <= _LONGEST_ERROR else error_text[:_LONGEST_ERROR] + "…"
    return sendable(f"{name} failed: {error_text}")


def rejection(rejected: Rejected, known: Iterable[str]) -> str:
    """Return the message of a rejected call, with the names of the tools."""
    message = rejected.message or rejection_message(rejected.reason, name=rejected.name or "")
    if not rejected.message or rejected.reason != "undeclared_tool":  # that message lists the tools
        message += f" {_listed(known)}"
    return f"{message} Write the complete call again, or answer without it."


def _listed(known: Iterable[str]) -> str:
    names = ", ".join(known)
    return f"The tools are: {names}." if names else "There are no tools."


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else name[:_LONGEST_NAME] + "…"
