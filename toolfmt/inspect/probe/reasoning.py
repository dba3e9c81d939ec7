"""Detect whether a template renders the reasoning of the last turn, and under which field name.

The field has several names. transformers passes the value of a usual name as both `reasoning_content` and `thinking`,
and drops other names. The names tried are the keys that the template reads from its input (see `names_read`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from toolfmt.errors import TemplateError
from toolfmt.inspect.probe.conversations import (
    REASONING,
    REPLY,
    SINGLE,
    TOOLS,
    USER,
    Message,
    conversation,
    text_part,
    user,
)
from toolfmt.inspect.probe.renders import Renders
from toolfmt.inspect.report.report import Outcome
from toolfmt.inspect.report.turn_shape import TurnShape
from toolfmt.inspect.report.wording import around
from toolfmt.templates import ChatTemplate

USUAL = ("reasoning_content", "thinking")
"""The names under which every template receives reasoning."""
_NAME = re.compile(r"(?!enable_|has_|keep_|add_|skip_)[a-z_]{0,20}(?:reasoning|think|thought|tool_plan)[a-z_]{0,20}")


@dataclass(frozen=True)
class ShownReasoning:
    """Where the reasoning of a last turn appeared.

    `name` is the required field name, empty if any usual name works. `how` is the rest as a phrase, `turn` the prompt
    from after the question.
    """

    name: str
    how: str
    outcome: Outcome
    messages: list[Message]
    turn: str
    excerpt: str


def names_read(template: ChatTemplate) -> dict[str, int]:
    """Return the reasoning fields that the template reads from its input, each with the first line that reads it."""
    return {key: line for key, line in template.keys.items() if _NAME.fullmatch(key)}


def shown_reasoning(renders: Renders, shape: TurnShape | None) -> ShownReasoning | TemplateError | None:
    """Return where reasoning first appears, None if it never does, or the first error if every attempt raised."""
    errors: list[TemplateError] = []
    tries = list(_tries(renders.template, shape or TurnShape()))
    for shown in tries:
        prompt = renders.render(shown.messages, TOOLS)
        if isinstance(prompt, TemplateError):
            errors.append(prompt)
        # A list of parts printed as Python's repr or as JSON is not a reasoning block.
        elif REASONING in prompt and not re.search(r"thinking['\"]:", around(prompt, REASONING, 20)):
            return replace(shown, turn=prompt[prompt.rfind(USER) + len(USER) :], excerpt=around(prompt, REASONING))
    return errors[0] if len(errors) == len(tries) else None


def _tries(template: ChatTemplate, shape: TurnShape) -> Iterator[ShownReasoning]:
    """Yield the attempts: each name, in a text response and next to a call; finally as a part of the content."""
    for name in ("", *(name for name in names_read(template) if name not in USUAL)):
        under_name = f" under the name {name}" if name else ""
        field: dict[str, Any] = {name or USUAL[0]: REASONING}
        yield _try(name, under_name, "", [*user(), {"role": "assistant", **field, "content": REPLY}])
        messages = [
            message | field if message.get("tool_calls") else message for message in conversation(shape, SINGLE)
        ]
        yield _try(name, f"{under_name} beside a call", "", messages)
    parts = [{"type": "thinking", "thinking": REASONING}, *text_part(REPLY)]
    how = " as a part of type thinking"
    yield _try("", how, "as-parts", [*user(), {"role": "assistant", "content": parts}])


def _try(name: str, how: str, outcome: Outcome, messages: Sequence[Message]) -> ShownReasoning:
    return ShownReasoning(name, how, outcome, list(messages), "", "")
