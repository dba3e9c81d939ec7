"""Several engines under one name: families that write calls in one way or another behind the same markers.

The opener decides; where several engines share it, a JSON object or a list of objects goes to the JSON object engine
and anything else to the first other. Calls are written by the first engine.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from toolfmt.formats.engines.call_builder import CallBuilder
from toolfmt.formats.engines.engine import Call, Engine, Inner, NameAtStart, TypesOf
from toolfmt.formats.engines.foreign import Elsewhere
from toolfmt.formats.engines.frame import follows
from toolfmt.formats.engines.json_object import JsonObject
from toolfmt.formats.scanner.literals import literals
from toolfmt.formats.scanner.scanner import Reading, Scan

_CONTROL = 4
"""An opener at least so long is a control token."""


@dataclass(frozen=True, init=False)
class Choice:
    """Takes the engines, the one that writes first."""

    engines: tuple[Engine, ...]

    def __init__(self, *engines: Engine) -> None:
        if not engines:
            raise ValueError("a choice needs at least one engine; the first writes the calls")
        object.__setattr__(self, "engines", engines)

    @cached_property
    def openers(self) -> tuple[str, ...]:
        return _each(engine.openers for engine in self.engines)

    @cached_property
    def unframed_openers(self) -> tuple[str, ...]:
        return _each(engine.unframed_openers for engine in self.engines)

    @cached_property
    def start_only_openers(self) -> tuple[str, ...]:
        return _each(engine.start_only_openers for engine in self.engines)

    @cached_property
    def closers(self) -> tuple[str, ...]:
        return _each(engine.closers for engine in self.engines)

    @cached_property
    def inner(self) -> Inner:
        inner = [engine.inner for engine in self.engines]
        return Inner(
            _each(one.openers for one in inner),
            _each(one.closers for one in inner),
            _each(one.skipped for one in inner),
        )

    @cached_property
    def residue(self) -> tuple[str, ...]:
        return _each(engine.residue for engine in self.engines)

    @property
    def named(self) -> str:
        return ""

    @cached_property
    def name_at_start(self) -> NameAtStart:
        return next((engine.name_at_start for engine in self.engines if engine.name_at_start != "never"), "never")

    def write(self, calls: Sequence[Call], types: TypesOf) -> str:
        return self.engines[0].write(calls, types)

    def read(self, scan: Scan, calls: CallBuilder, opener: str) -> Reading[None]:
        if len(opener) >= _CONTROL and (yield from follows(scan, opener)):
            calls.record_tolerance("repeated_opener")
        json, other = self._by_opener[opener or (yield from self._bare(scan))]
        engine = json if json is other or (yield from _json_stands(scan)) else other
        yield from engine.read(scan, calls, opener)

    @cached_property
    def _by_opener(self) -> Mapping[str, tuple[Engine, Engine]]:
        """By what calls begin with, the empty text for their name: the engine that reads JSON, and the other; the
        first of those that there are stands for both where they do not differ in that."""
        engines_by_opener = {}
        for opening in (*self.openers, *self.unframed_openers, ""):
            named = not opening
            engines = [
                engine
                for engine in self.engines
                if (
                    engine.name_at_start != "never" if named else opening in (*engine.openers, *engine.unframed_openers)
                )
            ]
            if engines:
                of_json = [engine for engine in engines if _reads_json(engine)]
                others = [engine for engine in engines if not _reads_json(engine)]
                engines_by_opener[opening] = (of_json or others)[0], (others or of_json)[0]
        return engines_by_opener

    def _bare(self, scan: Scan) -> Reading[str]:
        """What a call without its frame begins with, unread."""
        here = scan.position
        begins = yield from scan.literal(literals(*self.unframed_openers))
        scan.rewind(here)
        return begins


def _each(texts: Iterable[Iterable[str]]) -> tuple[str, ...]:
    """Every text once, in the order in which they first come."""
    return tuple(dict.fromkeys(text for some in texts for text in some))


def _reads_json(engine: Engine) -> bool:
    return isinstance(engine.engine if isinstance(engine, Elsewhere) else engine, JsonObject)


def _json_stands(scan: Scan) -> Reading[bool]:
    """Whether a JSON object, a list of objects or a fence stands here behind blanks, unread."""
    here = scan.position
    yield from scan.skip_spaces()
    first = yield from scan.peek()
    if first == "[":
        scan.skip()
        yield from scan.skip_spaces()
        first = yield from scan.peek()
    scan.rewind(here)
    return first in ("{", "`")
