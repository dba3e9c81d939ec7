"""Role order: a later system message, the developer role, two turns of one role, a user message after a result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from toolfmt._util.text_lists import listed
from toolfmt.errors import TemplateError
from toolfmt.inspect.probe.capabilities import CALLS_AT, threw
from toolfmt.inspect.probe.conversations import (
    REPLY,
    RESULT,
    SINGLE,
    SYSTEM,
    USER,
    VALUES,
    Message,
    conversation,
    reply,
    user,
)
from toolfmt.inspect.probe.turns.turn_probe import SECOND_REPLY, SECOND_USER, TurnProbe, describe_gap, no, yes
from toolfmt.inspect.report.report import Answer
from toolfmt.inspect.report.wording import around

_AGAIN: Message = {"role": "user", "content": SECOND_USER}
_LATER = "Vs3later"
_DEVELOPER = "Wd1developer"


def system_later(probe: TurnProbe) -> Answer:
    """Return whether a second system message, in the middle of the conversation, appears."""
    before = [*user(system=True), _answer(probe)]
    if not _appear(probe, [*before, _AGAIN], [SYSTEM, SECOND_USER]):
        return no("a conversation that begins with a system message is not rendered completely either")
    messages = [*before, {"role": "system", "content": _LATER}, _AGAIN]
    prompt = probe.prompt(messages)
    if isinstance(prompt, TemplateError):
        return threw(prompt)
    if _LATER not in prompt:
        return no(f"a later system message is dropped{_with_tools(probe, messages, _LATER)}", "dropped")
    line = probe.line_of(messages, _LATER)
    if SYSTEM not in prompt:
        return no("a later system message replaces the first one", "misplaced", line)
    at = prompt.find(_LATER)
    if prompt.find(REPLY) < at < prompt.find(SECOND_USER):
        return yes("a later system message appears in its place", line, around(prompt, _LATER))
    where = "to the beginning" if at < prompt.find(USER) else "after the question that follows it"
    where = where if at < prompt.find(USER) or at > prompt.find(SECOND_USER) else "before the response"
    return yes(f"a later system message appears, moved {where}", line, around(prompt, _LATER))


def system_alone(probe: TurnProbe) -> Answer:
    """Return whether a conversation may be a system message alone, as some clients send it to warm a cache."""
    if not _appear(probe, user(system=True), [SYSTEM, USER]):
        return no("no system message is rendered")
    alone = user(system=True)[:1]
    prompt = probe.prompt(alone)
    where = _with_tools(probe, alone, SYSTEM)
    if isinstance(prompt, TemplateError):
        return threw(prompt, f"a system message alone is rejected{where}")
    if SYSTEM not in prompt:
        return no(f"a system message alone is dropped{where}", "dropped")
    return yes("a system message alone is rendered", None, around(prompt, SYSTEM))


def developer(probe: TurnProbe) -> Answer:
    """Return what happens to the developer role: a role of its own, treated as system, dropped, or rejected."""
    messages = [{"role": "developer", "content": _DEVELOPER}, *user()]
    prompt = probe.prompt(messages)
    plain = probe.prompt(user())
    if isinstance(prompt, TemplateError):
        return threw(prompt) if isinstance(plain, str) else no("no user message is rendered")
    if _DEVELOPER not in prompt:
        return _developer_dropped(probe, messages)
    line, shown = probe.line_of(messages, _DEVELOPER), around(prompt, _DEVELOPER)
    for role, called in (("system", "a system message"), ("user", "a question"), ("assistant", "a response")):
        if probe.prompt([{"role": role, "content": _DEVELOPER}, *user()]) == prompt:
            answer = yes(f"a developer message at the start of the conversation is treated as {called}", line, shown)
            return replace(answer, outcome="as-answer") if role == "assistant" else answer
    return yes("a message of the role developer is rendered", line, shown)


def _developer_dropped(probe: TurnProbe, messages: Sequence[Message]) -> Answer:
    """Return where a developer message is dropped: always, only with tools, or only at the conversation's start."""
    known = probe.line(r"""['"]developer['"]""")
    line = probe.dropped_at([messages[0] | {"role": "system"}, *user()], messages, _DEVELOPER) or known
    later = [*user(), _answer(probe), messages[0], _AGAIN]
    where = _with_tools(probe, messages, _DEVELOPER)
    if _DEVELOPER in probe.text(later):
        where = f" at the start of the conversation{where}"
    return no(f"a message of the role developer is dropped{where}", "dropped", line)


def _with_tools(probe: TurnProbe, messages: Sequence[Message], text: str) -> str:
    """Return " if tools are given" if `text` appears only in the prompt without tools, else an empty string."""
    return " if tools are given" if text in probe.without_tools(messages) else ""


def users_in_a_row(probe: TurnProbe) -> Answer:
    """Return whether two user messages may follow each other."""
    return _both(probe, user(), [*user(), _AGAIN], [USER, SECOND_USER], "two user messages in a row")


def assistants_in_a_row(probe: TurnProbe) -> Answer:
    """Return whether two responses may follow each other."""
    answer = _answer(probe)
    more = answer | {"content": SECOND_REPLY}
    base = [*user(), answer, _AGAIN]
    before, last = [*user(), answer, more, _AGAIN], [*user(), answer, more]
    system: Message = {"role": "system", "content": SYSTEM}
    with_system = [before, last, [system, *before]] if _appear(probe, [system, *before], [SYSTEM]) else [before, last]
    found, *others = (_both(probe, base, talk, [REPLY, SECOND_REPLY], "two responses in a row") for talk in with_system)
    where = [name for name, other in zip(_ELSEWHERE, others, strict=False) if other != found]
    return (
        replace(found, words=f"{listed(where)}, {found.words or 'two responses in a row are rejected'}")
        if where
        else found
    )


_ELSEWHERE = ("before another question", "without a system message")


def _answer(probe: TurnProbe) -> Message:
    """Return a text response, with reasoning if the shape has it."""
    return reply(probe.shape)[-1]


def user_after_result(probe: TurnProbe) -> Answer:
    """Return whether a user message may directly follow a result."""
    if not probe.renders_calls or probe.results == "none":
        return no("not tested: no call with a result is rendered")
    base = probe.history()
    if base[-1]["role"] == "assistant":
        base = base[:-1]
    return _both(probe, base, [*base, _AGAIN], [RESULT, SECOND_USER], "a user message right after a result")


def history_without_tools(probe: TurnProbe) -> Answer:
    """Return whether calls and results of earlier turns are still rendered if no tools are passed."""
    if not probe.renders_calls:
        return no("not tested: no call is rendered")
    answered = probe.results != "none"
    messages = probe.history() if answered else conversation(probe.shape, SINGLE)
    expected = [VALUES[0], RESULT] if answered else [VALUES[0]]
    prompt = probe.renders.render(messages, None)
    if isinstance(prompt, TemplateError):
        return threw(prompt)
    lost = [what for what, text in zip(("the call", "the result"), expected, strict=False) if text not in prompt]
    if lost:
        verb = "is" if len(lost) == 1 else "are"
        return no(
            f"without tools {listed(lost)} of an earlier turn {verb} not in the prompt",
            "dropped",
            probe.line(*CALLS_AT),
        )
    return yes("a call and its result are rendered without tools as well")


def _both(
    probe: TurnProbe, base: Sequence[Message], messages: Sequence[Message], texts: Sequence[str], what: str
) -> Answer:
    """Return whether both strings appear in order, if the conversation without the second one renders."""
    plain = probe.ask(base)
    if isinstance(plain, TemplateError) or texts[0] not in plain:
        return no("the conversation without it is not rendered either")
    prompt = probe.ask(messages)
    if isinstance(prompt, TemplateError):
        return threw(prompt)
    lost = [text for text in texts if text not in prompt]
    if lost:
        return no(f"of {what} one is dropped", "dropped")
    begin, end = prompt.find(texts[0]) + len(texts[0]), prompt.find(texts[1])
    words, shown = describe_gap(prompt[begin:end])
    return yes(f"{what}: both are in the prompt; {words}", None, *shown)


def _appear(probe: TurnProbe, messages: Sequence[Message], texts: Sequence[str]) -> bool:
    prompt = probe.prompt(messages)
    return isinstance(prompt, str) and all(text in prompt for text in texts)
