"""The prompt starts the response differently after a tool result than after a question.

What it checks: the generation prompt after a question and after tool results, with the template's switches on and off.

- `varies-by-turn`: the start differs with the usual variables.
- `varies-with-switch`: the start differs only if a variable of the template is set, for example `enable_thinking=true`.

Why it matters: a reasoning model often continues a block that the generation prompt has started (`<think>`). This
template writes an opened or an empty block only after a question, or only after a result. A parser that always gets the
same prefix then parses a plain response as reasoning in some turns, and the user sees an empty response.

Affected runtimes: every server whose reasoning parser assumes an open block, and every program that gives its parser
the same prefix in all turns.

Example:

    {% if add_generation_prompt %}<|assistant|>{% if messages[-1].role == 'user' %}<think>{% endif %}{% endif %}

Fix: give the parser what the prompt contains. `prompt.parser()` of `toolfmt.Model.render` does this in every turn. With
a server, set the reasoning parser only if it looks for the start marker in the response.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from toolfmt._util.text_lists import listed
from toolfmt.inspect.checks.diagnostic import Diagnostic, FindingOutcome
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report.growing_prompts import ResponseStart, Turn
from toolfmt.inspect.report.wording import quote
from toolfmt.inspect.sections.response_starts import deciding_line

OUTCOMES = {
    "varies-by-turn": FindingOutcome("warning", "render"),
    "varies-with-switch": FindingOutcome("note"),
}

_AFTER: dict[Turn, str] = {
    "question": "the first user message",
    "question without tools": "a user message in a request without tools",
    "result": "a tool result",
    "results": "several tool results",
    "later question": "a later user message",
}
_FIX = "Parse with `prompt.parser()` of the prompt from `Model.render`: it knows how the response starts."


def check(facts: Facts) -> Iterator[Diagnostic]:
    by_variables: dict[tuple[tuple[str, bool], ...], list[ResponseStart]] = {}
    for start in facts.sections.response_starts:
        by_variables.setdefault(start.variables, []).append(start)
    for variables, starts in sorted(by_variables.items()):
        other = next((start for start in starts if start.prefix != starts[0].prefix), None)
        if other is None:
            continue
        given = " and ".join(f"{name}={str(value).lower()}" for name, value in variables)
        what = f"With {given} the" if given else "The"
        line = deciding_line(facts, starts[0], other)
        if line is None and facts.renders is not None:
            line = facts.renders.template.line_of(r"\badd_generation_prompt\b")
        yield Diagnostic(
            f"{what} generation prompt {_shown(starts)}.",
            _FIX,
            line,
            outcome="varies-with-switch" if given else "varies-by-turn",
        )
        return


def _shown(starts: Sequence[ResponseStart]) -> str:
    """Return what the response starts with after each kind of turn."""
    turns: dict[str, list[Turn]] = {}
    for start in starts:
        turns.setdefault(start.prefix, []).append(start.turn)
    each: list[str] = []
    for prefix, after in turns.items():
        when = listed([_AFTER[turn] for turn in after], "or")
        starts_with = f"starts the response with '{quote(prefix, 60)}'" if prefix else "adds nothing to the response"
        each.append(f"{starts_with} after {when}" if not each else f"after {when}, it {starts_with}")
    return "; ".join(each)
