"""The size limits of the code that new maintainers see first. To raise a limit is a decision: give the reason in its
line.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import depth
import pytest

ROOT = Path(__file__).parents[2]
_CODE = r"\bTF\d{3}\b"


ENTRIES = {
    "toolfmt": 16,  # httpx has 18, click 17
    "toolfmt/cli": 31,  # a module a command, and what commands share
    "toolfmt/cli/printing": 28,  # a module for each thing that is printed
    "toolfmt/formats": 19,  # nine packages, and what describes a format
    "toolfmt/formats/engines": 21,  # a module an engine, and what several of them use
    "toolfmt/formats/known": 75,  # a module a format
    "toolfmt/inspect": 15,  # seven packages, and the modules that use them
    "toolfmt/inspect/checks": 70,  # a module a finding, what several of them use, and comments that ignore them
    "toolfmt/inspect/format/derive": 22,  # one procedure, whose steps are modules
    "toolfmt/model": 8,  # the sandbox, and what programs import
    "toolfmt/render": 11,  # three packages, and the steps from a request to a prompt
    "toolfmt/templates": 4,  # three packages
}
"""Limits of entries. Other packages have at most 20."""


def test_a_package_has_few_entries() -> None:
    folders = [ROOT / "toolfmt", *(path for path in (ROOT / "toolfmt").rglob("*") if any(path.glob("*.py")))]
    entries = {
        folder.relative_to(ROOT).as_posix(): sum(
            path.suffix == ".py" or any(path.rglob("*.py")) for path in folder.iterdir()
        )
        for folder in folders
    }
    assert set(ENTRIES) <= set(entries)
    assert {name: count for name, count in entries.items() if count > ENTRIES.get(name, 20)} == {}


FINDINGS = 64  # a list that can be read through; a new way to fail is usually an outcome of one of these


def test_there_are_few_findings() -> None:
    assert len(list((ROOT / "toolfmt/inspect/checks").glob("tf[0-9]*.py"))) <= FINDINGS


def test_no_code_of_a_finding_is_named_outside_of_the_checks() -> None:
    """A check declares in its own module what other modules do with its findings. Docstrings, comments and help texts
    may name codes as examples.
    """
    named = []
    for path in sorted((ROOT / "toolfmt").rglob("*.py")):
        if (ROOT / "toolfmt/inspect/checks") in path.parents:
            continue
        text = path.read_text("utf-8")
        if not re.search(_CODE, text):
            continue
        tree = ast.parse(text)
        examples = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        examples |= {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.keyword) and node.arg == "help"}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in examples:
                if re.search(_CODE, node.value):
                    named.append(f"{path.relative_to(ROOT).as_posix()}:{node.lineno}: {node.value[:60]}")
    assert named == []


def test_the_readme_is_short() -> None:
    lines = (ROOT / "README.md").read_text("utf-8").splitlines()
    assert len(lines) <= 150  # it is read to the end


def test_the_architecture_page_is_short() -> None:
    assert (ROOT / "ARCHITECTURE.md").stat().st_size <= 12 * 1024  # rust-analyzer's is about as long


DESIGN = ["ARCHITECTURE.md", *(page.relative_to(ROOT).as_posix() for page in sorted(ROOT.glob("docs/design/*.md")))]


@pytest.mark.parametrize("page", DESIGN)
def test_a_page_about_the_code_names_modules_that_exist(page: str) -> None:
    named = set(re.findall(r"`([a-z\d_/.-]+\.py)`", (ROOT / page).read_text("utf-8")))
    folders = ("toolfmt", "tests", "benchmarks", "docs", "documentation", "examples", "scripts")
    modules = ["/" + path.relative_to(ROOT).as_posix() for name in folders for path in (ROOT / name).rglob("*.py")]
    missing = {name for name in named if not any(module.endswith("/" + name) for module in modules)}
    assert len(named) >= (70 if page == "ARCHITECTURE.md" else 5)
    assert missing == set()


def test_every_test_file_is_in_the_directory_of_the_package_that_it_tests() -> None:
    """Its name starts with that of a module or package inside: `tests/render/test_budget_of_tools.py` tests
    `toolfmt/render/budget.py`. In `formats` only the directory counts: many tests are about all formats.
    """
    astray = []
    for path in (ROOT / "tests").rglob("test_*.py"):
        directory = path.parent.relative_to(ROOT / "tests")
        package = ROOT / "toolfmt" / directory
        names = {each.stem for each in (package, *package.rglob("*")) if each.suffix in ("", ".py")}
        is_named = any(f"{path.stem}_".startswith(f"test_{name}_") for name in names)
        top = directory.parts[0] if directory.parts else ""
        if top not in ("findings", "formats", "repository") and not is_named:
            astray.append(path.relative_to(ROOT).as_posix())
    assert astray == []


def test_every_directory_of_tests_is_that_of_a_package() -> None:
    others = {"findings", "repository", "support"}  # what every finding, this repository and several test files need
    folders = {path.name for path in (ROOT / "tests").iterdir() if any(path.glob("*.py"))} - others
    assert {name for name in folders if not any((ROOT / "toolfmt" / name).glob("*.py"))} == set()


def test_the_default_run_has_few_tests(request: pytest.FixtureRequest) -> None:
    taken = len(request.session.items)
    assert depth.all_cases or taken <= 5_400  # two minutes on two idle cores; a test with many cases is sampled


LONG_MODULES = {
    "toolfmt/cli/commands.py": 745,  # every command's options and help, nothing else
    "toolfmt/formats/engines/call_builder.py": 580,  # the state of calls, which every engine uses
    "toolfmt/formats/engines/call_expression.py": 685,  # one engine
    "toolfmt/formats/engines/json_members.py": 730,  # the members of one call, in any order
    "toolfmt/formats/engines/json_object.py": 650,  # one engine
    "toolfmt/formats/engines/raw_value.py": 632,  # one decision, where a value ends, by what follows each marker
    "toolfmt/formats/engines/tagged.py": 630,  # one engine, and the checks of its markers
    "toolfmt/formats/grammar/schemas.py": 525,  # which schemas grammars support, in one place
    "toolfmt/formats/parser/driver.py": 521,  # one state machine
    "toolfmt/formats/scanner/scanner.py": 470,  # the primitives
    "toolfmt/grammars/gbnf.py": 440,  # one exporter
    "toolfmt/inspect/probe/capabilities.py": 430,  # one probe a capability
    "toolfmt/inspect/report/report.py": 645,  # the dataclasses of the report, which is one JSON document
    "toolfmt/model/sandbox/pool.py": 490,  # the life of a worker process
    "toolfmt/render/adapt/adaptations.py": 460,  # one function an adaptation
    "toolfmt/render/adapt/remedies.py": 410,  # the order in which adaptations are tried
    "toolfmt/render/attempts.py": 520,  # one search; its parts share the request and the way the tools go in
    "toolfmt/render/verify/sentinel_request.py": 410,  # how a request's texts become sentinels
    "toolfmt/templates/engine/chat_template.py": 445,  # the façade of templates: one property an analysis
}
"""Modules over 400 lines, with their limit."""


def test_modules_and_functions_are_short() -> None:
    lines, long_functions = {}, []
    for path in sorted((ROOT / "toolfmt").rglob("*.py")):
        name, text = path.relative_to(ROOT).as_posix(), path.read_text("utf-8")
        lines[name] = text.count("\n")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                body = node.body[1:] if ast.get_docstring(node) else node.body
                if body and (node.end_lineno or 0) - body[0].lineno >= 60:  # a docstring is not code
                    long_functions.append(f"{name}: {node.name}")
    assert {name: count for name, count in lines.items() if count > LONG_MODULES.get(name, 400)} == {}
    assert {name for name in LONG_MODULES if lines.get(name, 0) <= 400} == set()
    assert long_functions == []
