"""What SGLang calls of toolfmt in each of its processes, by the entry point in the group `sglang.srt.plugins`.

Most of these processes read no answer. To import SGLang's parsers takes seconds, so they only learn the names; the
parsers (`sglang.py`) come once SGLang imports its own. Contract: SGLang 0.5.23, `sglang/srt/plugins/__init__.py`,
and `sglang/srt/server_args.py`, which takes the names from either place.
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
    """Make the parsers known to SGLang; what they are is told once it asks."""
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
    except Exception:  # an SGLang of another age: who only has toolfmt installed goes on without it
        logging.getLogger(__name__).exception("toolfmt's parsers do not fit this SGLang; it goes on without them")


class _WithOurs(MetaPathFinder):
    """Has SGLang's parsers found as ever, and ours registered when they have been imported."""

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

            spec.loader.exec_module = execute_both  # type: ignore[method-assign]  # of this one loader
        return spec
