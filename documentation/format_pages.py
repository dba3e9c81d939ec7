"""The pages of the formats: an example call, the models and runtimes that use the format, the tolerances. All of it is
generated: the examples by the formats' own writer, the events by the parser, the tolerances from the cases of the
corpus.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from documentation.markdown import code, indented, inline, literal, prose, span, spans, table
from toolfmt.errors import CannotWrite
from toolfmt.formats import TOLERANCES, Parser, ToolCallFormat, formats, write
from toolfmt.formats.prompting.tool_descriptions import prose as told_in_words
from toolfmt.formats.tolerances import kind_of
from toolfmt.formats.values.layout import Call
from toolfmt.testing.corpus import Case, cases

_BUGS = Path(__file__).parents[1] / "benchmarks" / "peer_faults.jsonl"
_PEERS = {"for_mlx_lm": "mlx-lm", "for_transformers": "transformers", "for_vllm": "vLLM", "for_sglang": "SGLang"}
"""What the modules of `toolfmt.testing.peers` serve, as people write it."""
_WHITESPACE = re.compile(r"[^\S\n]+")
"""Start markers that differ only in the kind of their whitespace are shown once."""
_STEP = 12
"""Characters per chunk of the output whose events are shown: about a delta of three tokens."""
_NOT_SEARCHED = "{ data-search-exclude }"
"""After the heading, the content that all pages share: the search index is loaded with every page."""
_TOOLS: list[dict[str, Any]] = [
    {
        "name": "get_weather",
        "description": "Get the weather of a city.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
            "required": ["city"],
        },
    },
    {
        "name": "book_room",
        "description": "Book a room in a hotel.",
        "parameters": {
            "type": "object",
            "properties": {
                "hotel": {"type": "string"},
                "nights": {"type": "integer"},
                "price": {"type": "number"},
                "breakfast": {"type": "boolean"},
                "guests": {"type": "array", "items": {"type": "string"}},
                "address": {"type": "object", "properties": {"city": {"type": "string"}}},
                "until": {"type": ["string", "null"]},
            },
            "required": ["hotel"],
        },
    },
]
_ONE: list[Call] = [("get_weather", {"city": "Oslo", "days": 3})]
_TWO: list[Call] = [*_ONE, ("get_weather", {"city": "Rome"})]
_TYPES: list[Call] = [
    (
        "book_room",
        {
            "hotel": 'The "Grand"',
            "nights": 2,
            "price": 99.5,
            "breakfast": True,
            "guests": ["Ada", "Lin"],
            "address": {"city": "Oslo"},
            "until": None,
        },
    )
]


def pages() -> dict[str, str]:
    """Every page of a format, and the table of all, by their paths in the site."""
    bugs = _bugs_by_format()
    listed = {f"reference/formats/{format.name}.md": _page(format, bugs.get(format.name, [])) for format in formats()}
    return {"reference/formats.md": _overview(formats()), **listed}


def _overview(listed: Sequence[ToolCallFormat]) -> str:
    rows = [
        (
            f"[{span(format.name)}](formats/{format.name}.md)",
            literal(", ".join(format.families)),
            "<br>".join(f"{literal(name)} {span(parser.name)}" for name, parser in _parsers(format)),
        )
        for format in listed
    ]
    return (
        "# Formats\n\n"
        f"The {len(listed)} formats that toolfmt reads and writes, the families of models that write them, and what "
        "other runtimes call their parser. A page for each shows a call, the tolerances, and the known bugs of "
        "the parsers. `toolfmt inspect` finds the format of a model; a model type alone is not enough.\n\n"
    ) + table(("format", "families", "parsers of runtimes"), rows)


def _page(format: ToolCallFormat, bugs: Sequence[Mapping[str, Any]]) -> str:
    sections = (
        _facts(format),
        _examples(format),
        _variants(format),
        _events(format),
        _tolerances(format),
        _runtimes(format, bugs),
        _in_words(format),
        _sources(format),
    )
    head = f"---\ntitle: {format.name}\n---\n\n# {literal(format.name)}\n\n{prose(format.page.strip())}\n"
    return "\n".join([head, *filter(None, sections)])


def _facts(format: ToolCallFormat) -> str:
    pairs = (f"{span(opener)} … {span(closer)}" for opener, closer in format.reasoning)
    rows = [
        ("families", literal(", ".join(format.families))),
        ("model types", spans(format.model_types)),
        ("other names", spans(format.aliases)),
        ("opens with", spans(dict.fromkeys(_WHITESPACE.sub(" ", opener) for opener in format.openers))),
        ("closes with", spans(format.closers)),
        ("reasoning", ", ".join(pairs)),
    ]
    return table(("", ""), [(f"**{name}**", value) for name, value in rows if value])


def _examples(format: ToolCallFormat) -> str:
    what = "Written by toolfmt; identical to what the families' templates render."
    given = f"The arguments are {_as_json(_TYPES[0][1])}."
    return (
        f"## How a call looks\n\n{what}\n\n### One call\n\n{_written(format, _ONE)}\n"
        f"### Two calls\n\n{_written(format, _TWO)}\n"
        f"### Values of every type\n\n{given}\n\n{_written(format, _TYPES)}"
    )


def _written(format: ToolCallFormat, calls: Sequence[Call]) -> str:
    try:
        text = write(format, calls, tools=_TOOLS)
    except CannotWrite as refused:
        return f"The format cannot carry it: {inline(str(refused))}\n"
    return code(text, "text" if "\n" in text else "{ .text .wrapped }")  # one line, of which nothing is out of sight


def _as_json(value: object) -> str:
    return span(json.dumps(value, ensure_ascii=False))


def _variants(format: ToolCallFormat) -> str:
    if not format.variants:
        return ""
    shown = [f"### {literal(name)}\n\n{_written(format.with_variant(name), _TWO)}" for name in format.variants]
    what = "Other ways in which templates of these families write the same two calls. All of them are read."
    return "\n".join(["## Variants\n", what, "", *shown])


def _events(format: ToolCallFormat) -> str:
    text = write(format, _ONE, tools=_TOOLS)
    parser = Parser(format, tools=_TOOLS)
    rows = []
    for begin in range(0, len(text), _STEP):
        piece = text[begin : begin + _STEP]
        rows.append((span(piece), "<br>".join(_as_json(event.to_dict()) for event in parser.feed(piece))))
    rows.append(("*the end*", "<br>".join(_as_json(event.to_dict()) for event in parser.finish())))
    what = f"The first call above, {_STEP} characters at a time, and the events of each chunk (`⏎` is a newline)."
    return f"## As it streams {_NOT_SEARCHED}\n\n{what}\n\n{table(('fed', 'events'), rows)}"


def _tolerances(format: ToolCallFormat) -> str:
    shown = dict(_tolerated(format))
    if not shown:
        return ""
    what = (
        "Each is listed in `tolerated` at the end of the call; strict mode rejects the call instead. The outputs are "
        "cases of the corpus, one for each tolerance; the format may have more."
    )
    parts = [
        f'??? quote "{name}: {inline(TOLERANCES[kind_of(name)])}"\n\n{indented(_case(case))}\n'
        for name, case in sorted(shown.items())
    ]
    names = "What the names mean: [tolerances](../tolerances.md)."
    return "\n".join([f"## Tolerances {_NOT_SEARCHED}\n", f"{what} {names}\n", *parts])


def _tolerated(format: ToolCallFormat) -> Iterator[tuple[str, Case]]:
    """The shortest case of the corpus for each tolerance, by its name."""
    for case in sorted(cases(format.name), key=lambda case: len(case.text), reverse=True):
        for call in case.calls:
            for name in call.tolerated or ():
                yield name, case


def _case(case: Case) -> str:
    calls = [call for call in case.calls if call.reason is None]
    listed = "\n".join(f"{call.name} {call.arguments if call.arguments is not None else '…'}" for call in calls)
    seen = f"Observed in: {literal(case.origin)}." if case.origin else "Synthetic."
    return (
        f"{inline(case.title[0].upper() + case.title[1:])}. {seen}\n\n{code(case.text)}\nis parsed as\n\n{code(listed)}"
    )


def _runtimes(format: ToolCallFormat, bugs: Sequence[Mapping[str, Any]]) -> str:
    rows = [(literal(name), span(parser.name), literal(parser.aside)) for name, parser in _parsers(format)]
    listed = table(("runtime", "parser", "when, and what it lacks"), rows)
    if not rows:
        listed = "No other runtime is known to have a parser for it.\n"
    known = [
        f"- {_PEERS[bug['target'].partition(':')[0]]} {literal(bug['version'])}, "
        f"{span(bug['target'].partition(':')[2])}: [{inline(bug['title'])}](../../faults.md#{bug['id']})"
        for bug in bugs
    ]
    what = "Outputs of the format that one of these parsers reads differently, found by running the parsers:"
    return "\n".join(["## Runtimes\n", listed, *([f"### Known bugs\n\n{what}\n", *known, ""] if known else [])])


def _parsers(format: ToolCallFormat) -> list[tuple[str, Any]]:
    return [(name, format.runtime_parser(name)) for name in sorted(format.runtime_parsers, key=str.lower)]


def _in_words(format: ToolCallFormat) -> str:
    what = (
        "If a template drops tools, `render` describes them in the system message. For the first tool above, this is "
        "`toolfmt.formats.prose(format, tools)`:"
    )
    described = code(told_in_words(format, _TOOLS[:1]), "{ .text .wrapped }")
    return f"## Described in the system prompt {_NOT_SEARCHED}\n\n{what}\n\n{described}"


def _sources(format: ToolCallFormat) -> str:
    return "## Sources\n\n" + "".join(f"- {literal(source)}\n" for source in format.source) if format.source else ""


def _bugs_by_format() -> dict[str, list[dict[str, Any]]]:
    """The bugs of others' parsers that docs/faults.md lists, by the format of the output."""
    found: dict[str, list[dict[str, Any]]] = {}
    for line in filter(None, _BUGS.read_text(encoding="utf-8").split("\n")):
        bug = json.loads(line)
        found.setdefault(bug["format"], []).append(bug)
    return found
