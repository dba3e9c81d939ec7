"""A turn with a call needs a certain `content` next to the call: null, an empty string, or text.

What it checks: a turn with a call and `content` null, absent, or an empty string.

- `content-null-rejected`: null is rejected, or the turn loses its call. This includes a template that accepts null but
  needs the key: transformers 5 drops keys whose value is null before it renders.
- `content-null-printed`: null appears in the prompt as the word None.
- `content-empty-rejected`: an empty string is rejected, or the turn loses its call.

Why it matters: OpenAI clients send `content: null` on turns that only call tools, and some clients send an empty
string. If the template does not expect that, the request fails or the call is lost without an error. Or the model reads
"None" before each call and soon writes it.

Affected runtimes: every runtime that renders this template with the content that the client sent.

Example:

    {{ '<|im_start|>assistant' + message.content }}

Fix: send the content that the template accepts, usually an empty string instead of null; `toolfmt render` does this.

    {{ '<|im_start|>assistant' + (message.content or '') }}
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from toolfmt.inspect.checks.diagnostic import Diagnostic, FindingOutcome
from toolfmt.inspect.checks.editing.edits import or_empty
from toolfmt.inspect.checks.editing.prelude import Clause
from toolfmt.inspect.checks.editing.sites import Sites
from toolfmt.inspect.checks.editing.source import Edit
from toolfmt.inspect.checks.editing.template_fix import TemplateFix, Variant
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report.report import Answer, Report
from toolfmt.inspect.runtimes.request_handling import RequestForm
from toolfmt.inspect.runtimes.runtime_verdicts import concerned
from toolfmt.inspect.runtimes.template_choice import TRANSFORMERS

OUTCOMES = {
    "content-null-rejected": FindingOutcome("warning", "render", replaces="TF017 content-null-refused"),
    "content-null-printed": FindingOutcome(
        "warning", "render", replaces="TF018 content-null-printed", forms=("null-content",)
    ),
    "content-empty-rejected": FindingOutcome("warning", "render", replaces="TF028 content-empty-refused"),
}


_FORMS: Mapping[tuple[bool, bool], tuple[RequestForm, ...]] = {
    (True, False): ("null-content",),
    (False, True): ("absent-content",),
    (True, True): ("null-content", "absent-content"),
}
"""The forms of missing content that fail, by whether null does and whether a missing key does."""


def check(facts: Facts) -> Iterator[Diagnostic]:
    yield from _null_rejected(facts)
    yield from _null_printed(facts)
    yield from _empty_rejected(facts)


def _null_rejected(facts: Facts) -> Iterator[Diagnostic]:
    null, absent = facts.capabilities["content_null"], facts.detail("content_absent")
    answer = absent if null.answer == "yes" else null
    fails = ("threw", "dropped")
    if facts.renders_calls and answer.outcome in fails:
        what = "is rejected" if answer.outcome == "threw" else "loses its call"
        given = f"with a call and content null {what}"
        if answer is absent:
            given = f"that has a call and no key `content` {what} (transformers 5 removes the key if it is null)"
        yield Diagnostic(
            f"A turn {given}: {answer.evidence}.",
            _fix(facts, answer),
            answer.line,
            outcome="content-null-rejected",
            forms=_FORMS[null.outcome in fails, absent.outcome in fails],
        )


def _fix(facts: Facts, answer: Answer) -> str:
    """Return what to send instead, and how to fix the template if an empty string works."""
    text_outcome = facts.detail("text_with_call").outcome
    if facts.yes("content_empty"):
        raises = answer.error is not None and answer.error.kind == "raised"
        template_fix = "" if raises else " In the template, write `message.content or ''`."
        return f"Send an empty string instead of null; `toolfmt render` does this.{template_fix}"
    if facts.yes("content_null"):
        return (
            "Keep the key with null if the runtime does not remove it; or use `toolfmt render`, which keeps the call."
        )
    if text_outcome in ("call-dropped", "threw"):
        return "Use `toolfmt render`, which keeps the call."
    done = "; `toolfmt render` does this" if text_outcome == "dropped" else ""
    return f"Send some text instead of null{done}."


def _null_printed(facts: Facts) -> Iterator[Diagnostic]:
    answer = facts.capabilities["content_null"]
    if facts.renders_calls and answer.outcome == "none-printed":
        yield Diagnostic(
            f"In a turn with a call, null content is rendered as text: {answer.words}.",
            "Send an empty string instead of null; `toolfmt render` does this. In the template, write "
            "`message.content or ''`.",
            answer.line,
            outcome="content-null-printed",
        )


def _empty_rejected(facts: Facts) -> Iterator[Diagnostic]:
    answer = facts.capabilities["content_empty"]
    if facts.renders_calls and answer.answer != "yes":
        what = "is rejected" if answer.outcome == "threw" else "goes wrong"
        instead = "null" if facts.yes("content_null") else "a word of text"
        fits = facts.yes("content_null") or facts.detail("text_with_call").outcome == "dropped"
        done = "; `toolfmt render` does this" if fits else ""
        if facts.yes("content_null") and facts.detail("content_absent").answer != "yes":
            # transformers 5 and `toolfmt render` omit a key whose value is null.
            done = ", with the key; or use `toolfmt render`, which keeps the call"
        yield Diagnostic(
            f"A turn with a call and empty content {what}: {answer.evidence}.",
            f"Send {instead} instead of an empty string{done}.",
            answer.line,
            outcome="content-empty-rejected",
            # A program may pass an empty string itself; other runtimes also make one of null.
            runtimes=(TRANSFORMERS, *concerned(facts, ["empty-content"])),
        )


_CLAUSE = Clause(
    """\
    {%- if message.content is none %}
        {%- set message = dict(message, content='') %}
    {%- endif %}
"""
)


def _content_or_nothing(sites: Sites) -> Iterator[Edit]:
    """Write `message.content or ''` wherever content is used and not only tested."""
    return or_empty(sites, "content", "''")


def _variants(report: Report) -> tuple[Variant, ...]:
    """Return the form that the finding is about: null, or no content at all."""
    return ("content-absent",) if report.capabilities["content_null"].answer == "yes" else ("content-null",)


FIX = TemplateFix(_variants, _content_or_nothing, _CLAUSE, outcomes=("content-null-rejected", "content-null-printed"))
