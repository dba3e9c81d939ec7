"""README is what a stranger reads first: short, with two commands that set up, which `.ci/run` runs as they stand.

`python tests/test_readme.py --update` rewrites what README and the pages in `docs/` show of commands and figures; that
they show what is, is tested in `test_pages.py`.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

import pages
from pages import PAGES, README, text_of


def test_the_readme_is_read_in_a_few_minutes() -> None:
    assert len(text_of(README).splitlines()) <= 150


def test_the_readme_has_two_commands_that_set_up() -> None:
    commands = re.findall(r"^\$ (.*)$", text_of(README), re.MULTILINE)
    set_up = [command for command in commands if not command.startswith("toolfmt ")]
    under = {
        heading: re.findall(r"^\$ (.*)$", section, re.MULTILINE)
        for heading, section in re.findall(r"^## ([^\n]*)\n(.*?)(?=^## |\Z)", text_of(README), re.DOTALL | re.MULTILINE)
    }
    assert [under["Look at a model"], under["Run the tests"]] == [[set_up[0]], [set_up[1]]]
    assert [command.split(" && ")[0] for command in set_up] == ["python3 -m venv .venv"] * 2
    assert set_up[0].endswith(".venv/bin/toolfmt inspect corpus/models/double-encoded")
    assert ".venv/bin/python -m pytest" in set_up[1]


if __name__ == "__main__":
    if sys.argv[1:] != ["--update"]:
        raise SystemExit("usage: python tests/test_readme.py --update")
    for page in PAGES:
        page.write_text(pages.as_it_is(page), encoding="utf-8")
