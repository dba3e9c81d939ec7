"""What a model directory says about its chat: the templates, which one is in force and why, its special tokens.

`load_files` is the loader; it reads files and decides nothing about dialects. A file that cannot be read as what it is
raises `BadModelDirectory`; a value of an unexpected type inside a readable file is recorded in `problems` and otherwise
counts as absent. Precedence is that of transformers 5.23 tokenizers (tests/test_templates_transformers.py).
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolfmt.errors import BadModelDirectory
from toolfmt.tools import kind_of

_JINJA = "chat_template.jinja"
_MORE = "additional_chat_templates"
_CONFIG, _GENERATION = "config.json", "generation_config.json"
_TOKENIZER, _TOKENS = "tokenizer_config.json", "special_tokens_map.json"
_PROCESSOR = "chat_template.json"
_EXPECTED = (_CONFIG, _GENERATION, _TOKENIZER, _TOKENS, _PROCESSOR, _JINJA, _MORE)
_NAMED_TOKENS = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")


@dataclass(frozen=True)
class TemplateSource:
    """One chat template as found: its text, its file (relative to the directory), the name it has there."""

    text: str
    origin: str
    name: str = "default"

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True)
class ModelFiles:
    """What `load_files` read.

    `templates` holds every template found, best first; which one is in force depends on whether tools are given:
    `template(tools)`. `special_tokens` are the variables the template gets. `text_model_type` is the model type of the
    language model inside a multimodal one. `problems` names, one line each, what had an unexpected type.
    """

    directory: Path
    model_type: str | None
    config: dict[str, Any]
    tokenizer_config: dict[str, Any]
    generation_config: dict[str, Any]
    templates: tuple[TemplateSource, ...]
    special_tokens: dict[str, str]
    text_model_type: str | None = None
    problems: tuple[str, ...] = ()

    def template(self, tools: bool) -> TemplateSource | None:
        """The template in force, where tools are given or not; None where there is none or none called default."""
        named = self._in_force()
        return (named.get("tool_use") if tools else None) or named.get("default")

    def reason(self, tools: bool) -> str:
        """One sentence: why this template is in force, or why none is."""
        chosen = self.template(tools)
        if not self.templates:
            return f"neither {_JINJA}, {_MORE}/, {_TOKENIZER} nor {_PROCESSOR} holds a chat template"
        named = self._in_force()
        if chosen is None:
            unless = " unless tools are given" if "tool_use" in named else ""
            return f"{_place(self.templates[0])} names {_listed(named)} but no default, so none is in force{unless}"
        reasons = []
        if chosen.name == "tool_use":
            over = " over default" if "default" in named else ""
            reasons.append(f"holds tool_use, chosen{over} because tools are given")
        if chosen.origin != _JINJA and any(
            other.origin == _JINJA for other in self.templates if other.name == chosen.name
        ):
            reasons.append(f"overrides {_JINJA}")
        passed = dict.fromkeys(_place(other) for other in self.templates if _place(other) != _place(chosen))
        if passed:
            reasons.append(f"comes before {_listed(passed)}")
        if chosen.origin == _PROCESSOR:
            reasons.append("holds the only chat template, though transformers reads it for processors only")
        if not reasons:
            reasons.append("holds the only chat template" if len(self.templates) == 1 else "holds the default one")
        return f"{chosen.origin} {' and '.join(reasons)}"

    @property
    def conflicts(self) -> tuple[tuple[TemplateSource, TemplateSource], ...]:
        """Pairs of templates with one name and different text, the better one first; newline style does not count."""
        return tuple(
            (better, other)
            for position, other in enumerate(self.templates)
            for better in self.templates[:position]
            if better.name == other.name and _rendered_text(better) != _rendered_text(other)
        )

    def _in_force(self) -> dict[str, TemplateSource]:
        """The templates that can be in force, by name: those of the best place, as the places after it are ignored."""
        named: dict[str, TemplateSource] = {}
        for source in self.templates:
            if _place(source) == _place(self.templates[0]):
                named.setdefault(source.name, source)
        return named


def load_files(directory: str | Path) -> ModelFiles:
    """The files of a model directory that say how it chats; only these are read, no weights and no code.

    Raises `BadModelDirectory` where the directory is none or holds none of these files, and where one of them cannot
    be read, is not UTF-8 or is not a JSON object. A directory without any template is returned as it is.
    """
    directory = Path(directory)
    _check_directory(directory)
    problems: list[str] = []
    config, generation_config, tokenizer_config, tokens, processor = (
        _read_object(directory / name) for name in (_CONFIG, _GENERATION, _TOKENIZER, _TOKENS, _PROCESSOR)
    )
    model_type = _string(config, "model_type", _CONFIG, problems)
    text_config = config.get("text_config")
    text_config = text_config if isinstance(text_config, dict) else {}
    text_model_type = _string(text_config, "model_type", f"{_CONFIG}: text_config", problems)
    return ModelFiles(
        directory=directory,
        model_type=model_type,
        config=config,
        tokenizer_config=tokenizer_config,
        generation_config=generation_config,
        templates=(
            *_template_files(directory),
            *_entries(tokenizer_config, _TOKENIZER, problems),
            *_entries(processor, _PROCESSOR, problems),
        ),
        special_tokens=_special_tokens(tokenizer_config, tokens, problems),
        text_model_type=text_model_type,
        problems=tuple(problems),
    )


def _check_directory(directory: Path) -> None:
    wanted = f"give a model directory, one that holds {_CONFIG}, {_TOKENIZER} or {_JINJA}"
    try:
        found = os.listdir(directory)
    except FileNotFoundError:
        raise BadModelDirectory(f"{directory}: no such directory; {wanted}") from None
    except NotADirectoryError:
        what = "a GGUF file, which is not read yet" if directory.suffix == ".gguf" else "a file, not a directory"
        raise BadModelDirectory(f"{directory}: {what}; {wanted}") from None
    except OSError as error:
        raise BadModelDirectory(f"{directory}: cannot be read ({error.strerror}); {wanted}") from None
    if not set(found) & set(_EXPECTED):
        raise BadModelDirectory(
            f"{directory}: {'holds no configuration and no chat template' if found else 'empty'}; {wanted}"
        )


def _template_files(directory: Path) -> Iterator[TemplateSource]:
    """The templates that are files, best first: a `default.jinja` among the additional ones overrides the main one."""
    more = directory / _MORE
    names = sorted(path.name for path in more.glob("*.jinja")) if more.is_dir() else []
    names.sort(key="default.jinja".__ne__)
    paths = [f"{_MORE}/{name}" for name in names]
    if os.path.lexists(directory / _JINJA):
        paths.insert(1 if "default.jinja" in names else 0, _JINJA)
    for origin in paths:
        name = "default" if origin == _JINJA else Path(origin).name.removesuffix(".jinja")
        yield TemplateSource(_read_text(directory / origin), origin, name)


def _entries(values: dict[str, Any], origin: str, problems: list[str]) -> Iterator[TemplateSource]:
    """The templates under the key `chat_template`: a string, a list of `{name, template}`, an object of strings."""
    value = values.get("chat_template")
    if isinstance(value, str):
        yield TemplateSource(value, origin)
        return
    entries: list[tuple[str, Any, Any]] = []
    if isinstance(value, list):
        for position, item in enumerate(value):
            fields = item if isinstance(item, dict) else {}
            entries.append((f"chat_template[{position}]", fields.get("name"), fields.get("template")))
        # transformers turns the list into a dictionary, so the last of a name is the one in force: it goes first.
        entries.reverse()
    elif isinstance(value, dict):
        entries = [(f"chat_template[{name!r}]", name, text) for name, text in value.items()]
    elif "chat_template" in values:
        problems.append(f"{origin}: chat_template is {kind_of(value)}, not a template's text; it is ignored")
    for where, name, text in entries:
        if isinstance(name, str) and isinstance(text, str):
            yield TemplateSource(text, origin, name)
        else:
            problems.append(f"{origin}: {where} is not a name with a template's text; it is ignored")


def _special_tokens(tokenizer: dict[str, Any], tokens_map: dict[str, Any], problems: list[str]) -> dict[str, str]:
    """The special tokens that templates get as variables: the seven named ones, and every other `*_token` string."""
    # transformers reads special_tokens_map.json only beside a tokenizer_config.json of the older kind, which lists no
    # added tokens, and there it goes first.
    older = {} if "added_tokens_decoder" in tokenizer else tokens_map
    declared = tokenizer | older
    extra = declared.get("extra_special_tokens")
    named = {key: value for key, value in declared.items() if key.endswith("_token")}
    special = {}
    for name, value in (named | (extra if isinstance(extra, dict) else {})).items():
        text = value.get("content") if isinstance(value, dict) else value
        if isinstance(text, str):
            special[name] = text
        elif name in _NAMED_TOKENS and value is not None:
            origin = _TOKENS if name in older else _TOKENIZER
            problems.append(f"{origin}: {name} is {kind_of(value)}, not a token's text; it is ignored")
    return special


def _string(values: dict[str, Any], key: str, origin: str, problems: list[str]) -> str | None:
    value = values.get(key)
    if value is None or isinstance(value, str):
        return value
    problems.append(f"{origin}: {key} is {kind_of(value)}, not a string; it is ignored")
    return None


def _read_object(path: Path) -> dict[str, Any]:
    """The JSON object in a file, `{}` where there is no file."""
    if not os.path.lexists(path):
        return {}
    text = _read_text(path)
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        where = f"{path}, line {error.lineno}, column {error.colno}"
        raise BadModelDirectory(f"{where}: not JSON ({error.msg}); mend the file or download it again") from None
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, brackets nested by the thousand
        raise BadModelDirectory(f"{path}: JSON that cannot be read ({error}); mend the file") from None
    if not isinstance(value, dict):
        raise BadModelDirectory(f"{path}: {kind_of(value)}, where a JSON object is expected; mend the file")
    return value


def _read_text(path: Path) -> str:
    try:
        if path.exists() and not path.is_file():  # a pipe would wait for ever
            raise BadModelDirectory(f"{path}: not a file; move it away or put the file there")
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        byte = f"byte 0x{error.object[error.start]:02x} at offset {error.start}"
        raise BadModelDirectory(f"{path}: not UTF-8 text ({byte}); save it as UTF-8") from None
    except OSError as error:
        raise BadModelDirectory(
            f"{path}: cannot be read ({error.strerror}); check that the file is there and readable"
        ) from None


def _place(source: TemplateSource) -> str:
    """Where a template stands, as far as precedence goes: all .jinja files are one place."""
    return "the .jinja files" if source.origin.endswith(".jinja") else source.origin


def _rendered_text(source: TemplateSource) -> str:
    """The text without what jinja2 drops from any source: the style of its newlines, and the last of them."""
    return re.sub(r"\r\n?", "\n", source.text).removesuffix("\n")


def _listed(names: Iterable[str]) -> str:
    """The names in their order as a person lists them."""
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last
