"""Templates that render other content with `add_generation_prompt` than without: reports describe what requests get."""

from __future__ import annotations

import pytest
from inspection_templates import label

from toolfmt.inspect.inspection import inspect_template
from toolfmt.inspect.report.report import Finding, Report

LOOP = "{% for m in messages %}"
TEMPLATE = (
    "{{ tools | tojson if tools }}\n"
    + LOOP
    + "<|{{ m.role }}|>{{ m.content }}"
    + "{% for c in m.tool_calls or [] %}<tool_call>{{ c.function | tojson }}</tool_call>{% endfor %}<|end|>{% endfor %}"
    + "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)

CALL = "[[run {{ c.function.name }} with {{ c.function.arguments | tojson }}]]"


def at_each_message(condition: str) -> str:
    return TEMPLATE.replace(LOOP, LOOP + "\n{% if " + condition + " %}{% continue %}{% endif %}")


def found(source: str) -> tuple[Report, list[Finding]]:
    report = inspect_template(source)
    changes = [one for one in (*report.findings, *report.notes) if label(one) == "generation-prompt-changes-content"]
    return report, changes


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("source", "message", "line", "severity", "capability", "answer"),
    [
        (at_each_message("m.role == 'system' and add_generation_prompt"),
         "In a prompt with add_generation_prompt the system message is missing.", 3, "warning", "system", "no"),
        (at_each_message("m.role == 'user' and not tools and add_generation_prompt"),
         "In a prompt with add_generation_prompt the question is missing.", 3, "warning", "tools", "yes"),
        (at_each_message("m.role == 'tool' and add_generation_prompt"),
         "In a prompt with add_generation_prompt the tool result is missing.", 3, "warning", "tool_results", "no"),
        (at_each_message("m.role == 'system' and not add_generation_prompt"),
         "In a prompt without add_generation_prompt the system message is missing.", 3, "note", "system", "yes"),
        (TEMPLATE.replace("if tools", "if tools and add_generation_prompt"),
         "In a prompt without add_generation_prompt the tools and the tools' descriptions are missing.",
         1, "note", "tools", "yes"),
        ("{% if not add_generation_prompt %}{{ raise_exception('never') }}{% endif %}" + TEMPLATE,
         "In a prompt without add_generation_prompt the template rejects a conversation: "
         "the template raises: never.", 1, "note", "tools", "yes"),
        ("\n{% if add_generation_prompt and messages[-1].role == 'tool' %}{{ raise_exception('no') }}{% endif %}"
         + TEMPLATE,
         "In a prompt with add_generation_prompt the template rejects a conversation: the template raises: no.",
         2, "warning", "tool_results", "yes"),
    ],
)  # fmt: skip
def test_the_report_is_about_prompts_with_the_generation_prompt(
    source: str, message: str, line: int, severity: str, capability: str, answer: str
) -> None:
    report, (finding,) = found(source)
    assert (finding.message, finding.line, finding.severity) == (message, line, severity)
    assert report.capabilities[capability].answer == answer
    assert report.sections.details["generation_prompt"].answer == "yes"
    codes = {one.code for one in (*report.findings, *report.notes)}
    assert "TF011" not in codes
    assert ("TF003" in codes) == ("the question" in message)
    (minijinja,) = (engine for engine in report.sections.engines if engine.engine == "minijinja")
    assert "<|assistant|>" not in str(minijinja.differences)


RAISES = "{% if not add_generation_prompt %}{{ raise_exception('never') }}{% endif %}\n"


def test_every_probe_requests_the_generation_prompt() -> None:
    report = inspect_template(RAISES + TEMPLATE)
    assert report.sections.details["arguments_missing"].answer == "yes"
    # lines come from the segments of a prompt, and from conditions that are forced while it is rendered
    assert (report.capabilities["tool_results"].line, report.capabilities["system"].line) == (3, 3)
    single = "\n{% if not m.tool_calls or m.tool_calls | length == 1 %}\n{{ m.content }}{% endif %}"
    detail = inspect_template(RAISES + TEMPLATE.replace("{{ m.content }}", single)).sections.details["text_with_call"]
    assert (detail.outcome, detail.line) == ("lost-later", 4)
    own = TEMPLATE.replace("<tool_call>{{ c.function | tojson }}</tool_call>", CALL)
    derived = inspect_template(RAISES + own).format.derived
    assert derived is not None
    assert not any("throws" in limit for limit in derived.limits)


def test_a_generation_prompt_that_only_ends_the_prompt_differently_is_no_finding() -> None:
    # microsoft's Phi 3: eos_token in its place
    source = TEMPLATE.replace("<|assistant|>{% endif %}", "<|assistant|>{% else %}<|endoftext|>{% endif %}")
    assert found(source)[1] == []
    assert found(TEMPLATE)[1] == []
