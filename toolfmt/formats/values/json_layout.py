"""How a family writes the JSON object of a call, as data: literals with placeholders between them.

The JSON object engine writes calls with it, and derives from it which members the family's objects have. The data may
come from an untrusted file: nothing in it is executed, and a constructor raises `ValueError` for invalid data.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from toolfmt.formats.values.call_id_template import check_id_form, format_call_id
from toolfmt.formats.values.json_style import AS_DUMPED, JsonStyle
from toolfmt.formats.values.layout import CallText, JsonArguments
from toolfmt.formats.values.nodes import Node, row
from toolfmt.formats.values.syntaxes import LITERAL
from toolfmt.formats.values.value_reader import whole_value

NAME, ARGUMENTS, ARGUMENTS_STRING, ID, NUMBER = "name", "arguments", "arguments_string", "id", "number"
"""The placeholders: the tool's name and the call's id as strings, the arguments as an object or as a JSON string that
contains one, and the number of the call in the output."""
PLACES = (NAME, ARGUMENTS, ARGUMENTS_STRING, ID, NUMBER)

_SENTINEL = "zq place of "
_LONGEST_EXAMPLE = 20_000


@dataclass(frozen=True)
class WrittenObject:
    """Writes the object of one call.

    Attributes:
        pieces: Alternating literals and placeholders (`PLACES`), with a literal first and last. There is one
            placeholder for the name, one for the arguments, and optionally one for the id and one for the number.
        style: The style of the arguments.
        quote: The quote around name and id.
        id: The template of ids (`call{number:05d}`).

    Raises:
        ValueError: The pieces are not an object with a name and arguments, or another attribute is invalid.
    """

    pieces: tuple[str, ...] = ('{"name": ', NAME, ', "arguments": ', ARGUMENTS, "}")
    style: JsonStyle = AS_DUMPED
    quote: str = '"'
    id: str = ""

    def __post_init__(self) -> None:
        places = self.pieces[1::2]
        for place in places:
            if place not in PLACES:
                raise ValueError(f"pieces has the placeholder {place!r:.80}, but only {', '.join(PLACES)} are known")
        if len(self.pieces) % 2 == 0 or len(set(places)) != len(places):
            raise ValueError("pieces must alternate literals and distinct placeholders, with a literal first and last")
        if NAME not in places or (ARGUMENTS in places) == (ARGUMENTS_STRING in places):
            raise ValueError("pieces must have one placeholder for the name and one for the arguments")
        if self.quote not in ('"', "'"):
            raise ValueError(f"quote is {self.quote!r:.80}, but must be a double or a single quote")
        if (ID in places) != bool(self.id):
            raise ValueError("id must be set if, and only if, pieces has a placeholder for it")
        check_id_form(self.id, "id")
        self._members_read()

    @property
    def layout(self) -> Node:
        """The object of a call."""
        return row(*(self._hole(piece) if at % 2 else piece for at, piece in enumerate(self.pieces)))

    def _hole(self, place: str) -> Node:
        if place == NAME:
            return CallText(lambda name, at: self._word(name))
        if place == ID:
            return CallText(lambda name, at: self._word(format_call_id(self.id, name, at)))
        if place == NUMBER:
            return CallText(lambda name, at: str(at))
        return JsonArguments(self.style, in_string=place == ARGUMENTS_STRING)

    def _word(self, word: str) -> str:
        if self.quote == "'":
            return f"'{word}'"  # templates with single quotes do not escape the name or the id
        return json.dumps(word, ensure_ascii=self.style.ascii)

    @classmethod
    def plain(cls, name_key: str, arguments_key: str, wrapper: str = "") -> WrittenObject:
        """Return the layout of an object with the name and the arguments under these keys, and no other members.

        Args:
            name_key: The key of the name.
            arguments_key: The key of the arguments.
            wrapper: The key of an outer object around this one. Empty if there is none.
        """
        name, arguments = (json.dumps(key, ensure_ascii=False) for key in (name_key, arguments_key))
        outer = f"{{{json.dumps(wrapper, ensure_ascii=False)}: " if wrapper else ""
        return cls((f"{outer}{{{name}: ", NAME, f", {arguments}: ", ARGUMENTS, "}}" if wrapper else "}"))

    @cached_property
    def members(self) -> Members:
        """The keys of the parts of a call."""
        return self._members_read()

    def _members_read(self) -> Members:
        sentinels = {place: f'"{_SENTINEL}{place}"' for place in PLACES}
        text = "".join(sentinels[piece] if at % 2 else piece for at, piece in enumerate(self.pieces))
        read = whole_value(text.strip(), LITERAL)
        if read is None or read[1] or not read[0].startswith("{"):
            raise ValueError(f"pieces is not a JSON object: {''.join(self.pieces)!r:.120}")
        return _members_of(json.loads(read[0]))

    @classmethod
    def from_example(
        cls, text: str, name: str, arguments: Mapping[str, Any], *, id: str = "", id_form: str = "call{number:05d}"
    ) -> WrittenObject:
        """Return the layout of the object in an example.

        Name and id are located as strings, the arguments as an object or as a string that contains their JSON, in any
        `JsonStyle`. All other text becomes literals.

        Args:
            text: The object of a call as text.
            name: The tool's name in it.
            arguments: The arguments in it, at least one. Two show the delimiter between them.
            id: The id in it. Empty if it has none.
            id_form: The template of ids for the layout.

        Raises:
            ValueError: The example is too long, has no arguments, or its parts are missing, ambiguous or part of
                another member.
        """
        if not arguments or len(text) > _LONGEST_EXAMPLE:
            raise ValueError("an example must be a short string with a call that has arguments")
        begin, end, place, style = _find_arguments(text, arguments)
        found = [(begin, end, place)]
        quotes = set()
        for word, what in ((name, NAME), (id, ID)):
            if word:
                at, after = _find_word(text, word, what, (begin, end))
                found.append((at, after, what))
                quotes.add(text[at])
        if len(quotes) > 1:
            raise ValueError("name and id are in different quotes")
        pieces, here = [], 0
        for at, after, what in sorted(found):
            pieces += [text[here:at], what]
            here = after
        pieces.append(text[here:])
        if any(word and word in literal for word in (name, id) for literal in pieces[::2]):
            raise ValueError("the name or the id is inside another member")
        return cls(tuple(pieces), style, quotes.pop(), id_form if id else "")


@dataclass(frozen=True)
class Members:
    """The keys of a call's object.

    Attributes:
        name: The key of the name. Empty if the name is the key of the arguments.
        arguments: The key of the arguments.
        wrapper: The key of the object that contains both. Empty if there is none.
        id: The key of the id.
        others: The other keys that the family writes.
        kind: The value of the key `type`.
        arguments_first: Whether the arguments come before the name.
        arguments_string: Whether the arguments are a string that contains their JSON.
    """

    name: str
    arguments: str
    wrapper: str = ""
    id: str = ""
    others: tuple[str, ...] = ()
    kind: str = ""
    arguments_first: bool = False
    arguments_string: bool = False


def _members_of(value: dict[str, Any]) -> Members:
    """Return the keys of a call's object in which sentinels replace the placeholders.

    Raises `ValueError` if the name and the arguments are not in the same object.
    """
    places = {f"{_SENTINEL}{place}": place for place in PLACES}
    wrappers = [key for key, inner in value.items() if isinstance(inner, dict) and _has_placeholder(inner)]
    wrapper = wrappers[0] if wrappers else ""
    inner = value[wrapper] if wrappers else value
    placed = {places[member]: key for key, member in inner.items() if isinstance(member, str) and member in places}
    outer = {places[member]: key for key, member in value.items() if isinstance(member, str) and member in places}
    arguments = placed.get(ARGUMENTS, placed.get(ARGUMENTS_STRING))
    if arguments is None or len(wrappers) > 1 or (NAME not in placed and arguments not in places):
        raise ValueError("pieces must have name and arguments in the same object, at most one level deep")
    own = {*placed.values()} | ({wrapper} if wrapper else set()) | set(outer.values())
    if arguments in places:
        if places[arguments] != NAME or wrapper or len(value) > 1:
            raise ValueError("pieces uses the name as a key, but has other members too")
        return Members("", "", arguments_string=ARGUMENTS_STRING in placed)
    keys = [*inner, *(value if wrapper else ())]
    if any(key in places for key in keys):
        raise ValueError("pieces has a placeholder in place of a key")
    ids = placed.get(ID, outer.get(ID, ""))
    others = [key for key in keys if key not in own or key == (placed | outer).get(NUMBER)]
    kind = next((part["type"] for part in (value, inner) if isinstance(part.get("type"), str)), "")
    return Members(
        placed[NAME],
        arguments,
        wrapper,
        ids,
        tuple(dict.fromkeys(others)),
        kind if kind not in places else "",
        list(inner).index(arguments) < list(inner).index(placed[NAME]),
        ARGUMENTS_STRING in placed,
    )


def _has_placeholder(value: Any) -> bool:
    return any(
        isinstance(member, str) and member.startswith(_SENTINEL) for pair in value.items() for member in pair
    ) or any(isinstance(member, dict) and _has_placeholder(member) for member in value.values())


KEYED = WrittenObject(("{", NAME, ": ", ARGUMENTS, "}"))
"""The layout with the tool's name as the key of its arguments."""


NAME_AND_ARGUMENTS = Members("name", "arguments")


# --- reading an example


def _find_arguments(text: str, arguments: Mapping[str, Any]) -> tuple[int, int, str, JsonStyle]:
    """Return where the arguments begin and end in a text, their placeholder, and their style. Raises `ValueError`."""
    expected = json.dumps(dict(arguments), sort_keys=True)
    found = []
    for at, value, end in _values(text, "{"):
        if json.dumps(value, sort_keys=True) == expected:
            found.append((at, end, ARGUMENTS, text[at:end]))
    for at, value, end in _values(text, '"'):
        inner, after = next(((inner, after) for _, inner, after in _values(value, "{", 1)), (None, 0))
        if value.startswith("{") and after == len(value) and json.dumps(inner, sort_keys=True) == expected:
            found.append((at, end, ARGUMENTS_STRING, value))
    if not found:
        for style in (JsonStyle(python=True), JsonStyle(sort_keys=True, python=True)):
            as_python = style(dict(arguments))
            if not found and text.count(as_python) == 1:
                at = text.index(as_python)
                found.append((at, at + len(as_python), ARGUMENTS, as_python))
    if len(found) != 1:
        raise ValueError("the arguments are not in the object" if not found else "the arguments are in it twice")
    begin, end, place, written = found[0]
    return begin, end, place, JsonStyle.of(written, dict(arguments))


def _values(text: str, opening: str, most: int = 1000) -> Iterator[tuple[int, Any, int]]:
    """Yield the JSON values in a text that start with a character, each between its start and its end offset.

    Args:
        text: The text.
        opening: The first character of the values.
        most: The maximum number of occurrences of the character to try.
    """
    decoder, at = json.JSONDecoder(), -1
    for _ in range(most):
        at = text.find(opening, at + 1)
        if at < 0:
            return
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            continue
        yield at, value, end


def _find_word(text: str, word: str, what: str, arguments: tuple[int, int]) -> tuple[int, int]:
    """Return where a word begins and ends as a string outside of the arguments. Raises `ValueError`."""
    forms = {json.dumps(word, ensure_ascii=ascii) for ascii in (False, True)} | {f"'{word}'"}
    found = []
    for form in forms:
        found += [(match.start(), match.end()) for match in re.finditer(re.escape(form), text)]
    outside = [(begin, end) for begin, end in found if end <= arguments[0] or begin >= arguments[1]]
    if len(outside) != 1:
        where = "is not in the object" if not outside else "is in it twice"
        raise ValueError(f"the {what} {where}")
    return outside[0]
