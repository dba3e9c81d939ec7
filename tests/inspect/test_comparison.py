"""Two models compared by behavior: what counts as a difference, what does not, and how it is reported."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from gguf_files import TOKENS
from gguf_files import written as gguf_of
from invented_reports import finding, report
from model_cases import MODELS, made

from toolfmt.cli.commands import main
from toolfmt.cli.diff_command import DifferenceSelection
from toolfmt.cli.printing.diff import comparison_text
from toolfmt.inspect.checks import ALL_OUTCOMES, UnknownCode
from toolfmt.inspect.comparison import Comparison, Differences, PromptChange, ReportChange, _is_setting, compare
from toolfmt.inspect.inspection import inspect_template
from toolfmt.inspect.report.growing_prompts import Stability
from toolfmt.inspect.report.report import (
    Answer,
    Effect,
    RuntimeSupport,
    SamplePrompt,
    Sections,
    TemplateFailure,
    Tokens,
    ToolCost,
    Variable,
)
from toolfmt.inspect.report.template_profile import TemplateProfile
from toolfmt.inspect.report.verdicts import Advice
from toolfmt.inspect.sections.sample_prompts import LONGEST

TEMPLATE = """\
{% if tools %}Tools: {{ tools | tojson }}
{% endif %}{% for message in messages %}<{{ message.role }}>
{{ message.content or '' }}{% for call in message.tool_calls or [] %}<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>{% endfor %}</end>
{% endfor %}"""
REWRITTEN = "{# as before #}\n" + TEMPLATE.replace("message", "turn").replace("turns", "messages").replace(
    ".content or ''", "['content'] or ''"
)
PREFILL = Effect("adds", "the prefill changes")
RAISED = TemplateFailure("raised", "no")
GONE = "{{ raise_exception('no results') if messages | selectattr('role', 'equalto', 'tool') | list }}"


def places(directory: Path, a: str, b: str) -> tuple[str, str]:
    """Two model directories with these templates."""
    for name, template in (("a", a), ("b", b)):
        made(directory, template)
        (directory / "model").rename(directory / name)
    return str(directory / "a"), str(directory / "b")


def all_changes(comparison: Comparison) -> tuple[ReportChange, ...]:
    return (*comparison.behavior.changes, *comparison.settings.changes)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["diff", *arguments], prog_name="toolfmt", env={"COLUMNS": "80"})


# --- what differs


def test_a_model_does_not_differ_from_itself() -> None:
    a = inspect_template(TEMPLATE)
    comparison = compare(a, a)
    assert (comparison.differs, comparison.same_text, comparison.prompts) == (False, True, ())
    assert comparison.behavior == comparison.settings == Differences()
    assert list(comparison.same_prompts) == list(a.prompts)


def test_a_rewritten_template_that_does_the_same_does_not_differ() -> None:
    comparison = compare(inspect_template(TEMPLATE), inspect_template(REWRITTEN))
    assert (comparison.differs, comparison.same_text) == (False, False)


def test_prompts_differ_from_the_first_character_that_does() -> None:
    one, other = "a" * 50 + "\n<user>\nU", "a" * 50 + "\n<human>\nU"
    a, b = (replace(report(text), prompts={"a question": SamplePrompt(text)}) for text in (one, other))
    change = PromptChange("a question", 52, "a" * 38 + "\n<", "user>\nU", "human>\nU")
    assert compare(a, b).prompts == (change,)
    longer = replace(b, prompts={"a question": SamplePrompt(one + "!")})
    assert compare(a, longer).prompts == (PromptChange("a question", 59, one[-40:], "", "!"),)


@pytest.mark.sample(0)
def test_a_template_that_throws_differs_by_what_it_throws_and_not_by_the_line() -> None:
    a = inspect_template(TEMPLATE + GONE)
    assert compare(a, inspect_template("{# #}\n" + TEMPLATE + GONE, name="other")).differs is False
    differing = compare(a, inspect_template(TEMPLATE)).prompts
    assert [(one.conversation, one.a, one.a_threw, one.b_threw) for one in differing] == [
        (name, "the template raises: no results", True, False)
        for name in (
            "a call and its result",
            "two calls and their results",
            "a call, its result and a response",
            "a call with reasoning and its result, with the generation prompt",
            "an earlier call, its result and a response",
            "an earlier call, its result and a response with reasoning",
        )
    ]


def test_an_inspection_carries_a_prompt_of_each_kind_of_conversation() -> None:
    made = inspect_template(TEMPLATE).prompts
    assert made["a question"] == SamplePrompt("<user>\nUq1question</end>\n")
    assert made["a system message"].text.startswith("<system>\nSq2system</end>\n<user>\n")
    assert made["a tool"].text.startswith("Tools: [")
    assert made["two calls"].text.count("<tool_call>") == 2
    assert "prompts" not in inspect_template(TEMPLATE).to_dict()
    assert inspect_template("{% if %}").prompts == {}
    unwrapped = inspect_template(TEMPLATE.replace("call.function.", "call.")).prompts
    assert "<tool_call>" in unwrapped["a call with name and arguments without the function wrapper"].text


EARLIER = {"an earlier response", "an earlier response with reasoning"}


@pytest.mark.parametrize(
    ("when", "differing"),
    [
        ("not loop.last", EARLIER),
        ("not loop.last and m.reasoning_content", {"an earlier response with reasoning"}),
        ("loop.last and m.reasoning_content", {"a response with reasoning"}),
        ("loop.last and not add_generation_prompt", {"a text response", "a response with reasoning"}),
    ],
)
def test_what_becomes_of_an_answer_once_the_user_goes_on_is_compared(when: str, differing: set[str]) -> None:
    # Qwen3-8B and its template for training: every earlier response gains an empty block.
    block = "{% if m.role == 'assistant' and " + when + " %}<think></think>{% endif %}"
    plain = "{% for m in messages if m.role != 'tool' and not m.tool_calls %}<{{ m.role }}>{{ m.content }}{% endfor %}"
    other = plain.replace("{{ m.content }}", block + "{{ m.content }}")
    conversations = {one.conversation for one in compare(inspect_template(plain), inspect_template(other)).prompts}
    assert {name for name in conversations if "call" not in name} == differing


@pytest.mark.sample(0)
def test_of_a_prompt_that_does_not_end_a_bounded_part_is_kept() -> None:
    endless = inspect_template("{{ 'x' * 300000 }}").prompts
    assert {len(prompt.text) for prompt in endless.values()} == {LONGEST}


def test_answers_of_every_section_are_compared_by_their_content() -> None:
    a = report("a")
    sections = Sections(
        details={"ids": Answer("yes", "any")},
        definitions={"enum": Answer("yes", "the values appear", 3)},
        safety={"user_text": Answer("yes", "escaped")},
        variables=(Variable("enable_thinking", "true", (PREFILL,), 4),),
        stability=Stability((), 0.611),
        tokens=Tokens(preamble=5, tools=(ToolCost("f", 7),), total=12),
    )
    other = replace(
        sections,
        details={"ids": Answer("yes", "nine letters and digits only")},
        definitions={"enum": Answer("no", "the values do not appear", 3)},
        stability=Stability((), 0.3),
        tokens=Tokens(preamble=5, tools=(ToolCost("f", 8),), total=13),
    )
    changes = {
        change.what: (change.a, change.b)
        for change in all_changes(compare(replace(a, sections=sections), replace(a, sections=other)))
    }
    assert changes == {
        "details.ids": (
            {"answer": "yes", "evidence": "any"},
            {"answer": "yes", "evidence": "nine letters and digits only"},
        ),
        "definitions.enum": (
            {"answer": "yes", "evidence": "the values appear"},
            {"answer": "no", "evidence": "the values do not appear"},
        ),
        "prefix": (0.61, 0.3),
        "tokens.total": (12, 13),
        "tokens.tools.f": (7, 8),
    }
    lines = replace(
        sections,
        safety={"user_text": Answer("yes", "escaped", 99)},
        definitions={"enum": Answer("yes", "the values appear", 4)},
        variables=(Variable("enable_thinking", "true", (PREFILL,), 5),),
        stability=Stability((), 0.609),
    )
    assert compare(replace(a, sections=sections), replace(a, sections=lines)).differs is False


def test_what_an_answer_needs_is_compared() -> None:
    a = report("a")
    b = replace(a, strategy="prompt", profile=TemplateProfile(stop=("<end>",), prefill="<think>"))
    assert compare(a, b).behavior.changes == (
        ReportChange("strategy", "template", "prompt"),
        ReportChange("prefill", "", "<think>"),
    )
    assert compare(a, b).settings.changes == (ReportChange("stop", [], ["<end>"]),)
    changes = compare(a, replace(a, template=None)).behavior.changes
    assert [change.what for change in changes] == ["template", "variables"]


def test_findings_come_and_go_by_code_and_number() -> None:
    one, other, note = finding("TF013", "error", 7), finding("TF014"), finding("TF038", "note")
    comparison = compare(report("a", one, note), report("b", other))
    assert comparison.behavior == Differences((), (one, note), (other,))
    moved = replace(one, line=9, message="What line 9 says.")
    assert compare(report("a", one), report("b", moved)).differs is False
    rejected = replace(other, outcome="object-rejected")
    assert compare(report("a", other), report("b", rejected)).behavior == Differences((), (other,), (rejected,))
    second = replace(other, message="Another one.")
    assert compare(report("a", other), report("b", other, second)).behavior.added == (second,)


# --- settings are not behavior


@pytest.mark.sample(0)
def test_a_build_in_another_package_behaves_as_the_original(tmp_path: Path) -> None:
    original, package = tmp_path / "original", tmp_path / "package.gguf"
    gguf_of(package, template=TEMPLATE)
    original.mkdir()
    added = {str(number): {"content": text, "special": True} for number, text in enumerate(TOKENS) if text[0] == "<"}
    for name, value in {
        "config.json": {"model_type": "qwen3"},
        "generation_config.json": {"eos_token_id": [3, 4]},
        "tokenizer_config.json": {
            "chat_template": TEMPLATE,
            "bos_token": {"content": "<s>"},
            "eos_token": "<|end|>",
            "added_tokens_decoder": added,
            "tool_parser_type": "json_tools",
        },
    }.items():
        (original / name).write_text(json.dumps(value))
    result = run("--json", str(original), str(package))
    printed = json.loads(result.stdout)
    assert (result.exit_code, printed["differs"], printed["same_text"]) == (0, False, True)
    assert printed["behavior"]["changes"] == [] != printed["behavior"]["prompts"]["same"]
    settings = {change["what"]: (change["a"], change["b"]) for change in printed["settings"]["changes"]}
    assert (printed["settings"]["differ"], settings["format.confidence"]) == (True, ("declared", "verified"))
    assert {what.partition(".")[0] for what in settings} == {"format", "runtimes"}
    lines = run(str(original), str(package)).stdout.splitlines()
    assert "settings (not behavior; they do not count as differences)" in lines
    assert " ".join(lines).partition("The template is the same; ")[2].startswith("5 settings differ, ")
    # The effect of a wrong setting on an output is behavior: this build continues after the end of a response.
    gguf_of(package, template=TEMPLATE.replace("</end>", "<|call|>"))
    (original / "chat_template.jinja").write_text(TEMPLATE.replace("</end>", "<|call|>"))
    assert json.loads(run("--json", str(original), str(package)).stdout)["differs"] is False
    (original / "generation_config.json").write_text('{"eos_token_id": [3]}')
    added = json.loads(run("--json", str(package), str(original)).stdout)["behavior"]["findings"]["added"]
    assert [one["code"] for one in added] == ["TF069"]
    last = " ".join(run(str(package), str(original)).stdout.rpartition("\n\n")[2].split())
    assert "Behavior: 0 results differ, 0 findings removed, 1 added; " in last
    assert re.search(r" prompts differ\. Settings: \d+ values differ, ", last)


@pytest.mark.parametrize(
    ("change", "same_text", "setting"),
    [
        (ReportChange("stop", [], ["x"]), False, True),
        (ReportChange("details.stop", None, None), False, True),
        (ReportChange("details.stops", None, None), False, False),
        (ReportChange("runtimes.vLLM", "x", None), False, True),
        (ReportChange("tokens", "a", "b"), False, True),
        (ReportChange("tokens.markers.<x>", {}, {}), False, True),
        (ReportChange("tokens.total", 1, 2), True, True),
        (ReportChange("tokens.total", 1, 2), False, False),
        (ReportChange("tokens.tools.f", 1, 2), None, False),
        (ReportChange("format.confidence", "declared", "verified"), False, True),
        (ReportChange("format.confidence", "verified", "model-type"), False, True),
        (ReportChange("format.confidence", "verified", "signature"), True, False),
        (ReportChange("format", "json", "lfm2"), True, True),  # a declared parser, or the model type
        (ReportChange("format", "json", "lfm2"), False, False),
        (ReportChange("format.variant", "a", "b"), False, False),
        (ReportChange("format.variant", "a", "b"), True, True),
        (ReportChange("capabilities.system", None, None), True, False),
        (ReportChange("prefill", "", "<think>"), True, False),
    ],
)
def test_what_is_a_setting(change: ReportChange, same_text: bool | None, setting: bool) -> None:
    assert _is_setting(change, same_text) is setting


def test_findings_about_files_are_settings() -> None:
    files, template = finding("TF068", "note"), finding("TF046")
    comparison = compare(report("a", files), report("b", template))
    assert (comparison.settings, comparison.behavior) == (
        Differences((), (files,), ()),
        Differences((), (), (template,)),
    )
    only_files = compare(report("a"), report("b", files))
    assert (only_files.differs, only_files.settings) == (False, Differences((), (), (files,)))
    about_files = {key for key, outcome in ALL_OUTCOMES.items() if outcome.about_files}
    assert {("TF021", "templates-in-conflict"), ("TF069", "stop-token-unknown")} < about_files
    assert not {("TF013", "calls-dropped"), ("TF069", "call-end-not-a-stop")} & about_files


@pytest.mark.sample(0)
def test_a_runtime_that_only_one_report_lists() -> None:
    printed = run(str(MODELS / "json-frames"), str(MODELS / "no-tools-no-system")).stdout
    assert "  runtimes.llama.cpp\n    - --jinja" in printed
    assert "    + not in this report\n  runtimes.any runtime\n    - not in this report\n    + " in printed


def test_advice_on_a_runtime_that_is_for_one_of_them_is_one_change() -> None:
    a = report("a")
    sections = Sections(
        runtime_support=(RuntimeSupport("vLLM", "x", None, None),), advice=(Advice("vLLM", "--tool-call-parser x"),)
    )
    other = replace(sections, runtime_support=(RuntimeSupport("vLLM", "x", "y", False),))
    changes = compare(replace(a, sections=sections), a).settings.changes
    assert changes == (ReportChange("runtimes.vLLM", "--tool-call-parser x", None),)
    changes = compare(replace(a, sections=sections), replace(a, sections=other)).settings.changes
    assert changes == (
        ReportChange("runtime_support.vLLM", {"automatic parser": "none"}, {"automatic parser": "wrong"}),
    )


# --- what is shown and counts


@pytest.fixture
def different() -> Comparison:
    """Two models that differ in everything: two responses, a setting, findings of both groups, a prompt."""
    no, yes = Answer("no", "not seen"), Answer("yes", "seen")
    a, b = report("a", finding("TF013", "error"), finding("TF068", "note")), report("b", finding("TF014"))
    a = replace(a, capabilities={**a.capabilities, "system": yes, "reasoning": yes}, prompts={"q": SamplePrompt("x")})
    capabilities = {**a.capabilities, "system": no, "reasoning": no}
    b = replace(b, capabilities=capabilities, prompts={"q": SamplePrompt("y")}, profile=TemplateProfile(stop=("z",)))
    return compare(a, b)


ALL = {"capabilities.system", "capabilities.reasoning", "stop", "TF013", "TF068", "TF014", "prompts"}


@pytest.mark.parametrize(
    ("select", "ignore", "left"),
    [
        ((), (), ALL),
        (("capabilities",), (), {"capabilities.system", "capabilities.reasoning"}),
        (("capabilities.system, stop",), (), {"capabilities.system", "stop"}),
        (("prompts",), (), {"prompts"}),
        (("findings",), (), {"TF013", "TF068", "TF014"}),
        (("calls-dropped", "tf06"), (), {"TF013", "TF068"}),
        (("settings",), (), {"stop", "TF068"}),
        (("behavior",), (), ALL - {"stop", "TF068"}),
        ((), ("capabilities.system",), ALL - {"capabilities.system"}),
        ((), ("prompts", "TF01"), ALL - {"prompts", "TF013", "TF014"}),
        ((), ("behavior",), {"stop", "TF068"}),
        ((), ("findings,settings",), {"capabilities.system", "capabilities.reasoning", "prompts"}),
        (("capabilities,TF013",), ("capabilities.reasoning",), {"capabilities.system", "TF013"}),
        (("prompts",), ("behavior",), set()),
        (("cap", "stop"), (), None),
        ((), ("propmts",), None),
    ],
)
def test_differences_are_selected(
    select: tuple[str, ...], ignore: tuple[str, ...], left: set[str] | None, different: Comparison
) -> None:
    if left is None:
        with pytest.raises(UnknownCode, match=r"no part or finding is called .*; the parts are behavior, "):
            DifferenceSelection.of(select, ignore)
        return
    kept = DifferenceSelection.of(select, ignore).apply(different)
    groups = (kept.behavior, kept.settings)
    selected = {change.what for change in all_changes(kept)}
    selected |= {one.code for group in groups for one in (*group.removed, *group.added)} | (
        {"prompts"} if kept.prompts else set()
    )
    assert (selected, kept.left_out) == (left, len(ALL) - len(left))
    assert kept.differs == bool(left - {"stop", "TF068"})


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("capabilities.system", ""),
        ("definitions.enum", ""),  # neither of the two shows tools: that is not an error
        ("safety.tool_result", ""),
        ("tokens.tools", ""),
        ("runtimes.vLLM", ""),
        ("portability.minijinja", ""),
        ("portability.llama.cpp", ""),
        ("capabilities.content_nul", "; did you mean capabilities.content_null? capabilities has tools, tool_calls, "),
        ("details.nothing_like_it", "; details has results_several, "),
        ("capabilities.system.more", "; did you mean capabilities.system? capabilities has "),
        ("variables.foo", "; of these two variables has no parts"),
        ("strategy.foo", "; of these two strategy has no parts"),
        ("prompts.foo", "; of these two prompts has no parts"),
        ("behavior.foo", "; of these two behavior has no parts"),
    ],
)
@pytest.mark.parametrize("option", ["select", "ignore"])
def test_a_part_that_is_not_there_is_a_slip(option: str, word: str, hint: str, different: Comparison) -> None:
    selection = DifferenceSelection.of(**{option: (word,)})
    if not hint:
        selection.apply(different)
        return
    with pytest.raises(UnknownCode, match=re.escape(f"no part is called {word!r}{hint}")):
        selection.apply(different)


@pytest.mark.sample(0)
def test_a_variable_that_one_of_the_two_has_is_a_part(tmp_path: Path) -> None:
    a, b = places(tmp_path, TEMPLATE, TEMPLATE + "{% if blue %}blue{% endif %}")
    assert run(a, b, "--select", "variables.blue").exit_code == 1
    wrong = run(a, b, "--select", "variables.bleu")
    assert (wrong.exit_code, wrong.stdout, wrong.stderr) == (
        2,
        "",
        "toolfmt: no part is called 'variables.bleu'; did you mean variables.blue? variables has blue\n",
    )


def last_sentence(result: Result) -> str:
    return " ".join(result.stdout.rpartition("\n\n")[2].split())


@pytest.mark.sample(0)
def test_what_is_left_out_is_counted_and_does_not_count(tmp_path: Path, different: Comparison) -> None:
    a, b = places(tmp_path, TEMPLATE, TEMPLATE.replace("<{{ message.role }}>", "[{{ message.role }}]"))
    prompts = len(json.loads(run(a, b, "--json").stdout)["behavior"]["prompts"]["differ"])
    assert last_sentence(run(a, b, "--ignore", "prompts")) == (
        f"No differences in the selected findings. {prompts} other differences are excluded by --select or --ignore."
    )
    ignored = run(a, b, "--ignore", "behavior")
    assert (ignored.exit_code, run(a, b, "--select", "prompts").exit_code) == (0, 1)
    assert json.loads(run(a, b, "--ignore", "prompts", "--json").stdout)["left_out"] == prompts > 0
    wrong = run(a, b, "--select", "nothing-like-it")
    assert (wrong.exit_code, wrong.stdout, wrong.stderr.count("\n")) == (2, "", 1)


# --- the command line


@pytest.mark.sample(0)
def test_the_exit_status_of_diff_shows_whether_the_two_differ(tmp_path: Path) -> None:
    a, b = places(tmp_path, TEMPLATE, REWRITTEN)
    same = run(a, b)
    assert (same.exit_code, same.stderr) == (0, "")
    assert same.stdout.splitlines()[-1] == "The texts differ, but the behavior is the same."
    assert run(a, a).stdout.splitlines()[-1] == "The templates have the same text and the same behavior."
    assert json.loads(run(a, b, "--json").stdout)["differs"] is False
    assert run(a, str(MODELS / "json-frames")).exit_code == 1
    for wrong in (str(tmp_path / "gone"), str(MODELS / "broken")):
        for given in ((a, wrong), (wrong, a)):
            result = run(*given)
            assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
            assert result.stderr.startswith(f"toolfmt: {wrong}")


def test_diff_shows_what_differs_and_where_the_prompts_part(tmp_path: Path) -> None:
    a, b = places(tmp_path, TEMPLATE, TEMPLATE.replace("<{{ message.role }}>", "[{{ message.role }}]") + GONE)
    result = run(a, b)
    lines = result.stdout.splitlines()
    assert result.exit_code == 1
    assert lines[:2] == [f"- {a}", f"+ {b}"]
    at = lines.index("    - <user>\\n")
    assert lines[at + 1] == "    + [user]\\n"
    assert "    + throws: the template raises: no results" in lines
    assert "; 24 of 24 prompts differ." in last_sentence(result)
    selected = last_sentence(run(a, b, "--select", "prompts"))
    assert re.fullmatch(r"24 of 24 prompts differ\. \d+ other differences are excluded by --select.*", selected)
    printed = json.loads(run(a, b, "--json").stdout)
    first = printed["behavior"]["prompts"]["differ"][0]
    assert (first["conversation"], first["at"], first["a"][:5], first["b"][:5]) == ("a question", 0, "<user", "[user")
    assert [one["what"] for one in printed["behavior"]["changes"] if one["what"].startswith("cap")] == [
        "capabilities.tool_results"
    ]


LONG = "all of this is the same in both of them, " * 4


@pytest.mark.parametrize(
    ("a", "b", "shown"),
    [
        (
            {"prompts": {"x": SamplePrompt(f"{LONG}one.\n")}},
            {"prompts": {"x": SamplePrompt(f"{LONG}two.\n")}},
            "one.\\n",
        ),
        (
            {"prompts": {"x": SamplePrompt("\u200b" * 90 + "one.")}},
            {"prompts": {"x": SamplePrompt("\u200b" * 90)}},
            "one.",
        ),
        (
            {"prompts": {"x": SamplePrompt("", TemplateFailure("raised", LONG + "one"))}},
            {"prompts": {"x": SamplePrompt("", TemplateFailure("raised", LONG + "two"))}},
            "one",
        ),
        ({"profile": TemplateProfile(stop=(LONG + "one",))}, {"profile": TemplateProfile(stop=(LONG + "two",))}, "one"),
        (
            {"profile": TemplateProfile(stop=("\u200b" * 100 + "one",))},
            {"profile": TemplateProfile(stop=("\u200b" * 100,))},
            "one",
        ),
        (
            {"sections": Sections(details={"ids_nine": Answer("no", LONG + "one")})},
            {"sections": Sections(details={"ids_nine": Answer("no", LONG + "two")})},
            "one",
        ),
    ],
)
def test_what_differs_is_shown_however_much_before_it_is_the_same(
    a: dict[str, Any], b: dict[str, Any], shown: str
) -> None:
    text = comparison_text(compare(replace(report("a"), **a), replace(report("b"), **b)), 300, False)
    (line,) = [line for line in text.splitlines() if line.startswith("    -")]
    assert line.endswith(shown)
    assert line.startswith("    - throws: …") == ("TemplateFailure(" in repr(a))
    assert "…" in line
    assert len(line) < 110


def test_a_value_that_is_cut_after_a_difference_starts_at_its_beginning() -> None:
    start = LONG[:60]
    a, b = (
        replace(
            report(name),
            profile=TemplateProfile(stop=(f"{start} {name} {LONG}",)),
            prompts={"x": SamplePrompt("", TemplateFailure("raised", f"{start[:38]} {name} {LONG}"))},
        )
        for name in "ab"
    )
    text = comparison_text(compare(a, b), 300, False)
    assert f"    - {start} a all of" in text
    assert f"    - throws: the template raises: {start[:38]} a a" in text


def test_a_difference_caused_by_other_files_is_reported_as_such(tmp_path: Path) -> None:
    a, b = places(tmp_path, TEMPLATE + "{{ eos_token }}", TEMPLATE + "{{ eos_token }}")
    Path(b, "tokenizer_config.json").write_text('{"eos_token": "</s>"}')
    Path(a, "tokenizer_config.json").write_text('{"eos_token": "<eos>"}')
    assert "The templates are the same text; other files make the difference" in " ".join(run(a, b).stdout.split())


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_a_comparison_fits_its_width_and_moves_no_cursor(columns: int) -> None:
    hostile = "\x1b[2J\u202e[red]" * 20
    a = replace(report("a"), prompts={"a question": SamplePrompt("x"), "two": SamplePrompt("", RAISED)})
    b = replace(
        report(hostile, replace(finding("TF013"), message=hostile)),
        prompts={"a question": SamplePrompt(hostile), "two": SamplePrompt("", TemplateFailure("raised", hostile))},
        sections=Sections(details={hostile: Answer("no", hostile)}),
        profile=TemplateProfile(stop=(hostile,)),
    )
    text = comparison_text(compare(a, b), columns, False)
    assert text == comparison_text(compare(a, b), columns, False)
    assert {"\x1b", "\u202e"} & set(text) == set()
    assert max(map(len, text.splitlines())) <= columns


@pytest.mark.sample(0)
def test_every_pair_of_model_directories_compares_the_same_both_ways() -> None:
    names = sorted(path.name for path in MODELS.iterdir() if path.name != "broken")[:5]
    reports = {name: inspect_template((MODELS / name / "chat_template.jinja").read_text("utf-8")) for name in names}
    for a in names:
        for b in names:
            there, back = compare(reports[a], reports[b]), compare(reports[b], reports[a])
            assert there.differs == (a != b)
            for one, other in ((there.behavior, back.behavior), (there.settings, back.settings)):
                assert {(change.what, str(change.a), str(change.b)) for change in one.changes} == {
                    (change.what, str(change.b), str(change.a)) for change in other.changes
                }
                assert (one.added, one.removed) == (other.removed, other.added)


def test_a_chapter_that_only_one_has_is_one_change() -> None:
    a = inspect_template(TEMPLATE)
    counted = Tokens((), 10, (ToolCost("f", 20),), 30, given=False, context=None, room=None, leave_out=())
    other = replace(a, sections=replace(a.sections, tokens=counted, definitions={}))
    changes = {change.what: (change.a, change.b) for change in all_changes(compare(other, a))}
    assert changes == {
        "definitions": (None, f"{len(a.sections.definitions)} answers"),
        "tokens": ("counted with its tokenizer.json", "not counted"),
    }


@pytest.mark.sample(0)
def test_one_template_in_two_files_does_not_differ(tmp_path: Path) -> None:
    source = (MODELS / "json-frames" / "chat_template.jinja").read_text("utf-8")
    files = [tmp_path / "a file.jinja", tmp_path / "another.jinja"]
    for file in files:
        file.write_text(source, "utf-8")
    result = CliRunner().invoke(main, ["diff", *map(str, files)])
    assert result.exit_code == 0
    assert "settings differ" not in result.stdout
