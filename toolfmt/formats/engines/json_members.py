"""The members of one call that is written as a JSON object: its name, its arguments, and what else may stand there.

What is read before it is certain that a call stands here is bounded, and given up at the first character that no call
has. Certain it is with the first key of the arguments, by which a call is told from the definition of a tool.
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
from toolfmt.formats.values.value_reader import (
    JSON,
    BoundedBuffered,
    Buffered,
    Notation,
    TooLong,
    read_key,
    read_string,
    read_value,
    whole_value,
)
from toolfmt.messages.rejections import named

NAMES = ("name", "tool_name")
_ARGUMENTS = ("arguments", "parameters")
_OTHER_ARGUMENTS = ("args", "params", "input", "tool_input")
_IDS = ("id", "tool_call_id")
_WRAPPER = "function"
_TYPE = "type"
_KINDS = ("function", "tool_call", "tool_use", "function_call")
_SCHEMA_WORDS = (
    "type", "properties", "required", "title", "description", "additionalProperties", "$schema", "$defs", "strict",
)  # fmt: skip
_NO_SCHEMA = "a call, not the definition of a tool"
_OF_OBJECTS = ("object", "dict")
_VALUE_BEGINS = re.compile(r"[\"'{\[\d+\-tfnTFN]")


_Inner: TypeAlias = Literal["", "same", "other"]
_BLANK = re.compile(r"\s")
_UNLIKE_KEYS, _UNLIKE_NAMES = re.compile(r"[\s`]"), re.compile(r"[\n`]")
_NOTHING = re.compile("(?!)")
_MOST_UNNAMED = 2000
"""Without a frame, arguments that come before the name are held for no more than so many characters."""
_MARKED = 200
"""A frame's closer so near behind an object that went wrong shows that a call was meant."""
_FIRST = gradual(r"\{", r"[ \n]{0,8}", '"', r"(?P<key>[\w.-]{1,24})", '"', " ?", ":", " ?", r'["{\[\d\-tfn]')
"""Arguments as they most often begin: a first key, its colon and the beginning of a value. One look tells."""
_MEMBER = re.compile(
    r"""[ \t\r\n]{0,32}(?:\Z|,[ \t\r\n]{0,32}(?:\Z|"(?:\Z|[^"\\\n]{1,64}(?:\Z|"(?:\Z|[ \t]{0,8}"""
    r"""(?:\Z|(?P<whole>:)))))))"""
)
"""A member where no object is open any more."""
_PLAIN_KEY = re.compile(r'[ \t\r\n]*(,)?[ \t\r\n]*"([\w.:/$@+-]{1,64})"[ \t\r\n]*:[ \t\r\n]*(?=[^ \t\r\n])')
"""A key with its comma and colon, and the beginning of its value: the most frequent case, for speed."""
_ELLIPSIS = ".…<"
"""What stands in the place of a key or a value where a text explains how calls look."""


@dataclass(frozen=True)
class Keys:
    """What a format calls the members of a call, and what stands between two calls; anything else is noted.

    A word that the format uses for one member is none of the words that other families have for another.
    """

    members: Members = NAME_AND_ARGUMENTS
    separator: str | None = None
    """What stands between two calls of one frame; None where a frame holds one."""
    sign: str = ""
    """The separator without its blanks, where it is no end of a frame."""
    notation: Notation = JSON
    known_only: bool = False
    """Whether only the call of a declared tool is one: the frame is none of the format's."""

    @cached_property
    def _own(self) -> tuple[str, ...]:
        own = self.members
        return tuple(filter(None, (own.name, own.arguments, own.wrapper, own.id, *own.others)))

    def _with_others(self, own: str, words: tuple[str, ...]) -> tuple[str, ...]:
        return (*filter(None, (own,)), *(word for word in words if word not in self._own))

    @cached_property
    def names(self) -> tuple[str, ...]:
        return self._with_others(self.members.name, NAMES)

    @cached_property
    def arguments(self) -> tuple[str, ...]:
        return self._with_others(self.members.arguments, _ARGUMENTS)

    @cached_property
    def wrappers(self) -> tuple[str, ...]:
        return self._with_others(self.members.wrapper, (_WRAPPER,))

    @cached_property
    def ids(self) -> tuple[str, ...]:
        return self._with_others(self.members.id, _IDS)

    @cached_property
    def unlike(self) -> re.Pattern[str]:
        """What no key of a call holds."""
        return _NOTHING if any(map(_UNLIKE_KEYS.search, self._own)) else _UNLIKE_KEYS

    @cached_property
    def harmless(self) -> frozenset[str]:
        """Members that calls may have beside name and arguments."""
        return frozenset((_TYPE, *self.ids, *self.members.others))

    @cached_property
    def known(self) -> frozenset[str]:
        """The keys by which a call is known."""
        return frozenset((*self.names, *self.arguments, *self.wrappers, *self.harmless))


ANY_KEYS = Keys()


@dataclass
class _Call:
    """What is known of the call being read."""

    name: str | None = None
    id: str | None = None
    keys: Keys = ANY_KEYS
    early: str | None = None
    """Arguments that are known whole: they came before the name, or in a string."""
    started: bool = False
    announced: bool = False
    """Whether the engine has told the start already."""
    reversed: bool = False
    """Whether the arguments came before the name."""
    framed: bool = True
    known_only: bool = False
    keyed: bool = False
    """Whether a key that calls have, and its colon, have been read."""
    told_apart: bool = False
    """Whether it cannot be the definition of a tool."""
    begin: int = 0
    others: dict[str, str] = field(default_factory=dict)
    """Members that no call has, which may be arguments: key → JSON text."""


def read_word(scan: Scan, calls: CallBuilder, notation: Notation, unlike: re.Pattern[str]) -> Reading[str]:
    """A string that is a name or a key: of bounded length; as long as nothing is certain, without these characters."""
    if notation.quoted_words and (word := (yield from scan.quoted_word())):
        return word
    opener = yield from scan.literal(notation.openers)
    if not opener:
        yield from read_string(scan, calls, notation)  # tells what is wrong from what is cut
        raise Malformed(expected="a string")
    if opener in notation.generous:
        calls.record_tolerance(notation.generous[opener])
    brief = BoundedBuffered(scan, calls, LONGEST_WORD, None if calls.committed else unlike)
    return (yield from brief.word(notation, opener))


def _unlike(calls: CallBuilder) -> re.Pattern[str]:
    """What a name does not hold: blanks, where tools are known and none is called so."""
    return _UNLIKE_KEYS if calls.declared and not calls.spaced_names else _UNLIKE_NAMES


def check_word(calls: CallBuilder, word: str, at: int, *, framed: bool = True) -> None:
    """Half a surrogate pair has no bytes: no name and no id, which begins at `at`, holds one."""
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
    """The members of one call, after its brace, and the closing brace.

    Without a frame nothing else may stand there before the arguments: the answer may be JSON that the user waits for.
    In a frame the name of a declared tool is an attempt to call it, whatever is wrong behind it, and so is a key of
    calls with the frame's closer behind it.
    """
    call = _Call(id=id, keys=keys, framed=framed, known_only=keys.known_only, begin=scan.position)
    try:
        yield from _read_members(scan, calls, call, keys, wrapped="")
    except (NoCall, TooLong):
        raise
    except Malformed:
        if framed and not calls.committed:
            meant = call.name and calls.is_known(call.name)
            if meant or (call.keyed and (yield from _closes(scan, closers))):
                calls.commit()
        raise
    if call.started or call.early is not None:
        if not keys.harmless.issuperset(call.others):
            calls.record_tolerance("extra_key")
    else:
        _supply(calls, call, scan.position - 1)
    if call.started:
        return
    if call.reversed and not framed and not calls.is_known(call.name or ""):
        raise Malformed(expected="the name of a declared tool")
    if call.name is None:
        calls.name_at = scan.position - 1
    calls.start(call.name or "", call.id)
    calls.arguments(call.early or "{}")


def read_behind(scan: Scan, calls: CallBuilder, notation: Notation = JSON) -> Reading[None]:
    """What stands right behind the object of a call and still belongs to it.

    Another member shows that the object was closed in its midst: what is told of it is not all that was meant, and the
    call is rejected to where it really ends. A brace too many is read and noted.
    """
    if (yield from scan.begins(_MEMBER)) is not None:
        calls.mark_rejected("malformed_syntax", "the end of the call")
        while (yield from next_key(scan, calls, False, notation)) is not None:
            yield from read_value(scan, Buffered(scan), notation)
    while (yield from follows(scan, "}")):
        calls.record_tolerance("residue")


def _closes(scan: Scan, closers: tuple[str, ...]) -> Reading[bool]:
    """Whether the frame is closed soon behind what is wrong here, unread; a text that explains calls has dots here."""
    if not closers or (yield from scan.peek()) in _ELLIPSIS:
        return False
    here = scan.position
    found = yield from scan.find_near(literals(*closers, *BLANK_LINES), _MARKED)
    scan.rewind(here)
    return found in closers


def _supply(calls: CallBuilder, call: _Call, end: int) -> None:
    """The arguments of a call that has none: they may stand under another key, or beside the name. The brace that
    closes the call stands at `end`."""
    name = call.name or ""
    for key in _OTHER_ARGUMENTS:
        if key not in call.keys.harmless and call.others.get(key, "").startswith("{") and not calls.declares(key, name):
            if all(calls.declares(inner, name) for inner in json.loads(call.others[key])):
                call.early = call.others[key]
                calls.record_tolerance("other_arguments_key")
                return
    harmless = call.keys.harmless
    given = {key: text for key, text in call.others.items() if key not in harmless or calls.declares(key, name)}
    if given and all(calls.declares(key, name) for key in given):
        call.early = "{" + ", ".join(f"{quoted(key)}: {text}" for key, text in given.items()) + "}"
        call.id = None if any(key in call.keys.ids for key in given) else call.id
        calls.record_tolerance("flattened_arguments")
    elif given:
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


def _read_members(scan: Scan, calls: CallBuilder, call: _Call, keys: Keys, wrapped: str) -> Reading[None]:
    first = True
    while True:
        if not calls.committed and scan.position - call.begin > MAX_LOOKAHEAD:
            raise TooLong(expected="a shorter call")
        key = yield from next_key(scan, calls, first, keys.notation, keys.unlike)
        first = False
        if key is None:
            return
        call.keyed = call.keyed or key in keys.known
        if key in keys.names and call.name is None:
            if key != keys.members.name:
                calls.record_tolerance(f"{key}_key")
            calls.name_at = scan.position
            call.name = yield from read_word(scan, calls, keys.notation, _unlike(calls))
            check_word(calls, call.name, calls.name_at, framed=call.framed)
            if not call.framed and _BLANK.search(call.name) and not calls.is_known(call.name):
                raise Malformed(expected="the name of a tool", at=calls.name_at)
            if not call.name:
                if not call.framed:
                    raise Malformed(expected="the name of a tool", at=calls.name_at)
                calls.mark_rejected("missing_tool_name", "the name of a tool", calls.name_at)
        elif key in keys.arguments and not call.started and call.early is None:
            if key != keys.members.arguments:
                calls.record_tolerance(f"{key}_key")
            yield from _read_arguments(scan, calls, call, keys.notation)
        elif key in keys.wrappers and not wrapped and (yield from scan.need("a value")) == "{":
            if key != keys.members.wrapper:
                calls.record_tolerance("function_wrapper")
            scan.skip()
            yield from _read_members(scan, calls, call, keys, wrapped=key)
        else:
            yield from _read_other(scan, calls, call, keys, key)


def _read_other(scan: Scan, calls: CallBuilder, call: _Call, keys: Keys, key: str) -> Reading[None]:
    """A member that is neither name nor arguments."""
    here = scan.position
    begins = yield from scan.need("a value")
    if key in call.others or key in keys.names or key in keys.arguments:
        calls.record_tolerance("duplicate_key")
    elif key not in keys.harmless:
        _admit(calls, call, key, begins)
    sink = Buffered(scan, calls) if calls.committed else BoundedBuffered(scan, calls)
    yield from read_value(scan, sink, keys.notation)
    if key in keys.names:
        if sink.text != quoted(call.name or ""):
            calls.mark_rejected("malformed_syntax", "a single name", here)
    elif key in keys.arguments:
        if sink.text not in ("{}", "null", call.early):
            calls.mark_rejected("invalid_arguments", "a single object with the arguments", here)
    else:
        call.others[key] = sink.text
        if key in keys.ids and call.id is None:
            call.id = _id(calls, call, sink.text, here, own=key in keys.members.others)
        elif key == _TYPE and begins in "\"'" and json.loads(sink.text) not in (*_KINDS, keys.members.kind):
            calls.record_tolerance("other_type")


def _id(calls: CallBuilder, call: _Call, text: str, at: int, *, own: bool) -> str | None:
    """The id that a member holds, at `at`. The family's `own` member may hold something else under such a key."""
    id = json.loads(text)
    if not isinstance(id, str):
        if not own:
            calls.record_tolerance("extra_key")
        return None
    check_word(calls, id, at, framed=call.framed)
    if not id and not own:
        calls.record_tolerance("empty_id")
    return id or None


def _admit(calls: CallBuilder, call: _Call, key: str, begins: str) -> None:
    """Whether a member that no call has may stand here, as far as that is not certain yet."""
    if calls.committed:
        return
    name = call.name
    if not call.framed:
        other = key in _OTHER_ARGUMENTS and begins == "{" and name and calls.is_known(name)
        if not other and not (name and calls.declares(key, name)):
            raise Malformed(expected="a key of a call", at=calls.key_at)
    elif name and key != "description" and calls.is_known(name):
        calls.commit()


def next_key(
    scan: Scan, calls: CallBuilder, first: bool, notation: Notation, unlike: re.Pattern[str] = _UNLIKE_KEYS
) -> Reading[str | None]:
    """The next key and its colon, read; None at the closing brace. As long as nothing is certain, what it holds is
    `unlike` a key no more."""
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
    key = yield from _key(scan, calls, notation, unlike)
    yield from scan.skip_spaces()
    yield from scan.expect(":", key=key)
    yield from scan.skip_spaces()
    return key


def _key(scan: Scan, calls: CallBuilder, notation: Notation, unlike: re.Pattern[str]) -> Reading[str]:
    if not calls.committed and (yield from scan.need("a key")) in "\"'":
        return (yield from read_word(scan, calls, notation, unlike))
    return (yield from read_key(scan, calls, notation))


# --- its arguments


def read_arguments(
    scan: Scan, calls: CallBuilder, name: str, id: str | None = None, notation: Notation = JSON
) -> Reading[None]:
    """The arguments of a call whose name is known, and its start before them: an object, said while it arrives.

    If the call has not been committed, it is as soon as nothing else can stand here.
    """
    inner = (yield from _call_stands(scan, calls, name)) if calls.declared else ""
    if inner == "same":
        scan.skip()
        calls.record_tolerance("nested_call")
        yield from read_members(scan, calls, ANY_KEYS, id=id)
        return
    if inner == "other":
        calls.start(name, id)
        calls.mark_rejected("invalid_arguments", f"the arguments of the tool {named(name)}, not another call")
        yield from read_announced(scan, calls)
        return
    call = _Call(name, id, told_apart=True)
    yield from _read_arguments(scan, calls, call, notation)
    if not call.started:
        calls.start(name, id)
        calls.arguments(call.early or "{}")


def _call_stands(scan: Scan, calls: CallBuilder, name: str) -> Reading[_Inner]:
    """Whether a call's object stands in the place of the arguments, unread: name and arguments in it, and no parameter
    of the tool is called so. It is the same call where it names the tool, or a declared one where the header names
    none; where it names another declared tool, it is not known which is meant."""
    first = yield from scan.begins(_FIRST)
    if first is None or first["key"] not in NAMES:
        return ""
    try:
        return (yield from look_ahead(scan, lambda view: _is_call(view, calls, name)))
    except (Malformed, Incomplete, LookaheadExceeded):
        return ""


def _is_call(view: Scan, calls: CallBuilder, name: str) -> Reading[_Inner]:
    yield from view.expect("{")
    key = yield from next_key(view, calls.dry_run(view), True, JSON)
    inner = yield from BoundedBuffered(view).word(JSON, (yield from view.expect('"')))
    other = yield from next_key(view, calls.dry_run(view), False, JSON)
    if key is None or other not in (*_ARGUMENTS, *_OTHER_ARGUMENTS) or (yield from view.need("a value")) not in '{"':
        return ""
    if not calls.is_known(name):
        return "same" if calls.is_known(inner) else ""
    declared = calls.declares(key, name), calls.declares(other, name)
    if calls.resolve_name(inner) == calls.resolve_name(name):
        return "" if any(declared) else "same"
    return "other" if declared == (False, False) and calls.is_known(inner) else ""


def read_announced(scan: Scan, calls: CallBuilder) -> Reading[None]:
    """The arguments of a call that has been started."""
    call = _Call("", announced=True)
    yield from _read_arguments(scan, calls, call, JSON)
    if not call.started:
        calls.arguments(call.early or "{}")


def _read_arguments(scan: Scan, calls: CallBuilder, call: _Call, notation: Notation) -> Reading[None]:
    if not calls.committed:
        yield from _ascertain(scan, calls, call, notation)
    here = scan.position
    opening = yield from scan.need("an object with the arguments")
    if opening == "{" and call.name is not None:
        if not call.announced:
            calls.start(call.name, call.id)
        call.started = True
        yield from read_value(scan, calls, notation)
    elif opening == "{":
        if not call.keys.members.arguments_first:
            calls.record_tolerance("arguments_before_name")
        call.reversed = True
        gathered = Buffered(scan, calls) if call.framed else BoundedBuffered(scan, calls, _MOST_UNNAMED)
        try:
            yield from read_value(scan, gathered, notation)
        except TooLong:
            calls.abandon_as_content()
        call.early = gathered.text
    elif opening in "\"'":
        own = call.keys.members.arguments_string
        if not own:
            calls.record_tolerance("arguments_as_string")
        call.early = yield from _read_string_of_arguments(scan, calls, notation if own else None)
    elif opening == "n":
        yield from scan.expect("null")
    else:
        try:
            yield from read_value(scan, Buffered(scan), JSON)
        except Malformed as wrong:
            raise Malformed(wrong.reason, "an object with the arguments", here) from None
        calls.mark_rejected("invalid_arguments", "an object with the arguments", here)


def _read_string_of_arguments(scan: Scan, calls: CallBuilder, notation: Notation | None) -> Reading[str]:
    """Arguments written as a JSON string that holds an object, in the `notation` of the family where it writes so."""
    begin = scan.position
    expected = "a string that contains a JSON object" if notation else "an object with the arguments"
    scan.skip()
    yield from scan.skip_spaces()
    holds = (yield from scan.need("'{'")) in "{\\\"'"
    scan.rewind(begin)
    if not holds:
        try:
            yield from look_ahead(scan, lambda view: read_string(view, Buffered(view, calls.dry_run(view)), JSON))
        except LookaheadExceeded:
            raise Malformed(
                "invalid_arguments", expected, begin
            ) from None  # prose, whose end may be the end of the answer
        except (Malformed, Incomplete):
            pass
    text = yield from read_string(scan, calls, JSON)
    whole = whole_value(text.strip(), notation or JSON)
    if whole is None or not whole[0].startswith("{"):
        calls.mark_rejected("invalid_arguments", expected, begin)
        return "{}"
    for noted in whole[1] if notation else ():
        calls.record_tolerance(noted)
    return whole[0]


def _ascertain(scan: Scan, calls: CallBuilder, call: _Call, notation: Notation) -> Reading[None]:
    """Whether these are the arguments of a call, which is certain then; unread.

    The call of a tool that is not declared must go on as one: its arguments are read through first.
    """
    known = calls.is_known(call.name) if call.name is not None else None
    if call.known_only and known is False:
        raise NoCall(expected="the name of a declared tool")
    if known is not False and call.name is not None:
        first = yield from scan.begins(_FIRST)
        if first is not None and (call.told_apart or first["key"] not in _SCHEMA_WORDS):
            calls.commit()
            return
    if not call.framed:
        begins = yield from scan.peek()
        if not begins and call.name is not None:
            calls.commit()  # the answer was cut here
        elif begins not in ("{", '"', "'"):
            raise Malformed(expected="an object with the arguments")
    begin = scan.position
    try:
        if known is False:
            yield from look_ahead(scan, lambda view: _read_whole(view, calls, call, notation))
        else:
            yield from _begins(scan, calls, call, notation)
    except Incomplete:
        if not call.framed and call.name is None:
            raise
    except NoCall:
        raise
    except (TooLong, LookaheadExceeded):
        if not known:
            raise TooLong(expected="shorter arguments") from None
    except Malformed as wrong:
        if not known or (not call.framed and (yield from scan.peek()) in _ELLIPSIS):
            raise Malformed(expected=wrong.expected, at=wrong.at) from None
    scan.rewind(begin)
    calls.commit()


def _read_whole(view: Scan, calls: CallBuilder, call: _Call, notation: Notation) -> Reading[None]:
    begin = view.position
    yield from _begins(view, calls, call, notation)
    view.rewind(begin)
    yield from read_value(view, Buffered(view), notation)


def _begins(scan: Scan, calls: CallBuilder, call: _Call, notation: Notation) -> Reading[None]:
    """Reads on in the arguments until nothing but a call begins so."""
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
        key = yield from _argument(scan, notation)
        if first and not call.framed and call.name is None and not calls.any_declares(key):
            raise Malformed(expected="a declared parameter")
        first = False
        declared = calls.any_declares(key) if call.name is None else calls.declares(key, call.name)
        if key not in _SCHEMA_WORDS or declared or call.told_apart:
            return
        begins = yield from scan.need("a value")
        if key == "properties" and begins == "{":
            raise NoCall(expected=_NO_SCHEMA)
        value = BoundedBuffered(scan)
        yield from read_value(scan, value, notation)
        if key == "type" and value.text.strip('"') in _OF_OBJECTS:
            raise NoCall(expected=_NO_SCHEMA)
        if not (yield from follows(scan, ",")):
            return


def _argument(scan: Scan, notation: Notation) -> Reading[str]:
    """A key of the arguments, and its colon; a value begins behind it."""
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
    if not _VALUE_BEGINS.match((yield from scan.need("a value"))):
        raise Malformed(expected="a value")
    return key
