"""Detect capabilities with sentinels: render strings that no template contains and search the prompt for them.

`probe` collects every capability in the report. Each `Answer` is `yes`, `no` or `error` (the template raised), with
the evidence for it. Nothing here raises or knows formats. The template's source is only searched for the line to
report.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from toolfmt._util.text_lists import listed
from toolfmt.errors import TemplateError
from toolfmt.inspect.probe.call_order import sorts_calls
from toolfmt.inspect.probe.conversations import (
    DESCRIPTION,
    PARALLEL,
    PARAMETER,
    REASONING,
    RESULT,
    SINGLE,
    SYSTEM,
    TOOL,
    TOOLS,
    USER,
    VALUES,
    Message,
    call_id,
    conversation,
    reply,
    shapes,
    user,
)
from toolfmt.inspect.probe.reasoning import ShownReasoning, shown_reasoning
from toolfmt.inspect.probe.renders import Region, Renders
from toolfmt.inspect.report.error_messages import thrown
from toolfmt.inspect.report.report import Answer, Outcome
from toolfmt.inspect.report.turn_shape import TurnShape
from toolfmt.inspect.report.wording import around, quote

# Patterns of the source lines that handle something; the first pattern that matches gives the line.
_STATEMENT = r"\{%[^%]{0,200}"
_EXPRESSION = r"\{\{[^}]{0,200}"
_TOOLS_AT = (r"\{%-?\s*for\s+\w+\s+in\s+tools\b", rf"{_EXPRESSION}\btools\b", rf"{_STATEMENT}\btools\b")
CALLS_AT = (
    r"\{%-?\s*for\s+\w+\s+in\s+[^%]{0,200}tool_calls\b",
    rf"{_EXPRESSION}\btool_calls\b",
    rf"{_STATEMENT}\btool_calls\b",
)
_TAKES_ONE = r"""\btool_calls\b(?:['"]?\])?\)*\s*(?:\[\s*(?:-?\d|:\s*1\s*\])|\|\s*(?:first|last)\b)"""
RESULTS_AT = (r"""==\s*['"]tool['"]""", r"""['"]tool['"]""")
_SYSTEM_AT = (r"""==\s*['"]system['"]""", r"""['"]system['"]""")
_NO_CONTENT_AT = (r"\bcontent\b['\"\])]*\s+is\s+(?:not\s+)?(?:none|defined|undefined)\b", r"\bcontent\b")
_REASONING_AT = (rf"{_EXPRESSION}\b(?:reasoning_content|thinking)\b", r"\b(?:reasoning_content|thinking)\b")
_DESCRIBED = "a tool's name and description are in the prompt{}"
_NAMED = "the name of a tool appears in the prompt{}, its description does not"
# The whole message is printed: its contents appear, but not as a call.
_DUMPED = re.compile(r"""\btool_calls['"]\s*:""")
# A template iterates over a string as if it were a list: its letters, separated by quotes and numbers.
_SPELLED = re.compile(r"[\W\d]{1,60}?".join(RESULT))


@dataclass(frozen=True)
class Probed:
    """The probe results. `shape` is a turn shape in which the template renders calls, or None."""

    capabilities: dict[str, Answer]
    shape: TurnShape | None
    parallel: bool
    reasoning_turn: str = ""
    """The turn with reasoning, from the first difference to a turn without it. Empty if reasoning does not appear."""
    reasoning_name: str = ""
    """The field name required for reasoning if none of the usual names works."""


@dataclass(frozen=True)
class _CallRender:
    """How a call with one string argument was rendered."""

    how: str
    """`right`, `python`, `double`, `renamed`, `absent` or `error`."""
    excerpt: str = ""
    error: TemplateError | None = None


def probe(renders: Renders) -> Probed:
    """Return every capability of the template, and the shape in which it renders calls."""
    shape, seen = find_shape(renders)
    capabilities = {"tools": _tools(renders)}
    capabilities["tool_calls"] = _tool_calls(renders, shape, seen)
    capabilities["parallel_tool_calls"] = _parallel(renders, shape)
    capabilities["tool_results"] = _results(renders, shape or TurnShape())
    capabilities["tool_call_ids"] = _ids(renders, shape or TurnShape())
    capabilities["system"] = _system(renders, shape)
    capabilities["content_null"] = content_with_call(renders, shape, "null")
    capabilities["content_empty"] = content_with_call(renders, shape, "empty")
    capabilities["arguments_object"] = _arguments(renders, shape, "object")
    capabilities["arguments_string"] = _arguments(renders, shape, "string")
    shown = shown_reasoning(renders, shape)
    capabilities["reasoning"] = _reasoning(renders, shown)
    parallel = capabilities["parallel_tool_calls"].answer == "yes"
    if not isinstance(shown, ShownReasoning):
        return Probed(capabilities, shape, parallel)
    return Probed(capabilities, shape, parallel, shown.turn, shown.name)


def find_shape(renders: Renders) -> tuple[TurnShape | None, _CallRender]:
    """Return the first shape that renders a call correctly; else the first that shows its name and value at all."""
    second: tuple[TurnShape, _CallRender] | None = None
    first: _CallRender | None = None
    for shape in shapes():
        seen = _see(renders, shape)
        if seen.how == "right":
            return shape, seen
        if seen.how == "python" and second is None:
            second = shape, seen
        if first is None or (first.how in ("absent", "error") and seen.how in ("double", "renamed")):
            first = seen
    return second or (None, first or _CallRender("absent"))


def _see(renders: Renders, shape: TurnShape) -> _CallRender:
    region = renders.calls(shape, SINGLE, TOOLS)
    if isinstance(region, TemplateError):
        return _CallRender("error", error=region)
    text, value = region.text, VALUES[0]
    if value not in text or _DUMPED.search(text):
        return _CallRender("absent")
    if TOOL not in text:
        return _CallRender("renamed", quote(text))
    if f'\\"{value}' in text:
        return _CallRender("double", quote(text))
    if f"'{PARAMETER}': '{value}'" in text:
        return _CallRender("python", quote(text))
    return _CallRender("right", quote(text))


# --- one capability each


def _tools(renders: Renders) -> Answer:
    plain, with_tools = renders.render(user(), None), renders.render(user(), TOOLS)
    line = renders.template.line_of(*_TOOLS_AT)
    parts: tuple[str, Outcome] = (" if content is a list of parts", "as-parts")
    ways: tuple[tuple[bool, str, Outcome], ...] = (
        (False, *(parts if renders.content_as_parts else ("", ""))),
        (True, " when there is a system message", "beside-system"),
    )
    for system, where, outcome in ways:
        messages = user(system=system)
        for word, what in ((DESCRIPTION, _DESCRIBED), (TOOL, _NAMED)):
            if word in renders.text(messages, TOOLS):
                return Answer("yes", what.format(where), written_at(renders, messages, TOOLS, word) or line, outcome)
    if isinstance(with_tools, TemplateError):
        return threw(with_tools)
    same = "the prompt is the same with and without tools" if plain == with_tools else "the tools are not in the prompt"
    return Answer("no", same, None if plain == with_tools else line)


def _tool_calls(renders: Renders, shape: TurnShape | None, seen: _CallRender) -> Answer:
    if shape is not None:
        needed = shape.describe()
        with_what = f" with {needed}" if needed else ""
        line = _line_in_call(renders, shape, TOOL)
        return Answer("yes", f"a call is rendered{with_what}", line, excerpts=(seen.excerpt,))
    if seen.error is not None:
        return threw(seen.error)
    if seen.how == "double":
        line = renders.template.line_of(*CALLS_AT)
        return Answer("no", "the arguments appear only double-encoded", line, excerpts=(seen.excerpt,))
    if seen.how == "renamed":
        what = "a call is rendered without the tool's own name"
        return Answer("no", what, None, "text-changed", (seen.excerpt,))
    return Answer("no", "the call of an assistant turn is not in the prompt")


def _parallel(renders: Renders, shape: TurnShape | None) -> Answer:
    if shape is None:
        return _no_calls()
    region = renders.calls(shape, PARALLEL, TOOLS)
    if isinstance(region, TemplateError):
        return threw(region)
    offsets = [region.text.find(value) for value in VALUES]
    line = _line_in_call(renders, shape, TOOL)
    if -1 in offsets:
        lost = listed(name for name, offset in zip(("first", "second"), offsets, strict=True) if offset < 0)
        line = renders.template.line_of(_TAKES_ONE) or line
        return Answer("no", f"of two calls in one turn the {lost} is dropped", line, "dropped")
    if offsets[0] > offsets[1] or sorts_calls(renders, shape):
        return Answer("no", "two calls in one turn appear in the wrong order", line)
    return Answer("yes", "two calls in one turn appear in order", line)


def _results(renders: Renders, shape: TurnShape) -> Answer:
    """Return whether a result appears, in the shape of the calls or a similar one."""
    found = result_shape(renders, shape)
    line = renders.template.line_of(*RESULTS_AT)
    if isinstance(found, TemplateError):
        return threw(found)
    if found is not None:
        messages, tools = conversation(found, SINGLE), TOOLS if found.tools else None
        line = written_at(renders, messages, tools, RESULT) or line
        how = "the result appears" + (", rendered as a response of the model" if _as_answer(renders, found) else "")
        how += ", its text escaped as in JSON" if _as_json(renders, found) else ""
        return Answer("yes", how, line, excerpts=(around(renders.text(messages, tools), RESULT),))
    spelled = _SPELLED.search(renders.text(conversation(shape, SINGLE, results=True), TOOLS))
    if spelled is not None:
        what = "the text of a result is printed letter by letter"
        return Answer("no", what, line, "spelled", (quote(spelled[0]),))
    return Answer("no", "the text of a result is not in the prompt", line)


def _as_answer(renders: Renders, shape: TurnShape) -> bool:
    """Return whether a result is rendered like the same text in an assistant message."""
    tools = TOOLS if shape.tools else None
    messages = conversation(shape, SINGLE)
    as_assistant = [{"role": "assistant", "content": RESULT} if one["role"] == "tool" else one for one in messages]
    return renders.render(messages, tools) == renders.render(as_assistant, tools)


def _as_json(renders: Renders, shape: TurnShape) -> bool:
    """Return whether a quote in a result is rendered escaped."""
    content = f'{RESULT} "said"'
    messages = [one | {"content": content} if one["role"] == "tool" else one for one in conversation(shape, SINGLE)]
    prompt = renders.text(messages, TOOLS if shape.tools else None)
    return content not in prompt and json.dumps(content)[1:-1] in prompt


def result_shape(renders: Renders, shape: TurnShape) -> TurnShape | TemplateError | None:
    """Return the nearest shape in which a result appears, None without one, or the error if all of them raise."""
    nearby = [replace(shape, follows=follows) for follows in ("result", "answer")]
    nearby += [
        replace(nearby[0], arguments="string"),
        replace(nearby[0], content="null"),
        replace(nearby[0], tools=False),
    ]
    errors: list[TemplateError] = []
    for near in dict.fromkeys(nearby):
        prompt = renders.render(conversation(near, SINGLE), TOOLS if near.tools else None)
        if isinstance(prompt, TemplateError):
            errors.append(prompt)
        elif RESULT in prompt:
            return near
    return errors[0] if len(errors) == len(dict.fromkeys(nearby)) else None


def _ids(renders: Renders, shape: TurnShape) -> Answer:
    if shape.ids == "none":
        return Answer("no", "calls are rendered only without ids")
    identifier = call_id(shape, TOOL, 0) or ""
    errors: list[TemplateError] = []
    near = replace(shape, follows="result" if shape.follows == "nothing" else shape.follows)
    for messages in (conversation(near, SINGLE), conversation(shape, SINGLE)):
        prompt = renders.render(messages, TOOLS if shape.tools else None)
        if isinstance(prompt, TemplateError):
            errors.append(prompt)
        elif identifier in prompt:
            line = renders.line_at(messages, TOOLS if shape.tools else None, prompt.find(identifier))
            return Answer("yes", "the id of a call appears", line, excerpts=(around(prompt, identifier),))
    return threw(errors[0]) if len(errors) == 2 else Answer("no", "the id of a call is not in the prompt")


def _system(renders: Renders, shape: TurnShape | None) -> Answer:
    line, tools = renders.template.line_of(*_SYSTEM_AT), None
    prompt = renders.render(user(system=True), tools)
    if isinstance(prompt, TemplateError):
        tools = TOOLS
        prompt = renders.render(user(system=True), tools)
    if isinstance(prompt, TemplateError):
        return threw(prompt)
    with_tools = renders.render(user(system=True), TOOLS)
    if SYSTEM not in prompt:
        when = " unless tools are given" if isinstance(with_tools, str) and SYSTEM in with_tools else ""
        return Answer("no", f"the system message is not in the prompt{when}", line)
    if isinstance(with_tools, str) and DESCRIPTION in with_tools and SYSTEM not in with_tools:
        return Answer("no", "the system message is dropped when tools are given", line)
    line = written_at(renders, user(system=True), None, SYSTEM) or line
    if _lost_after_result(renders, shape, SYSTEM):
        what = "the system message is rendered for a question and dropped after a tool result"
        return Answer("no", what, line, "lost-later")
    before, _, after = prompt.partition(SYSTEM)
    between, _, rest = after.partition(USER)
    inside = not between.strip() and before + USER + rest == renders.render(user(), tools)
    return Answer("yes", f"the system message appears{' at the beginning of the question' if inside else ''}", line)


def _lost_after_result(renders: Renders, shape: TurnShape | None, sentinel: str) -> bool:
    """Return whether a sentinel from before the question disappears once a call and its result follow the question."""
    found = None if shape is None else result_shape(renders, shape)
    if not isinstance(found, TurnShape):
        return False
    messages = conversation(replace(found, system=True, follows="result"), SINGLE)
    prompt = renders.text(messages, TOOLS if found.tools else None)
    return RESULT in prompt and sentinel not in prompt


def content_with_call(renders: Renders, shape: TurnShape | None, content: Literal["null", "empty", "absent"]) -> Answer:
    """Return whether a turn with a call may have this content without an error, a lost call or a printed `None`."""
    changed_shape = replace(shape or TurnShape(), content=content)
    region = renders.calls(changed_shape, SINGLE, TOOLS)
    if isinstance(region, TemplateError):
        return threw(region)
    line = renders.template.line_of(*CALLS_AT)
    if shape is not None and VALUES[0] not in region.text:
        return Answer("no", f"the call is dropped when the content is {content}", line, "dropped")
    if shape is None and _leaves_nothing(renders, changed_shape):
        what = f"the whole turn is dropped when the content is {content}"
        return Answer("no", what, renders.template.line_of(*_NO_CONTENT_AT), "dropped")
    for word in ("None", "null"):
        if _words(region.text).count(word) > _words(_with_text(renders, changed_shape)).count(word):
            tools = TOOLS if changed_shape.tools else None
            line = (
                renders.line_at(conversation(changed_shape, SINGLE), tools, _word_at(region, word), innermost=True)
                or line
            )
            return Answer("no", f"the word {word} is printed", line, "none-printed", (quote(region.text),))
    error = _error_later(renders, changed_shape)
    if error is not None:
        return threw(error, "once a result follows")
    without = "" if shape is not None else ", without the call"
    return Answer("yes", f"a turn with a call and {content} content is rendered{without}")


def _leaves_nothing(renders: Renders, shape: TurnShape) -> bool:
    """Return whether the turn with the call is missing from the prompt, but not if its content is an empty string."""
    tools = TOOLS if shape.tools else None
    with_it, empty = (
        renders.text(conversation(one, SINGLE), tools) for one in (shape, replace(shape, content="empty"))
    )
    return with_it == renders.text(user(system=shape.system), tools) != empty


def _error_later(renders: Renders, shape: TurnShape) -> TemplateError | None:
    """Return the error raised for this content when the turn is not the last one, if text as content raises none."""
    prompts = [
        renders.render(conversation(replace(shape, content=content, follows="result"), SINGLE), TOOLS)
        for content in (shape.content, "text")
    ]
    return prompts[0] if isinstance(prompts[0], TemplateError) and isinstance(prompts[1], str) else None


def _arguments(renders: Renders, shape: TurnShape | None, form: Literal["object", "string"]) -> Answer:
    if shape is None:
        return _no_calls()
    shape = replace(shape, arguments=form)
    seen = _see(renders, shape)
    if seen.error is not None:
        return threw(seen.error)
    line = _line_in_call(renders, shape, VALUES[0])
    match seen.how:
        case "right":
            return Answer("yes", "the value is unchanged", line)
        case "double":
            return Answer("no", "the arguments are double-encoded", line, "double-encoded", (seen.excerpt,))
        case "python":
            return Answer("no", "the arguments are printed as Python's repr", line, "python", (seen.excerpt,))
        case _:
            return Answer("no", "the value is not in the prompt", line, "dropped")


def _reasoning(renders: Renders, shown: ShownReasoning | TemplateError | None) -> Answer:
    """Return whether the last turn's reasoning appears: in a field, next to a call, or as a part of the content."""
    if isinstance(shown, TemplateError):
        return threw(shown)
    if shown is None:
        return Answer("no", "the reasoning of the last turn is not in the prompt")
    line = written_at(renders, shown.messages, TOOLS, REASONING) or renders.template.line_of(*_REASONING_AT)
    return Answer("yes", f"reasoning appears{shown.how}", line, shown.outcome, (shown.excerpt,))


# --- helpers


def written_at(
    renders: Renders, messages: Sequence[Message], tools: Sequence[Message] | None, sentinel: str
) -> int | None:
    """Return the line of the template that writes this sentinel into the prompt, or None if it does not appear."""
    offset = renders.text(messages, tools).find(sentinel)
    return renders.line_at(messages, tools, offset) if offset >= 0 else None


def _line_in_call(renders: Renders, shape: TurnShape, word: str) -> int | None:
    """Return the line that writes this sentinel of a single call; else the first line about calls.

    A value may be written in a macro.
    """
    region = renders.calls(shape, SINGLE, TOOLS)
    offset = region.text.find(word) if isinstance(region, Region) else -1
    line = None
    if isinstance(region, Region) and offset >= 0:
        talk, tools = conversation(shape, SINGLE), TOOLS if shape.tools else None
        line = renders.line_at(talk, tools, len(region.before) + offset, innermost=word != TOOL)
    return line or renders.template.line_of(*CALLS_AT)


def _word_at(region: Region, word: str) -> int:
    """Return the offset of this word in the calls of a prompt."""
    found = re.search(rf"\b{word}\b", region.text)
    return len(region.before) + (found.start() if found else 0)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


def _with_text(renders: Renders, shape: TurnShape) -> str:
    region = renders.calls(replace(shape, content="text"), SINGLE, TOOLS)
    return region.text if isinstance(region, Region) else renders.text(reply(shape))


def threw(error: TemplateError, when: str = "", *excerpts: str) -> Answer:
    """Return the `error` answer for a template that raised. `when` describes the part of the request that causes it."""
    return Answer("error", when, error.line, "threw", excerpts, thrown(error))


def _no_calls() -> Answer:
    return Answer("no", "no call is rendered")
