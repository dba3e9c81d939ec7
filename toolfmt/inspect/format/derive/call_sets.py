"""The calls that verify a derived format: data, which does not know templates or formats.

They differ from the calls that the format is derived from. `needed` is the requirement of a set: what every format has
to return, what it may be unable to write, or what is only reported.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from toolfmt.inspect.format.read_back import SPECIAL_STRINGS
from toolfmt.inspect.probe.conversations import (
    ALL_TOOLS,
    BARE_TOOL,
    PARALLEL,
    PARAMETER,
    SINGLE,
    TOOL,
    TYPED,
    TYPED_TOOL,
    Call,
    Message,
    tool_definition,
)

Needed: TypeAlias = Literal["always", "if escaped", "if it can be written", "reported"]
"""`if escaped`: a template that quotes strings without escaping loses these strings for any parser."""

LONG = (10_000, 20_000)
"""Lengths of long values. A template that cuts long values, or writes them differently, does so below that."""

_LONG_NAME = "look_up_the_opening_hours_of_each_museum_in_the_cities_named"
"""Sixty of the 64 characters that OpenAI's API allows, to detect templates that cut names."""
_NAMES = ("open-file", "files.read", "FindPlace2", "list", "x", _LONG_NAME)
_KEYS: dict[str, Any] = {"max-results": 7, "user.name": "here", "URL": "here", "line2": "here", "_hidden": "here"}
_STRINGS = (
    *(value for value in SPECIAL_STRINGS if value and value == value.strip()),
    "a", "1.50", "-0", "a & b < c > d", "{{ x }} {% y %}", "naïve 🜚 \u202e \u00a0 e\u0301",
)  # fmt: skip
_PADDED_STRINGS = (*(value for value in SPECIAL_STRINGS if value != value.strip()), "\ttab", " ")
_INSIDE = {
    "a tab": "\t", "a carriage return": "\r", "a line end of Windows": "\r\n",
}  # fmt: skip
_PRINTABLE = "".join(map(chr, range(ord(" "), ord("~") + 1)))


def _many(most: int) -> dict[str, Any]:
    return {f"part{number}": f"Mq{number}" if number % 2 else number for number in range(1, most + 1)}


_MANY, _MORE = _many(12), _many(24)
_TYPED: dict[str, Any] = TYPED | {"options": {"k": "v", "deep": {"on": False, "off": [1, [2.5]]}}}
_SELDOM: dict[str, dict[str, Any]] = {
    "zero and false": {"text": "plain", "count": 0, "flag": False},
    "a null": {"text": "plain", "limit": None},
    "a null in an object": {"text": "plain", "options": {"k": None}},
    "an empty list or object": {"text": "plain", "tags": [], "options": {}},
}
_NUMBERS: dict[str, Any] = {
    "below": -5, "many": 1234567, "circle": 3.14159, "huge": 1e20, "tiny": 1.5e-7, "tenth": 0.1,
}  # fmt: skip
"""Numbers that change in a template that rounds, groups digits or drops signs."""
_KEYS_TOOL, _MANY_TOOL, _STRINGS_TOOL, _UNTYPED_TOOL = "ask_qserver", "join_qparts", "keep_qstrings", "take_qany"
_NUMBERS_TOOL, _WORDS_TOOL = "sum_qnumbers", "spell_qwords"


_KINDS: dict[type, str] = {str: "string", int: "integer", float: "number"}


def _tool(name: str, values: Mapping[str, Any]) -> Message:
    kinds = {key: _KINDS[type(value)] for key, value in values.items()}
    properties = {key: {"type": kind, "description": "What it is."} for key, kind in kinds.items()}
    return tool_definition(name, "Does something.", properties, [])


FURTHER_TOOLS: list[Message] = [
    *(_tool(name, {"path": ""}) for name in _NAMES),
    _tool(_KEYS_TOOL, _KEYS),
    _tool(_MANY_TOOL, _MORE),
    _tool(_NUMBERS_TOOL, _NUMBERS),
    tool_definition(_UNTYPED_TOOL, "Takes it.", {"one": {"description": "Any."}, "several": {"type": "array"}}, []),
    _tool(_STRINGS_TOOL, {f"text{number}": "" for number, _ in enumerate(_STRINGS)}),
]
"""The tools of the calls that are not used for known formats."""


@dataclass(frozen=True)
class CallSet:
    """Calls of one turn. `what` is what is special about them, as a phrase.

    If the `parts` are not returned correctly together, each is tried alone, with its own `needed`.
    """

    what: str
    calls: tuple[Call, ...]
    needed: Needed = "always"
    tools: Sequence[Message] = ()
    parts: tuple[CallSet, ...] = ()


def call_sets(*, parallel: bool) -> Iterator[CallSet]:
    """Yield all of them except strings with the format's own markers; several calls only if `parallel`.

    The sets that a wrong format most likely fails come first.
    """
    yield CallSet("one call", SINGLE, tools=ALL_TOOLS)
    if parallel:
        yield CallSet("two calls in one turn", PARALLEL, tools=ALL_TOOLS)
    yield CallSet("a call without arguments", ((BARE_TOOL, {}),), tools=ALL_TOOLS)
    yield _together("strings", tuple(_plain_string(value) for value in _STRINGS))
    yield string_set("a value of 300 characters", "x" * 300)
    yield _together("signs and spaces", tuple(_characters()))
    for long in LONG:
        yield string_set(f"a value of {long:,} characters", ("word " * (long // 5))[: long - 1] + ".")
    yield CallSet("arguments of every type", ((TYPED_TOOL, _TYPED),), tools=ALL_TOOLS)
    yield CallSet("numbers", ((_NUMBERS_TOOL, _NUMBERS),), tools=FURTHER_TOOLS)
    yield CallSet("twelve arguments", ((_MANY_TOOL, _MANY),), tools=FURTHER_TOOLS)
    yield CallSet("twenty-four arguments", ((_MANY_TOOL, _MORE),), tools=FURTHER_TOOLS)
    repeated = {"part1": "same", "part3": "same", "part5": "part5", "part7": _MANY_TOOL, "part9": "part1"}
    yield CallSet("values that repeat", ((_MANY_TOOL, repeated),), tools=FURTHER_TOOLS)
    if parallel:
        yield from _several()
    yield _together(
        "whitespace at the ends of a string", tuple(string_set("", value, "reported") for value in _PADDED_STRINGS)
    )
    yield string_set("an empty string", "", "reported")
    for what, given in _SELDOM.items():
        yield CallSet(what, ((TYPED_TOOL, given),), "reported", ALL_TOOLS)
    untyped = (_UNTYPED_TOOL, {"one": "true", "several": ["1", {"two": "null"}]})
    yield CallSet('a string such as "true" without a declared type', (untyped,), "reported", FURTHER_TOOLS)
    yield from _names(parallel)
    yield _keys()


def sets_of_names(names: Sequence[str]) -> Iterator[CallSet]:
    """Yield calls of tools with these names, which the template treats specially."""
    for name in names:
        call: Call = (name, {"path": "here"})
        yield CallSet(f"a call of {name}", (call,), "reported", [_tool(name, {"path": ""})])


def sets_of_words(words: Sequence[str], *, parallel: bool) -> Iterator[CallSet]:
    """Yield calls with these words as tool names and as keys: a template may treat either specially.

    All together; each alone if that fails.
    """
    if not words:
        return
    parts = tuple(sets_of_names(words))
    if parallel:
        calls = tuple(call for part in parts for call in part.calls)
        yield CallSet(
            "names that the template compares",
            calls,
            "reported",
            [tool for part in parts for tool in part.tools],
            parts,
        )
    else:
        yield from parts
    values = dict.fromkeys(words, "here\nand there")
    tools = [_tool(_WORDS_TOOL, values)]
    keys = tuple(
        CallSet(f"the key {key}", ((_WORDS_TOOL, {key: value}),), "reported", tools) for key, value in values.items()
    )
    yield CallSet("keys that the template compares", ((_WORDS_TOOL, values),), "reported", tools, keys)


def string_set(what: str, value: str, needed: Needed = "always") -> CallSet:
    """Return one call with this string as its only argument."""
    return CallSet(what, ((TOOL, {PARAMETER: value}),), needed, ALL_TOOLS)


def _plain_string(value: str) -> CallSet:
    quoted = any(character in value for character in "\"'\\")
    return string_set(f"the string {value!r}", value, "if escaped" if quoted else "always")


def _characters() -> Iterator[CallSet]:
    """Yield strings of all printable characters, and of spaces that templates and parsers may confuse."""
    yield string_set("a string of all ASCII characters", f"a{_PRINTABLE}b", "if escaped")
    yield string_set("other spaces in a string", "one\u2028two\u00a0three")
    for what, space in _INSIDE.items():
        yield string_set(f"{what} in a string", f"one{space}two", "reported")


def _together(what: str, parts: tuple[CallSet, ...]) -> CallSet:
    """Return strings as arguments of one call."""
    strings = (arguments[PARAMETER] for part in parts for _, arguments in part.calls)
    call = (_STRINGS_TOOL, {f"text{number}": value for number, value in enumerate(strings)})
    named = tuple(part if part.what else replace(part, what=what) for part in parts)
    return CallSet(what, (call,), tools=FURTHER_TOOLS, parts=named)


def _names(parallel: bool) -> Iterator[CallSet]:
    descriptions = (
        f"the name {name}" if name != _LONG_NAME else f"a name of {len(name)} characters" for name in _NAMES
    )
    parts = tuple(
        CallSet(what, ((name, {"path": "here"}),), "if it can be written", FURTHER_TOOLS)
        for what, name in zip(descriptions, _NAMES, strict=True)
    )
    if not parallel:
        yield from parts
        return
    calls = tuple(call for part in parts for call in part.calls)
    yield CallSet("names of other forms", calls, tools=FURTHER_TOOLS, parts=parts)


def _keys() -> CallSet:
    parts = tuple(
        CallSet(f"the key {key}", ((_KEYS_TOOL, {key: value}),), "if it can be written", FURTHER_TOOLS)
        for key, value in _KEYS.items()
    )
    return CallSet("keys of other forms", ((_KEYS_TOOL, _KEYS),), tools=FURTHER_TOOLS, parts=parts)


def _several() -> Iterator[CallSet]:
    yield CallSet("two equal calls", SINGLE * 2, tools=ALL_TOOLS)
    three: tuple[Call, ...] = ((TYPED_TOOL, _TYPED), (BARE_TOOL, {}), *SINGLE)
    yield CallSet("three calls in one turn", three, tools=ALL_TOOLS)
    many = tuple((TOOL, {PARAMETER: f"Fq{number}"}) for number in range(12))
    yield CallSet("five calls in one turn", many[:5], tools=ALL_TOOLS)
    yield CallSet("twelve calls in one turn", many, tools=ALL_TOOLS)
