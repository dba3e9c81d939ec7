"""The shape of the code that new maintainers see first. To raise a limit is a decision: give the reason in its line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("package", "most"),
    [
        ("toolfmt", 16),  # httpx has 18, click 17
        ("toolfmt/inspect", 15),  # seven packages, and the modules that use them
        ("toolfmt/render", 11),  # three packages, and the steps from a request to a prompt
        ("toolfmt/templates", 4),  # three packages
        ("toolfmt/model", 8),  # the sandbox, and what programs import
    ],
)
def test_a_package_has_few_entries(package: str, most: int) -> None:
    entries = [path.name for path in (ROOT / package).iterdir() if path.suffix == ".py" or any(path.rglob("*.py"))]
    assert len(entries) <= most, sorted(entries)


def test_the_readme_is_short() -> None:
    lines = (ROOT / "README.md").read_text("utf-8").splitlines()
    assert len(lines) <= 150  # it is read to the end


def test_the_architecture_page_names_modules_that_exist() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    named = set(re.findall(r"`([a-z\d_/.-]+\.py)`", text))
    folders = ("toolfmt", "tests", "benchmarks", "docs", "documentation", "examples", "scripts")
    modules = ["/" + path.relative_to(ROOT).as_posix() for name in folders for path in (ROOT / name).rglob("*.py")]
    missing = {name for name in named if not any(module.endswith("/" + name) for module in modules)}
    assert len(named) > 100
    assert missing == set()


def test_every_test_file_is_in_the_directory_of_the_package_that_it_tests() -> None:
    """Its name starts with that of a module or package inside: `tests/render/test_budget_of_tools.py` tests
    `toolfmt/render/budget.py`. In `formats` only the directory counts until its modules are in packages.
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
