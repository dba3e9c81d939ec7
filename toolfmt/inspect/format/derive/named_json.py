"""A name, then its arguments as JSON: start marker, id, separator, code fence and end marker."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from toolfmt.formats.engines.call_headers import INDEXED, NAME_ONLY, Identity, IdThenName, NameThenId
from toolfmt.formats.engines.engine import NameAtStart
from toolfmt.formats.engines.named_json import NamedJson
from toolfmt.formats.parser.prompt_prefix import answer_prefix
from toolfmt.formats.values.json_style import JsonStyle
from toolfmt.inspect.format.derive.engine_drafts import PLAIN_ID, EngineCandidate, made
from toolfmt.inspect.format.derive.frames import Frames, frames
from toolfmt.inspect.format.derive.reasons import NotDerivable
from toolfmt.inspect.format.derive.rendered_calls import NAMES, Rendered, RenderedCalls
from toolfmt.inspect.format.derive.surroundings import Surroundings
from toolfmt.inspect.format.derive.text_cuts import (
    common_end,
    common_start,
    markers,
    trailing_whitespace,
)
from toolfmt.inspect.format.derive.turn_ends import turn_ends
from toolfmt.inspect.format.derive.value_paths import find_object

_FENCE = re.compile(r"\s*```")
_FAR_BEFORE, _FAR_AFTER = 80, 120
"""The maximum distance between the name of a call and its id."""
_TAIL = 400
_INDEX_LEAD = "functions."
_OTHER_INDEX = f"an id contains the name of a call, and {_INDEX_LEAD!r} does not precede it"
_ID_FORM = "call{number:05d}"


@dataclass(frozen=True)
class _Header:
    """The location and form of name and id of a call, and the text between them."""

    begin: int
    end: int
    form: Literal["name", "indexed", "id first", "id after"]
    marker: str = ""


@dataclass(frozen=True)
class _Parts:
    """The text before the first call, between name and arguments, around those, after them, and between two calls."""

    before: str
    separator: str
    fence: tuple[str, str]
    after: str
    between: str | None
    header: _Header


def name_then_json(rendered: Rendered, around: Surroundings) -> Iterator[EngineCandidate]:
    """Yield candidates. Raise `NotDerivable` if no JSON follows a name, or if nothing marks the start of a call."""
    parts = _parts(rendered)
    before = around.lead(parts.before, _before_with_text(rendered))
    shape, prompted = _around_each(rendered, parts, before)
    each = shape.each.strip() or before.strip()
    at_start: NameAtStart = "usual" if prompted or not each else "never"
    closes, outer_closes = markers(shape.each_close), markers(shape.outer_close)
    if parts.between is None:
        closes, outer_closes = closes[:1], closes[1:] + outer_closes
        closes = [] if closes and closes[0] in turn_ends(rendered) else closes
    outer = shape.outer.strip()
    identity, between = _identity(parts.header), shape.apart
    prefix = answer_prefix(rendered.question[-_TAIL:], headers=around.headers).strip()
    if prompted and prefix and each.endswith(prefix):
        each, between = prefix, between + each.removesuffix(prefix)
    for call_opener, lead in _openers(each, shape.each, divided=not prompted):
        engine = made(
            NamedJson,
            opener=outer,
            closer=outer_closes[0] if outer and outer_closes else "",
            call_opener=call_opener,
            lead=lead,
            separator=_separator(parts.separator),
            fence=parts.fence,
            identity=identity,
            call_closer=shape.each_close.strip() if parts.between is not None else "".join(closes),
            name_at_start=at_start,
            between=between,
            style=_style(rendered),
        )
        further = tuple(outer_closes[1:] if outer else outer_closes)
        yield EngineCandidate("name, then JSON", engine, further, _id_form(parts.header))


def _openers(each: str, whole: str, *, divided: bool) -> list[tuple[str, str]]:
    """Return start marker and lead of a call: all of it as one, or its first marker separately."""
    marks = markers(each)
    ways = [(each, "")]
    if divided and len(marks) > 1 and re.fullmatch(r"[<\[].*[>\]]", marks[0], re.S):
        ways.insert(0, (marks[0], (each[len(marks[0]) :] + trailing_whitespace(whole)).lstrip()))
    return ways


def _style(rendered: Rendered) -> JsonStyle:
    """Return the formatting of the arguments, if possible of two, which show the separator."""
    seen = rendered.two_arguments or rendered.one
    found = find_object(seen.text, seen.calls[0][1])
    try:
        return JsonStyle.of(seen.text[found.begin : found.end], seen.calls[0][1]) if found else JsonStyle()
    except ValueError:
        return JsonStyle()


def _id_form(header: _Header) -> str:
    if header.form == "indexed":
        return "functions.{name}:{number}"
    return PLAIN_ID if header.form == "name" else _ID_FORM


def _parts(rendered: Rendered) -> _Parts:
    one = rendered.one
    (header,) = _headers(one)
    body = find_object(one.text, one.calls[0][1], header.end)
    if body is None:
        raise NotDerivable("no JSON object of arguments follows the name")
    head, after, fence = one.text[header.end : body.begin], one.text[body.end :], ("", "")
    if "```" in head:
        at, closing = head.find("```"), _FENCE.match(after)
        fence = (head[at:], closing[0] if closing else "")
        head, after = head[:at], after[len(fence[1]) :]
    if header.form == "name" and one.ids and one.ids[0] in after[:_FAR_AFTER]:
        raise NotDerivable("an id follows the arguments of a call", near=2)
    return _Parts(one.text[: header.begin], head, fence, after, _between(rendered, fence[1]), header)


def _between(rendered: Rendered, fence: str) -> str | None:
    """Return the text between two calls, after the code fence around the first one's arguments."""
    two = rendered.two
    if two is None:
        return None
    first, second = _headers(two)
    body = find_object(two.text, two.calls[0][1], first.end)
    if body is None or body.end > second.begin:
        raise NotDerivable("the arguments of two calls are written differently than those of one", near=2)
    return two.text[body.end : second.begin].removeprefix(fence)


def _headers(seen: RenderedCalls) -> list[_Header]:
    found: list[_Header] = []
    for at, (name, _) in enumerate(seen.calls):
        found.append(_header(seen, name, at, found[-1].end if found else 0))
    return found


def _header(seen: RenderedCalls, name: str, number: int, begin: int) -> _Header:
    """Return the location of the name from `begin` on, and whether the id contains it, precedes it or follows it."""
    text = seen.text
    id = seen.ids[number] if seen.ids and seen.ids[number] in text else ""
    if id and name in id and name not in text.replace(id, ""):
        if not id.startswith(_INDEX_LEAD):
            raise NotDerivable(_OTHER_INDEX, near=2)
        spot = text.find(id, begin)
        return _Header(spot, spot + len(id), "indexed")
    spot = text.find(name, begin)
    if spot < 0:
        raise NotDerivable("the name of a call does not precede its arguments")
    end = spot + len(name)
    if text.startswith(f":{number}", end):
        if not text[:spot].endswith(_INDEX_LEAD):
            raise NotDerivable(_OTHER_INDEX, near=2)
        return _Header(spot - len(_INDEX_LEAD), end + len(f":{number}"), "indexed")
    at = text.find(id, begin) if id else -1
    if 0 <= at < spot and spot - at < _FAR_BEFORE:
        return _Header(at, end, "id first", text[at + len(id) : spot])
    body = find_object(text, seen.calls[number][1], end)
    if spot < at < spot + _FAR_AFTER and (body is None or at < body.begin):
        return _Header(spot, at + len(id), "id after", text[end:at])
    return _Header(spot, end, "name")


def _before_with_text(rendered: Rendered) -> str | None:
    with_text = rendered.with_text
    if with_text is None or NAMES[0] not in with_text.text:
        return None
    return with_text.text[: _headers(with_text)[0].begin]


def _around_each(rendered: Rendered, parts: _Parts, before: str) -> tuple[Frames, bool]:
    """Return the frames, and whether the prompt contains the start marker of the first call, or a part of it."""
    shape = frames(before, parts.after, parts.between)
    if parts.between is None:
        return shape, False
    written = parts.before if parts.before.strip() else (rendered.question or rendered.one.before) + parts.before
    prompted = common_end(written, parts.between)
    question = rendered.question
    if prompted.strip() and (not shape.each or question.rstrip().endswith(prompted.strip())):
        return Frames("", parts.after, prompted, common_start(parts.after, parts.between), ""), True
    if not shape.each:
        raise NotDerivable("no common text precedes every call", near=1)
    return shape, False


def _identity(header: _Header) -> Identity:
    if header.form == "name":
        return NAME_ONLY
    if header.form == "indexed":
        return INDEXED
    if not header.marker.strip():
        raise NotDerivable("no marker separates a call's name from its id", near=2)
    if header.form == "id first":
        return made(IdThenName, header.marker, _ID_FORM)
    return made(NameThenId, header.marker, _ID_FORM)


def _separator(head: str) -> str:
    if head.strip():
        return head.strip()
    if not head:
        raise NotDerivable("there is nothing between the name and its arguments", near=1)
    return "\n" if "\n" in head else head
