"""The JSON engines with parameters that no known format has: what they write is read back, strict.

Markers, keys, styles and frames are random, and calls contain the markers themselves in their strings. Combinations
that are not generated are rejected by the engine's constructor, or explained here.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import depth
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from node_matching import allows

import toolfmt
from toolfmt.errors import CannotConstrain, CannotWrite
from toolfmt.formats import Parser, ToolCallFormat
from toolfmt.formats.engines.call_headers import INDEXED, NAME_ONLY, Identity, IdThenName, NameThenId
from toolfmt.formats.engines.engine import Engine
from toolfmt.formats.engines.json_object import JsonObject, KeyedObject
from toolfmt.formats.engines.named_json import NamedJson
from toolfmt.formats.grammar.answer_grammar import answer_grammar
from toolfmt.formats.values.json_layout import WrittenObject
from toolfmt.formats.values.json_style import JsonStyle
from toolfmt.formats.values.layout import Call, EachCall, write_calls
from toolfmt.formats.values.syntaxes import CODE, JSON, LITERAL
from toolfmt.messages.message import Message

_PAIRS = (
    ("<tool>", "</tool>"), ("<call-1>", "</call-1>"), ("[CALL]", "[/CALL]"), ("[TOOL_CALLS]", ""), ("⟦a⟧", "⟦/a⟧"),
    ("<|call|>", "<|end|>"), ("<｜call▁begin｜>", "<｜call▁end｜>"), ("@@call", "@@end"), ("Action:", ""), ("«", "»"),
    ("-> tools", "<-"), (">>>", "<<<"), ("<function_call> ", "</function_call>"), ("```tool_call\n", "```"),
    ("%%", "%%"),
    ("CALL(", ")"), ("(call ", ")"), ("$$$", ""), ("<a b=\"c\">", "</a>"), ("#call#", "#done#"),
)  # fmt: skip
_KEYS = (
    "name", "arguments", "tool", "tool_name", "function", "fn", "parameters", "args", "input", "type", "id", "action",
    "größe", "the call", "call-name", "Tool", "$name", "名前", "key:1",
)  # fmt: skip
_WHITESPACE = st.sampled_from(["", "\n", " ", "\n\n", "  "])
_STYLES = st.sampled_from(
    [
        JsonStyle(),
        JsonStyle(comma=",", colon=":"),
        JsonStyle(comma=",", indent=2),
        JsonStyle(comma=",", indent=4, margin="    "),
        JsonStyle(sort_keys=True, ascii=True),
        JsonStyle(comma=" , ", colon=" : "),
    ]
)
_NAMES = ("get_weather", "f", "name", "tool", "functions.search", "a-b", "X1", "arguments", "mcp:read/file")


def _texts(marks: Sequence[str]) -> st.SearchStrategy[str]:
    known = st.sampled_from(
        [*(mark for mark in marks if mark), '"', "\\", "}", "{", "]", ", ", "'", "```", "\n", "é", "😀"]
    )
    return st.lists(st.one_of(known, st.text(max_size=3)), max_size=4).map("".join).filter(_sound)


def _sound(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _arguments(marks: Sequence[str]) -> st.SearchStrategy[dict[str, Any]]:
    texts = _texts(marks)
    leaves = st.one_of(
        texts,
        st.integers(-(10**20), 10**20),
        st.booleans(),
        st.none(),
        st.floats(allow_nan=False, allow_infinity=False),
    )
    values = st.recursive(
        leaves,
        lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
        max_leaves=5,
    )
    keys = st.one_of(st.sampled_from(["city", "n", "name", "arguments", "type", "id"]), texts)
    return st.dictionaries(keys, values, max_size=3)


def _calls(marks: Sequence[str]) -> st.SearchStrategy[list[Call]]:
    return st.lists(st.tuples(st.sampled_from(_NAMES), _arguments(marks)), min_size=1, max_size=3)


def _object_text(written: WrittenObject, name: str, arguments: Mapping[str, Any], at: int = 0) -> str:
    """The object of the call with this number."""
    layout = EachCall(written.layout, "\x1e")
    return write_calls(layout, [(name, arguments)] * (at + 1), lambda name, *path: None).split("\x1e")[at]


@st.composite
def _written(draw: st.DrawFn) -> WrittenObject:
    """How an object is written, inferred from an example."""
    words = draw(st.lists(st.sampled_from(_KEYS), min_size=6, max_size=6, unique=True))
    style, given = draw(_STYLES), {"zkone": "zvone", "zktwo": "zvtwo"}
    strings = draw(st.sampled_from([(), (words[1],)]))
    inner: dict[str, Any] = {words[0]: "zqname", words[1]: style(given) if strings else given}
    if draw(st.booleans()):
        inner = dict(reversed(inner.items()))
    if draw(st.booleans()):
        inner[words[3]] = draw(st.sampled_from(["function", 3, True, None, {"deep": [1]}, "x{y}"]))
    id = draw(st.sampled_from(["", "zqid"]))
    whole = {words[2]: inner} if draw(st.booleans()) else inner
    if id:
        draw(st.sampled_from([whole, inner]))[words[4]] = id
    if draw(st.booleans()):
        whole = {words[5]: "function"} | whole
    # Python syntax is not generated with the arguments as a string: its quotes are rejected around JSON.
    text = repr(whole) if words[1] not in strings and draw(st.integers(0, 3)) == 0 else style(whole)
    written = WrittenObject.from_example(text, "zqname", given, id=id, id_form="call{number:03d}")
    assert _object_text(written, "zqname", given, 7).replace("call007", "zqid") == text
    return written


def _object_engine(written: WrittenObject, **parameters: Any) -> JsonObject:
    own = written.members
    keys: dict[str, Any] = {"name_key": own.name, "arguments_key": own.arguments, "wrapper": own.wrapper}
    notation = CODE if written.style.python else JSON
    return JsonObject(written=written, notation=notation, **keys, **parameters)


_LISTS = (
    ("[", "]"), ("\n[\n", "\n]\n"), (" [ ", " ] "), ("\n```json\n[", "]\n```\n"), ("BEGIN [", "] END"),
    ('{"steps": [', "]}"), ('\n{"name": "x[{", "plan": {"all": [\n', '\n] }, "n": 1}\n'), ("{'calls':[ ", " ]}"),
)  # fmt: skip
_PLAIN_FRAMES = (("", ""), ("\n", "\n"), ("(\n", "\n)"), ("\n```json\n", "\n```\n"), ("calls: ", "."))
_SEPARATORS = (", ", ",\n", "; ", "\n", "", " | ", "\n---\n", " and ")


@st.composite
def _framed(draw: st.DrawFn) -> JsonObject:
    written = draw(_written())
    opener, closer = draw(st.sampled_from(_PAIRS))
    common: dict[str, Any] = {"opener": opener, "closer": closer, "separator": draw(st.sampled_from(_SEPARATORS))}
    kind = draw(st.sampled_from(["list", "objects", "each"]))
    if kind == "each":
        return _object_engine(written, between=draw(_WHITESPACE), **common)
    enclosing = draw(st.sampled_from(_LISTS if kind == "list" else _PLAIN_FRAMES))
    return _object_engine(written, enclosing=enclosing, **common)


@st.composite
def _unframed(draw: st.DrawFn) -> JsonObject:
    written = draw(_written().filter(lambda one: not one.members.arguments_first))  # rejected, see below
    if draw(st.booleans()):
        enclosing = draw(st.sampled_from([("[", "]"), ("[\n  ", "\n]")]))
        separator = draw(st.sampled_from([", ", ",\n", "; "]))
        return _object_engine(written, unframed_openers=("[",), enclosing=enclosing, separator=separator)
    separator = draw(st.sampled_from(["\n", "; ", ", ", ""]))
    return _object_engine(written, unframed_openers=("{",), separator=separator)


@st.composite
def _keyed(draw: st.DrawFn) -> KeyedObject:
    opener, closer = draw(st.sampled_from(_PAIRS))
    given = {"zkone": "zvone", "zktwo": "zvtwo"}
    style = draw(_STYLES)
    written = WrittenObject.from_example(style({"zqname": given}), "zqname", given)
    common: dict[str, Any] = {
        "opener": opener,
        "closer": closer,
        "separator": draw(st.sampled_from(_SEPARATORS)),
        "written": written,
    }
    if draw(st.booleans()):
        return KeyedObject(between=draw(_WHITESPACE), **common)
    return KeyedObject(enclosing=draw(st.sampled_from(_LISTS)), **common)


_IDENTITIES: tuple[Identity, ...] = (
    NAME_ONLY, INDEXED, NameThenId("[ID]"),
    NameThenId(" #", id="call{number:03d}"), IdThenName("<|name|>", "call{number:05d}"), IdThenName(" | ", "{number}"),
    NameThenId("<id>", id="{name}:{number}"),
)  # fmt: skip


@st.composite
def _named(draw: st.DrawFn) -> NamedJson:
    opener, closer = draw(st.sampled_from([("", ""), *_PAIRS]))
    taken = {opener, closer}
    call_opener, call_closer = draw(st.sampled_from([pair for pair in _PAIRS if not taken & set(pair) - {""}]))
    if opener and draw(st.booleans()):
        call_opener = call_closer = ""
    between = draw(st.sampled_from(["", "\n", " ", ", ", "\n--\n"]))
    if not call_opener and not between:
        between = "\n"  # without this, the name would be in the brace of the previous call
    return NamedJson(
        opener=opener,
        closer=closer,
        call_opener=call_opener,
        call_closer=call_closer,
        separator=draw(
            st.sampled_from(["\n", "[ARGS]", "<args>", ": ", " ", "", "->", " => ", "\n<|args|>\n", " with "])
        ),
        lead=draw(st.sampled_from(["", "function ", "name: ", "<fn>", "\ntool=", "\n"])),
        fence=draw(
            st.sampled_from(
                [
                    ("", ""),
                    ("```json\n", "\n```"),
                    ("```\n", "\n```"),
                    ("```tool\n", "\n```"),
                    ("<json>", "</json>"),
                    ("(", ")"),
                ]
            )
        ),
        identity=draw(st.sampled_from(_IDENTITIES)),
        between=between,
        style=draw(_STYLES),
    )


_ENGINES: dict[str, st.SearchStrategy[Any]] = {
    "frames": _framed(),
    "no frames": _unframed(),
    "names as keys": _keyed(),
    "names before": _named(),
}


def _format(engine: Engine) -> ToolCallFormat:
    return ToolCallFormat(name="drawn", engine=engine, page="", instructions="", source=())


def _marks(engine: JsonObject | NamedJson) -> list[str]:
    marks = [engine.opener, engine.closer, engine.separator]
    return marks + ([engine.call_opener, engine.call_closer, engine.between] if isinstance(engine, NamedJson) else [])


def _read(format: ToolCallFormat, chunks: Sequence[str], tools: Any = None) -> Message:
    parser = Parser(format, strict=True, tools=tools)
    events = [event for chunk in chunks for event in parser.feed(chunk)]
    return Message.from_events([*events, *parser.finish()])


def _summary(message: Message) -> tuple[Any, ...]:
    calls = [(call.name, json.dumps(json.loads(call.arguments), sort_keys=True)) for call in message.tool_calls]
    return calls, message.content or "", message.reasoning or "", list(message.rejected)


def _tools(calls: Sequence[Call]) -> list[dict[str, Any]]:
    return [{"name": name, "parameters": {}} for name in dict.fromkeys(name for name, _ in calls)]


def _check(engine: JsonObject | NamedJson, calls: Sequence[Call]) -> None:
    format = _format(engine)
    text = engine.write(calls, lambda name, *path: None)
    expected: tuple[Any, ...] = ([(name, json.dumps(dict(given), sort_keys=True)) for name, given in calls], "", "", [])
    assert _summary(_read(format, [text])) == expected, (engine, text)
    assert _summary(_read(format, [text], _tools(calls))) == expected, (engine, text, "with tools")
    assert _summary(_read(format, list(text))) == expected, (engine, text, "character by character")
    with_content = (expected[0], "Let me look.\n", *expected[2:])
    assert _summary(_read(format, ["Let me look.\n" + text])) == with_content, (engine, text, "after words")
    if len(text) < 120:
        for cut in range(1, len(text)):
            assert _summary(_read(format, [text[:cut], text[cut:]])) == expected, (engine, text, cut)


@pytest.mark.sample(2)
@pytest.mark.parametrize("kind", _ENGINES)
@settings(max_examples=depth.examples(40))
@given(data=st.data())
def test_what_is_written_is_read(kind: str, data: st.DataObject) -> None:
    engine = data.draw(_ENGINES[kind])
    _check(engine, data.draw(_calls(_marks(engine))))


@pytest.mark.parametrize("kind", _ENGINES)
@given(data=st.data())
def test_engines_of_equal_data_are_equal(kind: str, data: st.DataObject) -> None:
    engine = data.draw(_ENGINES[kind])
    parts = {part.name: getattr(engine, part.name) for part in fields(engine)}
    same = type(engine)(**parts)
    assert same == engine and hash(same) == hash(engine)
    engine.write([("f", {})], lambda name, *path: None)  # results of introspection are not part of it
    assert pickle.loads(pickle.dumps(engine)) == engine == same
    assert replace(engine, closer=engine.closer + "!") != engine


_SCHEMA = {"type": "object", "properties": {"größe": {"type": "string"}, "n": {"type": "integer"}}}
_DECLARED = [{"type": "function", "function": {"name": name, "parameters": _SCHEMA}} for name in ("f", "get_weather")]


@pytest.mark.parametrize("kind", _ENGINES)
@settings(max_examples=depth.examples(40))
@given(data=st.data())
def test_the_grammar_allows_what_is_written(kind: str, data: st.DataObject) -> None:
    engine = data.draw(_ENGINES[kind])
    texts = _texts(_marks(engine))
    given = st.fixed_dictionaries({}, optional={"größe": texts, "n": st.integers(-999, 999)})
    calls = data.draw(st.lists(st.tuples(st.sampled_from(["f", "get_weather"]), given), min_size=1, max_size=2))
    try:
        rules = answer_grammar(_format(engine), _DECLARED, choice="required").rules
    except CannotConstrain as refusal:
        written = engine.written
        assert "as JSON in a string" in str(refusal) or "as Python" in str(refusal), refusal
        assert written.members.arguments_string or written.style.python, refusal
        return
    text = engine.write(calls, lambda name, *path: None)
    assert allows(rules, text), (engine, text)
    assert not allows(rules, text + engine.write(calls[:1], lambda name, *path: None)[:-1]), (engine, text)


_PYTHON = JsonStyle(python=True)
_WRITTEN_FIRST = WrittenObject(('{"arguments": ', "arguments", ', "name": ', "name", "}"))


@pytest.mark.parametrize(
    ("make", "parameter"),
    [
        (lambda: JsonObject(name_key="arguments"), "name_key"),
        (lambda: JsonObject(name_key="a", arguments_key="b", wrapper="a"), "wrapper"),
        (lambda: JsonObject(name_key=""), "name_key"),
        (lambda: JsonObject(name_key="a", written=WrittenObject()), "written"),
        (lambda: JsonObject(opener="<c>", separator="{"), "separator"),
        (lambda: JsonObject(opener="<c>", closer="}"), "closer"),
        (lambda: JsonObject(opener="<c>", enclosing=('"', '"')), "enclosing"),
        (lambda: JsonObject(unframed_openers=("{",), enclosing=("calls:", ".")), "enclosing"),
        (lambda: JsonObject(unframed_openers=("{",), separator=" and "), "separator"),
        (lambda: JsonObject(opener="<c>", written=WrittenObject(style=JsonStyle(python=True))), "written"),
        (lambda: JsonObject(opener="<c>", notation=LITERAL, written=WrittenObject(style=_PYTHON)), "written"),
        (lambda: JsonObject(written=_WRITTEN_FIRST), "written"),
        (lambda: KeyedObject(unframed_openers=("{",)), "opener"),
        (lambda: KeyedObject(opener="```json\n", closer="```"), "opener"),
        (lambda: KeyedObject(opener="<c>", written=WrittenObject()), "written"),
        (lambda: NamedJson(separator=" "), "separator"),
        (lambda: NamedJson(call_opener="<c>", separator="{"), "separator"),
        (lambda: NamedJson(call_opener="<c>", separator=">", call_closer="}"), "call_closer"),
        (lambda: NamedJson(call_opener="<c>", separator="[ID][A]", identity=NameThenId("[ID]")), "separator"),
        (lambda: NamedJson(call_opener="<c>", separator="\n", style=JsonStyle(python=True)), "style"),
        (lambda: NameThenId(":"), "marker"),
        (lambda: IdThenName(" ", "{number}"), "marker"),
        (lambda: IdThenName("#", "a b"), "id"),
        (lambda: IdThenName("#", ""), "id"),
        (lambda: IdThenName("#", "{number:099999999d}"), "id"),
        (lambda: IdThenName("#", "{number.__class__}"), "id"),
        (lambda: JsonStyle(indent=10**9), "indent"),
        (lambda: JsonStyle(margin="x"), "margin"),
        (lambda: JsonStyle(comma=";"), "comma"),
        (lambda: JsonStyle(colon=""), "colon"),
        (lambda: JsonStyle(python=True, indent=2), "python"),
        (lambda: WrittenObject(quote="`"), "quote"),
        (lambda: WrittenObject(id="call"), "id"),
        (lambda: WrittenObject(('{"a": ', "name", "}")), "pieces"),
        (lambda: WrittenObject(('{"a": ', "name", ', "b": ', "arguments")), "pieces"),
        (lambda: WrittenObject(('{"a": ', "name", ', "b": ', "arguments", "]")), "pieces"),
        (lambda: WrittenObject(('{"a": ', "name", ', "a": ', "arguments", "}")), "pieces"),
        (lambda: WrittenObject(('{"a": ', "name", ', "b": ', "name", "}")), "pieces"),
        (lambda: WrittenObject(('{"a": ', "name", ', "b": ', "time", "}")), "pieces"),
        (lambda: WrittenObject(('{"a": ', "name", ', "b": [', "arguments", "]}")), "pieces"),
        (lambda: WrittenObject(('{"a": ', "name", ', "b": {"c": ', "arguments", "}}")), "pieces"),
        (lambda: WrittenObject(('{"t": 1, ', "name", ": ", "arguments", "}")), "pieces"),
    ],
)
def test_parameters_that_are_ambiguous_are_rejected(make: Callable[[], object], parameter: str) -> None:
    with pytest.raises(ValueError, match=rf"\b{parameter}\b"):
        make()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"name": "other", "arguments": {"a": "b"}}', "the name is not in the object"),
        ('{"name": "zqname", "id": "zqname", "arguments": {"a": "b"}}', "the name is in it twice"),
        ('{"name": "zqname", "arguments": {}}', "the arguments are not in the object"),
        ('{"name": "zqname", "first": {"a": "b"}, "arguments": {"a": "b"}}', "the arguments are in it twice"),
        ('{"name": "zqname", "said": "zqname is called", "arguments": {"a": "b"}}', "inside another member"),
        ('{"name": "zqname", "arguments": {"a" :"b"}}', "no known style"),
        ('{"name": "zqname", "arguments": {"a": "b"}', "not a JSON object"),
        ('[{"name": "zqname", "arguments": {"a": "b"}}]', "not a JSON object"),
        ("{" * 30_000, "a short string"),
        ('{"name": "zqname", "x": ' + "[" * 9_000 + ', "arguments": {"a": "b"}}', "not a JSON object"),
    ],
)
def test_an_example_that_shows_no_syntax_is_rejected(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        WrittenObject.from_example(text, "zqname", {"a": "b"})


def test_members_of_a_familys_own_are_not_noted_and_those_of_others_are() -> None:
    text = (
        '{"type": "call", "call": {"fn": "get", "with": "{\\"a\\": 1}", "strict": true}, "call_id": "x7", "index": 0}'
    )
    written = WrittenObject.from_example(text, "get", {"a": 1}, id="x7", id_form="{number}")
    format = _format(_object_engine(written, opener="<c>", closer="</c>"))
    message = _read(format, [f"<c>{text}</c>"])
    assert [(call.name, call.arguments, call.id) for call in message.tool_calls] == [("get", '{"a": 1}', "x7")]
    for own, another in (("strict", "lax"), ('"call": {', '"function": {'), ("fn", "name")):
        other = text.replace(own, another)
        assert _read(format, [f"<c>{other}</c>"]).rejected
        assert len(toolfmt.parse(f"<c>{other}</c>", format).tool_calls) == 1


_PLAN = JsonObject(opener="<c>", closer="</c>", enclosing=('{"steps": [', "]}"), separator=", ")
_CALL_A, _CALL_B = '{"name": "f", "arguments": {"a": "]}</c>"}}', '{"name": "g", "arguments": {}}'


@pytest.mark.parametrize(
    ("inside", "calls", "tolerated"),
    [
        (f'{{"steps": [{_CALL_A}, {_CALL_B}]}}', 2, ()),
        (f'{{ "steps" :\n[\n{_CALL_A},\n{_CALL_B}\n]\n}}', 2, ()),  # JSON whitespace has no meaning
        (f'{{"steps": [{_CALL_A}]', 1, ("missing_closer",)),
        (f'{{"steps": [{_CALL_A}}}', 1, ("residue", "missing_closer")),
        (f"[{_CALL_A}, {_CALL_B}]", 2, ("missing_opener", "missing_closer")),
        (_CALL_A, 1, ("missing_opener", "missing_closer")),
    ],
)
def test_a_list_in_an_object_is_read_and_what_lacks_of_it_is_noted(
    inside: str, calls: int, tolerated: tuple[str, ...]
) -> None:
    format, text = _format(_PLAN), f"<c>{inside}</c> done"
    parser = Parser(format)
    events = [event for character in text for event in parser.feed(character)] + parser.finish()
    ends = [event for event in events if isinstance(event, toolfmt.ToolCallEnd)]
    assert {name for end in ends for name in end.tolerated} == set(tolerated)
    message = Message.from_events(events)
    assert message == toolfmt.parse(text, format)
    assert [call.name for call in message.tool_calls] == ["f", "g"][:calls]
    assert json.loads(message.tool_calls[0].arguments) == {"a": "]}</c>"}
    assert (message.content or "").strip() == "done" and not message.rejected
    assert bool(_read(format, list(text)).rejected) == bool(tolerated)


@pytest.mark.parametrize("inside", ['{"steps": []}', '{"steps": ["f"]}', '{"other": [' + _CALL_B + "]}", '{"steps": '])
def test_a_list_in_an_object_without_a_call_is_no_call(inside: str) -> None:
    assert toolfmt.parse(f"<c>{inside}</c>", _format(_PLAN)).tool_calls == []


def test_the_definition_of_a_tool_is_no_call_whatever_its_keys_are() -> None:
    """Such arguments, which look like a schema, cannot be represented, and the writer reports that."""
    format = _format(JsonObject(opener="<c>", closer="</c>", name_key="fn", arguments_key="with"))
    with pytest.raises(CannotWrite):
        toolfmt.write(format, [("f", {"properties": {}})])


def test_calls_that_begin_with_their_arguments_follow_each_other_where_nothing_closes_them() -> None:
    _check(JsonObject(opener="$$$", enclosing=("", ""), separator=", ", written=_WRITTEN_FIRST), [("f", {"a": 1})] * 2)


def _rejected(engine: JsonObject | NamedJson, text: str, tools: Any = None) -> bool:
    return bool(_read(_format(engine), [text], tools).rejected)


def test_what_a_family_writes_and_a_model_left_out_is_noted() -> None:
    in_fence = JsonObject(opener="<c>", closer="</c>", enclosing=("\n```json\n", "\n```\n"))
    assert _rejected(in_fence, '<c>{"name": "f", "arguments": {}}</c>')
    lead = JsonObject(opener="<c>", closer="</c>", enclosing=("(", ")"))
    assert _rejected(lead, '<c>{"name": "f", "arguments": {}})</c>')
    assert _rejected(lead, '<c>({"name": "f", "arguments": {}}</c>')
    named = NamedJson(
        opener="<c>", closer="</c>", call_opener="<f>", separator=">", fence=("```tool\n", "\n```"), between=","
    )
    assert not _rejected(named, "<c><f>f>```tool\n{}\n```,<f>f>```tool\n{}\n```</c>")
    assert not _rejected(named, "<c>\n<f>f>```tool\n{}\n```</c>")
    for wrong in (
        "<c><f>f>```json\n{}\n```</c>",
        "<c><f>f>{}</c>",
        "<c><f>f>```tool\n{}\n```<f>f>```tool\n{}\n```</c>",
    ):
        assert _rejected(named, wrong), wrong


def test_an_object_that_is_no_call_is_rejected_where_something_closes_the_calls() -> None:
    engine = JsonObject(opener="<c>", enclosing=("(", ")"), separator=", ")
    message = _read(_format(engine), ['<c>({"name": "f", "arguments": {}}, {"name": 3})'])
    assert len(message.tool_calls) == len(message.rejected) == 1


def test_python_in_a_string_of_arguments_is_noted() -> None:
    written = WrittenObject(('{"name": ', "name", ', "arguments": ', "arguments_string", "}"))
    engine = JsonObject(opener="<c>", closer="</c>", written=written)
    assert not _rejected(engine, '<c>{"name": "f", "arguments": "{\\"a\\": true}"}</c>')
    assert _rejected(engine, '<c>{"name": "f", "arguments": "{\\"a\\": True}"}</c>')


def test_a_member_of_the_family_is_not_taken_for_arguments_that_are_missing() -> None:
    written = WrittenObject(('{"name": ', "name", ', "arguments": ', "arguments", ', "input": {"a": 1}}'))
    format = _format(JsonObject(opener="<c>", closer="</c>", written=written))
    tools = [{"name": "f", "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}}}]
    message = toolfmt.parse('<c>{"name": "f", "input": {"a": 1}}</c>', format, tools=tools)
    assert [call.arguments for call in message.tool_calls] == ["{}"]


def test_names_as_keys_may_be_pythons() -> None:
    written = WrittenObject(("{", "name", ": ", "arguments", "}"), _PYTHON, quote="'")
    engine = KeyedObject(opener="<c>", closer="</c>", notation=CODE, written=written)
    _check(engine, [("f", {"a": True, "b": "it's\x0c", "c": [None, 1.5]})])


def test_a_fence_that_may_hold_any_json_starts_calls_with_keys_in_any_encoding() -> None:
    written = WrittenObject(('{"gr\\u00f6\\u00dfe": ', "name", ', "with": ', "arguments", "}"), JsonStyle(ascii=True))
    engine = _object_engine(written, opener="```json\n", closer="```", between="\n")
    _check(engine, [("f", {"größe": "ß"})])
    other = '```json\n{"height": 3}\n```'
    assert _summary(_read(_format(engine), [other])) == ([], other, "", [])


@pytest.mark.parametrize("lead", ["\ntool=", "\n", " tool "])
def test_a_lead_may_begin_with_whitespace_after_a_short_start_marker(lead: str) -> None:
    _check(NamedJson(call_opener=">>>", lead=lead, separator="\n"), [("f", {"a": 1}), ("g", {})])


def test_a_name_may_contain_the_character_before_its_index() -> None:
    for name in ("f", "a:1", "functions.f"):
        header = INDEXED.write(name, 3)
        assert INDEXED.read(header, "") == (name, header)


def test_name_and_id_have_the_same_quotes() -> None:
    with pytest.raises(ValueError, match="different quotes"):
        WrittenObject.from_example(
            "{'name': 'zqname', 'id': \"zqid\", 'with': {'a': 1}}", "zqname", {"a": 1}, id="zqid"
        )


def test_a_string_of_arguments_is_escaped_as_all_else_is() -> None:
    pieces = ('{"name": ', "name", ', "arguments": ', "arguments_string", "}")
    assert _object_text(WrittenObject(pieces), "é", {"a": "é"}) == '{"name": "é", "arguments": "{\\"a\\": \\"é\\"}"}'
    assert _object_text(WrittenObject(pieces, JsonStyle(ascii=True)), "é", {"a": "é"}).isascii()
