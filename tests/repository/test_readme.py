"""README is what a new user reads first: short, with two setup commands, which `.ci/run` runs unchanged.

`python tests/repository/test_readme.py --update` rewrites what README and the pages in `docs/` show of commands and
numbers; `test_pages.py` tests that they are current. It also renders the picture of the report again.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parents[1] / "support")]

import pages
from pages import PAGES, README, text_of
from report_picture import BACKGROUND, COMMAND, PICTURE, picture, words


def test_the_readme_has_two_commands_that_set_up() -> None:
    commands = re.findall(r"^\$ (.*)$", text_of(README), re.MULTILINE)
    set_up = [command for command in commands if not command.startswith("toolfmt ")]
    under = {
        heading: re.findall(r"^\$ (.*)$", section, re.MULTILINE)
        for heading, section in re.findall(r"^## ([^\n]*)\n(.*?)(?=^## |\Z)", text_of(README), re.DOTALL | re.MULTILINE)
    }
    assert [under["Look at a model"], under["Run the tests"]] == [[set_up[0]], [set_up[1]]]
    assert [command.split(" && ")[0] for command in set_up] == ["python3 -m venv .venv"] * 2
    assert set_up[0].endswith(f" && .venv/bin/{COMMAND}")
    assert ".venv/bin/python -m pytest" in set_up[1]


def test_the_picture_is_of_the_report_as_it_is() -> None:
    """Its text is what the command prints; rich 13.0 to 15.0 lay it out to the same bytes."""
    stale = "docs/pictures/report.svg is stale: run `python tests/repository/test_readme.py --update` and read the diff"
    lines = [f"$ {COMMAND}", *pages.run(COMMAND).splitlines()]
    assert [line for line in ("".join(line.split()) for line in lines) if line] == words(text_of(PICTURE)), stale
    assert picture() == text_of(PICTURE), stale
    assert f"({PICTURE.relative_to(README.parent)})" in text_of(README)


def test_the_picture_loads_nothing_and_can_be_read_on_any_page() -> None:
    made = text_of(PICTURE)
    assert re.findall(r"""(?:url\(["']?|href=["']|@import )(?!#)[^)"']*""", made) == []
    assert f'fill="{BACKGROUND}"' in made  # the page's background is not visible through it
    inks = set(re.findall(r"fill: (#\w{6})", made))
    assert (len(inks) > 2, {ink: contrast(ink, BACKGROUND) for ink in inks if contrast(ink, BACKGROUND) < 4.5}) == (
        True,
        {},
    )


def contrast(one: str, other: str) -> float:
    """Of two colours, by WCAG 2.1."""

    def luminance(colour: str) -> float:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    darker, lighter = sorted(luminance(colour) for colour in (one, other))
    return (lighter + 0.05) / (darker + 0.05)


def test_contrast_of_black_grey_and_white_is_as_defined_by_wcag() -> None:
    assert (round(contrast("#000000", "#ffffff"), 2), round(contrast("#777777", "#ffffff"), 2)) == (21.0, 4.48)


if __name__ == "__main__":
    if sys.argv[1:] != ["--update"]:
        raise SystemExit("usage: python tests/repository/test_readme.py --update")
    for page in PAGES:
        page.write_text(pages.as_it_is(page), encoding="utf-8")
    PICTURE.write_text(picture(), encoding="utf-8")
