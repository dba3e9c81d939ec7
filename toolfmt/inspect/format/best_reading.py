"""Find the known format that reads most of a template's calls back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from toolfmt.errors import TemplateError
from toolfmt.formats import ToolCallFormat, default_format, formats
from toolfmt.inspect.format.read_back import (
    SINGLE_CALL,
    SPECIAL,
    TYPED_CALL,
    RoundTrip,
    may_start,
    render_calls,
    rendered_variant,
    trials,
    try_calls,
)
from toolfmt.inspect.probe.capabilities import Probed
from toolfmt.inspect.probe.conversations import SINGLE, TOOLS
from toolfmt.inspect.probe.renders import Region, Renders
from toolfmt.inspect.report.report import Evidence
from toolfmt.inspect.report.turn_shape import TurnShape

_Rank: TypeAlias = tuple[bool, bool, bool, bool, int, bool]


@dataclass(frozen=True)
class ReadBack:
    """The results of reading a template's calls in this shape back in one format."""

    format: ToolCallFormat
    shape: TurnShape
    trials: tuple[RoundTrip, ...]
    variant: str | None = None
    """The variant of the format that writes what the template renders.

    None if it writes it differently, or for a derived format.
    """

    @property
    def exact(self) -> int:
        return sum(trial.exact for trial in self.trials)

    @property
    def complete(self) -> bool:
        return self.exact == len(self.trials)

    @property
    def verified(self) -> bool:
        return {SINGLE_CALL, TYPED_CALL} <= {trial.kind for trial in self.trials if trial.exact}

    @property
    def tolerated(self) -> tuple[str, ...]:
        return tuple(sorted({name for trial in self.trials if trial.kind != SPECIAL for name in trial.tolerated}))

    def evidence(self) -> Evidence:
        """Return how many kinds of call were parsed back exactly (`5/5 round trips`), and which were not."""
        return Evidence(
            "verified",
            self.format.name,
            f"{self.exact}/{len(self.trials)} round trips",
            tuple(f"{trial.kind} ({trial.detail})" for trial in self.trials if not trial.exact),
            self.tolerated,
            next((trial.beyond for trial in self.trials if trial.beyond), ""),
        )


def best_reading(
    renders: Renders, probed: Probed, signed: tuple[ToolCallFormat, ...], typed: tuple[ToolCallFormat, ...]
) -> tuple[Region, ReadBack | None]:
    """Return the rendered call, and the format that reads most calls back; `_rank` decides between several."""
    shape = probed.shape
    assert shape is not None
    region = renders.calls(shape, SINGLE, TOOLS)
    assert isinstance(region, Region)
    best = _best_in_shape(renders, shape, probed.parallel, signed, typed)
    other = _other_form(shape, probed)
    if other is not None and (best is None or not best.complete):
        best = max(
            filter(None, (best, _best_in_shape(renders, other, probed.parallel, signed, typed))),
            key=lambda reading: (reading.exact, _rank(reading, signed, typed)),
            default=None,
        )
    return region, best


def _best_in_shape(
    renders: Renders,
    shape: TurnShape,
    parallel: bool,
    signed: tuple[ToolCallFormat, ...],
    typed: tuple[ToolCallFormat, ...],
) -> ReadBack | None:
    """Return the format that reads back most of the calls in this shape; None if none reads the single call.

    Formats are tried in the order of the rank that they can reach, so that most need not be tried.
    """
    region, _ = render_calls(renders, shape, SINGLE)
    if isinstance(region, TemplateError):
        return None
    candidates: list[tuple[tuple[_Rank, int], bool, ReadBack]] = []
    for position, format in enumerate(formats()):
        if not may_start(format, region):
            continue  # most formats: parsing the call would take most of the time of an inspection
        bears = any(format.name == other.name for other in signed)
        single = try_calls(renders, format, shape, SINGLE_CALL, SINGLE, bears)
        if single.exact:
            variant = rendered_variant(renders, format, shape, parallel=parallel)
            reading = ReadBack(format, shape, (single,), variant)
            candidates.append(((_rank(reading, signed, typed), -position), bears, reading))
    best: tuple[tuple[_Rank, int], ReadBack] | None = None
    for reachable, bears, candidate in sorted(candidates, key=lambda one: one[0], reverse=True):
        if best is not None and best[1].complete and reachable < best[0]:
            break
        tried = trials(renders, candidate.format, shape, parallel=parallel, signed=bears)
        reading = replace(candidate, trials=tuple(tried))
        key = (_rank(reading, signed, typed), reachable[1])
        if best is None or (reading.exact, key) > (best[1].exact, best[0]):
            best = key, reading
    return None if best is None else best[1]


def _rank(reading: ReadBack, signed: Sequence[ToolCallFormat], typed: Sequence[ToolCallFormat]) -> _Rank:
    """Return the sort key of formats that read back equally well.

    In order: whether the syntax is the format's own, whether the format writes what the template renders, the model
    type, the signature, the number of tolerances, and whether it is the most common format.
    """
    name = reading.format.name
    listed, bears = (any(name == format.name for format in formats) for formats in (typed, signed))
    own = "other_notation" not in reading.tolerated
    return own, reading.variant is not None, listed, bears, -len(reading.tolerated), name == default_format().name


def _other_form(shape: TurnShape, probed: Probed) -> TurnShape | None:
    """Return the shape with the other form of the arguments if the template accepts that too, else None."""
    other: Literal["object", "string"] = "string" if shape.arguments == "object" else "object"
    takes = probed.capabilities[f"arguments_{other}"].answer == "yes"
    return replace(shape, arguments=other) if takes else None
