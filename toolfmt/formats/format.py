"""What a tool-call format is: one value that knows everything about itself.

Everything else (the registry's table, inference, the laws, fuzzing, benchmarks) follows from the record; nothing else
names a format. How calls are read and written is the engine's; a format only gives it its markers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeAlias

from toolfmt.formats.engines.call_builder import Calls
from toolfmt.formats.markers import Markers, markers_of
from toolfmt.formats.reasoning_markers import COMMON
from toolfmt.formats.reasoning_markers import THINK as THINK
from toolfmt.formats.runtime_parsers import RuntimeParser
from toolfmt.formats.scanner.scanner import Reading, Scan
from toolfmt.formats.values.schema_types import Types

if TYPE_CHECKING:
    from toolfmt.formats.grammar.constraint import Constraint
    from toolfmt.formats.grammar.nodes import Node

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
    """A tool-call format: its names, its models, and how it is recognized, parsed, written and explained.

    Attributes:
        name: The name of the format.
        engine: Parses and writes the calls.
        page: What a user should know about the format. The docstring of its module.
        instructions: How to write a call, described for a model. The format's own writer adds an example.
        source: Where the wire format is documented: model cards, upstream templates, specifications.
        aliases: Further names.
        families: The model families that use the format.
        model_types: Values of `model_type` in config.json for which this is the format if nothing better is known.
        signatures: Regular expressions. Each alone recognizes the format in the source of a chat template.
        runtime_parsers: The name of each runtime's parser for the format, or a `RuntimeParser` if there is more to
            know.
        reasoning: Start and end marker of the reasoning blocks in the same outputs.
        any_reasoning: Whether reasoning blocks of other families are parsed too, for a model whose outputs are not
            known.
        between: Start markers of reasoning blocks and of messages that may follow content without an end marker before
            them.
        variants: Other ways in which templates of the families write calls, by name. They only write; `engine` parses
            them all.
        variant: The variant in which calls are written. Empty if `engine` writes them.
        headers: Regular expressions of what precedes a response in prompts, if its form does not show that.
        call_id: The form of a call's id if the model wrote none. `name` is the tool's name, `number` the number of the
            call.
        ignored_markers: Control tokens around the output without a meaning. Outside of calls, they are never content.
        ignored_at_start: Text without a meaning at the start of an output. Anywhere else it is content.
        content_markers: Start and end marker of the part for the user. They are plain words, so they count only where
            that part begins and ends.
    """

    def __repr__(self) -> str:
        return f"<ToolCallFormat {self.name}>"

    name: str
    engine: Engine
    page: str = ""
    instructions: str = ""
    source: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    families: tuple[str, ...] = ()
    model_types: tuple[str, ...] = ()
    signatures: tuple[str, ...] = ()
    runtime_parsers: Mapping[str, str | RuntimeParser] = field(default_factory=dict)
    reasoning: tuple[tuple[str, str], ...] = (THINK,)
    any_reasoning: bool = False
    between: tuple[str, ...] = ()
    variants: Mapping[str, Engine] = field(default_factory=dict)
    variant: str = ""
    headers: tuple[str, ...] = ()
    call_id: str = "call_{number}"
    ignored_markers: tuple[str, ...] = ()
    ignored_at_start: tuple[str, ...] = ()
    content_markers: tuple[tuple[str, str], ...] = ()

    def __reduce__(self) -> tuple[Callable[..., ToolCallFormat], tuple[Any, ...]]:
        """A format of toolfmt's own is pickled by its name, any other by its parts: it need not be registered where it
        is loaded."""
        from toolfmt.formats.known import KNOWN
        from toolfmt.formats.registry import get

        if any(self is format for format in KNOWN):
            return get, (self.name,)
        parts = {part.name: getattr(self, part.name) for part in fields(self)}
        return partial(ToolCallFormat, **parts), ()

    @cached_property
    def reasoning_read(self) -> tuple[tuple[str, str], ...]:
        """The reasoning blocks that are parsed. `reasoning` are those that the format's models are known to write."""
        if not self.any_reasoning:
            return self.reasoning
        return tuple(dict.fromkeys((*self.reasoning, *COMMON)))

    @cached_property
    def markers(self) -> Markers:
        """What the parser looks for in outputs."""
        return markers_of(self)

    def runtime_parser(self, runtime: str) -> RuntimeParser | None:
        """Return the runtime's parser for the format, or None if it has none.

        Args:
            runtime: The name of the runtime.
        """
        parser = self.runtime_parsers.get(runtime)
        return RuntimeParser(parser) if isinstance(parser, str) else parser

    def in_calls(self, literal: str) -> bool:
        """Return whether calls contain this string, or it is part of one of their markers.

        An output does not end at such a string. It does end at a string that is only an end marker.

        Args:
            literal: A string, such as a stop string.
        """
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
        """Return the format as JSON data, which `toolfmt.format_from_file` reads from a file.

        Raises:
            BadFormat: Only code can express the format.
        """
        from toolfmt.formats.serialization.format_data import as_data

        return as_data(self)

    @property
    def writer(self) -> Engine:
        """The engine that writes the calls."""
        return self.variants[self.variant] if self.variant else self.engine

    def with_variant(self, variant: str) -> ToolCallFormat:
        """Return the format that writes calls in this variant.

        Args:
            variant: The name of a variant. An empty name is the engine itself.

        Raises:
            KeyError: The format has no variant of this name.
        """
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
