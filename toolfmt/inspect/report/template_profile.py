"""What rendering needs to know about a template, detected by probes: data, created by `toolfmt.inspect.profiling`.

A profile does not need any section of a report. The report contains it, and the renderer loads it with the model's
files.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias

from toolfmt.errors import BadFormat
from toolfmt.formats.format import ToolCallFormat
from toolfmt.formats.registry import get, has_variant
from toolfmt.formats.serialization.format_data import from_text
from toolfmt.inspect.report.turn_shape import TurnShape

Strategy: TypeAlias = Literal["template", "prompt"]


_MOST_KEPT = 32
"""Maximum number of derived formats that a process caches."""


@lru_cache(_MOST_KEPT)
def stored(text: str) -> ToolCallFormat:
    """Return the derived format with this text. Raise `BadFormat` if it is invalid."""
    return from_text(text, "a derived format")


def is_format(text: str, name: str | None) -> bool:
    """Return whether this is the text of a format with this name."""
    try:
        return stored(text).name == name
    except BadFormat:
        return False


@dataclass(frozen=True)
class Failure:
    """Why a template is not rendered: it does not compile, or it hit the limit `limit`.

    `line` is the line of the template, which is not in the message.
    """

    message: str
    line: int | None = None
    limit: str = ""


@dataclass(frozen=True)
class TemplateProfile:
    """The template that is used if tools are passed.

    `arguments_form` is the form of a call's arguments that renders correctly, `shape` the whole shape of such a turn
    (None if no call is rendered). `reasoning` are the markers around a turn's reasoning, `stop` what ends a response,
    `prefill` the part of the response that the generation prompt contains.
    """

    sha256: str = ""
    """The hash of the template's text; empty without a template."""
    variables: tuple[str, ...] = ()
    """The variables that the template reads."""
    failure: Failure | None = None
    format: str | None = None
    """The tool-call format, or None if unknown."""
    variant: str = ""
    """The variant of the format that the template renders calls in; empty for the format itself."""
    derived: str = ""
    """The serialized format if it was derived from the template; empty for one of the registry."""
    format_shown: bool = False
    """Whether any evidence identifies the format; False if it is the default, or None."""
    why_no_format: str = ""
    """Evidence about the format if it is unknown, as a phrase."""
    takes_tools: bool = False
    takes_system: bool = False
    takes_results: bool = False
    takes_parallel_calls: bool = False
    takes_content_null: bool = False
    """Whether a turn with a call and `content: null` is rendered."""
    takes_content_empty: bool = False
    takes_arguments_object: bool = False
    takes_arguments_string: bool = False
    arguments_form: Literal["object", "string"] = "object"
    shape: TurnShape | None = None
    reasoning: tuple[str, str] | None = None
    stop: tuple[str, ...] = ()
    stop_of_calls: tuple[str, ...] = ()
    """Those of `stop` that only end calls, not text responses."""
    prefill: str = ""
    markers: tuple[str, ...] = ()
    """The markers that the template writes around turns, calls and results."""
    ids: Literal["", "nine", "function"] = ""
    """The required form of call ids; empty if ids as clients send them work."""
    results: Literal["string", "parts"] = "string"
    """The form of a result's content that is rendered completely."""
    results_in_order: bool = False
    """Whether results are matched to calls only by position and have to be in the order of the calls."""
    results_named: bool = False
    """Whether a result needs the tool's name in addition to the id of its call."""
    parts: bool = True
    """Whether content given as a list of parts is rendered as its text."""
    result_parts: bool = True
    """The same for a result's content."""
    result_documents: bool = True
    """Whether documents in a result's content are rendered."""
    empty_calls: bool = True
    """Whether a response with null or an empty list as `tool_calls` is rendered like one without."""
    reasoning_name: str = ""
    """The field that has to contain the reasoning of a message; empty if a usual one works."""
    reasoning_parts: bool = False
    """Whether reasoning is only rendered as a part of the content with type thinking."""
    text_with_call: bool = True
    """Whether text next to a call is rendered, and the call with it."""
    without_tools: TemplateProfile | None = None
    """The profile of the template that is used without tools; None if it is the same template."""

    @property
    def has_known_format(self) -> bool:
        """Whether the format and the variant exist: a loaded profile may name any."""
        known = self.format is None or has_variant(self.format, self.variant)
        if self.derived:
            known = is_format(self.derived, self.format)
        return known and (self.without_tools is None or self.without_tools.has_known_format)

    @property
    def tool_call_format(self) -> ToolCallFormat | None:
        """The format that outputs are parsed in, or None if unknown."""
        if self.derived:
            return stored(self.derived)
        return None if self.format is None else get(self.format)

    @property
    def strategy(self) -> Strategy:
        """How tools get into a prompt: by the template if it renders them."""
        return "template" if self.takes_tools else "prompt"
