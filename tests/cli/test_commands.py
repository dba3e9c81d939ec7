"""The command line: the contract's commands and statuses, one line for bad input, pipes, streaming, quick start."""

from __future__ import annotations

import json
import os
import select
import shutil
import stat
import subprocess
import sys
import threading
import time
from functools import cache
from pathlib import Path
from typing import Any

import depth
import pytest
from command_line import file, run
from model_cases import MODELS, expected, json_text, made, request, without_optional_engines

import toolfmt
from toolfmt.cli.input import pieces
from toolfmt.formats import FORMATS, TOLERANCES
from toolfmt.inspect import checks
from toolfmt.inspect.report.report import Report
from toolfmt.model.batch import Inspector

JSON_FRAMES = str(MODELS / "json-frames")
CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"place": "Oslo"}}\n</tool_call>'
TOOLS = [{"name": "get_weather", "parameters": {"type": "object", "properties": {"place": {"type": "string"}}}}]
USER = [{"role": "user", "content": "Will it rain?"}]
REPLY = {"role": "assistant", "content": "Perhaps."}


@pytest.fixture(autouse=True)
def fixed_terminal_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")


def output(*arguments: str, input: str | bytes = b"", status: int = 0) -> str:
    result = run(*arguments, input=input)
    assert (status, "") == (result.exit_code, result.stderr)
    return result.stdout_bytes.decode("utf-8")


def complaint(*arguments: str, input: str | bytes = b"") -> str:
    """The one line on standard error that bad input gets."""
    result = run(*arguments, input=input)
    assert (result.exit_code, result.stdout) == (2, "")
    line = result.stderr.removeprefix("toolfmt: ")
    assert line != result.stderr
    assert line.count("\n") == 1
    return line.strip()


def command(*arguments: str, **options: Any) -> subprocess.Popen[bytes]:
    """The real command, in its own process."""
    started = [sys.executable, "-c", "from toolfmt.cli.commands import main; main(prog_name='toolfmt')", *arguments]
    pipe = subprocess.PIPE
    home = str(Path(__file__).parents[2])
    return subprocess.Popen(started, **{"stdin": pipe, "stdout": pipe, "stderr": pipe, "cwd": home, **options})


# inspect


@pytest.mark.sample(0)
@pytest.mark.parametrize(
    ("name", "by_level"),
    [("json-frames", "1100"), ("double-encoded", "1100"), ("in-conflict", "1110"), ("no-tools-no-system", "1100")],
)
def test_the_exit_status_of_inspect_depends_on_the_severity(
    name: str, by_level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(MODELS)  # the advice contains the path as passed
    status = int(by_level[2])
    result = without_optional_engines(json.loads(output("inspect", name, "--json", status=status)))
    assert result.pop("path") == name
    assert expected(MODELS / name)["report.json"] == json_text(result)
    for level, status_of_level in zip(("note", "warning", "error", "never"), by_level, strict=True):
        assert run("inspect", name, "--fail-on", level).exit_code == int(status_of_level)


def test_the_text_report_shows_everything_at_a_glance() -> None:
    text = output("inspect", str(MODELS / "null-content-rejected"))
    labels = [line.split()[0] for line in text.splitlines()[1:] if line.startswith("  ") and line[2] != " "]
    assert text.splitlines()[0] == "null-content-rejected   qwen3   chat_template.jinja"
    abilities = ["definitions", "calls", "results", "system", "dropped"]
    assert list(dict.fromkeys(labels)) == [
        "verdict",
        "next",
        "warning",
        *abilities,
        "prefix",
        "minor",
        "more",
    ]
    listed = {tuple(line.split()[:2]) for line in text.splitlines() if " TF0" in line}
    assert {
        ("warning", "TF019"),
        ("warning", "TF014"),
        ("warning", "TF017"),
        ("warning", "TF061"),
    } <= listed
    rest = " ".join(text.partition("  minor ")[2].split())
    assert rest.startswith(
        "content parts lost (TF037), generation prompt changes later (TF050), marker injection (TF055); "
        "show with --full more "
    )
    for sentence in (
        "one per turn; arguments as objects; content may be empty",
        "Tool calling works if requests are adapted first",
        "--enable-auto-tool-choice --tool-call-parser hermes",
    ):
        assert sentence in text
    assert 'prompt        ends with "<think>\\n" by default; the output continues' in text


@cache
def inspected(place: str) -> Report:
    """The report on a directory of the corpus, made once for all widths."""
    return toolfmt.load(place).inspect()


def test_a_printed_request_has_arguments_as_servers_require_them() -> None:
    """OpenAI's API has them as JSON strings; vLLM rejects a request with objects."""
    request = str(MODELS.parents[1] / "examples" / "request.json")
    made = run("render", str(MODELS / "glm4-key-value"), "--request", request, "--output", "messages")
    (call,) = [call for message in json.loads(made.stdout)["messages"] for call in message.get("tool_calls", ())]
    assert json.loads(call["function"]["arguments"]) == {"city": "Oslo"}


@pytest.mark.sample(0)
@pytest.mark.parametrize("columns", [60, 80, 120])
def test_the_report_in_text_fits_its_width_and_is_plain_in_a_pipe(
    columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    if not depth.every:
        monkeypatch.setattr(Inspector, "report", lambda inspector, place: inspected(place))
    monkeypatch.chdir(MODELS)  # a path is not broken either, and may be longer than a line
    for directory in sorted(path.parent.name for path in MODELS.glob("*/report.json") if path.parent.name != "broken"):
        text = run("inspect", directory).stdout
        assert not depth.every or text == run("inspect", directory).stdout
        # Commands to type are on one line, however long, so that copying adds no whitespace.
        typed = [advice.text for advice in inspected(directory).sections.advice if advice.typed]
        typed += [f" toolfmt render {directory} --request FILE{comma}" for comma in ("", ";")]
        typed += [" apply_chat_template(messages, tools=tools)"]
        assert [line for line in text.splitlines() if len(line) > columns and not line.endswith((*typed,))] == []
        assert [line for line in text.splitlines() if line != line.rstrip()] == []
        assert "\x1b" not in text


def test_text_from_a_template_cannot_move_the_cursor(tmp_path: Path) -> None:
    raising = "{{ raise_exception('\x1b[2J[red]gone\u202e') }}"
    made(tmp_path, raising)
    text = run("inspect", str(tmp_path / "model")).stdout
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "\\x1b[2J[red]gone\\u202e" in text


def test_the_package_is_run_as_the_script_is() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "toolfmt", "formats", "nothing-like-it"],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == run("formats", "nothing-like-it").stderr


# render


@pytest.mark.parametrize("name", ["json-frames", "no-tools-no-system", "lists-tools-only"])
def test_render_prints_the_prompt_exactly(name: str, tmp_path: Path) -> None:
    requested = request(MODELS / name)
    given = ["render", str(MODELS / name), "--messages", file(tmp_path, requested["messages"], "m.json")]
    given += ["--tools", file(tmp_path, requested["tools"], "t.json")]
    assert expected(MODELS / name)["prompt.txt"] == output(*given)
    printed = json.loads(output(*given, "--json"))
    assert expected(MODELS / name)["prompt.txt"] == printed.pop("text")
    assert json.loads(expected(MODELS / name)["prompt.json"]) == printed


def test_render_reads_messages_from_standard_input_and_takes_a_strategy(tmp_path: Path) -> None:
    given = ["render", JSON_FRAMES, "--messages", "-", "--tools", file(tmp_path, TOOLS), "--json"]
    strategies = [
        json.loads(output(*given, *more, input=json.dumps(USER)))["strategy"] for more in ([], ["--strategy", "prompt"])
    ]
    assert strategies == ["template", "prompt"]


THINKS = (
    "{% for m in messages %}{{ '<|' + m.role + '|>' + (m.content or '') + '<|end|>' }}{% endfor %}"
    "{{ '<|assistant|>' if add_generation_prompt }}{{ '<think>' if thinks is defined and thinks is true }}"
    "{{ effort }}"
)


@pytest.fixture
def thinking(tmp_path: Path) -> str:
    """A model whose template reads two variables."""
    made(tmp_path, THINKS)
    return str(tmp_path / "model")


@pytest.mark.parametrize("trusted", [[], ["--trusted"]])
def test_render_gives_variables_to_the_template(thinking: str, trusted: list[str], tmp_path: Path) -> None:
    given = ["render", thinking, "--messages", file(tmp_path, USER), *trusted]
    rain = "<|user|>Will it rain?<|end|>"
    assert output(*given) == rain + "<|assistant|>"
    assert output(*given, "--var", "thinks=true", "--var", 'effort="a=b"') == rain + "<|assistant|><think>a=b"
    assert output(*given, "--var", "thinks=true", "--var", "thinks=1") == rain + "<|assistant|>"
    assert output(*given, "--var", "add_generation_prompt=false") == rain


def test_a_template_alone_is_given_the_tokens_of_its_model(tmp_path: Path) -> None:
    template = tmp_path / "alone.jinja"
    template.write_text("{% for m in messages %}[INST]{{ m.content + eos_token }}{% endfor %}", "utf-8")
    given = ["render", str(template), "--messages", file(tmp_path, USER)]
    message = complaint(*given)
    way_out = """; give the template what the model has there: --var eos_token='"…"', or eos_token="…" in Python"""
    assert message.removeprefix("toolfmt: ").rstrip().endswith("'eos_token' is undefined" + way_out)
    assert output(*given, "--var", 'eos_token="</s>"') == "[INST]Will it rain?</s>"
    template.write_text(template.read_text("utf-8").replace("m.content + eos_token", "m.content + untold()"), "utf-8")
    assert "--var" not in complaint(*given)  # a function is nothing that JSON can give
    raising = """{{ eos_token }}{{ raise_exception("UndefinedError: 'eos_token' is undefined") }}"""
    template.write_text(raising, "utf-8")
    assert "--var" not in complaint(*given)


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("effort=high", """--var effort: 'high' is not JSON (Expecting value); """),
        ("effort=high", """; put a string in quotes: --var effort='"high"'"""),
        ("enable_thinking=False", "; write it as JSON: --var enable_thinking=false"),
        ("enable_thinking=True", "; write it as JSON: --var enable_thinking=true"),
        ("effort=None", "; write it as JSON: --var effort=null"),
        ("effort=none", """; put a string in quotes: --var effort='"none"'"""),
        ("effort=NaN", "--var effort: 'NaN' is not JSON (NaN is not JSON); "),
        ("effort=" + "[" * 100_000, "is not JSON (nested too deeply); "),
        ("effort", "--var 'effort' is not NAME=JSON; write for example enable_thinking=true"),
        ("=1", "--var '=1' is not NAME=JSON; write for example enable_thinking=true"),
        ("messages=[]", '--var "messages" cannot be set as a variable; use --messages'),
        ("add_generation_prompt=1", '--var "add_generation_prompt" must be true or false, not a number'),
        ("efort=1", "the template reads no variable 'efort'; leave it out, or give one that it reads: effort, thinks"),
    ],
)
def test_a_variable_that_is_none_is_one_line(typed: str, message: str, thinking: str, tmp_path: Path) -> None:
    assert message in complaint("render", thinking, "--messages", file(tmp_path, USER), "--var", typed)


@pytest.mark.parametrize(
    ("sent", "prompt"),
    [
        (
            {"messages": USER, "model": "m", "temperature": 0.5, "tools": None},
            "<|user|>Will it rain?<|end|><|assistant|>",
        ),
        (
            {"messages": USER, "system": "Be brief.", "max_tokens": 1},
            "<|system|>Be brief.<|end|><|user|>Will it rain?<|end|><|assistant|>",
        ),
        (
            {"messages": USER, "system": [{"type": "text", "text": "Be brief.", "cache_control": {}}]},
            "<|system|>Be brief.<|end|><|user|>Will it rain?<|end|><|assistant|>",
        ),
        (
            {"input": "Will it rain?", "instructions": "Be brief."},
            "<|system|>Be brief.<|end|><|user|>Will it rain?<|end|><|assistant|>",
        ),
        (
            {"input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Rain?"}]}]},
            "<|user|>Rain?<|end|><|assistant|>",
        ),
        (
            {"messages": USER, "chat_template_kwargs": {"thinks": True, "effort": "low"}},
            "<|user|>Will it rain?<|end|><|assistant|><think>high",
        ),
        ({"messages": USER, "add_generation_prompt": False}, "<|user|>Will it rain?<|end|>"),
        (
            {"messages": [*USER, {"role": "assistant", "content": "Per"}], "continue_final_message": True},
            "<|user|>Will it rain?<|end|><|assistant|>Per",
        ),
    ],
)
def test_render_takes_a_request_as_clients_send_it(
    sent: dict[str, Any], prompt: str, thinking: str, tmp_path: Path
) -> None:
    high = ["--var", 'effort="high"'] if "chat_template_kwargs" in sent else []
    assert output("render", thinking, "--request", file(tmp_path, sent), *high) == prompt
    assert output("render", thinking, "--request", "-", *high, input=json.dumps(sent)) == prompt


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        ([], 'a request is an object with "messages", not a list'),
        ("", "empty; give a JSON object"),
        ({}, 'no "messages" and no "input"; give one of them'),
        ({"messages": USER, "input": "x"}, 'both "messages" and "input"; give one of them'),
        ({"messages": {}}, "messages must be a list of objects, not an object"),
        ({"messages": USER, "system": 1}, '"system" must be a string or a list of text parts, not a number'),
        (
            {"messages": [{"role": "user", "content": 1}], "system": "x"},
            '(its system text counted as messages[0]): messages[1]: "content" must be a string',
        ),
        ({"messages": USER, "tools": [1]}, "tools[0]: a tool definition is an object, not a number"),
        ({"messages": USER, "chat_template_kwargs": []}, '"chat_template_kwargs" must be an object, not a list'),
        ({"messages": USER, "add_generation_prompt": 1}, '"add_generation_prompt" must be true or false, not a number'),
        (
            {"messages": USER, "chat_template_kwargs": {"tools": []}},
            '"tools" cannot be set as a variable; use --tools',
        ),
    ],
)
def test_a_request_that_is_none_is_one_line_that_names_the_file(sent: Any, message: str, tmp_path: Path) -> None:
    bad = file(tmp_path, sent, "bad.json")
    line = complaint("render", JSON_FRAMES, "--request", bad)
    assert line.startswith(bad)
    assert message in line


def test_a_request_in_the_place_of_messages_is_one_line(tmp_path: Path) -> None:
    given = file(tmp_path, {"messages": USER})
    message = f"{given}: this is a whole request, not a list of messages; give it as --request"
    assert complaint("render", JSON_FRAMES, "--messages", given) == message


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", ["json-frames", "no-tools-no-system", "double-encoded"])
def test_the_request_for_a_server_gives_the_same_prompt_again(name: str, tmp_path: Path) -> None:
    requested = request(MODELS / name)
    whole = file(tmp_path, {"messages": requested["messages"], "tools": requested["tools"]})
    sent = output("render", str(MODELS / name), "--request", whole, "--output", "messages")
    assert {"messages", "chat_template_kwargs"} <= set(json.loads(sent))
    again = output("render", str(MODELS / name), "--request", "-", input=sent)
    assert again == output("render", str(MODELS / name), "--request", whole)


def test_render_leaves_the_last_answer_open(thinking: str, tmp_path: Path) -> None:
    partial = file(tmp_path, [*USER, {"role": "assistant", "content": "Per"}])
    given = ["render", thinking, "--messages", partial, "--continue-final-message"]
    assert output(*given) == "<|user|>Will it rain?<|end|><|assistant|>Per"
    assert json.loads(output(*given, "--output", "messages"))["continue_final_message"] is True
    message = complaint("render", thinking, "--messages", file(tmp_path, USER), "--continue-final-message")
    assert "messages[0]: with continue_final_message, the last message must be an assistant message" in message


def test_render_reports_what_the_template_drops(tmp_path: Path) -> None:
    made(tmp_path, "{{ messages[-1].content }}")
    given = ["render", str(tmp_path / "model"), "--messages", file(tmp_path, [*USER, REPLY, *USER])]
    assert "is lost" in complaint(*given)
    result = run(*given, "--lossy")
    assert (result.exit_code, result.stdout) == (0, "Will it rain?")
    lost = json.loads(run(*given, "--lossy", "--json").stdout)["lost"]
    assert result.stderr.splitlines() == [f"toolfmt: {one} is lost" for one in lost]
    assert lost != []


def test_half_a_surrogate_pair_in_a_prompt_is_printed_as_an_escape(tmp_path: Path) -> None:
    messages = file(tmp_path, '[{"role": "user", "content": "a\\ud800b"}]')
    assert "a\\ud800b<|im_end|>" in output("render", JSON_FRAMES, "--messages", messages)
    printed = json.loads(output("render", JSON_FRAMES, "--messages", messages, "--json"))
    assert "a\ud800b<|im_end|>" in printed["text"]


# parse


def test_parse_prints_events_as_lines(tmp_path: Path) -> None:
    lines = output("parse", "--format", "json", input="Well. " + CALL).splitlines()
    assert [
        {"type": "content", "text": "Well. "},
        {"type": "tool_call_start", "index": 0, "name": "get_weather", "id": None},
        {"type": "tool_call_arguments", "index": 0, "delta": '{"place": "Oslo"}'},
        {"type": "tool_call_end", "index": 0, "span": [6, 6 + len(CALL)], "tolerated": []},
    ] == [json.loads(line) for line in lines]
    assert lines == output("parse", file(tmp_path, "Well. " + CALL), "--format", "hermes").splitlines()


def test_parse_prints_a_message_with_what_was_rejected() -> None:
    answer = f"<think>Hm.</think>{CALL}<tool_call>"
    printed = json.loads(output("parse", "--format", "json", "--output", "message", input=answer + '{"name": "get_w'))
    expected = toolfmt.parse(answer + '{"name": "get_w', "json").to_dict()
    assert expected == printed
    assert (
        printed["reasoning_content"],
        len(printed["tool_calls"]),
        [rejected["reason"] for rejected in printed["rejected"]],
    ) == ("Hm.", 1, ["incomplete_output"])


def test_parse_prints_a_stream_that_openai_clients_read() -> None:
    pieces = output("parse", "--format", "json", "--output", "openai", input="Well. " + CALL).split("\n\n")
    assert pieces[-2:] == ["data: [DONE]", ""]
    chunks = [json.loads(piece.removeprefix("data: ")) for piece in pieces[:-2]]
    assert {"chat.completion.chunk"} == {chunk["object"] for chunk in chunks}
    assert chunks[0]["choices"][0]["delta"] == {"role": "assistant", "content": "Well. "}
    assert chunks[-1]["choices"][0]["finish_reason"] == "tool_calls"


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_chunks_of_any_size_mean_the_same(size: int) -> None:
    whole = output("parse", "--format", "json", "--output", "message", input="Well. " + CALL)
    given = ("parse", "--format", "json", "--chunk", str(size))
    assert whole == output(*given, "--output", "message", input="Well. " + CALL)
    events = [json.loads(line) for line in output(*given, input="Well. ").splitlines()]
    assert "".join(event["text"] for event in events) == "Well. "
    assert all(len(event["text"]) <= size + len("Well. ") for event in events)


def test_parse_takes_tools_prefix_strictness_and_a_model(tmp_path: Path) -> None:
    tools = file(tmp_path, TOOLS)
    given = ("parse", "--model", str(MODELS / "glm4-key-value"), "--tools", tools)
    glm = "<tool_call>get_weather\n<arg_key>place</arg_key>\n<arg_value>0150</arg_value>\n</tool_call>"
    printed = json.loads(output(*given, "--output", "message", input=glm))
    assert printed["tool_calls"][0]["function"]["arguments"].replace('":"', '": "') == '{"place": "0150"}'
    thinking = ("parse", "--model", str(MODELS / "null-content-rejected"))
    assert json.loads(output(*thinking, input="Hm."))["type"] == "reasoning"
    assert json.loads(output(*thinking, "--prefix", "", input="Hm."))["type"] == "content"
    assert json.loads(output("parse", "--format", "json", "--prefix", "<think>", input="Hm."))["type"] == "reasoning"
    trailing = CALL.replace("}}", ",}}")
    assert '"tolerated": ["' in output("parse", "--format", "json", input=trailing)
    for rejects in (["--strict"], ["--tolerate", "none"], ["--tolerate", "raw_newline,single_quotes"]):
        assert "malformed_syntax" in output("parse", "--format", "json", *rejects, input=trailing)
    for allows in ("all", "raw_newline, trailing_comma"):
        assert "tool_call_end" in output("parse", "--format", "json", "--tolerate", allows, input=trailing)


def lines_of(records: list[Any]) -> str:
    return "".join((record if isinstance(record, str) else json.dumps(record)) + "\n" for record in records)


@pytest.mark.parametrize("processes", [(), ("--processes", "2")])
def test_recorded_answers_are_a_message_a_line_in_their_order(processes: tuple[str, ...], tmp_path: Path) -> None:
    own = [{"name": "other"}]
    answers = [("Hi.", None), (CALL, None), (CALL, own), (CALL, json.dumps(own)), (CALL, []), *[("x", None)] * 150]
    records = [{"answer": text, "tools": tools, "more": 1} for text, tools in answers]
    recorded, tools = file(tmp_path, lines_of([*records[:1], "", *records[1:]])), file(tmp_path, TOOLS, "tools.json")
    given = ("parse", "--format", "json", "--text-key", "answer", *processes)
    printed = [json.loads(line) for line in output(*given, "--jsonl", recorded, "--tools", tools).splitlines()]
    assert printed == [toolfmt.parse(text, "json", tools=TOOLS).to_dict() for text, _ in answers]
    given = (*given, "--tools-key", "tools", "--tools", tools, "--jsonl")
    printed = [json.loads(line) for line in output(*given, "-", input=lines_of(records)).splitlines()]
    reasons = [[rejected["reason"] for rejected in message["rejected"]] for message in printed]
    assert reasons == [[], [], ["undeclared_tool"], ["undeclared_tool"], ["undeclared_tool"], *[[]] * 150]


def test_recorded_answers_take_what_one_answer_takes(tmp_path: Path) -> None:
    recorded = file(tmp_path, lines_of([{"text": "Hm.</think>" + CALL.replace("}}", ",}}")}]))
    given = ("parse", "--jsonl", recorded)
    printed = json.loads(output(*given, "--format", "json", "--prefix", "<think>", "--strict", "--output", "message"))
    assert (printed["reasoning_content"], printed["rejected"][0]["reason"]) == ("Hm.", "malformed_syntax")
    thinking = (*given, "--model", str(MODELS / "null-content-rejected"))
    assert json.loads(output(*thinking))["reasoning_content"] == "Hm."
    assert json.loads(output(*thinking, "--prefix", ""))["reasoning_content"] is None


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("{oops", "not JSON (Expecting property name enclosed in double quotes, column 2)"),
        ("[" * 100_000, "JSON that cannot be read (nested too deeply); "),
        ("[" + "1" * 5000 + "]", "JSON that cannot be read (an integer of more than 4300 digits); "),
        ("[1]", "not a JSON object"),
        ('"Hi."', "not a JSON object"),
        ("{}", "no key 'text'; --text-key names the key that has the output"),
        ('{"answer": "Hi."}', "no key 'text', only 'answer'; --text-key names the key that has the output"),
        (
            json.dumps(dict.fromkeys(["k" * 99, *"bcdefgh"])),
            f"no key 'text', only '{'k' * 40}…', 'b', 'c', 'd', 'e' and 3 m",
        ),
        ('{"text": null}', "the value of 'text' is not a string; --text-key names the key that has the output"),
        ('{"text": "Hi.", "tools": [1]}', "tools under 'tools': tools[0]: a tool definition is an object, not a num"),
        ('{"text": "Hi.", "tools": "[oops"}', "tools under 'tools': not JSON (Expecting value, column 2); "),
        ('{"text": "Hi.", "tools": "x"}', "tools under 'tools': not JSON (Expecting value, column 1); "),
        (
            '{"text": "Hi.", "tools": {}}',
            "tools under 'tools': tools must be a list of tool definitions, not an object",
        ),
    ],
)
def test_a_line_that_is_no_recorded_answer_is_named_and_skipped(line: str, expected: str, tmp_path: Path) -> None:
    recorded = file(tmp_path, lines_of([{"text": "One.", "tools": None}, line, {"text": "Two."}]))
    result = run("parse", "--format", "json", "--tools-key", "tools", "--jsonl", recorded)
    assert [json.loads(printed)["content"] for printed in result.stdout.splitlines()] == ["One.", "Two."]
    assert result.stderr.startswith(f"toolfmt: {recorded}:2: {expected}")
    assert (result.stderr.count("\n"), result.exit_code) == (1, 2)
    assert result.stderr.endswith("; the line is skipped\n")


@pytest.mark.parametrize("processes", [(), ("--processes", "2")])
def test_the_first_skipped_lines_are_reported_and_the_rest_counted(processes: tuple[str, ...], tmp_path: Path) -> None:
    recorded = file(tmp_path, lines_of([*[{"answer": "Hi."}] * 1500, {"text": "One."}, "oops"]))
    result = run("parse", "--format", "json", "--jsonl", recorded, *processes)
    assert (result.stdout.count("\n"), result.exit_code) == (1, 2)
    reported = [line.removeprefix(f"toolfmt: {recorded}:") for line in result.stderr.splitlines()]
    skipped = "no key 'text', only 'answer'; --text-key names the key that has the output; the line is skipped"
    assert reported[:20] == [f"{number}: {skipped}" for number in range(1, 21)]
    assert reported[20:] == [" 1,481 more lines are skipped"]


def test_a_tools_key_that_no_line_has_is_reported_at_the_end(tmp_path: Path) -> None:
    recorded = file(tmp_path, lines_of([{"text": "One.", "tools": []}] * 2))
    result = run("parse", "--format", "json", "--jsonl", recorded, "--tools-key", "tl")
    message = f"toolfmt: {recorded}: no line has 'tl'; --tools-key names the key of its tools\n"
    assert (result.stdout.count("\n"), result.stderr, result.exit_code) == (2, message, 0)
    for lines in ([], [{"text": "One."}, {"text": "Two.", "tl": None}]):
        output("parse", "--format", "json", "--jsonl", file(tmp_path, lines_of(lines)), "--tools-key", "tl")


def test_two_tools_with_one_name_in_a_line_are_reported_with_its_key(tmp_path: Path) -> None:
    recorded = file(tmp_path, lines_of([{"text": CALL, "tl": [*TOOLS, {"type": "web_search", "name": "x"}, *TOOLS]}]))
    result = run("parse", "--format", "json", "--jsonl", recorded, "--tools-key", "tl")
    message = "tools under 'tl': tools[2]: tools[0] is called 'get_weather' too; the first one counts"
    assert (result.stderr, result.exit_code) == (f"toolfmt: {recorded}:1: {message}\n", 0)


def test_one_answer_and_many_have_options_of_their_own(tmp_path: Path) -> None:
    recorded = file(tmp_path, lines_of([{"text": "Hi."}]))
    given = ("parse", "--format", "json", "--jsonl")
    assert "cannot be read" in complaint(*given, str(tmp_path / "nowhere"))
    assert "give either a FILE with one output or --jsonl with many" in complaint(*given, recorded, recorded)
    for options in (("--chunk", "2"), ("--output", "events"), ("--output", "openai")):
        assert f"{' '.join(options[:1])}" in complaint(*given, recorded, *options)
    for options in (("--text-key", "text"), ("--tools-key", "tools"), ("--processes", "2")):
        assert f"{options[0]} goes with --jsonl" in complaint("parse", "--format", "json", *options)
    assert "cannot both be standard input" in complaint(*given, "-", "--tools", "-")
    for number in ("0", "x", "1.5"):
        message = f"Invalid value for '--processes': '{number}' is not a whole number of at least 1"
        assert complaint(*given, recorded, "--processes", number) == f"{message}; see toolfmt parse --help"
    for option in ("--text-key", "--tools-key"):
        assert f"'{option}': a key is not empty" in complaint(*given, recorded, option, "")
        assert f"'{option}': a key is not empty" in complaint("parse", "--format", "json", option, "")
    assert "no tool-call format" in complaint("parse", "--format", "jsn", "--jsonl", recorded)


def test_of_two_tools_with_one_name_the_first_counts_and_one_line_reports_it(tmp_path: Path) -> None:
    tools = file(tmp_path, [*TOOLS, {"name": "get_weather"}, {"type": "web_search"}])
    for given in (("--jsonl", file(tmp_path, lines_of([{"text": CALL}] * 2), "x")), (file(tmp_path, CALL, "y"),)):
        result = run("parse", "--format", "json", "--tools", tools, *given)
        assert result.exit_code == 0 and '"get_weather"' in result.stdout
        message = "tools[1]: tools[0] is called 'get_weather' too; the first one counts"
        assert result.stderr == f"toolfmt: {tools}: {message}\n"


def test_bytes_that_are_no_text_are_parsed_all_the_same() -> None:
    result = run("parse", "--format", "json", input=b"a\xff" + "é".encode() + b"\xc3")
    assert "".join(json.loads(line)["text"] for line in result.stdout.splitlines()) == "a\ufffdé\ufffd"
    message = "standard input: not UTF-8 text (offset 1); invalid bytes are replaced with U+FFFD"
    assert (result.stderr, result.exit_code) == (f"toolfmt: {message}\n", 0)


@pytest.mark.parametrize("before", [0, 3, 65534, 65535, 65536, 200_000])
@pytest.mark.parametrize(
    ("wrong", "read"),
    [(b"\xff.", "\ufffd."), (b"\xe2\x82.", "\ufffd."), (b"\xe2\x82", "\ufffd"), (b"\xe2\x82\xac", "€")],
)
def test_bytes_that_are_not_text_are_reported_at_the_first_of_them(
    wrong: bytes, read: str, before: int, tmp_path: Path
) -> None:
    """The pieces that are read end at 65,536 bytes."""
    path = tmp_path / "answer"
    path.write_bytes(b"x" * before + wrong)
    reported: list[str] = []
    assert "".join(pieces(str(path), reported.append)) == "x" * before + read
    message = f"{path}: not UTF-8 text (offset {before}); invalid bytes are replaced with U+FFFD"
    assert reported == ([message] if "\ufffd" in read else [])


def test_an_empty_answer_is_no_events() -> None:
    assert output("parse", "--format", "json", input="") == ""


# formats, explain, help


def test_formats_detects_the_formats_that_read_an_output() -> None:
    found = run("formats", "--detect", "-", input=CALL)
    assert (found.exit_code, found.stderr) == (0, "")
    assert found.stdout.splitlines()[0].split() == ["json", "1", "call:", "get_weather"]
    first = json.loads(output("formats", "--detect", "-", "--json", input=CALL))[0]
    assert first == {"format": "json", "calls": ["get_weather"], "tolerated": [], "rejected": 0}
    found = run("formats", "--detect", "-", input="It will rain.")
    assert (found.exit_code, found.stdout) == (1, "")
    assert found.stderr == "toolfmt: standard input: no known format finds a call in this output\n"
    assert run("formats", "glm4", "--detect", "-", input=CALL).exit_code == 2


def test_parse_names_the_formats_that_read_what_its_format_does_not() -> None:
    parsed = run("parse", "--format", "glm4", input="[get_weather(place='Oslo')]")
    assert parsed.exit_code == 0
    assert json.loads(parsed.stdout)["type"] == "content"
    assert parsed.stderr == "toolfmt: glm4 reads no call here; pythonic reads 1 call: get_weather\n"
    assert run("parse", "--format", "glm4", input="It will rain.").stderr == ""
    assert run("parse", "--format", "json", input=CALL).stderr == ""


def test_parse_reads_any_syntax_with_the_format_auto(tmp_path: Path) -> None:
    tools = file(tmp_path, TOOLS)
    for text in (CALL, "[get_weather(place='Oslo')]", 'get_weather{"place": "Oslo"}'):
        options = ("--format", "auto", "--tools", tools, "--output", "message")
        (call,) = json.loads(output("parse", *options, input=text))["tool_calls"]
        assert call["function"] == {"name": "get_weather", "arguments": '{"place": "Oslo"}'}


def test_formats_lists_all_and_shows_one() -> None:
    text, printed = output("formats"), json.loads(output("formats", "--json"))
    assert [format.name for format in FORMATS] == [format["name"] for format in printed]
    for format in FORMATS:
        assert format.name in text
        page = output("formats", (*format.aliases, format.name)[0])
        assert page.startswith(format.name + "\n")
        one = json.loads(output("formats", format.name, "--json"))
        assert (list(format.aliases), list(format.runtime_parsers)) == (one["aliases"], list(one["runtime_parsers"]))
        assert "".join(one["example"].split()) in "".join(page.split())  # the page is indented
        assert one in printed


def test_explain_prints_a_page_by_code_and_by_name() -> None:
    page = output("explain", "TF013")
    assert page.startswith("# TF013 calls-dropped\n")
    assert page == output("explain", "calls-dropped")


def test_explain_names_the_finding_that_an_old_code_or_an_outcome_belongs_to() -> None:
    page = output("explain", "TF014")
    assert output("explain", "TF015") == f"TF015 is now TF014 arguments-form, outcome object-rejected.\n\n{page}"
    assert output("explain", "object-rejected") == f"object-rejected is an outcome of TF014 arguments-form.\n\n{page}"


@pytest.mark.parametrize("columns", [60, 100])
def test_explain_wraps_a_page_to_the_width_and_loses_no_word(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    for check in checks.CHECKS:
        page = output("explain", checks.code(check))
        assert checks.explain(checks.code(check)).split() == page.split()
        assert max(len(line) for line in page.splitlines() if not line.startswith("    ")) <= columns


def test_explain_without_a_code_lists_every_finding_with_its_severity() -> None:
    lines = [line.split()[:3] for line in output("explain").splitlines() if line.startswith("TF")]
    assert [[checks.code(check), checks.name(check), checks.severity(check)] for check in checks.CHECKS] == lines
    note = " ".join(output("explain").split("\n\n")[-1].split())
    assert note == "The severity is the highest that the finding can have. In a report, it may be lower."


def test_help_names_every_command_and_is_quick() -> None:
    begin = time.perf_counter()
    done = command("--help").communicate(timeout=300)
    took = time.perf_counter() - begin
    text = done[0].decode()
    assert done[1] == b""
    assert [name for name in ("inspect", "render", "parse", "formats", "explain", "diff") if name not in text] == []
    assert took < 1.5  # seconds of CPU time, measured: 0.10
    assert f"toolfmt {toolfmt.__version__}\n" == output("--version")


# Bad input


def test_bad_use_is_one_line() -> None:
    assert complaint() == "Missing command; see toolfmt --help"
    assert complaint("check") == "No such command 'check'; see toolfmt --help"
    assert complaint("parse", "--text-key") == "Option '--text-key' requires an argument; see toolfmt parse --help"
    assert complaint("parse") == "give either --format or --model; see toolfmt parse --help"
    assert "give either --format or --model" in complaint("parse", "--format", "json", "--model", JSON_FRAMES)
    both = complaint("parse", "--format", "json", "--strict", "--tolerate", "set")
    assert both == "give either --strict or --tolerate; see toolfmt parse --help"
    assert "did you mean 'trailing_comma'?" in complaint("parse", "--format", "json", "--tolerate", "set,trailing")
    unknown = complaint("parse", "--format", "json", "--tolerate", "foo")
    assert [name for name in TOLERANCES if name not in unknown] == []
    assert complaint("render", "d") == "give --messages FILE, or --request FILE; see toolfmt render --help"
    for other in ("--messages", "--tools"):
        message = complaint("render", "d", "--request", "-", other, "-")
        assert message == f"--request holds messages and tools; leave {other} out; see toolfmt render --help"
    message = complaint("render", "d", "--messages", "-", "--json", "--output", "messages")
    assert message == "give either --json or --output messages; see toolfmt render --help"
    assert "only one of --messages and --tools" in complaint("render", "d", "--messages", "-", "--tools", "-")
    assert "cannot both be standard input" in complaint("parse", "--format", "json", "--tools", "-")
    assert "--chunk" in complaint("parse", "--format", "json", "--chunk", "0")


def test_unknown_names_are_one_line() -> None:
    for given in (("formats", "jsn"), ("parse", "--format", "jsn")):
        assert complaint(*given).startswith("no tool-call format is named 'jsn'; did you mean json? ")
    assert len(complaint("parse", "--format", CALL * 100)) < 300
    assert complaint("explain", "TF999").startswith("no finding is called 'TF999'; ")


@pytest.mark.parametrize(
    ("made_of", "expected"),
    [
        (None, ": no such file or directory; give a model directory"),
        ({}, ": empty; give a model directory"),
        ({"config.json": "{]"}, "config.json, line 1, column 2: not JSON"),
        ({"tokenizer_config.json": "[]"}, "tokenizer_config.json: a list, where a JSON object is expected"),
        ({"generation_config.json": "{"}, "generation_config.json, line 1, column 2: not JSON"),
        ({"special_tokens_map.json": "nul"}, "special_tokens_map.json, line 1, column 1: not JSON"),
        ({"chat_template.json": "{"}, "chat_template.json, line 1, column 2: not JSON"),
        ({"chat_template.jinja": "x" * 5_000_000}, "chat_template.jinja: "),
    ],
)
def test_a_bad_directory_is_one_line_for_every_command(
    made_of: dict[str, str] | None, expected: str, tmp_path: Path
) -> None:
    directory = tmp_path / "model"
    if made_of is not None:
        directory.mkdir()
        for name, text in made_of.items():
            (directory / name).write_text(text, "utf-8")
    messages = file(tmp_path, USER)
    for given in (("inspect", "DIR"), ("inspect", "DIR", "--json"), ("render", "DIR", "--messages", messages)):
        message = complaint(*(str(directory) if part == "DIR" else part for part in given))
        assert message.startswith(str(directory))
        assert expected in message


@pytest.mark.parametrize(
    ("made_of", "expected"),
    [
        ({"chat_template.jinja": "{% if %}"}, "chat_template.jinja, line 1: syntax error: "),
        (
            {"tokenizer_config.json": '{"chat_template": "{% for %}"}'},
            "tokenizer_config.json, line 1: syntax error: ",
        ),
    ],
)
def test_a_template_that_does_not_compile_is_a_report_and_renders_nothing(
    made_of: dict[str, str], expected: str, tmp_path: Path
) -> None:
    directory = tmp_path / "model"
    directory.mkdir()
    for name, text in made_of.items():
        (directory / name).write_text(text, "utf-8")
    report = json.loads(output("inspect", str(directory), "--json", status=1))
    assert (report["verdict"]["tools"], [one["code"] for one in report["findings"]]) == ("broken", ["TF002"])
    for message in (
        complaint("render", str(directory), "--messages", file(tmp_path, USER)),
        complaint("diff", str(directory), str(MODELS / "json-frames")),
    ):
        assert message.startswith(str(directory))
        assert expected in message


def test_a_file_that_is_no_model_is_one_line(tmp_path: Path) -> None:
    neither = "neither a directory nor a .gguf or .jinja file"
    assert f"{neither}; give a model directory" in complaint("inspect", file(tmp_path, "{}"))
    assert neither in complaint("parse", "--model", file(tmp_path, "{}"))


def test_a_directory_without_a_template_is_inspected_but_not_rendered(tmp_path: Path) -> None:
    made(tmp_path, None)
    directory = str(tmp_path / "model")
    report = output("inspect", directory, status=1)
    assert "TF001" in report
    assert "no known parser" not in report  # there is no template, and so no call
    assert "Result of" not in report  # no prompt can describe the tools
    assert "no chat template to render with" in complaint("render", directory, "--messages", file(tmp_path, USER))


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "empty; give a JSON list"),
        ("{]", "not JSON (Expecting property name enclosed in double quotes"),
        ("[" * 100_000, "JSON that cannot be read (nested too deeply); give a JSON list"),
        ("[" + "1" * 5000 + "]", "JSON that cannot be read (an integer of more than 4300 digits); give a JSON list"),
        ('"hello"', "must be a list of"),
        ("{}", "must be a list of"),
        ("null", "must be a list of"),
        ("[1]", "object, not a number"),
    ],
)
def test_bad_messages_and_tools_are_one_line_that_names_the_file(text: str, expected: str, tmp_path: Path) -> None:
    bad, good = file(tmp_path, text, "bad.json"), file(tmp_path, USER, "good.json")
    message = complaint("render", JSON_FRAMES, "--messages", bad)
    assert message.startswith(f"{bad}: ")
    assert expected in message
    for given in (("render", JSON_FRAMES, "--messages", good), ("parse", good, "--format", "json")):
        message = complaint(*given, "--tools", bad)
        assert message.startswith(f"{bad}: ")
        assert expected in message
    assert complaint("render", JSON_FRAMES, "--messages", "-", input=text).startswith("standard input: ")


def test_files_that_cannot_be_read_are_one_line(tmp_path: Path) -> None:
    (tmp_path / "bytes").write_bytes(b"[\xff]")
    assert "not UTF-8 text (offset 1)" in complaint("render", JSON_FRAMES, "--messages", str(tmp_path / "bytes"))
    for name in ("nowhere", "."):
        assert "cannot be read" in complaint("parse", str(tmp_path / name), "--format", "json")
        assert "cannot be read" in complaint("render", JSON_FRAMES, "--messages", str(tmp_path / name))


def test_forcing_a_template_that_drops_tools_is_one_line(tmp_path: Path) -> None:
    given = ["render", str(MODELS / "asks-the-clock"), "--messages", file(tmp_path, USER, "m.json")]
    message = complaint(*given, "--tools", file(tmp_path, TOOLS), "--strategy", "template")
    assert "the template drops the tools (get_weather not in the prompt)" in message


# Pipes


def read_line(process: subprocess.Popen[bytes], seconds: float = 20) -> dict[str, Any]:
    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], seconds)
    assert ready, "nothing was printed"
    event: dict[str, Any] = json.loads(process.stdout.readline())
    return event


@pytest.mark.skipif(sys.platform == "win32", reason="select waits for sockets only")
def test_input_is_read_as_it_arrives_and_events_are_flushed_as_they_happen() -> None:
    process = command("parse", "--format", "json", bufsize=0)
    assert process.stdin is not None
    process.stdin.write("Wéll. ".encode()[:2])
    assert read_line(process) == {"type": "content", "text": "W"}
    process.stdin.write("Wéll. ".encode()[2:] + b'<tool_call>{"name": "f", "arguments": {"code": "a')
    assert read_line(process) == {"type": "content", "text": "éll. "}
    assert read_line(process) == {"type": "tool_call_start", "index": 0, "name": "f", "id": None}
    assert read_line(process) == {"type": "tool_call_arguments", "index": 0, "delta": '{"code": "a'}
    process.stdin.write(b'b"}}</tool_call>')
    assert read_line(process) == {"type": "tool_call_arguments", "index": 0, "delta": 'b"}'}
    assert read_line(process)["type"] == "tool_call_end"
    rest, errors = process.communicate(timeout=300)
    assert (process.returncode, rest, errors) == (0, b"", b"")


@pytest.mark.sample(0)
def test_a_reader_that_goes_away_ends_the_command_quietly(tmp_path: Path) -> None:
    answer = file(tmp_path, "word " * 400_000, "answer.txt")
    for given in (("parse", answer, "--format", "json", "--chunk", "5"), ("formats",), ("inspect", JSON_FRAMES)):
        process = command(*given, stdin=subprocess.DEVNULL)
        assert process.stdout is not None
        assert process.stderr is not None
        if given[0] == "parse":
            process.stdout.readline()
        process.stdout.close()
        assert (process.stderr.read(), process.wait(60)) == (b"", 0)
        process.stderr.close()


@pytest.mark.sample(0)
@pytest.mark.skipif(sys.platform == "win32", reason="a POSIX shell closes the files")
def test_closed_standard_files_give_no_traceback(tmp_path: Path) -> None:
    code = "from toolfmt.cli.commands import main; main(prog_name='toolfmt')"
    answer = file(tmp_path, "Hello.", "answer.txt")

    def shell(rest: str) -> tuple[int, str]:
        line = f'exec "{sys.executable}" -c "{code}" {rest}'
        home = str(Path(__file__).parents[2])
        done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, cwd=home, check=False, timeout=300)
        return done.returncode, done.stderr

    closed = "toolfmt: standard input is closed; give the name of a file instead of -\n"
    assert (2, closed) == shell("parse --format json <&-")
    assert (2, closed) == shell(f"render '{JSON_FRAMES}' --messages - <&-")
    assert shell(f"parse --format json '{answer}' <&-") == (0, "")
    nowhere = "toolfmt: standard output is closed; leave it open, or send it to a file\n"
    commands = [
        f"parse --format json '{answer}'",
        f"inspect '{JSON_FRAMES}' --trusted --output-format text --output-format 'html={tmp_path / 'page.html'}'",
        f"inspect '{JSON_FRAMES}' --fix --output '{tmp_path / 'copy'}'",
        "--help",
        f"inspect '{JSON_FRAMES}'",
        "inspect --help",
        "--version",
    ]
    for given in commands if depth.every else depth.some(commands[:3], 3):
        assert (2, nowhere) == shell(f"{given} >&-")
        assert shell(f"{given} >&- 2>&-") == (2, "")
        assert shell(f"{given} <&- >&- 2>&-") == (2, "")
    assert not (tmp_path / "copy").exists()
    assert shell("inspect /nowhere 2>&-") == (2, "")
    assert shell("--nonsense 2>&-") == (2, "")
    assert shell("--help 2>&-") == (0, "")
    assert shell(f"inspect '{JSON_FRAMES}' <&- 2>&-") == (0, "")
    assert shell("parse --format json </dev/null") == (0, "")
    if os.path.exists("/dev/full"):
        full = "toolfmt: standard output cannot be written (No space left on device); look at where it goes\n"
        assert (2, full) == shell("formats >/dev/full")


@pytest.mark.skipif(sys.platform == "win32", reason="a POSIX shell closes the files")
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- 2>&-", "<&- >&- 2>&-"])
def test_no_file_is_opened_in_the_place_of_a_closed_standard_file(closed: str, tmp_path: Path) -> None:
    """What a library prints would be written into it."""
    program = """
import os, sys
from toolfmt.cli import commands
def opened(*given, **options):
    descriptor = os.open(sys.argv[-1], os.O_WRONLY | os.O_CREAT)
    os.write(descriptor, str(descriptor).encode())
    return 5
commands.click.Group.main = opened
commands.main()
"""
    result_file = tmp_path / "result"
    line = f'exec "$0" -c "$1" "$2" {closed}'
    given = ["sh", "-c", line, sys.executable, program, str(result_file)]
    assert (
        subprocess.run(given, cwd=Path(__file__).parents[2], check=False, capture_output=True, timeout=300).returncode
        == 5
    )
    assert int(result_file.read_text()) > 2


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    """A pipe without a reader or a writer."""
    if not hasattr(os, "mkfifo"):
        pytest.skip("this system has no named pipes")
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


@pytest.mark.sample(0)
@pytest.mark.parametrize("option", ["--tools", "--baseline"])
def test_a_pipe_without_a_writer_is_rejected_after_a_while(
    option: str, pipe: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolfmt.cli.special_files._SECONDS", 0.2)
    threads = threading.active_count()
    message = f"{pipe}: no process writes to this pipe; start the writer first, or pass a file"
    assert complaint("inspect", JSON_FRAMES, option, str(pipe)) == message
    assert message in complaint("render", JSON_FRAMES, "--request", str(pipe))
    assert message in complaint("render", JSON_FRAMES, "--messages", str(pipe))
    deadline = time.monotonic() + 60
    while threading.active_count() > threads and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threading.active_count() == threads


@pytest.mark.sample(0)
def test_a_pipe_is_read_whoever_begins_first(pipe: Path) -> None:
    request = json.dumps({"messages": [{"role": "user", "content": "Hi."}]})
    for before in (True, False):
        late = threading.Timer(0 if before else 0.3, lambda: pipe.write_text(request, "utf-8"))
        late.start()
        if before:
            time.sleep(0.3)
        assert "Hi." in output("render", JSON_FRAMES, "--request", str(pipe))
        late.join()


@pytest.mark.sample(0)
@pytest.mark.skipif(shutil.which("bash") is None, reason="no shell here knows <(…)")
def test_what_a_shell_gives_for_a_command_is_read() -> None:
    slow = """sleep 0.5; echo '{"messages": [{"role": "user", "content": "Hi."}]}'"""
    code = "from toolfmt.cli import commands, special_files as special; special._SECONDS = 0.1; commands.main()"
    line = f'exec "$0" -c "$1" render "$2" --request <({slow})'
    given = ["bash", "-c", line, sys.executable, code, JSON_FRAMES]
    done = subprocess.run(
        given, capture_output=True, text=True, cwd=Path(__file__).parents[2], check=False, timeout=300
    )
    assert (done.returncode, done.stderr, "Hi." in done.stdout) == (0, "", True)


@pytest.mark.sample(0)
@pytest.mark.parametrize("format", ["html", "json", "markdown"])
def test_a_pipe_without_a_reader_is_not_written_to(format: str, pipe: Path) -> None:
    message = complaint("inspect", JSON_FRAMES, "--output-format", f"{format}={pipe}")
    assert message == f"{pipe}: no process reads this pipe; start the reader first, or pass a file"
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text("utf-8")))
    reader.start()
    time.sleep(0.2)
    assert run("inspect", JSON_FRAMES, "--output-format", f"{format}={pipe}").exit_code == 0
    reader.join()
    assert len(read[0]) > 100
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.sample(0)
@pytest.mark.skipif(sys.platform != "linux", reason="the devices of Linux")
@pytest.mark.parametrize("format", ["sarif", "markdown"])
def test_devices_are_written_to_as_they_are(format: str, tmp_path: Path) -> None:
    def to(file: object) -> tuple[str, ...]:
        return "inspect", JSON_FRAMES, "--output-format", f"{format}={file}"

    assert run(*to("/dev/null")).exit_code == 0
    assert not os.path.isfile("/dev/null")
    assert "/dev/full: cannot be written (No space left on device)" in complaint(*to("/dev/full"))
    assert f"{tmp_path}: cannot be written (Is a directory)" in complaint(*to(tmp_path))
    code = "from toolfmt.cli.commands import main; main()"
    given = [sys.executable, "-c", code, *to("/dev/stdout")]
    home = Path(__file__).parents[2]
    piped = subprocess.run(given, capture_output=True, cwd=home, check=True, timeout=300).stdout
    with (tmp_path / "out").open("wb") as out:
        subprocess.run(given, stdout=out, cwd=home, check=True, timeout=300)
    assert (tmp_path / "out").read_bytes() == piped
    assert piped.startswith({"sarif": b'{\n  "$schema"', "markdown": b"### toolfmt"}[format])


@pytest.mark.sample(0)
def test_a_disk_is_not_written_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stat.S_ISBLK", lambda mode: not stat.S_ISREG(mode) and not stat.S_ISDIR(mode))
    assert "/dev/null: a disk, which would be overwritten" in complaint(
        "inspect", JSON_FRAMES, "--output-format", "html=/dev/null"
    )


@pytest.mark.sample(0)
def test_output_is_utf_8_whatever_the_locale() -> None:
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    process = command("parse", "--format", "json", env=environment)
    printed, errors = process.communicate("é東".encode(), timeout=300)
    assert errors == b""
    assert json.loads(printed.decode("utf-8")) == {"type": "content", "text": "é東"}


def test_a_suggestion_is_followed_by_a_sentence() -> None:
    assert complaint("inspcet").endswith("Did you mean 'inspect'? See toolfmt --help")
