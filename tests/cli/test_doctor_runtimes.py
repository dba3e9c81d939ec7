"""`toolfmt doctor` with real servers: mlx-lm's own, and toolfmt's server for mlx-lm."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import toolfmt
from toolfmt.cli.commands import main

CALL = [("get_weather", {"city": "Bergen", "days": 3})]


def diagnosis(url: str, *arguments: str) -> dict[str, Any]:
    given = {"OPENAI_API_KEY": "", "no_proxy": "*"}
    result = CliRunner().invoke(main, ["doctor", "--endpoint", url, "--json", *arguments], env=given)
    printed: dict[str, Any] = json.loads(result.stdout)
    return printed


def outcomes(found: dict[str, Any]) -> dict[str, str]:
    return {check["name"]: check["outcome"] for check in found["checks"]}


@pytest.fixture(scope="module")
def reciting(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that makes one call for every prompt."""
    for name in ("mlx.core", "mlx_lm"):
        pytest.importorskip(name, reason="mlx-lm is there on Linux and macOS only")
    tiny = importlib.import_module("tiny_models")
    answer = toolfmt.write("json", CALL)
    made: Path = tiny.recite(
        tmp_path_factory.mktemp("tiny"), template=tiny.TEMPLATE, answer=answer, special=["<|im_start|>"]
    )
    return made


def have_downloads(there: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """mlx-lm lists the models that Hugging Face's library downloaded, and answers with nothing without its folder."""
    if there:
        (tmp_path / "hub").mkdir()
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))


def test_the_server_for_mlx_lm_is_healthy(reciting: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mlx_serving import served

    have_downloads(False, tmp_path, monkeypatch)
    with served(reciting) as url:
        found = diagnosis(url, "--model", str(reciting), "--directory", str(reciting))
    # The model makes the same call for every question, also if another tool is named.
    assert [finding["name"] for finding in found["findings"]] in ([], ["tool-choice-ignored"])
    assert found["server"] == "mlx-lm"
    checks = outcomes(found)
    assert checks["one-call"] == checks["cut"] == "passed"
    assert checks["parallel-calls"] == checks["no-call"] == "undecided"


@pytest.mark.parametrize("declared", [True, False])
def test_mlx_lms_own_server_is_healthy_with_the_parser_that_the_fix_names(
    declared: bool, reciting: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The template does not show the format in a way that mlx-lm recognizes."""
    directory = tmp_path / "tiny"
    directory.mkdir()
    for file in reciting.iterdir():
        (directory / file.name).write_bytes(file.read_bytes())
    if declared:
        config = directory / "tokenizer_config.json"
        values = json.loads(config.read_text("utf-8")) | {"tool_parser_type": "json_tools"}
        config.write_text(json.dumps(values), "utf-8")
    from mlx_serving import served

    have_downloads(declared, tmp_path, monkeypatch)
    with served(directory, own=True) as url:
        found = diagnosis(url, "--model", str(directory), "--directory", str(directory))
    names = [finding["name"] for finding in found["findings"]]
    assert found["server"] == "mlx-lm"
    if declared:
        assert names in ([], ["tool-choice-ignored"])
        assert outcomes(found)["one-call"] == "passed"
    else:
        assert names == ["call-left-in-content"]
        assert found["findings"][0]["fix"][1] == 'mlx-lm: "tool_parser_type": "json_tools" (in tokenizer_config.json)'
