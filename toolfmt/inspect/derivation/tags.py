"""Arguments between tags: a name, then keys and raw values; what opens and closes each, and the calls."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from toolfmt.formats.raw_values import Header
from toolfmt.formats.tagged import PLAIN, QUOTED, Attributes, Tagged
from toolfmt.inspect.derivation.cutting import chunks, common_end, common_start, cut, markers
from toolfmt.inspect.derivation.drafts import Draft
from toolfmt.inspect.derivation.frames import Frames, frames
from toolfmt.inspect.derivation.raw_parts import RawParts, raw_parts
from toolfmt.inspect.derivation.refusals import Refused
from toolfmt.inspect.derivation.seen import HARD, KEYS, NAMES, VALUES, Rendered
from toolfmt.inspect.derivation.surroundings import Surroundings

_TYPE = re.compile(r'\s*\b(\w{1,40})="(\w{1,40})"')
_ATTRIBUTE = re.compile(r'\w{1,40}="[^"]{0,80}"\s*')
_BEHIND_KEY = re.compile(r"([^<>]*>|[^<\s]+|)(\s*)(.*?)(\s*)\Z", re.S)
_TWO_TAGS = re.compile(r"(<[^<>]*>)\s*(.+)\Z", re.S)
_LEADING, _TRAILING = re.compile(r"\s*"), re.compile(r"\s*\Z")


@dataclass(frozen=True)
class _Tags:
    """What a call's own tags are, without what frames it."""

    engine: Tagged
    """With placeholders for the frames."""
    newlines: tuple[str, ...]
    """What may stand between a value and its tags and belong to neither, the likelier first."""


def tags(rendered: Rendered, around: Surroundings) -> Iterator[Draft]:
    """Raises `Refused` where keys or values have no tags of their own."""
    parts = raw_parts(rendered)
    own = _tags(rendered, parts)
    closer = own.engine.value_closer
    between = _behind_value(parts.between, closer) if parts.between is not None else None
    after, before = _behind_value(parts.after, closer), around.lead(parts.before, parts.told)
    tried: list[Frames] = []
    for keep_close in (False, True):
        shape = frames(before, after, between, keep_close=keep_close)
        if shape in tried:
            continue
        tried.append(shape)
        for engine, ignored in _framed(own.engine, shape, several=between is not None):
            for newline in own.newlines:
                yield Draft("tags", replace(engine, value_newline=newline), ignored)


# --- the tags of a call


def _tags(rendered: Rendered, parts: RawParts) -> _Tags:
    key_header, behind_key = _key_header(parts)
    key_opener = _key_opener(parts)
    name_closer = parts.head[: len(parts.head) - len(key_opener)]
    blanks = key_opener[: len(key_opener) - len(key_opener.lstrip())]
    behind_value = parts.separator[: len(parts.separator) - len(key_opener.lstrip())]
    value_closer = common_start(behind_value if behind_value.endswith(blanks) else "", parts.after).strip()
    if not value_closer:
        raise Refused("values stand without quotes or closers: a line break in a value cannot be told from the next argument")
    key_closer, value_opener, line = _between_key_and_value(behind_key)
    name_header, name_end = _name_header(name_closer.strip())
    leading = _LEADING.match(parts.separator)
    in_lines = "\n" in line or (leading is not None and "\n" in leading[0])
    engine = Tagged(
        key_opener=key_opener.lstrip(),
        key_closer=key_closer,
        value_opener=value_opener,
        value_closer=value_closer,
        name_closer=name_end,
        name_header=name_header,
        key_header=key_header,
        between=_blank_end(behind_value) if behind_value.strip() else "",
        cdata=_cdata(rendered, parts),
    )
    return _Tags(engine, ("\n", "") if in_lines else ("",))


def _key_header(parts: RawParts) -> tuple[Header, str]:
    """How a key is written in its tag, and what stands behind that: the key is quoted, and an attribute may tell whether
    its value is a string."""
    if parts.number_assign == parts.assign:
        quoted = parts.assign.startswith('"') and ">" in parts.assign
        return (QUOTED, parts.assign[1:]) if quoted else (PLAIN, parts.assign)
    of_string, of_number = _TYPE.search(parts.assign), _TYPE.search(parts.number_assign)
    if not of_string or not of_number or of_string[1] != of_number[1] or not parts.assign.startswith('"'):
        raise Refused("what stands behind a key depends on the type of its value")
    header = Attributes(type_attribute=of_string[1], string=of_string[2].lower(), other_types=(of_number[2].lower(),))
    return header, parts.assign[of_string.end() :]


def _key_opener(parts: RawParts) -> str:
    """What stands before the first key and before the second, but not where there is no key."""
    opener = common_end(parts.head, parts.separator)
    if parts.none is not None:
        same = common_start(parts.head, parts.none)
        rest = parts.head[len(same) :]
        if same and rest.strip() and parts.separator.endswith(rest.lstrip()):
            opener = rest
    if not opener:
        raise Refused("nothing stands before every key")
    return opener


def _between_key_and_value(behind_key: str) -> tuple[str, str, str]:
    """What closes a key, what opens a value, and the blanks before the value."""
    found = _BEHIND_KEY.match(behind_key)
    closer, gap, opener, blanks = found.groups() if found else ("", "", "", "")
    if closer:
        return closer, opener, blanks if opener else gap
    closer, opener = behind_key.strip(), ""
    two = _TWO_TAGS.match(closer)
    if two:
        closer, opener = two[1], two[2]
    if not closer:
        raise Refused("nothing stands between a key and its value")
    return closer, opener, _blank_end(behind_key)


def _name_header(closer: str) -> tuple[Header, str]:
    """How the name is written in its tag, and what ends the tag."""
    if not closer.startswith('"'):
        return PLAIN, closer
    rest = closer[1:].strip()
    attribute = _ATTRIBUTE.match(rest)
    return QUOTED, rest[attribute.end() :] if attribute else rest


def _cdata(rendered: Rendered, parts: RawParts) -> tuple[str, str] | tuple[()]:
    """Marks around a value that could be mistaken for tags."""
    hard = rendered.hard
    if hard is None or HARD not in hard.text:
        return ()
    plain, marked = cut(rendered.one.text, (NAMES[0], KEYS[0], VALUES[0])), cut(hard.text, (NAMES[0], KEYS[0], HARD))
    if len(plain) != 7 or len(marked) != 7 or not marked[4].startswith(parts.assign):
        return ()
    opener = marked[4][len(parts.assign) :]
    closer = marked[6].removesuffix(plain[6]) if marked[6].endswith(plain[6]) else ""
    return (opener, closer) if opener.strip() and closer.strip() else ()


def _behind_value(text: str, closer: str) -> str:
    return text.lstrip().removeprefix(closer)


def _blank_end(text: str) -> str:
    found = _TRAILING.search(text)
    return found[0] if found else ""


# --- what frames calls


def _framed(tags: Tagged, shape: Frames, *, several: bool) -> Iterator[tuple[Tagged, tuple[str, ...]]]:
    """The tags in every frame that the texts around calls allow, with the marks that say nothing then."""
    each, outer = shape.each.strip(), shape.outer.strip()
    marks, closes, behind = chunks(each), markers(shape.each_close), markers(shape.outer_close)
    if several and outer and behind and closes:
        yield from _framed_twice(tags, shape, marks, closes, behind)
        return
    ignored: tuple[str, ...] = ()
    if not several and len(closes) > len(marks):
        ignored, closes = tuple(closes[len(marks) :]), closes[: len(marks)]
    ignored = (*ignored, *markers(outer), *behind)
    if len(marks) >= 2 and len(closes) >= 2:
        lead = each[len(marks[0]) :].lstrip()
        yield replace(tags, opener=marks[0], closer=closes[-1], name_opener=lead, call_closer=closes[0]), ignored
    if marks and closes:
        if tags.name_closer:
            yield replace(tags, name_opener=each, call_closer=closes[0]), (*ignored, *closes[1:])
        yield replace(tags, opener=each, closer=closes[0]), (*ignored, *closes[1:])
    if not marks or not closes:
        raise Refused("no marker stands before every call" if not marks else "no marker closes a call")


def _framed_twice(
    tags: Tagged, shape: Frames, marks: list[str], closes: list[str], behind: list[str]
) -> Iterator[tuple[Tagged, tuple[str, ...]]]:
    """A frame around all calls, and one around each."""
    each, outer, rest = shape.each.strip(), shape.outer.strip(), tuple(behind[1:])
    whole = replace(tags, opener=outer, closer=behind[0], call_closer=closes[0], enclosing=("\n", "\n"))
    if len(marks) > 1:
        tag = marks[-1]
        skipped = tuple(dict.fromkeys((*markers("".join(marks[:-1])), *closes[1:])))
        yield replace(
            whole,
            name_opener=tag,
            skipped=skipped,
            before_name=each[: each.rfind(tag)],
            after_call=shape.each_close.strip()[len(closes[0]) :],
        ), rest
    if each:
        yield replace(whole, name_opener=each), rest
    if len(marks) > 1 and len(closes) > 1:
        lead = " ".join(marks[1:])
        yield replace(tags, opener=marks[0], closer=closes[-1], name_opener=lead, call_closer=closes[0]), (outer, *behind)
    if len(marks) == 1:
        yield replace(tags, opener=each, closer=closes[0]), (outer, *behind)
    if not each:
        raise Refused("no marker stands before every call")
