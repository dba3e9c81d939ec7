"""The entry point (group `vllm.general_plugins`) that vLLM calls in each of its processes.

It registers only the names, once vLLM imports its own parsers; the parsers (`vllm.py`) are loaded on demand. Contract:
vLLM 0.33.0, `vllm/plugins/__init__.py`, `vllm/tool_parsers/abstract_tool_parser.py` (`ToolParserManager`).
"""

from __future__ import annotations

from toolfmt.integrations.import_hook import after_import
from toolfmt.integrations.served_formats import parsers

PARSERS = "vllm.tool_parsers.abstract_tool_parser"


def register() -> None:
    """Register the names of the parsers with vLLM. vLLM may call it several times."""
    after_import(PARSERS, "vLLM", _register_names)


def _register_names() -> None:
    from vllm.tool_parsers.abstract_tool_parser import ToolParserManager

    for name in parsers():
        ToolParserManager.register_lazy_module(name, "toolfmt.integrations.vllm", name)
