"""The text of tokens, one at a time, with tokenizers of every kind."""

from __future__ import annotations

import importlib
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_tokenizers import INSTALLED, KINDS, OTHERS, SPECIAL, by_bytes, by_pieces, of_models
from tokenizers import Tokenizer, decoders, models
from transformers import PreTrainedTokenizerFast

from toolfmt.formats import Parser, TokenParser
from toolfmt.formats.parser.tokens.detokenizer import Detokenizer
from toolfmt.formats.parser.tokens.vocabulary import Tokens
from toolfmt.messages.events import Content, ToolCallEnd
from toolfmt.render.token_ids import encoded, token_ids

TEXT = st.text(st.sampled_from("ab theOslo  \n\t<|[]>é日本😀🦜\ufffd") | st.characters(codec="utf-8"), max_size=30)
MARKERS = (*SPECIAL, *OTHERS)


def detokenized(tokenizer: Any, ids: list[int], step: int = 1) -> str:
    detokenizer = Detokenizer(Tokens(tokenizer), Tokens(tokenizer).vocabulary.markers)
    pieces = [piece for at in range(0, len(ids), step) for piece in detokenizer.feed(ids[at : at + step])]
    text = "".join(text for text, _ in pieces) + detokenizer.finish()
    assert len(detokenizer.starts) == len(ids)
    return text


def decoded(tokenizer: Any, ids: list[int]) -> str:
    tokenizer = getattr(tokenizer, "tokenizer", tokenizer)
    return str(tokenizer.decode(ids, skip_special_tokens=False))


def without_first_space(text: str) -> str:
    """A decoder may drop the space that a text begins with."""
    return text.removeprefix(" ")


@pytest.mark.parametrize("kind", KINDS)
@given(parts=st.lists(TEXT | st.sampled_from(MARKERS), max_size=5), step=st.integers(1, 4))
def test_the_text_is_that_of_the_decoder(kind: str, parts: list[str], step: int) -> None:
    tokenizer = KINDS[kind]
    ids = encoded(tokenizer, "".join(parts))[0]
    found, expected = detokenized(tokenizer, ids, step), decoded(tokenizer, ids)
    if kind == "bytes, in small letters":  # it decodes its markers in small letters, too
        found = found.lower()
    assert without_first_space(found) == without_first_space(expected)


@pytest.mark.parametrize("tokenizer", [by_bytes(), by_pieces("first")], ids=["bytes", "pieces"])
@given(data=st.binary(max_size=12))
def test_any_bytes_are_decoded_as_utf_8(tokenizer: Tokenizer, data: bytes) -> None:
    """Invalid bytes become U+FFFD, as Python's decoder replaces them; those of a valid character never do."""
    names = {byte: f"<0x{byte:02X}>" for byte in range(256)}
    if tokenizer.token_to_id("<0x00>") is None:
        names = {byte: name for name, byte in byte_names()}
    ids = [id_of(tokenizer, names[byte]) for byte in data]
    assert detokenized(tokenizer, ids) == data.decode("utf-8", "replace")


def id_of(tokenizer: Tokenizer, name: str) -> int:
    id = tokenizer.token_to_id(name)
    assert id is not None
    return id


def byte_names() -> list[tuple[str, int]]:
    """The names of single bytes in GPT-2's vocabulary, as its `bytes_to_unicode` defines them."""
    shown = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    hidden = [byte for byte in range(256) if byte not in shown]
    return [(chr(byte), byte) for byte in shown] + [(chr(256 + number), byte) for number, byte in enumerate(hidden)]


def test_spaces_between_words_are_kept() -> None:
    tokenizer = by_pieces("first")
    ids = [id_of(tokenizer, name) for name in ("▁the", "▁the", "▁", "▁the")]
    assert detokenized(tokenizer, ids) == " the the  the"


def test_a_decoder_that_drops_the_first_space_drops_no_other() -> None:
    tokenizer = Tokenizer.from_str(by_pieces("first").to_str())
    kept = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    tokenizer.decoder = decoders.Sequence(kept)  # as of Llama 2
    ids = [id_of(tokenizer, name) for name in ("▁the", "▁the", "<0xE2>", "<0x82>", "<0xAC>", "▁the")]
    assert tokenizer.decode(ids) == "the the€ the"
    assert detokenized(tokenizer, ids) == " the the€ the"


def test_an_id_without_a_token_does_not_end_a_character() -> None:
    first, *others = encoded(by_bytes(), "é")[0]
    assert detokenized(by_bytes(), [first, 10**6, *others]) == "é"


def test_a_character_is_returned_once_it_is_complete() -> None:
    tokenizer = by_bytes()
    detokenizer = Detokenizer(Tokens(tokenizer), {})
    ids = encoded(tokenizer, "🦜")[0]
    assert [detokenizer.feed([id]) for id in ids] == [*[[] for _ in ids[1:]], [("🦜", False)]]
    assert detokenizer.starts == [0, 0, 0, 0]
    assert detokenizer.feed(ids[:3]) == []
    marker = id_of(tokenizer, "<s>")
    detokenizer = Detokenizer(Tokens(tokenizer), {marker: "<s>"})
    assert detokenizer.feed([*ids[:2], marker, *ids[:1]]) == [("\ufffd", False), ("<s>", True)]
    assert (detokenizer.starts, detokenizer.length, detokenizer.finish()) == ([0, 0, 1, 4], 4, "\ufffd")


def test_unknown_ids_have_no_text() -> None:
    for tokenizer in (by_bytes(), KINDS["of transformers"], Slow(by_bytes())):
        ids = encoded(by_bytes() if tokenizer is not KINDS["of transformers"] else tokenizer, "the")[0]
        text = detokenized(tokenizer, [10**6, *ids, -1, 2**40])
        assert text.strip() == "the"


class Slow:
    """A tokenizer as transformers has them without the package tokenizers."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._backend = tokenizer
        self.added_tokens_decoder = tokenizer.get_added_tokens_decoder()

    def __len__(self) -> int:
        return self._backend.get_vocab_size()

    def encode(self, text: str, *, add_special_tokens: bool) -> list[int]:
        return self._backend.encode(text, add_special_tokens=add_special_tokens).ids

    def decode(self, ids: list[int], *, skip_special_tokens: bool, clean_up_tokenization_spaces: bool) -> str:
        assert not clean_up_tokenization_spaces
        return self._backend.decode(ids, skip_special_tokens=skip_special_tokens)

    def convert_ids_to_tokens(self, id: int) -> str | None:
        if id > 2**32:
            raise OverflowError
        return self._backend.id_to_token(id)


@given(text=TEXT)
def test_a_slow_tokenizer_of_transformers(text: str) -> None:
    for tokenizer in (by_bytes(), by_pieces("first")):
        ids = encoded(tokenizer, text)[0]
        assert detokenized(Slow(tokenizer), ids) == detokenized(tokenizer, ids)


def test_wrappers_of_a_tokenizer() -> None:
    """mlx-lm keeps the tokenizer in `_tokenizer`, and transformers' Mistral tokenizer in `tokenizer`."""

    class Wrapper:
        def __init__(self, **attributes: Any) -> None:
            vars(self).update(attributes)

    fast: Any = PreTrainedTokenizerFast(tokenizer_object=by_bytes())  # type: ignore[no-untyped-call]  # theirs
    ids = encoded(by_bytes(), "é<s>")[0]
    for tokenizer in (Wrapper(_tokenizer=fast), Wrapper(tokenizer=Wrapper(instruct_tokenizer=Wrapper(tokenizer=fast)))):
        assert detokenized(tokenizer, ids) == "é<s>"
        assert Tokens(tokenizer).vocabulary is Tokens(fast).vocabulary


def test_a_tokenizer_that_knows_no_usual_text_is_decoded_as_it_is() -> None:
    tokenizer = Tokenizer(models.WordLevel({"x": 0, "<unk>": 1}, unk_token="<unk>"))
    assert detokenized(tokenizer, [0, 0]) == "xx"


# --- markers neutralized in a prompt


@pytest.mark.parametrize("kind", KINDS)
def test_a_marker_neutralized_in_a_prompt_starts_no_call_in_an_output(kind: str) -> None:
    tokenizer = KINDS[kind]
    call = '<tool_call>{"name": "f", "arguments": {}}</tool_call>'
    for text in (call, f"[TOOL_CALLS]{call}", f"the {call}{call}"):
        for format in ("json", "mistral", "xml_function", "auto"):
            ids = token_ids(text, [(0, len(text))], tokenizer)
            parser = TokenParser(Parser(format, tools=TOOL), tokenizer)
            events = [*parser.feed(ids), *parser.finish()]
            assert not any(isinstance(event, ToolCallEnd) for event in events)
            assert all(isinstance(event, Content) for event in events)


TOOL = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}]


# --- vocabularies of models


if INSTALLED:

    def test_vocabularies_of_models(tmp_path: Path) -> None:
        chosen = random.Random(12)
        for _, tokenizer in [*of_models(tmp_path), *of_mistral_common()]:
            for _ in range(60):
                text = "".join(
                    chosen.choices(["the ", " Oslo", "\n\n", "é", "日本", "🦜", "{", '": "', "  x", "\t"], k=9)
                )
                ids = text_ids(tokenizer, text)
                found = detokenized(tokenizer, ids, chosen.choice((1, 2, 5)))
                assert found in (text, f" {text}")  # SentencePiece puts a space before a text


def of_mistral_common() -> list[tuple[str, Any]]:
    """mistral-common's own tokenizers, if what they need is installed."""
    try:
        known: Any = importlib.import_module("mistral_common.tokens.tokenizers.mistral").MistralTokenizer
    except ImportError:
        return []
    made = (known.v3(is_tekken=True), known.v3(), known.v7())
    return [(f"mistral-common {number}", tokenizer) for number, tokenizer in enumerate(made)]


def text_ids(tokenizer: Any, text: str) -> list[int]:
    if hasattr(tokenizer, "instruct_tokenizer"):
        return list(tokenizer.instruct_tokenizer.tokenizer.encode(text, bos=False, eos=False))
    return encoded(tokenizer, text)[0]
