"""The façade: what `load` gives, that a report is made once, and the way from a directory to events."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import depth
import pytest
from model_cases import MODELS, directories, made

import toolfmt
from toolfmt.errors import BadModelDirectory, BadProfile, LimitHit, TemplateError, ToolfmtError
from toolfmt.inspect import inspection, profiling
from toolfmt.inspect.facts import InspectionOptions
from toolfmt.inspect.report.report import Report
from toolfmt.inspect.report.template_profile import TemplateProfile
from toolfmt.messages.events import Content, Reasoning, ToolCallArguments, ToolCallEnd, ToolCallStart, merge
from toolfmt.render.request.saved_profile import restored, saved
from toolfmt.templates import ModelFiles

MESSAGES = [{"role": "user", "content": "Will it rain in Oslo?"}]
TOOLS = [{"name": "get_weather", "parameters": {"type": "object", "properties": {"place": {"type": "string"}}}}]
ANSWER = '<tool_call>{"name": "get_weather", "arguments": {"place": "Oslo"}}</tool_call>'


def test_the_way_from_a_directory_to_events() -> None:
    model = toolfmt.load(MODELS / "json-frames")
    report = model.inspect()
    prompt = model.render(MESSAGES, tools=TOOLS)
    parser = prompt.parser()
    events = [event for piece in ("It may. ", ANSWER[:30], ANSWER[30:]) for event in parser.feed(piece)]
    events += parser.finish()
    assert (report.format.name, report.format.confidence, report.strategy) == ("json", "verified", "template")
    assert [
        Content("It may. ", 0),
        ToolCallStart(0, "get_weather"),
        ToolCallArguments(0, '{"place": "Oslo"}'),
        ToolCallEnd(0, (8, 8 + len(ANSWER))),
    ] == merge(events)


def test_an_answer_goes_back_into_the_next_prompt() -> None:
    """The prompt of a turn is a prefix of the next one's, including its response, if the template allows it."""
    model = toolfmt.load(MODELS / "json-frames")
    first = model.render(MESSAGES, tools=TOOLS)
    answer = "<tool_call>\n" + ANSWER.removeprefix("<tool_call>").removesuffix("</tool_call>") + "\n</tool_call>"
    message = toolfmt.parse(answer, first.format or "", tools=TOOLS, prefix=first.prefill).to_dict()
    result = {"role": "tool", "tool_call_id": message["tool_calls"][0]["id"], "content": "yes"}
    second = model.render([*MESSAGES, message, result], tools=TOOLS)
    assert second.adaptations == ()
    assert second.text.startswith(first.text + answer + first.stop[0])


def test_a_report_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made_reports: list[Report] = []

    def inspected(files: ModelFiles, options: InspectionOptions) -> Report:
        made_reports.append(inspection.inspect_files(files, options))
        return made_reports[-1]

    monkeypatch.setattr("toolfmt.model.model.inspect_files", inspected)
    model = toolfmt.load(MODELS / "json-frames", trusted=True)
    assert made_reports == []
    assert model.inspect() is model.inspect()
    model.render(MESSAGES, TOOLS)
    model.parser()
    assert len(made_reports) == 1


def test_a_prompt_and_a_parser_are_made_from_the_profile_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    probed: list[ModelFiles] = []

    def profile_files(files: ModelFiles) -> TemplateProfile:
        probed.append(files)
        return profiling.profile_files(files)

    monkeypatch.setattr("toolfmt.model.model.inspect_files", None)
    monkeypatch.setattr("toolfmt.model.model.profile_files", profile_files)
    model = toolfmt.load(MODELS / "json-frames", trusted=True)
    assert probed == []
    assert model.render(MESSAGES, TOOLS).strategy == "template"
    assert model.parser().format.name == "json"
    assert model.write([("get_weather", {"place": "Oslo"})]).startswith("<tool_call>")
    assert probed == [model.files]


@pytest.mark.sample(0)
@pytest.mark.parametrize("trusted", [True, False])
def test_a_profile_is_that_of_the_report(trusted: bool) -> None:
    for directory in depth.some(directories(), 3):
        probed, inspected = (toolfmt.load(directory, trusted=trusted) for _ in range(2))
        report = inspected.inspect()
        assert replace(probed.profile, without_tools=None) == report.profile
        assert probed.profile == inspected.profile
        assert inspected.profile.without_tools is not None or inspected.profile is report.profile


def test_the_profile_holds_that_of_the_template_for_requests_without_tools() -> None:
    model = toolfmt.load(MODELS / "named-templates", trusted=True)
    with_tools, without = model.files.template(True), model.files.template(False)
    assert with_tools is not None
    assert without is not None
    profile, other = model.profile, model.profile.without_tools
    assert other is not None
    assert (profile.sha256, profile.takes_tools) == (with_tools.sha256, True)
    assert (other.sha256, other.takes_tools) == (without.sha256, False)
    assert other.without_tools is None
    assert toolfmt.load(MODELS / "json-frames", trusted=True).profile.without_tools is None


@pytest.mark.sample(1)
@pytest.mark.parametrize("inspected", [False, True])
@pytest.mark.parametrize("trusted", [False, True])
@pytest.mark.parametrize("endless", ["{{ '" + "x" * 1_100_000 + "' }}", "{% set x = 'a' * 10 ** 10 %}"])
def test_a_template_that_takes_too_much_does_not_stop_the_other_one(
    tmp_path: Path, endless: str, trusted: bool, inspected: bool
) -> None:
    """Without tools another template is used: only what that template would render is rejected."""
    sound = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}{{ tools | tojson if tools }}"
    templates = {"default": endless, "tool_use": sound}
    for rejected, rendered in ((None, [TOOLS[0]]), ([TOOLS[0]], None)):
        config = {"chat_template": [{"name": name, "template": text} for name, text in templates.items()]}
        (tmp_path / "tokenizer_config.json").write_text(json.dumps(config), "utf-8")
        model = toolfmt.load(tmp_path, trusted=trusted)
        if inspected:
            model.inspect()
        assert model.render(MESSAGES, rendered).text.startswith("<|")
        with pytest.raises(TemplateError, match=r"Limit hit: (source size|memory).*; it is not rendered$"):
            model.render(MESSAGES, rejected, "template")
        templates = {"default": sound, "tool_use": endless}


def test_a_limit_that_only_a_chapter_hits_stops_no_prompt(tmp_path: Path) -> None:
    """The long conversations that a report requests are not those that rendering requests."""
    long = "{% if messages | length > 6 %}{{ 'a' * 10 ** 10 }}{% endif %}"
    model = made(tmp_path, long + "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}")
    assert "TF007" in {finding.code for finding in model.inspect().findings}
    assert model.render(MESSAGES).text.startswith("<|user|>")


def test_a_template_that_does_not_parse_is_reported_before_an_unread_variable(tmp_path: Path) -> None:
    with pytest.raises(TemplateError, match="syntax error"):
        made(tmp_path, "{% if enable_thinking %}{{ messages }").render(MESSAGES, enable_thinking=True)


def test_a_profile_with_half_a_character_is_saved_as_text_that_any_file_can_hold(tmp_path: Path) -> None:
    (tmp_path / "chat_template.jinja").write_text("{% for m in messages %}{{ m.content }}é😀{% endfor %}", "utf-8")
    (tmp_path / "tokenizer_config.json").write_text('{"eos_token": "\\ud800x😀"}', "utf-8")
    (tmp_path / "config.json").write_text("{}", "utf-8")
    model = toolfmt.load(tmp_path, trusted=True)
    assert "\ud800x😀" in model.profile.stop
    text = model.saved_profile()
    assert text.isascii()
    assert toolfmt.load(tmp_path, profile=text).profile == model.profile


@pytest.mark.sample(0)
def test_a_saved_profile_renders_without_probing(monkeypatch: pytest.MonkeyPatch) -> None:
    for directory in directories():
        model = toolfmt.load(directory, trusted=True)
        text = model.saved_profile()
        with monkeypatch.context() as nothing_probes:
            nothing_probes.setattr("toolfmt.model.model.profile_files", None)
            nothing_probes.setattr("toolfmt.model.model.PROFILE", None)
            nothing_probes.setattr("toolfmt.model.model.INSPECT", None)
            loaded = toolfmt.load(directory, profile=text)
            assert loaded.profile == model.profile
            assert loaded.saved_profile() == text
            if model.broken is None:
                now = datetime(2026, 1, 2)
                assert loaded.render(MESSAGES, TOOLS, now=now) == model.render(MESSAGES, TOOLS, now=now)


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: "", "none that toolfmt saved"),
        (lambda text: "[]", "none that toolfmt saved .list where SavedProfile with its fields"),
        (lambda text: text.replace("toolfmt.profile/1", "toolfmt.profile/9"), "its schema is 'toolfmt.profile/9'"),
        (lambda text: text.replace(toolfmt.__version__, "0.0.9"), "made by toolfmt '0.0.9', this is"),
        (lambda text: text.replace('"takes_tools":true', '"takes_tools":1'), "int where bool"),
        (lambda text: text.replace('"takes_tools":true,', ""), "none that toolfmt saved"),
        (
            lambda text: text.replace('"format":"json"', '"format":"no such"'),
            "it names a format that is not there",
        ),
    ],
)
def test_what_is_not_a_saved_profile_of_this_toolfmt_is_rejected(change: Callable[[str], str], message: str) -> None:
    text = toolfmt.load(MODELS / "json-frames", trusted=True).saved_profile()
    changed = change(text)
    assert changed != text
    with pytest.raises(BadProfile, match=message) as error:
        toolfmt.load(MODELS / "json-frames", profile=changed)
    assert str(error.value).endswith("; give the text that Model.saved_profile makes of it now")
    assert "\n" not in str(error.value)


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "changed",
    [
        lambda files: {"templates": tuple(replace(one, text=one.text + " ") for one in files.templates)},
        lambda files: {
            "templates": tuple(
                replace(one, text=one.text + " ") if one.name == "default" else one for one in files.templates
            )
        },
        lambda files: {"special_tokens": {**files.special_tokens, "eos_token": "<other>"}},
        lambda files: {"model_type": "another"},
        lambda files: {"config": {**files.config, "eos_token_id": 7}},
        lambda files: {"tokenizer_config": {**files.tokenizer_config, "tool_parser": "hermes"}},
        lambda files: {"generation_config": {**files.generation_config, "eos_token_id": 7}},
    ],
)
def test_a_profile_of_other_files_is_rejected(changed: Callable[[ModelFiles], dict[str, Any]]) -> None:
    model = toolfmt.load(MODELS / "named-templates", trusted=True)
    assert restored(model.files, model.saved_profile()) == model.profile
    with pytest.raises(BadProfile, match="made of other files than the model has now"):
        restored(replace(model.files, **changed(model.files)), model.saved_profile())


def test_a_profile_counts_for_the_tokens_that_tokenizer_json_names(tmp_path: Path) -> None:
    """The end of a response must not appear elsewhere."""
    (tmp_path / "config.json").write_text('{"model_type": "qwen3", "eos_token_id": 3}', "utf-8")
    (tmp_path / "chat_template.jinja").write_text("{% for m in messages %}{{ m.content }}{% endfor %}", "utf-8")
    tokenizer = {"version": "1.0", "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "c": 2}, "merges": []}}

    def write_token(text: str) -> None:
        token = {"id": 3, "content": text, "special": True, "normalized": False, "single_word": False}
        added = {**tokenizer, "added_tokens": [{**token, "lstrip": False, "rstrip": False}]}
        (tmp_path / "tokenizer.json").write_text(json.dumps(added), "utf-8")

    write_token("<eot>")
    model = toolfmt.load(tmp_path, trusted=True)
    text = model.saved_profile()
    assert "<eot>" in model.profile.stop
    assert toolfmt.load(tmp_path, profile=text).profile == model.profile
    write_token("<other>")
    with pytest.raises(BadProfile, match="made of other files"):
        toolfmt.load(tmp_path, profile=text)


def test_files_that_are_nested_too_deep_have_no_profile_to_save() -> None:
    model = toolfmt.load(MODELS / "json-frames", trusted=True)
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(BadProfile, match="nested too deep"):
        saved(replace(model.files, config={"a": deep}), model.profile)


@pytest.mark.parametrize("given", [b"{}", {}, Path("profile.json")])
def test_a_profile_that_is_not_text_is_rejected(given: Any) -> None:
    with pytest.raises(BadProfile, match=f"must be a string, not {type(given).__name__}; give the text"):
        toolfmt.load(MODELS / "json-frames", profile=given)


@pytest.mark.parametrize("other", [False, True])
def test_what_hit_a_limit_is_not_saved(other: bool) -> None:
    files = toolfmt.load(MODELS / "named-templates").files
    stopped = profiling.profile_stopped(files, LimitHit("it took 10 seconds", "CPU time"))
    sound = profiling.profile_files(files)
    with pytest.raises(BadProfile, match="Limit hit: CPU time: it took 10 seconds; the profile cannot be saved"):
        saved(files, replace(sound, without_tools=stopped) if other else stopped)


def test_a_saved_profile_with_an_unknown_format_for_requests_without_tools_is_rejected() -> None:
    model = toolfmt.load(MODELS / "named-templates", trusted=True)
    other = model.profile.without_tools
    assert other is not None
    text = saved(model.files, replace(model.profile, without_tools=replace(other, format="no such")))
    with pytest.raises(BadProfile, match="it names a format that is not there"):
        restored(model.files, text)


def test_a_parser_of_a_model_begins_where_its_prompts_end() -> None:
    model = toolfmt.load(MODELS / "null-content-rejected")
    assert [Reasoning("Hm. ", 0)] == merge(model.parser().feed("Hm. "))
    assert [Content("Hm. ", 0)] == merge(model.parser(prefix="").feed("Hm. "))


def test_a_parser_of_a_model_takes_tools_and_strictness() -> None:
    model = toolfmt.load(MODELS / "json-frames")
    undeclared = model.parser(tools=[]).feed(ANSWER)
    assert [event.to_dict().get("reason") for event in undeclared] == ["undeclared_tool"]
    lenient, strict = (model.parser(strict=strict).feed(ANSWER.replace("}}", ",}}")) for strict in (False, True))
    assert (lenient[-1].to_dict()["type"], strict[-1].to_dict()["type"]) == ("tool_call_end", "tool_call_rejected")


def test_a_parser_of_a_model_takes_stop_strings_and_leaves_reasoning_where_requested() -> None:
    model = toolfmt.load(MODELS / "json-frames")
    parser = model.parser(stop=["<end>"], reasoning="text")
    assert merge(parser.feed("<think>Hm.</think>Yes.<end>No.") + parser.finish()) == [
        Content("<think>Hm.</think>Yes.", 0)
    ]
    prompt = toolfmt.load(MODELS / "null-content-rejected").render([{"role": "user", "content": "Hi"}])
    assert [Content("Hm. ", 0)] == merge(prompt.parser(reasoning="text").feed("Hm. "))


def test_a_model_of_unknown_format_has_no_parser(tmp_path: Path) -> None:
    odd = "{% for m in messages %}{{ m.content or '' }}{% for c in m.tool_calls or [] %}"
    odd += "{{ '~~' + c.function.name + '~' + c.function.arguments | tojson }}{% endfor %}{% endfor %}"
    with pytest.raises(ToolfmtError, match=r"the tool-call format of this model is not known .*toolfmt formats"):
        made(tmp_path, odd).parser()


def test_a_template_that_does_not_parse_is_reported_with_file_and_line() -> None:
    model = toolfmt.load(MODELS / "broken")
    assert isinstance(model.broken, TemplateError)
    assert str(model.broken).startswith(f"{MODELS / 'broken' / 'chat_template.jinja'}, line 5: syntax error: ")
    assert model.broken.line == 5
    assert "TF002" in {finding.code for finding in model.inspect().findings}
    with pytest.raises(TemplateError, match="syntax error"):
        model.render(MESSAGES)


def test_a_directory_without_a_template_is_loaded_and_inspected(tmp_path: Path) -> None:
    model = made(tmp_path, None, config={"model_type": "glm4_moe"})
    assert model.broken is None
    assert (model.inspect().format.name, model.inspect().format.confidence) == ("glm4", "model-type")
    assert model.parser().format.name == "glm4"


def test_what_is_not_a_directory_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(BadModelDirectory, match="no such file or directory"):
        toolfmt.load(tmp_path / "nowhere")


def test_every_lazy_name_is_there() -> None:
    for name in toolfmt.__all__:
        assert getattr(toolfmt, name) is not None
    assert sorted(toolfmt.__all__) == dir(toolfmt)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = toolfmt.nothing
