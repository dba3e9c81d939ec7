"""A request rendered: through the model's own template or with the tools in prose, never both.

`Model.render` calls `render`. What decides is evidence: the profile chooses the strategy and the adaptations,
and a check on the finished prompt proves that the tools stand in it by one way. The same request gives the same bytes.
Bad input raises a `ToolfmtError` of one line; no file is read and no clock is asked here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any, Literal, get_args

from toolfmt.errors import OF_THE_PROCESS, BadModelDirectory, TemplateError, ToolfmtError
from toolfmt.formats import Parser, ToolCallFormat, default_format, get, prose
from toolfmt.formats.prefix import answer_prefix
from toolfmt.formats.registry import resolved
from toolfmt.inspect.probe.conversations import REPLY
from toolfmt.inspect.probe.differences import common_prefix
from toolfmt.inspect.template_profile import Strategy, TemplateProfile
from toolfmt.render.adaptations import CALLS_AS_CONTENT, adapt, remedies, writes_calls
from toolfmt.render.delivery import check_prose, check_template, dropped
from toolfmt.render.messages import Message, checked_messages, lists_tools
from toolfmt.templates import ChatTemplate, ModelFiles, TemplateSource
from toolfmt.tools import canonical_tools

StrategyChoice = Literal["auto", "template", "prose"]

CALLER_LISTS_TOOLS = "caller-lists-tools"
"""The caller's system message describes the tools already: with this prompt they stand there twice."""
DEFAULT_FORMAT = "default-format"
"""Nothing tells the model's format; calls are taught and written in the most widely spoken one."""
TOOL_USE_TEMPLATE = "tool-use-template-without-tools"
"""No tools are given and only a template for requests with tools is there; that one was rendered without them."""
TEMPLATE_DROPPED_TOOLS = "template-dropped-tools"
"""The template takes tools, but did not put them into this conversation's prompt; they went in as prose."""

_PLACEHOLDER = "Xq5placeholder"
"""A word that no template holds, in the place of the prose."""
_MOST_COMPILED = 16
"""So many templates stay compiled: to compile one takes a hundred times as long as to render it."""
_LONGEST_HEADER = 200
"""More characters than any header of an assistant's turn has."""


@dataclass(frozen=True)
class Prompt:
    """A finished prompt.

    `strategy` is how the tools went in, `format` what calls are written and read in (None where no format is
    known), `prefill` what of the answer stands in the prompt already, `stop` the strings that end an answer,
    `adaptations` the names of what was changed so that the template takes the conversation
    (`toolfmt.render.adaptations` lists them) or is to be known about it (the names above), `tools` the tools as
    rendered.
    """

    text: str
    strategy: Strategy
    format: str | None
    prefill: str = ""
    stop: tuple[str, ...] = ()
    adaptations: tuple[str, ...] = ()
    tools: list[dict[str, Any]] | None = None

    def parser(
        self,
        *,
        format: str | ToolCallFormat | None = None,
        strict: bool = False,
        reasoning: Literal["events", "text"] = "events",
    ) -> Parser:
        """A parser for the answer to this prompt: it knows the format, the tools, and what the prompt began.

        The answer ends at a stop string of the prompt, but for those that calls of the format are written with.
        `format` is for a model whose format is not known; `strict` and `reasoning` are `Parser`'s. Raises
        `ToolfmtError` where no format is known or given.
        """
        chosen = format or self.format
        if chosen is None:
            raise ToolfmtError("no format is known for this model; give one: parser(format=...)")
        known = resolved(chosen)
        stop = [literal for literal in self.stop if not known.in_calls(literal)]
        return Parser(known, tools=self.tools, prefix=self.prefill, strict=strict, stop=stop, reasoning=reasoning)

    def to_dict(self) -> dict[str, Any]:
        return {
            "text": self.text,
            "strategy": self.strategy,
            "format": self.format,
            "prefill": self.prefill,
            "stop": list(self.stop),
            "adaptations": list(self.adaptations),
        }


def render(
    files: ModelFiles,
    profile: TemplateProfile,
    messages: object,
    tools: object = None,
    strategy: StrategyChoice = "auto",
    *,
    now: datetime | None = None,
    add_generation_prompt: bool = True,
    **variables: Any,
) -> Prompt:
    """The prompt for these messages.

    Takes the model's files and the profile of their templates. `tools` are definitions in either shape, `now` the time
    that the template's clock shows, other keywords variables that the template reads. An empty list of tools is
    rendered like none. Raises `BadMessages`, `BadTools`, `BadModelDirectory` without a template, `TemplateError` where
    the template refuses or fails, and `ToolfmtError` for a variable that the template does not read, and where the
    strategy `template` is forced on a template that drops the tools.
    """
    if strategy not in get_args(StrategyChoice):
        raise ToolfmtError(f"no strategy is called {strategy!r}; strategies: {', '.join(get_args(StrategyChoice))}")
    given = None if tools is None else canonical_tools(tools)
    _check_variables(variables, [profile, profile.without_tools or profile])
    request = _Request(
        files=files,
        profile=profile,
        messages=checked_messages(messages),
        tools=given or [],
        variables={"add_generation_prompt": add_generation_prompt, "now": now, **variables},
    )
    way: Strategy = profile.strategy if strategy == "auto" else strategy
    made = request.through_template() if way == "template" else request.as_prose()
    if made.dropped:
        if strategy == "template":
            raise ToolfmtError(
                f"{made.template.origin}: the template drops the tools ({', '.join(made.dropped)} not in the prompt); "
                "use the strategy auto or prose"
            )
        way, made = "prose", request.as_prose(TEMPLATE_DROPPED_TOOLS)
    written = CALLS_AS_CONTENT in made.adaptations or (way == "prose" and bool(request.tools))
    guessed = [DEFAULT_FORMAT] if written and not profile.format_shown else []
    listed = [CALLER_LISTS_TOOLS] if lists_tools(request.messages, request.tools) else []
    return Prompt(
        text=made.text,
        strategy=way,
        format=spoken_format(profile).name if written or way == "prose" else profile.format,
        prefill=request.prefill(made),
        stop=made.profile.stop,
        adaptations=(*made.adaptations, *guessed, *listed),
        tools=given,
    )


def _check_variables(given: Mapping[str, Any], profiles: Sequence[TemplateProfile]) -> None:
    """A variable that nothing reads is a mistake of the caller's: the prompt is the same without it."""
    read = {name for profile in profiles for name in profile.variables}
    unread = [name for name in given if name not in read]
    if unread and all(profile.sha256 and profile.failure is None for profile in profiles):
        own = sorted(read - {"messages", "tools", "add_generation_prompt"})
        raise ToolfmtError(
            f"the template reads no variable {unread[0]!r}; leave it out"
            + (f", or give one that it reads: {', '.join(own)}" if own else "")
        )


@dataclass(frozen=True)
class _RenderedPrompt:
    """A rendered conversation: the text, what it was rendered from, and what the template made of the tools."""

    text: str
    template: ChatTemplate
    profile: TemplateProfile
    messages: list[Message]
    tools: list[Message] | None
    adaptations: tuple[str, ...]
    dropped: Sequence[str] = ()
    """The tools that the template was given and did not put into the prompt."""


@dataclass(frozen=True)
class _Request:
    """What is to be rendered; checked and canonical."""

    files: ModelFiles
    profile: TemplateProfile
    messages: list[Message]
    tools: list[Message]
    variables: Mapping[str, Any]

    def through_template(self) -> _RenderedPrompt:
        """The template is given the tools; no prose is added."""
        template, profile, named = self._template(with_tools=bool(self.tools))
        tools = self.tools or None
        calls_in = None if writes_calls(profile) else spoken_format(self.profile)
        messages, done = adapt(self.messages, profile, calls_in=calls_in, tools=tools)
        messages, done, text = self._accepted(template, messages, done, tools)
        if _system_lost(messages, text):
            kept, moved = adapt(self.messages, profile, calls_in=calls_in, tools=tools, system_lost=True)
            kept_text = self._render(template, kept, tools)
            if not _system_lost(messages, kept_text):
                messages, done, text = kept, moved, kept_text
        missing: Sequence[str] = ()
        if tools:
            without = self._without_tools(template, messages)
            check_template(text, without, spoken_format(self.profile).instructions)
            missing = dropped(text, without, tools)
        return _RenderedPrompt(text, template, profile, messages, tools, (*named, *done), missing)

    def as_prose(self, *why: str) -> _RenderedPrompt:
        """The tools stand in the system message, in words; the template is given none."""
        template, profile, named = self._template(with_tools=False)
        format = spoken_format(self.profile)
        told = prose(format, self.tools)
        tools = self.tools or None
        messages, done = adapt(self.messages, profile, system_text=told, calls_in=format, tools=tools)
        text = self._render(template, messages)
        if told:
            untold, _ = adapt(self.messages, profile, system_text=_PLACEHOLDER, calls_in=format, tools=tools)
            without = self._without_tools(template, untold)
            if told not in text:
                raise TemplateError(
                    f"{template.origin}: the template does not pass on the message that describes the tools, so this "
                    "model cannot be told of them; use a template for chat"
                )
            check_prose(text, without, told, without.count(_PLACEHOLDER), self.tools)
        return _RenderedPrompt(text, template, profile, messages, None, (*why, *named, *done))

    def prefill(self, made: _RenderedPrompt) -> str:
        """What of the answer the generation prompt has begun already: mostly nothing, or an opened reasoning block."""
        closed = self._attempt(made, made.messages)
        if closed == made.text and self.variables["add_generation_prompt"]:
            # A template that always begins the answer: then what it begins is what the probes saw.
            always = made.profile.prefill
            return always if made.text.endswith(always) else ""
        if not closed or not made.text.startswith(closed):
            return ""
        generation = made.text[len(closed) :]
        format = spoken_format(self.profile)
        begun = answer_prefix(generation, headers=format.headers)
        if not begun.strip(": \n"):
            return ""
        if begun == generation and not answer_prefix(closed[-_LONGEST_HEADER:], headers=format.headers):
            return generation  # the header always stands there, what is added begins the answer
        # Two ways to find the assistant's header: its shape, else what also stands before an answer in words.
        header = len(generation) - len(begun) or self._shown_header(made, closed, generation) or len(generation)
        openers = {opener for opener, _ in format.reasoning}
        openers |= {closer for opener, closer in format.reasoning if closer == f"</{opener[1:]}"}
        openers |= {made.profile.reasoning[0]} if made.profile.reasoning else set()
        # A template may put an empty reasoning block before every answer: that is no header.
        return generation[min([header, *(at for opener in openers if (at := generation.find(opener)) >= 0)]) :]

    def _shown_header(self, made: _RenderedPrompt, closed: str, generation: str) -> int:
        """How much of the generation prompt stands before an answer in words, too."""
        answered = self._attempt(made, [*made.messages, {"role": "assistant", "content": REPLY}])
        before = answered.partition(REPLY)[0]
        return common_prefix(generation, before[len(closed) :]) if before.startswith(closed) else 0

    def _template(self, *, with_tools: bool) -> tuple[ChatTemplate, TemplateProfile, Sequence[str]]:
        """The template in force, its profile, and the adaptation's name where only the one for tools is there."""
        for_tools = self.files.template(True)
        source = self.files.template(with_tools) or for_tools
        if source is None:
            raise BadModelDirectory(
                f"{self.files.directory}: no chat template to render with: {self.files.reason(with_tools)}; "
                f"{self.files.way_out}"
            )
        named = [] if self.files.template(with_tools) else [TOOL_USE_TEMPLATE]
        profile = self.profile if source == for_tools else self.profile.without_tools or self.profile
        _check_limit(self.files, profile)
        return compiled(self.files, source), profile, named

    def _render(
        self, template: ChatTemplate, messages: list[Message], tools: list[Message] | None = None, **changed: Any
    ) -> str:
        return template.render(messages, tools=tools, **{**self.variables, **changed})

    def _accepted(
        self, template: ChatTemplate, messages: list[Message], done: list[str], tools: list[Message] | None
    ) -> tuple[list[Message], list[str], str]:
        """The conversation as the template takes it: as it is, else with one of the remedies for what it refuses."""
        try:
            return messages, done, self._render(template, messages, tools)
        except TemplateError as refused:
            for names, mended in remedies(messages):
                try:
                    return mended, [*done, *names], self._render(template, mended, tools)
                except TemplateError:
                    continue
            raise refused from None

    def _attempt(self, made: _RenderedPrompt, messages: list[Message]) -> str:
        """These messages without a generation prompt, for a comparison; empty where the template refuses them."""
        try:
            return self._render(made.template, messages, made.tools, add_generation_prompt=False)
        except TemplateError:
            return ""

    def _without_tools(self, template: ChatTemplate, messages: list[Message]) -> str:
        """The prompt that holds no tools, for a comparison; empty where the template refuses that."""
        try:
            return self._render(template, messages)
        except TemplateError:
            return ""


def _system_lost(messages: list[Message], prompt: str) -> bool:
    """Whether the conversation begins with a system message that is not in the prompt."""
    text = messages[0].get("content") if messages[0]["role"] == "system" else None
    return isinstance(text, str) and text.strip() not in prompt


def compiled(files: ModelFiles, source: TemplateSource) -> ChatTemplate:
    """The template, ready to render; its errors name the file. Raises `TemplateError` where it does not parse."""
    return _compiled(source.text, tuple(files.special_tokens.items()), files.where(source))


@lru_cache(maxsize=_MOST_COMPILED)
def _compiled(text: str, special_tokens: tuple[tuple[str, str], ...], origin: str) -> ChatTemplate:
    try:
        return ChatTemplate(text, dict(special_tokens), origin=origin)
    except TemplateError as error:
        raise TemplateError(_with_way_out(str(error)), error.line, error.kind, error.own_words) from None


def _check_limit(files: ModelFiles, profile: TemplateProfile) -> None:
    """Raises where the template took more than it is given when it was probed."""
    failure = profile.failure
    if failure is not None and failure.limit:
        line = "" if failure.line is None else f" (line {failure.line})"
        trusted = " (trusted=True, or --trusted, renders it without limits)" if failure.limit in OF_THE_PROCESS else ""
        raise TemplateError(f"{files.directory}: {failure.message}{line}; it is not rendered{trusted}")


def broken(files: ModelFiles, profile: TemplateProfile) -> TemplateError | None:
    """The error that rendering the template in force ends with, where the profile says that it does not compile."""
    source, failure = files.template(True) or files.template(False), profile.failure
    if source is None or failure is None or failure.limit:
        return None
    where = files.where(source) + ("" if failure.line is None else f", line {failure.line}")
    return TemplateError(_with_way_out(f"{where}: {failure.message}"), failure.line, "not-parsed", failure.message)


def _with_way_out(error: str) -> str:
    """The error, some of which jinja2 ends with a full stop, and what to do."""
    return f"{error.rstrip('.')}; mend the template or copy it again from the repository of the original model"


def spoken_format(profile: TemplateProfile) -> ToolCallFormat:
    """The format that calls are taught and written in: the model's as its template spells it, or the most widely
    spoken one."""
    return get(profile.format).with_variant(profile.variant) if profile.format else default_format()
