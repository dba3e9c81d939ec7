"""What all commands share: one-line errors, exit statuses, and checks of the standard streams.

`toolfmt.cli.commands` is built from it.
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
from typing import TYPE_CHECKING, Any, NoReturn

import click

from toolfmt.cli.completion import complete
from toolfmt.cli.output import check_printable, complain, printing_failed
from toolfmt.errors import BrokenPlugIn, ToolfmtError

if TYPE_CHECKING:
    from toolfmt.formats.tolerances import Tolerate

TRACEBACK = "TOOLFMT_TRACEBACK"
"""The environment variable that enables the traceback of an internal error."""
trusted_option = click.option("--trusted", is_flag=True, help="Run the template in this process, without limits.")


def runtime_names(typed: Sequence[str]) -> tuple[str, ...]:
    """Return the names of runtimes as reports write them. Raises `ToolfmtError` for an unknown one."""
    if not typed:
        return ()
    from toolfmt.inspect.runtimes.template_choice import RUNTIMES

    known = {name.lower(): name for name in RUNTIMES}
    unknown = next((name for name in typed if name.lower() not in known), None)
    if unknown is not None:
        raise ToolfmtError(f"no runtime is called {unknown!r}; known are {', '.join(RUNTIMES)}")
    return tuple(dict.fromkeys(known[name.lower()] for name in typed))


def _runtimes(ctx: click.Context, param: click.Parameter, typed: tuple[str, ...]) -> tuple[str, ...]:
    try:
        return runtime_names(typed)
    except ToolfmtError as error:
        raise click.BadParameter(str(error), ctx, param) from None


runtime_option = click.option(
    "--runtime",
    "runtimes",
    metavar="NAME",
    multiple=True,
    callback=_runtimes,
    help="Report only what concerns this runtime: vLLM, SGLang, llama.cpp, mlx-lm, mlx-swift-lm or transformers. "
    "Repeatable.",
)
config_option = click.option(
    "--config", "config_file", metavar="FILE", help="Use this configuration. [default: the nearest toolfmt.toml]"
)
isolated_option = click.option("--isolated", is_flag=True, help="Use no configuration.")
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_LONGEST_ERROR = 200
_LAST_STANDARD_FILE = 2
_OTHER_COLUMNS = 4
"""Columns of a command list in addition to the name and its description."""
_LONGEST = 1_000_000
"""Seconds. `poll`, which waits for a command, takes at most 2**31 milliseconds."""


class Command(click.Command):
    """A command that is named in all of its error messages, and whose parameters a shell can complete.

    click itself does not name the command if an option lacks its value.
    """

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
        check_printable()  # click would print nothing and report success
        return super().get_help(ctx)


class Commands(click.Group):
    """The command group. Every failure is one line and an exit status.

    `sections` are the headings of its help, each with the names of its commands in order. Commands in no section come
    last.
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
        limit = formatter.width - longest - _OTHER_COLUMNS
        descriptions = {name: self.commands[name].get_short_help_str(limit) for name in names}
        under = {
            heading: [name for name in self.sections[heading] if name in descriptions] for heading in self.sections
        }
        under["Commands"] = [name for name in names if not any(name in of for of in under.values())]
        for heading, of in under.items():
            if of:
                with formatter.section(heading):
                    formatter.write_dl([(name.ljust(longest), descriptions[name]) for name in of])

    def main(self, *args: Any, **kwargs: Any) -> NoReturn:
        kwargs["standalone_mode"] = False
        with _standard_files_taken(), _one_line_warnings():
            sys.exit(_status(lambda: super(Commands, self).main(*args, **kwargs)))

    def get_help(self, ctx: click.Context) -> str:
        check_printable()
        return super().get_help(ctx)


@contextmanager
def _one_line_warnings() -> Iterator[None]:
    """Print the warning about a skipped plug-in like other messages. Other warnings are printed by Python."""
    before = warnings.showwarning

    def show_warning(message: Warning | str, category: type[Warning], *more: Any, **also: Any) -> None:
        if issubclass(category, BrokenPlugIn):
            complain(str(message))
        else:
            before(message, category, *more, **also)

    warnings.showwarning = show_warning
    try:
        yield
    finally:
        warnings.showwarning = before


@contextmanager
def _standard_files_taken() -> Iterator[None]:
    """Occupy the numbers of closed standard files, so that another opened file does not get them.

    Else the output of a library would be written into that file.
    """
    taken = []
    with suppress(OSError):  # there is no such device, or no more files can be opened
        while (descriptor := os.open(os.devnull, os.O_RDWR)) <= _LAST_STANDARD_FILE:
            taken.append(descriptor)
        os.close(descriptor)
    try:
        yield
    finally:
        for descriptor in taken:
            os.close(descriptor)


def _status(run: Callable[[], Any]) -> int:
    """Return the exit status of a run: 2 if standard error cannot be written, whatever the status would be."""
    status = _status_of(run)
    return 2 if printing_failed() else status


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
        message = error.format_message().rstrip(".")
        return complain(f"{message}{' See' if message.endswith('?') else '; see'} {command} --help")
    except click.ClickException as error:
        return complain(error.format_message())
    except (click.Abort, KeyboardInterrupt):
        return 130
    except (BrokenPipeError, SystemExit):  # click turns a broken pipe into an exit
        return _no_reader()
    except OSError as error:
        if error.filename is not None:  # an unexpected failure of a file
            return _internal_error(error)
        if sys.platform == "win32" and error.errno == EINVAL:  # a broken pipe on Windows
            return _no_reader()
        return complain(f"standard output cannot be written ({error.strerror or error}); look at where it goes")
    except Exception as error:  # noqa: BLE001 - an internal error is reported in one line too, with how to report it
        return _internal_error(error)


def _internal_error(error: Exception) -> int:
    """Return a line about an unexpected exception, or the traceback if the environment variable is set."""
    from toolfmt.cli.bug_report.errors import where

    if os.environ.get(TRACEBACK):
        traceback.print_exception(error)
    message = " ".join(str(error).split())[:_LONGEST_ERROR]
    place = where(error)
    summary = f"{type(error).__name__}{': ' if message else ''}{message}{f', {place}' if place else ''}"
    return complain(
        f"a bug in toolfmt ({summary}); please report it, with what `toolfmt report-bug` prints; "
        f"{TRACEBACK}=1 shows the traceback"
    )


def _no_reader() -> int:
    """Handle a reader that closed the output. What the interpreter flushes at exit goes to the null device."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


class Count(click.IntRange):
    """An integer of at least 1, with an error message that states this."""

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


class Tolerances(click.ParamType):  # type: ignore[type-arg]  # generic only in later versions of click
    """The value of `tolerate`: `all`, `none`, or names separated by commas."""

    name = "names"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Tolerate:
        if value in ("all", "none"):
            both: Tolerate = value
            return both
        from toolfmt.formats.tolerances import allowed_tolerances

        names = [name.strip() for name in value.split(",")]
        try:
            allowed_tolerances(names, strict=False)
        except ValueError as error:
            self.fail(str(error), param, ctx)
        return names


class Seconds(click.FloatRange):
    """A number of seconds above 0, or at least `least`, up to the longest time that all systems can wait."""

    def __init__(self, least: float = 0) -> None:
        super().__init__(min=least, min_open=not least)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        seconds = math.nan
        with suppress(ValueError):
            seconds = float(value)
        least = self.min or 0
        if not least <= seconds <= _LONGEST or seconds == 0:
            from_what = f"from {least:g}" if least else "above 0"
            message = f"{str(value)[:20]!r} is not a number of seconds {from_what} and up to {_LONGEST:,}"
            self.fail(message, param, ctx)
        return seconds


def temperature(ctx: click.Context, param: click.Parameter, value: str) -> float | None:
    """Parse a number of at least 0, or `unset`, which becomes None. The callback of an option."""
    if value == "unset":
        return None
    with suppress(ValueError):
        if 0 <= (number := float(value)) < math.inf:
            return number
    raise click.BadParameter(f"{value[:20]!r} is neither a number of at least 0 nor the word unset", ctx, param)
