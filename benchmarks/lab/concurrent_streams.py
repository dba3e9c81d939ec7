"""Measure the duration, the lost data and the cost of many concurrent streams through the example server.

    python -m benchmarks.lab.concurrent_streams [--streams N] [--tokens N] [--wait SECONDS]

The server runs in a separate process on this machine. Its token source writes unique text to each stream: a text, a
call with the same text as its argument, and another text. A token is four characters, and `--wait` is the delay before
each (0.05 is a model at 20 tokens per second). The streams use the four protocols in turn; each is read to its end and
compared with the expected text. Prints the same streams one after the other, all at once, and all at once without
delay, which shows the server's maximum speed. The cost of the parser and of a protocol per token is measured
separately, in one process without HTTP. The exit status is 1 if a stream lost anything.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests" / "support"), str(ROOT / "examples")]

from answer_scenarios import TOOLS, call_text, model, serving  # noqa: E402  # its folder is named above
from server import PROTOCOLS, Served  # noqa: E402  # likewise
from token_sources import Piece, Source  # noqa: E402  # likewise

import toolfmt  # noqa: E402  # after those
from toolfmt.integrations.protocols import Chat, Messages, Ollama, Responses, StreamEncoder, Usage  # noqa: E402  # likewise
from toolfmt.messages.events import Event  # noqa: E402  # likewise

Answer = tuple[str, list[tuple[str, Any]]]


def note_of(number: int, tokens: int) -> str:
    """The unique text of a stream."""
    return " ".join(f"{number}:{word}" for word in range(tokens // 3))


def answer_of(number: int, tokens: int) -> Answer:
    note = note_of(number, tokens)
    return f"Stream {number}.\n\nAnd {note}", [("save_note", {"text": note})]


def pieces_of(number: int, tokens: int) -> list[str]:
    ((name, arguments),) = answer_of(number, tokens)[1]
    text = f"Stream {number}.\n{call_text(name, arguments)}\nAnd {note_of(number, tokens)}"
    return [text[at : at + 4] for at in range(0, len(text), 4)]


def source_of(tokens: int, wait: float) -> Source:
    """Writes the text for the number in the prompt's question."""

    async def source(prompt: toolfmt.Prompt, limit: int, sampling: Mapping[str, float]) -> AsyncGenerator[Piece, None]:
        number = int(re.findall(r"This is stream (\d+)", prompt.text)[-1])
        for piece in pieces_of(number, tokens):
            await asyncio.sleep(wait)
            yield Piece(piece)
        yield Piece("", "stop", Usage(1, tokens))

    return source


def serve(tokens: int, wait: float) -> None:
    """Serve until standard input ends; prints the address, and the CPU time it took."""
    model().profile  # noqa: B018  # probed once, before anybody is waiting
    before = time.process_time()
    served = {"waits": Served(model(), source_of(tokens, wait)), "hurries": Served(model(), source_of(tokens, 0))}
    with serving(served) as base:
        print(base, flush=True)
        for _ in sys.stdin:
            print(time.process_time() - before, flush=True)
            before = time.process_time()


# --- the result of a stream


@dataclass
class Stream:
    """One response: its text, when the first of it came and when the last, in seconds from its request."""

    answer: Answer
    first: float
    last: float


def from_chat(payloads: list[Any]) -> Answer:
    deltas = [choice["delta"] for payload in payloads for choice in payload["choices"]]
    calls = [call["function"] for delta in deltas for call in delta.get("tool_calls", ())]
    arguments = "".join(function["arguments"] for function in calls)
    names = [function["name"] for function in calls if "name" in function]
    return "".join(delta.get("content") or "" for delta in deltas), [(name, json.loads(arguments)) for name in names]


def from_messages(payloads: list[Any]) -> Answer:
    deltas = [payload["delta"] for payload in payloads if payload["type"] == "content_block_delta"]
    blocks = [payload["content_block"] for payload in payloads if payload["type"] == "content_block_start"]
    arguments = "".join(delta.get("partial_json", "") for delta in deltas)
    names = [block["name"] for block in blocks if block["type"] == "tool_use"]
    return "".join(delta.get("text", "") for delta in deltas), [(name, json.loads(arguments)) for name in names]


def from_responses(payloads: list[Any]) -> Answer:
    text = "".join(payload["delta"] for payload in payloads if payload["type"] == "response.output_text.delta")
    done = [payload for payload in payloads if payload["type"] == "response.function_call_arguments.done"]
    return text, [(payload["name"], json.loads(payload["arguments"])) for payload in done]


def from_ollama(payloads: list[Any]) -> Answer:
    messages = [payload["message"] for payload in payloads]
    calls = [call["function"] for message in messages for call in message.get("tool_calls", ())]
    return "".join(message["content"] for message in messages), [(call["name"], call["arguments"]) for call in calls]


READERS: dict[type[StreamEncoder], Callable[[list[Any]], Answer]] = {
    Chat: from_chat,
    Messages: from_messages,
    Responses: from_responses,
    Ollama: from_ollama,
}
SHAPES: dict[str, type[StreamEncoder]] = {"chat": Chat, "messages": Messages, "responses": Responses, "ollama": Ollama}


async def read(base: str, name: str, number: int) -> Stream:
    """Reads a stream without an HTTP client, which would take more of the machine than the server does."""
    path, protocol = list(PROTOCOLS.items())[number % len(PROTOCOLS)]
    messages: list[Any] = [{"role": "user", "content": f"This is stream {number}."}]
    request = {"model": name, "messages": messages, "input": messages, "tools": TOOLS, "stream": True}
    del request["messages" if path == "/v1/responses" else "input"]
    sent = json.dumps(request).encode()
    host, port = base.removeprefix("http://").split(":")
    head = f"POST {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Length: {len(sent)}\r\n\r\n"
    began = time.monotonic()
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(head.encode() + sent)
    status = await reader.readuntil(b"\r\n\r\n")
    if not status.startswith(b"HTTP/1.1 200"):
        raise RuntimeError((await reader.read()).decode())
    body = await reader.read(1)
    first = time.monotonic() - began
    body += await reader.read()
    last = time.monotonic() - began
    writer.close()
    lines = (line.removeprefix("data: ") for line in unchunked(body).decode().split("\n"))
    shape: Any = protocol.shape
    return Stream(READERS[shape]([json.loads(line) for line in lines if line.startswith("{")]), first, last)


def unchunked(body: bytes) -> bytes:
    """What HTTP sent in chunks."""
    parts, at = [], 0
    while size := int(body[at : (begin := body.index(b"\r\n", at) + 2)], 16):
        parts.append(body[begin : begin + size])
        at = begin + size + 2
    return b"".join(parts)


async def read_all(base: str, name: str, streams: int, at_once: int) -> list[Stream]:
    room = asyncio.Semaphore(at_once)

    async def one(number: int) -> Stream:
        async with room:
            return await read(base, name, number)

    return await asyncio.gather(*map(one, range(streams)))


# --- what a protocol costs


def microseconds(run: Callable[[], object], count: int) -> float:
    """The quickest of seven runs, a token."""
    times = []
    for _ in range(7):
        began = time.perf_counter()
        run()
        times.append(time.perf_counter() - began)
    return min(times) / count * 1e6


def fed(pieces: list[str]) -> list[list[Event]]:
    parser = toolfmt.Parser("json", tools=TOOLS)
    return [*(parser.feed(piece) for piece in pieces), parser.finish()]


def encode(shape: type[StreamEncoder], batches: list[list[Event]], whole_calls: bool) -> None:
    encoder = shape("id", "m", 1, whole_calls=whole_calls)
    for events in batches:
        for payload in encoder.push(events):
            encoder.wire(payload)


def print_costs(tokens: int) -> None:
    pieces = pieces_of(1, tokens)
    batches = fed(pieces)
    print(f"\nmicroseconds per token ({len(pieces)} tokens of text and of a call); parser only: ", end="")
    print(f"{microseconds(partial(fed, pieces), len(pieces)):.1f}")
    for whole in (True, False):
        costs = [
            f"{name} {microseconds(partial(encode, shape, batches, whole), len(pieces)):.1f}"
            for name, shape in SHAPES.items()
        ]
        print(f"  protocol and JSON, {'whole calls' if whole else 'streamed arguments'}: {', '.join(costs)}")


def main() -> int:
    arguments = argparse.ArgumentParser(description="Measure many concurrent streams through the example server")
    arguments.add_argument("--streams", type=int, default=200, metavar="N")
    arguments.add_argument("--tokens", type=int, default=300, metavar="N", help="approximate tokens per stream")
    arguments.add_argument("--wait", type=float, default=0.05, metavar="SECONDS", help="delay before each token")
    arguments.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    given = arguments.parse_args()
    if given.serve:
        serve(given.tokens, given.wait)
        return 0
    length = len(pieces_of(10, given.tokens))
    command = [sys.executable, "-m", "benchmarks.lab.concurrent_streams", "--serve"]
    command += ["--tokens", str(given.tokens), "--wait", str(given.wait)]
    lost = 0
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as server:
        assert server.stdin is not None and server.stdout is not None
        base = server.stdout.readline().strip()
        print(f"{given.streams} streams of about {length} tokens, {given.wait * 1000:g} ms before each, four protocols")
        print(f"{'':32}{'seconds':>9}{'tokens/s':>10}{'first, median':>15}{'first, last':>13}{'CPU':>7}{'lost':>6}")
        ways = [
            ("one after the other (4 of them)", "waits", 4, 1),
            ("all at once", "waits", given.streams, given.streams),
            ("all at once, without delay", "hurries", given.streams, given.streams),
        ]
        for title, name, streams, at_once in ways:
            began = time.monotonic()
            answers = asyncio.run(read_all(base, name, streams, at_once))
            took = time.monotonic() - began
            print(file=server.stdin, flush=True)
            used = float(server.stdout.readline())
            wrong = sum(one.answer != answer_of(number, given.tokens) for number, one in enumerate(answers))
            firsts = [one.first for one in answers]
            rate = sum(len(pieces_of(number, given.tokens)) for number in range(streams)) / took
            times = f"{statistics.median(firsts):>13.2f} s{max(firsts):>11.2f} s{used:>5.1f} s"
            print(f"{title:32}{took:>9.1f}{rate:>10.0f}{times}{wrong:>6}", flush=True)
            lost += wrong
        server.stdin.close()
    print_costs(given.tokens)
    return int(lost > 0)


if __name__ == "__main__":
    sys.exit(main())
