"""Patterns of the numbers between two bounds, in JSON syntax, for grammars, which cannot compare numbers."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any, NamedTuple

INTEGER = "-?(0|[1-9][0-9]*)"
NUMBER = r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]{1,2})?"
"""The exponent has at most two digits: larger numbers may not fit into a float."""


class Bound(NamedTuple):
    """One end of a range. An open bound is not part of the range."""

    value: Decimal
    open: bool = False


def integers(least: int | None, most: int | None) -> str:
    """Return a pattern of the integers from `least` to `most`. None means unbounded. Empty if there are none."""
    if least is None and most is None:
        return INTEGER
    parts = []
    if least is None or least < 0:
        negative = _naturals(1 if most is None or most >= 0 else -most, None if least is None else -least)
        parts += [f"-{_grouped(negative)}"] if negative else []
    if most is None or most >= 0:
        parts.append(_naturals(max(0, least or 0), most))
    return "|".join(filter(None, parts))


def numbers(least: Bound | None, most: Bound | None) -> str:
    """Return a pattern of the decimal numbers between two bounds. None means unbounded. Empty if there are none.

    Numbers with bounds have no exponent.
    """
    if least is None and most is None:
        return NUMBER
    zero = Bound(Decimal(0))
    parts = []
    if least is None or least.value < 0:
        upper = None if least is None else Bound(-least.value, least.open)
        negative = _between(
            Bound(-most.value, most.open) if most and most.value < 0 else Bound(zero.value, True), upper
        )
        parts += [f"-{_grouped(negative)}"] if negative else []
    if most is None or most.value > 0 or (most.value == 0 and not most.open):
        parts.append(_between(least if least and least.value >= 0 else zero, most))
    return "|".join(filter(None, parts))


def bounds(schema: dict[str, Any]) -> tuple[Bound | None, Bound | None]:
    """Return the lower and upper bound that a schema sets for numbers. If it sets two, the narrower one counts."""
    lower = [Bound(_decimal(schema[key]), key[0] == "e") for key in ("minimum", "exclusiveMinimum") if key in schema]
    upper = [Bound(_decimal(schema[key]), key[0] == "e") for key in ("maximum", "exclusiveMaximum") if key in schema]
    return max(lower, default=None), min(upper, key=lambda bound: (bound.value, not bound.open), default=None)


def whole_bounds(schema: dict[str, Any]) -> tuple[int | None, int | None]:
    """Return the smallest and largest integer that the bounds of a schema allow. None means unbounded."""
    lower, upper = bounds(schema)
    least = None if lower is None else math.floor(lower.value) + 1 if lower.open else math.ceil(lower.value)
    most = None if upper is None else math.ceil(upper.value) - 1 if upper.open else math.floor(upper.value)
    return least, most


def _decimal(value: Any) -> Decimal:
    return Decimal(str(value))


def _grouped(pattern: str) -> str:
    return f"({pattern})" if "|" in pattern else pattern


def _naturals(least: int, most: int | None) -> str:
    """Return a pattern of the integers from `least`, which is not negative, to `most`."""
    if most is not None and most < least:
        return ""
    parts = []
    first, last = len(str(least)), len(str(least if most is None else most))
    for length in range(first, last + 1):
        low = max(least, 10 ** (length - 1) if length > 1 else 0)
        high = 10**length - 1 if most is None or length < last else most
        parts.append(_of_one_length(str(low), str(high)))
    if most is None:
        parts.append(f"[1-9][0-9]{{{last},}}")
    return "|".join(parts)


def _of_one_length(low: str, high: str) -> str:
    """Return a pattern of the integers from `low` to `high`, which have the same number of digits."""
    if low == high:
        return low
    if low[0] == high[0]:
        return low[0] + _grouped(_of_one_length(low[1:], high[1:]))
    rest = len(low) - 1
    if not rest:
        return _digit(low, high)
    if set(low[1:]) == {"0"} and set(high[1:]) == {"9"}:
        return _digit(low[0], high[0]) + _digits(rest)
    parts = [low[0] + _grouped(_of_one_length(low[1:], "9" * rest))]
    if int(high[0]) - int(low[0]) > 1:
        parts.append(_digit(str(int(low[0]) + 1), str(int(high[0]) - 1)) + _digits(rest))
    parts.append(high[0] + _grouped(_of_one_length("0" * rest, high[1:])))
    return "|".join(parts)


def _digit(low: str, high: str) -> str:
    return low if low == high else f"[{low}-{high}]"


def _digits(count: int) -> str:
    return "[0-9]" if count == 1 else f"[0-9]{{{count}}}"


def _between(least: Bound, most: Bound | None) -> str:
    """Return a pattern of the numbers from `least`, which is not negative, to `most`."""
    low, low_fraction = _split(least.value)
    if most is None:
        return "|".join([*_from(low, low_fraction, least.open), f"{_grouped(_naturals(low + 1, None))}(\\.[0-9]+)?"])
    if most.value < least.value or (most.value == least.value and (most.open or least.open)):
        return ""
    high, high_fraction = _split(most.value)
    if low == high:
        alone = [str(low)] if not low_fraction and not least.open else []
        fraction = _fractions(low_fraction, high_fraction, least.open, most.open)
        return "|".join([*alone, *([f"{low}\\.{_grouped(fraction)}"] if fraction else [])])
    parts = _from(low, low_fraction, least.open)
    if high - low > 1:
        parts.append(f"{_grouped(_naturals(low + 1, high - 1))}(\\.[0-9]+)?")
    if high_fraction or not most.open:
        fraction = _at_most(high_fraction, most.open)
        parts += [str(high), *([f"{high}\\.{_grouped(fraction)}"] if fraction else [])]
    return "|".join(parts)


def _split(value: Decimal) -> tuple[int, str]:
    """Return the integer part, and the digits after the decimal point without trailing zeros."""
    whole, _, fraction = format(value, "f").partition(".")
    return int(whole), fraction.rstrip("0")


def _from(whole: int, fraction: str, open: bool) -> list[str]:
    """Return patterns of the numbers with this integer part and at least this fraction."""
    alone = [str(whole)] if not fraction and not open else []
    return [*alone, f"{whole}\\.{_grouped(_at_least(fraction, open))}"]


def _at_least(fraction: str, open: bool) -> str:
    """Return a pattern of the fractions, of one digit or more, that are not smaller than this one."""
    if not fraction:
        return "0*[1-9][0-9]*" if open else "[0-9]+"
    first, rest = fraction[0], fraction[1:]
    more = [f"{_digit(str(int(first) + 1), '9')}[0-9]*"] if first < "9" else []
    tail = _at_least(rest, open)
    return "|".join([f"{first}{_grouped(tail) if rest or open else '[0-9]*'}", *more])


def _at_most(fraction: str, open: bool) -> str:
    """Return a pattern of the fractions, of one digit or more, that are not greater. Empty if there are none."""
    if not fraction:
        return "" if open else "0+"
    first, rest = fraction[0], fraction[1:]
    less = [f"{_digit('0', str(int(first) - 1))}[0-9]*"] if first > "0" else []
    tail = _at_most(rest, open)
    equal = f"{first}({tail})?" if rest else "" if open else f"{first}0*"
    return "|".join(filter(None, [*less, equal]))


def _fractions(low: str, high: str, low_open: bool, high_open: bool) -> str:
    """Return a pattern of the fractions, of one digit or more, between two."""
    if not low and not low_open:
        return _at_most(high, high_open)
    if not low:  # more than zero, up to `high`
        first, rest = high[0], high[1:]
        if first == "0":
            return f"0{_grouped(_fractions('', rest, True, high_open))}"
        less = [f"0*{_digit('1', str(int(first) - 1))}[0-9]*"] if first > "1" else []
        less.append("00*[1-9][0-9]*")
        tail = _at_most(rest, high_open)
        equal = f"{first}({tail})?" if rest else "" if high_open else f"{first}0*"
        return "|".join(filter(None, [*less, equal]))
    if high and low[0] == high[0]:
        inner = _fractions(low[1:], high[1:], low_open, high_open)
        alone = not low[1:] and not low_open
        return f"{low[0]}{_grouped(inner)}{'?' if alone else ''}" if not alone else f"{low[0]}({inner})?"
    parts = [f"{low[0]}{_grouped(_at_least(low[1:], low_open)) if low[1:] or low_open else '[0-9]*'}"]
    if int(high[0]) - int(low[0]) > 1:
        parts.append(f"{_digit(str(int(low[0]) + 1), str(int(high[0]) - 1))}[0-9]*")
    tail = _at_most(high[1:], high_open)
    parts.append(f"{high[0]}({tail})?" if high[1:] else "" if high_open else f"{high[0]}0*")
    return "|".join(filter(None, parts))
