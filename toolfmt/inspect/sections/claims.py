"""The positive statements about message text, checked after the conditions on message text were probed.

`safety` renders only texts that are constants of the template. A condition may look for another text, so "the template
writes no sentences of its own" is true of every prompt only if each condition on message text came out both ways.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from toolfmt._util.text_lists import listed
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.probe.turn_markers import SENTENCE
from toolfmt.inspect.report.report import Answer, Branch
from toolfmt.inspect.sections.branches.conversations import SLOTS
from toolfmt.inspect.sections.branches.text_conditions import untested

_MOST_LINES = 5
_OF_TEXT = ("text", "whole-text", "length")
_OF_OTHERS = tuple(SLOTS[slot][1] for slot in ("question", "further", "result"))
_NO_TEXT = (
    "no text that the template looks for changes a question or a tool result",
    "no tested text changes a question or a tool result",
)
_NO_SENTENCES = (
    "without tools, the template writes no sentences of its own",
    "the rendered prompts contain no sentences of the template's own",
)


def checked(facts: Facts) -> dict[str, Answer]:
    """Return the answers of `facts.sections.safety`, each positive one limited to what the probes have shown."""
    answers = dict(facts.sections.safety)
    if facts.renders is None:
        return answers
    unmet, number = untested(facts.renders.template.watch)
    limit = ""
    if unmet:
        lines = sorted({condition.line for condition in unmet})
        where = f"line{'s' if len(lines) > 1 else ''} {listed([str(line) for line in lines[:_MOST_LINES]])}"
        more = " and others" if len(lines) > _MOST_LINES else ""
        limit = (
            f"; {number - len(unmet)} of {number} conditions on message text were tested both ways, not {where}{more}"
        )
    kept, own = answers.get("content_kept"), answers.get("no_instructions")
    if kept and own and own.answer == "yes" and kept.answer == "no" and any(map(SENTENCE.search, kept.excerpts)):
        answers["no_instructions"] = replace(kept, outcome="in-branch")  # a finding of its own
    branches = [branch for branch in facts.sections.branches if branch.by in _OF_TEXT]
    for name, (whole, limited), found in (
        ("content_kept", _NO_TEXT, [one for one in branches if one.place.startswith(_OF_OTHERS)]),
        ("no_instructions", _NO_SENTENCES, [one for one in branches if any(map(SENTENCE.search, one.excerpts))]),
    ):
        answer = answers.get(name)
        if answer is None or answer.answer != "yes":
            continue
        if found:
            answers[name] = _refuted(found)
        elif number:
            answers[name] = replace(answer, words=f"{limited}{limit}" if unmet else whole)
    return answers


def _refuted(found: Sequence[Branch]) -> Answer:
    """The answer if a text changes the prompt: the finding on branches reports the first of these."""
    first = found[0]
    text = " ('{}')" if first.text else ""
    excerpts = (*filter(None, [first.text]), *first.excerpts)
    return Answer("no", f"{first.place}{text} changes the prompt: {first.words}", first.line, "in-branch", excerpts)
