"""The content of a message changes how this message, or another part of the prompt, is rendered.

What it checks: messages and tool results that contain the strings that the template looks for. The check also tests a
string with quotes, line breaks, markup and other characters, and a string of 25,000 characters.

Why it matters: the template searches the text of messages for certain strings. It cuts the text at them, omits it, or
treats the message as another kind. Examples of text with such a string are a question about the template, or a page
that a tool has fetched. The text loses a part, or decides what else the model reads. Other templates do one of these:

- They reject an assistant message that contains the strings: a response that is sent back as generated, with markers.
- They treat part of an assistant message as reasoning because it quotes a reasoning marker, and drop that part.
- They change every text: they join lines, strip markup, escape characters or cut long texts.

Affected runtimes: every runtime that renders this template.

Example:

    {{ message.content.split('</think>')[-1] }}

for every role.

Fix: break such strings in untrusted text before you render it, with a space after the first character. Send responses
back as they were parsed. In the template, test only the responses of the model. If the template changes every text,
change the template.

    {{ message.content.split('</think>')[-1] if message.role == 'assistant' else message.content }}
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report.report import FixedBy, Severity

_BREAK_MARKER = (
    "Put a space after the first character of the marker, for example `< /think>`. `toolfmt render` delivers the text, "
    "if necessary with a dot inserted into the marker."
)

SEVERITY: Severity = "warning"
FIXED_BY: FixedBy = "request"
PROTECTED = True


def check(facts: Facts) -> Iterator[Diagnostic]:
    answer = facts.sections.safety.get("content_kept")
    if answer is None or answer.answer == "yes" or answer.outcome == "in-branch":  # TF086 reports a branch
        return
    if answer.outcome in ("answer-refused", "assistant-text-cut"):
        evidence = f"{answer.evidence[0].upper()}{answer.evidence[1:]}"
        fix = "Send responses back as parsed, without the markers."
        if answer.outcome == "assistant-text-cut":
            fix = _BREAK_MARKER
        yield Diagnostic(f"{evidence}.", fix, answer.line, "note")
        return
    if answer.outcome == "text-changed":
        evidence = f"{answer.evidence[0].upper()}{answer.evidence[1:]}"
        yield Diagnostic(f"{evidence}.", "In the template, write the content as it is.", answer.line)
        return
    yield Diagnostic(
        f"Some strings in a message change how it is rendered: {answer.evidence}.",
        "Neutralize these strings in untrusted text before you render it.",
        answer.line,
        "note" if answer.outcome == "changes-other-text" else None,
    )
