"""The tagged engine: a name, then keys and raw values between tags.

A raw value is anything up to its end marker; only the schema of the tool says which type it has. An end marker counts
only if a token follows that may follow it. A value that is certainly a string is emitted while it arrives. One that may
still be a number, a literal or a JSON text is buffered until that is clear.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from toolfmt.formats.engines.call_builder import CallBuilder
from toolfmt.formats.engines.engine import Inner
from toolfmt.formats.engines.frame import MIN_CONTROL_TOKEN, NAME, Frame, check_filled, close_frame, follows, read_name
from toolfmt.formats.engines.json_members import read_arguments_after_start
from toolfmt.formats.engines.key_tags import (
    check_end_of_tag,
    element_opener,
    element_starts,
    lost_key_opener,
    read_element,
    read_element_name,
    read_key,
)
from toolfmt.formats.engines.raw_value import MarkedValue, RawValue
from toolfmt.formats.engines.tag_attributes import DAMAGED, PLAIN, QUOTED, Header
from toolfmt.formats.engines.tags import Given, Tags, stripped_end_marker
from toolfmt.formats.scanner.literals import literals
from toolfmt.formats.scanner.scanner import Malformed, Reading, Scan
from toolfmt.formats.scanner.spans import quoted
from toolfmt.formats.values.layout import CallText, EachArgument, EachCall, IfArguments, LaidOut, TaggedValue
from toolfmt.formats.values.nodes import EMPTY, Node, Text, row
from toolfmt.formats.values.schema_types import STRING, Types, typed
from toolfmt.formats.values.syntaxes import LITERAL, without
from toolfmt.formats.values.value_reader import read_value
from toolfmt.formats.values.value_writers import TEXT_BY_TYPE, TextWriter
from toolfmt.messages.rejections import end_marker, named, one_of, shown

_NO_NAME = (" ", "\t", "\r", "<", ">")
_NO_HEADER = ("<", ">")
_NEWLINES = ("\n", "\r\n")
_LINE_ENDS = literals(*_NEWLINES)
_WORD = re.compile(r"\w")
_QUOTED_KEY = re.compile(r"""["'](.+)["']""")
_MOST_UNDECLARED = 400
"""Maximum number of characters up to the end marker of the first value, if the tool is not declared."""


@dataclass(frozen=True, kw_only=True)
class Tagged(LaidOut, Frame):
    """Calls with a name, and keys and raw values between tags.

    The parser uses `name_opener` and `name_closer` around the name, and `call_closer` at the end of the call. Each may
    be empty: then the name ends at the next tag, and a frame contains one call. Without `opener` these are the only
    markers of a call. `value_newline` is a line break between value and tags that belongs to neither, or empty. The
    headers define how name and key are written in their tags. `cdata` are the marks of a value in which nothing is a
    tag, `type_tag` is the tag of the type between key and value, and `json_arguments` are the tags of all arguments as
    one JSON object. `skipped` is ignored around a call, as is what the writer writes there. The markers in
    `other_value_closers` and `other_call_closers` take the place of `value_closer` and `call_closer`, as the tolerance
    `repaired_markers`. If `end_is_stop_token`, the last call may lack its end marker: runtimes strip stop tokens.

    The writer writes `between` between tags, `between_calls` between calls, `enclosing` inside a frame that contains
    all calls (if it is empty, each call has its own frame), `before_name` and `after_call` around a call, and values
    with `write_value`.

    Raises `ValueError`, which names the parameter, if markers cannot be distinguished.
    """

    key_opener: str
    key_closer: str
    value_closer: str
    value_opener: str = ""
    name_opener: str = ""
    name_closer: str = ""
    call_closer: str = ""
    name_header: Header = PLAIN
    key_header: Header = PLAIN
    value_newline: str = ""
    cdata: tuple[str, str] | tuple[()] = ()
    type_tag: tuple[str, str] | tuple[()] = ()
    json_arguments: tuple[str, str] | tuple[()] = ()
    skipped: tuple[str, ...] = ()
    other_value_closers: tuple[str, ...] = ()
    other_call_closers: tuple[str, ...] = ()
    end_is_stop_token: bool = False
    between: str = "\n"
    between_calls: str = "\n"
    enclosing: tuple[str, str] | tuple[()] = ()
    before_name: str = ""
    after_call: str = ""
    write_value: TextWriter = TEXT_BY_TYPE

    def __post_init__(self) -> None:
        _check_tags(self)

    @property
    def openers(self) -> tuple[str, ...]:
        first = self.opener or self.name_opener.lstrip()
        return self.also if first in self.start_only_openers else (first, *self.also)

    @property
    def closers(self) -> tuple[str, ...]:
        if self.closer or not self.call_closer:
            return super().closers
        return (self.call_closer.lstrip(), *self.also_closers)

    @property
    def trailing_markers(self) -> tuple[str, ...]:
        ends = (self.value_closer,) if len(self.value_closer) >= MIN_CONTROL_TOKEN else ()
        return (*super().trailing_markers, *ends)

    @property
    def inner(self) -> Inner:
        several = self.opener and self.name_opener and self.call_closer
        return Inner((self.tags.name_opener,), (self.tags.call_closer,), self._skipped) if several else Inner()

    @cached_property
    def _skipped(self) -> tuple[str, ...]:
        """What is skipped around a call."""
        around = (self.before_name, self.after_call, *self.enclosing)
        return tuple(
            dict.fromkeys((*self.skipped, *(piece for text in around for piece in _unread(text, self.skipped))))
        )

    @cached_property
    def tags(self) -> Tags:
        """The tags as they are parsed: without the whitespace before them, which is skipped."""
        return Tags(
            key_opener=self.key_opener.lstrip(),
            key_closer=self.key_closer,
            value_opener=self.value_opener.lstrip(),
            value_closer=self.value_closer,
            name_opener=self.name_opener.lstrip(),
            name_closer=self.name_closer,
            call_closer=self.call_closer.lstrip(),
            other_value_closers=self.other_value_closers,
            other_call_closers=self.other_call_closers,
            openers=super().openers,
            closers=super().closers,
            skipped=self._skipped,
            lines=bool(self.value_newline) or "\n" in self.between,
            end_is_stop_token=self.end_is_stop_token,
            header=self.key_header,
        )

    @cached_property
    def _value_closers(self) -> Mapping[str, tuple[str, ...]]:
        """The end markers of a value, by the line break before the value."""
        closers = (self.value_closer, *self.other_value_closers)
        return {
            line: tuple(
                dict.fromkeys(begin + closer for begin in (line or self.value_newline, "") for closer in closers)
            )
            for line in ("", *_NEWLINES)
        }

    @cached_property
    def _takes_objects(self) -> bool:
        """Whether a brace after the name can only be an object in place of the arguments."""
        return not any(mark.startswith("{") for mark in (self.tags.key_opener, *self.tags.ends, *self.json_arguments))

    @cached_property
    def _behind_name(self) -> str:
        """The whitespace that the writer writes after the name of a call without arguments."""
        behind = self.between + self.call_closer if self.call_closer else "".join(self.enclosing[1:])
        return behind[: len(behind) - len(behind.lstrip())]

    @cached_property
    def _repeated(self) -> str:
        """The marker before a value, which models repeat; empty if it may be the end marker of the value."""
        repeated = self.tags.value_opener or (self.key_closer if len(self.key_closer) > 1 else "")
        return "" if self.value_closer.startswith(repeated) else repeated

    @cached_property
    def _name_pattern(self) -> re.Pattern[str]:
        """Matches a name without an end marker."""
        return without(NAME, {mark[0] for mark in (self.tags.key_opener, *self.tags.ends) if not mark[0].isalnum()})

    # --- writing

    @cached_property
    def layout(self) -> Node:
        name = CallText(lambda name, at: self.name_header.write(name, None, at))
        head = row(self.before_name, self.name_opener, name, self.name_closer)
        end = row(self.between, self.call_closer) if self.call_closer else EMPTY
        call = row(head, EachArgument(row(self.between, self._argument)), end, self.after_call)
        if self.enclosing:
            return self.enclosed(self.enclosing, EachCall(call, self.between_calls))
        lead = self.between if self.name_opener and self.opener else ""
        last: Node = Text(self.between if self.closer else "")
        last = last if self.call_closer else IfArguments(last)
        return EachCall(row(self.opener, lead, call, last, self.closer), self.between_calls)

    @property
    def _argument(self) -> Node:
        opened = self.key_closer + (self.between if self.value_opener else "") + self.value_opener + self.value_newline
        start_markers = (self.key_opener, self.value_opener, self._repeated, *self.openers, *self.unframed_openers)
        marks = (self.value_closer, *self.cdata[:1], *start_markers, *self.closers)
        never = tuple(dict.fromkeys(mark.strip() for mark in marks if mark.strip()))
        if self.tags.attribute:  # a declared key followed by this text is parsed as a damaged tag
            never += self.tags.tag_ends
        return TaggedValue(
            lambda key, value, at: self.key_opener + self.key_header.write(key, value, at) + opened,
            self.write_value,
            self.value_newline + self.value_closer,
            never,
            self.cdata,
        )

    # --- parsing

    def read(self, scan: Scan, calls: CallBuilder, opener: str) -> Reading[None]:
        framed = bool(opener) and opener != self.tags.name_opener
        calls.inside()
        name = ""
        yield from self._skip(scan)
        if self.tags.name_opener and opener != self.tags.name_opener:
            try:
                yield from scan.expect(self.tags.name_opener, *self._skipped)
            except Malformed:
                name = yield from read_element_name(scan, calls, self.tags)
                if not name:
                    raise
                calls.record_tolerance("other_notation")
        while True:
            if self.opener and not framed:
                calls.record_tolerance("missing_opener")
            end = yield from self._call(scan, calls, framed, name)
            name = ""
            calls.end()
            if end == self.tags.name_opener and end:
                calls.record_tolerance("missing_closer")
                calls.begin_at(scan.position - len(end))
                continue
            if end in self.other_call_closers:
                calls.record_tolerance("repaired_markers")
            if end in self.tags.closers:
                if self.tags.call_closer:
                    calls.record_tolerance("missing_closer")
                return
            here = scan.position
            last = yield from self._skip(scan)
            another = self.tags.name_opener if self.opener else ""
            if not another or not (yield from scan.literal(literals(another))):
                scan.rewind(last)
                break
            calls.begin_at(here)
        if self.opener:
            yield from close_frame(scan, calls, opener if framed else "", *self.tags.closers)

    def _skip(self, scan: Scan) -> Reading[int]:
        """Skip whitespace and what is ignored around a call. Return where the last whitespace starts."""
        last = scan.position
        yield from scan.skip_spaces()
        while self._skipped and (yield from scan.literal(literals(*self._skipped))):
            last = scan.position
            yield from scan.skip_spaces()
        return last

    def _call(self, scan: Scan, calls: CallBuilder, framed: bool, name: str) -> Reading[str]:
        """Parse a call from its name on, which may be known already. Return the end marker that ended it.

        A declared name is certainly a call if it has its own tag, otherwise with the tag after it. Any other name is a
        call when its first key is complete or the call ends. A call of an undeclared tool needs a first value with its
        end marker.
        """
        name = name or (yield from self._name(scan, calls))
        known, tagged = calls.is_known(name), framed and bool(self.name_closer)
        if not name and not tagged:
            yield from scan.need("the name of a tool")
            raise Malformed(expected="the name of a tool")
        started = bool(known) and tagged
        if started:
            calls.start(name)
        spaces = yield from scan.spaces()
        if self._takes_objects and (yield from scan.peek()) == "{" and known is not False:
            return (yield from self._object(scan, calls, name, started))
        damaged = False
        try:
            ends = (*self.tags.ends, *self.json_arguments[:1])
            token = yield from self._expect(scan, calls, self.tags.key_opener, *ends)
        except Malformed:
            tool = yield from lost_key_opener(scan, calls, self.tags, name)
            token = self.tags.key_opener if tool else (yield from element_starts(scan, self.tags))
            if token and not tool and known is False:
                calls.start(name)
            if not token or not (tool or known):
                raise
            name, known, damaged = tool or name, True, bool(tool)
        prose = known is None and not self.name_closer and token in self.tags.ends and spaces.strip("\r\n")
        if prose and spaces != self._behind_name:
            # A word in whitespace between two markers: prose that mentions them.
            raise Malformed(expected=shown(self.tags.key_opener))
        if (known or token != self.tags.key_opener) and not started:
            calls.start(name)
        if self.json_arguments and token == self.json_arguments[0]:
            yield from read_arguments_after_start(scan, calls)
            yield from follows(scan, self.json_arguments[1])
            yield from scan.skip_spaces()
            return (yield from scan.expect(*self.tags.ends))
        return (yield from self._arguments(scan, calls, name, token, Given(damaged=damaged)))

    def _arguments(self, scan: Scan, calls: CallBuilder, name: str, token: str, given: Given) -> Reading[str]:
        """Parse the arguments after the first token of the call. Return the end marker that ended it."""
        calls.arguments("{")
        known = calls.is_known(name)
        while token == self.tags.key_opener or token in self._element_openers:
            if token != self.tags.key_opener:
                token = yield from self._element(scan, calls, given)
                continue
            first = not given.keys
            here = scan.position
            none = " " if first and known is False else ""
            key, stated, fault, text = yield from read_key(
                scan, calls, self.tags, self.type_tag, name, given, begin=here, none=none
            )
            if not key or (fault == DAMAGED and (calls.declares(key, name) is not True or text.endswith("="))):
                raise Malformed(expected="a key", at=here)
            doubled = bool(self._repeated) and bool((yield from scan.literal(literals(self._repeated))))
            if first and not known:
                if known is False:
                    yield from self._closed_soon(scan, calls)
                calls.start(name)
                calls.arguments("{")
            key = _recorded_key(calls, key, doubled, fault)
            yield from check_end_of_tag(scan, calls, self.tags, key, text)
            given.damaged = given.damaged or doubled or fault == DAMAGED
            repeated = calls.member(key, given.keys, here)
            token = (yield from self._value_in_tag(scan, calls, key, text)) if fault else ""
            if not token:
                token = yield from self._value(scan, calls, _common_types(calls.types(key), stated), given)
            if repeated:
                calls.end_repeated()
        calls.arguments("}")
        if given.doubted - given.keys:
            key = sorted(given.doubted - given.keys)[0]
            calls.mark_rejected("malformed_syntax", f"the start marker of the argument {named(key)}")
        if given.damaged or self.cdata or token not in (self.tags.call_closer or token, *self.other_call_closers):
            for at, marker in given.moved_text(scan, self.tags):
                calls.mark_rejected("malformed_syntax", end_marker(self.value_closer) if marker else "a value", at)
        return token

    def _element(self, scan: Scan, calls: CallBuilder, given: Given) -> Reading[str]:
        """Parse an argument whose key and value are elements, after its start tag. Return the token that follows it."""
        here = scan.position
        key, value = yield from read_element(scan, calls, self.tags, bool(self.value_newline))
        key = _recorded_key(calls, key, False, "other_notation")
        repeated = calls.member(key, given.keys, here)
        ended = yield from value.reading(calls.types(key), (yield from scan.need(self._value_expected)))
        if ended != self.value_closer.strip():
            raise Malformed(expected=end_marker(self.value_closer), at=scan.position - len(ended))
        if repeated:
            calls.end_repeated()
        yield from scan.skip_spaces()
        return (yield from scan.expect(*self.tags.following, *self._element_openers))

    @cached_property
    def _element_openers(self) -> tuple[str, ...]:
        opener = element_opener(self.tags)
        return (opener,) if opener else ()

    def _object(self, scan: Scan, calls: CallBuilder, name: str, started: bool) -> Reading[str]:
        """Parse an object in place of the arguments, and the end of the call. Its first key must not be undeclared."""
        here = scan.position
        scan.skip()
        yield from scan.skip_spaces()
        if (yield from scan.need("a key or '}'")) != "}":
            yield from scan.expect('"')
            begins = scan.position
            key, _ = yield from scan.within(literals('"'))
            if calls.declares(key, name) is False:
                raise Malformed(expected="a declared parameter", at=begins)
        scan.rewind(here)
        if not started:
            calls.start(name)
        calls.record_tolerance("other_notation")
        yield from read_arguments_after_start(scan, calls)
        yield from scan.skip_spaces()
        return (yield from scan.expect(*self.tags.ends))

    def _name(self, scan: Scan, calls: CallBuilder) -> Reading[str]:
        """Read the name with its tag; "" if there is none."""
        calls.name_at = scan.position
        if not self.name_closer:
            return (yield from read_name(scan, self._name_pattern))
        quote = self.name_header.quote
        end = quote or self.name_closer
        name, closed = yield from scan.within(literals(end, *_NO_NAME), closer=end)
        header = name + closed.strip(self.name_closer)
        if closed == quote:
            rest, closed = yield from scan.within(literals(self.name_closer, *_NO_HEADER), closer=self.name_closer)
            header += rest
            while closed == self.name_closer and header.count(quote) % 2 == 0 and calls.is_known(name):
                rest, closed = yield from scan.within(literals(self.name_closer, *_NO_HEADER), closer=self.name_closer)
                header += self.name_closer + rest
                calls.record_tolerance("damaged_attribute")
        if closed != self.name_closer:
            raise Malformed(expected=f"{shown(self.name_closer)} after the name", at=scan.position - len(closed))
        fault = self.name_header.tolerance(header.strip()) if quote else ""
        name = self.name_header.read(name)[0]
        if fault == DAMAGED and not calls.is_known(name):
            raise Malformed(expected="the name of a declared tool", at=calls.name_at)
        if fault:
            calls.record_tolerance(fault)
        return name

    def _closed_soon(self, scan: Scan, calls: CallBuilder) -> Reading[None]:
        """Check that the end marker of a value follows soon; nothing is read. Otherwise the text is content, or it is
        malformed if the call or the output ends before."""
        here = scan.position
        closed = yield from scan.find_near(literals(self.value_closer), _MOST_UNDECLARED)
        scan.rewind(here)
        if closed:
            return
        ends = tuple(filter(None, (self.tags.call_closer, self.tags.name_opener)))
        ended = (yield from scan.find_near(literals(*ends), _MOST_UNDECLARED)) if ends else ""
        stopped = scan.position - len(ended) if ended else scan.offset + len(scan.text)
        scan.rewind(here)
        if ended or (scan.closed and len(scan.text) - scan.at <= _MOST_UNDECLARED):
            raise Malformed(expected=end_marker(self.value_closer), at=stopped)
        calls.abandon_as_content()

    def _value_in_tag(self, scan: Scan, calls: CallBuilder, key: str, text: str) -> Reading[str]:
        """Add the value in an attribute of a tag that ends like an empty element. Return the token that follows it; ""
        if the value follows the tag, whose text this is."""
        value = self.key_header.value(text)
        if value is None:
            return ""
        if not text.endswith("/") or calls.declares(key) is not True:
            if (yield from follows(scan, self.value_closer.lstrip())):
                raise Malformed(expected="a value")  # the attribute may have it
            return ""
        token = yield from follows(scan, *self.tags.following)
        if not token:
            raise Malformed(expected=one_of(self.tags.following))
        calls.arguments(typed(value, calls.types(key), calls.record_tolerance) or quoted(value))
        return token

    @cached_property
    def _value_expected(self) -> str:
        return f"a value and {end_marker(self.value_closer)}"

    def _value(self, scan: Scan, calls: CallBuilder, types: Types, given: Given) -> Reading[str]:
        """Parse a raw value and its end marker. Return the token that follows."""
        line = (yield from scan.literal(_LINE_ENDS)) if self.value_newline else ""
        first = yield from scan.need(self._value_expected)
        if self.cdata and (yield from scan.literal(literals(self.cdata[0]))):
            return (yield from self._marked(scan, calls, types or STRING, *self.cdata))
        if types is not None and first.isspace() and not types & STRING:
            here = scan.position
            yield from scan.skip_spaces()
            behind = yield from scan.need(self._value_expected)
            if opens_json(types, behind):
                first = behind
            else:
                scan.rewind(here)
        if opens_json(types, first):
            return (yield from self._read(scan, calls, given))
        value = RawValue(scan, calls, self.tags, self._value_closers[line], given)
        value.own_line = bool(line)
        return (yield from value.reading(types, first))

    def _marked(self, scan: Scan, calls: CallBuilder, types: Types, opener: str, closer: str) -> Reading[str]:
        """Parse a value between marks, in which only the marks of another value are a tag."""
        closers = tuple(closer + line + self.value_closer for line in ("", "\n"))
        value = MarkedValue(scan, calls, self.tags, closers, opener)
        return (yield from value.reading(types, (yield from scan.need(self._value_expected))))

    def _read(self, scan: Scan, calls: CallBuilder, given: Given) -> Reading[str]:
        """Parse an object or a list that the schema asks for. It is emitted while it arrives; its syntax ends it."""
        try:
            yield from read_value(scan, calls, LITERAL)
            yield from scan.skip_spaces()
            if self.cdata:
                yield from scan.literal(literals(self.cdata[1]))
        except Malformed as wrong:
            raise Malformed("invalid_arguments", wrong.expected, wrong.at) from None
        closers = tuple(closer.lstrip() for closer in (self.value_closer, *self.other_value_closers))
        try:
            token = yield from scan.expect(*closers, *self.tags.following)
        except Malformed:
            raise Malformed("invalid_arguments", shown(closers[0])) from None
        if token not in closers:
            calls.record_tolerance("missing_value_closer")  # its syntax shows where the value ends
            given.damaged = True
            return token
        if token != closers[0]:
            calls.record_tolerance("repaired_markers")
        yield from scan.skip_spaces()
        return (yield from self._expect(scan, calls, *self.tags.following))

    def _expect(self, scan: Scan, calls: CallBuilder, *tokens: str) -> Reading[str]:
        """Consume and return one of the tokens. At the end of the output, return the stripped end marker instead."""
        return (yield from stripped_end_marker(scan, calls, self.tags)) or (yield from scan.expect(*tokens))


def opens_json(types: Types, first: str) -> bool:
    """Whether an object or a list starts here, and the schema asks for one and not for a string."""
    return types is not None and not types & STRING and first in "{[" and bool(types & {"object", "array"})


def _recorded_key(calls: CallBuilder, key: str, doubled: bool, fault: str) -> str:
    """Record the tolerances of a key. Return it without quotes that do not belong to it."""
    if calls.declares(key) is not True and (unquoted := _QUOTED_KEY.fullmatch(key)):
        key = unquoted[1]
        calls.record_tolerance("quoted_key")
    if doubled:
        calls.record_tolerance("repeated_opener")
    if fault:
        calls.record_tolerance(fault)
    return key


def _common_types(declared: Types, stated: Types) -> Types:
    """Return the types in both the schema and the tag; those of the schema if they contradict each other."""
    if declared is None or stated is None:
        return stated if declared is None else declared
    return declared & stated or declared


# --- parameters


def _check_tags(engine: Tagged) -> None:
    """Raise `ValueError`, which names the parameter, for markers that no parser can distinguish.

    Parameters with which only some values cannot be written are valid: the writer rejects those values.
    """
    check_filled(engine, "cdata", "type_tag", "json_arguments", "skipped")
    _check_there(engine)
    for parameter, marker in (("opener", engine.opener), ("closer", engine.closer)):
        if marker != marker.lstrip():
            raise ValueError(f"{parameter}: {marker!r:.80} starts with whitespace, which is not part of a marker")
    if engine.value_newline not in ("", "\n"):
        raise ValueError(f"value_newline: must be one newline or empty, not {engine.value_newline!r:.80}")
    if engine.between.strip():
        raise ValueError(f"between: {engine.between!r:.80} is more than whitespace; move the rest into a tag")
    tags = engine.tags
    ends = {"key_opener": tags.key_opener, "call_closer": tags.call_closer, "closer": engine.closer}
    closes_value = engine.value_closer.strip()
    for parameter, marker in ends.items():
        longer = parameter == "key_opener" and marker != closes_value and closes_value.startswith(marker)
        if marker and _overlap(marker, closes_value) and not longer:  # the longer of two markers is found first
            raise ValueError(f"value_closer: {engine.value_closer!r:.80} cannot be distinguished from {parameter}")
    for parameter in ("call_closer", "closer"):
        if ends[parameter] and _overlap(ends[parameter], tags.key_opener):
            raise ValueError(f"{parameter}: {ends[parameter]!r:.80} cannot be distinguished from key_opener")
    if engine.name_opener and engine.name_opener == engine.opener:
        raise ValueError(f"name_opener: {engine.name_opener!r:.80} is the same as opener")
    if not engine.name_closer and not engine.between:
        for parameter, marker in ends.items():
            if _WORD.match(marker):
                raise ValueError(f"{parameter}: nothing separates a name from {marker!r:.80} after it")
    _check_around(engine)


def _check_there(engine: Tagged) -> None:
    """Check the markers that parsing needs."""
    for parameter in ("key_opener", "key_closer", "value_closer"):
        if not getattr(engine, parameter).strip():
            raise ValueError(f"{parameter}: keys and values need markers that are more than whitespace")
    if not engine.opener and not engine.name_opener:
        raise ValueError("name_opener: no marker starts a call")
    if not engine.call_closer and not engine.closer and not engine.also_closers:
        raise ValueError("call_closer: no marker ends a call")
    for parameter, quote, marker in (
        ("name_opener", engine.name_header.quote, engine.name_opener),
        ("key_opener", engine.key_header.quote, engine.key_opener),
    ):
        if quote and not marker.endswith(quote):
            raise ValueError(f"{parameter}: {marker!r:.80} must end with the quote that starts its header")


def _check_around(engine: Tagged) -> None:
    """Check that what the writer writes around calls can be parsed."""
    if (engine.before_name.strip() or engine.after_call.strip()) and not engine.opener:
        raise ValueError("before_name: a call without a frame has only its own markers around it")
    if engine.after_call.strip() and not engine.call_closer:
        raise ValueError("after_call: a call without an end marker ends with the frame")
    frame = (engine.opener, engine.closer, *engine.also, *engine.also_closers, *engine.skipped)
    if not _made_of(engine.between_calls, frame):
        raise ValueError(
            f"between_calls: {engine.between_calls!r:.80} has more than whitespace, markers and skipped text"
        )


def _made_of(text: str, pieces: Iterable[str]) -> bool:
    found = "|".join(re.escape(piece) for piece in sorted(pieces, key=len, reverse=True) if piece)
    return re.fullmatch(rf"(?:\s|{found})*", text) is not None if found else not text.strip()


def _overlap(one: str, other: str) -> bool:
    return one.startswith(other) or other.startswith(one)


def _unread(text: str, skipped: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words of a text around calls that are not skipped anyway."""
    return tuple(piece for piece in text.split() if not _made_of(piece, skipped))


INVOKE_TAGS = Tagged(
    enclosing=("\n", "\n"),
    unframed_openers=('<invoke name="',),
    name_opener='<invoke name="',
    name_closer=">",
    name_header=QUOTED,
    call_closer="</invoke>",
    key_opener='<parameter name="',
    key_closer=">",
    key_header=QUOTED,
    value_closer="</parameter>",
)
"""Tags with names in attributes, and several calls in one frame, whose markers each format adds."""

FUNCTION_TAGS = Tagged(
    opener="<tool_call>",
    closer="</tool_call>",
    unframed_openers=("<function=",),
    name_opener="<function=",
    name_closer=">",
    call_closer="</function>",
    key_opener="<parameter=",
    key_closer=">",
    value_closer="</parameter>",
    value_newline="\n",
)
"""The tags of Qwen3-Coder, which several families use with changes."""
