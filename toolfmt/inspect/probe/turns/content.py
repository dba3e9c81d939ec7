"""Content: text next to a call, no content next to a call, and lists of parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from toolfmt._util.text_lists import listed
from toolfmt.errors import TemplateError
from toolfmt.inspect.probe.capabilities import CALLS_AT, content_with_call, threw
from toolfmt.inspect.probe.conversations import (
    PARALLEL,
    REASONING,
    REPLY,
    RESULT,
    SINGLE,
    SYSTEM,
    TOOLS,
    USER,
    VALUES,
    Message,
    conversation,
    reply,
    text_part,
)
from toolfmt.inspect.probe.differences import common_prefix
from toolfmt.inspect.probe.turn_markers import MARK
from toolfmt.inspect.probe.turns.turn_probe import CALL_TEXT, IS_STRING, SECOND_USER, TurnProbe, no, printed_as, yes
from toolfmt.inspect.report.error_messages import thrown
from toolfmt.inspect.report.report import Answer
from toolfmt.inspect.report.wording import around, excerpt, quote

_ONE_PART = r"\bcontent\b['\"\])]*(?:\[-?[01]\]|\.0\b|\s*\|\s*(?:first|last)\b)"
"""A template that uses only the first or the last part of a content."""
_BY_ROLE = {"user": USER, "system": SYSTEM, "assistant": REPLY}


def text_with_call(probe: TurnProbe) -> Answer:
    """Return whether text and a call in one turn both appear."""
    if not probe.renders_calls:
        return no("not tested: no call is rendered")
    messages = conversation(probe.shape, SINGLE)
    messages = [message | {"content": CALL_TEXT} if message.get("tool_calls") else message for message in messages]
    prompt = probe.prompt(messages)
    if isinstance(prompt, TemplateError):
        return threw(prompt)
    if VALUES[0] not in prompt:
        return no("a call is dropped if there is text next to it", "call-dropped", probe.line_of(messages, CALL_TEXT))
    if CALL_TEXT not in prompt:
        line = probe.dropped_at([*messages[:-1], {"role": "assistant", "content": CALL_TEXT}], messages, CALL_TEXT)
        line = line or probe.line_of(messages, VALUES[0])
        return no("text next to a call is dropped", "dropped", line, around(prompt, VALUES[0], 60))
    line = probe.line_of(messages, CALL_TEXT, *CALLS_AT)
    later = _with_two_calls(probe) or _once_answered(probe) or _after_a_call(probe)
    error = _with_reasoning(probe, messages)
    if error is not None and later is not None and later.outcome == "lost-later":
        turn = "a turn with text, reasoning and a call"
        rejected = f"{turn} is rejected" if error.line is None else f"line {error.line} rejects {turn}"
        words = f"{later.words}; {rejected}"
        return replace(later, words=words, excerpts=())
    if error is not None and later is None:
        return threw(error, "text and reasoning together next to a call are rejected")
    if later is not None:
        return later
    position = ", after the call" if prompt.find(CALL_TEXT) > prompt.find(VALUES[0]) else ""
    return yes(f"text next to a call appears{position}", line, around(prompt, CALL_TEXT))


def _with_reasoning(probe: TurnProbe, messages: Sequence[Message]) -> TemplateError | None:
    """Return the error for a turn with text, reasoning and a call, if the turn without text is accepted."""
    if not probe.shows_reasoning:
        return None
    both, alone = (
        probe.prompt([one | {"reasoning_content": REASONING} if "tool_calls" in one else one for one in talk])
        for talk in (messages, conversation(probe.shape, SINGLE))
    )
    return both if isinstance(both, TemplateError) and isinstance(alone, str) else None


def _with_two_calls(probe: TurnProbe) -> Answer | None:
    """Return what goes wrong with text next to two calls, if text next to one call is rendered; else None."""
    if not probe.parallel:
        return None
    alone = conversation(probe.shape, PARALLEL)
    messages = [message | {"content": CALL_TEXT} if message.get("tool_calls") else message for message in alone]
    prompt = probe.prompt(messages)
    if isinstance(prompt, TemplateError):
        return no("text next to two calls is rejected: {}", "lost-later", prompt.line, thrown(prompt).sentence)
    if CALL_TEXT not in prompt:
        one_call = [*messages[:-1], messages[-1] | {"tool_calls": messages[-1]["tool_calls"][:1]}]
        line = probe.dropped_at(one_call, messages, CALL_TEXT) or probe.line_of(messages, VALUES[0])
        return no("text next to two calls is dropped, next to one call it is rendered", "lost-later", line)
    return None


def _once_answered(probe: TurnProbe) -> Answer | None:
    """Return what goes wrong with text next to a call later in the conversation, or None.

    Tested after the result and after the next user message.
    """
    if probe.results == "none":
        return None
    history = [
        message | {"content": CALL_TEXT} if message.get("tool_calls") else message for message in probe.history()
    ]
    history = history if history[-1]["role"] == "tool" else history[:-1]
    prompt = probe.ask(history)
    if isinstance(prompt, TemplateError) or RESULT not in prompt:
        return None
    if CALL_TEXT not in prompt:
        return no(
            "text next to a call is kept until the result follows, then dropped",
            "lost-later",
            probe.line_in_history(history, prompt.find(VALUES[0])),
        )
    if prompt.find(CALL_TEXT) > prompt.find(RESULT):
        tools = TOOLS if (probe.answered or probe.shape).tools else None
        line = probe.renders.line_at(history, tools, prompt.find(CALL_TEXT))
        shown = excerpt(prompt, prompt.find(RESULT), prompt.find(CALL_TEXT) + len(CALL_TEXT) + 30)
        what = "text next to a call appears after the result"
        outside = _answer_outside(probe, history)
        what = f"{what}: '{{}}', and the response that follows is not inside a turn: '{{}}'" if outside else what
        return no(what, "misplaced", line, *filter(None, (shown, outside)))
    response: Message = {"role": "assistant", "content": REPLY}
    again: Message = {"role": "user", "content": SECOND_USER}
    finished = probe.ask([*history, response, again])
    if isinstance(finished, str) and REPLY in finished and VALUES[0] in finished and CALL_TEXT not in finished:
        # With the user message directly after the result: does the response in between cause the drop?
        without_response = probe.ask([*history, again])
        by_answer = (
            isinstance(without_response, str) and SECOND_USER in without_response and CALL_TEXT in without_response
        )
        when = "a response without a call follows" if by_answer else "the next user message follows"
        line = probe.line_in_history(history, prompt.find(CALL_TEXT))
        return no(
            f"text next to a call is kept until {when}, then dropped", "lost-later", line or probe.line(*CALLS_AT)
        )
    return None


def _after_a_call(probe: TurnProbe) -> Answer | None:
    """Return what goes wrong with text next to a call that follows an earlier call and its result, or None."""
    if probe.results == "none":
        return None
    history = probe.history()
    response = [] if history[-1]["role"] == "assistant" else reply(probe.shape)[-1:]
    again: Message = {"role": "user", "content": SECOND_USER}
    called = next(message for message in history if message.get("tool_calls"))
    messages = [*history, *response, again, called | {"content": CALL_TEXT}]
    prompt = probe.ask(messages)
    if isinstance(prompt, TemplateError) or prompt.count(VALUES[0]) < 2 or CALL_TEXT in prompt:
        return None
    line = probe.line_in_history(messages, prompt.rfind(VALUES[0]))
    return no("text next to a call is dropped after an earlier call", "lost-later", line)


def _answer_outside(probe: TurnProbe, history: list[Message]) -> str:
    """Return the prompt from the text next to a call to the next response, or an empty string.

    It is empty unless that text ends the turn and no new turn starts.
    """
    plain = probe.text(reply(probe.shape))
    start_markers = set(MARK.findall(plain.partition(USER)[2].partition(REPLY)[0]))
    end_markers = set(MARK.findall(plain.rpartition(REPLY)[2]))
    prompt = probe.ask([*history, {"role": "assistant", "content": REPLY}])
    if not isinstance(prompt, str) or not start_markers:
        return ""
    between = prompt.rpartition(CALL_TEXT)[2].partition(REPLY)[0]
    marks = set(MARK.findall(between))
    return f"{CALL_TEXT}{between}{REPLY}" if end_markers & marks and not (start_markers - end_markers) & marks else ""


def content_absent(probe: TurnProbe) -> Answer:
    """Return whether a turn with a call may lack `content`."""
    return content_with_call(probe.renders, probe.shape if probe.renders_calls else None, "absent")


def calls_empty(probe: TurnProbe) -> Answer:
    """Return whether a text response may have `tool_calls` set to null or to an empty list."""
    answer = _calls_empty(probe)
    # The problem appears after the line that checks for the key; that line is the one to fix.
    key_line = probe.last_line(_KEY_TESTED, answer.line) if answer.outcome and answer.line else None
    return replace(answer, line=key_line) if key_line else answer


_KEY_TESTED = r"""['"]tool_calls['"]\s+in\b|\btool_calls\b(?:['"]?\])?\s+is\s+(?:not\s+)?(?:defined|none)\b"""


def _calls_empty(probe: TurnProbe) -> Answer:
    plain, again = reply(), [{"role": "user", "content": SECOND_USER}]
    expected = probe.prompt([*plain, *again])
    if not isinstance(expected, str) or REPLY not in expected:
        return no("a response with text is not rendered")
    given: dict[str, list[Message] | None] = {"null": None, "an empty list": []}
    answers = {form: _with_calls(probe, [*plain, *again], value, expected) for form, value in given.items()}
    first = next((form for form, answer in answers.items() if answer is not None), "")
    wrong = answers.get(first)
    if wrong is not None:
        same = {form: answer for form, answer in answers.items() if answer and answer.outcome == wrong.outcome}
        words = wrong.words.replace("CALLS", listed(same, "or"))
        last = _with_calls(probe, plain, given[first], probe.text(plain))
        if (last.outcome if last else "") != wrong.outcome and REPLY in probe.text(plain):
            how = "rendered like one without" if last is None else _HOW[last.outcome]
            whose, _, rest = words.partition(" is ")
            words = f"{whose} is {how} if it is the last message, and {rest} if another message follows"
        if any(answer.error != wrong.error for answer in same.values()):
            return replace(wrong, words=f"{words}. The error with {first}")
        others = [(form, answer) for form, answer in answers.items() if answer and form not in same]
        return _combined((first, wrong), *others) if others else replace(wrong, words=words)
    return yes("a response with null or an empty list as `tool_calls` renders the same as a response without it")


def _combined(one: tuple[str, Answer], other: tuple[str, Answer]) -> Answer:
    """Combine two variants of empty `tool_calls` that fail differently. An error comes last."""
    (first, begins), (then, ends) = sorted((one, other), key=lambda pair: pair[1].error is not None)
    shown = " ({})" if begins.excerpts and "{}" not in begins.words else ""
    words = f"{begins.words.replace('CALLS', first)}{shown}; with {then} it is {_HOW[ends.outcome]}"
    also = () if ends.outcome == "dropped" else ends.excerpts
    return replace(one[1], words=words, excerpts=(*begins.excerpts, *also), error=ends.error)


_HOW = {"threw": "rejected", "dropped": "dropped", "like-a-call": "rendered like a turn with calls"}


def _with_calls(probe: TurnProbe, talk: Sequence[Message], value: list[Message] | None, expected: str) -> Answer | None:
    """Return what goes wrong if a text response has this value as `tool_calls` (CALLS in the words), or None."""
    messages = [message | {"tool_calls": value} if message["role"] == "assistant" else message for message in talk]
    prompt = probe.prompt(messages)
    if isinstance(prompt, TemplateError):
        return threw(prompt, "a response with CALLS as `tool_calls` is rejected")
    if prompt == expected:
        return None
    at = common_prefix(expected, prompt)
    if REPLY not in prompt:
        end = common_prefix(expected[at:][::-1], prompt[at:][::-1])
        instead = prompt[at : len(prompt) - end]
        what = "a response with CALLS as `tool_calls` is dropped"
        if instead.strip():
            what = f"{what}, and {{}} is rendered instead"
            return no(what, "dropped", probe.line(*CALLS_AT), quote(instead, 40))
        return no(what, "dropped", probe.line(*CALLS_AT))
    written = excerpt(prompt, prompt.find(REPLY) - 30, prompt.find(REPLY) + len(REPLY) + 30)
    what = "a response with CALLS as `tool_calls` is rendered like a turn with calls"
    return no(what, "like-a-call", probe.line_at(messages, at) or probe.line(*CALLS_AT), written)


def content_parts(probe: TurnProbe) -> Answer:
    """Return whether content may be a list of text parts, for user, system and assistant messages."""
    roles = [role for role, text in _BY_ROLE.items() if text in probe.text(_talk(role, text))]
    role = next((role for role in roles if _parts(probe, role)), None)
    if not roles:
        return no("no content is rendered")
    if role is None:
        wrong = next((wrong for one in roles if (wrong := _of_two_parts(probe, one)) is not None), None)
        return wrong or yes(f"the text of a list of parts appears in {listed(map(_messages, roles))}")
    how, text, only = _parts(probe, role), _BY_ROLE[role], ""
    if _needs_tools(probe, role):  # other roles may fail without tools as well
        always = [one for one in roles if _parts(probe, one) == how and not _needs_tools(probe, one)]
        only = " if tools are given" + (f", and always in {listed(map(_messages, always))}" if always else "")
    talk = _talk(role, text_part(text))
    prompt = probe.prompt(talk)
    if isinstance(prompt, TemplateError):
        every = role == "user" and not only and all(_parts(probe, one) == "threw" for one in roles)
        whose = listed(map(_messages, roles)) if every else _messages(role)
        where = _other_lines(probe, roles, prompt.line) if every else ""
        what = f"a list of parts as content is rejected in {whose}{only}{where}"
        answer = threw(prompt, what if every else f"{what}{_of_other_roles(probe, roles, how)}")
        # jinja2 reports one line for a multi-line expression. A list fails at the line that writes the text.
        written = probe.line_of(_talk(role, text), text)
        at_once = answer.line and written and probe.renders.template.in_one_expression(answer.line, written)
        return replace(answer, line=written) if at_once else answer
    others = _of_other_roles(probe, roles, how)
    if how == "dropped":
        line = probe.line_before(probe.line_of(_talk(role, text), text), IS_STRING)
        return no(f"a list of parts as content is dropped in {_messages(role)}{only}{others}", how, line)
    like = "Python's repr" if how == "python" else "JSON"
    line, shown = probe.line_of(talk, text, r"\bcontent\b"), around(prompt, text, 40)
    what = f"a list of parts as content of {_messages(role)} is printed as {like}"
    return no(f"{what}{only}: {{}}{others}", how, line, shown)


_BECOMES = {
    "threw": "is rejected",
    "dropped": "is dropped",
    "python": "is printed as Python's repr",
    "json-text": "is printed as JSON",
}


def _other_lines(probe: TurnProbe, roles: Sequence[str], line: int | None) -> str:
    """Return the other lines than `line` at which the template rejects a list of parts under these roles."""
    errors = [probe.prompt(_talk(role, text_part(_BY_ROLE[role]))) for role in roles]
    lines = dict.fromkeys(str(error.line) for error in errors if isinstance(error, TemplateError) and error.line)
    others = [one for one in lines if one != str(line)]
    which, reject = ("line", "rejects") if len(others) == 1 else ("lines", "reject")
    return f"; {which} {listed(others)} {reject} it too" if others else ""


def _messages(role: str) -> str:
    """Return what messages of the role are called, for a system message with the tested position."""
    return "a system message at the start" if role == "system" else f"{role} messages"


def _of_other_roles(probe: TurnProbe, roles: Sequence[str], how: str) -> str:
    """Return what the template does with a list of parts under the other roles, if it differs."""
    others: dict[str, list[str]] = {}
    for role in roles:
        if (other := _parts(probe, role)) not in ("", how):
            prompt = probe.prompt(_talk(role, text_part(_BY_ROLE[role])))
            line = prompt.line if isinstance(prompt, TemplateError) else None
            others.setdefault(_BECOMES[other] + (f" (line {line})" if line else ""), []).append(_messages(role))
    return "".join(f"; in {listed(names)} it {what}" for what, names in others.items())


def _of_two_parts(probe: TurnProbe, role: str) -> Answer | None:
    """Return what goes wrong with two text parts as content of the role if each part alone is rendered, or None."""
    texts = (_BY_ROLE[role], CALL_TEXT)
    talk = _talk(role, [part for text in texts for part in text_part(text)])
    prompt = probe.prompt(talk)
    if isinstance(prompt, TemplateError):
        return threw(prompt, f"two parts of text as content are rejected in {_messages(role)}")
    left = [text for text in texts if text in prompt]
    if len(left) == len(texts):
        return None
    if not left:
        line = probe.line_before(probe.line_of(_talk(role, texts[0]), texts[0]), IS_STRING)
        return no(f"two parts of text as content are dropped in {_messages(role)}", "dropped", line)
    which = "last" if left[0] == CALL_TEXT else "first"
    line, shown = probe.line_of(talk, left[0], r"\bcontent\b"), around(prompt, left[0], 40)
    line = (line and probe.last_line(_ONE_PART, line)) or line
    return no(f"of two parts of text in {_messages(role)} only the {which} is in the prompt", "dropped", line, shown)


def _parts(probe: TurnProbe, role: str) -> Literal["", "threw", "dropped", "python", "json-text"]:
    """Return what happens to a list of parts. Empty if its text is rendered."""
    prompt = probe.prompt(_talk(role, text_part(_BY_ROLE[role])))
    if isinstance(prompt, TemplateError):
        return "threw"
    return printed_as(prompt, _BY_ROLE[role]) if _BY_ROLE[role] in prompt else "dropped"


def _needs_tools(probe: TurnProbe, role: str) -> bool:
    """Return whether a list of parts that fails with tools is rendered as its text without tools."""
    text = _BY_ROLE[role]
    without = probe.without_tools(_talk(role, text_part(text)))
    return text in without and not printed_as(without, text)


def _talk(role: str, content: object) -> list[Message]:
    """Return a conversation with this content under the role."""
    return [*_before(role), {"role": role, "content": content}, *_after(role)]


def _before(role: str) -> list[Message]:
    return [{"role": "user", "content": USER}] if role == "assistant" else []


def _after(role: str) -> list[Message]:
    return [{"role": "user", "content": USER}] if role == "system" else []
