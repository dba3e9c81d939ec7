"""A local chat endpoint with scripted responses, over real HTTP, which records its requests."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Endpoint:
    """`url` is the base URL for a client, `requests` the bodies of the requests, in their order."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.requests: list[dict[str, Any]] = []


@contextmanager
def endpoint(completions: Iterable[Any]) -> Iterator[Endpoint]:
    """An endpoint that returns the next of these for each request; after the last, status 400."""
    script = iter(completions)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            serving.requests.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            completion = next(script, None)
            body = json.dumps(completion or {"error": {"message": "the script is over"}}).encode()
            self.send_response(200 if completion else 400)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    serving = Endpoint(f"http://127.0.0.1:{server.server_port}/v1")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield serving
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def completion(message: dict[str, Any], finish_reason: str = "stop") -> dict[str, Any]:
    """A chat completion that contains this message."""
    choice = {"index": 0, "message": {"role": "assistant", "content": None} | message, "finish_reason": finish_reason}
    return {"id": "c", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]}


def call(name: str, arguments: str, id: str | None = "call_a") -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}
