"""Markers that are one token, in GBNF for XGrammar."""

from __future__ import annotations

import pytest
from gbnf_reader import Gbnf

from toolfmt.formats.values.nodes import FreeText, Node, RawText, Rule, Rules, Text, either, row
from toolfmt.grammars.gbnf import gbnf
from toolfmt.grammars.marker_tokens import MarkerTokens, Token

TOKENS = {"<t>": 7, "<t>x": 8, "<e>": 9}


def test_the_longest_marker_is_the_token() -> None:
    assert MarkerTokens(TOKENS).pieces("a<t>xy<t><e>") == ["a", "<t>x", "y", "<t>", "<e>"]


def test_a_raw_text_contains_no_form_of_its_end_marker() -> None:
    node, narrower = MarkerTokens(TOKENS).replaced(RawText("\n<e>.", ("<t>",)))
    assert (node, narrower) == (row(FreeText(("<t>", "\n<e>.".strip())), "\n", Token(9), "."), False)
    unchanged = RawText("</e>", ("<t>",))
    assert MarkerTokens(TOKENS).replaced(unchanged) == (unchanged, False)


@pytest.mark.parametrize(
    ("node", "text", "tokens"),
    [
        (Text("a<t>b"), "a<t>b", {1: (7, 3)}),
        (either("<t>", "<t>ab", "<t>ac"), "<t>", {0: (7, 3)}),
        (either("<t>", "<t>ab", "<t>ac"), "<t>ac", {0: (7, 3)}),
        (either(row("<t>a", RawText("<e>")), "<t>b"), "<t>a.<e>", {0: (7, 3), 5: (9, 3)}),
        (Rule("r"), "<t>", {0: (7, 3)}),
    ],
    ids=repr,
)
def test_a_marker_is_allowed_as_its_token_only(node: Node, text: str, tokens: dict[int, tuple[int, int]]) -> None:
    grammar = Gbnf(gbnf(Rules(node, {"r": Text("<t>")}), TOKENS).text)
    assert len(text) in grammar.ends(text, 0, tokens)
    assert len(text) not in grammar.ends(text, 0, {})


def test_what_follows_a_common_token_is_in_its_row() -> None:
    """XGrammar 0.2.8 rejects some valid texts otherwise (`merged_alternatives.py`)."""
    root, *_ = gbnf(Rules(either("<t>abc", "<t>abd", "<t>abe")), TOKENS).text.splitlines()
    assert root.startswith('root ::= Token(7) "ab" ') or " row-" in root
    assert 'Token(7) "ab" ' in gbnf(Rules(either("<t>abc", "<t>abd", "<t>abe")), TOKENS).text
