"""Load a local path: a directory of files, a GGUF file, or a template file.

`load_path` detects the kind and loads it. `holds_model` returns whether `load_path` can load exactly one model from a
directory. `directory_of` returns the model directory of a file.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from toolfmt._util.text_lists import listed_first
from toolfmt.errors import BadModelDirectory
from toolfmt.templates.files.directory import FILES, load_directory
from toolfmt.templates.files.gguf_file import gguf_files, is_gguf, load_gguf
from toolfmt.templates.files.model_files import CONFIG, JINJA, MORE, TOKENIZER, ModelFiles
from toolfmt.templates.files.template_file import is_template, load_template

ACCEPTED_PATHS = (
    f"give a model directory (one that holds {CONFIG}, {TOKENIZER} or {JINJA}), a .gguf file, a .jinja file "
    "or a repository id (org/name)"
)
NAMED_AT_MOST = 5
_VOCABULARY = "tokenizer.json"


def load_path(path: Path) -> ModelFiles:
    """Return the chat-related files of the model at a path.

    Raises `BadModelDirectory` if there is no model, more than one, or one that cannot be read. A model without any
    template is returned as it is.
    """
    if path.is_dir():
        return _load_directory(path)
    if is_gguf(path):
        return load_gguf(path)
    if is_template(path):
        return load_template(path)
    raise BadModelDirectory(f"{path}: neither a directory nor a .gguf or .jinja file; {ACCEPTED_PATHS}")


def holds_model(directory: Path) -> bool:
    """Return whether a directory contains exactly one model."""
    return is_configured(directory) or len(gguf_files(directory)) == 1


def is_configured(directory: Path) -> bool:
    """Return whether a directory contains a configuration file of a model, or its template."""
    return bool(set(os.listdir(directory)) & set(FILES))


def directory_of(path: Path) -> Path | None:
    """Return the model directory that a path to one of its files refers to, or None if the path is a model itself.

    A configuration file makes its directory a model directory. A template or a vocabulary belongs to the directory only
    if that contains other files of a model.
    """
    additional = path.parent.name == MORE and is_template(path)
    if not additional and path.name not in (*FILES, _VOCABULARY):
        return None
    directory = path.parent.parent if additional else path.parent
    try:
        if path.is_dir() or not os.path.lexists(path):
            return None
        siblings = set(os.listdir(directory)) - {MORE if additional else path.name}
        is_model = bool(siblings & {*FILES, _VOCABULARY}) or bool(gguf_files(directory))
    except OSError:
        return None
    configures = not additional and path.name not in (JINJA, _VOCABULARY)
    return directory if configures or is_model else None


def _load_directory(directory: Path) -> ModelFiles:
    try:
        found, ggufs = os.listdir(directory), gguf_files(directory)
    except OSError as error:
        raise BadModelDirectory(f"{directory}: cannot be read ({error.strerror}); {ACCEPTED_PATHS}") from None
    files = load_directory(directory) if set(found) & set(FILES) else None
    if files is not None and (files.templates or not ggufs):
        return files
    if len(ggufs) > 1:
        names = listed_first([gguf.name for gguf in ggufs], NAMED_AT_MOST)
        raise BadModelDirectory(f"{directory}: holds {len(ggufs)} GGUF files; name one of them: {names}")
    if ggufs:
        return replace(load_gguf(ggufs[0], directory), directory=directory, read_from=ggufs[0])
    what = "holds no configuration and no chat template" if found else "empty"
    raise BadModelDirectory(f"{directory}: {what}; {ACCEPTED_PATHS}")
