"""Find the declared tool that an undeclared name refers to, by rules and never by similarity.

The rules cover errors that models make: a different separator between words, the namespace or the number of an id, a
repeated name (`echo.echo`), or a word of the header or a control token appended to the name. A name is resolved only if
exactly one tool matches.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_SEPARATORS = re.compile(r"[-_. ]")
_NAMESPACE = re.compile(r"functions[._:](?=.)")
_NUMBER = re.compile(r"(?<=.):[0-9]+\Z")
_NUMBER_OF_ID = re.compile(r"(?<=.)_[0-9]+\Z")
_SUFFIX = re.compile(r"(?<=.)(?:json|code|commentary|analysis|<\|.*)\Z", re.DOTALL)
_LONGEST = 256


class NameRepair:
    """Resolves names to the names of the declared tools."""

    def __init__(self, names: Iterable[str]) -> None:
        self._by_words: dict[str, set[str]] = {}
        for name in names:
            self._by_words.setdefault(_words(name), set()).add(name)

    def resolve(self, name: str) -> str:
        """Return the declared tool that a name refers to, or the name itself if not exactly one tool matches."""
        found: set[str] = set()
        if len(name) <= _LONGEST:
            for candidate in _candidates(name):
                found |= self._by_words.get(_words(candidate), set())
        return found.pop() if len(found) == 1 else name


def without_namespace(name: str, delimiter: str) -> list[str]:
    """Return what a name is without one or more namespaces before it, each with this delimiter at its end.

    The namespace of Gemini's tools, `default_api`, may also end with a dot.
    """
    name = name.replace("default_api.", "default_api" + delimiter, 1)
    parts = name.split(delimiter)
    return [delimiter.join(parts[at:]) for at in range(1, len(parts))]


def _words(name: str) -> str:
    return _SEPARATORS.sub("_", name)


def _candidates(name: str) -> set[str]:
    """Return a name with and without the parts that a model may have added to it."""
    bare = _NAMESPACE.sub("", name, count=1)
    candidates = {name, bare, _NUMBER.sub("", bare), _SUFFIX.sub("", bare)}
    if bare != name:
        candidates.add(_NUMBER_OF_ID.sub("", bare))
    half = len(bare) // 2
    if len(bare) % 2 and bare[half] in "._" and bare[:half] == bare[half + 1 :]:
        candidates.add(bare[:half])
    return candidates
