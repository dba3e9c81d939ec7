"""Finding and rendering the chat templates of a model.

The façade and the inspection room call it. It knows the places of models (directories, GGUF files, repositories),
jinja2 and nothing of wire formats: which dialect a template teaches is not decided here. Everything raised for bad
input is a `ToolfmtError` of one line.
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
