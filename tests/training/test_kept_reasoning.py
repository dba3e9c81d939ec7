"""The change that keeps reasoning: which operands are tried, and that it is the only difference."""

from __future__ import annotations

from pathlib import Path

import pytest
from model_cases import MODELS

import toolfmt
from toolfmt.errors import ToolfmtError
from toolfmt.training.kept_reasoning import with_kept_reasoning

TEMPLATE = (MODELS / "json-frames" / "chat_template.jinja").read_text("utf-8")
REASONING = "{%- if message.reasoning_content %}"


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("{% if loop.last %}x{% endif %}", "{% if true %}x{% endif %}"),
        ("{% if a and not (b or loop.index0 < n) %}{% endif %}", "{% if a and not (b or false) %}{% endif %}"),
        ("{% if a and (loop.last or b) %}{% endif %}", "{% if a and (true or b) %}{% endif %}"),
        ("{% if f(loop.last and 1) and c %}{% endif %}", "{% if f(true and 1) and c %}{% endif %}"),
        ("{% if a %}{% elif x[0] >= y %}{% endif %}", "{% if a %}{% elif true %}{% endif %}"),
        ("{% if loop.last %}x{% endif %}\r\n", "{% if true %}x{% endif %}\r\n"),
    ],
)
def test_an_operand_about_positions_becomes_a_constant(source: str, wanted: str) -> None:
    tried: list[str] = []

    def problems(text: str) -> int:
        tried.append(text)
        return int(text != wanted.replace("\r\n", "\n"))

    if "f(loop" in source:
        assert with_kept_reasoning(source, problems) is None  # the argument of a function is not an operand
    else:
        assert with_kept_reasoning(source, problems) == wanted
    assert len(tried) == len(set(tried))


def test_several_changes_are_made_and_none_that_does_not_help() -> None:
    source = "{% if loop.last %}{% endif %}{% if loop.first %}{% endif %}{% if 1 > 2 %}{% endif %}"
    found = with_kept_reasoning(source, lambda text: 2 - text.count("true"))
    assert found is not None
    assert (found.count("true"), found.count("false")) == (3, 0)
    assert with_kept_reasoning(source, lambda text: 1) is None
    assert with_kept_reasoning(source, lambda text: None) is None
    assert with_kept_reasoning("{% if loop.last %}{% endif %}\r\n\n", lambda text: int("true" not in text)) is None


def test_a_change_is_not_acceptable_if_it_changes_other_conversations(tmp_path: Path) -> None:
    changed = TEMPLATE.replace(REASONING, "{%- if loop.last %}{{ '' }}{% else %}{{ '!' }}{% endif %}" + REASONING)
    assert changed != TEMPLATE
    for template in (TEMPLATE, changed):
        (tmp_path / "chat_template.jinja").write_text(template, "utf-8")
        (tmp_path / "tokenizer_config.json").write_text('{"eos_token": "<|im_end|>"}')
        with pytest.raises(ToolfmtError, match="no condition of the template was found whose change keeps reasoning"):
            toolfmt.load(tmp_path, trusted=True).inspect_training(keep_reasoning=True)


@pytest.mark.sample(1)
@pytest.mark.parametrize("trusted", [True, False])
def test_the_report_is_on_the_changed_template(trusted: bool, tmp_path: Path) -> None:
    drops = TEMPLATE.replace(REASONING, "{%- if loop.last and message.reasoning_content %}")
    (tmp_path / "chat_template.jinja").write_text(drops, "utf-8")
    (tmp_path / "tokenizer_config.json").write_text('{"eos_token": "<|im_end|>"}')
    model = toolfmt.load(tmp_path, trusted=trusted)
    names = [finding.name for finding in model.inspect_training().findings]
    assert "reasoning-dropped" in names
    report = model.inspect_training(keep_reasoning=True)
    assert [finding.name for finding in report.findings] == ["generation-tags-missing"]
    assert report.kept_source == TEMPLATE.replace(REASONING, "{%- if true and message.reasoning_content %}")
