"""Load a template file, which has neither a model type nor special tokens."""

from __future__ import annotations

from pathlib import Path

from toolfmt.templates.files.model_files import ModelFiles, TemplateSource
from toolfmt.templates.files.read_text import read_template

_ENDINGS = (".jinja", ".jinja2", ".j2")


def is_template(path: Path) -> bool:
    return path.name.lower().endswith(_ENDINGS)


def load_template(path: Path) -> ModelFiles:
    """Return the template in a file. Raises `BadModelDirectory` if it cannot be read, is too large or is not UTF-8."""
    # The user chose it by name or pattern: a link to another template file is followed, but not to other files.
    return template_alone(read_template(path, path.parent, endings=_ENDINGS), path)


def template_alone(text: str, path: Path) -> ModelFiles:
    """Return the files of a template without a model. `path` is its name."""
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
