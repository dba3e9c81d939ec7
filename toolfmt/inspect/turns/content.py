"""Content: text beside a call, none at all beside one, and lists of parts."""

from __future__ import annotations

from toolfmt.errors import TemplateError
from toolfmt.inspect.probe.capabilities import CALLS_AT, content_beside_call, threw
from toolfmt.inspect.probe.conversations import (
    REPLY,
    SINGLE,
    SYSTEM,
    USER,
    VALUES,
    Message,
    conversation,
    reply,
    text_part,
)
from toolfmt.inspect.report import Answer
from toolfmt.inspect.turns.asking import BESIDE, SECOND_USER, Asking, no, printed_as, yes
from toolfmt.inspect.wording import around, excerpt


def text_beside_call(asking: Asking) -> Answer:
    """Whether a turn may hold text and a call: both appear."""
    if not asking.renders_calls:
        return no("no call is rendered")
    messages = conversation(asking.shape, SINGLE)
    messages = [message | {"content": BESIDE} if message.get("tool_calls") else message for message in messages]
    prompt = asking.prompt(messages)
    if isinstance(prompt, TemplateError):
        return threw(prompt)
    line = asking.line(*CALLS_AT)
    if VALUES[0] not in prompt:
        return no("a call is dropped where there is text beside it", "call-dropped", line)
    if BESIDE not in prompt:
        return no("text beside a call is dropped", "dropped", line, around(prompt, VALUES[0], 60))
    line = asking.line_of(messages, BESIDE, *CALLS_AT)
    return yes("text beside a call appears", line, around(prompt, BESIDE))


def content_absent(asking: Asking) -> Answer:
    """Whether a turn with a call may have no content at all."""
    return content_beside_call(asking.renders, asking.shape if asking.renders_calls else None, "absent")


def calls_empty(asking: Asking) -> Answer:
    """Whether an answer in words may say that it makes no calls: `tool_calls` null or an empty list."""
    plain, again = reply(), [{"role": "user", "content": SECOND_USER}]
    expected = asking.prompt([*plain, *again])
    if not isinstance(expected, str) or REPLY not in expected:
        return no("an answer in words is not rendered")
    for value, told in ((None, "null"), ([], "an empty list")):
        messages = [*plain[:-1], plain[-1] | {"tool_calls": value}, *again]
        prompt = asking.prompt(messages)
        if isinstance(prompt, TemplateError):
            return threw(prompt, f"an answer with {told} as `tool_calls` is refused")
        if prompt != expected:
            line = asking.line_of(messages, REPLY, *CALLS_AT)
            if REPLY not in prompt:
                return no(f"an answer with {told} as `tool_calls` is dropped", "dropped", line)
            written = excerpt(prompt, prompt.find(REPLY) - 30, prompt.find(REPLY) + len(REPLY) + 30)
            what = f"an answer with {told} as `tool_calls` is written like a turn with calls"
            return no(what, "like-a-call", line, written)
    return yes("an answer with null or an empty list as `tool_calls` is rendered as one without")


def content_parts(asking: Asking) -> Answer:
    """Whether content may be a list of text parts, of a question, an instruction and an answer alike."""
    texts = {"user": USER, "system": SYSTEM, "assistant": REPLY}
    said = []
    for role, text in texts.items():
        given = [*_before(role), {"role": role, "content": text}, *_behind(role)]
        if not isinstance(whole := asking.prompt(given), str) or text not in whole:
            continue  # as a string it does not come out either
        in_parts: list[Message] = [*_before(role), {"role": role, "content": text_part(text)}, *_behind(role)]
        prompt = asking.prompt(in_parts)
        if isinstance(prompt, TemplateError):
            return threw(prompt)
        if text not in prompt:
            return no(f"content of the role {role} given as a list of parts is dropped", "dropped")
        how = printed_as(prompt, text)
        if how:
            like = "Python's repr" if how == "python" else "JSON"
            shown = around(prompt, text, 40)
            line = asking.line_of(in_parts, text, r"\bcontent\b")
            return no(f"a list of parts (role {role}) is printed as {like}", how, line, shown)
        said.append(role)
    if not said:
        return no("no content is rendered")
    return yes(f"the text of a list of parts appears (role {', '.join(said)})")


def _before(role: str) -> list[Message]:
    return [{"role": "user", "content": USER}] if role == "assistant" else []


def _behind(role: str) -> list[Message]:
    return [{"role": "user", "content": USER}] if role == "system" else []
