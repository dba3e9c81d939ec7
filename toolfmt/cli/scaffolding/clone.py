"""Find a clone of toolfmt's repository and write files into it without overwriting anything.

A command first collects what it writes as a `FilePlan`. `Clone.check` and `Clone.write` reject the plan as a whole or
execute it. Every rejection is a `ToolfmtError`.
"""

from __future__ import annotations

import ast
import difflib
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from toolfmt.errors import ToolfmtError

FORMATS = "toolfmt/formats/known"
CHECKS = "toolfmt/inspect/checks"
_OF_A_CLONE = (f"{FORMATS}/__init__.py", f"{CHECKS}/__init__.py", "corpus/tools.json", "tests/formats/test_registry.py")
_LIST = "_MODULES"


@dataclass(frozen=True)
class FilePlan:
    """Files to create, by their path from the root of the clone, and one list of modules to add a module to."""

    new: Mapping[str, str]
    list_in: str
    module: str


class Clone:
    """The clone at this root."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @property
    def runs(self) -> bool:
        """Return whether the running toolfmt is the one in this clone."""
        return Path(__file__).resolve().parents[3] == self.root.resolve()

    def modules(self, list_in: str) -> tuple[str, ...]:
        """Return the modules in a list. Raises `ToolfmtError` for a file without a list."""
        return tuple(item.value for item in _listed(self.read(list_in), list_in))

    def numbers(self, folder: str, begin: str) -> list[int]:
        """Return the three-digit numbers in the names of files with this prefix."""
        found = (re.match(rf"{re.escape(begin)}([0-9]{{3}})_", file.name) for file in (self.root / folder).glob("*.py"))
        return [int(match[1]) for match in found if match]

    def read(self, path: str) -> str:
        try:
            return (self.root / path).read_bytes().decode("utf-8")
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else "not UTF-8"
            raise ToolfmtError(f"{self.root / path}: cannot be read ({why}); look at the clone") from None

    def changed(self, plan: FilePlan) -> str:
        """Return the text of the file with the list, with the module added."""
        text = self.read(plan.list_in)
        items = _listed(text, plan.list_in)
        lines = text.splitlines(keepends=True)
        end = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
        before = next((item for item in items if item.value > plan.module), None)
        place = before.line - 1 if before is not None else items[-1].line
        return "".join([*lines[:place], f'    "{plan.module}",{end}', *lines[place:]])

    def check(self, plan: FilePlan) -> None:
        """Raise `ToolfmtError` for a plan that would overwrite something."""
        there = [path for path in plan.new if os.path.lexists(self.root / path)]
        if there:
            more = f" and {len(there) - 1} more" if len(there) > 1 else ""
            raise ToolfmtError(
                f"{there[0]}{more}: there already, and nothing is overwritten; choose another name, or move it away"
            )
        for folder in dict.fromkeys(os.path.dirname(path) for path in plan.new):
            whole = self.root / folder
            if os.path.islink(whole) or (whole.exists() and not whole.is_dir()):
                raise ToolfmtError(f"{folder}: there already and no folder; choose another name, or move it away")
        if plan.module in self.modules(plan.list_in):
            raise ToolfmtError(f"{plan.list_in} lists {plan.module} already; choose another name, or take it out there")

    def write(self, plan: FilePlan) -> None:
        """Execute a plan. The list is written last, so that it never names a missing file."""
        self.check(plan)
        changed = self.changed(plan)
        for path, text in plan.new.items():
            self._make(path, text)
        self._replace(plan.list_in, changed)

    def _make(self, path: str, text: str) -> None:
        file = self.root / path
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("x", encoding="utf-8", newline="\n") as made:
                made.write(text)
        except OSError as error:
            raise ToolfmtError(_unwritten(path, error)) from None

    def _replace(self, path: str, text: str) -> None:
        file = self.root / path
        temporary = file.with_name(f".{file.name}.{os.getpid()}.part")
        try:
            with temporary.open("xb") as part:
                part.write(text.encode("utf-8"))
            temporary.replace(file)
        except OSError as error:
            with suppress(OSError):
                temporary.unlink()
            raise ToolfmtError(_unwritten(path, error)) from None

    def patch(self, plan: FilePlan) -> str:
        """Return a plan as a patch: what would be written."""
        before, after = self.read(plan.list_in), self.changed(plan)
        parts = [_diff("", text, "/dev/null", f"b/{path}") for path, text in plan.new.items()]
        return "".join([*parts, _diff(before, after, f"a/{plan.list_in}", f"b/{plan.list_in}")])


def find_clone(start: Path) -> Clone:
    """Return the clone that contains `start`. Raises `ToolfmtError` if there is none."""
    for place in (start, *start.parents):
        if all((place / name).is_file() for name in _OF_A_CLONE):
            return Clone(place)
    raise ToolfmtError(f"{start}: not in a clone of toolfmt; clone the repository and run the command there")


@dataclass(frozen=True)
class _Listed:
    value: str
    line: int


def _listed(text: str, path: str) -> list[_Listed]:
    """Return the strings in the list of modules, each with its line."""
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        raise ToolfmtError(f"{path}: not Python (line {error.lineno}); fix it first") from None
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple) and _names(node, _LIST):
            items = [item for item in node.value.elts if isinstance(item, ast.Constant)]
            found = [_Listed(item.value, item.lineno) for item in items if isinstance(item.value, str)]
            if found and len({item.line for item in found}) == len(found):
                return found
    raise ToolfmtError(f"{path}: no list {_LIST} of a module a line; this toolfmt and the clone are of different times")


def _names(node: ast.Assign, name: str) -> bool:
    return any(isinstance(target, ast.Name) and target.id == name for target in node.targets)


def _unwritten(path: str, error: OSError) -> str:
    return f"{path}: cannot be written ({error.strerror or error}); look at it, and at `git status`"


def _diff(before: str, after: str, old: str, new: str) -> str:
    lines = difflib.unified_diff(before.splitlines(keepends=True), after.splitlines(keepends=True), old, new)
    return "".join(lines)
