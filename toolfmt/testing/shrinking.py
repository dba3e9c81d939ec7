"""Shrink a bug: search for a small output with which a target still violates the same invariant in the same way.

A written output is shrunk by its parts (calls, arguments, values, text, tools) and written again, so that its expected
result is always known. Any other text is shrunk by removing parts of it. Chunks are joined. The order of steps is
fixed, so that the same bug always gives the same case.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from toolfmt.errors import CannotWrite
from toolfmt.testing.broken import InvariantViolation
from toolfmt.testing.drawing import GeneratedOutput, Recipe, written
from toolfmt.testing.runner import broken_by
from toolfmt.testing.targets import Target, Way

Key: TypeAlias = tuple[str, str]
_SENTENCES = re.compile(r"(?<=[.!?:] )|(?<=\n)")
_MOST_CUTS = 120


class Shrinker:
    """Shrinks one bug with a limited number of parser runs."""

    def __init__(self, target: Target, key: Key, most: int = 400) -> None:
        self._target = target
        self._key = key
        self._left = most

    def shrink(self, answer: GeneratedOutput, way: Way | None) -> tuple[GeneratedOutput, InvariantViolation | None]:
        """Return the smallest output found, and how it violates the invariant. None if it does not violate it again."""
        ways = self._ways(answer, way)
        if self._fails(answer, ways(answer)) is None:
            return answer, None
        smaller = True
        while smaller and self._left > 0:
            smaller = False
            for other in _simpler(answer):
                if self._left <= 0:
                    break
                if self._fails(other, ways(other)) is not None:
                    answer, smaller = other, True
                    break
        last = self._fails(answer, ways(answer))
        if last is not None and last.pieces is not None and len(last.pieces) > 2:
            last = self._fewer_pieces(answer, last)
        return answer, last

    def _fails(self, answer: GeneratedOutput, ways: Sequence[Way]) -> InvariantViolation | None:
        """Return how an output violates the same invariant, if it does."""
        self._left -= 1
        broken, _ = broken_by(self._target, answer, ways)
        return next((one for one in broken if (one.invariant, one.kind) == self._key), None)

    def _ways(self, answer: GeneratedOutput, way: Way | None) -> Any:
        """Return the ways to split outputs while this bug is shrunk: whole, by character, or in two at every
        position.
        """
        if way is None:
            return lambda _: ()
        for ways in (_letters, _in_two):
            if self._fails(answer, ways(answer)) is not None:
                return ways
        return lambda other: (way,) if other.text == answer.text else ()

    def _fewer_pieces(self, answer: GeneratedOutput, broken: InvariantViolation) -> InvariantViolation:
        """Return the same split with chunks joined if possible."""
        self._left = max(self._left, 100)
        if (simple := self._fails(answer, _in_two(answer))) is not None:
            return simple
        pieces = list(broken.pieces or ())
        at = 0
        while at + 1 < len(pieces) and self._left > 0:
            joined = [*pieces[:at], pieces[at] + pieces[at + 1], *pieces[at + 2 :]]
            fails = self._fails(answer, (joined,)) if len(joined) > 1 else None
            if fails is None:
                at += 1
            else:
                broken, pieces = fails, joined
        return broken


def _letters(answer: GeneratedOutput) -> Sequence[Way]:
    return (list(answer.text),)


def _in_two(answer: GeneratedOutput) -> Sequence[Way]:
    step = max(1, -(-len(answer.text) // _MOST_CUTS))
    return [[answer.text[:at], answer.text[at:]] for at in range(1, len(answer.text), step)]


def _simpler(answer: GeneratedOutput) -> Iterator[GeneratedOutput]:
    """Yield smaller outputs of the same kind, the smallest first."""
    if answer.kind == "corpus" and answer.expected is not None:
        yield from _written([Recipe(answer.format, answer.expected.calls, tuple(answer.tools or ()))])
    elif answer.kind == "calls" and answer.recipe is not None:
        yield from _written(_simpler_recipes(answer.recipe))
    elif answer.kind == "cut" and answer.recipe is not None:
        yield from _simpler_cuts(answer, answer.recipe)
    elif answer.kind in ("damaged", "soup", "prose"):
        yield from (replace(answer, tools=tools) for tools in _fewer_tools(answer.tools, answer.text))
        units = [*filter(None, _SENTENCES.split(answer.text))] if answer.kind == "prose" else list(answer.text)
        for text in _fewer(units):
            last = answer.last if answer.last in text else ""  # if the result has a call, this is not needed
            yield replace(answer, text=text, last=last)


def _written(recipes: Iterable[Recipe]) -> Iterator[GeneratedOutput]:
    """Yield the outputs of recipes, except those that their format cannot represent."""
    for recipe in recipes:
        try:
            yield written(recipe)
        except CannotWrite:
            continue


def _simpler_cuts(answer: GeneratedOutput, recipe: Recipe) -> Iterator[GeneratedOutput]:
    """Yield smaller outputs cut at the same distance from the end, or from the beginning."""
    whole = written(recipe).text
    missing = len(whole) - len(answer.text)
    for answer_of in _written(_simpler_recipes(recipe)):
        text = answer_of.text
        for length in (len(text) - missing, len(answer.text) - len(whole) + len(text), len(answer.text)):
            if 0 < length < len(text):
                yield replace(answer_of, kind="cut", text=text[:length])


def _simpler_recipes(recipe: Recipe) -> Iterator[Recipe]:
    barer = (
        replace(recipe, variant=""),
        replace(recipe, reasoning=""),
        replace(recipe, before=""),
        replace(recipe, after=""),
    )
    yield from (other for other in barer if other != recipe)
    for at in range(len(recipe.calls)):
        if len(recipe.calls) > 1:
            yield replace(recipe, calls=(*recipe.calls[:at], *recipe.calls[at + 1 :]))
    named = json.dumps(recipe.calls, ensure_ascii=False)
    yield from (replace(recipe, tools=tuple(tools)) for tools in _fewer_tools(recipe.tools, named))
    for at, (name, arguments) in enumerate(recipe.calls):
        for smaller in _simpler_values(arguments):
            yield replace(recipe, calls=(*recipe.calls[:at], (name, smaller), *recipe.calls[at + 1 :]))


def _simpler_values(value: Any) -> Iterator[Any]:
    """Yield smaller values of the same type."""
    if isinstance(value, dict):
        for key in value:
            yield {other: inner for other, inner in value.items() if other != key}
        for key in value:
            yield from ({**value, key: inner} for inner in _simpler_values(value[key]))
    elif isinstance(value, list):
        for at in range(len(value)):
            yield [*value[:at], *value[at + 1 :]]
        for at, one in enumerate(value):
            yield from ([*value[:at], inner, *value[at + 1 :]] for inner in _simpler_values(one))
    elif isinstance(value, str):
        if len(value) > 1:
            yield "x"
        yield from _fewer(list(value))
    elif isinstance(value, (int, float)) and not isinstance(value, bool) and value not in (0, 1):
        yield 1


def _fewer(units: Sequence[str]) -> Iterator[str]:
    """Yield the text without a part: first all of it, then halves, quarters, down to single units."""
    if units and any(units):
        yield ""
    size = len(units) // 2
    while size:
        for at in range(0, len(units), size):
            yield "".join([*units[:at], *units[at + size :]])
        size //= 2


def _fewer_tools(tools: Sequence[Any] | None, text: str) -> Iterator[list[Any]]:
    """Yield the tools with one tool less, one parameter less, or less description.

    A tool or parameter that the text may name stays, because a call of an undeclared tool is a different case.
    """
    for at, tool in enumerate(tools or ()):
        before, after = list((tools or ())[:at]), list((tools or ())[at + 1 :])
        function = tool.get("function", tool)
        if (before or after) and function["name"] not in text:
            yield before + after
        for less in _smaller_functions(function, text):
            if less != function:
                yield [*before, {**tool, "function": less} if "function" in tool else less, *after]


def _smaller_functions(function: dict[str, Any], text: str) -> Iterator[dict[str, Any]]:
    yield {key: value for key, value in function.items() if key != "description"}
    parameters = function.get("parameters") or {}
    yield {**function, "parameters": {key: value for key, value in parameters.items() if key != "required"}}
    properties = parameters.get("properties", {})
    for key in properties:
        if key not in text:
            fewer = {other: schema for other, schema in properties.items() if other != key}
            yield {**function, "parameters": {**parameters, "properties": fewer}}


def size_of(answer: GeneratedOutput) -> int:
    """Return the size of an output including its tools, to choose the smallest."""
    return len(answer.text) + len(json.dumps(answer.tools or [])) // 4
