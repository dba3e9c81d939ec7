"""Calls as JSON objects: the value around name and arguments, what it is framed by, and how the object is spelt."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from toolfmt.formats.json_object import JsonObject, KeyedObject
from toolfmt.formats.written_objects import WrittenObject
from toolfmt.inspect.derivation.cutting import markers
from toolfmt.inspect.derivation.drafts import Draft
from toolfmt.inspect.derivation.found_values import Found, Place, enclosing, place_of
from toolfmt.inspect.derivation.frames import Frames, frames
from toolfmt.inspect.derivation.refusals import Refused
from toolfmt.inspect.derivation.seen import KEYS, NAMES, VALUES, Rendered, Seen
from toolfmt.inspect.derivation.surroundings import Surroundings

_LIST_OPENS, _LIST_CLOSES = re.compile(r"\[\s*"), re.compile(r"\s*\]\Z")
_LEADING, _TRAILING = re.compile(r"\s*"), re.compile(r"\s*\Z")
_BETWEEN_OBJECTS = re.compile(r"\}(\s*[,;]?\s*)\{")


@dataclass(frozen=True)
class _Object:
    """Where the first call's value lies, and how name and arguments are kept in it."""

    outer: Found
    listed: bool
    keyed: bool
    name_key: str
    arguments_key: str
    wrapper: str
    written: WrittenObject


def json_objects(rendered: Rendered, around: Surroundings) -> Iterator[Draft]:
    """Raises `Refused` where name and arguments do not lie in one JSON value, or two calls do not look alike."""
    found = _object(rendered)
    one, end = rendered.one.text, found.outer.end
    between, inside = _between(rendered, found)
    told = _told(rendered)
    before, after = around.lead(one[: found.outer.begin], told), one[end:]
    if found.listed:
        yield _list(found, one[found.outer.begin : end], before, after, between, inside)
        return
    shape = frames(before, after, between)
    if between is None or shape.each:
        yield _framed_each(found, shape, between)
    else:
        yield _framed_once(found, before, after, between)


def _object(rendered: Rendered) -> _Object:
    one = rendered.one
    name, arguments = one.calls[0]
    outer = enclosing(one.text, (name, VALUES[0])) or enclosing(one.text, (KEYS[0], name))
    if outer is None:
        raise Refused("name and arguments do not lie in one JSON value")
    to_name, to_arguments = place_of(outer.value, name), place_of(outer.value, dict(arguments))
    if to_name is None or to_arguments is None:
        raise Refused("the arguments are no object in the call's JSON")
    listed = isinstance(outer.value, list)
    if any(isinstance(step, int) for step in to_name.path[1 if listed else 0 :]):
        raise Refused("the calls lie in a list inside of another JSON value")
    wrapper, name_key, arguments_key = _keys(to_name, to_arguments)
    written = _written(rendered, outer)
    return _Object(outer, listed, to_name.is_key, name_key, arguments_key, wrapper, written)


def _keys(to_name: Place, to_arguments: Place) -> tuple[str, str, str]:
    """The key that both stand under, that of the name and that of the arguments; empty where the name is a key."""
    if to_name.is_key:
        if to_name.keys or len(to_arguments.keys) != 1:
            raise Refused("the name is a key that lies deeper in the call's JSON")
        return "", "", ""
    names, arguments = to_name.keys, to_arguments.keys
    if len(names) not in (1, 2) or names[:-1] != arguments[:-1]:
        raise Refused("name and arguments do not lie side by side in the call's JSON")
    return names[0] if len(names) == 2 else "", names[-1], arguments[-1]


def _written(rendered: Rendered, outer: Found) -> WrittenObject:
    """How one call's object is spelt; of two arguments, where those are seen, which show the sign between them."""
    seen = rendered.two_arguments or rendered.one
    name, arguments = seen.calls[0]
    words = (name, *(str(value) for value in arguments.values()))
    found = enclosing(seen.text, words) or enclosing(seen.text, (*words[1:], name))
    while found is not None and isinstance(found.value, list):
        inner = enclosing(seen.text[found.begin + 1 : found.end], words)
        found = inner and Found(inner.value, inner.begin + found.begin + 1, inner.end + found.begin + 1)
    if found is None:
        raise Refused("two arguments are written otherwise than one")
    text = seen.text[found.begin : found.end]
    id = next((id for id in seen.ids if id in text), "")
    try:
        return WrittenObject.from_example(text, name, arguments, id=id)
    except ValueError as why:
        raise Refused(f"how the call's JSON is spelt is not clear: {why}") from None


def _between(rendered: Rendered, found: _Object) -> tuple[str | None, str]:
    """What stands between two calls that each have a value of their own, and between two in one list."""
    two = rendered.two
    if two is None:
        return None, ", "
    first, second = (_of_call(two, at) for at in (0, 1))
    if first is None or second is None:
        raise Refused("the second of two calls is written otherwise than the first")
    if (first.begin, first.end) != (second.begin, second.end):
        return two.text[first.end : second.begin], ", "
    if not found.listed:
        raise Refused("two calls share one JSON object")
    signs = [sign[1] for sign in _BETWEEN_OBJECTS.finditer(two.text[first.begin : first.end])]
    return None, signs[-1] if signs else ", "


def _of_call(seen: Seen, at: int) -> Found | None:
    """The value around one of the calls."""
    name, value = NAMES[at], VALUES[at]
    begin = 0
    if at:
        before = _of_call(seen, at - 1)
        inside = before is not None and name in seen.text[before.begin : before.end]
        begin = before.begin if before is not None and inside else before.end if before is not None else 0
    found = enclosing(seen.text[begin:], (name, value)) or enclosing(seen.text[begin:], (value, name))
    return found and Found(found.value, found.begin + begin, found.end + begin)


def _told(rendered: Rendered) -> str | None:
    """What stands before the call beside a text for the user."""
    if rendered.told is None:
        return None
    found = _of_call(rendered.told, 0)
    return rendered.told.text[: found.begin] if found is not None else None


def _closer(opener: str, after: str) -> tuple[str, tuple[str, ...]]:
    """The marker behind the calls, which closes what has been opened; and those behind it, which say nothing."""
    marks = markers(after)
    return (marks[0], tuple(marks[1:])) if opener and marks else ("", tuple(marks))


def _engine(
    found: _Object,
    opener: str,
    closer: str,
    unframed: str,
    separator: str,
    *,
    between: str = "",
    enclosing: tuple[str, str] | tuple[()] = (),
) -> JsonObject:
    unframed_openers = () if opener else (unframed,)
    if found.keyed:
        return KeyedObject(
            opener=opener, closer=closer, unframed_openers=unframed_openers, between=between, enclosing=enclosing,
            separator=separator, written=found.written,
        )  # fmt: skip
    return JsonObject(
        opener=opener, closer=closer, unframed_openers=unframed_openers, between=between, enclosing=enclosing,
        separator=separator, name_key=found.name_key, arguments_key=found.arguments_key, wrapper=found.wrapper,
        written=found.written,
    )  # fmt: skip


def _list(found: _Object, text: str, before: str, after: str, between: str | None, inside: str) -> Draft:
    if between is None:
        opener = before.strip()
        closer, ignored = _closer(opener, after)
    else:
        shape = frames(before, after, between)
        opener = shape.each.strip() or before.strip()
        closer, ignored = _closer("each", shape.each_close or after)
    opens, closes = _LIST_OPENS.match(text), _LIST_CLOSES.search(text)
    brackets = (opens[0] if opens else "[", closes[0] if closes else "]")
    return Draft("JSON list", _engine(found, opener, closer, "[", inside, enclosing=brackets), ignored)


def _framed_each(found: _Object, shape: Frames, between: str | None) -> Draft:
    opener = shape.each.strip()
    closer, rest = _closer(opener, shape.each_close)
    if shape.each_close.strip() and between is not None:
        closer, rest = shape.each_close.strip(), ()
    ignored = (*markers(shape.outer), *markers(shape.outer_close), *rest)
    blanks = _blank_end(shape.each)
    engine = _engine(found, opener, closer, "{", shape.between, between=blanks if opener else "")
    return Draft("JSON in a frame" if opener else "bare JSON", engine, ignored)


def _framed_once(found: _Object, before: str, after: str, between: str) -> Draft:
    opener = before.strip()
    closer, ignored = _closer(opener, after)
    leading = _LEADING.match(after)
    blanks = (_blank_end(before), leading[0] if leading and closer else "")
    engine = _engine(found, opener, closer, "{", between, enclosing=blanks if opener else ())
    return Draft("JSON in one frame" if opener else "bare JSON", engine, ignored)


def _blank_end(text: str) -> str:
    found = _TRAILING.search(text)
    return found[0] if found else ""


