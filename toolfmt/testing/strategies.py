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
    """JSON Schemas of one parameter."""
    return _chance().map(drawing.draw_schema)


def tools() -> st.SearchStrategy[list[Any]]:
    """One to three tool definitions in OpenAI's format."""
    return _chance().map(drawing.draw_tools)


def calls(given: list[Any], format: str | None = None) -> st.SearchStrategy[list[tuple[str, dict[str, Any]]]]:
    """One to three calls of these tools, as names and valid arguments.

    With a `format`, some strings contain its markers.
    """
    marks = () if format is None else markers(get(format).name)
    return _chance().map(lambda chance: drawing.draw_calls(chance, given, marks))


def written(format: str) -> st.SearchStrategy[GeneratedOutput]:
    """Written outputs of a format: calls with their tools, some with text or reasoning around them.

    The expected result is in `expected`.
    """
    return _chance().map(lambda chance: drawing.written(drawing.draw_recipe(chance, get(format).name)))


def outputs(format: str) -> st.SearchStrategy[GeneratedOutput]:
    """Outputs of every kind: written, cut, damaged, prose, cases of the corpus, soup."""
    return _chance().map(lambda chance: drawing.draw_answer(chance, get(format).name))


def damaged(text: str, format: str) -> st.SearchStrategy[str]:
    """A string with one damage, preferably at a marker of the format."""
    return _chance().map(lambda chance: drawing.draw_damage(chance, text, get(format).name))


def prose(format: str) -> st.SearchStrategy[GeneratedOutput]:
    """Outputs that mention, quote or resemble calls of a format, without containing one."""
    return _chance().map(lambda chance: drawing.draw_prose(chance, get(format).name))


def pieces(text: str, format: str) -> st.SearchStrategy[list[str]]:
    """Ways to split a string: into characters, small pieces, in and around the markers of a format, or anywhere."""
    return _chance().map(lambda chance: drawing.draw_pieces(chance, text, get(format).name))


__all__ = ["calls", "damaged", "outputs", "pieces", "prose", "schemas", "tools", "written"]
