"""The parameters of the tag and code engines are data: they can be compared, hashed, pickled, and rejected."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterable
from dataclasses import fields
from typing import Any, cast

import depth
import drawn_engines
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolfmt.errors import CannotWrite
from toolfmt.formats import Parser, formats, write
from toolfmt.formats.engines.call_expression import CallExpression
from toolfmt.formats.engines.engine import Engine
from toolfmt.formats.engines.nested_tags import NestedTags
from toolfmt.formats.engines.tag_attributes import Attributes, EscapedAttributes
from toolfmt.formats.engines.tagged import Tagged
from toolfmt.formats.format import ToolCallFormat
from toolfmt.formats.values.syntaxes import CODE_CALL, LITERAL, NOTATIONS, QUOTED_JSON, BetweenMarks
from toolfmt.formats.values.value_writers import (
    JsonValues,
    MarkedValues,
    PythonBesideJson,
    PythonValues,
    QuotedJsonValues,
    ReprValues,
    TextBesideType,
    TextByType,
    TextInMarks,
)
from toolfmt.messages.events import ToolCallArguments, ToolCallEnd, ToolCallRejected, ToolCallStart

_KINDS = (CallExpression, Tagged, NestedTags)


def _engines() -> dict[str, Engine]:
    """The engines of the known formats that are of these kinds, by a name for each."""
    found: dict[str, Engine] = {}
    for format in formats():
        engines = [format.engine, *getattr(format.engine, "engines", ()), *format.variants.values()]
        engines += [inner for engine in engines if isinstance(inner := getattr(engine, "body", None), _KINDS)]
        engines += [inner for engine in engines if isinstance(inner := getattr(engine, "engine", None), _KINDS)]
        own = [engine for engine in engines if isinstance(engine, _KINDS)]
        found.update({f"{format.name}-{at}": engine for at, engine in enumerate(own)})
    return found


ENGINES = _engines()


def _again(value: Any) -> Any:
    """A copy rebuilt from its data: from fields, members and plain values only."""
    if isinstance(value, tuple):
        return tuple(_again(inner) for inner in value)
    if value in NOTATIONS.values():
        return NOTATIONS[value.name]
    if isinstance(value, (str, int, type(None))):
        return value
    return type(value)(**{part.name: _again(getattr(value, part.name)) for part in fields(value)})


@pytest.mark.parametrize("name", ENGINES)
def test_an_engine_is_its_data(name: str) -> None:
    engine = ENGINES[name]
    engine.openers, engine.inner  # noqa: B018  # cached properties must not affect the comparison
    again = _again(engine)
    assert again == engine
    assert again is not engine
    assert hash(again) == hash(engine)
    restored = pickle.loads(pickle.dumps(engine))
    assert restored == engine
    assert hash(restored) == hash(engine)
    calls = [("f", {"city": 'Paris\'s "x"', "n": 1, "of": {"b": [True, None]}}), ("g", {})]
    assert restored.write(calls, lambda name, *path: None) == engine.write(calls, lambda name, *path: None)


def test_every_kind_is_among_the_known_formats() -> None:
    assert {type(engine) for engine in ENGINES.values()} == set(_KINDS)


VALUE = {"k'\"": ["a'b", 'c"d', True, None, -1.5], "o p": {}}


@pytest.mark.parametrize(
    ("writer", "text", "written"),
    [
        (JsonValues(), '"a\'\\"é"', """{"k'\\"": ["a'b", "c\\"d", true, null, -1.5], "o p": {}}"""),
        (
            QuotedJsonValues(),
            '"a\'\\"é"',
            r'''"{\"k'\\\"\": [\"a'b\", \"c\\\"d\", true, null, -1.5], \"o p\": {}}"''',
        ),
        (PythonValues(), '"a\'\\"é"', """{"k'\\"": ["a'b", "c\\"d", True, None, -1.5], "o p": {}}"""),
        (ReprValues(), "'a\\'\"é'", """{'k\\'"': ["a'b", 'c"d', True, None, -1.5], 'o p': {}}"""),
        (PythonBesideJson(), "'a\\'\"é'", """{"k'\\"": ["a'b", "c\\"d", true, null, -1.5], "o p": {}}"""),
        (MarkedValues("|"), "|a'\"é|", """{k'":[|a'b|,|c"d|,true,null,-1.5],o p:{}}"""),
        (MarkedValues("|", "None", "marked"), "|a'\"é|", """{|k'"|:[|a'b|,|c"d|,true,None,-1.5],o p:{}}"""),
    ],
    ids=lambda value: type(value).__name__ if callable(value) else "",
)
def test_a_writer_of_values_writes(writer: Any, text: str, written: str) -> None:
    assert writer("a'\"é") == text
    assert writer(VALUE) == written


@pytest.mark.parametrize(
    ("writer", "types", "of_text", "of_literal", "of_tag"),
    [
        (TextByType(), None, "a", '"7"', "<b>"),
        (TextByType(), frozenset({"string"}), "a", "7", "<b>"),
        (TextBesideType(), None, "a", "7", "<b>"),
        (TextInMarks("<!", "!>"), None, "a", "<!7!>", "<!<b>!>"),
        (TextInMarks("<!", "!>"), frozenset({"string"}), "a", "7", "<!<b>!>"),
    ],
)
def test_a_writer_of_texts_writes(writer: Any, types: Any, of_text: str, of_literal: str, of_tag: str) -> None:
    assert [writer("a", types), writer("7", types), writer("<b>", types)] == [of_text, of_literal, of_tag]
    assert writer({"a": [1, None]}, types) == '{"a": [1, null]}'


def test_attributes_are_written_in_order_and_read_in_any() -> None:
    header = Attributes(
        type_attribute="type",
        string="Text",
        other_types=("JSON", "null"),
        index_attribute="index",
    )
    assert header.write("k", "v", 3) == 'k" type="Text" index="4"'
    assert header.write("k", 1, 0) == 'k" type="JSON" index="1"'
    assert header.write("k", None, 0) == 'k" type="null" index="1"'
    assert header.read('k" index="1" type="text"')[1] == frozenset({"string"})
    assert "string" not in (header.read('k" type="json"')[1] or {"string"})
    assert header.tolerance('k" index="9" type="JSON"') == ""
    assert (
        header.tolerance('k" index="9" index="9"')
        == header.tolerance('k" type="JSON" type="Text"')
        == "other_attributes"
    )
    assert header.tolerance('k" kind="other"') == header.tolerance('k" type="Other"') == "other_attributes"
    escaped = EscapedAttributes(index_attribute="at")
    assert escaped.write('a"&b', None, 0) == 'a&quot;&amp;b" at="1"'
    assert escaped.read('a&quot;&amp;b" at="1"') == ('a"&b', None)


@pytest.mark.parametrize(
    ("parameter", "made"),
    [
        ("type_attribute", lambda: Attributes(type_attribute="a type")),
        ("index_attribute", lambda: Attributes(index_attribute="a=")),
        ("other_types", lambda: Attributes(type_attribute="type", other_types=())),
        ("other_types", lambda: Attributes(type_attribute="type", string="True", other_types=("true",))),
        ("other_types", lambda: Attributes(type_attribute="type", other_types=("no word",))),
        ("mark", lambda: BetweenMarks(" ")),
        ("mark", lambda: BetweenMarks('"')),
        ("mark", lambda: MarkedValues("")),
        ("keys", lambda: MarkedValues("|", keys=cast("Any", "odd"))),
    ],
)
def test_invalid_parameters_are_rejected_by_name(parameter: str, made: Any) -> None:
    with pytest.raises(ValueError, match=f"^{parameter}: "):
        made()


@pytest.mark.parametrize(
    ("parameter", "changed"),
    [
        ("brackets", {"brackets": ("", ")")}),
        ("brackets", {"brackets": (":", ")")}),
        ("brackets", {"brackets": ("(", " ")}),
        ("brackets", {"brackets": (" ", " end")}),
        ("brackets", {"brackets": ("(", "-)")}),
        ("assign", {"assign": ""}),
        ("assign", {"assign": "is"}),
        ("separator", {"separator": ""}),
        ("separator", {"separator": "-"}),
        ("separator", {"separator": ")"}),
        ("separator", {"separator": ' "'}),
        ("key_lead", {"key_lead": "'"}),
        ("key_lead", {"separator": " ", "key_lead": ")>"}),
        ("pair_closer", {"pair_closer": " "}),
        ("pair_closer", {"pair_closer": "end"}),
        ("pair_closer", {"pair_closer": "\n end"}),
        ("pair_closer", {"pair_closer": "-"}),
        ("pair_closer", {"pair_closer": ' "'}),
        ("key_order", {"key_order": "backwards"}),
        ("also", {"also": ("",)}),
    ],
)
def test_ambiguous_delimiters_are_rejected(parameter: str, changed: dict[str, Any]) -> None:
    data: dict[str, Any] = {"opener": "<tool>", "closer": "</tool>", "notation": LITERAL, "written": JsonValues()}
    CallExpression(**data)
    with pytest.raises(ValueError, match=f"^{parameter}: "):
        CallExpression(**{**data, **changed})


def test_a_syntax_is_pickled_by_its_name() -> None:
    assert pickle.loads(pickle.dumps(CODE_CALL)) is CODE_CALL
    assert {notation.name: notation for notation in NOTATIONS.values()} == NOTATIONS


def _read(
    format: ToolCallFormat, pieces: Iterable[str], tools: Any, strict: bool = True
) -> tuple[list[Any], list[Any]]:
    """The calls in a text that arrives in these chunks, and the rest: tolerances and other events."""
    parser = Parser(format, tools=tools, strict=strict)
    found: list[tuple[str, list[str]]] = []
    others: list[Any] = []
    for event in [*(event for piece in pieces for event in parser.feed(piece)), *parser.finish()]:
        if isinstance(event, ToolCallStart):
            found.append((event.name, []))
        elif isinstance(event, ToolCallArguments):
            found[-1][1].append(event.delta)
        elif isinstance(event, ToolCallEnd):
            others += event.tolerated
        else:
            others.append(event)
    return [(name, "".join(deltas)) for name, deltas in found], others


def _same(read: list[Any], calls: list[Any]) -> bool:
    """Whether these are exactly the calls: `1` is not `1.0`, nor `True`."""
    expected = [(name, json.dumps(arguments, sort_keys=True)) for name, arguments in calls]
    return [(name, json.dumps(json.loads(text), sort_keys=True)) for name, text in read] == expected


def _needs_a_schema(engine: Any) -> bool:
    """Whether the text of a string may be a value of another type, so that only a schema decides."""
    return isinstance(engine, CallExpression) and engine.notation is QUOTED_JSON


@pytest.mark.sample(2)
@pytest.mark.parametrize("kind", drawn_engines.ENGINES)
def test_an_engine_strictly_reads_what_it_writes(kind: str) -> None:
    @settings(max_examples=depth.examples(80), suppress_health_check=list(HealthCheck))
    @given(drawn_engines.ENGINES[kind], drawn_engines.CALLS, st.booleans())
    def reads(engine: Any, calls: list[Any], declared: bool) -> None:
        format = drawn_engines.format_of(engine)
        tools = drawn_engines.tools_of(calls) if declared or _needs_a_schema(engine) else None
        text = write(format, calls, tools)
        read, others = _read(format, [text], tools)
        assert (others, _same(read, calls)) == ([], True), text
        assert _read(format, text, tools) == (read, [])
        if len(text) <= 160:
            for at in range(1, len(text)):
                assert _read(format, [text[:at], text[at:]], tools) == (read, []), (text[:at], text[at:])

    reads()


@pytest.mark.sample(2)
@pytest.mark.parametrize("kind", drawn_engines.ENGINES)
def test_what_an_engine_cannot_write_is_rejected_and_never_lost(kind: str) -> None:
    @settings(max_examples=depth.examples(80), suppress_health_check=list(HealthCheck))
    @given(drawn_engines.ENGINES[kind], drawn_engines.HARD_CALLS, st.booleans())
    def rejects(engine: Any, calls: list[Any], declared: bool) -> None:
        format = drawn_engines.format_of(engine)
        tools = drawn_engines.tools_of(calls) if declared else None
        try:
            text = write(format, calls, tools)
        except CannotWrite:
            return
        read, others = _read(format, [text], tools, strict=False)
        assert _same(read, calls)
        assert not any(not isinstance(other, str) for other in others)
        assert _read(format, text, tools, strict=False) == (read, others)
        strictly, rejections = _read(format, [text], tools)
        assert (strictly, rejections) == (read, []) or any(isinstance(other, ToolCallRejected) for other in rejections)

    rejects()


_CODE: dict[str, Any] = {"notation": LITERAL, "written": JsonValues()}
_TAGS: dict[str, Any] = {"key_opener": "<k>", "key_closer": "</k>", "value_closer": "</v>", "between": ""}
_FRAMED: dict[str, Any] = {"opener": "<tool>", "closer": "</tool>"}
_WRITTEN = [
    (
        CallExpression(**_FRAMED, **_CODE, lead="(", brackets=(" ", ")"), key_lead=":", assign=" ", separator=" "),
        '<tool>(f :a "x y" :b -1)</tool><tool>(g)</tool>',
    ),
    (
        CallExpression(
            **_FRAMED,
            notation=QUOTED_JSON,
            written=QuotedJsonValues(),
            lead="<call ",
            brackets=(" ", "/>"),
            separator=" ",
            enclosing=("\n", "\n"),
            between="\n",
        ),
        '<tool>\n<call f a="x y" b="-1"/>\n<call g/>\n</tool>',
    ),
    (
        CallExpression(**_FRAMED, **_CODE, brackets=(" { ", " }"), assign=" -> ", separator="; ", enclosing=("[", "]")),
        '<tool>[f { a -> "x y"; b -> -1 }, g {  }]</tool>',
    ),
    (
        CallExpression(
            **_FRAMED, notation=CODE_CALL, written=ReprValues(), key_lead="--", separator=" ", enclosing=("", "")
        ),
        "<tool>f(--a='x y' --b=-1), g()</tool>",
    ),
    (CallExpression(**_FRAMED, **_CODE, enclosing=("<", ";>")), '<tool><f(a="x y", b=-1), g();></tool>'),
    (
        Tagged(**_FRAMED, **_TAGS, name_opener="[name ", name_closer="]", call_closer="\n;"),
        "<tool>[name f]<k>a</k>x y</v><k>b</k>-1</v>\n;</tool>\n<tool>[name g]\n;</tool>",
    ),
    (
        Tagged(
            **_FRAMED,
            **_TAGS,
            name_opener="<n>",
            name_closer=":",
            call_closer="</n>",
            enclosing=("<<", ">>\n"),
            before_name="call ",
            after_call=" <over>",
        ),
        "<tool><<call <n>f:<k>a</k>x y</v><k>b</k>-1</v></n> <over>\ncall <n>g:</n> <over>>>\n</tool>",
    ),
    (
        NestedTags(
            sign="§", opener="§<tool>", closer="§</tool>",
            call_opener="<call:", name_closer=">", call_closer="</end>",
        ),
        "§<tool>\n§<call:f>§<a>x y§</a>§<b>-1§</b>§</end>\n§<call:g>§</end>\n§</tool>",
    ),
    (
        CallExpression(
            **_FRAMED,
            **_CODE,
            lead="(do ",
            brackets=(" ", ")"),
            key_lead="(",
            assign=" ",
            pair_closer=")",
            separator=" ",
        ),
        '<tool>(do f (a "x y") (b -1))</tool><tool>(do g)</tool>',
    ),
]  # fmt: skip


def test_the_end_marker_of_a_value_may_begin_like_the_start_marker_of_a_key() -> None:
    delimiters: dict[str, Any] = {"key_opener": "⟨", "key_closer": "⟩", "value_closer": "⟨/⟩"}
    engine = Tagged(name_opener="⟦call ", name_closer="⟧", call_closer="⟦end⟧", **delimiters)
    format = drawn_engines.format_of(engine)
    calls: list[Any] = [("f", {"a": "x\n", "b": "y"})]
    text = write(format, calls)
    assert text == "⟦call f⟧\n⟨a⟩x\n⟨/⟩\n⟨b⟩y⟨/⟩\n⟦end⟧"
    for pieces in ([text], text):
        read, others = _read(format, pieces, None)
        assert (_same(read, calls), others) == (True, [])
    with pytest.raises(ValueError, match=r"^value_closer: "):
        Tagged(name_opener="⟦call ", name_closer="⟧", call_closer="⟦end⟧", **{**delimiters, "value_closer": "⟨"})


@pytest.mark.parametrize(("engine", "text"), _WRITTEN)
def test_parameters_are_written_verbatim(engine: Engine, text: str) -> None:
    calls: list[Any] = [("f", {"a": "x y", "b": -1}), ("g", {})]
    format = drawn_engines.format_of(engine)
    tools = drawn_engines.tools_of(calls)
    assert write(format, calls, tools) == text
    read, others = _read(format, [text], tools)
    assert (_same(read, calls), others) == (True, [])


@pytest.mark.parametrize(
    ("parameter", "changed"),
    [
        ("key_opener", {"key_opener": ""}),
        ("key_closer", {"key_closer": " "}),
        ("value_closer", {"value_closer": "\n"}),
        ("name_opener", {"opener": "", "closer": "", "call_closer": "</n>"}),
        ("call_closer", {"closer": ""}),
        ("name_opener", {"name_header": Attributes(), "name_opener": "<n>"}),
        ("key_opener", {"key_header": Attributes()}),
        ("opener", {"opener": " <tool>"}),
        ("closer", {"closer": "\n</tool>"}),
        ("value_newline", {"value_newline": " "}),
        ("between", {"between": ", "}),
        ("value_closer", {"value_closer": "<k"}),
        ("value_closer", {"key_opener": "</v>k"}),
        ("value_closer", {"value_closer": "</tool>"}),
        ("value_closer", {"name_opener": "<n>", "call_closer": "</v></n>"}),
        ("call_closer", {"name_opener": "<n>", "call_closer": "<k>>"}),
        ("closer", {"closer": "<k>"}),
        ("name_opener", {"name_opener": "<tool>"}),
        ("key_opener", {"key_opener": "k:"}),
        ("before_name", {"opener": "", "closer": "", "name_opener": "<n>", "call_closer": "</n>", "before_name": "x"}),
        ("after_call", {"after_call": "x"}),
        ("between_calls", {"between_calls": " and "}),
        ("cdata", {"cdata": ("", "]]>")}),
        ("skipped", {"skipped": ("<a>", "")}),
    ],
)
def test_ambiguous_tags_are_rejected(parameter: str, changed: dict[str, Any]) -> None:
    data = {**_FRAMED, **_TAGS}
    Tagged(**data)
    with pytest.raises(ValueError, match=f"^{parameter}: "):
        Tagged(**{**data, **changed})


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("sign", ""),
        ("sign", " §"),
        ("call_opener", "call "),
        ("call_opener", "<a>"),
        ("name_closer", '"'),
        ("name_closer", ""),
        ("name_closer", "x>"),
        ("call_closer", "<end>"),
        ("call_closer", "</a b>"),
        ("also_closers", ("",)),
    ],
)
def test_nested_tags_that_cannot_be_read_are_rejected(parameter: str, value: Any) -> None:
    data: dict[str, Any] = {"sign": "§", "opener": "<tool>", "closer": "</tool>"}
    NestedTags(**data)
    with pytest.raises(ValueError, match=f"^{parameter}: "):
        NestedTags(**{**data, parameter: value})


@pytest.mark.parametrize(
    ("engine", "text", "reads"),
    [
        (_WRITTEN[0][0], '<tool>(f :a "x")</tool>', True),
        (_WRITTEN[0][0], '<tool>(f  :a\n"x" )</tool>', True),
        (_WRITTEN[0][0], '<tool>(f a "x")</tool>', False),
        (_WRITTEN[1][0], '<tool><call f a="x" ></tool>', False),
        (_WRITTEN[2][0], '<tool>[f { a -> "x", b -> 1 }]</tool>', False),
        (_WRITTEN[2][0], '<tool>[f { a = "x" }]</tool>', False),
        (_WRITTEN[5][0], "<tool>[name f]<k>a</k>x</v> ;</tool>", True),
        (_WRITTEN[7][0], "§<tool>§<call:f'>§<a>x§</a>§</end>§</tool>", False),
        (_WRITTEN[8][0], '<tool>(do f (a  "x"\n) )</tool>', True),
        (_WRITTEN[8][0], '<tool>(do f (a "x"))</tool>', True),
        (_WRITTEN[8][0], '<tool>(do f (a "x")</tool>', False),
        (_WRITTEN[8][0], '<tool>(do f (a "x" (b 1)))</tool>', False),
        (_WRITTEN[8][0], '<tool>(do f a "x")</tool>', False),
        (_WRITTEN[8][0], '<tool>(do f ("x"))</tool>', False),
        (_WRITTEN[7][0], "§<tool>§<invoke name=\"f\">§<a>x§</a>§</invoke>§</tool>", False),
    ],
)  # fmt: skip
def test_delimiters_of_another_family_are_not_read(engine: Engine, text: str, reads: bool) -> None:
    calls: list[Any] = [("f", {"a": "x"})]
    tools = [{"name": "f", "parameters": {"properties": {"a": {"type": "string"}, "b": {"type": "integer"}}}}]
    read, others = _read(drawn_engines.format_of(engine), [text], tools)
    assert (not others and _same(read, calls)) is reads


@pytest.mark.parametrize(
    ("engine", "text"),
    [
        (
            Tagged(**_FRAMED, **{**_TAGS, "key_closer": "</v>"}),
            "<tool>f<k>a</v></v><k>b</v>-1</v></tool>\n<tool>g</tool>",
        ),
        (
            Tagged(**_FRAMED, **{**_TAGS, "value_opener": "|#|", "value_closer": "|#|"}),
            "<tool>f<k>a</k>|#||#|<k>b</k>|#|-1|#|</tool>\n<tool>g</tool>",
        ),
        (
            Tagged(**_FRAMED, **{**_TAGS, "key_opener": "{", "key_closer": "="}, name_closer=":"),
            "<tool>f:{a=</v>{b=-1</v></tool>\n<tool>g:</tool>",
        ),
        (
            Tagged(**_FRAMED, **{**_TAGS, "between": " "}, name_opener="<n>", call_closer="\n</n>"),
            "<tool> <n>f <k>a</k></v> <k>b</k>-1</v> \n</n> </tool>\n<tool> <n>g \n</n> </tool>",
        ),
        (
            Tagged(**_FRAMED, **{**_TAGS, "key_opener": "@@", "key_closer": "|"}),
            "<tool>f@@a|</v>@@b|-1</v></tool>\n<tool>g</tool>",
        ),
        (
            Tagged(**_FRAMED, **{**_TAGS, "key_opener": "-"}, name_closer=":"),
            "<tool>f:-a</k></v>-b</k>-1</v></tool>\n<tool>g:</tool>",
        ),
    ],
)
def test_delimiters_that_look_similar_are_read_without_tools_too(engine: Engine, text: str) -> None:
    calls: list[Any] = [("f", {"a": "", "b": -1}), ("g", {})]
    format = drawn_engines.format_of(engine)
    for tools in (None, drawn_engines.tools_of(calls)):
        assert write(format, calls, tools) == text
        read, others = _read(format, text, tools)
        assert (_same(read, calls), others) == (True, [])


def test_an_end_marker_that_begins_with_a_newline_also_ends_an_object() -> None:
    format = drawn_engines.format_of(Tagged(**_FRAMED, **{**_TAGS, "value_closer": "\n</v>"}))
    calls: list[Any] = [("f", {"a": {"x": [1]}, "b": "y\n"})]
    tools = drawn_engines.tools_of(calls)
    text = '<tool>f<k>a</k>{"x": [1]}\n</v><k>b</k>y\n\n</v></tool>'
    assert write(format, calls, tools) == text
    read, others = _read(format, text, tools)
    assert (_same(read, calls), others) == (True, [])


@pytest.mark.parametrize(
    ("changed", "text", "value"),
    [
        ({"name_opener": "<n>"}, "<tool><n>f:<k>a</k>x <n>f: y</v></tool>", "x <n>f: y"),
        ({"key_opener": "@"}, "<tool>f:@a</k>x</v> y</v></tool>", "x</v> y"),
        ({"key_opener": "@", "key_closer": ":"}, "<tool>f:@a:ever.since: y</v></tool>", "ever.since: y"),
        ({"key_opener": "@arg:", "key_closer": "="}, "<tool>f:@arg:a=an arg:x= y</v></tool>", "an arg:x= y"),
    ],
)
def test_a_value_that_contains_delimiters_of_the_call_is_read(changed: dict[str, Any], text: str, value: str) -> None:
    format = drawn_engines.format_of(Tagged(**_FRAMED, **{**_TAGS, "name_closer": ":", **changed}))
    properties = {"a": {"type": "string"}, "since": {"type": "string"}}
    tools = [{"name": "f", "parameters": {"type": "object", "properties": properties}}]
    for declared in (tools, None):
        whole = _read(format, [text], declared, strict=False)
        assert _read(format, text, declared, strict=False) == whole
        assert _same(whole[0], [("f", {"a": value})])
        assert not any(isinstance(event, ToolCallRejected) for event in whole[1])


def test_a_name_that_is_cut_off_in_its_end_marker_is_incomplete() -> None:
    format = drawn_engines.format_of(NestedTags(sign="§", opener="<tool>", closer="</tool>"))
    for end, reason in (("", "incomplete_output"), ("x", "malformed_syntax"), ('">', "malformed_syntax")):
        read, events = _read(format, [f'<tool>§<invoke name="f"{end}'], [{"name": "f"}])
        assert not read
        assert [event.reason for event in events if isinstance(event, ToolCallRejected)] == [reason]
