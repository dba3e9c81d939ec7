"""Code that the engines share: the markers of a frame, its end marker (which may be missing) and unquoted names.

A frame is the text from the start marker to the end marker around one or more calls.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from typing import Any

from toolfmt.formats.engines.call_builder import CallBuilder, Committed
from toolfmt.formats.engines.engine import Inner, NameAtStart
from toolfmt.formats.scanner.literals import literals
from toolfmt.formats.scanner.lookahead import look_ahead
from toolfmt.formats.scanner.scanner import SPACE, SPACES, Reading, Scan
from toolfmt.formats.values.nodes import Node, row

_NAME_START = re.compile(r"[\w$@]")
NAME_CHARACTERS = r"\w.:/$@+-"
"""The characters of an unquoted name, as the inside of a regular expression's character class."""
# The OpenAI API allows only letters, digits, _ and -; runtimes accept more. Quotes and other punctuation are excluded,
# so that a marker that ordinary text mentions is not followed by a name.
NAME = re.compile(f"[{NAME_CHARACTERS}]*")
"""An unquoted name."""
MIN_CONTROL_TOKEN = 4
"""The length from which a marker counts as a control token, which ordinary text does not contain. Shorter ones are
brackets, code fences and punctuation."""


@dataclass(frozen=True, kw_only=True)
class Frame:
    """The markers around calls.

    Args:
        opener: The start marker. It may be empty.
        closer: The end marker. It may be empty.
        also: Variants of the start marker that the parser accepts and the writer never uses.
        also_closers: Variants of the end marker that the parser accepts and the writer never uses.
        unframed_openers: Strings with which a call without a frame starts, at the start of the output or of a line.
        start_only_openers: Start markers that count only at the start of the output or of one of its messages.
        left: Trailing markers that models write directly after a frame. The parser drops them.
        name_at_start: Whether the output may start with the name of a call, and whether that is a tolerance.
        named: The delimiter after a tool's name, if the name of a declared tool followed by it may start a call
            without a frame. Empty if it may not.
    """

    opener: str = ""
    closer: str = ""
    also: tuple[str, ...] = ()
    also_closers: tuple[str, ...] = ()
    unframed_openers: tuple[str, ...] = ()
    start_only_openers: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    name_at_start: NameAtStart = "never"
    named: str = ""

    def __getstate__(self) -> dict[str, Any]:
        """Return the parameters only; cached properties are computed again after unpickling."""
        return {part.name: getattr(self, part.name) for part in fields(self)}

    @property
    def openers(self) -> tuple[str, ...]:
        return (self.opener, *self.also) if self.opener else self.also

    @property
    def closers(self) -> tuple[str, ...]:
        return (self.closer, *self.also_closers) if self.closer else self.also_closers

    @property
    def trailing_markers(self) -> tuple[str, ...]:
        """The trailing markers that are dropped after a frame: those of `left`, and repeated end markers.

        Short end markers are not among them: a bracket or a code fence after a call may belong to the content.
        """
        repeated = (*self.closers, *self.inner.closers)
        return (*self.left, *(closer for closer in repeated if len(closer) >= MIN_CONTROL_TOKEN))

    @property
    def inner(self) -> Inner:
        return Inner()

    def enclosed(self, enclosing: tuple[str, str], calls: Node) -> Node:
        """Return all calls in one frame, with two texts around them."""
        return row(self.opener, enclosing[0], calls, enclosing[1], self.closer)


def check_markers(openers: Mapping[str, str], closers: Mapping[str, str]) -> None:
    """Raise `ValueError` for a marker next to an object that cannot be distinguished from the object.

    Args:
        openers: Markers before an object, by the name of their parameter. They must not start like an object or string.
        closers: Markers after an object, by the name of their parameter. They must not start with a closing brace.
    """
    for parameter, mark in openers.items():
        if mark.strip().startswith(("{", '"', "'")):
            raise ValueError(f"{parameter} is {mark!r:.80}, which may also start an object")
    for parameter, mark in closers.items():
        if mark.strip().startswith("}"):
            raise ValueError(f"{parameter} is {mark!r:.80}, which may also end an object")


def check_filled(engine: Frame, *parameters: str) -> None:
    """Raise `ValueError`, naming the parameter, if one of the frame's lists of markers or of `parameters` contains an
    empty string."""
    of_frames = ("also", "also_closers", "unframed_openers", "start_only_openers", "left")
    for parameter in (*of_frames, *parameters):
        if not all(getattr(engine, parameter)):
            raise ValueError(f"{parameter}: a marker must not be empty")


def read_name(scan: Scan, pattern: re.Pattern[str] = NAME) -> Reading[str]:
    """Consume an unquoted tool name and return it, or an empty string if there is none. Raise `Malformed` if it is too
    long."""
    if not _NAME_START.match((yield from scan.peek())):
        return ""
    return (yield from scan.word(pattern))


def close_frame(scan: Scan, calls: CallBuilder, opener: str, *closers: str) -> Reading[bool]:
    """Consume whitespace and the end marker, and return whether it was there. Return True if the frame has none.

    If the end marker is missing, nothing is consumed; if the frame has a start marker (`opener`), the tolerance
    `missing_closer` is recorded. The call itself is complete at that point, so it is not rejected: models and runtimes
    often drop the end marker, for example if it is also the stop token.
    """
    if not closers:
        return True
    if (yield from follows(scan, *closers)):
        return True
    if opener:
        calls.record_tolerance("missing_closer")
    return False


def follows(scan: Scan, *wanted: str) -> Reading[str]:
    """Consume whitespace and one of the literals after it. Return the literal, or an empty string if none follows; then
    nothing is consumed."""
    sought, text, at = literals(*wanted), scan.text, scan.at
    if at < len(text) and text[at] in SPACES:
        at = SPACE.match(text, at).end()  # type: ignore[union-attr]  # it matches anything
    if at < len(text):
        found = sought.match(text, at, scan.closed) if text[at] in sought.first else None
        if found is None:
            return ""
        if found:
            scan.at = at + len(found)
            return found
    here = scan.position
    yield from scan.skip_spaces()
    found = yield from scan.literal(sought)
    if not found:
        scan.rewind(here)
    return found


def first_name(read: Callable[[Scan, CallBuilder], Reading[None]], scan: Scan, calls: CallBuilder) -> Reading[str]:
    """Return the name of the first call that `read` finds; "" if it has none. Consume nothing.

    Passes on what `read` and `look_ahead` raise.
    """

    def read_name_only(view: Scan) -> Reading[str]:
        dry_run = calls.dry_run(view, "name")
        with suppress(Committed):
            yield from read(view, dry_run)
        return dry_run.first or ""

    return (yield from look_ahead(scan, read_name_only))
