"""Detect whether `add_generation_prompt` changes more than the end of a prompt.

Most probes render without the generation prompt, because such a prompt is easier to split. Requests use it. If a
template renders other content with it, every probe uses it (`Renders.always_generation`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from toolfmt.errors import TemplateError
from toolfmt.inspect.probe.conversations import (
    DESCRIPTION,
    RESULT,
    SINGLE,
    SYSTEM,
    TOOL,
    TOOLS,
    USER,
    VALUES,
    Message,
    conversation,
    user,
)
from toolfmt.inspect.probe.renders import Renders
from toolfmt.inspect.report.turn_shape import TurnShape

_CONTENT = {
    USER: "the question",
    SYSTEM: "the system message",
    TOOL: "the tools",
    DESCRIPTION: "the tools' descriptions",
    VALUES[0]: "the call",
    RESULT: "the tool result",
}


@dataclass(frozen=True)
class GenerationEffect:
    """A conversation that renders differently with the generation prompt.

    `contents` are the sentinels that only one of the prompts contains. `error` is set if the template rejects only one
    of them. `holds` is true if the prompt with it is the better one.
    """

    messages: Sequence[Message]
    tools: Sequence[Message] | None
    holds: bool
    contents: tuple[str, ...] = ()
    error: TemplateError | None = None

    @property
    def called(self) -> list[str]:
        """The contents as phrases for the report."""
        return [_CONTENT[content] for content in self.contents]


def generation_effects(renders: Renders) -> Iterator[GenerationEffect]:
    """Yield the changes that `add_generation_prompt` causes before the end of the prompt, by conversation."""
    renders = renders.as_requested()
    for messages, tools in (
        (user(), None),
        (user(system=True), TOOLS),
        (conversation(TurnShape(), SINGLE, results=True), TOOLS),
    ):
        without, added = (renders.render(messages, tools, generation=generation) for generation in (False, True))
        if isinstance(without, str) and isinstance(added, str):
            for holds, one, other in ((False, without, added), (True, added, without)):
                contents = tuple(text for text in _CONTENT if text in one and text not in other)
                if contents:
                    yield GenerationEffect(messages, tools, holds, contents)
        elif isinstance(added, TemplateError) and isinstance(without, str):
            yield GenerationEffect(messages, tools, False, error=added)
        elif isinstance(without, TemplateError) and isinstance(added, str):
            yield GenerationEffect(messages, tools, True, error=without)
