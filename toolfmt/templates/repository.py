"""A repository id of the Hugging Face hub, and the snapshot of it that the local cache holds. No network, no library.

`hub.py` asks here first. The layout of the cache is huggingface_hub's ("Understand caching" in its documentation):
`models--ORG--NAME/refs/REVISION` holds the commit, `models--ORG--NAME/snapshots/COMMIT/` the files.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_ID = re.compile(r"(?P<id>[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*)(?:@(?P<revision>[\w./+-]+))?", re.ASCII)
_COMMIT = re.compile(r"[0-9a-f]{40}")
_LONGEST_REFERENCE = 200
_FILE_ENDINGS = (".gguf", ".jinja", ".jinja2", ".j2", ".json", ".safetensors")
_TRUE = {"1", "ON", "YES", "TRUE"}
"""As huggingface_hub reads its switches."""


@dataclass(frozen=True)
class Repository:
    """`org/name`, and the revision asked for, if any."""

    id: str
    revision: str | None = None


def repository(text: str) -> Repository | None:
    """What a repository id names; None where the text cannot be one, as most paths cannot."""
    found = _ID.fullmatch(text)
    if found is None or ".." in text or "--" in found["id"] or len(found["id"]) > 96:  # the hub's own limits
        return None
    if found["id"].lower().endswith(_FILE_ENDINGS) and found["revision"] is None:
        return None
    return Repository(found["id"], found["revision"])


def cache(environment: Mapping[str, str] = os.environ) -> Path:
    """The directory of the hub cache, as huggingface_hub finds it."""
    base = environment.get("XDG_CACHE_HOME") or "~/.cache"
    home = environment.get("HF_HOME") or f"{base}/huggingface"
    older = environment.get("HUGGINGFACE_HUB_CACHE") or f"{home}/hub"
    return Path(os.path.expandvars(os.path.expanduser(environment.get("HF_HUB_CACHE") or older)))


def is_offline(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether the user wants the hub left alone."""
    switch = environment.get("HF_HUB_OFFLINE") or environment.get("TRANSFORMERS_OFFLINE") or ""
    return switch.upper() in _TRUE


def snapshot(wanted: Repository, folder: Path) -> Path | None:
    """The directory of the repository's files in the cache; None where the cache has not got this revision."""
    kept = folder / f"models--{wanted.id.replace('/', '--')}"
    revision = wanted.revision or "main"
    if _COMMIT.fullmatch(revision):
        commit = revision
    else:
        try:
            commit = _commit(kept / "refs" / revision)
        except (OSError, ValueError):
            return None
    if not _COMMIT.fullmatch(commit):
        return None
    directory = kept / "snapshots" / commit
    return directory if directory.is_dir() else None


def _commit(path: Path) -> str:
    """What a file of the cache says a revision is; empty for what is no file, as a pipe would wait for ever."""
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        return file.read(_LONGEST_REFERENCE).decode("ascii").strip()
