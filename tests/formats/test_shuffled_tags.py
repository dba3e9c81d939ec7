"""Calls whose tags are doubled, lost, moved or cut off: a call that runs has the keys and values that its text shows.

Two calls with two string arguments each are written in a format, and up to three of their tags are changed. If a call
ends with a tolerance, its name, keys and values are all those of its text, in the same order, and no value contains
another one. Calls with a value that contains its own end marker, or with a key that appears twice, have other rules. In
the other formats with tags, a value may quote a pair of tags, even that of another argument. But no value of a repaired
argument contains two values, and none contains text of two calls.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Sequence

import depth
import pytest

from toolfmt.formats import FORMATS, Parser
from toolfmt.formats.engines.nested_tags import NestedTags
from toolfmt.formats.engines.tagged import Tagged
from toolfmt.formats.format import ToolCallFormat
from toolfmt.messages.events import ToolCallArguments, ToolCallEnd, ToolCallStart
from toolfmt.testing.damaging import TOOLS, VALUES, unseen, written

NAME, KEYS = "get_weather", ("city", "state")
WORDS = re.compile("|".join((NAME, *KEYS, *VALUES)))
TOKENS = re.compile(rf"({WORDS.pattern}|\]<\][^\[\]<>]*\[>\[|<[^<>\n]*>|\n)")
OTHER_RULES = {"text_behind_closer", "duplicate_key"}
REPAIRS = {"missing_value_closer", "repeated_closer", "damaged_attribute"}
"""Tolerances of an argument. Others may belong to the frame, in which a value may quote anything."""
KEYS_BETWEEN_TAGS = ["glm4", "longcat", "k2_horizon", "iquest", "iquest_coder", "hunyuan_v3", "hunyuan_v4", "telechat"]


def tagged(format: ToolCallFormat) -> bool:
    engines = [format.engine, *getattr(format.engine, "engines", ())]
    return any(isinstance(engine, (Tagged, NestedTags)) for engine in engines)


@pytest.mark.parametrize("format", [format.name for format in FORMATS if tagged(format)])
def test_values_do_not_merge(format: str) -> None:
    tokens = [token for token in TOKENS.split(written(format)) if token]
    numbers = random.Random(format)
    number, merged = depth.examples(800), []
    for _ in range(number):
        text = _damaged(numbers, tokens, (1, 2, 2))
        for tools in (TOOLS, None):
            for _, arguments, end in _calls(format, text, tools):
                for value in map(str, json.loads(arguments).values()):
                    words = {word for word in VALUES if word in value}
                    assert not (REPAIRS & {*end.tolerated} and len(words) > 1 and not unseen(format, value)), text
                    if words & {*VALUES[:2]} and words & {*VALUES[2:]}:
                        merged.append(text)
    assert len(merged) <= number // 400, merged  # two damages can leave tags that belong together


@pytest.mark.parametrize("format", KEYS_BETWEEN_TAGS)
def test_a_call_has_the_arguments_that_its_text_shows(format: str) -> None:
    tokens = [token for token in TOKENS.split(written(format)) if token]
    numbers = random.Random(format)
    tolerated = 0
    for _ in range(depth.examples(800)):
        text = _damaged(numbers, tokens)
        for name, arguments, call in _tolerated_calls(format, text):
            tolerated += 1
            pairs = json.loads(arguments).items()
            assert all(key in KEYS and len(WORDS.findall(value)) == 1 for key, value in pairs), (text, arguments)
            assert [name, *WORDS.findall(arguments)] == WORDS.findall(call), (text, arguments)
    assert tolerated > 20


def _damaged(numbers: random.Random, tokens: Sequence[str], counts: Sequence[int] = (1, 1, 2, 3)) -> str:
    """Return the text with so many tags doubled, lost, or moved, and perhaps cut off."""
    changed = list(tokens)
    for _ in range(numbers.choice(counts)):
        at = numbers.randrange(len(changed))
        if WORDS.fullmatch(changed[at]):
            continue
        tag = changed.pop(at)
        places = {
            "doubled": (at, at),
            "lost": (),
            "swapped": (at + 1,),
            "moved": (numbers.randrange(len(changed) + 1),),
        }
        for place in places[numbers.choice(sorted(places))]:
            changed.insert(place, tag)
    return "".join(changed[: numbers.choice((None, None, None, numbers.randrange(len(changed))))])


def _tolerated_calls(format: str, text: str) -> Iterator[tuple[str, str, str]]:
    """Yield name, arguments and text of each call that ends with a tolerance of this test."""
    for name, arguments, end in _calls(format, text, TOOLS):
        if end.tolerated and not OTHER_RULES & {*end.tolerated}:
            yield name, arguments, text[slice(*end.span)]


def _calls(format: str, text: str, tools: object) -> Iterator[tuple[str, str, ToolCallEnd]]:
    parser = Parser(format, tools=tools)
    names: dict[int, str] = {}
    arguments: dict[int, str] = {}
    for event in [*parser.feed(text), *parser.finish()]:
        if isinstance(event, ToolCallStart):
            names[event.index], arguments[event.index] = event.name, ""
        elif isinstance(event, ToolCallArguments):
            arguments[event.index] += event.delta
        elif isinstance(event, ToolCallEnd):
            yield names[event.index], arguments[event.index], event
