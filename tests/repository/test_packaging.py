"""What is built of the checkout, and the script that makes a release of it."""

from __future__ import annotations

import email
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from email.message import Message
from importlib.util import find_spec
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import toolfmt

ROOT = Path(__file__).parents[2]
NEEDED = ("build", "hatchling", "hatch_fancy_pypi_readme")
RELEASED = ("check_wheel_contents", "twine")


def needing(*modules: str) -> pytest.MarkDecorator:
    missing = [module for module in modules if find_spec(module) is None]
    return pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)}")


building = needing(*NEEDED)


def built(source: Path, folder: Path, *options: str) -> Path:
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), *options, str(source)]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=1200)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(ROOT, tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def wheel(dist: Path) -> zipfile.ZipFile:
    (file,) = dist.glob("*.whl")
    return zipfile.ZipFile(file)


@pytest.fixture(scope="module")
def metadata(wheel: zipfile.ZipFile) -> Message:
    (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    return email.message_from_string(wheel.read(name).decode())


@building
def test_the_wheel_holds_all_that_is_read_at_run_time(wheel: zipfile.ZipFile) -> None:
    packed = set(wheel.namelist())
    here = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "toolfmt").rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    assert {"toolfmt/py.typed", "toolfmt/cli/printing/page.css"} <= here
    cases = {f"toolfmt/{path.relative_to(ROOT).as_posix()}" for path in (ROOT / "corpus").rglob("*.txt")}
    cases = {case for case in cases if not case.startswith("toolfmt/corpus/models/")}
    assert len(cases) > 500
    missing = {*here, *cases, "toolfmt/corpus/tools.json"} - packed
    assert missing == set()
    assert {name for name in packed if name.startswith("toolfmt/corpus/models/")} == set()
    assert {name.split("/")[0] for name in packed} == {"toolfmt", f"toolfmt-{toolfmt.__version__}.dist-info"}


@building
def test_the_wheel_has_its_programs_its_plug_ins_and_its_licence(wheel: zipfile.ZipFile) -> None:
    info = f"toolfmt-{toolfmt.__version__}.dist-info"
    points = wheel.read(f"{info}/entry_points.txt").decode()
    assert "[console_scripts]\ntoolfmt = toolfmt.cli.commands:main\n" in points
    assert "[sglang.srt.plugins]\ntoolfmt = toolfmt.integrations.sglang_plugin:register\n" in points
    assert "[vllm.general_plugins]\ntoolfmt = toolfmt.integrations.vllm_plugin:register\n" in points
    assert wheel.read(f"{info}/licenses/LICENSE") == (ROOT / "LICENSE").read_bytes()


@building
def test_the_metadata_is_correct(metadata: Message) -> None:
    assert metadata["Version"] == toolfmt.__version__
    urls = dict(url.split(", ", 1) for url in metadata.get_all("Project-URL", []))
    assert list(urls) == ["Repository", "Documentation", "Changelog", "Issues"]
    assert all(url.startswith("https://") for url in urls.values())
    needed = {re.split(r"[<>=; ]", line)[0] for line in metadata.get_all("Requires-Dist", []) if "extra ==" not in line}
    assert needed == {"click", "huggingface-hub", "jinja2", "minijinja", "rich", "tokenizers"}


@building
def test_the_page_of_the_package_leads_nowhere_that_is_not_there(metadata: Message) -> None:
    page = metadata.get_payload()
    assert isinstance(page, str)
    text = re.sub(r"^```.*?^```", "", page, flags=re.MULTILINE | re.DOTALL)
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert page.startswith("# toolfmt\n")
    targets = re.findall(r"\]\(([^)]*)\)|(?:src|href|srcset)=.([^\"']*)", text)
    assert [target for pair in targets for target in pair if target and not target.startswith(("https://", "#"))] == []
    # Code stays as it is in the README.
    code = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
    assert code.findall(page) == code.findall((ROOT / "README.md").read_text("utf-8"))


@building
def test_the_sdist_builds_the_same_wheel(dist: Path, wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    (sdist,) = dist.glob("*.tar.gz")
    with tarfile.open(sdist) as packed:
        if hasattr(tarfile, "data_filter"):  # since CPython 3.11.4
            packed.extraction_filter = tarfile.data_filter
        packed.extractall(tmp_path / "source")
    (source,) = (tmp_path / "source").iterdir()
    (again,) = built(source, tmp_path / "dist", "--wheel").glob("*.whl")
    assert wheel.filename is not None
    assert again.read_bytes() == Path(wheel.filename).read_bytes()
    assert {"README.md", "LICENSE", "CHANGELOG.md"} <= {path.name for path in source.iterdir()}


def test_no_error_and_no_page_suggests_an_extra_of_toolfmt() -> None:
    files = [*(ROOT / "toolfmt").rglob("*.py"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").glob("*.py")]
    assert len(files) > 300
    for file in [*files, ROOT / "README.md", ROOT / "action.yml"]:
        assert re.findall(r"toolfmt\[[a-z]+[^\n]*", file.read_text("utf-8")) == [], file


# --- the versions that the tests use


def requirements(name: str, extras: set[str]) -> Iterator[Requirement]:
    """What a distribution needs here with these extras; nothing for one that is not installed."""
    try:
        lines = importlib.metadata.requires(name) or []
    except importlib.metadata.PackageNotFoundError:
        return
    for one in map(Requirement, lines):
        if one.marker is None or any(one.marker.evaluate({"extra": extra}) for extra in {"", *extras}):
            yield one


def needed(*extras: str) -> set[str]:
    """The names of everything that toolfmt with these extras installs here, as far as it is installed."""
    names: set[str] = set()
    seen, waiting = set(), [("toolfmt", frozenset(extras))]
    while waiting:
        name, needed_extras = waiting.pop()
        for one in requirements(name, set(needed_extras)):
            following = (canonicalize_name(one.name), frozenset(one.extras))
            names.add(following[0])
            if following not in seen:
                seen.add(following)
                waiting.append(following)
    return names - {"toolfmt"}


def test_the_constraints_pin_every_package_of_the_tests_and_the_site() -> None:
    lines = [Requirement(line) for line in (ROOT / "constraints.txt").read_text("utf-8").splitlines() if line[0] != "#"]
    assert [str(line) for line in lines if [one.operator for one in line.specifier] != ["=="]] == []
    names = needed("test", "docs")
    assert names >= {
        "pytest",
        "transformers",
        "numpy",
        "markupsafe",
        "mkdocs-material",
    }  # some are indirect dependencies
    assert names - {canonicalize_name(line.name) for line in lines} == set()


def test_install_commands_for_tests_and_site_use_the_constraints() -> None:
    for file in ("README.md", "CONTRIBUTING.md", ".ci/run", "scripts/try_pythons.py"):
        text = (ROOT / file).read_text("utf-8")
        commands = re.findall(r"^.*install.*\[(?:test|docs)[],].*$", text, re.MULTILINE)
        assert commands, file
        assert [one for one in commands if "constraints.txt" not in one and "--upgrade-strategy eager" not in one] == []


def test_what_users_install_has_no_upper_bound() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    ours = ("docs", "release", "test")
    extras = [lines for name, lines in project["optional-dependencies"].items() if name not in ours]
    for line in (line for lines in (project["dependencies"], *extras) for line in lines):
        assert {one.operator for one in Requirement(line).specifier} <= {">="}, line


# --- a release


def test_no_pattern_has_a_possessive_group() -> None:
    """Python 3.11.0 to 3.11.4 match them wrongly (CPython issue 106052); `(?>(?:…)*)` means the same."""
    group = re.compile(r"(?<!\\)\)(?:[*+?]|\{+[0-9A-Za-z_,]*\}+)\+")
    assert group.search('rf"(?:a){{1,2}}+"') and group.search('r"(?:a)*+"') and not group.search(r'r"\(\)*+"')
    modules = (ROOT / "toolfmt").rglob("*.py")
    assert not [path.relative_to(ROOT) for path in modules if group.search(path.read_text("utf-8"))]


def git(folder: Path, *words: str) -> None:
    names = ("-c", "user.name=A Name", "-c", "user.email=a@name.invalid")
    subprocess.run(["git", *names, *words], cwd=folder, check=True, capture_output=True, timeout=1200)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A small repository with the script, and what it and the build look at."""
    folder = tmp_path / "toolfmt"
    ignored = shutil.ignore_patterns("__pycache__", "models")
    for name in ("toolfmt", "corpus", "scripts"):
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    for name in ("pyproject.toml", "README.md", "LICENSE", ".gitignore"):
        shutil.copy(ROOT / name, folder / name)
    heading = f"# Changelog\n\n## {toolfmt.__version__} (2026-01-31)\n\n- All of it.\n"
    (folder / "CHANGELOG.md").write_text(heading, encoding="utf-8")
    git(tmp_path, "init", "-q", str(folder))
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--no-verify", "-m", "all of it")
    return folder


QUICK = ("--skip-tests", "--skip-site", "--skip-installed", "--no-isolation")


def release(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "scripts/release.py", *options]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=1200)


def failure(folder: Path, *options: str) -> str:
    done = release(folder, *options)
    assert done.returncode == 1, done.stdout + done.stderr
    assert not (folder / "dist").exists()
    return done.stderr


def test_no_release_without_git(checkout: Path) -> None:
    command = [sys.executable, "scripts/release.py", *QUICK]
    done = subprocess.run(
        command, cwd=checkout, env={"PATH": ""}, capture_output=True, text=True, check=False, timeout=1200
    )
    assert (done.returncode, done.stderr.splitlines()[1:]) == (1, [])
    assert done.stderr.startswith("release: git cannot be run (")


def test_no_release_of_what_is_not_committed(checkout: Path) -> None:
    (checkout / "toolfmt" / "new.py").write_text("", encoding="utf-8")
    assert failure(checkout, *QUICK).startswith("release: 1 files are changed or new (?? toolfmt/new.py …); commit")


@pytest.mark.parametrize(
    ("heading", "why"),
    [
        ("## 9.9.9 (2026-01-31)", f"has {toolfmt.__version__}, the newest heading of CHANGELOG.md 9.9.9"),
        (f"## {toolfmt.__version__} (unreleased)", "has no date"),
        (f"## {toolfmt.__version__}", "has no date"),
        ("", "the newest heading of CHANGELOG.md nothing"),
    ],
)
def test_no_release_whose_changelog_is_of_another(checkout: Path, heading: str, why: str) -> None:
    (checkout / "CHANGELOG.md").write_text(f"# Changelog\n\n{heading}\n", encoding="utf-8")
    git(checkout, "commit", "-qam", "another heading")
    assert why in failure(checkout, *QUICK)


def test_no_release_of_a_version_that_has_a_tag(checkout: Path) -> None:
    git(checkout, "tag", f"v{toolfmt.__version__}")
    assert f"the tag v{toolfmt.__version__} is there already" in failure(checkout, *QUICK)


@needing(*NEEDED, *RELEASED)
def test_no_release_where_the_tests_fail_or_no_site_is_built(checkout: Path) -> None:
    (checkout / ".ci").mkdir()
    (checkout / ".ci/run").write_text("#!/bin/sh\necho so it is\nexit 3\n", encoding="utf-8")
    (checkout / ".ci/run").chmod(0o755)
    git(checkout, "add", "-A")
    git(checkout, "commit", "-qm", "tests that fail")
    assert failure(checkout) == "release: .ci/run ended with status 3:\nso it is\n"
    assert "there is no mkdocs.yml" in failure(checkout, "--skip-tests")


@needing(*NEEDED, *RELEASED)
def test_a_release_is_built_and_names_what_was_not_checked(checkout: Path) -> None:
    done = release(checkout, *QUICK)
    assert done.returncode == 0, done.stdout + done.stderr
    made = sorted(file.name for file in (checkout / "dist").iterdir())
    version = toolfmt.__version__
    assert made == [f"toolfmt-{version}-py3-none-any.whl", f"toolfmt-{version}.tar.gz"]
    lines = done.stdout.splitlines()
    assert [line for line in lines if line.startswith("NOT CHECKED: ")] == [
        "NOT CHECKED: tests, lint and types (.ci/run) (--skip-tests)",
        "NOT CHECKED: the site is built (--skip-site)",
        "NOT CHECKED: the wheel works in a fresh environment (--skip-installed)",
    ]
    assert lines[-1] == "python -m twine upload dist/*"
    again = release(checkout, *QUICK)
    assert (again.returncode, "is not an empty folder" in again.stderr) == (1, True)


@needing(*NEEDED, *RELEASED)
def test_no_release_of_an_sdist_that_lacks_something(checkout: Path) -> None:
    project = (checkout / "pyproject.toml").read_text("utf-8")
    before, sdist, rest = project.partition("[tool.hatch.build.targets.sdist]")
    lacking = rest.replace('exclude = ["/corpus/models"]', 'exclude = ["/corpus/models", "/toolfmt/py.typed"]', 1)
    assert lacking != rest
    (checkout / "pyproject.toml").write_text(before + sdist + lacking, encoding="utf-8")
    git(checkout, "commit", "-qam", "an sdist without py.typed")
    done = release(checkout, *QUICK)
    assert (done.returncode, "the wheel of the sdist is not that of the checkout" in done.stderr) == (1, True)
