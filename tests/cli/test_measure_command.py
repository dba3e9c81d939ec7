"""`toolfmt measure` on the command line: a scripted OpenAI-compatible endpoint over HTTP, and a tiny model in this
process.

The endpoint's response depends only on the wording, the tools and the seed of a request, so that its rates are known
beforehand. Of ten runs, each response is the one that the script lists for its number; 0, 3, 7 and 10 of ten have the
intervals that R computes (`tests/cli/test_measure.py`): 0–28, 11–60, 40–89 and 72–100.
"""

from __future__ import annotations

import json
import signal
import socketserver
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from model_cases import MODELS

import toolfmt
from toolfmt.cli.commands import main
from toolfmt.cli.measure import Measurement, MeasurementPlan, Rate, SubjectResponse, named, scenarios, tools
from toolfmt.cli.measure.subject import Sampling
from toolfmt.cli.printing.measure import measured_text

(ORDER,) = named(("order",))
ARGUMENTS = {"order_number": "A-20417"}
CALL = toolfmt.write("json", [("look_up_order", ARGUMENTS)])
FACT = "It is in Kvamsdal."
Body = dict[str, Any]


@contextmanager
def endpoint(answer: Callable[[Body], tuple[int, Any]]) -> Iterator[str]:
    """A local endpoint that responds with a status and a JSON value (or raw bytes)."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, value = answer({**body, "path": self.path, "key": self.headers["Authorization"]})
            data = value if isinstance(value, bytes) else json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            """Logs nothing."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            """The client has disconnected."""

    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def chat(content: str | None = None, *calls: tuple[str, Any], finish: str = "stop") -> tuple[int, Any]:
    """A chat completion; arguments that are not a string are written as JSON."""
    made = [
        {"id": f"c{number}", "type": "function", "function": {"name": name, "arguments": as_text(arguments)}}
        for number, (name, arguments) in enumerate(calls)
    ]
    message = {"role": "assistant", "content": content, **({"tool_calls": made} if made else {})}
    return 200, {"id": "x", "object": "chat.completion", "choices": [
        {"index": 0, "message": message, "finish_reason": finish}
    ]}  # fmt: skip


def as_text(arguments: Any) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


RIGHT = chat(None, ("look_up_order", ARGUMENTS))


def has_results(body: Body) -> bool:
    return len([message for message in body["messages"] if message["role"] in ("assistant", "tool")]) > 0


def wording(body: Body) -> str:
    (user_text,) = [message["content"] for message in body["messages"][:2] if message["role"] == "user"]
    return next(name for one in scenarios() for name, text in one.questions.items() if text == user_text)


def measure(url: str, *arguments: str, **options: Any) -> Result:
    options = {"env": {"COLUMNS": "80", "OPENAI_API_KEY": ""}, "prog_name": "toolfmt"} | options
    return CliRunner().invoke(main, ["measure", "--endpoint", url, "--model", "m", *arguments], **options)


def cells(result: Result, status: int = 0) -> dict[tuple[str, str, str], dict[str, Any]]:
    """The cells of what --json printed, by strategy, tool_choice and wording."""
    assert (status, "") == (result.exit_code, result.stderr)
    printed = json.loads(result.stdout)["cells"]
    return {(cell["strategy"], cell["tool_choice"], cell["wording"]): cell for cell in printed}


def counts(cell: dict[str, Any]) -> dict[str, tuple[int, int]]:
    return {name: (rate["count"], rate["of"]) for name, rate in cell["rates"].items() if rate["of"]}


# the rates


def scripted(body: Body) -> tuple[int, Any]:
    """Ten runs, by their seed. Direct: all call. Neutral: 7 call. No tool: 3 call. Results are misread in 3 of 10."""
    run, kind = body["seed"], wording(body)
    if has_results(body):
        return chat("It is on its way." if run in (1, 4, 8) else FACT)
    if not body.get("tools"):
        return chat(CALL if run < 7 else CALL[:-20])
    if kind == "no-tool":
        return chat(None, ("list_alarms", {})) if run < 3 else chat("42")
    if kind == "neutral":
        return RIGHT if run < 7 else chat(f"Let me see. {CALL}")
    if run < 3:
        return chat(f"Well. {CALL[:-20]}", ("look_up_order", {"order_number": 20417}))
    if run < 6:
        return chat(None, ("look_up_order", {"order_number": "B-1"}))
    return RIGHT if run == 6 else chat(None, ("list_alarms", {}), ("look_up_order", ARGUMENTS))


OF_THE_SCRIPT = ("--runs", "10", "--scenario", "order", "--scenario", "sum", "--format", "json")


@pytest.mark.sample(1)
@pytest.mark.parametrize("parallel", ["1", "4"])
def test_the_rates_are_exactly_those_of_the_script(parallel: str) -> None:
    with endpoint(scripted) as url:
        measured = cells(measure(url, *OF_THE_SCRIPT, "--parallel", parallel, "--json"))
    direct = {"called": (10, 10), "right_tool": (7, 10), "valid_arguments": (7, 10), "invented_arguments": (3, 10)}
    direct |= {"rejected": (3, 10), "left_in_text": (0, 10), "misread_result": (3, 10)}
    neutral = {"called": (7, 10), "right_tool": (7, 7), "valid_arguments": (7, 7), "invented_arguments": (0, 7)}
    neutral |= {"rejected": (0, 10), "left_in_text": (3, 10), "misread_result": (3, 10)}
    none = {"called": (3, 10), "rejected": (0, 10), "left_in_text": (0, 10)}
    words = {"called": (7, 10), "right_tool": (7, 7), "valid_arguments": (7, 7), "invented_arguments": (0, 7)}
    words |= {"rejected": (3, 10), "misread_result": (3, 10)}
    required = [{name: rate for name, rate in one.items() if name != "misread_result"} for one in (direct, neutral)]
    assert {
        **{("template", choice, "direct"): direct for choice in ("left out", "auto")},
        **{("template", choice, "neutral"): neutral for choice in ("left out", "auto")},
        **{("template", choice, "no-tool"): none for choice in ("left out", "auto")},
        ("template", "required", "direct"): required[0],
        ("template", "required", "neutral"): required[1],
        ("prompt", "left out", "direct"): words,
        ("prompt", "left out", "neutral"): words,
        ("prompt", "left out", "no-tool"): {"called": (7, 10), "rejected": (3, 10)},
    } == {key: counts(cell) for key, cell in measured.items()}


TABLE = """\
Tools through the template, tool_choice auto
         called   right    valid      invented   rejected  left in  misread
                  tool     arguments  arguments            text     results
direct   100 %    70 %     70 %       30 %       30 %      0 %      30 %
 of 10   72–100   40–89    40–89      11–60      11–60     0–28     11–60
no-tool  30 %     –        –          –          0 %       0 %      –
 of 10   11–60                                   0–28      0–28
"""


def test_the_table_shows_the_rates_above_their_intervals() -> None:
    only = ("--tool-choice", "auto", "--prompt", "direct", "--prompt", "no-tool")
    with endpoint(scripted) as url:
        result = measure(url, *OF_THE_SCRIPT, *only)
    assert (result.exit_code, result.stderr) == (0, "")
    head, table, legend = result.stdout.split("\n\n")
    assert head == (
        f"m at {url}\n1 scenario that needs a tool, 1 that needs none, 10 times each\n"
        "temperature 0.7, seeds 0–9, max_tokens 512"
    )
    assert table + "\n" == TABLE
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert "no-tool: no tool helps with the question, and a call is wrong." in " ".join(legend.split())


@pytest.mark.parametrize(
    ("count", "expected"), [(0, "0 %"), (1, "1 %"), (5, "1 %"), (450, "50 %"), (899, "99 %"), (900, "100 %")]
)
def test_some_is_never_shown_as_none_and_nearly_all_never_as_all(count: int, expected: str) -> None:
    measurement = Measurement("it", MeasurementPlan((ORDER,), 1, ["direct"], ["prompt"]))
    (tally,) = measurement.tallies.values()
    tally.rates["called"] = Rate(count, 900)
    assert expected in [
        line.removeprefix("direct").strip() for line in measured_text(measurement, 80, False).splitlines()
    ]


def test_what_was_not_checked_is_not_shown() -> None:
    only = ("--tool-choice", "auto", "--prompt", "direct", "--runs", "10", "--scenario", "order")
    with endpoint(scripted) as url:
        result = measure(url, *only)
        measured = cells(measure(url, *only, "--json"))
    assert "misread" in result.stdout
    assert "rejected" not in result.stdout.split("Below")[0]
    assert "left in" not in result.stdout
    assert {"called", "right_tool", "valid_arguments", "invented_arguments", "misread_result"} == counts(
        measured["template", "auto", "direct"]
    ).keys()


# what is sent


def sent_requests(*arguments: str, answer: tuple[int, Any] = RIGHT, path: str = "/v1/chat/completions") -> list[Body]:
    """The bodies of the requests that a measurement sends."""
    bodies: list[Body] = []

    def answers(body: Body) -> tuple[int, Any]:
        bodies.append(body)
        return answer

    with endpoint(answers) as url:
        result = measure(url, "--runs", "1", "--scenario", "order", "--prompt", "neutral", *arguments)
    assert (result.exit_code, result.stderr) == (0, "")
    assert {path} == {body["path"] for body in bodies}
    return bodies


def test_a_chat_endpoint_gets_requests_as_clients_send_them() -> None:
    first, returned, auto, _, required, words, _ = sent_requests(
        "--temperature", "0", "--seed", "5", "--max-tokens", "9"
    )
    question = {"role": "user", "content": ORDER.questions["neutral"]}
    sampling = {"model": "m", "temperature": 0, "seed": 5, "max_tokens": 9}
    about = {"path": "/v1/chat/completions", "key": "Bearer none"}
    assert {"messages": [question], "tools": tools(), **sampling, **about} == first
    assert {**first, "messages": ORDER.answered("neutral")} == returned
    assert {**first, "tool_choice": "auto"} == auto
    assert {**first, "tool_choice": "required"} == required
    assert first.keys() - {"tools"} == words.keys()
    assert [message["role"] for message in words["messages"]] == ["system", "user"]


def test_what_is_left_to_the_endpoint_is_not_sent() -> None:
    (first, *_) = sent_requests("--temperature", "unset", "--var", "enable_thinking=false", "--api-key", "sk-1")
    assert "temperature" not in first
    assert first["chat_template_kwargs"] == {"enable_thinking": False}
    assert first["key"] == "Bearer sk-1"


def test_a_model_directory_prepares_the_system_prompt_and_determines_the_format() -> None:
    directory = str(MODELS / "no-tools-no-system")
    words, returned = sent_requests(directory, "--strategy", "prompt")
    model = toolfmt.load(directory)
    for body, messages in ((words, ORDER.question_messages("neutral")), (returned, ORDER.answered("neutral"))):
        expected = model.render(messages, tools(), "prompt").request(arguments_as_text=True)
        assert expected["messages"] == body["messages"]
        assert "tools" not in body


IN_WORDS = ("--runs", "1", "--scenario", "order", "--prompt", "direct", "--strategy", "prompt", "--json")


@pytest.mark.parametrize("directory", [[], [str(MODELS / "no-tools-no-system")]])
def test_in_words_an_answer_ends_where_the_model_invents_a_result(directory: list[str]) -> None:
    invented = toolfmt.write("json", [("list_alarms", {})])
    with endpoint(lambda body: chat(f"{CALL}\n\nResult of look_up_order:\n{{}}\n\n{invented}")) as url:
        (cell,) = cells(measure(url, *directory, *IN_WORDS)).values()
    assert (counts(cell)["called"], counts(cell)["right_tool"]) == ((1, 1), (1, 1))


@pytest.mark.parametrize(
    ("finish", "called", "rejected"),
    [
        *[(finish, (1, 1), (0, 1)) for finish in ("stop", "tool_calls", None)],
        *[(finish, (0, 1), (1, 1)) for finish in ("length", "abort", "error", "content_filter")],
    ],
)
def test_a_call_without_its_end_is_one_only_where_the_model_ended_it(finish: Any, called: Any, rejected: Any) -> None:
    open_call = CALL.removesuffix("\n</tool_call>")
    with endpoint(lambda body: chat(open_call, finish=finish)) as url:
        (cell,) = cells(measure(url, *IN_WORDS)).values()
    assert open_call != CALL
    assert (called, rejected) == (counts(cell)["called"], counts(cell)["rejected"])


def test_calls_in_the_format_of_the_directory_are_found_in_the_text() -> None:
    text = toolfmt.write("glm4", [("look_up_order", ARGUMENTS)])
    only = ("--runs", "3", "--scenario", "order", "--prompt", "direct", "--tool-choice", "auto", "--json")
    with endpoint(lambda body: chat(text)) as url:
        (cell,) = cells(measure(url, str(MODELS / "glm4-key-value"), *only)).values()
        (other,) = cells(measure(url, "--format", "mistral", *only)).values()
    assert (counts(cell)["called"], counts(cell)["left_in_text"]) == ((0, 3), (3, 3))
    assert counts(other)["left_in_text"] == (3, 3)  # mistral reads a call in the syntax of another format


def test_a_completions_endpoint_is_sent_what_toolfmt_renders_and_toolfmt_reads_it() -> None:
    directory = str(MODELS / "glm4-key-value")
    model = toolfmt.load(directory)
    only = ("--runs", "2", "--scenario", "order", "--prompt", "direct", "--strategy", "template", "--json")
    bodies: list[Body] = []

    def answers(body: Body) -> tuple[int, Any]:
        bodies.append(body)
        text = toolfmt.write("glm4", [("look_up_order", ARGUMENTS)])
        return 200, {"choices": [{"index": 0, "text": text if body["seed"] else text[:-20], "finish_reason": "length"}]}

    with endpoint(answers) as url:
        measured = cells(measure(url, directory, "--completions", *only))
    cell = measured["template", "left out", "direct"]
    expected = {"called": (1, 2), "right_tool": (1, 1), "valid_arguments": (1, 1), "invented_arguments": (0, 1)}
    assert {**expected, "rejected": (1, 2), "misread_result": (2, 2)} == counts(cell)
    assert (cell["responses"], cell["cut"]) == (4, 4)
    prompt = model.render(ORDER.question_messages("direct"), tools(), "template")
    assert prompt.text == bodies[0]["prompt"]
    assert tuple(bodies[0][key] for key in ("path", "skip_special_tokens", "add_special_tokens")) == (
        "/v1/completions",
        False,
        False,
    )
    assert prompt.ending_answers()[:4] == bodies[0].get("stop", [])


def test_every_prompt_is_the_one_that_its_cell_and_its_variables_make(tmp_path: Path) -> None:
    template = (MODELS / "json-frames" / "chat_template.jinja").read_text("utf-8")
    (tmp_path / "chat_template.jinja").write_text(template + "{{ 'deep' if deep else '' }}", "utf-8")
    bodies: list[Body] = []

    def answers(body: Body) -> tuple[int, Any]:
        bodies.append(body)
        return 200, {"choices": [{"text": "Well."}]}

    only = ("--runs", "1", "--scenario", "order", "--completions", "--var", "deep=true")
    with endpoint(answers) as url:
        assert measure(url, str(tmp_path), *only).exit_code == 0
    model = toolfmt.load(tmp_path)
    prompts = [
        model.render(messages, tools(), strategy, deep=True)
        for strategy in ("template", "prompt")
        for wording in ("direct", "neutral")
        for messages in (ORDER.question_messages(wording), ORDER.answered(wording))
    ]
    assert [prompt.text for prompt in prompts] == [body["prompt"] for body in bodies]
    assert len({body["prompt"] for body in bodies}) == 8
    assert [prompt.ending_answers()[:4] for prompt in prompts] == [body.get("stop", []) for body in bodies]
    assert max(len(prompt.ending_answers()) for prompt in prompts) > 4


def test_tools_that_the_template_drops_are_reported_for_its_cells() -> None:
    only = ("--runs", "1", "--scenario", "order", "--prompt", "direct", "--completions", "--json")
    with endpoint(lambda body: (200, {"choices": [{"text": CALL}]})) as url:
        measured = cells(measure(url, str(MODELS / "no-tools-no-system"), *only), status=1)
    (why,) = measured["template", "left out", "direct"]["failures"]
    assert "tools" in why
    assert counts(measured["prompt", "left out", "direct"])["called"] == (1, 1)


@pytest.mark.parametrize(("strategy", "format"), [("template", "glm4"), ("prompt", "json")])
def test_completions_are_read_in_the_format_that_is_named_but_in_words_in_the_one_that_was_taught(
    strategy: str, format: str
) -> None:
    text = toolfmt.write(format, [("look_up_order", ARGUMENTS)])
    only = ("--runs", "1", "--scenario", "order", "--prompt", "direct", "--strategy", strategy, "--json")
    with endpoint(lambda body: (200, {"choices": [{"text": text}]})) as url:
        named = measure(url, str(MODELS / "json-frames"), "--completions", "--format", "glm4", *only)
    (cell,) = cells(named).values()
    assert counts(cell)["called"] == (1, 1)


# what goes wrong


def test_an_endpoint_error_is_reported_per_cell_and_the_others_are_measured() -> None:
    def answers(body: Body) -> tuple[int, Any]:
        if body.get("tool_choice") == "required":
            return 400, {"error": {"message": "no tool_choice\nhere", "type": "x"}}
        return scripted(body)

    only = ("--runs", "10", "--scenario", "order", "--strategy", "template", "--prompt", "direct")
    with endpoint(answers) as url:
        result = measure(url, *only)
        measured = cells(measure(url, *only, "--json"), status=1)
    assert (result.exit_code, result.stderr) == (1, "")
    lines = result.stdout.splitlines()
    assert "direct: 3 without a response: 400 no tool_choice here" in lines
    assert "direct: 7 more not asked, since none before was answered" in lines
    rejected = measured["template", "required", "direct"]
    assert tuple(rejected[key] for key in ("responses", "failures", "skipped")) == (
        0,
        {"400 no tool_choice here": 3},
        7,
    )
    assert counts(measured["template", "auto", "direct"])["called"] == (10, 10)


def complaint(result: Result) -> str:
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.count("\n") == 1
    return result.stderr.removeprefix("toolfmt: ").strip()


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ((404, {"detail": "No such page"}), "404 No such page;"),
        ((404, {"error": "No model m"}), "404 No model m;"),
        ((404, {"error": {"message": "No model m"}}), "404 No model m;"),
        ((404, {"message": "No model m", "detail": "?"}), "404 No model m;"),
        ((404, b"Nothing\nhere"), "404 Nothing here;"),
        ((404, b""), "404 Error code: 404;"),
        ((404, {"detail": [1], "message": ""}), "404 Error code: 404"),
        ((401, {"error": {"message": "Wrong key"}}), "401 Wrong key"),
        ((400, {"error": {"message": "x" * 1000}}), "400 " + "x" * 195 + "…"),
        ((200, b"<html>"), "unreadable response (JSONDecodeError"),
        ((200, []), "unreadable response: it has no choices"),
        ((200, {"choices": []}), "unreadable response: it has no choices"),
        ((200, {"choices": [None]}), "unreadable response: it has no choices"),
    ],
)
def test_if_nothing_is_answered_one_line_gives_the_reason(answer: tuple[int, Any], reason: str) -> None:
    with endpoint(lambda body: answer) as url:
        line = complaint(measure(url, "--runs", "1", "--scenario", "poem", "--tool-choice", "auto"))
    assert line.startswith(f"{url}: no request was answered: {reason}")
    assert line.endswith("; look at --endpoint (most end in /v1) and --model")


@pytest.mark.parametrize(
    "message",
    [None, {}, {"content": 7}, {"content": "x", "tool_calls": "y"}, {"tool_calls": [None, {}, {"function": None}]}],
)
def test_a_message_with_any_content_is_a_response(message: Any) -> None:
    only = ("--runs", "1", "--scenario", "poem", "--json")
    with endpoint(lambda body: (200, {"choices": [{"message": message}]})) as url:
        measured = cells(measure(url, *only, "--tool-choice", "auto"))
    assert counts(measured["template", "auto", "no-tool"])["called"] == (0, 1)


def test_arguments_that_a_server_sends_as_an_object_are_read() -> None:
    calls = [{"function": {"name": "look_up_order", "arguments": ARGUMENTS}}]
    only = ("--runs", "1", "--scenario", "order", "--prompt", "direct", "--tool-choice", "required", "--json")
    with endpoint(lambda body: (200, {"choices": [{"message": {"tool_calls": calls}}]})) as url:
        (cell,) = cells(measure(url, *only)).values()
    assert counts(cell)["valid_arguments"] == (1, 1)


def test_an_unreachable_address_is_one_line() -> None:
    with endpoint(scripted) as url:
        pass
    line = complaint(measure(url))
    assert line.startswith(f"{url}: cannot be reached (")
    assert line.endswith("; check --endpoint, and that the server is running")


def test_a_response_that_does_not_arrive_in_time_is_reported() -> None:
    def answers(body: Body) -> tuple[int, Any]:
        if body["seed"] == 0:
            time.sleep(1)
        return RIGHT

    only = ("--runs", "2", "--scenario", "poem", "--tool-choice", "auto", "--timeout", "0.2", "--json")
    with endpoint(answers) as url:
        (cell,) = cells(measure(url, *only), status=1).values()
    assert (cell["failures"], cell["responses"]) == ({"no response within 0.2 seconds": 1}, 1)


# server behavior that OpenAI's API does not have


@contextmanager
def sending(*pieces: bytes, wait: float = 0.0) -> Iterator[str]:
    """An endpoint that sends these raw bytes to every client and closes the connection."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.recv(1_000_000)
            with suppress(OSError):  # the client has disconnected
                for piece in pieces:
                    self.request.sendall(piece)
                    time.sleep(wait)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
        server.shutdown()
        thread.join()


def head(*lines: str, status: str = "200 OK") -> bytes:
    return "\r\n".join([f"HTTP/1.1 {status}", "Connection: close", *lines, "", ""]).encode()


ONE = ("--runs", "1", "--scenario", "poem", "--tool-choice", "auto")
JSON = "Content-Type: application/json"


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        ((head(JSON, "Content-Encoding: gzip"), b"no gzip"), "unreadable response (DecodingError: "),
        ((head(JSON, "Content-Length: 1000"), b'{"cho'), "unreadable response (RemoteProtocolError: "),
        ((b"",), "unreadable response (RemoteProtocolError: "),
        ((head("Content-Type: text/html; charset=base64", status="400 Bad"), b"x"), "unreadable response ("),
    ],
    ids=["no gzip", "broken off", "closed at once", "an error in base64"],
)
def test_a_server_that_answers_anything_has_been_reached(sent: tuple[bytes, ...], reason: str) -> None:
    """A single response like this must not end the whole run with a report that the server is not reachable."""
    with sending(*sent) as url:
        line = complaint(measure(url, *ONE))
    assert line.startswith(f"{url}: no request was answered: {reason}")


@pytest.mark.parametrize("charset", ["base64", "idna", "none-such", "utf-16"])
def test_the_charset_that_a_server_names_is_passed_over(charset: str) -> None:
    """JSON has no such numbers: RFC 8259, section 8.1."""
    with sending(head(f"{JSON}; charset={charset}"), json.dumps(chat("A poem, yes, of the sea")[1]).encode()) as url:
        (cell,) = cells(measure(url, *ONE, "--json")).values()
    assert cell["responses"] == 1


@pytest.mark.parametrize("wait", [0.1, 2], ids=["drips", "stands still"])
def test_an_answer_that_drips_is_not_waited_for(wait: float) -> None:
    started = time.monotonic()
    with sending(head(JSON, "Content-Length: 1000"), *[b" "] * 100, wait=wait) as url:
        line = complaint(measure(url, *ONE, "--timeout", "0.5"))
    assert line.startswith(f"{url}: no request was answered: no response within 0.5 seconds")
    assert time.monotonic() - started < 8


def test_an_answer_without_an_end_is_not_read_to_its_end() -> None:
    with sending(head(JSON), *[b"[" * 2**20] * 200) as url:
        line = complaint(measure(url, *ONE))
    assert line.startswith(f"{url}: no request was answered: unreadable response: it is longer than 33,554,432")


@pytest.mark.parametrize("calls", [5, True, {}, [{"function": {}}], [{"function": {"name": None, "arguments": "{}"}}]])
def test_what_no_client_can_execute_is_no_call(calls: Any) -> None:
    message = {"content": "x", "tool_calls": calls}
    with endpoint(lambda body: (200, {"choices": [{"message": message}]})) as url:
        (cell,) = cells(measure(url, *ONE, "--json")).values()
    assert counts(cell)["called"] == (0, 1)


def test_responses_that_were_cut_are_reported() -> None:
    with endpoint(lambda body: chat("So", finish="length")) as url:
        result = measure(url, "--runs", "2", "--scenario", "poem", "--temperature", "0", "--tool-choice", "auto")
    printed = " ".join(result.stdout.split())
    assert "2 of 2 responses ran out of tokens: allow more with --max-tokens N." in printed
    assert "At temperature 0 every run of a scenario is likely to be the same" in printed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give a MODEL directory, or --endpoint URL --model NAME"),
        (["--endpoint", "http://x"], "--endpoint needs --model NAME"),
        (["--endpoint", "localhost:8000", "--model", "m"], "--endpoint takes a URL such as"),
        (["--endpoint", "http://x\ny", "--model", "m"], "--endpoint takes a URL such as"),
        (["--endpoint", "http://x\x01", "--model", "m"], "--endpoint takes a URL such as"),
        (["--model", "m"], "--model goes with --endpoint URL"),
        (["DIR", "--parallel", "2"], "--parallel goes with --endpoint URL"),
        (["DIR", "--completions"], "--completions goes with --endpoint URL"),
        (["DIR", "--format", "glm4"], "--format goes with --endpoint URL"),
        (["--endpoint", "http://x", "--model", "m", "--completions"], "give the MODEL directory, too"),
        (["--endpoint", "http://x", "--model", "m", "--runtime", "mlx-lm"], "leave it or --endpoint out"),
        (
            ["--endpoint", "http://x", "--model", "m", "--scenario", "x"],
            "no scenario is called 'x'; scenarios: forecast",
        ),
        (["--endpoint", "http://x", "--model", "m", "--format", "x"], "'x'"),
        (
            ["--endpoint", "http://x", "--model", "m", "--grammar", "auto"],
            "--grammar auto: only a model that runs here",
        ),
        (["--endpoint", "http://x", "--model", "m", "--temperature", "hot"], "'hot' is neither a number"),
        (["--endpoint", "http://x", "--model", "m", "--temperature", "inf"], "'inf' is neither a number"),
        (["--endpoint", "http://x", "--model", "m", "--temperature", "-1"], "'-1' is neither a number"),
        (["--endpoint", "http://x", "--model", "m", "--runs", "0"], "'0' is not a whole number of at least 1"),
        (["--endpoint", "http://x", "--model", "m", "--timeout", "0"], "--timeout"),
        (
            ["--endpoint", "http://x", "--model", "m", "--timeout", "nan"],
            "--timeout takes at most 86400 seconds, a day",
        ),
        (
            ["--endpoint", "http://x", "--model", "m", "--timeout", "inf"],
            "--timeout takes at most 86400 seconds, a day",
        ),
        (["--endpoint", "http://[::1", "--model", "m"], "http://[::1: no address to ask ("),
        (["--endpoint", "http://x:port", "--model", "m"], "http://x:port: no address to ask ("),
        (
            ["--endpoint", "http://x", "--model", "m", "--strategy", "prompt", "--tool-choice", "auto"],
            "nothing is left",
        ),
        (["--endpoint", "http://x", "--model", "m", "--scenario", "sum", "--prompt", "direct"], "nothing is left"),
        (["no-such-directory"], "no-such-directory"),
    ],
)
def test_what_cannot_be_measured_is_one_line(arguments: list[str], message: str) -> None:
    result = CliRunner().invoke(main, ["measure", *arguments], prog_name="toolfmt", env={"OPENAI_API_KEY": "sk"})
    assert message in complaint(result)


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("library", "message"),
    [
        ("openai", "querying an endpoint requires openai: pip install openai jsonschema"),
        (
            "jsonschema",
            "checking arguments against the schema of their tool requires jsonschema: pip install jsonschema",
        ),
    ],
)
def test_without_a_library_the_extra_is_named(library: str, message: str) -> None:
    code = f"import sys; sys.modules[{library!r}] = None\nfrom toolfmt.cli.commands import main; main()"
    typed = [sys.executable, "-c", code, "measure", "--endpoint", "http://127.0.0.1:9", "--model", "m"]
    done = subprocess.run(typed, capture_output=True, text=True, check=False, timeout=300)
    assert (2, "", f"toolfmt: {message}\n") == (done.returncode, done.stdout, done.stderr)


@pytest.mark.sample(1)
@pytest.mark.parametrize("parallel", [1, 3])
def test_interrupted_it_prints_what_was_measured(parallel: int) -> None:
    waits = threading.Event()
    stuck = threading.Semaphore(0)

    def answers(body: Body) -> tuple[int, Any]:
        if body["seed"] >= 2:
            stuck.release()
            waits.wait(60)
        return scripted(body)

    only = ["--runs", "50", "--scenario", "sum", "--strategy", "template", "--tool-choice", "auto", "--json"]
    with endpoint(answers) as url:
        typed = ["measure", "--endpoint", url, "--model", "m", "--parallel", str(parallel), *only]
        # What a shell starts in the background ignores SIGINT, and so do the processes that it starts.
        handled = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
        code = f"{handled}\nfrom toolfmt.cli.commands import main; main(prog_name='toolfmt')"
        command = subprocess.Popen(
            [sys.executable, "-c", code, *typed], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(parallel):  # then the client waits, and has already returned the earlier responses
            assert stuck.acquire(timeout=60)
        time.sleep(1)  # until that is counted
        command.send_signal(signal.SIGINT)
        out, err = command.communicate(timeout=150)
        waits.set()
    assert (command.returncode, err) == (130, "")
    printed = json.loads(out)
    assert printed["questions"] == {"all": 50, "completed": 2}
    assert counts(printed["cells"][0]) == {"called": (2, 2)}


def test_a_key_is_taken_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = set()

    def answers(body: Body) -> tuple[int, Any]:
        keys.add(body["key"])
        return chat("42")

    with endpoint(answers) as url:
        measure(url, "--runs", "1", "--scenario", "sum", env={"OPENAI_API_KEY": "sk-env"})
    assert {"Bearer sk-env"} == keys


# a model in this process


def here(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["measure", *arguments], prog_name="toolfmt", env={"COLUMNS": "80"})


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A model that calls look_up_order if the request names it, and was trained on nothing else."""
    pytest.importorskip("mlx_lm", reason="mlx-lm is there on Linux and macOS only")
    import tiny_models

    directory = tmp_path_factory.mktemp("tiny")
    messages = ORDER.question_messages("direct")
    special = ["<|im_start|>"]
    tiny_models.build(
        directory, template=tiny_models.TEMPLATE, messages=messages, tools=tools(), answer=CALL, special=special
    )
    return str(directory)


@pytest.mark.sample(1)
@pytest.mark.parametrize("runtime", ["mlx-lm", "transformers"])
def test_a_directory_is_measured_in_this_process(tiny: str, runtime: str) -> None:
    if runtime == "transformers":
        pytest.importorskip("torch", reason="transformers generates with torch, which is heavy")
    only = ("--runs", "2", "--scenario", "order", "--prompt", "direct", "--strategy", "template", "--max-tokens", "50")
    result = here(tiny, *only, "--runtime", runtime, "--temperature", "0", "--json")
    assert result.exit_code == 0  # transformers draws a bar on standard error while it loads weights
    (cell,) = json.loads(result.stdout)["cells"]
    right = dict.fromkeys(("called", "right_tool", "valid_arguments", "misread_result"), (2, 2))
    expected = right | dict.fromkeys(("invented_arguments", "rejected"), (0, 2))
    assert expected == counts(cell)


@pytest.mark.sample(1)
def test_a_grammar_forces_a_call(tiny: str) -> None:
    only = ("--runs", "1", "--scenario", "order", "--prompt", "neutral", "--strategy", "template", "--max-tokens", "80")
    grammars = ("--grammar", "none", "--grammar", "required", "--grammar", "named")
    result = here(tiny, *only, *grammars, "--runtime", "mlx-lm", "--temperature", "0", "--json")
    assert result.exit_code == 0
    cells = {cell["grammar"]: cell["rates"] for cell in json.loads(result.stdout)["cells"]}
    called = {grammar: rates["called"]["count"] + rates["rejected"]["count"] for grammar, rates in cells.items()}
    assert called == {"none": 0, "required": 1, "named": 1}
    shown = here(tiny, *only, *grammars, "--runtime", "mlx-lm", "--temperature", "0").stdout
    assert "Tools through the template, tool_choice left out, grammar required" in shown


def test_a_grammar_allows_several_calls_if_the_question_needs_them(tiny: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[tuple[str, bool]] = []

    def recorded(*arguments: Any, **options: Any) -> Any:
        made.append((options["choice"], options["parallel"]))
        return create(*arguments, **options)

    create = toolfmt.grammar
    monkeypatch.setattr(toolfmt, "grammar", recorded)
    scenarios = ("--scenario", "order", "--scenario", "two-forecasts", "--scenario", "forecast")
    only = ("--runs", "1", "--prompt", "direct", "--strategy", "template", "--max-tokens", "2")
    here(tiny, *scenarios, *only, "--grammar", "required", "--grammar", "named", "--runtime", "mlx-lm")
    assert sorted(made) == [
        ("get_forecast", False),
        ("get_forecast", True),
        ("look_up_order", False),
        ("required", False),
        ("required", True),
    ]


def ask(directory: str, wording: Any, heat: float, most: int, seed: int = 0) -> SubjectResponse:
    from toolfmt.cli.measure.in_process import InProcessSubject

    (question, *_) = MeasurementPlan((ORDER,), 1, [wording], ["template"]).questions()
    return InProcessSubject(toolfmt.load(directory), Sampling(heat, most), "mlx-lm").ask(question, seed)


def test_a_response_that_runs_out_of_tokens_is_reported_as_cut(tiny: str) -> None:
    whole, cut, text = ask(tiny, "direct", 0, 50), ask(tiny, "direct", 0, 8), ask(tiny, "neutral", 0, 1)
    assert (whole.cut, len(whole.message.tool_calls), len(whole.message.rejected)) == (False, 1, 0)
    assert (cut.cut, [one.reason for one in cut.message.rejected]) == (True, ["incomplete_output"])
    assert (text.cut, text.message.rejected) == (True, [])


def test_the_seed_and_the_temperature_decide_what_is_drawn(tiny: str) -> None:
    warm = [str(ask(tiny, "neutral", 1.5, 20, seed).message) for seed in (1, 1, 2, 3)]
    cold = [str(ask(tiny, "neutral", 0, 20, seed).message) for seed in (1, 2, 3)]
    assert warm[0] == warm[1]
    assert len(set(warm)) > 1
    assert len(set(cold)) == 1


def test_a_runtime_that_fails_while_it_generates_is_reported(tiny: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any, **__: Any) -> Any:
        raise RuntimeError("no memory\nleft")

    monkeypatch.setattr("toolfmt.integrations.mlx.stream", fails)
    line = complaint(here(tiny, "--scenario", "sum", "--runs", "1"))
    assert line == "no request was answered: RuntimeError: no memory left"


def test_what_a_runtime_does_not_load_is_one_line() -> None:
    pytest.importorskip("mlx_lm", reason="mlx-lm is there on Linux and macOS only")
    line = complaint(here(str(MODELS / "json-frames"), "--runtime", "mlx-lm"))
    assert line.startswith(f"{MODELS / 'json-frames'}: mlx-lm cannot load it (")


def test_a_template_alone_is_not_run() -> None:
    pytest.importorskip("mlx_lm", reason="mlx-lm is there on Linux and macOS only")
    line = complaint(here(str(MODELS / "json-frames" / "chat_template.jinja")))
    assert "cannot load it" in line or "only a model directory with weights or a GGUF file is measured here" in line


@pytest.mark.parametrize(
    ("runtime", "message"),
    [
        ([], "needs mlx-lm or transformers: pip install 'mlx-lm[cpu]' or pip install transformers torch;"),
        (["--runtime", "mlx-lm"], "needs mlx-lm: pip install 'mlx-lm[cpu]'; or give --endpoint"),
        (["--runtime", "transformers"], "needs transformers: pip install transformers torch; or give"),
    ],
)
def test_without_a_runtime_the_extras_are_named(
    runtime: list[str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for package in ("mlx_lm", "torch"):
        monkeypatch.setitem(sys.modules, package, None)
    assert f"toolfmt: to run a model here {message}" in "toolfmt: " + complaint(
        here(str(MODELS / "json-frames"), *runtime)
    )


def test_a_runtime_runs_its_own_kind_of_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("gguf", reason="writes the file")
    import gguf_files

    file = gguf_files.written(tmp_path / "tiny.gguf")
    line = complaint(here(str(file), "--runtime", "mlx-lm"))
    assert line == f"{file}: mlx-lm does not run it here; leave out --runtime mlx-lm"
    monkeypatch.setitem(sys.modules, "llama_cpp", None)
    line = complaint(here(str(file)))
    assert line == "to run a model here needs llama.cpp: pip install llama-cpp-python; or give --endpoint"


def test_only_a_chat_endpoint_supports_tool_choice(tiny: str) -> None:
    line = complaint(here(tiny, "--tool-choice", "required"))
    assert line == "tool_choice required: only a chat endpoint supports this; leave out --tool-choice"
