"""The grammar of every format in llguidance: written calls are in it, and no invalid arguments are.

The strict parser accepts what is in it. By default, every fifth case runs. With `--all`, all run, each ten times as
long. `benchmarks/grammar_walks.py` checks more.
"""

from __future__ import annotations

import depth
import pytest

pytest.importorskip("llguidance")

from grammar_calls import Subject, broken, damaged, named, plain, variants, walked, written

from toolfmt.errors import CannotConstrain
from toolfmt.formats import ToolCallFormat

_SUBJECTS = [
    pytest.param(format, tokens, id=f"{named(format)}-{'tokens' if tokens else 'text'}")
    for format in variants()
    for tokens in (True, False)
]
_WITHOUT_AUTO = {"glm4_legacy": "starts with just the tool's name"}


def _times() -> int:
    return 10 if depth.every else 1


@pytest.mark.sample(5)
@pytest.mark.parametrize(("format", "tokens"), depth.spread(_SUBJECTS, 5))
def test_the_grammar_allows_written_calls_and_only_calls_that_parse(format: ToolCallFormat, tokens: bool) -> None:
    subject = Subject(format, tokens)
    errors = written(subject, 5 * _times()) + walked(subject, 5 * _times())
    errors += broken(subject, 2 * _times()) + damaged(subject, 12 * _times())
    assert errors == []
    assert subject.counts["written"] == subject.counts["walked"] == 5 * _times()
    assert subject.counts["broken"] >= 6 * _times()


@pytest.mark.parametrize(("format", "tokens"), depth.spread(_SUBJECTS[1:] + _SUBJECTS[:1], 5))
def test_text_optionally_followed_by_calls(format: ToolCallFormat, tokens: bool) -> None:
    subject = Subject(format, tokens, "auto")
    if why := _WITHOUT_AUTO.get(format.name):
        with pytest.raises(CannotConstrain, match=why):
            subject.accepts("")
        return
    errors = written(subject, 5 * _times()) + walked(subject, 3 * _times()) + plain(subject)
    errors += broken(subject, 2 * _times()) + damaged(subject, 12 * _times())
    assert errors == []


@pytest.mark.parametrize(("format", "tokens"), depth.spread(_SUBJECTS[2:] + _SUBJECTS[:2], 5))
def test_a_chosen_tool_is_the_only_one_allowed(format: ToolCallFormat, tokens: bool) -> None:
    subject = Subject(format, tokens, "now")
    own, other = subject.write([("now", {})]), subject.write([("get_weather", {"city": "x"})])
    assert own is not None and other is not None
    assert (subject.accepts(own), subject.accepts(other)) == (True, False)
