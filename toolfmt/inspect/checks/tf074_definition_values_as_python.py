"""Values in a tool's definition come out as Python writes them: `True`, `False`, `None`, `['string', 'null']`.

The template prints what stands in a definition as text, and not with `tojson`. The model reads a schema that is not
JSON: `<strict>True</strict>`, a list of types in single quotes.

What to do: nothing where the model was trained so (Qwen3-Coder's template does it); else write values that are no
strings with `tojson`.

Example: `{{ '<' ~ key ~ '>' ~ (value | string) ~ '</' ~ key ~ '>' }}`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from toolfmt._util.text_lists import listed
from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report.report import Severity

SEVERITY: Severity = "note"

_PARTS = {"nullable": "a list of types", "additional_properties": "additionalProperties", "strict": "strict"}
_PYTHON = re.compile(r"\b(?:True|False|None)\b|\['")


def check(facts: Facts) -> Iterator[Diagnostic]:
    answers = facts.sections.definitions
    # Where whole definitions are printed so, that is told.
    if "quoting" not in answers or answers["quoting"].outcome == "python":
        return
    wrong = [
        part for name, part in _PARTS.items() if name in answers and any(map(_PYTHON.search, answers[name].excerpts))
    ]
    if wrong:
        come = "comes" if len(wrong) == 1 else "come"
        yield Diagnostic(
            f"In definitions of tools {listed(wrong)} {come} out in Python's notation.",
            "Nothing to do where the model was trained so; else write values that are no strings with tojson.",
        )
