"""Measure what parsing, the chat protocol and a grammar cost next to the generation of a trained model in llama.cpp.

    python benchmarks/lab/real_model_speed.py MODEL.gguf [--threads N]

Asks the questions of `prompt_questions.json`, each without a grammar and with one that requires a call. Prints the time
per token, the share of it that the parser and the encoder of chat completions take, the time to the first fragment of
arguments, and the time per token with the grammar divided by the time without it. Needs llama-cpp-python and gguf.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from llama_cpp import Llama

import toolfmt
from toolfmt.formats import Parser
from toolfmt.integrations.llama_cpp import stream
from toolfmt.integrations.protocols import Chat
from toolfmt.messages.events import Event, ToolCallArguments


class TimedParser:
    """A parser that adds up the time in it and counts the chunks."""

    def __init__(self, parser: Parser) -> None:
        self._parser, self.seconds, self.chunks = parser, 0.0, 0
        self.first_token = 0.0
        """When the first token came."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._parser, name)

    def feed(self, text: str) -> list[Event]:
        begin = perf_counter()
        self.first_token = self.first_token or begin
        events = self._parser.feed(text)
        self.seconds += perf_counter() - begin
        self.chunks += 1
        return events

    def finish(self, *, cut: bool = False) -> list[Event]:
        begin = perf_counter()
        events = self._parser.finish(cut=cut)
        self.seconds += perf_counter() - begin
        return events


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("model")
    options.add_argument("--threads", type=int, default=2)
    given = options.parse_args()
    model = toolfmt.load(given.model)
    threads = given.threads
    llama: Any = Llama(given.model, n_ctx=4096, n_threads=threads, n_threads_batch=threads, verbose=False)
    per_token: dict[str, float] = {}
    for choice in ("none", "required"):
        generation = parsing = encoding = 0.0
        tokens = 0
        first: list[float] = []
        for one in json.loads(Path(__file__).with_name("prompt_questions.json").read_text("utf-8")):
            tools = one["tools"]
            grammar = None if choice == "none" else toolfmt.grammar("json", tools, syntax="gbnf", choice=choice)
            for question in one["questions"]:
                prompt = model.render([{"role": "user", "content": question["question"]}], tools)
                parser = TimedParser(prompt.parser())
                shape, heard = Chat("id", "model", 0), False
                for event in stream(llama, prompt, parser=parser, grammar=grammar, max_tokens=60, temp=0.0):  # type: ignore[arg-type]  # it has what `stream` uses
                    now = perf_counter()
                    if isinstance(event, ToolCallArguments) and not heard:
                        heard = True
                        first.append(now - parser.first_token)
                    for _ in shape.push([event]):
                        pass
                    encoding += perf_counter() - now
                if parser.first_token:
                    generation += perf_counter() - parser.first_token
                parsing += parser.seconds
                tokens += parser.chunks
        per_token[choice] = generation / tokens
        print(
            f"grammar {choice}: {tokens} tokens, {1000 * generation / tokens:.2f} ms per token; the parser takes "
            f"{100 * parsing / generation:.2f} %, the encoder {100 * encoding / generation:.2f} %"
        )
        if first:
            print(f"  first fragment of arguments after {1000 * median(first):.0f} ms (median, from the first token)")
    print(f"with the grammar, a token takes {per_token['required'] / per_token['none']:.2f} times as long")


if __name__ == "__main__":
    main()
