"""The conversations that verify a fix, and the variants in which clients may send them.

A finding is about one variant (`Variant`), such as content null instead of an empty string, or an empty list of tools
instead of none. The template accepts the conversations below, so their prompts show what the variants have to render
to. This module is only data.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from toolfmt.inspect.checks.editing.template_fix import Variant
from toolfmt.inspect.probe.conversations import (
    ALL_TOOLS,
    BARE_TOOL,
    EVERY_TYPE,
    PARALLEL,
    RESULT,
    SINGLE,
    TOOLS,
    Call,
    Message,
    answering,
    calling,
)
from toolfmt.inspect.report.turn_shape import TurnShape


@dataclass(frozen=True)
class PromptRequest:
    """A prompt to render. `typed` is set if a call in it has an argument that is not a string."""

    name: str
    messages: tuple[Message, ...]
    tools: Sequence[Message] | None = None
    generation: bool = False
    typed: bool = False
    thinking: bool | None = None
    """The variable `enable_thinking`; None if unset."""

    @property
    def variables(self) -> dict[str, Any]:
        return {} if self.thinking is None else {"enable_thinking": self.thinking}


_USER = {"role": "user", "content": "What is the weather in Osnabrück?"}
_LINES = {
    "role": "user",
    "content": 'First line, "quoted" and \'so\'.\nSecond line:\n\n  {"a": 1} </think> <b>&amp;</b>',
}
_SYSTEM = {"role": "system", "content": "You are brief.\nYou are kind."}
_ANSWER = {"role": "assistant", "content": "It rains."}
_THOUGHT = {"role": "assistant", "content": "It rains.", "reasoning_content": "Let me think.\nIt is autumn."}
_WRITTEN = {"role": "assistant", "content": "<think>\nIt is autumn.\n</think>\n\nIt rains."}
_AGAIN = {"role": "user", "content": " And tomorrow?\n"}
_EMPTY = {"role": "user", "content": ""}
_IMAGE = {"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "What is this?"}]}


def conversations(shape: TurnShape) -> Iterator[PromptRequest]:
    """Yield every prompt to compare. Turns with calls have the shape that the template accepts."""
    for system in ((), (_SYSTEM,)):
        context = "with a system message" if system else "alone"
        for tools in (None, TOOLS):
            situation = f"{context}{', tools' if tools else ''}"
            yield PromptRequest(f"a question {situation}", (*system, _USER), tools)
            yield PromptRequest(f"a question to be answered {situation}", (*system, _USER), tools, True)
            yield PromptRequest(
                f"an answer and another question {situation}", (*system, _LINES, _ANSWER, _AGAIN), tools, True
            )
    for thinking in (False, True):
        yield PromptRequest(
            f"enable_thinking {thinking}", (_SYSTEM, _USER, _THOUGHT, _AGAIN), TOOLS, True, thinking=thinking
        )
    yield PromptRequest("reasoning", (_USER, _THOUGHT, _AGAIN, _THOUGHT), None)
    yield PromptRequest("reasoning in the text", (_USER, _WRITTEN, _AGAIN, _WRITTEN), None)
    yield PromptRequest("an empty question", (_EMPTY, _ANSWER, _AGAIN), None, True)
    yield PromptRequest("an image", (_IMAGE,), None, True)
    yield PromptRequest("two questions in a row", (_USER, _AGAIN), None, True)
    yield PromptRequest("an answer that goes on", (_USER, _ANSWER), TOOLS)
    yield PromptRequest("a later system message", (_USER, _ANSWER, _SYSTEM, _AGAIN), None, True)
    yield from _with_calls(shape)


def _with_calls(shape: TurnShape) -> Iterator[PromptRequest]:
    tools = ALL_TOOLS if shape.tools else None
    for name, written in (("a call", shape), ("a call with text", replace(shape, content="text"))):
        for system in ((), (_SYSTEM,)):
            called = (*system, _USER, calling(written, SINGLE))
            done = (*called, *answering(written, SINGLE, [RESULT]))
            suffix = ", system" if system else ""
            yield PromptRequest(f"{name}{suffix}", called, tools)
            yield PromptRequest(f"{name} and its result{suffix}", done, tools, True)
            yield PromptRequest(f"{name}, an answer and a question{suffix}", (*done, _ANSWER, _AGAIN), tools, True)
    both = (_USER, calling(shape, PARALLEL), *answering(shape, PARALLEL, [RESULT, '{"degrees": 7}\n']))
    yield PromptRequest("two calls and their results", both, tools, True)
    yield PromptRequest("two calls, an answer and a question", (*both, _ANSWER, _AGAIN), tools, True)
    second = (calling(shape, SINGLE, first=2), *answering(shape, SINGLE, [RESULT], first=2))
    yield PromptRequest("calls in two turns", (*both, *second, _ANSWER), tools)
    reasoned = calling(shape, SINGLE) | {"reasoning_content": "I have to look."}
    yield PromptRequest("a call with reasoning", (_USER, reasoned, *answering(shape, SINGLE, [RESULT])), tools, True)
    parts = {"content": [{"type": "text", "text": RESULT}, {"type": "text", "text": "More."}]}
    messages = (_USER, calling(shape, SINGLE), *(one | parts for one in answering(shape, SINGLE, [RESULT])))
    yield PromptRequest("a result in parts", messages, tools, True)
    bare: list[Call] = [(BARE_TOOL, {})]
    yield PromptRequest("a call without arguments", (_USER, calling(shape, bare)), tools)
    yield PromptRequest("a call with values of every type", (_USER, calling(shape, EVERY_TYPE)), tools, typed=True)
    if shape.tools:
        yield PromptRequest("a call without tools", both, None, True)


# --- variants


def written_as(request: PromptRequest, variant: Variant) -> PromptRequest | None:
    """Return the same request in this variant, or None if it does not change."""
    if variant == "tools-empty":
        return replace(request, tools=[]) if request.tools is None else None
    change = _CHANGES[variant]
    messages = tuple(change(message) for message in request.messages)
    return None if messages == request.messages else replace(request, messages=messages)


def _arguments(form: type) -> Callable[[Message], Message]:
    def change(message: Message) -> Message:
        return message | {"tool_calls": list(map(_call, message["tool_calls"]))} if "tool_calls" in message else message

    def _call(call: Message) -> Message:
        if "function" in call:
            return call | {"function": _call(call["function"])}
        arguments = call["arguments"]
        if isinstance(arguments, form):
            return call
        converted = json.dumps(arguments, ensure_ascii=False) if form is str else json.loads(arguments)
        return call | {"arguments": converted}

    return change


def _content_null(message: Message) -> Message:
    return message | {"content": None} if "tool_calls" in message and message.get("content") == "" else message


def _content_absent(message: Message) -> Message:
    absent = _content_null(message) != message
    return {key: value for key, value in message.items() if key != "content"} if absent else message


def _calls(nothing: list[Any] | None) -> Callable[[Message], Message]:
    def change(message: Message) -> Message:
        is_text = message["role"] == "assistant" and "tool_calls" not in message
        return message | {"tool_calls": nothing} if is_text else message

    return change


def _developer(message: Message) -> Message:
    return message | {"role": "developer"} if message["role"] == "system" else message


def in_parts(request: PromptRequest, places: Collection[int], *, several: bool = True) -> PromptRequest:
    """Return the request with the content of these messages as parts, or as a single part each."""
    written = (_parts(one, several=several) if at in places else one for at, one in enumerate(request.messages))
    return replace(request, messages=tuple(written))


def _parts(message: Message, *, several: bool = True) -> Message:
    content = message.get("content")
    if not isinstance(content, str) or not content or message["role"] == "tool":
        return message
    texts = content.split("\n") if several else [content]
    return message | {"content": [{"type": "text", "text": text} for text in texts]}


_CHANGES: dict[Variant, Callable[[Message], Message]] = {
    "arguments-string": _arguments(str),
    "arguments-object": _arguments(dict),
    "content-null": _content_null,
    "content-absent": _content_absent,
    "calls-null": _calls(None),
    "calls-empty": _calls([]),
    "developer": _developer,
    "parts": _parts,
}
VARIANTS: tuple[Variant, ...] = (*_CHANGES, "tools-empty")
IN_WORDS: dict[Variant, str] = {
    "arguments-string": "arguments as a string",
    "arguments-object": "arguments as an object",
    "content-null": "content null",
    "content-absent": "no content",
    "calls-null": "null as `tool_calls`",
    "calls-empty": "an empty list as `tool_calls`",
    "developer": "the role developer",
    "parts": "content as a list of parts",
    "tools-empty": "an empty list of tools",
}
