"""Recorded outputs in table engines: the examples run unchanged, and every message is `parse_many`'s."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import toolfmt

EXAMPLES = Path(__file__).parents[2] / "examples"
TOOLS: list[Any] = [{"name": "f", "parameters": {"type": "object", "properties": {"zip": {"type": "string"}}}}]
CALL = "<think>Hm.</think>Look.<tool_call>f\n<arg_key>zip</arg_key>\n<arg_value>{}</arg_value>\n</tool_call>"
TEXTS = [*(CALL.format(number) for number in range(90)), "", "Fine. 🦀\n", None, "<tool_call>f\n<arg_key>zi"] * 3
"""Calls, plain text, a truncated one, and a row without an output."""


def expected() -> list[dict[str, Any]]:
    """The rows as they are read: each with its number, its text and its message."""
    messages = iter(toolfmt.parse_many([text for text in TEXTS if text is not None], "glm4", tools=TOOLS))
    read = [None if text is None else next(messages).to_dict() for text in TEXTS]
    return [{"row": row, "text": text, "message": read[row]} for row, text in enumerate(TEXTS)]


def with_messages(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row | {"message": row["message"] and json.loads(row["message"])} for row in rows]


def read_rows_module() -> Any:
    spec = importlib.util.spec_from_file_location("read_rows", EXAMPLES / "read_rows.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_missing_column_is_reported_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    read_rows_module().check_key(["row", "text"], "text")
    with pytest.raises(SystemExit, match="2"):
        read_rows_module().check_key(["row", "text"], "output")
    assert capsys.readouterr().err == "no row has 'output': --text-key is one of 'row', 'text'\n"


def test_a_batch_gets_the_messages_that_its_texts_make() -> None:
    module = read_rows_module()
    rows = {"row": range(len(TEXTS)), "text": TEXTS}
    columns = module.read_rows(rows, "glm4", TOOLS, "text")
    read = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    assert expected() == with_messages(read)
    rejected = [row["message"]["rejected"] for row in expected() if row["message"] and row["message"]["rejected"]]
    assert [one["reason"] for (one,) in rejected] == ["incomplete_output"] * 3


def run_example(example: str, directory: Path, *options: str) -> tuple[subprocess.CompletedProcess[str], Path]:
    """Run the example over the texts; return the path of its output."""
    recorded, tools, output = (directory / name for name in ("recorded.jsonl", "tools.json", "messages.jsonl"))
    lines = (json.dumps({"row": row, "text": text}) for row, text in enumerate(TEXTS))
    recorded.write_text("\n".join(lines), encoding="utf-8")
    tools.write_text(json.dumps(TOOLS), encoding="utf-8")
    environment = os.environ | {"HF_HOME": str(directory / "hf"), "PYTHONPATH": str(EXAMPLES.parent)}
    command = [sys.executable, str(EXAMPLES / example), str(recorded), str(output), "--format", "glm4"]
    command += ["--tools", str(tools), *options]
    done = subprocess.run(
        command, env=environment, cwd=directory, capture_output=True, text=True, check=False, timeout=1200
    )
    return done, output


def run(example: str, directory: Path) -> list[dict[str, Any]]:
    """The example's output, in the order of the rows; it reports a missing column in one line."""
    done, _ = run_example(example, directory, "--text-key", "answer")
    message = "no row has 'answer': --text-key is one of 'row', 'text'"
    assert (done.returncode, done.stderr.splitlines()[-1], "Traceback" in done.stderr) == (2, message, False)
    done, output = run_example(example, directory)
    assert done.returncode == 0, done.stderr[-2000:]
    files = sorted(output.iterdir()) if output.is_dir() else [output]
    written = [json.loads(line) for file in files for line in file.read_text("utf-8").splitlines()]
    return with_messages(sorted(written, key=lambda row: int(row["row"])))


def test_datasets_reads_them_in_two_processes(tmp_path: Path) -> None:
    pytest.importorskip("datasets", reason="datasets is large, and CI has no need of it")
    assert expected() == run("with_datasets.py", tmp_path)


def test_ray_reads_them_on_two_processors(tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="Ray is large, and CI has no need of it")
    assert expected() == run("with_ray.py", tmp_path)
