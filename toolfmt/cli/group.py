"""What every command has in common: its failures are one line and an exit status, and the standard files it finds.

`toolfmt.cli.commands` is made of it.
"""

from __future__ import annotations

import math
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from errno import EINVAL
from types import MappingProxyType
from typing import Any, NoReturn

import click

from toolfmt.cli.completion import complete
from toolfmt.cli.output import check_printable, complain, untold
from toolfmt.errors import BrokenPlugIn, ToolfmtError

TRACEBACK = "TOOLFMT_TRACEBACK"
"""The environment variable that asks for the traceback of a fault."""
trusted_option = click.option("--trusted", is_flag=True, help="Run the template in this process, without limits.")
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_LONGEST_SAID = 200
_LAST_STANDARD_FILE = 2
_BESIDE_A_COMMAND = 4
"""Columns of a list of commands that neither a name nor what it does takes: before and behind the name."""
_LONGEST = 1_000_000
"""Seconds: `poll`, by which a command is waited for, takes no more than 2**31 milliseconds."""


class Command(click.Command):
    """A command whose every failure names it: click does not say whose option lacks its value. A shell can complete
    what its parameters take."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for param in self.params:
            complete(param)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            error.ctx = error.ctx or ctx
            raise

    def get_help(self, ctx: click.Context) -> str:
        check_printable()  # click prints nothing then, and calls it done
        return super().get_help(ctx)


class Commands(click.Group):
    """The command group, whose every failure is one line and a status.

    `sections` are the headings under which its help lists commands, each with their names in order; those that stand in
    none come last.
    """

    command_class = Command
    group_class = type

    def __init__(self, *args: Any, sections: Mapping[str, Sequence[str]] = MappingProxyType({}), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.sections = sections

    def list_commands(self, ctx: click.Context) -> list[str]:
        listed = [name for names in self.sections.values() for name in names if name in self.commands]
        return [*listed, *sorted(self.commands.keys() - set(listed))]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        names = [name for name in self.list_commands(ctx) if not self.commands[name].hidden]
        longest = max(map(len, names))
        limit = formatter.width - longest - _BESIDE_A_COMMAND
        told = {name: self.commands[name].get_short_help_str(limit) for name in names}
        under = {heading: [name for name in self.sections[heading] if name in told] for heading in self.sections}
        under["Commands"] = [name for name in names if not any(name in of for of in under.values())]
        for heading, of in under.items():
            if of:
                with formatter.section(heading):
                    formatter.write_dl([(name.ljust(longest), told[name]) for name in of])

    def main(self, *args: Any, **kwargs: Any) -> NoReturn:
        kwargs["standalone_mode"] = False
        with _standard_files_taken(), _told_in_a_line():
            sys.exit(_status(lambda: super(Commands, self).main(*args, **kwargs)))

    def get_help(self, ctx: click.Context) -> str:
        check_printable()
        return super().get_help(ctx)


@contextmanager
def _told_in_a_line() -> Iterator[None]:
    """A plug-in that is left out is told as everything else is; other warnings are those of Python."""
    before = warnings.showwarning

    def tell(message: Warning | str, category: type[Warning], *more: Any, **also: Any) -> None:
        if issubclass(category, BrokenPlugIn):
            complain(str(message))
        else:
            before(message, category, *more, **also)

    warnings.showwarning = tell
    try:
        yield
    finally:
        warnings.showwarning = before


@contextmanager
def _standard_files_taken() -> Iterator[None]:
    """Where a standard file is closed, nothing else that is opened gets its number: what a library prints would be
    written into that."""
    taken = []
    with suppress(OSError):  # no such device, or no more files: then there is nothing to be taken
        while (descriptor := os.open(os.devnull, os.O_RDWR)) <= _LAST_STANDARD_FILE:
            taken.append(descriptor)
        os.close(descriptor)
    try:
        yield
    finally:
        for descriptor in taken:
            os.close(descriptor)


def _status(run: Callable[[], Any]) -> int:
    """The exit status of what is run: 2 where standard error cannot be written, whatever the status would be."""
    status = _status_of(run)
    return 2 if untold() else status


def _status_of(run: Callable[[], Any]) -> int:
    try:
        status = run()
        if sys.stdout is not None:
            sys.stdout.flush()
        return status if isinstance(status, int) else 0
    except ToolfmtError as error:
        return complain(str(error))
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else "toolfmt"
        return complain(f"{error.format_message().rstrip('.')}; see {command} --help")
    except click.ClickException as error:
        return complain(error.format_message())
    except (click.Abort, KeyboardInterrupt):
        return 130
    except (BrokenPipeError, SystemExit):  # click makes a broken pipe an exit
        return _no_reader()
    except OSError as error:
        if error.filename is not None:  # a file that nobody expected to fail
            return _own_fault(error)
        if sys.platform == "win32" and error.errno == EINVAL:  # what Windows calls a broken pipe
            return _no_reader()
        return complain(f"standard output cannot be written ({error.strerror or error}); look at where it goes")
    except Exception as error:  # noqa: BLE001 - a fault of toolfmt's is told in a line too, and where it can be reported
        return _own_fault(error)


def _own_fault(error: Exception) -> int:
    """A line about an exception that nobody expected; all of it where the environment asks for that."""
    from toolfmt.cli.bug_report.errors import where

    if os.environ.get(TRACEBACK):
        traceback.print_exception(error)
    said = " ".join(str(error).split())[:_LONGEST_SAID]
    place = where(error)
    told = f"{type(error).__name__}{': ' if said else ''}{said}{f', {place}' if place else ''}"
    return complain(
        f"a fault of toolfmt's ({told}); please report it, with what `toolfmt report-bug` prints; "
        f"{TRACEBACK}=1 shows the traceback"
    )


def _no_reader() -> int:
    """Whoever read the output has enough of it. The interpreter flushes once more at its end, into nothing."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


class Count(click.IntRange):
    """A whole number of at least 1, whose failure says so."""

    def __init__(self) -> None:
        super().__init__(min=1)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            count = int(value)
        except ValueError:
            count = 0
        if count < 1:
            self.fail(f"{str(value)[:20]!r} is not a whole number of at least 1", param, ctx)
        return count


class Seconds(click.FloatRange):
    """A number of seconds above 0, or from `least` on, up to the longest time that every system can wait for."""

    def __init__(self, least: float = 0) -> None:
        super().__init__(min=least, min_open=not least)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        seconds = math.nan
        with suppress(ValueError):
            seconds = float(value)
        least = self.min or 0
        if not least <= seconds <= _LONGEST or seconds == 0:
            from_what = f"from {least:g}" if least else "above 0"
            told = f"{str(value)[:20]!r} is not a number of seconds {from_what} and up to {_LONGEST:,}"
            self.fail(told, param, ctx)
        return seconds


def temperature(ctx: click.Context, param: click.Parameter, value: str) -> float | None:
    """A number from 0 on, or `unset`, which is None; the callback of an option."""
    if value == "unset":
        return None
    with suppress(ValueError):
        if 0 <= (number := float(value)) < math.inf:
            return number
    raise click.BadParameter(f"{value[:20]!r} is neither a number from 0 on nor unset", ctx, param)
