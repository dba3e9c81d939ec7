"""Parse repository ids of the Hugging Face hub, and find their snapshots in the local cache, offline.

`hub.py` uses it, and `locate.py` for a path into the cache. Neither network nor huggingface_hub is needed. The layout
of the cache is huggingface_hub's ("Understand caching" in its documentation): `models--ORG--NAME/refs/REVISION`
contains the commit, `models--ORG--NAME/snapshots/COMMIT/` the files.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from toolfmt.errors import BadModelDirectory
from toolfmt.templates.files.safe_open import opened, read_at_most

_ID = re.compile(r"(?P<id>[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*)(?:@(?P<revision>[\w./+-]+))?", re.ASCII)
_COMMIT = re.compile(r"[0-9a-f]{40}")
_FOLDER = re.compile(r"models--[A-Za-z0-9][\w.-]*", re.ASCII)
_LONGEST_REFERENCE = 200
_MOST_REFERENCES = 200
"""Maximum number of revision names searched for that of a snapshot."""
_MAIN = "main"
_FILE_ENDINGS = (".gguf", ".jinja", ".jinja2", ".j2", ".json", ".safetensors")
_TRUE = {"1", "ON", "YES", "TRUE"}
"""True values of switches, as in huggingface_hub."""


@dataclass(frozen=True)
class Repository:
    """`org/name`, and the requested revision, if any."""

    id: str
    revision: str | None = None


def repository(text: str) -> Repository | None:
    """Return the repository of an id, or None if the text cannot be one, as most paths cannot."""
    found = _ID.fullmatch(text)
    if found is None or ".." in text or "--" in found["id"] or len(found["id"]) > 96:  # the hub's own limits
        return None
    if found["id"].lower().endswith(_FILE_ENDINGS) and found["revision"] is None:
        return None
    return Repository(found["id"], found["revision"])


def cache(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the directory of the hub cache, as huggingface_hub finds it."""
    base = environment.get("XDG_CACHE_HOME") or "~/.cache"
    home = environment.get("HF_HOME") or f"{base}/huggingface"
    older = environment.get("HUGGINGFACE_HUB_CACHE") or f"{home}/hub"
    return Path(os.path.expandvars(os.path.expanduser(environment.get("HF_HUB_CACHE") or older)))


def is_offline(environment: Mapping[str, str] = os.environ) -> bool:
    """Return whether the user disabled access to the hub."""
    switch = environment.get("HF_HUB_OFFLINE") or environment.get("TRANSFORMERS_OFFLINE") or ""
    return switch.upper() in _TRUE


def snapshot(repo: Repository, folder: Path) -> Path | None:
    """Return the directory of the repository's files in the cache. None if the revision is not cached."""
    kept = folder / f"models--{repo.id.replace('/', '--')}"
    revision = repo.revision or _MAIN
    commit = revision if _COMMIT.fullmatch(revision) else _commit(kept / "refs" / revision, kept)
    if not _COMMIT.fullmatch(commit):
        return None
    directory = kept / "snapshots" / commit
    return directory if _is_kept(directory, kept) else None


def snapshots(folder: Path) -> list[Path]:
    """Return the snapshots in a repository's folder of the cache, the one in force first. Empty for any other folder.

    The first one is that of `refs/main`; the others follow, newest first.
    """
    if not _FOLDER.fullmatch(Path(os.path.abspath(folder)).name):
        return []
    try:
        there = [path for path in (folder / "snapshots").iterdir() if _is_kept(path, folder)]
        newest_first = sorted(there, key=lambda path: (-path.stat().st_mtime_ns, path.name))
    except OSError:
        return []
    main = _commit(folder / "refs" / _MAIN, folder)
    return sorted(newest_first, key=lambda path: path.name != main)


def _is_kept(directory: Path, kept: Path) -> bool:
    """Return whether a snapshot is a directory in its repository's folder, not a link that leads out of it."""
    return directory.is_dir() and Path(os.path.realpath(directory)).is_relative_to(os.path.realpath(kept))


def cached_name(path: str | Path) -> str | None:
    """Return the name of a path inside a snapshot of the cache: `org/name@revision`, then the rest after a slash.

    Return None for any other path. The revision is `main` if `refs/main` has this commit, else another name in `refs`,
    else the commit.
    """
    whole = Path(os.path.abspath(path))
    for at, part in enumerate(whole.parts[:-2]):
        if _FOLDER.fullmatch(part) and whole.parts[at + 1] == "snapshots":
            commit, *inside = whole.parts[at + 2 :]
            revision = _revision(Path(*whole.parts[: at + 1]) / "refs", commit)
            return "/".join([f"{part.removeprefix('models--').replace('--', '/')}@{revision}", *inside])
    return None


def _revision(references: Path, commit: str) -> str:
    """Return the name of a commit: preferably `main`, else the shortest."""
    if _commit(references / _MAIN, references) == commit:
        return _MAIN
    try:
        known = islice(references.rglob("*"), _MOST_REFERENCES)
        files = [path for path in known if _commit(path, references) == commit]
    except OSError:
        files = []
    names = [path.relative_to(references).as_posix() for path in files]
    return min(names, key=lambda name: (len(name), name), default=commit)


def _commit(path: Path, kept: Path) -> str:
    """Return the commit in a revision file of the cache. Empty if it is not a readable file of this repository."""
    try:
        with opened(path, kept) as file:
            return read_at_most(file, _LONGEST_REFERENCE).decode("ascii").strip()
    except (OSError, ValueError, BadModelDirectory):
        return ""
