"""The positive statements about message text, limited to what the probes have shown.

`safety` renders only texts that are constants of the template. A condition may look for another text, and no probe
sends every conversation, so a statement is about the tested prompts and names the conditions that were not tested.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from toolfmt._util.text_lists import listed, listed_first
from toolfmt.errors import ToolfmtError
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.probe.renders import Renders
from toolfmt.inspect.probe.turn_markers import LONGEST_PROMPT, SENTENCE
from toolfmt.inspect.report.report import Answer, Branch
from toolfmt.inspect.report.wording import excerpt, quote
from toolfmt.inspect.sections.branches.by_outcome import PLACE
from toolfmt.inspect.sections.branches.conversations import SLOTS
from toolfmt.inspect.sections.branches.text_conditions import untested
from toolfmt.templates.analysis.conditions import Condition

_MOST_LINES, _MOST_SHOWN, _MOST_PROMPTS = 5, 3, 400
_OF_TEXT = ("text", "whole-text", "length")
_OF_OTHERS = (PLACE, *(SLOTS[slot][1] for slot in ("question", "further", "result")))
_PLAIN = re.compile(r"[\w ,.?!'-]{24,2000}")
_ROLE_LABELS = {"user": "a question", "tool": "a tool result"}
_SENTENCE = "without tools, some prompts contain a sentence from the template: '{}'"


def checked(facts: Facts) -> dict[str, Answer]:
    """Return the answers of `facts.sections.safety`, each positive one limited to what the probes have shown."""
    answers = dict(facts.sections.safety)
    if facts.renders is None:
        return answers
    limit = _limit(facts.renders)
    branches = [branch for branch in facts.sections.branches if branch.by in _OF_TEXT]
    kept, own = answers.get("content_kept"), answers.get("no_instructions")
    if own is not None and own.answer == "yes":
        adding = [branch for branch in branches if any(map(SENTENCE.search, branch.excerpts))]
        printed = _printed_without_tools(facts.renders)
        sentence = next(iter(printed), "") or _sentence(facts.renders)
        if adding:
            answers["no_instructions"] = _refuted(adding)
        elif kept is not None and kept.answer == "no" and any(map(SENTENCE.search, kept.excerpts)):
            answers["no_instructions"] = replace(kept, outcome="in-branch")  # has a finding of its own
        elif sentence:
            answers["no_instructions"] = Answer(
                "no", _SENTENCE, printed.get(sentence), "in-some-conversations", (quote(sentence, 200),)
            )
        else:
            answers["no_instructions"] = _limited(own, limit + _unprinted(facts.renders) + _with_tools(facts.renders))
    if kept is not None and kept.answer == "yes":
        changing = [branch for branch in branches if branch.place.startswith(_OF_OTHERS)]
        changed = None if changing else _changed(facts.renders)
        answers["content_kept"] = _refuted(changing) if changing else changed or _limited(kept, limit)
    return answers


def _limited(answer: Answer, limit: str) -> Answer:
    """The answer with its limit as an excerpt: in a comparison of two templates their conditions do not count."""
    return replace(answer, words=f"{answer.words}{{}}", excerpts=(limit,))


def _limit(renders: Renders) -> str:
    """How many conditions were not tested both ways, with their lines; empty if all were."""
    coverage = renders.template.watch
    unmet, number = untested(coverage)
    others = [one for one in coverage.conditions if not one.loop and one not in unmet and len(coverage.met(one)) < 2]
    parts = []
    if unmet:
        parts.append(f"{len(unmet)} of {number} conditions on message text ({_lines_of(unmet)})")
    if others:
        what = f"{len(others)} {'other ' if unmet else ''}condition{'s' if len(others) > 1 else ''} of the template"
        parts.append(f"{what} ({_lines_of(others)})")
    return f"; not certain, because {listed(parts)} had only one outcome in the tests" if parts else ""


def _lines_of(conditions: Sequence[Condition]) -> str:
    return _listed_lines(sorted({condition.line for condition in conditions}))


def _printed_without_tools(renders: Renders) -> dict[str, int]:
    """Return the template's own sentences in prompts without tools, each with its line.

    Conversations that were tested with tools are rendered without tools, too.
    """
    own = renders.template.own_texts
    given: dict[str, Any] = {**renders.tokens}
    for messages in [*own.conversations_with_tools]:
        with contextlib.suppress(ToolfmtError):
            renders.template.render(messages, **given)
    return own.printed_without_tools


def _unprinted(renders: Renders) -> str:
    """Where the template has sentences that no tested prompt contains; empty if there are none."""
    lines = sorted(set(renders.template.own_texts.unprinted.values()))
    return f"; the text in {_listed_lines(lines)} was not tested" if lines else ""


def _with_tools(renders: Renders) -> str:
    """The template's own sentences that only prompts with tools contain, the first of them quoted."""
    own = renders.template.own_texts
    without = own.printed_without_tools
    found = [text for text in own.texts if text not in own.unprinted and text not in without]
    shown = [f"'{quote(text, 60)}' (line {_line_that_writes(renders, text)})" for text in found[:_MOST_SHOWN]]
    return (
        f"; with tools, the template writes {listed_first([*shown, *found[_MOST_SHOWN:]], _MOST_SHOWN)}"
        if found
        else ""
    )


def _line_that_writes(renders: Renders, text: str) -> int:
    """The line that writes the text into the first prompt with tools that contains it."""
    for messages, tools, prompt in renders.rendered[:_MOST_PROMPTS]:
        if tools is not None and text in prompt:
            return renders.line_at(messages, tools, prompt.find(text)) or renders.template.own_texts.texts[text]
    return renders.template.own_texts.texts[text]


def _listed_lines(lines: Sequence[int]) -> str:
    more = " and others" if len(lines) > _MOST_LINES else ""
    return f"line{'s' if len(lines) > 1 else ''} {listed([str(line) for line in lines[:_MOST_LINES]])}{more}"


def _refuted(found: Sequence[Branch]) -> Answer:
    """Return the negative answer if a text changes the prompt. It describes the first branch."""
    first = found[0]
    text = " ('{}')" if first.text else ""
    excerpts = (*filter(None, [first.text]), *first.excerpts)
    return Answer("no", f"{first.place}{text} changes the prompt: {first.words}", first.line, "in-branch", excerpts)


def _changed(renders: Renders) -> Answer | None:
    """Return a negative answer if a prompt contains only half of a question or result (ignoring case), else None."""
    for messages, tools, prompt in renders.rendered[:_MOST_PROMPTS]:
        folded = prompt.casefold() if len(prompt) <= LONGEST_PROMPT else ""
        for message in messages:
            role, text = _ROLE_LABELS.get(message["role"]), message.get("content")
            if role is None or not isinstance(text, str) or text.strip() in prompt or not _PLAIN.fullmatch(text):
                continue
            middle = len(text) // 2
            at = max(folded.find(half.strip().casefold()) for half in (text[:middle], text[middle:]))
            if at >= 0:
                line = renders.line_at(messages, tools, at)
                shown = (quote(text, 60), excerpt(prompt, at, at + 60))
                return Answer("no", f"{role} is changed: '{{}}' is written as '{{}}'", line, "text-changed", shown)
    return None


def _sentence(renders: Renders) -> str:
    """The first sentence in a prompt without tools that is not a part of the conversation; empty if there is none."""
    without_tools = [(messages, prompt) for messages, tools, prompt in renders.rendered if tools is None]
    for messages, prompt in without_tools[:_MOST_PROMPTS]:
        if len(prompt) > LONGEST_PROMPT:
            continue
        given = sorted(set(_texts(messages)), key=len, reverse=True)
        for text in given:
            prompt = prompt.replace(text, " | ")
        for found in SENTENCE.finditer(prompt):
            if not any(found[0].casefold() in text.casefold() for text in given):
                return found[0]
    return ""


def _texts(value: object) -> Iterator[str]:
    """Every string in a conversation that can be a part of a sentence."""
    if isinstance(value, str) and " " in value:
        yield from {value, value.strip()}
    elif isinstance(value, Mapping):
        yield from (text for item in value.values() for text in _texts(item))
    elif isinstance(value, (list, tuple)):
        yield from (text for item in value for text in _texts(item))
