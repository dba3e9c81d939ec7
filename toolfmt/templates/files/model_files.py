"""What is known about a model's chat before rendering: its templates, which one is in force and why, its tokens.

This module contains only data. The loaders (`directory.py`, `gguf_file.py`, `template_file.py`, `hub.py`) create it,
and `toolfmt.inspect` and `toolfmt.render` read it. Precedence in a directory is that of transformers 5.23 tokenizers
(tests/templates/test_templates_transformers.py), in a GGUF file that of llama.cpp (`common_chat_templates_init` and
`common_chat_templates_apply_jinja` in its common/chat.cpp).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from toolfmt._util.text_lists import listed
from toolfmt.templates.files.read_text import LONGEST_TOKEN

JINJA = "chat_template.jinja"
MORE = "additional_chat_templates"
CONFIG, GENERATION = "config.json", "generation_config.json"
TOKENIZER, TOKENS = "tokenizer_config.json", "special_tokens_map.json"
PROCESSOR = "chat_template.json"
GGUF_TEMPLATE = "tokenizer.chat_template"

Kind: TypeAlias = Literal["directory", "gguf", "template"]


@dataclass(frozen=True)
class TemplateSource:
    """A chat template: its text, its location (a file in the directory, or a key of a GGUF file), and its name."""

    text: str
    origin: str
    name: str = "default"

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True)
class ModelFiles:
    """The result of `load_files`.

    `directory` is the path that the caller passed: a directory, a file or a repository id. `templates` are all
    templates found, best first. Which one is in force depends on whether there are tools: `template(tools)`.
    `special_tokens` are the variables that the template gets. `text_model_type` is the model type of the language model
    inside a multimodal one. `problems` lists values of an unexpected type, one line each.

    For a GGUF file, the corresponding metadata is under the names of a directory's files: its end-of-sequence ids in
    `generation_config`, its control tokens in `tokenizer_config`.
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
    kind: Kind = "directory"
    """The kind of source: a directory of files, a GGUF file, or a template alone."""
    special_tokens_known: bool = True
    """False if the tokens cannot be known: a template alone has none."""
    read_from: Path | None = None
    """The location of the files if it is not `directory`: a repository's snapshot in the hub cache, or a directory's
    only GGUF file.
    """
    from_cache: bool = False
    """Whether a repository was read from the hub cache without contacting the hub, which may have more files."""

    @property
    def home(self) -> Path:
        """The local directory or file that was read."""
        return self.read_from or self.directory

    @property
    def model_types(self) -> tuple[str, ...]:
        """The model type and that of the language model inside, as far as they are known."""
        return tuple(dict.fromkeys(name for name in (self.model_type, self.text_model_type) if name))

    @property
    def added_tokens(self) -> dict[str, str] | None:
        """The texts of the added tokens by id. None if tokenizer_config.json does not list them."""
        added = self.tokenizer_config.get("added_tokens_decoder")
        if not isinstance(added, dict):
            return None
        texts = {number: token.get("content") for number, token in added.items() if isinstance(token, dict)}
        return {number: text for number, text in texts.items() if isinstance(text, str) and len(text) <= LONGEST_TOKEN}

    def template(self, tools: bool) -> TemplateSource | None:
        """Return the template in force, with or without tools. None if there is none, or none called default."""
        named = self._in_force()
        chosen = (named.get("tool_use") if tools else None) or named.get("default")
        # llama.cpp uses tool_use if there is no default.
        return chosen or (named.get("tool_use") if self.kind == "gguf" else None)

    def where(self, source: TemplateSource) -> str:
        """Return the location of a template for error messages."""
        if self.kind == "template":
            return str(self.directory)
        if self.kind == "gguf":
            return f"{self.home} ({source.origin})"
        named = "" if source.name == "default" or source.origin.endswith(".jinja") else f" (template {source.name})"
        return f"{self.directory / source.origin}{named}"

    def reason(self, tools: bool) -> str:
        """Return one sentence: why this template is in force, or why none is."""
        chosen = self.template(tools)
        if not self.templates:
            return self._why_none()
        if self.kind == "template":
            return f"{self.templates[0].origin} is the template that was given"
        named = self._in_force()
        if chosen is None:
            unless = " unless tools are given" if "tool_use" in named else ""
            return f"{_place(self.templates[0])} names {listed(named)} but no default, so none is in force{unless}"
        return f"{chosen.origin} {' and '.join(self._reasons(chosen, named, tools))}"

    @property
    def way_out(self) -> str:
        """Return what to do if no template is in force, without a full stop."""
        if self.kind == "gguf":
            return (
                "give llama.cpp the chat template of the original model (--chat-template-file), or write it into a "
                "copy of the file (gguf-new-metadata --chat-template-file)"
            )
        return "copy chat_template.jinja from the repository of the original model"

    @property
    def conflicts(self) -> tuple[tuple[TemplateSource, TemplateSource], ...]:
        """Return pairs of templates with the same name and different text (ignoring newline style), the better one
        first.
        """
        texts = [_rendered_text(source) for source in self.templates]
        return tuple(
            (self.templates[better], other)
            for position, other in enumerate(self.templates)
            for better in range(position)
            if self.templates[better].name == other.name and texts[better] != texts[position]
        )

    def _in_force(self) -> dict[str, TemplateSource]:
        """Return the templates that can be in force, by name: those of the best source. Later sources are ignored."""
        named: dict[str, TemplateSource] = {}
        for source in self.templates:
            if _place(source) == _place(self.templates[0]):
                named.setdefault(source.name, source)
        return named

    def _why_none(self) -> str:
        if self.kind == "gguf":
            return f"the GGUF file has no {GGUF_TEMPLATE}, and llama.cpp then takes ChatML whatever the model"
        part = " in the part of the repository that the hub cache has" if self.from_cache else ""
        return f"neither {JINJA}, {MORE}/, {TOKENIZER} nor {PROCESSOR} holds a chat template{part}"

    def _reasons(self, chosen: TemplateSource, named: dict[str, TemplateSource], tools: bool) -> list[str]:
        """Return why the template is in force, as ends of a sentence that begins with its origin."""
        reasons = []
        if chosen.name == "tool_use":
            over = " over default" if "default" in named else ""
            without = "contains tool_use, which llama.cpp also uses without tools because there is no default"
            reasons.append(f"contains tool_use, chosen{over} because tools are given" if tools else without)
        if chosen.origin != JINJA and any(
            other.origin == JINJA for other in self.templates if other.name == chosen.name
        ):
            reasons.append(f"overrides {JINJA}")
        passed = dict.fromkeys(_place(other) for other in self.templates if _place(other) != _place(chosen))
        if passed:
            reasons.append(f"comes before {listed(passed)}")
        if chosen.origin == PROCESSOR:
            reasons.append("holds the only chat template, though transformers reads it for processors only")
        if not reasons:
            reasons.append("holds the only chat template" if len(self.templates) == 1 else "holds the default one")
        return reasons


def _place(source: TemplateSource) -> str:
    """Return the source of a template for precedence: all .jinja files are one, all GGUF keys are another."""
    if source.origin.startswith(GGUF_TEMPLATE):
        return "the GGUF file"
    return "the .jinja files" if source.origin.endswith(".jinja") else source.origin


def _rendered_text(source: TemplateSource) -> str:
    """Return the text without what jinja2 ignores in any source: the newline style and the last newline."""
    return source.text.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n")
