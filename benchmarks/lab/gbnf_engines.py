"""Check the GBNF grammars of all formats and variants with llama.cpp's own sampler and XGrammar's matcher.

    python benchmarks/lab/gbnf_engines.py [--written 50] [--broken 6] [--damaged 60] [--format NAME] [--engine NAME]

For each format, the engine must accept all written calls. It must reject calls that violate their schema in eleven
ways, and damaged texts that strict parsing rejects. Calls are required, or text before them or instead of them is
allowed. llama.cpp is tested with the markers as text and as tokens. Prints a line for each engine, and the failures.
Needs `llama-cpp-python`, `gguf` and `xgrammar` in addition to the `test` extra; a missing engine is skipped with a
message.
"""

from __future__ import annotations

import argparse
import importlib.util
import statistics
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "support"))

from grammar_calls import Defects, Subject, broken, damaged, named, plain, variants, written
from grammar_engines import LlamaGrammars, XGrammars

from toolfmt.errors import CannotConstrain
from toolfmt.formats import ToolCallFormat
from toolfmt.grammars.exported import Exported
from toolfmt.grammars.gbnf import gbnf


@dataclass
class EngineSubject(Subject):
    """A format whose texts a GBNF engine judges."""

    engine_name: str = "llama.cpp"

    @cached_property
    def exported(self) -> Exported:
        return gbnf(self._answer.rules)

    @cached_property
    def engine(self) -> Any:
        return XGrammars() if self.engine_name == "xgrammar" else LlamaGrammars(Path(tempfile.mkdtemp()), self.special)

    @property
    def most_calls(self) -> int:
        """A format in which a call's end is a token at which llama.cpp ends the output."""
        ends = self.engine_name == "llama.cpp" and any(map(self.engine.ends_at, self.special))
        return 1 if ends else super().most_calls

    @cached_property
    def compiled(self) -> Any:
        compiled = self.engine.compiled(self.exported.text)
        if compiled is None:
            raise SystemExit(f"{named(self.format)}: the engine rejects the grammar\n{self.exported.text}")
        return compiled

    def accepts(self, text: str) -> bool:
        return bool(self.engine.accepts(self.compiled, text))

    def stops_at(self, text: str) -> str:
        return str(self.engine.taken(self.compiled, text))


@dataclass
class Judged:
    """What one engine made of all formats."""

    counts: Counter[str] = field(default_factory=Counter)
    defects: list[tuple[str, str, str]] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    compiling: list[float] = field(default_factory=list)
    narrower: Counter[str] = field(default_factory=Counter)

    def summary(self) -> str:
        wrong = {kind: sum(why.startswith(kind) for _, why, _ in self.defects) for kind in ("written", "broken", "dam")}
        counts = self.counts
        return (
            f"{counts['formats']} formats and variants, {counts['not constrained']} with no grammar; "
            f"{counts['written'] - wrong['written']:,} of {counts['written']:,} written accepted; "
            f"{wrong['broken']} of {counts['broken']:,} schema-breaking accepted; "
            f"{wrong['dam']} of {counts['damaged']:,} damaged accepted that strict rejects; "
            f"{statistics.median(self.sizes):,.0f} to {max(self.sizes):,} characters, "
            f"read in {statistics.median(self.compiling) * 1000:.1f} to {max(self.compiling) * 1000:.0f} ms; "
            f"narrower: {dict(self.narrower)}"
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--written", type=int, default=50)
    parser.add_argument("--broken", type=int, default=6)
    parser.add_argument("--damaged", type=int, default=60)
    parser.add_argument("--format", help="only this one")
    parser.add_argument("--engine", choices=("llama.cpp", "xgrammar"), help="only this one")
    options = parser.parse_args()
    failed = False
    for name, module in (("llama.cpp", "llama_cpp"), ("xgrammar", "xgrammar")):
        if options.engine not in (None, name):
            continue
        if importlib.util.find_spec(module) is None:
            print(f"{name} is not installed: skipped")
            continue
        for choice in ("required", "auto"):
            for tokens in (False, True) if name == "llama.cpp" else (False,):
                began = time.perf_counter()
                judged = _judged(name, choice, tokens, options)
                spent = time.perf_counter() - began
                marks = "tokens" if tokens else "text"
                print(f"{name}, {choice}, markers as {marks}: {judged.summary()}; {spent:.0f} s", flush=True)
                for format_name, why, text in judged.defects[:20]:
                    print(f"  {format_name}: {why}\n    {text[:400]!r}")
                failed |= bool(judged.defects)
    return 1 if failed else 0


def _judged(engine: str, choice: str, tokens: bool, options: argparse.Namespace) -> Judged:
    judged = Judged()
    for format in variants():
        if options.format in (None, format.name):
            _judge(judged, format, engine, choice, tokens, options)
    return judged


def _judge(
    judged: Judged, format: ToolCallFormat, engine: str, choice: str, tokens: bool, options: argparse.Namespace
) -> None:
    subject = EngineSubject(format, tokens, choice, engine_name=engine)
    try:
        judged.sizes.append(len(subject.exported.text))
    except CannotConstrain as refusal:
        print(f"{named(format)}: {refusal}")
        judged.counts["not constrained"] += 1
        return
    judged.narrower.update(subject.exported.narrower)
    assert subject.engine is not None
    began = time.perf_counter()
    assert subject.compiled is not None
    judged.compiling.append(time.perf_counter() - began)
    found: Defects = [*written(subject, options.written), *broken(subject, options.broken)]
    found += damaged(subject, options.damaged)
    if choice == "auto":
        found += plain(subject)
    judged.defects += [(named(format), why, text) for why, text in found]
    judged.counts += subject.counts
    judged.counts["formats"] += 1


if __name__ == "__main__":
    sys.exit(main())
