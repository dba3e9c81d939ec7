"""Content given as a list of parts is printed as it is written in the program, dropped, or refused.

OpenAI's interface allows `"content": [{"type": "text", "text": "…"}]`. This template takes content for a string, or
reads one part only: the model reads brackets, quotes and the word type around the text, or nothing, or the request
fails. vLLM, SGLang and llama.cpp join the parts to text beforehand where they see that the template does not;
transformers does not.

What to do: send content as a string, or as a list of one part if the template takes only lists (TF003). toolfmt's
`render` joins the texts where the template needs it.

Example: `{{ message.content }}` with a list.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.checks.editing.prelude import Clause
from toolfmt.inspect.checks.editing.template_fix import TemplateFix, only
from toolfmt.inspect.checks.workarounds import SEND_TEXT_PARTS
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report.report import Severity

SEVERITY: Severity = "note"


_CLAUSE = Clause(
    """\
    {%- if message.role != 'tool' and message.content is defined and message.content is sequence
           and message.content is not string and message.content is not mapping
           and not (message.content | rejectattr('type', 'equalto', 'text') | list) %}
        {%- set message = dict(message, content=message.content | map(attribute='text') | join('\\n')) %}
    {%- endif %}
"""
)

FIX = TemplateFix(only("parts"), clause=_CLAUSE)


def check(facts: Facts) -> Iterator[Diagnostic]:
    answer = facts.detail("content_parts")
    fix = "Send content as a string; `toolfmt render` does this if all parts are text."
    if facts.question_form == "parts":
        fix = SEND_TEXT_PARTS
    what = answer.words or "content given as a list of parts is refused"
    if answer.outcome == "threw":
        yield Diagnostic(
            f"{what[0].upper()}{what[1:]}.",
            fix,
            answer.line,
        )
    if answer.outcome in ("python", "json-text", "dropped"):
        yield Diagnostic(
            f"Content given as a list of parts does not come out as its text: {answer.evidence}.",
            fix,
            answer.line,
        )
