"""The model declares a parser that no known format, or not mlx-lm, has.

- `unknown-parser`: no known format has this name. It may be misspelled, a plugin of one runtime, or a format that
  toolfmt does not have yet. The declaration was left out of the decision.
- `model-not-loaded`: mlx-lm does not have the parser that `tool_parser_type` names. It imports a module of that name,
  so loading the model fails. Names of other runtimes (`hermes`, `qwen25`) are unknown to it.

What to do: check the spelling against `toolfmt formats`. For mlx-lm, declare its own name of the format, or remove
the entry.

Example: `"tool_parser_type": "hermes"`, where mlx-lm calls that parser `json_tools`.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.formats.parser_names import parser_name
from toolfmt.inspect.checks.diagnostic import Diagnostic, FindingOutcome
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report.wording import quote
from toolfmt.inspect.runtimes.advice import setting
from toolfmt.inspect.runtimes.parser_inference import MLX_LM_OPENERS, MLX_LM_VERSION
from toolfmt.inspect.runtimes.runtime_support import DECLARING_KEY, mlx_lm_reader
from toolfmt.inspect.runtimes.template_choice import MLX_LM

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
            )


def _not_loaded(facts: Facts) -> Iterator[Diagnostic]:
    declared = facts.files.tokenizer_config.get(DECLARING_KEY)
    if declared is None or (isinstance(declared, str) and declared in MLX_LM_OPENERS):
        return
    # An unknown name may be a plugin's: that is the other outcome.
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
    )
