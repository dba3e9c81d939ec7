"""Evidence is structured: what a template prints is quoted to people and decides nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest
from inspection_templates import label

from toolfmt._util.text_lists import listed, listed_first
from toolfmt.cli.printing.report import report_text
from toolfmt.errors import FailureKind, TemplateError
from toolfmt.inspect.comparison import compare
from toolfmt.inspect.inspection import inspect_template
from toolfmt.inspect.probe.needed_variables import GIVEN
from toolfmt.inspect.probe.renders import Renders
from toolfmt.inspect.report.error_messages import lacks_a_filter, thrown
from toolfmt.inspect.report.report import Answer, Evidence, Report, TemplateFailure
from toolfmt.inspect.report.wording import filled
from toolfmt.templates import ChatTemplate

TEMPLATE = """\
{% for tool in tools or [] %}{{ tool | tojson }}{% endfor %}\
{% for m in messages %}<|{{ m.role }}|>{{ m.content or '' }}{% for c in m.tool_calls or [] %}<tool_call>
{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}
</tool_call>{% endfor %}<|end|>{% endfor %}"""
CHECK = "Check in the model card whether the model expects its earlier reasoning"


def raising(condition: str, message: str) -> str:
    """The template, raising this message for messages of this condition."""
    branch = "{% if " + condition + " %}{{ raise_exception('" + message + "') }}{% endif %}"
    return TEMPLATE.replace("<|{{ m.role }}|>", branch + "<|{{ m.role }}|>")


def message_and_fix(report: Report, code: str) -> tuple[str, str]:
    """The message and the fix of a finding."""
    found = next(one for one in (*report.findings, *report.notes) if label(one) == code)
    return found.message, found.fix


# --- how a template fails


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("{{ raise_exception('No.') }}", TemplateFailure("raised", "No.")),
        ("{{ raise_exception('') }}", TemplateFailure("raised", "")),
        (
            "{{ messages.split(',') }}",
            TemplateFailure(
                "not-rendered",
                "UndefinedError: 'list object' has no attribute 'split'",
                "`split` is undefined",
            ),
        ),
        (
            "{{ x.y }}",
            TemplateFailure("not-rendered", "UndefinedError: 'x' is undefined", "`x` is undefined"),
        ),
        ("{{ 1 // 0 }}", TemplateFailure("not-rendered", "ZeroDivisionError: integer division or modulo by zero")),
        (
            "{% if messages %}{{ 1 | absent }}{% endif %}",
            TemplateFailure(
                "not-rendered",
                "TemplateRuntimeError: No filter named 'absent' found.",
                "a filter named 'absent' is undefined",
            ),
        ),
        (
            "{% for a in 3 %}{% endfor %}",
            TemplateFailure(
                "not-rendered",
                "TypeError: 'int' object is not iterable",
                "the template iterates over something that is not a list",
            ),
        ),
        # The message that a template raises, or puts into the engine's error, is always attributed to the template.
        ("{{ raise_exception(\"'x' is undefined\") }}", TemplateFailure("raised", "'x' is undefined")),
        (
            "{{ raise_exception(\"UndefinedError: 'x' is undefined\") }}",
            TemplateFailure("raised", "UndefinedError: 'x' is undefined"),
        ),
        (
            "{{ '%d' | format(\"UndefinedError: 'x' is undefined\") }}",
            TemplateFailure("not-rendered", "TypeError: %d format: a real number is required, not str"),
        ),
        (
            "{{ messages.append(1) }}",
            TemplateFailure("not-rendered", "SecurityError: access to attribute 'append' of 'list' object is unsafe."),
        ),
    ],
)
def test_a_failure_has_its_source_and_what_is_expected(source: str, expected: TemplateFailure) -> None:
    error = Renders(ChatTemplate(source)).render([{"role": "user", "content": "x"}])
    assert isinstance(error, TemplateError)
    assert thrown(error) == expected


def test_a_failure_is_described_in_plain_words_with_the_searchable_original() -> None:
    wants = TemplateFailure("not-rendered", "UndefinedError: 'x' is undefined", "`x` is undefined")
    assert wants.sentence == wants.clause == "`x` is undefined (UndefinedError: 'x' is undefined)"
    mapping = TemplateFailure(
        "not-rendered", "TypeError: Can only get item pairs from a mapping.", "the template expects an object"
    )
    assert mapping.sentence == "the template expects an object (TypeError: Can only get item pairs from a mapping)"
    raises = TemplateFailure("raised", "No.")
    assert (raises.sentence, raises.clause) == ("the template raises: No.", "it raises: No.")
    assert TemplateFailure("raised", "").sentence == "the template raises"
    fails = TemplateFailure("not-rendered", "ZeroDivisionError: by zero")
    assert (fails.sentence, fails.clause) == (
        "ZeroDivisionError: by zero",
        "it fails: ZeroDivisionError: by zero",
    )
    assert TemplateFailure("other", "memory ran out").sentence == "memory ran out"


def test_a_missing_filter_is_known_by_the_engines_error_and_not_by_words() -> None:
    message = "TemplateRuntimeError: No filter named 'x' found."
    assert lacks_a_filter(TemplateError("", 1, "not-rendered", message))
    assert not lacks_a_filter(TemplateError("", 1, "raised", message))
    assert not lacks_a_filter(TemplateError("", 1, "not-rendered", "ValueError: No filter named 'x' found."))


@pytest.mark.parametrize(
    ("kind", "engine_message"),
    [
        ("raised", "UndefinedError: 'x' is undefined"),
        ("not-parsed", "UndefinedError: 'x' is undefined"),
        ("other", "TypeError: Can only get item pairs from a mapping."),
        ("not-rendered", "ValueError: UndefinedError: 'x' is undefined"),
        ("not-rendered", "ValueError: can only concatenate str"),
        ("not-rendered", "UndefinedError: 'dict object' has no attribute 'x`, which is well; pass --trusted `'"),
        ("not-rendered", "UndefinedError: 'x` is there, and `y' is undefined"),
        ("not-rendered", "TypeError: macro 'm' takes no keyword argument 'NoneType' object is not iterable"),
    ],
)
def test_plain_words_are_used_only_for_errors_of_the_engine_itself(kind: FailureKind, engine_message: str) -> None:
    assert thrown(TemplateError("", 1, kind, engine_message)) == TemplateFailure(kind, engine_message)


# --- sentences and excerpts


def test_a_sentence_is_made_of_words_and_excerpts() -> None:
    assert filled("it appears", ("…a {} b…",)) == "it appears: …a {} b…"
    assert filled("it adds {}", ("a: b",)) == "it adds a: b"
    assert filled("{} becomes {}", ("{}", "{x}")) == "{} becomes {x}"
    assert filled("it appears", ()) == "it appears"
    assert filled("", ("shown",)) == "shown"
    assert filled("they appear", ("a", "b")) == "they appear: a, b"
    assert Answer("error", "once a result follows", error=TemplateFailure("raised", "no")).evidence == (
        "once a result follows: the template raises: no"
    )


def test_an_answer_as_json_has_the_sentence_and_what_it_is_made_of() -> None:
    failed = TemplateFailure("raised", "no")
    assert Answer("no", "it is {}", 3, "dropped", ("cut",)).to_dict() == {
        "answer": "no",
        "evidence": "it is cut (line 3)",
        "outcome": "dropped",
        "excerpts": ["cut"],
        "error": None,
        "line": 3,
    }
    assert Answer("error", error=failed).to_dict() == {
        "answer": "error",
        "evidence": "the template raises: no",
        "outcome": "",
        "excerpts": [],
        "error": {"kind": "raised", "engine_message": "no", "explanation": ""},
        "line": None,
    }


def test_text_from_a_template_is_never_among_the_words() -> None:
    report = inspect_template(TEMPLATE.replace("<|", "<|Kx9mark").replace("m.content or", "'Kx9text' ~ m.content or"))
    chapters = (report.capabilities, report.sections.details, report.sections.definitions, report.sections.safety)
    answers = [answer for chapter in chapters for answer in chapter.values()]
    assert sum("Kx9" in answer.evidence for answer in answers) > 10
    assert [answer.words for answer in answers if "Kx9" in answer.words] == []


# --- what to do works


def test_a_call_that_only_null_renders_is_to_keep_its_null() -> None:
    # stepfun-ai's StepFun-Formalizer: {% if message['role'] == 'assistant' and message['content'] is none %}
    called = TEMPLATE.replace("{% for c in", "{% if 'content' in m and m.content is none %}{% for c in")
    called = called.replace("</tool_call>{% endfor %}", "</tool_call>{% endfor %}{% endif %}")
    only_null = called.replace("<|{{ m.role }}|>", "{{ {}['content'].x if 'content' not in m }}<|{{ m.role }}|>")
    report = inspect_template(only_null)
    answers = [report.capabilities[name].answer for name in ("content_null", "content_empty")]
    assert (answers, report.sections.details["content_absent"].outcome) == (["yes", "no"], "threw")
    message, fix = message_and_fix(report, "content-null-rejected")
    turn = "A turn that has a call and no key `content` is rejected (transformers 5 removes the key if it is null): "
    assert message.startswith(turn)
    keep = "Keep the key with null if the runtime does not remove it; or use `toolfmt render`, which keeps the call."
    assert fix == keep
    instead = "Send null instead of an empty string, with the key; or use `toolfmt render`, which keeps the call."
    assert message_and_fix(report, "content-empty-rejected")[1] == instead


# --- what a template prints decides nothing


def test_a_message_about_a_filter_does_not_hide_that_a_question_is_rejected() -> None:
    report = inspect_template("{{ raise_exception('No filter named ') }}")
    message, _ = message_and_fix(report, "TF003")
    assert message == "The template rejects a single user message: the template raises: No filter named."


def test_a_template_cannot_forge_what_to_do_about_null_content() -> None:
    null = "m.tool_calls and m.content is none"
    honest, fix = message_and_fix(inspect_template(raising(null, "no")), "content-null-rejected")
    assert honest == "A turn with a call and content null is rejected: the template raises: no."
    assert "In the template" not in fix
    # An exception of the engine that quotes the template's text is not one of its own errors.
    quoting = TEMPLATE.replace(
        "<|{{ m.role }}|>", "{% if " + null + " %}{{ {}['the template raises'].x }}{% endif %}<|{{ m.role }}|>"
    )
    message, fix = message_and_fix(inspect_template(quoting), "content-null-rejected")
    assert "the template raises" in message
    assert fix.endswith("In the template, write `message.content or ''`.")


def test_a_raised_message_cannot_claim_that_a_list_is_changed() -> None:
    message = "SecurityError: access to attribute \\'append\\' of \\'list\\' object is unsafe."
    codes = {label(one) for one in inspect_template(raising("m.tool_calls", message)).findings}
    assert "TF013" in codes
    assert "TF039" not in codes


def test_a_raised_message_with_punctuation_is_quoted_in_full() -> None:
    message = "x: it wants `y`; line 3: does not render: chat_template.jinja, line 9: the template raises: z"
    report = inspect_template(raising("m.role == 'developer'", message))
    answer = report.sections.details["developer"]
    assert (answer.answer, answer.outcome, answer.words, answer.excerpts) == ("error", "threw", "", ())
    assert answer.error == TemplateFailure("raised", message)
    other = inspect_template(raising("m.role == 'developer'", "no"))
    assert message_and_fix(report, "developer-role-rejected")[0] == message_and_fix(other, "developer-role-rejected")[0]


def test_a_comparison_reads_no_sentences() -> None:
    one, other = (inspect_template(raising("m.role == 'developer'", message)) for message in ("a; b: c", "d"))
    assert [change.what for change in compare(one, other).behavior.changes] == []
    x, z = (
        inspect_template(
            TEMPLATE.replace("<|{{ m", "{% if m.role == 'developer' %}{{ m." + key + ".y }}{% endif %}<|{{ m")
        )
        for key in ("x", "z")
    )
    assert [change.what for change in compare(one, x).behavior.changes] == ["details.developer"]
    assert [change.what for change in compare(x, z).behavior.changes] == ["details.developer"]


THINKING = """\
{% for m in messages %}<|{{ m.role }}|>{% if m.reasoning_content and (loop.last KEEP) %}\
<think>{{ m.reasoning_content }}</think>{% endif %}{{ m.content or '' }}{% for c in m.tool_calls or [] %}<tool_call>
{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}
</tool_call>{% endfor %}<|end|>{% endfor %}"""


def test_a_variable_that_keeps_reasoning_next_to_calls_only() -> None:
    report = inspect_template(THINKING.replace("KEEP", "or (keep and m.tool_calls)"))
    (effect,) = report.sections.variables[0].effects
    assert effect.reasoning == "kept-with-calls"
    assert effect.words == "keeps earlier reasoning next to calls"
    (note,) = [one for one in report.notes if one.code == "TF033"]
    assert note.fix.endswith("; keep=true keeps it next to calls.")


def test_a_variable_that_drops_reasoning_is_described_once_without_a_test_word() -> None:
    report = inspect_template(THINKING.replace("KEEP", "or keep is not defined or keep"))
    (effect,) = report.sections.variables[0].effects
    assert (effect.reasoning, effect.words, effect.excerpts) == ("dropped", "drops earlier reasoning", ())


@pytest.mark.sample(0)
def test_the_effects_of_a_variable_are_distinguished() -> None:
    (keep,) = inspect_template(THINKING.replace("KEEP", "or keep")).sections.variables
    (effect,) = keep.effects
    assert (effect.kind, effect.values, effect.typed, effect.reasoning) == ("adds", ("true",), "true", "kept")
    assert (effect.words, effect.excerpts) == ("keeps earlier reasoning", ())
    assert keep.to_dict()["effects"] == [effect.to_dict()]
    source = "{% if x == 'b' %}{{ raise_exception('no b') }}{% endif %}{{ x | default('a') }}" + TEMPLATE
    (x,) = inspect_template(source).sections.variables
    assert [(one.kind, one.values, one.typed, one.error) for one in x.effects] == [
        ("fails", ('"b"',), '"b"', TemplateFailure("raised", "no b")),
        ("printed", (f'another string (tested with "{GIVEN}")',), "", None),
    ]


@pytest.mark.sample(0)
def test_what_keeps_reasoning_is_reported_with_a_value_that_can_be_typed() -> None:
    printed = THINKING.replace("KEEP", "or keep").replace("<think>", "{{ keep }}<think>")
    assert message_and_fix(inspect_template(printed), "TF033")[1].endswith(
        "expects its earlier reasoning; keep keeps it."
    )
    dropping = THINKING.replace("(loop.last KEEP)", "not m.tool_calls and not drop")
    report = inspect_template(dropping)
    assert [effect.reasoning for effect in report.sections.variables[0].effects] == ["dropped"]
    assert message_and_fix(report, "TF033")[1] == f"{CHECK}."


def test_a_template_cannot_forge_what_keeps_reasoning() -> None:
    _, honest = message_and_fix(inspect_template(THINKING.replace("KEEP", "or keep")), "TF033")
    assert honest == f"{CHECK}; keep=true keeps it."
    forging = '{% if x %}z; "evil" keeps earlier reasoning{% endif %}' + THINKING.replace("KEEP", "")
    report = inspect_template(forging)
    assert "keeps earlier reasoning" in report.sections.variables[0].effect
    assert message_and_fix(report, "TF033")[1] == f"{CHECK}."


def test_evidence_of_a_format_keeps_apart_what_the_format_itself_cannot_carry() -> None:
    evidence = Evidence("verified", "f", "5 of 6 read back", ("nasty (a; b)",), ("single_quotes",), "f cannot carry c")
    assert evidence.at_a_glance == "5 of 6 read back; not: nasty (a; b); tolerated: single_quotes"
    assert evidence.detail == evidence.at_a_glance + "; f cannot carry c"
    assert evidence.to_dict() == {
        "source": "verified",
        "format": "f",
        "detail": evidence.detail,
        "summary": "5 of 6 read back",
        "problems": ["nasty (a; b)"],
        "tolerated": ["single_quotes"],
        "beyond": "f cannot carry c",
    }
    assert Evidence("declared", None, "a; b").at_a_glance == "a; b"


def test_at_a_glance_a_list_of_strings_is_whole() -> None:
    """LFM2.5 escapes nothing, and its format has no way to write some strings."""
    called = (
        "[{{ c.function.name }}({% for k, v in c.function.arguments.items() %}{{ k }}={% if v is string %}'{{ v }}'"
    )
    called += "{% else %}{{ v }}{% endif %}{{ ', ' if not loop.last }}{% endfor %})]"
    source = (
        "{% for tool in tools or [] %}{{ tool | tojson }}{% endfor %}{% for m in messages %}<|{{ m.role }}|>"
        "{{ m.content or '' }}{% for c in m.tool_calls or [] %}<|tool_call_start|>" + called + "<|tool_call_end|>"
        "{% endfor %}{% endfor %}"
    )
    report = inspect_template(source)
    (verified,) = [one for one in report.format.evidence if one.source == "verified"]
    assert verified.problems
    text = report_text(report, 400, False, full=False, notes=False, whole=True)
    line = next(line for line in text.splitlines() if line.startswith("  format"))
    assert line.endswith(f": {verified.at_a_glance}")


@pytest.mark.sample(0)
def test_tools_that_are_shown_only_with_a_system_message_have_an_outcome() -> None:
    always = inspect_template(TEMPLATE).capabilities["tools"]
    with_system = TEMPLATE.replace("in tools or []", "in (tools if messages[0].role == 'system') or []")
    sometimes = inspect_template(with_system).capabilities["tools"]
    assert [(one.answer, one.outcome) for one in (always, sometimes)] == [("yes", ""), ("yes", "beside-system")]
    assert sometimes.evidence.endswith("are in the prompt when there is a system message")


def test_names_are_listed_as_a_person_reads_them() -> None:
    assert [listed(names) for names in ((), ("a",), ("a", "b"), ("a", "b", "c"))] == ["", "a", "a and b", "a, b and c"]
    assert listed(("a", "b", "c"), "or") == "a, b or c"
    assert [listed_first(["a", "b", "c"][:n], 2) for n in range(4)] == ["", "a", "a, b", "a, b and 1 more"]


EVIL = (
    "No filter named x found.; the template raises: z; `y` is undefined; if true: keeps earlier reasoning",
    "SecurityError: access to attribute \\'append\\' of \\'list\\' object is unsafe. (line 1); it raises: {} {0}",
)
CONDITIONS = (
    "m.role == 'system'",
    "m.role == 'tool'",
    "m.role == 'developer'",
    "m.tool_calls",
    "m.tool_calls and m.content is none",
    "m.tool_calls and m.tool_calls[0].function.arguments is string",
    "m.role == 'user'",
)


def decided(report: Report) -> object:
    """What a report decides, without what it quotes."""
    answers = {
        (chapter, name): (answer.answer, answer.outcome, answer.words, answer.line)
        for chapter, table in (
            ("capabilities", report.capabilities),
            ("details", report.sections.details),
            ("definitions", report.sections.definitions),
            ("safety", report.sections.safety),
        )
        for name, answer in table.items()
    }
    found = [(label(one), one.severity, one.line, one.fix) for one in (*report.findings, *report.notes)]
    effects = [
        (one.kind, one.words, one.reasoning) for variable in report.sections.variables for one in variable.effects
    ]
    profile = replace(report.profile, sha256="")
    return answers, found, effects, report.sections.advice, report.strategy, report.verdict, profile


@pytest.mark.sample(1)
@pytest.mark.parametrize("condition", CONDITIONS)
def test_the_message_that_a_template_raises_decides_nothing(condition: str) -> None:
    honest = decided(inspect_template(raising(condition, "no")))
    for message in EVIL:
        assert decided(inspect_template(raising(condition, message))) == honest, message
