"""Several engines under one name: families that write calls in one way or another behind the same markers.

The opener decides; where several engines share it, a JSON object or a list of objects goes to the JSON object engine
and anything else to the first other. Calls are written by the first engine.
"""

from __future__ import annotations

from collections.abc import Sequence

from toolfmt.formats.calls import Calls
from toolfmt.formats.elsewhere import Elsewhere
from toolfmt.formats.format import Call, Engine, Inner, NamedFirst, TypesOf
from toolfmt.formats.frames import follows
from toolfmt.formats.json_object import JsonObject
from toolfmt.formats.scan import Reading, Scan, stops

_CONTROL = 4
"""An opener at least so long is a control token."""


class Choice:
    """Takes the engines, the one that writes first."""

    def __init__(self, *engines: Engine) -> None:
        self._engines = engines
        self.openers = tuple(dict.fromkeys(opener for engine in engines for opener in engine.openers))
        self.bare = tuple(dict.fromkeys(opener for engine in engines for opener in engine.bare))
        self.leading = tuple(dict.fromkeys(opener for engine in engines for opener in engine.leading))
        self.inner = Inner(
            tuple(dict.fromkeys(opener for engine in engines for opener in engine.inner.openers)),
            tuple(dict.fromkeys(closer for engine in engines for closer in engine.inner.closers)),
            tuple(dict.fromkeys(mark for engine in engines for mark in engine.inner.skipped)),
        )
        self.residue = tuple(dict.fromkeys(text for engine in engines for text in engine.residue))
        self.closers = tuple(dict.fromkeys(closer for engine in engines for closer in engine.closers))
        self.named = ""
        self.named_first: NamedFirst = next((e.named_first for e in engines if e.named_first != "never"), "never")

    def write(self, calls: Sequence[Call], types: TypesOf) -> str:
        return self._engines[0].write(calls, types)

    def read(self, scan: Scan, calls: Calls, opener: str) -> Reading[None]:
        if opener:
            if len(opener) >= _CONTROL and (yield from follows(scan, opener)):
                calls.tolerate("repeated_opener")
            engines = [engine for engine in self._engines if opener in engine.openers]
        else:
            here = scan.position
            begins = yield from scan.literal(stops(*self.bare))
            scan.rewind(here)
            engines = [
                engine
                for engine in self._engines
                if (begins in engine.bare if begins else engine.named_first != "never")
            ]
        engine = engines[0]
        if len(engines) > 1:
            json = yield from _json_stands(scan)
            engine = next((engine for engine in engines if _reads_json(engine) is json), engine)
        yield from engine.read(scan, calls, opener)


def _reads_json(engine: Engine) -> bool:
    return isinstance(engine.engine if isinstance(engine, Elsewhere) else engine, JsonObject)


def _json_stands(scan: Scan) -> Reading[bool]:
    """Whether a JSON object or a list of objects stands here, unread."""
    here = scan.position
    yield from scan.skip_spaces()
    first = yield from scan.peek()
    if first == "[":
        scan.skip()
        yield from scan.skip_spaces()
        first = yield from scan.peek()
    fenced = first == "`"
    scan.rewind(here)
    return first == "{" or fenced
