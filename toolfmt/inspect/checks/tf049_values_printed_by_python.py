"""Past calls show values as Python prints them: `True`, `None`, `{'k': 1}`.

The template prints the values of a call without `tojson`. The model sees itself write something that is not JSON, and
learns to do so; a strict parser then refuses the call, and a lenient one has to guess whether `None` is a word.

What to do: write values that are no strings with `tojson`; `toolfmt inspect --fix --output COPY` tries that in a copy.
Where calls of the model arrive like that, toolfmt's parsers read them by the tool's schema.

Example: `{{ value }}` instead of `{{ value if value is string else value | tojson }}`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from toolfmt.errors import CannotWrite
from toolfmt.formats import ToolCallFormat, write
from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.probe.conversations import ALL_TOOLS
from toolfmt.inspect.probe.turns.values import PYTHON, TRIED
from toolfmt.inspect.report.report import Severity

SEVERITY: Severity = "note"


def check(facts: Facts) -> Iterator[Diagnostic]:
    answer = facts.detail("values_as_json")
    if answer.outcome == "python" and not _is_python(facts.decided.format):
        yield Diagnostic(
            f"In past calls {answer.evidence}.",
            _fix(facts.decided.format),
            answer.line,
        )


def _fix(format: ToolCallFormat | None) -> str:
    """What to do; tojson would break the objects of a format that has a notation of its own for them."""
    if format is not None:
        try:
            written = "".join(write(format, TRIED[:1], ALL_TOOLS).split())
        except CannotWrite:
            written = ""
        if written and "".join(json.dumps(TRIED[0][1]["options"]).split()) not in written:
            return f"Write true, false and null in lower case; objects as {format.name} has them, not with tojson."
    return "Write values that are no strings with tojson; `toolfmt inspect --fix` tries that in a copy."


def _is_python(format: ToolCallFormat | None) -> bool:
    """Whether the format itself writes calls in Python's notation."""
    if format is None:
        return False
    try:
        return PYTHON.search(write(format, TRIED[:1], ALL_TOOLS)) is not None
    except CannotWrite:
        return False
