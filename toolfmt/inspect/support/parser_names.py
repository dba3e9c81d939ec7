"""What other runtimes call a format's parser, taken apart.

`glm45 (GLM-4.7 and later: glm47)` is two names and a remark. Formats know these names themselves
(`ToolCallFormat.elsewhere`); here they are only read.
"""

from __future__ import annotations

import re

from toolfmt.formats import ToolCallFormat

DERIVED = "auto"
"""The name of a parser that the runtime derives from the chat template by itself."""

_FURTHER_NAME = re.compile(r": ([\w.-]+)")


def parser_names(format: ToolCallFormat, runtime: str) -> tuple[str, ...]:
    """Every name under which the runtime has a parser for the format, the usual one first; empty where it has none."""
    name, _, remark = format.elsewhere.get(runtime, "").partition(" (")
    return (name, *_FURTHER_NAME.findall(remark)) if name else ()


def parser_name(format: ToolCallFormat, runtime: str) -> str | None:
    """The usual one of these names, without the remark; None where the runtime has no parser for the format."""
    return next(iter(parser_names(format, runtime)), None)


def caution(format: ToolCallFormat, runtime: str) -> str:
    """The remark where it says what the parser lacks, and not which further names there are."""
    return "" if len(parser_names(format, runtime)) > 1 else remark(format, runtime)


def remark(format: ToolCallFormat, runtime: str) -> str:
    """What stands in brackets behind the name, with its brackets and a blank before them; empty where nothing does."""
    _, found, text = format.elsewhere.get(runtime, "").partition(" (")
    return found + text
