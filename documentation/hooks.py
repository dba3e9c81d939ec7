"""What mkdocs calls (`hooks:` in mkdocs.yml): adds the generated pages, and resolves the navigation and the links.

An entry of the navigation that ends in `/` represents all pages of that folder. Every generated page is made at each
build and never written into `docs/`. The files that the playground needs are written into the site last.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mkdocs.plugins import get_plugin_logger
from mkdocs.structure.files import File, Files

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.pages import Page

sys.path.insert(0, str(Path(__file__).parents[1]))  # mkdocs does not add the folder of its configuration

from documentation.reference import pages as reference_pages  # needs the path
from documentation.repository_links import (  # needs the path
    DOCS,
    ROOT,
    TEXTS,
    repository_url,
    rewritten,
    shown_files,
    texts,
)
from toolfmt import __version__  # needs the path

PLAYGROUND = "playground.md"
_LOG = get_plugin_logger("toolfmt")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Set the address of the repository, which only pyproject.toml has, and the version in the footer."""
    config.repo_url = repository_url()
    config.repo_name = config.repo_url.removeprefix("https://github.com/")
    config.edit_uri = "edit/main/docs/"
    config.copyright = f"toolfmt {__version__}"
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add every generated page, and expand the navigation with the pages that exist then."""
    made = {**reference_pages(), **texts()}
    made |= shown_files(_written_by_hand())
    for path, text in made.items():
        files.append(File.generated(config, path, content=text))
    if not any(file.src_uri == "index.md" for file in files):
        readme = (ROOT / "README.md").read_text(encoding="utf-8")
        files.append(File.generated(config, "index.md", content=rewritten(readme, "README.md", "index.md")))
    for file in files:
        if file.src_uri == PLAYGROUND:  # at playground/index.html, in the folder with its scripts
            files.remove(file)
            files.append(File(PLAYGROUND, config.docs_dir, config.site_dir, use_directory_urls=True))
            break
    config.nav = _expanded(config.nav, sorted(file.src_uri for file in files.documentation_pages()))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """A page of `docs/` with links to other files of the repository that lead to the pages that show these.

    The design pages and the list of other projects' bugs are in the navigation but not in the search, whose index every
    page loads: they are not about using toolfmt.
    """
    if page.file.src_uri.startswith("design/") or page.file.src_uri == "faults.md":
        page.meta["search"] = {"exclude": True}
    if page.file.generated_by is not None:
        return markdown
    markdown = markdown.replace("OWNER/toolfmt", str(config.repo_name))
    return rewritten(markdown, f"docs/{page.file.src_uri}", page.file.src_uri)


def on_post_build(config: MkDocsConfig) -> None:
    """Write what the playground's page loads: Python for browsers, and toolfmt."""
    if not config.extra["playground"] or not Path(config.docs_dir, PLAYGROUND).exists():
        return
    if find_spec("documentation.playground_files") is None:
        return
    playground = import_module("documentation.playground_files")
    try:
        playground.write_playground(Path(config.site_dir))
    except playground.NotBuilt as why:
        _LOG.warning(str(why))


def _written_by_hand() -> dict[str, str]:
    """Every handwritten page, by its path in the repository."""
    files = [*DOCS.rglob("*.md"), *(ROOT / name for name in TEXTS if (ROOT / name).is_file())]
    return {file.relative_to(ROOT).as_posix(): file.read_text(encoding="utf-8") for file in files}


def _expanded(nav: Any, pages: list[str]) -> Any:
    """The navigation with folders as their pages."""
    if isinstance(nav, list):
        return [entry for part in nav for entry in _entries(part, pages)]
    return nav


def _entries(part: Any, pages: list[str]) -> list[Any]:
    if isinstance(part, dict):
        ((title, inner),) = part.items()
        if isinstance(inner, list):
            return [{title: _expanded(inner, pages)}]
        return [{title: path} for path in _entries(inner, pages)]
    if part.endswith("/"):
        found = [page for page in pages if page.startswith(part)]
        return sorted(found, key=lambda page: (not page.endswith("/index.md"), page))
    return [part]
