"""The entry point (group `sglang.srt.plugins`) that SGLang calls in each of its processes.

Most of these processes parse nothing, and importing SGLang's parsers takes seconds. So this module registers only the
names; the parsers (`sglang.py`) are registered once SGLang imports its own. Contract: SGLang 0.5.23,
`sglang/srt/plugins/__init__.py`, and `sglang/srt/server_args.py`, which takes the names from either place.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType

from sglang.srt.function_call.parser_names import TOOL_CALL_PARSER_NAMES

from toolfmt.integrations.deltas import parsers

PARSERS = "sglang.srt.function_call.function_call_parser"


def register() -> None:
    """Register the names of the parsers with SGLang. The parsers are loaded on demand."""
    for name, _, _ in parsers():
        if name not in TOOL_CALL_PARSER_NAMES:
            TOOL_CALL_PARSER_NAMES.append(name)
    if PARSERS in sys.modules:
        _register_parsers()
    else:
        sys.meta_path.insert(0, _WithOurs())


def _register_parsers() -> None:
    try:
        from toolfmt.integrations.sglang import register

        register()
    except Exception:  # an incompatible SGLang: users who only have toolfmt installed can continue without it
        logging.getLogger(__name__).exception("toolfmt's parsers do not fit this SGLang; it goes on without them")


class _WithOurs(MetaPathFinder):
    """Loads SGLang's parsers as usual, and registers toolfmt's after their import."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != PARSERS:
            return None
        sys.meta_path.remove(self)
        spec = find_spec(name)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def execute_both(module: ModuleType) -> None:
                execute(module)
                _register_parsers()

            spec.loader.exec_module = execute_both  # type: ignore[method-assign]  # only for this loader
        return spec
