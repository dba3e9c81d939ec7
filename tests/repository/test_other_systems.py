"""What macOS and Windows lack or do differently: removed or replaced here, because the tests run on Linux.

`WINDOWS` is a `sitecustomize` that every Python process of a run imports first, including the worker for templates.
"""

from __future__ import annotations

import errno
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from toolfmt._util import shell
from toolfmt.cli import group
from toolfmt.cli.commands import main
from toolfmt.cli.printing.sarif import relative
from toolfmt.errors import BadModelDirectory
from toolfmt.model.batch import place_key
from toolfmt.templates.files import safe_open as opening

if TYPE_CHECKING:
    import click

ROOT = Path(__file__).parents[2]
MODEL = "corpus/models/double-encoded"
ANSWER = 'Gleich.\r\n<tool_call>\r\n{"name": "f", "arguments": {"a": "ü\r\n"}}\r\n</tool_call>'.replace('ü\r\n"', 'ü"')
WINDOWS = """
import sys

# Other packages choose their code by the platform when they are imported, and that for Windows does not run here.
import asyncio, click, click._compat, click.shell_completion, concurrent.futures.process, ctypes, multiprocessing
import huggingface_hub, jinja2, minijinja, os, pathlib, platform, rich.console, rich.progress, rich.table, select
import shutil, signal, subprocess, sysconfig, tempfile, tokenizers, urllib.request, uuid

sysconfig.get_config_vars()

for module in ("fcntl", "grp", "pwd", "resource", "termios"):
    sys.modules[module] = None
taken = {  # os.kill and SIGKILL stay: the subprocess module of this system needs them
    os: "O_NONBLOCK O_NOCTTY O_CLOEXEC O_ASYNC fork killpg register_at_fork setsid getuid pidfd_open",
    select: "poll epoll",
    signal: "SIGIO SIGXCPU SIGALRM SIGHUP pthread_sigmask",
}
for module, names in taken.items():
    for name in names.split():
        if hasattr(module, name):
            delattr(module, name)
sys.platform = "win32"


def without_proc(path, *, readlink=os.readlink, **more):
    if str(path).startswith("/proc"):
        raise FileNotFoundError(path)
    return readlink(path, **more)


os.readlink = without_proc
"""


@pytest.fixture
def windows(tmp_path: Path) -> dict[str, str]:
    """An environment in which Python is as bare as on Windows."""
    folder = tmp_path / "windows"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(WINDOWS, encoding="utf-8")
    return {"PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])}


def run(environment: dict[str, str], *words: str, given: bytes = b"") -> tuple[int, bytes, bytes]:
    command = [sys.executable, "-m", "toolfmt", *words]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "100", **environment}
    done = subprocess.run(
        command, input=given, env=environment, cwd=ROOT, capture_output=True, check=False, timeout=300
    )
    # wasmtime, which runs llama.cpp's engine, chooses its library by the name of the system.
    printed = re.sub(rb', \{"engine": "llama\.cpp".*?"differences": \[\]\}', b"", done.stdout)
    return done.returncode, re.sub(rb'"seconds": [0-9.]+', b"", printed), done.stderr


def test_the_simulated_windows_lacks_the_posix_modules(windows: dict[str, str]) -> None:
    code = (
        "import sys, os, select; print(sys.platform, hasattr(os, 'killpg'), hasattr(select, 'poll')); import resource"
    )
    environment = {**os.environ, **windows}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert (done.returncode, done.stdout) == (1, "win32 False False\n")
    assert "import of resource halted" in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("inspect", MODEL),
        ("inspect", "--json", MODEL, "corpus/models/glm4-key-value"),
        ("render", MODEL, "--request", f"{MODEL}/request.json"),
        ("parse", "--format", "json", "-"),
        ("parse", "--format", "json", "--output", "message"),
        ("explain", "TF011"),
        ("dev", "fuzz", "glm4", "--outputs", "5", "--json"),
    ],
    ids=lambda words: words[0],
)
def test_on_windows_the_same_is_printed(windows: dict[str, str], words: tuple[str, ...]) -> None:
    here = run({}, *words, given=ANSWER.encode())
    assert here[0] == 0
    assert run(windows, *words, given=ANSWER.encode()) == here


def test_a_template_that_never_ends_is_ended_on_windows(windows: dict[str, str], tmp_path: Path) -> None:
    """The system has no limits there, so that the time limit counts from the start of the job."""
    code = """
from toolfmt.model.sandbox.pool import Job, Limits
from toolfmt.model.jobs import new_worker, PROFILE
from toolfmt.templates import load_files
from toolfmt.errors import WorkerUnavailable
import sys
worker = new_worker()
print(worker.run(Job(eval, int, lambda answer: None), "6 * 7"))
worker.limits = Limits(time_limit=3.0)
try:
    worker.run(PROFILE, load_files(sys.argv[1]))
except WorkerUnavailable as error:
    print(str(error).partition(";")[0])
"""
    loop = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"
    (tmp_path / "chat_template.jinja").write_text(loop, encoding="utf-8")
    command = [sys.executable, "-c", code, str(tmp_path)]
    done = subprocess.run(
        command, env={**os.environ, **windows}, capture_output=True, text=True, check=False, timeout=300
    )
    assert (done.stdout, done.stderr[-400:]) == ("42\nthe job did not finish within 3 seconds\n", "")


def test_line_ends_of_an_answer_are_its_own(windows: dict[str, str]) -> None:
    status, printed, _ = run(windows, "parse", "--format", "json", "--output", "message", given=b"a\r\nb\n")
    assert (status, json.loads(printed)["content"]) == (0, "a\r\nb\n")
    assert b"\r" not in printed


# --- texts for shells and code hosts


@pytest.mark.parametrize(
    ("place", "typed"),
    [
        (r"C:\models\Qwen3-0.6B", r"C:\models\Qwen3-0.6B"),
        (r"C:\my models\it's & more", r'"C:\my models\it' + "'" + r's & more"'),
        ("-x", "./-x"),
    ],
)
def test_a_path_for_a_shell_of_windows(monkeypatch: pytest.MonkeyPatch, place: str, typed: str) -> None:
    monkeypatch.setattr(shell, "os", SimpleNamespace(name="nt"))
    assert shell.argument(place) == typed
    assert shell.words(f"python {typed} --fast") == ["python", place.replace("-x", "./-x"), "--fast"]


def test_a_command_is_taken_apart_as_the_shell_of_the_system_does(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shell.words(r"node 'a b.js' c\ d") == ["node", "a b.js", "c d"]
    monkeypatch.setattr(shell, "os", SimpleNamespace(name="nt"))
    assert shell.words(r'"C:\Program Files\node.exe" a\b.js') == [r"C:\Program Files\node.exe", r"a\b.js"]


def test_a_place_on_another_drive_is_called_by_its_last_part(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def raise_value_error(path: str) -> str:
        raise ValueError("path is on mount 'D:', start on mount 'C:'")

    monkeypatch.setattr(os.path, "relpath", raise_value_error)
    assert relative(str(tmp_path)) == tmp_path.name


def test_a_path_is_compared_without_case_if_the_system_ignores_case(monkeypatch: pytest.MonkeyPatch) -> None:
    assert place_key("Models/a") != place_key("models/A")
    monkeypatch.setattr(os.path, "normcase", str.lower)
    assert place_key("Models/a") == place_key("models/A")


# --- what the system calls things


def ended_pipe() -> None:
    raise OSError(errno.EINVAL, "Invalid argument")


def test_a_pipe_without_a_reader_is_not_an_error_on_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    assert group._status_of(ended_pipe) == 2
    monkeypatch.setattr(group, "sys", SimpleNamespace(platform="win32", stdout=None))
    assert group._status_of(ended_pipe) == 0


@pytest.fixture
def typed_in_small_letters(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A directory whose name macOS reports in upper case: typed in lower case, it is the same."""
    fcntl = pytest.importorskip("fcntl", reason="macOS has fcntl, this system does not")
    descriptors, readlink = Path("/proc/self/fd"), os.readlink
    if not descriptors.is_dir():
        pytest.skip("this system does not tell where an open file lies in the way that is used here")

    def real_case(descriptor: int, command: int, space: bytes) -> bytes:
        real = os.fsencode(readlink(descriptors / str(descriptor)))
        return real.replace(b"/qwen", b"/QWEN").ljust(len(space), b"\0")

    def without_proc(path: str) -> str:
        if str(path).startswith("/proc"):
            raise FileNotFoundError(path)
        return readlink(path)

    monkeypatch.setattr(fcntl, "fcntl", real_case)
    monkeypatch.setattr(opening, "sys", SimpleNamespace(platform="darwin"))
    monkeypatch.setattr(os, "readlink", without_proc)
    (tmp_path / "qwen").mkdir()
    return tmp_path / "qwen"


def test_a_directory_typed_in_other_letters_than_the_disk_has(typed_in_small_letters: Path) -> None:
    (typed_in_small_letters / "a.jinja").write_bytes(b"x")
    with opening.opened(typed_in_small_letters / "a.jinja", typed_in_small_letters) as file:
        assert file.read() == b"x"


def test_a_link_out_of_such_a_directory_is_not_followed(typed_in_small_letters: Path) -> None:
    (typed_in_small_letters.parent / "b.jinja").write_bytes(b"x")
    (typed_in_small_letters / "a.jinja").symlink_to(typed_in_small_letters.parent / "b.jinja")
    with pytest.raises(BadModelDirectory, match="leads out of"):
        opening.opened(typed_in_small_letters / "a.jinja", typed_in_small_letters)


def test_every_help_can_be_written_in_any_code_page() -> None:
    """click writes it in the system's encoding, which on Windows may have no non-ASCII characters."""

    def check_help(command: click.Command, *words: str) -> None:
        text = CliRunner().invoke(main, [*words, "--help"]).output
        assert text.isascii(), words
        for name, one in getattr(command, "commands", {}).items():
            check_help(one, *words, name)

    check_help(main)
