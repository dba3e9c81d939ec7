"""The cases of `../shared/cases`, if that folder is present: whole and at every cut.

Cases that this design decides differently are in `decided_differently.py`, each with its reason. Such a case must
indeed give a different result, so that the list cannot outlive its reasons.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from decided_differently import DECIDED_DIFFERENTLY
from guarantees import events_of

import toolfmt
from toolfmt.formats import names
from toolfmt.messages.events import ToolCallRejected

CASES = Path(__file__).parents[3] / "shared" / "cases"
pytestmark = pytest.mark.outside
WIRE_NAMES = {
    "hermes-json": "json", "glm-argkv": "glm4", "qwen3-coder-xml": "xml_function", "pythonic": "lfm2",
    "command-r": "command_a", "command-r-plus": "command_r", "deepseek-dsml": "deepseek_dsml",
    "deepseek-r1": "deepseek_v3", "deepseek-v3.1": "deepseek_v31", "firefunction": "phi4",
    "functionary-v3.1": "functionary_v31", "functionary-v3.2": "functionary_v32", "harmony": "gpt_oss",
    "kimi-k2": "kimi_k2", "kimi-k3-xtml": "kimi_k3", "llama3-json": "llama3", "minicpm5-xml": "minicpm5",
    "minimax-m2": "minimax_m2", "minimax-m3": "minimax_m3", "mistral-args": "mistral",
    "mistral-args-callid": "mistral", "mistral-json": "mistral_list", "muse-atem": "atem", "seed-oss": "seed_oss",
    "none": "json",
}  # fmt: skip


def cases(file: str) -> list[Any]:
    if not CASES.is_dir():
        return []
    found = [json.loads(line) for line in (CASES / file).read_text(encoding="utf-8").splitlines()]
    for case in found:
        case["format"] = WIRE_NAMES.get(case["format"], case["format"]).lower()
    return [pytest.param(case, id=case["id"]) for case in found if case["format"] in names()]


def agree(case: Any, expected: Any, actual: Any) -> None:
    if case["id"] in DECIDED_DIFFERENTLY:
        assert actual != expected, f"{case['id']} comes out as expected: take it off the list"
    else:
        assert actual == expected


def every_cut(format: str, text: str, **options: Any) -> Any:
    whole = events_of(format, [text], **options)
    for at in range(len(text)):
        assert events_of(format, [text[:at], text[at:]], **options) == whole
    return whole


@pytest.mark.parametrize("case", cases("outputs.jsonl"))
def test_outputs(case: Any) -> None:
    options = {"tools": case.get("tools"), "prefix": case.get("generation_prompt") or ""}
    events = every_cut(case["format"], case["input"], **options)
    message = toolfmt.parse(case["input"], case["format"], **options)
    calls: list[Any] = [[call.name, json.loads(call.arguments)] for call in message.tool_calls]
    expected = [[call["name"], call["arguments"]] for call in case["expected_tool_calls"]]
    if case["partial"]:
        calls = [[rejected.name, rejected.arguments.strip()] for rejected in message.rejected]
        expected = [[name, arguments.strip()] for name, arguments in expected]
        reasons = [event.reason for event in events if isinstance(event, ToolCallRejected)]
        assert reasons == ["incomplete_output"] * bool(expected)  # what is cut may be content or reasoning
    else:
        expected = [[name, json.loads(arguments)] for name, arguments in expected]
    actual = [(message.content or "").strip(), (message.reasoning or "").strip(), calls]
    expected_message = [
        (case["expected_content"] or "").strip(),
        (case.get("expected_reasoning") or "").strip(),
        expected,
    ]
    agree(case, expected_message, actual)


@pytest.mark.parametrize("case", cases("typed.jsonl"))
def test_typed(case: Any) -> None:
    text = "".join(case["chunks"])
    tools = case["tools"]
    prefix = "<think>" if "primed inside reasoning" in case["note"] and "not primed" not in case["note"] else ""
    whole = every_cut(case["format"], text, tools=tools, prefix=prefix)
    assert events_of(case["format"], case["chunks"], tools=tools, prefix=prefix) == whole
    message = toolfmt.parse(text, case["format"], tools=tools, prefix=prefix)
    calls = []
    for call, expected_call in zip(message.tool_calls, case["expected_calls"], strict=False):
        id = {"id": call.id} if "id" in expected_call else {}
        calls.append({"name": call.name, "arguments": json.loads(call.arguments)} | id)
    assert len({call.id for call in message.tool_calls}) == len(message.tool_calls)
    calls += [{"name": call.name} for call in message.tool_calls[len(calls) :]]
    reasons = [rejected.reason for rejected in message.rejected]
    expected_reasons = [rejected["reason"] for rejected in case["expected_rejected"]]
    # A parser-level case asserts calls only: what its runtime does with text is not in it.
    text_counts = case["level"] in ("processor", "router", "tokens")
    actual = [calls, reasons, (message.content or "").strip() if text_counts else ""]
    agree(case, [case["expected_calls"], expected_reasons, case["expected_text"].strip()], actual)


def test_every_decision_is_about_a_case() -> None:
    known = {param.values[0]["id"] for file in ("outputs.jsonl", "typed.jsonl") for param in cases(file)}
    assert set(DECIDED_DIFFERENTLY) <= known
