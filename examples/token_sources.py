"""The token sources of `server.py`: mlx-lm, transformers, a raw completion endpoint, or a file.

A `Source` is called with a finished prompt and yields the output in chunks, as the model wrote it: the markers of calls
must be in it, and no user's text may have become one. The caller closes it; a source then stops generating.
"""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeAlias

from toolfmt import Prompt
from toolfmt.integrations.protocols import FinishReason, Usage


@dataclass(frozen=True)
class Piece:
    """Some text of an output; why it ended, with its last chunk; the tokens so far, if they are known.

    An output without a reason was interrupted, and so has failed.
    """

    text: str
    reason: FinishReason | None = None
    usage: Usage | None = None


Source: TypeAlias = Callable[[Prompt, int, Mapping[str, float]], AsyncGenerator[Piece, None]]
"""Generates for a prompt at most so many tokens, sampled with the `temperature` and `top_p` that the request names."""


def mlx_lm_source(directory: str) -> Source:
    """Generates with mlx-lm."""
    from mlx_lm import load, stream_generate
    from mlx_lm.sample_utils import make_sampler

    thread = ThreadPoolExecutor(1)  # arrays of MLX belong to the thread that made them
    model, tokenizer = thread.submit(load, directory).result()

    def pieces(prompt: Prompt, limit: int, sampling: Mapping[str, float]) -> Generator[Piece, None, None]:
        ids = prompt.token_ids(tokenizer._tokenizer)  # in the ids of `prompt.text`, a user's text may be a marker
        sampler = make_sampler(temp=sampling.get("temperature", 0.0), top_p=sampling.get("top_p", 0.0))
        for response in stream_generate(model, tokenizer, ids, max_tokens=limit, sampler=sampler):
            yield Piece(
                response.text, response.finish_reason, Usage(response.prompt_tokens, response.generation_tokens)
            )

    return _in_one_thread(pieces, thread)


def transformers_source(directory: str) -> Source:
    """Generates with transformers."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, TextIteratorStreamer

    tokenizer: Any = AutoTokenizer.from_pretrained(directory)
    model: Any = AutoModelForCausalLM.from_pretrained(directory)
    ends = model.generation_config.eos_token_id
    ends = ends if isinstance(ends, list) else [ends]

    class Counting(TextIteratorStreamer):
        """Yields whole words, and counts their tokens."""

        tokens = 0

        def put(self, value: Any) -> None:
            self.tokens += 0 if self.next_tokens_are_prompt else value.numel()
            super().put(value)  # type: ignore[no-untyped-call]  # transformers has no types here

    def pieces(prompt: Prompt, limit: int, sampling: Mapping[str, float]) -> Generator[Piece, None, None]:
        ids = torch.tensor([prompt.token_ids(tokenizer)])
        streamer: Any = Counting(tokenizer, skip_prompt=True, skip_special_tokens=False)
        gone = threading.Event()
        sampled = {"do_sample": True, **sampling} if sampling.get("temperature") else {"do_sample": False}

        def generate() -> bool:
            try:
                whole = model.generate(
                    ids,
                    attention_mask=torch.ones_like(ids),
                    max_new_tokens=limit,
                    streamer=streamer,
                    stopping_criteria=[lambda input_ids, scores: torch.full((len(input_ids),), gone.is_set())],
                    **sampled,
                )
                return int(whole[0, -1]) in ends
            finally:
                streamer.end()  # also if generating fails: without this, the loop below waits forever

        with ThreadPoolExecutor(1) as thread:
            generated = thread.submit(generate)
            try:
                for text in streamer:
                    yield Piece(text, usage=Usage(ids.shape[1], streamer.tokens))
            finally:
                gone.set()
            yield Piece("", "stop" if generated.result() else "length")

    return _in_one_thread(pieces, ThreadPoolExecutor(1))


def _in_one_thread(
    pieces: Callable[[Prompt, int, Mapping[str, float]], Generator[Piece, None, None]], thread: ThreadPoolExecutor
) -> Source:
    """A source made from a blocking generator function: each step runs in the thread, one response at a time."""
    alone = asyncio.Lock()

    async def source(prompt: Prompt, limit: int, sampling: Mapping[str, float]) -> AsyncGenerator[Piece, None]:
        loop = asyncio.get_running_loop()
        async with alone:
            generating = pieces(prompt, limit, sampling)
            try:
                while (piece := await loop.run_in_executor(thread, next, generating, None)) is not None:
                    yield piece
            finally:
                # When the client has disconnected, a step may still run: the thread closes the generator after it.
                thread.submit(generating.close)

    return source


def endpoint_source(url: str, model: str) -> Source:
    """Generates with a raw completion endpoint that takes the finished prompt: vLLM's, SGLang's, llama.cpp's, mlx-lm's.

    `model` is the endpoint's name for its model. A prompt that begins with a BOS token gets two of them if the endpoint
    adds one and has no option against it (SGLang, mlx-lm). If the endpoint always detokenizes without special tokens
    (llama.cpp without `--special`), markers that are special tokens are lost. It takes only text: so a marker in a
    user's text gets a dot inserted (`neutralize`), and stays text.
    """
    import httpx

    # Others ignore these. The first two are vLLM's and SGLang's: the markers stay. The third is vLLM's only: no second
    # BOS token is added.
    as_it_is = {"skip_special_tokens": False, "spaces_between_special_tokens": False, "add_special_tokens": False}
    options = {"model": model, "stream": True, "stream_options": {"include_usage": True}, **as_it_is}

    async def source(prompt: Prompt, limit: int, sampling: Mapping[str, float]) -> AsyncGenerator[Piece, None]:
        neutral = await asyncio.to_thread(prompt.render_again, neutralize=True)
        body = {**options, **sampling, "prompt": neutral.text, "max_tokens": limit}
        async with httpx.AsyncClient(timeout=None) as client, client.stream("POST", url, json=body) as response:
            if response.is_error:
                raise RuntimeError(_failure(response.status_code, await response.aread(), model))
            async for line in _lines(response.aiter_bytes()):
                if line.startswith(b"data:") and (data := line[5:].strip()) != b"[DONE]":
                    yield _piece_of(json.loads(data))

    return source


def _failure(status: int, body: bytes, model: str) -> str:
    """The error of an endpoint that does not respond, in one line of the server's log."""
    message = " ".join(body.decode("utf-8", "replace").split())[:200]
    way_out = f"; if it is the model {model!r} that it does not know, --called gives its name" if status == 404 else ""
    return f"the endpoint answered {status}: {message}{way_out}"


async def _lines(pieces: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    """The lines of an event stream. httpx would break a line at U+2028, too, which may be in a JSON text."""
    rest = b""
    async for piece in pieces:
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            yield line
    yield rest


_REASONS: dict[str, FinishReason] = {"stop": "stop", "eos": "stop", "length": "length"}


def _piece_of(chunk: Mapping[str, Any]) -> Piece:
    """A chunk of OpenAI's Completions; raises if the output ends in any way but by the model or by the limit."""
    if chunk.get("error"):
        raise RuntimeError(str(chunk["error"]))
    choice: Mapping[str, Any] = next(iter(chunk.get("choices") or ()), {})
    ended, used = choice.get("finish_reason"), chunk.get("usage")
    usage = Usage(used["prompt_tokens"], used["completion_tokens"]) if used else None
    if ended and ended not in _REASONS:  # aborted, filtered, an error
        raise RuntimeError(f"the endpoint broke its answer off: {ended!r}")
    return Piece(choice.get("text") or "", _REASONS[ended] if ended else None, usage)


def text_source(text: str) -> Source:
    """Returns the same for every prompt, a word at a time."""
    words = re.findall(r"\s*\S+|\s+", text)

    async def source(prompt: Prompt, limit: int, sampling: Mapping[str, float]) -> AsyncGenerator[Piece, None]:
        for word in words[:limit]:
            yield Piece(word)
        count = min(limit, len(words))
        yield Piece("", "stop" if count == len(words) else "length", Usage(0, count))

    return source
