"""The reader for clean JSON hands over to the lenient one at any place, and nothing shows where."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from toolfmt.formats import Parser
from toolfmt.formats.values.clean_json import DEEPEST, DONE, CleanJson
from toolfmt.formats.values.syntaxes import JSON
from toolfmt.formats.values.value_reader import whole_value
from toolfmt.messages.events import ToolCallArguments, ToolCallEnd, ToolCallRejected

_LEAVES: list[Any] = [0, -1.5e3, 10**30, True, None, "", "a b", 'q"\\\n', "é\U0001f600", "\ud83d", {}, []]
_DAMAGE = [*"\"'{}[],: \n\\", "True", "None", "1.", "+1", "//", "\x00", "\\x", '""', ",,", "key", "…"]


def value(draw: random.Random, depth: int = 0) -> Any:
    kind = draw.randrange(4 if depth < 3 else 1)
    if kind < 2:
        return draw.choice(_LEAVES)
    items = [value(draw, depth + 1) for _ in range(draw.randrange(4))]
    return items if kind == 2 else {draw.choice("abc é") * (at + 1): item for at, item in enumerate(items)}


def written(draw: random.Random) -> str:
    """Return JSON in one of several layouts, damaged in half of the cases."""
    layouts: list[dict[str, Any]] = [{}, {"indent": 1}, {"separators": (",", ":")}, {"separators": (" ,\t", " :\n")}]
    text = json.dumps(value(draw), ensure_ascii=draw.random() < 0.5, **draw.choice(layouts))
    for _ in range(draw.randrange(3)):
        at = draw.randrange(len(text) + 1)
        text = text[:at] + draw.choice(_DAMAGE) + text[at + draw.randrange(3) :]
    return text


def read(text: str, size: int, *, strict: bool = False) -> tuple[str, tuple[str, ...]] | None:
    """Return the argument that a parser returns for this text in chunks of a size, and its tolerances."""
    parser = Parser("json", strict=strict)
    whole = f'<tool_call>\n{{"name": "f", "arguments": {{"v": {text}}}}}\n</tool_call>'
    events = [event for at in range(0, len(whole), size) for event in parser.feed(whole[at : at + size])]
    events += parser.finish()
    ends = [event for event in events if isinstance(event, ToolCallEnd)]
    if not ends or any(isinstance(event, ToolCallRejected) for event in events):
        return None
    arguments = "".join(event.delta for event in events if isinstance(event, ToolCallArguments))
    return arguments, ends[0].tolerated


@pytest.mark.parametrize("seed", range(40))
def test_the_two_readers_read_the_same(seed: int) -> None:
    """`whole_value` reads with the lenient reader alone."""
    draw = random.Random(seed)
    for _ in range(25):
        text = written(draw)
        whole = read(text, 10**6)
        alone = whole_value(text, JSON)
        if alone is not None and "\ud83d" not in text:
            assert whole is not None, text
            assert whole[0] == f'{{"v": {alone[0]}}}', text
            assert set(whole[1]) == set(alone[1]), text
        assert [read(text, size) for size in (1, 3, draw.randint(4, 20))] == [whole] * 3, text
        assert [read(text, size, strict=True) for size in (1, 7)] == [read(text, 10**6, strict=True)] * 2, text


@pytest.mark.parametrize(
    ("text", "tolerated"),
    [
        ("""{"a": 1, 'a': 1}""", {"single_quotes", "duplicate_key"}),
        ("""[{"a": {"b": 1}, "c": 'x', "a": {"b":1}}]""", {"single_quotes", "duplicate_key"}),
        ("""{"a": {"a": 1}, b: 2}""", {"unquoted_key"}),
        ("""{"a": [True, 1]}""", {"python_literal"}),
        (
            """["x
y", 1]""",
            {"raw_newline"},
        ),
    ],
)
def test_the_lenient_reader_knows_what_the_other_has_read(text: str, tolerated: set[str]) -> None:
    for size in (1, 5, 1000):
        made = read(text, size)
        assert made is not None
        assert set(made[1]) == tolerated


@pytest.mark.parametrize(
    ("text", "clean", "done"),
    [
        ('{"a": [1, {"b": null}], "c": "x\\n"} rest', '{"a": [1, {"b": null}], "c": "x\\n"}', True),
        ("[] ", "[]", True),
        ("[1, 2,] ", "[1, 2", False),
        ('{"a": 1, "a": 2} ', '{"a": 1', False),
        ("{'a': 1} ", "{", False),
        ('["x\ny"] ', '["x', False),
        ("[True] ", "[", False),
        ("[1}", "[1", False),
        ("[01] ", "[", False),
        ('["\\x"] ', '["', False),
        ("[" * (DEEPEST + 1) + " ", "[" * DEEPEST, False),
    ],
)
def test_where_clean_json_ends(text: str, clean: str, done: bool) -> None:
    for closed in (False, True):
        reader = CleanJson()
        assert reader.read(text, 0, closed) == (clean, len(clean), True)
        assert reader.final is not None
        assert (reader.final[0] == DONE) == done
        assert reader.read(text, 0, closed) == (clean, len(clean), True)  # the fast path may read a chunk twice


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "{",
        '{"a',
        '{"a"',
        '{"a" :',
        '{"a": tru',
        '{"a": 1 ,',
        '{"a": 1, "b"',
        "[1",
        "[1,",
        '["\\',
        '["\\u00',
        "[-",
    ],
)
def test_a_token_that_may_be_completed_is_waited_for(text: str) -> None:
    reader = CleanJson()
    _, at, ended = reader.read(text, 0, False)
    assert not ended
    assert reader.read(text[at:], 0, True)[2] or reader.state != DONE
