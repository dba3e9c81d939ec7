"""Repository ids: the content of the hub cache, and fetching. The hub is a server in this process (HF_ENDPOINT)."""

from __future__ import annotations

import hashlib
import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from gguf_files import TEMPLATE, written

import toolfmt
from toolfmt.errors import BadModelDirectory
from toolfmt.templates import load_files, model_places
from toolfmt.templates.files.repository import Repository, cache, is_offline, repository, snapshots

COMMIT, OTHER = "a" * 40, "b" * 40
FILES = {"config.json": '{"model_type": "qwen3"}', "chat_template.jinja": TEMPLATE}


class Hub(ThreadingHTTPServer):
    """A hub with public repositories (`{id: {file: text}}`), a gated one, and a list of the requested files.

    The paths and headers are those that huggingface_hub requests and reads (its hf_api.py and file_download.py).
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.repositories: dict[str, dict[str, str]] = {}
        self.gated: set[str] = set()
        self.fetched: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Answer(BaseHTTPRequestHandler):
    server: Hub

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        parts = self.path.partition("?")[0].strip("/").split("/")
        if parts[:2] == ["api", "models"]:
            self.about("/".join(parts[2:4]), parts[5] if len(parts) > 5 else "main")
        else:
            self.file("/".join(parts[:2]), parts[3], "/".join(parts[4:]))

    def about(self, name: str, revision: str) -> None:
        files = self.server.repositories.get(name)
        if files is None:
            self.send(404, error="RepoNotFound")
        elif revision not in ("main", "v2", COMMIT):
            self.send(404, error="RevisionNotFound")
        else:
            siblings = [{"rfilename": file, "size": len(text)} for file, text in files.items()]
            self.send(200, json.dumps({"id": name, "sha": COMMIT, "siblings": siblings}))

    def file(self, name: str, revision: str, file: str) -> None:
        if name in self.server.gated:
            self.send(403, error="GatedRepo")
            return
        if self.command == "GET":
            self.server.fetched.append(file)
        self.send(200, self.server.repositories[name][file])

    def send(self, status: int, text: str = "", error: str = "") -> None:
        data = text.encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("ETag", f'"{hashlib.sha1(data).hexdigest()}"')
        self.send_header("X-Repo-Commit", COMMIT)
        if error:
            self.send_header("X-Error-Code", error)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        return


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty hub cache, and a working directory in which nothing lies."""
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")  # nothing listens there
    return tmp_path / "hub"


@pytest.fixture
def hub(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    server = Hub()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("HF_ENDPOINT", server.url)
    yield server
    server.shutdown()
    server.server_close()


def kept(folder: Path, name: str, files: dict[str, str], *, commit: str = COMMIT, revision: str = "main") -> Path:
    """A snapshot in the hub cache."""
    home = folder / f"models--{name.replace('/', '--')}"
    (home / "refs").mkdir(parents=True, exist_ok=True)
    (home / "refs" / revision).write_text(commit, "utf-8")
    snapshot = home / "snapshots" / commit
    snapshot.mkdir(parents=True)
    for file, text in files.items():
        (snapshot / file).write_text(text, "utf-8")
    return snapshot


def failure(path: str) -> str:
    with pytest.raises(BadModelDirectory) as caught:
        load_files(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


# Ids, and where the cache is


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Qwen/Qwen3-0.6B", Repository("Qwen/Qwen3-0.6B")),
        ("org/name@v1.0", Repository("org/name", "v1.0")),
        ("org/name@refs/pr/3", Repository("org/name", "refs/pr/3")),
        ("org/model.gguf", None),
        ("org/chat.jinja", None),
        ("name", None),
        ("a/b/c", None),
        ("/org/name", None),
        ("./name", None),
        ("../name", None),
        ("~/name", None),
        ("org/na--me", None),
        ("org/name@../../secret", None),
        ("org/" + "x" * 93, None),
    ],
)
def test_what_can_be_a_repository_id(text: str, expected: Repository | None) -> None:
    assert repository(text) == expected


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, Path.home() / ".cache/huggingface/hub"),
        ({"XDG_CACHE_HOME": "/x"}, Path("/x/huggingface/hub")),
        ({"XDG_CACHE_HOME": "/x", "HF_HOME": "/h"}, Path("/h/hub")),
        ({"HF_HOME": "/h", "HUGGINGFACE_HUB_CACHE": "/o"}, Path("/o")),
        ({"HF_HOME": "/h", "HUGGINGFACE_HUB_CACHE": "/o", "HF_HUB_CACHE": "/c"}, Path("/c")),
    ],
)
def test_the_cache_is_where_huggingface_hub_puts_it(environment: dict[str, str], expected: Path) -> None:
    assert cache(environment) == expected


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, False),
        ({"HF_HUB_OFFLINE": "0"}, False),
        ({"HF_HUB_OFFLINE": "true"}, True),
        ({"TRANSFORMERS_OFFLINE": "1"}, True),
    ],
)
def test_offline_is_configured_as_for_huggingface_hub(environment: dict[str, str], expected: bool) -> None:
    assert is_offline(environment) == expected


# From the cache


def test_a_snapshot_in_the_cache_is_read_without_network_or_library(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    snapshot = kept(folder, "org/name", FILES)
    files = load_files("org/name")
    assert (files.directory, files.read_from, files.model_type) == (Path("org/name"), snapshot, "qwen3")
    assert files.where(files.templates[0]) == "org/name/chat_template.jinja"
    assert toolfmt.load("org/name").inspect().path == "org/name"


def test_the_file_that_llama_cpp_is_given_is_the_one_in_the_cache(folder: Path) -> None:
    template = (
        "{{ tools | tojson if tools }}{% for m in messages %}<|{{ m.role }}|>{{ m.content or '' }}"
        '{% for c in m.tool_calls or [] %}<tool_call>\n{"name": "{{ c.function.name }}", "arguments": '
        "{{ c.function.arguments | tojson }}}\n</tool_call>{% endfor %}{% endfor %}"
    )
    other = json.dumps({"chat_template": template + "."})
    snapshot = kept(folder, "org/name", FILES | {"tokenizer_config.json": other, "chat_template.jinja": template})
    report = toolfmt.load("org/name").inspect()
    (advice,) = [one.text for one in report.sections.advice if one.runtime == "llama.cpp"]
    assert advice == f"--jinja --chat-template-file {snapshot}/chat_template.jinja"


def test_a_revision_is_a_name_or_a_commit(folder: Path) -> None:
    kept(folder, "org/name", FILES)
    other = kept(folder, "org/name", {"chat_template.jinja": "other"}, commit=OTHER, revision="v2")
    assert [load_files(f"org/name@{revision}").templates[0].text for revision in ("main", "v2", COMMIT, OTHER)] == [
        TEMPLATE,
        "other",
        TEMPLATE,
        "other",
    ]
    assert load_files("org/name@v2").home == other


def test_a_snapshot_that_is_a_link_out_of_the_repository_is_none(folder: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    kept(folder, "org/name", FILES).rename(outside)
    repository = folder / "models--org--name"
    (repository / "snapshots" / COMMIT).symlink_to(outside)
    assert model_places(repository) == []
    assert snapshots(repository) == []
    assert "org/name" in failure("org/name")
    (repository / "snapshots" / OTHER).mkdir()
    (repository / "snapshots" / OTHER / "chat_template.jinja").write_text(TEMPLATE, "utf-8")
    assert snapshots(repository) == [repository / "snapshots" / OTHER]


def test_a_path_that_exists_wins(folder: Path) -> None:
    kept(folder, "org/name", FILES)
    Path("org/name").mkdir(parents=True)
    Path("org/name/chat_template.jinja").write_text("here", "utf-8")
    assert load_files("org/name").templates[0].text == "here"


def test_a_repository_of_one_gguf_file(folder: Path) -> None:
    path = written(kept(folder, "org/name-GGUF", {}) / "model.gguf")
    files = load_files("org/name-GGUF")
    assert (files.directory, files.home, files.kind) == (Path("org/name-GGUF"), path, "gguf")


def test_a_snapshot_without_a_template_may_be_a_part_of_the_repository(folder: Path) -> None:
    kept(folder, "org/name", {"config.json": FILES["config.json"]})
    files = load_files("org/name")  # the hub does not respond
    assert files.reason(True) == (
        "neither chat_template.jinja, additional_chat_templates/, tokenizer_config.json nor chat_template.json holds a "
        "chat template in the part of the repository that the hub cache has"
    )


# Fetched


def test_the_small_text_files_are_fetched_and_nothing_else(
    folder: Path, hub: Hub, capfd: pytest.CaptureFixture[str]
) -> None:
    wanted = FILES | {
        "tokenizer_config.json": '{"a": 1}',
        "tokenizer.json": '{"b": 1}',  # identical files are fetched once
        "generation_config.json": '{"c": 1}',
        "additional_chat_templates/tool_use.jinja": "with tools",
    }
    unwanted = dict.fromkeys(("model.safetensors", "model.gguf", "README.md", "modeling.py", "vocab.json"), "x")
    hub.repositories["org/name"] = wanted | unwanted
    files = load_files("org/name")
    assert [source.origin for source in files.templates] == [
        "chat_template.jinja",
        "additional_chat_templates/tool_use.jinja",
    ]
    assert sorted(hub.fetched) == sorted(wanted)
    assert (files.directory, files.from_cache) == (Path("org/name"), False)
    assert capfd.readouterr() == ("", "")
    hub.fetched.clear()
    assert load_files("org/name").templates == files.templates
    assert hub.fetched == []


@pytest.mark.sample(0)
def test_what_the_cache_lacks_is_fetched(folder: Path, hub: Hub) -> None:
    kept(folder, "org/name", {"config.json": FILES["config.json"]})
    hub.repositories["org/name"] = FILES
    files = load_files("org/name")
    assert (files.templates[0].text, hub.fetched) == (TEMPLATE, ["chat_template.jinja"])


def test_a_path_that_begins_with_a_dot_is_not_looked_up(folder: Path, hub: Hub) -> None:
    hub.repositories["org/name"] = FILES
    with pytest.raises(BadModelDirectory, match="no such file or directory; give a model directory"):
        load_files("./org/name")
    assert hub.fetched == []


def test_a_revision_is_fetched(folder: Path, hub: Hub) -> None:
    hub.repositories["org/name"] = FILES
    assert load_files("org/name@v2").templates[0].text == TEMPLATE
    assert (folder / "models--org--name/refs/v2").read_text("utf-8") == COMMIT


@pytest.mark.sample(0)
def test_a_file_too_large_to_be_text_is_left_out(folder: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolfmt.templates.files.hub._LONGEST_FILE", 1_000)
    hub.repositories["org/name"] = FILES | {"tokenizer.json": "x" * 1_001}
    load_files("org/name")
    assert sorted(hub.fetched) == sorted(FILES)


# What was tried


@pytest.mark.sample(0)
def test_if_nothing_can_be_fetched_the_error_shows_what_was_tried(
    folder: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = f"no such file or directory, and the hub cache ({folder}) has no such repository"
    hub.repositories["org/gated"] = FILES
    hub.gated.add("org/gated")
    hub.repositories["org/ggufs"] = {"a-Q4.gguf": "", "b-Q8.gguf": "", "README.md": ""}
    hub.repositories["org/images"] = {"README.md": ""}
    assert failure("org/gone") == (
        f"org/gone: {tried}; {hub.url} has no repository org/gone, or shows it only to its members (hf auth login)"
    )
    assert failure("org/gated") == (
        f"org/gated: {tried}; org/gated is gated: accept its terms at {hub.url}/org/gated, "
        "then log in with hf auth login"
    )
    assert failure("org/gated@v9") == f"org/gated@v9: {tried}; {hub.url} has no revision v9 of org/gated"
    assert failure("org/ggufs") == (
        f"org/ggufs: {tried}; org/ggufs holds GGUF files: fetch one (hf download org/ggufs a-Q4.gguf), give its path"
    )
    assert failure("org/images") == (f"org/images: {tried}; org/images holds no configuration and no chat template")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert failure("org/gone") == f"org/gone: {tried}; it was not fetched, as HF_HUB_OFFLINE is set"
    monkeypatch.delenv("HF_HUB_OFFLINE")
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    assert failure("org/gone") == (
        f"org/gone: {tried}; org/gone could not be downloaded from http://127.0.0.1:9; check the network and try again"
    )
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    assert failure("org/gone") == f"org/gone: {tried}; to fetch it, pip install huggingface_hub"
