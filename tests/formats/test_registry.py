"""What every format must provide: each failure shows what to add, and where."""

from __future__ import annotations

import pickle
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from left_to_fill import check_filled

from toolfmt.errors import CannotWrite, UnknownFormat
from toolfmt.formats import (
    FORMATS,
    TOLERANCES,
    Parser,
    ToolCallFormat,
    for_model_type,
    get,
    known,
    names,
    prose,
    read_back,
    write,
)
from toolfmt.formats.tolerances import kind_of
from toolfmt.testing.corpus import CORPUS, TOPICS, cases

EVERY = pytest.mark.parametrize("format", FORMATS, ids=lambda format: format.name)
TOOLS = [
    {
        "name": "get_weather",
        "description": "Today's weather.",
        "parameters": {"properties": {"city": {"type": "string"}, "days": {"type": "integer"}}, "required": ["city"]},
    }
]


def test_names_and_aliases_differ() -> None:
    every = [name.lower() for format in FORMATS for name in (format.name, *format.aliases)]
    assert sorted(every) == sorted(set(every)) == sorted(names())


def test_the_corpus_meets_every_tolerance() -> None:
    met = {kind_of(name) for case in cases() for call in case.calls for name in call.tolerated or ()}
    assert met == set(TOLERANCES), "name it in toolfmt/formats/tolerances.py, or add a case that has it"


@EVERY
def test_nothing_of_a_format_is_left_to_fill_in(format: ToolCallFormat) -> None:
    """The lines that `toolfmt dev new-format` leaves to a person: each shows what belongs there."""
    module = Path(known.__file__).with_name(f"{known.module_of(format)}.py")
    check_filled(format.name, [module, *sorted((CORPUS / format.name).glob("*.txt"))])


@EVERY
def test_every_format_documents_itself(format: ToolCallFormat) -> None:
    for field in ("page", "instructions", "source", "families", "signatures"):
        assert getattr(format, field), f"{format.name} has no {field}: add it in its module in toolfmt/formats/known"


@EVERY
def test_a_format_has_its_corpus(format: ToolCallFormat) -> None:
    for topic in TOPICS:
        file = CORPUS / format.name / f"{topic}.txt"
        assert file.is_file(), f"corpus/{format.name}/{topic}.txt is missing; corpus/json/{topic}.txt shows the shape"


@EVERY
def test_a_format_is_found_by_every_name(format: ToolCallFormat) -> None:
    assert all(get(name.upper()) is format for name in (format.name, *format.aliases))
    assert all(for_model_type(model_type) is format for model_type in format.model_types)


@EVERY
def test_the_page_shows_what_the_writer_writes(format: ToolCallFormat) -> None:
    """The example on the page contains the start and end marker, and the writer's own call is read back."""
    for marks in (format.openers or format.unframed_openers, format.closers):
        assert not marks or any("".join(mark.split()) in "".join(format.page.split()) for mark in marks)
    calls = [("get_weather", {"city": "Paris", "days": 3})]
    assert read_back(format, write(format, calls, TOOLS), TOOLS) == [("get_weather", '{"city": "Paris", "days": 3}')]


@pytest.mark.parametrize(
    ("name", "similar"),
    [("iquest", "glm4"), ("iquest_coder", "glm4"), ("telechat", "glm4"), ("beam", "gpt_oss"), ("openpangu", "lfm2")],
)
def test_a_call_is_not_recognized_as_one_of_a_similar_format(name: str, similar: str) -> None:
    call = write(name, [("get_weather", {"city": "Paris"})], TOOLS)
    recognizing = [of for of in (name, similar) if any(re.search(mark, call) for mark in get(of).signatures)]
    assert recognizing == [name]


def test_arguments_that_are_not_json_are_reported_without_python_terms() -> None:
    deep: dict[str, Any] = {}
    for _ in range(100_000):
        deep = {"a": deep}
    for arguments, why in ((deep, "nested too deeply"), ({"a": 10**5000}, "an integer of more than 4300 digits")):
        with pytest.raises(CannotWrite, match=rf"^calls\[0\] \(f\): the arguments are not JSON: {why}$"):
            write("json", [("f", arguments)])


@EVERY
def test_prose_lists_the_tools_and_shows_one_call(format: ToolCallFormat) -> None:
    text = prose(format, TOOLS)
    assert text.count("Today's weather.") == 1
    assert write(format, [("get_weather", {"city": "Paris"})], TOOLS) in text
    other_order = [{key: TOOLS[0][key] for key in ("parameters", "description", "name")}]
    assert prose(format, other_order) == text
    assert prose(format, []) == ""


def test_a_schema_that_is_not_quite_one_still_gives_prose() -> None:
    parameters = {"properties": {"city": {"type": "string"}, "b": True}, "required": None}
    assert '{"city": "Paris"}' in prose("json", [{"name": "f", "parameters": parameters}])


def test_a_name_is_known_in_every_spelling() -> None:
    spellings = {
        "GLM-4.7": "glm4",
        "kimi-k2": "kimi_k2",
        "qwen3-coder": "xml_function",
        "DeepSeek-V3.1": "deepseek_v31",
    }
    assert {name: get(name).name for name in spellings} == spellings


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownFormat, match=r"no tool-call format is named 'glmm4'; did you mean glm4"):
        get("glmm4")


@pytest.mark.parametrize("answer", ["<tool_call>", "Well,\nyes", "Good morning to you!", "<tool_call>" * 1000])
def test_an_answer_in_place_of_the_format_is_reported_briefly(answer: str) -> None:
    with pytest.raises(UnknownFormat) as raised:
        get(answer)
    assert "if that is model output, pass it first: parse(text, format); " in str(raised.value)
    assert len(str(raised.value)) < 300
    assert "(11,000 characters)" in str(raised.value) or len(answer) < 60


def test_a_long_name_is_shortened_and_a_name_with_a_space_is_not_an_answer() -> None:
    with pytest.raises(
        UnknownFormat, match=rf"^no tool-call format is named '{'x' * 60}'… \(5,000 characters\); `tool"
    ):
        get("x" * 5000)
    with pytest.raises(UnknownFormat, match="did you mean glm4"):
        get("glm 4x")


@pytest.mark.parametrize("name", [None, 3, ["json"], get("json")])
def test_a_format_is_got_by_its_name_alone(name: Any) -> None:
    with pytest.raises(TypeError, match=f"^the name of a format must be a str, not {type(name).__name__}$"):
        get(name)


def test_a_format_argument_of_another_type_is_rejected() -> None:
    for use in (Parser, lambda format: write(format, [], None), lambda format: prose(format, [])):
        with pytest.raises(TypeError, match=r"^the name of a format must be a str, not int$"):
            use(3)  # type: ignore[arg-type]  # not a name


def test_an_unknown_variant_is_rejected_when_it_is_requested() -> None:
    with pytest.raises(KeyError):
        get("glm4").with_variant("no such variant")


def test_variants_share_the_literals_of_the_parser() -> None:
    """An inspection writes a call in every variant of every format, and the writer parses each of them."""
    format = get("glm4")
    assert format.with_variant("") is format
    for name in format.variants:
        other = format.with_variant(name)
        assert (other.variant, other.markers is format.markers) == (name, True)
        assert other.with_variant("").markers is format.markers


@EVERY
def test_formats_pickle(format: ToolCallFormat) -> None:
    """One that the registry has stays the same object; any other carries its engine with it."""
    assert pickle.loads(pickle.dumps(format)) is format
    for written in (replace(format, name="other"), *map(format.with_variant, format.variants)):
        copy = pickle.loads(pickle.dumps(written))
        assert (copy.name, copy.openers, copy.closers) == (written.name, written.openers, written.closers)
        calls = [("f", {"s": "x", "n": 1})]
        assert write(copy, calls) == write(written, calls)


@pytest.mark.parametrize(
    ("format", "literal", "expected"),
    [
        ("gigachat3", "<|message_sep|>", True),  # before every call
        ("kimi_k3", "<|close|>", True),  # begins every closing tag
        ("gpt_oss", "<|call|>", True),
        ("json", "<|im_end|>", False),
        ("glm4", "<|observation|>", False),
    ],
)
def test_what_calls_are_written_with_ends_no_answer(format: str, literal: str, expected: bool) -> None:
    assert get(format).in_calls(literal) is expected
