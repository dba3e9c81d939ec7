"""A turn with text and a call loses one of them, or is rejected.

Models often say a sentence before they call a tool. This template writes either the text or the call into the
history: the model sees another turn than the one it made, and a prefix cache misses from there on.

What to do: nothing is needed where models only call. `toolfmt render` keeps both, in the way that this template takes:
the call written into the text, the text as reasoning, or in a turn of its own before the call. By hand, the last only
helps where the template takes two answers in a row.

Example: `{% if message.tool_calls %}` … `{% else %}{{ message.content }}{% endif %}`.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.inspect.checks.diagnostic import Diagnostic, FindingOutcome
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report.wording import filled

OUTCOMES = {
    "text-beside-call-dropped": FindingOutcome("warning", "render", summary="text next to a call dropped or moved")
}
WHY_NOT_FIXED = "the template does not show where the text belongs"

_FIX = "Use `toolfmt render`, which keeps both (the text as reasoning if there is no other way), or send no text."
_WHAT = {
    "dropped": "Text next to a call is dropped",
    "call-dropped": "A call is dropped if there is text next to it",
    "threw": "Text next to a call is rejected",
}


def check(facts: Facts) -> Iterator[Diagnostic]:
    answer = facts.detail("text_beside_call")
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
    # Alone the text may be taken: then the words say beside what it is not.
    what = f"{answer.words[:1].upper()}{answer.words[1:]}" if answer.outcome == "threw" else ""
    yield Diagnostic(
        f"{filled(what or _WHAT[answer.outcome], shown)}.",
        _FIX,
        answer.line,
    )
