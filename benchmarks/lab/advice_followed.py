"""Follow the advice of reports literally, for models that write calls inside their reasoning.

    python -m benchmarks.lab.advice_followed [--models 30] [--seed S]

The benchmark creates a model directory for each template and runs the report's command and line of Python unchanged
(FILE is the request, `tools` the tools). The output is composed: if the model reasons, reasoning that contains a call,
then the real call, then the end of the turn, as text with its special tokens. The second turn contains the result. It
counts calls inside reasoning that were executed, reasoning and end markers that were shown as content, lost calls, and
crashes.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import re
import shlex
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import toolfmt
from benchmarks.template_models import TOKENS, distinct, rendered_by_transformers
from toolfmt.messages.message import Message

TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": "delete_file",
            "description": "Deletes a file.",
            "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
        },
    }
]
QUESTION: list[dict[str, Any]] = [{"role": "user", "content": "Remove the old log, please."}]
THOUGHT, DOUBT = "They want it gone. I could write\n", "\nbut that is the wrong file, so I must not."
IN_REASONING, REAL = {"path": "/etc/passwd"}, {"path": "/tmp/old.log"}
PROBLEMS = (
    "draft executed",
    "reasoning as content",
    "end as content",
    "call lost",
    "crash, first turn",
    "crash, second",
)
_COMMAND = re.compile(r"toolfmt render \S.*? --request FILE(?: --output messages)?")
_LINE = re.compile(r"toolfmt\.(?:load|Parser)\(.*\)(?= reads|$)")
_MAIN = "from toolfmt.cli.commands import main; main(prog_name='toolfmt')"
_PIECE = 7


@dataclass(frozen=True)
class Followed:
    """A template in its directory, and the report's advice: a command or none, and the line of Python."""

    directory: Path
    source: str
    command: str
    line: str

    def prompt(self, messages: Sequence[dict[str, Any]]) -> str:
        """The prompt that the advice leads to: by the command, or as transformers renders the client's messages."""
        if not self.command:
            return rendered_by_transformers(self.source, list(messages), TOOLS)
        request = self.directory / "request.json"
        request.write_text(json.dumps({"messages": list(messages), "tools": TOOLS}), "utf-8")
        words = [str(request) if word == "FILE" else word for word in shlex.split(self.command)]
        made = subprocess.run([sys.executable, "-c", _MAIN, *words[1:]], capture_output=True, text=True, check=False)
        if made.returncode:
            raise RuntimeError(made.stderr.strip())
        if "--output" not in words:
            return made.stdout
        body = json.loads(made.stdout)
        variables = body.pop("chat_template_kwargs", {}) | {
            name: value for name, value in body.items() if name not in ("messages", "tools")
        }
        return rendered_by_transformers(self.source, body["messages"], body.get("tools"), **variables)

    def parser(self) -> Any:
        """What the line of Python makes."""
        return eval(self.line, {"toolfmt": toolfmt, "tools": TOOLS})


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--models", type=int, default=30, help="so many templates, drawn at random")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    templates = distinct([])
    drawn = random.Random(given.seed).sample(templates, min(given.models, len(templates)))
    problems: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    for template in drawn:
        with tempfile.TemporaryDirectory() as place:
            found, kind = problems_of(template.source, Path(place))
        seen[kind] += 1
        problems.update(found.keys())
        for problem, what in found.items():
            print(f"{template.name}: {problem}: {what}")
    print(f"{len(drawn)} models: {', '.join(f'{count} {kind}' for kind, count in sorted(seen.items()))}")
    print(", ".join(f"{problem} {problems[problem]}" for problem in PROBLEMS))


def problems_of(source: str, directory: Path) -> tuple[dict[str, str], str]:
    """What went wrong if the advice for a model of this template was followed, and how it was; empty for nothing."""
    (directory / "chat_template.jinja").write_bytes(source.encode("utf-8"))
    (directory / "tokenizer_config.json").write_text(json.dumps(TOKENS), "utf-8")
    model = toolfmt.load(directory)
    report = model.inspect().to_dict()
    followed = advice_of(report, directory, source)
    if followed is None:
        return {}, "without a line to type"
    answer, reasons = composed(model, report)
    kind = ("reasoning" if reasons else "plain") + (" through toolfmt render" if followed.command else "")
    try:
        followed.prompt(QUESTION)
        message = read(followed, answer)
    except Exception as error:  # noqa: BLE001 - whatever a template or the advice raises is what is counted
        return {"crash, first turn": str(error)[:200]}, kind
    found = misread(message, report["stop"])
    turn = message.to_openai()
    called = turn.get("tool_calls") or []
    results = [{"role": "tool", "tool_call_id": call["id"], "content": "done"} for call in called]
    try:
        followed.prompt([*QUESTION, turn, *results])
    except Exception as error:  # noqa: BLE001 - as above
        found["crash, second"] = str(error)[:200]
    return found, kind


def advice_of(report: dict[str, Any], directory: Path, source: str) -> Followed | None:
    """The report's advice for transformers, whose prompts are those of every server; None if there is none."""
    advice = [
        f"{one['text']}\n{one['remark']}"
        for one in report["advice"]
        if one["runtime"] in ("any runtime", "transformers")
    ]
    commands = [command[0] for text in advice if (command := _COMMAND.search(text))]
    lines = [line[0] for text in advice if (line := _LINE.search(text.split("\n")[0]))]
    return Followed(directory, source, commands[0] if commands else "", lines[0]) if lines else None


def composed(model: toolfmt.Model, report: dict[str, Any]) -> tuple[str, bool]:
    """An output of this model, and whether it reasons."""
    in_reasoning, real = (model.write([("delete_file", arguments)], TOOLS) for arguments in (IN_REASONING, REAL))
    ends = [*report["stop_of_calls"], *report["stop"]]
    end = "" if not ends or real.rstrip().endswith(ends[0]) else ends[0]
    prefill = report["prefill"]
    pairs = (
        [model.profile.reasoning]
        if model.profile.reasoning
        else toolfmt.formats.get(report["format"]["name"]).reasoning
    )
    for opener, closer in pairs:
        _, found, after = prefill.rpartition(opener)
        started = bool(found) and closer not in after
        if started or (model.profile.reasoning and closer not in after):
            return f"{'' if started else opener}{THOUGHT}{in_reasoning}{DOUBT}{closer}{real}{end}", True
    return f"{real}{end}", False


def read(followed: Followed, answer: str) -> Message:
    parser = followed.parser()
    events = [event for at in range(0, len(answer), _PIECE) for event in parser.feed(answer[at : at + _PIECE])]
    return Message.from_events([*events, *parser.finish()])


def misread(message: Message, stops: Sequence[str]) -> dict[str, str]:
    """The unintended parts of the message."""
    calls = [(call.name, call.arguments) for call in message.tool_calls]
    arguments = []
    for _, text in calls:
        with contextlib.suppress(ValueError):
            arguments.append(json.loads(text))
    content = message.content or ""
    found = {}
    if IN_REASONING in arguments:
        found["draft executed"] = repr(calls)
    if REAL not in arguments:
        found["call lost"] = repr(calls)
    if THOUGHT.strip() in content or DOUBT.strip() in content:
        found["reasoning as content"] = repr(content[:200])
    elif any(stop in content for stop in stops):
        found["end as content"] = repr(content[:200])
    return found


if __name__ == "__main__":
    main()
