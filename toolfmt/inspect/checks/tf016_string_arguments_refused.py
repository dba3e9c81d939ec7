"""Arguments given as a JSON string are refused, dropped, or spliced in as they are.

OpenAI clients send `arguments` as a string. This template goes through the arguments one by one, which a
string does not allow: it throws, or prints something that is no call.

What to do: pass arguments as objects; toolfmt's `render` parses strings to objects where the template needs
that. The chat endpoints of vLLM (0.33.0) and SGLang (0.5.23) take strings and read them before they render: there it
concerns only what renders the template itself.

Example: `{% for key, value in tool_call.arguments.items() %}`.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.inspect.checks.argument_forms import refused
from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report.report import FixedBy, Severity

SEVERITY: Severity = "warning"
FIXED_BY: FixedBy = "render"


def check(facts: Facts) -> Iterator[Diagnostic]:
    return refused(facts, "arguments_string", "a JSON string", "objects")
