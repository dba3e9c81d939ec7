"""Reasoning: the field it is read from, and what becomes of it when the conversation goes on."""

from __future__ import annotations

from toolfmt.errors import TemplateError
from toolfmt.inspect.probe.capabilities import threw
from toolfmt.inspect.probe.conversations import REASONING, REPLY, Message, user
from toolfmt.inspect.report import Answer
from toolfmt.inspect.turns.asking import SECOND_USER, Asking, no, yes
from toolfmt.inspect.wording import around

FIELDS = ("reasoning_content", "reasoning", "thinking", "thinking_blocks", "thought", "tool_plan")
"""The names that templates read a turn's reasoning from; transformers gives each what was given under the others."""
_GIVEN = {"reasoning_content": REASONING, "reasoning": REASONING}


def reasoning_field(asking: Asking) -> Answer:
    """Under which name the template reads a turn's reasoning; told from its source, since every name is given."""
    asked = asking.renders.template.keys
    read = {name: asked[name] for name in FIELDS if name in asked}
    if not read:
        return no("the template reads no field for reasoning")
    return yes("read as {}", min(read.values()), ", ".join(read))


def reasoning_earlier(asking: Asking) -> Answer:
    """Whether the reasoning of an answer stays in the prompt once the user has said something else."""
    turn: Message = {"role": "assistant", "content": REPLY, **_GIVEN}
    return _kept(asking, [*user(), turn, {"role": "user", "content": SECOND_USER}], "before the last user message")


def reasoning_in_loop(asking: Asking) -> Answer:
    """Whether the reasoning beside a call is still there when the result has come."""
    if not asking.renders_calls or asking.results == "none":
        return no("no call with a result is rendered")
    messages = [message | _GIVEN if message.get("tool_calls") else message for message in asking.history()]
    return _kept(asking, messages, "beside a call that has been answered")


def _kept(asking: Asking, messages: list[Message], where: str) -> Answer:
    if not asking.shows_reasoning:
        return no("reasoning is not rendered at all")
    prompt = asking.ask(messages)
    if isinstance(prompt, TemplateError):
        return threw(prompt)
    if REASONING in prompt:
        return yes(f"reasoning {where} is kept", None, around(prompt, REASONING))
    return no(f"reasoning {where} is not in the prompt", "dropped")
