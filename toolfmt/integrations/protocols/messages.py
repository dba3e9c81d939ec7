"""Anthropic's Messages: the events of a streamed message, and the message that they add up to.

Source: Anthropic API reference, "Messages" and "Streaming messages" (November 2026). Only Anthropic can create the
`signature` of reasoning; it is empty here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Unpack

from toolfmt.integrations.protocols.blocks import Blocks
from toolfmt.integrations.protocols.stream_encoder import NO_USAGE, Payload, StreamOptions, Usage, arguments_object

_DELTAS = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}
"""The key of the text in each type of delta."""
_TYPES = {"text": "text_delta", "reasoning": "thinking_delta", "call": "input_json_delta"}


class Messages(Blocks):
    """One assistant message in blocks of text, thinking and tool use (Anthropic). Arguments as for `StreamEncoder`."""

    def __init__(self, id: str, model: str, created: int, **options: Unpack[StreamOptions]) -> None:
        super().__init__(id, model, created, **options)
        self._block = -1

    @staticmethod
    def wire(payload: Payload) -> str:
        return f"event: {payload['type']}\ndata: {json.dumps(payload)}\n\n"

    def _response_started(self) -> Iterator[Payload]:
        message = self._message([], None, {"input_tokens": 0, "output_tokens": 0})
        yield {"type": "message_start", "message": message}

    def _block_started(self, kind: str, id: str, name: str) -> Iterator[Payload]:
        self._block += 1
        empty: dict[str, dict[str, Any]] = {
            "text": {"type": "text", "text": ""},
            "reasoning": {"type": "thinking", "thinking": "", "signature": ""},
            "call": {"type": "tool_use", "id": id, "name": name, "input": {}},
        }
        yield {"type": "content_block_start", "index": self._block, "content_block": empty[kind]}

    def _added(self, delta: str) -> Payload:
        kind = _TYPES[self._open]
        return {"type": "content_block_delta", "index": self._block, "delta": {"type": kind, _DELTAS[kind]: delta}}

    def _block_ended(self, kind: str, whole: bool) -> Iterator[Payload]:
        yield {"type": "content_block_stop", "index": self._block}

    def _ended(self, cut: bool, usage: Usage | None) -> Iterator[Payload]:
        yield from self._begin()
        yield from self._close()
        reason = "max_tokens" if cut else "tool_use" if self._numbers else "end_turn"
        used = _usage(usage or NO_USAGE)
        yield {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": used}
        yield {"type": "message_stop"}

    def _failed(self, message: str, kind: str) -> Iterator[Payload]:
        yield from self._begin()
        yield from self._close(whole=False)
        yield {"type": "error", "error": {"type": "api_error", "message": message}}

    def _joined(self, payloads: list[Payload]) -> Payload:
        if payloads[-1]["type"] == "error":
            return payloads[-1]
        blocks: list[dict[str, Any]] = []
        deltas: list[list[str]] = []
        stop, used = None, _usage(NO_USAGE)
        for payload in payloads:
            if payload["type"] == "content_block_start":
                blocks.append(dict(payload["content_block"]))
                deltas.append([])
            elif payload["type"] == "content_block_delta":
                deltas[-1].append(payload["delta"][_DELTAS[payload["delta"]["type"]]])
            elif payload["type"] == "message_delta":
                stop, used = payload["delta"]["stop_reason"], payload["usage"]
        for block, pieces in zip(blocks, deltas, strict=True):
            text = "".join(pieces)
            if block["type"] == "tool_use":
                block["input"] = arguments_object(text)
            else:
                block[block["type"]] = text
        return self._message(blocks, stop, used)

    def _message(self, blocks: list[dict[str, Any]], stop: str | None, usage: dict[str, int]) -> dict[str, Any]:
        about = {"id": self.id, "type": "message", "role": "assistant", "model": self.model}
        return about | {"content": blocks, "stop_reason": stop, "stop_sequence": None, "usage": usage}


def _usage(usage: Usage) -> dict[str, int]:
    """In this protocol, cached tokens are not part of the other tokens (reference, "Usage")."""
    return {
        "input_tokens": usage.input_tokens - usage.cached_tokens,
        "cache_read_input_tokens": usage.cached_tokens,
        "output_tokens": usage.output_tokens,
    }
