"""A call whose arguments are not JSON: its text with two arguments, split at name, keys and values."""

from __future__ import annotations

import re
from dataclasses import dataclass

from toolfmt.inspect.format.derive.reasons import NotDerivable
from toolfmt.inspect.format.derive.rendered_calls import (
    KEYS,
    NAMES,
    NUMBER,
    NUMBER_KEY,
    VALUES,
    Rendered,
    RenderedCalls,
)
from toolfmt.inspect.format.derive.text_cuts import cut

_OF_JSON = re.compile(r"[\"']\s*:")


@dataclass(frozen=True)
class RawParts:
    """The text before the name, between name and key, key and value, value and key, and after the last value."""

    before: str
    head: str
    assign: str
    separator: str
    after: str
    number_assign: str
    """As `assign`, for a number as value; the same if none was rendered."""
    number_after: str
    """The text after a number that is the only value."""
    between: str | None
    """The text between the last value of a call and the name of the next one; None for one call per turn."""
    none: str | None
    """The text after the name of a call without arguments; None if that was not rendered."""
    with_text: str | None
    """The text before the name, with text for the user next to the call."""


def raw_parts(rendered: Rendered) -> RawParts:
    """Return the parts. Raise `NotDerivable` if they are not in this order, repeat, or differ between arguments."""
    if rendered.two_arguments is None:
        raise NotDerivable("two arguments are not written")
    (name, key, value), (second, other) = (NAMES[0], KEYS[0], VALUES[0]), (KEYS[1], VALUES[1])
    pieces = cut(rendered.two_arguments.text, (name, key, second, value, other))
    words = pieces[1::2]
    if words != [name, key, value, second, other]:
        raise NotDerivable(_order(words), near=1)
    before, head, assign, separator, again, after = pieces[0::2]
    if again != assign:
        raise NotDerivable("the second argument is written differently than the first")
    if _OF_JSON.match(assign):
        raise NotDerivable("keys are quoted as in JSON, but name and arguments are not JSON", near=1)
    number_assign, number_after = _of_number(rendered.number, assign, after)
    return RawParts(
        before, head, assign, separator, after, number_assign, number_after, _between(rendered), _none(rendered),
        _before_with_text(rendered),
    )  # fmt: skip


def _order(words: list[str]) -> str:
    """Return why no engine can read the order of a call's parts."""
    if NAMES[0] not in words:
        return "the name of a call is not in the output"
    if words.count(NAMES[0]) > 1 and KEYS[0] in words:
        return "it contains the name of a call more than once"
    if not set(KEYS) & set(words):
        return "the keys of the arguments are not written"
    if words.count(KEYS[0]) > 1:
        return "it contains the key of an argument more than once"
    return "name, keys and values are not in this order"


def _of_number(seen: RenderedCalls | None, assign: str, after: str) -> tuple[str, str]:
    if seen is None:
        return assign, after
    pieces = cut(seen.text, (NAMES[0], NUMBER_KEY, str(NUMBER)))
    if pieces[1::2] != [NAMES[0], NUMBER_KEY, str(NUMBER)]:
        raise NotDerivable("a number is written differently than a string")
    return pieces[4], pieces[6]


def _between(rendered: Rendered) -> str | None:
    if rendered.two is None:
        return None
    pieces = cut(rendered.two.text, (*NAMES, *KEYS, *VALUES))
    if pieces[1::2] != [NAMES[0], KEYS[0], VALUES[0], NAMES[1], KEYS[1], VALUES[1]]:
        raise NotDerivable("two calls are written differently than one", near=2)
    return pieces[6]


def _none(rendered: Rendered) -> str | None:
    if rendered.none is None:
        return None
    pieces = cut(rendered.none.text, (NAMES[0],))
    return pieces[2] if len(pieces) == 3 else None


def _before_with_text(rendered: Rendered) -> str | None:
    with_text = rendered.with_text
    return (
        with_text.text[: with_text.text.find(NAMES[0])]
        if with_text is not None and NAMES[0] in with_text.text
        else None
    )
