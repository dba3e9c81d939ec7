"""What the protocols have in common: requests, event streams, errors, and values of unexpected types."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from toolfmt.cli.doctor.response import ServerError, ServerResponse, Unreadable
from toolfmt.cli.doctor.transport import Reply
from toolfmt.cli.measure.subject import in_one_line

_OK = 200
_MULTIPLE_CHOICES = 300
_BAD_REQUEST = 400
_SHOWN = 60
_MESSAGES = ("error", "message", "detail")
"""The keys of a message, or of the object with it."""


@dataclass(frozen=True)
class ChatRequest:
    """A request in OpenAI's form, with arguments as JSON text. `tool_choice` is None, `required`, or a tool's name."""

    messages: Sequence[Mapping[str, Any]]
    tools: Sequence[Mapping[str, Any]] = ()
    tool_choice: str | None = None
    max_tokens: int = 1024
    variables: Mapping[str, Any] = field(default_factory=dict)


class ChatProtocol(Protocol):
    """Writes requests and reads responses."""

    name: str
    path: str
    """The path of its endpoint, after the base URL."""
    forced_choice: bool
    """Whether a request can require a call."""

    def headers(self, key: str) -> dict[str, str]:
        """Return the headers with the key, which may be empty."""

    def body(self, model: str, request: ChatRequest, stream: bool) -> dict[str, Any]:
        """Return the body of a request."""

    def read(self, value: Any) -> ServerResponse:
        """Read a whole response. Raises `Unreadable`."""

    def read_stream(self, reply: Reply) -> ServerResponse:
        """Read a stream. Raises `Unreadable`, and `ServerError` for an error inside the stream."""


def response_of(protocol: ChatProtocol, reply: Reply, streamed: bool) -> ServerResponse:
    """Return the response in a reply. Raises `Unreadable` and `ServerError`."""
    if _OK <= reply.status < _MULTIPLE_CHOICES:
        if not streamed:
            return protocol.read(_whole_body(reply))
        response = protocol.read_stream(reply)
        if not reply.whole:
            response.report("stream-broken", "the connection was closed in the middle of the stream")
        return response
    if _MULTIPLE_CHOICES <= reply.status < _BAD_REQUEST:
        raise ServerError(reply.status, in_one_line(f"redirect to {reply.headers.get('location', '?')}"))
    raise ServerError(reply.status, error_message(reply))


def _whole_body(reply: Reply) -> Any:
    if not reply.whole:
        raise Unreadable("the connection was closed in the middle of the response")
    return parsed(reply.text, "the response")


def parsed(text: str, what: str) -> Any:
    """Return the JSON value of a text. Raises `Unreadable`, which shows the beginning of the text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise Unreadable(in_one_line(f"{what} is not JSON: {text[:_SHOWN]!r}")) from None


def error_message(reply: Reply) -> str:
    """Return a server's message about a failure, without what is wrapped around it."""
    try:
        body = json.loads(reply.text)
    except (ValueError, RecursionError):
        return in_one_line(reply.text[:_SHOWN]) or "without a message"
    return message_in(body) or in_one_line(reply.text)


def message_in(body: Any) -> str:
    """Return the message in `{"error": {"message": …}}`, `{"error": …}`, `{"message": …}` or `{"detail": …}`."""
    outer = dictionary(body)
    inner: dict[str, Any] = next((outer[key] for key in _MESSAGES if isinstance(outer.get(key), dict)), {})
    found = (level.get(key) for level in (outer, inner) for key in _MESSAGES)
    return in_one_line(next((text for text in found if isinstance(text, str) and text), ""))


def server_events(reply: Reply) -> Iterator[str]:
    """Yield the data of each event of a stream of server-sent events (WHATWG HTML, "Server-sent events").

    Raises `Unreadable` if it is not such a stream.
    """
    text, count = reply.text.replace("\r\n", "\n").replace("\r", "\n"), 0
    for block in text.split("\n\n"):
        lines = [line[5:].removeprefix(" ") for line in block.split("\n") if line.startswith("data:")]
        if lines:
            count += 1
            yield "\n".join(lines)
    if count == 0:
        start = in_one_line(reply.text[:_SHOWN])
        raise Unreadable(f"the request had `stream: true`, but the response is not an event stream: {start!r}")


def dictionary(value: Any) -> dict[str, Any]:
    """Return the value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def list_of(value: Any) -> list[Any]:
    """Return the value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def text_of(value: Any) -> str:
    """Return the value if it is a string, else an empty one."""
    return value if isinstance(value, str) else ""


def count_of(value: Any) -> int:
    """Return the value if it is a number of tokens, else 0."""
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def as_json(value: Any) -> str:
    """Return the value as JSON text."""
    return json.dumps(value, ensure_ascii=False)


def arguments_object(text: str) -> dict[str, Any]:
    """Return the arguments of a past call for protocols that take an object."""
    try:
        return dictionary(json.loads(text))
    except (ValueError, RecursionError):
        return {}
