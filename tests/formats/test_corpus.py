"""Every case of the corpus: whole, in chunks and cut at its markers; as a message; copied; through the writer.

Expected and actual events are both printed in the syntax of a case file, so that a failure reads like one.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from pathlib import Path

import depth
import pytest
from depth import PIECES, cuts, pieces
from guarantees import check_arguments, check_copy, check_shape, check_tiling, cut, dropped, events_of

import toolfmt
from toolfmt._util.text_lists import listed
from toolfmt.formats import FORMATS, get, write
from toolfmt.formats.parser.prompt_prefix import answer_prefix
from toolfmt.messages.events import Content, Event
from toolfmt.messages.message import Message
from toolfmt.testing.corpus import (
    CORPUS,
    TOPICS,
    BadCase,
    Case,
    ExpectedCall,
    ExpectedText,
    as_json,
    cases,
    formats,
    lines_of,
    parts_of,
    read,
)

CASES = cases()
FEWEST = 25
DECISIVE = {
    "deepseek_dsml/values: without the mark, an undeclared tool",
    "gemma_code/lookalikes: a call with nothing around it, then a program in a fence",
    "gpt_oss/lookalikes: a message to the user with an object in it, without tools",
    "json/malformed: no comma before the arguments",
    "kimi_k2/malformed: a header that is only a counter has no name",
    "lfm2/malformed: positional arguments take the names of the schema, in the order of the definition",
    "xml_function/malformed: part of an end marker makes the end of the value ambiguous",
}
"""Cases of rules that hardly any other case shows: every run takes them."""
UNFINISHED = {"k2_horizon/single: a call without the outer frame"}
"""Cases whose end marker may be the beginning of a longer one."""


@pytest.mark.sample(990)
@pytest.mark.parametrize(
    "case",
    [pytest.param(case, marks=pytest.mark.sample(1)) if case.id in DECISIVE else case for case in CASES],
    ids=[case.id for case in CASES],
)
def test_case(case: Case) -> None:
    came = events(case, [case.text])
    assert lines_of(case.expected) == lines_of(compared(came, case))
    check_invariants(case, came)
    check_cuts(case, came)
    check_copies(case)
    check_message(case, came)
    if case.clean:
        check_writer(case)


def check_invariants(case: Case, came: list[Event]) -> None:
    """Form, arguments and location."""
    check_shape(came)
    check_arguments(came)
    if not case.prefix:
        check_tiling(case.text, came, dropped(get(case.format)))


def check_cuts(case: Case, came: list[Event]) -> None:
    """The result does not depend on the chunks."""
    for length in PIECES:
        assert came == events(case, pieces(case.text, length)), f"pieces of {length}"
    for place in cuts(case.text, marks_of(case.format)):
        assert came == events(case, cut(case.text, [place])), f"cut at {place}"


def check_copies(case: Case) -> None:
    """A copy made within it reads on like the original."""
    options = {"tools": case.tools, "prefix": case.prefix, "strict": case.strict}
    for place in range(1, len(case.text), max(1, len(case.text) // 3)):
        check_copy(case.format, case.text, place, **options)


def check_message(case: Case, came: list[Event]) -> None:
    """The same as a message."""
    message = Message.from_events(came, call_id=get(case.format).call_id)
    ended = [call for call in case.calls if call.reason is None]
    assert expected_text(case, "content") == message.content
    assert expected_text(case, "reasoning") == message.reasoning
    assert [call.name for call in ended] == [call.name for call in message.tool_calls]
    for expected, actual in zip(ended, message.tool_calls, strict=True):
        assert expected.id in (None, actual.id)
        assert expected.arguments is None or as_json(expected.arguments) == as_json(actual.arguments)
    assert [call.reason for call in case.calls if call.reason] == [call.reason for call in message.rejected]
    if not case.prefix:
        assert message == toolfmt.parse(case.text, case.format, tools=case.tools, strict=case.strict)


def check_writer(case: Case) -> None:
    """Clean calls go back through the writer."""
    calls = [(call.name or "", json.loads(call.arguments or "")) for call in case.calls]
    text = write(case.format, calls, tools=case.tools)
    message = toolfmt.parse(text, case.format, tools=case.tools, strict=True)
    assert (message.content, message.reasoning, message.rejected) == (None, None, [])
    assert [(name, in_order(json.dumps(arguments))) for name, arguments in calls] == [
        (call.name, in_order(call.arguments)) for call in message.tool_calls
    ]


@pytest.mark.parametrize("format", [format.name for format in FORMATS])
def test_every_format_has_cases_on_every_topic(format: str) -> None:
    found = Counter(case.topic for case in CASES if case.format == format)
    missing = [f"corpus/{format}/{topic}.txt" for topic in TOPICS if not found[topic]]
    if missing or found.total() < FEWEST:
        problems = [f"corpus/{format} has {found.total()} cases, {FEWEST} are the least."]
        problems += [f"No case in {listed(missing)}."] if missing else []
        problems += ["The same file of another format shows the shape; CONTRIBUTING.md, Add a case, has the rest."]
        pytest.fail("\n".join(problems), pytrace=False)


def test_every_folder_of_cases_belongs_to_a_format() -> None:
    assert sorted(format.name for format in FORMATS) == formats()


def test_a_case_is_cut_at_the_edges_and_in_the_middle_of_its_markers() -> None:
    assert depth.everywhere(5) == [0, 1, 2, 3, 4, 5]
    if not depth.every:
        assert cuts("ab<call>c<call>", ["<call>", ""]) == [2, 5, 8, 9, 12]
        assert len(cuts("<call>" * 50, ["<call>"])) == 8
    assert pieces("abcdefgh", 3) == ["abc", "def", "gh"]


def test_every_decisive_case_exists() -> None:
    assert {case.id for case in CASES} >= DECISIVE


def test_titles_name_one_case() -> None:
    assert [title for title, times in Counter(case.id for case in CASES).items() if times > 1] == []


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("no rule", "rules of '='"),
        ("{=}\na title\n:composed\n{=}\ntext\n", "one rule of '-'"),
        ("{=}\na title\n{=}\ntext\n{-}\n", ":composed"),
        ("{=}\na title\n:composed\n:tool x\n{=}\ntext\n{-}\n", ":tool"),
        ("{=}\na title\n:composed\n{=}\ntext\n{-}\nargs 0 {}\n", "announces"),
        ("{=}\na title\n:composed\n{=}\ntext\n{-}\nend 0\n", "announces"),
    ],
)
def test_a_broken_case_is_reported_by_file_and_line(tmp_path: Path, written: str, message: str) -> None:
    file = tmp_path / "json" / "single.txt"
    file.parent.mkdir()
    file.write_text(written.replace("{=}", "=" * 64).replace("{-}", "-" * 64), encoding="utf-8")
    with pytest.raises(BadCase, match=r"single\.txt") as raised:
        read(file)
    assert message in str(raised.value)


def test_an_answer_is_read_verbatim() -> None:
    file = CORPUS / "json" / "whitespace.txt"
    answers = {case.title: case.text for case in read(file)}
    assert answers["a response of only whitespace is content"] == " \n\n "
    assert answers["blank lines before, between and after calls belong to the frame"].startswith("\n\n<tool_call>\n")


def events(case: Case, chunks: Iterable[str]) -> list[Event]:
    """The merged events of the output in these chunks."""
    return events_of(case.format, chunks, tools=case.tools, prefix=case.prefix, strict=case.strict)


@cache
def marks_of(format: str) -> tuple[str, ...]:
    """The markers that a format puts around outputs, and the start and end markers of its calls."""
    known = get(format)
    return (*dropped(known), *known.markers.output_literals)


def expected_text(case: Case, kind: str) -> str | None:
    """All content, or all reasoning, that the case expects."""
    return "".join(part.text for part in case.expected if isinstance(part, ExpectedText) and part.kind == kind) or None


def compared(came: list[Event], case: Case) -> list[ExpectedText | ExpectedCall]:
    """Events as the parts of a case, as far as the case specifies them."""
    expected = {call.index: call for call in case.calls}
    return [
        only_what(part, expected[part.index]) if isinstance(part, ExpectedCall) and part.index in expected else part
        for part in parts_of(came)
    ]


def only_what(call: ExpectedCall, expected: ExpectedCall) -> ExpectedCall:
    """The call without what the expected one does not specify."""
    return replace(
        call,
        id=call.id if expected.id is not None else None,
        arguments=call.arguments if expected.arguments is not None else None,
        span=call.span if expected.span is not None else None,
        tolerated=call.tolerated if expected.tolerated is not None else None,
        raw=call.raw if expected.raw is not None else None,
    )


def in_order(text: str) -> str:
    """JSON text with sorted keys: some families' templates sort them."""
    return json.dumps(json.loads(text), sort_keys=True)


def test_a_complete_call_in_the_prompt_does_not_reach_into_the_output() -> None:
    """Guarantees that offsets before the output, which are negative, are read like all others."""
    read = 0
    for case in CASES:
        if case.topic in ("single", "several") and case.clean and not case.prefix:
            known = get(case.format)
            kept = answer_prefix(case.text, known.markers.output_starts, known.headers, known.reasoning_read)
            if kept == case.text and case.calls and case.id not in UNFINISHED:
                came = events_of(case.format, [" ok"], tools=case.tools, prefix=case.text)
                assert [event for event in came if not isinstance(event, Content)] == [], case.id
                read += 1
    assert read > 200
