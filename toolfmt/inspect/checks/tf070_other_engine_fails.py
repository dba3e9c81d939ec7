"""Another template engine refuses the template, or a conversation that jinja2 renders.

Chat templates are written for jinja2, which is Python. Runtimes that are not written in Python bring another engine:
mistral.rs, text-generation-inference, SGLang's gateway and NVIDIA Dynamo use minijinja. With it, loading the model or
the request fails.

What to do: write what both engines take. `tools is iterable and tools | length > 0` fails in minijinja without tools:
write `tools` alone, which is false for none and for an empty list. `{% generation %}` is known to transformers only;
mistral.rs and Dynamo cut out the tags where they are spelled `{% generation %}` and `{% endgeneration %}`, without
hyphens.

Example: `{%- if tools is iterable and tools | length > 0 %}`, in templates of Qwen3-Coder and Nemotron 3.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report.report import Severity

SEVERITY: Severity = "note"


def check(facts: Facts) -> Iterator[Diagnostic]:
    other = facts.sections.portability
    for difference in other.differences if other else ():
        if difference.fails:
            yield Diagnostic(
                f"With the engine {other.engine if other else ''}, {difference.construct} fails: {difference.what}.",
                "Write it in a way that both engines take, or use a runtime that renders with jinja2.",
                difference.line,
            )
