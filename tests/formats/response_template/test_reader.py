"""Formats that models declare in a `response_template`: those of real models, and templates of a new format."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import guarantees
import pytest
from declared_templates import NAMED, OWN, REAL, THINK, WHOLE, declared
from hypothesis import given
from hypothesis import strategies as st
from inspection_templates import TEMPLATE, codes, directory
from response_templates import every_format
from transformers.utils.chat_parsing import parse_response

import toolfmt
from toolfmt._util.regular_expressions import UnsupportedPattern
from toolfmt.errors import NoResponseTemplate
from toolfmt.formats import Call, ToolCallFormat, get
from toolfmt.formats.response_template.reader import declared_formats, from_response_template
from toolfmt.formats.response_template.regex import Matcher, Steps, read_pattern
from toolfmt.formats.response_template.writer import template_of
from toolfmt.integrations.verified_templates import TOOLS, plain_cases
from toolfmt.messages.events import ToolCallEnd

CALLS: list[Call] = [("f", {"text": "Paris </x> and {so on}", "count": 3}), ("get_it", {}), ("f", {"other": "a\n  b"})]


def compared(message: toolfmt.Message) -> dict[str, Any]:
    """A message as transformers returns it."""
    calls = [{"name": call.name, "arguments": json.loads(call.arguments)} for call in message.tool_calls]
    texts = {"content": (message.content or "").strip(), "thinking": (message.reasoning or "").strip()}
    return {name: text for name, text in texts.items() if text} | ({"calls": calls} if calls else {})


def by_transformers(text: str, template: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    response = parse_response(text, template, prefix=prefix, tools=[*TOOLS])
    texts = {
        "content": response.get("content"),
        "thinking": response.get("thinking", response.get("reasoning_content")),
    }
    calls = [call["function"] for call in response.get("tool_calls", [])]
    return {name: text for name, text in texts.items() if text} | ({"calls": calls} if calls else {})


@pytest.mark.parametrize("model", REAL)
def test_templates_of_real_models_declare_the_format_that_they_use(model: str) -> None:
    name, template = REAL[model]
    format = from_response_template(template)
    assert format.name == name
    assert declared_formats(template)[0] == get(name)
    for case in plain_cases(get(name)):
        read = compared(toolfmt.parse(case.answer, format, tools=TOOLS))
        expected = {"content": case.content, "thinking": case.reasoning}
        calls = [{"name": called, "arguments": given} for called, given in case.calls]
        assert read == {key: text for key, text in expected.items() if text} | ({"calls": calls} if calls else {})


ANSWERS = {
    "Cohere Command A": "<|START_THINKING|>Hm.<|END_THINKING|><|START_RESPONSE|>Hi.<|END_RESPONSE|>",
    "ERNIE 4.5": "Hm.\n</think>\n\n<response>\nHi.\n</response>\n",
    "gpt-oss": "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Hi.",
    "SmolLM3": "<think>\nHm.\n</think>\n\nHi.<|im_end|>",
    "Gemma 4": "<|channel>thought\nHm.<channel|>Hi.<turn|>",
    "Inkling": "<|content_thinking|>Hm.<|end_message|><|message_model|><|content_text|>Hi.<|end_message|>",
}


@pytest.mark.parametrize("model", ANSWERS)
def test_reasoning_and_content_are_separated_as_by_transformers(model: str) -> None:
    template = REAL[model][1]
    prefix = "<think>\n" if model == "ERNIE 4.5" else ""  # the template assumes that the prompt has opened the block
    read = toolfmt.parse(ANSWERS[model], from_response_template(template), prefix=prefix)
    assert compared(read) == {"content": "Hi.", "thinking": "Hm."}
    assert by_transformers(ANSWERS[model], template) == {"content": "Hi.", "thinking": "Hm."}


def test_the_fallback_templates_of_transformers_are_supported() -> None:
    from transformers.cli.serving.utils import _RESPONSE_TEMPLATE_FALLBACKS

    read = {types[0]: from_response_template(template).name for types, template in _RESPONSE_TEMPLATE_FALLBACKS.items()}
    assert read == {"qwen2": "json", "qwen3_5": "qwen3_5", "gemma4": "gemma4"}


SAME_WIRE = {"ernie45": "json", "xml_function": "qwen3_5", "jamba": "hunyuan_a13b"}


@pytest.mark.parametrize("format", list(every_format()))
def test_a_written_template_declares_its_format(format: ToolCallFormat) -> None:
    try:
        template = template_of(format)
    except NoResponseTemplate:
        return
    name = from_response_template(template).name
    assert name in (format.name, SAME_WIRE.get(format.name))


def test_the_markers_of_a_template_are_added_to_those_of_the_format() -> None:
    template = declared(REAL["SmolLM3"][1]["fields"]["tool_calls"], content={"close": ["<|im_end|>", "<|eot|>"]})
    template["fields"]["thinking"] = {"open": "[think]", "close": "[/think]"}
    format = from_response_template(template)
    read = toolfmt.parse("[think]a[/think]b<|eot|>", format, prefix="<|assistant|>")
    assert compared(read) == {"thinking": "a", "content": "b"}
    assert toolfmt.parse("<think>a</think>b", format).reasoning == "a"
    plain = declared(REAL["SmolLM3"][1]["fields"]["tool_calls"], anchor=None, thinking=THINK)
    assert from_response_template(plain) is get("json")


def test_an_output_begins_after_the_anchor() -> None:
    format = from_response_template(declared(REAL["SmolLM3"][1]["fields"]["tool_calls"], "@@bot@@", thinking=THINK))
    read = toolfmt.parse("a</think>b", format, prefix="<think>old</think>Old.\n@@bot@@<think>")
    assert compared(read) == {"thinking": "a", "content": "b"}


@pytest.mark.parametrize("model", ["Cohere Command A", "gpt-oss", "Inkling"])
def test_markers_that_a_format_knows_are_not_repeated(model: str) -> None:
    name, template = REAL[model]
    assert from_response_template(template).content_markers == get(name).content_markers


@pytest.mark.parametrize("kind", OWN)
def test_a_template_of_no_known_format_becomes_a_new_format(kind: str) -> None:
    format = from_response_template(OWN[kind])
    assert (format.name, declared_formats(OWN[kind])) == ("declared", ())
    text = toolfmt.write(format, CALLS, TOOLS)
    expected = {"calls": [{"name": name, "arguments": given} for name, given in CALLS]}
    assert compared(toolfmt.parse(text, format, tools=TOOLS)) == expected
    assert by_transformers(text, OWN[kind]) == expected
    whole = guarantees.events_of(format, [text], tools=TOOLS)  # type: ignore[arg-type]  # a parser accepts both
    assert whole == guarantees.events_of(format, text, tools=TOOLS)  # type: ignore[arg-type]  # as above
    for end in range(len(text)):
        events = guarantees.events_of(format, [text[:end]], tools=TOOLS)  # type: ignore[arg-type]  # as above
        guarantees.check_shape(events)
        ended = [event for event in events if isinstance(event, ToolCallEnd)]
        assert [event.index for event in ended] == list(range(len(ended)))


@pytest.mark.parametrize("wrapper", ["function", "fn"])
@pytest.mark.parametrize("each", [True, False])
def test_name_and_arguments_may_be_in_an_object_of_their_own(each: bool, wrapper: str) -> None:
    keys = {key: "{" + ("" if each else "content.") + f"{wrapper}.{key}" + "}" for key in ("name", "arguments")}
    calls = {**JSON_CALL, "transform_each": each, "transform": {"type": "function", "function": keys}}
    format = from_response_template(declared(calls))
    assert compared(toolfmt.parse(toolfmt.write(format, CALLS), format)) == {
        "calls": [{"name": name, "arguments": given} for name, given in CALLS]
    }


@pytest.mark.parametrize("kind", OWN)
@given(st.text(max_size=60))
def test_a_format_from_a_template_keeps_the_invariants_for_any_text(kind: str, text: str) -> None:
    format = from_response_template(OWN[kind])
    pieces = toolfmt.write(format, CALLS[:1], TOOLS)
    answer = pieces[: len(pieces) * 2 // 3] + text + pieces[len(pieces) // 3 :]
    events = guarantees.events_of(format, [answer])  # type: ignore[arg-type]  # a parser accepts both
    assert events == guarantees.events_of(format, answer)  # type: ignore[arg-type]  # as above
    guarantees.check_shape(events)
    guarantees.check_arguments(events)


def test_an_end_marker_in_a_quoted_value_is_text() -> None:
    format = from_response_template(OWN["JSON"])
    call: list[Call] = [("f", {"text": "see {}</my_call> there"})]
    read = toolfmt.parse(toolfmt.write(format, call, TOOLS), format, tools=TOOLS)
    assert json.loads(read.tool_calls[0].arguments) == call[0][1]
    with pytest.raises(ValueError, match="could not parse"):
        by_transformers(toolfmt.write(format, call, TOOLS), OWN["JSON"])


JSON_CALL = {"open": "<x>", "close": "</x>", "content": "json"}
DEEP = {"function": {"name": "{content.a.b.name}", "arguments": "{content.a.b.arguments}"}}
SAME = {"function": {"name": "{content.a}", "arguments": "{content.a}"}}
TAGS_CALL = {"open_pattern": "<x>(?P<name>.*?)</n>", "close": "</x>", "content": "xml-inline", "transform": NAMED}
OPENED, CLOSED = r"<call (?P<name>\w+)>", r"</(?P<name>\w+)>"
CLOSED_BY_NAME = "the end marker of its tool_calls has a named group"


@pytest.mark.parametrize(
    ("template", "why"),
    [
        (None, "not an object with an object for tool_calls"),
        ([], "not an object with an object for tool_calls"),
        ({"fields": {"content": {}}}, "not an object with an object for tool_calls"),
        (declared(JSON_CALL) | {"version": 2}, "its version is not 1"),
        (declared(JSON_CALL, plan={"open": "<p>"}), "its field 'plan' is neither content, reasoning nor tool calls"),
        (declared({"close": "</x>"}), "its tool_calls have no start marker"),
        (declared({**JSON_CALL, "content": "kv-lines"}), "the content of its tool_calls is 'kv-lines'"),
        (declared({**JSON_CALL, "content": ["x"]}), "the content of its tool_calls is ''"),
        (declared({**JSON_CALL, "open": None, "open_pattern": "(x)+"}), "after more than one character"),
        (declared({**JSON_CALL, "open": None, "open_pattern": r"(a)\1"}), r"it contains \\1 in"),
        (declared({**JSON_CALL, "open": None, "open_pattern": "(?i:x)"}), "an unsupported kind of group"),
        (declared({**JSON_CALL, "open": None, "open_pattern": "(x"}), "an unclosed group"),
        (declared({**JSON_CALL, "open": None, "open_pattern": "[x"}), "an unclosed character class"),
        (declared({**JSON_CALL, "open": None, "open_pattern": "x" * 3000}), "a pattern of 3000 characters"),
        (declared({**JSON_CALL, "open": None, "open_pattern": r"\s" * 300}), "a pattern of more than 100 parts"),
        (declared({**JSON_CALL, "open": None, "open_pattern": "(" * 50 + ")" * 50}), "nested too deeply"),
        (declared({**JSON_CALL, "open": None, "open_pattern": ".*" * 12 + "(?!)"}), "can match in too many ways"),
        (declared({**JSON_CALL, "open": None, "open_pattern": "<x.*?>"}), "more than literals, whitespace and a name"),
        (declared({**JSON_CALL, "open": None, "open_pattern": r"(?P<name>\w+)"}), "a call starts with just its name"),
        (
            declared({**JSON_CALL, "transform": {"function": {"name": "{content.a}"}}}),
            "where the JSON has the name and arguments",
        ),
        (declared({**JSON_CALL, "close": None, "close_pattern": CLOSED, "transform": NAMED}), CLOSED_BY_NAME),
        (
            declared({"open_pattern": OPENED, "close_pattern": CLOSED, "content": "json", "transform": NAMED}),
            CLOSED_BY_NAME,
        ),
        (declared({**JSON_CALL, "content_args": {"unquoted_keys": True}}), "its JSON has a syntax of its own"),
        (declared({**JSON_CALL, "open": ["<tool_call>", "<other>"]}), "more than literals, whitespace and a name"),
        (declared({**JSON_CALL, "transform": {"function": "{name}"}}), "where the JSON has the name and arguments"),
        (declared({**JSON_CALL, "transform": DEEP}), "more than one object deep"),
        (declared({**JSON_CALL, "transform": SAME}), "every member needs a distinct key"),
        (declared(TAGS_CALL), "the tags of its calls are not a key and a value"),
    ],
)
def test_an_unsupported_template_is_rejected_by_name(template: Any, why: str) -> None:
    with pytest.raises(
        NoResponseTemplate, match=f"^the response_template does not declare a supported format: .*{why}"
    ):
        from_response_template(template)
    assert declared_formats(template) == ()


def test_a_template_that_is_nested_too_deeply_is_rejected() -> None:
    deep: Any = "x"
    for _ in range(100_000):
        deep = {"function": deep}
    with pytest.raises(NoResponseTemplate, match="its transform is nested too deeply"):
        from_response_template(declared(REAL["SmolLM3"][1]["fields"]["tool_calls"] | {"transform": {"function": deep}}))


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "pattern",
    [
        r"<t.*?.*?.*?.*?.*?.*?>",
        r"(?:.*|.*)(?:.*|.*)(?:.*|.*)(?:.*|.*)<tool_call>!",
        r"\s*.*" * 30,
        "(?:|)" * 60 + "(?!)",
    ],
)
def test_patterns_of_exponential_time_are_rejected_in_limited_time(pattern: str) -> None:
    begin = time.process_time()
    with pytest.raises(NoResponseTemplate):
        from_response_template(declared({**JSON_CALL, "open": None, "open_pattern": pattern}))
    assert time.process_time() - begin < 10  # about one second


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        (r"\s*<a>", "x \n<a>", (1, 6, {})),
        (r"<a>(?P<name>\w+)\s*(?=\{)", "<a>f <a>gh {", (5, 11, {"name": "gh"})),
        (r"(?<=\})\s*</a>", "</a> }x</a> } </a>", (13, 18, {})),
        (r"(?<!\})</a>(?!x)", "}</a> </a>x </a>", (12, 16, {})),
        (r"(?:<b>\s*)?<c>", "<b> <c>", (0, 7, {})),
        (r"(?P<k>.+?)=(?P<v>.*)\Z", "a=b=c", (0, 5, {"k": "a", "v": "b=c"})),
        (r"\n?\[A\]|B", "xB", (1, 2, {})),
        (r"[^<>\n]{2,3}[\]x]", "ab]", (0, 3, {})),
        (r"\d{2}-", "1-23-", (2, 5, {})),
        (r"a+?b*$", "caabb", (1, 5, {})),
        (r"x{", "ax{", (1, 3, {})),
        (r"xa{1000}", "xa{1000}x" + "a" * 1001, (8, 1009, {})),
        (r"(?:a|ab)c", "abc", (0, 3, {})),
        (r"y", "x", None),
    ],
)
def test_patterns_match_as_regular_expressions_do(pattern: str, text: str, found: Any) -> None:
    import re

    match = Matcher(text, Steps()).search(read_pattern(pattern), 0)
    assert (match and (match.begin, match.end, dict(match.groups))) == found
    same = re.compile(pattern, re.DOTALL).search(text)
    assert (same and (*same.span(), same.groupdict())) == found


def test_a_missing_literal_ends_the_search_without_a_step() -> None:
    steps = Steps()
    assert Matcher("x" * 5000, steps).search(read_pattern("[^<]*<call>"), 0) is None
    assert steps == Steps()


@pytest.mark.parametrize("pattern", ["^a", "a**", r"\b", "(?P=x)", "a)", "[b-a]", "\\"])
def test_unsupported_patterns_are_rejected(pattern: str) -> None:
    with pytest.raises(UnsupportedPattern):
        read_pattern(pattern)


# --- in the report


def test_a_declared_pattern_is_evidence(tmp_path: Path) -> None:
    calls = {"open_pattern": r"\s*<tool_call>", "close": "</tool_call>", "repeats": True, "content": "json"}
    report = directory(tmp_path, tokenizer_config={"response_template": declared({**calls, "transform": WHOLE})})
    assert (report.format.name, report.format.confidence, codes(report)) == ("json", "declared", [])
    detail = r"tokenizer_config.json: response_template is '\\s*<tool_call>', a parser for json, ernie45 or step3_vl"
    assert (report.format.evidence[0].source, report.format.evidence[0].detail) == ("declared", detail)


def test_a_declaration_of_other_calls_than_the_template_renders_is_a_finding(tmp_path: Path) -> None:
    assert "<tool_call>" in TEMPLATE
    report = directory(tmp_path, tokenizer_config={"response_template": REAL["Qwen3 Coder"][1]})
    assert report.format.name in ("qwen3_5", "json")
    assert "TF022" in codes(report)


def test_an_unsupported_pattern_declares_nothing(tmp_path: Path) -> None:
    calls = {"open_pattern": r"(?i:<call>)", "close": "</call>", "content": "json", "transform": WHOLE}
    report = directory(tmp_path, tokenizer_config={"response_template": declared(calls)})
    assert (report.format.name, report.format.confidence, codes(report)) == ("json", "verified", [])
