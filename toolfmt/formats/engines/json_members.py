"""Parse the members of one call that is a JSON object: name, arguments, and other members.

Until the call is committed, a bounded length of text is held back, and parsing stops at the first character that no
call contains. The call is committed at the first key of its arguments, because that key distinguishes a call from the
definition of a tool.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, TypeAlias

from toolfmt.formats.engines.call_builder import CallBuilder
from toolfmt.formats.engines.frame import follows
from toolfmt.formats.scanner.literals import literals
from toolfmt.formats.scanner.lookahead import MAX_LOOKAHEAD, LookaheadExceeded, look_ahead
from toolfmt.formats.scanner.scanner import (
    BLANK_LINES,
    LONGEST_WORD,
    Incomplete,
    Malformed,
    NoCall,
    Reading,
    Scan,
    gradual,
)
from toolfmt.formats.scanner.spans import LONE_SURROGATE, quoted
from toolfmt.formats.values.json_layout import NAME_AND_ARGUMENTS, Members
from toolfmt.formats.values.syntaxes import JSON, Notation
from toolfmt.formats.values.value_reader import (
    BoundedBuffered,
    Buffered,
    TooLong,
    read_key,
    read_string,
    read_value,
    whole_value,
)
from toolfmt.messages.rejections import named

NAME_KEYS = ("name", "tool_name")
_ARGUMENTS_KEYS = ("arguments", "parameters")
_RARE_ARGUMENTS_KEYS = ("args", "params", "input", "tool_input")
_NAME_OR_WRAPPER = "function"
"""This key has the name of a declared tool, or an object with name and arguments."""
_ID_KEYS = ("id", "tool_call_id")
_WRAPPER_KEYS = ("function", "tool_call", "function_call")
_TYPE_KEY = "type"
_TYPES = ("function", "tool_call", "tool_use", "function_call")
_SCHEMA_KEYS = (
    "type", "properties", "required", "title", "description", "additionalProperties", "$schema", "$defs", "strict",
)  # fmt: skip
"""Keys of the JSON Schema that a tool definition has under `parameters`, where a call has its arguments."""
_NOT_A_DEFINITION = "a call, not the definition of a tool"
_OBJECT_TYPES = ("object", "dict")
_VALUE_START = re.compile(r"[\"'{\[\d+\-tfnTFN]")


_Nested: TypeAlias = Literal["", "same", "other"]
"""Whether the arguments are the object of a call: no, of the same call, or of a call of another tool."""
_WHITESPACE = re.compile(r"\s")
_NOT_IN_KEYS, _NOT_IN_NAMES = re.compile(r"[\s`]"), re.compile(r"[\n`]")
_NO_CHARACTER = re.compile("(?!)")
_MAX_UNNAMED_ARGUMENTS = 2000
"""Without a frame, the maximum length of arguments that come before the name. They are held back until it is known."""
_MAX_TO_END_MARKER = 200
"""A malformed object with a key of a call rejects the call if the frame's end marker follows within this length."""
_FIRST_KEY = gradual(r"\{", r"[ \n]{0,8}", '"', r"(?P<key>[\w.-]{1,24})", '"', " ?", ":", " ?", r'["{\[\d\-tfn]')
"""The most common start of arguments: a first key, its colon and the first character of a value. A single match of a
regular expression is a fast path for these."""
_FURTHER_MEMBER = re.compile(
    r"""[ \t\r\n]{0,32}(?:\Z|,?[ \t\r\n]{0,32}(?:\Z|"(?:\Z|[^"\\\n]{1,64}(?:\Z|"(?:\Z|[ \t]{0,8}"""
    r"""(?:\Z|(?P<whole>:)))))))"""
)
"""A member after the closing brace of the call: a comma, which may be missing, a key and a colon."""
_PLAIN_KEY = re.compile(r'[ \t\r\n]*(,)?[ \t\r\n]*"([\w.:/$@+-]{1,64})"[ \t\r\n]*:[ \t\r\n]*(?=[^ \t\r\n])')
"""A key of which the comma, the colon and the first character of the value have arrived: a fast path for most keys."""
_PLACEHOLDER_STARTS = ".…<"
"""First characters of a placeholder for a key or a value, in text that explains the syntax of calls."""


@dataclass(frozen=True)
class Keys:
    """The keys of a format for the members of a call, and the separator between two calls.

    Keys of other formats are accepted too and recorded as tolerances, except those that this format uses for another
    member.
    """

    members: Members = NAME_AND_ARGUMENTS
    separator: str | None = None
    """The separator between two calls of one frame; None if a frame contains a single call."""
    delimiter: str = ""
    """The separator without whitespace; empty if it is also the end of a frame."""
    notation: Notation = JSON
    declared_only: bool = False
    """Whether only calls of declared tools count, because the markers around them are not those of the format."""

    @cached_property
    def _own(self) -> tuple[str, ...]:
        own = self.members
        return tuple(filter(None, (own.name, own.arguments, own.wrapper, own.id, *own.others)))

    def _with_others(self, own: str, others: tuple[str, ...]) -> tuple[str, ...]:
        """Return the format's own key, if it has one, and those of the others that it does not use for a member."""
        return (*filter(None, (own,)), *(key for key in others if key not in self._own))

    @cached_property
    def names(self) -> tuple[str, ...]:
        return self._with_others(self.members.name, NAME_KEYS)

    @cached_property
    def arguments(self) -> tuple[str, ...]:
        return self._with_others(self.members.arguments, _ARGUMENTS_KEYS)

    @cached_property
    def wrappers(self) -> tuple[str, ...]:
        return self._with_others(self.members.wrapper, _WRAPPER_KEYS)

    @cached_property
    def ids(self) -> tuple[str, ...]:
        return self._with_others(self.members.id, _ID_KEYS)

    @cached_property
    def excluded(self) -> re.Pattern[str]:
        """A pattern for the characters that no key of a call contains."""
        return _NO_CHARACTER if any(map(_NOT_IN_KEYS.search, self._own)) else _NOT_IN_KEYS

    @cached_property
    def optional(self) -> frozenset[str]:
        """The keys of members that a call may have in addition to name and arguments."""
        return frozenset((_TYPE_KEY, *self.ids, *self.members.others))

    @cached_property
    def known(self) -> frozenset[str]:
        """All keys that show that an object is a call."""
        return frozenset((*self.names, *self.arguments, *self.wrappers, *self.optional))


ANY_KEYS = Keys()


@dataclass
class _CallState:
    """What has been parsed of the current call."""

    name: str | None = None
    id: str | None = None
    keys: Keys = ANY_KEYS
    buffered: str | None = None
    """The JSON text of arguments that cannot be streamed: they came before the name, or are a string."""
    streamed: bool = False
    """Whether the arguments were emitted while they were parsed."""
    start_emitted: bool = False
    """Whether the engine has already emitted the start of the call."""
    arguments_before_name: bool = False
    framed: bool = True
    declared_only: bool = False
    """As in `Keys`."""
    has_known_key: bool = False
    """Whether one of `Keys.known` and its colon were parsed."""
    not_a_definition: bool = False
    """Whether the text before the arguments rules out the definition of a tool."""
    begin: int = 0
    other_members: dict[str, str] = field(default_factory=dict)
    """JSON text by key, of members other than name and arguments. They may turn out to be arguments."""


def _read_word(
    scan: Scan, calls: CallBuilder, notation: Notation, excluded: re.Pattern[str] | None = None
) -> Reading[str]:
    """Consume a string that is a name, or a key if `excluded` is given, and return its value.

    Raises `TooLong` if the string is longer than `LONGEST_WORD`, or contains one of the `excluded` characters before
    the call is committed.
    """
    if notation.quoted_words and (word := (yield from scan.quoted_word())):
        return word
    opener = yield from scan.literal(notation.openers)
    if not opener:
        yield from read_string(scan, calls, notation)  # raises `Incomplete` if the output ends here
        raise Malformed(expected="a string")
    if opener in notation.generous:
        calls.record_tolerance(notation.generous[opener])
    unlike = None if calls.committed else excluded or _excluded_from_names(calls)
    buffer = BoundedBuffered(scan, calls, LONGEST_WORD, unlike)
    return (yield from buffer.word(notation, opener))


def _excluded_from_names(calls: CallBuilder) -> re.Pattern[str]:
    """Return a pattern for the characters that no name contains. Spaces are among them only if tools are declared and
    no name of a declared tool has a space."""
    return _NOT_IN_KEYS if calls.declared and not calls.spaced_names else _NOT_IN_NAMES


def check_surrogates(calls: CallBuilder, word: str, at: int, *, framed: bool = True) -> None:
    """Raise `Malformed` at `at` if a name or an id contains half of a surrogate pair, which has no UTF-8 encoding.

    In a frame the call is committed first, so that it is rejected.
    """
    if LONE_SURROGATE.search(word):
        if framed:
            calls.commit()
        raise Malformed(expected="text without an unpaired surrogate", at=at)


# --- a call


def read_members(
    scan: Scan,
    calls: CallBuilder,
    keys: Keys,
    closers: tuple[str, ...] = (),
    *,
    framed: bool = True,
    id: str | None = None,
) -> Reading[None]:
    """Parse one call, from after its opening brace to after its closing brace.

    Without a frame, only members of a call may precede the arguments: the output may be JSON that the user asked for.
    In a frame, an error in the object rejects the call if its name is the name of a declared tool, or if it has a key
    of a call and the end marker of the frame (one of `closers`) follows soon. Any other malformed object is content.

    Args:
        scan: The text.
        calls: Receives the call.
        keys: The keys of the format.
        closers: The end markers of the frame.
        framed: Whether a start marker precedes the call.
        id: The id of the call, if it was already parsed.
    """
    call = _CallState(id=id, keys=keys, framed=framed, declared_only=keys.declared_only, begin=scan.position)
    try:
        yield from _read_members(scan, calls, call, keys, wrapped="")
    except (NoCall, TooLong):
        raise
    except Malformed:
        if framed and not calls.committed:
            declared = call.name and calls.is_known(call.name)
            if declared or (call.has_known_key and (yield from _end_marker_near(scan, closers))):
                calls.commit()
        raise
    if call.streamed or call.buffered is not None:
        if extra := call.other_members.keys() - keys.optional:
            calls.record_tolerance("extra_key")
            if call.name and any(calls.declares(key, call.name) for key in extra):
                # The object of the arguments was closed too early, or it is not known which value is meant.
                calls.mark_rejected("invalid_arguments", "all arguments in one object", scan.position - 1)
    else:
        _supply_arguments(calls, call, scan.position - 1)
    if call.streamed:
        return
    if call.arguments_before_name and not framed and not calls.is_known(call.name or ""):
        raise Malformed(expected="the name of a declared tool")
    if call.name is None:
        calls.name_at = scan.position - 1
    calls.start(call.name or "", call.id)
    calls.arguments(call.buffered or "{}")


def skip_surplus(scan: Scan, calls: CallBuilder, notation: Notation = JSON) -> Reading[None]:
    """Consume text after the object of a call that is still part of it: further members, and extra closing braces.

    A further member shows that the object was closed too early. The arguments emitted so far are not complete, so the
    call is rejected, up to its real end. If the output ends in such a member, the call is incomplete. An extra closing
    brace is a tolerance.
    """
    further = yield from scan.begins(_FURTHER_MEMBER)
    if further is not None:
        calls.mark_rejected("malformed_syntax", "the end of the call")
        first = "," not in further[0].partition('"')[0]
        while (yield from next_key(scan, calls, first, notation)) is not None:
            yield from read_value(scan, Buffered(scan), notation)
            first = False
    elif scan.closed and (partial := _FURTHER_MEMBER.match(scan.text, scan.at)) and "," in partial[0]:
        if '"' in partial[0] or (scan.cut and calls.has_tolerance("missing_arguments")):
            raise Incomplete(expected="the end of the call")
    while (yield from follows(scan, "}")):
        calls.record_tolerance("residue")


def _end_marker_near(scan: Scan, closers: tuple[str, ...]) -> Reading[bool]:
    """Return whether an end marker follows soon after a syntax error, before an empty line. Consume nothing.

    A placeholder at the error shows that the text explains the syntax of calls; then return False.
    """
    if not closers or (yield from scan.peek()) in _PLACEHOLDER_STARTS:
        return False
    here = scan.position
    found = yield from scan.find_near(literals(*closers, *BLANK_LINES), _MAX_TO_END_MARKER)
    scan.rewind(here)
    return found in closers


def _supply_arguments(calls: CallBuilder, call: _CallState, end: int) -> None:
    """Find the arguments of a call without a member for them. The brace that closes the call is at `end`.

    They are under a rare key such as `args`, or next to the name, or missing. Only parameters that the tool declares
    are accepted as arguments. In a frame, other members reject the call, and missing arguments are a tolerance. Without
    a frame, raise `Malformed` in both cases.
    """
    name, members, optional = call.name or "", call.other_members, call.keys.optional
    for key in _RARE_ARGUMENTS_KEYS:
        if key not in optional and members.get(key, "").startswith("{") and not calls.declares(key, name):
            if all(calls.declares(inner, name) for inner in json.loads(members[key])):
                call.buffered = members[key]
                calls.record_tolerance("other_arguments_key")
                return
    flattened = {key: text for key, text in members.items() if key not in optional or calls.declares(key, name)}
    if flattened and all(calls.declares(key, name) for key in flattened):
        call.buffered = "{" + ", ".join(f"{quoted(key)}: {text}" for key, text in flattened.items()) + "}"
        call.id = None if any(key in call.keys.ids for key in flattened) else call.id
        calls.record_tolerance("flattened_arguments")
    elif flattened:
        if not call.framed:
            raise Malformed(expected=f"the key {named(call.keys.members.arguments)}")
        calls.commit()
        if name:
            expected = f"the key {named(call.keys.members.arguments)}"
            calls.mark_rejected("invalid_arguments", expected, end)
        else:
            calls.mark_rejected("missing_tool_name", f"the key {named(call.keys.members.name)}", end)
    elif not call.framed:
        raise Malformed(expected=f"the key {named(call.keys.members.arguments)}")
    else:
        calls.record_tolerance("missing_arguments")


def _read_members(scan: Scan, calls: CallBuilder, call: _CallState, keys: Keys, wrapped: str) -> Reading[None]:
    """Parse the members of an object up to its closing brace. `wrapped` is the key of the object, if that is a wrapper
    inside the object of the call."""
    first = True
    while True:
        if not calls.committed and scan.position - call.begin > MAX_LOOKAHEAD:
            raise TooLong(expected="a shorter call")
        key = yield from next_key(scan, calls, first, keys.notation, keys.excluded)
        first = False
        if key is None:
            return
        call.has_known_key = call.has_known_key or key in keys.known
        is_name = key in keys.names
        if key == _NAME_OR_WRAPPER and key in keys.wrappers and (yield from scan.need("a value")) in "\"'":
            is_name = call.declared_only = True
        if is_name and call.name is None:
            if key != keys.members.name:
                calls.record_tolerance(f"{key}_key")
            calls.name_at = scan.position
            call.name = yield from _read_word(scan, calls, keys.notation)
            check_surrogates(calls, call.name, calls.name_at, framed=call.framed)
            if not call.framed and _WHITESPACE.search(call.name) and not calls.is_known(call.name):
                raise Malformed(expected="the name of a tool", at=calls.name_at)
            if not call.name:
                if not call.framed:
                    raise Malformed(expected="the name of a tool", at=calls.name_at)
                calls.mark_rejected("missing_tool_name", "the name of a tool", calls.name_at)
        elif key in keys.arguments and not call.streamed and call.buffered is None:
            if key != keys.members.arguments:
                calls.record_tolerance(f"{key}_key")
            yield from _read_arguments(scan, calls, call, keys.notation)
        elif key in keys.wrappers and not wrapped and (yield from scan.need("a value")) == "{":
            if key != keys.members.wrapper:
                calls.record_tolerance("function_wrapper")
            scan.skip()
            yield from _read_members(scan, calls, call, keys, wrapped=key)
        else:
            yield from _read_other_member(scan, calls, call, keys, key)


def _read_other_member(scan: Scan, calls: CallBuilder, call: _CallState, keys: Keys, key: str) -> Reading[None]:
    """Parse the value of a member that is neither the name nor the arguments, or repeats one of them.

    A repeated member with another value rejects the call, because it is not known which one is right. Repeated
    arguments may also be empty.
    """
    here, repeated = scan.position, key in call.other_members
    first = yield from scan.need("a value")
    if repeated or key in keys.names or key in keys.arguments:
        calls.record_tolerance("duplicate_key")
    elif key not in keys.optional:
        _check_extra_member(calls, call, key, first)
    sink = Buffered(scan, calls) if calls.committed else BoundedBuffered(scan, calls)
    yield from read_value(scan, sink, keys.notation)
    if key in keys.names:
        if sink.text != quoted(call.name or ""):
            calls.mark_rejected("malformed_syntax", "a single name", here)
    elif key in keys.arguments:
        if sink.text not in ("{}", "null", call.buffered):
            calls.mark_rejected("invalid_arguments", "a single object with the arguments", here)
    elif repeated and sink.text != call.other_members[key]:
        calls.mark_rejected("invalid_arguments", f"a single value for the key {named(key)}", here)
    elif not repeated:
        call.other_members[key] = sink.text
        if key in keys.ids and call.id is None:
            call.id = _id(calls, call, sink.text, here, own=key in keys.members.others)
        elif key == _TYPE_KEY and first in "\"'" and json.loads(sink.text) not in (*_TYPES, keys.members.kind):
            calls.record_tolerance("other_type")


def _id(calls: CallBuilder, call: _CallState, text: str, at: int, *, own: bool) -> str | None:
    """Return the id that the JSON text of a member contains, or None if the value is not a non-empty string.

    Args:
        calls: Receives the tolerances.
        call: The call.
        text: The JSON text of the value.
        at: The offset of the value.
        own: Whether the format defines this member. It may then contain something other than an id.
    """
    id = json.loads(text)
    if not isinstance(id, str):
        if not own:
            calls.record_tolerance("extra_key")
        return None
    check_surrogates(calls, id, at, framed=call.framed)
    if not id and not own:
        calls.record_tolerance("empty_id")
    return id or None


def _check_extra_member(calls: CallBuilder, call: _CallState, key: str, first: str) -> None:
    """Decide on a member with an unknown key, whose value starts with the character `first`, before the call is
    committed.

    Without a frame, raise `Malformed` unless the member may contain arguments of the tool. In a frame, commit if the
    tool is declared; `description` does not count, because the definition of a tool has it too.
    """
    if calls.committed:
        return
    name = call.name
    if not call.framed:
        arguments = key in _RARE_ARGUMENTS_KEYS and first == "{" and name and calls.is_known(name)
        if not arguments and not (name and calls.declares(key, name)):
            raise Malformed(expected="a key of a call", at=calls.key_at)
    elif name and key != "description" and calls.is_known(name):
        calls.commit()


def next_key(
    scan: Scan, calls: CallBuilder, first: bool, notation: Notation, excluded: re.Pattern[str] = _NOT_IN_KEYS
) -> Reading[str | None]:
    """Consume the next key and its colon and return the key; at the closing brace, consume that and return None.

    Args:
        scan: The text.
        calls: Receives the tolerances.
        first: Whether the key is the first of its object, so that no comma precedes it.
        notation: The syntax of keys.
        excluded: Characters that a key does not contain. They stop the parse before the call is committed.
    """
    plain = _PLAIN_KEY.match(scan.text, scan.at) if notation.quoted_words else None
    if plain is not None and (plain[1] is None) == first:
        calls.key_at = scan.offset + plain.start(2) - 1
        scan.at = plain.end()
        return plain[2]
    comma = "" if first else (yield from follows(scan, ","))
    yield from scan.skip_spaces()
    expected = "a key or '}'" if first else "a key" if comma else "',' or '}'"
    if (yield from scan.need(expected)) == "}":
        scan.skip()
        if comma:
            calls.record_tolerance("trailing_comma")
        return None
    if not first and not comma:
        raise Malformed(expected=expected)
    calls.key_at = scan.position
    key = yield from _key(scan, calls, notation, excluded)
    yield from scan.skip_spaces()
    yield from scan.expect(":", key=key)
    yield from scan.skip_spaces()
    return key


def _key(scan: Scan, calls: CallBuilder, notation: Notation, excluded: re.Pattern[str]) -> Reading[str]:
    if not calls.committed and (yield from scan.need("a key")) in "\"'":
        return (yield from _read_word(scan, calls, notation, excluded))
    return (yield from read_key(scan, calls, notation))


# --- arguments


def read_arguments(
    scan: Scan, calls: CallBuilder, name: str, id: str | None = None, notation: Notation = JSON
) -> Reading[None]:
    """Parse the arguments of a call whose name is known. Emit the start of the call, then the arguments as they arrive.

    If the call is not committed yet, commit to it as soon as the text can only be the arguments of a call.
    """
    nested = (yield from _nested_call(scan, calls, name)) if calls.declared else ""
    if nested == "same":
        scan.skip()
        calls.record_tolerance("nested_call")
        yield from read_members(scan, calls, ANY_KEYS, id=id)
        return
    if nested == "other":
        calls.start(name, id)
        calls.mark_rejected("invalid_arguments", f"the arguments of the tool {named(name)}, not another call")
        yield from read_arguments_after_start(scan, calls)
        return
    call = _CallState(name, id, not_a_definition=True)
    yield from _read_arguments(scan, calls, call, notation)
    if not call.streamed:
        calls.start(name, id)
        calls.arguments(call.buffered or "{}")


def _nested_call(scan: Scan, calls: CallBuilder, name: str) -> Reading[_Nested]:
    """Return whether the arguments are the object of a call, without consuming it.

    That object has a name and arguments under keys that are not parameters of the tool. It is the same call if it names
    the same tool, or if it names a declared tool and the header does not. If both name declared tools but different
    ones, it is not known which tool the model intended to call ("other").
    """
    first = yield from scan.begins(_FIRST_KEY)
    if first is None or first["key"] not in NAME_KEYS:
        return ""
    try:
        return (yield from look_ahead(scan, lambda view: _compare_nested_call(view, calls, name)))
    except (Malformed, Incomplete, LookaheadExceeded):
        return ""


def _compare_nested_call(view: Scan, calls: CallBuilder, name: str) -> Reading[_Nested]:
    """Parse an object up to its second value, and return what `_nested_call` does."""
    yield from view.expect("{")
    key = yield from next_key(view, calls.dry_run(view), True, JSON)
    nested_name = yield from BoundedBuffered(view).word(JSON, (yield from view.expect('"')))
    second_key = yield from next_key(view, calls.dry_run(view), False, JSON)
    if key is None or second_key not in (*_ARGUMENTS_KEYS, *_RARE_ARGUMENTS_KEYS):
        return ""
    if (yield from view.need("a value")) not in '{"':
        return ""
    if not calls.is_known(name):
        return "same" if calls.is_known(nested_name) else ""
    declared = calls.declares(key, name), calls.declares(second_key, name)
    if calls.resolve_name(nested_name) == calls.resolve_name(name):
        return "" if any(declared) else "same"
    return "other" if declared == (False, False) and calls.is_known(nested_name) else ""


def read_arguments_after_start(scan: Scan, calls: CallBuilder) -> Reading[None]:
    """Parse and emit the arguments of a call whose start is already emitted."""
    call = _CallState("", start_emitted=True)
    yield from _read_arguments(scan, calls, call, JSON)
    if not call.streamed:
        calls.arguments(call.buffered or "{}")


def _read_arguments(scan: Scan, calls: CallBuilder, call: _CallState, notation: Notation) -> Reading[None]:
    """Parse the arguments: an object, a string with an object, or `null`. Any other value rejects the call.

    An object after the name is emitted while it is parsed. Other arguments are stored in `call.buffered`.
    """
    if not calls.committed:
        yield from _commit_to_arguments(scan, calls, call, notation)
    here = scan.position
    opening = yield from scan.need("an object with the arguments")
    if opening == "{" and call.name is not None:
        if not call.start_emitted:
            calls.start(call.name, call.id)
        call.streamed = True
        yield from read_value(scan, calls, notation)
    elif opening == "{":
        if not call.keys.members.arguments_first:
            calls.record_tolerance("arguments_before_name")
        call.arguments_before_name = True
        buffer = Buffered(scan, calls) if call.framed else BoundedBuffered(scan, calls, _MAX_UNNAMED_ARGUMENTS)
        try:
            yield from read_value(scan, buffer, notation)
        except TooLong:
            calls.abandon_as_content()
        call.buffered = buffer.text
    elif opening in "\"'":
        own = call.keys.members.arguments_string
        if not own:
            calls.record_tolerance("arguments_as_string")
        call.buffered = yield from _read_arguments_string(scan, calls, notation if own else None)
    elif opening == "n":
        yield from scan.expect("null")
    else:
        try:
            yield from read_value(scan, Buffered(scan), JSON)
        except Malformed as wrong:
            raise Malformed(wrong.reason, "an object with the arguments", here) from None
        calls.mark_rejected("invalid_arguments", "an object with the arguments", here)


def _read_arguments_string(scan: Scan, calls: CallBuilder, notation: Notation | None) -> Reading[str]:
    """Consume arguments that are a JSON string with an object in it, and return the object's JSON text.

    `notation` is the syntax of that object if the format writes arguments this way, otherwise None. A string with any
    other content rejects the call.
    """
    begin = scan.position
    expected = "a string that contains a JSON object" if notation else "an object with the arguments"
    scan.skip()
    yield from scan.skip_spaces()
    may_contain_object = (yield from scan.need("'{'")) in "{\\\"'"
    scan.rewind(begin)
    if not may_contain_object:
        # A string that does not end soon is prose. To wait for its end may hold back the rest of the output.
        try:
            yield from look_ahead(scan, lambda view: read_string(view, Buffered(view, calls.dry_run(view)), JSON))
        except LookaheadExceeded:
            raise Malformed("invalid_arguments", expected, begin) from None
        except (Malformed, Incomplete):
            pass
    text = yield from read_string(scan, calls, JSON)
    whole = whole_value(text.strip(), notation or JSON)
    if whole is None or not whole[0].startswith("{"):
        calls.mark_rejected("invalid_arguments", expected, begin)
        return "{}"
    for tolerance in whole[1] if notation else ():
        calls.record_tolerance(tolerance)
    return whole[0]


def _commit_to_arguments(scan: Scan, calls: CallBuilder, call: _CallState, notation: Notation) -> Reading[None]:
    """Commit to the call if the text here is the arguments of one; if not, raise `Malformed`. Consume nothing.

    - Declared tool: the name is strong evidence, so malformed arguments are committed too, except the definition of a
      tool. Without a frame, they must start like an object or a string and not contain a placeholder at the error.
    - Undeclared tool: the name is no evidence, so all arguments must be valid and within the bounded lookahead.
    - No tools given, or no name yet: the start of the arguments must be valid.
    """
    known = calls.is_known(call.name) if call.name is not None else None
    if call.declared_only and known is False:
        raise NoCall(expected="the name of a declared tool")
    if known is not False and call.name is not None:
        first_key = yield from scan.begins(_FIRST_KEY)
        if first_key is not None and (call.not_a_definition or first_key["key"] not in _SCHEMA_KEYS):
            calls.commit()
            return
    if not call.framed:
        first = yield from scan.peek()
        if not first and call.name is not None:
            calls.commit()  # the output was truncated here
        elif first not in ("{", '"', "'"):
            raise Malformed(expected="an object with the arguments")
    begin = scan.position
    try:
        if known is False:
            yield from look_ahead(scan, lambda view: _read_whole_arguments(view, calls, call, notation))
        else:
            yield from _read_start_of_arguments(scan, calls, call, notation)
    except Incomplete:
        if not call.framed and call.name is None:
            raise
    except NoCall:
        raise
    except (TooLong, LookaheadExceeded):
        if not known:
            raise TooLong(expected="shorter arguments") from None
    except Malformed as wrong:
        if not known or (not call.framed and (yield from scan.peek()) in _PLACEHOLDER_STARTS):
            raise Malformed(expected=wrong.expected, at=wrong.at) from None
    scan.rewind(begin)
    calls.commit()


def _read_whole_arguments(view: Scan, calls: CallBuilder, call: _CallState, notation: Notation) -> Reading[None]:
    begin = view.position
    yield from _read_start_of_arguments(view, calls, call, notation)
    view.rewind(begin)
    yield from read_value(view, Buffered(view), notation)


def _read_start_of_arguments(scan: Scan, calls: CallBuilder, call: _CallState, notation: Notation) -> Reading[None]:
    """Parse the arguments up to the point where they can only be those of a call.

    That is an empty object, or the first key that is a declared parameter or not a key of a JSON Schema. Without a
    frame and before the name, the first key must be a parameter of some declared tool. Raises `NoCall` for the
    parameters of a tool definition: `"type": "object"`, or `properties` with an object.
    """
    opening = yield from scan.need("an object with the arguments")
    if opening in "\"'":
        scan.skip()
        yield from scan.skip_spaces()
        if (yield from scan.need("'{'")) not in "{\\":
            raise Malformed(expected="'{'")
        return
    if opening == "n" and call.framed:
        yield from scan.expect("null")
        return
    yield from scan.expect("{")
    yield from scan.skip_spaces()
    if (yield from scan.need("a key or '}'")) == "}":
        if not call.framed and call.name is None and calls.any_declares("") is None:
            raise Malformed(expected="a key")
        return
    first = True
    while True:
        key = yield from _read_argument_key(scan, notation)
        if first and not call.framed and call.name is None and not calls.any_declares(key):
            raise Malformed(expected="a declared parameter")
        first = False
        declared = calls.any_declares(key) if call.name is None else calls.declares(key, call.name)
        if key not in _SCHEMA_KEYS or declared or call.not_a_definition:
            return
        if (yield from scan.need("a value")) == "{" and key == "properties":
            raise NoCall(expected=_NOT_A_DEFINITION)
        value = BoundedBuffered(scan)
        yield from read_value(scan, value, notation)
        if key == "type" and value.text.strip('"') in _OBJECT_TYPES:
            raise NoCall(expected=_NOT_A_DEFINITION)
        if not (yield from follows(scan, ",")):
            return


def _read_argument_key(scan: Scan, notation: Notation) -> Reading[str]:
    """Consume a key of the arguments and its colon, and return the key. Raise `Malformed` if no value follows."""
    yield from scan.skip_spaces()
    opener = yield from scan.literal(notation.openers)
    key = (
        (yield from BoundedBuffered(scan).word(notation, opener))
        if opener
        else (yield from read_key(scan, BoundedBuffered(scan), notation))
    )
    yield from scan.skip_spaces()
    yield from scan.expect(":", key=key)
    yield from scan.skip_spaces()
    if not _VALUE_START.match((yield from scan.need("a value"))):
        raise Malformed(expected="a value")
    return key
