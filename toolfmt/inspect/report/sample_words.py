"""Replace the probes' sentinels in a report with realistic sample words, for people to read.

The probes use words that no template contains (`Vq8first`). The text and HTML reports show samples. All other outputs,
and `toolfmt diff`, keep the words of the probes, so that reports can be compared.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar, cast

from toolfmt.inspect.report.report import Report
from toolfmt.inspect.report.sentinels import NUMBER, SAMPLES

_T = TypeVar("_T")

_WRITTEN = (str.lower, str.upper, str.capitalize)
_WORDS = {write(word): write(sample) for write in _WRITTEN for word, sample in SAMPLES.items()} | SAMPLES
_WORD = re.compile("|".join(map(re.escape, sorted(_WORDS, key=len, reverse=True))))
_NUMBER = re.compile(rf"(?:\b|(?<=\\n)){NUMBER} (?=\w)")  # in a report, a line break is a backslash and an n
_STRIKING = re.compile(r"\b(?:get_weather|Oslo|Weather|Sunny|Sunshine|Looking|Briefly)\b")  # no words of a report's own


def with_sample_words(report: Report) -> Report:
    """Return the report with sample words in all its strings.

    If the template itself tests for a sentinel, the report is unchanged: it must name the string that is tested. So is
    that of a template with a sample word as a string, which may treat it differently.
    """
    own_words = report.template is not None and report.template.has_sample_words
    tested = any(_WORD.search(branch.text) for branch in report.sections.branches)
    return report if own_words or tested else _replaced(report)


def samples_in(text: str) -> list[str]:
    """Return the most striking sample words in a text, in order of appearance."""
    return list(dict.fromkeys(_STRIKING.findall(text)))


def _replaced(value: _T) -> _T:
    replaced: Any = value
    match value:
        case str():
            replaced = _NUMBER.sub("", _WORD.sub(lambda found: _WORDS[found[0]], value))
        case Mapping():
            replaced = {_replaced(key): _replaced(item) for key, item in value.items()}
        case tuple() | list() if type(value) in (tuple, list):
            replaced = type(value)(map(_replaced, value))
        case _ if is_dataclass(value) and not isinstance(value, type):
            # Only fields that change, because a class may check or convert what it is given.
            items = {field.name: getattr(value, field.name) for field in fields(value) if field.init}
            changed = {name: new for name, item in items.items() if (new := _replaced(item)) != item}
            replaced = replace(value, **changed) if changed else value
    return cast("_T", replaced)
