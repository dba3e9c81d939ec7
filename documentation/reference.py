"""All pages generated from the code, as Markdown by their paths in the site. Independent of the site builder."""

from __future__ import annotations

from documentation import api_pages, command_line, finding_pages, format_pages, name_pages, parser_names_page


def pages() -> dict[str, str]:
    """Every page of the reference."""
    made: dict[str, str] = {}
    for of in (format_pages, finding_pages, command_line, name_pages, parser_names_page, api_pages):
        made |= of.pages()
    return made
