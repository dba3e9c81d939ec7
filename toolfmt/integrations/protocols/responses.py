"""OpenAI's Responses: the events of a streamed response, and the response that they add up to.

Source: OpenAI API reference, "Responses" and "Streaming events" (November 2026). Reasoning is sent as a summary, the
only form of it that clients show.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from typing import Any, Unpack

from toolfmt.integrations.protocols.blocks import Blocks
from toolfmt.integrations.protocols.stream_encoder import Payload, StreamOptions, Usage

_PARTS = {
    # block: the events of its part, the key and the empty form of the part, the key of its number
    "text": ("content_part", "output_text", "content", "content_index"),
    "reasoning": ("reasoning_summary_part", "reasoning_summary_text", "summary", "summary_index"),
}


class Responses(Blocks):
    """One response, with an output item for each piece of text and of reasoning, and for each call (OpenAI).

    Arguments as for `StreamEncoder`.
    """

    def __init__(self, id: str, model: str, created: int, **options: Unpack[StreamOptions]) -> None:
        super().__init__(id, model, created, **options)
        self._output: list[dict[str, Any]] = []
        self._deltas: list[str] = []
        """The deltas of the open item, joined when it ends, so that the cost per delta does not grow."""
        self._sequence = 0

    @staticmethod
    def wire(payload: Payload) -> str:
        return f"event: {payload['type']}\ndata: {json.dumps(payload)}\n\n"

    def _response_started(self) -> Iterator[Payload]:
        yield self._event("response.created", response=self._response("in_progress"))
        yield self._event("response.in_progress", response=self._response("in_progress"))

    def _block_started(self, kind: str, id: str, name: str) -> Iterator[Payload]:
        number = len(self._output)
        item: dict[str, Any]
        if kind == "call":
            item = {"type": "function_call", "id": f"fc_{self.id}_{number}", "call_id": id, "name": name}
            item |= {"arguments": "", "status": "in_progress"}
        elif kind == "text":
            item = {"type": "message", "id": f"msg_{self.id}_{number}", "role": "assistant", "status": "in_progress"}
            item |= {"content": []}
        else:
            item = {"type": "reasoning", "id": f"rs_{self.id}_{number}", "summary": []}
        self._output.append(item)
        yield self._of_item("response.output_item.added", item=deepcopy(item), item_id=None)
        if kind in _PARTS:
            event, _, key, index = _PARTS[kind]
            part: dict[str, Any] = {"type": "summary_text", "text": ""}
            if kind == "text":
                part = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
            item[key].append(part)
            yield self._of_item(f"response.{event}.added", **{index: 0}, part=dict(part))

    def _added(self, delta: str) -> Payload:
        self._deltas.append(delta)
        if self._open == "call":
            return self._of_item("response.function_call_arguments.delta", delta=delta)
        _, event, _, index = _PARTS[self._open]
        logprobs: dict[str, Any] = {"logprobs": []} if self._open == "text" else {}
        return self._of_item(f"response.{event}.delta", **{index: 0}, delta=delta, **logprobs)

    def _block_ended(self, kind: str, whole: bool) -> Iterator[Payload]:
        item, whole_text = self._output[-1], "".join(self._deltas)
        self._deltas.clear()
        if kind in _PARTS:
            event, text, key, index = _PARTS[kind]
            item[key][0]["text"] = whole_text
            logprobs: dict[str, Any] = {"logprobs": []} if kind == "text" else {}
            yield self._of_item(f"response.{text}.done", **{index: 0}, text=whole_text, **logprobs)
            yield self._of_item(f"response.{event}.done", **{index: 0}, part=dict(item[key][0]))
        else:
            item["arguments"] = whole_text
        if kind == "call" and whole:
            done = "response.function_call_arguments.done"
            yield self._of_item(done, name=item["name"], arguments=whole_text)
        if "status" in item:
            item["status"] = "completed" if whole else "incomplete"
        yield self._of_item("response.output_item.done", item=deepcopy(item), item_id=None)

    def _ended(self, cut: bool, usage: Usage | None) -> Iterator[Payload]:
        yield from self._begin()
        yield from self._close(whole=not cut)
        status = "incomplete" if cut else "completed"
        response = self._response(status) | {"usage": None if usage is None else _usage(usage)}
        if cut:
            response["incomplete_details"] = {"reason": "max_output_tokens"}
        yield self._event(f"response.{status}", response=response)

    def _failed(self, message: str, kind: str) -> Iterator[Payload]:
        yield from self._begin()
        yield from self._close(whole=False)
        response = self._response("failed") | {"error": {"code": "server_error", "message": message}}
        yield self._event("response.failed", response=response)

    def _joined(self, payloads: list[Payload]) -> Payload:
        response: Payload = payloads[-1]["response"]
        return response

    def _event(self, type: str, **fields: Any) -> Payload:
        number, self._sequence = self._sequence, self._sequence + 1
        return {"type": type, "sequence_number": number, **fields}

    def _of_item(self, type: str, **fields: Any) -> Payload:
        """Return an event about the last item. If `item` contains it, `item_id` is left out."""
        about = {"item_id": self._output[-1]["id"], "output_index": len(self._output) - 1}
        return self._event(type, **{key: value for key, value in (about | fields).items() if value is not None})

    def _response(self, status: str) -> dict[str, Any]:
        return {
            "id": self.id,
            "object": "response",
            "created_at": self.created,
            "model": self.model,
            "status": status,
            "output": deepcopy(self._output),
            "error": None,
            "incomplete_details": None,
            "instructions": None,
            "metadata": {},
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "temperature": None,
            "top_p": None,
        }


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "input_tokens": usage.input_tokens,
        "input_tokens_details": {"cached_tokens": usage.cached_tokens, "cache_write_tokens": 0},
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
        "total_tokens": usage.total_tokens,
    }
