"""Check the llguidance grammars of all formats with written calls, random walks, broken calls and damaged texts.

    python benchmarks/grammar_walks.py [FORMAT …] [--choice auto] [--walks N] [--written N] [--broken N] [--damaged N]

Every format and variant is tested with its markers as control tokens and as text, and with three tools. A row counts
for a format, over its variants and both kinds of markers:
- written: calls written by `toolfmt.write`, which the grammar must accept;
- walked: random walks under the mask, with damaging texts offered at every step. Strict parsing must read each walk as
  calls that jsonschema accepts, and nothing else (with `--choice auto`: text and such calls). `open` counts the walks
  that did not terminate. An empty mask is a bug;
- broken: calls that violate a schema in one of eleven ways;
- damaged: texts with something removed or inserted. The grammar must accept no broken or damaged text that strict
  parsing rejects.

Walks and damaged texts are N per format. Written texts are N, and broken calls about 3 N, for each variant and kind of
marker. The exit status is 1 if there is a bug; three per format are printed. Needs the extras `grammar` and `test`.
1,000 walks per format take about ten minutes on one core.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from itertools import groupby
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "support"))

from grammar_calls import Defects, Subject, broken, damaged, named, plain, variants, walked, written

from toolfmt.errors import CannotConstrain


def main() -> int:
    arguments = argparse.ArgumentParser(description="Check what grammars accept and reject")
    arguments.add_argument("formats", nargs="*", metavar="FORMAT", help="default: all formats")
    arguments.add_argument("--choice", default="required", choices=("required", "auto"))
    for kind, number in {"walks": 1000, "written": 200, "broken": 10, "damaged": 200}.items():
        arguments.add_argument(f"--{kind}", type=int, default=number, metavar="N")
    options = arguments.parse_args()
    total: Counter[str] = Counter()
    began, found = time.process_time(), 0
    print(f"{'format':18}{'kinds':>6}{'written':>9}{'walked':>8}{'open':>6}{'broken':>8}{'damaged':>9}{'bugs':>8}")
    for name, of_format in groupby(variants(), lambda format: format.name):
        if options.formats and name not in options.formats:
            continue
        subjects = [Subject(format, tokens, options.choice) for format in of_format for tokens in (True, False)]
        try:
            defects = [defect for subject in subjects for defect in looked_at(subject, options, len(subjects))]
        except CannotConstrain as error:
            print(f"{name:18}{error}")
            continue
        counts = sum((subject.counts for subject in subjects), Counter[str]()) + Counter(kinds=len(subjects), formats=1)
        total += counts
        found += len(defects)
        print(row(name, counts, len(defects)), flush=True)
        for what, text in defects[:3]:
            print(f"    {what}\n        {text[:300]!r}")
    print(row("all", total, found))
    print(f"{total['formats']} formats, {total['walked characters']:,} characters walked, ", end="")
    print(f"{time.process_time() - began:.0f} s of one core")
    print(", ".join(f"{kind.removeprefix('broken: ')} {count}" for kind, count in total.items() if ": " in kind))
    return 1 if found else 0


def looked_at(subject: Subject, options: argparse.Namespace, of: int) -> Defects:
    share = {kind: -(-getattr(options, kind) // of) for kind in ("walks", "damaged")}
    defects = written(subject, options.written) + walked(subject, share["walks"])
    defects += broken(subject, options.broken) + damaged(subject, share["damaged"])
    if subject.choice == "auto":
        defects += plain(subject)
    where = f"{named(subject.format)}, markers as {'tokens' if subject.tokens else 'text'}"
    return [(f"{where}: {what}", text) for what, text in defects]


def row(name: str, counts: Counter[str], defects: int) -> str:
    columns = f"{counts['kinds']:6}{counts['written']:9,}{counts['walked']:8,}{counts['unfinished']:6}"
    return f"{name:18}{columns}{counts['broken']:8,}{counts['damaged']:9,}{defects:8}"


if __name__ == "__main__":
    sys.exit(main())
