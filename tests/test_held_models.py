"""Untrained models of mlx-lm and transformers under a grammar: what they write are calls, whatever they would write."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("llguidance")
pytest.importorskip("mlx.core", reason="mlx is there on Linux and macOS only")
mlx_lm = pytest.importorskip("mlx_lm", reason="mlx-lm is there on Linux and macOS only")

import tiny_models  # noqa: E402  it needs mlx
from held_models import FORMATS, MARKERS, format_of, grammar_of, parser_of, valid_calls  # noqa: E402  stands with it

from toolfmt.errors import ToolfmtError  # noqa: E402  stands with its users
from toolfmt.runtimes import for_mlx  # noqa: E402  it needs mlx-lm

mx: Any = importlib.import_module("mlx.core")
make_sampler: Any = importlib.import_module("mlx_lm.sample_utils").make_sampler


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_models.untrained(
        tmp_path_factory.mktemp("models") / "untrained", template=tiny_models.TEMPLATE, special=MARKERS
    )


@pytest.fixture(scope="module")
def loaded(directory: Path) -> Any:
    return mlx_lm.load(str(directory))


def streamed(loaded: Any, format: Any, grammar: Any, *, seed: int = 1, **options: Any) -> Any:
    mx.random.seed(seed)
    options = {"max_tokens": 900, "sampler": make_sampler(temp=1.0), "parser": parser_of(format)} | options
    model, tokenizer = loaded
    return for_mlx.stream(model, tokenizer, "Hello", grammar=grammar, **options)


@pytest.mark.parametrize("name", FORMATS)
def test_a_model_of_mlx_that_knows_nothing_writes_valid_calls(name: str, loaded: Any) -> None:
    format = format_of(name)
    stream = streamed(loaded, format, grammar_of(format, loaded[1], parallel=False))
    assert len(valid_calls(stream)) == 1
    assert stream.finish_reason == "stop"


def test_without_a_grammar_it_writes_none(loaded: Any) -> None:
    with pytest.raises(AssertionError):
        valid_calls(streamed(loaded, format_of("json"), None, max_tokens=200))


def test_a_tool_that_is_named_is_called(loaded: Any) -> None:
    format = format_of("glm4")
    for tool in ("note", "get_weather"):
        calls = valid_calls(streamed(loaded, format, grammar_of(format, loaded[1], choice=tool, parallel=False)))
        assert [call.name for call in calls] == [tool]


def test_a_draft_model_guesses_ahead_and_is_held_to_it_too(loaded: Any) -> None:
    format = format_of("xml_function")
    grammar = grammar_of(format, loaded[1], parallel=False)
    for guessed in (1, 3):
        options = {"draft_model": loaded[0], "num_draft_tokens": guessed, "sampler": make_sampler(temp=1.5)}
        assert len(valid_calls(streamed(loaded, format, grammar, **options))) == 1


def test_other_processors_stay(loaded: Any) -> None:
    asked = []

    def processor(tokens: Any, logits: Any) -> Any:
        asked.append(tokens.size)
        return logits

    format = format_of("json")
    given = [processor]
    valid_calls(streamed(loaded, format, grammar_of(format, loaded[1], parallel=False), logits_processors=given))
    assert len(asked) > 5
    assert given == [processor]


def test_what_is_no_grammar_is_told_before_anything_is_generated(loaded: Any) -> None:
    with pytest.raises(ToolfmtError, match="llguidance takes no such grammar"):
        streamed(loaded, format_of("json"), 'root ::= "a"')
