"""Write values of a format as Python source in the layout of `ruff format`.

It supports what a format stored as data may contain: the tables of `toolfmt.formats.serialization.schema` list the
classes and constants.
"""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, fields
from typing import Any, TypeAlias

from toolfmt.formats.serialization.schema import CONSTANTS, KIND_OF, VARIADIC_MEMBER

WIDTH = 120
_STEP = 4
_LONGEST_PIECE = 90

Imports: TypeAlias = dict[str, set[str]]
"""Names by the module that they are imported from."""


def expression(value: Any, imports: Imports, indent: int = 0, taken: int = 0) -> str:
    """Return a value as an expression at this indentation depth.

    `taken` is the number of characters on its line before and after it. Imported names are added to `imports`. Raises
    `TypeError` for a value that stored formats cannot contain.
    """
    room = WIDTH - indent * _STEP - taken
    if isinstance(value, str):
        return _text(value, indent, room)
    if value is None or isinstance(value, (bool, int, float)):
        return repr(value)
    if isinstance(value, tuple):
        return _bracketed("(", ")", [_Item("", item) for item in value], imports, indent, room)
    if isinstance(value, Mapping):
        items = [_Item(f"{literal(key)}: ", item) for key, item in value.items()]
        return _bracketed("{", "}", items, imports, indent, room)
    return _constant(value, imports) or _record(value, imports, indent, room)


def keyword(name: str, value: Any, imports: Imports, indent: int) -> str:
    """Return a keyword argument on a separate line, without its comma."""
    return f"{name}={expression(value, imports, indent, len(name) + 2)}"


def import_lines(imports: Mapping[str, Iterable[str]]) -> str:
    """Return the import statements, sorted as ruff sorts them."""
    return "".join(_import_line(module, sorted(names, key=_kind_of_name)) for module, names in sorted(imports.items()))


def _import_line(module: str, names: list[str]) -> str:
    line = f"from {module} import {', '.join(names)}\n"
    if len(line) <= WIDTH + 1:
        return line
    return f"from {module} import (\n" + "".join(f"    {name},\n" for name in names) + ")\n"


def _kind_of_name(name: str) -> tuple[int, str]:
    """Return the sort group of an imported name: constants, classes, others."""
    return (0 if name.isupper() and len(name) > 1 else 1 if name[0].isupper() else 2, name)


def columns(text: str) -> int:
    """Return the width of a line as ruff measures it: East Asian wide characters take two columns."""
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def literal(text: str) -> str:
    """Return a string in the quotes that need fewer escapes, double ones if equal."""
    quote = "'" if text.count('"') > text.count("'") else '"'
    return quote + "".join(_char(char, quote) for char in text) + quote


def pattern(text: str) -> str:
    """Return a regular expression as a raw string if possible."""
    raw = text.isprintable() and '"' not in text and "\\" in text and not text.endswith("\\")
    return f'r"{text}"' if raw else literal(text)


def _char(char: str, quote: str) -> str:
    if char in (quote, "\\"):
        return "\\" + char
    return char if char.isprintable() else repr(char)[1:-1]


def _text(text: str, indent: int, room: int) -> str:
    """Return a string, split over several lines if it is too long."""
    whole = literal(text)
    if columns(whole) <= room or len(text) <= _LONGEST_PIECE or " " not in text:
        return whole
    margin = " " * (indent + 1) * _STEP
    lines = "".join(f"{margin}{literal(piece)}\n" for piece in _pieces(text, WIDTH - len(margin) - 2))
    return f"(\n{lines}{margin[:-_STEP]})"


def _pieces(text: str, longest: int) -> Iterable[str]:
    """Yield the text split after spaces. Each piece fits on its line as a literal."""
    piece = ""
    for word in text.replace(" ", " \0").split("\0"):
        if piece and columns(literal(piece + word)) > longest + 2:
            yield piece
            piece = ""
        piece += word
    yield piece


class _Item:
    """An item between brackets: what precedes its value, and the value."""

    def __init__(self, lead: str, value: Any) -> None:
        self.lead = lead
        self.value = value

    def source(self, imports: Imports, indent: int) -> str:
        return self.lead + expression(self.value, imports, indent, len(self.lead) + 1)


def _bracketed(opener: str, closer: str, items: list[_Item], imports: Imports, indent: int, room: int) -> str:
    """Return items between brackets: on the current line if they fit, else one per line."""
    short = [item.source(imports, 0) for item in items]
    comma = "," if opener == "(" and len(items) == 1 and not items[0].lead else ""
    line = f"{opener}{', '.join(short)}{comma}{closer}"
    if columns(line) <= room and "\n" not in line:
        return line
    return _exploded(opener, closer, [item.source(imports, indent + 1) for item in items], indent)


def _exploded(opener: str, closer: str, items: Iterable[str], indent: int) -> str:
    margin = " " * (indent + 1) * _STEP
    return f"{opener}\n" + "".join(f"{margin}{item},\n" for item in items) + margin[:-_STEP] + closer


def _constant(value: Any, imports: Imports) -> str:
    """Return the name of the constant with this value in the module of its class. Empty if there is none."""
    module = type(value).__module__
    if not any(type(value) is type(known) and value == known for _, known in CONSTANTS):
        return ""
    named = (name for name, there in vars(sys.modules[module]).items() if there is value and name.isupper())
    name = next((name for name in named if not name.startswith("_")), "")
    if name:
        imports.setdefault(module, set()).add(name)
    return name


def _record(value: Any, imports: Imports, indent: int, room: int) -> str:
    """Return an object of one of a format's classes, with the fields that differ from the defaults."""
    kind = type(value)
    if kind not in KIND_OF and not any(kind is type(known) for _, known in CONSTANTS):
        raise TypeError(f"{kind.__name__} is not part of a stored format")
    imports.setdefault(kind.__module__, set()).add(kind.__name__)
    row = VARIADIC_MEMBER.get(kind)
    if row is not None:
        items = [_Item("", item) for item in getattr(value, row)]
    else:
        items = [_Item(f"{name}=", item) for name, item in changed(value)]
    return _call(kind.__name__, items, imports, indent, room)


def _call(name: str, items: list[_Item], imports: Imports, indent: int, room: int) -> str:
    short = f"{name}({', '.join(item.source(imports, 0) for item in items)})"
    if columns(short) <= room and "\n" not in short:
        return short
    return _exploded(f"{name}(", ")", [item.source(imports, indent + 1) for item in items], indent)


def changed(record: Any, but: Callable[[str], bool] = lambda name: False) -> list[tuple[str, Any]]:
    """Return the fields of a dataclass that differ from their defaults, except those in `but`."""
    return [
        (field.name, value)
        for field in fields(record)
        if not but(field.name) and not _is_default(field, value := getattr(record, field.name))
    ]


def _is_default(field: Field[Any], value: Any) -> bool:
    if field.default_factory is not MISSING:
        return bool(value == field.default_factory())
    return field.default is not MISSING and bool(value == field.default)
