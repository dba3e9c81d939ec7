"""The commands below `toolfmt dev`: fuzz a parser, derive a format, export the corpus, start a format or a finding.

`toolfmt.cli.commands` adds the group to the program. What a command needs is imported when it runs.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from toolfmt.cli.group import Commands, Count, Seconds, json_option, trusted_option
from toolfmt.cli.input import name_models_below
from toolfmt.cli.output import complain, is_terminal, print_text

if TYPE_CHECKING:
    from toolfmt.cli.scaffolding.clone import Clone, FilePlan


@click.group(
    cls=Commands,
    sections={
        "Parsers": ("fuzz", "corpus"),
        "Formats": ("derive", "new-format"),
        "Findings": ("new-finding",),
    },
    no_args_is_help=False,
    short_help="Commands for authors of parsers, formats and findings.",
)
def dev() -> None:
    """Test a parser, derive or add a format, add a finding."""


@dev.command(short_help="Fuzz a parser: toolfmt's or your own.")
@click.argument("given", metavar="TARGET")
@click.option(
    "--format", "format_names", multiple=True, metavar="NAME|FILE", help="Generate outputs of this format. Repeatable."
)
@click.option(
    "--seconds",
    type=Seconds(),
    metavar="N",
    help="How long to run. [default: 60, without --outputs]",
)
@click.option(
    "--outputs",
    type=Count(),
    metavar="N",
    help="Stop after N outputs instead of after a time.",
)
@click.option("--seed", type=int, default=0, show_default=True, metavar="S", help="Seed of the generated outputs.")
@click.option(
    "--timeout",
    type=Seconds(),
    default=10,
    show_default=True,
    metavar="SECONDS",
    help="Count a parser as hanging after this time.",
)
@json_option
def fuzz(**given: Any) -> int:
    """Search for bugs in a parser, and print the smallest case that shows each.

    A TARGET is one of three things. A format: its name, or a JSON file. A Python factory: module:factory, where
    factory(tools) returns a parser. A command that reads an output on standard input and prints its calls as JSON.
    docs/fuzzing.md describes what each receives and returns.

    The parser gets generated model outputs: calls (whole, truncated, corrupted), text without calls, and cases of the
    corpus. A streaming parser gets each output whole and in chunks. The same seed generates the same outputs.

    Exit status: 0 no bug, 1 at least one bug, 2 the target cannot be run, 130 interrupted.
    """
    from toolfmt.cli.fuzz_command import Fuzzing

    return Fuzzing(**given).status()


@dev.group(no_args_is_help=False, short_help="Print the outputs and events of toolfmt's parser tests.")
def corpus() -> None:
    """Print the outputs and events of toolfmt's parser tests."""


@corpus.command(short_help="Print every case as one JSON line.")
def export() -> None:
    """Print every case as one JSON line: format, text, tools, prefix and the expected result.

    docs/fuzzing.md describes the fields.
    """
    from toolfmt.testing.corpus import cases, json_lines

    for line in json_lines(cases()):
        print_text(line)


@dev.command(short_help="Derive a format from the calls that a template renders.")
@click.argument("place", metavar="MODEL")
@trusted_option
def derive(place: str, trusted: bool) -> int:
    """Derive a tool-call format from the calls that a model's template renders, and print it as JSON.

    Use it for a template whose calls cannot be parsed with any known format. The format is printed only if it parses
    calls and outputs that were not used to derive it. Save it to a file for --format or toolfmt.format_from_file, and
    change "name" in it. Standard error shows how it was verified.

    Exit status: 0 a format was derived, 1 none could be derived (the reason is printed), 2 the model cannot be read.
    """
    from toolfmt.cli.printing.control_characters import visible
    from toolfmt.formats.serialization.format_data import to_text
    from toolfmt.model.derive import derive as derived_from

    made = derived_from(place, trusted=trusted)
    name_models_below(place, complain)
    if made.format is None or made.proof is None:
        sentence = f"no format can be derived: {made.why_not}"
        print_text(visible(f"{place}: {sentence}") + "\n")
        if not is_terminal():  # if standard output is redirected, the user sees only standard error
            complain(f"{place}: {sentence}")
        return 1
    print_text(to_text(made.format))
    outputs = f"{made.proof.outputs} kind{'' if made.proof.outputs == 1 else 's'} of output"
    limits = "".join(f"; {limit}" for limit in made.proof.limits)
    complain(f"derived ({made.kind}), tested with {made.proof.call_sets} generated sets of calls and {outputs}{limits}")
    if made.known:
        complain(f"{made.known} also parses these calls, and more variants of them: use --format {made.known} instead")
    return 0


_dry_run = click.option("--dry-run", is_flag=True, help="Print a patch and write nothing.")


@dev.command(short_help="Create the files of a new format in a clone.")
@click.argument("name", metavar="NAME")
@click.option("--from", "place", required=True, metavar="MODEL", help="The model, or a .jinja file of its template.")
@_dry_run
@trusted_option
def new_format(name: str, place: str, dry_run: bool, trusted: bool) -> int:
    """Create the files of a new format in a clone of toolfmt's repository: its module, list entry and case files.

    The format is derived from the calls that the template of MODEL renders. If that fails, the module is a copy of the
    most similar known format, with a comment that says why none was derived. TO FILL marks what you have to write:
    `pytest -k NAME` lists it. No existing file is overwritten.

    Exit status: 0 written, 1 a known format already parses these calls, 2 bad input, or not in a clone.
    """
    from toolfmt.cli.scaffolding.new_format import NotNeeded, prepare

    clone = _clone()
    prepared = prepare(name, place, clone, trusted=trusted)
    for sentence in prepared.lines:
        complain(sentence)
    if isinstance(prepared, NotNeeded):
        return 1
    _write_plan(clone, prepared.plan, name, dry_run)
    return 0


@dev.command(short_help="Create the files of a new finding in a clone.")
@click.argument("name", metavar="NAME")
@_dry_run
def new_finding(name: str, dry_run: bool) -> None:
    """Create the files of a new finding in a clone of the repository: its check, list entry and test templates.

    NAME has lowercase letters and hyphens, such as calls-dropped. It gets the next code. TO FILL marks what you have to
    write: `pytest -k CODE` lists it. No existing file is overwritten.
    """
    from toolfmt.cli.scaffolding.new_finding import prepare

    clone = _clone()
    code, plan = prepare(name, clone)
    complain(f"{name} is {code}")
    _write_plan(clone, plan, code, dry_run)


def _clone() -> Clone:
    """The clone around the working directory."""
    from toolfmt.cli.scaffolding.clone import find_clone

    clone = find_clone(Path(os.path.abspath(os.curdir)))
    if not clone.runs:
        complain("the toolfmt that runs is not the one of this clone; pip install -e '.[test]' there makes it so")
    return clone


def _write_plan(clone: Clone, plan: FilePlan, keyword: str, dry_run: bool) -> None:
    """Write the files, or print them as a patch. `keyword` selects their tests."""
    from toolfmt.cli.printing.control_characters import visible

    clone.check(plan)
    if dry_run:
        print_text(clone.patch(plan))
        return
    clone.write(plan)
    print_text("".join(f"made     {visible(path)}\n" for path in plan.new) + f"changed  {visible(plan.list_in)}\n")
    print_text(f"pytest -k {keyword} lists what is missing; CONTRIBUTING.md has the next steps\n")
