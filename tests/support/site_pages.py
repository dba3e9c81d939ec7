"""The content of a documentation page, read as HTML: its links, what it loads, its headings."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

_LOADING = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href", "object": "data"}
_LOADED_LINKS = {"stylesheet", "icon", "preload", "modulepreload", "prefetch", "preconnect", "manifest"}
_VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
_CSS_URL = re.compile(r"""url\(\s*["']?([^"')]+)|@import\s+["']([^"']+)""")


@dataclass
class Page:
    """The content of one page; `pictures` are those without text, `styles` all CSS."""

    language: str = ""
    title: str = ""
    headings: list[str] = field(default_factory=list)
    ids: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)
    pictures: list[str] = field(default_factory=list)
    styles: list[str] = field(default_factory=list)


def read(file: Path) -> Page:
    reader = _Reader()
    reader.feed(file.read_text(encoding="utf-8"))
    return reader.page


def words(file: Path) -> str:
    """The text of a page, without its tags."""
    return html.unescape(re.sub(r"<[^>]*>", "", file.read_text(encoding="utf-8")))


def urls(css: str) -> list[str]:
    """What CSS loads."""
    return ["".join(found) for found in _CSS_URL.findall(css)]


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.page = Page()
        self._open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag not in _VOID:
            self._open.append(tag)
        if tag == "html":
            self.page.language = given.get("lang", "")
        if tag == "h1":
            self.page.headings.append("")
        self.page.ids |= {given[name] for name in ("id", "name") if given.get(name)}
        if tag == "a" and "href" in given:
            self.page.links.append(given["href"])
        if tag in _LOADING and (tag != "link" or _LOADED_LINKS & set(given.get("rel", "").split())):
            self.page.loaded.append(given.get(_LOADING[tag], ""))
        if tag == "img" and not given.get("alt", "").strip():
            self.page.pictures.append(given.get("src", ""))
        if "style" in given:
            self.page.styles.append(given["style"])

    def handle_endtag(self, tag: str) -> None:
        if tag in self._open:
            while self._open.pop() != tag:
                pass

    def handle_data(self, data: str) -> None:
        if not self._open:
            return
        if self._open[-1] == "title" and "svg" not in self._open:
            self.page.title += data
        elif self._open[-1] == "style":
            self.page.styles.append(data)
        elif "h1" in self._open:
            self.page.headings[-1] += data
