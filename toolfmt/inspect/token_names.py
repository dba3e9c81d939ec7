"""Show special tokens by name: a report does not quote the substitutes of unknown tokens.

If the special tokens of a template cannot be known, probes use substitutes. A reader would search for `</s>` in a
template that only contains `eos_token`. The report shows it as `{{ eos_token }}`, as in the template.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report.report import Report, token_mark
from toolfmt.inspect.report.wording import CUT

Value = TypeVar("Value")
_RENAMED_PARTS = ("capabilities", "findings", "notes", "ignored", "sections")
"""The parts of a report that quote prompts. Samples already contain the names, and the profile is for the renderer."""


def with_token_names(report: Report, facts: Facts) -> Report:
    """Return the report with substitutes replaced by the names of their special tokens.

    Substitutes that occur in the template's own text stay.
    """
    tokens = {} if facts.renders is None else facts.renders.tokens
    source = "" if facts.template is None else facts.template.text
    names = {text: token_mark(name) for name, text in tokens.items() if text not in source}
    names |= dict(_cut(names, source))
    return (
        replace(report, **{part: _named(getattr(report, part), names) for part in _RENAMED_PARTS}) if names else report
    )


def _cut(names: Mapping[str, str], source: str) -> Iterator[tuple[str, str]]:
    """Yield parts of substitutes at the start or end of an excerpt, if nothing else contains them."""
    for text, name in names.items():
        others = [other for other in names if other != text]
        for size in range(len(text) - 1, 1, -1):
            for part, cut, named in (
                (text[-size:], f"{CUT}{text[-size:]}", f"{CUT}{name}"),
                (text[:size], f"{text[:size]}{CUT}", f"{name}{CUT}"),
            ):
                if not any(part in other for other in (source, *others)):
                    yield cut, named


def _named(original: Value, names: Mapping[str, str]) -> Value:
    """Return the value with every string in it changed, in any container."""
    changed: Any = original
    if isinstance(original, str):
        for text, name in names.items():
            changed = changed.replace(text, name)
    elif isinstance(original, Mapping):
        changed = {key: _named(value, names) for key, value in original.items()}
    elif isinstance(original, tuple):
        changed = tuple(_named(item, names) for item in original)
    elif is_dataclass(original) and not isinstance(original, type):
        both = {field.name: getattr(original, field.name) for field in fields(original) if field.init}
        changed = replace(original, **{name: _named(value, names) for name, value in both.items()})
    return changed  # type: ignore[no-any-return] # of the same type as what was given
