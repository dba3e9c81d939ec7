"""The adapters that put other projects' tool parsers under the fuzz kit: their events are what the parsers did.

What needs no package is checked for every module, mlx-lm and transformers are always run, vLLM and SGLang if they are
importable (`PYTHONPATH=DIR` with an unpacked wheel in DIR is enough).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from runtime_answers import TOOLS

from toolfmt.errors import CannotWrite
from toolfmt.formats import Parser, formats, get, write
from toolfmt.formats.runtime_parsers import RuntimeParser
from toolfmt.messages.events import Content
from toolfmt.testing.fuzzing import Fuzz
from toolfmt.testing.outcome import read
from toolfmt.testing.peers import claims, event_dicts, for_mlx_lm, for_sglang, for_transformers, for_vllm
from toolfmt.testing.peers.tokens import WholeMarkers, markers_of, tokenizer_of
from toolfmt.testing.targets import Local

CALLS: list[tuple[str, dict[str, Any]]] = [
    ("get_weather", {"city": "Paris", "days": 2}),
    ("write_file", {"path": "a.py", "text": "x"}),
]
JSON_CALL = '<tool_call>\n{"name": "get_time", "arguments": {}}\n</tool_call>'


def events_of(reader: Any, pieces: Iterator[str] | list[str] | str) -> list[dict[str, Any]]:
    return [*(event for piece in pieces for event in reader.feed(piece)), *reader.finish()]


def text_of(events: list[dict[str, Any]], kind: str = "content") -> str:
    return "".join(event["text"] for event in events if event["type"] == kind)


def values(calls: list[tuple[Any, str]]) -> list[tuple[str, Any]]:
    return [(name, json.loads(arguments)) for name, arguments in calls]


# --- what needs no package


def test_a_factory_is_made_for_every_parser_that_a_format_names() -> None:
    for runtime, module in (("mlx-lm", for_mlx_lm), ("vLLM", for_vllm), ("SGLang", for_sglang)):
        named = {name for format in formats() for name in claims.natives_of(format, runtime)}
        assert {factory.parser for factory in module.factories().values()} == named
    sglang = for_sglang.factories()
    assert sglang["minimax_m2"].parser == sglang["minimax_m2_whole"].parser == "minimax-m2"
    assert "minimax_m2_whole" in dir(for_sglang)


def test_a_parser_of_several_formats_has_a_factory_for_each() -> None:
    vllm = for_vllm.factories()
    assert vllm["mistral"].formats == ("mistral",)
    assert vllm["mistral_for_mistral_list"].formats == ("mistral_list",)
    assert vllm["mistral_for_mistral_list"].parser == "mistral"
    assert "[ARGS]" not in markers_of(vllm["mistral_for_mistral_list"].variants)
    assert not any(":opensource" in marker for marker in markers_of(vllm["hy_v3"].variants))


def test_each_of_several_parsers_for_a_format_gets_only_variants_it_can_read() -> None:
    assert for_vllm.factories()["glm45"].variants == {"glm4": ("",)}
    assert for_vllm.factories()["glm47"].variants == {"glm4": ("without newlines",)}
    assert for_vllm.factories()["glm47"].formats == ("glm4",)
    assert for_mlx_lm.factories()["glm47"].variants == {"glm4": ("", *get("glm4").variants)}


def test_what_cannot_be_judged_by_a_text_alone_is_left_out() -> None:
    assert claims.natives_of(get("gpt_oss"), "vLLM") == ()
    assert claims.natives_of(get("internlm"), "vLLM") == ("internlm",)
    fork = get("solar").runtime_parser("vLLM")
    assert isinstance(fork, RuntimeParser) and fork.only_in
    assert claims.natives_of(get("solar"), "vLLM") == ()


def test_an_unknown_parser_is_reported_with_the_known_ones() -> None:
    with pytest.raises(AttributeError, match=r"no attribute 'hermse'; it has apertus, .*hermes_whole"):
        _ = for_vllm.hermse


@pytest.mark.parametrize(
    ("module", "factory", "package", "way_out"),
    [
        (for_mlx_lm, "json_tools", "mlx_lm", r"needs mlx-lm 0\.32: pip install 'mlx-lm\[cpu\]'"),
        (for_vllm, "hermes", "vllm", r"needs vLLM 0\.33: pip install vllm==0\.33\.0, or have an unpacked wheel"),
        (for_sglang, "qwen25", "sglang", r"needs SGLang 0\.5: pip install sglang==0\.5\.23, or have an unpacked wheel"),
    ],
)
def test_a_missing_package_is_reported_with_a_fix(
    monkeypatch: pytest.MonkeyPatch, module: ModuleType, factory: str, package: str, way_out: str
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=way_out):
        getattr(module, factory)
    with pytest.raises(ImportError, match=way_out):
        module.factories()[factory](TOOLS)


def test_the_version_of_a_package_that_is_not_installed_is_reported_as_missing() -> None:
    factory = claims.Factory("f", "f", {}, "no-such-package-at-all", lambda tools: None)
    with pytest.raises(ImportError, match="no-such-package-at-all is not installed"):
        _ = factory.version


@pytest.mark.parametrize(
    ("module", "factory"), [(for_vllm, "hermes"), (for_vllm, "hermes_whole"), (for_sglang, "dots")]
)
def test_servers_that_parse_nothing_without_tools_raise_an_error(module: ModuleType, factory: str) -> None:
    with pytest.raises(ValueError, match="only of requests that have tools"):
        module.factories()[factory](None)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_a_marker_reaches_a_server_in_one_piece(size: int) -> None:
    text = "a < b <tool <tool_call>x</tool_call> [TOOL_CAL [TOOL_CALLS]<too"
    markers = ("<tool_call>", "</tool_call>", "[TOOL_CALLS]")
    stream = WholeMarkers(markers)
    pieces = [stream.feed(text[begin : begin + size]) for begin in range(0, len(text), size)]
    pieces.append(stream.finish())
    assert "".join(pieces) == text
    assert [sum(marker in piece for piece in pieces) for marker in markers] == [1, 1, 1]
    assert stream.finish() == ""


def test_text_is_handed_on_as_soon_as_it_can_be_no_marker() -> None:
    stream = WholeMarkers(("<tool_call>",))
    assert [stream.feed(piece) for piece in ("a<", "t", "x", "<tool_cal", "l>", "b")] == [
        "a", "", "<tx", "", "<tool_call>", "b",
    ]  # fmt: skip


def test_of_what_may_become_a_marker_the_longest_is_held() -> None:
    stream = WholeMarkers(("]<]minimax[>[",))
    assert [stream.feed(piece) for piece in ("a]", "<]", "minimax[>[", "b]<", "]x")] == [
        "a", "", "]<]minimax[>[", "b", "]<]x",
    ]  # fmt: skip


def test_the_markers_of_a_format_are_tokens_of_their_own() -> None:
    markers = markers_of({"json": [""], "mistral": [""]})
    assert {"<tool_call>", "</tool_call>", "<think>", "</think>", "[TOOL_CALLS]", "[ARGS]"} <= set(markers)
    tokenizer = tokenizer_of(markers)
    ids = tokenizer.encode("é<tool_call>x</s>", add_special_tokens=False)
    assert tokenizer.convert_ids_to_tokens(ids)[2:] == ["<tool_call>", "x", "</s>"]
    assert tokenizer.decode(ids) == "é<tool_call>x</s>"


def test_pieces_of_calls_are_put_together_as_a_client_does() -> None:
    calls = event_dicts.StreamedCalls()
    pieces = [(0, "get_", None), (0, "time", '{"a'), (0, None, '": 1}'), (1, "f", ""), (2, "g", '{"b": ')]
    events = [event for piece in pieces for event in calls.piece(*piece)]
    events += calls.over()
    assert event_dicts.calls_of(events) == [("get_time", '{"a": 1}'), ("f", ""), ("g", '{"b": ')]
    assert [(event["type"].removeprefix("tool_call_"), event["index"]) for event in events if "delta" not in event] == [
        ("start", 0),
        ("end", 0),
        ("start", 1),
        ("rejected", 1),
        ("start", 2),
        ("rejected", 2),
    ]
    assert list(calls.over()) == []


def test_text_ends_a_call_that_is_whole() -> None:
    calls = event_dicts.StreamedCalls()
    events = [*calls.piece(0, "f", "{"), *calls.content("a"), *calls.piece(0, None, "}"), *calls.content("b")]
    assert [event["type"].removeprefix("tool_call_") for event in events] == [
        "start", "arguments", "content", "arguments", "end", "content",
    ]  # fmt: skip
    assert list(calls.content(None)) == list(calls.over()) == []


def test_results_have_the_same_shape_as_the_events_of_toolfmt() -> None:
    """A whole call of an adapter equals the events of toolfmt's own parser, except for the offsets."""
    ours = [event.to_dict() for event in Parser("json").feed(JSON_CALL) if not isinstance(event, Content)]
    theirs = list(event_dicts.whole_call(0, "get_time", "{}"))
    assert [{**event, "span": None, "tolerated": None} for event in theirs] == [
        {**event, "span": None, "tolerated": None} for event in ours
    ]


# --- mlx-lm and transformers, always


def read_by(factory: claims.Factory, text: str) -> tuple[str, list[tuple[str, Any]]]:
    reader = factory(TOOLS)
    if hasattr(reader, "feed"):
        events = events_of(reader, text)
        assert [event["type"] for event in events if event["type"].startswith("tool_call_re")] == []
        return text_of(events), values(event_dicts.calls_of(events))
    message = reader(text)
    functions = [call["function"] for call in message["tool_calls"]]
    return message["content"] or "", values([(function["name"], function["arguments"]) for function in functions])


def own_answers(factory: claims.Factory) -> Iterator[str]:
    """Two calls, or one, as each format of the factory writes them in the first of its ways."""
    for name, variants in factory.variants.items():
        for calls in (CALLS, CALLS[:1]):
            try:
                yield write(get(name).with_variant(variants[0]), calls, TOOLS)
            except CannotWrite:
                continue


ALWAYS = [
    pytest.param(factory, id=f"{module.__name__.rpartition('.')[2]}:{name}")
    for module in (for_mlx_lm, for_transformers)
    for name, factory in module.factories().items()
]


@pytest.mark.parametrize("factory", ALWAYS)
def test_a_plain_call_is_read(factory: claims.Factory) -> None:
    assert factory.version.count(".") == 2
    pytest.importorskip({"mlx-lm": "mlx_lm"}.get(factory.package, factory.package))
    for text in own_answers(factory):
        calls = read_by(factory, text)[1]
        assert calls == CALLS[: len(calls)] and calls


@pytest.mark.parametrize("factory", [for_mlx_lm.factories()["gemma4"], for_transformers.factories()["gemma4_whole"]])
def test_the_fuzz_kit_takes_a_factory_and_finds_what_is_listed(factory: claims.Factory) -> None:
    """Both parsers lose a call with an object whose key is not a word (docs/faults.md)."""
    pytest.importorskip({"mlx-lm": "mlx_lm"}.get(factory.package, factory.package))
    outcome = read(factory, write("gemma4", CALLS, TOOLS), TOOLS)
    assert (values(outcome.calls), outcome.placed) == (CALLS, False)
    search = Fuzz(Local(factory), factory.formats)
    for _ in search.run(outputs=120):
        pass
    broken = {(defect.invariant, defect.kind) for defect in search.defects.values()}
    assert broken & {("round-trip", "every call is lost"), ("never-raises", "ValueError in content_parsers.py:_json")}
    assert not any(invariant == "shape" for invariant, _ in broken)


class TestMlxLm:
    @pytest.fixture(autouse=True)
    def there(self) -> None:
        pytest.importorskip("mlx_lm", reason="mlx-lm is there on Linux and macOS only")

    def test_reasoning_and_text_are_separated(self) -> None:
        events = events_of(for_mlx_lm.json_tools(TOOLS), f"<think>Hm.</think>So. {JSON_CALL} Done.")
        assert (text_of(events, "reasoning"), text_of(events)) == ("Hm.", "So.  Done.")
        assert [event["type"] for event in events if event["type"] == "tool_call_end"] == ["tool_call_end"]

    def test_the_format_of_a_models_answers_is_the_one_mlx_lm_has_for_it(self) -> None:
        answer = "to=self<|message|>Hm.<|eom|>to=user<|message|>So.<|eom|>"
        events = events_of(for_mlx_lm.muse_spark(TOOLS), answer)
        assert (text_of(events, "reasoning"), text_of(events)) == ("Hm.", "So.")

    def test_a_call_that_its_parser_rejects_is_dropped_as_the_server_drops_it(self) -> None:
        assert text_of(events_of(for_mlx_lm.json_tools(), f"a<tool_call>{{]</tool_call>b{JSON_CALL}")) == "ab"
        calls = event_dicts.calls_of(events_of(for_mlx_lm.json_tools(), f"<tool_call>{{]</tool_call>{JSON_CALL}"))
        assert calls == [("get_time", "{}")]

    def test_what_the_server_does_not_catch_is_raised(self) -> None:
        module = import_module("mlx_lm.tool_parsers.json_tools")
        wrapper = for_mlx_lm.wrapper(module, {})
        lost = SimpleNamespace(parse_tool_call=lambda text, tools: {}[text])
        with pytest.raises(KeyError):
            events_of(for_mlx_lm.MlxLmReader(lost, wrapper, None), JSON_CALL)
        assert events_of(for_mlx_lm.MlxLmReader(lost, wrapper, None, dropped=KeyError), JSON_CALL) == []

    def test_a_call_without_its_end_is_read_when_the_answer_ends(self) -> None:
        assert event_dicts.calls_of(events_of(for_mlx_lm.mistral(), '[TOOL_CALLS]f[ARGS]{"a": 1}')) == [
            ("f", '{"a": 1}')
        ]


class TestTransformers:
    def test_reasoning_text_and_calls_are_returned(self) -> None:
        answer = f"<think>\nHm.\n</think>\n\nSo.\n{JSON_CALL}<|im_end|>"
        events = events_of(for_transformers.qwen2(TOOLS), answer)
        assert (text_of(events, "reasoning").strip(), text_of(events).strip()) == ("Hm.", "So.")
        assert event_dicts.calls_of(events) == [("get_time", "{}")]
        assert for_transformers.qwen2_whole(TOOLS)(answer) == {
            "role": "assistant",
            "content": "So.",
            "reasoning_content": "Hm.",
            "tool_calls": [{"function": {"name": "get_time", "arguments": "{}"}}],
        }

    def test_an_error_at_the_end_of_a_stream_is_dropped_and_one_in_its_midst_raised(self) -> None:
        assert events_of(for_transformers.qwen2(TOOLS), '<tool_call>\n{"name": "get') == []
        with pytest.raises(ValueError, match="could not parse"):
            for_transformers.qwen2_whole(TOOLS)('<tool_call>\n{"name": "get')
        with pytest.raises(ValueError, match="could not parse"):
            events_of(for_transformers.qwen2(TOOLS), "<tool_call>\n{]</tool_call>x")


# --- vLLM and SGLang, if present


@pytest.mark.parametrize("name", ["hermes", "hermes_whole", "glm45", "glm47", "qwen3_coder_whole", "deepseek_v4"])
def test_vllm_reads_a_plain_call(name: str) -> None:
    pytest.importorskip("vllm", reason="vLLM is not in the path")
    factory = getattr(for_vllm, name)
    for text in own_answers(factory):
        calls = read_by(factory, text)[1]
        assert calls == CALLS[: len(calls)] and calls


@pytest.mark.parametrize("name", ["qwen25", "qwen25_whole", "glm45", "glm47", "qwen3_coder_whole", "deepseekv4"])
def test_sglang_reads_a_plain_call(name: str) -> None:
    pytest.importorskip("sglang", reason="SGLang is not in the path")
    factory = getattr(for_sglang, name)
    for text in own_answers(factory):
        calls = read_by(factory, text)[1]
        assert calls == CALLS[: len(calls)] and calls
