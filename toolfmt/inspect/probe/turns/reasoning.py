"""Reasoning: the field it is read from, and what happens to it as the conversation continues."""

from __future__ import annotations

from toolfmt.errors import TemplateError
from toolfmt.inspect.probe.capabilities import threw
from toolfmt.inspect.probe.conversations import REASONING, REPLY, SINGLE, VALUES, Message, conversation, user
from toolfmt.inspect.probe.reasoning import USUAL, names_read
from toolfmt.inspect.probe.turns.turn_probe import SECOND_USER, TurnProbe, no, yes
from toolfmt.inspect.report.report import Answer
from toolfmt.inspect.report.wording import around

_GIVEN = {"reasoning_content": REASONING}
_AGAIN: Message = {"role": "user", "content": SECOND_USER}


def reasoning_field(probe: TurnProbe) -> Answer:
    """Return the names under which the template's source reads reasoning."""
    read = names_read(probe.renders.template)
    if not read:
        return no("the template reads no field for reasoning")
    return yes("the template looks at {}", min(read.values()), ", ".join(sorted(read, key=_usual_first)))


def _usual_first(name: str) -> tuple[bool, str]:
    return name not in USUAL, name


def reasoning_earlier(probe: TurnProbe) -> Answer:
    """Return whether the reasoning of a response stays in the prompt after the next user message."""
    turn: Message = {"role": "assistant", "content": REPLY, **_GIVEN}
    answered = [*user(), turn]
    answers = _kept(probe, [*answered, _AGAIN], "before the last user message")
    if not probe.renders_calls or probe.results == "none":
        return answers
    called = [message for message in _thinking(probe) if message["role"] != "assistant" or "tool_calls" in message]
    calls = _kept(
        probe,
        [*called, {"role": "assistant", "content": REPLY}, _AGAIN],
        "next to a call before the last user message",
    )
    by_answer = calls.outcome == "dropped" and _stays(probe, called)
    kept = "is kept until a response without a call follows, then dropped"
    if REASONING not in probe.text(answered):  # Rendered only next to calls, so test it there.
        what = f"reasoning next to a call {kept}"
        return no(what, "lost-later", calls.line) if by_answer else calls
    if by_answer and answers.outcome == "dropped":
        what = f"reasoning is dropped when the next user message follows; next to a call, it {kept}"
        return no(what, "lost-later", calls.line)
    return answers


def _stays(probe: TurnProbe, called: list[Message]) -> bool:
    """Return whether the reasoning of an answered call stays if the next user message directly follows the result."""
    prompt = probe.ask([*called, _AGAIN])
    return isinstance(prompt, str) and SECOND_USER in prompt and REASONING in prompt


def reasoning_in_loop(probe: TurnProbe) -> Answer:
    """Return whether the reasoning next to a call stays in the prompt after its result."""
    if not probe.renders_calls or probe.results == "none":
        return no("not tested: no call with a result is rendered")
    return _kept(probe, _thinking(probe), "next to a call that has a result")


def reasoning_unclosed(probe: TurnProbe) -> Answer:
    """Return whether a call is rendered if the text next to it opens a reasoning block and does not close it."""
    if not probe.renders_calls:
        return no("not tested: no call is rendered")
    messages = conversation(probe.shape, SINGLE)
    plain, prompt = (
        probe.ask([one | {"content": text} if one.get("tool_calls") else one for one in messages])
        for text in (REASONING, f"<think>{REASONING}")
    )
    if isinstance(plain, TemplateError) or VALUES[0] not in plain:
        return no("no call next to text is rendered")
    if isinstance(prompt, TemplateError):
        return threw(prompt, "a call next to an unclosed <think> is rejected")
    if VALUES[0] not in prompt:
        return no("a call next to an unclosed <think> is dropped", "call-dropped")
    return yes("a call next to an unclosed <think> is rendered")


def _thinking(probe: TurnProbe) -> list[Message]:
    """Return a call with reasoning next to it, and its result."""
    return [message | _GIVEN if message.get("tool_calls") else message for message in probe.history()]


def _kept(probe: TurnProbe, messages: list[Message], where: str) -> Answer:
    if not probe.shows_reasoning:
        return no("reasoning is not rendered with the default variables")
    prompt = probe.ask(messages)
    if isinstance(prompt, TemplateError):
        return threw(prompt)
    with_generation = probe.ask(messages, generation=True)
    if REASONING in prompt and isinstance(with_generation, str) and REASONING not in with_generation:
        return no(f"reasoning {where} is not in a prompt with a generation prompt", "dropped")
    if REASONING in prompt:
        return yes(f"reasoning {where} is kept", None, around(prompt, REASONING))
    line = probe.dropped_at(messages[:-1], messages, REASONING)
    return no(f"reasoning {where} is not in the prompt", "dropped", line)
