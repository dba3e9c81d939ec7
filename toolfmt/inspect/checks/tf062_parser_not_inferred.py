"""mlx-lm has a parser for these calls and does not find it by itself.

It looks for markers in the template's text, and not at all where templates have names. Without a parser its
server hands the calls out as text. Of 388 real templates that describe tools it finds none for 123; for some of
these it has one.

What to do: name the parser in `tokenizer_config.json`; mlx-swift-lm reads the same entry.

Example: a template that writes `call.function.name` where mlx-lm looks for `tool_call.name`.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report.report import FixedBy, Severity
from toolfmt.inspect.runtimes.advice import setting
from toolfmt.inspect.runtimes.runtime_support import declares_parser, mlx_lm_reader
from toolfmt.inspect.runtimes.template_choice import MLX_LM

SEVERITY: Severity = "warning"
FIXED_BY: FixedBy = "setting"
ABOUT_FILES = True


def check(facts: Facts) -> Iterator[Diagnostic]:
    name = mlx_lm_reader(facts)
    if name is None or declares_parser(facts):
        return
    for support in facts.sections.runtime_support:
        if support.runtime == MLX_LM and support.template and support.parser is None:
            yield Diagnostic(
                f"mlx-lm does not find its parser {name} by itself: {support.why_parser}.",
                f"Write {setting(name)} into tokenizer_config.json.",
            )
