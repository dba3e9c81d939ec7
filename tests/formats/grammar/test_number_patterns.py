"""Patterns of numbers within bounds, compared with arithmetic."""

from __future__ import annotations

import re
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from toolfmt.formats.grammar.number_patterns import Bound, bounds, integers, numbers, whole_bounds

_INTEGERS = st.one_of(st.integers(-12, 12), st.integers(-2500, 2500))
_DECIMALS = st.decimals(min_value=-40, max_value=40, places=3, allow_nan=False, allow_infinity=False)
_BOUNDS = st.none() | st.builds(Bound, _DECIMALS | st.integers(-3, 3).map(Decimal), st.booleans())


def _found(pattern: str, text: str) -> bool:
    return bool(pattern) and re.fullmatch(pattern, text) is not None


@given(st.none() | _INTEGERS, st.none() | _INTEGERS, _INTEGERS)
def test_integers_match_exactly_those_between_the_bounds(least: int | None, most: int | None, number: int) -> None:
    pattern = integers(least, most)
    for near in (number, *(bound + step for bound in (least, most) if bound is not None for step in (-1, 0, 1))):
        within = (least is None or near >= least) and (most is None or near <= most)
        assert _found(pattern, str(near)) is within


@given(_BOUNDS, _BOUNDS, _DECIMALS)
def test_numbers_match_exactly_those_between_the_bounds(
    least: Bound | None, most: Bound | None, number: Decimal
) -> None:
    pattern = numbers(least, most)
    steps = [Decimal(step) for step in ("-1", "-0.001", "0", "0.0", "0.001", "0.1", "1")]
    for near in (number, *(bound.value + step for bound in (least, most) if bound is not None for step in steps)):
        text = format(near, "f")
        if near == 0 and text.startswith("-"):
            continue  # zero with a minus sign: a separate form
        above = least is None or near > least.value or (near == least.value and not least.open)
        below = most is None or near < most.value or (near == most.value and not most.open)
        assert _found(pattern, text) is (above and below)


def test_the_narrower_of_two_bounds_counts() -> None:
    schema = {"minimum": 1, "exclusiveMinimum": 1, "maximum": 9.5, "exclusiveMaximum": 10}
    assert bounds(schema) == (Bound(Decimal(1), True), Bound(Decimal("9.5")))
    assert whole_bounds(schema) == (2, 9)
    assert whole_bounds({"minimum": 0.5, "exclusiveMaximum": 3}) == (1, 2)


def test_an_empty_range_has_no_pattern() -> None:
    assert integers(3, 2) == ""
    assert numbers(Bound(Decimal(1), True), Bound(Decimal(1))) == ""
