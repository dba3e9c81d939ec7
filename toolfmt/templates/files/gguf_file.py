"""Load a GGUF file: its templates, architecture and special tokens, from its metadata only.

`load_gguf` reads what a runtime (llama.cpp) reads: `tokenizer.chat_template`, and `tokenizer.chat_template.tool_use` if
there are tools. A value of an unexpected type or size is listed in `problems` and is ignored. A file that is not a GGUF
file, or has damaged metadata, raises `BadModelDirectory`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from toolfmt.errors import BadModelDirectory
from toolfmt.messages.tools import kind_of
from toolfmt.templates.files.gguf_architectures import model_type
from toolfmt.templates.files.model_files import GGUF_TEMPLATE, ModelFiles, TemplateSource
from toolfmt.templates.files.read_text import LONGEST_NAME, LONGEST_TEMPLATE, LONGEST_TOKEN
from toolfmt.templates.files.safe_open import NoFile, opened, read_at_most

if TYPE_CHECKING:
    from toolfmt.templates.files.gguf_metadata import Metadata, Texts

_ARCHITECTURE, _PART = "general.architecture", "split.no"
_NAMES = "tokenizer.chat_templates"
_TOKENS, _TOKEN_TYPES = "tokenizer.ggml.tokens", "tokenizer.ggml.token_type"
_IDS = {
    "bos_token": "tokenizer.ggml.bos_token_id",
    "eos_token": "tokenizer.ggml.eos_token_id",
    "unk_token": "tokenizer.ggml.unknown_token_id",
    "sep_token": "tokenizer.ggml.seperator_token_id",  # misspelled in the format
    "pad_token": "tokenizer.ggml.padding_token_id",
    "cls_token": "tokenizer.ggml.cls_token_id",
    "mask_token": "tokenizer.ggml.mask_token_id",
}
_ENDING_IDS = ("tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id")
"""Ids in addition to `eos_token` at which llama.cpp ends a response."""
_NO_TOKEN = 0xFFFF_FFFF
_CONTROL, _USER_DEFINED = 3, 4
_MOST_ADDED_TOKENS = 50_000
_LATER_PART = re.compile(r"-((?!00001)\d{5})-of-\d{5}\.gguf\Z", re.IGNORECASE)


def gguf_files(directory: Path) -> list[Path]:
    """Return the GGUF files with language models in a directory, sorted.

    Projectors for images and audio are left out, and later parts of a split file, which have no model metadata.
    """
    paths = sorted(path for path in directory.iterdir() if is_gguf(path) and path.is_file())
    return [path for path in paths if not path.name.lower().startswith("mmproj") and not _LATER_PART.search(path.name)]


def is_orphaned_part(path: Path) -> bool:
    """Return whether a file is a later part of a split GGUF file whose first part is not in the same directory."""
    part = _LATER_PART.search(path.name)
    if part is None or not path.is_file():
        return False
    first = path.name[: part.start(1)] + "1".zfill(len(part[1])) + path.name[part.end(1) :]
    return not os.path.lexists(path.with_name(first))


def is_gguf(path: Path) -> bool:
    return path.suffix.lower() == ".gguf"


def load_gguf(path: Path, within: Path | None = None) -> ModelFiles:
    """Return the chat-related metadata of a GGUF file. Tensors are not read.

    `within` is the directory that contains it; a link that leads out of it is not followed. Raises `BadModelDirectory`
    if the file cannot be read, or if the package `gguf` is missing.
    """
    metadata = _metadata(path, within)
    problems: list[str] = []
    architecture = _text(metadata, _ARCHITECTURE, LONGEST_NAME, "a name", problems)
    part = metadata.value(_PART, LONGEST_NAME)
    if architecture is None and isinstance(part, int) and part > 0:
        raise BadModelDirectory(
            f"{path}: part {part + 1} of a split GGUF file; give the first part, which holds the metadata"
        )
    templates = tuple(_templates(metadata, problems))
    tokens = metadata.value(_TOKENS, LONGEST_TOKEN)
    special, ending, added = _special_tokens(metadata, tokens, problems)
    return ModelFiles(
        directory=path,
        model_type=None if architecture is None else model_type(architecture),
        config={},
        tokenizer_config={"added_tokens_decoder": added},
        generation_config={"eos_token_id": ending},
        templates=templates,
        special_tokens=special,
        problems=tuple(problems),
        kind="gguf",
        special_tokens_known=tokens is not None,
    )


def _metadata(path: Path, within: Path | None) -> Metadata:
    try:
        with opened(path, within) as file:
            _check_header(path, read_at_most(file, 40))
            return _read(path, file)
    except NoFile:
        raise BadModelDirectory(f"{path}: not a file; give a .gguf file or a model directory") from None
    except OSError as error:
        raise BadModelDirectory(f"{path}: cannot be read ({error.strerror}); check that it is readable") from None


def _read(path: Path, file: BinaryIO) -> Metadata:
    try:
        from toolfmt.templates.files.gguf_metadata import DAMAGE, Metadata
    except ImportError:
        raise BadModelDirectory(f"{path}: reading a GGUF file needs the package gguf; pip install gguf") from None
    try:
        return Metadata(file)
    except DAMAGE:
        raise BadModelDirectory(
            f"{path}: a GGUF file whose metadata are damaged or cut short; download it again"
        ) from None


def _check_header(path: Path, begin: bytes) -> None:
    if begin.startswith(b"version https://git-lfs"):
        raise BadModelDirectory(f"{path}: a pointer of Git LFS, not the file itself; fetch it with git lfs pull")
    if not begin.startswith(b"GGUF"):
        raise BadModelDirectory(f"{path}: not a GGUF file (it does not start with the bytes GGUF); download it again")
    versions = {int.from_bytes(begin[4:8], order) for order in ("little", "big")}
    if len(begin) >= 8 and not versions & {2, 3}:
        raise BadModelDirectory(
            f"{path}: version {min(versions)} of GGUF, where 2 and 3 are read; convert the model again"
        )


def _templates(metadata: Metadata, problems: list[str]) -> Iterator[TemplateSource]:
    """Yield the templates, the default first, then the named ones."""
    named = sorted(key for key in metadata.fields if key.startswith(f"{GGUF_TEMPLATE}."))
    for key in (GGUF_TEMPLATE, *named):
        text = _text(metadata, key, LONGEST_TEMPLATE, "a template's text", problems)
        if text is not None:
            yield TemplateSource(text, key[: len(GGUF_TEMPLATE) + LONGEST_NAME], _name(key))
    names = metadata.value(_NAMES, LONGEST_NAME)
    listed = [names.text(index, LONGEST_NAME) for index in range(min(len(names), 100))] if _are_texts(names) else []
    if names is not None and not _are_texts(names):
        problems.append(f"{_NAMES} is {_kind(names)}, not a list of names; it is ignored")
    absent = (name for name in listed if f"{GGUF_TEMPLATE}.{name}" not in named)
    problems.extend(f"{_NAMES} names {name}, but {GGUF_TEMPLATE}.{name} is missing" for name in absent)


def _name(key: str) -> str:
    return key.removeprefix(f"{GGUF_TEMPLATE}.")[:LONGEST_NAME] if key != GGUF_TEMPLATE else "default"


def _special_tokens(
    metadata: Metadata, tokens: Any, problems: list[str]
) -> tuple[dict[str, str], list[int], dict[str, dict[str, Any]]]:
    """Return the special tokens by name, the ids that end a response, and all added tokens by id."""
    if not _are_texts(tokens):
        if tokens is not None:
            problems.append(f"{_TOKENS} is {_kind(tokens)}, not a list of strings; it is ignored")
        return {}, [], {}
    added = _added_tokens(metadata, tokens, problems)
    special, ending = {}, []
    for name, key in (*_IDS.items(), *((key, key) for key in _ENDING_IDS)):
        number = _token_id(metadata, key, tokens, problems)
        text = None if number is None else tokens.text(number, LONGEST_TOKEN)
        if number is None or text is None:
            continue
        added.setdefault(str(number), {"content": text, "special": True})
        if name in _IDS:
            special[name] = text
        if (name == "eos_token" or name in _ENDING_IDS) and number not in ending:
            ending.append(number)
    return special, ending, added


def _token_id(metadata: Metadata, key: str, tokens: Texts, problems: list[str]) -> int | None:
    """Return the id under a key. Return None if it is missing, and add a problem if it is not a token's id."""
    number = metadata.value(key, LONGEST_NAME)
    if number is None or number == _NO_TOKEN or number == -1:
        return None
    if isinstance(number, bool) or not isinstance(number, int):
        problems.append(f"{key} is {_kind(number)}, not a token's id; it is ignored")
    elif tokens.text(number, LONGEST_TOKEN) is None:
        problems.append(f"{key} is {number}, which is not a token of the vocabulary; it is ignored")
    else:
        return number
    return None


def _added_tokens(metadata: Metadata, tokens: Texts, problems: list[str]) -> dict[str, dict[str, Any]]:
    """Return the control tokens and user-defined tokens by id, as tokenizer_config.json lists them."""
    types = metadata.value(_TOKEN_TYPES, LONGEST_TOKEN)
    if types is None:
        return {}
    if not hasattr(types, "tolist"):
        problems.append(f"{_TOKEN_TYPES} is {_kind(types)}, not a list of numbers; it is ignored")
        return {}
    added = ((types == _CONTROL) | (types == _USER_DEFINED)).nonzero()[0][:_MOST_ADDED_TOKENS].tolist()
    texts = {number: tokens.text(number, LONGEST_TOKEN) for number in added}
    return {
        str(number): {"content": text, "special": bool(types[number] == _CONTROL)}
        for number, text in texts.items()
        if text is not None
    }


def _text(metadata: Metadata, key: str, longest: int, what: str, problems: list[str]) -> str | None:
    """Return the text under a key. Return None if it is missing, and add a problem if it is something else."""
    value = metadata.value(key, longest)
    if value is None or isinstance(value, str):
        return value
    problems.append(f"{key[:LONGEST_NAME]} is {_kind(value)}, not {what}; it is ignored")
    return None


def _are_texts(value: Any) -> bool:
    return hasattr(value, "text")


def _kind(value: Any) -> str:
    if hasattr(value, "size") and not hasattr(value, "tolist"):
        return f"a string of {value.size:,} bytes"
    return "a list" if hasattr(value, "__len__") and not isinstance(value, str) else kind_of(value)
