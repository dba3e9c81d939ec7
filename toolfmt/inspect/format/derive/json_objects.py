"""Calls as JSON objects: the value around name and arguments, its frame, and the formatting of the object."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from toolfmt.formats.engines.json_object import JsonObject, KeyedObject
from toolfmt.formats.values.json_layout import WrittenObject
from toolfmt.formats.values.syntaxes import CODE, JSON, LITERAL
from toolfmt.inspect.format.derive.engine_drafts import PLAIN_ID, EngineCandidate, made
from toolfmt.inspect.format.derive.frames import Frames, frames
from toolfmt.inspect.format.derive.reasons import NotDerivable
from toolfmt.inspect.format.derive.rendered_calls import KEYS, NAMES, VALUES, Rendered, RenderedCalls
from toolfmt.inspect.format.derive.surroundings import Surroundings
from toolfmt.inspect.format.derive.text_cuts import leading_whitespace, markers, trailing_whitespace
from toolfmt.inspect.format.derive.turn_ends import closing, turn_ends
from toolfmt.inspect.format.derive.value_paths import LocatedValue, Place, enclosing, place_of

_LIST_OPENS = re.compile(r"\[\s*")
_ID_FORM = "call{number:05d}"
"""Nine letters and digits, as Mistral's templates require for ids."""
_BETWEEN_OBJECTS = re.compile(r"\}(\s{0,80}[,;]?\s{0,80})\{")


@dataclass(frozen=True)
class _Object:
    """The location of the first call's value, and how it contains name and arguments."""

    outer: LocatedValue
    shell: tuple[str, str]
    """The parts of the value before and after an inner list that contains the calls."""
    listed: bool
    keyed: bool
    name_key: str
    arguments_key: str
    wrapper: str
    written: WrittenObject


def json_objects(rendered: Rendered, around: Surroundings) -> Iterator[EngineCandidate]:
    """Yield candidates. Raise `NotDerivable` if a call is not one JSON value, or two calls are inconsistent."""
    found, ends = _object(rendered), turn_ends(rendered)
    one, end = rendered.one.text, found.outer.end
    between, separator = _between(rendered, found)
    with_text = _before_with_text(rendered)
    before, after = around.lead(one[: found.outer.begin], with_text), one[end:]
    if found.listed:
        yield _list(found, one[found.outer.begin : end], Frames(before, after), between, separator, ends)
        return
    shape = frames(before, after, between)
    if between is None or shape.each:
        yield _framed_each(found, shape, ends, several=between is not None)
    else:
        yield _framed_once(found, before, after, between, ends)


def _object(rendered: Rendered) -> _Object:
    one = rendered.one
    name, arguments = one.calls[0]
    outer = enclosing(one.text, (name, VALUES[0])) or enclosing(one.text, (KEYS[0], name))
    if outer is None:
        raise NotDerivable("name and arguments do not lie in one JSON value")
    inner = _innermost_list(one.text, outer, (name, VALUES[0]))
    to_name, to_arguments = place_of(inner.value, name), place_of(inner.value, dict(arguments))
    if to_name is None or to_arguments is None:
        raise NotDerivable("the arguments are not an object in the call's JSON")
    wrapper, name_key, arguments_key = _keys(to_name, to_arguments)
    shell = one.text[outer.begin : inner.begin], one.text[inner.end : outer.end]
    listed = isinstance(inner.value, list)
    return _Object(outer, shell, listed, to_name.is_key, name_key, arguments_key, wrapper, _written(rendered))


def _innermost_list(text: str, outer: LocatedValue, words: tuple[str, ...]) -> LocatedValue:
    """Return the last list on the path to the first of the words; the value itself without one."""
    found = outer
    while True:
        place = place_of(found.value, words[0])
        own = 1 if isinstance(found.value, list) else 0
        if place is None or not any(isinstance(step, int) for step in place.path[own:]):
            return found
        inner = _within(text, found, words)
        while inner is not None and not isinstance(inner.value, list):
            inner = _within(text, inner, words)
        if inner is None:
            return found
        found = inner


def _within(text: str, outer: LocatedValue, words: tuple[str, ...]) -> LocatedValue | None:
    """Return the outermost value within another that contains the words."""
    begin = outer.begin + 1
    inside = text[begin : outer.end]
    found = enclosing(inside, words) or enclosing(inside, (*words[1:], words[0]))
    return found and LocatedValue(found.value, found.begin + begin, found.end + begin)


def _keys(to_name: Place, to_arguments: Place) -> tuple[str, str, str]:
    """Return the common parent key, the key of the name, and that of the arguments; empty if the name is a key."""
    if to_name.is_key:
        if to_name.keys or len(to_arguments.keys) != 1:
            raise NotDerivable("the name is a key that lies deeper in the call's JSON")
        return "", "", ""
    names, arguments = to_name.keys, to_arguments.keys
    if len(names) not in (1, 2) or names[:-1] != arguments[:-1]:
        raise NotDerivable("name and arguments do not lie side by side in the call's JSON", near=2)
    return names[0] if len(names) == 2 else "", names[-1], arguments[-1]


def _written(rendered: Rendered) -> WrittenObject:
    """Return the formatting of one call's object, if possible with two arguments, which show the separator."""
    seen = rendered.two_arguments or rendered.one
    name, arguments = seen.calls[0]
    found = _own_object(seen.text, (name, *(str(value) for value in arguments.values())))
    if found is None:
        raise NotDerivable("two arguments are written differently than one")
    text = seen.text[found.begin : found.end]
    id, form = next((id for id in seen.ids if id in text), ""), _ID_FORM
    if not id and _counted(rendered):
        id, form = "0", "{number}"
    try:
        return WrittenObject.from_example(text, name, arguments, id=id, id_form=form)
    except ValueError as why:
        raise NotDerivable(f"how the call's JSON is spelt is not clear ({why})", near=2) from None


def _own_object(text: str, words: tuple[str, ...]) -> LocatedValue | None:
    """Return the object of a call, in a list or alone."""
    found = enclosing(text, words) or enclosing(text, (*words[1:], words[0]))
    found = found and _innermost_list(text, found, words)
    while found is not None and isinstance(found.value, list):
        found = _within(text, found, words)
    return found


def _counted(rendered: Rendered) -> bool:
    """Return whether a member of the calls is a counter as a string."""
    if rendered.two is None:
        return False
    first, second = (_own_object(rendered.two.text, (NAMES[at], VALUES[at])) for at in (0, 1))
    if first is None or second is None or not isinstance(first.value, dict) or not isinstance(second.value, dict):
        return False
    return any(value == "0" and second.value.get(key) == "1" for key, value in first.value.items())


def _between(rendered: Rendered, found: _Object) -> tuple[str | None, str]:
    """Return the text between two separate calls (None if they share a list), and between two in one list."""
    two = rendered.two
    if two is None:
        return None, ", "
    first, second = (_of_call(two, at) for at in (0, 1))
    if first is None or second is None:
        raise NotDerivable("the second of two calls is written differently than the first", near=2)
    if (first.begin, first.end) != (second.begin, second.end):
        between = two.text[first.end : second.begin]
        in_list = found.listed and not found.shell[0] and not isinstance(first.value, list)
        return (None, between) if in_list else (between, ", ")
    if not found.listed:
        raise NotDerivable("two calls share one JSON object", near=2)
    separators = [match[1] for match in _BETWEEN_OBJECTS.finditer(two.text[first.begin : first.end])]
    return None, separators[-1] if separators else ", "


def _of_call(seen: RenderedCalls, at: int) -> LocatedValue | None:
    """Return the value that contains one of the calls."""
    name, value = NAMES[at], VALUES[at]
    begin = 0
    if at:
        before = _of_call(seen, at - 1)
        inside = before is not None and name in seen.text[before.begin : before.end]
        begin = before.begin if before is not None and inside else before.end if before is not None else 0
    found = enclosing(seen.text[begin:], (name, value)) or enclosing(seen.text[begin:], (value, name))
    return found and LocatedValue(found.value, found.begin + begin, found.end + begin)


def _before_with_text(rendered: Rendered) -> str | None:
    """Return the text before a call that has text for the user next to it."""
    if rendered.with_text is None:
        return None
    found = _of_call(rendered.with_text, 0)
    return rendered.with_text.text[: found.begin] if found is not None else None


@dataclass(frozen=True)
class _Marks:
    """The text around the calls of one frame, and between two calls or two frames."""

    opener: str
    closer: str
    unframed: str
    """The start of a call without a start marker."""
    separator: str
    between: str = ""
    enclosing: tuple[str, str] | tuple[()] = ()


def _engine(found: _Object, marks: _Marks) -> JsonObject:
    unframed = () if marks.opener else (marks.unframed,)
    # Python strings may have double quotes and Python's escapes. With single quotes, values may be JSON's.
    notation = CODE if found.written.style.python else LITERAL if found.written.quote == "'" else JSON
    keys: dict[str, Any] = {
        "name_key": found.name_key,
        "arguments_key": found.arguments_key,
        "wrapper": found.wrapper,
    }
    return made(
        KeyedObject if found.keyed else JsonObject,
        opener=marks.opener,
        closer=marks.closer,
        unframed_openers=unframed,
        between=marks.between,
        enclosing=marks.enclosing,
        separator=marks.separator,
        written=found.written,
        notation=notation,
        **({} if found.keyed else keys),
    )


def _list(
    found: _Object, text: str, around: Frames, between: str | None, separator: str, ends: frozenset[str]
) -> EngineCandidate:
    """Calls in a list: one list in a frame, or one list per call."""
    shape = around if between is None else frames(around.outer, around.outer_close, between)
    opener = (shape.each if shape.each.strip() else around.outer).strip()
    after = shape.each_close or around.outer_close
    closer, ignored = closing(after, ends, opened=bool(opener) or between is not None)
    if not opener and found.shell[0]:
        raise NotDerivable("the calls lie in a list inside of another JSON value, and no marker precedes that", near=2)
    shell, text = found.shell, text[len(found.shell[0]) : len(text) - len(found.shell[1])]
    opens, last = _LIST_OPENS.match(text), text.removesuffix("]")
    enclosed = (
        (trailing_whitespace(around.outer) if opener else "") + shell[0] + (opens[0] if opens else "["),
        trailing_whitespace(last) + "]" + shell[1] + (leading_whitespace(after) if closer else ""),
    )
    engine = _engine(found, _Marks(opener, closer, "[", separator, enclosing=enclosed))
    return EngineCandidate("JSON list", engine, ignored, found.written.id or PLAIN_ID)


def _framed_each(found: _Object, shape: Frames, ends: frozenset[str], *, several: bool) -> EngineCandidate:
    opener = shape.each.strip()
    closer, rest = closing(shape.each_close, ends if not several else frozenset(), opened=bool(opener))
    if shape.each_close.strip() and several:
        closer, rest = shape.each_close.strip(), ()
    ignored = (*markers(shape.outer), *markers(shape.outer_close), *rest)
    inside = trailing_whitespace(shape.each) if opener and closer else ""
    engine = _engine(found, _Marks(opener, closer, "{", shape.apart, between=inside))
    return EngineCandidate("JSON in a frame" if opener else "bare JSON", engine, ignored, found.written.id or PLAIN_ID)


def _framed_once(found: _Object, before: str, after: str, between: str, ends: frozenset[str]) -> EngineCandidate:
    opener = before.strip()
    closer, ignored = closing(after, ends, opened=bool(opener))
    if closer and closer in between:
        raise NotDerivable("the second of two calls is closed and has not been opened, unlike the first", near=3)
    inside = (trailing_whitespace(before), leading_whitespace(after) if closer else "")
    engine = _engine(found, _Marks(opener, closer, "{", between, enclosing=inside if opener else ()))
    return EngineCandidate(
        "JSON in one frame" if opener else "bare JSON", engine, ignored, found.written.id or PLAIN_ID
    )
