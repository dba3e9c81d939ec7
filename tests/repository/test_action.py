"""`action.yml`: its steps, run in order by bash with the environment of a GitHub runner.

The two steps of other actions (setting up Python, uploading) are not run. The Python that installs is a stand-in: the
environment that it makes is a folder of programs, which installs nothing and has the `toolfmt` of these tests.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]  # PyYAML carries no types
from click.testing import CliRunner
from model_cases import MODELS

from toolfmt.cli.commands import main

ACTION: dict[str, Any] = yaml.safe_load((Path(__file__).parents[2] / "action.yml").read_text("utf-8"))
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]
EXPRESSION = re.compile(r"\$\{\{ ([\w.-]+) \}\}")


MAKES_AN_ENVIRONMENT = """\
[ "$1 $2" = "-m venv" ] || exit 9
mkdir -p "$3/{programs}"
cd "$3/{programs}"
printf '#!/bin/sh\\necho "$@" > "%s/installed"\\n' "$3" > python
printf '#!/bin/sh\\n%s\\n' '{toolfmt}' > toolfmt
chmod +x python toolfmt"""
"""The stand-in for Python: `-m venv DIR`, with the programs in the platform's folder."""


class Runner:
    """What a runner keeps while it runs the steps of a composite action."""

    def __init__(self, folder: Path, inputs: dict[str, str], programs: str = "bin") -> None:
        self.folder = folder
        self.temp, self.summary = folder / "temp", folder / "step summary.md"
        self.values = {f"inputs.{name}": str(definition["default"]) for name, definition in ACTION["inputs"].items()}
        self.values |= {f"inputs.{name}": value for name, value in inputs.items()}
        self.values["github.action_path"] = str(Path(__file__).parents[2])
        self.path = folder / "python"
        self.temp.mkdir()
        self.path.mkdir()
        toolfmt = f'exec "{sys.executable}" -m toolfmt "$@"'
        _program(self.path / "python", MAKES_AN_ENVIRONMENT.format(programs=programs, toolfmt=toolfmt))

    def run(self, step: dict[str, Any]) -> subprocess.CompletedProcess[str]:
        """Run the script of a step, and keep its outputs."""
        outputs = self.temp / "outputs"
        outputs.write_text("")
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step["run"]],
            cwd=self.folder,
            env={
                "PATH": f"{self.path}:/usr/bin:/bin",
                "PYTHONPATH": str(Path(__file__).parents[2]),
                "RUNNER_TEMP": str(self.temp),
                "GITHUB_OUTPUT": str(outputs),
                "GITHUB_STEP_SUMMARY": str(self.summary),
                **{name: self.valued(value) for name, value in step["env"].items()},
            },
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        for line in outputs.read_text().splitlines():
            name, _, value = line.partition("=")
            self.values[f"steps.{step['id']}.outputs.{name}"] = value
        return done

    def valued(self, text: str) -> str:
        """A text with the values of its expressions; missing outputs are empty."""
        return EXPRESSION.sub(lambda found: self.values.get(found[1], ""), text)

    def output(self, name: str) -> str:
        return self.valued(ACTION["outputs"][name]["value"])


def _program(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def named(name: str) -> dict[str, Any]:
    (step,) = [step for step in STEPS if step["name"] == name]
    return step


def inspected(folder: Path, **inputs: str) -> tuple[Runner, subprocess.CompletedProcess[str], int]:
    """The steps of the action that are scripts, in order: the runner, the inspection, how the action ends."""
    runner = Runner(folder, {name.replace("_", "-"): value for name, value in inputs.items()})
    assert runner.run(named("Install toolfmt")).returncode == 0
    done = runner.run(named("Inspect"))
    assert (done.returncode, [step["name"] for step in STEPS if "run" in step][-2:]) == (0, ["Inspect", "Result"])
    return runner, done, runner.run(named("Result")).returncode


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("places", "inputs", "status"),
    [
        ("json-frames", {}, 0),
        ("json-frames\ndouble-encoded", {}, 0),
        ("json-frames\ndouble-encoded\n", {"fail_on": "warning"}, 1),
        ("in-conflict", {}, 1),
        ("in-conflict", {"fail_on": "never"}, 0),
        ("no-tools-no-system", {"require": "tools"}, 1),
        ("double-encoded", {"fail_on": "warning", "ignore": "warning"}, 0),
        ("double-encoded", {"fail_on": "warning", "select": "TF011"}, 0),
        ("gone\njson-frames", {}, 2),
    ],
)
def test_the_steps_end_as_the_inspection_does(places: str, inputs: dict[str, str], status: int, tmp_path: Path) -> None:
    given = "\n".join(str(MODELS / place) if place else "" for place in places.split("\n"))
    runner, done, result = inspected(tmp_path, places=given, **inputs)
    assert (result, runner.output("status")) == (status, str(status)), done.stderr
    log = json.loads(Path(runner.output("sarif")).read_text("utf-8"))
    verdicts = [one["place"] for one in log["runs"][0]["properties"]["verdicts"]]
    assert verdicts == [place for place in places.split("\n") if place not in ("gone", "")]
    summary = Path(runner.output("summary")).read_text("utf-8")
    assert summary.startswith("### toolfmt: ")
    assert (done.stdout, runner.summary.read_text("utf-8")) == (summary, summary)


@pytest.mark.sample(1)
@pytest.mark.parametrize("programs", ["bin", "Scripts"])
def test_programs_are_found_where_an_environment_has_them(programs: str, tmp_path: Path) -> None:
    runner = Runner(tmp_path, {"places": str(MODELS / "json-frames")}, programs)
    assert runner.run(named("Install toolfmt")).returncode == 0
    installed = (runner.temp / "toolfmt" / "installed").read_text()
    assert installed == f"-m pip install --quiet {Path(__file__).parents[2]}[gguf]\n"
    assert runner.run(named("Inspect")).returncode == 0
    assert runner.output("summary")


def test_with_a_baseline_only_what_is_new_fails(tmp_path: Path) -> None:
    place, baseline = str(MODELS / "in-conflict"), tmp_path / "toolfmt.json"
    baseline.write_text(CliRunner().invoke(main, ["inspect", place, "--json"]).stdout)
    runner, _, result = inspected(tmp_path, places=place, baseline=str(baseline))
    assert (result, "0 new" in runner.summary.read_text("utf-8")) == (0, False)
    report = json.loads(baseline.read_text("utf-8"))
    (tmp_path / "again").mkdir()
    baseline.write_text(
        json.dumps(report | {"findings": [one for one in report["findings"] if one["code"] != "TF022"]})
    )
    runner, _, result = inspected(tmp_path / "again", places=place, baseline=str(baseline))
    assert (result, "1 (1 new)" in runner.summary.read_text("utf-8")) == (1, True)


def test_nothing_is_uploaded_where_it_could_not_look_at_all(tmp_path: Path) -> None:
    for inputs in ({"fail_on": "nonsense"}, {"places": ""}, {"baseline": "gone.json"}):
        folder = tmp_path / next(iter(inputs))
        folder.mkdir()
        runner, done, result = inspected(folder, **{"places": str(MODELS / "json-frames"), **inputs})
        assert (result, runner.output("sarif"), runner.output("summary")) == (2, "", "")
        assert done.stderr.startswith("toolfmt: ")


def test_what_is_typed_for_an_input_runs_nothing(tmp_path: Path) -> None:
    evil = f'$(touch {tmp_path}/a)`touch {tmp_path}/b`"; touch {tmp_path}/c; "'
    inspected(tmp_path, places=evil, ignore=evil, select=evil, require=evil, baseline=evil, fail_on=evil)
    assert {path.name for path in tmp_path.iterdir()} <= {"temp", "python", "step summary.md"}
    for step in STEPS:
        assert "${{" not in step.get("run", "")


def test_an_option_cannot_be_given_as_a_place(tmp_path: Path) -> None:
    _, done, result = inspected(tmp_path, places="--help")
    assert (result, done.stderr.startswith("toolfmt: --help: no such file or directory")) == (2, True)


def test_the_page_shows_an_action_and_a_hook_that_are_there() -> None:
    page = (Path(__file__).parents[2] / "docs" / "in_ci.md").read_text("utf-8")
    hooks, gitlab, workflow = (yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL))
    job = gitlab["toolfmt"]
    assert f"--output-format junit={job['artifacts']['reports']['junit']}" in job["script"]
    (used,) = [step for step in workflow["steps"] if "toolfmt" in step["uses"]]
    assert (used["with"].keys() - ACTION["inputs"].keys(), workflow["permissions"]["security-events"]) == (
        set(),
        "write",
    )
    table = page[page.index("| input | is |") :].split("\n\n")[0]
    assert set(re.findall(r"`([\w-]+)`", re.sub(r"(?m)^(\|[^|]*\|).*", r"\1", table))) == set(ACTION["inputs"])
    hook = yaml.safe_load((Path(__file__).parents[2] / ".pre-commit-hooks.yaml").read_text("utf-8"))[0]
    assert [one["id"] for repository in hooks["repos"] for one in repository["hooks"]] == [hook["id"]]


def test_every_expression_names_something_that_is_there() -> None:
    text = (Path(__file__).parents[2] / "action.yml").read_text("utf-8")
    outputs = {
        f"steps.{step['id']}.outputs.{name}"
        for step in STEPS
        if "id" in step
        for name in re.findall(r'echo "(\w+)=', step["run"])
    }
    known = {f"inputs.{name}" for name in ACTION["inputs"]} | outputs | {"github.action_path"}
    used = set(re.findall(r"(?:inputs|steps|github)\.[\w.-]+", " ".join(re.findall(r"\$\{\{(.*?)\}\}", text))))
    assert (used - known, {f"inputs.{name}" for name in ACTION["inputs"]} - used) == (set(), set())
    assert all("shell" in step for step in STEPS if "run" in step)
    assert [step["uses"] for step in STEPS if "uses" in step] == [
        "actions/setup-python@v5",
        "github/codeql-action/upload-sarif@v3",
    ]
