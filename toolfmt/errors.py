"""Exceptions and warnings of toolfmt.

Invalid input always raises a `ToolfmtError`. Its message is one line that names the file or value and how to fix it, so
the command line prints it unchanged. Model output never raises; it becomes events.
"""

from __future__ import annotations

import sys
from typing import Any, Literal, TypeAlias

__all__ = [
    "BadFormat",
    "BadMessages",
    "BadModelDirectory",
    "BadProfile",
    "BadTools",
    "BrokenPlugIn",
    "CannotConstrain",
    "CannotWrite",
    "LimitHit",
    "NoResponseTemplate",
    "NotDelivered",
    "RepeatedTool",
    "TemplateError",
    "ToolfmtError",
    "ToolsRenderedTwice",
    "UnknownFormat",
    "WorkerUnavailable",
]

FailureKind: TypeAlias = Literal["raised", "not-parsed", "not-rendered", "other"]
"""How a template failed: it called `raise_exception`, the engine could not parse or not render it, or another error."""
HAPPENED: dict[FailureKind, str] = {
    "raised": "the template raises",
    "not-parsed": "syntax error",
    "not-rendered": "does not render",
}
"""The kinds whose message quotes the template or the engine, with the text that precedes the quote."""


class ToolfmtError(Exception):
    """Base class of all errors for invalid input. The message is one line: what is wrong and how to fix it."""

    def __reduce__(self) -> tuple[Any, ...]:
        # By default, unpickling calls the class with `args`. If the class requires more, that fails, and a process pool
        # waits forever.
        return _restored, (type(self), self.args, self.__dict__)


def _restored(kind: type[ToolfmtError], args: tuple[Any, ...], attributes: dict[str, Any]) -> ToolfmtError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(attributes)
    return error


class UnknownFormat(ToolfmtError, LookupError):
    """No tool-call format has this name or alias."""


class BadFormat(ToolfmtError, ValueError):
    """Data does not define a valid format, or a format cannot be written as data.

    The message names the file, the member, and what is expected there.
    """


class BadTools(ToolfmtError, ValueError):
    """The tool definitions are not valid."""


class RepeatedTool(UserWarning):
    """A parser got two tools of the same name. It uses the first one."""


class BrokenPlugIn(UserWarning):
    """A format plug-in cannot be loaded or does not provide a valid format. It is skipped."""


class CannotWrite(ToolfmtError, ValueError):
    """The format cannot represent a call. The message names the call, the argument and the format."""


class CannotConstrain(ToolfmtError, ValueError):
    """A grammar cannot constrain these calls. The message names the format, the tool and the schema key."""


class NoResponseTemplate(ToolfmtError, ValueError):
    """A `response_template` of transformers cannot describe the format, or does not describe a format."""


class BadMessages(ToolfmtError, ValueError):
    """The messages are not a list of valid chat messages."""


class NotDelivered(ToolfmtError):
    """The template loses part of a request, whichever adaptations are tried. The message names the part."""


class ToolsRenderedTwice(ToolfmtError):
    """Raised if a finished prompt does not contain the tools in exactly one way."""


class NotHeld(ToolfmtError):
    """Internal: the worker does not have the requested model, or no longer has it.

    The caller then sends the model (`toolfmt.model.jobs`), so this error never leaves toolfmt.
    """


class BadModelDirectory(ToolfmtError):
    """A model cannot be read: a directory, a file in it, a GGUF file, a template, or a repository."""


class BadProfile(ToolfmtError):
    """A saved profile is invalid, is for other files or another toolfmt version, or must not be saved."""


class TemplateError(ToolfmtError):
    """A chat template does not compile or does not render.

    Args:
        message: The message of the exception.
        line: The line in the template (1-based), or None if unknown.
        kind: How it failed.
        engine_message: The original message of the engine, or of the template if it called `raise_exception`. It starts
            with the exception's name, except for syntax errors. The default is `message`.

    Attributes:
        line (int | None): The line in the template (1-based), or None if unknown.
        kind (FailureKind): How it failed.
        engine_message (str): The original message of the engine, or of the template.
    """

    def __init__(
        self, message: str, line: int | None = None, kind: FailureKind = "other", engine_message: str | None = None
    ) -> None:
        super().__init__(message)
        self.line = line
        self.kind = kind
        self.engine_message = message if engine_message is None else engine_message


class LimitHit(TemplateError):
    """Raised if a chat template exceeds a limit.

    `limit` is one of `source size`, `syntax tree`, `CPU time`, `memory` and `output`. It is `crash` if the worker
    crashed or returned nothing readable.
    """

    def __init__(self, message: str, limit: str, line: int | None = None, engine_message: str | None = None) -> None:
        super().__init__(message, line, engine_message=engine_message)
        self.limit = limit


class WorkerUnavailable(ToolfmtError):
    """Raised if the worker process cannot run a template now.

    It could not start, the system or another process ended it, or it reached the time limit. This depends on the
    machine and not on the template, so it never becomes a finding or a verdict.
    """


class FailedInProcess(ToolfmtError):
    """Raised if toolfmt itself failed in the worker process.

    `kind` is the built-in exception that was raised there, or empty. `places` are lines of toolfmt's code, the
    outermost call first. The worker process reports both.
    """

    def __init__(self, kind: str = "", places: tuple[str, ...] = ()) -> None:
        what = " at ".join(filter(None, (kind, places[-1].partition(" ")[0] if places else "")))
        super().__init__(
            f"toolfmt's process for templates failed{f' ({what})' if what else ''}, at no limit: a bug in toolfmt; "
            "please report it, with what `toolfmt report-bug` prints; --trusted (trusted=True) shows the error"
        )
        self.kind = kind
        self.places = places


OF_THE_PROCESS = frozenset({"CPU time", "crash"})
"""Limits that apply only to a template in a worker process."""


def json_fault(error: Exception) -> str:
    """Return why JSON cannot be read or written, without Python's own terms."""
    if isinstance(error, RecursionError):
        return "nested too deeply"
    if "set_int_max_str_digits" in str(error):
        return f"an integer of more than {sys.get_int_max_str_digits()} digits"
    return str(error)
