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


def _files(begun: str) -> list[CompletionItem]:
    return [CompletionItem(begun, type="file")]


def _directories(begun: str) -> list[CompletionItem]:
    return [CompletionItem(begun, type="dir")]


def _formats(begun: str) -> list[CompletionItem]:
    from toolfmt.formats import formats

    told = [(name, ", ".join(format.families)) for format in formats() for name in (format.name, *format.aliases)]
    return _beginning(begun, told)


def _formats_or_files(begun: str) -> list[CompletionItem]:
    return _formats(begun) or _files(begun)  # a shell takes one kind at a time


def _codes(begun: str) -> list[CompletionItem]:
    from toolfmt.inspect.checks import CHECKS, code, name

    upper = begun.upper() if begun.lower().startswith("tf") else begun  # TF012 is also found as tf012
    told = [(code(check), name(check)) for check in CHECKS]
    return _beginning(upper, told) or _beginning(begun, ((name, code) for code, name in told))


def _listed_codes(begun: str) -> list[CompletionItem]:
    """Complete the last of several comma-separated values."""
    before, comma, last = begun.rpartition(",")
    return [CompletionItem(before + comma + item.value, help=item.help) for item in _codes(last)]


def _output_formats(begun: str) -> list[CompletionItem]:
    from toolfmt.cli.output_targets import FORMATS

    _, equals, file = begun.partition("=")
    return _files(file) if equals else [CompletionItem(name) for name in FORMATS if name.startswith(begun)]


def _beginning(begun: str, told: Iterable[tuple[str, str]]) -> list[CompletionItem]:
    """Return the values with this prefix and their descriptions, one line each, whatever a plug-in contains."""
    return [CompletionItem(value, help=" ".join(what.split())) for value, what in told if value.startswith(begun)]


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
