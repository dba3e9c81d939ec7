"""The list of faults in other projects' parsers: each is one, and still happens in the version it was found in."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.peer_faults import PROJECTS, Fault, faults, page, same
from toolfmt import parse

FAULTS = faults()
ALWAYS = {"mlx-lm", "transformers"}
IMPORTED = {"mlx-lm": "mlx_lm", "transformers": "transformers", "vLLM": "vllm", "SGLang": "sglang"}


def test_the_page_is_made_of_the_list() -> None:
    assert (Path(__file__).parents[2] / "docs" / "faults.md").read_text("utf-8") == page(FAULTS)


def test_a_fault_has_a_name_of_its_own_that_says_whose_it_is() -> None:
    ids = [fault.id for fault in FAULTS]
    assert len(set(ids)) == len(ids) > 80
    begins = {"mlx-lm": "mlx-", "transformers": "transformers-", "vLLM": "vllm-", "SGLang": "sglang-"}
    assert [fault.id for fault in FAULTS if not fault.id.startswith(begins[fault.project])] == []
    assert {fault.project for fault in FAULTS} == set(PROJECTS.values())


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.id)
def test_what_is_listed_is_a_fault(fault: Fault) -> None:
    """The parser is said to read the format written so, and toolfmt, which reads strictly, has what is meant."""
    claimed = {**fault.factory().variants}
    assert fault.variant in claimed[fault.format]
    assert not same(fault.told, fault.meant)
    read = parse(fault.answer, fault.written, tools=fault.tools, strict=True)
    calls = [[call.name, call.arguments] for call in read.tool_calls]
    assert same({"content": "" if fault.cut else read.content or "", "calls": calls}, fault.meant)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.id)
def test_a_fault_still_happens(fault: Fault) -> None:
    reason = f"{fault.project} is not in the path"
    pytest.importorskip(IMPORTED[fault.project], reason=reason)
    now = fault.happens()
    if fault.factory().version == fault.version:
        assert now == fault.told
    else:
        assert fault.state(now) in ("as listed", "fixed")


def test_the_state_of_a_fault_is_told_by_what_a_client_has() -> None:
    fault = next(fault for fault in FAULTS if fault.id == "mlx-glm-blanks")
    assert fault.state(fault.told) == "as listed"
    spelled = [[name, json.dumps(json.loads(text), indent=1)] for name, text in fault.meant["calls"]]
    assert fault.state({"content": " \n", "calls": spelled}) == "fixed"
    assert fault.state({"content": "x", "calls": spelled}) == "other"
    assert fault.state({"content": "", "calls": []}) == "other"
    assert fault.state({"raised": "ValueError"}) == "other"


def test_an_answer_that_was_cut_means_no_call() -> None:
    fault = next(fault for fault in FAULTS if fault.cut)
    assert fault.meant == {"content": "", "calls": []}
    assert fault.answer == Fault(**{**vars(fault), "cut": 0}).answer[: -fault.cut]
