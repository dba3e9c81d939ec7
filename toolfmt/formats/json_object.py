"""The JSON object engine: a JSON object, or a list of them, carries name and arguments.

The keys are the format's; the frame may be missing (`bare`). What is read generously: arguments before the name,
another runtime's key for name or arguments, arguments as a JSON string, the OpenAI wrapping, a markdown fence, a list
where one object is usual.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

from toolfmt.formats.bodies import LONE_SURROGATE
from toolfmt.formats.calls import Calls
from toolfmt.formats.format import Call, TypesOf
from toolfmt.formats.frames import Frame, close_frame, follows
from toolfmt.formats.scan import Incomplete, Malformed, Reading, Scan, stops
from toolfmt.formats.values import JSON, Gathered, Notation, read_key, read_string, read_value, whole_value

Written: TypeAlias = Callable[[str, Mapping[str, Any], int], str]
"""A call's object as a family's templates write it: from name, arguments and the call's number in the answer."""

_NAMES = ("name", "tool_name")
_ARGUMENTS = ("arguments", "parameters")
_IDS = ("id", "tool_call_id")
_WRAPPER = "function"
_KNOWN = (*_NAMES, *_ARGUMENTS, *_IDS, _WRAPPER, "type")
_REHEARSED = tuple(key + '"' for key in _KNOWN)
_LETTERS = re.compile(r"[a-z_]*")
_KEY_BEGINS = re.compile(r"[\"'}\w]")
_NAME = re.compile(r'[^\s"\\]*')
_FENCES = stops("```json", "```")


@dataclass(frozen=True)
class Keys:
    """What a format calls the members of a call, and what stands between two calls; anything else is noted."""

    name: str = "name"
    arguments: str = "arguments"
    wrapper: str = ""
    separator: str | None = None
    """What stands between two calls of one frame; None where a frame holds one."""
    notation: Notation = JSON


@dataclass
class _Call:
    """What is known of the call being read."""

    name: str | None = None
    id: str | None = None
    early: str | None = None
    """Arguments that are known whole: they came before the name, or in a string."""
    started: bool = False
    announced: bool = False
    """Whether the engine has told the start already."""


@dataclass(frozen=True, kw_only=True)
class JsonObject(Frame):
    """A frame, and in it `{"name": …, "arguments": {…}}`.

    `enclosing` stands around all calls of one frame, and `separator` between them; where it is empty, each call has a
    frame of its own, `between` stands inside it and `separator` between two frames. `wrapper` is the key under which
    name and arguments stand together (OpenAI's `function`), `notation` that of keys and values. `written` makes the
    object where it is not just name and arguments.
    """

    enclosing: tuple[str, str] | tuple[()] = ()
    between: str = ""
    separator: str = "\n"
    name_key: str = "name"
    arguments_key: str = "arguments"
    wrapper: str = ""
    notation: Notation = JSON
    written: Written | None = None

    @cached_property
    def keys(self) -> Keys:
        separator = self.separator if self.enclosing or not self.opener else None
        return Keys(self.name_key, self.arguments_key, self.wrapper, separator, self.notation)

    # --- writing

    def write(self, calls: Sequence[Call], types: TypesOf) -> str:
        objects = [(self.written or self._object)(name, arguments, at) for at, (name, arguments) in enumerate(calls)]
        if self.enclosing:
            return self.opener + self.enclosing[0] + self.separator.join(objects) + self.enclosing[1] + self.closer
        framed = (self.opener + self.between + written + self.between + self.closer for written in objects)
        return self.separator.join(framed)

    def _object(self, name: str, arguments: Mapping[str, Any], at: int) -> str:
        return json.dumps({self.name_key: name, self.arguments_key: dict(arguments)}, ensure_ascii=False)

    # --- reading

    def read(self, scan: Scan, calls: Calls, opener: str) -> Reading[None]:
        keys = self.keys
        fence = yield from read_fence(scan)
        if "```" in opener:
            yield from _known_key(scan)
        if opener:
            yield from self._calls(scan, calls, keys)
        else:
            yield from _rehearse(scan, calls)
            if self.opener:
                calls.tolerate("missing_opener")
            yield from self._unframed(scan, calls, keys)
        if fence:
            calls.tolerate("markdown_fence")
            yield from follows(scan, "```")
        yield from close_frame(scan, calls, opener if self.closer else "", *self.closers)

    def _calls(self, scan: Scan, calls: Calls, keys: Keys) -> Reading[None]:
        yield from read_calls(scan, calls, keys, closed=bool(self.closers))

    def _unframed(self, scan: Scan, calls: Calls, keys: Keys) -> Reading[None]:
        """A list of calls; or one, and others behind it where the family separates them by a sign."""
        if (yield from scan.peek()) == "[":
            yield from read_calls(scan, calls, keys)
            return
        while True:
            scan.skip()
            yield from read_members(scan, calls, keys)
            calls.end()
            here = scan.position
            separated = yield from follows(scan, ";", ",")
            yield from scan.skip_spaces()
            begin = scan.position
            if not separated or not (yield from _stands(scan, calls)):
                scan.rewind(here)
                return
            calls.begin_at(begin)
            if keys.separator is None or separated not in keys.separator:
                calls.tolerate("list_of_calls")


@dataclass(frozen=True, kw_only=True)
class KeyedObject(JsonObject):
    """As `JsonObject`, but the tool's name is the key of its arguments: `{"NAME": {…}}`."""

    def _object(self, name: str, arguments: Mapping[str, Any], at: int) -> str:
        return json.dumps({name: dict(arguments)}, ensure_ascii=False)

    def _calls(self, scan: Scan, calls: Calls, keys: Keys) -> Reading[None]:
        yield from read_calls(scan, calls, keys, _read_keyed)


ReadCall: TypeAlias = Callable[[Scan, Calls, Keys], Reading[None]]


def read_fence(scan: Scan) -> Reading[str]:
    """The opening of a markdown fence, if one stands here, with the blanks around it."""
    yield from scan.skip_spaces()
    fence = yield from scan.literal(_FENCES)
    yield from scan.skip_spaces()
    return fence


def _known_key(scan: Scan) -> Reading[None]:
    """An opener that is a fence may hold any JSON: a call is what begins with a key that calls have, here unread."""
    begin = scan.position
    if (yield from scan.literal(stops("["))):
        yield from scan.skip_spaces()
    yield from scan.expect("{")
    yield from scan.skip_spaces()
    yield from scan.literal(stops('"', "'"))
    key = yield from scan.take_while(_LETTERS)
    yield from scan.need()
    if key not in _KNOWN:
        raise Malformed
    scan.rewind(begin)


def _stands(scan: Scan, calls: Calls) -> Reading[bool]:
    """Whether another call without a frame stands here, unread."""
    try:
        yield from _rehearse(scan, calls)
    except (Malformed, Incomplete):
        return False
    return True


def _rehearse(scan: Scan, calls: Calls) -> Reading[None]:
    """A call without a frame is one only if it begins with its name and goes on with an object of arguments.

    It is read as plain JSON up to there and given up at the first character that does not fit: the answer may be JSON
    or code that the user waits for. Where it is a call it is unread again.
    """
    begin, named, wrapped = scan.position, False, False
    if (yield from scan.literal(stops("["))):
        yield from scan.skip_spaces()
    yield from scan.expect("{")
    while True:
        yield from scan.skip_spaces()
        yield from scan.expect('"')
        key = (yield from scan.expect(*_REHEARSED))[:-1]
        yield from scan.skip_spaces()
        yield from scan.expect(":")
        yield from scan.skip_spaces()
        if key in _ARGUMENTS and named:
            break
        if key == _WRAPPER and not wrapped and (yield from scan.peek()) == "{":
            scan.skip()
            wrapped = True
            continue
        yield from scan.expect('"')
        word = yield from scan.take_while(_NAME)
        named = named or (key in _NAMES and bool(word))
        yield from scan.expect('"')
        yield from scan.skip_spaces()
        yield from scan.expect(",")
    if (yield from scan.peek()) not in ("{", ""):
        raise Malformed
    calls.commit()
    scan.rewind(begin)


def read_calls(
    scan: Scan, calls: Calls, keys: Keys, read_call: ReadCall | None = None, *, closed: bool = True
) -> Reading[None]:
    """One object, a list of them, or one after the other.

    In a frame that nothing closes an object behind a call is another one only if it is a call, name and all.
    """
    listed = yield from scan.literal(stops("["))
    yield from scan.skip_spaces()
    while True:
        yield from scan.expect("{")
        yield from scan.skip_spaces()
        if not _KEY_BEGINS.match((yield from scan.need())):
            raise Malformed
        calls.commit()
        if listed and keys.separator is None:
            calls.tolerate("list_of_calls")
        yield from (read_call or read_members)(scan, calls, keys)
        calls.end()
        here = scan.position
        comma = yield from follows(scan, ",", ";")
        yield from scan.skip_spaces()
        if (yield from scan.peek()) != "{" or not (listed or closed or (yield from _stands(scan, calls))):
            break
        calls.begin()
        if keys.separator is None:
            if not (listed and comma):
                calls.tolerate("list_of_calls")
        elif comma != keys.separator.strip():
            calls.tolerate("other_separator")
    if listed:
        if comma:
            calls.tolerate("trailing_comma")
        if not (yield from scan.literal(stops("]"))):
            scan.rewind(here)
            calls.tolerate("missing_closer")
    else:
        scan.rewind(here)


def _read_keyed(scan: Scan, calls: Calls, keys: Keys) -> Reading[None]:
    """Calls whose names are the keys of an object, after its brace, and the closing brace."""
    first = True
    while True:
        here = scan.position
        name = yield from _next_key(scan, calls, first, keys.notation)
        if name is None:
            if first:
                calls.refuse("missing_tool_name")
            return
        if LONE_SURROGATE.search(name):
            raise Malformed
        if first and name in _NAMES and (yield from scan.need()) in "\"'":
            calls.tolerate(f"{name}_key")  # the notation of other families
            scan.rewind(here)
            yield from read_members(scan, calls, keys)
            return
        if not first:
            calls.end()
            calls.begin_at(here)
            calls.tolerate("list_of_calls")
        first = False
        yield from read_arguments(scan, calls, name)


def read_members(scan: Scan, calls: Calls, keys: Keys) -> Reading[None]:
    """The members of one call, after its brace, and the closing brace."""
    call = _Call()
    yield from _read_members(scan, calls, call, keys, wrapped="")
    if call.started:
        return
    if call.early is None:
        calls.tolerate("missing_arguments")
    calls.start(call.name or "", call.id)
    calls.arguments(call.early or "{}")


def _read_members(scan: Scan, calls: Calls, call: _Call, keys: Keys, wrapped: str) -> Reading[None]:
    first = True
    while True:
        key = yield from _next_key(scan, calls, first, keys.notation)
        first = False
        if key is None:
            return
        if key in _NAMES and call.name is None:
            if key != keys.name:
                calls.tolerate(f"{key}_key")
            call.name = yield from read_string(scan, calls, keys.notation)
            if LONE_SURROGATE.search(call.name):
                raise Malformed
            if not call.name:
                calls.refuse("missing_tool_name")
        elif key in (keys.arguments, *_ARGUMENTS) and not call.started and call.early is None:
            if key != keys.arguments:
                calls.tolerate(f"{key}_key")
            yield from _read_arguments(scan, calls, call, keys.notation)
        elif key in _IDS and call.id is None and (yield from scan.need()) in "\"'":
            call.id = yield from read_string(scan, calls, keys.notation)
            if LONE_SURROGATE.search(call.id):
                raise Malformed
        elif key == _WRAPPER and not wrapped and (yield from scan.need()) == "{":
            if not keys.wrapper:
                calls.tolerate("function_wrapper")
            scan.skip()
            yield from _read_members(scan, calls, call, keys, wrapped=key)
        else:
            if key != "type":
                calls.tolerate("extra_key")
            yield from read_value(scan, Gathered(scan, calls), keys.notation)


def _next_key(scan: Scan, calls: Calls, first: bool, notation: Notation) -> Reading[str | None]:
    """The next key and its colon, read; None at the closing brace."""
    comma = "" if first else (yield from follows(scan, ","))
    yield from scan.skip_spaces()
    if (yield from scan.need()) == "}":
        scan.skip()
        if comma:
            calls.tolerate("trailing_comma")
        return None
    if not first and not comma:
        raise Malformed
    key = yield from read_key(scan, calls, notation)
    yield from scan.skip_spaces()
    yield from scan.expect(":")
    yield from scan.skip_spaces()
    return key


def read_arguments(scan: Scan, calls: Calls, name: str, id: str | None = None) -> Reading[None]:
    """The arguments of a call whose name is known, and its start before them: an object, said while it arrives."""
    call = _Call(name, id)
    yield from _read_arguments(scan, calls, call, JSON)
    if not call.started:
        calls.start(name, id)
        calls.arguments(call.early or "{}")


def read_announced(scan: Scan, calls: Calls) -> Reading[None]:
    """The arguments of a call that has been started."""
    call = _Call("", announced=True)
    yield from _read_arguments(scan, calls, call, JSON)
    if not call.started:
        calls.arguments(call.early or "{}")


def _read_arguments(scan: Scan, calls: Calls, call: _Call, notation: Notation) -> Reading[None]:
    opening = yield from scan.need()
    if opening == "{" and call.name is not None:
        if not call.announced:
            calls.start(call.name, call.id)
        call.started = True
        yield from read_value(scan, calls, notation)
    elif opening == "{":
        calls.tolerate("arguments_before_name")
        gathered = Gathered(scan, calls)
        yield from read_value(scan, gathered, notation)
        call.early = gathered.text
    elif opening in "\"'":
        calls.tolerate("arguments_as_string")
        call.early = yield from _read_string_of_arguments(scan, calls)
    elif (yield from scan.literal(stops("null"))):
        pass
    else:
        yield from read_value(scan, Gathered(scan), JSON)
        calls.refuse("invalid_arguments")


def _read_string_of_arguments(scan: Scan, calls: Calls) -> Reading[str]:
    """Arguments written as a JSON string that holds a JSON object."""
    text = yield from read_string(scan, calls, JSON)
    value = whole_value(text.strip(), JSON)
    if value is None or not value.startswith("{"):
        calls.refuse("invalid_arguments")
        return "{}"
    return value
