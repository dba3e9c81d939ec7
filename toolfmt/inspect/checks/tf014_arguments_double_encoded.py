"""Arguments given as a JSON string are encoded a second time.

OpenAI clients send `arguments` as a string that holds JSON. This template runs it through `tojson` again, and
the history shows the model calls it would never write: `"arguments": "{\\"city\\": \\"Paris\\"}"`. Models
copy what they see.

What to do: pass arguments as objects; toolfmt's `render` parses strings to objects where the template needs
that. The chat endpoints of vLLM (0.33.0) and SGLang (0.5.23) take strings and read them before they render: there it
concerns only what renders the template itself.

Example: `{{ tool_call.function.arguments | tojson }}` with `"{\\"city\\": \\"Paris\\"}"`.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.inspect.checks.argument_forms import does_it
from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report.report import FixedBy, Severity

SEVERITY: Severity = "warning"
FIXED_BY: FixedBy = "render"


def check(facts: Facts) -> Iterator[Diagnostic]:
    for form, other in (("string", "objects"), ("object", "strings")):
        answer = facts.capabilities[f"arguments_{form}"]
        if answer.outcome == "double-encoded":
            given = "a JSON string" if form == "string" else "an object"
            yield Diagnostic(
                f"Arguments given as {given} come out double-encoded.",
                f"Pass arguments as {other}; {does_it(other)}. In the template, print "
                "arguments as they are where they are a string, and with `tojson` where they are not.",
                answer.line,
            )
