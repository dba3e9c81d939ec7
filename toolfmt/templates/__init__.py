"""Find and render the chat templates of a model.

`toolfmt.model` and `toolfmt.inspect` use this package. It supports directories, GGUF files, repositories and jinja2. It
does not depend on tool-call formats and does not decide which one a template uses. All invalid input raises a
`ToolfmtError` with a one-line message.
"""

from __future__ import annotations

from toolfmt.templates.engine.chat_template import FROZEN_NOW, LONGEST_SOURCE, ChatTemplate
from toolfmt.templates.engine.environment import lexed
from toolfmt.templates.files.directory import FILES as MODEL_FILES
from toolfmt.templates.files.locate import (
    NoTemplateHere,
    file_of_model,
    load_files,
    model_place,
    model_places,
    place_name,
)
from toolfmt.templates.files.model_files import JINJA as CHAT_TEMPLATE_FILE
from toolfmt.templates.files.model_files import MORE as MORE_TEMPLATES
from toolfmt.templates.files.model_files import ModelFiles, TemplateSource
from toolfmt.templates.files.repository import cached_name
from toolfmt.templates.files.template_file import is_template, template_alone

__all__ = [
    "CHAT_TEMPLATE_FILE",
    "FROZEN_NOW",
    "LONGEST_SOURCE",
    "MODEL_FILES",
    "MORE_TEMPLATES",
    "ChatTemplate",
    "ModelFiles",
    "NoTemplateHere",
    "TemplateSource",
    "cached_name",
    "file_of_model",
    "is_template",
    "lexed",
    "load_files",
    "model_place",
    "model_places",
    "place_name",
    "template_alone",
]
