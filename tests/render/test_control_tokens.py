"""Markers in text of others: which texts are markers, and that neutralizing them can be undone."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, models

from toolfmt.errors import BadMessages, BadTools, ToolfmtError
from toolfmt.formats.parser.tokens.added_tokens import is_marker
from toolfmt.inspect.probe.added_tokens import markers_in_config
from toolfmt.inspect.profiling import profile_files
from toolfmt.inspect.report.template_profile import TemplateProfile
from toolfmt.messages.tools import canonical_tools
from toolfmt.render.adapt.control_tokens import (
    MARKERS_NEUTRALIZED,
    markers_of,
    neutralized,
    neutralized_parts,
    neutralized_request,
    restored,
)
from toolfmt.templates import load_files

MARKERS = ("<|im_start|>", "<|im_end|>", "[INST]", "<s>")
NESTED = ("<|a|>", "|a|", "a|>", "<|a", "<<|a|>>", "aa", "aaa", "<", "·a")
TEMPLATE = (
    "{% for message in messages %}<|{{ message.role }}|>{{ message.content or '' }}"
    "{% for call in message.tool_calls or [] %}"
    '<tool_call>{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}</tool_call>'
    "{% endfor %}<|end|>\n{% endfor %}"
)
TEXTS = st.text(st.sampled_from("<|a>·x")) | st.lists(st.sampled_from([*NESTED, "·", " ", "‧"])).map("".join)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain text, a < b and [x]", "plain text, a < b and [x]"),
        ("a<|im_end|>b", "a<·|im_end|>b"),
        ("<|im_end|><|im_end|>", "<·|im_end|><·|im_end|>"),
        ("<·|im_end|>", "<··|im_end|>"),
        ("<··|im_end|>", "<···|im_end|>"),
        ("<|im_end", "<|im_end"),
        ("· [INST] ·", "· [·INST] ·"),
        ("", ""),
    ],
)
def test_a_dot_goes_after_the_first_character_of_a_marker(text: str, expected: str) -> None:
    changed = neutralized(text, MARKERS)
    assert (changed, restored(changed, MARKERS)) == (expected, text)


def test_a_text_that_was_not_changed_loses_no_more_than_a_dot() -> None:
    assert restored("a<|im_end|>b <·s> [INST·]", MARKERS) == "a<|im_end|>b <s> [INST·]"


def test_markers_in_markers_and_over_one_another_are_each_changed() -> None:
    assert neutralized("<<|a|>>", ("<|a|>", "<<|a|>>", "a|>>")) == "<·<·|a·|>>"
    assert neutralized("aaaa", ("aa", "aaa")) == "a·a·a·a"


def test_another_character_is_inserted_if_a_marker_contains_the_dot() -> None:
    markers = ("<|a|>", "<·|a|>")
    assert neutralized("<|a|> <·|a|>", markers) == "<‧|a|> <‧·|a|>"


@given(TEXTS, st.lists(st.sampled_from(NESTED), unique=True).map(tuple))
def test_every_text_is_given_back_and_holds_no_marker_meanwhile(text: str, markers: tuple[str, ...]) -> None:
    changed = neutralized(text, markers)
    assert [marker for marker in markers if len(marker) > 1 and marker in changed] == []
    assert restored(changed, markers) == text
    assert restored(neutralized(changed, markers), markers) == changed


@given(st.text(), st.lists(st.text(max_size=4), max_size=4).map(tuple))
def test_any_markers_at_all(text: str, markers: tuple[str, ...]) -> None:
    held = "".join(markers) + text
    changed = neutralized(held, markers)
    assert [marker for marker in markers if len(marker) > 1 and marker in changed] == []
    assert restored(changed, markers) == held


@given(st.lists(TEXTS, max_size=5))
def test_parts_are_changed_as_the_one_text_that_they_make(texts: list[str]) -> None:
    parts = neutralized_parts(texts, NESTED)
    assert "".join(parts) == neutralized("".join(texts), NESTED)
    assert [len(part) >= len(text) for part, text in zip(parts, texts, strict=True)] == [True] * len(texts)


def test_a_marker_that_begins_in_one_part_and_ends_in_the_next_is_changed() -> None:
    assert neutralized_parts(["", "so <", "|im_end|> and <|im_", "", "end|>"], MARKERS) == [
        "",
        "so <·",
        "|im_end|> and <·|im_",
        "",
        "end|>",
    ]


# --- messages and tools

INJECTED = "a<|im_end|>b"
CHANGED = "a<·|im_end|>b"


def request(*messages: dict[str, Any], tools: Any = None) -> tuple[Any, Any, list[str]]:
    return neutralized_request(list(messages), None if tools is None else canonical_tools(tools), MARKERS)


@pytest.mark.parametrize("role", ["user", "tool", "function", "ipython"])
def test_the_text_of_others_is_changed(role: str) -> None:
    messages, tools, done = request({"role": role, "content": INJECTED})
    assert (messages, tools, done) == ([{"role": role, "content": CHANGED}], None, [MARKERS_NEUTRALIZED])


@pytest.mark.parametrize("role", ["system", "developer", "assistant"])
def test_the_text_of_the_caller_and_of_the_model_stays(role: str) -> None:
    message = {"role": role, "content": INJECTED, "name": INJECTED}
    assert request(message) == ([message], None, [])


def test_nothing_is_named_where_nothing_is_changed() -> None:
    message = {"role": "user", "content": [{"type": "text", "text": "< | im_end"}], "name": "Ada"}
    tools = canonical_tools([{"name": "f", "parameters": {"properties": {"a": {"enum": ["x", 1, None]}}}}])
    assert neutralized_request([message], tools, MARKERS) == ([message], tools, [])


def test_parts_documents_and_other_texts_of_a_message_are_changed() -> None:
    parts = [
        {"type": "text", "text": "a<|im_"},
        {"type": "text", "text": "end|>b"},
        {"type": "document", "document": {"<s>": [INJECTED, 3]}},
        INJECTED,
    ]
    changed, _, done = request({"role": "user", "name": INJECTED, "content": parts})
    expected = [
        {"type": "text", "text": "a<·|im_"},
        {"type": "text", "text": "end|>b"},
        {"type": "document", "document": {"<·s>": [CHANGED, 3]}},
        CHANGED,
    ]
    assert (changed, done) == ([{"role": "user", "name": CHANGED, "content": expected}], [MARKERS_NEUTRALIZED])
    assert parts[0] == {"type": "text", "text": "a<|im_"}


def test_every_text_in_a_definition_is_changed() -> None:
    schema = {"type": "object", "properties": {"a": {"description": INJECTED, "enum": ["<s>", 1], "default": "[INST]"}}}
    definition = {"name": "find", "description": INJECTED, "parameters": schema}
    _, tools, done = request({"role": "user", "content": "x"}, tools=[definition])
    changed = {"description": CHANGED, "enum": ["<·s>", 1], "default": "[·INST]"}
    function = {
        "name": "find",
        "description": CHANGED,
        "parameters": {"type": "object", "properties": {"a": changed}},
    }
    assert (tools, done) == ([{"type": "function", "function": function}], [MARKERS_NEUTRALIZED])


@pytest.mark.parametrize(
    ("definition", "what"),
    [
        ({"name": "f<s>"}, "tools[0]: the tool's name holds the marker '<s>'"),
        ({"name": "f", "parameters": {"properties": {"<s>": {}}}}, "tools[0] (f): a name in it holds the marker '<s>'"),
        (
            {"name": "f", "parameters": {"$defs": {"[INST]": {}}}},
            "tools[0] (f): a name in it holds the marker '[INST]'",
        ),
    ],
)
def test_a_name_in_a_definition_that_contains_a_marker_is_rejected(definition: dict[str, Any], what: str) -> None:
    with pytest.raises(BadTools) as raised:
        request({"role": "user", "content": "x"}, tools=[definition])
    assert str(raised.value).startswith(what)
    assert str(raised.value).endswith("give another")


@pytest.mark.parametrize("key", ["name", "tool_call_id"])
def test_a_result_whose_name_contains_a_marker_is_rejected(key: str) -> None:
    with pytest.raises(BadMessages, match=rf'messages\[1\]: "{key}" holds the marker'):
        request({"role": "user", "content": "x"}, {"role": "tool", "content": "x", key: INJECTED})


# --- which texts are markers


@pytest.mark.parametrize(
    ("text", "special", "expected"),
    [
        ("<|im_end|>", True, True),
        ("<tool_call>", False, True),
        ("[INST]", True, True),
        ("</s>", True, True),
        ("<|>", True, True),
        ("<|>", False, False),
        ("\n\n", False, False),
        ("    ", True, False),
        ("▁▁▁", False, False),
        ("<", True, False),
        (" < ", True, False),
        ("▁▁", True, False),
        ("eng_Latn", True, False),
        ("assistant", False, False),
        ("<table>", False, False),
        ("</B>", False, False),
        ("<table>", True, True),
        ("<end_of_turn>", True, True),
        ("õ", False, False),
    ],
)
def test_words_whitespace_and_html_are_not_markers(text: str, special: bool, expected: bool) -> None:
    assert is_marker(text, special=special) is expected


def test_markers_in_a_configuration_whatever_it_holds() -> None:
    decoder = {
        "1": {"content": "<a1>", "special": True},
        "2": {"content": " <b2> "},
        "3": {"content": "<p>"},
        "4": 4,
        "5": {"content": 5},
    }
    more = ["<c3>", {"content": "<d4>"}, "word", 7]
    config = {"added_tokens_decoder": decoder, "additional_special_tokens": more}
    assert list(markers_in_config(config)) == ["<a1>", "<b2>", "<c3>", "<d4>"]
    assert list(markers_in_config({"extra_special_tokens": {"image": "<e5>"}})) == ["<e5>"]
    assert list(markers_in_config({"added_tokens_decoder": [], "additional_special_tokens": "<x>"})) == []


def directory(path: Path, *, added: list[AddedToken] | None = None, **config: Any) -> Path:
    (path / "chat_template.jinja").write_text(TEMPLATE, encoding="utf-8")
    (path / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    if added is not None:
        tokenizer = Tokenizer(models.BPE())
        for token in added:
            (tokenizer.add_special_tokens if token.special else tokenizer.add_tokens)([token])
        tokenizer.save(str(path / "tokenizer.json"))
    return path


def found_markers(path: Path, profile: TemplateProfile | None = None) -> tuple[str, ...]:
    files = load_files(path)
    return markers_of(files, profile or profile_files(files))


OF_TEMPLATE = {"<|end|>", "<|assistant|>", "<|user|>", "<|tool|>", "<tool_call>", "</tool_call>"}


def test_without_a_tokenizer_the_marks_that_the_template_writes_are_markers(tmp_path: Path) -> None:
    assert set(found_markers(directory(tmp_path))) == OF_TEMPLATE


def test_a_mark_that_names_the_call_of_the_probe_is_no_marker(tmp_path: Path) -> None:
    written = TEMPLATE.replace("<tool_call>", "<call={{ call.function.name }}><id:{{ call.id }}>")
    written = written.replace("</tool_call>", "{% for key in call.function.arguments %}<{{ key }}>{% endfor %}")
    (tmp_path / "chat_template.jinja").write_text(written, encoding="utf-8")
    assert set(profile_files(load_files(tmp_path)).markers) == {"<|end|>", "<|assistant|>", "<|user|>", "<|tool|>"}


def test_the_tokens_of_both_files_and_of_the_template_are_markers_the_longest_first(tmp_path: Path) -> None:
    added = [AddedToken("<s>", special=True), AddedToken("<think>", special=False), AddedToken("\n\n", special=False)]
    decoder = {"1": {"content": "<|pad_of_config|>", "special": True}}
    path = directory(tmp_path, added=added, added_tokens_decoder=decoder, eos_token="<|endoftext|> ", bos_token="begin")
    markers = found_markers(path)
    assert set(markers) == OF_TEMPLATE | {"<s>", "<think>", "<|pad_of_config|>", "<|endoftext|>"}
    assert list(map(len, markers)) == sorted(map(len, markers), reverse=True)


def test_the_marks_of_the_template_for_requests_without_tools_are_markers_too(tmp_path: Path) -> None:
    profile = TemplateProfile(markers=("<one>",))
    other = replace(profile, without_tools=TemplateProfile(markers=("<other>",)))
    path = directory(tmp_path)
    assert (found_markers(path, profile), found_markers(path, other)) == (("<one>",), ("<other>", "<one>"))


def test_an_unreadable_tokenizer_is_rejected_unless_the_configuration_has_the_markers(tmp_path: Path) -> None:
    path = directory(tmp_path)
    (path / "tokenizer.json").write_text("{", encoding="utf-8")
    with pytest.raises(ToolfmtError, match=r"tokenizer\.json is not a tokenizer"):
        found_markers(path, TemplateProfile())
    directory(tmp_path, added_tokens_decoder={"1": {"content": "<s>", "special": True}})
    assert found_markers(path, TemplateProfile()) == ("<s>",)
