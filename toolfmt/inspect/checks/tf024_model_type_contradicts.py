"""The model type implies another format than the template renders.

What it checks: the format that the model type implies, against the calls that the template renders.

Why it matters: the runtime chooses the wrong parser, and calls arrive as raw markup in the response. The template is
right, because the model was trained on it.

Affected runtimes: runtimes that choose the parser by model type or by the model's name.

Example:

    "model_type": "qwen3_moe"

in a coder model whose template renders calls with tags. Other models of this type write JSON.

Fix: use the settings that this report shows for each runtime. Some runtimes detect the right parser, and some do not
have one.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report.report import FixedBy, Severity
from toolfmt.inspect.runtimes.template_choice import MLX_SWIFT_LM

SEVERITY: Severity = "warning"
SOLVED_BY_SETTINGS = True
ABOUT_FILES = True
FIXED_BY: FixedBy = "setting"


def check(facts: Facts) -> Iterator[Diagnostic]:
    best, typed = facts.decided.read_back, facts.decided.by_model_type
    if best is None or not best.verified or len(typed) != 1 or typed[0].name == best.format.name:
        return
    model_type = next(name for name in facts.files.model_types if name in typed[0].model_types)
    derived = facts.decided.decision.derived is not None
    rendered = "calls that no known format reads" if derived else f"{best.format.name} calls"
    yield Diagnostic(
        f"The model type {model_type} implies the {typed[0].name} format, but the template renders {rendered}.",
        f"Use the settings that this report shows for each runtime, not the parser for {typed[0].name}.",
        facts.capabilities["tool_calls"].line,
        runtimes=(MLX_SWIFT_LM,),
    )
