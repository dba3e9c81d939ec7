"""CPU time per 4-character delta, with events, for every format, beside a floor and beside mlx-lm in the same run.

    python benchmarks/parse_deltas.py [--rounds 5] [--json]

Two workloads: content, and one long string argument (code with quotes, newlines and braces). The floor is a loop that
builds one event per delta and keeps it. mlx-lm's loop is its server's: split each delta by state, gather the call's
text, parse it when the closer has come; it is left out where mlx-lm is not installed or has no parser for the format.
Each cell is the best of the rounds, and its ratio to the floor of the same round; machines are noisy, ratios less so.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import sys
import time
from collections.abc import Callable
from typing import Any

from toolfmt.events import Content
from toolfmt.formats import FORMATS, Parser, ToolCallFormat, write

SIZES = (256, 1024, 4096, 16384)
DELTA = 4
PROSE = "The weather in Oslo is fine today, and it will stay so; take a coat for the evening, though. "
CODE = (
    'def greet(name: str) -> dict[str, int]:\n    if name == "Ada":\n        print(f"Hello, {name}!")\n'
    "    return {'length': len(name), \"seen\": 1}\n\n"
)
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "run",
            "parameters": {"type": "object", "properties": {"code": {"type": "string"}}, "required": ["code"]},
        },
    }
]


def repeated(text: str, length: int) -> str:
    return (text * (length // len(text) + 1))[:length]


def deltas(text: str, count: int) -> list[str]:
    pieces = [text[at : at + DELTA] for at in range(0, len(text), DELTA)]
    return pieces[:count]


def content(format: ToolCallFormat, count: int) -> list[str]:
    return deltas(repeated(PROSE, DELTA * count), count)


def argument(format: ToolCallFormat, count: int) -> list[str]:
    """Deltas of one call whose string argument is code; the call is whole, and as near to `count` deltas as it can
    be."""
    length = DELTA * count
    while True:
        text = write(format, [("run", {"code": repeated(CODE, length)})], TOOLS)
        if len(text) <= DELTA * count:
            return deltas(text, count)
        length -= max(1, (len(text) - DELTA * count) // 2)


WORKLOADS: dict[str, Callable[[ToolCallFormat, int], list[str]]] = {"content": content, "argument": argument}


def floor(format: ToolCallFormat, pieces: list[str]) -> None:
    events = []
    for piece in pieces:
        events.append(Content(piece, 0))  # noqa: PERF401  the floor is a loop, as every caller has one


def toolfmt(format: ToolCallFormat, pieces: list[str]) -> None:
    parser = Parser(format, tools=TOOLS)
    feed = parser.feed
    events = []
    for piece in pieces:
        events.extend(feed(piece))
    events.extend(parser.finish())


def mlx_lm(format: ToolCallFormat) -> Callable[[ToolCallFormat, list[str]], None] | None:
    try:
        module = importlib.import_module(f"mlx_lm.tool_parsers.{format.elsewhere['mlx-lm']}")
        machine = importlib.import_module("mlx_lm.generate").TextStateMachine
    except (ImportError, KeyError, AttributeError):
        return None

    def parsed(call: str) -> Any:
        try:
            return module.parse_tool_call(call, TOOLS)
        except Exception as error:  # noqa: BLE001  as its server does: a call it cannot read is dropped
            return error

    states = machine({"normal": [(module.tool_call_start, "tool")], "tool": [(module.tool_call_end, "normal")]})

    def run(format: ToolCallFormat, pieces: list[str]) -> None:
        state, call, told = states.make_state("normal"), "", []
        for piece in pieces:
            state, segments = machine.split(state, piece)
            for current, text in segments:
                if current == "tool":
                    call += text
                elif call:
                    told.append(parsed(call))
                    call = ""
                if current == "normal" and text:
                    told.append(text)
        if call:
            told.append(parsed(call))

    return run


def microseconds(run: Callable[[ToolCallFormat, list[str]], None], format: ToolCallFormat, pieces: list[str]) -> float:
    """CPU time per delta of one run, repeated until it is long enough to be measured."""
    repeats = max(1, 16384 // len(pieces))
    begin = time.process_time()
    for _ in range(repeats):
        run(format, pieces)
    return (time.process_time() - begin) / repeats / len(pieces) * 1e6


def measure(rounds: int) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    gc.disable()
    for format in FORMATS:
        peer = mlx_lm(format)
        runners = {"floor": floor, "toolfmt": toolfmt} | ({"mlx-lm": peer} if peer else {})
        for workload, make in WORKLOADS.items():
            for size in SIZES:
                pieces = make(format, size)
                best: dict[str, float] = {}
                ratio = float("inf")
                for _ in range(rounds):
                    times = {name: microseconds(run, format, pieces) for name, run in runners.items()}
                    best = {name: min(best.get(name, float("inf")), spent) for name, spent in times.items()}
                    ratio = min(ratio, times["toolfmt"] / times["floor"])
                    gc.collect()
                rows.append({"format": format.name, "workload": workload, "deltas": size, "us": best, "ratio": ratio})
    return rows


def report(rows: list[dict[str, Any]]) -> None:
    print(f"{'format':14}{'workload':10}{'deltas':>8}{'floor':>9}{'toolfmt':>9}{'×floor':>8}{'mlx-lm':>9}{'×256':>7}")
    first: dict[tuple[str, str], float] = {}
    for row in rows:
        base = first.setdefault((row["format"], row["workload"]), row["us"]["toolfmt"])
        peer = f"{row['us']['mlx-lm']:9.2f}" if "mlx-lm" in row["us"] else f"{'-':>9}"
        print(
            f"{row['format']:14}{row['workload']:10}{row['deltas']:8}{row['us']['floor']:9.3f}"
            f"{row['us']['toolfmt']:9.3f}{row['ratio']:8.1f}{peer}{row['us']['toolfmt'] / base:7.2f}"
        )
    print(f"worst ratio to the floor: {max(row['ratio'] for row in rows):.1f}")


def main() -> None:
    arguments = argparse.ArgumentParser(description="CPU µs per 4-character delta, with events")
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--json", action="store_true")
    options = arguments.parse_args()
    rows = measure(options.rounds)
    if options.json:
        json.dump(rows, sys.stdout, indent=1)
    else:
        report(rows)


if __name__ == "__main__":
    main()
