"""How a family spells the JSON object of a call, as data: literal pieces, and the places between them.

The JSON object engine writes calls with it, and reads from it which members the family's objects have. All of it may
come from a file: nothing here runs what it is given, and whatever is no object of a call is refused with `ValueError`
when the value is made.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from toolfmt.formats.values.call_id_template import check_id_form, made_id
from toolfmt.formats.values.value_reader import LITERAL, whole_value

NAME, ARGUMENTS, ARGUMENTS_STRING, ID, NUMBER = "name", "arguments", "arguments_string", "id", "number"
"""What may stand in a place: the tool's name and the call's id as strings, the arguments as an object or as a string
that holds their JSON, and the call's number in the answer."""
PLACES = (NAME, ARGUMENTS, ARGUMENTS_STRING, ID, NUMBER)

_SENTINEL = "zq place of "
_LONGEST_EXAMPLE = 20_000
_MOST_INDENT = 16
_COMMA, _COLON = re.compile(r"[ \t]{0,4},[ \t]{0,4}"), re.compile(r"[ \t]{0,4}:[ \t]{0,4}")
_BLANKS = re.compile(r"[ \t]{0,64}")
_SIGNS = ((", ", ": "), (",", ":"), (",", ": "), (", ", ":"), (" , ", " : "), (", ", " : "), (",", " : "))
"""Signs between members, and between key and value: the commonest first, as one member shows only the second."""


@dataclass(frozen=True)
class JsonStyle:
    """How a value is spelt.

    `comma` and `colon` are the signs with their blanks. With an `indent` members stand on lines of their own, `margin`
    before each line but the first. `python` is Python's own notation: single quotes, `True`, `None`; the signs are
    Python's then.
    """

    comma: str = ", "
    colon: str = ": "
    indent: int | None = None
    margin: str = ""
    sort_keys: bool = False
    ascii: bool = False
    python: bool = False

    def __post_init__(self) -> None:
        for parameter, sign, form in (("comma", self.comma, _COMMA), ("colon", self.colon, _COLON)):
            if not form.fullmatch(sign):
                raise ValueError(f"{parameter} is {sign!r:.80}, but must be the delimiter with a few spaces around it")
        if self.indent is not None and not 0 <= self.indent <= _MOST_INDENT:
            raise ValueError(f"indent is {self.indent!r:.80}, but must be a number from 0 to {_MOST_INDENT}")
        if not _BLANKS.fullmatch(self.margin):
            raise ValueError(f"margin is {self.margin!r:.80}, but must consist of whitespace")
        if self.python and (self.comma, self.colon, self.indent, self.margin, self.ascii) != (
            ", ",
            ": ",
            None,
            "",
            False,
        ):
            raise ValueError("python: Python's syntax has its own delimiters; set no others")

    def __call__(self, value: Any) -> str:
        """The text of a JSON value."""
        if self.python:
            return repr(json.loads(json.dumps(value, sort_keys=self.sort_keys)))
        text = json.dumps(
            value,
            ensure_ascii=self.ascii,
            indent=self.indent,
            separators=(self.comma, self.colon),
            sort_keys=self.sort_keys,
        )
        return text.replace("\n", "\n" + self.margin) if self.margin else text

    @classmethod
    def of(cls, text: str, value: Mapping[str, Any]) -> JsonStyle:
        """The style in which the value is this text. Raises `ValueError` where it is none."""
        for style in _styles_like(text):
            if style(value) == text:
                return style
        raise ValueError(f"the arguments are written in no known style: {text!r:.80}")


def _styles_like(text: str) -> Iterator[JsonStyle]:
    """The styles that a text may be in, the likeliest first."""
    lines = text.split("\n")
    indent, margin, signs = None, "", list(_SIGNS)
    if len(lines) > 2:
        first, last = (line[: len(line) - len(line.lstrip(" "))] for line in (lines[1], lines[-1]))
        indent, margin = max(0, min(len(first) - len(last), _MOST_INDENT)), last[:64]
        signs = [(",", ": "), (",", ":"), (",", " : "), (", ", ": ")]
    for ascii in (False, True):
        for sort_keys in (False, True):
            for comma, colon in signs:
                yield JsonStyle(comma, colon, indent, margin, sort_keys, ascii)
    for sort_keys in (False, True):
        yield JsonStyle(sort_keys=sort_keys, python=True)


AS_DUMPED = JsonStyle()
"""As Python's `json.dumps` spells values by default, but for signs beyond ASCII, which stand as they are."""


@dataclass(frozen=True)
class WrittenObject:
    """The object of one call: a literal, a place, a literal and so on, beginning and ending with a literal.

    The odd `pieces` are names of places (`PLACES`): one for the name, one for the arguments, and where the family
    writes one an id or a number. `style` is that of the arguments, `quote` what stands around name and id, `id` the
    form of ids (`call{number:05d}`). Raises `ValueError` where that is no object with a name and arguments.
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

    def __call__(self, name: str, arguments: Mapping[str, Any], at: int) -> str:
        """The text of a call, `at` being its number in the answer."""
        return "".join(self._filled(place, name, arguments, at) for place in enumerate(self.pieces))

    def _filled(self, piece: tuple[int, str], name: str, arguments: Mapping[str, Any], at: int) -> str:
        place = piece[1] if piece[0] % 2 else ""
        if place == NAME:
            return self._word(name)
        if place == ID:
            return self._word(made_id(self.id, name, at))
        if place == NUMBER:
            return str(at)
        if place == ARGUMENTS:
            return self.style(dict(arguments))
        if place == ARGUMENTS_STRING:
            return json.dumps(self.style(dict(arguments)), ensure_ascii=self.style.ascii)
        return piece[1]

    def _word(self, word: str) -> str:
        if self.quote == "'":
            return f"'{word}'"  # templates that write so put the word between the quotes as it is
        return json.dumps(word, ensure_ascii=self.style.ascii)

    @classmethod
    def plain(cls, name_key: str, arguments_key: str, wrapper: str = "") -> WrittenObject:
        """Name and arguments under these keys, and nothing else."""
        name, arguments = (json.dumps(key, ensure_ascii=False) for key in (name_key, arguments_key))
        outer = f"{{{json.dumps(wrapper, ensure_ascii=False)}: " if wrapper else ""
        return cls((f"{outer}{{{name}: ", NAME, f", {arguments}: ", ARGUMENTS, "}}" if wrapper else "}"))

    def around(self, name: str, at: int) -> tuple[str, str]:
        """The text before the arguments and behind them, the quotes of a string of arguments left out."""
        filled = [self._filled(piece, name, {}, at) for piece in enumerate(self.pieces)]
        place = next(at for at, piece in enumerate(self.pieces) if at % 2 and piece in (ARGUMENTS, ARGUMENTS_STRING))
        return "".join(filled[:place]), "".join(filled[place + 1 :])

    @cached_property
    def members(self) -> Members:
        """Under which keys the parts of a call stand."""
        return self._members_read()

    def _members_read(self) -> Members:
        signs = {place: f'"{_SENTINEL}{place}"' for place in PLACES}
        text = "".join(signs[piece] if at % 2 else piece for at, piece in enumerate(self.pieces))
        read = whole_value(text.strip(), LITERAL)
        if read is None or read[1] or not read[0].startswith("{"):
            raise ValueError(f"pieces is not a JSON object: {''.join(self.pieces)!r:.120}")
        return _members_of(json.loads(read[0]))

    @classmethod
    def from_example(
        cls, text: str, name: str, arguments: Mapping[str, Any], *, id: str = "", id_form: str = "call{number:05d}"
    ) -> WrittenObject:
        """How the object in `text` is spelt, which is that of a call with this name and these arguments (one at least;
        two show the sign between them), and with this id where it has one.

        Name and id are found as strings, the arguments as an object or as a string that holds their JSON, in any
        `JsonStyle`; whatever else stands in the object is kept as it is. Raises `ValueError` where they are not found,
        found twice, or are parts of something else in it.
        """
        if not arguments or len(text) > _LONGEST_EXAMPLE:
            raise ValueError("an example must be a short string with a call that has arguments")
        begin, end, place, style = _place_of(text, arguments)
        found = [(begin, end, place)]
        quotes = set()
        for word, what in ((name, NAME), (id, ID)):
            if word:
                at, behind = _word_place(text, word, what, (begin, end))
                found.append((at, behind, what))
                quotes.add(text[at])
        if len(quotes) > 1:
            raise ValueError("name and id are in different quotes")
        pieces, here = [], 0
        for at, behind, what in sorted(found):
            pieces += [text[here:at], what]
            here = behind
        pieces.append(text[here:])
        if any(word and word in literal for word in (name, id) for literal in pieces[::2]):
            raise ValueError("the name or the id is inside another member")
        return cls(tuple(pieces), style, quotes.pop(), id_form if id else "")


@dataclass(frozen=True)
class Members:
    """The keys of a call's object: of the name (empty where the name is the key of the arguments), of the arguments, of
    the object that both stand in, of the id, and of whatever else the family writes; `kind` is what `type` says."""

    name: str
    arguments: str
    wrapper: str = ""
    id: str = ""
    others: tuple[str, ...] = ()
    kind: str = ""
    arguments_first: bool = False
    arguments_string: bool = False


def _members_of(value: dict[str, Any]) -> Members:
    """Raises `ValueError` where name and arguments do not stand in one object."""
    signs = {f"{_SENTINEL}{place}": place for place in PLACES}
    wrappers = [key for key, inner in value.items() if isinstance(inner, dict) and _holds_place(inner)]
    wrapper = wrappers[0] if wrappers else ""
    inner = value[wrapper] if wrappers else value
    placed = {signs[member]: key for key, member in inner.items() if isinstance(member, str) and member in signs}
    beside = {signs[member]: key for key, member in value.items() if isinstance(member, str) and member in signs}
    arguments = placed.get(ARGUMENTS, placed.get(ARGUMENTS_STRING))
    if arguments is None or len(wrappers) > 1 or (NAME not in placed and arguments not in signs):
        raise ValueError("pieces must have name and arguments in the same object, at most one level deep")
    own = {*placed.values()} | ({wrapper} if wrapper else set()) | set(beside.values())
    if arguments in signs:
        if signs[arguments] != NAME or wrapper or len(value) > 1:
            raise ValueError("pieces uses the name as a key, but has other members too")
        return Members("", "", arguments_string=ARGUMENTS_STRING in placed)
    keys = [*inner, *(value if wrapper else ())]
    if any(key in signs for key in keys):
        raise ValueError("pieces has a placeholder in place of a key")
    ids = placed.get(ID, beside.get(ID, ""))
    others = [key for key in keys if key not in own or key == (placed | beside).get(NUMBER)]
    kind = next((said["type"] for said in (value, inner) if isinstance(said.get("type"), str)), "")
    return Members(
        placed[NAME],
        arguments,
        wrapper,
        ids,
        tuple(dict.fromkeys(others)),
        kind if kind not in signs else "",
        list(inner).index(arguments) < list(inner).index(placed[NAME]),
        ARGUMENTS_STRING in placed,
    )


def _holds_place(value: Any) -> bool:
    return any(
        isinstance(member, str) and member.startswith(_SENTINEL) for pair in value.items() for member in pair
    ) or any(isinstance(member, dict) and _holds_place(member) for member in value.values())


KEYED = WrittenObject(("{", NAME, ": ", ARGUMENTS, "}"))
"""The tool's name as the key of its arguments."""


NAME_AND_ARGUMENTS = Members("name", "arguments")


# --- reading an example


def _place_of(text: str, arguments: Mapping[str, Any]) -> tuple[int, int, str, JsonStyle]:
    """Where the arguments stand, as what, and in which style."""
    wanted = json.dumps(dict(arguments), sort_keys=True)
    found = []
    for at, value, end in _values(text, "{"):
        if json.dumps(value, sort_keys=True) == wanted:
            found.append((at, end, ARGUMENTS, text[at:end]))
    for at, value, end in _values(text, '"'):
        inner, behind = next(((inner, behind) for _, inner, behind in _values(value, "{", 1)), (None, 0))
        if value.startswith("{") and behind == len(value) and json.dumps(inner, sort_keys=True) == wanted:
            found.append((at, end, ARGUMENTS_STRING, value))
    if not found:
        for style in (JsonStyle(python=True), JsonStyle(sort_keys=True, python=True)):
            as_python = style(dict(arguments))
            if not found and text.count(as_python) == 1:
                at = text.index(as_python)
                found.append((at, at + len(as_python), ARGUMENTS, as_python))
    if len(found) != 1:
        raise ValueError("the arguments are not in the object" if not found else "the arguments are in it twice")
    begin, end, place, spelt = found[0]
    return begin, end, place, JsonStyle.of(spelt, dict(arguments))


def _values(text: str, opening: str, most: int = 1000) -> Iterator[tuple[int, Any, int]]:
    """The JSON values in a text that begin with this sign: where, which, and where they end."""
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


def _word_place(text: str, word: str, what: str, arguments: tuple[int, int]) -> tuple[int, int]:
    """Where a word stands as a string, outside of the arguments."""
    spelt = {json.dumps(word, ensure_ascii=ascii) for ascii in (False, True)} | {f"'{word}'"}
    found = []
    for one in spelt:
        found += [(match.start(), match.end()) for match in re.finditer(re.escape(one), text)]
    outside = [(begin, end) for begin, end in found if end <= arguments[0] or begin >= arguments[1]]
    if len(outside) != 1:
        where = "is not in the object" if not outside else "is in it twice"
        raise ValueError(f"the {what} {where}")
    return outside[0]
