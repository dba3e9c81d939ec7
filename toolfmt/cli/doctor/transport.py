"""HTTP requests with limits on their number, their time and the size of a response.

The bytes of a response are checked, which client libraries hide, so Python's own HTTP client is used. A request runs
in a separate thread, so that a server that sends one byte at a time cannot exceed the limit. Redirects are not
followed, since the key would be sent to another address.
"""

from __future__ import annotations

import http.client
import json
import queue
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from toolfmt.cli.measure.subject import NotAnswered, NotReached, in_one_line

MOST_REQUESTS = 60
"""Maximum number of requests of one examination."""
_MOST_SECONDS = 120.0
"""Maximum duration of one response."""
_MOST_BYTES = 2**20
"""Maximum size of a response in bytes. The longest expected one is about a tenth of that."""
_PIECE = 2**16


class LimitReached(Exception):
    """No further request is allowed. The message names the limit."""


class TooSlow(NotAnswered):
    """A response did not end in time."""


@dataclass(frozen=True)
class Reply:
    """What a server sent: the status, the headers with lowercase names, and the body.

    `whole` is whether the connection was closed only after the end of the body.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    whole: bool = True

    @property
    def text(self) -> str:
        return self.body.decode("utf-8", "replace")


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        """Follow no redirect. The response with its status is returned."""


@dataclass
class Transport:
    """Sends requests until a limit is reached. `seconds` is the limit on all of them together."""

    seconds: float
    sent: int = 0
    _until: float = field(init=False)

    def __post_init__(self) -> None:
        self._until = time.monotonic() + self.seconds

    def send(self, url: str, body: object = None, headers: Mapping[str, str] | None = None) -> Reply:
        """Return the reply to a POST of the body as JSON, or to a GET without a body.

        Raises `NotReached`, `NotAnswered` if there is no HTTP response, `TooSlow` and `LimitReached`.
        """
        left = self._until - time.monotonic()
        if left <= 0:
            raise LimitReached(f"the limit of {self.seconds:g} seconds was reached (--time-limit)")
        if self.sent == MOST_REQUESTS:
            raise LimitReached(f"the limit of {MOST_REQUESTS} requests was reached")
        self.sent += 1
        data = None if body is None else json.dumps(body).encode()
        fields = {"Content-Type": "application/json", "User-Agent": "toolfmt-doctor", **(headers or {})}
        limit = min(left, _MOST_SECONDS)
        outcome: queue.SimpleQueue[Reply | NotAnswered] = queue.SimpleQueue()
        request = urllib.request.Request(url, data, fields)
        threading.Thread(target=lambda: outcome.put(_fetched(request, limit)), daemon=True).start()
        try:
            got = outcome.get(timeout=limit)
        except queue.Empty:
            got = _too_slow(limit)
        if isinstance(got, Reply):
            return got
        raise got


def _fetched(request: urllib.request.Request, limit: float) -> Reply | NotAnswered:
    """Return the reply, or why there is none. Never raises: the thread's result is all that is read."""
    try:
        try:
            response = urllib.request.build_opener(_NoRedirect).open(request, timeout=limit)
        except urllib.error.HTTPError as error:  # every status but 2xx
            response = error
        with response:
            return _read(response, time.monotonic() + limit)
    except urllib.error.URLError as error:
        if isinstance(error.reason, TimeoutError):
            return _too_slow(limit)
        return NotReached(in_one_line(f"cannot be reached ({error.reason})"))
    except TimeoutError:
        return _too_slow(limit)
    except NotAnswered as error:
        return error
    except Exception as error:  # noqa: BLE001  whatever a server sends instead of HTTP
        return NotAnswered(in_one_line(f"no HTTP response ({type(error).__name__}: {error})"))


def _read(response: Any, until: float) -> Reply:
    body, whole = bytearray(), True
    try:
        while piece := response.read1(_PIECE):
            body += piece
            if len(body) > _MOST_BYTES:
                raise NotAnswered(f"unreadable response: it is longer than {_MOST_BYTES:,} bytes")
            if time.monotonic() > until:
                raise TimeoutError
        whole = not getattr(response, "length", 0)  # what Content-Length announced and was not sent
    except (http.client.HTTPException, ConnectionError):
        whole = False
    headers = {name.lower(): value for name, value in response.headers.items()}
    return Reply(response.status, headers, bytes(body), whole)


def _too_slow(limit: float) -> TooSlow:
    return TooSlow(f"no complete response within {limit:.0f} seconds")
