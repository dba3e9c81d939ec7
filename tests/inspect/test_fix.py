"""`toolfmt inspect --fix`: what is fixed, the exact change, what remains, and that the original is unchanged."""

from __future__ import annotations

import hashlib
import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import depth
import gguf
import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st
from model_cases import MODELS

from toolfmt.cli.commands import main
from toolfmt.errors import ToolfmtError
from toolfmt.inspect.checks import ALL_OUTCOMES, CHECKS, code, keys_of
from toolfmt.inspect.checks.editing.prelude import Clause, with_prelude
from toolfmt.inspect.checks.editing.source import Edit, as_newlines, edited, with_line_ends_of, words
from toolfmt.inspect.checks.editing.template_fix import TemplateFix, Variant
from toolfmt.inspect.fix import settings
from toolfmt.inspect.fix.conversations import VARIANTS, conversations, written_as
from toolfmt.inspect.fix.fix_model import FixedModel, fixed_by
from toolfmt.inspect.fix.fix_template import FixedTemplate, apply_fixes
from toolfmt.inspect.fix.json_text import members, strings, with_member, with_string, without_member
from toolfmt.inspect.fix.known_fixes import everything
from toolfmt.inspect.fix.reinspection import what_is_worse
from toolfmt.inspect.fix.small_files import CannotCopy, write
from toolfmt.inspect.fix.verification import NOT_SHOWN, judged
from toolfmt.inspect.inspection import inspect_files
from toolfmt.inspect.report.report import Finding, FindingKey, Portability, Report
from toolfmt.inspect.report.turn_shape import TurnShape
from toolfmt.model.batch import Inspector
from toolfmt.model.fix import fixed_copy
from toolfmt.templates import ModelFiles, load_files, template_alone

ALL = frozenset(ALL_OUTCOMES)
posix = pytest.mark.skipif(sys.platform == "win32", reason="the disk is full by a limit on the size of a file")

TOOLS = "{%- if tools %}\n    {{- '<|im_start|>system\\n' + (tools | tojson) + '<|im_end|>\\n' }}\n{%- endif %}\n"
CONTENT = "{{- message.content or '' }}"
CALLS = """{%- for call in message.tool_calls or [] %}
        {{- '<tool_call>\\n{"name": "' + call.function.name + '", "arguments": ' }}
        ARGUMENTS
        {{- '}\\n</tool_call>' }}
    {%- endfor %}"""
ARGUMENTS = "{{- call.function.arguments if call.function.arguments is string else call.function.arguments | tojson }}"
BODY = """{%- for message in messages %}
    {{- '<|im_start|>' + message.role + '\\n' }}
    CONTENT
    CALLS
    {{- '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}
"""


def template(*, tools: str = TOOLS, content: str = CONTENT, calls: str = CALLS, arguments: str = ARGUMENTS) -> str:
    """A ChatML template that supports everything except what is passed."""
    return tools + BODY.replace("CONTENT", content).replace("CALLS", calls.replace("ARGUMENTS", arguments))


def keys(*codes: str) -> frozenset[FindingKey]:
    """The keys of the findings with these codes."""
    return frozenset[FindingKey]().union(*map(keys_of, codes))


def clause_of(finding_code: str) -> Clause:
    """The clause that the fix of this finding writes before the template."""
    fix: TemplateFix = next(check for check in CHECKS if code(check) == finding_code).FIX
    assert fix.clause is not None
    return fix.clause


def codes_in(keys: Iterable[FindingKey]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(code for code, _ in keys))


def fix_template(text: str, *codes: str) -> FixedTemplate:
    """What becomes of a template's text; everything runs in this process."""
    files = template_alone(text, Path("t.jinja"))
    done = apply_fixes(files, inspect_files(files), keys(*codes) or ALL, inspect_files, judged)
    assert done is not None
    return done


def changed_lines(before: str, after: str) -> list[tuple[str, str]]:
    """The lines that differ, in texts with the same number of lines."""
    pairs = list(zip(before.split("\n"), after.split("\n"), strict=True))
    return [(one.strip(), other.strip()) for one, other in pairs if one != other]


# --- one finding each: the template, the code, the lines before and after

CASES: dict[str, tuple[str, str, list[tuple[str, str]]]] = {
    "arguments with tojson": (
        "TF014",
        template(arguments="{{- call.function.arguments | tojson }}"),
        [("{{- call.function.arguments | tojson }}", ARGUMENTS)],
    ),
    "arguments with tojson and its options, between texts": (
        "TF014",
        template(arguments="{{- '' + call['function']['arguments'] | tojson(ensure_ascii=False) + '' }}"),
        [
            (
                "{{- '' + call['function']['arguments'] | tojson(ensure_ascii=False) + '' }}",
                "{{- '' + (call['function']['arguments'] if call['function']['arguments'] is string else "
                "call['function']['arguments'] | tojson(ensure_ascii=False)) + '' }}",
            )
        ],
    ),
    "arguments in two places, one for content null": (
        "TF014",
        template(
            content="{%- if message.content is none %}{{- '' }}{%- endif %}{{- message.content or '' }}",
            arguments="{%- if message.content is none %}\n{{- call.function.arguments | tojson }}\n"
            "{%- else %}\n{{- call.function.arguments | tojson }}\n{%- endif %}",
        ),
        [("{{- call.function.arguments | tojson }}", ARGUMENTS)] * 2,
    ),
    "arguments by another name": (
        "TF014",
        template(arguments="{%- set given = call.function.arguments %}{{- given | tojson }}"),
        [
            (
                "{%- set given = call.function.arguments %}{{- given | tojson }}",
                "{%- set given = call.function.arguments %}{{- given if given is string else given | tojson }}",
            )
        ],
    ),
    "a whole call with tojson": (
        "TF014",
        template(
            calls="{% for call in message.tool_calls or [] %}"
            "{{ '<tool_call>\\n' ~ (call.function | tojson) ~ '\\n</tool_call>' }}{% endfor %}"
        ),
        [
            (
                "{% for call in message.tool_calls or [] %}"
                "{{ '<tool_call>\\n' ~ (call.function | tojson) ~ '\\n</tool_call>' }}{% endfor %}",
                "{% for call in message.tool_calls or [] %}"
                "{{ '<tool_call>\\n' ~ ('{\"name\": ' ~ (call.function.name | tojson) ~ ', \"arguments\": ' ~ "
                "call.function.arguments ~ '}' if call.function.arguments is string else call.function | tojson) "
                "~ '\\n</tool_call>' }}{% endfor %}",
            )
        ],
    ),
    "an object of name and arguments": (
        "TF014",
        template(
            calls="{% for call in message.tool_calls or [] %}"
            "{{ '<tool_call>' ~ {'name': call.function.name, 'arguments': call.function.arguments} | tojson"
            " ~ '</tool_call>' }}{% endfor %}"
        ),
        [
            (
                "{% for call in message.tool_calls or [] %}"
                "{{ '<tool_call>' ~ {'name': call.function.name, 'arguments': call.function.arguments} | tojson"
                " ~ '</tool_call>' }}{% endfor %}",
                "{% for call in message.tool_calls or [] %}"
                "{{ '<tool_call>' ~ ('{\"name\": ' ~ (call.function.name | tojson) ~ ', \"arguments\": ' ~ "
                "call.function.arguments ~ '}' if call.function.arguments is string else "
                "{'name': call.function.name, 'arguments': call.function.arguments} | tojson)"
                " ~ '</tool_call>' }}{% endfor %}",
            )
        ],
    ),
    "arguments joined to a text": (
        "TF014",
        template(arguments="{{- '' + call.function.arguments + '' }}"),
        [
            (
                "{{- '' + call.function.arguments + '' }}",
                "{{- '' + (call.function.arguments if call.function.arguments is string else "
                "call.function.arguments | tojson) + '' }}",
            )
        ],
    ),
    "arguments through the filter string": (
        "TF014",
        template(arguments="{{- call.function.arguments|string }}"),
        [("{{- call.function.arguments|string }}", ARGUMENTS)],
    ),
    "content joined to a text": (
        "TF017",
        template(content="{{- message.content + '' }}"),
        [("{{- message.content + '' }}", "{{- (message.content or '') + '' }}")],
    ),
    "content asked for a text and cut": (
        "TF017",
        template(
            content="{%- if '</think>' in message.content %}{{- message['content'].split('</think>')[-1] }}"
            "{%- else %}{{- message.content | trim }}{%- endif %}"
        ),
        [
            (
                "{%- if '</think>' in message.content %}{{- message['content'].split('</think>')[-1] }}"
                "{%- else %}{{- message.content | trim }}{%- endif %}",
                "{%- if '</think>' in (message.content or '') %}{{- message['content'].split('</think>')[-1] }}"
                "{%- else %}{{- (message.content or '') | trim }}{%- endif %}",
            )
        ],
    ),
    "content printed": (
        "TF017",
        template(content="{{- message.content }}"),
        [("{{- message.content }}", "{{- message.content or '' }}")],
    ),
    "content given to a macro": (
        "TF017",
        "{%- macro shown(text) %}{{ text }}{%- endmacro %}\n" + template(content="{{- shown(message.content) }}"),
        [("{{- shown(message.content) }}", "{{- shown(message.content or '') }}")],
    ),
    "calls gone through that may be null": (
        "TF009",
        template(calls="{% if 'tool_calls' in message %}" + CALLS.replace(" or []", "") + "{% endif %}"),
        [
            (
                "{% if 'tool_calls' in message %}{%- for call in message.tool_calls %}",
                "{% if message.tool_calls %}{%- for call in message.tool_calls %}",
            )
        ],
    ),
    "calls that are defined and not none": (
        "TF009",
        template(
            calls="{% if message.tool_calls is defined and message.tool_calls is not none %}{{ '[calls]' }}{% endif %}"
            + CALLS
        ),
        [
            (
                "{% if message.tool_calls is defined and message.tool_calls is not none %}{{ '[calls]' }}{% endif %}"
                "{%- for call in message.tool_calls or [] %}",
                "{% if message.tool_calls %}{{ '[calls]' }}{% endif %}{%- for call in message.tool_calls or [] %}",
            )
        ],
    ),
    "calls that are asked for the other way round": (
        "TF009",
        template(
            content="{% if not message.tool_calls is defined %}{{- message.content or '' }}"
            "{% else %}{{ '' }}{% endif %}"
        ),
        [
            (
                "{% if not message.tool_calls is defined %}{{- message.content or '' }}{% else %}{{ '' }}{% endif %}",
                "{% if not message.tool_calls %}{{- message.content or '' }}{% else %}{{ '' }}{% endif %}",
            )
        ],
    ),
    "tools that are not none": (
        "TF010",
        template(tools=TOOLS.replace("if tools", "if tools is not none")),
        [("{%- if tools is not none %}", "{%- if tools %}")],
    ),
    "values printed": (
        "TF049",
        template(
            calls="{%- for call in message.tool_calls or [] %}"
            "{{- '<tool_call>\\n<function=' + call.function.name + '>\\n' }}\n"
            "{%- for key, value in call.function.arguments.items() %}\n{{- '<parameter=' + key + '>\\n' }}\n"
            "{{- value if value is not mapping else value | tojson }}\n"
            "{{- '\\n</parameter>\\n' }}{%- endfor %}{{- '</function>\\n</tool_call>' }}{%- endfor %}"
        ),
        [
            (
                "{{- value if value is not mapping else value | tojson }}",
                "{{- (value if value is string else value | tojson) if value is not mapping else value | tojson }}",
            )
        ],
    ),
    "the role system asked for": (
        "TF036",
        template(content="{%- if message.role != 'system' %}{{- message.content or '' }}{%- endif %}").replace(
            "    {{- '<|im_start|>' + message.role + '\\n' }}",
            "    {%- if message.role == 'system' %}{{- '<|im_start|>system\\n' + message.content }}"
            "{%- elif message.role in ['user', 'assistant', 'tool'] %}{{- '<|im_start|>' + message.role + '\\n' }}"
            "{%- else %}{{- raise_exception('no such role') }}{%- endif %}",
        ),
        [
            (
                "{%- if message.role == 'system' %}{{- '<|im_start|>system\\n' + message.content }}"
                "{%- elif message.role in ['user', 'assistant', 'tool'] %}{{- '<|im_start|>' + message.role + '\\n' }}"
                "{%- else %}{{- raise_exception('no such role') }}{%- endif %}",
                "{%- if message.role in ['system', 'developer'] %}{{- '<|im_start|>system\\n' + message.content }}"
                "{%- elif message.role in ['user', 'assistant', 'tool'] %}{{- '<|im_start|>' + message.role + '\\n' }}"
                "{%- else %}{{- raise_exception('no such role') }}{%- endif %}",
            ),
            (
                "{%- if message.role != 'system' %}{{- message.content or '' }}{%- endif %}",
                "{%- if message.role not in ['system', 'developer'] %}{{- message.content or '' }}{%- endif %}",
            ),
        ],
    ),
}


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", CASES)
def test_a_finding_is_fixed_by_the_smallest_change(name: str) -> None:
    finding_code, before, lines = CASES[name]
    done = fix_template(before, finding_code)
    assert [(finding_code,)] == [codes_in(step.keys) for step in done.steps]
    assert lines == changed_lines(before, done.text)
    assert finding_code not in {finding.code for finding in everything(done.report)}


RAISES_ON_NULL = "{%- if message.content is none %}{{- raise_exception('no text') }}{%- endif %}{{- message.content }}"


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("finding_code", "before", "clauses"),
    [
        ("TF017", template(content=RAISES_ON_NULL), [clause_of("TF017")]),
        (
            "TF036",
            template(content="{{- message.content or '' }}").replace(
                "    {{- '<|im_start|>' + message.role",
                "    {%- if message.role == 'developer' %}{{ raise_exception('no') }}{% endif %}\n"
                "    {{- '<|im_start|>' + message.role",
            ),
            [clause_of("TF036")],
        ),
        ("TF037", template(content="{{- message.content | trim }}"), [clause_of("TF037")]),
        (
            "TF010",
            template(
                tools="{%- set n = tools | length if tools is iterable else -1 %}"
                + TOOLS.replace("tools %}", "n >= 0 %}")
            ),
            [clause_of("TF010")],
        ),
    ],
)
def test_if_no_line_can_be_fixed_messages_are_changed_before_the_template(
    finding_code: str, before: str, clauses: list[Clause]
) -> None:
    done = fix_template(before, finding_code)
    assert [(finding_code,)] == [codes_in(step.keys) for step in done.steps]
    assert with_prelude(clauses, before) == done.text


@pytest.mark.sample(0)
def test_steps_go_on_from_each_other_and_clauses_share_one_loop() -> None:
    before = template(content=RAISES_ON_NULL, arguments="{{- call.function.arguments | tojson }}")
    done = fix_template(before, "TF014", "TF017", "TF037")
    assert [codes_in(step.keys) for step in done.steps] == [("TF014",), ("TF017",), ("TF037",)]
    assert [before, *(step.after for step in done.steps[:-1])] == [step.before for step in done.steps]
    assert done.text == done.steps[-1].after
    assert done.text.count("namespace(") == 1
    assert {"TF014", "TF017", "TF037"}.isdisjoint(one.code for one in everything(done.report))


def test_a_step_has_the_outcomes_that_it_fixed() -> None:
    """Both are outcomes of one finding, and the edit is tried for both."""
    left = replace(finding("TF014"), outcome="string-rejected")

    def inspected(files: ModelFiles) -> Report:
        report = inspect_files(files)
        return replace(report, findings=(*report.findings, left))

    files = template_alone(DOUBLE, Path("t.jinja"))
    done = apply_fixes(files, inspected(files), keys("TF014"), inspected, judged)
    assert done is not None
    assert [step.keys for step in done.steps] == [(("TF014", "double-encoded"),)]


def test_only_the_requested_findings_are_fixed() -> None:
    before = template(content=RAISES_ON_NULL, arguments="{{- call.function.arguments | tojson }}")
    assert [codes_in(step.keys) for step in fix_template(before, "TF014").steps] == [("TF014",)]


@pytest.mark.parametrize(
    ("finding_code", "before", "why"),
    [
        (
            "TF014",
            template(
                calls="{%- for call in message.tool_calls or [] %}{{- '<tool_call>' + call.function.name }}"
                "{%- for key, value in call.function.arguments.items() %}{{- '\\n<arg_key>' + key + '</arg_key>\\n"
                "<arg_value>' }}{{- value if value is string else value | tojson }}{{- '</arg_value>' }}{%- endfor %}"
                "{{- '\\n</tool_call>' }}{%- endfor %}"
            ),
            "a template cannot read JSON, and this one needs the arguments one by one",
        ),
        (
            "TF014",
            template(calls="{%- if message.tool_calls %}{{- message.tool_calls | tojson }}{%- endif %}"),
            "the template does it in no way that is known here",
        ),
        (
            "TF036",
            template(content="{{- '' if message.role in ['system', 'developer'] else message.content }}"),
            "a message of the role system is not rendered either",
        ),
    ],
)
def test_what_cannot_be_fixed_is_left_with_the_reason(finding_code: str, before: str, why: str) -> None:
    done = fix_template(before, finding_code)
    assert (before, (), dict.fromkeys(done.why_not, why)) == (done.text, done.steps, done.why_not)
    assert {finding_code} == set(codes_in(done.why_not))


@pytest.mark.sample(0)
def test_values_of_gemma_are_not_put_between_marks_of_strings() -> None:
    """`value | tojson` handed to the macro that writes strings would turn every number into one."""
    before = (
        "{%- macro written(value) %}{%- if value is string %}{{- '<|\"|>' + value + '<|\"|>' }}"
        "{%- elif value is mapping %}{{- '{' }}"
        "{%- for key, inner in value.items() %}{{- ',' if not loop.first }}{{- key + ':' }}"
        "{{- written(inner) }}{%- endfor %}{{- '}' }}{%- else %}{{- value }}{%- endif %}{%- endmacro %}\n"
        + template(
            calls="{%- for call in message.tool_calls or [] %}{{- '<|tool_call>call:' + call.function.name + '{' }}"
            "{%- for key, value in call.function.arguments.items() %}{{- ',' if not loop.first }}{{- key + ':' }}"
            "{{- written(value) }}{%- endfor %}{{- '}<tool_call|>' }}{%- endfor %}"
        )
    )
    done = fix_template(before, "TF049")
    assert "written(value if" not in done.text
    assert "written(inner if" not in done.text


# --- the guarantee


def check_fix(before: str, after: str, *variants: Variant, typed: bool = False) -> tuple[bool, str]:
    verdict = judged(before, after, {}, TurnShape(), variants, typed)
    return verdict.holds, verdict.why


NULL = template(content="{{- message.content + '' }}")
OR_EMPTY = template(content="{{- (message.content or '') + '' }}")


ONE_MESSAGE = "{{- 'x' if messages | length == 1 and messages[0].content is string }}"
A_LIST = "{{- 'x' if messages[0].content is not string and messages[0].content[0].type == 'text' }}"


def test_the_fix_check_accepts_a_fix_and_counts_what_it_fixed() -> None:
    verdict = judged(template(content="{{- message.content }}"), template(), {}, TurnShape(), ["content-null"])
    assert (verdict.holds, verdict.why) == (True, "")
    written = (written_as(one, "content-null") for one in conversations(TurnShape()))
    assert sum(one is not None for one in written) == verdict.fixed


@pytest.mark.parametrize(
    ("after", "variant", "why"),
    [
        (OR_EMPTY, "parts", "with what was tried a question alone with content as a list of parts does not come out"),
        (NULL, "content-null", "with what was tried a call with content null does not come out as it should"),
        (OR_EMPTY.replace("or ''", "or 'x'"), "content-null", "a call with content null does not come out"),
        (OR_EMPTY.replace("'<|im_end|>", "'<|im_end |>"), "content-null", "a call with content null does not come out"),
        (OR_EMPTY.replace("'<|im_start|>a", "'<|im_start|>m"), "content-null", "a call and its result with"),
        (OR_EMPTY.replace("{{-", "{%-", 1), "content-null", "syntax error"),
        (ONE_MESSAGE + OR_EMPTY, "content-null", "with what was tried the prompt of a question alone changes"),
    ],
)  # fmt: skip
def test_the_fix_check_rejects_what_changes_anything_else(after: str, variant: Variant, why: str) -> None:
    holds, reason = check_fix(NULL, after, variant)
    assert not holds
    assert why in reason


def test_a_variant_that_was_not_rejected_must_not_change() -> None:
    printed, with_list = template(content="{{- message.content }}"), A_LIST + template()
    why = "with what was tried the prompt of a question alone with content as a list of parts changes"
    assert check_fix(printed, with_list, "content-null") == (False, why)


JOINED = "(message.content if message.content is string else message.content | map(attribute='text') | join('JOINT'))"
FIRST = "(message.content if message.content is string else message.content[0].text)"
PARTS_OF_USER = "{{- message.content | string if message.role != 'user' else " + JOINED + " }}"

FIXED_FOR_OTHERS = PARTS_OF_USER.replace(
    "{{- ",
    "{{- " + JOINED.replace("JOINT", "\\n") + " if message.role in ['system', 'assistant'] and message.content else ",
)


@pytest.mark.sample(1)
@pytest.mark.parametrize("joint", ["", "+", "\\n\\n"])
def test_parts_that_were_rendered_are_not_joined_differently(joint: str) -> None:
    before = template(content=PARTS_OF_USER.replace("JOINT", joint))
    holds, why = check_fix(before, with_prelude([clause_of("TF037")], before), "parts")
    assert not holds
    assert why.startswith(
        "with what was tried an answer and another question alone with content as a list of parts does"
    )
    fixed_source = template(content=FIXED_FOR_OTHERS.replace("JOINT", joint))
    assert check_fix(before, fixed_source, "parts") == (True, "")
    assert "TF037" not in [code for step in fix_template(before, "TF037").steps for code in codes_in(step.keys)]


def test_parts_that_were_rendered_stay_whatever_else_is_fixed() -> None:
    plus, lines = (JOINED.replace("JOINT", joint) for joint in ("+", "\\n"))
    failing = template(content="{{- 'x' + message.content if message.content is none else " + plus + " }}")
    fixed_source = "{{- '' if message.content is none else " + plus + " }}"
    assert check_fix(failing, template(content=fixed_source), "content-null") == (True, "")
    joined = fixed_source.replace("{{- ", "{{- " + lines + " if message.role == 'user' else ")
    why = (
        "with what was tried the prompt of an answer and another question alone with content as a list of parts changes"
    )
    assert check_fix(failing, template(content=joined), "content-null") == (False, why)


def test_parts_of_which_only_one_was_rendered_are_fixed() -> None:
    before = template(content="{{- message.content | string if message.role != 'user' else " + FIRST + " }}")
    assert check_fix(before, with_prelude([clause_of("TF037")], before), "parts") == (True, "")


def test_another_way_of_writing_may_come_right_along() -> None:
    as_system = OR_EMPTY.replace("message.role +", "message.role | replace('developer', 'system') +")
    assert check_fix(NULL, as_system, "content-null") == (True, "")


def test_the_fix_check_accepts_nothing_that_was_right_before() -> None:
    assert check_fix(OR_EMPTY, OR_EMPTY, "content-null") == (False, NOT_SHOWN)


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_other_way_of_writing_is_written_in_some_conversation(variant: Variant) -> None:
    shape = TurnShape(arguments="string") if variant == "arguments-object" else TurnShape()
    assert any(written_as(one, variant) is not None for one in conversations(shape))


# --- the second inspection


def finding(code: str) -> Finding:
    return Finding(code, code.lower(), "Something.", 1, "Do.", "warning", outcome=next(iter(keys(code)))[1])


def test_a_second_inspection_reports_what_is_worse() -> None:
    files = template_alone(NULL, Path("t.jinja"))
    before, after = inspect_files(files), fix_template(NULL, "TF017").report
    assert what_is_worse(before, after, keys("TF017")) == ""
    assert what_is_worse(before, before, keys("TF017")) == "the known fix does not remove the finding"
    more = replace(after, findings=(*after.findings, finding("TF050")))
    assert what_is_worse(before, more, keys("TF017")) == "another finding appears: TF050"
    system = {**after.capabilities, "system": replace(after.capabilities["system"], answer="no")}
    assert what_is_worse(before, replace(after, capabilities=system), keys("TF017")) == (
        "something else changes: capabilities.system"
    )
    prompts = {**after.prompts, "a question": replace(after.prompts["a question"], text="another")}
    assert what_is_worse(before, replace(after, prompts=prompts), keys("TF017")) == "the prompt of a question changes"
    evidence = tuple(replace(one, tolerated=("python_literals",)) for one in after.format.evidence)
    worse = replace(after, format=replace(after.format, evidence=evidence))
    assert what_is_worse(before, worse, keys("TF017")) == "calls are read back worse: python_literals"


@pytest.mark.parametrize(("was", "now", "what"), [(8, 9, ""), (8, 8, ""), (9, 8, "something else changes")])
def test_a_fix_may_make_another_engine_render_more_but_not_less(was: int, now: int, what: str) -> None:
    before = inspect_files(template_alone(NULL, Path("t.jinja")))
    after = fix_template(NULL, "TF017").report

    def with_engine(report: Report, same: int) -> Report:
        return replace(report, sections=replace(report.sections, engines=(Portability("minijinja", 9, same),)))

    worse = what_is_worse(with_engine(before, was), with_engine(after, now), keys("TF017"))
    assert worse == (f"{what}: portability.minijinja" if what else "")


# --- the source and JSON


@pytest.mark.parametrize("text", ["a\r\nb\r\n", "a\nb", ""])
def test_line_ends_come_back_as_they_were(text: str) -> None:
    normalized = as_newlines(text)
    assert normalized is not None
    assert text == with_line_ends_of(text, normalized)


@pytest.mark.parametrize("text", ["a\r\nb\n", "a\rb"])
def test_mixed_line_ends_are_detected(text: str) -> None:
    assert as_newlines(text) is None


@pytest.mark.sample(0)
def test_a_template_with_the_line_ends_of_windows_keeps_them() -> None:
    before = template(content="{{- message.content }}").replace("\n", "\r\n")
    done = fix_template(before, "TF017")
    assert before.replace("{{- message.content }}", "{{- message.content or '' }}") == done.text


def test_words_have_their_positions_in_the_source() -> None:
    source = "x {#- no -#} {%- if a.b['c'] == 'd' -%}\n  {{ a | f(1) }}{% endif %}"
    found = words(source)
    assert [word.text for word in found] == [source[word.start : word.end] for word in found]
    assert [word.text.strip() for word in found[:11]] == ["x", "{%-", "if", "a", ".", "b", "[", "'c'", "]", "==", "'d'"]


def test_edits_are_put_in_from_the_end() -> None:
    assert edited("abcdef", [Edit(0, 1, "xx"), Edit(3, 5, "")]) == "xxbcf"


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.text(max_size=4), inside, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text(max_size=4), VALUES, max_size=4)


@pytest.mark.sample(0)
@given(OBJECTS, st.text(max_size=4), VALUES, st.sampled_from([None, 2, "\t"]), st.booleans())
def test_one_member_of_a_json_file_is_set_or_taken_out(
    values: dict[str, Any], key: str, value: Any, indent: Any, ascii: bool
) -> None:
    text = json.dumps(values, indent=indent, ensure_ascii=ascii)
    assert {**values, key: value} == json.loads(with_member(text, key, value))
    assert list({**values, key: value}) == list(json.loads(with_member(text, key, value)))
    assert {other: one for other, one in values.items() if other != key} == json.loads(without_member(text, key))


@pytest.mark.sample(0)
@given(OBJECTS, st.text(max_size=8), st.booleans())
def test_every_string_of_a_json_file_can_be_replaced(values: dict[str, Any], new: str, ascii: bool) -> None:
    text = json.dumps(values, ensure_ascii=ascii)
    for member in members(text):
        for string in strings(text, member):
            changed = with_string(text, string, new)
            end = len(changed) - len(text) + string.end
            assert new == json.loads(changed[string.value : end])
            assert (text[: string.value], text[string.end :]) == (changed[: string.value], changed[end:])


def test_a_json_file_keeps_everything_else_as_it_is_written() -> None:
    text = '{\n\t"a" : "\\u003cx\\/y\\u003e",\n\t"b" : [1, 2.50]\n}\n'
    assert with_member(text, "c", 1) == '{\n\t"a" : "\\u003cx\\/y\\u003e",\n\t"b" : [1, 2.50],\n\t"c": 1\n}\n'
    assert without_member(text, "b") == '{\n\t"a" : "\\u003cx\\/y\\u003e"\n}\n'
    assert without_member(text, "a") == '{\n\t"b" : [1, 2.50]\n}\n'
    assert with_string(text, members(text)[0], "<x/z>") == text.replace("y\\u003e", "z\\u003e")


def test_letters_stay_letters_where_the_file_has_them_so() -> None:
    for text, written in (('{"a": "ä1"}', '{"a": "ä2ö"}'), ('{"a": "\\u00e41"}', '{"a": "\\u00e42\\u00f6"}')):
        assert with_string(text, members(text)[0], "ä2ö") == written


# --- a model in a copy


def run(*given: str) -> Result:
    return CliRunner().invoke(main, ["inspect", *given])


def digests(directory: Path) -> dict[str, str]:
    files = sorted(path for path in directory.rglob("*") if path.is_file())
    return {str(path.relative_to(directory)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def model(directory: Path, text: str | None, **files: Any) -> Path:
    """A model directory with this template, and files by their names without `.json`."""
    directory.mkdir()
    if text is not None:
        (directory / "chat_template.jinja").write_text(text, "utf-8")
    for name, value in files.items():
        (directory / f"{name}.json").write_text(json.dumps(value, indent=2) + "\n", "utf-8")
    return directory


def fixed(place: Path, output: Path, keys: frozenset[FindingKey] = ALL) -> FixedModel:
    return fixed_copy(str(place), str(output), Inspector(trusted=True), lambda _: keys)


DOUBLE = template(arguments="{{- call.function.arguments | tojson }}")


def test_the_original_stays_as_it_is_and_the_copy_holds_the_small_files(tmp_path: Path) -> None:
    home = model(
        tmp_path / "model", DOUBLE, config={"model_type": "qwen2"}, tokenizer_config={"eos_token": "<|im_end|>"}
    )
    (home / "model.safetensors").write_bytes(b"weights")
    (home / "additional_chat_templates").mkdir()
    (home / "additional_chat_templates" / "rag.jinja").write_text("{{ messages[0].content }}", "utf-8")
    before = digests(home)
    done = fixed(home, tmp_path / "copy", keys("TF014"))
    after = digests(tmp_path / "copy")
    assert before == digests(home)
    assert before.keys() - {"model.safetensors"} == after.keys() == set(done.files)
    assert {"chat_template.jinja"} == {name for name in after if before[name] != after[name]}
    assert [(one.code, one.file) for one in done.fixed] == [("TF014", "chat_template.jinja")]
    assert done.fixed[0].diff == (
        "--- a/chat_template.jinja\n+++ b/chat_template.jinja\n@@ -7,5 +7,5 @@\n"
        "     {%- for call in message.tool_calls or [] %}\n"
        '         {{- \'<tool_call>\\n{"name": "\' + call.function.name + \'", "arguments": \' }}\n'
        "-        {{- call.function.arguments | tojson }}\n"
        f"+        {ARGUMENTS}\n"
        "         {{- '}\\n</tool_call>' }}\n     {%- endfor %}\n"
    )


def test_every_place_with_the_same_template_is_changed_and_nothing_else_of_the_file(tmp_path: Path) -> None:
    named = [{"name": "default", "template": DOUBLE}, {"name": "rag", "template": "{{ messages[0].content }}"}]
    home = model(tmp_path / "model", None, tokenizer_config={"z": 1.50, "chat_template": named, "a": "<ä>"})
    done = fixed(home, tmp_path / "copy", keys("TF014"))
    expected = json.loads((home / "tokenizer_config.json").read_text("utf-8"))
    assert [one.file for one in done.fixed] == ["tokenizer_config.json (chat_template)"]
    expected["chat_template"][0]["template"] = template()
    written = (tmp_path / "copy" / "tokenizer_config.json").read_text("utf-8")
    assert json.dumps(expected, indent=2) + "\n" == written


@pytest.mark.sample(0)
def test_the_same_template_in_two_places_stays_the_same(tmp_path: Path) -> None:
    home = model(tmp_path / "model", DOUBLE, tokenizer_config={"chat_template": DOUBLE})
    done = fixed(home, tmp_path / "copy", keys("TF014"))
    assert [one.file for one in done.fixed] == ["chat_template.jinja", "tokenizer_config.json (chat_template)"]
    assert {template()} == {source.text for source in load_files(tmp_path / "copy").templates}


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("finding_code", "config", "parser"),
    [
        ("TF061", {"eos_token": "<|im_end|>"}, "json_tools"),
        ("TF023", {"tool_parser_type": "hermes"}, "json_tools"),
        ("TF022", {"tool_parser_type": "glm47"}, "json_tools"),
        ("TF023", {"tool_parser_type": "no_such_parser"}, "json_tools"),
    ],
)
def test_the_parser_is_named_in_the_settings(
    tmp_path: Path, finding_code: str, config: dict[str, Any], parser: str
) -> None:
    # mlx-lm looks for `tool_call.name` in the text of a template.
    home = model(tmp_path / "model", template(), tokenizer_config=config)
    done = fixed(home, tmp_path / "copy", keys(finding_code))
    assert [(finding_code, "tokenizer_config.json")] == [(one.code, one.file) for one in done.fixed]
    written = json.loads((tmp_path / "copy" / "tokenizer_config.json").read_text("utf-8"))
    assert {**config, "tool_parser_type": parser} == written
    assert finding_code not in {one.code for one in everything(done.report)}


@pytest.mark.sample(1)
@pytest.mark.parametrize("config", [{}, {"tool_parser_type": "mistral"}, {"tool_parser_type": "glm47"}])
def test_no_parser_is_named_that_misreads_the_calls(tmp_path: Path, config: dict[str, Any]) -> None:
    calls = "{{- '[TOOL_CALLS]' + call.function.name + '[CALL_ID]' + call.id + '[ARGS]' }}ARGUMENTS"
    text = template(calls="{%- for call in message.tool_calls or [] %}" + calls + "{%- endfor %}")
    home = model(tmp_path / "model", text, tokenizer_config=config)
    report = inspect_files(load_files(home))
    assert report.runtimes["mlx-lm"].startswith("none: mistral takes the id")
    contents = {"tokenizer_config.json": (home / "tokenizer_config.json").read_bytes()}
    tried = [json.loads(one.data) for one in settings.attempts(report, load_files(home), contents, ALL)]
    assert {"tool_parser_type": "mistral"} not in tried
    done = fixed(home, tmp_path / "copy", keys("TF022", "TF061"))
    assert done.fixed == ()


@pytest.mark.sample(0)
def test_a_template_that_runtimes_do_not_look_for_is_put_where_they_do(tmp_path: Path) -> None:
    home = model(tmp_path / "model", None, tokenizer_config={}, chat_template={"chat_template": template()})
    done = fixed(home, tmp_path / "copy", keys("TF060"))
    assert {("TF060", "chat_template.jinja")} == {(one.code, one.file) for one in done.fixed}
    assert template() == (tmp_path / "copy" / "chat_template.jinja").read_text("utf-8")


@pytest.mark.sample(0)
def test_an_empty_entry_is_taken_out(tmp_path: Path) -> None:
    home = model(tmp_path / "model", template(), tokenizer_config={"chat_template": None, "eos_token": "</s>"})
    done = fixed(home, tmp_path / "copy", keys("TF060"))
    assert {"TF060"} == {one.code for one in done.fixed}
    assert json.loads((tmp_path / "copy" / "tokenizer_config.json").read_text("utf-8")) == {"eos_token": "</s>"}


@pytest.mark.sample(0)
def test_another_template_of_the_same_name_becomes_the_one_in_force(tmp_path: Path) -> None:
    home = model(tmp_path / "model", template(), tokenizer_config={"chat_template": "{{ messages[0].content }}"})
    done = fixed(home, tmp_path / "copy", keys("TF021"))
    assert [(one.code, one.file) for one in done.fixed] == [("TF021", "tokenizer_config.json (chat_template)")]
    assert {template()} == {source.text for source in load_files(tmp_path / "copy").templates}


def test_of_two_templates_none_is_chosen_where_the_one_in_force_shows_no_tools(tmp_path: Path) -> None:
    home = model(tmp_path / "model", "{{ messages[0].content }}", tokenizer_config={"chat_template": template()})
    done = fixed(home, tmp_path / "copy", keys("TF021"))
    assert done.fixed == ()
    assert digests(home) == digests(tmp_path / "copy")


@pytest.mark.sample(0)
def test_a_template_alone_is_written_under_its_name(tmp_path: Path) -> None:
    (tmp_path / "mine.jinja").write_text(DOUBLE, "utf-8")
    done = fixed(tmp_path / "mine.jinja", tmp_path / "copy", keys("TF014"))
    assert done.files == ("mine.jinja",)
    assert template() == (tmp_path / "copy" / "mine.jinja").read_text("utf-8")
    assert str(tmp_path / "copy" / "mine.jinja") == done.report.path


@pytest.mark.sample(0)
def test_the_template_of_a_gguf_file_is_written_next_to_it(tmp_path: Path) -> None:
    path = tmp_path / "model" / "m.gguf"
    path.parent.mkdir()
    writer = gguf.GGUFWriter(path, "qwen2")
    writer.add_chat_template(DOUBLE)
    writer.add_token_list(["a", "<|im_end|>"])
    writer.add_eos_token_id(1)
    for step in (writer.write_header_to_file, writer.write_kv_data_to_file, writer.write_tensors_to_file):
        step()
    writer.close()
    before = path.read_bytes()
    done = fixed(path, tmp_path / "copy", keys("TF014"))
    assert before == path.read_bytes()
    assert {"chat_template.jinja": template()} == {
        file.name: file.read_text("utf-8") for file in (tmp_path / "copy").iterdir()
    }
    with pytest.raises(CannotCopy, match="in the model directory"):
        fixed(path.parent, path.parent / "other")
    assert (done.report.model_type, "TF014") == ("qwen2", done.fixed[0].code)
    assert "TF014" not in {one.code for one in everything(done.report)}


def test_without_a_template_the_files_are_copied_as_they_are(tmp_path: Path) -> None:
    home = model(tmp_path / "model", None, config={"model_type": "qwen2"})
    done = fixed(home, tmp_path / "copy")
    assert (digests(home), ()) == (digests(tmp_path / "copy"), done.fixed)


# --- the command line


@pytest.mark.sample(0)
def test_the_diff_is_printed_with_what_remains_and_the_status_is_that_of_the_copy(tmp_path: Path) -> None:
    home = model(tmp_path / "model", DOUBLE, tokenizer_config={"eos_token": "<|im_end|>"})
    done = run(str(home), "--fix", "--output", str(tmp_path / "copy"), "--ignore", "TF027")
    assert done.output.startswith("TF014 arguments-form  chat_template.jinja\n--- a/chat_template.jinja\n")
    assert f"fixed in {tmp_path / 'copy'}, verified by inspecting the copy." in " ".join(done.output.split())
    assert "Weights and other files are not copied" in " ".join(done.output.split())
    assert done.exit_code == run(str(tmp_path / "copy"), "--ignore", "TF027").exit_code


def joined_output(result: Result) -> str:
    return " ".join(result.output.split())


@pytest.mark.sample(0)
def test_the_verdict_of_the_copy_is_shown_with_the_previous_one_if_it_differs(tmp_path: Path) -> None:
    home = model(tmp_path / "model", DOUBLE)
    first_run = run(str(home), "--fix", "--output", str(tmp_path / "copy"))
    assert " Verdict of the copy: native (original: adapted). " in joined_output(first_run)
    again = run(str(tmp_path / "copy"), "--fix", "--output", str(tmp_path / "again"))
    assert " Verdict of the copy: native. " in joined_output(again)
    assert f"No finding could be fixed: the copy in {tmp_path / 'again'} is the same as the" in joined_output(again)
    assert digests(tmp_path / "copy") == digests(tmp_path / "again")
    nothing = run(str(home), "--select", "TF001", "--fix", "--output", str(tmp_path / "third"))
    assert (
        f"Nothing of what is selected needs a fix: the copy in {tmp_path / 'third'} is the same as the original."
    ) in joined_output(nothing)
    not_known = run(str(home), "--select", "TF061", "--fix", "--output", str(tmp_path / "fourth"))
    assert "No finding of what is selected could be fixed: " in joined_output(not_known)


@pytest.mark.parametrize(
    ("code", "before", "tokens", "advice"),
    [
        (
            "TF005",
            "{{ '' + bos_token }}",
            {"eos_token": "<|im_end|>"},
            "Add bos_token to tokenizer_config.json from the original model.",
        ),
        (
            "TF069",
            "",
            {"eos_token": "</s>", "added_tokens_decoder": {"1": {"content": "<|im_end|>", "special": True}}},
            "Make <|im_end|> the eos_token in tokenizer_config.json, and add its id to eos_token_id in "
            "generation_config.json and config.json; or use the template of the original model.",
        ),
    ],
)
def test_a_setting_that_is_not_written_is_reported_with_the_fix_of_its_finding(
    tmp_path: Path, code: str, before: str, tokens: dict[str, Any], advice: str
) -> None:
    home = model(tmp_path / "model", before + template(), tokenizer_config=tokens)
    done = fixed(home, tmp_path / "copy", keys(code))
    (why,) = [one.why for one in done.not_fixed if one.code == code]
    assert why == f"--fix cannot fix this: {advice}"


def test_missing_content_is_fixed_if_null_is_accepted() -> None:
    text = template(content="{{- '' if message['content'] is none else message['content'] + '' }}")
    done = fix_template(text, "TF017")
    assert changed_lines(text, done.text) == [
        (
            "{{- '' if message['content'] is none else message['content'] + '' }}",
            "{{- '' if message['content'] is none else (message['content'] or '') + '' }}",
        )
    ]
    assert "TF017" not in {one.code for one in everything(done.report)}


@pytest.mark.sample(0)
def test_the_json_is_the_report_on_the_copy_with_what_was_fixed(tmp_path: Path) -> None:
    home = model(tmp_path / "model", DOUBLE)
    done = run(str(home), "--json", "--fix", "--output", str(tmp_path / "copy"))
    printed = json.loads(done.output)
    plain = json.loads(run(str(tmp_path / "copy"), "--json").output)
    assert plain == {key: value for key, value in printed.items() if key not in ("fixed", "not_fixed")}
    assert list(printed["fixed"][0]) == ["code", "outcome", "file", "diff"]
    assert {"TF014"} <= {one["code"] for one in printed["fixed"]}
    assert {one["code"] for one in printed["not_fixed"]} == {
        one["code"] for one in (*printed["findings"], *printed["notes"])
    }


def test_what_is_not_selected_is_neither_fixed_nor_reported(tmp_path: Path) -> None:
    home = model(tmp_path / "model", DOUBLE)
    done = run(str(home), "--json", "--select", "TF055", "--fix", "--output", str(tmp_path / "copy"))
    printed = json.loads(done.output)
    assert (printed["fixed"], [one["code"] for one in printed["not_fixed"]]) == ([], ["TF055"])
    assert digests(home) == digests(tmp_path / "copy")


@pytest.mark.sample(0)
def test_a_finding_is_fixed_only_if_its_severity_is_selected(tmp_path: Path) -> None:
    home = model(tmp_path / "model", DOUBLE)
    done = run(str(home), "--json", "--ignore", "warning", "--fix", "--output", str(tmp_path / "copy"))
    codes = {one["code"] for one in json.loads(done.output)["fixed"]}
    assert "TF037" in codes
    assert "TF014" not in codes


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (["--fix"], "--fix and --output DIR go together"),
        (["--fix", "--output", ""], "the name is empty; name a directory that does not exist yet"),
        (["--output", "OUT"], "--fix and --output DIR go together"),
        (["--fix", "--output", "OUT", "--output-format", "html=x.html"], "leave html=x.html out"),
        (["--fix", "--output", "OUT", "--full"], "leave --full out"),
        (["--fix", "--output", "OUT", "--output-format", "sarif"], "leave sarif out"),
        (["MODEL", "--fix", "--output", "OUT"], "--fix works on one model; pass one MODEL"),
        (
            ["--fix", "--output", "MODEL"],
            "in the model directory, which is never changed; choose another directory",
        ),
        (["--fix", "--output", "INSIDE"], "in the model directory, which is never changed"),
        (["--fix", "--output", "AROUND"], "not empty; name a directory that does not exist or is empty"),
        (["--fix", "--output", "FILE"], "not a directory; name one that does not exist or is empty"),
    ],
)
def test_misuse_is_one_line_and_changes_nothing(
    tmp_path: Path, given: list[str], why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = model(tmp_path / "model", DOUBLE)
    (tmp_path / "file").write_text("kept", "utf-8")
    inside = home / "new" / "copy"
    names = {"OUT": tmp_path / "out", "MODEL": home, "FILE": tmp_path / "file", "INSIDE": inside, "AROUND": tmp_path}
    other = model(tmp_path / "other", DOUBLE)
    before = digests(tmp_path)
    places = [str(home), str(other)] if given[0] == "MODEL" else [str(home)]
    rest = given[1:] if given[0] == "MODEL" else given
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    done = run(*places, *(str(names.get(one, one)) for one in rest))
    assert (done.exit_code, done.output.count("\n")) == (2, 1)
    assert why in done.output
    assert before == digests(tmp_path)
    assert not (tmp_path / "out").exists()


@posix
def test_no_link_leads_a_copy_into_the_original(tmp_path: Path) -> None:
    home = model(tmp_path / "model", DOUBLE)
    (home / "empty").mkdir()
    (tmp_path / "link").symlink_to(home)
    (tmp_path / "away").mkdir()
    (tmp_path / "sub").symlink_to(home / "empty")
    before = digests(tmp_path)
    for place, output in (("model", "link/sub"), ("link", "model/sub"), ("model", "sub"), ("model", "away/../link/x")):
        done = run(str(tmp_path / place), "--fix", "--output", str(tmp_path / output))
        assert (done.exit_code, done.output.count("\n")) == (2, 1)
        assert "in the model directory, which is never changed" in done.output
    assert (before, list((home / "empty").iterdir())) == (digests(tmp_path), [])


@pytest.mark.sample(0)
def test_a_copy_may_be_next_to_a_template_alone(tmp_path: Path) -> None:
    (tmp_path / "alone.jinja").write_text(DOUBLE, "utf-8")
    assert run(str(tmp_path / "alone.jinja"), "--fix", "--output", str(tmp_path / "copy")).exit_code == 0


def test_nothing_is_written_over_a_file_that_came_in_between(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("kept", "utf-8")
    with pytest.raises(CannotCopy, match="File exists"):
        write({"a.json": b"new"}, tmp_path)
    assert (tmp_path / "a.json").read_text("utf-8") == "kept"


@pytest.mark.sample(0)
@posix
@pytest.mark.parametrize("there", [[], ["copy"]])
def test_where_the_disk_is_full_nothing_half_written_stays(tmp_path: Path, there: list[str]) -> None:
    alone = tmp_path / "alone.jinja"
    alone.write_text(DOUBLE + "{#" + "x" * 20_000 + "#}", "utf-8")
    for name in there:
        (tmp_path / name).mkdir()
    before = digests(tmp_path)
    line = (
        "import resource, sys; from toolfmt.cli.commands import main; "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000)); "
        "main(['inspect', sys.argv[1], '--trusted', '--ignore', 'note', '--fix', '--output', sys.argv[2]])"
    )
    given = [sys.executable, "-c", line, str(alone), str(tmp_path / "copy")]
    done = subprocess.run(given, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "cannot be written (File too large); name another directory" in done.stderr
    assert before == digests(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["alone.jinja", *there])


@pytest.mark.sample(0)
def test_where_nothing_can_be_tried_out_it_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = model(tmp_path / "model", DOUBLE)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    with pytest.raises(CannotCopy, match=r"^no directory to try settings in \(No such file or directory\); make room"):
        fixed(home, tmp_path / "copy", keys("TF014"))
    monkeypatch.undo()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        with pytest.raises(CannotCopy, match=r"/0: cannot be written \(File too large\); make room there"):
            fixed(home, tmp_path / "copy", keys("TF055"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert not (tmp_path / "copy").exists()


SOME = {"a.json": b"a", "more/b.json": b"b" * 10_000, "c.json": b"c"}


@posix
@pytest.mark.parametrize("output", ["copy", "far/off/copy"])
def test_a_copy_is_written_whole_or_not_at_all(tmp_path: Path, output: str) -> None:
    (tmp_path / "copy").mkdir()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, hard))
    try:
        with pytest.raises(CannotCopy, match="File too large"):
            write(SOME, tmp_path / output)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert [path.name for path in tmp_path.rglob("*")] == ["copy"]
    write(SOME, tmp_path / output)
    written = {path.relative_to(tmp_path / output).as_posix(): path for path in tmp_path.rglob("*") if path.is_file()}
    assert {name: path.read_bytes() for name, path in written.items()} == SOME


def test_what_was_given_its_name_is_taken_back_where_another_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "b.json").write_text("kept", "utf-8")
    with pytest.raises(CannotCopy, match="File exists"):
        write(SOME, tmp_path)
    assert [path.name for path in tmp_path.rglob("*")] == ["more", "b.json"]
    assert (tmp_path / "more" / "b.json").read_text("utf-8") == "kept"


@pytest.mark.sample(0)
def test_a_setting_that_changes_what_the_template_does_fixes_nothing() -> None:
    files = template_alone(NULL, Path("t.jinja"))
    before, after = inspect_files(files), fix_template(NULL, "TF017").report
    assert fixed_by(before, replace(before, notes=()), tuple(keys("TF055"))) == tuple(keys("TF055"))
    assert fixed_by(before, after, tuple(keys("TF017"))) == ()


@pytest.mark.sample(0)
def test_an_empty_directory_is_written_into(tmp_path: Path) -> None:
    home = model(tmp_path / "model", DOUBLE)
    (tmp_path / "copy").mkdir()
    assert fixed(home, tmp_path / "copy", keys("TF014")).fixed != ()


def test_where_nothing_can_be_written_it_is_one_line(tmp_path: Path) -> None:
    home = model(tmp_path / "model", DOUBLE)
    (tmp_path / "file").write_text("kept", "utf-8")
    with pytest.raises(CannotCopy, match="name another directory"):
        fixed(home, tmp_path / "file" / "copy", keys("TF014"))


@pytest.mark.sample(0)
@pytest.mark.parametrize(
    "directory",
    sorted(path.name for path in MODELS.iterdir() if path.name != "broken")[:: 1 if depth.every else 3],
)
def test_the_models_of_the_corpus_are_no_worse_in_their_copies(tmp_path: Path, directory: str) -> None:
    before = digests(MODELS / directory)
    done = fixed(MODELS / directory, tmp_path / "copy")
    assert before == digests(MODELS / directory)
    again = Inspector(trusted=True).report(str(tmp_path / "copy"))
    first = Inspector(trusted=True).report(str(MODELS / directory))
    codes: Callable[[Any], set[str]] = lambda report: {one.code for one in everything(report)}  # noqa: E731 - used only here
    assert codes(again) == codes(done.report) == codes(first) - {one.code for one in done.fixed}


def test_an_untrusted_template_is_fixed_in_the_process_with_limits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def here(*_: Any) -> None:
        raise AssertionError("rendered in this process")

    monkeypatch.setattr("toolfmt.model.fix.judged", here)
    home = model(tmp_path / "model", DOUBLE)
    done = fixed_copy(str(home), str(tmp_path / "copy"), Inspector(), lambda _: keys("TF014"))
    assert [one.code for one in done.fixed] == [("TF014")]


def test_a_result_of_the_process_with_limits_must_not_contradict_itself() -> None:
    from toolfmt._util.typed_json import UnreadableJson
    from toolfmt.inspect.fix.verification import FixCheck
    from toolfmt.model.jobs import JUDGE

    JUDGE.check(FixCheck(True, "", 3))
    for wrong in (FixCheck(True, "", 0), FixCheck(True, "but", 3), FixCheck(False, "", -1)):
        with pytest.raises(UnreadableJson):
            JUDGE.check(wrong)


def test_an_inspection_that_fails_is_no_proof() -> None:
    files = template_alone(DOUBLE, Path("t.jinja"))
    report = inspect_files(files)

    def failing_inspection(_: Any) -> Any:
        raise ToolfmtError("no process")

    done = apply_fixes(files, report, keys("TF014"), failing_inspection, judged)
    assert done is not None
    assert (done.text, done.why_not) == (DOUBLE, {("TF014", "double-encoded"): "no process"})
