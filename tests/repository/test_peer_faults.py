"""The list of bugs in other projects' parsers: each is a bug, and still happens in the listed version."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.peer_faults import PROJECTS, Bug, bugs, page, same
from toolfmt import parse

BUGS = bugs()
ALWAYS = {"mlx-lm", "transformers"}
IMPORTED = {"mlx-lm": "mlx_lm", "transformers": "transformers", "vLLM": "vllm", "SGLang": "sglang"}


def test_the_page_is_made_of_the_list() -> None:
    assert (Path(__file__).parents[2] / "docs" / "faults.md").read_text("utf-8") == page(BUGS)


def test_every_bug_has_a_unique_id_that_names_its_project() -> None:
    ids = [bug.id for bug in BUGS]
    assert len(set(ids)) == len(ids) > 80
    begins = {"mlx-lm": "mlx-", "transformers": "transformers-", "vLLM": "vllm-", "SGLang": "sglang-"}
    assert [one.id for one in BUGS if not one.id.startswith(begins[one.project])] == []
    assert {one.project for one in BUGS} == set(PROJECTS.values())


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.id)
def test_every_listed_bug_differs_from_the_expected_result(bug: Bug) -> None:
    """The parser is documented to read the format in this variant, and toolfmt in strict mode returns the intended
    result.
    """
    claimed = {**bug.factory().variants}
    assert bug.variant in claimed[bug.format]
    assert not same(bug.returned, bug.expected)
    read = parse(bug.answer, bug.written, tools=bug.tools, strict=True)
    calls = [[call.name, call.arguments] for call in read.tool_calls]
    assert same({"content": "" if bug.cut else read.content or "", "calls": calls}, bug.expected)


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.id)
def test_every_listed_bug_still_happens(bug: Bug) -> None:
    reason = f"{bug.project} is not in the path"
    pytest.importorskip(IMPORTED[bug.project], reason=reason)
    now = bug.happens()
    if bug.factory().version == bug.version:
        assert now == bug.returned
    else:
        assert bug.state(now) in ("as listed", "fixed")


def test_the_state_of_a_bug_depends_on_what_a_client_gets() -> None:
    bug = next(one for one in BUGS if one.id == "mlx-glm-blanks")
    assert bug.state(bug.returned) == "as listed"
    spelled = [[name, json.dumps(json.loads(text), indent=1)] for name, text in bug.expected["calls"]]
    assert bug.state({"content": " \n", "calls": spelled}) == "fixed"
    assert bug.state({"content": "x", "calls": spelled}) == "other"
    assert bug.state({"content": "", "calls": []}) == "other"
    assert bug.state({"raised": "ValueError"}) == "other"


def test_an_answer_that_was_cut_means_no_call() -> None:
    bug = next(one for one in BUGS if one.cut)
    assert bug.expected == {"content": "", "calls": []}
    assert bug.answer == Bug(**{**vars(bug), "cut": 0}).answer[: -bug.cut]
