"""The hook for pre-commit: `pre-commit run` in a git repository that is made here.

The tests use the hook unchanged, except for its `language`, which they set to `system` (the `toolfmt` of these tests).
The long run lets pre-commit install this checkout, with its requirements, into a separate environment.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import depth
import pytest
import yaml  # type: ignore[import-untyped]  # PyYAML carries no types
from model_cases import MODELS

ROOT = Path(__file__).parents[2]
HOOKS = ROOT / ".pre-commit-hooks.yaml"
PACKAGE = ("pyproject.toml", "README.md", "LICENSE", "toolfmt")
BROKEN = "{{ raise_exception('no messages here') }}"


def git(folder: Path, *arguments: str) -> str:
    names = ("-c", "user.name=A Name", "-c", "user.email=a@name.invalid", "-c", "init.defaultBranch=main")
    done = subprocess.run(
        ["git", *names, *arguments], cwd=folder, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def committed(folder: Path) -> str:
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--no-verify", "-m", "all of it")
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture(scope="module")
def hook(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """This checkout as a separate repository, and its commit."""
    folder = tmp_path_factory.mktemp("toolfmt")
    for name in PACKAGE:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, folder / name)
    hooks = HOOKS.read_text("utf-8")
    if not depth.every:
        assert hooks.count("language: python\n") == 1
        hooks = hooks.replace("language: python\n", "language: system\n")
    (folder / HOOKS.name).write_text(hooks, "utf-8")
    return str(folder), committed(folder)


@pytest.fixture
def repository(tmp_path: Path, hook: tuple[str, str]) -> Path:
    """A repository with two models and other files, which uses the hook."""
    url, commit = hook
    folder = tmp_path / "models of mine"
    for name in ("json-frames", "xml-functions"):
        shutil.copytree(
            MODELS / name, folder / "models" / name, ignore=shutil.ignore_patterns("report.json", "prompt*")
        )
    (folder / "package.json").write_text("{}")
    (folder / "index.jinja").write_text("{{ page }}")
    config = {"repos": [{"repo": url, "rev": commit, "hooks": [{"id": "toolfmt-inspect"}]}]}
    (folder / ".pre-commit-config.yaml").write_text(json.dumps(config))  # JSON is YAML
    committed(folder)
    return folder


def run(folder: Path, *arguments: str) -> tuple[int, str]:
    """The exit status of `pre-commit run`, and its output."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        [sys.executable, "-m", "pre_commit", "run", "--color=never", "--verbose", *arguments],
        cwd=folder,
        env={**os.environ, "PATH": path, "PRE_COMMIT_HOME": str(folder.parent / "cache")},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    return done.returncode, done.stdout + done.stderr


def test_a_commit_is_checked_by_the_models_whose_files_change(repository: Path) -> None:
    model = repository / "models" / "json-frames"
    (repository / "package.json").write_text('{"name": "x"}')
    git(repository, "add", "-A")
    status, printed = run(repository)
    assert (status, "(no files to check)Skipped" in printed) == (0, True), printed

    for name in ("chat_template.jinja", "tokenizer_config.json"):
        (model / name).write_text((model / name).read_text("utf-8") + "\n", "utf-8")
    git(repository, "add", "-A")
    status, printed = run(repository)
    assert (status, "Passed" in printed) == (0, True), printed
    # Two files of one directory are one report, and no other model is inspected.
    assert (printed.count("json-frames   qwen3   chat_template.jinja"), printed.count("xml-functions")) == (1, 0)

    (model / "chat_template.jinja").write_text(BROKEN, "utf-8")
    git(repository, "add", "-A")
    status, printed = run(repository)
    assert (status, "Failed" in printed, "TF003" in printed, "no messages here" in printed) == (1, True, True, True), (
        printed
    )

    status, printed = run(repository, "--all-files")
    assert (status, re.findall(r"^models/[\w-]+|^[\w-]+(?=  )", printed, re.MULTILINE)[:3]) == (
        1,
        ["model", "json-frames", "xml-functions"],
    ), printed


@pytest.mark.parametrize(
    ("path", "matches"),
    [
        ("chat_template.jinja", True),
        ("a/b/chat_template.jinja", True),
        ("a/tokenizer_config.json", True),
        ("a/generation_config.json", True),
        ("a/special_tokens_map.json", True),
        ("a/chat_template.json", True),
        ("a/additional_chat_templates/rag.jinja", True),
        ("a/config.json", False),
        ("my_chat_template.jinja", False),
        ("a/chat_template.jinja.bak", False),
        ("templates/index.jinja", False),
        ("a/additional_chat_templates/old/rag.jinja", False),
        ("a/tokenizer.json", False),
    ],
)
def test_the_files_that_the_hook_is_for(path: str, matches: bool) -> None:
    (hook,) = yaml.safe_load(HOOKS.read_text("utf-8"))
    assert bool(re.search(hook["files"], path)) is matches


def test_the_hook_has_the_required_keys() -> None:
    (hook,) = yaml.safe_load(HOOKS.read_text("utf-8"))
    assert (hook["id"], hook["entry"], hook["language"], hook["require_serial"]) == (
        "toolfmt-inspect",
        "toolfmt inspect",
        "python",
        True,
    )
    assert hook.get("pass_filenames", True) is True
