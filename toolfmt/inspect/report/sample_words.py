"""Replace the probes' sentinels in a report with realistic sample words, for people to read.

The probes use words that no template contains (`Vq8first`). JSON and SARIF keep them, so that a program can compare
reports.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar, cast

from toolfmt.inspect.report.report import Report

_T = TypeVar("_T")

SAMPLES = {
    "find_qplace": "get_weather",
    "set_qvalues": "set_alarm",
    "tell_qtime": "get_time",
    "find_zqthing": "find_hotel",
    "ask_zqone": "get_news",
    "ask_zqtwo": "get_mail",
    "ask_zqthree": "get_tasks",
    "zqplace": "city",
    "zqinner": "address",
    "zqdeep": "street",
    "zqitem": "room",
    "zqinside": "number",
    "zqrole": "guest",
    "Sq2system": "Be brief.",
    "Uq1question": "Is it sunny?",
    "Uq9further": "And tomorrow?",
    "Yu7again": "And in Lima?",
    "Aq3reply": "It is sunny.",
    "Za8more": "It rains.",
    "Tq5thought": "Check first.",
    "Bt9beside": "Let me look.",
    "Rq4result": "sunny",
    "Xr6second": "rain",
    "Vq8first": "Oslo",
    "Wq9second": "Lima",
    "Vq9given": "sample",
    "Vs3later": "Be polite.",
    "Wd1developer": "Use metric units.",
    "Dq6description": "Get the weather.",
    "Pq7parameter": "The city.",
    "Dz1about": "Find a hotel.",
    "Pz2about": "Where to stay.",
    "Iz7about": "Where it is.",
    "Jz8about": "Its street.",
    "Rz9thing": "Thing",
    "Fz4fallback": "Rome",
    "Gz5pattern": "[A-Z]+",
    "hz6format": "date",
    "Ez3red": "red",
    "Ez3green": "green",
    "Qz1says": "He says",
    "Qz2done": "goodbye",
    "Bq7begin": "Look at",
    "Eq8end": "please",
    "Gq1begin": "It",
    "Gq2end": "is sunny.",
}
_WRITTEN = (str.lower, str.upper, str.capitalize)
_WORDS = {write(word): write(sample) for write in _WRITTEN for word, sample in SAMPLES.items()} | SAMPLES
_WORD = re.compile("|".join(map(re.escape, sorted(_WORDS, key=len, reverse=True))))
# The number of a message in an example conversation: `Wq51 Riverside`.
_NUMBER = re.compile(r"\b[A-Z]q\d{1,2} (?=\w)")
# What the cut of an excerpt leaves of a word.
_PART = re.compile(
    "|".join(
        [f"{re.escape(word[:end])}(?=…)" for word in SAMPLES for end in range(len(word) - 1, 3, -1)]
        + [f"(?<=…){re.escape(word[begin:])}" for word in SAMPLES for begin in range(1, len(word) - 3)]
    )
)


def has_sentinels(report: Report) -> bool:
    """Return whether the findings or the effects of the variables, which every report shows, get sample words."""
    if _tests_for_sentinels(report):
        return False
    findings = (finding.message for finding in (*report.findings, *report.notes))
    effects = (variable.effect for variable in report.sections.variables)
    return any(_WORD.search(text) for text in (*findings, *effects))


def with_sample_words(report: Report) -> Report:
    """Return the report with sample words in all its strings.

    If the template itself tests for a sentinel, the report is unchanged: it must name the string that is tested.
    """
    return report if _tests_for_sentinels(report) else _replaced(report)


def _tests_for_sentinels(report: Report) -> bool:
    return any(_WORD.search(branch.text) for branch in report.sections.branches)


def _replaced(value: _T) -> _T:
    replaced: Any = value
    match value:
        case str():
            replaced = _NUMBER.sub("", _PART.sub("", _WORD.sub(lambda found: _WORDS[found[0]], value)))
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
