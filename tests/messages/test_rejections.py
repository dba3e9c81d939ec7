"""The phrases and sentences about rejected calls."""

from __future__ import annotations

from toolfmt.messages.rejections import end_marker, one_of, rejection_message, shown


def test_a_choice_names_at_most_four_literals_and_says_that_there_are_more() -> None:
    assert one_of([]) == ""
    assert one_of(["}"]) == "'}'"
    assert one_of(["}", ","]) == "'}' or ','"
    assert one_of(["<a>", "<b>", "<c>", "<d>"]) == "'<a>', '<b>', '<c>' or '<d>'"
    assert one_of(["<a>", "<b>", "<c>", "<d>", "<e>", "<f>"]) == "'<a>', '<b>', '<c>', '<d>' or another one"


def test_literals_that_differ_in_whitespace_are_named_once() -> None:
    assert one_of(["\n</a>", "</a>", "</b>"]) == r"'\n</a>' or '</b>'"


def test_text_is_quoted_in_one_line_and_cut_with_its_escapes() -> None:
    assert shown("a\n'b'") == r"'a\n\'b\''"
    assert shown("x" * 40) == "'" + "x" * 40 + "'"
    assert shown("x" * 41) == "'" + "x" * 40 + "…'"
    assert shown("\n" * 41) == "'" + r"\n" * 20 + "…'"


def test_an_end_marker_is_the_first_that_is_not_empty() -> None:
    assert end_marker(" ", "\n</call>", "</calls>") == "the end marker </call>"
    assert end_marker("") == "the end of the call"


def test_an_undeclared_tool_lists_ten_tools_and_counts_the_others() -> None:
    message = rejection_message("undeclared_tool", name="f", declared=[f"tool_{at}" for at in range(12)])
    assert message.endswith("tool_8, tool_9 and 2 more.")
    assert rejection_message("undeclared_tool", name="f", declared=[]).endswith("no tools are available.")


def test_what_is_found_is_quoted_only_if_nothing_more_specific_is_wrong() -> None:
    raw = '{"a" 1}'
    assert rejection_message("malformed_syntax", raw, 5, "':'", name="f") == (
        "Call to f rejected: expected ':', but found '1}' (character 5 of the call)."
    )
    assert rejection_message("malformed_syntax", raw, 5, "':'", problem="a key has no colon") == (
        "Tool call rejected: a key has no colon; expected ':' (character 5 of the call)."
    )
