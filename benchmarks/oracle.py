"""Compare the Lark grammars with the strict parsers, in both directions.

    python benchmarks/oracle.py [FORMAT …] [--sentences N] [--written N] [--mutations N] [--seed S] [--show N]

From grammar to parser: for every format and variant, hypothesis' `from_lark` generates sentences of the plain Lark
grammar, with markers of the format in every raw text. The strict parser must read each as calls that the schemas allow
(except for the variants in `NOTED_SPELLINGS`).

From parser to grammar: calls are written, and each text is changed in one location, by characters and by tokens of the
format. Each is judged with and without tools. What the strict parser reads wholly as calls must be in the grammar, with
whitespace loosened (tests/support/oracle.py).

A row counts for a format: the sentences, those that are read, and those that contain a key twice if a schema leaves
keys free (which no grammar counts); the texts judged, those that strict parsing accepts, and of these the ones that the
grammar accepts unchanged, without parts that have no meaning, as the format writes them, as listed in
tests/support/oracle_listed.json, and not at all.

`--show` prints N bugs per format. The exit status is 1 if there is a bug. All formats take about ten minutes: 2,800
sentences and 45,000 texts.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "support"))

from hypothesis import HealthCheck, Phase, given, seed, settings
from oracle import (
    NOTED_SPELLINGS,
    SPELLINGS,
    TOOLS,
    RejectedText,
    check_schemas,
    holds_a_key_twice,
    judged,
    sentences,
    spelling,
    strictly_read,
    written_and_mutated,
)

from toolfmt.formats import FORMATS

HOW = ("unchanged", "without meaningless parts", "as written", "listed", "not at all")
COLUMNS = ("sentences", "read", "key twice", "texts", "accepted", *HOW)


def main() -> int:
    arguments = argparse.ArgumentParser(description="Compare the grammars with the strict parsers")
    arguments.add_argument("formats", nargs="*", metavar="FORMAT", help="default: all formats")
    arguments.add_argument("--sentences", type=int, default=30, metavar="N", help="per variant")
    arguments.add_argument("--written", type=int, default=8, metavar="N", help="texts with calls per variant")
    arguments.add_argument("--mutations", type=int, default=28, metavar="N", help="changes per written text")
    arguments.add_argument("--seed", type=int, default=0, metavar="S", help="the seed of all random choices")
    arguments.add_argument("--show", type=int, default=3, metavar="N", help="print N bugs per format")
    options = arguments.parse_args()
    print(f"{'format':18}" + "".join(f"{column:>{max(len(column), 6) + 2}}" for column in COLUMNS))
    totals: Counter[str] = Counter()
    for name in options.formats or [format.name for format in FORMATS]:
        row: Counter[str] = Counter()
        defects = [*sentence_defects(name, options, row), *text_defects(name, options, row)]
        totals += row
        print(line(name, row), *defects[: options.show], sep="\n", flush=True)
        totals["faults"] += len(defects)
    print(line("all", totals))
    return 1 if totals["faults"] else 0


def sentence_defects(name: str, options: argparse.Namespace, row: Counter[str]) -> list[str]:
    """Sentences that the strict parser rejects, of every way in which the format writes calls."""
    spellings = [one for one in SPELLINGS if one[0] == name and one not in NOTED_SPELLINGS]
    return sorted((defect for one in spellings for defect in rejected_sentences(*one, options, row)), key=len)


def rejected_sentences(name: str, variant: str, options: argparse.Namespace, row: Counter[str]) -> list[str]:
    format, defects = spelling(name, variant), list[str]()

    @seed(options.seed)
    @settings(
        max_examples=options.sentences,
        phases=[Phase.generate],
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(sentences(format, TOOLS))
    def read(text: str) -> None:
        row["sentences"] += 1
        try:
            check_schemas(strictly_read(format, text, TOOLS).calls, TOOLS)
            row["read"] += 1
        except RejectedText as refused:
            if holds_a_key_twice(format, text, TOOLS):
                row["key twice"] += 1
            else:
                defects.append(f"    sentence, {variant or 'its own'}: {refused}: {text!r}")

    read()
    return defects


def text_defects(name: str, options: argparse.Namespace, row: Counter[str]) -> list[str]:
    """Texts that the strict parser accepts and the grammar does not."""
    defects = []
    for variant in [variant for known, variant in SPELLINGS if known == name]:
        random = Random(f"{name} {variant} {options.seed}")
        for text in written_and_mutated(name, variant, random, options.written, options.mutations):
            for tools in (TOOLS, None):
                judgement = judged(name, text, tools)
                row["texts"] += 1
                if judgement.rejected:
                    continue
                row["accepted"] += 1
                row[judgement.has or "not at all"] += 1
                if not judgement.has:
                    defects.append(f"    text, {'tools' if tools else 'no tools'}: {text!r}")
    return sorted(defects, key=len)


def line(name: str, row: Counter[str]) -> str:
    return f"{name:18}" + "".join(f"{row[column]:{max(len(column), 6) + 2},}" for column in COLUMNS)


if __name__ == "__main__":
    sys.exit(main())
