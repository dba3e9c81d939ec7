"""Generate the module of a new format: the record in Python, with `TO FILL` for everything that a person must write."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from toolfmt.cli.scaffolding.python_source import WIDTH, Imports, changed, columns, import_lines, keyword, pattern
from toolfmt.formats import ToolCallFormat, for_model_type, formats, write
from toolfmt.formats.engines.alternatives import Choice
from toolfmt.formats.engines.engine import Engine
from toolfmt.testing.corpus import TO_FILL

_RECORD = ("toolfmt.formats.format", "ToolCallFormat")
_SEPARATE_FIELDS = frozenset(
    {"name", "engine", "page", "instructions", "source", "aliases", "families", "model_types", "signatures"}
    | {"runtime_parsers", "variants"}
)
"""Fields that are generated differently, or that belong to another format."""
_EXAMPLE = [("get_weather", {"city": "Paris", "days": 3})]
_DESCRIBED = [
    {
        "name": "get_weather",
        "parameters": {"properties": {"city": {"type": "string"}, "days": {"type": "integer"}}},
    }
]
_SHORTEST_MARK = 4


@dataclass(frozen=True)
class Knowledge:
    """What is known about a new format at first.

    `made` is the derived format. If there is none, it is the nearest known format, `why_not` is a sentence with the
    reason, and the known format's engine is used until it is replaced. `rendered` is a call as the template renders it.
    """

    name: str
    made: ToolCallFormat
    sibling: str
    why_not: str = ""
    rendered: str = ""
    template: str = ""
    model_types: Sequence[str] = ()


def module_text(known: Knowledge) -> str:
    """Return the text of the module in `toolfmt/formats/known`."""
    imports: Imports = {_RECORD[0]: {_RECORD[1]}}
    engine = [*_why(known), keyword("engine", known.made.engine, imports, 1) + ","]
    lines = [
        f'name="{known.name}",',
        *engine,
        'page=__doc__ or "",',
        _to_fill("instructions", "the instructions for a model to write such a call; an example is appended."),
        _to_fill_row("source", "where calls are documented: model card, chat template, specification"),
        _to_fill_row("families", "who writes it, as people call these models"),
        *_model_types(known, imports),
        *_signatures(known),
        *_comment(
            f'{TO_FILL}: runtime_parsers={{"vLLM": "…", "SGLang": "…", "mlx-lm": "…", "llama.cpp": "auto"}}, what '
            "each runtime calls its parser for it; leave it out if none has one."
        ),
        *_else(known, imports),
    ]
    body = "".join(f"    {line}\n" for line in lines)
    return f"{_docstring(known)}\n{import_lines(imports)}\nFORMAT = ToolCallFormat(\n{body})\n"


def _docstring(known: Knowledge) -> str:
    example = known.rendered if known.why_not else write(known.made, _EXAMPLE, _DESCRIBED)
    lines = _escaped(example.strip("\n") or f"{TO_FILL}: a call as the model writes it.").split("\n")
    shown = [piece for line in lines for piece in _pieces(line)]
    first = f"{TO_FILL}: one line: how a call is written."
    rest = f"{TO_FILL}: what is unusual about it, which models write it differently, what else is read."
    if len(shown) > len(lines):
        rest = f"(without the line breaks). {rest}"
    example = "\n".join(f"    {line}".rstrip() for line in shown)
    return f'"""{first}\n\n{example}\n\n{rest}\n"""\n'


def _pieces(line: str) -> list[str]:
    """Return a line of the docstring, wrapped if it is too long."""
    if columns(line) <= WIDTH - 8:
        return [line]
    wide = columns(line) - len(line)
    return textwrap.wrap(line, WIDTH - 8 - min(wide, 60), break_on_hyphens=False, drop_whitespace=False)


def _escaped(text: str) -> str:
    """Return text escaped for a docstring."""
    escaped = text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    return "".join(char if char.isprintable() or char == "\n" else repr(char)[1:-1] for char in escaped)


def _why(known: Knowledge) -> list[str]:
    """Return comments on why the engine is that of another format."""
    if not known.why_not:
        return []
    return [
        *_comment(f"No format was derived from the template: {known.why_not.rstrip('.')}."),
        *_comment(
            f"{TO_FILL}: the engine and its markers. These are those of {known.sibling}, whose calls are most similar. "
            f"{_home(known.made.engine)} documents the parameters; docs/design/parsing.md lists the other engines. If "
            "none can read these calls, extend one first."
        ),
    ]


def _home(engine: Engine) -> str:
    """Return the module of an engine, or of the one that writes if there are several."""
    first = engine.engines[0] if isinstance(engine, Choice) else engine
    return type(first).__module__.replace(".", "/") + ".py"


def _comment(text: str) -> list[str]:
    printable = "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)
    wide = columns(printable) - len(printable)
    return [f"# {line}" for line in textwrap.wrap(printable, 110 - min(wide, 55), break_on_hyphens=False)]


def _to_fill(field: str, what: str) -> str:
    return f'{field}="{TO_FILL}: {what}",'


def _to_fill_row(field: str, what: str) -> str:
    return f'{field}=("{TO_FILL}: {what}",),'


def _model_types(known: Knowledge, imports: Imports) -> list[str]:
    free = tuple(one for one in known.model_types if for_model_type(one) is None)
    if free:
        return [keyword("model_types", free, imports, 1) + ","]
    what = 'model_types=("…",), each `model_type` of config.json that speaks it; where there is none, nothing.'
    return _comment(f"{TO_FILL}: {what}")


def _signatures(known: Knowledge) -> list[str]:
    found = signature(known)
    if found:
        return [f"signatures=({pattern(found)},),"]
    return [_to_fill_row("signatures", "a regular expression that only templates of this format match")]


def signature(known: Knowledge) -> str:
    """Return a pattern that identifies this format in the template's source.

    It is the longest start marker (else an end marker) that occurs in the source but not in a call of another format.
    Empty if there is none, or if the markers are another format's.
    """
    if known.why_not:
        return ""
    engine = known.made.engine
    for marks in ((*engine.openers, *engine.inner.openers), (*engine.closers, *engine.inner.closers)):
        there = [mark for mark in marks if len(mark.strip()) >= _SHORTEST_MARK and mark in known.template]
        own = [mark for mark in there if not any(mark in other for other in _written_by_others())]
        if own:
            return re.escape(max(sorted(own), key=len)).replace("\\ ", " ")
    return ""


def _written_by_others() -> Iterator[str]:
    """Yield a call in each variant of the known formats."""
    for format in formats():
        for variant in ("", *format.variants):
            yield write(format.with_variant(variant), _EXAMPLE, _DESCRIBED)


def _else(known: Knowledge, imports: Imports) -> list[str]:
    """Return the other fields of the derived format, unchanged."""
    if known.why_not:
        return []
    fields: list[tuple[str, Any]] = changed(known.made, lambda name: name in _SEPARATE_FIELDS)
    return [keyword(name, value, imports, 1) + "," for name, value in fields]
