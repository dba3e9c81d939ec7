"""Measure the CPU time per 4-character delta for every format, next to a baseline and other runtimes.

    python -m benchmarks.parse_deltas [--rounds 5] [--json] [--format NAME]… [--workload content|argument|call|tools]

- `content` and `argument`: plain text, and one long string argument (code with quotes, newlines and braces).
- `call`: one whole short call of 20 to 40 deltas (a few more if the frame is long), including creating and finishing
  the parser, in µs per call.
- `tools`: the same call of a tool with 1 to 10,000 parameters that the process has not seen before; `deltas` is the
  number of parameters.

The floor is a loop that creates and stores one event per delta. mlx-lm's loop is that of its server: split each delta
by state, collect the call's text, and parse it at the end marker. It is skipped if mlx-lm is not installed or has no
parser for the format.

The streaming parsers of transformers, vLLM and SGLang, if they are installed, read the same deltas as in their servers
(`benchmarks.peer_reading`). Their times include the construction of the parser, the server's work around it, and 1 to
2 µs per delta of this benchmark's own code. Some grow with the square of the length: after a size that takes longer
than `PATIENCE`, larger sizes are skipped.

Each cell is the best of the rounds; the ratio to the floor is that of the same round, because machines are noisy and
ratios less so.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import sys
import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

from benchmarks import peer_reading
from toolfmt.formats import FORMATS, Parser, ToolCallFormat, get, write
from toolfmt.messages.events import Content

SIZES = (256, 1024, 4096, 16384)
PARAMETERS = (1, 20, 200, 10_000)
DELTA = 4
PATIENCE = 0.5
"""CPU seconds for one parse of one output from which on a peer is not measured with a longer one."""
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


def short_call(format: ToolCallFormat) -> list[str]:
    """Deltas of one whole call, 20 to 40 of them, with as much of the code as the frame leaves space for."""
    frame = len(write(format, [("run", {"code": ""})], TOOLS))
    text = write(format, [("run", {"code": repeated(CODE, max(4, 28 * DELTA - frame))})], TOOLS)
    return deltas(text, len(text))


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
        module = importlib.import_module(f"mlx_lm.tool_parsers.{format.runtime_parsers['mlx-lm']}")
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
        state, call, output = states.make_state("normal"), "", []
        for piece in pieces:
            state, segments = machine.split(state, piece)
            for current, text in segments:
                if current == "tool":
                    call += text
                elif call:
                    output.append(parsed(call))
                    call = ""
                if current == "normal" and text:
                    output.append(text)
        if call:
            output.append(parsed(call))

    return run


def peers(format: ToolCallFormat) -> dict[str, Callable[[ToolCallFormat, list[str]], None]]:
    """The first parser of each other runtime that reads the call of this benchmark to its end."""
    found: dict[str, Callable[[ToolCallFormat, list[str]], None]] = {}
    pieces = short_call(format)
    for peer in peer_reading.installed():
        for parser in peer.parsers(format) if peer.name != "mlx-lm" else ():
            try:
                output = parser.stream(pieces, TOOLS)
            except Exception:  # noqa: BLE001  what raises is not timed
                continue
            if [name for name, _ in output.calls] == ["run"]:
                found[peer.name] = streaming(parser)
                break
    return found


def streaming(parser: peer_reading.PeerParser) -> Callable[[ToolCallFormat, list[str]], None]:
    def run(format: ToolCallFormat, pieces: list[str]) -> None:
        parser.stream(pieces, TOOLS)

    return run


def microseconds(
    run: Callable[[ToolCallFormat, list[str]], None], format: ToolCallFormat, pieces: list[str], repeats: int = 0
) -> float:
    """CPU time per delta of one run, repeated (by default) until it is long enough to be measured."""
    repeats = repeats or max(1, 16384 // len(pieces))
    begin = time.process_time()
    for _ in range(repeats):
        run(format, pieces)
    return (time.process_time() - begin) / repeats / len(pieces) * 1e6


def measure(
    rounds: int, formats: Sequence[ToolCallFormat], workloads: Sequence[str], *, others_every: int = 1
) -> list[dict[str, Any]]:
    """The rows of all formats; of every `others_every`-th one with transformers, vLLM and SGLang, which take longer."""
    rows: list[dict[str, Any]] = []
    gc.disable()
    for number, format in enumerate(formats):
        peer = mlx_lm(format)
        runners = {"floor": floor, "toolfmt": toolfmt} | ({"mlx-lm": peer} if peer else {})
        others = {} if number % others_every else peers(format)
        for workload in workloads:
            if workload == "tools":
                rows += new_tools(format, rounds)
                continue
            if workload == "call":
                pieces = short_call(format)
                best, ratio = best_of(rounds, runners, format, pieces)
                best = {name: spent * len(pieces) for name, spent in best.items()}
                row = {"format": format.name, "workload": workload, "deltas": len(pieces), "us": best, "ratio": ratio}
                rows.append(row)
                continue
            patient = dict(others)
            for size in SIZES:
                pieces = WORKLOADS[workload](format, size)
                best, ratio = best_of(rounds, runners, format, pieces)
                for name, run in list(patient.items()):
                    best[name] = microseconds(run, format, pieces, 1)
                    if best[name] * len(pieces) > PATIENCE * 1e6:
                        del patient[name]
                    else:
                        best[name] = min(best[name], microseconds(run, format, pieces, 1))
                rows.append({"format": format.name, "workload": workload, "deltas": size, "us": best, "ratio": ratio})
    return rows


def new_tools(format: ToolCallFormat, rounds: int) -> list[dict[str, Any]]:
    """The time of a short call whose tool has parameters that were never seen before."""
    text, rows = "".join(short_call(format)), []
    for count in PARAMETERS:
        times = []
        for number in range(rounds):
            keys = ["code", *(f"key_{count}_{number}_{at}" for at in range(count - 1))]
            schema = {"type": "object", "properties": {key: {"type": "string"} for key in keys}}
            begin = time.process_time()
            parser = Parser(format, tools=[{"name": "run", "parameters": schema}])
            parser.feed(text)
            parser.finish()
            times.append((time.process_time() - begin) * 1e6)
        rows.append({"format": format.name, "workload": "tools", "deltas": count, "us": {"toolfmt": min(times)}})
    return rows


def best_of(
    rounds: int,
    runners: dict[str, Callable[[ToolCallFormat, list[str]], None]],
    format: ToolCallFormat,
    pieces: list[str],
) -> tuple[dict[str, float], float]:
    """The best time per delta of each, and the best ratio to the floor of the same round."""
    best: dict[str, float] = {}
    ratio = float("inf")
    for _ in range(rounds):
        times = {name: microseconds(run, format, pieces) for name, run in runners.items()}
        best = {name: min(best.get(name, float("inf")), spent) for name, spent in times.items()}
        ratio = min(ratio, times["toolfmt"] / times["floor"])
        gc.collect()
    return best, ratio


def report(rows: list[dict[str, Any]]) -> None:
    new = [row for row in rows if row["workload"] == "tools"]
    rows = [row for row in rows if row["workload"] != "tools"]
    names = list(dict.fromkeys(name for row in rows for name in row["us"] if name not in ("floor", "toolfmt")))
    head = f"{'format':16}{'workload':10}{'deltas':>8}{'floor':>9}{'toolfmt':>9}{'×floor':>8}{'×256':>7}"
    print(head + "".join(f"{name:>14}" for name in names))
    first: dict[tuple[str, str], float] = {}
    for row in rows:
        base = first.setdefault((row["format"], row["workload"]), row["us"]["toolfmt"])
        cells = (f"{row['us'][name]:14.2f}" if name in row["us"] else f"{'-':>14}" for name in names)
        print(
            f"{row['format']:16}{row['workload']:10}{row['deltas']:8}{row['us']['floor']:9.3f}"
            f"{row['us']['toolfmt']:9.3f}{row['ratio']:8.1f}{row['us']['toolfmt'] / base:7.2f}" + "".join(cells)
        )
    streamed = [row["ratio"] for row in rows if row["workload"] != "call"]
    calls = [row["us"]["toolfmt"] for row in rows if row["workload"] == "call"]
    if streamed:
        print(f"worst ratio to the floor: {max(streamed):.1f}")
    for count in sorted({row["deltas"] for row in new}):
        spent = {row["format"]: row["us"]["toolfmt"] for row in new if row["deltas"] == count}
        slowest = max(spent, key=lambda name: spent[name])
        print(
            f"new tools, {count} parameters: {median(spent.values()):.0f} µs, at most {spent[slowest]:.0f} ({slowest})"
        )
    if calls:
        print(f"a short call: {min(calls):.0f} to {max(calls):.0f} µs, median {median(calls):.0f} µs")


def main() -> None:
    arguments = argparse.ArgumentParser(description="CPU µs per 4-character delta, with events")
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--json", action="store_true")
    arguments.add_argument("--format", action="append", metavar="NAME", help="only this format; repeatable")
    arguments.add_argument("--workload", choices=[*WORKLOADS, "call", "tools"], help="only this one")
    options = arguments.parse_args()
    formats = [get(name) for name in options.format] if options.format else FORMATS
    rows = measure(options.rounds, formats, [options.workload] if options.workload else [*WORKLOADS, "call", "tools"])
    if options.json:
        json.dump(rows, sys.stdout, indent=1)
    else:
        report(rows)


if __name__ == "__main__":
    main()
