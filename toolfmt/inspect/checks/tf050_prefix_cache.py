"""The prompt of a turn is not the beginning of the next turn's prompt, so a prefix cache misses.

What it checks: the prompts of an example conversation, step by step. The report shows how many characters stay, and how
both prompts continue.

- `prefix-not-stable`: an earlier part changes. Often the reasoning of earlier turns is dropped: models are trained that
  way, and it keeps the prompt short. Or the tools or the system message are next to the last question and move with it,
  or instructions follow the last message.
- `generation-prompt-not-a-prefix`: the template later renders the same response with another start than the generation
  prompt. Usually the generation prompt starts a reasoning block (`<think>`), or an empty one, that earlier turns lack.
- `prefix-stable-on-conditions`: the prompts of the example are stable, but not under all conditions. They change if the
  client does not send reasoning back, or if a variable has another value, for example `enable_thinking=false`.

Why it matters: a runtime reuses what it has computed for a prompt, as long as the next prompt begins with the same
text. Everything from the first difference on is computed again. In a conversation with tools, this delays every
response.

Affected runtimes: every runtime with a prefix cache.

Example:

    {% if loop.index0 > ns.last_query_index %}<think>{{ reasoning }}</think>{% endif %}

Fix: if the template has a variable that keeps earlier reasoning (`preserve_thinking`, `clear_thinking`), consider
setting it. To keep reasoning, return it in the field that the template reads. Without such a variable, the cost
remains. To measure it, use conversations of several turns.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.inspect.checks.diagnostic import Diagnostic, FindingOutcome
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report.growing_prompts import Cause, PrefixStep

# The row `prefix` of a report shows both.
OUTCOMES = {
    "prefix-not-stable": FindingOutcome(
        "note",
        replaces="TF050 prefix-not-stable",
        on_request=True,
        summary="prompts only partly reusable by a prefix cache",
    ),
    "generation-prompt-not-a-prefix": FindingOutcome(
        "note",
        replaces="TF051 generation-prompt-not-a-prefix",
        on_request=True,
        summary="generation prompt changes later",
    ),
    "prefix-stable-on-conditions": FindingOutcome("note"),
}


def check(facts: Facts) -> Iterator[Diagnostic]:
    yield from _not_stable(facts)
    yield from _generation_prompt(facts)
    yield from _on_conditions(facts)


_SHOWN = 50

_WHAT: dict[Cause, str] = {
    "ending": "what the template adds after the last message is removed",
    "reasoning-dropped": "the reasoning of earlier turns is dropped",
    "block-dropped": "the reasoning markers of earlier responses are dropped",
    "tools-moved": "the tools move to another place",
    "tools-dropped": "the tools are dropped",
    "system-moved": "the system message moves to another place",
    "system-dropped": "the system message is dropped",
    "message-dropped": "an earlier message is dropped",
    "copy-dropped": "text that the earlier prompt contains twice appears only once",
    "call-changed": "the call is rendered differently than it was generated",
    "answer-changed": "the response is rendered differently than it was generated",
    "result-changed": "the result is rendered differently than before",
    "blanks": "whitespace changes",
    "other": "the earlier text changes",
}


def _not_stable(facts: Facts) -> Iterator[Diagnostic]:
    stability = facts.sections.stability
    if stability is None:
        return
    changed = [turn for turn in stability.turns if turn.cause in _WHAT]
    if not changed:
        return
    worst: dict[Cause, PrefixStep] = {}
    for turn in changed:
        if turn.cause not in worst or _lost(turn) > _lost(worst[turn.cause]):
            worst[turn.cause] = turn
    turns = sorted(worst.values(), key=_lost, reverse=True)
    reasons = [f"when {turn.name}, {_WHAT[turn.cause]}" for turn in turns]
    first = turns[0]
    reasons[0] += f" ({_beginning(first.was)} becomes {_beginning(first.becomes)})"
    yield Diagnostic(
        "The next prompt does not start with the previous prompt and its response, so a prefix cache keeps "
        f"{_percent(stability.share)} of an example conversation. The largest loss: {'; '.join(reasons)}.",
        _fix(first.cause),
        first.line,
        outcome="prefix-not-stable",
    )


def _lost(turn: PrefixStep) -> int:
    return turn.length - turn.kept


def _beginning(text: str) -> str:
    """Return the start of a part of a prompt, quoted with its whitespace, which may be the only difference."""
    shown = text[:_SHOWN].replace("\n", "\\n")
    return f"'{shown}{'…' if len(text) > _SHOWN else ''}'"


def _percent(share: float) -> str:
    return f"{int(share * 100)} %"  # rounded down as everywhere in the report: 100 % means that all of it stays


def _fix(cause: Cause) -> str:
    if cause == "reasoning-dropped":
        return "Expect higher cost: the prompt is computed again from the dropped reasoning on."
    return "Expect higher cost: everything after that point is computed again."


def _generation_prompt(facts: Facts) -> Iterator[Diagnostic]:
    stability = facts.sections.stability
    if stability is None:
        return
    turn = next((turn for turn in stability.turns if turn.cause == "generation-prompt"), None)
    if turn is None:
        return
    yield Diagnostic(
        f"The generation prompt ends with {_beginning(turn.was)}. In the next turn's prompt, the template renders "
        f"{_beginning(turn.becomes)} in this place.",
        "Expect higher cost: on the next turn, the runtime computes the response again.",
        turn.line,
        outcome="generation-prompt-not-a-prefix",
    )


def _on_conditions(facts: Facts) -> Iterator[Diagnostic]:
    found = facts.sections.stability
    if found is None or found.share < 1:
        return
    worst = min(found.conditions, key=lambda condition: condition.share, default=None)
    if worst is None or worst.broken is None:
        return
    when = worst.describe()
    yield Diagnostic(
        f"{when[0].upper()}{when[1:]}, a prefix cache keeps {_percent(worst.share)}: when {worst.broken.name}, "
        f"{_beginning(worst.broken.was)} becomes {_beginning(worst.broken.becomes)}.",
        "Send reasoning back in the field that the template reads, and keep its variables the same in a conversation."
        if worst.reasoning is False
        else "Expect higher cost under this condition: everything after that point is computed again.",
        worst.broken.line,
        outcome="prefix-stable-on-conditions",
    )
