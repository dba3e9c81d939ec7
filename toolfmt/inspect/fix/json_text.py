"""Edit a JSON file in one location and keep every other character: set or remove a member, replace a string.

The text must be readable by `json.loads`. Offsets count characters.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_WHITESPACE = re.compile(r"[ \t\n\r]*")
_CHARACTER = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|.", re.DOTALL
)
"""One character of a string, as written."""


@dataclass(frozen=True)
class JsonMember:
    """A member of an object: its key, the offset of the key, and the start and end of its value.

    An item of a list has its number as key, and starts with its value.
    """

    key: str | int
    start: int
    value: int
    end: int


def members(text: str, at: int = 0) -> list[JsonMember]:
    """Return the members of the object, or the items of the list, at this offset; empty for any other value."""
    at = _next(text, at)
    return list(_members(text, at)) if text[at : at + 1] in ("{", "[") else []


def strings(text: str, member: JsonMember) -> Iterator[JsonMember]:
    """Yield the strings of a value: itself, or those inside its lists and objects."""
    if text[member.value] == '"':
        yield member
    for inside in members(text, member.value):
        yield from strings(text, inside)


def with_member(text: str, key: str, value: Any) -> str:
    """Return the text with this member set: in place of one with the same key, else after the last one."""
    written = json.dumps(value, ensure_ascii=False)
    old = next((one for one in members(text) if one.key == key), None)
    if old is not None:
        return text[: old.value] + written + text[old.end :]
    present = members(text)
    if not present:
        opener = text.index("{") + 1
        return f"{text[:opener]}{json.dumps(key)}: {written}{text[opener:]}"
    last = present[-1]
    begin = present[-2].end if len(present) > 1 else text.index("{") + 1
    between = text[begin : last.start].lstrip(",")
    colon = text[last.start : last.value].partition(":")[2]
    space = colon if not colon.strip() else " "
    return f"{text[: last.end]},{between}{json.dumps(key)}:{space}{written}{text[last.end :]}"


def without_member(text: str, key: str) -> str:
    """Return the text without the member with this key and its comma."""
    present = members(text)
    at = next((number for number, one in enumerate(present) if one.key == key), None)
    if at is None:
        return text
    if at + 1 < len(present):
        return text[: present[at].start] + text[present[at + 1].start :]
    begin = present[at - 1].end if at else text.index("{") + 1
    return text[:begin] + text[present[at].end :]


def with_string(text: str, member: JsonMember, new: str) -> str:
    """Return the text with a value replaced by another string; common parts of both strings keep their form."""
    written = _CHARACTER.findall(text[member.value + 1 : member.end - 1])
    old = [json.loads(f'"{character}"', strict=False) for character in written]
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    middle = json.dumps(new[head : len(new) - tail], ensure_ascii=text.isascii())[1:-1]
    kept = "".join(written[:head]), "".join(written[len(written) - tail :])
    return text[: member.value + 1] + kept[0] + middle + kept[1] + text[member.end - 1 :]


def _members(text: str, at: int) -> Iterator[JsonMember]:
    decoder, in_object, number = json.JSONDecoder(strict=False), text[at] == "{", 0
    at = _next(text, at + 1)
    while text[at] not in "}]":
        start, key = at, number
        name: str | int = key
        if in_object:
            name, at = decoder.raw_decode(text, at)
            at = _next(text, _next(text, at) + 1)
        value = at
        _, end = decoder.raw_decode(text, at)
        yield JsonMember(name, start, value, end)
        at, number = _next(text, end), number + 1
        if text[at] == ",":
            at = _next(text, at + 1)


def _next(text: str, at: int) -> int:
    """Return the offset of the first character that is not whitespace."""
    found = _WHITESPACE.match(text, at)
    return found.end() if found else at
