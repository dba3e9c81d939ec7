"""`toolfmt dev fuzz`: bugs are found, distinguished, minimized and reported; a hang or a crash is a separate bug."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from pathlib import Path
from random import Random
from typing import Any

import first_closer
import naive_parsers
import pytest
from click.testing import CliRunner, Result

from toolfmt.cli.commands import main
from toolfmt.errors import ToolfmtError
from toolfmt.formats import FORMATS, Parser, get
from toolfmt.testing.broken import InvariantViolation
from toolfmt.testing.corpus import read as read_cases
from toolfmt.testing.drawing import (
    GeneratedOutput,
    Recipe,
    cut_at,
    draw_answer,
    draw_pieces,
    draw_recipe,
    marks_covered,
    written,
)
from toolfmt.testing.fuzzing import Fuzz
from toolfmt.testing.outcome import ParserOutcome
from toolfmt.testing.peers import for_vllm
from toolfmt.testing.runner import broken_by
from toolfmt.testing.shrinking import Shrinker, size_of
from toolfmt.testing.targets import CommandTarget, InProcessTarget, Local, target
from toolfmt.testing.usable import check_usable

SUPPORT = Path(__file__).parents[1] / "support"
NOW: Any = {"type": "function", "function": {"name": "now", "parameters": {"type": "object", "properties": {}}}}


def run(*arguments: str) -> Result:
    return CliRunner(env={"COLUMNS": "100", "NO_COLOR": "1"}).invoke(
        main, ["dev", "fuzz", *arguments], prog_name="toolfmt"
    )


def searched(make_parser: Any, format: str, answers: int, seed: int = 0) -> Fuzz:
    search = Fuzz(Local(make_parser), (format,), seed)
    for _ in search.run(outputs=answers):
        pass
    return search


def kinds(search: Fuzz) -> set[tuple[str, str]]:
    return {(defect.invariant, defect.kind) for defect in search.defects.values()}


@pytest.mark.sample(5)
@pytest.mark.parametrize("format", [format.name for format in FORMATS])
def test_our_own_parsers_satisfy_the_invariants(format: str) -> None:
    search = Fuzz(
        Local(lambda tools: Parser(format, tools=tools)), (format,), variants={format: ("", *get(format).variants)}
    )
    for _ in search.run(outputs=40):
        pass
    assert {str(defect.broken) for defect in search.defects.values()} == set()
    assert search.streams


@pytest.mark.sample(0)
def test_a_correct_parser_without_offsets_has_no_defects() -> None:
    search = searched(naive_parsers.sound, "json", 150)
    assert kinds(search) == set()
    assert search.streams and search.coverage == {"in calls": (2, 2), "in strings": (2, 2), "cut": (2, 2)}


def test_defects_are_distinguished_and_shrunk() -> None:
    search = searched(first_closer.parser, "json", 250)
    by_kind = {(defect.invariant, defect.kind): defect for defect in search.defects.values()}
    assert not search.streams
    assert ("never-raises", "JSONDecodeError in first_closer.py:read") in by_kind
    assert ("prose", "a call that does not exist") in by_kind
    raised = by_kind["never-raises", "JSONDecodeError in first_closer.py:read"]
    assert raised.times > 5
    assert raised.answer.text == "<tool_call></tool_call>"
    written_call = by_kind["never-raises", "JSONDecodeError in first_closer.py:read, of a call as it is written"]
    one_string = r'<tool_call>\n\{"name": "[\w-]+", "arguments": \{"\w+": "</tool_call>"\}\}\n</tool_call>'
    assert re.fullmatch(one_string, written_call.answer.text)
    prose = by_kind["prose", "a call that does not exist"]
    assert prose.answer.text.count(". ") == 0
    assert [tool["function"]["name"] for tool in prose.answer.tools or ()] == ["get_weather"]
    assert len(raised.answer.tools or ()) == 1


def test_a_chunking_defect_shows_the_two_pieces() -> None:
    search = searched(naive_parsers.forgets, "json", 60)
    assert {invariant for invariant, _ in kinds(search)} == {"chunking"}
    shown = [defect.to_dict() for defect in search.defects.values()]
    assert all(len(one["pieces"]) == 2 and one["pieces"][0].endswith("<") for one in shown)
    assert all("".join(one["pieces"]) == one["text"] for one in shown)
    assert all(one["actual"] != one["expected"] for one in shown)


def test_the_same_seed_gives_the_same_defects() -> None:
    first, again, other = (searched(first_closer.parser, "json", 120, seed).to_dict() for seed in (5, 5, 6))
    for found in (first, again, other):
        found.pop("seconds")
        for defect in found["defects"]:
            defect.pop("seconds")
    assert first == again
    assert first != other


def test_a_defect_is_a_case_that_the_corpus_can_read(tmp_path: Path) -> None:
    search = searched(first_closer.parser, "json", 250)
    (tmp_path / "json").mkdir()
    for defect in search.defects.values():
        file = tmp_path / "json" / "single.txt"
        file.write_text(defect.case(), encoding="utf-8")
        (case,) = read_cases(file)
        assert (case.text, case.tools, case.title) == (
            defect.answer.text,
            defect.answer.tools,
            f"{defect.invariant}: {defect.kind}",
        )


def test_what_is_shrunk_is_written_again() -> None:
    """A parser that loses every call with a line feed in a string: one call with one such string remains."""

    def make_parser(tools: Any) -> Any:
        def read(text: str) -> dict[str, Any]:
            parser = Parser("json", tools=tools)
            outcome = ParserOutcome((*parser.feed(text), *parser.finish()))
            kept = [{"function": {"name": n, "arguments": a}} for n, a in outcome.calls if r"\n" not in a]
            return {"content": outcome.content, "tool_calls": kept}

        return read

    search = searched(make_parser, "json", 80)
    lost = next(defect for defect in search.defects.values() if defect.kind == "every call is lost")
    ((_, arguments),) = lost.answer.expected.calls if lost.answer.expected else ()
    assert json.dumps(arguments).count(r"\n") == 1
    assert len(json.dumps(arguments)) < 30
    assert (lost.answer.recipe or Recipe("", (), None)).before == ""


def test_the_tool_that_is_called_stays_with_what_it_is_given() -> None:
    properties = {key: {"type": "string"} for key in ("s", "t")}
    tools = [{"function": {"name": name, "parameters": {"properties": properties}}} for name in ("f", "other")]
    answer = written(Recipe("json", (("f", {"s": "x"}),), tuple(tools), before="Hi."))

    def make_parser(tools: Any) -> Any:
        return lambda text: {"content": "Hi.", "tool_calls": [] if '"s"' in text else [{"name": "f", "arguments": {}}]}

    smaller, broken = Shrinker(Local(make_parser), ("round-trip", "every call is lost")).shrink(answer, None)
    assert smaller.tools == [{"function": {"name": "f", "parameters": {"properties": {"s": {"type": "string"}}}}}]
    assert smaller.text == '<tool_call>\n{"name": "f", "arguments": {"s": ""}}\n</tool_call>'
    assert broken is not None and broken.expected == ["call 0 f", 'args 0 {"s": ""}']


def test_a_defect_that_is_not_reproduced_is_kept_unchanged() -> None:
    answer = written(draw_recipe(Random(1), "json"))
    sound = Local(lambda tools: Parser("json", tools=tools))
    assert Shrinker(sound, ("round-trip", "every call is lost")).shrink(answer, None) == (answer, None)
    assert size_of(answer) > len(answer.text)


@pytest.mark.parametrize("format", ["glm4", "gpt_oss", "lfm2"])
def test_an_answer_is_its_pieces(format: str) -> None:
    for number in range(60):
        chance = Random(number)
        answer = draw_answer(chance, format)
        pieces = draw_pieces(chance, answer.text, format)
        assert "".join(pieces) == answer.text
        assert all(marker in answer.text for marker, way in marks_covered(answer, pieces) if way != "in strings")


def test_a_cut_answer_is_never_whole() -> None:
    recipe = Recipe("json", (("now", {}),), (NOW,))
    whole = recipe.text()
    assert [cut_at(recipe, part).text for part in (0.0, 0.5, 0.999)] == ["", whole[: len(whole) // 2], whole[:-1]]


def test_text_that_a_reader_drops_is_a_defect_if_it_returns_no_call() -> None:
    half = Local(lambda tools: lambda text: {"content": text[: len(text) // 2], "tool_calls": []})
    for kind in ("soup", "damaged"):
        (broken,), _ = broken_by(half, GeneratedOutput(kind, "json", "abcd", None))
        assert (broken.invariant, broken.kind) == ("nothing-lost", "a part of an output without a call is lost")


def test_variants_are_drawn_if_they_are_requested() -> None:
    drawn = [
        draw_recipe(Random(number), "mistral", variants=("", *get("mistral").variants)).variant for number in range(40)
    ]
    assert set(drawn) == {"", *get("mistral").variants}
    assert {draw_recipe(Random(number), "mistral").variant for number in range(40)} == {""}


# --- targets


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder of the naive parsers is looked in for modules."""
    monkeypatch.syspath_prepend(str(SUPPORT))


@pytest.mark.sample(0)
@pytest.mark.parametrize(("name", "kind"), [("hangs", "it hangs"), ("dies", "it dies")])
def test_a_hang_or_crash_is_a_defect_and_the_next_output_is_read(elsewhere: None, name: str, kind: str) -> None:
    answer = written(Recipe("json", (("now", {}),), (NOW,)))
    with InProcessTarget(f"naive_parsers:{name}", timeout=0.7) as tried:
        (broken,), outcome = broken_by(tried, answer)
        assert (broken.invariant, broken.kind, outcome) == ("in-time", kind, None)
        (plain,) = tried.read([["plain"]], None)
        assert isinstance(plain, ParserOutcome) and plain.content == "plain"


@pytest.mark.sample(0)
@pytest.mark.skipif(sys.platform != "linux", reason="whether a process has ended is looked up in /proc")
def test_a_forked_process_does_not_block_and_ends_with_its_parser(elsewhere: None) -> None:
    started = time.monotonic()
    with InProcessTarget("naive_parsers:forks", timeout=20) as tried:
        first, second = (tried.read([[text]], None)[0] for text in ("live", "die"))
    assert time.monotonic() - started < 15
    assert isinstance(first, ParserOutcome) and ended(int(first.content))
    assert isinstance(second, InvariantViolation) and second.message == "the process ended with status 3 while it read"


@pytest.mark.parametrize(
    "name", ["reads_input", pytest.param("twice", marks=pytest.mark.skipif(sys.platform == "win32", reason="no fork"))]
)
def test_what_a_parser_does_to_its_process_harms_no_answer(elsewhere: None, name: str) -> None:
    with InProcessTarget(f"naive_parsers:{name}", timeout=5) as tried:
        for text in ("a", "b", "c"):
            (outcome,) = tried.read([[text]], None)
            assert isinstance(outcome, ParserOutcome) and outcome.content == text


@pytest.mark.sample(0)
def test_a_parser_that_prints_too_much_is_reported(elsewhere: None) -> None:
    with InProcessTarget("naive_parsers:floods", timeout=20) as tried:
        (broken,) = tried.read([["ab"]], None)
        assert isinstance(broken, InvariantViolation) and broken.kind == "too much is printed"
        (outcome,) = tried.read([[""]], None)
        assert isinstance(outcome, ParserOutcome)


def test_any_exception_of_a_parser_is_reported_as_never_raises(elsewhere: None) -> None:
    with InProcessTarget("naive_parsers:interrupts", timeout=5) as tried:
        (broken,) = tried.read([["a"]], None)
    assert isinstance(broken, InvariantViolation)
    assert (broken.invariant, broken.kind) == ("never-raises", "KeyboardInterrupt in naive_parsers.py:read")


@pytest.mark.sample(0)
def test_the_attributes_of_a_factory_are_known(elsewhere: None) -> None:
    with InProcessTarget("first_closer:parser") as tried:
        assert (tried.formats, tried.version, tried.is_toolfmt) == (("json",), "1.0", False)
    with InProcessTarget("hermes") as tried:
        assert (tried.formats, tried.is_toolfmt) == (("json",), True)


@pytest.mark.parametrize(
    ("printed", "calls", "texts"),
    [
        ('{"name": "now", "arguments": {}}', [("now", "{}")], False),
        ('[{"name": "now", "arguments": "{}"}]', [("now", "{}")], False),
        (
            '{"name": "a", "arguments": {}}\n{"name": "b", "arguments": {"n": 1}}',
            [("a", "{}"), ("b", '{"n": 1}')],
            False,
        ),
        ("", [], False),
        ("[]", [], False),
        ('{"content": null, "tool_calls": [{"function": {"name": "now", "arguments": "{}"}}]}', [("now", "{}")], True),
    ],
)
def test_a_command_prints_calls_or_a_message(
    tmp_path: Path, printed: str, calls: list[tuple[str, str]], texts: bool
) -> None:
    file = tmp_path / "printed"
    file.write_text(printed, encoding="utf-8")
    with CommandTarget(["cat", str(file)]) as tried:
        (outcome,) = tried.read([["anything"]], [NOW])
    assert isinstance(outcome, ParserOutcome)
    assert (outcome.calls, outcome.texts, outcome.streams) == (calls, texts, False)


def test_numbers_of_a_command_are_compared_as_doubles_though_it_prints_them_as_text() -> None:
    answer = written(Recipe("json", (("f", {"n": 2**53 + 1}),), None))
    message = {"content": None, "tool_calls": [{"name": "f", "arguments": json.dumps({"n": 2**53})}]}
    with CommandTarget(["echo", json.dumps(message)]) as tried:
        assert broken_by(tried, answer)[0] == []


def test_a_command_gets_the_answer_and_the_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLFMT_TOOLS", "of somebody else")
    code = (
        "import json, os, sys; text = sys.stdin.buffer.read().decode(); "
        "tools = json.load(open(os.environ['TOOLFMT_TOOLS'])) if 'TOOLFMT_TOOLS' in os.environ else None; "
        "print(json.dumps({'content': json.dumps([text, tools]), 'tool_calls': []}))"
    )
    with CommandTarget([sys.executable, "-c", code]) as tried:
        ((first,), (second,)) = (tried.read([["naïve ", "格"]], tools) for tools in ([NOW], None))
    assert isinstance(first, ParserOutcome) and isinstance(second, ParserOutcome)
    assert json.loads(first.content) == ["naïve 格", [NOW]]
    assert json.loads(second.content) == ["naïve 格", None]


@pytest.mark.parametrize(
    ("code", "invariant", "kind"),
    [
        ("print('no call here')", "shape", "no JSON"),
        ("raise SystemExit(4)", "never-raises", "exit status 4"),
        ("import os; os.kill(os.getpid(), 9)", "in-time", "it dies"),
        ("import time; time.sleep(60)", "in-time", "it hangs"),
        ("print('[3]')", "shape", "a call without a name"),
        ("while True: print('x' * 1000)", "shape", "too much is printed"),
    ],
)
def test_a_command_that_fails_is_a_defect(code: str, invariant: str, kind: str) -> None:
    with CommandTarget([sys.executable, "-c", code], timeout=1.5) as tried:
        (broken,) = tried.read([["x"]], None)
    assert (broken.invariant, broken.kind) == (invariant, kind)  # type: ignore[union-attr]  # it is one that broke


@pytest.mark.sample(0)
@pytest.mark.skipif(sys.platform != "linux", reason="whether a process has ended is looked up in /proc")
@pytest.mark.parametrize("last", ["time.sleep(60)", "print('[]')"])
def test_what_a_command_started_ends_with_it(tmp_path: Path, last: str) -> None:
    """This applies after a timeout and after a normal exit. Nothing waits for a pipe that a child keeps open."""
    file = tmp_path / "pid"
    child = (
        "import subprocess, sys, time; one = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])"
    )
    started = time.monotonic()
    with CommandTarget(
        [sys.executable, "-c", f"{child}; open({str(file)!r}, 'w').write(str(one.pid)); {last}"], 2
    ) as tried:
        tried.read([["x"]], None)
    assert time.monotonic() - started < 20
    assert ended(int(file.read_text()))


def ended(process: int) -> bool:
    """Whether a process ends within seconds: a killed orphan exists until it is reaped."""
    for _ in range(100):
        try:
            os.kill(process, 0)
            if "\nState:\tZ" in Path(f"/proc/{process}/status").read_text():
                return True
        except (ProcessLookupError, FileNotFoundError):
            return True
        time.sleep(0.05)
    return False


@pytest.mark.sample(5)
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("nosuchformat", "'nosuchformat': neither a format nor a command; give a format (see toolfmt formats), "),
        ("no_such_module:parser", "no_such_module:parser: cannot be loaded (ModuleNotFoundError: "),
        ("json:nothing", "json:nothing: cannot be loaded (AttributeError: "),
        (
            "json:__name__",
            "json:__name__: cannot be loaded (TypeError: json:__name__ cannot be called); "
            "give json:NAME, a function that takes tools and returns a parser",
        ),
        (
            "naive_parsers:misnames_formats",
            "naive_parsers:misnames_formats: cannot be loaded (TypeError: its formats are 5, not a list of names of f",
        ),
        ("'unclosed", "'unclosed: no command (No closing quotation)"),
        ("", "'': neither a format nor a command"),
    ],
)
def test_an_invalid_target_is_reported_in_one_line(elsewhere: None, given: str, expected: str) -> None:
    with pytest.raises(ToolfmtError) as raised:
        target(given)
    assert str(raised.value).startswith(expected)
    assert "\n" not in str(raised.value)


# --- the command


def test_the_command_finds_nothing_in_our_own_parser() -> None:
    result = run("json", "--outputs", "30")
    assert result.exit_code == 0
    first, second = result.output.splitlines()
    assert first == "json: no defect in 30 outputs of json, seed 0"
    assert second.startswith("outputs were fed whole and in chunks; of the format's ")


def test_the_command_prints_a_defect_as_a_case(elsewhere: None) -> None:
    result = run("first_closer:parser", "--outputs", "20")
    assert result.exit_code == 1
    assert "never-raises: JSONDecodeError in first_closer.py:read  json, " in result.output
    assert "\n    <tool_call>" in result.output
    assert "first_closer:parser 1.0: " in result.output.splitlines()[-2]
    assert result.output.splitlines()[-1].startswith("outputs were fed whole; of the format's ")


@pytest.mark.sample(0)
def test_the_command_prints_json_for_machines(elsewhere: None) -> None:
    result = run("first_closer:parser", "--outputs", "20", "--json")
    found = json.loads(result.output)
    assert (result.exit_code, found["target"], found["version"]) == (1, "first_closer:parser", "1.0")
    assert (found["outputs"], found["seed"], found["formats"], found["streams"]) == (20, 0, ["json"], False)
    assert {"invariant", "kind", "text", "tools", "pieces", "actual", "expected", "case"} <= found["defects"][0].keys()


@pytest.mark.sample(0)
def test_a_search_ends_after_its_seconds_and_reports_its_rate() -> None:
    result = run("json", "--seconds", "0.3", "--json")
    assert 0.3 <= json.loads(result.output)["seconds"] < 3
    assert re.search(
        r" outputs of json, seed 3 \([0-9,]+ outputs per second\)\n",
        run("json", "--seconds", "0.2", "--seed", "3").output,
    )


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["nosuchformat"], "neither a format nor a command"),
        (
            ["naive_parsers:sound"],
            "--format NAME is missing: the format of the outputs that naive_parsers:sound parses",
        ),
        (["naive_parsers:sound", "--format", "nosuch"], "nosuch"),
        (["json", "--format", "glm4"], "json is a format itself; leave --format out"),
        (["json", "--seconds", "0"], "--seconds"),
        (["json", "--seconds", "nan"], "'--seconds': 'nan' is not a number of seconds above 0 and up to 1,000,000"),
        (["json", "--seconds", "inf"], "'--seconds': 'inf' is not a number"),
        (["json", "--seconds", "1e308"], "'--seconds': '1e308' is not a number"),
        (["json", "--timeout", "nan"], "'--timeout': 'nan' is not a number"),
        (["json", "--timeout", "inf"], "'--timeout': 'inf' is not a number"),
        (["json", "--timeout", "-1"], "'--timeout': '-1' is not a number"),
        (["json", "--timeout", "soon"], "'--timeout': 'soon' is not a number"),
        (["json", "--outputs", "0"], "--outputs"),
    ],
)
def test_bad_input_is_one_line_and_status_2(elsewhere: None, arguments: list[str], expected: str) -> None:
    result = run(*arguments)
    assert (result.exit_code, result.output.count("\n")) == (2, 1)
    assert expected in result.output


NODE = """/home/me/read.js:3
  const value = JSON.parse(text);
                     ^

SyntaxError: Unexpected end of JSON input
    at JSON.parse (<anonymous>)
    at Object.<anonymous> (/home/me/read.js:3:22) {
  code: 1
}

Node.js v20.19.5
"""
PYTHON = """Traceback (most recent call last):
  File "read.py", line 3, in <module>
    raise ValueError("Error: so")
json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)
"""
JAVA = """Exception in thread "main" java.lang.IllegalStateException: no
\tat Read.main(Read.java:3)
Caused by: com.x.ParseException: Expected ':' at 4
\t... 3 more
"""


@pytest.mark.parametrize(
    ("words", "name", "line"),
    [
        (NODE, "SyntaxError", "SyntaxError: Unexpected end of JSON input"),
        (NODE.replace("SyntaxError: U", "TypeError [ERR_X]: U"), "TypeError", "TypeError [ERR_X]: Unexpected end of"),
        (PYTHON, "JSONDecodeError", "json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)"),
        ("Traceback\nAssertionError\n", "AssertionError", "AssertionError"),
        (JAVA, "ParseException", "Caused by: com.x.ParseException: Expected ':' at 4"),
        ("Error: one\nError: two\nbye\n", "Error", "Error: two"),
        ("No Errors: here\nread: usage\n\n", "", "read: usage"),
        ("", "", "without output"),
    ],
)
def test_an_exception_of_a_command_is_reported_by_the_line_that_names_it(
    tmp_path: Path, words: str, name: str, line: str
) -> None:
    file = tmp_path / "words"
    file.write_text(words, encoding="utf-8")
    with CommandTarget(["sh", "-c", 'cat "$0" >&2; exit 3', str(file)]) as tried:
        (broken,) = tried.read([["x"]], None)
    assert isinstance(broken, InvariantViolation)
    assert (broken.invariant, broken.kind) == ("never-raises", f"{name}, exit status 3" if name else "exit status 3")
    assert broken.message.startswith(f"the command ends with status 3: {line}")


# --- what cannot be tried at all


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("naive_parsers:no_parser", "(the factory returned [], which has no feed() and finish(), nor can be called)"),
        ("naive_parsers:without_tools", "(the factory raised TypeError: without_tools() takes 0 positional arguments"),
        ("naive_parsers:raises", "(the factory raised KeyError: 'a vocabulary' (naive_parsers.py:raises))"),
        ("naive_parsers:no_message", "(the parser returned '"),
        ("naive_parsers:no_events", "is neither an event nor the dict of one)"),
        ("false", "(the command ends with status 1: without output); let it print calls as JSON, and end with status"),
        ("cat", "(the command prints no JSON ("),
        ("echo hi", ": 'hi\\n'); let it print calls as JSON"),
        ("echo [3]", "(tool_calls[0] is 3); let it print"),
    ],
)
def test_a_target_that_never_answers_is_bad_input_and_not_a_defect(elsewhere: None, given: str, expected: str) -> None:
    result = run(given, "--format", "json", "--format", "glm4", "--outputs", "5")
    assert (result.exit_code, result.output.count("\n")) == (2, 1)
    assert ": cannot be tested: it returns no result for a simple tool call in any of the formats (" in result.output
    assert expected in result.output
    if ":" in given:
        assert "; give a factory that is called with the tools and returns an object with feed and" in result.output


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "given",
    [
        "naive_parsers:raises_with_tools",
        "naive_parsers:blind",
        "naive_parsers:raises_at_every_text",
        "true",
        "first_closer:parser",
    ],
)
def test_what_answers_some_plain_call_is_tried_however_wrongly_it_reads(elsewhere: None, given: str) -> None:
    result = run(given, "--format", "json", "--outputs", "12")
    assert result.exit_code == 1
    assert " in 12 outputs of json, seed 0" in result.output


@pytest.mark.sample(0)
def test_what_reads_one_of_two_formats_is_tried() -> None:
    code = "import sys; text = sys.stdin.read(); print('[]' if '{' in text else 'what?')"
    result = run(f'{sys.executable} -c "{code}"', "--format", "glm4", "--format", "json", "--outputs", "4")
    assert " in 4 outputs of 2 formats, seed 0" in result.output


@pytest.mark.sample(0)
def test_a_hanging_factory_parser_is_usable_but_a_hanging_command_is_bad_input(elsewhere: None) -> None:
    with InProcessTarget("naive_parsers:hangs", timeout=0.5) as tried:
        check_usable(tried, ["json"])
    result = run("sleep 60", "--format", "json", "--outputs", "1", "--timeout", "0.2")
    assert result.exit_code == 2
    assert (
        "sleep 60: cannot be tested: it returns no result for a simple tool call (nothing came within 0.2 seconds)"
        in result.output
    )


def test_a_file_that_no_system_runs_is_bad_input(tmp_path: Path) -> None:
    file = tmp_path / "read"
    file.write_text("\0", encoding="utf-8")
    file.chmod(0o755)
    result = run(str(file), "--format", "json")
    assert result.exit_code == 2
    assert re.fullmatch(r".*read: cannot be run \(Exec format error\); name the program .*\n", result.output)


# --- a search that is broken off


def interrupting(monkeypatch: pytest.MonkeyPatch, name: str, after: int) -> None:
    """Ctrl-C comes in this method of a search when it has returned so many times."""
    method, calls = getattr(Fuzz, name), iter(range(after))

    def until(self: Fuzz, *given: Any) -> None:
        if next(calls, None) is None:
            raise KeyboardInterrupt
        method(self, *given)

    monkeypatch.setattr(Fuzz, name, until)


@pytest.mark.sample(0)
def test_an_interrupted_search_is_reported_and_shows_its_results(
    elsewhere: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        interrupting(patched, "_try", 20)
        result = run("first_closer:parser", "--outputs", "1000")
    assert result.exit_code == 130
    assert " defects in 20 outputs of json, seed 0, interrupted\n" in result.output
    heads = [line for line in result.output.splitlines() if ", first by output " in line]
    assert len(heads) > 1
    assert all(head.endswith(", not made smaller") for head in heads)
    assert "the parser raised JSONDecodeError: " in result.output

    interrupting(monkeypatch, "_try", 20)
    found = json.loads(run("first_closer:parser", "--outputs", "1000", "--json").output)
    assert found["interrupted"] is True
    assert [defect["shrunk"] for defect in found["defects"]] == [False] * len(heads)


def test_what_was_made_smaller_before_the_interruption_stays_so(
    elsewhere: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupting(monkeypatch, "_shrink", 1)
    found = json.loads(run("first_closer:parser", "--outputs", "20", "--json").output)
    assert (found["interrupted"], [defect["shrunk"] for defect in found["defects"]]) == (True, [True, False])


def test_an_unshrunk_defect_shows_its_pieces_and_results() -> None:
    search = Fuzz(Local(naive_parsers.forgets), ("json",))
    for _ in zip(range(20), search.run(outputs=1000), strict=False):
        pass
    assert all(defect.broken is not None for defect in search.defects.values())
    shown = [shown_defect.to_dict() for shown_defect in search.defects.values() if shown_defect.invariant == "chunking"]
    assert shown
    for shown_defect in shown:
        assert "".join(shown_defect["pieces"]) == shown_defect["text"]
        assert (
            shown_defect["actual"] and shown_defect["expected"] and shown_defect["actual"] != shown_defect["expected"]
        )


def test_an_interrupted_search_without_defects_is_reported_as_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    interrupting(monkeypatch, "_try", 3)
    result = run("json", "--outputs", "9")
    assert (result.exit_code, result.output.splitlines()[0]) == (
        130,
        "json: no defect in 3 outputs of json, seed 0, interrupted",
    )


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("no_such:parser", r".*No module named 'no_such'\); Python searches this folder and PYTHONPATH for modules"),
        ("fails_on_import:parser", r".*needs_this'\); python -c 'import fails_on_import' shows where"),
        (
            "json:nothing",
            r".*no attribute 'nothing'\); give json:NAME, a function that takes tools and returns a parser",
        ),
    ],
)
def test_a_target_that_cannot_be_loaded_is_reported_with_a_working_fix(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, given: str, expected: str
) -> None:
    (tmp_path / "fails_on_import.py").write_text("import needs_this", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ToolfmtError) as raised:
        target(given)
    assert re.fullmatch(f"{given}: cannot be loaded {expected}", str(raised.value))


@pytest.mark.sample(0)
def test_an_unknown_peer_factory_is_reported_with_all_known_ones() -> None:
    with pytest.raises(ToolfmtError) as raised:
        target("toolfmt.testing.peers.for_vllm:json")
    listed = ", ".join(for_vllm.factories())
    assert str(raised.value).endswith(f"for_vllm has no factory 'json'; it has {listed})")


@pytest.mark.sample(0)
def test_a_missing_peer_package_is_reported_with_its_own_fix(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "vllm.py").write_text("raise ImportError('none')", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ToolfmtError, match=r"pip install vllm==[^;]* \(none\)\)$"):
        target("toolfmt.testing.peers.for_vllm:hermes")


@pytest.mark.parametrize(
    ("file", "executable", "expected"),
    [
        (
            "naive.py",
            False,
            "naive.py: a file that is not executable; name the program that runs it, as in "
            "'python3 naive.py', or a factory in it, as in naive:parser",
        ),
        (
            "my-own.py",
            False,
            "my-own.py: a file that is not executable; name the program that runs it, as in 'python3 my-own.py'",
        ),
        (
            "read.js",
            False,
            "read.js: a file that is not executable; name the program that runs it, as in "
            "'node read.js', or make it executable",
        ),
        ("naive.py", True, "naive.py: a command is looked for in PATH; give ./naive.py"),
    ],
)
def test_a_file_that_is_not_a_command_is_reported_with_how_to_run_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, file: str, executable: bool, expected: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(file).write_text("", encoding="utf-8")
    Path(file).chmod(0o755 if executable else 0o644)
    with pytest.raises(ToolfmtError) as raised:
        target(file)
    assert str(raised.value) == expected
