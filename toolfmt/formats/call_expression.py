"""The call expression engine: the call is written as code, `f(k='v', n=1)` or `call:f{k:<q>v<q>}`.

Brackets, the sign between key and value and the notation of values are the format's. A string parameter takes a bare
word or number as its text, and a quoted value of another type is read: the tool's schema decides, not the quotes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolfmt.formats.bodies import UNESCAPED, escaped, quoted
from toolfmt.formats.calls import Calls
from toolfmt.formats.format import Call, TypesOf
from toolfmt.formats.frames import Frame, close_frame, follows, read_name
from toolfmt.formats.json_call import Keys
from toolfmt.formats.json_object import read_calls
from toolfmt.formats.scan import Malformed, Reading, Scan, stops
from toolfmt.formats.typed import STRING, Types, typed
from toolfmt.formats.values import JSON, Gathered, Notation, marked_string, read_string, read_value

_FENCE = "```"


@dataclass(frozen=True, kw_only=True)
class CallExpression(Frame):
    """How a family writes a call as code.

    `lead` stands before a name, `brackets` around the arguments, `separator` between two of them, `assign` between key
    and value. `enclosing` stands around the calls of one frame and `between` between two of them; where `enclosing` is
    empty, each call has its own frame. `written` says a value in the notation, the text of one argument.
    """

    notation: Notation
    written: Callable[[Any], str]
    lead: str = ""
    brackets: tuple[str, str] = ("(", ")")
    assign: str = "="
    separator: str = ", "
    between: str = ", "
    enclosing: tuple[str, str] | tuple[()] = ()
    sorted_keys: Callable[[str], str] | None = None
    """Where the family's templates sort the arguments: by what."""

    # --- writing

    def write(self, calls: Sequence[Call], types: TypesOf) -> str:
        written = [self._call(name, arguments) for name, arguments in calls]
        if self.enclosing:
            return self.opener + self.enclosing[0] + self.between.join(written) + self.enclosing[1] + self.closer
        return "".join(self.opener + call + self.closer for call in written)

    def _call(self, name: str, arguments: Mapping[str, Any]) -> str:
        keys = sorted(arguments, key=self.sorted_keys) if self.sorted_keys else arguments
        pairs = (f"{key}{self.assign}{self.written(arguments[key])}" for key in keys)
        return self.lead + name + self.brackets[0] + self.separator.join(pairs) + self.brackets[1]

    # --- reading

    def read(self, scan: Scan, calls: Calls, opener: str) -> Reading[None]:
        if not opener:
            if not calls.committed:
                yield from self._rehearse(scan, calls)
            if self.opener:
                calls.tolerate("missing_opener")
        yield from scan.skip_spaces()
        begin, end = (mark.strip() for mark in self.enclosing or ("", ""))
        here = scan.position
        fences = (_FENCE,) if begin.startswith(_FENCE) else ()
        enclosed = bool(begin) and bool((yield from scan.literal(stops(begin, *fences))))
        yield from scan.skip_spaces()
        if self.enclosing and (yield from scan.need()) == "{":
            scan.rewind(here)
            yield from read_calls(scan, calls, Keys(separator=", "))
        else:
            yield from self._calls(scan, calls, end if enclosed else "")
        if not (yield from close_frame(scan, calls, opener, *self.closers)) and calls.noted(UNESCAPED):
            raise Malformed

    def _rehearse(self, scan: Scan, calls: Calls) -> Reading[None]:
        """Calls without a frame are such only if a name, its bracket and a key or no argument stand there."""
        begin = scan.position
        yield from scan.expect(*self.bare)
        yield from scan.skip_spaces()
        if not (yield from read_name(scan)):
            yield from scan.need()
            raise Malformed
        yield from scan.expect(self.brackets[0])
        yield from scan.skip_spaces()
        if not (yield from scan.literal(stops(self.brackets[1]))):
            yield from scan.take_while(self.notation.word)
            yield from scan.skip_spaces()
            yield from scan.expect(self.assign)
            if (yield from scan.peek()) == self.assign:
                raise Malformed  # a comparison
        calls.commit()
        scan.rewind(begin)

    def _calls(self, scan: Scan, calls: Calls, end: str) -> Reading[None]:
        """The calls of one frame, and what encloses them at the end, where it has been opened."""
        calls.inside()
        while True:
            yield from self._read_call(scan, calls)
            calls.end()
            if not self.enclosing:
                return
            here = scan.position
            comma = yield from follows(scan, ",", ";")
            in_lines = "\n" in self.between or not end
            if not comma and not (in_lines and (yield from self._another(scan))):
                break
            yield from scan.skip_spaces()
            if not (yield from self._begins(scan)):
                behind = scan.position
                closed = yield from follows(scan, *((end,) if end else self.closers))
                if closed:
                    calls.tolerate("trailing_comma")
                scan.rewind(behind if closed else here)
                break
            if calls.noted(UNESCAPED):
                raise Malformed  # where its string ended was a guess; what follows may be part of it
            calls.begin()
        if end and not (yield from follows(scan, end)):
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


def double_quoted(text: str) -> str:
    """A string of Python in double quotes."""
    return json.dumps(text, ensure_ascii=False)


def as_python(value: Any, string: Callable[[str], str] = double_quoted) -> str:
    """A value in Python's notation; `string` quotes."""
    if isinstance(value, str):
        return string(value)
    if isinstance(value, list):
        return "[" + ", ".join(as_python(inner, string) for inner in value) + "]"
    if isinstance(value, dict):
        pairs = (f"{string(key)}: {as_python(inner, string)}" for key, inner in value.items())
        return "{" + ", ".join(pairs) + "}"
    return repr(value)


def between_marks(mark: str, opener: str, closer: str) -> Notation:
    """Gemma's notation: keys and words stand bare, strings verbatim between two marks, in a frame of these markers."""
    return Notation(
        strings={mark: marked_string(mark, ("}" + closer,), (opener, closer)), '"': JSON.strings['"']},
        words=JSON.words,
        generous={'"': "plain_quotes"},
        bare_keys="",
        bare_strings=re.compile(r"(?s).*\S.*"),
        word=re.compile(r'[^,:{}\[\]<>"\n]*'),
        text=re.compile(r"[^,{}<>\n]*"),
    )


def as_marked(value: Any, mark: str, null: str, key: Callable[[str], str] = str) -> str:
    """A value in Gemma's notation; `null` is how null is written, `key` writes the key of an inner object."""
    if isinstance(value, str):
        return mark + value + mark
    if isinstance(value, dict):
        pairs = sorted(value.items(), key=lambda pair: pair[0].lower())
        return "{" + ",".join(f"{key(name)}:{as_marked(inner, mark, null, key)}" for name, inner in pairs) + "}"
    if isinstance(value, list):
        return "[" + ",".join(as_marked(inner, mark, null, key) for inner in value) + "]"
    return null if value is None else str(value).lower() if isinstance(value, bool) else str(value)
