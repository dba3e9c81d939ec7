"""A runtime does not detect the parser for the calls of this template, or detects the wrong parser.

What it checks: the parser that each runtime chooses for this template, against the calls that the template renders.

- `wrong-parser-inferred`: the parser does not read these calls. If mlx-lm has a parser for them, which
  the model's files can declare, the finding is a warning; if it has none, an error. If only mlx-swift-lm is wrong, the
  finding is a note: its code was read, not run.
- `parser-not-inferred`: mlx-lm has a parser for these calls and does not detect it. Of 381 real templates that render
  calls, it does not detect a parser for 123.
- `no-parser-anywhere`: vLLM, SGLang, mlx-lm and mlx-swift-lm do not have a parser for the format. It is not confirmed
  that llama.cpp derives a parser from the template.

Why it matters: without the right parser, calls arrive as raw markup, with a wrong name, or not at all.

Affected runtimes: mlx-lm and mlx-swift-lm search the template for markers and use the parser of the first match. They
do not search named templates. `no-parser-anywhere` affects the runtimes that it lists.

Example:

    <tool_call>

The template of MiniMax M3 contains this marker, so mlx-lm uses `json_tools`, which reads none of its calls.

Fix: declare the parser in `tokenizer_config.json` if the runtime has a parser for the format; mlx-swift-lm reads the
same entry, and a program can set `toolCallFormat` in its ModelConfiguration instead. If the runtime has no parser,
parse the output with toolfmt's parser.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt._util.text_lists import listed
from toolfmt.formats.runtime_parsers import parser_name
from toolfmt.inspect.checks.diagnostic import Diagnostic, FindingOutcome
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report.report import RuntimeSupport
from toolfmt.inspect.report.wording import quote
from toolfmt.inspect.runtimes.advice import setting
from toolfmt.inspect.runtimes.parser_line import our_parser
from toolfmt.inspect.runtimes.runtime_support import declares_parser, misled, misread, mlx_lm_reader
from toolfmt.inspect.runtimes.template_choice import MLX_LM, MLX_SWIFT_LM

ABOUT_PARSING = True
SOLVED_BY_SETTINGS = True
OUTCOMES = {
    "wrong-parser-inferred": FindingOutcome(
        "error", "setting", replaces="TF061 wrong-parser-inferred", about_files=True, setting="parser"
    ),
    "parser-not-inferred": FindingOutcome(
        "warning", "setting", replaces="TF062 parser-not-inferred", about_files=True, setting="parser"
    ),
    "no-parser-anywhere": FindingOutcome("note", replaces="TF063 no-parser-anywhere"),
}


def check(facts: Facts) -> Iterator[Diagnostic]:
    yield from _wrong(facts)
    yield from _not_inferred(facts)
    yield from _nowhere(facts)


def _wrong(facts: Facts) -> Iterator[Diagnostic]:
    best = facts.decided.read_back
    if best is None or declares_parser(facts):
        return
    wrong = [
        support
        for support in facts.sections.runtime_support
        if support.runtime in (MLX_LM, MLX_SWIFT_LM)
        and support.right is False
        # A runtime without a parser for the format uses a fallback, which is not the template's fault.
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
        # mlx-lm's parsers were run on such calls. Of mlx-swift-lm only the code was read.
        severity="note" if wrong[0].runtime != MLX_LM else "warning" if by_name else None,
        outcome="wrong-parser-inferred",
        runtimes=tuple(support.runtime for support in wrong),
    )


def _takes(facts: Facts, support: RuntimeSupport) -> str:
    assert support.parser is not None
    what = misread(facts, support.runtime, support.parser)
    return f"{support.runtime} selects {support.parser}" + (f", which {what}" if what else "")


def _by_name(facts: Facts, wrong: list[RuntimeSupport]) -> str | None:
    """Return the mlx-lm parser that reads these calls if it is declared."""
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


def _not_inferred(facts: Facts) -> Iterator[Diagnostic]:
    name = mlx_lm_reader(facts)
    if name is None or declares_parser(facts):
        return
    for support in facts.sections.runtime_support:
        if support.runtime == MLX_LM and support.template and support.parser is None:
            yield Diagnostic(
                f"mlx-lm does not detect its parser {name}: {support.why_parser}.",
                f"Write {setting(name)} into tokenizer_config.json.",
                outcome="parser-not-inferred",
                runtimes=(MLX_LM,),
            )


def _nowhere(facts: Facts) -> Iterator[Diagnostic]:
    best = facts.decided.read_back
    if best is None or best.format.runtime_parsers:
        return
    derived = facts.decided.decision.derived is not None
    calls = (
        "this template's calls (derived format)"
        if derived
        else f"{best.format.name}, the format of this template's calls"
    )
    yield Diagnostic(
        f"No known runtime has a parser for {calls}.",
        f"Parse the output with {our_parser(facts, best.format)}.",
        outcome="no-parser-anywhere",
    )
