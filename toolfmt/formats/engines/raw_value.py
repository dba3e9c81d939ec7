"""A raw value between tags: where it ends, and which tags in it are only quoted.

An end marker counts if a token follows that may follow it. Any other is part of the value, and so is a complete pair of
tags that the value quotes. The structure of the frame ends a value too: the start marker of an argument that the tool
declares and that was not given yet, or the end of the call with what follows it. Then the value has lost its end
marker. If it is clear where the value ended, the tolerance `missing_value_closer` is recorded. Otherwise the call is
malformed there, and parsing continues with the next one. A well-formed reading wins: if the value's own end marker is
near, and not that of a tag in the value, the structure before it belongs to the value. In a call that already has a
tolerance, the marker may have been lost or moved, so another argument before it rejects the call. So does any marker in
a value if a marker of an argument is missing or repeated. No value contains another argument or another call unless
both are closed inside it, and none contains the end of its call and the start of the next one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NoReturn

from toolfmt.formats.engines.call_builder import CallBuilder
from toolfmt.formats.engines.frame import follows
from toolfmt.formats.engines.tags import PART, Given, Tags, another_call, key_tag, own_end, stripped_end_marker
from toolfmt.formats.scanner.literals import Literals, literals
from toolfmt.formats.scanner.scanner import Incomplete, Malformed, Reading, Scan
from toolfmt.formats.scanner.spans import Raw, escaped
from toolfmt.formats.values.schema_types import STRING, Types, may_be_literal, typed
from toolfmt.messages.rejections import end_marker, one_of

_LITERAL_WORD = re.compile(r"[\w.+-]*")
_KEY = re.compile(r"[\w.$-]{1,64}")
_KEY_CHARACTERS = re.compile(r"[\w.$-]*")
_NAME = re.compile(r"\s*[\w.:/$@+-]+\s*")
_NAME_AND_BLANKS = re.compile(r"[\w.:/$@+\s-]*")
_ANY = re.compile(r"(?s:.*)")
_DIGITS = re.compile(r"-?[0-9]*")
_MOST_HELD = 400
_MOST_QUOTED = 8
"""Maximum number of calls that are open in one value. One that is not quoted after all is parsed again, so this number
limits the cost."""
_UNCLOSED = "unclosed_tag"
_APART = ("", *" \t\r\n</-")


class Value:
    """A raw value that is being parsed. A string is emitted while it arrives; what may be another type is buffered."""

    doubt: int | None = None
    """The first offset in the value from which on the text may not belong to it."""

    def __init__(self, scan: Scan, calls: CallBuilder, wanted: Literals, closer: str) -> None:
        """`wanted` is what stops the value, `closer` the end marker that the format writes."""
        self.scan, self.calls, self.wanted, self.closer = scan, calls, wanted, closer
        self.begin = scan.position

    def reading(self, types: Types, first: str) -> Reading[str]:
        """Parse the value, given its types and first character. Return the token that follows it."""
        if types is not None and not types & STRING:
            return self.held(types)
        if types == STRING or not may_be_literal(types, first):
            return self.streamed()
        return self.held(types) if first in '{["' else self.word(types)

    def streamed(self, before: str = "") -> Reading[str]:
        """Emit a string while it arrives. `before` is its beginning."""
        self.calls.arguments('"' + escaped(before))
        self._fail_if_never_ended()
        while True:
            body = Raw(self.wanted)
            try:
                yield from self.calls.stream(body)
            except Incomplete:
                self._never_ended()
            token, text = yield from self._met(body.found)
            if token:
                self.calls.arguments('"')
                return token
            self.calls.arguments(escaped(text))

    def held(self, types: Types) -> Reading[str]:
        """Buffer a text until it is complete, because only then its type is clear. A longer text is a string, except a
        number with many digits."""
        parts: list[str] = []
        held, bounded = 0, types is not None and not types & STRING
        self._fail_if_never_ended()
        while True:
            here = self.scan.position
            stop = yield from self.scan.find_near(self.wanted, max(_MOST_HELD - held, 0))
            end = self.scan.position - len(stop)
            self.scan.rewind(here)
            text = yield from self.scan.take_while(_ANY, end - here if stop else max(_MOST_HELD - held, 0))
            parts.append(text)
            held += len(text)
            if not stop and bounded:
                if not (yield from self.scan.peek()):
                    self._never_ended()
                if not _DIGITS.fullmatch("".join(parts).strip()):
                    self.calls.record_tolerance("other_type")
                    return (yield from self.streamed("".join(parts)))
            if not stop:
                text, stop = yield from self.scan.until(self.wanted)
                if not stop:
                    self._never_ended()
                parts.append(text)
            else:
                self.scan.skip(len(stop))
            token, text = yield from self._met(stop)
            if token:
                whole = "".join(parts)
                meant = self._typed(whole, types) or f'"{escaped(whole)}"'
                if bounded and meant[0] == '"' and "<" in whole:
                    raise Malformed("invalid_arguments", "a value of the declared type", self.begin)
                self.calls.arguments(meant)
                return token
            parts.append(text)
            held += len(text)

    def word(self, types: Types) -> Reading[str]:
        """Parse a number or a literal if only the end marker follows it, otherwise a string."""
        word = yield from self.scan.take_while(_LITERAL_WORD)
        here = self.scan.position
        stop = yield from self.scan.literal(self.wanted)
        if stop:
            token, _ = yield from self._met(stop)
            meant = self._typed(word, types) if token else None
            if meant is not None:
                self.calls.arguments(meant)
                return token
            self.scan.rewind(here)
            self._forget()
        return (yield from self.streamed(word))

    def _met(self, stop: str) -> Reading[tuple[str, str]]:
        """Return the token that ends the value (it is consumed) and ""; or "" and text that belongs to the value."""
        raise NotImplementedError

    def _typed(self, text: str, types: Types) -> str | None:
        """Return the whole value as JSON text."""
        try:
            return typed(text, types, self.calls.record_tolerance)
        except Malformed as wrong:
            raise Malformed(wrong.reason, wrong.expected, self.begin) from None

    def _forget(self) -> None:
        """Reset the state, because the value is parsed again."""
        self.doubt = None

    def _fail_if_never_ended(self) -> None:
        """Stop at once if the output has ended and nothing in it ends the value."""
        if self.scan.closed and self.wanted.search(self.scan.text, self.scan.at, True) is None:
            self._never_ended()

    def _never_ended(self) -> NoReturn:
        if self.doubt is None or self.scan.cut:
            raise Incomplete(end_marker(self.closer))
        self._wrong(self.doubt)

    def _doubt(self, position: int) -> None:
        if self.doubt is None:
            self.doubt = position

    def _last(self, end: int, most: int) -> str:
        """Return up to `most` characters of the value before an offset."""
        return self.scan.read_between(max(end - most, self.begin), end)

    def _wrong(self, begin: int, expected: str = "") -> NoReturn:
        """Raise `Malformed`. Parsing continues where the text may first not have belonged to the value."""
        self.scan.rewind(begin if self.doubt is None else min(begin, self.doubt))
        raise Malformed(expected=expected or end_marker(self.closer))


class RawValue(Value):
    """A raw value between tags. The first of its `closers` has the line break that the format writes."""

    own_line = False
    """Whether the value starts on a separate line; then its end marker does too."""
    closed_at_end = False
    """Whether the output ends after the value's end marker, before what must follow it."""
    lone: int | None = None
    """The offset after what looked like the end marker but was not."""
    tolerance = ""
    """The tolerance that is recorded if the value ends now; empty if there is none."""
    unclear = False
    """Whether one of the keys that are open in it may start the next argument."""
    frames = 0
    """Number of frames that are open in it."""
    ended = False
    """Whether the value contains the end marker of a call that does not end a call."""
    own_end: int | None = None
    """The offset of the value's end marker, if a lookahead has found it. The tags before it belong to the value."""

    def __init__(self, scan: Scan, calls: CallBuilder, tags: Tags, closers: tuple[str, ...], given: Given) -> None:
        self.declared = calls.declares("") is not None  # whether the parameters of the tool are known
        super().__init__(scan, calls, tags.wanted(closers, self.declared), tags.value_closer)
        self.tags, self.closers, self.given = tags, closers, given
        self.keys: list[bool] = []
        """The tags of keys that are open in the value: whether a line break follows each."""
        self.quoted: list[bool] = []
        """The calls that are open in the value: whether each may be a call of a declared tool."""

    def _met(self, stop: str) -> Reading[tuple[str, str]]:
        end = self.scan.position - len(stop)
        token, text = yield from self._structure(stop)
        if token:
            self.given.values[self.begin] = end
            if self.declared and self.tags.ends_of_tags is not None:
                self._look_back(end)
        return token, text

    def _look_back(self, end: int) -> None:
        """Find the ends of damaged tags in a value that has ended."""
        value = self.scan.read_between(self.begin, end)
        sign, last = self.tags.key_opener[-1], 0
        token = self.tags.key_closer[0] == "<"
        for found in self.tags.ends_of_tags.finditer(value):  # type: ignore[union-attr]  # the caller has checked it
            for begin, key in self._keys_before(value, found.start(), last):
                whole = value[begin - 1 : begin] == sign and begin > last
                if not whole and found.start() - begin <= 2:
                    continue
                last = found.end()
                own = value.endswith(self.tags.key_opener, 0, begin)
                if not own and (whole or token or value[begin - 1 : begin] not in _APART):
                    self.given.doubted.add(key)
                break

    def _keys_before(self, value: str, end: int, first: int) -> Iterator[tuple[int, str]]:
        """Yield the declared keys that end at `end` and start at `first` or later, and their start, longest first."""
        if self.given.written is None:
            self.given.written = self.tags.written_keys(self.calls.parameters or ())
        for size, keys in self.given.written.items():
            begin = end - size
            if begin >= first and (key := keys.get(value[begin:end])) is not None:
                yield begin, key

    def _structure(self, stop: str) -> Reading[tuple[str, str]]:
        """As `_met`, from the structure of the frame alone."""
        begin = self.scan.position - len(stop)
        mark = stop.lstrip("\r\n")
        tags = self.tags
        if self.own_end is not None and begin < self.own_end:
            return "", stop
        if begin == self.own_end:
            self._record_closer(stop)
            return (yield from follows(self.scan, *tags.following)), stop
        if stop in self.closers:
            return (yield from self._closer(stop, begin)), stop
        if mark == tags.key_opener:
            return (yield from self._key_opener(stop, begin))
        if mark == tags.plain_opener:
            self.keys.append((yield from self.scan.peek()) in ("\n", "\r"))
            return "", stop
        if mark == tags.name_opener:
            return "", stop + (yield from self._call_opener(begin))
        if mark == tags.call_closer or mark in tags.other_call_closers:
            return (yield from self._call_closer(mark, begin)), stop
        if mark in tags.closers:
            return (yield from self._frame_closer(mark, begin)), stop
        if mark in tags.openers:
            return "", stop + (yield from self._frame_opener(begin))
        yield from self._end_of_damaged_tag(mark, begin)
        return "", stop

    def _closer(self, closer: str, begin: int) -> Reading[str]:
        """Decide about an end marker of a value: it closes a key that the value quotes, or the value, or is text."""
        tags, scan = self.tags, self.scan
        here = scan.position
        on_line = closer[0] in "\r\n"
        pair = self._open_key(on_line)
        if pair and self.quoted and (self.quoted[-1] or not (yield from self._frame_ends_behind())):
            self.keys = self.keys[: pair - 1]
            return ""
        token = (yield from follows(scan, *tags.following)) or (yield from stripped_end_marker(scan, self.calls, tags))
        if token:
            if (self.unclear and self.keys) or True in self.quoted:
                self._wrong(begin)
            if self.lone is not None and tags.has_loose_tags(scan.read_between(self.lone, begin)):
                self._wrong(self.lone)  # the start marker of an argument is missing
            self._record_closer(closer)
            if self.tolerance and (self.keys or self.tolerance != _UNCLOSED):
                self.calls.record_tolerance(self.tolerance)
            return token
        if pair:
            self.keys = self.keys[: pair - 1]
            return ""
        if (on_line or not self.own_line) and self.lone is None and self.doubt is None:
            token = yield from self._repeated()
            if token:
                return token
            scan.rewind(here)
        following = yield from scan.peek()
        yield from scan.skip_spaces()
        self.closed_at_end = not (yield from scan.peek())
        scan.rewind(here)
        if following and self.lone is None:
            self.lone = here
        if on_line or not (self.own_line or (yield from self._quoted(begin, following))):
            self.tolerance = "text_behind_closer"
        if (yield from self._breaks_off()):
            self._wrong(here)
        return ""

    def _record_closer(self, closer: str) -> None:
        """Record the tolerance of the end marker that ended the value."""
        if self.tags.other_value_closers and not closer.endswith(self.tags.value_closer):
            self.calls.record_tolerance("repaired_markers")

    def _open_key(self, on_line: bool) -> int:
        """Return which open key (from 1) an end marker belongs to: one that is written alike, on an own line or not."""
        if not self.keys:
            return 0
        own_lines = self.closers[0][0] in "\r\n"
        places = [at for at, lines in enumerate(self.keys, 1) if not own_lines or lines == on_line]
        return places[-1] if places else 0

    def _repeated(self) -> Reading[str]:
        """Return the token after an end marker that is repeated, its own or that of a key; otherwise ""."""
        found, tags = False, self.tags
        while (yield from follows(self.scan, tags.value_closer, *((tags.key_closer,) if tags.value_opener else ()))):
            found = True
        token = (yield from follows(self.scan, *tags.following)) if found else ""
        if token:
            self._record_damage("repeated_closer")
        return token

    def _quoted(self, begin: int, following: str) -> Reading[bool]:
        """Whether an end marker is quoted, or directly before another one, and so belongs to a text about tags."""
        if following in ("'", '"', "`") and self._last(begin, 1) == following:
            return True
        here = self.scan.position
        another = yield from self.scan.literal(literals(self.tags.value_closer))
        self.scan.rewind(here)
        return bool(another)

    def _breaks_off(self) -> Reading[bool]:
        """Whether the tag of the next key follows with one character missing. Nothing is read."""
        scan = self.scan
        here = scan.position
        yield from scan.skip_spaces()
        found = yield from scan.literal(self.tags.broken_key)
        scan.rewind(here)
        return bool(found)

    def _key_opener(self, stop: str, begin: int) -> Reading[tuple[str, str]]:
        """Decide about the start marker of a key: it starts the next argument if that is clear, or is in the value."""
        scan, tags, calls = self.scan, self.tags, self.calls
        here = scan.position
        read = yield from key_tag(scan, tags)
        if read is None:
            scan.rewind(here)
            key = yield from scan.take_while(_KEY_CHARACTERS, _MOST_HELD)
            if not tags.value_opener or (yield from follows(scan, tags.value_opener, tags.key_closer)):
                self.given.doubted.update(filter(calls.declares, (key,)))  # its tag has lost a marker
            scan.rewind(here)
            return "", stop
        key, text = read
        at_line = stop[0] in "\r\n" or begin == self.begin
        declared = calls.declares(key)
        given = key in self.given.keys
        if not self.quoted and not given:
            own = bool(tags.value_opener) or (at_line and tags.lines)
            if declared or (declared is None and own and _KEY.fullmatch(key)):
                if not (yield from self._goes_on_to_own_end(1)):
                    self._closer_missing(begin)
                    scan.rewind(here)
                    return tags.key_opener, ""
                if calls.tolerances:
                    self._wrong(begin)  # in a damaged call, the end marker may have been lost or moved
                scan.rewind(here)
                return "", stop
        closer = tags.value_closer.strip()
        if len(closer) > PART and closer[:PART] in self._last(begin, len(closer) + 1):
            self._wrong(begin)  # a damaged end marker
        self.keys.append((yield from scan.peek()) in ("\n", "\r"))
        if not self.quoted and (declared is None or (declared and (at_line or not tags.lines))):
            self.unclear = True
        if self.quoted or self.unclear or at_line:
            self._doubt(begin)
        if at_line and not self.quoted and not self.tolerance:
            self.tolerance = _UNCLOSED
        return "", stop + text

    def _call_opener(self, begin: int) -> Reading[str]:
        """Read the name after a call's start marker. The value quotes a call if a key follows. Return the text read."""
        scan, tags = self.scan, self.tags
        here = scan.position
        if not tags.name_closer:
            yield from self._named(begin)
            return ""
        if self.ended:
            if (yield from self._goes_on_to_own_end(0)):
                return ""
            self._wrong(begin)
        try:
            name, closer = yield from scan.within(literals(tags.name_closer))
        except (Malformed, Incomplete):
            name, closer = "<", ""
        if "<" in name:  # a name does not contain the next tag, which may be the value's end marker
            scan.rewind(here)
            return ""
        behind = scan.position
        if (yield from follows(scan, tags.key_opener)) or (
            self.calls.is_known(name.partition('"')[0])
            and (yield from follows(scan, tags.call_closer or tags.closers[0]))
        ):
            scan.rewind(behind)
            self._quote(name.partition('"')[0], begin)
        return name + closer

    def _frame_opener(self, begin: int) -> Reading[str]:
        """Decide about the start marker of a frame: the value quotes it if a call follows. Return the text read."""
        scan, tags = self.scan, self.tags
        here = scan.position
        if tags.name_opener:
            yield from self._skip()
            if (yield from scan.literal(literals(tags.name_opener))):
                self.frames += 1
                if self.calls.is_known("") is None:
                    self._doubt(begin)
            scan.rewind(here)
            return ""
        yield from self._named(begin)
        return ""

    def _named(self, begin: int) -> Reading[None]:
        """Decide about a call whose name ends at the next tag: the value quotes it if a key or its end follows.

        Nothing is read.
        """
        scan, tags = self.scan, self.tags
        here = scan.position
        try:
            name, _ = yield from scan.within(literals(tags.key_opener, "\n", *tags.ends))
        except (Malformed, Incomplete):
            name = ""
        scan.rewind(here)
        if not _NAME.fullmatch(name):
            return
        yield from scan.take_while(_NAME_AND_BLANKS)
        if (yield from scan.literal(literals(tags.key_opener, *tags.ends))):
            scan.rewind(here)
            if self.ended:
                if (yield from self._goes_on_to_own_end(0)):
                    return
                self._wrong(begin)
            self._quote(name.strip(), begin)
        scan.rewind(here)

    def _quote(self, name: str, begin: int) -> None:
        """Note that the value contains a call."""
        lone = self.lone
        if lone is not None and begin - lone < _MOST_HELD and self.tags.between_calls(self._last(begin, begin - lone)):
            self._wrong(lone)  # directly after an end marker of the value, it is the next call
        self._doubt(begin)
        self.quoted.append(self.calls.is_known(name) is not False)
        if len(self.quoted) > _MOST_QUOTED:
            self._wrong(begin)

    def _call_closer(self, mark: str, begin: int) -> Reading[str]:
        """Decide about the end marker of a call: it ends a quoted call, or this call, whose value has lost its own end
        marker, or it is text."""
        if self.quoted:
            self.quoted.pop()
            return ""
        here = self.scan.position
        ends = yield from self._goes_on(" \t\r\n")
        return (yield from self._ends_here(mark, begin, here, ends))

    def _goes_on(self, blanks: str) -> Reading[bool]:
        """Whether the frame continues or ends after the end marker of a call. One of `blanks` may follow its end."""
        scan, tags = self.scan, self.tags
        yield from self._skip()
        found = yield from scan.literal(literals(*filter(None, (*tags.closers, *tags.openers, tags.name_opener))))
        if found and found not in tags.closers:
            return True
        return (yield from self._frame_ends(blanks if found else ""))

    def _frame_ends_behind(self) -> Reading[bool]:
        """Whether the call and its frame end after an end marker of a value, and then the output ends or the next frame
        begins. Then tags that the value mentions are not closed in it. Nothing is read."""
        here = self.scan.position
        found = yield from follows(self.scan, *self.tags.ends)
        ends = bool(found)
        if found and found not in self.tags.closers:
            ends = yield from self._goes_on("")
        elif found:
            yield from self.scan.skip_spaces()
            ends = yield from self._frame_ends("")
        self.scan.rewind(here)
        return ends

    def _frame_closer(self, mark: str, begin: int) -> Reading[str]:
        """As `_call_closer`, for the end marker of a frame."""
        if not self.tags.call_closer and self.quoted:
            self.quoted.pop()
            return ""
        if self.frames:
            self.frames -= 1
            return ""
        here = self.scan.position
        yield from self.scan.skip_spaces()
        ends = (yield from another_call(self.scan, self.tags.of_calls)) or (yield from self._frame_ends(""))
        return (yield from self._ends_here(mark, begin, here, ends))

    def _skip(self) -> Reading[None]:
        """Skip whitespace and what is ignored around a call."""
        yield from self.scan.skip_spaces()
        while self.tags.skipped and (yield from self.scan.literal(literals(*self.tags.skipped))):
            yield from self.scan.skip_spaces()

    def _frame_ends(self, blanks: str) -> Reading[bool]:
        """Whether the text here may follow the end of a frame."""
        following = yield from self.scan.peek()
        if not following or following in blanks:
            return True
        behind = self.tags.openers
        return bool(behind and (yield from self.scan.literal(literals(*behind))))

    def _ends_here(self, mark: str, begin: int, here: int, ends: bool) -> Reading[str]:
        """Return the end marker that was read if it ends the value. Parsing continues after it.

        It belongs to the value if the value's own end marker follows, before another call.
        """
        self.scan.rewind(here)
        if not ends:
            self.ended = True
            self._doubt(begin)
            return ""
        if not (yield from another_call(self.scan, self.tags.of_calls)) and (yield from self._goes_on_to_own_end(0)):
            return ""
        self._closer_missing(begin)
        self.scan.rewind(here)
        return mark

    def _goes_on_to_own_end(self, opened: int) -> Reading[bool]:
        """Whether the end marker of the value is near, after what looked like the structure of the frame.

        `opened` is 1 if that was a tag of a key, which has its own end marker.
        """
        if self.lone is not None or (self.unclear and self.keys):
            return False
        tags = self.tags
        openers = tuple(filter(None, (tags.key_opener, tags.plain_opener)))
        opened += len(self.keys)
        self.own_end = yield from own_end(
            self.scan, self.closers, openers, opened, tags.well_formed_following, tags.of_calls
        )
        return self.own_end is not None

    def _end_of_damaged_tag(self, mark: str, begin: int) -> Reading[None]:
        """Decide about the end of a tag of a key whose beginning is damaged."""
        scan, tags = self.scan, self.tags
        here = scan.position
        opener, closer = tags.foreign_key
        if opener and mark == opener and self.declared:
            try:
                key, _ = yield from scan.within(literals(closer))
            except (Malformed, Incomplete):
                key = ""
            if self.calls.declares(key) and self._last(begin, 1) in ("", "\n"):
                self.given.doubted.add(key)
        elif mark == tags.key_closer:
            if not tags.value_opener or (yield from follows(scan, tags.value_opener)):
                self._wrong(begin)
        else:
            try:
                header, _ = yield from scan.within(literals(tags.key_closer))
            except (Malformed, Incomplete):
                header = ""
            key = tags.header.read(header.strip())[0]
            if _KEY.fullmatch(key):
                self.given.doubted.add(key)
        scan.rewind(here)

    # --- errors

    def _forget(self) -> None:
        super()._forget()
        self.unclear, self.ended, self.own_end = False, False, None
        self.keys, self.quoted, self.frames, self.lone, self.tolerance = [], [], 0, None, ""

    def _never_ended(self) -> NoReturn:
        if self.closed_at_end:
            raise Incomplete(one_of(self.tags.following))
        super()._never_ended()

    def _wrong(self, begin: int, expected: str = "") -> NoReturn:
        lone, doubt = self.lone, self.doubt
        if lone is not None and lone <= begin:
            begin = lone
            if doubt is None or lone <= doubt:
                expected = one_of(self.tags.following)
        super()._wrong(begin, expected)

    def _closer_missing(self, begin: int) -> None:
        """End the value here by the structure of the frame, unless it may have ended before or lost more."""
        closer = self.tags.value_closer
        if self.doubt is not None or self.lone is not None or begin == self.begin:
            self._wrong(begin)
        tail = self._last(begin, len(closer) + 1)
        damaged = {closer[0], *(end[-1] for end in (closer, *self.tags.ends))}
        if tail[-1] in damaged or closer[:2] in tail:  # a part of the end marker, or a damaged one
            self._wrong(begin)
        self._record_damage("missing_value_closer")

    def _record_damage(self, tolerance: str) -> None:
        self.calls.record_tolerance(tolerance)
        self.given.damaged = True


class MarkedValue(Value):
    """A value between its own marks (CDATA), in which nothing is a tag. The same mark directly after the tag of a key
    shows that the mark at the end is missing."""

    def __init__(self, scan: Scan, calls: CallBuilder, tags: Tags, closers: tuple[str, ...], mark: str) -> None:
        super().__init__(scan, calls, literals(*closers, tags.key_opener), closers[0])
        self.tags, self.closers, self.mark = tags, closers, mark

    def _met(self, stop: str) -> Reading[tuple[str, str]]:
        if stop in self.closers:
            return (yield from follows(self.scan, *self.tags.following)), stop
        begin, here = self.scan.position - len(stop), self.scan.position
        if (yield from key_tag(self.scan, self.tags)) and (yield from self.scan.literal(literals(self.mark))):
            self._wrong(begin)
        self.scan.rewind(here)
        return "", stop
