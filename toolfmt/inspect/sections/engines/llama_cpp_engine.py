"""llama.cpp's own template engine (`common/jinja`), compiled to WebAssembly by the package ggufdoctor.

ggufdoctor 0.3.0 contains llama.cpp b10775 of September 2026. Here it gets the same variables as jinja2. llama.cpp
itself first changes messages and variables (`toolfmt.inspect.runtimes.request_handling`). A request that fails only
without these changes is not tried.

The module runs in wasmtime with limits of steps, memory and stack, and without files, environment and network: a
template that hits a limit is not tried further. Compiling it takes 1.5 seconds of CPU time. So the machine code is
cached in the user's cache directory. A worker process loads it at startup (`preload.py`), before it can no longer open
files.
"""

from __future__ import annotations

import atexit
import hashlib
import json
import os
import re
import stat
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from datetime import datetime
from functools import cache
from importlib import metadata, resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolfmt.inspect.report.wording import quote
from toolfmt.inspect.sections.engines.engine import EngineFailure, EngineRequest, NotTried, raised, tag_around
from toolfmt.templates import ChatTemplate

if TYPE_CHECKING:
    from wasmtime import Engine, Module, Store

NAME = "llama.cpp"

# No real template needs a tenth of these for any of the conversations (426 templates, November 2026).
_FUEL = 1_000_000_000
_MEMORY = 64 << 20

_REQUESTED = "toolfmt_requested"
_BEFORE = f"{{% if not {_REQUESTED} %}}{{{{ raise_exception('') }}}}{{% endif %}}\n"
"""A line before the template, whose newline the engine drops as after any tag.

The module renders a template a dozen times to find what it supports, which nothing here needs. This line ends those
renders at once, so that a request takes half of the time.
"""
_NAMED = (
    (r"Unknown \(built-in\) filter '(\w+)'", "the filter {}"),
    (r"NotImplemented: (\w+) test not implemented", "the test {}"),
    (r"Callee is not a function: got Undefined \(hint: '(\w+)'\)", "the function or method {}()"),
    (r"Unknown statement: (\w+)", "{{% {} %}}"),
)
"""The engine's errors for unknown constructs, and their names in the report."""
_NOT_ASCII = re.compile(r"[^\0-\x7f]")
_POSITION = re.compile(r"at line (\d+), column (\d+) in source:")
_EXCERPT = re.compile(r"\n\.\.\.(.*)\.\.\.\n( *)\^")


def llama_cpp_engine() -> LlamaCppEngine | None:
    """Return the engine, or None if its package is not installed."""
    return _compiled()


class LlamaCppEngine:
    """The engine of the installed package. Implements `toolfmt.inspect.sections.engines.engine.Engine`."""

    name = NAME
    now: datetime | None = datetime(2026, 1, 1)  # set when the module was compiled
    removes_generation_tags = False  # it supports them

    def __init__(self, engine: Engine, module: Module) -> None:
        self._engine, self._module = engine, module

    def render(self, request: EngineRequest) -> str:
        template = request.template
        context = {**request.tokens, **request.values, _REQUESTED: True}
        source = (_BEFORE + template.source).replace("\r\n", "\n")
        result = self._run(source, context, as_llama_cpp=False)
        if result.get("error", "").startswith("shim failure"):
            # The prompt, or the part of the template that the error quotes, begins or ends inside of a character.
            source = _NOT_ASCII.sub(lambda found: "x" * len(found[0].encode()), source)
            result = self._run(source, context, as_llama_cpp=False)
            if result["ok"]:
                raise EngineFailure("the template", None, "the engine counts bytes, and the prompt is not valid UTF-8")
        if result["ok"]:
            return str(result["text"])
        error = result["error"]
        if "std::bad_alloc" in error:
            raise NotTried
        if self._run(template.source, context, as_llama_cpp=True)["ok"]:
            raise NotTried  # llama.cpp does not pass these messages as they are
        raise raised(template, error) if result["stage"] == "raise" else _failure(error, source.encode(), template)

    def with_filter(self, name: str, function: Callable[..., Any]) -> None:
        return None

    def _run(self, source: str, context: Mapping[str, Any], *, as_llama_cpp: bool) -> dict[str, Any]:
        """Return what the module writes for a template and its variables. Raises `NotTried`.

        `as_llama_cpp`: change messages to the form that the template supports, and set variables, as llama.cpp does.
        """
        import wasmtime

        request = {"template": source, "context": context, "normalize": as_llama_cpp}
        with closing(wasmtime.Store(self._engine)) as store:
            store.set_fuel(_FUEL)
            store.set_limits(memory_size=_MEMORY)
            store.set_wasi(wasmtime.WasiConfig())
            try:
                return dict(json.loads(self._output(store, json.dumps(request, ensure_ascii=False).encode())))
            except (wasmtime.Trap, wasmtime.WasmtimeError, ValueError) as error:  # the last for a lone surrogate
                raise NotTried from error

    def _output(self, store: Store, given: bytes) -> bytes:
        import wasmtime

        linker = wasmtime.Linker(self._engine)
        linker.define_wasi()
        exports: Any = linker.instantiate(store, self._module).exports(store)
        exports["_initialize"](store)
        begin = exports["gd_alloc"](store, len(given))
        exports["memory"].write(store, given, begin)
        result = exports["gd_render"](store, begin, len(given))
        return bytes(exports["memory"].read(store, result, result + exports["gd_out_len"](store)))


# --- machine code


@cache
def _compiled() -> LlamaCppEngine | None:
    """Return the engine if it renders a template: a later version of the packages may differ in anything used here."""
    try:
        engine = LlamaCppEngine(*_compile())
        return engine if engine.render(EngineRequest(ChatTemplate("{{ a }}"), {"a": 1}, {})) == "1" else None
    except Exception:  # noqa: BLE001 - not installed, in an unsuitable version, or without wasmtime's library
        return None


def _compile() -> tuple[Engine, Module]:
    import wasmtime

    atexit.register(_compiled.cache_clear)  # wasmtime cannot free the module while Python shuts down
    source = resources.files("ggufdoctor").joinpath("engine_data", "llamacpp-jinja.wasm").read_bytes()
    config = wasmtime.Config()
    config.wasm_exceptions = True
    config.consume_fuel = True
    # A worker process has one thread, no descriptors and a limited address space.
    config.parallel_compilation = False
    config.memory_init_cow = False
    config.memory_reservation = 0
    config.memory_reservation_for_growth = 0
    engine = wasmtime.Engine(config)
    name = f"llamacpp-jinja-{hashlib.sha256(source).hexdigest()[:16]}-{metadata.version('wasmtime')}.cwasm"
    path = _cache_directory() / name
    # A relative path, as without a home directory, may lead into a model's directory.
    return engine, _cached(engine, source, path) if path.is_absolute() else wasmtime.Module(engine, source)


def _cached(engine: Engine, source: bytes, path: Path) -> Module:
    """Return the module from its machine code in this file, which is written if it is missing or unsuitable."""
    import wasmtime

    with suppress(OSError, wasmtime.WasmtimeError):  # of another version of wasmtime, or for another processor
        if _is_own(path):
            return wasmtime.Module.deserialize(engine, path.read_bytes())  # `deserialize_file` keeps the file open
    module = wasmtime.Module(engine, source)
    written = path.with_suffix(f".{os.getpid()}")
    with suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open(os.open(written, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(module.serialize())
        written.replace(path)
    return module


def _is_own(path: Path) -> bool:
    """Return whether only this user can have written the file: wasmtime executes it without any check."""
    if not hasattr(os, "getuid"):
        return path.is_file()
    return all(
        status.st_uid == os.getuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        for status in (path.stat(), path.parent.stat())
    )


def _cache_directory(environment: Mapping[str, str] = os.environ) -> Path:
    base = environment.get("XDG_CACHE_HOME") or environment.get("LOCALAPPDATA") or "~/.cache"
    return Path(os.path.expanduser(base), "toolfmt")


# --- failures


def _failure(error: str, source: bytes, template: ChatTemplate) -> EngineFailure:
    reason = error.rpartition("\nError: ")[2]
    what = quote(reason.splitlines()[0].removeprefix("parser: "))
    offset = _offset(error, source)
    line = None if offset is None else source.count(b"\n", 0, offset)
    for pattern, name in _NAMED:
        if found := re.search(pattern, reason):
            return EngineFailure(name.format(found[1]), line or template.line_of(rf"\b{found[1]}\b"), what)
    written = (_BEFORE + template.source).replace("\r\n", "\n").encode()
    return EngineFailure("the template" if offset is None else tag_around(written, offset), line, what)


def _offset(error: str, source: bytes) -> int | None:
    """Return where the error is, from its line and column or from its excerpt. The engine counts bytes."""
    if found := _POSITION.search(error):
        line, column = map(int, found.groups())
        return sum(len(each) + 1 for each in source.split(b"\n")[: line - 1]) + column - 1
    if found := _EXCERPT.search(error):
        begin = source.find(found[1].replace("↵", "\n").encode())
        return None if begin < 0 else min(begin + len(found[2]) - len("..."), len(source))
    return None
