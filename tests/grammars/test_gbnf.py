"""GBNF and XGrammar's EBNF: how each node is written, compared with the node's meaning for all short texts.

`gbnf_reader` always judges; llama.cpp and XGrammar judge if they are installed.
"""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Iterable

import pytest
from gbnf_judges import JUDGES, Accepts, Judge, judge_of

from toolfmt.errors import CannotConstrain
from toolfmt.formats.grammar.json_nodes import json_nodes
from toolfmt.formats.grammar.schemas import NotConstrained
from toolfmt.formats.values.nodes import (
    FreeText,
    JsonValue,
    Member,
    Members,
    Pattern,
    QuotedText,
    RawText,
    Repeated,
    Rule,
    Rules,
    Text,
    Whitespace,
    either,
    maybe,
    row,
)
from toolfmt.grammars.gbnf import BOUNDED_TEXT, DECLARED_ORDER, gbnf


@pytest.fixture(scope="module", params=JUDGES)
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Judge:
    return judge_of(request.param, tmp_path_factory)


def _words(alphabet: str, longest: int) -> list[str]:
    return ["".join(word) for length in range(longest + 1) for word in itertools.product(alphabet, repeat=length)]


def _agrees(accepts: Accepts, answers: Iterable[str], meaning: Accepts) -> None:
    answers = list(answers)
    expected = {answer: meaning(answer) for answer in answers}
    assert any(expected.values()) and not all(expected.values()), "results of both kinds"
    assert {answer: accepts(answer) for answer in answers} == expected


def _is_raw(node: RawText, answer: str) -> bool:
    text = answer.removesuffix(node.end)
    bounded = node.least <= len(text) <= (len(text) if node.most is None else node.most)
    first = answer.find(node.end) == len(answer) - len(node.end)
    return answer.endswith(node.end) and first and bounded and not any(never in text for never in node.never)


@pytest.mark.parametrize(
    "node",
    [
        RawText("ab"),
        RawText("aba"),
        RawText("aab", ("b",)),
        RawText("aba", ("ba",)),
        RawText("aba", ("ab",), 1, 4),
        RawText("aa", (), 1),
        RawText("ab", ("bb", "ca"), 1, 3),
        RawText("aab", ("ab",), 2),
        RawText("c", ("ab",), 0, 2),
        RawText("b", ("abc", "ac")),
    ],
    ids=repr,
)
def test_raw_text(engine: Judge, node: RawText) -> None:
    """An end marker counts where it first appears, even if it overlaps a forbidden text."""
    _agrees(engine.accepts(Rules(node)), _words("abc", 6), lambda answer: _is_raw(node, answer))


@pytest.mark.parametrize(
    ("without", "not_first"),
    [(("ab",), ""), (("ab",), "c"), (("aa",), "a"), ((), "b"), (("aba", "cc"), ""), (("", "ab", "b"), "c")],
)
def test_free_text(engine: Judge, without: tuple[str, ...], not_first: str) -> None:
    def meaning(answer: str) -> bool:
        held = any(text in answer for text in without if text)
        return not held and not (not_first and answer.startswith(not_first))

    _agrees(engine.accepts(Rules(FreeText(without, not_first))), _words("abc", 6), meaning)


def test_any_text(engine: Judge) -> None:
    accepts = engine.accepts(Rules(row(FreeText(), "|")))
    assert [accepts(answer) for answer in ("|", "é東🙂\n\t\x7f\u2028|", "a|b|", "a")] == [True, True, True, False]


def _given(answer: str, separator: str) -> list[str]:
    return (answer.split(separator) if separator else list(answer)) if answer else []


@pytest.mark.parametrize("separator", [",", ""])
def test_members_in_any_order(engine: Judge, separator: str) -> None:
    node = Members(tuple(Member(Text(key), key in "ac") for key in "abc"), Text(separator))

    def meaning(answer: str) -> bool:
        given = _given(answer, separator)
        return {"a", "c"} <= set(given) <= set("abc") and len(given) == len(set(given))

    assert DECLARED_ORDER not in gbnf(Rules(node)).narrower
    _agrees(engine.accepts(Rules(node)), _words("abc,", 5), meaning)


@pytest.mark.parametrize("separator", [",", ""])
def test_many_members_in_declared_order(engine: Judge, separator: str) -> None:
    node = Members(tuple(Member(Text(key), key in "bd") for key in "abcdefghi"), Text(separator))
    draw = random.Random(14)
    answers = [separator.join(draw.sample("abcdefghi", draw.randint(0, 9))) for _ in range(100)]
    answers += [separator.join(sorted(draw.sample("abcdefghi", draw.randint(0, 9)))) for _ in range(200)]
    answers += ["bb", "b,,d", ",b,d", "b,d,", "bd"]

    def meaning(answer: str) -> bool:
        given = _given(answer, separator)
        return {"b", "d"} <= set(given) <= set("abcdefghi") and given == sorted(set(given))

    assert gbnf(Rules(node)).narrower == (DECLARED_ORDER,)
    _agrees(engine.accepts(Rules(node)), answers, meaning)


def test_no_members(engine: Judge) -> None:
    accepts = engine.accepts(Rules(row("f(", Members(()), ")")))
    assert [accepts("f()"), accepts("f(a)")] == [True, False]


@pytest.mark.parametrize("separator", [",", ""])
@pytest.mark.parametrize(
    ("least", "most"),
    [(1, 1), (1, None), (2, 3), (3, 3), (1, 2), (2, None), (100, 100), (101, 101), (90, 110), (1000, 1000),
     (1, 1999), (1500, None), (1200, 1900), (1, 2500), (2100, 2100)],
)  # fmt: skip
def test_repetitions(engine: Judge, separator: str, least: int, most: int | None) -> None:
    """Also if the count exceeds llama.cpp's limit."""
    accepts = engine.accepts(Rules(Repeated(Text("a"), Text(separator), least, most)))
    bound = least if most is None else most
    counts = {0, 1, 2, 3, 4, 5, least - 1, least, least + 1, bound - 1, bound, bound + 1, bound // 2}
    meaning = {count: least <= count and (most is None or count <= most) for count in counts}
    assert {count: accepts(separator.join("a" * count)) for count in counts} == meaning


def test_what_may_be_missing(engine: Judge) -> None:
    node = row(maybe(Text("a")), maybe(Repeated(Text("b"))), either("c", Rule("end")))
    pattern = re.compile("a?b*(c|d)")
    rules = Rules(node, {"end": Text("d")})
    _agrees(engine.accepts(rules), _words("abcd", 4), lambda answer: pattern.fullmatch(answer) is not None)


def test_alternatives_with_a_common_prefix_branch_where_they_differ(engine: Judge) -> None:
    """Three hundred tools share one path until their names differ: llama.cpp follows each path over the whole
    vocabulary.
    """
    rows = [row("ab", Pattern("[c-d]")), row("ab", Pattern("[d-e]"), "b"), row("b", Pattern("c"))]
    node = either("ab", "abc", "", "b", "bb", *rows, Pattern("e+"))
    pattern = re.compile("ab|abc||b|bb|ab[cd]|ab[de]b|bc|e+")
    _agrees(engine.accepts(Rules(node)), _words("abcde", 4), lambda answer: pattern.fullmatch(answer) is not None)


def test_three_hundred_names_are_one_way_to_go_on() -> None:
    tools = either(*(row(f"call:tool_{at}(", Rule("x"), ")") for at in range(300)))
    lines = gbnf(Rules(tools, {"x": Text("y")})).text.splitlines()
    assert lines[1].startswith('row-0 ::= "call:tool_" ')
    assert max(line.count("|") for line in lines) == 10, "ten digits, or the end of the name"


@pytest.mark.parametrize("quote", ['"', "'"])
def test_quoted_text(engine: Judge, quote: str) -> None:
    inside = r"([^Q\\\x00-\x1f]|\\([Q\\nrtbf]|u(?![dD][89a-fA-F])[0-9a-fA-F]{4}))"
    whole = re.compile(f"{inside}*Q".replace("Q", quote))
    two = re.compile(f"{inside}{{1,2}}Q".replace("Q", quote))
    pieces = [
        "a",
        "é",
        "東",
        "🙂",
        "\\",
        quote,
        "n",
        "x",
        "u00e9",
        "uD7ff",
        "ud800",
        "uDFFF",
        "uE000",
        "u12",
        "\n",
        "\x1f",
    ]
    answers = ["".join(word) for length in range(4) for word in itertools.product(pieces, repeat=length)]
    answers = [answer + quote for answer in answers[:: 1 if len(answers) < 3000 else 3]]
    _agrees(engine.accepts(Rules(QuotedText(quote))), answers, lambda answer: whole.fullmatch(answer) is not None)
    bounded = engine.accepts(Rules(QuotedText(quote, 1, 2)))
    _agrees(bounded, answers[:1500], lambda answer: two.fullmatch(answer) is not None)


@pytest.mark.parametrize(
    ("pattern", "alphabet"),
    [
        (r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]{1,2})?", "-01.e+"),
        (r"[A-Za-z_][A-Za-z0-9_]*", "aZ_9-"),
        (r"((?:ab|c){2,3}\-x)", "abc-x"),
        (r"[\]\^\-\[a]+", "a]^[-b"),
        (r"[^a\n]{2}", "ab\nc"),
        (r"[\^a]+", "^ab"),
        (r"a{0}b", "ab"),
        (r"[\x41-\x43\u00e9-]", "ABD-é"),
    ],
)
def test_patterns(engine: Judge, pattern: str, alphabet: str) -> None:
    expected = re.compile(pattern)
    answers = _words(alphabet, 4 if len(alphabet) > 4 else 5)
    if "{2,3}" in pattern:
        answers += ["abab-x", "ccc-x", "abcab-x", "cccc-x"]
    _agrees(engine.accepts(Rules(Pattern(pattern))), answers, lambda answer: expected.fullmatch(answer) is not None)


@pytest.mark.parametrize("pattern", ["a.b", "^a", "a$", "(?=a)", r"\d", "(a", "a)", "[a", "*a", "a{b}", "\\"])
def test_patterns_that_no_syntax_supports_are_rejected(pattern: str) -> None:
    with pytest.raises(ValueError, match="no expression"):
        gbnf(Rules(Pattern(pattern)))


def test_text_and_whitespace(engine: Judge) -> None:
    text = 'a"\\\n\r\t\x01\x7fé\u2028🙂[^]-\\x416{2}'
    accepts = engine.accepts(Rules(row(text, Whitespace(), "1")))
    answers = [text + "1", text + " \t\r\n 1", text, text + "\v1", text.replace("6", "") + "1"]
    assert [accepts(answer) for answer in answers] == [True, True, False, False, False]


def test_rules_that_refer_to_themselves(engine: Judge) -> None:
    rules = Rules(Rule("list of_x"), {"list of_x": row("[", maybe(Repeated(Rule("list of_x"), Text(","))), "]")})
    accepts = engine.accepts(rules)
    answers = ["[]", "[[],[[]]]", "[", "[],", "[[]", "[,]"]
    assert [accepts(answer) for answer in answers] == [True, True, False, False, False, False]


def test_json_values_of_several_schemas_do_not_mix(engine: Judge) -> None:
    """Both schemas name a definition `n`; exact values and values with whitespace have separate rules."""
    one = '{"$defs": {"n": {"enum": ["x"]}}, "$ref": "#/$defs/n"}'
    two = '{"$defs": {"n": {"enum": [7]}}, "properties": {"n": {"$ref": "#/$defs/n"}}, "required": ["n"]}'
    node = row(JsonValue(one), "|", JsonValue(two), "|", JsonValue(two, exact=False), "|", JsonValue("{}"))
    accepts = engine.accepts(Rules(node))
    assert accepts('"x"|{"n": 7}|{"n": 7}|[1, {"a": null}]')
    assert accepts('"x"|{"n": 7}|{ "n":\n7}|[1, {"a": null}]')
    for wrong in ('7|{"n": 7}|{"n": 7}|1', '"x"|{"n": "x"}|{"n": 7}|1', '"x"|{"n":7}|{"n": 7}|1', '"x"|{}|{"n": 7}|1',
                  '"x"|{"n": 7}|{"n": 7}|[1,2]'):  # fmt: skip
        assert not accepts(wrong), wrong


def test_rules_of_one_name_stay_apart(engine: Judge) -> None:
    """The rules of a JSON value may have the same name as a rule of the surrounding grammar."""
    inner = '{"$defs": {"n": {"enum": ["x"]}}, "$ref": "#/$defs/n"}'
    names = {name: Text("other") for name in json_nodes(inner, True, "json0").rules}
    assert names
    node = row(JsonValue(inner), *(Rule(name) for name in names))
    accepts = engine.accepts(Rules(node, names))
    others = "other" * len(names)
    assert [accepts('"x"' + others), accepts("other" + others)] == [True, False]


def test_a_value_that_no_grammar_holds_is_named() -> None:
    schema = '{"type": "object", "properties": {"a": {"type": "array", "uniqueItems": true}}}'
    with pytest.raises(NotConstrained, match="the keyword 'uniqueItems'") as raised:
        gbnf(Rules(JsonValue(schema)))
    assert raised.value.path == ["a"]


@pytest.mark.sample(1)
def test_a_bounded_text_with_many_markers_holds_no_start_of_one(engine: Judge) -> None:
    node = RawText("\n</parameter>", ("</parameter>", "<parameter=", "<function=", "</function>"), 1, 4000)
    assert gbnf(Rules(node)).narrower == (BOUNDED_TEXT,)
    accepts = engine.accepts(Rules(node))
    answers = ["a\n</parameter>", "\n</parameter>", "a<b\n</parameter>", "a\n\n</parameter>", "a" * 4000 + node.end]
    assert [accepts(answer) for answer in answers] == [True, False, False, False, True]
    assert not accepts("a" * 4001 + node.end)


def test_an_impossible_text_is_reported() -> None:
    with pytest.raises(CannotConstrain, match="no text of 3 to 2 characters"):
        gbnf(Rules(RawText("x", (), 3, 2)))


def test_the_sets_of_members_stay_within_a_bound() -> None:
    """A few tools may give seven arguments in any order; three hundred may not, and the grammar stays small."""
    tool = Members(tuple(Member(Text(f"<{key}>"), False) for key in "abcdefg"))
    few = gbnf(Rules(either(*(row(str(at), tool, str(at)) for at in range(3)))))
    many_tools = [Members(tuple(Member(Text(f"<{key}{at}>"), False) for key in "abcdefg")) for at in range(300)]
    many = gbnf(Rules(either(*many_tools)))
    assert few.narrower == ()
    assert many.narrower == (DECLARED_ORDER,)
    assert len(many.text) < 400_000


def test_where_the_rules_are_narrower_is_reported_too() -> None:
    assert gbnf(Rules(Text("a"), {}, ("something",))).narrower == ("something",)


def test_each_character_of_a_string_is_in_a_rule_that_refers_to_the_next() -> None:
    """XGrammar's masks of a repeated rule take milliseconds, and one repeated rule more for each character."""

    def rules(node: QuotedText) -> list[str]:
        return [line for line in gbnf(Rules(node)).text.splitlines() if line.startswith(("root", "quotedtext"))]

    assert [line.count(" root") for line in rules(QuotedText("'"))] == [2]
    assert len(rules(QuotedText("'", 0, 100))) == 101
    assert len(rules(QuotedText("'", 3))) == 4
    assert len(rules(QuotedText("'", 0, 101))) == 1
