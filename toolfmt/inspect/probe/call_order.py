"""Detect templates that sort the calls of a turn."""

from __future__ import annotations

from toolfmt.errors import TemplateError
from toolfmt.inspect.probe.conversations import ALL_TOOLS, BARE_TOOL, PARAMETER, TOOL, VALUES
from toolfmt.inspect.probe.renders import Renders
from toolfmt.inspect.report.turn_shape import TurnShape


def sorts_calls(renders: Renders, shape: TurnShape) -> bool:
    """Return whether two calls whose names and values are in descending order are rendered in ascending order."""
    first, second = ((name, {PARAMETER: value}) for name, value in ((BARE_TOOL, VALUES[1]), (TOOL, VALUES[0])))
    region = renders.calls(shape, (first, second), ALL_TOOLS)
    if isinstance(region, TemplateError):
        return False
    return -1 < region.text.find(VALUES[0]) < region.text.find(VALUES[1])
