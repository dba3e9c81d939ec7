"""The turns between a model and its tools, until the model answers without a call.

`run` calls the model, executes the calls of its response one after the other, and calls it again with the results.
Rejected calls are never executed: the model gets the reason and may write the call again. This includes calls whose
arguments a conversation cannot store (`toolfmt.messages.arguments`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from toolfmt.agent.argument_checks import check_model_function, check_waited_for, registry_of
from toolfmt.agent.async_bridge import Waiting
from toolfmt.agent.execution import Execution
from toolfmt.agent.protocol import AskModel, ModelResponse, heard, stored_response
from toolfmt.agent.registry import ToolRegistry
from toolfmt.errors import BadMessages
from toolfmt.messages.message import Message
from toolfmt.messages.tools import kind_of

Ended: TypeAlias = Literal["answered", "cut", "turns", "rejected"]


@dataclass(frozen=True)
class Outcome:
    """The outcome of a run.

    Attributes:
        ended: Why it ended. `answered`: the model answered without a call. `cut`: its response, without a call, was cut
            (at the token limit, by a filter). `turns`: all turns were used, and the last response still called tools.
            `rejected`: all turns were used, and the last response had only rejected calls.
        answer: The model's last message.
        messages: The whole conversation, including the initial messages and a result for each call, so it can be
            continued.
        turns: The number of responses.
        executions: All dispatched calls, in order.
    """

    ended: Ended
    answer: Message
    messages: list[Any]
    turns: int
    executions: list[Execution]

    @property
    def text(self) -> str:
        """The model's last text, without reasoning. Empty if it only called tools."""
        return self.answer.content or ""


def run(
    model: AskModel,
    messages: Sequence[Any],
    registry: ToolRegistry | Sequence[Any],
    turns: int = 8,
    *,
    on_message: Callable[[dict[str, Any]], object] | None = None,
) -> Outcome:
    """Run a model that calls tools until it answers without a call.

    In an async program, use `await asyncio.to_thread(run, …)`. Errors of tools are sent to the model
    (`ToolRegistry.execute`). Raises what the model raises.

    Args:
        model: Created by `from_openai`, `from_completions`, `from_stream` or `from_text`, or any callable that takes
            messages and tool definitions and returns a `toolfmt.Message`.
        messages: The initial messages.
        registry: The tools: a `ToolRegistry`, or a list to create one from.
        turns: The maximum number of responses.
        on_message: Called with each message that is added.

    Returns:
        The outcome. It contains the results of the last allowed response's calls, which the model has not seen.

    Raises:
        BadMessages: The messages are not valid.
        BadTools: The list of tools is not valid.
        ValueError: `turns` is less than 1.
        TypeError: A response is not a `Message`, the model is not a function or is async, or the registry is not valid.
    """
    if isinstance(messages, (str, bytes)) or not isinstance(messages, Sequence):
        raise BadMessages(f"messages must be a list of objects, not {kind_of(messages)}")
    if turns < 1:
        raise ValueError(f"turns is the maximum number of responses, at least 1, not {turns}")
    check_model_function(model)
    registry = registry_of(registry)
    conversation: list[Any] = list(messages)
    executions: list[Execution] = []

    def add(message: dict[str, Any]) -> None:
        conversation.append(message)
        if on_message is not None:
            on_message(message)

    with Waiting() as wait:
        for turn in range(1, turns + 1):
            answer = model(list(conversation), registry.definitions)
            check_waited_for(answer, "the model")
            if not isinstance(answer, Message):
                raise TypeError(f"a model returns a toolfmt.Message, not {kind_of(answer)}")
            answer = heard(answer)
            add(stored_response(answer))
            for call in answer.tool_calls:
                executions.append(registry.execute(call, wait))
                add(executions[-1].message)
            wrong = [rejected for rejected in answer.rejected if rejected.reason != "duplicate_call"]  # that one ran
            rejections = [registry.execute(rejected) for rejected in wrong]
            executions += rejections
            if rejections:
                add(_joined(rejections))
            elif not answer.tool_calls:
                cut = isinstance(answer, ModelResponse) and answer.cut
                return Outcome("cut" if cut else "answered", answer, conversation, turn, executions)
    return Outcome("turns" if answer.tool_calls else "rejected", answer, conversation, turns, executions)


def _joined(rejections: Sequence[Execution]) -> dict[str, Any]:
    """Return one message about all rejected calls, because templates reject consecutive user messages."""
    contents = dict.fromkeys(rejection.message["content"] for rejection in rejections)
    return rejections[0].message | {"content": "\n".join(contents)}
