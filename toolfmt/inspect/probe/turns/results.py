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
    describe_gap,
    no,
    printed_as,
    yes,
)
from toolfmt.inspect.report.report import Answer
from toolfmt.inspect.report.wording import around

_NO_ID = "zq0Zq0zq0"
_OF_TWO_TOOLS = ((TOOL, {PARAMETER: VALUES[0]}), (BARE_TOOL, {PARAMETER: VALUES[1]}))


def results_several(probe: TurnProbe) -> Answer:
    """Return whether the results of two calls all appear in order, and whether they share a turn."""
    nothing = _nothing_to_ask(probe, several=True)
    if nothing is not None:
        return nothing
    prompt = probe.ask(probe.history(several=True))
    if isinstance(prompt, TemplateError):
        return threw(prompt)
    line = probe.result_line
    first, second = (prompt.find(text) for text in (RESULT, SECOND_RESULT))
    if -1 in (first, second):
        return no(f"of two results the {'first' if first < 0 else 'second'} is dropped", "dropped", line)
    if second < first:
        return no("two results appear in the wrong order", "misplaced", line)
    before, stretch = prompt[max(0, prompt.rfind(VALUES[1], 0, first)) : first], prompt[first + len(RESULT) : second]
    under_one = _under_one_name(probe, named=True, numbered=True)
    if under_one is not None:
        return under_one
    of_turns, closers, between_them = _turn_marks(probe), _closers(probe), set(MARK.findall(stretch))
    openers = (of_turns - closers) & set(MARK.findall(before))
    how = "each in a turn of its own" if of_turns & between_them else "in one turn"
    if of_turns & between_them and openers and not openers & between_them:
        how = "where the turn of the first ends and none begins for the second"
    words, shown = describe_gap(stretch)
    return yes(f"two results appear {how}; {words}", line, *shown)


def _turn_marks(probe: TurnProbe) -> set[str]:
    """Return the markers that the template writes between a question, a response and the next question."""
    again: Message = {"role": "user", "content": SECOND_USER}
    prompt = probe.renders.text([*reply(probe.shape), again])
    stretches = between(prompt, USER, REPLY, SECOND_USER)
    return {mark for stretch in stretches for mark in MARK.findall(stretch)}


def _closers(probe: TurnProbe) -> set[str]:
    """Return the markers that the template writes after a response that is the last turn."""
    return set(MARK.findall(probe.renders.text(reply(probe.shape)).rpartition(REPLY)[2]))


def results_reordered(probe: TurnProbe) -> Answer:
    """Return whether results in another order than the calls are still matched to them by id.

    Renders the same results in the same order with swapped ids. If the prompts are equal, the template ignores the
    ids.
    """
    nothing = _nothing_to_ask(probe, several=True)
    if nothing is not None:
        return nothing
    messages = probe.history(several=True)
    answers = [message for message in messages if message["role"] == "tool"]
    if len({message.get("tool_call_id") for message in answers}) < 2:
        return no("calls are rendered only without ids", "by-order")
    before = messages[: messages.index(answers[0])]
    after = messages[messages.index(answers[-1]) + 1 :]
    as_called = probe.ask([*before, *answers, *after])
    swapped = probe.with_results([*before, *reversed(answers), *after], [RESULT, SECOND_RESULT])
    turned = probe.ask(swapped)
    if isinstance(turned, TemplateError):
        return threw(turned)
    line = probe.result_line
    if as_called == turned:
        what = "results are matched to calls by position; their ids change nothing in the prompt"
        if _names_by_id(probe):
            what = "results of the same tool are matched by position; the id only selects the tool's name"
        return no(what, "by-order", line)
    id = str(answers[0].get("tool_call_id"))
    if isinstance(as_called, str) and id not in as_called:
        return yes("results are ordered by their ids; the prompt does not contain the ids", line)
    return yes("the prompt shows by its id which call a result belongs to", line)


def _names_by_id(probe: TurnProbe) -> bool:
    """Return whether the tool name of a result is looked up by id: with two tools, swapped ids change the prompt."""
    shape = probe.answered or probe.shape
    messages = probe.with_results(conversation(shape, _OF_TWO_TOOLS, results=True), [RESULT, SECOND_RESULT])
    nameless = [_left_out(message, "name") for message in messages]
    ids = [message.get("tool_call_id") for message in nameless if message["role"] == "tool"]
    if None in ids:
        return False
    turned = iter(reversed(ids))
    swapped = [m | {"tool_call_id": next(turned)} if m["role"] == "tool" else m for m in nameless]
    one, other = probe.ask(nameless), probe.ask(swapped)
    return isinstance(one, str) and isinstance(other, str) and one != other


def results_unnamed(probe: TurnProbe) -> Answer:
    """Return whether a result may have the id of its call and no tool name, as clients send it."""
    return _without(probe, "name")


def results_unnumbered(probe: TurnProbe) -> Answer:
    """Return whether a result may have only the tool's name, without the id of its call."""
    return _under_one_name(probe, named=True) or _without(probe, "tool_call_id")


def results_unmatched(probe: TurnProbe) -> Answer:
    """Return whether a result is rendered that has neither the tool's name nor the id of a call."""
    nothing = _nothing_to_ask(probe)
    if nothing is not None:
        return nothing
    bare = [_left_out(_left_out(one, "name"), "tool_call_id") for one in probe.history()]
    other = [one | {"tool_call_id": _NO_ID} if one["role"] == "tool" else one for one in bare]
    without = "a result with neither name nor tool_call_id"
    if (probe.answered or probe.shape).ids != "none":
        without += " (its call has an id)"
    for what, made in ((without, bare), ("a result whose id no call has", other)):
        prompt = probe.ask(made)
        if isinstance(prompt, TemplateError):
            return threw(prompt, f"{what} is rejected")
        if RESULT not in prompt:
            return no(f"{what} is dropped", "dropped", probe.result_line)
    return _under_one_name(probe) or yes(
        "a result that has neither the name of its tool nor the id of its call is rendered"
    )


def _under_one_name(probe: TurnProbe, *, named: bool = False, numbered: bool = False) -> Answer | None:
    """Return a negative answer if the results of two tools are rendered under the name of one tool, else None.

    Results have names only if `named`; calls and results have ids only if `numbered`.
    """
    if _nothing_to_ask(probe, several=True) is not None:
        return None
    messages = conversation(probe.answered or probe.shape, _OF_TWO_TOOLS, results=True)
    messages = probe.with_results(messages, [RESULT, SECOND_RESULT])
    if not named:
        messages = [_left_out(message, "name") for message in messages]
    if not numbered:
        messages = [_without_ids(message) for message in messages]
    prompt = probe.ask(messages)
    if isinstance(prompt, TemplateError) or not -1 < prompt.find(RESULT) < prompt.find(SECOND_RESULT):
        return None
    first = prompt[prompt.rfind(VALUES[1], 0, prompt.find(RESULT)) : prompt.find(RESULT)]
    second = prompt[prompt.find(RESULT) : prompt.find(SECOND_RESULT)]
    for name, other in ((TOOL, BARE_TOOL), (BARE_TOOL, TOOL)):
        if name in first and name in second and other not in first + second:
            line = probe.line_in_history(messages, prompt.rfind(name, 0, prompt.find(RESULT)))
            called = "first" if name == TOOL else "last"
            when = "" if numbered else "if neither calls nor results have ids, "
            what = f"{when}the results of two tools are both rendered under the name of the {called} tool called"
            return no(what, "name-lost", line, around(prompt, RESULT))
    return None


def _without_ids(message: Message) -> Message:
    """Return the message without its id and the ids of its calls."""
    calls = [{key: value for key, value in call.items() if key != "id"} for call in message.get("tool_calls", ())]
    return _left_out(message, "tool_call_id") | ({"tool_calls": calls} if calls else {})


def results_alone(probe: TurnProbe) -> Answer:
    """Return whether a result is rendered although its call is not in the conversation."""
    nothing = _nothing_to_ask(probe)
    if nothing is not None:
        return nothing
    prompt = probe.ask([message for message in probe.history() if not message.get("tool_calls")])
    unless = "" if RESULT in f"{prompt}" else _unless_after_an_earlier_call(probe)
    if isinstance(prompt, TemplateError):
        return threw(prompt, f"a result without its call is rejected{unless}")
    if RESULT not in prompt:
        return no(f"a result without its call is dropped{unless}", "dropped")
    return yes("a result without its call is rendered", None, around(prompt, RESULT))


def _unless_after_an_earlier_call(probe: TurnProbe) -> str:
    """Return the condition for rendering a result without its call after an earlier call, or an empty string."""
    history = [one for one in probe.history() if one["role"] != "assistant" or one.get("tool_calls")]
    orphan = contents([one for one in history if one["role"] == "tool"], [SECOND_RESULT])
    orphan = [one | {"tool_call_id": _NO_ID} if "tool_call_id" in one else one for one in orphan]
    again: Message = {"role": "user", "content": SECOND_USER}
    if SECOND_RESULT in f"{probe.ask([*history, *reply(probe.shape)[-1:], again, *orphan])}":
        return " if the conversation contains no call at all"
    if SECOND_RESULT in f"{probe.ask([*history, again, *orphan])}":
        return ", unless the conversation contains an earlier call and no response without calls after it"
    return ""


def results_as_parts(probe: TurnProbe) -> Answer:
    """Return whether the content of a result may be a list of one or several parts."""
    answer = _with_content(probe, text_part(RESULT), "list of parts")
    if answer.outcome or answer.answer != "yes" or probe.results == "parts":
        return answer
    messages = contents(probe.history(), [[*text_part(RESULT), *text_part(SECOND_RESULT)]])
    prompt = probe.ask(messages)
    if isinstance(prompt, TemplateError):
        return threw(prompt, "a result of two parts is rejected")
    left = [text for text in (RESULT, SECOND_RESULT) if text in prompt]
    if len(left) == 1:
        what = f"of a result of two parts only the {'first' if left == [RESULT] else 'last'} is in the prompt"
        line = probe.line_in_history(messages, prompt.find(left[0]))
        return no(what, "dropped", line, around(prompt, left[0]))
    line = probe.line_before(probe.result_line, IS_STRING)
    return answer if left else no("a result of two parts is dropped", "dropped", line)


def results_null(probe: TurnProbe) -> Answer:
    """Return whether the content of a result may be null, as sent for a function that returns nothing."""
    nothing = _nothing_to_ask(probe)
    if nothing is not None:
        return nothing
    messages = contents(probe.history(), [None])
    prompt, empty = probe.ask(messages), probe.ask(contents(probe.history(), [""]))
    if isinstance(prompt, TemplateError):
        return threw(prompt, "a result with `content: null` is rejected")
    if prompt.count("None") > f"{empty}".count("None"):
        line = probe.line_in_history(messages, prompt.rfind("None"))
        return no("`content: null` of a result is printed as `None`", "python", line, around(prompt, "None"))
    return yes("a result with `content: null` is rendered")


def results_as_documents(probe: TurnProbe) -> Answer:
    """Return whether the content of a result may be documents, as in Cohere's API."""
    document = {"type": "document", "document": {"id": "0", "data": {"text": RESULT}}}
    return _with_content(probe, [document], "document")


def _with_content(probe: TurnProbe, content: list[Message], form: str) -> Answer:
    """Return whether the text of a result with this content appears."""
    nothing = _nothing_to_ask(probe)
    if nothing is not None:
        return nothing
    messages = contents(probe.history(), [content])
    prompt = probe.ask(messages)
    if isinstance(prompt, TemplateError):
        return threw(prompt)
    if RESULT not in prompt:
        parts = contents(probe.history(), [text_part(RESULT)])
        usual = parts if RESULT in f"{probe.ask(parts)}" else probe.history()
        line = probe.dropped_at(usual, messages, RESULT) or probe.differs_at(usual, messages)
        line = line or probe.line_before(probe.result_line, IS_STRING)
        return no(f"the text of a result given as a {form} is not in the prompt", "dropped", line)
    printed, shown, line = printed_as(prompt, RESULT), around(prompt, RESULT), probe.result_line_of(messages)
    if printed == "python":
        return no(f"the {form} is printed as Python's repr", "python", line, shown)
    return yes(f"a {form} appears{' as JSON' if printed else ''}", line, shown)


def _without(probe: TurnProbe, key: str) -> Answer:
    nothing = _nothing_to_ask(probe)
    if nothing is not None:
        return nothing
    messages = probe.history()
    without = [_left_out(message, key) for message in messages]
    given, missing = probe.ask(messages), probe.ask(without)
    if isinstance(missing, TemplateError):
        return threw(missing)
    if isinstance(given, TemplateError) or given == missing:
        what = f"a result without {key} renders the same as a result with it"
        if key == "name" and (probe.answered or probe.shape).ids != "none":
            what = "a result without name, but with the id of its call, renders the same as a result with both"
        return yes(what if _also_of_two_tools(probe, key) else f"{what}; two results of different tools are not")
    if RESULT not in missing:
        return no(f"a result without {key} is dropped", "dropped", probe.line(rf"\b{key}\b"))
    line = probe.line_in_history(without, missing.find(RESULT)) or probe.result_line
    if missing.count("None") > given.count("None"):
        shown = around(missing, RESULT, 60)
        return no(f"a result without {key} is rendered under the name None", "name-lost", line, shown)
    if key == "name" and missing.count(TOOL) < given.count(TOOL):
        shown = around(missing, RESULT)
        return no(f"without {key}, the prompt does not show which tool a result is from", "name-lost", line, shown)
    return yes(f"a result without {key} is rendered", line, around(missing, RESULT))


def _also_of_two_tools(probe: TurnProbe, key: str) -> bool:
    """Return whether the results of two tools, in the order of their calls, render the same without the key."""
    shape = probe.answered or probe.shape
    messages = probe.with_results(conversation(shape, _OF_TWO_TOOLS, results=True), [RESULT, SECOND_RESULT])
    given = probe.ask(messages)
    return isinstance(given, TemplateError) or given == probe.ask([_left_out(message, key) for message in messages])


def _left_out(message: Message, key: str) -> Message:
    return {name: value for name, value in message.items() if name != key} if message["role"] == "tool" else message


def _nothing_to_ask(probe: TurnProbe, *, several: bool = False) -> Answer | None:
    """Return the reason why results cannot be tested, or None."""
    if probe.results == "none":
        return no("not tested: no result is rendered")
    if several and not probe.parallel:
        why = "the template does not render all calls of a turn" if probe.renders_calls else "no call is rendered"
        return no(f"not tested: {why}")
    return None
