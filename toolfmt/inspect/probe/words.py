"""Replace the sentinels of the probes with seeded random ones, which a template cannot know in advance.

`Renders` replaces them in the template's input and restores them in its output, so that all other code sees the usual
sentinels. The report on a template that does not react to the sentinels does not change.
"""

from __future__ import annotations

import random
import re
import string
from typing import Any

from toolfmt.inspect.probe.conversations import ID, PARAMETER

# Matches the sentinels anywhere: `Uq1question`, `find_qplace`, `zqplace`, the id of a call.
_PROBED = re.compile(
    rf"[A-Z][a-z]\d[a-z]{{2,}}|(?:find|set|tell|ask)_z?q[a-z]+|\bzq[a-z]+|\b{PARAMETER}\b|{ID[:-1]}(?=[A-Z])"
)
_SHORTEST, _LONGEST = 8, 13
# How templates transform strings, for example in class names.
_WRITTEN = (str.lower, str.upper, str.capitalize, str.title)


class Words:
    """The replacements for one seed. Each sentinel always has the same replacement."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._other: dict[str, str] = {}
        self._usual: dict[str, str] = {}
        self._pattern: re.Pattern[str] | None = None

    def other(self, value: Any) -> Any:
        """Return the value (a string, or lists and objects of strings) with the replacements."""
        match value:
            case str():
                return _PROBED.sub(lambda found: self._word(found[0]), value)
            case list():
                return [self.other(item) for item in value]
            case dict():
                return {self.other(key): self.other(item) for key, item in value.items()}
            case _:
                return value

    def usual(self, text: str) -> str:
        """Return the string with the usual sentinels restored."""
        if not self._usual:
            return text
        if self._pattern is None:
            self._pattern = re.compile("|".join(sorted(map(re.escape, self._usual), key=len, reverse=True)))
        return self._pattern.sub(lambda found: self._usual[found[0]], text)

    def _word(self, usual: str) -> str:
        if usual not in self._other:
            self._other[usual] = other = _drawn(usual, random.Random(f"{self._seed} {usual}"))
            self._usual |= {write(other): write(usual) for write in _WRITTEN} | {other: usual}
            self._pattern = None
        return self._other[usual]


def _drawn(usual: str, draw: random.Random) -> str:
    """Return a random word with the same first letter as the usual one, so that sorting keeps its order.

    Ids keep their length and are random throughout.
    """
    if ID.startswith(usual):
        return "".join(draw.choices(string.ascii_letters + string.digits, k=len(usual)))
    letters = draw.choices(string.ascii_lowercase, k=draw.randint(_SHORTEST, _LONGEST))
    if "_" in usual:
        letters[3] = "_"
    return usual[0] + "".join(letters)
