"""Shared by the tests and a benchmark of recorded outputs: the cases of `../shared/cases`, read and compared.

Nothing here is specific to this design: the cases are other programs' and real models'. Each list is empty if that
folder is not next to the checkout.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import toolfmt
from toolfmt.messages.message import Message

CASES = Path(__file__).parents[3] / "shared" / "cases"


def cases(file: str) -> list[Any]:
    """The cases of one of the files."""
    if not (CASES / file).is_file():
        return []
    return [json.loads(line) for line in (CASES / file).read_text(encoding="utf-8").splitlines()]


def read(case: Any, text: str = "output") -> Message:
    """A case's output, read in its format with its tools."""
    return toolfmt.parse(case[text], case["format"], tools=case["tools"], prefix=case.get("prefix", ""))


def calls_of(message: Message) -> list[Any]:
    return [{"name": call.name, "arguments": json.loads(call.arguments)} for call in message.tool_calls]


def without_whitespace(text: str | None) -> str:
    return "".join((text or "").split())


def server_outcome(case: Any, message: Message) -> tuple[Any, Any]:
    """The expectation of a case of the server, and the result; what it leaves open (null) is left out of both."""
    expectations = case["expect"]
    expected: list[Any] = []
    actual: list[Any] = []
    for key, text in (("content", message.content), ("reasoning", message.reasoning)):
        if expectations[key] is not None:
            expected.append(without_whitespace(expectations[key]))
            actual.append(without_whitespace(text))
    if expectations["calls"] is not None:
        calls = calls_of(message)
        for call, asserted in zip(calls, expectations["calls"], strict=False):
            call.update({key: None for key, value in asserted.items() if value is None})
        expected.append(expectations["calls"])
        actual.append(calls)
    return expected, actual


def went(case: Any, message: Message) -> str:
    """The outcome of an output whose calls are known, in a word or two."""
    calls, known = calls_of(message), case["calls"]
    if calls == known:
        return "read"
    if message.rejected:
        return "rejected, " + message.rejected[0].reason
    if not calls:
        return "content"
    if [call["name"] for call in calls] == [call["name"] for call in known]:
        return "other arguments"
    return "fewer calls" if len(calls) < len(known) else "other calls"
