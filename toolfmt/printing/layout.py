"""How text is laid out with rich: untrusted text made safe, grids of columns, and printing to a string.

The printers of this room are built from it. What comes from a model directory is
untrusted: control characters are shown as escapes, and nothing is read as markup. The same data gives the same text.
"""

from __future__ import annotations

import io
from collections.abc import Iterable

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table

from toolfmt.printing.control_characters import is_unseen

LONGEST = 10_000
"""Characters of one text that are printed."""
UNWRAPPED = 100_000
"""A width at which nothing is wrapped."""
GLUE = "\ue000"
"""Stands for a blank where no line may end (a runtime and its flag): rich breaks lines at a no-break space too."""
DOT = f"{GLUE}· "
ANSWER_STYLES = {"yes": "green", "no": "yellow", "error": "red"}


def visible(text: str) -> str:
    """The text on one line with every control and format character as an escape, so that it cannot move a cursor; cut
    with `…` where it is longer than any that is meant to be read."""
    if len(text) > LONGEST:
        return f"{visible(text[:LONGEST])}… ({len(text):,} characters)"
    return text if text.isprintable() else "".join(map(_visible, text))


def _visible(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii") if is_unseen(char) else char


def shortened(text: str, longest: int) -> str:
    """The text on one line and visible, cut with `…` where it is longer."""
    shown = visible(text[: longest + 1])
    return shown if len(shown) <= longest else shown[: longest - 1] + "…"


def grid(first: int | None = None) -> Table:
    """Two columns without lines around them: a short one that never wraps (`first` wide), and the rest."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, width=first)
    table.add_column(overflow="fold")
    return table


def spaced(parts: Iterable[RenderableType]) -> Group:
    """The parts with an empty line between them."""
    return Group(*[Padding(part, (0 if position == 0 else 1, 0, 0, 0)) for position, part in enumerate(parts)])


def printed(what: RenderableType, width: int, colour: bool) -> str:
    """What rich makes of it at this width, without blanks at the ends of lines."""
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
