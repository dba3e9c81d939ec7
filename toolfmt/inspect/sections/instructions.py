"""Find sentences that the template itself adds to the prompt of a plain question.

This is an answer of `toolfmt.inspect.sections.safety`. Text that a system message replaces is reported separately from
text that stays.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from toolfmt.inspect.facts import Facts
from toolfmt.inspect.probe.conversations import (
    FURTHER,
    REPLY,
    SYSTEM,
    TOOL,
    TOOLS,
    USER,
    Message,
    reply,
    text_part,
    user,
)
from toolfmt.inspect.probe.differences import common_prefix
from toolfmt.inspect.probe.renders import Renders
from toolfmt.inspect.probe.turn_markers import LONGEST_PROMPT, MARK, SENTENCE, between
from toolfmt.inspect.report.report import Answer
from toolfmt.inspect.report.wording import escaped, quote

_WITH_SYSTEM = "even if you send a system message"
_LABEL_LINE = re.compile(r"(?:^|(?<=[>\]\n]))(?:[^\W\d_]{2,40}[ :,]{1,2}){3,20}\w+")
"""A line that begins with at least four words, as in `Cutting Knowledge Date: December 2023`."""


_SEARCHED = 24
"""Number of characters of a sentence that are searched for in the template."""


def no_instructions(facts: Facts, renders: Renders) -> Answer:
    """Return whether a prompt without a system message and tools contains only the caller's sentences.

    The outcome is `stays` if some of the template's sentences appear with a system message, too.
    """
    prompt = renders.text(user())
    found = None if len(prompt) > LONGEST_PROMPT else SENTENCE.search(prompt) or _LABEL_LINE.search(prompt)
    with_tools, offset = _sentences_with_tools(facts, renders)
    if found is None and not with_tools:
        return _in_other_forms(renders)
    if found is None:
        line = _line(renders, user(), TOOLS, offset)
        what = "if tools are given, the template adds '{}'"
        return Answer("no", what, line, excerpts=(quote(escaped(with_tools), 200),))
    own_text = _own_text(renders, prompt, found[0])
    line = _line(renders, user(), None, found.start())
    with_system = renders.text(user(system=True)) if facts.profile.takes_system else ""
    kept = _own_text(renders, with_system, found[0]) if SYSTEM in with_system and found[0] in with_system else ""
    stays = f"{_WITH_SYSTEM}, " if kept and own_text in with_system else ""
    words, excerpts = f"{stays}the template adds '{{}}'", [quote(escaped(own_text), 200)]
    if kept and not stays:
        words += f"; {_WITH_SYSTEM}, it writes '{{}}'"
        excerpts.append(quote(escaped(kept), 200))
    more = [text[0] for text in SENTENCE.finditer(prompt) if text[0] not in with_system] if stays else []
    if more:
        words += "; without a system message, it also writes '{}'"
        excerpts.append(quote(escaped(more[0]), 200))
    if with_tools and with_tools not in prompt:
        words += "; if tools are given, it also adds '{}'"
        excerpts.append(quote(escaped(with_tools), 200))
    return Answer("no", words, line, "stays" if kept else "", tuple(excerpts))


def _line(renders: Renders, messages: Sequence[Message], tools: Sequence[Message] | None, offset: int) -> int | None:
    """Return the line that contains the text at this offset of the prompt.

    If there is not exactly one, return the line that writes it.
    """
    text = renders.text(messages, tools)[offset:].partition("\n")[0][:_SEARCHED]
    source = renders.template.source
    if source.count(text) == 1:
        return source.count("\n", 0, source.find(text)) + 1
    return renders.line_at(messages, tools, offset, innermost=True)


def _in_other_forms(renders: Renders) -> Answer:
    """Return the answer if a plain question gets no sentences: tests a question as parts, and a later question."""
    question = user()[0]
    for what, messages in (
        ("if a question is a list of parts", [question | {"content": text_part(question["content"])}]),
        ("in a longer conversation", [*reply(), {"role": "user", "content": FURTHER}]),
    ):
        prompt = renders.unchanged_content().text(messages)
        found = SENTENCE.search(prompt) if len(prompt) <= LONGEST_PROMPT else None
        if found is not None:
            line = _line(renders.unchanged_content(), messages, None, found.start())
            return Answer(
                "no",
                f"{what}, the template writes '{{}}'",
                line,
                "in-some-conversations",
                (quote(escaped(found[0]), 200),),
            )
    return Answer("yes", "by default and without tools, no tested prompt contains a sentence from the template itself")


def _own_text(renders: Renders, prompt: str, sentence: str) -> str:
    """Return the template's own text around a sentence of a prompt, up to a marker or the caller's text."""
    at = prompt.find(sentence)
    begin = max(prompt.rfind("\n", 0, at) + 1, *(mark.end() for mark in MARK.finditer(prompt, 0, at)), 0)
    text = _headless(renders, prompt[begin:].partition(USER)[0].partition(SYSTEM)[0])
    return MARK.split(text, maxsplit=1)[0].strip() or sentence


def _headless(renders: Renders, text: str) -> str:
    """Return the text before a question without the lines that come before any other question, too."""
    header = next(iter(between(renders.text([*reply(), {"role": "user", "content": FURTHER}]), REPLY, FURTHER)), "")
    shared = common_prefix(text[::-1], header[::-1])
    line = text.find("\n", len(text) - shared)
    return text if not shared or line < 0 else text[:line]


def _sentences_with_tools(facts: Facts, renders: Renders) -> tuple[str, int]:
    """Return the sentences that a system message replaces if tools are passed, and their offset."""
    if not facts.shows_tools or not facts.profile.takes_system:
        return "", 0
    prompt, with_system = renders.text(user(), TOOLS), renders.text(user(system=True), TOOLS)
    before, found, after = with_system.partition(SYSTEM)
    if not found or max(len(prompt), len(with_system)) > LONGEST_PROMPT:
        return "", 0
    if not (prompt.startswith(before) and prompt[len(before) :].endswith(after)):
        return "", 0
    replaced = prompt[len(before) : len(prompt) - len(after)]
    return (
        (replaced.strip(), prompt.find(replaced.strip()))
        if TOOL not in replaced and SENTENCE.search(replaced)
        else ("", 0)
    )
