"""Why a template threw, in plain words: what it wants, instead of the name of Python's exception.

Chapters and checks call it for evidence that a person reads; the error itself keeps its full text.
"""

from __future__ import annotations

import re

from toolfmt.errors import TemplateError
from toolfmt.inspect.wording import quote

_MISSING_KEY = re.compile(r"has no attribute '([^']{1,80})'")
_UNKNOWN = re.compile(r"No ((?:filter|test) named '[^']{1,80}') found")
_UNDEFINED = re.compile(r"'([^']{1,80})' is undefined")
_REFUSES = "the template refuses: "
_PLAINLY = (
    ("Object of type Undefined is not JSON serializable", "it wants a key that is not there"),
    ("maximum recursion depth exceeded", "it calls itself without end"),
    ("can only concatenate str", "it joins to a text what is no text"),
    ("must be str, not", "it joins to a text what is no text"),
    ("unsupported operand type", "it joins or compares what does not go together"),
    ("argument of type 'NoneType' is not iterable", "it looks for something in a text that is not there"),
    ("object of type 'NoneType' has no len()", "it counts what is none"),
    ("object is not iterable", "it goes through something that is no list"),
    ("Can only get item pairs from a mapping", "it wants an object"),
)
_FAILED = "does not render: "
_FAILS = re.compile(r"does not (?:render|parse): (?:\w+: )?")


def reason(error: TemplateError) -> str:
    """One clause: what the template wants, or what it says itself."""
    text = str(error)
    if _REFUSES in text:
        return f"it refuses: {quote(text.partition(_REFUSES)[2])}"
    rest = _FAILS.split(text, maxsplit=1)[-1]
    return _in_words(text) or f"it fails: {quote(rest)}"


def plainly(sentence: str) -> str:
    """The sentence with the error that it ends with in plain words, where there are such words for it."""
    before, found, error = sentence.partition(_FAILED)
    words = _in_words(error) if found else None
    return sentence if words is None else before + words


def _in_words(text: str) -> str | None:
    for pattern in (_MISSING_KEY, _UNDEFINED):
        found = pattern.search(text)
        if found:
            return f"it wants `{found[1]}`, which is not there"
    unknown = _UNKNOWN.search(text)
    if unknown:
        return f"it wants a {unknown[1]}, which is not there"
    for said, words in _PLAINLY:
        if said in text:
            return words
    return None
