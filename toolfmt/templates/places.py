"""Any place a model lives: a path of this machine, else a repository id. And the models below a folder.

`load_files` is the way into this room; `model_places` is for those who want to look at every model of a folder,
`model_place` tells whose model a path names, and `place_name` what people call it.
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
from toolfmt.templates.local import NAMED_AT_MOST, WANTED, directory_of, holds_model, load_path
from toolfmt.templates.model_files import ModelFiles
from toolfmt.templates.repository import cached_name, repository, snapshots
from toolfmt.templates.template_file import is_template

_ADDRESS = re.compile(r"https?://[^/\s]+/(?P<id>[\w.-]+/[\w.-]+)", re.ASCII)
_DEEPEST = 3
"""Levels below a folder; a repository's folder in the hub cache is one, and below its snapshot there is one more."""


def load_files(path: str | Path) -> ModelFiles:
    """What a model says about its chat: only the files that say so are read, no weights and no code.

    `path` is a model directory or one of its files, a .gguf file, a template's .jinja file, or a repository id of the
    hub (`org/name`, `org/name@revision`), which is looked for in the hub cache and fetched where it is not there; a
    path that exists is never taken for a repository id. Raises `BadModelDirectory` where there is no model or it cannot
    be read. A model without any template is returned as it is.
    """
    if not os.fspath(path):
        raise BadModelDirectory(f"an empty name, which is no place; {WANTED}")
    if address := _ADDRESS.match(os.fspath(path)):
        raise BadModelDirectory(f"{path}: an address; give the repository id, {address['id']}")
    path = model_place(path)
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


def model_place(path: str | Path) -> Path:
    """The place that a path names: the model directory of a file of configuration or of a template that belongs to one,
    the snapshot in force of a repository's folder in the hub cache; any other path as it is."""
    path = Path(path)
    return directory_of(path) or _in_force(path) or path


def place_name(path: str | Path) -> str:
    """What people call a place: `org/name@revision` in the hub cache, a repository id as it is, else its last part."""
    name = Path(path).name
    if not os.path.lexists(path) and repository(Path(path).as_posix()) is not None:
        return Path(path).as_posix()
    return cached_name(path) or (name if name not in ("", "..") else Path(path).resolve().name) or os.fspath(path)


def _in_force(folder: Path) -> Path | None:
    """The snapshot that a repository's folder in the hub cache stands for: the first that holds anything of a model."""
    for directory in snapshots(folder):
        try:
            if holds_model(directory) or any(_places(directory, 1, set())):
                return directory
        except OSError:  # it may not be listed
            continue
    return None


def model_places(folder: str | Path) -> list[Path]:
    """The models below a folder that is none itself, sorted; empty for a model's own place and where there are none.

    They are model directories, GGUF files and .jinja files, in the folder or in a directory up to three levels below
    it; nothing inside a model directory, and no hidden directory. A link in the folder itself may lead to a model, and
    is not searched; a link further down is not followed: whoever gave the folder need not know of it. Of a repository
    in the hub cache it is one snapshot, the one in force. What cannot be listed is left out.
    """
    named, folder = bool(os.fspath(folder)), Path(folder)
    folder = _in_force(folder) or folder
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
                kept = _in_force(path)
                inside = kept or path
                linked = path.is_symlink()  # which may lead to all of a machine
                if linked and levels < _DEEPEST:
                    continue
                if holds_model(inside):
                    yield inside
                elif not linked:
                    yield from list(_places(inside, 1 if kept else levels - 1, seen))
            except OSError:  # a directory that may not be listed
                continue
