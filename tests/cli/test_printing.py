"""The reports as text: layout, short and full, at any width; model text that cannot do harm."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from html import unescape

import pytest
from invented_reports import finding, report

from toolfmt.cli.printing.findings import page_text
from toolfmt.cli.printing.formats import format_text
from toolfmt.cli.printing.models import models_text
from toolfmt.cli.printing.page import report_page
from toolfmt.cli.printing.phrases import phrased, phrases
from toolfmt.cli.printing.report import report_text
from toolfmt.cli.rules.selection import Selection
from toolfmt.formats import FORMATS
from toolfmt.formats.prompting.tool_descriptions import RESULT_HEADING
from toolfmt.formats.runtime_parsers import DERIVED
from toolfmt.inspect.report.growing_prompts import PrefixCondition, PrefixStep, ResponseStart, Stability
from toolfmt.inspect.report.report import (
    Answer,
    Branch,
    Difference,
    Effect,
    MarkerTokens,
    Portability,
    Report,
    RuntimeSupport,
    Sections,
    Tokens,
    ToolCost,
    Variable,
)
from toolfmt.inspect.report.template_profile import TemplateProfile
from toolfmt.inspect.report.verdicts import Advice, RuntimeVerdict, Verdict
from toolfmt.inspect.sections.turns import DETAILS
from toolfmt.model.batch import InspectionOutcome

YES, NO = Answer("yes", "it is seen"), Answer("no", "it is not seen", 12)
RAISED = Answer("error", "it throws", 3, "threw")
LOST_NAME = Answer("no", "both have one name", 5, "name-lost")
SECTIONS = Sections(
    details={"ids_ordinary": NO, "ids_nine": YES, "text_with_call": NO, "reasoning_earlier": NO, "unheard_of": NO},
    definitions={"name": YES, "enum": NO, "default": Answer("error", "it throws"), "no_parameters": NO},
    variables=(
        Variable("enable_thinking", "true", (Effect("adds", "the answer begins with {}", ("an empty block",)),), 3),
        Variable("documents", None),
    ),
    stability=Stability(
        (PrefixStep("a result follows", 50, 100, "<think>", "<call>", 30), PrefixStep("an answer", 9, 9)),
        0.619,
    ),
    safety={"escaping": NO, "imports": YES},
    tokens=Tokens(
        (
            MarkerTokens("<call>", ("<call>",), True, only_as_token=True),
            MarkerTokens("</call>", ("</", "call>"), False),
        ),
        90, (ToolCost("dear", 200), ToolCost("cheap", 22)), 1412, True, 4096, 1024, ("dear",),
    ),
    engines=(
        Portability("minijinja", 14, 12, (Difference("x.y()", 3, "is unknown"),)),
        Portability("llama.cpp", 14, 13, (Difference("x.y()", 4, "prints nothing", False),)),
    ),
    runtime_support=(
        RuntimeSupport("mlx-lm", "a", "json", False, "", "it takes json"),
        RuntimeSupport("vLLM", "a", None, None, "nothing"),
    ),
    advice=(
        Advice("vLLM", "--parser x"),
        *(Advice(name, "no parser", "fails", typed=False) for name in ("TGI", "Ollama")),
    ),
)  # fmt: skip
VERDICT = Verdict(
    "adapted",
    "It works.",
    {"vLLM": RuntimeVerdict("works with", "--parser x", ("TF014",)), "mlx-lm": RuntimeVerdict("works")},
)
FULL: Report = replace(
    report(
        "some/model",
        finding("TF014", line=6),
        finding("TF013", "error", 7),
        finding("TF038", "note"),
    ),
    verdict=VERDICT,
    sections=SECTIONS,
    profile=TemplateProfile(stop=("<end>", "</s>"), prefill="<think>\n"),
)


def shown(made: Report, width: int = 80, *, full: bool = False) -> list[str]:
    return report_text(made, width, False, full=full, notes=False, whole=True).splitlines()


def section_text(made: Report, chapter: str) -> str:
    """The text next to the name of a section, on one line."""
    lines = shown(made, 140)
    begin = next(position for position, line in enumerate(lines) if line.startswith(f"  {chapter}"))
    rest = lines[begin + 1 :]
    end = next((position for position, line in enumerate(rest) if not line.startswith(" " * 10)), len(rest))
    return " ".join(" ".join([lines[begin].removeprefix(f"  {chapter}"), *rest[:end]]).split())


def test_the_sections_show_at_a_glance_what_a_person_needs() -> None:
    assert {chapter: section_text(FULL, chapter) for chapter in ("prefix", "tokens ", "token ids", "variables")} == {
        "prefix": "a prefix cache can reuse 61 % of the prompt text of the test conversation; "
        "the first cache miss occurs when a result follows (line 30)",
        "tokens ": "2 tools cost 1,412 tokens of 4,096, 90 of them for the instructions around the tools; "
        "the longest is dear with 200 leave out dear to stay within 1,024",
        "token ids": "toolfmt.TokenParser matches <call> only as tokens, </call> as text",
        "variables": "enable_thinking (default: true): the answer begins with an empty block "
        "variables without effect in the tests: documents",
    }
    assert section_text(FULL, "definitions").endswith(
        "schema keywords not in the prompt: enum; some definitions are rejected; "
        "not supported: tools without parameters"
    )
    assert section_text(FULL, "calls").endswith("only ids such as q7Zk2Wx9B; no text next to a call")
    assert section_text(FULL, "reasoning").endswith("dropped from earlier turns")
    assert section_text(FULL, "details") == "not unheard of; see --full"


def test_a_line_shows_which_markers_count_only_as_tokens() -> None:
    def line(*markers: MarkerTokens) -> str:
        sections = replace(SECTIONS, tokens=Tokens(markers, 90, (ToolCost("dear", 200),), 290))
        return section_text(replace(FULL, sections=sections), "token ids")

    token = MarkerTokens("<call>", ("<call>",), False, only_as_token=True)
    text = MarkerTokens("</call>", ("</", "call>"), False)
    stop = MarkerTokens("<end>", ("<end>",), True, "stop", True)
    assert line(token, stop) == "toolfmt.TokenParser matches <call> only as tokens"
    assert line(token, text) == "toolfmt.TokenParser matches <call> only as tokens, </call> as text"
    assert line(text, stop) == "toolfmt.TokenParser matches all markers as text: </call>"
    with pytest.raises(StopIteration):
        line(stop)
    many = [replace(token, marker=f"<{number}>", kind="reasoning") for number in range(9)]
    assert line(*many) == "toolfmt.TokenParser matches <0>, <1>, <2>, <3>, <4>, <5> and 3 more only as tokens"


@pytest.mark.parametrize(
    ("details", "linked"),
    [
        ({"ids_paired": YES}, "linked to their calls by id"),
        ({"ids_paired": NO}, "not linked to their calls by id"),
        (
            {"ids_paired": NO, "results_several": YES, "results_unnumbered": LOST_NAME},
            "an id only selects the tool's name; without any ids, two results get the same tool name",
        ),
        (
            {"ids_paired": NO, "results_several": LOST_NAME, "results_unnumbered": LOST_NAME},
            "not linked to their calls by id; one result per turn; without any ids, two results get the same tool name",
        ),
    ],
)
def test_what_the_ids_of_results_do_is_shown_without_contradiction(details: dict[str, Answer], linked: str) -> None:
    able = {**FULL.capabilities, "tool_results": YES, "parallel_tool_calls": YES}
    made = replace(FULL, capabilities=able, sections=replace(FULL.sections, details=details))
    assert section_text(made, "results") == f"in the prompt; {linked}"


BY_FUNCTION = "only ids of the form functions.NAME:N"


@pytest.mark.parametrize(
    ("ability", "details", "parallel", "expected"),
    [
        ("calls", {"ids_ordinary": NO, "ids_nine": NO, "ids_function": YES}, YES, [BY_FUNCTION]),
        ("calls", {"ids_ordinary": NO, "ids_nine": NO, "ids_none": YES}, YES, ["no ids"]),
        ("calls", {"ids_ordinary": YES, "ids_nine": NO}, YES, []),
        ("results", {"results_reordered": NO, "results_unnamed": NO}, YES,
         ["`name` must be set"]),
        ("results", {"results_reordered": NO, "results_several": NO}, NO, []),
        ("system", {"users_in_a_row": RAISED, "assistants_in_a_row": NO}, YES, ["roles must alternate"]),
        ("system", {"users_in_a_row": NO, "assistants_in_a_row": NO}, YES, []),
    ],
)  # fmt: skip
def test_details_come_to_a_few_words(
    ability: str, details: dict[str, Answer], parallel: Answer, expected: list[str]
) -> None:
    capabilities = {**FULL.capabilities, "parallel_tool_calls": parallel}
    made = replace(FULL, capabilities=capabilities, sections=Sections(details=details))
    assert phrases(made, ability) == expected


def test_every_detail_has_words_at_a_glance_or_needs_none() -> None:
    assert set(DETAILS) - phrased() == set()
    assert phrased() - set(DETAILS) == set()


def test_what_is_fine_is_not_shown_twice() -> None:
    fine = Sections(details={"ids_ordinary": YES}, definitions={"enum": YES}, safety={"escaping": YES})
    assert shown(replace(FULL, sections=fine)) == shown(replace(FULL, sections=Sections()))
    keeps = replace(FULL, sections=Sections(stability=Stability((), 1.0)))
    assert section_text(keeps, "prefix") == "a prefix cache can reuse all prompt text of the test conversation"


TIME = "the prompt contains the time and changes every second"


@pytest.mark.parametrize(
    ("share", "expected"),
    [
        (1.0, f"{TIME}; otherwise a prefix cache can reuse all prompt text of the test conversation"),
        (0.5, f"a prefix cache can reuse 50 % of the prompt text of the test conversation; {TIME}"),
    ],
)
def test_no_cache_keeps_a_prompt_that_holds_the_time(share: float, expected: str) -> None:
    ticking = Sections(stability=Stability((), share, "second"))
    assert section_text(replace(FULL, sections=ticking), "prefix") == expected


def test_the_conditions_of_a_prefix_cache_are_named() -> None:
    conditions = (
        PrefixCondition((), False, 0.5, tools=False),
        PrefixCondition((("enable_thinking", False),), False, 0.25),
    )
    stable = Sections(stability=Stability((), 1.0, conditions=conditions))
    assert section_text(replace(FULL, sections=stable), "prefix") == (
        "a prefix cache can reuse all prompt text of the test conversation, except if no tools are sent and no earlier "
        "reasoning is sent (50 % reused) or if enable_thinking=false and no earlier reasoning is sent (25 % reused)"
    )


def test_a_condition_that_only_adds_a_variable_is_named_with_the_other() -> None:
    conditions = (
        PrefixCondition((), True, 0.85),
        PrefixCondition((("enable_thinking", True),), True, 0.82),
        PrefixCondition((("enable_thinking", False),), True, 0.85),
    )
    stable = Sections(stability=Stability((), 1.0, conditions=conditions))
    assert section_text(replace(FULL, sections=stable), "prefix") == (
        "a prefix cache can reuse all prompt text of the test conversation, except if earlier reasoning is sent (85 % "
        "reused; 82 % with enable_thinking=true)"
    )


@pytest.mark.parametrize(
    ("default", "expected"),
    [
        ("enable_thinking or false", "the value of enable_thinking, or false"),
        ("true", "true"),
        ('"a or b"', '"a or b"'),
    ],
)
def test_a_default_that_is_another_variable_is_named_as_such(default: str, expected: str) -> None:
    variable = Variable("thinking", default, (Effect("adds", "adds a block", values=("true",)),))
    line = section_text(replace(FULL, sections=Sections(variables=(variable,))), "variables")
    assert line == f"thinking (default: {expected}): if true, adds a block"


def test_findings_are_sorted_by_severity_which_is_a_word() -> None:
    lines = [line.split() for line in shown(FULL)]
    assert [line[:2] for line in lines if len(line) > 1 and line[0] != "see" and line[1].startswith("TF0")] == [
        ["error", "TF013"],
        ["warning", "TF014"],
    ]
    assert ["→", "Do", "this."] in lines


def test_notes_are_counted_by_code_and_shown_on_request() -> None:
    found = [*(finding(f"TF03{digit}", "note") for digit in range(5)), finding("TF033", "note")]
    many = replace(FULL, notes=tuple(found))
    line = next(" ".join(line.split()) for line in shown(many, 140) if line.startswith("  notes"))
    assert line == "notes 6 TF030 TF031 TF032 TF033 ×2 TF034; show with --full"
    for text in (shown(many, full=True), report_text(many, 80, False, full=False, notes=True, whole=True).splitlines()):
        listed = [line.split()[:2] for line in text if line.startswith("  note")]
        assert listed == [["note", one.code] for one in found]
    assert not any(line.startswith("  note") for line in shown(replace(FULL, notes=())))


def test_a_finding_ends_with_its_line_and_is_cut_only_at_a_glance_on_a_terminal() -> None:
    long = replace(finding("TF014", line=6), message="Refused: " + "word " * 60 + "end.")
    made = replace(FULL, findings=(long,))
    cut, whole, full = (
        " ".join(report_text(made, 140, False, full=full, notes=False, whole=whole).split())
        for full, whole in ((False, False), (False, True), (True, False))
    )
    assert "word … (line 6)" in cut
    assert "end." not in cut
    assert "word end. (line 6)" in whole
    assert "word end. (line 6)" in full


def test_what_is_new_since_an_earlier_report_is_marked() -> None:
    new, known = replace(finding("TF014", line=6), new=True), replace(finding("TF019"), new=False)
    notes = (replace(finding("TF038", "note"), new=True), replace(finding("TF033", "note"), new=False))
    made = replace(FULL, findings=(new, known), notes=notes)
    text = " ".join(" ".join(shown(made)).split())
    assert "2 warnings, 2 notes, 2 new" in text
    assert "warning TF014 new: What TF014 says. (line 6)" in text
    assert "warning TF019 What TF019 says." in text
    assert "TF038 TF033, 1 of them new; show with --full" in text
    table = models_text([InspectionOutcome("a", made), InspectionOutcome("b", FULL)], None, False)
    assert "TF014* TF019 TF038*\n" in table
    assert "1 with something new. E/W/N: errors, warnings, notes. *: new." in table


def test_in_full_nothing_more_is_named_where_nothing_was_found() -> None:
    clean = replace(FULL, findings=(), notes=())
    assert [line for line in shown(clean, full=True) if line.startswith("  more")] == []
    assert [line.split()[0] for line in shown(clean) if line.startswith("  more")] == ["more"]
    assert "  more         toolfmt explain TF013" in shown(FULL, full=True)


@pytest.mark.parametrize("width", [50, 100])
def test_what_a_page_shows_of_a_call_is_not_wrapped_and_its_sentences_are(width: int) -> None:
    for format in FORMATS:
        example = [line for line in format.page.splitlines() if line.startswith("    ")]
        lines = format_text(format, width, False).splitlines()
        assert [line for line in lines if line in example][: len(example)] == example
        # the last example is made of the format's writer
        assert max(len(line) for line in lines if not line.startswith("    ")) <= width
    page = page_text("title\n\nword " + "word " * 40 + "\n\n    " + "code " * 40 + "\n", width, False)
    assert "\n\n    " + "code " * 39 + "code\n" in page
    assert page.startswith("title\n\nword word")
    assert max(len(line) for line in page.splitlines() if "code" not in line) <= width


def test_what_to_do_next_is_a_line_each() -> None:
    lines = shown(FULL)
    begin = next(position for position, line in enumerate(lines) if line.startswith("  next"))
    assert lines[begin : begin + 10] == [
        "  next  first         TF013 (see below): Do this.",
        "        vLLM          works with  --parser x",
        "                      see TF014",
        "        TGI           fails       no parser",
        "        Ollama        fails       no parser",
        "        stop strings  <end> </s>",
        '        prompt        ends with "<think>\\n" by default; the output continues',
        "                      from there",
        "        decode        with skip_special_tokens=False: <call> is a special token",
        "",
    ]
    assert section_text(FULL, "more") == "toolfmt explain TF013; --full shows every result with its evidence"


def test_a_finding_that_remains_in_every_runtime_is_not_repeated_in_each_row() -> None:
    remaining = {
        "vLLM": RuntimeVerdict("works with", "--parser x", ("TF014", "TF017", "TF022", "TF023")),
        "mlx-lm": RuntimeVerdict("works", "", ("TF017", "TF022")),
    }
    findings = (*FULL.findings, finding("TF014", "warning"), finding("TF017", "warning"))
    made = replace(FULL, findings=findings, verdict=Verdict("adapted", "It works.", remaining))
    lines = shown(made)
    assert [line.strip() for line in lines if line.strip().startswith("see ")] == ["see TF014"]
    assert "        each of them  see TF017" in lines  # TF022 and TF023 are not shown
    without_advice = replace(made, sections=replace(FULL.sections, advice=()))
    assert not any("each of them" in line for line in shown(without_advice))


def test_what_begins_an_invented_result_is_a_stop_where_tools_are_described_in_words() -> None:
    lines = shown(replace(FULL, strategy="prompt"), 140)
    (line,) = [line for line in lines if "stop strings" in line]
    when = "if the prompt describes the tools (stops a model that invents a tool result)"
    assert line.strip() == f'stop strings  <end> </s>; also "{RESULT_HEADING}" {when}'
    alone = replace(FULL, strategy="prompt", profile=replace(FULL.profile, stop=(), stop_of_calls=()))
    (line,) = [line for line in shown(alone, 140) if "stop strings" in line]
    assert line.strip() == f'stop strings  "{RESULT_HEADING}" {when}'
    assert not any(RESULT_HEADING in line for line in shown(replace(FULL, strategy="template"), 140))


def test_if_the_verdict_is_broken_the_next_line_shows_what_to_do() -> None:
    errors = (finding("TF014"), finding("TF026", "error", 7), finding("TF003", "error"))
    made = replace(FULL, findings=errors, verdict=Verdict("broken", "Not to be relied on."))
    lines = shown(made)
    begin = next(position for position, line in enumerate(lines) if line.startswith("  next"))
    assert lines[begin : begin + 2] == [
        "  next  first         TF026 (see below): Do this.",
        "        vLLM          works with  --parser x",
    ]
    assert "First TF026: Do this." in report_page(made)
    for other in (
        replace(made, findings=errors[:1]),
        replace(made, template=None),
        replace(made, capabilities=dict.fromkeys(FULL.capabilities, RAISED)),
    ):
        assert not any(line.startswith("  next  first") for line in shown(other))
        assert "First " not in report_page(other)


@pytest.mark.parametrize("code", ["TF022", "TF061"])
def test_the_first_step_names_the_runtimes_that_select_a_wrong_parser(code: str) -> None:
    working = dict.fromkeys(("vLLM", "mlx-lm"), RuntimeVerdict("works"))
    wrong = replace(finding(code, "error"), runtimes=("mlx-lm",))
    made = replace(FULL, findings=(wrong,), verdict=Verdict("native", "It works.", working))
    assert any(line.endswith(f"first         {code} (see below), if you use mlx-lm: Do this.") for line in shown(made))
    assert f"First {code}, if you use mlx-lm: Do this." in report_page(made)
    for_all = replace(made, findings=(*made.findings, finding("TF090", "error")))
    assert any(line.endswith("first         TF090 (see below): Do this.") for line in shown(for_all))


def test_if_no_prompt_can_be_made_no_stop_is_shown() -> None:
    failing = replace(FULL, capabilities=dict.fromkeys(FULL.capabilities, RAISED))
    for text in ("stop strings", "prompt", "decode"):
        assert any(line[8:].startswith(text) for line in shown(FULL))
        assert not any(line[8:].startswith(text) for line in shown(failing))


@pytest.mark.parametrize(
    ("stop", "of_calls", "expected"),
    [
        (("<end>", "</s>"), (), "<end> </s>"),
        (("<call/>", "<end>", "</s>"), ("<call/>",), "<end> </s> after a response; <call/> after a call"),
        (
            ("<a>", "<b>"),
            ("<a>", "<b>"),
            "<a> <b> after a call; the template writes no end marker after a response, so the model has to stop at "
            "its own eos_token",
        ),
    ],
)
def test_where_a_response_stops_and_where_a_call_does_are_on_one_line(
    stop: tuple[str, ...], of_calls: tuple[str, ...], expected: str
) -> None:
    made = replace(FULL, profile=replace(FULL.profile, stop=stop, stop_of_calls=of_calls))
    (line,) = [line for line in shown(made, 160) if "stop strings" in line]
    assert line.strip() == f"stop strings  {expected}"
    page = report_page(made)
    listed = re.sub(r"<[^>]+>", " ", page.partition("<dt>Stop at</dt>")[2].partition("</dd>")[0])
    plain = " ".join(unescape(listed).split())
    assert plain == expected.replace("a response; <call/>", "a response, <call/>")


def test_in_full_every_answer_of_every_chapter_is_there() -> None:
    text = " ".join(" ".join(shown(FULL, 140, full=True)).split())
    for answers in (FULL.capabilities, SECTIONS.details, SECTIONS.definitions, SECTIONS.safety):
        for name, answer in answers.items():
            assert f"{name} {answer.answer} {answer.to_dict()['evidence']}" in text
    for words in (
        "enable_thinking default: true; the answer begins with an empty block (line 3)",
        "documents no effect in the tests",
        "a result follows only the first 50 of 100 characters stay the same; then '<think>' becomes '<call>' (line 30)",
        "an answer all 9 characters of the previous prompt stay the same",
        "for having tools at all 90 tokens dear 200 tokens cheap 22 tokens",
        "<call> 1 token: <call>; a special token, dropped unless skip_special_tokens=False",
        "</call> 2 tokens: </ call>",
        "minijinja it renders 12 of 14 conversations as Jinja2 does, apart from JSON formatting "
        "x.y() is unknown (line 3)",
        "llama.cpp it renders 13 of 14 conversations as Jinja2 does x.y() prints nothing (line 4)",
        "mlx-lm it takes json vLLM nothing",
    ):
        assert words in text


@pytest.mark.parametrize("width", [60, 80, 140])
def test_text_fits_its_width_is_plain_and_the_same_every_time(width: int) -> None:
    for full in (False, True):
        lines = shown(FULL, width, full=full)
        assert lines == shown(FULL, width, full=full)
        assert max(map(len, lines)) <= width
        assert [line for line in lines if line != line.rstrip() or "\x1b" in line] == []
    assert "\x1b[" in report_text(FULL, width, True, full=False, notes=False, whole=True)


@pytest.mark.parametrize("width", [60, 80, 140])
def test_a_table_fits_its_width_and_keeps_one_line_a_model(width: int) -> None:
    looked = [
        InspectionOutcome("a/" + "long-" * 20 + "7B", FULL),
        InspectionOutcome(
            "b", replace(FULL, model_type="m" * 90, findings=tuple(finding(f"TF0{n}") for n in range(10, 30)))
        ),
        InspectionOutcome("c", None, "c: no such directory; " + "word " * 30),
    ]
    *lines, typed = models_text(looked, width, False).splitlines()
    assert typed == f"Details and fixes of one model: toolfmt inspect a/{'long-' * 20}7B"
    assert max(map(len, lines)) <= width
    assert lines[4] == ""
    assert [line.split()[0][-2:] for line in lines[1:4]] == ["7B", "b", "c"]
    uncut = models_text(looked, width, False, cut=False).removesuffix(f"{typed}\n")
    assert max(map(len, uncut.splitlines())) <= width
    names = [line.split("  ")[0] for line in uncut.splitlines()[1:] if line.startswith(("a/", "long-", "7B"))]
    assert ("".join(names), {name[-1] for name in names}) == (looked[0].place, {"-", "B"})
    assert ("…" in uncut, [f"TF0{n}" in uncut for n in range(10, 30)]) == (False, [True] * 20)
    unbroken = models_text([InspectionOutcome("x" * 150, FULL)], width, False, cut=False).splitlines()[:-1]
    assert max(map(len, unbroken)) <= width
    assert sum(line.split(" ")[0].count("x") for line in unbroken if line.startswith("x")) == 150
    assert models_text([InspectionOutcome("a; b", FULL)], width, False).endswith(" toolfmt inspect 'a; b'\n")
    whole = models_text(looked, None, False).splitlines()
    assert whole[0].split() == ["model", "type", "verdict", "format", "tools", "calls", "results", "E/W/N", "findings"]
    assert ("TF029" in whole[2], whole[3].split()[-1]) == (True, "word")


def test_text_of_a_model_cannot_move_the_cursor_or_be_read_as_markup() -> None:
    hostile = "\x1b[2J\u202e\r\n\x07[red]\u2028"
    bad = Answer("no", hostile, 3)
    sections = Sections(
        details={hostile: bad},
        definitions={hostile: bad},
        variables=(
            Variable(hostile, hostile, (Effect("adds", "{}", (hostile,), (hostile,)),), 1),
            Variable(hostile + "2", None),
        ),
        stability=Stability((PrefixStep(hostile, 0, 1, hostile, hostile),), 0.1),
        safety={hostile: bad},
        tokens=Tokens(
            (MarkerTokens(hostile, (hostile,), True),), 1, (ToolCost(hostile, 2),), 3, True, 4, 5, (hostile,)
        ),
        response_starts=(ResponseStart("question", ((hostile, True),), hostile),),
        engines=(Portability(hostile, 2, 1, (Difference(hostile, 1, hostile),)),),
        runtime_support=(RuntimeSupport(hostile, hostile, hostile, False, hostile, hostile),),
        advice=(Advice(hostile, hostile), Advice(hostile + "2", hostile, "fails", typed=False)),
        branches=(Branch("text", 1, hostile, hostile, "{}", (hostile,)),),
    )
    assert [field.name for field in fields(Sections) if getattr(sections, field.name) in ((), {}, None)] == ["sample"]
    assert FULL.template is not None
    made = replace(
        FULL,
        model_type=hostile,
        template=replace(FULL.template, origin=hostile, name=hostile),
        capabilities=dict.fromkeys(FULL.capabilities, bad),
        sections=sections,
        profile=TemplateProfile(stop=(hostile,), prefill=hostile, reasoning=(hostile, hostile)),
        findings=(replace(finding("TF013"), message=hostile, fix=hostile),),
    )
    texts = [report_text(made, 80, False, full=full, notes=False, whole=True) for full in (False, True)]
    texts += [
        models_text([InspectionOutcome(hostile, made), InspectionOutcome(hostile, None, hostile)], width, False)
        for width in (80, None)
    ]
    for text in texts:
        assert {char for char in text if not char.isprintable()} <= {"\n"}
        assert "[red]" in text


def test_of_prefix_changes_the_first_and_every_line_are_shown() -> None:
    lines = {"a result follows": 30, "a question follows": 30, "two follow": 7}
    turns = tuple(PrefixStep(name, 5, 10, line=line) for name, line in lines.items())
    prefix = section_text(replace(FULL, sections=Sections(stability=Stability(turns, 0.5))), "prefix")
    assert prefix.endswith("the first cache miss occurs when a result follows (lines 7 and 30)")


def test_the_first_variables_are_shown_in_full_and_the_rest_counted() -> None:
    effect = Effect("adds", "adds {}", ("word " * 60 + "end",))
    effective = [Variable(f"v{number}", None, (effect,)) for number in range(5)]
    idle = [Variable(f"i{number}", None) for number in range(10)]
    text = section_text(replace(FULL, sections=Sections(variables=(*effective, *idle))), "variables")
    assert text.count("word end") == 3
    assert text.endswith(
        "other variables: v3, v4 variables without effect in the tests: i0, i1, i2, i3, i4, i5, i6, i7 and 2 more"
    )


def test_for_a_template_that_always_fails_only_that_is_shown() -> None:
    failing = replace(FULL, capabilities=dict.fromkeys(FULL.capabilities, RAISED), notes=())
    labels = [line.split()[0] for line in shown(failing) if line.startswith("  ") and line[2] != " "]
    assert labels == ["verdict", "next", "error", "warning", "more"]


def test_what_is_to_be_typed_is_on_one_line_however_long() -> None:
    typed = f'toolfmt.load("{"snapshots/" * 12}").parser(tools=tools)'
    remark = "a sentence of many words " * 8
    advised = replace(FULL, sections=replace(FULL.sections, advice=(Advice("transformers", typed, remark=remark),)))
    lines = report_text(advised, 80, False, full=False, notes=False, whole=True).splitlines()
    assert [line for line in lines if line.endswith(typed)] == [f"        transformers  works with  {typed}"]
    assert " ".join(" ".join(line.split()) for line in lines).count(remark.strip()) == 1
    assert [line for line in lines if len(line) > 80] == [f"        transformers  works with  {typed}"]


@pytest.mark.parametrize("place", ["models/" * 12, "'a place'", "x y.jinja"])
@pytest.mark.parametrize("width", [60, 100])
def test_a_command_within_a_sentence_is_on_one_line(place: str, width: int) -> None:
    command = f"toolfmt render {place} --request FILE"
    remark = f"reads the answer to the prompt of {command}, decode with skip_special_tokens=False"
    made = replace(FULL, sections=replace(FULL.sections, advice=(Advice("transformers", "x", remark=remark),)))
    lines = shown(made, width)
    assert sum(command in line for line in lines) == 1
    assert remark in " ".join(" ".join(line.split()) for line in lines)


def test_the_end_of_the_prompt_is_cut_if_it_is_very_long() -> None:
    prefilled = replace(FULL, profile=replace(FULL.profile, prefill="<think>" * 3000))
    lines = report_text(prefilled, 100, False, full=False, notes=False, whole=True).splitlines()
    assert sum("<think><think>" in line for line in lines) <= 5


@pytest.mark.sample(1)
@pytest.mark.parametrize("width", [60, 79, 100])
def test_no_name_of_a_parser_is_broken_on_the_page_of_a_format(width: int) -> None:
    for format in FORMATS:
        page = format_text(format, width, False)
        section = page[page.index("\nruntimes ") :].partition("\nsources")[0] if format.runtime_parsers else ""
        names = (str(parser) for parser in format.runtime_parsers.values() if str(parser) != DERIVED)
        words = {word for name in names for word in name.split() if len(word) < 45}
        assert not [word for word in words if word not in section.split()], format.name


# --- hidden notes


def test_hidden_notes_are_in_a_row_and_not_counted() -> None:
    usual = replace(finding("TF055", "note"), on_request=True)
    made = replace(FULL, notes=(*FULL.notes, usual))
    assert section_text(made, "minor") == "marker injection (TF055); show with --full"
    lines = shown(made)
    assert any("1 error, 1 warning, 1 note, 1 minor note" in line for line in lines)
    assert any(line.startswith("  notes    1      TF038; ") for line in lines)
    assert not any("What TF055 says." in line for line in lines)
    full = shown(made, full=True)
    assert any("What TF055 says." in line for line in full)
    assert any("1 error, 1 warning, 1 note, 1 minor note" in line for line in full)
    assert not any(line.startswith("  minor") for line in full)
    tables = [models_text([InspectionOutcome("a", one)], 160, False) for one in (made, FULL)]
    assert tables[0] == tables[1]
    new = replace(made, notes=(replace(usual, new=True),))
    assert any("TF055, 1 of them new" in line for line in shown(new))


def test_notes_that_are_selected_are_shown() -> None:
    made = replace(FULL, notes=(replace(finding("TF055", "note"), on_request=True),))
    (selected,) = Selection.of(["TF055"]).apply(made).notes
    (kept,) = Selection.of([], ["TF014"]).apply(made).notes
    assert (selected.on_request, kept.on_request) == (False, True)


@pytest.mark.parametrize(
    ("model_type", "place", "title"),
    [
        (None, "chat_template.jinja", "chat_template.jinja   a template without model files"),
        ("qwen3", "chat_template.jinja", "chat_template.jinja   qwen3   chat_template.jinja"),
        (None, "model", "model   no model type   chat_template.jinja"),
    ],
)
def test_a_template_alone_is_called_one(model_type: str | None, place: str, title: str) -> None:
    made = replace(report(place), model_type=model_type)
    assert report_text(made, 100, False, full=False, notes=False, whole=True).splitlines()[0] == title
