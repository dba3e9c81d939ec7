"""Decode data as a format, guided by the annotations of its fields. `format_data.py` calls it.

Nothing in the data is executed. Its size is limited: the number of values, the length of strings, the nesting of
engines. `safe_regex.py` decides which regular expressions are allowed. Invalid data raises a `BadFormat` that names the
member, what is expected there, and what was found.
"""

from __future__ import annotations

import difflib
import re
import types
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, Field, dataclass, fields
from functools import cache
from typing import Any, Literal, NoReturn, Union, get_args, get_origin, get_type_hints

from toolfmt._util.regular_expressions import UnsupportedPattern
from toolfmt._util.text_lists import listed
from toolfmt.errors import BadFormat, CannotWrite
from toolfmt.formats.engines.frame import Frame
from toolfmt.formats.format import ToolCallFormat
from toolfmt.formats.serialization.safe_regex import check_pattern
from toolfmt.formats.serialization.schema import ROLES, VARIADIC_MEMBER, Role
from toolfmt.formats.values.call_id_template import check_id_form
from toolfmt.formats.writing import write

VERSION, VERSION_MEMBER = 1, "toolfmt_format"
LONGEST_TEXT = 1 << 18
"""Maximum number of characters of a file. toolfmt's own formats have at most 9,000."""
_LONGEST_PAGE = 20_000
"""Maximum number of characters of the texts for people and models: the page and the instructions."""
_LONGEST_MARKER = 400
_MOST_VALUES = 4_000
_LONGEST_LIST = 200
"""The parser searches for every item at every character. Known formats have less than a tenth of this number."""
_DEEPEST = 8
"""Maximum nesting of engines."""
_MAX_SHOWN = 40
_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,79}")
_MAY_BE_EMPTY = frozenset({"brackets", "enclosing", "fence", "inside"})
"""Members whose strings enclose something. The parser does not search for them if they are empty."""
_LONG_TEXTS = frozenset({"page", "instructions"})
_CALL = ("get_weather", {"city": "Paris", "days": 3})
_TOOL = {
    "name": _CALL[0],
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}},
}


def read_format(data: object, source: str) -> ToolCallFormat:
    """Return the format that the data describes, after it has written and parsed a call.

    Args:
        data: The data, as `json.loads` returns it.
        source: What the data is called in errors, such as a file name.

    Raises:
        BadFormat: The data is not a valid format.
    """
    decoder = _Decoder(source)
    if not isinstance(data, dict):
        decoder.reject("", f"a format must be an object with the member {VERSION_MEMBER!r}, not {_shown(data)}")
    version = data.get(VERSION_MEMBER)
    if version != VERSION or isinstance(version, bool):
        what = f"{VERSION}, the version of this file format"
        if VERSION_MEMBER not in data:
            decoder.reject("", f'the key "{VERSION_MEMBER}" is missing; set it to {what}')
        decoder.reject(VERSION_MEMBER, f"must be {what}, not {_shown(version)}")
    members = {name: value for name, value in data.items() if name != VERSION_MEMBER}
    format: ToolCallFormat = decoder.record(ToolCallFormat, members, "", 0)
    _check_texts(format, decoder)
    _check_works(format, decoder)
    return format


@dataclass
class _Decoder:
    """Decodes values by annotations. `remaining` is the number of values that the data may still contain."""

    source: str
    remaining: int = _MOST_VALUES

    def reject(self, path: str, why: str) -> NoReturn:
        """Raise a `BadFormat` for the member at this path."""
        raise BadFormat(f"{self.source}: {path + ': ' if path else ''}{why}")

    def value(self, annotation: Any, value: object, path: str, depth: int) -> Any:
        """Return the value that the data represents for this annotation."""
        self.remaining -= 1
        if self.remaining < 0:
            self.reject(path, f"there are more than {_MOST_VALUES:,} values, the maximum for a format")
        if isinstance(annotation, type) and annotation in (str, int, bool, type(None)):
            return self._plain(annotation, value, path)
        if annotation in ROLES:
            return self._with_role(ROLES[annotation], annotation, value, path, depth)
        origin = get_origin(annotation)
        if origin in (Union, types.UnionType):
            return self._union(annotation, value, path, depth)
        if origin is Literal:
            if value not in get_args(annotation) or not isinstance(value, str):
                self.reject(path, f"must be {expected(annotation)}, not {_shown(value)}")
            return value
        if origin is tuple:
            return self._tuple(annotation, value, path, depth)
        if origin is not None and issubclass(origin, Mapping):
            return self._mapping(annotation, value, path, depth)
        raise AssertionError(f"a file cannot contain {annotation}: {path}")

    def record(self, record: type, members: Mapping[str, object], path: str, depth: int) -> Any:
        """Return a dataclass with these members. Missing members have their defaults."""
        known = {field.name: field for field in fields(record)}
        read = {}
        for name, value in members.items():
            if name not in known:
                self.reject(path, f"unknown member {_shown(name)}{_suggestion(name, known)}")
            read[name] = self.value(_annotations(record)[name], value, f"{path}.{name}".lstrip("."), depth)
        for name, field in known.items():
            if name not in read and _is_required(field):
                self.reject(
                    f"{path}.{name}".lstrip("."), f"is missing; it must be {expected(_annotations(record)[name])}"
                )
        if record is ToolCallFormat or issubclass(record, Frame):
            self._no_empty_markers(read, path)
        try:
            if record in VARIADIC_MEMBER:
                return record(*read[VARIADIC_MEMBER[record]])
            return record(**read)
        except (ValueError, TypeError) as error:
            self.reject(path, str(error))

    def _no_empty_markers(self, members: Mapping[str, object], path: str) -> None:
        for name, value in members.items():
            if isinstance(value, tuple) and name not in _MAY_BE_EMPTY:
                for at, item in enumerate(value):
                    if item == "" or (isinstance(item, tuple) and "" in item):
                        where = f"{path}.{name}[{at}]".lstrip(".")
                        self.reject(where, "must not be empty: it would match everywhere")

    def _plain(self, annotation: type, value: object, path: str) -> object:
        if type(value) is not annotation:
            self.reject(path, f"must be {expected(annotation)}, not {_shown(value)}")
        if isinstance(value, str):
            most = _LONGEST_PAGE if path in _LONG_TEXTS else _LONGEST_MARKER
            if len(value) > most:
                self.reject(path, f"is longer than {most:,} characters")
            if re.search("[\ud800-\udfff]", value):
                self.reject(path, "contains half of a surrogate pair, which is not valid text")
        return value

    def _with_role(self, role: Role, annotation: Any, value: object, path: str, depth: int) -> Any:
        if isinstance(value, str) and role.constants:
            self.remaining -= 1
            if value not in role.constants:
                near = _suggestion(value, role.constants)
                self.reject(path, f"unknown {_bare_label(role)} {_shown(value)}{near or _one_of(role.constants)}")
            return role.constants[value]
        if not isinstance(value, dict) or not role.kinds:
            self.reject(path, f"must be {expected(annotation)}, not {_shown(value)}")
        self.remaining -= 1
        if depth >= _DEEPEST:
            self.reject(path, f"is nested more than {_DEEPEST} levels deep")
        if "" in role.kinds:
            return self.record(role.kinds[""], value, path, depth + 1)
        kind = value.get("kind")
        if not isinstance(kind, str):
            problem = f"not {_shown(kind)}" if "kind" in value else "but is missing"
            self.reject(f"{path}.kind", f"must name the kind of {_bare_label(role)}, {problem}{_one_of(role.kinds)}")
        if kind not in role.kinds:
            near = _suggestion(kind, role.kinds)
            self.reject(f"{path}.kind", f"unknown {_bare_label(role)} kind {_shown(kind)}{near or _one_of(role.kinds)}")
        members = {name: inner for name, inner in value.items() if name != "kind"}
        return self.record(role.kinds[kind], members, path, depth + 1)

    def _union(self, annotation: Any, value: object, path: str, depth: int) -> Any:
        """Return the value for the first annotation of a union that fits.

        If none fits, the error is that of the last annotation whose kind matched, or names all annotations.
        """
        of_kind: BadFormat | None = None
        remaining = self.remaining
        for one in get_args(annotation):
            try:
                return self.value(one, value, path, depth)
            except BadFormat as error:
                if self.remaining < remaining - 1:  # the kind matches, and the error is inside of the value
                    of_kind = error
                self.remaining = remaining
        if of_kind is None:
            return self.reject(path, f"must be {expected(annotation)}, not {_shown(value)}")
        raise of_kind

    def _tuple(self, annotation: Any, value: object, path: str, depth: int) -> tuple[Any, ...]:
        inner = get_args(annotation)
        many = len(inner) == 2 and inner[1] is Ellipsis
        if not isinstance(value, (list, tuple)) or (not many and len(value) != len(inner)):
            self.reject(path, f"must be {expected(annotation)}, not {_shown(value)}")
        if len(value) > _LONGEST_LIST:
            self.reject(path, f"has {len(value):,} items, but the maximum is {_LONGEST_LIST}")
        annotations = [inner[0]] * len(value) if many else inner
        return tuple(
            self.value(one, item, f"{path}[{at}]", depth)
            for at, (one, item) in enumerate(zip(annotations, value, strict=True))
        )

    def _mapping(self, annotation: Any, value: object, path: str, depth: int) -> dict[str, Any]:
        if not isinstance(value, dict):
            self.reject(path, f"must be {expected(annotation)}, not {_shown(value)}")
        read = {}
        for key, item in value.items():
            name = self._plain(str, key, f"{path} (name of a member)")
            if not name:
                self.reject(path, "has a member with an empty name")
            read[key] = self.value(get_args(annotation)[1], item, f"{path}[{key[:_MAX_SHOWN]!r}]", depth)
        return read


# --- checks beyond annotations


def _check_texts(format: ToolCallFormat, decoder: _Decoder) -> None:
    """Check what annotations cannot express.

    Names must be easy to type, patterns safe to search for, call ids unique, and the markers of `between` start
    markers.
    """
    for path, name in (("name", format.name), *((f"aliases[{at}]", name) for at, name in enumerate(format.aliases))):
        if not _NAME.fullmatch(name) or name.endswith(".json"):
            decoder.reject(path, f"must be at most 80 letters, digits, '_', '-' and '.', not {_shown(name)}")
    if format.variant and format.variant not in format.variants:
        decoder.reject(
            "variant", f"{_shown(format.variant)} is not in `variants`{_suggestion(format.variant, format.variants)}"
        )
    engine, begins = format.engine, {start for start, _ in format.reasoning_read}
    begins.update(engine.openers, engine.start_only_openers, engine.unframed_openers)
    for at, mark in enumerate(format.between):
        if mark not in begins:
            decoder.reject(f"between[{at}]", f"{_shown(mark)} is not a start marker of `reasoning` or of a call")
    for member in ("signatures", "headers"):
        for at, pattern in enumerate(getattr(format, member)):
            try:
                check_pattern(pattern)
            except UnsupportedPattern as why:
                if not _is_own(member, pattern):
                    decoder.reject(f"{member}[{at}]", str(why))
    _check_call_id(format.call_id, decoder)


def _is_own(member: str, pattern: str) -> bool:
    """Whether one of toolfmt's own formats has this pattern. Every template is searched for those anyway."""
    from toolfmt.formats.known import KNOWN

    return any(pattern in getattr(format, member) for format in KNOWN)


def _check_call_id(form: str, decoder: _Decoder) -> None:
    """Check that call ids contain only text, the name and the number, and that they contain the number."""
    try:
        check_id_form(form, "call_id")
    except ValueError as error:
        decoder.reject("call_id", str(error).removeprefix("call_id "))
    if "{number" not in form:
        decoder.reject("call_id", f"is {_shown(form)}, but must contain {{number}}, so that ids are unique")


def _check_round_trip(format: ToolCallFormat) -> None:
    """Write a call and parse it. If the format calls only declared tools, declare this one."""
    try:
        write(format, [_CALL])
    except CannotWrite:
        write(format, [_CALL], [_TOOL])


def _check_works(format: ToolCallFormat, decoder: _Decoder) -> None:
    """Check that the engine and each variant write a call that they parse."""
    for variant in ("", *format.variants):
        where = f"variants[{variant!r}]" if variant else "engine"
        try:
            _check_round_trip(format.with_variant(variant))
        except CannotWrite as error:
            decoder.reject(where, f"does not parse the call that it writes ({error})")
        except Exception as error:  # noqa: BLE001 - an engine may raise anything for markers that make no sense
            why = " ".join(f"{type(error).__name__}: {error}".split())
            decoder.reject(where, f"cannot write a call and parse it back ({why[:200]})")


# --- error messages


def expected(annotation: Any) -> str:
    """Return a description of what the file must contain for this annotation, for error messages."""
    if annotation in ROLES:
        role = ROLES[annotation]
        return role.label + _ways_to_write(role)
    origin, inner = get_origin(annotation), get_args(annotation)
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
    return {str: "a string", int: "an integer", bool: "true or false", type(None): "null"}[annotation]


def _ways_to_write(role: Role) -> str:
    ways = []
    if role.constants:
        ways.append(f"one of {listed(map(repr, role.constants), 'or')}")
    if set(role.kinds) - {""}:
        ways.append("an object with `kind`")
    return f" ({' or '.join(ways)})" if ways else ""


def _bare_label(role: Role) -> str:
    return role.label.removeprefix("an ").removeprefix("a ")


def _one_of(names: Iterable[str]) -> str:
    return f"; choose from {listed(sorted(names))}"


def _suggestion(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name[:_MAX_SHOWN], list(known), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def _shown(value: object) -> str:
    """Return a short description of a value in JSON terms, for error messages."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, (str, int, float)):
        shown = repr(value[: _MAX_SHOWN + 1]) if isinstance(value, str) else str(value)
        return shown if len(shown) <= _MAX_SHOWN + 2 else f"{shown[:_MAX_SHOWN]}…"
    if isinstance(value, (list, tuple)):
        return f"a list of {len(value)}"
    return "an object" if isinstance(value, dict) else f"a value of type {type(value).__name__}"


def _is_required(field: Field[Any]) -> bool:
    return field.default is MISSING and field.default_factory is MISSING


@cache
def _annotations(record: type) -> dict[str, Any]:
    return get_type_hints(record)
