"""Quote and split shell commands for display and input.

Windows shells do not support single quotes, and a backslash is an ordinary character there.
"""

from __future__ import annotations

import os
import re
import shlex

_PLAIN = re.compile(r"[\w.:/\\@+-]+")
"""Characters that need no quotes on Windows."""
_QUOTED = re.compile(r"""^(["'])(.*)\1$""", re.DOTALL)


def argument(place: str) -> str:
    """Return a path as one word of a command, quoted if necessary, and never mistaken for an option."""
    word = f"./{place}" if place.startswith("-") else place
    if os.name == "nt":  # file names cannot contain double quotes there
        return word if _PLAIN.fullmatch(word) else f'"{word}"'
    return shlex.quote(word)


def words(command: str) -> list[str]:
    """Return the words of a command. Raises `ValueError` for an unclosed quote."""
    if os.name == "nt":
        return [
            re.sub(r"""^(["'])(.*)\1$""", r"\2", word, flags=re.DOTALL) for word in shlex.split(command, posix=False)
        ]
    return shlex.split(command)
