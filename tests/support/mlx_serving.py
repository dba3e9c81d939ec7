"""mlx-lm's server in this process."""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from pathlib import Path
from queue import Queue
from typing import Any

import pytest

from toolfmt.integrations import mlx_server as for_mlx_server
from toolfmt.integrations.mlx_server import ServerOptions

STREAMED = ServerOptions()


@contextmanager
def served(model: Path | str, *arguments: str, options: ServerOptions = STREAMED, own: bool = False) -> Iterator[str]:
    """The server on a port of this machine, as `main` runs it; with `own`, mlx-lm's without toolfmt."""
    server: Any = importlib.import_module("mlx_lm.server")
    listening: Queue[ThreadingHTTPServer] = Queue()
    providers: list[Any] = []

    class Listening(ThreadingHTTPServer):
        def server_activate(self) -> None:
            super().server_activate()
            listening.put(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["", "--model", str(model), "--log-level", "ERROR", *arguments])
        patch.setattr(server, "run", lambda host, port, provider: providers.append(provider))
        server.main()

    def run_own(host: str, port: int, provider: Any, _: ServerOptions, listening: Any) -> None:
        generator = server.ResponseGenerator(provider, server.LRUPromptCache(provider.cli_args.prompt_cache_size))
        server._run_http_server(host, port, generator, listening)
        generator.stop_and_join()

    given = ("127.0.0.1", 0, providers[0], options, Listening)
    thread = threading.Thread(target=run_own if own else for_mlx_server.run, args=given)
    thread.start()
    httpd = listening.get(timeout=30)
    try:
        yield f"http://127.0.0.1:{httpd.server_address[1]}/v1"
    finally:
        httpd.shutdown()
        httpd.server_close()
        thread.join()
