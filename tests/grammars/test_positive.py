"""Expressions for "without" that need no complement: compared with their meaning, text by text, with Python's `re`."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import product

import depth
import pytest
from grammar_calls import Subject, named, variants

from toolfmt.errors import CannotConstrain
from toolfmt.formats import ToolCallFormat
from toolfmt.formats.values.nodes import FreeText, RawText
from toolfmt.grammars.positive import LONGEST, closed_text, open_text

MARKERS: list[tuple[str, tuple[str, ...]]] = [
    ("</v>", ("<v>",)),
    ("aba", ()),
    ("aab", ("ab",)),
    ("ab", ("b",)),
    ("aa", ("ba", "abb")),
    ("n</v>", ("</v>", "<v=", "n<v>")),
    ("]]>", ("]>", "<v>")),
    ("abab", ("bb", "aa")),
    ("a", ()),
]
TOO_LARGE = {"apriel", "atem", "deepseek_dsml", "gigachat31", "hyperclovax"}
"""Formats in which text without their markers stays a complement: text before calls, or reasoning."""


def texts(characters: str, longest: int) -> Iterator[str]:
    for length in range(longest + 1):
        yield from map("".join, product(characters, repeat=length))


def is_closed(text: str, closer: str, never: Sequence[str]) -> bool:
    end = text.find(closer)
    return end >= 0 and end + len(closer) == len(text) and not any(part in text[:end] for part in never)


def is_open(text: str, without: Sequence[str], not_first: str = "") -> bool:
    return not any(part in text for part in without) and text[:1] not in [*not_first]


@pytest.mark.parametrize(("closer", "never"), MARKERS)
def test_small_expressions_match_exactly_the_expected_texts(closer: str, never: tuple[str, ...]) -> None:
    characters = "".join(dict.fromkeys(closer + "".join(never))) + "x"
    closed, without, partial = closed_text(closer, never), open_text((closer, *never)), open_text((closer,), closer[0])
    assert closed and without and partial
    for text in texts(characters, 8 if len(characters) < 5 else 6 if len(characters) < 7 else 5):
        assert bool(re.fullmatch(closed, text)) == is_closed(text, closer, never), text
        assert bool(re.fullmatch(without, text)) == is_open(text, (closer, *never)), text
        assert bool(re.fullmatch(partial, text)) == is_open(text, (closer,), closer[0]), text


@pytest.mark.parametrize(
    "format", [pytest.param(format, id=named(format)) for format in depth.spread([*variants()], 5)]
)
def test_expressions_of_a_format_match_texts_made_of_their_parts(format: ToolCallFormat) -> None:
    chance, nodes = random.Random(5), dict[RawText | FreeText, None]()
    for choice in ("required", "auto"):
        with suppress(CannotConstrain):
            found = Subject(format, False, choice)._nodes()
            nodes |= dict.fromkeys(node for node in found if isinstance(node, (RawText, FreeText)))
    assert nodes or format.name == "glm4_legacy"
    results = {check_expression(node, chance) for node in nodes}
    assert (False in results) == (format.name in TOO_LARGE)


def check_expression(node: RawText | FreeText, chance: random.Random) -> bool:
    """Compares an expression for texts of parts of its markers; False if there is none."""
    closer, never = (node.end, node.never) if isinstance(node, RawText) else ("", node.without)
    not_first = node.not_first if isinstance(node, FreeText) else ""
    found = closed_text(closer, never) if closer else open_text(never, not_first)
    if found is None:
        return False
    assert len(found) <= LONGEST
    expression, both = re.compile(found), set()
    for _ in range(120):
        marks = chance.choices([closer, *never], k=chance.randrange(4))
        parts = [chance.choice([mark, mark[: chance.randrange(len(mark) + 1)], "x", "<"]) for mark in marks]
        text = "".join(parts) + chance.choice([closer, closer, closer[:-1]])
        right = is_closed(text, closer, never) if closer else is_open(text, never, not_first)
        assert bool(expression.fullmatch(text)) == right, (node, text)
        both.add(right)
    return both == {True, False}


@pytest.mark.sample(0)
def test_what_grows_too_large_is_none() -> None:
    many = [f"<{at:03}{'y' * 20}>" for at in range(200)]
    assert closed_text("</v>", many) is None
    assert open_text(many) is None
    assert open_text(()) is None
    assert open_text(("",), "x") is None


def test_redundant_branches_are_left_out_unless_a_marker_has_started() -> None:
    found = closed_text("</v>", ())
    assert found is not None and found.count(r"[^>]*<\/v>") > 3
    assert r"[^>]*" not in (closed_text("aba>b", ()) or "")
