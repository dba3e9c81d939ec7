"""What a rejected call reports: where parsing stopped, what was expected there, and the message for the model."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

import toolfmt.formats
from toolfmt.formats import Parser, get, write
from toolfmt.formats.tolerances import EXPECTED, TOLERANCES
from toolfmt.messages.events import ToolCallRejected, merge
from toolfmt.testing import corpus

SIZES = (10**9, 4, 1)
MAX_MESSAGE = 1000
PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}}
WEATHER = {"type": "function", "function": {"name": "get_weather", "parameters": PARAMETERS}}


def rejected(format: str, text: str, size: int, **options: Any) -> list[ToolCallRejected]:
    parser = Parser(format, **options)
    events = [event for at in range(0, len(text), size) for event in parser.feed(text[at : at + size])]
    return [event for event in merge([*events, *parser.finish()]) if isinstance(event, ToolCallRejected)]


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("format", corpus.formats())
def test_every_rejected_call_of_the_corpus_has_a_position_and_a_message(format: str, strict: bool) -> None:
    """They do not depend on chunks."""
    for case in corpus.cases(format):
        options = {"tools": case.tools, "prefix": case.prefix, "strict": strict or case.strict}
        whole, *others = (rejected(format, case.text, size, **options) for size in SIZES)
        assert others == [whole] * len(others), case.text
        for event in whole:
            assert event.span[0] <= event.at <= event.span[1], case.text
            assert 0 < len(event.expected) <= 200, case.text
            assert event.message.endswith(".") and event.message[0].isupper(), case.text
            assert len(event.message) <= MAX_MESSAGE and event.message.isprintable(), case.text
            if event.reason == "incomplete_output":
                assert event.at == len(case.text), case.text


@pytest.mark.parametrize("format", corpus.formats())
def test_a_declared_name_after_a_start_marker_without_arguments_in_a_known_form_is_rejected(format: str) -> None:
    marks = get(format).markers
    head, name, _ = write(format, [("get_weather", {"city": "Oslo"})], [WEATHER]).partition("get_weather")
    if not head.lstrip().startswith(tuple(marks.framing) or "\0"):
        return  # without a start marker, it is a list of names
    text = head + name + ":\nBEGIN_ARG:city\nOslo\nEND_ARG"
    whole, *others = (rejected(format, text, size, tools=[WEATHER]) for size in SIZES)
    assert [event.span[0] for event in whole] == [len(head) - len(head.lstrip())]
    assert others == [whole] * len(others)


JSON = '<tool_call>{"name": "get_weather", "arguments": '
M3 = "]<]minimax[>["
KIMI = "<|tool_calls_section_begin|><|tool_call_begin|>"
KIMI_END = "<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>"
CASES = {
    "json": (
        "json",
        JSON + '{"city": "Oslo", "days" ^3}}</tool_call>',
        "':' after the key \"days\"",
        "Call to get_weather rejected: expected ':' after the key \"days\", but found '3}}</tool_call>' "
        "(character 72 of the call).",
    ),
    "json after content": (
        "json",
        "So. " + JSON + '{"city": "Oslo", "days" ^3}}</tool_call>',
        "':' after the key \"days\"",
        "Call to get_weather rejected: expected ':' after the key \"days\", but found '3}}</tool_call>' "
        "(character 72 of the call).",
    ),
    "arguments that are a list": (
        "json",
        JSON + "^[1]}</tool_call>",
        "an object with the arguments",
        "Call to get_weather rejected: the arguments are invalid; expected an object with the arguments, "
        "but found '[1]}</tool_call>' (character 48 of the call).",
    ),
    "an unfinished list": (
        "json",
        JSON + '{"city": ["Oslo"^}}</tool_call>',
        "',' or ']'",
        "Call to get_weather rejected: expected ',' or ']', but found '}}</tool_call>' (character 64 of the call).",
    ),
    "a missing value": (
        "json",
        JSON + '{"city": ^}}</tool_call>',
        "a value",
        "Call to get_weather rejected: expected a value, but found '}}</tool_call>' (character 57 of the call).",
    ),
    "a word that is no value": (
        "json",
        JSON + '{"days": ^tree}}</tool_call>',
        "a value",
        "Call to get_weather rejected: expected a value, but found 'tree}}</tool_call>' (character 57 of the call).",
    ),
    "a malformed call of an undeclared tool, which is read ahead": (
        "json",
        '<tool_call>{"name": "open_door", "arguments": {"side" ^3}}</tool_call>',
        "':' after the key \"side\"",
        "Tool call rejected: expected ':' after the key \"side\", but found '3}}</tool_call>' "
        "(character 54 of the call).",
    ),
    "arguments that are a string": (
        "json",
        JSON + '^"Oslo"}</tool_call>',
        "an object with the arguments",
        "Call to get_weather rejected: the arguments are invalid; expected an object with the arguments, but found "
        "'\"Oslo\"}</tool_call>' (character 48 of the call).",
    ),
    "an empty name": (
        "json",
        '<tool_call>{"name": ^"", "arguments": {}}</tool_call>',
        "the name of a tool",
        "Tool call rejected: it has no tool name; expected the name of a tool, but found "
        '\'"", "arguments": {}}…\' (character 20 of the call).',
    ),
    "no name": (
        "json",
        '<tool_call>{"arguments": {"city": "Oslo"}^}</tool_call>',
        "the name of a tool",
        "Tool call rejected: it has no tool name; expected the name of a tool, but found '}</tool_call>' "
        "(character 41 of the call).",
    ),
    "an undeclared tool": (
        "json",
        '<tool_call>{"name": ^"open_door", "arguments": {"side": "left"}}</tool_call>',
        "the name of a declared tool",
        'Tool call rejected: there is no tool named "open_door"; available tools: get_weather.',
    ),
    "incomplete": (
        "json",
        "Hm. " + JSON + '{"city": "Os^',
        "the end of the string",
        "Call to get_weather rejected: the output ended before the call was complete; expected the end of the string "
        "(character 60 of the call).",
    ),
    "incomplete after a value": (
        "json",
        JSON + '{"days": [3^',
        "',' or ']'",
        "Call to get_weather rejected: the output ended before the call was complete; expected ',' or ']' "
        "(character 59 of the call).",
    ),
    "tagged": (
        "xml_function",
        "<tool_call>\n<function=get_weather>\n^for Oslo\n</function>\n</tool_call>",
        "'<parameter=', '</function>' or '</tool_call>'",
        "Call to get_weather rejected: expected '<parameter=', '</function>' or '</tool_call>', but found "
        "'for Oslo\\n</function…' (character 35 of the call).",
    ),
    "tagged, text after a value": (
        "xml_function",
        "<tool_call><function=get_weather><parameter=city>Oslo</parameter>^garbage</function></tool_call>",
        "'<parameter=', '</function>', '</tool_call>' or '<function='",
        "Call to get_weather rejected: expected '<parameter=', '</function>', '</tool_call>' or '<function=', but "
        "found "
        "'garbage</function></…' (character 65 of the call).",
    ),
    "tagged, no value": (
        "glm4",
        "<tool_call>get_weather\n<arg_key>city</arg_key>\n^</tool_call>",
        "'<arg_value>'",
        "Call to get_weather rejected: expected '<arg_value>', but found '</tool_call>' (character 47 of the call).",
    ),
    "tagged, incomplete": (
        "glm4",
        "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Os^",
        "the end marker </arg_value>",
        "Call to get_weather rejected: the output ended before the call was complete; "
        "expected the end marker </arg_value> (character 60 of the call).",
    ),
    "tagged, a key whose tag does not end": (
        "minicpm5",
        '<function name="get_weather"><param name="city"Oslo^</param><param name="days">3</param></function>',
        '\'>\' after the key "city\\"Oslo"',
        "Call to get_weather rejected: expected '>' after the key \"city\\\"Oslo\", but found '</param><param name=…' "
        "(character 51 of the call).",
    ),
    "tagged, an end marker in several layouts": (
        "k2_horizon",
        "<ifm|tool_calls>\n<ifm|tool_call>get_weather^",
        "'<ifm|arg_key>', '</ifm|tool_call>\\n</ifm|tool_calls>' or '</ifm|tool_call>'",
        "Tool call rejected: the output ended before the call was complete; expected '<ifm|arg_key>', "
        "'</ifm|tool_call>\\n</ifm|tool_calls>' or '</ifm|tool_call>' (character 43 of the call).",
    ),
    "nested tags": (
        "minimax_m3",
        f'{M3}<tool_call>\n{M3}<invoke name="get_weather">^for Oslo{M3}</invoke>\n{M3}</tool_call>',
        "a tag or the end marker ]<]minimax[>[</invoke>",
        "Call to get_weather rejected: expected a tag or the end marker ]<]minimax[>[</invoke>, but found "
        "'for Oslo]<]minimax[>…' (character 65 of the call).",
    ),
    "call expression": (
        "lfm2",
        '<|tool_call_start|>[get_weather(city="Oslo", days=^)]<|tool_call_end|>',
        "a value",
        "Call to get_weather rejected: expected a value, but found ')]<|tool_call_end|>' (character 50 of the call).",
    ),
    "call expression, a key without a value": (
        "gemma",
        "<start_function_call>call:get_weather{city^}<end_function_call>",
        "':' or '=' after the key \"city\"",
        "Call to get_weather rejected: expected ':' or '=' after the key \"city\", but found '}<end_function_call>' "
        "(character 42 of the call).",
    ),
    "call expression, a marked string that is not at its end": (
        "gemma",
        "<start_function_call>call:get_weather{city:<escape>Oslo^<escape> days:3}<end_function_call>",
        "',' or a closing bracket after the end marker <escape>",
        "Call to get_weather rejected: expected ',' or a closing bracket after the end marker <escape>, but found "
        "'<escape> days:3}<end…' (character 55 of the call).",
    ),
    "named json": (
        "mistral",
        '[TOOL_CALLS]get_weather[ARGS]{"city" ^"Oslo"}',
        "':' after the key \"city\"",
        "Call to get_weather rejected: the arguments are invalid; expected ':' after the key \"city\" "
        "(character 37 of the call).",
    ),
    "channels": (
        "gpt_oss",
        "<|channel|>commentary to=functions.get_weather<|message|>^[3]<|call|>",
        "an object with the arguments",
        "Call to get_weather rejected: the arguments are invalid; expected an object with the arguments, but found "
        "'[3]<|call|>' (character 57 of the call).",
    ),
    "kimi": (
        "kimi_k2",
        f"{KIMI}^functions.open_door:0{KIMI_END}",
        "the name of a declared tool",
        'Tool call rejected: there is no tool named "open_door"; available tools: get_weather.',
    ),
}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("format", "marked", "expected", "message"), CASES.values(), ids=CASES)
def test_a_rejected_call_names_the_first_character_that_cannot_continue_it(
    format: str, marked: str, expected: str, message: str, size: int
) -> None:
    """The character after `^`."""
    text, at = marked.replace("^", ""), marked.index("^")
    (event,) = rejected(format, text, size, tools=[WEATHER])
    assert (event.at, event.expected, event.message) == (at, expected, message)


@pytest.mark.parametrize(
    ("names", "tools"),
    [
        ([], "no tools are available"),
        (["f"], "available tools: f"),
        (["f", "g"], "available tools: f, g"),
        ([f"f{number}" for number in range(12)], "available tools: f0, f1, f2, f3, f4, f5, f6, f7, f8, f9 and 2 more"),
    ],
)
def test_the_message_about_an_undeclared_tool_lists_the_tools(names: list[str], tools: str) -> None:
    text = '<tool_call>{"name": "open_door", "arguments": {}}</tool_call>'
    (event,) = rejected("json", text, 4, tools=[{"name": name} for name in names])
    assert event.message == f'Tool call rejected: there is no tool named "open_door"; {tools}.'


@pytest.mark.parametrize("size", SIZES)
def test_strict_parsing_names_the_leniency_that_it_does_not_apply(size: int) -> None:
    text = JSON + '{"city": "Oslo",}}</tool_call>'
    (event,) = rejected("json", text, size, tools=[WEATHER], strict=True)
    assert (event.at, event.expected, event.message) == (
        text.index("}"),
        "no comma before the closing bracket",
        "Call to get_weather rejected: a comma precedes a closing bracket (trailing_comma); expected no comma before "
        "the closing bracket (character 64 of the call).",
    )


def test_every_tolerance_has_what_strict_parsing_expects_instead() -> None:
    assert list(EXPECTED) == list(TOLERANCES)
    assert all(EXPECTED.values())


HOSTILE = "\x1b[2J\n\u202e'\"\\" + "k" * 10_000


@pytest.mark.parametrize(
    ("format", "text"),
    [
        ("json", '<tool_call>{"name": "get_weather", "arguments": {"' + "\\u001b\\n" + "k" * 900 + '" 3}}</tool_call>'),
        ("json", '<tool_call>{"name": "get_weather", "arguments": {"city": @' + HOSTILE + "}}</tool_call>"),
        ("json", '<tool_call>{"name": "\\u001b\\n' + "k" * 200 + '", "arguments": {}}</tool_call>'),
        ("json", '<tool_call>{"name": "get_weather", "arguments": {"' + HOSTILE),
        ("glm4", "<tool_call>get_weather\n<arg_key>" + HOSTILE + "</arg_key>\n</tool_call>"),
        ("minimax_m3", f'{M3}<tool_call>\n{M3}<invoke name="get_weather">{M3}<{HOSTILE}>x{M3}</invoke>'),
        ("gemma", "<start_function_call>call:get_weather{" + "k" * 200 + "}<end_function_call>"),
        ("mistral", "[TOOL_CALLS]get_weather[ARGS]{" + HOSTILE + ' "Oslo"}'),
    ],
)
def test_hostile_names_and_keys_do_not_make_a_message_long_or_unprintable(format: str, text: str) -> None:
    names = (f"{prefix}{'t' * 60}{number}" for number in range(50) for prefix in ("", "\U000e0041" * 50))
    tools = [WEATHER, *({"name": name} for name in names)]
    events = [rejected(format, text, size, tools=tools) for size in SIZES]
    assert events[0] and events[1:] == events[:1] * 2
    for event in events[0]:
        assert len(event.expected) <= 200 and len(event.message) <= MAX_MESSAGE
        assert (event.expected + event.message).isprintable()


def test_every_error_of_the_engines_gives_what_was_expected() -> None:
    """Also those that only decide between a call and content: they move into calls when the engines change."""
    raised = 0
    for path in Path(toolfmt.formats.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Raise) or node.exc is None:
                continue
            made = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            if isinstance(made, ast.Name) and made.id in ("Malformed", "NoCall", "Incomplete", "TooLong"):
                raised += 1
                where = f"{path.name}:{node.lineno}"
                assert isinstance(node.exc, ast.Call), where
                position = 0 if made.id == "Incomplete" else 1
                keys = [keyword.arg for keyword in node.exc.keywords]
                assert len(node.exc.args) > position or "expected" in keys, where
    assert raised > 80


@pytest.mark.parametrize("end", ["", "\n"])
@pytest.mark.parametrize("cut", [False, True])
def test_after_the_end_marker_of_a_value_another_marker_is_expected(end: str, cut: bool) -> None:
    parser = Parser("glm4")
    text = "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Oslo</arg_value>"
    rejected = (parser.feed(text + end) + parser.finish(cut=cut))[-1]
    assert isinstance(rejected, ToolCallRejected) and rejected.reason == "incomplete_output"
    assert rejected.expected == "'<arg_key>' or '</tool_call>'"
