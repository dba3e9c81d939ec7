"""The directory declares a parser that does not read the calls its own template renders.

The template teaches the model one way to write calls, the declaration makes the runtime expect another. Calls
then arrive as raw markup in the answer.

What to do: believe the template; change the declaration, or leave it out.

Example: a `tool_parser_type` copied from the family's older model beside a template that renders
`<tool_call>{"name": …}</tool_call>`.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.formats import ToolCallFormat
from toolfmt.inspect.checks.found import Found
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report import Severity
from toolfmt.inspect.support.parser_names import parser_name
from toolfmt.inspect.support.template_choice import MLX_LM
from toolfmt.inspect.wording import quote
from toolfmt.listing import listed

SEVERITY: Severity = "error"
ABOUT_FILES = True


def check(facts: Facts) -> Iterator[Found]:
    rendered = facts.decided.rendered
    if not rendered:
        return
    best = facts.decided.read_back
    for declared in facts.decided.declarations:
        names = [known.name for known in declared.formats]
        if not names or (best is not None and declared.covers(best.format)):
            continue
        says = listed(names, "or")
        reads = f"calls that {best.format.name} reads" if best is not None else "calls that no known format reads"
        yield Found(
            f"{declared.source} declares {declared.value!r} ({says}), but the template renders {reads}: "
            f"{quote(rendered)}.",
            _instead(best.format) if best is not None else "Check which parser the model needs.",
            facts.capabilities["tool_calls"].line,
        )


def _instead(format: ToolCallFormat) -> str:
    """What to declare: the key is read by mlx-lm, which has names of its own."""
    name = parser_name(format, MLX_LM)
    return f"Declare {name}, which is mlx-lm's name for {format.name}." if name else "Declare no parser."
