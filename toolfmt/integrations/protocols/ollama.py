"""Ollama's `/api/chat`: one JSON object per line, with whole calls and arguments as objects.

Source: Ollama, docs/api.md, "Generate a chat completion" (November 2026). Its durations are not known here; of its
counts, only tokens are sent.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, ClassVar, Unpack

from toolfmt.integrations.protocols.stream_encoder import Payload, StreamEncoder, StreamOptions, Usage, arguments_object


class Ollama(StreamEncoder):
    """One response in lines. Calls are always sent whole. Arguments as for `StreamEncoder`."""

    media_type: ClassVar[str] = "application/x-ndjson"

    def __init__(self, id: str, model: str, created: int, **options: Unpack[StreamOptions]) -> None:
        options["whole_calls"] = True
        super().__init__(id, model, created, **options)
        self._started_call = ("", "")

    @staticmethod
    def wire(payload: Payload) -> str:
        return json.dumps(payload) + "\n"

    def _content(self, text: str) -> Iterator[Payload]:
        yield self._line({"content": text})

    def _reasoning(self, text: str) -> Iterator[Payload]:
        yield self._line({"thinking": text})

    def _call(self, number: int, id: str, name: str) -> Iterator[Payload]:
        self._started_call = id, name
        yield from ()

    def _arguments(self, number: int, delta: str) -> Iterator[Payload]:
        id, name = self._started_call
        function = {"index": number, "name": name, "arguments": arguments_object(delta)}
        yield self._line({"tool_calls": [{"id": id, "function": function}]})

    def _call_ended(self, number: int) -> Iterator[Payload]:
        yield from ()

    def _call_broke(self, number: int) -> Iterator[Payload]:
        yield from ()

    def _ended(self, cut: bool, usage: Usage | None) -> Iterator[Payload]:
        counts = {} if usage is None else {"prompt_eval_count": usage.input_tokens, "eval_count": usage.output_tokens}
        yield self._line({}, done=True) | {"done_reason": "length" if cut else "stop"} | counts

    def _failed(self, message: str, kind: str) -> Iterator[Payload]:
        yield {"error": message}

    def _joined(self, payloads: list[Payload]) -> Payload:
        last = payloads[-1]
        if "error" in last:
            return last
        messages = [payload["message"] for payload in payloads]
        merged: dict[str, Any] = {"role": "assistant", "content": "".join(message["content"] for message in messages)}
        if thinking := "".join(message.get("thinking", "") for message in messages):
            merged["thinking"] = thinking
        if calls := [call for message in messages for call in message.get("tool_calls", ())]:
            merged["tool_calls"] = calls
        return last | {"message": merged}

    def _line(self, fields: dict[str, Any], *, done: bool = False) -> Payload:
        created = datetime.fromtimestamp(self.created, UTC).isoformat().replace("+00:00", "Z")
        message = {"role": "assistant", "content": ""} | fields
        return {"model": self.model, "created_at": created, "message": message, "done": done}
