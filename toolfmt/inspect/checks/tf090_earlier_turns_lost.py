"""An earlier question or response does not reach the prompt, or the conversation is rejected.

What it checks: a conversation of two questions with a response between them.

Why it matters: the template renders only the last question, or only the system message and one question. It was written
for models that judge, embed or transcribe a single text. A conversation then starts anew with every message, and past
calls and their results are lost too. `toolfmt render` raises an error for what it cannot deliver.

Affected runtimes: every runtime that renders this template.

Example:

    {{ messages[-1].content }}

A classifier's template that reads only the first and the last message is another example.

Fix: send one question per request, or use a template for chat.

    {% for message in messages %}<|{{ message.role }}|>{{ message.content }}<|end|>{% endfor %}
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from toolfmt._util.text_lists import listed
from toolfmt.errors import TemplateError
from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.probe.conversations import FURTHER, REPLY, SYSTEM, TOOLS, USER, Message, text_part, user
from toolfmt.inspect.report.error_messages import thrown
from toolfmt.inspect.report.report import Severity

SEVERITY: Severity = "error"

_CONTENTS = {USER: "the first question", REPLY: "the response", FURTHER: "the second question"}


def check(facts: Facts) -> Iterator[Diagnostic]:
    renders = facts.renders
    if renders is None or facts.question_form == "nothing":
        return
    # In each form that `toolfmt render` tries, because one of them may reach the prompt.
    prompts = [renders.render(messages, tools) for messages in _talks() for tools in (None, TOOLS)]
    if any(isinstance(prompt, str) and all(text in prompt for text in _CONTENTS) for prompt in prompts):
        return
    plain = prompts[0]
    if not isinstance(plain, str):
        plain = next((prompt for prompt in prompts if isinstance(prompt, str)), plain)
    fix = "Send one question per request, or use another template for chat."
    if isinstance(plain, TemplateError):
        single = renders.render(user())
        if (
            not isinstance(single, TemplateError) or single.engine_message != plain.engine_message
        ):  # if equal, TF003 reports it
            yield Diagnostic(
                f"A conversation with two questions is rejected: {thrown(plain).sentence}.", fix, plain.line
            )
        return
    lost = [what for text, what in _CONTENTS.items() if text not in plain]
    verb = "does" if len(lost) == 1 else "do"
    yield Diagnostic(f"In a conversation with two questions {listed(lost)} {verb} not reach the prompt.", fix)


def _talks() -> Iterator[list[Message]]:
    """Yield two questions with a response between them, as clients send them and as `render` may pass them."""
    for parts in (False, True):
        for reasoning in ({}, {"reasoning_content": ""}):
            talk = [_message("user", USER, parts), _message("assistant", REPLY, parts) | reasoning]
            yield [*talk, _message("user", FURTHER, parts)]
    yield [_message("system", SYSTEM), _message("user", USER), _message("assistant", REPLY), _message("user", FURTHER)]


def _message(role: str, text: str, parts: bool = False) -> Message:
    content: Any = text_part(text) if parts else text
    return {"role": role, "content": content}
