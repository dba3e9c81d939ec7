"""toolfmt's parsers in SGLang: the adapter with SGLang, or with stand-ins for its base classes if SGLang is not
installed (`runtime_stand_ins.py`), and SGLang's own `FunctionCallParser` if it is.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from runtime_answers import FORMATS, TOOLS, answers, cut_places, is_whole, pieces
from runtime_stand_ins import SGLANG, adaptor
from token_outputs import tokenizer_with

import toolfmt
from toolfmt.formats import get

ROOT = Path(__file__).parents[2]
INSTALLED = find_spec("sglang") is not None
GLM = "<tool_call>get_weather<arg_key>city</arg_key><arg_value>Paris</arg_value></tool_call>"
UNDECLARED = "<tool_call>delete_all<arg_key>city</arg_key><arg_value>Paris</arg_value></tool_call>"
BROKEN = "<tool_call>get_weather<arg_key>city</arg_key><arg_value>Paris</arg_value>broken</tool_call>"
Read = tuple[str, list[tuple[str, str]]]


@pytest.fixture(scope="module", autouse=True)
def for_sglang() -> Iterator[ModuleType]:
    with adaptor("toolfmt.integrations.sglang", SGLANG) as module:
        module.register()
        yield module


def detector_of(name: str) -> Any:
    known = import_module("sglang.srt.function_call.function_call_parser").FunctionCallParser.ToolCallParserEnum
    return known[name]()


def tools() -> list[Any]:
    tool = import_module("sglang.srt.entrypoints.openai.protocol").Tool
    return [tool(**definition) for definition in TOOLS]


def streamed(detector: Any, chunks: Iterable[str]) -> Read:
    given = tools()
    results = [*(detector.parse_streaming_increment(chunk, given) for chunk in chunks), detector.finish(given)]
    content = "".join(result.normal_text for result in results)
    calls: dict[int, list[str]] = {}
    for call in (call for result in results for call in result.calls):
        name_and_arguments = calls.setdefault(call.tool_index, [call.name, ""])
        assert call.name in (name_and_arguments[0], None)
        name_and_arguments[1] += call.parameters
    assert list(calls) == list(range(len(calls)))
    return content, [(name, arguments) for name, arguments in calls.values()]


def at_once(detector: Any, text: str) -> Read:
    """As the server reads: a text that shows no call is not read."""
    if not detector.has_tool_call(text):
        return text, []
    result = detector.detect_and_parse(text, tools())
    assert [call.tool_index for call in result.calls] == list(range(len(result.calls)))
    return result.normal_text, [(call.name, call.parameters) for call in result.calls]


def parsed(text: str, format: str) -> Read:
    message = toolfmt.parse(text, format, tools=TOOLS)
    return message.content or "", [(call.name, call.arguments) for call in message.tool_calls]


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_is_read_as_toolfmt_reads_it(format: str) -> None:
    assert len(answers(format)) > 3
    for text in answers(format):
        expected = parsed(text, format)
        assert expected[1]
        for name in (f"toolfmt_{format}", f"toolfmt_{format}_streamed"):
            assert streamed(detector_of(name), pieces(text)) == expected
            assert streamed(detector_of(name), [text]) == expected
            assert at_once(detector_of(name), text) == expected


@pytest.mark.parametrize("format", FORMATS)
def test_no_call_that_was_cut_is_whole(format: str) -> None:
    """It has all of its arguments, or is not a call; if arguments stream, a client sees that they never ended."""
    text = answers(format)[0]
    ((_, arguments),) = parsed(text, format)[1]
    for end in cut_places(text):
        kept = at_once(detector_of(f"toolfmt_{format}"), text[:end])[1]
        kept += streamed(detector_of(f"toolfmt_{format}"), pieces(text[:end]))[1]
        assert {kept_arguments for _, kept_arguments in kept} <= {arguments}
        under_way = streamed(detector_of(f"toolfmt_{format}_streamed"), pieces(text[:end]))[1]
        assert {kept_arguments for _, kept_arguments in under_way if is_whole(kept_arguments)} <= {arguments}


@pytest.mark.parametrize("format", FORMATS)
def test_an_answer_without_calls_shows_none(format: str) -> None:
    detector = detector_of(f"toolfmt_{format}")
    assert not detector.has_tool_call("It is fine in Paris today, 21 degrees. Shall I look at tomorrow?")
    assert at_once(detector, "Nothing to do.") == streamed(detector, ["Nothing", " to do."]) == ("Nothing to do.", [])


@pytest.mark.parametrize("format", [format for format in FORMATS if get(format).engine.named])
def test_a_call_that_only_a_declared_name_shows_is_seen(format: str) -> None:
    assert parsed("get_time()", format) == at_once(detector_of(f"toolfmt_{format}"), "get_time()")
    assert parsed("get_time()", format)[1] == [("get_time", "{}")]


def test_content_is_kept_before_between_and_after_calls() -> None:
    text = f"Let me see. {GLM} Then {GLM} and done."
    call = ("get_weather", '{"city": "Paris"}')
    for content, calls in (
        streamed(detector_of("toolfmt_glm4"), pieces(text)),
        at_once(detector_of("toolfmt_glm4"), text),
    ):
        assert (" ".join(content.split()), calls) == ("Let me see. Then and done.", [call, call])


@pytest.mark.parametrize("after", ["Then more.", UNDECLARED])
def test_content_after_a_call_that_continues_waits_for_the_next_result(after: str) -> None:
    """SGLang emits the content of a result first; the rest of the call would be another one for Responses."""
    detector = detector_of("toolfmt_glm4_streamed")
    chunks = [GLM[:-20], f"{GLM[-20:]}{after}{GLM}", " "]
    results = [detector.parse_streaming_increment(chunk, tools()) for chunk in chunks]
    summaries = [(result.normal_text, [(call.tool_index, call.name) for call in result.calls]) for result in results]
    assert summaries == [("", [(0, "get_weather")]), ("", [(0, None)]), (after, [(1, "get_weather")])]
    whole = ("get_weather", '{"city": "Paris"}')
    assert streamed(detector_of("toolfmt_glm4"), chunks) == (after, [whole, whole])


def test_a_rejected_call_is_content() -> None:
    for name in ("toolfmt_glm4", "toolfmt_glm4_streamed"):
        assert streamed(detector_of(name), pieces(f"So: {UNDECLARED}")) == (f"So: {UNDECLARED}", [])
        assert at_once(detector_of(name), f"So: {UNDECLARED}") == (f"So: {UNDECLARED}", [])


def test_a_call_that_fails_midway_never_ends_and_is_content_if_only_whole_calls_are_emitted() -> None:
    content, ((name, arguments),) = streamed(detector_of("toolfmt_glm4_streamed"), pieces(BROKEN))
    assert (content, name, arguments[:14], is_whole(arguments)) == ("", "get_weather", '{"city": "Pari', False)
    assert streamed(detector_of("toolfmt_glm4"), pieces(BROKEN)) == (BROKEN, [])
    assert at_once(detector_of("toolfmt_glm4"), BROKEN) == (BROKEN, [])


def test_nothing_is_left_for_sglang_to_send_again() -> None:
    detector = detector_of("toolfmt_glm4")
    streamed(detector, pieces(GLM[:-20]))
    assert (detector.prev_tool_call_arr, detector.streamed_args_for_tool) == ([], [])


def test_reasoning_without_a_reasoning_parser_stays_text() -> None:
    text = f"<think>Hm.</think>{GLM}"
    assert streamed(detector_of("toolfmt_glm4"), pieces(text))[0] == "<think>Hm.</think>"
    assert at_once(detector_of("toolfmt_glm4"), text)[0] == "<think>Hm.</think>"


def test_a_detector_reads_one_answer_after_another() -> None:
    detector = detector_of("toolfmt_glm4")
    expected = ("", [("get_weather", '{"city": "Paris"}')])
    assert streamed(detector, []) == ("", [])
    assert [streamed(detector, pieces(GLM)) for _ in range(2)] == [expected, expected]


def test_kimi_k3_stops_after_its_calls_and_they_are_whole() -> None:
    """SGLang uses the detector's `eot_token` as a stop string of this model, and cuts it off the output."""
    stop = detector_of("toolfmt_kimi_k3").eot_token
    assert "" not in {detector_of(f"toolfmt_{format}").eot_token for format in FORMATS}
    for text in answers("kimi_k3"):
        assert text.endswith(stop)
        cut = text.removesuffix(stop)
        for name in ("toolfmt_kimi_k3", "toolfmt_kimi_k3_streamed"):
            assert streamed(detector_of(name), pieces(cut)) == parsed(text, "kimi_k3")
        assert at_once(detector_of("toolfmt_kimi_k3"), cut) == parsed(text, "kimi_k3")


def test_sglang_makes_no_structural_tag_of_its_own() -> None:
    detector = detector_of("toolfmt_glm4")
    assert (detector.parses_required_natively(), detector.supports_structural_tag()) == (True, False)
    with pytest.raises(NotImplementedError, match="structural_tag"):
        detector.structure_info()


def with_server(monkeypatch: pytest.MonkeyPatch, module: ModuleType, **arguments: str) -> None:
    monkeypatch.setattr(module, "get_server_args", lambda: SimpleNamespace(**arguments))


def test_a_structural_tag_allows_valid_calls_only(for_sglang: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    detector = detector_of("toolfmt_glm4")
    assert detector.get_structural_tag(tools(), "required") is None  # no server
    with_server(monkeypatch, for_sglang, model_path="m", grammar_backend="llguidance")
    assert detector.get_structural_tag(tools(), "required") is None  # it reads no such tags
    with_server(monkeypatch, for_sglang, model_path="m", grammar_backend="xgrammar")
    named = SimpleNamespace(function=SimpleNamespace(name="get_time"))
    choices: list[tuple[str, Any, bool]] = [
        ("required", "required", True),
        ("auto", "auto", False),
        ("get_time", named, True),
    ]
    for choice, given, parallel in choices:
        tag = detector.get_structural_tag(tools(), given, parallel_tool_calls=parallel)
        expected = toolfmt.grammar("glm4", TOOLS, syntax="structural-tag", choice=choice, parallel=parallel)
        assert tag == type(tag).model_validate_json(expected.text)


def test_a_tool_with_the_name_of_a_mode_is_forced(for_sglang: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    with_server(monkeypatch, for_sglang, model_path="m", grammar_backend="xgrammar")
    both = [{"type": "function", "function": {"name": name}} for name in ("auto", "other")]
    named = SimpleNamespace(function=SimpleNamespace(name="auto"))
    tag = detector_of("toolfmt_glm4").get_structural_tag(both, named)
    expected = toolfmt.grammar("glm4", both[:1], syntax="structural-tag", choice="required")
    assert tag == type(tag).model_validate_json(expected.text)


def test_a_structural_tag_has_the_ids_of_markers(for_sglang: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    with_server(monkeypatch, for_sglang, model_path="m", grammar_backend="xgrammar")
    known = import_module("sglang.srt.function_call.function_call_parser").FunctionCallParser.ToolCallParserEnum
    tokenizer = tokenizer_with("<tool_call>")
    tag = known["toolfmt_glm4"](tokenizer=tokenizer).get_structural_tag(tools(), "required")
    assert f"Token({tokenizer.token_to_id('<tool_call>')})" in tag.model_dump_json()


def test_one_name_finds_the_format_of_the_model(for_sglang: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    model = ROOT / "corpus" / "models" / "glm4-key-value"
    with_server(monkeypatch, for_sglang, model_path=str(model), grammar_backend="xgrammar")
    assert streamed(detector_of("toolfmt"), pieces(GLM)) == ("", [("get_weather", '{"city": "Paris"}')])
    with_server(monkeypatch, for_sglang, model_path=str(model.parent / "none"), grammar_backend="xgrammar")
    with pytest.raises(
        toolfmt.ToolfmtError,
        match=r"^the parser toolfmt needs .*\(or set toolfmt_<format>\)$",
    ):
        detector_of("toolfmt")


def test_the_parsers_are_registered_in_both_places_and_once(for_sglang: ModuleType) -> None:
    for_sglang.register()
    names = import_module("sglang.srt.function_call.parser_names").TOOL_CALL_PARSER_NAMES
    known = import_module("sglang.srt.function_call.function_call_parser").FunctionCallParser.ToolCallParserEnum
    ours = sorted(f"toolfmt_{format}{ending}" for format in FORMATS for ending in ("", "_streamed"))
    # Other tests of this process may have made more formats known.
    assert set(ours) <= set(names)
    assert len(names) == len(set(names))
    assert set(ours) <= set(known)
    assert {known[name]().format.name for name in ours} == set(FORMATS)
    assert {"toolfmt", "toolfmt_streamed"} <= set(names) & set(known)


# The minimal modules of an SGLang process that can be imported if SGLang is not installed.
PACKAGE = {
    "base_format_detector": "class BaseFormatDetector:\n    pass",
    "core_types": "StreamingParseResult = ToolCallItem = None",
    "function_call_parser": "class FunctionCallParser:\n    ToolCallParserEnum = {'own': None}",
    "parser_names": "TOOL_CALL_PARSER_NAMES = ['own']",
    "../runtime_context": "get_server_args = None",
}
A_PROCESS = """
import sys
from importlib import import_module
{plugin}.register()
{plugin}.register()
names = import_module("sglang.srt.function_call.parser_names").TOOL_CALL_PARSER_NAMES
print("toolfmt_glm4" in names, "sglang.srt.function_call.function_call_parser" in sys.modules)
from sglang.srt.function_call.function_call_parser import FunctionCallParser
print(set(names) == set(FunctionCallParser.ToolCallParserEnum), len(names) - len(set(names)))
"""


def a_process(folder: Path, **changed: str) -> subprocess.CompletedProcess[str]:
    """The output of a process that loads the plug-in, and imports the parsers after that."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    where, _, function = project["entry-points"]["sglang.srt.plugins"]["toolfmt"].partition(":")
    assert function == "register"
    if changed or not INSTALLED:
        inside = folder / "sglang" / "srt" / "function_call"
        inside.mkdir(parents=True)
        (folder / "sglang" / "__init__.py").write_text("", "utf-8")
        for name, code in (PACKAGE | changed).items():
            (inside / f"{name}.py").write_text(code, "utf-8")
    code = A_PROCESS.format(plugin=f'import_module("{where}")')
    paths = os.pathsep.join([str(folder), str(ROOT), *filter(None, sys.path)])
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env=os.environ | {"PYTHONPATH": paths},
        timeout=300,
    )


def test_installing_toolfmt_is_enough_and_costs_a_process_that_reads_nothing_no_parsers(tmp_path: Path) -> None:
    done = a_process(tmp_path)
    assert (done.stdout.split(), done.returncode) == (["True", "False", "True", "0"], 0), done.stderr


@pytest.mark.sample(0)
def test_an_sglang_of_another_age_goes_on_without_toolfmt(tmp_path: Path) -> None:
    done = a_process(tmp_path, core_types="")
    assert (done.stdout.split(), done.returncode) == (["True", "False", "False", "0"], 0)
    assert "toolfmt's parsers are not compatible with this SGLang" in done.stderr


def test_what_is_imported_already_gets_its_parsers_at_once(for_sglang: ModuleType) -> None:
    known = import_module("sglang.srt.function_call.function_call_parser").FunctionCallParser.ToolCallParserEnum
    del known["toolfmt_glm4"]
    import_module("toolfmt.integrations.sglang_plugin").register()
    assert issubclass(known["toolfmt_glm4"], for_sglang.ToolfmtDetector)


# --- SGLang itself


@pytest.mark.skipif(not INSTALLED, reason="SGLang is not installed")
@pytest.mark.parametrize("format", FORMATS)
def test_sglang_reads_every_format_as_toolfmt_does(format: str) -> None:
    from benchmarks.runtime_reading import sglang_streamed, sglang_whole, tokenizer_for, tokens_of

    tokenizer = tokenizer_for(answers(format), TOOLS)
    for text in answers(format):
        expected = parsed(text, format)
        tokens = tokens_of(tokenizer, text)
        for name in (f"toolfmt_{format}", f"toolfmt_{format}_streamed"):
            for result in (
                sglang_streamed(name, tokenizer, tokens, TOOLS),
                sglang_whole(name, tokenizer, tokens, TOOLS),
            ):
                assert (result.content, result.calls) == expected


@pytest.mark.skipif(not INSTALLED, reason="SGLang is not installed")
def test_sglang_forces_nothing_where_a_call_is_required() -> None:
    parser = import_module("sglang.srt.function_call.function_call_parser").FunctionCallParser(tools(), "toolfmt_glm4")
    assert (parser.get_structure_constraint("required"), parser.owns_tool_format()) == (None, True)
