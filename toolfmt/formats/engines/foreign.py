"""Calls in a notation that is not the family's, read and noted.

Models fall back to what they have seen elsewhere: other tags, a JSON object in the frame. What such a call looks like
is another engine's business. Where tools are given the name decides: only a declared one is called so. No writer uses
such a notation.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from toolfmt.formats.engines.call_builder import CallBuilder, Committed
from toolfmt.formats.engines.engine import Call, Engine, Inner, NameAtStart, TypesOf
from toolfmt.formats.scanner.lookahead import LookaheadExceeded, look_ahead
from toolfmt.formats.scanner.scanner import Malformed, Reading, Scan


@dataclass(frozen=True)
class Elsewhere:
    """The engine of the other notation, and the name under which its calls are noted."""

    engine: Engine
    note: str = "other_notation"

    @property
    def openers(self) -> tuple[str, ...]:
        return self.engine.openers

    @property
    def unframed_openers(self) -> tuple[str, ...]:
        return self.engine.unframed_openers

    @property
    def start_only_openers(self) -> tuple[str, ...]:
        return self.engine.start_only_openers

    @property
    def closers(self) -> tuple[str, ...]:
        return self.engine.closers

    @property
    def residue(self) -> tuple[str, ...]:
        return self.engine.residue

    @property
    def inner(self) -> Inner:
        return self.engine.inner

    @property
    def name_at_start(self) -> NameAtStart:
        return "never"

    @property
    def named(self) -> str:
        return ""

    def write(self, calls: Sequence[Call], types: TypesOf) -> str:
        return self.engine.write(calls, types)

    def read(self, scan: Scan, calls: CallBuilder, opener: str) -> Reading[None]:
        if not calls.committed:  # else the frame has been told apart: this is another call of it
            try:
                name = yield from look_ahead(scan, lambda view: self._name(view, calls, opener))
            except LookaheadExceeded:
                raise Malformed(expected="the name of a tool") from None
            if not name or calls.is_known(name) is False:
                raise Malformed(expected="the name of a declared tool")
        calls.tolerate_each(self.note)
        try:
            yield from self.engine.read(scan, calls, opener)
        finally:
            calls.tolerate_each("")

    def _name(self, scan: Scan, calls: CallBuilder, opener: str) -> Reading[str]:
        """The name of the first call, read no further than that."""
        naming = calls.dry_run(scan, "name")
        with suppress(Committed):
            yield from self.engine.read(scan, naming, opener)
        return naming.first or ""
