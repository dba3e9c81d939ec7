"""Run a template on a checked request: the render backend interface, and the backend for this process.

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
from toolfmt.render.request.messages import INSTRUCTING, Message, calls_of, is_object, lists_tools, names_no_call
from toolfmt.render.response_start import left_open, prefill
from toolfmt.render.verify.delivery import Span
from toolfmt.templates import ModelFiles

StrategyChoice: TypeAlias = Literal["auto", "template", "prompt"]
_Given = ParamSpec("_Given")
_Returned = TypeVar("_Returned")

CALLER_LISTS_TOOLS = "caller-lists-tools"
"""The caller's system message already describes the tools, so this prompt contains them twice."""
DEFAULT_FORMAT = "default-format"
"""The model's format is unknown; calls use the most common format."""
TEMPLATE_DROPPED_TOOLS = "template-dropped-tools"
"""The template supports tools but did not show them in this prompt; the system prompt describes them instead."""
TEMPLATE_LOSES_WITH_TOOLS = "template-loses-with-tools"
"""With tools, the template rejects this conversation or loses part of it; the system prompt describes them instead."""
REASONING_LEFT_OUT = "reasoning-left-out"
"""The template leaves out reasoning of the conversation."""
SWITCH_TAKEN_OUT = "switch-taken-out"
"""The template removes a switch such as `/no_think` from a string, and obeys it."""
SYSTEM_MOVED = "system-message-moved"
"""The template writes the system message later, before the last user message, as its model was trained."""
ARGUMENTS_NO_OBJECT = "arguments-no-object"
"""The arguments of a call are not a JSON object; the template writes them unchanged."""
RESULT_OF_NO_CALL = "result-of-no-call"
"""A result has an id that no earlier call has, so the prompt does not show which tool it belongs to."""
TEXT_REPEATED = "text-repeated"
"""The template writes a string of the conversation or a tool definition more than once."""

WRITTEN_DIFFERENTLY = "written-otherwise"
"""The template writes different text around the request's texts because of what they contain."""


@dataclass(frozen=True)
class RenderRequest:
    """A render request as plain data.

    `messages` are checked and `tools` are canonical. `variables` is everything else that the template gets, with the
    current time and whether to add a generation prompt. With `continued`, the last assistant message stays open.
    """

    messages: list[Message]
    tools: list[Message]
    variables: dict[str, Any]
    strategy: StrategyChoice = "auto"
    now: datetime | None = None
    lossy: bool = False
    continued: bool = False


@dataclass(frozen=True)
class RenderResult:
    """A rendered prompt as plain data.

    It has the text, how the tools were passed (`in_words`: described in the system prompt), the prefill, the stop
    strings, the adaptations, what is lost, and what the template got.
    """

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
    """Where a model's template runs."""

    def roles(self) -> Sequence[str]:
        """Return the roles that the templates in force compare messages with. Empty if one could not be probed."""

    def markers(self) -> Sequence[str]:
        """Return the markers of the model (`toolfmt.render.adapt.control_tokens.markers_of`)."""

    def counter(self, tokenizer: Any) -> Callable[[str], int]:
        """Return a function that counts tokens (`toolfmt.render.budget.counter`)."""

    def make(self, render_request: RenderRequest) -> RenderResult:
        """Return the prompt. Raises what the function `make` raises."""


@dataclass(frozen=True)
class InProcessBackend:
    """Runs a model's template in this process."""

    files: ModelFiles
    profile: TemplateProfile

    def roles(self) -> Sequence[str]:
        return roles_of(self.files, self.profile)

    def markers(self) -> Sequence[str]:
        return markers_of(self.files, self.profile)

    def counter(self, tokenizer: Any) -> Callable[[str], int]:
        return counter(self.files, tokenizer)

    def make(self, render_request: RenderRequest) -> RenderResult:
        return make(self.files, self.profile, render_request)


def roles_of(files: ModelFiles, profile: TemplateProfile) -> tuple[str, ...]:
    """Return the sorted roles that the templates in force compare messages with. Empty if one could not be probed."""
    if profile.failure is not None or (profile.without_tools or profile).failure is not None:
        return ()
    sources = {source.text: source for source in (files.template(True), files.template(False)) if source is not None}
    return tuple(sorted({role for source in sources.values() for role in compiled(files, source).tested_roles}))


def shallow(function: Callable[_Given, _Returned]) -> Callable[_Given, _Returned]:
    """Report a request that exceeds Python's recursion limit as invalid input, wherever that is noticed."""

    @functools.wraps(function)
    def called(*args: _Given.args, **options: _Given.kwargs) -> _Returned:
        try:
            return function(*args, **options)
        except RecursionError:
            raise ToolfmtError("the request is nested too deeply to be rendered; give a flatter one") from None

    return called


@shallow
def make(files: ModelFiles, profile: TemplateProfile, render_request: RenderRequest) -> RenderResult:
    """Return the prompt of a request. Raises the same `ToolfmtError`s as `toolfmt.render.prompt.render`."""
    variables = {"add_generation_prompt": True, "now": render_request.now} | render_request.variables
    request = Request(files, profile, render_request.messages, render_request.tools, variables, render_request.lossy)
    way, made = _made(request, render_request.strategy)
    made = _with_every_part(request, made, render_request.strategy)
    text, prefix = left_open(request, made) if render_request.continued else (made.text, prefill(request, made))
    in_words = way == "prompt" and bool(request.tools)
    as_content = CALLS_AS_CONTENT in made.adaptations
    return RenderResult(
        text=text,
        strategy=way,
        prefill=prefix,
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
    """Return the prompt and how the tools were passed: as the profile requires, unless that loses something."""
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
        way_out = "add a system message" if _shown_with_system_message(request) else "use the strategy auto or prompt"
        raise ToolfmtError(
            f"{made.template.origin}: the template drops the tools ({', '.join(made.dropped)} not in the prompt); "
            f"{way_out}"
        )
    try:
        return "prompt", request.as_prose(TEMPLATE_DROPPED_TOOLS)
    except LimitHit:
        raise
    except ToolfmtError:
        if made.tools_lost and (request.lossy or _shown_with_system_message(request)):
            return way, made
        raise


def _shown_with_system_message(request: Request) -> bool:
    """Return whether the template shows all tools if a system message is added to the request."""
    if request.messages[0]["role"] in INSTRUCTING:
        return False
    instructed: Message = {"role": "system", "content": "Be brief."}
    try:
        made = replace(request, messages=[instructed, *request.messages], lossy=False).through_template()
    except ToolfmtError:
        return False
    return not made.dropped and not made.tools_lost


def _with_every_part(request: Request, made: Attempt, strategy: StrategyChoice) -> Attempt:
    """Return the attempt with the lost parts of tools in `missing`. Raises `NotDelivered` unless `lossy` is set."""
    lost = made.tools_lost
    if lost and not request.lossy:
        tool, part = lost[0].split("): ", 1)
        way_out = "" if strategy == "auto" else "use --strategy auto, "
        if made.tools and _shown_with_system_message(request):
            part += " without a system message"
            way_out = "add one"
        else:
            way_out += "change the definition"
        raise NotDelivered(
            f"{tool}): {made.template.origin} does not show {part}; {way_out}, or pass --lossy (lossy=True)"
        )
    return replace(made, delivery=replace(made.delivery, missing=(*made.delivery.missing, *lost))) if lost else made


def _to_be_known(request: Request, made: Attempt, *, guessed: bool) -> Iterator[str]:
    """Yield the names of notes about a prompt that are not adaptations."""
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
    if made.delivery.written_differently:
        yield WRITTEN_DIFFERENTLY
