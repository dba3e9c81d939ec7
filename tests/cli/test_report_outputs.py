"""Files written in addition to the output: the pages of several models with their index, the summary of a CI run."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from pathlib import Path
from typing import Literal
from urllib.parse import unquote

import depth
import pytest
from browser import browser
from click.testing import CliRunner, Result
from invented_reports import REPORTS, finding
from model_cases import MODELS
from report_pages import BAD, FULL, GOOD, LOWEST_CONTRAST, OVERFLOW, Page

from toolfmt.cli.commands import main
from toolfmt.cli.output_targets import FORMATS, Target
from toolfmt.cli.printing.index_page import index_page
from toolfmt.cli.printing.summary import Summary
from toolfmt.cli.report_outputs import Content, HtmlPages, Outputs
from toolfmt.cli.rules.configuration import NO_OPTIONS, Configuration
from toolfmt.cli.rules.model_rules import ModelRules
from toolfmt.inspect.report.report import Report
from toolfmt.inspect.report.verdicts import Verdict
from toolfmt.model.batch import InspectionOutcome

CORPUS = sorted(path.name for path in MODELS.iterdir())


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["inspect", *arguments], prog_name="toolfmt")


def judged(
    report: Report, tools: Literal["native", "adapted", "prompt-only", "broken"], sentence: str = "So."
) -> Report:
    return replace(report, verdict=Verdict(tools, sentence))


LOOKED = [
    InspectionOutcome("models/good", judged(REPORTS["clean"], "native")),
    InspectionOutcome("models/bad", judged(REPORTS["bad"], "broken")),
    InspectionOutcome("models/gone", None, "models/gone: no such directory; give one that is there"),
    InspectionOutcome("models/fair", judged(REPORTS["fair"], "adapted")),
    InspectionOutcome("models/words", judged(REPORTS["noted"], "prompt-only")),
]
HOSTILE = [InspectionOutcome(BAD, judged(FULL, "broken", BAD)), InspectionOutcome(BAD, None, BAD)]


# --- the pages of several models


@pytest.mark.sample(0)
def test_several_places_get_a_page_each_and_one_that_lists_them(tmp_path: Path) -> None:
    file = tmp_path / "all of them.html"
    names = depth.some(CORPUS, 5)
    places = [*(str(MODELS / name) for name in names), str(tmp_path / "gone")]
    result = run(*places, "--output-format", f"html={file}")
    assert (result.stdout, result.exit_code) == ("", run(*places).exit_code)
    folder = tmp_path / "all of them.html.d"
    assert sorted(path.name for path in folder.iterdir()) == [f"{name}.html" for name in names]
    assert sorted(path.name for path in tmp_path.iterdir()) == [file.name, folder.name]
    index = Page(file.read_text("utf-8"))
    links = [unquote(value) for name, value in index.attributes if name == "href" and not value.startswith("#")]
    assert (index.unclosed, sorted(links)) == ([], [f"{folder.name}/{name}.html" for name in names])
    for link in links:
        page = Page((tmp_path / link).read_text("utf-8"))
        assert (page.unclosed, page.headings[0][1]) == ([], Path(link).stem)
        assert ("href", "../all of them.html") in page.attributes


def test_the_index_lists_verdicts_worst_first_and_each_model_once() -> None:
    page = index_page(LOOKED, ["d/good.html", "d/bad.html", "", "d/fair #1.html", "d/words.html"])
    parsed = Page(page)
    assert [text for tag, text in parsed.headings if tag == "h2"] == [
        *("Not inspected: 1", "Broken: 1", "Prompt only: 1", "Adapted: 1", "Native: 1")
    ]
    assert parsed.headings[0] == ("h1", "5 models: tool calling")
    hrefs = [value for name, value in parsed.attributes if name == "href" and not value.startswith("#")]
    assert hrefs == ["d/bad.html", "d/words.html", "d/fair%20%231.html", "d/good.html"]
    assert re.findall(r'<span class="(\w+)"><span class="badge">(\w+)<', page) == [
        *(("error", "TF013"), ("warning", "TF004"), ("warning", "TF004"), ("warning", "TF014"))
    ]
    assert "no such directory; give one that is there</td>" in page
    ids = [value for name, value in parsed.attributes if name == "id"]
    assert [value[1:] for name, value in parsed.attributes if name == "href" and value.startswith("#")] == ids


def test_text_from_a_model_is_inert_on_the_index() -> None:
    text = index_page(HOSTILE, ["a.html", ""])
    page = Page(text)
    assert set(page.tags) & {"script", "img", "iframe", "link", "object", "form", "base"} == set()
    assert [name for name, _ in page.attributes if name.startswith("on") or name in ("src", "style", "action")] == []
    assert [char for char in dict.fromkeys(text) if char != "\n" and not char.isprintable()] == []
    assert re.findall(r"url\(|@import|https?:", text) == []
    assert "default-src 'none'; style-src 'sha256-" in text


def test_pages_have_names_that_no_file_system_mistakes(tmp_path: Path) -> None:
    pages = HtmlPages(str(tmp_path / "x.html"))
    names = ["Model", "model", "MODEL", "a/../..", "c/model.", "é<b>", "z" * 300]
    for name in names:
        pages.add(InspectionOutcome(name, replace(GOOD, path=name)))
    pages.finish()
    made = sorted(path.name for path in (tmp_path / "x.html.d").iterdir())
    assert len({name.lower() for name in made}) == len(names)
    assert all(re.fullmatch(r"[A-Za-z0-9._-]{1,90}\.html", name) and name[0] not in ".-" for name in made)


@pytest.mark.sample(0)
def test_a_folder_that_cannot_be_made_and_a_file_that_is_no_page_are_one_line(tmp_path: Path) -> None:
    (tmp_path / "x.html.d").write_text("mine")
    result = run(
        str(MODELS / "json-frames"), str(MODELS / "xml-functions"), "--output-format", f"html={tmp_path / 'x.html'}"
    )
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert result.stderr.startswith(f"toolfmt: {tmp_path / 'x.html.d'}: cannot be made (")
    (tmp_path / "y.html.d").mkdir()
    (tmp_path / "y.html.d" / "json-frames.html").write_text("mine")
    pages = f"html={tmp_path / 'y.html'}"
    assert run(str(MODELS / "json-frames"), str(MODELS / "broken"), "--output-format", pages).exit_code == 2
    assert (tmp_path / "y.html.d" / "json-frames.html").read_text() == "mine"


@pytest.mark.sample(0)
@pytest.mark.parametrize(("width", "height"), [(400, 800), (1280, 900)])
def test_the_index_in_a_browser(width: int, height: int, tmp_path: Path) -> None:
    file = tmp_path / "index.html"
    file.write_text(index_page([*LOOKED, *HOSTILE], ["d/x.html"] * 5 + ["y.html", ""]), "utf-8")
    schemes: tuple[Literal["light", "dark"], ...] = ("light", "dark")
    with browser() as chromium:
        for scheme in schemes:
            chromium.open(file, width, height, scheme)
            assert (chromium.complaints(), max(0, chromium.evaluate(OVERFLOW))) == ([], 0)
            assert chromium.evaluate(LOWEST_CONTRAST) >= 4.5


# --- the summary


def summary(*looked: InspectionOutcome) -> str:
    made = Summary()
    for one in looked:
        made.add(one)
    return made.text()


def test_the_summary_has_a_row_a_model_and_what_was_found() -> None:
    assert summary(*LOOKED[:4]) == (
        "### toolfmt: 1 not inspected, 1 broken, 1 adapted, 1 native\n"
        "\n"
        "| model | verdict | errors | warnings | notes |\n"
        "|---|---|---|---|---|\n"
        "| models/gone | **not inspected**: no such directory; give one that is there | | | |\n"
        "| models/bad | **broken**: So. | 1 | 1 | 1 |\n"
        "| models/fair | **adapted**: So. | 0 | 2 | 0 |\n"
        "| models/good | **native**: So. | 0 | 0 | 0 |\n"
        "\n"
        "**models/bad**\n"
        "\n"
        "- error TF013: What TF013 says. (line 7)\n"
        "- warning TF004: What TF004 says.\n"
        "\n"
        "**models/fair**\n"
        "\n"
        "- warning TF004: What TF004 says.\n"
        "- warning TF014: What TF014 says.\n"
    )


def test_with_a_baseline_the_summary_shows_what_is_new() -> None:
    notes = (replace(finding("TF038", "note"), new=True),)
    findings = (replace(finding("TF013", "error"), new=False), replace(finding("TF004"), new=True))
    report = judged(replace(REPORTS["clean"], findings=findings, notes=notes), "broken")
    text = summary(InspectionOutcome("m", report))
    assert "| m | **broken**: So. | 1 | 1 (1 new) | 1 (1 new) |\n" in text
    assert text.endswith("\n**m**: new\n\n- warning TF004: What TF004 says.\n- note TF038: What TF038 says.\n")


def test_text_from_a_model_is_not_markdown() -> None:
    hostile = (
        "a | <b>`x`</b> [l](https://e.example) www.e.example @someone #12 **b** _i_ $m$ ~~s~~ \x1b\u202e\n# h &lt;"
    )
    found = replace(finding("TF013", "error"), message=hostile)
    text = summary(InspectionOutcome("m", judged(replace(REPORTS["clean"], findings=(found,)), "broken", hostile)))
    for line in (line for line in text.splitlines() if "someone" in line):
        rest = line.removeprefix("| m | **broken**: ").removesuffix(" | 1 | 0 | 0 |")
        assert set(re.sub(r"&#\d+;|<!-- -->", "", rest)) & set("|<>`[]@#*_$~&\x1b\u202e") == set()
        assert "https:" not in rest.replace("https&", "") and "www." not in rest
        shown = html.unescape(rest.replace("<!-- -->", "")).removeprefix("- error TF013: ")
        assert shown == hostile.replace("\x1b\u202e\n", "\\x1b\\u202e\\n")


def test_the_summary_of_thousands_fits_into_a_comment() -> None:
    worst = replace(
        REPORTS["clean"], findings=tuple(replace(finding("TF013", "error"), message="@" * 999) for _ in "123")
    )
    looked = InspectionOutcome("@" * 999, judged(worst, "broken", "#" * 999))
    text = summary(*[looked] * 3000, *[InspectionOutcome("m" * 99, None, "@" * 999)] * 50)
    listed = text.count("**broken**") + text.count("**not inspected**")
    assert (len(text) <= 60_000, listed > 5, f"\n{3050 - listed:,} more are not listed.\n" in text) == (
        True,
        True,
        True,
    )
    text = summary(*LOOKED[:1] * 41)
    assert (text.count("| models/good |"), "\n1 more is not listed.\n" in text) == (40, True)
    many = replace(REPORTS["clean"], findings=tuple(finding("TF013", "error") for _ in range(8)))
    assert summary(InspectionOutcome("m", judged(many, "broken"))).endswith("TF013 says.\n- and 3 more\n")


def test_a_place_of_this_machine_is_called_by_its_last_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = tmp_path / "up" / "here"
    (here / "model").mkdir(parents=True)
    monkeypatch.chdir(here)
    places = (str(here / "model"), str(here.parent), "model")
    text = summary(*(replace(LOOKED[0], place=one) for one in places))
    assert re.findall(r"^\| (\w+) \| \*", text, re.MULTILINE) == ["model", "up", "model"]


@pytest.mark.sample(0)
def test_the_summary_is_appended_to_a_file_or_printed(tmp_path: Path) -> None:
    file = tmp_path / "summary.md"
    file.write_text("before\n")
    one, two = str(MODELS / "json-frames"), str(MODELS / "in-conflict")
    for places, status in (([one], 0), ([one, two], 1)):
        printed = run(*places, "--output-format", "markdown")
        written = run(*places, "--output-format", f"markdown={file}", "--output-format", "sarif")
        assert (printed.exit_code, written.exit_code) == (status, status)
        assert printed.stdout.startswith("### toolfmt: ")
        assert file.read_text("utf-8") == "before\n" + printed.stdout
        file.write_text("before\n")
        assert '"version": "2.1.0"' in written.stdout


# --- several outputs of one inspection


@pytest.mark.parametrize("several", [False, pytest.param(True, marks=pytest.mark.sample(0))])
def test_a_file_gets_what_standard_output_gets(several: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    places = [str(MODELS / name) for name in ("json-frames", "in-conflict")[: 2 if several else 1]]
    formats = [format for format in FORMATS if format != "html"]
    files = {format: tmp_path / format for format in formats}
    outputs = [word for format, file in files.items() for word in ("--output-format", f"{format}={file}")]
    for _ in range(2):  # an earlier output is replaced, except Markdown
        files["markdown"].unlink(missing_ok=True)
        result = run(*places, *outputs)
        assert (result.exit_code, result.output) == (int(several), "")
    for format, file in files.items():
        assert file.read_text("utf-8") == run(*places, "--output-format", format).stdout
    assert sorted(tmp_path.iterdir()) == sorted(files.values())


def test_a_written_file_is_a_baseline(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    again = ("--baseline", str(file), "--output-format", f"json={file}")
    assert run(str(MODELS / "in-conflict"), "--output-format", f"json={file}").exit_code == 1
    assert run(str(MODELS / "in-conflict"), *again).exit_code == 0


@pytest.mark.parametrize(
    ("values", "line"),
    [
        (["json", "text"], "json and text cannot both go to standard output; write one to a file: text=FILE"),
        (["json", "json"], "json and json cannot both go to standard output; write one to a file: json=FILE"),
        (["text", "json=-"], "text and json cannot both go to standard output; write one to a file: json=FILE"),
        (
            ["text", "json=/dev/stdout"],
            "text and json cannot both go to standard output; write one to a file: json=FILE",
        ),
        (["json=x/../y", "sarif=./y"], "json and sarif cannot both go to ./y; write one to a file: sarif=FILE"),
        (["html"], "html needs a file; give html=FILE"),
        (["html=-"], "html needs a file; give html=FILE"),
        (["json="], "json= has no file name; give json=FILE or json"),
        (["xml=a"], "'xml' is not one of text, json, sarif, html, markdown, github, junit"),
        (["JSON"], "'JSON' is not one of text, json, sarif, html, markdown, github, junit"),
    ],
)
def test_outputs_that_are_wrong_are_one_line(
    values: list[str], line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("gone", *(word for value in values for word in ("--output-format", value)))
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert f"{line}; see toolfmt inspect --help" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_help_names_the_format_that_cannot_go_to_standard_output() -> None:
    assert "html needs a FILE" in " ".join(run("--help").stdout.split())


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize(("format", "streams"), [("json", True), ("github", True), ("text", False), ("junit", False)])
def test_only_what_is_printed_before_the_end_hides_the_progress(
    format: str, streams: bool, several: bool, tmp_path: Path
) -> None:
    content = Content(several, False, False, ModelRules(NO_OPTIONS, (), Configuration()))
    assert Outputs([Target(format)], content).streams == (streams and several)
    assert not Outputs([Target(format, str(tmp_path / "file"))], content).streams


@pytest.mark.sample(0)
def test_json_is_an_alias(tmp_path: Path) -> None:
    place = str(MODELS / "json-frames")
    assert run(place, "--json").stdout == run(place, "--output-format", "json").stdout
    result = run(place, "--json", "--output-format", "github")
    assert (result.exit_code, "json and github cannot both go to standard output" in result.stderr) == (2, True)
    result = run(place, "--full", "--output-format", "sarif")
    assert (result.exit_code, "--full is for text; sarif shows everything" in result.stderr) == (2, True)
    full = run(place, "--full", "--output-format", f"sarif={tmp_path / 'a'}", "--output-format", "text")
    assert full.stdout == run(place, "--full").stdout != run(place).stdout


@pytest.mark.sample(0)
def test_what_no_output_has_written_is_not_replaced(tmp_path: Path) -> None:
    place = str(MODELS / "json-frames")
    written = {}
    for format in FORMATS:
        file = tmp_path / format
        assert run(place, "--output-format", f"{format}={file}").exit_code == 0
        written[format] = file.read_bytes()
    mine = tmp_path / "mine"
    theirs = (b'{"version": "2.1.0", "runs": []}', b'{"model_type": "qwen3"}', b"<?xml version='1.0'?><a/>", b"\xff")
    for format in set(FORMATS) - {"markdown"}:
        for content in (*theirs, *(text for other, text in written.items() if other != format)):
            mine.write_bytes(content)
            result = run(place, "--output-format", f"{format}={mine}")
            assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1), (format, content)
            assert mine.read_bytes() == content
        mine.write_bytes(b"")
        assert run(place, "--output-format", f"{format}={mine}").exit_code == 0
        assert mine.read_bytes() == written[format]
