"""Count damaged calls in which a value contains the text of another value.

    python benchmarks/damaged_calls.py [FORMAT …] [--show N]

Every format writes two calls with two string arguments each. The benchmark removes every single character outside the
values in turn, and every run of up to 24 characters after each value. Each text is parsed leniently and strictly, with
and without tools. A row counts the parses, the ended calls with a merged value, those in strict mode, and those that
cannot be detected (`unseen`: no whole tag, token or quote remains between the values; see `toolfmt.testing.damaging`).
`--show` prints N merged calls per format. The exit status is 1 if a detectable damage was merged.
"""

from __future__ import annotations

import argparse
import sys

from toolfmt.formats import FORMATS
from toolfmt.testing.damaging import MODES, damages, merged, unseen


def main() -> int:
    arguments = argparse.ArgumentParser(description="Count merged values in damaged calls")
    arguments.add_argument("formats", nargs="*", metavar="FORMAT", help="default: all formats")
    arguments.add_argument("--show", type=int, default=0, metavar="N", help="print N merged calls per format")
    options = arguments.parse_args()
    totals = [0, 0, 0, 0]
    print(f"{'format':18}{'parses':>10}{'merged':>8}{'strict':>8}{'unseen':>8}")
    for name in options.formats or [format.name for format in FORMATS]:
        row = [0, 0, 0, 0]
        shown: list[str] = []
        for damage in damages(name):
            for mode in MODES:
                row[0] += 1
                values = merged(name, damage.text, **mode)
                if not values:
                    continue
                hidden = all(unseen(name, value) for value in values)
                row[1] += not hidden
                row[2] += not hidden and bool(mode["strict"])
                row[3] += hidden
                if not hidden and len(shown) < options.show:
                    how = f"{'strict' if mode['strict'] else 'lenient'}, {'tools' if mode['tools'] else 'no tools'}"
                    shown.append(f"    {damage.lost!r} lost at {damage.at} ({how}): {values[0]!r}")
                    shown.append(f"      {damage.text!r}")
        totals = [total + count for total, count in zip(totals, row, strict=True)]
        print(line(name, row), *shown, sep="\n", flush=True)
    print(line("all", totals))
    return 1 if totals[1] else 0


def line(name: str, row: list[int]) -> str:
    return f"{name:18}{row[0]:10,}{row[1]:8,}{row[2]:8,}{row[3]:8,}"


if __name__ == "__main__":
    sys.exit(main())
