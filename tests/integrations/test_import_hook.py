"""Code that runs after a module is imported."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from toolfmt.integrations.import_hook import after_import

NAME = "hooked_by_a_test"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.syspath_prepend(str(tmp_path))
    before = list(sys.meta_path)
    yield tmp_path
    sys.meta_path[:] = before
    sys.modules.pop(NAME, None)


def test_code_runs_once_after_the_first_import_that_succeeds(folder: Path) -> None:
    ran: list[bool] = []
    after_import(NAME, "a server", lambda: ran.append(hasattr(sys.modules[NAME], "done")))
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module(NAME)
    (folder / f"{NAME}.py").write_text("1 / 0", "utf-8")
    importlib.invalidate_caches()
    with pytest.raises(ZeroDivisionError):
        importlib.import_module(NAME)
    (folder / f"{NAME}.py").write_text("done = True  # now", "utf-8")
    assert find_spec(NAME) is not None
    assert ran == []
    module = importlib.import_module(NAME)
    assert ran == [True]
    assert type(module.__loader__).__module__ != after_import.__module__
    importlib.reload(module)
    assert ran == [True]


def test_code_runs_at_once_if_the_module_is_there(folder: Path) -> None:
    (folder / f"{NAME}.py").write_text("", "utf-8")
    importlib.import_module(NAME)
    ran: list[bool] = []
    after_import(NAME, "a server", lambda: ran.append(True))
    assert ran == [True]


def test_an_error_is_logged_and_the_import_succeeds(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    (folder / f"{NAME}.py").write_text("", "utf-8")

    def register() -> None:
        importlib.import_module(f"{NAME}.none")

    after_import(NAME, "a server", register)
    importlib.import_module(NAME)
    assert "toolfmt's parsers are not compatible with this a server; it starts without them" in caplog.text
