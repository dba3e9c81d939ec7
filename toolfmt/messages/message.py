"""Collect events into an assistant message.

This module only reads events. If the model wrote no id, an id is generated in the form of its family. Generated ids
continue from the ids already used, so they are unique in a conversation and do not depend on a clock or on random
numbers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from string import Formatter
from typing import Any

from toolfmt.messages.events import (
    Content,
    Event,
    Reasoning,
    RejectionReason,
    ToolCallArguments,
    ToolCallEnd,
    ToolCallRejected,
    ToolCallStart,
    no_event,
)

CALL_ID = "call_{number}"
"""The id form for model families without their own."""
_TRIED_NUMBERS = (0, 1, 10**9, 10**9 + 1)
"""A form that gives these different ids (`{number:.3e}` does not) never repeats an id."""


@dataclass(slots=True)
class ToolCall:
    """A complete call.

    Attributes:
        id: The id of the call.
        name: The name of the tool.
        arguments: The arguments as JSON text.
    """

    id: str
    name: str
    arguments: str

    def to_dict(self) -> dict[str, Any]:
        """Return the call in OpenAI's format."""
        return {
            "id": self.id,
            "type": "function",
            "function": {"name": self.name, "arguments": self.arguments},
        }


@dataclass(slots=True)
class Rejected:
    """A call that must not be executed: the reason, the position, the text, and name and arguments if known.

    `at`, `expected`, `message` and `tokens` are those of `ToolCallRejected`.
    """

    index: int
    reason: RejectionReason
    span: tuple[int, int]
    raw: str
    name: str | None = None
    arguments: str = ""
    at: int = 0
    expected: str = ""
    message: str = ""
    tokens: tuple[int, int] | None = None

    def to_dict(self) -> dict[str, Any]:
        return {
            "index": self.index,
            "reason": self.reason,
            "span": list(self.span),
            "raw": self.raw,
            "name": self.name,
            "arguments": self.arguments,
            "at": self.at,
            "expected": self.expected,
            "message": self.message,
        }


@dataclass(slots=True)
class Message:
    """One assistant message.

    Attributes:
        content: The text for the user, None if there is none.
        reasoning: The text of the reasoning blocks, None if there is none.
        tool_calls: The complete calls.
        rejected: The calls that must not be executed, each with the reason and its text.
    """

    content: str | None = None
    reasoning: str | None = None
    tool_calls: list[ToolCall] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)

    @classmethod
    def from_events(cls, events: Iterable[Event], taken_ids: Collection[str] = (), call_id: str = CALL_ID) -> Message:
        """Return the message that the events of one response form.

        A call that neither ended nor was rejected is left out (the parser was not finished).

        Args:
            events: The events.
            taken_ids: The call ids already used in the conversation.
            call_id: The form of generated ids (`ToolCallFormat.call_id` of the model's format).

        Raises:
            TypeError: An item is not an event, or `taken_ids` is not a collection of ids.
            ValueError: `call_id` gives two calls the same id.
        """
        message = cls()
        ids = CallIds(taken_ids, call_id)
        started: dict[int, ToolCall] = {}
        # Joined once: a response may come in as many pieces as it has characters.
        content: list[str] = []
        reasoning: list[str] = []
        arguments: dict[int, list[str]] = {}
        for event in events:
            if isinstance(event, Content):
                content.append(event.text)
            elif isinstance(event, Reasoning):
                reasoning.append(event.text)
            elif isinstance(event, ToolCallStart):
                started[event.index] = ToolCall(ids.of(event), event.name, "")
                arguments[event.index] = []
            elif isinstance(event, ToolCallArguments):
                arguments[event.index].append(event.delta)
            elif isinstance(event, ToolCallEnd):
                call = started.pop(event.index)
                call.arguments = "".join(arguments.pop(event.index))
                message.tool_calls.append(call)
            elif isinstance(event, ToolCallRejected):
                arguments_text = "".join(arguments.pop(event.index, ()))
                message.rejected.append(_rejected(event, started.pop(event.index, None), arguments_text))
            else:
                raise no_event(event)
        message.content = "".join(content) if content else None
        message.reasoning = "".join(reasoning) if reasoning else None
        return message

    def to_dict(self) -> dict[str, Any]:
        """Return the message as JSON data, including rejected calls."""
        return {
            "role": "assistant",
            "content": self.content,
            "reasoning_content": self.reasoning,
            "tool_calls": [call.to_dict() for call in self.tool_calls],
            "rejected": [rejected.to_dict() for rejected in self.rejected],
        }

    def to_openai(self) -> dict[str, Any]:
        """Return the message for a chat endpoint, without empty keys and without `rejected`.

        A message must have content or calls. A message without both gets the content `""`.
        """
        message: dict[str, Any] = {"role": "assistant"}
        if self.content or not self.tool_calls:
            message["content"] = self.content or ""
        if self.reasoning:
            message["reasoning_content"] = self.reasoning
        if self.tool_calls:
            message["tool_calls"] = [call.to_dict() for call in self.tool_calls]
        return message


def stored_message(events: Iterable[Event], message: Message) -> dict[str, Any]:
    """Return a message and its events as a conversation stores them: like `to_openai`, plus rejected text."""
    stored = message.to_openai()
    if message.rejected:
        stored["content"] = "".join(
            event.text if isinstance(event, Content) else event.raw
            for event in events
            if isinstance(event, (Content, ToolCallRejected))
        )
    return stored


def _rejected(event: ToolCallRejected, started: ToolCall | None, arguments: str) -> Rejected:
    name = started.name if started else None
    call = event.index, event.reason, event.span, event.raw, name, arguments
    return Rejected(*call, event.at, event.expected, event.message, event.tokens)


class CallIds:
    """Assigns ids to calls: the model's own id if it is unused, else one in the form of the model's family.

    The number in a generated id continues from the calls in the conversation.

    Args:
        taken: The ids already used in the conversation (`taken_ids`).
        form: The form of generated ids (`ToolCallFormat.call_id`).

    Raises:
        TypeError: `taken` is not a collection of ids.
        ValueError: `form` gives two calls the same id.
    """

    def __init__(self, taken: Collection[str] = (), form: str = CALL_ID) -> None:
        self._taken = _ids_taken(taken)
        self._next = len(self._taken)
        problem = _form_problem(form) if isinstance(form, str) else "is not a string"
        if problem:
            raise ValueError(f"call_id {form!r} {problem}; write a form such as {CALL_ID!r} or '{{name}}:{{number}}'")
        self._form = form

    def of(self, event: ToolCallStart) -> str:
        """Return the id of the call that starts here. Each id is returned once.

        Args:
            event: The start event of the call.
        """
        id = event.id
        while not id or id in self._taken:
            id = self._form.format(name=event.name, number=self._next)
            self._next += 1
        self._taken.add(id)
        return id


def _ids_taken(taken: object) -> set[str]:
    if isinstance(taken, (tuple, list, set, Iterable)) and not isinstance(taken, (str, bytes)):
        ids = tuple(taken)
        if all(isinstance(id, str) for id in ids):
            return set(ids)
    raise TypeError("taken_ids is a collection of ids; taken_ids(messages) makes one")


@lru_cache(maxsize=64)
def _form_problem(form: str) -> str:
    """Return why a form does not give every number a different id, empty if it does."""
    try:
        fields = [(field, spec or "") for _, field, spec, _ in Formatter().parse(form) if field is not None]
        unknown = [field for field, _ in fields if field not in ("name", "number")]
        if unknown:
            return f"has the placeholder {{{unknown[0]}}}, and only {{name}} and {{number}} are known"
        if not any(field == "number" for field, _ in fields):
            return "has no {number}, so that every call would have one id"
        if any("{" in spec for _, spec in fields):
            return "has a placeholder within another"
        made = {form.format(name="f", number=number) for number in _TRIED_NUMBERS}
    except (ValueError, TypeError, OverflowError, MemoryError) as error:
        return f"cannot be filled in ({error})"
    return "" if len(made) == len(_TRIED_NUMBERS) else "gives two numbers one id"


def taken_ids(messages: Iterable[Any]) -> list[str]:
    """Return the call ids in a conversation's messages, those of calls and results, each once, in order.

    Args:
        messages: `Message`s, mappings, or objects with `model_dump()`: Chat Completions messages, Anthropic messages
            with blocks, or Responses API items. Objects that are not messages are ignored.

    Raises:
        TypeError: `messages` is a single message or a string.
    """
    if isinstance(messages, (str, bytes, Mapping, Message)) or callable(getattr(messages, "model_dump", None)):
        raise TypeError("messages is a list of messages; taken_ids([message]) takes one alone")
    return list(dict.fromkeys(id for message in messages for id in _ids_in(message)))


def _ids_in(message: Any) -> Iterator[str]:
    if isinstance(message, Message):
        yield from (call.id for call in message.tool_calls)
        return
    fields = _as_mapping(message)
    calls, parts = fields.get("tool_calls"), fields.get("content")
    own = [fields.get("tool_call_id"), fields.get("call_id")]  # of a result; of an item, either a call or a result
    own += [_as_mapping(call).get("id") for call in (calls if isinstance(calls, (list, tuple)) else ())]
    for part in map(_as_mapping, parts if isinstance(parts, (list, tuple)) else ()):
        own += [part.get("id") if part.get("type") == "tool_use" else part.get("tool_use_id")]
    yield from (id for id in own if isinstance(id, str) and id)


def _as_mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else _dumped(value)


def _dumped(value: Any) -> Mapping[str, Any]:
    dump = getattr(value, "model_dump", None)
    dumped = dump() if callable(dump) and not isinstance(value, type) else {}
    return dumped if isinstance(dumped, Mapping) else {}
