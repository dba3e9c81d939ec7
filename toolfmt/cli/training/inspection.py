"""`toolfmt inspect --for training`: print what a template does in training, and write a copy with correct tags."""

from __future__ import annotations

from pathlib import Path

from toolfmt.cli.output import check_printable, print_json, print_text, terminal
from toolfmt.cli.printing.training import TaggedCopy, inspection_text, tagged_copy_text
from toolfmt.errors import ToolfmtError
from toolfmt.inspect.fix.contents import with_template_text
from toolfmt.inspect.fix.fix_model import diff
from toolfmt.inspect.fix.fix_template import with_template
from toolfmt.inspect.fix.small_files import check_output, small_files, write
from toolfmt.inspect.report.report import Severity
from toolfmt.model.batch import Inspector
from toolfmt.model.model import Model
from toolfmt.templates import ModelFiles, load_files
from toolfmt.training import TrainingReport


def inspect_for_training(
    place: str, inspector: Inspector, output: str | None, *, keep_reasoning: bool, as_json: bool
) -> list[Severity]:
    """Print the report, or write a fixed copy to `output` and print the changes. Return the severities of findings.

    Raises `ToolfmtError`.
    """
    check_printable()
    files = load_files(place)
    if output is not None:
        check_output(Path(output), files)
    model = Model(files, trusted=inspector.trusted, worker=inspector.worker)
    report = model.inspect_training(keep_reasoning=keep_reasoning)
    if output is None:
        if as_json:
            print_json({"schema": "toolfmt.training/1", "path": place, **_as_json(report)})
        else:
            print_text(inspection_text(files, report, *terminal()))
    else:
        copy = _copied(files, report, Path(output))
        report = Model(copy.model, trusted=inspector.trusted, worker=inspector.worker).inspect_training()
        if as_json:
            changes = {"files": list(copy.files), "diff": copy.diff}
            print_json({"schema": "toolfmt.training/1", "path": output, **_as_json(report), **changes})
        else:
            print_text(tagged_copy_text(copy, report, *terminal()))
    return [finding.severity for finding in report.findings]


def _as_json(report: TrainingReport) -> dict[str, object]:
    return {key: value for key, value in report.to_dict().items() if key not in ("tagged_source", "kept_source")}


def _copied(files: ModelFiles, report: TrainingReport, output: Path) -> TaggedCopy:
    """Write a copy of the model with the changes. Raises `ToolfmtError` if there are none."""
    source = files.template(True)
    text = report.tagged_source or report.kept_source
    if source is None or text is None:
        tags = [finding for finding in report.findings if finding.name.startswith("generation-tags")]
        why = (
            " ".join(f"{finding.message} {finding.fix}" for finding in tags)
            or "No verified conversation shows what the tags have to mark."
        )
        if report.generation_tags == "right":
            why = "The `{% generation %}` tags already mark exactly the responses."
        raise ToolfmtError(f"{files.directory}: no copy is written. {why}")
    contents = small_files(files.home) if files.kind == "directory" else {}
    contents = with_template_text(contents, files, source, text)
    write(contents, output)
    changes = diff(source.text, text, source.origin)
    return TaggedCopy(output, with_template(files, source, text), tuple(sorted(contents)), changes)
