"""Ids of calls: accepted forms, whether results need an id to find the tool's name, and which ids are printed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from toolfmt.errors import TemplateError
from toolfmt.inspect.probe.capabilities import CALLS_AT, threw
from toolfmt.inspect.probe.conversations import ID, RESULT, SINGLE, TOOL, USER, VALUES, Message, conversation, reply
from toolfmt.inspect.probe.turns.turn_probe import TurnProbe, no, yes
from toolfmt.inspect.report.report import Answer
from toolfmt.inspect.report.wording import around, quote

Form: TypeAlias = Callable[[str, int], str | None]

ORDINARY = "call_q7Zk2Wx9BvT4mN8sRd3Ly6H"
"""An id in the form of OpenAI's clients and servers: `call_` and 24 letters and digits, the last one counted."""


def ordinary(name: str, position: int) -> str:
    return ORDINARY + "cdefghij"[position % 8]


def nine(name: str, position: int) -> str:
    return ID[:-1] + "BCDEFGHI"[position % 8]


def function(name: str, position: int) -> str:
    return f"functions.{name}:{position}"


def none(name: str, position: int) -> None:
    return None


def ids_ordinary(probe: TurnProbe) -> Answer:
    """Return whether ids may have the form that OpenAI's clients send."""
    return _taken(probe, ordinary)


def ids_nine(probe: TurnProbe) -> Answer:
    """Return whether ids may be nine letters and digits (Mistral's)."""
    return _taken(probe, nine)


def ids_function(probe: TurnProbe) -> Answer:
    """Return whether ids may be `functions.NAME:N` (Kimi's)."""
    return _taken(probe, function)


def ids_none(probe: TurnProbe) -> Answer:
    """Return whether calls and results may lack ids."""
    return _taken(probe, none)


def ids_paired(probe: TurnProbe) -> Answer:
    """Return whether the id of a call appears in the prompt both at the call and at its result."""
    if not probe.renders_calls:
        return no("not tested: no call is rendered")
    if probe.results == "none":
        return no("not tested: no result is rendered")
    form = next((form for form in (ordinary, nine, function) if _taken(probe, form).answer == "yes"), None)
    if form is None:
        return no("calls are rendered only without ids")
    prompt = probe.ask(numbered(probe.history(), form))
    if isinstance(prompt, TemplateError):
        return threw(prompt)
    id = form(TOOL, 0) or ""
    times, line = prompt.count(id), probe.line_in_history(numbered(probe.history(), form), prompt.rfind(id))
    if times == 0:
        return no("the id of a call is not in the prompt")
    if times == 1:
        offset, value, result = (prompt.find(text) for text in (id, VALUES[0], RESULT))
        where = "the result" if abs(offset - result) < abs(offset - value) else "the call"
        return no(f"the id of a call appears only at {where}", "", line, around(prompt, id))
    return yes("the id of a call appears at the call and at its result", line)


def numbered(messages: Sequence[Message], form: Form) -> list[Message]:
    """Return the messages with numbered ids of this form on the calls and, in the same order, on the results."""
    ids: list[str | None] = []
    written: list[Message] = []
    for message in messages:
        calls = []
        for call in message.get("tool_calls") or []:
            ids.append(form(call.get("function", call)["name"], len(ids)))
            calls.append(_with(call, "id", ids[-1]))
        if calls:
            message = {**message, "tool_calls": calls}
        elif message["role"] == "tool":
            answered = sum(other["role"] == "tool" for other in written)
            message = _with(message, "tool_call_id", ids[answered])
        written.append(message)
    return written


def _taken(probe: TurnProbe, form: Form) -> Answer:
    """Return whether a call with an id of this form is rendered with its name and value, and its result as well."""
    if not probe.renders_calls:
        return no("not tested: no call is rendered")
    answered = probe.results != "none"
    messages = numbered(probe.history() if answered else conversation(probe.shape, SINGLE), form)
    unnamed = [{key: value for key, value in message.items() if key != "name"} for message in messages]
    prompts = probe.ask(unnamed), probe.ask(messages)
    prompt = next((prompt for prompt in prompts if isinstance(prompt, str)), prompts[1])
    if isinstance(prompt, TemplateError):
        return threw(prompt)
    id, given = form(TOOL, 0) or "", unnamed if prompt is prompts[0] else messages
    if VALUES[0] not in prompt:
        return no("the call is not in the prompt", "dropped", probe.line(*CALLS_AT))
    value = prompt.find(VALUES[0])
    name = prompt.rfind(TOOL, max(0, prompt.rfind(USER, 0, value)), value)
    line = probe.line_in_history(given, name if name >= 0 else value)
    without_id = prompt if form is function else prompt.replace(id, "")
    plain = probe.text(reply(probe.shape))
    call = without_id[without_id.rfind(USER, 0, without_id.find(VALUES[0])) : without_id.find(VALUES[0])]
    if without_id.count(TOOL) <= plain.count(TOOL) and TOOL not in call:
        return no("the tool's name is gone from the call", "name-lost", line, around(prompt, VALUES[0], 60))
    what = f"a call with {f'the id {id}' if id else 'no id'} is rendered"
    if id and id in prompt:
        line = probe.line_in_history(given, prompt.find(id))
        return yes(f"{what}; it is printed", line, quote(around(prompt, id)))
    return yes(what, line)


def _with(message: Message, key: str, value: str | None) -> Message:
    rest = {name: old for name, old in message.items() if name != key}
    return rest if value is None else {key: value, **rest}
