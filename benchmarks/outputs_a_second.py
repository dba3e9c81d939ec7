"""Measure how many recorded outputs toolfmt parses per second, on one core and with several processes.

    python -m benchmarks.outputs_a_second [--format NAME]… [--outputs N] [--rounds 3] [--processes 2] [--json]

The first table shows CPU time of `parse_many` in this process. An output is a sentence and a call that writes a file of
one line, of about 2,000 characters (500 tokens) or of about 20,000, with 1 or 40 tools.

The second table shows outputs of 2,000 characters per second of wall time, with one process and with several, for
`parse_many`, `datasets.map` and Ray Data. The time is measured from the table in memory to the messages in memory,
including the start of processes but not the start of Ray. The first row is the capacity of the machine: the same number
of independent programs that transfer nothing. Engines that are not installed are skipped. Each figure is the best of
the rounds.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import logging
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from itertools import repeat
from pathlib import Path
from typing import Any

import toolfmt

EXAMPLES = Path(__file__).parent.parent / "examples"
FORMATS = ("json", "glm4", "gemma4", "xml_function", "lfm2", "gpt_oss", "kimi_k2", "mistral")
LENGTHS = (50, 2000, 20000)
SCALED = "glm4"
LINE = "    if a[{number}] < b:\n        print(\"x {number}\", {{'k': {number}}})\n"


def tool(number: int) -> dict[str, Any]:
    names = ("path", "text", "mode", "owner")
    properties = {name: {"type": "string", "description": f"The {name} of the file."} for name in names}
    parameters = {"type": "object", "properties": properties, "required": ["path"]}
    function = {"name": f"write_file_{number}", "description": "Writes a file.", "parameters": parameters}
    return {"type": "function", "function": function}


def answer(format: str, length: int, number: int, tools: Sequence[Any]) -> str:
    """One output of about this length; each number gives a different one."""
    code = "".join(LINE.format(number=number + line) for line in range(length // 60)) or f"x = {number}\n"
    call = toolfmt.write(format, [("write_file_0", {"path": f"{number}.py", "text": code})], tools)
    try:
        text = f"I will write the file now, number {number}.\n{call}"
        return text if toolfmt.parse(text, format, tools=tools).content else call
    except toolfmt.ToolfmtError:
        return call


def on_one_core(formats: Sequence[str], rounds: int) -> list[dict[str, Any]]:
    rows = []
    for format in formats:
        row: dict[str, Any] = {"format": format}
        for length in LENGTHS:
            for count in (1, 40):
                tools = [tool(number) for number in range(count)]
                texts = [answer(format, length, number, tools) for number in range(max(20, 400_000 // (length + 200)))]
                best = min(spent(texts, format, tools) for _ in range(rounds))
                row[f"{length} characters, {count} tools"] = len(texts) / best
        rows.append(row)
    return rows


def spent(texts: list[str], format: str, tools: list[Any]) -> float:
    begin = time.process_time()
    messages = toolfmt.parse_many(texts, format, tools=tools)
    end = time.process_time()
    if not all(message.tool_calls for message in messages):
        raise AssertionError(f"{format}: an output without its call")
    return end - begin


def read_rows() -> Callable[..., Any]:
    """The function of the examples."""
    sys.path.insert(0, str(EXAMPLES))
    function: Callable[..., Any] = importlib.import_module("read_rows").read_rows
    return function


def by_hand(texts: list[str], tools: list[Any], processes: int) -> float:
    """What the machine has to give: so many programs side by side, each with its share, that hand nothing over."""
    begin = time.perf_counter()
    with ProcessPoolExecutor(processes) as pool:
        read = sum(pool.map(share, [texts[number::processes] for number in range(processes)], repeat(tools)))
    return checked(begin, read, len(texts))


def share(texts: list[str], tools: list[Any]) -> int:
    return len(toolfmt.parse_many(texts, SCALED, tools=tools))


def by_parse_many(texts: list[str], tools: list[Any], processes: int) -> float:
    begin = time.perf_counter()
    messages = toolfmt.parse_many(texts, SCALED, tools=tools, processes=processes)
    return checked(begin, len(messages), len(texts))


def by_datasets(texts: list[str], tools: list[Any], processes: int) -> float:
    import datasets

    datasets.disable_progress_bars()
    with tempfile.TemporaryDirectory() as directory:
        table = datasets.Dataset.from_dict({"output": texts})
        options = {"format": SCALED, "tools": tools, "text_key": "output"}
        begin = time.perf_counter()
        files = {"cache_file_name": f"{directory}/read.arrow"}
        read = table.map(read_rows(), batched=True, num_proc=processes, fn_kwargs=options, **files)
        return checked(begin, len(read["message"]), len(texts))


def by_ray(texts: list[str], tools: list[Any], processes: int) -> float:
    import ray

    with cluster(processes):
        options = {"format": SCALED, "tools": tools, "text_key": "output"}
        table = ray.data.from_items([{"output": text} for text in texts], override_num_blocks=8 * processes)
        table.map_batches(read_rows(), fn_kwargs=options).count()  # the workers have started, and imported
        begin = time.perf_counter()
        read = table.map_batches(read_rows(), fn_kwargs=options).materialize()
        return checked(begin, read.count(), len(texts))


@contextmanager
def cluster(processes: int) -> Iterator[None]:
    import ray

    path = os.pathsep.join([str(EXAMPLES), str(EXAMPLES.parent)])
    environment = {"env_vars": {"PYTHONPATH": path}}
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    ray.init(num_cpus=processes, include_dashboard=False, logging_level=logging.ERROR, runtime_env=environment)
    ray.data.DataContext.get_current().enable_progress_bars = False
    try:
        yield
    finally:
        ray.shutdown()


def checked(begin: float, read: int, given: int) -> float:
    taken = time.perf_counter() - begin
    if read != given:
        raise AssertionError(f"{given} outputs, {read} messages")
    return given / taken


ENGINES: dict[str, tuple[str, Callable[[list[str], list[Any], int], float]]] = {
    "side by side": ("toolfmt", by_hand),
    "parse_many": ("toolfmt", by_parse_many),
    "datasets.map": ("datasets", by_datasets),
    "Ray Data": ("ray", by_ray),
}


def on_several(outputs: int, processes: int, rounds: int) -> list[dict[str, Any]]:
    tools = [tool(number) for number in range(10)]
    texts = [answer(SCALED, LENGTHS[1], number, tools) for number in range(outputs)]
    rows = []
    for name, (package, run) in ENGINES.items():
        if importlib.util.find_spec(package) is None:
            print(f"{name}: not installed", file=sys.stderr)
            continue
        # In turn, so that other work on the machine affects both.
        turns = [(run(texts, tools, 1), run(texts, tools, processes)) for _ in range(rounds)]
        one, several = (max(speeds) for speeds in zip(*turns, strict=True))
        rows.append({"engine": name, "1": one, str(processes): several, "times": several / one})
    return rows


def report(one: list[dict[str, Any]], several: list[dict[str, Any]], processes: int, outputs: int) -> None:
    print("outputs per second on one core (CPU time), by characters of the file and number of tools")
    columns = [name for name in one[0] if name != "format"] if one else []
    print(
        f"{'format':14}"
        + "".join(f"{name.replace(' characters, ', '/').replace(' tools', ''):>12}" for name in columns)
    )
    for row in one:
        print(f"{row['format']:14}" + "".join(f"{row[name]:12,.0f}" for name in columns))
    load = os.getloadavg()[0]
    print(
        f"\n{outputs:,} outputs of 2,000 characters in {SCALED}, wall time (load {load:.1f} on {os.cpu_count()} cores)"
    )
    print(f"{'engine':14}{'1 process':>14}{f'{processes} processes':>14}{'times':>8}")
    for row in several:
        print(f"{row['engine']:14}{row['1']:14,.0f}{row[str(processes)]:14,.0f}{row['times']:8.2f}")


def main() -> None:
    arguments = argparse.ArgumentParser(description="Measure outputs parsed per second")
    arguments.add_argument("--format", action="append", metavar="NAME", help="only this format; repeatable")
    arguments.add_argument("--outputs", type=int, default=30_000, help="number of outputs in the second table")
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--processes", type=int, default=2)
    arguments.add_argument("--json", action="store_true")
    options = arguments.parse_args()
    one = on_one_core(options.format or FORMATS, options.rounds)
    several = on_several(options.outputs, options.processes, options.rounds)
    if options.json:
        json.dump({"one core": one, "several": several}, sys.stdout, indent=1)
    else:
        report(one, several, options.processes, options.outputs)


if __name__ == "__main__":
    main()
