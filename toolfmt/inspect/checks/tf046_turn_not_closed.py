"""A turn with a call, the system message or reasoning has a start marker but no end marker.

What it checks: whether a turn with a call has the end marker of other responses, and whether the system message keeps
its end marker if tools are sent. The check also reports a response that follows `<think>` without `</think>`.

Why it matters: a turn with a call that lacks its end marker runs into the next turn. The model learns from its own
history to continue after a call, although it should stop. A response after an unclosed `<think>` reads as reasoning. A
system message with tools that lacks its end marker runs into the question. Usually a line was lost in an edit.

Affected runtimes: every runtime that renders this template.

Example:

    {{ '<|im_start|>assistant\\n<tool_call>' }}{{ call.function | tojson }}{{ '</tool_call>' }}

Fix: write the end marker in the line that the finding names.

    {{ '<|im_start|>assistant\\n<tool_call>' }}{{ call.function | tojson }}{{ '</tool_call><|im_end|>\\n' }}
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from toolfmt.formats import write
from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.format.best_reading import ReadBack
from toolfmt.inspect.probe.conversations import (
    DESCRIPTION,
    REPLY,
    RESULT,
    SINGLE,
    SYSTEM,
    TOOLS,
    USER,
    VALUES,
    conversation,
    reply,
    user,
)
from toolfmt.inspect.probe.turn_markers import answer_end, first_marker, known_reasoning
from toolfmt.inspect.report.report import FixedBy, Severity
from toolfmt.inspect.report.turn_shape import TurnShape
from toolfmt.inspect.report.wording import excerpt, quote

SEVERITY: Severity = "warning"
FIXED_BY: FixedBy = "template"

_MARKER = re.compile(r"<[^<>\s]{1,60}>")


def check(facts: Facts) -> Iterator[Diagnostic]:
    if facts.renders is None or facts.probed is None:
        return
    yield from _reasoning(facts)
    yield from _call(facts)
    yield from _system(facts)


def _reasoning(facts: Facts) -> Iterator[Diagnostic]:
    """Report an earlier response that follows an unclosed reasoning block."""
    assert facts.renders is not None
    messages = [*reply(), *user()]
    before, found, after = facts.renders.text(messages).partition(REPLY)
    turn, rest = before.rpartition(USER)[2], after.partition(USER)[0]
    for opener, closer in known_reasoning():
        offset = turn.rfind(opener)
        if found and offset >= 0 and closer not in turn[offset:] and closer not in rest:
            yield Diagnostic(
                f"A response without reasoning follows {opener}, which is never closed: "
                f"'{_ending(turn + REPLY, 60 + len(REPLY))}'.",
                f"Add {closer} after it, or remove {opener}.",
                facts.renders.line_at(messages, None, len(before) - len(turn) + offset),
            )
            return


def _call(facts: Facts) -> Iterator[Diagnostic]:
    """Report a turn with a call that lacks the end marker of a text response."""
    assert facts.renders is not None
    assert facts.probed is not None
    renders, shape, best = facts.renders, facts.probed.shape, facts.decided.read_back
    if shape is None or best is None:
        return
    tools, end = TOOLS if shape.tools else None, answer_end(renders, shape)
    text_prompt = renders.text([*reply(shape), *user()], tools)
    after = text_prompt.rpartition(REPLY)[2].lstrip()
    begins = first_marker(after[len(end) :]) if end and after.startswith(end) else ""
    prompt = renders.text(conversation(shape, SINGLE, results=True), tools)
    turn, found, _ = prompt[prompt.rfind(VALUES[0]) :].partition(RESULT)
    called, goes_on, _ = turn.partition(begins) if begins and found else ("", "", "")
    # The next turn must begin with the start marker of a user's turn, not with another end marker.
    before, _, after = renders.text(user(), tools).partition(USER)
    if not goes_on or end in turn or begins in after or begins not in before:
        return
    markers, header = _MARKER.findall(_as_written(best)), text_prompt.partition(USER)[2].partition(REPLY)[0]
    # A call that is a message with its own header also has its own end marker.
    if not markers or markers[-1] != (_MARKER.findall(called) or [""])[-1] or any(one in header for one in markers):
        return
    yield Diagnostic(
        f"A turn with a call lacks the end marker {end}, which a response with text has: '{_ending(called)}' is "
        f"followed directly by '{quote(begins)}'.",
        f"Add {end} after the calls of a turn.",
        renders.line_at(
            conversation(shape, SINGLE, results=True), tools, prompt.rfind(VALUES[0]) + len(called.rstrip()) - 1
        ),
    )


def _system(facts: Facts) -> Iterator[Diagnostic]:
    """Report a system message that has the end marker of responses, but not if tools are sent."""
    assert facts.renders is not None
    assert facts.probed is not None
    renders, messages = facts.renders, user(system=True)
    end = answer_end(renders, facts.probed.shape or TurnShape())
    closed = renders.text(messages).partition(SYSTEM)[2].partition(USER)[0]
    before = renders.text(messages, TOOLS).partition(USER)[0]
    if not end or not closed.startswith(end) or DESCRIPTION not in before:
        return
    header = closed[len(end) :].lstrip()
    after = before[before.rfind(DESCRIPTION) :]
    if not header or not after.endswith(header) or end in after:
        return
    tools_text = after.removesuffix(header).rstrip()
    yield Diagnostic(
        f"If tools are sent, the system message lacks its end marker {end}, which it has without tools: "
        f"'{_ending(tools_text)}' is followed directly by '{quote(header)}'.",
        f"Add {end} after the tools.",
        renders.line_at(messages, TOOLS, len(before) - len(after) + len(tools_text) - 1),
    )


def _ending(text: str, length: int = 40) -> str:
    """Return the end of a part of a prompt for display."""
    return excerpt(text, len(text) - length, len(text))


def _as_written(best: ReadBack) -> str:
    """Return the call as its format writes it, with the format's own end marker."""
    return write(best.format.with_variant(best.variant or ""), SINGLE, TOOLS)
