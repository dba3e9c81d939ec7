"""Regular expressions as nodes: nothing is lost, and the structure is that of `re`."""

from __future__ import annotations

import random
import re

import pytest

from toolfmt._util.regular_expressions import Atom, CharacterClass, Group, Node, Options, Repetition, parse

PIECES = [
    *("a", "ab", "{", "}", "]", "[", "|", "(", ")", "(?:", "(?=", "(?<!", "(?P<n>", "(?i)", ".", "^", "$", "-", "\n"),
    *("*", "+", "?", "*?", "{2}", "{2,}", "{2,3}?", "{,3}", "{a}", "[]", "[^]a]", "[a-c]", "[\\]]", "[\\d-z]"),
    *("\\", "\\s", "\\x41", "\\x4", "\\u0041", "\\n", "\\*", "\\\\"),
]


def written(options: Options) -> str:
    return "|".join("".join(map(_written, option)) for option in options)


def _written(node: Node) -> str:
    if isinstance(node, Repetition):
        return _written(node.node) + node.quantifier + "?" * node.lazy
    if isinstance(node, Group):
        return f"({node.kind}{written(node.options)}{')' * node.closed}"
    return node.source


def test_the_nodes_contain_the_whole_expression() -> None:
    chance = random.Random(1)
    for _ in range(3000):
        source = "".join(chance.choice(PIECES) for _ in range(chance.randrange(8)))
        options, end = parse(source)
        assert written(options) + source[end:] == source
        assert source[end:][:1] in ("", ")")


@pytest.mark.parametrize("source", ["[]a]", "[^]a]", "[a-c]", r"[\]]", "[-a]", "[a-]", r"[\n-\r]", r"[\x41-C]"])
def test_members_of_a_class_are_those_of_re(source: str) -> None:
    ((node,),), _ = parse(source)
    assert isinstance(node, CharacterClass) and node.closed
    ranges = [(first if len(first) > 1 else re.escape(first), last) for first, last in node.members()]
    members = "|".join(f"[{first}-{last}]" if last else first for first, last in ranges)
    for character in map(chr, range(128)):
        assert bool(re.fullmatch(source, character)) is (bool(re.fullmatch(members, character)) is not node.negated)


def test_an_escape_of_a_class_begins_no_range() -> None:
    assert [*CharacterClass(r"[\d-z]").members()] == [(r"\d", ""), ("-", ""), ("z", "")]


def test_a_quantifier_has_its_bounds() -> None:
    ((*nodes, unused),), _ = parse("a*b+c?d{2}e{2,}f{2,3}?{,4}g{")
    bounds = [(node.least, node.most, node.lazy) for node in nodes if isinstance(node, Repetition)]
    assert bounds == [(0, None, False), (1, None, False), (0, 1, False), (2, 2, False), (2, None, False), (2, 3, True)]
    assert unused == Atom("{")


def test_a_quantifier_of_a_quantifier_is_reported() -> None:
    for source, stacked in {"a*": False, "a*b": False, "a**": True, "a*?": True, "a+{2}": True, "a?{": True}.items():
        node = parse(source)[0][0][0]
        assert isinstance(node, Repetition) and node.stacked is stacked, source


def test_deep_nesting_does_not_recurse() -> None:
    assert parse("(" * 50_000 + "a" + ")" * 50_001)[1] == 100_001
