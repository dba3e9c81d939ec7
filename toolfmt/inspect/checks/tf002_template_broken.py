"""The chat template does not compile, or it uses a filter that does not exist.

What it checks: whether jinja2 compiles the template, and whether every filter in it exists. A template with an unknown
filter compiles if the filter is inside a condition, and fails once the condition is true. TF014 reports a filter that
only calls with string `arguments` reach, because it has another fix.

Why it matters: a template that is not valid jinja2 fails on every request. Usual causes are an edit by hand or a
conversion that mangled quotes.

Affected runtimes: every runtime that renders this template.

Example:

    {% for message in messages %}
    {{ message.content }}

Fix: correct the line that the finding names, or copy the template of the original model again.

    {% for message in messages %}
    {{ message.content }}
    {% endfor %}
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
            f"The template uses the filter `{name}`, which transformers does not provide: rendering fails when it "
            "reaches the filter.",
            "Remove the filter. Only the filters of jinja2 and `tojson` are available.",
            line,
        )


def _reached_by_strings_alone(facts: Facts, name: str) -> bool:
    """Whether of all that was rendered only a call with arguments in a string reached the filter."""
    error = facts.capabilities["arguments_string"].error
    if error is None or not facts.yes("arguments_object") or f"'{name}'" not in error.engine_message:
        return False
    others = (answer for key, answer in facts.capabilities.items() if key != "arguments_string")
    details = (answer for key, answer in facts.sections.details.items() if key != "arguments_missing")
    found = (*others, *details, *facts.sections.definitions.values())
    return not any(answer.error is not None and answer.error.engine_message == error.engine_message for answer in found)
