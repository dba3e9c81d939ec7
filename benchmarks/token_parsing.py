"""Measure the CPU time per token of parsing token ids, next to parsing text.

    python -m benchmarks.token_parsing [--rounds 5] [--tokens 8000]

Each output is fed one token at a time. `text` parses the texts of the tokens, `decode` only turns ids into text, and
`ids` does both in a `TokenParser`. `beyond` is what `ids` costs more than `decode` and `text` together. `tokenizers` is
the time of that package's `DecodeStream`, which runtimes use. Each cell is the best of the rounds.

The tokenizer is trained here: a byte-level vocabulary with the markers of the format as added tokens.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
from tokenizers.decoders import DecodeStream

from benchmarks.parse_deltas import CODE, PROSE, TOOLS, repeated
from toolfmt.formats import Parser, TokenParser, write
from toolfmt.formats.parser.tokens.detokenizer import Detokenizer
from toolfmt.formats.parser.tokens.vocabulary import Tokens
from toolfmt.testing.peers.tokens import markers_of

FORMATS = ("json", "xml_function", "glm4", "gemma4")
VOCABULARY = 2000
CHARACTERS_A_TOKEN = 4


def tokenizer_of(format: str) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=VOCABULARY, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator([PROSE, CODE], trainer)
    tokenizer.add_tokens([AddedToken(marker, normalized=False) for marker in markers_of({format: [""]})])
    return tokenizer


def seconds(run: Callable[[], object], rounds: int) -> float:
    times = []
    for _ in range(rounds):
        begin = time.process_time()
        run()
        times.append(time.process_time() - begin)
    return min(times)


def measured(format: str, text: str, rounds: int) -> tuple[int, list[float]]:
    """The number of tokens, and µs per token for each column."""
    tokenizer = tokenizer_of(format)
    ids = tokenizer.encode(text, add_special_tokens=False).ids
    tokens = Tokens(tokenizer)
    detokenizer = Detokenizer(tokens, tokens.vocabulary.markers)
    texts = ["".join(text for text, _ in detokenizer.feed([id])) for id in ids]

    def parse(parser: Any, pieces: list[Any]) -> None:
        for piece in pieces:
            parser.feed(piece)
        parser.finish()

    def decode() -> None:
        detokenizer = Detokenizer(tokens, tokens.vocabulary.markers)
        for id in ids:
            detokenizer.feed([id])

    def stream() -> None:
        stream = DecodeStream(skip_special_tokens=False)
        for id in ids:
            stream.step(tokenizer, id)

    by_text = seconds(lambda: parse(Parser(format, tools=TOOLS), texts), rounds)
    decoding = seconds(decode, rounds)
    by_ids = seconds(lambda: parse(TokenParser(Parser(format, tools=TOOLS), tokenizer), [[id] for id in ids]), rounds)
    columns = (by_text, decoding, by_ids, by_ids - decoding - by_text, seconds(stream, rounds))
    return len(ids), [column / len(ids) * 1e6 for column in columns]


def main() -> None:
    parser = argparse.ArgumentParser("python -m benchmarks.token_parsing")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tokens", type=int, default=8000)
    options = parser.parse_args()
    print(f"{'µs per token':<26}{'tokens':>8}{'text':>8}{'decode':>8}{'ids':>8}{'beyond':>8}{'tokenizers':>12}")
    for format in FORMATS:
        length = options.tokens * CHARACTERS_A_TOKEN
        outputs = {
            "content": repeated(PROSE, length),
            "argument": write(format, [("run", {"code": repeated(CODE, length)})], TOOLS),
        }
        for name, text in outputs.items():
            count, columns = measured(format, text, options.rounds)
            cells = "".join(f"{column:>{width}.2f}" for column, width in zip(columns, (8, 8, 8, 8, 12), strict=True))
            print(f"{format + ', ' + name:<26}{count:>8,}{cells}")


if __name__ == "__main__":
    main()
