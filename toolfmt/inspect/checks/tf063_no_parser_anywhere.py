"""No runtime has a parser for the calls that this template renders.

The format is known here, or was derived from the calls, but neither vLLM nor SGLang, mlx-lm or mlx-swift-lm has a
parser of its own for it, and that llama.cpp derives one from the template is not confirmed. Served by one of them,
calls arrive as raw markup.

What to do: parse the answers with toolfmt.

Example: Falcon3's calls.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report.report import Severity
from toolfmt.inspect.runtimes.parser_line import our_parser

SEVERITY: Severity = "note"


def check(facts: Facts) -> Iterator[Diagnostic]:
    best = facts.decided.read_back
    if best is None or best.format.runtime_parsers:
        return
    derived = facts.decided.decision.derived is not None
    format = "the derived format, that" if derived else f"{best.format.name}, the format"
    yield Diagnostic(
        f"No runtime is known to have a parser for {format} of this template's calls.",
        f"Parse the answers with {our_parser(facts, best.format)}.",
    )
