"""`toolfmt new-format` and `toolfmt new-finding`: what is written into a clone, or as a patch what would be."""

from __future__ import annotations

import os
from pathlib import Path

from toolfmt.cli.output import complain, print_text
from toolfmt.cli.printing.control_characters import visible
from toolfmt.cli.scaffolding import new_finding as finding
from toolfmt.cli.scaffolding import new_format as format
from toolfmt.cli.scaffolding.clone import Clone, FilePlan, find_clone


def new_format(name: str, place: str, to: str | None, dry_run: bool, trusted: bool) -> int:
    """The exit status: 0 written, 1 a known format reads the calls."""
    clone = _clone(to)
    prepared = format.prepare(name, place, clone, trusted=trusted)
    for sentence in prepared.told:
        complain(sentence)
    if isinstance(prepared, format.NotNeeded):
        return 1
    _carry_out(clone, prepared.plan, dry_run)
    if not dry_run:
        print_text(f"pytest -k {name} says what is still missing; CONTRIBUTING.md, how to go on\n")
    return 0


def new_finding(name: str, to: str | None, dry_run: bool) -> None:
    clone = _clone(to)
    code, plan = finding.prepare(name, clone)
    complain(f"{name} is {code}")
    _carry_out(clone, plan, dry_run)
    if not dry_run:
        print_text(f"pytest -k {code} says what is still missing; CONTRIBUTING.md, how to go on\n")


def _clone(to: str | None) -> Clone:
    clone = find_clone(Path(os.path.abspath(os.curdir)), to)
    if not clone.runs:
        complain("the toolfmt that runs is not the one of this clone; pip install -e '.[test]' there makes it so")
    return clone


def _carry_out(clone: Clone, plan: FilePlan, dry_run: bool) -> None:
    clone.check(plan)
    if dry_run:
        print_text(clone.patch(plan))
        return
    clone.write(plan)
    print_text("".join(f"made     {visible(path)}\n" for path in plan.new) + f"changed  {visible(plan.list_in)}\n")
