"""The guarantees for engines with random parameters: any text of their markers, long values, strings that stream."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import depth
import drawn_engines
import pytest
from guarantees import check_arguments, check_shape, check_tiling, cut, dropped
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from toolfmt.errors import CannotWrite
from toolfmt.formats import Parser, ToolCallFormat, write
from toolfmt.messages.events import Event, ToolCallArguments, merge

TOOLS = [
    {"name": "f", "parameters": {"type": "object", "properties": {"s": {"type": "string"}, "n": {"type": "integer"}}}}
]
_TEXTS = (
    "f",
    "s",
    "n",
    "x",
    "é",
    "3",
    '"',
    "'",
    " ",
    "\n",
    "{",
    "}",
    ")",
    "<",
    ">",
    "/",
    "=",
    ":",
    ",",
    "<think>",
    "```",
)


def _events(format: ToolCallFormat, pieces: Any, **options: Any) -> list[Event]:
    parser = Parser(format, **options)
    return merge([*(event for piece in pieces for event in parser.feed(piece)), *parser.finish()])


def _markers(value: Any) -> list[str]:
    """Every text among the parameters of an engine."""
    if isinstance(value, str):
        return [value] if value else []
    if isinstance(value, tuple):
        return [marker for inner in value for marker in _markers(inner)]
    return []


def _all_markers(engine: Any) -> list[str]:
    return sorted({marker for part in fields(engine) for marker in _markers(getattr(engine, part.name))})


def _written(format: ToolCallFormat, arguments: dict[str, Any]) -> str:
    try:
        return write(format, [("f", arguments), ("f", {})], TOOLS)
    except CannotWrite:
        assume(False)
        raise


_SETTINGS = settings(max_examples=depth.examples(80), suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("kind", drawn_engines.ENGINES)
def test_any_text_of_the_markers_of_a_drawn_engine(kind: str) -> None:
    """Guarantees 1 to 5 and 11."""

    @_SETTINGS
    @given(
        drawn_engines.ENGINES[kind],
        st.lists(st.integers(0, 10**6), max_size=14),
        st.lists(st.integers(0, 300), max_size=6),
        st.sampled_from([None, TOOLS, []]),
        st.booleans(),
    )
    def holds(engine: Any, chosen: list[int], places: list[int], tools: Any, strict: bool) -> None:
        format = drawn_engines.format_of(engine)
        soup = [*_all_markers(engine), *_TEXTS, write(format, [("f", {"n": 3}), ("f", {})])]
        text = "".join(soup[at % len(soup)] for at in chosen)
        if places:  # a chunk of a written call is lost
            lost = places[0] % (len(text) + 1)
            text = text[:lost] + text[lost + len(places) :]
        whole = _events(format, [text], tools=tools, strict=strict)
        assert _events(format, list(text), tools=tools, strict=strict) == whole
        assert _events(format, cut(text, places), tools=tools, strict=strict) == whole
        check_shape(whole)
        check_arguments(whole)
        check_tiling(text, whole, dropped(format))

    holds()


@pytest.mark.parametrize("kind", drawn_engines.ENGINES)
def test_the_cost_of_a_drawn_engine_is_linear(kind: str) -> None:
    """Guarantee 9: twice the text costs twice as much, counted in characters examined."""

    @settings(_SETTINGS, max_examples=depth.examples(8))
    @given(drawn_engines.ENGINES[kind], st.sampled_from([4, 10**6]))
    def linear(engine: Any, size: int) -> None:
        format = drawn_engines.format_of(engine)
        value = _written(format, {"s": "for i in range(10):\n    print i, 'a'\n"})
        opened = value[: value.index("for i")]
        repeated = ["x", " <", "for i in range(10):\n    print i, 'a'\n", value]
        for marker in _all_markers(engine):
            repeated += [marker, f" {marker} \n s"]
        for begin in (opened, ""):
            for piece in repeated:
                costs = []
                for length in (900, 1800):
                    text = begin + piece * (length // len(piece))
                    parser = Parser(format, tools=TOOLS)
                    for at in range(0, len(text), size):
                        parser.feed(text[at : at + size])
                    parser.finish()
                    costs.append(parser.scanned_characters / len(text))
                assert costs[1] <= 1.3 * costs[0] + 3, (begin, piece, size, costs)

    linear()


@pytest.mark.parametrize("kind", drawn_engines.ENGINES)
def test_strings_of_a_drawn_engine_stream(kind: str) -> None:
    """Guarantee 6: a string value is emitted while it is still being written."""

    @_SETTINGS
    @given(drawn_engines.ENGINES[kind])
    def streams(engine: Any) -> None:
        format = drawn_engines.format_of(engine)
        written = _written(format, {"s": "a bc" + "z" * 8})
        parser = Parser(format, tools=TOOLS)
        parser.feed(written[: written.index("zzzzzzzz")])
        streamed = "".join(event.delta for event in parser.feed("zzzz") if isinstance(event, ToolCallArguments))
        assert streamed.endswith("zzz")

    streams()
