"""Formats as `response_template`s of transformers: which can be said, and what transformers reads of them.

    python -m benchmarks.response_templates

Needs transformers from 5.23 on (torch is not needed). For every format and variant: whether a template was written and
proven, what it is known not to read, or why there is none. Then the same answers, read by transformers' parser and by
toolfmt's: plain ones, and those that are named as limits. Then the templates that real models declare, read by
transformers as they stand, and by toolfmt as the format that they mean (a template without a field for text loses it
in transformers). What toolfmt reads otherwise is printed whole: in the formats of channels a control token of a
message is no text, and a recipient stands where a message begins.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "support"))

from declared_templates import OWN, REAL
from transformers.cli.serving.utils import _RESPONSE_TEMPLATE_FALLBACKS

from toolfmt import parse
from toolfmt.errors import NoResponseTemplate
from toolfmt.formats import Parser, ToolCallFormat, formats
from toolfmt.formats.declared import from_response_template
from toolfmt.integrations.verified_templates import (
    LIMITS,
    OutputCase,
    hard_cases,
    misread,
    plain_cases,
    response_template,
)
from toolfmt.messages.message import Message

STOP = "<|end_of_this_turn|>"


def every_format() -> Iterator[ToolCallFormat]:
    for format in formats():
        yield from (format.with_variant(variant) for variant in ("", *format.variants))


def toolfmt_misreads(format: ToolCallFormat, case: OutputCase) -> bool:
    """Whether toolfmt's own parser makes something else of the answer, in one piece or in single characters."""
    parser = Parser(format, tools=case.tools, stop=[STOP])
    events = [event for character in case.answer for event in parser.feed(character)]
    streamed = Message.from_events([*events, *parser.finish()])
    answer = case.answer.removesuffix(STOP)
    return any(_says(message) != _wanted(case) for message in (parse(answer, format, tools=case.tools), streamed))


def _says(message: Message) -> tuple[str, str, list[str]]:
    calls = [json.dumps((call.name, json.loads(call.arguments)), sort_keys=True) for call in message.tool_calls]
    return (message.content or "").strip(), (message.reasoning or "").strip(), calls


def _wanted(case: OutputCase) -> tuple[str, str, list[str]]:
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
    print(f"\n{'declared by':40}{'is':12}{'answers':>8}{'transformers wrong':>20}{'toolfmt wrong':>15}")
    for who, template in declared():
        report(who, template)


def declared() -> Iterator[tuple[str, dict[str, Any]]]:
    yield from ((model, template) for model, (_, template) in REAL.items())
    served = _RESPONSE_TEMPLATE_FALLBACKS.items()
    yield from ((f"transformers serve, {types[0]}", template) for types, template in served)
    yield from ((f"composed, {kind}", template) for kind, template in OWN.items())


def report(who: str, template: dict[str, Any]) -> None:
    """One line: what a declared template and the format that it means make of the format's own answers."""
    try:
        format = from_response_template(template)
    except NoResponseTemplate as error:
        print(f"{who:40}{error}")
        return
    cases = [*plain_cases(format), *hard_cases(format)]
    theirs = [case.name for case in cases if misread(template, case)]
    ours = [case.name for case in cases if toolfmt_misreads(format, case)]
    print(f"{who:40}{format.name:12}{len(cases):8}{len(theirs):20}{len(ours):15}  {', '.join(dict.fromkeys(theirs))}")
    if ours:
        print(f"    toolfmt: {', '.join(dict.fromkeys(ours))}")


if __name__ == "__main__":
    main()
