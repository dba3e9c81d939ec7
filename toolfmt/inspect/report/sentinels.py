"""The words of the probes, which no template contains, and what reports for people show in their place."""

from __future__ import annotations

import re

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
    "zqinside": "amount",
    "zqrole": "guest",
    "Sq2system": "Briefly",
    "Uq1question": "Weather",
    "Uq9further": "Tomorrow",
    "Yu7again": "Later",
    "Aq3reply": "Sunny",
    "Za8more": "Rainy",
    "Tq5thought": "Thinking",
    "Bt9beside": "Looking",
    "Rq4result": "Sunshine",
    "Xr6second": "Rain",
    "Vq8first": "Oslo",
    "Wq9second": "Lima",
    "Vq9given": "Value",
    "Vs3later": "Politely",
    "Wd1developer": "Metric",
    "Dq6description": "Forecast",
    "Pq7parameter": "Town",
    "Dz1about": "Hotels",
    "Pz2about": "Where",
    "Iz7about": "Place",
    "Jz8about": "Road",
    "Rz9thing": "Thing",
    "Fz4fallback": "Rome",
    "Gz5pattern": "Pattern",
    "hz6format": "isbn",
    "Ez3red": "Red",
    "Ez3green": "Green",
    "Qz1says": "Says",
    "Qz2done": "Goodbye",
    "Bq7begin": "Begin",
    "Eq8end": "Finish",
    "Gq1begin": "First",
    "Gq2end": "Last",
}
"""The samples are single words like the sentinels, so that a template that splits or compares them does the same."""

NUMBER = r"(?:Uq1|Tq2|Rq3|Aq4|Vq5|Wq5|Sq6)\d"
"""The number of a message in an example conversation: `Wq51 Riverside`."""

_SENTINEL = re.compile("|".join([*map(re.escape, sorted(SAMPLES, key=len, reverse=True)), NUMBER]))
_LONGEST = max(map(len, SAMPLES))
_QUOTED_SAMPLE = re.compile(rf"""(['"])(?:{"|".join(map(re.escape, SAMPLES.values()))})\1""")


def has_sample_words(source: str) -> bool:
    """Return whether a template has a sample word as a string, so that it may treat that word differently."""
    return _QUOTED_SAMPLE.search(source) is not None


def uncut(text: str, begin: int, end: int) -> tuple[int, int]:
    """Return the range, extended so that it neither begins nor ends within a sentinel."""
    for found in _SENTINEL.finditer(text, max(0, begin - _LONGEST), begin + _LONGEST):
        if found.start() < begin < found.end():
            begin = found.start()
    for found in _SENTINEL.finditer(text, max(0, end - _LONGEST), end + _LONGEST):
        if found.start() < end < found.end():
            end = found.end()
    return begin, end
