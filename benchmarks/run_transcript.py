"""What `toolfmt.run` does with a real model, turn by turn, over every runtime that is installed.

    python -m benchmarks.run_transcript [--only NAME]

Trains the tiny model of `tests/support/tiny_weather.py` (some seconds; needs mlx-lm), which asks for the weather of two
cities and answers once it is told. It is then run through `for_mlx`, through the text of mlx-lm, over HTTP (the example
server, asked by OpenAI's client), through `for_transformers` and through llama-cpp-python, where these are installed.
Of each run it prints what it came to, whether that is the conversation that the model was trained to, how many events
were told, and how long it took (the first time with looking at the model's template).
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "support"))
sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))

from tiny_weather import ASKED, build, conversation, registry

import toolfmt
from toolfmt.agent import AskModel, from_completions, from_openai, from_stream, from_text

LIMIT = 200
Made = Callable[[Path, ExitStack, Callable[[Any], None]], AskModel]


def by_events_of_mlx(directory: Path, stack: ExitStack, heard: Callable[[Any], None]) -> AskModel:
    import mlx_lm

    from toolfmt.integrations import mlx as for_mlx

    model, tokenizer = mlx_lm.load(str(directory))
    ours = toolfmt.load(directory)
    return from_stream(ours, lambda p: for_mlx.stream(model, tokenizer, p, max_tokens=LIMIT), on_event=heard)


def by_text_of_mlx(directory: Path, stack: ExitStack, heard: Callable[[Any], None]) -> AskModel:
    import mlx_lm

    model, tokenizer = mlx_lm.load(str(directory))

    def generate(prompt: toolfmt.Prompt) -> Iterator[tuple[str, str | None]]:
        for response in mlx_lm.stream_generate(model, tokenizer, prompt.text, max_tokens=LIMIT):
            yield response.text, response.finish_reason

    return from_text(toolfmt.load(directory), generate, on_event=heard)


def over_http(directory: Path, stack: ExitStack, heard: Callable[[Any], None]) -> AskModel:
    import openai
    from answer_scenarios import serving
    from server import Served
    from token_sources import mlx_lm_source

    served = Served(toolfmt.load(directory), mlx_lm_source(str(directory)))
    base = stack.enter_context(serving({"tiny": served}))
    client = stack.enter_context(openai.OpenAI(base_url=f"{base}/v1", api_key="none", max_retries=0))
    return from_openai(client, "tiny", max_tokens=LIMIT, temperature=0)


def by_events_of_transformers(directory: Path, stack: ExitStack, heard: Callable[[Any], None]) -> AskModel:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from toolfmt.integrations import transformers as for_transformers

    model: Any = AutoModelForCausalLM.from_pretrained(directory)
    tokenizer: Any = AutoTokenizer.from_pretrained(directory)
    options: dict[str, Any] = {"max_new_tokens": LIMIT, "do_sample": False}
    ours = toolfmt.load(directory)
    return from_stream(ours, lambda p: for_transformers.stream(model, tokenizer, p, **options), on_event=heard)


def by_llama_cpp(directory: Path, stack: ExitStack, heard: Callable[[Any], None]) -> AskModel:
    import llama_cpp
    import tiny_gguf

    from toolfmt.integrations.llama_cpp import ChatHandler

    file = tiny_gguf.written(directory, directory / "tiny.gguf")
    llama: Any = llama_cpp.Llama(str(file), n_ctx=2048, verbose=False, chat_handler=ChatHandler(directory))
    stack.callback(llama.close)
    return from_completions(llama.create_chat_completion, max_tokens=LIMIT, temperature=0.0)


WAYS: dict[str, tuple[Made, tuple[str, ...]]] = {
    "for_mlx": (by_events_of_mlx, ("mlx_lm",)),
    "text of mlx-lm": (by_text_of_mlx, ("mlx_lm",)),
    "OpenAI's client over HTTP": (over_http, ("mlx_lm", "openai", "starlette", "uvicorn")),
    "for_transformers": (by_events_of_transformers, ("torch", "transformers")),
    "for_llama_cpp": (by_llama_cpp, ("llama_cpp", "gguf")),
}


def told(message: dict[str, Any]) -> str:
    calls = [call["function"] for call in message.get("tool_calls", ())]
    said = [message["content"]] if message.get("content") else []
    said += [f"calls {call['name']} {call['arguments']}" for call in calls]
    return f"  {message['role']:<10} " + "\n             ".join(said)


def main() -> int:
    """The command line; the exit status is 1 where a run came to another conversation."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--only", choices=list(WAYS), help="one of the ways")
    only = arguments.parse_args().only
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        directory = build(Path(folder))
        print(json.dumps(registry().definitions))
        for name, (make, needed) in WAYS.items():
            missing = [module for module in needed if importlib.util.find_spec(module) is None]
            if missing or only not in (None, name):
                print(f"{name}: not run{', not installed: ' + ', '.join(missing) if missing else ''}")
                continue
            failed += not shown(name, make, directory)
    return bool(failed)


def shown(name: str, make: Made, directory: Path) -> bool:
    """Runs it one way, and prints what it came to."""
    events: list[Any] = []
    with ExitStack() as stack:
        model = make(directory, stack, events.append)
        begun = time.perf_counter()
        outcome = toolfmt.run(model, ASKED, registry())
        took = time.perf_counter() - begun
    as_trained = outcome.messages == conversation()
    executed = [execution.outcome for execution in outcome.executions]
    print(f"\n{name}: {outcome.ended} after {outcome.turns} turns, {took:.2f} s, executions {executed},")
    print(f"  {len(events)} events, {'the conversation it was trained to' if as_trained else 'ANOTHER CONVERSATION'}")
    print("\n".join(map(told, outcome.messages)))
    return as_trained


if __name__ == "__main__":
    sys.exit(main())
