"""Edits that several checks use, each at one location of the template. Rendering decides which of them fix a finding.

A function takes the template's `Sites` and yields every edit of its kind. Each keeps what the template does with
conversations that it accepted before, as far as the source shows that; `toolfmt.inspect.fix.verification` checks it.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.inspect.checks.editing.sites import Access, Sites
from toolfmt.inspect.checks.editing.source import Edit

_NONE = ("none", "None", "null")


def or_empty(sites: Sites, key: str, empty: str) -> Iterator[Edit]:
    """Yield `message.content or ''` for each use of the key that is not only a test."""
    for access in sites.accesses:
        used = access.key == key and not access.plain and not sites.is_tested(access) and not sites.is_assigned(access)
        if used and not sites.after(access).is_one("or") and not sites.filtered(access, "default"):
            text = f"{access.text} or {empty}"
            yield Edit(
                access.start, access.end, text if sites.is_standalone(access.first, access.last) else f"({text})"
            )


def unless_string(sites: Sites, access: Access, end: int, other: str) -> Edit:
    """Return the edit to the value itself if it is a string, else to another expression."""
    text = f"{access.text} if {access.text} is string else {other}"
    alone = sites.is_standalone(access.first, end)
    return Edit(access.start, sites.words[end - 1].end, text if alone else f"({text})")


def truth(sites: Sites, key: str) -> Iterator[Edit]:
    """Yield truth tests in place of `'x' in m`, `m.x is defined`, `m.x is not none` and `m.x != none`."""
    words = sites.words
    for access in sites.accesses:
        if access.key == key:
            words_of_test = [word.text for word in words[access.last : access.last + 3]]
            if (length := _test_length(words_of_test)) != 0:
                length, negation = _joined_test_length(sites, access, length), "" if length > 0 else "not "
                yield Edit(access.start, words[access.last + abs(length) - 1].end, f"{negation}{access.text}")
        if (begin := _looked_for_in(sites, access, key)) < access.first:
            negation = "not " if words[begin + 1].is_one("not") else ""
            yield Edit(words[begin].start, access.end, f"{negation}{access.text}.{key}")


def _test_length(test: list[str]) -> int:
    """Return how many words test that something exists; negative if they test that it does not."""
    match test:
        case ["is", "not", "none" | "None"]:
            return 3
        case ["is", "not", "defined"]:
            return -3
        case ["is", "defined", *_]:
            return 2
        case ["is", "undefined" | "none" | "None", *_]:
            return -2
        case ["!=" | "==" as sign, value, *_] if value in _NONE:
            return 2 if sign == "!=" else -2
    return 0


def _joined_test_length(sites: Sites, access: Access, length: int) -> int:
    """Return the number of words including a second test after the first: `x is defined and x is not none`."""
    if length < 0:
        return length
    joined = access.last + length
    size = access.last - access.first
    again = sites.words[joined + 1 : joined + 1 + size]
    if not sites.words[joined].is_one("and") or [word.text for word in again] != [
        word.text for word in sites.words[access.first : access.last]
    ]:
        return length
    more = _test_length([word.text for word in sites.words[joined + 1 + size : joined + 4 + size]])
    return length + 1 + size + more if more > 0 else length


def _looked_for_in(sites: Sites, access: Access, key: str) -> int:
    """Return the index of the key's word if it is searched for in the access; else that of the access itself."""
    first = access.first
    for length in (2, 3):
        begin = first - length
        between = [word.text for word in sites.words[max(0, begin + 1) : first]]
        if begin >= 0 and sites.words[begin].string == key and between == ["not", "in"][2 - length + 1 :]:
            return begin if not sites.after(access).is_one(".") else first
    return first
