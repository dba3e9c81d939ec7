"""Outputs as token ids: markers as one token or spelled in others, and tokenizers that were made for that."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

from toolfmt.formats import Parser, TokenParser
from toolfmt.messages.events import (
    Content,
    Event,
    Reasoning,
    ToolCallArguments,
    ToolCallEnd,
    ToolCallRejected,
    ToolCallStart,
    merge,
)

TOKEN = re.compile("«(.*?)»", re.DOTALL)
"""A token in an output of these tests: `«<tool_call>»`. Everything else is written in ordinary tokens."""
_TRAINED_ON = [
    'The weather in Oslo is "rain". {"name": "get_weather", "arguments": {"city": "Oslo"}}',
    "<tool_call>\n<function=write>\n<parameter=text>\n</parameter>\n</function>\n</tool_call> é 日本 😀",
] * 3


@cache
def tokenizer_with(*markers: str) -> Tokenizer:
    """A byte-level tokenizer with these tokens."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=340, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(_TRAINED_ON, trainer)
    tokenizer.add_special_tokens([AddedToken(marker, special=True, normalized=False) for marker in markers])
    return tokenizer


def ordinary_ids(text: str) -> list[int]:
    """The ids of a text in ordinary tokens."""
    return tokenizer_with().encode(text, add_special_tokens=False).ids if text else []


def ids_of(tokenizer: Tokenizer, output: str) -> list[int]:
    """The ids of an output."""
    ids: list[int] = []
    for number, part in enumerate(TOKEN.split(output)):
        if number % 2:
            id = tokenizer.token_to_id(part)
            assert id is not None, part
            ids.append(id)
        else:
            ids += ordinary_ids(part)
    return ids


def text_of(output: str) -> str:
    """The text of an output, as a decoder returns it."""
    return TOKEN.sub(r"\1", output)


def parsed(parser: Parser | TokenParser, pieces: Iterable[Any], *, cut: bool = False) -> list[Event]:
    """The merged events of an output."""
    events = [event for piece in pieces for event in parser.feed(piece)]
    return merge([*events, *parser.finish(cut=cut)])


def split(ids: Sequence[int], lengths: Iterable[int]) -> list[Sequence[int]]:
    """Ids in pieces of these lengths, and the rest in one piece."""
    pieces, at = [], 0
    for length in lengths:
        pieces.append(ids[at : at + length])
        at += length
    return [piece for piece in (*pieces, ids[at:]) if len(piece)]


def summary(events: Iterable[Event]) -> list[tuple[str, str]]:
    """The events as pairs of kind and text: of a call, the name and the arguments; of a rejected one, the reason."""
    found: list[tuple[str, str]] = []
    name = arguments = ""
    for event in events:
        if isinstance(event, (Content, Reasoning)):
            found.append((type(event).__name__.lower(), event.text))
        elif isinstance(event, ToolCallStart):
            name, arguments = event.name, ""
        elif isinstance(event, ToolCallArguments):
            arguments += event.delta
        elif isinstance(event, ToolCallEnd):
            found.append(("call", f"{name} {arguments}"))
        elif isinstance(event, ToolCallRejected):
            found.append(("rejected", event.reason))
    return found
