"""Find out what an address is: its protocol, its models, and which server runs there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from toolfmt._util.text_lists import listed_first
from toolfmt.cli.doctor.protocols import AnthropicMessages, ChatCompletions, ChatProtocol, OllamaChat
from toolfmt.cli.doctor.protocols.chat_protocol import dictionary, parsed, text_of
from toolfmt.cli.doctor.response import Unreadable
from toolfmt.cli.doctor.transport import Reply, Transport
from toolfmt.cli.measure.subject import NotAnswered, NotReached
from toolfmt.errors import ToolfmtError
from toolfmt.inspect.runtimes.template_choice import LLAMA_CPP, MLX_LM, SGLANG, VLLM

_OWNERS = {"vllm": VLLM, "sglang": SGLANG, "llamacpp": LLAMA_CPP, "toolfmt": "toolfmt", "library": "Ollama",
           "me": "llama-cpp-python"}  # fmt: skip
"""The server by `owned_by` in its list of models."""
_PYTHON = "basehttp"
"""The start of the header `Server` of Python's own HTTP server, in which mlx-lm's runs."""
_MLX_LMS = {"id", "object", "created"}
"""The keys of an entry in the list of models of mlx-lm."""
_LONGEST_NAME = 200
_MOST_NAMED = 8
_OK = 200


@dataclass(frozen=True)
class Connection:
    """An address that was recognized.

    Attributes:
        url: The URL that chat requests are sent to.
        models: The names of its models, as far as it lists them.
        runtime: The name of the server, as in the report of a model; empty if unknown.
        version: The version of the server; empty if unknown.
    """

    protocol: ChatProtocol
    url: str
    models: Sequence[str] = ()
    runtime: str = ""
    version: str = ""

    def model(self, named: str | None) -> str:
        """Return the name of the model to examine. Raises `ToolfmtError` if it is not clear which one."""
        if named is not None:
            return named
        if len(self.models) == 1:
            return self.models[0]
        if not self.models:
            raise ToolfmtError("the server lists no models; give --model NAME")
        raise ToolfmtError(f"the server has several models; give --model: {listed_first(self.models, _MOST_NAMED)}")


def connect(endpoint: str, transport: Transport, key: str) -> Connection:
    """Return the connection for a URL: a base URL with or without /v1, or the URL of chat requests itself.

    Without a path that shows the protocol, the list of models does. Raises `NotReached` and `LimitReached`.
    """
    url = endpoint.rstrip("/")
    path = urlsplit(url).path
    if path.endswith(("/api/chat", "/api")):
        base = url.removesuffix("/chat")
        return _connection(OllamaChat(), base, _get(transport, base + "/tags", OllamaChat(), key))
    for protocol in (AnthropicMessages(), ChatCompletions()):
        if path.endswith(protocol.path):
            base = url.removesuffix(protocol.path)
            return _connection(protocol, base, _get(transport, base + "/models", protocol, key))
    first: Reply | None = None
    bases = [url] if path.endswith("/v1") else [url + "/v1", url]
    for base in bases:
        reply = _get(transport, base + "/models", ChatCompletions(), key)
        first = first or reply
        if (entries := _entries(reply, "data")) is not None:
            is_anthropic = any(dictionary(entry).get("type") == "model" for entry in entries)
            found = _connection(AnthropicMessages() if is_anthropic else ChatCompletions(), base, reply)
            return _with_version(found, base.removesuffix("/v1"), transport) if found.runtime == VLLM else found
    root = url.removesuffix("/v1")
    reply = _get(transport, root + "/api/tags", OllamaChat(), key)
    if _entries(reply, "models") is not None:
        return _connection(OllamaChat(), root + "/api", reply)
    return _connection(ChatCompletions(), bases[0], first)


def _get(transport: Transport, url: str, protocol: ChatProtocol, key: str) -> Reply | None:
    try:
        return transport.send(url, headers=protocol.headers(key))
    except NotReached:
        raise
    except NotAnswered:
        return None


def _entries(reply: Reply | None, name: str) -> list[Any] | None:
    """Return the list with this name in a reply, or None."""
    if reply is None or reply.status != _OK:
        return None
    try:
        found = dictionary(parsed(reply.text, "the list of models")).get(name)
    except Unreadable:
        return None
    return found if isinstance(found, list) else None


def _connection(protocol: ChatProtocol, base: str, reply: Reply | None) -> Connection:
    """Return the connection to a base URL, with what the list of models shows."""
    entries = [dictionary(entry) for entry in _entries(reply, "data") or _entries(reply, "models") or ()]
    named = (text_of(entry.get("id")) or text_of(entry.get("name")) for entry in entries)
    names = [name for name in named if 0 < len(name) <= _LONGEST_NAME]
    owners = {text_of(entry.get("owned_by")) for entry in entries}
    header = "" if reply is None else reply.headers.get("server", "").lower()
    by_header = LLAMA_CPP if header.startswith("llama.cpp") else ""
    if reply is not None and header.startswith(_PYTHON) and _is_mlx_lms(reply, entries):
        by_header = MLX_LM
    runtime = next((name for owner, name in _OWNERS.items() if owner in owners), by_header)
    if isinstance(protocol, OllamaChat) and not runtime and entries and "details" in entries[0]:
        runtime = "Ollama"
    return Connection(protocol, base + protocol.path, names, runtime)


def _is_mlx_lms(reply: Reply, entries: list[dict[str, Any]]) -> bool:
    """Return whether the list of models is one of mlx-lm. Where nothing was ever downloaded, its text is empty."""
    if not entries:
        return reply.status == _OK and not reply.text
    return all(entry.keys() == _MLX_LMS for entry in entries)


def _with_version(found: Connection, root: str, transport: Transport) -> Connection:
    """Add the version, which vLLM has at /version."""
    try:
        value = dictionary(parsed(transport.send(root + "/version").text, "the version"))
    except (NotAnswered, Unreadable):
        return found
    return Connection(
        found.protocol, found.url, found.models, found.runtime, text_of(value.get("version"))[:_LONGEST_NAME]
    )


def models_hint(connection: Connection) -> str:
    """Return a clause with the models of the server, for an error; empty if it lists none."""
    names = connection.models
    return f"; its models: {listed_first(names, _MOST_NAMED)}" if names else ""
