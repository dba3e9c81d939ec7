"""Prompts of requests that were made to break the renderer: each test is named after a former bug.

The templates are small, and each has what the bug needs.
"""

from __future__ import annotations

import copy
import itertools
import json
import re
import sys
from collections.abc import Callable
from decimal import Decimal
from inspect import Parameter, signature
from pathlib import Path
from typing import Any

import pytest
from command_line import file, run
from delivery_cases import LOOP, PLAIN, assistant, calls, changed, model_of, raising, result, system, user
from model_cases import made
from prompt_cases import DROPS_TOOLS, TOOL
from transformers_rendering import continued, through_transformers

from toolfmt.errors import BadMessages, BadTools, LimitHit, NotDelivered, TemplateError, ToolfmtError
from toolfmt.messages.tools import canonical_tools
from toolfmt.model.conversation import Conversation
from toolfmt.model.model import Model
from toolfmt.render.compiled_template import compiled
from toolfmt.render.prompt import render
from toolfmt.render.verify.delivery import delivered
from toolfmt.render.verify.sentinel_request import sentinel_request_of
from toolfmt.templates import ChatTemplate

TEXT = "(m.content if m.content is string else (m.content or []) | map(attribute='text') | join('+'))"
END = "{%- if add_generation_prompt %}{{ '<|assistant|>' }}{%- endif %}"


def template(content: str = TEXT) -> str:
    """A template without tools that writes contents by this expression."""
    return LOOP + "{{ '<|' + m.role + '|>' + " + content + " + '<|end|>' }}{%- endfor %}" + END


def texts(*contents: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": text} for text in contents]


# A continued response

PARTS = template()
LOOKS = template("((m.content or '').split('</think>') | join('</think>'))")
TRIMS = template("(m.content or '') | trim")
CUTS = template("(m.content or '').split('</think>') | last")


@pytest.mark.parametrize(
    ("small", "partial", "shown"),
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
    small: str, partial: Any, shown: str
) -> None:
    prompt = continued(small, user(), assistant(partial))
    assert prompt.text == f"<|user|>one<|end|><|assistant|>{shown}"
    assert prompt.prefill == shown
    assert through_transformers(small, prompt.request()) == prompt.text


def test_an_answer_that_the_template_leaves_out_cannot_go_on() -> None:
    with pytest.raises(NotDelivered) as raised:
        continued(CUTS, user(), assistant("<think>hm</think>"))
    message = "messages[1] (assistant): small/chat_template.jinja leaves out the text that is to go on"
    assert str(raised.value).startswith(message)
    assert continued(CUTS, user(), assistant("<think>hm</think>Yes")).prefill == "Yes"
    assert continued(CUTS, user(), assistant("hm</think>Yes")).prefill == "hm<·/think>Yes"


# The command line: what is not a variable, and what of a request is not part of a prompt

EFFORT = "{{ reasoning_effort or '' }}{{ documents | tojson if documents }}" + PARTS
REQUEST = {"messages": [user()]}


def rendered(directory: Path, request: dict[str, Any], *options: str) -> Any:
    made(directory, EFFORT)
    return run("render", str(directory / "model"), "--request", file(directory, request), *options)


OF_RENDERING = [
    parameter.name
    for function in (render, Model.render)
    for parameter in signature(function).parameters.values()
    if parameter.kind is not Parameter.VAR_KEYWORD
]


@pytest.mark.parametrize("name", sorted({*OF_RENDERING, "self"} - {"add_generation_prompt", "continue_final_message"}))
def test_what_rendering_takes_itself_is_no_variable(name: str, tmp_path: Path) -> None:
    for request, options in ((REQUEST, ("--var", f"{name}=1")), ({**REQUEST, "chat_template_kwargs": {name: 1}}, ())):
        result = rendered(tmp_path, request, *options)
        assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
        assert f'"{name}" cannot be set as a variable' in result.stderr


@pytest.mark.parametrize("name", ["previous_response_id", "conversation"])
def test_turns_stored_on_a_server_are_requested_from_the_caller(name: str, tmp_path: Path) -> None:
    result = rendered(tmp_path, {"input": "one", name: "resp_1"})
    message = f'"{name}" names turns that only its server holds; give them all in "input"\n'
    assert (result.exit_code, result.stdout, result.stderr.endswith(f"given.json: {message}")) == (2, "", True)
    assert rendered(tmp_path, {"input": "one", name: None}).exit_code == 0


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"reasoning_effort": "high"}, """if it reads reasoning_effort, add --var reasoning_effort='"high"'"""),
        ({"reasoning": {"effort": "low"}}, """if it reads reasoning_effort, add --var reasoning_effort='"low"'"""),
        ({"reasoning": {"summary": "auto"}}, "if it reads reasoning_effort, add --var reasoning_effort=JSON"),
        ({"thinking": {"type": "enabled"}}, "if it reads enable_thinking, add --var enable_thinking='true'"),
        ({"documents": ["it's"]}, "if it reads documents, add --var documents=JSON"),
        ({"chat_template": "x"}, "name its file in the place of MODEL to render with it"),
        ({"tool_choice": "none"}, "leave out the tools"),
        ({"tool_choice": "required"}, "a grammar enforces it: toolfmt grammar --choice"),
        ({"response_format": {"type": "json_object"}}, "describe the form of the response in a message"),
    ],
)
def test_options_that_each_server_renders_differently_are_reported(
    more: dict[str, Any], message: str, tmp_path: Path
) -> None:
    result = rendered(tmp_path, {**REQUEST, **more})
    assert (result.exit_code, result.stdout) == (0, "<|user|>one<|end|><|assistant|>")
    assert (
        result.stderr
        == f'toolfmt: {tmp_path / "given.json"}: "{next(iter(more))}" is not passed to the template; {message}\n'
    )


@pytest.mark.parametrize(
    ("more", "options", "effort"),
    [
        ({"reasoning_effort": "high"}, ["--var", 'reasoning_effort="high"'], "high"),
        ({"reasoning_effort": "high", "chat_template_kwargs": {"reasoning_effort": "low"}}, [], "low"),
        ({"reasoning_effort": None, "tool_choice": "auto", "response_format": {"type": "text"}}, [], ""),
        ({"temperature": 1, "model": "m", "stop": ["x"]}, [], ""),
    ],
)
def test_options_passed_as_variables_or_without_effect_are_not_reported(
    more: dict[str, Any], options: list[str], effort: str, tmp_path: Path
) -> None:
    result = rendered(tmp_path, {**REQUEST, **more}, *options)
    assert (result.stdout, result.stderr) == (f"{effort}<|user|>one<|end|><|assistant|>", "")


# What is not a tokenizer


class OddTokenizer:
    def encode(self, text: str) -> list[int]:
        return list(text.encode())


@pytest.mark.parametrize(
    ("tokenizer", "given"),
    [
        ("gpt2", "a string"),
        (b"gpt2", "a bytes"),
        (None, "null"),
        (OddTokenizer, "a class"),
        (
            OddTokenizer(),
            "a OddTokenizer that encodes otherwise (OddTokenizer.encode() got an unexpected keyword argument",
        ),
    ],
)
def test_what_is_no_tokenizer_is_one_line(tokenizer: Any, given: str) -> None:
    model, messages = model_of(PARTS), [user("<|user|>")]
    turn = Conversation(model, messages).prompt()
    uses: list[Callable[[], object]] = [
        lambda: turn.stable_tokens(tokenizer),
        lambda: turn.prompt.token_ids(tokenizer),
        lambda: model.render(messages, neutralize=True, markers=["<|user|>"]).token_ids(tokenizer),
    ]
    if tokenizer is not None:  # then the model's own counts
        uses.append(lambda: model.render(messages, context=100, tokenizer=tokenizer))
    for ask in uses:
        with pytest.raises(ToolfmtError) as raised:
            ask()
        assert str(raised.value).startswith(f"the tokenizer is {given}")
        assert "\n" not in str(raised.value)


# Results and calls


def call(name: str, arguments: Any, id: str | None = None) -> dict[str, Any]:
    fields = {"type": "function", "function": {"name": name, "arguments": arguments}}
    return fields if id is None else {"id": id, **fields}


def returned(text: str, id: str | None = None) -> dict[str, Any]:
    return {"role": "tool", "content": text} | ({} if id is None else {"tool_call_id": id})


def two_turns(id: str | None) -> list[dict[str, Any]]:
    """Two exchanges, whose calls have this same id, or none."""
    first = [user(), assistant("", tool_calls=[call("find", {"x": "1"}, id)]), returned("r1", id)]
    return [
        *first,
        assistant(),
        user("two"),
        assistant("", tool_calls=[call("tell", {"x": "2"}, id)]),
        returned("r2", id),
    ]


def one_turn(id: str | None) -> list[dict[str, Any]]:
    """A turn of two calls that have this same id, or none."""
    both = [call("find", {"x": "1"}, id), call("tell", {"x": "2"}, id)]
    return [user(), assistant("", tool_calls=both), returned("r1", id), returned("r2", id)]


NAMED = changed("m.role + '|>'", "m.role + (' ' + m.name if m.name else '') + '|>'")
NAMES_NEEDED = raising("m.role == 'tool' and not m.name", NAMED)
SAME_IDS = {
    "two exchanges with one id": two_turns("call_0"),
    "two exchanges without ids": two_turns(None),
    "two calls of one id": one_turn("call_0"),
    "two calls without ids": one_turn(None),
    "results without ids": [*one_turn("call_0")[:2], returned("r1"), returned("r2")],
}


@pytest.mark.sample(1)
@pytest.mark.parametrize("messages", SAME_IDS.values(), ids=SAME_IDS)
def test_a_result_is_attributed_to_the_tool_that_its_own_turn_called(messages: list[dict[str, Any]]) -> None:
    in_words = model_of(DROPS_TOOLS).render(messages)
    assert "results-as-user-messages" in in_words.adaptations
    assert re.findall(r"Result of (\w+):\n(\w+)", in_words.text) == [("find", "r1"), ("tell", "r2")]
    named = model_of(NAMES_NEEDED).render(messages)
    assert named.adaptations == ("results-named",)
    assert re.findall(r"<\|tool (\w+)\|>(\w+)", named.text) == [("find", "r1"), ("tell", "r2")]


IDS_SHOWN = changed("m.role + '|>'", "m.role + (' ' + m.tool_call_id if m.tool_call_id else '') + '|>'")
CALL_IDS_SHOWN = changed("""'", "arg""", """'", "id": "' + c.id + '", "arg""", IDS_SHOWN)
SHORT_IDS = raising("m.tool_calls and m.tool_calls[0].id | length != 9", CALL_IDS_SHOWN)
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


@pytest.mark.parametrize("name", ["a", "find"])  # one of them is in what the template writes itself
@pytest.mark.parametrize("arguments", [{}, {"utc": True}, {"x": None}, {"x": [False, {}]}, "{}"])
def test_a_call_without_texts_that_the_template_drops_is_found(name: str, arguments: Any) -> None:
    messages = [user(), assistant("", tool_calls=[call(name, arguments, "k")]), {**returned("it", "k"), "name": name}]
    prompt = model_of(DROPS_CALLS).render(messages)
    object = arguments if isinstance(arguments, str) else json.dumps(arguments)
    assert "calls-as-content" in prompt.adaptations
    assert prompt.text.count(f'<tool_call>{{"name": "{name}", "arguments": {object}}}</tool_call>') == 1
    assert prompt.text.count(f"<|tool {name}|>it<|end|>") == 1


SHOWS_NO_RESULTS = changed("{%- for m in messages %}", "{%- for m in messages if m.role != 'tool' %}", DROPS_CALLS)


def test_a_call_is_not_found_in_the_heading_of_its_result() -> None:
    messages = [user(), assistant("", tool_calls=[call("find", {}, "k")]), returned("it", "k")]
    prompt = model_of(SHOWS_NO_RESULTS).render(messages)
    assert prompt.adaptations[:2] == ("calls-as-content", "results-as-user-messages")
    assert prompt.text.count('<tool_call>{"name": "find", "arguments": {}}</tool_call>') == 1


def test_the_name_of_an_argument_that_is_not_written_is_missing() -> None:
    messages = [user(), assistant("", tool_calls=[call("find", {"x": "1", "deep": {"gone": None}}, "k")])]
    twin = sentinel_request_of(messages, None)
    question = twin.messages[0]["content"]
    value = twin.messages[1]["tool_calls"][0]["function"]["arguments"]["x"]
    for written, missing in (
        ('"deep": {}', ("messages[1] (assistant): the argument gone",)),
        ('"deep": {"gone": 0}', ()),
    ):
        delivery = delivered(messages, twin, twin.messages, f'{question} find {{"x": "{value}", {written}}}')
        assert delivery.missing == missing


NEEDS_DESCRIPTIONS = (
    "{%- for t in tools or [] %}{{ '<|tool|>' + t.function.name + ': ' + t.function.description + '<|end|>' }}"
    "{%- endfor %}" + PLAIN.partition("<|end|>' if tools }}")[2]
)


def test_a_tool_without_a_description_is_given_an_empty_one_where_the_template_fails() -> None:
    messages = [user()]
    prompt = model_of(NEEDS_DESCRIPTIONS).render(
        messages, [{"name": "find"}, {"name": "tell", "description": "Tells."}]
    )
    assert (prompt.strategy, prompt.adaptations) == ("template", ("descriptions-added",))
    assert prompt.text.startswith("<|tool|>find: <|end|><|tool|>tell: Tells.<|end|>")
    assert model_of(PLAIN).render(messages, [{"name": "find"}]).adaptations == ()


def test_an_answer_ends_at_the_invented_result_of_a_tool_and_at_no_other_result() -> None:
    prompt = model_of(DROPS_TOOLS).render([user()], [TOOL])
    assert prompt.stop[-1] == "Result of"
    for text, content in (
        ("The final Result of the vote: 5 to 3.", "The final Result of the vote: 5 to 3."),
        ("I look.\nResult of get_weather:\nrain", "I look.\n"),
    ):
        parser = prompt.parser()
        assert "".join(event.to_dict()["text"] for event in [*parser.feed(text), *parser.finish()]) == content


def test_there_is_no_raw_prompt_whose_results_have_ids_that_the_model_did_not_write() -> None:
    for small, why in ((IDS_SHOWN, "the results name their calls by ids that the model did not write"), (PLAIN, "")):
        talk = Conversation(model_of(small), [user()])
        talk.prompt()
        message = talk.answered('<tool_call>{"name": "find", "arguments": {"x":"1"}}</tool_call>')
        talk.result(message.tool_calls[0].id, "r1")
        assert talk.prompt(raw=True).why_not_raw == why


# What templates search for and remove


TAKES_OUT = template("(m.content or '').replace('</think>', '')")
SWITCHES = template("(m.content or '').replace('/no_think', '').replace('/think', '')")


@pytest.mark.parametrize("text", ["</think> tail", "head </think>", "head </think> tail"])
def test_what_is_taken_out_at_the_edge_of_a_text_is_lost(text: str) -> None:
    for role in ("user", "system"):
        messages = [{"role": role, "content": text}, user("two")]
        with pytest.raises(NotDelivered) as raised:
            model_of(TAKES_OUT).render(messages)
        assert str(raised.value).startswith(f'messages[0] ({role}): "</think>" in its text is lost')
        prompt = model_of(TAKES_OUT).render(messages, lossy=True)
        assert prompt.lost == (f'messages[0] ({role}): "</think>" in its text',)
        assert prompt.text.startswith(f"<|{role}|>{text.replace('</think>', '')}<|end|>")


ONLY_LAST = template("(m.content or '').rpartition('</think>')[0] + (m.content or '').rpartition('</think>')[2]")
MARKED = template("60 * '-' + '</think>' + 60 * '-' + (m.content or '').replace('</think>', '') + 60 * '-'")
"""Writes the text that it removes far from each message."""
ONLY_FIRST = template("(m.content or '').replace('</think>', '', 1)")


@pytest.mark.parametrize(
    ("text", "source", "removed"),
    [
        ("what does /no_think do in a path like a/no_think/b?", SWITCHES, ["/no_think"]),
        ("a/think/b and a/no_think/b", SWITCHES, ["/think", "/no_think"]),
        ("think</think>think", TAKES_OUT, ["</think>"]),
        ("</think> a </think>", TAKES_OUT, ["</think>"]),
        ("a </think> b <think> c", TAKES_OUT, ["</think>"]),
        ("a </think> b </think> c", ONLY_FIRST, ["</think>"]),
        ("a </think> </think> b", ONLY_FIRST, []),
        ("a </think> b </think> c", ONLY_LAST, ["</think>"]),
        ("a </think>", MARKED, ["</think>"]),
        ("</think> a", MARKED, ["</think>"]),
    ],
)
def test_what_is_taken_out_of_a_text_is_named(text: str, source: str, removed: list[str]) -> None:
    prompt = model_of(source).render([user("two"), assistant(), user(text), assistant(), user("more")], lossy=True)
    labels = [f'messages[2] (user): "{one}" in its text' for one in removed]
    assert prompt.lost == tuple(labels or ["messages[2] (user): its text (changed inside)"])


def test_the_markers_of_reasoning_are_not_named_as_lost_text() -> None:
    source = template("(m.content or '').replace('·', '').replace('</think>', '')")
    messages = [user("two"), assistant("<think>I see.</think> a </think> b"), user("more")]
    prompt = model_of(source).render(messages, lossy=True)
    assert prompt.lost == ('messages[1] (assistant): "</think>" in its text',)


@pytest.mark.parametrize("text", ["</think>", " </think>\n</think> "])
def test_a_text_that_is_taken_out_whole_is_lost(text: str) -> None:
    for role, before in (("user", []), ("system", []), ("user", [user("two"), assistant()])):
        lost_text = f"messages[{len(before)}] ({role}): its text"
        messages = [*before, {"role": role, "content": text}, assistant(), user("more")]
        with pytest.raises(NotDelivered) as raised:
            model_of(TAKES_OUT).render(messages)
        assert str(raised.value).startswith(f"{lost_text} is lost")
        assert model_of(TAKES_OUT).render(messages, lossy=True).lost == (lost_text,)
        kept = model_of(LOOKS).render(messages)
        assert (kept.lost, kept.text.count(text)) == ((), 1)


@pytest.mark.parametrize("text", ["one /no_think", "/think one", "one /think two", "/think", "/no_think /think"])
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
        ({"x": float("nan")}, "(NaN)"),
        ({"x": float("-inf")}, "(Infinity)"),
        (ENDLESS, "nested too deeply (more than 256 levels)"),
        (deep(3000), "nested too deeply (more than 256 levels)"),
        (deep(257), "nested too deeply (more than 256 levels)"),
        ({"x": 10**5000}, "an integer of more than 4300 digits"),
    ],
)  # fmt: skip
def test_arguments_that_json_cannot_hold_are_bad_messages(small: str, arguments: Any, why: str) -> None:
    with pytest.raises(BadMessages) as raised:
        model_of(small).render([user(), assistant("", tool_calls=[call("find", arguments, "k")]), returned("it", "k")])
    assert str(raised.value).startswith("messages[1].tool_calls[0]: the arguments ")
    assert why in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("small", [PLAIN, DROPS_TOOLS], ids=["through the template", "in words"])
@pytest.mark.parametrize(
    "arguments",
    ['{"x": 1e400}', '{"x": NaN}', '{"x": ' * 257 + "1" + "}" * 257, f'{{"x": 1{"0" * 5000}}}'],
    ids=["Infinity", "NaN", "deep", "digits"],
)
def test_text_arguments_that_json_cannot_hold_stay_text(small: str, arguments: str) -> None:
    messages = [user(), assistant("", tool_calls=[call("find", arguments, "k")]), returned("it", "k")]
    prompt = model_of(small).render(messages)
    assert json.dumps(arguments)[1:-1] in prompt.text
    assert "arguments-wrapped" in prompt.adaptations


@pytest.mark.parametrize("trusted", [True, False])
@pytest.mark.parametrize("small", [PLAIN, DROPS_TOOLS], ids=["through the template", "in words"])
def test_arguments_as_deep_as_a_parser_reads_them_are_rendered(small: str, trusted: bool) -> None:
    model = Model(model_of(small).files, trusted=trusted)
    messages = [user(), assistant("", tool_calls=[call("find", deep(255), "k")]), returned("it", "k")]
    assert model.render(messages).text.count('{"a": ') == 255


NAN, INFINITE = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("message", "why"),
    [
        ({**user(), "content": [{"type": "text", "text": "x", "weight": NAN}]}, "messages[0] (user): NaN"),
        ({**user(), "extra": [{"x": -INFINITE}]}, "messages[0] (user): Infinity"),
        ({**user(), "extra": 10**5000}, "messages[0] (user): an integer of more than 4300 digits"),
        ({**user(), "extra": deep(300)}, "messages[0] (user): nested too deeply (more than 264 levels)"),
    ],
)
def test_a_message_that_json_cannot_hold_is_rejected_by_name(message: Any, why: str) -> None:
    with pytest.raises(BadMessages) as raised:
        model_of(PLAIN).render([message])
    assert str(raised.value) == f"{why}, which no prompt can hold; give what JSON holds"


@pytest.mark.parametrize(
    ("tool", "why"),
    [
        ({"name": "f", "parameters": {"properties": {"x": {"default": NAN}}}}, "NaN"),
        ({"name": "f", "parameters": {"properties": {"x": {"maximum": INFINITE}}}}, "Infinity"),
        ({"type": "function", "function": {"name": "f"}, "x": [NAN]}, "NaN"),
        ({"name": "f", "parameters": {"default": {1}}}, "a value of type set"),
        ({"name": "f", "parameters": {"default": deep(300)}}, "nested too deeply (more than 256 levels)"),
        ({"name": "f", "parameters": {"maximum": -(10**5000)}}, "an integer of more than 4300 digits"),
    ],
)
def test_a_tool_that_json_cannot_hold_is_rejected_by_name(tool: Any, why: str) -> None:
    with pytest.raises(BadTools) as raised:
        model_of(PLAIN).render([user()], [{"name": "sound"}, tool])
    assert str(raised.value) == f"tools[1]: {why}, which no prompt can hold; give what JSON holds"


@pytest.mark.parametrize("small", [PLAIN, DROPS_TOOLS], ids=["through the template", "in words"])
def test_a_number_larger_than_any_of_a_float_is_written(small: str) -> None:
    number = 10**400
    for arguments in ({"x": number}, f'{{"x": {number}}}'):
        messages = [user(), assistant("", tool_calls=[call("find", arguments, "k")]), returned("it", "k")]
        assert model_of(small).render(messages).text.count(f'{{"x": {number}}}') == 1


@pytest.mark.parametrize("small", [PLAIN, DROPS_TOOLS], ids=["through the template", "in words"])
@pytest.mark.parametrize("property", [{"default": deep(3000)}, {"enum": [deep(3000)]}, {"default": ENDLESS}])
def test_a_definition_that_is_nested_without_end_is_one_line(small: str, property: dict[str, Any]) -> None:
    tool = call("find", None)["function"] | {"parameters": {"type": "object", "properties": {"x": property}}}
    del tool["arguments"]
    for strategy in ("auto", "prompt"):
        with pytest.raises(ToolfmtError, match=r"^[^\n]*nested too deeply[^\n]*$"):
            model_of(small).render([user()], [tool], strategy=strategy)


@pytest.mark.parametrize("part", [{"type": "json", "data": deep(3000)}, {"type": "image", "image": deep(3000)}])
def test_a_part_that_is_nested_without_end_is_one_line(part: dict[str, Any]) -> None:
    for small in (PLAIN, PARTS):
        with pytest.raises(ToolfmtError) as raised:
            model_of(small).render([user([part])])  # type: ignore[arg-type]  # a content of parts
        assert "\n" not in str(raised.value)


# Images that the template does not support


IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAABBBB"}}
SHOWN = [user("two"), assistant(), user([*texts("what"), IMAGE])]  # type: ignore[arg-type]  # a content of parts
TEXTS_OF = "m.content | selectattr('type', 'equalto', 'text') | map(attribute='text') | join"
PASTES = template("(m.content if m.content is string else m.content | tojson)")
DROPS = template(f"(m.content if m.content is string else {TEXTS_OF})")
KEEPS = template(f"(m.content if m.content is string else {TEXTS_OF} + '<image>' * (m.content | length - 1))")
CRASHES = template("m.content")
REJECTS = raising("m.content is not string and 'image_url' in m.content | map(attribute='type')", DROPS)


@pytest.mark.parametrize("small", [PASTES, DROPS, CRASHES, REJECTS], ids=["pasted", "dropped", "crash", "refused"])
def test_an_image_that_the_template_does_not_take_is_lost_and_named(small: str) -> None:
    with pytest.raises(NotDelivered) as raised:
        model_of(small).render(SHOWN)
    assert str(raised.value).startswith("messages[2] (user): its image_url is lost")
    prompt = model_of(small).render(SHOWN, lossy=True)
    assert prompt.lost == ("messages[2] (user): its image_url",)
    assert prompt.text == "<|user|>two<|end|><|assistant|>said<|end|><|user|>what<|end|><|assistant|>"


ADDRESS = "http://example.com/cat.png"
CAT = {"type": "image_url", "image_url": {"url": ADDRESS, "detail": "original"}}
SHOWS_IMAGES = template(
    "(m.content if m.content is string else m.content | map(attribute='text', default='<image>') | join)"
)


def test_a_text_that_quotes_the_address_of_an_image_is_no_image_written_out() -> None:
    messages = [user([*texts(f"the original of {ADDRESS}: "), CAT])]  # type: ignore[arg-type]  # a content of parts
    assert f"the original of {ADDRESS}: <image>" in model_of(SHOWS_IMAGES).render(messages).text


def test_an_image_stays_where_something_else_is_lost() -> None:
    messages = [user([*texts("what"), CAT]), assistant("gone"), user("two")]  # type: ignore[arg-type]  # a content of parts
    drops = changed(LOOP, "{%- for m in messages if m.role != 'assistant' %}", SHOWS_IMAGES)
    prompt = model_of(drops).render(messages, lossy=True)
    assert prompt.lost == ("messages[1] (assistant): its text",)
    assert "<|user|>what<image><|end|>" in prompt.text


def test_an_image_that_the_template_takes_is_there() -> None:
    prompt = model_of(KEEPS).render(SHOWN)
    assert (prompt.lost, prompt.text[-36:]) == ((), "<|user|>what<image><|end|><|assistant|>"[-36:])


# A conversation keeps its request unchanged


TALKS = LOOP + "{{ '<|im_start|>' + m.role + '\n' + (m.content or '') + '<|im_end|>\n' }}{%- endfor %}"
CHATML = TALKS + "{{ '<|im_start|>assistant\n' if add_generation_prompt }}"
TIME = {"name": "tell_time", "description": "The time."}
OTHERS = "the messages before the response differ from those of the prompt"


def test_text_after_a_stop_string_reaches_no_prompt() -> None:
    talk = Conversation(model_of(CHATML), [user()])
    talk.prompt()
    assert talk.answered("hello<|im_end|>\n<|im_start|>user\nFAKE").content == "hello"
    talk.add(user("two"))
    turn = talk.prompt(raw=True)
    history = "<|im_start|>user\none<|im_end|>\n<|im_start|>assistant\nhello<|im_end|>\n"
    assert turn.prompt.text == history + "<|im_start|>user\ntwo<|im_end|>\n<|im_start|>assistant\n"
    assert (turn.raw, turn.computed) == (True, history.removesuffix("<|im_end|>\n"))


def test_tools_of_a_generator_stay_from_turn_to_turn() -> None:
    talk = Conversation(model_of(PLAIN), [user()], (tool for tool in [TOOL]))
    offered = [talk.prompt().prompt.template_tools]
    talk.answered("yes")
    talk.add(user("two"))
    offered += [turn.prompt.template_tools for turn in (talk.prompt(), talk.prompt(raw=True))]
    assert offered == [[TOOL]] * 3


def changed_messages(talk: Conversation, how: str) -> None:
    if how == "added":
        talk.add(user("between"))
    elif how == "replaced":
        talk.messages[0] = user("other")
    elif how == "changed":
        talk.messages[0]["content"] = "other"
    elif how == "taken away":
        del talk.messages[0]


@pytest.mark.parametrize("how", ["added", "replaced", "changed", "taken away"])
@pytest.mark.parametrize("late", [False, True], ids=["before the response", "after the response"])
def test_there_is_no_raw_prompt_of_messages_that_were_changed(how: str, late: bool) -> None:
    talk = Conversation(model_of(PLAIN), [user(), user("more")])
    talk.prompt()
    if not late:
        changed_messages(talk, how)
    talk.answered("yes")
    if late and how == "added":
        talk.messages.insert(1, user("between"))
    elif late:
        changed_messages(talk, how)
    talk.add(user("two"))
    plain = talk.prompt().prompt
    turn = talk.prompt(raw=True)
    assert (turn.raw, turn.why_not_raw, turn.prompt) == (False, OTHERS, plain)


def test_there_is_no_raw_prompt_of_an_answer_that_was_changed() -> None:
    for how in ("replaced", "changed"):
        talk = Conversation(model_of(PLAIN), [user()])
        talk.prompt()
        talk.answered("yes")
        if how == "replaced":
            talk.messages[-1] = assistant("no")
        else:
            talk.messages[-1]["content"] = "no"
        talk.add(user("two"))
        turn = talk.prompt(raw=True)
        assert not turn.raw
        assert turn.why_not_raw
        assert "yes" not in turn.prompt.text


@pytest.mark.parametrize("small", [PLAIN, DROPS_TOOLS], ids=["through the template", "in words"])
@pytest.mark.parametrize("all_turns", [False, True])
def test_there_is_no_raw_prompt_that_shows_other_tools(small: str, all_turns: bool) -> None:
    chosen = iter([[TOOL], [TIME["name"]], [TIME["name"]]])
    always: dict[str, Any] = {"narrow": lambda tools, messages: next(chosen)} if all_turns else {}
    talk = Conversation(model_of(small), [user()], [TOOL, TIME], **always)
    talk.prompt()
    talk.answered("yes")
    talk.add(user("two"))
    once = {} if all_turns else {"narrow": lambda tools, messages: [TIME["name"]]}
    turn = talk.prompt(raw=True, **once)
    assert (turn.raw, turn.why_not_raw) == (False, "this prompt shows other tools than the last one")


@pytest.mark.parametrize("small", [PLAIN, DROPS_TOOLS], ids=["through the template", "in words"])
def test_there_is_a_raw_prompt_that_shows_the_same_tools(small: str) -> None:
    talk = Conversation(model_of(small), [user()], [TOOL, TIME], narrow=lambda tools, messages: tools[:1])
    talk.prompt()
    talk.answered("yes ")
    talk.add(user("two"))
    turn = talk.prompt(raw=True)
    assert (turn.raw, turn.why_not_raw) == (True, "")


@pytest.mark.parametrize("arguments", ["{}", '{"utc":  true}', '{"at": null}', '{"at":12}'])
def test_a_call_without_texts_can_be_built_on(arguments: str) -> None:
    talk = Conversation(model_of(PLAIN), [user()], [TOOL, TIME])
    wrote = f'<tool_call>{{"name": "tell_time",  "arguments": {arguments}}}</tool_call>'
    prompt_text = talk.prompt().prompt.text
    talk.result(talk.answered(wrote).tool_calls[0].id, "noon")
    turn = talk.prompt(raw=True)
    assert (turn.raw, turn.plain, turn.why_not_raw) == (True, False, "")
    assert turn.prompt.text == prompt_text + wrote + "<|end|><|tool|>noon<|end|><|assistant|>"


def test_an_answer_is_written_once_after_a_message_that_becomes_several() -> None:
    """As Anthropic's clients hold them: a result and a text in one message."""
    talk = Conversation(model_of(PLAIN), [user()], [TOOL])
    talk.prompt()
    made = talk.answered('<tool_call>{"name": "get_weather",  "arguments": {}}</tool_call>')
    result_part = {"type": "tool_result", "tool_use_id": made.tool_calls[0].id, "content": "rain"}
    talk.add({"role": "user", "content": [result_part, *texts("and now?")]})
    prompt_text = talk.prompt(raw=True).prompt.text
    assert prompt_text.endswith("</tool_call><|end|><|tool|>rain<|end|><|user|>and now?<|end|><|assistant|>")
    talk.answered("Fine.")
    talk.add(user("two"))
    turn = talk.prompt(raw=True)
    assert (turn.raw, turn.prompt.text) == (True, prompt_text + "Fine.<|end|><|user|>two<|end|><|assistant|>")


# Objects of the caller, and objects of the prompt


def test_narrow_is_given_copies() -> None:
    def narrow(tools: list[dict[str, Any]], messages: list[dict[str, Any]]) -> list[str]:
        name: str = tools[0]["function"]["name"]
        tools[0]["function"]["description"] = tools[0]["function"]["parameters"]["type"] = "CHANGED"
        messages[0]["content"] = "CHANGED"
        messages.append(user("CHANGED"))
        return [name]

    messages, tools = [user(), calls("a"), result("a")], copy.deepcopy([TOOL, TIME])
    before = copy.deepcopy((messages, tools))
    prompt = model_of(PLAIN).render(messages, tools, narrow=narrow)
    assert prompt.text == model_of(PLAIN).render(messages, [TOOL]).text
    assert (messages, tools) == before
    assert prompt.tools == canonical_tools([TOOL, TIME])


@pytest.mark.parametrize("small", [PLAIN, DROPS_TOOLS], ids=["through the template", "in words"])
def test_later_changes_to_the_input_do_not_change_a_prompt(small: str) -> None:
    messages: list[dict[str, Any]] = [user(), calls("a"), result("a")]
    tools: list[dict[str, Any]] = copy.deepcopy([TOOL])
    prompt = model_of(small).render(messages, tools)
    request, offered = copy.deepcopy(prompt.request()), copy.deepcopy(prompt.tools)
    messages[0]["content"] = messages[2]["content"] = "CHANGED"
    messages[1]["tool_calls"][0]["function"]["arguments"]["at"] = "CHANGED"
    tools[0]["function"]["description"] = tools[0]["function"]["parameters"]["type"] = "CHANGED"
    assert (prompt.request(), prompt.tools) == (request, offered)


def test_a_request_that_is_changed_does_not_change_its_prompt() -> None:
    prompt = model_of(EFFORT).render([user(), assistant(), user("two")], documents=["it"])
    request = prompt.request()
    kept = copy.deepcopy(request)
    request["messages"][0]["content"] = "CHANGED"
    request["messages"].append(user("CHANGED"))
    request["chat_template_kwargs"]["documents"].append("CHANGED")
    assert prompt.request() == kept


# Limits, and growth by counting


def long_talk(turns: int) -> list[dict[str, Any]]:
    messages = [system()]
    for number in range(turns):
        two = calls(f"a{number}", f"b{number}", text="Both.", reasoning_content="hm")
        messages += [user(f"q{number}"), two, result(f"a{number}"), result(f"b{number}")]
    return [*messages, system("Be brief."), user("forbidden")]


FORBIDDEN = raising("'forbidden' in m.content")


@pytest.mark.parametrize("tools", [None, [TOOL]], ids=["no tools", "tools"])
@pytest.mark.parametrize("nth", [1, 2, 3, 60])
def test_a_limit_that_is_hit_ends_the_search(nth: int, tools: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rendered = renders(monkeypatch, limit=nth)
    with pytest.raises(LimitHit):
        model_of(FORBIDDEN).render(long_talk(1), tools)
    assert len(rendered) == nth


@pytest.mark.parametrize("nth", [1, 2, 3])
def test_a_limit_that_is_hit_during_a_comparison_is_reported(nth: int, monkeypatch: pytest.MonkeyPatch) -> None:
    model_of(DROPS_TOOLS).profile  # noqa: B018 - probed before anything is counted
    rendered = renders(monkeypatch, limit=nth)
    with pytest.raises(LimitHit):
        model_of(DROPS_TOOLS).render([user()], [TOOL])
    assert len(rendered) == nth


def renders(monkeypatch: pytest.MonkeyPatch, limit: int = 0) -> list[None]:
    """Grows with every rendering of a template from now on; the one of this number hits a limit."""
    model_of(FORBIDDEN).profile  # noqa: B018 - probed before anything is counted
    rendered: list[None] = []
    render = ChatTemplate.render

    def counted(self: ChatTemplate, *given: Any, **options: Any) -> str:
        rendered.append(None)
        if len(rendered) == limit:
            raise LimitHit("too long", "output")
        return render(self, *given, **options)

    monkeypatch.setattr(ChatTemplate, "render", counted)
    return rendered


@pytest.mark.sample(0)
def test_a_long_conversation_is_rejected_after_a_few_renderings(monkeypatch: pytest.MonkeyPatch) -> None:
    rendered = renders(monkeypatch)
    messages = long_talk(100)
    assert len(messages) == 403
    with pytest.raises(TemplateError) as raised:
        model_of(FORBIDDEN).render(messages)
    assert str(raised.value).startswith("messages[402] (user): ")
    assert len(rendered) <= 64


def lines_run(do: Callable[[], object]) -> int:
    """How many lines of Python are run, however long each of them takes."""
    ran = itertools.count()

    def trace(frame: Any, event: str, argument: Any) -> Any:
        next(ran)
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        do()
    finally:
        sys.settrace(before)
    return next(ran)


def test_the_check_of_a_prompt_grows_with_its_words_and_no_faster() -> None:
    model = model_of(PLAIN)
    template = compiled(model.files, model.files.templates[0])

    def checked(turns: int) -> int:
        messages = long_talk(turns)
        twin = sentinel_request_of(messages, None)
        prompt = template.render(twin.messages)
        return lines_run(lambda: delivered(messages, twin, twin.messages, prompt))

    assert 3.5 < checked(100) / checked(25) < 4.2
