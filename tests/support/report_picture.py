"""The picture in README: the report of `toolfmt inspect` on a model of the corpus, in its colors, as SVG.

`picture()` is its text, made from a run; `python tests/repository/test_readme.py --update` writes it to `PICTURE`. It
loads nothing: rich's own frame names web fonts, this one uses any available monospaced font. It has its own background,
so that it reads the same on a light page and on a dark one.
"""

from __future__ import annotations

import contextlib
import io
import xml.etree.ElementTree as ElementTree

from pages import ROOT
from rich.console import Console
from rich.padding import Padding
from rich.terminal_theme import TerminalTheme
from rich.text import Text

import toolfmt
from toolfmt.cli.printing.report import report_text

PICTURE = ROOT / "docs" / "pictures" / "report.svg"
PLACE = "corpus/models/double-encoded"
COMMAND = f"toolfmt inspect {PLACE}"
COLUMNS = 100
_MARGIN = 2
_COLOURS = TerminalTheme(
    background=(22, 27, 34),
    foreground=(240, 243, 246),
    normal=[
        (110, 118, 129),  # black
        (255, 148, 146),  # red
        (86, 211, 100),  # green
        (240, 183, 47),  # yellow
        (145, 203, 255),  # blue
        (226, 181, 255),  # magenta
        (118, 227, 234),  # cyan
        (240, 243, 246),  # white
    ],
)
BACKGROUND = _COLOURS.background_color.hex
_FRAME = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-labelledby="{unique_id}-says">
<title id="{unique_id}-says">What toolfmt inspect prints about a model</title>
<!-- made by tests/support/report_picture.py -->
<style>
.{unique_id}-matrix {{
  font-family: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", "Liberation Mono", monospace;
  font-size: {char_height}px;
}}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/>
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


def picture() -> str:
    """The picture as SVG; the same for the same report."""
    with contextlib.chdir(ROOT):
        report = toolfmt.load(PLACE).inspect()
    console = Console(
        file=io.StringIO(),
        width=COLUMNS + 2 * _MARGIN,
        record=True,
        force_terminal=True,
        color_system="standard",
        no_color=False,
        legacy_windows=False,
    )
    content = Text.assemble(
        (f"$ {COMMAND}\n\n", "bold"),
        Text.from_ansi(report_text(report, COLUMNS, True, full=False, notes=False, whole=True).rstrip()),
        "\n",
    )
    console.print(Padding(content, (0, _MARGIN)))
    made = console.export_svg(title="", theme=_COLOURS, code_format=_FRAME, unique_id="report")
    return made.replace("</text><text", "</text>\n<text")


def words(svg: str) -> list[str]:
    """The lines that a picture shows, without whitespace."""
    lines: dict[float, dict[float, str]] = {}
    for text in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text"):
        lines.setdefault(float(text.attrib["y"]), {})[float(text.attrib["x"])] = text.text or ""
    joined = ("".join(line[x] for x in sorted(line)) for _, line in sorted(lines.items()))
    return [line for line in ("".join(line.split()) for line in joined) if line]
