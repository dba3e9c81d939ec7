"""The model has no chat template.

Without a template nothing turns messages into the prompt that the model was trained on. Runtimes then refuse
the request or fall back to a template of their own, and the answers get worse without anyone noticing why.

What to do: copy `chat_template.jinja` (or the `chat_template` entry of `tokenizer_config.json`) from the
repository of the original model; quantised and merged builds often lose it. A GGUF file gets it when the model
is converted, or afterwards with `gguf-new-metadata --chat-template-file`; llama.cpp also takes it by itself, with
`--chat-template-file`. A base model has none: use the one of its instruct version.

Example: a directory with `config.json` and `tokenizer_config.json`, the latter without `chat_template`.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report.report import Severity

SEVERITY: Severity = "error"

_INTO_THE_DIRECTORY = "Copy chat_template.jinja from the repository of the original model into the directory."


def check(facts: Facts) -> Iterator[Diagnostic]:
    if facts.template is None:
        fix = _INTO_THE_DIRECTORY
        if facts.files.kind == "gguf":
            fix = f"{facts.files.way_out[0].upper()}{facts.files.way_out[1:]}."
        yield Diagnostic(f"No chat template is used: {facts.files.reason(True)}.", fix)
