"""Which declared tool is meant by a name that is none: by rule, never by how near two names are.

The rules were read off what models write: another sign between the words, the namespace or the number of an id, the
name twice (`echo.echo`), a header's word or a token glued to it. A tool is meant only if no other is by the same rules.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_SIGNS = re.compile(r"[-_. ]")
_NAMESPACE = re.compile(r"functions[._:](?=.)")
_NUMBER = re.compile(r"(?<=.):[0-9]+\Z")
_NUMBER_OF_ID = re.compile(r"(?<=.)_[0-9]+\Z")
_GLUED = re.compile(r"(?<=.)(?:json|code|commentary|analysis|<\|.*)\Z", re.DOTALL)
_LONGEST = 256


class Likenesses:
    """The names of the declared tools, by what may be written for them."""

    def __init__(self, names: Iterable[str]) -> None:
        self._by_words: dict[str, set[str]] = {}
        for name in names:
            self._by_words.setdefault(_words(name), set()).add(name)

    def meant(self, name: str) -> str:
        """The one tool that is meant by a name, else that name."""
        found: set[str] = set()
        if len(name) <= _LONGEST:
            for spelling in _spellings(name):
                found |= self._by_words.get(_words(spelling), set())
        return found.pop() if len(found) == 1 else name


def _words(name: str) -> str:
    return _SIGNS.sub("_", name)


def _spellings(name: str) -> set[str]:
    """What a name is without what may have been added to it."""
    bare = _NAMESPACE.sub("", name, count=1)
    spellings = {name, bare, _NUMBER.sub("", bare), _GLUED.sub("", bare)}
    if bare != name:
        spellings.add(_NUMBER_OF_ID.sub("", bare))
    half = len(bare) // 2
    if len(bare) % 2 and bare[half] in "._" and bare[:half] == bare[half + 1 :]:
        spellings.add(bare[:half])
    return spellings
