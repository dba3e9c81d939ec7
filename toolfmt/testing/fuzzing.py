"""Search for bugs in any parser: generate numbered outputs, run the parser, and shrink each bug at the end.

Output number N of a seed is the same in every run, and so are the bugs after the same number of outputs. Bugs are
distinguished by invariant, kind and format. Of each, the smallest output is kept, and is shrunk after the search.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from toolfmt.testing.broken import InvariantViolation
from toolfmt.testing.checks import INVARIANTS
from toolfmt.testing.corpus import case_text
from toolfmt.testing.drawing import GeneratedOutput, draw_answer, draw_pieces, marks_covered
from toolfmt.testing.material import call_markers
from toolfmt.testing.runner import broken_by
from toolfmt.testing.shrinking import Shrinker, size_of
from toolfmt.testing.targets import HANGS, CommandTarget, Target, Way

MOST_DEFECTS = 60
"""Number of different bugs after which the search stops."""
_SHRINKS, _DEAR_SHRINKS, _HANGS = 1500, 80, 8
"""Maximum number of parser runs to shrink a bug: in a worker process, for commands, and for runs that hang."""


@dataclass
class Defect:
    """An invariant that a target violates in one way.

    Attributes:
        invariant: The name of the invariant.
        kind: Distinguishes bugs with the same invariant.
        format: The name of the format.
        answer: The output that shows it.
        way: How the output was split, if that matters.
        number: The number of the output that first showed it.
        seconds: When that was, in seconds since the start of the search.
        times: How many times it was met.
        broken: How the output violates the invariant.
        shrunk: Whether it was shrunk. If not, the output is as generated.
    """

    invariant: str
    kind: str
    format: str
    answer: GeneratedOutput
    way: Way | None
    number: int
    seconds: float
    times: int = 1
    broken: InvariantViolation | None = None
    shrunk: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the bug as JSON data, with the case as text of a corpus file."""
        broken = self.broken or InvariantViolation(self.invariant, self.kind)
        return {
            "invariant": self.invariant,
            "description": INVARIANTS.get(self.invariant, ""),
            "kind": self.kind,
            "format": self.format,
            "message": broken.message,
            "text": self.answer.text,
            "tools": self.answer.tools,
            "pieces": broken.pieces,
            "actual": broken.actual,
            "expected": self.expected_lines,
            "output": self.number,
            "seconds": round(self.seconds, 3),
            "times": self.times,
            "shrunk": self.shrunk,
            "case": self.case(),
        }

    @property
    def expected_lines(self) -> list[str] | None:
        """The expected result, if known."""
        if self.broken is not None and self.broken.expected is not None:
            return self.broken.expected
        return self.answer.expected.lines() if self.answer.expected is not None and self.answer.kind != "cut" else None

    def case(self) -> str:
        """Return the output as a case of a corpus file, with the expected result if known."""
        title = f"{self.invariant}: {self.kind}"
        return case_text(title, self.answer.text, self.expected_lines or (), tools=self.answer.tools)


@dataclass
class Fuzz:
    """A search: its target, and the bugs found. `run` searches and then shrinks `defects`.

    Attributes:
        target: The target (`toolfmt.testing.target`).
        formats: The names of the formats whose outputs are generated.
        seed: The seed of the search.
        variants: By format name, the variants in which outputs are generated. The default is the format's own.
        outputs: The number of outputs tried so far.
        seconds: The time of the search so far.
        defects: The bugs found, by invariant, kind and format.
        covered: The markers that were tried: format, marker, and how.
        streams: Whether the target takes outputs in chunks.
        shrinking: Number of bugs that have been shrunk.
        interrupted: Set from outside to interrupt the search.
    """

    target: Target
    formats: Sequence[str]
    seed: int = 0
    variants: Mapping[str, Sequence[str]] = field(default_factory=dict)
    outputs: int = 0
    seconds: float = 0.0
    defects: dict[tuple[str, str, str], Defect] = field(default_factory=dict)
    covered: set[tuple[str, str, str]] = field(default_factory=set)
    streams: bool = False
    shrinking: int = 0
    interrupted: bool = False

    def run(self, seconds: float | None = None, outputs: int | None = None) -> Iterator[None]:
        """Search for this time or number of outputs, then shrink the bugs. Yield after each output and bug.

        Args:
            seconds: The time after which the search stops.
            outputs: The number of outputs after which the search stops.
        """
        started = time.monotonic()
        for number in range(outputs if outputs is not None else 10**12):
            self._try(number, started)
            self.seconds = time.monotonic() - started
            yield
            if (seconds is not None and self.seconds >= seconds) or len(self.defects) >= MOST_DEFECTS:
                break
        for defect in self.defects.values():
            self._shrink(defect)
            self.shrinking += 1
            yield

    def drawn(self, number: int) -> tuple[GeneratedOutput, list[str]]:
        """Return output number `number`, and a way to split it.

        Args:
            number: The number, from 0.
        """
        format = self.formats[number % len(self.formats)]
        chance = Random(f"{self.seed}/{format}/{number}")
        answer = draw_answer(chance, format, variants=self.variants.get(format) or ("",))
        return answer, draw_pieces(chance, answer.text, format)

    def _try(self, number: int, started: float) -> None:
        answer, pieces = self.drawn(number)
        broken, whole = broken_by(self.target, answer, (pieces,))
        self.outputs += 1
        self.streams = self.streams or (whole is not None and whole.streams)
        cuts = pieces if self.streams else ()
        self.covered |= {(answer.format, *mark) for mark in marks_covered(answer, cuts)}
        for one in broken:
            key = (one.invariant, one.kind, answer.format)
            way = one.pieces
            if key not in self.defects:
                self.defects[key] = Defect(*key, answer, way, number, time.monotonic() - started, broken=one)
                continue
            defect = self.defects[key]
            defect.times += 1
            if (way is None, -size_of(answer)) > (defect.way is None, -size_of(defect.answer)):
                self.defects[key] = replace(defect, answer=answer, way=way, broken=one)

    def _shrink(self, defect: Defect) -> None:
        most = _DEAR_SHRINKS if isinstance(self.target, CommandTarget) else _SHRINKS
        if (defect.invariant, defect.kind) == HANGS:
            most = _HANGS
        shrinker = Shrinker(self.target, (defect.invariant, defect.kind), most)
        answer, broken = shrinker.shrink(defect.answer, defect.way)
        defect.answer, defect.broken, defect.shrunk = answer, broken or defect.broken, broken is not None

    @property
    def coverage(self) -> dict[str, tuple[int, int]]:
        """How many of the formats' markers were tried in calls, in strings and cut, and out of how many."""
        every = sum(len(call_markers(format)) for format in self.formats)
        ways = ("in calls", "in strings", *(["cut"] if self.streams else []))
        return {way: (sum(one[2] == way for one in self.covered), every) for way in ways}

    def to_dict(self) -> dict[str, Any]:
        """Return the result, as `toolfmt dev fuzz --json` prints it."""
        return {
            "target": self.target.name,
            "version": self.target.version or None,
            "formats": list(self.formats),
            "seed": self.seed,
            "streams": self.streams,
            "outputs": self.outputs,
            "seconds": round(self.seconds, 3),
            "interrupted": self.interrupted,
            "markers": {way: list(counts) for way, counts in self.coverage.items()},
            "defects": [defect.to_dict() for defect in self.defects.values()],
        }
