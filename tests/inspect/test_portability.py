"""The section on other engines: the results of templates in minijinja, and how they are reported."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from inspection_templates import label

from toolfmt.inspect.inspection import inspect_files, inspect_template
from toolfmt.inspect.report.report import Difference, Finding, Portability, Report
from toolfmt.templates import ChatTemplate, load_files

pytest.importorskip("minijinja", reason="minijinja, the other engine, is not installed")

GOOD = """\
{%- if tools %}
{%- for tool in tools %}
{{ tool | tojson }}
{%- endfor %}
{%- endif %}
{%- for message in messages %}<|{{ message.role }}|>
{% if message.reasoning_content %}<think>{{ message.reasoning_content.strip() }}</think>{% endif %}
{{- message['content'] or '' }}
{%- for call in message.tool_calls or [] %}
<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>
{%- endfor %}<|end|>
{% endfor %}
{%- if add_generation_prompt %}<|assistant|>
{% endif %}"""
PLAIN = "{% for message in messages %}\n<|{{ message.role }}|>{{ message.content }}<|end|>\n{% endfor %}"
ONLY_ELSEWHERE = "{% if none is iterable %}OTHER{% endif %}\n"
"""What only minijinja evaluates as true."""


def chapter(source: str) -> Portability:
    return of_minijinja(inspect_template(source))


def of_minijinja(report: Report) -> Portability:
    (portability,) = (one for one in report.sections.engines if one.engine == "minijinja")
    return portability


def only(source: str) -> Difference:
    (difference,) = chapter(source).differences
    return difference


def found(report: Report, code: str) -> list[Finding]:
    listed = [finding for finding in (*report.findings, *report.notes) if label(finding) == code]
    listed = [finding for finding in listed if "minijinja" in finding.message]
    assert all(finding.message.endswith(".") and finding.fix.endswith(".") for finding in listed)
    return listed


def codes(source: str) -> list[str]:
    notes = [finding for finding in inspect_template(source).notes if finding.code == "TF070"]
    assert all(finding.runtimes == () for finding in notes if "minijinja" in finding.message)
    return [label(finding) for finding in notes if "minijinja" in finding.message]


def test_a_good_template_renders_the_same_in_every_conversation() -> None:
    assert chapter(GOOD) == Portability("minijinja", 9, 9)
    assert codes(GOOD) == []


def test_a_template_without_calls_is_tried_with_fewer_conversations() -> None:
    assert chapter(PLAIN) == Portability("minijinja", 6, 6)


def test_values_are_written_as_python_writes_them() -> None:
    values = "{{ [true, none, 1.0, 'x', {'a': none}] }}{{ tools }}{{ messages[0] }}"
    assert chapter(values + PLAIN).differences == ()


def test_a_length_of_none_fails_with_its_tag_and_line() -> None:
    source = "{# one #}\n{% if tools is iterable and tools | length > 0 %}T{% endif %}\n" + PLAIN
    difference = only(source)
    assert (difference.construct, difference.line, difference.fails) == (
        "{% if tools is iterable and tools | length > 0 %}",
        2,
        True,
    )
    # Without tools: the plain question, with a system message, and the response in text.
    assert difference.what.endswith("(in 3 of 6 conversations)")
    (finding,) = found(inspect_template(source), "other-engine-fails")
    assert (finding.line, finding.severity) == (2, "note")


@pytest.mark.parametrize(
    ("source", "construct", "line"),
    [
        ("\n{{ 'a' | center(8) }}", "the filter center", 2),
        ("é\n\n{{ 'a'.ljust(8) }}", "the method .ljust()", 3),
        ("{{ {'a': 1}.copy() }}", "the method .copy()", 1),
        ("{{ 'a' is callable }}", "the test callable", 1),
        ("{{ lipsum(n=0) }}", "the function lipsum()", 1),
        ("\n{{ '%s' % 1 }}", "{{ '%s' % 1 }}", 2),
    ],
)
def test_what_the_engine_lacks_is_named(source: str, construct: str, line: int) -> None:
    difference = only(source + PLAIN)
    assert (difference.construct, difference.line, difference.fails) == (construct, line, True)


def test_an_error_that_only_the_other_engine_raises() -> None:
    difference = only("\n{% if none is iterable %}{{ raise_exception('Not today.') }}{% endif %}" + PLAIN)
    assert (difference.construct, difference.line, difference.what, difference.fails) == (
        "raise_exception",
        2,
        "Not today.",
        True,
    )


def test_an_error_that_both_engines_raise_is_not_a_difference() -> None:
    source = "{% if messages[0].role == 'system' %}{{ raise_exception('No system.') }}{% endif %}" + PLAIN
    assert chapter(source) == Portability("minijinja", 5, 5)


# --- the tags for training masks


def test_generation_tags_that_runtimes_cut_out() -> None:
    source = "{% for message in messages %}{% generation %}{{ message.content }}{% endgeneration %}{% endfor %}"
    portability = chapter(source)
    assert (portability.renders, portability.same) == (6, 6)
    assert [(one.construct, one.line, one.fails) for one in portability.differences] == [("{% generation %}", 1, True)]
    assert "mistral.rs" in portability.differences[0].what


def test_generation_tags_that_no_runtime_cuts_out() -> None:
    source = "{% for message in messages %}\n{%- generation -%}{{ message.content }}{%- endgeneration -%}{% endfor %}"
    portability = chapter(source)
    assert (portability.renders, portability.same) == (6, 0)
    assert [(one.construct, one.line, one.fails) for one in portability.differences] == [("{% generation %}", 2, True)]


def test_generation_tags_that_leave_whitespace_when_cut_out() -> None:
    source = "{% for message in messages %}\n{% generation %}\n{{ message.content }}{% endgeneration %}\n{% endfor %}"
    portability = chapter(source)
    assert portability.same == 0
    assert [(one.line, one.fails) for one in portability.differences] == [(2, True), (2, False)]
    assert codes(source) == ["other-engine-fails", "other-engine-differs"]


# --- another prompt


def test_the_filter_that_differs_is_verified_and_named() -> None:
    source = "\n\n{{ '{\\n' | indent(4, first=true) }}{{ 'a' | upper }}|" + PLAIN
    difference = only(source)
    assert (difference.construct, difference.line, difference.fails) == ("the filter indent", 3, False)
    wrong, right = difference.what.split(" for ")
    assert json.loads(wrong).startswith("\n\n    {A|")
    assert json.loads(right).startswith("\n\n    {\nA|")
    (finding,) = found(inspect_template(source), "other-engine-differs")
    assert (finding.line, finding.severity) == (3, "note")


def test_the_difference_is_shown_if_no_filter_causes_it() -> None:
    difference = only(PLAIN + "And so ends what the template has to say: " + ONLY_ELSEWHERE)
    assert (difference.line, difference.fails) == (3, False)
    assert difference.construct.startswith("{% endfor %}And so ends")
    assert "OTHER" in difference.what


# --- nothing escapes


def test_a_loop_that_only_the_other_engine_runs_ends_and_is_not_counted() -> None:
    loop = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"
    assert chapter(ONLY_ELSEWHERE.replace("OTHER", loop) + PLAIN) == Portability("minijinja", 0, 0)


@pytest.mark.parametrize(
    "deep",
    [
        "{{ " + " ~ ".join(["'x'"] * 300) + " }}",
        "{% if a %}" + "{% elif a %}b" * 300 + "{% endif %}",
        "{{ " + " < ".join(["1"] * 300) + " }}",
        "{{ 1" + " + 1" * 300 + " }}",
    ],
)
def test_a_template_that_nests_too_deep_is_not_tried(deep: str) -> None:
    assert inspect_template(deep + PLAIN).sections.engines == ()
    assert ChatTemplate(deep).nesting >= 300


def test_what_a_template_nests_and_which_filters_it_uses() -> None:
    assert ChatTemplate("a").nesting < ChatTemplate("{% if a %}{{ b.c }}{% endif %}").nesting < 10
    template = ChatTemplate("{{ a | trim }}\n{% if b | length %}{{ (a | upper) | trim }}{% endif %}")
    assert template.filters == {"trim": 1, "length": 2, "upper": 2}


@pytest.mark.parametrize("source", ["", "{% if %}", "{{ 1 / 0 }}", "\ud800" + PLAIN, "{{ '\ud800' }}" + PLAIN])
def test_nothing_escapes(source: str) -> None:
    json.dumps(inspect_template(source).to_dict())


def test_special_tokens_of_any_name_and_text(tmp_path: Path) -> None:
    tokens = {"eos_token": "</s> %}{{ '", "extra_special_tokens": {"self": "a", "a b": "b", "é": "c"}}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(tokens), encoding="utf-8")
    (tmp_path / "chat_template.jinja").write_text(PLAIN + "{{ eos_token }}{{ bos_token }}", encoding="utf-8")
    assert of_minijinja(inspect_files(load_files(tmp_path))) == Portability("minijinja", 6, 6)


def test_without_the_engine_there_is_no_chapter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "minijinja", None)
    report = inspect_template(GOOD)
    assert "minijinja" not in {one.engine for one in report.sections.engines}
    assert report.to_dict()["portability"] is None


def test_the_chapter_is_json() -> None:
    report = json.loads(json.dumps(inspect_template("{{ 'a' | center }}" + PLAIN).to_dict()))
    portability = report["portability"]
    assert portability == report["engines"][0]
    assert (portability["engine"], portability["renders"], portability["same"]) == ("minijinja", 6, 0)
    assert list(portability["differences"][0]) == ["construct", "line", "what", "fails", "written", "expected"]
