"""The chat template does not compile.

A template that is no valid jinja2 fails on every request, in every runtime. It mostly comes from an edit by
hand or from a conversion that mangled quotes. One with a filter that does not exist compiles as long as that stands
behind a condition, and fails once the condition holds.

A filter that only calls with arguments in a string reach is reported by TF014, which something else fixes.

What to do: mend the line that is named, or take the template of the original model again.

Example: `{% for message in messages %}` without an `{% endfor %}`.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report.report import Severity

SEVERITY: Severity = "error"


def check(facts: Facts) -> Iterator[Diagnostic]:
    failure = facts.profile.failure
    if failure is not None and not failure.limit:
        yield Diagnostic(
            f"The template does not compile: {failure.message}.",
            "Fix the template, or copy it again from the original model's repository.",
            failure.line,
        )
    for name, line in facts.renders.template.unknown_filters.items() if facts.renders is not None else ():
        if _reached_by_strings_alone(facts, name):
            continue
        yield Diagnostic(
            f"The template uses a filter `{name}`, which the renderers of Hugging Face templates do not have: it fails "
            "where that is reached.",
            "Remove the filter. Only the filters of jinja2 and `tojson` are available.",
            line,
        )


def _reached_by_strings_alone(facts: Facts, name: str) -> bool:
    """Whether of all that was rendered only a call with arguments in a string reached the filter."""
    error = facts.capabilities["arguments_string"].error
    if error is None or not facts.yes("arguments_object") or f"'{name}'" not in error.own_words:
        return False
    others = (answer for asked, answer in facts.capabilities.items() if asked != "arguments_string")
    details = (answer for asked, answer in facts.sections.details.items() if asked != "arguments_missing")
    found = (*others, *details, *facts.sections.definitions.values())
    return not any(answer.error is not None and answer.error.own_words == error.own_words for answer in found)
