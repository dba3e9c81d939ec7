"""Run a template on a checked request: the interface of a render backend, and the one that runs in this process.

`toolfmt.render.prompt` checks a request, passes it to a `RenderBackend`, and returns the result. `InProcessBackend`
runs the template in this process, `toolfmt.model.jobs.WorkerBackend` in a worker with limits. Both call `make`, which
renders with the strategy of the template's profile and, if that loses something, describes the tools in the system
prompt. `RenderRequest` and `RenderResult` are plain data, so that they can be sent to another process.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal, ParamSpec, Protocol, TypeAlias, TypeVar

from toolfmt.errors import LimitHit, NotDelivered, TemplateError, ToolfmtError
from toolfmt.inspect.report.template_profile import Strategy, TemplateProfile
from toolfmt.render.adapt.control_tokens import markers_of
from toolfmt.render.adapt.remedies import CALLS_AS_CONTENT
from toolfmt.render.attempts import Attempt, Request
from toolfmt.render.budget import counter
from toolfmt.render.compiled_template import compiled
from toolfmt.render.request.messages import Message, calls_of, is_object, lists_tools, names_no_call
from toolfmt.render.response_start import left_open, prefill
from toolfmt.render.verify.delivery import Span
from toolfmt.templates import ModelFiles

StrategyChoice: TypeAlias = Literal["auto", "template", "prompt"]
_Given = ParamSpec("_Given")
_Returned = TypeVar("_Returned")

CALLER_LISTS_TOOLS = "caller-lists-tools"
"""The caller's system message describes the tools already: with this prompt they stand there twice."""
DEFAULT_FORMAT = "default-format"
"""Nothing tells the model's format; calls are taught and written in the most widely spoken one."""
TEMPLATE_DROPPED_TOOLS = "template-dropped-tools"
"""The template takes tools, but did not put them into this conversation's prompt; they went in as prose."""
TEMPLATE_LOSES_WITH_TOOLS = "template-loses-with-tools"
"""Given the tools, the template refuses this conversation or loses something of it; they went in as prose."""
REASONING_LEFT_OUT = "reasoning-left-out"
"""Reasoning of the conversation is not in the prompt: the template leaves it out."""
SWITCH_TAKEN_OUT = "switch-taken-out"
"""The template takes a switch such as `/no_think` out of a text, and goes by it."""
SYSTEM_MOVED = "system-message-moved"
"""The template writes the system message further behind, before the last question, as its model was trained."""
ARGUMENTS_NO_OBJECT = "arguments-no-object"
"""The arguments of a call are not a JSON object; the template writes their text as it is."""
RESULT_OF_NO_CALL = "result-of-no-call"
"""A result names a call by an id that no call before it has: which tool it is from the prompt cannot tell."""
TEXT_REPEATED = "text-repeated"
"""The template writes a text of the conversation, or the definition of a tool, more than once."""

WRITTEN_OTHERWISE = "written-otherwise"
"""For what a text says the template writes other words around the texts than around any other text."""


@dataclass(frozen=True)
class RenderRequest:
    """A request: `messages` that were checked, `tools` in canonical form, all that the template is given (`variables`,
    with the time it is shown and whether the prompt opens an answer), and how it is to be rendered. `continued` leaves
    the answer that stands last open."""

    messages: list[Message]
    tools: list[Message]
    variables: dict[str, Any]
    strategy: StrategyChoice = "auto"
    now: datetime | None = None
    lossy: bool = False
    continued: bool = False


@dataclass(frozen=True)
class RenderResult:
    """A prompt: its text, the way the tools went in (`in_words`: told in prose), what of the answer it begins, what
    ends an answer, what was changed, what is lost, and what the template was given."""

    text: str
    strategy: Strategy
    prefill: str
    stop: tuple[str, ...]
    adaptations: tuple[str, ...]
    lost: tuple[str, ...]
    in_words: bool
    calls_as_content: bool
    messages: list[Any] = field(repr=False)
    tools: list[Any] | None = field(repr=False)
    spans: tuple[Span, ...] = field(repr=False)


class RenderBackend(Protocol):
    """Where the template of a model is run."""

    def roles(self) -> Sequence[str]:
        """The roles that the templates in force test messages for; none where one of them could not be probed."""

    def markers(self) -> Sequence[str]:
        """The markers of the model (`toolfmt.render.adapt.control_tokens.markers_of`)."""

    def counter(self, tokenizer: Any) -> Callable[[str], int]:
        """How many tokens a text has (`toolfmt.render.budget.counter`)."""

    def make(self, asked: RenderRequest) -> RenderResult:
        """The prompt; raises what `make` raises."""


@dataclass(frozen=True)
class InProcessBackend:
    """A model whose template is run in this process."""

    files: ModelFiles
    profile: TemplateProfile

    def roles(self) -> Sequence[str]:
        return roles_of(self.files, self.profile)

    def markers(self) -> Sequence[str]:
        return markers_of(self.files, self.profile)

    def counter(self, tokenizer: Any) -> Callable[[str], int]:
        return counter(self.files, tokenizer)

    def make(self, asked: RenderRequest) -> RenderResult:
        return make(self.files, self.profile, asked)


def roles_of(files: ModelFiles, profile: TemplateProfile) -> tuple[str, ...]:
    """The roles that the templates in force test messages for, sorted; none where one of them could not be probed."""
    if profile.failure is not None or (profile.without_tools or profile).failure is not None:
        return ()
    sources = {source.text: source for source in (files.template(True), files.template(False)) if source is not None}
    return tuple(sorted({role for source in sources.values() for role in compiled(files, source).tested_roles}))


def shallow(function: Callable[_Given, _Returned]) -> Callable[_Given, _Returned]:
    """A request that is nested deeper than Python goes is bad input, wherever that is noticed."""

    @functools.wraps(function)
    def called(*args: _Given.args, **options: _Given.kwargs) -> _Returned:
        try:
            return function(*args, **options)
        except RecursionError:
            raise ToolfmtError("the request is nested too deeply to be rendered; give a flatter one") from None

    return called


@shallow
def make(files: ModelFiles, profile: TemplateProfile, asked: RenderRequest) -> RenderResult:
    """The prompt of a request; raises `ToolfmtError`, as `toolfmt.render.prompt.render` says."""
    variables = {"add_generation_prompt": True, "now": asked.now} | asked.variables
    request = Request(files, profile, asked.messages, asked.tools, variables, asked.lossy)
    way, made = _made(request, asked.strategy)
    made = _with_every_part(request, made, asked.strategy)
    text, begun = left_open(request, made) if asked.continued else (made.text, prefill(request, made))
    in_words = way == "prompt" and bool(request.tools)
    as_content = CALLS_AS_CONTENT in made.adaptations
    return RenderResult(
        text=text,
        strategy=way,
        prefill=begun,
        stop=made.profile.stop,
        adaptations=(*made.adaptations, *_to_be_known(request, made, guessed=as_content or in_words)),
        lost=made.delivery.lost,
        in_words=in_words,
        calls_as_content=as_content,
        messages=made.messages,
        tools=made.tools,
        spans=tuple(span for span in made.delivery.spans if span.end <= len(text)),
    )


def _made(request: Request, strategy: StrategyChoice) -> tuple[Strategy, Attempt]:
    """The prompt, and the way the tools went in: what the profile says, unless something is lost by it."""
    way: Strategy = request.profile.strategy if strategy == "auto" else strategy
    if way == "prompt":
        return way, request.as_prose()
    try:
        made = request.through_template()
    except (NotDelivered, TemplateError) as error:
        if isinstance(error, LimitHit) or not request.tools:
            raise
        if strategy == "template":
            raise
        with suppress(ToolfmtError):
            return "prompt", request.as_prose(TEMPLATE_LOSES_WITH_TOOLS)
        raise
    if not made.dropped and made.tools_lost and strategy == "auto":
        with suppress(ToolfmtError):
            return "prompt", request.as_prose(TEMPLATE_LOSES_WITH_TOOLS)
    if not made.dropped:
        return way, made
    if strategy == "template":
        raise ToolfmtError(
            f"{made.template.origin}: the template drops the tools ({', '.join(made.dropped)} not in the prompt); "
            "use the strategy auto or prompt"
        )
    return "prompt", request.as_prose(TEMPLATE_DROPPED_TOOLS)


def _with_every_part(request: Request, made: Attempt, strategy: StrategyChoice) -> Attempt:
    """Return the attempt with the lost parts of tools in `missing`. Raises `NotDelivered` unless `lossy` is set."""
    lost = made.tools_lost
    if lost and not request.lossy:
        tool, part = lost[0].split("): ", 1)
        other = "" if strategy == "auto" else "use --strategy auto, "
        raise NotDelivered(
            f"{tool}): {made.template.origin} does not show {part}; "
            f"{other}change the definition, or pass --lossy (lossy=True)"
        )
    return replace(made, delivery=replace(made.delivery, missing=(*made.delivery.missing, *lost))) if lost else made


def _to_be_known(request: Request, made: Attempt, *, guessed: bool) -> Iterator[str]:
    """The names of what is to be known about a prompt beside what was changed for it."""
    if guessed and not request.profile.format_shown:
        yield DEFAULT_FORMAT
    if lists_tools(request.messages, request.tools):
        yield CALLER_LISTS_TOOLS
    if any(not is_object(call) for message in made.messages for call in calls_of(message)):
        yield ARGUMENTS_NO_OBJECT
    if names_no_call(request.messages):
        yield RESULT_OF_NO_CALL
    if made.delivery.reasoning_left_out:
        yield REASONING_LEFT_OUT
    if made.delivery.repeated or made.delivery.tools_repeated:
        yield TEXT_REPEATED
    if made.delivery.system_moved:
        yield SYSTEM_MOVED
    if made.delivery.switch_taken_out:
        yield SWITCH_TAKEN_OUT
    if made.delivery.written_otherwise:
        yield WRITTEN_OTHERWISE
