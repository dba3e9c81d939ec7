"""Use the parsers of mlx-lm, transformers, vLLM and SGLang in the same way as their servers.

`toolfmt.testing.peers` implements how a server uses a parser. `installed` contains only runtimes that can be imported.
A format whose parser cannot be judged by the text alone (`NOT_READ_ALONE`) has no parser here.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any, NamedTuple

from toolfmt.formats import ToolCallFormat
from toolfmt.testing.peers import for_mlx_lm, for_sglang, for_transformers, for_vllm
from toolfmt.testing.peers.claims import Factory
from toolfmt.testing.peers.event_dicts import calls_of

_WHOLE = "_whole"
"""The suffix of a factory's name that reads a whole output."""


class Output(NamedTuple):
    """What a client has of an output in the end: text, and calls as (name, text of the arguments)."""

    content: str
    calls: list[tuple[Any, str]]


@dataclass(frozen=True)
class PeerParser:
    """One parser of a runtime. Both ways of reading raise what the parser raises."""

    name: str
    _streamed: Factory
    _whole: Factory | None

    def stream(self, pieces: Iterable[str], tools: Sequence[Any]) -> Output:
        """Reads an output that arrives in these chunks."""
        reader = self._streamed(list(tools))
        events = [event for piece in pieces for event in reader.feed(piece)]
        events += reader.finish()
        return Output("".join(event["text"] for event in events if event["type"] == "content"), calls_of(events))

    def read(self, text: str, tools: Sequence[Any]) -> Output:
        """Reads a whole output; mlx-lm has one way for both."""
        if self._whole is None:
            return self.stream([text], tools)
        message = self._whole(list(tools))(text)
        functions = [call["function"] for call in message["tool_calls"]]
        return Output(message["content"] or "", [(function["name"], function["arguments"]) for function in functions])


@dataclass(frozen=True)
class Peer:
    """A runtime that can be imported here."""

    name: str
    version: str
    _factories: Mapping[str, Factory]

    def parsers(self, format: ToolCallFormat) -> list[PeerParser]:
        """Its parsers that are documented to read the format, in any of its variants."""
        return [
            PeerParser(factory.parser, factory, self._factories.get(name + _WHOLE))
            for name, factory in self._factories.items()
            if not name.endswith(_WHOLE) and format.name in factory.variants
        ]


@cache
def installed() -> tuple[Peer, ...]:
    found = (_peer(name, module, ready) for name, module, ready in _RUNTIMES)
    return tuple(peer for peer in found if peer is not None)


def as_objects(calls: Iterable[tuple[Any, str]]) -> list[tuple[Any, Any]]:
    """Calls with their arguments as JSON; invalid JSON stays the text that a client gets."""
    return [(name, _as_object(arguments)) for name, arguments in calls]


def _as_object(arguments: Any) -> Any:
    try:
        return json.loads(arguments)
    except (TypeError, ValueError):
        return arguments


def _peer(name: str, module: ModuleType, ready: Callable[[], object]) -> Peer | None:
    try:
        ready()
        factories: dict[str, Factory] = module.factories()
        version = next(iter(factories.values())).version
    except ImportError:
        return None
    return Peer(name, version, factories)


_RUNTIMES: tuple[tuple[str, ModuleType, Callable[[], object]], ...] = (
    ("mlx-lm", for_mlx_lm, lambda: importlib.import_module("mlx_lm.generate")),
    ("transformers", for_transformers, for_transformers.served),
    ("vLLM", for_vllm, for_vllm.ready),
    ("SGLang", for_sglang, for_sglang.ready),
)
