"""The directory holds several chat templates that differ, and runtimes pick different ones.

transformers takes `chat_template.jinja`, llama.cpp's converter takes the entry in `tokenizer_config.json`,
and a runtime that does not know named templates takes none or the first. The same model then behaves
differently from one to the next, and a fix in one place does not reach the other.

What to do: keep one text, in every place where it stands.

Example: a `chat_template.jinja` with tool support beside a `tokenizer_config.json` with the older template.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.inspect.checks.found import Found
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report import Severity

SEVERITY: Severity = "warning"


def check(facts: Facts) -> Iterator[Found]:
    for better, other in facts.conflicts:
        yield Found(
            f"{other.origin} holds another template {other.name} than {better.origin}; runtimes take different ones.",
            f"Make {other.origin} hold the same template as {better.origin}, or none.",
        )
    with_tools, without = facts.template, facts.without_tools
    if with_tools is not None and without is not None and with_tools.text != without.text:
        yield Found(
            f"With tools the template {with_tools.name} of {with_tools.origin} is in force, without them "
            f"{without.name}, and a runtime may know one of them only.",
            f"Where the runtime knows one template only, give it {with_tools.name}.",
        )
    elif with_tools is not None and without is None:
        yield Found(
            f"Only the template {with_tools.name} is there, and it is in force only when tools are given.",
            "Add a template called default.",
        )
