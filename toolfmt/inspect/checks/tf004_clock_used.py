"""The template asks the clock, so that the same request gives another prompt tomorrow, or a second later.

The date stands near the beginning of the prompt. When it changes, everything behind it is computed again (the prefix
cache misses), and a test that compares prompts fails overnight; where it is the time, each request. (Where the clock
decides what else is written, TF087 tells it. A template that asks the clock and writes nothing of what it is told is
none of these.)

What to do: give the renderer a fixed time, or pass the variable that the template reads instead of the clock
where it has one (often `date_string`). toolfmt's `render` takes the time as `now`, and shows
the present one where none is given.

Example: `Today's date: {{ strftime_now("%Y-%m-%d") }}`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TypeAlias

from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.probe.clock import ONE_DAY, tick
from toolfmt.inspect.probe.conversations import SINGLE, STAND_INS, TOOLS, Message, conversation, user
from toolfmt.inspect.probe.renders import Renders
from toolfmt.inspect.report.report import Severity

SEVERITY: Severity = "note"

_Request: TypeAlias = tuple[Sequence[Message], Sequence[Message] | None]
_A_DATE = "Kq8date"
_NO_DATES = {"messages", "tools", "documents", "add_generation_prompt", *STAND_INS}
_ANOTHER = datetime(2031, 11, 23, 4, 56, 7)


def check(facts: Facts) -> Iterator[Diagnostic]:
    renders = facts.renders
    if renders is None or not renders.template.uses_clock:
        return
    conversations = _conversations(facts)
    changed = _changed(renders, conversations)
    if any(branch.by == "clock" for branch in facts.sections.branches) and not (changed and _prints(renders, *changed)):
        return  # TF087 tells what the clock decides
    switch = None if changed else _switch(renders, conversations)
    if switch is not None:
        renders = renders.given({switch: True})
        changed = _changed(renders, conversations)
    asked = (renders.clock_line(messages, tools) for messages, tools in ([changed] if changed else conversations))
    line = next((line for line in asked if line is not None), None)
    if line is not None and changed is None:
        return  # what it is told stands in no prompt
    where = "" if switch is None else f" where the variable {switch} is given"
    often = "" if changed is None else tick(renders, *changed)
    how = f"prints the date{where}, so the same request gives another prompt on another day"
    if often:
        how = f"prints the time{where}, so the same request gives another prompt a {often} later"
    if changed is None:
        how = "can ask the clock, where no request of this report has made it"
    instead = _variable(renders, *changed) if changed else None
    other = f" or leave out the variable {switch}" if switch else "; the template reads no variable in its place"
    if instead is not None:
        other = f" or pass the date as the variable {instead}"
    yield Diagnostic(
        f"The template {how}.",
        f"Render at a fixed time (in Python, Model.render takes one as now){other}.",
        line or renders.template.line_of(r"strftime_now\s*\("),
    )


def _conversations(facts: Facts) -> list[_Request]:
    """Requests of every kind: what is asked of one holds of all of them."""
    asked: list[_Request] = [(user(system=system), tools) for system in (False, True) for tools in (None, TOOLS)]
    if facts.shape is not None:
        asked += [(conversation(facts.shape, SINGLE, results=results), TOOLS) for results in (False, True)]
    return asked


def _changed(renders: Renders, requests: Sequence[_Request]) -> _Request | None:
    """The first of the requests that gives another prompt on another day; None where none does."""
    for messages, tools in requests:
        if renders.render(messages, tools, now=ONE_DAY) != renders.render(messages, tools, now=_ANOTHER):
            return messages, tools
    return None


def _switch(renders: Renders, requests: Sequence[_Request]) -> str | None:
    """A variable of the template that makes it print the date; None where none does."""
    for use in renders.template.variable_uses:
        if "asked" in use.manners and use.name not in _NO_DATES:
            if _changed(renders.given({use.name: True}), requests[:1]):
                return use.name
    return None


def _prints(renders: Renders, messages: Sequence[Message], tools: Sequence[Message] | None) -> bool:
    """Whether what the clock shows stands in the prompt, and is another on another day."""
    one, other = (renders.render(messages, tools, now=now) for now in (ONE_DAY, _ANOTHER))
    shown = [_ANOTHER.strftime(format) for format in renders.template.clock_formats]
    return isinstance(other, str) and any(text and text in other and text not in str(one) for text in shown)


def _variable(renders: Renders, messages: Sequence[Message], tools: Sequence[Message] | None) -> str | None:
    """The variable of the template that stands in for the clock: with it the prompt no longer changes."""
    for name in renders.template.variables:
        if name in _NO_DATES:
            continue
        given = {name: _A_DATE}
        one, other = (renders.given(given).fresh(messages, tools, now=now) for now in (ONE_DAY, _ANOTHER))
        if isinstance(one, str) and one == other and _A_DATE in one:
            return name
    return None
