"""A later call of the conversation, or its result, is rendered differently than the first.

What it checks: a conversation with two turns that have calls and results.

Why it matters: the template sets a variable when it writes the start marker of calls or results, and never resets it.
From the second turn with calls on, the start marker is missing. A parser that reads the first call does not find the
second in the history, and the model learns from it to omit the marker.

Affected runtimes: every runtime that renders this template. The templates of DeepSeek R1 and its distillations do this.

Example:

    {% if not ns.is_first %}<calls>{% set ns.is_first = true %}{% endif %}

Fix: reset the variable at the start of a turn, or render past calls as content.

    {% if message.role == 'assistant' %}{% set ns.is_first = false %}{% endif %}
    {% if not ns.is_first %}<calls>{% set ns.is_first = true %}{% endif %}
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.probe.conversations import (
    PARAMETER,
    RESULT,
    SINGLE,
    TOOL,
    TOOLS,
    VALUES,
    Message,
    answering,
    call_id,
    calling,
    conversation,
)
from toolfmt.inspect.probe.renders import Region
from toolfmt.inspect.probe.turn_markers import known_reasoning
from toolfmt.inspect.probe.turns.turn_probe import SECOND_RESULT, TurnProbe
from toolfmt.inspect.report.report import FixedBy, Severity
from toolfmt.inspect.report.turn_shape import TurnShape
from toolfmt.inspect.report.wording import quote

SEVERITY: Severity = "warning"
FIXED_BY: FixedBy = "template"

_SECOND = ((TOOL, {PARAMETER: VALUES[1]}),)


def check(facts: Facts) -> Iterator[Diagnostic]:
    probe = facts.turn_probe
    if probe is None or not probe.renders_calls or probe.answered is None or probe.answered.ids == "function":
        return
    shape = replace(probe.answered, follows="result")
    history = conversation(shape, SINGLE)
    called = [*history, calling(shape, _SECOND, first=1)]
    answered = [*called, *answering(shape, _SECOND, [SECOND_RESULT], first=1)]
    yield from _call(probe, called)
    yield from _result(probe, history, answered)


def _call(probe: TurnProbe, called: list[Message]) -> Iterator[Diagnostic]:
    shape = replace(probe.answered or probe.shape, follows="nothing")
    first = probe.renders.calls(shape, SINGLE, TOOLS)
    prompt = probe.ask(called)
    if not isinstance(first, Region) or not isinstance(prompt, str) or VALUES[1] not in prompt:
        return
    expected = first.text.strip().replace(VALUES[0], VALUES[1]).partition(VALUES[1])[0]
    if VALUES[1] not in first.text.replace(VALUES[0], VALUES[1]) or _ends_similarly(
        expected, prompt.partition(VALUES[1])[0]
    ):
        return
    at = prompt.find(VALUES[1])
    yield Diagnostic(
        f"The call of a second turn is rendered differently: the text before its argument is '{quote(expected)}' "
        f"in the first turn and '{quote(prompt[at - len(expected) : at])}' in the second.",
        "In the template, reset the flag for started calls at the start of a turn.",
        probe.line_in_history(called, at),
    )


def _result(probe: TurnProbe, history: list[Message], answered: list[Message]) -> Iterator[Diagnostic]:
    one, two = probe.ask(history), probe.ask(answered)
    if not isinstance(one, str) or not isinstance(two, str) or RESULT not in one or SECOND_RESULT not in two:
        return
    expected = one[one.rfind(VALUES[0]) + len(VALUES[0]) : one.find(RESULT)]
    written = two[two.rfind(VALUES[1]) + len(VALUES[1]) : two.find(SECOND_RESULT)]
    if VALUES[0] in one and VALUES[1] in two and not _ends_similarly(expected, written):
        yield Diagnostic(
            f"The result of a second turn is rendered differently: the text before it is '{quote(expected)}' "
            f"in the first turn and '{quote(written)}' in the second.",
            "In the template, reset the flag for started results at the start of a turn.",
            probe.line_in_history(answered, two.find(SECOND_RESULT)),
        )


def _ends_similarly(expected: str, written: str) -> bool:
    """Whether `written` ends with `expected`, except for whitespace, call ids, and numbers that may count calls."""
    ids = "|".join(re.escape(call_id(TurnShape(), TOOL, position) or "") for position in (0, 1))
    plain = [re.sub(rf"{ids}|[0-9\s]+", "", text) for text in (expected, written)]
    closers = tuple(closer for _, closer in known_reasoning())
    # The end marker of a reasoning block precedes only the first call.
    expected_end = next((plain[0].removeprefix(closer) for closer in closers if plain[0].startswith(closer)), plain[0])
    return plain[1].endswith(expected_end)
