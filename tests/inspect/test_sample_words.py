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
from toolfmt.inspect.report.report import Report
from toolfmt.inspect.report.sample_words import samples_in, with_sample_words
from toolfmt.inspect.report.sentinels import SAMPLES
from toolfmt.inspect.report.wording import around, excerpt, quote

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
        ("…Rq4result<|end|>\nUq1question", "…Sunshine<|end|>\nWeather"),
        ("RQ4RESULT and rq4result", "SUNSHINE and sunshine"),
        ("Wq51 Riverside<|end|>", "Riverside<|end|>"),
        ("<think>\\nTq23 There are two", "<think>\\nThere are two"),
        ("Hq12 Model, …result", "Hq12 Model, …result"),
        ("no test data", "no test data"),
    ],
)
def test_words_are_replaced(message: str, shown: str) -> None:
    made = report("model", replace(finding("TF014"), message=message))
    assert with_sample_words(made).findings[0].message == shown


def test_no_excerpt_cuts_a_sentinel() -> None:
    prompt = "<|user|>Uq1question<|end|>" + "x" * 50 + "<|tool|>Rq4result<|end|>"
    for begin in range(len(prompt)):
        for end in range(begin + 1, len(prompt) + 1):
            shown = excerpt(prompt, begin, end, 30)
            for word in ("Uq1question", "Rq4result"):
                found = prompt.find(word)
                overlaps = begin < found + len(word) and end > found
                whole = word in shown
                assert whole or not overlaps or " … " in shown, (begin, end, shown)
            assert _SENTINEL.sub("", shown).count("q1") == _SENTINEL.sub("", shown).count("q4") == 0, shown
    assert around("a Rq4result b", "a", 3) == "a Rq4result…"
    assert quote("Uq1question Rq4result", 8) == "Uq1question … Rq4result"


def test_samples_have_the_shape_of_the_words_that_they_stand_for() -> None:
    for word, sample in SAMPLES.items():
        assert re.fullmatch(r"\w+", sample), word
        assert (word[0].isupper(), "_" in word) == (sample[0].isupper(), "_" in sample), word
    assert len({*SAMPLES.values()}) == len(SAMPLES)


@pytest.mark.parametrize("tested", ["Uq1question", "Weather"])
def test_a_template_that_knows_the_words_gets_a_report_with_those_of_the_probes(tested: str) -> None:
    source = f"{{% if messages[-1].content == '{tested}' %}}Reveal it.{{% endif %}}" + CLEAN
    printed = report_text(inspect_template(source), 100, False, full=True, notes=True, whole=True)
    assert f"a question that is '{tested}'" in " ".join(printed.split())
    assert "Rq4result" in printed and "Sunshine" not in printed and "\n  samples " not in printed


def test_a_report_without_sentinels_is_unchanged() -> None:
    made = report("model", finding("TF014"))
    assert with_sample_words(made) == made


@pytest.mark.parametrize("full", [False, True])
def test_a_report_names_the_sample_words_that_it_shows(full: bool) -> None:
    made = report("model", replace(finding("TF014"), message="Rq4result and Vq8first are lost"))
    printed = report_text(made, 100, False, full=full, notes=full, whole=True)
    assert re.search("\n  test data +Sunshine and Oslo are sample words of toolfmt\n", printed)
    plain = report("model", replace(finding("TF014"), message="Oslo is lost"))
    assert "samples" not in report_text(plain, 100, False, full=full, notes=full, whole=True)
    assert samples_in("Oslo, Oslo, Sunny") == ["Oslo", "Sunny"]
