"""Formats as text, from data: the registry as a list, and the page of one. `toolfmt.cli.commands` calls it."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from toolfmt.cli.printing.control_characters import visible
from toolfmt.cli.printing.findings import reflowed
from toolfmt.cli.printing.format_record import example
from toolfmt.cli.printing.layout import DOT, GLUE, UNWRAPPED, grid, printed, spaced
from toolfmt.formats import ToolCallFormat
from toolfmt.formats.runtime_parsers import DERIVED


def formats_text(formats: Sequence[ToolCallFormat], width: int, colour: bool) -> str:
    """Return the registry: each format with its models, an example call (`⏎` for a newline), and its other names."""
    parts: list[Text | Table] = []
    for format in formats:
        table = Table.grid(padding=(0, 2, 0, 0))
        table.add_column("format", style="bold", no_wrap=True, width=max(len(format.name) for format in formats))
        table.add_column("what", overflow="fold")
        call = visible(example(format, short=True).replace("\n", "⏎"))
        families, parsers = visible(", ".join(format.families)), _runtime_parsers(format)
        for name, line in ((format.name, families), ("", call), ("", parsers)):
            table.add_row(name, Text(line, "cyan" if line is call else ""))
        parts.append(table)
    return printed(spaced(parts), width, colour)


def format_text(format: ToolCallFormat, width: int, colour: bool) -> str:
    """Return one format's page: a description, an example call, its names here and in runtimes, and its sources."""
    facts = grid()
    rows: list[tuple[str, str]] = [
        ("aliases", ", ".join(format.aliases)),
        ("families", visible(", ".join(format.families))),
        ("model types", visible(", ".join(format.model_types))),
        ("runtimes", _runtime_parsers(format)),
        ("sources", _lines("\n".join(format.source))),
    ]
    for name, value in rows:
        if value:
            facts.add_row(Text(name, "bold"), Text(value))
    name, heading = (printed(Text(text, "bold"), width, colour) for text in (f"{format.name}\n", "\nfor example"))
    page = reflowed(_lines(format.page), width, colour) if format.page else ""
    what = f"{name}{page}{heading}"
    call = Text(textwrap.indent(_lines(example(format)), "    "), "cyan")  # never wrapped, so that it can be copied
    return what + printed(call, UNWRAPPED, colour) + "\n" + printed(facts, width, colour)


def _lines(text: str) -> str:
    """Return text of a format without control characters, because its file may be untrusted."""
    return "\n".join(map(visible, text.split("\n")))


def _runtime_parsers(format: ToolCallFormat) -> str:
    shown = {runtime: visible(str(parser)) for runtime, parser in format.runtime_parsers.items()}
    named = (f"{visible(runtime)}{GLUE}{'(automatic)' if name == DERIVED else name}" for runtime, name in shown.items())
    return DOT.join(text.replace("for ", f"for{GLUE}") for text in named)
