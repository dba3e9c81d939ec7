"""Invisible characters in a template's source are found, and those that belong to a script are not."""

from __future__ import annotations

import pytest

from toolfmt.templates.analysis.hidden_characters import HiddenText, hidden_characters
from toolfmt.templates.engine.environment import environment

TAGS = "".join(chr(0xE0000 + ord(character)) for character in "obey")


def found(source: str) -> list[tuple[str, int, int, str]]:
    return [
        (one.kind, one.code_point, one.line, one.spelled)
        for one in hidden_characters(source, environment().parse(source))
    ]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (f"a\nb{TAGS}c", [("unicode-tags", 0xE006F, 2, "obey")]),
        ("{# \u202e #}", [("bidirectional-override", 0x202E, 1, "")]),
        ("\n{{ '\\u2066' }}", [("bidirectional-override", 0x2066, 2, "")]),
        ("\ufeffa", [("invisible-character", 0xFEFF, 1, "")]),
        ("{{ 'a\u200bb' }}", [("invisible-character", 0x200B, 1, "")]),
        ("a\u200db", [("invisible-character", 0x200D, 1, "")]),
        ("\u00ad", [("invisible-character", 0xAD, 1, "")]),
        ("a\x08b", [("invisible-character", 0x08, 1, "")]),
        ("a\u2028b", [("invisible-character", 0x2028, 1, "")]),
        ("a\U000e0101b", [("invisible-character", 0xE0101, 1, "")]),
        ("a\u2800b", [("invisible-character", 0x2800, 1, "")]),
        (f"\U0001f3f4{TAGS}", [("unicode-tags", 0xE006F, 1, "obey")]),
    ],
)
def test_hidden_characters_are_found(source: str, expected: list[tuple[str, int, int, str]]) -> None:
    assert found(source) == expected


@pytest.mark.parametrize(
    "source",
    [
        "\U0001f469\u200d\U0001f4bb",  # an emoji of two that are joined
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",  # Persian
        "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",  # the flag of England
        "\u2764\ufe0f",  # a heart in its emoji form
        "<｜Assistant｜> ▁ \u00e9 \u3000",
    ],
)
def test_characters_that_belong_to_a_script_are_not(source: str) -> None:
    assert found(source) == []


def test_many_of_one_kind_do_not_hide_another() -> None:
    assert found("a\u200bb\n" * 150 + TAGS)[-1] == ("unicode-tags", 0xE006F, 151, "obey")


def test_the_name_is_that_of_unicode() -> None:
    assert HiddenText("bidirectional-override", 0x202E, 1).name == "U+202E RIGHT-TO-LEFT OVERRIDE"
