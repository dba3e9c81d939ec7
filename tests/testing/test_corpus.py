"""The corpus as data: the output of `toolfmt dev corpus export`, and written cases."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from toolfmt.cli.commands import main
from toolfmt.errors import UnknownFormat
from toolfmt.formats import Parser
from toolfmt.testing.corpus import CORPUS, case_text, cases, lines_of, parts_of, read, tool_sets
from toolfmt.testing.outcome import read as told_of

FIELDS = ["id", "format", "topic", "title", "seen", "text", "tools", "prefix", "strict", "expected"]
CALL_FIELDS = ["type", "index", "name", "id", "arguments", "span", "tolerated", "rejected", "raw"]


@pytest.mark.sample(0)
def test_every_case_is_a_line_with_the_same_fields() -> None:
    result = CliRunner().invoke(main, ["dev", "corpus", "export"])
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout_bytes.decode("ascii").splitlines()
    records = [json.loads(line) for line in lines]
    assert records == [json.loads(json.dumps(case.to_dict())) for case in cases()]
    assert {tuple(one) for one in records} == {tuple(FIELDS)}
    parts = [part for one in records for part in one["expected"]]
    assert {tuple(part) for part in parts if part["type"] == "tool_call"} == {tuple(CALL_FIELDS)}
    assert {tuple(part) for part in parts if part["type"] != "tool_call"} == {("type", "text")}


def test_a_line_contains_the_fields_of_its_case() -> None:
    case = next(case for case in cases("json") if case.topic == "malformed" and len(case.calls) == 1)
    record = case.to_dict()
    assert (record["text"], record["tools"], record["title"]) == (case.text, case.tools, case.title)
    (part,) = (part for part in record["expected"] if part["type"] == "tool_call")
    assert (part["index"], part["name"], part["rejected"]) == (0, case.calls[0].name, case.calls[0].reason)


@pytest.mark.parametrize(
    "text",
    [
        "Hi.\n<tool_call>\n{}\n</tool_call>",
        "\n two\n",
        "",
        "a\tb \x00 \ud83d é 格",
        "a\n" + "-" * 20 + "\nb\n" + "=" * 20,
        '"quoted" * 3',
        "\r\n",
    ],
)
@pytest.mark.parametrize("tools", [None, [], tool_sets()["weather"], [{"name": "f", "parameters": {}}]])
def test_a_written_case_is_read_again(tmp_path: Path, text: str, tools: list[object] | None) -> None:
    file = tmp_path / "json" / "single.txt"
    file.parent.mkdir()
    outcome = told_of(lambda given: Parser("json", tools=given), [text], tools)
    expected = lines_of(parts_of(outcome.events))
    file.write_bytes(case_text("a title", text, expected, tools=tools).encode("utf-8", "surrogatepass"))
    (case,) = read(file)
    assert (case.text, case.tools, lines_of(case.expected)) == (text, tools, expected)
    if tools == tool_sets()["weather"]:
        assert "\n:tools weather\n" in file.read_text(encoding="utf-8", errors="replace")


def test_a_format_has_its_cases_under_any_of_its_names() -> None:
    assert cases("Hermes") == cases("json")
    assert cases("json")
    with pytest.raises(UnknownFormat, match="no tool-call format is named 'nofmt'"):
        cases("nofmt")


def test_the_corpus_is_in_the_package_or_next_to_it() -> None:
    assert (CORPUS / "tools.json").is_file()
    assert len(cases()) > 6000
