"""The template changes the order of keys, or renders something else if keys come in another order.

What it checks: a call with its arguments in two orders, and tool definitions with their keys in two orders.

Why it matters: JSON objects do not have an order, but prompts do. If the template sorts the arguments of a call, it
writes calls differently than the model did, and the text after them is computed again. A template that looks at the
first key of a definition, or omits keys depending on their order, describes the same tool differently.

Affected runtimes: every runtime that renders this template. Sorted arguments matter only with a prefix cache.

Example:

    {% for key, value in arguments | dictsort %}{{ key }}={{ value }}{% endfor %}

Fix: do nothing for sorted arguments, but expect the cost. Send the keys of tools in the order that the template
expects. `toolfmt render` always writes type, function, name, description and parameters in this order, and keeps your
order inside `parameters`. From Python, `sort_properties=True` sorts them there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.probe.conversations import ALL_TOOLS, TYPED_TOOL, VALUES, conversation, user
from toolfmt.inspect.probe.differences import common_prefix
from toolfmt.inspect.report.report import Severity

SEVERITY: Severity = "note"

_WRITTEN = {"text": VALUES[0], "count": 31}


def check(facts: Facts) -> Iterator[Diagnostic]:
    yield from _arguments(facts)
    yield from _definitions(facts)


def _arguments(facts: Facts) -> Iterator[Diagnostic]:
    shape = facts.shape
    if facts.renders is None or shape is None or shape.arguments != "object":
        return
    tools = ALL_TOOLS if shape.tools else None
    turned = dict(reversed(_WRITTEN.items()))
    talks = [conversation(shape, ((TYPED_TOOL, given),)) for given in (_WRITTEN, turned)]
    one, other = (facts.renders.render(talk, tools) for talk in talks)
    if isinstance(one, str) and one == other and VALUES[0] in one:
        line = facts.renders.line_at(talks[0], tools, one.rfind(VALUES[0]))
        if line is not None and facts.turn_probe is not None:
            line = facts.turn_probe.last_line(r"\bdictsort\b|\|\s*sort\b|\bsort_keys\b", line) or line
        yield Diagnostic(
            "The template writes the arguments of a call in an order of its own, whatever order the model wrote "
            "them in: a call that the model wrote in another order misses the prefix cache.",
            "Nothing to fix. Expect cache misses after such calls.",
            line,
        )


def _definitions(facts: Facts) -> Iterator[Diagnostic]:
    if facts.renders is None or not facts.shows_tools:
        return
    one = facts.renders.render(user(), ALL_TOOLS)
    other = facts.renders.render(user(), [_turned(tool) for tool in ALL_TOOLS])
    if not isinstance(one, str) or not isinstance(other, str) or _same_but_order(one, other):
        return
    yield Diagnostic(
        "The template describes the same tools differently if the keys of their definitions come in another order.",
        "Use the usual order of keys (type, function; name, description, parameters); `toolfmt render` does this, "
        "and keeps the order inside `parameters`.",
        facts.renders.line_at(user(), ALL_TOOLS, common_prefix(one, other)),
    )


def _same_but_order(one: str, other: str) -> bool:
    """Whether the prompts differ only in order. Ignores separators, which move with the keys."""
    return one == other or sorted(filter(str.isalnum, one)) == sorted(filter(str.isalnum, other))


def _turned(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _turned(item) for key, item in reversed(value.items())}
    return [_turned(item) for item in value] if isinstance(value, list) else value
