"""llama-cpp-python: a response as events, and a chat handler that renders with the model's template and parses calls.

    llama = Llama("model.gguf", chat_handler=ChatHandler("model.gguf"))
    llama.create_chat_completion(messages, tools=tools, stream=True)

    events = stream(llama, model.render(messages, tools), grammar=model.grammar(tools, syntax="gbnf"))

Contract: llama-cpp-python 0.3.36, `LlamaChatCompletionHandler` and `Llama.generate`. The handler that it creates from a
file's template parses no calls. Its `create_completion` removes control tokens from the text, which most formats use as
markers. Its `detokenize` drops every token of more than 32 bytes. Therefore a `TokenParser` gets the tokens. Markers
that are tokens count only where the model wrote them. With a grammar, they are matched by their text, because toolfmt's
grammars in GBNF allow it in any tokens.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal
from uuid import uuid4

try:
    import llama_cpp
except ModuleNotFoundError as error:
    raise ImportError(
        f"toolfmt.integrations.llama_cpp needs llama-cpp-python: pip install llama-cpp-python gguf ({error})"
    ) from error

from toolfmt.formats import Parser, TokenParser, ToolCallFormat
from toolfmt.grammars.grammar import Grammar
from toolfmt.integrations.protocols import Chat, FinishReason, Payload, RejectedCalls, Usage
from toolfmt.integrations.streaming import Stream, of_tokens
from toolfmt.messages.events import Event
from toolfmt.messages.message import taken_ids
from toolfmt.model.model import Model, load
from toolfmt.render.prompt import Prompt

__all__ = ["ChatHandler", "stream"]

_SAMPLING = {"temperature": "temp"}
"""Options of a chat completion that have another name in `Llama.generate`."""
_NOT_TAKEN = ("logprobs", "top_logprobs", "logit_bias", "response_format")
_CHOICES = (None, "auto", "none")


def stream(
    llama: Any,
    prompt: Prompt,
    *,
    parser: Parser | TokenParser | None = None,
    grammar: Grammar | None = None,
    max_tokens: int | None = None,
    **options: Any,
) -> Stream:
    """Return the events of a model's response to a prompt, as it is generated.

    A stop string of the parser also ends the generation. A call that is open when `max_tokens` are used up is
    `incomplete_output`. Raises what `Prompt.parser` raises.

    Args:
        llama: A `llama_cpp.Llama`.
        prompt: The prompt. It gets no special tokens beyond its own.
        parser: The parser for the response, a `Parser` or a `TokenParser` with its own options; without one, that of
            the prompt.
        grammar: Allow only tokens that it allows: a grammar of `Model.grammar` or `toolfmt.grammar`, in GBNF.
        max_tokens: The maximum number of tokens; without it, the response may fill the context.
        **options: Options of `Llama.generate`, such as `temp`.

    Raises:
        ValueError: The prompt is too long for the context, or the grammar is not in GBNF.
    """
    if grammar is not None:
        if grammar.syntax != "gbnf":
            raise ValueError(f'llama.cpp reads grammars in GBNF: create it with syntax="gbnf", not "{grammar.syntax}"')
        options["grammar"] = llama_cpp.LlamaGrammar.from_string(grammar.text, verbose=False)
    tokens = _Tokens(llama, prompt.text, max_tokens, options)
    return Stream(_streamed(tokens.parser(parser or prompt.parser()), tokens))


def _streamed(parser: TokenParser, tokens: _Tokens) -> Generator[Event, None, tuple[FinishReason, Usage]]:
    for events in _events(parser, tokens):
        yield from events
    return tokens.reason, tokens.usage


class ChatHandler:
    """Creates chat completions for `Llama(chat_handler=…)`, streamed or whole.

    A completion raises what `Model.render` raises. It raises `ValueError` for a prompt that is too long, and for
    unsupported options: `logprobs`, `logit_bias`, `response_format`, and a `tool_choice` without a `grammar` that
    enforces it. A cache set with `set_cache` is not used.

    Args:
        model: A toolfmt `Model`, or an argument of `toolfmt.load`: the .gguf file itself, or the directory it was made
            from. Raises what `load` raises.
        format: The format, for a model whose format is unknown.
        whole_calls: As for `toolfmt.integrations.protocols.Chat`.
        rejected: As for `toolfmt.integrations.protocols.Chat`.
        markers: As for `toolfmt.TokenParser`.
        **rendering: Options of `Model.render`, including the template's variables.
    """

    def __init__(
        self,
        model: str | Path | Model,
        *,
        format: str | ToolCallFormat | None = None,
        whole_calls: bool = True,
        rejected: RejectedCalls = "content",
        markers: Literal["auto", "text"] = "auto",
        **rendering: Any,
    ) -> None:
        self._model = model if isinstance(model, Model) else load(model)
        self._format, self._markers = format, markers
        self._stream_options: dict[str, Any] = {"whole_calls": whole_calls, "rejected": rejected}
        self._rendering = rendering

    def __call__(
        self,
        *,
        llama: Any,
        messages: Sequence[Any],
        functions: Any = None,
        function_call: Any = None,
        tools: Any = None,
        tool_choice: Any = None,
        stream: bool = False,
        stop: str | Sequence[str] | None = None,
        max_tokens: int | None = None,
        seed: int | None = None,
        model: str | None = None,
        **options: Any,
    ) -> Payload | Iterator[Payload]:
        choice = function_call if tool_choice is None else tool_choice
        _check(options, choice)
        prompt = self._model.render(messages, (tools or functions or []) if choice != "none" else [], **self._rendering)
        stops = [stop] if isinstance(stop, str) else stop or ()
        parser = prompt.parser(format=self._format, stop=[text for text in stops if text])
        if seed is not None:
            llama.set_seed(seed)
        tokens = _Tokens(llama, prompt.text, max_tokens, options)
        call_ids: dict[str, Any] = {"taken_ids": taken_ids(messages), "call_id": parser.format.call_id}
        id, name = f"chatcmpl-{uuid4()}", model or llama.model_path
        shape = Chat(id, name, int(time.time()), **call_ids, **self._stream_options)
        batches = _events(tokens.parser(parser, self._markers), tokens)
        if stream:
            return _chunks(shape, batches, tokens)
        events = [event for some in batches for event in some]
        return shape.whole(events, tokens.reason, tokens.usage)


def _events(parser: TokenParser, tokens: _Tokens) -> Iterator[list[Event]]:
    """Yield the parser's events for each token. Generation stops at the end of the response."""
    for token in tokens.generated(parser.format.engine.closers):
        yield parser.feed([token])
        if parser.ended:
            return
    yield parser.finish(cut=tokens.reason == "length")


def _chunks(shape: Chat, batches: Iterator[list[Event]], tokens: _Tokens) -> Iterator[Payload]:
    for events in batches:
        yield from shape.push(events)
    yield from shape.finish(tokens.reason)


def _check(options: dict[str, Any], choice: Any) -> None:
    """Raise for unsupported options instead of ignoring them."""
    for name in _NOT_TAKEN:
        if (value := options.pop(name, None)) and value != {"type": "text"}:
            raise ValueError(f"toolfmt's ChatHandler does not take {name}; leave it out")
    if choice not in _CHOICES and not options.get("grammar"):
        raise ValueError(f"tool_choice {choice!r} is enforced by a grammar alone; give one as `grammar`, or 'auto'")


class _Tokens:
    """The output of the model for a prompt."""

    def __init__(self, llama: Any, prompt: str, most: int | None, options: dict[str, Any]) -> None:
        self._llama = llama
        self._options = {_SAMPLING.get(name, name): value for name, value in options.items()}
        # A tokenizer does not accept half a character (a lone surrogate in JSON).
        self._prompt = llama.tokenize(prompt.encode(errors="replace"), add_bos=False, special=True)
        room = llama.n_ctx() - len(self._prompt)
        if room <= 0:
            raise ValueError(f"the prompt has {len(self._prompt)} tokens, the context {llama.n_ctx()}: give more n_ctx")
        self._most = min(most, room) if most and most > 0 else room
        self._generated = 0
        self.reason: FinishReason = "stop"

    @property
    def usage(self) -> Usage:
        return Usage(len(self._prompt), self._generated)

    def parser(self, parser: Parser | TokenParser, markers: Literal["auto", "text"] = "auto") -> TokenParser:
        """Return the parser of the tokens."""
        if isinstance(parser, Parser) and (markers == "text" or self._options.get("grammar") is not None):
            return TokenParser(parser, self._llama, "text")
        return of_tokens(parser, self._llama)

    def generated(self, closers: Sequence[str]) -> Iterator[int]:
        """Yield the tokens; the end token only if it is one of the format's end markers, `closers`."""
        vocabulary = llama_cpp.llama_model_get_vocab(self._llama.model)
        for token in self._llama.generate(self._prompt, **self._options):
            if llama_cpp.llama_vocab_is_eog(vocabulary, token):
                if llama_cpp.llama_vocab_get_text(vocabulary, token).decode(errors="replace") in closers:
                    yield token
                break
            self._generated += 1
            yield token
            if self._generated >= self._most:
                self.reason = "length"
                break
