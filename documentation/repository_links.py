"""Links of pages to files of the repository that are not pages: each leads to a page of the site that shows the file.

The pages are written for readers of the repository too, so their links are paths from file to file. Files in `docs/`
keep their path; a text next to the code (the README, the changelog) is a page; any other file is shown unchanged, a
folder as the list of its files.
"""

from __future__ import annotations

import os
import posixpath
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from documentation.markdown import code, literal, outside_code, span

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
TEXTS = {
    "README.md": "project/readme.md",
    "ARCHITECTURE.md": "project/architecture.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "CHANGELOG.md": "project/changelog.md",
    "CODE_OF_CONDUCT.md": "project/code_of_conduct.md",
    "SECURITY.md": "project/security.md",
}
"""Texts of the repository that are pages of the site, by their paths there."""

_INLINE = re.compile(r"(\]\()([^)\s:]+)((?:\s+\"[^\"]*\")?\))")
_BY_REFERENCE = re.compile(r"(^\[[^\]]+\]: +)(\S+)()$", re.MULTILINE)
_LANGUAGES = {".py": "python", ".json": "json", ".yml": "yaml", ".jinja": "jinja", ".toml": "toml", ".sh": "bash"}
_LONGEST = 200_000
"""Characters of a file that are shown."""


def repository_url() -> str:
    """Return the address of the repository, which `[project.urls]` in pyproject.toml has."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        return str(tomllib.load(file)["project"]["urls"]["Repository"])


def texts() -> dict[str, str]:
    """The existing texts of the repository, as pages: their content, with links that work in the site."""
    return {
        page: f"---\ntitle: {name}\n---\n\n{rewritten((ROOT / name).read_text(encoding='utf-8'), name, page)}"
        for name, page in TEXTS.items()
        if (ROOT / name).is_file()
    }


def shown_files(pages: dict[str, str]) -> dict[str, str]:
    """A page for each file of the repository that one of the pages links to, and for those that these link to. Takes
    every handwritten page, by its path in the repository.
    """
    linked = {target for path, text in pages.items() for target in _targets(text, path)}
    return {_shown_at(target): _shown(target) for target in sorted(linked) if _is_shown(target)}


def rewritten(text: str, path: str, page: str) -> str:
    """A text at `path` in the repository, with its links adjusted for `page` in the site."""

    def link(found: re.Match[str]) -> str:
        target, anchor = _target(found[2], path)
        at = None if target is None else _page_of(target)
        if at is None:
            return found[0]
        relative = posixpath.relpath(at, posixpath.dirname(page) or ".")
        return f"{found[1]}{relative}{anchor}{found[3]}"

    return outside_code(text, lambda plain: _BY_REFERENCE.sub(link, _INLINE.sub(link, plain)))


def _targets(text: str, path: str) -> Iterator[str]:
    found: list[str] = []

    def collect(plain: str) -> str:
        found.extend(link[2] for pattern in (_INLINE, _BY_REFERENCE) for link in pattern.finditer(plain))
        return plain

    outside_code(text, collect)
    for given in found:
        target, _ = _target(given, path)
        if target is not None:
            yield target


def _target(link: str, path: str) -> tuple[str | None, str]:
    """The target of a link in the repository, and its anchor; None for one within the page or out of the repository."""
    given, separator, anchor = link.partition("#")
    if not given or given.startswith(("/", "<")):
        return None, ""
    target = posixpath.normpath(posixpath.join(posixpath.dirname(path), given))
    return (None if target.startswith("..") else target), separator + anchor


def _page_of(target: str) -> str | None:
    """The site's path of a file in the repository; None for a missing file, which mkdocs reports."""
    if target.startswith("docs/"):
        return target.removeprefix("docs/")
    if target in TEXTS and (ROOT / target).is_file():
        return TEXTS[target]
    return _shown_at(target) if _is_shown(target) else None


def _is_shown(target: str) -> bool:
    return not target.startswith("docs/") and target not in TEXTS and (ROOT / target).exists()


def _shown_at(target: str) -> str:
    return f"files/{target}.md"


def _shown(target: str) -> str:
    place = ROOT / target
    head = f"---\ntitle: {target}\nsearch:\n  exclude: true\n---\n\n# {literal(target)}\n\n"
    if place.is_dir():
        names = sorted(entry.name + "/" * entry.is_dir() for entry in os.scandir(place) if entry.name != "__pycache__")
        listed = "".join(f"- {span(name)}\n" for name in names)
        return f"{head}A folder of the repository:\n\n{listed}"
    try:
        text = place.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return f"{head}A binary file of the repository.\n"
    rest = f"\nThe file continues: {len(text):,} characters in total.\n" if len(text) > _LONGEST else ""
    language = _LANGUAGES.get(place.suffix, "text")
    return f"{head}A file of the repository:\n\n{code(text[:_LONGEST].rstrip(chr(10)), language)}{rest}"
