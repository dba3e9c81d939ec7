"""Measure how much of each prompt of a long tool conversation is a prefix of the next, compared with transformers.

`python -m benchmarks.delivery --turns` calls `report`. The conversation repeats ten times: a question, a call with
reasoning, its result, a response with reasoning. A prompt is rendered for every turn of the model, twenty in total. The
first figure is the share of a prompt's characters that the next prompt begins with. The second is the same for the
prompt and the text that the model has added, which a cache contains. That text is written as the model's family writes
it: without the part that the prompt has started, the reasoning if the template shows any, and the call as
`Model.write` returns it or the response. The last row is a `toolfmt.Conversation`, whose prompts are built on the
model's own text wherever possible.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from multiprocessing import get_context
from statistics import mean, median
from typing import Any

import toolfmt
from benchmarks.conversations import TOOLS, Conversation, Message, Words, answer, call, calling, result, system, user
from benchmarks.real_templates import Template
from benchmarks.template_models import NOW, model_of, rendered_by_transformers
from toolfmt.errors import ToolfmtError
from toolfmt.inspect.probe.differences import common_prefix
from toolfmt.model.model import Model

TURNS = 10


def steps() -> Iterator[tuple[Conversation, Message]]:
    """The messages before each of the model's turns, and the turn."""
    words = Words()
    messages: Conversation = [system("Be brief.")]
    for number in range(1, TURNS + 1):
        messages = [*messages, user(sentence(words, "user"))]
        turn = calling(call(words, number), content="", reasoning_content=sentence(words, "thought"))
        yield messages, turn
        messages = [*messages, turn, result(sentence(words, "result"), number)]
        turn = answer(sentence(words, "answer"), reasoning_content=sentence(words, "thought"))
        yield messages, turn
        messages = [*messages, turn]


def sentence(words: Words, kind: str) -> str:
    return " ".join(words(kind) for _ in range(8)) + "."


@dataclass(frozen=True)
class Shares:
    """For one template: the shares that the next prompt begins with, or why there are no prompts."""

    template: str
    toolfmt: list[float] | str
    transformers: list[float] | str
    toolfmt_with_answers: list[float] | str
    transformers_with_answers: list[float] | str
    replayed: list[float] | str


def shares(template: Template) -> Shares:
    model = model_of(template.source)

    def ours(messages: Conversation) -> str:
        return model.render(messages, TOOLS, now=NOW).text

    def theirs(messages: Conversation) -> str:
        return rendered_by_transformers(template.source, messages, TOOLS)

    def written_turn(messages: Conversation, turn: Message) -> str:
        return written(model, model.render(messages, TOOLS, now=NOW).prefill, turn)

    def nothing(messages: Conversation, turn: Message) -> str:
        return ""

    return Shares(
        template.name,
        toolfmt=_measured(ours, nothing),
        transformers=_measured(theirs, nothing),
        toolfmt_with_answers=_measured(ours, written_turn),
        transformers_with_answers=_measured(theirs, written_turn),
        replayed=_replayed(model),
    )


def _replayed(model: Model) -> list[float] | str:
    """The same with prompts that are built on what the model wrote."""
    talk = toolfmt.Conversation(model, tools=TOOLS, now=NOW)
    found = []
    try:
        histories = [messages for messages, _ in steps()]
        for (messages, turn), before in zip(steps(), [[], *histories], strict=False):
            for message in messages[len(before) :]:
                if message["role"] == "tool":
                    talk.result(talk.messages[-1]["tool_calls"][0]["id"], message["content"])
                elif message["role"] != "assistant":
                    talk.add(message)
            made = talk.prompt(raw=True)
            if made.computed:
                found.append(made.stable_prefix / len(made.computed))
            talk.answered(written(model, made.prompt.prefill, turn))
    except (ToolfmtError, LookupError) as error:
        return f"{type(error).__name__}: {error}".splitlines()[0]
    return found


def written(model: Model, prefill: str, turn: Message) -> str:
    """The turn as the model may write it after a prompt that has started it."""
    text = str(turn.get("content") or "")
    calls = [(made["function"]["name"], made["function"]["arguments"]) for made in turn.get("tool_calls", ())]
    if calls:
        text = model.write(calls, TOOLS) if model.profile.format else text
    if model.profile.reasoning is None:
        return text
    opener, closer = model.profile.reasoning
    start = "" if prefill.lstrip().startswith(opener.strip()) else opener
    return f"{start}{turn['reasoning_content']}{closer}{text}"


def _measured(render: Callable[[Conversation], str], more: Callable[[Conversation, Message], str]) -> list[float] | str:
    try:
        made = [(render(messages), more(messages, turn)) for messages, turn in steps()]
    except Exception as error:  # noqa: BLE001  any type of error a template raises
        return f"{type(error).__name__}: {error}".splitlines()[0]
    pairs = [(before + added, after) for (before, added), (after, _) in pairwise(made)]
    return [common_prefix(before, after) / max(1, len(before)) for before, after in pairs]


def report(templates: Sequence[Template], processes: int) -> None:
    if processes == 1:
        rows = [shares(template) for template in templates]
    else:
        with get_context("spawn").Pool(processes) as pool:
            rows = list(pool.imap(shares, templates, chunksize=4))
    print(f"{len(rows)} templates, {TURNS} turns, {2 * TURNS} prompts: share of each prompt that the next begins with")
    both = [row for row in rows if not isinstance(row.transformers, str) and not isinstance(row.toolfmt, str)]
    columns: dict[str, list[Any]] = {
        "toolfmt, all it renders": [row.toolfmt for row in rows],
        "toolfmt, if both render": [row.toolfmt for row in both],
        "transformers": [row.transformers for row in both],
        "toolfmt, with the model's text": [row.toolfmt_with_answers for row in both],
        "transformers, with the model's text": [row.transformers_with_answers for row in both],
        "toolfmt, replayed": [row.replayed for row in both],
    }
    heads = ("templates", "raise", "all whole", "mean", "median", "after calls", "responses")
    print(f"{'':36}" + "".join(f"{head:>12}" for head in heads))
    for name, values in columns.items():
        rendered = [value for value in values if not isinstance(value, str)]
        if not rendered:
            continue
        counts = (len(rendered), len(values) - len(rendered), sum(min(value) == 1 for value in rendered))
        means = [mean(value) for value in rendered]
        calls, answers = (mean(mean(value[at::2]) for value in rendered) for at in (0, 1))
        print(f"{name:36}" + "".join(f"{number:>12}" for number in counts), end="")
        print("".join(f"{100 * share:>11.1f}%" for share in (mean(means), median(means), calls, answers)))
    least = sorted((mean(row.toolfmt), row.template) for row in rows if not isinstance(row.toolfmt, str))[:10]
    print("smallest shares with toolfmt:", ", ".join(f"{name} {100 * share:.0f}%" for share, name in least))
    for row in [row for row in rows if isinstance(row.toolfmt, str)][:10]:
        print(f"raised: {row.template}: {row.toolfmt}")
