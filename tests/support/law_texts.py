"""Random model outputs of every format."""

from __future__ import annotations

from itertools import chain

from hypothesis import strategies as st

from toolfmt.errors import CannotWrite
from toolfmt.formats import FORMATS, write
from toolfmt.testing.material import markers

COMMON = [
    " ", "\n", "\n\n", "\r\n", "\t", "a", "Hello, world", "{", "}", "[", "]", "(", ")", '"', "'", "\\", "\\n",
    "\\u00e9", ",", ":", "=", "<", ">", "/", "|", "```", "```json", "null", "None", "True", "1", "-0.5", "é", "格",
    "\x00", "\ud800", '{"name": "f", "arguments": {', '"name"', '"arguments"', '"f"', "f(", "f", "call:f{",
    "<think>", "</think>", "NaN",
]  # fmt: skip

NAMES = [format.name for format in FORMATS]

SOUP = {
    name: st.lists(st.sampled_from([*COMMON, *markers(name), *markers(name)]), max_size=24).map("".join)
    for name in NAMES
}

LETTERS = "abcdefghijklmnopqrstuvwxyz"

STRINGS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.lists(
    st.sampled_from([*(piece for piece in COMMON[:-8] if piece != "\ud800"), *chain(*map(markers, NAMES))]), max_size=5
).map("".join)

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | STRINGS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(LETTERS, min_size=1, max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)

ARGUMENTS = st.dictionaries(st.text(LETTERS + "_", min_size=1, max_size=8), VALUES, max_size=4)

CALLS = st.lists(st.tuples(st.sampled_from(["f", "get_weather", "a.b-c"]), ARGUMENTS), min_size=1, max_size=3)


@st.composite
def mutated(draw: st.DrawFn, format: str) -> str:
    """A text with valid calls in it, damaged in a few positions."""
    try:
        text = write(format, draw(CALLS))
    except CannotWrite:
        text = write(format, [("f", {"s": "x"})])
    text = (
        draw(st.sampled_from(["", "Let me see. ", "<think>hm</think>\n"]))
        + text
        + draw(st.sampled_from(["", "\nDone."]))
    )
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(text)))
        length = draw(st.integers(0, 6))
        piece = draw(st.sampled_from(["", *COMMON, *markers(format)]))
        text = text[:at] + piece + text[at + length :]
    return text


def texts(format: str) -> st.SearchStrategy[str]:
    return SOUP[format] | mutated(format)
