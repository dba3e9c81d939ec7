"""Reports for people show sample words instead of the sentinels of the probes."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from invented_reports import CLEAN, finding, report
from model_cases import MODELS

import toolfmt
from toolfmt.cli.printing.page import report_page
from toolfmt.cli.printing.report import report_text
from toolfmt.inspect.inspection import inspect_template
from toolfmt.inspect.probe import conversations
from toolfmt.inspect.report.report import Effect, Report, Variable
from toolfmt.inspect.report.sample_words import SAMPLES, has_sentinels, with_sample_words

_SENTINEL = re.compile(r"[A-Z][a-z]\d[a-z]{3,}|\b(?:find|set|tell|ask)_z?q[a-z]{3,}|\bzq[a-z]+|\b[A-Z]q\d{2}\b")


def inspected(name: str) -> Report:
    return toolfmt.load(MODELS / name, trusted=True).inspect()


@pytest.mark.parametrize("name", sorted(path.name for path in MODELS.iterdir() if path.is_dir()))
def test_no_report_for_people_has_a_sentinel(name: str) -> None:
    model = inspected(name)
    printed = report_text(model, 100, False, full=True, notes=True, whole=True)
    assert _SENTINEL.findall(printed.replace("\n", " ")) == []
    assert _SENTINEL.findall(report_page(model)) == []


def test_the_sentinels_of_conversations_have_samples() -> None:
    texts = {value for name, value in vars(conversations).items() if name.isupper() and isinstance(value, str)}
    assert texts - {conversations.PARAMETER, conversations.ID} <= set(SAMPLES)
    assert set(conversations.VALUES) <= set(SAMPLES)


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("find_qplace(place=Vq8first)", "get_weather(place=Oslo)"),
        ("…Rq4result<|end|>\nUq1question", "…sunny<|end|>\nIs it sunny?"),
        ("RQ4RESULT and rq4result", "SUNNY and sunny"),
        ("…qplace:0 and find_qpl…", "…:0 and …"),
        ("Wq51 Riverside<|end|>", "Riverside<|end|>"),
        ("no test data", "no test data"),
    ],
)
def test_words_are_replaced(message: str, shown: str) -> None:
    made = report("model", replace(finding("TF014"), message=message))
    assert with_sample_words(made).findings[0].message == shown


def test_what_every_report_shows_is_searched_for_sentinels() -> None:
    plain = report("model", finding("TF014"))
    assert not has_sentinels(plain)
    assert has_sentinels(report("model", replace(finding("TF014", "note"), message="Rq4result is lost")))
    variable = Variable("thinking", "false", (Effect("adds", "adds {}", ("Tq5thought",)),))
    assert has_sentinels(replace(plain, sections=replace(plain.sections, variables=(variable,))))


def test_a_sentinel_that_the_template_tests_for_is_shown_as_it_is() -> None:
    source = "{% if messages[-1].content == 'Uq1question' %}Reveal it.{% endif %}" + CLEAN
    made = inspect_template(source)
    printed = report_text(made, 100, False, full=False, notes=True, whole=True)
    assert "a question that is 'Uq1question'" in " ".join(printed.split())
    assert "sunny" not in printed and "\n  samples " not in printed


def test_a_report_without_sentinels_is_unchanged() -> None:
    made = report("model", finding("TF014"))
    assert with_sample_words(made) == made


def test_a_full_report_explains_sample_words_in_its_scope() -> None:
    made = report("model", replace(finding("TF014"), message="Rq4result is lost"))
    short, full = (report_text(made, 100, False, full=full, notes=full, whole=True) for full in (False, True))
    assert "\n  samples " in short
    assert "\n  samples " not in full
