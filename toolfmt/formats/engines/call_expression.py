"""The call expression engine: the call is written as code, `f(k='v', n=1)` or `call:f{k:<q>v<q>}`.

Brackets, the sign between key and value and the notation of values are the format's. A string parameter takes a bare
word or number as its text, and a quoted value of another type is read: the tool's schema decides, not the quotes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

from toolfmt.formats.engines.call_builder import CallBuilder, Trial
from toolfmt.formats.engines.call_delimiters import CallDelimiters, call_delimiters
from toolfmt.formats.engines.engine import Call, TypesOf
from toolfmt.formats.engines.frame import Frame, check_filled, close_frame, follows, read_name
from toolfmt.formats.engines.json_members import Keys
from toolfmt.formats.engines.json_object import read_calls
from toolfmt.formats.scanner.literals import Literals, literals
from toolfmt.formats.scanner.lookahead import MAX_LOOKAHEAD, LookaheadExceeded, look_ahead
from toolfmt.formats.scanner.scanner import Incomplete, Malformed, Reading, Scan
from toolfmt.formats.scanner.spans import UNESCAPED, escaped, quoted
from toolfmt.formats.values.schema_types import STRING, Types, may_be_literal, typed
from toolfmt.formats.values.value_reader import (
    BetweenMarks,
    Buffered,
    Notation,
    first_of_string,
    read_string,
    read_value,
)
from toolfmt.formats.values.value_writers import ValueWriter
from toolfmt.messages.rejections import end_marker, named, one_of, shown

_FENCE = "```"
_ALONE = "the end of the line after the call"
_ESCAPED = "a string with escaped quotes"
_LANGUAGE = re.compile(r"[a-z_]*")
_BLANKS = re.compile(r"[ \t]*")
_QUOTES = literals("'", '"')
_LOST_LEAD = re.compile(r"\w+(\W)")
"""A lead of which the sign behind its word may be all that is left."""
_OPERATORS = frozenset("=+*/%&|^@")
_GOES_ON = frozenset("=+*/%&|^@.,;:?!~-`'\"\\([{}])>")
"""What right behind a list shows that it is part of an expression, a link or a sentence; words do not: models that
lost their control tokens go on right behind the bracket."""


class _Ending(NamedTuple):
    """How a frame ended: by its closer, and what stood around the calls."""

    closed: bool
    enclosed: bool
    fenced: bool


class _Frame(NamedTuple):
    """What is known of the frame that is being read."""

    end: str
    """What closes the calls, where something has opened them."""
    notes: Sequence[str]
    """What is noted on each of its calls."""
    declared: bool
    """Whether only declared tools are called here."""
    alone: bool
    """Whether nothing stands around the calls at all."""
    opened: bool
    """Whether the frame's opener stood there."""


@dataclass(frozen=True, kw_only=True)
class CallExpression(Frame):
    """How a family writes a call as code.

    `lead` stands before a name, `brackets` around the arguments, `separator` between two of them, `key_lead` before a
    key, `assign` between key and value, `pair_closer` behind every value: `(name (key "v") (n 1))`. Where the opening
    bracket is a blank, what opens the call is the `lead` or the frame, and a call without arguments lacks it:
    `(name :key "v")`, `<call name key="v"/>`. `enclosing` stands around the calls of one frame and `between` between
    two of them; where `enclosing` is empty, each call has its own frame. `notation` tells how values are read,
    `written` writes one.

    Raises `ValueError`, which names the parameter, where signs cannot be told apart.
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
    """In which order the family's templates write the arguments."""

    def __post_init__(self) -> None:
        if self.key_order not in ("given", "alphabetical"):
            raise ValueError(f"key_order: must be 'given' or 'alphabetical', not {self.key_order!r:.80}")
        check_filled(self)
        _ = self._signs

    @cached_property
    def _signs(self) -> CallDelimiters:
        return call_delimiters(
            self.brackets, self.assign, self.separator, self.key_lead, self.pair_closer, self.notation, self.closer
        )

    @cached_property
    def _enclosed(self) -> tuple[str, str]:
        """What stands around the calls of one frame, without blanks."""
        begin, end = self.enclosing or ("", "")
        return begin.strip(), end.strip()

    @cached_property
    def _lead(self) -> str:
        """What stands before a name; blanks before that are passed over."""
        return self.lead.lstrip()

    @cached_property
    def _between_calls(self) -> tuple[str, ...]:
        """The signs that are read between two calls."""
        return tuple(dict.fromkeys(sign for sign in (self.between.strip(), ",", ";") if sign))

    # --- writing

    def write(self, calls: Sequence[Call], types: TypesOf) -> str:
        written = [self._call(name, arguments) for name, arguments in calls]
        if self.enclosing:
            return self.opener + self.enclosing[0] + self.between.join(written) + self.enclosing[1] + self.closer
        return "".join(self.opener + call + self.closer for call in written)

    def _call(self, name: str, arguments: Mapping[str, Any]) -> str:
        keys = arguments if self.key_order == "given" else sorted(arguments, key=str.lower)
        pairs = [self.key_lead + key + self.assign + self.written(arguments[key]) + self.pair_closer for key in keys]
        opening = self.brackets[0] if pairs or self._signs.bracket else ""
        return self.lead + name + opening + self.separator.join(pairs) + self.brackets[1]

    # --- reading

    def read(self, scan: Scan, calls: CallBuilder, opener: str) -> Reading[None]:
        if not opener:
            if not calls.committed:
                read = yield from self._stands(scan, calls)
                if read is None:
                    raise Malformed(expected=_ALONE)
                if read:
                    scan.skip(read)
                    return
            calls.commit()
        ending = yield from self._frame(scan, calls, opener)
        if not opener:
            here = scan.position
            yield from self._alone(scan, calls, ending)
            scan.rewind(here)
        elif ending.closed and self.unframed_openers and self.enclosing:
            yield from self._echo(scan, calls, opener)

    def _echo(self, scan: Scan, calls: CallBuilder, opener: str) -> Reading[None]:
        """The text of the frame once more right behind it, closer and all: some models repeat it, and mean one call."""
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

    def _frame(self, scan: Scan, calls: CallBuilder, opener: str) -> Reading[_Ending]:
        """The calls of one frame, what encloses them, and its closer. Tells how a frame without its opener ended."""
        yield from scan.skip_spaces()
        begin, end = self._enclosed
        here, fence = scan.position, ""
        if not opener and begin[:1] != "[":
            enclosed = ""  # a fence that is no part of the notation, or lacks its frame, is an example
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
        notes = []
        if not opener and self.opener:
            notes.append("missing_opener")
        if fence:
            notes.append("markdown_fence")
        if begin and not enclosed:
            notes.append("missing_brackets" if begin[0] == "[" else "missing_fence")
        if enclosed != begin and enclosed:
            notes.append("repaired_markers")  # a fence that tells no language
        if objects:
            scan.rewind(here)
            yield from read_calls(scan, calls, Keys(separator=", "))
        else:
            alone = not opener and not enclosed
            declared = alone or (not opener and self.opener != "")
            yield from self._calls(scan, calls, _Frame(end if enclosed else "", notes, declared, alone, bool(opener)))
        if fence and not (yield from follows(scan, _FENCE)):
            if not opener:
                raise Malformed(expected=shown(_FENCE))
            calls.record_tolerance("missing_fence")
        closers = self.closers if opener else tuple(mark for mark in self.closers if not mark.startswith(_FENCE))
        closed = yield from close_frame(scan, calls, opener, *closers)
        if not closed and calls.has_tolerance(UNESCAPED):
            raise Malformed(expected=end_marker(*closers))
        return _Ending(bool(closed and closers), bool(enclosed), bool(fence))

    def _stands(self, scan: Scan, calls: CallBuilder) -> Reading[int | None]:
        """Whether calls without a frame stand here, unread: what follows them decides, if it comes soon. None where
        none do; else how many characters of them have been read ahead, and taken over: all, or nothing.

        Code, a link or a sentence may begin like a call. Where the text is long it is one as soon as that is known.
        """
        trials: list[Trial] = []

        def tried(window: Scan) -> Reading[int | None]:
            trials.append(Trial(window, calls))
            return self._tried(window, trials[0], calls.framed_until == scan.position)

        try:
            read = yield from look_ahead(scan, tried)
        except LookaheadExceeded:
            return 0 if trials[0].attempted or trials[0].among_calls else None
        if read:
            calls.accept(trials[0])
        return read

    def _tried(self, scan: Scan, trial: Trial, again: bool) -> Reading[int | None]:
        """As `_stands`; `again` tells that a frame ended right before, whose text a model may repeat."""
        begin = scan.position
        try:
            ending = yield from self._frame(scan, trial, "")
            if ending.closed and again:
                return None
            read = scan.position - begin
            yield from self._alone(scan, trial, ending)
        except Malformed:
            return 0 if trial.attempted else None
        except Incomplete:
            return 0 if trial.attempted or (trial.ended > 0 and trial.known) else None
        return read

    def _alone(self, scan: Scan, calls: CallBuilder, ending: _Ending) -> Reading[None]:
        """Malformed where what follows a frame without its opener shows that it was something else."""
        if ending.closed:
            return
        blanks = yield from scan.word(_BLANKS)
        following = yield from scan.peek()
        if following in ("", "\n", "\r"):
            yield from scan.spaces()
            if ending.fenced and (yield from scan.peek()) not in ("", _FENCE[0]):
                raise Malformed(expected=_ALONE)  # an example, and its explanation
            if not ending.fenced and not ending.enclosed and (yield from scan.literal(literals(_FENCE))):
                yield from scan.word(_BLANKS)
                if (yield from scan.peek()) in ("", "\r", "\n"):
                    raise Malformed(expected=_ALONE)  # a line of a program, and its end
        elif not ending.enclosed or (following in _OPERATORS if blanks else not calls.known or following in _GOES_ON):
            raise Malformed(expected=_ALONE)
        elif blanks and following.islower():
            raise Malformed(expected=_ALONE)  # a sentence goes on, which names the call
        elif not blanks:
            calls.record_tolerance("text_behind_closer")

    def _stands_whole(self, scan: Scan, calls: CallBuilder, bracket: str) -> Reading[bool]:
        """Whether the arguments of an undeclared tool reach their end, unread: its name alone makes no call."""

        def tried(window: Scan) -> Reading[bool]:
            trial = Trial(window, calls)
            trial.start("")
            try:
                yield from self._arguments(window, trial, bracket)
            except (Malformed, Incomplete):
                return False
            return True

        try:
            return (yield from look_ahead(scan, tried))
        except LookaheadExceeded:
            return False

    def _calls(self, scan: Scan, calls: CallBuilder, frame: _Frame) -> Reading[None]:
        """The calls of one frame, and what encloses them at the end, where it has been opened."""
        end, separator = frame.end, ""
        while True:
            if separator and separator != self.between.strip():
                calls.record_tolerance("other_separator")
            yield from self._read_call(scan, calls, frame)
            calls.end()
            if not self.enclosing:
                begins = (yield from self._leads(scan)) if frame.alone else False
                if not begins:
                    return
                calls.begin_dependent(scan.position)
                continue
            here = scan.position
            separator = yield from follows(scan, *self._between_calls)
            behind = scan.position
            if not separator and not (yield from self._another(scan, calls, frame)):
                break
            spaces = yield from scan.spaces()
            if not (yield from self._begins(scan, calls, frame)):
                at_end = frame.alone and ("\n" in spaces or not (yield from scan.peek()))
                if at_end:
                    scan.rewind(behind)
                else:
                    behind = scan.position
                    at_end = bool((yield from follows(scan, *((end,) if end else self.closers))))
                    scan.rewind(behind if at_end else here)
                if at_end:
                    calls.record_tolerance("trailing_comma")
                break
            if calls.has_tolerance(UNESCAPED):
                raise Malformed(expected=_ESCAPED)  # where its string ended was a guess; what follows may be part of it
            if frame.opened:
                calls.begin()
            else:
                calls.begin_dependent(scan.position)
        if end and not (yield from follows(scan, end)):
            if calls.has_tolerance(UNESCAPED):
                raise Malformed(expected=_ESCAPED)  # where the string ended was a guess, and it was wrong
            if not frame.opened and not (yield from self._line_ends(scan)):
                raise Malformed(expected=one_of((end, *self._between_calls)))
            calls.record_tolerance("missing_closer")

    def _leads(self, scan: Scan) -> Reading[bool]:
        """Whether another call stands right here, unread: its lead tells."""
        here = scan.position
        found = yield from scan.literal(literals(self._lead))
        scan.rewind(here)
        return bool(found)

    def _line_ends(self, scan: Scan) -> Reading[bool]:
        """Whether the line ends here, or the answer, perhaps behind a comma; nothing is read."""
        here = scan.position
        comma = yield from follows(scan, ",")
        spaces = yield from scan.spaces()
        ends = not (yield from scan.peek()) or (not comma and "\n" in spaces)
        scan.rewind(here)
        return ends

    def _begins(self, scan: Scan, calls: CallBuilder, frame: _Frame, bracket: bool = False) -> Reading[bool]:
        """Whether a call's name stands here, unread; where tools must be declared, one of theirs with its bracket."""
        here = scan.position
        begins = not self._lead or bool((yield from scan.literal(literals(self._lead))))
        quote = (yield from scan.literal(_QUOTES)) if not self._lead else ""
        name = (yield from read_name(scan, self._signs.name)) if begins else ""
        begins = bool(name) and (not quote or bool((yield from scan.literal(literals(quote)))))
        if begins and frame.declared:
            begins = calls.is_known(name) is True
        if begins and (frame.declared or bracket):
            begins = yield from self._bracket_stands(scan)
        scan.rewind(here)
        return begins

    def _bracket_stands(self, scan: Scan) -> Reading[bool]:
        """Whether the family's own bracket follows a name; of one that is a blank nothing has to be there."""
        if self._signs.space_before_bracket:
            yield from scan.skip_spaces()
        if not self._signs.bracket:
            return True
        return bool((yield from scan.literal(literals(self._signs.bracket))))

    def _another(self, scan: Scan, calls: CallBuilder, frame: _Frame) -> Reading[bool]:
        """Whether another call stands behind blanks, without a sign before it: on the next line, or where the family
        writes it."""
        in_lines = "\n" in self.between or not frame.end
        if not in_lines and self.between.strip():
            return False
        here = scan.position
        spaces = yield from scan.spaces()
        found = ("\n" in spaces or not self.between.strip()) and (yield from self._begins(scan, calls, frame, True))
        scan.rewind(here)
        return found

    def _read_call(self, scan: Scan, calls: CallBuilder, frame: _Frame) -> Reading[None]:
        leads = (self._lead, lost[1]) if (lost := _LOST_LEAD.fullmatch(self._lead)) else (self._lead,)
        lead = (yield from scan.literal(literals(*leads))) if self._lead else ""
        quote = (yield from scan.literal(_QUOTES)) if not self._lead else ""
        calls.name_at = scan.position
        name = yield from read_name(scan, self._signs.name)
        if not name:
            yield from scan.need("the name of a tool")
            raise Malformed(expected="the name of a tool")
        if quote:
            yield from scan.expect(quote)
        known = calls.is_known(name)
        if known is not True and (frame.declared or quote or lead != self._lead):
            raise Malformed(expected="the name of a declared tool", at=calls.name_at)
        if self._signs.space_before_bracket:
            yield from scan.skip_spaces()
        bracket = (yield from scan.expect(*self._signs.brackets)) if self._signs.bracket else ""
        if lead != self._lead:
            calls.record_tolerance("missing_prefix")
        if quote:
            calls.record_tolerance("quoted_name")
        for note in frame.notes:
            calls.record_tolerance(note)
        if bracket != self._signs.bracket:
            calls.record_tolerance("other_notation")
        if known is False and not calls.committed and not (yield from self._stands_whole(scan, calls, bracket)):
            raise Malformed(expected="the name of a declared tool", at=calls.name_at)
        if known is not None or calls.committed:
            calls.start(name)
            name = ""
        yield from self._arguments(scan, calls, bracket, name, frame)

    def _arguments(
        self, scan: Scan, calls: CallBuilder, bracket: str, name: str = "", frame: _Frame | None = None
    ) -> Reading[None]:
        """The arguments behind their bracket. With a name the call starts only where they are seen to be some."""
        signs = self._signs
        closing = literals(signs.closes(bracket))
        if not name:
            calls.arguments("{")
        position, keys = 0, set[str]()
        while True:
            yield from scan.skip_spaces()
            closes = bool((yield from scan.literal(closing)))
            if position and not closes and signs.separator:
                yield from scan.expect(signs.separator, also=signs.closes(bracket))
                yield from scan.skip_spaces()
                closes = bool((yield from scan.literal(closing)))
                if closes:
                    calls.record_tolerance("trailing_comma")
            here = scan.position
            key = None if closes else (yield from self._key(scan, calls))
            if frame is not None and frame.alone and key is not None and calls.declares(key) is False:
                raise Malformed(expected="a declared parameter", at=here)
            if name:
                calls.start(name)
                calls.arguments("{")
                name = ""
            if closes:
                break
            if key is None:
                if signs.pair_closer:
                    raise Malformed(
                        expected=shown(signs.key_lead or signs.assign)
                    )  # every value has its key in what closes behind it
                if not position and (yield from self._object(scan, calls, closing)):
                    return
                if calls.declares("") is not None:
                    calls.arguments("")  # a value for a tool that is known: this is meant as a call
                key = calls.positional(position)
                calls.record_tolerance("positional_arguments")
            if key in keys:
                calls.record_tolerance("duplicate_key")
            keys.add(key)
            calls.arguments(f"{', ' if position else ''}{quoted(key)}: ")
            yield from self._value(scan, calls, calls.types(key))
            if signs.pair_closer:
                yield from scan.skip_spaces()
                yield from scan.expect(signs.pair_closer)
            position += 1
        if calls.has_tolerance(UNESCAPED) and not calls.accepts(keys):
            raise Malformed(expected=_ESCAPED)  # where its string ended was a guess, and it swallowed an argument
        calls.arguments("}")

    def _key(self, scan: Scan, calls: CallBuilder) -> Reading[str | None]:
        """The key and its sign, read; None where a value without a key stands, and nothing is read."""
        here, signs = scan.position, self._signs
        if signs.key_lead:
            yield from scan.expect(signs.key_lead)
        if (yield from scan.need("an argument")) not in "{[(":
            word = yield from scan.word(signs.notation.key)
            key = word.strip() or (yield from read_string(scan, Buffered(scan, calls), signs.notation))
            blanks = yield from scan.spaces()
            assigned = (yield from scan.literal(literals(*signs.assigns))) if signs.assign else blanks
            if assigned:
                if signs.assign and assigned != signs.assign:
                    calls.record_tolerance("other_notation")
                if assigned == "=" and (yield from scan.peek()) == "=":
                    raise Malformed(expected="a value")  # a comparison
                return key
            yield from scan.need("the rest of the argument")
            if word and not self._signs.notation.stands_alone(word.strip()):
                raise Malformed(expected=f"{one_of(signs.assigns)} after the key {named(key)}")
        scan.rewind(here)
        return None

    def _object(self, scan: Scan, calls: CallBuilder, closing: Literals) -> Reading[bool]:
        """A single object in place of the arguments, read if its keys are parameters of the tool; else nothing is."""
        if (yield from scan.need("an argument")) != "{":
            return False
        here = scan.position
        gathered = Buffered(scan)
        try:
            yield from read_value(scan, gathered, self._signs.notation)
            keys = list(json.loads(gathered.text))
        except (Malformed, ValueError):
            keys = []
        yield from scan.skip_spaces()
        found = bool(keys) and all(map(calls.declares, keys)) and (yield from scan.literal(closing))
        scan.rewind(here)
        if not found:
            return False
        gathered = Buffered(scan, calls)
        yield from read_value(scan, gathered, self._signs.notation)
        calls.record_tolerance("positional_object")
        calls.arguments(gathered.text.strip()[1:])
        yield from scan.skip_spaces()
        yield from scan.literal(closing)
        return True

    def _value(self, scan: Scan, calls: CallBuilder, types: Types) -> Reading[None]:
        yield from scan.skip_spaces()
        first = yield from scan.need("a value")
        if self._signs.notation.quoted and first in self._signs.notation.openers.first:
            yield from self._quoted(scan, calls, types)
            return
        quoted = first in self._signs.notation.openers.first
        if types is None or first in "[(" or (quoted and types & STRING):
            yield from read_value(scan, calls, self._signs.notation)
        elif first == "{":
            if not ("array" in types and "object" not in types and (yield from self._set(scan, calls))):
                yield from read_value(scan, calls, self._signs.notation)
        elif quoted:
            text = yield from read_string(scan, calls, self._signs.notation)
            value = typed(text, types)
            if value is not None:
                calls.record_tolerance("quoted_value")
            calls.arguments(value or f'"{escaped(text)}"')
        elif types & STRING:
            text = (yield from scan.take_while(self._signs.notation.text)).rstrip()
            yield from scan.need("a value")
            if not text:
                raise Malformed(expected="a value")
            value = typed(text, types)
            if value is None:
                calls.record_tolerance("unquoted_string")
            calls.arguments(value or f'"{escaped(text)}"')
        else:
            here = scan.position
            word = yield from scan.take_while(self._signs.notation.word)
            if word[:1].isalpha() and not self._signs.notation.stands_alone(word.strip()):
                calls.mark_rejected(
                    "invalid_arguments", f"a value of type {' or '.join(sorted(types))}", here
                )  # a name where the schema wants a value that has none
            scan.rewind(here)
            yield from read_value(scan, calls, self._signs.notation)

    def _quoted(self, scan: Scan, calls: CallBuilder, types: Types) -> Reading[None]:
        """A value where every one stands in quotes: a string for certain is said while it arrives."""
        notation = self._signs.notation
        first = yield from first_of_string(scan, notation)
        if types is None or types & STRING:
            certain = types == STRING or not (first == "\\" or may_be_literal(types, first))
        else:
            certain = False
        if certain:
            yield from read_value(scan, calls, notation)
            return
        text = yield from read_string(scan, calls, notation)
        calls.arguments(typed(text, types, calls.record_tolerance) or quoted(text))

    def _set(self, scan: Scan, calls: CallBuilder) -> Reading[bool]:
        """A set of Python, read as a list; where an object stands nothing is read."""
        here = scan.position
        scan.skip()
        try:
            yield from read_value(scan, Buffered(scan), self._signs.notation)
            yield from scan.skip_spaces()
            found = (yield from scan.need("',' or '}'")) in ",}"
        except Malformed:
            found = False
        scan.rewind(here)
        if not found:
            return False
        calls.record_tolerance("set")
        sign = "["
        while True:
            scan.skip()
            calls.arguments(sign)
            yield from read_value(scan, calls, self._signs.notation)
            yield from scan.skip_spaces()
            following = yield from scan.need("',' or '}'")
            if following == "}":
                scan.skip()
                calls.arguments("]")
                return True
            if following != ",":
                raise Malformed(expected="',' or '}'")
            sign = ", "
