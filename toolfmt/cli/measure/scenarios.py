"""The questions as data, from `scenarios.json` next to this module.

Every scenario has the same tools, so that the model always has to choose. Its question has several wordings: `direct`
names the tool, `neutral` describes a need without naming a tool, and `no-tool` is a question that no tool helps with. A
scenario with calls has the results of the right calls, in order, and the facts in them that a response must contain.
These facts occur nowhere else.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Literal, TypeAlias

from toolfmt.errors import ToolfmtError

Wording: TypeAlias = Literal["direct", "neutral", "no-tool"]
WORDINGS: tuple[Wording, ...] = ("direct", "neutral", "no-tool")


@dataclass(frozen=True)
class Scenario:
    """A question in its wordings, the right calls, their results, and the facts that a response must contain."""

    name: str
    questions: dict[Wording, str]
    calls: tuple[dict[str, Any], ...] = ()
    results: tuple[Any, ...] = ()
    facts: tuple[str, ...] = ()

    @property
    def tools(self) -> frozenset[str]:
        """The names of the tools to call."""
        return frozenset(call["name"] for call in self.calls)

    def question_messages(self, wording: Wording) -> list[dict[str, Any]]:
        """Return the conversation that begins with the question."""
        return [{"role": "user", "content": self.questions[wording]}]

    def answered(self, wording: Wording) -> list[dict[str, Any]]:
        """Return the conversation after the right calls and their results, in the format of chat endpoints."""
        calls = [
            {"id": _id(number), "type": "function", "function": {**call, "arguments": json.dumps(call["arguments"])}}
            for number, call in enumerate(self.calls)
        ]
        results = [
            {"role": "tool", "tool_call_id": _id(number), "content": json.dumps(result, ensure_ascii=False)}
            for number, result in enumerate(self.results)
        ]
        return [*self.question_messages(wording), {"role": "assistant", "content": None, "tool_calls": calls}, *results]


def _id(number: int) -> str:
    return f"call{number:05}"  # nine letters and digits: Mistral's templates accept no other ids


@cache
def _read() -> dict[str, Any]:
    text = resources.files("toolfmt.cli.measure").joinpath("scenarios.json").read_text("utf-8")
    read: dict[str, Any] = json.loads(text)
    return read


def tools() -> list[dict[str, Any]]:
    """Return the definitions of the tools of every question."""
    listed: list[dict[str, Any]] = _read()["tools"]
    return listed


def scenarios() -> tuple[Scenario, ...]:
    """Return all scenarios, in order."""
    return tuple(
        Scenario(
            one["name"],
            {wording: one[wording] for wording in WORDINGS if wording in one},
            tuple(one.get("calls", ())),
            tuple(one.get("results", ())),
            tuple(one.get("facts", ())),
        )
        for one in _read()["scenarios"]
    )


def named(names: tuple[str, ...]) -> tuple[Scenario, ...]:
    """Return the scenarios of these names, or all. Raises `ToolfmtError` for an unknown name."""
    known = {one.name: one for one in scenarios()}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ToolfmtError(f"no scenario is called {unknown[0]!r}; scenarios: {', '.join(known)}")
    return tuple(one for one in known.values() if not names or one.name in names)
