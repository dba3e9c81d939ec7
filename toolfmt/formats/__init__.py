"""Parse and write tool calls in any known format. Needs the standard library only, and can be imported alone.

`Parser` streams a model's output into events, `TokenParser` does so from token ids, and `WholeCalls` holds a call back
until it has ended. `write` is the inverse of the parser, and `prose` describes tools in a system prompt. `get` and
`formats` are the registry, and `TOLERANCES` lists what is parsed leniently. A format is one `ToolCallFormat`; see the
modules of `toolfmt.formats.known`.
"""

from typing import TYPE_CHECKING

from toolfmt.formats.complete_calls import WholeCalls
from toolfmt.formats.format import ToolCallFormat
from toolfmt.formats.parser.parser import Parser
from toolfmt.formats.parser.tokens.token_parser import TokenParser
from toolfmt.formats.prompting.tool_descriptions import prose
from toolfmt.formats.registry import default_format, for_model_type, formats, get, names
from toolfmt.formats.runtime_parsers import RuntimeParser
from toolfmt.formats.serialization.registration import register
from toolfmt.formats.tolerances import TOLERANCES
from toolfmt.formats.values.layout import Call
from toolfmt.formats.writing import read_back, write

if TYPE_CHECKING:
    FORMATS: tuple[ToolCallFormat, ...]


def __getattr__(name: str) -> tuple[ToolCallFormat, ...]:
    """Return `FORMATS`: every format that is known now, sorted by name. Its modules are imported on first use.

    A kept copy does not include formats registered later; `formats()` is always current.
    """
    if name == "FORMATS":
        return formats()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "FORMATS",
    "TOLERANCES",
    "Call",
    "Parser",
    "RuntimeParser",
    "TokenParser",
    "ToolCallFormat",
    "WholeCalls",
    "default_format",
    "for_model_type",
    "formats",
    "get",
    "names",
    "prose",
    "read_back",
    "register",
    "write",
]
