"""`toolfmt dev derive` and `toolfmt.derive`, and what an inspection makes of a template without a known format: the
derived format is reported with its verification, is used for prompts and parsers, and is never preferred to a
better-known one.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from inspection_templates import label
from model_cases import MODELS, made

import toolfmt
from toolfmt._util.typed_json import UnreadableJson
from toolfmt.cli.commands import main
from toolfmt.cli.printing.report import report_text
from toolfmt.errors import LimitHit
from toolfmt.formats.format import DERIVED
from toolfmt.formats.serialization.format_data import from_text
from toolfmt.inspect.derive_model import DerivationResult
from toolfmt.inspect.format import near_miss
from toolfmt.inspect.format.decision import decide
from toolfmt.inspect.inspection import inspect_template
from toolfmt.inspect.probe.capabilities import probe
from toolfmt.inspect.probe.conversations import PLACEHOLDERS, TOOL
from toolfmt.inspect.probe.renders import Renders
from toolfmt.inspect.report.report import DerivedFormat, Finding, Report
from toolfmt.inspect.report.template_profile import TemplateProfile
from toolfmt.model.jobs import DERIVE
from toolfmt.templates import ChatTemplate

OWN = MODELS / "format-of-its-own"
TEMPLATE = (OWN / "chat_template.jinja").read_text("utf-8")
KNOWN = MODELS / "glm4-key-value"
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "Weather.",
            "parameters": {
                "type": "object",
                "properties": {"place": {"type": "string"}, "days": {"type": "integer"}},
                "required": ["place"],
            },
        },
    }
]
MESSAGES = [{"role": "user", "content": "Will it rain?"}]
OUTPUT = "I look.\n【use get_weather】\n【with place】Oslo【/with】\n【with days】2【/with】\n【/use】<|end|>\n"
UNDELIMITED = TEMPLATE.replace("【with ' + key + '】'", "' + key + ': '").replace("'【/with】\\n'", "'\\n'")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments, prog_name="toolfmt")


def called(message: toolfmt.Message) -> list[tuple[str, Any]]:
    return [(call.name, json.loads(call.arguments)) for call in message.tool_calls]


def test_the_template_without_closers_is_the_same_but_for_these() -> None:
    assert "【with" not in UNDELIMITED.partition("for key, value")[2]
    assert "【use" in UNDELIMITED


@pytest.mark.sample(0)
def test_an_inspection_names_the_derived_format_with_its_proof() -> None:
    report = toolfmt.load(OWN).inspect()
    decided = report.format
    assert (decided.name, decided.confidence) == (DERIVED, "derived")
    assert decided.derived is not None
    assert decided.derived.call_sets >= 6
    assert decided.derived.outputs >= 3
    assert [one.format for one in decided.evidence if one.source == "derived"] == [DERIVED]
    assert "no-known-format" not in {label(finding) for finding in report.findings}
    assert [note.severity for note in report.notes if label(note) == "format-derived"] == ["note"]
    printed = " ".join(report_text(report, 200, False, full=False, notes=False, whole=True).split())
    proof = f"tested with {decided.derived.call_sets} generated sets of calls and "
    proof += f"{decided.derived.outputs} kinds of output"
    assert (
        f"format derived (call syntax: tags), {proof}; derived from how the template renders past calls, "
        "not from model output" in printed
    )


def test_the_report_as_json_holds_the_format_itself() -> None:
    reported = json.loads(json.dumps(toolfmt.load(OWN).inspect().to_dict()))["format"]
    format = from_text(json.dumps(reported["derived"]["format"]))
    assert called(toolfmt.parse(OUTPUT, format, tools=TOOLS)) == [("get_weather", {"place": "Oslo", "days": 2})]


def test_the_model_renders_parses_and_constrains_with_it() -> None:
    model = toolfmt.load(OWN)
    prompt = model.render(MESSAGES, tools=TOOLS)
    assert (prompt.strategy, prompt.format) == ("template", DERIVED)
    for parser in (prompt.parser(), model.parser(tools=TOOLS)):
        message = toolfmt.Message.from_events([*parser.feed(OUTPUT), *parser.finish()])
        assert (message.content, called(message)) == ("I look.\n", [("get_weather", {"place": "Oslo", "days": 2})])
    written = model.write([("get_weather", {"place": "Oslo", "days": 2})], TOOLS)
    assert written in OUTPUT
    assert "【use" in model.grammar(TOOLS, choice="required").text


def test_a_prompt_and_a_saved_profile_keep_it(tmp_path: Path) -> None:
    model = toolfmt.load(OWN)
    again = toolfmt.load(OWN, profile=model.saved_profile())
    assert again.profile == model.profile
    assert called(toolfmt.parse(OUTPUT, again.render(MESSAGES, tools=TOOLS).parser().format, tools=TOOLS))


@pytest.mark.parametrize("text", ["{}", "nothing", '{"toolfmt_format": 1, "name": "json"}'])
def test_a_profile_with_an_invalid_derived_format_is_rejected(text: str) -> None:
    assert not TemplateProfile(format=DERIVED, derived=text).has_known_format
    assert not TemplateProfile(format=DERIVED).has_known_format


def test_the_command_prints_what_can_be_loaded(tmp_path: Path) -> None:
    result = run("dev", "derive", str(OWN))
    assert result.exit_code == 0
    file = tmp_path / "myformat.json"
    file.write_text(result.stdout, "utf-8")
    format = toolfmt.format_from_file(file)
    assert called(toolfmt.parse(OUTPUT, format, tools=TOOLS)) == [("get_weather", {"place": "Oslo", "days": 2})]
    assert result.stderr.startswith("toolfmt: derived (tags), tested with ")
    answer = tmp_path / "answer.txt"
    answer.write_text(OUTPUT, "utf-8")
    parsed = run("parse", str(answer), "--format", str(file), "--output", "message")
    assert json.loads(parsed.stdout)["tool_calls"][0]["function"]["name"] == "get_weather"


def test_a_message_explains_why_no_format_can_be_derived(tmp_path: Path) -> None:
    place = made(tmp_path, UNDELIMITED).files.directory
    result = run("dev", "derive", str(place))
    why = toolfmt.derive(place).why_not
    assert (result.exit_code, why != "") == (1, True)
    assert result.stdout == f"{place}: no format can be derived: {why}\n"
    assert result.stderr == f"toolfmt: {place}: no format can be derived: {why}\n"
    assert "end markers" in why
    report = toolfmt.load(place).inspect()
    assert (report.format.name, report.format.confidence) == (None, "none")
    messages = [finding.message for finding in report.findings if label(finding) == "no-known-format"]
    assert messages[0].endswith(f"None can be derived from them: {why}.")


def advice(template: str) -> str:
    return unknown_format(inspect_template(template)).fix


def unknown_format(report: Report) -> Finding:
    (found,) = [finding for finding in report.findings if label(finding) == "no-known-format"]
    return found


def test_the_advice_for_an_unknown_format_names_each_next_step_that_applies() -> None:
    parser, command = "Set the parser named in the model card.", "`toolfmt render MODEL --strategy prompt`."
    # `<use=NAME>` and `<with=KEY>` are built as `<function=NAME>` and `<parameter=KEY>` of xml_function are.
    lines = TEMPLATE.replace("【use ' + ", "<use=' + ").replace("'】\\n'", "'>\\n'").replace("【/use】", "</use>")
    fix = advice(lines.replace("【with ' + key + '】'", "<with=' + key + '>'").replace("'【/with】\\n'", "'\\n'"))
    assert fix.startswith(f"{parser} Or write a format file (docs/own_formats.md). The closest known format is")
    assert fix.endswith(f" Or describe the tools in the system prompt: {command}")
    near = re.search(r"known format is (\w+); it would write the same call as (.+?)\. Or describe", fix)
    assert near is not None
    assert near[1] == "xml_function"
    (call,) = toolfmt.parse(near[2].replace("\\n", "\n"), near[1]).tool_calls
    assert TOOL in call.name
    assert "toolfmt dev derive" not in fix  # it was tried, and the message has the reason


def test_the_advice_leaves_out_what_does_not_apply() -> None:
    raising = "{% if not tools %}{{ raise_exception('no tools') }}{% endif %}" + UNDELIMITED
    assert "--strategy prompt" not in advice(raising)
    described = (
        "{% for t in tools or [] %}{{ t | tojson }}{% endfor %}{% for m in messages %}{{ m.content }}{% endfor %}"
    )
    assert advice(described).startswith(
        "Set the parser named in the model card. "
        "Or write a format file (docs/own_formats.md) for the calls that the template describes. Or describe"
    )


def test_a_text_is_a_template_and_a_place_is_a_place() -> None:
    of_text, of_place = toolfmt.derive(TEMPLATE), toolfmt.derive(str(OWN))
    assert of_text.format is not None
    assert of_text.format == of_place.format
    assert of_text.proof == of_place.proof
    with pytest.raises(toolfmt.BadModelDirectory):
        toolfmt.derive("no/such/place")


@pytest.mark.sample(0)
def test_trusted_or_not_the_same_is_derived() -> None:
    assert toolfmt.derive(TEMPLATE, trusted=True) == toolfmt.derive(TEMPLATE)


def test_calls_of_a_known_format_are_derived_on_request_and_the_known_one_is_reported() -> None:
    made = toolfmt.derive(KNOWN)
    assert made.format is not None
    assert made.known == "glm4"
    assert run("dev", "derive", str(KNOWN)).stderr.splitlines()[1].startswith("toolfmt: glm4 also parses these calls")
    decided = toolfmt.load(KNOWN).inspect().format
    assert (decided.name, decided.confidence, decided.derived) == ("glm4", "verified", None)


def test_calls_close_to_a_known_format_are_an_error_of_the_template() -> None:
    near = (MODELS / "json-frames" / "chat_template.jinja").read_text("utf-8")
    assert near.count("<tool_call>") >= 1
    made = toolfmt.derive(near.replace("<tool_call>", "<tool_cal>"))
    assert made.format is None
    assert made.why_not.startswith("the calls are nearly those of json, ")


@pytest.mark.parametrize(
    ("template", "why"),
    [
        (
            "{% for message in messages %}{{ message.content }}{% endfor %}",
            "the template does not render toolfmt's test call with its name",
        ),
        ("{% for message in messages %}", "the template cannot be rendered: "),
        ("{{ 'a' * 10 ** 10 }}", "the template "),
    ],
)
def test_of_a_template_without_calls_nothing_is_derived(template: str, why: str) -> None:
    made = toolfmt.derive(template)
    assert (made.format, made.proof) == (None, None)
    assert made.why_not.startswith(why)


@pytest.mark.sample(0)
def test_a_limit_that_the_template_hits_is_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = "{% if message.tool_calls %}{% for n in range(99999999) %}{{ n }}{% endfor %}{% endif %}"
    made = toolfmt.derive("{% for message in messages %}{{ message.content }}" + calls + "{% endfor %}")
    assert made.format is None
    assert "limit" in made.why_not or "test call" in made.why_not


def test_infer_gives_the_derived_format() -> None:
    format = toolfmt.infer(template=TEMPLATE, model_type="qwen3")
    assert format is not None
    assert format.name == DERIVED
    assert toolfmt.infer(template=TEMPLATE, tool_parser_type="glm47") == toolfmt.get("glm4")


def test_a_limit_while_a_format_is_derived_ends_the_inspection_as_any_other(monkeypatch: pytest.MonkeyPatch) -> None:
    def hit(*given: object) -> None:
        raise LimitHit("rendering took too long", "CPU time")

    monkeypatch.setattr("toolfmt.inspect.format.derived.derive_from", hit)
    report = toolfmt.load(OWN, trusted=True)
    with pytest.raises(LimitHit):
        toolfmt.infer(template=TEMPLATE)
    assert "TF007" in {label(finding) for finding in report.inspect().findings}


@pytest.mark.sample(0)
def test_where_the_directory_declares_a_format_nothing_is_derived(tmp_path: Path) -> None:
    report = made(tmp_path, TEMPLATE, tokenizer={"tool_parser_type": "glm47"}).inspect()
    decided = report.format
    assert (decided.name, decided.confidence, decided.derived) == ("glm4", "declared", None)
    assert "derived" not in {one.source for one in decided.evidence}
    assert toolfmt.derive(tmp_path / "model").format is not None


def test_only_known_formats_are_tried_if_nothing_is_to_be_derived() -> None:
    renders = Renders(ChatTemplate(TEMPLATE), PLACEHOLDERS)
    decided = decide(TEMPLATE, renders, probe(renders), derive=False)
    assert (decided.format, decided.decision.confidence, decided.unclaimed) == (None, "none", None)


@pytest.mark.parametrize(
    "answer",
    [
        DerivationResult(),
        DerivationResult(DerivedFormat("tags", 1, 1, (), "{}")),
        DerivationResult(why_not="", known="json"),
    ],
)
def test_an_impossible_derivation_is_an_invalid_result_of_a_worker(answer: DerivationResult) -> None:
    with pytest.raises(UnreadableJson):
        DERIVE.check(answer)


@pytest.mark.sample(0)
def test_a_derived_format_and_a_reason_against_it_are_no_answer_of_a_worker() -> None:
    derived = toolfmt.load(OWN).inspect().format.derived
    DERIVE.check(DerivationResult(derived))
    with pytest.raises(UnreadableJson):
        DERIVE.check(DerivationResult(derived, why_not="it is none"))


def test_the_parser_advised_for_a_template_alone_is_made_from_its_file_and_reads_its_calls(tmp_path: Path) -> None:
    place = tmp_path / "alone.jinja"
    place.write_text(TEMPLATE, "utf-8")
    [line] = [row.text for row in toolfmt.load(place).inspect().sections.advice if row.runtime == "transformers"]
    assert line == f"toolfmt.load({json.dumps(str(place))}).parser(tools=tools)"
    parser = toolfmt.load(place).parser(tools=[{"name": "f"}])
    events = parser.feed("【use f】\n【with a】b【/with】\n【/use】<|end|>behind") + parser.finish()
    assert toolfmt.Message.from_events(events).content is None
    assert [type(event) for event in events][-1] is toolfmt.ToolCallEnd


def test_of_a_template_without_a_place_the_parser_is_made_of_the_derived_file() -> None:
    report_json = json.dumps(inspect_template(TEMPLATE).to_dict())
    assert 'toolfmt.Parser(toolfmt.format_from_file(\\"derived.json\\"), tools=tools' in report_json


def test_the_name_of_a_derived_format_alone_is_not_a_format() -> None:
    with pytest.raises(toolfmt.UnknownFormat, match="a derived format is not registered"):
        toolfmt.get(DERIVED)


def test_a_limit_of_a_trusted_template_is_the_reason_too() -> None:
    made = toolfmt.derive(TEMPLATE + "{{ 'x ' * 6000000 }}", trusted=True)
    assert made.format is None
    assert "limit" in made.why_not


def test_a_path_with_template_characters_is_a_path(tmp_path: Path) -> None:
    place = tmp_path / "{{cookie}}"
    place.mkdir()
    (place / "chat_template.jinja").write_text(TEMPLATE, "utf-8")
    assert toolfmt.derive(str(place)).format is not None


@pytest.mark.parametrize("other", ["<use_function>", "<|dispatch|>"])
def test_markers_of_its_own_make_a_dialect_of_its_own(other: str) -> None:
    """Only the letters of the marker differ from a known format: a difference elsewhere is not a misspelling of it."""
    known = (MODELS / "json-frames" / "chat_template.jinja").read_text("utf-8")
    made = toolfmt.derive(known.replace("<tool_call>", other).replace("</tool_call>", other.replace("<", "</")))
    assert made.why_not == ""
    assert made.format is not None


def test_a_derived_format_is_registered_under_a_name_of_its_own() -> None:
    format = toolfmt.derive(TEMPLATE).format
    assert format is not None
    with pytest.raises(ValueError, match="give this one its own name"):
        toolfmt.register(format)


@pytest.mark.sample(0)
def test_a_format_that_is_read_with_tools_alone_is_derived_and_stored() -> None:
    calls = "{%- for key, value in call.function.arguments.items() %} :{{ key }} {{ value | tojson }}{%- endfor %})\n"
    loop = "{%- for call in message.tool_calls or [] %}({{ call.function.name }}" + calls + "{%- endfor %}"
    source = "{%- for message in messages %}<|{{ message.role }}|>\n{{ message.content or '' }}" + loop + "<|end|>\n"
    source += "{%- endfor %}{%- if add_generation_prompt %}<|assistant|>\n{%- endif %}"
    reasons = {toolfmt.derive(source, trusted=trusted).why_not for trusted in (False, True)}
    assert len(reasons) == 1
    assert "limit" not in reasons.pop()


@pytest.mark.sample(0)
def test_a_format_that_no_file_can_hold_is_rejected_with_a_message() -> None:
    long = TEMPLATE.replace("【with ", "【" + "Y" * 450 + " ")
    for trusted in (False, True):
        made = toolfmt.derive(long, trusted=trusted)
        assert made.format is None
        assert made.why_not.startswith("no file can hold the format (engine.key_opener: is longer than 400 characters")


def test_the_grammar_of_a_derived_format_has_no_reasoning_but_its_own() -> None:
    format = toolfmt.derive(TEMPLATE).format
    assert format is not None
    assert (format.reasoning, format.any_reasoning) == ((("<think>", "</think>"),), True)
    assert "seed:think" not in toolfmt.grammar(format, TOOLS, syntax="gbnf").text
    thought = toolfmt.parse("<seed:think>Hm.</seed:think>" + OUTPUT, format, tools=TOOLS)
    assert (thought.reasoning, called(thought)) == ("Hm.", [("get_weather", {"place": "Oslo", "days": 2})])


@pytest.mark.sample(0)
def test_a_model_with_a_derived_format_is_fixed_like_any_other(tmp_path: Path) -> None:
    result = run("inspect", str(OWN), "--fix", "--output", str(tmp_path / "copy"))
    assert result.exit_code == 0, result.output
    assert "Traceback" not in result.output
    assert "TF014" in result.output


@pytest.mark.parametrize("prefix", ["## ", ">>> ", "$$ "])
def test_characters_that_mark_headings_and_programs_start_no_call(prefix: str) -> None:
    source = TEMPLATE.replace("'【use ' + call.function.name + '】", f"'{prefix}' + call.function.name + '")
    made = toolfmt.derive(source)
    assert made.format is None
    assert "which ordinary responses contain" in made.why_not


@pytest.mark.parametrize(
    ("own", "rendered", "slight"),
    [
        ("<tool_call>\n{}\n</tool_call>", "<tool_cal>\n{}\n</tool_call>", True),
        ("<tool_call>\n{}}\n</tool_call>", "<tool_call>\n{}\n</tool_call>", True),
        ("<tool_call>\n{}\n</tool_call>", "<tool_call> {} </tool_call>", True),
        ("<tool_call>\n{}\n</tool_call>", "<use_function>\n{}\n</use_function>", False),
        ("name\n{}", "call name with {} done", False),
        ("<fun>name</fun>", "name", False),
    ],
)
def test_what_is_a_slip_and_what_another_notation(own: str, rendered: str, slight: bool) -> None:
    assert near_miss._slightly(own, rendered) is slight


@pytest.mark.sample(0)
def test_a_variant_of_a_declared_format_is_derived_on_request(tmp_path: Path) -> None:
    """A format that differs only in the markers is similar, and not a mistake: nothing prevents deriving it."""
    known = (MODELS / "json-frames" / "chat_template.jinja").read_text("utf-8")
    source = known.replace("<tool_call>", "<use_function>").replace("</tool_call>", "</use_function>")
    place = made(tmp_path, source, tokenizer={"tool_parser_type": "glm47"}).files.directory
    report = toolfmt.load(place).inspect()
    assert report.format.confidence == "declared"
    assert "It is what json writes, but with '<use_function>'" in unknown_format(report).message
    derived = toolfmt.derive(place)
    assert (derived.why_not, derived.format is not None) == ("", True)


def test_the_advice_names_derive_where_nothing_was_tried(tmp_path: Path) -> None:
    report = made(tmp_path, TEMPLATE, tokenizer={"tool_parser_type": "glm47"}).inspect()
    fix = unknown_format(report).fix
    assert " Or run `toolfmt dev derive MODEL`: it writes a format file if the calls allow it. Or write a format" in fix


def test_if_tools_are_described_in_the_prompt_calls_use_the_derived_format(tmp_path: Path) -> None:
    begin, end = TEMPLATE.index("{%- if tools %}"), TEMPLATE.index("{%- for message in messages %}")
    model = made(tmp_path, TEMPLATE[:begin] + TEMPLATE[end:])
    assert model.inspect().verdict.sentence.endswith("Call format: derived from the calls that the template renders.")
    prompt = model.render(MESSAGES, tools=TOOLS)
    assert (prompt.strategy, prompt.format) == ("prompt", DERIVED)
    assert "【use get_weather】\n【with place】" in prompt.text
    parser = prompt.parser()
    message = toolfmt.Message.from_events([*parser.feed(OUTPUT), *parser.finish()])
    assert called(message) == [("get_weather", {"place": "Oslo", "days": 2})]


def test_the_output_of_the_model_is_in_the_next_prompt() -> None:
    talk = toolfmt.Conversation(toolfmt.load(OWN), MESSAGES, TOOLS)
    talk.prompt()
    message = talk.answered(OUTPUT.partition("<|end|>")[0])
    talk.result(message.tool_calls[0].id, "Rain.")
    assert "【with days】2【/with】\n【/use】<|end|>\n<|tool|>\nRain.<|end|>" in talk.prompt().prompt.text
