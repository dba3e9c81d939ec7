"""The template rejects a single plain user message, or drops its text.

What it checks: a conversation of a single user message with string content. The finding is an error if the template
raises, or if the text is not in the prompt. It is a warning if the text appears when it is sent as a list of parts,
because `toolfmt render` sends it in this form.

Why it matters: a template that raises needs something else: a system message, tools, another key in the message, or a
variable of its own. Every client that does not send it gets an error, and an inspection finds out little about such a
template. A template that drops the text usually expects content as a list of parts. The model then silently receives a
prompt without the question.

Affected runtimes: every runtime that renders this template.

Example:

    {% for part in message.content %}{% if part.type == 'text' %}{{ part.text }}{% endif %}{% endfor %}

A template that reads `message.from`, although messages have a `role`, is another example.

Fix: read the error message and send what the template requires, or use a template for general chat. In the template,
accept a string too.

    {% if message.content is string %}{{ message.content }}{% else %}
    {% for part in message.content %}{% if part.type == 'text' %}{{ part.text }}{% endif %}{% endfor %}
    {% endif %}
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt._util.text_lists import listed
from toolfmt.errors import TemplateError
from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.checks.workarounds import SEND_TEXT_PARTS
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.probe.conversations import TOOLS, USER, text_part, user
from toolfmt.inspect.probe.turns.turn_probe import printed_as
from toolfmt.inspect.report.error_messages import lacks_a_filter, thrown
from toolfmt.inspect.report.report import FixedBy, Severity
from toolfmt.inspect.report.wording import quote
from toolfmt.inspect.runtimes.runtime_verdicts import concerned

SEVERITY: Severity = "error"
SUMMARY = "plain question rejected or lost"

_INSTRUCT = "Send a system message with every request."


def check(facts: Facts) -> Iterator[Diagnostic]:
    if facts.renders is None:
        return
    named = facts.template != facts.files.template(False)  # then this template is never rendered without tools
    tools = TOOLS if named else None
    renders = facts.renders.unchanged_content()
    prompt = renders.render(user(), tools)
    parts = renders.text([{"role": "user", "content": text_part(USER)}], tools)
    takes_parts = USER in parts and not printed_as(parts, USER)
    severity: Severity = "warning" if takes_parts else SEVERITY
    fixed_by: FixedBy = "render" if takes_parts else ""
    runtimes = concerned(facts)
    if takes_parts:
        converting = concerned(facts, ["text-as-parts"])
        runtimes = tuple(one for one in runtimes if one not in converting)
    if isinstance(prompt, TemplateError):
        if lacks_a_filter(prompt):
            return  # TF002 or TF014 reports the filter
        works = not named and isinstance(renders.render(user(), TOOLS), str)
        instructed = USER in renders.text(user(system=True), tools)
        along = [
            name if value else f"{name} (an empty list is enough)" for name, value in facts.needed_variables.items()
        ]
        lacking = f"{listed(facts.needed_variables)} {'is' if len(along) == 1 else 'are'}" if along else ""
        needed = "tools are" if works else "a system message is" if instructed else lacking
        when = " with tools" if named else f" unless {needed} given" if needed else ""
        missing = listed(along) if along else "tools" if works else ""
        other = f"Pass {missing} with every request, or use another template." if missing else "Use another template."
        yield Diagnostic(
            f"The template rejects a single user message{when}: {thrown(prompt).sentence}.",
            SEND_TEXT_PARTS if takes_parts else _INSTRUCT if instructed else other,
            prompt.line,
            severity,
            fixed_by,
            runtimes=runtimes,
        )
    elif USER not in prompt:
        shown = f"the prompt is '{quote(prompt, 80)}'" if prompt.strip() else "the prompt is empty"
        yield Diagnostic(
            f"A user message with string content is not in the prompt: {shown}.",
            SEND_TEXT_PARTS if takes_parts else "Use another template.",
            facts.renders.template.line_of(r"\bcontent\b"),
            severity,
            fixed_by,
            runtimes=runtimes,
        )
