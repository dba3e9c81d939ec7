"""mlx-lm: responses as events while they are generated, toolfmt's parsers in mlx-lm's own code, and its server.

    for event in stream(model, tokenizer, prompt, max_tokens=500): ...      # model and tokenizer of mlx_lm.load
    stream(model, tokenizer, prompt, grammar=grammar)                       # only calls that the tools allow
    register()                               # mlx-lm then supports "tool_parser_type": "toolfmt_glm4"
    python -m toolfmt.integrations.mlx_server --model DIR                   # the server

Contracts as in mlx-lm 0.32: `stream_generate` and its logits processors in generate.py; `load` in tokenizer_utils.py,
which imports `mlx_lm.tool_parsers.<tool_parser_type>` and takes three names from it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Generator
from contextlib import closing
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

try:
    import mlx.core as mx
    from mlx_lm import stream_generate
except ModuleNotFoundError as error:
    raise ImportError(f"toolfmt.integrations.mlx needs mlx-lm: pip install 'mlx-lm[cpu]' ({error})") from error

from toolfmt.errors import ToolfmtError
from toolfmt.formats import Parser, TokenParser, ToolCallFormat, get, write
from toolfmt.grammars.masks import Masks
from toolfmt.integrations.protocols import FinishReason, Usage
from toolfmt.integrations.streaming import Stream, of_tokens
from toolfmt.messages.events import Event, ToolCallStart
from toolfmt.messages.message import Message
from toolfmt.render.prompt import Prompt

__all__ = ["GrammarProcessor", "register", "stream"]

PARSERS = "mlx_lm.tool_parsers.toolfmt_"
"""The prefix of the modules that `register` makes available; the name of the format follows."""


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

    A `Prompt` contains its own special tokens and gets no others; a string is encoded as mlx-lm does. Markers that are
    tokens of the tokenizer count only where the model wrote them (`TokenParser`). A stop string of the parser also ends
    the generation. A call that is open when `max_tokens` are used up is `incomplete_output`. Raises what
    `Prompt.parser`, `toolfmt.grammars.masks.Masks` and mlx-lm raise.

    Args:
        model: A model of `mlx_lm.load`.
        tokenizer: Its tokenizer.
        prompt: A `Prompt`, a string or token ids.
        parser: The parser for the response, if `prompt` is not a `Prompt`: a `Parser`, or a `TokenParser` with its own
            options.
        grammar: Allow only tokens that it allows: a grammar of `Model.grammar` or `toolfmt.grammar`, for llguidance.
        **options: Options of `mlx_lm.stream_generate`.

    Raises:
        TypeError: The prompt is not a `Prompt`, and there is no parser.
    """
    ends: set[int] = set()
    if isinstance(prompt, Prompt):
        parser = parser or prompt.parser()
        ends = stop_tokens(tokenizer, prompt.stop)
        prompt = tokenizer.encode(prompt.text, add_special_tokens=False)
    if parser is None:
        raise TypeError("a prompt that is a string or token ids needs a parser: stream(…, parser=Parser(format))")
    if grammar is not None:
        allowed = GrammarProcessor(Masks(grammar, tokenizer, ends | {*tokenizer.eos_token_ids}))
        options["logits_processors"] = [*(options.get("logits_processors") or ()), allowed]
    generated = stream_generate(model, tokenizer, prompt, **options)
    return Stream(_events(generated, of_tokens(parser, tokenizer), ends))


def _events(generated: Any, parser: TokenParser, ends: set[int]) -> Generator[Event, None, tuple[FinishReason, Usage]]:
    with closing(generated):
        for response in generated:
            if response.finish_reason != "stop":  # its last token is the end token, which is not in the text
                yield from parser.feed([response.token])
            stopped = parser.ended or response.token in ends
            if stopped or response.finish_reason:
                break
    reason: FinishReason = "length" if not stopped and response.finish_reason == "length" else "stop"
    yield from parser.finish(cut=reason == "length")
    return reason, Usage(response.prompt_tokens, response.generation_tokens)


class GrammarProcessor:
    """A logits processor of mlx-lm for one response. It sets the logits of tokens that the masks do not allow to -inf.

    mlx-lm calls it with the tokens so far and the logits of the next one. On the first call, no token is part of the
    response.

    Args:
        masks: The masks of a grammar (`toolfmt.grammars.masks`).
    """

    def __init__(self, masks: Masks) -> None:
        self._masks = masks
        self._before: int | None = None

    def __call__(self, tokens: Any, logits: Any) -> Any:
        if self._before is None:
            self._before = tokens.size
        self._masks.follow(tokens[self._before :].tolist())
        bits: Any = self._masks.bits()  # mlx accepts objects with a buffer, which its types do not show
        allowed = (mx.array(bits)[:, None] >> mx.arange(8, dtype=mx.uint8)) & 1
        size = logits.shape[-1]
        allowed = mx.pad(allowed.flatten()[:size], (0, max(0, size - allowed.size)))
        return mx.where(allowed, logits, -mx.inf)


def stop_tokens(tokenizer: Any, stop: tuple[str, ...]) -> set[int]:
    """Return the ids of stop strings that are one token. Calls may end with them, so the parser must see them."""
    encoded = (tokenizer.encode(mark, add_special_tokens=False) for mark in stop)
    return {ids[0] for ids in encoded if len(ids) == 1}


def register() -> None:
    """Make `toolfmt_<format>` available to mlx-lm as a `tool_parser_type`, for every name of a format.

    Set it in tokenizer_config.json, or pass `mlx_lm.load(…, tokenizer_config={"tool_parser_type": …})`. mlx-lm passes
    all text after the format's marker to the parser once the response has ended. Content after a call is lost, and a
    call that cannot be parsed is logged and left out. If the calls of a format do not begin with a marker of their own,
    importing its parser raises `ImportError`.
    """
    if not any(isinstance(finder, _Parsers) for finder in sys.meta_path):
        sys.meta_path.append(_Parsers())


class _Parsers(MetaPathFinder, Loader):
    """Finds and creates the modules from which mlx-lm imports parsers."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        return ModuleSpec(fullname, self) if fullname.startswith(PARSERS) else None

    def exec_module(self, module: ModuleType) -> None:
        try:
            format = get(module.__name__.removeprefix(PARSERS))
        except ToolfmtError as error:
            raise ImportError(str(error)) from None
        opener = _marker(format)

        def parse_tool_call(text: str, tools: Any = None) -> list[dict[str, Any]]:
            return _calls(opener + text, format, tools)

        # No end marker: a value may contain it, and another call may follow.
        vars(module).update(tool_call_start=opener, tool_call_end="", parse_tool_call=parse_tool_call)


def _marker(format: ToolCallFormat) -> str:
    """Return the marker with which only calls of the format begin. Raises `ImportError` if there is none."""
    written = write(format, [("f", {"a": "b"})])
    starts = [opener for opener in format.openers if written.startswith(opener)]
    of_content = [
        opener
        for opener in starts
        for more in ("", *format.ignored_at_start)
        if opener + more in format.ignored_markers
    ]
    if not starts or of_content:
        raise ImportError(
            f"mlx-lm hands over what follows a marker, and calls of the format {format.name} begin with none of their "
            "own; take toolfmt.integrations.mlx.stream, or the server: python -m toolfmt.integrations.mlx_server"
        )
    return starts[0]


def _calls(text: str, format: ToolCallFormat, tools: Any) -> list[dict[str, Any]]:
    """Return the calls in a string as mlx-lm's parsers do. Raises `ValueError` if none can be parsed."""
    parser = Parser(format, tools=tools)
    events = [*parser.feed(text), *parser.finish()]
    written = {event.id for event in events if isinstance(event, ToolCallStart)}
    message = Message.from_events(events, call_id=format.call_id)
    if not message.tool_calls:
        why = message.rejected[0].message if message.rejected else "There is no tool call."
        raise ValueError(f"{why} The format is {format.name}.")
    return [
        # If the model wrote no id, mlx-lm creates one that is unique in the conversation.
        {"name": call.name, "arguments": json.loads(call.arguments), "id": call.id if call.id in written else None}
        for call in message.tool_calls
    ]
