"""Count false calls and withheld text in prose that mentions, quotes or resembles calls.

    python benchmarks/prose.py [FORMAT …] [--show N]

Every format parses about 400 pieces of prose (`toolfmt.testing.prose_pieces`), with and without tools. Each is followed
by 3,000 characters of plain prose and fed at once. A row counts the parses in which more than 400 characters were held
back until the end of the output or belong to a rejection (`swallowed`), those in which a call ended (`calls`), and
those whose prose was emitted as reasoning (`reasoned`). `--show` prints N of them per format. The exit status is 1 if
there is one.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter

from toolfmt.formats import FORMATS
from toolfmt.testing.prose_pieces import MOST, TOOLS, pieces, read


def main() -> int:
    arguments = argparse.ArgumentParser(description="Parse prose without calls in every format")
    arguments.add_argument("formats", nargs="*", metavar="FORMAT", help="default: all formats")
    arguments.add_argument("--show", type=int, default=0, metavar="N", help="print N per format")
    options = arguments.parse_args()
    totals = [0, 0, 0, 0]
    worst: Counter[str] = Counter()
    print(f"{'format':18}{'parses':>10}{'swallowed':>11}{'calls':>8}{'reasoned':>10}")
    for name in options.formats or [format.name for format in FORMATS]:
        row = [0, 0, 0, 0]
        shown: list[str] = []
        for tools in (TOOLS, None):
            for piece in pieces(name):
                if tools is None and piece.only_declared:
                    continue
                waiting, calls, reasoned = read(name, piece, tools=tools)
                found = (waiting > MOST, calls > 0, reasoned)
                row = [row[0] + 1, *(count + so for count, so in zip(row[1:], found, strict=True))]
                if not any(found):
                    continue
                worst[piece.template] += 1
                if len(shown) < options.show:
                    what = f"{waiting} waited" if found[0] else f"{calls} calls" if calls else "reasoned"
                    shown.append(f"    {what}, {'tools' if tools else 'no tools'}: {piece.text!r}")
        totals = [total + count for total, count in zip(totals, row, strict=True)]
        print(line(name, row), *shown, sep="\n", flush=True)
    print(line("all", totals))
    if worst:
        print("\nthe pieces of prose that they come from:")
        print("\n".join(f"{count:5} {text!r}" for text, count in worst.most_common(20)))
    return 1 if any(totals[1:]) else 0


def line(name: str, row: list[int]) -> str:
    return f"{name:18}{row[0]:10,}{row[1]:11,}{row[2]:8,}{row[3]:10,}"


if __name__ == "__main__":
    sys.exit(main())
