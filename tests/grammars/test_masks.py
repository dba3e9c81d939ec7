"""Masks of grammars, on tokenizers that are made here: which tokens are allowed, what is rejected, what is cached."""

from __future__ import annotations

import importlib
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("llguidance")

from grammar_walks import END, byte_tokenizer, encoded, end_of, ids_of

from toolfmt.errors import CannotConstrain, ToolfmtError
from toolfmt.grammars import masks as module
from toolfmt.grammars.masks import Masks, check, load, marker_ids

GRAMMAR = '%llguidance {}\nstart: "ab" "c"? "d"\n'


def made(grammar: Any = GRAMMAR, ends: list[int] | None = None) -> tuple[Masks, Any]:
    tokenizer = byte_tokenizer()
    return Masks(grammar, tokenizer, [end_of(tokenizer)] if ends is None else ends), tokenizer


def letters(text: str) -> list[int]:
    return encoded(byte_tokenizer(), text)


def test_step_by_step_to_the_end() -> None:
    masks, tokenizer = made()
    steps = []
    for token in letters("abd"):
        steps.append((masks.allowed(), masks.complete, masks.ended))
        masks.take(token)
    assert steps == [(letters("a"), False, False), (letters("b"), False, False), (sorted(letters("cd")), False, False)]
    assert (masks.allowed(), masks.complete, masks.ended) == ([end_of(tokenizer)], True, True)


def test_the_bits_are_of_all_tokens_and_lowest_first() -> None:
    masks, tokenizer = made()
    bits = masks.bits()
    assert masks.size == tokenizer.get_vocab_size() == 257
    assert len(bits) * 8 >= masks.size
    (token,) = letters("a")
    assert bits == bytes(1 << token % 8 if at == token // 8 else 0 for at in range(len(bits)))


def test_what_may_not_come_raises_and_changes_nothing() -> None:
    masks, _ = made()
    masks.take(letters("a")[0])
    with pytest.raises(ToolfmtError, match="the grammar does not allow the token"):
        masks.take(letters("x")[0])
    assert masks.allowed() == letters("b")
    assert [masks.allowed_of(letters(text)) for text in ("bd", "bcd", "bb", "x")] == [2, 3, 1, 0]


def test_an_answer_is_followed_back_too() -> None:
    masks, _ = made()
    masks.follow(letters("abc"))
    assert masks.allowed() == letters("d")
    masks.follow(letters("ab"))
    assert masks.allowed() == sorted(letters("cd"))
    masks.follow(letters("abd"))
    assert masks.complete
    masks.follow([])
    assert masks.allowed() == letters("a")


def test_nothing_counts_after_the_end() -> None:
    """A runtime allocates one token more than there are."""
    masks, tokenizer = made()
    end = end_of(tokenizer)
    masks.follow([*letters("abd"), end])
    assert masks.allowed() == [end]
    masks.follow([*letters("abd"), end, *letters("x"), end])
    masks.take(end)
    assert (masks.allowed(), masks.complete) == ([end], True)
    masks.follow(letters("ab"))
    with pytest.raises(ToolfmtError, match="does not allow the token"):
        masks.take(end)


def test_another_answer_begins_at_the_beginning() -> None:
    masks, _ = made()
    masks.follow(letters("ab"))
    other = masks.fresh()
    assert (other.allowed(), masks.allowed()) == (letters("a"), sorted(letters("cd")))
    bits, others = masks.bits(), other.bits()
    assert [sum(byte.bit_count() for byte in each) for each in (bits, others)] == [2, 1]
    other.take(letters("a")[0])
    assert masks.allowed() == sorted(letters("cd"))


def test_whole_texts_are_accepted_or_not_wherever_one_is() -> None:
    masks, _ = made()
    masks.follow(letters("abc"))
    assert [text for text in ("abd", "abcd", "ab", "", "abcdd", "d") if masks.accepts(text)] == ["abd", "abcd"]
    assert masks.allowed() == letters("d")


def test_an_invalid_grammar_is_reported_with_the_message_of_llguidance() -> None:
    with pytest.raises(CannotConstrain, match=r"llguidance takes no such grammar: .*unknown name"):
        made('%llguidance {}\nstart: "a" nothing\n')
    with pytest.raises(CannotConstrain, match="llguidance takes no such grammar"):
        check('root ::= "a"')
    check(GRAMMAR)


def test_a_grammar_of_toolfmt_is_taken_by_its_text_and_no_other_syntax() -> None:
    masks, _ = made(SimpleNamespace(text=GRAMMAR, syntax="llguidance"))
    assert masks.accepts("abd")
    with pytest.raises(ToolfmtError, match="this one is of gbnf"):
        made(SimpleNamespace(text=GRAMMAR, syntax="gbnf"))


def test_a_token_that_the_grammar_names_does_not_end_the_answer() -> None:
    """`<|call|>` ends a turn of gpt_oss, and is in its grammar."""
    tokenizer = byte_tokenizer(["<|call|>"])
    call = ids_of(tokenizer, ["<|call|>"])["<|call|>"]
    masks = Masks(f'%llguidance {{}}\nstart: "a" <[{call}]> "b"\n', tokenizer, [end_of(tokenizer), call])
    assert masks.accepts("a<|call|>b")
    masks.follow([*letters("a"), call, *letters("b")])
    assert masks.allowed() == [end_of(tokenizer)]


def test_the_ends_are_the_tokenizer_s_own_unless_others_are_given() -> None:
    backend = byte_tokenizer(["<|other|>"])
    other = ids_of(backend, ["<|other|>"])["<|other|>"]
    fast: Any = importlib.import_module("transformers").PreTrainedTokenizerFast(tokenizer_object=backend, eos_token=END)
    of_mlx = SimpleNamespace(_tokenizer=fast, eos_token_ids={other, end_of(backend)})
    ended = []
    for tokenizer, ends in ((fast, None), (of_mlx, None), (fast, [other])):
        masks = Masks(GRAMMAR, tokenizer, ends)
        masks.follow(letters("abd"))
        ended.append(masks.allowed())
    assert ended == [[end_of(backend)], [end_of(backend), other], [other]]


def test_a_tokenizer_is_loaded_once_and_again_when_it_has_grown() -> None:
    tokenizer = byte_tokenizer()
    first = load(tokenizer)
    assert load(tokenizer) is first
    assert load(tokenizer, [3]) is not first
    tokenizer.add_tokens(["<more>"])
    assert load(tokenizer).vocab_size == first.vocab_size + 1
    kept = len(module._loaded)
    del tokenizer, first
    assert len(module._loaded) == kept - 1


def test_what_is_no_text_to_llguidance_is_named_by_its_id() -> None:
    tokenizer = byte_tokenizer(["[CALL]"])
    tokenizer.add_tokens(["<call>", "[END]", "<half"])
    named = marker_ids(tokenizer)
    assert named == ids_of(tokenizer, [END, "[CALL]", "<call>"])
    loaded = load(tokenizer)
    assert {token for token in range(256, loaded.vocab_size) if loaded.is_special_token(token)} == {*named.values()}


def test_a_tokenizer_that_pads_and_cuts_is_taken_without_that() -> None:
    tokenizer = byte_tokenizer()
    tokenizer.enable_padding(length=8)
    tokenizer.enable_truncation(max_length=2)
    assert load(tokenizer).tokenize_str("abd") == letters("abd")
    assert tokenizer.truncation is not None


def test_another_kind_of_tokenizer_is_rejected() -> None:
    with pytest.raises(ToolfmtError, match="masks need a tokenizer of the tokenizers package"):
        Masks(GRAMMAR, SimpleNamespace(encode=str))


def test_without_llguidance_the_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "llguidance", None)
    with pytest.raises(ImportError, match=r"masks need llguidance: pip install llguidance"):
        check(GRAMMAR)
