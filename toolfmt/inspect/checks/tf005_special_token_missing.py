"""The template needs a special token, such as `bos_token`, that the model's files do not define.

What it checks: whether `tokenizer_config.json` or the GGUF file defines the special tokens that the template reads as
variables (`bos_token`, `eos_token`).

- Error: the template joins the token to text and fails on every request. The report uses a substitute for it.
- Warning: the template only prints the token. Nothing is printed, so the prompt starts without its BOS.
- Note: the file sets the token to null, or the tokenizer adds a BOS to plain text (`add_bos_token`) and the template
  does not write it. The model may have been trained like that.

Why it matters: the request fails, or the model's responses get worse because the prompt lacks a token.

Affected runtimes: every runtime that reads the token from these files. Some tokenizer classes define tokens that the
file leaves out, but not tokens that it sets to null. A GGUF file names tokens by id; if an id is missing, llama.cpp
guesses the token or leaves it out. With a chat template, transformers, vLLM, SGLang and the server of mlx-lm do not add
the BOS of `add_bos_token`. llama.cpp adds it, and removes a second one.

Example:

    {{ bos_token + messages[0].content }}

with a `tokenizer_config.json` that does not define `bos_token`.

Fix: add the token to `tokenizer_config.json`, as the original model has it, or add its id to the GGUF file
(`gguf-new-metadata --special-token bos "<s>"`).

    "bos_token": "<s>"

References: transformers 5.23 (tokenizer classes without special tokens of their own).
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
"""Tokenizer classes without special tokens of their own (transformers 5.23)."""


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
    """Report a BOS that the tokenizer adds to plain text and that the template's prompts lack."""
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
    """Return the diagnostic for a token that the template only prints, so that nothing is printed."""
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
