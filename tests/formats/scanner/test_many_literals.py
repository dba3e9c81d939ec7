"""A set of many literals finds what a trie of them finds."""

from hypothesis import example, given
from hypothesis import strategies as st

from toolfmt.formats import get
from toolfmt.formats.parser.foreign_starts import ForeignTargets
from toolfmt.formats.scanner.literals import Literals, LiteralTable, ManyLiterals

TEXT = st.text("ab\n<", max_size=12)
LITERAL = st.text("ab\n<", min_size=1, max_size=5)


@given(
    shared=st.sets(LITERAL, min_size=1, max_size=8),
    names=st.sets(LITERAL.map(lambda name: "\n" + name), max_size=4),
    text=TEXT,
    at=st.integers(0, 12),
)
def test_many_literals_find_what_a_trie_finds(shared: set[str], names: set[str], text: str, at: int) -> None:
    many = ManyLiterals(LiteralTable(frozenset({*shared, "\n<"})), tuple(names))
    trie = Literals(tuple({*shared, "\n<", *names}))
    assert (many.literals, many.first, many.longest) == (trie.literals, trie.first, trie.longest)
    for closed in (True, False):
        assert many.search(text, at, closed) == trie.search(text, at, closed)
        if at < len(text):
            assert many.match(text, at, closed) == trie.match(text, at, closed)
    found, first = many.may_end(text), trie.search(text, 0, False)
    begins = len(text) if found is None else many.beginning(found)
    assert begins == (len(text) if first is None else None if first[1] else first[0])


@given(shared=st.sets(LITERAL, min_size=1, max_size=8), names=st.sets(LITERAL, max_size=4), text=TEXT.filter(bool))
@example(shared={"<"}, names={"a"}, text="ab")
@example(shared={"<"}, names={"a", "abc"}, text="abx")
@example(shared={"ab"}, names={"a"}, text="abx")
@example(shared={"a"}, names={"ab"}, text="abx")
def test_names_of_any_length_are_matched(shared: set[str], names: set[str], text: str) -> None:
    many = ManyLiterals(LiteralTable(frozenset(shared)), tuple(names))
    trie = Literals(tuple({*shared, *names}))
    for at in range(len(text)):
        for closed in (True, False):
            assert many.match(text, at, closed) == trie.match(text, at, closed)


def test_a_set_that_is_never_searched_for_costs_nothing() -> None:
    """Most outputs contain no code fence, so they need two of the five sets of a format."""
    targets = ForeignTargets(get("json").markers, ("get_weather",))
    made = set(vars(targets))
    assert targets.at_start.match("<tool_call>", 0, False) == "<tool_call>"
    assert vars(targets).keys() - made == {"at_start"}
    table = LiteralTable(frozenset({"<a>", "<b>"}))
    assert ManyLiterals(table, ("get_weather",)).match("<b>", 0, False) == "<b>"
    assert "pattern" not in vars(table)
