"""Formats as `response_template`s of transformers: which can be said, and what transformers reads of them.

    python -m benchmarks.response_templates

Needs transformers from 5.23 on (torch is not needed). For every format and variant: whether a template was written and
proven, what it is known not to read, or why there is none. Then the same answers, read by transformers' parser and by
toolfmt's: plain ones, and those that are named as limits. What toolfmt reads otherwise is printed whole: in the formats
of channels a control token of a message is no text, and a recipient stands where a message begins.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator

from toolfmt import parse
from toolfmt.errors import NoResponseTemplate
from toolfmt.formats import Parser, ToolCallFormat, formats
from toolfmt.message import Message
from toolfmt.runtimes.proven_templates import LIMITS, Case, hard_cases, misread, plain_cases, response_template

STOP = "<|end_of_this_turn|>"


def every_format() -> Iterator[ToolCallFormat]:
    for format in formats():
        yield from (format.with_variant(variant) for variant in ("", *format.variants))


def toolfmt_misreads(format: ToolCallFormat, case: Case) -> bool:
    """Whether toolfmt's own parser makes something else of the answer, in one piece or in single characters."""
    parser = Parser(format, tools=case.tools, stop=[STOP])
    events = [event for character in case.answer for event in parser.feed(character)]
    streamed = Message.from_events([*events, *parser.finish()])
    answer = case.answer.removesuffix(STOP)
    return any(_says(message) != _wanted(case) for message in (parse(answer, format, tools=case.tools), streamed))


def _says(message: Message) -> tuple[str, str, list[str]]:
    calls = [json.dumps((call.name, json.loads(call.arguments)), sort_keys=True) for call in message.tool_calls]
    return (message.content or "").strip(), (message.reasoning or "").strip(), calls


def _wanted(case: Case) -> tuple[str, str, list[str]]:
    return case.content, case.reasoning, [json.dumps(call, sort_keys=True) for call in case.calls]


def main() -> None:
    wrong: Counter[tuple[str, str]] = Counter()
    tried: Counter[str] = Counter()
    written, refused = [], []
    for format in every_format():
        name = f"{format.name} ({format.variant})" if format.variant else format.name
        try:
            template = response_template(format, stop=[STOP])
        except NoResponseTemplate as error:
            refused.append((name, str(error).partition(": ")[2]))
            continue
        missed: dict[str, None] = {}
        for kind, cases in (("plain", plain_cases), ("hard", hard_cases)):
            for case in cases(format, [STOP]):
                about = kind if kind == "plain" else case.name
                tried[about] += 1
                if misread(template, case):
                    wrong[about, "transformers"] += 1
                    missed[case.name] = None
                if toolfmt_misreads(format, case):
                    wrong[about, "toolfmt"] += 1
                    print("toolfmt misreads", name, repr(case.answer))
        written.append((name, [limit for limit in LIMITS if limit in missed]))
    for name, limits in written:
        print(f"{name:48} written and proven; not {', '.join(limits)}")
    for name, why in refused:
        print(f"{name:48} refused: {why}")
    alone = [name for name, _ in written if "(" not in name]
    every = len(written) + len(refused)
    print(f"\n{len(alone)} of {len(formats())} formats, with their variants {len(written)} of {every}")
    print(f"\n{'answers':24}{'tried':>8}{'transformers wrong':>20}{'toolfmt wrong':>15}")
    for about in ("plain", *LIMITS):
        print(f"{about:24}{tried[about]:8}{wrong[about, 'transformers']:20}{wrong[about, 'toolfmt']:15}")


if __name__ == "__main__":
    main()
