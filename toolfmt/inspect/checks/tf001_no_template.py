"""The model has no chat template, so runtimes reject the request or use a template of their own.

What it checks: whether the model directory or GGUF file has a chat template that is used for requests with tools.

Why it matters: without the template, nothing turns messages into the prompt that the model was trained on. The request
fails, or the responses get worse for no visible reason.

Affected runtimes: every runtime that renders the model's own template.

Example:

    model/
        config.json
        tokenizer_config.json    (without "chat_template")

Fix: copy `chat_template.jinja` (or the `chat_template` entry of `tokenizer_config.json`) from the repository of the
original model. Quantized and merged builds often lose it. A GGUF file gets the template when the model is converted, or
later with `gguf-new-metadata --chat-template-file`. llama.cpp also accepts a template at start, with
`--chat-template-file`. A base model does not have a template: use the template of its instruct version.

    model/
        chat_template.jinja
        config.json
        tokenizer_config.json
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
