"""Fix one template: try one fix after the other and keep those that are verified.

`apply_fixes` takes the files and the report of a model and returns the template's new text with the steps. A fix is
kept if the invariant in `verification.py` holds and a second inspection reports nothing worse. Edits that are not
needed are dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from toolfmt.errors import ToolfmtError, WorkerUnavailable
from toolfmt.inspect.checks.editing.prelude import Clause, with_prelude
from toolfmt.inspect.checks.editing.sites import Sites
from toolfmt.inspect.checks.editing.source import Edit, as_newlines, edited, line_at, with_line_ends_of, words
from toolfmt.inspect.checks.editing.template_fix import Variant
from toolfmt.inspect.fix.known_fixes import KnownFix, everything, fixes_of, known_reason
from toolfmt.inspect.fix.reinspection import what_is_worse
from toolfmt.inspect.fix.verification import NOT_SHOWN, FixCheck
from toolfmt.inspect.report.report import FindingKey, Report
from toolfmt.inspect.report.turn_shape import TurnShape
from toolfmt.inspect.runtimes.template_choice import same_text
from toolfmt.templates import ModelFiles, TemplateSource

_MOST_EDITS = 60
"""Maximum number of edits that are tried together. Current templates need about a dozen."""


class Prove(Protocol):
    """`toolfmt.inspect.fix.verification.judged`, in whichever process it runs."""

    def __call__(
        self,
        before: str,
        after: str,
        tokens: Mapping[str, str],
        shape: TurnShape,
        variants: Sequence[Variant],
        typed: bool,
    ) -> FixCheck: ...


@dataclass(frozen=True)
class FixStep:
    """A change of a template: the keys of the fixed findings, and the text before and after."""

    keys: tuple[FindingKey, ...]
    before: str
    after: str


@dataclass(frozen=True)
class FixedTemplate:
    """A fixed template: its original source, its text now, the steps, and why other findings remain."""

    source: TemplateSource
    text: str
    report: Report
    """The inspection of the current text."""
    steps: tuple[FixStep, ...] = ()
    why_not: dict[FindingKey, str] = field(default_factory=dict)
    """The reasons, by the key of a finding for which a fix was tried."""


def apply_fixes(
    files: ModelFiles,
    report: Report,
    keys: frozenset[FindingKey],
    inspect: Callable[[ModelFiles], Report],
    prove: Prove,
) -> FixedTemplate | None:
    """Fix the template that is used with tools, for the findings with these keys.

    Return None without a template, or if it is not rendered.
    """
    source = files.template(True) or files.template(False)
    if source is None or report.profile.failure is not None:
        return None
    state = _FixState(files, source, report, inspect, prove)
    for known in list(fixes_of(report, keys)):
        state.attempt(known)
    return FixedTemplate(source, state.text, state.report, tuple(state.steps), state.why_not)


def with_template(files: ModelFiles, source: TemplateSource, text: str) -> ModelFiles:
    """Return the files with this text in place of the template's own, ignoring line ends."""
    templates = tuple(replace(one, text=text) if same_text(one, source) else one for one in files.templates)
    return replace(files, templates=templates)


class _FixState:
    """The state while fixing a template: its body, the clauses before it, and the report on both."""

    def __init__(
        self,
        files: ModelFiles,
        source: TemplateSource,
        report: Report,
        inspect: Callable[[ModelFiles], Report],
        prove: Prove,
    ) -> None:
        self._files, self._source, self._inspect, self._prove = files, source, inspect, prove
        self._body = as_newlines(source.text)
        self._clauses: tuple[Clause, ...] = ()
        self.report = report
        self.text = source.text
        self.steps: list[FixStep] = []
        self.why_not: dict[FindingKey, str] = {}

    def attempt(self, known: KnownFix) -> None:
        """Try a fix. It becomes a step if it fixes anything; if not, record the reason."""
        findings = [finding for finding in everything(self.report) if finding.key in known.keys]
        if not findings:
            return  # fixed together with another finding
        keys = tuple(dict.fromkeys(finding.key for finding in findings))
        why = "its lines end in several ways" if self._body is None else ""
        for body, clauses in self._candidates(known, [finding.line for finding in findings]):
            text = with_line_ends_of(self._source.text, with_prelude(clauses, body))
            report, why = self._inspected(text, known, keys)
            if report is not None:
                gone = tuple(key for key in keys if key not in {one.key for one in everything(report)})
                self.steps.append(FixStep(gone or keys, self.text, text))
                self._body, self._clauses, self.text, self.report = body, clauses, text, report
                return
        why = why or self._last_why or "the template does it in no way that is known here"
        self.why_not |= {key: known_reason(key, self.report) or why for key in keys}

    def _inspected(self, text: str, known: KnownFix, keys: tuple[FindingKey, ...]) -> tuple[Report | None, str]:
        """Return the second inspection if it reports nothing worse; else None and the reason."""
        try:
            report = self._inspect(with_template(self._files, self._source, text))
        except WorkerUnavailable:
            raise
        except ToolfmtError as error:
            return None, str(error)
        worse = what_is_worse(self.report, report, keys, known.may_change(self.report))
        return (None, worse) if worse else (report, "")

    def _candidates(self, known: KnownFix, lines: Sequence[int | None]) -> Iterator[tuple[str, tuple[Clause, ...]]]:
        """Yield the bodies and clauses that pass verification, the smallest change first."""
        body, self._last_why = self._body, ""
        if body is None:
            return
        if known.fix.edits is not None:
            found = _apart(known.fix.edits(Sites(body, words(body))))[:_MOST_EDITS]
            above = with_prelude(self._clauses, body).count("\n") - body.count("\n")
            near = [edit for edit in found if line_at(body, edit.start) + above in lines]
            for few in self._holding(known, near, found):
                yield edited(body, few), self._clauses
        if known.fix.clause:
            clauses = (*self._clauses, known.fix.clause)
            if self._holds(known, with_prelude(clauses, body)):
                yield body, clauses

    def _holding(self, known: KnownFix, near: list[Edit], found: list[Edit]) -> Iterator[list[Edit]]:
        """Yield sets of edits that pass: of those near the finding, else of all, else of all harmless ones."""
        choices: tuple[Callable[[], list[Edit]], ...] = (
            lambda: near,
            lambda: found,
            lambda: self._harmless(known, found),
        )
        tried: list[list[Edit]] = [[]]
        for choose in choices:
            edits = choose()
            if edits in tried:
                continue
            tried.append(edits)
            if self._holds(known, self._with(edits)):
                fewest = self._fewest(known, edits)
                yield from [fewest] if fewest == edits else [fewest, edits]

    def _harmless(self, known: KnownFix, found: list[Edit]) -> list[Edit]:
        """Return the edits that by themselves change nothing that should not change."""
        return [edit for edit in found if self._judged(self._with([edit]), (), known.fix.typed).why in (NOT_SHOWN, "")]

    def _fewest(self, known: KnownFix, edits: list[Edit]) -> list[Edit]:
        """Return the edits without those that are not needed."""
        for edit in reversed(edits):
            rest = [one for one in edits if one != edit]
            if rest and self._holds(known, self._with(rest)):
                edits = rest
        return edits

    def _with(self, edits: list[Edit]) -> str:
        assert self._body is not None
        return with_prelude(self._clauses, edited(self._body, edits))

    def _holds(self, known: KnownFix, text: str) -> bool:
        verdict = self._judged(text, known.variants(self.report), known.fix.typed)
        if not verdict.holds:
            self._last_why = verdict.why
        return verdict.holds

    def _judged(self, text: str, variants: Sequence[Variant], typed: bool) -> FixCheck:
        before = with_prelude(self._clauses, self._body or "")
        shape = self.report.profile.shape or TurnShape()
        try:
            return self._prove(before, text, self._files.special_tokens, shape, variants, typed)
        except WorkerUnavailable:
            raise
        except ToolfmtError as error:
            return FixCheck(False, str(error))


def _apart(edits: Iterator[Edit]) -> list[Edit]:
    """Return the edits in order, without those that overlap an earlier one."""
    kept: list[Edit] = []
    for edit in sorted(set(edits), key=lambda edit: (edit.start, -edit.end)):
        if not kept or edit.start >= kept[-1].end:
            kept.append(edit)
    return kept
