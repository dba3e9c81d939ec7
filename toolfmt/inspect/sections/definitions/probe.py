"""Render tools whose names and texts are sentinels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from toolfmt.errors import TemplateError
from toolfmt.inspect.probe.conversations import Message, tool_definition
from toolfmt.inspect.probe.renders import Renders
from toolfmt.inspect.report.report import Answer
from toolfmt.inspect.report.wording import excerpt

NAME, ABOUT, KEY, KEY_ABOUT = "find_zqthing", "Dz1about", "zqplace", "Pz2about"

Shown: TypeAlias = str | TemplateError


@dataclass(frozen=True)
class DefinitionProbe:
    """The renders, and the messages that the tools are rendered with."""

    renders: Renders
    messages: Sequence[Message]

    def show(self, tools: Sequence[Message]) -> Shown:
        return self.renders.render(self.messages, tools)

    def parameter(self, **schema: Any) -> Shown:
        """Return the prompt for a tool with one parameter of this schema."""
        return self.show([described_tool({KEY: schema})])


def text_parameter(**more: Any) -> dict[str, Any]:
    return {"type": "string", "description": KEY_ABOUT, **more}


def described_tool(
    properties: dict[str, Any],
    required: Sequence[str] = (KEY,),
    *,
    name: str = NAME,
    about: str = ABOUT,
    more: Mapping[str, Any] | None = None,
) -> Message:
    """Return a tool; `more` is merged into the schema of its parameters."""
    return tool_definition(name, about, properties, required, more)


def present(prompt: str, words: Iterable[str]) -> Answer:
    words = tuple(words)
    missing = [word for word in words if word not in prompt]
    if not missing:
        return Answer("yes", "it appears", excerpts=(words_around(prompt, words),))
    if len(missing) == len(words):
        return Answer("no", "it is not in the prompt")
    shown = next(word for word in words if word in prompt)
    return Answer(
        "no", "only a part of it is in the prompt", outcome="in-part", excerpts=(words_around(prompt, (shown,)),)
    )


def words_around(prompt: str, words: Sequence[str], width: int = 16) -> str:
    """Return the words in the prompt with some context."""
    begin = prompt.find(words[0])
    end = max(begin, prompt.find(words[-1], begin)) + len(words[-1])
    return excerpt(prompt, begin - width, end + width, 100)
