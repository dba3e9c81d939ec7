"""Render a request through the model's template or with the tools in the system prompt, never both.

`Model.render` calls `render`. The profile chooses the strategy and the adaptations, and a check on the finished prompt
verifies that it contains the tools in exactly one way. The same request gives the same bytes. Invalid input raises a
`ToolfmtError` with a one-line message. This module reads no files and no clock.
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
from toolfmt.formats.parser.argument_check import Validate
from toolfmt.formats.prompting.tool_descriptions import RESULT_HEADING, result_heading
from toolfmt.formats.registry import resolved
from toolfmt.formats.tolerances import Tolerate
from toolfmt.inspect.report.template_profile import Strategy, TemplateProfile, stored
from toolfmt.messages.tools import canonical_tools, same_order
from toolfmt.render.adapt.control_tokens import MARKERS_NEUTRALIZED, neutralized_request, restored
from toolfmt.render.backend import InProcessBackend, RenderBackend, RenderRequest, StrategyChoice, shallow
from toolfmt.render.budget import Budget, budget
from toolfmt.render.compiled_template import taught_format, with_way_out
from toolfmt.render.request.messages import Message, calls_of, checked_messages, with_text_arguments
from toolfmt.render.request.tool_selection import narrowed
from toolfmt.render.token_ids import markers_in, spans_between, token_ids
from toolfmt.render.verify.delivery import Span
from toolfmt.templates import ModelFiles

Narrow: TypeAlias = Callable[[list[dict[str, Any]], list[Message]], object]
"""Takes the tools and the messages. Returns the tools that the prompt shows."""

DEFINITIONS_REORDERED = "definitions-reordered"
"""The prompt shows the tools, or the keys of a definition, in a different order than given."""


@dataclass(frozen=True)
class Prompt:
    """A finished prompt.

    Attributes:
        text: The rendered prompt.
        strategy: How the tools were passed: by the template, or in the system prompt.
        format: The format in which calls are written and parsed, None if unknown.
        prefill: The part of the response that the prompt already contains.
        stop: The strings that end a response.
        adaptations: Names of the changes to the conversation (`toolfmt.render.adapt.adaptations`) and of notes about
            the prompt (`toolfmt.render.backend`).
        tools: All offered tools.
        lost: Parts of the request that are not in the prompt. Empty unless rendered with `lossy`.
        budget: How much of the context the prompt uses.
        messages: The messages that the template got.
        template_tools: The tools that the template got.
        shown_tools: The tools that the prompt contains: all except those that `narrow` removed.
        variables: The variables that the template got.
        spans: Where the request's texts are in the prompt.
        markers: The neutralized markers, if the prompt was rendered with `neutralize`.
        built_on_text: Whether the prompt contains the model's raw output instead of re-rendered text (`Conversation`).
        render_again: Renders the same request with other options. None for a prompt that `Model` did not make.
        derived: The format as text, if it is not registered but derived from the template.
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
    built_on_text: bool = False
    render_again: Any = field(default=None, repr=False, compare=False)
    derived: str = field(default="", repr=False)

    @property
    def tool_call_format(self) -> ToolCallFormat | None:
        """The format in which calls are written and parsed, or None if unknown."""
        if self.derived:
            return stored(self.derived)
        return None if self.format is None else resolved(self.format)

    def request(self, *, arguments_as_text: bool = False) -> dict[str, Any]:
        """Return the request to send to a chat endpoint so that its template renders exactly this prompt.

        Call arguments are in the form that the template needs, as `apply_chat_template` takes them.

        Args:
            arguments_as_text: Return call arguments as JSON strings, for endpoints that accept only strings and parse
                them before rendering.

        Returns:
            `messages` are those passed to the template. `tools` is present only if the template describes them.
                `chat_template_kwargs` are the template's variables. `add_generation_prompt` and
                `continue_final_message` are present if they differ from the defaults of endpoints.

        Raises:
            ToolfmtError: The prompt contains the model's raw output.
        """
        if self.built_on_text:
            raise ToolfmtError("this prompt is built on the model's own text; send `text` to a completion endpoint")
        own = {name: value for name, value in self.variables.items() if name not in _OF_REQUESTS}
        tools = {} if self.template_tools is None else {"tools": self.template_tools}
        fields = {name: self.variables[name] for name in _OF_REQUESTS if name in self.variables}
        messages = [with_text_arguments(message) for message in self.messages] if arguments_as_text else self.messages
        return copy.deepcopy({"messages": messages, **tools, "chat_template_kwargs": own, **fields})

    def parser(
        self,
        *,
        format: str | ToolCallFormat | None = None,
        strict: bool = False,
        tolerate: Tolerate = "all",
        validate: Validate | None = None,
        reasoning: Literal["events", "text"] = "events",
        stop: Sequence[str] = (),
    ) -> Parser:
        """Return a parser for the response to this prompt, with its format, tools and prefill.

        The response ends at a stop string of the prompt, except at stop strings that are part of a call's syntax.

        Args:
            format: The format, for a model whose format is unknown.
            strict: As for `toolfmt.Parser`.
            tolerate: As for `toolfmt.Parser`.
            validate: As for `toolfmt.Parser`.
            reasoning: As for `toolfmt.Parser`.
            stop: Additional stop strings, for example a client's.

        Raises:
            ToolfmtError: No format is known or given.
        """
        chosen = format or self.tool_call_format
        if chosen is None:
            raise ToolfmtError("no format is known for this model; give one: parser(format=...)")
        known = resolved(chosen)
        ends = [*self.ending_answers(known), *stop]
        options: dict[str, Any] = {"strict": strict, "tolerate": tolerate, "validate": validate, "reasoning": reasoning}
        return Parser(known, tools=self.tools, prefix=self.prefill, stop=ends, **options)

    def ending_answers(self, format: str | ToolCallFormat | None = None) -> list[str]:
        """Return the strings at which the parser ends a response.

        These are the stop strings that are not part of a call's syntax, and the strings that begin an invented tool
        result.

        Args:
            format: The format, for a model whose format is unknown.
        """
        chosen = format or self.tool_call_format
        known = None if chosen is None else resolved(chosen)
        stop = [mark for mark in self.stop if mark != RESULT_HEADING and not (known and known.in_calls(mark))]
        if RESULT_HEADING in self.stop:
            # A request may have more stop strings than the runtime gets: which tool's result is invented is not known.
            stop += [result_heading(tool["function"]["name"]) for tool in self.tools or ()]
        return stop

    def restored(self, text: str) -> str:
        """Return a string of the response without the dots that `neutralize` put into markers.

        Args:
            text: A string of the response, such as an argument.
        """
        return restored(text, self.markers)

    def token_ids(self, tokenizer: Any) -> list[int]:
        """Return the prompt as token ids. User texts, results and definitions contain no control tokens.

        If none of these texts contains a marker, the ids are the usual ones. Else the request is rendered again with
        neutralized markers, and the differences show where untrusted text contains them.

        Args:
            tokenizer: A tokenizer of transformers or of tokenizers.

        Raises:
            ToolfmtError: A control token cannot be prevented, or rendering raises.
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
        """Return the prompt as JSON data, without the request that it was made from."""
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
    """Return the prompt for these messages. It contains every text, call, argument, result and tool once, in order.

    Takes the model's files and the profile of their templates. `tools` are definitions in any supported form; an empty
    list is the same as None. Other arguments:

    - `now`: the current time for the template.
    - `continue_final_message`: keep the last assistant message open; the parser starts in it.
    - `lossy`: instead of raising, list in `lost` what the template loses whichever adaptations are tried.
    - `neutralize`: insert a dot after the first character of each marker in user texts, results and definitions, so
      that it does not become a control token. `markers` are these strings; the default is to read them from the model's
      files.
    - `sort_tools`, `sort_properties`: for definitions from a source without a stable order.
    - `narrow`: a function that takes the tools and the messages and returns the tools that this prompt shows. The
      parser still knows all tools.
    - `context`: a number of tokens. The prompt's `budget` then shows how many are used, counted by `tokenizer` or by
      the model's own tokenizer.
    - `making`: the backend that runs the template; the default is this process.
    - Other keywords are variables that the template reads.

    Raises `BadMessages`, `BadTools`, and `BadModelDirectory` if the model has no template. Raises `TemplateError` if
    the template raises or fails, and `NotDelivered` if it loses something. Raises `ToolfmtError` for a variable that
    the template does not read, for a context without a tokenizer, and if the strategy `template` is forced on a
    template that drops the tools.
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
    render_request = RenderRequest(
        checked, shown or [], opens | variables, strategy, now, lossy, continue_final_message
    )
    made = making.make(render_request)
    if continue_final_message:
        opens["continue_final_message"] = True
    in_known_format = made.calls_as_content or made.strategy == "prompt"
    return Prompt(
        text=made.text,
        strategy=made.strategy,
        format=taught_format(profile).name if in_known_format else profile.format,
        derived=profile.derived,
        prefill=made.prefill,
        stop=(*made.stop, *([RESULT_HEADING] if made.in_words else [])),
        adaptations=(*normalised, *made.adaptations),
        tools=offered,
        lost=made.lost,
        budget=None
        if context is None
        else _budget(making, render_request, made.text, context, making.counter(tokenizer)),
        messages=_copied(made.messages),
        template_tools=_copied(made.tools),
        shown_tools=_copied(shown),
        markers=tuple(texts),
        variables=opens | variables,
        spans=made.spans,
    )


def _copied(value: Any) -> Any:
    """Return a copy of JSON data, so that later changes by the caller do not change the prompt."""
    if isinstance(value, str):
        return value
    if isinstance(value, (dict, Mapping)):  # the check for dict is fast, the one for an abstract class is slow
        return {key: _copied(inner) for key, inner in value.items()}
    return [_copied(inner) for inner in value] if isinstance(value, (list, tuple)) else value


def _budget(
    making: RenderBackend, render_request: RenderRequest, text: str, context: int, count: Callable[[str], int]
) -> Budget:
    """Return the prompt's budget, and what to remove if the prompt is too long."""

    def render_without(*, tools: Sequence[str], messages: Sequence[int]) -> str | None:
        kept = [message for at, message in enumerate(render_request.messages) if at not in messages]
        shown = [tool for tool in render_request.tools if tool["function"]["name"] not in tools]
        try:
            return making.make(replace(render_request, messages=kept, tools=shown)).text
        except WorkerUnavailable:
            raise
        except ToolfmtError:
            return None

    names = [tool["function"]["name"] for tool in render_request.tools]
    return budget(text, context, count, names, render_request.messages, render_without)


def _check_continued(messages: Sequence[Message]) -> None:
    """Raise if the message to continue is not an assistant message with text."""
    last = messages[-1]
    where = f"messages[{len(messages) - 1}]"
    if last["role"] != "assistant" or calls_of(last) or not last.get("content"):
        no_text = "has no text" if last["role"] == "assistant" else f"has the role {last['role']}"
        raise BadMessages(
            f"{where}: with continue_final_message, the last message must be an assistant message with text; this one "
            + ("makes calls" if calls_of(last) else no_text)
        )


def _check_variables(given: Mapping[str, Any], profiles: Sequence[TemplateProfile]) -> None:
    """Raise `ToolfmtError` for a variable that the template does not read; it would not change the prompt."""
    read = {name for profile in profiles for name in profile.variables}
    unread = [name for name in given if name not in read]
    if unread and all(profile.sha256 and profile.failure is None for profile in profiles):
        options = [name for name in inspect.signature(render).parameters if name not in _GIVEN_BY_PLACE]
        similar = difflib.get_close_matches(unread[0], options, n=1)
        if similar:
            raise ToolfmtError(
                f"the template reads no variable {unread[0]!r}, and render has no such option; is it {similar[0]!r}?"
            )
        own = sorted(read - {"messages", "tools", "add_generation_prompt"})
        raise ToolfmtError(
            f"the template reads no variable {unread[0]!r}; leave it out"
            + (f", or give one that it reads: {', '.join(own)}" if own else "")
        )


def broken(files: ModelFiles, profile: TemplateProfile) -> TemplateError | None:
    """Return the error that rendering raises if the profile shows that the template does not compile."""
    source, failure = files.template(True) or files.template(False), profile.failure
    if source is None or failure is None or failure.limit:
        return None
    where = files.where(source) + ("" if failure.line is None else f", line {failure.line}")
    return TemplateError(with_way_out(f"{where}: {failure.message}"), failure.line, "not-parsed", failure.message)
