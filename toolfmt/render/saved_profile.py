"""A profile as text and back: a server keeps it beside the model, and starts without probing its templates again.

The text is JSON. It counts only for the files that it was made of and for the version of toolfmt that made it: what
another version has learned about a template is not in it.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from toolfmt import __version__
from toolfmt.errors import ToolfmtError
from toolfmt.inspect.template_profile import TemplateProfile
from toolfmt.templates import ModelFiles
from toolfmt.typed_json import Unreadable, packed, unpacked

SCHEMA = "toolfmt.profile/1"
_AGAIN = "make it again (Model.saved_profile)"


@dataclass(frozen=True)
class _Saved:
    """The JSON: `made_of` is the SHA-256 of what the files say of templates, tokens and the model."""

    schema: str
    toolfmt: str
    made_of: str
    profile: TemplateProfile


def saved(files: ModelFiles, profile: TemplateProfile) -> str:
    """The profile of these files as text."""
    return packed(_Saved(SCHEMA, __version__, _made_of(files), profile)).decode("utf-8", "backslashreplace")


def restored(files: ModelFiles, text: str) -> TemplateProfile:
    """The profile that `saved` made a text of; raises `ToolfmtError` for any other text, and for one that was made of
    other files or by another version of toolfmt.
    """
    where = f"{files.directory}: the profile that is given"
    try:
        found = unpacked(text.encode("utf-8", "surrogatepass"), _Saved)
        if found.schema != SCHEMA:
            raise Unreadable(f"its schema is {found.schema[:40]!r}")
        if not found.profile.has_known_format:
            raise Unreadable("it names a format that is not there")
    except Unreadable as unreadable:
        raise ToolfmtError(f"{where} is none that toolfmt saved ({unreadable}); {_AGAIN}") from None
    if found.toolfmt != __version__:
        raise ToolfmtError(f"{where} was made by toolfmt {found.toolfmt[:40]}, this is {__version__}; {_AGAIN}")
    if found.made_of != _made_of(files):
        raise ToolfmtError(f"{where} was made of other files than the model has now; {_AGAIN}")
    return found.profile


def _made_of(files: ModelFiles) -> str:
    templates = [source.text for source in (files.template(True), files.template(False)) if source is not None]
    read = [templates, files.special_tokens, list(files.model_types)]
    read += [files.config, files.tokenizer_config, files.generation_config]
    return hashlib.sha256(packed(read)).hexdigest()
