"""Arguments given as an object are refused, dropped, or printed as Python's repr.

The template joins `arguments` to text as if it were a string. An object makes it throw, or appears as
`{'city': 'Paris'}`, which is not JSON and not what the model was trained on.

What to do: pass arguments as a JSON string; toolfmt's `render` writes objects as strings where the template
needs that.

Example: `{{ '```json\\n' + tool['function']['arguments'] + '\\n```' }}`.
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
    return refused(facts, "arguments_object", "an object", "a JSON string")
