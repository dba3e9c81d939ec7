"""What a question or a tool result says changes how it, or something else, is rendered.

The template looks for certain words in the text of messages: it cuts a text at them, leaves it out, or takes the
message for another kind. Text that quotes these words (a question about the template itself, a page that a tool has
fetched) then loses a part, or decides what else the model reads.

Or it rejects an assistant message that contains them: one that is sent back as it was generated, markers included. Or
it treats part of an assistant message as reasoning because the message quotes a reasoning marker, and drops that part.

Or it changes text whatever it says: it joins lines, strips markup, escapes characters or cuts long texts. The report
tests a text with quotes, line breaks, markup and other characters, and one of 25,000 characters.

What to do: break such words in text of others before it is rendered (a blank behind the first character); a template
that tests the answers of the model only is better. Send answers back as they were parsed.

If the template changes every text, change the template.

Example: `{{ message.content.split('</think>')[-1] }}` for every role.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report.report import FixedBy, Severity

_BREAK_MARKER = (
    "Put a space after the first character of the marker, for example `< /think>`. `toolfmt render` delivers the text, "
    "if necessary with a dot in the marker."
)

SEVERITY: Severity = "warning"
FIXED_BY: FixedBy = "request"


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
        f"The content of a message changes the prompt: {answer.evidence}.",
        "Neutralize these strings in untrusted text before you render it.",
        answer.line,
        "note" if answer.outcome == "changes-other-text" else None,
    )
