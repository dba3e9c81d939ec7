"""`toolfmt inspect --for training`: the report as text and JSON, the fixed copy, and options that conflict with it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import run
from model_cases import MODELS

import toolfmt

FRAMES = str(MODELS / "json-frames")
TEMPLATE = (MODELS / "json-frames" / "chat_template.jinja").read_text("utf-8")
STOP = "{{- '<|im_end|>\\n' }}\n    {%- elif message.role == 'tool' %}"
WRONG_STOP = "{{- '!<|im_end|>\\n' }}\n    {%- elif message.role == 'tool' %}"


@pytest.fixture(autouse=True)
def fixed_terminal_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")


def other(folder: Path, template: str) -> str:
    """A model with this template."""
    model = folder / "model"
    model.mkdir()
    (model / "chat_template.jinja").write_text(template, "utf-8")
    (model / "tokenizer_config.json").write_text('{"eos_token": "<|im_end|>"}')
    return str(model)


def test_the_report_shows_what_is_verified_and_the_tags() -> None:
    result = run("inspect", "--for", "training", FRAMES)
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert lines[0] == "json-frames   qwen3   chat_template.jinja"
    assert lines[2:4] == ["  verified          19 of 19 responses", "  {% generation %}  none"]
    assert lines[5].split() == ["note", "generation-tags-missing"]
    assert lines[-1].strip() == "Fix: Write a copy with tags around exactly the responses: `--fix --output DIR`."


def test_json_has_the_same_report() -> None:
    result = run("inspect", "--for", "training", FRAMES, "--json")
    report = json.loads(result.stdout)
    assert list(report) == ["schema", "path", "responses", "verified", "generation_tags", "findings"]
    assert (report["schema"], report["path"]) == ("toolfmt.training/1", FRAMES)
    expected = toolfmt.load(FRAMES).inspect_training().to_dict()
    assert {key: expected[key] for key in list(report)[2:]} == {key: report[key] for key in list(report)[2:]}


def test_an_error_gives_status_1(tmp_path: Path) -> None:
    model = other(tmp_path, TEMPLATE.replace(STOP, WRONG_STOP))
    assert run("inspect", "--for", "training", model).exit_code == 1
    assert run("inspect", "--for", "training", model, "--fail-on", "never").exit_code == 0
    assert run("inspect", "--for", "training", FRAMES, "--fail-on", "note").exit_code == 1
    assert run("inspect", "--for", "training", FRAMES, "--fail-on", "warning").exit_code == 0


def test_fix_writes_a_copy_with_correct_tags(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    result = run("inspect", "--for", "training", FRAMES, "--fix", "--output", str(copy))
    assert (result.exit_code, result.stderr) == (0, "")
    changes = [line for line in result.stdout.splitlines() if line[:1] in ("+", "-") and line[:3] not in ("+++", "---")]
    assert changes == [
        "-        {%- if message.reasoning_content %}",
        "+        {%- generation %}{%- if message.reasoning_content %}",
        "-        {{- '<|im_end|>\\n' }}",
        "+        {{- '<|im_end|>' }}{% endgeneration %}{{ '\\n' }}",
    ]
    assert f"Written to {copy}. The report on the copy:" in result.stdout.replace("\n", " ")
    assert "  {% generation %}  mark exactly the responses\n" in result.stdout
    assert toolfmt.load(copy).inspect_training().generation_tags == "right"
    original = {path.name: path.read_bytes() for path in Path(FRAMES).iterdir()}
    written = {path.name: path.read_bytes() for path in copy.iterdir()}
    assert written.pop("chat_template.jinja") != original.pop("chat_template.jinja")
    assert written.items() <= original.items()


REASONING = "{%- if message.reasoning_content %}"


def test_a_copy_can_keep_the_reasoning_of_earlier_turns(tmp_path: Path) -> None:
    drops = TEMPLATE.replace(REASONING, "{%- if message.reasoning_content and loop.last %}")
    copy = tmp_path / "copy"
    options = ("--fix", "--output", str(copy), "--keep-reasoning")
    result = run("inspect", "--for", "training", other(tmp_path, drops), *options)
    assert (result.exit_code, result.stderr) == (0, "")
    assert "+        {%- generation %}{%- if message.reasoning_content and true %}\n" in result.stdout
    assert "reasoning-dropped" not in result.stdout
    without = run("inspect", "--for", "training", FRAMES, "--fix", "--output", str(tmp_path / "no"), "--keep-reasoning")
    why = "no condition of the template was found whose change keeps reasoning"
    assert (without.exit_code, without.stderr) == (2, f"toolfmt: {FRAMES}: {why}\n")
    assert not (tmp_path / "no").exists()


def test_fix_with_json_has_the_diff(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    result = run("inspect", "--for", "training", FRAMES, "--fix", "--output", str(copy), "--json")
    report = json.loads(result.stdout)
    assert (report["path"], report["generation_tags"], report["findings"]) == (str(copy), "right", [])
    assert sorted(report["files"]) == sorted(path.name for path in copy.iterdir())
    assert report["diff"].startswith("--- a/chat_template.jinja\n+++ b/chat_template.jinja\n")


def test_a_template_file_alone_can_be_fixed(tmp_path: Path) -> None:
    (tmp_path / "mine.jinja").write_text(TEMPLATE, "utf-8")
    copy = tmp_path / "copy"
    result = run("inspect", "--for", "training", str(tmp_path / "mine.jinja"), "--fix", "--output", str(copy))
    assert result.exit_code == 0, result.stderr
    assert [path.name for path in copy.iterdir()] == ["mine.jinja"]
    again = run("inspect", "--for", "training", str(copy / "mine.jinja"), "--fix", "--output", str(tmp_path / "again"))
    why = "no copy is written. The `{% generation %}` tags already mark exactly the responses."
    assert (again.exit_code, again.stderr) == (2, f"toolfmt: {copy / 'mine.jinja'}: {why}\n")


def test_if_no_tags_can_be_placed_no_copy_is_written(tmp_path: Path) -> None:
    model = other(tmp_path, "{{ messages | map(attribute='content') | join('<|im_end|>') }}<|im_end|>")
    copy = tmp_path / "copy"
    result = run("inspect", "--for", "training", model, "--fix", "--output", str(copy))
    assert (result.exit_code, result.stdout) == (2, "")
    assert "no copy is written. " in result.stderr
    assert not copy.exists()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([FRAMES, FRAMES + "/../xml-functions"], "--for training inspects one model; pass one MODEL"),
        ([FRAMES, "--full"], "--for training does not support --full"),
        ([FRAMES, "--require", "tools"], "--for training does not support --require"),
        ([FRAMES, "--select", "TF014"], "--for training does not support --select"),
        ([FRAMES, "--output-format", "sarif"], "--for training does not support --output-format, except"),
        ([FRAMES, "--fix"], "--fix and --output DIR go together"),
        ([FRAMES, "--keep-reasoning"], "--keep-reasoning goes with --for training --fix"),
        ([FRAMES, "--fix", "--output", FRAMES], f"--output {FRAMES}: in the model directory, which is never changed"),
        (["nowhere"], "nowhere: no such file or directory"),
    ],
)
def test_bad_options_are_one_line(options: list[str], expected: str) -> None:
    result = run("inspect", "--for", "training", *options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"toolfmt: {expected}")
    assert result.stderr.count("\n") == 1
