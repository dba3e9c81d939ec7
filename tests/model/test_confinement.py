"""What the process for templates does not have: the environment, files, the network, a life after its parent's."""

from __future__ import annotations

import ast
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import jinja2
import pytest

import toolfmt
from toolfmt.errors import LimitHit, TemplateError, ToolfmtError
from toolfmt.model.jobs import new_worker
from toolfmt.model.sandbox import pool
from toolfmt.model.sandbox.pool import Job, Worker

linux = pytest.mark.skipif(sys.platform != "linux", reason="what a process has is read in /proc")
posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit on descriptors")

TEXT = Job(eval, str, lambda answer: None)
"""Any expression: what a template could do if the sandbox of jinja2 did not hold."""


@pytest.fixture(scope="module")
def _shared() -> Iterator[Worker]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("SOMEBODYS_TOKEN", "a secret")
        made = new_worker()
        yield made
        made.close()


@pytest.fixture
def worker(_shared: Worker) -> Worker:
    """A worker whose process is running; a test may end that."""
    assert _shared.run(TEXT, "'ready'") == "ready"
    return _shared


def pid(worker: Worker) -> int:
    assert worker._process is not None
    return worker._process.pid


@linux
def test_the_environment_holds_what_python_needs_and_nothing_else(worker: Worker) -> None:
    given = Path(f"/proc/{pid(worker)}/environ").read_bytes().split(b"\0")
    names = {entry.partition(b"=")[0].decode() for entry in given if entry}
    assert {"PYTHONPATH", "TOKENIZERS_PARALLELISM"} <= names
    others = names - {"PYTHONPATH", "TOKENIZERS_PARALLELISM", "PYTHONUSERBASE", "PYTHONDONTWRITEBYTECODE"}
    others -= {"HOME", "XDG_CACHE_HOME"}  # where the machine code of llama.cpp's template engine is cached
    assert {name for name in others if not name.startswith(("PYTHON", "LD_LIBRARY_PATH"))} == set()
    assert b"a secret" not in b"".join(given)


def test_an_escape_finds_an_empty_environment(worker: Worker) -> None:
    assert worker.run(TEXT, "str(dict(__import__('os').environ))") == "{}"


@pytest.mark.sample(1)
@posix
@pytest.mark.parametrize(
    "attempt",
    [
        "open('/etc/passwd').read()",
        "open('/proc/self/environ').read()",
        "open('/dev/null').read()",
        "str(__import__('os').listdir('/'))",
        "str(__import__('os').pipe())",
        "str(__import__('os').dup(0))",
        "str(__import__('socket').socket())",
        "str(__import__('subprocess').run(['true'], capture_output=True))",
        "str(__import__('smtplib'))",  # a module that no job needs
        "__import__('os').close(2) or open('/etc/passwd').read()",  # in the place of what was open
        "__import__('os').closerange(0, 3) or open('/etc/passwd').read()",
        "str(__import__('os').dup2(1, 2))",
    ],
)
def test_nothing_can_be_opened(attempt: str, worker: Worker) -> None:
    before = pid(worker)
    with pytest.raises(ToolfmtError, match="a bug in toolfmt") as failed:
        worker.run(TEXT, attempt)
    assert not isinstance(failed.value, TemplateError)
    assert worker.run(TEXT, "'alive'") == "alive"
    assert pid(worker) != before


@linux
def test_the_network_is_another_one_where_the_system_allows_that(worker: Worker) -> None:
    may = (
        subprocess.run(["unshare", "--user", "--net", "true"], capture_output=True, check=False, timeout=300).returncode
        == 0
    )
    own, here = (os.readlink(f"/proc/{process}/ns/net") for process in (pid(worker), "self"))
    assert (own != here) is may


@linux
def test_it_holds_pipes_to_its_parent_and_nothing_of_what_that_has_open(tmp_path: Path) -> None:
    with (tmp_path / "open").open("wb") as kept:
        os.set_inheritable(kept.fileno(), True)
        made = new_worker()
        made.run(TEXT, "''")
        links = {os.readlink(path) for path in Path(f"/proc/{pid(made)}/fd").iterdir()}
        assert all(link == "/dev/null" or link.startswith("pipe:") for link in links)
        made.close()


@pytest.mark.sample(0)
@posix
@pytest.mark.parametrize("closed", [[0], [1], [2], [0, 2], [0, 1, 2]])
def test_it_runs_with_closed_standard_files(closed: list[int], tmp_path: Path) -> None:
    result_file = tmp_path / "result"
    program = f"""
from pathlib import Path
from toolfmt.model.jobs import new_worker
from toolfmt.model.sandbox.pool import Job
worker = new_worker()
said = [worker.run(Job(eval, str, lambda answer: None), "'here'") for _ in range(2)]
Path({str(result_file)!r}).write_text(" ".join(said))
worker.close()
"""
    close = " ".join(f"{number}>&-" for number in closed)
    line = f'exec "$0" -c "$1" {close}'
    subprocess.run(["sh", "-c", line, sys.executable, program], check=False, capture_output=True, timeout=300)
    assert result_file.read_text() == "here here"


@pytest.mark.sample(0)
@linux
def test_running_out_of_memory_while_an_error_is_reported_is_a_limit(worker: Worker) -> None:
    raising = "(_ for _ in ()).throw(__import__('toolfmt.errors').errors.ToolfmtError('x' * 600_000_000))"
    with pytest.raises(LimitHit) as hit:
        worker.run(TEXT, raising)
    assert hit.value.limit == "memory"


OUTER = "[here := here.f_back for _ in iter(lambda: 'answers' in here.f_locals, True)]"
MAIN = f"(lambda here: {OUTER} and {{**here.f_globals, **here.f_locals}})(__import__('sys')._getframe())"
"""What the main function of the process has at hand, as an escape finds it."""
LEFT = {
    "a whole answer": "{main}['send']({main}['answers'], {nonce}, b'd\"forged\"')",
    "the beginning of one": "{main}['answers'].write({nonce} + b'\\0\\0') and {main}['answers'].flush()",
    "one without an end": "{main}['answers'].write({nonce} + b'\\xff' * 8) and {main}['answers'].flush()",
}


@pytest.mark.sample(0)
@posix
@pytest.mark.parametrize("checked", ["before the next request", "by the number alone"])
@pytest.mark.parametrize("left", LEFT)
def test_what_a_job_leaves_in_the_pipe_is_no_answer_to_the_next_job(
    left: str, checked: str, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    if checked == "by the number alone":  # as if the pipe were written to while the request is on its way
        monkeypatch.setattr(pool, "_has_written", lambda process: False)
    before = pid(worker)
    # After its own response, which is sent when the expression has its value.
    forging = LEFT[left].format(main="main", nonce="main['nonce']")
    later = f"__import__('threading').Timer(0.1, lambda main: ({forging}), [{MAIN}]).start()"
    assert worker.run(TEXT, f"{later} or 'honest'") == "honest"
    time.sleep(0.4)
    assert pid(worker) == before
    if checked == "before the next request":
        worker.start()
        assert pid(worker) != before
    assert worker.run(TEXT, "'the next one'") == "the next one"
    assert pid(worker) != before


@pytest.mark.sample(0)
@posix
def test_a_job_with_an_invalid_result_is_retried_and_then_given_up(worker: Worker) -> None:
    forging = LEFT["a whole answer"].format(main=MAIN, nonce="bytes(16)")
    with pytest.raises(LimitHit, match="wrote something that is not a response") as hit:
        worker.run(TEXT, f"{forging} or 'honest'")
    assert hit.value.limit == "crash"
    assert worker._process is None
    assert worker.run(TEXT, "'alive'") == "alive"


HANGS = {
    "in python": "next(i for i in iter(int, 1) if i)",
    "in one long operation": "str(7 ** 10 ** 8 % 10)",
    "idle": "",
}


@pytest.mark.sample(1)
@posix
@pytest.mark.parametrize("what", HANGS)
def test_it_ends_with_its_parent_however_that_ends(what: str) -> None:
    program = f"""
import sys, threading, time
from toolfmt.model.sandbox.pool import Job, Worker
worker = Worker()
worker.run(Job(eval, int, lambda answer: None), "1")
print(worker._process.pid, flush=True)
worker.run(Job(eval, str, lambda answer: None), {HANGS[what]!r} or "''")
time.sleep(60)
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        process = int(parent.stdout.readline())
        time.sleep(0.3)
        assert is_running(process)
        parent.kill()
    deadline = time.monotonic() + 60
    while is_running(process) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not is_running(process)


@pytest.mark.sample(0)
@posix
def test_it_ends_with_its_parent_whose_forked_child_lives_on() -> None:
    program = """
import os, time
from toolfmt.model.sandbox.pool import Job, Worker
worker = Worker()
worker.run(Job(eval, int, lambda answer: None), "1")
if (child := os.fork()) == 0:
    time.sleep(60)
    os._exit(0)
time.sleep(0.3)
assert worker.run(Job(eval, int, lambda answer: None), "2") == 2
print(worker._process.pid, child, flush=True)
time.sleep(60)
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        process, child = map(int, parent.stdout.readline().split())
        parent.kill()
    try:
        deadline = time.monotonic() + 60
        while is_running(process) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert is_running(child)
        assert not is_running(process)
    finally:
        os.kill(child, signal.SIGKILL)


@pytest.mark.sample(0)
@posix
def test_a_forked_child_has_a_process_of_its_own() -> None:
    program = """
import os
from toolfmt.model.jobs import shared_worker
from toolfmt.model.sandbox.pool import Job, Worker
asking = Job(eval, int, lambda answer: None), "__import__('os').getpid()"
given = Worker()
for worker in (lambda: given, shared_worker):
    before = worker().run(*asking)
    if (child := os.fork()) == 0:
        other = worker().run(*asking)
        worker().close()
        os._exit(int(other == before))
    assert os.waitpid(child, 0)[1] == 0
    assert worker().run(*asking) == before
    worker().close()
print("done")
"""
    # Python 3.12 warns of a fork while the system still counts a thread that has just ended: the reader thread.
    command = [sys.executable, "-W", "ignore:This process:DeprecationWarning", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert (done.stdout, done.stderr) == ("done\n", "")


@pytest.mark.sample(0)
@linux
@pytest.mark.parametrize(
    "before",
    ["signal.signal(signal.SIGIO, signal.SIG_IGN)", "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGIO])"],
)
def test_it_ends_with_a_parent_that_wants_no_signals(before: str) -> None:
    """Signals that a process ignores and blocks are inherited by the processes it starts."""
    program = f"""
import signal, time
from toolfmt.model.sandbox.pool import Job, Worker
{before}
worker = Worker()
worker.run(Job(eval, int, lambda answer: None), "1")
print(worker._process.pid, flush=True)
worker.run(Job(eval, str, lambda answer: None), {HANGS["in python"]!r})
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        process = int(parent.stdout.readline())
        time.sleep(0.3)
        assert is_running(process)
        parent.kill()
    deadline = time.monotonic() + 60
    while is_running(process) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not is_running(process)


@pytest.mark.sample(0)
@linux
def test_no_memory_is_written_to_a_file_at_a_crash(worker: Worker) -> None:
    limits = Path(f"/proc/{pid(worker)}/limits").read_text()
    assert [line.split()[-3:] for line in limits.splitlines() if line.startswith("Max core")] == [["0", "0", "bytes"]]


@linux
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root becomes another user")
def test_a_user_without_rights_leaves_the_network_where_the_system_allows_that() -> None:
    ask = ["unshare", "--user", "--net", "true"]
    may = subprocess.run(ask, user=65534, group=65534, extra_groups=[], capture_output=True, check=False, timeout=300)
    program = """
import ctypes, os
from toolfmt.model.sandbox.confinement import leave_network
os.setgroups([]); os.setresgid(*[65534] * 3); os.setresuid(*[65534] * 3)
before = os.readlink("/proc/self/ns/net")
print(leave_network(), os.readlink("/proc/thread-self/ns/net") != before)
"""
    printed = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=300
    ).stdout.split()
    assert printed == [str(may.returncode == 0)] * 2


@posix
def test_it_ends_where_its_parent_has_ended_before_it_is_ready() -> None:
    end, other = os.pipe()
    os.close(other)
    command = [sys.executable, "-P", "-m", "toolfmt.model.sandbox.worker", str(end), str(1 << 30), "10"]
    environment = {**os.environ, "PYTHONPATH": str(Path(toolfmt.__file__).parents[1])}
    with subprocess.Popen(command, stdin=subprocess.PIPE, pass_fds=[end], env=environment) as process:
        os.close(end)
        try:
            assert process.wait(30) == 1  # its requests have not ended
        finally:
            process.kill()


def is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return sys.platform != "linux"


@pytest.mark.sample(0)
def test_it_does_not_end_with_the_thread_that_started_it() -> None:
    made = new_worker()
    starter = threading.Thread(target=made.start)
    starter.start()
    starter.join()
    made.run(TEXT, "''")
    before = pid(made)
    time.sleep(0.1)
    assert made.run(TEXT, "'here'") == "here"
    assert pid(made) == before
    made.close()


@pytest.mark.sample(0)
def test_what_is_imported_late_is_imported_before(worker: Worker) -> None:
    """jinja2 and the packages whose code runs there import some modules inside of functions."""
    rooms = [Path(jinja2.__file__).parent]
    rooms += [Path(toolfmt.__file__).parent / room for room in ("formats", "inspect", "render")]
    late = {name for room in rooms for module in sorted(room.rglob("*.py")) for name in imported_late(module)}
    assert {"jinja2.constants", "textwrap", "tokenizers", "minijinja", "_strptime"} <= late
    names = sorted(name for name in late if name not in NOT_THERE and exists(name))
    missing = worker.run(TEXT, f"str([name for name in {names} if name not in __import__('sys').modules])")
    assert missing == "[]"


@pytest.mark.sample(0)
@pytest.mark.parametrize("codec", ["utf-7", "utf-16", "utf-32-be", "latin-1", "cp1252", "punycode"])
def test_a_template_can_encode_text(codec: str, worker: Worker) -> None:
    assert worker.run(TEXT, f"'a'.encode('{codec}').decode('{codec}')") == "a"


NOT_THERE = {  # reached by no template that is rendered here
    # of jinja2
    "asyncio",  # rendering in an event loop
    "gettext",  # the extension for translations
    "zipfile",  # loaders of templates
    "concurrent.futures",  # parsing many outputs together, which no job does
    # grammars, which no job makes
    "toolfmt.formats.grammar.constraint",
    "toolfmt.formats.grammar.nested_tags",
    "toolfmt.formats.values.nodes",
    "toolfmt.formats.grammar.value_nodes",
    "toolfmt.formats.grammar.tagged",
}


def exists(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ImportError:
        return False


BY_CALLS = {"strptime": "_strptime"}
"""Modules that Python's C methods import when they are called (of `datetime`, `date`, `time`)."""


def imported_late(module: Path) -> Iterator[str]:
    """The modules that are imported inside the functions of a module, or by the functions called there."""
    package = "jinja2" if module.parent.name == "jinja2" else ""
    for function in ast.walk(ast.parse(module.read_text("utf-8"))):
        if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                yield f"{package}.{node.module}" if node.level else str(node.module)
            elif isinstance(node, ast.Attribute) and node.attr in BY_CALLS:
                yield BY_CALLS[node.attr]
