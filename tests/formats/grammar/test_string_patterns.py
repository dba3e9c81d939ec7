"""Translated patterns match the same strings as the original, or an error quotes the pattern."""

from __future__ import annotations

import re

import pytest

from toolfmt.formats.grammar.schemas import NotConstrained
from toolfmt.formats.grammar.string_patterns import string_pattern

TEXTS = ["", "a", "ab", "abab", "b", "A1", "a-b", "a.b", "12", "1234", "a_b", "]", "^", "(a)", "a|b", "ab12", "\\", "é"]


@pytest.mark.parametrize(
    "pattern",
    [
        "^a$", "^(ab)+$", "^[a-z]{2,4}$", r"^\d+$", r"^\w*$", r"^a\.b$", "^a[-.]b$", "^(?:a|b)$", "^(a|ab|12)?$",
        r"^[\]^]$", r"^\(a\)$", r"^[\w-]+$", "^[0-9]{2}$", r"^a\|b$", "^[^a]$".replace("^a", "a^"), "^é$", "^$",
        r"^[\d]{4}$", "^-?[0-9]$",
    ],
)  # fmt: skip
def test_a_translated_pattern_matches_the_same_strings(pattern: str) -> None:
    read = string_pattern(pattern, lambda character: True)
    assert not read.startswith("^")
    for text in TEXTS:
        assert bool(re.fullmatch(read, text)) is bool(re.search(pattern, text, re.ASCII)), text


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("a", "start with ^ and end with $"),
        ("^a", "start with ^ and end with $"),
        (r"^a\$", "start with ^ and end with $"),
        ("^a|b$", "only one of its alternatives"),
        ("^(?=a)a$", "unsupported kind of group"),
        ("^.$", "contains ."),
        ("^[^a]$", "negated character class"),
        (r"^\s$", r"contains \s"),
        (r"^\bé$", r"contains \b"),
        ("^(a$", "not closed"),
        ("^a)$", "no opening one"),
        ("^[a$", "not closed"),
        ("^[]$", "is empty"),
        ("^a**$", "is repeated"),
        ("^*$", "contains *"),
        ("^[z-a]$", "an invalid range"),
        ("^a{2000}$", "more than 1000 times"),
        ("^[[]$", "contains another"),
    ],
)
def test_any_other_pattern_is_rejected_and_quoted(pattern: str, why: str) -> None:
    with pytest.raises(NotConstrained) as raised:
        string_pattern(pattern, lambda character: True)
    assert why in raised.value.why
    assert repr(pattern) in raised.value.why


@pytest.mark.parametrize("pattern", ['^"$', '^["a]$', "^[!-a]$", '^(a|")$'])
def test_a_character_that_would_end_the_string_is_rejected(pattern: str) -> None:
    with pytest.raises(NotConstrained, match="has a special meaning"):
        string_pattern(pattern, lambda character: character != '"')
    assert string_pattern(pattern, lambda character: True)


def test_a_character_class_may_only_match_allowed_characters() -> None:
    with pytest.raises(NotConstrained, match="'_' has a special meaning"):
        string_pattern(r"^\w$", lambda character: character != "_")
