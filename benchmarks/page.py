"""Generate the benchmark tables in `docs/benchmarks.md` and the README from `results.json`.

A table follows a comment `<!-- table: NAME… -->`. The text around it is written by hand and contains no measured
figure. `python -m benchmarks` measures and writes the figures and the page; the tests compare the pages with the
committed figures.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

Results: TypeAlias = Mapping[str, Any]
RESULTS = Path(__file__).with_name("results.json")
PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"
TABLE = re.compile(r"(<!-- table: ([\w -]+?)(?:, [^\n]*)? -->\n)(?:\|[^\n]*\n)*")
READ_BACK_IN_SHORT = {
    "format found": "format found",
    "all five kinds above": "all five kinds of call parsed exactly",
    "special characters": "one of the five: strings with quotes, braces and newlines",
}
"""The rows that README shows, with their names there."""


def results() -> Results:
    """The figures that are committed."""
    read: Results = json.loads(RESULTS.read_text(encoding="utf-8"))
    return read


def with_tables(text: str, figures: Results) -> str:
    """A page with its tables of these figures. Raises `KeyError` for an unknown table name."""
    return TABLE.sub(lambda found: found[1] + TABLES[found[2]](figures), text)


def rows(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    between = f"|{'---|' * len(head)}\n"
    return _row(head) + between + "".join(map(_row, lines))


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |\n"


def titled(figures: Results, name: str) -> str:
    """A runtime with its version."""
    version = figures["versions"].get(name)
    return f"{name} {version}" if version and name != "toolfmt" else name


# --- where and when


def measured(figures: Results) -> str:
    lines = [(part, *facts.values()) for part, facts in figures["measured"].items()]
    head = ("part", *next(iter(figures["measured"].values())))
    return rows(head, [tuple(map(str, line)) for line in lines])


# --- calls of real templates


def read_back(figures: Results) -> str:
    return _read_back(figures, None)


def read_back_in_short(figures: Results) -> str:
    return _read_back(figures, READ_BACK_IN_SHORT)


def _read_back(figures: Results, row_titles: Mapping[str, str] | None) -> str:
    table = {row["row"]: row for row in figures["read-back"]["table"]}
    names = [name for name in table["format found"] if name != "row"]

    def cell(row: Mapping[str, Any], name: str) -> str:
        return f"{row[name]['templates']} ({row[name]['repositories']})" if name in row else "–"

    head = ("templates (repositories)", *(titled(figures, name) for name in names))
    shown = row_titles or {row: row for row in table}
    return rows(head, [(called, *(cell(table[row], name) for name in names)) for row, called in shown.items()])


# --- situations


def situations(figures: Results) -> str:
    section = figures["situations"]
    names = list(section["formats"])
    lines = [
        (row["row"], *(f"{row[name]['right']} of {row[name]['asked']}" for name in names)) for row in section["table"]
    ]
    return rows(("situation", *(titled(figures, name) for name in names)), lines)


# --- speed


def speed(figures: Results) -> str:
    lines = []
    for row in figures["speed"]["table"]:
        names = [name for name in row if name not in ("workload", "deltas", "floor", "of the floor")]
        spreads = {name: _spread(row[name]) for name in names}
        spreads["× floor"] = _spread(row["of the floor"], digits=1)
        lines.append((row, spreads))
    names = [name for name in _PEERS if any(name in spread for _, spread in lines)]
    head = ("µs per chunk", "chunks", "toolfmt", "× floor", *(titled(figures, name) for name in names))
    columns = ("toolfmt", "× floor", *names)
    cells = [
        (row["workload"], str(row["deltas"]), *(spread.get(name, "–") for name in columns)) for row, spread in lines
    ]
    return rows(head, cells)


_PEERS = ("mlx-lm", "transformers", "vLLM", "SGLang")


def _spread(values: Mapping[str, float], digits: int = 2) -> str:
    """The least and the most over all formats, and the middle one."""
    least, middle, most = (_short(values[key], digits) for key in ("least", "middle", "most"))
    return f"{least}–{most} ({middle})"


def _short(value: float, digits: int) -> str:
    return f"{value:.0f}" if value >= 20 else f"{value:.{digits}f}"


def speed_in_short(figures: Results) -> str:
    """The median of all formats, for outputs of some 16,000 characters."""
    table = [row for row in figures["speed"]["table"] if row["deltas"] == 4096]
    names = [name for name in ("toolfmt", *_PEERS) if any(name in row for row in table)]
    lines = [
        (
            f"{row['workload']}, {row['deltas']} chunks",
            *(f"{_short(row[name]['middle'], 2)} µs" if name in row else "–" for name in names),
        )
        for row in table
    ]
    return rows(("per chunk of four characters", *(titled(figures, name) for name in names)), lines)


def short_calls(figures: Results) -> str:
    calls = figures["speed"]["call"]
    return rows(
        ("µs per short call", "min", "median", "max"),
        [
            (titled(figures, name), *(_short(values[key], 0) for key in ("least", "middle", "most")))
            for name, values in calls.items()
        ],
    )


TABLES: dict[str, Callable[[Results], str]] = {
    "where and when": measured,
    "read back": read_back,
    "read back in short": read_back_in_short,
    "situations": situations,
    "speed": speed,
    "speed in short": speed_in_short,
    "short calls": short_calls,
}
