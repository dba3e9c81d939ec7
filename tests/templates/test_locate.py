"""Any path of a model: a template alone, a directory of GGUF files, a folder of models."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from gguf_files import TEMPLATE, written

import toolfmt
from toolfmt.errors import BadModelDirectory
from toolfmt.templates import (
    ModelFiles,
    TemplateSource,
    cached_name,
    file_of_model,
    load_files,
    model_place,
    model_places,
    place_name,
)


def made(folder: Path, *names: str) -> Path:
    """Files of these names: model files have the required content, others are empty."""
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("{}" if name.endswith(".json") else "", "utf-8")
    return folder


def failure(call: Any, *arguments: Any) -> str:
    with pytest.raises(BadModelDirectory) as caught:
        call(*arguments)
    assert "\n" not in str(caught.value)
    return str(caught.value)


# A template alone


@pytest.mark.parametrize("name", ["qwen.jinja", "qwen.jinja2", "qwen.j2", "QWEN.JINJA", "chat_template.jinja"])
def test_a_template_alone(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text(TEMPLATE, "utf-8")
    files = load_files(str(path))
    source = TemplateSource(TEMPLATE, name)
    assert files == ModelFiles(path, None, {}, {}, {}, (source,), {}, kind="template", special_tokens_known=False)
    assert (files.template(True), files.reason(True)) == (source, f"{name} is the template that was given")


def test_the_special_tokens_of_a_template_alone_are_unknown(tmp_path: Path) -> None:
    path = tmp_path / "alone.jinja"
    path.write_text("{{ bos_token + 'x' }}" + TEMPLATE, "utf-8")
    report = toolfmt.load(path).inspect()
    assert [finding.code for finding in report.findings if finding.code == "TF005"] == []
    (tmp_path / "chat_template.jinja").write_text(path.read_text("utf-8"), "utf-8")
    report = toolfmt.load(tmp_path).inspect()
    assert [finding.code for finding in report.findings if finding.code == "TF005"] == ["TF005"]


def test_the_error_of_a_template_alone_names_its_file(tmp_path: Path) -> None:
    path = tmp_path / "alone.jinja"
    path.write_text("{% for %}", "utf-8")
    assert str(toolfmt.load(path).broken).startswith(f"{path}, line 1")


def test_a_template_too_large_is_rejected_before_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "alone.jinja"
    path.touch()
    os.truncate(path, 4_000_001)
    rejection = "4,000,001 bytes, more than a chat template has (4,000,000); put the model's own template there"
    monkeypatch.setattr(Path, "read_bytes", None)
    assert failure(load_files, path) == f"{path}: {rejection}"
    path = path.rename(tmp_path / "chat_template.jinja")
    assert failure(load_files, tmp_path) == f"{path}: {rejection}"


@pytest.mark.sample(0)
def test_a_template_that_is_only_large_is_a_limit_hit(tmp_path: Path) -> None:
    path = tmp_path / "alone.jinja"
    path.write_text("x" * 4_000_000, "utf-8")
    assert "TF007" in {finding.code for finding in toolfmt.load(path).inspect().findings}


# A directory with GGUF files


def test_a_directory_s_only_gguf_file_is_read(tmp_path: Path) -> None:
    path = written(tmp_path / "model.gguf")
    made(tmp_path, "mmproj-model-f16.gguf", "README.md")
    files = load_files(tmp_path)
    assert (files.directory, files.read_from, files.home) == (tmp_path, path, path)
    assert (files.kind, files.model_type, files.where(files.templates[0])) == (
        "gguf",
        "qwen3",
        f"{path} (tokenizer.chat_template)",
    )


def test_of_a_split_file_the_first_part_is_read(tmp_path: Path) -> None:
    path = written(tmp_path / "model-00001-of-00003.gguf")
    made(tmp_path, "model-00002-of-00003.gguf", "model-00003-of-00003.gguf")
    assert load_files(tmp_path).read_from == path


def test_of_several_gguf_files_one_has_to_be_named(tmp_path: Path) -> None:
    made(tmp_path, *(f"model-Q{number}.gguf" for number in range(2, 9)))
    assert failure(load_files, tmp_path) == (
        f"{tmp_path}: a folder of 7 models, not one; name one of them: model-Q2.gguf, model-Q3.gguf, model-Q4.gguf, "
        "model-Q5.gguf, model-Q6.gguf and 2 more"
    )
    made(tmp_path, "config.json")
    assert failure(load_files, tmp_path) == (
        f"{tmp_path}: a folder of 7 models, not one; name one of them: model-Q2.gguf, model-Q3.gguf, model-Q4.gguf, "
        "model-Q5.gguf, model-Q6.gguf and 2 more"
    )


def test_a_directory_with_a_template_is_read_as_one_whatever_gguf_files_lie_there(tmp_path: Path) -> None:
    written(tmp_path / "model.gguf")
    (tmp_path / "config.json").write_text('{"model_type": "qwen2"}', "utf-8")
    assert (load_files(tmp_path).kind, load_files(tmp_path).model_type) == ("gguf", "qwen3")
    (tmp_path / "chat_template.jinja").write_text("x", "utf-8")
    assert (load_files(tmp_path).kind, load_files(tmp_path).model_type) == ("directory", "qwen2")


# A folder of models


def test_the_places_below_a_folder(tmp_path: Path) -> None:
    made(
        tmp_path,
        "qwen/config.json",
        "qwen/inner/config.json",
        "org/model/tokenizer_config.json",
        "org/quantised/a-Q4.gguf",
        "org/quantised/a-Q8.gguf",
        "org/one/b.gguf",
        "org/one/mmproj-b.gguf",
        "models--org--cached/snapshots/0123/config.json",
        "org/one/too/deep/config.json",
        "org/too/far/down/below/config.json",
        "templates/x.jinja",
        "templates/chat.j2",
        "alone.jinja",
        "c.gguf",
        "d-00001-of-00002.gguf",
        "d-00002-of-00002.gguf",
        ".hidden/config.json",
        "empty/README.md",
        "notes.txt",
    )
    assert [str(path.relative_to(tmp_path)) for path in model_places(tmp_path)] == [
        "alone.jinja",
        "c.gguf",
        "d-00001-of-00002.gguf",
        "models--org--cached/snapshots/0123",
        "org/model",
        "org/one/b.gguf",
        "org/one/too/deep",
        "org/quantised/a-Q4.gguf",
        "org/quantised/a-Q8.gguf",
        "org/too/far/down/below",
        "qwen",
        "templates/chat.j2",
        "templates/x.jinja",
    ]


def test_a_model_s_own_place_is_no_folder_of_models(tmp_path: Path) -> None:
    made(tmp_path, "model/config.json", "model/inner/config.json", "one/a.gguf", "x.jinja", "nothing/README.md")
    assert [
        model_places(tmp_path / name) for name in ("model", "one", "one/a.gguf", "x.jinja", "nothing", "absent")
    ] == [[]] * 6


def test_what_cannot_be_listed_is_named_and_links_in_a_circle_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(tmp_path, "a/config.json", "locked/config.json")
    (tmp_path / "circle").symlink_to(tmp_path)
    listdir = os.listdir

    def deny(path: Any) -> list[str]:
        if Path(path).name == "locked":
            raise PermissionError(13, "Permission denied")
        return listdir(path)

    monkeypatch.setattr(os, "listdir", deny)
    found = [str(path.relative_to(tmp_path)) for path in model_places(tmp_path)]
    assert found == ["a", "locked"]
    assert failure(load_files, tmp_path / "locked").startswith(
        f"{tmp_path}/locked: cannot be read (Permission denied); "
    )


def test_a_model_that_leads_nowhere_is_listed(tmp_path: Path) -> None:
    with_templates(tmp_path, "one")
    for name in ("gone", "gone.gguf", "below/gone.gguf", "below/gone"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).symlink_to("nowhere")
    made(tmp_path, "part-00002-of-00002.gguf", "whole-00001-of-00002.gguf", "whole-00002-of-00002.gguf")
    found = [str(path.relative_to(tmp_path)) for path in model_places(tmp_path)]
    assert found == [
        "below/gone.gguf",
        "gone",
        "gone.gguf",
        "one",
        "part-00002-of-00002.gguf",
        "whole-00001-of-00002.gguf",
    ]


def test_a_directory_below_the_deepest_level_is_listed(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*"d" * 600)
    deep.mkdir(parents=True)
    with_templates(tmp_path, "one")
    assert [len(path.relative_to(tmp_path).parts) for path in model_places(tmp_path)] == [33, 1]


def test_a_folder_of_models_is_not_one(tmp_path: Path) -> None:
    made(tmp_path, "a/config.json", "b/c/config.json")
    assert failure(load_files, tmp_path) == f"{tmp_path}: a folder of 2 models, not one; name one of them: a, b/c"


# A model directory with models in it


def with_templates(folder: Path, *names: str) -> None:
    """Directories with a template each, GGUF files and .jinja files; "." is the folder itself."""
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith(".gguf"):
            written(path)
        elif name.endswith(".jinja"):
            path.write_text(TEMPLATE, "utf-8")
        else:
            path.mkdir(exist_ok=True)
            (path / "tokenizer_config.json").write_text(json.dumps({"chat_template": TEMPLATE}), "utf-8")


@pytest.mark.parametrize(
    ("templates", "files", "found"),
    [
        # One model: the report is that of the directory.
        (["."], ["config.json", "onnx/config.json", "1_Pooling/config.json", "text_encoder/model/config.json"], []),
        (["."], ["additional_chat_templates/rag.jinja", "templates/old.jinja", "other.jinja"], []),
        (["."], ["mmproj-model.gguf", "model-00002-of-00002.gguf", ".cache/config.json"], []),
        ([], ["config.json", "1_Pooling/config.json", "other.jinja"], []),
        (["model.gguf"], ["config.json", "mmproj-model.gguf", "README.md"], []),
        (["model.gguf"], ["config.json", "onnx/config.json"], []),
        # More than one.
        ([".", "checkpoint-500"], ["config.json", "onnx/config.json"], [".", "checkpoint-500"]),
        ([".", "a/b/c", "a/b/c/d"], ["a/b/config.json"], [".", "a/b/c", "a/b/c/d"]),
        ([".", "a/b/c/d/e/f/g"], [], [".", "a/b/c/d/e/f/g"]),
        (["model.gguf", "override.jinja"], [], ["model.gguf", "override.jinja"]),
        (["chat_template.jinja", "a.jinja"], [], ["a.jinja", "chat_template.jinja"]),
        (["chat_template.jinja"], [], []),
        ([".", "model.gguf"], ["config.json"], [".", "model.gguf"]),
        ([".", "a-Q4.gguf", "a-Q8.gguf"], ["mmproj-a.gguf"], [".", "a-Q4.gguf", "a-Q8.gguf"]),
        (["a-Q4.gguf", "a-Q8.gguf"], ["config.json"], ["a-Q4.gguf", "a-Q8.gguf"]),
        (["model.gguf", "one", "two"], [], ["model.gguf", "one", "two"]),
        (["model.gguf", "one"], ["config.json"], ["model.gguf", "one"]),
        (["one", "two"], ["config.json", "three/config.json"], [".", "one", "three", "two"]),
        (["one", "x.jinja"], ["config.json"], [".", "one", "x.jinja"]),
        (["m", "m/checkpoint-1"], ["m/onnx/config.json", "bare/config.json"], ["bare", "m", "m/checkpoint-1"]),
        # What cannot be read is named.
        (["."], ["config.json", "broken/tokenizer_config.json?"], [".", "broken"]),
        (["."], ["config.json", "model.gguf?"], [".", "model.gguf"]),
    ],
)
def test_a_model_directory_may_hold_other_models(
    templates: list[str], files: list[str], found: list[str], tmp_path: Path
) -> None:
    """A file with a question mark cannot be read."""
    for name in files:
        path = tmp_path / name.removesuffix("?")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("?" if name.endswith("?") else TEMPLATE if name.endswith(".jinja") else "{}", "utf-8")
    with_templates(tmp_path, *templates)
    assert [str(path.relative_to(tmp_path)) for path in model_places(tmp_path)] == found


def test_a_model_directory_without_a_template_is_not_one_of_the_models_in_it(tmp_path: Path) -> None:
    with_templates(tmp_path, "a", "b")
    (tmp_path / "config.json").write_text("{}", "utf-8")
    assert failure(load_files, tmp_path) == (
        f"{tmp_path}: no chat template here, but 2 models below it; pass one of them: a, b"
    )
    shutil.rmtree(tmp_path / "b")
    assert failure(load_files, tmp_path).endswith("no chat template here, but 1 model below it; pass one of them: a")
    with_templates(tmp_path, ".")
    assert load_files(tmp_path).directory == tmp_path
    with_templates(tmp_path, "only/model.gguf", "only/one")
    assert failure(load_files, tmp_path / "only") == (
        f"{tmp_path}/only: a folder of 2 models, not one; name one of them: model.gguf, one"
    )


def test_a_directory_is_listed_once_though_a_link_leads_to_it(tmp_path: Path) -> None:
    with_templates(tmp_path, ".", "checkpoint-1")
    (tmp_path / "best").symlink_to(tmp_path / "checkpoint-1")
    assert model_places(tmp_path) == [tmp_path, tmp_path / "best"]


def test_a_snapshot_with_models_in_it_is_a_folder_of_them(tmp_path: Path) -> None:
    kept = cached(tmp_path, MAIN, main=MAIN)
    snapshot = kept / "snapshots" / MAIN
    with_templates(snapshot, ".", "small")
    assert model_places(kept) == model_places(tmp_path) == [snapshot, snapshot / "small"]
    assert load_files(kept).directory == snapshot


def test_a_file_of_the_directory_selects_only_its_model(tmp_path: Path) -> None:
    with_templates(tmp_path, ".", "checkpoint-1")
    assert file_of_model(str(tmp_path)) == f"{tmp_path}/tokenizer_config.json"
    assert file_of_model(f"{tmp_path}/checkpoint-1") == f"{tmp_path}/checkpoint-1"
    assert file_of_model("org/name") == "org/name"


# A file of a model directory


@pytest.mark.parametrize(
    ("given", "other", "expected"),
    [
        ("config.json", "", "m"),
        ("generation_config.json", "", "m"),
        ("tokenizer_config.json", "chat_template.jinja", "m"),
        ("special_tokens_map.json", "", "m"),
        ("chat_template.json", "", "m"),
        ("chat_template.jinja", "config.json", "m"),
        ("chat_template.jinja", "tokenizer.json", "m"),
        ("chat_template.jinja", "model.gguf", "m"),
        ("chat_template.jinja", "additional_chat_templates/rag.jinja", "m"),
        ("additional_chat_templates/rag.jinja", "config.json", "m"),
        ("tokenizer.json", "config.json", "m"),
        ("chat_template.jinja", "", "m/chat_template.jinja"),
        ("chat_template.jinja", "other.jinja", "m/chat_template.jinja"),
        ("chat_template.jinja", "README.md", "m/chat_template.jinja"),
        ("other.jinja", "config.json", "m/other.jinja"),
        ("additional_chat_templates/rag.jinja", "", "m/additional_chat_templates/rag.jinja"),
        ("additional_chat_templates/notes.txt", "config.json", "m/additional_chat_templates/notes.txt"),
        ("tokenizer.json", "", "m/tokenizer.json"),
        ("model.gguf", "config.json", "m/model.gguf"),
    ],
)
def test_a_file_of_a_model_directory_means_the_directory(given: str, other: str, expected: str, tmp_path: Path) -> None:
    made(tmp_path / "m", given, *filter(None, [other]))
    assert model_place(tmp_path / "m" / given) == tmp_path / expected
    assert model_place(str(tmp_path / "m")) == tmp_path / "m"


def test_a_file_of_a_model_directory_is_read_as_the_directory(tmp_path: Path) -> None:
    made(tmp_path, "config.json", "tokenizer_config.json")
    (tmp_path / "chat_template.jinja").write_text(TEMPLATE, "utf-8")
    assert load_files(tmp_path / "tokenizer_config.json") == load_files(tmp_path)
    assert load_files(tmp_path / "chat_template.jinja") == load_files(tmp_path)
    absent, locked = tmp_path / "generation_config.json", tmp_path / "special_tokens_map.json"
    assert failure(load_files, absent).startswith(f"{absent}: no such file or directory; ")
    locked.mkdir()
    assert model_place(locked) == locked


# A repository in the hub cache

MAIN, OLD, NEW = (digit * 40 for digit in "abc")


def cached(folder: Path, *commits: str, **references: str) -> Path:
    """The folder of a repository with a model in each of these snapshots, the newest last, and these references."""
    kept = folder / "models--org--name"
    for age, commit in enumerate(commits):
        made(kept, f"snapshots/{commit}/config.json")
        os.utime(kept / "snapshots" / commit, (age, age))
    for name, commit in references.items():
        (kept / "refs" / name).parent.mkdir(parents=True, exist_ok=True)
        (kept / "refs" / name).write_text(commit)
    return kept


def test_a_repository_s_folder_is_the_snapshot_that_main_names(tmp_path: Path) -> None:
    kept = cached(tmp_path, MAIN, OLD, NEW, main=MAIN)
    assert model_place(kept) == kept / "snapshots" / MAIN
    assert (model_places(kept), model_places(tmp_path)) == ([], [kept / "snapshots" / MAIN])
    assert load_files(kept).directory == kept / "snapshots" / MAIN
    (kept / "refs" / "main").write_text("d" * 40)
    assert model_place(kept) == kept / "snapshots" / NEW
    (kept / "refs" / "main").unlink()
    assert model_place(kept) == kept / "snapshots" / NEW
    (kept / "snapshots" / NEW / "config.json").unlink()
    assert model_place(kept) == kept / "snapshots" / OLD
    other = tmp_path / "plain" / "snapshots" / MAIN
    made(other, "config.json")
    assert model_place(tmp_path / "plain") == tmp_path / "plain"


def test_the_gguf_files_of_a_repository_are_a_model_each(tmp_path: Path) -> None:
    kept = cached(tmp_path, MAIN, NEW, main=MAIN)
    (kept / "snapshots" / MAIN / "config.json").unlink()
    made(kept / "snapshots" / MAIN, "a-Q4.gguf", "a-Q5.gguf", "Q8/a-Q8.gguf")
    found = [kept / "snapshots" / MAIN / name for name in ("Q8", "a-Q4.gguf", "a-Q5.gguf")]
    assert model_places(tmp_path) == model_places(model_place(kept)) == found
    assert failure(load_files, kept).endswith(
        ": a folder of 3 models, not one; name one of them: Q8, a-Q4.gguf, a-Q5.gguf"
    )


@pytest.mark.parametrize(
    ("references", "name"),
    [
        ({"main": MAIN, "a": MAIN}, "org/name@main"),
        ({"main": OLD, "v1.0.0": MAIN, "v1": MAIN, "refs/pr/1": MAIN}, "org/name@v1"),
        ({"refs/pr/1": MAIN}, "org/name@refs/pr/1"),
        ({"main": OLD}, f"org/name@{MAIN}"),
        ({}, f"org/name@{MAIN}"),
    ],
)
def test_a_snapshot_is_called_as_it_can_be_typed(references: dict[str, str], name: str, tmp_path: Path) -> None:
    home = cached(tmp_path, MAIN, **references) / "snapshots" / MAIN
    assert place_name(home) == cached_name(str(home)) == name
    assert place_name(home / "sub" / "a-Q4.gguf") == f"{name}/sub/a-Q4.gguf"


def test_a_place_outside_the_cache_is_called_by_its_last_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    plain, kept = made(tmp_path / "qwen", "config.json"), cached(tmp_path, MAIN, main=MAIN)
    given: list[str | Path] = [
        plain,
        "qwen/",
        ".",
        "org/name",
        "org/name@v2",
        "qwen/../qwen/..",
        kept,
        "not there",
        "no/such/thing",
    ]
    here = tmp_path.name
    assert [place_name(place) for place in given] == [
        *("qwen", "qwen", here, "org/name", "org/name@v2", here, "models--org--name", "not there", "thing")
    ]
    assert cached_name(kept / "snapshots") is cached_name(tmp_path / "snapshots" / MAIN) is None
    made(tmp_path / "models--gpt2" / "snapshots" / MAIN, "config.json")
    assert place_name(f"models--gpt2/snapshots/{MAIN}") == f"gpt2@{MAIN}"


# Unexpected values


def test_values_of_an_unexpected_type_are_a_finding(tmp_path: Path) -> None:
    (tmp_path / "chat_template.jinja").write_text(TEMPLATE, "utf-8")
    (tmp_path / "tokenizer_config.json").write_text('{"bos_token": 1}', "utf-8")
    findings = toolfmt.load(tmp_path).inspect().findings
    assert [(finding.name, finding.message, finding.fix) for finding in findings if finding.code == "TF006"] == [
        (
            "unexpected-value",
            "tokenizer_config.json: bos_token is a number, not a token's text; it is ignored.",
            "Copy the value from the original model, or remove it.",
        )
    ]


def test_an_address_of_the_hub_is_rejected_with_its_repository_id() -> None:
    with pytest.raises(BadModelDirectory, match=r"an address; give the repository id, Qwen/Qwen3-8B$"):
        load_files("https://huggingface.co/Qwen/Qwen3-8B/tree/main")


@pytest.mark.skipif(sys.platform == "win32", reason="links are those of POSIX")
def test_a_link_in_a_folder_may_lead_to_a_model_and_is_not_searched(tmp_path: Path) -> None:
    elsewhere, folder = tmp_path / "elsewhere", tmp_path / "folder"
    made(elsewhere, "model/config.json", "deep/model/config.json")
    made(folder, "own/model/config.json")
    (folder / "linked").symlink_to(elsewhere / "model")
    (folder / "everything").symlink_to(elsewhere)
    assert model_places(folder) == [folder / "linked", folder / "own" / "model"]
