"""What other runtimes call a format's parser: formats know it themselves (`ToolCallFormat.runtime_parsers`)."""

from __future__ import annotations

from toolfmt.formats.format import ToolCallFormat

DERIVED = "auto"
"""The name of a parser that the runtime derives from the chat template by itself."""


def parser_names(format: ToolCallFormat, runtime: str) -> tuple[str, ...]:
    """Every name under which the runtime has a parser for the format, the usual one first; empty where it has none."""
    parser = format.runtime_parser(runtime)
    return () if parser is None else parser.names


def parser_name(format: ToolCallFormat, runtime: str) -> str | None:
    """The usual one of these names; None where the runtime has no parser for the format."""
    return next(iter(parser_names(format, runtime)), None)
