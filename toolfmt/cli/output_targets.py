"""The values of `--output-format`: which formats are written, and where. `report_outputs.py` writes them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

import click

from toolfmt.cli.output import STANDARD_OUTPUT

FORMATS = ("text", "json", "sarif", "html", "markdown", "github", "junit")


@dataclass(frozen=True)
class Target:
    """A format and the file to write. None is standard output."""

    format: str
    file: str | None = None

    def __str__(self) -> str:
        return self.format if self.file is None else f"{self.format}={self.file}"


def targets(ctx: click.Context, param: click.Parameter, values: Sequence[str]) -> tuple[Target, ...]:
    """The targets of the values FORMAT and FORMAT=FILE; the callback of the option."""
    found = []
    for value in values:
        format, equals, file = value.partition("=")
        if format not in FORMATS:
            raise click.BadParameter(f"{format[:20]!r} is not one of {', '.join(FORMATS)}", ctx, param)
        if equals and not file:
            raise click.BadParameter(f"{format}= has no file name; give {format}=FILE or {format}", ctx, param)
        target = Target(format, None if not file or file == "-" or file in STANDARD_OUTPUT else file)
        if target == Target("html"):
            raise click.BadParameter("html needs a file; give html=FILE", ctx, param)
        found.append(target)
    return tuple(found)


def check_targets(chosen: Sequence[Target]) -> None:
    """Raise `click.UsageError` if two targets write to the same file or to standard output."""
    by_place: dict[str | None, Target] = {}
    for target in chosen:
        place = None if target.file is None else os.path.realpath(target.file)
        if place in by_place:
            where = "standard output" if place is None else target.file
            both = f"{by_place[place].format} and {target.format}"
            raise click.UsageError(f"{both} cannot both go to {where}; write one to a file: {target.format}=FILE")
        by_place[place] = target
