"""Grammar against parser, both ways (`tests/support/oracle.py`); `benchmarks/oracle.py` tries any number of texts.

A run tries a few variants and texts of each kind; the long run tries all variants, 30 sentences of each, and every
output of the corpus.
"""

from __future__ import annotations

from random import Random
from typing import Any

import depth
import pytest
from hypothesis import Phase, assume, given, settings
from oracle import (
    NOTED_SPELLINGS,
    SPELLINGS,
    TOOLS,
    Judgement,
    RejectedText,
    check_schemas,
    decided,
    holds_a_key_twice,
    judged,
    listed,
    sentences,
    spelling,
    strictly_read,
    written_and_mutated,
)

from toolfmt.formats import FORMATS
from toolfmt.testing.corpus import Case, cases

IDS = [f"{name}, {variant}" if variant else name for name, variant in SPELLINGS]


@pytest.mark.sample(2)
@pytest.mark.parametrize(("name", "variant"), depth.spread([one for one in SPELLINGS if one not in NOTED_SPELLINGS], 9))
def test_every_sentence_of_the_grammar_is_read_strictly_into_calls_that_the_schemas_allow(
    name: str, variant: str
) -> None:
    format = spelling(name, variant)

    @settings(max_examples=30 if depth.every else 6, phases=[Phase.generate])
    @given(sentences(format, TOOLS))
    def read(text: str) -> None:
        try:
            check_schemas(strictly_read(format, text, TOOLS).calls, TOOLS)
        except RejectedText:
            assume(not holds_a_key_twice(format, text, TOOLS))
            raise

    read()


@pytest.mark.sample(3)
@pytest.mark.parametrize(("name", "variant"), depth.spread(SPELLINGS, 9), ids=depth.spread(IDS, 9))
@pytest.mark.parametrize("tools", [TOOLS, None], ids=["tools", "no tools"])
def test_what_strict_reading_takes_is_in_the_grammar(name: str, variant: str, tools: list[Any] | None) -> None:
    written, mutations = (8, 30) if depth.every else (2, 12)
    texts = written_and_mutated(name, variant, Random(f"{name} {variant}"), written, mutations)
    assert [text for text in texts if not judged(name, text, tools).agree] == []


CASES = [case for case in cases() if not case.prefix and case.tools != []]


@pytest.mark.parametrize("case", depth.spread(CASES, 40), ids=lambda case: case.id)
def test_answers_of_the_corpus_that_strict_reading_takes_are_in_the_grammar(case: Case) -> None:
    """Exceptions are listed with the reason in `oracle_corpus.json`, which lists nothing that a grammar accepts."""
    assert judged(case.format, case.text, case.tools).agree == (case.id not in decided())


def test_every_case_that_is_listed_is_there() -> None:
    assert sorted(set(decided()) - {case.id for case in CASES}) == []
    assert all(decided().values())


@pytest.mark.sample(5)
@pytest.mark.parametrize("name", [format.name for format in FORMATS])
def test_the_grammar_has_what_is_written(name: str) -> None:
    """Shows that the other tests are not vacuous: a plain call is accepted, and one to another tool is not."""
    text = spelling(name).writer.write([("now", {})], lambda name, *path: None)
    assert judged(name, text, TOOLS) == Judgement("", "unchanged")
    assert judged(name, text, TOOLS[:1]).rejected


@pytest.mark.parametrize("entry", listed(), ids=lambda entry: entry["pattern"])
def test_what_is_listed_is_met(entry: dict[str, Any]) -> None:
    """An entry that is no longer needed must be removed. Its example is a text of the first format it names."""
    assert entry["reason"]
    names = ["json"] if entry["formats"] == ["*"] else entry["formats"]
    assert [judged(name, entry["example"], TOOLS).has for name in names] == ["listed"] * len(names)
