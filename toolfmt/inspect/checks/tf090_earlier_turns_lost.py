"""An earlier question or answer of a conversation does not reach the prompt, or the conversation is rejected.

The template renders the last question, or the system message and one question, and nothing else: it was written for
models that judge, embed or transcribe a single text. A conversation then begins anew with every message, past calls and
their results are gone as well, and toolfmt's `render` refuses what it cannot deliver.

What to do: send one question a request, or take a template for chat.

Example: `{{ messages[-1].content }}`; a classifier's template that reads the first message and the last.
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

_SAID = {USER: "the first question", REPLY: "the answer", FURTHER: "the second question"}


def check(facts: Facts) -> Iterator[Diagnostic]:
    renders = facts.renders
    if renders is None or facts.question_form == "nothing":
        return
    # In each of the forms that render tries, since one of them may come out.
    prompts = [renders.render(messages, tools) for messages in _talks() for tools in (None, TOOLS)]
    if any(isinstance(prompt, str) and all(text in prompt for text in _SAID) for prompt in prompts):
        return
    plain = prompts[0]
    if not isinstance(plain, str):
        plain = next((prompt for prompt in prompts if isinstance(prompt, str)), plain)
    fix = "Send one question per request, or use another template for chat."
    if isinstance(plain, TemplateError):
        single = renders.render(user())
        if not isinstance(single, TemplateError) or single.own_words != plain.own_words:  # else TF003 tells it
            yield Diagnostic(
                f"A conversation with two questions is rejected: {thrown(plain).sentence}.", fix, plain.line
            )
        return
    lost = [what for text, what in _SAID.items() if text not in plain]
    verb = "does" if len(lost) == 1 else "do"
    yield Diagnostic(f"In a conversation with two questions {listed(lost)} {verb} not reach the prompt.", fix)


def _talks() -> Iterator[list[Message]]:
    """Two questions and an answer between them, as a client sends them and as `render` may hand them on."""
    for parts in (False, True):
        for reasoning in ({}, {"reasoning_content": ""}):
            talk = [_said("user", USER, parts), _said("assistant", REPLY, parts) | reasoning]
            yield [*talk, _said("user", FURTHER, parts)]
    yield [_said("system", SYSTEM), _said("user", USER), _said("assistant", REPLY), _said("user", FURTHER)]


def _said(role: str, text: str, parts: bool = False) -> Message:
    content: Any = text_part(text) if parts else text
    return {"role": role, "content": content}
