"""Rendering: what is adapted in results, ids and contents, only if the template needs it, and its name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from model_cases import made, shared_template
from prompt_cases import TOOL, USER, call, template

from toolfmt.errors import NotDelivered
from toolfmt.model.model import Model

PARTS = "(m.content if m.content is string else (m.content or []) | map(attribute='text') | join('+'))"
NAME_FROM_ID = "c.id.split(':')[0].split('.')[-1]"
DOCUMENT = {"type": "document", "document": {"id": "7", "data": {"title": "Oslo", "snippet": "rain"}}}
IMAGE = {"type": "image_url", "image_url": {"url": "data:,"}}


def from_id() -> str:
    """A template that takes the tool's name from the id and prints ids with results."""
    text = template(content=PARTS).replace("c.function.name", NAME_FROM_ID)
    return text.replace("'<|' + m.role + '|>'", "'<|' + m.role + ' ' + (m.tool_call_id or '') + '|>'")


def turn(*calls: dict[str, Any], content: Any = "") -> dict[str, Any]:
    return {"role": "assistant", "content": content, "tool_calls": list(calls)}


def result(id: str, content: Any = "done") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id, "content": content}


# Ids


def test_ids_are_written_as_functions_where_the_name_is_taken_from_them(tmp_path: Path) -> None:
    history = [
        USER,
        turn(call(id="call_a"), call(id="call_b")),
        result("call_b", "B"),
        result("call_a", "A"),
        turn(call(id="call_a")),
        result("call_a", "C"),
    ]
    prompt = made(tmp_path, from_id()).render(history, [TOOL])
    assert prompt.adaptations == ("ids-as-functions",)
    assert prompt.text.count('"name": "get_weather"') == 4  # three calls and the tool's definition
    for expected in ("<|tool functions.get_weather:1|>B", "<|tool functions.get_weather:0|>A"):
        assert expected in prompt.text
    assert "<|tool functions.get_weather:2|>C" in prompt.text  # an id used again belongs to the later call


def test_ids_that_are_right_stay_as_they_are(tmp_path: Path) -> None:
    history = [USER, turn(call(id="functions.get_weather:0")), result("functions.get_weather:0")]
    assert made(tmp_path, from_id()).render(history, [TOOL]).adaptations == ()


def test_a_result_without_an_id_takes_that_of_the_next_call(tmp_path: Path) -> None:
    history = [
        USER,
        turn(call(id="a"), call(id="b")),
        {"role": "tool", "content": "A"},
        {"role": "tool", "content": "B"},
    ]
    text = made(tmp_path, from_id()).render(history, [TOOL]).text
    assert "<|tool functions.get_weather:0|>A" in text
    assert "<|tool functions.get_weather:1|>B" in text


def test_ids_stay_where_the_template_takes_any(tmp_path: Path) -> None:
    history = [USER, turn(call(id="call_a")), result("call_a")]
    assert made(tmp_path, template(content=PARTS)).render(history, [TOOL]).adaptations == ()


# Results


def test_results_come_in_the_order_of_calls_if_only_the_order_identifies_them(tmp_path: Path) -> None:
    history = [
        USER,
        turn(call(id="callA0001"), call(id="callA0002")),
        result("callA0002", "B"),
        result("callA0001", "A"),
    ]
    model = made(tmp_path, template(content=PARTS))
    prompt = model.render(history, [TOOL])
    assert prompt.adaptations == ("results-in-order",)
    assert "<|tool|>A<|end|><|tool|>B<|end|>" in prompt.text
    in_order = [*history[:2], history[3], history[2]]
    assert model.render(in_order, [TOOL]).adaptations == ()


def test_results_stay_out_of_order_if_the_prompt_shows_their_ids(tmp_path: Path) -> None:
    text = template(content=PARTS).replace(
        "'<|' + m.role + '|>'", "'<|' + m.role + ' ' + (m.tool_call_id or '') + '|>'"
    )
    history = [
        USER,
        turn(call(id="callA0001"), call(id="callA0002")),
        result("callA0002", "B"),
        result("callA0001", "A"),
    ]
    prompt = made(tmp_path, text).render(history, [TOOL])
    assert prompt.adaptations == ()
    assert "<|tool callA0002|>B<|end|><|tool callA0001|>A<|end|>" in prompt.text


def test_results_of_other_calls_are_left_in_place(tmp_path: Path) -> None:
    history = [USER, turn(call(id="callA0001"), call(id="callA0002")), result("unknown", "B"), result("callA0001", "A")]
    assert "<|tool|>B<|end|><|tool|>A" in made(tmp_path, template(content=PARTS)).render(history, [TOOL]).text


def test_a_result_gets_the_tools_name_where_it_is_lost_without(tmp_path: Path) -> None:
    text = template(content=PARTS).replace("'<|' + m.role + '|>'", "'<|' + m.role + ' ' + (m.name or '') + '|>'")
    other = call(id="callA0001", name="tell_time")
    history = [USER, turn(call()), result("callA0001", "A"), turn(other), result("callA0001", "B")]
    prompt = made(tmp_path, text).render(history, [TOOL, {"name": "tell_time", "description": "The time."}])
    assert prompt.adaptations == ("results-named",)
    assert "<|tool get_weather|>A<|end|>" in prompt.text
    assert "<|tool tell_time|>B<|end|>" in prompt.text


def test_a_result_is_given_as_parts_where_a_string_is_spelled_out(tmp_path: Path) -> None:
    spelled = "(m.content | list | tojson if m.role == 'tool' and m.content is string else " + PARTS + ")"
    prompt = made(tmp_path, template(content=spelled)).render([USER, turn(call()), result("callA0001")], [TOOL])
    assert prompt.adaptations == ("results-as-parts",)
    assert "<|tool|>done<|end|>" in prompt.text


def test_documents_become_text_where_the_template_drops_them(tmp_path: Path) -> None:
    takes_text = "(m.content if m.content is string else m.content | map(attribute='text', default='') | join)"
    history = [USER, turn(call()), result("callA0001", [{"type": "text", "text": "See: "}, DOCUMENT])]
    prompt = made(tmp_path, template(content=takes_text)).render(history, [TOOL])
    assert prompt.adaptations == ("documents-as-text",)
    assert '<|tool|>See: {"title": "Oslo", "snippet": "rain"}<|end|>' in prompt.text


def test_documents_stay_where_the_template_prints_them(tmp_path: Path) -> None:
    prints = "(m.content if m.content is string else m.content | tojson)"
    prompt = made(tmp_path, template(content=prints)).render(
        [USER, turn(call()), result("callA0001", [DOCUMENT])], [TOOL]
    )
    assert prompt.adaptations == ()
    assert '"snippet": "rain"' in prompt.text


def test_a_document_is_not_lost_in_a_user_message(tmp_path: Path) -> None:
    skips = template(content=PARTS).replace("for m in messages", "for m in messages if m.role != 'tool'")
    prompt = made(tmp_path, skips).render([USER, turn(call()), result("callA0001", [DOCUMENT])], [TOOL])
    assert prompt.adaptations == ("results-as-user-messages",)
    assert '<|user|>Result of get_weather:\n{"title": "Oslo", "snippet": "rain"}<|end|>' in prompt.text


def test_an_image_stays_a_part_in_a_user_message(tmp_path: Path) -> None:
    takes = "(m.content if m.content is string else m.content | map(attribute='text', default='<image>') | join('+'))"
    skips = template(content=takes).replace("for m in messages", "for m in messages if m.role != 'tool'")
    prompt = made(tmp_path, skips).render([USER, turn(call()), result("callA0001", [IMAGE, "x"])], [TOOL])
    assert "<|user|>Result of get_weather:\n+<image>+x<|end|>" in prompt.text


# Content


@pytest.mark.sample(1)
@pytest.mark.parametrize("role", ["user", "system", "assistant", "tool"])
def test_parts_are_joined_where_they_come_out_raw(tmp_path: Path, role: str) -> None:
    parts = [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]
    history = [USER, turn(call()), result("callA0001")]
    message = {"role": role, "content": parts, **({"tool_call_id": "callA0001"} if role == "tool" else {})}
    messages = [message, *history] if role == "system" else [*history, message]
    for content, joined in (("(m.content or '') | string", True), ("m.content + ''", True), (PARTS, False)):
        prompt = made(tmp_path, template(content=content)).render(messages, [TOOL])
        assert ("content-parts-joined" in prompt.adaptations) == joined
        assert f"<|{role}|>one{chr(10) if joined else '+'}two<|end|>" in prompt.text


def test_an_image_that_comes_out_as_data_is_lost(tmp_path: Path) -> None:
    model = made(tmp_path, template(content="m.content | string"))
    messages = [{"role": "user", "content": [{"type": "text", "text": "What is this?"}, IMAGE]}]
    with pytest.raises(NotDelivered, match=r"^messages\[0\] \(user\): its image_url is lost: .*lossy=True"):
        model.render(messages)
    prompt = model.render(messages, lossy=True)
    assert prompt.lost == ("messages[0] (user): its image_url",)
    assert "<|user|>What is this?<|end|>" in prompt.text


# Real templates


@pytest.mark.outside
def test_kimi_gets_its_ids() -> None:
    history = [USER, turn(call(id="call_abc")), result("call_abc", "rain")]
    prompt = Model(shared_template("more/moonshotai-kimi-k2.5.jinja")).render(history, [TOOL])
    assert "ids-as-functions" in prompt.adaptations
    assert "<|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>" in prompt.text
    assert "## Return of functions.get_weather:0\nrain" in prompt.text


@pytest.mark.sample(0)
@pytest.mark.outside
def test_command_a_reasoning_gets_its_calls_and_results() -> None:
    history = [USER, turn(call(), content=None), result("callA0001", "rain")]
    prompt = Model(shared_template("more/cohere-command-a-reasoning-08-2025.jinja")).render(history, [TOOL])
    assert prompt.adaptations == ("content-filled", "results-as-parts")
    assert '"tool_name": "get_weather", "parameters": {"place": "Oslo"}' in prompt.text
    assert '"0": {"type": "text", "text": "rain"}' in prompt.text


@pytest.mark.sample(1)
@pytest.mark.outside
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("poolside-Laguna-XS-2.1.jinja", "</think>"),
        ("meetkai-functionary-medium-v3.2.jinja", ">>>"),
        ("more/cohere-command-a-03-2025.jinja", "<|START_RESPONSE|>"),
        ("deepseek-ai-DeepSeek-V4-Flash-0731.jinja", "</think>"),
    ],
)
def test_the_prefill_of_a_real_template(name: str, expected: str) -> None:
    model = Model(shared_template(name))
    assert model.inspect().profile.prefill == expected
    assert model.render([USER]).prefill == expected


def reading(reasoning: str) -> str:
    """A template that writes this at the beginning of each message."""
    loop = "{%- for m in messages %}"
    assert loop in template()
    return template().replace(loop, loop + reasoning)


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", ["thought", "reasoning", "tool_plan"])
@pytest.mark.parametrize("given", ["reasoning_content", "reasoning", "thinking"])
def test_reasoning_is_given_under_the_only_name_that_the_template_reads(tmp_path: Path, name: str, given: str) -> None:
    # ServiceNow's and openbmb's templates read `thought`, Solar `reasoning`, Command A `tool_plan`
    source = reading("<t>{{ m." + name + " or '' }}</t>")
    history = [USER, {"role": "assistant", "content": "It rains.", given: "Look outside."}, USER]
    prompt = made(tmp_path, source).render(history, [TOOL])
    assert prompt.text.count("<t>Look outside.</t>") == 1
    assert ("reasoning-renamed" in prompt.adaptations) == (given != name)
    sent = prompt.request()["messages"][1]
    assert sent[name] == "Look outside."
    assert given == name or given not in sent


def test_reasoning_keeps_a_usual_name(tmp_path: Path) -> None:
    source = reading("{{ m.reasoning_content or m.thought }}")
    prompt = made(tmp_path, source).render([USER, {"role": "assistant", "content": "x", "reasoning_content": "y"}])
    assert "reasoning-renamed" not in prompt.adaptations
