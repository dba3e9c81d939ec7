"""The turns between a model and its tools, until the model answers without a call.

`run` asks the model, has the registry carry out the calls of its answer in their order, one after the other, and asks
again with the results. What was rejected of an answer is never carried out: the model is told, and may write it again.
So is a call whose arguments no conversation can hold (`toolfmt.messages.arguments`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from toolfmt.agent.argument_checks import check_asked, check_waited_for, registry_of
from toolfmt.agent.async_bridge import Waiting
from toolfmt.agent.execution import Execution
from toolfmt.agent.protocol import AskModel, ModelResponse, heard, said_by
from toolfmt.agent.registry import ToolRegistry
from toolfmt.errors import BadMessages
from toolfmt.messages.message import Message
from toolfmt.messages.tools import kind_of

Ended: TypeAlias = Literal["answered", "cut", "turns", "rejected"]


@dataclass(frozen=True)
class Outcome:
    """What a run has come to.

    `ended` says why it ended: the model "answered" without a call; its answer, without a call, was "cut" (at its limit
    of tokens, by a filter); all "turns" were used, and the last answer still called tools, or it held calls that were
    "rejected" and no other. `messages` is the whole conversation, with what was given to begin with, and with a result
    to each call, so that it can be gone on with. `answer` is the model's last, `executions` all that was dispatched, in
    order.
    """

    ended: Ended
    answer: Message
    messages: list[Any]
    turns: int
    executions: list[Execution]

    @property
    def text(self) -> str:
        """What the model said last, without its reasoning; empty where it only called tools."""
        return self.answer.content or ""


def run(
    model: AskModel,
    messages: Sequence[Any],
    registry: ToolRegistry | Sequence[Any],
    turns: int = 8,
    *,
    on_message: Callable[[dict[str, Any]], object] | None = None,
) -> Outcome:
    """Lets a model call tools until it answers without, `turns` answers at most.

    `model` is made by `from_openai`, `from_stream` or `from_text`, or is any callable that takes messages and
    definitions and returns a `toolfmt.Message`. `registry` may be a list of what one is made of. `on_message` is given
    each message as it is added. Returns the `Outcome`; what the calls of the last allowed answer return stands in it,
    and was not shown to the model. In an async program: `await asyncio.to_thread(run, …)`.

    Raises `BadMessages`, `ValueError` for no turns, `TypeError` for an answer that is no `Message`, a model that is no
    function or async and what is no registry, `BadTools` for a list that makes none, and what the model raises; what
    the tools raise is told to the model (`ToolRegistry.execute`).
    """
    if isinstance(messages, (str, bytes)) or not isinstance(messages, Sequence):
        raise BadMessages(f"messages must be a list of objects, not {kind_of(messages)}")
    if turns < 1:
        raise ValueError(f"turns is how many answers a run may take, at least 1, not {turns}")
    check_asked(model)
    registry = registry_of(registry)
    said: list[Any] = list(messages)
    executions: list[Execution] = []

    def add(message: dict[str, Any]) -> None:
        said.append(message)
        if on_message is not None:
            on_message(message)

    with Waiting() as wait:
        for turn in range(1, turns + 1):
            answer = model(list(said), registry.definitions)
            check_waited_for(answer, "the model")
            if not isinstance(answer, Message):
                raise TypeError(f"a model answers with a toolfmt.Message, not {kind_of(answer)}")
            answer = heard(answer)
            add(said_by(answer))
            for call in answer.tool_calls:
                executions.append(registry.execute(call, wait))
                add(executions[-1].message)
            rejections = [registry.execute(rejected) for rejected in answer.rejected]
            executions += rejections
            if rejections:
                add(_joined(rejections))
            elif not answer.tool_calls:
                cut = isinstance(answer, ModelResponse) and answer.cut
                return Outcome("cut" if cut else "answered", answer, said, turn, executions)
    return Outcome("turns" if answer.tool_calls else "rejected", answer, said, turns, executions)


def _joined(rejections: Sequence[Execution]) -> dict[str, Any]:
    """What tells the model of all that was rejected, in one message: templates refuse users in a row."""
    contents = dict.fromkeys(rejection.message["content"] for rejection in rejections)
    return rejections[0].message | {"content": "\n".join(contents)}
