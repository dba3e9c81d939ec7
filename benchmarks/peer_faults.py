"""The faults of other projects' tool parsers that are listed in docs/faults.md: whether each still happens.

    python -m benchmarks.peer_faults [--only ID …] [--page FILE]

`peer_faults.jsonl`, beside this file, has a fault a line: the target (a factory of `toolfmt.testing.peers`), the tools,
what an answer is made of, how it arrives, what the parser made of it and why that is wrong. The answer is written here
again by the format's own writer, read by the parser as its project's server does, and what comes out is compared with
what was written down: `as listed`, `mended` where it is now what it should be, else `other`. A project that cannot be
imported is named and passed over; vLLM and SGLang are found installed, or as unpacked wheels in PYTHONPATH
(`runtime_parsers.py` names what their parsers import). `--page` writes docs/faults.md. The exit status is 1 if a fault
of the listed version is not as listed.
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
ARRIVALS = {
    "words": "streamed, a word or a sign a step",
    "once": "streamed, in one step",
    "whole": "whole",
}
"""How an answer arrives, as the page tells it."""


@dataclass(frozen=True)
class Fault:
    """A fault, as a line of the file has it."""

    id: str
    target: str
    version: str
    format: str
    title: str
    tools: list[dict[str, Any]]
    parts: list[Any]
    """What the answer is made of: texts, and lists of calls (name and arguments)."""
    arrives: Arrival
    told: Outcome
    why: str
    variant: str = ""
    cut: int = 0
    """How many characters its end lacks, for an answer that the token limit cut."""
    known: list[str] = field(default_factory=list)
    """Where upstream tells of it."""

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
    def meant(self) -> Outcome:
        """What should have come out. Of an answer that was cut no call is whole."""
        content = "".join(part for part in self.parts if isinstance(part, str))
        calls = [call for part in self.parts if not isinstance(part, str) for call in part]
        return {"content": content, "calls": [] if self.cut else [[name, json.dumps(given)] for name, given in calls]}

    @property
    def project(self) -> str:
        return PROJECTS[self.target.partition(":")[0]]

    def factory(self) -> Factory:
        """Raises `ImportError` where it is made of what the project has, and that is missing."""
        module, _, name = self.target.partition(":")
        factory: Factory = import_module(f"toolfmt.testing.peers.{module}").factories()[name]
        return factory

    def happens(self) -> Outcome:
        """What comes out now."""
        try:
            return outcome(self.factory()(self.tools), self.answer, self.arrives)
        except ImportError:
            raise
        except Exception as error:  # noqa: BLE001  a parser that raises is one of the faults
            return {"raised": type(error).__name__}

    def state(self, now: Outcome) -> str:
        if now == self.told:
            return "as listed"
        return "mended" if same(now, self.meant) else "other"


def _calls(part: Iterable[Sequence[Any]]) -> list[Call]:
    return [(name, arguments) for name, arguments in part]


def outcome(reader: Any, answer: str, arrives: Arrival) -> Outcome:
    """What a reader makes of an answer. A call that no client could execute is among them, as far as it was told."""
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
    """Whether a client has the same in the end: blanks at the ends of the text aside, and the spelling of JSON."""
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


def faults() -> list[Fault]:
    with FILE.open(encoding="utf-8") as lines:  # not `splitlines`, which divides at U+2028 too
        return [Fault(**json.loads(line)) for line in lines]


INTRODUCTION = """\
# Faults found in other projects' tool parsers

Writing a parser for the tool calls of language models is hard: toolfmt's own has had every kind of fault that stands
here, and this list exists because the same tests that found those can be put to any parser. Each entry is an answer as
the family's template or documentation has it, such an answer cut by the token limit, or plain text, that the named
parser, in the named version and in its own server's hands, reads otherwise. It is meant as a help to those who maintain
and use the parsers. Nothing here is about taste (blanks around text are not compared) or about damaged answers.

The answers are written by toolfmt's writer for the format, which gives back byte for byte what the families' templates
render; the sources are named. Each was found by running calls of all kinds through the parser, made as small as it
gets, and checked by hand against the source. "Streamed, a word or a sign a step" hands the text over like a
detokenizer, with special tokens whole; "in one step" is what a server does with several tokens at once (a stream
interval, speculative decoding), before the step of the end-of-sequence token, and is listed only where it changes what
a client gets; "whole" is a request without streaming.

To see them happen, with mlx-lm and transformers installed, vLLM and SGLang installed or unpacked in `PYTHONPATH`:

    python -m benchmarks.peer_faults                    # all
    python -m benchmarks.peer_faults --only ID          # one

To look for more: `toolfmt fuzz toolfmt.testing.peers.for_mlx_lm:json_tools`, and so on for every factory of
`toolfmt.testing.peers.for_mlx_lm`, `for_transformers`, `for_vllm` and `for_sglang`.

llama.cpp is not here. Its parser of answers (`common/chat.cpp`) is C++ that neither `llama-server` (for texts that it
has not generated) nor llama-cpp-python offers; trying it takes a program built against llama.cpp, as its own tests are,
and that was not done.

This page is made of `benchmarks/peer_faults.jsonl` by `python -m benchmarks.peer_faults --page docs/faults.md`.
"""


def page(known: Sequence[Fault]) -> str:
    """docs/faults.md."""
    lines = [INTRODUCTION]
    for module, project in PROJECTS.items():
        of_it = [fault for fault in known if fault.target.startswith(f"{module}:")]
        if not of_it:
            continue
        versions = ", ".join(sorted({fault.version for fault in of_it}))
        lines += [f"## {project} {versions}\n", "| fault | parser | |", "|---|---|---|"]
        for fault in of_it:
            lines.append(f"| [{fault.id}](#{fault.id}) | {parser_of(fault)} | {fault.title} |")
        lines.append("")
        for fault in of_it:
            lines += [*_entry(fault), ""]
    return "\n".join(lines)


def parser_of(fault: Fault) -> str:
    return f"`{fault.factory().parser}`"


def _entry(fault: Fault) -> list[str]:
    variant = f", written {fault.variant}" if fault.variant else ""
    now = fault.told
    came = f"raised `{now['raised']}`" if "raised" in now else _shown(now)
    lines = [
        f"### {fault.id}",
        "",
        f"{fault.title[0].upper()}{fault.title[1:]}. {fault.why}",
        "",
        f"- parser: {parser_of(fault)}, format `{fault.format}`{variant}; {ARRIVALS[fault.arrives]}",
        f"- tools: {_tools(fault.tools)}",
        f"- answer{', cut by the token limit' if fault.cut else ''}: {_code(fault.answer)}",
        f"- came out: {came}",
        f"- should have: {_shown(fault.meant)}",
        f"- source: {'; '.join(fault.written.source)}",
    ]
    if fault.known:
        lines.append(f"- upstream: {', '.join(fault.known)}")
    return lines


def _shown(outcome: Outcome) -> str:
    calls = [
        f"{_code(name) if name else 'a call without a name'} with {_code(arguments) if arguments else 'an empty text'}"
        for name, arguments in outcome["calls"]
    ]
    text = f"the text {_code(outcome['content'])}" if outcome["content"].strip() else ""
    return "; ".join(filter(None, (text, *calls))) or "nothing"


def _tools(tools: Iterable[dict[str, Any]]) -> str:
    shown = []
    for tool in tools:
        function = tool["function"]
        properties = function["parameters"].get("properties", {})
        given = ", ".join(f"{key}: {json.dumps(schema)}" for key, schema in properties.items())
        shown.append(_code(f"{function['name']}({given})"))
    return ", ".join(shown)


def _code(text: str) -> str:
    """A text as inline code; what one cannot see, and a newline, as JSON has it."""
    shown = json.dumps(text, ensure_ascii=False)[1:-1].replace('\\"', '"').replace("\u2028", "\\u2028")
    ticks = "`" * (1 + max((len(run) for run in re.findall(r"`+", shown)), default=0))
    padding = " " if shown.startswith(("`", " ")) or shown.endswith(("`", " ")) else ""
    return f"{ticks}{padding}{shown}{padding}{ticks}"


def main() -> int:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--only", action="append", metavar="ID")
    options.add_argument("--page", type=Path, metavar="FILE")
    given = options.parse_args()
    logging.disable(logging.CRITICAL)
    known = [fault for fault in faults() if not given.only or fault.id in given.only]
    if given.page is not None:
        given.page.write_text(page(known), "utf-8")
        return 0
    failed, missing = False, set[str]()
    for fault in known:
        try:
            now, version = fault.happens(), fault.factory().version
        except ImportError as error:
            if fault.project not in missing:
                print(f"{fault.project} is passed over: {error}")
            missing.add(fault.project)
            continue
        state = fault.state(now)
        failed |= state != "as listed" and version == fault.version
        print(f"{fault.project} {version}  {state:10} {fault.id}")
        if given.only or state == "other":
            print(f"    answer       {fault.answer!r}")
            print(f"    came out     {json.dumps(now, ensure_ascii=False)}")
            print(f"    should have  {json.dumps(fault.meant, ensure_ascii=False)}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
