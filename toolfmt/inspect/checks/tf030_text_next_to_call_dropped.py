"""A turn with text and a call loses one of them, or is rejected.

What it checks: an assistant turn with text and a tool call, and whether both are in the prompt in the order of the
turn.

Why it matters: models often write a sentence before they call a tool. The template then shows the model another turn
than the one it generated, and a prefix cache misses from there on. Nothing is lost if the model only writes calls.

Affected runtimes: every runtime that renders this template.

Example:

    {% if message.tool_calls %}{{ message.tool_calls | tojson }}{% else %}{{ message.content }}{% endif %}

Fix: use `toolfmt render`, which keeps both in the way that this template accepts. It writes the call into the text,
sends the text as reasoning, or sends it in a turn of its own before the call. By hand, a turn of its own only helps if
the template accepts two assistant messages in a row.

    {{ message.content or '' }}{% if message.tool_calls %}{{ message.tool_calls | tojson }}{% endif %}
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.inspect.checks.diagnostic import Diagnostic, FindingOutcome
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report.wording import filled

OUTCOMES = {
    "text-next-to-call-dropped": FindingOutcome("warning", "render", summary="text next to a call dropped or moved")
}
WHY_NOT_FIXED = "the template does not show where the text belongs"

_FIX = "Use `toolfmt render`, which keeps the text and the call (the text may become reasoning), or send no text."
_WHAT = {
    "dropped": "Text next to a call is dropped; the prompt has only",
    "call-dropped": "A call is dropped if there is text next to it",
    "threw": "Text next to a call is rejected",
}


def check(facts: Facts) -> Iterator[Diagnostic]:
    answer = facts.detail("text_with_call")
    if not facts.renders_calls:
        return
    if answer.outcome in ("lost-later", "misplaced"):
        yield Diagnostic(f"{answer.evidence[0].upper()}{answer.evidence[1:]}.", _FIX, answer.line)
    if answer.outcome not in _WHAT:
        return
    shown = (
        ()
        if answer.outcome == "call-dropped"
        else answer.excerpts
        if answer.error is None
        else (answer.error.sentence,)
    )
    # The text may be accepted on its own. `answer.words` then names what it is rejected next to.
    what = f"{answer.words[:1].upper()}{answer.words[1:]}" if answer.outcome == "threw" else ""
    yield Diagnostic(
        f"{filled(what or _WHAT[answer.outcome], shown)}.",
        _FIX,
        answer.line,
    )
