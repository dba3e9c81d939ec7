"""Formats written as `response_template`s and read by transformers' own parser, which needs no torch."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from response_templates import every_format
from small_tokenizers import by_bytes
from transformers import PreTrainedTokenizerFast
from transformers.utils.chat_parsing import parse_response

import toolfmt
from toolfmt.errors import NoResponseTemplate, UnknownFormat
from toolfmt.formats import FORMATS, ToolCallFormat
from toolfmt.formats.response_template.writer import template_of
from toolfmt.integrations import verified_templates
from toolfmt.integrations.transformers import LIMITS, limits, response_template
from toolfmt.integrations.verified_templates import TOOLS, OutputCase, misread, plain_cases

STOP = "<|the_end|>"
REASONS = (
    "the tool's name is a key of the object with its arguments",
    "several calls are in one block, without a start marker for each",
    "a call has no start marker other than its name or its JSON",
    "arguments are neither JSON nor flat tags",
)


@pytest.mark.parametrize("format", list(every_format()))
def test_a_format_has_a_verified_template_or_a_reason_why_not(format: ToolCallFormat) -> None:
    try:
        template = response_template(format, stop=[STOP])
    except NoResponseTemplate as error:
        assert str(error) in [f"{format.name} has no response_template: {reason}" for reason in REASONS]
        return
    assert json.loads(json.dumps(template)) == template
    cases = list(plain_cases(format, [STOP]))
    assert len(cases) > 12  # nearly all cases can be written
    assert {case.name: misread(template, case) for case in cases} == {case.name: "" for case in cases}


def has_template(format: ToolCallFormat) -> bool:
    try:
        return bool(response_template(format))
    except NoResponseTemplate:
        return False


@pytest.mark.sample(0)
def test_at_least_as_many_formats_have_a_template_as_documented() -> None:
    page = (Path(__file__).parents[3] / "docs" / "runtimes.md").read_text("utf-8")
    figures = re.search(r"toolfmt writes one for (\d+) of\s+its (\d+) formats", page)
    assert figures is not None
    assert sum(map(has_template, FORMATS)) >= int(figures[1])  # a new format adds to it


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("json", "closer_behind_bracket quoted_call string_or_number cut_answer"),
        ("qwen3_5", "quoted_call untyped_values cut_answer"),
        ("glm4", "closer_in_value closer_behind_bracket quoted_call untyped_values cut_answer"),
        ("gemma", "closer_in_value closer_behind_bracket quoted_call null odd_keys string_or_number cut_answer"),
        ("command_a", "closer_behind_bracket quoted_call second_frame string_or_number cut_answer"),
        ("inkling", "closer_behind_bracket opener_in_text quoted_call string_or_number cut_answer"),
    ],
)
def test_limits_of_a_template_are_reported_by_name(name: str, expected: str) -> None:
    template = response_template(name, stop=[STOP])
    assert limits(name, template, stop=[STOP]) == tuple(expected.split())


def test_every_limit_applies_to_a_format() -> None:
    names = ("json", "glm4", "gemma", "command_a", "inkling")
    met = {limit for name in names for limit in limits(name, response_template(name))}
    assert met == set(LIMITS)


def test_a_template_that_transformers_misreads_is_rejected_with_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(*given: Any, **options: Any) -> dict[str, Any]:
        template = right(*given, **options)
        template["fields"]["tool_calls"]["close_pattern"] = "</x>"
        return template

    right = template_of
    monkeypatch.setattr(verified_templates, "template_of", wrong)
    with pytest.raises(NoResponseTemplate, match=r"transformers reads a call as an error \(ValueError\)"):
        response_template("json")


def test_a_template_that_reads_differently_while_it_streams_is_misread() -> None:
    """The lookahead ends the call at a `}` without another `}` after it, but a later chunk may contain one."""
    template = response_template("mistral")
    case = OutputCase("a call", toolfmt.write("mistral", calls := [("f", {"text": "{x} y"})]), calls=calls)
    assert misread(template, case) == ""
    template["fields"]["tool_calls"]["close_pattern"] = r"(?<=\})(?!.*\})"
    assert parsed_arguments(case.answer, template) == {"text": "{x} y"}
    assert misread(template, case) == "an error (ValueError)"


def parsed_arguments(text: str, template: dict[str, Any]) -> Any:
    return parse_response(text, template, prefix="")["tool_calls"][0]["function"]["arguments"]


def test_the_types_of_arguments_are_compared() -> None:
    template = response_template("json")

    def read(arguments: dict[str, Any], written: str) -> str:
        answer = f'<tool_call>{{"name": "f", "arguments": {written}}}</tool_call>'
        return misread(template, OutputCase("a call", answer, calls=[("f", arguments)]))

    assert read({"count": 1}, '{"count": 1}') == ""
    assert read({"count": 1}, '{"count": true}') == '["", "", ["[\\"f\\", {\\"count\\": true}]"]]'
    assert read({"count": 1}, '{"count": 1.0}') != ""


def test_content_before_and_after_a_call_is_kept() -> None:
    template = response_template("json", stop=["<|im_end|>", "<|endoftext|>"])
    call = toolfmt.write("json", [("f", {"text": "x"})])
    response = parse_response(
        f"Before.\n\n{call}\nBehind.\n<|im_end|>\n<|endoftext|>", template, prefix="", tools=[*TOOLS]
    )
    made = {"type": "function", "function": {"name": "f", "arguments": {"text": "x"}}}
    assert response == {"role": "assistant", "content": "Before.\nBehind.", "tool_calls": [made]}


@pytest.mark.parametrize("anchor", [None, "<|im_start|>assistant\n", ["<|im_start|>assistant\n", "</tool_response>"]])
def test_a_prompt_that_opens_the_reasoning_is_parsed_from_its_last_header(anchor: Any) -> None:
    template = response_template("json", start_anchor=anchor, stop=["<|im_end|>"])
    earlier = "<|im_start|>assistant\n<think>old</think>Old.<|im_end|>\n<|im_start|>user\nQ<|im_end|>\n"
    prompt = earlier + "<|im_start|>assistant\n<think>\n"
    response = parse_response("New.\n</think>\n\nYes.<|im_end|>", template, prefix=prompt)
    assert response == {"role": "assistant", "reasoning_content": "New.", "content": "Yes."}


def test_a_tokenizer_saves_it_and_parses_with_it(tmp_path: Path) -> None:
    tokenizer: Any = PreTrainedTokenizerFast(tokenizer_object=by_bytes(), eos_token="<|im_end|>")  # type: ignore[no-untyped-call]  # theirs
    tokenizer.response_template = response_template("qwen3_5", stop=["<|im_end|>"])
    tokenizer.save_pretrained(tmp_path)
    loaded: Any = PreTrainedTokenizerFast.from_pretrained(tmp_path)
    answer = toolfmt.write("qwen3_5", [("f", {"text": "5", "count": 5})], TOOLS) + "<|im_end|>"
    response = loaded.parse_response(tokenizer.encode(answer), prefix="", tools=TOOLS)
    assert [call["function"] for call in response["tool_calls"]] == [
        {"name": "f", "arguments": {"text": "5", "count": 5}}
    ]


def test_an_unknown_format_is_rejected() -> None:
    with pytest.raises(UnknownFormat):
        response_template("no such format")
