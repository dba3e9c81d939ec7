"""Sentences of a report that were false for real templates: each on a small template with the same property.

The comment of a case names the real template.
"""

from __future__ import annotations

import re
from functools import cache

import pytest
from inspection_templates import label

from toolfmt.cli.printing.phrases import phrases
from toolfmt.cli.printing.report import report_text
from toolfmt.errors import TemplateError
from toolfmt.inspect.checks.workarounds import SEND_TEXT_PARTS
from toolfmt.inspect.inspection import inspect_template
from toolfmt.inspect.probe.renders import Renders
from toolfmt.inspect.report.error_messages import thrown
from toolfmt.inspect.report.report import Finding, Report
from toolfmt.templates import ChatTemplate

TOOLS = "{% if tools %}<tools>{{ tools | tojson }}</tools>{% endif %}"
PLAIN = "{% for m in messages %}<|{{ m.role }}|>\n{{ m.content }}<|end|>\n{% endfor %}"
NO_SYSTEM = "{% for m in messages %}{% if m.role in ('user', 'assistant') %}" + PLAIN[25:].replace(
    "{% endfor %}", "{% endif %}{% endfor %}"
)
NOTHING = "{% for m in messages %}{% if 'text' in m %}{{ m.text }}{% endif %}{% endfor %}"
PART = "{% if p.type == 'text' %}{{ p.text }}{% endif %}"
PARTS_ONLY = "{% for m in messages %}{% for p in m.content %}" + PART + "{% endfor %}{% endfor %}"
CALLS = """\
{% for m in messages %}<|{{ m.role }}|>
{% if m.role == 'tool' %}
{% if m.content is string %}
[{{ m.content }}]
{% endif %}
{% else %}
{{ m.content or '' }}
{% for c in m.tool_calls or [] %}
<tool_call>{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}</tool_call>
{% endfor %}
{% endif %}
<|end|>
{% endfor %}
"""


@cache
def report(template: str) -> Report:
    return inspect_template(template)


def finding(template: str, code: str) -> Finding:
    inspected = report(template)
    return next(one for one in (*inspected.findings, *inspected.notes) if label(one) == code)


def codes(template: str) -> list[str]:
    return [label(one) for one in report(template).findings]


@pytest.mark.parametrize(
    ("message", "end"),
    [
        ("must alternate user/assistant/...", "user/assistant/..."),  # BreezeAI's Breeze 7B
        ("one call at once!", "one call at once!"),  # Llama 3.1
        ("which one?", "which one?"),
        ("only one system message.", "only one system message."),
        ("no such role", "no such role."),
    ],
)
def test_a_message_that_ends_with_the_words_of_the_template_ends_as_they_do(message: str, end: str) -> None:
    raising = "{% if messages[0].role == 'system' %}{{ raise_exception('" + message + "') }}{% endif %}" + PLAIN
    assert finding(raising, "system-message-lost").message.endswith(end)


def evidence(template: str, name: str) -> str:
    inspected = report(template)
    answer = (inspected.capabilities | inspected.sections.details)[name]
    return f"{answer.answer}: {answer.evidence}"


# --- what to do has to work


@pytest.mark.parametrize(
    ("code", "template", "fix"),
    [
        ("tools-dropped", PLAIN, "Describe the tools in a system message; `toolfmt render` does this."),
        # microsoft/Phi-3-medium-128k-instruct, TheBloke/Mistral-7B-Instruct-v0.1-GPTQ
        (
            "tools-dropped",
            NO_SYSTEM,
            "Describe the tools at the beginning of the first user message; `toolfmt render` does this.",
        ),
        (
            "developer-role-dropped",
            NO_SYSTEM,
            "Put the instructions at the beginning of the first user message; `toolfmt render` does this.",
        ),
        # Qwen/Qwen2-VL-2B
        (
            "tools-dropped",
            NOTHING,
            "Use another template for chat: what is described in words does not reach the prompt either.",
        ),
        # HuggingFaceTB/SmolVLM-256M-Instruct
        ("tools-dropped", PARTS_ONLY, "Describe the tools in a message whose content is a list of parts."),
        # unsloth's Apriel 1.5
        (
            "TF057",
            "You are a helpful bot and you always answer.\n" + PLAIN,
            "Check whether you want these sentences. A system message does not replace them.",
        ),
    ],
)
def test_what_to_do_works_with_this_template(code: str, template: str, fix: str) -> None:
    assert finding(template, code).fix == fix


@pytest.mark.parametrize(
    ("template", "severity", "fix"),
    [
        (NOTHING, "error", "Use another template."),
        (PARTS_ONLY, "warning", SEND_TEXT_PARTS),
    ],
)
def test_a_question_that_is_dropped_is_an_error_unless_render_fixes_it(template: str, severity: str, fix: str) -> None:
    found = finding(template, "TF003")
    message = "A user message with string content is not in the prompt: the prompt is empty."
    assert (found.severity, found.message, found.fix) == (severity, message, fix)
    assert [one.text for one in report(template).sections.advice if one.status == "works with"] == []


def test_a_question_that_comes_out_is_no_finding() -> None:
    assert "TF003" not in codes(PLAIN) + codes(NO_SYSTEM)


# --- evidence has to be so


STRING_SPLICED = (
    TOOLS
    + """{% for m in messages %}<|turn>{{ m.role }}
{{ m.content or '' }}{% for c in m.tool_calls or [] %}<|tool_call>call:{{ c.function.name }}{
{%- if c.function.arguments is string %}{{ c.function.arguments[1:-1] }}{% else %}
{%- for k, v in c.function.arguments.items() %}{{ k }}:
{%- if v is string %}<|"|>{{ v }}<|"|>{% else %}{{ v | tojson }}{% endif %}
{%- if not loop.last %},{% endif %}{% endfor %}{% endif %}}<tool_call|>{% endfor %}<turn|>
{% endfor %}"""
)


def test_a_string_that_is_only_read_generously_does_not_come_out_right() -> None:
    # ewald1976/G4-Plainsong-12B: {"place": "x"} where an object gives {place:<|"|>x<|"|>}
    assert report(STRING_SPLICED).format.name == "gemma4"
    assert report(STRING_SPLICED).capabilities["arguments_object"].answer == "yes"
    assert evidence(STRING_SPLICED, "arguments_string").startswith(
        'no: the call is not rendered in the format\'s syntax: <|tool_call>call:find_qplace{"place"'
    )
    message = finding(STRING_SPLICED, "string-rejected").message
    assert message.startswith("Arguments given as a JSON string are not rendered in the format's syntax: <|tool_call>")


NAMED_BY_ID = (
    TOOLS
    + """\
{% for m in messages %}<|{{ m.role }}|>{{ m.content or '' }}{% for c in m.tool_calls or [] %}\
<tool_call>{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}</tool_call>{% endfor %}\
{% if m.role == 'tool' %}{% for o in messages %}{% for c in o.tool_calls or [] %}\
{% if c.id == m.tool_call_id %}({{ c.function.name }}){% endif %}{% endfor %}{% endfor %}{% endif %}\
<|end|>{% endfor %}"""
)


def test_an_id_that_selects_the_name_of_the_tool_changes_the_prompt() -> None:
    by_name = "no: results of the same tool are matched by position; the id only selects the tool's name"
    by_place = "no: results are matched to calls by position; their ids change nothing in the prompt"
    assert evidence(NAMED_BY_ID, "results_reordered") == by_name
    assert evidence(TOOLS + CALLS, "results_reordered") == by_place


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("tool_results", 5),
        ("results_several", 5),
        ("text_with_call", 8),
        ("system", 8),
        ("tool_calls", 10),
        ("parallel_tool_calls", 10),
        ("arguments_object", 10),
        ("arguments_string", 10),
    ],
)
def test_the_line_is_that_which_writes_it(name: str, line: int) -> None:
    # The first line is a statement that only mentions the roles and `tool_calls`, as in G4-Plainsong.
    template = "{% set kind = 'tool' %}{% set other = 'system' %}{% set tool_calls = 1 %}\n" + CALLS
    inspected = report(template)
    assert (inspected.capabilities | inspected.sections.details)[name].line == line


def test_the_line_of_a_printed_null_is_that_which_prints_it() -> None:
    printed = CALLS.replace("{{ m.content or '' }}", "{{ m.content }}")
    assert finding(TOOLS + "\n" + printed, "content-null-printed").line == 8


def test_nothing_between_two_turns_is_reported() -> None:
    joined = "{% for m in messages %}{{ m.content }}{% endfor %}"
    assert evidence(joined, "users_in_a_row").endswith("both are in the prompt; there is nothing between them")
    assert evidence(joined.replace("{{ m.content }}", "{{ m.content }}\n"), "users_in_a_row").endswith(
        "between them is a line break only"
    )


def test_a_call_that_is_not_rendered_is_not_called_rendered() -> None:
    assert evidence(PLAIN, "content_empty") == "yes: a turn with a call and empty content is rendered, without the call"


# --- what else a person needs


def test_content_in_parts_that_is_rejected_is_reported() -> None:
    # Skywork-R1V3-38B, Phi-3-medium: only what is printed raw or dropped was a finding.
    found = finding("{% for m in messages %}{{ '<|' + m.role + '|>' + m.content }}\n{% endfor %}", "content-parts-lost")
    assert (found.severity, found.message, found.line) == (
        "note",
        "A list of parts as content is rejected in user messages, a system message at the start and "
        "assistant messages.",
        1,
    )


def variable(template: str, name: str) -> str:
    return next(one.effect for one in report(template).sections.variables if one.name == name)


def test_what_a_variable_changes_next_to_the_reasoning_block() -> None:
    # GLM-4.6: `/nothink` after the question was not reported.
    off = "{{ '/nothink' if enable_thinking is defined and not enable_thinking else '' }}"
    empty = "{{ '\n<think></think>' if enable_thinking is defined and not enable_thinking else '' }}"
    template = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}" + off + "{% endfor %}"
    template += "{% if add_generation_prompt %}<|assistant|>" + empty + "{% endif %}"
    expected = 'if false, adds "/nothink", and ends the prompt with an empty reasoning block ("<think></think>")'
    assert variable(template, "enable_thinking") == expected


MARKED = """\
{%- if enable_thinking %}{{ '<|turn>system\n<|think|>\n<turn|>\n' }}{% endif %}
{%- for m in messages %}{{ '<|turn>' + m.role + '\n' }}
{%- if m.reasoning_content and loop.last %}{{ '<|channel>thought\n' + m.reasoning_content + '<channel|>' }}{% endif %}
{{- m.content }}{{ '<turn|>\n' }}{% endfor %}
{%- if add_generation_prompt %}{{ '<|turn>model\n' }}
{%- if not enable_thinking %}{{ '<|channel>thought\n<channel|>' }}{% endif %}{% endif %}"""


def test_what_is_added_begins_at_a_marker_and_every_empty_block_is_known() -> None:
    # G4-Plainsong: 'adds "system\n<|think|>\n<turn|>\n<|turn>"', without mentioning the block.
    effect = variable(MARKED, "enable_thinking")
    block = 'does not end the prompt with an empty reasoning block ("<|channel>thought\\n<channel|>")'
    assert effect == 'if true, adds "<|turn>system\\n<|think|>\\n<turn|>", and ' + block


def test_a_variable_for_reasoning_under_the_name_thought() -> None:
    # Apriel 1.5: "no effect found: add_thoughts"
    thought = "{% if add_thoughts and m.thought %}<thinking>{{ m.thought }}</thinking>{% endif %}"
    template = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}" + thought + "{% endfor %}"
    assert variable(template, "add_thoughts").startswith("if true, keeps earlier reasoning")


def test_a_response_after_a_closed_reasoning_block_holds_no_reasoning() -> None:
    # G4-Plainsong: 65 % of the prompt stayed, of a conversation with reasoning that its default switches off.
    stability = report(MARKED.replace(" and loop.last", "")).sections.stability
    assert stability is not None
    assert {turn.cause for turn in stability.turns} == {"generation-prompt"}
    assert [turn.name for turn in stability.turns if "Tq2" in turn.becomes] == []


def test_default_instructions_end_before_the_header_of_the_question() -> None:
    # LoneStriker/TinyLlama-1.1B-32k-Instruct: "… helpful assistant.\n\n### Input:"
    template = """\
{% if messages[0].role != 'system' %}You are a very helpful assistant.{% endif %}{% for m in messages %}

{% if m.role == 'user' %}### Input:
{% elif m.role == 'assistant' %}### Response:
{% endif %}{{ m.content }}{% endfor %}"""
    message = "The template adds 'You are a very helpful assistant.'."
    assert finding(template, "TF057").message == message


def test_default_instructions_that_come_with_tools() -> None:
    # Skywork-R1V3-38B: with tools it writes other instructions, which were not reported.
    begin = """\
{% if tools %}{{ '<|system|>' }}{% if messages[0].role == 'system' %}{{ messages[0].content }}{% else %}
{{- 'First of all think about it step by step.' }}{% endif %}
{{- 'These are your tools:' }}{{ tools | tojson }}{% elif messages[0].role == 'system' %}
{{- '<|system|>' + messages[0].content }}{% endif %}"""
    template = begin + "{% for m in messages if m.role != 'system' %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}"
    message = "If tools are given, the template adds 'First of all think about it step by step.'."
    assert finding(template, "TF057").message == message


# --- of ten templates drawn at random, and of the findings of publishers' slips

COHERE = (
    """{% if tools %}<|sys|>{{ tools | tojson }}<|end_of_turn|>{% else %}<|sys|>hello<|end_of_turn|>{% endif %}"""
    """{% for m in messages %}<|turn|><|{{ m.role }}|>{% if m.tool_calls %}{% for c in m.tool_calls %}"""
    """<tool_call>{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}</tool_call>"""
    """{% endfor %}{% elif m.role == 'assistant' %}<|say|>{{ m.content }}<|said|>{% else %}{{ m.content }}{% endif %}"""
    """<|end_of_turn|>{% endfor %}{% if add_generation_prompt %}<|turn|><|assistant|>{% endif %}"""
)


@pytest.mark.sample(0)
def test_what_closes_an_answer_within_its_turn_ends_no_turn_with_a_call() -> None:
    # CohereForAI-c4ai-command-r7b-12-2024-tool_use: <|END_RESPONSE|> before <|END_OF_TURN_TOKEN|>
    assert report(COHERE).format.name == "json"
    assert "TF046" not in codes(COHERE)
    # Cohere2MoE: <|END_TEXT|> closes the text of a question as well
    assert "TF046" not in codes(COHERE.replace("{% else %}{{ m.content }}", "{% else %}<|say|>{{ m.content }}<|said|>"))
    unended = (
        COHERE.replace("<|said|>", "")
        .replace(
            "{% else %}{{ m.content }}{% endif %}<|end",
            "{% else %}{{ m.content }}{% endif %}{% if not m.tool_calls %}<|end",
        )
        .replace("|>{% endfor %}{% if add", "|>{% endif %}{% endfor %}{% if add")
    )
    assert "TF046" in codes(unended)


ARGUMENTS_FIRST = CALLS.replace(
    '"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}',
    '"arguments": {{ c.function.arguments | tojson }}, "name": "{{ c.function.name }}"',
)


def test_members_in_another_order_are_not_a_defect_of_a_call() -> None:
    # nousresearch-hermes-2-pro-llama-3-8b-tool-use-hfjs
    assert report(TOOLS + ARGUMENTS_FIRST).format.name == "json"
    assert "TF026" not in codes(TOOLS + ARGUMENTS_FIRST)


WITHOUT_SPACE = (
    "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}{% if add_generation_prompt %}assistant:"
)
DOUBLED = (
    "{% for m in messages %}<|{{ m.role }}|>\n{% if m.role == 'assistant' %}{{ '\\n' }}{% endif %}"
    "{{ m.content }}<|end|>\n{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>\\n' }}{% endif %}"
)


def test_a_space_before_a_response_is_not_missing_from_the_generation_prompt() -> None:
    # openchat-3.5-0106 and thirty others: their models were trained to continue after 'GPT4 Correct Assistant:'
    assert "TF045" not in [label(one) for one in report(WITHOUT_SPACE + "{% endif %}").notes]


def test_a_generation_prompt_that_lacks_a_second_line_end_is_reported_with_its_first() -> None:
    # arcee-ai-Trinity-Nano-Preview: an empty line before each response
    assert "ends with '<|end|>\\n<|assistant|>\\n', without the line end" in finding(DOUBLED, "TF045").message


def test_glm_4_7_has_a_parser_of_its_own_in_vllm() -> None:
    # GLM-4.7-Flash: glm45 requires a newline after the name (vllm-project/vllm#42979)
    from toolfmt.formats import FORMATS
    from toolfmt.inspect.runtimes.parser_choice import choose

    glm4 = next(format for format in FORMATS if format.name == "glm4")
    call = "<tool_call>f<arg_key>a</arg_key><arg_value>1</arg_value></tool_call>"
    assert choose(glm4, "vLLM", call).name == "glm47"


GENERATION = """\
{% if not add_generation_prompt is defined %}{% set add_generation_prompt = false %}{% endif %}
{% for m in messages %}<|{{ m.role }}|>
{{ m.content }}<|end|>
{% endfor %}
{% if add_generation_prompt %}
<|assistant|>
{% endif %}"""


@pytest.mark.parametrize(
    ("template", "line"),
    [
        (GENERATION, 6),  # cognitivecomputations/dolphin-2.5-mixtral-8x7b
        (GENERATION.replace("{% if add_generation_prompt %}\n<|assistant|>\n{% endif %}", "<|assistant|>"), 5),
    ],
)
def test_the_line_of_the_generation_prompt_is_that_which_writes_it(template: str, line: int) -> None:
    assert report(template).sections.details["generation_prompt"].line == line


def test_a_marker_that_appears_only_after_earlier_responses_ends_responses() -> None:
    # deepseek-ai-deepseek-v3-xinference: {% if not last %}<｜end▁of▁sentence｜>{% endif %}
    template = """\
{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% if m.role == 'assistant' and not loop.last %}<|end|>{% endif %}
{% endfor %}"""
    expected = "yes: a response without calls is complete at <|end|>; no eos_token is defined"
    assert evidence(template, "stop") == expected
    assert evidence(template.replace("<|end|>", ""), "stop").startswith("no: unknown")


def test_a_placeholder_after_the_last_response_hides_no_marker_after_earlier_ones() -> None:
    # allenai's Olmo 3: {% if not loop.last %}<|im_end|>{% else %}{{ eos_token }}{% endif %}
    end = "{{ '<|end|>' if m.role == 'user' or not loop.last else eos_token }}"
    template = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}" + end + "\n{% endfor %}"
    assert evidence(template, "stop") == "yes: a response without calls is complete at <|end|>; no eos_token is defined"
    assert report(template).profile.stop == ("<|end|>",)
    always = template.replace(end, "{{ eos_token if m.role == 'assistant' }}")
    assert evidence(always, "stop").endswith("the template writes no separate end marker after a response")
    # OrionStarAI's Orion 14B: written by the template itself it is not a placeholder
    named = template.replace(end, "{{ '</s>' if m.role == 'assistant' }}")
    assert evidence(named, "stop") == "yes: a response without calls is complete at </s>; no eos_token is defined"


@pytest.mark.sample(0)
def test_if_nothing_ends_a_response_what_follows_it_is_reported() -> None:
    # zai-org's GLM-4.5: <|user|> comes after a response in text, and the model's files name it
    end = "{{ '<|observation|>' if m.role == 'tool' else '<|' ~ m.role ~ '|>' }}"
    template = TOOLS + CALLS.replace("<|{{ m.role }}|>", end).replace("<|end|>\n", "")
    unknown = "no: unknown: no eos_token is defined, and the template writes no separate end marker after a response"
    assert evidence(template, "stop") == f"{unknown}; if the conversation continues, <|user|> follows"
    sentence = "if it does not, add <|user|>, the first token of the next turn"
    assert sentence in " ".join(report_text(report(template), 120, False, full=False, notes=False, whole=True).split())
    assert evidence(template.replace(end, "{{ m.role }}: "), "stop") == unknown


def test_a_turn_that_is_left_out_for_its_content_is_not_reported_as_rendered() -> None:
    # nvidia's audio-visual Flamingo: {% for message in messages if message['content'] is not none %}
    template = "{# prints #}\n" + PLAIN.replace("in messages", "in messages if m['content'] is not none")
    assert evidence(template, "content_null") == "no: the whole turn is dropped when the content is null"
    assert report(template).capabilities["content_null"].line == 2
    assert evidence(PLAIN.replace("m.content", "m.content or ''"), "content_null").startswith("yes: ")
    assert evidence("{% for m in messages %}{{ m.content or '' }}{% endfor %}", "content_null").startswith("yes: ")


@pytest.mark.parametrize("taken", ["m.tool_calls[0]", "m['tool_calls'][0]", "(m.tool_calls | first)"])
def test_the_second_call_is_lost_on_the_line_that_takes_the_first(taken: str) -> None:
    # llm-jp-4-8b: {%- set tool_call = message.tool_calls[0] %}, printed below
    template = TOOLS + CALLS.replace("{% for c in m.tool_calls or [] %}", "{% if m.tool_calls %}{% set c = FIRST %}")
    template = template.replace("</tool_call>\n{% endfor %}", "</tool_call>\n{% endif %}").replace("FIRST", taken)
    (line,) = [number for number, text in enumerate(template.split("\n"), 1) if "set c =" in text]
    assert finding(template, "TF019").line == line


@pytest.mark.parametrize("condition", ["'tool_calls' in m", "m.tool_calls is defined", "m['tool_calls'] is not none"])
def test_calls_that_are_none_fail_on_the_line_that_looks_up_the_key(condition: str) -> None:
    # llm-jp-4-8b: {%- if "tool_calls" in message %}, and message.tool_calls[0] twelve lines below
    loop = "{% for c in m.tool_calls or [] %}"
    template = TOOLS + CALLS.replace(loop, "{% if " + condition + " %}\n<calls>\n{% for c in m.tool_calls or [] %}")
    template = template.replace("</tool_call>\n{% endfor %}", "</tool_call>\n{% endfor %}\n</calls>\n{% endif %}")
    (line,) = [number for number, text in enumerate(template.split("\n"), 1) if condition in text]
    assert finding(template, "TF009").line == line


def test_what_begins_every_turn_ends_none() -> None:
    # inclusionAI/Ring-mini-2.0: <role>HUMAN</role>, <role>ASSISTANT</role>, and no mark of an end
    template = "{% for m in messages %}<role>{{ m.role }}</role>{{ m.content }}{% endfor %}"
    assert evidence(template, "stop").startswith("no: unknown")
    assert evidence(template.replace("{% endfor", "<end>{% endfor"), "stop").startswith(
        "yes: a response without calls is complete at <end>"
    )


def test_calls_that_a_variable_leaves_out_are_not_the_tools() -> None:
    # openbmb/MiniCPM5-1B: has_tool_sep
    template = TOOLS + CALLS.replace("in m.tool_calls or []", "in (m.tool_calls or [] if not silent else [])")
    (silent,) = report(template).sections.variables
    assert silent.effect.startswith('if true, leaves out earlier calls ("<tool_call>')


def test_the_line_of_a_result_given_as_parts_is_that_which_writes_it() -> None:
    # GLM-4.7-Flash: another line prints lists
    template = TOOLS + CALLS.replace(
        "{% endif %}\n{% else %}", "{% else %}\n{{ m.content }}\n{% endif %}\n{% else %}", 1
    )
    assert report(template).capabilities["tool_results"].line == 4
    assert report(template).sections.details["results_as_parts"].line == 6


def test_a_system_message_that_replaces_the_first_is_reported() -> None:
    # generic-alpaca-vllm: selectattr('role', 'equalto', 'system') | list | last
    of_system = "(messages | selectattr('role', 'equalto', 'system') | list | last).content"
    last = "{{ " + of_system + " if messages[0].role == 'system' }}"
    template = last + "{% for m in messages if m.role != 'system' %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}"
    expected = "no: a later system message replaces the first one"
    assert evidence(template, "system_later") == expected
    assert finding(template, "later-system-message-lost").message == "A later system message replaces the first one."
    assert phrases(report(template), "system") == ["only the last of several"]


def test_arguments_printed_as_python_are_reported_once() -> None:
    # deepseek-ai-deepseek-v3-xinference
    template = TOOLS + CALLS.replace("arguments | tojson", "arguments")
    message = "Arguments given as an object are printed as Python's repr: <tool_call>"
    assert finding(template, "object-rejected").message.startswith(message)


def test_for_a_nearly_known_call_more_than_whitespace_is_reported() -> None:
    # deepseek-ai-deepseek-v3-xinference: '  ' after the first marker, and a call in JSON
    near = TOOLS + CALLS.replace("<tool_call>{", "<tool_call>  {").replace("| tojson }}}", "| tojson }}")
    assert "It is what json writes, but without '}\\n'" in finding(near, "no-known-format").message


@pytest.mark.sample(0)
def test_a_value_printed_by_python_is_quoted_as_an_excerpt() -> None:
    # openbmb/MiniCPM5-1B: the quotation began and ended in the middle of a word
    items = "{% for k, v in c.function.arguments.items() %}<p={{ k }}>{{ v }}</p>{% endfor %}"
    template = TOOLS + CALLS.replace("{{ c.function.arguments | tojson }}", items)
    assert evidence(template, "values_as_json").startswith("no: True is printed as in Python: …")


@pytest.mark.sample(0)
def test_one_share_in_all_the_report() -> None:
    # GLM-4.6: 79 % at a glance, 80 % in TF050.
    dropped = """\
{%- for m in messages %}{{ '<|' + m.role + '|>' }}
{%- if m.reasoning_content and loop.last %}{{ '<think>' + m.reasoning_content + '</think>' }}{% endif %}
{{- m.content }}{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"""
    for padding in range(0, 60, 10):
        template = "x" * padding + dropped
        stability = report(template).sections.stability
        assert stability is not None
        assert (
            f"keeps {int(stability.share * 100)} % of an example conversation"
            in finding(template, "prefix-not-stable").message
        )


@pytest.mark.parametrize(
    ("raised", "end"),
    [
        # mistralai/Mistral-7B-Instruct-v0.3
        ("roles must alternate user/assistant/...", "roles must alternate user/assistant/..."),
        # meta-llama/Llama-3.1-8B-Instruct
        ("single tool-calls at once!", "single tool-calls at once!"),
        ("no tools.", "no tools."),
        ("no tools", "no tools."),
    ],
)
def test_a_sentence_that_ends_with_a_quotation_has_one_mark(raised: str, end: str) -> None:
    message = finding("{{ raise_exception('" + raised + "') }}", "TF003").message
    assert message.endswith(f"the template raises: {end}")


# --- positions


@pytest.mark.parametrize("absent", ["{% set a = m.arguments | absent %}", "{% if m.arguments is absent %}{% endif %}"])
def test_what_the_engine_lacks_is_reported_at_its_line(absent: str) -> None:  # FrogMini 14B
    kind = "filter" if "|" in absent else "test"
    template = (
        "\n{% for m in messages %}\n{{ m.content }}{% if m.arguments is string %}\n"
        + absent
        + "{% endif %}{% endfor %}"
    )
    prompt = Renders(ChatTemplate(template)).render([{"role": "user", "content": "", "arguments": "{}"}])
    assert isinstance(prompt, TemplateError)
    assert (prompt.line, thrown(prompt).explanation) == (4, f"a {kind} named 'absent' is undefined")


def test_a_field_of_reasoning_is_one_of_a_message() -> None:  # Qwen3.6-fixed-tool-calling of XMB480
    own = "{% set ns = namespace(thinking=true) %}\n{% set ns.thinking = ns.thinking and tools %}\n"
    assert report(own + PLAIN).sections.details["reasoning_field"].answer == "no"
    read = own + PLAIN.replace("{{ m.content }}", "\n{{ m.thinking }}{{ m.content }}")
    detail = report(read).sections.details["reasoning_field"]
    assert (detail.evidence, detail.line) == ("the template looks at thinking", 5)


def test_a_parser_that_may_wait_for_a_marker_is_not_promised() -> None:  # FrogMini 14B, FrogBoss 32B
    value = "<parameter={{ k }}>\n{{ v if v is string else v | tojson }}\n</parameter>\n"
    values = f"{{% for k, v in c.function.arguments.items() %}}{value}{{% endfor %}}"
    call = f"<function={{{{ c.function.name }}}}>\n{values}</function>"
    instructions = r"{% if tools %}{{ '<function=function_name>\n<parameter=key>value</parameter>' }}{% endif %}"
    bare = TOOLS + instructions + re.sub("<tool_call>.*</tool_call>", lambda _: call, CALLS)
    wrapped = bare.replace(call, f"<tool_call>\n{call}\n</tool_call>")
    # vLLM's parser reads the calls without their frame, SGLang's none of them: both were run.
    for template, sglang in ((bare, "none: its parser qwen3_coder cannot parse these calls"), (wrapped, "qwen3_coder")):
        inspected = report(template)
        assert (inspected.runtimes["vLLM"], inspected.runtimes["SGLang"]) == ("qwen3_coder", sglang)
        swift = next(one for one in inspected.sections.advice if one.runtime == "mlx-swift-lm")
        assert swift.remark.endswith("it may wait for the start marker, which these calls lack") is (template == bare)


def test_a_system_message_that_only_tools_leave_open() -> None:  # FrogMini 14B, Falcon H1
    opened = "{% if m.role == 'system' and tools %}\n{{ m.content }}{{ tools | tojson }}\nUse them.\n{% else %}"
    template = PLAIN.replace("{{ m.content }}<|end|>\n", opened + "{{ m.content }}<|end|>\n{% endif %}")
    found = finding(template, "TF046")
    message = "If tools are sent, the system message lacks its end marker <|end|>, which it has without tools: '"
    assert found.message.startswith(message)
    assert found.message.endswith("Use them.' is followed directly by '<|user|>'.")
    assert found.line == 4
    assert "TF046" not in codes(template.replace("Use them.\n", "Use them.<|end|>\n"))


def test_a_value_that_is_neither_true_nor_false_has_no_default() -> None:  # MiniCPM-V 4.5
    neither = "{% if thinking is defined and thinking is false %}<think></think>{% endif %}"
    neither += "{% if thinking is defined and thinking is true %}<think>{% endif %}"
    inspected = report(PLAIN + "{% if add_generation_prompt %}<|assistant|>\n" + neither + "{% endif %}")
    assert [(one.name, one.default) for one in inspected.sections.variables] == [("thinking", None)]


def test_whitespace_that_makes_the_difference_is_shown() -> None:  # Ring mini linear 2.0
    turn = "{% if m.role == 'assistant' %}<|assistant|>\n\n<think>{{ m.reasoning_content }}</think>{{ m.content }}"
    template = "{% for m in messages %}" + turn + "<|end|>{% else %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endif %}"
    template += "{% endfor %}{% if add_generation_prompt %}<|assistant|>\n<think>\n{% endif %}"
    message = (
        "The generation prompt ends with '<think>\\n'. In the next turn's prompt, the template renders '\\n<think>"
    )
    assert finding(template, "generation-prompt-not-a-prefix").message.startswith(message)


def test_the_line_of_tools_and_of_the_generation_prompt_is_that_which_writes_them() -> None:
    shown = "{% for t in tools or [] %}\n{{ t.function.name }}:\n{{ t.function.description }}\n{% endfor %}\n"
    inspected = report(shown + PLAIN + "{% if add_generation_prompt %}\n\n<|assistant|>{% endif %}")
    assert inspected.capabilities["tools"].line == 3
    assert inspected.sections.details["generation_prompt"].line == 9


def test_without_calls_nothing_is_reported_about_several_results() -> None:  # ReaderLM v2, Ouro 1.4B
    assert evidence(PLAIN, "results_several") == "no: not tested: no call is rendered"
    assert evidence(PLAIN, "results_reordered") == "no: not tested: no call is rendered"


# --- read by hand in November 2026, twenty templates drawn with seed 20261123


def test_a_header_that_also_precedes_past_responses_starts_no_response() -> None:  # Step-Audio-EditX of stepfun-ai
    turn = "{% for m in messages %}{{ '<|BOT|> ' + m.role + '\n' + m.content + '<|EOT|>' }}{% endfor %}"
    inspected = report(turn + "{% if add_generation_prompt %}{{ '<|BOT|> assistant\n' }}{% endif %}")
    assert inspected.profile.prefill == ""
    assert inspected.sections.details["generation_open"].answer == "no"
    thinks = turn.replace("m.content", "('<think>' if m.role == 'assistant' else '') + m.content")
    inspected = report(thinks + "{% if add_generation_prompt %}{{ '<|BOT|> assistant\n<think>' }}{% endif %}")
    assert inspected.profile.prefill.endswith("<think>")


def test_a_reasoning_block_that_the_prompt_has_closed_is_not_reported_as_open() -> None:  # DeepSeek-R1-Distill-Qwen-32B
    generation_prompt = "{% if add_generation_prompt %}<|assistant|>\n<think>\n</think>{% endif %}"
    assert (
        evidence(PLAIN + generation_prompt, "generation_open")
        == "yes: the generation prompt starts the response with <think>\\n</think>"
    )
    opened = generation_prompt.replace("</think>", "")
    assert evidence(PLAIN + opened, "generation_open") == "yes: the generation prompt starts the response with <think>"


@pytest.mark.parametrize(("written", "word"), [("m.content | tojson", "null"), ("m.content | string", "None")])
def test_content_null_that_comes_out_as_a_word(written: str, word: str) -> None:  # LFM2-8B-A1B
    template = CALLS.replace("m.content or ''", f"m.content if m.content is string else {written}")
    answer = report(template).capabilities["content_null"]
    assert (answer.answer, answer.words) == ("no", f"the word {word} is printed")
    assert finding(template, "content-null-printed").message.startswith(
        "In a turn with a call, null content is rendered as text: "
    )
    assert f"the word {word} is printed" in finding(template, "content-null-printed").message


def test_a_result_that_is_escaped_as_in_json_is_reported_as_such() -> None:  # typhoon2-8b-instruct, Llama 3.1
    escaped = CALLS.replace("[{{ m.content }}]", "{{ m.content | tojson }}")
    assert report(escaped).capabilities["tool_results"].words == "the result appears, its text escaped as in JSON"
    assert report(CALLS).capabilities["tool_results"].words == "the result appears"


def test_lines_are_of_what_was_run_and_not_of_another_branch() -> None:  # OpenPipe-Llama-3.1-8B-Instruct
    other = "{% if variant == 'other' %}{% for c in messages[0].tool_calls %}{{ c.id }}{% endfor %}{% endif %}\n"
    calls = CALLS.replace("{{ m.content or '' }}", "{{ m.content if not m.tool_calls }}")
    details = report(other + calls).sections.details
    lines = {name: details[name].line for name in ("ids_ordinary", "ids_nine", "text_with_call")}
    assert lines == {"ids_ordinary": 10, "ids_nine": 10, "text_with_call": 8}


def test_what_drops_a_list_of_parts_is_where_content_is_looked_at() -> None:  # Darwin-28B-REASON of FINAL-Bench
    before = "{% for m in messages %}\n{% if m.content is string %}{% set content = m.content %}{% else %}"
    template = before + "{% set content = '' %}{% endif %}\n<|{{ m.role }}|>{{ content }}{% endfor %}"
    details = report(template).sections.details
    assert {details[name].line for name in ("results_as_parts", "results_as_documents", "content_parts")} == {2}


def test_an_empty_block_of_reasoning_that_goes_is_no_reasoning() -> None:  # NVIDIA-Nemotron-Nano-v2
    last = "{% if m.role == 'assistant' and loop.last %}<think>\n{% endif %}{{ m.content }}"
    generation_prompt = "{% if add_generation_prompt %}<|assistant|>\n<think>\n{% endif %}"
    reported = finding(PLAIN.replace("{{ m.content }}", last) + generation_prompt, "prefix-not-stable")
    assert "the reasoning markers of earlier responses are dropped" in reported.message


def test_a_variable_that_adds_a_message_after_a_call_does_not_change_the_call() -> None:  # Kimi-K3
    suffix = "{% if tool_choice == 'none' %}<|system|>No calls, please.<|end|>{% endif %}"
    # A response in text ends differently than a call, so that what follows cannot be cut off as their common end.
    ends = CALLS.replace("<|end|>", "{{ '<|called|>' if m.tool_calls else '<|end|>' }}")
    effect = variable(ends + suffix, "tool_choice")
    assert "adds" in effect
    assert "writes calls as" not in effect


# --- twenty more, drawn with seed 20261124


def test_what_the_generation_prompt_writes_in_place_of_an_ending_is_all_it_adds() -> None:  # phi-4-mini-instruct
    ends = "{% if add_generation_prompt %}<|assistant|>{% else %}<|over|>{% endif %}"
    assert evidence(PLAIN + ends, "generation_prompt") == "yes: after a question it adds <|assistant|>"


@pytest.mark.parametrize(
    ("between", "words"),
    [
        ("\\n\\n", "the system message appears at the beginning of the question"),
        ("<|end|><|user|>", "the system message appears"),
        (" To do: ", "the system message appears"),
    ],
)
def test_a_system_message_inside_the_question_is_reported_as_such(between: str, words: str) -> None:  # Gemma 3's like
    first = "{% set s = messages[0].content ~ '" + between + "' if messages[0].role == 'system' else '' %}"
    turns = "{% for m in messages if m.role != 'system' %}<|{{ m.role }}|>{{ s if loop.first }}{{ m.content }}<|end|>"
    assert report(first + turns + "{% endfor %}").capabilities["system"].words == words


def test_what_past_responses_start_with_is_reported_if_the_prompt_leaves_it_to_the_model() -> None:  # gpt-oss, Qwen3
    turn = PLAIN.replace(
        "{{ m.content }}", "{{ '<|channel|>final<|message|>' if m.role == 'assistant' }}{{ m.content }}"
    )
    generation_prompt = "{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
    expected = "no: the prompt contains no part of the response; earlier responses without calls start with "
    assert evidence(turn + generation_prompt, "generation_open") == f"{expected}<|channel|>final<|message|>"
    assert evidence(PLAIN + generation_prompt, "generation_open") == "no: the prompt contains no part of the response"


def test_objects_of_a_notation_of_its_own_are_not_to_be_written_with_tojson() -> None:  # Gemma 4's own
    value = "{{ '<|\"|>' ~ v ~ '<|\"|>' if v is string else v }}"
    call = (
        "<|tool_call>call:{{ c.function.name }}{{ '{' }}{% for k, v in c.function.arguments.items() %}{{ k }}:" + value
    )
    written = call + "{{ ',' if not loop.last }}{% endfor %}{{ '}' }}<tool_call|>"
    json_call = CALLS[CALLS.index("<tool_call>") : CALLS.index("{% endfor %}")]
    reported = finding(TOOLS + CALLS.replace(json_call, written), "python-repr-in-calls")
    assert reported.fix == (
        "In the template, write true, false and null in lower case, and objects in the syntax of the gemma4 format, "
        "not with `tojson`."
    )
    tagged = (
        "<tool_call>{{ c.function.name }}\n{% for k, v in c.function.arguments.items() %}<arg_key>{{ k }}</arg_key>\n"
    )
    tagged += "<arg_value>{{ v }}</arg_value>\n{% endfor %}</tool_call>"
    reported = finding(TOOLS + CALLS.replace(json_call, tagged), "python-repr-in-calls")
    assert reported.fix == (
        "Write values that are not strings with tojson; `toolfmt inspect --fix` tries that in a copy."
    )


@pytest.mark.parametrize(
    ("written", "parts"),
    [
        ("v | string", "lists of types, true and false in `additionalProperties` and `strict`"),
        ("v | tojson if k != 'strict' else v", "`strict`"),
        ("v | tojson", ""),
    ],
)
def test_values_of_definitions_in_pythons_notation(written: str, parts: str) -> None:  # Qwen3-Coder, MiMo-V2-Flash
    own = "('name', 'description', 'parameters')"
    keys = "{% for k, v in t.function.items() if k not in " + own + " %}<{{ k }}>VALUE{% endfor %}"
    keys += "{% for k, v in t.function.parameters.items() if k != 'properties' %}<{{ k }}>VALUE{% endfor %}"
    keys += (
        "{% for p, f in t.function.parameters.properties.items() %}<{{ p }}>{% for k, v in f.items() %}<{{ k }}>VALUE"
    )
    keys = (keys + "{% endfor %}{% endfor %}").replace("VALUE", "{{ " + written + " }}")
    definitions = (
        "{% for t in tools or [] %}<{{ t.function.name }}>{{ t.function.description | tojson }}" + keys + "{% endfor %}"
    )
    findings = [one.message for one in report(definitions + CALLS).notes if label(one) == "python-repr-in-definitions"]
    assert findings == ([f"Tool definitions are rendered with Python's notation for {parts}."] if parts else [])


def test_a_question_that_needs_a_system_message_is_reported_as_such() -> None:
    template = "{% if messages[0].role == 'system' %}{% set system_message = messages[0].content %}{% endif %}" + (
        "{{ '<s>' + system_message }}{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}"
    )
    found = finding(template, "TF003")
    assert (found.severity, found.fix) == ("error", "Send a system message with every request.")
    assert (
        "rejects a single user message unless a system message is given: `system_message` is undefined" in found.message
    )


def test_a_system_message_that_is_lost_after_a_tool_result_is_not_reported_as_never_shown() -> None:
    """Mistral-7B-Instruct-v0.3 writes the system message next to the last message, if that is a question."""
    with_last_message = (
        "{% if m.role == 'system' %}{% elif loop.last and m.role == 'user' %}{{ messages[0].content }}\n"
    )
    template = TOOLS + CALLS.replace(
        "{% if m.role == 'tool' %}", with_last_message + "{{ m.content }}{% elif m.role == 'tool' %}", 1
    )
    assert report(template).capabilities["system"].outcome == "lost-later"
    text = report_text(report(template), 200, False, full=False, notes=False, whole=True)
    lines = {line[:13].strip(): line[13:].strip() for line in text.splitlines()}
    assert lines["system"].startswith("rendered for a question, dropped after a tool result")
    assert "system" not in lines["dropped"]


IN_ITS_BRANCH = "{% if m.role == 'system' %}{% if tools %}<tools>{{ tools | tojson }}</tools>SAID{% endif %}{% endif %}"


def in_system_branch(text: str) -> str:
    """A template that shows its tools in the branch of the role `system`, and what the report states."""
    return PLAIN.replace("{{ m.content }}", IN_ITS_BRANCH.replace("SAID", text) + "{{ m.content or '' }}")


def test_tools_that_need_a_system_message_are_reported_as_lost_without_one() -> None:
    """Virtuoso Lite, Motif 2 and functiongemma write them in the branch of the role `system`."""
    template = in_system_branch("")
    found = finding(template, "TF078")
    assert (found.severity, found.fixed_by, found.line) == ("warning", "render", 2)
    assert found.message.startswith("Tools are dropped if there is no system message")
    assert "TF078" not in codes(TOOLS + template)
    raising = "{% if tools and messages[0].role != 'system' %}{{ raise_exception('no') }}{% endif %}" + template
    assert "is rejected if there is no system message" in finding(raising, "TF078").message
    demanding = finding("{% if tools | length %}{% endif %}" + template, "TF078")  # functiongemma's other property
    assert (demanding.fixed_by, "`toolfmt render`" in demanding.fix) == ("request", False)
    assert "cannot be described in the system prompt instead" in demanding.fix


@pytest.mark.parametrize(
    ("text", "format"),
    [
        ("Write <tool_call>[\n{\"name\": \"f\"},\n… (more)\n]</tool_call>", "xlam"),  # Virtuoso Lite
        ("Write <tool_call>[{\"name\": \"f\"}]</tool_call>", "xlam"),
        ("Write {{ '<tool_call>[\\n{\"name\": \"f\"}]</tool_call>' }}", "xlam"),
        ("Put it in the format [Function(arguments1={}, name1=function_name1)]", None),  # Typhoon 2
    ],
)  # fmt: skip
def test_the_words_of_a_template_identify_a_format_or_none_that_is_known(text: str, format: str | None) -> None:
    template = in_system_branch(text)
    decided = report(template).format
    if format is not None:
        assert (decided.name, decided.confidence) == (format, "signature")
        assert "no-known-format" not in codes(template)
        return
    assert decided.confidence == "default"
    what = "neither its words nor the model's files name a format that toolfmt knows."
    assert finding(template, "no-known-format").message.endswith(what)


@pytest.mark.parametrize(
    ("template", "cut"),
    [
        ("{% for m in messages %}{{ m.content }}{% if m.role == 'user' %} [/INST]{% endif %}{% endfor %}", False),
        ("{% for m in messages %}{{ m.content }}<|extra_0|>{% endfor %}", False),
        (PLAIN + "<|assistant|>\n", True),
        ("{% for m in messages %}{{ m.content }}{% if m.role == 'user' %}<|assistant|>{% endif %}{% endfor %}", True),
    ],
)
def test_what_ends_a_question_is_not_to_be_cut_off(template: str, cut: bool) -> None:  # BGE-VL, Hunyuan
    fix = finding(template, "generation-prompt-ignored").fix
    assert ("remove the header at the end" in fix) == cut
    assert ("ends every question" in fix) != cut


def test_instructions_that_are_rendered_as_a_response_are_reported() -> None:  # gorilla-openfunctions-v2
    turn = "{{ 'Q: ' if m.role == 'user' else 'S: ' if m.role == 'system' else 'A: ' }}{{ m.content }}\n"
    reported = finding("{% for m in messages %}" + turn + "{% endfor %}", "developer-role-as-assistant")
    assert reported.message == "A message of the role developer is rendered as a response of the model."
    assert reported.fix == "Send the instructions under the role system."
    shown = report("{% for m in messages %}{{ m.role + ': ' + m.content }}\n{% endfor %}")
    assert "TF036" not in {one.code for one in (*shown.findings, *shown.notes)}


@pytest.mark.parametrize(
    ("system", "fix", "fixed_by"),
    [
        ("<s>[INST] <<SYS>>{{ m.content }}<</SYS>>",
         "Send a system message with every request, or in the template write '[INST]' before the first question too.",
         "request"),
        ("{{ m.content }}", "In the template write '[INST]' before the first question too.", "template"),
    ],
)  # fmt: skip
def test_a_first_question_without_the_marker_of_later_ones_is_reported(system: str, fix: str, fixed_by: str) -> None:
    opening = "{% if loop.index0 > 1 %}<s>[INST] {% endif %}"  # undi95-mixtral, shisa-gamma, bagel-dpo
    source = "{% for m in messages %}{% if m.role == 'system' %}" + system + "{% elif m.role == 'user' %}\n"
    source += opening + "{{ m.content }} [/INST]{% else %} {{ m.content }} </s>{% endif %}{% endfor %}"
    reported = finding(source, "TF091")
    unless = ", unless there is a system message" if fixed_by == "request" else ""
    assert reported.message == f"The first question lacks '[INST]', which later questions start with{unless}."
    assert (reported.fix, reported.fixed_by, reported.line, reported.severity) == (fix, fixed_by, 2, "warning")
    assert "TF091" not in codes(source.replace(opening, "<s>[INST] "))
    assert "TF091" not in codes(
        "{% for m in messages %}{% if loop.index0 > 1 %}<sep>{% endif %}{{ m.content }}{% endfor %}"
    )


def test_what_only_the_last_response_starts_with_is_reported_as_such() -> None:  # Qwen3
    last = "{{ '<think>\n\n</think>\n\n' if m.role == 'assistant' and loop.last }}{{ m.content }}"
    turn = PLAIN.replace("{{ m.content }}", last) + "{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
    expected = "no: the prompt contains no part of the response; a response that is the last message starts with "
    expected += r"<think>\n\n</think>"
    assert evidence(turn, "generation_open") == expected


@pytest.mark.sample(0)
def test_a_quote_that_is_cut_within_a_placeholder_names_the_token() -> None:  # Mistral 7B v0.3, Ministral 3b
    quoted = [
        excerpt
        for size in range(14)
        for answer in report(
            PLAIN.replace("{{ m.content }}", "{{ m.content }}{{ eos_token }}" + "y" * size)
        ).capabilities.values()
        for excerpt in answer.excerpts
    ]
    assert any(re.search(r"…{{ eos_token }}y{11}<", one) for one in quoted)
    assert not [one for one in quoted if re.search(r"…/?s>|</?s…", one)]


def test_dropped_parts_are_reported_at_the_string_test_that_decides() -> None:  # kanana-2-30b
    looks = "{% for m in messages %}{% if m.role == 'user' and m.content is string %}{% endif %}{% endfor %}\n\n"
    turn = "{% for m in messages %}\n{% if m.content is string %}\n{{ m.content }}\n{% endif %}{% endfor %}"
    assert report(looks + turn).sections.details["content_parts"].line == 4


def test_the_type_of_further_properties_that_is_written_is_not_lost() -> None:  # MiniCPM 3
    shown = (
        "{% for t in tools or [] %}{{ t.function.name }}: {{ t.function.description }}"
        "{% for k, v in t.function.parameters.properties.items() %}{{ k }} {{ v.type }} {{ v.description }}MORE"
        "{% endfor %}{% endfor %}"
    )
    written = "{{ v.additionalProperties.type if v.additionalProperties }}"
    answers = [report(shown.replace("MORE", more) + PLAIN).sections.definitions for more in (written, "")]
    assert [one["additional_properties"].answer for one in answers] == ["yes", "no"]


def test_a_condition_that_was_always_true_is_reported_as_such() -> None:  # Apriel 1.5
    form = (
        "{% if form == 'plain' %}{% set said = 'Hello' %}\n{% elif form == 'yaml' %}{% set said = 'Bye' %}{% endif %}"
    )
    message = finding("{% set x, form = '', 'plain' %}\n" + form + "{{ said }}" + PLAIN, "TF085").message
    assert "line 2 (" in message and message.count(": always true)") == 1
    assert message.index(": always true)") < message.index("line 3 (")


def test_a_template_alone_is_rendered_with_the_tokens_that_it_needs() -> None:  # Ministral 3b
    needing = "{{ bos_token + '' }}" + PLAIN + "{{ eos_token }}"
    (advice, _) = report(needing).sections.advice
    assert advice.text == """toolfmt render DIR --request FILE --var bos_token='"YOUR_BOS_TOKEN"' --output messages"""


def test_the_verdict_does_not_call_misprinted_arguments_rejected() -> None:  # Apriel 1.5
    printed = TOOLS + CALLS.replace("c.function.arguments | tojson", "c.function.arguments")
    assert "If not adapted: `arguments` as an object fail (TF014)" in report(printed).verdict.sentence


def test_words_do_not_help_where_no_question_is_taken_without_tools() -> None:  # Command R+, tool_use
    shown = (
        '{% for t in tools %}{"name": "{{ t.function.name }}", "description": "{{ t.function.description }}"}'
        "{% for k, v in t.function.parameters.properties.items() %}{{ k + v.type + v.description }}{% endfor %}"
        "{% endfor %}" + PLAIN
    )
    for template, fixed in ((shown, "request"), (shown.replace("in tools %}", "in tools or [] %}"), "")):
        for code, fallback in (("TF041", "render"), ("TF044", "prompt")):
            reported = finding(template, code)
            assert reported.fixed_by == (fixed or fallback)
            assert ("cannot be described in the system prompt" in reported.fix) == bool(fixed)
            assert ("`toolfmt render" in reported.fix) == (not fixed)
