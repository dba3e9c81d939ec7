"""A text that a user wants to be told, without what would name her machine: for a template or an answer in full."""

from __future__ import annotations

import getpass
import platform
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from toolfmt.cli.bug_report.masking import WORDS

PATH, USER, HOST = "(a path)", "(a user)", "(a host)"
_PATHS = re.compile(
    r"file:/+[^\s\"'<>`]*"  # an address of a file
    r"|(?<![\w<./\\:])~?/[^\s\"'<>`/|{}]+(?:/[^\s\"'<>`|{}]*)+"  # /a/b, not </a> and no part of https://a/b
    r"|(?<!\w)[A-Za-z]:(?:\\{1,2}|/)[^\s\"'<>`|{}]+"  # C:\a
    r"|(?<![\w\\])\\{2}[\w.-]+\\{1,2}[^\s\"'<>`|{}]+"  # \\host\a
)
_NOBODY = WORDS | {"root", "admin", "localhost", "home", "python", "model", "chat", "message", "messages"}
_SHORTEST = 2


def scrubbed(text: str) -> str:
    """The text without paths, and without the names of this machine and of who uses it."""
    for known, stand_in in _known():
        text = re.sub(known, stand_in, text)
    return _PATHS.sub(PATH, text)


def _known() -> Iterator[tuple[str, str]]:
    """What is known of this machine, as expressions, and what stands for it."""
    for place in _places():
        yield re.escape(place) + r"(?:[/\\][^\s\"'<>`|{}]*)?", PATH
    users, hosts = set[str](), set[str]()
    with suppress(Exception):  # whatever a system without users says
        users.add(getpass.getuser())
    with suppress(RuntimeError):
        users.add(Path.home().name)
    if node := platform.node():
        hosts |= {node, node.partition(".")[0]}
    for names, stand_in in ((users, USER), (hosts, HOST)):
        for name in sorted(names, key=len, reverse=True):
            if len(name) >= _SHORTEST and name.lower() not in _NOBODY:
                yield rf"(?i)(?<![^\W_]){re.escape(name)}(?![^\W_])", stand_in


def _places() -> Iterator[str]:
    with suppress(RuntimeError, OSError):
        for place in (Path.cwd(), Path.home()):
            if len(place.parts) > 1:  # the root of a system names nobody
                yield from {str(place), place.as_posix(), str(place).replace("\\", "\\\\")}
