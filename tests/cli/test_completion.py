"""The completions that a shell gets, and the list of commands that `toolfmt --help` prints."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from toolfmt.cli.commands import main
from toolfmt.cli.completion import Completed
from toolfmt.cli.group import Commands
from toolfmt.formats import formats

_COMPLETED = re.compile("FILE|DIR|MODEL|FORMAT|CODE|TARGET")


def items(*words: str) -> list[tuple[str, str]]:
    """Kind and value of the completions for the last word."""
    environment = {"_TOOLFMT_COMPLETE": "bash_complete", "COMP_WORDS": " ".join(["toolfmt", *words])}
    environment["COMP_CWORD"] = str(len(words))
    done = subprocess.run(
        [sys.executable, "-m", "toolfmt"],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return [(kind, value) for kind, _, value in (line.partition(",") for line in done.stdout.splitlines() if line)]


def commands(group: click.Group = main) -> Iterator[click.Command]:
    for command in group.commands.values():
        yield command
        if isinstance(command, click.Group):
            yield from commands(command)


def test_commands_and_the_values_of_options() -> None:
    assert items("ren") == [("plain", "render")]
    assert items("dev", "corpus", "e") == [("plain", "export")]
    assert items("inspect", "--fail-on", "n") == [("plain", "note"), ("plain", "never")]
    assert ("plain", "--baseline") in items("inspect", "--b")


@pytest.mark.parametrize(
    "words", [["parse", "--format"], ["formats"], ["dev", "fuzz"], ["grammar"], ["dev", "fuzz", "--format"]]
)
def test_formats_by_name_and_alias_else_files(words: list[str]) -> None:
    expected = [name for format in formats() for name in (format.name, *format.aliases) if name.startswith("glm")]
    assert "glm4" in expected
    assert items(*words, "glm") == [("plain", name) for name in expected]
    assert items(*words, "./mine") == [("file", "./mine")]


def test_findings_by_code_and_name() -> None:
    assert items("explain", "TF013") == [("plain", "TF013")]
    assert items("explain", "tf013") == [("plain", "TF013")]
    assert items("explain", "calls-dr") == [("plain", "calls-dropped")]
    assert items("explain", "nothing-so") == []


def test_the_last_of_several_findings() -> None:
    assert items("inspect", "--select", "TF001,calls-dr") == [("plain", "TF001,calls-dropped")]
    assert items("inspect", "--ignore", "TF01")[:2] == [("plain", "TF010"), ("plain", "TF011")]


@pytest.mark.parametrize("words", [["inspect"], ["inspect", "a"], ["diff", "a"], ["render"], ["parse", "--tools"]])
def test_files(words: list[str]) -> None:
    assert items(*words, "m") == [("file", "m")]


def test_output_formats_and_their_files() -> None:
    assert items("inspect", "--output-format", "j") == [("plain", "json"), ("plain", "junit")]
    assert items("inspect", "--output-format", "json=m") == [("file", "m")]


def test_directories() -> None:
    assert items("inspect", "--output", "m") == [("dir", "m")]


def test_whatever_takes_a_file_a_model_a_format_or_a_code_is_completed() -> None:
    """Every metavar is in `toolfmt/cli/completion.py`."""
    named = [(command.name, param) for command in commands() for param in command.params if param.metavar]
    completable = [(name, param) for name, param in named if _COMPLETED.search(param.metavar or "")]
    assert len(completable) > 20
    assert [(name, param.metavar) for name, param in completable if not isinstance(param.type, Completed)] == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_for_a_shell(shell: str) -> None:
    program = shutil.which("toolfmt", path=os.path.dirname(sys.executable))
    if program is None:
        pytest.skip("the program toolfmt is not installed beside this Python")
    environment = {**os.environ, "_TOOLFMT_COMPLETE": f"{shell}_source"}
    done = subprocess.run([program], env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0
    assert f"_TOOLFMT_COMPLETE={shell}_complete" in done.stdout


def test_bash_completes_with_its_script() -> None:
    program = shutil.which("toolfmt", path=os.path.dirname(sys.executable))
    bash = shutil.which("bash")
    if program is None or bash is None:
        pytest.skip("bash, or the program toolfmt beside this Python, is missing")
    typed = 'COMP_WORDS=(toolfmt explain calls-dr); COMP_CWORD=2; _toolfmt_completion toolfmt; echo "${COMPREPLY[@]}"'
    script = f'PATH="{os.path.dirname(program)}:$PATH"; eval "$(_TOOLFMT_COMPLETE=bash_source toolfmt)"; {typed}'
    done = subprocess.run([bash, "-c", script], capture_output=True, text=True, check=False, timeout=300)
    assert (done.stdout, done.stderr) == ("calls-dropped\n", "")


# --- toolfmt --help


def helped(width: int, *words: str) -> str:
    done = CliRunner().invoke(main, [*words, "--help"], terminal_width=width)
    assert done.exit_code == 0
    return done.output


@pytest.mark.parametrize("words", [[], ["dev"], ["dev", "corpus"]])
def test_no_command_is_described_by_half_a_sentence(words: list[str]) -> None:
    help_text = helped(80, *words)
    assert "..." not in help_text.replace("COMMAND [ARGS]...", "")
    assert max(map(len, help_text.splitlines())) <= 80


def test_every_command_is_listed_once_and_what_one_begins_with_first() -> None:
    lines = [line.split()[0] for line in helped(80).split("exit.\n")[-1].splitlines() if line.startswith("  ")]
    prompts = ["render", "parse", "grammar", "training"]
    assert lines == ["inspect", "explain", "diff", "doctor", "measure", *prompts, "formats", "report-bug", "dev"]


def test_the_commands_of_developers_are_below_dev() -> None:
    dev = main.commands["dev"]
    assert isinstance(dev, click.Group)
    assert sorted(dev.commands) == ["corpus", "derive", "fuzz", "new-finding", "new-format"]
    result = CliRunner().invoke(main, ["fuzz", "glm4"])
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert "No such command 'fuzz'" in result.stderr


def test_a_command_without_a_section_is_listed_last_and_a_hidden_one_not() -> None:
    names = ("a", "b", "hidden")
    given = {name: click.Command(name, hidden=name == "hidden") for name in names}
    other = Commands("other", commands=given, sections={"First": ["b", "not-there"]})
    help_text = CliRunner().invoke(other, ["--help"]).output
    assert re.findall(r"^(\w+):$|^  (\w+) *$", help_text, re.M)[-4:] == [
        ("First", ""),
        ("", "b"),
        ("Commands", ""),
        ("", "a"),
    ]
