"""Results: several in one turn, out of order, without a name or an id, and with content as a list of parts."""

from __future__ import annotations

from toolfmt.errors import TemplateError
from toolfmt.inspect.probe.capabilities import threw
from toolfmt.inspect.probe.conversations import (
    BARE_TOOL,
    PARAMETER,
    REPLY,
    RESULT,
    TOOL,
    USER,
    VALUES,
    Message,
    conversation,
    reply,
    text_part,
)
from toolfmt.inspect.probe.turn_markers import MARK, between
from toolfmt.inspect.probe.turns.turn_probe import (
    IS_STRING,
    SECOND_RESULT,
    SECOND_USER,
    TurnProbe,
    contents,
    no,
    printed_as,
    standing,
    yes,
)
from toolfmt.inspect.report.report import Answer
from toolfmt.inspect.report.wording import around

_NO_ID = "zq0Zq0zq0"
_OF_TWO_TOOLS = ((TOOL, {PARAMETER: VALUES[0]}), (BARE_TOOL, {PARAMETER: VALUES[1]}))


def results_several(asking: TurnProbe) -> Answer:
    """Return whether the results of two calls all appear in order, and whether they share a turn."""
    nothing = _nothing_to_ask(asking, several=True)
    if nothing is not None:
        return nothing
    prompt = asking.ask(asking.history(several=True))
    if isinstance(prompt, TemplateError):
        return threw(prompt)
    line = asking.result_line
    first, second = (prompt.find(text) for text in (RESULT, SECOND_RESULT))
    if -1 in (first, second):
        return no(f"of two results the {'first' if first < 0 else 'second'} is dropped", "dropped", line)
    if second < first:
        return no("two results appear in the wrong order", "misplaced", line)
    before, stretch = prompt[max(0, prompt.rfind(VALUES[1], 0, first)) : first], prompt[first + len(RESULT) : second]
    under_one = _under_one_name(asking, named=True, numbered=True)
    if under_one is not None:
        return under_one
    of_turns, closers, between_them = _turn_marks(asking), _closers(asking), set(MARK.findall(stretch))
    openers = (of_turns - closers) & set(MARK.findall(before))
    how = "each in a turn of its own" if of_turns & between_them else "in one turn"
    if of_turns & between_them and openers and not openers & between_them:
        how = "where the turn of the first ends and none begins for the second"
    words, shown = standing(stretch)
    return yes(f"two results appear {how}; {words}", line, *shown)


def _turn_marks(asking: TurnProbe) -> set[str]:
    """Return the markers that the template writes between a question, a response and the next question."""
    again: Message = {"role": "user", "content": SECOND_USER}
    prompt = asking.renders.text([*reply(asking.shape), again])
    stretches = between(prompt, USER, REPLY, SECOND_USER)
    return {mark for stretch in stretches for mark in MARK.findall(stretch)}


def _closers(asking: TurnProbe) -> set[str]:
    """Return the markers that the template writes after a response that is the last turn."""
    return set(MARK.findall(asking.renders.text(reply(asking.shape)).rpartition(REPLY)[2]))


def results_reordered(asking: TurnProbe) -> Answer:
    """Return whether results in another order than the calls are still matched to them by id.

    Renders the same results in the same order with swapped ids. If the prompts are equal, the template ignores the
    ids.
    """
    nothing = _nothing_to_ask(asking, several=True)
    if nothing is not None:
        return nothing
    messages = asking.history(several=True)
    answers = [message for message in messages if message["role"] == "tool"]
    if len({message.get("tool_call_id") for message in answers}) < 2:
        return no("calls are rendered only without ids", "by-order")
    before = messages[: messages.index(answers[0])]
    behind = messages[messages.index(answers[-1]) + 1 :]
    as_called = asking.ask([*before, *answers, *behind])
    swapped = asking.told([*before, *reversed(answers), *behind], [RESULT, SECOND_RESULT])
    turned = asking.ask(swapped)
    if isinstance(turned, TemplateError):
        return threw(turned)
    line = asking.result_line
    if as_called == turned:
        what = "results are matched to calls by position; their ids change nothing in the prompt"
        if _names_by_id(asking):
            what = "results of the same tool are matched by position; the id only selects the tool's name"
        return no(what, "by-order", line)
    id = str(answers[0].get("tool_call_id"))
    if isinstance(as_called, str) and id not in as_called:
        return yes("results are ordered by their ids; the prompt does not contain the ids", line)
    return yes("the prompt shows by its id which call a result belongs to", line)


def _names_by_id(asking: TurnProbe) -> bool:
    """Return whether the tool name of a result is looked up by id: with two tools, swapped ids change the prompt."""
    shape = asking.answered or asking.shape
    messages = asking.told(conversation(shape, _OF_TWO_TOOLS, results=True), [RESULT, SECOND_RESULT])
    nameless = [_left_out(message, "name") for message in messages]
    ids = [message.get("tool_call_id") for message in nameless if message["role"] == "tool"]
    if None in ids:
        return False
    turned = iter(reversed(ids))
    swapped = [m | {"tool_call_id": next(turned)} if m["role"] == "tool" else m for m in nameless]
    one, other = asking.ask(nameless), asking.ask(swapped)
    return isinstance(one, str) and isinstance(other, str) and one != other


def results_unnamed(asking: TurnProbe) -> Answer:
    """Return whether a result may have the id of its call and no tool name, as clients send it."""
    return _without(asking, "name")


def results_unnumbered(asking: TurnProbe) -> Answer:
    """Return whether a result may have only the tool's name, without the id of its call."""
    return _under_one_name(asking, named=True) or _without(asking, "tool_call_id")


def results_unmatched(asking: TurnProbe) -> Answer:
    """Return whether a result is rendered that has neither the tool's name nor the id of a call."""
    nothing = _nothing_to_ask(asking)
    if nothing is not None:
        return nothing
    bare = [_left_out(_left_out(one, "name"), "tool_call_id") for one in asking.history()]
    other = [one | {"tool_call_id": _NO_ID} if one["role"] == "tool" else one for one in bare]
    without = "a result with neither name nor id"
    if (asking.answered or asking.shape).ids != "none":
        without += ", whose call has an id,"
    for what, made in ((without, bare), ("a result whose id no call has", other)):
        prompt = asking.ask(made)
        if isinstance(prompt, TemplateError):
            return threw(prompt, f"{what} is rejected")
        if RESULT not in prompt:
            return no(f"{what} is dropped", "dropped", asking.result_line)
    return _under_one_name(asking) or yes(
        "a result that has neither the name of its tool nor the id of its call is rendered"
    )


def _under_one_name(asking: TurnProbe, *, named: bool = False, numbered: bool = False) -> Answer | None:
    """Return a negative answer if the results of two tools are rendered under the name of one tool, else None.

    Results have names only if `named`; calls and results have ids only if `numbered`.
    """
    if _nothing_to_ask(asking, several=True) is not None:
        return None
    messages = conversation(asking.answered or asking.shape, _OF_TWO_TOOLS, results=True)
    messages = asking.told(messages, [RESULT, SECOND_RESULT])
    if not named:
        messages = [_left_out(message, "name") for message in messages]
    if not numbered:
        messages = [_without_ids(message) for message in messages]
    prompt = asking.ask(messages)
    if isinstance(prompt, TemplateError) or not -1 < prompt.find(RESULT) < prompt.find(SECOND_RESULT):
        return None
    first = prompt[prompt.rfind(VALUES[1], 0, prompt.find(RESULT)) : prompt.find(RESULT)]
    second = prompt[prompt.find(RESULT) : prompt.find(SECOND_RESULT)]
    for name, other in ((TOOL, BARE_TOOL), (BARE_TOOL, TOOL)):
        if name in first and name in second and other not in first + second:
            line = asking.line_in_history(messages, prompt.rfind(name, 0, prompt.find(RESULT)))
            called = "first" if name == TOOL else "last"
            when = "" if numbered else "if neither calls nor results have ids, "
            what = f"{when}the results of two tools are both rendered under the name of the {called} tool called"
            return no(what, "name-lost", line, around(prompt, RESULT))
    return None


def _without_ids(message: Message) -> Message:
    """Return the message without its id and the ids of its calls."""
    calls = [{key: value for key, value in call.items() if key != "id"} for call in message.get("tool_calls", ())]
    return _left_out(message, "tool_call_id") | ({"tool_calls": calls} if calls else {})


def results_alone(asking: TurnProbe) -> Answer:
    """Return whether a result is rendered although its call is not in the conversation."""
    nothing = _nothing_to_ask(asking)
    if nothing is not None:
        return nothing
    prompt = asking.ask([message for message in asking.history() if not message.get("tool_calls")])
    unless = "" if RESULT in f"{prompt}" else _unless_after_an_earlier_call(asking)
    if isinstance(prompt, TemplateError):
        return threw(prompt, f"a result without its call is rejected{unless}")
    if RESULT not in prompt:
        return no(f"a result without its call is dropped{unless}", "dropped")
    return yes("a result without its call is rendered", None, around(prompt, RESULT))


def _unless_after_an_earlier_call(asking: TurnProbe) -> str:
    """Return the condition for rendering a result without its call after an earlier call, or an empty string."""
    history = [one for one in asking.history() if one["role"] != "assistant" or one.get("tool_calls")]
    orphan = contents([one for one in history if one["role"] == "tool"], [SECOND_RESULT])
    orphan = [one | {"tool_call_id": _NO_ID} if "tool_call_id" in one else one for one in orphan]
    again: Message = {"role": "user", "content": SECOND_USER}
    if SECOND_RESULT in f"{asking.ask([*history, *reply(asking.shape)[-1:], again, *orphan])}":
        return " if the conversation contains no call at all"
    if SECOND_RESULT in f"{asking.ask([*history, again, *orphan])}":
        return ", unless there is no response between it and an earlier call"
    return ""


def results_as_parts(asking: TurnProbe) -> Answer:
    """Return whether the content of a result may be a list of one or several parts."""
    answer = _with_content(asking, text_part(RESULT), "list of parts")
    if answer.outcome or answer.answer != "yes" or asking.results == "parts":
        return answer
    messages = contents(asking.history(), [[*text_part(RESULT), *text_part(SECOND_RESULT)]])
    prompt = asking.ask(messages)
    if isinstance(prompt, TemplateError):
        return threw(prompt, "a result of two parts is rejected")
    left = [text for text in (RESULT, SECOND_RESULT) if text in prompt]
    if len(left) == 1:
        what = f"of a result of two parts only the {'first' if left == [RESULT] else 'last'} is in the prompt"
        line = asking.line_in_history(messages, prompt.find(left[0]))
        return no(what, "dropped", line, around(prompt, left[0]))
    line = asking.line_before(asking.result_line, IS_STRING)
    return answer if left else no("a result of two parts is dropped", "dropped", line)


def results_null(asking: TurnProbe) -> Answer:
    """Return whether the content of a result may be null, as sent for a function that returns nothing."""
    nothing = _nothing_to_ask(asking)
    if nothing is not None:
        return nothing
    messages = contents(asking.history(), [None])
    prompt, empty = asking.ask(messages), asking.ask(contents(asking.history(), [""]))
    if isinstance(prompt, TemplateError):
        return threw(prompt, "a result with `content: null` is rejected")
    if prompt.count("None") > f"{empty}".count("None"):
        line = asking.line_in_history(messages, prompt.rfind("None"))
        return no("`content: null` of a result is printed as `None`", "python", line, around(prompt, "None"))
    return yes("a result with `content: null` is rendered")


def results_as_documents(asking: TurnProbe) -> Answer:
    """Return whether the content of a result may be documents, as in Cohere's API."""
    document = {"type": "document", "document": {"id": "0", "data": {"text": RESULT}}}
    return _with_content(asking, [document], "document")


def _with_content(asking: TurnProbe, content: list[Message], form: str) -> Answer:
    """Return whether the text of a result with this content appears."""
    nothing = _nothing_to_ask(asking)
    if nothing is not None:
        return nothing
    messages = contents(asking.history(), [content])
    prompt = asking.ask(messages)
    if isinstance(prompt, TemplateError):
        return threw(prompt)
    if RESULT not in prompt:
        parts = contents(asking.history(), [text_part(RESULT)])
        usual = parts if RESULT in f"{asking.ask(parts)}" else asking.history()
        line = asking.dropped_at(usual, messages, RESULT) or asking.differs_at(usual, messages)
        line = line or asking.line_before(asking.result_line, IS_STRING)
        return no(f"the text of a result given as a {form} is not in the prompt", "dropped", line)
    printed, shown, line = printed_as(prompt, RESULT), around(prompt, RESULT), asking.result_line_of(messages)
    if printed == "python":
        return no(f"the {form} is printed as Python's repr", "python", line, shown)
    return yes(f"a {form} appears{' as JSON' if printed else ''}", line, shown)


def _without(asking: TurnProbe, key: str) -> Answer:
    nothing = _nothing_to_ask(asking)
    if nothing is not None:
        return nothing
    messages = asking.history()
    without = [_left_out(message, key) for message in messages]
    given, missing = asking.ask(messages), asking.ask(without)
    if isinstance(missing, TemplateError):
        return threw(missing)
    if isinstance(given, TemplateError) or given == missing:
        what = f"a result without {key} is rendered as one with it"
        if key == "name" and (asking.answered or asking.shape).ids != "none":
            what = "a result without name, but with the id of its call, is rendered as one with both"
        return yes(what if _also_of_two_tools(asking, key) else f"{what}; two results of different tools are not")
    if RESULT not in missing:
        return no(f"a result without {key} is dropped", "dropped", asking.line(rf"\b{key}\b"))
    line = asking.line_in_history(without, missing.find(RESULT)) or asking.result_line
    if missing.count("None") > given.count("None"):
        shown = around(missing, RESULT, 60)
        return no(f"a result without {key} is rendered under the name None", "name-lost", line, shown)
    if key == "name" and missing.count(TOOL) < given.count(TOOL):
        shown = around(missing, RESULT)
        return no(f"a result without {key} is rendered without the tool's name", "name-lost", line, shown)
    return yes(f"a result without {key} is rendered", line, around(missing, RESULT))


def _also_of_two_tools(asking: TurnProbe, key: str) -> bool:
    """Return whether the results of two tools, in the order of their calls, render the same without the key."""
    shape = asking.answered or asking.shape
    messages = asking.told(conversation(shape, _OF_TWO_TOOLS, results=True), [RESULT, SECOND_RESULT])
    given = asking.ask(messages)
    return isinstance(given, TemplateError) or given == asking.ask([_left_out(message, key) for message in messages])


def _left_out(message: Message, key: str) -> Message:
    return {name: value for name, value in message.items() if name != key} if message["role"] == "tool" else message


def _nothing_to_ask(asking: TurnProbe, *, several: bool = False) -> Answer | None:
    """Return the reason why results cannot be tested, or None."""
    if asking.results == "none":
        return no("not tested: no result is rendered")
    if several and not asking.parallel:
        why = "the template does not render all calls of a turn" if asking.renders_calls else "no call is rendered"
        return no(f"not tested: {why}")
    return None
