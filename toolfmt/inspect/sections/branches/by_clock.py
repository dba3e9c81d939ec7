"""What the day or the hour changes in a prompt, except the printed time itself."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from toolfmt.inspect.report.report import Branch
from toolfmt.inspect.sections.branches import effects
from toolfmt.inspect.sections.branches.branch_renders import BranchRender, Taking
from toolfmt.inspect.sections.branches.conversations import talk
from toolfmt.inspect.sections.branches.effects import BranchEffect
from toolfmt.templates import FROZEN_NOW
from toolfmt.templates.analysis.conditions import Condition

_WEEK = [datetime(2025, 1, day, 12) for day in range(6, 13)]
_MONTHS = [datetime(2025, month, day, 12) for month in range(1, 13) for day in (1, 28)]
_HOURS = [datetime(2025, 1, 1, hour, 59) for hour in (0, 5, 9, 17, 23)]
_FAR = [datetime(*day) for day in ((1999, 12, 31), (2024, 2, 29), (2027, 7, 1), (2032, 3, 3), (2100, 12, 31))]
_MOST_SOUGHT = 100
_YEARS = range(1970, 2101)
_NUMBER = re.compile(r"\d+")
_DAY = timedelta(days=1)


def by_clock(taking: Taking) -> Iterator[Branch]:
    """Yield the conditions with another outcome at another time, if the prompt changes beyond the date.

    Each line is yielded once.
    """
    template = taking.renders.template
    if not template.uses_clock:
        return
    formats, reported = template.clock_formats, set[int | None]()
    clock_conditions = [one for one in taking.watch.conditions if "strftime_now" in one.calls]
    sought = _sought(clock_conditions, formats)
    for position, (kind, control) in enumerate(taking.usual.items()):
        for now in [*_WEEK, *_MONTHS, *_HOURS, *_FAR, *(sought if position == 0 else ())]:
            made = taking.make(talk(taking.manner, kind), now)
            differing = taking.differing(control, made)
            first = next((one for one in differing if one in clock_conditions), next(iter(differing), None))
            effect = None if first is None else _effect(control, made, now, formats)
            line = made.raised_at or (None if first is None else first.line)
            if effect is not None and line not in reported:
                reported.add(line)
                yield Branch("clock", line, _compared(now), "", effect.words, effect.excerpts)


def _compared(now: datetime) -> str:
    """Return the time that makes a difference and the time it is compared with."""
    return f"{now:%A}, {now.year}-{now:%m-%d %H:%M}, compared with {FROZEN_NOW.year}-{FROZEN_NOW:%m-%d %H:%M}"


def _effect(control: BranchRender, made: BranchRender, now: datetime, formats: Sequence[str]) -> BranchEffect | None:
    """Return the difference between the prompts, ignoring dates and numbers."""
    prompts = ((control.text, FROZEN_NOW), (made.text, now))
    return effects.of_whole(control.text, made.prompt, lambda which: _undated(*prompts[which], formats))


def _undated(prompt: str, now: datetime, formats: Sequence[str]) -> str:
    """Return the prompt without any text that the clock may have printed, including numbers."""
    shown = {now.strftime(format) for format in (*formats, "%A", "%B", "%a", "%b", "%p")}
    for text in sorted(filter(None, shown), key=len, reverse=True):
        prompt = prompt.replace(text, "#")
    return _NUMBER.sub("#", prompt)


def _sought(conditions: Sequence[Condition], formats: Sequence[str]) -> list[datetime]:
    """Return the times that the constants of these conditions may refer to, and adjacent times.

    Whole dates and years come first.
    """
    dates: dict[datetime, None] = {}
    numbers: dict[int, None] = {}
    for condition in conditions:
        for text in condition.texts:
            written = [int(number) for number in _NUMBER.findall(text)[:3]]
            found = [*_date(written), *(day for format in formats if (day := _read(text, format)) is not None)]
            dates |= {
                day + offset: None for day in found if day.year in _YEARS for offset in (timedelta(), _DAY, -_DAY)
            }
            numbers |= dict.fromkeys(written)
        numbers |= dict.fromkeys(condition.numbers)
    adjacent = list(dict.fromkeys(number + step for number in numbers for step in (0, 1, -1)))
    years = [FROZEN_NOW.replace(year=number) for number in adjacent if number in _YEARS]
    parts = [time for number in adjacent if number not in _YEARS for time in _of_number(number)]
    return list(dict.fromkeys([*years, *dates, *parts]))[:_MOST_SOUGHT]


def _read(text: str, format: str) -> datetime | None:
    try:
        read = datetime.strptime(text, format)
    except (ValueError, re.error):
        return None
    return read.replace(year=FROZEN_NOW.year) if read.year == 1900 else read


def _date(numbers: Sequence[int]) -> list[datetime]:
    """Return the day for three numbers, the year first."""
    try:
        return [datetime(numbers[0], numbers[1], numbers[2])] if len(numbers) == 3 else []
    except (ValueError, OverflowError):
        return []


def _of_number(number: int) -> Iterator[datetime]:
    """Yield the times in which a number is the day, the hour, the month or the minute."""
    for part in ("day", "hour", "month", "minute"):
        try:
            yield FROZEN_NOW.replace(**{part: number})  # type: ignore[arg-type] # which part is only known here
        except (ValueError, OverflowError):
            continue
