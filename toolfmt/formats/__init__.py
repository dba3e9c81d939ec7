"""How tool calls are written and read. Needs the standard library only, and can be imported alone.

`Parser` streams a model's output into events, `WholeCalls` lets its calls pass once they have ended, `write` is the
parser's inverse, `prose` describes tools to a model in words; `get` and `formats` are the registry, `TOLERANCES` what
is read generously. A format is one `ToolCallFormat`; see the modules of `toolfmt.formats.known`.
"""

from typing import TYPE_CHECKING

from toolfmt.formats.format import Call, ToolCallFormat
from toolfmt.formats.parser import Parser
from toolfmt.formats.prose import prose
from toolfmt.formats.registry import default_format, for_model_type, formats, get, names, register
from toolfmt.formats.runtime_parsers import RuntimeParser
from toolfmt.formats.tolerances import TOLERANCES
from toolfmt.formats.whole_calls import WholeCalls
from toolfmt.formats.writing import read_back, write

if TYPE_CHECKING:
    FORMATS: tuple[ToolCallFormat, ...]


def __getattr__(name: str) -> tuple[ToolCallFormat, ...]:
    """`FORMATS`, every format that is known now, in order of name: their modules are imported when one is first asked
    for. Who keeps it does not see what is registered later; `formats()` is always as it is."""
    if name == "FORMATS":
        return formats()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "FORMATS",
    "TOLERANCES",
    "Call",
    "Parser",
    "RuntimeParser",
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
