"""Data read as a format, by the annotations of its fields; `format_data.py` calls it.

Nothing of the data is run. It is bounded: how much there is of it, how long its texts are, how deep engines nest; a
regular expression is taken where `safe_regex.py` takes it. What is wrong is a `BadFormat` that names the member,
what is expected there, and what was found.
"""

from __future__ import annotations

import difflib
import re
import types
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, Field, dataclass, fields
from functools import cache
from typing import Any, Literal, NoReturn, Union, get_args, get_origin, get_type_hints

from toolfmt._util.text_lists import listed
from toolfmt.errors import BadFormat, CannotWrite
from toolfmt.formats.engines.frame import Frame
from toolfmt.formats.format import ToolCallFormat
from toolfmt.formats.serialization.safe_regex import NotTaken, check_pattern
from toolfmt.formats.serialization.schema import MADE_OF_A_ROW, ROLES, Role
from toolfmt.formats.values.call_id_template import check_id_form
from toolfmt.formats.writing import write

VERSION, VERSION_MEMBER = 1, "toolfmt_format"
LONGEST_TEXT = 1 << 18
"""Characters of a file; what toolfmt's own formats are stored in has 9,000 at most."""
_LONGEST_PROSE = 20_000
"""Characters of what people and models read: the page, the instructions."""
_LONGEST_MARKER = 400
_MOST_VALUES = 4_000
_LONGEST_LIST = 200
"""What reading looks for is looked for at every character: no format has a tenth of that."""
_DEEPEST = 8
"""Engines within engines."""
_SHOWN = 40
_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,79}")
_MAY_BE_EMPTY = frozenset({"brackets", "enclosing", "fence", "inside"})
"""Members that stand around something, and are not looked for where they are empty."""
_PROSE = frozenset({"page", "instructions"})
_CALL = ("get_weather", {"city": "Paris", "days": 3})
_TOOL = {
    "name": _CALL[0],
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}},
}


def read_format(data: object, source: str) -> ToolCallFormat:
    """The format that this data describes, tried. Raises `BadFormat`."""
    reader = _Reader(source)
    if not isinstance(data, dict):
        reader.refuse("", f"a format must be an object with the member {VERSION_MEMBER!r}, not {_found(data)}")
    version = data.get(VERSION_MEMBER)
    if version != VERSION or isinstance(version, bool):
        told = f"not {_found(version)}" if VERSION_MEMBER in data else "but is missing"
        reader.refuse(VERSION_MEMBER, f"must be {VERSION}, the version of this file format, {told}")
    members = {name: value for name, value in data.items() if name != VERSION_MEMBER}
    format: ToolCallFormat = reader.record(ToolCallFormat, members, "", 0)
    _check_texts(format, reader)
    _check_works(format, reader)
    return format


@dataclass
class _Reader:
    """Reads values by annotations; `left` is how many more there may be."""

    source: str
    left: int = _MOST_VALUES

    def refuse(self, path: str, why: str) -> NoReturn:
        raise BadFormat(f"{self.source}: {path + ': ' if path else ''}{why}")

    def value(self, hint: Any, value: object, path: str, depth: int) -> Any:
        """What the data means where this annotation stands."""
        self.left -= 1
        if self.left < 0:
            self.refuse(path, f"there are more than {_MOST_VALUES:,} values, the maximum for a format")
        if isinstance(hint, type) and hint in (str, int, bool, type(None)):
            return self._plain(hint, value, path)
        if hint in ROLES:
            return self._of_role(ROLES[hint], hint, value, path, depth)
        origin = get_origin(hint)
        if origin in (Union, types.UnionType):
            return self._either(hint, value, path, depth)
        if origin is Literal:
            if value not in get_args(hint) or not isinstance(value, str):
                self.refuse(path, f"must be {expected(hint)}, not {_found(value)}")
            return value
        if origin is tuple:
            return self._row(hint, value, path, depth)
        if origin is not None and issubclass(origin, Mapping):
            return self._mapping(hint, value, path, depth)
        raise AssertionError(f"no file can hold {hint}: {path}")

    def record(self, record: type, members: Mapping[str, object], path: str, depth: int) -> Any:
        """A dataclass of its members; those that are missing have their defaults."""
        known = {field.name: field for field in fields(record)}
        read = {}
        for name, value in members.items():
            if name not in known:
                self.refuse(path, f"unknown member {_found(name)}{_hint(name, known)}")
            read[name] = self.value(_hints(record)[name], value, f"{path}.{name}".lstrip("."), depth)
        for name, field in known.items():
            if name not in read and _is_required(field):
                self.refuse(f"{path}.{name}".lstrip("."), f"is missing; it must be {expected(_hints(record)[name])}")
        if record is ToolCallFormat or issubclass(record, Frame):
            self._no_empty_markers(read, path)
        try:
            if record in MADE_OF_A_ROW:
                return record(*read[MADE_OF_A_ROW[record]])
            return record(**read)
        except (ValueError, TypeError) as error:
            self.refuse(path, str(error))

    def _no_empty_markers(self, members: Mapping[str, object], path: str) -> None:
        for name, value in members.items():
            if isinstance(value, tuple) and name not in _MAY_BE_EMPTY:
                for at, item in enumerate(value):
                    if item == "" or (isinstance(item, tuple) and "" in item):
                        where = f"{path}.{name}[{at}]".lstrip(".")
                        self.refuse(where, "must not be empty: it would match everywhere")

    def _plain(self, hint: type, value: object, path: str) -> object:
        if type(value) is not hint:
            self.refuse(path, f"must be {expected(hint)}, not {_found(value)}")
        if isinstance(value, str):
            most = _LONGEST_PROSE if path in _PROSE else _LONGEST_MARKER
            if len(value) > most:
                self.refuse(path, f"is longer than {most:,} characters")
            if re.search("[\ud800-\udfff]", value):
                self.refuse(path, "contains half of a surrogate pair, which is not valid text")
        return value

    def _of_role(self, role: Role, hint: Any, value: object, path: str, depth: int) -> Any:
        if isinstance(value, str) and role.constants:
            self.left -= 1
            if value not in role.constants:
                near = _hint(value, role.constants)
                self.refuse(path, f"unknown {_bare(role)} {_found(value)}{near or _one_of(role.constants)}")
            return role.constants[value]
        if not isinstance(value, dict) or not role.kinds:
            self.refuse(path, f"must be {expected(hint)}, not {_found(value)}")
        self.left -= 1
        if depth >= _DEEPEST:
            self.refuse(path, f"is nested more than {_DEEPEST} levels deep")
        if "" in role.kinds:
            return self.record(role.kinds[""], value, path, depth + 1)
        kind = value.get("kind")
        if not isinstance(kind, str):
            told = f"not {_found(kind)}" if "kind" in value else "but is missing"
            self.refuse(f"{path}.kind", f"must name the kind of {_bare(role)}, {told}{_one_of(role.kinds)}")
        if kind not in role.kinds:
            near = _hint(kind, role.kinds)
            self.refuse(f"{path}.kind", f"unknown {_bare(role)} kind {_found(kind)}{near or _one_of(role.kinds)}")
        members = {name: inner for name, inner in value.items() if name != "kind"}
        return self.record(role.kinds[kind], members, path, depth + 1)

    def _either(self, hint: Any, value: object, path: str, depth: int) -> Any:
        """The first annotation that fits; where none does, what is wrong with the value by the likeliest one."""
        told: BadFormat | None = None
        left = self.left
        for one in get_args(hint):
            try:
                return self.value(one, value, path, depth)
            except BadFormat as fault:
                if self.left < left - 1:  # it is of this kind; what is wrong is further within
                    told = fault
                self.left = left
        if told is None:
            return self.refuse(path, f"must be {expected(hint)}, not {_found(value)}")
        raise told

    def _row(self, hint: Any, value: object, path: str, depth: int) -> tuple[Any, ...]:
        inner = get_args(hint)
        many = len(inner) == 2 and inner[1] is Ellipsis
        if not isinstance(value, (list, tuple)) or (not many and len(value) != len(inner)):
            self.refuse(path, f"must be {expected(hint)}, not {_found(value)}")
        if len(value) > _LONGEST_LIST:
            self.refuse(path, f"has {len(value):,} items, but the maximum is {_LONGEST_LIST}")
        hints = [inner[0]] * len(value) if many else inner
        return tuple(
            self.value(one, item, f"{path}[{at}]", depth)
            for at, (one, item) in enumerate(zip(hints, value, strict=True))
        )

    def _mapping(self, hint: Any, value: object, path: str, depth: int) -> dict[str, Any]:
        if not isinstance(value, dict):
            self.refuse(path, f"must be {expected(hint)}, not {_found(value)}")
        read = {}
        for key, item in value.items():
            name = self._plain(str, key, f"{path} (name of a member)")
            if not name:
                self.refuse(path, "has a member with an empty name")
            read[key] = self.value(get_args(hint)[1], item, f"{path}[{key[:_SHOWN]!r}]", depth)
        return read


# --- what no annotation says


def _check_texts(format: ToolCallFormat, reader: _Reader) -> None:
    """That names can be typed, patterns be matched and ids be told apart, and that markers are some."""
    for path, name in (("name", format.name), *((f"aliases[{at}]", name) for at, name in enumerate(format.aliases))):
        if not _NAME.fullmatch(name) or name.endswith(".json"):
            reader.refuse(path, f"must be at most 80 letters, digits, '_', '-' and '.', not {_found(name)}")
    if format.variant and format.variant not in format.variants:
        reader.refuse(
            "variant", f"{_found(format.variant)} is not in `variants`{_hint(format.variant, format.variants)}"
        )
    engine, begins = format.engine, {opener for opener, _ in format.reasoning_read}
    begins.update(engine.openers, engine.start_only_openers, engine.unframed_openers)
    for at, mark in enumerate(format.between):
        if mark not in begins:
            reader.refuse(f"between[{at}]", f"{_found(mark)} is not a start marker of `reasoning` or of a call")
    for member in ("signatures", "headers"):
        for at, pattern in enumerate(getattr(format, member)):
            try:
                check_pattern(pattern)
            except NotTaken as why:
                if not _is_own(member, pattern):
                    reader.refuse(f"{member}[{at}]", str(why))
    _check_call_id(format.call_id, reader)


def _is_own(member: str, pattern: str) -> bool:
    """Whether a format of toolfmt itself has this pattern, so that every template is searched for it anyway."""
    from toolfmt.formats.known import KNOWN

    return any(pattern in getattr(format, member) for format in KNOWN)


def _check_call_id(form: str, reader: _Reader) -> None:
    """That the form of an id names nothing but name and number, which it must: else calls would share an id."""
    try:
        check_id_form(form, "call_id")
    except ValueError as fault:
        reader.refuse("call_id", str(fault).removeprefix("call_id "))
    if "{number" not in form:
        reader.refuse("call_id", f"is {_found(form)}, but must contain {{number}}, so that ids are unique")


def _try(format: ToolCallFormat) -> None:
    """Writes a call and reads it back; where only declared tools are called, this one is declared."""
    try:
        write(format, [_CALL])
    except CannotWrite:
        write(format, [_CALL], [_TOOL])


def _check_works(format: ToolCallFormat, reader: _Reader) -> None:
    """That each writer writes a call which the format reads back."""
    for variant in ("", *format.variants):
        where = f"variants[{variant!r}]" if variant else "engine"
        try:
            _try(format.with_variant(variant))
        except CannotWrite as unread:
            reader.refuse(where, f"does not parse the call that it writes ({unread})")
        except Exception as error:  # noqa: BLE001 - whatever markers that make no sense lead an engine to
            why = " ".join(f"{type(error).__name__}: {error}".split())
            reader.refuse(where, f"cannot write a call and parse it back ({why[:200]})")


# --- words


def expected(hint: Any) -> str:
    """What a person is told to write where this annotation stands."""
    if hint in ROLES:
        role = ROLES[hint]
        return role.called + _named(role)
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return listed((expected(one) for one in inner), "or")
    if origin is Literal:
        return listed((repr(one) for one in inner), "or")
    if origin is tuple:
        if not inner:
            return "an empty list"
        if inner[-1] is Ellipsis:
            return f"a list in which each item is {expected(inner[0])}"
        return f"a list of {len(inner)}: {', '.join(map(expected, inner))}"
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return f"an object in which each member is {expected(inner[1])}"
    return {str: "a string", int: "an integer", bool: "true or false", type(None): "null"}[hint]


def _named(role: Role) -> str:
    ways = []
    if role.constants:
        ways.append(f"one of {listed(map(repr, role.constants), 'or')}")
    if set(role.kinds) - {""}:
        ways.append("an object with `kind`")
    return f" ({' or '.join(ways)})" if ways else ""


def _bare(role: Role) -> str:
    return role.called.removeprefix("an ").removeprefix("a ")


def _one_of(names: Iterable[str]) -> str:
    return f"; choose from {listed(sorted(names))}"


def _hint(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name[:_SHOWN], list(known), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def _found(value: object) -> str:
    """What stands there, shortly, in JSON's words."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, (str, int, float)):
        shown = repr(value[: _SHOWN + 1]) if isinstance(value, str) else str(value)
        return shown if len(shown) <= _SHOWN + 2 else f"{shown[:_SHOWN]}…"
    if isinstance(value, (list, tuple)):
        return f"a list of {len(value)}"
    return "an object" if isinstance(value, dict) else f"a value of type {type(value).__name__}"


def _is_required(field: Field[Any]) -> bool:
    return field.default is MISSING and field.default_factory is MISSING


@cache
def _hints(record: type) -> dict[str, Any]:
    return get_type_hints(record)
