"""Detailed capabilities of turns: each detail on templates whose output shows the text, and on real ones."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import pytest
from inspection_templates import label
from model_cases import SHARED

from toolfmt.inspect.inspection import inspect_template
from toolfmt.inspect.probe.renders import render_with_outcome
from toolfmt.inspect.report.report import Report
from toolfmt.inspect.sections.turns import DETAILS
from toolfmt.templates import ChatTemplate

TOOLS = "{% if tools %}<tools>{{ tools | tojson }}</tools>{% endif %}"
CONTENT = "{{ m.content or '' }}"
CALL = '<tool_call>{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}</tool_call>'
CALLS = "{% for c in m.tool_calls or [] %}" + CALL + "{% endfor %}"
LOOP = "{% for m in messages %}"
GENERATION = "{% if add_generation_prompt %}<|assistant|>{% endif %}"
BASE = TOOLS + LOOP + "<|{{ m.role }}|>" + CONTENT + CALLS + "<|end|>{% endfor %}" + GENERATION
"""Prints every role, content as it is (a list as Python's repr), no id, no reasoning."""
THINKS = BASE.replace(
    CONTENT, "{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}" + CONTENT
)
REASONED = "{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}"
THOUGHT = BASE.replace(CONTENT, "{% if m.thought %}<think>{{ m.thought }}</think>{% endif %}" + CONTENT)
PLANS = BASE.replace(
    CONTENT, CONTENT + "{% if m.tool_calls %}{% if m.tool_plan %}<plan>{{ m.tool_plan }}</plan>{% endif %}{% endif %}"
)
"""Reads reasoning under its own key, and only next to calls."""
ANSWERED = "messages[loop.index:] | rejectattr('tool_calls', 'defined') | selectattr('role', '==', 'assistant') | list"
PARTS = "{% if m.content is string %}{{ m.content }}{% else %}{{ m.content | map(attribute='text') | join }}{% endif %}"
JOINED = BASE.replace(
    "<|{{ m.role }}|>" + CONTENT,
    "{% if m.role == 'tool' %}{% if loop.previtem.role != 'tool' %}<|tool|>{% endif %}[{{ m.content }}]"
    "{% if loop.nextitem is defined and loop.nextitem.role == 'tool' %}{% continue %}{% endif %}"
    "{% else %}<|{{ m.role }}|>" + CONTENT + "{% endif %}",
)


def changed(old: str, new: str, template: str = BASE) -> str:
    assert old in template
    return template.replace(old, new)


def when(condition: str, then: str, template: str = BASE) -> str:
    """The template with something done first at each message that fulfils a condition."""
    return changed(LOOP, LOOP + "{% if " + condition + " %}" + then + "{% endif %}", template)


ROLE, WITH_ID = "<|{{ m.role }}|>", "<|{{ m.role }} {{ m.tool_call_id }}|>"
NAME, FROM_ID = "{{ c.function.name }}", "{{ c.id.split(':')[0].split('.')[-1] }}"
HEADER = "<|assistant|>{% endif"
VALUES = (
    "<call>{{ c.function.name }}{% for k, v in c.function.arguments.items() %}"
    "<{{ k }}>{{ v | tojson if v is mapping or v is sequence and v is not string else v }}</{{ k }}>"
    "{% endfor %}</call>"
)
PYTHON_CALLS = BASE.replace(
    CALLS,
    "{% if m.tool_calls %}<|tool_call_start|>[{% for c in m.tool_calls %}{{ c.function.name }}("
    "{% for k, v in c.function.arguments.items() %}{{ k }}={{ v | tojson if v is string else v }}"
    "{{ ', ' if not loop.last }}{% endfor %}){{ ', ' if not loop.last }}{% endfor %}]<|tool_call_end|>{% endif %}",
)
NAMED_BY_ID = changed(
    ROLE,
    "{% set ns = namespace(name=m.name) %}{% for a in messages if a.tool_calls and m.role == 'tool' %}"
    "{% for c in a.tool_calls if c.id == m.tool_call_id %}{% set ns.name = c.function.name %}{% endfor %}{% endfor %}"
    "<|{{ m.role }} {{ ns.name }}|>",
)
"""Gives a result the name of the call with its id; without ids, of the last call."""
BARE = "{{ (m.content or '') if not m.tool_calls }}"
RAISE = "{{ raise_exception('no, thank you') }}"
SKIP = "{% continue %}"


@cache
def report(template: str) -> Report:
    return inspect_template(template)


CASES: list[tuple[str, str, str, str, str]] = [
    # the detail, the result, its one word, the evidence, the template
    ("results_several", "yes", "", "each in a turn of its own; between them is <|end|><|tool|>", BASE),
    ("results_several", "yes", "", "in one turn; between them is '][", JOINED),
    # Olmo 3: a response ends with a different marker than a result.
    ("results_several", "yes", "", "each in a turn of its own; between them is <|over|><|tool|>",
     changed("<|end|>", "{{ '<|end|>' if m.role == 'assistant' else '<|over|>' }}")),
    # Midm 2.0: the header comes before the first result only, the marker of a turn's end after each.
    ("results_several", "yes", "", "turn of the first ends and none begins for the second; between them is <|end|>",
     changed("<|{{ m.role }}|>", "{% if loop.first or m.role != 'tool' or loop.previtem.role != 'tool' %}"
             "<|{{ 'user' if m.role == 'tool' else m.role }}|>{% endif %}")),
    ("results_several", "yes", "", "in one turn; between them is </r><r>",
     JOINED.replace("[{{ m.content }}]", "<r>{{ m.content }}</r>")),
    ("results_several", "no", "dropped", "the second is dropped",
     when("not loop.first and m.role == loop.previtem.role == 'tool'", SKIP)),
    ("results_several", "error", "threw", "no, thank you",
     when("not loop.first and m.role == loop.previtem.role == 'tool'", RAISE)),
    ("results_several", "no", "misplaced", "wrong order", changed(
        LOOP, "{% set late = messages | selectattr('role', 'eq', 'tool') | list %}"
        "{% for m in messages | rejectattr('role', 'eq', 'tool') | list + late | reverse | list %}")),
    ("results_several", "no", "", "not tested: the template does not render all calls of a turn",
     changed("m.tool_calls or []", "(m.tool_calls or [])[:1]")),
    ("results_reordered", "no", "by-order", "by position; their ids change nothing", BASE),
    ("results_reordered", "yes", "", "by its id", changed(ROLE, WITH_ID)),
    # command-a: results are looked up by their ids, which the prompt does not show
    ("results_reordered", "yes", "", "results are ordered by their ids; the prompt does not contain the ids",
     changed(CALL, CALL + "{% for r in messages if r.tool_call_id is defined and r.tool_call_id == c.id %}"
             "[{{ r.content }}]{% endfor %}").replace(LOOP, LOOP[:-3] + " if m.role != 'tool' %}")),
    ("results_unnamed", "yes", "", "renders the same as a result with both", BASE),
    ("results_unnamed", "no", "name-lost", "does not show which tool a result is from: ",
     changed(ROLE, "<|{{ m.role }} {{ m.name }}|>")),
    ("results_unnamed", "no", "name-lost", "under the name None: ",
     changed(ROLE, "<|{{ m.role }} {{ m.get('name') }}|>")),
    ("results_unnamed", "error", "threw", "no, thank you", when("m.role == 'tool' and not m.name", RAISE)),
    ("results_unnumbered", "error", "threw", "no, thank you", when("m.role == 'tool' and not m.tool_call_id", RAISE)),
    ("results_null", "yes", "", "a result with `content: null` is rendered", BASE),
    ("results_null", "no", "python", "`content: null` of a result is printed as `None`",
     when("m.role == 'tool'", "<|tool|>{{ m.content }}<|end|>{% continue %}")),
    ("results_null", "error", "threw", "a result with `content: null` is rejected",
     when("m.role == 'tool'", "<|tool|>{{ m.content + '' }}<|end|>{% continue %}")),
    ("results_unmatched", "yes", "", "neither the name of its tool nor the id", BASE),
    ("results_unmatched", "error", "threw", "tool_call_id (its call has an id) is rejected: the template raises",
     when("m.role == 'tool' and not m.name and not m.tool_call_id", RAISE)),
    ("results_unmatched", "no", "dropped", "neither name nor tool_call_id (its call has an id) is dropped",
     when("m.role == 'tool' and not m.name and not m.tool_call_id", SKIP)),
    ("results_unmatched", "no", "dropped", "a result whose id no call has is dropped",
     when("m.role == 'tool' and m.tool_call_id and m.tool_call_id.startswith('zq0')", SKIP)),
    ("results_alone", "yes", "", "a result without its call is rendered: ", BASE),
    ("results_alone", "error", "threw", "a result without its call is rejected: the template raises",
     when("m.role == 'tool' and not loop.previtem.tool_calls", RAISE)),
    ("results_alone", "no", "dropped", "a result without its call is dropped",
     when("m.role == 'tool' and not loop.previtem.tool_calls", SKIP)),
    ("arguments_missing", "yes", "", "null or an empty string is rendered", BASE),
    ("arguments_missing", "error", "threw", "`arguments` that are null are rejected: the template raises",
     when("m.tool_calls and m.tool_calls[0].function.arguments is none", RAISE)),
    ("arguments_missing", "error", "threw", "`arguments` that are an empty string are rejected: the template raises",
     when("m.tool_calls and m.tool_calls[0].function.arguments == ''", RAISE)),
    ("arguments_missing", "no", "dropped", "a call whose `arguments` are null is dropped",
     when("m.tool_calls and m.tool_calls[0].function.arguments is none", SKIP)),
    ("arguments_missing", "no", "python", "null are printed as None: ",
     when("m.tool_calls and m.tool_calls[0].function.arguments is none", "{{ none }}")),
    ("reasoning_unclosed", "yes", "", "a call next to an unclosed <think> is rendered", BASE),
    ("reasoning_unclosed", "error", "threw", "a call next to an unclosed <think> is rejected: the template raises",
     when("m.tool_calls and '<think>' in m.content", RAISE)),
    ("reasoning_unclosed", "no", "call-dropped", "a call next to an unclosed <think> is dropped",
     when("m.tool_calls and '<think>' in m.content", "{{ m.content }}" + SKIP)),
    ("reasoning_unclosed", "no", "", "no call next to text is rendered",
     changed("m.tool_calls or []", "(m.tool_calls if not m.content) or []")),
    ("system_later", "no", "dropped", "a later system message is dropped if tools are given",
     when("m.role == 'system' and tools and not loop.first", SKIP)),
    ("system_alone", "yes", "", "a system message alone is rendered: ", BASE),
    ("system_alone", "error", "threw", "a system message alone is rejected: the template raises",
     when("messages | length == 1 and m.role == 'system'", RAISE)),
    ("system_alone", "no", "dropped", "a system message alone is dropped",
     when("messages | length == 1 and m.role == 'system'", SKIP)),
    ("system_alone", "error", "threw", "a system message alone is rejected if tools are given: the template raises",
     when("m.role == 'system' and tools and not messages[1:]", RAISE)),
    ("system_alone", "no", "dropped", "a system message alone is dropped if tools are given",
     when("m.role == 'system' and tools and not messages[1:]", SKIP)),
    ("system_alone", "no", "", "no system message is rendered", when("m.role == 'system'", SKIP)),
    ("generation_marked", "no", "", "has no `{% generation %}`", BASE),
    ("generation_marked", "no", "", "has no `{% generation %}`",
     "{#- {% generation %}{% endgeneration %} -#}" + BASE),
    ("generation_marked", "yes", "", "marks the response and its stop token",
     changed(CONTENT, "{% generation %}" + CONTENT).replace("<|end|>", "<|end|>{% endgeneration %}", 1)),
    ("generation_marked", "no", "misplaced", "the stop token <|end|> is outside",
     changed(CONTENT, "{%- generation -%}" + CONTENT + "{%- endgeneration -%}")),
    ("generation_marked", "no", "dropped", "does not mark the response",
     changed(CONTENT, "{% generation %}{% endgeneration %}" + CONTENT)),
    ("results_as_parts", "no", "python", "Python's repr", BASE),
    ("results_as_parts", "yes", "", "a list of parts appears: ", changed(CONTENT, PARTS)),
    # ServiceNow's Apriel 1.5: {{ message['content'][0]['text'] }}
    ("results_as_parts", "no", "dropped", "of a result of two parts only the first is in the prompt: ",
     changed(CONTENT, PARTS.replace("m.content | map(attribute='text') | join", "m.content[0].text"))),
    ("results_as_parts", "error", "threw", "a result of two parts is rejected: the template raises",
     when("m.role == 'tool' and m.content is not string and m.content | length > 1", RAISE, changed(CONTENT, PARTS))),
    ("results_as_parts", "yes", "", "as JSON", changed(CONTENT, "{{ m.content | tojson }}")),
    ("results_as_parts", "no", "dropped", "not in the prompt",
     changed(CONTENT, "{{ m.content if m.content is string }}")),
    ("results_as_documents", "no", "dropped", "not in the prompt", changed(CONTENT, PARTS)),
    ("results_as_documents", "yes", "", "a document appears", changed(CONTENT, "{{ m.content | tojson }}")),
    ("ids_ordinary", "yes", "", "with the id call_q7Zk2Wx9BvT4mN8sRd3Ly6Hc is rendered", BASE),
    ("ids_ordinary", "error", "threw", "no, thank you",
     when("m.tool_calls and m.tool_calls[0].id | length > 9", RAISE)),
    ("ids_nine", "yes", "", "is rendered", when("m.tool_calls and m.tool_calls[0].id | length > 9", RAISE)),
    ("ids_ordinary", "no", "name-lost", "the tool's name is gone from the call: ",
     changed(NAME, FROM_ID)),
    ("ids_function", "yes", "", "is rendered", changed(NAME, FROM_ID)),
    ("ids_none", "error", "threw", "no, thank you", when("m.tool_calls and not m.tool_calls[0].id", RAISE)),
    ("ids_none", "yes", "", "with no id is rendered", BASE),
    ("ids_paired", "no", "", "not in the prompt", BASE),
    ("ids_paired", "no", "", "only at the result", changed(ROLE, WITH_ID)),
    ("text_with_call", "no", "lost-later", "text next to two calls is dropped, next to one call it is rendered",
     changed(CONTENT, "{% if not (m.tool_calls and m.tool_calls | length > 1) %}" + CONTENT + "{% endif %}")),
    ("text_with_call", "no", "lost-later", "text next to two calls is rejected: the template raises: no, thank you",
     when("m.tool_calls and m.tool_calls | length > 1 and m.content", RAISE)),
    ("text_with_call", "yes", "", "appears: ", BASE),
    ("text_with_call", "no", "dropped", "is dropped: ", changed(CONTENT, BARE)),
    ("text_with_call", "no", "call-dropped", "a call is dropped",
     changed("m.tool_calls or []", "(m.tool_calls if not m.content) or []")),
    ("text_with_call", "error", "threw", "no, thank you", when("m.tool_calls and m.content", RAISE)),
    ("content_absent", "yes", "", "absent content", BASE),
    ("content_absent", "error", "threw", "content", changed(CONTENT, "{{ m.content + '' }}")),
    ("content_absent", "yes", "", "without the call", changed(CALLS, "")),
    ("content_absent", "error", "threw", "content", changed(CONTENT, "{{ m.content + '' }}", changed(CALLS, ""))),
    ("calls_empty", "yes", "", "renders the same as a response without it", BASE),
    ("calls_empty", "error", "threw", "null as `tool_calls` is rejected",
     changed(" in m.tool_calls or []", " in m.tool_calls")),
    ("calls_empty", "no", "like-a-call", "an empty list as `tool_calls` is rendered like a turn with calls: ",
     changed(CALLS, "{% if m.tool_calls | default(none) is not none %}<calls>" + CALLS + "</calls>{% endif %}")),
    ("calls_empty", "no", "like-a-call", "null or an empty list as `tool_calls` is rendered like a turn with calls: ",
     changed(CALLS, "{% if m.tool_calls is defined %}<calls>" + CALLS + "</calls>{% endif %}")),
    ("calls_empty", "no", "dropped", "response with an empty list as `tool_calls` is dropped",
     changed(CONTENT, "{{ (m.content or '') if m.tool_calls is not defined or m.tool_calls != [] }}")),
    ("calls_empty", "error", "threw", "or an empty list as `tool_calls` is rejected. The error with null: the template "
     "iterates",
     changed("{% for c in m.tool_calls or []", "{{ raise_exception('empty') if m.tool_calls == [] }}"
             "{% for c in m.tool_calls if 'tool_calls' in m")),
    # Hunyuan A13B: {% if 'tool_calls' in message %}{% for tool_call in message['tool_calls'] %}
    ("calls_empty", "error", "threw", "with null it is rejected: the template iterates",
     changed(CALLS, "{% if 'tool_calls' in m %}<calls>" + CALLS.replace(" or []", "") + "</calls>{% endif %}")),
    ("calls_empty", "error", "threw", "an empty list as `tool_calls` is rendered like a turn with calls (…",
     changed(CALLS, "{% if 'tool_calls' in m %}<calls>" + CALLS.replace(" or []", "") + "</calls>{% endif %}")),
    ("calls_empty", "no", "like-a-call", "<|assistant|>Aq3reply<calls></calls><|end|><|user|>…); with an "
     "empty list it is dropped",
     changed(CALLS, "{% if m.tool_calls is defined %}<calls>" + CALLS + "</calls>{% endif %}",
             changed(CONTENT, "{{ (m.content or '') if m.tool_calls is not defined or m.tool_calls != [] }}"))),
    ("calls_empty", "no", "dropped", "null or an empty list as `tool_calls` is dropped",
     changed(CONTENT, "{{ (m.content or '') if m.tool_calls is not defined }}")),
    ("calls_empty", "no", "", "not rendered", changed(CONTENT, "{{ m.content if m.role == 'user' }}")),
    ("content_parts", "no", "python", "of user messages is printed as Python's repr", BASE),
    ("content_parts", "no", "json-text", "of user messages is printed as JSON",
     changed(CONTENT, "{{ m.content | tojson }}")),
    ("content_parts", "no", "dropped", "as content is dropped in user messages",
     changed(CONTENT, "{{ m.content if m.content is string }}")),
    ("content_parts", "yes", "", "in user messages, a system message at the start and assistant messages",
     changed(CONTENT, PARTS)),
    # BAAI's BGE-VL-MLLM: {% for item in message.content %}{% set cn.text = item.text %}{% endfor %}
    ("content_parts", "no", "dropped", "of two parts of text in user messages only the last is in the prompt: ",
     changed(CONTENT, PARTS.replace("m.content | map(attribute='text') | join", "m.content[-1].text"))),
    ("content_parts", "no", "dropped", "of two parts of text in assistant messages only the first is in the prompt: ",
     changed(CONTENT, "{% if m.role == 'assistant' and m.content is not string %}{{ m.content[0].text }}{% else %}"
             + PARTS + "{% endif %}")),
    ("content_parts", "error", "threw", "as content are rejected in user messages: the template raises",
     when("m.content is not string and m.content | length > 1", RAISE, changed(CONTENT, PARTS))),
    ("content_parts", "error", "threw", "no, thank you",
     when("m.content is sequence and m.content is not string", RAISE)),
    ("content_parts", "no", "python", "of user messages is printed as Python's repr if tools are given: ",
     changed(CONTENT, changed("m.content is string", "m.content is string or tools", PARTS))),
    # Llama 3.2 Vision: the system message unchanged, and the first question next to tools, too.
    ("content_parts", "no", "python", "repr if tools are given, and always in a system message at the start: ",
     changed(CONTENT, changed("m.content is string", "m.content is string or tools or m.role == 'system'", PARTS))),
    ("content_parts", "no", "dropped", "a list of parts as content is dropped in user messages if tools are given",
     changed(CONTENT, "{% if m.content is string or not tools %}" + PARTS + "{% endif %}")),
    ("content_parts", "error", "threw", "as content is rejected in a system message at the start: the tem",
     when("m.role == 'system' and m.content is not string", RAISE, changed(CONTENT, PARTS))),
    ("values_as_json", "yes", "", "not printed as in Python", BASE),
    ("values_as_json", "no", "python", "True is printed as in Python: ", changed(CALL, VALUES)),
    ("values_as_json", "no", "python", "None is printed as in Python: ",
     changed(CALL, changed("v is mapping", "v is boolean or v is mapping", VALUES))),
    ("values_as_json", "no", "python", "a dict is printed as in Python: ",
     changed(CALL, changed("v is mapping or ", "v is none or v is boolean or v is not mapping and ", VALUES))),
    ("values_as_json", "no", "", "no call is rendered", changed(CALLS, "")),
    ("values_as_json", "error", "threw", "no, thank you",
     changed(CALL, CALL + "{% if c.function.name.startswith('set') %}" + RAISE + "{% endif %}")),
    ("reasoning_field", "no", "", "no field", BASE),
    ("reasoning_field", "yes", "", "the template looks at reasoning_content", THINKS),
    ("reasoning_field", "yes", "", "the template looks at reasoning_content, thought",
     THOUGHT.replace(CONTENT, REASONED + CONTENT)),
    ("reasoning_earlier", "yes", "", "is kept: ", THINKS),
    ("reasoning_earlier", "yes", "", "is kept: ", THOUGHT),
    ("reasoning_earlier", "yes", "", "next to a call before the last user message is kept: ", PLANS),
    ("reasoning_earlier", "no", "dropped", "next to a call before the last user message is not in the prompt",
     changed("if m.tool_plan", "if m.tool_plan and messages[-1].role != 'user'", PLANS)),
    ("reasoning_earlier", "no", "lost-later", "next to a call is kept until a response without a call",
     changed("if m.tool_plan", "if m.tool_plan and not (" + ANSWERED + ")", PLANS)),  # llm-jp-4-8b
    ("reasoning_earlier", "no", "lost-later", "next to a call, it is kept until a response without a call",
     changed("{% if m.reasoning_content %}",
             "{% if m.reasoning_content and (not (" + ANSWERED + ") if m.tool_calls else loop.last) %}", THINKS)),
    ("reasoning_in_loop", "yes", "", "is kept: ", THOUGHT),
    ("reasoning_in_loop", "yes", "", "is kept: ", PLANS),
    ("reasoning_earlier", "no", "dropped", "not in the prompt",
     changed("m.reasoning_content %}", "m.reasoning_content and loop.last %}", THINKS)),
    ("reasoning_in_loop", "yes", "", "is kept: ", THINKS),
    ("reasoning_in_loop", "no", "dropped", "not in the prompt",
     changed("m.reasoning_content %}", "m.reasoning_content and not m.tool_calls %}", THINKS)),
    ("system_later", "yes", "", "in its place", BASE),
    ("system_later", "yes", "", "moved to the beginning",
     changed(LOOP, "{% for m in messages | selectattr('role', 'eq', 'system') | list + "
             "messages | rejectattr('role', 'eq', 'system') | list %}")),
    ("system_later", "yes", "", "moved after the question that follows it",
     changed(LOOP, "{% for m in messages | rejectattr('role', 'eq', 'system') | list + "
             "messages | selectattr('role', 'eq', 'system') | list %}")),
    ("system_later", "yes", "", "moved before the response",
     changed(LOOP, "{% for m in messages[:2] + messages[3:4] + messages[2:3] + messages[4:] %}")),
    ("system_later", "no", "dropped", "is dropped", when("m.role == 'system' and not loop.first", SKIP)),
    ("system_later", "error", "threw", "no, thank you", when("m.role == 'system' and not loop.first", RAISE)),
    ("system_later", "error", "threw", "no, thank you",
     when("m.role == 'system' and not loop.first or m.role == 'assistant' and not m.reasoning_content", RAISE)),
    ("system_later", "no", "", "is not rendered completely either", when("m.role == 'system'", SKIP)),
    ("developer", "yes", "", "is rendered: <|developer|>", changed("<tools>{{ tools | tojson }}</tools>", "", BASE)),
    ("developer", "yes", "", "treated as a system message",
     changed(ROLE, "<|{{ 'system' if m.role == 'developer' else m.role }}|>")),
    ("developer", "no", "dropped", "is dropped", when("m.role == 'developer'", SKIP)),
    ("developer", "no", "dropped", "is dropped if tools are given", when("m.role == 'developer' and tools", SKIP)),
    ("developer", "no", "dropped", "is dropped at the start of the conversation",
     when("loop.first and m.role == 'developer'", SKIP)),
    ("developer", "error", "threw", "no, thank you", when("m.role == 'developer'", RAISE)),
    ("users_in_a_row", "yes", "", "between them is <|end|><|user|>", BASE),
    ("users_in_a_row", "error", "threw", "no, thank you",
     when("not loop.first and m.role == loop.previtem.role == 'user'", RAISE)),
    ("users_in_a_row", "no", "dropped", "one is dropped",
     when("not loop.first and m.role == loop.previtem.role == 'user'", SKIP)),
    ("assistants_in_a_row", "error", "threw", "no, thank you",
     when("not loop.first and m.role == loop.previtem.role == 'assistant'", RAISE)),
    ("user_after_result", "error", "threw", "no, thank you",
     when("m.role == 'user' and not loop.first and loop.previtem.role == 'tool'", RAISE)),
    ("user_after_result", "yes", "", "between them is <|end|><|user|>", BASE),
    ("history_without_tools", "yes", "", "without tools as well", BASE),
    ("history_without_tools", "no", "dropped", "without tools the call of an earlier turn is not",
     changed("m.tool_calls or []", "(m.tool_calls if tools) or []")),
    ("history_without_tools", "error", "threw", "no, thank you", when("m.tool_calls and not tools", RAISE)),
    ("generation_prompt", "yes", "", "it adds <|assistant|>", BASE),
    ("generation_prompt", "no", "", "nothing is added", changed(GENERATION, "")),
    ("generation_prompt", "no", "misplaced", "always ends with <|end|><|assistant|>",
     changed(GENERATION, "<|assistant|>")),
    ("generation_prompt", "no", "misplaced", "it always ends with ### Answer:",
     "{% for m in messages %}{{ '### Question:\n' if m.role == 'user' else '### Answer:\n' }}{{ m.content }}\n"
     "{% endfor %}### Answer:\n"),
    ("generation_prompt", "no", "in-place", "renders a response directly after it",
     "{% for m in messages %}{{ m.content }}\n{% endfor %}"),
    ("generation_open", "no", "", "no part of the response", BASE),
    ("generation_open", "yes", "", "starts the response with <think>", changed(HEADER, "<|assistant|><think>{% endif")),
    ("generation_open", "yes", "", "starts the response with <think></think>",
     changed(HEADER, "<|assistant|><think></think>{% endif", THINKS)),
    ("stop", "yes", "", "is complete at <|end|>; no eos_token is defined", BASE),
    ("stop", "no", "", "unknown: no eos_token", changed("<|end|>", "\n")),
    ("stop", "no", "", "unknown: no eos_token",
     "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}<|talk_ends|>\n"
     "Is the last message of the assistant harmful?"),
]  # fmt: skip


CASES += [
    ("ids_paired", "no", "", "no call is rendered", LOOP + CONTENT + "{% endfor %}"),
    ("developer", "yes", "as-answer", "treated as a response",
     LOOP + "{{ 'Q: ' if m.role == 'user' else 'I: ' if m.role == 'system' else 'A: ' }}" + CONTENT + "{% endfor %}"),
    # true in some conversations only
    ("results_unnumbered", "no", "name-lost", "both rendered under the name of the last tool called", NAMED_BY_ID),
    ("results_unnumbered", "yes", "", "renders the same as a result with it; two results of different tools are not",
     changed(ROLE, "<|{{ m.role }}|>{{ m.tool_call_id if messages | selectattr('role', '==', 'tool') | list"
             " | length > 1 }}")),
    ("results_alone", "error", "threw", "is rejected if the conversation contains no call at all: ",
     when("m.role == 'tool' and not messages | selectattr('tool_calls') | list", RAISE)),
    ("results_alone", "no", "dropped", "is dropped, unless the conversation contains an earlier call and no "
     "response without calls after it",
     changed(LOOP, "{% set ns = namespace(called=false) %}" + LOOP + "{% if m.role == 'assistant' %}{% set ns.called "
             "= 'tool_calls' in m %}{% endif %}{% if m.role == 'tool' and not ns.called %}{% continue %}{% endif %}")),
    ("results_unnumbered", "yes", "", "a result without tool_call_id renders the same as a result with it",
     NAMED_BY_ID.replace("if c.id == m.tool_call_id %}", "if c.id == m.tool_call_id and not m.name %}")),
    ("text_with_call", "yes", "", "text next to a call appears", when("m.tool_calls and loop.index0 > 3", SKIP)),
    ("reasoning_in_loop", "no", "dropped", "is not in a prompt with a generation prompt",
     changed("{% if m.reasoning_content %}", "{% if m.reasoning_content and not (add_generation_prompt and "
             "messages[-1].role == 'tool') %}", THINKS)),
    ("assistants_in_a_row", "yes", "", "before another question, two responses in a row: both",
     changed(ROLE, ROLE + "{{ '+' if m.role == 'assistant' and messages[-1].role == 'user' }}")),
    ("assistants_in_a_row", "yes", "", "without a system message, two responses in a row: both",
     changed(ROLE, ROLE + "{{ '+' if m.role == 'assistant' and messages[0].role == 'system' }}")),
    ("assistants_in_a_row", "yes", "", "two responses in a row: both are in the prompt; between them is <|end|>", BASE),
    ("generation_prompt", "yes", "", "after a question it adds <|assistant|>; after a result it adds nothing",
     changed("{% if add_generation_prompt %}", "{% if add_generation_prompt and messages[-1].role != 'tool' %}")),
    ("generation_prompt", "yes", "", "after a question it adds <|assistant|>; after a result it adds <|more|>",
     changed(HEADER, "{{ '<|more|>' if messages[-1].role == 'tool' else '<|assistant|>' }}{% endif")),
    ("developer", "no", "dropped", "is dropped at the start of the conversation if tools are given",
     changed(LOOP, LOOP + "{% if m.role == 'developer' and loop.first and tools %}" + SKIP + "{% endif %}")),
    ("calls_empty", "error", "threw", "is rendered like one without if it is the last message, and rejected if another "
     "message follows: the template raises",
     when("m.tool_calls is defined and not m.tool_calls and not loop.last", RAISE)),
    ("text_with_call", "no", "lost-later", "text next to a call is dropped after an earlier call",
     changed(CONTENT, "{{ (m.content or '') if not m.tool_calls or messages | selectattr('tool_calls') | list | length"
             " < 2 }}")),
    ("reasoning_in_loop", "no", "dropped", "is not in a prompt with a generation prompt",
     changed("{% if m.reasoning_content %}", "{% if m.reasoning_content and not add_generation_prompt %}", THINKS)),
    ("users_in_a_row", "yes", "", "between them is whitespace only", LOOP + "{{ m.content }}\n\n{% endfor %}"),
]  # fmt: skip


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("name", "answer", "how", "evidence", "template"),
    CASES,
    ids=[f"{name}-{how or answer}" for name, answer, how, *_ in CASES],
)
def test_a_detail_is_what_rendering_shows(name: str, answer: str, how: str, evidence: str, template: str) -> None:
    detail = report(template).sections.details[name]
    assert (answer, how) == (detail.answer, detail.outcome)
    assert evidence in detail.evidence


LATE = changed(CONTENT, "{{ m.content or '' if not m.tool_calls }}")
"""Omits the text next to a call; what follows decides how long."""
AFTER_RESULT = changed(
    "<|end|>{% endfor %}",
    "{{ messages[loop.index0 - 1].content if m.role == 'tool' }}<|end|>{% endfor %}"
    "{{ messages[-1].content if messages[-1].tool_calls }}",
    LATE,
)


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("words", "how", "finding", "template"),
    [
        ("text next to a call appears", "", "", BASE),
        ("text next to a call appears, after the call", "", "", BASE.replace(CONTENT + CALLS, CALLS + CONTENT)),
        # Gemma 4
        ("text next to a call appears after the result", "misplaced",
         "Text next to a call appears after the result: ", AFTER_RESULT),
        # llm-jp-4.1-8b-thinking
        ("text next to a call is kept until the result follows, then dropped", "lost-later",
         "Text next to a call is kept until the result follows, then dropped.",
         changed(CONTENT, "{{ m.content or '' if not m.tool_calls or loop.last }}")),
        # gpt-oss
        ("text next to a call is kept until the next user message follows, then dropped", "lost-later",
         "Text next to a call is kept until the next user message follows, then dropped.",
         changed(CONTENT, "{{ m.content or '' if not m.tool_calls or messages[-1].role != 'user' }}")),
        # llm-jp-4-8b, and gpt-oss itself: {% if future_message.role == 'assistant' and "tool_calls" not in it %}
        ("text next to a call is kept until a response without a call follows, then dropped", "lost-later",
         "Text next to a call is kept until a response without a call follows, then dropped.",
         changed(CONTENT, "{{ m.content or '' if not (m.tool_calls and " + ANSWERED + ") }}")),
        ("text next to a call is dropped", "dropped", "Text next to a call is dropped; the prompt has only: ", LATE),
    ],
)  # fmt: skip
def test_text_next_to_a_call_is_followed_into_later_turns(words: str, how: str, finding: str, template: str) -> None:
    inspected = report(template)
    detail = inspected.sections.details["text_with_call"]
    assert (detail.words, detail.outcome, detail.answer) == (words, how, "no" if how else "yes")
    messages = [one.message for one in inspected.findings if label(one) == "TF030"]
    assert [message.startswith(finding) for message in messages] == ([True] if finding else [])
    assert inspected.profile.text_with_call == (how != "dropped")


ON_LAST = "{% if loop.last and m.role == 'user' %}SAID{% endif %}"


@pytest.mark.sample(0)
def test_a_system_message_that_is_gone_with_the_first_result() -> None:  # Mistral 7B v0.3 and Nemo
    system_text = ON_LAST.replace("SAID", "{{ messages[0].content if messages[0].role == 'system' }}")
    template = changed(LOOP, LOOP + system_text).replace(
        "<|{{ m.role }}|>" + CONTENT, "<|{{ m.role }}|>{{ m.content or '' if m.role != 'system' }}"
    )
    inspected = report(template)
    answer = inspected.capabilities["system"]
    assert (answer.answer, answer.outcome) == ("no", "lost-later")
    assert inspected.profile.takes_system
    codes = [label(one) for one in inspected.findings]
    assert "system-message-lost-after-result" in codes
    assert "system-message-lost" not in codes
    kept = changed("loop.last and m.role", "m.role", template)
    assert report(kept).capabilities["system"].answer == "yes"
    assert "system-message-lost-after-result" not in [label(one) for one in report(kept).findings]


def test_tools_that_are_gone_with_the_first_result() -> None:  # deepseek-v3 of xinference
    template = changed(LOOP, LOOP + ON_LAST.replace("SAID", TOOLS), BASE.removeprefix(TOOLS))
    assert "tools-lost-after-result" in [label(one) for one in report(template).findings]
    kept = changed("loop.last and m.role == 'user'", "loop.first", template)
    assert "tools-lost-after-result" not in [label(one) for one in report(kept).findings]


@pytest.mark.sample(0)
def test_an_empty_list_of_tools_is_reported_with_what_is_written_and_where() -> (
    None
):  # 27 of 33 lines pointed at a loop over it
    lines = [
        "{% if tools is not none %}",
        "{{ 'You have tools:' }}",
        "{% for t in tools %}",
        "{{ t | tojson }}",
        "{% endfor %}{% endif %}",
    ]
    introduced = "\n".join(lines) + BASE.removeprefix(TOOLS)
    finding = next(one for one in report(introduced).findings if label(one) == "TF010")
    assert finding.line == 1  # the condition, which is what has to be changed
    assert finding.message == "With an empty list of tools the template adds: 'You have tools:'."
    spared = "{{ 'No tools.' if tools is none }}" + BASE
    finding = next(one for one in report(spared).findings if label(one) == "TF010")
    assert (
        finding.message == "With an empty list of tools the template omits what it renders without tools: 'No tools.'."
    )
    failing = "{{ (tools | first).function.name if tools is not none }}" + BASE
    finding = next(one for one in report(failing).findings if label(one) == "TF010")
    assert finding.message.startswith("An empty list of tools makes the template fail: ")
    assert finding.line == 1


FORGETS = changed(CALLS, "{% if m.tool_calls and not ns.begun %}<calls>{% set ns.begun = true %}{% endif %}" + CALLS)
FORGETS = "{% set ns = namespace(begun=false, told=false) %}" + FORGETS


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("template", "messages"),
    [
        (FORGETS, ["The call of a second turn is rendered differently: the text before its argument is '"]),
        (changed(CALLS, CALLS + "{% if m.role != 'assistant' %}{% set ns.begun = false %}{% endif %}", FORGETS), []),
        (changed(ROLE, ROLE + "{% if m.role == 'tool' and not ns.told %}<results>{% set ns.told = true %}{% endif %}",
                 changed("not ns.begun", "true", FORGETS)),
         ["The result of a second turn is rendered differently: the text before it is '"]),
        (BASE, []),
        # Numbers that count calls, ids, and the end of a reasoning block are not a difference.
        (changed(CALL, "{{ loop.index0 + messages | length }}{{ c.id }}" + CALL), []),
        (changed(CALLS, "{{ '</think>' if m.tool_calls and messages[loop.index0 - 1].role == 'user' }}" + CALLS), []),
    ],
)  # fmt: skip
def test_a_second_turn_with_calls_is_compared_with_the_first(template: str, messages: list[str]) -> None:
    # DeepSeek R1 and its distillations: `<|tool_calls_begin|>` comes only before the first call of a conversation
    findings = [one for one in report(template).findings if label(one) == "TF076"]
    assert [finding.message[: len(begin)] for finding, begin in zip(findings, messages, strict=True)] == messages
    assert all(finding.line == 1 for finding in findings)


def test_every_detail_is_reported_in_order_and_has_a_case() -> None:
    assert list(DETAILS) == list(report(BASE).sections.details)
    assert set(DETAILS) == {name for name, *_ in CASES}


def test_an_error_points_to_its_line() -> None:
    detail = report("\n\n" + when("m.role == 'developer'", RAISE)).sections.details["developer"]
    assert detail.line == 3


def test_a_dropped_developer_message_points_to_the_condition_that_drops_it() -> None:
    # lekoOwO's Qwen 3.5: with tools only the first branch writes the first message, and only for the role system
    template = (
        "{% if tools %}\n{{ tools | tojson }}\n{% if messages[0].role == 'system' %}\n{{ messages[0].content }}"
        "{% endif %}\n{% elif messages[0].role in ['system', 'developer'] %}\n{{ messages[0].content }}{% endif %}"
        + when("m.role in ['system', 'developer']", SKIP).removeprefix(TOOLS)
    )
    inspected = report(template)
    assert inspected.sections.details["developer"].line == 3
    (note,) = [one for one in inspected.notes if label(one) == "developer-role-dropped"]
    assert note.message == "A message of the role developer is dropped if tools are given."


def test_a_developer_message_that_is_dropped_everywhere_is_not_dropped_at_the_start_only() -> None:
    detail = report(when("m.role == 'developer'", SKIP)).sections.details["developer"]
    assert detail.words == "a message of the role developer is dropped"


def test_a_dropped_part_points_to_where_the_other_one_is_taken() -> None:
    # Devstral of Unsloth: what is printed on the last line was read before
    one = "\n{% set text = m.content if m.content is string else m.content[0].text %}\n{{ text }}\n"
    details = report(changed("{{ m.content }}", one, BASE.replace(CONTENT, "{{ m.content }}"))).sections.details
    assert (details["content_parts"].outcome, details["content_parts"].line) == ("dropped", 2)


def test_text_that_several_calls_drop_points_to_the_condition() -> None:
    few = "\n{% if not (m.tool_calls and m.tool_calls | length > 1) %}\n" + CONTENT + "{% endif %}\n"
    assert report(changed(CONTENT, few)).sections.details["text_with_call"].line == 2


def test_an_argument_is_written_where_a_macro_formats_it_and_a_call_where_it_starts() -> None:
    value = "{% macro value(v) %}\n{{- v | tojson }}{% endmacro %}\n"
    calls = '{% for c in m.tool_calls or [] %}<tool_call>\n{"name": "{{ c.function.name }}", "arguments": '
    calls += "{{ value(c.function.arguments) }}}\n</tool_call>{% endfor %}{{ value('') if false }}"
    capabilities = report(value + changed(CALLS, calls)).capabilities
    assert (capabilities["tool_calls"].line, capabilities["arguments_object"].line) == (4, 2)


@pytest.mark.parametrize("calls", [1, 2])
def test_a_word_that_two_macros_pass_on_counts_where_the_first_is_called(calls: int) -> None:
    # aldehir's Gemma 4: a macro cleans the text with another one, which nothing else calls
    macros = (
        "{% macro inner(text) %}\n{% set parts = text.split('@') %}\n{{- parts[0] }}{% endmacro %}"
        "{% macro clean(text) %}\n{{- inner(text) }}{% endmacro %}\n"
    )
    source = macros + "{% for m in messages %}\n\n" + "{{ clean(m.content) }}" * calls + "{% endfor %}"
    pieces = ChatTemplate(source).pieces([{"role": "user", "content": "word"}])
    assert [line for text, line in pieces if text == "word"] == ([3] if calls == 1 else [7, 7])


LINES = """{% set kinds = 'tool_calls' %}{% set first = 'tool' %}{% set second = 'system' %}
{% for m in messages %}
{% if m.role == 'system' and loop.first %}
{{ m.content }}
{% elif m.role in ('system', 'user') %}
{{ m.content }}
{% elif m.role not in ('user', 'assistant') %}
{{ m.content }} of {{ m.tool_call_id }}
{% else %}
{{ m.content }}
{% for c in m.tool_calls or [] %}
<tool_call>{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}</tool_call>
{% endfor %}
{% endif %}
{% endfor %}"""


def test_lines_are_those_that_write_the_text_and_not_the_first_that_name_a_word() -> None:
    inspected = report(LINES)
    assert inspected.capabilities["system"].line == 4
    assert inspected.capabilities["tool_results"].line == 8
    assert inspected.capabilities["tool_call_ids"].line == 8
    lines = {
        name: inspected.sections.details[name].line for name in ("system_later", "results_several", "text_with_call")
    }
    assert lines == {"system_later": 6, "results_several": 8, "text_with_call": 10}


def test_a_result_that_reads_like_a_response_and_a_lost_call_are_reported_as_such() -> None:
    inspected = report("{% for m in messages %}{{ 'Q: ' if m.role == 'user' else 'A: ' }}{{ m.content }}{% endfor %}")
    assert "rendered as a response of the model" in inspected.capabilities["tool_results"].evidence
    assert (
        inspected.capabilities["content_empty"].evidence
        == "a turn with a call and empty content is rendered, without the call"
    )
    assert "as an answer" not in report(BASE).capabilities["tool_results"].evidence


def test_a_header_that_never_comes_is_a_finding_and_answers_without_one_are_none() -> None:
    codes = {label(finding) for finding in report("{% for m in messages %}{{ m.content }}\n{% endfor %}").notes}
    assert "generation-prompt-ignored" not in codes
    assert "generation-prompt-ignored" in {label(finding) for finding in report(changed(GENERATION, "")).findings}


@pytest.mark.parametrize(
    ("template", "name", "how"),
    [(THINKS, "", ""), (THOUGHT, "thought", " under the name thought"),
     (PLANS, "tool_plan", " under the name tool_plan beside a call"),
     (THOUGHT.replace("thought", "reasoning"), "reasoning", " under the name reasoning"),
     (THOUGHT.replace("thought", "thinking"), "", "")],
)  # fmt: skip
def test_reasoning_is_looked_for_under_each_name_that_the_template_reads(template: str, name: str, how: str) -> None:
    # upstage-Solar-Open-100B (reasoning), openbmb-MiniCPM3-4B (thought), Command A (tool_plan)
    inspected = report(template)
    assert inspected.capabilities["reasoning"].words == f"reasoning appears{how}"
    assert inspected.profile.reasoning_name == name
    findings = [finding.message for finding in inspected.findings if label(finding) == "TF075"]
    expected = f"Reasoning is rendered only from the key {name}; reasoning_content is dropped."
    assert findings == ([expected] if name else [])
    assert any(piece.kind == "reasoning" for piece in inspected.sections.sample)


def test_reasoning_dropped_by_the_next_response_is_not_reported_as_dropped_by_a_user_message() -> None:  # llm-jp-4-8b
    inspected = report(changed("if m.tool_plan", "if m.tool_plan and not (" + ANSWERED + ")", PLANS))
    (finding,) = [one for one in inspected.notes if label(one) == "TF033"]
    assert finding.message == "Reasoning is dropped from turns before the last response without a call."


def test_a_variable_that_keeps_the_reasoning_is_named() -> None:
    kept = changed("{% if m.reasoning_content %}", "{% if m.reasoning_content and (keep_all or loop.last) %}", THINKS)
    finding = next(finding for finding in report(kept).notes if label(finding) == "TF033")
    fix = "Check in the model card whether the model expects its earlier reasoning; keep_all=true keeps it."
    assert finding.fix == fix


@pytest.mark.parametrize(
    "response",
    [
        "{%- generation -%}" + CONTENT + "{%- endgeneration -%}",  # the stop token is outside
        "{% generation %}{% endgeneration %}" + CONTENT,  # the response itself is outside
    ],
)
def test_a_stop_token_that_is_not_marked_for_training_is_a_note(response: str) -> None:
    marked = [one for one in report(changed(CONTENT, response)).notes if one.outcome == "stop-token-not-trained"]
    assert [(one.code, one.severity) for one in marked] == [("TF069", "note")]


def test_a_template_that_does_not_compile_is_not_probed() -> None:
    assert report("{% for").sections.details == {}


# --- the beginning of the response


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("generation", "expected"),
    [
        ("<|assistant|>", ""),
        ("<|assistant|>\n", ""),
        ("<|assistant|><think>\n", "<think>\n"),
        ("<|assistant|>>>>", ">>>"),
        ("<|im_start|>assistant\nSure: ", "Sure: "),
        ("<assistant></think>", "</think>"),
        ("<assistant>", ""),
        ("<|assistant|><|end|>", ""),
    ],
)
def test_the_prefill_is_what_follows_the_header(generation: str, expected: str) -> None:
    template = changed(GENERATION, "{{ '" + generation.replace("\n", "\\n") + "' if add_generation_prompt }}")
    assert expected == report(template).profile.prefill


# --- what the renderer receives


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("template", "expected"),
    [
        (BASE, {"ids": "", "results": "string", "results_in_order": True, "results_named": False, "parts": False}),
        (changed(CONTENT, PARTS), {"parts": True, "result_parts": True, "result_documents": False}),
        (changed(ROLE, "<|{{ m.role }} {{ m.tool_call_id }} {{ m.name }}|>"),
         {"results_in_order": False, "results_named": True}),
        (changed(NAME, FROM_ID), {"ids": "function"}),
        (when("m.tool_calls and m.tool_calls[0].id | length > 9", RAISE), {"ids": "nine"}),
        (changed(CONTENT, BARE), {"text_with_call": False}),
        (when("m.role == 'tool' and m.content is string", "<|tool|>{{ m.content | list }}<|end|>" + SKIP,
              changed(CONTENT, PARTS)), {"results": "parts"}),
    ],
)  # fmt: skip
def test_the_renderer_gets_what_the_details_show(template: str, expected: dict[str, Any]) -> None:
    profile = report(template).profile
    assert expected == {name: getattr(profile, name) for name in expected}


# --- real templates: compared with the lists of QUIRKS.md


@cache
def quirks() -> dict[str, list[str]]:
    """The templates under each heading of the list that was made by rendering, if they are present."""
    path = SHARED / "more" / "QUIRKS.md"
    sections = re.findall(r"^### ([^\n]*) \(\d+\)\s*\n(.*?)(?=^#|\Z)", path.read_text("utf-8"), re.M | re.S)
    there = {path.stem for path in (SHARED / "more").glob("*.jinja")}
    return {
        heading: [name for name in re.findall(r"`([\w.\-]+)`", text) if name in there] for heading, text in sections
    }


@pytest.mark.sample(1)
@pytest.mark.outside
@pytest.mark.parametrize(
    ("heading", "code", "least"),
    [
        ("Raises on a later system message", "later-system-message-lost", 8),
        ("Raises on two user messages in a row", "TF034", 8),
        ("Drops the call when the message also has text", "TF030", 1),
        ("Drops the text when the message has calls", "TF030", 29),
        ("Tool-call ids must be 9 alphanumeric characters", "TF029", 4),
        ("Function name is not printed (taken from the id)", "TF029", 3),
        ("Calls or responses in history fail when `tools` is not passed again", "history-needs-tools", 6),
    ],
)
def test_a_quirk_of_real_templates_is_a_finding(heading: str, code: str, least: int) -> None:
    names = quirks()[heading]
    found = 0
    for name in names:
        inspected = report((SHARED / "more" / f"{name}.jinja").read_text("utf-8"))
        codes = {label(finding) for finding in inspected.findings}
        # A template that raises for a question without tools raises for a history without tools too, and is reported
        # once.
        found += code in codes or (code == "history-needs-tools" and "TF003" in codes)
    assert found >= least


def test_values_printed_by_python_are_a_finding_unless_the_format_is_python() -> None:
    codes = {name: {label(finding) for finding in report(text).notes} for name, text in {
        "tags": changed(CALL, VALUES), "json": BASE, "lfm2": PYTHON_CALLS,
    }.items()}  # fmt: skip
    assert {name for name, labels in codes.items() if "python-repr-in-calls" in labels} == {"tags"}
    assert report(PYTHON_CALLS).sections.details["values_as_json"].answer == "no"


def test_text_and_reasoning_that_are_rejected_together_next_to_a_call() -> None:  # Harmony's templates
    both = when("m.content and m.reasoning_content and m.tool_calls", "{{ raise_exception('one of them') }}", THINKS)
    answer = inspect_template(both).sections.details["text_with_call"]
    together = "text and reasoning together next to a call are rejected: the template raises: one of them"
    assert (answer.answer, answer.evidence) == ("error", together)
    messages = [one.message for one in inspect_template(both).findings if label(one) == "TF030"]
    assert messages == [f"T{together[1:]}."]
    assert inspect_template(THINKS).sections.details["text_with_call"].answer == "yes"


def test_text_that_is_lost_later_and_rejected_with_reasoning_is_reported_as_both() -> None:
    raising = when("m.content and m.reasoning_content and m.tool_calls", "{{ raise_exception('one of them') }}", THINKS)
    lost = "{% if m.tool_calls and not loop.last %}{% else %}" + CONTENT + "{% endif %}"
    answer = inspect_template(raising.replace(CONTENT, lost)).sections.details["text_with_call"]
    kept = "text next to a call is kept until the result follows, then dropped"
    assert answer.words == f"{kept}; line 1 rejects a turn with text, reasoning and a call"
    assert answer.outcome == "lost-later"


DECIDING = (
    """{%- macro shown(content) %}
{%- if content is string %}{{ content }}{% endif %}
{%- endmacro %}
{%- set ns = namespace(last=0) %}
{%- for m in messages %}{% if m.role == 'user' %}{% set ns.last = loop.index0 %}{% endif %}{% endfor %}
{%- for m in messages %}
{%- if m.role == 'tool' %}
{%- if m.tool_call_id %}
<|tool|>{{ m.tool_call_id }}:{{ shown(m.content) }}<|end|>
{%- else %}
<|tool|>{{ shown(m.content) }}<|end|>
{%- endif %}
{%- else %}
<|{{ m.role }}|>
{%- if m.reasoning_content and """
    + "loop.index0 > ns.last"
    + """ %}
<think>{{ m.reasoning_content }}</think>
{%- endif %}
{{ m.content or '' }}"""
    + CALLS
    + """<|end|>
{%- endif %}
{%- endfor %}
{%- set ending = '<|bye|>' %}
{%- if add_generation_prompt is defined and not add_generation_prompt %}
{{- ending }}
{%- endif %}"""
)


def test_the_line_of_what_is_missing_is_that_of_the_condition_that_decides() -> None:
    inspected = report(DECIDING)
    found = {
        name: (inspected.sections.details[name].outcome, inspected.sections.details[name].line)
        for name in ("results_as_documents", "reasoning_earlier", "results_unnumbered", "generation_prompt")
    }
    assert found == {
        "results_as_documents": ("dropped", 2),
        "reasoning_earlier": ("dropped", 15),
        "results_unnumbered": ("", 11),
        "generation_prompt": ("", 22),
    }
    assert [note.line for note in inspected.notes if note.code == "TF033"] == [15]


def test_a_render_with_a_forced_condition_is_not_recorded() -> None:
    template = ChatTemplate("{% if messages[0].content | trim == 'a' ~ 'b' %}Shout all the time.{% endif %}")
    coverage = template.watch
    template.record_own_texts(re.compile(".+"))
    (condition,) = coverage.conditions

    def render() -> str:
        return template.render([{"role": "user", "content": "c"}])

    assert render_with_outcome(template, condition, True, render) == "Shout all the time."
    assert coverage.came_out(condition) == frozenset()
    assert coverage.compared == {}
    assert dict(template.own_texts.unprinted) == {"Shout all the time.": 1}
    assert render() == ""
    assert coverage.came_out(condition) == frozenset({False})


def test_results_of_two_tools_that_are_written_under_one_name_are_reported() -> None:
    by_id = (
        "{% set ns = namespace(name='') %}{% for c in messages | selectattr('tool_calls', 'defined')"
        " | map(attribute='tool_calls') | sum(start=[]) %}{% if c.id == m.tool_call_id %}"
        "{% set ns.name = c.function.name %}{% endif %}{% endfor %}"
    )
    template = when("m.role == 'tool'", by_id + "<|tool|>{{ ns.name }}:{{ m.content }}<|end|>{% continue %}")
    inspected = report(template)
    answer = inspected.sections.details["results_unmatched"]
    assert (answer.answer, answer.outcome) == ("no", "name-lost")
    assert "the results of two tools are both rendered under the name of the last tool called" in answer.evidence
    assert [one.severity for one in inspected.findings if one.outcome == "unmatched-result-lost"] == ["warning"]


@pytest.mark.parametrize("ends", [True, False])
def test_an_answer_outside_a_turn_is_reported(ends: bool) -> None:
    joined_turns = (
        "{% if m.tool_calls and loop.nextitem is defined and loop.nextitem.role == 'tool' %}<|assistant|>"
        + CALLS
        + "<|tool|>{{ loop.nextitem.content }}{{ m.content }}"
        + ("<|end|>" if ends else "")
        + "{% continue %}{% endif %}{% if m.role == 'tool' %}{% continue %}{% endif %}"
        "{% if m.role == 'assistant' and loop.previtem is defined and loop.previtem.role == 'tool' %}"
        "{{ m.content }}<|end|>{% continue %}{% endif %}"
    )
    inspected = report(changed(LOOP, LOOP + joined_turns))
    (found,) = [one for one in inspected.findings if one.code == "TF030"]
    assert found.message.startswith("Text next to a call appears after the result: ")
    outside = "and the response that follows is not inside a turn: 'Bt9beside<|end|>Aq3reply'."
    assert (found.message.endswith(outside), "not inside" in found.message) == (ends, ends)


def test_results_of_two_tools_under_one_name_although_they_have_names_are_reported() -> None:
    last = "{% set ns.name = c.function.name %}"
    template = changed(CALLS, CALLS.replace(CALL, CALL + last)).replace(
        LOOP, "{% set ns = namespace(name='') %}" + LOOP
    )
    inspected = report(when("m.role == 'tool'", "<|tool|>{{ ns.name }}:{{ m.content }}<|end|>{% continue %}", template))
    answer = inspected.sections.details["results_several"]
    assert (answer.answer, answer.outcome) == ("no", "name-lost")
    assert answer.evidence.startswith(
        "the results of two tools are both rendered under the name of the last tool called: "
    )
    assert [one.severity for one in inspected.findings if one.outcome == "several-results-lost"] == ["warning"]


def test_calls_keep_their_names_if_the_tools_go_after_a_result() -> None:
    inspected = report(changed("{% if tools %}", "{% if tools and messages[-1].role != 'tool' %}"))
    assert {inspected.sections.details[name].answer for name in ("ids_ordinary", "ids_nine", "ids_none")} == {"yes"}
    assert "TF029" not in {one.code for one in (*inspected.findings, *inspected.notes)}


def test_content_that_only_some_roles_may_give_as_parts_names_the_role() -> None:
    joined = "{{ m.content + '' if m.role == 'user' else m.content }}"
    inspected = report(changed(CONTENT, joined.replace("else m.content", "else m.content or ''")))
    (note,) = [one for one in inspected.notes if one.outcome == "content-parts-lost"]
    assert note.message.startswith("A list of parts as content is rejected in user messages")


def test_a_name_at_the_first_of_several_results_only_is_not_that_of_both() -> None:
    first = (
        "<|tool|>{% if loop.previtem.role != 'tool' %}{{ loop.previtem.tool_calls[0].function.name }}:{% endif %}"
        "{{ m.content }}<|end|>{% continue %}"
    )
    inspected = report(when("m.role == 'tool' and loop.previtem is defined", first))
    assert inspected.sections.details["results_several"].answer == "yes"


def test_calls_that_the_template_sorts_are_reported() -> None:
    sort = "m.tool_calls | sort(attribute='function.name')"
    inspected = report(changed("m.tool_calls or []", f"({sort} if m.tool_calls else [])"))
    answer = inspected.capabilities["parallel_tool_calls"]
    assert (answer.answer, answer.words) == ("no", "two calls in one turn appear in the wrong order")
    assert "TF019" in {one.code for one in inspected.findings}


def test_a_call_that_is_missing_is_not_called_sorted() -> None:
    same = "m.tool_calls | selectattr('function.name', 'equalto', m.tool_calls[0].function.name)"
    inspected = report(changed("m.tool_calls or []", f"({same} if m.tool_calls else [])"))
    assert inspected.capabilities["parallel_tool_calls"].answer == "yes"


def test_the_line_is_that_of_the_condition_or_of_the_text_that_decides() -> None:
    lines = {  # for each row the template, one statement a line, and the line that has to be changed
        "text_with_call": (changed(CONTENT, "\n{% if not m.tool_calls %}\n" + CONTENT + "{% endif %}"), 2),
        "results_as_documents": (
            changed(
                CONTENT,
                "{% if m.content is string %}{{ m.content }}{% else %}\n{% for part in m.content or [] %}\n"
                "{% if part.type == 'text' %}\n{{ part.text + '' }}{% endif %}{% endfor %}{% endif %}",
            ),
            3,
        ),
        "values_as_json": (
            changed(
                CALLS,
                "{% for c in m.tool_calls or [] %}<tool_call><function={{ c.function.name }}>"
                "{% for k, v in c.function.arguments.items() %}<parameter={{ k }}>\n"
                "{% set v = v | string %}\n{{ v }}\n</parameter>{% endfor %}</function></tool_call>{% endfor %}",
            ),
            2,
        ),
        "values_as_json ": (  # the last `set` is in a branch that is not taken
            changed(
                CALLS,
                "{% for c in m.tool_calls or [] %}<tool_call><function={{ c.function.name }}>"
                "{% for k, v in c.function.arguments.items() %}<parameter={{ k }}>\n{% set v = v | string %}\n"
                "{% if m.role != 'assistant' %}{% set v = v | string %}{% endif %}\n{{ v }}\n</parameter>{% endfor %}"
                "</function></tool_call>{% endfor %}",
            ),
            4,
        ),
        "ids_ordinary": (changed('"arguments": ', '"arguments": \n'), 1),
    }
    for name, (template, line) in lines.items():
        assert report(template).sections.details[name.strip()].line == line, name


@pytest.mark.sample(0)
def test_results_without_ids_that_are_mixed_up_are_one_finding() -> None:
    findings = [one for one in report(NAMED_BY_ID).findings if one.outcome == "unmatched-result-lost"]
    assert [one.fix for one in findings] == ["Give every call an id, and every result the id of its call."]

    dropped = when("m.role == 'tool' and not m.name and not m.tool_call_id", SKIP, NAMED_BY_ID)
    findings = [one for one in report(dropped).findings if one.outcome == "unmatched-result-lost"]
    assert [one.fix for one in findings] == [
        "Give every call an id, and every result the id of its call.",
        "Give every result the id of its call and the name of its tool.",
    ]


def test_an_orphan_with_the_id_of_an_earlier_call_is_no_orphan() -> None:
    ids = "{% for a in messages %}{% for c in a.tool_calls or [] %}{{ c.id }} {% endfor %}{% endfor %}"
    ids = "{% set ids %}" + ids + "{% endset %}"
    unknown = "{% if m.role == 'tool' and (not m.tool_call_id or m.tool_call_id not in ids) %}{% continue %}{% endif %}"
    detail = report(changed(LOOP, ids + LOOP + unknown)).sections.details["results_alone"]
    assert detail.evidence == "a result without its call is dropped"


def test_the_same_generation_prompt_after_a_result_is_not_repeated() -> None:
    assert report(BASE).sections.details["generation_prompt"].words == "after a question it adds {}"
