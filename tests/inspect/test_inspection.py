"""The inspection on templates written for it: each capability, each finding, each source of the format decision."""

from __future__ import annotations

import ast
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from inspection_templates import EITHER_FORM, PLAIN, TEMPLATE, TOOLS_PART, changed, codes, directory

from toolfmt import formats
from toolfmt.formats import default_format
from toolfmt.inspect import checks
from toolfmt.inspect.checks.workarounds import SEND_TEXT_PARTS
from toolfmt.inspect.format import best_reading, decision
from toolfmt.inspect.format.decision import declarations, infer
from toolfmt.inspect.format.read_back import SPECIAL_STRINGS, own_markers
from toolfmt.inspect.inspection import inspect_template
from toolfmt.inspect.probe.conversations import SINGLE, TOOLS, USER, conversation, shapes, user
from toolfmt.inspect.probe.renders import Region, Renders, needs_parts
from toolfmt.inspect.report.report import CAPABILITIES, Report
from toolfmt.inspect.report.turn_shape import TurnShape
from toolfmt.templates import ChatTemplate

JSON_CALLS = formats.get("json")
UNKNOWN_CALLS = TEMPLATE.replace("<tool_call>", "<|call|>").replace('"name": ', "").replace('", "arg', '" with "arg')


def answers(report: Report) -> dict[str, str]:
    return {name: answer.answer for name, answer in report.capabilities.items()}


# --- a template at which nothing is wrong


def test_a_good_template_has_no_findings_and_every_capability_but_ids() -> None:
    report = inspect_template(TEMPLATE, model_type="qwen3")
    expected = dict.fromkeys(CAPABILITIES, "yes") | {"tool_call_ids": "no"}
    assert (answers(report), codes(report)) == (expected, [])
    assert (report.format.name, report.format.confidence, report.strategy) == ("json", "verified", "template")
    assert report.format.evidence[0].detail == "6/6 round trips"


def test_the_report_holds_what_the_renderer_needs() -> None:
    profile = inspect_template(TEMPLATE).profile
    assert (profile.arguments_form, profile.shape, profile.takes_parallel_calls) == ("object", TurnShape(), True)
    assert profile.reasoning == ("<think>", "</think>")
    assert (profile.stop, profile.prefill) == (("<|end|>",), "<think>\n")


ANSWER = ["answer", "evidence", "outcome", "excerpts", "error", "line"]


def test_the_dictionary_has_the_keys_of_the_contract_and_is_json(tmp_path: Path) -> None:
    reported = json.loads(json.dumps(directory(tmp_path, config={"model_type": "qwen3"}).to_dict()))
    contract = [
        "schema",
        "verdict",
        "model_type",
        "template",
        "capabilities",
        "format",
        "strategy",
        "runtimes",
        "findings",
    ]
    assert list(reported)[: len(contract)] == contract
    assert reported["schema"] == "toolfmt.report/1"
    assert list(reported["template"]) == ["origin", "name", "sha256", "variables"]
    assert list(reported["capabilities"]) == list(CAPABILITIES)
    assert all(list(answer) == ANSWER for answer in reported["capabilities"].values())
    assert list(reported["format"]) == ["name", "confidence", "evidence"]
    assert reported["capabilities"]["tools"]["evidence"].endswith("(line 1)")


def test_every_runtime_has_a_parser_or_a_reason_why_there_is_none() -> None:
    known = {runtime for format in formats.FORMATS for runtime in format.runtime_parsers}
    runtimes = inspect_template(TEMPLATE).runtimes
    assert list(runtimes) == sorted(known, key=str.lower)
    assert {"vLLM": "hermes", "llama.cpp": "auto", "mlx-lm": "json_tools"}.items() <= runtimes.items()
    broken = inspect_template("{{ messages }}{% for").runtimes
    assert broken == dict.fromkeys(runtimes, "none: the chat template does not compile")


# --- capabilities


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("template", "capability", "answer"),
    [
        (PLAIN, "tools", "no"),
        (PLAIN, "tool_calls", "no"),
        (PLAIN, "system", "yes"),
        (PLAIN, "reasoning", "no"),
        ("{{ raise_exception('never') }}", "tools", "error"),
        ("{% if tools %}{{ raise_exception('none, please') }}{% endif %}" + PLAIN, "tools", "error"),
        (changed(("{% for call in message.tool_calls or [] %}", "{% for call in (message.tool_calls or [])[:1] %}")),
         "parallel_tool_calls", "no"),
        (changed(("{% for call in message", "{% if message.tool_calls and message.tool_calls | length > 1 %}"
                  "{{ raise_exception('one only') }}{% endif %}{% for call in message")),
         "parallel_tool_calls", "error"),
        (changed(("message.tool_calls or []", "(message.tool_calls or []) | reverse")), "parallel_tool_calls", "no"),
        (changed(("{{ message.content or '' }}", "{{ (message.content if message.role != 'tool') or '' }}")),
         "tool_results", "no"),
        (changed(("<|{{ message.role }}|>", "<|{{ message.role }} {{ message.tool_call_id or '' }}|>")),
         "tool_call_ids", "yes"),
        (changed(("{% for message in messages %}", "{% for message in messages if message.role != 'system' %}")),
         "system", "no"),
        (changed(("{% for message in messages %}", "{% for message in messages %}{% if message.role == 'system' %}"
                  "{{ raise_exception('no system role') }}{% endif %}")), "system", "error"),
        (changed(("{{ message.content or '' }}", "{{ '' + message.content }}")), "content_null", "error"),
        (changed(("{{ message.content or '' }}", "{{ message.content }}")), "content_null", "no"),
        (changed(("{{ message.content or '' }}",
                  "{{ (message.content or '') if loop.last else '' + message.content }}")), "content_null", "error"),
        (changed(("{{ message.content or '' }}", "{{ message.content }}")), "content_empty", "yes"),
        (changed(("message.tool_calls or []", "(message.tool_calls if message.content is none) or []")),
         "content_empty", "no"),
        (changed((EITHER_FORM, "{% set arguments = call.function.arguments | tojson %}")), "arguments_string", "no"),
        (changed((EITHER_FORM, "{% set arguments = call.function.arguments | tojson %}")), "arguments_object", "yes"),
        (changed((EITHER_FORM, "{% set arguments = call.function.arguments %}")), "arguments_object", "no"),
        (changed((EITHER_FORM, "{% set arguments = '' + call.function.arguments %}")), "arguments_object", "error"),
        (changed((EITHER_FORM, "{% set arguments = call.function.arguments %}")), "arguments_string", "yes"),
        (changed(("{% if message.reasoning_content %}", "{% if message.reasoning_content and not loop.last %}")),
         "reasoning", "no"),
    ],
)  # fmt: skip
def test_a_capability_is_what_rendering_shows(template: str, capability: str, answer: str) -> None:
    assert answers(inspect_template(template))[capability] == answer


def test_an_error_has_the_message_and_the_line() -> None:
    answer = inspect_template(
        "\n{% if tools %}\n{{ raise_exception('no tools here') }}{% endif %}" + PLAIN
    ).capabilities
    assert (answer["tools"].line, "no tools here" in answer["tools"].evidence) == (3, True)


def test_a_call_is_found_in_whatever_shape_shows_it() -> None:
    picky = changed(
        ("message.tool_calls or []", "(message.tool_calls if message.content is none) or []"),
        (EITHER_FORM, "{% set arguments = '' + call.function.arguments %}"),
    )
    report = inspect_template(picky)
    assert report.profile.shape == TurnShape(content="null", arguments="string")
    assert (report.format.name, report.format.confidence) == ("json", "verified")
    assert report.capabilities["tool_calls"].evidence.startswith("a call is rendered with content null, arguments as")


def test_an_argument_form_that_appears_but_reads_as_another_call_is_no() -> None:
    spliced = changed((EITHER_FORM, "{% set arguments = call.function.arguments | tojson | replace('\\\\', '') %}"))
    report = inspect_template(spliced)
    assert (answers(report)["arguments_string"], codes(report)) == ("no", ["TF014", "TF026"])
    assert "is parsed back as a different call" in report.capabilities["arguments_string"].evidence


def test_shapes_begin_with_the_plain_one_and_never_repeat() -> None:
    all_shapes = list(shapes())
    assert all_shapes[0] == TurnShape()
    assert len(all_shapes) == len(set(all_shapes))


def test_messages_printed_as_they_are_render_no_call() -> None:
    report = inspect_template("{{ messages }}{{ tools }}")
    assert (answers(report)["tool_calls"], answers(report)["tools"]) == ("no", "yes")


def test_a_region_is_cut_where_the_calls_are() -> None:
    renders = Renders(ChatTemplate(TEMPLATE))
    region = renders.calls(TurnShape(), SINGLE, TOOLS)
    assert isinstance(region, Region)
    assert region.text == formats.write("json", SINGLE) + "\n"
    assert region.before + region.text + region.after == renders.text(conversation(TurnShape(), SINGLE), TOOLS)


def test_a_region_is_not_cut_inside_a_marker() -> None:
    source = changed(("{{ message.content or '' }}", "{{ '<text>' + message.content if message.content else '' }}"))
    region = Renders(ChatTemplate(source)).calls(TurnShape(), SINGLE, TOOLS)
    assert isinstance(region, Region)
    assert region.text.startswith("<tool_call>")


# --- the format


def test_every_format_is_verified_on_what_its_own_writer_writes() -> None:
    for format in formats.FORMATS:
        assert own_markers(format), format.name


def test_what_the_directory_declares_goes_first(tmp_path: Path) -> None:
    report = directory(tmp_path, tokenizer_config={"tool_parser_type": "glm47"})
    assert (report.format.name, report.format.confidence) == ("glm4", "declared")
    assert [evidence.source for evidence in report.format.evidence] == ["declared", "verified", "signature"]
    assert codes(report) == ["TF022"]


def test_servers_that_parse_arguments_are_named_if_only_objects_are_accepted() -> None:
    only = {"objects": "function.arguments | tojson", "strings": "function.arguments | tojson | tojson"}
    # As text it is encoded twice; as an object it is rendered as text, because text is printed unchanged.
    only["strings"] = "(function.arguments if function.arguments is string else function.arguments | tojson | tojson)"
    for expected, printed in only.items():
        text = changed((EITHER_FORM, "{% set function = call.function %}{% set arguments = " + printed + " %}"))
        (finding,) = [one for one in inspect_template(text).findings if one.code == "TF014"]
        assert finding.fix.startswith(f"Pass arguments as {expected}; `toolfmt render` does this")
        endpoints = "vLLM, SGLang, mlx-lm and mlx-swift-lm"
        they = f"and so do {endpoints}" if expected == "objects" else f"but {endpoints} always pass objects"
        assert they in finding.fix


def test_a_declaration_that_agrees_is_no_finding(tmp_path: Path) -> None:
    report = directory(tmp_path, tokenizer_config={"tool_parser_type": "json_tools"})
    assert (report.format.name, report.format.confidence, codes(report)) == ("json", "declared", [])


def test_an_unknown_declared_parser_is_a_finding_and_not_a_decision(tmp_path: Path) -> None:
    report = directory(tmp_path, tokenizer_config={"tool_parser_type": "not_a_parser"})
    assert (report.format.name, report.format.confidence, codes(report)) == ("json", "verified", ["TF023"])


def test_a_declared_name_means_what_its_runtime_means() -> None:
    declared = declarations({"tool_parser_type": "pythonic"}, {})
    assert [format.name for format in declared[0].formats] == ["lfm2"]


def test_a_response_template_declares_by_its_opener(tmp_path: Path) -> None:
    fields = {"tool_calls": {"open": "<tool_call>", "close": "</tool_call>", "content": "json"}}
    report = directory(tmp_path, tokenizer_config={"response_template": {"fields": fields}})
    assert (report.format.name, report.format.confidence) == ("json", "declared")


@pytest.mark.parametrize("value", [None, 3, [], {"fields": 1}, {"fields": {"tool_calls": []}}])
def test_declarations_of_other_types_are_none(value: Any) -> None:
    assert declarations({"tool_parser_type": value, "response_template": value}, {"tool_parser": value}) == ()


def test_a_call_that_no_format_reads_has_no_format_whatever_else_suggests_one() -> None:
    report = inspect_template(UNKNOWN_CALLS + "{# <arg_key> #}", model_type="qwen3")
    assert (report.format.name, report.format.confidence, codes(report)) == (None, "none", ["TF025"])
    assert report.runtimes == {}


def test_without_calls_a_signature_decides_and_comments_do_not_count() -> None:
    source = "{# <start_function_call> #}" + TOOLS_PART + "{% if tools %}Use <arg_key>.{% endif %}" + PLAIN
    report = inspect_template(source, model_type="qwen3")
    assert (report.format.name, report.format.confidence) == ("glm4", "signature")
    assert codes(report) == ["TF013", "TF038"]


def test_without_a_signature_the_model_type_decides() -> None:
    report = inspect_template(PLAIN, model_type="glm4_moe")
    assert (report.format.name, report.format.confidence) == ("glm4", "model-type")


def test_the_model_type_inside_a_multimodal_one_counts(tmp_path: Path) -> None:
    report = directory(tmp_path, PLAIN, config={"model_type": "llava_like", "text_config": {"model_type": "glm4_moe"}})
    assert (report.format.name, report.format.confidence) == ("glm4", "model-type")


def test_if_nothing_identifies_a_format_the_default_is_reported_as_such() -> None:
    report = inspect_template(PLAIN, model_type="nobody_knows")
    assert (report.format.name, report.format.confidence) == (default_format().name, "default")
    assert (report.strategy, codes(report)) == ("prompt", ["TF038"])


@pytest.mark.parametrize(
    ("parts", "name"),
    [
        ({}, None),
        ({"model_type": "qwen3"}, "json"),
        ({"model_type": "nobody_knows"}, None),
        ({"tool_parser_type": "qwen3_xml"}, "xml_function"),
        ({"tool_parser_type": "not_a_parser"}, None),
        ({"template": TEMPLATE}, "json"),
        ({"template": TEMPLATE, "model_type": "glm4_moe"}, "json"),
        ({"template": TEMPLATE, "tool_parser_type": "glm47"}, "glm4"),
        ({"template": UNKNOWN_CALLS, "model_type": "qwen3"}, None),
        ({"template": PLAIN, "model_type": "qwen3"}, "json"),
        ({"template": PLAIN}, None),
        ({"template": "{% broken <arg_key>"}, "glm4"),
        ({"template": "{{ messages }}", "model_type": "qwen3"}, "json"),
    ],
)
def test_inference_from_parts_has_the_same_order_and_no_default(parts: dict[str, str], name: str | None) -> None:
    found = infer(**parts)
    assert (None if found is None else found.name) == name


@pytest.mark.parametrize("name", ["template", "tool_parser_type", "model_type"])
def test_inference_takes_strings_alone(name: str) -> None:
    given: dict[str, Any] = {name: 3}
    with pytest.raises(TypeError, match=f"^{name} is a string, not of type int$"):
        infer(**given)


def test_of_formats_that_read_equally_well_the_model_type_precedes_the_signature() -> None:
    """And before both what the format writes as the template renders it."""
    typed, signed = formats.get("qwen3_5"), formats.get("xml_function")
    readings = [
        best_reading.ReadBack(format, TurnShape(), (), variant) for format, variant in ((typed, None), (signed, None))
    ]
    ranks = [best_reading._rank(reading, (signed,), (typed,)) for reading in readings]
    assert ranks[0] > ranks[1]
    assert best_reading._rank(replace(readings[1], variant=""), (), ()) > ranks[0]


def test_an_ambiguous_model_type_neither_decides_nor_contradicts(monkeypatch: pytest.MonkeyPatch) -> None:
    both = tuple(
        replace(format, model_types=("shared",)) if format.name in ("glm4", "gemma") else format
        for format in formats.FORMATS
    )
    monkeypatch.setattr(best_reading, "formats", lambda: both)
    assert inspect_template(PLAIN, model_type="shared").format.confidence == "default"
    assert codes(inspect_template(TEMPLATE, model_type="shared")) == []


def test_a_verified_format_that_only_needs_an_unescaped_quote_is_named_with_the_values() -> None:
    unescaped = changed(
        (EITHER_FORM, "{% set arguments = '{\"' + (call.function.arguments.keys() | first or 'none') + '\": \"' "
         "+ (call.function.arguments.values() | first) | string + '\"}' %}"),
    )  # fmt: skip
    report = inspect_template(unescaped)
    assert (report.format.name, report.format.confidence) == ("json", "signature")
    message = next(finding.message for finding in report.findings if "special characters" in finding.message)
    assert json.dumps(SPECIAL_STRINGS[0], ensure_ascii=False) in message


# --- findings (each has its templates in tests/findings)


BROKEN = "{% for message in messages %}"


@pytest.mark.parametrize(
    ("template", "fix"),
    [
        (
            "{% for m in messages %}<|{{ m.role }}|>{% for part in m.content %}{{ part.text }}{% endfor %}{% endfor %}",
            (SEND_TEXT_PARTS, "warning", "render"),
        ),
        (
            "{% for m in messages %}<|{{ m.role }}|>{{ m.text }}{% endfor %}",
            ("Use another template.", "error", ""),
        ),
    ],
)
def test_a_question_that_is_not_rendered_is_an_error_unless_render_fixes_it(
    template: str, fix: tuple[str, str, str]
) -> None:
    found = [finding for finding in inspect_template(template).findings if finding.code == "TF003"]
    what = "A user message with string content is not in the prompt: the prompt is '<|user|>'."
    assert [(one.message, one.fix, one.severity, one.fixed_by) for one in found] == [(what, *fix)]


def test_a_call_whose_name_the_template_changes_is_not_reported_as_dropped() -> None:
    calls = "{% for c in m.tool_calls or [] %}[{{ c.function.name | replace('_', '-') }} {{ c.function.arguments }}]"
    source = "{{ tools | tojson }}{% for m in messages %}<|{{ m.role }}|>{{ m.content }}" + calls
    report = inspect_template(source + "{% endfor %}{% endfor %}")
    assert report.capabilities["tool_calls"].outcome == "text-changed"
    (found,) = (one for one in report.findings if one.code == "TF013")
    assert found.message.startswith("The template describes tools but renders calls without the tool's own name: ")
    assert "[find-qplace {" in found.message


def test_parts_that_are_printed_as_python_do_not_replace_a_lost_string() -> None:
    source = "{% for m in messages %}<|{{ m.role }}|>{{ m.content[:5] }}<|end|>{% endfor %}"
    (found,) = (one for one in inspect_template(source).findings if one.code == "TF003")
    assert (found.severity, found.fixed_by, found.fix) == ("error", "", "Use another template.")


def test_renders_of_a_template_that_takes_parts_only_hand_over_parts() -> None:
    parts = "{% for m in messages %}{% for part in m.content %}{{ part.text }}{% endfor %}{% endfor %}"
    renders = Renders(ChatTemplate(parts))
    assert needs_parts(renders)
    renders.content_as_parts = True
    messages = user()
    for variant in (renders, renders.given({"x": True}), renders.bare(), renders.anew()):
        assert variant.text(messages) == USER
    assert renders.unchanged_content().text(messages) == ""


def test_what_no_question_can_carry_is_not_advised() -> None:
    report = inspect_template("{% for m in messages %}<|{{ m.role }}|>{{ m.text }}{% endfor %}")
    assert codes(report) == ["TF003", "TF038"]
    fixes = [note.fix for note in report.notes if note.code == "TF011"]
    assert fixes == ["Use another template for chat: what is described in words does not reach the prompt either."]


def test_a_template_without_calls_is_not_reported_to_render_one_with_null_content() -> None:
    answer = inspect_template("{% for m in messages %}{{ m.content or '' }}{% endfor %}").capabilities["content_null"]
    assert answer.evidence == "a turn with a call and null content is rendered, without the call"


def test_a_directory_without_a_template_is_a_finding(tmp_path: Path) -> None:
    report = directory(tmp_path, None, config={"model_type": "qwen3"})
    assert (codes(report), report.template, report.strategy) == (["TF001"], None, "prompt")
    assert (report.format.name, report.format.confidence) == ("json", "model-type")


def test_named_templates_are_a_finding_and_the_one_for_tools_is_probed(tmp_path: Path) -> None:
    named = [{"name": "default", "template": PLAIN}, {"name": "tool_use", "template": TEMPLATE}]
    report = directory(tmp_path, None, tokenizer_config={"chat_template": named, "eos_token": "</s>"})
    assert report.template is not None
    assert (report.template.name, report.strategy, codes(report)) == ("tool_use", "template", ["TF021"])


def test_a_template_used_only_with_tools_is_not_reported_to_reject_a_question_alone(tmp_path: Path) -> None:
    bare = "{% for tool in tools %}{{ tool.name + ':' }}{% endfor %}" + PLAIN
    named = [{"name": "default", "template": PLAIN}, {"name": "tool_use", "template": bare}]
    report = directory(tmp_path, None, tokenizer_config={"chat_template": named})
    message = next(finding.message for finding in report.findings if finding.code == "TF003")
    assert message.startswith("The template rejects a single user message with tools: `name` is undefined")


def test_an_unknown_code_names_the_nearest() -> None:
    with pytest.raises(checks.UnknownCode, match=r"no finding is called 'TF112'; did you mean .*TF0"):
        checks.explain("TF112")


# --- nothing escapes, nothing is named


@pytest.mark.parametrize(
    "source",
    [
        "",
        BROKEN,
        "{{ 1 / 0 }}",
        "{{ messages[7].content.x.y }}",
        "{% macro f(n) %}{{ f(n + 1) }}{% endmacro %}{{ f(0) }}",
        "{{ raise_exception('no') }}",
        "{{ tools[0].function.name }}{{ messages | tojson }}",
        "{{ messages }}",
        "{{ [1] | tojson(indent=-1) }}" + TEMPLATE,
        "x" * 1_000_001,
        "{% raw %}" + "{{" * 20_000 + "{% endraw %}" + TEMPLATE,
        "<tool_call>" * 2_000 + TEMPLATE,
    ],
)
def test_no_template_raises(source: str) -> None:
    report = inspect_template(source)
    assert list(report.capabilities) == list(CAPABILITIES)
    json.dumps(report.to_dict())


def test_the_same_template_gives_the_same_report() -> None:
    assert inspect_template(UNKNOWN_CALLS) == inspect_template(UNKNOWN_CALLS)


def test_no_module_of_the_room_names_a_format() -> None:
    room = Path(decision.__file__).parent.parent
    assert not (room / "__init__.py").exists()
    # Parser names and model types of other runtimes, which are data: some of the names look like formats.
    names = ("parser_inference", "parser_choice", "reasoning_choice", "parser_registries", "request_handling")
    others = {room / "runtimes" / f"{name}.py" for name in names}
    for path in sorted({*room.rglob("*.py")} - others):
        nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        constants = {node.value for node in nodes if isinstance(node, ast.Constant)}
        assert constants & set(formats.names()) == set(), path.name


def test_a_list_of_roles_is_no_reading_of_tools() -> None:
    template = '{% for m in messages %}{% if m.role in ["tools"] %}{% endif %}{{ m.content }}{% endfor %}'
    assert [note.outcome for note in inspect_template(template).notes if note.code == "TF011"] == ["tools-dropped"]


def test_a_note_that_the_verdict_states_is_on_request_unless_there_are_errors() -> None:
    plain = inspect_template(PLAIN)
    broken = inspect_template("{{ messages[0].items }}" + PLAIN)  # prints an address in memory
    assert (plain.verdict.tools, broken.verdict.tools) == ("prompt-only", "broken")
    on_request = [{one.code: one.on_request for one in report.notes} for report in (plain, broken)]
    assert on_request[0] == {"TF011": True, "TF037": True, "TF055": True}
    assert (on_request[1]["TF011"], on_request[1]["TF055"]) == (False, True)
    in_json = {one["code"]: "on_request" in one for one in broken.to_dict()["notes"]}
    assert in_json == on_request[1]


def test_a_dropped_result_in_parts_is_a_warning_only_if_the_template_shows_tools() -> None:
    """In other cases, `render` describes the tools and sends results in user messages."""
    only_strings = changed(("{{ message.content or '' }}", "{{ message.content if message.content is string }}"))
    found = [inspect_template(text) for text in (only_strings, changed((TOOLS_PART, ""), template=only_strings))]
    outcomes = [[one.outcome for one in report.findings if one.code == "TF037"] for report in found]
    assert outcomes == [["result-parts-dropped"], []]
    assert [report.sections.details["results_as_parts"].outcome for report in found] == ["dropped", "dropped"]
