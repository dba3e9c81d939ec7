"""The interface of what is measured: a subject responds to questions.

Chat endpoints, completions endpoints and models in this process are subjects (`endpoints.py`, `in_process.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from toolfmt.cli.measure.plan import GrammarChoice, Question, ToolChoice
from toolfmt.messages.message import Message

_LONGEST_WHY = 200


class NotAnswered(Exception):
    """A request failed. The message is one line with the reason."""


def in_one_line(text: object) -> str:
    """Return an external error message as one line of bounded length."""
    line = " ".join(str(text).split())
    return line if len(line) <= _LONGEST_WHY else line[: _LONGEST_WHY - 1] + "…"


class NotReached(NotAnswered):
    """The subject cannot be reached."""


@dataclass(frozen=True)
class SubjectResponse:
    """A response.

    `message` has the calls that a client would execute and those that toolfmt rejected. `rejections_known` is whether
    toolfmt parsed the text. `left_in_text` counts the calls that the server left in the text and that toolfmt can
    parse; None if toolfmt did not parse the text, or parsed all of it itself. `cut` is whether the token limit was
    reached.
    """

    message: Message
    left_in_text: int | None = None
    rejections_known: bool = True
    cut: bool = False


@dataclass(frozen=True)
class Sampling:
    """Sampling settings. `temperature` None uses the default of the subject. `variables` are the template's."""

    temperature: float | None = 0.7
    max_tokens: int = 512
    variables: Mapping[str, Any] = field(default_factory=dict)


class Subject(Protocol):
    """A model to measure."""

    name: str
    """Its name in a report."""
    tool_choices: Collection[ToolChoice]
    """The values of `tool_choice` that a request to it can have."""
    grammars: Collection[GrammarChoice]
    """The grammars that can constrain its responses."""

    def ask(self, question: Question, seed: int) -> SubjectResponse:
        """Return the response to a question. Raises `NotAnswered`, but never because of the response's content."""
