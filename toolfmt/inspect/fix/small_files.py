"""The small files of a model that toolfmt reads, as bytes, and writing them to a directory.

Weights are never copied. Nothing is overwritten, and no partial copy remains.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path

from toolfmt.errors import ToolfmtError
from toolfmt.templates import MODEL_FILES, MORE_TEMPLATES, ModelFiles
from toolfmt.templates.files.safe_open import opened, read_at_most

_TOKENIZER = "tokenizer.json"
_LARGEST = 200_000_000
"""Maximum size of one file in bytes. The largest current tokenizer.json files have about 40 MB."""


class CannotCopy(ToolfmtError, OSError):
    """A file that cannot be copied, or a directory that cannot be written into."""


def small_files(home: Path) -> dict[str, bytes]:
    """Return the files of a model directory that toolfmt reads, by their names in it."""
    return {name: data for name in _names(home) if (data := _read(home / name, home)) is not None}


def check_output(output: Path, files: ModelFiles) -> None:
    """Raise `CannotCopy` if the output is inside the model's directory or already has content.

    All links are resolved.
    """
    if any(home.is_dir() and _is_within(output, home) for home in (files.home, files.directory)):
        raise CannotCopy(f"--output {output}: in the model directory, which is never changed; choose another directory")
    if not os.path.lexists(output):
        return
    if not output.is_dir():
        raise CannotCopy(f"{output}: not a directory; name one that does not exist or is empty")
    if any(output.iterdir()):
        raise CannotCopy(f"{output}: not empty; name a directory that does not exist or is empty")


def _is_within(path: Path, home: Path) -> bool:
    """Return whether a path, which need not exist, is a directory or inside it, with all links resolved."""
    real = Path(os.path.realpath(path))
    return any(one.exists() and one.samefile(home) for one in (real, *real.parents))


def write(files: Mapping[str, bytes], output: Path, way_out: str = "name another directory") -> None:
    """Write the files into the directory, which is created. On failure, neither files nor directory remain.

    Each file is first written under a temporary name, so that a truncated file never has the final name. Raise
    `CannotCopy`.
    """
    with ExitStack() as undone:  # in the reverse order
        try:
            _make_directory(output, undone)
            for name in files:
                _make_directory((output / name).parent, undone)
            parts = [output / f".{number}.{os.getpid()}.part" for number in range(len(files))]
            for part, data in zip(parts, files.values(), strict=True):
                _write_new(part, data, undone)
            for part, name in zip(parts, files, strict=True):
                _write_new(output / name, b"", undone)  # does not overwrite a file created in the meantime
                part.replace(output / name)
        except OSError as error:
            raise CannotCopy(f"{output}: cannot be written ({error.strerror}); {way_out}") from None
        undone.pop_all()


def _make_directory(path: Path, undone: ExitStack) -> None:
    for missing in reversed([one for one in (path, *path.parents) if not one.exists()]):
        missing.mkdir(exist_ok=True)
        undone.callback(_without_failing, missing.rmdir)
    path.mkdir(exist_ok=True)  # fails if a file is in the way


def _write_new(path: Path, data: bytes, undone: ExitStack) -> None:
    with path.open("xb") as file:
        undone.callback(_without_failing, path.unlink)
        file.write(data)


def _without_failing(undo: Callable[[], object]) -> None:
    with suppress(OSError):
        undo()


def _names(home: Path) -> Iterator[str]:
    yield from (*(name for name in MODEL_FILES if name != MORE_TEMPLATES), _TOKENIZER)
    more = home / MORE_TEMPLATES
    if more.is_dir():
        yield from sorted(f"{MORE_TEMPLATES}/{path.name}" for path in more.glob("*.jinja"))


def _read(path: Path, home: Path) -> bytes | None:
    """Return the bytes of a file, or None if it does not exist."""
    try:
        with opened(path, home) as file:
            data = read_at_most(file, _LARGEST + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise CannotCopy(f"{path}: cannot be read ({error.strerror}); check that it is readable") from None
    if len(data) > _LARGEST:
        raise CannotCopy(f"{path}: more than {_LARGEST:,} bytes, too large for a model's configuration file")
    return data
