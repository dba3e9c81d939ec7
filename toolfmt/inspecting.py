"""Inspecting places: what is given on a command line becomes places, and each place a report or the reason why not.

`inspected` is the one door through which the command line inspects: whatever runs an inspection elsewhere (in a process
with limits) does it there. A place is what `toolfmt.load` takes.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolfmt.errors import ToolfmtError
from toolfmt.inspect.facts import NO_OPTIONS, Options
from toolfmt.inspect.report import Report
from toolfmt.model import load

_MODEL_FILES = frozenset(
    {
        "config.json",
        "generation_config.json",
        "tokenizer_config.json",
        "special_tokens_map.json",
        "chat_template.json",
        "chat_template.jinja",
        "additional_chat_templates",
    }
)


@dataclass(frozen=True)
class Looked:
    """What became of one place: its report, or in one line why it could not be looked at."""

    place: str
    report: Report | None
    reason: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON with its `path`; with `error` in place of the rest where there is none."""
        rest = {"error": self.reason} if self.report is None else self.report.to_dict()
        return {"path": self.place, **rest}


def inspected(place: str, options: Options = NO_OPTIONS) -> Report:
    """The report on one place; raises `ToolfmtError` where it cannot be read or its template does not parse."""
    model = load(place)
    if model.broken is not None:
        raise model.broken
    return model.inspect(tools=options.tools, context=options.context)


def looked_at(place: str, options: Options = NO_OPTIONS) -> Looked:
    """As `inspected`, with the error as a line of text."""
    try:
        return Looked(place, inspected(place, options))
    except ToolfmtError as error:
        return Looked(place, None, " ".join(str(error).split()))


def expanded(given: Iterable[str]) -> list[str] | None:
    """The places that are given, a folder of models in place of which its models stand; None for one place alone."""
    places: list[str] = []
    several = False
    for place in given:
        inside = [str(path) for path in model_places(Path(place))]
        several = several or bool(inside) or bool(places)
        places += inside or [place]
    return places if several else None


def model_places(folder: Path) -> list[Path]:
    """The models below a folder that is none itself, sorted; empty for a model's own place and where there are none."""
    # Stands in for toolfmt.templates.model_places, with the same meaning, until that is there.
    try:
        return sorted(_models(folder, 3)) if folder.is_dir() and not _is_model(folder) else []
    except OSError:
        return []


def _is_model(directory: Path) -> bool:
    return bool(_MODEL_FILES & set(os.listdir(directory)))


def _models(folder: Path, levels: int) -> Iterator[Path]:
    for path in folder.iterdir():
        if not path.is_dir():
            if path.suffix in (".gguf", ".jinja"):
                yield path
        elif _is_model(path):
            yield path
        elif levels > 1:
            yield from _models(path, levels - 1)
