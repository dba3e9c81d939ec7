"""llama-cpp-python's own chat handler beside toolfmt's, over the real llama.cpp, on the same tokens.

    python -m benchmarks.llama_cpp_reading [--format NAME]… [--json]

A tiny GGUF file is trained on the spot; the markers of all formats are control tokens in it, as in most tokenizers.
First what both say to a prompt whose answer the model knows by heart: real sampling. Then every format × the answers
of `ANSWERS`, each handed over in the place of what `Llama.generate` samples, as the tokens that llama.cpp's tokenizer
makes of it: how many answers reach a client with exactly their calls, how many with their text as it was written (for
the native handler, which reads no calls, that of the whole answer), and in how many a client is told a call that is not
whole. Where toolfmt has fewer than all: calls of `glm4_legacy` begin an answer, and llama.cpp ends one at `gpt_oss`'s
closer of a call, which here stands before a second. Last what the handlers cost: µs a token beside the model's own
time, for answers of 250 to 2,000 tokens. Needs llama-cpp-python, mlx-lm, transformers and gguf.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import llama_cpp

import toolfmt
from toolfmt.errors import CannotWrite
from toolfmt.formats import FORMATS, ToolCallFormat, get
from toolfmt.integrations.llama_cpp import ChatHandler

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "support"))
import tiny_gguf  # the tests' own
import tiny_models  # as above

END = "<|im_end|>"
BEGIN = "<|im_start|>"
TEMPLATE = """\
{%- if tools %}{{- '<|im_start|>system\\n' }}{%- for tool in tools %}{{- tool | tojson + '\\n' }}{%- endfor %}
{{- '<|im_end|>\\n' }}{%- endif %}
{%- for message in messages %}{{- '<|im_start|>' + message.role + '\\n' + (message.content or '') + '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}
"""


def tool(name: str, **properties: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": {key: {"type": kind} for key, kind in properties.items()}}
    return {"type": "function", "function": {"name": name, "description": f"To {name}.", "parameters": schema}}


TOOLS = [tool("write_file", path="string", text="string"), tool("now"), tool("plot", points="array", style="object")]
MESSAGES = [{"role": "user", "content": "Go on."}]
INDENT = " " * 100
TEXT = "I see to it.\n"
CODE = "def f():\n    print(\"{'k': 1}\")\n"
WRITE = ("write_file", {"path": "a.py", "text": CODE})
# What an answer holds: its text, its calls, and how much of what is written of the last call is left out.
ANSWERS: dict[str, tuple[str, list[tuple[str, Any]], float]] = {
    "text": (TEXT, [], 0),
    "a call": ("", [WRITE], 0),
    "text and a call": (TEXT, [WRITE], 0),
    "two calls": (TEXT, [WRITE, ("write_file", {"path": "b.py", "text": "x"})], 0),
    "no arguments": (TEXT, [("now", {})], 0),
    "nested": (TEXT, [("plot", {"points": [[1, 2.5], [3, None]], "style": {"a": {"b": [True]}}})], 0),
    "unicode": ("Où ? 🦀\n", [("write_file", {"path": "日本.txt", "text": "naïve 🦀🦀 \u200d ∑"})], 0),
    "deep indentation": (TEXT, [("write_file", {"path": "a.py", "text": f"if x:\n{INDENT}return 1\n"})], 0),
    "markers in a value": (TEXT, [("write_file", {"path": "a", "text": "<tool_call> and </tool_call>"})], 0),
    "long": (TEXT, [("write_file", {"path": "a.py", "text": CODE * 12})], 0),
    "cut in a value": (TEXT, [("write_file", {"path": "a.py", "text": CODE * 4})], 0.5),
    "cut at its end": (TEXT, [("write_file", {"path": "a.py", "text": CODE * 4})], 0.05),
    "cut behind a call": (TEXT, [WRITE, ("write_file", {"path": "b.py", "text": CODE * 4})], 0.3),
}


def written(format: ToolCallFormat, calls: list[tuple[str, Any]], cut: float) -> str:
    if not calls:
        return ""
    text = toolfmt.write(format, calls, TOOLS)
    before = len(toolfmt.write(format, calls[:-1], TOOLS)) if calls[1:] else 0
    return text[: len(text) - int((len(text) - before) * cut)] if cut else text


class Both:
    """The tiny model with each of the two handlers."""

    def __init__(self, directory: Path) -> None:
        markers = tiny_gguf.markers(but={END, BEGIN, tiny_models.PADDING})
        self.calls = [("write_file", {"path": "a.py", "text": f"def f():\n{INDENT}return '🦀 </tool_call>'\n"})]
        tiny_models.build(
            directory,
            template=TEMPLATE,
            messages=MESSAGES,
            tools=TOOLS,
            answer=TEXT + toolfmt.write("json", self.calls, TOOLS),
            special=[BEGIN],
            added=[INDENT, *markers],
        )
        file = tiny_gguf.written(directory, directory / "tiny.gguf", control=markers)
        self.model = toolfmt.load(file)
        self.own = llama_cpp.Llama(str(file), n_ctx=8192, verbose=False)
        self.ours = llama_cpp.Llama(str(file), n_ctx=8192, verbose=False)
        self.each = {"llama-cpp-python": self.own, "toolfmt": self.ours}

    def asked(self, llama: Any, format: str, **options: Any) -> dict[str, Any]:
        if llama is self.ours:
            llama.chat_handler = ChatHandler(self.model, format=format)
        (choice,) = llama.create_chat_completion(MESSAGES, tools=TOOLS, temperature=0.0, **options)["choices"]
        return dict(choice)

    def streamed(self, llama: Any, format: str) -> None:
        if llama is self.ours:
            llama.chat_handler = ChatHandler(self.model, format=format)
        for _ in llama.create_chat_completion(MESSAGES, tools=TOOLS, temperature=0.0, stream=True):
            pass

    def say(self, answer: str) -> int:
        """Has both say this; its tokens. An answer that was cut is one that the limit of tokens ended."""
        said = self.own.tokenize(answer.encode(), add_bos=False, special=True)

        def generate(tokens: list[int], **options: Any) -> Iterator[int]:
            yield from said
            yield self.own.token_eos()

        for llama in self.each.values():
            llama.generate = generate
        return len(said)


def calls_of(message: dict[str, Any]) -> list[tuple[str, Any]]:
    calls = [call["function"] for call in message.get("tool_calls") or []]
    return [(call["name"], json.loads(call["arguments"])) for call in calls]


def read(both: Both, formats: list[ToolCallFormat]) -> list[dict[str, Any]]:
    """A row for each kind of answer: of how many, and what became of them by each handler."""
    rows = []
    for what, (text, calls, cut) in ANSWERS.items():
        row: dict[str, Any] = {"answer": what, "of": 0} | {name: Counter() for name in both.each}
        for format in formats:
            try:
                answer = text + written(format, calls, cut)
            except CannotWrite:
                continue
            row["of"] += 1
            tokens = both.say(answer)
            whole = calls[:-1] if cut else calls
            for name, llama in both.each.items():
                message = both.asked(llama, format.name, **({"max_tokens": tokens} if cut else {}))["message"]
                told, content = calls_of(message), message.get("content") or ""
                row[name]["calls"] += told in (
                    [whole, calls] if cut else [whole]
                )  # what is cut may be a frame's closer
                row[name]["not whole"] += any(call not in calls for call in told)
                expected = text if name == "toolfmt" else answer
                row[name]["text"] += content.startswith(expected) if cut else content.rstrip() == expected.rstrip()
        rows.append(row)
    return rows


def per_token(both: Both, sizes: tuple[int, ...] = (250, 500, 1000, 2000)) -> list[dict[str, Any]]:
    rows = []
    for size in sizes:
        line = CODE
        calls = [("write_file", {"path": "a.py", "text": line * max(1, size // len(both.own.tokenize(line.encode())))})]
        tokens = both.say(TEXT + toolfmt.write("json", calls, TOOLS))
        ways: dict[str, Callable[[Any], object]] = {
            "whole": lambda llama: both.asked(llama, "json"),
            "streamed": lambda llama: both.streamed(llama, "json"),
        }
        row: dict[str, Any] = {"tokens": tokens}
        for name, llama in both.each.items():
            for way, run in ways.items():
                row[f"{name}, {way}"] = min(spent(run, llama) for _ in range(2)) / tokens * 1e6
        rows.append(row)
    return rows


def spent(run: Callable[[Any], object], llama: Any) -> float:
    begin = time.process_time()
    run(llama)
    return time.process_time() - begin


def report(said: dict[str, Any], rows: list[dict[str, Any]], costs: list[dict[str, Any]]) -> None:
    print(f"llama-cpp-python {llama_cpp.__version__}; sampled from the tiny model:")
    for name, choice in said.items():
        print(f"  {name:17} {choice['finish_reason']:11} {json.dumps(choice['message'], ensure_ascii=False)[:200]}")
    print(f"\n{'answer':20}{'of':>4}   {'its calls exactly':>20}{'its text exactly':>20}{'a call not whole':>20}")
    print(f"{'':27}" + f"{'native':>10}{'toolfmt':>10}" * 3)
    for row in rows:
        own, ours = row["llama-cpp-python"], row["toolfmt"]
        cells = (f"{own[key]:>10}{ours[key]:>10}" for key in ("calls", "text", "not whole"))
        print(f"{row['answer']:20}{row['of']:4}   " + "".join(cells))
    print("\nµs a token beside the model's own time")
    for row in costs:
        print("  ".join(f"{key} {value:,.0f}" for key, value in row.items()))


def main() -> None:
    arguments = argparse.ArgumentParser(description="llama-cpp-python's chat handler beside toolfmt's")
    arguments.add_argument("--format", action="append", metavar="NAME", help="of this format alone; repeatable")
    arguments.add_argument("--json", action="store_true")
    options = arguments.parse_args()
    formats = [get(name) for name in options.format] if options.format else list(FORMATS)
    with tempfile.TemporaryDirectory() as directory:
        both = Both(Path(directory) / "tiny")
        said = {name: both.asked(llama, "json", max_tokens=400) for name, llama in both.each.items()}
        rows, costs = read(both, formats), per_token(both)
        for llama in both.each.values():
            llama.close()
    if options.json:
        json.dump({"sampled": said, "answers": rows, "cost": costs}, sys.stdout, indent=1)
    else:
        report(said, rows, costs)


if __name__ == "__main__":
    main()
