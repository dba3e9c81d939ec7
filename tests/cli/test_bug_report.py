"""`toolfmt report-bug`: what a report contains, and that it contains no text, names or paths of the user."""

from __future__ import annotations

import json
import platform
import re
import string
import sys
from pathlib import Path
from typing import Any, NoReturn

import depth
import pytest
from click.testing import CliRunner, Result
from hypothesis import assume, example, given
from hypothesis import strategies as st
from model_cases import MODELS

import toolfmt
from toolfmt.cli.bug_report import errors, report, versions
from toolfmt.cli.bug_report.errors import error_lines, where
from toolfmt.cli.bug_report.masking import WORDS, Masking, known_markers
from toolfmt.cli.bug_report.output import events_of, masked_tools, names_in, outline
from toolfmt.cli.bug_report.report import WrongOutput, bug_report
from toolfmt.cli.commands import main
from toolfmt.errors import FailedInProcess, ToolfmtError
from toolfmt.formats import Parser, get
from toolfmt.testing.corpus import cases

JSON_FRAMES = str(MODELS / "json-frames")
SECRET = "Quorvex"
"""A word that appears nowhere in toolfmt."""


def run(*args: str, input: str | None = None) -> Result:
    return CliRunner().invoke(main, ["report-bug", *args], input=input)


def blocks(page: str) -> dict[str, str]:
    """The fenced blocks of a page, by title."""
    return dict(re.findall(r"^## ([^\n]+)\n\n`{3,}\w*\n(.*?)\n`{3,}$", page, re.DOTALL | re.MULTILINE))


# --- masking


def test_letters_and_digits_are_replaced_and_structure_is_kept() -> None:
    text = 'Sure, Alice: <tool_call>\n{"name": "f", "arguments": {"a": "M\\u00fcller\\n", "b": 0.5e3, "c": true}}'
    masked = 'Xxxx, Xxxxx: <tool_call>\n{"name": "x", "arguments": {"x": "X\\u0078xxxx\\n", "x": 1.1e1, "x": true}}'
    assert Masking().masked(text) == masked


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("username", "xxxxxxxx"),  # contains `name`, but is another word
        ("tool_names", "xxxx_xxxxx"),
        ("<tool_callx>", "<xxxx_xxxxx>"),
        ("Über ẞ 東京 ½", "öxxx ö öö ö"),
        ("🇩🇪 Ⓐ e\u0327\u200b\ue000", "öö ö xööö"),
        ("\\d\\x41\\u005f\\u0041\\ud83d\\ude00\\\\n", "\\x\\x78\\u0078\\u0078\\ud83d\\ude42\\\\x"),
        ("cut <tool_ca", "xxx <tool_ca"),
        ("cut tool_ca", "xxx tool_ca"),  # the start of a marker
        ("cut functo", "xxx xxxxxx"),  # a word may begin like `functools[`
        ("NAME Name name", "XXXX Xxxx name"),
        ("<｜tool▁calls▁begin｜>", "<｜tool▁calls▁begin｜>"),
        ("007 1a 3.14", "111 1x 1.11"),
    ],
)
def test_what_could_still_spell_something_is_replaced(text: str, masked: str) -> None:
    assert Masking().masked(text) == masked


@given(st.text(st.sampled_from('aßX1é東\\"{}_<>|/ \n🇩u0' + "".join(sorted(WORDS))), max_size=60))
def test_masked_text_is_as_long_and_has_only_known_words(text: str) -> None:
    masked = Masking().masked(text)
    assert len(masked) == len(text)
    rest = masked
    for mark in sorted(known_markers(), key=len, reverse=True):
        rest = rest.replace(mark, " ")
    rest = re.sub(r"\\u[0-9a-f]{4}|\\[a-zA-Z]", " ", rest)
    partial_marker = re.compile(r"\W[\w|:▁ ]*\Z")  # the end may be the beginning of a marker
    words = re.findall(r"\w+", partial_marker.sub("", rest))
    assert {word for word in words if not re.fullmatch("[xXö1_]+|1*e1+", word) and word not in WORDS} == set()


_WORDS = st.text(string.ascii_letters, min_size=5, max_size=12).filter(lambda word: not set(word.lower()) <= set("abx"))
_PUBLIC = " ".join([*known_markers(), *WORDS]).lower()


@given(
    secret=_WORDS, where=st.sampled_from(["Hi {}!", '{{"city": "{}"}}', "<{}>", "/home/{}/a.txt", "{}@x.de", "_{}_"])
)
def test_no_word_gets_through(secret: str, where: str) -> None:
    assume(secret.lower() not in _PUBLIC)
    for masking in (Masking(), Masking(names=["city", secret])):
        assert secret.lower() not in masking.masked(where.format(secret)).lower()


def test_names_stay_different_and_are_the_same_everywhere() -> None:
    masking = Masking(names=["get_weather", "city", "days", "Zahl", "größe", "name"])
    masked = masking.masked('get_weather("city", days) city Zahl größe cities name').split()
    call, days, city, number, size, cities, name = masked
    assert (call.partition('"')[2].rstrip('",'), cities, name) == (city, "xxxxxx", "name")
    assert len({city, days.rstrip(")"), number.lower()}) == 3
    assert re.fullmatch("[A-Z][a-wyz]{3}", number) and re.fullmatch("[a-wyz]{2}öö[a-wyz]", size)


# --- outputs

TOOL = {
    "type": "function",
    "function": {
        "name": "quorvex_lookup",
        "description": "Ask Quorvex.",
        "strict": True,
        "parameters": {
            "type": "object",
            "title": SECRET,
            "properties": {
                "quorvex_key": {"type": "string", "description": SECRET, "default": SECRET, "pattern": SECRET},
                "count": {"type": ["integer", "null"], "minimum": 4711},
                "kind": {"enum": ["Quorvex", 4711, None, True], "type": SECRET},
                "inner": {"$ref": "#/$defs/Quorvex"},
                "list": {"type": "array", "items": {"anyOf": [{"const": "Quorvex"}, {"type": "number"}]}},
            },
            "required": ["quorvex_key"],
            "$defs": {"Quorvex": {"type": "object", "properties": {"quorvex_x": {"type": "boolean"}}}},
            "additionalProperties": False,
            "x-owner": SECRET,
        },
    },
}


def test_a_tool_keeps_what_types_its_arguments() -> None:
    (tool,) = masked_tools([TOOL], Masking(names=names_in([TOOL]))) or []
    text = json.dumps(tool)
    assert SECRET.lower() not in text.lower()
    assert "4711" not in text
    parameters = tool["function"]["parameters"]
    key, count, kind, inner, items = parameters["properties"].values()
    assert (key, count["type"]) == ({"type": "string"}, ["integer", "null"])
    assert kind == {"enum": ["Aaaaaaa", 1, None, True], "type": "Aaaaaaa"}
    assert items == {"type": "array", "items": {"anyOf": [{"const": "Aaaaaaa"}, {"type": "number"}]}}
    assert inner["$ref"] == "#/$defs/" + next(iter(parameters["$defs"]))
    assert parameters["required"] == [next(iter(parameters["properties"]))]
    assert parameters["additionalProperties"] is False
    assert "title" not in parameters and "description" not in tool["function"]


def test_a_parameter_may_be_called_like_a_keyword() -> None:
    described = {"type": "string", "description": SECRET}
    schema = {"properties": {"description": described, "type": {"type": "integer"}, "properties": described}}
    (tool,) = masked_tools([{"name": "f", "parameters": schema}], Masking()) or []
    expected = {"xxxxxxxxxxx": {"type": "string"}, "type": {"type": "integer"}, "properties": {"type": "string"}}
    assert tool["parameters"] == {"properties": expected}


def test_definitions_are_cut_where_they_are_deep() -> None:
    deep: dict[str, Any] = {"properties": {"bottom": {}}}
    for _ in range(3000):
        deep = {"items": [deep]}
    (tool,) = masked_tools([deep], Masking()) or []
    assert json.dumps(tool).count("items") == 20
    assert list(names_in([deep])) == []


@pytest.mark.sample(0)
def test_most_masked_outputs_of_the_corpus_parse_the_same() -> None:
    """What masking cannot keep (007 as a number, a typo in a marker, names that become the same) is in the report."""
    tried = cases()[:: 1 if depth.every else 24]
    same = 0
    for case in tried:
        format, masking = get(case.format), Masking(names=names_in(case.tools))
        tools = masked_tools(case.tools, masking)
        masked = outline(events_of(format, masking.masked(case.text), tools, masking.masked(case.prefix)))
        same += masked == outline(events_of(format, case.text, case.tools, case.prefix))
    assert same / len(tried) > 0.93, f"{same} of {len(tried)}"


CALL = '<tool_call>\n{"name": "quorvex_lookup", "arguments": {"quorvex_key": "Quor"vex"}}\n</tool_call>'


def test_an_output_is_masked_and_has_its_events(tmp_path: Path) -> None:
    (tmp_path / "output.txt").write_text(f"Dear Quorvex,\n{CALL}", "utf-8")
    (tmp_path / "tools.json").write_text(json.dumps([TOOL]), "utf-8")
    done = run(
        "--model-output", str(tmp_path / "output.txt"), "--tools", str(tmp_path / "tools.json"), "--format", "json"
    )
    assert (done.exit_code, done.stderr) == (0, "")
    assert SECRET.lower() not in done.stdout.lower()
    assert tmp_path.name not in done.stdout
    shown = blocks(done.stdout)
    output = json.loads(shown["Output"])
    message = toolfmt.parse(output["text"], format=output["format"], tools=output["tools"])
    events = [json.loads(line) for line in shown["Events"].splitlines()]
    assert events[-1]["type"] == "tool_call_rejected"
    assert [call.reason for call in message.rejected] == [events[-1]["reason"]]
    assert "The original output gives the same events" in done.stdout


def test_an_output_that_masking_changes_has_its_events_in_lengths() -> None:
    text = '<tool_call>{"name": "quorvex_lookup", "arguments": {"count": 007}}</tool_call>'  # 111 is a number
    page = bug_report(None, WrongOutput(text, get("json"), [TOOL]))
    assert "The original output gives other events than the masked one above" in page
    assert '"reason": "' in blocks(page)["Events of the original output"]
    assert "quorvex" not in page.lower()


def test_an_error_of_the_parser_is_a_part_of_the_report(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: object, text: str) -> NoReturn:
        raise KeyError(f"/home/{SECRET}/{text}")

    monkeypatch.setattr("toolfmt.formats.Parser.feed", broken)
    page = bug_report(None, WrongOutput(f"Hello {SECRET}", get("json")))
    assert "KeyError: '(path)" in blocks(page)["Events"]
    assert "toolfmt/cli/bug_report/output.py:" in blocks(page)["Events"]
    assert SECRET.lower() not in page.lower()


def test_chunks_that_change_the_events_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    format, feed = get("json"), Parser.feed
    assert "One character at a time" not in bug_report(None, WrongOutput("Hello", format))
    monkeypatch.setattr(Parser, "feed", lambda self, text: feed(self, text) if len(text) > 1 else [])
    assert "Fed one character at a time, the original output gives other events." in bug_report(
        None, WrongOutput("Hello", format)
    )


def test_names_that_are_the_same_once_masked_are_no_warning(recwarn: pytest.WarningsRecorder) -> None:
    tools = [{"type": "function", "function": {"name": name, "parameters": {}}} for name in ("1", "2")]
    page = bug_report(None, WrongOutput("Hello", get("json"), tools))
    assert (list(recwarn), "Error" in page) == ([], False)


def test_the_output_of_a_model_starts_where_its_prompt_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    place = str(MODELS / "glm4-key-value")
    model = toolfmt.load(place)
    prefilled = json.loads(blocks(run(place, "--model-output", "-", input="Hm.").stdout)["Output"])
    assert (prefilled["format"], prefilled["prefix"]) == ("glm4", model.profile.prefill)


def test_nothing_in_a_report_closes_its_fences_or_moves_a_cursor() -> None:
    page = bug_report(None, WrongOutput("```\n\x1b[2J\x7f\u202e ````", get("json")))
    assert [char for char in page if not char.isprintable() and char not in "\n"] == []
    assert json.loads(blocks(page)["Output"])["text"] == "```\n\x1b[1X\x7fö ````"
    assert "\n`````json\n" in page


# --- models


def planted(folder: Path) -> Path:
    """A model directory that contains the secret wherever a file can contain one."""
    model = folder / SECRET / "model"
    model.mkdir(parents=True)
    template = (
        "{#- Quorvex -#}{% macro quorvex_part(m) %}{{ m.content }}{% endmacro %}"
        "{%- if quorvex_switch is defined and quorvex_switch %}Quorvex is on{% endif -%}"
        "{%- if tools %}You are Quorvex. {% for t in tools %}{{ t | tojson }}{% endfor %}\n{% endif -%}"
        "{%- for m in messages %}{%- if m.role == 'developer' %}"
        "{{ raise_exception('/home/Quorvex/model.py says no') }}{% endif -%}"
        "<|quorvex_start|>{{ m.role }}\n{% if m.quorvex_thought %}<quorvex>{{ m.quorvex_thought }}</quorvex>{% endif %}"
        "{% if m.content == 'Quorvex' %}hidden{% endif %}{{ quorvex_part(m) }}"
        "{% for c in m.tool_calls or [] %}<quorvex_call>{{ c.function.name }}:"
        "{{ c.function.arguments | quorvex_filter }}"
        "</quorvex_call>{% endfor %}<|quorvex_end|>\n{% endfor %}"
        "{% if add_generation_prompt %}<|quorvex_start|>assistant\n<quorvex>{% endif %}"
    )
    (model / "chat_template.jinja").write_text(template, "utf-8")
    (model / "additional_chat_templates").mkdir()
    (model / "additional_chat_templates" / "quorvex.jinja").write_text("{{ Quorvex }}", "utf-8")
    config = {"model_type": "quorvex", "_name_or_path": f"/home/{SECRET}", "eos_token_id": 3, "quorvex": 1}
    (model / "config.json").write_text(json.dumps(config), "utf-8")
    tokenizer = {
        "eos_token": "<|quorvex_end|>",
        "quorvex_token": "<|quorvex_more|>",
        "tool_parser_type": "quorvex",
        "added_tokens_decoder": {"3": {"content": "<|quorvex_end|>", "special": True}},
        "_name_or_path": f"/home/{SECRET}/model",
    }
    (model / "tokenizer_config.json").write_text(json.dumps(tokenizer), "utf-8")
    (model / f"{SECRET}.txt").write_text("", "utf-8")
    return model


@pytest.mark.parametrize("filter", ["tojson", "quorvex_filter"])
def test_nothing_in_the_files_of_a_model_is_in_the_report(filter: str, tmp_path: Path) -> None:
    model = planted(tmp_path)
    file = model / "chat_template.jinja"
    file.write_text(file.read_text("utf-8").replace("quorvex_filter", filter), "utf-8")
    done = run(str(model))
    assert (done.exit_code, done.stderr) == (0, "")
    assert "quorvex" not in done.stdout.lower()
    assert tmp_path.name not in done.stdout
    shown = blocks(done.stdout)
    assert json.loads(shown["Inspection"])["model_type"] == "xxxxxxx"
    first, second = json.loads(shown["Model"])["templates"]
    assert (first["name"], second["name"]) == ("default", "xxxxxxx")
    assert first["sha256"] == toolfmt.load(model).files.templates[0].sha256


def test_a_report_has_the_verdict_the_format_and_the_findings() -> None:
    shown = json.loads(blocks(run(str(MODELS / "in-conflict")).stdout)["Inspection"])
    inspected = toolfmt.load(MODELS / "in-conflict").inspect()
    assert (shown["verdict"], shown["model_type"], shown["format"]["name"]) == ("native", "glm4_moe", "glm4")
    assert shown["findings"] == [[one.severity, one.code, one.line] for one in (*inspected.findings, *inspected.notes)]
    assert ["declared", "glm4"] in shown["format"]["evidence"]


@pytest.mark.parametrize("name", ["quorvex", "config.json", "two  words", "gone.gguf"])
@pytest.mark.parametrize("broken", [False, True])
def test_the_path_of_a_model_that_cannot_be_read_has_no_shape(name: str, broken: bool, tmp_path: Path) -> None:
    place = tmp_path / name
    if broken:
        place.mkdir()
        (place / "config.json").write_text("{", "utf-8")
    done = run(str(place))
    line = blocks(done.stdout)["The model cannot be read"].splitlines()[-1]
    assert done.exit_code == 0
    assert re.match(r"toolfmt\.errors\.BadModelDirectory: (?:MODEL: |\(path\), line 1, column 1: not JSON)", line), line
    assert "/" not in line
    if not broken:
        assert "no such file or directory; give a model directory (one that " in line


@pytest.mark.parametrize("template", ["{% if Quorvex %}", "{{ Quorvex.quorvex.quorvex }}", "{% quorvex %}", ""])
def test_a_broken_template_shows_nothing_either(template: str, tmp_path: Path) -> None:
    file = tmp_path / "Quorvex.jinja"
    file.write_text(template, "utf-8")
    done = run(str(file))
    assert done.exit_code == 0
    assert "quorvex" not in done.stdout.lower()


def test_a_model_that_cannot_be_read_is_named_on_standard_error_only(tmp_path: Path) -> None:
    done = run(str(tmp_path / SECRET))
    assert done.exit_code == 0
    assert done.stderr.startswith(f"toolfmt: {tmp_path / SECRET}: no such file or directory")
    assert done.stderr.count("\n") == 1
    assert "toolfmt/templates/" in blocks(done.stdout)["The model cannot be read"]
    assert SECRET.lower() not in done.stdout.lower()
    assert tmp_path.name not in done.stdout


def test_an_error_of_the_inspection_has_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*given: object) -> NoReturn:
        raise KeyError(SECRET)

    monkeypatch.setattr("toolfmt.model.model.inspect_files", broken)
    done = run(JSON_FRAMES, "--trusted")
    assert done.exit_code == 0
    shown = blocks(done.stdout)["The inspection fails"]
    assert "toolfmt/model/model.py:" in shown
    assert "KeyError: 'Xxxxxxx'" in shown
    assert SECRET not in done.stdout
    assert "chat_template.jinja" in blocks(done.stdout)["Model"]


def test_an_error_in_the_process_for_templates_has_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*given: object) -> NoReturn:
        raise FailedInProcess("KeyError", ("toolfmt/model/jobs.py:1 a", "toolfmt/inspect/inspection.py:2 b"))

    monkeypatch.setattr("toolfmt.model.sandbox.pool.Worker.run", broken)
    shown = blocks(run(JSON_FRAMES).stdout)["The inspection fails"]
    assert "in the process for templates:\ntoolfmt/model/jobs.py:1 a\ntoolfmt/inspect/inspection.py:2 b\n" in shown


@pytest.mark.sample(0)
def test_models_of_the_corpus_give_reports_that_an_issue_takes() -> None:
    for place in sorted(MODELS.iterdir())[::4]:
        page = bug_report(str(place), None)
        assert len(page) < 10_000, place
        assert place.name not in page
        assert str(MODELS) not in page


# --- the machine


def test_versions_identify_neither_the_machine_nor_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "release", lambda: "6.1.0-quorvex-kernel")
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(versions, "version", lambda name: "1.2.3+quorvex.4")
    found = versions.versions()
    assert (found["system"], found["jinja2"]) == ("Linux 6.1.0 x86_64", "1.2.3")
    monkeypatch.setattr(versions, "version", lambda name: "quorvex")
    assert versions.versions()["vllm"] == "installed"
    assert run().exit_code == 0
    assert "quorvex" not in run().stdout


# --- exceptions


def raised(error: Exception, cause: Exception | None = None) -> Exception:
    try:
        raise error from cause
    except type(error) as caught:
        return caught


def test_an_exception_has_its_class_its_places_and_the_words_of_toolfmt() -> None:
    with pytest.raises(ToolfmtError) as caught:
        toolfmt.load(f"/home/{SECRET}/model")
    *places, message = error_lines(caught.value, f"/home/{SECRET}/model")
    assert message.startswith("toolfmt.errors.BadModelDirectory: MODEL: no such file or directory")
    assert re.fullmatch(r"toolfmt/templates/files/locate\.py:\d+ load_files", places[-1])
    assert places[0] == "other code"
    assert where(caught.value) == places[-1].rpartition(" ")[0]
    assert where(raised(KeyError())) == ""


@given(secret=_WORDS, name=_WORDS)
@example(secret="alicesmith", name="bobjones")
def test_no_exception_quotes_what_it_was_raised_with(secret: str, name: str) -> None:
    public = " ".join(errors._fixed_words()).lower()
    assume(secret.lower() not in public and secret.lower() not in _PUBLIC)
    first = OSError(2, "No such file or directory", f"/home/{secret}/{name}")
    lines = error_lines(raised(KeyError(f"{secret!r}: {name}"), first))
    assert (lines[1].partition(":")[0], lines[2], lines[3].partition(":")[0]) == (
        "KeyError",
        "caused by",
        "FileNotFoundError",
    )
    assert "No such file or directory: '(path)'" in lines[3]
    assert secret.lower() not in "".join(lines).lower()


@pytest.mark.parametrize(
    "path", ["/opt/quorvex/a.py", r"C:\quorvex\a.py", r"\\quorvex\share", "~/quorvex", "a/quorvex"]
)
def test_paths_have_no_shape(path: str) -> None:
    assert error_lines(ValueError(f"see {path}: no"))[-1].endswith("(path): no")


def test_an_exception_of_another_package_is_not_named() -> None:
    kind = type("QuorvexError", (Exception,), {"__module__": "quorvex.core"})
    assert error_lines(kind("no"))[-1].startswith("an exception of another package: ")
    mute = type("Mute", (Exception,), {"__str__": lambda self: 1 // 0, "__module__": "builtins"})
    assert error_lines(mute()) == ["Mute: "]


@pytest.mark.parametrize(
    ("module", "place"),
    [("quorvex.core", "other code"), ("jinja2.core", "jinja2.core:1 <module>"), ("json", "json:1 <module>")],
)
def test_only_packages_that_toolfmt_uses_are_named(module: str, place: str) -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        exec(compile("1 / 0", "/home/quorvex/core.py", "exec"), {"__name__": module})
    assert error_lines(caught.value)[-2] == place


def test_a_long_traceback_keeps_its_end() -> None:
    def deep(level: int) -> None:
        if level == 0:
            json.loads("{")
        deep(level - 1)

    with pytest.raises(ValueError) as caught:
        deep(100)
    lines = error_lines(caught.value)
    assert len(lines) < 100
    assert any(line.startswith("json.decoder:") for line in lines)


# --- the command


def test_without_anything_it_prints_the_versions() -> None:
    done = run()
    assert done.exit_code == 0
    assert f"toolfmt {toolfmt.__version__}" in blocks(done.stdout)["Versions"].splitlines()
    assert "## Inspection" not in done.stdout


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["--format", "json"], "--format goes with --model-output"),
        (["--model-output", "-"], "--model-output needs --format, or the MODEL that wrote the output"),
        (["--model-output", "-", "--format", "json", "--tools", "-"], "cannot both be standard input"),
        (["--model-output", "-", "--format", "nobodys"], "no tool-call format is named 'nobodys'"),
        (["--model-output", "/nowhere/at/all", "--format", "json"], "/nowhere/at/all: cannot be read"),
    ],
)
def test_bad_input_is_one_line(args: list[str], expected: str) -> None:
    done = run(*args, input="")
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert expected in done.stderr


def test_an_unreadable_model_requires_a_format() -> None:
    done = run("/nowhere/at/all", "--model-output", "-", input=CALL)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "the format of this model is not known; name the format of the output with --format" in done.stderr


def test_what_is_too_long_for_an_issue_is_reported() -> None:
    done = run("--model-output", "-", "--format", "json", input="a" * 70_000)
    assert done.exit_code == 0
    assert "more than an issue takes; attach the report as a file" in done.stderr
    done = run("--model-output", "-", "--format", "json", input="a" * 1_000_001)
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)


# --- errors on the command line


def failing(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def fail(*given: Any, **also: Any) -> NoReturn:
        raise error

    monkeypatch.setattr("toolfmt.cli.printing.findings.findings_table", fail)


def test_an_internal_error_is_one_line_with_where_to_report_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TOOLFMT_TRACEBACK", raising=False)
    failing(monkeypatch, KeyError("a\nb"))
    done = CliRunner().invoke(main, ["explain"])
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    begin = r"toolfmt: a bug in toolfmt \(KeyError: 'a\\nb', toolfmt/cli/commands\.py:\d+\); please report it"
    assert re.match(begin, done.stderr)
    assert "`toolfmt report-bug`" in done.stderr
    monkeypatch.setenv("TOOLFMT_TRACEBACK", "1")
    done = CliRunner().invoke(main, ["explain"])
    assert done.exit_code == 2
    assert "Traceback (most recent call last):" in done.stderr


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (RecursionError("too deep"), "a bug in toolfmt (RecursionError: too deep"),
        (MemoryError(), "a bug in toolfmt (MemoryError, "),
        (PermissionError(13, "Permission denied", "/a/b"), "a bug in toolfmt (PermissionError"),
        (OSError(28, "No space left on device"), "standard output cannot be written (No space left on device)"),
        (ToolfmtError("as ever"), "toolfmt: as ever\n"),
    ],
)
def test_errors_that_are_not_bugs_are_reported_as_usual(
    error: Exception, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(monkeypatch, error)
    done = CliRunner().invoke(main, ["explain"])
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert expected in done.stderr


def test_a_report_about_a_broken_report_is_not_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*given: Any) -> NoReturn:
        raise ZeroDivisionError

    monkeypatch.setattr(report, "versions", fail)
    done = run()
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert "a bug in toolfmt (ZeroDivisionError" in done.stderr
