"""Engines of code, tags and nested tags with random parameters, and calls for them: strategies of several tests.

Ambiguous parameters are rejected when the engine is made; such draws are left out. The texts of `CALLS` contain
letters, spaces and newlines; those of `HARD_CALLS` contain every kind of marker.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import assume
from hypothesis import strategies as st

from toolfmt.formats.engines.call_expression import CallExpression
from toolfmt.formats.engines.engine import Engine
from toolfmt.formats.engines.nested_tags import NestedTags
from toolfmt.formats.engines.tag_attributes import QUOTED, STRING_ATTRIBUTE, Attributes, EscapedAttributes
from toolfmt.formats.engines.tagged import Tagged
from toolfmt.formats.format import ToolCallFormat
from toolfmt.formats.values.syntaxes import CODE, CODE_CALL, JSON, LITERAL, QUOTED_JSON, BetweenMarks
from toolfmt.formats.values.value_writers import (
    JsonValues,
    MarkedValues,
    PythonBesideJson,
    PythonValues,
    QuotedJsonValues,
    ReprValues,
    TextBesideType,
    TextInMarks,
)

_FRAMES = (
    ("<{}>", "</{}>"),
    ("[{}]", "[/{}]"),
    ("⟦{}⟧", "⟦/{}⟧"),
    ("<|{}|>", "<|/{}|>"),
    ("<|{}_begin|>", "<|{}_end|>"),
    ("«{}»", "«/{}»"),
    ("【{}】", "【end {}】"),
    ("@{}(", ")@{}"),
    ("::{}::", "::end-{}::"),
)


def _pair(word: str) -> st.SearchStrategy[tuple[str, str]]:
    """A start marker and its end marker, made of a word."""
    return st.sampled_from([(opener.format(word), closer.format(word)) for opener, closer in _FRAMES])


def _made(kind: Callable[..., Engine], **parameters: Any) -> Engine:
    try:
        return kind(**parameters)
    except ValueError:
        assume(False)
        raise


@st.composite
def code(draw: st.DrawFn) -> Engine:
    """Calls written as code."""
    notation, written = draw(
        st.sampled_from(
            [
                (CODE_CALL, PythonValues()),
                (CODE_CALL, ReprValues()),
                (CODE_CALL, PythonBesideJson()),
                (CODE, ReprValues()),
                (CODE_CALL, JsonValues()),
                (LITERAL, JsonValues()),
                (JSON, JsonValues()),
                (QUOTED_JSON, QuotedJsonValues()),
                (BetweenMarks("<q>"), MarkedValues("<q>")),
                (BetweenMarks("¦"), MarkedValues("¦", null="None", keys="marked")),
            ]
        )
    )
    brackets = [("(", ")"), ("{", "}"), ("[", "]"), ("<", ">"), (" ", ")"), (" ", "/>"), (" (", ")"), ("\n", "</call>")]
    brackets += [(" { ", " }"), ("|", "|"), ("⟦", "⟧"), ("::", ";;"), (" ", "⟧")]
    opener, closer = draw(_pair("tool") | st.just(("<tool>", "")))
    enclosing = draw(st.sampled_from([(), ("[", "]"), ("\n", "\n"), ("", ""), ("<list>", "</list>")]))
    return _made(
        CallExpression,
        opener=opener,
        closer=closer,
        enclosing=enclosing,
        between=draw(st.sampled_from([", ", ";", "\n", " ", " | "])) if enclosing else ", ",
        notation=notation,
        written=written,
        lead=draw(st.sampled_from(["", "call:", "(", "<call ", "⟦", "fn "])),
        brackets=draw(st.sampled_from(brackets)),
        assign=draw(st.sampled_from(["=", ":", " = ", ": ", "->", " -> ", " ", "=>", ":=", "~"])),
        separator=draw(st.sampled_from(["", ", ", ",", ";", "; ", " ", "\n", "\n  ", " | ", " & "])),
        key_lead=draw(st.sampled_from(["", "", ":", "--", "@", "arg:", "-", "("])),
        pair_closer=draw(st.sampled_from(["", "", "", ")", ";", " )", "</a>", "⟩", " |"])),
        key_order=draw(st.sampled_from(["given", "alphabetical"])),
    )


_TYPES = ("number", "boolean", "object", "array", "null")
_KEY_HEADERS = (
    QUOTED,
    STRING_ATTRIBUTE,
    Attributes(type_attribute="type", string="String", other_types=_TYPES),
    Attributes(index_attribute="i"),
    EscapedAttributes(type_attribute="kind", string="text", other_types=("json",)),
)


@st.composite
def tags(draw: st.DrawFn) -> Engine:
    """Calls written as raw values between tags."""
    parameters: dict[str, Any] = {}
    chosen = draw(st.sampled_from(["elements", "attributes", "signs"]))
    if chosen == "elements":
        key, value = draw(_pair("key")), draw(_pair("value"))
        key_closer = draw(st.sampled_from([key[1], "<is>", " = ", ": ", "|", "\n"]))
        value_opener = draw(st.sampled_from(["", value[0]]))
        parameters |= {"key_opener": key[0], "key_closer": key_closer}
        parameters |= {"value_opener": value_opener, "value_closer": value[1]}
    elif chosen == "attributes":
        header = draw(st.sampled_from(_KEY_HEADERS))
        parameters |= {"key_opener": draw(st.sampled_from(['<param name="', '[arg "', '⟦p k="'])), "key_header": header}
        parameters |= {"key_closer": draw(st.sampled_from([">", "|>", "]", "⟧"]))}
        parameters |= {"value_closer": draw(st.sampled_from(["</param>", "<|end|>", "⟦/p⟧"]))}
        if header.type_attribute:
            parameters["write_value"] = TextBesideType()
    else:
        openers = ["<parameter=", "[arg:", "⟦p ", "- ", "--", "@", "| ", "« ", "+ ", "\n* ", "<", "⟨"]
        parameters |= {"key_opener": draw(st.sampled_from(openers))}
        parameters |= {"key_closer": draw(st.sampled_from([">", "]", "⟧", ":", "=", "|", " => ", "»"]))}
        parameters |= {
            "value_closer": draw(st.sampled_from(["</p>", "⟧", ";;", "||", "»", "<|end|>", "\n</p>", "⟨/⟩"]))
        }
    opener, closer = draw(st.sampled_from([("", ""), *draw(st.lists(_pair("tools"), min_size=3, max_size=3))]))
    name = draw(_pair("name"))
    named = st.sampled_from([name[1], "]", ":", "⟧", "|", "\n", ">", "", " {", "(", "」", "<"])
    parameters |= {"name_opener": draw(st.sampled_from([name[0], "call ", "CALL: ", ""])), "name_closer": draw(named)}
    parameters |= {"call_closer": draw(st.sampled_from([draw(_pair("call"))[1], "", "END", "}", ")", "\n}"]))}
    if draw(st.integers(0, 4)) == 0:
        parameters |= {"name_header": draw(st.sampled_from([QUOTED, Attributes(index_attribute="index")]))}
        parameters |= {"name_opener": '<call name="', "name_closer": draw(st.sampled_from([">", "]", "/>"]))}
    if opener:
        parameters |= {"opener": opener, "closer": closer}
        if parameters["call_closer"] and draw(st.integers(0, 4)) == 0:
            parameters["closer"] = ""
        if parameters["name_opener"] and parameters["call_closer"]:
            parameters["enclosing"] = draw(st.sampled_from([(), ("", ""), ("\n", "\n"), (" ", " "), ("<a>", "\n<b>")]))
        if draw(st.integers(0, 4)) == 0:
            parameters |= {"before_name": "<|begin|>\n", "after_call": "\n<|over|>"}
            parameters["skipped"] = draw(st.sampled_from([(), ("<|begin|>", "<|over|>")]))
    if draw(st.integers(0, 5)) == 0 and "write_value" not in parameters:
        parameters |= {"cdata": ("<![", "]]>"), "write_value": TextInMarks("<![", "]]>")}
    for parameter in ("between", "between_calls"):
        parameters[parameter] = draw(st.sampled_from(["", "\n", " "]))
    return _made(Tagged, **parameters, value_newline=draw(st.sampled_from(["", "\n"])))


@st.composite
def nested(draw: st.DrawFn) -> Engine:
    """Calls written as tags in tags."""
    sign = draw(st.sampled_from(["]<]x[>[", "⟦", "<|t|>", "::"]))
    call = draw(st.sampled_from(['<invoke name="', "<call:", "<function=", "<call name='"]))
    name_closer = draw(st.sampled_from(['">', ">", "'>", " />"]))
    tag = draw(st.sampled_from(["invoke", "call", "function"]))
    frames = [(sign + "<tools>", sign + "</tools>"), ("<tools>", "</tools>"), ("[tools]", ""), ("", "")]
    opener, closer = draw(st.sampled_from(frames))
    return _made(
        NestedTags,
        sign=sign,
        opener=opener,
        closer=closer,
        call_opener=call,
        name_closer=name_closer,
        call_closer=f"</{tag}>",
    )


ENGINES = {"code": code(), "tags": tags(), "nested": nested()}


def format_of(engine: Engine) -> ToolCallFormat:
    """A format of an engine without further properties."""
    return ToolCallFormat(name="drawn", engine=engine, page="", instructions="", source=())


_WORDS = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,7}", fullmatch=True)
_TEXTS = st.text(st.sampled_from("abz ABé好.!\n"), max_size=12)
_MARKS = sorted({part.format(word) for pair in _FRAMES for part in pair for word in ("tool", "key", "value", "name")})
_HARD_TEXTS = st.lists(
    st.sampled_from(
        [*_MARKS, *"'\"\\<>[]{}()=:;,|«»⟦⟧ \n\t\0", "</param>", "<q>", "¦", "]]>", "\\n", "null", "3", "x"]
    ),
    max_size=6,
).map("".join)
_SCALARS = st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats(allow_nan=False, allow_infinity=False)


def _values(texts: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    return st.recursive(
        _SCALARS | texts,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_WORDS, inner, max_size=3),
        max_leaves=5,
    )


def _calls(texts: st.SearchStrategy[str], names: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    arguments = st.dictionaries(names, _values(texts) | texts, max_size=4)
    return st.lists(st.tuples(names, arguments), min_size=1, max_size=3)


CALLS = _calls(_TEXTS, _WORDS)
HARD_CALLS = _calls(
    _HARD_TEXTS | _TEXTS, _WORDS | st.sampled_from(["a-b", "x.y", "a/b", "$v", "é", "a b", "k=", "item"])
)

_KINDS = ((bool, "boolean"), (str, "string"), (int, "integer"), (float, "number"), (list, "array"), (dict, "object"))


def tools_of(calls: list[Any]) -> list[dict[str, Any]]:
    """Tools that the calls are calls of, each parameter of the types that its values have."""
    properties: dict[str, dict[str, set[str]]] = {}
    for name, arguments in calls:
        known = properties.setdefault(name, {})
        for key, value in arguments.items():
            kind = next((kind for of, kind in _KINDS if isinstance(value, of)), "null")
            known.setdefault(key, set()).add(kind)
    return [
        {
            "name": name,
            "parameters": {"type": "object", "properties": {key: {"type": sorted(of)} for key, of in known.items()}},
        }
        for name, known in properties.items()
    ]
