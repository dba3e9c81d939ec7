"""The tagged engine: a name, then keys and raw values between tags.

A raw value is anything up to its closer, and only the tool's schema tells what it is. A closer counts only where a
token follows that may follow it; any other is part of the value. A value that is a string for certain leaves as it
arrives; one that may still turn out to be a number, a word or a JSON text is held until that is clear.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from toolfmt.formats.bodies import Raw, escaped, quoted
from toolfmt.formats.calls import Calls
from toolfmt.formats.format import Call, TypesOf
from toolfmt.formats.frames import close_frame, follows, read_name
from toolfmt.formats.scan import Incomplete, Malformed, Reading, Scan, Stops, stops
from toolfmt.formats.typed import STRING, Types, may_be_literal, typed
from toolfmt.formats.values import LITERAL, read_value

_TAGGED_NAME = re.compile(r"[^\s<>]*")
_LITERAL_WORD = re.compile(r"[\w.+-]*")


@dataclass(frozen=True)
class Tagged:
    """The tags of a family, and the blanks with which its templates write them.

    `opener` and `closer` frame the calls; `name_opener` and `name_closer` stand around the name and `call_closer` ends
    the call (each may be empty: the name then runs to the next tag, and the frame holds one call). `line` is what
    stands between value and tags and belongs to neither (one newline, or nothing).
    """

    opener: str
    closer: str
    key_opener: str
    key_closer: str
    value_opener: str
    value_closer: str
    name_opener: str = ""
    name_closer: str = ""
    call_closer: str = ""
    line: str = ""
    between: str = "\n"

    @property
    def openers(self) -> tuple[str, ...]:
        return (self.opener,)

    @property
    def bare(self) -> tuple[str, ...]:
        return (self.name_opener,) if self.name_opener else ()

    @property
    def closers(self) -> tuple[str, ...]:
        return (self.closer,)

    @property
    def _ends(self) -> tuple[str, ...]:
        """What may end a call: its own closer where it has one, and the frame's."""
        return (self.call_closer, self.closer) if self.call_closer else (self.closer,)

    # --- writing

    def write(self, calls: Sequence[Call], types: TypesOf) -> str:
        return self.between.join(self._written(name, arguments, types) for name, arguments in calls)

    def _written(self, name: str, arguments: Mapping[str, Any], types: TypesOf) -> str:
        lead = self.between if self.name_opener else ""
        lines = [self.opener + lead + self.name_opener + name + self.name_closer]
        for key, value in arguments.items():
            text = self.line + raw_text(value, types(name, key)) + self.line
            pair = self.key_opener + key + self.key_closer + self.value_opener + text + self.value_closer
            lines.append(self._apart(pair))
        if self.call_closer:
            lines.append(self.call_closer)
        elif not arguments:
            return lines[0] + self.closer
        return self.between.join([*lines, self.closer])

    def _apart(self, pair: str) -> str:
        if self.value_opener and self.between:
            return pair.replace(
                self.key_closer + self.value_opener, self.key_closer + self.between + self.value_opener, 1
            )
        return pair

    # --- reading

    def read(self, scan: Scan, calls: Calls, opener: str) -> Reading[None]:
        if not opener:
            calls.tolerate("missing_opener")
        yield from scan.skip_spaces()
        if self.name_opener:
            yield from scan.expect(self.name_opener)
        while True:
            end = yield from self._call(scan, calls, framed=bool(opener))
            calls.end()
            if end == self.closer:
                if self.call_closer:
                    calls.tolerate("missing_closer")
                return
            here = scan.position
            if not self.name_opener or not (yield from follows(scan, self.name_opener)):
                break
            calls.begin_at(here)
        yield from close_frame(scan, calls, opener, self.closer)

    def _call(self, scan: Scan, calls: Calls, framed: bool) -> Reading[str]:
        """One call, from its name on; returns the closer that ended it, read."""
        name = yield from scan.take_while(_TAGGED_NAME) if self.name_closer else read_name(scan)
        if self.name_closer:
            yield from scan.expect(self.name_closer)
        certain = framed and bool(self.name_closer)
        if certain:
            calls.start(name)
        if not name:
            yield from scan.need()
            raise Malformed
        yield from scan.skip_spaces()
        token = yield from scan.expect(self.key_opener, *self._ends)
        if not certain:
            calls.start(name)
        calls.arguments("{")
        separator, keys = "", set[str]()
        while token == self.key_opener:
            key, closed = yield from scan.until(stops(self.key_closer))
            if not closed:
                raise Incomplete
            key = key.strip()
            if "\n" in key or "<" in key:
                raise Malformed  # the closer of the key's tag is missing
            if key in keys:
                calls.tolerate("duplicate_key")
            keys.add(key)
            calls.arguments(f"{separator}{quoted(key)}: ")
            separator = ", "
            if self.value_opener:
                yield from scan.skip_spaces()
                yield from scan.expect(self.value_opener)
            token = yield from self._value(scan, calls, calls.types(key))
        calls.arguments("}")
        return token

    def _value(self, scan: Scan, calls: Calls, types: Types) -> Reading[str]:
        """A raw value and its closer; returns the token that follows, read."""
        line = (yield from scan.literal(stops("\n", "\r\n"))) if self.line else ""
        closers = (line + self.value_closer, self.value_closer) if line else _with_line(self.line, self.value_closer)
        following = (self.key_opener, *self._ends)
        value = _Value(scan, calls, tuple(dict.fromkeys(closers)), following, (self.opener, *self.bare), self.closer)
        first = yield from scan.need()
        if types is not None and not types & STRING and first in "{[" and types & {"object", "array"}:
            return (yield from self._read(scan, calls))
        if types is not None and not types & STRING:
            return (yield from value.held(types))
        if types == STRING or not may_be_literal(types, first):
            return (yield from value.streamed())
        if first in '{["':
            return (yield from value.held(types))
        return (yield from value.word(types))

    def _read(self, scan: Scan, calls: Calls) -> Reading[str]:
        """An object or a list where the schema wants one, said while it arrives: its own syntax tells where it ends."""
        try:
            yield from read_value(scan, calls, LITERAL)
            yield from scan.skip_spaces()
            yield from scan.expect(self.value_closer)
        except Malformed:
            raise Malformed("invalid_arguments") from None
        yield from scan.skip_spaces()
        return (yield from scan.expect(self.key_opener, *self._ends))


def _with_line(line: str, closer: str) -> tuple[str, ...]:
    return (line + closer, closer) if line else (closer,)


@dataclass
class _Value:
    """A raw value being read: where it ends, and what may follow.

    The closer of a value can be missing; the value would then go on into the next call. A frame's closer with another
    opener behind it, or with no end of the value up to the end of the answer, shows that: the call is malformed, and
    reading goes on at that closer.
    """

    scan: Scan
    calls: Calls
    closers: tuple[str, ...]
    following: tuple[str, ...]
    openers: tuple[str, ...]
    frame_closer: str
    unclosed: int | None = None
    """Where the first frame closer stands in the value."""

    def streamed(self, begun: str = "") -> Reading[str]:
        """A string, said while it arrives."""
        self.calls.arguments('"' + escaped(begun))
        self._look_ahead()
        while True:
            body = Raw(self._stops())
            try:
                yield from self.calls.stream(body)
            except Incomplete:
                self._never_ended()
            token = yield from self._after(body.stop)
            if token:
                self.calls.arguments('"')
                return token
            self.calls.arguments(escaped(body.stop))

    def held(self, types: Types) -> Reading[str]:
        """A text that is needed whole before it is clear what it means."""
        parts: list[str] = []
        self._look_ahead()
        while True:
            text, closer = yield from self.scan.until(self._stops())
            if not closer:
                self._never_ended()
            token = yield from self._after(closer)
            parts.append(text)
            if token:
                whole = "".join(parts)
                self.calls.arguments(typed(whole, types) or f'"{escaped(whole)}"')
                return token
            parts.append(closer)

    def word(self, types: Types) -> Reading[str]:
        """A number or word, if nothing but the closer follows it; else a string."""
        word = yield from self.scan.take_while(_LITERAL_WORD)
        here = self.scan.position
        closer = yield from self.scan.literal(stops(*self.closers))
        if closer:
            token = yield from self._after(closer)
            meant = typed(word, types)
            if token and meant is not None:
                self.calls.arguments(meant)
                return token
            self.scan.rewind(here)
        return (yield from self.streamed(word))

    def _after(self, closer: str) -> Reading[str]:
        """The token that may follow a closer, read; or nothing, and then the closer was part of the value."""
        if closer == self.frame_closer:
            if self.unclosed is None:
                self.unclosed = self.scan.position - len(closer)
            return ""
        if closer in self.openers:
            if self.unclosed is not None:
                self._never_ended()
            return ""
        return (yield from follows(self.scan, *self.following))

    def _stops(self) -> Stops:
        return stops(*self.closers, self.frame_closer, *self.openers)

    def _look_ahead(self) -> None:
        """Once the answer has ended it is quick to see that no closer comes: many such values cost no more than one."""
        scan = self.scan
        if scan.closed and scan.text.find(self.closers[-1], scan.at) < 0:
            found = scan.text.find(self.frame_closer, scan.at)
            self.unclosed = None if found < 0 else scan.offset + found
            self._never_ended()

    def _never_ended(self) -> NoReturn:
        if self.unclosed is None:
            raise Incomplete
        self.scan.rewind(self.unclosed)
        raise Malformed


def raw_text(value: Any, types: Types) -> str:
    """A value as it stands between tags."""
    if not isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return json.dumps(value, ensure_ascii=False) if types is None and typed(value, None) is not None else value
