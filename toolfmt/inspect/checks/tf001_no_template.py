"""The directory holds no chat template.

Without a template nothing turns messages into the prompt that the model was trained on. Runtimes then refuse
the request or fall back to a template of their own, and the answers get worse without anyone noticing why.

What to do: copy `chat_template.jinja` (or the `chat_template` entry of `tokenizer_config.json`) from the
repository of the original model; quantised and merged builds often lose it. A base model has none: use the
one of its instruct version.

Example: a directory with `config.json` and `tokenizer_config.json`, the latter without `chat_template`.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.inspect.checks.found import Found
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report import Severity

SEVERITY: Severity = "error"


def check(facts: Facts) -> Iterator[Found]:
    if facts.template is None:
        yield Found(
            f"There is no chat template in force: {facts.reason}.",
            "Copy chat_template.jinja from the repository of the original model into the directory.",
        )
