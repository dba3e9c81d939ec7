"""A set of literals finds what a comparison with each finds, also literals longer than the depth of the trie."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from toolfmt.formats.scanner.literals import Literals

LITERAL = st.tuples(st.sampled_from(["", "x" * 46, "x" * 48]), st.text("ab", min_size=1, max_size=4)).map("".join)


def _expected(literals: set[str], text: str, closed: bool) -> str | None:
    """The longest literal at the start of a text; "" if the text may still become a longer one."""
    if not closed and any(text != literal and literal.startswith(text) for literal in literals):
        return ""
    return max((literal for literal in literals if text.startswith(literal)), key=len, default=None)


@given(literals=st.sets(LITERAL, min_size=1, max_size=6), text=LITERAL, more=st.text("abc{", max_size=3))
@example(literals={"x" * 48 + "a", "x" * 48 + "baa"}, text="x" * 48 + "a", more="{")
@example(literals={"x" * 48, "x" * 48 + "aba"}, text="x" * 48, more="{")
@example(literals={"x" * 48 + "a", "x" * 48 + "aba"}, text="x" * 48 + "a", more="{")
def test_the_longest_literal_is_matched(literals: set[str], text: str, more: str) -> None:
    text += more
    for closed in (True, False):
        expected = _expected(literals, text, closed)
        assert Literals(tuple(literals)).match(text, 0, closed) == expected
        found = Literals(tuple(literals)).search(text, 0, closed)
        if expected is not None:
            assert found == (0, expected)
