"""`toolfmt.toml` and `[tool.toolfmt]`: which file is used, what its keys do, and what is an error."""

from __future__ import annotations

import json
import os
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from command_line import run
from model_cases import MODELS, SHARED

from toolfmt.cli.rules.configuration import KEYS, Configuration, Options, find_configuration, read_configuration
from toolfmt.errors import ToolfmtError

ENCODED, CONFLICT, FRAMES = "models/double-encoded", "models/in-conflict", "models/json-frames"
"""Their findings: TF014 and TF061; TF022 (an error), TF021 and TF024; TF061."""


ROOT = Path(__file__).parents[2]
FINDINGS = ROOT / "tests" / "findings"


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory: a project with three models."""
    for name in (ENCODED, CONFLICT, FRAMES):
        shutil.copytree(MODELS.parent / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    return tmp_path


def write(text: str, name: str = "toolfmt.toml") -> None:
    Path(name).parent.mkdir(exist_ok=True, parents=True)
    Path(name).write_text(text, "utf-8")


def inspect(*arguments: str) -> tuple[int, Any]:
    made = run("inspect", *arguments, "--json")
    assert made.stdout, made.stderr
    lines = made.stdout.split("\n{") if '\n{"' not in made.stdout else made.stdout.splitlines()
    return made.exit_code, json.loads(made.stdout) if len(lines) == 1 else [json.loads(line) for line in lines]


def codes(report: dict[str, Any], group: str = "findings") -> list[str]:
    return [finding["code"] for finding in report[group]]


# --- which file


def test_the_nearest_configuration_is_used(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write("[tool.toolfmt]\nselect = ['TF014']\n", "pyproject.toml")
    write("[tool.other]\n[tool.ruff]\nselect = 1\n", "a/pyproject.toml")
    (project / "a/b").mkdir()
    monkeypatch.chdir("a/b")
    assert codes(inspect(f"../../{ENCODED}")[1]) == ["TF014"]
    write("select = ['TF061']", "../../toolfmt.toml")  # it precedes the pyproject.toml next to it
    assert codes(inspect(f"../../{ENCODED}")[1]) == ["TF061"]
    write("", "../toolfmt.toml")  # an empty configuration is one
    assert codes(inspect(f"../../{ENCODED}")[1]) == ["TF014", "TF061"]


def test_a_named_file_replaces_the_one_found_and_isolated_uses_none() -> None:
    write("select = ['TF014']")
    write("select = ['TF061']", "other/name.toml")
    write("tool.toolfmt.fail-on = 'never'", "other/pyproject.toml")
    assert codes(inspect(ENCODED, "--config", "other/name.toml")[1]) == ["TF061"]
    assert codes(inspect(ENCODED, "--config", "other/pyproject.toml")[1]) == ["TF014", "TF061"]
    assert codes(inspect(ENCODED, "--isolated")[1]) == ["TF014", "TF061"]
    made = run("inspect", ENCODED, "--isolated", "--config", "other/name.toml")
    assert (made.exit_code, made.stderr) == (2, "toolfmt: --isolated uses no configuration; leave --config out\n")


@pytest.mark.parametrize("inside", ["", "sub"])
def test_a_configuration_in_the_directory_of_the_model_is_skipped(inside: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever published the model could hide its problems there."""
    write("select = ['TF014']")
    write("select = ['TF999']", f"{ENCODED}/{inside}/toolfmt.toml")
    monkeypatch.chdir(Path(ENCODED) / inside)
    place = os.path.relpath("../.." if not inside else "../../..") + f"/{ENCODED}"
    for given in (place, "." if not inside else "..", f"{place}/chat_template.jinja"):
        made = run("inspect", given, "--json")
        assert codes(json.loads(made.stdout)) == ["TF014"]
        skipped, used = made.stderr.splitlines()
        assert skipped.startswith("toolfmt: toolfmt.toml is not used: it is in the directory of the model")
        assert skipped.endswith("pass --config toolfmt.toml")
        assert used.endswith("toolfmt.toml apply; --isolated leaves them out")
    write("select = ['TF061']", "toolfmt.toml")
    assert codes(inspect(place, "--config", "toolfmt.toml")[1]) == ["TF061"]
    assert codes(inspect(f"{place}/../json-frames", "--fail-on", "never")[1]) == ["TF061"]


def test_a_configuration_next_to_a_single_template_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(f"{ENCODED}/chat_template.jinja", "a.jinja")
    write("select = ['TF014']")
    assert [one.file for one in [find_configuration(["a.jinja"], lambda line: None)]] == [None]
    Path("templates").mkdir()
    shutil.move("a.jinja", "templates/a.jinja")
    assert codes(inspect("templates/a.jinja")[1]) == ["TF014"]
    assert find_configuration(["org/name"], lambda line: None).name == "toolfmt.toml"


@pytest.mark.skipif(os.name == "nt", reason="symbolic links need a privilege")
def test_a_link_to_the_model_is_the_model(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write("", f"{ENCODED}/toolfmt.toml")
    (project / "link").symlink_to(project / ENCODED)
    monkeypatch.chdir(ENCODED)
    skipped: list[str] = []
    assert find_configuration([str(project / "link")], skipped.append).file is None
    assert len(skipped) == 1


# --- what its keys do


def test_options_of_the_configuration_apply_and_the_command_line_wins() -> None:
    write("select = ['TF014', 'TF061']\nfail-on = 'warning'\nruntimes = ['vllm', 'MLX-LM']\nrequire = 'tools'")
    status, report = inspect(ENCODED)
    assert (status, codes(report), list(report["verdict"]["runtimes"])) == (1, ["TF061"], ["vLLM", "mlx-lm"])
    assert inspect(ENCODED, "--fail-on", "error")[0] == 0
    assert inspect(ENCODED, "--fail-on", "never")[0] == 0
    assert codes(inspect(ENCODED, "--runtime", "transformers")[1]) == ["TF014"]
    assert inspect(ENCODED, "--runtime", "vLLM")[0] == 0
    assert codes(inspect(ENCODED, "--select", "TF055")[1], "notes") == ["TF055"]
    assert inspect(ENCODED, "--ignore", "TF061")[0] == 0
    write("require = 'tools'")
    text_only = "{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}"
    write(text_only, "t/text.jinja")
    assert inspect("t/text.jinja")[0] == 1
    assert inspect("t/text.jinja", "--isolated")[0] == 0


def test_the_report_names_what_leaves_findings_out() -> None:
    write("select = ['TF061']", "my.toml")
    for options, expected in (
        ((), "1 warning, 3 excluded by `select` in my.toml"),
        (("--ignore", "TF037"), "1 warning, 3 excluded by `select` in my.toml or --ignore"),
        (("--select", "TF061"), "1 warning, 3 excluded by --select or --ignore"),
    ):
        assert f"{expected}\n" in run("inspect", ENCODED, "--config", "my.toml", *options).stdout


@pytest.mark.parametrize(
    "ignore",
    [
        "ignore = ['TF014', 'warning']",
        "ignore = ['TF014', 'TF02', 'parser-inference']",
        "ignore = { TF014 = '', TF061 = '', TF02 = ''}",
    ],
)
def test_ignored_findings_are_listed_and_do_not_fail(ignore: str) -> None:
    write(f"fail-on = 'warning'\n{ignore}")
    status, report = inspect(ENCODED)
    assert (status, codes(report), codes(report, "ignored")) == (0, [], ["TF014", "TF061"])
    assert [(one["ignored_by"], one["reason"]) for one in report["ignored"]] == [("toolfmt.toml", "")] * 2
    assert inspect(ENCODED, "--isolated", "--fail-on", "warning")[0] == 1
    assert report["verdict"] == inspect(ENCODED, "--isolated")[1]["verdict"]


def test_the_options_of_a_model_are_added_and_later_patterns_win(project: Path) -> None:
    write(
        """
        ignore.TF061 = "for all"
        fail-on = "warning"
        [models."models/*"]
        ignore.TF014 = "for these"
        fail-on = "error"
        [models."models/in-*"]
        fail-on = "never"
        ignore.TF021 = "both are the same"
        """,
        "settings/toolfmt.toml",
    )
    base = read_configuration("settings/toolfmt.toml")
    assert base.for_model(ENCODED) == Options(ignore=(("TF061", "for all"),), fail_on="warning")  # another directory
    shutil.move("settings/toolfmt.toml", "toolfmt.toml")
    found = read_configuration("toolfmt.toml")
    assert found.for_model("elsewhere") == Options(ignore=(("TF061", "for all"),), fail_on="warning")
    assert found.for_model(FRAMES).fail_on == "error"
    assert found.for_model(CONFLICT) == Options(
        ignore=(("TF021", "both are the same"), ("TF014", "for these"), ("TF061", "for all")), fail_on="never"
    )
    assert found.for_model(f"{CONFLICT}/config.json").fail_on == "never"  # inside the directory
    assert found.for_model(str(project / FRAMES)).fail_on == "error"
    reports = {Path(one["path"]).name: one for one in inspect("models")[1]}
    assert {name: (codes(one), codes(one, "ignored")) for name, one in reports.items()} == {
        "double-encoded": ([], ["TF014", "TF061"]),
        "in-conflict": (["TF022", "TF024"], ["TF021"]),
        "json-frames": ([], ["TF061"]),
    }
    assert reports["double-encoded"]["ignored"][0]["reason"] == "for these"
    assert inspect("models")[0] == 0
    assert inspect("models", "--fail-on", "error")[0] == 1


def test_patterns_name_paths_from_the_file_and_repositories() -> None:
    own = Options(fail_on="never")
    made = Configuration(
        Path.cwd() / "a[b]" / "toolfmt.toml",
        models=tuple((pattern, own) for pattern in ("../models/json-?rames", "Qwen/*", "/absolute/x")),
    )
    assert made.for_model(FRAMES) == own
    assert made.for_model("Qwen/Qwen3-Coder") == own
    assert made.for_model(ENCODED) == Options()
    assert made.for_model("Qwen3/Qwen") == Options()
    Path("a[b]/inside").mkdir(parents=True)
    inside = replace(made, models=(("inside", own), ("../models/in-conflict", own)))
    assert inside.for_model("a[b]/inside") == own
    assert inside.for_model(f"{CONFLICT}/config.json") == own
    assert inside.for_model(FRAMES) == Options()


def test_models_have_their_own_selection_in_every_output(tmp_path: Path) -> None:
    write("[models.'models/json-*']\nselect = ['TF061']\n[models.'models/double-*']\nselect = ['TF014']\n")
    made = run("inspect", ENCODED, FRAMES, "--output-format", "junit", "--fail-on", "warning")
    suites = made.stdout.split("<testsuite ")[1:]
    assert [("TF014" in suite, "TF061" in suite, "failure" in suite) for suite in suites] == [
        (True, False, True),
        (False, True, True),
    ]


def test_the_lines_of_continue_have_everything_and_their_status_is_that_of_the_rules() -> None:
    write("ignore.TF022 = 'it is declared on purpose'\nrequire = 'tools'")
    for _ in range(2):
        made = run("inspect", CONFLICT, "--json", "--continue", "lines.jsonl")
        assert made.exit_code == 0, made.stderr
    assert "TF022" in codes(json.loads(Path("lines.jsonl").read_text("utf-8")))
    assert run("inspect", CONFLICT, "--json", "--continue", "lines.jsonl", "--isolated").exit_code == 1


def test_a_resumed_run_knows_what_the_template_ignores() -> None:
    strict = Path(f"{ENCODED}/chat_template.jinja").read_text("utf-8")
    for comment, status in (("", 1), ("{# toolfmt: ignore[TF014] we know #}\n", 0)):
        write(comment + strict, f"t/{status}.jinja")
        arguments = (f"t/{status}.jinja", "--fail-on", "warning", "--ignore", "TF061", "--json")
        resumed = (*arguments, "--continue", f"lines{status}.jsonl")
        assert [run("inspect", *resumed).exit_code for _ in range(2)] == [status, status]


def test_a_template_can_ignore_neither_its_errors_nor_that_it_drops_the_tools() -> None:
    """Whoever downloads it relies on the exit status."""
    lost = (FINDINGS / "TF090/with.jinja").read_text("utf-8")
    drops = "{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}"
    for code, template in (("TF002", "{% if %}"), ("TF003", "hello"), ("TF090", lost), ("TF011", drops)):
        write(f"{{# toolfmt: ignore[{code}] we know #}}\n{template}", f"t/{code}.jinja")
        assert inspect(f"t/{code}.jinja", "--require", "tools")[0] == 1, code
        if code != "TF011":
            status, report = inspect(f"t/{code}.jinja")
            assert (status, code in codes(report)) == (1, True)
            problem = next(note for note in report["notes"] if note["code"] == "TF095")
            assert problem["outcome"] == "ignored-finding-protected"
    write("ignore.TF011 = 'we describe the tools'")
    assert inspect("t/TF011.jinja", "--require", "tools")[0] == 0


def test_what_fails_a_required_verdict_is_said() -> None:
    derived, required = str(MODELS / "format-of-its-own"), ("--require", "tools", "--runtime")
    made = run("inspect", derived, *required, "mlx-swift-lm", "--runtime", "vLLM")
    assert made.stderr == f"toolfmt: {derived} fails --require tools: mlx-swift-lm: fails\n"
    plain = str(MODELS / "no-tools-no-system")
    made = run("inspect", plain, *required, "mlx-swift-lm", "--runtime", "vLLM")
    both = "vLLM: tools as text, mlx-swift-lm: tools as text"
    assert made.stderr == f"toolfmt: {plain} fails --require tools: {both}\n"
    several = run("inspect", plain, ENCODED, "--require", "tools")
    assert several.stderr == f"toolfmt: {plain} fails --require tools: the verdict is prompt-only\n"
    assert run("inspect", ENCODED, "--require", "tools").stderr == ""


def test_the_configuration_that_applies_is_named_and_one_in_an_inspected_folder_is_not_used() -> None:
    write("select = ['TF014']", "models/toolfmt.toml")
    shutil.copytree(ENCODED, "models/one")
    unused = "toolfmt: models/toolfmt.toml is not used: only the current directory and those above it count\n"
    assert run("inspect", "models", "--json").stderr == unused
    assert run("inspect", "models", "--json", "--isolated").stderr == ""
    write("select = ['TF061']")
    applies = "toolfmt: options of toolfmt.toml apply; --isolated leaves them out\n"
    assert run("inspect", "models", "--json").stderr == applies + unused
    assert run("inspect", "models/one", "--json").stderr == applies
    assert run("inspect", "models/one", "--json", "--config", "toolfmt.toml").stderr == ""


@pytest.mark.parametrize("name", ["toolfmt.toml", "pyproject.toml"])
def test_a_configuration_of_a_model_is_not_even_read(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    write("[[[", f"{ENCODED}/{name}")
    monkeypatch.chdir(ENCODED)
    assert inspect(".")[0] == 0
    assert ("is not used" in run("inspect", ".", "--json").stderr) == (name == "toolfmt.toml")
    write("[project]\nname = 'x'\n[tool.other]\n" if name == "pyproject.toml" else "", name)
    assert ("is not used" in run("inspect", ".", "--json").stderr) == (name == "toolfmt.toml")


def test_a_byte_order_mark_is_no_part_of_a_configuration() -> None:
    Path("toolfmt.toml").write_bytes(b"\xef\xbb\xbfselect = ['TF014']")
    assert codes(inspect(ENCODED)[1]) == ["TF014"]


def test_an_ignored_finding_is_not_new() -> None:
    write(json.dumps(inspect(FRAMES)[1]), "before.json")
    write("ignore = ['TF014']")
    report = inspect(ENCODED, "--baseline", "before.json")[1]
    assert [("new" in one) for one in (*report["ignored"], *report["findings"])] == [False, True]


def test_what_the_configuration_ignores_is_not_fixed() -> None:
    write("ignore.TF014 = 'we send objects'")
    fixed = json.loads(run("inspect", ENCODED, "--fix", "--output", "copy", "--json").stdout)
    assert "TF014" not in [one["code"] for one in (*fixed["fixed"], *fixed["not_fixed"])]
    assert codes(fixed, "ignored") == ["TF014"]
    assert "TF061" in [one["code"] for one in fixed["fixed"]]
    other = json.loads(run("inspect", ENCODED, "--fix", "--output", "other", "--json", "--isolated").stdout)
    assert "TF014" in [one["code"] for one in other["fixed"]]


def test_differences_are_those_of_the_runtimes_and_ignored_findings_do_not_count() -> None:
    assert run("diff", ENCODED, FRAMES).exit_code == 1
    write("runtimes = ['SGLang']\nignore.TF014 = 'we send objects'\nselect = ['TF055']\nfail-on = 'never'")
    made = run("diff", ENCODED, FRAMES, "--select", "findings,runtimes", "--json")
    shown = json.loads(made.stdout)
    names = [change["what"] for group in ("behavior", "settings") for change in shown[group]["changes"]]
    assert [name for name in names if "mlx" in name] == []
    write("runtimes = ['transformers']\nignore.TF014 = 'we send objects'")
    shown = json.loads(run("diff", ENCODED, FRAMES, "--json").stdout)
    assert [one["code"] for one in shown["ignored"]] == ["TF014"]
    assert "TF014" not in [one["code"] for one in shown["behavior"]["findings"]["removed"]]
    assert json.loads(run("diff", ENCODED, FRAMES, "--json", "--isolated").stdout)["ignored"] == []
    write("[models.'models/json*']\nruntimes = ['vLLM']")  # the other one is about all runtimes
    shown = json.loads(run("diff", ENCODED, FRAMES, "--json").stdout)
    assert "TF014" in [one["code"] for one in shown["behavior"]["findings"]["removed"]]


# --- acceptance


@pytest.mark.parametrize(
    ("ignore", "status"),
    [("", 1), ("ignore.TF022 = 'on purpose'", 1), ("ignore = ['TF022', 'TF024']", 1), ("ignore = ['TF02']", 0)],
)
def test_accepted_findings_let_the_gate_pass(ignore: str, status: int) -> None:
    write(ignore)
    assert inspect(CONFLICT, "--fail-on", "warning", "--require", "tools")[0] == status


def test_accepted_errors_and_missing_tools_let_a_required_verdict_pass() -> None:
    """The verdict itself stays. What `--ignore` leaves out is not accepted."""
    write("{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}", "t/text.jinja")
    shutil.copy(FINDINGS / "TF090/with.jinja", "t/lost.jinja")
    required = ("--require", "tools", "--fail-on", "never")
    for place, code, verdict in (("t/text.jinja", "TF011", "prompt-only"), ("t/lost.jinja", "TF090", "broken")):
        write("ignore.TF055 = 'another finding'")
        assert inspect(place, *required)[0] == 1
        assert inspect(place, *required, "--ignore", "note,warning,error")[0] == 1
        write(f"ignore.{code} = 'we know'")
        status, report = inspect(place, *required)
        assert (status, report["verdict"]["tools"], codes(report, "ignored")) == (0, verdict, [code])
        assert inspect(place, *required, "--runtime", "vLLM")[0] == 0
        assert inspect(place, *required, "--isolated")[0] == 1


def test_a_template_that_renders_nothing_fails_although_its_error_is_accepted() -> None:
    write("{% if false %}", "t/none.jinja")
    write("ignore.TF002 = 'we know'")
    status, report = inspect("t/none.jinja")
    assert (status, report["verdict"]["tools"], codes(report, "ignored")) == (0, "broken", ["TF002"])
    assert inspect("t/none.jinja", "--require", "tools")[0] == 1


def test_a_runtime_that_lacks_a_parser_fails_although_findings_are_accepted() -> None:
    """mlx-swift-lm has no parser for this format, which no finding is about."""
    place, required = str(MODELS / "format-of-its-own"), ("--require", "tools", "--fail-on", "never")
    write("ignore = ['error', 'warning', 'note']")
    assert inspect(place, *required)[0] == 0
    assert inspect(place, *required, "--runtime", "mlx-swift-lm")[0] == 1
    resumed = (place, *required, "--runtime", "mlx-swift-lm", "--json", "--continue", "lines.jsonl")
    assert [run("inspect", *resumed).exit_code for _ in range(2)] == [1, 1]


# --- errors


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("ingore = []", "unknown key 'ingore'; did you mean ignore? accepted are runtimes, select, ignore, fail-on, "),
        ("fail_on = 'error'", "unknown key 'fail_on'; did you mean fail-on? "),
        ("[tool.toolfmt]", "unknown key 'tool'; accepted are "),
        ("fail-on = 'warn'", "fail-on: 'warn' is not one of error, warning, note, never"),
        ("fail-on = ['error']", "fail-on: \"['error']\" is not one of error"),
        ("require = true", "require: 'True' is not one of tools"),
        ("runtimes = 'vllm'", "runtimes: must be a list of strings, with at least one"),
        ("runtimes = ['ollama']", "runtimes: no runtime is called 'ollama'; known are transformers, vLLM, "),
        ("select = []", "select: must be a list of strings, with at least one"),
        ("select = [14]", "select: must be a list of strings, with at least one"),
        ("select = ['TF14']", "select: no finding is called 'TF14'; did you mean TF014"),
        ("ignore = [' ']", "ignore: must be a list of strings, with at least one"),
        ("ignore.TF9999 = ''", "ignore: no finding is called 'TF9999'"),
        ("ignore.TF014 = 1", 'ignore: must be a list of codes, or a table with a reason for each, as in CODE = "'),
        ("models = []", 'models must have a table for each path or pattern, as in [models."org/name"]'),
        ("models.a = 1", "models must have a table for each path or pattern"),
        ("[models.'a*']\nmodels = {}", "models.'a*': unknown key 'models'; accepted are runtimes, select, ignore, "),
        ("[models.'a*']\nfail-on = 1", "models.'a*': fail-on: '1' is not one of error"),
        ("select = [", "not valid TOML ("),
        ("a = 0\na = 1", "not valid TOML ("),
    ],
)
def test_an_error_is_one_line_with_the_file_the_key_and_what_is_accepted(text: str, error: str) -> None:
    write(text)
    for command in (["inspect", ENCODED], ["diff", ENCODED, FRAMES]):
        made = run(*command)
        assert (made.exit_code, made.stdout, made.stderr.count("\n")) == (2, "", 1)
        assert made.stderr.startswith(f"toolfmt: toolfmt.toml: {error}")


def test_a_file_that_cannot_be_used_is_an_error(project: Path) -> None:
    Path("toolfmt.toml").write_bytes(b"# \xff")
    assert run("inspect", ENCODED).stderr == "toolfmt: toolfmt.toml: not UTF-8; save it as UTF-8\n"
    made = run("inspect", ENCODED, "--config", "gone.toml")
    assert (made.exit_code, made.stderr.split(" (")[0]) == (2, "toolfmt: gone.toml: cannot be read")
    write("[tool.ruff]", "pyproject.toml")
    with pytest.raises(ToolfmtError, match=r"^pyproject.toml: has no table \[tool.toolfmt\]; add it"):
        read_configuration("pyproject.toml")
    write("tool.toolfmt = 1", "pyproject.toml")
    with pytest.raises(ToolfmtError, match=r"^pyproject.toml: tool.toolfmt must be a table"):
        read_configuration("pyproject.toml")
    write("tool = 1", "pyproject.toml")
    with pytest.raises(ToolfmtError, match=r"has no table"):
        read_configuration("pyproject.toml")
    with pytest.raises(ToolfmtError, match=r"cannot be read"):
        read_configuration("a\x00b")
    with pytest.raises(ToolfmtError, match=r"^models: cannot be read"):
        read_configuration("models")


# --- the release gate of docs/publish_a_model.md

PAGE = (ROOT / "docs" / "publish_a_model.md").read_text("utf-8")
GATE = ("inspect", "release", "--fail-on", "warning", "--require", "tools")
_PARAMETERS, _CONTENT = "function.parameters", "'\\n' + message.content if message.content"
LIKE_QWEN = (MODELS / "xml-functions", f"{{{{ {_PARAMETERS} |", f"{{{{ ({_PARAMETERS} or {{}}) |")
LIKE_GLM = (MODELS / "glm4-key-value", f"{{{{- {_CONTENT} }}}}", "{{- '\\n' ~ message.content }}")
"""Models of the corpus, changed so that they have the warnings of a real one."""
RELEASED = {"Qwen3-Coder": LIKE_QWEN, "GLM-4.6": LIKE_GLM, "GLM-4.7-Flash": LIKE_GLM}
WARNINGS = {"Qwen3-Coder": ["TF014"], "GLM-4.6": ["TF014", "TF017"], "GLM-4.7-Flash": ["TF014", "TF017"]}


def block(language: str) -> str:
    """The only block in this language of the page."""
    (text,) = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    return str(text)


def template_of(name: str, *, real: bool) -> str:
    if real:
        if not SHARED.exists():
            pytest.skip("the templates of the workspace are not there")
        return (SHARED / f"{name}.jinja").read_text("utf-8")
    model, old, new = RELEASED[name]
    text = (model / "chat_template.jinja").read_text("utf-8")
    assert old in text
    return text.replace(old, new)


@pytest.mark.parametrize("real", [False, True])
@pytest.mark.parametrize("name", RELEASED)
def test_the_gate_for_a_release_passes_as_the_page_describes(name: str, real: bool) -> None:
    template = template_of(name, real=real)
    write(template, f"release/{name}.jinja")
    assert run(*GATE).exit_code == 1
    (report,) = [inspect(f"release/{name}.jinja")[1]]
    assert codes(report) == WARNINGS[name]
    assert run(*GATE, "--runtime", "vLLM", "--runtime", "SGLang").exit_code == 0

    write(block("toml"))
    assert run("inspect", "release").exit_code == 0
    accepted = inspect(f"release/{name}.jinja")[1]
    assert (codes(accepted), codes(accepted, "ignored")) == ([], WARNINGS[name])
    assert accepted["verdict"] == report["verdict"]

    comment = block("jinja") if name.startswith("GLM") else block("jinja").replace(", content-null-printed", "")
    write(comment + template, f"release/{name}.jinja")
    assert run(*GATE, "--isolated").exit_code == 0
    accepted = inspect(f"release/{name}.jinja", "--isolated")[1]
    assert (codes(accepted), codes(accepted, "ignored")) == ([], WARNINGS[name])
    assert "TF095" not in codes(accepted, "notes")


def test_the_configuration_of_the_examples_is_used_by_the_page() -> None:
    place, config = str(MODELS / "glm4-key-value"), ROOT / "examples" / "accepted.toml"
    assert inspect(place, "--fail-on", "warning", "--require", "tools")[0] == 1
    status, report = inspect(place, "--config", str(config))
    assert (status, codes(report), codes(report, "ignored")) == (0, [], ["TF014"])


def test_the_keys_of_the_page_are_all_keys() -> None:
    page = (ROOT / "docs" / "in_ci.md").read_text("utf-8").partition("## Configuration")[2].partition("\n## ")[0]
    assert re.findall(r"^\| `([\w-]+)` \|", page, re.MULTILINE) == list(KEYS)
    (example,) = re.findall(r"^```toml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    write(example)
    found = read_configuration("toolfmt.toml")
    assert found.for_model("models/qwen3").ignore == (
        ("TF014", "Our clients send `arguments` as an object."),
        ("TF049", ""),
        ("TF070", ""),
    )
    assert found.for_model("org/name").runtimes == ("mlx-lm",)
    assert found.for_model("org/name").fail_on == "never"
