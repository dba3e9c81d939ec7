"""Special tokens by their names: a report quotes no text that only toolfmt put in the place of one.

The probes of a template whose special tokens nobody can know are given stand-ins for them. Whoever reads such a quote
would look for `</s>` in a template that only says `eos_token`; it is told as `{{ eos_token }}`, as the template has it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report.report import Report, token_mark
from toolfmt.inspect.report.wording import CUT

Told = TypeVar("Told")
_TOLD = ("capabilities", "findings", "notes", "sections")
"""The parts of a report that quote prompts; the samples have the names already, the profile is for the renderer."""


def with_token_names(report: Report, facts: Facts) -> Report:
    """The report with the names of special tokens where stand-ins for them are quoted: those that stand in the
    template's own text are that text.
    """
    tokens = {} if facts.renders is None else facts.renders.tokens
    source = "" if facts.template is None else facts.template.text
    names = {text: token_mark(name) for name, text in tokens.items() if text not in source}
    names |= dict(_cut(names, source))
    return replace(report, **{part: _named(getattr(report, part), names) for part in _TOLD}) if names else report


def _cut(names: Mapping[str, str], source: str) -> Iterator[tuple[str, str]]:
    """Stand-ins of which a quote holds a part only, since it begins or ends there: as far as nothing else has it."""
    for text, name in names.items():
        others = [other for other in names if other != text]
        for size in range(len(text) - 1, 1, -1):
            for part, cut, named in (
                (text[-size:], f"{CUT}{text[-size:]}", f"{CUT}{name}"),
                (text[:size], f"{text[:size]}{CUT}", f"{name}{CUT}"),
            ):
                if not any(part in other for other in (source, *others)):
                    yield cut, named


def _named(told: Told, names: Mapping[str, str]) -> Told:
    """What is told with every text in it changed, whatever holds it."""
    changed: Any = told
    if isinstance(told, str):
        for text, name in names.items():
            changed = changed.replace(text, name)
    elif isinstance(told, Mapping):
        changed = {key: _named(value, names) for key, value in told.items()}
    elif isinstance(told, tuple):
        changed = tuple(_named(item, names) for item in told)
    elif is_dataclass(told) and not isinstance(told, type):
        both = {field.name: getattr(told, field.name) for field in fields(told) if field.init}
        changed = replace(told, **{name: _named(value, names) for name, value in both.items()})
    return changed  # type: ignore[no-any-return] # of the same type as what was given
