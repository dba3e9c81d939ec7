"""What a report states of a conversation that grows: what a prefix cache keeps, and what each response starts with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from toolfmt._util.text_lists import listed
from toolfmt.inspect.report.json_record import JsonRecord

Turn: TypeAlias = Literal["question", "question without tools", "result", "results", "later question"]
"""What comes before a turn of the model: the first question, with tools or without; one result; several results; a
later question."""
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
"""Why the prompt of a turn does not go on as the one before; empty where it does."""


@dataclass(frozen=True)
class PrefixStep(JsonRecord):
    """One step of a growing conversation: of the `length` characters of the prompt before it, the first `kept` are
    those of the prompt after it. Where these are not all, `was` and `becomes` are how the two go on, `cause` says what
    the template did, and `line` is the statement that did it.
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
    """A condition under which a prefix cache keeps another share: the values of the template's variables, whether
    the client sends reasoning back (None if that makes no difference), and whether it sends tools; plus the first step
    that breaks the prefix.
    """

    variables: tuple[tuple[str, bool], ...]
    reasoning: bool | None
    share: float
    broken: PrefixStep | None = None
    tools: bool = True

    def describe(self) -> str:
        """The condition in words, as after "except" in a sentence."""
        given = [f"{name}={str(value).lower()}" for name, value in self.variables]
        if self.reasoning is not None:
            given.append(f"reasoning that is {'' if self.reasoning else 'not '}sent back")
        when = [] if self.tools else ["if no tools are sent"]
        return ", ".join([*when, *([f"with {listed(given)}"] if given else [])])

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
    """Whether the prompt of a turn is a prefix of the next one's; `share` is what a prefix cache can keep, 0 to 1."""

    turns: tuple[PrefixStep, ...]
    share: float
    tick: Literal["", "second", "minute"] = ""
    """After what the prompt of the same messages is another one, by the clock; not part of the JSON, as a finding
    reports it."""
    conditions: tuple[PrefixCondition, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {
            "share": round(self.share, 4),
            "turns": [turn.to_dict() for turn in self.turns],
            "conditions": [condition.to_dict() for condition in self.conditions],
        }


@dataclass(frozen=True)
class ResponseStart:
    """What of the response the prompt already contains before one kind of turn of the model, if the template's
    variables have these values.
    """

    turn: Turn
    variables: tuple[tuple[str, bool], ...]
    prefix: str

    def to_dict(self) -> dict[str, Any]:
        return {"turn": self.turn, "variables": dict(self.variables), "prefix": self.prefix}


def starts_vary(starts: Sequence[ResponseStart]) -> bool:
    """Whether the start of a response depends on the turn, with the usual values of the template's variables."""
    return len({start.prefix for start in starts if not start.variables}) > 1
