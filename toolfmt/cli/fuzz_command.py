"""`toolfmt dev fuzz`: find the target, try outputs on it, print the bugs, return the exit status.

`toolfmt.cli.commands` creates a `Fuzzing` from the options.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

import click

from toolfmt.cli.output import check_printable, print_json, print_text, terminal
from toolfmt.cli.printing.fuzz import Searching, fuzzed_text
from toolfmt.errors import ToolfmtError
from toolfmt.formats import get
from toolfmt.formats.serialization.files import registered_format
from toolfmt.testing.fuzzing import Fuzz
from toolfmt.testing.targets import CommandTarget, InProcessTarget, target
from toolfmt.testing.usable import check_usable

_INTERRUPTED = 130
_USUAL_SECONDS = 60.0


@dataclass(frozen=True)
class Fuzzing:
    """The options, one field each. None, or empty, if not given."""

    given: str
    format_names: tuple[str, ...]
    seconds: float | None
    outputs: int | None
    seed: int
    timeout: float
    as_json: bool

    def status(self) -> int:
        """Search, print, and return the exit status (1 if there is a bug). Raises `ToolfmtError` and
        `click.UsageError`.
        """
        check_printable()
        chosen = [registered_format(name).name for name in self.format_names]
        tried = target(self.given, self.timeout)
        with tried:
            formats = self._formats(tried, chosen)
            check_usable(tried, formats)
            search = Fuzz(tried, formats, self.seed, variants=tried.variants)
            search.interrupted = self._broken_off(search)
        found = search.to_dict()
        if self.as_json:
            print_json(found)
        else:
            print_text(fuzzed_text(found, terminal()[1], timed=self.outputs is None))
        return _INTERRUPTED if search.interrupted else int(bool(search.defects))

    def _broken_off(self, search: Fuzz) -> bool:
        """Return whether the search was interrupted. What was found until then is kept."""
        seconds = _USUAL_SECONDS if self.seconds is None and self.outputs is None else self.seconds
        try:
            with Searching(seconds, sys.stderr is not None and sys.stderr.isatty()) as bar:
                for _ in search.run(seconds, self.outputs):
                    bar.update(search)
        except KeyboardInterrupt:
            return True
        return False

    def _formats(self, tried: InProcessTarget | CommandTarget, chosen: Sequence[str]) -> list[str]:
        """Return the formats whose outputs are tried. Raises `ToolfmtError` and `click.UsageError`."""
        if tried.is_toolfmt:
            if chosen and list(tried.formats) != list(chosen):
                raise click.UsageError(f"{self.given} is a format itself; leave --format out")
            return list(tried.formats)
        if chosen:
            return list(dict.fromkeys(chosen))
        if not tried.formats:
            raise click.UsageError(f"--format NAME is missing: the format of the outputs that {self.given} parses")
        try:
            return [get(name).name for name in tried.formats]
        except ToolfmtError as error:
            raise ToolfmtError(f"{self.given}: its `formats` name one that is none: {error}") from None
