"""A comparison of two models as text, from data. `toolfmt.cli.commands` calls it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from toolfmt._util.text_lists import listed, listed_first
from toolfmt.cli.printing.control_characters import LONGEST, shortened, visible
from toolfmt.cli.printing.layout import grid, printed, spaced
from toolfmt.cli.printing.severities import ignorer
from toolfmt.inspect.comparison import Comparison, Differences, PromptChange, ReportChange
from toolfmt.inspect.probe.differences import common_prefix
from toolfmt.inspect.report.report import Finding
from toolfmt.templates import cached_name

_LONGEST_VALUE = 100
_NO_ADVICE = "not in this report"
_LONGEST_MESSAGE = 180
_ONE_LINE = 70
_LONGEST_EXCERPT = 72
_LONGEST_COMMON = 32
"""Characters of the common beginning of two texts that are shown before the difference."""
_FIRST_WORDS = 40
"""Characters of the beginning that are shown before that: a sentence names its subject there."""
_LONGEST_NAMES = 3
"""Maximum number of named conversations that differ in the same way."""


def comparison_text(comparison: Comparison, width: int, colour: bool) -> str:
    """Return the differences: capabilities, new and gone findings, the first difference of the prompts, and
    settings.
    """
    parts: list[Text | Table | Group] = [_title(comparison), *_group(comparison.behavior)]
    if comparison.prompts:
        parts.append(_prompts(comparison))
    if comparison.settings:
        parts.append(Text("settings (not behavior; they do not count as differences)", "bold"))
        parts += _group(comparison.settings)
    parts.append(Text(_summary(comparison)))
    return printed(spaced(parts), width, colour)


def _title(comparison: Comparison) -> Text:
    a, b = (visible(cached_name(path) or path) for path in (comparison.a, comparison.b))
    return Text("- ", "red").append(a, "bold").append("\n+ ", "green").append(b, "bold")


def _group(differences: Differences) -> list[Table | Group]:
    parts: list[Table | Group] = []
    if differences.changes:
        parts.append(_changes(differences.changes))
    if differences.removed or differences.added:
        parts.append(_findings(differences))
    return parts


def _summary(comparison: Comparison) -> str:
    """Return the last line: whether the behavior is the same, and how much differs."""
    noun = "value" if comparison.differs else "setting"
    settings = _counted(comparison.settings, noun) if comparison.settings else ""
    left_out, ignored = _left_out(comparison.left_out), _ignored(comparison.ignored)
    if not comparison.differs:
        sentence = (
            "No differences in the selected findings."
            if left_out and not settings
            else _same_sentence(comparison.same_text, settings)
        )
        return f"{sentence}{ignored}{left_out}"
    number = len(comparison.prompts)
    prompts = f"{number} of {number + len(comparison.same_prompts)} prompts differ"
    text = "The templates are the same text; other files make the difference: " if comparison.same_text else ""
    # With --select, the results may not be compared at all.
    counted = "" if left_out and not _group(comparison.behavior) else f"{_counted(comparison.behavior)}; "
    behavior = f"{counted}{prompts}."
    whole = f"Behavior: {behavior} Settings: {settings}." if settings else behavior
    return f"{text}{whole}{ignored}{left_out}"


def _ignored(findings: Iterable[Finding]) -> str:
    """Return a sentence for the ignored findings that only one of the models has, after a space; empty if none."""
    named = dict.fromkeys(f"{one.code} ({ignorer(one)}: {one.reason or 'no reason given'})" for one in findings)
    return f" Not counted, because ignored: {visible(', '.join(named))}." if named else ""


def _left_out(number: int) -> str:
    """Return a sentence for the differences that --select or --ignore excludes, after a space; empty if none."""
    other = "other difference is" if number == 1 else "other differences are"
    return f" {number} {other} excluded by --select or --ignore." if number else ""


def _same_sentence(same_text: bool | None, settings: str) -> str:
    if same_text and settings:
        return f"The template is the same; {settings}."
    if same_text:
        return "The templates have the same text and the same behavior."
    behave = "They behave the same" if same_text is None else "The texts differ, but the behavior is the same"
    return f"{'; '.join(filter(None, [behave, settings]))}."


def _counted(differences: Differences, noun: str = "result") -> str:
    number = len(differences.changes)
    answers = f"{number} {noun} differs" if number == 1 else f"{number} {noun}s differ"
    went = len(differences.removed)
    return f"{answers}, {went} {'finding' if went == 1 else 'findings'} removed, {len(differences.added)} added"


def _changes(changes: Iterable[ReportChange]) -> Group:
    """Return one line per change if both sides are short, else a line for each side."""
    parts: list[Text | Table] = []
    for change in changes:
        # A runtime that a report does not list: `none` would mean that it has no parser.
        missing = _NO_ADVICE if change.what.startswith("runtimes.") else None
        a, b = _sides(*(missing if side is None else side for side in (change.a, change.b)))
        name = Text("  " + visible(change.what))
        if len(name.plain) + len(a) + len(b) <= _ONE_LINE:
            parts.append(name.append(f": {a} → {b}"))
        else:
            parts += [name, _signed((("-", "red", a), ("+", "green", b)))]
    return Group(*parts)


def _signed(lines: Iterable[tuple[str, str, str]]) -> Table:
    """Return lines with a styled prefix character each. Wrapped text is indented to it."""
    table = Table.grid(padding=(0, 1, 0, 0))
    table.add_column(no_wrap=True, width=len("    -"))
    table.add_column(overflow="fold")
    for sign, style, line in lines:
        table.add_row(Text(f"    {sign}", style), Text(line, "dim" if sign == " " else ""))
    return table


def _sides(a: Any, b: Any) -> tuple[str, str]:
    """Return the two values as text, cut if they are long, but never before the first difference."""
    sides = _in_words(a, b, _LONGEST_VALUE)
    if sides[0] != sides[1]:
        return sides
    return _parted(*_in_words(a, b, LONGEST), _LONGEST_VALUE, first_words=_FIRST_WORDS)


def _parted(a: str, b: str, longest: int, *, first_words: int = 0) -> tuple[str, str]:
    """Return the two texts cut. Both begin at the same offset if the difference would be cut off.

    `first_words` is the length of the beginning that is shown before that.
    """
    sides = shortened(a, longest), shortened(b, longest)
    if sides[0] != sides[1]:
        return sides
    a, b = visible(a), visible(b)
    at = common_prefix(a, b)
    first = f"{a[:first_words].rpartition(' ')[0]} " if at > first_words + _LONGEST_COMMON and first_words else ""
    one, other = (shortened(f"{first}{_end(text[:at])}{text[at:]}", longest) for text in (a, b))
    return one, other


def _end(text: str) -> str:
    """Return the last characters of the common beginning of two texts."""
    return text if len(text) <= _LONGEST_COMMON else f"…{text[1 - _LONGEST_COMMON :]}"


def _in_words(a: Any, b: Any, longest: int) -> tuple[str, str]:
    """Return both values with long texts cut. Lists and objects show only the difference, except for answers."""
    if isinstance(a, list) and isinstance(b, list):
        gone, new = [item for item in a if item not in b], [item for item in b if item not in a]
        a, b = (gone, new) if gone or new else (a, b)
    if isinstance(a, dict) and isinstance(b, dict) and "answer" not in a:
        keys = [key for key in a if a[key] != b.get(key)]
        return _members(a, keys, longest), _members(b, keys, longest)
    return _value_text(a, longest), _value_text(b, longest)


def _members(value: dict[str, Any], keys: Iterable[str], longest: int) -> str:
    if "answer" in value:
        return f"{value['answer']}: {_value_text(value['evidence'], longest)}"
    return ", ".join(f"{key} {_value_text(value[key], longest)}" for key in keys)


def _value_text(value: Any, longest: int) -> str:
    match value:
        case None | []:
            return "none"
        case True | False:
            return "yes" if value else "no"
        case str():
            return shortened(value, longest) or "nothing"
        case list() if all(isinstance(item, str) for item in value):
            return shortened(", ".join(value), longest)
        case dict():
            return _members(value, value, longest)
        case _:
            return shortened(json.dumps(value, ensure_ascii=False), longest)


def _findings(differences: Differences) -> Table:
    table = grid()
    for sign, style, findings in (("-", "red", differences.removed), ("+", "green", differences.added)):
        for finding in findings:
            table.add_row(Text(f"  {sign} {finding.code}", style), Text(_finding(finding)))
    return table


def _finding(finding: Finding) -> str:
    return f"{finding.severity}: {shortened(finding.message, _LONGEST_MESSAGE)}"


def _prompts(comparison: Comparison) -> Group:
    """Return the first difference of the prompts, once for all conversations that differ in the same way."""
    grouped: dict[tuple[tuple[str, str, str], ...], list[PromptChange]] = {}
    for change in comparison.prompts:
        grouped.setdefault(tuple(_sides_of(change)), []).append(change)
    parts: list[Text | Table] = []
    for sides, changes in grouped.items():
        parts.append(Text(f"  {_named([change.conversation for change in changes])}", "bold"))
        parts.append(_signed((*_context(changes[0]), *sides)))
    return Group(*parts)


def _named(names: list[str]) -> str:
    more = len(names) - _LONGEST_NAMES
    kind = "test conversation" if len(names) == 1 else "test conversations"
    quoted = [f'"{name}"' for name in names]
    return f"{kind}: {listed_first(quoted, _LONGEST_NAMES) if more > 0 else listed(quoted)}"


def _context(change: PromptChange) -> Iterator[tuple[str, str, str]]:
    """Yield the line before the first difference."""
    before = change.before.rpartition("\n")[0].rpartition("\n")[2]
    if before.strip():
        yield " ", "", shortened(before, _LONGEST_EXCERPT)


def _sides_of(change: PromptChange) -> Iterator[tuple[str, str, str]]:
    """Yield the first different line of both, as in a unified diff."""
    line_start = _end(change.before.rpartition("\n")[2])
    threw = (change.a_threw, change.b_threw)
    texts = [
        text if thrown else line_start + "".join(text.partition("\n")[:2])
        for text, thrown in zip((change.a, change.b), threw, strict=True)
    ]
    sides = _parted(texts[0], texts[1], _LONGEST_EXCERPT)
    for sign, style, side, thrown in zip("-+", ("red", "green"), sides, threw, strict=True):
        yield sign, style, f"throws: {side}" if thrown else side or "(ends here)"
