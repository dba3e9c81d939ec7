"""The edits that may heal a finding, each at one place of the template: which of them do is found out by rendering.

A function takes the template's `Sites` and gives every edit of its kind. Each leaves what the template does of
conversations that it took before, as far as that can be told from the source; the proof tells.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from toolfmt.inspect.fix.sites import Access, Sites
from toolfmt.inspect.fix.source import Edit

Edits: TypeAlias = Callable[[Sites], Iterator[Edit]]

_NONE = ("none", "None", "null")


def content_or_nothing(sites: Sites) -> Iterator[Edit]:
    """`message.content or ''` wherever content is used and not only asked about."""
    return _or_empty(sites, "content", "''")


def calls_or_none(sites: Sites) -> Iterator[Edit]:
    """The calls themselves in place of the question whether there is such a key; an empty list where they are used."""
    yield from _truth(sites, "tool_calls")
    yield from _or_empty(sites, "tool_calls", "[]")


def tools_or_none(sites: Sites) -> Iterator[Edit]:
    """The tools themselves in place of the question whether they were given."""
    return _truth(sites, "tools")


def arguments_as_json(sites: Sites) -> Iterator[Edit]:
    """Arguments as they are where they are a string, and with `tojson` where they are not."""
    for access in sites.of("arguments", "parameters"):
        end = sites.filtered(access, "tojson")
        if end:
            yield _unless_string(sites, access, end, sites.text(access.first, end))
        elif not sites.is_asked(access) and not sites.is_assigned(access):
            end = sites.filtered(access, "string") or access.last
            if not sites.words[end].is_one("|", ".", "["):
                yield _unless_string(sites, access, end, f"{access.text} | tojson")
    for access in sites.of("function"):
        end = sites.filtered(access, "tojson")
        if end == access.last + 2:
            pairs = [(f'"{key}"', f"{access.text}.{key}") for key in ("name", "arguments")]
            yield _spelled_out(sites, access.first, end, pairs)
    for opener, word in enumerate(sites.words):
        end = sites.closed(opener) if word.is_one("{") else 0
        if end and sites.is_filter(end, "tojson") and (written := _pairs(sites, opener + 1, end - 1)):
            yield _spelled_out(sites, opener, end + 2, written)


def _pairs(sites: Sites, first: int, last: int) -> list[tuple[str, str]]:
    """Keys and values of what stands between the brackets of an object, as JSON and as the source has them.

    Empty where these are no plain keys, or no arguments are among them.
    """
    pairs: list[tuple[str, str]] = []
    at = first
    while at < last and sites.words[at].string is not None and sites.words[at + 1].is_one(":"):
        end = at + 2
        while end < last and not sites.words[end].is_one(","):
            end = sites.closed(end) if sites.words[end].is_one("(", "[", "{") else end + 1
        pairs.append((f'"{sites.words[at].string}"', sites.text(at + 2, end)))
        at = end + 1
    whole = at >= last and any(key in ('"arguments"', '"parameters"') for key, _ in pairs)
    return pairs if whole else []


def _spelled_out(sites: Sites, first: int, end: int, pairs: Sequence[tuple[str, str]]) -> Edit:
    """A call that is written whole with `tojson`, its keys one by one where the arguments are a string."""
    told, arguments = [], ""
    for number, (key, value) in enumerate(pairs):
        begin = ", " if number else "{"
        if key in ('"arguments"', '"parameters"'):
            arguments = value
        told.append(f"'{begin}{key}: ' ~ {value if value == arguments else f'({value} | tojson)'}")
    text = f"{' ~ '.join(told)} ~ '}}' if {arguments} is string else {sites.text(first, end)}"
    whole = text if sites.stands_alone(first, end) else f"({text})"
    return Edit(sites.words[first].start, sites.words[end - 1].end, whole)


def values_as_json(sites: Sites) -> Iterator[Edit]:
    """Values of a loop over keys and values as they are where they are strings, with `tojson` where they are not."""
    names, handed = set(_loop_values(sites)), set(_parameters(sites))
    for access in sites.accesses:
        printed = sites.before(access).kind == "variable_begin" and sites.after(access).kind == "variable_end"
        meant = access.plain and (access.key in names or (printed and access.key in handed))
        if meant and not sites.is_asked(access) and not sites.is_assigned(access):
            end = sites.filtered(access, "string") or access.last
            if not sites.words[end].is_one("|", ".", "["):
                yield _unless_string(sites, access, end, f"{access.text} | tojson")


def developer_as_system(sites: Sites) -> Iterator[Edit]:
    """The role `developer` wherever the role `system` is asked for."""
    for access in sites.of("role"):
        compared, other = sites.after(access), sites.after(access, 1)
        if compared.is_one("==", "!=") and other.string == "system":
            word = "in" if compared.is_one("==") else "not in"
            quoted = other.text.replace("system", "developer")
            yield Edit(access.end, other.end, f" {word} [{other.text}, {quoted}]")
        elif compared.is_one("in", "not"):
            yield from _with_developer(sites, access)


def _with_developer(sites: Sites, access: Access) -> Iterator[Edit]:
    """`'developer'` behind `'system'` in the list of roles that the access is looked for in."""
    for word in sites.words[access.last : access.last + 12]:
        if word.is_one("]", ")") or word.kind in ("block_end", "variable_end"):
            return
        if word.string == "system":
            yield Edit(word.end, word.end, ", " + word.text.replace("system", "developer"))


def _or_empty(sites: Sites, key: str, empty: str) -> Iterator[Edit]:
    for access in sites.accesses:
        used = access.key == key and not access.plain and not sites.is_asked(access) and not sites.is_assigned(access)
        if used and not sites.after(access).is_one("or") and not sites.filtered(access, "default"):
            text = f"{access.text} or {empty}"
            yield Edit(access.start, access.end, text if sites.stands_alone(access.first, access.last) else f"({text})")


def _truth(sites: Sites, key: str) -> Iterator[Edit]:
    """Whether something is there, asked of itself: `'x' in m`, `m.x is defined`, `m.x is not none`, `m.x != none`."""
    words = sites.words
    for access in sites.accesses:
        if access.key == key:
            words_of_test = [word.text for word in words[access.last : access.last + 3]]
            if (length := _asked(words_of_test)) != 0:
                length, said = _asked_again(sites, access, length), "" if length > 0 else "not "
                yield Edit(access.start, words[access.last + abs(length) - 1].end, f"{said}{access.text}")
        if (begin := _looked_for_in(sites, access, key)) < access.first:
            said = "not " if words[begin + 1].is_one("not") else ""
            yield Edit(words[begin].start, access.end, f"{said}{access.text}.{key}")


def _asked(test: list[str]) -> int:
    """How many words ask whether something is there; as a negative number where they ask whether it is not."""
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


def _asked_again(sites: Sites, access: Access, length: int) -> int:
    """The number of words with those of a second question behind it: `x is defined and x is not none`."""
    if length < 0:
        return length
    joined = access.last + length
    size = access.last - access.first
    again = sites.words[joined + 1 : joined + 1 + size]
    if not sites.words[joined].is_one("and") or [word.text for word in again] != [
        word.text for word in sites.words[access.first : access.last]
    ]:
        return length
    more = _asked([word.text for word in sites.words[joined + 1 + size : joined + 4 + size]])
    return length + 1 + size + more if more > 0 else length


def _looked_for_in(sites: Sites, access: Access, key: str) -> int:
    """The number of the word that is the key, where it is looked for in the access; else that of the access itself."""
    first = access.first
    for length in (2, 3):
        begin = first - length
        between = [word.text for word in sites.words[max(0, begin + 1) : first]]
        if begin >= 0 and sites.words[begin].string == key and between == ["not", "in"][2 - length + 1 :]:
            return begin if not sites.after(access).is_one(".") else first
    return first


def _unless_string(sites: Sites, access: Access, end: int, otherwise: str) -> Edit:
    text = f"{access.text} if {access.text} is string else {otherwise}"
    alone = sites.stands_alone(access.first, end)
    return Edit(access.start, sites.words[end - 1].end, text if alone else f"({text})")


def _loop_values(sites: Sites) -> Iterator[str]:
    """The second names of loops over two, and the names that are given the value under a key of the loop."""
    for at in range(len(sites.words) - 5):
        loop = sites.words[at : at + 5]
        if loop[0].is_one("for") and loop[2].is_one(",") and loop[4].is_one("in"):
            yield loop[3].text
    for access in sites.accesses:
        keyed = sites.words[access.last - 2].kind == "name" and sites.words[access.last - 1].is_one("]")
        if keyed and (name := sites.assigned(access)):
            yield name


def _parameters(sites: Sites) -> Iterator[str]:
    """The names of the parameters of macros."""
    for at, word in enumerate(sites.words[:-3]):
        if word.is_one("macro") and sites.words[at - 1].kind == "block_begin":
            end = sites.closed(at + 2)
            yield from (one.text for one in sites.words[at + 3 : end] if one.kind == "name")
