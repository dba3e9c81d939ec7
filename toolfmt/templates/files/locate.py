"""Locate a model: a local path, a repository id, or the models below a folder.

`load_files` is the entry point of this package. `model_places` returns all models of a folder, `model_place` the model
that a path belongs to, and `place_name` its usual name.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from toolfmt._util.text_lists import listed_first
from toolfmt.errors import BadModelDirectory
from toolfmt.templates.files.directory import FILES, load_directory
from toolfmt.templates.files.gguf_file import gguf_files, is_gguf, is_orphaned_part
from toolfmt.templates.files.hub import load_repository
from toolfmt.templates.files.local import (
    ACCEPTED_PATHS,
    NAMED_AT_MOST,
    directory_of,
    holds_model,
    is_configured,
    load_path,
)
from toolfmt.templates.files.model_files import JINJA, ModelFiles
from toolfmt.templates.files.repository import cached_name, repository, snapshots
from toolfmt.templates.files.template_file import is_template

_ADDRESS = re.compile(r"https?://[^/\s]+/(?P<id>[\w.-]+/[\w.-]+)", re.ASCII)
_DEEPEST = 32
"""Maximum depth of searched directories. A deeper directory is listed, so that it is not skipped silently."""


class NoTemplateHere(BadModelDirectory):
    """A model directory has no chat template, but there are models below it, which `model_places` also lists."""

    def __init__(self, path: Path, count: int, listed: str) -> None:
        below = "1 model" if count == 1 else f"{count} models"
        super().__init__(f"{path}: no chat template here, but {below} below it; pass one of them: {listed}")
        is_listed = "its model is listed" if count == 1 else f"its {count} models are listed"
        self.in_table = f"{path}: a model configuration but no chat template; {is_listed} separately"
        """The message for a table that also lists these models."""


def load_files(path: str | Path) -> ModelFiles:
    """Return the chat-related files of a model. Weights and code are not read.

    `path` is a model directory or one of its files, a .gguf file, a .jinja template file, or a repository id of the hub
    (`org/name`, `org/name@revision`). A repository is read from the hub cache, or downloaded if it is not there. A path
    that exists never counts as a repository id. A model directory with a template is that model, whatever models are
    below it. A model without any template is returned as it is.

    Raises `BadModelDirectory` if there is no model, if there are several, or if it cannot be read.
    """
    if not os.fspath(path):
        raise BadModelDirectory(f"the name is empty; {ACCEPTED_PATHS}")
    if address := _ADDRESS.match(os.fspath(path)):
        raise BadModelDirectory(f"{path}: an address; give the repository id, {address['id']}")
    begins_as_path = os.fspath(path).startswith(("./", ".\\"))  # `Path` drops this prefix
    path = model_place(path)
    own = _configured(path)
    if own is not None and own.templates:
        return own
    if inside := model_places(path):
        names = [str(place.relative_to(path)) for place in inside if place != path]
        listed = listed_first(names, NAMED_AT_MOST)
        if path in inside:
            raise NoTemplateHere(path, len(names), listed)
        raise BadModelDirectory(f"{path}: a folder of {len(names)} models, not one; name one of them: {listed}")
    if os.path.lexists(path):
        return load_path(path)
    repo = None if begins_as_path else repository(path.as_posix())
    # A path that begins with an existing directory is mistyped; do not look it up on the hub.
    if repo is None or os.path.isdir(path.parts[0]):
        raise BadModelDirectory(f"{path}: no such file or directory; {ACCEPTED_PATHS}")
    return load_repository(repo, path)


def model_place(path: str | Path) -> Path:
    """Return the path of the model that a path refers to.

    For a configuration file or a template that belongs to a model directory, it is that directory. For a repository's
    folder in the hub cache, it is the snapshot in force. Other paths are returned unchanged.
    """
    path = Path(path)
    return directory_of(path) or _in_force(path) or path


def place_name(path: str | Path) -> str:
    """Return the usual name of a path: `org/name@revision` in the hub cache, a repository id, or the last component."""
    name = Path(path).name
    if not os.path.lexists(path) and repository(Path(path).as_posix()) is not None:
        return Path(path).as_posix()
    return cached_name(path) or (name if name not in ("", "..") else Path(path).resolve().name) or os.fspath(path)


def file_of_model(place: str) -> str:
    """Return a path that selects only the model in this directory: one of its files."""
    names = [name for name in FILES if os.path.isfile(os.path.join(place, name))] if model_places(place) else []
    return os.path.join(place, names[0]) if names else place


def _in_force(folder: Path) -> Path | None:
    """Return the snapshot of a repository's folder in the hub cache: the first that contains a file of a model."""
    for directory in snapshots(folder):
        try:
            if _models(directory, set()):
                return directory
        except OSError:  # the directory may not be listed
            continue
    return None


def model_places(folder: str | Path) -> list[Path]:
    """Return the models in a folder and below it. Empty if the folder is exactly one model, or contains none.

    A model is a model directory, a GGUF file or a .jinja file, in the folder or in any directory below it. A directory
    with configuration is a model directory. Inside it, only entries with their own chat template count as separate
    models; the others (onnx/, 1_Pooling/) are parts of it. If it has models but no template, it is listed first, and
    `load_files` raises for it. If these models are its own GGUF files, its configuration belongs to them.

    Hidden directories are not searched. A link in the folder itself may lead to a model, and is not searched. A link to
    a directory further down is not followed, because the user may not know of it. A repository in the hub cache counts
    as its current snapshot. Unreadable paths are listed, so that the report shows the reason. This includes broken
    links, and later parts of a split GGUF file without the first part.
    """
    if not os.fspath(folder):
        return []
    folder = Path(folder)
    folder = _in_force(folder) or folder
    try:
        found = _models(folder, set(), 0) if folder.is_dir() else []
    except OSError:
        return []
    return [] if found == [folder] else found


def _models(directory: Path, seen: set[str], level: int = 1) -> list[Path]:
    """Return the models in a directory and below it, or the directory itself if it is one model.

    `seen` are directories not to search again. `level` is 0 for the folder that the caller passed.
    """
    if level > _DEEPEST:
        return [directory]
    seen.add(os.path.realpath(directory))
    ggufs, jinjas, below, unreadable = gguf_files(directory), list[Path](), list[Path](), list[Path]()
    for path in sorted(directory.iterdir()):
        if is_template(path) and path.is_file():
            jinjas.append(path)
        elif _is_unreadable(path, level):
            unreadable.append(path)
        elif not path.name.startswith(".") and path.is_dir() and os.path.realpath(path) not in seen:
            try:
                below += _in_subdirectory(path, seen, level)
            except OSError:  # the directory cannot be listed; the report on it shows why
                below.append(path)
    if not is_configured(directory) or _holds_templates_only(directory, jinjas):
        models = sorted([*ggufs, *jinjas, *below, *unreadable])
        return [directory] if models == ggufs and len(ggufs) == 1 else models
    models = sorted(path for path in (*ggufs, *below) if not is_template(path) and _has_template(path))
    if models and _has_template(directory, ggufs=False):
        return [directory, *models]
    if not models or (models == ggufs and len(ggufs) == 1):
        return [directory]
    return [*([] if ggufs else [directory]), *sorted([*ggufs, *jinjas, *below, *unreadable])]


def _in_subdirectory(path: Path, seen: set[str], level: int) -> list[Path]:
    inside = _in_force(path) or path
    if not path.is_symlink():
        return _models(inside, seen, level + 1)
    if level or not holds_model(inside):  # a link may lead anywhere on the machine
        return []
    seen.add(os.path.realpath(inside))
    return [inside]


def _is_unreadable(path: Path, level: int) -> bool:
    """Return whether a model's path is a broken link or lacks the part with the metadata. Reading it shows why."""
    if path.is_symlink() and not path.exists():
        return level == 0 or is_gguf(path) or is_template(path)
    return is_orphaned_part(path)


def _holds_templates_only(directory: Path, jinjas: list[Path]) -> bool:
    """Return whether a folder is a collection of templates, one of which is named like a model directory's."""
    return len(jinjas) > 1 and set(os.listdir(directory)).isdisjoint({*FILES} - {JINJA})


def _configured(path: Path) -> ModelFiles | None:
    """Return the files of a model directory, or None for any other path. Raises `BadModelDirectory`."""
    try:
        return load_directory(path) if path.is_dir() and is_configured(path) else None
    except OSError:  # the directory may not be listed
        return None


def _has_template(path: Path, *, ggufs: bool = True) -> bool:
    """Return whether a model has a chat template or cannot be read. `ggufs`: whether its GGUF file counts."""
    try:
        return bool((load_path(path) if ggufs else load_directory(path)).templates)
    except BadModelDirectory:
        return True
