"""The JSON object engine: a JSON object, or a list of objects, with name and arguments.

The format defines the keys. The frame may be missing (`unframed_openers`). The parser tolerates arguments before the
name, keys of other runtimes for name or arguments, arguments as a JSON string, the `function` wrapper of OpenAI's API,
a Markdown code fence, and a list in place of a single object.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import NamedTuple, TypeAlias

from toolfmt.formats.engines.call_builder import CallBuilder, Committed
from toolfmt.formats.engines.frame import MIN_CONTROL_TOKEN, Frame, check_markers, close_frame, first_name, follows
from toolfmt.formats.engines.json_members import (
    NAME_KEYS,
    Keys,
    check_surrogates,
    next_key,
    read_arguments,
    read_members,
    skip_surplus,
)
from toolfmt.formats.scanner.literals import Literals, literals
from toolfmt.formats.scanner.lookahead import LookaheadExceeded, look_ahead
from toolfmt.formats.scanner.scanner import Incomplete, Malformed, NoCall, Reading, Scan, gradual
from toolfmt.formats.values.json_layout import KEYED, Members, WrittenObject
from toolfmt.formats.values.layout import EachCall, LaidOut, write_calls
from toolfmt.formats.values.nodes import Node
from toolfmt.formats.values.syntaxes import JSON, Notation
from toolfmt.formats.values.value_reader import whole_value
from toolfmt.messages.rejections import one_of

_BARE_KEY = re.compile(r"[a-z_]*")
_KEY_START = re.compile(r"[\"'}\w]")
_SPACES = re.compile(r"[ \t]*")
_TRAILING_MARKERS = ("}", "<tools></tools>", "<tools>\n</tools>", "```\n```", "```json\n```")
"""Trailing markers that models write after a call: an extra brace, an empty frame, an empty code fence."""
_TOOL_CALLS_OBJECT = gradual(r"\{", r"[ \n]{0,8}", '"', *"tool_calls", '"', " ?", ":", " ?", r"\[")
"""The start of an object with all calls under the key `tool_calls`, as in the responses of OpenAI's API."""
_CONTINUATIONS = (",", ";", "{", "}", '"')
"""Characters after a call that may start another call or a surplus member or brace."""
WORD_AFTER_CALL = gradual(r"[ \t]{0,8}", r"(?<=[ \t])[^\W\d_]")
"""A word after a call on the same line: the call is part of a sentence."""
_OBJECT_START = re.compile(r"""\{\s*["']""")
_JSON_TOKENS = re.compile(r"""\"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s"']+""")
_FENCE_STARTS = ("```json", "```")
_FENCES = literals(*_FENCE_STARTS)
_OBJECTS_ON_LINE = ("\n{", "\n[", "\n```")
_NOT_IN_TEXT = ("<", "{", "[", "`")
_MOST_TEXT = 200
"""Maximum number of characters of text between the start marker of a frame and its object, and after the object."""


@dataclass(frozen=True, kw_only=True)
class JsonObject(LaidOut, Frame):
    """A frame with one or more objects `{"name": …, "arguments": {…}}`.

    Args:
        enclosing: The literals before and after all calls of one frame: the brackets of a list, or of an object with a
            list in it, such as `{"calls": [` and `]}`. Empty if each call has its own frame.
        between: If `enclosing` is empty, the literal after the start marker and before the end marker.
        separator: The literal between two calls of a frame; between two frames if `enclosing` is empty.
        name_key: The key of the name.
        arguments_key: The key of the arguments.
        wrapper: The key of an object that contains name and arguments, such as `function` in OpenAI's API.
        notation: The syntax of keys and values.
        written: How the object is written, if it is more than name and arguments.
        foreign: Start and end markers of other runtimes. They are accepted around a call of a declared tool, as a
            tolerance.

    Raises:
        ValueError: Two parameters cannot be distinguished from each other in a text.
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

    def __post_init__(self) -> None:
        before, after = self.enclosing or (self.between, self.between)
        # An object with a list in it starts like a call, but a list follows its key, so that the two are distinct.
        start = {} if self._surroundings.parts else {"enclosing": before}
        check_markers(start, {"enclosing": after, "closer": self.closer})
        if self.separator.strip().startswith(("{", "}", "[", "]", '"', "'")):
            raise ValueError(f"separator is {self.separator!r:.80}, which cannot be distinguished from an object")
        if not self.opener and (self._surroundings.lead or self._surroundings.tail):
            raise ValueError(
                f"enclosing is {before!r:.80} and {after!r:.80}, but without a start marker only a list is parsed"
            )
        if not self.opener and re.search(r"\w", self.separator):
            raise ValueError(f"separator is {self.separator!r:.80}, but without a start marker words are ordinary text")
        self._check_members()

    def _check_members(self) -> None:
        """Raise `ValueError` if the keys are not distinct, or differ from those of `written`."""
        own, parameters = self._members, (self.name_key, self.arguments_key, self.wrapper)
        if (own.name, own.arguments, own.wrapper) != parameters:
            raise ValueError(f"written uses the keys {(own.name, own.arguments, own.wrapper)}, not {parameters}")
        keys = [self.name_key, self.arguments_key, *filter(None, (self.wrapper, own.id)), *own.others]
        if "" in keys or len(set(keys)) < len(keys):
            raise ValueError(
                f"name_key, arguments_key and wrapper are {parameters}, but every member needs a distinct key"
            )
        if own.arguments_first and not self.opener:
            raise ValueError("written has the arguments first, but without a start marker a call starts with its name")
        self._check_notation()

    def _check_notation(self) -> None:
        """Raise `ValueError` if `written` uses syntax that is not part of `notation`."""
        if self.written is None:
            return
        # Python's `repr` uses double quotes for a string with a single quote in it, and its own escapes.
        arguments = {"a": "it's\x0c", "b": [True, None, {"c": 1.5}]}
        text = write_calls(EachCall(self.written.layout), [("f", arguments)], lambda name, *path: None)
        read = whole_value(text.strip(), self.notation)
        if read is None or read[1]:
            raise ValueError("written does not use the syntax of the format")

    @property
    def openers(self) -> tuple[str, ...]:
        return (*super().openers, *(opener for opener, _ in self.foreign))

    @property
    def closers(self) -> tuple[str, ...]:
        return (*super().closers, *(closer for _, closer in self.foreign))

    @property
    def trailing_markers(self) -> tuple[str, ...]:
        foreign = {closer for _, closer in self.foreign}
        own = (marker for marker in super().trailing_markers if marker not in foreign)
        return (*own, *(_TRAILING_MARKERS if self.closers else ()))

    @cached_property
    def keys(self) -> Keys:
        separator = self.separator if self.enclosing or not self.opener else None
        return Keys(self._members, separator, self._delimiter if separator else "", self.notation)

    @cached_property
    def _delimiter(self) -> str:
        """The separator without whitespace; empty if it starts with an end marker, which ends the frame."""
        delimiter = self.separator.strip()
        return "" if self.closers and delimiter.startswith(self.closers) else delimiter

    @property
    def _members(self) -> Members:
        return self.written.members if self.written else Members(self.name_key, self.arguments_key, self.wrapper)

    @cached_property
    def _surroundings(self) -> _Surroundings:
        return _surroundings(*(self.enclosing or (self.between, self.between)))

    @cached_property
    def _own_closers(self) -> tuple[str, ...]:
        """The end markers without those of `foreign`."""
        return super().closers

    @cached_property
    def _clear_closers(self) -> tuple[str, ...]:
        """The end markers of `_own_closers`, if none of them can be taken for one of `foreign` or for a text."""
        own, foreign = self._own_closers, tuple(closer for _, closer in self.foreign)
        unclear = any(closer[0].isalpha() or closer.startswith(foreign) for closer in own) or any(
            closer.startswith(own) for closer in foreign
        )
        return () if foreign and unclear else own

    @cached_property
    def _all_closers(self) -> tuple[str, ...]:
        """The end markers including those of `foreign`, as `closers` but cached."""
        return self.closers

    @cached_property
    def _read_call(self) -> ReadCall:
        return partial(read_members, closers=self.closers)

    # --- writing

    @cached_property
    def layout(self) -> Node:
        if self.enclosing:
            return self.enclosed(self.enclosing, EachCall(self.call_object.layout, self.separator))
        return EachCall(self.call_object.layout, self.separator, self.opener + self.between, self.between + self.closer)

    @cached_property
    def call_object(self) -> WrittenObject:
        """How the object of a call is written."""
        return self.written or WrittenObject.plain(self.name_key, self.arguments_key, self.wrapper)

    # --- reading

    def read(self, scan: Scan, calls: CallBuilder, opener: str) -> Reading[None]:
        keys = self.keys
        if not opener:
            # In a format without a start marker, an object at the start of the output is a call whatever follows it.
            if not calls.committed and (self.opener or scan.position > 0 or (yield from scan.peek()) == "`"):
                yield from self._check_unframed(scan, calls, keys)
            yield from self._read_unframed(scan, calls, keys)
            return
        if any(opener == other for other, _ in self.foreign):
            if not calls.declared:
                yield from scan.need("a call")
                raise NoCall(expected="the start marker of the format")
            keys = replace(keys, declared_only=True)
            calls.record_tolerance("repaired_markers")
        yield from self._read_frame(scan, calls, opener, keys)
        delimiter = self._delimiter if self.opener and not self.enclosing else ""
        while delimiter:
            here = scan.position
            if not (yield from follows(scan, delimiter)) or not (yield from follows(scan, self.opener)):
                scan.rewind(here)
                return
            calls.begin_at(here)
            yield from self._read_frame(scan, calls, self.opener, keys)

    def _read_frame(self, scan: Scan, calls: CallBuilder, opener: str, keys: Keys) -> Reading[None]:
        """Parse a frame, from after its start marker to after its end marker."""
        surroundings = self._surroundings
        if not calls.committed and (text := (yield from self.text_before_call(scan, calls))):
            begin = scan.position
            scan.skip(text)
            calls.leave_out(begin)
            calls.record_tolerance("text_in_frame")
        if surroundings.lead and not (yield from self._read_lead(scan)):
            calls.record_tolerance("missing_opener")
        fence = yield from read_fence(scan)
        if "```" in opener and not calls.committed:
            yield from self._require_call_key(scan, keys)
        yield from self._read_calls(scan, calls, keys)
        if fence:
            if not surroundings.fenced:
                calls.record_tolerance("markdown_fence")
            yield from follows(scan, "```")
        elif surroundings.fenced:
            calls.record_tolerance("missing_fence")
        if surroundings.tail and not (yield from follows(scan, surroundings.tail)):
            calls.record_tolerance("missing_closer")
        if self._clear_closers and (yield from follows(scan, *self._clear_closers)):
            return  # as almost always
        here = scan.position
        if self.closer and (yield from follows(scan, "}")):
            if (yield from follows(scan, *self._all_closers)):
                calls.record_tolerance("residue")
                return
            scan.rewind(here)
        if self.foreign and (yield from follows(scan, *(closer for _, closer in self.foreign))):
            calls.record_tolerance("repaired_markers")
            return
        if len(self.closer) >= MIN_CONTROL_TOKEN and calls.known and (yield from self._skip_text_after_call(scan)):
            calls.record_tolerance("text_in_frame")
            return
        yield from close_frame(scan, calls, opener if self.closer else "", *self._own_closers)

    def text_before_call(self, scan: Scan, calls: CallBuilder) -> Reading[int]:
        """Return the length of a text on lines of its own between the start marker of a frame and the object of a call.

        It is 0 if there is none, or if the object is not a call of a declared tool. Only whitespace is consumed.
        """
        if calls.token_starts or not calls.declared or len(self.closer) < MIN_CONTROL_TOKEN or self._surroundings.lead:
            return 0
        spaces = yield from scan.spaces()
        if not (yield from scan.peek()).isalpha() or (spaces and "\n" not in spaces):
            return 0
        here = scan.position
        found = yield from scan.find_near(self._ends_of_text, _MOST_TEXT)
        begin = scan.position - len(found) + 1
        name = ""
        if found in _OBJECTS_ON_LINE:
            scan.rewind(begin)
            with suppress(Malformed, Incomplete, LookaheadExceeded):
                name = yield from first_name(self._read_after_text, scan, calls)
        scan.rewind(here)
        return begin - here if name and calls.is_known(name) else 0

    @cached_property
    def _ends_of_text(self) -> Literals:
        """What ends a text before a call."""
        return literals(*_OBJECTS_ON_LINE, *_NOT_IN_TEXT, *self._all_closers, *self.openers)

    def _read_after_text(self, scan: Scan, calls: CallBuilder) -> Reading[None]:
        """Parse the objects after a text in their frame."""
        yield from read_fence(scan)
        yield from self._read_calls(scan, calls, self.keys)

    def _skip_text_after_call(self, scan: Scan) -> Reading[bool]:
        """Consume text on lines of its own between the last object of a frame and the end marker, and that. Return
        whether there is such a text."""
        here = scan.position
        spaces = yield from scan.spaces()
        if "\n" in spaces and (yield from scan.peek()).isalpha():
            stops = literals(*_NOT_IN_TEXT, *self._own_closers, *self.openers)
            if (yield from scan.find_near(stops, _MOST_TEXT)) in self._own_closers:
                return True
        scan.rewind(here)
        return False

    def _read_lead(self, scan: Scan) -> Reading[bool]:
        """Consume the text before the objects of a frame and return whether it was there. Between the tokens of JSON,
        any whitespace is accepted."""
        here = scan.position
        for part in self._surroundings.parts or (self._surroundings.lead,):
            if not (yield from follows(scan, part)):
                scan.rewind(here)
                return False
        return True

    def _require_call_key(self, scan: Scan, keys: Keys) -> Reading[None]:
        """Raise `Malformed` unless an object follows whose first key is a key of a call. Consume nothing.

        If the start marker is a code fence, its content may be any JSON.
        """
        begin = scan.position
        if (yield from scan.literal(literals("["))):
            yield from scan.skip_spaces()
        yield from scan.expect("{")
        yield from scan.skip_spaces()
        if quote := (yield from scan.literal(literals('"', "'"))):
            escapes = {
                json.dumps(key, ensure_ascii=ascii)[1:-1] + quote for key in keys.known for ascii in (False, True)
            }
            yield from scan.expect(*sorted(escapes))
        else:
            key = yield from scan.take_while(_BARE_KEY)
            yield from scan.need("a key")
            if key not in keys.known:
                raise Malformed(expected=one_of(sorted(keys.known)))
        scan.rewind(begin)

    def _read_calls(self, scan: Scan, calls: CallBuilder, keys: Keys) -> Reading[None]:
        closed = bool(self._all_closers or self._surroundings.tail)
        return read_calls(scan, calls, keys, self._read_call, closed=closed)

    def _check_unframed(self, scan: Scan, calls: CallBuilder, keys: Keys) -> Reading[None]:
        """Commit to calls without a frame if nothing else follows on their line; if not, raise `Malformed`. Consume
        nothing.

        A bounded lookahead parses the calls before anything is emitted. A longer call of a declared tool, or one whose
        tool cannot be checked, is committed before its end is known. A malformed call of such a tool is committed too,
        so that it is rejected.
        """
        dry_run = calls.dry_run(scan)

        def read(view: Scan) -> Reading[bool]:
            nonlocal dry_run
            dry_run = calls.dry_run(view)
            yield from self._read_unframed(view, dry_run, keys)
            return (yield from _line_ends(view))

        try:
            is_call = yield from look_ahead(scan, read)
        except Incomplete:
            is_call = dry_run.committed
        except LookaheadExceeded:
            is_call = dry_run.committed and (dry_run.first is None or calls.is_known(dry_run.first) is not False)
        except Malformed:
            is_call = dry_run.committed and dry_run.first is not None and calls.is_known(dry_run.first) is not False
        if not is_call:
            raise Malformed(expected="the end of the line after the call")
        calls.commit()

    def _read_unframed(self, scan: Scan, calls: CallBuilder, keys: Keys) -> Reading[None]:
        """Parse calls without a start marker: a list, or objects one after the other, perhaps in a code fence."""
        fence = yield from read_fence(scan)
        if self.opener:
            calls.record_tolerance("missing_opener")
        if fence:
            calls.record_tolerance("markdown_fence")
        wrapped = (yield from scan.begins(_TOOL_CALLS_OBJECT, again=calls.committed)) if calls.declared else None
        if wrapped is not None or (yield from scan.peek()) == "[":
            yield from read_calls(scan, calls, keys, framed=False)
        else:
            yield from self._read_objects(scan, calls, keys, bool(fence))
        if fence:
            calls.record_tolerance("markdown_fence")
            yield from follows(scan, "```")
        yield from self._skip_trailing_markers(scan, calls)
        yield from close_frame(scan, calls, "", *super().closers)

    def _skip_trailing_markers(self, scan: Scan, calls: CallBuilder) -> Reading[None]:
        """Consume trailing markers after a call, up to the last one that the end of the line or a tag follows."""
        here = scan.position
        while (yield from follows(scan, *_TRAILING_MARKERS)):
            yield from scan.take_while(_SPACES)
            if (yield from scan.peek()) in ("", "\r", "\n", "<"):
                calls.record_tolerance("residue")
                here = scan.position
        scan.rewind(here)

    def _read_objects(self, scan: Scan, calls: CallBuilder, keys: Keys, fenced: bool) -> Reading[None]:
        """Parse one call without a frame, and those after it.

        On a new line, another call counts here only after a delimiter or in a code fence. Without either it starts its
        own frame.
        """
        while True:
            yield from scan.expect("{")
            yield from read_members(scan, calls, keys, framed=False)
            calls.end()
            yield from skip_surplus(scan, calls, keys.notation)
            if not fenced and (yield from scan.begins(WORD_AFTER_CALL)) is not None:
                calls.mark_rejected("malformed_syntax", "the end of the line after the call")
            here = scan.position
            delimiter = yield from follows(scan, *filter(None, (keys.delimiter,)), ";", ",")
            spaces = yield from scan.spaces()
            begin = scan.position
            if not (delimiter or fenced or "\n" not in spaces) or not (yield from _call_follows(scan, calls, keys)):
                scan.rewind(here)
                return
            calls.begin_at(begin)
            if keys.separator is None:
                calls.record_tolerance("list_of_calls")
            elif not delimiter:
                if keys.delimiter or "\n" in keys.separator:
                    calls.record_tolerance("missing_separator")
            elif delimiter not in keys.separator:
                calls.record_tolerance("list_of_calls")


@dataclass(frozen=True, kw_only=True)
class KeyedObject(JsonObject):
    """Like `JsonObject`, but the tool's name is the key of its arguments: `{"NAME": {…}}`."""

    def _check_members(self) -> None:
        if self.call_object.members.name or self.call_object.members.arguments_string:
            raise ValueError("written does not use the name as the key of its arguments")
        if self.unframed_openers or not self.openers:
            raise ValueError("opener is empty, so that any object would be a call")
        if {opener.strip() for opener in self.openers} & {*_FENCE_STARTS}:
            raise ValueError("opener is a Markdown code fence, which may contain any object")
        self._check_notation()

    @property
    def _members(self) -> Members:
        return Members(self.name_key, self.arguments_key)

    @cached_property
    def call_object(self) -> WrittenObject:
        return self.written or KEYED

    def _require_call_key(self, scan: Scan, keys: Keys) -> Reading[None]:
        """Accept any key: it may be a name."""
        yield from ()

    def _read_calls(self, scan: Scan, calls: CallBuilder, keys: Keys) -> Reading[None]:
        return read_calls(scan, calls, keys, _read_keyed)


class _Surroundings(NamedTuple):
    """The text next to the objects inside a frame, without whitespace and without the brackets of a list."""

    lead: str
    """The text before the objects."""
    fenced: bool
    """Whether the objects are in a Markdown code fence. Then `lead` and `tail` are empty."""
    tail: str
    """The text after the objects."""
    parts: tuple[str, ...] = ()
    """The tokens of `lead`, if that is the start of a JSON object around the list: whitespace between them varies."""


def _surroundings(before: str, after: str) -> _Surroundings:
    """Split the text before and after the objects of a frame into its parts."""
    before, after = before.strip(), after.strip()
    listed = before.endswith("[") and after.startswith("]")
    if listed:
        before, after = before[:-1].rstrip(), after[1:].lstrip()
    if before in _FENCE_STARTS and after == "```":
        return _Surroundings("", True, "")
    parts = _JSON_TOKENS.findall(before) if listed and _OBJECT_START.match(before) and before.endswith(":") else ()
    return _Surroundings(before, False, after, tuple(parts))


ReadCall: TypeAlias = Callable[[Scan, CallBuilder, Keys], Reading[None]]
"""A function that parses one call from after its opening brace to after its closing brace."""


def read_fence(scan: Scan) -> Reading[str]:
    """Consume the start of a Markdown code fence, with the whitespace around it, and return it; empty if there is none.

    Whitespace is consumed in either case.
    """
    yield from scan.skip_spaces()
    fence = yield from scan.literal(_FENCES)
    yield from scan.skip_spaces()
    return fence


def _line_ends(scan: Scan) -> Reading[bool]:
    """Return whether the line ends after a call, except for a delimiter, an extra bracket or a marker."""
    yield from scan.take_while(_SPACES)
    if (yield from scan.literal(literals(";", ","))):
        yield from scan.take_while(_SPACES)
        return (yield from scan.peek()) in ("", "\r", "\n")
    following = yield from scan.peek()
    if following in ("\r", "\n"):
        yield from scan.skip_spaces()
        if (yield from scan.literal(literals("```"))):
            yield from scan.take_while(_SPACES)
            if (yield from scan.peek()) == "\n":  # the end of the code fence around the call
                scan.skip()
                return not (yield from scan.peek()).isalpha()  # a letter: text explains the call in the fence
    return following in ("", "\r", "\n", "<", "}", "]")


def _call_follows(scan: Scan, calls: CallBuilder, keys: Keys) -> Reading[bool]:
    """Return whether another call without a frame follows, without consuming it."""

    def read(view: Scan) -> Reading[None]:
        yield from view.expect("{")
        # If arguments come first, the name is not known yet. The stricter rules for unframed calls would reject them.
        yield from read_members(view, calls.dry_run(view, "call"), keys, framed=keys.members.arguments_first)

    try:
        yield from look_ahead(scan, read)
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
    """Parse one object, a list of objects, or objects one after the other.

    Args:
        scan: The text.
        calls: Receives the calls.
        keys: The keys of the format.
        read_call: Parses one call.
        closed: Whether an end marker follows the calls. If none does, an object after a call counts as another call
            only if it is complete enough to be one; it may be content.
        framed: Whether a start marker precedes the calls.
    """
    if not framed:
        read_call = _read_unframed_members
    wrapped = (yield from scan.begins(_TOOL_CALLS_OBJECT, again=calls.committed)) if calls.declared else None
    if wrapped is not None:
        scan.skip(wrapped.end() - wrapped.start())
        keys = replace(keys, declared_only=True)
    listed = wrapped is not None or bool((yield from scan.literal(literals("["))))
    yield from scan.skip_spaces()
    calls.inside()
    while True:
        if wrapped is not None:
            calls.record_tolerance("tool_calls_key")
        yield from scan.expect("{")
        yield from scan.skip_spaces()
        if not _KEY_START.match((yield from scan.need("a key"))):
            raise Malformed(expected="a key")
        if listed and keys.separator is None:
            calls.record_tolerance("list_of_calls")
        yield from read_call(scan, calls, keys)
        calls.end()
        here, comma, another = yield from _read_after_call(scan, calls, keys, any_object=listed or closed)
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


def _read_after_call(scan: Scan, calls: CallBuilder, keys: Keys, *, any_object: bool) -> Reading[tuple[int, str, bool]]:
    """Consume the text after a call up to the next one. Return the offset where the call ends, the delimiter after it
    (empty if there is none), and whether another call follows. With `any_object`, any object counts as another call.
    """
    here = scan.position
    yield from scan.skip_spaces()
    if (yield from scan.peek()) not in (*_CONTINUATIONS, *keys.delimiter[:1]):
        return here, "", False
    scan.rewind(here)
    yield from skip_surplus(scan, calls, keys.notation)
    here = scan.position
    comma = yield from follows(scan, *filter(None, (keys.delimiter,)), ",", ";")
    yield from scan.skip_spaces()
    may = any_object or not calls.token_starts
    another = may and (yield from scan.peek()) == "{" and (any_object or (yield from _call_follows(scan, calls, keys)))
    return here, comma, another


def _close_list(scan: Scan, calls: CallBuilder, here: int, comma: str, wrapped: bool) -> Reading[None]:
    """Consume the end of a list of calls, and of the object around it if the list is `wrapped`.

    The last call ends at the offset `here`. A missing bracket or brace is a tolerance, because every call is complete.
    """
    if comma:
        calls.record_tolerance("trailing_comma")
    if not (yield from scan.literal(literals("]"))):
        scan.rewind(here)
        calls.record_tolerance("missing_closer")
    elif wrapped and not (yield from follows(scan, "}")):
        calls.record_tolerance("missing_closer")


def _read_unframed_members(scan: Scan, calls: CallBuilder, keys: Keys) -> Reading[None]:
    return read_members(scan, calls, keys, framed=False)


def _read_keyed(scan: Scan, calls: CallBuilder, keys: Keys) -> Reading[None]:
    """Parse an object whose keys are names of tools, from after its opening brace to after its closing brace."""
    first = True
    while True:
        here = scan.position
        name = yield from next_key(scan, calls, first, keys.notation)
        if name is None:
            if first:
                calls.mark_rejected("missing_tool_name", "the name of a tool", scan.position - 1)
            return
        calls.name_at = calls.key_at
        check_surrogates(calls, name, calls.name_at)
        if first and name in NAME_KEYS and (yield from scan.need("the arguments")) in "\"'":
            calls.record_tolerance(f"{name}_key")  # an object with name and arguments, as other formats have it
            scan.rewind(here)
            yield from read_members(scan, calls, keys)
            return
        if not first:
            if not calls.is_known(name) and (
                calls.declares(name) or (yield from scan.need("the arguments")) not in "{\"'"
            ):
                # An argument of the previous call: its object was closed too early.
                raise Malformed(expected="'}' after the arguments", at=calls.key_at)
            calls.end()
            calls.begin_dependent(here)
            calls.record_tolerance("list_of_calls")
        first = False
        yield from read_arguments(scan, calls, name, notation=keys.notation)
