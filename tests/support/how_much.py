"""What a run says of itself: how many of how many cases it takes and how the others are run, before its first test and
at its end. Where workers run the tests they have counted; the process that prints has collected nothing itself.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sampling import left_out, taken_by

NAME = "how_much"
OTHERS = {
    "usual": "; --rest runs the others, --thorough all, --exhaustive looks further",
    "rest": " that the usual run leaves out or does in part",
    "thorough": "; --exhaustive looks further",
    "exhaustive": "",
}


class HowMuch:
    """The plugin of one process of a run; `kind` is its depth."""

    def __init__(self, config: pytest.Config, kind: str) -> None:
        self.kind = kind
        self.folder = tempfile.TemporaryDirectory(prefix="toolfmt-tests-")
        given: str | None = getattr(config, "workerinput", {}).get(NAME)
        self.file = Path(given or Path(self.folder.name) / "counted")
        self.collected, self.left_out = list[pytest.Item](), list[pytest.Item]()
        self.is_said = False
        config.pluginmanager.register(self, NAME)

    def take(self, items: list[pytest.Item]) -> list[pytest.Item]:
        """What this run takes of what was collected; counted for the process that prints."""
        self.collected = list(items)
        taken = taken_by(self.kind, self.collected)
        self.left_out = left_out(self.collected, taken)
        written = self.file.with_name(f"by-{os.getpid()}")
        written.write_text(json.dumps([len(taken), len(self.left_out)]), encoding="utf-8")
        written.replace(self.file)  # every worker says the same; half of it is never read
        return taken

    @property
    def counted(self) -> tuple[int, int]:
        """What is taken, and what is left out."""
        taken, left_out = json.loads(self.file.read_text(encoding="utf-8"))
        return taken, left_out

    @property
    def line(self) -> str:
        taken, left_out = self.counted
        return f"{self.kind} run: {taken:,} of {taken + left_out:,} cases{OTHERS[self.kind]}"

    def pytest_report_collectionfinish(self) -> str | None:
        return self.line if self.file.is_file() else None  # not where a named file is not there: pytest says that

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput[NAME] = str(self.file)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: Any) -> None:
        if not self.is_said:
            self.is_said = True
            node.config.get_terminal_writer().line(f"\n{self.line}")

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if not self.file.is_file():
            return  # nothing was collected
        if self.is_said:  # by workers: pytest's own last line does not know what they leave out
            terminalreporter.stats.setdefault("deselected", []).extend([SimpleNamespace()] * self.counted[1])
        terminalreporter.write_line(self.line)
