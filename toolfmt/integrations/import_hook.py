"""Run code after a module of a server is imported.

A server calls the entry point of a plug-in in each of its processes, most of which parse nothing. Importing the
server's parsers there would take seconds.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType


def after_import(name: str, server: str, register: Callable[[], None]) -> None:
    """Call `register` once the module is imported, or now if it is already.

    Exceptions are logged: an incompatible server starts without toolfmt's parsers.

    Args:
        name: The module.
        server: The name of the server, for the log.
        register: Registers the parsers.
    """

    def registered() -> None:
        try:
            register()
        except Exception:
            logging.getLogger(__name__).exception(
                "toolfmt's parsers are not compatible with this %s; it starts without them", server
            )

    if name in sys.modules:
        registered()
    else:
        sys.meta_path.insert(0, _AfterImport(name, registered))


class _AfterImport(MetaPathFinder):
    """Loads one module as usual, and calls a function after its import."""

    def __init__(self, name: str, then: Callable[[], None]) -> None:
        self._name, self._then = name, then

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != self._name:
            return None
        sys.meta_path.remove(self)
        spec = find_spec(name)
        if spec is not None and spec.loader is not None:
            execute, then = spec.loader.exec_module, self._then

            def execute_both(module: ModuleType) -> None:
                execute(module)
                then()

            spec.loader.exec_module = execute_both  # type: ignore[method-assign]  # only for this loader
        return spec
