"""What a tool-call format is: one value that knows everything about itself.

Everything else (the registry's table, inference, the laws, fuzzing, benchmarks) follows from the record; nothing else
names a format. How calls are read and written is the engine's; a format only gives it its markers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeAlias

from toolfmt.formats.calls import Calls
from toolfmt.formats.markers import Markers, markers_of
from toolfmt.formats.reasoning_pairs import COMMON
from toolfmt.formats.reasoning_pairs import THINK as THINK
from toolfmt.formats.runtime_parsers import RuntimeParser
from toolfmt.formats.scan import Reading, Scan
from toolfmt.formats.typed import Types

if TYPE_CHECKING:
    from toolfmt.formats.constraint import Constraint
    from toolfmt.formats.nodes import Node

Call: TypeAlias = tuple[str, Mapping[str, Any]]
"""A call to write: the tool's name and its arguments."""

NameAtStart: TypeAlias = Literal["never", "tolerated", "usual"]
"""Whether an answer may begin with a call's name, and if that is a tolerance: the prompt often wrote the opener."""

DERIVED = "derived"
"""What a format is called that was derived from a template: each is another, so that the name stands for none."""


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
    """A way of writing calls; its markers are parameters, its behavior is not."""

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

    def read(self, scan: Scan, calls: Calls, opener: str) -> Reading[None]:
        """The calls of one frame, from after its opener to after its closer. `opener` is empty for a call without a
        frame, which then stands unread in front."""

    def write(self, calls: Sequence[Call], types: TypesOf) -> str:
        """The calls as the family's templates render them."""

    def grammar(self, constraint: Constraint) -> Node:
        """The calls that the tools allow, spelt as `write` spells them and read without a tolerance. Raises
        `CannotConstrain`."""


@dataclass(frozen=True)
class ToolCallFormat:
    """A tool-call format: how it is called, who emits it, how it is recognised, read, written and explained."""

    def __repr__(self) -> str:
        return f"<ToolCallFormat {self.name}>"

    name: str
    engine: Engine
    page: str = ""
    """What a person should know about the format; the docstring of its module."""
    instructions: str = ""
    """How to tell a model in prose to write a call; the example is added by the format's own writer."""
    source: tuple[str, ...] = ()
    """Where the wire format is documented: model cards, upstream templates, specifications."""
    aliases: tuple[str, ...] = ()
    families: tuple[str, ...] = ()
    model_types: tuple[str, ...] = ()
    """Values of `model_type` in config.json that speak this format when nothing better is known."""
    signatures: tuple[str, ...] = ()
    """Regular expressions; each alone recognises the format in the source of a chat template."""
    runtime_parsers: Mapping[str, str | RuntimeParser] = field(default_factory=dict)
    """What each runtime calls its parser for it: a name, or a `RuntimeParser` where there is more to say."""
    reasoning: tuple[tuple[str, str], ...] = (THINK,)
    """Opener and closer of the reasoning blocks that occur in the same answers."""
    any_reasoning: bool = False
    """Whether the blocks that other families write are read as well, of a model that nobody has seen answer."""
    between: tuple[str, ...] = ()
    """Openers of reasoning blocks and of messages that may stand behind content, which nothing has closed."""
    variants: Mapping[str, Engine] = field(default_factory=dict)
    """Other ways in which templates of the families write calls, by name: they only write; `engine` reads them all."""
    variant: str = ""
    """The variant that calls are written in; empty where the engine itself writes them."""
    headers: tuple[str, ...] = ()
    """Regular expressions of what stands before an answer in prompts, where its shape does not show that."""
    call_id: str = "call_{number}"
    """The form of a call's id where the model wrote none: `name` and `number` stand for the tool's and the call's."""
    ignored_markers: tuple[str, ...] = ()
    """Control tokens that frame the answer and say nothing: not content, wherever they stand outside of calls."""
    ignored_at_start: tuple[str, ...] = ()
    """What says nothing where the answer begins with it, and is text anywhere else."""
    content_markers: tuple[tuple[str, str], ...] = ()
    """Opener and closer of the part for the user: plain words, so they count only where that part begins, and ends."""

    def __reduce__(self) -> tuple[Callable[..., ToolCallFormat], tuple[Any, ...]]:
        """A format of toolfmt's own is pickled by its name, any other by its parts: it need not be registered where it
        is read."""
        from toolfmt.formats.known import KNOWN
        from toolfmt.formats.registry import get

        if any(self is format for format in KNOWN):
            return get, (self.name,)
        parts = {part.name: getattr(self, part.name) for part in fields(self)}
        return partial(ToolCallFormat, **parts), ()

    @cached_property
    def reasoning_read(self) -> tuple[tuple[str, str], ...]:
        """The reasoning blocks that are read; `reasoning` are those that the format's models are known to write."""
        if not self.any_reasoning:
            return self.reasoning
        return tuple(dict.fromkeys((*self.reasoning, *COMMON)))

    @cached_property
    def markers(self) -> Markers:
        """What the driver looks for in answers."""
        return markers_of(self)

    def runtime_parser(self, runtime: str) -> RuntimeParser | None:
        """The runtime's parser for the format; None where it has none."""
        parser = self.runtime_parsers.get(runtime)
        return RuntimeParser(parser) if isinstance(parser, str) else parser

    def in_calls(self, literal: str) -> bool:
        """Whether calls are written with this literal, or it is a part of one of their markers: an answer does not end
        with it. What may only close a call does end it."""
        calls: list[Call] = [("f", {"a": "b", "c": 1}), ("f", {})]
        written = self.writer.write(calls, lambda name, *path: None)
        inner = self.engine.inner
        closers = (*self.closers, *inner.closers)
        if literal in written or any(
            literal in opener for opener in (*self.openers, *self.unframed_openers, *inner.openers)
        ):
            return True
        return any(literal in closer for closer in closers) and literal not in closers

    def to_dict(self) -> dict[str, Any]:
        """The format as JSON-like data, which `toolfmt.format_from_file` reads from a file; raises `BadFormat` for one
        that only code can say."""
        from toolfmt.formats.stored import as_data

        return as_data(self)

    @property
    def writer(self) -> Engine:
        """The engine that calls are written with."""
        return self.variants[self.variant] if self.variant else self.engine

    def with_variant(self, variant: str) -> ToolCallFormat:
        """The format with calls written in this variant; an empty name is the engine itself. Raises `KeyError`."""
        if variant and variant not in self.variants:
            raise KeyError(variant)
        return replace(self, variant=variant)

    @property
    def openers(self) -> tuple[str, ...]:
        return self.engine.openers

    @property
    def unframed_openers(self) -> tuple[str, ...]:
        return self.engine.unframed_openers

    @property
    def closers(self) -> tuple[str, ...]:
        return self.engine.closers

    @property
    def name_at_start(self) -> NameAtStart:
        return self.engine.name_at_start
