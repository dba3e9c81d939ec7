"""The generators of `toolfmt.testing.drawing` as hypothesis strategies, which shrink failures, for test suites.

Needs the extra `testing`. A strategy is for one format by name, or for none if the format does not matter.
"""

from __future__ import annotations

from random import Random
from typing import Any

from toolfmt.formats import get
from toolfmt.testing import drawing
from toolfmt.testing.drawing import GeneratedOutput
from toolfmt.testing.material import markers

try:
    from hypothesis import strategies as st
except ImportError as missing:
    raise ImportError(f"toolfmt.testing.strategies needs hypothesis: pip install hypothesis ({missing})") from missing


def _chance() -> st.SearchStrategy[Random]:
    return st.randoms(use_true_random=False)


def schemas() -> st.SearchStrategy[dict[str, Any]]:
    """Return a strategy for JSON Schemas of one parameter."""
    return _chance().map(drawing.draw_schema)


def tools() -> st.SearchStrategy[list[Any]]:
    """Return a strategy for lists of one to three tool definitions in OpenAI's format."""
    return _chance().map(drawing.draw_tools)


def calls(given: list[Any], format: str | None = None) -> st.SearchStrategy[list[tuple[str, dict[str, Any]]]]:
    """Return a strategy for one to three calls of these tools, as names and valid arguments.

    Args:
        given: The tool definitions.
        format: The name of a format, so that some strings contain its markers.
    """
    marks = () if format is None else markers(get(format).name)
    return _chance().map(lambda chance: drawing.draw_calls(chance, given, marks))


def written(format: str) -> st.SearchStrategy[GeneratedOutput]:
    """Return a strategy for written outputs: calls with their tools, some with text or reasoning around them.

    The expected result is in `expected`.

    Args:
        format: The name of a format.
    """
    return _chance().map(lambda chance: drawing.written(drawing.draw_recipe(chance, get(format).name)))


def outputs(format: str) -> st.SearchStrategy[GeneratedOutput]:
    """Return a strategy for outputs of every kind: written, cut, damaged, prose, cases of the corpus, soup.

    Args:
        format: The name of a format.
    """
    return _chance().map(lambda chance: drawing.draw_answer(chance, get(format).name))


def damaged(text: str, format: str) -> st.SearchStrategy[str]:
    """Return a strategy for variants of a string with one damage, preferably at a marker of the format.

    Args:
        text: The string.
        format: The name of a format.
    """
    return _chance().map(lambda chance: drawing.draw_damage(chance, text, get(format).name))


def prose(format: str) -> st.SearchStrategy[GeneratedOutput]:
    """Return a strategy for outputs that mention, quote or resemble calls of a format, without containing one.

    Args:
        format: The name of a format.
    """
    return _chance().map(lambda chance: drawing.draw_prose(chance, get(format).name))


def pieces(text: str, format: str) -> st.SearchStrategy[list[str]]:
    """Return a strategy for ways to split a string.

    It is split into characters, into small pieces, in and around the markers of a format, or anywhere.

    Args:
        text: The string.
        format: The name of a format.
    """
    return _chance().map(lambda chance: drawing.draw_pieces(chance, text, get(format).name))


__all__ = ["calls", "damaged", "outputs", "pieces", "prose", "schemas", "tools", "written"]
