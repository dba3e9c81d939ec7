"""A template alone: a text file whose name says that it is jinja. It tells neither model type nor special tokens."""

from __future__ import annotations

from pathlib import Path

from toolfmt.templates.files.model_files import ModelFiles, TemplateSource
from toolfmt.templates.files.read_text import read_template

_ENDINGS = (".jinja", ".jinja2", ".j2")


def is_template(path: Path) -> bool:
    return path.name.lower().endswith(_ENDINGS)


def load_template(path: Path) -> ModelFiles:
    """The template in a file; raises `BadModelDirectory` where it cannot be read, is too large or is not UTF-8."""
    # Named by hand or found by a pattern: a link to another template is followed, to no other file.
    return template_alone(read_template(path, path.parent, endings=_ENDINGS), path)


def template_alone(text: str, path: Path) -> ModelFiles:
    """A template of which nothing but its text is known; `path` is what it is called."""
    return ModelFiles(
        directory=path,
        model_type=None,
        config={},
        tokenizer_config={},
        generation_config={},
        templates=(TemplateSource(text, path.name),),
        special_tokens={},
        kind="template",
        special_tokens_known=False,
    )
