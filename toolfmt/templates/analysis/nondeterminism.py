"""Find where a template reads the clock or uses random values, from its syntax tree, without running anything."""

from __future__ import annotations

from jinja2 import nodes

from toolfmt.templates.analysis.variables import descendants

RANDOM = frozenset({"random", "lipsum"})
"""Filters and functions with an unpredictable result."""


def draws_line(tree: nodes.Template) -> int | None:
    """Return the first line with a random filter or function, or None."""
    drawing = (
        node.lineno
        for node in descendants(tree)
        if isinstance(node, (nodes.Filter, nodes.Name)) and node.name in RANDOM
    )
    return min(drawing, default=None)


def clock_formats(tree: nodes.Template) -> tuple[str, ...]:
    """Return the constant formats that `strftime_now` is called with."""
    return tuple(
        dict.fromkeys(
            node.args[0].value
            for node in descendants(tree)
            if isinstance(node, nodes.Call)
            and isinstance(node.node, nodes.Name)
            and node.node.name == "strftime_now"
            and node.args
            and isinstance(node.args[0], nodes.Const)
            and isinstance(node.args[0].value, str)
        )
    )
