"""What a person types at a shell: as it has to be written there, and as it is taken apart. For every room.

The shells of Windows take no single quotes, and a backslash stands for nothing but itself there.
"""

from __future__ import annotations

import os
import re
import shlex

_PLAIN = re.compile(r"[\w.:/\\@+-]+")
"""What needs no quotes on Windows."""
_QUOTED = re.compile(r"""^(["'])(.*)\1$""", re.DOTALL)


def argument(place: str) -> str:
    """A path as one word of a command: quoted where a shell would take it apart, and never taken for an option."""
    word = f"./{place}" if place.startswith("-") else place
    if os.name == "nt":  # where no file's name holds a double quote
        return word if _PLAIN.fullmatch(word) else f'"{word}"'
    return shlex.quote(word)


def words(command: str) -> list[str]:
    """The words of a command. Raises `ValueError` for a quotation that nothing ends."""
    if os.name == "nt":
        return [
            re.sub(r"""^(["'])(.*)\1$""", r"\2", word, flags=re.DOTALL) for word in shlex.split(command, posix=False)
        ]
    return shlex.split(command)
