"""What a person types at a shell, as it has to be written there. For every room."""

from __future__ import annotations

import shlex


def argument(place: str) -> str:
    """A path as one word of a command: quoted where a shell would take it apart, and never taken for an option."""
    return shlex.quote(f"./{place}" if place.startswith("-") else place)
