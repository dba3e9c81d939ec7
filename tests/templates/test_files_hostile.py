"""Places made to hang or to fill the memory of the one who reads them, and slips of hand that must cost nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks.attacks import HONEST
from toolfmt.cli.commands import main
from toolfmt.cli.printing.control_characters import LONGEST, is_unseen, visible
from toolfmt.errors import BadModelDirectory, LimitHit
from toolfmt.inspect import inspection
from toolfmt.inspect.facts import NO_OPTIONS
from toolfmt.inspect.probe.eos_tokens import eos_texts
from toolfmt.templates import load_files, model_places
from toolfmt.templates.files.directory import MOST_TEMPLATES
from toolfmt.templates.files.repository import Repository, snapshot

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
    begin = time.process_time()
    found = load_files(model)
    assert len(found.conflicts) > 0
    assert time.process_time() - begin < 5
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

    def reject(directory: Path) -> None:
        raise AssertionError("the tokenizer was asked for")

    monkeypatch.setattr(inspection, "find_tokenizer", reject)
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
        assert (result.exit_code, "toolfmt: the name is empty" in result.stderr) == (2, True)


def test_a_page_does_not_replace_what_is_no_page(model: Path) -> None:
    template = model / "chat_template.jinja"
    result = CliRunner().invoke(main, ["inspect", str(model), "--output-format", f"html={template}", "--trusted"])
    assert (result.exit_code, result.stderr) == (
        2,
        f"toolfmt: {template}: exists and is not a web page; remove it or name another file\n",
    )
    assert template.read_text("utf-8") == HONEST
    page = model / "report.html"
    for _ in range(2):  # a page may be written again
        assert (
            CliRunner().invoke(main, ["inspect", str(model), "--output-format", f"html={page}", "--trusted"]).exit_code
            == 0
        )
    assert page.read_text("utf-8").lower().startswith("<!doctype html")


def test_a_configuration_nested_by_the_hundreds_ends_in_one_line(model: Path) -> None:
    (model / "config.json").write_text('{"a":' + "[" * 960 + "]" * 960 + "}", "utf-8")
    result = CliRunner().invoke(main, ["inspect", str(model)])
    assert result.exit_code in (1, 2)
    assert len(result.stderr.splitlines()) == result.exit_code - 1


@posix
@pytest.mark.parametrize("option", ["--messages", "--tools"])
def test_a_file_that_never_ends_is_given_up(option: str, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolfmt.cli.input._LONGEST_JSON", 1_000_000)
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


@pytest.mark.parametrize(
    ("file", "values", "problem"),
    [
        (
            "tokenizer_config.json",
            {"eos_token": "x" * 5_000_000},
            "tokenizer_config.json: eos_token is a string of 5,000,000 characters, too long for a token; it is ignored",
        ),
        (
            "config.json",
            {"model_type": "m " * 100_000},
            "config.json: model_type is a string of 200,000 characters, too long for a name; it is ignored",
        ),
        (
            "tokenizer_config.json",
            {"chat_template": [{"name": "n" * 300, "template": HONEST}]},
            "tokenizer_config.json: the name of chat_template[0] is a string of 300 characters, too long for a name; "
            "it is ignored",
        ),
        (
            "tokenizer_config.json",
            {"eos_token": "<e>", **{f"{number}_token": "<t>" for number in range(2_000)}},
            "tokenizer_config.json: 2,001 special tokens have names; all but 1,000 are ignored",
        ),
    ],
)
def test_what_is_longer_than_any_of_its_kind_is_no_part_of_a_report(
    file: str, values: dict[str, object], problem: str, model: Path
) -> None:
    (model / file).write_text(json.dumps(values), "utf-8")
    found = load_files(model)
    assert found.problems == (problem,)
    assert len(found.special_tokens) in (0, 1_000)
    assert {source.name for source in found.templates} == {"default"}
    assert max(map(len, [found.model_type or "", *found.special_tokens.values()])) < 1_000


def test_a_configuration_of_too_many_values_is_not_read(model: Path) -> None:
    (model / "config.json").write_text('{"a": [' + "{}," * 2_000_000 + "{}]}", "utf-8")
    with pytest.raises(BadModelDirectory, match="some 4,000,003 values, more than a configuration has"):
        load_files(model)


def test_very_long_declared_parsers_are_reported_briefly(model: Path) -> None:
    declared = {"tool_parser_type": "p" * 100_000, "chat_template_type": "c" * 100_000}
    opens = {"fields": {"tool_calls": {"open": [f"<{number}>" for number in range(100_000)]}}}
    (model / "tokenizer_config.json").write_text(json.dumps(declared | {"response_template": opens}), "utf-8")
    report = inspection.inspect_files(load_files(model))
    assert "TF023" in {finding.code for finding in report.findings}
    assert len(json.dumps(report.to_dict())) < 100_000


def test_of_many_ids_that_end_an_answer_some_are_looked_up(model: Path) -> None:
    (model / "generation_config.json").write_text(json.dumps({"eos_token_id": list(range(100_000))}), "utf-8")
    assert len(eos_texts(load_files(model), None)) == 100


def test_many_templates_of_one_name_are_one_note(model: Path) -> None:
    entries = [{"name": "default", "template": f"{HONEST}{number}"} for number in range(100)]
    (model / "tokenizer_config.json").write_text(json.dumps({"chat_template": entries}), "utf-8")
    (model / "chat_template.jinja").unlink()
    report = inspection.inspect_files(load_files(model))
    assert sum(finding.code == "TF021" for finding in (*report.findings, *report.notes)) == 1


def test_a_finding_is_no_longer_than_can_be_read(model: Path) -> None:
    (model / "chat_template.jinja").write_text(HONEST + "{{ " + "v" * 100_000 + " + 'a' }}", "utf-8")
    report = inspection.inspect_files(load_files(model))
    assert max(len(finding.message) + len(finding.fix) for finding in report.findings) < 11_000


EVIL = "\x1b[31m\u202e\x9b1m\x7f\u2066\U000e0041"


@pytest.mark.parametrize(
    "arguments",
    [["--json"], ["--full"], *(["--output-format", format] for format in ("sarif", "markdown", "github", "junit"))],
)
def test_nothing_of_a_model_reaches_a_terminal_raw(arguments: list[str], model: Path) -> None:
    rejecting = f"{{% if tools %}}{{{{ raise_exception({json.dumps(EVIL, ensure_ascii=False)}) }}}}{{% endif %}}"
    (model / "chat_template.jinja").write_text(HONEST + EVIL + rejecting, "utf-8")
    tokens = {"eos_token": EVIL, "tool_parser_type": EVIL, "chat_template_type": EVIL}
    (model / "tokenizer_config.json").write_text(json.dumps(tokens), "utf-8")
    (model / "config.json").write_text(json.dumps({"model_type": EVIL}), "utf-8")
    result = CliRunner().invoke(main, ["inspect", str(model), "--trusted", *arguments])
    assert result.exit_code == 0
    assert not set(EVIL) & set(result.stdout) - set("[31m1m")
    if "--json" in arguments:
        assert json.loads(result.stdout)["model_type"] == EVIL


@posix
def test_an_error_cannot_move_the_cursor_either(tmp_path: Path) -> None:
    place = tmp_path / f"{EVIL}.gguf"
    place.write_bytes(b"no such thing")
    result = CliRunner().invoke(main, ["inspect", str(place)])
    assert result.exit_code == 2
    assert not set(EVIL) & set(result.stderr) - set("[31m1m")
    assert "\\x1b[31m\\u202e" in result.stderr


def test_a_text_of_megabytes_is_cut_where_it_is_printed() -> None:
    assert visible("\x1b" * 5_000_000) == "\\x1b" * LONGEST + "… (5,000,000 characters)"


@pytest.mark.sample(1)
@posix
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no device that is always full")
@pytest.mark.parametrize(
    "arguments",
    [
        ["inspect", "/nowhere"],
        ["inspect", "/nowhere", "/neither"],
        ["parse", "-", "--format", "json"],
        ["explain", "TF999"],
        ["--bogus"],
    ],
)
def test_a_failed_write_to_standard_error_gives_status_2(arguments: list[str]) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "toolfmt", *arguments],
            input=b"no \xff UTF-8",
            stdout=subprocess.PIPE,
            stderr=full,
            timeout=300,
        )
    assert done.returncode == 2
    if arguments[0] == "parse":  # what is not reported stops nothing else
        assert json.loads(done.stdout.decode().splitlines()[-1])["type"] == "content"


@posix
def test_a_closed_standard_error_does_not_change_the_status() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    parse = [sys.executable, "-m", "toolfmt", "parse", "-", "--format", "json"]
    done = subprocess.run(parse, input=b"\xff", stdout=subprocess.PIPE, stderr=writing, timeout=300)
    os.close(writing)
    assert done.returncode == 0


@pytest.mark.sample(0)
def test_of_many_unreadable_paths_only_some_are_reported(tmp_path: Path) -> None:
    places = [str(tmp_path / f"no-{number}") for number in range(1_000)]
    result = CliRunner().invoke(main, ["inspect", *places])
    lines = result.stderr.splitlines()
    assert (result.exit_code, len(lines)) == (2, 21)
    assert lines[-1] == "toolfmt: and 980 more places"


@pytest.mark.parametrize("output", ["events", "message", "openai"])
def test_nothing_of_an_answer_reaches_a_terminal_raw(output: str) -> None:
    text = f"{EVIL} é 😀 \x1b]0;title\x07"
    call = f'<tool_call>{{"name": "f", "arguments": {{"a": {json.dumps(text, ensure_ascii=False)}}}}}</tool_call>'
    given = ["parse", "-", "--format", "json", "--output", output]
    printed = CliRunner().invoke(main, given, input=text.encode() + b"\n" + call.encode()).stdout
    assert not {char for char in printed if char != "\n" and is_unseen(char)}
    assert "é 😀" in printed  # what is seen stays readable
    if output == "events":
        events = [json.loads(line) for line in printed.splitlines()]
        content = "".join(event["text"] for event in events if event["type"] == "content")
        arguments = "".join(event["delta"] for event in events if event["type"] == "tool_call_arguments")
        assert (content.strip(), json.loads(arguments)) == (text.strip(), {"a": text})


def test_an_invalid_tool_is_reported_by_name(tmp_path: Path) -> None:
    tools = tmp_path / "tools.json"
    for number, why in (("NaN", "NaN"), ("1e999", "Infinity"), ("-Infinity", "Infinity")):
        tools.write_text(f'[{{"name": "f", "parameters": {{"maximum": {number}}}}}]', "utf-8")
        result = CliRunner().invoke(main, ["parse", "-", "--format", "json", "--tools", str(tools)], input="x")
        message = f"toolfmt: {tools}: the tool 'f': {why} in its parameters; give what JSON holds\n"
        assert (result.exit_code, result.stderr) == (2, message)
