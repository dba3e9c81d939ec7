"""A runtime does not find a chat template in this directory, although it contains one.

What it checks: the files in which each runtime looks for a template.

Why it matters: such a runtime rejects chat requests, or invents its own template.

Affected runtimes: the tokenizer of transformers, and with it vLLM, SGLang and mlx-lm, does not read
`chat_template.json`; only processors do. llama.cpp's converter uses an empty `chat_template` entry of
`tokenizer_config.json`.

Example:

    model/
        chat_template.json       (the only template of a vision model)
        tokenizer_config.json

Fix: put the template into `chat_template.jinja`, which all of them read, and remove `chat_template` from
`tokenizer_config.json`.

    model/
        chat_template.jinja
        tokenizer_config.json
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
        # Without a tokenizer_config.json, llama.cpp does not have anything to convert.
        if not choice.describe() and not (choice.runtime == LLAMA_CPP and not facts.files.tokenizer_config):
            without.setdefault(choice.why, []).append(choice.runtime)
    for why, runtimes in without.items():
        yield Diagnostic(
            f"{listed(runtimes)} {'find' if len(runtimes) > 1 else 'finds'} no chat template here: {why}.",
            "Put the template into chat_template.jinja, and remove chat_template from tokenizer_config.json.",
            runtimes=tuple(runtimes),
        )
