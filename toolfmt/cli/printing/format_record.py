"""A format as data for `toolfmt formats`: JSON here, text in `toolfmt.cli.printing.formats`."""

from __future__ import annotations

from typing import Any

from toolfmt.formats import ToolCallFormat, write

_SHORT: dict[str, Any] = {"city": "Paris"}
_LONG: dict[str, Any] = {"city": "Paris", "days": 3}


def example(format: ToolCallFormat, *, short: bool = False) -> str:
    """Return one call as the format's own writer writes it."""
    return write(format, [("get_weather", _SHORT if short else _LONG)])


def described(format: ToolCallFormat) -> dict[str, Any]:
    """Return the format's record as JSON."""
    return {
        "name": format.name,
        "aliases": list(format.aliases),
        "families": list(format.families),
        "model_types": list(format.model_types),
        "openers": list(format.openers),
        "closers": list(format.closers),
        "reasoning": [list(pair) for pair in format.reasoning],
        "example": example(format),
        "runtime_parsers": {
            runtime: {
                "name": parser.name,
                "others": {name: list(types) for name, types in parser.others.items()},
                "remark": parser.remark,
                "only_in": parser.only_in,
            }
            for runtime in format.runtime_parsers
            if (parser := format.runtime_parser(runtime)) is not None
        },
        "source": list(format.source),
        "page": format.page.strip(),
    }
