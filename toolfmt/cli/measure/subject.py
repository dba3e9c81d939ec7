"""What is measured answers questions: the answer as it is judged, and what a subject has to be able to do.

A chat endpoint, an endpoint of completions and a model in this process are subjects (`endpoints.py`, `in_process.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from toolfmt.cli.measure.plan import Question, ToolChoice
from toolfmt.messages.message import Message

_LONGEST_WHY = 200


class NotAnswered(Exception):
    """A request came to nothing; the message is one line that says why."""


def in_one_line(text: object) -> str:
    """What somebody else says about a failure, in one line of bounded length."""
    line = " ".join(str(text).split())
    return line if len(line) <= _LONGEST_WHY else line[: _LONGEST_WHY - 1] + "…"


class NotReached(NotAnswered):
    """Nobody is there to be asked."""


@dataclass(frozen=True)
class SubjectResponse:
    """What came back.

    `message` holds the calls that a client would execute, and those that toolfmt rejected. `rejections_known` says
    whether toolfmt has read the text. `left_in_text` counts the calls that whoever answered left in the text and that
    toolfmt reads there; None where toolfmt has not read it, or has read all of it itself. `cut` says whether the tokens
    ran out.
    """

    message: Message
    left_in_text: int | None = None
    rejections_known: bool = True
    cut: bool = False


@dataclass(frozen=True)
class Sampling:
    """How answers are drawn: `temperature` None leaves it to whoever answers; `variables` are the template's."""

    temperature: float | None = 0.7
    max_tokens: int = 512
    variables: Mapping[str, Any] = field(default_factory=dict)


class Subject(Protocol):
    """What answers."""

    name: str
    """What it is called in a report."""
    tool_choices: Collection[ToolChoice]
    """What a request to it can say about calling."""

    def ask(self, question: Question, seed: int) -> SubjectResponse:
        """The answer to a question. Raises `NotAnswered`, and nothing that depends on the answer."""
