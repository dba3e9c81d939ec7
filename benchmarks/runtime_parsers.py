r"""Compare the tool parsers of vLLM and SGLang with toolfmt's on the same outputs, used as in their servers.

    python -m benchmarks.runtime_parsers --vllm DIR --sglang DIR [--format NAME …] [--wrong]

DIR is an unpacked wheel (`unzip vllm-0.33.0-*.whl -d DIR`); nothing in it is compiled or installed. The imported
modules of the two packages need torch (the CPU build is enough) and

    pip install transformers openai fastapi pydantic msgspec orjson cachetools cbor2 cloudpickle psutil pyzmq \
        pybase64 py-cpuinfo prometheus_client partial-json-parser uvloop tiktoken openai_harmony regex ijson \
        pydantic_extra_types pycountry cohere_melody triton ipython \
        aiohttp pillow
    pip install --no-deps mistral_common xgrammar==0.2.8 apache-tvm-ffi

For every format that a runtime has a parser for, the format's own writer writes an output. A tokenizer that has the
markers as tokens splits it. The runtime's parser and toolfmt's parse it as a stream, one token per step, and as a whole
(`runtime_reading.py` implements this). If there are several parsers or variants, the pair with the most correct results
of the runtime's parser is shown.

A result is correct if it contains the names, the arguments with their types, and the surrounding text, ignoring
whitespace. For a truncated output, it must contain no call that could be executed; for prose that names a marker, it
must be the prose. What the format's writer rejects is not compared. A parser that cannot be created is named and
skipped. The exit status is 1 if toolfmt's parsers are wrong anywhere.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

from benchmarks.runtime_reading import (
    Output,
    sglang_streamed,
    sglang_whole,
    tokenizer_for,
    tokens_of,
    vllm_streamed,
    vllm_whole,
)
from toolfmt.errors import CannotWrite
from toolfmt.formats import Call, ToolCallFormat, formats, write
from toolfmt.testing.peers import for_vllm
from toolfmt.testing.peers.claims import natives_of

Part: TypeAlias = str | list[Call]


def _tool(name: str, **types: str) -> dict[str, Any]:
    properties = {name: {"type": type} for name, type in types.items()}
    function = {"name": name, "description": "It does.", "parameters": {"type": "object", "properties": properties}}
    return {"type": "function", "function": function}


TOOLS = [
    _tool("get_weather", city="string", days="integer", detailed="boolean"),
    _tool("write_file", path="string", text="string"),
    _tool("set_options", options="object", tags="array", factor="number"),
    _tool("get_time"),
]
PARIS: Call = ("get_weather", {"city": "Paris, France", "days": 2})
OSLO: Call = ("get_weather", {"city": "Oslo", "days": 5})
CODE = 'def f(x):\n    if x < 1:\n        return {"a": [x, "}"]}\n'


@dataclass(frozen=True)
class Answer:
    """An output of a model, and the result that a client should get; no calls for a truncated output."""

    title: str
    text: str
    content: str = ""
    calls: tuple[Call, ...] = ()
    cut: bool = False

    def right(self, output: Output) -> bool:
        if self.cut:
            return not any(_is_object(arguments) for _, arguments in output.calls)
        if len(output.calls) != len(self.calls) or " ".join(output.content.split()) != self.content:
            return False
        return all(map(_is_call, output.calls, self.calls))


def _is_object(arguments: str) -> bool:
    try:
        return isinstance(json.loads(arguments), dict)
    except ValueError:
        return False


def _is_call(call: tuple[str, str], expected: Call) -> bool:
    name, arguments = call
    try:
        same = json.dumps(json.loads(arguments), sort_keys=True) == json.dumps(expected[1], sort_keys=True)
    except (TypeError, ValueError):
        return False
    return same and name == expected[0]


def answers_of(format: ToolCallFormat) -> Iterator[Answer]:
    """The outputs that the format can represent."""
    closers = " ".join((*format.engine.inner.closers, *format.closers))
    whole: dict[str, list[Part]] = {
        "one call": [[PARIS]],
        "no arguments": [[("get_time", {})]],
        "an object and a list": [[("set_options", {"options": {"a": {"b": [1, None]}}, "tags": ["x", "y"]})]],
        "not ASCII": [[("get_weather", {"city": "Zürich 🌧 東京"})]],
        "two calls": [[PARIS, OSLO]],
        "text before a call": ["Let me see.\n\n", [PARIS]],
        "text between calls": ["First one.\n\n", [PARIS], "\n\nNow the other.\n", [OSLO]],
        "text after a call": [[PARIS], "\n\nThat is all."],
        "braces and quotes in a string": [[("write_file", {"path": "a", "text": '"}]}\' {\\ ["'})]],
        "end markers in a string": [[("write_file", {"path": "a", "text": f"print({closers!r})"})]],
        "strings like numbers": [[("write_file", {"path": "5", "text": "true"})]],
        "numbers and booleans": [[("get_weather", {"days": 3, "detailed": False}), ("set_options", {"factor": 2.5})]],
        "indented code": [[("write_file", {"path": "a.py", "text": CODE})]],
    }
    for title, parts in whole.items():
        try:
            yield _answer(format, title, parts)
        except CannotWrite:
            continue
    one = _answer(format, "", [[PARIS]]).text
    yield Answer("cut in a value", one[: one.index("Paris") + 3], cut=True)
    yield Answer("cut between arguments", one[: one.index("days")], cut=True)
    prose = f"Models write `{next(iter(format.openers), 'get_time')}` there. No call is needed."
    yield Answer("a marker in prose", prose, " ".join(prose.split()))


def _answer(format: ToolCallFormat, title: str, parts: Iterable[Part]) -> Answer:
    parts = list(parts)
    text = "".join(part if isinstance(part, str) else write(format, part, tools=TOOLS) for part in parts)
    content = " ".join(" ".join(part.split()) for part in parts if isinstance(part, str))
    return Answer(title, text, content, tuple(call for part in parts if not isinstance(part, str) for call in part))


Read: TypeAlias = Callable[[str, Answer], Output]


def readings(runtime: str, tokenizer: Any) -> dict[str, Read]:
    """The ways in which a runtime reads an output, by name of a parser."""
    if runtime == "vLLM":
        return {
            "stream": lambda name, answer: vllm_streamed(
                name, tokenizer, tokens_of(tokenizer, answer.text), TOOLS, cut=answer.cut
            ),
            "whole": lambda name, answer: vllm_whole(name, tokenizer, tokens_of(tokenizer, answer.text), TOOLS),
        }
    return {
        "stream": lambda name, answer: sglang_streamed(name, tokenizer, tokens_of(tokenizer, answer.text), TOOLS),
        "whole": lambda name, answer: sglang_whole(name, tokenizer, tokens_of(tokenizer, answer.text), TOOLS),
    }


Wrong: TypeAlias = dict[tuple[str, str], str]
"""The actual result, by the way of reading and the title of the output."""


def wrong_of(name: str, reads: dict[str, Read], answers: Sequence[Answer]) -> Wrong:
    wrong: Wrong = {}
    for way, read in reads.items():
        for answer in answers:
            try:
                output = read(name, answer)
            except Exception as error:  # noqa: BLE001  a parser that raises has read nothing
                wrong[way, answer.title] = f"raised {error!r}"
                continue
            if not answer.right(output):
                wrong[way, answer.title] = f"{output.content!r} {output.calls}"
    return wrong


@dataclass(frozen=True)
class Row:
    """A format in a runtime: the outputs, and the wrong results of the runtime's parser and of toolfmt's."""

    format: str
    native: str
    answers: Sequence[Answer]
    native_wrong: Wrong
    wrong: Wrong


def compared(runtime: str, format: ToolCallFormat, natives: Sequence[str]) -> Row | None:
    """The best result of the runtime's parsers for the format, and toolfmt's next to it; None if none can be made."""
    rows = []
    missing: dict[str, str] = {}
    for variant in ("", *format.variants):
        answers = list(answers_of(format.with_variant(variant)))
        reads = readings(runtime, tokenizer_for([answer.text for answer in answers], TOOLS))
        ours = wrong_of(f"toolfmt_{format.name}_streamed", reads, answers)
        for name in natives:
            try:
                reads["whole"](name, Answer("", ""))
            except Exception as error:  # noqa: BLE001  whatever it lacks, it is reported
                missing[name] = _first(error)
            else:
                rows.append(Row(format.name, name, answers, wrong_of(name, reads, answers), ours))
    for name, why in missing.items():
        print(f"{runtime}'s {name} is skipped: {why}")
    return min(rows, key=lambda row: len(row.native_wrong), default=None)


def _first(error: BaseException) -> str:
    """What was raised first of what raised each other."""
    while error.__cause__ is not None:
        error = error.__cause__
    return " ".join(str(error).split())[:200]


def begin(runtime: str, where: Path) -> None:
    """Make a package importable, with toolfmt's parsers as a user gets them into it."""
    sys.path.insert(0, str(where))
    if runtime == "vLLM":
        for_vllm.ready()
        manager = import_module("vllm.tool_parsers.abstract_tool_parser").ToolParserManager
        manager.import_tool_parser("toolfmt.integrations.vllm")
    else:
        import_module("toolfmt.integrations.sglang").register()


def shown(runtime: str, rows: Sequence[Row]) -> str:
    lines = [
        f"\n{runtime}: outputs parsed incorrectly, as a stream and whole\n",
        f"{'format':18}{'its parser':18}{'of':>4}{'stream':>8}{'whole':>7}   {'toolfmt: stream':>15}{'whole':>7}",
    ]
    for row in rows:
        own, ours = (
            [sum(read == way for read, _ in wrong) for way in ("stream", "whole")]
            for wrong in (row.native_wrong, row.wrong)
        )
        lines.append(
            f"{row.format:18}{row.native:18}{len(row.answers):4}{own[0]:8}{own[1]:7}   {ours[0]:15}{ours[1]:7}"
        )
    total = sum(len(row.answers) for row in rows)
    totals = [
        sum(read == way for row in rows for read, _ in getattr(row, which))
        for which in ("native_wrong", "wrong")
        for way in ("stream", "whole")
    ]
    lines.append(f"{'all':36}{total:4}{totals[0]:8}{totals[1]:7}   {totals[2]:15}{totals[3]:7}")
    lines += [f"\n{runtime}: formats in which an output is parsed incorrectly\n"]
    for title in dict.fromkeys(answer.title for row in rows for answer in row.answers):
        having = [row for row in rows if any(answer.title == title for answer in row.answers)]
        counts = [
            sum((way, title) in getattr(row, which) for row in having)
            for which in ("native_wrong", "wrong")
            for way in ("stream", "whole")
        ]
        lines.append(f"{title:36}{len(having):4}{counts[0]:8}{counts[1]:7}   {counts[2]:15}{counts[3]:7}")
    return "\n".join(lines)


def main() -> int:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--vllm", type=Path, metavar="DIR")
    options.add_argument("--sglang", type=Path, metavar="DIR")
    options.add_argument("--format", action="append", metavar="NAME")
    options.add_argument("--wrong", action="store_true", help="show the actual result")
    given = options.parse_args()
    logging.disable(logging.CRITICAL)
    failed = False
    for runtime, where in (("vLLM", given.vllm), ("SGLang", given.sglang)):
        if where is None:
            continue
        begin(runtime, where)
        chosen = [format for format in formats() if not given.format or format.name in given.format]
        known = [(format, natives_of(format, runtime)) for format in chosen]
        rows = [row for format, natives in known if natives and (row := compared(runtime, format, natives))]
        print(shown(runtime, rows))
        failed |= any(row.wrong for row in rows)
        for row in rows if given.wrong else ():
            for name, wrong in ((row.native, row.native_wrong), (f"toolfmt_{row.format}_streamed", row.wrong)):
                for (way, title), output in wrong.items():
                    print(f"{runtime} {row.format} {name}, {way}, {title}: {output[:300]}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
