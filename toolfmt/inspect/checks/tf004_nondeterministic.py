"""The same request gives a different prompt at another time, or at random.

What it checks: requests with and without system message, tools, calls and results, rendered at different dates and
several times each. A template that reads the clock but prints nothing from it does not have this finding.

- `date-in-prompt`: the prompt contains the date or the time, usually near the beginning. When it changes, everything
  after it is computed again.
- `clock-decides-branch`: the clock decides what else is rendered. Tools, messages or instructions appear and disappear
  with the date, so what was tested today may not hold tomorrow.
- `renders-differ`: the same request, rendered again, gave a different prompt. Something in the template is random
  (`random`, `lipsum`), or the template prints an object's memory address, which is of no use to the model.
- `random-output`: the template uses a random value, but no two renders differed here. A rare random value may change
  the prompt, and no test finds it.

Why it matters: a prefix cache misses, and a test that compares prompts fails overnight or at random.

Affected runtimes: every runtime that renders this template.

Example:

    Today's date: {{ strftime_now("%Y-%m-%d") }}

Fix: for the clock, render at a fixed time, or pass the variable that the template reads instead (often `date_string`).
`toolfmt.Model.render` accepts the time as `now`. Remove random parts and conditions on the clock from the template.
Print a value instead of an object.

    Today's date: {{ date_string }}
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TypeAlias

from toolfmt.inspect.checks.diagnostic import Diagnostic, FindingOutcome
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.probe.clock import ONE_DAY, tick
from toolfmt.inspect.probe.conversations import PLACEHOLDERS, SINGLE, TOOLS, Message, conversation, user
from toolfmt.inspect.probe.differences import common_prefix
from toolfmt.inspect.probe.renders import Renders
from toolfmt.inspect.report.turn_shape import TurnShape
from toolfmt.inspect.report.wording import quote

OUTCOMES = {
    "date-in-prompt": FindingOutcome(
        "note",
        replaces="TF004 clock-used",
        why_not_fixed="the date is a part of what the template says; give it a fixed time, or a variable that it reads",
    ),
    "renders-differ": FindingOutcome("error", replaces="TF052 renders-differ"),
    "clock-decides-branch": FindingOutcome("warning", "request", replaces="TF087 clock-decides-a-branch"),
    "random-output": FindingOutcome("warning", "template", replaces="TF088 chance-decides"),
}
PROTECTED = True


def check(facts: Facts) -> Iterator[Diagnostic]:
    yield from _date(facts)
    yield from _renders_differ(facts)
    yield from _clock_decides(facts)
    yield from _random(facts)


_Request: TypeAlias = tuple[Sequence[Message], Sequence[Message] | None]
_A_DATE = "Kq8date"
_NO_DATES = {"messages", "tools", "documents", "add_generation_prompt", *PLACEHOLDERS}
_ANOTHER = datetime(2031, 11, 23, 4, 56, 7)


def _date(facts: Facts) -> Iterator[Diagnostic]:
    renders = facts.renders
    if renders is None or not renders.template.uses_clock:
        return
    conversations = _conversations(facts)
    changed = _changed(renders, conversations)
    if any(branch.by == "clock" for branch in facts.sections.branches) and not (changed and _prints(renders, *changed)):
        return  # reported as what the clock decides
    switch = None if changed else _switch(renders, conversations)
    if switch is not None:
        renders = renders.given({switch: True})
        changed = _changed(renders, conversations)
    clock_lines = (renders.clock_line(messages, tools) for messages, tools in ([changed] if changed else conversations))
    line = next((line for line in clock_lines if line is not None), None)
    if line is not None and changed is None:
        return  # what it reads from the clock is not in any prompt
    where = _where(renders, conversations) if switch is None else f" where the variable {switch} is given"
    often = "" if changed is None else tick(renders, *changed)
    how = f"prints the date{where}, so the same request gives a different prompt on another day"
    if often:
        how = f"prints the time{where}, so the same request gives a different prompt a {often} later"
    if changed is None:
        how = "can read the clock, but did not in any tested request"
    instead = _variable(renders, *changed) if changed else None
    other = f" or leave out the variable {switch}" if switch else "; the template has no variable for the date"
    if instead is not None:
        other = f" or pass the date as the variable {instead}"
    yield Diagnostic(
        f"The template {how}.",
        f"Render at a fixed time (in Python: `Model.render(…, now=…)`){other}.",
        line or renders.template.line_of(r"strftime_now\s*\("),
        outcome="date-in-prompt",
    )


def _conversations(facts: Facts) -> list[_Request]:
    """Return requests of every kind: with and without system message, tools, calls and results."""
    requests: list[_Request] = [(user(system=system), tools) for system in (False, True) for tools in (None, TOOLS)]
    if facts.shape is not None:
        requests += [(conversation(facts.shape, SINGLE, results=results), TOOLS) for results in (False, True)]
    return requests


def _changed(renders: Renders, requests: Sequence[_Request]) -> _Request | None:
    """Return the first request whose prompt differs on another day, or None."""
    for messages, tools in requests:
        if renders.render(messages, tools, now=ONE_DAY) != renders.render(messages, tools, now=_ANOTHER):
            return messages, tools
    return None


def _where(renders: Renders, requests: Sequence[_Request]) -> str:
    """Return in which requests the date is printed. Empty if it is in all of them, or in none."""
    begins: dict[bool, set[str]] = {True: set(), False: set()}
    for messages, tools in requests:
        one, other = (renders.render(messages, tools, now=now) for now in (ONE_DAY, _ANOTHER))
        if isinstance(one, str):
            begins[one != other].add("system" if messages[0]["role"] == "system" else "")
    if not begins[False] or not begins[True]:
        return ""
    return " if there is no system message" if begins == {True: {""}, False: {"system"}} else " in some requests"


def _switch(renders: Renders, requests: Sequence[_Request]) -> str | None:
    """Return a variable of the template that makes it print the date, or None."""
    for use in renders.template.variable_uses:
        if "asked" in use.manners and use.name not in _NO_DATES:
            if _changed(renders.given({use.name: True}), requests[:1]):
                return use.name
    return None


def _prints(renders: Renders, messages: Sequence[Message], tools: Sequence[Message] | None) -> bool:
    """Whether the prompt contains a formatted date that differs on another day."""
    one, other = (renders.render(messages, tools, now=now) for now in (ONE_DAY, _ANOTHER))
    shown = [_ANOTHER.strftime(format) for format in renders.template.clock_formats]
    return isinstance(other, str) and any(text and text in other and text not in str(one) for text in shown)


def _variable(renders: Renders, messages: Sequence[Message], tools: Sequence[Message] | None) -> str | None:
    """Return the variable that replaces the clock: if it is passed, the prompt no longer changes."""
    for name in renders.template.variables:
        if name in _NO_DATES:
            continue
        given = {name: _A_DATE}
        one, other = (renders.given(given).fresh(messages, tools, now=now) for now in (ONE_DAY, _ANOTHER))
        if isinstance(one, str) and one == other and _A_DATE in one:
            return name
    return None


_ADDRESS = re.compile(r"<[^<>\n]{1,200} at 0x[0-9a-f]{4,}>")
_RANDOM = r"\b(?:random|lipsum)\b"
# With a random choice of three values, two renders are equal in a third of the cases.
_TIMES, _TIMES_IF_RANDOM = 2, 12


def _renders_differ(facts: Facts) -> Iterator[Diagnostic]:
    renders = facts.renders
    if renders is None:
        return
    shape = facts.shape or TurnShape()
    times = _TIMES if renders.template.line_of(_RANDOM) is None else _TIMES_IF_RANDOM
    fix = "Remove the random part from the template, or print a value instead of an object."
    for messages, tools in ((user(system=facts.profile.takes_system), TOOLS), (conversation(shape, SINGLE), TOOLS)):
        prompts = [renders.render(messages, tools), *(renders.fresh(messages, tools) for _ in range(times - 1))]
        one, *others = [prompt for prompt in prompts if isinstance(prompt, str)] or [""]
        address = _ADDRESS.search(one)
        if address is not None:
            line = renders.line_at(messages, tools, address.start())
            yield Diagnostic(
                f"The template prints a memory address: {quote(address[0])}.",
                fix,
                line,
                outcome="renders-differ",
            )
            return
        other = next((other for other in others if other != one), None)
        if other is not None:
            offset = common_prefix(one, other)
            yield Diagnostic(
                "Rendering the same request twice gives different prompts: "
                f"'{quote(one[offset : offset + 60])}' becomes '{quote(other[offset : offset + 60])}'.",
                fix,
                renders.line_at(messages, tools, offset),
                outcome="renders-differ",
            )
            return


def _clock_decides(facts: Facts) -> Iterator[Diagnostic]:
    for branch in facts.sections.branches:
        if branch.by == "clock":
            yield Diagnostic(
                f"The prompt depends on the clock: on {branch.place}, {branch.effect}.",
                "Render at a fixed time (in Python: `Model.render(…, now=…)`), or take the condition out of the "
                "template.",
                branch.line,
                outcome="clock-decides-branch",
            )


def _random(facts: Facts) -> Iterator[Diagnostic]:
    if facts.renders is None:
        return
    template = facts.renders.template
    deciding = next((one.line for one in template.watch.conditions if one.about == "chance"), None)
    line = deciding or template.draws_line
    if line is None or (deciding is None and any(_renders_differ(facts))):
        return
    how = "decides at random" if deciding else "uses random numbers"
    yield Diagnostic(
        f"The template {how}: the same request may give a different prompt.",
        "Remove the random part from the template.",
        line,
        outcome="random-output",
    )
