"""mlx-lm: answers as events while they are generated, toolfmt's parsers in mlx-lm's own code, and its server.

    for event in stream(model, tokenizer, prompt, max_tokens=500): ...      # model and tokenizer of mlx_lm.load
    stream(model, tokenizer, prompt, grammar=grammar)                       # no call but those that the tools allow
    register()                               # "tool_parser_type": "toolfmt_glm4" is then known to mlx-lm
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
from toolfmt.formats import Parser, ToolCallFormat, get, write
from toolfmt.grammars.masks import Masks
from toolfmt.integrations.protocols import FinishReason, Usage
from toolfmt.integrations.streaming import Stream
from toolfmt.messages.events import Event, ToolCallStart
from toolfmt.messages.message import Message
from toolfmt.render.prompt import Prompt

__all__ = ["GrammarProcessor", "register", "stream"]

PARSERS = "mlx_lm.tool_parsers.toolfmt_"
"""The modules that `register` makes known, up to the name of the format."""


def stream(
    model: Any, tokenizer: Any, prompt: Any, *, parser: Parser | None = None, grammar: Any = None, **options: Any
) -> Stream:
    """The events of a model's answer to a prompt, as it is generated.

    Takes a model and a tokenizer of `mlx_lm.load`; a `Prompt`, or a text or token ids and the `parser` to read the
    answer with; and what `mlx_lm.stream_generate` takes as `options`. A `Prompt` holds its own special tokens and gets
    no others; a text is encoded as mlx-lm does. The answer ends at a stop string too, and the generation with it. A
    call that is open when `max_tokens` are used up is `incomplete_output`. With a `grammar` (of `Model.grammar` or
    `toolfmt.grammar`, in the dialect llguidance) no token comes that it does not allow. Raises `TypeError` for a text
    without a parser, and what `Prompt.parser`, `toolfmt.grammars.masks.Masks` and mlx-lm raise.
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
    return Stream(_events(stream_generate(model, tokenizer, prompt, **options), parser, ends))


def _events(generated: Any, parser: Parser, ends: set[int]) -> Generator[Event, None, tuple[FinishReason, Usage]]:
    with closing(generated):
        for response in generated:
            yield from parser.feed(response.text)
            stopped = parser.ended or response.token in ends
            if stopped or response.finish_reason:
                break
    reason: FinishReason = "length" if not stopped and response.finish_reason == "length" else "stop"
    yield from parser.finish(cut=reason == "length")
    return reason, Usage(response.prompt_tokens, response.generation_tokens)


class GrammarProcessor:
    """A logits processor of mlx-lm for one answer: what the masks do not allow becomes impossible.

    mlx-lm calls it with the tokens so far and the logits of the next one; the first time, nothing is of the answer.
    """

    def __init__(self, masks: Masks) -> None:
        self._masks = masks
        self._before: int | None = None

    def __call__(self, tokens: Any, logits: Any) -> Any:
        if self._before is None:
            self._before = tokens.size
        self._masks.follow(tokens[self._before :].tolist())
        bits: Any = self._masks.bits()  # mlx takes what has a buffer, its types do not say so
        allowed = (mx.array(bits)[:, None] >> mx.arange(8, dtype=mx.uint8)) & 1
        size = logits.shape[-1]
        allowed = mx.pad(allowed.flatten()[:size], (0, max(0, size - allowed.size)))
        return mx.where(allowed, logits, -mx.inf)


def stop_tokens(tokenizer: Any, stop: tuple[str, ...]) -> set[int]:
    """The stop strings that are one token: calls may end with them (`<|call|>`), so that a parser reads on."""
    encoded = (tokenizer.encode(mark, add_special_tokens=False) for mark in stop)
    return {ids[0] for ids in encoded if len(ids) == 1}


def register() -> None:
    """Makes `toolfmt_<format>` known to mlx-lm as a `tool_parser_type`, for every name of a format.

    It stands in tokenizer_config.json, or is given to `mlx_lm.load(…, tokenizer_config={"tool_parser_type": …})`.
    mlx-lm hands over all that follows the format's marker, once the answer has ended; content behind it is not told,
    and a call that cannot be read is logged and left out. The import of a format whose calls begin with no marker of
    their own raises `ImportError`.
    """
    if not any(isinstance(finder, _Parsers) for finder in sys.meta_path):
        sys.meta_path.append(_Parsers())


class _Parsers(MetaPathFinder, Loader):
    """Finds the modules that mlx-lm imports parsers from, and makes them."""

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

        # No end: a closer may stand inside a value, and what follows may be another call.
        vars(module).update(tool_call_start=opener, tool_call_end="", parse_tool_call=parse_tool_call)


def _marker(format: ToolCallFormat) -> str:
    """What calls of the format begin with, and nothing else does; raises `ImportError` where that is no marker."""
    written = write(format, [("f", {"a": "b"})])
    begun = [opener for opener in format.openers if written.startswith(opener)]
    of_content = [
        opener for opener in begun for more in ("", *format.ignored_at_start) if opener + more in format.ignored_markers
    ]
    if not begun or of_content:
        raise ImportError(
            f"mlx-lm hands over what follows a marker, and calls of the format {format.name} begin with none of their "
            "own; take toolfmt.integrations.mlx.stream, or the server: python -m toolfmt.integrations.mlx_server"
        )
    return begun[0]


def _calls(text: str, format: ToolCallFormat, tools: Any) -> list[dict[str, Any]]:
    """The calls of a text as mlx-lm's parsers return them; raises `ValueError` where none can be read."""
    parser = Parser(format, tools=tools)
    events = [*parser.feed(text), *parser.finish()]
    written = {event.id for event in events if isinstance(event, ToolCallStart)}
    message = Message.from_events(events, call_id=format.call_id)
    if not message.tool_calls:
        why = message.rejected[0].reason if message.rejected else "no call"
        raise ValueError(f"{why}, read as {format.name}")
    return [
        # An id that the model did not write is mlx-lm's to make: it has to differ from those of the conversation.
        {"name": call.name, "arguments": json.loads(call.arguments), "id": call.id if call.id in written else None}
        for call in message.tool_calls
    ]
