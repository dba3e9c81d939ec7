"""Calls whose tags are doubled, lost, moved or cut off: a call that runs has the keys and values that its text shows.

Two calls with two string arguments each are written in a format, and one to three of their tags are changed. If a call
ends with a tolerance, its name, keys and values are all those of its text, in the same order, and no value contains
another one. Calls with a value that contains its own end marker, or with a key that appears twice, have other rules.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Sequence

import depth
import pytest

from toolfmt.formats import Parser
from toolfmt.messages.events import ToolCallArguments, ToolCallEnd, ToolCallStart
from toolfmt.testing.damaging import TOOLS, VALUES, written

NAME, KEYS = "get_weather", ("city", "state")
WORDS = re.compile("|".join((NAME, *KEYS, *VALUES)))
TOKENS = re.compile(rf"({WORDS.pattern}|<[^<>\n]*>|\n)")
OTHER_RULES = {"text_behind_closer", "duplicate_key"}


@pytest.mark.parametrize("format", ["glm4", "longcat", "k2_horizon", "iquest", "hunyuan_v3", "hunyuan_v4"])
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


def _damaged(numbers: random.Random, tokens: Sequence[str]) -> str:
    """Return the text with one to three tags doubled, lost, or moved, and perhaps cut off."""
    changed = list(tokens)
    for _ in range(numbers.choice((1, 1, 2, 3))):
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
    parser = Parser(format, tools=TOOLS)
    names: dict[int, str] = {}
    arguments: dict[int, str] = {}
    for event in [*parser.feed(text), *parser.finish()]:
        if isinstance(event, ToolCallStart):
            names[event.index], arguments[event.index] = event.name, ""
        elif isinstance(event, ToolCallArguments):
            arguments[event.index] += event.delta
        elif isinstance(event, ToolCallEnd) and event.tolerated and not OTHER_RULES & {*event.tolerated}:
            yield names[event.index], arguments[event.index], text[slice(*event.span)]
