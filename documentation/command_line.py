"""The page of the command line, from click's own data of every command."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

import click

from documentation.markdown import code, inline, literal, prose, span, table
from toolfmt.cli.commands import main

_WIDE = 90
_PAGE = re.compile(r"\bdocs/(\w+\.md)\b")
_STATUS = re.compile(r"^Exit status: (.*)$", re.DOTALL)


def pages() -> dict[str, str]:
    """The page by its path in the site."""
    root = click.Context(main, info_name="toolfmt", terminal_width=_WIDE)
    parts = [_section(command, context) for command, context in _commands(main, root)]
    head = (
        f"# Command line\n\n{prose(_help(main))}\n\n"
        "Every command takes `--help`. A failure is one line on standard error, with the way out, and exit status 2; "
        "interrupted, the status is 130. `toolfmt --version` prints the version.\n"
    )
    return {"reference/command_line.md": "\n".join([head, *parts])}


def _commands(group: click.Group, context: click.Context) -> Iterator[tuple[click.Command, click.Context]]:
    """Every command with its context; those of groups after the group."""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is None or command.hidden:
            continue
        inner = click.Context(command, info_name=name, parent=context, terminal_width=_WIDE)
        yield command, inner
        if isinstance(command, click.Group):
            yield from _commands(command, inner)


def _section(command: click.Command, context: click.Context) -> str:
    usage = " ".join(context.command.get_usage(context).split()).removeprefix("Usage: ")
    help_text = _help(command)
    options = [_option(param) for param in command.params if isinstance(param, click.Option) and not param.hidden]
    listed = table(("option", "what it does"), options) if options else ""
    return f"## {literal(context.command_path)}\n\n{code(usage)}\n{prose(help_text)}\n\n{listed}"


def _help(command: click.Command) -> str:
    """The help text, in paragraphs; the exit statuses in bold letters, pages of `docs/` as
    links."""
    paragraphs = inspect.cleandoc(command.help or "").replace("\b\n", "").split("\n\n")
    text = "\n\n".join(_STATUS.sub(r"**Exit status:** \1", paragraph) for paragraph in paragraphs)
    return _PAGE.sub(r"[\1](../\1)", text)


def _option(option: click.Option) -> tuple[str, str]:
    """An option's syntax and description: its help text, its choices, its default."""
    names = [*option.opts, *option.secondary_opts]
    metavar = "" if option.is_flag else f" {_value(option)}"
    extra = []
    if option.required:
        extra.append("required")
    if option.show_default and not option.is_flag and option.default is not None:
        extra.append(f"default {span(str(option.default))}")
    if option.show_envvar and isinstance(option.envvar, str):
        extra.append(f"else from the environment's {span(option.envvar)}")
    description = inline(option.help or _CHOICES.get(option.name or "", "")) + (
        f" ({', '.join(extra)})" if extra else ""
    )
    return span(", ".join(names) + metavar), description


_CHOICES = {"strategy": "How tools go in; auto decides by what the template was shown to do."}
"""Options without a description in `--help`, because their name and choices explain them."""


def _value(option: click.Option) -> str:
    if isinstance(option.type, click.Choice):
        return "|".join(map(str, option.type.choices))
    return option.metavar or option.type.name.upper()
