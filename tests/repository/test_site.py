"""The documentation site: built, read as HTML, and opened in a real browser, with scripts and without.

It needs the extra `docs`; if that is not installed, nothing here runs. The site is built without the playground's
Python, which npm fetches: `tests/repository/test_playground.py` tests that.
"""

from __future__ import annotations

import functools
import http.server
import os
import re
import shutil
import subprocess
import sys
import threading
import tomllib
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import depth
import pytest
import site_pages
from site_pages import Page

import toolfmt
from toolfmt.cli.commands import main
from toolfmt.formats import TOLERANCES, Call, formats, write
from toolfmt.inspect import checks
from toolfmt.render.adapt.remedies import REMEDIES

for _needed in ("mkdocs", "material", "mkdocstrings_handlers.python"):
    pytest.importorskip(_needed, reason="the documentation is built with: pip install -e '.[docs]'")

from documentation.api_pages import adaptors, public  # noqa: E402  # needs mkdocs
from documentation.command_line import pages as command_line_pages  # noqa: E402  # needs mkdocs
from documentation.name_pages import adaptations  # noqa: E402  # needs mkdocs
from documentation.repository_links import DOCS, ROOT  # noqa: E402  # needs mkdocs

_MOST_HTML = 410_000  # the reference of all names in Python is the largest page
_MOST_LOADED = 1_600_000
"""Bytes of a page with all that it loads, uncompressed; the index of the search is most of it."""
_UNREADABLE = (Path(__file__).parents[1] / "support" / "unreadable_text.js").read_text(encoding="utf-8")
PLAYGROUND = "playground/index.html"
"""What it loads is not in the site that is built here."""
WIDTHS = (400, 1400)
SCHEMES = ("light", "dark")
LOOKED_AT = (
    "index.html",
    "faults.html",
    "reference/formats.html",
    "reference/formats/glm4.html",
    "reference/findings/TF014.html",
    "reference/command_line.html",
    "reference/api/toolfmt.html",
    "reference/adaptations.html",
)
"""Pages of every kind; the long run opens all of them."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as `.ci/run` does: a warning fails."""
    folder = tmp_path_factory.mktemp("site")
    variables = {"PYTHONPATH": str(ROOT), "NO_MKDOCS_2_WARNING": "1", "TOOLFMT_PLAYGROUND": "false"}
    command = [
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "--strict",
        "--site-dir",
        str(folder),
    ]  # --quiet would hide warnings
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, **variables}, capture_output=True, text=True, timeout=1200
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WARNING" not in done.stderr
    return folder


@pytest.fixture(scope="module")
def read(site: Path) -> dict[str, Page]:
    """Every page by its path."""
    pages = {file.relative_to(site).as_posix(): site_pages.read(file) for file in sorted(site.rglob("*.html"))}
    del pages["404.html"]  # only for servers: its links are absolute, whatever page was requested
    return pages


# --- what is there


def test_every_format_has_a_page(read: dict[str, Page]) -> None:
    titles = {format.name: read[f"reference/formats/{format.name}.html"].headings for format in formats()}
    assert titles == {format.name: [f"{format.name}¶"] for format in formats()}


def test_the_page_of_a_format_shows_calls_as_they_are_written(site: Path) -> None:
    schema = {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}}
    tools = [{"name": "get_weather", "parameters": schema}]
    calls: list[Call] = [("get_weather", {"city": "Oslo", "days": 3}), ("get_weather", {"city": "Rome"})]
    for format in formats():
        shown = site_pages.words(site / f"reference/formats/{format.name}.html")
        written = [write(format, calls[:1], tools=tools), write(format, calls, tools=tools)]
        written += [write(format.with_variant(variant), calls, tools=tools) for variant in format.variants]
        assert [text for text in written if text.strip("\n") not in shown] == [], format.name


def test_every_tolerance_has_a_place_to_link_to(read: dict[str, Page]) -> None:
    assert sorted(set(TOLERANCES) - read["reference/tolerances.html"].ids) == []


def test_every_finding_has_the_page_that_explain_prints(read: dict[str, Page], site: Path) -> None:
    for check in checks.CHECKS:
        page = f"reference/findings/{checks.code(check)}.html"
        assert read[page].headings == [f"{checks.code(check)} {checks.name(check)}¶"]
        words = re.sub(r"[`*]|\s+", " ", checks.page(check)).split()
        # The site begins a section with a capital letter; the terminal continues after "Fix: ".
        shown = " ".join(site_pages.words(site / page).split()).casefold()
        assert [word for word in words if word.strip("(),.;:").casefold() not in shown] == [], page


def test_every_command_and_option_is_documented(site: Path) -> None:
    shown = site_pages.words(site / "reference/command_line.html")
    options = {name for command in main.commands.values() for param in command.params for name in param.opts}
    assert [name for name in options if name.startswith("--") and name not in shown] == []
    assert [name for name in main.commands if f"toolfmt {name}" not in shown] == []
    assert list(command_line_pages()) == ["reference/command_line.md"]


@pytest.mark.parametrize(
    "room", ["toolfmt", "toolfmt.formats", "toolfmt.integrations.protocols", "toolfmt.agent", "toolfmt.testing"]
)
def test_every_public_name_is_in_the_api(room: str, read: dict[str, Page]) -> None:
    listed = import_module(room).__all__
    assert sorted(public(room)) == sorted(listed)
    ids = read[f"reference/api/{room.replace('.', '_')}.html"].ids
    assert [name for name in listed if name != "__version__" and f"{room}.{name}" not in ids] == []


def test_every_adaptor_is_in_the_api(read: dict[str, Page]) -> None:
    ids = read["reference/api/toolfmt_runtimes.html"].ids
    named = [f"{module}.{name}" for module, names in adaptors().items() for name in names]
    assert len(adaptors()) >= 8
    assert [name for name in named if name not in ids] == []


def test_every_adaptation_is_explained() -> None:
    constants = re.compile(r'^[A-Z_]+ = "([a-z]+(?:-[a-z]+)+)"$', re.MULTILINE)
    files = sorted((ROOT / "toolfmt" / "render").rglob("*.py"))
    named = {name for file in files for name in constants.findall(file.read_text(encoding="utf-8"))}
    inner = {"calls-with-text-as-content"}  # only of a plan: a prompt reports calls-as-content for it
    assert sorted(named - inner - set(adaptations())) == []
    assert sorted({remedy.name for remedy in REMEDIES} - inner - set(adaptations())) == []
    assert [name for name, explanation in adaptations().items() if len(explanation) < 20] == []


def test_every_page_of_docs_is_in_the_site(read: dict[str, Page]) -> None:
    assert sorted(_written() - set(read)) == []


def _written() -> set[str]:
    """Every handwritten page, by its path in the site."""
    pages = {file.relative_to(DOCS).with_suffix(".html").as_posix() for file in DOCS.rglob("*.md")}
    return {PLAYGROUND if page == "playground.html" else page for page in pages}


# --- the pages as HTML


def test_links_anchors_and_images_lead_somewhere(read: dict[str, Page], site: Path) -> None:
    broken = []
    for page, content in read.items():
        for link in {*content.links, *content.loaded}:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (site / page).parent.joinpath(unquote(parts.path)).resolve() if parts.path else site / page
            target = target / "index.html" if target.is_dir() else target
            anchored = read.get(target.relative_to(site.resolve()).as_posix()) if parts.path else content
            if not target.is_file() or (parts.fragment and anchored and unquote(parts.fragment) not in anchored.ids):
                broken.append(f"{page}: {link}")
    assert sorted(broken) == []


def test_nothing_is_loaded_from_another_host(read: dict[str, Page], site: Path) -> None:
    loaded = {f"{page}: {link}" for page, content in read.items() for link in content.loaded if _is_elsewhere(link)}
    texts = {page: "\n".join(content.styles) for page, content in read.items()}
    texts |= {file.relative_to(site).as_posix(): file.read_text(encoding="utf-8") for file in site.rglob("*.css")}
    urls = {(name, url) for name, text in texts.items() for url in site_pages.urls(text)}
    assert len(texts) > len(read)
    assert sorted(loaded) + sorted(f"{name}: {url}" for name, url in urls if _is_elsewhere(url)) == []


def _is_elsewhere(link: str) -> bool:
    parts = urlsplit(link)
    return parts.scheme not in ("", "data") or bool(parts.netloc)


def test_pages_declare_their_language_and_have_one_heading(read: dict[str, Page]) -> None:
    assert {page: content.language for page, content in read.items() if content.language != "en"} == {}
    assert {page: content.headings for page, content in read.items() if len(content.headings) != 1} == {}


def test_page_titles_are_unique(read: dict[str, Page]) -> None:
    titles = Counter(content.title.strip() for content in read.values())
    assert [title for title, times in titles.items() if times > 1 or not title] == []


def test_images_have_words(read: dict[str, Page]) -> None:
    assert {page: content.pictures for page, content in read.items() if content.pictures} == {}


def test_pages_are_light(read: dict[str, Page], site: Path) -> None:
    sizes = {page: (site / page).stat().st_size for page in read}
    assert {page: size for page, size in sizes.items() if size > _MOST_HTML} == {}


def test_pages_link_to_the_repository_and_to_their_source(site: Path) -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        repository = tomllib.load(file)["project"]["urls"]["Repository"]
    html = (site / "inspect.html").read_text(encoding="utf-8")
    assert f'href="{repository}"' in html
    assert f'href="{repository}/edit/main/docs/inspect.md"' in html
    assert f"toolfmt {toolfmt.__version__}" in html[html.index("<footer") :]
    generated = (site / "reference" / "findings.html").read_text(encoding="utf-8")
    assert "/edit/" not in generated


# --- in a browser


class Opened:
    """A page in a browser, with what it loaded and what its console logged."""

    def __init__(self, page: Any, address: str) -> None:
        self.page, self.address = page, address
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.bytes = 0
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("response", self._loaded)
        page.on("requestfailed", lambda request: self.complaints.append(f"not loaded: {request.url}"))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("console", self._on_console)
        page.goto(address)

    def _loaded(self, response: Any) -> None:
        self.bytes += int(response.headers.get("content-length", 0))
        if response.status >= 400:
            self.complaints.append(f"{response.status}: {response.url}")

    def _on_console(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    api = pytest.importorskip("playwright.sync_api", reason="pages are opened with: pip install -e '.[docs]'")
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if program is None:
        pytest.skip("no Chromium on the path")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])  # as root there is none
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """Where the site is served: plain files."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def _looked_at(read: dict[str, Page], width: int, scheme: str) -> list[str]:
    """Pages of every kind in every way; handwritten ones narrow and dark, and wide and light; or all."""
    if depth.every:
        return list(read)
    written = _written() if (width == min(WIDTHS)) == (scheme == "dark") else []
    return sorted({*LOOKED_AT, *written} - {PLAYGROUND})


@pytest.mark.sample(1)
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_pages_in_a_browser(width: int, scheme: str, read: dict[str, Page], chromium: Any, address: str) -> None:
    wrong: dict[str, list[str]] = {}
    with chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme) as context:
        for path in _looked_at(read, width, scheme):
            opened = Opened(context.new_page(), address + path)
            wide = opened.page.evaluate("document.documentElement.scrollWidth")
            found = [f"{wide} pixels wide"] if wide != width else []
            found += opened.page.evaluate(_UNREADABLE) + opened.complaints
            found += [f"elsewhere: {url}" for url in opened.requests if not url.startswith(address)]
            if found:
                wrong[path] = found
            opened.page.close()
    assert wrong == {}


@pytest.mark.parametrize("path", ["index.html", "reference/api/toolfmt.html"])
def test_what_a_page_loads_is_bounded(path: str, chromium: Any, address: str) -> None:
    with chromium.new_context(viewport={"width": 400, "height": 900}) as context:
        page = context.new_page()
        with page.expect_response("**/search_index.json"):  # the last file that a page loads, from a script
            opened = Opened(page, address + path)
        assert 100_000 < opened.bytes < _MOST_LOADED


@pytest.mark.parametrize("width", WIDTHS)
def test_pages_are_read_without_scripts(width: int, chromium: Any, address: str) -> None:
    with chromium.new_context(viewport={"width": width, "height": 900}, java_script_enabled=False) as context:
        page = context.new_page()
        page.goto(address + "reference/formats/glm4.html")
        for text in ("How a call looks", "The name, then each key and each value", "GLM 4.5/4.6/4.7/5"):
            assert page.get_by_text(text).locator("visible=true").count(), text
        if width < 1000:
            assert _left_edge(page, "glm4_legacy") < 0  # the navigation is next to the screen
            page.locator("label.md-header__button[for=__drawer]").click()
        page.get_by_role("link", name="glm4_legacy").first.click()
        page.wait_for_url(address + "reference/formats/glm4_legacy.html")  # and its style sheets, which set its width
        assert page.evaluate("document.documentElement.scrollWidth") == width
        page.locator("summary").first.click()
        assert page.locator("details[open] pre").locator("visible=true").count() >= 1


def _left_edge(page: Any, link: str) -> float:
    return float(page.get_by_role("link", name=link).first.bounding_box()["x"])


def test_findings_are_filtered(chromium: Any, address: str) -> None:
    page = chromium.new_page()
    page.goto(f"{address}/reference/findings.html")
    rows = page.locator("tbody tr:visible", has_text="TF")
    every = rows.count()
    page.fill("#filter", "tf014")
    assert rows.all_inner_texts()[0].startswith("TF014") and rows.count() == 1
    page.fill("#filter", "prefix cache")
    assert 1 <= rows.count() < every
    page.fill("#filter", "")
    assert rows.count() == every
    page.close()


def test_the_site_is_read_from_a_folder(site: Path, chromium: Any) -> None:
    with chromium.new_context(viewport={"width": 1400, "height": 900}) as context:
        page = context.new_page()
        page.goto((site / "index.html").as_uri())
        page.get_by_role("link", name="Reference").first.click()
        page.get_by_role("link", name="glm4", exact=True).first.click()
        page.wait_for_url("**/glm4.html")
        assert page.get_by_role("heading", level=1).inner_text().startswith("glm4")


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("arguments-double-encoded", "findings/TF014"),
        ("glm4_legacy", "formats/glm4_legacy"),
        ("vllm tool-call-parser", "choose_settings"),
        ("parallel tool calls", "tools_do_not_work"),
    ],
)
def test_the_search_finds(query: str, found: str, chromium: Any, address: str) -> None:
    with chromium.new_context(viewport={"width": 1400, "height": 900}) as context:
        page = Opened(context.new_page(), address + "index.html").page
        page.get_by_role("textbox", name="Search").press_sequentially(query)
        first = ".md-search-result__item:nth-child(-n+3) > .md-search-result__link"
        page.locator(f"{first}[href*='{found}']").first.wait_for()  # results follow each letter typed
