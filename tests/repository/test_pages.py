"""README and `docs/` show what commands print; `python tests/repository/test_readme.py --update` rewrites them.

Every block after an `<!-- output of: … -->` comment is compared with a real run. An example without an output needs
something that is not available here (a model, a runtime): the test checks that it compiles, that the names it uses from
toolfmt exist, and that its commands and options exist. `pages.py` does the comparison.
"""

from __future__ import annotations

import ast
import pkgutil
import re
from pathlib import Path

import pages
import pytest
from pages import PAGES, ROOT, name_of, text_of

import toolfmt


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_page_shows_what_is(page: Path) -> None:
    stale = f"{name_of(page)} is stale: read what `python tests/repository/test_readme.py --update` makes of it"
    assert pages.as_it_is(page) == text_of(page), stale


def test_what_is_stale_on_a_page_is_written_anew(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        """# A page

<!-- output of: toolfmt explain nothing -->
```console
$ toolfmt explain something
```

```python
print(6 * 7)
```

As told:

<!-- output of the Python above -->
```text
41
```

<!-- table: read back in short, measured -->
| of old |

The end.
""",
        encoding="utf-8",
    )
    made = pages.as_it_is(page)
    (explained, program, printed), (head, first, *_) = (
        [block for _, _, block in pages.blocks(made)],
        re.findall(r"^\| ([^|]*) \|", made, re.MULTILINE),
    )
    assert explained.splitlines()[0] == "$ toolfmt explain nothing"
    assert "nothing" in explained.splitlines()[1]
    assert (program, printed) == ("print(6 * 7)\n", "42\n")
    assert (head, first) == ("templates (repositories)", "format found")
    assert made.startswith("# A page\n") and made.endswith("|\n\nThe end.\n") and "of old" not in made


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_block_marked_as_output_is_compared(page: Path) -> None:
    """A misspelled comment, or one that is separated from its block, would leave the block as it was typed."""
    marked = re.findall(r"<!-- *(?:outputs? *of|table)", text_of(page), re.IGNORECASE)
    assert pages.compared(text_of(page)) == len(marked)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_examples_compile_and_what_they_take_of_toolfmt_is_there(page: Path) -> None:
    for code in (block for _, language, block in pages.blocks(text_of(page)) if language in {"python", "py"}):
        for node in ast.walk(ast.parse(code)):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "toolfmt":
                assert hasattr(toolfmt, node.attr), node.attr
            elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("toolfmt"):
                defined = _defined(node.module or "")
                assert set() == {alias.name for alias in node.names} - defined, node.module


def _defined(module: str) -> set[str]:
    """The names of a module, which may need a package that is not installed here."""
    path = ROOT.joinpath(*module.split("."))
    tree = ast.parse(text_of(path / "__init__.py" if path.is_dir() else path.with_suffix(".py")))
    named = {node.name for node in tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    taken = {alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}
    return named | taken


CALLED = re.compile(r"\b(toolfmt(?:\.\w+)+)\(")


def test_a_function_that_a_text_calls_is_there() -> None:
    """Texts are the pages by hand, the sources of the generated ones, and the help and messages of toolfmt."""
    sources = [*(ROOT / "documentation").glob("*.py"), *(ROOT / "toolfmt").rglob("*.py")]
    named = {name for path in [*PAGES, *sources] for name in CALLED.findall(path.read_text("utf-8"))}
    assert {"toolfmt.load", "toolfmt.formats.prose"} <= named
    wrong = []
    for name in sorted(named):
        try:
            if not callable(pkgutil.resolve_name(name)):
                wrong.append(name)
        except (ImportError, AttributeError):
            wrong.append(name)
    assert wrong == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_command_at_a_prompt_is_run_or_marked_as_not_run(page: Path) -> None:
    """Readers assume that a line after `$` was run: it is run, or a comment `not run here: …` gives the reason."""
    unsaid = [
        line
        for comment, _, block in pages.blocks(text_of(page))
        for line in re.findall(r"^\$ (toolfmt .*)$", block, re.MULTILINE)
        if not comment.startswith(("output of: ", "not run here: "))
    ]
    assert unsaid == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_the_commands_of_a_page_and_their_options_are_there(page: Path) -> None:
    errors = {
        line: error
        for line in pages.command_lines(text_of(page))
        for arguments in pages.arguments_of(line)
        if (error := pages.command_problem(arguments)) is not None
    }
    assert errors == {}


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("toolfmt inspect DIR --json --fail-on warning", None),
        ("cat FILE | .venv/bin/toolfmt parse --format glm4  # --and --so on", None),
        ("uvx --from . toolfmt inspct DIR", "no command inspct"),
        ("toolfmt grammar DIR --tools FILE --for gbnf|lark", None),
        ("toolfmt dev corpus export > cases.jsonl", None),
        ("toolfmt inspct DIR", "no command inspct"),
        ("toolfmt dev corpus import", "no command import"),
        ("cd models && toolfmt render DIR --message FILE", "No such option '--message'. Did you mean '--messages'?"),
        ("toolfmt grammar DIR --tools", "Option '--tools' requires an argument."),
        (
            "toolfmt grammar DIR --tools FILE --for regex",
            "--for regex: none of llguidance, gbnf, xgrammar, lark, structural-tag",
        ),
    ],
)
def test_a_wrong_command_line_is_detected(line: str, error: str | None) -> None:
    assert [pages.command_problem(arguments) for arguments in pages.arguments_of(line)] == [error]


def test_installing_toolfmt_is_no_command_of_it() -> None:
    assert list(pages.arguments_of("pip install toolfmt --upgrade && toolfmt --version")) == [["--version"]]


def test_commands_are_found_in_blocks_and_in_sentences() -> None:
    text = """Say `toolfmt
formats` or `toolfmt parse --jsonl`:

```
toolfmt explain \\
    TF014
toolfmts
```

  ```console
  $ . x && toolfmt diff A B
  toolfmt
  ```
"""
    assert list(pages.command_lines(text)) == [
        "toolfmt explain      TF014",
        ". x && toolfmt diff A B",
        "toolfmt formats",
        "toolfmt parse --jsonl VALUE",
    ]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_no_code_in_a_table_has_a_bar(page: Path) -> None:
    r"""A code host shows `\|` there as a bar, the site with its backslash: no way of writing it works for both."""
    assert re.findall(r"`[^`\n]*\\\|[^`\n]*`", text_of(page)) == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_within_the_project_lead_somewhere(page: Path) -> None:
    """Pages under docs/reference are made with the site, which looks after links to them."""
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text_of(page))
    targets = {link: (page.parent / link).resolve() for link in links}
    made = ROOT / "docs" / "reference"
    assert [
        link for link, to in targets.items() if not to.exists() and (page == pages.README or made not in to.parents)
    ] == []


def test_the_profile_that_a_page_saves_is_read_the_next_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = ROOT / "docs" / "conversations.md"
    (code,) = (
        block for _, language, block in pages.blocks(text_of(page)) if language == "python" and "saved_" in block
    )
    (tmp_path / "corpus").symlink_to(ROOT / "corpus")
    render = "\nprint(model.render([{'role': 'user', 'content': 'Hi'}]).text)"
    first = pages.run_python(code + render, tmp_path)
    monkeypatch.setattr("toolfmt.model.model.PROFILE", None)  # nothing is probed
    assert pages.run_python(code + render, tmp_path) == first
