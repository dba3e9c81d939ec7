"""`run` over real generation: a tiny model through mlx-lm, by events, by text, and over HTTP with OpenAI's client."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest

import toolfmt
from toolfmt import Prompt
from toolfmt.agent import Outcome, from_openai, from_stream, from_text
from toolfmt.messages.events import Event, ToolCallArguments

pytest.importorskip("mlx.core", reason="mlx is there on Linux and macOS only")
mlx_lm = pytest.importorskip("mlx_lm", reason="mlx-lm is there on Linux and macOS only")
from answer_scenarios import serving  # noqa: E402  below the reason why the tests of this module may be left out
from server import Served  # noqa: E402  after the import that may skip
from tiny_weather import CITIES, QUESTION, build, conversation, registry  # noqa: E402  after the import that may skip
from token_sources import mlx_lm_source  # noqa: E402  after the import that may skip

from toolfmt.integrations import mlx as for_mlx  # noqa: E402  it needs mlx-lm


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("tiny-weather"))


@pytest.fixture(scope="module")
def weights(directory: Path) -> tuple[Any, Any]:
    model, tokenizer = mlx_lm.load(str(directory))
    return model, tokenizer


def check(outcome: Outcome) -> None:
    assert (outcome.ended, outcome.turns) == ("answered", 2)
    assert outcome.messages == conversation()


def test_a_run_over_the_events_of_mlx_lm(directory: Path, weights: tuple[Any, Any]) -> None:
    events: list[Event] = []
    model = from_stream(
        toolfmt.load(directory),
        lambda prompt: for_mlx.stream(*weights, prompt, max_tokens=200),
        on_event=events.append,
    )
    check(toolfmt.run(model, QUESTION, registry()))
    assert sum(isinstance(event, ToolCallArguments) for event in events) > len(CITIES)


def test_a_run_over_the_text_of_mlx_lm(directory: Path, weights: tuple[Any, Any]) -> None:
    prompts: list[str] = []

    def generate(prompt: Prompt) -> Iterator[tuple[str, str | None]]:
        prompts.append(prompt.text)
        for response in mlx_lm.stream_generate(*weights, prompt.text, max_tokens=200):
            yield response.text, response.finish_reason

    check(toolfmt.run(from_text(toolfmt.load(directory), generate), QUESTION, registry()))
    assert len(prompts) == 2 and prompts[1].startswith(prompts[0])


@pytest.mark.parametrize(("tokens", "ended"), [(1, "cut"), (12, "rejected")])
def test_a_model_that_runs_out_of_tokens_calls_nothing(
    directory: Path, weights: tuple[Any, Any], tokens: int, ended: str
) -> None:
    model = from_stream(toolfmt.load(directory), lambda prompt: for_mlx.stream(*weights, prompt, max_tokens=tokens))
    outcome = toolfmt.run(model, QUESTION, registry(), turns=1)
    assert [execution.outcome for execution in outcome.executions if execution.outcome != "rejected"] == []
    assert outcome.ended == ended


def test_a_run_over_http_with_the_same_model(directory: Path) -> None:
    served = {"tiny": Served(toolfmt.load(directory), mlx_lm_source(str(directory)))}
    with serving(served) as base, openai.OpenAI(base_url=f"{base}/v1", api_key="none", max_retries=0) as client:
        check(toolfmt.run(from_openai(client, "tiny", max_tokens=200, temperature=0), QUESTION, registry()))
