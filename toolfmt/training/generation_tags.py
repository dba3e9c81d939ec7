"""Check and place `{% generation %}` tags, which mark what the model writes, in the source of a chat template.

transformers returns a mask of the text between the tags (`return_assistant_tokens_mask`), and TRL trains only this text
(`assistant_only_loss`). `marked_spans` returns what the tags of a template mark. `with_tags` places tags so that they
mark given spans: it inserts a mark at every point of the source where a tag is possible, renders the conversations, and
chooses pairs of points whose marks are exactly at the ends of the spans. If there is no such pair, it captures the text
between two points and slices it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeAlias

from toolfmt.errors import LimitHit, TemplateError
from toolfmt.inspect.checks.editing.source import Edit, as_newlines, edited, with_line_ends_of
from toolfmt.training.tag_points import Point, points_of

Spans: TypeAlias = Sequence[tuple[int, int]]
"""The begin and end of each response in a rendered conversation, in order."""
Rendering: TypeAlias = Callable[[str], Sequence[str]]
"""Renders a list of conversations with the source of a template. Raises `TemplateError`."""
Offsets: TypeAlias = Mapping[int, Sequence[int]]
"""Where the mark of each point is in a rendered conversation, once for each time that it was rendered."""

_TAG = re.compile(r"\{%([-+]?)\s*(end)?generation\s*([-+]?)%\}")
_MARK = re.compile("\ue000([0-9]+)\ue001")


def has_tags(source: str) -> bool:
    """Return whether the source has the tags."""
    return _TAG.search(source) is not None


def without_tags(source: str) -> str:
    """Return the source with each tag replaced by one without effect, so that whitespace does not change."""
    return _TAG.sub(lambda tag: f"{{%{tag[1]} {'endif' if tag[2] else 'if true'} {tag[3]}%}}", source)


def marked_spans(source: str, render: Rendering) -> list[list[tuple[int, int]]]:
    """Return what the tags of a template mark in each conversation, without empty spans. Raises `TemplateError`."""

    def marked(tag: re.Match[str]) -> str:
        if tag[2]:
            return f"{{%{tag[1]} if true %}}{_mark(1)}{{% endif %}}{{% endif {tag[3]}%}}"
        return f"{{%{tag[1]} if true %}}{{% if true %}}{_mark(0)}{{% endif {tag[3]}%}}"

    found = []
    for text in render(_TAG.sub(marked, source)):
        _, offsets = _without_marks(text)
        pairs = zip(offsets.get(0, []), offsets.get(1, []), strict=False)
        found.append([(begin, end) for begin, end in pairs if begin < end])
    return found


def with_tags(source: str, spans: Sequence[Spans], others: Sequence[Spans], render: Rendering) -> str | None:
    """Return the source with tags that mark exactly these spans of the conversations. None if there are no such tags.

    The text that the template renders does not change. `others` are the spans of texts that are not the template's own.
    The source must have no tags.
    """
    body = as_newlines(source)
    if body is None:
        return None
    texts = list(render(body))
    points = points_of(body)
    for chosen in (points, [point for point in points if not point.captured]):
        if (offsets := _offsets(body, chosen, texts, render)) is not None:
            break
    else:
        return None
    changed = edited(body, [pair.edit(body) for pair in _pairs(chosen, offsets, spans, others, texts)])
    try:
        holds = list(render(changed)) == texts and marked_spans(changed, render) == [list(of) for of in spans]
    except LimitHit:
        raise
    except TemplateError:
        return None
    return with_line_ends_of(source, changed) if holds else None


def _mark(number: int) -> str:
    return f"{{{{ '\ue000{number}\ue001' }}}}"


def _without_marks(text: str) -> tuple[str, dict[int, list[int]]]:
    """Return the text without marks, and the offsets of each mark in it."""
    parts, offsets, length, at = [], dict[int, list[int]](), 0, 0
    for mark in _MARK.finditer(text):
        parts.append(text[at : mark.start()])
        length, at = length + mark.start() - at, mark.end()
        offsets.setdefault(int(mark[1]), []).append(length)
    return "".join([*parts, text[at:]]), offsets


def _offsets(source: str, points: Sequence[Point], texts: Sequence[str], render: Rendering) -> list[Offsets] | None:
    """Return the offsets of marks at all points in each conversation, or None if the marks change the text."""
    marks = (
        Edit(point.start, point.end, point.tag(f"if true %}}{_mark(number)}{{% endif"))
        for number, point in enumerate(points)
    )
    try:
        found = [_without_marks(text) for text in render(edited(source, marks))]
    except LimitHit:
        raise
    except TemplateError:
        return None
    return [offsets for _, offsets in found] if [text for text, _ in found] == texts else None


@dataclass(frozen=True)
class _Pair:
    """Two points with responses between them.

    If other messages are also between them, `variable` is the variable of the loop over the messages, otherwise empty.
    `before` and `after` are the texts between the points and the response, the longest first.
    """

    begin: Point
    end: Point
    covered: frozenset[tuple[int, int]]
    variable: str
    before: tuple[str, ...]
    after: tuple[str, ...]

    @property
    def captures(self) -> bool:
        """Whether the text between the points is captured and sliced."""
        return self.before != ("",) or self.after != ("",)

    @property
    def rank(self) -> tuple[bool, int, int, int, int, int]:
        """The pair with the highest rank is best: it covers most with the smallest change."""
        splits = bool(self.begin.left) + bool(self.end.left)
        cuts = len(self.before) + len(self.after) if self.captures else 0
        return not self.variable, len(self.covered), -cuts, -splits, self.begin.start, -self.end.start

    def edit(self, source: str) -> Edit:
        """Return the edit that adds tags to the source between the points."""
        inner = source[self.begin.end : self.end.start]
        first, then, last = self._captured(_free_name(source)) if self.captures else ("generation", "endgeneration", "")
        if self.variable:
            test = f"if {self.variable}['role'] == 'assistant' %}}{{% {first}"
            ended = f"{self.end.left}{self.end.begins} {then} %}}{last}"
            text = f"{self.begin.tag(test)}{inner}{ended}{{% else %}}{self.begin.right}{inner}{self.end.tag('endif')}"
        elif last:
            text = f"{self.begin.tag(first)}{inner}{self.end.begins} {then} %}}{last}"
        else:
            text = f"{self.begin.tag(first)}{inner}{self.end.tag(then)}"
        return Edit(self.begin.start, self.end.end, text)

    def _captured(self, name: str) -> tuple[str, str, str]:
        """Return the tags before and after the text, and what prints it."""
        whole, begin, end = f"{name} | length", f"{name}_begin", f"{name}_end"
        sets = head = cut = ""
        tail = "{{ '' }}"  # an expression keeps the line break after it
        if self.before != ("",):
            sets = f"{{% set {begin} = {_length(name, self.before, last=False)} %}}"
            head, cut = f"{{{{ {name}[:{begin}] }}}}", begin
        if self.after != ("",):
            last = f"{whole} - ({_length(name, self.after, last=True)})"
            last = f"[{begin}, {last}] | max" if head else last
            sets += f"{{% set {end} = {last} %}}"
            cut, tail = f"{cut}:{end}", f"{{{{ {name}[{end}:] }}}}"
        else:
            cut += ":"
        body = f"{{% generation %}}{{{{ {name}[{cut}] }}}}{{% endgeneration %}}"
        return f"set {name}", "endset", f"{sets}{head}{body}{tail}"


def _length(name: str, variants: Sequence[str], *, last: bool) -> str:
    """Return an expression for the length of the first variant that the text begins with, or ends with if `last`.

    For a text without any of them it is the length of the text, so that nothing is marked.
    """
    cuts = ((one, f"-{len(one)}:" if last else f":{len(one)}") for one in variants if one)
    tests = (f"{len(one)} if {name}[{cut}] == {json.dumps(one, ensure_ascii=False)} else " for one, cut in cuts)
    return "".join(tests) + (f"{name} | length" if variants[-1] else "0")


def _free_name(source: str) -> str:
    """Return a name for the captured text that the template does not use."""
    name = "response"
    while name in source:
        name += "_text"
    return name


def _pairs(
    points: Sequence[Point],
    offsets: Sequence[Offsets],
    spans: Sequence[Spans],
    others: Sequence[Spans],
    texts: Sequence[str],
) -> Iterator[_Pair]:
    """Yield the best pairs. No two cover the same response."""
    borders = [{offset for span in of for offset in span} for of in spans]
    by_path: dict[object, list[int]] = {}
    for number, point in enumerate(points):
        is_border = (not at.isdisjoint(of.get(number, ())) for at, of in zip(borders, offsets, strict=True))
        if not point.is_inside or any(is_border):
            by_path.setdefault(point.path, []).append(number)
    found = (
        _pair(points[begin], points[end], _between(begin, end, offsets), spans, others, texts)
        for numbers in by_path.values()
        for begin, end in combinations(numbers, 2)
    )
    covered: set[tuple[int, int]] = set()
    for pair in sorted(filter(None, found), key=lambda one: one.rank, reverse=True):
        if covered.isdisjoint(pair.covered):
            covered |= pair.covered
            yield pair


def _between(begin: int, end: int, offsets: Sequence[Offsets]) -> list[list[tuple[int, int]]] | None:
    """Return the spans between the marks of two points in each conversation. None if one point has more marks."""
    found = []
    for of in offsets:
        firsts, lasts = of.get(begin, ()), of.get(end, ())
        if len(firsts) != len(lasts):
            return None
        found.append(list(zip(firsts, lasts, strict=True)))
    return found


def _pair(
    begin: Point,
    end: Point,
    between: list[list[tuple[int, int]]] | None,
    spans: Sequence[Spans],
    others: Sequence[Spans],
    texts: Sequence[str],
) -> _Pair | None:
    """Return the pair if each text between the points is a response with the template's texts around it, or another
    message.
    """
    if between is None:
        return None
    covered, around, has_others = set(), list[tuple[str, str, str]](), False
    for number, (found, responses, text) in enumerate(zip(between, spans, texts, strict=True)):
        for first, last in found:
            inside = [at for at, (start, stop) in enumerate(responses) if start < last and first < stop]
            if not inside:
                has_others = has_others or first != last
                continue
            start, stop = responses[inside[0]]
            if len(inside) > 1 or first > start or last < stop:
                return None
            if any(begins < last and first < ends and not start <= begins < stop for begins, ends in others[number]):
                return None
            covered.add((number, inside[0]))
            around.append((text[first:start], text[first:last], text[stop:last]))
    variable = begin.variables[-1] if has_others and begin.variables else ""
    if not covered or (has_others and not variable):
        return None
    before, after = (_longest_first(one[place] for one in around) for place in (0, 2))
    pair = _Pair(begin, end, frozenset(covered), variable, before, after)
    if pair.captures and (begin.left or end.left or not _can_cut(around, before, after)):
        return None
    return pair


def _longest_first(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(texts), key=lambda text: (-len(text), text)))


def _can_cut(around: Sequence[tuple[str, str, str]], before: Sequence[str], after: Sequence[str]) -> bool:
    """Return whether the first variant that a text begins with, and the first that it ends with, are always right."""
    return all(
        next((one for one in before[:-1] if whole.startswith(one)), before[-1]) == first
        and next((one for one in after[:-1] if whole.endswith(one)), after[-1]) == last
        for first, whole, last in around
    )
