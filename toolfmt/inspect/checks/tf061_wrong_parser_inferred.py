"""A runtime that finds its parser by itself takes one that does not read the calls of this template.

mlx-lm and mlx-swift-lm look for markers in the template's text and take the parser of the first that stands there.
Where a template mentions the markers of another format, or writes its calls a little differently, that is the
wrong one: calls arrive as raw markup in the answer, with a wrong name, or not at all.

It is an error where mlx-lm has no parser that reads these calls, a warning where it has one that can be named, and a
note where mlx-swift-lm alone is wrong: its code was read, not run.

What to do: name the parser in `tokenizer_config.json` where the runtime has one for the format; otherwise parse
what it generates with toolfmt's.

Example: MiniMax M3's template mentions `<tool_call>`, so that mlx-lm takes `json_tools`, which reads none of its
calls; Mistral's calls with `[CALL_ID]`, of which mlx-lm takes the id for the name.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt._util.text_lists import listed
from toolfmt.formats.parser_names import parser_name
from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report.report import FixedBy, RuntimeSupport, Severity
from toolfmt.inspect.report.wording import quote
from toolfmt.inspect.runtimes.advice import setting
from toolfmt.inspect.runtimes.parser_line import our_parser
from toolfmt.inspect.runtimes.runtime_support import declares_parser, misled, misread, mlx_lm_reader
from toolfmt.inspect.runtimes.template_choice import MLX_LM, MLX_SWIFT_LM

SEVERITY: Severity = "error"
ABOUT_FILES = True
FIXED_BY: FixedBy = "setting"


def check(facts: Facts) -> Iterator[Diagnostic]:
    best = facts.decided.read_back
    if best is None or declares_parser(facts):
        return
    wrong = [
        support
        for support in facts.sections.runtime_support
        if support.runtime in (MLX_LM, MLX_SWIFT_LM)
        and support.right is False
        # A runtime without a parser for the format has to fall back on something, which is no fault of the template.
        and (parser_name(best.format, support.runtime) is not None or misled(facts, support.runtime))
    ]
    if not wrong:
        return
    by_name = _by_name(facts, wrong)
    misread_only = all(misread(facts, support.runtime, support.parser or "") for support in wrong)
    but = "" if misread_only else f", but the template renders {best.format.name} calls"
    yield Diagnostic(
        f"{listed([_takes(facts, support) for support in wrong])}{but}: {quote(facts.decided.rendered)}.",
        _instead(facts, wrong, by_name),
        facts.capabilities["tool_calls"].line,
        # mlx-lm's parsers were run on such calls, those of mlx-swift-lm only read.
        severity="note" if wrong[0].runtime != MLX_LM else "warning" if by_name else None,
    )


def _takes(facts: Facts, support: RuntimeSupport) -> str:
    assert support.parser is not None
    what = misread(facts, support.runtime, support.parser)
    return f"{support.runtime} takes {support.parser}" + (f", which {what}" if what else "")


def _by_name(facts: Facts, wrong: list[RuntimeSupport]) -> str | None:
    """The parser of mlx-lm that reads these calls, once it is named."""
    name = mlx_lm_reader(facts)
    return None if name in [support.parser for support in wrong] else name


def _instead(facts: Facts, wrong: list[RuntimeSupport], by_name: str | None) -> str:
    best = facts.decided.read_back
    assert best is not None
    if by_name is not None:
        return f"Write {setting(by_name)} into tokenizer_config.json."
    if wrong[0].runtime == MLX_LM:
        return f"Parse what mlx-lm generates with {our_parser(facts, best.format)}."
    swift = parser_name(best.format, MLX_SWIFT_LM)
    return f"Set its toolCallFormat to {swift}." if swift else f"mlx-swift-lm has no parser for {best.format.name}."
