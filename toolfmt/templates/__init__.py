"""Room 2: finding and rendering the chat templates of a model directory.

The façade and the inspection room call it. It knows model directories, jinja2 and nothing of wire formats: which
dialect a template teaches is not decided here. Everything raised for bad input is a `ToolfmtError` of one line.
"""

from __future__ import annotations

from toolfmt.templates.chat_template import FROZEN_NOW, LONGEST_SOURCE, ChatTemplate
from toolfmt.templates.sources import ModelFiles, TemplateSource, load_files

__all__ = ["FROZEN_NOW", "LONGEST_SOURCE", "ChatTemplate", "ModelFiles", "TemplateSource", "load_files"]
