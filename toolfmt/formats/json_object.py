"""The JSON object engine: a JSON object, or a list of them, carries name and arguments.

The keys are the format's; the frame may be missing (`bare`). What is read generously: arguments before the name,
another runtime's key for them, arguments as a JSON string, the OpenAI wrapping, a markdown fence, a list where one
object is usual.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from toolfmt.formats.bodies import LONE_SURROGATE
from toolfmt.formats.calls import Calls
from toolfmt.formats.format import Call, TypesOf
from toolfmt.formats.frames import close_frame, follows
from toolfmt.formats.scan import Malformed, Reading, Scan, stops
from toolfmt.formats.values import JSON, Gathered, read_key, read_string, read_value, whole_value

_ARGUMENTS = ("arguments", "parameters")
_KEY_BEGINS = re.compile(r"[\"'}\w]")
_NAME = re.compile(r'[^\s"\\]*')
_FENCES = stops("```json", "```")


@dataclass
class _Call:
    """What is known of the call being read."""

    name: str | None = None
    id: str | None = None
    early: str | None = None
    """Arguments that are known whole: they came before the name, or in a string."""
    started: bool = False


@dataclass(frozen=True)
class JsonObject:
    """A frame, and in it `{"name": …, "arguments": {…}}`.

    `opener` and `closer` are the frame; `between` is what the writer puts between opener and object and before the
    closer, `separator` between two frames; `bare` is `("{",)` where a call may stand without a frame.
    """

    opener: str
    closer: str
    between: str = "\n"
    separator: str = "\n"
    arguments_key: str = "arguments"
    bare: tuple[str, ...] = ()

    @property
    def openers(self) -> tuple[str, ...]:
        return (self.opener,)

    @property
    def closers(self) -> tuple[str, ...]:
        return (self.closer,)

    def write(self, calls: Sequence[Call], types: TypesOf) -> str:
        return self.separator.join(
            self.opener
            + self.between
            + json.dumps({"name": name, self.arguments_key: dict(arguments)}, ensure_ascii=False)
            + self.between
            + self.closer
            for name, arguments in calls
        )

    def read(self, scan: Scan, calls: Calls, opener: str) -> Reading[None]:
        if not opener:
            yield from self._rehearse(scan, calls)
            calls.tolerate("missing_opener")
            scan.skip()
            yield from _read_call(scan, calls, self.arguments_key)
            calls.end()
            yield from close_frame(scan, calls, opener, self.closer)
            return
        yield from scan.skip_spaces()
        fence = yield from scan.literal(_FENCES)
        yield from scan.skip_spaces()
        yield from read_calls(scan, calls, self.arguments_key)
        if fence:
            calls.tolerate("markdown_fence")
            yield from follows(scan, "```")
        yield from close_frame(scan, calls, opener, self.closer)

    def _rehearse(self, scan: Scan, calls: Calls) -> Reading[None]:
        """A call without a frame is one only if it begins with its name and goes on with an object of arguments.

        It is read as plain JSON up to there and given up at the first character that does not fit: the answer may be
        JSON or code that the user waits for.
        """
        begin, named = scan.position, False
        scan.skip()
        while True:
            yield from scan.skip_spaces()
            yield from scan.expect('"')
            key = yield from scan.expect(*(key + '"' for key in (*_ARGUMENTS, "name", "type", "id")))
            yield from scan.skip_spaces()
            yield from scan.expect(":")
            yield from scan.skip_spaces()
            if key[:-1] in _ARGUMENTS and named:
                break
            yield from scan.expect('"')
            named = named or key == 'name"'
            yield from scan.take_while(_NAME)
            yield from scan.expect('"')
            yield from scan.skip_spaces()
            yield from scan.expect(",")
        if (yield from scan.peek()) not in ("{", ""):
            raise Malformed
        calls.commit()
        scan.rewind(begin)


def read_calls(scan: Scan, calls: Calls, arguments_key: str) -> Reading[None]:
    """One object, a list of them, or one after the other."""
    listed = yield from scan.literal(stops("["))
    yield from scan.skip_spaces()
    while True:
        yield from scan.expect("{")
        yield from scan.skip_spaces()
        if not _KEY_BEGINS.match((yield from scan.need())):
            raise Malformed
        calls.commit()
        if listed:
            calls.tolerate("list_of_calls")
        yield from _read_call(scan, calls, arguments_key)
        calls.end()
        here = scan.position
        comma = yield from follows(scan, ",", ";")
        yield from scan.skip_spaces()
        if (yield from scan.peek()) != "{":
            break
        calls.begin()
        if not (listed and comma):
            calls.tolerate("list_of_calls")
    if listed:
        if comma:
            calls.tolerate("trailing_comma")
        if not (yield from scan.literal(stops("]"))):
            scan.rewind(here)
            calls.tolerate("missing_closer")
    else:
        scan.rewind(here)


def _read_call(scan: Scan, calls: Calls, arguments_key: str) -> Reading[None]:
    """The members of one call, after its brace, and the closing brace."""
    call = _Call()
    yield from _read_members(scan, calls, call, arguments_key, wrapped=False)
    if call.started:
        return
    if call.early is None:
        calls.tolerate("missing_arguments")
    calls.start(call.name or "", call.id)
    calls.arguments(call.early or "{}")


def _read_members(scan: Scan, calls: Calls, call: _Call, arguments_key: str, wrapped: bool) -> Reading[None]:
    first = True
    while True:
        key = yield from _next_key(scan, calls, first)
        first = False
        if key is None:
            return
        if key == "name" and call.name is None:
            call.name = yield from read_string(scan, calls, JSON)
            if not call.name or LONE_SURROGATE.search(call.name):
                raise Malformed("malformed_syntax" if call.name else "missing_tool_name")
        elif key in _ARGUMENTS and not call.started and call.early is None:
            if key != arguments_key:
                calls.tolerate(f"{key}_key")
            yield from _read_arguments(scan, calls, call)
        elif key in ("id", "tool_call_id") and call.id is None and (yield from scan.need()) in "\"'":
            call.id = yield from read_string(scan, calls, JSON)
        elif key == "function" and not wrapped and (yield from scan.need()) == "{":
            calls.tolerate("function_wrapper")
            scan.skip()
            yield from _read_members(scan, calls, call, arguments_key, wrapped=True)
        else:
            if key != "type":
                calls.tolerate("extra_key")
            yield from read_value(scan, Gathered(scan, calls), JSON)


def _next_key(scan: Scan, calls: Calls, first: bool) -> Reading[str | None]:
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
    key = yield from read_key(scan, calls, JSON)
    yield from scan.skip_spaces()
    yield from scan.expect(":")
    yield from scan.skip_spaces()
    return key


def _read_arguments(scan: Scan, calls: Calls, call: _Call) -> Reading[None]:
    opening = yield from scan.need()
    if opening == "{" and call.name is not None:
        calls.start(call.name, call.id)
        call.started = True
        yield from read_value(scan, calls, JSON)
    elif opening == "{":
        calls.tolerate("arguments_before_name")
        gathered = Gathered(scan, calls)
        yield from read_value(scan, gathered, JSON)
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
