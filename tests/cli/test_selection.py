"""`--runtime` restricts a report to what concerns these runtimes: findings, verdict, settings and exit status."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import run
from model_cases import MODELS

from toolfmt.inspect.runtimes.template_choice import RUNTIMES

ENCODED, CONFLICT = str(MODELS / "double-encoded"), str(MODELS / "in-conflict")


def report(*arguments: str) -> dict[str, Any]:
    shown: dict[str, Any] = json.loads(run("inspect", *arguments, "--json").stdout)
    return shown


def codes(shown: dict[str, Any]) -> list[str]:
    return [finding["code"] for finding in shown["findings"]]


def test_a_runtime_that_converts_arguments_is_not_concerned_by_their_form() -> None:
    every, vllm = report(ENCODED), report(ENCODED, "--runtime", "vllm")
    assert (every["verdict"]["tools"], codes(every)) == ("adapted", ["TF014", "TF061"])
    assert (vllm["verdict"]["tools"], codes(vllm)) == ("native", [])
    assert vllm["verdict"]["runtimes"] == {
        "vLLM": {"status": "works with", "settings": every["verdict"]["runtimes"]["vLLM"]["settings"], "codes": []}
    }
    assert [row["runtime"] for row in vllm["advice"]] == ["vLLM"]
    assert [row["runtime"] for row in vllm["runtime_support"]] == ["vLLM"]
    assert {finding["code"]: finding["runtimes"] for finding in every["findings"]} == {
        "TF014": ["transformers"],
        "TF061": ["mlx-lm"],
    }


def test_advice_for_every_runtime_is_also_for_one() -> None:
    shown = report(str(MODELS / "no-tools-no-system"), "--runtime", "vLLM")
    assert [row["runtime"] for row in shown["advice"]] == ["any runtime"]
    assert shown["verdict"]["runtimes"]["vLLM"]["status"] == "tools as text"


def test_several_runtimes_are_those_of_any_of_them() -> None:
    shown = report(ENCODED, "--runtime", "MLX-LM", "--runtime", "transformers", "--runtime", "mlx-lm")
    assert (shown["verdict"]["tools"], codes(shown)) == ("adapted", ["TF014", "TF061"])
    assert list(shown["verdict"]["runtimes"]) == ["transformers", "mlx-lm"]
    assert report(ENCODED, *(word for name in RUNTIMES for word in ("--runtime", name))) == report(ENCODED)


@pytest.mark.parametrize(
    ("options", "status"),
    [
        ((), 1),
        (("--runtime", "mlx-lm"), 1),
        (("--runtime", "vLLM"), 0),
        (("--runtime", "vLLM", "--fail-on", "warning"), 0),
        (("--runtime", "llama.cpp", "--fail-on", "warning"), 1),
        (("--runtime", "llama.cpp", "--fail-on", "warning", "--ignore", "TF021"), 0),
        (("--runtime", "vLLM", "--require", "tools"), 0),
    ],
)
def test_the_exit_status_is_that_of_the_runtimes(options: tuple[str, ...], status: int) -> None:
    assert run("inspect", CONFLICT, *options).exit_code == status


def test_if_tools_are_required_they_have_to_work_in_each_runtime() -> None:
    """mlx-swift-lm has no parser for this format; mlx-lm's server works with toolfmt's."""
    derived = str(MODELS / "format-of-its-own")
    both = ("--runtime", "mlx-lm", "--runtime", "mlx-swift-lm")
    assert run("inspect", derived, "--require", "tools").exit_code == 0
    assert run("inspect", derived, *both).exit_code == 0
    assert run("inspect", derived, *both, "--require", "tools").exit_code == 1
    assert run("inspect", derived, *both[:2], "--require", "tools").exit_code == 0
    shown = report(derived, *both[2:])
    assert shown["verdict"]["tools"] == "broken"
    assert shown["verdict"]["sentence"] == "Tool calling fails in mlx-swift-lm: no parser for this format."


def test_a_runtime_in_which_tools_did_not_work_before_does_not_fail(tmp_path: Path) -> None:
    derived, file = str(MODELS / "format-of-its-own"), tmp_path / "before.json"
    file.write_text(run("inspect", derived, "--json").stdout, "utf-8")
    required = ("--require", "tools", "--runtime", "mlx-swift-lm", "--baseline", str(file))
    assert run("inspect", derived, *required).exit_code == 0
    before = json.loads(file.read_text("utf-8"))
    before["verdict"]["runtimes"]["mlx-swift-lm"]["status"] = "works"
    file.write_text(json.dumps(before), "utf-8")
    assert run("inspect", derived, *required).exit_code == 1


@pytest.mark.parametrize(
    ("runtimes", "sentence"),
    [
        (["llama.cpp"], "It is not confirmed that tool calling works in llama.cpp. Format: derived"),
        (["vLLM", "llama.cpp"], "Tool calling works with the template as it is. Format: derived"),
        (["mlx-lm", "mlx-swift-lm"], "Tool calling works with the template as it is. Format: derived"),
    ],
)
def test_the_verdict_on_runtimes_is_that_of_their_statuses(runtimes: list[str], sentence: str) -> None:
    shown = report(str(MODELS / "format-of-its-own"), *(word for name in runtimes for word in ("--runtime", name)))
    assert shown["verdict"]["sentence"].startswith(sentence)
    assert shown["verdict"]["tools"] == ("adapted" if runtimes == ["llama.cpp"] else "native")
    assert shown["verdict"]["sentence"].endswith("It fails in mlx-swift-lm.") == ("mlx-swift-lm" in runtimes)


def test_reports_in_a_file_are_those_of_all_runtimes(tmp_path: Path) -> None:
    """A later run may ask for other runtimes."""
    file = str(tmp_path / "reports.jsonl")
    for name, status in (("vLLM", 0), ("mlx-lm", 1)):
        made = run("inspect", CONFLICT, "--json", "--continue", file, "--runtime", name)
        assert made.exit_code == status, made.stderr
    assert "TF022" in Path(file).read_text("utf-8")


def test_differences_are_those_of_the_runtimes() -> None:
    pair = (str(MODELS / "xml-functions"), str(MODELS / "named-templates"))
    assert "TF061" in run("diff", *pair).stdout
    restricted = run("diff", *pair, "--runtime", "sglang").stdout
    assert "TF061" not in restricted
    assert "TF021" in restricted


@pytest.mark.parametrize("command", ["inspect", "diff"])
def test_an_unknown_runtime_is_one_line_with_the_known_ones(command: str) -> None:
    made = run(command, ENCODED, ENCODED, "--runtime", "ollama")
    assert (made.exit_code, made.stderr.count("\n")) == (2, 1)
    assert "no runtime is called 'ollama'; known are transformers, vLLM, SGLang, mlx-lm" in made.stderr
