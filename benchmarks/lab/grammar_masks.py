"""Measure the time of a token mask and of compiling a grammar of many tools.

    python benchmarks/lab/grammar_masks.py [FORMAT …] [--vocabulary N] [--tokenizer FILE]

The tokenizer is trained as byte-pair encoding on the sources and texts of the installed packages. This takes a few
minutes the first time; FILE keeps it. Every format walks through written outputs with its grammar, its markers as
control tokens and as text. Each mask is timed (thread time; other work on the machine still increases it). Then toolfmt
writes a grammar for 10, 100 and 300 tools and llguidance compiles it, best of three. The limits are 30 µs at the
median, 2 ms at the 99th percentile, and 50 ms for the compilation. The exit status is 1 if one is exceeded. Needs the
extra `grammar`, and tokenizers.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "support"))

from grammar_calls import Subject, named, random_calls, variants
from grammar_walks import END, encoded
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

import toolfmt
from toolfmt.grammars.masks import Masks, load

MEDIAN, P99, COMPILED = 30.0, 2_000.0, 50.0
"""Microseconds, microseconds, milliseconds."""
_READ = 120_000_000
"""Characters that the tokenizer is trained on."""


def main() -> int:
    arguments = argparse.ArgumentParser(description="Measure the time of token masks")
    arguments.add_argument("formats", nargs="*", metavar="FORMAT", help="default: all formats")
    arguments.add_argument("--vocabulary", type=int, default=131_072, metavar="N", help="tokens of the vocabulary")
    arguments.add_argument(
        "--tokenizer", type=Path, default=Path(tempfile.gettempdir()) / "toolfmt-mask-tokenizer.json"
    )
    options = arguments.parse_args()
    if not options.tokenizer.exists():
        trained(options.vocabulary).save(str(options.tokenizer))
    tokenizer = Tokenizer.from_file(str(options.tokenizer))
    began = time.perf_counter()
    load(tokenizer, [end_of(tokenizer)])
    print(f"{tokenizer.get_vocab_size():,} tokens, loaded by llguidance in {time.perf_counter() - began:.1f} s")
    within = masks_of_formats(options.tokenizer, options.formats)
    return 0 if many_tools(tokenizer) and within else 1


def trained(size: int) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=size, special_tokens=[END], initial_alphabet=alphabet)
    tokenizer.train_from_iterator(installed_texts(), trainer)
    return tokenizer


def installed_texts() -> Iterator[str]:
    left = _READ
    for file in sorted(Path(sys.prefix).rglob("*")):
        if left > 0 and file.suffix in (".py", ".pyi", ".md", ".txt", ".json", ".rst") and file.is_file():
            text = file.read_text("utf-8", errors="ignore")[:1_000_000]
            left -= len(text)
            yield text


def end_of(tokenizer: Tokenizer) -> int:
    end = tokenizer.token_to_id(END)
    assert end is not None
    return int(end)


def masks_of_formats(file: Path, formats: list[str]) -> bool:
    """Whether all masks of all formats are within the limits."""
    subjects = [Subject(format, tokens) for format in variants() for tokens in (True, False)]
    markers = sorted({marker for subject in subjects for marker in subject.special})
    plain, marked = Tokenizer.from_file(str(file)), Tokenizer.from_file(str(file))
    marked.add_special_tokens([AddedToken(marker, special=True, normalized=False) for marker in markers])
    every: list[float] = []
    print(f"{'format':34}{'markers':>8}{'tokens':>8}{'median':>8}{'p99':>9}{'max':>9}  µs")
    for subject in subjects:
        if formats and subject.format.name not in formats:
            continue
        subject.tokenizer = marked if subject.tokens else plain
        subject.special = markers if subject.tokens else []
        each = costs(subject)
        every += each
        print(row(f"{named(subject.format):34}{'tokens' if subject.tokens else 'text':>8}", each), flush=True)
    print(row(f"{'all':34}{'':8}", every))
    return statistics.median(every) <= MEDIAN and percentile(every, 99) <= P99


def costs(subject: Subject) -> list[float]:
    """Microseconds for each mask on the way through some written outputs."""
    chance, found = random.Random(3), []
    for _ in range(8):
        text = subject.write(random_calls(chance, subject.most_calls))
        if text is None:
            continue
        masks = subject.masks.fresh()
        for token in encoded(subject.tokenizer, text):
            began = time.thread_time_ns()
            masks.bits()
            found.append((time.thread_time_ns() - began) / 1e3)
            masks.take(token)
    return found


def percentile(numbers: list[float], at: int) -> float:
    return sorted(numbers)[len(numbers) * at // 100]


def row(name: str, each: list[float]) -> str:
    return f"{name}{len(each):8,}{statistics.median(each):8.1f}{percentile(each, 99):9.1f}{max(each):9.1f}"


def many_tools(tokenizer: Tokenizer) -> bool:
    """Whether a grammar of 300 tools is compiled within the limit, in every selected format."""
    slowest = 0.0
    print(f"\n{'tools':>6} {'format':14}{'characters':>11}{'written':>9}{'compiled':>10}  ms")
    for number in (10, 100, 300):
        for format in ("json", "glm4", "xml_function", "lfm2", "kimi_k2", "gemma4"):
            tools = tools_of(number)
            grammar, written = best_of_three(lambda: toolfmt.grammar(format, tools, choice="required"))  # noqa: B023  called immediately
            _, compiled = best_of_three(lambda: Masks(grammar, tokenizer, [end_of(tokenizer)]))  # noqa: B023  called immediately
            slowest = max(slowest, compiled)
            print(f"{number:6} {format:14}{len(grammar.text):11,}{written:9.1f}{compiled:10.1f}", flush=True)
    return slowest <= COMPILED


def tools_of(number: int) -> list[Any]:
    types = ("string", "integer", "boolean", "number", "string")
    properties = {f"p{at}": {"type": kind} for at, kind in enumerate(types)}
    parameters = {"type": "object", "properties": properties, "required": ["p0"]}
    return [{"type": "function", "function": {"name": f"tool_{at}", "parameters": parameters}} for at in range(number)]


def best_of_three(make: Callable[[], Any]) -> tuple[Any, float]:
    """The result, and the fewest milliseconds that it took."""
    took = []
    for _ in range(3):
        began = time.thread_time_ns()
        made = make()
        took.append((time.thread_time_ns() - began) / 1e6)
    return made, min(took)


if __name__ == "__main__":
    sys.exit(main())
