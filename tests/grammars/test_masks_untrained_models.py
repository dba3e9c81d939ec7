"""Untrained models of mlx-lm and transformers under a grammar: their outputs are calls."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import openai
import pytest

pytest.importorskip("llguidance")
pytest.importorskip("mlx.core", reason="mlx is there on Linux and macOS only")
mlx_lm = pytest.importorskip("mlx_lm", reason="mlx-lm is there on Linux and macOS only")

import tiny_models  # noqa: E402  it needs mlx
from held_models import FORMATS, MARKERS, TOOLS, assert_valid, format_of, grammar_of, parser_of, valid_calls  # noqa: E402  belongs to it

import toolfmt  # noqa: E402  after the import that may skip
from toolfmt.errors import ToolfmtError  # noqa: E402  after the import that may skip
from toolfmt.integrations import mlx as for_mlx  # noqa: E402  it needs mlx-lm
from toolfmt.integrations import mlx_server as for_mlx_server  # noqa: E402  it needs mlx-lm

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


def streamed(loaded: Any, format: Any, grammar: Any, *, prompt: Any = "Hello", seed: int = 1, **options: Any) -> Any:
    mx.random.seed(seed)
    options = {"max_tokens": 900, "sampler": make_sampler(temp=1.0)} | options
    parser = None if format is None else parser_of(format)
    model, tokenizer = loaded
    return for_mlx.stream(model, tokenizer, prompt, parser=parser, grammar=grammar, **options)


@pytest.mark.sample(3)
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


def test_a_draft_model_guesses_ahead_and_is_constrained_too(loaded: Any) -> None:
    format = format_of("xml_function")
    grammar = grammar_of(format, loaded[1], parallel=False)
    for guessed in (1, 3):
        options = {"draft_model": loaded[0], "num_draft_tokens": guessed, "sampler": make_sampler(temp=1.5)}
        assert len(valid_calls(streamed(loaded, format, grammar, **options))) == 1


def test_other_processors_stay(loaded: Any) -> None:
    sizes = []

    def processor(tokens: Any, logits: Any) -> Any:
        sizes.append(tokens.size)
        return logits

    format = format_of("json")
    given = [processor]
    valid_calls(streamed(loaded, format, grammar_of(format, loaded[1], parallel=False), logits_processors=given))
    assert len(sizes) > 5
    assert given == [processor]


@pytest.mark.sample(0)
def test_a_model_directory_gives_prompt_and_grammar(directory: Path, loaded: Any) -> None:
    known = toolfmt.load(directory)
    prompt = known.render([{"role": "user", "content": "Hi"}], TOOLS)
    stream = streamed(loaded, None, known.grammar(TOOLS, choice="note", parallel=False), prompt=prompt)
    assert [call.name for call in valid_calls(stream)] == ["note"]


def test_an_invalid_grammar_is_reported_before_anything_is_generated(loaded: Any) -> None:
    with pytest.raises(ToolfmtError, match="llguidance takes no such grammar"):
        streamed(loaded, format_of("json"), 'root ::= "a"')


# --- mlx-lm's server


@pytest.fixture(scope="module")
def url(directory: Path) -> Iterator[str]:
    from mlx_serving import served

    with served(directory, options=for_mlx_server.ServerOptions(format=format_of("json"))) as address:
        yield address


def request_choice(url: str, directory: Path, **more: Any) -> Any:
    client = openai.OpenAI(base_url=url, api_key="none", max_retries=0)
    messages: Any = [{"role": "user", "content": "Hi"}]
    given: dict[str, Any] = {"tools": TOOLS, "temperature": 1.0, "max_tokens": 600, "parallel_tool_calls": False}
    (choice,) = client.chat.completions.create(model=str(directory), messages=messages, **(given | more)).choices
    return choice


@pytest.mark.sample(0)
@pytest.mark.parametrize(
    ("choice", "names"),
    [
        ("required", {"note", "get_weather"}),
        ({"type": "function", "function": {"name": "note"}}, {"note"}),
        ({"type": "function", "function": {"name": "get_weather"}}, {"get_weather"}),
    ],
)
def test_the_server_constrains_a_model_to_the_requested_calls(
    choice: Any, names: set[str], url: str, directory: Path
) -> None:
    with ThreadPoolExecutor(3) as several:
        answers = [several.submit(request_choice, url, directory, tool_choice=choice, seed=seed) for seed in range(3)]
    for answer in (future.result() for future in answers):
        (call,) = answer.message.tool_calls
        assert (call.function.name in names, answer.finish_reason) == (True, "tool_calls")
        assert_valid(call.function.name, call.function.arguments)


@pytest.mark.sample(0)
def test_the_server_lets_several_calls_be_made_unless_the_request_forbids_it(
    url: str, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []

    def grammar(*given: Any, **options: Any) -> Any:
        made.append(options["parallel"])
        return toolfmt.grammar(*given, **options)

    monkeypatch.setattr(for_mlx_server, "grammar", grammar)
    for several in (True, False, None):
        request_choice(url, directory, tool_choice="required", parallel_tool_calls=several, max_tokens=1)
    assert made == [True, False, True]


@pytest.mark.sample(0)
def test_the_server_holds_it_to_nothing_else(url: str, directory: Path) -> None:
    for more in ({}, {"tool_choice": "auto"}, {"tool_choice": "none"}, {"tool_choice": {"type": "other"}}):
        assert not request_choice(url, directory, max_tokens=40, **more).message.tool_calls


def test_a_tool_choice_without_a_grammar_is_reported(url: str, directory: Path) -> None:
    rejections: dict[str, dict[str, Any]] = {
        "no tool named 'nothing' is declared; declared tools: get_weather, note": {
            "tool_choice": {"type": "function", "function": {"name": "nothing"}}
        },
        "the format json has no grammar without tools: there is nothing to call": {
            "tool_choice": "required",
            "tools": openai.NOT_GIVEN,
        },
    }
    for why, more in rejections.items():
        with pytest.raises(openai.APIStatusError) as raised:
            request_choice(url, directory, **more)
        assert raised.value.body == why


@pytest.mark.sample(0)
def test_the_server_takes_its_processors_once(url: str, directory: Path) -> None:
    from mlx_serving import served

    with served(directory, options=for_mlx_server.ServerOptions(format=format_of("json"))) as again:
        answer = request_choice(again, directory, tool_choice="required", logit_bias={"5": 1.0})
    assert len(answer.message.tool_calls) == 1


# --- transformers


@pytest.fixture(scope="module")
def of_transformers(directory: Path) -> Any:
    pytest.importorskip("torch", reason="transformers' models need torch, a large package")
    transformers: Any = importlib.import_module("transformers")
    model = transformers.AutoModelForCausalLM.from_pretrained(directory)
    return model, transformers.AutoTokenizer.from_pretrained(directory)


def generated(of_transformers: Any, format: Any, grammar: Any, *, seed: int = 1, **options: Any) -> Any:
    from toolfmt.integrations import transformers as for_transformers

    importlib.import_module("torch").manual_seed(seed)
    model, tokenizer = of_transformers
    parser = toolfmt.Parser(format, tools=TOOLS, strict=True, stop=[tokenizer.eos_token])
    options = {"max_new_tokens": 900, "do_sample": True, "temperature": 1.0, "top_k": 0} | options
    return for_transformers.stream(model, tokenizer, "Hello", parser=parser, grammar=grammar, **options)


@pytest.mark.parametrize("name", FORMATS)
def test_a_model_of_transformers_that_knows_nothing_writes_valid_calls(name: str, of_transformers: Any) -> None:
    format = format_of(name)
    stream = generated(of_transformers, format, grammar_of(format, of_transformers[1], parallel=False))
    assert len(valid_calls(stream)) == 1
    assert stream.finish_reason == "stop"


def test_guesses_of_an_assistant_are_held_to_it_too(of_transformers: Any) -> None:
    format = format_of("glm4")
    grammar = grammar_of(format, of_transformers[1], choice="get_weather", parallel=False)
    stream = generated(of_transformers, format, grammar, assistant_model=of_transformers[0])
    assert [call.name for call in valid_calls(stream)] == ["get_weather"]


@pytest.mark.sample(0)
def test_other_processors_of_transformers_stay(of_transformers: Any) -> None:
    sizes = []

    def processor(input_ids: Any, scores: Any) -> Any:
        sizes.append(input_ids.shape[-1])
        return scores

    format = format_of("json")
    grammar = grammar_of(format, of_transformers[1], parallel=False)
    valid_calls(generated(of_transformers, format, grammar, logits_processor=[processor]))
    assert len(sizes) > 5
