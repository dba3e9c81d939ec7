"""Values in past calls that are no strings: written as JSON has them, or as Python prints them."""

from __future__ import annotations

import re

from toolfmt.errors import TemplateError
from toolfmt.inspect.probe.capabilities import threw
from toolfmt.inspect.probe.conversations import ALL_TOOLS, SINGLE, TYPED, TYPED_TOOL, conversation
from toolfmt.inspect.probe.turns.turn_probe import TurnProbe, no, yes
from toolfmt.inspect.report.report import Answer
from toolfmt.inspect.report.wording import excerpt

PYTHON = re.compile(r"\b(?:True|False|None)\b|\{'[a-z]+': ")
"""What only Python writes of the values that are tried."""
TRIED = ((TYPED_TOOL, TYPED), (TYPED_TOOL, {"text": "plain", "limit": None}))


def values_as_json(asking: TurnProbe) -> Answer:
    """Whether true, null and nested values of a call are written as JSON, not as `True`, `None` and `{'k': …}`."""
    if not asking.renders_calls:
        return no("no call is rendered")
    shape, renders = asking.shape, asking.renders
    plain = renders.calls(shape, SINGLE, ALL_TOOLS)
    own = set() if isinstance(plain, TemplateError) else set(PYTHON.findall(plain.text))
    refused: TemplateError | None = None
    for call in TRIED:
        region = renders.calls(shape, (call,), ALL_TOOLS)
        if isinstance(region, TemplateError):
            refused = refused or region
            continue
        found = next((match for match in PYTHON.finditer(region.text) if match[0] not in own), None)
        if found is not None:
            shown = excerpt(region.text, found.start() - 24, found.end() + 16)
            tools = ALL_TOOLS if shape.tools else None
            line = renders.line_at(
                conversation(shape, (call,)), tools, len(region.before) + found.start(), innermost=True
            )
            what = found[0] if found[0].isalpha() else "a dict"
            return no(f"{what} is printed, as Python writes it", "python", line, shown)
    return threw(refused) if refused else yes("true, null and nested values are written as JSON")
