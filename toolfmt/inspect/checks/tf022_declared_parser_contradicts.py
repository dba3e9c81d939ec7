"""The directory declares a parser that does not read the calls its own template renders.

The template teaches the model one way to write calls, the declaration makes the runtime expect another, or one
that its parser of this name gets wrong. Calls then arrive as raw markup in the answer, or with a wrong name.

What to do: believe the template; change the declaration, or leave it out. Where the runtime has no parser that
reads these calls, parse what it generates with toolfmt's.

Example: a `tool_parser_type` copied from the family's older model beside a template that renders
`<tool_call>{"name": …}</tool_call>`; `mistral` for calls with `[CALL_ID]`, of which mlx-lm takes the id for the name.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt._util.text_lists import listed
from toolfmt.formats import ToolCallFormat
from toolfmt.formats.parser_names import parser_name
from toolfmt.inspect.checks.diagnostic import Diagnostic, Setting
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.format.decision import Declaration
from toolfmt.inspect.report.report import Severity
from toolfmt.inspect.report.wording import quote
from toolfmt.inspect.runtimes.parser_line import our_parser
from toolfmt.inspect.runtimes.runtime_support import declares_parser, misread, mlx_lm_reader
from toolfmt.inspect.runtimes.template_choice import MLX_LM

SEVERITY: Severity = "error"
ABOUT_PARSING = True
SETTING: Setting = "parser"
ABOUT_FILES = True


def check(facts: Facts) -> Iterator[Diagnostic]:
    rendered = facts.decided.rendered
    if not rendered:
        return
    best = facts.decided.read_back
    for declared in facts.decided.declarations:
        names = [known.name for known in declared.formats]
        if best is not None and declared.covers(best.format):
            yield from _misread(facts, declared, best.format)
            continue
        if not names:
            continue
        says = listed(names, "or")
        reads = f"calls that {best.format.name} reads" if best is not None else "calls that no known format reads"
        yield Diagnostic(
            f"{declared.source} declares {declared.value!r} ({says}), but the template renders {reads}: "
            f"{quote(rendered)}.",
            _instead(facts, best.format) if best is not None else "Check which parser the model needs.",
            facts.capabilities["tool_calls"].line,
        )


def _misread(facts: Facts, declared: Declaration, format: ToolCallFormat) -> Iterator[Diagnostic]:
    """That the parser is the one for the format, and still misreads these calls."""
    if declares_parser(facts) and (what := misread(facts, declared.runtime, declared.value)):
        yield Diagnostic(
            f"{declared.source} declares {declared.value!r}, which {what}: {quote(facts.decided.rendered)}.",
            _instead(facts, format),
            facts.capabilities["tool_calls"].line,
        )


def _instead(facts: Facts, format: ToolCallFormat) -> str:
    """What to declare: the key is read by mlx-lm, which has names of its own."""
    if name := mlx_lm_reader(facts):
        return f"Declare {name}, which is mlx-lm's name for {format.name}."
    if parser_name(format, MLX_LM):
        return f"Parse what mlx-lm generates with {our_parser(facts, format)}: it has no parser that reads these calls."
    return "Declare no parser."
