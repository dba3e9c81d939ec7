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
