"""Fuzz toolfmt's own parsers for a long time, with random outputs or guided by code coverage.

    python benchmarks/fuzz_formats.py [FORMAT …] [--minutes 60] [--seed 0]
    python benchmarks/fuzz_formats.py [FORMAT …] [--minutes 60] --guided [--corpus DIR]

The first command draws outputs as `toolfmt dev fuzz` does, for all formats and variants in turn, and checks every
guarantee of the parsers. The second needs atheris (`pip install atheris`; tested: 3.0.0 with Python 3.11). It
instruments `toolfmt.formats`, and libFuzzer's bytes replace the choices of a seed (`Bytes`). `--corpus` keeps these
bytes between runs.

Each bug is printed once, minimized, as a corpus case. One line per minute shows the progress. The exit status is 1 if
there is a bug.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

_FIRST, _LONGEST = 300, 1024
"""Outputs that the guided search begins with, and the most bytes one is drawn from."""


class Bytes(Random):
    """Chance that is read off bytes, and is the first choice everywhere once they are used up."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0
        super().__init__(0)

    def getrandbits(self, k: int, /) -> int:
        length = (k + 7) // 8
        piece = self._data[self._at : self._at + length]
        self._at += length
        return int.from_bytes(piece, "little") & ((1 << k) - 1)

    def random(self) -> float:
        return self.getrandbits(24) / (1 << 24)


class Search:
    """Outputs of all formats tried on their own parsers, and each new bug printed, minimized."""

    def __init__(self, formats: list[str]) -> None:
        from toolfmt.formats import Parser
        from toolfmt.testing.targets import Local

        self.formats = formats

        def made(name: str) -> Local:
            return Local(lambda tools: Parser(name, tools=tools))

        self.formats = formats
        self._targets = {name: made(name) for name in formats}
        self._met: set[tuple[str, str, str]] = set()
        self.answers, self._started, self._reported = 0, time.monotonic(), 0.0

    def one(self, chance: Random) -> None:
        """Draw an output and try it."""
        from toolfmt.formats import get
        from toolfmt.testing.drawing import draw_answer, draw_pieces
        from toolfmt.testing.runner import broken_by

        format = chance.choice(self.formats)
        answer = draw_answer(chance, format, variants=("", *get(format).variants))
        pieces = draw_pieces(chance, answer.text, format)
        broken, _ = broken_by(self._targets[format], answer, (pieces,))
        self.answers += 1
        for one in broken:
            if (key := (one.invariant, one.kind, format)) not in self._met:
                self._met.add(key)
                self._print(key, answer, one.pieces)
        self._report()

    def _print(self, key: tuple[str, str, str], answer: Any, way: list[str] | None) -> None:
        from toolfmt.testing.fuzzing import Defect
        from toolfmt.testing.shrinking import Shrinker

        invariant, kind, format = key
        defect = Defect(invariant, kind, format, answer, way, self.answers, self.seconds)
        defect.answer, defect.broken = Shrinker(self._targets[format], (invariant, kind), 1000).shrink(answer, way)
        report = defect.to_dict()
        print(
            f"\n{format}: {report['message']}\n{report['case']}pieces {report['pieces']}\nactual {report['actual']}\n",
            flush=True,
        )

    def _report(self) -> None:
        if self.seconds - self._reported >= 60:
            self._reported = self.seconds
            rate = self.answers / self.seconds
            print(f"{self.seconds / 60:.0f} min: {self.answers:,} outputs, {rate:,.0f} per second, "
                  f"{len(self._met)} bugs", flush=True)  # fmt: skip

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._started

    @property
    def status(self) -> int:
        return int(bool(self._met))


def by_chance(search: Search, seconds: float, seed: int) -> Iterator[None]:
    number = 0
    while search.seconds < seconds:
        search.one(Random(f"{seed}/{number}"))
        number += 1
        yield


def guided(search: Search, seconds: float, corpus: str | None) -> None:
    """Never returns: libFuzzer ends the process."""
    atheris: Any = import_module("atheris")

    def one(data: bytes) -> None:
        search.one(Bytes(data))
        if search.seconds >= seconds:
            print(f"{search.answers:,} outputs, {len(search._met)} bugs", flush=True)
            os._exit(search.status)

    folder = Path(corpus or tempfile.mkdtemp(prefix="toolfmt-fuzz-"))
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(0 if any(folder.iterdir()) else _FIRST):
        (folder / str(number)).write_bytes(Random(number).randbytes(_LONGEST // 2))
    atheris.Setup([sys.argv[0], f"-max_len={_LONGEST}", "-len_control=0", "-verbosity=0", str(folder)], one)
    atheris.Fuzz()


def main() -> int:
    parser = argparse.ArgumentParser(description="Fuzz toolfmt's own parsers for a long time")
    parser.add_argument("formats", nargs="*", metavar="FORMAT", help="default: all formats")
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--guided", action="store_true", help="use atheris")
    parser.add_argument("--corpus", metavar="DIR", help="the folder for inputs that reach new code")
    given = parser.parse_args()
    if given.guided:
        atheris: Any = import_module("atheris")
        with atheris.instrument_imports(include=["toolfmt.formats"]):
            for name in ("toolfmt.formats", "toolfmt.formats.known"):
                import_module(name)
    from toolfmt.formats import FORMATS, get

    search = Search([get(name).name for name in given.formats] or [format.name for format in FORMATS])
    if given.guided:
        guided(search, given.minutes * 60, given.corpus)
    for _ in by_chance(search, given.minutes * 60, given.seed):
        pass
    print(f"{search.answers:,} outputs of {len(search.formats)} formats in {search.seconds / 60:.1f} minutes, "
          f"{len(search._met)} bugs")  # fmt: skip
    return search.status


if __name__ == "__main__":
    raise SystemExit(main())
