"""transformers: a model's response as events while `generate` writes it, and formats as `response_template`.

`generate` runs in its own thread and passes tokens to a streamer. The parser runs in the caller's thread. Contracts as
in transformers 5.23 and 5.24: `generation/streamers.py`, `generation/stopping_criteria.py`, and `LogitsProcessor` of
`generation/logits_process.py`. `toolfmt.integrations.verified_templates` creates and verifies templates.
`toolfmt.formats.response_template.reader` reads those that models declare.
"""

from __future__ import annotations

import atexit
import threading
from collections.abc import Generator, Iterator
from queue import SimpleQueue
from typing import Any

try:
    from transformers import BatchEncoding, LogitsProcessorList
    from transformers.generation.streamers import BaseStreamer
except ModuleNotFoundError as error:
    raise ImportError(
        f"toolfmt.integrations.transformers needs transformers: pip install transformers ({error})"
    ) from error

from toolfmt.formats import Parser, TokenParser
from toolfmt.formats.response_template.reader import from_response_template
from toolfmt.grammars.masks import Masks
from toolfmt.integrations.protocols import FinishReason, Usage
from toolfmt.integrations.streaming import Stream, of_tokens
from toolfmt.integrations.verified_templates import LIMITS, limits, response_template
from toolfmt.messages.events import Event
from toolfmt.render.prompt import Prompt

__all__ = ["LIMITS", "from_response_template", "limits", "response_template", "stream"]

_MOST_UNREAD = 16
"""Number of unread tokens after which `generate` waits, so that an unread stream costs no more."""
_END = None
"""After the last token."""


def stream(
    model: Any,
    tokenizer: Any,
    prompt: Any,
    *,
    parser: Parser | TokenParser | None = None,
    grammar: Any = None,
    **options: Any,
) -> Stream:
    """Return the events of a model's response to a prompt, as it is generated.

    Markers that are tokens of the tokenizer count only where the model wrote them (`TokenParser`). A stop string of the
    parser ends the generation. If the model did not end its response itself, an open call is `incomplete_output`. The
    generation runs a few tokens ahead of the consumer. Closing the stream, leaving a `with` block, deleting the stream
    or ending the program stops it at its next token. Raises what `Prompt.parser` and `toolfmt.grammars.masks.Masks`
    raise, and during iteration what `generate` raised.

    Args:
        model: A model of transformers.
        tokenizer: Its tokenizer.
        prompt: A `Prompt`, a string or token ids. Strings get no special tokens.
        parser: The parser for the response, if `prompt` is not a `Prompt`: a `Parser`, or a `TokenParser` with its own
            options. Pass the end-of-turn tokens as its `stop`, because the output contains control tokens.
        grammar: Allow only tokens that it allows: a grammar of `Model.grammar` or `toolfmt.grammar`, for llguidance.
        **options: Options of `generate`.

    Raises:
        TypeError: The prompt is not a `Prompt`, and there is no parser.
    """
    if isinstance(prompt, Prompt):
        parser = parser or prompt.parser()
        prompt = prompt.text
    if parser is None:
        raise TypeError(
            "a prompt that is a string or token ids needs a parser: stream(…, parser=Parser(format, stop=[…]))"
        )
    return Stream(_events(_Generation(model, tokenizer, prompt, options, grammar), of_tokens(parser, tokenizer)))


def _events(generation: _Generation, parser: TokenParser) -> Generator[Event, None, tuple[FinishReason, Usage]]:
    try:
        for token in generation.tokens():
            yield from parser.feed([token])
            if parser.ended:
                break
        reason: FinishReason = "length" if generation.cut and not parser.ended else "stop"
        yield from parser.finish(cut=reason == "length")
    finally:
        generation.end_it()
    return reason, Usage(generation.prompt_tokens, generation.generated)


class GrammarLogitsProcessor:
    """A `LogitsProcessor` for one response. It makes tokens impossible that the masks do not allow.

    `before` are the tokens of the prompt.
    """

    def __init__(self, masks: Masks, before: int) -> None:
        self._masks, self._before = masks, before

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        import torch

        self._masks.follow(input_ids[0, self._before :].tolist())
        bits = torch.frombuffer(bytearray(self._masks.bits()), dtype=torch.uint8)
        allowed = (bits[:, None] >> torch.arange(8, dtype=torch.uint8) & 1).flatten()[: scores.shape[-1]]
        allowed = torch.nn.functional.pad(allowed, (0, scores.shape[-1] - len(allowed)))
        return scores.masked_fill(allowed.to(scores.device) == 0, -torch.inf)


class _Generation(BaseStreamer):
    """`generate` in a thread, token by token."""

    def __init__(self, model: Any, tokenizer: Any, prompt: Any, options: dict[str, Any], grammar: Any) -> None:
        self._model, self._tokenizer, self._options = model, tokenizer, dict(options)
        self._ids = tokenizer.encode(prompt, add_special_tokens=False) if isinstance(prompt, str) else [*prompt]
        self._queue: SimpleQueue[int | None] = SimpleQueue()
        self._is_prompt = True
        self._last: int | None = None
        self.prompt_tokens, self.generated = len(self._ids), 0
        self._unwanted = threading.Event()
        self._room = threading.Semaphore(_MOST_UNREAD)
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._generate, daemon=True)
        if grammar is not None:
            allowed = GrammarLogitsProcessor(Masks(grammar, tokenizer, self._ends()), self.prompt_tokens)
            self._options["logits_processor"] = LogitsProcessorList((*options.get("logits_processor", ()), allowed))

    def tokens(self) -> Iterator[int]:
        """Yield the generated tokens. Raises what `generate` raised."""
        atexit.register(self.end_it)  # torch aborts a program that ends during a step of a model
        self._thread.start()
        while (token := self._queue.get()) is not _END:
            self._room.release()
            yield token
        self._thread.join()
        if self._failure is not None:
            raise self._failure

    def end_it(self) -> None:
        """Stop the generation, and return after the thread's end (a cycle may be collected in that thread itself)."""
        self._unwanted.set()
        self._room.release()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join()

    @property
    def cut(self) -> bool:
        """Whether the model did not end the response itself."""
        return self._last not in self._ends()

    def _ends(self) -> list[Any]:
        """Return the tokens at which `generate` ends a response."""
        settings = self._options.get("generation_config") or self._model.generation_config
        ends = self._options.get("eos_token_id", settings.eos_token_id)
        return [*ends] if isinstance(ends, (list, tuple)) else [ends]

    def put(self, value: Any) -> None:
        """Called by `generate`, first with the prompt, then with every token (several with speculative decoding)."""
        if self._is_prompt:
            self._is_prompt = False
            return
        for token in value.flatten().tolist():
            self._last = token
            self.generated += 1
            if not self._unwanted.is_set():
                self._room.acquire()
            self._queue.put(token)

    def end(self) -> None:
        """Called by `generate` at its end. `_generate` puts the end into the queue, also after an error."""

    def _generate(self) -> None:
        try:
            ids = BatchEncoding({"input_ids": [self._ids], "attention_mask": [[1] * len(self._ids)]}, tensor_type="pt")
            ids = ids.to(self._model.device)
            if self._options.get("stop_strings"):
                self._options["tokenizer"] = self._tokenizer  # `generate` needs it to find them
            criteria = [*self._options.pop("stopping_criteria", ()), self._is_unwanted]
            self._model.generate(
                ids["input_ids"],
                attention_mask=ids["attention_mask"],
                streamer=self,
                stopping_criteria=criteria,
                **self._options,
            )
        except BaseException as error:  # noqa: BLE001  # raised again in the consumer
            self._failure = error
        finally:
            atexit.unregister(self.end_it)  # not in `end_it`, which also runs after the modules are gone
            self._queue.put(_END)

    def _is_unwanted(self, *_: Any, **__: Any) -> bool:
        """A stopping criterion, called after every token."""
        return self._unwanted.is_set()
