"""What `run` asks for answers, and what it is given: a model is a callable, whatever runs behind it.

    def model(messages, tools) -> toolfmt.Message: ...

`messages` are those of the conversation so far, `tools` the definitions of the registry, both as a chat endpoint takes
them. Calls have ids that no other call of the conversation has (`toolfmt.taken_ids`). A model that knows more of an
answer than a `Message` holds returns an `ModelResponse`; those of `toolfmt.agent.models` do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from toolfmt.messages.arguments import read_object, unreadable_rejected
from toolfmt.messages.events import Event
from toolfmt.messages.message import CALL_ID, Message, Rejected, said_in, taken_ids

_ENDED = (
    *("stop", "eos", "eos_token", "stop_sequence", "stop_string", "end_turn", "complete", "completed"),
    *("tool_calls", "tool_call", "tool_use", "function_call"),
)
"""What servers and runtimes give as the reason of an answer's end where the model ended it: OpenAI ("stop",
"tool_calls", "function_call"), Anthropic ("end_turn", "stop_sequence", "tool_use"), TGI ("eos_token",
"stop_sequence"), Cohere ("COMPLETE", "TOOL_CALL"), the Responses API ("completed")."""
AskModel: TypeAlias = Callable[[list[Any], list[dict[str, Any]]], Message]


@dataclass(slots=True)
class ModelResponse(Message):
    """A message, whether the model was stopped before it ended (`cut`: at its limit of tokens, by a filter), and the
    message as it stays in the conversation (`said`)."""

    cut: bool = False
    said: dict[str, Any] | None = None

    @classmethod
    def of(cls, message: Message, cut: bool, said: dict[str, Any]) -> ModelResponse:
        return cls(message.content, message.reasoning, message.tool_calls, message.rejected, cut, said)

    @classmethod
    def told(cls, events: Iterable[Event], messages: Iterable[Any], cut: bool, call_id: str = CALL_ID) -> ModelResponse:
        """The answer to these messages that the events tell; a call that no conversation can hold is rejected."""
        events = unreadable_rejected(events)
        message = Message.from_events(events, taken_ids(messages), call_id)
        return cls.of(message, cut, said_in(events, message))


def was_cut(reason: object) -> bool:
    """Whether an answer that ended for this reason may lack its end: "length", "content_filter", "abort" and whatever
    is not known; not where no reason is given."""
    return reason is not None and not (isinstance(reason, str) and reason.lower() in _ENDED)


def heard(message: Message) -> Message:
    """The answer of a model; its calls that no conversation can hold are among what was rejected."""
    unreadable = [call for call in message.tool_calls if read_object(call.arguments)[1]]
    if not unreadable:
        return message
    rejected = [
        Rejected(index, "invalid_arguments", (0, 0), call.arguments, call.name, call.arguments)
        for index, call in enumerate(message.tool_calls)
        if call in unreadable
    ]
    left = [call for call in message.tool_calls if call not in unreadable]
    made = replace(message, tool_calls=left, rejected=[*message.rejected, *rejected])
    return replace(made, said=None) if isinstance(made, ModelResponse) else made


def said_by(message: Message) -> dict[str, Any]:
    """An answer as it stays in the conversation: what was rejected stays in its content, as the text that it is."""
    if isinstance(message, ModelResponse) and message.said is not None:
        return message.said
    said = message.to_openai()
    if message.rejected:
        said["content"] = "".join([message.content or "", *(rejected.raw for rejected in message.rejected)])
    return said
