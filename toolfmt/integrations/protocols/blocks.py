"""Responses in blocks: text, reasoning and calls are separate items, one open at a time."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Unpack

from toolfmt.integrations.protocols.stream_encoder import Payload, StreamEncoder, StreamOptions


class Blocks(StreamEncoder):
    """Opens a block when an event of another kind arrives, and closes it then, at the end, and when a call ends."""

    def __init__(self, id: str, model: str, created: int, **options: Unpack[StreamOptions]) -> None:
        super().__init__(id, model, created, **options)
        self._started = False
        self._open = ""
        """The kind of the open block: `text`, `reasoning` or `call`; empty if none is open."""

    def _content(self, text: str) -> Iterator[Payload]:
        yield from self._text("text", text)

    def _reasoning(self, text: str) -> Iterator[Payload]:
        yield from self._text("reasoning", text)

    def _call(self, number: int, id: str, name: str) -> Iterator[Payload]:
        yield from self._opened("call", id, name)

    def _arguments(self, number: int, delta: str) -> Iterator[Payload]:
        yield self._added(delta)

    def _call_ended(self, number: int) -> Iterator[Payload]:
        yield from self._close()

    def _call_broke(self, number: int) -> Iterator[Payload]:
        yield from self._close(whole=False)

    def _text(self, kind: str, text: str) -> Iterator[Payload]:
        if self._open != kind:
            yield from self._opened(kind)
        yield self._added(text)

    def _opened(self, kind: str, id: str = "", name: str = "") -> Iterator[Payload]:
        yield from self._close()
        yield from self._begin()
        self._open = kind
        yield from self._block_started(kind, id, name)

    def _close(self, *, whole: bool = True) -> Iterator[Payload]:
        if self._open:
            kind, self._open = self._open, ""
            yield from self._block_ended(kind, whole)

    def _begin(self) -> Iterator[Payload]:
        if not self._started:
            self._started = True
            yield from self._response_started()

    @abstractmethod
    def _response_started(self) -> Iterator[Payload]: ...

    @abstractmethod
    def _block_started(self, kind: str, id: str, name: str) -> Iterator[Payload]: ...

    @abstractmethod
    def _added(self, delta: str) -> Payload:
        """Return the payload for more content of the open block."""

    @abstractmethod
    def _block_ended(self, kind: str, whole: bool) -> Iterator[Payload]: ...
