"""The record of a tool-call format: one value that contains everything about the format.

Everything else (the registry, inference, the guarantees, fuzzing, benchmarks) is driven by this record and names no
format. The engine parses and writes calls; a format only provides its markers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from toolfmt.formats.engines.engine import Engine, NameAtStart
from toolfmt.formats.markers import Markers, markers_of
from toolfmt.formats.runtime_parsers import RuntimeParser
from toolfmt.formats.values.layout import Call

THINK = ("<think>", "</think>")

_DOUBAO = "think_never_used_51bce0c785ca2f68081bfa7d91973934"

COMMON_REASONING = (
    THINK,
    ("<thinking>", "</thinking>"),
    ("[THINK]", "[/THINK]"),
    ("<|think|>", "<|/think|>"),
    ("<seed:think>", "</seed:think>"),
    (f"<{_DOUBAO}>", f"</{_DOUBAO}>"),
    ("<mm:think>", "</mm:think>"),
    ("<longcat_think>", "</longcat_think>"),
    ("<think:opensource>", "</think:opensource>"),
    ("◁think▷", "◁/think▷"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<|inner_prefix|>", "<|inner_suffix|>"),
    ("<SPECIAL_69>", "<SPECIAL_70>"),
    ("[unused16]", "[unused17]"),
    ("<|start_think|>", "<|end_think|>"),
    ("<|thought_start|>", "<|thought_end|>"),
    ("<|think:start|>", "<|think:end|>"),
    ("<ifm|think>", "</ifm|think>"),
    ("<ifm|think_fast>", "</ifm|think_fast>"),
    ("<ifm|think_faster>", "</ifm|think_faster>"),
)
"""Common start and end markers of reasoning blocks, for the outputs of an unknown model.

All but two pairs are also in the record of a format; a test checks that none of those is missing here. Pairs that are
ambiguous outside of their own family are left out: headers of messages, ordinary text, and end markers that also end
something else.
"""

DERIVED = "derived"
"""The name of every format that was derived from a template. Derived formats differ, so it identifies none of them."""


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

    @cached_property
    def reasoning_read(self) -> tuple[tuple[str, str], ...]:
        """The reasoning blocks that are parsed. `reasoning` are those that the format's models are known to write."""
        if not self.any_reasoning:
            return self.reasoning
        return tuple(dict.fromkeys((*self.reasoning, *COMMON_REASONING)))

    @cached_property
    def markers(self) -> Markers:
        """The literals that the parser searches outputs for."""
        return markers_of(
            self.engine,
            reasoning_read=self.reasoning_read,
            between=self.between,
            ignored_markers=self.ignored_markers,
            ignored_at_start=self.ignored_at_start,
            content_markers=self.content_markers,
        )

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
        if variant == self.variant:
            return self
        if variant and variant not in self.variants:
            raise KeyError(variant)
        other = replace(self, variant=variant)
        vars(other)["markers"] = self.markers  # it parses the same, so a parser need not prepare its literals again
        return other

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
