"""Recorded outputs of real models, if `../shared` is present: how many known calls are read, and that none raises.

`benchmarks/recorded_answers.py` prints the same numbers with samples of missed calls, for a person to read.
"""

from __future__ import annotations

from typing import Any

import depth
import pytest
from guarantees import check_arguments, check_shape, check_tiling, cut, dropped, events_of
from recorded_cases import calls_of, cases, read, went

from toolfmt.formats import get

pytestmark = pytest.mark.outside

READ_AT_LEAST = 0.97
"""The number of outputs with known calls that are read exactly."""
CALLS_WHERE_NO_TOOL_FITS = 132
"""The number of outputs to questions without a fitting tool that make calls: the models wrote them, six of them in the
syntax of another format."""
EVERY = 8
"""One output in so many is cut at several positions and character by character."""


@pytest.mark.sample(0)
def test_known_calls_are_read(record_property: Any) -> None:
    known = [case for case in cases("real.jsonl") if case["calls"] is not None]
    outcomes = [went(case, read(case)) for case in known]
    count = outcomes.count("read")
    record_property("share", f"{count} of {len(known)} known calls read ({count / len(known):.1%})")
    assert count / len(known) >= READ_AT_LEAST, {outcome: outcomes.count(outcome) for outcome in sorted(set(outcomes))}


@pytest.mark.sample(0)
def test_calls_where_no_tool_fits(record_property: Any) -> None:
    """Every call is one of a declared tool; the number of outputs with a call is fixed, so that a change is noticed."""
    relevance_cases = [case for case in cases("real.jsonl") if case["kind"] == "relevance"]
    made = {case["id"]: calls_of(read(case)) for case in relevance_cases}
    for case in relevance_cases:
        declared = {tool["function"]["name"] for tool in case["tools"]}
        assert {call["name"] for call in made[case["id"]]} <= declared
    count = sum(map(bool, made.values()))
    record_property("share", f"{count} of {len(relevance_cases)} answers make a call where no tool fits")
    assert count <= CALLS_WHERE_NO_TOOL_FITS


@pytest.mark.sample(1)
@pytest.mark.parametrize("file", ["real.jsonl", "recorded.jsonl"])
def test_recorded_answers_keep_the_invariants(file: str, record_property: Any) -> None:
    """Guarantees 1 to 5 for all of them; chunks for a sample."""
    found = depth.some(cases(file), 4)
    record_property("share", f"{len(found)} answers of {file} read")
    for number, case in enumerate(found):
        options = {"tools": case["tools"], "prefix": case.get("prefix", "")}
        text, format = case["output"], case["format"]
        whole = events_of(format, [text], **options)
        check_shape(whole)
        check_arguments(whole)
        if not options["prefix"]:
            check_tiling(text, whole, dropped(get(format)))
        if number % EVERY == 0:
            assert events_of(format, text, **options) == whole, case["id"]
            for size in (2, 3, 7, 31):
                assert events_of(format, cut(text, range(0, len(text), size)), **options) == whole, case["id"]
