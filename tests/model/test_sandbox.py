"""Templates that take too much end with a finding that names the limit; the next one is inspected normally."""

from __future__ import annotations

import errno
import os
import pickle
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any, cast

import depth
import pytest

import toolfmt
from benchmarks.attacks import ATTACKS, HONEST, files
from toolfmt._util.cpu_time import cpu_seconds, ends_in_time
from toolfmt._util.typed_json import packed
from toolfmt.errors import BadTools, FailedInProcess, LimitHit, TemplateError, ToolfmtError, WorkerUnavailable
from toolfmt.inspect.facts import NO_OPTIONS
from toolfmt.inspect.inspection import inspect_files, inspect_stopped
from toolfmt.inspect.report.report import Finding, FormatDecision, Report
from toolfmt.model.jobs import INSPECT, PROFILE, new_worker
from toolfmt.model.sandbox import pool
from toolfmt.model.sandbox import worker as worker_module
from toolfmt.model.sandbox.pool import Job, Limits, Worker
from toolfmt.templates.engine.chat_template import LARGEST_TREE

PACKAGE = Path(toolfmt.__file__).parent
SMALL = Limits(processor_seconds=1, memory=300 << 20)

# What costs little, or what jinja2 itself prevents: it does not fold a constant with an operator that the sandbox
# intercepts, and a template too deep for its parser does not compile.
HARMLESS = {
    "power in a dead branch": [],
    "repeated text in a dead branch": [],
    "endless recursion": ["TF003"],
    "only under another engine": [],  # which has its own limit for this
    "a deep expression": ["TF002"],
    "deep blocks": ["TF002"],
    "deep lists": ["TF002"],
    "one long word": ["TF011"],
    "one long word at the end": ["TF011"],
    "one long mark at the end": ["TF011"],
    "one long mark beside a call": ["TF011"],
}
# The limit that ends it, if there is only one possible.
LIMITS = {
    "power": "CPU time",
    "nested ranges": "CPU time",
    "forking macros": "CPU time",
    "sorting": "CPU time",
    "only with a generation prompt": "CPU time",
    "repeated text": "memory",
    "ljust": "memory",
    "center": "memory",
    "a width of format": "memory",
    "doubling": "memory",
    "only with tools": "memory",
    "only with a variable": "memory",
    "only in a long conversation": "memory",
    "only with a large schema": "memory",
    "nested ranges that write": "output",
    "repeated text, some at a time": "output",
    "a source of 2 MB": "source size",
}

linux = pytest.mark.skipif(sys.platform != "linux", reason="the limits on memory and CPU time are those of Linux")


@pytest.fixture(scope="module")
def small() -> Iterator[Worker]:
    worker = new_worker(SMALL)
    yield worker
    worker.close()


@pytest.fixture
def model(small: Worker) -> Any:
    """A model of one template, inspected within small limits."""
    return lambda source: toolfmt.Model(files(source), worker=small)


@pytest.fixture(scope="module")
def usual() -> Iterator[Worker]:
    worker = new_worker()
    yield worker
    worker.close()


def attacks() -> list[str]:
    """One of each kind, and all harmless ones; or all."""
    first = {LIMITS.get(name, name): name for name in reversed(ATTACKS)}
    return [name for name in ATTACKS if depth.every or name in HARMLESS or name in first.values()]


@pytest.mark.sample(1)
@linux
@pytest.mark.parametrize("name", attacks())
def test_an_attack_ends_as_a_finding_and_the_next_template_is_inspected(
    name: str, small: Worker, usual: Worker
) -> None:
    # A slow machine must not make a harmless template exceed a limit, so it gets the limits that users have.
    worker = usual if name in HARMLESS else small
    report = toolfmt.Model(files(ATTACKS[name]), worker=worker).inspect()
    codes = {finding.code for finding in (*report.findings, *report.notes)}
    if name in HARMLESS:
        assert "TF007" not in codes
        assert set(HARMLESS[name]) <= codes
    else:
        messages = [finding.message for finding in report.findings if finding.code == "TF007"]
        assert len(messages) == 1
        assert LIMITS.get(name, "") in messages[0]
    assert toolfmt.Model(files(HONEST), worker=worker).inspect() == honest_report()


@cache
def honest_report() -> Report:
    """The report on a template that attacks nothing, made in this process."""
    return inspect_files(files(HONEST))


LARGE_TREES = {"one node too many": "{{1}}" * (LARGEST_TREE - 1)}
"""One node per expression, one for the template and one for all that it prints."""
if depth.every:
    LARGE_TREES |= {name: ATTACKS[name] for name in ("200,000 expressions", "a long sum")}


@pytest.mark.sample(0)
@pytest.mark.parametrize("name", LARGE_TREES)
def test_a_large_tree_is_not_compiled(name: str) -> None:
    codes = {finding.code: finding.message for finding in inspect_files(files(LARGE_TREES[name])).findings}
    assert "Limit hit: syntax tree: " in codes["TF007"]


def test_a_limit_is_not_called_a_template_that_does_not_compile(model: Any) -> None:
    report = model("{{ 'a' * 10 ** 10 }}").inspect()
    assert [finding.code for finding in report.findings if finding.code in ("TF002", "TF007")] == ["TF007"]
    assert report.capabilities["tools"].answer == "error"
    assert report.profile.failure is not None
    assert report.profile.failure.limit == "memory"
    message = "Limit hit: memory: a string or list repeated 10,000,000,000 times."
    assert [(one.message, one.line) for one in report.findings if one.code == "TF007"] == [(message, 1)]


@pytest.mark.parametrize(
    ("limit", "reason"),
    [
        ("source size", "the chat template hit a limit (source size)"),
        ("memory", "the chat template hit a limit (memory)"),
        ("crash", "the chat template ended the process that ran it"),
    ],
)
def test_no_advice_calls_a_limit_a_template_that_does_not_compile(limit: str, reason: str) -> None:
    report = inspect_stopped(files(HONEST), NO_OPTIONS, LimitHit("it was too much", limit))
    assert set(report.runtimes.values()) == {f"none: {reason}"}
    assert [one.text for one in report.sections.advice] == [f"{reason}: use the template of the original model"]


def test_what_hit_a_limit_is_not_rendered(model: Any) -> None:
    with pytest.raises(ToolfmtError, match=r"Limit hit: memory: .* times \(line 1\); it is not rendered"):
        model("{{ 'a' * 10 ** 10 }}").render([{"role": "user", "content": "hi"}])


@pytest.mark.sample(0)
def test_a_limit_comes_back_with_its_own_words(model: Any) -> None:
    source = "{% if messages[0].content == 'big' %}\n{{ 'a' * (messages | length * 10 ** 10) }}{% endif %}" + HONEST
    with pytest.raises(LimitHit) as hit:
        model(source).render([{"role": "user", "content": "big"}])
    assert (hit.value.limit, hit.value.line) == ("memory", 2)
    assert hit.value.engine_message == "a string or list repeated 10,000,000,000 times"
    assert str(hit.value).endswith(f"chat_template.jinja, line 2: {hit.value.engine_message}")


@pytest.mark.sample(0)
@linux
def test_a_prompt_that_takes_too_long_is_no_prompt(model: Any) -> None:
    source = "{% if 'slow' in messages[0].content %}" + ATTACKS["nested ranges"] + "{% endif %}" + HONEST
    messages = [{"role": "user", "content": "slow"}]
    with pytest.raises(LimitHit) as hit:
        model(source).render(messages)
    assert hit.value.limit == "CPU time"
    assert model(HONEST).render(messages).text == "<|user|>slow"


def test_a_prompt_of_the_worker_is_the_prompt_and_its_errors_are_the_errors(model: Any) -> None:
    messages = [{"role": "user", "content": "hi"}]
    assert model(HONEST).render(messages) == model(HONEST).render(messages)
    with pytest.raises(toolfmt.errors.BadMessages):
        model(HONEST).render({})
    with pytest.raises(toolfmt.errors.TemplateError, match="the template raises: no") as error:
        model("\n{{ raise_exception('no') }}").render(messages)
    assert (error.value.line, error.value.kind, error.value.engine_message) == (2, "raised", "no")


def test_a_prompt_of_the_worker_shows_the_present_time(model: Any) -> None:
    before = datetime.now()
    today = model("{{ messages[0].content }} {{ strftime_now('%Y-%m-%d') }}")
    shown = today.render([{"role": "user", "content": "hi"}]).text.removeprefix("hi ")
    assert shown in {moment.strftime("%Y-%m-%d") for moment in (before, datetime.now())}


@pytest.mark.sample(0)
def test_the_modules_of_its_jobs_are_imported_when_the_process_starts() -> None:
    """Before the limits count: a job's imports do not count for its template."""
    is_imported = Job(eval, bool, lambda answer: None)
    for jobs in ((INSPECT,), ()):
        worker = Worker(jobs, SMALL)
        assert worker.run(is_imported, "'toolfmt.inspect.inspection' in __import__('sys').modules") is bool(jobs)
        worker.close()


EVALUATE = Job(eval, str, lambda answer: None)
SLEEP = "__import__('time').sleep(60)"
BURN = "[None for _ in iter(lambda: __import__('time').process_time() > {end}, True)] and 'done'"


@pytest.mark.sample(0)
def test_a_worker_that_uses_no_cpu_time_reaches_the_time_limit() -> None:
    worker = new_worker(replace(SMALL, time_limit=0.5))
    with pytest.raises(WorkerUnavailable) as stopped:
        worker.run(EVALUATE, SLEEP)
    assert str(stopped.value) == (
        "the worker process used no CPU time for 0.5 seconds; "
        "try again when the machine is less busy, or raise the time limit (toolfmt inspect --time-limit SECONDS)"
    )
    assert not isinstance(stopped.value, TemplateError)
    assert worker.run(EVALUATE, "'next'") == "next"
    worker.close()


@pytest.mark.sample(0)
def test_cpu_time_restarts_the_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """The job takes several times the time limit, and more CPU time at every measurement."""
    readings = count(1)
    monkeypatch.setattr("toolfmt._util.cpu_time.cpu_seconds", lambda pid: float(next(readings)))
    worker = new_worker(replace(SMALL, time_limit=0.5))
    assert worker.run(EVALUATE, "__import__('time').sleep(2) or 'done'") == "done"
    assert next(readings) > 5
    worker.close()


def test_the_time_limit_counts_from_the_start_where_no_cpu_time_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("_util.cpu_time", "model.sandbox.pool"):
        monkeypatch.setattr(f"toolfmt.{module}.cpu_seconds", lambda pid: None)
    worker = new_worker(replace(SMALL, time_limit=0.5, processor_seconds=60))
    with pytest.raises(WorkerUnavailable, match=r"^the job did not finish within 0\.5 seconds; try again when"):
        worker.run(EVALUATE, BURN.format(end=60))
    worker.close()


@pytest.mark.parametrize(
    ("readings", "waits"),
    [
        ([1.0] * 9, 5),
        ([1.0, 1.0, 1.0, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5], 9),  # 0.6 s without, then some, then 1.0 s without
        ([None] * 9, 5),
    ],
)
def test_only_waiting_without_cpu_time_counts(
    readings: list[float | None], waits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For any clock: 1 second is five steps of 0.2 seconds."""
    following = iter(readings)
    monkeypatch.setattr("toolfmt._util.cpu_time.cpu_seconds", lambda pid: next(following))
    waited: list[float] = []

    def never(seconds: float) -> bool:
        waited.append(seconds)
        return False

    assert not ends_in_time(1, never, idle=1.0)
    assert [round(seconds, 6) for seconds in waited] == [0.2] * waits + [0.0]


def test_more_cpu_time_than_allowed_is_seen_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    following = iter([5.0, 6.0, 7.0, 7.1])
    monkeypatch.setattr("toolfmt._util.cpu_time.cpu_seconds", lambda pid: next(following))
    assert not ends_in_time(1, lambda seconds: False, idle=1.0, busy=2.0)
    assert list(following) == []


@linux
def test_the_cpu_time_of_a_process_is_the_one_the_system_counts() -> None:
    """Of all its threads, in user and in system mode; no clock of the machine counts."""
    before = sum(os.times()[:2])
    shown = cpu_seconds(os.getpid())
    after = sum(os.times()[:2])
    rounding = 2 / os.sysconf("SC_CLK_TCK")  # each of the two figures is a whole number of ticks
    assert shown is not None
    assert before - rounding <= shown <= after + rounding
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait(60)
    assert cpu_seconds(ended.pid) is None


@pytest.mark.sample(1)
@linux
@pytest.mark.parametrize("name", ["SIGKILL", "SIGTERM", "SIGHUP"])
def test_a_signal_from_outside_gives_no_verdict(name: str, small: Worker) -> None:
    """The system sends SIGKILL when memory runs out."""
    number = int(getattr(signal, name))
    # Under nohup a process ignores SIGHUP, and so do those that it starts.
    default = f"__import__('signal').signal({number}, 0) if {number} != 9 else None"
    ending = f"({default}, __import__('os').kill(__import__('os').getpid(), {number}))"
    with pytest.raises(WorkerUnavailable) as unavailable:
        small.run(EVALUATE, ending)
    assert str(unavailable.value).startswith(f"the worker process was killed by {name}; ")
    assert ("memory" in str(unavailable.value)) == (name == "SIGKILL")
    assert small.run(EVALUATE, "'next'") == "next"


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (OSError(errno.ENOMEM, "Cannot allocate memory"), "Cannot allocate memory"),
        (OSError(errno.EAGAIN, "Resource temporarily unavailable"), "Resource temporarily unavailable"),
    ],
)
@pytest.mark.parametrize(
    "function", ["toolfmt.model.sandbox.pool.subprocess.Popen", "toolfmt.model.sandbox.pool.os.pipe"]
)
def test_a_worker_that_cannot_be_started_gives_no_verdict(
    function: str, error: OSError, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*given: Any, **options: Any) -> Any:
        raise error

    worker = new_worker(SMALL)
    with monkeypatch.context() as patched:
        patched.setattr(function, fail)
        with pytest.raises(WorkerUnavailable, match=re.escape(f"cannot start ({reason}); close other programs")):
            toolfmt.Model(files(HONEST), worker=worker).inspect()
    assert worker.run(EVALUATE, "'next'") == "next"
    worker.close()


@pytest.mark.sample(0)
def test_a_thread_that_cannot_be_started_gives_no_verdict(small: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", fail)
        with pytest.raises(WorkerUnavailable, match="cannot start \\(can't start new thread\\)"):
            small.run(EVALUATE, "'first'")
    assert small.run(EVALUATE, "'next'") == "next"


@linux
@pytest.mark.parametrize("ending", ["sys.exit(1)", "os.abort()", "os.kill(os.getpid(), 9)"])
def test_a_worker_that_ends_before_it_is_ready_gives_no_verdict(
    ending: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As Python does if there is too little memory for its modules."""
    python = tmp_path / "python"
    python.write_text(f"#!{sys.executable}\nimport os, sys\n{ending}\n", "utf-8")
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    worker = new_worker(SMALL)
    with pytest.raises(WorkerUnavailable, match="the worker process for templates cannot start"):
        worker.run(INSPECT, files(HONEST), NO_OPTIONS)


@pytest.mark.parametrize(
    ("limit", "line", "advice"),
    [
        ("CPU time", None, "before you know what takes so long; --trusted"),
        ("CPU time", 3, "no legitimate template takes this much"),
        ("crash", None, "before you know why; --trusted"),
        ("memory", None, "no legitimate template takes this much"),
    ],
)
def test_the_time_limit_is_not_attributed_to_the_template_alone(limit: str, line: int | None, advice: str) -> None:
    report = inspect_stopped(files(HONEST), NO_OPTIONS, LimitHit("it took too much", limit, line))
    (finding,) = [one for one in report.findings if one.code == "TF007"]
    assert advice in finding.fix


@pytest.mark.sample(0)
@linux
def test_the_processor_time_is_that_of_one_job() -> None:
    """However much the process has had before."""
    worker = new_worker(SMALL)
    for _ in range(2):
        spent = float(worker.run(EVALUATE, "str(__import__('time').process_time())"))
        assert worker.run(EVALUATE, BURN.format(end=spent + 0.6)) == "done"
    assert worker._process is not None
    before = worker._process.pid
    with pytest.raises(LimitHit) as hit:
        worker.run(EVALUATE, BURN.format(end=spent + 60))
    assert hit.value.limit == "CPU time"
    worker.start()
    assert worker._process.pid != before
    worker.close()


@pytest.mark.sample(0)
def test_an_answer_longer_than_it_may_be_is_not_read() -> None:
    worker = new_worker(replace(SMALL, answer=100))
    with pytest.raises(LimitHit) as hit:
        worker.run(INSPECT, files(HONEST), NO_OPTIONS)
    assert hit.value.limit == "output"
    worker.close()


def test_a_worker_that_died_is_replaced(small: Worker) -> None:
    small.start()
    assert small._process is not None
    os.kill(small._process.pid, signal.SIGKILL)
    small._process.wait(timeout=300)
    assert small.run(INSPECT, files(HONEST), NO_OPTIONS) == honest_report()


@linux
@pytest.mark.parametrize(
    ("ending", "message", "error"),
    [
        ("sys.exit(3)", "failed with status 3, at no limit: a bug in toolfmt", ToolfmtError),
        ("sys.exit(0)", "failed with status 0, at no limit", ToolfmtError),
        ("os.abort()", "by signal 6, which memory", LimitHit),
        (
            "os.kill(os.getpid(), 24)",
            "rendering the template and reading what it renders took 1 seconds of CPU time",
            LimitHit,
        ),
    ],
)
def test_how_a_process_died_is_its_own_status_and_not_that_of_being_ended(
    ending: str, message: str, error: Any
) -> None:
    # It closes its pipes before it ends, as the end of a process does.
    late = f"import os, sys, time; os.close(0); os.close(1); time.sleep(0.2); {ending}"
    with subprocess.Popen([sys.executable, "-c", late], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.read() == b""
        died = started()._death(process)
        assert message in str(died)
        assert type(died) is error


def started() -> Worker:
    """A worker whose process has started."""
    worker = new_worker(SMALL)
    worker._ready = True
    return worker


def test_an_unusually_large_exit_status_is_reported_as_the_cause() -> None:
    class Ended:
        def wait(self, timeout: float | None = None) -> int:
            return 0xC0000005  # as Windows reports a process with an access violation

    died = started()._death(cast("Any", Ended()))
    assert type(died) is LimitHit
    assert "with 0xc0000005" in str(died)


def test_memory_that_runs_out_while_a_request_is_read_is_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    def none_left(request: bytes) -> Any:
        raise MemoryError

    monkeypatch.setattr("pickle.loads", none_left)
    with pytest.raises(LimitHit) as hit:
        pool._result(INSPECT, worker_module._answer(b""))
    assert hit.value.limit == "memory"


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"d",
        b"x[]",
        b"d[]",
        b"d" + b"[" * 100_000,
        b'd{"__class__": "os.system"}',
        b"d" + b"9" * 5_000,
        b"d\xff",
        b"l[1, 2, 3]",
        b'l["memory ran out", "memory"]',
        b"e[]",
        b"f[]",
        b'f["KeyError", "toolfmt/model/model.py:1 load"]',
        pickle.dumps(("done", os.system)),
    ],
)
def test_what_is_no_answer_is_a_crash(answer: bytes) -> None:
    with pytest.raises(LimitHit) as hit:
        pool._result(INSPECT, answer)
    assert hit.value.limit == "crash"


@pytest.mark.parametrize(
    ("name", "error"), [("BadTools", BadTools), ("LimitHit", ToolfmtError), ("annotations", ToolfmtError)]
)
def test_an_error_is_one_of_toolfmt(name: str, error: type[ToolfmtError]) -> None:
    with pytest.raises(ToolfmtError, match="what went wrong") as raised:
        pool._result(INSPECT, pool.ERROR + packed((name, "what went wrong", None, "other", "")))
    assert type(raised.value) is error


def test_an_internal_error_is_reported_with_its_location_and_ends_the_process(small: Worker) -> None:
    small.start()
    before = small._process
    with pytest.raises(FailedInProcess) as failed:
        small.run(EVALUATE, "__import__('toolfmt.formats.parser.parser', fromlist='x').Parser('json').feed(3)")
    assert failed.value.kind == "TypeError"
    assert [place.partition(":")[0] for place in failed.value.places][-1] == "toolfmt/formats/parser/parser.py"
    assert f"failed (TypeError at {failed.value.places[-1].split()[0]}), at no limit" in str(failed.value)
    assert before is not None
    assert before.poll() is not None
    assert small.run(EVALUATE, "'alive'") == "alive"


@pytest.mark.parametrize(
    ("kind", "place"),
    [
        ("os.system", "toolfmt/nowhere.py:1 f"),
        ("object", "toolfmt/../setup.py:1 f"),
        ("KeyboardInterrupt", "/etc/passwd:1 f"),
        ("print", "toolfmt/model/model.py:1 f\x1b[2J"),
        ("", "toolfmt/model/model.py:1"),
        ("KeyError\n", "toolfmt/model/model.pyx:1 f"),
    ],
)
def test_only_valid_parts_of_an_internal_error_are_reported(kind: str, place: str) -> None:
    with pytest.raises(FailedInProcess) as failed:
        pool._result(INSPECT, pool.BUG + packed((kind, (place, "toolfmt/model/model.py:1 load"))))
    assert (failed.value.kind, failed.value.places) == ("", ("toolfmt/model/model.py:1 load",))


def test_a_report_goes_through_unchanged() -> None:
    report = honest_report()
    assert pool._result(INSPECT, pool.DONE + packed(report)) == report


@pytest.mark.parametrize(
    "change",
    [
        {"path": 1},
        {"capabilities": {}},
        {"findings": (Finding("TF999", "none", "", None, ""),)},
        {"findings": ("TF001",)},
        {"strategy": "luck"},
        {"format": FormatDecision("no such format", "verified")},
        {"format": FormatDecision("hermes", "verified", variant="no such variant")},
    ],
)
def test_a_report_that_no_inspection_makes_is_a_crash(change: dict[str, Any]) -> None:
    report = replace(honest_report(), **change)
    with pytest.raises(LimitHit) as hit:
        pool._result(INSPECT, pool.DONE + packed(report))
    assert hit.value.limit == "crash"


@pytest.mark.parametrize("job", [INSPECT, PROFILE])
def test_a_profile_with_a_format_that_is_not_there_is_a_crash(job: Job[Any]) -> None:
    report = inspect_files(files(HONEST))
    sound = {INSPECT: report, PROFILE: report.profile}[job]
    wrong = replace(report.profile, format="no such format")
    assert pool._result(job, pool.DONE + packed(sound)) == sound
    with pytest.raises(LimitHit) as hit:
        pool._result(job, pool.DONE + packed({INSPECT: replace(report, profile=wrong), PROFILE: wrong}[job]))
    assert hit.value.limit == "crash"


@pytest.mark.sample(0)
@linux
def test_a_process_that_keeps_the_pipe_open_is_not_waited_for() -> None:
    worker = new_worker(replace(SMALL, time_limit=0.5))
    worker.start()
    first = worker._process
    assert first is not None
    # As if the job had started another, unknown process that holds the same pipe.
    holder = os.open(f"/proc/{first.pid}/fd/{_pipe_of_answers(first.pid)}", os.O_WRONLY)
    os.kill(first.pid, signal.SIGSTOP)
    with pytest.raises(WorkerUnavailable, match=r"no CPU time for 0\.5 seconds"):
        worker.run(INSPECT, files(HONEST), NO_OPTIONS)
    worker.limits = SMALL
    assert worker.run(INSPECT, files(HONEST), NO_OPTIONS) == honest_report()
    os.close(holder)
    worker.close()


def _pipe_of_answers(pid: int) -> int:
    """The file descriptor to which a worker writes its results: the last of its pipes."""
    descriptors = sorted(int(path.name) for path in Path(f"/proc/{pid}/fd").iterdir())
    return next(number for number in reversed(descriptors) if "pipe" in os.readlink(f"/proc/{pid}/fd/{number}"))


@pytest.mark.sample(0)
def test_a_request_that_is_not_read_is_given_up() -> None:
    worker = new_worker(replace(SMALL, time_limit=0.5))
    worker.start()
    assert worker._process is not None
    os.kill(worker._process.pid, signal.SIGSTOP)
    large = replace(files(HONEST), config={"text": "x" * 1_000_000})
    with pytest.raises(WorkerUnavailable, match=r"no CPU time for 0\.5 seconds"):
        worker.run(INSPECT, large, NO_OPTIONS)
    worker.limits = SMALL
    assert worker.run(INSPECT, files(HONEST), NO_OPTIONS) == honest_report()
    worker.close()


def test_stopping_ends_a_running_job_and_rejects_the_next(small: Worker) -> None:
    worker = new_worker(replace(SMALL, processor_seconds=60))
    worker.start()
    stopping = threading.Timer(0.3, worker.stop)
    stopping.start()
    with pytest.raises(WorkerUnavailable):
        worker.run(EVALUATE, SLEEP)
    with pytest.raises(ToolfmtError, match="was stopped"):
        worker.run(INSPECT, files(HONEST), NO_OPTIONS)


def test_what_cannot_be_handed_over_is_an_error_of_one_line(small: Worker) -> None:
    with pytest.raises(ToolfmtError, match="cannot be handed to the process"):
        small.run(INSPECT, replace(files(HONEST), config={"a": lambda: 1}), NO_OPTIONS)


def test_a_template_that_uses_random_has_the_same_report_every_time(model: Any) -> None:
    source = HONEST + "{{ range(1000000) | random }}"
    assert model(source).inspect() == model(source).inspect()


def test_where_an_object_lies_in_memory_is_no_part_of_a_report() -> None:
    for source in (HONEST + "{{ raise_exception }}", "{{ raise_exception(cycler('a') | string) }}"):
        report = str(inspect_files(files(source)).to_dict())
        assert " at 0x000" in report
        assert not re.search(" at 0x0*[1-9a-f]", report)


def test_what_is_nested_too_deep_for_a_pickle_is_an_error_of_one_line(small: Worker) -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(ToolfmtError, match="nested too deep"):
        small.run(INSPECT, replace(files(HONEST), config={"a": deep}), NO_OPTIONS)


def test_a_trusted_model_starts_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> Worker:
        raise AssertionError("a process was asked for")

    monkeypatch.setattr("toolfmt.model.model.shared_worker", fail)
    assert toolfmt.Model(files(HONEST), trusted=True).inspect() == honest_report()


def test_the_process_runs_the_same_toolfmt(tmp_path: Path) -> None:
    """Not another one that is installed: here a copy, which no path of the environment names."""
    copy = tmp_path / "copy" / "toolfmt"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    with (copy / "errors.py").open("a", encoding="utf-8") as module:
        module.write("\n\ndef home() -> str:\n    return __file__\n")
    program = f"""
import sys
sys.path.insert(0, {str(copy.parent)!r})
from toolfmt.errors import home
from toolfmt.model.sandbox.pool import Job, Worker
print(Worker().run(Job(home, str, lambda answer: None)))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path, check=True, timeout=300
    )
    assert done.stdout.strip() == str(copy / "errors.py")


@pytest.mark.sample(0)
def test_modules_of_the_current_directory_are_not_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "jinja2.py").write_text("raise SystemExit(7)", "utf-8")
    monkeypatch.chdir(tmp_path)
    worker = new_worker(SMALL)
    assert worker.run(INSPECT, files(HONEST), NO_OPTIONS) == honest_report()
    worker.close()
