"""Fix a model in a copy: first its template, then its settings. Each change is verified on the copy.

`fix_copy` does all of it; the original is only read. Changes are reported as a diff per file, with the finding that
each one fixes.
"""

from __future__ import annotations

import difflib
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from toolfmt.errors import ToolfmtError, WorkerUnavailable
from toolfmt.inspect.comparison import compare, is_below
from toolfmt.inspect.fix.contents import template_file, with_template_text
from toolfmt.inspect.fix.fix_template import FixedTemplate, Prove, apply_fixes, with_template
from toolfmt.inspect.fix.known_fixes import everything, why_not
from toolfmt.inspect.fix.settings import SettingFix, attempts, keys_with
from toolfmt.inspect.fix.small_files import CannotCopy, check_output, small_files, write
from toolfmt.inspect.report.json_record import JsonRecord
from toolfmt.inspect.report.report import Finding, FindingKey, Report
from toolfmt.inspect.report.verdicts import ToolsWord
from toolfmt.inspect.runtimes.template_choice import same_text
from toolfmt.templates import ModelFiles, load_files

_LONG_LINE = 500
"""If a file has a line of this length (a template in JSON), the diff has no context lines."""
_ELSEWHERE = "make room there, or name another directory by TMPDIR"
_MOST_SETTINGS = 10
"""Maximum number of changed settings per model."""


@dataclass(frozen=True)
class Fixed(JsonRecord):
    """A change of a file: the code and outcome of the fixed finding, and a unified diff."""

    code: str
    outcome: str
    file: str
    diff: str


@dataclass(frozen=True)
class NotFixed(JsonRecord):
    """A finding that remains, and the reason."""

    code: str
    name: str
    outcome: str
    why: str

    @property
    def key(self) -> FindingKey:
        return self.code, self.outcome


@dataclass(frozen=True)
class FixedModel:
    """A written copy: its path, the report on it, fixed and remaining findings, and its files."""

    output: Path
    report: Report
    fixed: tuple[Fixed, ...]
    not_fixed: tuple[NotFixed, ...]
    files: tuple[str, ...]
    kind: str
    """The kind of the original: a directory, a GGUF file, or a single template."""
    before: ToolsWord
    """The verdict on the original."""

    def with_report(self, report: Report) -> FixedModel:
        """Return the same with this report on the copy, and only remaining findings that are in it."""
        keys = {finding.key for finding in everything(report)}
        return replace(self, report=report, not_fixed=tuple(one for one in self.not_fixed if one.key in keys))

    def to_dict(self) -> dict[str, Any]:
        """The report on the copy, with `fixed` and `not_fixed`."""
        findings = {"fixed": self.fixed, "not_fixed": self.not_fixed}
        return self.report.to_dict() | {key: [one.to_dict() for one in value] for key, value in findings.items()}


def fix_copy(
    files: ModelFiles,
    report: Report,
    keys: frozenset[FindingKey],
    output: Path,
    inspect: Callable[[ModelFiles], Report],
    prove: Prove,
) -> FixedModel:
    """Write a copy of a model to `output`, with as many as possible of the findings with these keys fixed.

    Only the small files that toolfmt reads are copied. Raise `CannotCopy` if `output` is not empty or is inside the
    original, and whatever `inspect` raises.
    """
    check_output(output, files)
    copy = _Copy(files, inspect)
    fixed_template = apply_fixes(files, report, keys, inspect, prove)
    if fixed_template is not None:
        copy.take(fixed_template)
    if files.kind == "directory":
        _fix_settings(copy, fixed_template.report if fixed_template is not None else report, keys)
    write(copy.contents, output)
    last = inspect(copy.loaded(output))
    tried = {} if fixed_template is None else fixed_template.why_not
    return FixedModel(
        output,
        last,
        tuple(copy.fixed),
        _remaining(last, tried),
        tuple(sorted(copy.contents)),
        files.kind,
        report.verdict.tools,
    )


class _Copy:
    """The files of the copy so far, and the changes made in them."""

    def __init__(self, files: ModelFiles, inspect: Callable[[ModelFiles], Report]) -> None:
        self._original = files
        self.inspect = inspect
        self.contents: Mapping[str, bytes] = small_files(files.home) if files.kind == "directory" else {}
        self._written = None if files.kind == "directory" else files.template(True) or files.template(False)
        if self._written is not None:
            self.contents = with_template_text({}, files, self._written, self._written.text)
        self.fixed: list[Fixed] = []

    def take(self, fixed_template: FixedTemplate) -> None:
        """Write the fixed template to every file that contains it."""
        self.contents = with_template_text(self.contents, self._original, fixed_template.source, fixed_template.text)
        places = [one for one in self._original.templates if same_text(one, fixed_template.source)]
        alone = self._original.kind != "directory"
        labels = (
            [template_file(self._original, fixed_template.source)] if alone else [_label(one.origin) for one in places]
        )
        for step in fixed_template.steps:
            for label in dict.fromkeys(labels):
                self.fixed += [Fixed(*key, label, diff(step.before, step.after, label)) for key in step.keys]

    def change(self, attempt: SettingFix, keys: tuple[FindingKey, ...]) -> None:
        before = self.contents.get(attempt.file, b"")
        old, new = attempt.texts or tuple(data.decode("utf-8", "surrogatepass") for data in (before, attempt.data))
        label = _label(attempt.file) if attempt.texts else attempt.file
        self.contents = {**self.contents, attempt.file: attempt.data}
        self.fixed += [Fixed(*key, label, diff(old, new, label)) for key in keys]

    def loaded(self, directory: Path) -> ModelFiles:
        """Return the files of the copy in this directory; for a GGUF file, the original with the changed template."""
        if self._original.kind == "directory":
            return load_files(directory)
        if self._written is None:
            return self._original
        file = directory / template_file(self._original, self._written)
        alone = load_files(file)
        if self._original.kind == "template":
            return alone
        return with_template(self._original, self._written, alone.templates[0].text)


def _label(origin: str) -> str:
    """Return how a diff names the file of a template."""
    return origin if origin.endswith(".jinja") else f"{origin} (chat_template)"


def _fix_settings(copy: _Copy, report: Report, keys: frozenset[FindingKey]) -> None:
    """Apply settings until none fixes another finding; each is tried in a temporary directory."""
    try:
        with tempfile.TemporaryDirectory() as folder:
            for number in range(_MOST_SETTINGS):
                files = _loaded(copy.contents, Path(folder) / f"{number}")
                better = _next_setting(copy, report, files, keys, Path(folder) / f"{number}-")
                if better is None:
                    return
                attempt, fixed_keys, report = better
                copy.change(attempt, fixed_keys)
    except OSError as error:
        if isinstance(error, ToolfmtError):
            raise
        raise CannotCopy(f"no directory to try settings in ({error.strerror}); {_ELSEWHERE}") from None


def _next_setting(
    copy: _Copy, report: Report, files: ModelFiles, keys: frozenset[FindingKey], folder: Path
) -> tuple[SettingFix, tuple[FindingKey, ...], Report] | None:
    """Return the first setting that fixes something, the findings it fixes, and the report on it, or None."""
    for number, attempt in enumerate(attempts(report, files, copy.contents, keys)):
        try:
            changed = _loaded({**copy.contents, attempt.file: attempt.data}, folder.with_name(f"{folder.name}{number}"))
            after = copy.inspect(changed)
        except (CannotCopy, WorkerUnavailable):
            raise
        except ToolfmtError:
            continue
        fixed_keys = fixed_by(report, after, attempt.keys)
        if fixed_keys:
            return attempt, fixed_keys, after
    return None


def fixed_by(before: Report, after: Report, keys: tuple[FindingKey, ...]) -> tuple[FindingKey, ...]:
    """Return the keys of the findings that a setting fixes.

    Empty if it changes the template's behavior, adds a finding that no setting fixes, or replaces an error about the
    parser with another one.
    """
    comparison = compare(before, after)
    left = {finding.key for finding in everything(after)}
    # A declaration that contradicts the template decides the format until it is removed.
    behaves = [change for change in comparison.behavior.changes if not is_below(change.what, ["format"])]
    came = (*comparison.behavior.added, *comparison.settings.added)
    about_the_parser = keys_with("parser")
    fatal = about_the_parser if set(keys) <= about_the_parser else frozenset()
    unfixed = any(one.key not in keys_with() or (one.severity == "error" and one.key in fatal) for one in came)
    worse = comparison.prompts or behaves or unfixed
    return () if worse else tuple(key for key in keys if key not in left)


def _loaded(contents: Mapping[str, bytes], folder: Path) -> ModelFiles:
    write(contents, folder, _ELSEWHERE)
    return load_files(folder)


def _remaining(report: Report, tried: Mapping[FindingKey, str]) -> tuple[NotFixed, ...]:
    """Return every key that is still reported, once."""
    first: dict[FindingKey, Finding] = {}
    for finding in everything(report):
        first.setdefault(finding.key, finding)
    return tuple(
        NotFixed(one.code, one.name, one.outcome, tried.get(one.key) or why_not(one, report)) for one in first.values()
    )


def diff(before: str, after: str, file: str) -> str:
    """Return the changes of a file's text as a unified diff."""
    old, new = (text.splitlines(keepends=True) for text in (before, after))
    context = 0 if any(len(line) > _LONG_LINE for line in (*old, *new)) else 2
    made = difflib.unified_diff(old, new, f"a/{file}", f"b/{file}", n=context)
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in made)
