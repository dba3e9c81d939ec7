"""The interface of a model for `run`: a callable.

    def model(messages, tools) -> toolfmt.Message: ...

`messages` are those of the conversation so far and `tools` the definitions of the registry, both in the format of a
chat endpoint. Call ids must be unique in the conversation (`toolfmt.taken_ids`). A model that knows more about a
response than a `Message` contains returns a `ModelResponse`; those of `toolfmt.agent.models` do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from toolfmt.messages.arguments import READABLE, read_object, unfit, unreadable_rejected
from toolfmt.messages.events import Event
from toolfmt.messages.message import CALL_ID, Message, Rejected, ToolCall, stored_message, taken_ids

_ENDED = (
    *("stop", "eos", "eos_token", "stop_sequence", "stop_string", "end_turn", "complete", "completed"),
    *("tool_calls", "tool_call", "tool_use", "function_call"),
)
"""Finish reasons of servers and runtimes if the model ended the response: OpenAI ("stop", "tool_calls",
"function_call"), Anthropic ("end_turn", "stop_sequence", "tool_use"), TGI ("eos_token", "stop_sequence"), Cohere
("COMPLETE", "TOOL_CALL"), the Responses API ("completed").
"""
AskModel: TypeAlias = Callable[[list[Any], list[dict[str, Any]]], Message]
"""A model for `run`: takes the messages so far and the tool definitions, and returns the response."""


@dataclass(slots=True)
class ModelResponse(Message):
    """A response, with more than a `Message` contains.

    Attributes:
        cut: Whether the response was cut (at the token limit, by a filter).
        stored: The message as it is stored in the conversation.
    """

    cut: bool = False
    stored: dict[str, Any] | None = None

    @classmethod
    def of(cls, message: Message, cut: bool, stored: dict[str, Any]) -> ModelResponse:
        """Return the response for a message.

        Args:
            message: The message.
            cut: Whether the response was cut.
            stored: The message as it is stored in the conversation.
        """
        return cls(message.content, message.reasoning, message.tool_calls, message.rejected, cut, stored)

    @classmethod
    def of_events(
        cls, events: Iterable[Event], messages: Iterable[Any], cut: bool, call_id: str = CALL_ID
    ) -> ModelResponse:
        """Return the response in these events. Calls that a conversation cannot store are rejected.

        Args:
            events: The events of the response.
            messages: The messages of the conversation so far, whose call ids are taken.
            cut: Whether the response was cut.
            call_id: The form of generated ids (`ToolCallFormat.call_id`).
        """
        events = unreadable_rejected(events)
        message = Message.from_events(events, taken_ids(messages), call_id)
        return cls.of(message, cut, stored_message(events, message))


def was_cut(reason: object) -> bool:
    """Return whether this finish reason means that the response may be incomplete.

    True for "length", "content_filter", "abort" and unknown reasons, False without a reason.
    """
    return reason is not None and not (isinstance(reason, str) and reason.lower() in _ENDED)


def heard(message: Message) -> Message:
    """Return a model's response with calls that a conversation cannot store moved to the rejected ones."""
    unreadable = [call for call in message.tool_calls if read_object(call.arguments)[1]]
    if not unreadable:
        return message
    rejected = [_unreadable(index, call) for index, call in enumerate(message.tool_calls) if call in unreadable]
    left = [call for call in message.tool_calls if call not in unreadable]
    made = replace(message, tool_calls=left, rejected=[*message.rejected, *rejected])
    return replace(made, stored=None) if isinstance(made, ModelResponse) else made


def _unreadable(index: int, call: ToolCall) -> Rejected:
    given = call.arguments
    message = unfit(read_object(given)[1], call.name)
    return Rejected(index, "invalid_arguments", (0, 0), given, call.name, given, 0, READABLE, message)


def stored_response(message: Message) -> dict[str, Any]:
    """Return a response as it is stored in the conversation: rejected calls stay in its content as text."""
    if isinstance(message, ModelResponse) and message.stored is not None:
        return message.stored
    stored = message.to_openai()
    if message.rejected:
        stored["content"] = "".join([message.content or "", *(rejected.raw for rejected in message.rejected)])
    return stored
