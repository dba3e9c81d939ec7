"""What the engines share about frames: their markers, the closer that may be missing, and names without quotes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from toolfmt.formats.engines.call_builder import CallBuilder
from toolfmt.formats.engines.engine import Inner, NameAtStart
from toolfmt.formats.scanner.literals import literals
from toolfmt.formats.scanner.scanner import Reading, Scan

_NAME_BEGINS = re.compile(r"[\w$@]")
NAME_SIGNS = r"\w.:/$@+-"
"""What a name without quotes is made of, as inside a class of characters."""
_CONTROL = 4
"""A closer at least so long is a marker, not a bracket or a fence."""
NAME = re.compile(f"[{NAME_SIGNS}]*")
"""What names without quotes are made of."""
# Longer than what the OpenAI interface allows (letters, digits, _ and -), for the names that runtimes accept; no
# punctuation or quotes, so that a marker mentioned in prose is not followed by a name.


@dataclass(frozen=True, kw_only=True)
class Frame:
    """The markers around calls.

    The writer uses `opener` and `closer`, either of which may be empty; `also` and `also_closers` are other spellings
    that are read. `unframed_openers` are what calls without a frame begin with, at the start of the answer or of a
    line; `start_only_openers` open a frame only where the answer begins or a message of it;
    `left` is what models write right behind a frame, and says nothing there;
    `name_at_start` tells whether the answer may begin with a call's name; `named` is what stands behind a declared
    tool's name where a call of it may stand alone, with nothing around it.
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
        """The parameters alone: what has been made of them is made again."""
        return {part.name: getattr(self, part.name) for part in fields(self)}

    @property
    def openers(self) -> tuple[str, ...]:
        return (self.opener, *self.also) if self.opener else self.also

    @property
    def closers(self) -> tuple[str, ...]:
        return (self.closer, *self.also_closers) if self.closer else self.also_closers

    @property
    def residue(self) -> tuple[str, ...]:
        """What may be left behind a frame, and is not for the user: its closer once more, and what the format says."""
        again = (*self.closers, *self.inner.closers)
        return (*self.left, *(closer for closer in again if len(closer) >= _CONTROL))

    @property
    def inner(self) -> Inner:
        return Inner()


def check_markers(openers: Mapping[str, str], closers: Mapping[str, str]) -> None:
    """Raises `ValueError` for a marker before or behind an object that cannot be told from the object, by the name of
    the parameter."""
    for parameter, mark in openers.items():
        if mark.strip().startswith(("{", '"', "'")):
            raise ValueError(f"{parameter} is {mark!r:.80}, which may also start an object")
    for parameter, mark in closers.items():
        if mark.strip().startswith("}"):
            raise ValueError(f"{parameter} is {mark!r:.80}, which may also end an object")


def check_filled(engine: Frame, *parameters: str) -> None:
    """Raises `ValueError`, which names the parameter, where a marker of the frame or of these parameters is empty."""
    of_frames = ("also", "also_closers", "unframed_openers", "start_only_openers", "left")
    for parameter in (*of_frames, *parameters):
        if not all(getattr(engine, parameter)):
            raise ValueError(f"{parameter}: a marker must not be empty")


def read_name(scan: Scan, pattern: re.Pattern[str] = NAME) -> Reading[str]:
    """The name of a tool, as it stands without quotes; empty where none does, malformed where it is too long."""
    if not _NAME_BEGINS.match((yield from scan.peek())):
        return ""
    return (yield from scan.word(pattern))


def close_frame(scan: Scan, calls: CallBuilder, opener: str, *closers: str) -> Reading[bool]:
    """The closer, blanks before it included. Where it is missing nothing is read, and an opened frame is noted."""
    if not closers:
        return True
    here = scan.position
    yield from scan.skip_spaces()
    if (yield from scan.literal(literals(*closers))):
        return True
    scan.rewind(here)
    if opener:
        calls.record_tolerance("missing_closer")
    return False


def follows(scan: Scan, *wanted: str) -> Reading[str]:
    """The literal that stands after blanks, read with them; or an empty string, and nothing is read."""
    here = scan.position
    yield from scan.skip_spaces()
    found = yield from scan.literal(literals(*wanted))
    if not found:
        scan.rewind(here)
    return found
