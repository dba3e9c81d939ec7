"""The cases of a local model server's parsers, if `../shared` is present: their expectations hold.

Cases that this design decides differently are in `decided_differently.py` with a reason, and must give a different
result.
"""

from __future__ import annotations

from typing import Any

import pytest
from decided_differently import SERVER_DECIDED_DIFFERENTLY
from guarantees import events_of
from recorded_cases import cases, read, server_outcome

pytestmark = pytest.mark.outside


@pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in cases("server.jsonl")])
def test_server(case: Any) -> None:
    expected, actual = server_outcome(case, read(case, "input"))
    if case["id"] in SERVER_DECIDED_DIFFERENTLY:
        assert actual != expected, f"{case['id']} comes out as expected: take it off the list"
    else:
        assert actual == expected


def test_pieces_do_not_matter() -> None:
    """Guarantee 1 for all of them, one character at a time."""
    for case in cases("server.jsonl"):
        options = {"tools": case["tools"], "prefix": case["prefix"]}
        whole = events_of(case["format"], [case["input"]], **options)
        assert events_of(case["format"], case["input"], **options) == whole, case["id"]


def test_every_decision_is_about_a_case() -> None:
    known = {case["id"] for case in cases("server.jsonl")}
    assert set(SERVER_DECIDED_DIFFERENTLY) <= known
