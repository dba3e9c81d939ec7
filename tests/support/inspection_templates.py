"""A template with a call format, its variants, and model directories that have them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from toolfmt.inspect.inspection import inspect_files
from toolfmt.inspect.report.report import Finding, Report
from toolfmt.templates import load_files

TOOLS_PART = "{% if tools %}<tools>{% for tool in tools %}{{ tool | tojson }}{% endfor %}</tools>{% endif %}\n"

CALL = '<tool_call>\n{"name": "{{ call.function.name }}", "arguments": {{ arguments }}}\n</tool_call>'

EITHER_FORM = (
    "{% set arguments = call.function.arguments if call.function.arguments is string "
    "else call.function.arguments | tojson %}"
)

TEMPLATE = (
    TOOLS_PART
    + "{% for message in messages %}<|{{ message.role }}|>\n"
    + "{% if message.reasoning_content %}<think>{{ message.reasoning_content }}</think>{% endif %}"
    + "{{ message.content or '' }}"
    + "{% for call in message.tool_calls or [] %}"
    + EITHER_FORM
    + CALL
    + "\n{% endfor %}<|end|>\n{% endfor %}"
    + "{% if add_generation_prompt %}<|assistant|>\n<think>\n{% endif %}"
)
"""A template at which nothing is wrong."""

PLAIN = "{% for message in messages %}<|{{ message.role }}|>\n{{ message.content }}<|end|>\n{% endfor %}"


def changed(*replacements: tuple[str, str], template: str = TEMPLATE) -> str:
    for old, new in replacements:
        assert old in template
        template = template.replace(old, new)
    return template


def codes(report: Report) -> list[str]:
    """Errors and warnings, except that mlx-lm does not find the parser of these templates by itself."""
    return [finding.code for finding in report.findings if finding.code != "TF061"]


def label(finding: Finding) -> str:
    """Its code, or its outcome if its check has several."""
    return finding.code if finding.outcome == finding.name else finding.outcome


def directory(path: Path, template: str | None = TEMPLATE, **files: Any) -> Report:
    if template is not None:
        (path / "chat_template.jinja").write_text(template, encoding="utf-8")
    for name, value in files.items():
        (path / f"{name}.json").write_text(json.dumps(value), encoding="utf-8")
    return inspect_files(load_files(path))
