"""Texts use plain technical English: no file contains a word that another one replaces.

Checked are strings that contain a space, docstrings and comments of `toolfmt`, and the prose of the documentation.
`LEFT` counts the words in files that are not rewritten yet; a count may only get smaller.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
WORDS = {
    r"tells?|told|telling": "report, show, print, return, emit",
    r"stands|stood": "is, appears, is listed",
    r"mend(?:s|ed|ing)?|heal(?:s|ed|ing)?": "fix, fixed",
    r"openers?|closers?": "start marker, end marker",
    r"behind": "after",
    r"blanks?": "whitespace, space",
    r"in silence|without a word": "silently",
    r"carried out": "executed",
    r"spoiled": "corrupted",
    r"by lot": "random",
    r"begun": "partial, started",
    r"residue": "trailing markers",
    r"bless(?:es|ed)?": "update snapshots",
}
"""Words that are never right here, and what to write."""
_WORD = re.compile(rf"\b(?:{'|'.join(WORDS)})\b", re.IGNORECASE)
_RIGHT = re.compile(
    r"behind a (?:proxy|firewall)|blank (?:line|page)s?|Tells? (?:the (?:time|weather)|what time)|lookbehind"
    r"|can tell\b|tell (?:a maintainer|another)|[a-z0-9-]+-(?:closer|blanks)[a-z-]*"
    r"|\b(?:opener|closer)s?(?=:| is (?:empty|a Markdown))|same as opener",  # parameters of engines
    re.IGNORECASE,
)
"""Where such a word is right: in a fixed expression, or in the text of a sample conversation or tool."""
_SAMPLES = {
    "toolfmt/inspect/format/derive/output_checks.py",  # ordinary responses, in which no format may find a call
    "toolfmt/testing/prose_pieces.py",  # the same
    "toolfmt/inspect/sections/stability_turns.py",  # an example conversation
}
_PAGES = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md", "ARCHITECTURE.md", "CHANGELOG.md")
_FENCED = re.compile(r"^( *)(`{3,}|~{3,}).*?^\1\2[`~]*$", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"`[^`\n]+`")

LEFT: dict[str, int] = {}


def texts(path: Path) -> Iterator[str]:
    """The texts of a module or page that a person reads, code in backticks excluded."""
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        yield _SPAN.sub("", _FENCED.sub("", source))
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield _SPAN.sub("", node.value)
    if not any(_WORD.search(line) for line in source.split("\n") if "#" in line):
        return  # no comment has such a word; splitting all modules into tokens takes seconds
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield _SPAN.sub("", token.string)


def found(path: Path) -> list[str]:
    return [word[0] for text in texts(path) for word in _WORD.finditer(_RIGHT.sub("", text))]


def files() -> Iterator[Path]:
    exempt = {ROOT / name for name in _SAMPLES}
    yield from sorted(set((ROOT / "toolfmt").rglob("*.py")) - exempt)
    yield from sorted((ROOT / "docs").rglob("*.md"))
    yield from (ROOT / name for name in _PAGES)


def test_no_text_contains_a_word_that_another_one_replaces() -> None:
    counts = {path.relative_to(ROOT).as_posix(): len(words) for path in files() if (words := found(path))}
    more = {name: count for name, count in counts.items() if count > LEFT.get(name, 0)}
    assert more == {}, "see WORDS for what to write"
    assert {name: count for name, count in LEFT.items() if counts.get(name, 0) < count} == {}, "lower these counts"


def test_a_word_is_found_in_each_kind_of_text(tmp_path: Path) -> None:
    module, page = tmp_path / "module.py", tmp_path / "page.md"
    module.write_text(
        '"""Tells it."""\n# what stands there\nA = "it is behind it"\nB = "told"\nC = "`told` it"\n', "utf-8"
    )
    page.write_text("It is mended.\n\n```\ntold\n```\n\nbehind a proxy\n", "utf-8")
    assert (found(module), found(page)) == (["Tells", "behind", "stands"], ["mended"])
