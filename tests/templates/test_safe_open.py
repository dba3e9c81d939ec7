"""Model paths that are not plain files: links that lead out, pipes, devices, files that block."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

import pytest
from gguf_files import TEMPLATE, written

from toolfmt.errors import BadModelDirectory
from toolfmt.inspect.inspection import inspect_files
from toolfmt.templates import load_files
from toolfmt.templates.files.repository import Repository, snapshot
from toolfmt.templates.files.safe_open import NoFile, opened, read_at_most

posix = pytest.mark.skipif(sys.platform == "win32", reason="links and pipes are those of POSIX")
linux = pytest.mark.skipif(sys.platform != "linux", reason="these files are those of Linux")

SECRET = "{{ 'a secret of somebody else' }}"
READ = (
    "config.json",
    "generation_config.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "chat_template.json",
    "chat_template.jinja",
    "additional_chat_templates/tool_use.jinja",
    "tokenizer.json",
)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    directory = tmp_path / "model"
    (directory / "additional_chat_templates").mkdir(parents=True)
    (directory / "chat_template.jinja").write_text(TEMPLATE, "utf-8")
    return directory


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text(SECRET, "utf-8")
    return elsewhere


def linked(link: Path, target: Path | str) -> Path:
    link.unlink(missing_ok=True)
    link.symlink_to(target)
    return link


def rejection(path: Path) -> str:
    with pytest.raises(BadModelDirectory) as caught:
        inspect_files(load_files(path))
    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value)
    return str(caught.value)


@posix
@pytest.mark.parametrize("name", READ)
def test_a_link_that_leads_out_of_the_directory_is_not_followed(name: str, model: Path, secret: Path) -> None:
    out = "a link that leads out of {}, which is not followed; put a copy of the file there"
    for target in (secret, os.path.relpath(secret, (model / name).parent)):
        link = linked(model / name, target)
        within = (model / name).parent if name == "tokenizer.json" else model
        assert rejection(model) == f"{link}: {out.format(within)}"


@posix
def test_a_link_over_a_directory_leads_out_too(model: Path, secret: Path) -> None:
    outside = secret.parent / "outside"
    outside.mkdir()
    (outside / "default.jinja").write_text(SECRET, "utf-8")
    (model / "additional_chat_templates").rmdir()
    linked(model / "additional_chat_templates", outside)
    assert "default.jinja: a link that leads out of" in rejection(model)


@posix
def test_a_link_inside_the_directory_is_followed(model: Path) -> None:
    (model / "kept").mkdir()
    (model / "chat_template.jinja").rename(model / "kept" / "template")
    linked(model / "chat_template.jinja", "kept/template")
    assert [source.text for source in load_files(model).templates] == [TEMPLATE]


@posix
def test_a_directory_that_is_a_link_is_the_directory_it_leads_to(model: Path, tmp_path: Path) -> None:
    named = linked(tmp_path / "named", model)
    assert [source.text for source in load_files(named).templates] == [TEMPLATE]
    linked(model / "chat_template.jinja", tmp_path / "gone")
    (tmp_path / "gone").write_text(SECRET, "utf-8")
    assert f"leads out of {named}" in rejection(named)


def repository(tmp_path: Path, name: str = "models--org--name") -> tuple[Path, Path]:
    """A repository of the hub cache: its snapshot and its blobs."""
    kept = tmp_path / name
    inside, blobs = kept / "snapshots" / ("0" * 40), kept / "blobs"
    inside.mkdir(parents=True)
    blobs.mkdir()
    (blobs / "abc").write_text(TEMPLATE, "utf-8")
    return inside, blobs


@posix
def test_the_files_of_a_snapshot_are_links_to_the_blobs_of_their_repository(tmp_path: Path) -> None:
    inside, blobs = repository(tmp_path)
    link = linked(inside / "chat_template.jinja", "../../blobs/abc")
    for path in (inside, link):
        assert [source.text for source in load_files(path).templates] == [TEMPLATE]
    (inside / "part").mkdir()
    linked(inside / "part" / "chat_template.jinja", "../../../blobs/abc")
    assert [source.text for source in load_files(inside / "part").templates] == [TEMPLATE]
    other = repository(tmp_path, "models--org--other")[1]
    assert "leads out" in rejection(linked(link, other / "abc").parent)
    for other_folder in ("refs", "snapshots/another"):
        (blobs.parent / other_folder).mkdir()
        (blobs.parent / other_folder / "main").write_text(SECRET, "utf-8")
        assert "leads out" in rejection(linked(link, f"../../{other_folder}/main").parent)
    linked(blobs / "link", tmp_path / "secret").write_text(SECRET, "utf-8")
    assert "leads out" in rejection(linked(link, "../../blobs/link").parent)


@posix
@pytest.mark.parametrize("name", ["models--org--name/snap/1", "name/snapshots/1"])
def test_what_only_resembles_the_hub_cache_has_no_blobs(name: str, tmp_path: Path) -> None:
    inside = tmp_path / name
    inside.mkdir(parents=True)
    (inside.parent.parent / "blobs").mkdir()
    (inside.parent.parent / "blobs" / "abc").write_text(SECRET, "utf-8")
    assert "leads out" in rejection(linked(inside / "chat_template.jinja", "../../blobs/abc").parent)


@posix
def test_a_template_that_is_named_may_be_a_link_to_a_template_and_to_nothing_else(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    for real in ("REAL.J2", "real.jinja", "real.j2"):
        (tmp_path / real).write_text(TEMPLATE, "utf-8")
        link = linked(folder / "named.jinja", tmp_path / real)
        assert [source.text for source in load_files(link).templates] == [TEMPLATE]
    (tmp_path / "environ").write_text(SECRET, "utf-8")
    (folder / ".env").write_text(SECRET, "utf-8")
    for other in (tmp_path / "environ", folder / ".env"):
        assert rejection(linked(link, other)).startswith(f"{link}: a link to no template, which is not followed; ")


@posix
def test_a_gguf_file_may_be_a_link_where_it_is_named_alone(tmp_path: Path) -> None:
    pytest.importorskip("gguf")
    real = written(tmp_path / "blob.gguf").rename(tmp_path / "blob")
    folder = tmp_path / "folder"
    folder.mkdir()
    link = linked(folder / "model.gguf", real)
    assert [source.text for source in load_files(link).templates] == [TEMPLATE]
    assert "leads out" in rejection(folder)


@linux
@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("/proc/self/environ", "leads out"),
        ("/etc/passwd", "leads out"),
        ("/proc/kmsg", ""),  # root may open it, and waits forever if it reads
        ("/dev/zero", "not a file"),
        ("/dev/tty", "not a file"),
        ("/", "not a file"),
        ("/proc/self/root/etc/passwd", "leads out"),
        ("chat_template.jinja", "Too many levels of symbolic links"),
    ],
)
@pytest.mark.parametrize("name", ["chat_template.jinja", "config.json"])
def test_what_a_link_leads_to_is_neither_read_nor_waited_for(name: str, target: str, why: str, model: Path) -> None:
    if target == "chat_template.jinja":
        target = name
    assert why in rejection(linked(model / name, target).parent)


@posix
def test_what_is_no_file_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(tmp_path / "socket"))
        for path in (tmp_path / "pipe", tmp_path / "socket", tmp_path, Path("/dev/null")):
            with pytest.raises(NoFile, match="not a file"):
                opened(path)


@posix
def test_what_takes_the_place_of_a_file_under_way_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the first look and the opening: the second look is at what was opened."""
    (tmp_path / "model").mkdir()
    (tmp_path / "secret").write_text(SECRET, "utf-8")
    path = tmp_path / "model" / "config.json"
    os.mkfifo(tmp_path / "pipe")
    ask = os.stat
    for target, why in ((tmp_path / "pipe", "not a file"), (tmp_path / "secret", "leads out")):
        path.unlink(missing_ok=True)
        path.write_text("{}", "utf-8")

        def swapped(file: Path, target: Path = target) -> os.stat_result:
            found = ask(file)
            linked(path, target)
            return found

        with monkeypatch.context() as patched, pytest.raises(BadModelDirectory, match=why):
            patched.setattr(os, "stat", swapped)
            opened(path, path.parent)


@posix
def test_where_the_system_does_not_report_the_path_of_an_open_file(
    tmp_path: Path, secret: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown(path: str) -> str:
        raise OSError

    monkeypatch.setattr(os, "readlink", unknown)
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "file").write_text("{}", "utf-8")
    with opened(tmp_path / "inside" / "file", tmp_path / "inside") as file:
        assert read_at_most(file, 10) == b"{}"
    monkeypatch.setattr(os.path, "samestat", lambda one, other: False)
    with pytest.raises(BadModelDirectory, match="leads out"):
        opened(tmp_path / "inside" / "file", tmp_path / "inside")


def test_no_more_is_read_than_the_bound(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x" * 3_000_000)
    with opened(path) as file:
        assert len(read_at_most(file, 2_500_000)) == 2_500_000
    with opened(path) as file:
        assert len(read_at_most(file, 4_000_000)) == 3_000_000


@posix
def test_a_reference_of_the_hub_cache_is_no_link_out_of_it(tmp_path: Path) -> None:
    repository(tmp_path)
    references = tmp_path / "models--org--name" / "refs"
    references.mkdir()
    (references / "main").write_text("0" * 40, "utf-8")
    assert snapshot(Repository("org/name"), tmp_path) is not None
    (tmp_path / "elsewhere").write_text("0" * 40, "utf-8")
    linked(references / "main", tmp_path / "elsewhere")
    assert snapshot(Repository("org/name"), tmp_path) is None
