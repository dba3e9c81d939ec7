"""Findings as text: the page of one, and the list of all, from data."""

from __future__ import annotations

import re

from rich.table import Table
from rich.text import Text

from toolfmt.cli.printing.layout import UNWRAPPED, printed
from toolfmt.cli.printing.severities import SEVERITY_STYLES
from toolfmt.inspect.checks import CHECKS, code, name, page, severity

_SEVERITY_NOTE = "The severity is the highest that the finding can have. In a report, it may be lower."
_LINE_END = re.compile(r"\n\s*(?![-*] )")


def page_text(text: str, width: int, colour: bool) -> str:
    """Return a finding's page with its paragraphs wrapped. Indented text stays unchanged."""
    title, _, rest = text.partition("\n")
    return printed(Text(title + "\n", "bold"), width, colour) + reflowed(rest, width, colour)


def findings_table(width: int, colour: bool) -> str:
    """Return a table of all findings: code, name, highest severity, and the first sentence of the page."""
    table = Table.grid(padding=(0, 2, 0, 0))
    for _ in range(3):
        table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for check in CHECKS:
        worst = severity(check)
        table.add_row(code(check), name(check), Text(worst, SEVERITY_STYLES[worst]), Text(first_sentence(page(check))))
    note = Text(f"\n{_SEVERITY_NOTE}")
    return printed(table, width, colour) + printed(note, width, colour)


def first_sentence(text: str) -> str:
    """Return the first line of a page."""
    return text.partition("\n")[0]


def reflowed(text: str, width: int, colour: bool) -> str:
    """Return the page with each paragraph and list item wrapped to the width.

    Text indented by four spaces stays unchanged, however wide, so that it can be copied.
    """
    return "\n".join(
        printed(Text(part), UNWRAPPED, colour)
        if part.startswith("    ")
        else printed(Text(_LINE_END.sub(" ", part)), width, colour)
        for part in text.strip("\n").split("\n\n")
    )
