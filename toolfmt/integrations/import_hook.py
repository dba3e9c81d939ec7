"""Run code after a module of a server is imported.

A server calls the entry point of a plug-in in each of its processes, most of which parse nothing. Importing the
server's parsers there would take seconds.
"""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any


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
        except Exception:  # toolfmt may be installed but not used: the server must also start without the parsers
            log = logging.getLogger(__name__)
            log.exception("toolfmt's parsers are not compatible with this %s; it starts without them", server)

    if name in sys.modules:
        registered()
    else:
        sys.meta_path.insert(0, _AfterImport(name, registered))


class _AfterImport(MetaPathFinder):
    """Finds one module as usual, and calls a function after its first successful import."""

    def __init__(self, name: str, then: Callable[[], None]) -> None:
        self._name, self._then = name, then
        self._searching = threading.local()

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != self._name or getattr(self._searching, "here", False):
            return None
        self._searching.here = True
        try:
            spec = find_spec(name)
        finally:
            self._searching.here = False
        if spec is not None and hasattr(spec.loader, "exec_module"):
            spec.loader = _ThenLoader(spec.loader, self._imported)
        return spec

    def _imported(self) -> None:
        with suppress(ValueError):  # another thread has removed it
            sys.meta_path.remove(self)
            self._then()


class _ThenLoader(Loader):
    """Loads a module with another loader, which it then has, and calls a function."""

    def __init__(self, loader: Any, then: Callable[[], None]) -> None:
        self._loader, self._then = loader, then

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        module: ModuleType | None = self._loader.create_module(spec)
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        self._then()
