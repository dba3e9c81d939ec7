"""Any place a model lives: a path of this machine, else a repository id. And the models below a folder.

`load_files` is the way into this room; `model_places` is for those who want to look at every model of a folder.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from toolfmt.errors import BadModelDirectory
from toolfmt.listing import listed_first
from toolfmt.templates.gguf_file import gguf_files
from toolfmt.templates.hub import load_repository
from toolfmt.templates.local import NAMED_AT_MOST, WANTED, holds_model, load_path
from toolfmt.templates.model_files import ModelFiles
from toolfmt.templates.repository import repository
from toolfmt.templates.template_file import is_template

_ADDRESS = re.compile(r"https?://[^/\s]+/(?P<id>[\w.-]+/[\w.-]+)", re.ASCII)
_DEEPEST = 3
"""The hub cache holds its models so deep: `models--ORG--NAME/snapshots/COMMIT`."""


def load_files(path: str | Path) -> ModelFiles:
    """What a model says about its chat: only the files that say so are read, no weights and no code.

    `path` is a model directory, a .gguf file, a template's .jinja file, or a repository id of the hub (`org/name`,
    `org/name@revision`), which is looked for in the hub cache and fetched where it is not there; a path that exists is
    never taken for a repository id. Raises `BadModelDirectory` where there is no model or it cannot be read. A model
    without any template is returned as it is.
    """
    if not os.fspath(path):
        raise BadModelDirectory(f"an empty name, which is no place; {WANTED}")
    if address := _ADDRESS.match(os.fspath(path)):
        raise BadModelDirectory(f"{path}: an address; give the repository id, {address['id']}")
    path = Path(path)
    if inside := model_places(path):
        raise BadModelDirectory(
            f"{path}: a folder of {len(inside)} models, not one; "
            f"name one of them: {listed_first([str(place.relative_to(path)) for place in inside], NAMED_AT_MOST)}"
        )
    if os.path.lexists(path):
        return load_path(path)
    wanted = repository(path.as_posix())
    # What begins with a directory that is there is a path with a slip in it, which is nobody else's business.
    if wanted is None or os.path.isdir(path.parts[0]):
        raise BadModelDirectory(f"{path}: no such file or directory; {WANTED}")
    return load_repository(wanted, path)


def model_places(folder: str | Path) -> list[Path]:
    """The models below a folder that is none itself, sorted; empty for a model's own place and where there are none.

    They are model directories, GGUF files and .jinja files, in the folder or in a directory up to three levels below
    it; nothing inside a model directory, and no hidden directory. What cannot be listed is left out.
    """
    named, folder = bool(os.fspath(folder)), Path(folder)
    try:
        return (
            [] if not named or not folder.is_dir() or holds_model(folder) else sorted(_places(folder, _DEEPEST, set()))
        )
    except OSError:
        return []


def _places(directory: Path, levels: int, seen: set[str]) -> Iterator[Path]:
    """The models in a directory that is none, and so many levels of directories below it, each directory once."""
    seen.add(os.path.realpath(directory))
    yield from gguf_files(directory)
    for path in sorted(directory.iterdir()):
        if is_template(path) and path.is_file():
            yield path
        elif levels and not path.name.startswith(".") and path.is_dir() and os.path.realpath(path) not in seen:
            try:
                yield from [path] if holds_model(path) else list(_places(path, levels - 1, seen))
            except OSError:  # a directory that may not be listed
                continue
