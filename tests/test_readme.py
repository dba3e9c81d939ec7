"""README and `docs/` show what commands print and list what there is; `python tests/test_readme.py --update` rewrites
them.

Every block behind an `<!-- output of: … -->` comment is compared with a real run; the tables are generated from the
registry and the findings. The two set-up commands are run by `.ci/run` as they stand. An example without an output
needs what is not here (a model, a runtime): that it compiles, and that what it takes of toolfmt is there, is seen.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import re
import shlex
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import toolfmt
from toolfmt.cli.commands import main
from toolfmt.formats import FORMATS, TOLERANCES
from toolfmt.inspect import checks

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PAGES = [README, *sorted(ROOT.glob("docs/*.md"))]
_SHOWN = re.compile(r"(<!-- output of: (.*?) -->\n```(text|console)\n)(.*?)(```\n)", re.DOTALL)
_PYTHON = re.compile(
    r"```python\n((?:(?!```).)*)```\n(?:(?!```).)*(<!-- output of the Python above -->\n```text\n)(.*?)(```\n)",
    re.DOTALL,
)


def run(command: str) -> str:
    """What a command of the README prints; both streams, as a terminal would show them."""
    program, *arguments = shlex.split(command)
    assert program == "toolfmt"
    with contextlib.chdir(ROOT):
        terminal = CliRunner(env={"COLUMNS": "100", "NO_COLOR": "1"})
        return terminal.invoke(main, arguments, prog_name=program).output


def run_python(code: str, folder: Path = ROOT) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.chdir(folder):
        exec(compile(code, "README.md", "exec"), {})
    return printed.getvalue()


def formats_table() -> str:
    rows = [
        f"| `{format.name}` | {', '.join(format.families)} | "
        f"{', '.join(f'{runtime} `{name}`' for runtime, name in sorted(format.runtime_parsers.items()))} |"
        for format in FORMATS
    ]
    return "\n".join(["| format | families | runtime parsers |", "|---|---|---|", *rows])


def real_templates_table() -> str:
    """The table of `python -m benchmarks.real_templates --table`, as it was measured."""
    figures = json.loads((ROOT / "benchmarks" / "real_templates.json").read_text(encoding="utf-8"))
    versions = figures["versions"]
    names = ("of", "toolfmt", "mlx-lm")
    rows = [
        f"| {row['row']} | " + " | ".join(f"{row[name]['templates']} ({row[name]['repositories']})" for name in names)
        for row in figures["table"]
    ]
    head = f"| templates (repositories) | of | toolfmt | mlx-lm {versions['mlx-lm']} |"
    return "\n".join([head, "|---|---|---|---|", *(row + " |" for row in rows)])


def tolerances_table() -> str:
    return "\n".join(
        ["| name | what was met |", "|---|---|", *(f"| `{name}` | {TOLERANCES[name]} |" for name in TOLERANCES)]
    )


def findings_table() -> str:
    rows = [
        f"| {checks.code(check)} | {checks.name(check)} | {(check.__doc__ or '').splitlines()[0]} |"
        for check in checks.CHECKS
    ]
    return "\n".join(["| code | name | what it says |", "|---|---|---|", *rows])


def updated(text: str) -> str:
    """A page with every output as it is now."""

    def output(found: re.Match[str]) -> str:
        shown = run(found[2])
        prompt = f"$ {found[2]}\n" if found[3] == "console" else ""
        return found[1] + prompt + shown + ("" if shown.endswith("\n") else "\n") + found[5]

    def python(found: re.Match[str]) -> str:
        return found[0][: found.start(3) - found.start(0)] + run_python(found[1]) + found[4]

    return _PYTHON.sub(python, _SHOWN.sub(output, text))


def with_tables(text: str) -> str:
    """The README with every table as it is now."""
    for heading, table in (
        ("Formats", formats_table()),
        ("What is read generously", tolerances_table()),
        ("Findings", findings_table()),
        ("Over real templates", real_templates_table()),
    ):
        begin = text.index("-->\n", text.index(f"\n## {heading}\n")) + len("-->\n")
        text = text[:begin] + table + "\n" + text[text.index("\n## ", begin) :]
    return text


def page_as_it_is(page: Path) -> str:
    text = updated(page.read_text(encoding="utf-8"))
    return with_tables(text) if page == README else text


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_shows_what_is(page: Path) -> None:
    stale = f"{page.name} is stale: read what `python tests/test_readme.py --update` makes of it"
    assert page_as_it_is(page) == page.read_text(encoding="utf-8"), stale


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_compile_and_what_they_take_of_toolfmt_is_there(page: Path) -> None:
    for code in re.findall(r"```python\n(.*?)```\n", page.read_text(encoding="utf-8"), re.DOTALL):
        for node in ast.walk(ast.parse(code)):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "toolfmt":
                assert hasattr(toolfmt, node.attr), node.attr
            elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("toolfmt"):
                defined = _defined(node.module or "")
                assert set() == {alias.name for alias in node.names} - defined, node.module


def _defined(module: str) -> set[str]:
    """The names of a module, which may need a package that is not installed here."""
    path = ROOT.joinpath(*module.split("."))
    tree = ast.parse((path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text(encoding="utf-8"))
    named = {node.name for node in tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    taken = {alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}
    return named | taken


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_within_the_project_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_the_profile_that_the_readme_saves_is_read_the_next_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = re.findall(r"```python\n(.*?)```\n", README.read_text(encoding="utf-8"), re.DOTALL)
    (code,) = (block for block in blocks if "saved_profile" in block)
    (tmp_path / "corpus").symlink_to(ROOT / "corpus")
    render = "\nprint(model.render([{'role': 'user', 'content': 'Hi'}]).text)"
    first = run_python(code + render, tmp_path)
    monkeypatch.setattr("toolfmt.model.PROFILE", None)  # nothing is probed
    assert run_python(code + render, tmp_path) == first


def test_the_readme_has_two_commands_that_set_up() -> None:
    commands = re.findall(r"^\$ (.*)$", README.read_text(encoding="utf-8"), re.MULTILINE)
    assert [command.split()[0] for command in commands] == ["python3", "python3", *["toolfmt"] * 4]
    inspected = re.search(r"toolfmt (inspect \S+)", commands[0])
    assert inspected is not None and f"output of: toolfmt {inspected[1]} -->" in README.read_text(encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:] != ["--update"]:
        raise SystemExit("usage: python tests/test_readme.py --update")
    for one in PAGES:
        one.write_text(page_as_it_is(one), encoding="utf-8")
