"""Formats as data: every known one survives a round trip, and invalid data is rejected with the name of the member."""

from __future__ import annotations

import copy
import json
import random
import re
import time
import tracemalloc
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import depth
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolfmt._util.regular_expressions import UnsupportedPattern
from toolfmt.errors import BadFormat
from toolfmt.formats import FORMATS, Parser, ToolCallFormat, get
from toolfmt.formats.engines.json_object import JsonObject
from toolfmt.formats.engines.tagged import Tagged
from toolfmt.formats.serialization.format_data import format_to_dict, from_data, from_text, to_text
from toolfmt.formats.serialization.safe_regex import check_pattern
from toolfmt.messages.events import ToolCallStart, merge
from toolfmt.testing.corpus import cases

EVERY = pytest.mark.parametrize("format", FORMATS, ids=lambda format: format.name)


def rejection(data: object, source: str = "mine.json") -> str:
    """Return the message with which data is rejected."""
    with pytest.raises(BadFormat) as raised:
        from_data(data, source)
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 800
    return str(raised.value)


PLAIN: dict[str, Any] = {
    "toolfmt_format": 1,
    "name": "mine",
    "engine": {"kind": "json_object", "opener": "<call>", "closer": "</call>"},
}


TAGS = {"opener": "<c>", "closer": "</c>", "key_opener": "<k>", "key_closer": "</k>", "value_closer": "</v>"}


def plain(**members: Any) -> dict[str, Any]:
    return {**copy.deepcopy(PLAIN), **members}


def engine(kind: str = "json_object", **members: Any) -> dict[str, Any]:
    return plain(engine={"kind": kind, **members})


# --- round trips


@EVERY
def test_a_known_format_survives_a_round_trip(format: ToolCallFormat) -> None:
    text = to_text(format)
    assert from_text(text) == format
    assert to_text(from_text(text)) == text


@EVERY
def test_a_stored_format_reads_its_corpus_identically(format: ToolCallFormat) -> None:
    loaded = from_text(to_text(format))
    for case in cases(format.name):
        results = [
            merge([*parser.feed(case.text), *parser.finish()])
            for parser in (Parser(one, tools=case.tools, prefix=case.prefix) for one in (format, loaded))
        ]
        assert results[0] == results[1], case.title


def test_a_missing_member_has_its_default() -> None:
    assert from_data(PLAIN) == ToolCallFormat("mine", JsonObject(opener="<call>", closer="</call>"))
    assert format_to_dict(from_data(PLAIN)) == PLAIN


def test_a_format_is_written_as_readable_json() -> None:
    format = ToolCallFormat(
        "mine",
        Tagged(opener="‹call›", closer="\u202e", key_opener="<k>", key_closer="</k>", value_closer="</v>"),
        reasoning=(("<t>", "</t>"),),
    )
    assert to_text(format) == (
        "{\n"
        '  "toolfmt_format": 1,\n'
        '  "name": "mine",\n'
        '  "engine": {\n'
        '    "kind": "tagged",\n'
        '    "opener": "‹call›",\n'
        '    "closer": "\\u202e",\n'
        '    "key_opener": "<k>",\n'
        '    "key_closer": "</k>",\n'
        '    "value_closer": "</v>"\n'
        "  },\n"
        '  "reasoning": [["<t>", "</t>"]]\n'
        "}\n"
    )
    assert from_text(to_text(format)) == format


def test_a_list_that_is_too_long_for_one_line_takes_several() -> None:
    pairs = tuple((f"<thinking about number {at}>", f"</thinking about number {at}>") for at in range(3))
    format = ToolCallFormat(
        "mine",
        Tagged(opener="<c>", closer="</c>", key_opener="<k>", key_closer="</k>", value_closer="</v>"),
        reasoning=pairs,
    )
    lines = to_text(format).splitlines()
    assert lines[-5:] == [
        *(f'    ["{one}", "{other}"]{"," if one != pairs[-1][0] else ""}' for one, other in pairs),
        "  ]",
        "}",
    ]
    assert json.loads(to_text(format)) == json.loads(json.dumps(format_to_dict(format)))


@dataclass(frozen=True)
class Own(JsonObject):
    """An engine of a third party."""


def test_code_is_not_stored() -> None:
    with pytest.raises(BadFormat) as raised:
        format_to_dict(replace(get("json"), name="own", engine=Own(opener="<x>", closer="</x>")))
    assert str(raised.value) == (
        f"the format own cannot be stored as data: engine is {__name__}.Own, which is code; "
        "only objects of toolfmt itself can be stored"
    )


# --- what is rejected


INVALID = {
    "not an object": ([], "a format must be an object with the member 'toolfmt_format', not a list of 0"),
    "no version": ({"name": "x"}, 'the key "toolfmt_format" is missing; set it to 1, the version of this file format'),
    "another version": (
        plain(toolfmt_format=2),
        "toolfmt_format: must be 1, the version of this file format, not 2",
    ),
    "true as the version": (
        plain(toolfmt_format=True),
        "toolfmt_format: must be 1, the version of this file format, not true",
    ),
    "no engine": (
        {"toolfmt_format": 1, "name": "x"},
        "engine: is missing; it must be an engine (an object with `kind`)",
    ),
    "no name": ({key: value for key, value in PLAIN.items() if key != "name"}, "name: is missing; it must be a string"),
    "an unknown member": (plain(alias=["x"]), "unknown member 'alias'; did you mean 'aliases'?"),
    "an unknown member of the engine": (
        engine(opner="<x>"),
        "engine: unknown member 'opner'; did you mean 'opener'?",
    ),
    "a string for an engine": (
        plain(engine="tagged"),
        "engine: must be an engine (an object with `kind`), not 'tagged'",
    ),
    "an engine without kind": (
        plain(engine={"opener": "<x>"}),
        "engine.kind: must name the kind of engine, but is missing; choose from call_expression, channels, choice, "
        "elsewhere, flags, json_object, keyed_object, named_json, nested_tags and tagged",
    ),
    "an unknown kind": (engine("taged"), "engine.kind: unknown engine kind 'taged'; did you mean 'tagged'?"),
    "a number for a string": (engine(opener=3), "engine.opener: must be a string, not 3"),
    "null for a string": (engine(opener=None), "engine.opener: must be a string, not null"),
    "a string for a list": (
        engine(opener="<x>", also="<y>"),
        "engine.also: must be a list in which each item is a string, not '<y>'",
    ),
    "a number in a list": (engine(opener="<x>", also=["<y>", 4]), "engine.also[1]: must be a string, not 4"),
    "an empty marker": (
        engine(opener="<x>", also=["<y>", ""]),
        "engine.also[1]: must not be empty: it would match everywhere",
    ),
    "a list that is too long": (
        engine(opener="<x>", enclosing=["[", "]", "x"]),
        "engine.enclosing: must be a list of 2: a string, a string or an empty list, not a list of 3",
    ),
    "a string that is not one of the choices": (
        engine(opener="<x>", name_at_start="always"),
        "engine.name_at_start: must be 'never', 'tolerated' or 'usual', not 'always'",
    ),
    "an unknown syntax": (
        engine(opener="<x>", notation="jason"),
        "engine.notation: unknown syntax 'jason'; did you mean 'json'?",
    ),
    "a reasoning block without an end marker": (
        plain(reasoning=[["<think>", ""]]),
        "reasoning[0]: must not be empty: it would match everywhere",
    ),
    "a name that ends like a file name": (
        plain(name="x.json"),
        "name: must be at most 80 letters, digits, '_', '-' and '.', not 'x.json'",
    ),
    "a name with a space": (
        plain(aliases=["a b"]),
        "aliases[0]: must be at most 80 letters, digits, '_', '-' and '.', not 'a b'",
    ),
    "a marker that is too long": (engine(opener="x" * 401), "engine.opener: is longer than 400 characters"),
    "half a surrogate pair": (
        engine(opener="\ud800"),
        "engine.opener: contains half of a surrogate pair, which is not valid text",
    ),
    "a missing variant": (
        plain(variant="one", variants={"on": PLAIN["engine"]}),
        "variant: 'one' is not in `variants`; did you mean 'on'?",
    ),
    "a number for a variant": (
        plain(variants={"one": 1}),
        "variants['one']: must be an engine (an object with `kind`), not 1",
    ),
    "an unknown member of a runtime's parser": (
        plain(runtime_parsers={"vLLM": {"name": "x", "other": {}}}),
        "runtime_parsers['vLLM']: unknown member 'other'; did you mean 'others'?",
    ),
    "an id with attribute access": (
        plain(call_id="{name.__class__}{number}"),
        "call_id: is '{name.__class__}{number}', but an id consists of text, {name} and {number} or {number:05d}",
    ),
    "parameters that an engine rejects": (
        engine("named_json", separator=""),
        "engine: separator is '', but without a start marker ordinary text has it after words too",
    ),
    "a nested writer that is rejected": (
        engine(opener="<x>", written={"pieces": ["{", "nam", "}"]}),
        "engine.written: pieces has the placeholder 'nam', "
        "but only name, arguments, arguments_string, id, number are known",
    ),
    "an unknown nested kind": (
        engine("tagged", key_opener="<", key_closer=">", value_closer="/", key_header={"kind": "attribute"}),
        "engine.key_header.kind: unknown header kind 'attribute'; did you mean 'attributes'?",
    ),
    "an unknown member of a nested kind": (
        engine("call_expression", notation={"kind": "between_marks", "mrk": "|"}, written="json_values"),
        "engine.notation: unknown member 'mrk'; did you mean 'mark'?",
    ),
    "no start marker": (
        engine(),
        "engine: does not parse the call that it writes "
        "(mine cannot represent calls[0]: the name 'get_weather' would not survive a round trip)",
    ),
    "indistinguishable markers": (
        engine("tagged", opener="<a>", key_opener="<k>", key_closer="<k>", value_closer="<k>"),
        "engine: call_closer: no marker ends a call",
    ),
    "true for a number": (
        engine(opener="<x>", written={"style": {"indent": True}}),
        "engine.written.style.indent: must be an integer or null, not true",
    ),
    "a variant without a name": (plain(variants={"": PLAIN["engine"]}), "variants: has a member with an empty name"),
    "a marker that starts nothing": (
        plain(between=["<think>", "<mull>"]),
        "between[1]: '<mull>' is not a start marker of `reasoning` or of a call",
    ),
    "an incomplete frame of another format": (
        engine(opener="<x>", foreign=[["<y>", ""]]),
        "engine.foreign[0]: must not be empty: it would match everywhere",
    ),
    "a choice without engines": (
        engine("choice", engines=[]),
        "engine: a choice needs at least one engine; the first writes the calls",
    ),
}


@pytest.mark.parametrize("what", INVALID)
def test_the_error_names_the_member(what: str) -> None:
    data, sentence = INVALID[what]
    assert rejection(data) == f"mine.json: {sentence}"


def test_an_engine_that_raises_for_its_markers_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    """An unexpected exception of an engine becomes a message, too."""

    def write(*_: object) -> str:
        return ""[1]

    monkeypatch.setattr(JsonObject, "write", write)
    why = "cannot write a call and parse it back (IndexError: string index out of range)"
    assert rejection(PLAIN) == f"mine.json: engine: {why}"
    assert rejection(plain(engine={"kind": "tagged", **TAGS}, variants={"json": PLAIN["engine"]})) == (
        f"mine.json: variants['json']: {why}"
    )


@pytest.mark.parametrize(
    "form", ["call", "{}", "{0}", "{number!r}", "{number:999999999d}", "{number:{name}}", "{number[0]}", "{number", "}"]
)
def test_the_form_of_an_id_has_two_placeholders_only(form: str) -> None:
    assert rejection(plain(call_id=form)).startswith(f"mine.json: call_id: is {form!r}, but ")


@pytest.mark.parametrize("form", ["{number}", "functions.{name}:{number}", "call{number:06d}"])
def test_forms_of_ids_that_families_use_are_accepted(form: str) -> None:
    assert from_data(plain(call_id=form)).call_id == form


def test_the_nesting_of_engines_is_limited() -> None:
    inner = PLAIN["engine"]
    for _ in range(7):
        inner = {"kind": "choice", "engines": [inner]}
    assert from_data(plain(engine=inner)).openers == ("<call>",)
    for _ in range(1000):
        inner = {"kind": "choice", "engines": [inner]}
    message = rejection(plain(engine=inner))
    assert message == f"mine.json: engine{'.engines[0]' * 8}: is nested more than 8 levels deep"


def test_every_size_is_limited() -> None:
    assert "signatures: has 201 items, but the maximum is 200" in rejection(plain(signatures=["x"] * 201))
    assert from_data(plain(families=["x"] * 200)).families == ("x",) * 200
    many = {"kind": "choice", "engines": [PLAIN["engine"] | {"also": [f"<{at}>" for at in range(190)]}] * 25}
    assert "also: there are more than 4,000 values" in re.sub(r"\[\d+\]", "", rejection(plain(engine=many)))
    assert "page: is longer than 20,000 characters" in rejection(plain(page="x" * 20_001))
    for text, why in {
        "x" * 262_145: "longer than 262,144 characters, the maximum for a format",
        "[" * 100_000: "not JSON: nested too deeply",
        '{"name": 1' + "0" * 5000 + "}": "not JSON: an integer of more than 4300 digits",
        '{"name": "a", "name": "b"}': "not JSON: the member 'name' appears twice",
        '{"name": NaN}': "not JSON: NaN is not a JSON value",
        "": "not JSON: Expecting value: line 1 column 1 (char 0)",
    }.items():
        with pytest.raises(BadFormat) as raised:
            from_text(text, "mine.json")
        assert str(raised.value) == f"mine.json: {why}"


# --- regular expressions


@pytest.mark.parametrize(
    "pattern",
    [
        r"<tool_call>",
        r"<\|open\|>message role=\"assistant\"<\|sep\|>",
        r"<seed:tool_call>\s*<function name=",
        r'<function name="[^"\n]*"><param name=',
        r"(?<!<)\[TOOL_REQUEST\](?=\n|<)",
        r"<\|channel\|>(?:analysis|commentary|final)",
        r"x.{0,40}y ?\+",
        r"a[b-d]*",
        r"x\s*y\s*z",
    ],
)
def test_supported_patterns_are_accepted(pattern: str) -> None:
    check_pattern(pattern)
    assert from_data(plain(signatures=[pattern], headers=[pattern])).signatures == (pattern,)


UNSAFE = [
    r"(a+)+b", r"(?:a*)*b", r"(?:a|a)*b", r"a*a*a*b", r"\s*x", r"x\s*\s*y", r"(?:x|y)+", r".*x", r"x.*", r"xX*y",
    r"x\s*-?y", r"\bword", r"(x)", r"(?P<n>x)", r"(?i)x", r"(?s:x.)", r"x(?=y*z)", r"x\1", r"[", r"(", r")", r"*",
    r"x{65}", r"x{1,999}", r"x??", r"x*+", "x" * 301, r"", r"x?", r"^x", r"x$", r"(?<=a|bc)x",
    r"(?:" * 10 + "x" + ")" * 10, r"x(?:ay*b)", r"x(?=ay*b)", r"xa?b?c?d?e?f?g?",
    r"(?:a|b){0,3}", r"x{0,60}y{0,60}", r"\x41", "x[[:alpha:]]", r"x\u0041",
    r"(?#x)", r"(?>x)", r"x\s{2,}\sy", "é[É]*x", "x[][a]", "x[^]{0,3}[a]",
]  # fmt: skip


@pytest.mark.parametrize("pattern", UNSAFE)
def test_unsupported_patterns_are_rejected(pattern: str) -> None:
    with pytest.raises(UnsupportedPattern):
        check_pattern(pattern)
    assert rejection(plain(headers=[pattern])).startswith("mine.json: headers[0]: ")


def test_searching_for_a_supported_pattern_takes_linear_time() -> None:
    """Random patterns of pattern characters are searched for in long texts of two characters."""
    rng = random.Random(1)
    pieces = [
        "a",
        "b",
        "[ab]",
        "[^a]",
        "a*",
        "b*",
        "[ab]*",
        "[^b]*",
        "(?:",
        ")",
        "|",
        "?",
        "{0,9}",
        "(?=",
        "c",
        r"\s",
        ".*",
    ]
    texts = ["a" * 20_000, "ab" * 10_000, "b" * 20_000, "aab" * 7_000]
    accepted = 0
    for _ in range(6_000):
        pattern = "".join(rng.choice(pieces) for _ in range(rng.randrange(1, 9)))
        try:
            check_pattern(pattern)
        except UnsupportedPattern:
            continue
        accepted += 1
        started = time.process_time()
        for text in texts:
            re.search(pattern + "zz", text)
        assert time.process_time() - started < 1, pattern
    assert accepted > 100


# --- random damage


def mutated(rng: random.Random, data: Any) -> Any:
    """Return the data with one value in it removed, renamed, replaced, changed or doubled."""
    data = copy.deepcopy(data)
    positions = list(_positions(data))
    holder, key = rng.choice(positions)
    what = rng.randrange(6)
    odd = ["", "x", "<", "\n", "{", '"', "<call>", 0, -1, 10**30, 1.5, True, None, [], {}, [[]], [""], ["x", "x"], "\0"]
    if what == 0:
        del holder[key]
    elif what == 1 and isinstance(holder, dict):
        holder[str(rng.choice(odd))] = holder.pop(key)
    elif what == 2:
        other, from_there = rng.choice(positions)
        if isinstance(other, list) and from_there >= len(other):
            return data
        holder[key] = copy.deepcopy(other[from_there])
    elif what == 3 and isinstance(holder[key], str) and holder[key]:
        at = rng.randrange(len(holder[key]))
        holder[key] = holder[key][:at] + rng.choice(["", "<", "x", "\n", " ", '"']) + holder[key][at + 1 :]
    elif what == 4 and isinstance(holder[key], list):
        holder[key] = holder[key] * 2
    else:
        holder[key] = rng.choice(odd)
    return data


def _positions(data: Any) -> Iterator[tuple[Any, Any]]:
    for key in data if isinstance(data, dict) else range(len(data)):
        yield data, key
        if isinstance(data[key], (dict, list)):
            yield from _positions(data[key])


GOOD = [format_to_dict(format) for format in FORMATS]


@settings(deadline=None, max_examples=depth.examples(300), suppress_health_check=list(HealthCheck))
@given(st.randoms(use_true_random=False), st.integers(1, 4))
def test_damaged_data_is_a_format_or_rejected(rng: random.Random, times: int) -> None:
    data: Any = rng.choice(GOOD)
    for _ in range(times):
        if data:
            data = mutated(rng, data)
    started = time.process_time()
    try:
        loaded = from_text(json.dumps(data), "mine.json")
    except BadFormat as error:
        assert str(error).startswith("mine.json: ")
    else:
        assert from_text(to_text(loaded)) == loaded
        assert time.process_time() - started < 1
        assert_parses_any_text(loaded, rng)


def assert_parses_any_text(format: ToolCallFormat, rng: random.Random) -> None:
    """Check that no text raises, whatever the markers are (guarantee 2)."""
    own = [
        *format.markers.output_literals,
        *format.between,
        *format.ignored_at_start,
        "f",
        "{",
        '"',
        "}",
        "=",
        "\n",
        " ",
        "a",
    ]
    for _ in range(3):
        text = "".join(rng.choice(own) for _ in range(rng.randrange(1, 12)))
        parser = Parser(format)
        for character in text:
            parser.feed(character)
        parser.finish()


@settings(deadline=None, max_examples=depth.examples(200))
@given(st.integers(0, len(GOOD) - 1), st.integers(0, 9_000), st.integers(0, 30), st.text(max_size=8))
def test_damaged_text_is_a_format_or_rejected(which: int, at: int, lost: int, put: str) -> None:
    text = json.dumps(GOOD[which])
    try:
        from_text(text[: at % len(text)] + put + text[at % len(text) + lost :], "mine.json")
    except BadFormat as error:
        assert str(error).startswith("mine.json: ")


def test_rejected_data_costs_little_memory() -> None:
    texts = ["[" * 262_000, '{"a":' * 50_000, json.dumps(plain(aliases=["x"] * 60_000)), '"' + "x" * 262_000 + '"']
    texts.append(json.dumps(plain(signatures=["(?:" * 90] * 800)))
    from_data(PLAIN)  # loads what is imported and compiled only once
    tracemalloc.start()
    for text in texts:
        started = time.process_time()
        with pytest.raises(BadFormat):
            from_text(text)
        assert time.process_time() - started < 1
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 50_000_000


def test_a_format_that_calls_only_declared_tools_is_checked_with_one() -> None:
    engine = {
        "kind": "call_expression", "unframed_openers": ["("], "lead": "(", "brackets": [" ", ")"], "assign": " ",
        "separator": " ", "key_lead": ":", "enclosing": ["", ""], "between": "\n", "notation": "literal",
        "written": "json_values",
    }  # fmt: skip
    format = from_data(plain(engine=engine))
    call = '(f :a "b" :c 1)'
    tools = [{"name": "f", "parameters": {"type": "object", "properties": {"a": {}, "c": {}}}}]
    assert [event for event in Parser(format).feed(call) if isinstance(event, ToolCallStart)] == []
    parser = Parser(format, tools=tools)
    events = [*parser.feed(call), *parser.finish()]
    assert [event.name for event in events if isinstance(event, ToolCallStart)] == ["f"]
