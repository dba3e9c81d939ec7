"""Format excerpts of prompts for people."""

from __future__ import annotations

import re
from collections.abc import Sequence

from toolfmt.inspect.report.sentinels import uncut

CUT = "…"
"""Marks an end of a quote at which the prompt continues."""


def check_excerpts(words: str, excerpts: Sequence[str]) -> None:
    """Raise `ValueError` if the words have placeholders, but not one for each excerpt."""
    if words.count("{}") not in (0, len(excerpts)):
        raise ValueError(f"{len(excerpts)} excerpts for {words!r}")


def filled(words: str, excerpts: Sequence[str]) -> str:
    """Return the words with the excerpts in place of `{}`, or appended if there are no placeholders."""
    first, *rest = words.split("{}")
    if rest:
        return first + "".join(map("".join, zip(excerpts, rest, strict=True)))
    return ": ".join(filter(None, (words, ", ".join(excerpts))))


def shortened(text: str, longest: int) -> str:
    """Return the text, cut at the end to this length."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


_ESCAPE = re.compile(r"\\(?=n)")
"""A backslash before an n, which must not look like a line break."""


def quote(text: str, longest: int = 160) -> str:
    """Return a part of a prompt for display: on one line, shortened in the middle if it is long."""
    text = text.strip().replace("\n", "\\n")
    if len(text) <= longest:
        return text
    _, first = uncut(text, 0, longest // 2)
    last, _ = uncut(text, len(text) - longest // 2, len(text))
    return f"{text[:first]} … {text[last:]}" if first < last else text


def escaped(prompt: str) -> str:
    """Return the text with a second backslash before `\\n`, which `quote` would show like a line break."""
    return _ESCAPE.sub(r"\\\\", prompt)


def excerpt(prompt: str, begin: int, end: int, longest: int = 160) -> str:
    """Return a part of a prompt for display, with … at each end where the prompt continues."""
    begin, end = uncut(prompt, max(0, begin), min(end, len(prompt)))
    return f"{CUT if begin else ''}{quote(escaped(prompt[begin:end]), longest)}{CUT if end < len(prompt) else ''}"


def around(prompt: str, sentinel: str, width: int = 30) -> str:
    """Return the text around the first occurrence of a sentinel, for display."""
    begin = prompt.find(sentinel)
    return excerpt(prompt, begin - width, begin + len(sentinel) + width)
