"""The literals that the driver searches for in the outputs of a format, computed once per format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

from toolfmt.formats.engines.engine import Engine, Inner
from toolfmt.formats.scanner.literals import Literals, literals
from toolfmt.formats.scanner.scanner import BLANK_LINES

CODE = "```"
FENCES = (CODE, "````", "`````", "~~~", "~~~~")
"""Code fences, at the start of a line. A fence ends at the same character, repeated at least as often."""
TURN_ENDS = (
    "<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|eot|>", "<|eom|>", "<|EOT|>", "<|end|>", "<|return|>", "<|call|>",
    "<|endoftext|>", "<|end_of_text|>", "<end_of_turn>", "<|end_of_turn|>", "<|endofturn|>", "[|endofturn|]", "<turn|>",
    "</s>", "<eos>", "<|eos|>", "<seed:eos>", "<_end>", "[e~[", "</longcat_s>", "<|stop|>", "<|flush|>", "<|role_end|>",
    "<|assistant_end|>", "<|END_OF_TURN_TOKEN|>", "<|end_of_msg|>", "<|im_msg_end|>", "<|end_of_sentence|>",
    "<｜end▁of▁sentence｜>", "<|user|>", "<|observation|>", "<end_of_sentence>", "<SPECIAL_12>", "<SPECIAL_68>",
    "<｜hy_eos｜>", "<｜hy_eos:opensource｜>", "<｜hy_place▁holder▁no▁2｜>", "</assistant>", "<|im:end|>", "<sep>",
    "<start_function_response>", "<|ifm|im_end|>", "<|iquest_end|>", "<|message_end|>", "[unused10]",
)  # fmt: skip
"""Tokens that end a model's turn, from chat templates and tokenizer configurations. Some runtimes return them as text.
They are trailing markers in every format: fine-tuned models and runtimes mix families."""
_INDENTS = ("", " ", "  ", "   ", "    ", "\t")
_CONTROL = 3
"""Minimum length of a literal that is a marker, not a bracket."""


@dataclass(frozen=True, slots=True, eq=False)
class Markers:
    """The literals of a format, by purpose."""

    reasoning: Mapping[str, tuple[str, ...]]
    """Start markers of reasoning blocks, each with its end markers."""
    ignored_markers: frozenset[str]
    """Markers without a meaning, anywhere outside of calls."""
    ignored_at_start: frozenset[str]
    """Text without a meaning at the start of an output."""
    content_markers: Mapping[str, str]
    """Start markers of the part for the user, each with its end marker."""
    start_only_openers: tuple[str, ...]
    name_at_start: bool
    """Whether an output may start with the name of a call."""
    framing: frozenset[str]
    """Start markers of frames of calls."""
    calls: frozenset[str]
    """Everything that a call starts with, with or without a frame."""
    frame_closers: frozenset[str]
    ends: tuple[str, ...]
    """Markers of which a truncated output may show only the beginning after a call."""
    inner: Inner
    at_start: Literals
    """Searched for at the start of the output, and directly after a call or a reasoning block."""
    between: frozenset[str]
    """Start markers of reasoning blocks and of messages that may follow content."""
    messages: tuple[str, ...]
    """Literals that start another message inside a reasoning block without an end marker."""
    in_content: Literals
    """Searched for in content. `opener_in` maps those that are more than a start marker to the marker in them."""
    opener_in: Mapping[str, str]
    ambiguous_starts: frozenset[str]
    """Keys of `opener_in` that start a call without a frame but are common in programs: brackets, a plain word."""
    output_literals: frozenset[str]
    """All literals of the format that occur in outputs."""
    reasoning_closers: frozenset[str]
    meaningless: Literals
    """Literals without a meaning between the end of a reasoning block and the end of the output."""
    trailing_markers: Literals
    """Literals without a meaning directly after a call, if nothing else is on their line."""
    repeated_ends: frozenset[str]
    """Trailing markers that are end markers. They have no meaning, whatever follows on the line."""
    call_starts: Literals
    """Start markers of a single call inside a frame."""
    call_evidence: Literals
    """Literals that only calls contain, after the start marker of their frame; and literals that end the search."""
    resume_at: Literals
    """Literals at which parsing may resume after an invalid call."""
    output_starts: frozenset[str]
    """Literals at the end of a prompt that belong to the output, not to the header before it."""


def markers_of(
    engine: Engine,
    *,
    reasoning_read: tuple[tuple[str, str], ...],
    between: tuple[str, ...],
    ignored_markers: tuple[str, ...],
    ignored_at_start: tuple[str, ...],
    content_markers: tuple[tuple[str, str], ...],
) -> Markers:
    """Return the markers of a format with this engine. The other arguments are the `ToolCallFormat` attributes of the
    same names.
    """
    openers, unframed, start_only = engine.openers, engine.unframed_openers, engine.start_only_openers
    inner = engine.inner
    reasoning: dict[str, tuple[str, ...]] = {}
    for opener, closer in reasoning_read:
        reasoning[opener] = (*reasoning.get(opener, ()), closer)
    closers = tuple(closer for _, closer in reasoning_read)
    ignored_at_start = (*closers, *ignored_at_start)
    marks = (*openers, *ignored_markers)
    of_content = tuple(mark for pair in content_markers for mark in pair)
    in_line = (*unframed, *(mark for mark in marks if mark.startswith(unframed or "\0")))
    opener_in = {"\n" + mark: mark for mark in in_line}
    ends = {*engine.closers, *inner.closers}
    repeated_ends = frozenset(mark for mark in engine.trailing_markers if mark in ends or mark.startswith("</"))
    opener_in |= {"\n" + mark: mark for mark in repeated_ends}
    # A single bracket ends a frame, but in an invalid call it does not show where the frame ends.
    frame_closers = tuple("}]" if closer == "]" else closer for closer in engine.closers)
    messages = ignored_markers if start_only else ()
    call_markers = [mark for mark in (*inner.openers, *inner.closers, *engine.closers) if len(mark) >= _CONTROL]
    return Markers(
        reasoning=reasoning,
        ignored_markers=frozenset(ignored_markers),
        ignored_at_start=frozenset(ignored_at_start),
        content_markers=dict(content_markers),
        start_only_openers=start_only,
        name_at_start=engine.name_at_start != "never",
        framing=frozenset((*openers, *start_only)),
        calls=frozenset((*openers, *start_only, *unframed)),
        frame_closers=frozenset(frame_closers),
        ends=(*engine.closers, *inner.closers, *inner.skipped, *inner.openers, *openers, CODE),
        inner=inner,
        at_start=literals(*marks, *start_only, *unframed, *reasoning, *ignored_at_start, *of_content),
        between=frozenset(between),
        messages=tuple(" " + mark for mark in start_only if mark not in openers),
        in_content=literals(*marks, *opener_in, *between),
        opener_in=opener_in,
        ambiguous_starts=frozenset("\n" + mark for mark in unframed if "<" not in mark and mark != CODE),
        output_literals=frozenset(
            (*marks, *unframed, *engine.closers, *inner.openers, *inner.closers, *reasoning, *closers)
        ),
        reasoning_closers=frozenset(closers),
        trailing_markers=literals(*engine.trailing_markers, *TURN_ENDS),
        repeated_ends=repeated_ends,
        meaningless=literals(*ignored_markers, *closers, *TURN_ENDS),
        call_starts=literals(*inner.openers),
        call_evidence=literals(*call_markers, *openers, *BLANK_LINES),
        resume_at=literals(*frame_closers, *openers, *inner.openers, *inner.closers, *(messages or BLANK_LINES)),
        output_starts=frozenset(mark.strip() for mark in (*marks, *reasoning)),
    )


class ScanTargets:
    """The literals that the driver searches for in the outputs of a format. Each set is made at its first use."""

    def __init__(self, marks: Markers) -> None:
        self._marks = marks
        self.calls = self.starts = marks.calls
        """Everything that a call starts with. `starts` also includes what is excluded because it is not a token."""

    @cached_property
    def at_start(self) -> Literals:
        return literals(*self._marks.at_start.literals, *FENCES)

    @cached_property
    def in_content(self) -> Literals:
        return literals(*self._marks.in_content.literals, *self._fences, *self._fence_openers)

    @cached_property
    def at_fence(self) -> Literals:
        """As `in_content`, on the line that starts a code fence. A call without a frame may directly follow it."""
        content = self._plain if CODE in self.calls else self._marks.in_content.literals
        return literals(*content, *self._fences, *self._fence_openers, "\n")

    @cached_property
    def in_program(self) -> Literals:
        """As `in_content`, inside a code fence."""
        return literals(*self._plain, *self._fences, *self._fence_openers)

    @cached_property
    def call_starts(self) -> Literals:
        """The literals of `calls`."""
        return literals(*self.calls)

    @cached_property
    def opener_in(self) -> Mapping[str, str]:
        return {**self._marks.opener_in, **self._fences}

    @property
    def _plain(self) -> frozenset[str]:
        return self._marks.in_content.literals - self._marks.ambiguous_starts

    @property
    def _fence_openers(self) -> frozenset[str]:
        return frozenset((*FENCES, *(mark for mark in self._marks.calls if mark.startswith(CODE))))

    @property
    def _fences(self) -> dict[str, str]:
        """Code fences by the text that is searched for: with the line break and the indent before them."""
        return {"\n" + indent + fence: fence for fence in self._fence_openers for indent in _INDENTS}


@lru_cache(maxsize=64)
def scan_targets(marks: Markers) -> ScanTargets:
    """Return the literals to search for in an output, from a cache."""
    return ScanTargets(marks)
