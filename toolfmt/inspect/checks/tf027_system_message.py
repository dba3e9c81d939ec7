"""A system message is rejected or does not reach the prompt.

What it checks: conversations with a system message at the beginning (also after a tool result), conversations with a
later one, and a system message alone.

- `system-message-lost`: the system message at the beginning is rejected or dropped.
- `later-system-message-lost`: a system message in the middle of a conversation is rejected or dropped, or it replaces
  the first one. Agents use such messages for reminders and changes.
- `system-message-lost-after-result`: the template writes the system message only next to the last question. With the
  first tool result, the model continues without its instructions.
- `lone-system-message-lost`: a system message without a question is rejected or dropped. Some clients send it alone, to
  fill a prefix cache.

Why it matters: instructions never reach the model, and neither do tools that are described in a system message.

Affected runtimes: every runtime that renders this template.

Example:

    {% if messages[0].role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}

Fix: put the text at the beginning of the first user message. Put a later message into the next user message. `toolfmt
render` does both.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from toolfmt.inspect.checks.diagnostic import Diagnostic, FindingOutcome
from toolfmt.inspect.checks.workarounds import give_instructions
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.probe.conversations import SINGLE, SYSTEM, conversation, user
from toolfmt.inspect.probe.renders import takes_questions

OUTCOMES = {
    "system-message-lost": FindingOutcome("warning", "render", replaces="TF027 system-message-lost"),
    "later-system-message-lost": FindingOutcome(
        "warning", "render", replaces="TF035 later-system-refused", summary="later system messages fail"
    ),
    "system-message-lost-after-result": FindingOutcome("warning", "render", replaces="TF073 system-message-lost-later"),
    "lone-system-message-lost": FindingOutcome("note"),
}


def check(facts: Facts) -> Iterator[Diagnostic]:
    yield from _lost(facts)
    yield from _later(facts)
    yield from _after_result(facts)
    yield from _alone(facts)


def _lost(facts: Facts) -> Iterator[Diagnostic]:
    answer = facts.capabilities["system"]
    if facts.renders is None or facts.profile.takes_system or not takes_questions(facts.renders):
        return
    dropped = answer.evidence.removeprefix("the system message ")
    what = f"is rejected: {answer.evidence}" if answer.answer == "error" else dropped
    yield Diagnostic(
        f"The system message {what}.",
        give_instructions(facts),
        answer.line,
        outcome="system-message-lost",
    )


def _later(facts: Facts) -> Iterator[Diagnostic]:
    answer = facts.detail("system_later")
    what = {
        "threw": f"is rejected: {answer.evidence}",
        "dropped": answer.words.removeprefix("a later system message "),
        "misplaced": "replaces the first one",
    }.get(answer.outcome)
    if what is not None:
        yield Diagnostic(
            f"A later system message {what}.",
            "Put its text into the next user message; `toolfmt render` does this.",
            answer.line,
            outcome="later-system-message-lost",
        )


def _after_result(facts: Facts) -> Iterator[Diagnostic]:
    answer = facts.capabilities["system"]
    if answer.outcome == "lost-later":
        yield Diagnostic(
            "If the last message is a tool result, the system message at the start is dropped.",
            give_instructions(facts),
            _dropped_at(facts) or answer.line,
            outcome="system-message-lost-after-result",
        )


def _dropped_at(facts: Facts) -> int | None:
    """Return the line of the condition that drops the system message after a result."""
    if facts.turn_probe is None or facts.turn_probe.answered is None:
        return None
    messages = conversation(replace(facts.turn_probe.answered, system=True, follows="result"), SINGLE)
    return facts.turn_probe.dropped_at(user(system=True), messages, SYSTEM)


def _alone(facts: Facts) -> Iterator[Diagnostic]:
    answer = facts.detail("system_alone")
    if answer.outcome in ("threw", "dropped"):
        yield Diagnostic(
            f"{answer.evidence[0].upper()}{answer.evidence[1:]}.",
            "Send a question with it.",
            answer.line,
            outcome="lone-system-message-lost",
        )
