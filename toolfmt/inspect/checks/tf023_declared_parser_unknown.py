"""The model declares a parser that toolfmt or mlx-lm does not know.

What it checks: each parser name that the model's files declare, against the formats that toolfmt knows and the parsers
of mlx-lm.

- `unknown-parser`: the name does not belong to a known format. It may be misspelled, a plugin of one runtime, or a
  format that toolfmt does not support yet. The declaration was not used to decide on the format.
- `model-not-loaded`: mlx-lm does not have the parser that `tool_parser_type` names. It does not know the names of other
  runtimes (`hermes`, `qwen25`).

Why it matters: mlx-lm imports a module of the declared name, so it fails to load the model.

Affected runtimes: mlx-lm, and for `unknown-parser` every runtime that reads the declaration.

Example:

    "tool_parser_type": "hermes"

Fix: check the name against the list that `toolfmt formats` prints. For mlx-lm, declare its own name of the format, or
remove the entry.

    "tool_parser_type": "json_tools"
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.formats.runtime_parsers import parser_name
from toolfmt.inspect.checks.diagnostic import Diagnostic, FindingOutcome
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report.wording import quote
from toolfmt.inspect.runtimes.advice import setting
from toolfmt.inspect.runtimes.parser_inference import MLX_LM_OPENERS, MLX_LM_VERSION
from toolfmt.inspect.runtimes.runtime_support import DECLARING_KEY, mlx_lm_reader
from toolfmt.inspect.runtimes.template_choice import MLX_LM

SOLVED_BY_SETTINGS = True
OUTCOMES = {
    "unknown-parser": FindingOutcome(
        "warning", "setting", replaces="TF023 declared-parser-unknown", about_files=True, setting="parser"
    ),
    "model-not-loaded": FindingOutcome(
        "warning", "setting", replaces="TF064 model-not-loaded", about_files=True, setting="parser"
    ),
}


def check(facts: Facts) -> Iterator[Diagnostic]:
    yield from _unknown(facts)
    yield from _not_loaded(facts)


def _unknown(facts: Facts) -> Iterator[Diagnostic]:
    for declared in facts.decided.declarations:
        if not declared.formats:
            yield Diagnostic(
                f"{declared.source} declares {declared.value!r}, which no known format is called.",
                "Check the name against the list that `toolfmt formats` prints.",
                outcome="unknown-parser",
                runtimes=declared.readers,
            )


def _not_loaded(facts: Facts) -> Iterator[Diagnostic]:
    declared = facts.files.tokenizer_config.get(DECLARING_KEY)
    if declared is None or (isinstance(declared, str) and declared in MLX_LM_OPENERS):
        return
    # An unknown name may be a plugin's, which the other outcome reports.
    if isinstance(declared, str) and not any(
        known.formats for known in facts.decided.declarations if known.value == declared
    ):
        return
    format = facts.decided.format
    if facts.decided.read_back is not None:
        name = mlx_lm_reader(facts)
    else:
        name = None if format is None else parser_name(format, MLX_LM)
    yield Diagnostic(
        f"tokenizer_config.json declares {DECLARING_KEY} {quote(repr(declared))}, which mlx-lm {MLX_LM_VERSION} does "
        "not have: it does not load the model.",
        f"Write {setting(name)} instead." if name else f"Remove {DECLARING_KEY}.",
        outcome="model-not-loaded",
        runtimes=(MLX_LM,),
    )
