"""Record which of a template's own strings its prompts have contained."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_LONGEST = 1_000_000
"""Maximum number of characters of a prompt that are searched. Prompts can be much longer."""


@dataclass
class OwnTexts:
    """Strings of a template, each with its line, and which of them are not in any prompt so far."""

    texts: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.unprinted = dict(self.texts)
        self._unprinted_without_tools = dict(self.texts)
        self.conversations_with_tools: list[Any] = []
        """For each string that was first printed with tools, the conversation."""

    @property
    def printed_without_tools(self) -> dict[str, int]:
        """The strings that a prompt without tools has contained."""
        return {text: line for text, line in self.texts.items() if text not in self._unprinted_without_tools}

    def record(self, prompt: str, messages: object, tools: object, variables: Mapping[str, object]) -> None:
        """Record what this prompt contains. A string that the messages also contain does not count.

        A prompt with non-string variables counts neither as one with tools nor as one without, because some templates
        take their tools as such a variable.
        """
        is_plain = tools is None and all(isinstance(value, str) for value in variables.values())
        waiting = self._unprinted_without_tools if is_plain else self.unprinted
        searched = prompt[:_LONGEST]
        if printed := [text for text in waiting if text in searched]:
            given = json.dumps(messages, ensure_ascii=False, default=_any)
            own = [text for text in printed if text not in given]
            for text in own:
                self.unprinted.pop(text, None)
                waiting.pop(text, None)
            if own and tools is not None:
                self.conversations_with_tools.append(messages)


def _any(value: Any) -> str:
    return f"{value}"
