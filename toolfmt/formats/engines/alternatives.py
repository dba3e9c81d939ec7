"""Several engines as one: for formats that write calls in more than one syntax after the same markers.

The start marker selects the engine. If several engines share it, a JSON object or a list of objects goes to the JSON
object engine, and anything else to the other engine whose start marker of a single call follows, or else to the first
other engine. The first engine writes the calls.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from toolfmt.formats.engines.call_builder import CallBuilder
from toolfmt.formats.engines.engine import Engine, Inner, NameAtStart
from toolfmt.formats.engines.foreign import Elsewhere
from toolfmt.formats.engines.frame import follows
from toolfmt.formats.engines.json_object import JsonObject
from toolfmt.formats.scanner.literals import literals
from toolfmt.formats.scanner.scanner import Reading, Scan
from toolfmt.formats.values.layout import Call, TypesOf, layout_of
from toolfmt.formats.values.nodes import Node


@dataclass(frozen=True, init=False)
class Choice:
    """An engine that delegates to one of several engines; the first of them writes the calls."""

    engines: tuple[Engine, ...]

    def __init__(self, *engines: Engine) -> None:
        if not engines:
            raise ValueError("a choice needs at least one engine; the first writes the calls")
        object.__setattr__(self, "engines", engines)

    @cached_property
    def openers(self) -> tuple[str, ...]:
        return _unique(engine.openers for engine in self.engines)

    @cached_property
    def unframed_openers(self) -> tuple[str, ...]:
        return _unique(engine.unframed_openers for engine in self.engines)

    @cached_property
    def start_only_openers(self) -> tuple[str, ...]:
        return _unique(engine.start_only_openers for engine in self.engines)

    @cached_property
    def closers(self) -> tuple[str, ...]:
        return _unique(engine.closers for engine in self.engines)

    @cached_property
    def inner(self) -> Inner:
        inner = [engine.inner for engine in self.engines]
        return Inner(
            _unique(one.openers for one in inner),
            _unique(one.closers for one in inner),
            _unique(one.skipped for one in inner),
        )

    @cached_property
    def trailing_markers(self) -> tuple[str, ...]:
        return _unique(engine.trailing_markers for engine in self.engines)

    @property
    def named(self) -> str:
        return ""

    @cached_property
    def name_at_start(self) -> NameAtStart:
        return next((engine.name_at_start for engine in self.engines if engine.name_at_start != "never"), "never")

    @property
    def layout(self) -> Node:
        return layout_of(self.engines[0])

    def write(self, calls: Sequence[Call], types: TypesOf) -> str:
        return self.engines[0].write(calls, types)

    def read(self, scan: Scan, calls: CallBuilder, opener: str) -> Reading[None]:
        json, others = self._engines_by_opener[opener or (yield from self._unframed_opener(scan))]
        engine = json
        if json is others.first or not (yield from _json_follows(scan, calls, json)):
            engine = yield from others.of_call(scan)
        yield from engine.read(scan, calls, opener)

    @cached_property
    def _engines_by_opener(self) -> Mapping[str, tuple[Engine, _Others]]:
        """By start marker, the engine for JSON and the engines for anything else.

        The key is an empty string for a call that starts with its name. If all engines of a start marker parse JSON, or
        none does, the first of them is both.
        """
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
                of_json = [engine for engine in engines if _parses_json(engine)]
                others = [engine for engine in engines if not _parses_json(engine)]
                engines_by_opener[opening] = (of_json or others)[0], _Others(others or of_json[:1])
        return engines_by_opener

    def _unframed_opener(self, scan: Scan) -> Reading[str]:
        """Return the one of `unframed_openers` that is here, without consuming it; an empty string if there is none."""
        here = scan.position
        opener = yield from scan.literal(literals(*self.unframed_openers))
        scan.rewind(here)
        return opener


class _Others:
    """The engines for anything but JSON after the same start marker."""

    def __init__(self, engines: Sequence[Engine]) -> None:
        self.first = engines[0]
        self._by_opener: dict[str, Engine] = {}
        """By start marker of a single call."""
        for engine in engines if len(engines) > 1 else ():
            for opener in engine.inner.openers:
                self._by_opener.setdefault(opener, engine)

    def of_call(self, scan: Scan) -> Reading[Engine]:
        """Return the engine whose start marker of a single call follows, or the first one. Nothing is consumed."""
        if not self._by_opener:
            return self.first
        here = scan.position
        found = yield from follows(scan, *self._by_opener)
        scan.rewind(here)
        return self._by_opener.get(found, self.first)


def _unique(groups: Iterable[Iterable[str]]) -> tuple[str, ...]:
    """Return the strings of all groups without duplicates, in order of first appearance."""
    return tuple(dict.fromkeys(text for group in groups for text in group))


def _parses_json(engine: Engine) -> bool:
    return isinstance(engine.engine if isinstance(engine, Elsewhere) else engine, JsonObject)


def _json_follows(scan: Scan, calls: CallBuilder, json: Engine) -> Reading[bool]:
    """Return whether a JSON object, a list of objects or a code fence follows after whitespace, without consuming it.

    A fence counts because the JSON object engine accepts its object in a Markdown code fence. So does text before the
    object of a call, which that engine skips.
    """
    here = scan.position
    yield from scan.skip_spaces()
    first = yield from scan.peek()
    if first == "[":
        scan.skip()
        yield from scan.skip_spaces()
        first = yield from scan.peek()
    scan.rewind(here)
    if first in ("{", "`"):
        return True
    engine = json.engine if isinstance(json, Elsewhere) else json
    return isinstance(engine, JsonObject) and bool((yield from engine.text_before_call(scan, calls)))
