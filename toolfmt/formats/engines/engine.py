"""The protocol of engines: an engine parses and writes the calls of a format, whose markers are its parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol, TypeAlias

from toolfmt.formats.engines.call_builder import CallBuilder
from toolfmt.formats.scanner.scanner import Reading, Scan
from toolfmt.formats.values.layout import Call, TypesOf

NameAtStart: TypeAlias = Literal["never", "tolerated", "usual"]
"""Whether an output may start with the name of a call, and whether that is a tolerance or usual. The start marker is
often part of the prompt."""


class Inner(NamedTuple):
    """The markers of a single call inside a frame that may contain several."""

    openers: tuple[str, ...] = ()
    closers: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    """Text without a meaning between two calls."""


class Engine(Protocol):
    """A syntax of calls. Its markers are parameters, its behavior is fixed.

    An engine with a property `layout` (`toolfmt.formats.values.layout.LaidOut`) also has a grammar.
    """

    @property
    def openers(self) -> tuple[str, ...]:
        """Start markers of a frame, anywhere in the output."""

    @property
    def unframed_openers(self) -> tuple[str, ...]:
        """Literals that start a call without a frame, at the start of the output or of a line."""

    @property
    def start_only_openers(self) -> tuple[str, ...]:
        """Start markers of a frame that count only at the start of the output, or after an ignored marker."""

    @property
    def closers(self) -> tuple[str, ...]:
        """End markers of a frame. An invalid call is rejected up to such a marker."""

    @property
    def inner(self) -> Inner:
        """The markers of a call inside a frame. Parsing resumes at the next call after an invalid one."""

    @property
    def trailing_markers(self) -> tuple[str, ...]:
        """Trailing markers: text without a meaning directly after a frame."""

    @property
    def name_at_start(self) -> NameAtStart:
        """Whether an output may start with the name of a call, without a start marker."""

    @property
    def named(self) -> str:
        """The text after a declared tool's name in a call that is a whole output or line, without a frame. Empty if
        such calls are not supported.
        """

    def read(self, scan: Scan, calls: CallBuilder, opener: str) -> Reading[None]:
        """Parse the calls of one frame from `scan`, from after its start marker to after its end marker.

        `calls` receives the calls. `opener` is the start marker, which is already consumed. It is empty for a call
        without a frame, of which nothing is consumed.
        """

    def write(self, calls: Sequence[Call], types: TypesOf) -> str:
        """Return the calls as the family's templates render them.

        Args:
            calls: The calls.
            types: Looks up the types that the schemas of the tools allow.
        """
