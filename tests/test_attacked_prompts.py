"""Prompts of requests that were made to break the renderer: each test is named after what came out wrong once.

The templates are small, and each has what the fault needs.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, signature
from pathlib import Path
from typing import Any

import pytest
from model_cases import made
from test_cli import file, run
from test_delivery import LOOP, model_of, said, user
from test_request import continued, through_transformers

from toolfmt.conversation import Conversation
from toolfmt.errors import NotDelivered, ToolfmtError
from toolfmt.model import Model
from toolfmt.render.prompt import render

TEXT = "(m.content if m.content is string else (m.content or []) | map(attribute='text') | join('+'))"
END = "{%- if add_generation_prompt %}{{ '<|assistant|>' }}{%- endif %}"


def template(content: str = TEXT) -> str:
    """A template without tools that writes contents by this expression."""
    return LOOP + "{{ '<|' + m.role + '|>' + " + content + " + '<|end|>' }}{%- endfor %}" + END


def texts(*told: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": text} for text in told]


# An answer that goes on

PARTS = template()
LOOKS = template("((m.content or '').split('</think>') | join('</think>'))")
TRIMS = template("(m.content or '') | trim")
CUTS = template("(m.content or '').split('</think>') | last")


@pytest.mark.parametrize(
    ("small", "begun", "shown"),
    [
        (PARTS, texts("one "), "one "),
        (PARTS, texts("one ", "two\n"), "one +two\n"),
        (LOOKS, texts("one", "two "), "one\ntwo "),
        (TRIMS, texts("one", "two "), "one\ntwo"),
        (LOOKS, "hm</think>", "hm</think>"),
        (LOOKS, "hm</think>\n\n", "hm</think>\n\n"),
        (LOOKS, "hm</think>Yes", "hm</think>Yes"),
        (TRIMS, "hm</think> ", "hm</think>"),
    ],
)
def test_an_answer_of_parts_or_with_a_text_that_is_looked_for_goes_on_at_its_end(
    small: str, begun: Any, shown: str
) -> None:
    prompt = continued(small, user(), said(begun))
    assert prompt.text == f"<|user|>one<|end|><|assistant|>{shown}"
    assert prompt.prefill == shown
    assert through_transformers(small, prompt.request()) == prompt.text


def test_an_answer_that_the_template_leaves_out_cannot_go_on() -> None:
    with pytest.raises(NotDelivered) as refused:
        continued(CUTS, user(), said("hm</think>"))
    told = "messages[1] (assistant): small/chat_template.jinja leaves out the text that is to go on"
    assert str(refused.value).startswith(told)
    assert continued(CUTS, user(), said("hm</think>Yes")).prefill == "Yes"


# The command line: what is no variable, and what of a request has no part in a prompt

EFFORT = "{{ reasoning_effort or '' }}{{ documents | tojson if documents }}" + PARTS
ASKED = {"messages": [user()]}


def rendered(directory: Path, request: dict[str, Any], *options: str) -> Any:
    made(directory, EFFORT)
    return run("render", str(directory / "model"), "--request", file(directory, request), *options)


OF_RENDERING = [
    parameter.name
    for function in (render, Model.render, Model.isolated_render)
    for parameter in signature(function).parameters.values()
    if parameter.kind is not Parameter.VAR_KEYWORD
]


@pytest.mark.parametrize("name", sorted({*OF_RENDERING, "self"} - {"add_generation_prompt", "continue_final_message"}))
def test_what_rendering_takes_itself_is_no_variable(name: str, tmp_path: Path) -> None:
    for request, options in ((ASKED, ("--var", f"{name}=1")), ({**ASKED, "chat_template_kwargs": {name: 1}}, ())):
        result = rendered(tmp_path, request, *options)
        assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
        assert f'"{name}" is no variable of a template' in result.stderr


@pytest.mark.parametrize("name", ["previous_response_id", "conversation"])
def test_turns_that_only_a_server_holds_are_asked_for(name: str, tmp_path: Path) -> None:
    result = rendered(tmp_path, {"input": "one", name: "resp_1"})
    told = f'"{name}" names turns that only its server holds; give them all in "input"\n'
    assert (result.exit_code, result.stdout, result.stderr.endswith(f"given.json: {told}")) == (2, "", True)
    assert rendered(tmp_path, {"input": "one", name: None}).exit_code == 0


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"reasoning_effort": "high"}, """a template that reads it is given --var reasoning_effort='"high"'"""),
        ({"reasoning": {"effort": "low"}}, """a template that reads it is given --var reasoning_effort='"low"'"""),
        ({"reasoning": {"summary": "auto"}}, "a template that reads it is given --var reasoning_effort=JSON"),
        ({"thinking": {"type": "enabled"}}, "a template that reads it is given --var enable_thinking='true'"),
        ({"documents": ["it's"]}, "a template that reads it is given --var documents=JSON"),
        ({"chat_template": "x"}, "name its file in the place of MODEL to render with it"),
        ({"tool_choice": "none"}, "the prompt offers all tools; leave out those that are not to be called"),
        ({"response_format": {"type": "json_object"}}, "say in a message what the answer is to look like"),
    ],
)
def test_what_servers_render_in_ways_of_their_own_is_told(more: dict[str, Any], told: str, tmp_path: Path) -> None:
    result = rendered(tmp_path, {**ASKED, **more})
    assert (result.exit_code, result.stdout) == (0, "<|user|>one<|end|><|assistant|>")
    assert result.stderr == f'toolfmt: {tmp_path / "given.json"}: "{next(iter(more))}" is not passed on; {told}\n'


@pytest.mark.parametrize(
    ("more", "options", "effort"),
    [
        ({"reasoning_effort": "high"}, ["--var", 'reasoning_effort="high"'], "high"),
        ({"reasoning_effort": "high", "chat_template_kwargs": {"reasoning_effort": "low"}}, [], "low"),
        ({"reasoning_effort": None, "tool_choice": "auto", "response_format": {"type": "text"}}, [], ""),
        ({"temperature": 1, "model": "m", "stop": ["x"]}, [], ""),
    ],
)
def test_what_is_given_as_a_variable_or_as_it_is_anyway_is_not_told(
    more: dict[str, Any], options: list[str], effort: str, tmp_path: Path
) -> None:
    result = rendered(tmp_path, {**ASKED, **more}, *options)
    assert (result.stdout, result.stderr) == (f"{effort}<|user|>one<|end|><|assistant|>", "")


# What is no tokenizer


class Otherwise:
    def encode(self, text: str) -> list[int]:
        return list(text.encode())


@pytest.mark.parametrize(
    ("tokenizer", "given"),
    [
        ("gpt2", "a string"),
        (b"gpt2", "a bytes"),
        (None, "null"),
        (Otherwise, "a class"),
        (Otherwise(), "a Otherwise that encodes otherwise (Otherwise.encode() got an unexpected keyword argument"),
    ],
)
def test_what_is_no_tokenizer_is_one_line(tokenizer: Any, given: str) -> None:
    model, messages = model_of(PARTS), [user("<|user|>")]
    turn = Conversation(model, messages).prompt()
    asked: list[Callable[[], object]] = [
        lambda: turn.stable_tokens(tokenizer),
        lambda: turn.prompt.token_ids(tokenizer),
        lambda: model.render(messages, neutralise=True, markers=["<|user|>"]).token_ids(tokenizer),
    ]
    if tokenizer is not None:  # then the model's own counts
        asked.append(lambda: model.render(messages, context=100, tokenizer=tokenizer))
    for ask in asked:
        with pytest.raises(ToolfmtError) as refused:
            ask()
        assert str(refused.value).startswith(f"the tokenizer is {given}")
        assert "\n" not in str(refused.value)
