"""What is quoted in a sentence, as a person reads it."""

from __future__ import annotations

import re
from collections.abc import Sequence

CUT = "…"
"""Where a quote of a prompt begins or ends and the prompt does not."""


def check_excerpts(words: str, excerpts: Sequence[str]) -> None:
    """Raises `ValueError` where words have places for excerpts, but not one for each."""
    if words.count("{}") not in (0, len(excerpts)):
        raise ValueError(f"{len(excerpts)} excerpts for {words!r}")


def filled(words: str, excerpts: Sequence[str]) -> str:
    """The words with the excerpts in the places marked `{}`; behind them where they have no such place."""
    first, *rest = words.split("{}")
    if rest:
        return first + "".join(map("".join, zip(excerpts, rest, strict=True)))
    return ": ".join(filter(None, (words, ", ".join(excerpts))))


def shortened(text: str, longest: int) -> str:
    """The beginning of a text that is longer than so many characters."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


_ESCAPE = re.compile(r"\\(?=n)")
"""A backslash before an n, which must not look like a line break."""


def quote(text: str, longest: int = 160) -> str:
    """A stretch of a prompt for a person: on one line, cut in the middle where it is long."""
    text = text.strip().replace("\n", "\\n")
    return text if len(text) <= longest else f"{text[: longest // 2]} … {text[-longest // 2 :]}"


def escaped(prompt: str) -> str:
    """The text with a second backslash before `\\n`, which `quote` would otherwise show like a line break."""
    return _ESCAPE.sub(r"\\\\", prompt)


def excerpt(prompt: str, begin: int, end: int, longest: int = 160) -> str:
    """A part of a prompt for a person, with … at a side where the prompt goes on."""
    begin, end = max(0, begin), min(end, len(prompt))
    return f"{CUT if begin else ''}{quote(escaped(prompt[begin:end]), longest)}{CUT if end < len(prompt) else ''}"


def around(prompt: str, sentinel: str, width: int = 30) -> str:
    """The stretch of a prompt around the first place of a sentinel, for a person."""
    begin = prompt.find(sentinel)
    return excerpt(prompt, begin - width, begin + len(sentinel) + width)
