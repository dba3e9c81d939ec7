"""The words of other probes. A template that behaves differently when it is inspected may test for them."""

from __future__ import annotations

from toolfmt.inspect.probe import conversations

_SHORTEST_PART = 4

PROBE_WORDS = tuple(
    word.lower()
    for word in (
        *(value for name, value in sorted(vars(conversations).items()) if name.isupper() and isinstance(value, str)),
        *conversations.VALUES,
    )
    if word != conversations.PARAMETER
)
"""The words of other probes, in lower case."""


def has_probe_word(text: str) -> bool:
    """Return whether a text contains a word of other probes, or is an unusual part of one."""
    text = text.lower()
    part = len(text) >= _SHORTEST_PART and any(character in text for character in "q0123456789")
    return any(word in text or (part and text in word) for word in PROBE_WORDS)


def matches_probe_word(text: str) -> bool:
    text = text.lower()
    return any(text in word or word in text for word in PROBE_WORDS)
