"""Pictures as SVG text: text, boxes and arrows on a background of their own, readable on light and dark pages.

Called by the modules that make the pictures of the documentation. A `Picture` grows downwards; `svg()` returns the
file. It names no font except the reader's default, and measures nothing: the width of a monospaced character is taken
as 0.6 of its size.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape

WIDTH = 560
CHARACTER_WIDTH = 7.8
"""The width of a monospaced character at size 13."""
MARGIN = 20
INK, QUIET, LINE, GROUND, PANEL = "#1f2328", "#57606a", "#8c959f", "#ffffff", "#f3f5f8"
MARKER, NAME, KEY, VALUE = "#7a2fb5", "#0550ae", "#953800", "#116329"
"""All of them have a contrast of more than 4.5 to 1 to `GROUND` and `PANEL`."""
_PLAIN = "ui-sans-serif, system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif"
_FIXED = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"

Run = tuple[str, str]
"""A segment of a line, and its color."""


@dataclass
class Picture:
    """A picture that is read aloud as `title`."""

    title: str
    parts: list[str] = field(default_factory=list)
    y: float = MARGIN

    def down(self, by: float) -> None:
        """Moves the position down."""
        self.y += by

    def words(self, x: float, y: float, text: str, *, size: int = 14, ink: str = INK, bold: bool = False) -> None:
        """A line of text, on its baseline."""
        weight = ' font-weight="600"' if bold else ""
        style = f'font-size="{size}" fill="{ink}"{weight} font-family="{_PLAIN}"'
        self.parts.append(f'<text x="{x:g}" y="{y:g}" {style}>{_safe(text)}</text>')

    def code(self, x: float, y: float, runs: Iterable[Run]) -> None:
        """A line as it is typed, in colours, on its base line."""
        pieces = "".join(f'<tspan fill="{ink}">{_safe(text)}</tspan>' for text, ink in runs if text)
        self.parts.append(
            f'<text x="{x:g}" y="{y:g}" font-size="13" xml:space="preserve" font-family="{_FIXED}">{pieces}</text>'
        )

    def box(self, x: float, y: float, width: float, height: float, *, fill: str = PANEL, edge: str = "none") -> None:
        """A box with round corners."""
        self.parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="6" fill="{fill}" stroke="{edge}"/>'
        )

    def span(self, begin: float, end: float, y: float) -> None:
        """A level line with a short stroke at each end."""
        way = f"M{begin:g} {y - 4:g}v8M{begin:g} {y:g}H{end:g}M{end:g} {y - 4:g}v8"
        self.parts.append(f'<path d="{way}" fill="none" stroke="{INK}" stroke-width="1.5"/>')

    def arrow(self, points: Sequence[tuple[float, float]]) -> None:
        """A line through the points, with a head at its end."""
        way = " ".join(f"{x:g},{y:g}" for x, y in points)
        self.parts.append(
            f'<polyline points="{way}" fill="none" stroke="{LINE}" stroke-width="1.5" marker-end="url(#h)"/>'
        )

    def svg(self) -> str:
        """The picture as the text of a file."""
        height = self.y + MARGIN
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height:g}" '
            f'viewBox="0 0 {WIDTH} {height:g}" role="img">\n<title>{_safe(self.title)}</title>\n'
            '<defs><marker id="h" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
            f'<path d="M0 0L8 4L0 8z" fill="{LINE}"/></marker></defs>\n'
            f'<rect width="{WIDTH}" height="{height:g}" rx="8" fill="{GROUND}" stroke="#d0d7de"/>\n'
        )
        return head + "\n".join(self.parts) + "\n</svg>\n"


def coloured(text: str, known: Iterable[Run], rest: str) -> list[Run]:
    """The text in segments: each of the known ones, in the order of their positions, in its color; the others in
    `rest`.
    """
    runs: list[Run] = []
    at = 0
    for piece, ink in known:
        found = text.index(piece, at)
        runs += [(text[at:found], rest), (piece, ink)]
        at = found + len(piece)
    return [*runs, (text[at:], rest)]


def lines(runs: Iterable[Run], limit: int) -> list[list[Run]]:
    """The segments in lines, broken at newlines and after so many characters."""
    made: list[list[Run]] = [[]]
    left = limit
    for text, ink in runs:
        for character in text:
            if character == "\n" or not left:
                made.append([])
                left = limit
            if character != "\n":
                last = made[-1]
                if last and last[-1][1] == ink:
                    last[-1] = (last[-1][0] + character, ink)
                else:
                    last.append((character, ink))
                left -= 1
    return made


def cut(text: str, limit: int) -> str:
    """The text on one line, truncated if it is longer."""
    shown = text.replace("\n", "⏎")
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"


def _safe(text: str) -> str:
    return escape(text, quote=False)
