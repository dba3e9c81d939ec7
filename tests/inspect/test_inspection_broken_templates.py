"""Templates broken on purpose, in ways in which publishers do break them, inspected as a publisher would in CI.

The intact template passes. Each broken one has its severity, and one finding that reports what is broken, where, and
how to fix it. The intact one is that of `corpus/models/json-frames`, with content null made harmless.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from inspection_templates import label

from toolfmt.cli.commands import main
from toolfmt.inspect.inspection import inspect_template
from toolfmt.inspect.report.report import Finding

HOME = Path(__file__).resolve().parents[2] / "corpus" / "models" / "json-frames"
SOUND = (HOME / "chat_template.jinja").read_text(encoding="utf-8")
TOKENS = {
    "1": {"content": "<|endoftext|>", "special": True},
    "2": {"content": "<|im_start|>", "special": True},
    "3": {"content": "<|im_end|>", "special": True},
}
FILES: dict[str, dict[str, Any]] = {
    "config.json": {"model_type": "qwen3", "eos_token_id": 3},
    "generation_config.json": {"eos_token_id": [3, 1]},
    "tokenizer_config.json": {"eos_token": "<|im_end|>", "added_tokens_decoder": TOKENS},
}
CALLS = SOUND[SOUND.index("        {%- for call in") : SOUND.index("        {{- '<|im_end|>\\n' }}")]
ENDING = "        {{- '<|im_end|>\\n' }}\n    {%- elif message.role == 'tool' %}"
GENERATION = "{{- '<|im_start|>assistant\\n' }}\n{%- endif %}"


def broken(old: str, new: str) -> str:
    """The intact template with one stretch of it changed, which occurs once."""
    assert SOUND.count(old) == 1, old
    return SOUND.replace(old, new)


def line_of(template: str, stretch: str) -> int:
    """The line (from 1) in which this first appears."""
    return template[: template.index(stretch)].count("\n") + 1


@dataclass(frozen=True)
class Break:
    """What a publisher did, and what an inspection must report: the severity, the finding, a part of each of its
    messages, and the text in whose line the error is.
    """

    template: str
    severity: str
    code: str
    message: str
    fix: str
    at: str = ""
    files: dict[str, dict[str, Any]] = field(default_factory=dict)


BREAKS = {
    "the loop over tools lost": Break(
        broken("    {%- for tool in tools %}\n        {{- '\\n' + tool | tojson }}\n    {%- endfor %}\n", ""),
        "note", "tools-not-rendered", "reads tools but does not render them", "print each of them",
    ),
    "the calls of the history lost": Break(
        broken(CALLS, ""),
        "warning", "TF013", "drops calls from the history", "print each of `message.tool_calls`",
        "message.content or ''",
    ),
    "calls read without their wrapper": Break(
        broken("call.function or call", "call"),
        "warning", "TF013", "under `function`, it is rejected", "name and arguments from `tool_call.function`",
        "function.name",
    ),
    "strings encoded a second time": Break(
        broken("function.arguments if function.arguments is string else function.arguments | tojson",
               "function.arguments | tojson"),
        "warning", "double-encoded", "are double-encoded", "print `arguments` unchanged if it is a string",
    ),
    "the role of results renamed": Break(
        broken("message.role == 'tool'", "message.role == 'observation'"),
        "warning", "TF020", "(role `tool`) is not in the prompt", "print `message.content` of the role `tool`",
    ),
    "a marker misspelt in the calls": Break(
        broken("{{- '<tool_call>\\n{\"name\": \"' +", "{{- '<tool_cal>\\n{\"name\": \"' +"),
        "error", "no-known-format", "It is what json writes, but with '<tool_cal>' instead of '<tool_call>'",
        "Correct the template there", "<tool_cal>",
    ),
    "a marker misspelt in the instructions": Break(
        broken("write:\\n<tool_call>", "write:\\n<tool_cal>"),
        "warning", "TF048", "say <tool_cal>, the calls are rendered with <tool_call>", "the same marker in both places",
        "<tool_cal>",
    ),
    "the end of a turn with a call lost": Break(
        broken(ENDING, ENDING.replace("\\n' }}", "\\n' if not message.tool_calls }}", 1)),
        "warning", "TF046", "A turn with a call lacks the end marker <|im_end|>", "Add <|im_end|> after the calls",
        "{{- '}\\n</tool_call>' }}",
    ),
    "the generation prompt lost": Break(
        broken("{%- if add_generation_prompt %}\n    " + GENERATION, ""),
        "warning", "TF038", "in the history a response starts with '<|im_start|>assistant'",
        '{% if add_generation_prompt %}{{- "<|im_start|>assistant\\n" }}{% endif %}',
    ),
    "the tools printed as Python writes them": Break(
        broken("tool | tojson", "tool | string"),
        "note", "TF044",
        "as Python objects (single quotes, True, None), not as JSON: …ction', 'function': {'name':",
        "`{{ tool | tojson }}`", "tool | string",
    ),
    "the clock asked": Break(
        broken("{{- 'These functions", "{{- strftime_now('%d %b %Y') + ': These functions"),
        "note", "date-in-prompt", "prints the date", "fixed time", "strftime_now",
    ),
    "the system message refused": Break(
        "{% if messages[0].role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}" + SOUND,
        "warning", "system-message-lost",
        "raises: System role not supported", "at the beginning of the first user message",
        "raise_exception",
    ),
    "the first call only": Break(
        broken("message.tool_calls or []", "(message.tool_calls or [])[:1]"),
        "warning", "TF019", "the second is dropped", "go through all of `message.tool_calls`",
    ),
    "tools under another name": Break(
        broken("{%- if tools %}", "{%- if functions %}"),
        "note", "tools-not-rendered",
        "only if the variable functions is passed too", "test `tools` instead of functions",
        "{%- if functions %}",
    ),
    "escaped for HTML as it is shown in a page": Break(
        SOUND.replace("<", "&lt;").replace(">", "&gt;"),
        "error", "no-known-format", "It is what json writes, but escaped for HTML", "Correct the template there",
        "'&lt;tool_call&gt;",
    ),
    "line ends escaped twice": Break(
        SOUND.replace("\\n", "\\\\n"),
        "error", "no-known-format",
        "but with a backslash and the letter n for each line end", "Correct the template there",
    ),
    "saved with a byte order mark": Break(
        "\ufeff" + SOUND,
        "warning", "TF047", "a byte order mark (U+FEFF) into the prompt", "Save the template as UTF-8 without",
    ),
    "saved with the line ends of Windows": Break(
        broken("'\\n' + tool | tojson", "'\n' + tool | tojson").replace("\n", "\r\n"),
        "note", "other-engine-differs", "renders differently", "Save the template with plain line ends (LF)",
    ),
    "the template of another family": Break(
        SOUND.replace("<|im_start|>", "<|turn|>").replace("<|im_end|>", "<|over|>"),
        "warning", "response-end-not-a-stop", "ends a response with <|over|>, which is not a token of this model",
        "written for a model with other tokens",
    ),
    "another end of sequence in the configuration": Break(
        SOUND,
        "warning", "response-end-not-a-stop",
        "the model's files stop at <|endoftext|>", "Make <|im_end|> the eos_token",
        files={
            "config.json": {"model_type": "qwen3", "eos_token_id": 1},
            "generation_config.json": {"eos_token_id": 1},
            "tokenizer_config.json": {"eos_token": "<|endoftext|>", "added_tokens_decoder": TOKENS},
        },
    ),
    "the end of sequence left out of generation_config.json": Break(
        SOUND,
        "warning", "response-end-not-a-stop",
        "eos_token_id in generation_config.json names <|endoftext|>: transformers does not stop there",
        "Add the id of <|im_end|>",
        files={"generation_config.json": {"eos_token_id": 1}},
    ),
    "an older template in the file that wins": Break(
        "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
        "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}",
        "warning", "TF021", "chat_template.jinja is used by transformers",
        "Put the template of tokenizer_config.json into every place",
        files={"tokenizer_config.json": {"eos_token": "<|im_end|>", "chat_template": SOUND}},
    ),
    "an empty file": Break("", "error", "TF003", "the prompt is empty", "Use another template"),
    "a filter that no renderer has": Break(
        broken("message.content or ''", "message.content | strip"),
        "error", "TF002", "uses the filter `strip`", "Remove the filter", "| strip",
    ),
}  # fmt: skip

UNPARSED = {
    "an endfor lost": (
        SOUND.replace("        {%- endfor %}\n        {{- '<|im_end|>\\n' }}\n", "        {{- '<|im_end|>\\n' }}\n"),
        f"look at the `for` in line {line_of(SOUND, '{%- for call in')}, which is not closed",
    ),
    "the quotes of a word processor": (
        broken("message.role == 'tool'", "message.role == \u2018tool\u2019"),
        "\u2018 is not a quotation mark in jinja2: write ' or \"",
    ),
    "escaped for HTML, quotes and all": (
        SOUND.replace("'", "&#39;"),
        "the source is escaped for HTML, with &#39; in it: unescape it",
    ),
    "cut off": (
        SOUND[: SOUND.index("{%- if add_generation_prompt")] + "{%- if add_gen",
        "the file ends in the middle of a tag",
    ),
}


def directory(home: Path, template: str, files: dict[str, dict[str, Any]] | None = None) -> Path:
    for name, values in {**FILES, **(files or {})}.items():
        (home / name).write_text(json.dumps(values), encoding="utf-8")
    (home / "chat_template.jinja").write_bytes(template.encode())
    return home


def inspected(home: Path, *options: str) -> tuple[int, list[dict[str, Any]]]:
    """The exit status of `toolfmt inspect`, and the findings and notes that it prints."""
    result = CliRunner().invoke(main, ["inspect", str(home), "--json", "--trusted", *options])
    report = json.loads(result.stdout)
    return result.exit_code, [*report["findings"], *report["notes"]]


def test_the_sound_template_passes(tmp_path: Path) -> None:
    status, findings = inspected(directory(tmp_path, SOUND))
    # That mlx-lm does not find its parser is a setting of the model, not an error in the template.
    assert (status, [one["outcome"] for one in findings if one["severity"] != "note"]) == (0, ["parser-not-inferred"])


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", BREAKS)
def test_a_break_is_reported_with_its_line_and_what_to_fix(name: str, tmp_path: Path) -> None:
    made = BREAKS[name]
    status, findings = inspected(directory(tmp_path, made.template, made.files))
    (found,) = [one for one in findings if made.code in (one["code"], one["outcome"])]
    assert (found["severity"], status) == (made.severity, int(made.severity == "error")), findings
    assert made.message in found["message"]
    assert made.fix in found["fix"]
    assert not made.at or found["line"] == line_of(made.template, made.at)


@pytest.mark.parametrize("name", UNPARSED)
def test_what_does_not_parse_is_reported_with_what_to_check(name: str, tmp_path: Path) -> None:
    template, message = UNPARSED[name]
    result = CliRunner().invoke(main, ["inspect", str(directory(tmp_path, template)), "--trusted"])
    assert (result.exit_code, result.stderr) == (1, "")
    assert message in " ".join(result.stdout.split())


def notes(template: str, code: str) -> list[Finding]:
    return [one for one in inspect_template(template).notes if label(one) == code]


def test_a_line_end_missing_from_the_generation_prompt_is_a_note() -> None:
    cut = broken(GENERATION, "{{- '<|im_start|>assistant' }}\n{%- endif %}")
    (found,) = notes(cut, "TF045")
    assert "without the line end that the template writes there before a response" in found.message
    assert found.line == line_of(cut, "{{- '<|im_start|>assistant' }}")
    assert notes(SOUND, "TF045") == []


def test_reasoning_that_is_opened_and_never_closed_is_reported() -> None:
    left = broken("{{- message.content or '' }}", "{{- '<think>' + (message.content or '') }}")
    found = [one for one in inspect_template(left).findings if label(one) == "TF046"]
    assert [one.message for one in found] == [
        "A response without reasoning follows <think>, which is never closed: "
        "'<|im_end|>\\n<|im_start|>assistant\\n<think>Aq3reply'."
    ]


def test_an_end_marker_that_the_parser_overlooks_is_reported() -> None:
    home = HOME.parent / "xml-functions"
    source = (home / "chat_template.jinja").read_text(encoding="utf-8")
    closer = "</function>\\n</tool_call>"
    assert source.count(closer) >= 1
    cut = source[: source.rindex(closer)] + "</function>" + source[source.rindex(closer) + len(closer) :]
    found = [one for one in inspect_template(cut).findings if label(one) == "TF026"]
    assert len(found) == 1
    assert "only with a tolerance" in found[0].message
    assert "omits '\\n</tool_call>' after" in found[0].message
