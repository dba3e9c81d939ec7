"""Count the outputs that each runtime's own parsers and toolfmt parse correctly, in fourteen situations.

    python -m benchmarks.situations [--format NAME …] [--wrong] [--json FILE]

The format's own writer writes each output (`benchmarks.runtime_parsers`). It is parsed in chunks of four characters and
whole. A result is correct if both give the names, the arguments with their types, and the surrounding text, ignoring
whitespace. Other runtimes are tested on the formats that they have a parser for. If there are several parsers or
variants, the pair with the most correct results counts. toolfmt is tested on every format and variant. What the
format's writer rejects is left out for all. Truncated outputs are not included: the correct result depends on the
server's stop reason, which `python -m benchmarks.runtime_parsers` simulates.
"""

from __future__ import annotations

import argparse
import json
import logging
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from benchmarks import peer_reading
from benchmarks.peer_reading import Output, PeerParser
from benchmarks.runtime_parsers import TOOLS, Answer, answers_of
from benchmarks.runtime_reading import Output as ClientOutput
from toolfmt.formats import Parser, ToolCallFormat, formats, get
from toolfmt.messages.events import Event
from toolfmt.messages.message import Message

PIECE = 4
Tried: TypeAlias = dict[str, str]
"""By title of an output, the actual result; empty if it was right."""
Way: TypeAlias = Callable[[str], Output]


def tried(answers: Iterable[Answer], ways: Sequence[Way]) -> Tried:
    return {answer.title: next(filter(None, (wrong(answer, way) for way in ways)), "") for answer in answers}


def wrong(answer: Answer, way: Way) -> str:
    try:
        output = way(answer.text)
    except Exception as error:  # noqa: BLE001  a parser that raises has read nothing
        return f"raised {error!r}"
    return "" if answer.right(ClientOutput(output.content, output.calls)) else f"{output.content!r} {output.calls}"


def pieces(text: str) -> list[str]:
    return [text[at : at + PIECE] for at in range(0, len(text), PIECE)]


def ways_of(parser: PeerParser) -> list[Way]:
    return [lambda text: parser.stream(pieces(text), TOOLS), lambda text: parser.read(text, TOOLS)]


def our_ways(format: ToolCallFormat) -> list[Way]:
    def read(parts: list[str]) -> Output:
        parser = Parser(format, tools=TOOLS)
        events: list[Event] = [event for part in parts for event in parser.feed(part)]
        message = Message.from_events([*events, *parser.finish()])
        return Output(message.content or "", [(call.name, call.arguments) for call in message.tool_calls])

    return [lambda text: read(pieces(text)), lambda text: read([text])]


def uncut_answers(format: ToolCallFormat) -> list[Answer]:
    return [answer for answer in answers_of(format) if not answer.cut]


def measured(chosen: Sequence[ToolCallFormat]) -> dict[str, dict[str, Tried]]:
    """By runtime and format (for toolfmt, format and way of writing) the results of the outputs."""
    answers = {
        (format.name, variant): uncut_answers(format.with_variant(variant))
        for format in chosen
        for variant in ("", *format.variants)
    }
    ours = {f"{name} {way}".strip(): tried(group, our_ways(get(name))) for (name, way), group in answers.items()}
    by_runtime = {"toolfmt": ours}
    for peer in peer_reading.installed():
        by_runtime[peer.name] = {}
        for format in chosen:
            pairs = [
                tried(answers[format.name, way], ways_of(parser))
                for parser in peer.parsers(format)
                for way in ("", *format.variants)
            ]
            if pairs:
                by_runtime[peer.name][format.name] = min(pairs, key=lambda pair: sum(map(bool, pair.values())))
    return by_runtime


def summary(by_runtime: dict[str, dict[str, Tried]]) -> dict[str, Any]:
    """The figures, as they are written to a file: how many outputs were read, and how many were right."""
    titles = list(dict.fromkeys(title for results in by_runtime["toolfmt"].values() for title in results))
    return {
        "versions": {peer.name: peer.version for peer in peer_reading.installed()},
        "formats": {name: len(rows) for name, rows in by_runtime.items()},
        "table": [
            {"row": title, **{name: _counted(rows, title) for name, rows in by_runtime.items()}} for title in titles
        ],
    }


def _counted(rows: dict[str, Tried], title: str) -> dict[str, int]:
    results = [row[title] for row in rows.values() if title in row]
    return {"asked": len(results), "right": results.count("")}


def report(figures: dict[str, Any]) -> None:
    names = list(figures["formats"])
    print(f"{'correct results':34}" + "".join(f"{name:>14}" for name in names))
    for row in figures["table"]:
        print(f"{row['row']:34}" + "".join(f"{row[name]['right']:>6} of{row[name]['asked']:>5}" for name in names))
    print(f"{'formats':34}" + "".join(f"{figures['formats'][name]:>14}" for name in names))


def main() -> None:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    arguments.add_argument("--format", action="append", metavar="NAME", help="only this format; repeatable")
    arguments.add_argument("--wrong", action="store_true", help="show the actual result")
    arguments.add_argument("--json", type=Path, metavar="FILE", help="also write the figures to FILE")
    options = arguments.parse_args()
    logging.disable(logging.CRITICAL)
    by_runtime = measured([get(name) for name in options.format] if options.format else list(formats()))
    figures = summary(by_runtime)
    report(figures)
    for runtime, rows in by_runtime.items() if options.wrong else ():
        for format, results in rows.items():
            for title, instead in results.items():
                if instead:
                    print(f"{runtime} {format}, {title}: {instead[:300]}")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
