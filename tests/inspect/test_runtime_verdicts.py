"""Which runtimes a finding concerns: those that pass the form of a request that it is about to this template."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from inspection_templates import EITHER_FORM, TEMPLATE, changed

import toolfmt
from toolfmt.inspect.inspection import inspect_template
from toolfmt.inspect.report.report import Report
from toolfmt.inspect.runtimes.template_choice import RUNTIMES


def concerned(report: Report, outcome: str) -> set[str]:
    """The runtimes of the finding or note with this outcome."""
    (found,) = [one for one in (*report.findings, *report.notes) if one.outcome == outcome]
    return set(found.runtimes)


def test_a_finding_without_a_form_concerns_every_runtime() -> None:
    report = inspect_template(TEMPLATE.replace("{% endfor %}", "{{ strftime_now('%Y') }}{% endfor %}", 1))
    assert concerned(report, "date-in-prompt") == set(RUNTIMES)


@pytest.mark.parametrize(
    ("names_it", "runtimes"),
    [
        # vLLM sends developer messages as system messages unless the template's text has the word in quotes.
        (False, {"transformers", "SGLang", "mlx-lm"}),
        (True, {"transformers", "vLLM", "SGLang", "mlx-lm"}),
    ],
)
def test_vllm_passes_developer_messages_only_if_the_template_names_the_role(names_it: bool, runtimes: set[str]) -> None:
    roles = "['developer', 'system']" if names_it else "['dev' ~ 'eloper']"
    raising = f"{{% for m in messages if m.role in {roles} and m.role != 'system' %}}{{{{ raise_exception('no') }}}}"
    report = inspect_template(raising + "{% endfor %}" + TEMPLATE)
    assert concerned(report, "developer-role-rejected") == runtimes


def test_arguments_are_objects_in_servers_and_strings_where_nothing_parses_them() -> None:
    """llama.cpp parses arguments only for templates that read their members."""
    strings = inspect_template(changed((EITHER_FORM, "{% set arguments = call.function.arguments %}")))
    assert concerned(strings, "object-rejected") == {"vLLM", "SGLang", "mlx-lm", "mlx-swift-lm"}
    members = "{% set arguments = call.function.arguments.items() | list | tojson %}"
    objects = inspect_template(changed((EITHER_FORM, members)))
    assert concerned(objects, "string-rejected") == {"transformers"}
    double = inspect_template(changed((EITHER_FORM, "{% set arguments = call.function.arguments | tojson %}")))
    assert concerned(double, "double-encoded") == {"transformers"}


def test_an_empty_list_of_tools_reaches_only_what_passes_it() -> None:
    report = inspect_template(changed(("{% if tools %}", "{% if tools is not none %}")))
    assert concerned(report, "empty-tools-preamble") == {"transformers"}


def test_parts_reach_templates_that_render_them() -> None:
    """vLLM and SGLang join parts for other templates; mlx-lm and llama.cpp always do."""
    assert concerned(inspect_template(TEMPLATE), "content-parts-lost") == {"transformers"}


def test_a_template_that_takes_only_parts_gets_them_from_runtimes_that_make_them() -> None:
    parts = "{% for part in message.content or [] if part.type %}{{ part.text }}{% endfor %}"
    report = inspect_template(changed(("{{ message.content or '' }}", parts)))
    assert concerned(report, "user-message-lost") == set(RUNTIMES) - {"vLLM", "llama.cpp"}


def test_empty_content_is_an_empty_list_for_templates_that_take_parts_in_vllm() -> None:
    raising = "{% if message.tool_calls and message.content == '' %}{{ raise_exception('empty') }}{% endif %}"
    texts = inspect_template(changed(("{{ message.content or '' }}", raising + "{{ message.content or '' }}")))
    assert concerned(texts, "content-empty-rejected") == set(RUNTIMES)
    either = (
        "{% if message.content is string %}{{ message.content }}{% else %}"
        "{% for part in message.content or [] %}{{ part.text }}{% endfor %}{% endif %}"
    )
    parts = inspect_template(changed(("{{ message.content or '' }}", raising + either)))
    assert concerned(parts, "content-empty-rejected") == set(RUNTIMES) - {"vLLM"}


def model(directory: Path, model_type: str = "qwen3", **tokenizer: str) -> Report:
    (directory / "chat_template.jinja").write_text(
        TEMPLATE.replace("{% endfor %}", "{{ strftime_now('%Y') }}{% endfor %}", 1), "utf-8"
    )
    (directory / "config.json").write_text(json.dumps({"model_type": model_type}), "utf-8")
    (directory / "tokenizer_config.json").write_text(json.dumps(tokenizer), "utf-8")
    return toolfmt.load(directory, trusted=True).inspect()


def test_a_runtime_with_its_own_encoder_for_the_model_type_does_not_render_the_template(tmp_path: Path) -> None:
    assert concerned(model(tmp_path, "gpt_oss"), "date-in-prompt") == set(RUNTIMES) - {"vLLM"}
    assert concerned(model(tmp_path, "deepseek_v4"), "date-in-prompt") == set(RUNTIMES) - {"vLLM", "SGLang"}
    # mistral_common is used only if the repository has Mistral's own files.
    assert concerned(model(tmp_path, "mistral"), "date-in-prompt") == set(RUNTIMES)


def test_a_runtime_with_its_own_code_for_the_template_is_unknown(tmp_path: Path) -> None:
    report = model(tmp_path, chat_template_type="deepseek_v32")
    assert concerned(report, "date-in-prompt") == set(RUNTIMES) - {"mlx-lm"}
    assert report.verdict.runtimes["mlx-lm"].status == "unknown"
    assert "its own code for deepseek_v32, which is not inspected here" in report.verdict.runtimes["mlx-lm"].settings


def test_a_runtime_that_renders_another_template_is_unknown(tmp_path: Path) -> None:
    """mlx-swift-lm takes chat_template.json before tokenizer_config.json, transformers does not."""
    other = json.dumps({"chat_template": TEMPLATE.replace("<tool_call>", "<call>")})
    (tmp_path / "chat_template.json").write_text(other, "utf-8")
    (tmp_path / "config.json").write_text('{"model_type": "qwen3"}', "utf-8")
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"chat_template": TEMPLATE}), "utf-8")
    runtimes = toolfmt.load(tmp_path, trusted=True).inspect().verdict.runtimes
    assert [name for name, one in runtimes.items() if one.status == "unknown"] == ["mlx-swift-lm"]
    assert runtimes["mlx-swift-lm"].settings == "it uses chat_template.json, which is not inspected here"


def test_a_runtime_that_finds_no_template_fails(tmp_path: Path) -> None:
    (tmp_path / "chat_template.json").write_text(json.dumps({"chat_template": TEMPLATE}), "utf-8")
    (tmp_path / "config.json").write_text('{"model_type": "qwen3"}', "utf-8")
    (tmp_path / "tokenizer_config.json").write_text("{}", "utf-8")
    report = toolfmt.load(tmp_path, trusted=True).inspect()
    failing = {name for name, one in report.verdict.runtimes.items() if one.status == "fails"}
    assert failing == {"vLLM", "SGLang", "mlx-lm"}
    assert concerned(report, "template-not-found") == failing
    assert report.verdict.tools != "broken"
