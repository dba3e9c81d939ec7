"""Which comments of a template are for toolfmt, and what they name."""

from __future__ import annotations

import pytest

from toolfmt.templates.engine.ignore_comments import IgnoreComment, ignore_comments


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("{# toolfmt: ignore[TF014] we send objects #}", IgnoreComment(1, ("TF014",), "we send objects")),
        (
            "a\n\n{#- toolfmt: ignore[TF014, x-y ,]: two\n  lines -#}\nb",
            IgnoreComment(3, ("TF014", "x-y"), "two lines"),
        ),
        ("{#toolfmt:ignore [TF014,TF014]#}", IgnoreComment(1, ("TF014",), "")),
        ("{#+ Toolfmt: Ignore[TF014] – [see] README #}", IgnoreComment(1, ("TF014",), "[see] README")),
        ("{% if x %}{# toolfmt: ignore[TF014] #}{% endif %}", IgnoreComment(1, ("TF014",), "")),
        ("{# toolfmt: ignore #}", IgnoreComment(1, (), "")),
        ("{# toolfmt: ignore TF014 #}", IgnoreComment(1, (), "")),
        ("{# toolfmt: ignroe[TF014] #}", IgnoreComment(1, (), "")),
        ("{# toolfmt: ignore[] all of it #}", IgnoreComment(1, (), "all of it")),
    ],
)
def test_a_comment_for_toolfmt_is_read(source: str, expected: IgnoreComment) -> None:
    assert ignore_comments(source) == (expected,)


@pytest.mark.parametrize(
    "source",
    [
        "{{ '{# toolfmt: ignore[TF014] #}' }}",
        "{% raw %}{# toolfmt: ignore[TF014] #}{% endraw %}",
        "{# With toolfmt: ignore[TF014] #}",
        "toolfmt: ignore[TF014]",
        "{# a comment without an end, toolfmt: ignore[TF014]",
        "",
    ],
)
def test_nothing_else_is_one(source: str) -> None:
    assert ignore_comments(source) == ()


def test_comments_are_in_order_with_their_lines() -> None:
    source = "{# toolfmt: ignore[TF014] a #}\n{# else #}\n{# toolfmt: ignore[TF017]\nb #}{# toolfmt: ignore[TF061] #}"
    assert [(one.line, *one.codes) for one in ignore_comments(source)] == [(1, "TF014"), (3, "TF017"), (4, "TF061")]


def test_a_comment_without_the_colon_is_reported() -> None:
    assert ignore_comments("{# toolfmt ignore[TF014] we send objects #}") == (IgnoreComment(1, ()),)
    assert ignore_comments("{# toolfmt ignores nothing here #}") == ()


def test_comments_name_a_bounded_number_of_codes_and_have_bounded_reasons() -> None:
    named = ", ".join(f"x{number}" for number in range(60))
    made = ignore_comments(f"{{# toolfmt: ignore[{named}] #}}\n" * 3)
    assert [(comment.line, len(comment.codes), comment.is_left_out) for comment in made] == [
        (1, 60, False),
        (2, 0, True),
    ]
    (long,) = ignore_comments(f"{{# toolfmt: ignore[{'c' * 500}] {'r' * 500} #}}")
    assert (len(long.codes[0]), len(long.reason), long.reason[-1]) == (80, 300, "…")
    assert len(ignore_comments("{# toolfmt: x #}" * 500)) == 101
