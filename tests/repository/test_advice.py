"""The pages with advice: every finding is in the decision tree, commands can be typed as shown, links lead to existing
headings, and the pictures match what toolfmt does now.
"""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from pages import command_lines, run, text_of

from documentation.concept_pictures import FOLDER, PICTURES
from toolfmt.cli.measure.rates import wilson
from toolfmt.inspect import checks

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
TREE = DOCS / "tools_do_not_work.md"
WORDS = [
    page
    for page in (
        *(
            DOCS / f"{name}.md"
            for name in ("index", "first_steps", "choose_settings", "publish_a_model", "concepts", "measuring")
        ),
        TREE,
    )
    if page.exists()
]
_WITH_COPY = r"<!-- output with COPY of: (.*?) -->\n```\w+\n(.*?)```\n"
CODES = [checks.code(check) for check in checks.CHECKS]


def _anchor(heading: str) -> str:
    """What code hosts and mkdocs call a heading."""
    return re.sub(r"\s+", "-", re.sub(r"[^\w\s-]", "", heading.lower()).strip())


def _headings(page: Path) -> set[str]:
    outside = re.sub(r"```.*?```", "", text_of(page), flags=re.DOTALL)
    headings = {_anchor(heading) for heading in re.findall(r"^#+ (.*)$", outside, re.MULTILINE)}
    return headings | set(re.findall(r'<a id="([^"]+)"></a>', outside))


def _linked() -> list[tuple[str, str]]:
    """The findings of the decision tree: the text of a link, and its target."""
    text = text_of(TREE)
    return re.findall(r"\[(TF\d{3})\]\(reference/findings/(TF\d{3})\.md\)", text)


@pytest.mark.parametrize("code", CODES)
def test_every_finding_is_listed_under_a_symptom(code: str) -> None:
    row = f"| [{code}](reference/findings/{code}.md) | what it is | what to do |"
    assert (code, code) in _linked(), f"add a row to docs/{TREE.name} below what a person sees of it: {row}"


def test_links_to_findings_lead_to_findings_that_are_there() -> None:
    assert {code for pair in _linked() for code in pair} == set(CODES)
    assert [pair for pair in _linked() if pair[0] != pair[1]] == []


@pytest.mark.parametrize("page", WORDS, ids=lambda page: page.name)
def test_codes_are_those_of_findings(page: Path) -> None:
    assert set(re.findall(r"\bTF\d{3}\b", text_of(page))) <= set(CODES)


@pytest.mark.parametrize("page", WORDS, ids=lambda page: page.name)
def test_what_commands_are_given_of_the_repository_is_there(page: Path) -> None:
    places = [
        word
        for line in command_lines(text_of(page))
        for word in line.split()
        if word.startswith(("corpus/", "examples/"))
    ]
    assert [place for place in places if not (ROOT / place).exists()] == []


@pytest.mark.parametrize("page", WORDS, ids=lambda page: page.name)
def test_links_to_headings_lead_to_one(page: Path) -> None:
    for file, anchor in re.findall(r"\]\(([^)#:]*)#([^)]*)\)", text_of(page)):
        target = (page.parent / file) if file else page
        assert anchor in _headings(target), f"{page.name}: {file}#{anchor}"


@pytest.mark.parametrize("page", WORDS, ids=lambda page: page.name)
def test_pictures_exist_and_have_alternative_texts(page: Path) -> None:
    for alternative, file in re.findall(r"!\[(.*?)\]\((.*?)\)", text_of(page), re.DOTALL):
        assert (page.parent / file).exists(), file
        assert len(alternative) > 30, f"{file}: a picture needs alternative text"


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_shows_what_is(name: str) -> None:
    made = PICTURES[name]()
    file = FOLDER / f"{name}.svg"
    assert made == text_of(file), "stale: python -m documentation.concept_pictures"


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_stays_within_its_edges(name: str) -> None:
    """The width of monospaced lines is known; for other text it is 0.55 of the font size per character."""
    svg = "{http://www.w3.org/2000/svg}"
    root = ET.fromstring(text_of(FOLDER / f"{name}.svg"))
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    for text in root.iter(f"{svg}text"):
        line, size = "".join(text.itertext()), float(text.attrib["font-size"])
        character_width = 0.6 if "monospace" in text.attrib["font-family"] else 0.55
        assert float(text.attrib["x"]) + character_width * size * len(line) <= width, line
        assert float(text.attrib["y"]) <= height, line


@pytest.mark.parametrize("page", WORDS, ids=lambda page: page.name)
def test_what_is_written_into_a_copy_is_shown_as_it_is(page: Path, tmp_path: Path) -> None:
    """A page uses COPY where a reader names a directory."""
    for number, (command, shown) in enumerate(re.findall(_WITH_COPY, text_of(page), re.DOTALL)):
        copy = tmp_path / str(number)
        printed = run(command.replace("COPY", str(copy))).replace(str(copy), "COPY")
        assert printed.split() == shown.split(), "not what it prints (ignoring whitespace, which depends on the width)"


def test_every_picture_is_shown_somewhere() -> None:
    shown = "".join(map(text_of, WORDS))
    assert [name for name in PICTURES if f"pictures/{name}.svg" not in shown] == []


def test_the_table_of_the_small_model_is_what_was_measured() -> None:
    cells = json.loads(text_of(ROOT / "benchmarks" / "small_model.json"))["cells"]
    _, _, after = text_of(ROOT / "docs" / "measuring.md").partition("<!-- from benchmarks/small_model.json -->")
    rows = [line.strip("| ").split(" | ") for line in after.strip().partition("\n\n")[0].splitlines()]
    assert rows[0] == ["grammar", "called", "right tool", "valid arguments", "invented arguments"]
    for grammar, *shown in rows[2:]:
        rates = [one["rates"] for one in cells if one["grammar"] == grammar.strip("`") and one["wording"] != "no-tool"]
        expected = []
        for name in rows[0][1:]:
            counts = [rate[name.replace(" ", "_")] for rate in rates]
            count, of = (sum(rate[key] for rate in counts) for key in ("count", "of"))
            low, high = (round(100 * bound) for bound in wilson(count, of)) if of else (0, 0)
            expected.append(f"{count} of {of} ({low}–{high} %)" if of else "–")
        assert shown == expected, grammar
    assert len(rows) == 6
