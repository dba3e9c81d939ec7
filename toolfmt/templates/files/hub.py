"""Load a repository of the Hugging Face hub from the local cache, or download it.

`load_repository` reads the cache with the standard library and without network access. Downloading requires
huggingface_hub. It downloads only the small text files, into the cache. HF_HUB_OFFLINE is respected.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from toolfmt.errors import BadModelDirectory
from toolfmt.templates.files.directory import FILES
from toolfmt.templates.files.local import holds_model, load_path
from toolfmt.templates.files.model_files import MORE, ModelFiles
from toolfmt.templates.files.repository import Repository, cache, is_offline, snapshot

if TYPE_CHECKING:
    from huggingface_hub.hf_api import RepoSibling

_HUB = "https://huggingface.co"
_FETCHED = (*(name for name in FILES if name != MORE), f"{MORE}/*.jinja", "tokenizer.json")
_LONGEST_FILE = 100_000_000
"""Maximum size in bytes. The largest current tokenizer.json has about 33 MB."""
_MOST_FILES = 64
_SECONDS = 10.0


class _DownloadFailed(Exception):
    """Why a repository could not be downloaded, as the end of a sentence."""


def load_repository(repo: Repository, given: Path) -> ModelFiles:
    """Return the repository's chat-related files. `given` is the path that the caller passed.

    A cached snapshot with a chat template is used as it is. Without one, it may be incomplete (other programs download
    only what they need), so the rest is downloaded if possible. Raises `BadModelDirectory` if there is no snapshot and
    it cannot be downloaded; the message lists what was tried.
    """
    folder = cache()
    kept = snapshot(repo, folder)
    found = _loaded(kept, given) if kept is not None and _holds_anything(kept) else None
    if found is not None and found.templates:
        return found
    try:
        _fetch(repo, folder)
    except _DownloadFailed as error:
        if found is not None:
            return found
        raise BadModelDirectory(
            f"{given}: no such file or directory, and the hub cache ({folder}) has no such repository; {error}"
        ) from None
    fetched = snapshot(repo, folder)
    if fetched is None or not _holds_anything(fetched):
        raise BadModelDirectory(f"{given}: what was fetched is not in the hub cache ({folder}); clear it and try again")
    return replace(_loaded(fetched, given), from_cache=False)


def _holds_anything(directory: Path) -> bool:
    return holds_model(directory) or any(path.suffix == ".gguf" for path in directory.iterdir())


def _loaded(directory: Path, given: Path) -> ModelFiles:
    files = load_path(directory)
    return replace(files, directory=given, read_from=files.home, from_cache=True)


def _fetch(repo: Repository, folder: Path) -> None:
    """Download the small text files of a repository into the cache. Raises `_DownloadFailed` if that fails."""
    if is_offline():
        raise _DownloadFailed("it was not fetched, as HF_HUB_OFFLINE is set")
    try:
        import huggingface_hub
        from huggingface_hub import errors
    except ImportError:
        raise _DownloadFailed("to fetch it, pip install huggingface_hub") from None
    endpoint = (os.environ.get("HF_ENDPOINT") or _HUB).rstrip("/")
    revision = f"revision {repo.revision} of {repo.id}" if repo.revision else repo.id
    try:
        api = huggingface_hub.HfApi(endpoint=endpoint)
        info = api.model_info(repo.id, revision=repo.revision, files_metadata=True, timeout=_SECONDS)
        with _no_progress_bars():
            for name in _names(info.siblings or [], repo.id):
                api.hf_hub_download(repo.id, name, revision=repo.revision, cache_dir=folder)
    except errors.GatedRepoError:
        page = f"{endpoint}/{repo.id}"
        raise _DownloadFailed(
            f"{repo.id} is gated: accept its terms at {page}, then log in with hf auth login"
        ) from None
    except errors.RepositoryNotFoundError:
        raise _DownloadFailed(
            f"{endpoint} has no repository {repo.id}, or shows it only to its members (hf auth login)"
        ) from None
    except errors.RevisionNotFoundError:
        raise _DownloadFailed(f"{endpoint} has no {revision}") from None
    except (_DownloadFailed, KeyboardInterrupt):
        raise
    except Exception:  # noqa: BLE001 - the errors depend on the HTTP library of the huggingface_hub version
        raise _DownloadFailed(
            f"{revision} could not be downloaded from {endpoint}; check the network and try again"
        ) from None


def _names(siblings: list[RepoSibling], repository: str) -> list[str]:
    """Return the names of the files to download."""
    selected = [file for file in siblings if any(fnmatchcase(file.rfilename, pattern) for pattern in _FETCHED)]
    if all(file.rfilename == "tokenizer.json" for file in selected):
        gguf = next((file.rfilename for file in siblings if file.rfilename.endswith(".gguf")), None)
        if gguf is not None:
            raise _DownloadFailed(
                f"{repository} holds GGUF files: fetch one (hf download {repository} {gguf}), give its path"
            )
        raise _DownloadFailed(f"{repository} holds no configuration and no chat template")
    return [file.rfilename for file in selected if (file.size or 0) <= _LONGEST_FILE][:_MOST_FILES]


@contextmanager
def _no_progress_bars() -> Iterator[None]:
    """Files this small need no progress bar, and standard error is for errors."""
    from huggingface_hub.utils.tqdm import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars

    shown = not are_progress_bars_disabled()
    if shown:
        disable_progress_bars()
    try:
        yield
    finally:
        if shown:
            enable_progress_bars()
