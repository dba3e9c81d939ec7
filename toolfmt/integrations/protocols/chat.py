"""OpenAI's Chat Completions: `chat.completion.chunk` objects, and the `chat.completion` that they add up to.

Source: OpenAI API reference, "Chat Completions" and "Streaming events" (November 2026). The keys for reasoning are not
part of it: vLLM and SGLang write `reasoning_content`, vLLM from 0.12 on `reasoning`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Unpack

from toolfmt.integrations.protocols.stream_encoder import Payload, StreamEncoder, StreamOptions, Usage

_ABOUT_A_CALL = ("id", "type")


class Chat(StreamEncoder):
    """One choice of a completion (OpenAI's Chat Completions).

    Args:
        id: As for `StreamEncoder`.
        model: As for `StreamEncoder`.
        created: As for `StreamEncoder`.
        choice: The index of the choice.
        reasoning_keys: The keys for reasoning, each with all of it. An empty sequence leaves reasoning out.
        **options: As for `StreamEncoder`.
    """

    end = "data: [DONE]\n\n"

    def __init__(
        self,
        id: str,
        model: str,
        created: int,
        *,
        choice: int = 0,
        reasoning_keys: Sequence[str] = ("reasoning_content",),
        **options: Unpack[StreamOptions],
    ) -> None:
        super().__init__(id, model, created, **options)
        self._choice, self._reasoning_keys = choice, tuple(reasoning_keys)
        self._started = False

    def _content(self, text: str) -> Iterator[Payload]:
        yield self._chunk({"content": text})

    def _reasoning(self, text: str) -> Iterator[Payload]:
        if self._reasoning_keys:
            yield self._chunk(dict.fromkeys(self._reasoning_keys, text))

    def _call(self, number: int, id: str, name: str) -> Iterator[Payload]:
        call = {"index": number, "id": id, "type": "function", "function": {"name": name, "arguments": ""}}
        yield self._chunk({"tool_calls": [call]})

    def _arguments(self, number: int, delta: str) -> Iterator[Payload]:
        yield self._chunk({"tool_calls": [{"index": number, "function": {"arguments": delta}}]})

    def _call_ended(self, number: int) -> Iterator[Payload]:
        yield from ()

    def _call_broke(self, number: int) -> Iterator[Payload]:
        yield from ()

    def _ended(self, cut: bool, usage: Usage | None) -> Iterator[Payload]:
        yield from self._opened()
        yield self._chunk({}, "length" if cut else "tool_calls" if self._numbers else "stop")
        if usage is not None:
            yield self._head("chat.completion.chunk") | {"choices": [], "usage": _usage(usage)}

    def _failed(self, message: str, kind: str) -> Iterator[Payload]:
        yield {"error": {"message": message, "type": kind, "param": None, "code": None}}

    def _joined(self, payloads: list[Payload]) -> Payload:
        if "error" in payloads[-1]:
            return payloads[-1]
        texts: dict[str, list[str]] = {}
        calls: list[dict[str, Any]] = []
        arguments: list[list[str]] = []
        reason = None
        for choice in (choice for payload in payloads for choice in payload["choices"]):
            reason = choice["finish_reason"] or reason
            for key, value in choice["delta"].items():
                if key == "tool_calls":
                    _join_call(calls, arguments, value[0])
                elif key != "role" and value:
                    texts.setdefault(key, []).append(value)
        for call, pieces in zip(calls, arguments, strict=True):
            call["function"]["arguments"] = "".join(pieces)
        message: dict[str, Any] = {"role": "assistant", "content": None if calls else ""}
        message |= {key: "".join(pieces) for key, pieces in texts.items()}
        if calls:
            message["tool_calls"] = calls
        choice = {"index": self._choice, "message": message, "logprobs": None, "finish_reason": reason}
        usage = {"usage": payloads[-1]["usage"]} if "usage" in payloads[-1] else {}
        return self._head("chat.completion") | {"choices": [choice]} | usage

    def _opened(self) -> Iterator[Payload]:
        if not self._started:
            yield self._chunk({"content": ""})

    def _head(self, kind: str) -> dict[str, Any]:
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model}

    def _chunk(self, delta: dict[str, Any], finish_reason: str | None = None) -> Payload:
        if not self._started:
            delta = {"role": "assistant"} | delta
            self._started = True
        choice = {"index": self._choice, "delta": delta, "finish_reason": finish_reason}
        return self._head("chat.completion.chunk") | {"choices": [choice]}


def _join_call(calls: list[dict[str, Any]], arguments: list[list[str]], call: dict[str, Any]) -> None:
    if "id" in call:
        calls.append({key: call[key] for key in _ABOUT_A_CALL} | {"function": dict(call["function"])})
        arguments.append([])
    else:
        arguments[call["index"]].append(call["function"]["arguments"])


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.total_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
    }
