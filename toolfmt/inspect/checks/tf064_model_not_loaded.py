"""mlx-lm does not load a model that declares a parser it does not have.

It imports the module that `tool_parser_type` names, and an unknown name ends the loading with an error. Names of
other runtimes (`hermes`, `qwen25`) are unknown to it.

What to do: declare the name that mlx-lm has for the format, or leave the entry out.

Example: `"tool_parser_type": "hermes"`, where mlx-lm calls that parser `json_tools`.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.formats.parser_names import parser_name
from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report.report import FixedBy, Severity
from toolfmt.inspect.report.wording import quote
from toolfmt.inspect.runtimes.advice import setting
from toolfmt.inspect.runtimes.parser_inference import MLX_LM_OPENERS, MLX_LM_VERSION
from toolfmt.inspect.runtimes.runtime_support import DECLARING_KEY, mlx_lm_reader
from toolfmt.inspect.runtimes.template_choice import MLX_LM

SEVERITY: Severity = "warning"
FIXED_BY: FixedBy = "setting"
ABOUT_FILES = True


def check(facts: Facts) -> Iterator[Diagnostic]:
    declared = facts.files.tokenizer_config.get(DECLARING_KEY)
    if declared is None or (isinstance(declared, str) and declared in MLX_LM_OPENERS):
        return
    # A name that nobody knows may be a plug-in's; TF023 tells of it.
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
        f"Write {setting(name)} instead." if name else f"Leave {DECLARING_KEY} out.",
    )
