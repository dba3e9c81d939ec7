"""Whether `add_generation_prompt` changes more than the end of a prompt: what it drops, or what is there only with it.

Most probes render without the generation prompt, since a prompt is easier to cut then; a request has it. For a template
that renders other content with it, every probe asks for it (`Renders.always_generation`).
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
    """A conversation that is rendered otherwise with the generation prompt: the contents that only one of the prompts
    has, or the error of the only one that the template rejects. `holds` says which prompt is the better one.
    """

    messages: Sequence[Message]
    tools: Sequence[Message] | None
    holds: bool
    contents: tuple[str, ...] = ()
    error: TemplateError | None = None

    @property
    def called(self) -> list[str]:
        """What the contents are called."""
        return [_CONTENT[content] for content in self.contents]


def generation_effects(renders: Renders) -> Iterator[GenerationEffect]:
    """Yield what `add_generation_prompt` changes besides the end of the prompt, one conversation after the other."""
    renders = renders.as_requested()
    for messages, tools in (
        (user(), None),
        (user(system=True), TOOLS),
        (conversation(TurnShape(), SINGLE, results=True), TOOLS),
    ):
        without, added = (renders.render(messages, tools, generation=wanted) for wanted in (False, True))
        if isinstance(without, str) and isinstance(added, str):
            for holds, one, other in ((False, without, added), (True, added, without)):
                contents = tuple(text for text in _CONTENT if text in one and text not in other)
                if contents:
                    yield GenerationEffect(messages, tools, holds, contents)
        elif isinstance(added, TemplateError) and isinstance(without, str):
            yield GenerationEffect(messages, tools, False, error=added)
        elif isinstance(without, TemplateError) and isinstance(added, str):
            yield GenerationEffect(messages, tools, True, error=without)
