"""Text layout with rich: grids of columns, and printing to a string.

The printers of this package use it. Nothing is interpreted as markup, and the same data give the same text.
"""

from __future__ import annotations

import io
from collections.abc import Iterable

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table

UNWRAPPED = 100_000
"""A width at which nothing is wrapped."""
GLUE = "\ue000"
"""A placeholder for a space at which lines must not break. rich breaks at no-break spaces too."""
DOT = f"{GLUE}· "
ANSWER_STYLES = {"yes": "green", "no": "yellow", "error": "red"}


def grid(first: int | None = None) -> Table:
    """Return a grid of two columns without borders: a short one that never wraps (`first` wide), and the rest."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, width=first)
    table.add_column(overflow="fold")
    return table


def spaced(parts: Iterable[RenderableType]) -> Group:
    """Return the parts with an empty line between them."""
    return Group(*[Padding(part, (0 if position == 0 else 1, 0, 0, 0)) for position, part in enumerate(parts)])


def printed(what: RenderableType, width: int, colour: bool) -> str:
    """Return what rich prints at this width, without trailing spaces."""
    out = io.StringIO()
    console = Console(
        file=out,
        width=width,
        force_terminal=colour,
        color_system="standard" if colour else None,
        no_color=not colour,
        markup=False,
        highlight=False,
        emoji=False,
        legacy_windows=False,
    )
    console.print(what)
    lines = out.getvalue().replace(GLUE, " ").split("\n")
    return "\n".join(line.rstrip() for line in lines)
