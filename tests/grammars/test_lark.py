"""Nodes in Lark's syntax: what Lark's own parser accepts and rejects, node by node."""

from __future__ import annotations

import json
import re
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lark import Lark
from lark.exceptions import LarkError

from toolfmt.formats.values.nodes import (
    EMPTY,
    FreeText,
    JsonValue,
    Maybe,
    Member,
    Members,
    Node,
    Pattern,
    QuotedText,
    RawText,
    Repeated,
    Row,
    Rule,
    Rules,
    Text,
    Whitespace,
    either,
    row,
)
from toolfmt.grammars.lark import ANY_ORDER, DECLARED_ORDER, plain_lark


def reader(start: Node, **rules: Node) -> Lark:
    return Lark(plain_lark(Rules(start, rules)).text, parser="earley", lexer="dynamic", ambiguity="forest")


def takes(grammar: Lark, text: str) -> bool:
    try:
        grammar.parse(text)
    except LarkError:
        return False
    return True


def taken(start: Node, *texts: str, **rules: Node) -> list[str]:
    """Those of the texts that the grammar accepts."""
    grammar = reader(start, **rules)
    return [text for text in texts if takes(grammar, text)]


@given(st.text(min_size=1), st.text())
def test_a_text_is_itself_and_nothing_else(text: str, other: str) -> None:
    grammar = reader(Text(text))
    assert takes(grammar, text)
    assert takes(grammar, other) == (other == text)
    assert not takes(grammar, text + "x")


@given(st.text("\\\"/\n'n", min_size=1, max_size=5), st.text("\\\"/\n'n", max_size=5))
def test_characters_that_are_special_in_lark_are_escaped_in_literals_and_patterns(closer: str, text: str) -> None:
    assert takes(reader(Text(closer)), closer)
    whole = text + closer
    ends = (closer, closer.strip() or closer)
    held = min(whole.index(end) for end in ends) < len(text) or any(end in text for end in ends)
    assert takes(reader(RawText(closer)), whole) != held


def test_a_row_an_alternative_and_what_may_be_missing() -> None:
    start = row("<", either("a", Pattern("[0-9]{2}"), EMPTY), Maybe(Text("!")), ">")
    texts = ["<a>", "<12!>", "<>", "<!>", "<1>", "<ab>", "<a!!>", "a", ""]
    assert taken(start, *texts) == ["<a>", "<12!>", "<>", "<!>"]


@pytest.mark.parametrize(
    ("least", "most", "counts"),
    [(1, None, [1, 2, 3, 4]), (1, 1, [1]), (2, 3, [2, 3]), (3, None, [3, 4]), (1, 2, [1, 2])],
)
@pytest.mark.parametrize("separator", ["", ", "])
def test_a_repetition_has_its_bounds_and_its_separator(
    least: int, most: int | None, counts: list[int], separator: str
) -> None:
    texts = [separator.join("x" * count) for count in range(5)]
    node = Repeated(Text("x"), Text(separator), least, most)
    assert taken(node, *texts, separator, "x" + separator) == [texts[count] for count in counts] + (
        ["x" + separator] if not separator and 1 in counts else []
    )


def members(*required: bool, separator: str = ",") -> Members:
    return Members(tuple(Member(Text(str(at)), needed) for at, needed in enumerate(required)), Text(separator))


def subsets(count: int) -> list[tuple[int, ...]]:
    return [order for length in range(count + 1) for order in permutations(range(count), length)]


@pytest.mark.parametrize("required", [(), (False,), (True, False), (False, True, False), (True, True, True, False)])
@pytest.mark.parametrize("separator", [",", ""])
def test_members_come_in_any_order_at_most_once_and_required_ones_exactly_once(
    required: tuple[bool, ...], separator: str
) -> None:
    needed = {at for at, is_needed in enumerate(required) if is_needed}
    texts = {separator.join(map(str, order)): needed <= set(order) for order in subsets(len(required))}
    twice = separator.join(["0", *map(str, range(len(required)))])
    start = row("[", members(*required, separator=separator), "]")
    assert taken(start, *(f"[{text}]" for text in (*texts, twice, "0,,1"))) == [
        f"[{text}]" for text, right in texts.items() if right
    ]


def test_so_many_members_as_are_allowed_in_any_order_are_not_narrower() -> None:
    start = members(*[True] * ANY_ORDER)
    assert plain_lark(Rules(start)).narrower == ()
    assert takes(reader(start), ",".join(map(str, reversed(range(ANY_ORDER)))))


def test_many_members_come_in_declared_order_and_this_is_reported() -> None:
    start = members(*(at in (1, 3) for at in range(ANY_ORDER + 1)))
    assert plain_lark(Rules(start, {}, ("another",))).narrower == ("another", DECLARED_ORDER)
    texts = {"1,3": True, "0,1,2,3,4,5,6": True, "0,1,3,6": True, "1,3,5": True}
    texts |= {"3,1": False, "1": False, "0,3": False, "1,1,3": False, "": False, "1,3,": False, ",1,3": False}
    assert taken(start, *texts) == [text for text, right in texts.items() if right]


def test_sixty_members_are_a_grammar_still() -> None:
    start = members(*[False, True] * 30)
    assert takes(reader(start), ",".join(str(at) for at in range(60) if at % 2))
    assert not takes(reader(start), ",".join(str(at) for at in range(60) if at % 3))


def test_rules_may_hold_themselves() -> None:
    start = Rule("any thing/$defs")
    inner = either("x", row("(", Repeated(Rule("any thing/$defs"), Text(" ")), ")"))
    assert taken(start, "x", "(x)", "(x (x x))", "(", "()", "x x", **{"any thing/$defs": inner}) == [
        "x",
        "(x)",
        "(x (x x))",
    ]


def test_a_rule_that_is_not_there_is_named() -> None:
    with pytest.raises(KeyError, match="missing"):
        plain_lark(Rules(Rule("missing")))


def test_raw_text_ends_at_its_closer_and_holds_none_of_it() -> None:
    node = row(RawText("\n</v>", ("<k>",), 1, 5), "!")
    texts = [
        "a\n</v>!",
        "\n</v>!",
        "abcde\n</v>!",
        "abcdef\n</v>!",
        "a</v>\n</v>!",
        "<k>\n</v>!",
        "<k\n</v>!",
        "a\n\n</v>!",
        "a",
    ]
    assert taken(node, *texts) == ["a\n</v>!", "abcde\n</v>!", "<k\n</v>!", "a\n\n</v>!"]


def test_the_inside_of_a_string_has_escapes_and_ends_with_its_quote() -> None:
    texts = ['a"!', '\\"\\n\\\\"!', '\\u00e9"!', "'\"!", '\\uD834"!', '\\x"!', 'a\nb"!', '"!', 'a"b"!', '\\"!']
    assert taken(row(QuotedText('"'), "!"), *texts) == ['a"!', '\\"\\n\\\\"!', '\\u00e9"!', "'\"!", '"!']
    assert taken(QuotedText('"', 1, 2), '"', 'a"', '\\u00e9\\""', 'abc"') == ['a"', '\\u00e9\\""']
    assert taken(QuotedText("'"), "a\\'\"'", "a'b'", "\\\"'") == ["a\\'\"'"]


def test_whitespace_and_free_text_may_be_empty() -> None:
    assert taken(row("a", Whitespace(), "b"), "ab", "a \t\r\nb", "a\u00a0b", "a") == ["ab", "a \t\r\nb"]
    assert taken(Maybe(Whitespace()), "", " ", "x") == ["", " "]
    assert taken(FreeText(), "", "x\ny") == ["", "x\ny"]
    assert taken(FreeText(("<t>", "<u>")), "", "x <t", "x <t>", "<u>") == ["", "x <t"]
    assert taken(FreeText(not_first="["), "", "x [", "[") == ["", "x ["]


def test_a_pattern_may_hold_quotes_and_slashes() -> None:
    assert taken(Pattern(r'[^"/\\]\\"/'), 'a\\"/', '"\\"/', 'a\\"') == ['a\\"/']


SCHEMA: Any = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"enum": ["x", None]}, "more": {"$ref": "#/$defs/node"}},
    "required": ["a"],
    "additionalProperties": False,
    "$defs": {
        "node": {
            "type": "object",
            "properties": {"next": {"$ref": "#/$defs/node"}},
            "additionalProperties": False,
        }
    },
}


def test_a_schema_is_rules_whose_names_stay_its_own() -> None:
    exact, loose = JsonValue(json.dumps(SCHEMA)), JsonValue(json.dumps(SCHEMA), exact=False)
    other = JsonValue(json.dumps({"$ref": "#/$defs/node", "$defs": {"node": {"type": "boolean"}}}))
    right = '{"a": 1, "b": "x"}'
    texts = [
        right,
        '{"b": null, "a": -2}',
        '{ "a":1}',
        '{"b": "x"}',
        '{"a": 1.5}',
        '{"a": 1, "z": 1}',
        '{"a": 1, "a": 1}',
    ]
    assert taken(exact, *texts) == texts[:2]
    assert taken(loose, *texts) == texts[:3]
    assert taken(exact, '{"a": 1, "more": {"next": {"next": {}}}}', '{"a": 1, "more": {"next": 1}}') == [
        '{"a": 1, "more": {"next": {"next": {}}}}'
    ]
    assert taken(Row((exact, Text(" "), other)), f"{right} true", f"{right} {{}}") == [f"{right} true"]


def test_terminals_know_what_they_are_made_of() -> None:
    raw, quoted = RawText("</v>", ("<k>",)), QuotedText('"')
    made = plain_lark(Rules(row("<v>", raw, '"', quoted, Whitespace(), raw)))
    assert [terminal.node for terminal in made.terminals.values()] == [raw, quoted, Whitespace()]
    for terminal, text in zip(made.terminals.values(), ['x"\n</v>', '\\""', " \t"], strict=True):
        assert re.fullmatch(terminal.pattern, text)
    names = {terminal.name for terminal in Lark(made.text, parser="earley", lexer="dynamic").terminals}
    assert set(made.terminals) <= names
