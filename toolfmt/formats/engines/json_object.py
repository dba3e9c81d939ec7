"""The JSON object engine: a JSON object, or a list of them, carries name and arguments.

The keys are the format's; the frame may be missing (`unframed_openers`). What is read generously: arguments before the
name, another runtime's key for name or arguments, arguments as a JSON string, the OpenAI wrapping, a markdown fence, a
list where one object is usual.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import NamedTuple, TypeAlias

from toolfmt.formats.engines.call_builder import CallBuilder, Committed
from toolfmt.formats.engines.engine import Call, TypesOf
from toolfmt.formats.engines.frame import Frame, check_markers, close_frame, follows
from toolfmt.formats.engines.json_members import (
    NAMES,
    Keys,
    check_word,
    next_key,
    read_arguments,
    read_behind,
    read_members,
)
from toolfmt.formats.scanner.literals import literals
from toolfmt.formats.scanner.lookahead import LookaheadExceeded, look_ahead
from toolfmt.formats.scanner.scanner import Incomplete, Malformed, NoCall, Reading, Scan, gradual
from toolfmt.formats.values.json_layout import KEYED, Members, WrittenObject
from toolfmt.formats.values.value_reader import JSON, Notation, whole_value
from toolfmt.messages.rejections import one_of

_LETTERS = re.compile(r"[a-z_]*")
_KEY_BEGINS = re.compile(r"[\"'}\w]")
_IN_LINE = re.compile(r"[ \t]*")
_RESIDUE = ("}", "<tools></tools>", "<tools>\n</tools>", "```\n```", "```json\n```")
_WRAPPING = gradual(r"\{", r"[ \n]{0,8}", '"', *"tool_calls", '"', " ?", ":", " ?", r"\[")
"""The object that some servers' templates put around all calls."""
_GOES_ON = (",", ";", "{", "}")
"""With what a call's object, or what belongs to it, may be followed by more."""
PROSE = gradual(r"[ \t]{0,8}", r"(?<=[ \t])[^\W\d_]")
"""A word behind a call, in its line."""
_OPENS_OBJECT = re.compile(r"""\{\s*["']""")
_PARTS = re.compile(r"""\"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s"']+""")
_FENCES_OPEN = ("```json", "```")
_FENCES = literals(*_FENCES_OPEN)


@dataclass(frozen=True, kw_only=True)
class JsonObject(Frame):
    """A frame, and in it `{"name": …, "arguments": {…}}`.

    `enclosing` stands around all calls of one frame, and `separator` between them: a list perhaps, or an object with a
    list in it, as `{"calls": [` and `]}`. Where it is empty, each call has a frame of its own, `between` stands inside
    it and `separator` between two frames. `wrapper` is the key under which name and arguments stand together (OpenAI's
    `function`), `notation` that of keys and values. `written` is how the object is spelt, where it is not just name and
    arguments. Raises `ValueError` for parameters that cannot be told apart.
    """

    enclosing: tuple[str, str] | tuple[()] = ()
    between: str = ""
    separator: str = "\n"
    name_key: str = "name"
    arguments_key: str = "arguments"
    wrapper: str = ""
    notation: Notation = JSON
    written: WrittenObject | None = None
    foreign: tuple[tuple[str, str], ...] = ()
    """Frames of other runtimes, which are read where the tool in them is declared, and noted."""

    def __post_init__(self) -> None:
        before, behind = self.enclosing or (self.between, self.between)
        # What opens an object with a list in it is no call: behind its key stands a list.
        around = {} if self._around.parts else {"enclosing": before}
        check_markers(around, {"enclosing": behind, "closer": self.closer})
        if self.separator.strip().startswith(("{", "}", "[", "]", '"', "'")):
            raise ValueError(f"separator is {self.separator!r:.80}, which cannot be distinguished from an object")
        if not self.opener and (self._around.lead or self._around.tail):
            raise ValueError(
                f"enclosing is {before!r:.80} and {behind!r:.80}, but without a start marker only a list is parsed"
            )
        if not self.opener and re.search(r"\w", self.separator):
            raise ValueError(f"separator is {self.separator!r:.80}, but without a start marker words are ordinary text")
        self._check_members()

    def _check_members(self) -> None:
        own, given = self._members, (self.name_key, self.arguments_key, self.wrapper)
        if (own.name, own.arguments, own.wrapper) != given:
            raise ValueError(f"written uses the keys {(own.name, own.arguments, own.wrapper)}, not {given}")
        words = [self.name_key, self.arguments_key, *filter(None, (self.wrapper, own.id)), *own.others]
        if "" in words or len(set(words)) < len(words):
            raise ValueError(f"name_key, arguments_key and wrapper are {given}, but every member needs a distinct key")
        if own.arguments_first and not self.opener:
            raise ValueError("written has the arguments first, but without a start marker a call starts with its name")
        self._check_notation()

    def _check_notation(self) -> None:
        """Raises `ValueError` where the notation does not hold how the object is spelt."""
        if self.written is None:
            return
        # Python writes a string in double quotes where it holds a single one, with its own escapes.
        arguments = {"a": "it's\x0c", "b": [True, None, {"c": 1.5}]}
        read = whole_value(self.written("f", arguments, 0).strip(), self.notation)
        if read is None or read[1]:
            raise ValueError("written does not use the syntax of the format")

    @property
    def openers(self) -> tuple[str, ...]:
        return (*super().openers, *(opener for opener, _ in self.foreign))

    @property
    def closers(self) -> tuple[str, ...]:
        return (*super().closers, *(closer for _, closer in self.foreign))

    @property
    def residue(self) -> tuple[str, ...]:
        foreign = {closer for _, closer in self.foreign}
        again = (mark for mark in super().residue if mark not in foreign)
        return (*again, *(_RESIDUE if self.closers else ()))

    @cached_property
    def keys(self) -> Keys:
        separator = self.separator if self.enclosing or not self.opener else None
        return Keys(self._members, separator, self._sign if separator else "", self.notation)

    @cached_property
    def _sign(self) -> str:
        sign = self.separator.strip()
        return "" if self.closers and sign.startswith(self.closers) else sign

    @property
    def _members(self) -> Members:
        return self.written.members if self.written else Members(self.name_key, self.arguments_key, self.wrapper)

    @cached_property
    def _around(self) -> _Around:
        return _around(*(self.enclosing or (self.between, self.between)))

    @cached_property
    def _own_closers(self) -> tuple[str, ...]:
        return super().closers

    @cached_property
    def _closing(self) -> tuple[str, ...]:
        return self.closers

    @cached_property
    def _read_call(self) -> ReadCall:
        return partial(read_members, closers=self.closers)

    # --- writing

    def write(self, calls: Sequence[Call], types: TypesOf) -> str:
        objects = [self.call_object(name, arguments, at) for at, (name, arguments) in enumerate(calls)]
        if self.enclosing:
            return self.opener + self.enclosing[0] + self.separator.join(objects) + self.enclosing[1] + self.closer
        framed = (self.opener + self.between + written + self.between + self.closer for written in objects)
        return self.separator.join(framed)

    @cached_property
    def call_object(self) -> WrittenObject:
        """The pieces of a call's object."""
        return self.written or WrittenObject.plain(self.name_key, self.arguments_key, self.wrapper)

    # --- reading

    def read(self, scan: Scan, calls: CallBuilder, opener: str) -> Reading[None]:
        keys = self.keys
        if not opener:
            if not calls.committed and (self.opener or scan.position > 0 or (yield from scan.peek()) == "`"):
                yield from self._foresee(scan, calls, keys)
            yield from self._unframed(scan, calls, keys)
            return
        if any(opener == other for other, _ in self.foreign):
            if not calls.declared:
                yield from scan.need("a call")
                raise NoCall(expected="the start marker of the format")
            keys = replace(keys, known_only=True)
            calls.record_tolerance("repaired_markers")
        yield from self._frame(scan, calls, opener, keys)
        sign = self._sign if self.opener and not self.enclosing else ""
        while sign:
            here = scan.position
            if not (yield from follows(scan, sign)) or not (yield from follows(scan, self.opener)):
                scan.rewind(here)
                return
            calls.begin_at(here)
            yield from self._frame(scan, calls, self.opener, keys)

    def _frame(self, scan: Scan, calls: CallBuilder, opener: str, keys: Keys) -> Reading[None]:
        """A frame behind its opener, up to its closer."""
        around = self._around
        if around.lead and not (yield from self._led(scan)):
            calls.record_tolerance("missing_opener")
        fence = yield from read_fence(scan)
        if "```" in opener and not calls.committed:
            yield from self._known_key(scan, keys)
        yield from self._calls(scan, calls, keys)
        if fence:
            if not around.fenced:
                calls.record_tolerance("markdown_fence")
            yield from follows(scan, "```")
        elif around.fenced:
            calls.record_tolerance("missing_fence")
        if around.tail and not (yield from follows(scan, around.tail)):
            calls.record_tolerance("missing_closer")
        here = scan.position
        if self.closer and (yield from follows(scan, "}")):
            if (yield from follows(scan, *self._closing)):
                calls.record_tolerance("residue")
                return
            scan.rewind(here)
        if self.foreign and (yield from follows(scan, *(closer for _, closer in self.foreign))):
            calls.record_tolerance("repaired_markers")
            return
        yield from close_frame(scan, calls, opener if self.closer else "", *self._own_closers)

    def _led(self, scan: Scan) -> Reading[bool]:
        """Whether what stands before the objects of a frame stands here, which is read then; of JSON any blanks are
        its own."""
        here = scan.position
        for part in self._around.parts or (self._around.lead,):
            if not (yield from follows(scan, part)):
                scan.rewind(here)
                return False
        return True

    def _known_key(self, scan: Scan, keys: Keys) -> Reading[None]:
        return _known_key(scan, keys)

    def _calls(self, scan: Scan, calls: CallBuilder, keys: Keys) -> Reading[None]:
        yield from read_calls(scan, calls, keys, self._read_call, closed=bool(self._closing or self._around.tail))

    def _foresee(self, scan: Scan, calls: CallBuilder, keys: Keys) -> Reading[None]:
        """A call without a frame is one only by what stands behind it: nothing else in its line.

        It is read through before anything is told; one that is longer than may be held back is told as it comes.
        """
        trial = calls.dry_run(scan)

        def through(view: Scan) -> Reading[bool]:
            nonlocal trial
            trial = calls.dry_run(view)
            fenced = (yield from view.peek()) == "`"
            yield from self._unframed(view, trial, keys)
            if fenced:
                yield from view.take_while(_IN_LINE)
                if (yield from view.peek()) == "\n":
                    view.skip()
                    return not (yield from view.peek()).isalpha()
            return (yield from _line_ends(view))

        try:
            sound = yield from look_ahead(scan, through)
        except Incomplete:
            sound = trial.committed
        except LookaheadExceeded:
            sound = trial.committed and (trial.first is None or calls.is_known(trial.first) is not False)
        except Malformed:
            sound = trial.committed and trial.first is not None and calls.is_known(trial.first) is not False
        if not sound:
            raise Malformed(expected="the end of the line after the call")
        calls.commit()

    def _unframed(self, scan: Scan, calls: CallBuilder, keys: Keys) -> Reading[None]:
        """A list of calls; or one, and others behind it where the family separates them by a sign."""
        fence = yield from read_fence(scan)
        if self.opener:
            calls.record_tolerance("missing_opener")
        if fence:
            calls.record_tolerance("markdown_fence")
        wrapped = (yield from scan.begins(_WRAPPING, again=calls.committed)) if calls.declared else None
        if wrapped is not None or (yield from scan.peek()) == "[":
            yield from read_calls(scan, calls, keys, framed=False)
        else:
            yield from self._row(scan, calls, keys, bool(fence))
        if fence:
            calls.record_tolerance("markdown_fence")
            yield from follows(scan, "```")
        yield from self._residue(scan, calls)
        yield from close_frame(scan, calls, "", *super().closers)

    def _residue(self, scan: Scan, calls: CallBuilder) -> Reading[None]:
        """What may be left behind a call, and is not for the user: a brace too many, an empty frame or fence."""
        here = scan.position
        while (yield from follows(scan, *_RESIDUE)):
            yield from scan.take_while(_IN_LINE)
            if (yield from scan.peek()) in ("", "\r", "\n", "<"):
                calls.record_tolerance("residue")
                here = scan.position
        scan.rewind(here)

    def _row(self, scan: Scan, calls: CallBuilder, keys: Keys, fenced: bool) -> Reading[None]:
        """One call, or several with a sign between them; in a fence a line each is enough."""
        while True:
            yield from scan.expect("{")
            yield from read_members(scan, calls, keys, framed=False)
            calls.end()
            yield from read_behind(scan, calls, keys.notation)
            if not fenced and (yield from scan.begins(PROSE)) is not None:
                calls.mark_rejected(
                    "malformed_syntax", "the end of the line after the call"
                )  # a sentence that has a call in it
            here = scan.position
            sign = yield from follows(scan, *filter(None, (keys.sign,)), ";", ",")
            spaces = yield from scan.spaces()
            begin = scan.position
            if not (sign or fenced or "\n" not in spaces) or not (yield from _stands(scan, calls, keys)):
                scan.rewind(here)
                return
            calls.begin_at(begin)
            if keys.separator is None:
                calls.record_tolerance("list_of_calls")
            elif not sign:
                if keys.sign or "\n" in keys.separator:
                    calls.record_tolerance("missing_separator")
            elif sign not in keys.separator:
                calls.record_tolerance("list_of_calls")


@dataclass(frozen=True, kw_only=True)
class KeyedObject(JsonObject):
    """As `JsonObject`, but the tool's name is the key of its arguments: `{"NAME": {…}}`."""

    def _check_members(self) -> None:
        if self.call_object.members.name or self.call_object.members.arguments_string:
            raise ValueError("written does not use the name as the key of its arguments")
        if self.unframed_openers or not self.openers:
            raise ValueError("opener is empty, so that any object would be a call")
        if {opener.strip() for opener in self.openers} & {*_FENCES_OPEN}:
            raise ValueError("opener is a Markdown code fence, which may contain any object")
        self._check_notation()

    @property
    def _members(self) -> Members:
        return Members(self.name_key, self.arguments_key)

    @cached_property
    def call_object(self) -> WrittenObject:
        return self.written or KEYED

    def _known_key(self, scan: Scan, keys: Keys) -> Reading[None]:
        """Any key may be a name."""
        yield from ()

    def _calls(self, scan: Scan, calls: CallBuilder, keys: Keys) -> Reading[None]:
        yield from read_calls(scan, calls, keys, _read_keyed)


class _Around(NamedTuple):
    """What stands next to the objects in their frame: a text, a markdown fence, and a text again."""

    lead: str
    fenced: bool
    tail: str
    parts: tuple[str, ...] = ()
    """Of the lead, where it opens an object with a list in it: its signs, strings and words."""


def _around(before: str, behind: str) -> _Around:
    before, behind = before.strip(), behind.strip()
    listed = before.endswith("[") and behind.startswith("]")
    if listed:
        before, behind = before[:-1].rstrip(), behind[1:].lstrip()
    if before in _FENCES_OPEN and behind == "```":
        return _Around("", True, "")
    parts = _PARTS.findall(before) if listed and _OPENS_OBJECT.match(before) and before.endswith(":") else ()
    return _Around(before, False, behind, tuple(parts))


ReadCall: TypeAlias = Callable[[Scan, CallBuilder, Keys], Reading[None]]


def read_fence(scan: Scan) -> Reading[str]:
    """The opening of a markdown fence, if one stands here, with the blanks around it."""
    yield from scan.skip_spaces()
    fence = yield from scan.literal(_FENCES)
    yield from scan.skip_spaces()
    return fence


def _known_key(scan: Scan, keys: Keys) -> Reading[None]:
    """An opener that is a fence may hold any JSON: a call is what begins with a key that calls have, here unread."""
    begin = scan.position
    if (yield from scan.literal(literals("["))):
        yield from scan.skip_spaces()
    yield from scan.expect("{")
    yield from scan.skip_spaces()
    if quote := (yield from scan.literal(literals('"', "'"))):
        spelt = {json.dumps(key, ensure_ascii=ascii)[1:-1] + quote for key in keys.known for ascii in (False, True)}
        yield from scan.expect(*sorted(spelt))
    else:
        key = yield from scan.take_while(_LETTERS)
        yield from scan.need("a key")
        if key not in keys.known:
            raise Malformed(expected=one_of(sorted(keys.known)))
    scan.rewind(begin)


def _line_ends(scan: Scan) -> Reading[bool]:
    """Whether nothing stands behind a call in its line but a sign, a bracket too many or a marker."""
    yield from scan.take_while(_IN_LINE)
    if (yield from scan.literal(literals(";", ","))):
        yield from scan.take_while(_IN_LINE)
        return (yield from scan.peek()) in ("", "\r", "\n")
    behind = yield from scan.peek()
    if behind in ("\r", "\n"):
        yield from scan.skip_spaces()
        if (yield from scan.literal(literals("```"))):
            yield from scan.take_while(_IN_LINE)
            if (yield from scan.peek()) == "\n":  # it closes the fence that the call stands in
                scan.skip()
                return not (yield from scan.peek()).isalpha()  # else prose goes on, which shows the call
    return behind in ("", "\r", "\n", "<", "}", "]")


def _stands(scan: Scan, calls: CallBuilder, keys: Keys) -> Reading[bool]:
    """Whether another call without a frame stands here, unread."""

    def begins(view: Scan) -> Reading[None]:
        yield from view.expect("{")
        # What begins with its arguments has no name yet: it is held to less.
        yield from read_members(view, calls.dry_run(view, "call"), keys, framed=keys.members.arguments_first)

    try:
        yield from look_ahead(scan, begins)
    except Committed:
        return True
    except (Malformed, Incomplete, LookaheadExceeded):
        return False
    return True


def read_calls(
    scan: Scan,
    calls: CallBuilder,
    keys: Keys,
    read_call: ReadCall = read_members,
    *,
    closed: bool = True,
    framed: bool = True,
) -> Reading[None]:
    """One object, a list of them, or one after the other.

    In a frame that nothing closes an object behind a call is another one only if it is a call, name and all.
    """
    if not framed:
        read_call = _read_unframed
    wrapped = (yield from scan.begins(_WRAPPING, again=calls.committed)) if calls.declared else None
    if wrapped is not None:
        scan.skip(wrapped.end() - wrapped.start())
        keys = replace(keys, known_only=True)
    listed = wrapped is not None or bool((yield from scan.literal(literals("["))))
    yield from scan.skip_spaces()
    calls.inside()
    while True:
        if wrapped is not None:
            calls.record_tolerance("tool_calls_key")
        yield from scan.expect("{")
        yield from scan.skip_spaces()
        if not _KEY_BEGINS.match((yield from scan.need("a key"))):
            raise Malformed(expected="a key")
        if listed and keys.separator is None:
            calls.record_tolerance("list_of_calls")
        yield from read_call(scan, calls, keys)
        calls.end()
        here, comma, another = yield from _behind_call(scan, calls, keys, any_object=listed or closed)
        if not another:
            break
        calls.begin()
        if keys.separator is None:
            if not (listed and comma):
                calls.record_tolerance("list_of_calls")
        elif comma != keys.separator.strip():
            calls.record_tolerance("other_separator")
    if listed:
        yield from _close_list(scan, calls, here, comma, wrapped is not None)
    else:
        scan.rewind(here)


def _behind_call(scan: Scan, calls: CallBuilder, keys: Keys, *, any_object: bool) -> Reading[tuple[int, str, bool]]:
    """Where a call ends with what still belongs to it, the sign behind it, and whether another call stands there; any
    object is one in a list, and in a frame that something closes."""
    here = scan.position
    yield from scan.skip_spaces()
    if (yield from scan.peek()) not in (*_GOES_ON, *keys.sign[:1]):
        return here, "", False
    scan.rewind(here)
    yield from read_behind(scan, calls, keys.notation)
    here = scan.position
    comma = yield from follows(scan, *filter(None, (keys.sign,)), ",", ";")
    yield from scan.skip_spaces()
    another = (yield from scan.peek()) == "{" and (any_object or (yield from _stands(scan, calls, keys)))
    return here, comma, another


def _close_list(scan: Scan, calls: CallBuilder, here: int, comma: str, wrapped: bool) -> Reading[None]:
    """The end of a list of calls, the last of which ends `here`, and of the object that wraps it."""
    if comma:
        calls.record_tolerance("trailing_comma")
    if not (yield from scan.literal(literals("]"))):
        scan.rewind(here)
        calls.record_tolerance("missing_closer")
    elif wrapped and not (yield from follows(scan, "}")):
        calls.record_tolerance("missing_closer")


def _read_unframed(scan: Scan, calls: CallBuilder, keys: Keys) -> Reading[None]:
    return read_members(scan, calls, keys, framed=False)


def _read_keyed(scan: Scan, calls: CallBuilder, keys: Keys) -> Reading[None]:
    """Calls whose names are the keys of an object, after its brace, and the closing brace."""
    first = True
    while True:
        here = scan.position
        name = yield from next_key(scan, calls, first, keys.notation)
        if name is None:
            if first:
                calls.mark_rejected("missing_tool_name", "the name of a tool", scan.position - 1)
            return
        calls.name_at = calls.key_at
        check_word(calls, name, calls.name_at)
        if first and name in NAMES and (yield from scan.need("the arguments")) in "\"'":
            calls.record_tolerance(f"{name}_key")  # the notation of other families
            scan.rewind(here)
            yield from read_members(scan, calls, keys)
            return
        if not first:
            if not calls.is_known(name) and (
                calls.declares(name) or (yield from scan.need("the arguments")) not in "{\"'"
            ):
                expected = "'}' after the arguments"  # a member that was cut off from them
                raise Malformed(expected=expected, at=calls.key_at)
            calls.end()
            calls.begin_dependent(here)
            calls.record_tolerance("list_of_calls")
        first = False
        yield from read_arguments(scan, calls, name, notation=keys.notation)
