"""What applies to each model: the options of the command line, those of the configuration, and the baseline."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from toolfmt.cli.rules.baseline import Baseline
from toolfmt.cli.rules.configuration import Configuration, Options
from toolfmt.cli.rules.exit_status import Failing
from toolfmt.cli.rules.selection import Selection
from toolfmt.inspect.report.report import Finding
from toolfmt.model.batch import InspectionOutcome


@dataclass(frozen=True)
class Rules:
    """What is shown of one model, and what makes the run fail."""

    selection: Selection
    failing: Failing

    @property
    def shows_notes(self) -> bool:
        """Whether text shows notes like findings: they were selected, or they can fail."""
        return self.selection.requested or self.failing.fail_on == "note"

    @property
    def codes(self) -> frozenset[str]:
        """The codes of the findings that are shown."""
        return frozenset(code for (code, _), _ in self.selection.shown)


@dataclass(frozen=True)
class ModelRules:
    """The rules for every model.

    The command line's options replace those of the configuration. Its `ignore` is added: it leaves findings out, while
    those that the configuration ignores are listed with their reasons.
    """

    options: Options
    ignore: tuple[str, ...]
    configuration: Configuration
    baseline: Baseline | None = None
    _made: dict[Options, Rules] = field(default_factory=dict)

    def of(self, place: str) -> Rules:
        """Return the rules for a path."""
        options = self.configuration.for_model(place).updated(self.options)
        if options not in self._made:
            self._made[options] = self._rules(options)
        return self._made[options]

    def applied(self, looked: InspectionOutcome) -> InspectionOutcome:
        """Return the outcome for a path with new findings marked and with the selected findings."""
        looked = looked if self.baseline is None else self.baseline.compared(looked)
        report = looked.report
        return looked if report is None else replace(looked, report=self.of(looked.place).selection.apply(report))

    def fails(self, looked: InspectionOutcome) -> bool:
        """Return whether the outcome for a path, with the selected findings, is a failure."""
        return self.of(looked.place).failing.fails(looked)

    def fails_verdict(self, looked: InspectionOutcome) -> bool:
        """Return whether the verdict is a failure."""
        return self.of(looked.place).failing.fails_verdict(looked)

    def fails_finding(self, place: str, finding: Finding) -> bool:
        """Return whether a finding of a path is a failure."""
        return self.of(place).failing.fails_finding(finding)

    def _rules(self, options: Options) -> Rules:
        runtimes = options.runtimes or ()
        selection = Selection.of(options.select or (), self.ignore, runtimes, options.ignore, self.configuration.name)
        if options.select != self.options.select:
            by = " or ".join([f"`select` in {self.configuration.name}", *["--ignore"] * bool(self.ignore)])
            selection = replace(selection, left_out_by=by)
        failing = Failing(options.fail_on or "error", options.require == "tools", bool(runtimes), self.baseline)
        return Rules(selection, failing)
