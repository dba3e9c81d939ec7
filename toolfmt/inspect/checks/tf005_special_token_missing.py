"""The template needs a special token that the model does not name.

Templates read `bos_token` and `eos_token` as variables. Where `tokenizer_config.json` does not name them, a
template that joins them to text fails on every request (an error; the answers of this report were found with
stand-ins in their place), and one that only prints them prints nothing: the prompt begins without its BOS, and the
model answers worse (a warning). Some classes of tokenizers have tokens of their own for what the file leaves out;
what it sets to null they leave out too (a note). A GGUF file names tokens by their ids; where it does not, llama.cpp
puts a token that it guesses, or nothing, in their place.

A BOS that the tokenizer adds to plain texts (`add_bos_token`) is not added behind the back of a chat template:
transformers, vLLM, SGLang and mlx-lm's server leave that out, so that a template which writes none makes prompts
without it (a note: the model may have been trained so). llama.cpp adds it, and takes a second one out.

What to do: put the token into `tokenizer_config.json`, as the original model has it, or its id into the GGUF
file (`gguf-new-metadata --special-token bos "<s>"`).

Example: `{{ bos_token + messages[0].content }}` beside a `tokenizer_config.json` without `bos_token`.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.probe.conversations import user
from toolfmt.inspect.report.report import Severity
from toolfmt.inspect.report.wording import quote

SEVERITY: Severity = "error"
ABOUT_FILES = True
_ADDS_BOS = "add_bos_token"
_WITHOUT_TOKENS = ("PreTrainedTokenizerFast", "TokenizersBackend")
"""Classes of tokenizers that have no special tokens of their own (transformers 5.23)."""


def check(facts: Facts) -> Iterator[Diagnostic]:
    for token in (*facts.missing_tokens, *facts.unnamed_tokens):
        line = None if facts.renders is None else facts.renders.template.line_of(rf"\b{token}\b")
        needed = token in facts.missing_tokens
        if facts.files.kind == "gguf":
            yield Diagnostic(
                f"The template {'needs' if needed else 'prints'} {token}, which the GGUF file does not name: "
                "llama.cpp guesses it or leaves it out.",
                f"Write {token} into the file from the original model (gguf-new-metadata --special-token).",
                line,
                severity=None if needed else "warning",
                fixed_by=None if needed else "setting",
            )
        elif needed:
            yield Diagnostic(
                f"The template needs {token}, which no file in the directory defines, and fails without it.",
                f"Add {token} to tokenizer_config.json from the original model.",
                line,
            )
        else:
            yield _printed(facts, token, line)
    yield from _only_of_plain_texts(facts)


def _only_of_plain_texts(facts: Facts) -> Iterator[Diagnostic]:
    """That the tokenizer adds a BOS, which the prompts of the template lack."""
    bos = facts.files.special_tokens.get("bos_token")
    if facts.renders is None or not bos or facts.files.tokenizer_config.get(_ADDS_BOS) is not True:
        return
    prompt = facts.renders.text(user())
    if prompt and bos not in prompt:
        yield Diagnostic(
            f"The template does not write {quote(bos)}, which the tokenizer adds to plain text ({_ADDS_BOS}): its "
            "prompts begin without it in transformers, vLLM and SGLang, with it in llama.cpp.",
            "If the model was trained with it, write {{ bos_token }} at the start of the template. Otherwise set "
            f"{_ADDS_BOS} to false.",
            severity="note",
        )


def _printed(facts: Facts, token: str, line: int | None) -> Diagnostic:
    """A token without which the template does not fail: in its place stands nothing."""
    config = facts.files.tokenizer_config
    if token in config and config[token] is None:
        return Diagnostic(
            f"The template prints {token}, which tokenizer_config.json sets to null: nothing is printed.",
            f"If the original model has one, set it as {token} in tokenizer_config.json.",
            line,
            severity="note",
        )
    unless = "" if config.get("tokenizer_class") in _WITHOUT_TOKENS else "unless the tokenizer's class has one, "
    return Diagnostic(
        f"The template prints {token}, which no file in the directory defines: {unless}nothing is printed.",
        f"Add {token} to tokenizer_config.json from the original model.",
        line,
        severity="warning",
        fixed_by="setting",
    )
