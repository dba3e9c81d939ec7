"""Shell completion for options and arguments, based on their metavars.

`toolfmt.cli.group` sets the type of every parameter of every command from here. click generates the scripts for bash,
zsh and fish (docs/install.md). Nothing here prints or raises; if nothing matches, the completion is empty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import click
from click.shell_completion import CompletionItem
from click.types import StringParamType

Completer = Callable[[str], list[CompletionItem]]
"""Returns the possible completions of partial input."""


class Completed(StringParamType):
    """A string as typed, which a shell can complete."""

    def __init__(self, completer: Completer) -> None:
        self._completer = completer

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return self._completer(incomplete)


def complete(param: click.Parameter) -> None:
    """Enable completion for the parameter if its metavar is known."""
    completer = _COMPLETERS.get((param.metavar or "").strip("[]."))
    if completer is not None and param.type is click.STRING:
        param.type = Completed(completer)


def _files(incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(incomplete, type="file")]


def _directories(incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(incomplete, type="dir")]


def _formats(incomplete: str) -> list[CompletionItem]:
    from toolfmt.formats import formats

    choices = [(name, ", ".join(format.families)) for format in formats() for name in (format.name, *format.aliases)]
    return _beginning(incomplete, choices)


def _formats_or_files(incomplete: str) -> list[CompletionItem]:
    return _formats(incomplete) or _files(incomplete)  # a shell takes one kind at a time


def _codes(incomplete: str) -> list[CompletionItem]:
    from toolfmt.inspect.checks import CHECKS, code, name

    upper = incomplete.upper() if incomplete.lower().startswith("tf") else incomplete  # TF012 is also found as tf012
    choices = [(code(check), name(check)) for check in CHECKS]
    return _beginning(upper, choices) or _beginning(incomplete, ((name, code) for code, name in choices))


def _listed_codes(incomplete: str) -> list[CompletionItem]:
    """Complete the last of several comma-separated values."""
    before, comma, last = incomplete.rpartition(",")
    return [CompletionItem(before + comma + item.value, help=item.help) for item in _codes(last)]


def _output_formats(incomplete: str) -> list[CompletionItem]:
    from toolfmt.cli.output_targets import FORMATS

    _, equals, file = incomplete.partition("=")
    return _files(file) if equals else [CompletionItem(name) for name in FORMATS if name.startswith(incomplete)]


def _beginning(incomplete: str, choices: Iterable[tuple[str, str]]) -> list[CompletionItem]:
    """Return the values with this prefix and their descriptions, one line each, whatever a plug-in contains."""
    return [
        CompletionItem(value, help=" ".join(what.split())) for value, what in choices if value.startswith(incomplete)
    ]


_COMPLETERS: dict[str, Completer] = {
    "A": _files,
    "B": _files,
    "CODE": _codes,
    "CODES": _listed_codes,
    "DIR": _directories,
    "FILE": _files,
    "FORMAT[=FILE": _output_formats,
    "MODEL": _files,
    "MODEL|FORMAT|FILE": _formats_or_files,
    "NAME|FILE": _formats_or_files,
    "TARGET": _formats_or_files,
}
