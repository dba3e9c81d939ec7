"""The files of a copy as bytes by name; replace a template's text in all of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

from toolfmt.inspect.fix.json_text import JsonMember, members, strings, with_string
from toolfmt.inspect.runtimes.template_choice import same_text
from toolfmt.templates import CHAT_TEMPLATE_FILE, ModelFiles, TemplateSource


def with_template_text(
    contents: Mapping[str, bytes], files: ModelFiles, source: TemplateSource, text: str
) -> dict[str, bytes]:
    """Return the contents with the template's text replaced by `text` in every file that contains it.

    A GGUF file is not among the contents: its template is written to a separate file.
    """
    if files.kind != "directory":
        return {**contents, template_file(files, source): _bytes(text)}
    changed = dict(contents)
    for one in files.templates:
        if same_text(one, source) and one.origin in contents:
            changed[one.origin] = replaced_template(changed[one.origin], one, text)
    return changed


def template_file(files: ModelFiles, source: TemplateSource) -> str:
    """Return the file for a template that is not in a model directory."""
    return source.origin if files.kind == "template" else CHAT_TEMPLATE_FILE


def replaced_template(data: bytes, source: TemplateSource, text: str) -> bytes:
    """Return the bytes of a file with the template's text replaced by `text`."""
    if source.origin.endswith(".jinja"):
        return _bytes(text)
    whole = _text(data)
    for member in members(whole):
        if member.key == "chat_template":
            for string in reversed(list(strings(whole, member))):
                if same_text(replace(source, text=_string(whole, string)), source):
                    whole = with_string(whole, string, text)
    return _bytes(whole)


def _string(text: str, member: JsonMember) -> str:
    return str(json.loads(text[member.value : member.end], strict=False))


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
