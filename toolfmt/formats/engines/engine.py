"""What an engine is: it reads and writes the calls of a format, whose markers are its parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

from toolfmt.formats.engines.call_builder import CallBuilder
from toolfmt.formats.scanner.scanner import Reading, Scan
from toolfmt.formats.values.schema_types import Types

Call: TypeAlias = tuple[str, Mapping[str, Any]]
"""A call to write: the tool's name and its arguments."""

NameAtStart: TypeAlias = Literal["never", "tolerated", "usual"]
"""Whether an answer may begin with a call's name, and if that is a tolerance: the prompt often wrote the opener."""


class TypesOf(Protocol):
    """The types the tools' schemas allow."""

    def __call__(self, name: str, *path: str) -> Types:
        """By tool name, parameter name and the keys that lead to a part of it."""


class Inner(NamedTuple):
    """What opens and closes one call inside a frame that may hold several."""

    openers: tuple[str, ...] = ()
    closers: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    """What may stand between two calls and says nothing."""


class Engine(Protocol):
    """A way of writing calls; its markers are parameters, its behavior is not.

    Its grammar is registered with `toolfmt.formats.grammar.calls.grammar_of`, also for an engine of another package.
    """

    @property
    def openers(self) -> tuple[str, ...]:
        """What opens a frame, anywhere in the answer."""

    @property
    def unframed_openers(self) -> tuple[str, ...]:
        """What a call without its frame begins with, at the start of the answer or of a line."""

    @property
    def start_only_openers(self) -> tuple[str, ...]:
        """What opens a frame only where the answer begins, or goes on behind a marker that says nothing."""

    @property
    def closers(self) -> tuple[str, ...]:
        """What ends a frame: a call that went wrong is rejected up to there."""

    @property
    def inner(self) -> Inner:
        """What opens and closes a call inside a frame: where one has gone wrong, the next one still stands."""

    @property
    def residue(self) -> tuple[str, ...]:
        """What a model may leave right behind a frame, and says nothing there."""

    @property
    def name_at_start(self) -> NameAtStart:
        """Whether an answer may begin with a call's name, without anything before it."""

    @property
    def named(self) -> str:
        """What stands behind a declared tool's name where a call of it may be all of an answer or of a line; empty
        where none may."""

    def read(self, scan: Scan, calls: CallBuilder, opener: str) -> Reading[None]:
        """The calls of one frame, from after its opener to after its closer. `opener` is empty for a call without a
        frame, which then stands unread in front."""

    def write(self, calls: Sequence[Call], types: TypesOf) -> str:
        """The calls as the family's templates render them."""
