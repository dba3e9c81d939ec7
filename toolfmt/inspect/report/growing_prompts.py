"""Data on a growing conversation: what a prefix cache keeps, and what each response starts with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from toolfmt._util.text_lists import listed
from toolfmt.inspect.report.json_record import JsonRecord

Turn: TypeAlias = Literal["question", "question without tools", "result", "results", "later question"]
"""What comes before a turn of the model.

The first question, with tools or without; one result; several results; a later question.
"""
Cause: TypeAlias = Literal[
    "",
    "generation-prompt",
    "ending",
    "reasoning-dropped",
    "block-dropped",
    "tools-moved",
    "tools-dropped",
    "system-moved",
    "system-dropped",
    "message-dropped",
    "copy-dropped",
    "call-changed",
    "answer-changed",
    "result-changed",
    "blanks",
    "other",
]
"""Why the prompt of a turn does not continue the previous one; empty if it does."""


@dataclass(frozen=True)
class PrefixStep(JsonRecord):
    """One step of a growing conversation.

    The first `kept` of the `length` characters of the prompt before it are also in the prompt after it. If these are
    not all, `was` and `becomes` are the different continuations, `cause` is the reason, and `line` is the deciding
    statement.
    """

    name: str
    kept: int
    length: int
    was: str = ""
    becomes: str = ""
    line: int | None = None
    cause: Cause = ""


@dataclass(frozen=True)
class PrefixCondition:
    """A condition under which a prefix cache keeps another share.

    It consists of the values of the template's variables, whether the client sends reasoning back (None if that makes
    no difference), and whether it sends tools. `broken` is the first step that breaks the prefix.
    """

    variables: tuple[tuple[str, bool], ...]
    reasoning: bool | None
    share: float
    broken: PrefixStep | None = None
    tools: bool = True

    def describe(self) -> str:
        """Return the condition as a phrase, as after "except" in a sentence."""
        given = [f"{name}={str(value).lower()}" for name, value in self.variables]
        if self.reasoning is not None:
            given.append("earlier reasoning is sent" if self.reasoning else "no earlier reasoning is sent")
        when = [] if self.tools else ["no tools are sent"]
        return f"if {listed([*when, *given])}"

    def to_dict(self) -> dict[str, Any]:
        return {
            "variables": dict(self.variables),
            "reasoning": self.reasoning,
            "tools": self.tools,
            "share": round(self.share, 4),
            "turn": None if self.broken is None else self.broken.to_dict(),
        }


@dataclass(frozen=True)
class Stability:
    """Whether the prompt of each turn is a prefix of the next one; `share` is what a prefix cache can keep, 0 to 1."""

    turns: tuple[PrefixStep, ...]
    share: float
    tick: Literal["", "second", "minute"] = ""
    """The interval after which the same messages render differently because of the clock.

    A finding reports it, so it is not in the JSON.
    """
    conditions: tuple[PrefixCondition, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {
            "share": round(self.share, 4),
            "turns": [turn.to_dict() for turn in self.turns],
            "conditions": [condition.to_dict() for condition in self.conditions],
        }


@dataclass(frozen=True)
class ResponseStart:
    """The part of the response that the prompt already contains.

    For one kind of turn of the model, and these values of the template's variables.
    """

    turn: Turn
    variables: tuple[tuple[str, bool], ...]
    prefix: str

    def to_dict(self) -> dict[str, Any]:
        return {"turn": self.turn, "variables": dict(self.variables), "prefix": self.prefix}


def starts_vary(starts: Sequence[ResponseStart]) -> bool:
    """Return whether the start of a response depends on the turn, with default values of all variables."""
    return len({start.prefix for start in starts if not start.variables}) > 1
