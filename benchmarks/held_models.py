"""Untrained models under a grammar: what mlx-lm and transformers write with weights that were never trained.

    python benchmarks/held_models.py [--answers N] [--runtime mlx|transformers]

A tiny model of random weights answers N times in each of ten formats, under the grammar of two tools (calls required).
An answer counts as valid if the parser reads it in strict, into calls that jsonschema accepts, and nothing else stands
in it; one that is cut at 900 tokens counts for itself. The same without a grammar: none is valid. The exit status is 1
if an answer that was not cut is not valid. Needs the extras `grammar` and `mlx`; for transformers `torch` too.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "support"))

import tiny_models
from held_models import FORMATS, MARKERS, TOOLS, format_of, grammar_of, valid_calls

import toolfmt

_LONGEST = 900


def main() -> int:
    arguments = argparse.ArgumentParser(description="Untrained models under a grammar")
    arguments.add_argument("--answers", type=int, default=20, metavar="N", help="answers in each format")
    arguments.add_argument("--runtime", choices=("mlx", "transformers"), help="both, unless one is named")
    options = arguments.parse_args()
    directory = Path(tempfile.mkdtemp())
    tiny_models.untrained(directory, template=tiny_models.TEMPLATE, special=MARKERS)
    wrong = 0
    print(f"{'runtime':14}{'format':14}{'grammar':9}{'answers':>8}{'valid':>7}{'cut':>5}{'calls':>7}{'seconds':>9}")
    for runtime in (options.runtime,) if options.runtime else ("mlx", "transformers"):
        answer, tokenizer = {"mlx": of_mlx, "transformers": of_transformers}[runtime](directory)
        for name in FORMATS:
            format = format_of(name)
            grammar = grammar_of(format, tokenizer)
            valid, cut, calls, took = judged(answer, format, grammar, options.answers)
            wrong += options.answers - valid - cut
            print(f"{runtime:14}{name:14}{'yes':9}{options.answers:8}{valid:7}{cut:5}{calls:7}{took:9.1f}", flush=True)
        valid, cut, calls, took = judged(answer, format_of("json"), None, options.answers)
        print(f"{runtime:14}{'json':14}{'no':9}{options.answers:8}{valid:7}{cut:5}{calls:7}{took:9.1f}", flush=True)
    return 1 if wrong else 0


Answer = Callable[[Any, Any, int], Any]


def judged(answer: Answer, format: Any, grammar: Any, answers: int) -> tuple[int, int, int, float]:
    """How many answers are valid, how many are cut, and how many calls the valid ones have."""
    valid = cut = calls = 0
    began = time.perf_counter()
    for seed in range(answers):
        stream = answer(format, grammar, seed)
        events = [*stream]
        found = calls_of(events)
        if stream.finish_reason == "length":
            cut += 1
        elif found:
            valid, calls = valid + 1, calls + found
    return valid, cut, calls, time.perf_counter() - began


def calls_of(events: Iterable[Any]) -> int:
    try:
        return len(valid_calls(events))
    except AssertionError:
        return 0


def of_mlx(directory: Path) -> tuple[Answer, Any]:
    from toolfmt.integrations import mlx as for_mlx

    mx: Any = importlib.import_module("mlx.core")
    sampler = importlib.import_module("mlx_lm.sample_utils").make_sampler(temp=1.0)
    model, tokenizer = importlib.import_module("mlx_lm").load(str(directory))

    def answer(format: Any, grammar: Any, seed: int) -> Any:
        mx.random.seed(seed)
        parser = toolfmt.Parser(format, tools=TOOLS, strict=True)
        given = {"parser": parser, "grammar": grammar, "max_tokens": _LONGEST, "sampler": sampler}
        return for_mlx.stream(model, tokenizer, "Hello", **given)

    return answer, tokenizer


def of_transformers(directory: Path) -> tuple[Answer, Any]:
    from toolfmt.integrations import transformers as for_transformers

    transformers: Any = importlib.import_module("transformers")
    model = transformers.AutoModelForCausalLM.from_pretrained(directory)
    tokenizer = transformers.AutoTokenizer.from_pretrained(directory)

    def answer(format: Any, grammar: Any, seed: int) -> Any:
        importlib.import_module("torch").manual_seed(seed)
        parser = toolfmt.Parser(format, tools=TOOLS, strict=True, stop=[tokenizer.eos_token])
        given = {"parser": parser, "grammar": grammar, "max_new_tokens": _LONGEST, "do_sample": True, "top_k": 0}
        return for_transformers.stream(model, tokenizer, "Hello", **given)

    return answer, tokenizer


if __name__ == "__main__":
    sys.exit(main())
