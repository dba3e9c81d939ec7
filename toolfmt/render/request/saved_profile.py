"""A profile as text and back: a server keeps it beside the model, and starts without probing its templates again.

The text is JSON. It counts only for the files that it was made of and for the version of toolfmt that made it: what
another version has learned about a template is not in it. What hit a limit may have done so by chance: it is not saved.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

from toolfmt._util.typed_json import UnreadableJson, packed, unpacked
from toolfmt._util.version import __version__
from toolfmt.errors import BadProfile
from toolfmt.inspect.probe.eos_tokens import eos_tokens
from toolfmt.inspect.probe.tokenizer_file import find_tokenizer
from toolfmt.inspect.report.template_profile import TemplateProfile
from toolfmt.templates import ModelFiles

SCHEMA = "toolfmt.profile/1"
_AGAIN = "give the text that Model.saved_profile makes of it now"


@dataclass(frozen=True)
class SavedProfile:
    """The JSON: `made_of` is the SHA-256 of what the files say of templates, tokens and the model."""

    schema: str
    toolfmt: str
    made_of: str
    profile: TemplateProfile


def saved(files: ModelFiles, profile: TemplateProfile) -> str:
    """The profile of these files as text; raises `BadProfile` where a limit was hit, as may not be another time."""
    for one in (profile, profile.without_tools):
        if one is not None and one.failure is not None and one.failure.limit:
            raise BadProfile(f"{files.directory}: {one.failure.message}; the profile cannot be saved")
    data = packed(SavedProfile(SCHEMA, __version__, _made_of(files), profile))
    return json.dumps(
        json.loads(data.decode("utf-8", "surrogatepass")), separators=(",", ":")
    )  # ASCII: any file can hold it


def restored(files: ModelFiles, text: str) -> TemplateProfile:
    """The profile that `saved` made a text of; raises `BadProfile` for any other text, and for one that was made of
    other files or by another version of toolfmt.
    """
    where = f"{files.directory}: the profile that is given"
    if not isinstance(text, str):
        raise BadProfile(f"{where} must be a string, not {type(text).__name__}; {_AGAIN}")
    try:
        found = unpacked(text.encode("utf-8", "surrogatepass"), SavedProfile)
        if found.schema != SCHEMA:
            raise UnreadableJson(f"its schema is {found.schema[:40]!r}")
        if not found.profile.has_known_format:
            raise UnreadableJson("it names a format that is not there")
    except UnreadableJson as unreadable:
        raise BadProfile(f"{where} is none that toolfmt saved ({unreadable}); {_AGAIN}") from None
    if found.toolfmt != __version__:
        raise BadProfile(f"{where} was made by toolfmt {found.toolfmt[:40]!r}, this is {__version__}; {_AGAIN}")
    if found.made_of != _made_of(files):
        raise BadProfile(f"{where} was made of other files than the model has now; {_AGAIN}")
    return found.profile


def _made_of(files: ModelFiles) -> str:
    templates = [source.text for source in (files.template(True), files.template(False)) if source is not None]
    read = [templates, files.special_tokens, list(files.model_types)]
    read += [files.config, files.tokenizer_config, files.generation_config]
    read += [eos_tokens(files, find_tokenizer(files.home))]
    try:
        return hashlib.sha256(packed(read)).hexdigest()
    except RecursionError:
        raise BadProfile(
            f"{files.directory}: something in its files is nested too deep for a profile; leave it out"
        ) from None
