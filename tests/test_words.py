"""The pages that tell what to do: every finding has its place in the decision tree, commands can be typed as they
stand, links lead to headings that are there, and the pictures show what toolfmt does now."""

from __future__ import annotations

import re
import shlex
import xml.etree.ElementTree as ET
from pathlib import Path

import click
import pytest

from documentation.concept_pictures import FOLDER, PICTURES
from toolfmt.cli.commands import main
from toolfmt.inspect import checks

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
TREE = DOCS / "tools_do_not_work.md"
WORDS = [
    page
    for page in (
        *(
            DOCS / f"{name}.md"
            for name in ("index", "first_steps", "choose_settings", "publish_a_model", "field_guide")
        ),
        TREE,
        *sorted((DOCS / "concepts").glob("*.md")),
    )
    if page.exists()
]
CODES = [checks.code(check) for check in checks.CHECKS]


def _anchor(heading: str) -> str:
    """What code hosts and mkdocs call a heading."""
    return re.sub(r"\s+", "-", re.sub(r"[^\w\s-]", "", heading.lower()).strip())


def _headings(page: Path) -> set[str]:
    outside = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    return {_anchor(heading) for heading in re.findall(r"^#+ (.*)$", outside, re.MULTILINE)}


def _linked() -> list[tuple[str, str]]:
    """The findings of the decision tree: what a link says, and where it leads."""
    text = TREE.read_text(encoding="utf-8")
    return re.findall(r"\[(TF\d{3})\]\(reference/findings/(TF\d{3})\.md\)", text)


@pytest.mark.parametrize("code", CODES)
def test_every_finding_stands_where_a_person_looks_for_it(code: str) -> None:
    row = f"| [{code}](reference/findings/{code}.md) | what it is | what to do |"
    assert (code, code) in _linked(), f"add a row to docs/{TREE.name} below what a person sees of it: {row}"


def test_links_to_findings_lead_to_findings_that_are_there() -> None:
    assert {code for pair in _linked() for code in pair} == set(CODES)
    assert [pair for pair in _linked() if pair[0] != pair[1]] == []


@pytest.mark.parametrize("page", WORDS, ids=lambda page: page.name)
def test_codes_are_those_of_findings(page: Path) -> None:
    assert set(re.findall(r"\bTF\d{3}\b", page.read_text(encoding="utf-8"))) <= set(CODES)


@pytest.mark.parametrize("page", WORDS, ids=lambda page: page.name)
def test_commands_can_be_typed_as_they_stand(page: Path) -> None:
    """Names in capitals and what a reader has of his own are not there: options and commands are."""
    for block in re.findall(r"```sh\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
        for line in block.splitlines():
            words = shlex.split(line, comments=True)
            if words[:1] != ["toolfmt"]:
                continue
            assert isinstance(main, click.Group)
            command = main.commands[words[1]]
            if isinstance(command, click.Group):
                command = command.commands[words.pop(2)]
            command.make_parser(click.Context(command)).parse_args(list(words[2:]))
            places = [word for word in words[2:] if word.startswith(("corpus/", "examples/"))]
            assert [place for place in places if not (ROOT / place).exists()] == [], line


@pytest.mark.parametrize("page", WORDS, ids=lambda page: page.name)
def test_links_to_headings_lead_to_one(page: Path) -> None:
    for file, anchor in re.findall(r"\]\(([^)#:]*)#([^)]*)\)", page.read_text(encoding="utf-8")):
        target = (page.parent / file) if file else page
        assert anchor in _headings(target), f"{page.name}: {file}#{anchor}"


@pytest.mark.parametrize("page", WORDS, ids=lambda page: page.name)
def test_pictures_are_there_and_are_told_in_words(page: Path) -> None:
    for told, file in re.findall(r"!\[(.*?)\]\((.*?)\)", page.read_text(encoding="utf-8"), re.DOTALL):
        assert (page.parent / file).exists(), file
        assert len(told) > 30, f"{file}: a picture needs words for those who do not see it"


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_shows_what_is(name: str) -> None:
    made = PICTURES[name]()
    file = FOLDER / f"{name}.svg"
    assert made == file.read_text(encoding="utf-8"), "stale: python -m documentation.concept_pictures"


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_stays_within_its_edges(name: str) -> None:
    """Of fixed-width lines the width is known; of words it is reckoned at 0.55 of their size a sign."""
    svg = "{http://www.w3.org/2000/svg}"
    root = ET.fromstring((FOLDER / f"{name}.svg").read_text(encoding="utf-8"))
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    for text in root.iter(f"{svg}text"):
        said, size = "".join(text.itertext()), float(text.attrib["font-size"])
        sign = 0.6 if "monospace" in text.attrib["font-family"] else 0.55
        assert float(text.attrib["x"]) + sign * size * len(said) <= width, said
        assert float(text.attrib["y"]) <= height, said


def test_every_picture_is_shown_somewhere() -> None:
    shown = "".join(page.read_text(encoding="utf-8") for page in WORDS)
    assert [name for name in PICTURES if f"pictures/{name}.svg" not in shown] == []
