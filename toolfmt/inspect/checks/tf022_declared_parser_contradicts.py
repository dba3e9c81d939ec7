"""The directory declares a parser that does not parse the calls of its own template.

What it checks: each parser that the model's files declare, against the calls that the template renders. The check also
reports a parser of the right format that misreads these calls.

Why it matters: the template teaches the model one format, and the declaration makes the runtime expect another. Calls
then arrive as raw markup in the response, or with a wrong name.

Affected runtimes: every runtime that uses the declaration; mlx-lm and mlx-swift-lm read `tool_parser_type`.

Example:

    "tool_parser_type": "mistral"

for calls with `[CALL_ID]`, whose id mlx-lm returns as the name. Another example is a `tool_parser_type` copied from the
family's older model, although the template renders `<tool_call>{"name": …}</tool_call>`.

Fix: trust the template, and change or remove the declaration. If the runtime does not have a parser for these calls,
parse its output with toolfmt's parser.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt._util.text_lists import listed
from toolfmt.formats import ToolCallFormat
from toolfmt.formats.runtime_parsers import parser_name
from toolfmt.inspect.checks.diagnostic import Diagnostic, Setting
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.format.decision import Declaration
from toolfmt.inspect.report.report import Severity
from toolfmt.inspect.report.wording import quote
from toolfmt.inspect.runtimes.advice import setting
from toolfmt.inspect.runtimes.parser_inference import mlx_swift_lm
from toolfmt.inspect.runtimes.parser_line import our_parser
from toolfmt.inspect.runtimes.runtime_support import declares_parser, misread, mlx_lm_reader
from toolfmt.inspect.runtimes.template_choice import MLX_LM

SEVERITY: Severity = "error"
SUMMARY = "declared parser does not fit the template"
ABOUT_PARSING = True
SOLVED_BY_SETTINGS = True
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
        declared_names = listed(names, "or")
        reads = f"calls in the {best.format.name} format" if best is not None else "calls that fit no known format"
        yield Diagnostic(
            f"{declared.source} declares {declared.value!r}, a parser for {declared_names}, but the template renders "
            f"{reads}: {quote(rendered)}.",
            _instead(facts, best.format) if best is not None else "Check which parser the model needs.",
            facts.capabilities["tool_calls"].line,
            runtimes=declared.readers,
        )


def _misread(facts: Facts, declared: Declaration, format: ToolCallFormat) -> Iterator[Diagnostic]:
    """Report a parser that belongs to the format but misreads these calls."""
    if declares_parser(facts) and (what := misread(facts, declared.runtime, declared.value)):
        yield Diagnostic(
            f"{declared.source} declares {declared.value!r}, which {what}: {quote(facts.decided.rendered)}.",
            _instead(facts, format),
            facts.capabilities["tool_calls"].line,
            runtimes=(declared.runtime,),
        )


def _instead(facts: Facts, format: ToolCallFormat) -> str:
    """Return what to declare instead. mlx-lm and mlx-swift-lm read the key, with mlx-lm's names."""
    if name := mlx_lm_reader(facts):
        readers = "mlx-lm and mlx-swift-lm" if mlx_swift_lm(None, name).parser else "mlx-lm"
        return (
            f"Write {setting(name)} into tokenizer_config.json, which selects the parser of {readers} for the "
            f"{format.name} format."
        )
    if parser_name(format, MLX_LM):
        return f"Parse what mlx-lm generates with {our_parser(facts, format)}: it has no parser that reads these calls."
    return "Declare no parser."
