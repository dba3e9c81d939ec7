"""A request rendered: through the model's own template or with the tools in prose, never both.

`Model.render` calls `render`. What decides is evidence: the profile chooses the strategy and the adaptations,
and a check on the finished prompt proves that the tools stand in it by one way. The same request gives the same bytes.
Bad input raises a `ToolfmtError` of one line; no file is read and no clock is asked here.
"""

from __future__ import annotations

import copy
import difflib
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Any, Literal, TypeAlias, get_args

from toolfmt.errors import BadMessages, TemplateError, ToolfmtError, WorkerUnavailable
from toolfmt.formats import Parser, ToolCallFormat
from toolfmt.formats.prose import RESULT_HEADING, result_heading
from toolfmt.formats.registry import resolved
from toolfmt.inspect.report.template_profile import Strategy, TemplateProfile, stored
from toolfmt.messages.tools import canonical_tools, same_order
from toolfmt.render.adapt.control_tokens import MARKERS_NEUTRALIZED, neutralized_request, restored
from toolfmt.render.backend import InProcessBackend, RenderBackend, RenderRequest, StrategyChoice, shallow
from toolfmt.render.budget import Budget, budget
from toolfmt.render.compiled_template import spoken_format, with_way_out
from toolfmt.render.request.messages import Message, calls_of, checked_messages, with_text_arguments
from toolfmt.render.request.tool_selection import narrowed
from toolfmt.render.token_ids import markers_in, spans_between, token_ids
from toolfmt.render.verify.delivery import Span
from toolfmt.templates import ModelFiles

Narrow: TypeAlias = Callable[[list[dict[str, Any]], list[Message]], object]
"""Chooses, of the tools and for the messages, the tools that a prompt shows."""

DEFINITIONS_REORDERED = "definitions-reordered"
"""The prompt shows tools, or the keys of a definition, in another order than they were given in."""


@dataclass(frozen=True)
class Prompt:
    """A finished prompt.

    `strategy` is how the tools went in, `format` what calls are written and read in (None where no format is
    known), `prefill` what of the answer stands in the prompt already, `stop` the strings that end an answer,
    `adaptations` the names of what was changed so that the template takes the conversation
    (`toolfmt.render.adapt.adaptations` lists them) or is to be known about it (`toolfmt.render.backend` does), `tools`
    all the tools that were offered and `shown_tools` those that it contains (all except those that `narrow` left out).
    `messages`,
    `template_tools` and `variables` are what the template was given, `lost` what of the request is not in the prompt
    (empty unless `lossy` was asked for), `budget` what it takes of a context, `spans` where the texts of the request
    stand.
    """

    text: str
    strategy: Strategy
    format: str | None
    prefill: str = ""
    stop: tuple[str, ...] = ()
    adaptations: tuple[str, ...] = ()
    tools: list[dict[str, Any]] | None = None
    lost: tuple[str, ...] = ()
    budget: Budget | None = None
    messages: list[dict[str, Any]] = field(default_factory=list, repr=False)
    template_tools: list[dict[str, Any]] | None = field(default=None, repr=False)
    shown_tools: list[dict[str, Any]] | None = field(default=None, repr=False)
    variables: dict[str, Any] = field(default_factory=dict, repr=False)
    spans: tuple[Span, ...] = field(default=(), repr=False)
    markers: tuple[str, ...] = field(default=(), repr=False)
    """The markers that were neutralized where that was asked for."""
    built_on_text: bool = False
    """Whether the prompt is built on what the model wrote, as no template renders it (`toolfmt.model.conversation`)."""
    render_again: Any = field(default=None, repr=False, compare=False)
    """Renders the same request with other options; None for a prompt that `Model` did not make."""
    derived: str = field(default="", repr=False)
    """The format as text, where it is none of the registry but was derived from the template."""

    @property
    def tool_call_format(self) -> ToolCallFormat | None:
        """The format that calls are written and read in; None where it is not known."""
        if self.derived:
            return stored(self.derived)
        return None if self.format is None else resolved(self.format)

    def request(self, *, arguments_as_text: bool = False) -> dict[str, Any]:
        """What to send to a chat endpoint, so that its template renders exactly this prompt.

        `messages` are as the template was given them, `tools` stand there only where the template describes them, and
        `chat_template_kwargs` are its variables. `add_generation_prompt` and `continue_final_message` stand there where
        they are not as every endpoint has them by itself. Arguments of calls are in the form that the template needs,
        as `apply_chat_template` takes them; endpoints that take the text of JSON only, and read it before they render,
        are sent them with `arguments_as_text`. Raises `ToolfmtError` for a prompt that is built on the model's own
        text.
        """
        if self.built_on_text:
            raise ToolfmtError("this prompt is built on the model's own text; send `text` to a completion endpoint")
        own = {name: value for name, value in self.variables.items() if name not in _OF_REQUESTS}
        tools = {} if self.template_tools is None else {"tools": self.template_tools}
        asked = {name: self.variables[name] for name in _OF_REQUESTS if name in self.variables}
        messages = [with_text_arguments(message) for message in self.messages] if arguments_as_text else self.messages
        return copy.deepcopy({"messages": messages, **tools, "chat_template_kwargs": own, **asked})

    def parser(
        self,
        *,
        format: str | ToolCallFormat | None = None,
        strict: bool = False,
        reasoning: Literal["events", "text"] = "events",
        stop: Sequence[str] = (),
    ) -> Parser:
        """A parser for the answer to this prompt: it knows the format, the tools, and what the prompt began.

        The answer ends at a stop string of the prompt, but for those that calls of the format are written with.
        `format` is for a model whose format is not known; `strict` and `reasoning` are `Parser`'s; `stop` are further
        texts at which it ends, a client's say. Raises `ToolfmtError` where no format is known or given.
        """
        chosen = format or self.tool_call_format
        if chosen is None:
            raise ToolfmtError("no format is known for this model; give one: parser(format=...)")
        known = resolved(chosen)
        ends = [*self.ending_answers(known), *stop]
        return Parser(known, tools=self.tools, prefix=self.prefill, strict=strict, stop=ends, reasoning=reasoning)

    def ending_answers(self, format: str | ToolCallFormat | None = None) -> list[str]:
        """The strings at which the parser ends an answer: the stop strings but for those that calls are written with,
        and what begins an invented result.
        """
        chosen = format or self.tool_call_format
        known = None if chosen is None else resolved(chosen)
        stop = [mark for mark in self.stop if mark != RESULT_HEADING and not (known and known.in_calls(mark))]
        if RESULT_HEADING in self.stop:
            # A text can be asked for more than a runtime is told to stop at: which tool's result is invented.
            stop += [result_heading(tool["function"]["name"]) for tool in self.tools or ()]
        return stop

    def restored(self, text: str) -> str:
        """A text of the answer, an argument say, as it is without the dots that `neutralize` put into markers."""
        return restored(text, self.markers)

    def token_ids(self, tokenizer: Any) -> list[int]:
        """The prompt as token ids in which user texts, results and definitions hold no control token.

        Takes a tokenizer of transformers or of tokenizers. Where no such text holds a marker the ids are the plain
        ones. The request is rendered a second time with the markers neutralized: what differs is where others wrote
        them. Raises `ToolfmtError` where a control token cannot be kept out, and what rendering raises.
        """
        if self.built_on_text:
            others = [(span.begin, span.end) for span in self.spans if span.role not in _OWN_ROLES]
            return token_ids(self.text, others, tokenizer)
        if self.render_again is None:
            raise ToolfmtError("where others wrote is not known of this prompt; take one that Model.render made")
        if MARKERS_NEUTRALIZED in self.adaptations:
            return token_ids(self.text, (), tokenizer)
        markers = markers_in(tokenizer)
        neutral = self.render_again(neutralize=True, markers=markers, context=None)
        written = spans_between(self.text, neutral.text, markers)
        if written is None:
            raise ToolfmtError(
                "where others wrote is not clear: with its markers neutralized this request is rendered otherwise; "
                "render with neutralize=True, and take the ids of that"
            )
        return token_ids(self.text, written, tokenizer, markers=markers)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"render_again": None}

    def to_dict(self) -> dict[str, Any]:
        return {
            "text": self.text,
            "strategy": self.strategy,
            "format": self.format,
            "prefill": self.prefill,
            "stop": list(self.stop),
            "adaptations": list(self.adaptations),
            **({"lost": list(self.lost)} if self.lost else {}),
            **({} if self.budget is None else {"budget": {**asdict(self.budget), "sentence": self.budget.sentence}}),
        }


_GIVEN_BY_PLACE = ("files", "profile", "messages", "tools", "strategy", "making", "variables")
_OWN_ROLES = ("system", "developer", "assistant")
_OF_REQUESTS = ("add_generation_prompt", "continue_final_message")


@shallow
def render(
    files: ModelFiles,
    profile: TemplateProfile,
    messages: object,
    tools: object = None,
    strategy: StrategyChoice = "auto",
    *,
    now: datetime | None = None,
    add_generation_prompt: bool = True,
    continue_final_message: bool = False,
    lossy: bool = False,
    neutralize: bool = False,
    markers: Sequence[str] | None = None,
    sort_tools: bool = False,
    sort_properties: bool = False,
    narrow: Narrow | None = None,
    context: int | None = None,
    tokenizer: Any = None,
    making: RenderBackend | None = None,
    **variables: Any,
) -> Prompt:
    """The prompt for these messages: every text, call, argument, result and tool in it once, and in their order.

    Takes the model's files and the profile of their templates. `tools` are definitions in any shape; an empty list is
    rendered like none. What else may be given:

    - `now`: the time that the template's clock shows.
    - `continue_final_message`: the answer that the conversation ends with is left open, and the parser begins in it.
    - `lossy`: what the template loses, however the conversation is adapted, is told on the prompt (`lost`).
    - `neutralize`: markers in user texts, results and definitions are kept from becoming control tokens, by a dot
      behind the first character of each; `markers` are these texts, else they are read from the model's files.
    - `sort_tools`, `sort_properties`: for definitions from a source without an order.
    - `narrow`: is called with the tools and the messages and returns the tools that this prompt shows; its parser knows
      all of them.
    - `context`: a number of tokens; the prompt's `budget` tells what of them it takes, counted by the `tokenizer` or by
      the model's own.
    - `making`: where the template runs; in this process without one.
    - other keywords are variables that the template reads.

    Raises `BadMessages`, `BadTools`, `BadModelDirectory` without a template, `TemplateError` where the template refuses
    or fails, `NotDelivered` where it loses something, and `ToolfmtError` for a variable that the template does not
    read, for a context without a tokenizer, and where the strategy `template` is forced on a template that drops the
    tools.
    """
    if strategy not in get_args(StrategyChoice):
        raise ToolfmtError(f"no strategy is called {strategy!r}; strategies: {', '.join(get_args(StrategyChoice))}")
    making = making or InProcessBackend(files, profile)
    _check_variables(variables, [profile, profile.without_tools or profile])
    checked = checked_messages(messages, making.roles())
    if continue_final_message:
        _check_continued(checked)
    tools = list(tools) if isinstance(tools, Iterator) else tools
    offered = None if tools is None else canonical_tools(tools, sort_tools=sort_tools, sort_properties=sort_properties)
    normalised = [] if offered is None or same_order(tools, offered) else [DEFINITIONS_REORDERED]
    shown = offered if narrow is None or not offered else narrowed(offered, narrow(_copied(offered), _copied(checked)))
    texts: Sequence[str] = ()
    if neutralize:
        texts = making.markers() if markers is None else markers
        checked, shown, changed = neutralized_request(checked, shown, texts)
        normalised += changed
    opens = {} if add_generation_prompt and not continue_final_message else {"add_generation_prompt": False}
    asked = RenderRequest(checked, shown or [], opens | variables, strategy, now, lossy, continue_final_message)
    made = making.make(asked)
    if continue_final_message:
        opens["continue_final_message"] = True
    in_known_format = made.calls_as_content or made.strategy == "prompt"
    return Prompt(
        text=made.text,
        strategy=made.strategy,
        format=spoken_format(profile).name if in_known_format else profile.format,
        derived=profile.derived,
        prefill=made.prefill,
        stop=(*made.stop, *([RESULT_HEADING] if made.in_words else [])),
        adaptations=(*normalised, *made.adaptations),
        tools=offered,
        lost=made.lost,
        budget=None if context is None else _budget(making, asked, made.text, context, making.counter(tokenizer)),
        messages=_copied(made.messages),
        template_tools=_copied(made.tools),
        shown_tools=_copied(shown),
        markers=tuple(texts),
        variables=opens | variables,
        spans=made.spans,
    )


def _copied(value: Any) -> Any:
    """A copy of what JSON holds: what a caller changes later, of its objects or of a prompt's, changes no prompt."""
    if isinstance(value, str):
        return value
    if isinstance(value, (dict, Mapping)):  # a dictionary is known at once, an abstract class asks around
        return {key: _copied(inner) for key, inner in value.items()}
    return [_copied(inner) for inner in value] if isinstance(value, (list, tuple)) else value


def _budget(
    making: RenderBackend, asked: RenderRequest, text: str, context: int, count: Callable[[str], int]
) -> Budget:
    """What of the context the prompt takes, and what would help where that is too much."""

    def render_without(*, tools: Sequence[str], messages: Sequence[int]) -> str | None:
        kept = [message for at, message in enumerate(asked.messages) if at not in messages]
        shown = [tool for tool in asked.tools if tool["function"]["name"] not in tools]
        try:
            return making.make(replace(asked, messages=kept, tools=shown)).text
        except WorkerUnavailable:
            raise
        except ToolfmtError:
            return None

    names = [tool["function"]["name"] for tool in asked.tools]
    return budget(text, context, count, names, asked.messages, render_without)


def _check_continued(messages: Sequence[Message]) -> None:
    """What is continued is an answer in words."""
    last = messages[-1]
    where = f"messages[{len(messages) - 1}]"
    if last["role"] != "assistant" or calls_of(last) or not last.get("content"):
        what = "makes calls" if calls_of(last) else "has no text" if last["role"] == "assistant" else "is none"
        raise BadMessages(f"{where}: continue_final_message needs an assistant message with text last; this one {what}")


def _check_variables(given: Mapping[str, Any], profiles: Sequence[TemplateProfile]) -> None:
    """A variable that nothing reads is a mistake of the caller's: the prompt is the same without it."""
    read = {name for profile in profiles for name in profile.variables}
    unread = [name for name in given if name not in read]
    if unread and all(profile.sha256 and profile.failure is None for profile in profiles):
        options = [name for name in inspect.signature(render).parameters if name not in _GIVEN_BY_PLACE]
        meant = difflib.get_close_matches(unread[0], options, n=1)
        if meant:
            raise ToolfmtError(
                f"the template reads no variable {unread[0]!r}, and render has no such option; is it {meant[0]!r}?"
            )
        own = sorted(read - {"messages", "tools", "add_generation_prompt"})
        raise ToolfmtError(
            f"the template reads no variable {unread[0]!r}; leave it out"
            + (f", or give one that it reads: {', '.join(own)}" if own else "")
        )


def broken(files: ModelFiles, profile: TemplateProfile) -> TemplateError | None:
    """The error that rendering the template in force ends with, where the profile says that it does not compile."""
    source, failure = files.template(True) or files.template(False), profile.failure
    if source is None or failure is None or failure.limit:
        return None
    where = files.where(source) + ("" if failure.line is None else f", line {failure.line}")
    return TemplateError(with_way_out(f"{where}: {failure.message}"), failure.line, "not-parsed", failure.message)
