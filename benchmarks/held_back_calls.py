"""Calls and texts that no format was derived from or verified with, used by `derived_formats`.

They differ in kind from those of `toolfmt.inspect.format.derive.call_sets`: whole documents as values, words with a
meaning in some syntax, markers of other families, extreme numbers, and many calls at once. `excused` contains words of
the limits that report a loss of this kind.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from toolfmt.inspect.probe.conversations import tool_definition

Call: TypeAlias = tuple[str, dict[str, Any]]

_ESCAPES = ("escapes nothing in strings",)
NO_WAY = "no way to write"
_MARKERS = (NO_WAY, *_ESCAPES)
_FALSE = ("does not keep zero and false",)
_WHITESPACE_LIMITS = ("does not keep whitespace", *_ESCAPES)

_CODE = 'def greet(names: list[str]) -> None:\n    for name in names:\n        print(f"Hi, {name}!")  # it\'s fine\n'
_MARKDOWN = '# Title\n\n```json\n{"a": [1, 2]}\n```\n\n| a | b |\n|---|---|\n| 1 | *2* |\n\nDone.'
_HTML = "<!DOCTYPE html>\n<div class=\"a b\" data-x='1'>\n  <p>5 &gt; 4 &amp;&amp; 1 < 2</p>\n</div>"
_SQL = "SELECT \"a\", 'it''s' FROM t WHERE x LIKE '%\\_%' AND y <> 3; -- note"
_SHELL = 'grep -rn "a\\|b" . | awk \'{print $1}\' > out.txt && echo "$HOME" `date`'
_JSON_TEXT = '{"query": "say \\"hi\\"", "list": [{"a": null}, true, 1.5e3]}'
_YAML = 'name: x\nargs:\n  - a: 1\n    b: "2"\n---\nname: y'
_MARKERS_OF_OTHERS = (
    "<tool_call>", "</tool_call>", "[TOOL_CALLS]", "<|im_end|>", "<|tool_call_begin|>", "</function>", "</think>",
    "<|python_tag|>", "<arg_key>", "<｜tool▁calls▁end｜>", "functools[", "<|eot_id|>",
)  # fmt: skip
_UNICODE = "line\u2028separator, zero\u200bwidth, \u05e9\u05dc\u05d5\u05dd, 👩‍👩‍👧, \ufeffmark, Å"

_STRING = {"type": "string", "description": "A text."}
_WORDS = {"name": "n1", "arguments": "a1", "parameters": "p1", "id": "i1", "type": "t1", "function": "f1"}
_KINDS: dict[str, Any] = {
    "amount": {"type": "number", "description": "A number."},
    "total": {"type": "integer", "description": "A count."},
    "on": {"type": "boolean", "description": "A flag."},
    "tree": {"type": "object", "description": "An object.", "properties": {}},
    "rows": {"type": "array", "description": "A list.", "items": {}},
    "either": {"type": ["string", "integer"], "description": "One of two."},
    "level": {"type": "string", "enum": ["low", "high"], "description": "How much."},
}
LONG_NAME = "look_up_" + "every_single_" * 4 + "item"
TOOLS: list[dict[str, Any]] = [
    tool_definition("write_zfile", "Writes.", {"path": _STRING, "content": _STRING}, []),
    tool_definition("mix_zkinds", "Mixes.", _KINDS, []),
    tool_definition("words_zall", "Takes words.", dict.fromkeys(_WORDS, _STRING), []),
    tool_definition(LONG_NAME, "Looks up.", {"query_of_the_item_that_is_looked_up": _STRING}, []),
    *(tool_definition(f"step_z{number}", "Steps.", {"at": {"type": "integer"}}, []) for number in range(8)),
]


@dataclass(frozen=True)
class HeldBack:
    """Calls of one turn. `excused`: words of limits that report a loss of this kind."""

    kind: str
    calls: tuple[Call, ...]
    excused: tuple[str, ...] = ()


def _written(kind: str, content: str, excused: tuple[str, ...] = _MARKERS) -> HeldBack:
    return HeldBack(kind, (("write_zfile", {"path": "a/b.txt", "content": content}),), excused)


def _mixed(kind: str, excused: tuple[str, ...] = (), **given: Any) -> HeldBack:
    return HeldBack(kind, (("mix_zkinds", given),), excused)


CALLS: tuple[HeldBack, ...] = (
    _written("a program", _CODE, (*_MARKERS, *_WHITESPACE_LIMITS)),
    _written("a Markdown document", _MARKDOWN),
    _written("an HTML document", _HTML),
    _written("SQL", _SQL),
    _written("a shell command", _SHELL),
    _written("JSON as a string", _JSON_TEXT),
    _written("YAML with several documents", _YAML),
    _written("markers of other families", " and ".join(_MARKERS_OF_OTHERS)),
    _written("rare characters", _UNICODE),
    _written("punctuation of calls at the ends", '", "b": "c"}, \'x\', d=(1)', _MARKERS),
    _mixed("numbers at their ends", amount=-1.5e-9, total=12345678901234567, rows=[0, -0.25, 1e21]),
    _mixed(
        "an object in an object in a list", _FALSE, tree={"a": {"b": [{"c": ["d", {"e": "f g"}]}, False]}}, on=False
    ),
    _mixed("lists of texts", rows=["a, b", "c]", "{d}", "e=f", "true"], excused=(*_ESCAPES, "no type is declared")),
    _mixed("one of two types", either="twelve", level="high"),
    HeldBack("keys that notations use", (("words_zall", _WORDS),), (NO_WAY,)),
    HeldBack("a long name and a long key", ((LONG_NAME, {"query_of_the_item_that_is_looked_up": "q"}),)),
    HeldBack("eight calls", tuple((f"step_z{number}", {"at": number}) for number in range(8)), _FALSE),
)

CONTENT = (
    "First I look at the place; then (if it's there) I go on.\n\n- one: 1\n- two: [2, 3] and {\"a\": 4}\n\nLet's see."
)
REASONING = 'The user wants it.\n\nOptions: a) ask, b) call f(x=1) or {"a": 1}.\nI take b; it is `quick`.'
