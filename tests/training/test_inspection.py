"""What `Model.inspect_training` reports: each finding with a template that has it, and a template without any."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from model_cases import MODELS

import toolfmt
from toolfmt.errors import BadModelDirectory, TemplateError
from toolfmt.model.jobs import new_worker
from toolfmt.model.sandbox.pool import Limits
from toolfmt.templates import load_files
from toolfmt.training import TrainingFinding, TrainingReport

FRAMES = (MODELS / "json-frames" / "chat_template.jinja").read_text("utf-8")
BEGIN, END = "{%- generation %}", "{% endgeneration %}"
HEADER, STOP = "{{- '<|im_start|>assistant\\n' }}", "{{- '<|im_end|>\\n' }}\n    {%- elif message.role == 'tool' %}"


def changed(*changes: tuple[str, str]) -> str:
    """The template of json-frames with these texts replaced."""
    template = FRAMES
    for text, instead in changes:
        assert text in template
        template = template.replace(text, instead)
    return template


TAGGED = changed(
    (HEADER + "\n        {%- if message.rea", HEADER + BEGIN + "\n        {%- if message.rea"),
    (STOP, "{{- '<|im_end|>' }}" + END + "{{- '\\n' }}" + STOP.partition("}}")[2]),
)


def model_of(template: str, folder: Path, *, trusted: bool = True) -> toolfmt.Model:
    (folder / "chat_template.jinja").write_text(template, "utf-8")
    (folder / "tokenizer_config.json").write_text('{"eos_token": "<|im_end|>"}', "utf-8")
    return toolfmt.load(folder, trusted=trusted)


def report_on(template: str, folder: Path) -> TrainingReport:
    return model_of(template, folder).inspect_training()


def found(template: str, folder: Path) -> dict[str, TrainingFinding]:
    """The findings without that of missing tags, by name."""
    findings = {finding.name: finding for finding in report_on(template, folder).findings}
    return {name: finding for name, finding in findings.items() if name != "generation-tags-missing"}


def test_a_template_with_correct_tags_has_no_finding(tmp_path: Path) -> None:
    report = report_on(TAGGED, tmp_path)
    assert report == TrainingReport(19, 19, "right", ())


def test_missing_tags_are_a_note_and_can_be_placed(tmp_path: Path) -> None:
    report = report_on(FRAMES, tmp_path)
    (finding,) = report.findings
    assert (finding.name, finding.severity) == ("generation-tags-missing", "note")
    assert (report.generation_tags, report.responses, report.verified) == ("none", 19, 19)
    assert report.tagged_source is not None
    assert report_on(report.tagged_source, tmp_path) == TrainingReport(19, 19, "right", ())


@pytest.mark.parametrize(
    ("changes", "severity", "message"),
    [
        (
            [(HEADER + BEGIN, BEGIN + HEADER)],
            "warning",
            r"The `{% generation %}` tags mark '<\|im_start\|>assistant\\n', which the model does not write.",
        ),
        (
            [("{{- '<|im_end|>' }}" + END, END + "{{- '<|im_end|>' }}")],
            "error",
            r"The `{% generation %}` tags do not mark '<\|im_end\|>', which the model writes.",
        ),
    ],
)
def test_wrong_tags_are_reported_with_the_text(
    changes: list[tuple[str, str]], severity: str, message: str, tmp_path: Path
) -> None:
    template = TAGGED
    for text, instead in changes:
        assert text in template
        template = template.replace(text, instead)
    report = report_on(template, tmp_path)
    (finding,) = report.findings
    assert (finding.name, finding.severity, report.generation_tags) == ("generation-tags-wrong", severity, "wrong")
    assert re.fullmatch(message, finding.message)
    assert report.tagged_source is not None
    assert report_on(report.tagged_source, tmp_path) == TrainingReport(19, 19, "right", ())


REASONING = "{%- if message.reasoning_content %}"
ONLY_LAST = "{%- if message.reasoning_content and loop.last %}"


@pytest.mark.parametrize(
    ("changes", "name", "severity", "message", "fix"),
    [
        (
            [(REASONING, "{%- if false %}")],
            "reasoning-dropped",
            "note",
            "The template drops the reasoning of 5 of 19 responses. Example, from a conversation with reasoning: ",
            "Leave reasoning out of the dataset, or write it into the content.",
        ),
        (
            [(REASONING, ONLY_LAST)],
            "reasoning-dropped",
            "note",
            "The template drops the reasoning of 3 of 19 responses. Example, from a conversation with reasoning: ",
            "Train one sample per user message: `toolfmt training --train turns`. Or try `--fix --keep-reasoning`.",
        ),
        (
            [(STOP, "{{- '!' if not loop.last }}" + STOP)],
            "not-verified",
            "error",
            "10 of 19 responses parse as a different message. Example, from a conversation with two questions: ",
            "Leave such messages out of the dataset, or change the template.",
        ),
        (
            [(STOP, STOP.replace("<|im_end|>", ""))],
            "no-stop",
            "warning",
            "No stop string follows 19 of 19 responses, so the model does not learn to stop. Example, ",
            "In the template, write the model's stop string after each response.",
        ),
    ],
)
def test_problems_of_the_conversations_are_findings(
    changes: list[tuple[str, str]], name: str, severity: str, message: str, fix: str, tmp_path: Path
) -> None:
    findings = found(changed(*changes), tmp_path)
    finding = findings[name]
    assert (finding.severity, finding.fix) == (severity, fix)
    assert finding.message.startswith(message)


def test_a_conversation_that_cannot_be_rendered_is_a_finding(tmp_path: Path) -> None:
    raising = changed(
        (HEADER, HEADER + "{% if message.content == 'Done.' %}{{ raise_exception('Never!') }}{% endif %}")
    )
    findings = [one for one in report_on(raising, tmp_path).findings if one.name == "conversation-fails"]
    assert [finding.severity for finding in findings] == ["warning"]
    assert findings[0].message.startswith("1 of 9 conversations cannot be rendered. Example, with parallel calls: ")
    assert "Never!" in findings[0].message


def test_findings_are_ordered_by_severity(tmp_path: Path) -> None:
    template = changed((STOP, "{{- '!' if not loop.last }}" + STOP), (REASONING, "{%- if false %}"))
    severities = [finding.severity for finding in report_on(template, tmp_path).findings]
    assert severities == sorted(severities, key=["error", "warning", "note"].index)
    assert {"error", "note"} <= set(severities)


@pytest.mark.parametrize("template", [FRAMES, TAGGED])
def test_the_worker_process_reports_the_same(template: str, tmp_path: Path) -> None:
    here = report_on(template, tmp_path)
    assert model_of(template, tmp_path, trusted=False).inspect_training() == here


def test_errors_of_the_model_are_raised(tmp_path: Path) -> None:
    with pytest.raises(TemplateError):
        report_on("{% for %}", tmp_path)
    with pytest.raises(TemplateError, match="Never!"):
        report_on("{{ raise_exception('Never!') }}", tmp_path)
    empty = tmp_path / "empty"
    empty.mkdir()
    (empty / "config.json").write_text(json.dumps({"model_type": "llama"}))
    with pytest.raises(BadModelDirectory):
        toolfmt.load(empty, trusted=True).inspect_training()


@pytest.mark.sample(0)
def test_a_template_that_takes_too_long_is_an_error(tmp_path: Path) -> None:
    loops = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}{{ messages }}"
    (tmp_path / "chat_template.jinja").write_text(loops, "utf-8")
    worker = new_worker(Limits(processor_seconds=1))
    with pytest.raises(TemplateError, match="Limit hit: CPU time"):
        toolfmt.Model(load_files(tmp_path), worker=worker).inspect_training()
    worker.stop()


def test_tags_that_would_mark_only_a_part_of_other_responses_are_not_placed(tmp_path: Path) -> None:
    """No response with only text is verified, so the point before the calls would look right."""
    texts = changed((REASONING, "{%- if false %}"), (STOP, "{{- '!' if not message.tool_calls }}" + STOP))
    report = report_on(texts, tmp_path)
    assert 0 < report.verified < report.responses
    assert report.tagged_source is None
