"""Reasoning of the last turn: whether a template shows it, and under which name it reads it.

`capabilities.probe` asks. A turn's reasoning goes by several names; transformers hands each template what stands under
one of the usual ones as `reasoning_content` and as `thinking`, and nothing under any other. The names that are tried
are those that the template's tree asks its caller's objects for; what shows is the reasoning, never the name.
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
"""The names under which every template is given reasoning."""
_NAME = re.compile(r"(?!enable_|has_|keep_|add_|skip_)[a-z_]{0,20}(?:reasoning|think|thought|tool_plan)[a-z_]{0,20}")


@dataclass(frozen=True)
class ShownReasoning:
    """Where the reasoning of a last turn came out: `name` is that under which it has to be given, empty where any of
    the usual ones will do; `how` says the rest in words, `turn` is the prompt from behind the question.
    """

    name: str
    how: str
    outcome: Outcome
    messages: list[Message]
    turn: str
    excerpt: str


def names_read(template: ChatTemplate) -> dict[str, int]:
    """The names of reasoning that the template asks its caller's objects for, each with the first line that does."""
    return {key: line for key, line in template.keys.items() if _NAME.fullmatch(key)}


def shown_reasoning(renders: Renders, shape: TurnShape | None) -> ShownReasoning | TemplateError | None:
    """Where reasoning first comes out; None where it never does, the first error where every try was refused."""
    errors: list[TemplateError] = []
    tries = list(_tries(renders.template, shape or TurnShape()))
    for shown in tries:
        prompt = renders.render(shown.messages, TOOLS)
        if isinstance(prompt, TemplateError):
            errors.append(prompt)
        # A list of parts printed as Python's repr or as JSON is no reasoning block.
        elif REASONING in prompt and not re.search(r"thinking['\"]:", around(prompt, REASONING, 20)):
            return replace(shown, turn=prompt[prompt.rfind(USER) + len(USER) :], excerpt=around(prompt, REASONING))
    return errors[0] if len(errors) == len(tries) else None


def _tries(template: ChatTemplate, shape: TurnShape) -> Iterator[ShownReasoning]:
    """Under each name, in an answer and beside a call; at last as a part of the content."""
    for name in ("", *(name for name in names_read(template) if name not in USUAL)):
        told = f" under the name {name}" if name else ""
        field: dict[str, Any] = {name or USUAL[0]: REASONING}
        yield _try(name, told, "", [*user(), {"role": "assistant", **field, "content": REPLY}])
        beside = [message | field if message.get("tool_calls") else message for message in conversation(shape, SINGLE)]
        yield _try(name, f"{told} beside a call", "", beside)
    parts = [{"type": "thinking", "thinking": REASONING}, *text_part(REPLY)]
    how = " as a part of type thinking"
    yield _try("", how, "as-parts", [*user(), {"role": "assistant", "content": parts}])


def _try(name: str, how: str, outcome: Outcome, messages: Sequence[Message]) -> ShownReasoning:
    return ShownReasoning(name, how, outcome, list(messages), "", "")
