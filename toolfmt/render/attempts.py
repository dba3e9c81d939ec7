"""Render a request so that nothing of it is lost, with adaptations if necessary.

`toolfmt.render.prompt` calls it once for each way to pass the tools. The adaptations of the template's profile are
tried first. If the template rejects the result, or the check on the finished prompt (`toolfmt.render.verify.delivery`)
finds a loss, remedies are tried, the cheapest first. The same request gives the same bytes. Only results per tool are
cached (`toolfmt.render.adapt.tool_adaptations`), and they do not depend on the messages.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

from toolfmt.errors import (
    BadMessages,
    BadModelDirectory,
    CannotWrite,
    LimitHit,
    NotDelivered,
    TemplateError,
)
from toolfmt.formats import ToolCallFormat, prose
from toolfmt.inspect.report.template_profile import TemplateProfile
from toolfmt.render.adapt.adaptations import adapt, writes_calls
from toolfmt.render.adapt.control_tokens import ASSISTANT_MARKERS_NEUTRALIZED, neutralized_assistant
from toolfmt.render.adapt.remedies import (
    CALLS_WITH_TEXT_AS_CONTENT,
    CONTENT_AS_PARTS,
    PART_PRINTED,
    plans,
    tried_in_adapt,
    with_marked_parts,
)
from toolfmt.render.adapt.tool_adaptations import ShownTool, adapted_tool, lost_in_lines, other_tool, shown_tool
from toolfmt.render.compiled_template import check_limit, compiled, taught_format
from toolfmt.render.request.messages import INSTRUCTING, Message, media_data, media_of, without_media
from toolfmt.render.verify.delivery import Delivery, Span, delivered, proved
from toolfmt.render.verify.rejected_part import locate, with_missing_variable
from toolfmt.render.verify.rendered_once import check_prose, check_template, dropped
from toolfmt.render.verify.sentinel_request import SentinelRequest, sentinel_request_of
from toolfmt.templates import ChatTemplate, ModelFiles

TOOL_USE_TEMPLATE = "tool-use-template-without-tools"
"""There are no tools, but the model has only a template for requests with tools; it was rendered without tools."""
DEFAULT_SYSTEM_PROMPT_REPLACED = "default-system-prompt-replaced"
"""Tools described in the system message replace the template's default system prompt."""

PLACEHOLDER = "Xq5placeholder"
"""A placeholder for the tool descriptions. Templates do not contain it."""
_MOST_PLANS = 160
"""Maximum number of plans for a short conversation. A long one gets fewer, so that a failure does not take minutes."""
_LEAST_PLANS = 24
_MESSAGES_TRIED = 8_000
_LONGEST_BEGINNING = 40
"""Maximum number of messages at the beginning of a long conversation whose plan is tried for the whole."""
_MARKER = re.compile(r"<[^<>\n]*>|\[[^\[\]\n]*\]|〈[^〈〉\n]*〉")
_WORDS = re.compile(r"[^\W\d_]{2,}")
_SHORT_CONVERSATIONS: Sequence[list[Message]] = (
    [{"role": "user", "content": "Hello"}],
    [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello"}],
)
"""Conversations in which the tools are checked. The second one is for templates that require a system message."""
_MAX_ROUNDS = 3
"""Maximum number of searches: a new plan for the messages may need other adaptations of the tools, and vice versa."""
"""Keys of an image or another medium that hold neither its data nor its address."""


@dataclass(frozen=True)
class Attempt:
    """A rendered conversation: the text, what it was rendered from, and what it contains of the request."""

    text: str
    template: ChatTemplate
    profile: TemplateProfile
    messages: list[Message]
    tools: list[Message] | None
    adaptations: tuple[str, ...]
    delivery: Delivery
    plan: frozenset[str] = frozenset()
    """The remedies applied in addition to what the profile requires."""
    dropped: Sequence[str] = ()
    """Tools that were passed to the template but are not in the prompt unchanged."""
    tools_lost: tuple[str, ...] = ()
    """Parts of tool definitions that the prompt lacks."""


@dataclass(frozen=True)
class _Way:
    """One way to pass the tools: the template, the tools passed to it, and the text added to the system message."""

    template: ChatTemplate
    profile: TemplateProfile
    named: Sequence[str]
    tools: list[Message] | None = None
    system_text: str = ""
    calls_in_words: bool = False
    results_in_words: bool = False

    @cached_property
    def tested(self) -> tuple[str, ...]:
        """The strings that the template searches for in messages."""
        return tuple(tested.text for tested in self.template.tested_texts)


@dataclass(frozen=True)
class Request:
    """A checked and canonical request. With `lossy`, parts that cannot be delivered are left out and reported."""

    files: ModelFiles
    profile: TemplateProfile
    messages: list[Message]
    tools: list[Message]
    variables: Mapping[str, Any]
    lossy: bool = False
    _twins: dict[str, SentinelRequest] = field(default_factory=dict, init=False, repr=False)

    def through_template(self) -> Attempt:
        """Render with the tools passed to the template and no tool descriptions in the system message."""
        template, profile, named = self._template(with_tools=bool(self.tools))
        calls_in_words = not writes_calls(profile)
        # If a template does not show tools, its model does not know its form of results either.
        results_in_words = calls_in_words and not profile.takes_tools
        way = _Way(template, profile, named, self.tools or None, "", calls_in_words, results_in_words)
        made = self._search_with_tools(way)
        unseen = [tool for tool in self.tools if tool["function"]["name"] not in made.delivery.tools_shown]
        instructions = self.format.instructions
        if unseen or (self.tools and instructions and instructions in made.text):
            without = self._without_tools(template, made.messages)
            check_template(made.text, without, instructions)
            made = replace(made, dropped=dropped(made.text, without, unseen))
        return replace(made, dropped=tuple(dict.fromkeys((*made.dropped, *made.delivery.tools_changed))))

    def as_prose(self, *why: str) -> Attempt:
        """Render with the tools described in the system message. The template gets no tools."""
        template, profile, named = self._template(with_tools=False)
        prose_text = prose(self.format, self.tools)
        way = _Way(template, profile, (*why, *named), None, prose_text, calls_in_words=True, results_in_words=True)
        made = self._found(way)
        if prose_text:
            made = replace(made, tools_lost=_lost(self.tools, map(lost_in_lines, self.tools)))
            adapted, _ = self._adapted(replace(way, system_text=PLACEHOLDER), self.messages, made.plan)
            without = self._without_tools(template, adapted)
            check_prose(made.text, without, prose_text, without.count(PLACEHOLDER), self.tools)
            if self._replaces_default(way, made):
                made = replace(made, adaptations=(DEFAULT_SYSTEM_PROMPT_REPLACED, *made.adaptations))
            spans = (*made.delivery.spans, *_described(made.text, prose_text, self.tools))
            made = replace(
                made, delivery=replace(made.delivery, spans=tuple(sorted(spans, key=lambda span: span.begin)))
            )
        return made

    def _replaces_default(self, way: _Way, made: Attempt) -> bool:
        """Return whether the prompt lacks text that the template writes if there is no system message."""
        if self.messages[0]["role"] in INSTRUCTING:
            return False
        question: Message = {"role": "user", "content": PLACEHOLDER}
        messages, _ = self._adapted(replace(way, system_text=""), [question], made.plan)
        around = self._without_tools(way.template, messages).split(PLACEHOLDER)
        lines = (line.strip() for text in around for line in _MARKER.sub("\n", text).splitlines())
        return any(len(_WORDS.findall(line)) > 1 and line not in made.text for line in lines)

    # --- the tools

    def _search_with_tools(self, way: _Way) -> Attempt:
        """Return the attempt with the tools adapted so that the template shows every part.

        The adaptations of the tools may depend on the plan for the messages, and the plan on the tools.
        """
        plan: frozenset[str] = frozenset()
        shown = self._shown_tools(way, plan)
        for _ in range(_MAX_ROUNDS):
            named = dict.fromkeys(name for one in shown for name in one.adaptations)
            tools = [one.adapted or tool for one, tool in zip(shown, self.tools, strict=True)] or None
            made = self._found(replace(way, tools=tools, named=(*way.named, *named)))
            before, shown = shown, shown if made.plan == plan else self._shown_tools(way, made.plan)
            if shown == before:
                shown = self._shown_in_prompt(made, shown)
            if shown == before:
                lost = _lost(self.tools, (one.lost for one in shown))
                return replace(made, tools_lost=lost) if lost else made
            plan = made.plan
            self._twins.clear()  # they contain the tools of this attempt
        return replace(made, dropped=tuple(tool["function"]["name"] for tool in self.tools))

    def _shown_in_prompt(self, made: Attempt, shown: Sequence[ShownTool]) -> list[ShownTool]:
        """Return how the template shows each tool in this prompt.

        A tool is checked again, among the other tools and in this conversation, if the prompt lacks the text that the
        short conversation has for it. A template may write another text for the second tool or a later turn.
        """

        def render(at: int, tool: Message) -> str:
            tools = list(map(other_tool, range(len(self.tools))))  # those of the request may have the same parameters
            tools[at] = tool
            return self._render(made.template, made.messages, tools)

        return [
            one if one.text in made.text else replace(adapted_tool(partial(render, at), self.tools[at]), text="")
            for at, one in enumerate(shown)
        ]

    def _shown_tools(self, way: _Way, plan: frozenset[str]) -> list[ShownTool]:
        """Return how the template shows each tool in a short conversation adapted by this plan."""
        variables = {name: value for name, value in self.variables.items() if name != "now"}
        given = repr((sorted(plan), variables))

        def render(conversation: list[Message], tool: Message) -> str:
            messages, _ = self._adapted(way, conversation, plan)
            return way.template.render(messages, tools=[tool], **variables)

        renders = [partial(render, conversation) for conversation in _SHORT_CONVERSATIONS]
        return [shown_tool(way.template, given, tool, renders) for tool in self.tools]

    # --- the search

    def _found(self, way: _Way) -> Attempt:
        """Return the first attempt that delivers everything; with `lossy`, else the attempt that loses least."""
        raised: TemplateError | None = None
        best: Attempt | None = None
        repeated: Attempt | None = None
        changing: Attempt | None = None
        for plan in self._plans(way):
            try:
                made = self._attempt(way, plan)
            except LimitHit:
                raise  # no change to the conversation can fix this
            except (TemplateError, CannotWrite) as error:
                if not plan and isinstance(error, CannotWrite):
                    raise
                if not plan and isinstance(error, TemplateError):
                    raised = error
                continue
            if made is None:
                continue
            if made.delivery.whole and not (made.delivery.repeated or made.delivery.tools_changed):
                return made
            if made.delivery.whole and made.delivery.tools_changed:
                changing = changing or made
            elif made.delivery.whole:
                repeated = repeated or made
            elif best is None or len(made.delivery.lost) < len(best.delivery.lost):
                best = made
        whole = repeated or changing or self._neutralized(way)
        if whole is not None:
            return whole
        media = {label for _, label in media_of(self.messages)}
        by_media = best is None or not media.isdisjoint(best.delivery.lost)
        if self.lossy and by_media and (without := self._without_media()) is not None:
            made = without._found(way)
            lost = tuple(label for _, label in media_of(self.messages))
            return replace(made, delivery=replace(made.delivery, missing=(*made.delivery.missing, *lost)))
        if best is not None and self.lossy:
            return best
        if raised is not None:
            self._check_media(way)
            raise self._rejected_part(way, raised) from None
        assert best is not None
        if best.delivery.lost[0] == _PROSE:
            raise TemplateError(
                f"{way.template.origin}: the template drops {_PROSE}, so the model would not see the tools; "
                "use a template for chat"
            )
        raise NotDelivered(
            f"{best.delivery.lost[0]} is lost: {way.template.origin} does not render it, and no adaptation helps; "
            "change the message, or render with `--lossy` (in Python: lossy=True)"
        )

    def _plans(self, way: _Way) -> Iterator[frozenset[str]]:
        yield frozenset()
        yield from self._plan_of_beginning(way)
        # A channel holds one call and nothing else: there is no content to write calls into.
        # A result refers to its call by an id, which a call in the content does not have.
        apart = self.format.headers or way.calls_in_words or way.profile.ids
        without = {CALLS_WITH_TEXT_AS_CONTENT} if apart else set()
        # These are applied already if the profile asks for them.
        without |= {"ids-shortened"} if way.profile.ids == "nine" else set()
        without |= {"results-named"} if way.profile.results_named else set()
        most = max(_LEAST_PLANS, min(_MOST_PLANS, _MESSAGES_TRIED // len(self.messages)))
        words = way.calls_in_words and not way.results_in_words
        yield from plans(self.messages, most, without, calls_in_words=words)

    def _plan_of_beginning(self, way: _Way) -> Iterator[frozenset[str]]:
        """Yield the plan for the first turns of a long conversation.

        More plans are tried for these turns than for the whole, and a growing conversation keeps its plan.
        """
        ends = [at for at, message in enumerate(self.messages[: _LONGEST_BEGINNING + 1]) if message["role"] == "user"]
        if len(self.messages) <= _LONGEST_BEGINNING or not ends or not ends[-1]:
            return
        try:
            plan = replace(self, messages=self.messages[: ends[-1]], lossy=False)._found(way).plan
        except LimitHit:
            raise
        except (NotDelivered, TemplateError, CannotWrite):
            return
        if plan:
            yield plan

    def _attempt(self, way: _Way, plan: frozenset[str]) -> Attempt | None:
        """Render with these remedies. Return None if a remedy changes nothing or the sentinel prompt is incomplete.

        Raises `TemplateError` if the template rejects the conversation, and everything that `adapt` raises.
        """
        messages, done = self._adapted(way, self.messages, plan)
        if plan - tried_in_adapt() - set(done):
            return None
        text = self._render(way.template, messages, way.tools) if not plan else ""
        twin = self._twin(way)
        try:
            given, _ = self._adapted(way, twin.messages, plan)
            twin_tools = None if way.tools is None else twin.tools
            twin_prompt = self._render(way.template, given, twin_tools)
        except LimitHit:
            raise
        except (TemplateError, BadMessages, CannotWrite):
            if plan:
                return None
            given, twin_prompt = twin.messages, None
        delivery = Delivery() if twin_prompt is None else delivered(self.messages, twin, given, twin_prompt)
        if way.system_text and twin_prompt is not None and way.system_text not in twin_prompt:
            delivery = replace(delivery, missing=(*delivery.missing, _PROSE))
        if plan:
            if not (delivery.whole or self.lossy) or self._prints_parts(way, plan, messages):
                return None
            text = self._render(way.template, messages, way.tools)
        if delivery.whole or self.lossy:
            shown = proved(self.messages, twin, twin_prompt, given, text)
            missing = tuple(dict.fromkeys((*delivery.missing, *shown.missing)))
            missing += self._media_missing(way, plan, text, twin_prompt)
            delivery = replace(
                delivery,
                missing=missing,
                repeated=tuple(dict.fromkeys((*delivery.repeated, *shown.repeated))),
                written_differently=shown.written_differently,
                spans=shown.spans,
                switch_taken_out=shown.switch_taken_out,
                tools_changed=tuple(dict.fromkeys((*delivery.tools_changed, *shown.tools_changed))),
            )
        return Attempt(text, way.template, way.profile, messages, way.tools, (*way.named, *done), delivery, plan)

    def _prints_parts(self, way: _Way, plan: frozenset[str], messages: list[Message]) -> bool:
        """Return whether the template prints content parts themselves instead of their texts."""
        if CONTENT_AS_PARTS not in plan:
            return False
        return PART_PRINTED in self._render(way.template, with_marked_parts(messages), way.tools)

    def _adapted(self, way: _Way, messages: Sequence[Message], plan: frozenset[str]) -> tuple[list[Message], list[str]]:
        return adapt(
            messages,
            way.profile,
            format=self.format,
            calls_in_words=way.calls_in_words,
            results_in_words=way.results_in_words,
            system_text=way.system_text,
            tools=self.tools or None,
            plan=plan,
        )

    def _twin(self, way: _Way) -> SentinelRequest:
        key = f"{way.template.origin} {way.tools is None}"
        if key not in self._twins:
            self._twins[key] = sentinel_request_of(
                self.messages, way.tools, way.tested, way.system_text, way.profile.prefill
            )
        return self._twins[key]

    def _neutralized(self, way: _Way) -> Attempt | None:
        """Return the attempt with neutralized markers in assistant texts, or None if that changes or helps nothing."""
        changed = [neutralized_assistant(message, way.tested, way.profile.prefill) for message in self.messages]
        if changed == self.messages:
            return None
        try:
            made = replace(self, messages=changed, lossy=False)._found(way)
        except LimitHit:
            raise
        except (NotDelivered, TemplateError, CannotWrite):
            return None
        return replace(made, adaptations=(*made.adaptations, ASSISTANT_MARKERS_NEUTRALIZED))

    def _without_media(self) -> Request | None:
        """Return the request without images and other media, or None if it has none."""
        if not media_of(self.messages):
            return None
        messages = [without_media(message) for message in self.messages]
        return Request(self.files, self.profile, messages, self.tools, self.variables, self.lossy)

    def _check_media(self, way: _Way) -> None:
        """Raise `NotDelivered` if the template rejects a conversation only because of images or other media."""
        without = self._without_media()
        if without is None:
            return
        try:
            without._found(way)
        except (NotDelivered, TemplateError):
            return  # media are not the only cause
        raise _media_lost(media_of(self.messages)[0][1], way)

    def _media_missing(self, way: _Way, plan: frozenset[str], text: str, twin_prompt: str | None) -> tuple[str, ...]:
        """Return the media that the template writes as data or that leave nothing in the prompt.

        This checks the sentinel prompt, which contains the data of media but no text that may quote the same address.
        """
        media = media_of(self.messages)
        if not media:
            return ()
        pasted = [label for part, label in media if any(data in (twin_prompt or text) for data in media_data(part))]
        if pasted:
            return tuple(pasted)
        messages, _ = self._adapted(way, [without_media(message) for message in self.messages], plan)
        try:
            same = self._render(way.template, messages, way.tools) == text
        except TemplateError:
            same = False
        return tuple(label for _, label in media) if same else ()

    def _rejected_part(self, way: _Way, rejection: TemplateError) -> TemplateError:
        """Return the error extended by the tool or message that the template rejects, or by the missing variable."""

        def rejects(messages: Sequence[Message], tools: list[Message] | None) -> bool:
            try:
                part, _ = self._adapted(way, messages, frozenset())
                self._render(way.template, part, tools)
            except (TemplateError, BadMessages, CannotWrite) as error:
                return str(error) == str(rejection)
            return False

        located = locate(rejection, self.messages, way.tools, rejects)
        return with_missing_variable(located, way.template, way.profile)

    # --- the template

    @cached_property
    def format(self) -> ToolCallFormat:
        return taught_format(self.profile)

    def _template(self, *, with_tools: bool) -> tuple[ChatTemplate, TemplateProfile, Sequence[str]]:
        """Return the template in force and its profile, and a name if only the template for tools exists."""
        for_tools = self.files.template(True)
        source = self.files.template(with_tools) or for_tools
        if source is None:
            raise BadModelDirectory(
                f"{self.files.directory}: no chat template to render with: {self.files.reason(with_tools)}; "
                f"{self.files.way_out}"
            )
        named = [] if self.files.template(with_tools) else [TOOL_USE_TEMPLATE]
        profile = self.profile if source == for_tools else self.profile.without_tools or self.profile
        check_limit(self.files, profile)
        return compiled(self.files, source), profile, named

    def _render(
        self, template: ChatTemplate, messages: list[Message], tools: list[Message] | None = None, **changed: Any
    ) -> str:
        return template.render(messages, tools=tools, **{**self.variables, **changed})

    def without_generation_prompt(self, made: Attempt, messages: list[Message]) -> str:
        """Return the prompt without a generation prompt, for comparison. Empty if the template rejects that."""
        try:
            return self._render(made.template, messages, made.tools, add_generation_prompt=False)
        except TemplateError:
            return ""

    def _without_tools(self, template: ChatTemplate, messages: list[Message]) -> str:
        """Return the prompt without tools, for comparison. Empty if the template rejects that."""
        try:
            return self._render(template, messages)
        except LimitHit:
            raise
        except TemplateError:
            return ""


def _lost(tools: Sequence[Message], parts: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """Return the lost parts of all tools, each with the position and name of its tool."""
    return tuple(
        f"tools[{position}] ({tool['function']['name']}): {part}"
        for position, (tool, lost) in enumerate(zip(tools, parts, strict=True))
        for part in lost
    )


def _described(text: str, prose_text: str, tools: Sequence[Message]) -> Iterator[Span]:
    """Yield where the tool descriptions are in a prompt that describes tools in the system message."""
    begin = text.find(prose_text)
    for description in sorted(set(_descriptions(list(tools))), key=len, reverse=True):
        for spelled in dict.fromkeys((description, json.dumps(description, ensure_ascii=False)[1:-1])):
            at = prose_text.find(spelled)
            while at >= 0:
                yield Span(begin + at, begin + at + len(spelled), -1)
                at = prose_text.find(spelled, at + len(spelled))


def _descriptions(definition: Any) -> Iterator[str]:
    """Yield every text in a definition except names."""
    if isinstance(definition, Mapping):
        for key, value in definition.items():
            if isinstance(value, str) and key not in ("name", "type") and value:
                yield value
            else:
                yield from _descriptions(value)
    elif isinstance(definition, (list, tuple)):
        for value in definition:
            yield from [value] if isinstance(value, str) and value else _descriptions(value)


def _media_lost(label: str, way: _Way) -> NotDelivered:
    return NotDelivered(
        f"{label} is lost: {way.template.origin} does not support it; leave it out, or render with `--lossy` "
        "(in Python: lossy=True)"
    )


_PROSE = "the message that describes the tools"
