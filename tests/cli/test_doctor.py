"""`toolfmt doctor`: healthy servers in three protocols, a table of bugs that are switched on one at a time, and servers
that send anything at all.

The healthy server is `examples/server.py` with a scripted model (`faulty_server.py`); the bugs are in `server_bugs.py`.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any
from urllib.parse import quote

import pytest
from answer_scenarios import MODEL
from click.testing import CliRunner, Result
from faulty_server import Body, Bug, both, faulty
from server_bugs import BUGS

import toolfmt
from toolfmt.cli.commands import main
from toolfmt.cli.doctor.api_keys import Secrets
from toolfmt.cli.doctor.checks import differences, problems, undecided
from toolfmt.cli.doctor.command import Examining
from toolfmt.cli.doctor.connection import Connection, connect
from toolfmt.cli.doctor.examination import Examination
from toolfmt.cli.doctor.explanations import EXPLANATIONS, Context
from toolfmt.cli.doctor.leftovers import left_calls, left_marker, left_reasoning
from toolfmt.cli.doctor.probes import MOST_TOKENS, marker_value, probes, result_messages, sample_call
from toolfmt.cli.doctor.protocols import AnthropicMessages, ChatCompletions, ChatRequest, OllamaChat
from toolfmt.cli.doctor.response import ResponseCall, ServerResponse, Unreadable
from toolfmt.cli.doctor.transport import MOST_REQUESTS, LimitReached, Reply, Transport

KEY = "sk-secret-1234567890"
TITLES = [
    "one call", "parallel calls", "no call needed", "nested and Unicode values", "no arguments",
    "tool_choice required", "tool_choice with a name", "reasoning, then a call", "markers inside a value",
    "a response cut by max_tokens", "a result sent back",
]  # fmt: skip


def doctor(url: str, *arguments: str, **env: str) -> Result:
    given = {"COLUMNS": "100", "OPENAI_API_KEY": "", "ANTHROPIC_API_KEY": "", "no_proxy": "*", **env}
    return CliRunner().invoke(main, ["doctor", "--endpoint", url, *arguments], env=given, prog_name="toolfmt")


def diagnosis(url: str, *arguments: str, status: int = 0, **env: str) -> dict[str, Any]:
    result = doctor(url, *arguments, "--json", **env)
    assert (result.stderr, result.exit_code) == ("", status), result.output
    printed: dict[str, Any] = json.loads(result.stdout)
    return printed


def names(found: dict[str, Any]) -> list[str]:
    return [finding["name"] for finding in found["findings"]]


def complaint(result: Result) -> str:
    assert (result.exit_code, result.stdout) == (2, ""), result.output
    assert result.stderr.count("\n") == 1
    return result.stderr.removeprefix("toolfmt: ").strip()


# --- healthy servers


@pytest.mark.parametrize("whole_calls", [False, True])
@pytest.mark.parametrize("directory", [[], ["--directory", str(MODEL)]], ids=["", "directory"])
@pytest.mark.parametrize(
    ("path", "protocol"),
    [
        ("", "OpenAI Chat Completions"),
        ("/v1/", "OpenAI Chat Completions"),
        ("/v1/chat/completions", "OpenAI Chat Completions"),
        ("/v1/messages", "Anthropic Messages"),
        ("/api/chat", "Ollama"),
        ("/api", "Ollama"),
    ],
)
def test_a_healthy_server_has_no_findings(path: str, protocol: str, directory: list[str], whole_calls: bool) -> None:
    with faulty(whole_calls=whole_calls) as url:
        found = diagnosis(url + path, *directory)
    assert (found["findings"], found["status"], found["random"], found["stopped"]) == ([], "healthy", False, None)
    assert (found["protocol"], found["model"]) == (protocol, "m")
    forced = [title for title in TITLES if protocol != "Ollama" or "tool_choice" not in title]
    assert [(check["title"], check["outcome"]) for check in found["checks"]] == [(title, "passed") for title in forced]
    assert found["requests"] <= 30


def test_a_healthy_server_as_text() -> None:
    with faulty() as url:
        result = doctor(url)
    assert (result.exit_code, result.stderr) == (0, "")
    head, checks, conclusion = result.stdout.strip().split("\n\n")
    assert head.startswith(f"m at {url}/v1/chat/completions\nOpenAI Chat Completions, server toolfmt; ")
    assert checks.splitlines() == [f"✓  {title}" for title in TITLES]
    assert conclusion == "No problems found."


# --- bugs


@pytest.mark.parametrize("name", BUGS)
def test_each_bug_has_the_finding_that_explains_it(name: str) -> None:
    bug, expected = BUGS[name]
    with faulty(bug) as url:
        found = diagnosis(url, "--directory", str(MODEL), status=0 if expected == "other-type" else 1)
    assert names(found) == [expected]
    (finding,) = found["findings"]
    assert finding["means"] == EXPLANATIONS[expected].means
    assert finding["fix"][0] == EXPLANATIONS[expected].fix
    failed = [check["title"] for check in found["checks"] if check["outcome"] == "failed"]
    if finding["severity"] == "problem":
        assert failed == list(dict.fromkeys(where.rsplit(", ", 1)[0] if where.endswith((", whole", ", streamed")) else
                                            where for where in finding["where"]))  # fmt: skip


def test_every_bug_of_the_table_is_found_in_the_text_too() -> None:
    bug, _ = BUGS["calls left in content"]
    with faulty(bug) as url:
        result = doctor(url)
    assert result.exit_code == 1
    text = " ".join(result.stdout.split())
    assert "✗ one call call-left-in-content" in text
    assert "✓ no call needed" in text
    assert "1 problem found." in text
    assert "vLLM: --enable-auto-tool-choice --tool-call-parser hermes" in text
    assert '"name": "get_weather", "arguments": {"city": "Bergen", "days": 3}' in text


def test_there_are_enough_kinds_of_bugs() -> None:
    assert len({finding for _, finding in BUGS.values()}) >= 25
    assert {finding for _, finding in BUGS.values()} <= EXPLANATIONS.keys()


def test_a_result_that_the_server_loses_is_not_blamed_on_a_weak_model() -> None:
    def forget(body: Body) -> Body:
        """A model that reads the result and does not use it."""
        messages = [
            {**message, "content": "1"} if message["role"] == "tool" else message for message in body["messages"]
        ]
        return {**body, "messages": messages}

    def without_usage(choice: Body) -> None:
        return None

    with faulty(Bug(request=forget, whole=without_usage)) as url:
        found = diagnosis(url, status=1)
    assert names(found) == ["result-dropped"]  # both results became the same prompt


# --- models that do something else


def _silent(choice: Body) -> None:
    choice["message"]["tool_calls"], choice["message"]["content"] = [], "I would rather talk."
    choice["finish_reason"] = "stop"


def test_a_model_that_calls_nothing_is_not_a_bug_of_the_server() -> None:
    def no_choice(body: Body) -> Body:
        body.pop("tool_choice", None)
        return body

    with faulty(both(_silent)) as url:
        result = doctor(url + "/v1/chat/completions")
        found = diagnosis(url, status=1)
    assert names(found) == ["tool-choice-ignored"]  # this one a server can promise
    assert "not decided: the model did not call a tool" in result.stdout
    checks = {check["name"]: check["outcome"] for check in found["checks"]}
    assert checks["one-call"] == checks["parallel-calls"] == checks["markers"] == "undecided"


def test_without_any_call_the_server_is_not_called_healthy() -> None:
    with endpoint(lambda body: whole_or_stream(body, {"content": "Hello."})) as url:
        found = diagnosis(url, "--model", "m", status=1)
    assert names(found) == ["tool-choice-ignored"]
    with endpoint(lambda body: rejecting_choice(body)) as url:
        result = doctor(url, "--model", "m")
    assert result.exit_code == 2
    assert "Not decided: no response had a call." in result.stdout
    assert "not decided: tool_choice is not supported: 400 no tool_choice" in " ".join(result.stdout.split())


def test_a_random_model_is_compared_by_shape_only() -> None:
    count = 0

    def change(choice: Body) -> None:
        nonlocal count
        count += 1
        for call in choice["message"].get("tool_calls") or ():
            arguments = json.loads(call["function"]["arguments"])
            call["function"]["arguments"] = json.dumps(
                {**arguments, "days": count} if "days" in arguments else arguments
            )

    with faulty(both(change)) as url:
        found = diagnosis(url)
    assert (found["random"], found["findings"], found["status"]) == (True, [], "healthy")
    assert found["requests"] <= 35


# --- any server


def whole_or_stream(body: Body, message: Body, finish: str = "stop") -> tuple[int, bytes]:
    if not body["stream"]:
        choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
        return 200, json.dumps({"choices": [choice]}).encode()
    deltas = [{"index": 0, "delta": message}, {"index": 0, "delta": {}, "finish_reason": finish}]
    events = [f"data: {json.dumps({'choices': [delta]})}\n\n" for delta in deltas]
    return 200, ("".join(events) + "data: [DONE]\n\n").encode()


def rejecting_choice(body: Body) -> tuple[int, bytes]:
    if "tool_choice" in body:
        return 400, b'{"error": {"message": "no tool_choice"}}'
    return whole_or_stream(body, {"content": "Hello."})


@contextmanager
def endpoint(answer: Callable[[Body], tuple[int, bytes]], **headers: str) -> Iterator[str]:
    """A server that lists no models and responds to each request with a status and a body."""

    def respond(request: bytes) -> bytes:
        head, _, given = request.partition(b"\r\n\r\n")
        if head.startswith(b"GET"):
            return b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        status, body = answer({**json.loads(given), "head": head.decode()})
        lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(body)}", "Connection: close"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        return "\r\n".join([*lines, "", ""]).encode() + body

    with raw_server(respond) as url:
        yield url


@contextmanager
def raw_server(respond: Callable[[bytes], bytes], drip: float = 0.0) -> Iterator[str]:
    """A server that sends these bytes and closes the connection; with `drip`, a byte in so many seconds."""
    listening = socket.create_server(("127.0.0.1", 0))
    closed = threading.Event()

    def serve() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            threading.Thread(target=handle, args=(connection,), daemon=True).start()

    def handle(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.settimeout(30)
            request = b""
            while b"\r\n\r\n" not in request:
                request += connection.recv(65536)
            head, _, body = request.partition(b"\r\n\r\n")
            length = next((int(line.split(b":")[1]) for line in head.lower().split(b"\r\n")
                           if line.startswith(b"content-length")), 0)  # fmt: skip
            while len(body) < length:
                body += connection.recv(65536)
            data = respond(head + b"\r\n\r\n" + body)
            if not drip:
                connection.sendall(data)
                return
            for at in range(len(data)):
                connection.sendall(data[at : at + 1])
                if closed.wait(drip):
                    return

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
    finally:
        closed.set()
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join(30)


PLAIN = b'{"choices": [{"message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}]}'
JUNK = {
    "HTML": b"<html><body>Welcome</body></html>",
    "nothing": b"",
    "not UTF-8": b"\xff\xfe\x00\x01" * 50,
    "half of JSON": PLAIN[:30],
    "deep JSON": b"[" * 200_000,
    "a number": b"7",
    "no choices": b"{}",
    "choices of another type": b'{"choices": {"0": 1}}',
    "null choices": b'{"choices": [null]}',
    "a message that is a string": b'{"choices": [{"message": "Hi"}]}',
    "control characters": b'{"error": {"message": "\\u001b[31mred"}}',
}


@pytest.mark.parametrize("name", JUNK)
def test_a_server_that_cannot_be_read_is_reported_in_one_line(name: str) -> None:
    with endpoint(lambda body: (200, JUNK[name])) as url:
        line = complaint(doctor(url, "--model", "m"))
    assert line.startswith(f"{url}/chat/completions: ")
    assert "\x1b" not in line
    assert len(line) < 400


MESSAGES: list[Any] = [
    {"content": 7},
    {"content": "x", "tool_calls": "y"},
    {"content": None, "tool_calls": [None, 7, {}, {"function": None}, {"function": {"name": 7, "arguments": 7}}]},
    {"content": None, "tool_calls": [{"index": True, "id": ["a"], "function": {"name": {}, "arguments": None}}]},
    {"content": None, "tool_calls": [{"index": -1, "id": "a", "function": {"name": "get_time", "arguments": "["}}]},
    {"content": None, "tool_calls": [{"id": "a", "function": {"name": "get_time", "arguments": "[" * 100_000}}]},
    {"content": "\ud800 \x1b[31m </tool_call>", "reasoning_content": ["x"]},
    {"content": "<tool_call>" * 60},
]


@pytest.mark.parametrize("message", MESSAGES, ids=range(len(MESSAGES)))
def test_no_message_leads_to_a_traceback(message: Any) -> None:
    def answer(body: Body) -> tuple[int, bytes]:
        return whole_or_stream(body, message) if body.get("tools") else (200, PLAIN)

    with endpoint(answer) as url:
        result = doctor(url, "--model", "m")
        data = doctor(url, "--model", "m", "--json")
    assert (result.exit_code, result.stderr) == (1, "")
    assert "\x1b" not in result.stdout + data.stdout
    found = json.loads(data.stdout)
    assert found["status"] == "problems"
    assert all(len(finding["seen"]) <= 300 for finding in found["findings"])


STREAMS = {
    "nothing": (b"", "unreadable-response"),
    "JSON instead of a stream": (PLAIN, "unreadable-response"),
    "a broken chunk": (b'data: {"choices": [\n\ndata: [DONE]\n\n', "unreadable-response"),
    "only [DONE]": (b"data: [DONE]\n\n", "stream-broken"),
    "chunks of other types": (b'data: [1]\n\ndata: {"choices": 7}\n\ndata: {"choices": [7]}\n\n', "stream-broken"),
    "an error": (b'data: {"error": {"message": "out of memory"}}\n\n', "request-fails"),
    "no usage": (b': ping\n\ndata: {"choices": []}\n\n', "stream-broken"),
}


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_with_any_content_is_a_finding(name: str) -> None:
    stream, expected = STREAMS[name]
    with endpoint(lambda body: (200, stream if body["stream"] else PLAIN)) as url:
        found = diagnosis(url, "--model", "m", status=1)
    assert expected in names(found)
    (finding,) = [finding for finding in found["findings"] if finding["name"] == expected]
    assert "one call, streamed" in finding["where"]


def test_a_stream_that_is_closed_too_early_is_a_finding() -> None:
    def respond(request: bytes) -> bytes:
        if b'"stream": true' not in request:
            return b"HTTP/1.1 200 OK\r\n\r\n" + PLAIN
        return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10\r\ndata: {}\n\ndata: "

    with raw_server(respond) as url:
        found = diagnosis(url, "--model", "m", status=1)
    assert "stream-broken" in names(found) or "unreadable-response" in names(found)


def test_a_server_without_tool_calling_gets_the_settings() -> None:
    message = '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'

    def answer(body: Body) -> tuple[int, bytes]:
        return (400, json.dumps({"error": {"message": message}}).encode()) if body.get("tools") else (200, PLAIN)

    with endpoint(answer) as url:
        found = diagnosis(url, "--model", "m", "--directory", str(MODEL), status=1)
    assert names(found) == ["tools-off"]
    assert found["findings"][0]["fix"][1].startswith("vLLM: --enable-auto-tool-choice --tool-call-parser hermes")


def test_a_server_that_rejects_null_content_gets_an_empty_string() -> None:
    def answer(body: Body) -> tuple[int, bytes]:
        if any(message.get("content", "") is None for message in body["messages"]):
            return 500, b'{"error": {"message": "content must be a string"}}'
        if len(body["messages"]) > 1:
            return whole_or_stream(body, {"content": "It is Kvamsdal."})
        return rejecting_choice(body)

    with endpoint(answer) as url:
        found = diagnosis(url, "--model", "m", status=1)
    assert names(found) == ["null-content-rejected"]
    assert found["findings"][0]["seen"] == "500 content must be a string"


@pytest.mark.parametrize(
    ("status", "body", "reason"),
    [
        (401, b'{"error": {"message": "Incorrect API key: sk-secret-1234567890"}}', "401 Incorrect API key: ***; set"),
        (403, b"no", "403 no; set OPENAI_API_KEY"),
        (404, b'{"error": "model m not found"}', "404 model m not found; check --endpoint"),
        (500, b"", "500 without a message"),
        (302, b"", "302 redirect to ?"),
    ],
)
def test_a_server_that_does_not_respond_cannot_be_checked(status: int, body: bytes, reason: str) -> None:
    with endpoint(lambda _: (status, body)) as url:
        result = doctor(url, "--model", "m", OPENAI_API_KEY=KEY)
    line = complaint(result)
    assert line.startswith(f"{url}/chat/completions: {reason}")
    assert KEY not in result.output


def test_the_key_is_sent_and_never_printed() -> None:
    heads = []

    def answer(body: Body) -> tuple[int, bytes]:
        heads.append(body["head"])
        return (200, PLAIN) if not body.get("tools") else (500, f'{{"error": "key {KEY}"}}'.encode())

    with endpoint(answer) as url:
        results = [doctor(url, "--model", "m", *more, OPENAI_API_KEY=f" {KEY}\n") for more in ([], ["--json"])]
    assert all(f"Authorization: Bearer {KEY}" in head for head in heads)
    for result in results:
        assert result.exit_code == 1
        assert KEY not in result.output
        assert "key ***" in result.output


def test_the_anthropic_key_is_used_for_anthropic_only() -> None:
    heads = []

    def answer(body: Body) -> tuple[int, bytes]:
        heads.append(body["head"].lower())
        return 401, b"{}"

    with endpoint(answer) as url:
        for path in ("/messages", "/chat/completions"):
            complaint(doctor(url + path, "--model", "m", OPENAI_API_KEY="o-key", ANTHROPIC_API_KEY="a-key"))
    assert "x-api-key: a-key" in heads[0] and "o-key" not in heads[0]
    assert "authorization: bearer o-key" in heads[1] and "a-key" not in heads[1]


def test_a_key_that_no_header_can_have_is_an_error_without_it() -> None:
    line = complaint(doctor("http://127.0.0.1:9/v1", OPENAI_API_KEY="sk-\x01x"))
    assert line == "OPENAI_API_KEY has characters that an HTTP header cannot have"


def test_a_server_that_is_not_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    line = complaint(doctor(f"http://127.0.0.1:{port}/v1", "--model", "m"))
    assert line.startswith(f"http://127.0.0.1:{port}/v1: cannot be reached (")
    assert line.endswith("; check --endpoint, and that the server is running")


@pytest.mark.parametrize(
    "url", ["127.0.0.1:8000", "ftp://x/v1", "http://", "http://a b", "http://u:secret@x/v1", "http://x:99999/v1",
            "http://x/v1?a=1", "http://[::1/v1"]
)  # fmt: skip
def test_an_address_that_cannot_be_used_is_a_usage_error(url: str) -> None:
    line = complaint(doctor(url))
    assert "--endpoint" in line
    assert "secret" not in line


def test_the_model_must_be_clear() -> None:
    models = json.dumps({"data": [{"id": "one"}, {"id": "two"}]}).encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(models)}\r\n\r\n".encode()
    with raw_server(lambda request: head + models) as url:
        assert complaint(doctor(url)) == "the server has several models; give --model: one, two"
    with endpoint(lambda body: (200, PLAIN)) as url:
        assert complaint(doctor(url)) == "the server lists no models; give --model NAME"


@pytest.mark.sample(0)
def test_a_slow_server_ends_at_the_time_limit() -> None:
    body = b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + b" " * 100000
    start = time.monotonic()
    with raw_server(lambda request: body, drip=0.2) as url:
        line = complaint(doctor(url, "--model", "m", "--time-limit", "1.5"))
    assert time.monotonic() - start < 30
    assert "limit of 1.5 seconds" in line or "no complete response within" in line


@pytest.mark.sample(0)
def test_what_was_found_before_the_time_limit_is_printed() -> None:
    def answer(body: Body) -> tuple[int, bytes]:
        time.sleep(0.4)
        return whole_or_stream(body, {"content": "Hi"}, "length")

    with endpoint(answer) as url:
        result = doctor(url, "--model", "m", "--time-limit", "3")
    assert result.exit_code == 2
    assert "–  one call" in result.stdout
    assert "Not complete: " in result.stdout


def test_a_response_that_is_too_long_is_not_read_to_the_end() -> None:
    with endpoint(lambda body: (200, b" " * (2**23 + 1))) as url:
        assert "it is longer than 1,048,576 bytes" in complaint(doctor(url, "--model", "m"))


def test_the_number_of_requests_is_limited() -> None:
    def answer(body: Body) -> tuple[int, bytes]:
        function = {"name": "get_time", "arguments": json.dumps({"now": int(body["stream"])})}
        call = {"index": 0, "id": "a", "type": "function", "function": function}
        return whole_or_stream(body, {"content": None, "tool_calls": [call]}, "tool_calls")

    with endpoint(answer) as url:
        found = diagnosis(url, "--model", "m", status=1)
    assert found["requests"] <= MOST_REQUESTS
    assert "stream-differs" in names(found)
    assert f"never more than {MOST_REQUESTS}" in CliRunner().invoke(main, ["doctor", "--help"]).output


def counted(body: Body, message: Body, tokens: int, finish: str = "stop") -> tuple[int, bytes]:
    """A response, with the number of prompt tokens if it is whole."""
    status, data = whole_or_stream(body, message, finish)
    if body["stream"]:
        return status, data
    return status, json.dumps({**json.loads(data), "usage": {"prompt_tokens": tokens}}).encode()


def test_a_server_that_counts_no_tokens_is_not_blamed_for_dropping_anything() -> None:
    with endpoint(lambda body: counted(body, {"content": "Hi."}, 5)) as url:
        assert names(diagnosis(url, "--model", "m", status=1)) == ["tool-choice-ignored"]
    with endpoint(lambda body: counted(body, {"content": "Hi."}, len(body["messages"][0]["content"]))) as url:
        found = diagnosis(url, "--model", "m", status=1)
    assert names(found) == ["tools-dropped", "result-dropped"]


def test_a_model_that_writes_without_an_end_gets_fewer_tokens() -> None:
    limits = []

    def answer(body: Body) -> tuple[int, bytes]:
        limits.append(body["max_tokens"])
        return rejecting_choice(body) if "tool_choice" in body else whole_or_stream(body, {"content": "la"}, "length")

    with endpoint(answer) as url:
        assert doctor(url, "--model", "m").exit_code == 2
    assert limits[:4] == [16, MOST_TOKENS, 256, 256]
    assert max(limits[2:]) == 256
    limits.clear()

    def reasons(body: Body) -> tuple[int, bytes]:
        limits.append(body["max_tokens"])
        return whole_or_stream(body, {"content": "", "reasoning_content": "Hm"}, "length")

    with endpoint(reasons) as url:
        doctor(url, "--model", "m")
    assert limits.count(MOST_TOKENS) > 10


@pytest.mark.sample(0)
def test_two_slow_responses_end_the_series(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolfmt.cli.doctor.transport._MOST_SECONDS", 0.5)
    gone = threading.Event()

    def answer(body: Body) -> tuple[int, bytes]:
        if body.get("tools"):
            gone.wait(20)
        return 200, PLAIN

    with endpoint(answer) as url:
        result = doctor(url, "--model", "m")
        gone.set()
    assert result.exit_code == 2
    assert "Not complete: no complete response within" in result.stdout


def test_a_busy_server_is_not_a_problem() -> None:
    with endpoint(lambda body: (429, b'{"error": "slow down"}') if body.get("tools") else (200, PLAIN)) as url:
        result = doctor(url, "--model", "m")
    assert result.exit_code == 2
    assert "not decided: the server is busy: 429 slow down" in " ".join(result.stdout.split())


def test_a_redirect_is_not_followed_and_shows_no_key() -> None:
    seen = []

    def answer(body: Body) -> tuple[int, bytes]:
        seen.append(body)
        return 200, PLAIN

    with endpoint(answer) as other, endpoint(lambda body: (302, b""), Location=f"{other}/{KEY}") as url:
        line = complaint(doctor(url, "--model", "m", OPENAI_API_KEY=KEY))
    assert seen == []
    assert f"302 redirect to {other}/***" in line


def test_a_body_that_is_shorter_than_announced_is_not_read_as_whole() -> None:
    def respond(request: bytes) -> bytes:
        return b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + PLAIN

    with raw_server(respond) as url:
        assert "the connection was closed" in complaint(doctor(url, "--model", "m"))


def test_no_more_requests_than_the_limit_are_sent() -> None:
    transport = Transport(60, sent=MOST_REQUESTS)
    with pytest.raises(LimitReached, match=f"limit of {MOST_REQUESTS} requests"):
        transport.send("http://127.0.0.1:9/")


def json_server(paths: dict[str, Any]) -> AbstractContextManager[str]:
    """A server with a JSON value per path."""

    def respond(request: bytes) -> bytes:
        path = request.split()[1].decode()
        if path not in paths:
            return b"HTTP/1.1 404 X\r\nContent-Length: 0\r\n\r\n"
        body = json.dumps(paths[path]).encode()
        return f"HTTP/1.1 200 OK\r\nServer: llama.cpp\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body

    return raw_server(respond)


def connected(paths: dict[str, Any], path: str = "") -> tuple[str, str, str, str]:
    """The protocol, the path of its URL, the server and its version."""
    with json_server(paths) as url:
        base = url.removesuffix("/v1")
        found = connect(base + path, Transport(30), "")
        return found.protocol.name, found.url.removeprefix(base), found.runtime, found.version


def test_the_protocol_and_the_server_are_recognized() -> None:
    vllm = {"/v1/models": {"data": [{"id": "m", "owned_by": "vllm"}]}, "/version": {"version": "0.33.0"}}
    chat = "OpenAI Chat Completions"
    assert connected(vllm) == (chat, "/v1/chat/completions", "vLLM", "0.33.0")
    sglang = {"/v1/models": {"data": [{"id": "m", "owned_by": "sglang"}]}}
    assert connected(sglang, "/v1") == (chat, "/v1/chat/completions", "SGLang", "")
    assert connected({"/models": {"data": []}}) == (chat, "/chat/completions", "llama.cpp", "")
    anthropic = {"/v1/models": {"data": [{"type": "model", "id": "m"}], "has_more": False}}
    assert connected(anthropic)[:2] == ("Anthropic Messages", "/v1/messages")
    ollama = {"/api/tags": {"models": [{"name": "m", "details": {}}]}}
    assert connected(ollama)[:2] == ("Ollama", "/api/chat")
    assert connected({}) == (chat, "/v1/chat/completions", "", "")


# --- parts


def test_calls_left_in_text_are_recognized_with_their_format() -> None:
    call = [("get_weather", {"city": "Oslo", "days": 1})]
    for name in ("json", "glm4", "mistral", "xml_function", "kimi_k2"):
        text = f"Well.\n{toolfmt.write(name, call)}"
        assert left_calls(text, toolfmt.get(name)) == (1, name)
        assert left_calls(text, None)[0] == 1
    assert left_calls("Call get_weather for Oslo.", None) == (0, "")
    assert left_calls('<tool_call>\n{"name": "other", "arguments": {}}\n</tool_call>', None) == (0, "")


def test_markers_are_recognized_but_not_ordinary_text() -> None:
    assert left_marker("a </tool_call> b") == "</tool_call>"
    assert left_marker("done<|im_end|>") == "<|im_end|>"
    assert left_marker('Use `{"a": [1]}` or <b>bold</b>, see [1]. ```json\n{}\n```') == ""
    assert left_reasoning("Hm.</think>\nYes") == "</think>"
    assert left_reasoning("I think: no.") == ""


def test_the_value_with_markers_has_those_of_the_format() -> None:
    assert "<tool_call>" in marker_value(None) and "</tool_call>" in marker_value(None)
    assert "<|tool_call_begin|>" in marker_value(toolfmt.get("kimi_k2")) or "<|tool_calls_section" in marker_value(
        toolfmt.get("kimi_k2")
    )
    for format in toolfmt.formats.formats():
        value = marker_value(format)
        assert value.startswith("first } then ") and value.endswith(" last") and "\n" not in value


def test_differences_ignore_layout() -> None:
    def response(arguments: str, content: str = "", streamed: bool = False) -> ServerResponse:
        return ServerResponse(streamed, content, calls=[ResponseCall("a", "f", [arguments])], finish="tool_calls")

    assert differences(response('{"a": 1}', "x\n"), response('{"a":1}', " x", True)) == ""
    assert "arguments" in differences(response('{"a": 1}'), response('{"a": 2}', "", True))
    assert "content" in differences(response("{}", "x"), response("{}", "y", True))


def test_the_fix_names_the_server_that_runs() -> None:
    report = toolfmt.load(MODEL).inspect()
    (line,) = Context("SGLang", report).fix("call-left-in-content", "json")[1:]
    assert line.startswith("SGLang: --tool-call-parser qwen25 ")
    every = Context("", report).fix("call-left-in-content", "json")
    assert [line.split(":")[0] for line in every[1:]] == ["vLLM", "SGLang", "mlx-lm", "llama.cpp"]
    assert "toolfmt_json" in Context("vLLM", report).fix("value-cut", "")[1]
    other = Context("SGLang", report).fix("call-left-in-content", "glm4")[-1]
    assert other.startswith("These calls are in the format glm4, and the directory has json")
    unknown = Context().fix("arguments-invalid", "")
    assert unknown[-1] == "Give --directory MODEL to see the settings."


def test_every_probe_differs() -> None:
    made = list(probes(None))
    assert len({probe.question for probe in made}) == len({probe.name for probe in made}) == len(TITLES) - 1
    assert all(probe.max_tokens <= MOST_TOKENS for probe in made)


def response(
    *calls: ResponseCall, finish: str | None = "tool_calls", streamed: bool = True, **more: Any
) -> ServerResponse:
    return ServerResponse(streamed, calls=list(calls), finish=finish, **more)


def found_in(name: str, given: ServerResponse) -> list[str]:
    probe = next(probe for probe in probes(None) if probe.name == name)
    return [problem.name for problem in problems(probe, given, toolfmt.get("json"))]


def weather(*fragments: str) -> ResponseCall:
    return ResponseCall("a", "get_weather", list(fragments or ('{"city": "Bergen", "days": 3}',)))


def test_a_cut_response_is_not_a_problem() -> None:
    assert found_in("required", response(finish="length")) == []
    assert found_in("one-call", response(weather('{"city": "Be'), finish="length")) == []
    assert found_in("one-call", response(finish="length", content="<tool_call>\n{")) == []
    assert found_in("cut", response(weather('{"city": "Be'), finish="length")) == []


def test_a_cut_call_is_recognized_by_its_tokens_too() -> None:
    whole = ResponseCall("a", "save_note", ['{"text": "It was a"}'])
    assert found_in("cut", response(whole, completion_tokens=24)) == ["cut-call-reported"]
    assert found_in("cut", response(whole, completion_tokens=23)) == []


def test_fragments_that_contain_the_earlier_ones_are_recognized() -> None:
    parts = ('{"city"', '{"city": "Bergen"', '{"city": "Bergen", "days": 3}')
    assert found_in("one-call", response(weather(*parts))) == ["arguments-repeated"]
    assert found_in("one-call", response(weather('{"city": ', '"Bergen", "days": 3'))) == ["arguments-invalid"]


def test_a_draft_in_the_reasoning_is_not_a_lost_call() -> None:
    draft = toolfmt.write("json", [("get_weather", {"city": "Bergen", "days": 3})])
    assert found_in("reasoning", response(finish="stop", reasoning=draft)) == ["call-in-reasoning"]
    assert found_in("reasoning", response(finish="stop", reasoning=draft, content="Rain.")) == []
    assert found_in("reasoning", response(weather(), reasoning=draft)) == []


def events(*payloads: Any, end: bytes = b"") -> Reply:
    text = "".join(f"data: {json.dumps(payload)}\n\n" for payload in payloads)
    return Reply(200, {}, text.encode() + end)


def test_calls_without_an_index_are_joined_by_their_ids() -> None:
    def part(id: str | None, name: str, arguments: str) -> Body:
        call = {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}
        return {"choices": [{"delta": {"tool_calls": [call]}}]}

    reply = events(part("a", "f", ""), part(None, "", "{}"), part("b", "g", "{}"))
    read = ChatCompletions().read_stream(reply)
    assert [(call.id, call.name, call.arguments) for call in read.calls] == [("a", "f", "{}"), ("b", "g", "{}")]
    assert [problem.name for problem in read.problems] == ["index-missing", "stream-broken"]


def test_anthropic_blocks_are_checked() -> None:
    def stream(index: Any, *deltas: str, block: Any = "tool_use", given: Any = None) -> ServerResponse:
        start = {"type": "content_block_start", "index": index, "content_block": {
            "type": block, "id": "t", "name": "f", "input": {} if given is None else given}}  # fmt: skip
        parts = [{"type": "content_block_delta", "index": index, "delta": {"partial_json": one}} for one in deltas]
        ends = [{"type": "content_block_stop", "index": index}, {"type": "message_delta", "delta": {
            "stop_reason": "tool_use"}}, {"type": "message_stop"}]  # fmt: skip
        return AnthropicMessages().read_stream(events(start, *parts, *ends))

    good = stream(0, '{"a": ', "1}")
    assert (good.calls[0].arguments, good.finish, good.problems) == ('{"a": 1}', "tool_calls", [])
    assert stream(0).calls[0].arguments == "{}"
    assert [problem.name for problem in stream(1).problems] == ["index-wrong"]
    assert [problem.name for problem in stream(None).problems] == ["index-missing"]
    assert [problem.name for problem in stream(0, given="{}").problems] == ["arguments-not-object"]
    block = {"type": "tool_use", "id": "", "name": "", "input": "{}"}
    whole = AnthropicMessages().read({"content": [block], "stop_reason": "tool_use"})
    assert [problem.name for problem in whole.problems] == ["id-missing", "name-missing", "arguments-not-object"]


def test_ollama_gets_objects_and_the_names_of_tools() -> None:
    messages = result_messages([sample_call()], "Kvamsdal")
    body = OllamaChat().body("m", ChatRequest(messages), stream=False)
    assert [message.get("tool_name") for message in body["messages"]] == [None, None, "get_weather"]
    assert body["messages"][1]["tool_calls"][0]["function"]["arguments"] == {"city": "Bergen", "days": 3}
    call = {"function": {"name": "f", "arguments": "{}"}}
    read = OllamaChat().read({"message": {"tool_calls": [call]}, "done": True})
    assert [problem.name for problem in read.problems] == ["arguments-not-object"]
    broken = OllamaChat().read_stream(Reply(200, {}, b'{"message": {"content": "x"}, "done": false}\n'))
    assert [problem.name for problem in broken.problems] == ["stream-broken"]


def test_a_series_that_was_stopped_is_not_healthy() -> None:
    connection = Connection(ChatCompletions(), "http://127.0.0.1:9/v1/chat/completions")
    made = [Examination(connection, "m", "", Transport(1), has_calls=True, stopped=why) for why in ("", "interrupted")]
    assert [examination.status for examination in made] == ["healthy", "undecided"]


def test_a_check_is_undecided_if_the_model_does_something_else() -> None:
    """A server that always answers with the same call shows nothing about the other checks."""
    always = ServerResponse(False, calls=[ResponseCall("1", "get_weather", ['{"city": "Oslo", "days": 3}'])])
    reasons = {probe.name: undecided(probe, always) for probe in probes(None)}
    assert reasons["one-call"] == reasons["required"] == ""
    assert reasons["no-call"] == "the model called a tool"
    assert reasons["nested-values"] == reasons["no-arguments"] == reasons["named"] == "the model called another tool"
    assert reasons["reasoning"] == "the model did not reason"
    thinking = ServerResponse(False, reasoning="Bergen.", calls=always.calls)
    assert undecided(next(probe for probe in probes(None) if probe.name == "reasoning"), thinking) == ""
    assert undecided(next(probe for probe in probes(None) if probe.name == "no-call"), ServerResponse(False)) == ""


# --- hostile servers and keys


def sent_back(key: str) -> list[bytes]:
    """Responses that contain the key in forms that are not its text, or not in one piece."""
    half = len(key) // 2
    delta = [{"choices": [{"index": 0, "delta": {"content": part}}]} for part in (key[:half], key[half:])]
    stream = b"".join(b"data: " + json.dumps(each).encode() + b"\n\n" for each in delta)
    return [
        json.dumps({"error": {"message": f"bad {key}"}}).replace("/", "\\/").encode(),
        json.dumps({"error": "".join(f"\\u{ord(letter):04x}" for letter in key)}).replace("\\\\u", "\\u").encode(),
        json.dumps({"error": "x" * 150 + key * 3}).encode(),
        stream + b"data: [DONE]\n\n",
        b'{"choices": [{"message": {"content": "<tool_call>' + key.encode() + b'"}, "finish_reason": "stop"}]}',
    ]


@pytest.mark.parametrize("key", ["sk-Abc/def+Ghi789", "sk-\\'quoted\"-key"])
@pytest.mark.parametrize("form", range(5))
def test_a_key_that_is_sent_back_in_any_form_is_not_printed(form: int, key: str) -> None:
    body = sent_back(key)[form]
    with endpoint(lambda given: (200, PLAIN) if not given.get("tools") else (200 if form > 2 else 500, body)) as url:
        for more in ([], ["--json"]):
            printed = doctor(url, "--model", "m", *more, OPENAI_API_KEY=key).output
            assert key not in printed
            assert json.dumps(key)[1:-1] not in printed
            assert key[:8] not in printed


def test_a_key_in_the_status_line_or_in_the_list_of_models_is_not_printed() -> None:
    with raw_server(lambda request: f"{KEY} 200 hello\r\n\r\n".encode()) as url:
        assert KEY not in doctor(url, "--model", "m", OPENAI_API_KEY=KEY).output
    models = json.dumps({"data": [{"id": KEY}, {"id": "other"}]}).encode()
    head = f"HTTP/1.1 200 X\r\nContent-Length: {len(models)}\r\n\r\n".encode()
    with raw_server(lambda request: head + models) as url:
        line = complaint(doctor(url, OPENAI_API_KEY=KEY))
    assert "give --model: ***" in line
    with endpoint(lambda body: (302, b""), Location="http://x/" + KEY.replace("-", "%2D")) as url:
        quoted = doctor(url, "--model", "m", OPENAI_API_KEY=KEY.replace("-", "/"))
        assert KEY.replace("-", "%2F") not in quoted.output


def test_no_server_can_ask_for_the_other_key() -> None:
    """A list of models in Anthropic's form decides about the protocol, not about the key."""
    heads = []

    def respond(request: bytes) -> bytes:
        heads.append(request.decode().lower())
        body = b'{"data": [{"id": "m", "type": "model"}]}'
        return f"HTTP/1.1 200 X\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body

    with raw_server(respond) as url:
        doctor(url, OPENAI_API_KEY="openai-key-1", ANTHROPIC_API_KEY="anthropic-key-1")
    assert any("/v1/messages" in head for head in heads)
    assert all("openai-key-1" in head and "anthropic-key-1" not in head for head in heads)


@pytest.mark.parametrize("key", ["x", "1", "id", "tool", "null", "EMPTY"])
def test_a_placeholder_for_a_key_does_not_change_what_the_server_sent(key: str) -> None:
    with faulty() as url:
        assert diagnosis(url, OPENAI_API_KEY=key)["findings"] == []


@pytest.mark.parametrize("streamed", [False, True])
def test_a_response_with_endless_calls_or_an_endless_name_is_unreadable(streamed: bool) -> None:
    def answer(body: Body) -> tuple[int, bytes]:
        if not body.get("tools") or body["stream"] is not streamed:
            return whole_or_stream(body, {"content": "Hi."}, "stop")
        many = [
            {"index": number, "id": f"c{number}", "type": "function", "function": {"name": "n", "arguments": "{}"}}
            for number in range(5_000)
        ]
        return whole_or_stream(body, {"content": None, "tool_calls": many}, "tool_calls")

    with endpoint(answer) as url:
        found = diagnosis(url, "--model", "m", status=1)
    (unreadable,) = [each for each in found["findings"] if each["name"] == "unreadable-response"]
    assert unreadable["seen"] == "unreadable response: it has more than 100 calls"
    chunk = {"choices": [{"delta": {"tool_calls": [{"index": 0, "id": "", "function": {"name": "n" * 400}}]}}]}
    data = b"data: " + json.dumps(chunk).encode() + b"\n\n"
    with pytest.raises(Unreadable, match="endless name"):
        ChatCompletions().read_stream(Reply(200, {}, data * 9))


def test_a_deeply_nested_error_is_read() -> None:
    body = b'{"error":' * 1500 + b"1" + b"}" * 1500
    with endpoint(lambda _: (400, body)) as url:
        assert complaint(doctor(url, "--model", "m")).startswith(f"{url}/chat/completions: 400 {{")


def test_another_server_in_pythons_own_http_server_is_not_mlx_lm() -> None:
    def listing(entry: Body) -> str:
        body = json.dumps({"data": [entry]}).encode()
        head = f"HTTP/1.1 200 X\r\nServer: BaseHTTP/0.6 Python/3.11\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        with raw_server(lambda request: head + body) as url:
            return connect(url, Transport(20), "").runtime

    assert listing({"id": "m", "object": "model", "created": 1}) == "mlx-lm"
    assert listing({"id": "m", "object": "model"}) == ""


def test_secrets_are_hidden_in_every_form_and_placeholders_in_none() -> None:
    key = "sk-'a/b\\c\"d+E"
    secrets = Secrets([key, "x", ""])
    for form in (key, repr(key), quote(key, safe=""), quote(key, safe="").lower(), key.upper()):
        assert secrets.hidden(f"a {form} b") in ("a *** b", "a '***' b")
    assert secrets.hidden(f"a {key[:6]}…") == "a ***…"
    assert secrets.hidden(f"a {key[:5]}…") == f"a {key[:5]}…"
    assert Secrets(["tool", "x"]).hidden("tool_calls x") == "tool_calls x"


def test_a_key_in_the_reason_for_an_undecided_check_is_hidden() -> None:
    busy = json.dumps({"error": f"slow down, {KEY}"}).encode()
    with endpoint(lambda body: (200, PLAIN) if not body.get("tools") else (429, busy)) as url:
        printed = doctor(url, "--model", "m", OPENAI_API_KEY=KEY)
        assert (printed.exit_code, KEY in printed.output) == (2, False)
        assert "Not decided: the server is busy: 429 slow down, ***." in printed.output
        assert "not decided: the server is busy: 429 slow down, ***" in " ".join(printed.output.split())


@pytest.mark.parametrize(
    ("endpoint_url", "key"),
    [
        ("https://api.anthropic.com/v1", "a"),
        ("https://anthropic.com", "a"),
        ("http://127.0.0.1:1/v1/messages", "a"),
        ("http://anthropic.com.example.org/v1", "o"),
        ("http://notanthropic.com/v1", "o"),
        ("http://example.org/anthropic.com", "o"),
    ],
)
def test_the_url_decides_which_key_is_sent(endpoint_url: str, key: str) -> None:
    options = Examining(endpoint_url, None, None, 10.0, as_json=False, trusted=False)
    assert options._key({"OPENAI_API_KEY": "o", "ANTHROPIC_API_KEY": "a"}) == key
    assert options._key({"OPENAI_API_KEY": "o", "ANTHROPIC_API_KEY": ""}) == "o"


def test_a_model_that_is_random_in_streams_only_is_random() -> None:
    sent = 0

    def answer(body: Body) -> tuple[int, bytes]:
        nonlocal sent
        sent += 1
        function = {"name": "get_weather", "arguments": json.dumps({"city": "Oslo", "days": sent * body["stream"]})}
        call = {"index": 0, "id": "a", "type": "function", "function": function}
        return whole_or_stream(body, {"content": None, "tool_calls": [call]}, "tool_calls")

    with endpoint(answer) as url:
        found = diagnosis(url, "--model", "m", status=1)
    assert found["random"]
    assert names(found) == ["tool-choice-ignored"]
