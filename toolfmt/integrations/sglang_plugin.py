"""The entry point (group `sglang.srt.plugins`) that SGLang calls in each of its processes.

It registers only the names; the parsers (`sglang.py`) are registered once SGLang imports its own. Contract: SGLang
0.5.23, `sglang/srt/plugins/__init__.py`, and `sglang/srt/server_args.py`, which reads the names from the parsers if
they are imported, otherwise from the list of names.
"""

from __future__ import annotations

from sglang.srt.function_call.parser_names import TOOL_CALL_PARSER_NAMES

from toolfmt.integrations.import_hook import after_import
from toolfmt.integrations.served_formats import parsers

PARSERS = "sglang.srt.function_call.function_call_parser"


def register() -> None:
    """Register the names of the parsers with SGLang. The parsers are loaded on demand."""
    TOOL_CALL_PARSER_NAMES.extend(name for name in parsers() if name not in TOOL_CALL_PARSER_NAMES)
    after_import(PARSERS, "SGLang", _register_parsers)


def _register_parsers() -> None:
    from toolfmt.integrations.sglang import register

    register()
