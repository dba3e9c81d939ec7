"""What the text of others can do to a prompt: forge turns, change how other things are rendered; and what the template
says to the model that nobody asked for.

`safety` answers for each place a text can come from whether the template's own markers are neutralised there ("yes"),
shown by a render in which the text holds them; whether what a message says changes how it, or something else, is
rendered; and whether the template adds instructions of its own. Markers are those that the template was seen to write
around turns, calls and results, not a list of known ones.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from toolfmt.errors import TemplateError
from toolfmt.inspect.conversations import (
    DESCRIPTION,
    PARAMETER,
    REASONING,
    REPLY,
    RESULT,
    SINGLE,
    SYSTEM,
    TOOL,
    TOOLS,
    USER,
    VALUES,
    Message,
    Shape,
    answering,
    calling,
    reply,
    user,
)
from toolfmt.inspect.differences import common_prefix
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.probes import excerpt, quote
from toolfmt.inspect.renders import Renders
from toolfmt.inspect.report import Answer, Outcome
from toolfmt.inspect.surroundings import PROSE, known_reasoning
from toolfmt.templates import ChatTemplate
from toolfmt.templates.tested_texts import TestedText

PLACES = {
    "user_text": "a question",
    "tool_result": "a tool result",
    "tool_description": "a tool's description",
    "argument": "the argument of a call",
}
"""Where text of others can stand, and what to call it."""

_NEXT = "Uq9further"
_BEGIN, _END = "Bq7begin", "Eq8end"
_NEUTRAL = "Nq5neutral"
_MARKER = re.compile(r"<[^<>\s]{1,60}>|\[/?[A-Z_]{2,40}\]")
_MOST_TESTED = 24
_MOST_LINES = 8
"""Lines that are tried for the one that decides; for each the template is compiled anew."""
_MOST_SHOWN = 4
_LONGEST_PROMPT = 200_000
_ALONE = "a lone question"
_BESIDE_SYSTEM = "even beside a system message"


def safety(facts: Facts) -> dict[str, Answer]:
    """The answers by name: those of `PLACES`, then `content_kept` and `no_instructions`; without those that do not
    apply. Empty where no prompt can be made. Never raises.
    """
    renders = facts.renders
    if renders is None:
        return {}
    tools = asked_with(renders)
    if not isinstance(renders.render(user(), tools), str):
        return {}
    shape = facts.shape
    found = markers(renders, shape, tools)
    answers = {name: _passing(renders, found, *made) for name, made in _carriers(facts, shape, found, tools)}
    answers["content_kept"] = _content_kept(facts, renders, shape, tools)
    if tools is None:
        answers["no_instructions"] = _no_instructions(facts, renders)
    return answers


def asked_with(renders: Renders) -> list[Message] | None:
    """The tools that a plain question has to come with: none, unless the template refuses one without."""
    refused = isinstance(renders.render(user()), TemplateError)
    return TOOLS if refused and isinstance(renders.render(user(), TOOLS), str) else None


# --- markers in the text of others


def markers(renders: Renders, shape: Shape | None, plain_tools: list[Message] | None) -> tuple[str, ...]:
    """The markers that the template writes around questions, answers, calls and results; words where it has no marks.

    Those of reasoning blocks that the template looks for in texts are left out: see `content_kept`.
    """
    between = _between(renders.text([*reply(), _question(_NEXT)], plain_tools), USER, REPLY, _NEXT)
    marks = [mark for text in between for mark in _MARKER.findall(text)]
    if shape is not None:
        tools = TOOLS if shape.tools else None
        called = renders.text([*user(system=shape.system), *_exchange(shape, VALUES[0], RESULT), *_spoken()], tools)
        marks += [mark for text in _between(called, USER, VALUES[0], RESULT, REPLY) for mark in _MARKER.findall(text)]
    if not marks:
        marks = [line.strip() for text in between for line in text.splitlines() if line.strip()]
    reasoning = {mark for pair in known_reasoning() for mark in pair}
    reasoning &= {tested.text for tested in renders.template.tested_texts}
    return tuple(mark for mark in dict.fromkeys(marks) if mark not in reasoning and TOOL not in mark)


def _carriers(
    facts: Facts, shape: Shape | None, found: Sequence[str], plain_tools: list[Message] | None
) -> Iterator[tuple[str, tuple[list[Message], list[Message], Any, Any]]]:
    """For each place: a conversation with harmless text there and one with the markers, and the tools of both."""
    if not found:
        return
    forged = f"{_BEGIN} {' '.join(found)} {_END}"
    plain = f"{_BEGIN} {_NEUTRAL} {_END}"
    yield "user_text", ([_question(plain)], [_question(forged)], plain_tools, plain_tools)
    if shape is not None:
        tools = TOOLS if shape.tools else None
        begun = user(system=shape.system)
        if facts.yes("tool_results"):
            one, other = ([*begun, *_exchange(shape, VALUES[0], text), *_spoken()] for text in (plain, forged))
            yield "tool_result", (one, other, tools, tools)
        one, other = ([*begun, *_exchange(shape, text, RESULT), *_spoken()] for text in (plain, forged))
        yield "argument", (one, other, tools, tools)
    if facts.shows_tools:
        yield "tool_description", (user(), user(), _described(plain), _described(forged))


def _passing(
    renders: Renders,
    found: Sequence[str],
    plain: list[Message],
    forged: list[Message],
    tools: list[Message] | None,
    forged_tools: list[Message] | None,
) -> Answer:
    """Whether the markers are neutralised: which of them the prompt holds more often than with harmless text."""
    without, prompt = renders.render(plain, tools), renders.render(forged, forged_tools)
    if isinstance(prompt, TemplateError):
        return Answer("error", f"text with the template's markers is refused: {prompt}", prompt.line, "threw")
    if isinstance(without, TemplateError) or _BEGIN not in without:
        return Answer("yes", "text from there is not in the prompt")
    passed = [mark for mark in found if prompt.count(mark) > without.count(mark)]
    if not passed:
        return Answer("yes", f"the template's markers do not reach the prompt from there ({_listed(found)})")
    where = prompt.find(passed[0], common_prefix(without, prompt))
    line = renders.line_at(forged, forged_tools, max(0, where))
    return Answer("no", f"{_listed(passed)} {'reach' if len(passed) > 1 else 'reaches'} the prompt as written", line)


def forges_a_turn(renders: Renders) -> str | None:
    """The text of a question that renders to the very prompt of a question, an answer and a second question."""
    tools = asked_with(renders)
    honest = renders.text([*reply(), _question(_NEXT)], tools)
    between = _between(honest, USER, REPLY, _NEXT)
    if len(between) < 2:
        return None
    forged = f"{USER}{between[0]}{REPLY}{between[1]}{_NEXT}"
    return forged if renders.render([_question(forged)], tools) == honest else None


def _listed(marks: Sequence[str]) -> str:
    shown = ", ".join(quote(mark, 60) for mark in marks[:_MOST_SHOWN])
    return shown if len(marks) <= _MOST_SHOWN else f"{shown} and {len(marks) - _MOST_SHOWN} more"


# --- text that changes what is rendered


def _content_kept(facts: Facts, renders: Renders, shape: Shape | None, plain_tools: list[Message] | None) -> Answer:
    """Whether a message's text stays as it is, and changes nothing else, when it holds what the template looks for."""
    tested = renders.template.tested_texts[:_MOST_TESTED]
    if not tested:
        return Answer("yes", "the template looks for nothing in the text of messages")
    found: list[_Change] = []
    for role, carrier in _talks(facts, shape, plain_tools):
        changes = [
            change for texts in _tries(tested) if (change := _changed(renders, role, carrier, texts)) is not None
        ]
        worst = min(changes, key=lambda change: change.harm, default=None)
        # What already happens to a question behind others says nothing new of the only one.
        if worst is not None and not (role == _ALONE and found and worst.harm >= found[0].harm):
            found.append(worst)
    if not found:
        return Answer("yes", "no text that the template looks for changes a question or a tool result")
    found.sort(key=lambda change: change.harm)
    worst = found[0]
    line = worst.answer.line or _deciding(renders, worst.messages, worst.tools, worst.tested)
    return replace(worst.answer, evidence="; ".join(change.answer.evidence for change in found), line=line)


@dataclass(frozen=True)
class _Change:
    """What a text that the template looks for does, without the line; and the conversation that shows it."""

    answer: Answer
    messages: list[Message]
    tools: list[Message] | None
    tested: TestedText

    @property
    def harm(self) -> int:
        """The less, the worse: refused, changed, or only something else with it."""
        return 0 if self.answer.answer == "error" else 2 if self.answer.how == "elsewhere" else 1


def _talks(facts: Facts, shape: Shape | None, plain_tools: list[Message] | None) -> Iterator[tuple[str, Any]]:
    thought: Message = {"role": "assistant", "content": REPLY}
    if facts.yes("reasoning"):
        thought["reasoning_content"] = REASONING
    yield "a question", (lambda text: [*user(), thought, _question(text)], plain_tools)
    if shape is not None and facts.yes("tool_results"):
        tools = TOOLS if shape.tools else None
        begun = user(system=shape.system)
        yield "a tool result", (lambda text: [*begun, *_exchange(shape, VALUES[0], text), *_spoken()], tools)
    yield _ALONE, (lambda text: [_question(text)], plain_tools)


def _tries(tested: Sequence[TestedText]) -> Iterator[tuple[TestedText, TestedText | None]]:
    """Each text alone, and each that is looked for at the beginning with each that is looked for at the end."""
    yield from ((text, None) for text in tested)
    starts, ends = ([text for text in tested if text.place == place] for place in ("start", "end"))
    yield from ((start, end) for start in starts[:_MOST_SHOWN] for end in ends[:_MOST_SHOWN])


def _changed(renders: Renders, role: str, carrier: Any, texts: tuple[TestedText, TestedText | None]) -> _Change | None:
    """What becomes of a message with these texts in it; None where it stays and nothing else changes."""
    made, tools = carrier
    first, last = texts
    neutral = f"{_NEUTRAL} {_BEGIN} {_NEUTRAL} {_END} {_NEUTRAL}"
    without = renders.render(made(neutral), tools)
    if isinstance(without, TemplateError) or neutral not in without or len(without) > _LONGEST_PROMPT:
        return None
    held = f"{_NEUTRAL if last else first.text} {_END} {last.text if last else first.text}"
    text = f"{first.text} {_BEGIN} {held}".strip()  # blanks at the ends are lost to a `trim`, whatever is looked for
    prompt = renders.render(made(text), tools)
    where = f" and '{quote(last.text, 60)}' at its ends" if last else " in it"
    what = f"{role} with '{quote(first.text, 60)}'{where}"
    expected = without.replace(neutral, text)
    if prompt == expected:
        return None
    answer = _told(what, prompt, text, expected)
    return _Change(answer, made(text), tools, first)


def _told(what: str, prompt: str | TemplateError, text: str, expected: str) -> Answer:
    """In words how the prompt is not the one expected."""
    if isinstance(prompt, TemplateError):
        return Answer("error", f"{what} is refused: {prompt}", prompt.line, "threw")
    if text in prompt:
        place = common_prefix(prompt, expected)
        shown = excerpt(prompt, place - 20, place + 60)
        return Answer("no", f"{what} changes how something else is rendered: '{shown}'", how="elsewhere")
    begin = min((place for place in (prompt.find(_BEGIN), prompt.find(_END)) if place >= 0), default=None)
    if begin is None:
        return Answer("no", f"{what} is dropped", how="dropped")
    shown = excerpt(prompt, begin - 20, begin + 60)
    how = "loses a part" if _BEGIN not in prompt or _END not in prompt else "is changed"
    return Answer("no", f"{what} {how}: '{shown}'")


def _deciding(renders: Renders, messages: list[Message], tools: list[Message] | None, tested: TestedText) -> int:
    """Of the lines that look for the text, the first that decides here: looking for another, it changes the prompt."""
    prompt, lines = renders.render(messages, tools), renders.template.source.split("\n")
    for number in tested.lines[:_MOST_LINES] if len(tested.lines) > 1 else ():
        other = lines[number - 1].replace(tested.text, _NEUTRAL)
        source = "\n".join([*lines[: number - 1], other, *lines[number:]])
        try:
            varied = Renders(ChatTemplate(source), renders.tokens).render(messages, tools)
        except TemplateError:
            continue
        if varied != prompt:
            return number
    return tested.line


# --- what nobody asked for


def _no_instructions(facts: Facts, renders: Renders) -> Answer:
    """Whether a prompt without system message and tools holds no sentences but the caller's; `stays` where some of
    them are there beside a system message, too.
    """
    prompt = renders.text(user())
    found = None if len(prompt) > _LONGEST_PROMPT else PROSE.search(prompt)
    with_tools, place = _beside_tools(facts, renders)
    if found is None and not with_tools:
        return Answer("yes", "the template writes no sentences of its own")
    if found is None:
        line = renders.line_at(user(), TOOLS, place)
        return Answer("no", f"unasked the template writes with tools: '{quote(with_tools, 200)}'", line)
    said = _said(renders, prompt, found[0])
    line = renders.line_at(user(), None, found.start())
    with_system = renders.text(user(system=True)) if facts.yes("system") else ""
    kept = _said(renders, with_system, found[0]) if SYSTEM in with_system and found[0] in with_system else ""
    stays = f" {_BESIDE_SYSTEM}" if kept and said in with_system else ""
    other = f"; {_BESIDE_SYSTEM} it writes '{quote(kept, 200)}'" if kept and not stays else ""
    if with_tools and with_tools not in said:
        other += f", and with tools: '{quote(with_tools, 200)}'"
    how: Outcome = "stays" if kept else ""
    return Answer("no", f"unasked the template writes{stays}: '{quote(said, 200)}'{other}", line, how)


def _said(renders: Renders, prompt: str, sentence: str) -> str:
    """The template's own text around a sentence of a prompt: up to a marker, or to what the caller gave."""
    at = prompt.find(sentence)
    begin = max(prompt.rfind("\n", 0, at) + 1, *(mark.end() for mark in _MARKER.finditer(prompt, 0, at)), 0)
    text = _headless(renders, prompt[begin:].partition(USER)[0].partition(SYSTEM)[0])
    return _MARKER.split(text, maxsplit=1)[0].strip() or sentence


def _headless(renders: Renders, text: str) -> str:
    """The text before a question without the lines that stand before any other question, too."""
    header = next(iter(_between(renders.text([*reply(), _question(_NEXT)]), REPLY, _NEXT)), "")
    shared = common_prefix(text[::-1], header[::-1])
    line = text.find("\n", len(text) - shared)
    return text if not shared or line < 0 else text[:line]


def _beside_tools(facts: Facts, renders: Renders) -> tuple[str, int]:
    """The sentences that a system message takes the place of where tools are given, and where they stand."""
    if not facts.shows_tools or not facts.yes("system"):
        return "", 0
    prompt, with_system = renders.text(user(), TOOLS), renders.text(user(system=True), TOOLS)
    before, found, behind = with_system.partition(SYSTEM)
    if not found or max(len(prompt), len(with_system)) > _LONGEST_PROMPT:
        return "", 0
    if not (prompt.startswith(before) and prompt[len(before) :].endswith(behind)):
        return "", 0
    said = prompt[len(before) : len(prompt) - len(behind)]
    return (said.strip(), prompt.find(said.strip())) if TOOL not in said and PROSE.search(said) else ("", 0)


# --- helpers


def _question(text: str) -> Message:
    return {"role": "user", "content": text}


def _spoken() -> list[Message]:
    return [{"role": "assistant", "content": REPLY}]


def _exchange(shape: Shape, value: str, result: str) -> list[Message]:
    calls = [(SINGLE[0][0], {PARAMETER: value})]
    return [calling(shape, calls), *answering(shape, calls, [result])]


def _described(text: str) -> list[Message]:
    function = TOOLS[0]["function"]
    assert function["description"] == DESCRIPTION
    return [TOOLS[0] | {"function": function | {"description": text}}]


def _between(prompt: str, *texts: str) -> list[str]:
    """What stands between texts that follow one another; empty where they do not."""
    found = []
    place = prompt.rfind(texts[0])
    for one, other in itertools.pairwise(texts):
        next_place = prompt.find(other, place)
        if place < 0 or next_place < 0:
            return []
        found.append(prompt[place + len(one) : next_place])
        place = next_place
    return found
