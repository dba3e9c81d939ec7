"""The template needs a special token that the model does not name.

Templates read `bos_token` and `eos_token` as variables. Where `tokenizer_config.json` does not name them, a
template that joins them to text fails on every request. A GGUF file names them by their ids; where it does not,
llama.cpp puts a token that it guesses, or nothing, in their place. The answers of this report were found with
stand-ins in their place.

What to do: put the token into `tokenizer_config.json`, as the original model has it, or its id into the GGUF
file (`gguf-new-metadata --special-token bos "<s>"`).

Example: `{{ bos_token + messages[0].content }}` beside a `tokenizer_config.json` without `bos_token`.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.inspect.checks.found import Found
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report import Severity

SEVERITY: Severity = "error"
ABOUT_FILES = True


def check(facts: Facts) -> Iterator[Found]:
    for token in facts.missing_tokens:
        line = None if facts.renders is None else facts.renders.template.line_of(rf"\b{token}\b")
        if facts.files.kind == "gguf":
            yield Found(
                f"The template needs {token}, which the GGUF file does not name: llama.cpp guesses it or puts nothing.",
                f"Write {token} into the file as the original model has it (gguf-new-metadata --special-token).",
                line,
            )
        else:
            yield Found(
                f"The template needs {token}, which the directory does not name, and fails without it.",
                f"Add {token} to tokenizer_config.json as the original model has it.",
                line,
            )
