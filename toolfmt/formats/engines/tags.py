"""The tags of a format as a raw value depends on them, and lookaheads for a tag."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from toolfmt.formats.engines.call_builder import CallBuilder
from toolfmt.formats.engines.frame import follows
from toolfmt.formats.engines.tag_attributes import Header
from toolfmt.formats.scanner.literals import Literals, literals
from toolfmt.formats.scanner.lookahead import MAX_LOOKAHEAD
from toolfmt.formats.scanner.scanner import Incomplete, Malformed, Reading, Scan

PART = 4
"""Number of characters of a marker that show a damaged one."""
_KEY_PART = 6
"""The same for the start marker of a key after an end marker: fewer may begin another tag of the value."""
_MARKER = 4
"""Minimum length of a start marker that is a tag: only what is left of a damaged tag can be recognized."""
_NAMED = ' name="'
_WHOLE_TAG = re.compile(r"<[^<>\n]+>")
_OF_EACH_TYPE: tuple[Any, ...] = ("", 0, True, None, [], {})


@dataclass(frozen=True)
class Tags:
    """The tags of a format, as far as a raw value depends on them."""

    key_opener: str
    key_closer: str
    value_opener: str
    value_closer: str
    name_opener: str
    name_closer: str
    call_closer: str
    other_value_closers: tuple[str, ...]
    other_call_closers: tuple[str, ...]
    openers: tuple[str, ...]
    closers: tuple[str, ...]
    skipped: tuple[str, ...]
    lines: bool
    """Whether the format writes tags on lines of their own."""
    end_is_stop_token: bool
    """Whether the end marker of a call is a stop token, which runtimes strip from the end of the output."""
    header: Header
    """How a key is written in its tag."""
    _stops: dict[Any, Literals] = field(default_factory=dict, compare=False, repr=False)
    """What stops a value, by its end markers and by whether the keys are declared: a few entries per format."""

    @cached_property
    def following(self) -> tuple[str, ...]:
        """What may follow an argument: the next one, the end of the call, or the next call of the frame."""
        another = (self.name_opener,) if self.name_opener and self.openers else ()
        return (self.key_opener, *self.ends, *another)

    @cached_property
    def well_formed_following(self) -> tuple[str, ...]:
        """As `following`, if no end marker of a call is missing."""
        return (self.key_opener, *((self.call_closer, *self.other_call_closers) if self.call_closer else self.closers))

    @cached_property
    def ends(self) -> tuple[str, ...]:
        """What may end a call: its own end marker, if it has one, and that of the frame."""
        return (self.call_closer, *self.other_call_closers, *self.closers) if self.call_closer else self.closers

    @cached_property
    def ends_of_key(self) -> Literals:
        """What ends a key: its end marker, or in a damaged tag the end of the call."""
        return literals(*filter(None, (self.key_closer, *self.ends)))

    @cached_property
    def structure(self) -> tuple[str, ...]:
        """What stops a value besides its end marker."""
        marks = {self.key_opener, self.plain_opener, *self.ends, *self.openers, self.name_opener} - {""}
        if self.value_opener:
            marks.add(self.key_closer)
        # If the end marker of a value starts with such a marker, a line break before it may belong to the value.
        ends_value = self.value_closer.lstrip()
        apart = [mark for mark in marks if self.lines and not ends_value.startswith(mark)]
        return (*sorted(marks), *sorted("\n" + mark for mark in apart))

    @cached_property
    def of_calls(self) -> CallMarks:
        """The markers of a single call, and what may be between two calls."""
        if self.call_closer and self.name_opener:
            between = (*self.openers, *self.closers, *self.skipped)
            return CallMarks((self.name_opener,), (self.call_closer, *self.other_call_closers), between)
        return CallMarks(tuple(filter(None, (*self.openers, self.name_opener))), self.ends, self.skipped)

    @cached_property
    def marks(self) -> re.Pattern[str]:
        """The markers of the format, and the whole tags and control tokens in them."""
        ends = (self.name_closer, self.key_closer, self.value_closer, *self.other_value_closers)
        marks = {*self.structure, self.value_opener, *ends, *self.skipped}
        parts = {mark.strip() for whole in marks for mark in (whole, *_WHOLE_TAG.findall(whole))}
        return re.compile("|".join(re.escape(part) for part in sorted(parts) if len(part) >= _MARKER) or r"(?!)")

    @cached_property
    def plain_opener(self) -> str:
        """The tag without a key that the end marker of a value closes in XML."""
        return "<" + self.value_closer[2:] if self.value_closer[:2] == "</" else ""

    @cached_property
    def damaged(self) -> str:
        """What identifies a damaged tag of a key if the declared keys are unknown: the end of the tag's name."""
        found = re.search(r"\w\w(?:\s+\w+)?\W*\Z", self.key_opener)
        return self.key_opener if found is None else found.group()

    @cached_property
    def foreign_key(self) -> tuple[str, str]:
        """Return the text before and after a key in a tag as other families write it; empty if there is no such tag."""
        opener = self.key_opener
        if opener[:1] != "<" or self.key_closer != ">" or self.value_opener:
            return "", ""
        if opener[-1] == "=":
            return f'{opener[:-1]} name="', '">'
        return (f"{opener[: -len(_NAMED)]}=", ">") if opener.endswith(_NAMED) else ("", "")

    @cached_property
    def tag_ends(self) -> tuple[str, ...]:
        """What follows a key in its tag, for values of each type, up to the tag's end."""
        return tuple(sorted({self.header.write("", value, 0) + self.key_closer for value in _OF_EACH_TYPE}))

    @cached_property
    def ends_of_tags(self) -> re.Pattern[str] | None:
        """What follows the key in its tag, up to the tag's end. None if the end of a damaged tag shows nothing."""
        if self.value_opener or ">" not in self.key_closer:
            return None
        return re.compile("|".join(map(re.escape, self.tag_ends)))  # none starts with another one

    @cached_property
    def attribute(self) -> str:
        """The beginning of the attribute after a key in its tag; empty if there is none."""
        name, equals, _ = self.header.write("", "", 0).partition("=")
        return name.removeprefix(self.header.quote) + equals if equals else ""

    def written_keys(self, declared: Iterable[str]) -> dict[int, dict[str, str]]:
        """Return the declared keys by their text in a tag, grouped by its length, the longest first."""
        rest = len(self.header.write("", "", 0))
        written: dict[int, dict[str, str]] = {}
        for key in declared:
            text = self.header.write(key, "", 0)[:-rest] if rest else key
            written.setdefault(len(text), {})[text] = key
        return dict(sorted(written.items(), reverse=True))

    @cached_property
    def broken_key(self) -> Literals:
        """The start marker of a key with one character missing, or only its control token, or all but this."""
        opener = self.key_opener
        if len(opener) < _MARKER:
            return literals()  # the rest of a short marker shows nothing
        token = _WHOLE_TAG.match(opener)
        parts = (opener[: token.end()], opener[token.end() :]) if token and token.group() != opener else ()
        return literals(*dict.fromkeys((*(opener[:at] + opener[at + 1 :] for at in range(len(opener))), *parts)))

    def has_loose_tags(self, text: str) -> bool:
        """Whether a text after an end marker has the start marker of a key, or begins with a part of it, or has the end
        marker of a key, or the start marker of a value, without the other of its pair."""
        if self.key_opener in text or text.lstrip().startswith(self.key_opener[:_KEY_PART]):
            return True
        if self.header.quote:
            return False
        for opener, closer in ((self.key_opener, self.key_closer), (self.value_opener, self.value_closer)):
            text = re.sub(f"(?s:{re.escape(opener)}.+?{re.escape(closer)})", "", text) if opener else text
        return any(tag in text for tag in (self.key_closer, self.value_opener) if len(tag) >= _MARKER)

    def between_calls(self, text: str) -> bool:
        """Whether a text contains only what may be between the last value of a call and the next call."""
        for mark in (*self.ends, *self.openers, *self.skipped):
            text = text.replace(mark, "")
        return not text.strip()

    def wanted(self, closers: tuple[str, ...], declared: bool) -> Literals:
        """Return what stops a value with these end markers. It does not depend on the keys: new tools cost nothing."""
        known = self._stops.get((closers, declared))
        if known is None:
            of_a_tag = not self.value_opener and self.key_opener.startswith("<")
            damaged = (self.foreign_key[0] if declared else self.damaged) if of_a_tag else ""
            known = self._stops[closers, declared] = literals(*closers, *self.structure, *filter(None, (damaged,)))
        return known


@dataclass
class Given:
    """What is known about the arguments of one call."""

    keys: set[str] = field(default_factory=set)
    doubted: set[str] = field(default_factory=set)
    """Keys for which a value contains a part of a tag. If the call ends without them, the value has swallowed them."""
    damaged: bool = False
    """Whether a marker of an argument is missing or repeated. It may have been moved into a value."""
    values: dict[int, int] = field(default_factory=dict)
    """Where each raw value begins and ends."""
    written: dict[int, dict[str, str]] | None = None
    """The result of `Tags.written_keys`, once it was needed."""

    def moved_text(self, scan: Scan, tags: Tags) -> Iterator[tuple[int, bool]]:
        """Yield where a value may have a marker, or lack text, that was moved, and whether it is a marker."""
        for begin, end in self.values.items():
            value = scan.read_between(begin, end)
            if found := tags.marks.search(value):
                yield begin + found.start(), True
            elif self.damaged and not value.strip():
                yield begin, False


def stripped_end_marker(scan: Scan, calls: CallBuilder, tags: Tags) -> Reading[str]:
    """Return the end marker of the call if the output ends here and the runtime stripped it, else an empty string."""
    if not tags.end_is_stop_token:
        return ""
    here = scan.position
    yield from scan.skip_spaces()
    if (yield from scan.peek()):
        scan.rewind(here)
        return ""
    calls.need_end()
    return tags.ends[0]


def key_tag(scan: Scan, tags: Tags) -> Reading[tuple[str, str] | None]:
    """Return the key, and the text from its start marker up to where its value would start; None if it is not a key."""
    try:
        header, closer = yield from scan.within(literals(tags.key_closer))
    except (Malformed, Incomplete):
        return None
    text = header + closer
    key = tags.header.read(header.strip())[0] if "<" not in header else ""
    if not key:
        return None
    if tags.value_opener:
        spaces = yield from scan.spaces()
        if not (yield from scan.literal(literals(tags.value_opener))):
            return None
        text += spaces + tags.value_opener
    return key, text


class CallMarks(NamedTuple):
    """The markers of a single call, and what may be between two calls."""

    starts: tuple[str, ...]
    ends: tuple[str, ...]
    between: tuple[str, ...]


def own_end(
    scan: Scan,
    closers: tuple[str, ...],
    openers: tuple[str, ...],
    opened: int,
    following: tuple[str, ...],
    of: CallMarks,
) -> Reading[int | None]:
    """Return the offset of the end marker of a value that continues here; None if there is none near. Nothing is read.

    It is the first one that does not belong to a tag in the value, and one of `following` must follow it. No value
    contains the end of its call and the start of the next one.

    Args:
        scan: The text. It must be kept.
        closers: The end markers of the value.
        openers: The tags that the same markers end.
        opened: The number of these tags that are open here.
        following: What may follow the value.
        of: The markers of calls.
    """
    here, calls = scan.position, 0
    end: int | None = None
    wanted = literals(*closers, *openers, *of.starts, *of.ends)
    while True:
        found = yield from scan.find_near(wanted, here + MAX_LOOKAHEAD - scan.position)
        if found in of.starts:
            calls += 1
        elif found in of.ends:
            if not calls and (yield from another_call(scan, of)):
                break
            calls = max(calls - 1, 0)
        elif found in openers:
            opened += 1
        elif found and opened:
            opened -= 1
        else:
            at = scan.position - len(found)
            end = at if found and (yield from follows(scan, *following)) else None
            break
    scan.rewind(here)
    return end


def another_call(scan: Scan, of: CallMarks) -> Reading[bool]:
    """Whether the next call starts after the end marker of a call or of a value. Nothing is read."""
    here = scan.position
    while not (found := (yield from follows(scan, *of.starts))) and scan.position - here < MAX_LOOKAHEAD:
        if not (yield from follows(scan, *of.between)):
            break
    scan.rewind(here)
    return bool(found)
