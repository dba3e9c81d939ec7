"""`toolfmt inspect` on several models and with selected findings: the table, JSON, exit statuses, what is shown and
counted.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import Any

import depth
import pytest
from click.testing import CliRunner
from invented_reports import CLEAN, REPORTS, finding, lines, run, run_json
from model_cases import MODELS, made

from toolfmt.cli.commands import main
from toolfmt.cli.rules.selection import Selection
from toolfmt.errors import BadTools
from toolfmt.inspect.checks import ALL_OUTCOMES, UnknownCode, keys_of, moved
from toolfmt.inspect.facts import InspectionOptions
from toolfmt.inspect.report.report import (
    Report,
)
from toolfmt.model.batch import expanded


@pytest.fixture(autouse=True)
def fixed_terminal_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")


def codes(findings: list[dict[str, Any]]) -> list[str]:
    return [one["code"] for one in findings]


# --- several places


@pytest.mark.usefixtures("invented")
def test_several_places_are_a_line_each_and_a_summary() -> None:
    result = run("bad", "fair", "noted", "clean")
    *lines, summary, typed = result.stdout.splitlines()
    rows = [line.split() for line in lines]
    same = ["json", "(verified)", "yes", "yes", "yes"]
    assert rows == [
        ["model", "type", "verdict", "format", "tools", "calls", "results", "E/W/N", "findings"],
        ["bad", "qwen3", "broken", *same, "1/1/1", "TF013", "TF004"],
        ["fair", "qwen3", "adapted", *same, "0/2/0", "TF004", "TF014"],
        ["noted", "qwen3", "native", *same, "0/0/1", "-"],
        ["clean", "qwen3", "native", *same, "0/0/0", "-"],
        [],
    ]
    assert summary == "4 models: 2 native, 1 adapted, 0 prompt-only, 1 broken. E/W/N: errors, warnings, notes."
    assert typed == "Details and fixes of one model: toolfmt inspect bad"
    assert run("clean", "fair", "noted").stdout.endswith("Details and fixes of one model: toolfmt inspect fair\n")
    assert "What to do" not in run("gone", "lost").stdout
    assert (result.exit_code, result.stderr) == (1, "")


@pytest.mark.usefixtures("invented")
def test_a_place_that_cannot_be_read_is_a_row_and_the_others_are_inspected() -> None:
    result = run("clean", "gone", "noted")
    rows = result.stdout.splitlines()
    assert rows[2].split(maxsplit=9) == [
        *("gone", "-", "not", "inspected", *"-----", "no such directory; give one that is there")
    ]
    assert [rows[1].split()[0], rows[3].split()[0]] == ["clean", "noted"]
    assert "; 1 path not inspected." in rows[-2]
    assert result.stderr == "toolfmt: gone: no such directory; give one that is there\n"
    assert result.exit_code == 2
    status, reports = lines("clean", "gone", "bad")  # an error of another model counts more
    assert (status, [one["path"] for one in reports]) == (1, ["clean", "gone", "bad"])
    assert reports[1] == {"path": "gone", "error": "gone: no such directory; give one that is there"}


@pytest.mark.usefixtures("invented")
def test_json_of_several_is_a_line_each_and_of_one_the_object() -> None:
    assert run_json("bad") == (1, REPORTS["bad"].to_dict())
    assert lines("clean", "bad") == (
        1,
        [{"path": name, **REPORTS[name].to_dict()} for name in ("clean", "bad")],
    )
    assert lines("clean", "noted")[0] == 0


def test_a_folder_of_models_is_inspected_as_its_models(tmp_path: Path) -> None:
    for name in ("one", "group/two"):
        made(tmp_path, CLEAN)
        (tmp_path / "models" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "model").rename(tmp_path / "models" / name)
    (tmp_path / "models" / "empty").mkdir()
    folder = str(tmp_path / "models")
    status, reports = lines("--trusted", folder)
    assert (status, [one["path"] for one in reports]) == (0, [f"{folder}/group/two", f"{folder}/one"])
    rows = [line.split() for line in run("--trusted", folder).stdout.splitlines()]
    assert [row[0] for row in rows[1:3]] == ["group/two", "one"]
    assert expanded([f"{folder}/one"]) == expanded([f"{folder}/one"] * 2) == ([f"{folder}/one"], False)
    assert expanded([f"{folder}/empty"]) == ([f"{folder}/empty"], False)
    assert expanded([folder, f"{folder}/one", "org/name"]) == (
        [f"{folder}/group/two", f"{folder}/one", "org/name"],
        True,
    )


@pytest.mark.sample(0)
def test_a_folder_of_models_with_a_stray_configuration_hides_none(tmp_path: Path) -> None:
    folder = tmp_path / "d"
    for name in ("in-conflict", "json-frames"):
        shutil.copytree(MODELS / name, folder / name)
    (folder / "config.json").write_text("{}", "utf-8")
    reason = "a model configuration but no chat template; its 2 models are listed separately"
    result = CliRunner().invoke(main, ["inspect", "--trusted", str(folder)], env={"COLUMNS": None})
    rows = result.stdout.splitlines()
    assert [row.split()[0] for row in rows[1:4]] == ["d", "d/in-conflict", "d/json-frames"]
    assert "not inspected" in rows[1] and rows[1].endswith(reason)
    assert "2 models: 2 native, 0 adapted, 0 prompt-only, 0 broken; 1 path not inspected." in result.stdout
    assert (result.exit_code, result.stderr) == (1, f"toolfmt: {folder}: {reason}\n")
    status, reports = lines("--trusted", str(folder))
    assert reports[0] == {"path": str(folder), "error": f"{folder}: {reason}"}
    assert [(one["path"], one["verdict"]["tools"]) for one in reports[1:]] == [
        (f"{folder}/in-conflict", "native"),
        (f"{folder}/json-frames", "native"),
    ]
    shutil.rmtree(folder / "in-conflict")
    result = run("--trusted", str(folder))
    assert (status, result.exit_code) == (1, 2)  # no error, but not everything was inspected
    assert result.stderr.endswith("a model configuration but no chat template; its model is listed separately\n")
    (folder / "config.json").unlink()
    (folder / "tokenizer_config.json").write_text("{", "utf-8")
    assert (
        "tokenizer_config.json, line 1, column 2: not JSON" in run("--trusted", str(folder)).stderr
    )  # another reason stays


@pytest.mark.sample(0)
def test_a_model_and_those_in_its_directory_are_a_table(tmp_path: Path) -> None:
    model = tmp_path / "model"
    shutil.copytree(MODELS / "json-frames", model)
    (model / "onnx").mkdir()
    (model / "onnx" / "config.json").write_text("{}", "utf-8")
    alone = run("--trusted", str(model))
    assert alone.stdout.startswith("model   qwen3   chat_template.jinja\n")
    assert alone.stderr == ""
    shutil.copytree(MODELS / "in-conflict", model / "checkpoint-500")
    result = run("--trusted", str(model))
    assert [row.split()[0] for row in result.stdout.splitlines()[1:3]] == ["model", "model/checkpoint-500"]
    assert (result.exit_code, result.stderr) == (1, "")
    (model / "chat_template.jinja").write_text("{{ raise_exception('no') }}", "utf-8")
    shutil.rmtree(model / "checkpoint-500")
    shutil.copytree(MODELS / "json-frames", model / "checkpoint-500")
    typed = run("--trusted", str(model)).stdout.splitlines()[-1]
    assert typed == f"Details and fixes of one model: toolfmt inspect {model}/config.json"
    assert run("--trusted", f"{model}/config.json").stdout.startswith("model   qwen3   chat_template.jinja\n")


@pytest.mark.sample(0)
def test_a_command_for_one_model_lists_the_models_that_it_ignores(tmp_path: Path) -> None:
    model, request = tmp_path / "model", tmp_path / "request.json"
    shutil.copytree(MODELS / "json-frames", model)
    request.write_text('{"messages": [{"role": "user", "content": "hi"}]}', "utf-8")
    tools, recorded = tmp_path / "tools.json", tmp_path / "recorded.jsonl"
    tools.write_text('[{"name": "f", "parameters": {"type": "object", "properties": {}}}]')
    recorded.write_text('{"text": "hi"}\n', "utf-8")
    commands = [
        ("render", str(model), "--request", str(request)),
        ("parse", "--model", str(model), str(request)),
        ("parse", "--model", str(model), "--jsonl", str(recorded)),
        ("grammar", str(model), "--tools", str(tools), "--for", "gbnf"),
        ("diff", str(MODELS / "json-frames"), str(model)),
        ("dev", "derive", str(model)),
    ]
    before = [CliRunner().invoke(main, words) for words in commands]
    for name in ("checkpoint-1", "checkpoint-2"):
        shutil.copytree(MODELS / "in-conflict", model / name)
    ignored = "ignoring the models below it: checkpoint-1, checkpoint-2"
    line = f"toolfmt: {model}: using the model in this directory; {ignored}\n"
    for words, earlier in zip(commands, before, strict=True):
        result = CliRunner().invoke(main, words)
        assert (result.exit_code, result.stdout) == (earlier.exit_code, earlier.stdout)
        assert (line in result.stderr, line in earlier.stderr) == (True, False), words
    given = [f"{word}/config.json" if word == str(model) else word for word in commands[0]]
    assert CliRunner().invoke(main, given).stderr == before[0].stderr
    for name in ("chat_template.jinja", "tokenizer_config.json"):
        (model / name).unlink(missing_ok=True)
    for words in commands:
        result = CliRunner().invoke(main, words)
        assert (result.exit_code, result.stdout) == (2, "")
        assert "no chat template here, but 2 models below it; pass one of them: checkpoint-1" in result.stderr


def test_files_of_one_model_directory_are_one_report(tmp_path: Path) -> None:
    made(tmp_path, CLEAN, tokenizer={})
    model = tmp_path / "model"
    given = [str(model / name) for name in ("tokenizer_config.json", "chat_template.jinja", "config.json")]
    assert expanded(given) == ([str(model)], False)
    result = run("--trusted", *given)
    assert result.stdout == run("--trusted", str(model)).stdout
    assert result.stdout.startswith("model   no model type   chat_template.jinja\n")
    sarif = json.loads(run("--trusted", given[0], "--output-format", "sarif", "--fail-on", "note").stdout)
    files = [one["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for one in sarif["runs"][0]["results"]]
    assert set(files) == {"model/chat_template.jinja"}


def test_a_folder_of_the_hub_cache_lists_repositories(tmp_path: Path) -> None:
    for repository, commit, revision in (("a/one", "0", "main"), ("a/one", "1", ""), ("b/two", "2", "v1")):
        kept = tmp_path / "hub" / f"models--{repository.replace('/', '--')}"
        made(tmp_path, CLEAN)
        (kept / "snapshots").mkdir(parents=True, exist_ok=True)
        (tmp_path / "model").rename(kept / "snapshots" / (commit * 40))
        if revision:
            (kept / "refs").mkdir()
            (kept / "refs" / revision).write_text(commit * 40)
    rows = [line.split() for line in run("--trusted", str(tmp_path / "hub")).stdout.splitlines()]
    assert [row[0] for row in rows[1:3]] == ["a/one@main", "b/two@v1"]
    one = run("--trusted", str(tmp_path / "hub" / "models--a--one"))
    assert one.stdout.startswith("a/one@main   no model type   chat_template.jinja\n")
    page = tmp_path / "page.html"
    run("--trusted", str(tmp_path / "hub" / "models--a--one"), "--output-format", f"html={page}")
    assert "<h1>a/one@main</h1>" in page.read_text("utf-8")
    snapshots = [f"{tmp_path}/hub/models--{name}/snapshots/" for name in ("a--one", "b--two")]
    paths = [one["path"] for one in lines("--trusted", str(tmp_path / "hub"))[1]]
    assert paths == [snapshots[0] + "0" * 40, snapshots[1] + "2" * 40]


def test_a_folder_without_models_is_one_line(tmp_path: Path) -> None:
    result = run(str(tmp_path))
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"toolfmt: {tmp_path}: empty; give a model directory")


@pytest.mark.sample(0)
def test_in_a_pipe_nothing_is_drawn_and_no_line_is_cut() -> None:
    result = run("--trusted", str(MODELS))
    assert "\x1b" not in result.stdout + result.stderr
    assert len(result.stdout.splitlines()) == len(list(MODELS.iterdir())) + 4
    assert not depth.every or result.stdout == run(str(MODELS)).stdout


# --- what is shown and what counts


@pytest.mark.usefixtures("invented")
@pytest.mark.parametrize(
    ("options", "findings", "notes"),
    [
        ((), ["TF004", "TF013"], ["TF038"]),
        (("--select", "error"), ["TF013"], []),
        (("--select", "note,TF004"), ["TF004"], ["TF038"]),
        (("--ignore", "Warning"), ["TF013"], ["TF038"]),
        (("--select", "error,warning", "--ignore", "TF004"), ["TF013"], []),
        (("--select", "TF0", "--ignore", "error,warning"), [], ["TF038"]),
        (("--select", "TF013"), ["TF013"], []),
        (("--select", "calls-dropped"), ["TF013"], []),
        (("--select", "tf01"), ["TF013"], []),
        (("--select", "TF01,TF03"), ["TF013"], ["TF038"]),
        (("--select", "TF004", "--select", "TF038"), ["TF004"], ["TF038"]),
        (("--ignore", "TF0"), [], []),
        (("--ignore", "TF00, calls-dropped"), [], ["TF038"]),
        (("--select", "TF013,TF004", "--ignore", "TF004"), ["TF013"], []),
    ],
)
def test_findings_are_selected_and_the_status_is_1_exactly_when_an_error_is_left(
    options: tuple[str, ...], findings: list[str], notes: list[str]
) -> None:
    status, shown = run_json("bad", *options)
    assert (codes(shown["findings"]), codes(shown["notes"])) == (findings, notes)
    assert shown["verdict"] == REPORTS["bad"].verdict.to_dict()
    assert status == int("TF013" in findings)
    text = run("bad", *options)
    assert text.exit_code == status
    below = text.stdout.partition("\n\n")[2].partition("\n\n")[2]  # after the verdict, which all findings decide
    assert {one for one in ("TF004", "TF013", "TF038") if one in below} == {*findings, *notes}
    assert run("bad", "bad", *options).exit_code == status


@pytest.mark.sample(1)
@pytest.mark.parametrize("option", ["--select", "--ignore"])
@pytest.mark.parametrize(
    ("given", "nearest"), [("TF013,calls-droped", "TF013"), ("TF1", ""), ("x", ""), ("F013", "TF013")]
)
def test_an_unknown_code_is_one_line_with_the_nearest(option: str, given: str, nearest: str) -> None:
    result = run(str(MODELS / "json-frames"), option, given)
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert result.stderr.startswith(f"toolfmt: no finding is called '{given.rpartition(',')[2]}'; ")
    assert (f"did you mean {nearest}" in result.stderr) or not nearest


def test_codes_names_outcomes_and_starts_of_codes_select_findings() -> None:
    everything = frozenset(ALL_OUTCOMES)
    assert keys_of("TF013") == keys_of("calls-dropped") == {("TF013", "calls-dropped")}
    names = ("double-encoded", "object-rejected", "string-rejected", "missing-arguments-lost")
    forms = {("TF014", outcome) for outcome in names}
    assert keys_of("TF014") == keys_of("Arguments-Form") == forms
    assert keys_of("tf") == everything == {key for key, _ in Selection.of().shown}
    assert keys_of("TF00") == frozenset(key for key in everything if key[0].startswith("TF00"))
    assert ("TF004", "random-output") in keys_of("TF08")  # it was TF088
    for unknown in ("", "TF9", "-", "TF0123"):
        with pytest.raises(UnknownCode):
            keys_of(unknown)


def test_an_old_code_selects_its_outcome_only() -> None:
    both = tuple(replace(finding("TF014"), outcome=outcome) for outcome in ("object-rejected", "string-rejected"))
    made = replace(REPORTS["clean"], findings=both)
    for typed in ("TF015", "object-rejected", "object-arguments-refused"):
        assert Selection.of([typed]).apply(made).findings == both[:1]
        assert Selection.of([], [typed]).apply(made).findings == both[1:]
        assert Selection.of([typed]).keys_for(made) == {both[0].key}
    assert Selection.of(["TF014"]).apply(made).findings == both


def test_the_code_and_the_name_that_an_outcome_replaces_select_it_alone() -> None:
    replaced = {key: outcome.replaces.split() for key, outcome in ALL_OUTCOMES.items() if outcome.replaces}
    codes = {code for code, _ in ALL_OUTCOMES}
    assert len({old for both in replaced.values() for old in both}) == 2 * len(replaced)
    for key, (old_code, old_name) in replaced.items():
        whole = old_code in codes  # the code that remains selects every outcome
        assert keys_of(old_code) == (frozenset(one for one in ALL_OUTCOMES if one[0] == old_code) if whole else {key})
        assert key in keys_of(old_name)
        assert keys_of(key[1]) == {key}
    assert keys_of("TF015") == keys_of("object-arguments-refused") == {("TF014", "object-rejected")}
    assert moved("TF015") == "TF015 is now TF014 arguments-form, outcome object-rejected."
    assert moved("object-rejected") == "object-rejected is an outcome of TF014 arguments-form."
    assert moved("TF014") == moved("arguments-form") == ""


# --- forwarded options


def test_tools_and_context_are_handed_on(invented: dict[str, InspectionOptions], tmp_path: Path) -> None:
    tools = tmp_path / "tools.json"
    tools.write_text('[{"name": "f", "parameters": {"type": "object", "properties": {}}}]')
    run("clean", "fair", "--tools", str(tools), "--context", "4096")
    parameters = {"type": "object", "properties": {}}
    canonical = [{"type": "function", "function": {"name": "f", "parameters": parameters}}]
    assert invented == dict.fromkeys(("clean", "fair"), InspectionOptions(canonical, 4096))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{]", "not JSON"),
        ("null", "must be a list of"),
        ("[1]", "object, not a number"),
        ("", "empty; give a JSON list"),
    ],
)
def test_bad_tools_are_one_line_that_names_the_file(text: str, expected: str, tmp_path: Path) -> None:
    tools = tmp_path / "tools.json"
    tools.write_text(text)
    for places in (["json-frames"], ["json-frames", "broken"]):
        result = run(*(str(MODELS / place) for place in places), "--tools", str(tools))
        assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
        assert result.stderr.startswith(f"toolfmt: {tools}: ")
        assert expected in result.stderr


def test_a_model_checks_the_tools_it_is_given(tmp_path: Path) -> None:
    model = made(tmp_path, CLEAN)
    inspect_bad_tools: Callable[[], Report] = lambda: model.inspect(tools=[1])  # noqa: E731 - called below
    with pytest.raises(BadTools):
        inspect_bad_tools()
    assert model.inspect(context=100).to_dict()["capabilities"] == model.inspect().to_dict()["capabilities"]


def test_two_ways_to_print_at_once_are_one_line() -> None:
    result = run(str(MODELS / "json-frames"), "--json", "--output-format", "sarif")
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--full", "--json"), "--full is for text"),
        (("--full", str(MODELS / "double-encoded")), "--full shows one model"),
        (("--select", "TF014", "--ignore", "TF01"), "--ignore leaves nothing of what --select names"),
    ],
)
def test_options_that_contradict_are_one_line(options: tuple[str, ...], message: str) -> None:
    result = run(str(MODELS / "json-frames"), *options)
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert result.stderr.startswith(f"toolfmt: {message}")


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "more", [("--context", "1000"), ("--context", "1000", "--json"), ("--context", "1000", str(MODELS / "json-frames"))]
)
def test_a_request_for_tokens_that_cannot_be_counted_is_reported(more: tuple[str, ...]) -> None:
    place = str(MODELS / "double-encoded")
    message = f"toolfmt: {place}: tokens are not counted, because there is no readable tokenizer.json\n"
    assert run("--trusted", place, *more).stderr.startswith(message)
    assert "counted" not in run("--trusted", place).stderr


@pytest.mark.usefixtures("invented")
def test_what_was_left_out_is_counted_on_top() -> None:
    clean = "no problems found"
    for given, line in (
        (("clean",), clean),
        (("clean", "--ignore", "TF0"), clean),
        (("bad",), "1 error, 1 warning, 1 note"),
        (("bad", "--select", "TF013"), "1 error, 2 excluded by --select or --ignore"),
    ):
        assert f"\n{' ' * 15}{line}\n" in run(*given).stdout


def test_one_model_is_no_models(tmp_path: Path) -> None:
    made(tmp_path, "{{ messages }}")
    assert "\n1 model: " in run("--trusted", str(tmp_path)).stdout


def test_a_template_that_does_not_compile_is_a_report_with_the_verdict_broken(tmp_path: Path) -> None:
    (tmp_path / "a.jinja").write_text("{{ messages", "utf-8")
    (tmp_path / "b.jinja").write_text("Hello\n{% for x in y %}", "utf-8")
    status, reports = lines("--trusted", str(tmp_path))
    assert (status, [one["verdict"]["tools"] for one in reports]) == (1, ["broken", "broken"])
    assert [[(one["code"], one["line"]) for one in report["findings"]] for report in reports] == [
        [("TF002", 1)],
        [("TF002", 2)],
    ]
    alone = run("--trusted", str(tmp_path / "b.jinja"))
    assert (alone.exit_code, alone.stderr) == (1, "")
    assert "verdict      broken: No prompt can be rendered" in alone.stdout
    logged = json.loads(run("--trusted", str(tmp_path / "b.jinja"), "--output-format", "sarif").stdout)["runs"][0]
    places = [one["locations"][0]["physicalLocation"]["region"]["startLine"] for one in logged["results"]]
    assert (logged["invocations"], places) == ([{"executionSuccessful": True}], [2])


@pytest.mark.sample(0)
@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
def test_progress_is_drawn_on_a_terminal_and_leaves_the_output_as_it_is() -> None:
    import pty  # not on Windows

    reading, terminal = pty.openpty()
    drawn: list[bytes] = []

    def read() -> None:
        """Read all of it, so that the command never waits for space. Reading fails if the terminal is closed."""
        with suppress(OSError):
            while some := os.read(reading, 1 << 16):
                drawn.append(some)

    reader = Thread(target=read, daemon=True)
    reader.start()
    started = [sys.executable, "-c", "from toolfmt.cli.commands import main; main(prog_name='toolfmt')"]
    home, environment = str(Path(__file__).parents[2]), {**os.environ, "TERM": "xterm", "COLUMNS": "120"}
    places = [str(MODELS / "json-frames"), str(MODELS / "xml-functions")]
    done = subprocess.run(
        [*started, "inspect", *places],
        stdout=subprocess.PIPE,
        stderr=terminal,
        cwd=home,
        env=environment,
        check=False,
        timeout=300,
    )
    os.close(terminal)
    reader.join(60)
    os.close(reading)
    shown = b"".join(drawn)
    assert (done.returncode, b"inspecting" in shown, b"Traceback" in shown) == (0, True, False)
    assert done.stdout.decode() == run("--trusted", *places).stdout
