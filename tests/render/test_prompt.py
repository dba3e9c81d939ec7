"""Rendering: how tools are passed, what is adapted and its name, and what a prompt reports about the output."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import depth
import pytest
from model_cases import made, shared_names, shared_template
from prompt_cases import ARGUMENTS, DROPS_TOOLS, GENERATION, TOOL, TOOLS, TURN, USER, call, template

from toolfmt.errors import (
    BadMessages,
    BadModelDirectory,
    BadTools,
    CannotWrite,
    TemplateError,
    ToolfmtError,
    ToolsRenderedTwice,
)
from toolfmt.formats import FORMATS, prose
from toolfmt.messages.events import Content, Reasoning, ToolCallEnd
from toolfmt.messages.message import Message
from toolfmt.model.model import Model, load
from toolfmt.render.prompt import Prompt
from toolfmt.render.verify.rendered_once import check_prose, check_template, dropped
from toolfmt.templates import ChatTemplate

SYSTEM = {"role": "system", "content": "Be brief."}
SECOND = {"name": "tell_time", "description": "The time of day."}


LISTS_TOOLS = TOOLS + DROPS_TOOLS


def conversation(*calls: dict[str, Any], content: Any = "") -> list[dict[str, Any]]:
    results = [{"role": "tool", "tool_call_id": call["id"], "content": f"result {call['id']}"} for call in calls]
    return [USER, {"role": "assistant", "content": content, "tool_calls": list(calls)}, *results]


# The strategy


IN_PARTS = "(m.content[0].text if m.content is not string else raise_exception('give a list of parts'))"


def test_a_template_that_takes_content_as_parts_only_shows_the_tools(tmp_path: Path) -> None:
    model = made(tmp_path, template(content=f"({IN_PARTS} if m.role != 'tool' else m.content)"))
    for messages in ([USER], [SYSTEM, USER], [*conversation(call()), {"role": "assistant", "content": "Yes."}, USER]):
        prompt = model.render(messages, [TOOL])
        assert (prompt.strategy, prompt.adaptations, prompt.lost) == ("template", ("content-as-parts",), ())
        assert prompt.text.startswith(f"<|tools|>[{json.dumps(TOOL)}]<|end|>")
        assert all(isinstance(m["content"], str) == (m["role"] == "tool") for m in prompt.messages)
    assert model.render([USER]).adaptations == ("content-as-parts",)


def test_results_are_parts_too_if_the_template_takes_them(tmp_path: Path) -> None:
    either = "(m.content if m.content is string else m.content | map(attribute='text') | join)"
    model = made(tmp_path, template(content=f"({IN_PARTS} if m.role != 'tool' else {either})"))
    prompt = model.render([*conversation(call()), USER], [TOOL])
    assert [message["content"] for message in prompt.messages if message["role"] == "tool"] == [
        [{"type": "text", "text": "result callA0001"}]
    ]
    assert "<|tool|>result callA0001<|end|>" in prompt.text


def test_a_report_shows_that_a_template_takes_content_as_parts_only(tmp_path: Path) -> None:
    report = made(tmp_path, template(content=f"({IN_PARTS} if m.role != 'tool' else m.content)")).inspect()
    tools = report.capabilities["tools"]
    assert (tools.answer, tools.outcome) == ("yes", "as-parts")
    assert tools.evidence == "a tool's name and description are in the prompt if content is a list of parts"
    assert {name: report.capabilities[name].answer for name in ("system", "tool_calls", "tool_results")} == {
        "system": "yes", "tool_calls": "yes", "tool_results": "yes",
    }  # fmt: skip
    assert report.verdict.tools == "adapted"
    content_finding = next(finding for finding in report.findings if finding.code == "TF003")
    assert (content_finding.severity, content_finding.fix) == (
        "warning",
        'Send content as `[{"type": "text", "text": "…"}]`; `toolfmt render` does this.',
    )
    fix = next(note.fix for note in report.notes if note.code == "TF037")
    assert fix == 'Send content as `[{"type": "text", "text": "…"}]`; `toolfmt render` does this.'


def test_a_template_that_shows_tools_is_given_them(tmp_path: Path) -> None:
    prompt = made(tmp_path, template()).render([USER], [TOOL])
    assert (prompt.strategy, prompt.format, prompt.adaptations) == ("template", "json", ())
    assert f"<|tools|>[{json.dumps(TOOL)}]<|end|><|user|>Will it rain?<|end|><|assistant|>" == prompt.text


def test_a_template_that_drops_tools_gets_them_as_prose(tmp_path: Path) -> None:
    prompt = made(tmp_path, DROPS_TOOLS).render([SYSTEM, USER], [TOOL])
    instructions = prose("json", [TOOL])
    assert (prompt.strategy, prompt.format, prompt.adaptations) == ("prompt", "json", ("default-format",))
    assert f"<|system|>Be brief.\n\n{instructions}<|end|><|user|>Will it rain?<|end|><|assistant|>" == prompt.text


def test_prose_teaches_the_default_format_if_no_parser_reads_the_calls_of_a_template(tmp_path: Path) -> None:
    call = "{{ '~~' + c.function.name + '~' + c.function.arguments | tojson }}"
    calls = "{% for c in m.tool_calls or [] %}" + call + "{% endfor %}"
    odd = "{% for m in messages %}{{ m.role + ': ' + (m.content or '') }}" + calls + "{% endfor %}"
    prompt = made(tmp_path, odd).render([SYSTEM, USER], [TOOL])
    assert (prompt.strategy, prompt.format, prompt.adaptations) == ("prompt", "json", ("default-format",))


def test_prose_without_a_system_message_makes_one(tmp_path: Path) -> None:
    prompt = made(tmp_path, DROPS_TOOLS).render([USER], [TOOL])
    assert prompt.text.startswith(f"<|system|>{prose('json', [TOOL])}<|end|><|user|>")


def test_prose_can_be_forced_and_the_template_is_then_given_no_tools(tmp_path: Path) -> None:
    prompt = made(tmp_path, template()).render([USER], [TOOL], "prompt")
    assert prompt.strategy == "prompt"
    assert "<|tools|>" not in prompt.text
    assert prompt.text.count("Weather at a place.") == 1


def test_forcing_the_template_strategy_is_rejected_if_the_template_drops_tools(tmp_path: Path) -> None:
    with pytest.raises(ToolfmtError, match=r"drops the tools \(get_weather not in the prompt\); use the strategy auto"):
        made(tmp_path, DROPS_TOOLS).render([USER], [TOOL], "template")


def test_a_template_that_drops_tools_in_this_conversation_gets_them_as_prose(tmp_path: Path) -> None:
    only_first_turn = "{% if messages | length == 1 %}" + TOOLS + "{% endif %}" + DROPS_TOOLS
    model = made(tmp_path, only_first_turn)
    assert model.render([USER], [TOOL]).strategy == "template"
    later = model.render([USER, {"role": "assistant", "content": "Yes."}, USER], [TOOL])
    assert later.strategy == "prompt"
    assert "template-dropped-tools" in later.adaptations


def test_an_unknown_strategy_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(ToolfmtError, match=r"no strategy is called 'both'; strategies: auto, template, prompt"):
        made(tmp_path, template()).render([USER], [TOOL], "both")  # type: ignore[arg-type]  # what is tested


def test_an_empty_list_of_tools_is_rendered_like_none(tmp_path: Path) -> None:
    model = made(tmp_path, "{% if tools is not none %}You have tools: {{ tools | tojson }}{% endif %}" + template())
    assert "You have tools" in model.render([USER], [TOOL]).text
    assert model.render([USER]).text == model.render([USER], []).text
    rejecting = model.render([USER], []).parser()
    assert [
        event.to_dict()["reason"]
        for event in rejecting.feed('<tool_call>{"name": "f", "arguments": {}}</tool_call>')
        if not isinstance(event, Content)
    ] == ["undeclared_tool"]


def test_parameters_are_in_the_prompt_as_they_were_passed(tmp_path: Path) -> None:
    mail = {"to": {"type": "string"}, "subject": {"type": "string"}, "body": {"type": "string"}}
    given = {"required": ["to", "body"], "type": "object", "properties": mail}
    tool = {"function": {"parameters": given, "description": "Sends.", "name": "send"}, "type": "function"}
    text = made(tmp_path, template()).render([USER], [TOOL, tool]).text
    assert json.dumps(given) in text
    assert text.index('"get_weather"') < text.index('"send"')
    text = made(tmp_path, DROPS_TOOLS).render([USER], [TOOL, tool]).text
    places = [text.index(line) for line in ("- get_weather", "- send", "- to (", "- subject (", "- body (")]
    assert places == sorted(places)


def test_the_order_of_a_definitions_own_keys_never_changes_the_prompt(tmp_path: Path) -> None:
    inner = TOOL["function"]
    assert isinstance(inner, dict)
    for text in (template(), DROPS_TOOLS):
        model = made(tmp_path, text)
        turned = model.render([USER], [dict(reversed(inner.items()))])
        assert turned.text == model.render([USER], [TOOL]).text
        assert turned.adaptations == ("definitions-reordered", *model.render([USER], [TOOL]).adaptations)


# Never both


def test_a_caller_who_lists_the_tools_gets_a_named_adaptation(tmp_path: Path) -> None:
    model = made(tmp_path, template())
    listing = {"role": "system", "content": 'Tools: {"name": "get_weather", "parameters": {"place": "string"}}'}
    assert model.render([listing, USER], [TOOL]).adaptations == ("caller-lists-tools",)
    described = {"role": "system", "content": "get_weather: Weather at a place."}
    assert "caller-lists-tools" in made(tmp_path, DROPS_TOOLS).render([described, USER], [TOOL]).adaptations
    mentioned = {"role": "system", "content": "Use get_weather for any place they name."}
    assert model.render([mentioned, USER], [TOOL]).adaptations == ()


def test_a_variable_that_the_template_does_not_read_is_rejected(tmp_path: Path) -> None:
    model = made(tmp_path, template() + "{{ 'Brief.' if brief }}{{ eos_token }}")
    assert model.render([USER], [TOOL], brief=True).text == model.render([USER], [TOOL]).text + "Brief."
    with pytest.raises(ToolfmtError) as raised:
        model.render([USER], [TOOL], breif=True)
    assert str(raised.value) == (
        "the template reads no variable 'breif'; leave it out, or give one that it reads: brief, eos_token"
    )


def test_prose_that_comes_out_twice_is_caught() -> None:
    instructions = prose("json", [TOOL])
    check_prose(f"[{instructions}]", "[-]", instructions, 1, [TOOL])
    check_prose(f"[{instructions}][{instructions}]", "[-][-]", instructions, 2, [TOOL])
    with pytest.raises(ToolsRenderedTwice, match="appears 2 times in the prompt, not 1"):
        check_prose(f"[{instructions}]{instructions}", "[-]", instructions, 1, [TOOL])
    with pytest.raises(
        ToolsRenderedTwice, match="get_weather is described in the system prompt and again by the template"
    ):
        check_prose(f"get_weather: Weather at a place. [{instructions}]", "[-]", instructions, 1, [TOOL])


def test_tools_that_the_callers_own_variable_puts_in_again_are_caught(tmp_path: Path) -> None:
    text = "{% if extra is defined and '# Tools' in messages[0].content %}{{ extra }}{% endif %}" + DROPS_TOOLS
    with pytest.raises(ToolsRenderedTwice):
        made(tmp_path, text).render([USER], [TOOL], extra="get_weather: Weather at a place.")


def test_prose_with_tools_in_the_template_is_detected() -> None:
    check_template("do this", "do this", "do this")
    with pytest.raises(ToolsRenderedTwice, match="template renders the tools, and the prompt also describes them"):
        check_template("do this, do this", "do this", "do this")


def test_a_tool_counts_as_dropped_only_by_its_whole_name() -> None:
    assert dropped("a search_all", "all", [{"function": {"name": "search_all"}}, {"function": {"name": "a"}}]) == []
    assert dropped("search_all", "all", [{"function": {"name": "search"}}]) == ["search"]


def test_a_template_that_drops_the_system_text_cannot_get_tools_as_prose(tmp_path: Path) -> None:
    mute = "{% for m in messages if m.content | length < 50 %}{{ m.content }}{% endfor %}"
    with pytest.raises(TemplateError, match="the template drops the message that describes the tools"):
        made(tmp_path, mute).render([USER], [TOOL])


def test_a_template_that_repeats_the_system_message_repeats_the_prose(tmp_path: Path) -> None:
    prompt = made(tmp_path, "{{ messages[0].content }}" + DROPS_TOOLS).render([USER], [TOOL])
    assert prompt.text.count(prose("json", [TOOL])) == 2


# Adaptations: only if the report shows that they are needed


def test_arguments_are_parsed_where_strings_come_out_double_encoded(tmp_path: Path) -> None:
    model = made(tmp_path, template())
    as_text = model.render(conversation(call(arguments=json.dumps(ARGUMENTS))), [TOOL])
    assert as_text.adaptations == ("arguments-parsed",)
    as_object = model.render(conversation(call()), [TOOL])
    assert as_object.adaptations == ()
    assert as_object.text == as_text.text
    assert '<tool_call>{"name": "get_weather", "arguments": {"place": "Oslo"}}</tool_call>' in as_text.text


def test_arguments_are_dumped_if_the_template_rejects_objects(tmp_path: Path) -> None:
    model = made(tmp_path, template(arguments="c.function.arguments"))
    prompt = model.render(conversation(call(arguments={"place": "Ås"})), [TOOL])
    assert prompt.adaptations == ("arguments-dumped",)
    assert '"arguments": {"place": "Ås"}}' in prompt.text
    assert model.render(conversation(call(arguments='{"place":"Ås"}')), [TOOL]).adaptations == ()


def test_arguments_stay_as_they_are_where_both_forms_come_out(tmp_path: Path) -> None:
    either = "(c.function.arguments if c.function.arguments is string else c.function.arguments | tojson)"
    model = made(tmp_path, template(arguments=either))
    for arguments, written in (({"place": "Oslo"}, '{"place": "Oslo"}'), ('{"place":"Oslo"}', '{"place":"Oslo"}')):
        prompt = model.render(conversation(call(arguments=arguments)), [TOOL])
        assert prompt.adaptations == ()
        assert written in prompt.text


DAMAGED = [
    '{"place": "Os',
    "Oslo",
    "[1]",
    '[{"place": true}]',
    '"Oslo"',
    "42",
    "null",
    '{"place": NaN}',
    '{"place": 1e999}',
    "[" * 100_000,
    "1" * 5000,
    '{"place": "Oslo", "place": "Bergen"}',
    '{"at": {"place": "Oslo", "place": "Bergen"}}',
]
"""Arguments that are not the text of one JSON object, for example after a truncated response."""


@pytest.mark.sample(1)
@pytest.mark.parametrize("arguments", DAMAGED)
def test_damaged_arguments_are_wrapped_if_the_template_needs_an_object(tmp_path: Path, arguments: str) -> None:
    prompt = made(tmp_path, template()).render(conversation(call(arguments=arguments)), [TOOL])
    assert prompt.adaptations == ("arguments-wrapped",)
    assert f'"arguments": {json.dumps({"raw_arguments": arguments})}}}</tool_call>' in prompt.text


@pytest.mark.sample(1)
@pytest.mark.parametrize("arguments", DAMAGED)
def test_damaged_arguments_are_wrapped_in_a_call_written_as_content(tmp_path: Path, arguments: str) -> None:
    prompt = made(tmp_path, template()).render(conversation(call(arguments=arguments)), [TOOL], strategy="prompt")
    assert prompt.adaptations == ("calls-as-content", "arguments-wrapped", "results-as-user-messages")
    assert f'"arguments": {json.dumps({"raw_arguments": arguments})}}}' in prompt.text


def test_only_damaged_arguments_are_wrapped(tmp_path: Path) -> None:
    turn = {"role": "assistant", "tool_calls": [call(arguments='{"place": "Oslo"}'), call(arguments='{"place": "B')]}
    prompt = made(tmp_path, template()).render([USER, turn], [TOOL])
    assert prompt.adaptations == ("arguments-parsed", "arguments-wrapped")
    assert '"arguments": {"place": "Oslo"}}' in prompt.text
    assert '"arguments": {"raw_arguments": "{\\"place\\": \\"B"}}' in prompt.text


def test_a_call_becomes_content_if_the_template_drops_damaged_arguments(tmp_path: Path) -> None:
    known = "('{\"place\": \"' + c.function.arguments.place + '\"}' if c.function.arguments.place else '{}')"
    prompt = made(tmp_path, template(arguments=known)).render(conversation(call(arguments='{"place": "Os')), [TOOL])
    assert "calls-as-content" in prompt.adaptations
    assert json.dumps('{"place": "Os') in prompt.text


def test_a_call_without_arguments_gets_empty_ones(tmp_path: Path) -> None:
    bare = {"id": "callA0001", "function": {"name": "get_weather"}}
    prompt = made(tmp_path, template()).render(conversation(bare), [TOOL])
    assert prompt.adaptations == ("arguments-added",)
    assert '{"name": "get_weather", "arguments": {}}' in prompt.text


AS_GIVEN = "(c.function.arguments if c.function.arguments is string else c.function.arguments | tojson)"


def test_empty_text_is_no_arguments_for_a_template_that_writes_them_as_given(tmp_path: Path) -> None:
    prompt = made(tmp_path, template(arguments=AS_GIVEN)).render(conversation(call(arguments="")), [TOOL])
    assert prompt.adaptations == ("arguments-added",)
    assert '{"name": "get_weather", "arguments": {}}' in prompt.text


@pytest.mark.sample(1)
@pytest.mark.parametrize("arguments", ['{"place": "Os', "Oslo", "[1]", '"Oslo"', " "])
def test_arguments_that_are_no_object_are_named_where_the_template_writes_them_as_given(
    tmp_path: Path, arguments: str
) -> None:
    prompt = made(tmp_path, template(arguments=AS_GIVEN)).render(conversation(call(arguments=arguments)), [TOOL])
    assert prompt.adaptations == ("arguments-no-object",)
    assert f'"arguments": {arguments}}}</tool_call>' in prompt.text


@pytest.mark.sample(1)
@pytest.mark.parametrize("arguments", ['{"place": "Oslo"}', "{}", {"place": "Oslo"}, {}])
def test_arguments_that_are_an_object_are_not_named(tmp_path: Path, arguments: object) -> None:
    model = made(tmp_path, template(arguments=AS_GIVEN))
    assert model.render(conversation(call(arguments=arguments)), [TOOL]).adaptations == ()


def test_a_result_of_no_call_is_named(tmp_path: Path) -> None:
    model = made(tmp_path, template())
    question, turn, result = conversation(call(arguments=ARGUMENTS))[:3]
    stranger = {**result, "tool_call_id": "callZ0009"}
    unnamed = {key: value for key, value in result.items() if key != "tool_call_id"}
    for messages, named in (
        ([question, turn, result], False),
        ([question, turn, result, question, turn, result], False),
        ([question, turn, *conversation(call(id="callB0002"))[1:], question, {**result}], False),
        ([question, turn, unnamed], False),
        ([question, turn, {**result, "tool_call_id": ""}], False),
        ([question, turn, stranger], True),
        ([question, turn, result, stranger], True),
        ([question, stranger, turn, result], True),
        ([question, result, turn, result], True),
        ([question, {**USER, "tool_call_id": "callZ0009"}], False),
    ):
        prompt = model.render(messages, [TOOL])
        assert ("result-of-no-call" in prompt.adaptations) is named, messages
        assert prompt.lost == ()


def test_null_content_becomes_empty_if_the_template_rejects_null(tmp_path: Path) -> None:
    prompt = made(tmp_path, template(content="m.content + ''")).render(conversation(call(), content=None), [TOOL])
    assert prompt.adaptations == ("content-null-to-empty",)


def test_null_content_is_left_out_as_transformers_does(tmp_path: Path) -> None:
    """A template that would print the word None does not receive it."""
    prompt = made(tmp_path, template(content="m.content | string")).render(conversation(call(), content=None), [TOOL])
    assert prompt.adaptations == ()
    assert "None" not in prompt.text
    assert "content" not in prompt.messages[1]


def test_null_content_stays_where_the_template_takes_it(tmp_path: Path) -> None:
    assert made(tmp_path, template()).render(conversation(call(), content=None), [TOOL]).adaptations == ()


def test_a_system_message_whose_whitespace_the_template_trims_is_not_lost(tmp_path: Path) -> None:
    text = template(content="(m.content or '') | trim")
    prompt = made(tmp_path, text).render([{"role": "system", "content": "Be brief.\n"}, USER], [TOOL])
    assert prompt.adaptations == ()


def test_several_calls_are_split_where_one_turn_takes_one(tmp_path: Path) -> None:
    text = template().replace("m.tool_calls or []", "(m.tool_calls or [])[:1]")
    prompt = made(tmp_path, text).render(
        conversation(call(), call(id="callA0002", arguments={"place": "Rome"})), [TOOL]
    )
    assert prompt.adaptations == ("parallel-calls-split",)
    order = ["Oslo", "result callA0001", "Rome", "result callA0002"]
    assert order == sorted(order, key=prompt.text.index)


def test_calls_become_words_where_the_template_renders_none_and_results_stay(tmp_path: Path) -> None:
    model = made(tmp_path, LISTS_TOOLS, config={"model_type": "lfm2"})
    prompt = model.render([*conversation(call(), content="Wait."), USER], [TOOL, SECOND])
    assert (prompt.strategy, prompt.format) == ("template", "lfm2")
    assert prompt.adaptations == ("calls-as-content",)
    written = "<|tool_call_start|>[get_weather(place='Oslo')]<|tool_call_end|>"
    assert f"<|assistant|>Wait.\n{written}<|end|>" in prompt.text
    assert "<|tool|>result callA0001<|end|><|user|>Will it rain?<|end|><|assistant|>" in prompt.text


@pytest.mark.parametrize("format", FORMATS, ids=lambda format: format.name)
def test_replayed_calls_in_prose_are_in_the_format_that_new_ones_are_read_in(tmp_path: Path, format: Any) -> None:
    model = made(tmp_path, DROPS_TOOLS, tokenizer={"tool_parser": format.name})
    prompt = model.render(conversation(call(arguments='{"place": "Oslo"}')), [TOOL])
    assert (format.name, ("calls-as-content", "results-as-user-messages")) == (prompt.format, prompt.adaptations)
    turn = prompt.text.split("<|assistant|>")[1].split("<|end|>")[0]
    parser = prompt.parser()
    message = Message.from_events([*parser.feed(turn), *parser.finish()])
    assert (message.content, message.rejected) == (None, [])
    assert [(call.name, json.loads(call.arguments)) for call in message.tool_calls] == [
        ("get_weather", {"place": "Oslo"})
    ]


def test_a_tool_that_is_no_longer_offered_can_still_be_replayed(tmp_path: Path) -> None:
    gone = call(name="gone", arguments={"n": "1"})
    prompt = made(tmp_path, DROPS_TOOLS, tokenizer={"tool_parser_type": "glm4"}).render(conversation(gone), [TOOL])
    assert "<tool_call>gone\n<arg_key>n</arg_key>" in prompt.text


def test_a_call_that_the_format_cannot_write_is_rejected_by_position(tmp_path: Path) -> None:
    model = made(tmp_path, DROPS_TOOLS, tokenizer={"tool_parser_type": "gemma"})
    with pytest.raises(
        CannotWrite, match=r"^messages\[1\]\.tool_calls: gemma cannot represent calls\[0\]: the argument 'place'"
    ):
        model.render(conversation(call(arguments={"place": "<escape>}<end_function_call>"})), [TOOL])


def test_the_system_message_moves_if_the_template_rejects_it(tmp_path: Path) -> None:
    rejecting = "{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}"
    shown = made(tmp_path, rejecting + template()).render([SYSTEM, USER], [TOOL])
    assert (shown.strategy, shown.adaptations) == ("template", ("system-in-first-user-message",))
    assert "<|user|>Be brief.\n\nWill it rain?<|end|>" in shown.text
    prompted = made(tmp_path, rejecting + DROPS_TOOLS).render([SYSTEM, USER], [TOOL])
    assert f"<|user|>Be brief.\n\n{prose('json', [TOOL])}\n\nWill it rain?<|end|>" in prompted.text
    alone = made(tmp_path, rejecting + DROPS_TOOLS).render([SYSTEM])
    assert alone.text == "<|user|>Be brief.<|end|><|assistant|>"


def test_content_in_parts_takes_the_prose_as_a_part(tmp_path: Path) -> None:
    parts = "(m.content if m.content is string else m.content | map(attribute='text') | join)"
    text = TURN.replace("CALLS", "").replace("CONTENT", parts) + GENERATION
    messages = [{"role": "system", "content": [{"type": "text", "text": "Be brief."}]}, USER]
    prompt = made(tmp_path, text).render(messages, [TOOL])
    assert prompt.text.startswith(f"<|system|>Be brief.\n\n{prose('json', [TOOL])}<|end|>")


def test_nothing_given_is_changed(tmp_path: Path) -> None:
    messages = [SYSTEM, *conversation(call(arguments="{}"), call(id="b", arguments="{}"), content=None)]
    before = json.dumps(messages)
    for text in (template(), DROPS_TOOLS, LISTS_TOOLS):
        made(tmp_path, text).render(messages, [TOOL])
    assert before == json.dumps(messages)


# Prefill, stop, parser


@pytest.mark.parametrize(
    ("generation", "expected"),
    [
        ("<|assistant|>", ""),
        ("<|assistant|><think>\\n", "<think>\n"),
        ("<|assistant|><think>\\n\\n</think>\\n\\n", "<think>\n\n</think>\n\n"),
        ("<|assistant|>Sure: ", "Sure: "),
        ("", ""),
    ],
)
def test_prefill_is_what_the_generation_prompt_begins(tmp_path: Path, generation: str, expected: str) -> None:
    text = template().replace(GENERATION, "{{ '" + generation + "' if add_generation_prompt }}")
    prompt = made(tmp_path, text).render([USER], [TOOL])
    assert expected == prompt.prefill
    assert prompt.text.endswith(expected)


def test_prefill_follows_the_variables_of_the_request(tmp_path: Path) -> None:
    thinking = "{{ '<|assistant|>' + ('<think>' if think else '') if add_generation_prompt }}"
    model = made(tmp_path, template().replace(GENERATION, thinking))
    assert [model.render([USER], [TOOL], think=think).prefill for think in (True, False)] == ["<think>", ""]
    assert model.render([USER], [TOOL], think=True, add_generation_prompt=False).prefill == ""


def test_prefill_is_found_if_a_finished_conversation_ends_with_another_marker(tmp_path: Path) -> None:
    """Motif writes `<|endoftext|>` if there is no generation prompt."""
    ends = "{{ '<|assistant|><think>' if add_generation_prompt else '<|endoftext|>' }}"
    model = made(tmp_path, template().replace(GENERATION, ends))
    assert model.render([USER], [TOOL]).prefill == "<think>"
    assert model.render([USER], [TOOL], add_generation_prompt=False).prefill == ""


def test_a_header_without_a_known_shape_is_no_prefill(tmp_path: Path) -> None:
    text = "{% for m in messages %}{{ '### ' + m.role + ':\n' + m.content + '\n' }}{% endfor %}"
    text += "{{ '### assistant:\n' if add_generation_prompt }}"
    assert made(tmp_path, text).render([USER]).prefill == ""


def test_text_after_a_header_of_unknown_shape_is_prefill(tmp_path: Path) -> None:
    """The header also comes before a response in text."""
    text = "{% for m in messages %}{{ 'Me >> ' if m.role == 'user' else 'You >> ' }}{{ m.content + '\n' }}{% endfor %}"
    text += "{{ 'You >> Well, ' if add_generation_prompt }}"
    assert made(tmp_path, text).render([USER]).prefill == "Well, "


def test_stop_holds_what_ends_a_turn_and_every_end_token_once(tmp_path: Path) -> None:
    added = {"7": {"content": "<|eot|>"}, "8": {"content": "<|eos|>"}, "9": "no token"}
    model = made(
        tmp_path,
        template(),
        tokenizer={"eos_token": "<|eos|>", "added_tokens_decoder": added},
        generation={"eos_token_id": [7, 8, 9, 10]},
    )
    assert model.render([USER], [TOOL]).stop == ("<|end|>", "<|eos|>", "<|eot|>")
    parser = model.render([USER], [TOOL]).parser()
    assert [event.to_dict()["text"] for event in parser.feed("Yes.<|eot|>") + parser.finish()] == ["Yes."]


def test_a_stop_string_that_calls_hold_does_not_end_the_parsers_answer(tmp_path: Path) -> None:
    """GigaChat 3 opens a call with the token that ends its turns."""
    opener = "<|message_sep|>function call<|role_sep|>"
    model = made(tmp_path, template(), tokenizer={"eos_token": "<|message_sep|>"})
    prompt = model.render([USER], [TOOL])
    assert "<|message_sep|>" in prompt.stop
    parser = prompt.parser(format="gigachat3")
    events = parser.feed(f'Yes.{opener}{{"name": "get_weather", "arguments": {{}}}}') + parser.finish()
    assert isinstance(events[-1], ToolCallEnd)


def test_a_template_is_parsed_once_however_many_prompts_it_makes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = Model(made(tmp_path, template() + "{# of this test alone #}").files, trusted=True)
    first = model.render([USER], [TOOL])
    parsed: list[str] = []

    class Counting(ChatTemplate):
        def __init__(self, source: str, *given: Any, **more: Any) -> None:
            parsed.append(source)
            super().__init__(source, *given, **more)

    monkeypatch.setattr("toolfmt.render.compiled_template.ChatTemplate", Counting)
    assert model.render([USER], [TOOL]) == first
    assert not parsed
    (tmp_path / "other").mkdir()
    other = made(tmp_path / "other", template() + "{# of this test alone #}", tokenizer={"bos_token": "<s>"})
    other = Model(other.files, trusted=True)
    other.render([USER], [TOOL])
    assert len(parsed) == 1  # another file, with other tokens


def test_the_parser_of_a_prompt_knows_format_tools_and_prefill(tmp_path: Path) -> None:
    text = template().replace(GENERATION, "{{ '<|assistant|><think>' if add_generation_prompt }}")
    parser = made(tmp_path, text).render([USER], [TOOL]).parser()
    events = parser.feed('Hm.</think><tool_call>{"name": "other", "arguments": {}}</tool_call>') + parser.finish()
    assert Reasoning("Hm.", 0) == events[0]
    assert events[-1].to_dict()["reason"] == "undeclared_tool"


def test_a_prompt_without_a_known_format_has_no_parser_of_its_own() -> None:
    prompt = Prompt("text", "template", None)
    with pytest.raises(ToolfmtError, match="no format is known"):
        prompt.parser()
    assert prompt.parser(format="json").format.name == "json"


def test_a_prompt_as_json(tmp_path: Path) -> None:
    data = made(tmp_path, template()).render([USER], [TOOL]).to_dict()
    assert list(data) == ["text", "strategy", "format", "prefill", "stop", "adaptations"]
    assert data == json.loads(json.dumps(data))


# Which template


def test_with_named_templates_prose_goes_through_the_one_without_tools(tmp_path: Path) -> None:
    named = [{"name": "default", "template": DROPS_TOOLS}, {"name": "tool_use", "template": template()}]
    model = made(tmp_path, None, tokenizer={"chat_template": named})
    assert "<|tools|>" in model.render([USER], [TOOL]).text
    prompt = model.render([USER], [TOOL], "prompt")
    assert (prompt.strategy, prompt.adaptations) == ("prompt", ())
    assert prompt.text.startswith("<|system|># Tools")


def test_adaptations_follow_the_template_that_renders(tmp_path: Path) -> None:
    rejecting = "{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}" + DROPS_TOOLS
    named = [{"name": "default", "template": rejecting}, {"name": "tool_use", "template": template()}]
    model = made(tmp_path, None, tokenizer={"chat_template": named})
    assert model.render([SYSTEM, USER], [TOOL]).adaptations == ()
    assert model.render([SYSTEM, USER]).adaptations == ("system-in-first-user-message",)


def test_a_lone_template_for_tools_is_named_where_no_tools_are_given(tmp_path: Path) -> None:
    model = made(tmp_path, None, tokenizer={"chat_template": [{"name": "tool_use", "template": template()}]})
    assert model.render([USER]).adaptations == ("tool-use-template-without-tools",)


def test_without_a_template_nothing_is_rendered(tmp_path: Path) -> None:
    with pytest.raises(BadModelDirectory, match="no chat template to render with: neither"):
        made(tmp_path, None).render([USER], [TOOL], "prompt")


def test_errors_of_a_template_name_its_file(tmp_path: Path) -> None:
    model = made(tmp_path, "{% if messages | length > 2 %}{{ raise_exception('too long') }}{% endif %}" + template())
    message = rf"^messages\[2\] \(user\): {tmp_path}.*chat_template\.jinja, line 1: the template raises: too long$"
    with pytest.raises(TemplateError, match=message):
        model.render([USER, {"role": "assistant", "content": "Yes."}, USER])


def test_the_clock_is_now_unless_it_is_named(tmp_path: Path) -> None:
    model = made(tmp_path, "{{ strftime_now('%Y') }}" + DROPS_TOOLS)
    assert model.render([USER], now=datetime(1999, 1, 1)).text.startswith("1999<|user|>")
    assert model.render([USER]).text.startswith(str(datetime.now().year))


# Messages


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ({"role": "user"}, "messages must be a list of objects, not an object"),
        ("hello", "messages must be a list of objects, not a string"),
        ([], "messages is an empty list; give at least one message"),
        ([USER, "hello"], "messages[1] must be an object, not a string"),
        ([{"content": "hello"}], 'messages[0]: "role" is missing'),
        ([{"role": None}], 'messages[0]: "role" must be a string, not null'),
        ([{"role": "user", "contents": "hello"}], 'messages[0]: a message of the role user has no "content"'),
        ([USER, {"role": "tool", "name": "f"}], 'messages[1]: a message of the role tool has no "content"'),
        (
            [USER, {**USER, "content": 5}],
            'messages[1]: "content" must be a string, a list of parts or null, not a number',
        ),
        ([{**USER, "tool_calls": {}}], 'messages[0]: "tool_calls" must be a list, not an object'),
        ([{**USER, "tool_calls": [1]}], "messages[0].tool_calls[0] must be an object, not a number"),
        (
            [{**USER, "tool_calls": [{"function": {}}]}],
            'messages[0].tool_calls[0]: the call has no "name"; a name is a string that is not empty',
        ),
        (
            [{**USER, "tool_calls": [{"name": "f", "arguments": [1]}]}],
            'messages[0].tool_calls[0]: "arguments" must be an object or a string of JSON, not a list',
        ),
    ],
)
def test_malformed_messages_are_rejected_by_position(tmp_path: Path, messages: Any, expected: str) -> None:
    with pytest.raises(BadMessages) as caught:
        made(tmp_path, template()).render(messages)
    assert expected == str(caught.value)


def test_ids_and_names_of_any_type_do_no_harm(tmp_path: Path) -> None:
    odd = [USER, {"role": "assistant", "tool_calls": [{**call(), "id": ["x"]}]}]
    odd.append({"role": "tool", "tool_call_id": ["x"], "name": None, "content": None})
    assert "Result of get_weather:<|end|>" in made(tmp_path, DROPS_TOOLS).render(odd, [TOOL]).text


def test_malformed_tools_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(BadTools, match="tools must be a list of tool definitions, not an object"):
        made(tmp_path, template()).render([USER], {"name": "f"})


# Real templates


@pytest.mark.outside
def test_a_gemma_template_that_takes_neither_system_nor_tool_messages() -> None:
    model = Model(shared_template("google-gemma-2-2b-it.jinja"))
    prompt = model.render([SYSTEM, *conversation(call(), call(id="b"), content=None)], [TOOL])
    names = ("calls-as-content", "results-as-user-messages", "system-in-first-user-message", "default-format")
    assert names == prompt.adaptations
    assert prompt.text.startswith("<s><start_of_turn>user\nBe brief.\n\n# Tools")


@pytest.mark.outside
def test_a_qwen3_template_starts_a_reasoning_block_only_if_thinking_is_disabled() -> None:
    model = Model(shared_template("Qwen-Qwen3-0.6B.jinja"))
    assert model.render([USER], [TOOL]).prefill == ""
    assert model.render([USER], [TOOL], enable_thinking=False).prefill == "<think>\n\n</think>\n\n"


@pytest.mark.sample(0)
@pytest.mark.outside
def test_every_shared_template_renders_or_raises_a_clear_error() -> None:
    """A sample of every eighth, with a history, both ways; the whole is a matter of minutes."""
    history = [SYSTEM, *conversation(call(), content=None)]
    for name in depth.some(shared_names()[::8], 15):
        model = Model(shared_template(name))
        for strategy in ("auto", "prompt"):
            try:
                prompt = model.render(history, [TOOL, SECOND], strategy)
            except ToolsRenderedTwice:
                raise
            except ToolfmtError as error:
                assert "\n" not in str(error), name
                continue
            assert prompt == replace(prompt, text=model.render(history, [TOOL, SECOND], strategy).text)
            assert prompt.text.endswith(prompt.prefill), name


REJECTS_IDS = """\
{%- for message in messages %}{%- if message.tool_calls %}{%- for call in message.tool_calls %}
{%- if call.id | length != 9 %}{{ raise_exception("ids have nine characters") }}{%- endif %}
<tool_call>{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}</tool_call>
{%- endfor %}{%- elif message.role == "tool" %}
{%- if message.name is not defined %}{{ raise_exception("results have names") }}{%- endif %}
[{{ message.name }} {{ message.tool_call_id }}] {{ message.content }}
{%- else %}<{{ message.role }}>{{ message.content }}{%- endif %}{%- endfor %}
{%- if tools %}{{ tools | tojson }}{%- endif %}"""


def test_what_a_template_rejects_is_fixed_and_named(tmp_path: Path) -> None:
    """An OpenAI conversation for a template that requires nine-character ids and named results."""
    (tmp_path / "chat_template.jinja").write_text(REJECTS_IDS, encoding="utf-8")
    call = {"id": "call_0", "type": "function", "function": {"name": "f", "arguments": {"a": "b"}}}
    messages = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_0", "content": "done"},
    ]
    prompt = load(tmp_path).render(messages, tools=[{"name": "f", "description": "Does f."}])
    assert prompt.adaptations == ("results-named", "ids-shortened")
    assert "[f call00000] done" in prompt.text
