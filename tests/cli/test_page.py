"""The HTML page: its content, that a hostile template cannot run code in it, and how it renders in a real browser."""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import re
import stat
from collections.abc import Iterator
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Literal

import depth
import pytest
from browser import Browser, browser
from click.testing import CliRunner, Result
from report_pages import FULL, GOOD, LOWEST_CONTRAST, OVERFLOW, TEMPLATE, Page, filled

from toolfmt.cli.commands import main
from toolfmt.cli.output_files import write_whole
from toolfmt.cli.printing.page import report_page
from toolfmt.inspect.inspection import inspect_template
from toolfmt.inspect.report.report import (
    Finding,
    Report,
    SampleSpan,
)
from toolfmt.inspect.report.verdicts import Advice, Verdict

MODELS = Path(__file__).parents[2] / "corpus" / "models"


# --- content


def test_the_same_report_gives_the_same_bytes() -> None:
    again = filled(inspect_template(TEMPLATE, model_type="qwen3"))
    assert report_page(FULL) == report_page(again)


def test_sections_are_in_order_and_empty_ones_are_left_out() -> None:
    full = [text for tag, text in Page(report_page(FULL)).headings if tag == "h2"]
    assert full == [
        "Findings",
        "How to run it",
        "A prompt in pieces",
        "What it can do",
        "Format of the calls",
        "In detail",
        "Tool definitions",
        "Safety",
        "What runtimes read",
        "Variables",
        "Prefix stability",
        "Tokens",
        "Other template engines",
        "Worth knowing",
        "The template",
    ]
    empty = replace(GOOD, sections=replace(GOOD.sections, sample=()), findings=(), runtimes={}, template=None)
    bare = replace(empty, profile=replace(empty.profile, stop=()))
    page = report_page(replace(bare, sections=type(bare.sections)(), notes=()))
    assert [text for tag, text in Page(page).headings if tag == "h2"] == ["What it can do", "Format of the calls"]


def test_for_a_template_that_does_not_compile_only_that_is_shown() -> None:
    page = report_page(inspect_template("{% for message in messages %}"))
    assert [text for tag, text in Page(page).headings if tag == "h2"] == [
        "Findings",
        "Format of the calls",
        "What runtimes read",
        "The template",
    ]


def test_markers_are_distinguished_from_words() -> None:
    page = report_page(GOOD)
    assert '<span class="marker">&lt;|assistant|&gt;</span><span class="eol">' in page
    pieces = (SampleSpan("call", '<invoke name="f">[INST]a < b[1]'), SampleSpan("user", "<b>"))
    page = report_page(replace(GOOD, sections=replace(GOOD.sections, sample=pieces)))
    assert re.findall(r'class="marker">(.*?)</span>', page) == ["&lt;invoke name=&#34;f&#34;&gt;", "[INST]"]


def test_remarks_on_a_runtime_are_below_its_line() -> None:
    report = inspect_template(TEMPLATE)
    advice = (
        Advice("vLLM", "--x", remark="which <a> of them"),
        Advice("Ollama", "none", "fails", "y", typed=False),
        Advice("z", "--z"),
    )
    verdict = replace(report.verdict, runtimes={})
    page = report_page(replace(report, verdict=verdict, sections=replace(report.sections, advice=advice)))
    assert '<code class="copy">--x</code><p class="quiet">which &lt;a&gt; of them</p></dd>' in page
    assert '<span class="quiet">none</span><p class="quiet">y</p></dd>' in page
    assert '<code class="copy">--z</code></dd>' in page


def test_what_begins_an_invented_result_is_a_stop_where_tools_are_described_in_words() -> None:
    sentence = "&#34;Result of&#34; if the prompt describes the tools (stops a model that invents a tool result)"
    assert FULL.profile.stop
    assert f"or {sentence}" in report_page(replace(FULL, strategy="prompt"))
    alone = replace(FULL, strategy="prompt", profile=replace(FULL.profile, stop=(), stop_of_calls=()))
    assert f'<dt>Stop at</dt>\n  <dd><span class="quiet">{sentence}' in report_page(alone)
    assert sentence not in report_page(replace(FULL, strategy="template"))


def test_findings_come_worst_first_with_fix_and_page() -> None:
    page = report_page(FULL)
    findings = page.partition('id="findings"')[2]
    assert findings.index("TF013") < findings.index("TF014") < findings.index("TF004")
    assert "The template describes tools, but a call in the history does not reach the prompt." in page


def test_notes_are_counted_as_notes_if_they_are_shown_among_the_findings() -> None:
    notes = (Finding("TF038", "a-note", "A note.", None, "Nothing to do.", "note"),)
    for report in (replace(GOOD, findings=(), notes=notes), replace(GOOD, findings=notes, notes=())):
        assert '<p class="counts">1 note</p>' in report_page(report)


@pytest.mark.parametrize(
    ("report", "level", "word", "part"),
    [
        (replace(GOOD, verdict=Verdict("native", "As it is.")), "good", "native", "As it is."),
        (replace(GOOD, verdict=Verdict("adapted", "With <b>.")), "good", "adapted", "With &lt;b&gt;."),
        (
            inspect_template("{% for m in messages %}{{ m.content }}{% endfor %}"),
            "care",
            "prompt-only",
            "does not render tools",
        ),
        (inspect_template("{% for %}"), "bad", "broken", "No prompt can be rendered"),
    ],
)
def test_the_verdict_is_on_top(report: Report, level: str, word: str, part: str) -> None:
    page = report_page(report)
    assert f'<div class="verdict {level}">\n  <p><strong>{word}:</strong> ' in page
    assert part in page.partition("<strong>")[2].partition("</p>")[0]


@pytest.mark.sample(0)
def test_the_page_of_every_directory_of_the_corpus_is_whole(tmp_path: Path) -> None:
    directories = sorted(path for path in MODELS.iterdir() if path.is_dir() and path.name != "broken")
    for directory in depth.some(directories, 3):
        result = inspected(directory, tmp_path / directory.name)
        page = Page((tmp_path / directory.name).read_text("utf-8"))
        assert (result.exit_code < 2, page.unclosed, page.headings[0][1]) == (True, [], directory.name)


# --- that nothing on it can act


def test_text_from_a_template_is_text_and_nothing_else() -> None:
    text = report_page(FULL)
    page = Page(text)
    assert set(page.tags) & {"script", "img", "iframe", "link", "object", "form", "base"} == set()
    assert [name for name, _ in page.attributes if name.startswith("on") or name in ("src", "style", "action")] == []
    assert [value for name, value in page.attributes if name == "href" and not value.startswith("#")] == []
    assert re.findall(r"url\(|@import|https?:", text) == []
    assert page.tags.count("style") == 1
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text


def test_code_in_a_finding_is_marked_up_and_its_content_is_escaped() -> None:
    finding = Finding("TF038", "content-null-printed", "It prints `<b>`\x1b.", 3, "Write `message.content or ''`.")
    shown = report_page(replace(GOOD, findings=(finding,)))
    assert "<p>It prints <code>&lt;b&gt;</code>\\x1b.</p>" in shown
    assert "Write <code>message.content or &#39;&#39;</code>." in shown


def test_control_and_bidi_characters_are_visible_escapes() -> None:
    text = report_page(FULL)
    assert [char for char in dict.fromkeys(text) if char != "\n" and not char.isprintable() and char != "\u00a0"] == []
    for escape in (r"\x00", r"\x1b[31m", r"\u202e", r"\u2066", r"\u200b", r"\r", r"\ud800"):
        assert escape in text
    text.encode("utf-8")


def test_the_policy_allows_the_style_of_the_page_alone() -> None:
    text = report_page(GOOD)
    style = text.partition("<style>")[2].partition("</style>")[0]
    allowed = "sha256-" + base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src '{allowed}'; base-uri 'none'; form-action 'none'"
    assert f'http-equiv="Content-Security-Policy" content="{policy}"' in text


# --- that everybody can read it


def test_the_structure_is_available_to_screen_readers() -> None:
    text = report_page(FULL)
    page = Page(text)
    levels = [int(tag[1]) for tag, _ in page.headings]
    assert levels.count(1) == 1
    assert [(one, other) for one, other in itertools.pairwise(levels) if other > one + 1] == []
    assert ("lang", "en") in page.attributes
    assert page.tags.count("table") == page.tags.count("thead") > 5
    assert len(re.findall(r"<th(?! scope=)[ >]", text)) == 0
    ids = [value for name, value in page.attributes if name == "id"]
    assert (len(ids), {value[1:] for name, value in page.attributes if name == "href"}) == (len(set(ids)), set(ids))


def colours(scheme: Literal["light", "dark"]) -> dict[str, str]:
    """The custom properties of the style in this scheme."""
    light, dark = (
        files("toolfmt.cli.printing")
        .joinpath("page.css")
        .read_text("utf-8")
        .split("@media (prefers-color-scheme: dark)")
    )
    found = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", light))
    return found if scheme == "light" else found | dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", dark))


def luminance(colour: str) -> float:
    """Relative luminance as WCAG 2.2 defines it."""
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_color_has_enough_contrast_with_its_backgrounds(scheme: Literal["light", "dark"]) -> None:
    named = colours(scheme)
    tints = [name for name in named if name.endswith("-tint")]
    grounds = ["page", "panel", *tints]
    pairs = [(text, ground) for text in ("ink", "muted") for ground in grounds]
    pairs += [("link", ground) for ground in ("page", "panel")]
    pairs += [(tint.removesuffix("-tint"), ground) for tint in tints for ground in (tint, "page")]
    pairs += [("bad", ground) for ground in tints]  # an escape in any piece
    assert [(pair, round(contrast(named[pair[0]], named[pair[1]]), 2)) for pair in pairs if _weak(named, pair)] == []


def _weak(named: dict[str, str], pair: tuple[str, str]) -> bool:
    return contrast(named[pair[0]], named[pair[1]]) < 4.5


def test_dark_has_a_colour_of_its_own_for_everything() -> None:
    light, dark = colours("light"), colours("dark")
    assert [name for name, colour in light.items() if dark[name] == colour] == []


# --- the command line


def inspected(model: Path, file: Path, *more: str) -> Result:
    return CliRunner().invoke(main, ["inspect", str(model), "--output-format", f"html={file}", *more])


def test_a_page_is_written_and_with_another_output_that_is_printed(tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    plain = CliRunner().invoke(main, ["inspect", str(MODELS / "double-encoded")])
    alone = inspected(MODELS / "double-encoded", file)
    page = file.read_text("utf-8")
    assert (alone.exit_code, alone.stdout, page.startswith("<!DOCTYPE html>")) == (plain.exit_code, "", True)
    both = inspected(MODELS / "double-encoded", file, "--output-format", "text")
    assert (both.stdout, file.read_text("utf-8")) == (plain.stdout, page)
    with_json = inspected(MODELS / "double-encoded", file, "--json")
    assert json.loads(with_json.stdout)["schema"] == "toolfmt.report/1"
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_a_file_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    for file in (tmp_path / "none" / "report.html", tmp_path):
        result = inspected(MODELS / "json-frames", file)
        assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
        assert result.stderr.startswith(f"toolfmt: {file}: cannot be written (")
    assert [*tmp_path.iterdir()] == []


def test_a_file_is_written_whole_and_keeps_its_mode_and_its_link(tmp_path: Path) -> None:
    file, link = tmp_path / "kept.html", tmp_path / "link.html"
    file.write_text("<!DOCTYPE html>before", "utf-8")
    file.chmod(0o640)
    link.symlink_to(file)
    write_whole(str(link), "after\ud800", "html")
    assert (file.read_text("utf-8"), stat.S_IMODE(file.stat().st_mode)) == ("after\\ud800", 0o640)
    assert (link.is_symlink(), sorted(path.name for path in tmp_path.iterdir())) == (True, ["kept.html", "link.html"])


def test_the_package_brings_the_files_of_the_page() -> None:
    assert [files("toolfmt.cli.printing").joinpath(name).is_file() for name in ("page.html.jinja", "page.css")] == [
        True,
        True,
    ]


# --- in a browser

WIDTHS = {"phone": (400, 800), "desktop": (1280, 900)}
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
PROMPT = "[...document.querySelectorAll('.prompt code')].map(code => code.textContent).join('')"
CUT_OFF = "[...document.querySelectorAll('.prompt code')].filter(code => code.scrollWidth > code.clientWidth).length"
PAINTED = (
    "[...new Set([...document.querySelectorAll('*')].map(e => getComputedStyle(e).backgroundColor))].sort().join(' ')"
)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as started:
        yield started


@pytest.mark.sample(0)
@pytest.mark.parametrize("report", [GOOD, FULL], ids=["good", "hostile"])
def test_in_a_browser(report: Report, chromium: Browser, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    write_whole(str(file), report_page(report), "html")
    painted = {}
    for width, height in WIDTHS.values():
        for scheme in SCHEMES:
            chromium.open(file, width, height, scheme)
            chromium.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
            measured = {
                "complaints": chromium.complaints(),
                "overflow": max(0, chromium.evaluate(OVERFLOW)),
                "cut off": chromium.evaluate(CUT_OFF),
                "alert": chromium.evaluate("document.scripts.length"),
                "readable": chromium.evaluate(LOWEST_CONTRAST) >= 4.5,
            }
            assert measured == {"complaints": [], "overflow": 0, "cut off": 0, "alert": 0, "readable": True}
            painted[width, scheme] = chromium.evaluate(PAINTED)
    assert painted[400, "light"] != painted[400, "dark"]
    assert painted[1280, "light"] != painted[1280, "dark"]


@pytest.mark.sample(0)
def test_the_prompt_in_a_browser_is_the_prompt(chromium: Browser, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    tabs = SampleSpan("frame", "\n\n\ttabs,  blanks & <b>\n ")
    report = replace(GOOD, sections=replace(GOOD.sections, sample=(*GOOD.sections.sample, tabs)))
    write_whole(str(file), report_page(report), "html")
    chromium.open(file, 1280, 900, "light")
    assert chromium.evaluate(PROMPT) == "".join(piece.text for piece in report.sections.sample)


@pytest.mark.sample(0)
def test_a_browser_that_finds_something_reports_it(chromium: Browser, tmp_path: Path) -> None:
    """The checks of the tests above can fail."""
    file = tmp_path / "bad.html"
    bad = "<meta http-equiv=Content-Security-Policy content=\"script-src 'none'\"><script>alert(1)</script>"
    file.write_text(f"{bad}<p style='width: 2000px; color: #888; background: #999'>x", "utf-8")
    chromium.open(file, 400, 800, "light")
    found = (bool(chromium.complaints()), chromium.evaluate(OVERFLOW) > 0, chromium.evaluate(LOWEST_CONTRAST) < 4.5)
    assert found == (True, True, True)


def test_what_is_new_since_an_earlier_report_has_a_badge() -> None:
    found = Finding("TF014", "arguments-double-encoded", "It is so.", 3, "Do this.")
    for new in (None, False, True):
        assert (
            '<span class="badge new">new</span>' in report_page(replace(GOOD, findings=(replace(found, new=new),)))
        ) == (new is True)
