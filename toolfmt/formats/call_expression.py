"""The call expression engine: the call is written as code, `f(k='v', n=1)` or `call:f{k:<q>v<q>}`.

Brackets, the sign between key and value and the notation of values are the format's. A string parameter takes a bare
word or number as its text, and a quoted value of another type is read: the tool's schema decides, not the quotes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolfmt.formats.bodies import UNESCAPED, escaped, quoted
from toolfmt.formats.calls import Calls
from toolfmt.formats.format import Call, TypesOf
from toolfmt.formats.frames import close_frame, follows, read_name
from toolfmt.formats.json_object import read_calls
from toolfmt.formats.scan import Malformed, Reading, Scan, stops
from toolfmt.formats.typed import STRING, Types, typed
from toolfmt.formats.values import Gathered, Notation, read_string, read_value


@dataclass(frozen=True)
class CallExpression:
    """How a family writes a call as code.

    `opener` and `closer` frame the calls, `lead` stands before a name, `brackets` around the arguments, `assign`
    between key and value. `separator` stands between calls of one frame and `enclosing` around them; where `enclosing`
    is empty, each call has its own frame. `written` says a value in the notation, the text of one argument.
    """

    opener: str
    closer: str
    notation: Notation
    written: Callable[[Any], str]
    lead: str = ""
    brackets: tuple[str, str] = ("(", ")")
    assign: str = "="
    separator: str = ", "
    enclosing: tuple[str, str] | tuple[()] = ()
    sorted_keys: Callable[[str], str] | None = None
    """Where the family's templates sort the arguments: by what."""

    @property
    def openers(self) -> tuple[str, ...]:
        return (self.opener,)

    @property
    def bare(self) -> tuple[str, ...]:
        return ()

    @property
    def closers(self) -> tuple[str, ...]:
        return (self.closer,)

    # --- writing

    def write(self, calls: Sequence[Call], types: TypesOf) -> str:
        written = [self._call(name, arguments) for name, arguments in calls]
        if self.enclosing:
            return self.opener + self.enclosing[0] + self.separator.join(written) + self.enclosing[1] + self.closer
        return "".join(self.opener + call + self.closer for call in written)

    def _call(self, name: str, arguments: Mapping[str, Any]) -> str:
        keys = sorted(arguments, key=self.sorted_keys) if self.sorted_keys else arguments
        pairs = (f"{key}{self.assign}{self.written(arguments[key])}" for key in keys)
        return self.lead + name + self.brackets[0] + self.separator.join(pairs) + self.brackets[1]

    # --- reading

    def read(self, scan: Scan, calls: Calls, opener: str) -> Reading[None]:
        yield from scan.skip_spaces()
        enclosed = False
        if self.enclosing:
            here = scan.position
            enclosed = bool((yield from scan.literal(stops(self.enclosing[0]))))
            yield from scan.skip_spaces()
            if (yield from scan.need()) == "{":
                scan.rewind(here)
                yield from read_calls(scan, calls, "arguments")
                yield from close_frame(scan, calls, opener, self.closer)
                return
        yield from self._calls(scan, calls, enclosed)
        if not (yield from close_frame(scan, calls, opener, self.closer)) and calls.noted(UNESCAPED):
            raise Malformed

    def _calls(self, scan: Scan, calls: Calls, enclosed: bool) -> Reading[None]:
        while True:
            yield from self._read_call(scan, calls)
            calls.end()
            if not self.enclosing:
                return
            here = scan.position
            comma = yield from follows(scan, ",", ";")
            if not comma and (enclosed or not (yield from self._another(scan))):
                break
            yield from scan.skip_spaces()
            if not (yield from self._begins(scan)):
                if enclosed and (yield from scan.peek()) == self.enclosing[1]:
                    calls.tolerate("trailing_comma")
                else:
                    scan.rewind(here)
                break
            if calls.noted(UNESCAPED):
                raise Malformed  # where its string ended was a guess; what follows may be part of it
            calls.begin()
        if enclosed and not (yield from follows(scan, self.enclosing[1])):
            if calls.noted(UNESCAPED):
                raise Malformed  # where the string ended was a guess, and it was wrong
            calls.tolerate("missing_closer")

    def _begins(self, scan: Scan) -> Reading[bool]:
        """Whether a name stands here, unread."""
        here = scan.position
        name = yield from read_name(scan)
        scan.rewind(here)
        return bool(name)

    def _another(self, scan: Scan) -> Reading[bool]:
        """Whether another call stands on the next line, without a comma."""
        here = scan.position
        spaces = yield from scan.spaces()
        name = (yield from read_name(scan)) if "\n" in spaces else ""
        found = bool(name) and (yield from scan.peek()) == self.brackets[0]
        scan.rewind(here)
        return found

    def _read_call(self, scan: Scan, calls: Calls) -> Reading[None]:
        if self.lead:
            yield from scan.expect(self.lead)
        name = yield from read_name(scan)
        if not name:
            yield from scan.need()
            raise Malformed
        yield from scan.expect(self.brackets[0])
        calls.start(name)
        calls.arguments("{")
        position, keys = 0, set[str]()
        while True:
            yield from scan.skip_spaces()
            if (yield from scan.literal(stops(self.brackets[1]))):
                break
            if position:
                yield from scan.expect(",")
                yield from scan.skip_spaces()
                if (yield from scan.literal(stops(self.brackets[1]))):
                    calls.tolerate("trailing_comma")
                    break
            key = yield from self._key(scan, calls, position)
            if key in keys:
                calls.tolerate("duplicate_key")
            keys.add(key)
            calls.arguments(f"{', ' if position else ''}{quoted(key)}: ")
            yield from self._value(scan, calls, calls.types(key))
            position += 1
        calls.arguments("}")

    def _key(self, scan: Scan, calls: Calls, position: int) -> Reading[str]:
        """The key and its sign, read; a value without a key has the key of the parameter at its position."""
        here = scan.position
        if (yield from scan.need()) not in "{[":
            word = yield from scan.take_while(self.notation.word)
            key = word.strip() or (yield from self._quoted(scan, calls))
            yield from scan.skip_spaces()
            if (yield from scan.literal(stops(self.assign))):
                return key
            yield from scan.need()
            if word and not self.notation.stands_alone(word.strip()):
                raise Malformed
        scan.rewind(here)
        name = calls.positional(position)
        calls.tolerate("positional_arguments")
        return name

    def _quoted(self, scan: Scan, calls: Calls) -> Reading[str]:
        return read_string(scan, Gathered(scan, calls), self.notation)

    def _value(self, scan: Scan, calls: Calls, types: Types) -> Reading[None]:
        yield from scan.skip_spaces()
        first = yield from scan.need()
        quoted = any(opener.startswith(first) for opener in self.notation.strings)
        if quoted and types is not None and not types & STRING:
            text = yield from read_string(scan, calls, self.notation)
            calls.arguments(typed(text, types) or f'"{escaped(text)}"')
        elif not quoted and types is not None and types & STRING and first not in "{[":
            text = (yield from scan.take_while(self.notation.text)).rstrip()
            yield from scan.need()
            if not text:
                raise Malformed
            calls.arguments(typed(text, types) or f'"{escaped(text)}"')
        else:
            yield from read_value(scan, calls, self.notation)
