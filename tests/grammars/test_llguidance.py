"""The Lark syntax of llguidance, node by node: handwritten grammars, and texts that llguidance judges."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

pytest.importorskip("llguidance")

from grammar_walks import byte_tokenizer, encoded, end_of, ids_of, masks_of

from toolfmt.errors import CannotConstrain
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
from toolfmt.grammars.llguidance import MOST_IN_ANY_ORDER, llguidance


def check_texts(node: Node | Rules, inside: Sequence[str], outside: Sequence[str], markers: Sequence[str] = ()) -> None:
    """The grammar accepts the texts `inside`, and not those `outside`; the markers are one token each."""
    rules = node if isinstance(node, Rules) else Rules(node)
    tokenizer = byte_tokenizer(markers)
    masks = masks_of(llguidance(rules, ids_of(tokenizer, markers)), tokenizer)
    assert [text for text in (*inside, *outside) if masks.accepts(text)] == [*inside]


def test_a_text_is_just_that_text() -> None:
    text = 'a "quoted" \\ back/slash\n\ttab \x7f \x01 é🙂 <x> %json'
    check_texts(row(text, "!"), [text + "!"], [text, text[1:] + "!", text.replace("\n", " ") + "!"])
    check_texts(EMPTY, [""], ["a"])


def test_no_literal_takes_more_than_there_is() -> None:
    """If one text is a prefix of another, the longer one would be matched, so that the grammar could not continue."""
    names = either(*(row(name, end) for name, end in (("get", "_w()"), ("get_w", "[]"), ("get_weather", "{}"))))
    check_texts(names, ["get_w()", "get_w[]", "get_weather{}"], ["get()", "get_weather[]", "get_weather_w()"])
    listed = row(Repeated(Text("x"), Text("\n")), "\n</calls>")
    check_texts(listed, ["x\n</calls>", "x\nx\n</calls>"], ["x</calls>", "x\nx", "\n</calls>"])
    listed = row(Repeated(Text("<call>"), Text("\n")), "\n</calls>")
    check_texts(listed, ["<call>\n</calls>", "<call>\n<call>\n</calls>"], ["<call></calls>", "<call>\n<call>"])


def test_how_often_something_is_repeated() -> None:
    check_texts(Repeated(Text("a"), Text(", "), 2, 3), ["a, a", "a, a, a"], ["a", "a, a, a, a", "aa", ""])
    check_texts(row("[", Repeated(Text("a"), most=1), "]"), ["[a]"], ["[]", "[aa]"])
    check_texts(row("[", Repeated(Text("a"), Text(","), 0, 2), "]"), ["[]", "[a]", "[a,a]"], ["[a,a,a]", "[,a]"])
    check_texts(row("[", Maybe(Text("a")), "]"), ["[]", "[a]"], ["[aa]"])


def test_a_raw_text_ends_at_its_closer_and_holds_nothing_that_ends_it() -> None:
    node = row("<v>", RawText("</v>", ("<v>",)), "\n")
    check_texts(node, ["<v>a < b\n</w></v>\n", "<v></v>\n"], ["<v>a</v>b</v>\n", "<v>a<v>b</v>\n", "<v>a"])
    check_texts(row(RawText("aba"), "!"), ["xaba!", "aba!", "baba!"], ["xababa!", "aba", "abaaba!"])
    check_texts(RawText("|", (), 2, 3), ["ab|", "東京🙂|"], ["a|", "abcd|", "ab"])


@pytest.mark.parametrize("special", [True, False], ids=["control tokens", "tokens that were added"])
@pytest.mark.parametrize("closer", ["</v>", "\n</v>", "</v>\n", "[END]"])
def test_a_marker_that_is_one_token_is_that_token_and_its_spelling_nowhere(closer: str, special: bool) -> None:
    marker = closer.strip()
    tokenizer = byte_tokenizer(["<v>", marker], special=special)
    ids = ids_of(tokenizer, ["<v>", marker])
    masks = masks_of(llguidance(Rules(row("<v>", RawText(closer, ("<v>",)), "x")), ids), tokenizer)
    bytewise = byte_tokenizer()

    def spelt(text: str) -> list[int]:
        tokens: list[int] = bytewise.encode(text).ids
        return tokens

    lead, _, last = closer.partition(marker)
    opened, closed = [ids["<v>"]], [*spelt(lead), ids[marker], *spelt(last + "x")]
    assert masks.accepts_tokens([*opened, *spelt("a\n <b>"), *closed])
    assert masks.accepts_tokens([*opened, *closed])
    assert not masks.accepts_tokens([*opened, *spelt(f"a{marker}b"), *closed])
    assert not masks.accepts_tokens([*opened, *spelt("a<v>"), *closed])
    assert not masks.accepts_tokens([*opened, ids[marker], *spelt("a"), *closed])
    assert not masks.accepts_tokens([*spelt("<v>a"), *closed])
    assert not masks.accepts_tokens([*opened, *spelt(f"a{closer}x")])


def test_a_token_may_follow_a_raw_text_that_is_over() -> None:
    """llguidance asserts that no terminal is open if only a token may follow and a mask is computed."""
    markers = ["</v>"]
    tokenizer = byte_tokenizer(markers)
    merged, apart = RawText("]]></v>", ("]]>",)), row(RawText("]]>"), "</v>")
    for node in (merged, apart, RawText("\n</v>", (), 0, 2), RawText("</v>", (), 0, 2), RawText("ab</v>", ("b",))):
        masks = masks_of(llguidance(Rules(node), ids_of(tokenizer, markers)), tokenizer)
        text = "a" + (node.end if isinstance(node, RawText) else "]]></v>")
        for token in encoded(tokenizer, text):
            assert token in masks.allowed()
            masks.take(token)
        assert masks.complete
        assert not masks.accepts(text + "</v>")


def test_quoted_texts_are_escaped() -> None:
    inside = ["'", "it\\'s'", '"', "\\n\\\\\\u00e9 é'", "\\uD7FF'"]
    check_texts(
        QuotedText("'"),
        [inside[0], *inside[1:2], *inside[3:]],
        ["it's'", "\n'", "a", "\\x'", "\\ud800'", "\\uDFFF'", "\\'", "\\\"'"],
    )
    check_texts(QuotedText('"', 2, 3), ['ab"', 'a\\n\\""'], ['a"', 'abcd"', '\\u00e9"'])


def test_patterns_are_read_as_they_are_written() -> None:
    check_texts(row(Pattern(r"(a/b|\<[\n/]+\>){1,2}"), "."), ["a/b.", "<\n/>a/b."], ["a/ba/ba/b.", "."])
    check_texts(row("a", Whitespace(), "b"), ["ab", "a \r\n\tb"], ["a\x0cb"])


def test_free_text_contains_no_excluded_text_and_has_no_excluded_first_character() -> None:
    check_texts(FreeText(("<call>", "[x]")), ["", "a <call\n>[x"], ["a<call>b", "[x]"])
    check_texts(FreeText((), "{"), ["", "a{", "\n"], ["{", "{a"])
    check_texts(FreeText(("]",), "["), ["", "a["], ["a]", "[a"])


def test_text_and_then_calls() -> None:
    node = either(row(RawText("<call>"), "f()"), FreeText(("<call>",)))
    for markers in ((), ("<call>",)):
        check_texts(node, ["", "a < b", "so <call>f()", "<call>f()"], ["<call>", "<call>f()x", "f()<call>"], markers)


def members(number: int, required: Sequence[int] = (), separator: str = ", ") -> Node:
    items = (Member(Text(f"k{at}=1"), at in required) for at in range(number))
    return row("(", Members(tuple(items), Text(separator)), ")")


def call(*keys: int, separator: str = ", ") -> str:
    return f"({separator.join(f'k{key}=1' for key in keys)})"


@pytest.mark.parametrize("separator", [", ", ""])
def test_members_come_in_any_order_and_none_twice(separator: str) -> None:
    inside = [(0, 2), (2, 0), (0, 1, 2), (2, 1, 0), (1, 2, 0)]
    outside = [(), (0,), (2,), (0, 2, 0), (0, 0, 2), (0, 1), (2, 2), (0, 2, 3)]
    check_texts(
        members(3, [0, 2], separator),
        [call(*keys, separator=separator) for keys in inside],
        [call(*keys, separator=separator) for keys in outside],
    )
    check_texts(members(2), [call(), call(0), call(1), call(1, 0)], [call(0, 0), "(, k0=1)", "(k0=1, )", "(k0=1k1=1)"])
    check_texts(row("(", Members(()), ")"), ["()"], ["(,)"])


def test_of_very_many_members_the_first_ones_come_first() -> None:
    last = MOST_IN_ANY_ORDER - 1
    assert last == 63
    every = [*range(last + 1)]
    check_texts(members(last + 1, every), [call(*reversed(every))], [call(*every[1:]), call(*every, 5)])
    check_texts(
        members(2 * last, [3, last + 2]),
        [call(3, last + 2), call(60, 3, 2 * last - 1, last + 2), call(last, 3, last + 1, last + 2)],
        [call(3), call(last + 2), call(last + 2, 3), call(3, last + 2, last + 2), call(3, 3, last + 2), call()],
    )


def test_rules_may_refer_to_themselves() -> None:
    rules = {"t0_any": either("x", row("[", Rule("t0_any"), "]")), "T0/any": Text("y")}
    check_texts(Rules(row(Rule("t0_any"), Rule("T0/any")), rules), ["xy", "[[x]]y"], ["[xy", "yy", "xx"])


def test_json_is_written_exactly_or_with_free_whitespace() -> None:
    schema = json.dumps({"type": "object", "properties": {"a": {"type": "array", "items": {"type": "integer"}}}})
    spelt, spaced = '{"a": [1, 2]}', '{ "a":[ 1,2 ]\n}'
    check_texts(row("=", JsonValue(schema), ";"), [f"={spelt};"], [f"={spaced};", '={"a": ["x"]};', "={}"])
    check_texts(row("=", JsonValue(schema, exact=False), ";"), [f"={spelt};", f"={spaced};"], ['={"a": ["x"]};', "=;"])


def test_a_fixed_order_or_an_unchecked_format_is_reported() -> None:
    def of(schema: object) -> tuple[str, ...]:
        return llguidance(Rules(Row((Text("a"), JsonValue(json.dumps(schema))))), {}).narrower

    pair: dict[str, Any] = {"properties": {"a": {}, "b": {}}}
    assert of({"properties": {"a": {}}, "title": "properties"}) == ()
    assert of({"items": pair}) == ("declared-order",)
    assert of(pair | {"additionalProperties": {"format": "date"}}) == ("declared-order", "format")
    assert of({"format": "int64"}) == ()
    assert llguidance(Rules(members(MOST_IN_ANY_ORDER)), {}).narrower == ()
    assert llguidance(Rules(members(MOST_IN_ANY_ORDER + 1), {}, ("x",)), {}).narrower == ("x", "declared-order")


def test_the_same_part_is_one_rule() -> None:
    part = row("a", QuotedText('"'), Repeated(Text("b")))
    assert llguidance(Rules(either(row("1", part), row("2", part))), {}).text.count("0-9a-ce-f") == 1


def test_an_unsupported_schema_is_rejected_by_name() -> None:
    with pytest.raises(CannotConstrain, match=r"'not' \(at the top level of its schema\)"):
        llguidance(Rules(JsonValue('{"not": {}}')), {})


def test_an_unknown_token_id_is_reported() -> None:
    tokenizer = byte_tokenizer()
    with pytest.raises(CannotConstrain, match="llguidance takes no such grammar"):
        masks_of(llguidance(Rules(Text("<x>")), {"<x>": end_of(tokenizer) + 1}), tokenizer)
