"""Places made to hang or to fill the memory of the one who reads them, and slips of hand that must cost nothing."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks.attacks import HONEST
from toolfmt.cli import main
from toolfmt.errors import BadModelDirectory, LimitHit
from toolfmt.inspect import inspection
from toolfmt.inspect.facts import NO_OPTIONS
from toolfmt.templates import load_files, model_places
from toolfmt.templates.directory import MOST_TEMPLATES
from toolfmt.templates.repository import Repository, snapshot

posix = pytest.mark.skipif(sys.platform == "win32", reason="pipes and sparse files are those of POSIX")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    directory = tmp_path / "model"
    directory.mkdir()
    (directory / "chat_template.jinja").write_text(HONEST, "utf-8")
    return directory


@posix
@pytest.mark.parametrize("name", ["config.json", "tokenizer_config.json", "generation_config.json"])
def test_a_configuration_of_gigabytes_is_not_read(name: str, model: Path) -> None:
    with (model / name).open("wb") as file:
        file.truncate(20 << 30)
    with pytest.raises(BadModelDirectory, match="21,474,836,480 bytes, more than a configuration has"):
        load_files(model)


def test_of_thousands_of_templates_some_are_read(model: Path) -> None:
    entries = [{"name": "default", "template": f"{HONEST}{number}"} for number in range(20_000)]
    (model / "tokenizer_config.json").write_text(json.dumps({"chat_template": entries}), "utf-8")
    more = model / "additional_chat_templates"
    more.mkdir()
    for number in range(150):
        (more / f"{number}.jinja").write_text(HONEST, "utf-8")
    begin = time.monotonic()
    found = load_files(model)
    assert len(found.conflicts) > 0
    assert time.monotonic() - begin < 5
    assert len(found.templates) == 1 + 2 * MOST_TEMPLATES
    assert found.problems == (
        "additional_chat_templates/ holds 150 templates; all but 100 are ignored",
        "tokenizer_config.json: chat_template holds 20,000 templates; all but 100 are ignored",
    )


def test_after_a_limit_the_tokenizer_is_not_read_outside_of_the_process(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (model / "tokenizer.json").write_text("{}", "utf-8")
    (model / "config.json").write_text('{"eos_token_id": 1}', "utf-8")

    def refuse(directory: Path) -> None:
        raise AssertionError("the tokenizer was asked for")

    monkeypatch.setattr(inspection, "find_tokenizer", refuse)
    report = inspection.inspect_stopped(load_files(model), NO_OPTIONS, LimitHit("memory ran out", "memory"))
    assert "TF007" in [finding.code for finding in report.findings]


@posix
@pytest.mark.parametrize("reference", ["pipe", "zero", "../../elsewhere", "\udcff", ""])
def test_a_reference_of_the_cache_that_is_none_finds_nothing(reference: str, tmp_path: Path) -> None:
    references = tmp_path / "models--org--name" / "refs"
    references.mkdir(parents=True)
    if reference == "pipe":
        os.mkfifo(references / "main")
    elif reference == "zero":
        (references / "main").symlink_to("/dev/zero")
    else:
        (references / "main").write_text(reference, "utf-8", "surrogateescape")
    assert snapshot(Repository("org/name"), tmp_path) is None


def test_an_empty_name_is_not_the_current_directory(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(model)
    assert model_places("") == []
    for command in (["inspect", ""], ["diff", "", "."]):
        result = CliRunner().invoke(main, command)
        assert (result.exit_code, "toolfmt: an empty name, which is no place" in result.stderr) == (2, True)


def test_a_page_does_not_replace_what_is_no_page(model: Path) -> None:
    template = model / "chat_template.jinja"
    result = CliRunner().invoke(main, ["inspect", str(model), "--html", str(template), "--trusted"])
    assert (result.exit_code, result.stderr) == (
        2,
        f"toolfmt: {template}: there already, and no web page; remove it or name another file\n",
    )
    assert template.read_text("utf-8") == HONEST
    page = model / "report.html"
    for _ in range(2):  # a page may be written again
        assert CliRunner().invoke(main, ["inspect", str(model), "--html", str(page), "--trusted"]).exit_code == 1
    assert page.read_text("utf-8").lower().startswith("<!doctype html")


def test_a_configuration_nested_by_the_hundreds_ends_in_one_line(model: Path) -> None:
    (model / "config.json").write_text('{"a":' + "[" * 960 + "]" * 960 + "}", "utf-8")
    result = CliRunner().invoke(main, ["inspect", str(model)])
    assert result.exit_code in (1, 2)
    assert len(result.stderr.splitlines()) == result.exit_code - 1


@posix
@pytest.mark.parametrize("option", ["--messages", "--tools"])
def test_a_file_that_never_ends_is_given_up(option: str, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolfmt.input._LONGEST_JSON", 1_000_000)
    given = {"--messages": "/dev/null", option: "/dev/zero"}
    if option == "--tools":
        messages = model / "messages.json"
        messages.write_text('[{"role": "user", "content": "hi"}]', "utf-8")
        given["--messages"] = str(messages)
    result = CliRunner().invoke(main, ["render", str(model), *(word for pair in given.items() for word in pair)])
    assert (result.exit_code, result.stderr) == (2, "toolfmt: /dev/zero: more than 1,000,000 bytes; give a JSON list\n")


@posix
def test_a_name_that_is_no_utf8_has_its_bytes_in_sarif(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    name = os.fsdecode(b"a\xff.jinja")
    try:
        Path(name).write_text(HONEST, "utf-8")
    except OSError:
        pytest.skip("this file system takes names of UTF-8 only")
    result = CliRunner().invoke(main, ["inspect", name, "--output-format", "sarif", "--trusted"])
    found = json.loads(result.stdout)["runs"][0]["results"][0]
    assert found["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "a%FF.jinja"
