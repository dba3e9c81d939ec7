"""Any place a model lives: a path of this machine, else a repository id. And the models below a folder.

`load_files` is the way into this room; `model_places` is for those who want to look at every model of a folder,
`model_place` returns the model that a path belongs to, and `place_name` its usual name.
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
from toolfmt.templates.files.local import NAMED_AT_MOST, WANTED, directory_of, holds_model, is_configured, load_path
from toolfmt.templates.files.model_files import JINJA, ModelFiles
from toolfmt.templates.files.repository import cached_name, repository, snapshots
from toolfmt.templates.files.template_file import is_template

_ADDRESS = re.compile(r"https?://[^/\s]+/(?P<id>[\w.-]+/[\w.-]+)", re.ASCII)
_DEEPEST = 32
"""Levels of directories that are searched. A directory below them is listed, so that it is not skipped silently."""


class NoTemplateHere(BadModelDirectory):
    """A model directory has no chat template, but models below it, which `model_places` lists too."""

    def __init__(self, path: Path, count: int, listed: str) -> None:
        below = "1 model" if count == 1 else f"{count} models"
        super().__init__(f"{path}: no chat template here, but {below} below it; pass one of them: {listed}")
        is_listed = "its model is listed" if count == 1 else f"its {count} models are listed"
        self.in_table = f"{path}: a model configuration but no chat template; {is_listed} separately"
        """The message for a table that lists these models as well."""


def load_files(path: str | Path) -> ModelFiles:
    """What a model says about its chat: only the files that say so are read, no weights and no code.

    `path` is a model directory or one of its files, a .gguf file, a template's .jinja file, or a repository id of the
    hub (`org/name`, `org/name@revision`), which is looked for in the hub cache and fetched where it is not there; a
    path that exists is never taken for a repository id. A model directory with a template is that model, whatever
    models are below it. A model without any template is returned as it is. Raises `BadModelDirectory` if there is no
    model, if there are several, or if it cannot be read.
    """
    if not os.fspath(path):
        raise BadModelDirectory(f"the name is empty; {WANTED}")
    if address := _ADDRESS.match(os.fspath(path)):
        raise BadModelDirectory(f"{path}: an address; give the repository id, {address['id']}")
    begins_as_path = os.fspath(path).startswith(("./", ".\\"))  # which `Path` drops
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
    wanted = None if begins_as_path else repository(path.as_posix())
    # A path that begins with an existing directory is mistyped; it must not be looked up on the hub.
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


def file_of_model(place: str) -> str:
    """Return a path that selects only the model in this directory: one of its files."""
    names = [name for name in FILES if os.path.isfile(os.path.join(place, name))] if model_places(place) else []
    return os.path.join(place, names[0]) if names else place


def _in_force(folder: Path) -> Path | None:
    """Return the snapshot of a repository's folder in the hub cache: the first that contains anything of a model."""
    for directory in snapshots(folder):
        try:
            if _models(directory, set()):
                return directory
        except OSError:  # it may not be listed
            continue
    return None


def model_places(folder: str | Path) -> list[Path]:
    """The models in a folder and below it; empty if the folder is one model and nothing else, or holds none.

    A model is a model directory, a GGUF file or a .jinja file, in the folder or in any directory below it. A
    directory with configuration is a model directory. Inside it, only entries with their own chat template count as
    separate models; the others (onnx/, 1_Pooling/) are parts of it. If it has models but no template, it is listed
    first, and `load_files` raises for it. If these models are its own GGUF files, its configuration belongs to them.

    Hidden directories are not searched. A link in the folder itself may lead to a model, and is not searched. A link to
    a directory further down is not followed, because the user need not know of it. A repository in the hub cache counts
    as its current snapshot. Unreadable paths are listed, so that the report shows the reason: also broken links, and
    later parts of a split GGUF file without the first part.
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

    `seen` holds the directories that are not to be searched again, `level` is 0 for the folder that was given.
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
            except OSError:  # it cannot be listed; the report on it shows why
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
    if level or not holds_model(inside):  # a link may lead to all of a machine
        return []
    seen.add(os.path.realpath(inside))
    return [inside]


def _is_unreadable(path: Path, level: int) -> bool:
    """Whether the path is of a model, but leads nowhere or lacks the part with the metadata. Reading it shows why."""
    if path.is_symlink() and not path.exists():
        return level == 0 or is_gguf(path) or is_template(path)
    return is_orphaned_part(path)


def _holds_templates_only(directory: Path, jinjas: list[Path]) -> bool:
    """Whether a folder is a collection of templates, one of which has the name that a model directory's has."""
    return len(jinjas) > 1 and set(os.listdir(directory)).isdisjoint({*FILES} - {JINJA})


def _configured(path: Path) -> ModelFiles | None:
    """Return the files of a model directory, or None for any other path. Raises `BadModelDirectory`."""
    try:
        return load_directory(path) if path.is_dir() and is_configured(path) else None
    except OSError:  # it may not be listed
        return None


def _has_template(path: Path, *, ggufs: bool = True) -> bool:
    """Return whether a model has a chat template or cannot be read. `ggufs`: whether its GGUF file counts."""
    try:
        return bool((load_path(path) if ggufs else load_directory(path)).templates)
    except BadModelDirectory:
        return True
