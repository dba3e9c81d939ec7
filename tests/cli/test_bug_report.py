"""`toolfmt report-bug`: what a report holds, and that nothing of the user's is in it that she did not ask for."""

from __future__ import annotations

import json
import platform
import re
import string
import sys
import sysconfig
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import depth
import pytest
from click.testing import CliRunner, Result
from hypothesis import assume, example, given
from hypothesis import strategies as st
from model_cases import MODELS

import toolfmt
from toolfmt.cli.bug_report import errors as faults
from toolfmt.cli.bug_report import gathering, versions
from toolfmt.cli.bug_report.errors import fault, where
from toolfmt.cli.bug_report.gathering import GivenAnswer, Wanted, bug_report
from toolfmt.cli.bug_report.inspected import Told
from toolfmt.cli.bug_report.masking import WORDS, Masking, known_markers
from toolfmt.cli.bug_report.output import answered, masked_tool, names_in
from toolfmt.cli.bug_report.scrubbing import HOST, PATH, USER, scrubbed
from toolfmt.cli.commands import main
from toolfmt.errors import BadFormat, FailedInProcess, ToolfmtError
from toolfmt.formats import Parser, get
from toolfmt.formats.stored import as_data, to_text
from toolfmt.inspect.report.report import (
    CAPABILITIES,
    Advice,
    Answer,
    DerivedFormat,
    Difference,
    Effect,
    Evidence,
    Finding,
    FormatDecision,
    MarkerTokens,
    Portability,
    PrefixStep,
    Report,
    RuntimeSupport,
    SampleSpan,
    Sections,
    Stability,
    TemplateFailure,
    TemplateInfo,
    Tokens,
    ToolCost,
    Variable,
    Verdict,
)
from toolfmt.inspect.report.template_profile import TemplateProfile
from toolfmt.testing.corpus import Case, cases

JSON_FRAMES = str(MODELS / "json-frames")
SECRET = "Quorvex"
"""A word that stands nowhere in toolfmt."""


def run(*args: str, input: str | None = None) -> Result:
    return CliRunner().invoke(main, ["report-bug", *args], input=input)


def blocks(page: str) -> dict[str, str]:
    """The fenced texts of a page by their titles."""
    return dict(re.findall(r"^## ([^\n]+)\n\n`{3,}\w*\n(.*?)\n`{3,}$", page, re.DOTALL | re.MULTILINE))


# --- masking

_PROSE = 'Sure, Alice: <tool_call>\n{"name": "f", "arguments": {"a": "M\\u00fcller\\n", "b": 0.5e3, "c": true}}'


def test_letters_and_digits_are_others_and_all_else_stands() -> None:
    masked = 'Xxxx, Xxxxx: <tool_call>\n{"name": "x", "arguments": {"x": "X\\u0078xxxx\\n", "x": 1.1e1, "x": true}}'
    assert masked == Masking().masked(_PROSE)


def test_names_stay_apart_and_are_the_same_everywhere_in_any_case() -> None:
    masking = Masking(["get_weather", "city", "days", "Zahl"])
    masked = masking.masked("get_weather city days CITY Day getweather zahl größe").split()
    weather, city, days, upper, day, joined, number, other = masked
    assert (city.upper(), day, joined, other) == (upper, "Xxx", "xxxxxxxxxx", "xxööx")
    assert len({weather, city, days, number}) == 4
    assert re.fullmatch("[a-wyz]{3}_[a-wyz]{7}", weather)


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("username", "xxxxxxxx"),  # holds `name`, and is another word
        ("tool_names", "xxxx_xxxxx"),
        ("<tool_callx>", "<xxxx_xxxxx>"),
        ("Über ẞ 東京 ½", "Öxxx Ö öö 1"),
        ("🇩🇪 Ⓐ ⠓", "☺☺ ☺ ☺"),
        ("\U000e0041\U000e0042 \ue000 e\u0327", "\u200b\u200b \ufffd x\u0301"),
        ("\\d\\x41\\u005f\\u0041\\ud83d\\ude00\\\\n", "\\q\\x78\\u005f\\u0078\\ud83d\\ude42\\\\x"),
        ("cut <tool_ca", "xxx <tool_ca"),
        ("cut tool_ca", "xxx xxxx_xx"),
        ("cut functo", "xxx xxxxxx"),  # of `functools[`, which a word may begin like
        ("NAME Name name", "XXXX Xxxx name"),
        ("a &amp; b &secret;", "x &amp; x &xxxxxx;"),
        ("007 1a 3.14", "111 1x 1.11"),
    ],
)
def test_what_could_still_spell_something_is_another(text: str, masked: str) -> None:
    assert masked == Masking().masked(text)


@given(st.text(st.sampled_from('aßX1é東\\"{}_<>|/ \n🇩u0' + "".join(sorted(WORDS))), max_size=60))
def test_a_masked_text_is_as_long_and_says_only_known_words(text: str) -> None:
    masked = Masking().masked(text)
    assert len(masked) == len(text)
    left = masked
    for mark in sorted(known_markers(), key=len, reverse=True):
        left = left.replace(mark, " ")
    left = re.sub(r"\\u[0-9a-f]{4}|\\[a-zA-Z]", " ", left)
    begun = re.compile(r"\W[\w|:▁ ]*\Z")  # the end may be the beginning of a marker
    words = re.findall(r"[^\W_]+", begun.sub("", left))
    kept = {word for run in WORDS for word in (run, *run.split("_"))}
    assert {word for word in words if not re.fullmatch("[xXöÖ1]+|1*e1+", word) and word not in kept} == set()


_WORDS = st.text(string.ascii_letters, min_size=5, max_size=12).filter(lambda word: not set(word.lower()) <= set("abx"))
_PUBLIC = " ".join([*known_markers(), *WORDS]).lower()


@given(
    secret=_WORDS, where=st.sampled_from(["Hi {}!", '{{"city": "{}"}}', "<{}>", "/home/{}/a.txt", "{}@x.de", "_{}_"])
)
def test_no_word_comes_through(secret: str, where: str) -> None:
    assume(secret.lower() not in _PUBLIC)
    assert secret.lower() not in Masking(["city", secret]).masked(where.format(secret)).lower()


# --- answers

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


def test_of_a_tool_there_are_masked_names_and_what_types_its_arguments() -> None:
    tool = masked_tool(TOOL, Masking(names_in([TOOL])))
    told = json.dumps(tool)
    assert SECRET.lower() not in told.lower()
    assert "4711" not in told
    parameters = tool["function"]["parameters"]
    key, count, kind, inner, items = parameters["properties"].values()
    assert key == {"type": "string"}
    assert count == {"type": ["integer", "null"]}
    assert kind == {"enum": ["Aaaaaaa", 1, None, True], "type": "any"}
    assert items == {"type": "array", "items": {"anyOf": [{"const": "Aaaaaaa"}, {"type": "number"}]}}
    assert inner["$ref"] == "#/$defs/" + next(iter(parameters["$defs"]))
    assert parameters["required"] == [next(iter(parameters["properties"]))]
    assert parameters["additionalProperties"] is False
    assert list(tool["function"]) == ["name", "parameters"]
    assert sorted(parameters) == ["$defs", "additionalProperties", "properties", "required", "type"]


def told_case(case: Case) -> bool:
    """Whether the masked answer is read as the answer is."""
    masking = Masking(names_in(case.tools))
    return answered(get(case.format), case.text, case.tools, case.prefix, case.strict, masking).alike


@pytest.mark.sample(0)
def test_most_masked_answers_are_read_as_they_were() -> None:
    """What a mask cannot keep (007 as a number, a slip in a marker, a name written as an escape) is said in the report;
    it is the smaller part: of every fourth case of the corpus 1,665 of 1,734 were alike (2026-11-24)."""
    tried = cases()[:: 1 if depth.every else 24]
    alike = sum(map(told_case, tried))
    assert alike / len(tried) > 0.93, f"{alike} of {len(tried)}"


CALL = '<tool_call>\n{"name": "quorvex_lookup", "arguments": {"quorvex_key": "Quor"vex"}}\n</tool_call>'


def answer_files(folder: Path) -> list[str]:
    (folder / "answer.txt").write_text(f"Dear Quorvex,\n{CALL}", "utf-8")
    (folder / "tools.json").write_text(json.dumps([TOOL]), "utf-8")
    return ["--answer", str(folder / "answer.txt"), "--tools", str(folder / "tools.json")]


def test_an_answer_is_told_masked_with_what_is_read_of_it(tmp_path: Path) -> None:
    done = run(*answer_files(tmp_path), "--format", "json")
    assert (done.exit_code, done.stderr) == (0, "")
    assert SECRET.lower() not in done.stdout.lower()
    assert tmp_path.name not in done.stdout
    told = blocks(done.stdout)
    case = json.loads(told["Answer"])
    message = toolfmt.parse(case["text"], format=case["format"], tools=case["tools"])
    events = [json.loads(line) for line in told["What is read of it"].splitlines()]
    assert [event["type"] for event in events][-1] == "tool_call_rejected"
    assert [call.reason for call in message.rejected] == [events[-1]["reason"]]
    assert "The answer itself is read alike" in done.stdout
    assert "letters" in done.stdout.partition("## ")[0]


def test_an_answer_that_its_mask_changes_is_told_in_outline() -> None:
    format = get("json")
    text = '<tool_call>{"name": "quorvex_lookup", "arguments": {"count": 007}}</tool_call>'  # 111 is a number
    page = bug_report(Wanted(answer=GivenAnswer(text, format, [TOOL])))
    assert "The answer itself is read otherwise" in page
    assert '"invalid_arguments"' in page or '"malformed_syntax"' in page
    assert "quorvex" not in page.lower()


def test_what_reading_raises_is_told_and_no_end_of_the_report(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: object, text: str) -> NoReturn:
        raise KeyError(f"/home/{SECRET}/{text}")

    monkeypatch.setattr("toolfmt.formats.Parser.feed", broken)
    page = bug_report(Wanted(answer=GivenAnswer(f"Hello {SECRET}", get("json"))))
    assert "## What reading it raised" in page
    assert "KeyError: '/xxxx/" in page
    assert SECRET.lower() not in page.lower()


def test_what_is_read_otherwise_in_pieces_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    format, feed = get("json"), Parser.feed
    assert "A character at a time" not in bug_report(Wanted(answer=GivenAnswer("Hello", format)))
    monkeypatch.setattr(Parser, "feed", lambda self, text: feed(self, text) if len(text) > 1 else [])
    assert "A character at a time it is read otherwise" in bug_report(Wanted(answer=GivenAnswer("Hello", format)))


def test_names_that_are_the_same_once_masked_are_no_warning() -> None:
    tools = [{"type": "function", "function": {"name": name, "parameters": {}}} for name in ("1", "2")]
    with warnings.catch_warnings(action="error"):
        page = bug_report(Wanted(answer=GivenAnswer("Hello", get("json"), tools)))
    assert "raised" not in page


def test_an_answer_as_it_is_has_no_places_of_the_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "vexquor"))
    monkeypatch.setattr(platform, "node", lambda: "boxquor.example")
    (tmp_path / "a").write_text(f"{tmp_path}/vexquor/x.txt on boxquor by vexquor: {CALL} </think>", "utf-8")
    done = run("--answer", str(tmp_path / "a"), "--format", "json", "--with-answer")
    assert done.exit_code == 0
    assert "Quor" in blocks(done.stdout)["Answer"]
    assert f"{PATH} on {HOST} by {USER}: <tool_call>" in blocks(done.stdout)["Answer"]
    assert not [name for name in ("vexquor", "boxquor", str(tmp_path)) if name in done.stdout]


def test_a_format_of_a_file_is_told_with_the_answer(tmp_path: Path) -> None:
    own = replace(get("glm4"), name="mine", aliases=(), model_types=())
    file = tmp_path / "mine.json"
    file.write_text(to_text(own), "utf-8")
    done = run("--answer", "-", "--format", str(file), input="<tool_call>f</tool_call>")
    assert done.exit_code == 0, done.stderr
    assert json.loads(blocks(done.stdout)["Format"]) == as_data(own)
    assert "the format as it stands, which is none of toolfmt's own" in done.stdout.partition("## ")[0]


def test_a_format_that_only_code_can_say_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(format: object) -> NoReturn:
        raise BadFormat("no")

    monkeypatch.setattr(gathering, "as_data", refused)
    page = bug_report(Wanted(answer=GivenAnswer("x", replace(get("glm4"), name="mine", aliases=()))))
    assert "## Format" not in page
    assert json.loads(blocks(page)["Answer"])["format"] == "mine"


# --- models


def planted(folder: Path) -> Path:
    """A model directory that holds the secret wherever a file can hold one."""
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
def test_of_a_model_nothing_is_told_that_its_files_say(filter: str, tmp_path: Path) -> None:
    model = planted(tmp_path)
    file = model / "chat_template.jinja"
    file.write_text(file.read_text("utf-8").replace("quorvex_filter", filter), "utf-8")
    done = run(str(model))
    assert (done.exit_code, done.stderr) == (0, "")
    assert "quorvex" not in done.stdout.lower()
    told = blocks(done.stdout)
    assert json.loads(told["Inspection"])["model_type"] == "xxxxxxx"
    assert json.loads(told["Model"])["templates"][1]["name"] == "xxxxxxx"
    assert json.loads(told["Model"])["templates"][0]["sha256"] == toolfmt.load(model).files.templates[0].sha256


def test_the_template_is_told_where_it_is_asked_for(tmp_path: Path) -> None:
    model = planted(tmp_path)
    done = run(str(model), "--with-template")
    text = (model / "chat_template.jinja").read_text("utf-8")
    assert text.replace("/home/Quorvex/model.py", PATH) in done.stdout
    assert str(tmp_path) not in done.stdout
    assert f"/home/{SECRET}" not in done.stdout
    assert "the text of the template" in done.stdout.partition("## ")[0]


def test_what_a_told_template_says_elsewhere_names_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its refusals and excerpts stand in the inspection, too."""
    monkeypatch.setenv("HOME", str(tmp_path / "vexquor"))
    refusing = "{% for m in messages %}{% if m.role != 'user' %}{{ raise_exception(SAID) }}{% endif %}{{ m.content }}"
    said = repr(f"ask vexquor, see {tmp_path}/notes.txt or /home/{SECRET}/x")
    (tmp_path / "chat_template.jinja").write_text(refusing.replace("SAID", said) + "{% endfor %}", "utf-8")
    done = run(str(tmp_path), "--with-template")
    assert f"ask {USER}, see {PATH} or {PATH}" in blocks(done.stdout)["Inspection"]
    assert not [name for name in ("vexquor", f"/home/{SECRET}", str(tmp_path)) if name in done.stdout]


def test_of_a_report_nothing_is_told_that_could_be_the_models() -> None:
    """Every text of a report that a template or a file can have a say in, planted by hand."""
    word = f"{SECRET} thing"
    answer = Answer("no", "it says {}", 3, "threw", (word,), TemplateFailure("refused", word, word))
    tokens = Tokens((MarkerTokens(word, (word,), special=True),), 1, (ToolCost(word, 2),), 3, leave_out=(word,))
    sections = Sections(
        details={"stop": answer},
        definitions={"name": answer},
        variables=(Variable(SECRET, word, (Effect("printed", "it is {}", (word,), (word,), word),), 1, word),),
        stability=Stability((PrefixStep(word, 1, 2, word, word, 4, "other"),), 0.5),
        safety={"argument": answer},
        tokens=tokens,
        portability=Portability("minijinja", 2, 1, (Difference(word, 1, word, written=word, expected=word),)),
        runtime_support=(RuntimeSupport("vLLM", word, SECRET, False, word, word),),
        advice=(Advice("vLLM", word, remark=word),),
        sample=(SampleSpan("user", word, SECRET),),
    )
    evidence = Evidence("declared", SECRET, word, (word,), (SECRET,), word)
    finding = Finding("TF013", "calls-dropped", word, 5, word)
    whole = Report(
        path=word,
        verdict=Verdict("broken", word),
        model_type=SECRET,
        template=TemplateInfo(word, SECRET, "0" * 64, (SECRET,), word),
        capabilities=dict.fromkeys(CAPABILITIES, answer),
        format=FormatDecision(SECRET, "declared", (evidence,), SECRET, DerivedFormat(word, 1, 2, (word,), word)),
        strategy="prompt",
        runtimes={"vLLM": word},
        findings=(finding,),
        notes=(finding,),
        sections=sections,
        profile=TemplateProfile(stop=(word,), stop_of_calls=(word,), prefill=word),
    )
    told = json.dumps(Told(with_template=False).report(whole))
    assert SECRET.lower() not in told.lower()
    assert json.loads(told)["capabilities"]["tools"]["error"] == {"kind": "refused", "own_words": ""}
    assert json.loads(told)["format"]["evidence"][0] == {
        "source": "declared", "format": "Xxxxxxx", "faults": 1, "tolerated": [],
    }  # fmt: skip
    assert SECRET in json.dumps(Told(with_template=True).report(whole))


def test_a_template_cannot_close_its_fence(tmp_path: Path) -> None:
    file = tmp_path / "a.jinja"
    file.write_text("```\n## Versions\n````\n{{ messages }}", "utf-8")
    page = bug_report(Wanted(place=str(file), with_template=True))
    assert "\n`````jinja\n```\n## Versions\n````\n{{ messages }}\n`````\n" in page


@pytest.mark.parametrize("name", ["quorvex", "config.json", "two words", "gone.gguf"])
@pytest.mark.parametrize("broken", [False, True])
def test_of_a_model_that_cannot_be_read_the_place_has_no_shape(name: str, broken: bool, tmp_path: Path) -> None:
    place = tmp_path / name
    if broken:
        place.mkdir()
        (place / "config.json").write_text("{", "utf-8")
    done = run(str(place))
    line = blocks(done.stdout)["The model cannot be read"].splitlines()[-1]
    assert done.exit_code == 0
    assert line.startswith("toolfmt.errors.BadModelDirectory: the MODEL: ")
    assert "/" not in line.replace("(org/name)", "")
    if not broken:
        assert "no such file or directory; give a model directory (one that holds config.json, " in line


@pytest.mark.parametrize("template", ["{% if Quorvex %}", "{{ Quorvex.quorvex.quorvex }}", "{% quorvex %}", ""])
def test_a_broken_template_tells_nothing_either(template: str, tmp_path: Path) -> None:
    file = tmp_path / "Quorvex.jinja"
    file.write_text(template, "utf-8")
    done = run(str(file))
    assert done.exit_code == 0
    assert "quorvex" not in done.stdout.lower()


def test_a_model_that_cannot_be_read_is_a_report_without_its_name(tmp_path: Path) -> None:
    done = run(str(tmp_path / SECRET))
    assert done.exit_code == 0
    assert done.stderr.startswith(f"toolfmt: {tmp_path / SECRET}: no such file or directory")  # for her alone
    assert done.stderr.count("\n") == 1
    assert "## The model cannot be read" in done.stdout
    assert "BadModelDirectory: " in done.stdout
    assert "toolfmt/templates/" in done.stdout
    assert SECRET.lower() not in done.stdout.lower()
    assert tmp_path.name not in done.stdout


def test_what_an_inspection_raises_is_told_with_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*given: object) -> NoReturn:
        home = f"/home/{SECRET}"
        raise KeyError(home)

    monkeypatch.setattr("toolfmt.model.model.inspect_files", broken)
    done = run(JSON_FRAMES, "--trusted")
    assert done.exit_code == 0
    told = blocks(done.stdout)["The inspection fails"]
    assert "toolfmt/model/model.py:" in told
    assert "KeyError: '/xxxx/Xxxxxxx'" in told
    assert SECRET not in done.stdout
    assert "chat_template.jinja" in done.stdout


def test_a_fault_in_the_process_for_templates_has_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*given: object) -> NoReturn:
        raise FailedInProcess("KeyError", ("toolfmt/model/jobs.py:1 a", "toolfmt/inspect/inspection.py:2 b"))

    monkeypatch.setattr("toolfmt.model.sandbox.pool.Worker.run", broken)
    told = blocks(run(JSON_FRAMES).stdout)["The inspection fails"]
    assert "in the process for templates:\ntoolfmt/model/jobs.py:1 a\ntoolfmt/inspect/inspection.py:2 b\n" in told


@pytest.mark.sample(0)
def test_models_of_the_corpus_give_reports_that_an_issue_takes() -> None:
    for place in sorted(MODELS.iterdir())[::4]:
        page = bug_report(Wanted(place=str(place)))
        assert len(page) < 60_000, place
        assert f"/{place.name}" not in page
        assert str(MODELS) not in page
        assert json.loads(blocks(page)["Inspection"])["schema"] == "toolfmt.report/1"


# --- the machine


def test_versions_name_no_machine_and_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "release", lambda: "6.1.0-quorvex-kernel")
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(versions, "version", lambda name: "1.2.3+quorvex.4")
    told = versions.versions()
    assert (told["system"], told["jinja2"]) == ("Linux 6.1.0 x86_64", "1.2.3")
    monkeypatch.setattr(versions, "version", lambda name: "quorvex")
    assert versions.versions()["vllm"] == "installed"
    assert run().exit_code == 0
    assert "quorvex" not in run().stdout


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("see /opt/quorvex/a.py now", f"see {PATH} now"),
        ("see file:///opt/quorvex", f"see {PATH}"),
        (r"see C:\quorvex\a.py now", f"see {PATH} now"),
        (r"see \\quorvex\share now", f"see {PATH} now"),
        ("~/quorvex/a", PATH),
        ("<think></think> a/b https://example.org/a/b </a> 1/2 / {{ x }}", None),
        ("{{- '</tool_call>' -}}{#- /no_think -#}", None),
    ],
)
def test_paths_are_taken_out_and_tags_are_none(text: str, told: str | None) -> None:
    assert (text if told is None else told) == scrubbed(text)


# --- exceptions


def raised(error: Exception, by: Sequence[Exception] = ()) -> Exception:
    try:
        raise error from (by[0] if by else None)
    except type(error) as caught:
        return caught


def test_an_exception_tells_class_places_and_the_words_of_the_interpreter() -> None:
    with pytest.raises(ToolfmtError) as caught:
        toolfmt.load(f"/home/{SECRET}/model")
    told = fault(caught.value)
    assert told.kind == "toolfmt.errors.BadModelDirectory"
    assert re.fullmatch(r"toolfmt/templates/files/locate\.py:\d+ load_files", told.places[-1])
    assert told.places[0] == "elsewhere"
    assert "no such file or directory" in told.message
    assert SECRET.lower() not in told.message.lower()
    assert where(caught.value) == told.places[-1].rpartition(" ")[0]


@given(secret=_WORDS, name=_WORDS)
@example(secret="alicesmith", name="bobjones")
def test_no_exception_quotes_what_it_was_raised_with(secret: str, name: str) -> None:
    public = " ".join(faults._fixed_words()).lower()
    assume(secret.lower() not in public and secret.lower() not in _PUBLIC)
    first = OSError(2, "No such file or directory", f"/home/{secret}/{name}")
    told = fault(raised(KeyError(f"{secret!r}: {name}"), [first]))
    assert told.led_by is not None
    assert (told.kind, told.led_by.kind) == ("KeyError", "FileNotFoundError")
    assert "No such file or directory" in told.led_by.message
    assert secret.lower() not in str(told).lower()


def test_an_exception_of_a_strangers_class_is_not_named() -> None:
    kind = type("QuorvexError", (Exception,), {"__module__": "quorvex.core"})
    told = fault(raised(kind("no")))
    assert told.kind == "an exception of another package"
    mute = type("Mute", (Exception,), {"__str__": lambda self: 1 // 0, "__module__": "builtins"})
    assert fault(raised(mute())).message == ""


@pytest.mark.parametrize("package", ["quorvex", "jinja2"])
def test_of_other_packages_those_that_toolfmt_stands_on_are_named(package: str) -> None:
    file = Path(sysconfig.get_path("purelib")) / package / "core.py"
    with pytest.raises(ZeroDivisionError) as caught:
        exec(compile("1 / 0", str(file), "exec"))
    place = fault(caught.value).places[-1]
    assert place == ("jinja2/core.py:1 <module>" if package == "jinja2" else "another package")


def test_a_long_row_of_calls_is_shortened() -> None:
    def deep(level: int) -> None:
        if level == 0:
            raise ValueError
        deep(level - 1)

    with pytest.raises(ValueError) as caught:
        deep(100)
    places = fault(caught.value).places
    assert len(places) == 31
    assert places[15] == f"({102 - 30:,} more)"


# --- the command


def test_without_anything_it_prints_the_versions() -> None:
    done = run()
    assert done.exit_code == 0
    assert f"| toolfmt | {toolfmt.__version__} |" in done.stdout
    assert "## Inspection" not in done.stdout


def test_it_writes_a_new_file_and_over_none(tmp_path: Path) -> None:
    file = tmp_path / "report.md"
    assert (run("--output", str(file)).exit_code, file.read_text("utf-8")) == (0, run().stdout)
    file.write_text("mine", "utf-8")
    done = run("--output", str(file))
    assert (done.exit_code, done.stderr) == (2, f"toolfmt: {file}: there already; name another file\n")
    assert file.read_text("utf-8") == "mine"
    assert run("--output", str(tmp_path / "no" / "file")).exit_code == 2


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["--format", "json"], "--format goes with --answer"),
        (["--with-answer"], "--with-answer goes with --answer"),
        (["--answer", "-"], "--answer needs a --format, or a MODEL whose format it is read in"),
        (["--with-template"], "--with-template needs a MODEL"),
        (["--answer", "-", "--format", "json", "--tools", "-"], "cannot both be standard input"),
        (["--answer", "-", "--format", "nobodys"], "no tool-call format is called 'nobodys'"),
        (["--answer", "/nowhere/at/all", "--format", "json"], "/nowhere/at/all: cannot be read"),
    ],
)
def test_bad_input_is_one_line(args: list[str], says: str) -> None:
    done = run(*args, input="")
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert says in done.stderr


def test_the_format_of_the_model_reads_the_answer() -> None:
    done = run(JSON_FRAMES, "--answer", "-", input=CALL)
    assert json.loads(blocks(done.stdout)["Answer"])["format"] == "json"
    done = run(str(MODELS / "broken"), "--answer", "-", input=CALL)
    assert (done.exit_code, done.stderr.count("\n")) in ((0, 0), (2, 1))


def test_what_is_too_long_for_an_issue_is_said() -> None:
    done = run("--answer", "-", "--format", "json", input="a" * 70_000)
    assert done.exit_code == 0
    assert "more than an issue takes; attach the report as a file" in done.stderr
    done = run("--answer", "-", "--format", "json", input="a" * 1_000_001)
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)


def test_a_report_shows_what_a_page_would_hide_and_closes_its_fences() -> None:
    format = get("json")
    page = bug_report(Wanted(answer=GivenAnswer("```\n\x1b[2J\u202e ````", format), with_answer=True))
    assert "\x1b" not in page
    assert "\u202e" not in page
    assert json.loads(blocks(page)["Answer"])["text"] == "```\n\x1b[2J\u202e ````"


# --- faults on the command line


def failing(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def fail(*given: Any, **also: Any) -> NoReturn:
        raise error

    monkeypatch.setattr("toolfmt.cli.printing.findings.findings_table", fail)


def test_a_fault_of_toolfmts_is_one_line_that_says_where_to_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TOOLFMT_TRACEBACK", raising=False)
    failing(monkeypatch, KeyError("a\nb"))
    done = CliRunner().invoke(main, ["explain"])
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    begin = r"toolfmt: a fault of toolfmt's \(KeyError: 'a\\nb', toolfmt/cli/commands\.py:\d+\); please report it"
    assert re.match(begin, done.stderr)
    assert "`toolfmt report-bug`" in done.stderr
    monkeypatch.setenv("TOOLFMT_TRACEBACK", "1")
    done = CliRunner().invoke(main, ["explain"])
    assert done.exit_code == 2
    assert "Traceback (most recent call last):" in done.stderr


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (RecursionError("too deep"), "a fault of toolfmt's (RecursionError: too deep"),
        (MemoryError(), "a fault of toolfmt's (MemoryError, "),
        (PermissionError(13, "Permission denied", "/a/b"), "a fault of toolfmt's (PermissionError"),
        (OSError(28, "No space left on device"), "standard output cannot be written (No space left on device)"),
        (ToolfmtError("as ever"), "toolfmt: as ever\n"),
    ],
)
def test_what_is_no_fault_is_told_as_before(error: Exception, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, error)
    done = CliRunner().invoke(main, ["explain"])
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert says in done.stderr


def test_a_report_about_a_broken_report_is_not_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*given: Any) -> NoReturn:
        raise ZeroDivisionError

    monkeypatch.setattr(gathering, "versions", fail)
    done = run()
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert "a fault of toolfmt's (ZeroDivisionError" in done.stderr
