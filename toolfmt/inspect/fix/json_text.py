"""A JSON file changed in one place, every other character left as it is: a member set or taken out, a string rewritten.

The text is one that `json.loads` reads; offsets are characters of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_BLANKS = re.compile(r"[ \t\n\r]*")
_SIGN = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|.", re.DOTALL)
"""What one character of a string is written as."""


@dataclass(frozen=True)
class JsonMember:
    """A member of an object: its key, where the key begins, where its value begins and ends. An item of a list has its
    number for a key, and begins with its value.
    """

    key: str | int
    start: int
    value: int
    end: int


def members(text: str, at: int = 0) -> list[JsonMember]:
    """The members of the object, or the items of the list, that begins here; none for any other value."""
    at = _next(text, at)
    return list(_members(text, at)) if text[at : at + 1] in ("{", "[") else []


def strings(text: str, member: JsonMember) -> Iterator[JsonMember]:
    """The strings of a value: itself, or those inside its lists and objects."""
    if text[member.value] == '"':
        yield member
    for inside in members(text, member.value):
        yield from strings(text, inside)


def with_member(text: str, key: str, value: Any) -> str:
    """The text with this member of its object: in the place of the one that has the key, else behind the last one."""
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
    blank = colon if not colon.strip() else " "
    return f"{text[: last.end]},{between}{json.dumps(key)}:{blank}{written}{text[last.end :]}"


def without_member(text: str, key: str) -> str:
    """The text without the member of this key, and without the comma that it needs."""
    present = members(text)
    at = next((number for number, one in enumerate(present) if one.key == key), None)
    if at is None:
        return text
    if at + 1 < len(present):
        return text[: present[at].start] + text[present[at + 1].start :]
    begin = present[at - 1].end if at else text.index("{") + 1
    return text[:begin] + text[present[at].end :]


def with_string(text: str, member: JsonMember, new: str) -> str:
    """The text with another string for a value; what both strings have in common stays written as it is."""
    written = _SIGN.findall(text[member.value + 1 : member.end - 1])
    old = [json.loads(f'"{sign}"', strict=False) for sign in written]
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
        told: str | int = key
        if in_object:
            told, at = decoder.raw_decode(text, at)
            at = _next(text, _next(text, at) + 1)
        value = at
        _, end = decoder.raw_decode(text, at)
        yield JsonMember(told, start, value, end)
        at, number = _next(text, end), number + 1
        if text[at] == ",":
            at = _next(text, at + 1)


def _next(text: str, at: int) -> int:
    """The first character from here on that is no blank."""
    found = _BLANKS.match(text, at)
    return found.end() if found else at
