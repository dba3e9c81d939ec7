"""Calls in the syntax of any known format: what the own engine of a format cannot read, the engine of another may.

The own engine reads first. If it finds no call, the engines of the other formats are tried that have calls with the
same start. Only a call of a declared tool counts, so text is not taken for a call because it looks like one. Such a
call is recorded as `foreign_format`. `auto` has no own engine.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NoReturn

from toolfmt.formats.engines.call_builder import CallBuilder
from toolfmt.formats.engines.engine import Engine, Inner, NameAtStart
from toolfmt.formats.engines.frame import MIN_CONTROL_TOKEN, follows
from toolfmt.formats.engines.json_object import JsonObject
from toolfmt.formats.format import COMMON_REASONING, ToolCallFormat
from toolfmt.formats.known import KNOWN
from toolfmt.formats.markers import CODE, Markers, ScanTargets, scan_targets
from toolfmt.formats.parser.foreign_starts import ForeignTargets, foreign_starts
from toolfmt.formats.parser.place import A_CALL, Place
from toolfmt.formats.parser.recovery import Recovery
from toolfmt.formats.parser.syntaxes import Syntax, syntaxes
from toolfmt.formats.scanner.literals import Literals, literals
from toolfmt.formats.scanner.scanner import Malformed, NoCall, Reading, Scan
from toolfmt.formats.values.layout import Call, TypesOf

FOREIGN = "foreign_format"
_REPEATED = "repeated_opener"
_COMPARED = 40
"""Number of characters after the name in which two syntaxes of the same start are compared."""
_CODE = literals(CODE)
_FENCE_INFO, _IN_LINE = re.compile(r"[\w+.-]*"), re.compile(r"[ \t\r]*")
_BRACKETS = "<["
"""First characters of markers that ordinary text does not contain."""


@dataclass(frozen=True, eq=False)
class Fallback:
    """The engine of a format, or none, and those of all others.

    Args:
        own: The engine of the format; None for `auto`.
        names: The names of the declared tools; None if no tools were given.
        tokens: If not empty, a call must start with a marker that contains one of these strings.
    """

    own: Engine | None
    names: tuple[str, ...] | None
    tokens: frozenset[str] = frozenset()

    @cached_property
    def _frames(self) -> Literals:
        """The start markers of the frames of the format, with a token if `tokens`; for `auto`, of all formats."""
        long = (opener for opener in self.openers if len(opener) >= MIN_CONTROL_TOKEN)
        return literals(*filter(self.may_start, long))

    def may_start(self, start: str) -> bool:
        """Whether a call may start with this text. The header of a message may begin in the prompt, without a token."""
        headless = start.lstrip() in self.start_only_openers
        return headless or not self.tokens or any(token in start for token in self.tokens)

    @cached_property
    def starts(self) -> Literals:
        """Everything that a call without a frame of the own format may start with."""
        return foreign_starts(self.names or ())

    def read(self, scan: Scan, calls: CallBuilder, opener: str) -> Reading[None]:
        """Parse the calls of one frame, as `Engine.read`; or frames in a code fence, with the fence."""
        if opener or (scan.at < len(scan.text) and scan.text[scan.at] != CODE[0]):
            return self._read(scan, calls, opener)
        return self._read_fence(scan, calls)

    def _read_fence(self, scan: Scan, calls: CallBuilder) -> Reading[None]:
        """Parse frames in a code fence, or calls without a frame."""
        here = scan.position
        fenced = yield from self._skip_fence_line(scan)
        if not fenced:
            yield from self._read(scan, calls, "")
            return
        try:
            while fenced:
                calls.record_tolerance("markdown_fence")
                yield from self._read(scan, calls, fenced)
                end = scan.position
                yield from scan.skip_spaces()
                fenced = yield from scan.literal(self._frames)
                if fenced:
                    calls.begin_at(end)
            if not (yield from scan.literal(_CODE)) and (yield from scan.peek()):
                raise Malformed(expected="the end of the code fence")
        except Malformed:
            if calls.committed:
                raise
            calls.forget_attempt()
            scan.rewind(here)
            yield from self._read(scan, calls, "")

    def _skip_fence_line(self, scan: Scan) -> Reading[str]:
        """Read the first line of a code fence and the start marker of a frame after it. Return the marker; if there is
        none, return "" and read nothing."""
        here = scan.position
        if (yield from scan.literal(_CODE)):
            yield from scan.take_while(_FENCE_INFO)
            yield from scan.take_while(_IN_LINE)
            if (yield from scan.peek()) == "\n":
                yield from scan.skip_spaces()
                if found := (yield from scan.literal(self._frames)):
                    return found
        scan.rewind(here)
        return ""

    def _read(self, scan: Scan, calls: CallBuilder, opener: str) -> Reading[None]:
        """Parse the calls of one frame."""
        repeated = len(opener) >= MIN_CONTROL_TOKEN and bool((yield from follows(scan, opener)))
        if repeated:
            calls.record_tolerance(_REPEATED)
        here = scan.position
        begin, start = here - len(opener), opener
        known = bool(opener) or calls.committed  # a copy parses a later call of a frame
        if not known:
            start = yield from scan.literal(self.starts)
            scan.rewind(begin)
        only_own = not (self.may_start(start) or calls.committed)
        if only_own and not calls.name_at_start:
            raise Malformed(expected=A_CALL)
        wrong = None
        own = None if calls.foreign else self.own
        if own is not None and (known or (yield from self._own_starts(scan, calls, own, start))):
            try:
                yield from own.read(scan, calls, opener)
                return
            except NoCall:
                raise
            except Malformed as error:
                if calls.committed:
                    raise
                wrong = error
                wrong.at = scan.position if error.at is None else error.at
        stopped, attempt = scan.position, calls.forget_attempt()
        scan.rewind(here)
        place = Place(scan, calls, start, begin, here)
        syntax = None if only_own else calls.foreign or (yield from self._choose(place))
        if syntax is None:
            scan.skip(stopped - here)
            calls.restore_attempt(attempt)
            raise Malformed(wrong.reason, wrong.expected, wrong.at) if wrong else Malformed(expected=A_CALL)
        yield from place.skip_to(syntax)
        calls.begin_foreign(syntax, syntax.text)
        if self.own is not None or syntax in syntaxes().name_tag:  # no format has these tags
            calls.tolerate_each(f"{FOREIGN}:{syntax.name}")
        if repeated:
            calls.record_tolerance(_REPEATED)
        try:
            while (yield from self._read_frame(scan, calls, syntax)):
                calls.begin()
        finally:
            calls.tolerate_each("")

    def _read_frame(self, scan: Scan, calls: CallBuilder, syntax: Syntax) -> Reading[bool]:
        """Parse a frame in another syntax. Return whether another call of it follows a malformed one."""
        begin = scan.position
        try:
            yield from syntax.engine.read(scan, calls, syntax.opener)
        except Malformed as wrong:
            wrong.at = scan.position if wrong.at is None else wrong.at
            if not calls.committed or not syntax.opener:
                raise
            wrong.resumed = True
            if not (yield from Recovery(syntax.format, scan, calls, self.tokens).resume(begin, attempted=False)):
                raise
            calls.reject(wrong.reason, wrong.expected, wrong.at)
            calls.begin_foreign(syntax, syntax.text)
            return True
        while (yield from follows(scan, *syntax.format.markers.repeated_ends)):
            pass
        return False

    def _own_starts(self, scan: Scan, calls: CallBuilder, own: Engine, start: str) -> Reading[bool]:
        """Whether a call without a frame of the own format may start with this text."""
        if not start or start.startswith(own.unframed_openers or "\0"):
            return True
        if start == CODE:
            return bool(own.named)
        if start not in (self.names or ()):
            return False
        if calls.name_at_start:
            return True
        here = scan.position
        scan.skip(len(start))
        is_call = bool(own.named) and (yield from scan.peek()) == own.named
        scan.rewind(here)
        return is_call

    def _choose(self, place: Place) -> Reading[Syntax | None]:
        """Return the syntax of the call that starts here; None if no declared tool is called in any. Consume nothing.

        An undeclared tool counts for `auto` after the control token of a frame, so that the call is rejected.
        """
        found: list[tuple[Syntax, int]] = []
        undeclared: Syntax | None = None
        tag_follows = bool(place.start) and place.here > place.begin and (yield from place.scan.peek()) == "<"
        for syntax in (yield from self._candidates(place.scan, place.start)):
            if tag_follows and isinstance(syntax.engine, JsonObject) and syntax.text == place.start:
                continue  # no JSON follows
            name, length = yield from place.first_name(syntax)
            if name and place.calls.is_known(name) is not False:
                found.append((syntax, length))
            elif name and self.own is None and len(syntax.opener) >= MIN_CONTROL_TOKEN:
                undeclared = undeclared or syntax
        if not found:
            return undeclared
        best = found[0][0]
        if len(found) > 1:
            costs = []
            for syntax, length in found:
                costs.append((yield from place.cost(syntax, length + _COMPARED)))
            best = found[costs.index(min(costs))][0]
        of_other_format = self.own is not None and place.start not in self.own.openers
        if best.alone or of_other_format or not best.opener:
            ends_line = best.alone or (of_other_format and bool(best.opener))
            if not (yield from place.is_alone(best, self.starts, ends_line=ends_line)):
                return None
        return best

    def _candidates(self, scan: Scan, start: str) -> Reading[Sequence[Syntax]]:
        known = syntaxes()
        found = known.of(start, messages=self.own is None)
        if self.names is None:
            return [syntax for syntax in found if syntax.opener and (self.own is None or start in self.own.openers)]
        if start in self.names:
            here = scan.position
            scan.skip(len(start))
            yield from scan.skip_spaces()
            following = yield from scan.peek()
            scan.rewind(here)
            return [*found, *known.of_name(following)]
        if start[:1] == "<" and start[1:-1] in self.names:
            return [*found, *known.name_tag]
        return found

    # --- what the driver needs of an engine

    @property
    def openers(self) -> tuple[str, ...]:
        return tuple(syntaxes().framed) if self.own is None else self.own.openers

    @property
    def unframed_openers(self) -> tuple[str, ...]:
        return tuple(syntaxes().unframed) if self.own is None else self.own.unframed_openers

    @property
    def start_only_openers(self) -> tuple[str, ...]:
        return tuple(syntaxes().start_only) if self.own is None else self.own.start_only_openers

    @cached_property
    def closers(self) -> tuple[str, ...]:
        return _control_tokens("closers") if self.own is None else self.own.closers

    @property
    def inner(self) -> Inner:
        return Inner() if self.own is None else self.own.inner

    @cached_property
    def trailing_markers(self) -> tuple[str, ...]:
        return _control_tokens("trailing_markers") if self.own is None else self.own.trailing_markers

    @property
    def name_at_start(self) -> NameAtStart:
        return "never" if self.own is None else self.own.name_at_start

    @property
    def named(self) -> str:
        return "" if self.own is None else self.own.named

    def write(self, calls: Sequence[Call], types: TypesOf) -> str:
        if self.own is None:
            _auto_writes_nothing()
        return self.own.write(calls, types)


def _auto_writes_nothing() -> NoReturn:
    raise ValueError("auto only parses; name the format in which to write calls")


def _control_tokens(kind: str) -> tuple[str, ...]:
    found = (marker for format in KNOWN for marker in getattr(format.engine, kind))
    return tuple(dict.fromkeys(marker for marker in found if len(marker) >= MIN_CONTROL_TOKEN))


AUTO = ToolCallFormat(
    name="auto",
    engine=Fallback(None, ()),
    page="Not a format: calls in the syntax of any known format are parsed, for outputs of an unknown model.",
    reasoning=tuple(
        dict.fromkeys(
            (*COMMON_REASONING, *(pair for format in KNOWN for pair in format.reasoning if pair[0][0] in _BRACKETS))
        )
    ),
    ignored_markers=tuple(
        dict.fromkeys(
            marker
            for format in KNOWN
            for marker in format.ignored_markers
            if marker[0] in _BRACKETS and marker not in syntaxes().framed
        )
    ),
)
"""`format="auto"`."""


def _is_auto(format: ToolCallFormat) -> bool:
    """Whether a format is `AUTO`, perhaps after it was sent to another process."""
    return isinstance(format.engine, Fallback)


class _Readings:
    """Engines and literals of one format for the last sets of tools."""

    def __init__(self, format: ToolCallFormat) -> None:
        self.of_names = lru_cache(maxsize=32)(self._of_names)
        self._format = format

    def _of_names(self, names: tuple[str, ...] | None, tokens: frozenset[str]) -> tuple[Fallback, ScanTargets]:
        format = self._format
        engine = Fallback(None if _is_auto(format) else format.engine, names, tokens)
        if names or _is_auto(format):
            targets: ScanTargets = ForeignTargets(format.markers, names or ())
        else:
            targets = ScanTargets(format.markers) if tokens else scan_targets(format.markers)
        if tokens:
            # Frames may be in a code fence, and a name at the start of the output, if its header is in the prompt.
            others = {CODE, *(names or () if format.name_at_start == "usual" else ())}
            targets.calls = frozenset(start for start in targets.calls if start in others or engine.may_start(start))
        return engine, targets


@lru_cache(maxsize=256)
def _readings(markers: Markers) -> list[_Readings]:
    """Return a list with the readings of the format of these markers, once there are any."""
    return []


def reading_of(
    format: ToolCallFormat, schemas: Mapping[str, object] | None, tokens: frozenset[str] = frozenset()
) -> tuple[Engine, ScanTargets]:
    """Return the engine that reads an output of a format, and the literals to search for in it.

    Args:
        format: The format.
        schemas: The schemas of the declared tools by name; None if no tools were given.
        tokens: If not empty, a call must start with a marker that contains one of these strings.
    """
    readings = _readings(format.markers)
    if not readings:
        readings.append(_Readings(format))
    return readings[0].of_names(None if schemas is None else tuple(schemas), tokens)
