"""`toolfmt training`: rows of a dataset with masks, skipped lines, statistics, and a page."""

from __future__ import annotations

import html
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from command_line import file, run
from model_cases import MODELS
from small_tokenizers import by_bytes
from tokenizers import Tokenizer

import toolfmt
from toolfmt.cli.printing.training_page import training_page
from toolfmt.cli.training.dataset import DatasetRenderer, Sample
from toolfmt.cli.training.summary import TrainingSummary
from toolfmt.training import TrainingSpan, TrainingText, TrainingTokens

MODEL = MODELS / "json-frames"
TOOLS = [{"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}]
CALL = {"role": "assistant", "content": "", "tool_calls": [{"name": "get_weather", "arguments": {"city": "Oslo"}}]}
MESSAGES: list[Any] = [
    {"role": "user", "content": "Weather in Oslo?"},
    CALL,
    {"role": "tool", "content": "Rain & <fog>."},
    {"role": "assistant", "content": "It rains."},
    {"role": "user", "content": "Sure?"},
    {"role": "assistant", "content": "Yes."},
]
LINE = {"messages": MESSAGES, "tools": TOOLS}


@pytest.fixture(autouse=True)
def fixed_terminal_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")


@pytest.fixture
def tokenizer(tmp_path: Path) -> Path:
    folder = tmp_path / "tokenizer"
    folder.mkdir()
    by_bytes().save(str(folder / "tokenizer.json"))
    return folder


def dataset(folder: Path, *lines: Any) -> str:
    text = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)
    return file(folder, text, "dataset.jsonl")


def rows(given: str, folder: Path, *options: str, status: int = 0) -> list[dict[str, Any]]:
    """The rows that are written for a dataset."""
    output = folder / "rows.jsonl"
    output.unlink(missing_ok=True)
    result = run("training", str(MODEL), "--trusted", "--dataset", given, "--output", str(output), *options)
    assert result.exit_code == status, result.stderr
    return [json.loads(line) for line in output.read_text().splitlines()]


def tokens(messages: Any = MESSAGES, tools: Any = TOOLS, **options: Any) -> TrainingTokens:
    rendered = toolfmt.load(MODEL, trusted=True).render_training(messages, tools, **options)
    return rendered.tokenize(by_bytes())


def row(line: int, expected: TrainingTokens) -> dict[str, Any]:
    masks = {"assistant_masks": expected.assistant_masks, "labels": expected.labels}
    return {"line": line, "input_ids": expected.input_ids, **masks, "problems": []}


def test_a_row_has_the_tokens_of_its_line(tokenizer: Path, tmp_path: Path) -> None:
    as_text = {"messages": json.dumps(MESSAGES), "tools": json.dumps(TOOLS)}
    given = dataset(tmp_path, LINE, "", as_text, {"messages": MESSAGES[4:]})
    expected = [row(1, tokens()), row(3, tokens()), row(4, tokens(MESSAGES[4:], None))]
    assert rows(given, tmp_path, "--tokenizer", str(tokenizer)) == expected
    assert rows(given, tmp_path, "--tokenizer", str(tokenizer / "tokenizer.json"), "--jobs", "1") == expected


def test_several_processes_write_the_same_rows(tokenizer: Path, tmp_path: Path) -> None:
    lines = [{"messages": [{**MESSAGES[4], "content": f"Is it {number}?"}, MESSAGES[5]]} for number in range(50)]
    given = dataset(tmp_path, *lines[:40], {"messages": []}, *lines[40:])
    options = ("--tokenizer", str(tokenizer))
    found = rows(given, tmp_path, *options, "--jobs", "2", status=2)
    assert found == rows(given, tmp_path, *options, "--jobs", "1", status=2)
    assert [one["line"] for one in found] == [*range(1, 41), *range(42, 52)]


def test_one_process_reads_lines_when_it_needs_them() -> None:
    """A dataset may be larger than the memory."""
    model = toolfmt.load(MODEL, trusted=True)
    taken: list[int] = []

    def lines() -> Iterator[tuple[int, dict[str, Any]]]:
        for number in range(100):
            taken.append(number)
            yield number, LINE

    rendered = DatasetRenderer(model.files, model.profile, True, None).rendered(lines(), 1)
    assert next(rendered).line == 0
    assert len(taken) < 20


def test_the_processes_end_if_the_main_process_is_killed() -> None:
    options = ["training", str(MODEL), "--trusted", "--dataset", "-", "--output", "-", "--jobs", "2"]
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-m", "toolfmt", *options], stdin=pipe, stdout=pipe, stderr=pipe) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write((json.dumps(LINE) + "\n").encode() * 200)
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["line"] == 1
        process.kill()
        process.communicate(timeout=60)  # until no process has the pipes


def test_the_tools_file_is_used_for_lines_without_tools(tokenizer: Path, tmp_path: Path) -> None:
    given = dataset(tmp_path, {"messages": MESSAGES}, {"messages": MESSAGES[4:], "tools": []})
    found = rows(given, tmp_path, "--tokenizer", str(tokenizer), "--tools", file(tmp_path, TOOLS, "tools.json"))
    assert found == [row(1, tokens()), row(2, tokens(MESSAGES[4:], []))]


def trained(one: dict[str, Any]) -> list[str]:
    """The trained texts of a row without tokens."""
    return [one["text"][span["begin"] : span["end"]] for span in one["spans"] if span["kind"] == "sampled"]


def test_without_a_tokenizer_rows_have_text_and_spans(tmp_path: Path) -> None:
    (found,) = rows(dataset(tmp_path, LINE), tmp_path)
    expected = toolfmt.load(MODEL, trusted=True).render_training(MESSAGES, TOOLS).to_dict()
    assert found == {"line": 1, **expected}
    assert [text.removesuffix("<|im_end|>") for text in trained(found)[1:]] == ["It rains.", "Yes."]


@pytest.mark.parametrize(
    ("train", "expected"),
    [("all", [[1, 3, 5]]), ("last", [[5]]), ("turns", [[1, 3], [5]])],
)
def test_the_trained_messages_are_chosen(train: str, expected: list[list[int]], tmp_path: Path) -> None:
    found = rows(dataset(tmp_path, LINE), tmp_path, "--train", train)
    numbers = [[span["message"] for span in one["spans"] if span["kind"] == "sampled"] for one in found]
    assert numbers == expected
    assert [one["text"].count("Sure?") for one in found] == ([0, 1] if train == "turns" else [1])


def test_reasoning_is_left_out_on_request(tmp_path: Path) -> None:
    thinks = {**MESSAGES[5], "reasoning_content": "It does."}
    given = dataset(tmp_path, {"messages": [MESSAGES[4], thinks]})
    assert [trained(one) for one in rows(given, tmp_path, "--no-reasoning")] == [["Yes.<|im_end|>"]]
    assert [trained(one) for one in rows(given, tmp_path)] == [["<think>\nIt does.\n</think>\n\nYes.<|im_end|>"]]


def test_a_message_with_weight_0_is_not_trained(tmp_path: Path) -> None:
    messages = [{**message, "weight": int(number != 3)} for number, message in enumerate(MESSAGES)]
    (found,) = rows(dataset(tmp_path, {**LINE, "messages": messages}), tmp_path)
    assert [span["message"] for span in found["spans"] if span["kind"] == "sampled"] == [1, 5]
    assert "It rains." in found["text"]


def test_a_sample_with_nothing_to_train_is_left_out(tokenizer: Path, tmp_path: Path) -> None:
    given = dataset(tmp_path, {"messages": MESSAGES[:1]}, LINE)
    assert [one["line"] for one in rows(given, tmp_path)] == [2]
    assert rows(given, tmp_path, "--tokenizer", str(tokenizer), "--max-length", "5") == []
    result = run("training", str(MODEL), "--trusted", "--dataset", given)
    assert "1 sample left out: nothing to train" in result.stdout


def test_a_row_is_cut_after_the_maximum_length(tokenizer: Path, tmp_path: Path) -> None:
    size = len(tokens(MESSAGES[4:], None).input_ids)
    given = dataset(tmp_path, {"messages": MESSAGES[4:]})
    (found,) = rows(given, tmp_path, "--tokenizer", str(tokenizer), "--max-length", str(size - 2))
    assert found == {
        key: value if key == "line" else value[:-2] for key, value in row(1, tokens(MESSAGES[4:], None)).items()
    }


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("{oops", "not JSON (Expecting property name enclosed in double quotes, column 2)"),
        ('{"prompt": "Hi."}', 'no "messages" and no "input"; give one of them'),
        ('{"messages": "[oops"}', '"messages": not JSON (Expecting value, column 2)'),
        ('{"messages": []}', "messages is an empty list; give at least one message"),
        (
            '{"messages": [{"role": "user", "content": "Hi."}], "tools": "x"}',
            '"tools": not JSON (Expecting value, column 1)',
        ),
        (
            '{"messages": [{"role": 5, "content": "Hi."}, {"role": "user", "content": "Hi."}]}',
            'messages[0]: "role" must be a string, not a number',
        ),
        (
            '{"messages": [{"role": {}, "content": "Hi."}]}',
            'messages[0]: "role" must be a string, not an object',
        ),
        (
            '{"messages": [{"role": "assistant", "content": "Hi.", "weight": 0.5}]}',
            "messages[0]: weight is 0.5; give 0 or 1",
        ),
        (
            '{"messages": [{"role": "assistant", "content": "Hi."}], "chat_template_kwargs": 1}',
            '"chat_template_kwargs" must be an object, not a number',
        ),
    ],
)
def test_a_line_that_fails_is_reported_and_skipped(line: str, expected: str, tmp_path: Path) -> None:
    given = dataset(tmp_path, LINE, line, LINE)
    assert [one["line"] for one in rows(given, tmp_path, status=2)] == [1, 3]
    result = run("training", str(MODEL), "--trusted", "--dataset", given)
    assert result.stderr == f"toolfmt: {given}:2: {expected}; the line is skipped\n"
    assert result.stdout.startswith("2 conversations, 1 line skipped\n")


def test_chat_template_kwargs_of_a_line_reach_the_template(tmp_path: Path) -> None:
    thinks = file(tmp_path, "{% for m in messages %}{{ m.content }}{{ '!' if loud }}{% endfor %}", "t.jinja")
    given = dataset(tmp_path, {"messages": MESSAGES[:1], "chat_template_kwargs": {"loud": True}})
    result = run("training", thinks, "--trusted", "--dataset", given, "--html", str(tmp_path / "page.html"))
    assert result.exit_code == 0, result.stderr
    assert "<code>!</code>" in (tmp_path / "page.html").read_text()


def test_statistics_count_tokens_messages_and_problems(tokenizer: Path, tmp_path: Path) -> None:
    broken = {**CALL, "content": "<|im_end|>"}
    given = dataset(tmp_path, LINE, {**LINE, "messages": [MESSAGES[0], broken, *MESSAGES[2:]]})
    options = ("--trusted", "--dataset", given, "--tokenizer", str(tokenizer))
    result = run("training", str(MODEL), *options)
    first, second = (
        toolfmt.load(MODEL, trusted=True).render_training(json.loads(line)["messages"], TOOLS).tokenize(by_bytes())
        for line in Path(given).read_text().splitlines()
    )
    number, total = (
        sum(map(sum, (first.assistant_masks, second.assistant_masks))),
        len(first.input_ids + second.input_ids),
    )
    lines = result.stdout.splitlines()
    assert lines[:3] == [
        "2 conversations",
        "5 of 6 assistant messages trained",
        f"{number:,} of {total:,} tokens trained ({100 * number / total:.1f} %)",
    ]
    assert re.match(r"not-verified +1 +not trained +line 2, messages\[1\]: its text parses as a different", lines[5])
    assert result.exit_code == 0


def test_a_parquet_file_has_the_same_rows(tokenizer: Path, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    given = dataset(tmp_path, *[LINE] * 3)
    for options in ((), ("--tokenizer", str(tokenizer))):
        output = tmp_path / f"{len(options)}.parquet"
        result = run("training", str(MODEL), "--trusted", "--dataset", given, "--output", str(output), *options)
        assert result.exit_code == 0, result.stderr
        assert parquet.read_table(output).to_pylist() == rows(given, tmp_path, *options)


def test_rows_on_standard_output_move_statistics_to_standard_error(tmp_path: Path) -> None:
    given = dataset(tmp_path, LINE)
    result = run("training", str(MODEL), "--trusted", "--dataset", given, "--output", "-")
    assert [json.loads(line) for line in result.stdout.splitlines()] == rows(given, tmp_path)
    assert result.stderr.startswith("1 conversation\n3 of 3 assistant messages trained\n")


def test_the_page_shows_every_character_and_who_writes_it(tmp_path: Path) -> None:
    hostile = [{"role": "user", "content": "<script>alert(1)</script>"}, {"role": "assistant", "content": "No."}]
    given, page = dataset(tmp_path, LINE, {"messages": hostile}), tmp_path / "page.html"
    result = run("training", str(MODEL), "--trusted", "--dataset", given, "--html", str(page))
    assert result.exit_code == 0, result.stderr
    text = page.read_text()
    assert "<script" not in text
    pieces = re.findall(
        r'<li class="piece (\w+)"><span class="label">([^<]*)</span><code>(.*?)</code></li>', text, re.S
    )
    shown = [(style, label, html.unescape(re.sub("<[^>]*>", "", code))) for style, label, code in pieces]
    expected = [one["text"] for one in rows(given, tmp_path)]
    assert "".join(code for _, _, code in shown) == "".join(expected)
    green = [code for style, label, code in shown if (style, label) == ("tools", "trained")]
    assert green == [text for one in rows(given, tmp_path) for text in trained(one)]
    assert [code for _, label, code in shown if label == "user"] == ["Weather in Oslo?", "Sure?", hostile[0]["content"]]


def test_a_template_that_reads_the_clock_gets_one_time(tmp_path: Path) -> None:
    clock = file(
        tmp_path, "{{ strftime_now('%H:%M:%S.%f') }}{% for m in messages %}{{ m.content }}{% endfor %}", "t.jinja"
    )
    given, page = dataset(tmp_path, *[{"messages": MESSAGES[:1]}] * 2), tmp_path / "page.html"
    before = datetime.now()
    assert run("training", clock, "--trusted", "--dataset", given, "--html", str(page)).exit_code == 0
    times = re.findall(r"\d\d:\d\d:\d\d\.\d{6}", page.read_text())
    assert len(times) == 2 and len(set(times)) == 1
    assert f"{before:%H:%M:%S.%f}" <= times[0]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--output", "rows.csv"], "rows.csv: give a name that ends with .jsonl or .parquet, or - for standard output"),
        (["--output", "there.jsonl"], "there.jsonl: exists; remove it or name another file"),
        (["--output", "none/rows.jsonl"], "none/rows.jsonl: cannot be written (No such file or directory)"),
        (["--html", "there.jsonl"], "there.jsonl: exists and is not a web page; remove it or name another file"),
        (
            ["--tokenizer", "none"],
            "none: tokenizer.json cannot be read (No such file or directory); give the directory",
        ),
        (
            ["--dataset", "rows.parquet"],
            "rows.parquet: a dataset is a file of JSON lines; convert it (`Dataset.to_json`)",
        ),
        (["--max-length", "5"], "--max-length needs a tokenizer; give --tokenizer DIR"),
        (["--dataset", "none.jsonl"], "none.jsonl: cannot be read (No such file or directory)"),
        (["--dataset", "-", "--tools", "-"], "only one of --dataset and --tools can be standard input"),
    ],
)
def test_bad_options_are_one_line(
    options: list[str], expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there.jsonl").write_text("mine\n")
    result = run("training", str(MODEL), "--trusted", "--dataset", dataset(tmp_path, LINE), *options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"toolfmt: {expected}")
    assert result.stderr.count("\n") == 1
    assert (tmp_path / "there.jsonl").read_text() == "mine\n"


def test_if_no_line_can_be_rendered_nothing_is_written(tmp_path: Path) -> None:
    output = tmp_path / "rows.jsonl"
    result = run("training", str(MODEL), "--trusted", "--dataset", dataset(tmp_path, "oops"), "--output", str(output))
    assert result.exit_code == 2
    assert result.stderr.splitlines()[1].endswith(
        "dataset.jsonl: no conversation could be rendered; nothing is written"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["dataset.jsonl"]


def test_rows_have_the_problems_of_their_line(tokenizer: Path, tmp_path: Path) -> None:
    given = dataset(tmp_path, {"messages": [MESSAGES[4], {**MESSAGES[5], "content": "A <|im_end|> B."}, *MESSAGES[4:]]})
    (found,) = rows(given, tmp_path, "--tokenizer", str(tokenizer))
    (problem,) = found["problems"]
    assert (problem["message"], problem["kind"], problem["trained"]) == (1, "not-verified", False)


def test_responses_that_the_maximum_length_cuts_are_counted(tokenizer: Path, tmp_path: Path) -> None:
    size = len(tokens(MESSAGES[4:] * 2, None).input_ids)
    given, page = dataset(tmp_path, {"messages": MESSAGES[4:] * 2}), tmp_path / "page.html"
    options = ("--tokenizer", str(tokenizer), "--max-length", str(size - 3), "--html", str(page))
    result = run("training", str(MODEL), "--trusted", "--dataset", given, *options)
    lines = result.stdout.splitlines()
    assert (lines[1], lines[3]) == ("1 of 2 assistant messages trained", "1 assistant message cut by --max-length")
    shown = re.findall(r'<span class="label">(trained|cut)</span><code>(.*?)</code>', page.read_text(), re.S)
    texts = [(label, html.unescape(re.sub("<[^>]*>", "", code))) for label, code in shown]
    assert texts[0] == ("trained", "Yes.<|im_end|>")
    assert [label for label, _ in texts] == ["trained", "trained", "cut"]
    assert "".join(code for _, code in texts[1:]) == "Yes.<|im_end|>"


def test_the_page_shows_tokens_across_a_border_as_not_trained(tmp_path: Path) -> None:
    template = "{% for m in messages %}{{ m.role }}: {{ m.content }}<|im_end|>\n{% endfor %}"
    prompt = "{% if add_generation_prompt %}assistant:{% endif %}"
    (tmp_path / "chat_template.jinja").write_text(template + prompt)
    (tmp_path / "tokenizer_config.json").write_text('{"eos_token": "<|im_end|>"}')
    whole = Tokenizer.from_str(by_bytes().to_str())
    whole.add_tokens([": Yes"])
    whole.save(str(tmp_path / "tokenizer.json"))
    given, page = dataset(tmp_path, {"messages": MESSAGES[4:]}), tmp_path / "page.html"
    result = run("training", str(tmp_path), "--trusted", "--dataset", given, "--html", str(page))
    assert "1 token not trained: partly text of the template" in result.stdout
    shown = re.findall(r'<span class="label">(token border|trained)</span><code>(.*?)</code>', page.read_text(), re.S)
    assert [(label, html.unescape(code)) for label, code in shown] == [
        ("token border", " Yes"),
        ("trained", ".<|im_end|>"),
    ]


def test_what_is_wrong_for_all_lines_is_printed_once(tmp_path: Path) -> None:
    template = "{% if tools %}{{ tools | tojson }}{% endif %}{% for m in messages %}{{ m.role }}={{ m.content }}"
    calls = "{% for c in m.tool_calls %}{{ c.function.name }}{{ c.function.arguments.values() | join }}{% endfor %}"
    (tmp_path / "chat_template.jinja").write_text(template + calls + "<stop>{% endfor %}assistant=")
    (tmp_path / "tokenizer_config.json").write_text('{"eos_token": "<stop>"}')
    by_bytes().save(str(tmp_path / "tokenizer.json"))
    result = run("training", str(tmp_path), "--trusted", "--dataset", dataset(tmp_path, LINE, LINE))
    format, stop = result.stderr.splitlines()
    assert re.match(r"toolfmt: .*: its tool-call format is not known \(.+\); calls are not trained$", format)
    advice = "add it to tokenizer.json as a special token before training"
    assert re.match(rf"toolfmt: .*: the stop string <stop> is \d tokens; {advice}$", stop)
    findings = toolfmt.load(tmp_path, trusted=True).inspect_training().findings
    assert (findings[0].name, findings[0].severity) == ("format-unknown", "error")


def test_settings_of_a_request_do_not_change_a_row(tmp_path: Path) -> None:
    settings = {"add_generation_prompt": True, "continue_final_message": True, "model": "x", "temperature": 1}
    (found,) = rows(dataset(tmp_path, {**LINE, **settings}), tmp_path)
    assert found == rows(dataset(tmp_path, LINE), tmp_path)[0]


def test_the_page_shows_the_first_conversations_and_later_ones_with_a_problem(tmp_path: Path) -> None:
    bad = {"messages": [MESSAGES[4], {**MESSAGES[5], "content": "A <|im_end|> B."}]}
    lines = [{"messages": MESSAGES[4:]}] * 60
    given, page = dataset(tmp_path, *lines, *[bad] * 7), tmp_path / "page.html"
    assert run("training", str(MODEL), "--trusted", "--dataset", given, "--html", str(page)).exit_code == 0
    titles = [int(number) for number in re.findall(r"<h3 id=\"c\d+\">Line (\d+)</h3>", page.read_text())]
    assert titles == [*range(1, 51), *range(61, 66)]
    assert "12 more samples are not shown" in page.read_text()


def test_overlapping_spans_are_shown_once() -> None:
    spans = [(0, 4, 0, "user"), (2, 3, 1, "tool"), (3, 6, 2, "tool")]
    text = TrainingText("abcdefg", tuple(TrainingSpan(*span, "template") for span in spans))
    summary = TrainingSummary(False, shown=[(1, Sample(text, None))])
    shown = re.findall(r'<span class="label">(\w+)</span><code>(.*?)</code>', training_page(summary, "data", 0))
    assert shown == [("user", "abcd"), ("tool", "ef"), ("template", "g")]


def test_a_key_that_is_ignored_is_named_once(tmp_path: Path) -> None:
    given = dataset(tmp_path, LINE, {**LINE, "reasoning_effort": "low"}, {**LINE, "reasoning_effort": "low"})
    result = run("training", str(MODEL), "--trusted", "--dataset", given)
    (line,) = result.stderr.splitlines()
    assert line.startswith(f'toolfmt: {given}:2: "reasoning_effort" is not passed to the template; ')
    assert result.exit_code == 0


def test_a_key_that_is_passed_on_as_a_variable_is_not_named(tmp_path: Path) -> None:
    template = "{% for m in messages %}{{ m.content }}{{ reasoning_effort }}{% endfor %}"
    effort = {"reasoning_effort": "low"}
    given = dataset(tmp_path, {"messages": MESSAGES[:1], **effort, "chat_template_kwargs": effort})
    result = run("training", file(tmp_path, template, "t.jinja"), "--trusted", "--dataset", given)
    assert (result.exit_code, result.stderr) == (0, "")
