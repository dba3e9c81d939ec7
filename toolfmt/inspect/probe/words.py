"""Other words for those of the probes, drawn from a seed: a template that knows the usual ones does not know these.

`Renders` puts them into what the template is given and takes them out of what it made, so that whoever asks reads the
usual words whatever the template was shown. The report on a template that does not look at the words is the same.
"""

from __future__ import annotations

import random
import re
import string
from typing import Any

from toolfmt.inspect.probe.conversations import ID, PARAMETER

# How the probes' words look, wherever they stand: `Uq1question`, `find_qplace`, `zqplace`, the id of a call.
_PROBED = re.compile(
    rf"[A-Z][a-z]\d[a-z]{{2,}}|(?:find|set|tell|ask)_z?q[a-z]+|\bzq[a-z]+|\b{PARAMETER}\b|{ID[:-1]}(?=[A-Z])"
)
_SHORTEST, _LONGEST = 8, 13
# How templates write what they are given, in the names of classes for one.
_WRITTEN = (str.lower, str.upper, str.capitalize, str.title)


class Words:
    """The words for one seed. Each stands for the same one wherever it is said."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._other: dict[str, str] = {}
        self._usual: dict[str, str] = {}
        self._said: re.Pattern[str] | None = None

    def other(self, value: Any) -> Any:
        """The value (a text, or lists and objects of texts) in the other words."""
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
        """The text in the usual words."""
        if not self._usual:
            return text
        if self._said is None:
            self._said = re.compile("|".join(sorted(map(re.escape, self._usual), key=len, reverse=True)))
        return self._said.sub(lambda found: self._usual[found[0]], text)

    def _word(self, usual: str) -> str:
        if usual not in self._other:
            self._other[usual] = other = _drawn(usual, random.Random(f"{self._seed} {usual}"))
            self._usual |= {write(other): write(usual) for write in _WRITTEN} | {other: usual}
            self._said = None
        return self._other[usual]


def _drawn(usual: str, draw: random.Random) -> str:
    """A word of letters as capital as the usual one's first, and as long as the usual one where that is an id; its
    first letter is kept, so that what is sorted stays in its order.
    """
    if ID.startswith(usual):
        return "".join(draw.choices(string.ascii_letters + string.digits, k=len(usual)))
    letters = draw.choices(string.ascii_lowercase, k=draw.randint(_SHORTEST, _LONGEST))
    if "_" in usual:
        letters[3] = "_"
    return usual[0] + "".join(letters)
