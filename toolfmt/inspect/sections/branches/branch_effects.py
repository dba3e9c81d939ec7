"""Conditions on text, names, numbers, roles or the clock, and what they change in a prompt.

`branches` returns those that change more than the text that triggers them. The outcomes of conditions are recorded
while rendering (`ChatTemplate.watch`). The prompt is compared with that of the same conversation with the usual words.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.inspect.facts import Facts
from toolfmt.inspect.probe.conversations import TOOLS, user
from toolfmt.inspect.report.report import Branch
from toolfmt.inspect.sections.branches.branch_renders import Taking
from toolfmt.inspect.sections.branches.by_clock import by_clock
from toolfmt.inspect.sections.branches.by_number import by_numbers
from toolfmt.inspect.sections.branches.by_outcome import by_outcome
from toolfmt.inspect.sections.branches.by_role import by_roles
from toolfmt.inspect.sections.branches.by_text import by_keyword, by_name, by_texts
from toolfmt.inspect.sections.branches.conversations import Manner


def branches(facts: Facts) -> tuple[Branch, ...]:
    """Return the branches found, ordered by line; empty if no template renders. Never raises."""
    manner = _manner(facts)
    if facts.renders is None or manner is None:
        return ()
    taking = Taking(facts.renders, manner)
    found = list(_found(taking))
    if not any(branch.by == "name" for branch in found):
        found += by_name(taking)
    shown = {(branch.place, branch.text) for branch in found}
    found += (branch for branch in by_keyword(taking) if (branch.place, branch.text) not in shown)
    kept = facts.sections.safety.get("content_kept")
    stated = [text for branch in found for text in branch.excerpts] + ([kept.to_dict()["evidence"]] if kept else [])
    found += by_outcome(taking, "\n".join(stated))
    return tuple(sorted(found, key=lambda branch: branch.line or 0))


def _found(taking: Taking) -> Iterator[Branch]:
    yield from by_texts(taking)
    yield from by_numbers(taking)
    yield from by_roles(taking)
    yield from by_clock(taking)


def _manner(facts: Facts) -> Manner | None:
    renders, probe = facts.renders, facts.turn_probe
    if renders is None or probe is None:
        return None
    shape = (probe.answered or facts.shape) if probe.renders_calls else None
    tools = isinstance(renders.render(user(), TOOLS), str) and (shape is None or shape.tools)
    return Manner(shape, tools, facts.yes("system"), facts.profile.text_with_call, probe.results == "parts")
