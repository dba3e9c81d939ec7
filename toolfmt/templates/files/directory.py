"""Load a model directory: its templates, configuration and special tokens.

`load_directory` reads the files in the order of their precedence. `model_files.py` decides which template is in force.
A file that cannot be read or parsed raises `BadModelDirectory`. A value of an unexpected type in a readable file is
listed in `problems` and is ignored.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from toolfmt.messages.tools import kind_of
from toolfmt.templates.files.model_files import (
    CONFIG,
    GENERATION,
    JINJA,
    MORE,
    PROCESSOR,
    TOKENIZER,
    TOKENS,
    ModelFiles,
    TemplateSource,
)
from toolfmt.templates.files.read_text import LONGEST_NAME, LONGEST_TOKEN, read_object, read_template, string, too_long

FILES = (CONFIG, GENERATION, TOKENIZER, TOKENS, PROCESSOR, JINJA, MORE)
"""Any one of these files makes a directory a model directory."""
MOST_TEMPLATES = 100
"""Maximum number of templates read per source. Current models have up to five."""
MOST_TOKENS = 1_000
"""Maximum number of named special tokens; each is a variable of every render. Current models have up to about fifty."""
_NAMED_TOKENS = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")


def load_directory(directory: Path) -> ModelFiles:
    """Return the chat-related files of a model directory. Weights and code are not read.

    Raises `BadModelDirectory` if one of them cannot be read, is not UTF-8, or is not a JSON object. A directory without
    any template is returned as it is.
    """
    problems: list[str] = []
    config, generation_config, tokenizer_config, tokens, processor = (
        read_object(directory / name, directory) for name in (CONFIG, GENERATION, TOKENIZER, TOKENS, PROCESSOR)
    )
    model_type = string(config, "model_type", CONFIG, problems)
    text_config = config.get("text_config")
    text_config = text_config if isinstance(text_config, dict) else {}
    text_model_type = string(text_config, "model_type", f"{CONFIG}: text_config", problems)
    return ModelFiles(
        directory=directory,
        model_type=model_type,
        config=config,
        tokenizer_config=tokenizer_config,
        generation_config=generation_config,
        templates=(
            *_template_files(directory, problems),
            *_entries(tokenizer_config, TOKENIZER, problems),
            *_entries(processor, PROCESSOR, problems),
        ),
        special_tokens=_special_tokens(tokenizer_config, tokens, problems),
        text_model_type=text_model_type,
        problems=tuple(problems),
    )


def _template_files(directory: Path, problems: list[str]) -> Iterator[TemplateSource]:
    """Yield the template files, best first: a `default.jinja` among the additional ones overrides the main one."""
    more = directory / MORE
    names = sorted(path.name for path in more.glob("*.jinja")) if more.is_dir() else []
    names.sort(key="default.jinja".__ne__)
    _report_left_out(len(names), f"{MORE}/", problems)
    paths = [f"{MORE}/{name}" for name in names[:MOST_TEMPLATES]]
    if os.path.lexists(directory / JINJA):
        paths.insert(1 if "default.jinja" in names else 0, JINJA)
    for origin in paths:
        name = "default" if origin == JINJA else Path(origin).name.removesuffix(".jinja")
        yield TemplateSource(read_template(directory / origin, directory), origin, name)


def _entries(values: dict[str, Any], origin: str, problems: list[str]) -> Iterator[TemplateSource]:
    """Yield the templates in `chat_template`: a string, a list of `{name, template}`, or an object of strings."""
    value = values.get("chat_template")
    if isinstance(value, str):
        yield TemplateSource(value, origin)
        return
    entries: list[tuple[str, Any, Any]] = []
    if isinstance(value, list):
        for position, item in enumerate(value):
            fields = item if isinstance(item, dict) else {}
            entries.append((f"chat_template[{position}]", fields.get("name"), fields.get("template")))
        # transformers turns the list into a dictionary, so the last one of a name is in force. It goes first here.
        entries.reverse()
    elif isinstance(value, dict):
        entries = [(f"chat_template[{name[:LONGEST_NAME]!r}]", name, text) for name, text in value.items()]
    elif "chat_template" in values:
        problems.append(f"{origin}: chat_template is {kind_of(value)}, not a template's text; it is ignored")
    _report_left_out(len(entries), f"{origin}: chat_template", problems)
    for where, name, text in entries[:MOST_TEMPLATES]:
        if isinstance(name, str) and len(name) > LONGEST_NAME:
            problems.append(f"{origin}: the name of {where} is {too_long(name, 'name')}; it is ignored")
        elif isinstance(name, str) and isinstance(text, str):
            yield TemplateSource(text, origin, name)
        else:
            problems.append(f"{origin}: {where} is not a name with a template's text; it is ignored")


def _report_left_out(number: int, where: str, problems: list[str]) -> None:
    if number > MOST_TEMPLATES:
        problems.append(f"{where} holds {number:,} templates; all but {MOST_TEMPLATES} are ignored")


def _special_tokens(tokenizer: dict[str, Any], tokens_map: dict[str, Any], problems: list[str]) -> dict[str, str]:
    """Return the special tokens that templates get as variables: the seven standard ones and other `*_token`s."""
    # transformers reads special_tokens_map.json only with a tokenizer_config.json of the older kind, which does not
    # list added tokens. There it has precedence.
    older = {} if "added_tokens_decoder" in tokenizer else tokens_map
    declared = tokenizer | older
    extra = declared.get("extra_special_tokens")
    named = {key: value for key, value in declared.items() if key.endswith("_token")}
    special = {}
    tokens = named | (extra if isinstance(extra, dict) else {})
    if len(tokens) > MOST_TOKENS:
        problems.append(f"{TOKENIZER}: {len(tokens):,} special tokens have names; all but {MOST_TOKENS:,} are ignored")
    # The standard ones first.
    for name in sorted(tokens, key=lambda name: name not in _NAMED_TOKENS)[:MOST_TOKENS]:
        value = tokens[name]
        text = value.get("content") if isinstance(value, dict) else value
        if isinstance(text, str) and len(text) <= LONGEST_TOKEN:
            special[name] = text
        elif name in _NAMED_TOKENS and value is not None:
            origin = TOKENS if name in older else TOKENIZER
            what = too_long(text, "token") if isinstance(text, str) else f"{kind_of(value)}, not a token's text"
            problems.append(f"{origin}: {name} is {what}; it is ignored")
    return special
