"""What a model is asked, as data: `scenarios.json` beside this module.

Every scenario is asked with the same tools, so that there is always one to choose. Its question comes in wordings: the
`direct` one asks for the tool by its name, the `neutral` one states a need and names no tool; a scenario of the wording
`no-tool` has a question that no tool helps with. A scenario with calls tells what the right ones return, in their
order, and the facts in that which an answer has to hold; they stand nowhere else.
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
    """A question in its wordings, the calls that answer it, what these return, and what of that has to be told."""

    name: str
    questions: dict[Wording, str]
    calls: tuple[dict[str, Any], ...] = ()
    results: tuple[Any, ...] = ()
    facts: tuple[str, ...] = ()

    @property
    def tools(self) -> frozenset[str]:
        """The names of the tools that are to be called."""
        return frozenset(call["name"] for call in self.calls)

    def asked(self, wording: Wording) -> list[dict[str, Any]]:
        """The conversation that begins with the question."""
        return [{"role": "user", "content": self.questions[wording]}]

    def answered(self, wording: Wording) -> list[dict[str, Any]]:
        """The conversation once the right calls were made and have returned, in the shape of chat endpoints."""
        calls = [
            {"id": _id(number), "type": "function", "function": {**call, "arguments": json.dumps(call["arguments"])}}
            for number, call in enumerate(self.calls)
        ]
        results = [
            {"role": "tool", "tool_call_id": _id(number), "content": json.dumps(result, ensure_ascii=False)}
            for number, result in enumerate(self.results)
        ]
        return [*self.asked(wording), {"role": "assistant", "content": None, "tool_calls": calls}, *results]


def _id(number: int) -> str:
    return f"call{number:05}"  # nine letters and digits: Mistral's templates take no other ids


@cache
def _read() -> dict[str, Any]:
    text = resources.files("toolfmt.cli.measure").joinpath("scenarios.json").read_text("utf-8")
    read: dict[str, Any] = json.loads(text)
    return read


def tools() -> list[dict[str, Any]]:
    """The definitions of the tools that go with every question."""
    listed: list[dict[str, Any]] = _read()["tools"]
    return listed


def scenarios() -> tuple[Scenario, ...]:
    """All scenarios, in their order."""
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
    """The scenarios of these names, all of them without names; raises `ToolfmtError` for one that there is not."""
    known = {one.name: one for one in scenarios()}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ToolfmtError(f"no scenario is called {unknown[0]!r}; scenarios: {', '.join(known)}")
    return tuple(one for one in known.values() if not names or one.name in names)
