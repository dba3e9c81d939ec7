"""Check whether the bugs of other projects' tool parsers in docs/faults.md still occur.

    python -m benchmarks.peer_faults [--only ID …] [--page FILE]

`peer_faults.jsonl` has one bug per line: the target (a factory of `toolfmt.testing.peers`), the tools, the parts of the
output, how it arrives, the parser's result and why it is wrong. The format's own writer writes the output again, and
the project's parser reads it as in the project's server. The result is `as listed`, `fixed`, or `other`. A project that
cannot be imported is skipped with a message. vLLM and SGLang can be installed, or unpacked wheels in PYTHONPATH
(`runtime_parsers.py` lists what their parsers import). `--page` writes docs/faults.md. The exit status is 1 if a bug of
the listed version is not as listed.
"""

from __future__ import annotations

import argparse
import json
import logging
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, TypeAlias

from toolfmt.formats import Call, ToolCallFormat, get, write
from toolfmt.testing.peers import event_dicts
from toolfmt.testing.peers.claims import Factory

FILE = Path(__file__).with_suffix(".jsonl")
PROJECTS = {
    "for_mlx_lm": "mlx-lm",
    "for_transformers": "transformers",
    "for_vllm": "vLLM",
    "for_sglang": "SGLang",
}
Outcome: TypeAlias = dict[str, Any]
"""`content` and `calls` (pairs of a name and the text of arguments), or `raised`, the name of an exception."""
Arrival: TypeAlias = Literal["words", "once", "whole"]
"""How the output arrives: streamed by words or characters, streamed in one chunk, or whole."""


@dataclass(frozen=True)
class Bug:
    """A bug, as a line of the file has it."""

    id: str
    target: str
    version: str
    format: str
    title: str
    tools: list[dict[str, Any]]
    parts: list[Any]
    """The parts of the output: texts, and lists of calls (name and arguments)."""
    arrives: Arrival
    returned: Outcome
    why: str
    variant: str = ""
    cut: int = 0
    """How many characters its end lacks, for an output that the token limit truncated."""
    known: list[str] = field(default_factory=list)
    """The upstream issue."""

    @property
    def written(self) -> ToolCallFormat:
        return get(self.format).with_variant(self.variant)

    @property
    def answer(self) -> str:
        texts = [
            part if isinstance(part, str) else write(self.written, _calls(part), self.tools) for part in self.parts
        ]
        text = "".join(texts)
        return text[: len(text) - self.cut]

    @property
    def expected(self) -> Outcome:
        """The expected result. In a truncated output no call is whole."""
        content = "".join(part for part in self.parts if isinstance(part, str))
        calls = [call for part in self.parts if not isinstance(part, str) for call in part]
        return {"content": content, "calls": [] if self.cut else [[name, json.dumps(given)] for name, given in calls]}

    @property
    def project(self) -> str:
        return PROJECTS[self.target.partition(":")[0]]

    def factory(self) -> Factory:
        """Raises `ImportError` if it needs the project, and that is missing."""
        module, _, name = self.target.partition(":")
        factory: Factory = import_module(f"toolfmt.testing.peers.{module}").factories()[name]
        return factory

    def happens(self) -> Outcome:
        """The current result."""
        try:
            return outcome(self.factory()(self.tools), self.answer, self.arrives)
        except ImportError:
            raise
        except Exception as error:  # noqa: BLE001  a parser that raises is one of the bugs
            return {"raised": type(error).__name__}

    def state(self, now: Outcome) -> str:
        if now == self.returned:
            return "as listed"
        return "fixed" if same(now, self.expected) else "other"


def _calls(part: Iterable[Sequence[Any]]) -> list[Call]:
    return [(name, arguments) for name, arguments in part]


def outcome(reader: Any, answer: str, arrives: Arrival) -> Outcome:
    """What a parser makes of an output. It includes a call that no client could execute, as far as it was emitted."""
    if not hasattr(reader, "feed"):
        message = reader(answer)
        functions = [call["function"] for call in message["tool_calls"]]
        calls = [[function["name"], function["arguments"]] for function in functions]
        return {"content": message["content"] or "", "calls": calls}
    words = (found[0] for found in re.finditer(r"\w+|(\W)\1*", answer))
    pieces = list(words) if arrives == "words" else [answer]
    events = [event for piece in pieces for event in reader.feed(piece)]
    events += reader.finish()
    content = "".join(event["text"] for event in events if event["type"] == "content")
    return {"content": content, "calls": [list(call) for call in event_dicts.calls_of(events)]}


def same(one: Outcome, other: Outcome) -> bool:
    """Whether a client has the same in the end, ignoring whitespace around the text and the formatting of JSON."""
    return _plain(one) == _plain(other)


def _plain(outcome: Outcome) -> object:
    if "raised" in outcome:
        return outcome
    return " ".join(outcome["content"].split()), [(name, _value(arguments)) for name, arguments in outcome["calls"]]


def _value(arguments: str) -> str:
    try:
        return json.dumps(json.loads(arguments), sort_keys=True)
    except ValueError:
        return arguments


def bugs() -> list[Bug]:
    with FILE.open(encoding="utf-8") as lines:  # not `splitlines`, which divides at U+2028 too
        return [Bug(**json.loads(line)) for line in lines]


INTRODUCTION = """\
# Bugs found in other projects' tool parsers

Each row is a model output that the named parser misreads; the parser runs as in its own server. The output is one that
the chat template renders or the format's documentation shows, plain text, or one that the token limit cut. "One chunk"
means that the server passes on several tokens at once (a stream interval, speculative decoding). toolfmt's own parsers
had every kind of bug in this list.

To run the cases, install mlx-lm and transformers, and install vLLM and SGLang or unpack them in `PYTHONPATH`:

    python -m benchmarks.peer_faults                    # all
    python -m benchmarks.peer_faults --only ID          # one, with its output

[benchmarks/peer_faults.jsonl](../benchmarks/peer_faults.jsonl) has the data, one case per line. [Fuzzing](fuzzing.md)
finds more: `toolfmt dev fuzz toolfmt.testing.peers.for_mlx_lm:json_tools`. The other parsers are in `for_mlx_lm`,
`for_transformers`, `for_vllm` and `for_sglang`. llama.cpp is not listed, because `llama-server` and llama-cpp-python
cannot parse a given text.

This page is generated by `python -m benchmarks.peer_faults --page docs/faults.md`.
"""


def page(known: Sequence[Bug]) -> str:
    """Return docs/faults.md. Each row has an anchor, to which the pages of the formats link."""
    lines = [INTRODUCTION]
    for module, project in PROJECTS.items():
        of_it = [bug for bug in known if bug.target.startswith(f"{module}:")]
        if not of_it:
            continue
        versions = ", ".join(sorted({bug.version for bug in of_it}))
        lines += [f"## {project} {versions}\n", "| ID | parser | format | what happens |", "|---|---|---|---|"]
        lines += [*map(_row, of_it), ""]
    return "\n".join(lines)


def _row(bug: Bug) -> str:
    upstream = "".join(f"; see {known}" for known in bug.known)
    parser = bug.factory().parser
    return f'| <a id="{bug.id}"></a>{bug.id} | `{parser}` | {bug.format} | {bug.title}{upstream} |'


def main() -> int:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--only", action="append", metavar="ID")
    options.add_argument("--page", type=Path, metavar="FILE")
    given = options.parse_args()
    logging.disable(logging.CRITICAL)
    known = [bug for bug in bugs() if not given.only or bug.id in given.only]
    if given.page is not None:
        given.page.write_text(page(known), "utf-8")
        return 0
    failed, missing = False, set[str]()
    for bug in known:
        try:
            now, version = bug.happens(), bug.factory().version
        except ImportError as error:
            if bug.project not in missing:
                print(f"{bug.project} is passed over: {error}")
            missing.add(bug.project)
            continue
        state = bug.state(now)
        failed |= state != "as listed" and version == bug.version
        print(f"{bug.project} {version}  {state:10} {bug.id}")
        if given.only or state == "other":
            print(f"    output    {bug.answer!r}")
            print(f"    returned  {json.dumps(now, ensure_ascii=False)}")
            print(f"    expected  {json.dumps(bug.expected, ensure_ascii=False)}")
            print(f"    reason    {bug.why}")
            print(f"    source    {'; '.join(bug.written.source)}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
