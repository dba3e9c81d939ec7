"""Content that is a list of parts does not reach the prompt as text.

What it checks: messages and tool results with `"content": [{"type": "text", "text": "…"}]`, which OpenAI's API allows.

- `content-parts-lost`: the template rejects a message with parts, drops its text, or prints the list as Python does.
  The model then reads brackets, quotes and the word type. Most templates do this, so a report shows it on request only
  (`--full`).
- `result-parts-dropped`: the text of a tool result sent as parts silently disappears. The model continues without the
  result.

Why it matters: the model reads brackets instead of the message, or does not see the text. The template expects a
string, or reads one part only.

Affected runtimes: transformers, which does not join the parts. vLLM, SGLang and llama.cpp join the parts to a string if
they detect that the template does not.

Example:

    {{ message.content }}

Fix: send content as a string, or as a list of one part if the template accepts only lists (TF003). `toolfmt render`
joins the texts if the template needs it.

    {% if message.content is string %}{{ message.content }}{% else %}
    {% for part in message.content if part.type == 'text' %}{{ part.text }}{% endfor %}{% endif %}
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.inspect.checks.diagnostic import Diagnostic, FindingOutcome
from toolfmt.inspect.checks.editing.prelude import Clause
from toolfmt.inspect.checks.editing.template_fix import TemplateFix, only
from toolfmt.inspect.checks.workarounds import SEND_TEXT_PARTS
from toolfmt.inspect.facts import Facts

OUTCOMES = {
    "content-parts-lost": FindingOutcome(
        "note", replaces="TF037 content-parts-printed-raw", on_request=True, forms=("content-parts",)
    ),
    "result-parts-dropped": FindingOutcome("warning", "request", forms=("result-parts",)),
}


_CLAUSE = Clause(
    """\
    {%- if message.role != 'tool' and message.content is defined and message.content is sequence
           and message.content is not string and message.content is not mapping
           and not (message.content | rejectattr('type', 'equalto', 'text') | list) %}
        {%- set message = dict(message, content=message.content | map(attribute='text') | join('\\n')) %}
    {%- endif %}
"""
)

FIX = TemplateFix(only("parts"), clause=_CLAUSE, outcomes=("content-parts-lost",))


def check(facts: Facts) -> Iterator[Diagnostic]:
    answer = facts.detail("content_parts")
    fix = "Send content as a string; `toolfmt render` does this if all parts are text."
    if facts.question_form == "parts":
        fix = SEND_TEXT_PARTS
    if answer.outcome == "threw":
        yield Diagnostic(
            f"{answer.words[0].upper()}{answer.words[1:]}.",
            fix,
            answer.line,
            outcome="content-parts-lost",
        )
    if answer.outcome in ("python", "json-text", "dropped"):
        yield Diagnostic(
            f"Content given as a list of parts is not rendered as its text: {answer.evidence}.",
            fix,
            answer.line,
            outcome="content-parts-lost",
        )
    results = facts.detail("results_as_parts")
    if facts.shows_tools and results.outcome == "dropped":
        evidence = f"{results.evidence[0].upper()}{results.evidence[1:]}"
        instead = "Send the result as a string; `toolfmt render` does this if all parts are text."
        yield Diagnostic(f"{evidence}.", instead, results.line, outcome="result-parts-dropped")
