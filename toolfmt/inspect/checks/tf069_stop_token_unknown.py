"""The directory names an id that ends an answer, and its tokenizer has no token with this id.

The model cannot write that token, so answers do not end there. Often the ids were copied from another model, or the
tokens were lost when the vocabulary was changed.

What to do: correct `eos_token_id`, in generation_config.json and in config.json.

Example: `"eos_token_id": [151645, 151999]` beside a tokenizer of 151,669 tokens.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.probe.stop_tokens import eos_place, eos_texts
from toolfmt.inspect.report.report import FixedBy, Severity

SEVERITY: Severity = "warning"
ABOUT_FILES = True
FIXED_BY: FixedBy = "setting"


def check(facts: Facts) -> Iterator[Diagnostic]:
    if facts.tokenizer is None or facts.tokenizer.problem:
        return
    unknown = [number for number, text in eos_texts(facts.files, facts.tokenizer).items() if text is None]
    if unknown:
        ids = ", ".join(map(str, unknown))
        yield Diagnostic(
            f"{eos_place(facts.files)} ends answers at the token {ids}, which the tokenizer does not have.",
            "Correct eos_token_id in generation_config.json and config.json.",
        )
