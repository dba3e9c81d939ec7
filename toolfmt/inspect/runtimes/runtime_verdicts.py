"""The verdict on each runtime: the status of its advice, and the findings that remain there.

A finding concerns a runtime if the runtime renders the template and passes the form of a request that the finding is
about: `request_handling` knows these forms. Some findings concern only the runtimes that they name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence

from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report.report import Finding
from toolfmt.inspect.report.verdicts import Advice, RuntimeVerdict
from toolfmt.inspect.runtimes.advice import EVERY_RUNTIME
from toolfmt.inspect.runtimes.request_handling import (
    REQUEST_HANDLING,
    RequestForm,
    RequestHandling,
    TemplateProperty,
)
from toolfmt.inspect.runtimes.runtime_support import choices_of
from toolfmt.inspect.runtimes.template_choice import RUNTIMES

WORKING = ("works", "works with")


def concerned(facts: Facts, forms: Collection[RequestForm] = ()) -> tuple[str, ...]:
    """Return the runtimes that render the template and pass it one of these forms; without forms, all of them."""
    own = {choice.runtime for choice in choices_of(facts) if choice.own} if facts.template is not None else ()
    return tuple(
        runtime
        for runtime in RUNTIMES
        if runtime not in own
        and not set(REQUEST_HANDLING[runtime].own_encoders) & set(facts.files.model_types[:1])
        and (not forms or any(_passes(facts, REQUEST_HANDLING[runtime], form) for form in forms))
    )


def _passes(facts: Facts, handling: RequestHandling, form: RequestForm) -> bool:
    """Return whether a form of a request reaches this template."""
    if form == "empty-content" and "empty-parts" in handling.depends:
        return not _PROPERTIES[handling.depends["empty-parts"]](facts)
    needed = handling.depends.get(form)
    return form in handling.passes or (needed is not None and _PROPERTIES[needed](facts))


def _source(facts: Facts) -> str:
    return "" if facts.template is None else facts.template.text


_PROPERTIES: Mapping[TemplateProperty, Callable[[Facts], bool]] = {
    "loops-over-content": lambda facts: facts.detail("content_parts").answer == "yes",
    "accepts-parts-only": lambda facts: facts.question_form == "parts",
    "accepts-parts-too": lambda facts: facts.detail("content_parts").answer == "yes",
    "names-developer": lambda facts: re.search("[\"']developer[\"']", _source(facts)) is not None,
    "channel-markers": lambda facts: "<|channel|>" in _source(facts),
    "system-supported": lambda facts: facts.yes("system"),
    "reads-arguments": lambda facts: facts.yes("arguments_object"),
    "ignores-arguments": lambda facts: not facts.yes("arguments_object"),
    "fails-with-tools": lambda facts: facts.rejects_tools,
}


def runtime_verdicts(
    findings: Sequence[Finding],
    advice: Sequence[Advice],
    solved: Callable[[Finding], bool],
    failing: Callable[[Finding], bool],
) -> dict[str, RuntimeVerdict]:
    """Return the verdict on each runtime, in the order of `RUNTIMES`.

    `solved` is whether the settings of the advice solve a finding, `failing` whether tools fail because of it.
    """
    return {runtime: _verdict(runtime, findings, advice, solved, failing) for runtime in RUNTIMES}


def _verdict(
    runtime: str,
    findings: Sequence[Finding],
    advice: Sequence[Advice],
    solved: Callable[[Finding], bool],
    failing: Callable[[Finding], bool],
) -> RuntimeVerdict:
    rows = [one for one in advice if one.runtime == runtime] or [one for one in advice if one.runtime == EVERY_RUNTIME]
    row = rows[0] if rows else Advice(runtime, "", "unknown")
    status = row.status
    remaining = [
        finding
        for finding in findings
        if runtime in finding.runtimes and finding.severity != "note" and not (status in WORKING and solved(finding))
    ]
    settings = row.text
    if any(map(failing, remaining)):
        status = "fails"
    elif status == "works" and any(finding.fixed_by == "render" for finding in remaining):
        status, settings = "works with", f"adapted requests; {row.text}"
    return RuntimeVerdict(status, settings, tuple(dict.fromkeys(finding.code for finding in remaining)))
