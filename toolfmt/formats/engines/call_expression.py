"""The call expression engine: the call is written as code, `f(k='v', n=1)` or `call:f{k:<q>v<q>}`.

The format defines the brackets, the delimiter between key and value, and the syntax of values. The schema of the tool
decides on the type of a value, not the quotes: an unquoted word or number is the text of a string parameter, and a
quoted value of another type is accepted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

from toolfmt.formats.engines.call_builder import CallBuilder, Trial
from toolfmt.formats.engines.call_delimiters import CallDelimiters, call_delimiters
from toolfmt.formats.engines.frame import Frame, check_filled, close_frame, follows, read_name
from toolfmt.formats.engines.json_members import Keys
from toolfmt.formats.engines.json_object import read_calls
from toolfmt.formats.scanner.literals import Literals, literals
from toolfmt.formats.scanner.lookahead import MAX_LOOKAHEAD, LookaheadExceeded, look_ahead
from toolfmt.formats.scanner.scanner import LONGEST_WORD, Incomplete, Malformed, Reading, Scan
from toolfmt.formats.scanner.spans import UNESCAPED, escaped, quoted
from toolfmt.formats.values.layout import TOOL_NAME, EachArgument, EachCall, IfArguments, Key, LaidOut, Value
from toolfmt.formats.values.name_repair import without_namespace
from toolfmt.formats.values.nodes import Node, row
from toolfmt.formats.values.schema_types import STRING, Types, may_be_literal, typed
from toolfmt.formats.values.syntaxes import BetweenMarks, Notation
from toolfmt.formats.values.value_reader import Buffered, first_of_string, read_string, read_value
from toolfmt.formats.values.value_writers import ValueWriter
from toolfmt.messages.rejections import end_marker, named, one_of, shown

_FENCE = "```"
_END_OF_LINE = "the end of the line after the call"
_ESCAPED_STRING = "a string with escaped quotes"
_LANGUAGE = re.compile(r"[a-z_]*")
_SPACES = re.compile(r"[ \t]*")
_QUOTES = literals("'", '"')
_LEAD_WITH_DELIMITER = re.compile(r"\w+(\W)")
"""A lead such as `call:`. Models sometimes drop its word and write only the delimiter."""
_OPERATORS = frozenset("=+*/%&|^@")
_CONTINUATIONS = frozenset("=+*/%&|^@.,;:?!~-`'\"\\([{}])>")
"""Characters directly after a list that show that it is part of an expression, a link or a sentence. Letters do not
show this: if the control tokens are lost, the text after the calls follows the bracket directly."""


class _FrameEnd(NamedTuple):
    """How a frame ended."""

    closed: bool
    """Whether it had its end marker."""
    enclosed: bool
    """Whether the literals of `enclosing` were around the calls."""
    fenced: bool
    """Whether a Markdown code fence was around the calls."""


class _FrameState(NamedTuple):
    """What has been parsed of the current frame."""

    end: str
    """The literal that closes the calls, if the one that opens them was there."""
    tolerances: Sequence[str]
    """The tolerances to record for each call."""
    declared_only: bool
    """Whether only calls of declared tools count."""
    bare: bool
    """Whether no marker and no bracket is around the calls."""
    opened: bool
    """Whether the start marker was there."""


@dataclass(frozen=True, kw_only=True)
class CallExpression(LaidOut, Frame):
    """Calls written as code.

    Args:
        notation: The syntax of values, for parsing.
        written: Writes a value.
        lead: The literal before the name.
        brackets: The literals before and after the arguments. If the first is whitespace, the call starts with its
            `lead` or with the frame, and a call without arguments lacks the whitespace: `(name :key "v")`,
            `<call name key="v"/>`.
        assign: The delimiter between key and value.
        separator: The delimiter between two arguments.
        key_lead: The literal before a key.
        pair_closer: The literal after every value: `(name (key "v") (n 1))`.
        between: The delimiter between two calls of a frame.
        enclosing: The literals before and after all calls of a frame. Empty if each call has its own frame.
        key_order: The order in which the templates of the format write the arguments.
        damaged_openers: Damaged start markers, which are parsed as the tolerance `repaired_markers`.

    Raises:
        ValueError: Two delimiters cannot be distinguished. The message names the parameter.
    """

    notation: Notation | BetweenMarks
    written: ValueWriter
    lead: str = ""
    brackets: tuple[str, str] = ("(", ")")
    assign: str = "="
    separator: str = ", "
    key_lead: str = ""
    pair_closer: str = ""
    between: str = ", "
    enclosing: tuple[str, str] | tuple[()] = ()
    key_order: Literal["given", "alphabetical"] = "given"
    damaged_openers: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.key_order not in ("given", "alphabetical"):
            raise ValueError(f"key_order: must be 'given' or 'alphabetical', not {self.key_order!r:.80}")
        check_filled(self, "damaged_openers")
        _ = self._delimiters

    @cached_property
    def _delimiters(self) -> CallDelimiters:
        frame = self.closer, self.opener
        return call_delimiters(
            self.brackets, self.assign, self.separator, self.key_lead, self.pair_closer, self.notation, *frame
        )

    @property
    def openers(self) -> tuple[str, ...]:
        return (*super().openers, *self.damaged_openers)

    @cached_property
    def _enclosing(self) -> tuple[str, str]:
        """The literals around all calls of a frame, without whitespace."""
        begin, end = self.enclosing or ("", "")
        return begin.strip(), end.strip()

    @cached_property
    def _lead(self) -> str:
        """The literal before a name. Whitespace before it is skipped."""
        return self.lead.lstrip()

    @cached_property
    def _call_delimiters(self) -> tuple[str, ...]:
        """The delimiters that are accepted between two calls."""
        return tuple(dict.fromkeys(delimiter for delimiter in (self.between.strip(), ",", ";") if delimiter))

    # --- writing

    @cached_property
    def layout(self) -> Node:
        argument = row(self.key_lead, Key(), self.assign, Value(self.written, self.closers), self.pair_closer)
        arguments: Node = EachArgument(argument, self.separator, self.key_order == "alphabetical")
        arguments = row(self.brackets[0], arguments)
        if not self._delimiters.bracket:
            arguments = IfArguments(arguments)
        call = row(self.lead, TOOL_NAME, arguments, self.brackets[1])
        if self.enclosing:
            return self.enclosed(self.enclosing, EachCall(call, self.between))
        return EachCall(call, "", self.opener, self.closer)

    # --- reading

    def read(self, scan: Scan, calls: CallBuilder, opener: str) -> Reading[None]:
        if not opener:
            if not calls.committed:
                accepted = yield from self._look_ahead_unframed(scan, calls)
                if accepted is None:
                    raise Malformed(expected=_END_OF_LINE)
                if accepted:
                    scan.skip(accepted)
                    return
            calls.commit()
        ending = yield from self._read_frame(scan, calls, opener)
        if not opener:
            here = scan.position
            yield from self._check_following(scan, calls, ending)
            scan.rewind(here)
        elif ending.closed and self.unframed_openers and self.enclosing:
            yield from self._skip_repeated_frame(scan, calls, opener)

    def _skip_repeated_frame(self, scan: Scan, calls: CallBuilder, opener: str) -> Reading[None]:
        """Consume the text of the frame, without its start marker, if it is repeated directly after the frame.

        Some models write it twice, but intend a single call.
        """
        if (yield from scan.peek()) not in self.unframed_openers:
            return
        calls.framed_until = scan.position
        text = calls.text().removeprefix(opener)
        if text.startswith(self.unframed_openers) and len(text) < MAX_LOOKAHEAD:

            def same(window: Scan) -> Reading[bool]:
                for character in text:
                    if (yield from window.peek()) != character:
                        return False
                    window.skip()
                return True

            if (yield from look_ahead(scan, same, len(text) + 1)):
                scan.skip(len(text))
                calls.record_tolerance("repeated_call")

    def _read_frame(self, scan: Scan, calls: CallBuilder, opener: str) -> Reading[_FrameEnd]:
        """Parse a frame from after its start marker: the calls, the literals around them, and the end marker."""
        yield from scan.skip_spaces()
        begin, end = self._enclosing
        here, fence = scan.position, ""
        if not opener and begin[:1] != "[":
            enclosed = ""  # without a start marker and without a list, calls in a code fence are an example
        elif begin.startswith(_FENCE):
            enclosed = yield from scan.literal(literals(begin, _FENCE))
        else:
            own = opener.startswith(_FENCE) or self.lead.startswith(_FENCE)
            fence = "" if own else (yield from scan.literal(literals(_FENCE)))
            if fence:
                yield from scan.word(_LANGUAGE)
                yield from scan.skip_spaces()
            here = scan.position
            enclosed = (yield from scan.literal(literals(begin))) if begin else ""
        yield from scan.skip_spaces()
        calls.inside()
        objects = bool(opener and self.enclosing) and self.lead[:1] != "{" and (yield from scan.need("a call")) == "{"
        tolerances = []
        if not opener and self.opener:
            tolerances.append("missing_opener")
        if opener in self.damaged_openers:
            tolerances.append("repaired_markers")
        if fence:
            tolerances.append("markdown_fence")
        if begin and not enclosed:
            tolerances.append("missing_brackets" if begin[0] == "[" else "missing_fence")
        if enclosed != begin and enclosed:
            tolerances.append("repaired_markers")  # a fence without its language
        if objects:  # JSON objects with name and arguments, in place of expressions
            scan.rewind(here)
            yield from read_calls(scan, calls, Keys(separator=", "))
        else:
            # Without markers, the name of a declared tool is the only evidence that the text is a call.
            bare = not opener and not enclosed
            declared_only = bare or (not opener and self.opener != "")
            frame = _FrameState(end if enclosed else "", tolerances, declared_only, bare, bool(opener))
            yield from self._read_calls(scan, calls, frame)
        if fence and not (yield from follows(scan, _FENCE)):
            if not opener:
                raise Malformed(expected=shown(_FENCE))
            calls.record_tolerance("missing_fence")
        closers = self.closers if opener else tuple(mark for mark in self.closers if not mark.startswith(_FENCE))
        closed = yield from close_frame(scan, calls, opener, *closers)
        followed = opener and not closed and calls.declared and (yield from self._argument_follows(scan, calls))
        if followed or (not closed and calls.has_tolerance(UNESCAPED)):
            raise Malformed(expected=end_marker(*closers))
        return _FrameEnd(bool(closed and closers), bool(enclosed), bool(fence))

    def _look_ahead_unframed(self, scan: Scan, calls: CallBuilder) -> Reading[int | None]:
        """Look ahead for calls without a start marker. Consume nothing.

        Source code, a link or a sentence may start like a call, so the text after the calls decides. The lookahead is
        bounded, because the text is held back; longer text is a call if its tool may be declared and it has arguments,
        or a complete call precedes.

        Returns:
            None if the text is not a call. 0 if it is a call that is still to be parsed, because it is malformed,
            truncated or longer than the lookahead. Otherwise the length of the calls, which `calls` has accepted.
        """
        trials: list[Trial] = []

        def read(window: Scan) -> Reading[int | None]:
            trials.append(Trial(window, calls))
            return self._read_trial(window, trials[0], calls.framed_until == scan.position)

        try:
            length = yield from look_ahead(scan, read)
        except LookaheadExceeded:
            return 0 if trials[0].attempted or trials[0].among_calls else None
        if length:
            calls.accept(trials[0])
        return length

    def _read_trial(self, scan: Scan, trial: Trial, after_frame: bool) -> Reading[int | None]:
        """Parse calls without a start marker and return what `_look_ahead_unframed` does.

        With `after_frame`, a frame ended directly before. If calls with an end marker follow, they may be a repetition
        of it, so they are not calls.
        """
        begin = scan.position
        try:
            ending = yield from self._read_frame(scan, trial, "")
            if ending.closed and after_frame:
                return None
            length = scan.position - begin
            yield from self._check_following(scan, trial, ending)
        except Malformed:
            return 0 if trial.attempted else None
        except Incomplete:
            return 0 if trial.attempted or (trial.ended > 0 and trial.known) else None
        return length

    def _check_following(self, scan: Scan, calls: CallBuilder, ending: _FrameEnd) -> Reading[None]:
        """Raise `Malformed` if the text after a frame without a start marker shows that it is not a call."""
        if ending.closed:
            return
        spaces = yield from scan.word(_SPACES)
        following = yield from scan.peek()
        if following in ("", "\n", "\r"):
            yield from scan.spaces()
            if not ending.fenced and not ending.enclosed and (yield from scan.literal(literals(_FENCE))):
                yield from scan.word(_SPACES)
                if (yield from scan.peek()) in ("", "\r", "\n"):
                    raise Malformed(expected=_END_OF_LINE)  # the last line of source code in a code fence
        elif not ending.enclosed or (
            following in _OPERATORS if spaces else not calls.known or following in _CONTINUATIONS
        ):
            raise Malformed(expected=_END_OF_LINE)
        elif spaces and following.islower():
            raise Malformed(expected=_END_OF_LINE)  # a sentence that mentions the call
        elif not spaces:
            calls.record_tolerance("text_behind_closer")

    def _arguments_complete(self, scan: Scan, calls: CallBuilder, bracket: str) -> Reading[bool]:
        """Return whether the arguments are complete and valid, without consuming them.

        For an undeclared tool, because its name is no evidence of a call. The lookahead is bounded, because the text is
        held back.
        """

        def read(window: Scan) -> Reading[bool]:
            trial = Trial(window, calls)
            trial.start("")
            try:
                yield from self._read_arguments(window, trial, bracket)
            except (Malformed, Incomplete):
                return False
            return True

        try:
            return (yield from look_ahead(scan, read))
        except LookaheadExceeded:
            return False

    def _read_calls(self, scan: Scan, calls: CallBuilder, frame: _FrameState) -> Reading[None]:
        """Parse the calls of a frame, and the literal that closes them if the one that opens them was there."""
        end, separator = frame.end, ""
        while True:
            if separator and separator != self.between.strip():
                calls.record_tolerance("other_separator")
            yield from self._read_call(scan, calls, frame)
            if calls.declared and (yield from self._argument_follows(scan, calls)):
                raise Malformed(expected="the end of the call")  # its bracket was closed too early
            calls.end()
            if not self.enclosing:
                another = (yield from self._lead_follows(scan)) if frame.bare else False
                if not another:
                    return
                calls.begin_dependent(scan.position)
                continue
            here = scan.position
            separator = yield from follows(scan, *self._call_delimiters)
            after = scan.position
            if not separator and not (yield from self._undelimited_call_follows(scan, calls, frame)):
                break
            spaces = yield from scan.spaces()
            if not (yield from self._call_follows(scan, calls, frame)):
                at_end = frame.bare and ("\n" in spaces or not (yield from scan.peek()))
                if at_end:
                    scan.rewind(after)
                else:
                    after = scan.position
                    at_end = bool((yield from follows(scan, *((end,) if end else self.closers))))
                    scan.rewind(after if at_end else here)
                if at_end:
                    calls.record_tolerance("trailing_comma")
                break
            if calls.has_tolerance(UNESCAPED):
                # The end of the string is a guess, as a quote in it is not escaped. This may be part of the string.
                raise Malformed(expected=_ESCAPED_STRING)
            if frame.opened:
                calls.begin()
            else:
                calls.begin_dependent(scan.position)
        if end and not (yield from follows(scan, end)):
            if calls.has_tolerance(UNESCAPED):
                raise Malformed(expected=_ESCAPED_STRING)  # the end of the string was a guess, and it was wrong
            if not frame.opened and not (yield from self._line_ends(scan)):
                raise Malformed(expected=one_of((end, *self._call_delimiters)))
            calls.record_tolerance("missing_closer")  # every call is complete, and nothing else follows on the line

    def _argument_follows(self, scan: Scan, calls: CallBuilder) -> Reading[bool]:
        """Return whether the key of another argument that the tool declares follows, without consuming it."""
        here, delimiters = scan.position, self._delimiters
        found = False
        if delimiters.separator and delimiters.assign and (yield from follows(scan, delimiters.separator)):
            yield from scan.skip_spaces()
            key = (yield from scan.take_while(delimiters.notation.key, LONGEST_WORD)).strip()
            found = calls.declares(key) is True and bool((yield from follows(scan, *delimiters.assigns)))
        scan.rewind(here)
        return found

    def _lead_follows(self, scan: Scan) -> Reading[bool]:
        """Return whether the lead of another call follows directly, without consuming it."""
        here = scan.position
        found = yield from scan.literal(literals(self._lead))
        scan.rewind(here)
        return bool(found)

    def _line_ends(self, scan: Scan) -> Reading[bool]:
        """Return whether the line ends here, or whether the output ends here or after a comma. Consume nothing."""
        here = scan.position
        comma = yield from follows(scan, ",")
        spaces = yield from scan.spaces()
        ends = not (yield from scan.peek()) or (not comma and "\n" in spaces)
        scan.rewind(here)
        return ends

    def _call_follows(self, scan: Scan, calls: CallBuilder, frame: _FrameState, bracket: bool = False) -> Reading[bool]:
        """Return whether a name follows, and with `bracket` also its bracket. Consume nothing.

        If only declared tools count, the name must be declared, and its bracket must follow.
        """
        here = scan.position
        found = not self._lead or bool((yield from scan.literal(literals(self._lead))))
        quote = (yield from scan.literal(_QUOTES)) if not self._lead else ""
        name = (yield from read_name(scan, self._delimiters.name)) if found else ""
        found = bool(name) and (not quote or bool((yield from scan.literal(literals(quote)))))
        if found and frame.declared_only:
            found = calls.is_known(name) is True
        if found and (frame.declared_only or bracket):
            found = yield from self._bracket_follows(scan)
        scan.rewind(here)
        return found

    def _bracket_follows(self, scan: Scan) -> Reading[bool]:
        """Consume the format's own bracket after a name and return whether it was there. A bracket that is whitespace
        may be missing."""
        if self._delimiters.space_before_bracket:
            yield from scan.skip_spaces()
        if not self._delimiters.bracket:
            return True
        return bool((yield from scan.literal(literals(self._delimiters.bracket))))

    def _undelimited_call_follows(self, scan: Scan, calls: CallBuilder, frame: _FrameState) -> Reading[bool]:
        """Return whether another call follows without a delimiter. Consume nothing.

        It must be on the next line, or the format must have no delimiter other than whitespace.
        """
        in_lines = "\n" in self.between or not frame.end
        if not in_lines and self.between.strip():
            return False
        here = scan.position
        spaces = yield from scan.spaces()
        may_follow = "\n" in spaces or not self.between.strip()
        found = may_follow and (yield from self._call_follows(scan, calls, frame, bracket=True))
        scan.rewind(here)
        return found

    def _read_call(self, scan: Scan, calls: CallBuilder, frame: _FrameState) -> Reading[None]:
        """Parse one call: lead, name, bracket and arguments."""
        parts = _LEAD_WITH_DELIMITER.fullmatch(self._lead)
        leads = (self._lead, "_" + self._lead, parts[1]) if parts else (self._lead,)
        lead = (yield from scan.literal(literals(*leads))) if self._lead else ""
        quote = (yield from scan.literal(_QUOTES)) if not self._lead else ""
        calls.name_at = scan.position
        name = yield from read_name(scan, self._delimiters.name)
        if not name:
            yield from scan.need("the name of a tool")
            raise Malformed(expected="the name of a tool")
        if quote:
            yield from scan.expect(quote)
        known, repaired = calls.is_known(name), ""
        if parts and known is False:
            tools = {calls.resolve_name(tool) for tool in without_namespace(name, parts[1]) if calls.is_known(tool)}
            if len(tools) == 1:
                repaired, known = tools.pop(), True
        # A tolerance before the first argument needs a declared name as evidence that the text is a call.
        if known is not True and (frame.declared_only or quote or lead != self._lead):
            raise Malformed(expected="the name of a declared tool", at=calls.name_at)
        if self._delimiters.space_before_bracket:
            yield from scan.skip_spaces()
        bracket = (yield from scan.expect(*self._delimiters.brackets)) if self._delimiters.bracket else ""
        if lead != self._lead:
            calls.record_tolerance("repaired_markers" if lead[:1] == "_" else "missing_prefix")
        if quote:
            calls.record_tolerance("quoted_name")
        for tolerance in frame.tolerances:
            calls.record_tolerance(tolerance)
        if bracket != self._delimiters.bracket:
            calls.record_tolerance("other_notation")
        if known is False and not calls.committed and not (yield from self._arguments_complete(scan, calls, bracket)):
            raise Malformed(expected="the name of a declared tool", at=calls.name_at)
        if known is not None or calls.committed:
            calls.start(name, repaired=repaired)
            name = ""
        yield from self._read_arguments(scan, calls, bracket, name, frame)

    def _read_arguments(
        self, scan: Scan, calls: CallBuilder, bracket: str, name: str = "", frame: _FrameState | None = None
    ) -> Reading[None]:
        """Parse the arguments from after their bracket to after the closing bracket.

        If `name` is not empty, start the call once its first key, its first value or the closing bracket shows that the
        text is one.
        """
        delimiters = self._delimiters
        closing = literals(delimiters.closes(bracket))
        if not name:
            calls.arguments("{")
        position, keys = 0, set[str]()
        while True:
            yield from scan.skip_spaces()
            closes = bool((yield from scan.literal(closing)))
            if position and not closes and delimiters.separator:
                yield from scan.expect(delimiters.separator, also=delimiters.closes(bracket))
                yield from scan.skip_spaces()
                closes = bool((yield from scan.literal(closing)))
                if closes:
                    calls.record_tolerance("trailing_comma")
            here = scan.position
            key = None if closes else (yield from self._read_key(scan, calls))
            if frame is not None and frame.bare and key is not None and calls.declares(key) is False:
                raise Malformed(expected="a declared parameter", at=here)
            if name:
                calls.start(name)
                calls.arguments("{")
                name = ""
            if closes:
                break
            if key is None:
                if delimiters.pair_closer:
                    # A pair has its own brackets, and a value without a key is not a pair.
                    raise Malformed(expected=shown(delimiters.key_lead or delimiters.assign))
                if not position and (yield from self._read_positional_object(scan, calls, closing)):
                    return
                if calls.declares("") is not None:
                    calls.arguments("")  # a value for a declared tool counts as an attempt to call it (`Trial.keyed`)
                key = calls.positional(position)
                calls.record_tolerance("positional_arguments")
            repeated = calls.member(key, keys, here)
            yield from self._read_value(scan, calls, calls.types(key))
            if repeated:
                calls.end_repeated()
            if delimiters.pair_closer:
                yield from scan.skip_spaces()
                yield from scan.expect(delimiters.pair_closer)
            position += 1
        if calls.has_tolerance(UNESCAPED) and not calls.accepts(keys):
            # The end of the string was a guess, and the string contains one of the arguments.
            raise Malformed(expected=_ESCAPED_STRING)
        calls.arguments("}")

    def _read_key(self, scan: Scan, calls: CallBuilder) -> Reading[str | None]:
        """Consume a key and its delimiter and return the key. If a value without a key follows, consume nothing and
        return None."""
        here, delimiters = scan.position, self._delimiters
        if delimiters.key_lead:
            yield from scan.expect(delimiters.key_lead)
        if (yield from scan.need("an argument")) not in "{[(":
            word = yield from scan.word(delimiters.notation.key)
            key = word.strip() or (yield from read_string(scan, Buffered(scan, calls), delimiters.notation))
            spaces = yield from scan.spaces()
            delimiter = (yield from scan.literal(literals(*delimiters.assigns))) if delimiters.assign else spaces
            if delimiter:
                if delimiters.assign and delimiter != delimiters.assign:
                    calls.record_tolerance("other_notation")
                if delimiter == "=" and (yield from scan.peek()) == "=":
                    raise Malformed(expected="a value")  # a comparison
                return key
            yield from scan.need("the rest of the argument")
            if word and not self._delimiters.notation.stands_alone(word.strip()):
                raise Malformed(expected=f"{one_of(delimiters.assigns)} after the key {named(key)}")
        scan.rewind(here)
        return None

    def _read_positional_object(self, scan: Scan, calls: CallBuilder, closing: Literals) -> Reading[bool]:
        """Parse a single object in place of the arguments, and the closing bracket. Return whether there is one.

        Its keys must be parameters of the tool. If they are not, the object is the value of the first parameter, and
        nothing is consumed.
        """
        if (yield from scan.need("an argument")) != "{":
            return False
        here = scan.position
        buffer = Buffered(scan)
        try:
            yield from read_value(scan, buffer, self._delimiters.notation)
            keys = list(json.loads(buffer.text))
        except (Malformed, ValueError):
            keys = []
        yield from scan.skip_spaces()
        found = bool(keys) and all(map(calls.declares, keys)) and (yield from scan.literal(closing))
        scan.rewind(here)
        if not found:
            return False
        buffer = Buffered(scan, calls)
        yield from read_value(scan, buffer, self._delimiters.notation)
        calls.record_tolerance("positional_object")
        calls.arguments(buffer.text.strip()[1:])
        yield from scan.skip_spaces()
        yield from scan.literal(closing)
        return True

    def _read_value(self, scan: Scan, calls: CallBuilder, types: Types) -> Reading[None]:
        """Parse a value and emit it as JSON.

        `types` are the types that the tool's schema allows for it; None if it specifies none. They decide whether
        quoted text is a string, and whether an unquoted word is one.
        """
        yield from scan.skip_spaces()
        first = yield from scan.need("a value")
        if self._delimiters.notation.quoted and first in self._delimiters.notation.openers.first:
            yield from self._read_quoted_value(scan, calls, types)
            return
        quoted = first in self._delimiters.notation.openers.first
        if types is None or first in "[(" or (quoted and types & STRING):
            yield from read_value(scan, calls, self._delimiters.notation)
        elif first == "{":
            if not ("array" in types and "object" not in types and (yield from self._read_set(scan, calls))):
                yield from read_value(scan, calls, self._delimiters.notation)
        elif quoted:
            text = yield from read_string(scan, calls, self._delimiters.notation)
            value = typed(text, types)
            if value is not None:
                calls.record_tolerance("quoted_value")
            calls.arguments(value or f'"{escaped(text)}"')
        elif types & STRING:
            text = (yield from scan.take_while(self._delimiters.notation.text)).rstrip()
            yield from scan.need("a value")
            if not text:
                raise Malformed(expected="a value")
            value = typed(text, types)
            if value is None:
                calls.record_tolerance("unquoted_string")
            calls.arguments(value or f'"{escaped(text)}"')
        else:
            here = scan.position
            word = yield from scan.take_while(self._delimiters.notation.word)
            if word[:1].isalpha() and not self._delimiters.notation.stands_alone(word.strip()):
                # A word that is not a literal, such as a variable, where the schema does not allow a string.
                calls.mark_rejected("invalid_arguments", f"a value of type {' or '.join(sorted(types))}", here)
            scan.rewind(here)
            yield from read_value(scan, calls, self._delimiters.notation)

    def _read_quoted_value(self, scan: Scan, calls: CallBuilder, types: Types) -> Reading[None]:
        """Parse a value of a format that writes all values in quotes.

        If the value can only be a string, it is emitted while it arrives. If not, its whole text decides on the type.
        """
        notation = self._delimiters.notation
        first = yield from first_of_string(scan, notation)
        if types is None or types & STRING:
            is_string = types == STRING or not (first == "\\" or may_be_literal(types, first))
        else:
            is_string = False
        if is_string:
            yield from read_value(scan, calls, notation)
            return
        text = yield from read_string(scan, calls, notation)
        calls.arguments(typed(text, types, calls.record_tolerance) or quoted(text))

    def _read_set(self, scan: Scan, calls: CallBuilder) -> Reading[bool]:
        """Parse a Python set and emit it as a list. Return False and consume nothing if an object follows instead."""
        here = scan.position
        scan.skip()
        try:
            yield from read_value(scan, Buffered(scan), self._delimiters.notation)
            yield from scan.skip_spaces()
            found = (yield from scan.need("',' or '}'")) in ",}"
        except Malformed:
            found = False
        scan.rewind(here)
        if not found:
            return False
        calls.record_tolerance("set")
        delimiter = "["
        while True:
            scan.skip()
            calls.arguments(delimiter)
            yield from read_value(scan, calls, self._delimiters.notation)
            yield from scan.skip_spaces()
            following = yield from scan.need("',' or '}'")
            if following == "}":
                scan.skip()
                calls.arguments("]")
                return True
            if following != ",":
                raise Malformed(expected="',' or '}'")
            delimiter = ", "
