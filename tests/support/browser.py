"""A Chromium driven over its DevTools protocol through two pipes: only the standard library is needed.

`browser()` starts one with its own profile, or skips the test if none is installed; `Browser.open` shows a page of a
given width in light or dark, `evaluate` runs an expression, `complaints` are the messages of its console.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_FLAGS = (
    "--headless",
    "--no-sandbox",  # the sandbox does not start as root; the only pages opened are those that the tests wrote
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--no-first-run",
    "--remote-debugging-pipe",
)
_SECONDS = 60.0
# The protocol's pipes are the file descriptors 3 and 4, whatever numbers they have here.
_LAUNCH = """
import fcntl, os, sys
pipes = [fcntl.fcntl(int(number), fcntl.F_DUPFD, 10) for number in sys.argv[1:3]]
for place, pipe in zip((3, 4), pipes):
    os.dup2(pipe, place)
os.execv(sys.argv[3], sys.argv[3:])
"""


class Browser:
    """One page of a running Chromium."""

    def __init__(self, command_fd: int, answers: int) -> None:
        self._command_fd, self._answers = command_fd, answers
        self._number = 0
        self._session: str | None = None
        self._waiting = b""
        self.events: list[dict[str, Any]] = []
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.send(f"{domain}.enable")

    def open(self, file: Path, width: int, height: int, scheme: Literal["light", "dark"]) -> None:
        """Show a file; returns when it has loaded."""
        self.send(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        self.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.events.clear()
        self.send("Page.navigate", url=file.as_uri())
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self._receive()

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page."""
        answer = self.send("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def complaints(self) -> list[str]:
        """The messages of the console and the log since the page was opened."""
        methods = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")
        return [json.dumps(event["params"]) for event in self.events if event["method"] in methods]

    def screenshot(self, file: Path) -> None:
        """The whole page as a picture."""
        picture = self.send("Page.captureScreenshot", captureBeyondViewport=True)["data"]
        file.write_bytes(base64.b64decode(picture))

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """The result of a command of the protocol."""
        self._number += 1
        number = self._number
        message: dict[str, Any] = {"id": number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        sent = json.dumps(message).encode() + b"\0"
        while sent:
            sent = sent[os.write(self._command_fd, sent) :]
        while True:
            answer = self._receive()
            if answer.get("id") == number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                result: dict[str, Any] = answer["result"]
                return result

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._waiting:
            ready, _, _ = select.select([self._answers], [], [], _SECONDS)
            assert ready, "the browser no longer responds"
            data = os.read(self._answers, 1 << 16)
            assert data, "the browser has gone"
            self._waiting += data
        line, _, self._waiting = self._waiting.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        if "method" in message:
            self.events.append(message)
        return message


@contextmanager
def browser() -> Iterator[Browser]:
    """A browser that ends with the block; skips the test if no Chromium is on the path."""
    program = next(filter(None, map(shutil.which, _NAMES)), None)
    if program is None:
        pytest.skip(f"no Chromium on the path (looked for {', '.join(_NAMES)})")
    child_command_fd, command_fd = os.pipe()
    answers, answered = os.pipe()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = subprocess.Popen(
            [
                sys.executable,
                "-c",
                _LAUNCH,
                str(child_command_fd),
                str(answered),
                program,
                *_FLAGS,
                f"--user-data-dir={profile}",
            ],
            pass_fds=(child_command_fd, answered),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(child_command_fd)
        os.close(answered)
        try:
            yield Browser(command_fd, answers)
        finally:
            os.close(command_fd)
            os.close(answers)
            with suppress(subprocess.TimeoutExpired):
                process.wait(5)  # it ends by itself when its pipe closes
            process.kill()
            process.wait(timeout=300)
