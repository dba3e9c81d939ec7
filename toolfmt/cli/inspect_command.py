"""`toolfmt inspect`: check the options, run one of three modes, return the exit status.

`toolfmt.cli.commands` creates an `Inspecting` from the options. One model is shown in detail, several as a table
(`several_models.py`), and --fix writes a fixed copy. Options that exclude each other are a usage error, reported before
anything is inspected.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import click

from toolfmt._util.text_lists import listed_first
from toolfmt.cli.input import naming, read_json, shown
from toolfmt.cli.output import check_printable, complain, print_json, print_text, terminal
from toolfmt.cli.output_targets import Target, check_targets
from toolfmt.cli.report_outputs import Content, Outputs
from toolfmt.cli.rules.baseline import Baseline, read_baseline
from toolfmt.cli.rules.configuration import Options, configuration_of
from toolfmt.cli.rules.exit_status import severity_of
from toolfmt.cli.rules.model_rules import ModelRules
from toolfmt.cli.several_models import Outcomes, go_on, inspect_several
from toolfmt.errors import BadTools
from toolfmt.inspect.facts import InspectionOptions
from toolfmt.messages.tools import canonical_tools
from toolfmt.model.batch import InspectionOutcome, Inspector, expanded
from toolfmt.model.sandbox.pool import Limits

_MOST_NAMED = 5


PROBE_SEED = "TOOLFMT_PROBE_SEED"
"""The environment variable whose number changes the words of the probes. Tests use it: a template that recognizes the
probes gets another report."""


@dataclass(frozen=True)
class Inspecting:
    """The options, one field each. Files are names: None if not given, `-` for standard output."""

    places: tuple[str, ...]
    as_json: bool
    outputs: tuple[Target, ...]
    full: bool
    statistics: bool
    fail_on: str | None
    require: str | None
    runtimes: tuple[str, ...]
    baseline_file: str | None
    select: tuple[str, ...]
    ignore: tuple[str, ...]
    config_file: str | None
    isolated: bool
    tools_file: str | None
    context: int | None
    jobs: int | None
    lines_file: str | None
    fix: bool
    output: str | None
    time_limit: float | None
    trusted: bool
    purpose: str | None
    keep_reasoning: bool

    def status(self) -> int:
        """Inspect, print, and return the exit status.

        Raises `click.UsageError` for options that exclude each other, and `ToolfmtError`.
        """
        self._check_outputs()
        self._check_ways()
        if self.purpose is not None:
            return self._for_training()
        if self.output is not None:
            return self._fixed(self.output)
        return self._several() if self._are_several or self.lines_file is not None else self._one()

    # --- the three modes

    def _one(self) -> int:
        place = self._model_places[0]
        outputs = self._opened()
        looked = self._rules.applied(InspectionOutcome(place, self._inspector.report(place)))
        if remark := self._remark(looked):
            complain(remark)
        with outputs:
            outputs.add(looked)
        return 2 if outputs.failed else int(self._rules.fails(looked))

    def _several(self) -> int:
        """A model that cannot be read does not stop the others."""
        if self.lines_file is not None:
            return self._going_on(self.lines_file)

        def look(at: Sequence[str]) -> Iterator[InspectionOutcome]:
            return map(self._rules.applied, self._inspector.looked_at(at, self.jobs))

        outcomes = Outcomes(self._rules.fails, self._remark, complain)
        return inspect_several(self._model_places, look, outcomes, self._opened())

    def _opened(self) -> Outputs:
        content = Content(self._are_several, self.full, self.statistics, self._rules)
        return Outputs(self._targets, content)

    def _going_on(self, file: str) -> int:
        """Lines contain all findings; the exit status is computed from old and new lines in the same way."""

        def look(at: Sequence[str]) -> Iterator[InspectionOutcome]:
            return self._inspector.looked_at(at, self.jobs, in_order=False)

        def fails(looked: InspectionOutcome) -> bool:
            return self._rules.fails(self._rules.applied(looked))

        return go_on(file, self._model_places, look, Outcomes(fails, self._uncounted, complain))

    def _fixed(self, output: str) -> int:
        """Write the fixed copy and print the changes. Return the exit status of the copy."""
        from toolfmt.model.fix import fixed_copy

        check_printable()  # do not write a copy if nothing can be printed about it
        rules = self._rules.of(self._model_places[0])
        fixed_model = fixed_copy(self._model_places[0], output, self._inspector, rules.selection.keys_for)
        fixed_model = fixed_model.with_report(rules.selection.apply(fixed_model.report))
        if self._targets == [Target("json")]:
            print_json(fixed_model.to_dict())
        else:
            from toolfmt.cli.printing.fix import fixed_model_text

            print_text(fixed_model_text(fixed_model, *terminal()))
        return int(rules.failing.fails(InspectionOutcome(output, fixed_model.report)))

    def _for_training(self) -> int:
        from toolfmt.cli.training.inspection import inspect_for_training

        findings = inspect_for_training(
            self._model_places[0],
            self._inspector,
            self.output,
            keep_reasoning=self.keep_reasoning,
            as_json=self._targets == [Target("json")],
        )
        return int(any(map(self._rules.of(self._model_places[0]).failing.fails_severity, findings)))

    # --- options that exclude each other

    def _check_outputs(self) -> None:
        check_targets(self._targets)
        if self.full and all(target.format != "text" for target in self._targets):
            raise click.UsageError(f"--full is for text; {self._targets[0].format} shows everything")
        if self.statistics and (self.full or self.lines_file is not None):
            raise click.UsageError(f"--statistics counts findings; leave {'--full' if self.full else '--continue'} out")
        if self.lines_file is not None and self._targets != [Target("json")]:
            raise click.UsageError("--continue needs --json and allows no other output")
        if self.statistics and any(target.format not in ("text", "json") for target in self._targets):
            raise click.UsageError("--statistics prints text or JSON; leave the other outputs out")
        if self.lines_file == "-":
            raise click.UsageError("--continue goes on in a file, which standard output is not; name a file")

    def _check_ways(self) -> None:
        if self.trusted and self.time_limit is not None:
            raise click.UsageError("--time-limit has no effect with --trusted; pass only one of them")
        if self.fix != (self.output is not None):
            raise click.UsageError("--fix and --output DIR go together")
        if self.keep_reasoning and not (self.purpose is not None and self.fix):
            raise click.UsageError("--keep-reasoning goes with --for training --fix")
        if self.purpose is not None:
            self._check_purpose()
        if self.fix and self._are_several:
            raise click.UsageError("--fix works on one model; pass one MODEL")
        conflicting = {
            "--full": self.full,
            "--statistics": self.statistics,
            "--baseline": self.baseline_file,
            "--continue": self.lines_file,
        }
        others = [target for target in self._targets if target not in (Target("text"), Target("json"))]
        if self.fix and others:
            raise click.UsageError(f"--fix prints what it changed, as text or JSON; leave {others[0]} out")
        if self.fix and (given := [name for name, value in conflicting.items() if value]):
            raise click.UsageError(f"--fix prints what it changed, as text or JSON; leave {given[0]} out")
        if self._are_several and self.full:
            raise click.UsageError("--full shows one model; give one MODEL")

    def _check_purpose(self) -> None:
        if self._are_several:
            raise click.UsageError("--for training inspects one model; pass one MODEL")
        others = {
            "--full": self.full,
            "--statistics": self.statistics,
            "--require": self.require,
            "--runtime": self.runtimes,
            "--baseline": self.baseline_file,
            "--select": self.select,
            "--ignore": self.ignore,
            "--tools": self.tools_file,
            "--context": self.context,
            "--continue": self.lines_file,
            "--output-format, except text and json on standard output": self._targets
            not in ([Target("text")], [Target("json")]),
        }
        if given := [name for name, value in others.items() if value]:
            raise click.UsageError(f"--for training does not support {given[0]}")

    # --- values derived from the options

    @property
    def _targets(self) -> list[Target]:
        """The outputs: those given, with --json as one of them; text if there is none."""
        return [*[Target("json")] * self.as_json, *self.outputs] or [Target("text")]

    @cached_property
    def _expanded(self) -> tuple[list[str], bool]:
        return expanded(self.places)

    @property
    def _model_places(self) -> list[str]:
        return self._expanded[0]

    @property
    def _are_several(self) -> bool:
        return self._expanded[1]

    @cached_property
    def _inspector(self) -> Inspector:
        limits = None if self.time_limit is None else Limits(self.time_limit)
        return Inspector(InspectionOptions(self._tools(), self.context, _probe_seed()), self.trusted, limits)

    @cached_property
    def _rules(self) -> ModelRules:
        options = Options(
            self.runtimes or None,
            self.select or None,
            fail_on=None if self.fail_on is None else severity_of(self.fail_on),
            require=None if self.require is None else "tools",
        )
        configuration = configuration_of(self.config_file, self.isolated, (*self._model_places, *self.places), complain)
        return ModelRules(options, self.ignore, configuration, self._baseline())

    def _tools(self) -> list[dict[str, Any]] | None:
        """Return the checked tool definitions from their file, or None."""
        if self.tools_file is None:
            return None
        tools = read_json(self.tools_file)
        with naming(self.tools_file, BadTools):
            return canonical_tools(tools)

    def _baseline(self) -> Baseline | None:
        """Return the earlier reports to compare with, after a message about the paths that are not among them."""
        if self.baseline_file is None:
            return None
        baseline = read_baseline(self.baseline_file, self._model_places)
        file = shown(self.baseline_file)
        if baseline.assumed:
            complain(f"{file} names no place: taken for an earlier report on {baseline.assumed}")
        if gone := baseline.gone(self.places, self._model_places):
            complain(f"in {file}, but not found now: {listed_first(gone, _MOST_NAMED)}")
        missing = [place for place in self._model_places if not baseline.holds(place)]
        if missing:
            others = f" and {len(missing) - 1:,} more are" if missing[1:] else " is"
            elsewhere = any(map(baseline.may_be_elsewhere, missing))
            hint = f"; relative paths, in the file too, count from {os.getcwd()}" if elsewhere else ""
            complain(f"{missing[0]}{others} not in {file}: whatever is found there counts as new{hint}")
        return baseline

    def _remark(self, looked: InspectionOutcome) -> str:
        """Return a line about an outcome, with its selected findings, for standard error; or ""."""
        why = self._rules.of(looked.place).failing.why_verdict_fails(looked)
        failing = f"{looked.place} fails --require tools: {why}" if why else ""
        return "; ".join(filter(None, (self._uncounted(looked), failing)))

    def _uncounted(self, looked: InspectionOutcome) -> str:
        """Return a line for users who asked for the tokens of their tools if nothing was counted, or ""."""
        requested = self.tools_file is not None or self.context is not None
        if not requested or looked.report is None or looked.report.sections.tokens is not None:
            return ""
        return f"{looked.place}: tokens are not counted, because there is no readable tokenizer.json"


def _probe_seed() -> int | None:
    value = os.environ.get(PROBE_SEED)
    if not value:
        return None
    if not value.isdecimal():
        raise click.UsageError(f"{PROBE_SEED} is {value[:20]!r}, which is not a whole number")
    return int(value)
