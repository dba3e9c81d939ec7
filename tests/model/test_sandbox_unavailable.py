"""A machine that cannot run a template gives no verdict: no report, prompt, fix, comparison or measured response."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from model_cases import MODELS

import toolfmt
from toolfmt.cli.commands import main
from toolfmt.cli.measure.plan import Cell, Question
from toolfmt.cli.measure.prompts import Prompts
from toolfmt.cli.measure.scenarios import named
from toolfmt.cli.measure.subject import Sampling
from toolfmt.errors import LimitHit, TemplateError, WorkerUnavailable
from toolfmt.inspect.checks import keys_of
from toolfmt.model.batch import Inspector
from toolfmt.model.conversation import Conversation
from toolfmt.model.fix import fixed_copy
from toolfmt.model.jobs import COUNT, DERIVE, INSPECT, JUDGE, MAKE, PROFILE, new_worker
from toolfmt.model.sandbox.pool import Job, Limits, Worker

CLEAN, BROKEN, LATE = (str(MODELS / name) for name in ("json-frames", "in-conflict", "double-encoded"))
MESSAGES = [{"role": "user", "content": "hi"}]
REASON = "the worker process used no CPU time for 600 seconds; try again"


@pytest.fixture
def unavailable(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Make the worker unavailable for these jobs on this model, after some of them have run, a number of times."""
    run = Worker.run

    def fail_at(*jobs: Job[Any], model: str = "", after: int = 0, times: int = 1000) -> None:
        seen: list[object] = []

        def one(worker: Worker, job: Job[Any], *given: Any) -> Any:
            matching = next(
                (known for known in jobs if known.function in given or known.function == job.function), None
            )
            if matching is not None and model in repr(given[:4])[:100_000]:
                seen.append(matching)
                if after < len(seen) <= after + times:
                    raise WorkerUnavailable(REASON)
            return run(worker, job, *given)

        monkeypatch.setattr(Worker, "run", one)

    return fail_at


def cli(*words: str) -> Result:
    return CliRunner().invoke(main, words, env={"COLUMNS": None})


# --- the command line


def test_inspect_prints_one_line_and_no_report_for_one_model(unavailable: Callable[..., None]) -> None:
    unavailable(INSPECT)
    for more in (
        (),
        ("--json",),
        ("--output-format", "sarif"),
        ("--fail-on", "never"),
        ("--output-format", "markdown"),
    ):
        result = cli("inspect", LATE, *more)
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr == f"toolfmt: {LATE}: {REASON}\n"


@pytest.mark.sample(0)
@pytest.mark.parametrize(
    ("others", "options", "status"),
    [
        ((CLEAN,), (), 2),
        ((CLEAN, BROKEN), (), 1),
        ((CLEAN, BROKEN), ("--fail-on", "never"), 2),
        ((CLEAN, BROKEN), ("--ignore", "error"), 2),
    ],
)
def test_several_models_have_a_row_without_a_verdict(
    others: tuple[str, ...], options: tuple[str, ...], status: int, unavailable: Callable[..., None]
) -> None:
    unavailable(INSPECT, model="double-encoded")
    result = cli("inspect", LATE, *others, *options)
    row = next(line for line in result.stdout.splitlines() if line.startswith("double-encoded"))
    assert "  not inspected  " in row
    assert row.endswith(REASON)
    assert "; 1 path not inspected." in result.stdout
    assert (result.exit_code, result.stderr) == (status, f"toolfmt: {LATE}: {REASON}\n")
    first, *more = map(json.loads, cli("inspect", LATE, *others, *options, "--json").stdout.splitlines())
    assert first == {"path": LATE, "error": f"{LATE}: {REASON}"}
    assert [one["path"] for one in more] == list(others)
    run = json.loads(cli("inspect", LATE, *others, *options, "--output-format", "sarif").stdout)["runs"][0]
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] is False
    text = invocation["toolExecutionNotifications"][0]["message"]["text"]
    assert text == f"not inspected: {LATE}: {REASON}"
    assert (
        "**not inspected**: the worker process used no CPU"
        in cli("inspect", LATE, *others, "--output-format", "markdown").stdout
    )


@pytest.mark.sample(0)
def test_a_baseline_does_not_pass_if_a_model_is_not_inspected(tmp_path: Path, unavailable: Callable[..., None]) -> None:
    earlier = tmp_path / "earlier.json"
    earlier.write_text(cli("inspect", CLEAN, BROKEN, "--json").stdout, "utf-8")
    assert cli("inspect", CLEAN, BROKEN, "--baseline", str(earlier)).exit_code == 0
    unavailable(INSPECT, model="in-conflict")
    assert cli("inspect", CLEAN, BROKEN, "--baseline", str(earlier)).exit_code == 2
    assert cli("inspect", BROKEN, "--baseline", str(earlier)).exit_code == 2


@pytest.mark.sample(0)
def test_continue_inspects_models_that_were_not_inspected(tmp_path: Path, unavailable: Callable[..., None]) -> None:
    file = tmp_path / "reports.jsonl"
    words = ("inspect", CLEAN, LATE, "--json", "--continue", str(file))
    unavailable(INSPECT, model="double-encoded", after=1)
    cli("inspect", LATE)  # the first time is free
    assert cli(*words).exit_code == 2
    unavailable(model="none any more")
    assert cli(*words).exit_code == 0
    lines = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    assert [(one["path"], "error" in one) for one in sorted(lines, key=lambda one: "error" not in one)] == [
        (LATE, True),
        (CLEAN, False),
        (LATE, False),
    ]


def test_diff_and_render_print_one_line(unavailable: Callable[..., None], tmp_path: Path) -> None:
    request = tmp_path / "request.json"
    request.write_text(json.dumps({"messages": MESSAGES}), "utf-8")
    for jobs, words in (
        ((INSPECT,), ("diff", CLEAN, LATE)),
        ((PROFILE,), ("render", LATE, "--request", str(request))),
        ((MAKE,), ("render", LATE, "--request", str(request))),
        ((DERIVE,), ("dev", "derive", LATE)),
    ):
        unavailable(*jobs)
        result = cli(*words)
        assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
        assert REASON in result.stderr


@pytest.mark.sample(0)
def test_the_time_limit_reaches_the_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Limits] = []

    def seen(limits: Limits | None = None) -> Worker:
        worker = new_worker(limits)
        made.append(worker.limits)
        return worker

    monkeypatch.setattr("toolfmt.model.batch.new_worker", seen)
    assert cli("inspect", CLEAN, "--time-limit", "7.5").exit_code == 0
    assert cli("inspect", CLEAN, LATE, "--jobs", "2", "--time-limit", "8").exit_code == 0
    assert made == [Limits(time_limit=7.5), Limits(time_limit=8), Limits(time_limit=8)]


@pytest.mark.parametrize("given", ["0", "0.5", "-1", "nan", "inf", "soon", "1e7"])
def test_a_time_limit_is_a_number_of_seconds(given: str) -> None:
    result = cli("inspect", CLEAN, "--time-limit", given)
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert f"{given!r} is not a number of seconds from 1 and up to" in result.stderr


def test_a_trusted_template_has_no_time_limit() -> None:
    result = cli("inspect", CLEAN, "--trusted", "--time-limit", "5")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("toolfmt: --time-limit has no effect with --trusted; pass only one of them")


# --- from Python


def test_the_error_is_neither_a_template_error_nor_a_limit() -> None:
    assert not issubclass(WorkerUnavailable, (TemplateError, LimitHit))


def test_a_later_call_makes_the_profile(unavailable: Callable[..., None]) -> None:
    model = toolfmt.load(CLEAN)
    unavailable(PROFILE)
    with pytest.raises(WorkerUnavailable):
        model.render(MESSAGES)
    with pytest.raises(WorkerUnavailable):
        model.saved_profile()
    unavailable()
    assert model.profile == toolfmt.load(CLEAN).profile


@pytest.mark.parametrize(("code", "job", "after"), [("TF014", JUDGE, 0), ("TF014", INSPECT, 1), ("TF061", INSPECT, 1)])
def test_fix_raises_instead_of_deciding(
    code: str, job: Job[Any], after: int, unavailable: Callable[..., None], tmp_path: Path
) -> None:
    """It would be reported as one that helps nothing."""
    unavailable(job, after=after, times=1)
    with pytest.raises(WorkerUnavailable):
        fixed_copy(LATE, str(tmp_path / "copy"), Inspector(), lambda report: keys_of(code))
    assert not (tmp_path / "copy").exists()


def test_a_budget_raises_instead_of_guessing(unavailable: Callable[..., None]) -> None:
    """What would help is rendered without parts of the conversation."""
    model = toolfmt.load(CLEAN)
    long = [{"role": "user", "content": "one"}, {"role": "assistant", "content": "two"}, *MESSAGES]
    model.render(long)
    unavailable(MAKE, COUNT, after=1)
    with pytest.raises(WorkerUnavailable):
        model.render(long, context=1, tokenizer=Characters())


class Characters:
    """A tokenizer with a token for each character."""

    def encode(self, text: str, **options: Any) -> list[int]:
        return list(map(ord, text))


def test_a_measurement_raises_instead_of_counting_an_answer(unavailable: Callable[..., None]) -> None:
    prompts = Prompts(toolfmt.load(CLEAN), Sampling())
    unavailable(PROFILE, MAKE)
    with pytest.raises(WorkerUnavailable):
        prompts.of(Question(Cell("template", "auto", "neutral"), named(("forecast",))[0], 0))


def test_a_conversation_does_not_take_another_path(unavailable: Callable[..., None]) -> None:
    """The response is rendered again, to find where the template ends it."""
    conversation = Conversation(toolfmt.load(CLEAN), MESSAGES)
    conversation.prompt()
    conversation.answered("Hello.")
    conversation.add(*MESSAGES)
    unavailable(MAKE, after=1)
    with pytest.raises(WorkerUnavailable):
        conversation.prompt(raw=True)


@pytest.mark.sample(0)
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the memory of a process")
def test_a_memory_limit_of_the_machine_is_no_verdict(tmp_path: Path) -> None:
    (tmp_path / "chat_template.jinja").write_text("{{ messages[0].content }}", encoding="utf-8")
    code = (
        "import resource, sys; from toolfmt.cli.commands import main; "
        "resource.setrlimit(resource.RLIMIT_AS, (900 << 20, 900 << 20)); main(['inspect', sys.argv[1]])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=False, timeout=300
    )
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "memory limit of this process (ulimit -v) is too low" in done.stderr
