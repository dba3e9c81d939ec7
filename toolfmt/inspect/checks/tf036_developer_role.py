"""A message of the role `developer` is rejected or dropped, or rendered as a response of the model.

What it checks: a conversation that starts with a message of the role `developer`.

- `developer-role-rejected`: the template raises an error, so the request fails.
- `developer-role-dropped`: the instructions do not reach the prompt. A report shows this on request only (`--full`).
- `developer-role-as-assistant`: the template renders every unknown role as the assistant, so the model reads the
  instructions as its own output. A report shows this on request only.

Why it matters: newer OpenAI clients send their instructions under this role instead of `system`. More than half of all
templates do not know it.

Affected runtimes: every runtime that passes the role to the template unchanged.

Example:

    {% if message.role == 'system' %}<|system|>{{ message.content }}{% endif %}

Fix: send the message under the role `system`. If that is lost as well, put it at the beginning of the first user
message.

    {% if message.role in ['system', 'developer'] %}<|system|>{{ message.content }}{% endif %}
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.inspect.checks.diagnostic import Diagnostic, FindingOutcome
from toolfmt.inspect.checks.editing.prelude import Clause
from toolfmt.inspect.checks.editing.sites import Access, Sites
from toolfmt.inspect.checks.editing.source import Edit
from toolfmt.inspect.checks.editing.template_fix import TemplateFix, only
from toolfmt.inspect.checks.workarounds import give_instructions
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report.report import Report

OUTCOMES = {
    "developer-role-dropped": FindingOutcome(
        "note", replaces="TF036 developer-role-dropped", on_request=True, forms=("developer-role",)
    ),
    "developer-role-rejected": FindingOutcome("warning", "request", forms=("developer-role",)),
    "developer-role-as-assistant": FindingOutcome("note", on_request=True, forms=("developer-role",)),
}


_CLAUSE = Clause(
    """\
    {%- if message.role == 'developer' %}
        {%- set message = {'role': 'system', 'content': message.content} %}
    {%- endif %}
"""
)


def _developer_as_system(sites: Sites) -> Iterator[Edit]:
    """Accept the role `developer` wherever the template tests for `system`."""
    for access in sites.of("role"):
        compared, other = sites.after(access), sites.after(access, 1)
        if compared.is_one("==", "!=") and other.string == "system":
            word = "in" if compared.is_one("==") else "not in"
            quoted = other.text.replace("system", "developer")
            yield Edit(access.end, other.end, f" {word} [{other.text}, {quoted}]")
        elif compared.is_one("in", "not"):
            yield from _with_developer(sites, access)


def _with_developer(sites: Sites, access: Access) -> Iterator[Edit]:
    """Add `'developer'` after `'system'` in the list of roles that the template searches."""
    for word in sites.words[access.last : access.last + 12]:
        if word.is_one("]", ")") or word.kind in ("block_end", "variable_end"):
            return
        if word.string == "system":
            yield Edit(word.end, word.end, ", " + word.text.replace("system", "developer"))


def _impossible(report: Report) -> str:
    system = report.capabilities["system"].answer == "yes"
    return "" if system else "a message of the role system is not rendered either"


FIX = TemplateFix(only("developer"), _developer_as_system, _CLAUSE, impossible=_impossible)


def check(facts: Facts) -> Iterator[Diagnostic]:
    answer = facts.detail("developer")
    if answer.outcome in ("threw", "dropped"):
        what = "a message of the role developer is rejected" if answer.outcome == "threw" else answer.words
        # Not if a message of the role system is lost as well.
        instead = (
            "Send it under the role system; `toolfmt render` does this."
            if facts.profile.takes_system
            else give_instructions(facts)
        )
        outcome = "developer-role-rejected" if answer.outcome == "threw" else "developer-role-dropped"
        yield Diagnostic(f"{what[0].upper()}{what[1:]}.", instead, answer.line, outcome=outcome)
    if answer.outcome == "as-answer":
        instead = (
            "under the role system" if facts.profile.takes_system else "at the beginning of the first user message"
        )
        what = "A message of the role developer is rendered as a response of the model."
        yield Diagnostic(what, f"Send the instructions {instead}.", answer.line, outcome="developer-role-as-assistant")
