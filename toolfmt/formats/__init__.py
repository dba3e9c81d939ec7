"""Room 1: how tool calls are written and read. Needs the standard library only, and can be imported alone.

`Parser` streams a model's output into events, `write` is its inverse, `prose` describes tools to a model in words;
`get` and `formats` are the registry. A format is one `ToolCallFormat`; see the modules of `toolfmt.formats.known`.
"""

from toolfmt.formats.format import Call, ToolCallFormat
from toolfmt.formats.parser import Parser
from toolfmt.formats.prose import prose
from toolfmt.formats.registry import default_format, for_model_type, formats, get, names
from toolfmt.formats.writing import read_back, write

FORMATS = formats()

__all__ = [
    "FORMATS",
    "Call",
    "Parser",
    "ToolCallFormat",
    "default_format",
    "for_model_type",
    "formats",
    "get",
    "names",
    "prose",
    "read_back",
    "write",
]
