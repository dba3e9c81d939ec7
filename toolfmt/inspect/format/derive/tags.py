"""Arguments between tags: a name, then keys and raw values, each with start and end markers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from toolfmt.formats.engines.tag_attributes import PLAIN, QUOTED, Attributes, Header
from toolfmt.formats.engines.tagged import Tagged
from toolfmt.formats.values.value_writers import TextBesideType, TextByType, TextInMarks, TextWriter
from toolfmt.inspect.format.derive.engine_drafts import EngineCandidate, made
from toolfmt.inspect.format.derive.frames import Frames, frames
from toolfmt.inspect.format.derive.raw_parts import RawParts, raw_parts
from toolfmt.inspect.format.derive.reasons import NotDerivable
from toolfmt.inspect.format.derive.rendered_calls import HARD, KEYS, NAMES, VALUES, Rendered
from toolfmt.inspect.format.derive.surroundings import Surroundings
from toolfmt.inspect.format.derive.text_cuts import (
    chunks,
    common_end,
    common_start,
    cut,
    leading_whitespace,
    markers,
    trailing_whitespace,
)

_TYPE = re.compile(r'\s*\b(\w{1,40})="(\w{1,40})"')
_ATTRIBUTES = re.compile(r'(?:\s*\w{1,40}="[^"]{0,80}")+')
_ATTRIBUTE = re.compile(r'(\w{1,40})="([^"]{0,80})"')
_DIGITS = 9
_QUOTES = ("'", '"')
_KEY_CLOSER = re.compile(r"[^<>]*>>?|[^<\s]+")
_TWO_TAGS = re.compile(r"(<[^<>]*>)\s*(.+)\Z", re.S)


@dataclass(frozen=True)
class _Tags:
    """The tags of a call, without its frame."""

    key_opener: str
    key_closer: str
    key_header: Header
    value_opener: str
    value_closer: str
    name_closer: str
    name_header: Header
    between: str
    cdata: tuple[str, str] | tuple[()]
    newlines: tuple[str, ...]
    """Optional text between a value and its tags that belongs to neither, the more likely first."""


@dataclass(frozen=True)
class _Frame:
    """The frame of calls; `ignored` are markers that have no meaning then."""

    opener: str = ""
    closer: str = ""
    name_opener: str = ""
    call_closer: str = ""
    between_calls: str = ""
    enclosing: tuple[str, str] | tuple[()] = ()
    skipped: tuple[str, ...] = ()
    before_name: str = ""
    after_call: str = ""
    ignored: tuple[str, ...] = ()


def tags(rendered: Rendered, around: Surroundings) -> Iterator[EngineCandidate]:
    """Yield drafts. Raise `NotDerivable` if keys or values have no tags of their own, or a call has no frame."""
    parts = raw_parts(rendered)
    own = _tags(rendered, parts)
    between = _after_value(parts.between, own.value_closer) if parts.between is not None else None
    after, before = _after_value(parts.after, own.value_closer), around.lead(parts.before, parts.with_text)
    shapes = dict.fromkeys(frames(before, after, between, keep_close=keep) for keep in (False, True))
    error: NotDerivable | None = None
    some = False
    for frame in (frame for shape in shapes for frame in _framed(shape, own, several=between is not None)):
        for newline in own.newlines:
            try:
                engine = _engine(own, frame, newline)
            except NotDerivable as why:
                error = why
                continue
            some = True
            yield EngineCandidate("tags", engine, frame.ignored)
    if not some:
        raise error or NotDerivable("no markers open and close a call")


def _engine(own: _Tags, frame: _Frame, newline: str) -> Tagged:
    return made(
        Tagged,
        opener=frame.opener,
        closer=frame.closer,
        key_opener=own.key_opener,
        key_closer=own.key_closer,
        key_header=own.key_header,
        value_opener=own.value_opener,
        value_closer=own.value_closer,
        name_opener=frame.name_opener,
        name_closer=own.name_closer,
        name_header=own.name_header,
        call_closer=frame.call_closer,
        value_newline=newline,
        cdata=own.cdata,
        skipped=frame.skipped,
        between=own.between,
        between_calls=frame.between_calls,
        enclosing=frame.enclosing,
        before_name=frame.before_name,
        after_call=frame.after_call,
        write_value=TextInMarks(*own.cdata) if own.cdata else _text_writer(own.key_header),
    )


def _text_writer(header: Header) -> TextWriter:
    states = isinstance(header, Attributes) and header.type_attribute
    return TextBesideType() if states else TextByType()


# --- the tags of a call


def _tags(rendered: Rendered, parts: RawParts) -> _Tags:
    key_header, after_key = _key_header(parts)
    key_opener = _key_opener(parts)
    name_closer = parts.head[: len(parts.head) - len(key_opener)]
    whitespace = key_opener[: len(key_opener) - len(key_opener.lstrip())]
    after_value = parts.separator[: len(parts.separator) - len(key_opener.lstrip())]
    value_closer = common_start(after_value if after_value.endswith(whitespace) else "", parts.after).strip()
    if not value_closer:
        raise NotDerivable(
            "values have no quotes or end markers: a line break in a value looks like the next argument",
            near=3,
        )
    key_closer, value_opener, line = _between_key_and_value(after_key)
    name_header, name_end = _name_header(rendered, name_closer.strip())
    in_lines = "\n" in line or "\n" in leading_whitespace(parts.separator)
    return _Tags(
        key_opener=key_opener.lstrip(),
        key_closer=key_closer,
        key_header=key_header,
        value_opener=value_opener,
        value_closer=value_closer,
        name_closer=name_end,
        name_header=name_header,
        between=trailing_whitespace(after_value) if after_value.strip() else "",
        cdata=_cdata(rendered, parts),
        newlines=("\n", "") if in_lines else ("",),
    )


def _key_header(parts: RawParts) -> tuple[Header, str]:
    """Return how a key is written in its tag, and the text after it.

    A key may be quoted, and an attribute after it may specify whether its value is a string.
    """
    if parts.number_assign == parts.assign:
        quoted = parts.assign.startswith('"') and ">" in parts.assign
        return (QUOTED, parts.assign[1:]) if quoted else (PLAIN, parts.assign)
    if parts.assign.removeprefix(parts.number_assign) in _QUOTES:
        raise NotDerivable("strings are quoted and numbers are not: the values are not text between tags", near=-1)
    of_string, of_number = _TYPE.search(parts.assign), _TYPE.search(parts.number_assign)
    if not of_string or not of_number or of_string[1] != of_number[1] or not parts.assign.startswith('"'):
        raise NotDerivable(
            "the text after a key depends on the type of its value", near=-1 if ":" in parts.assign else 1
        )
    header = Attributes(type_attribute=of_string[1], string=of_string[2].lower(), other_types=(of_number[2].lower(),))
    return header, parts.assign[of_string.end() :]


def _key_opener(parts: RawParts) -> str:
    """Return the text before the first key and before the second, but not if there is no key."""
    opener = common_end(parts.head, parts.separator)
    if parts.none is not None:
        same = common_start(parts.head, parts.none)
        rest = parts.head[len(same) :]
        if same and rest.strip() and parts.separator.endswith(rest.lstrip()):
            opener = rest
    if not opener:
        raise NotDerivable("no common text precedes every key")
    return opener


def _between_key_and_value(after_key: str) -> tuple[str, str, str]:
    """Return the end marker of a key, the start marker of a value, and the whitespace before the value."""
    found = _KEY_CLOSER.match(after_key)
    closer = found[0] if found else ""
    rest = after_key[len(closer) :]
    if closer:
        return closer, rest.strip(), trailing_whitespace(rest)
    closer, opener = after_key.strip(), ""
    two = _TWO_TAGS.match(closer)
    if two:
        closer, opener = two[1], two[2]
    if not closer:
        raise NotDerivable("there is nothing between a key and its value")
    return closer, opener, trailing_whitespace(after_key)


def _name_header(rendered: Rendered, closer: str) -> tuple[Header, str]:
    """Return how the name is written in its tag, and what ends the tag, attributes that never change included."""
    if not closer.startswith('"'):
        return PLAIN, closer
    found = _ATTRIBUTES.match(closer, 1)
    written = found[0] if found else ""
    rest = closer[1 + len(written) :].strip()
    first = dict(_ATTRIBUTE.findall(written))
    if not first:
        return QUOTED, rest
    second = _second_attributes(rendered)
    counted = [name for name, value in first.items() if _counts(value, second.get(name, ""))]
    if not counted and all(second.get(name, value) == value for name, value in first.items()):
        return PLAIN, closer
    if list(first) != counted or first[counted[0]] != "1":
        raise NotDerivable("an attribute next to the name differs from call to call, and does not count them from 1")
    return made(Attributes, index_attribute=counted[0]), rest


def _second_attributes(rendered: Rendered) -> dict[str, str]:
    """Return the attributes next to the name of the second of two calls."""
    text = rendered.two.text if rendered.two is not None else ""
    _, found, after = text.partition(NAMES[1] + '"')
    attributes = _ATTRIBUTES.match(after) if found else None
    return dict(_ATTRIBUTE.findall(attributes[0])) if attributes else {}


def _counts(first: str, second: str) -> bool:
    return first.isdecimal() and second.isdecimal() and len(second) < _DIGITS and int(second) == int(first) + 1


def _cdata(rendered: Rendered, parts: RawParts) -> tuple[str, str] | tuple[()]:
    """Return the markers around a value that could be mistaken for tags."""
    hard = rendered.hard
    if hard is None or HARD not in hard.text:
        return ()
    plain, marked = cut(rendered.one.text, (NAMES[0], KEYS[0], VALUES[0])), cut(hard.text, (NAMES[0], KEYS[0], HARD))
    if len(plain) != 7 or len(marked) != 7 or not marked[4].startswith(parts.assign):
        return ()
    opener = marked[4][len(parts.assign) :]
    closer = marked[6].removesuffix(plain[6]) if marked[6].endswith(plain[6]) else ""
    return (opener, closer) if opener.strip() and closer.strip() else ()


def _after_value(text: str, closer: str) -> str:
    return text.lstrip().removeprefix(closer)


# --- frames around calls


def _framed(shape: Frames, own: _Tags, *, several: bool) -> Iterator[_Frame]:
    """Yield every frame that the text around calls allows, the most likely first."""
    each, outer = _before_name(shape.each), shape.outer.strip()
    marks, closes, outer_closes = chunks(each), markers(shape.each_close), markers(shape.outer_close)
    if several and outer and outer_closes and closes:
        yield from _framed_twice(shape, marks, closes, outer_closes)
        return
    ignored: tuple[str, ...] = ()
    if not several and len(closes) > len(marks):
        ignored, closes = tuple(closes[len(marks) :]), closes[: len(marks)]
    ignored = (*ignored, *markers(outer), *outer_closes)
    if len(marks) >= 2 and len(closes) >= 2:
        lead = each[len(marks[0]) :].lstrip()
        yield _Frame(marks[0], closes[-1], lead, closes[0], shape.apart, ignored=ignored)
    if marks and closes:
        if own.name_closer:
            yield _Frame("", "", each, closes[0], shape.apart, ignored=(*ignored, *closes[1:]))
        yield _Frame(each, closes[0], between_calls=shape.apart, ignored=(*ignored, *closes[1:]))


def _before_name(text: str) -> str:
    """Return the text before a name, with the whitespace between them if both are on one line."""
    return text.strip() + ("" if "\n" in (whitespace := trailing_whitespace(text)) else whitespace)


def _framed_twice(shape: Frames, marks: list[str], closes: list[str], outer_closes: list[str]) -> Iterator[_Frame]:
    """Yield frames around all calls, with one around each."""
    each, outer, rest = _before_name(shape.each), shape.outer.strip(), tuple(outer_closes[1:])
    inside = (
        trailing_whitespace(shape.outer) + leading_whitespace(shape.each),
        trailing_whitespace(shape.each_close) + leading_whitespace(shape.outer_close),
    )
    if len(marks) > 1:
        tag = marks[-1] + each[len(each.rstrip()) :]
        yield _Frame(
            outer,
            outer_closes[0],
            tag,
            closes[0],
            shape.apart,
            inside,
            skipped=tuple(dict.fromkeys((*markers("".join(marks[:-1])), *closes[1:]))),
            before_name=each[: each.rfind(tag)],
            after_call=shape.each_close.strip()[len(closes[0]) :],
            ignored=rest,
        )
    if each:
        yield _Frame(outer, outer_closes[0], each, closes[0], shape.apart, inside, ignored=rest)
    if len(marks) > 1 and len(closes) > 1:
        lead = " ".join(marks[1:])
        yield _Frame(marks[0], closes[-1], lead, closes[0], shape.apart, ignored=(outer, *outer_closes))
    if len(marks) == 1:
        yield _Frame(each, closes[0], between_calls=shape.apart, ignored=(outer, *outer_closes))
