"""What untrusted text can do to a prompt: forge turns, or change how other text is rendered.

For each source of text, `safety` answers whether the template neutralizes its own markers there ("yes"), tested by
rendering text with the markers. It also answers whether message text changes how it, or something else, is rendered,
and (`instructions.py`) whether the template adds sentences of its own. The markers are those that the template writes
around turns, calls and results, detected from renders.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Any

from toolfmt._util.text_lists import listed, listed_first
from toolfmt.errors import TemplateError
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.probe.capabilities import threw
from toolfmt.inspect.probe.conversations import (
    DESCRIPTION,
    FURTHER,
    REASONING,
    REPLY,
    RESULT,
    TOOLS,
    USER,
    VALUES,
    Message,
    reply,
    user,
)
from toolfmt.inspect.probe.differences import common_prefix
from toolfmt.inspect.probe.markers import exchange, markers, needed_tools, question, text_response
from toolfmt.inspect.probe.renders import Renders, render_with_outcome
from toolfmt.inspect.probe.turn_markers import LONGEST_PROMPT, between
from toolfmt.inspect.report.report import Answer, Outcome
from toolfmt.inspect.report.turn_shape import TurnShape
from toolfmt.inspect.report.wording import excerpt, quote
from toolfmt.inspect.sections.instructions import no_instructions
from toolfmt.inspect.sections.response_starts import reasoning_switches
from toolfmt.inspect.sections.unchanged_text import is_trimmed, rough_text_changed
from toolfmt.templates import ChatTemplate
from toolfmt.templates.analysis.conditions import Condition
from toolfmt.templates.analysis.tested_texts import TestedText

PLACES = {
    "user_text": "a question",
    "tool_result": "a tool result",
    "tool_description": "a tool's description",
    "argument": "the argument of a call",
}
"""The sources of untrusted text, with their names in the report."""
SAFETY = (*PLACES, "content_kept", "no_instructions")
"""The names of the answers."""

_BEGIN, _END = "Bq7begin", "Eq8end"
_NEUTRAL = "Nq5neutral"
_MOST_TESTED = 24
_MOST_LINES = 8
"""Maximum number of lines that are tested for the deciding one; the template is recompiled for each."""
_MOST_SHOWN = 4
_ALONE = "a lone question"
_ANSWER = "an earlier assistant message"


def safety(facts: Facts) -> dict[str, Answer]:
    """Return the answers of `SAFETY` that apply, by name. Empty if no prompt renders. Never raises."""
    renders = facts.renders
    if renders is None:
        return {}
    tools = needed_tools(renders)
    if not isinstance(renders.render(user(), tools), str):
        return {}
    shape = facts.shape
    found = markers(renders, shape, tools)
    answers = {name: _passing(renders, found, *made) for name, made in _carriers(facts, shape, found, tools)}
    answers["content_kept"] = _content_kept(facts, renders, shape, tools)
    if tools is None:
        answers["no_instructions"] = no_instructions(facts, renders)
    return answers


# --- markers in untrusted text


def _carriers(
    facts: Facts, shape: TurnShape | None, found: Sequence[str], plain_tools: list[Message] | None
) -> Iterator[tuple[str, tuple[list[Message], list[Message], Any, Any]]]:
    """Yield for each source a conversation with harmless text and one with the markers, and the tools of both."""
    if not found:
        return
    injected = f"{_BEGIN} {' '.join(found)} {_END}"
    plain = f"{_BEGIN} {_NEUTRAL} {_END}"
    yield "user_text", ([question(plain)], [question(injected)], plain_tools, plain_tools)
    if (answered := _answered(facts)) is not None:
        made, tools = answered
        yield "tool_result", (made(plain), made(injected), tools, tools)
    if shape is not None:
        tools = TOOLS if shape.tools else None
        opening = user(system=shape.system)
        one, other = ([*opening, *exchange(shape, text, RESULT), *text_response()] for text in (plain, injected))
        yield "argument", (one, other, tools, tools)
    if facts.shows_tools:
        yield "tool_description", (user(), user(), _described(plain), _described(injected))


def _answered(facts: Facts) -> tuple[Callable[[str], list[Message]], list[Message] | None] | None:
    """Return a function from text to a conversation with that tool result, and its tools; None without results."""
    shape = facts.shape
    if shape is None and facts.turn_probe is not None:
        shape = facts.turn_probe.answered
    if shape is None or not facts.yes("tool_results"):
        return None
    given, opening = shape, user(system=shape.system)
    return lambda text: [*opening, *exchange(given, VALUES[0], text), *text_response()], TOOLS if shape.tools else None


def _passing(
    renders: Renders,
    found: Sequence[str],
    plain: list[Message],
    injected: list[Message],
    tools: list[Message] | None,
    injected_tools: list[Message] | None,
) -> Answer:
    """Return whether the markers are neutralized: the prompt has no more of them than with harmless text."""
    without, prompt = renders.render(plain, tools), renders.render(injected, injected_tools)
    if isinstance(prompt, TemplateError):
        return threw(prompt, "text with the template's markers is rejected")
    if isinstance(without, TemplateError) or _BEGIN not in without:
        return Answer("yes", "text from there is not in the prompt")
    passed = [mark for mark in found if prompt.count(mark) > without.count(mark)]
    if not passed:
        what = "the tested markers do not reach the prompt from there ({})"
        return Answer("yes", what, excerpts=(_listed(found),))
    where = prompt.find(passed[0], common_prefix(without, prompt))
    called = any(message.get("tool_calls") for message in injected)
    line = renders.line_at(injected, injected_tools, max(0, where), innermost=called)
    what = f"{{}} {'reach' if len(passed) > 1 else 'reaches'} the prompt as written"
    return Answer("no", what, line, excerpts=(_listed(passed),))


def forges_a_turn(renders: Renders) -> tuple[str, str] | None:
    """Return a question that renders like a question, a response and a question, and the condition for it; or None."""
    tools = needed_tools(renders)
    honest = renders.text([*reply(), question(FURTHER)], tools)
    gaps = between(honest, USER, REPLY, FURTHER)
    if len(gaps) < 2:
        return None
    injected = f"{USER}{gaps[0]}{REPLY}{gaps[1]}{FURTHER}"
    if renders.render([question(injected)], tools) != honest:
        return None
    system: Message = {"role": "system", "content": _NEUTRAL}
    others: list[tuple[str, list[Message], list[Message] | None, Mapping[str, bool]]] = [
        ("without tools", [], TOOLS, {}),
        ("without a system message", [system], tools, {}),
        *(("with the default variables", [], tools, given) for given in reasoning_switches(renders) if given),
    ]
    where = (what for what, before, given, using in others if not _same_turns(renders, injected, before, given, using))
    return injected, listed(dict.fromkeys(where))


def _same_turns(
    renders: Renders, injected: str, before: list[Message], tools: list[Message] | None, variables: Mapping[str, bool]
) -> bool:
    """Return whether the forged question renders like the turns that it imitates, or one of them is rejected."""
    given = renders.given(variables) if variables else renders
    imitated = [*before, *reply(), question(FURTHER)]
    one, other = given.render([*before, question(injected)], tools), given.render(imitated, tools)
    return one == other or isinstance(one, TemplateError) or isinstance(other, TemplateError)


def _listed(marks: Sequence[str]) -> str:
    return listed_first([quote(mark, 60) for mark in marks], _MOST_SHOWN)


# --- text that changes other text


def _content_kept(facts: Facts, renders: Renders, shape: TurnShape | None, plain_tools: list[Message] | None) -> Answer:
    """Return whether a message that contains text the template tests for stays unchanged and changes nothing else."""
    tested = renders.template.tested_texts[:_MOST_TESTED]
    found: list[_Change] = []
    talks = list(_talks(facts, plain_tools))
    for role, carrier in talks:
        # Changes by responses have no finding, so branches that only they reach count as not covered.
        if role == _ANSWER:
            changes = renders.template.watch.apart(partial(_changes, renders.anew(), role, carrier, tested))
        else:
            changes = _changes(renders, role, carrier, tested)
        if role == _ANSWER:
            cut = (change for change in map(_of_answer, changes) if change is not None)
            changes = [_with_limits(renders, change, tested) for change in cut]
        worst = min(changes, key=lambda change: change.harm, default=None)
        # Skip the single question if a later question shows the same effect or a worse one.
        if worst is not None and not (role == _ALONE and found and worst.harm >= found[0].harm):
            found.append(worst)
    if not found:
        carriers = list(talks)
        if facts.profile.takes_system:
            system = (lambda text: [{"role": "system", "content": text}, *user()], plain_tools)
            carriers.append(("a system message", system))
        rough = next(filter(None, (rough_text_changed(renders, role, carrier) for role, carrier in carriers)), None)
        if rough is not None:
            return rough
    if not found:
        trimmed = [role for role, carrier in talks if role in PLACES.values() and is_trimmed(renders, carrier)]
        but = f", except that leading and trailing whitespace of {listed(trimmed, 'or')} is removed" if trimmed else ""
        return Answer("yes", f"questions and tool results are rendered unchanged, whatever they contain{but}")
    found.sort(key=lambda change: change.harm)
    worst, *others = found
    line = _line_of_change(renders, worst)
    shown = [_with_line(renders, change, line) for change in others]
    shown.insert(len(shown) if worst.answer.error else 0, worst.answer)  # error messages come last
    words, excerpts = "; ".join(one.words for one in shown), [text for one in shown for text in one.excerpts]
    return replace(worst.answer, words=words, excerpts=tuple(excerpts), line=line)


def _line_of_change(renders: Renders, change: _Change) -> int:
    return change.answer.line or _deciding(renders, change.messages, change.tools, change.tested)


def _with_line(renders: Renders, change: _Change, shown: int) -> Answer:
    """Return the change's answer with its line in the words, unless it is `shown`, the line of the whole answer."""
    # `apart`: these renders must not count as coverage.
    line = renders.template.watch.apart(lambda: _line_of_change(renders.anew(), change))
    return change.answer if line == shown else replace(change.answer, words=f"{change.answer.words} (line {line})")


@dataclass(frozen=True)
class _Change:
    """The effect of a text that the template tests for, without the line, and the conversation that shows it."""

    answer: Answer
    messages: list[Message]
    tools: list[Message] | None
    tested: TestedText
    lost: bool = False
    """Whether the prompt lacks a part of a text that contains one marker."""

    @property
    def harm(self) -> int:
        """Lower is worse: rejected, changed, only something else changed, or an assistant text rejected or cut."""
        if self.answer.outcome in ("answer-refused", "assistant-text-cut"):
            return 3
        return 0 if self.answer.answer == "error" else 2 if self.answer.outcome == "changes-other-text" else 1


def _of_answer(change: _Change) -> _Change | None:
    """Return the change of an assistant text, or None if only markers are missing: a template may remove those."""
    outcome: Outcome = "answer-refused" if change.answer.error is not None else "assistant-text-cut"
    if outcome == "assistant-text-cut" and not change.lost:
        return None
    return replace(change, answer=replace(change.answer, outcome=outcome))


def _with_limits(renders: Renders, change: _Change, tested: Sequence[TestedText]) -> _Change:
    """Return the change of an assistant text with its limits.

    Add the marker that ends the cut, and the condition that the text is kept next to `reasoning_content`.
    """
    if change.answer.error is not None or not change.lost:
        return change
    words, excerpts = change.answer.words, change.answer.excerpts
    cut = next(message for message in change.messages if message["role"] == "assistant")

    def rendered(variables: Mapping[str, bool] = MappingProxyType({}), **new: str) -> str:
        messages = [message | new if message is cut else message for message in change.messages]
        return renders.template.watch.apart(lambda: renders.anew().given(variables).text(messages, change.tools))

    if words.endswith("loses its text after that string"):
        ends = (one.text for one in tested if one.text != change.tested.text)
        kept = (
            end
            for end in ends
            if FURTHER in rendered(content=f"{cut['content']} {end} {REASONING}").partition(REASONING)[2]
        )
        if (end := next(kept, None)) is not None:
            words, excerpts = f"{words}, up to '{{}}' if that follows", (*excerpts, end)
    if _END in (prompt := rendered(reasoning_content=REASONING)) and _BEGIN in prompt:
        words = f"{words}, unless `reasoning_content` is a string"
    for variables in reasoning_switches(renders):
        if variables and _END in (prompt := rendered(variables)) and _BEGIN in prompt:
            named = ", ".join(f"{name}={str(value).lower()}" for name, value in variables.items())
            words = f"{words}, or with {named}" if "unless" in words else f"{words}, unless with {named}"
            break
    return replace(change, answer=replace(change.answer, words=words, excerpts=excerpts))


def _talks(facts: Facts, plain_tools: list[Message] | None) -> Iterator[tuple[str, Any]]:
    thought: Message = {"role": "assistant", "content": REPLY}
    if facts.yes("reasoning"):
        thought["reasoning_content"] = REASONING
    yield "a question", (lambda text: [*user(), thought, question(text)], plain_tools)
    if (answered := _answered(facts)) is not None:
        yield "a tool result", answered
    yield _ALONE, (lambda text: [question(text)], plain_tools)
    yield _ANSWER, (lambda text: [*user(), {"role": "assistant", "content": text}, question(FURTHER)], plain_tools)


def _tries(tested: Sequence[TestedText]) -> Iterator[tuple[TestedText, TestedText | None]]:
    """Yield each text alone, then each one tested at the start together with each one tested at the end."""
    yield from ((text, None) for text in tested)
    starts, ends = ([text for text in tested if text.place == place] for place in ("start", "end"))
    yield from ((start, end) for start in starts[:_MOST_SHOWN] for end in ends[:_MOST_SHOWN])


def _changes(renders: Renders, role: str, carrier: Any, tested: Sequence[TestedText]) -> list[_Change]:
    """Return the changes that each of the texts causes in a message."""
    return [one for texts in _tries(tested) if (one := _changed(renders, role, carrier, texts)) is not None]


def _changed(renders: Renders, role: str, carrier: Any, texts: tuple[TestedText, TestedText | None]) -> _Change | None:
    """Return what happens to a message that contains these texts, or None if nothing changes."""
    made, tools = carrier
    first, last = texts
    neutral = f"{_NEUTRAL} {_BEGIN} {_NEUTRAL} {_END} {_NEUTRAL}"
    without = renders.render(made(neutral), tools)
    if isinstance(without, TemplateError) or neutral not in without or len(without) > LONGEST_PROMPT:
        return None
    held = f"{_NEUTRAL if last else first.text} {_END} {last.text if last else first.text}"
    text = f"{first.text} {_BEGIN} {held}".strip()  # a `trim` removes whitespace at the ends in any case
    prompt = renders.render(made(text), tools)
    once = f"{_BEGIN} {first.text} {_END}"
    if last is None and (made_once := renders.render(made(once), tools)) != without.replace(neutral, once):
        text, prompt = once, made_once  # the missing part shows which side is lost
    what = f"{role} that starts with '{{}}' and ends with '{{}}'" if last else f"{role} that contains '{{}}'"
    tested = tuple(quote(one.text, 60) for one in texts if one)
    expected = without.replace(neutral, text)
    if prompt == expected:
        return None
    answer = _difference(what, tested, prompt, text, expected)
    # Text between both markers may be reasoning, which a template may drop.
    lost = last is None and isinstance(prompt, str) and not (_BEGIN in prompt and _END in prompt)
    return _Change(answer, made(text), tools, first, lost)


def _difference(what: str, held: tuple[str, ...], prompt: str | TemplateError, text: str, expected: str) -> Answer:
    """Return how the prompt differs from the expected one, for a message that contains these texts."""
    if isinstance(prompt, TemplateError):
        return threw(prompt, f"{what} is rejected", *held)
    if text in prompt:
        offset = common_prefix(prompt, expected)
        shown = excerpt(prompt, offset - 20, offset + 60)
        return Answer(
            "no", f"{what} changes how something else is rendered: '{{}}'", None, "changes-other-text", (*held, shown)
        )
    begin = min((offset for offset in (prompt.find(_BEGIN), prompt.find(_END)) if offset >= 0), default=None)
    if begin is None:
        return Answer("no", f"{what} is dropped", None, "dropped", held)
    shown = excerpt(prompt, begin - 20, begin + 60)
    lost = _BEGIN not in prompt or _END not in prompt
    if lost and text.startswith(_BEGIN):
        side = "before" if _BEGIN not in prompt else "after"
        return Answer("no", f"{what} loses its text {side} that string", excerpts=held)
    how = "loses a part" if lost else "is changed"
    return Answer("no", f"{what} {how}: '{{}}'", excerpts=(*held, shown))


def _deciding(renders: Renders, messages: list[Message], tools: list[Message] | None, tested: TestedText) -> int:
    """Return the first line that tests for the text and decides here.

    Another outcome of its condition, or another text in its place, changes the prompt.
    """
    prompt, lines = renders.render(messages, tools), renders.template.source.split("\n")
    conditions: dict[int, list[Condition]] = {}
    for condition in renders.template.watch.conditions:
        if tested.text in condition.texts:
            conditions.setdefault(condition.line, []).append(condition)
    for number in tested.lines[:_MOST_LINES] if len(tested.lines) > 1 else ():
        if number in conditions:
            render = partial(renders.fresh, messages, tools)
            forced = (
                render_with_outcome(renders.template, condition, holds, render)
                for condition in conditions[number]
                for holds in (False, True)
            )
            if any(isinstance(made, str) and made != prompt for made in forced):
                return number
            continue
        other = lines[number - 1].replace(tested.text, _NEUTRAL)
        source = "\n".join([*lines[: number - 1], other, *lines[number:]])
        try:
            varied = Renders(ChatTemplate(source), renders.tokens, renders.words).render(messages, tools)
        except TemplateError:
            continue
        if varied != prompt:
            return number
    return tested.line


# --- helpers


def _described(text: str) -> list[Message]:
    function = TOOLS[0]["function"]
    assert function["description"] == DESCRIPTION
    return [TOOLS[0] | {"function": function | {"description": text}}]
