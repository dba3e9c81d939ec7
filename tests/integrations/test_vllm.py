"""toolfmt's parsers in vLLM: the adapter with vLLM, or with stand-ins for its base classes if vLLM is not installed
(`runtime_stand_ins.py`), and vLLM's own pipeline if it is.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from importlib import import_module
from importlib.util import find_spec
from itertools import chain, repeat
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from runtime_answers import FORMATS, TOOLS, answers, cut_places, is_whole, pieces
from runtime_stand_ins import VLLM, adaptor
from token_outputs import ids_of, text_of, tokenizer_with

import toolfmt
from toolfmt.formats.parser.tokens.detokenizer import Detokenizer
from toolfmt.formats.parser.tokens.vocabulary import Tokens

ROOT = Path(__file__).parents[2]
INSTALLED = find_spec("vllm") is not None
MESSAGES: list[dict[str, Any]] = [{"role": "user", "content": "Do it."}]
GLM = "<tool_call>get_weather<arg_key>city</arg_key><arg_value>Paris</arg_value></tool_call>"
UNDECLARED = "<tool_call>delete_all<arg_key>city</arg_key><arg_value>Paris</arg_value></tool_call>"
BROKEN = "<tool_call>get_weather<arg_key>city</arg_key><arg_value>Paris</arg_value>broken</tool_call>"


@pytest.fixture(scope="module", autouse=True)
def for_vllm() -> Iterator[ModuleType]:
    with adaptor("toolfmt.integrations.vllm", VLLM) as module:
        yield module


def request(tool_choice: str | None = "auto", messages: list[dict[str, Any]] = MESSAGES, tools: Any = TOOLS) -> Any:
    protocol = import_module("vllm.entrypoints.openai.chat_completion.protocol")
    return protocol.ChatCompletionRequest(model="m", messages=messages, tools=tools, tool_choice=tool_choice)


def responses_request(tools: list[Any]) -> Any:
    protocol = import_module("vllm.entrypoints.openai.responses.protocol")
    return protocol.ResponsesRequest(model="m", input="Do it.", tools=tools)


def parser_of(name: str, tokenizer: Any = None) -> Any:
    manager = import_module("vllm.tool_parsers.abstract_tool_parser").ToolParserManager
    return manager.get_tool_parser(name)(tokenizer=tokenizer, tools=None)


def streamed(
    parser: Any, chunks: Iterable[str], chat_request: Any, ids: Iterable[list[int]] = ()
) -> tuple[str, list[tuple[str, str, str]]]:
    """The content of a response, and its calls: id, name, arguments."""
    deltas = [
        parser.extract_tool_calls_streaming("", "", chunk, [], [], tokens, chat_request)
        for chunk, tokens in zip(chunks, chain(ids, repeat([])), strict=False)
    ]
    content = ""
    calls: dict[int, list[str]] = {}
    for delta in filter(None, [*deltas, parser.finish_streaming()]):
        assert delta.content or delta.tool_calls
        content += delta.content or ""
        for call in delta.tool_calls:
            call_parts = calls.setdefault(call.index, [call.id, call.function.name, ""])
            assert (call.id, call.function.name) in ((call_parts[0], call_parts[1]), (None, None))
            call_parts[2] += call.function.arguments
    assert list(calls) == list(range(len(calls)))
    return content, [(id, name, arguments) for id, name, arguments in calls.values()]


def at_once(parser: Any, text: str, chat_request: Any) -> tuple[str, list[tuple[str, str, str]]]:
    extracted = parser.extract_tool_calls(text, chat_request)
    assert extracted.tools_called == bool(extracted.tool_calls)
    return extracted.content or "", [
        (call.id, call.function.name, call.function.arguments) for call in extracted.tool_calls
    ]


def parsed(text: str, format: str) -> tuple[str, list[tuple[str, str, str]]]:
    message = toolfmt.parse(text, format, tools=TOOLS)
    return message.content or "", [(call.id, call.name, call.arguments) for call in message.tool_calls]


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_is_read_as_toolfmt_reads_it(format: str) -> None:
    chat_request = request()
    assert len(answers(format)) > 3
    for text in answers(format):
        expected = parsed(text, format)
        assert expected[1]
        for name in (f"toolfmt_{format}", f"toolfmt_{format}_streamed"):
            assert streamed(parser_of(name), pieces(text), chat_request) == expected
            assert streamed(parser_of(name), [text], chat_request) == expected
            assert at_once(parser_of(name), text, chat_request) == expected


@pytest.mark.parametrize("format", FORMATS)
def test_no_call_that_was_cut_is_whole(format: str) -> None:
    """It has all of its arguments, or is not a call; if arguments stream, a client sees that they never ended."""
    chat_request = request()
    text = answers(format)[0]
    ((_, _, arguments),) = parsed(text, format)[1]
    for end in cut_places(text):
        kept = [
            *at_once(parser_of(f"toolfmt_{format}"), text[:end], chat_request)[1],
            *streamed(parser_of(f"toolfmt_{format}"), pieces(text[:end]), chat_request)[1],
        ]
        assert {kept_arguments for _, _, kept_arguments in kept} <= {arguments}
        under_way = streamed(parser_of(f"toolfmt_{format}_streamed"), pieces(text[:end]), chat_request)[1]
        assert {kept_arguments for _, _, kept_arguments in under_way if is_whole(kept_arguments)} <= {arguments}


def test_content_is_kept_before_between_and_after_calls() -> None:
    text = f"Let me see. {GLM} Then {GLM} and done."
    call = ("get_weather", '{"city": "Paris"}')
    expected = ("Let me see. Then and done.", [("call_0", *call), ("call_1", *call)])
    for result in (
        streamed(parser_of("toolfmt_glm4"), pieces(text), request()),
        at_once(parser_of("toolfmt_glm4"), text, request()),
    ):
        assert (" ".join(result[0].split()), result[1]) == expected


@pytest.mark.parametrize("after", ["Then more.", UNDECLARED])
def test_content_after_a_call_that_continues_waits_for_the_next_delta(after: str) -> None:
    """vLLM emits the content of a delta first; the rest of the call would be one without a name for Responses."""
    parser, chat_request = parser_of("toolfmt_glm4_streamed"), request()
    chunks = [GLM[:-20], f"{GLM[-20:]}{after}{GLM}", " "]
    first, second, third = (
        parser.extract_tool_calls_streaming("", "", chunk, [], [], [], chat_request) for chunk in chunks
    )
    assert [(call.index, call.id) for call in first.tool_calls] == [(0, "call_0")]
    assert (second.content, [(call.index, call.id) for call in second.tool_calls]) == (None, [(0, None)])
    assert (third.content, [(call.index, call.id) for call in third.tool_calls]) == (after, [(1, "call_1")])
    whole = [("call_0", "get_weather", '{"city": "Paris"}'), ("call_1", "get_weather", '{"city": "Paris"}')]
    assert streamed(parser_of("toolfmt_glm4"), chunks, chat_request) == (after, whole)


def test_a_rejected_call_is_content() -> None:
    for name in ("toolfmt_glm4", "toolfmt_glm4_streamed"):
        assert streamed(parser_of(name), pieces(f"So: {UNDECLARED}"), request()) == (f"So: {UNDECLARED}", [])
        assert at_once(parser_of(name), f"So: {UNDECLARED}", request()) == (f"So: {UNDECLARED}", [])


def test_a_call_that_fails_midway_never_ends_and_is_content_if_only_whole_calls_are_emitted() -> None:
    content, ((_, name, arguments),) = streamed(parser_of("toolfmt_glm4_streamed"), pieces(BROKEN), request())
    assert (content, name, arguments[:14], is_whole(arguments)) == ("", "get_weather", '{"city": "Pari', False)
    assert streamed(parser_of("toolfmt_glm4"), pieces(BROKEN), request()) == (BROKEN, [])
    assert at_once(parser_of("toolfmt_glm4"), BROKEN, request()) == (BROKEN, [])


@pytest.mark.parametrize("name", ["toolfmt_glm4", "toolfmt_glm4_streamed"])
def test_a_call_that_a_response_quotes_is_content(name: str) -> None:
    """Where vLLM gives ids: in a stream. The text of a whole response does not show which markers are tokens."""
    tokenizer = tokenizer_with("<tool_call>", "</tool_call>", "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>")
    output = f"It says {GLM}.\n{as_tokens(GLM)}"
    ids = ids_of(tokenizer, output)
    call = ("call_0", "get_weather", '{"city": "Paris"}')
    parser = parser_of(name, tokenizer)
    detokenizer = Detokenizer(Tokens(tokenizer), {})
    steps = [("".join(text for text, _ in detokenizer.feed([id])), [id]) for id in ids]
    for lag in (0, 3):  # the text of a step comes that many steps after its ids
        texts = [*[""] * lag, *(text for text, _ in steps)]
        given = [*([id] for id in ids), *[[]] * lag]
        assert streamed(parser, texts, request(), given) == (f"It says {GLM}.\n", [call])
    assert streamed(parser, [text_of(output)], request(), [ids]) == (f"It says {GLM}.\n", [call])
    assert len(at_once(parser, text_of(output), request())[1]) == 2


@pytest.mark.parametrize("value", ["text", "wrong"])
def test_an_environment_variable_matches_markers_by_their_text(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLFMT_MARKERS", value)
    monkeypatch.delitem(sys.modules, "toolfmt.integrations.vllm")
    if value == "wrong":
        with pytest.raises(ImportError, match="the environment variable TOOLFMT_MARKERS is 'wrong'; set it to auto or"):
            import_module("toolfmt.integrations.vllm")
        return
    import_module("toolfmt.integrations.vllm")
    tokenizer = tokenizer_with("<tool_call>", "</tool_call>", "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>")
    content, calls = streamed(parser_of("toolfmt_glm4", tokenizer), [GLM], request(), [ids_of(tokenizer, GLM)])
    assert (content, len(calls)) == ("", 1)


def as_tokens(text: str) -> str:
    return re.sub(r"</?\w+>", r"«\g<0>»", text)


@pytest.mark.parametrize(("tool_choice", "tools"), [("none", TOOLS), (None, TOOLS), ("none", None)])
def test_everything_is_content_if_the_client_gets_no_calls(tool_choice: str | None, tools: Any) -> None:
    chat_request = request(tool_choice, tools=tools)
    parser = parser_of("toolfmt_glm4")
    assert streamed(parser, [*pieces(GLM), ""], chat_request) == (GLM, [])
    assert at_once(parser, GLM, chat_request) == (GLM, [])
    assert parser.adjust_request(chat_request).skip_special_tokens is None


def test_the_frame_of_an_answer_is_no_content_where_no_call_may_come_either() -> None:
    text = "<|open|>response<|sep|>Hi.<|close|>response<|sep|><|close|>message<|sep|>"
    assert streamed(parser_of("toolfmt_kimi_k3"), pieces(text), request("none")) == ("Hi.", [])
    assert at_once(parser_of("toolfmt_kimi_k3"), text, request("none")) == ("Hi.", [])


def test_special_tokens_are_kept_as_they_are_where_calls_may_come_and_nowhere_else() -> None:
    kept = [parser_of("toolfmt_glm4").adjust_request(request(choice)) for choice in ("auto", "required")]
    kept += [parser_of("toolfmt_glm4").adjust_request(responses_request([]))]
    flags = [(adjusted.skip_special_tokens, adjusted.spaces_between_special_tokens) for adjusted in kept]
    assert flags == [(False, False), (False, False), (None, True)]


def test_a_stop_token_that_shows_the_end_of_the_arguments_is_kept() -> None:
    parser = parser_of("toolfmt_beam")
    text = answers("beam")[0]
    without = text.removesuffix("<|call|>")
    assert without != text
    assert [len(at_once(parser, each, request())[1]) for each in (text, without)] == [1, 0]
    function = {"type": "function", "name": "get_weather", "parameters": {"type": "object", "properties": {}}}
    for chat_request in (request(), responses_request([function])):
        assert parser.adjust_request(chat_request).include_stop_str_in_output
    assert not parser_of("toolfmt_glm4").adjust_request(request()).include_stop_str_in_output


def test_vllm_flushes_and_does_not_force_json() -> None:
    parser = parser_of("toolfmt_glm4")
    assert (parser.engine_based_streaming, parser.supports_required_and_named) == (True, False)


def test_a_structural_tag_allows_valid_calls_only(for_vllm: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    parser = parser_of("toolfmt_glm4")
    assert parser.structural_tag_model
    for choice, parallel in (("required", True), ("auto", False), ("get_time", True)):
        asked = request("required" if choice == "get_time" else choice)
        asked.parallel_tool_calls = parallel
        if choice == "get_time":
            asked.tool_choice = SimpleNamespace(function=SimpleNamespace(name=choice))
        expected = toolfmt.grammar("glm4", TOOLS, syntax="structural-tag", choice=choice, parallel=parallel)
        tag = parser.get_structural_tag(asked, reasoning=False)
        assert tag == type(tag).model_validate_json(expected.text)
    monkeypatch.setattr(for_vllm.envs, "VLLM_ENFORCE_STRICT_TOOL_CALLING", False)
    assert parser.get_structural_tag(request("required")) is None


def test_a_structural_tag_has_the_ids_of_markers() -> None:
    tokenizer = tokenizer_with("<tool_call>")
    tag = parser_of("toolfmt_glm4", tokenizer).get_structural_tag(request("required"))
    assert f"Token({tokenizer.token_to_id('<tool_call>')})" in tag.model_dump_json()


def test_tools_without_a_grammar_are_not_constrained(caplog: pytest.LogCaptureFixture) -> None:
    function = {"name": "f", "parameters": {"type": "object", "properties": {"a": {"not": {}}}}}
    asked = request("required", tools=[{"type": "function", "function": function}])
    assert parser_of("toolfmt_glm4").get_structural_tag(asked) is None
    assert "parsed, but not constrained: the format glm4 has no grammar for the argument 'a' of 'f'" in caplog.text


def test_one_name_finds_the_format_of_the_model() -> None:
    models = ROOT / "corpus" / "models"
    parser = parser_of("toolfmt", SimpleNamespace(name_or_path=str(models / "glm4-key-value")))
    assert at_once(parser, GLM, request())[1][0][1:] == ("get_weather", '{"city": "Paris"}')
    quoted = parser_of("toolfmt", SimpleNamespace(name_or_path=str(models / "double-encoded")))
    assert (quoted.format.name, quoted.format.variant) == ("json", "without newlines")
    again = parser_of("toolfmt", SimpleNamespace(name_or_path=str(models / "double-encoded")))
    assert again.format is quoted.format  # found once
    derived = parser_of("toolfmt_streamed", SimpleNamespace(name_or_path=str(models / "format-of-its-own")))
    assert derived.format.name not in FORMATS
    with pytest.raises(
        toolfmt.ToolfmtError,
        match=r"^the parser toolfmt needs .*\(or set toolfmt_<format>\)$",
    ):
        parser_of("toolfmt", SimpleNamespace(name_or_path=str(models / "none")))


def test_the_default_format_is_logged_as_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    model = str(ROOT / "corpus" / "models" / "no-tools-no-system")
    assert parser_of("toolfmt", SimpleNamespace(name_or_path=model)).format.name == "json"
    assert [record.getMessage() for record in caplog.records if record.levelname == "WARNING"] == [
        f"toolfmt: the files of {model} identify no tool-call format; using json. Set toolfmt_<format> to choose one"
    ]


def test_a_model_whose_format_is_not_known_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    unknown = SimpleNamespace(profile=SimpleNamespace(tool_call_format=None, why_no_format="its calls are unlike all"))
    monkeypatch.setattr("toolfmt.model.model.load", lambda path: unknown)
    expected = "odd: the tool-call format is not known (its calls are unlike all) (or set toolfmt_<format>)"
    with pytest.raises(toolfmt.ToolfmtError) as raised:
        parser_of("toolfmt", SimpleNamespace(name_or_path="odd"))
    assert str(raised.value).endswith(expected)


A_PROCESS = """
import sys
from vllm.plugins import load_general_plugins
load_general_plugins()
print("vllm.tool_parsers.abstract_tool_parser" in sys.modules)
from vllm.tool_parsers.abstract_tool_parser import ToolParserManager
print("toolfmt.integrations.vllm" in sys.modules, {"toolfmt", "toolfmt_glm4"} <= set(ToolParserManager.lazy_parsers))
print(ToolParserManager.lazy_parsers["toolfmt"])
"""
PLUGINS = """
def load_general_plugins():
    from importlib.metadata import entry_points
    for plugin in entry_points(group="vllm.general_plugins"):
        plugin.load()()
        plugin.load()()
"""
MANAGER = """
class ToolParserManager:
    lazy_parsers = {}
    @classmethod
    def register_lazy_module(cls, name, module, kind):
        cls.lazy_parsers[name] = (module, kind)
"""


def test_installing_toolfmt_is_enough(tmp_path: Path) -> None:
    """vLLM loads the entry point of the installed package, in its own order; without vLLM, modules of that form do."""
    if not INSTALLED:
        (tmp_path / "vllm" / "tool_parsers").mkdir(parents=True)
        (tmp_path / "vllm" / "plugins.py").write_text(PLUGINS, "utf-8")
        (tmp_path / "vllm" / "tool_parsers" / "abstract_tool_parser.py").write_text(MANAGER, "utf-8")
    paths = os.pathsep.join([str(tmp_path), str(ROOT), *filter(None, sys.path)])
    done = subprocess.run(
        [sys.executable, "-c", A_PROCESS],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": paths},
        timeout=300,
    )
    lines = done.stdout.splitlines()
    assert (lines[1:], done.returncode) == (["False True", "('toolfmt.integrations.vllm', 'toolfmt')"], 0), done.stderr
    assert INSTALLED or lines[0] == "False"


def test_nothing_is_left_for_vllm_to_send_again() -> None:
    parser = parser_of("toolfmt_glm4")
    streamed(parser, pieces(GLM[:-20]), request())
    assert (parser.prev_tool_call_arr, parser.streamed_args_for_tool) == ([], [])


def test_reasoning_without_a_reasoning_parser_stays_text() -> None:
    text = f"<think>Hm.</think>{GLM}"
    assert streamed(parser_of("toolfmt_glm4"), pieces(text), request())[0] == "<think>Hm.</think>"
    assert at_once(parser_of("toolfmt_glm4"), text, request())[0] == "<think>Hm.</think>"


def test_a_parser_reads_one_answer_after_another() -> None:
    parser = parser_of("toolfmt_glm4")
    assert parser.finish_streaming() is None
    first, second = (streamed(parser, pieces(GLM), request()) for _ in range(2))
    assert first == second == ("", [("call_0", "get_weather", '{"city": "Paris"}')])
    assert parser.finish_streaming() is None
    assert at_once(parser, GLM, request()) == at_once(parser, GLM, request()) == first


def test_ids_go_on_from_those_of_the_conversation_in_the_form_of_the_family() -> None:
    function = {"name": "get_time", "arguments": "{}"}
    call = {"id": "call_0", "type": "function", "function": function}
    result = {"role": "tool", "tool_call_id": "call_0", "content": "noon"}
    held: list[dict[str, Any]] = [*MESSAGES, {"role": "assistant", "tool_calls": [call]}, result]
    text = answers("kimi_k2")[1]
    bare = text.replace("functions.get_time:0", "get_time")
    assert text != bare
    assert at_once(parser_of("toolfmt_glm4"), GLM, request(messages=held))[1][0][0] == "call_1"
    assert at_once(parser_of("toolfmt_kimi_k2"), bare, request(messages=held))[1][0][0] == "functions.get_time:1"


def test_ids_are_of_no_other_answer_where_the_server_holds_the_conversation() -> None:
    chat_request = responses_request([{"type": "function", **TOOLS[0]["function"]}])
    calls_of_answers = [streamed(parser_of("toolfmt_glm4"), [GLM + GLM], chat_request)[1] for _ in range(2)]
    assert [[call[1:] for call in calls] for calls in calls_of_answers] == [
        [("get_weather", '{"city": "Paris"}')] * 2
    ] * 2
    assert len({id for calls in calls_of_answers for id, _, _ in calls}) == 4


def test_an_unsupported_vllm_version_is_reported_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "toolfmt.integrations.vllm")
    monkeypatch.setitem(sys.modules, "vllm.tool_parsers.abstract_tool_parser", None)
    with pytest.raises(ImportError, match=r"requires vLLM 0\.33") as raised:
        import_module("toolfmt.integrations.vllm")
    assert not isinstance(raised.value, ModuleNotFoundError)


# --- vLLM itself


@pytest.mark.skipif(not INSTALLED, reason="vLLM is not installed")
@pytest.mark.parametrize("format", FORMATS)
def test_vllm_reads_every_format_as_toolfmt_does(format: str) -> None:
    from benchmarks.runtime_reading import tokenizer_for, tokens_of, vllm_streamed, vllm_whole

    tokenizer = tokenizer_for(answers(format), TOOLS)
    for text in answers(format):
        content, calls = parsed(text, format)
        expected = (content, [(name, arguments) for _, name, arguments in calls])
        tokens = tokens_of(tokenizer, text)
        for name in (f"toolfmt_{format}", f"toolfmt_{format}_streamed"):
            result = vllm_streamed(name, tokenizer, tokens, TOOLS, cut=False)
            assert (result.content, result.calls, result.finish_reason) == (*expected, "tool_calls")
        whole = vllm_whole(f"toolfmt_{format}", tokenizer, tokens, TOOLS)
        assert (whole.content, whole.calls) == expected


@pytest.mark.skipif(not INSTALLED, reason="vLLM is not installed")
@pytest.mark.parametrize(("reasoning_parser", "format"), [("qwen3", "json"), ("glm45", "glm4"), ("kimi_k2", "kimi_k2")])
def test_vllm_reads_the_reasoning_by_itself(reasoning_parser: str, format: str) -> None:
    from benchmarks.runtime_reading import tokenizer_for, tokens_of, vllm_streamed, vllm_whole

    text = f"<think>Hm.</think>So. {answers(format)[0]}"
    tokenizer = tokenizer_for([text], TOOLS)
    tokens = tokens_of(tokenizer, text)
    name = f"toolfmt_{format}"
    calls = [(name, arguments) for _, name, arguments in parsed(text, format)[1]]
    for result in (
        vllm_streamed(name, tokenizer, tokens, TOOLS, cut=False, reasoning_parser=reasoning_parser),
        vllm_whole(name, tokenizer, tokens, TOOLS, reasoning_parser=reasoning_parser),
    ):
        assert (result.reasoning, result.content.strip(), result.calls) == ("Hm.", "So.", calls)


@pytest.mark.skipif(not INSTALLED, reason="vLLM is not installed")
def test_vllm_reports_a_truncated_answer_as_cut() -> None:
    from benchmarks.runtime_reading import tokenizer_for, tokens_of, vllm_streamed

    tokenizer = tokenizer_for([GLM], TOOLS)
    tokens = tokens_of(tokenizer, GLM)[:-3]
    result = vllm_streamed("toolfmt_glm4_streamed", tokenizer, tokens, TOOLS, cut=True)
    assert result.finish_reason == "length"
    assert [is_whole(arguments) for _, arguments in result.calls] == [False]
    result = vllm_streamed("toolfmt_glm4", tokenizer, tokens, TOOLS, cut=True)
    assert (result.finish_reason, result.calls) == ("length", [])
    assert result.content == ""  # the response was probably cut inside the call
