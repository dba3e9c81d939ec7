"""The command line in this process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from toolfmt.cli.commands import main


def run(*arguments: str, input: str | bytes = b"") -> Result:
    return CliRunner().invoke(main, arguments, input=input, prog_name="toolfmt")


def file(directory: Path, value: Any, name: str = "given.json") -> str:
    path = directory / name
    path.write_text(value if isinstance(value, str) else json.dumps(value), "utf-8")
    return str(path)
