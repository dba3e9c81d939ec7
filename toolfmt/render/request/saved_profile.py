"""Save and restore a profile as text, so that a server starts without probing its templates again.

The text is JSON. It is valid only for the same files and the same toolfmt version, because another version may judge a
template differently. A profile that hit a limit is not saved, because its result may not be reproducible.
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
    """The JSON document. `made_of` is the SHA-256 of the templates, tokens and model information in the files."""

    schema: str
    toolfmt: str
    made_of: str
    profile: TemplateProfile


def saved(files: ModelFiles, profile: TemplateProfile) -> str:
    """Return the profile of these files as text.

    Raises `BadProfile` if a limit was hit, because the result may not be reproducible.
    """
    for one in (profile, profile.without_tools):
        if one is not None and one.failure is not None and one.failure.limit:
            raise BadProfile(f"{files.directory}: {one.failure.message}; the profile cannot be saved")
    data = packed(SavedProfile(SCHEMA, __version__, _made_of(files), profile))
    return json.dumps(
        json.loads(data.decode("utf-8", "surrogatepass")), separators=(",", ":")
    )  # ASCII, so that any file can hold it


def restored(files: ModelFiles, text: str) -> TemplateProfile:
    """Return the profile from the text that `saved` returned.

    Raises `BadProfile` if the text is not a saved profile, or belongs to other files or another toolfmt version.
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
