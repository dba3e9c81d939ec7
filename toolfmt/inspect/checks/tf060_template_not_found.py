"""A runtime finds no chat template in this directory, although it holds one.

The tokenizer of transformers, and with it vLLM, SGLang and mlx-lm, does not read `chat_template.json`: only
processors do. llama.cpp's converter believes an empty `chat_template` entry of `tokenizer_config.json`. Such a
runtime refuses to chat, or makes up a template of its own.

What to do: put the template into `chat_template.jinja`, which all of them read, and leave `chat_template` out of
`tokenizer_config.json`.

Example: a vision model whose only template stands in `chat_template.json`.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt._util.text_lists import listed
from toolfmt.inspect.checks.diagnostic import Diagnostic, Setting
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report.report import FixedBy, Severity
from toolfmt.inspect.runtimes.runtime_support import choices_of
from toolfmt.inspect.runtimes.template_choice import LLAMA_CPP

SEVERITY: Severity = "warning"
SETTING: Setting = "template-file"
ABOUT_FILES = True
FIXED_BY: FixedBy = "setting"


def check(facts: Facts) -> Iterator[Diagnostic]:
    if facts.template is None:
        return
    without: dict[str, list[str]] = {}
    for choice in choices_of(facts):
        # Without a tokenizer_config.json there is nothing that llama.cpp could convert.
        if not choice.describe() and not (choice.runtime == LLAMA_CPP and not facts.files.tokenizer_config):
            without.setdefault(choice.why, []).append(choice.runtime)
    for why, runtimes in without.items():
        yield Diagnostic(
            f"{listed(runtimes)} {'find' if len(runtimes) > 1 else 'finds'} no chat template here: {why}.",
            "Put the template into chat_template.jinja, and remove chat_template from tokenizer_config.json.",
        )
