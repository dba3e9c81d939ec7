"""The shape of a turn with calls: the form of its content, its calls and what follows them. Data only."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal


@dataclass(frozen=True)
class TurnShape:
    """The shape of a conversation with calls. The first value of each field is the default.

    `content` is that of the turn with the calls, `wrapped` whether a call is nested under `function`, `ids` the form
    of call ids (nine alphanumerics for Mistral, `functions.NAME:N` for Kimi), `follows` what comes after the turn,
    `tools` whether tools are passed.
    """

    content: Literal["empty", "null", "absent", "text", "parts"] = "empty"
    arguments: Literal["object", "string"] = "object"
    wrapped: bool = True
    ids: Literal["nine", "function", "none"] = "nine"
    follows: Literal["nothing", "result", "answer"] = "nothing"
    system: bool = False
    tools: bool = True
    reasoning: bool = False

    def describe(self) -> str:
        """Return what is unusual about the shape as a phrase; empty for the default shape."""
        return ", ".join(_UNUSUAL[name, getattr(self, name)] for name in _differing(self))


USUAL = TurnShape()
_UNUSUAL: dict[tuple[str, Any], str] = {
    ("content", "null"): "content null",
    ("content", "absent"): "content absent",
    ("content", "text"): "text next to the call",
    ("content", "parts"): "content as a list of parts",
    ("arguments", "string"): "arguments as a string",
    ("wrapped", False): "name and arguments without the function wrapper",
    ("ids", "function"): "ids functions.NAME:N",
    ("ids", "none"): "no ids",
    ("follows", "result"): "a result after the call",
    ("follows", "answer"): "a result and an answer after the call",
    ("system", True): "a system message",
    ("tools", False): "no tools given",
    ("reasoning", True): "reasoning next to the call",
}
CHOICES: dict[str, tuple[Any, ...]] = {
    name: (default, *(choice for field, choice in _UNUSUAL if field == name))
    for name, default in ((field.name, field.default) for field in fields(TurnShape))
}
"""The values of each field, the default first."""


def _differing(shape: TurnShape) -> list[str]:
    return [name for name, choices in CHOICES.items() if getattr(shape, name) != choices[0]]
