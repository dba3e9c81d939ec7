"""How texts are shortened, and names listed, for a sentence."""

from __future__ import annotations

import pytest

from toolfmt._util.text_lists import listed, listed_first
from toolfmt.inspect.report.wording import shortened


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("1234", "1234", id="shorter"),
        pytest.param("12345", "12345", id="as long as may be"),
        pytest.param("123456", "1234…", id="longer by one"),
        pytest.param("1234567", "1234…", id="longer"),
    ],
)
def test_a_shortened_text_includes_its_ellipsis_in_the_limit(text: str, expected: str) -> None:
    assert shortened(text, 5) == expected


@pytest.mark.parametrize(
    ("names", "expected"),
    [([], ""), (["a"], "a"), (["a", "b"], "a or b"), (["a", "b", "c"], "a, b or c")],
)
def test_names_are_listed_as_a_person_lists_them(names: list[str], expected: str) -> None:
    assert listed(names, "or") == expected
    assert listed(names) == expected.replace(" or ", " and ")


@pytest.mark.parametrize(
    ("names", "expected"),
    [(["a"], "a"), (["a", "b"], "a, b"), (["a", "b", "c"], "a, b and 1 more"), (["a"] * 1_202, "a, a and 1,200 more")],
)
def test_of_many_names_the_first_are_listed(names: list[str], expected: str) -> None:
    assert listed_first(names, 2) == expected
