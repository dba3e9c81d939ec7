"""Conversations as they are passed to templates: whatever is rewritten, nothing of a request is lost."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import depth
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import toolfmt
from toolfmt.inspect.report.template_profile import TemplateProfile
from toolfmt.messages.tools import canonical_tools
from toolfmt.render.adapt.adaptations import adapt, writes_calls
from toolfmt.render.adapt.remedies import REMEDIES, ids_shortened, plans, results_named
from toolfmt.render.compiled_template import taught_format

MODELS = Path(__file__).parents[2] / "corpus" / "models"
TOOL = canonical_tools([{"name": "find", "parameters": {"properties": {"words": {"type": "string"}}}}])[0]
WORD = re.compile(r"word[0-9]+")


@cache
def profiles() -> dict[str, TemplateProfile]:
    """The reports on the model directories whose template is read."""
    models = {path.parent.name: toolfmt.load(path.parent) for path in sorted(MODELS.glob("*/request.json"))}
    return {name: model.profile for name, model in models.items() if model.broken is None}


@st.composite
def conversations(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Conversations in which every text, argument and result is a unique word."""
    count = 0

    def word() -> str:
        nonlocal count
        count += 1
        return f"word{count}"

    messages: list[dict[str, Any]] = [{"role": "system", "content": word()}] if draw(st.booleans()) else []
    for _ in range(draw(st.integers(1, 3))):
        messages.append({"role": "user", "content": word()})
        ids = [f"call{count:03}{at}" for at in range(draw(st.integers(0, 3)))]
        content = draw(st.sampled_from(("text", "empty", "null")))
        turn: dict[str, Any] = {"role": "assistant", "content": {"text": word(), "empty": "", "null": None}[content]}
        if not ids:
            turn["content"] = word()
        elif draw(st.booleans()):
            turn["reasoning_content"] = word()
        if ids:
            turn["tool_calls"] = [
                {"id": id, "type": "function", "function": {"name": "find", "arguments": {"words": word()}}}
                for id in ids
            ]
        messages.append(turn)
        stranger = draw(st.booleans())
        answered = list(draw(st.permutations(ids + ["of-no-call"] * (stranger and bool(ids)))))
        answered = answered[: draw(st.integers(0, len(answered)))]
        messages.extend({"role": "tool", "tool_call_id": id, "content": word()} for id in answered)
    messages.append({"role": "user", "content": word()})
    return messages


def words(messages: object) -> set[str]:
    return set(WORD.findall(json.dumps(messages)))


@pytest.mark.sample(0)
@settings(max_examples=depth.examples(40))
@given(conversations())
def test_no_text_call_or_result_is_lost(messages: list[dict[str, Any]]) -> None:
    for name, profile in depth.some([*profiles().items()], 3):
        format, reads_none = taught_format(profile), not writes_calls(profile)
        for in_words, system_text in ((reads_none, ""), (True, "wordless")):
            for plan in (frozenset[str](), *list(plans(messages, 200))[:: 1 if depth.every else 31]):
                adapted, done = adapt(
                    messages,
                    profile,
                    format=format,
                    calls_in_words=in_words,
                    results_in_words=in_words and bool(system_text),
                    tools=[TOOL],
                    system_text=system_text,
                    plan=plan,
                )
                assert words(messages) <= words(adapted), (name, plan, done)


@settings(max_examples=depth.examples(60))
@given(conversations())
def test_names_and_ids_lose_nothing_and_change_no_turn(messages: list[dict[str, Any]]) -> None:
    both = ids_shortened(results_named(messages))
    assert words(both) == words(messages)
    assert [turn["role"] for turn in both] == [turn["role"] for turn in messages]
    results = [turn for turn in messages if turn["role"] == "tool" and turn["tool_call_id"] != "of-no-call"]
    answered = [turn for turn in both if turn.get("name")]
    assert [turn["content"] for turn in answered] == [turn["content"] for turn in results]
    assert all(re.fullmatch(r"call\d{5}", turn["tool_call_id"]) for turn in answered)


@settings(max_examples=depth.examples(60))
@given(conversations())
def test_plans_come_once_each_the_cheapest_first(messages: list[dict[str, Any]]) -> None:
    cost = {remedy.name: remedy.cost for remedy in REMEDIES}
    tried = list(plans(messages, 1000))
    assert len(set(tried)) == len(tried)
    costs = [sum(cost[name] for name in plan) for plan in tried if "calls-as-content" not in plan]
    assert costs == sorted(costs)
    assert ("later-system-in-user-message" in {name for plan in tried for name in plan}) == any(
        message["role"] == "system" for message in messages[1:]
    )


def test_results_of_no_call_stay_where_calls_are_split() -> None:
    """A template that accepts one call per turn: each call with its result, then other messages."""
    profile = next(profile for profile in profiles().values() if not profile.takes_parallel_calls)
    call = {"type": "function", "function": {"name": "find", "arguments": {"words": "word1"}}}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "word2"},
        {"role": "assistant", "content": "", "tool_calls": [{**call, "id": "a"}, {**call, "id": "b"}]},
        {"role": "tool", "tool_call_id": "c", "content": "word3"},
        {"role": "tool", "tool_call_id": "b", "content": "word4"},
        {"role": "tool", "tool_call_id": "a", "content": "word5"},
    ]
    adapted, done = adapt(messages, profile, format=taught_format(profile))
    assert "parallel-calls-split" in done
    order = WORD.findall(json.dumps([turn.get("content") for turn in adapted]))
    assert order == ["word2", "word5", "word4", "word3"]
