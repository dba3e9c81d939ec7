"""The model type stands for another format than the template renders.

Runtimes that choose the parser by model type (or by the model's name) choose the wrong one, and calls arrive
as raw markup in the answer. The template is right: it is what the model was trained on.

What to do: set in each runtime what this report names for it. Some find the right parser by themselves, some have none.

Example: a coder model of type `qwen3_moe` whose template renders tags, where the others of that type write JSON.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report.report import FixedBy, Severity

SEVERITY: Severity = "warning"
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
    )
