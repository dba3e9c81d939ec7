"""Use the parsers of vLLM and SGLang on tokens, in the same way as their servers.

`toolfmt.testing.peers` implements how a server uses a parser. Unclear cases are decided in favor of the runtime's own
parsers: markers reach them whether or not they request them. Exceptions in a stream propagate.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias

from toolfmt.testing.peers import for_sglang, for_vllm
from toolfmt.testing.peers.tokens import MARKER

Token: TypeAlias = tuple[int, str]
"""A token, and the text that a detokenizer returns with it."""
Piece: TypeAlias = tuple[int, str | None, str | None]
"""A part of a call as a client gets it: its index, the name if it is sent, a piece of the arguments."""


class Output(NamedTuple):
    """What a client has in the end."""

    content: str
    calls: list[tuple[str, str]]
    """Names with the text of their arguments."""
    finish_reason: str | None = None
    reasoning: str = ""


def tokenizer_for(texts: Iterable[str], tools: Sequence[Any]) -> Any:
    """A tokenizer trained on a few outputs, whose tokens are pieces of words, with every marker of theirs as one."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    learnt = [*texts, json.dumps(tools)]
    markers = sorted({marker for text in texts for marker in MARKER.findall(text)})
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=600, special_tokens=["<s>", "</s>"], initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(learnt, trainer)
    tokenizer.add_special_tokens([AddedToken(marker, special=True, normalized=False) for marker in markers])
    made: Any = PreTrainedTokenizerFast
    return made(tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>")


def tokens_of(tokenizer: Any, text: str) -> list[Token]:
    """The tokens of a text, special ones with theirs; a partial character is returned once it is whole."""
    ids = tokenizer.encode(text, add_special_tokens=False)
    tokens: list[Token] = []
    emitted = ""
    for count, token in enumerate(ids, start=1):
        decoded = tokenizer.decode(ids[:count], skip_special_tokens=False)
        new = "" if decoded.endswith("\N{REPLACEMENT CHARACTER}") else decoded[len(emitted) :]
        emitted += new
        tokens.append((token, new))
    return tokens


def vllm_streamed(
    name: str,
    tokenizer: Any,
    tokens: Sequence[Token],
    tools: Sequence[Any],
    *,
    cut: bool,
    reasoning_parser: str | None = None,
) -> Output:
    """A stream, one token per step. `cut` is an output whose tokens ran out."""
    chat = for_vllm.VllmRequest(name, tokenizer, tools, reasoning_parser=reasoning_parser)
    content = reasoning = ""
    reason = None
    pieces: list[Piece] = []
    for count, (token, text) in enumerate(tokens, start=1):
        ended = ("length" if cut else "stop") if count == len(tokens) else None
        delta, reason = chat.step(text, [token], ended)
        if delta is not None:
            content += delta.content or ""
            reasoning += delta.reasoning or ""
            pieces += [(call.index, call.function.name, call.function.arguments) for call in delta.tool_calls]
    return Output(content, _calls(pieces), reason, reasoning)


def vllm_whole(
    name: str, tokenizer: Any, tokens: Sequence[Token], tools: Sequence[Any], *, reasoning_parser: str | None = None
) -> Output:
    """A whole output."""
    chat = for_vllm.VllmRequest(name, tokenizer, tools, reasoning_parser=reasoning_parser)
    text, ids = "".join(text for _, text in tokens), [token for token, _ in tokens]
    reasoning, content, calls = chat.whole(text, ids)
    return Output(content or "", [(call.name, call.arguments) for call in calls], None, reasoning or "")


def sglang_streamed(name: str, tokenizer: Any, tokens: Sequence[Token], tools: Sequence[Any]) -> Output:
    chat = for_sglang.SglangRequest(name, tokenizer, tools)
    content = ""
    pieces: list[Piece] = []
    for delta, items in (*(chat.step(text) for _, text in tokens), chat.end()):
        content += delta
        pieces += items
    return Output(content, _calls(pieces))


def sglang_whole(name: str, tokenizer: Any, tokens: Sequence[Token], tools: Sequence[Any]) -> Output:
    return Output(*for_sglang.SglangRequest(name, tokenizer, tools).whole("".join(text for _, text in tokens)))


def _calls(pieces: Iterable[Piece]) -> list[tuple[str, str]]:
    """Names and arguments of calls whose pieces came as (index, name, arguments)."""
    calls: dict[int, list[str]] = {}
    for index, name, arguments in pieces:
        call = calls.setdefault(index, ["", ""])
        call[0] += name or ""
        call[1] += arguments or ""
    return [(name, arguments) for name, arguments in calls.values()]
