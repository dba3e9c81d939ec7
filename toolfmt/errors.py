"""The errors a caller of toolfmt can make it raise, and the two warnings.

Everything raised for bad input is a `ToolfmtError`: its text is one clear line that names the file or value and the
way out, so that the command line can print it as it is. Model output never raises; it becomes events.
"""

from __future__ import annotations

import sys
from typing import Literal, TypeAlias

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

FailureKind: TypeAlias = Literal["refused", "not-parsed", "not-rendered", "other"]
"""How a template failed: it refused (`raise_exception`), the engine could not read or not render it, or something else
was wrong."""
HAPPENED: dict[FailureKind, str] = {
    "refused": "the template raises",
    "not-parsed": "does not parse",
    "not-rendered": "does not render",
}
"""The kinds that come with words of the template or the engine, as a message tells them before these words."""


class ToolfmtError(Exception):
    """Bad input: the message is one line that names what is wrong and what to do."""


class UnknownFormat(ToolfmtError, LookupError):
    """No tool-call format has this name or alias."""


class BadFormat(ToolfmtError, ValueError):
    """A format that is given as data and is none; or one that cannot be said as data. The message names the file, the
    member and what is expected there."""


class BadTools(ToolfmtError, ValueError):
    """The tool definitions are not what a tool definition can be."""


class RepeatedTool(UserWarning):
    """Two tools of one name were given to a parser: the first counts."""


class BrokenPlugIn(UserWarning):
    """A package says that it brings formats, and what it brings is none, or cannot be loaded: it is left out."""


class CannotWrite(ToolfmtError, ValueError):
    """A call that the format has no way to carry; the message names the call, the argument and the format."""


class CannotConstrain(ToolfmtError, ValueError):
    """No grammar for these calls: the message names the format, the tool and the key that no grammar can be held to."""


class NoResponseTemplate(ToolfmtError, ValueError):
    """A format that a `response_template` of transformers cannot describe, or a template that describes none."""


class BadMessages(ToolfmtError, ValueError):
    """The messages are not a list of chat messages."""


class NotDelivered(ToolfmtError):
    """Something of a request that its template loses, however the conversation is adapted; the message names it."""


class ToolsRenderedTwice(ToolfmtError):
    """A finished prompt in which the tools do not stand by exactly one way."""


class NotHeld(ToolfmtError):
    """The process for templates is asked about a model that it was not given, or holds no more. Whoever asks gives it
    then (`toolfmt.model.jobs`), so that no caller meets this."""


class BadModelDirectory(ToolfmtError):
    """A model's place that cannot be read: a directory or a file in it, a GGUF file, a template, a repository."""


class BadProfile(ToolfmtError):
    """A saved profile that is none, or that was made of other files or by another version of toolfmt; or a profile that
    there is no use in saving.
    """


class TemplateError(ToolfmtError):
    """A chat template that does not compile or does not render.

    `line` is the line of the template (1-based) where it happened, or None where that is not known; `kind` says how it
    failed, and `own_words` what the engine said (the exception's name first, but for syntax errors), or the template
    where it refused.
    """

    def __init__(
        self, message: str, line: int | None = None, kind: FailureKind = "other", own_words: str | None = None
    ) -> None:
        super().__init__(message)
        self.line = line
        self.kind = kind
        self.own_words = message if own_words is None else own_words


class LimitHit(TemplateError):
    """A chat template that takes more than it is given; `limit` names what of: `source size`, `syntax tree`,
    `CPU time`, `memory`, `output` or, if the worker crashed or returned nothing that can be read, `crash`.
    """

    def __init__(self, message: str, limit: str, line: int | None = None, own_words: str | None = None) -> None:
        super().__init__(message, line, own_words=own_words)
        self.limit = limit


class WorkerUnavailable(ToolfmtError):
    """The worker process cannot run a template now: it cannot start, the system or another process ended it, or it
    reached the time limit. This depends on the machine, not on the template, so it never becomes a finding or a
    verdict.
    """


class FailedInProcess(ToolfmtError):
    """Toolfmt itself failed in the process for templates: `kind` is the built-in exception that was raised there, or
    empty, `places` are lines of toolfmt's code, the outermost call first. Both are what that process says.
    """

    def __init__(self, kind: str = "", places: tuple[str, ...] = ()) -> None:
        what = " at ".join(filter(None, (kind, places[-1].partition(" ")[0] if places else "")))
        super().__init__(
            f"toolfmt's process for templates failed{f' ({what})' if what else ''}, at no limit: a fault of toolfmt's; "
            "please report it, with what `toolfmt report-bug` prints; --trusted (trusted=True) shows the error"
        )
        self.kind = kind
        self.places = places


OF_THE_PROCESS = frozenset({"CPU time", "crash"})
"""Limits that only a template in a process of its own can hit."""


def json_fault(error: Exception) -> str:
    """Why JSON cannot be read or written, in words that do not speak of Python."""
    if isinstance(error, RecursionError):
        return "nested too deeply"
    if "set_int_max_str_digits" in str(error):
        return f"an integer of more than {sys.get_int_max_str_digits()} digits"
    return str(error)
