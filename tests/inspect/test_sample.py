"""The sample prompt: what each stretch of it is. `test_inspection_real_templates` has those of real templates."""

from __future__ import annotations

import pytest

from toolfmt.inspect.inspection import inspect_template
from toolfmt.inspect.probe.segments import PromptSegment, added, occurrences, overlaid
from toolfmt.inspect.sections import sample as module
from toolfmt.inspect.sections.sample import LONGEST, SAMPLE_TOOLS

TOOLS_PART = (
    "{% if tools %}<|system|># Tools\n{% for tool in tools %}"
    "<tool>{{ tool.function.name }}: {{ tool.function.description }}</tool>\n{% endfor %}<|end|>{% endif %}"
)
TURNS = (
    "{% for message in messages %}<|{{ message.role }}|>"
    "{% if message.reasoning_content %}<think>{{ message.reasoning_content }}</think>{% endif %}"
    "{{ message.content }}"
    "{% for call in message.tool_calls or [] %}"
    '<tool_call>{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}</tool_call>'
    "{% endfor %}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
TEMPLATE = TOOLS_PART + TURNS

SYSTEM = "You help people who travel, in a few plain words."
QUESTION = "I am on my way to Lisbon. What is it like there right now?"
THOUGHT = "Lisbon as it is now: that is something the tools can tell."
RESULTS = ("Light rain from the west, 18 degrees", "Five past two in the afternoon")
AFTERTHOUGHT = "That is all I need for an answer."
ANSWER = "It rains a little in Lisbon: take an umbrella along."
ANOTHER = "Thank you. And what about Porto?"


def sample_of(template: str) -> list[tuple[str, str, str]]:
    return [(piece.kind, piece.name, piece.text) for piece in inspect_template(template).sections.sample]


def written(name: str) -> str:
    return f'<tool_call>{{"name": "{name}", "arguments": {{"city": "Lisbon"}}}}</tool_call>'


def defined(name: str) -> tuple[str, str, str]:
    descriptions = {tool["function"]["name"]: tool["function"]["description"] for tool in SAMPLE_TOOLS}
    return ("tools", name, f"<tool>{name}: {descriptions[name]}</tool>")


def test_a_template_that_shows_everything_is_cut_into_everything() -> None:
    assert [
        ("tools", "", "<|system|># Tools\n"),
        defined("get_weather"),
        ("tools", "", "\n"),
        defined("get_time"),
        ("tools", "", "\n<|end|>"),
        ("frame", "", "<|system|>"),
        ("system", "", SYSTEM),
        ("frame", "", "<|end|><|user|>"),
        ("user", "", QUESTION),
        ("frame", "", "<|end|><|assistant|><think>"),
        ("reasoning", "", THOUGHT),
        ("frame", "", "</think>"),
        ("call", "get_weather", written("get_weather")),
        ("call", "get_time", written("get_time")),
        ("frame", "", "<|end|><|tool|>"),
        ("result", "", RESULTS[0]),
        ("frame", "", "<|end|><|tool|>"),
        ("result", "", RESULTS[1]),
        ("frame", "", "<|end|><|assistant|><think>"),
        ("reasoning", "", AFTERTHOUGHT),
        ("frame", "", "</think>"),
        ("answer", "", ANSWER),
        ("frame", "", "<|end|><|user|>"),
        ("user", "", ANOTHER),
        ("frame", "", "<|end|>"),
        ("generation", "", "<|assistant|>"),
    ] == sample_of(TEMPLATE)


def test_a_template_without_tools_has_a_sample_without_tools_and_calls() -> None:
    plain = "{% for message in messages %}<|{{ message.role }}|>{{ message.content }}{% endfor %}"
    assert sample_of(plain) == [
        ("frame", "", "<|system|>"),
        ("system", "", SYSTEM),
        ("frame", "", "<|user|>"),
        ("user", "", QUESTION),
        ("frame", "", "<|assistant|>"),
        ("answer", "", ANSWER),
        ("frame", "", "<|user|>"),
        ("user", "", ANOTHER),
    ]


def test_what_a_template_rejects_is_left_out() -> None:
    raising = "{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}" + TEMPLATE
    kinds = [kind for kind, _, _ in sample_of(raising)]
    assert ("system" in kinds, kinds.count("user"), kinds.count("call")) == (False, 2, 2)


def test_one_call_where_a_turn_holds_one() -> None:
    one = TEMPLATE.replace("in message.tool_calls or []", "in (message.tool_calls or [])[:1]")
    assert [("call", "get_weather", written("get_weather"))] == [
        piece for piece in sample_of(one) if piece[0] == "call"
    ]


def test_tools_in_two_places_are_both_shown() -> None:
    """As gpt-oss does: a remark in the system message, the definitions further down."""
    twice = "Rules.{% if tools %} Calls go to functions.{% endif %}<|end|>{{ messages[0].content }}" + TEMPLATE
    assert [text for kind, name, text in sample_of(twice) if kind == "tools" and not name][:2] == [
        " Calls go to functions.",
        "<|system|># Tools\n",
    ]


def test_definitions_in_a_list_are_distinguished() -> None:
    listed = "{% if tools %}[TOOLS]{{ tools | tojson }}[/TOOLS]{% endif %}" + TURNS
    tools = [(name, text[:9], text[-3:]) for kind, name, text in sample_of(listed) if kind == "tools"]
    assert tools == [
        ("", "[TOOLS][", "S]["),
        ("get_weather", '{"type": ', "}}}"),
        ("", ", ", ", "),
        ("get_time", '{"type": ', "}}}"),
        ("", "][/TOOLS]", "LS]"),
    ]


def test_calls_that_the_tools_are_shown_with_are_no_calls() -> None:
    """As Motif does: after the definitions an example of each tool's call, which begins like the call itself."""
    shown = TOOLS_PART.replace(
        "<|end|>",
        '{% for tool in tools %}<tool_call>{"name": "{{ tool.function.name }}", "arguments": …}</tool_call>'
        "{% endfor %}<|end|>",
    )
    turns = TURNS.replace("<tool_call>", "{% if loop.first and loop.last %}\n{% endif %}<tool_call>")
    pieces = sample_of(shown + turns)
    example = '<tool_call>{"name": "get_weather", "arguments": …}</tool_call>'
    assert ("tools", "get_weather", example) in pieces
    assert [piece[1:] for piece in pieces if piece[0] == "call"] == [
        ("get_weather", written("get_weather")),
        ("get_time", written("get_time")),
    ]


def test_calls_are_found_where_reasoning_comes_into_what_opens_them() -> None:
    """As in Command R7B: a block of reasoning, possibly empty, is part of the beginning of a turn with calls."""
    thinking = "{% if message.reasoning_content %}<think>{{ message.reasoning_content }}</think>{% endif %}"
    always = "{% if message.tool_calls %}<think>{{ message.reasoning_content }}</think>{% endif %}"
    pieces = sample_of(TOOLS_PART + TURNS.replace(thinking, always))
    assert ("reasoning", "", THOUGHT) in pieces
    assert [(name, text) for kind, name, text in pieces if kind == "call"] == [
        ("get_weather", "</think>" + written("get_weather")),
        ("get_time", written("get_time")),
    ]


@pytest.mark.parametrize("template", ["{% for %}", "{{ raise_exception('never') }}", ""])
def test_nothing_that_can_be_rendered_is_no_sample(template: str) -> None:
    assert sample_of(template) == []


def test_a_prompt_that_is_too_long_is_not_a_sample() -> None:
    assert sample_of("{% for number in range(" + str(LONGEST) + ") %}x{% endfor %}" + TEMPLATE) == []


def test_the_texts_are_not_contained_in_each_other() -> None:
    texts = [*module._TEXTS]
    assert [(one, other) for one in texts for other in texts if one != other and one in other] == []


def test_what_comes_in_is_cut_where_a_person_would_cut() -> None:
    def cut(prompt: str, other: str) -> list[str]:
        return [prompt[begin:end] for begin, end in added(prompt, other, [])]

    start = "<|begin|>"
    assert cut(f"{start}<|sys|>Tools<|end|><|user|>", f"{start}<|user|>") == ["<|sys|>Tools<|end|>"]
    assert cut('[{"a": {"n": 1}}, {"a": {"n": 2}}]', '[{"a": {"n": 2}}]') == ['{"a": {"n": 1}}, ']
    assert cut('[{"a": {"n": 1}}, {"a": {"n": 2}}]', '[{"a": {"n": 1}}]') == [', {"a": {"n": 2}}']
    assert cut(">>>one\n{1}>>>two\n{1}<|end|>", ">>>one\n{1}<|end|>") == [">>>two\n{1}"]
    assert cut("<|tool>a<tool|><|tool>b<tool|><turn|>", "<|tool>a<tool|><turn|>") == ["<|tool>b<tool|>"]
    assert cut("the same", "the same") == []


def test_a_cut_does_not_go_through_a_control_token() -> None:
    assert added("<|system|>Rules", "<|user|>Rules", []) == [(0, 10)]


def test_an_upper_layer_covers_a_lower_one() -> None:
    below = [PromptSegment(0, 10, "tools"), PromptSegment(10, 12, "frame"), PromptSegment(14, 20, "tools")]
    above = [PromptSegment(2, 4, "tools", "a"), PromptSegment(8, 15, "call")]
    assert [
        PromptSegment(0, 2, "tools"),
        PromptSegment(2, 4, "tools", "a"),
        PromptSegment(4, 8, "tools"),
        PromptSegment(8, 15, "call"),
        PromptSegment(15, 20, "tools"),
    ] == overlaid(below, above)


def test_a_text_that_is_printed_often_is_found_in_time_linear_in_the_prompt() -> None:
    prompt = f"{QUESTION}-" * 5_000
    found = occurrences(prompt, {QUESTION: "user"})
    assert (5_000, len(prompt) - 1) == (len(found), found[-1].end)
    assert len(added(prompt, "nothing of it", [QUESTION, ANSWER])) == 1
