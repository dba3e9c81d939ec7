"""The parts of a rendered conversation, and what is wrong with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["sampled", "prefilled", "template"]
"""Who writes a part: the model, the generation prompt as the start of a response, or the template."""
ProblemKind: TypeAlias = Literal[
    "not-rendered",
    "no-prompt",
    "not-found",
    "not-verified",
    "not-a-prefix",
    "prefill-missing",
    "reasoning-dropped",
    "tolerated",
    "no-stop",
]
"""The first four: the message is not trained. The others: it is, but the text teaches something wrong."""


@dataclass(frozen=True)
class TrainingSpan:
    """A part of a rendered conversation.

    Attributes:
        begin: The offset of its first character.
        end: The offset after its last character.
        message: The index of its message; -1 for a tool definition.
        role: The role of the message, empty for a tool definition.
        kind: `sampled` if the model writes it, including the stop string. `prefilled` if it belongs to the response but
            is in the generation prompt. `template` for the texts of all other messages.
        closing: The stop strings at its end, if it is sampled and the template writes any.
    """

    begin: int
    end: int
    message: int
    role: str
    kind: Kind
    closing: str = ""


@dataclass(frozen=True)
class Problem:
    """Why a message is not trained, or how generation differs from the text that it is trained on.

    Attributes:
        message: The index of the message.
        kind: The kind of problem.
        detail: A sentence without the message.
        trained: Whether the message is trained nevertheless.
    """

    message: int
    kind: ProblemKind
    detail: str
    trained: bool = True

    def __str__(self) -> str:
        return f"messages[{self.message}]: {self.detail}" + ("" if self.trained else "; it is not trained")
