"""What rendering needs to know about a template, as probing it has shown: data, made by `toolfmt.inspect.profiling`.

A profile needs no chapter of a report; the report holds it, and the renderer takes it with the model's files.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias

from toolfmt.errors import BadFormat
from toolfmt.formats.format import ToolCallFormat
from toolfmt.formats.registry import get, has_variant
from toolfmt.formats.stored import from_text
from toolfmt.inspect.report.turn_shape import TurnShape

Strategy: TypeAlias = Literal["template", "prompt"]


_MOST_KEPT = 32
"""Derived formats that a process keeps."""


@lru_cache(_MOST_KEPT)
def stored(text: str) -> ToolCallFormat:
    """The derived format of which this is the text; raises `BadFormat`."""
    return from_text(text, "a derived format")


def is_format(text: str, name: str | None) -> bool:
    """Whether this is the text of a format of this name."""
    try:
        return stored(text).name == name
    except BadFormat:
        return False


@dataclass(frozen=True)
class Failure:
    """Why a template is not rendered: it does not compile, or it took more than it is given of `limit`. `line` is the
    line of the template, which the message does not tell.
    """

    message: str
    line: int | None = None
    limit: str = ""


@dataclass(frozen=True)
class TemplateProfile:
    """The template in force if tools are given.

    `arguments_form` is the form of a call's arguments that comes out right, `shape` the whole shape of the turn that
    does (None where no call is rendered). `reasoning` is what stands around a turn's reasoning, `stop` what ends
    an answer, `prefill` what of the answer the generation prompt already holds.
    """

    sha256: str = ""
    """That of the template's text; empty where there is no template."""
    variables: tuple[str, ...] = ()
    """What the template reads from its caller."""
    failure: Failure | None = None
    format: str | None = None
    """The tool-call format; None where it is not known."""
    variant: str = ""
    """The variant of the format that the template renders calls in; empty for the format itself."""
    derived: str = ""
    """The format itself, as text, where it is one that was derived from the template; empty for one of the registry."""
    format_shown: bool = False
    """Whether anything about this model tells its format; False where it is the one that most models speak, or none."""
    why_no_format: str = ""
    """What speaks about the format where it is not known, in a few words."""
    takes_tools: bool = False
    takes_system: bool = False
    takes_results: bool = False
    takes_parallel_calls: bool = False
    takes_content_null: bool = False
    """Whether a call's turn with `content: null` comes out."""
    takes_content_empty: bool = False
    takes_arguments_object: bool = False
    takes_arguments_string: bool = False
    arguments_form: Literal["object", "string"] = "object"
    shape: TurnShape | None = None
    reasoning: tuple[str, str] | None = None
    stop: tuple[str, ...] = ()
    stop_of_calls: tuple[str, ...] = ()
    """Those of `stop` that end calls alone: an answer in words ends otherwise."""
    prefill: str = ""
    markers: tuple[str, ...] = ()
    """The marks that the template writes around turns, calls and results."""
    ids: Literal["", "nine", "function"] = ""
    """The form that ids of calls have to be written in; empty where ids as clients send them come out right."""
    results: Literal["string", "parts"] = "string"
    """The form of a result's content that comes out whole."""
    results_in_order: bool = False
    """Whether a result belongs to its call by its place alone, so that results have to stand in the order of calls."""
    results_named: bool = False
    """Whether a result needs the tool's name beside the id of its call."""
    parts: bool = True
    """Whether content given as a list of parts comes out as its text."""
    result_parts: bool = True
    """The same of a result's content."""
    result_documents: bool = True
    """Whether documents in a result's content come out."""
    empty_calls: bool = True
    """Whether a response with null or an empty list as `tool_calls` comes out as one without."""
    reasoning_name: str = ""
    """The name under which a message has to hold its reasoning; empty where one of the usual ones will do."""
    reasoning_parts: bool = False
    """Whether reasoning comes out only as a part of the content, of the type thinking."""
    text_beside_call: bool = True
    """Whether text next to a call comes out, where the call does with any text beside it."""
    without_tools: TemplateProfile | None = None
    """The profile of the template in force where no tools are given; None where that is the same one."""

    @property
    def has_known_format(self) -> bool:
        """Whether the format and the variant that it names are there: a profile that was read may name any."""
        known = self.format is None or has_variant(self.format, self.variant)
        if self.derived:
            known = is_format(self.derived, self.format)
        return known and (self.without_tools is None or self.without_tools.has_known_format)

    @property
    def tool_call_format(self) -> ToolCallFormat | None:
        """The format that answers are read in; None where it is not known."""
        if self.derived:
            return stored(self.derived)
        return None if self.format is None else get(self.format)

    @property
    def strategy(self) -> Strategy:
        """How tools go into a prompt: through the template where that puts them there."""
        return "template" if self.takes_tools else "prompt"
