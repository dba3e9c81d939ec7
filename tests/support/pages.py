"""The pages that a person reads, README and `docs/`: the content of their code blocks, and the expected content.

`as_it_is(page)` is a page with every current output: of a command after `<!-- output of: toolfmt … -->`, of Python
after `<!-- output of the Python above -->`, and each table of figures (`benchmarks/page.py`) after `<!-- table: NAME
-->`. `command_lines` and `command_problem` are for commands that cannot be run here. Contains no test.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import click
from click.testing import CliRunner

from benchmarks.page import TABLE, results, with_tables
from toolfmt.cli.commands import main

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
PAGES = [README, *sorted(ROOT.glob("docs/**/*.md"))]

_FENCED = re.compile(
    r"(?:^ *<!-- ([^\n]*) -->\n)?^( *)```(\w*)[^\n]*\n(.*?)^\2```$",
    re.DOTALL | re.MULTILINE,
)
_INLINE = re.compile(r"(?<!`)`(toolfmt\s[^`]+)`(?!`)")
_SHOWN = re.compile(r"(<!-- output of: (.*?) -->\n```(text|console)\n)(.*?)(```\n)", re.DOTALL)
_PYTHON = re.compile(
    r"```python\n((?:(?!```).)*)```\n(?:(?!```).)*(<!-- output of the Python above -->\n```text\n)(.*?)(```\n)",
    re.DOTALL,
)


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def run(command: str) -> str:
    """What a command of a page prints; both streams, as a terminal would show them."""
    program, *arguments = shlex.split(command)
    assert program == "toolfmt"
    with contextlib.chdir(ROOT):
        terminal = CliRunner(env={"COLUMNS": "100", "NO_COLOR": "1"})
        return terminal.invoke(main, arguments, prog_name=program).output


def run_python(code: str, folder: Path = ROOT) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.chdir(folder):
        exec(compile(code, "a page", "exec"), {})
    return printed.getvalue()


def as_it_is(page: Path) -> str:
    """The page's text with every output and every table as it is now."""

    def output(found: re.Match[str]) -> str:
        shown = run(found[2])
        prompt = f"$ {found[2]}\n" if found[3] == "console" else ""
        return found[1] + prompt + shown + ("" if shown.endswith("\n") else "\n") + found[5]

    def python(found: re.Match[str]) -> str:
        return found[0][: found.start(3) - found.start(0)] + run_python(found[1]) + found[4]

    return with_tables(_PYTHON.sub(python, _SHOWN.sub(output, text_of(page))), results())


def compared(text: str) -> int:
    """How many outputs and tables of a page are compared with what is."""
    return sum(len(kind.findall(text)) for kind in (_SHOWN, _PYTHON, TABLE))


# --- commands


def blocks(text: str) -> Iterator[tuple[str, str, str]]:
    """The fenced blocks of a page: the comment right before each, or nothing; its language; its text."""
    for found in _FENCED.finditer(text):
        yield found[1] or "", found[3], dedent(found[4])


def command_lines(text: str) -> Iterator[str]:
    """Every command line of toolfmt in a page: in its blocks, at a prompt or alone, and within its sentences, which may
    name an option without a value.
    """
    for _, language, block in blocks(text):
        if language in {"", "console", "text", "sh", "bash"}:
            joined = block.replace("\\\n", " ")
            yield from (
                line.removeprefix("$ ") for line in joined.splitlines() if re.match(r"(\$ .*\b)?toolfmt ", line)
            )
    for found in _INLINE.finditer(_FENCED.sub("", text)):
        line = " ".join(found[1].split())
        yield f"{line} VALUE" if line.rsplit(" ", 1)[1].startswith("-") else line


def arguments_of(line: str) -> Iterator[list[str]]:
    """The arguments of each toolfmt that a line of a shell starts."""
    words = shlex.shlex(line, posix=True, punctuation_chars="|&;<>")
    words.whitespace_split = True
    parts: list[list[str]] = [[]]
    for word in words:
        if set(word) <= set("|&;<>"):
            parts.append([])
        else:
            parts[-1].append(word)
    for part in parts:
        names = [word.rsplit("/", 1)[-1] for word in part]
        if "toolfmt" in names and "install" not in names:
            yield part[names.index("toolfmt") + 1 :]


def command_problem(arguments: list[str]) -> str | None:
    """The error that toolfmt would report for a command line without reading its files: an unknown command or option,
    an option without its value, an invalid choice. Words in capitals match anything.
    """
    command: click.Command = main
    context = click.Context(main, info_name="toolfmt")
    while isinstance(command, click.Group) and arguments and not arguments[0].startswith("-"):
        name, *arguments = arguments
        below = command.get_command(context, name)
        if below is None:
            return f"no command {name}"
        command, context = below, click.Context(below, info_name=name, parent=context)
    try:
        given, *_ = command.make_parser(context).parse_args(list(arguments))
    except click.UsageError as error:
        return error.format_message()
    for parameter in command.params:
        values = given.get(parameter.name or "")
        for value in values if isinstance(values, list | tuple) else [values]:
            if isinstance(parameter.type, click.Choice) and isinstance(value, str) and not value.isupper():
                if value not in parameter.type.choices:
                    return f"{parameter.opts[0]} {value}: none of {', '.join(parameter.type.choices)}"
    return None
