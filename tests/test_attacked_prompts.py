"""Prompts of requests that were made to break the renderer: each test is named after what came out wrong once.

The templates are small, and each has what the fault needs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from decimal import Decimal
from inspect import Parameter, signature
from pathlib import Path
from typing import Any

import pytest
from model_cases import made
from test_cli import file, run
from test_delivery import LOOP, PLAIN, changed, model_of, refusing, said, user
from test_prompt import DROPS_TOOLS
from test_request import continued, through_transformers

from toolfmt.conversation import Conversation
from toolfmt.errors import BadMessages, NotDelivered, ToolfmtError
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


# Results and calls


def call(name: str, arguments: Any, id: str | None = None) -> dict[str, Any]:
    told = {"type": "function", "function": {"name": name, "arguments": arguments}}
    return told if id is None else {"id": id, **told}


def returned(text: str, id: str | None = None) -> dict[str, Any]:
    return {"role": "tool", "content": text} | ({} if id is None else {"tool_call_id": id})


def two_turns(id: str | None) -> list[dict[str, Any]]:
    """Two exchanges, whose calls have this same id, or none."""
    first = [user(), said("", tool_calls=[call("find", {"x": "1"}, id)]), returned("r1", id)]
    return [*first, said(), user("two"), said("", tool_calls=[call("tell", {"x": "2"}, id)]), returned("r2", id)]


def one_turn(id: str | None) -> list[dict[str, Any]]:
    """A turn of two calls that have this same id, or none."""
    both = [call("find", {"x": "1"}, id), call("tell", {"x": "2"}, id)]
    return [user(), said("", tool_calls=both), returned("r1", id), returned("r2", id)]


NAMED = changed("m.role + '|>'", "m.role + (' ' + m.name if m.name else '') + '|>'")
NAMES_NEEDED = refusing("m.role == 'tool' and not m.name", NAMED)
SAME_IDS = {
    "two exchanges with one id": two_turns("call_0"),
    "two exchanges without ids": two_turns(None),
    "two calls of one id": one_turn("call_0"),
    "two calls without ids": one_turn(None),
}


@pytest.mark.parametrize("messages", SAME_IDS.values(), ids=SAME_IDS)
def test_a_result_is_told_of_the_tool_that_its_own_turn_called(messages: list[dict[str, Any]]) -> None:
    in_words = model_of(DROPS_TOOLS).render(messages)
    assert "results-as-user-messages" in in_words.adaptations
    assert re.findall(r"Result of (\w+):\n(\w+)", in_words.text) == [("find", "r1"), ("tell", "r2")]
    named = model_of(NAMES_NEEDED).render(messages)
    assert named.adaptations == ("results-named",)
    assert re.findall(r"<\|tool (\w+)\|>(\w+)", named.text) == [("find", "r1"), ("tell", "r2")]


IDS_SHOWN = changed("m.role + '|>'", "m.role + (' ' + m.tool_call_id if m.tool_call_id else '') + '|>'")
CALL_IDS_SHOWN = changed("""'", "arg""", """'", "id": "' + c.id + '", "arg""", IDS_SHOWN)
SHORT_IDS = refusing("m.tool_calls and m.tool_calls[0].id | length != 9", CALL_IDS_SHOWN)
FUNCTION_IDS = changed("c.function.name", "c.id.split(':')[0].split('.')[1]", CALL_IDS_SHOWN)


@pytest.mark.parametrize(
    "small, named, ids",
    [
        (SHORT_IDS, "ids-shortened", ["call00000", "call00001"]),
        (FUNCTION_IDS, "ids-as-functions", ["functions.find:0", "functions.tell:1"]),
    ],
)
@pytest.mark.parametrize("title", ["two exchanges with one id", "two calls of one id"])
def test_results_of_one_old_id_get_the_new_ids_of_their_calls(
    small: str, named: str, ids: list[str], title: str
) -> None:
    prompt = model_of(small).render(SAME_IDS[title])
    assert named in prompt.adaptations
    assert re.findall(r'"id": "(.*?)"', prompt.text) == ids
    assert re.findall(r"<\|tool ([^|]+)\|>(\w+)", prompt.text) == list(zip(ids, ("r1", "r2"), strict=True))


NO_TEXT = "{% for c in m.tool_calls or [] if c.function.arguments.values() | select('string') | list %}"
DROPS_CALLS = changed("{% for c in m.tool_calls or [] %}", NO_TEXT, NAMED)
"""Writes calls that have a text among their arguments, and the name of the tool of a result."""


@pytest.mark.parametrize("name", ["a", "find"])  # the one stands in what the template writes itself
@pytest.mark.parametrize("arguments", [{}, {"utc": True}, {"x": None}, {"x": [False, {}]}, "{}"])
def test_a_call_without_texts_that_the_template_drops_is_found(name: str, arguments: Any) -> None:
    messages = [user(), said("", tool_calls=[call(name, arguments, "k")]), {**returned("it", "k"), "name": name}]
    prompt = model_of(DROPS_CALLS).render(messages)
    object = arguments if isinstance(arguments, str) else json.dumps(arguments)
    assert "calls-as-content" in prompt.adaptations
    assert prompt.text.count(f'<tool_call>{{"name": "{name}", "arguments": {object}}}</tool_call>') == 1
    assert prompt.text.count(f"Result of {name}:\nit") == 1


# What templates look for and take out


TAKES_OUT = template("(m.content or '').replace('</think>', '')")
SWITCHES = template("(m.content or '').replace('/no_think', '').replace('/think', '')")


@pytest.mark.parametrize("text", ["</think> tail", "head </think>", "head </think> tail"])
def test_what_is_taken_out_at_the_edge_of_a_text_is_lost(text: str) -> None:
    for role in ("user", "system"):
        messages = [{"role": role, "content": text}, user("two")]
        with pytest.raises(NotDelivered) as refused:
            model_of(TAKES_OUT).render(messages)
        assert str(refused.value).startswith(f"messages[0] ({role}): its text (changed inside) is lost")
        prompt = model_of(TAKES_OUT).render(messages, lossy=True)
        assert prompt.lost == (f"messages[0] ({role}): its text (changed inside)",)
        assert prompt.text.startswith(f"<|{role}|>{text.replace('</think>', '')}<|end|>")


@pytest.mark.parametrize("text", ["one /no_think", "/think one", "one /think two"])
def test_a_switch_that_is_taken_out_is_named(text: str) -> None:
    prompt = model_of(SWITCHES).render([user(text)])
    assert (prompt.adaptations, prompt.lost) == (("switch-taken-out",), ())
    assert model_of(PARTS).render([user(text)]).adaptations == ()


@pytest.mark.parametrize("text", ["src/think/it", "one/think"])
def test_a_part_of_a_word_is_no_switch(text: str) -> None:
    with pytest.raises(NotDelivered):
        model_of(SWITCHES).render([user(text)])


# Arguments, definitions and parts that nothing can write


ENDLESS: dict[str, Any] = {}
ENDLESS["x"] = ENDLESS


def deep(levels: int) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for _ in range(levels):
        made = {"a": made}
    return made


@pytest.mark.parametrize("small", [PLAIN, DROPS_TOOLS], ids=["through the template", "in words"])
@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"x": Decimal("1.5")}, "a value of type Decimal"),
        ({"x": {1}}, "a value of type set"),
        ({"x": float("nan")}, "not JSON compliant"),
        ({"x": float("-inf")}, "not JSON compliant"),
        ('{"x": 1e400}', "not JSON compliant"),
        ('{"x": NaN}', "NaN is no JSON"),
        (ENDLESS, "Circular reference"),
        (deep(3000), "nested too deeply"),
        ({"x": 10**5000}, "an integer of more than 4300 digits"),
        (f'{{"x": 1{"0" * 5000}}}', "an integer of more than 4300 digits"),
    ],
)  # fmt: skip
def test_arguments_that_json_cannot_hold_are_bad_messages(small: str, arguments: Any, why: str) -> None:
    with pytest.raises(BadMessages) as refused:
        model_of(small).render([user(), said("", tool_calls=[call("find", arguments, "k")]), returned("it", "k")])
    assert str(refused.value).startswith("messages[1].tool_calls[0]: the arguments ")
    assert why in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("small", [PLAIN, DROPS_TOOLS], ids=["through the template", "in words"])
def test_a_number_larger_than_any_of_a_float_is_written(small: str) -> None:
    number = 10**400
    for arguments in ({"x": number}, f'{{"x": {number}}}'):
        messages = [user(), said("", tool_calls=[call("find", arguments, "k")]), returned("it", "k")]
        assert model_of(small).render(messages).text.count(f'{{"x": {number}}}') == 1


@pytest.mark.parametrize("small", [PLAIN, DROPS_TOOLS], ids=["through the template", "in words"])
@pytest.mark.parametrize("property", [{"default": deep(3000)}, {"enum": [deep(3000)]}, {"default": ENDLESS}])
def test_a_definition_that_is_nested_without_end_is_one_line(small: str, property: dict[str, Any]) -> None:
    tool = call("find", None)["function"] | {"parameters": {"type": "object", "properties": {"x": property}}}
    del tool["arguments"]
    for strategy in ("auto", "prose"):
        with pytest.raises(ToolfmtError, match=r"^[^\n]*nested too deeply[^\n]*$"):
            model_of(small).render([user()], [tool], strategy=strategy)


@pytest.mark.parametrize("part", [{"type": "json", "data": deep(3000)}, {"type": "image", "image": deep(3000)}])
def test_a_part_that_is_nested_without_end_is_one_line(part: dict[str, Any]) -> None:
    for small in (PLAIN, PARTS):
        with pytest.raises(ToolfmtError) as refused:
            model_of(small).render([user([part])])  # type: ignore[arg-type]
        assert "\n" not in str(refused.value)
